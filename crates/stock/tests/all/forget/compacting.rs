//! A stock that is compacted while a kind is forgotten. Both operations know a lot's file by its
//! slot.

use std::io;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use super::*;
use tacit_stock::{Index, Storage, StoredFile};

/// The name of the thread that compacts.
const COMPACTS: &str = "compacts";

/// Storage on which the compacting thread pauses before it removes the first file: until it is told
/// to continue or, if the thread that would tell it waits for the file, for a while.
#[derive(Debug)]
struct Pausing {
    disk: Memory,
    pause: Mutex<Option<(Sender<()>, Receiver<()>)>>,
}

impl Storage for Pausing {
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk.create_folder(folder)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.disk.names(folder)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk.sync_folder(folder)
    }

    fn create(&self, file: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.disk.create(file)
    }

    fn open(&self, file: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.disk.open(file)
    }

    fn remove(&self, file: &Path) -> io::Result<()> {
        if thread::current().name() == Some(COMPACTS) {
            let pause = self.pause.lock().expect("no panic").take();
            if let Some((pauses, hears)) = pause {
                pauses.send(()).expect("somebody waits");
                let _ = hears.recv_timeout(Duration::from_millis(500));
            }
        }
        self.disk.remove(file)
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk.remove_folder(folder)
    }

    fn try_lock(&self, file: &Path) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.disk.try_lock(file)
    }

    fn open_index(&self, file: &Path) -> io::Result<Box<dyn Index>> {
        self.disk.open_index(file)
    }
}

/// A compaction is about to remove the file of a lot that was given up while it was pending.
/// Meanwhile the peer has the kind forgotten and orders another kind, which gets the same slot.
#[test]
fn the_file_of_another_kind_is_not_removed() {
    let ((pauses, paused), (speaks, hears)) = (channel(), channel());
    let storage = Pausing {
        disk: Memory::new(),
        pause: Mutex::new(Some((pauses, hears))),
    };
    let ours = open(Arc::new(storage), Path::new("s"), Role::Garbler).expect("a stock");
    let disk = Arc::new(Memory::new());
    let theirs = open(disk, Path::new("s"), Role::Evaluator).expect("a stock");
    let stocks = [ours, theirs];
    order(&stocks[0].prepare().expect("nobody"), kind(0), true).expect("room");
    stocks[0].give_up(&[kind(0)]).expect("its keys");
    thread::scope(|scope| {
        let compacts = thread::Builder::new().name(COMPACTS.to_owned());
        let compacts = compacts.spawn_scoped(scope, || stocks[0].compact());
        paused.recv().expect("it compacts");
        let mut rights = rights(&stocks).expect("nobody prepares");
        meet(&rights).expect("they agree");
        forget(&mut rights[0]).expect("a disk");
        let [ours, theirs] = &rights;
        prepare_lot([ours, theirs], kind(1), (0, 4), 7).expect("room");
        // The compacting thread has already continued if this thread had to wait for it.
        let _ = speaks.send(());
        let compacted = compacts.expect("a thread").join().expect("no panic");
        compacted.expect("a disk");
    });
    let lease = stocks[0].lease(&kind(1), 4).expect("in stock");
    let instances: Result<Vec<_>, _> = lease.instances().collect();
    assert_eq!(instances.expect("its file").len(), 4);
}
