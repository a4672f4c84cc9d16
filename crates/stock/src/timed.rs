//! Storage that reports how long each wait for durability takes.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::StockError;
use crate::storage::{Index, Storage, StoredFile, UpdateWork};

/// A wait of the stock for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiskWait {
    /// For bytes of a file, or for names of a folder.
    Sync,
    /// For a transaction of the index, with the wait for other processes' transactions.
    Commit,
}

impl DiskWait {
    /// All waits.
    pub const ALL: [Self; 2] = [Self::Sync, Self::Commit];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Commit => "commit",
        }
    }
}

/// Receives each wait with its time.
pub type WatchDisk = dyn Fn(DiskWait, Duration) + Send + Sync;

/// Storage whose waits are watched.
pub(crate) struct Timed {
    inner: Arc<dyn Storage>,
    watch: Arc<WatchDisk>,
}

struct TimedFile {
    inner: Box<dyn StoredFile>,
    watch: Arc<WatchDisk>,
}

struct TimedIndex {
    inner: Box<dyn Index>,
    watch: Arc<WatchDisk>,
}

/// Runs `work`, and reports its time.
fn timed<T>(watch: &WatchDisk, wait: DiskWait, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = work();
    watch(wait, begun.elapsed());
    done
}

impl Timed {
    pub(crate) fn new(inner: Arc<dyn Storage>, watch: Arc<WatchDisk>) -> Self {
        Self { inner, watch }
    }

    fn file(&self, inner: Box<dyn StoredFile>) -> Box<dyn StoredFile> {
        let watch = Arc::clone(&self.watch);
        Box::new(TimedFile { inner, watch })
    }
}

impl fmt::Debug for Timed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Storage for Timed {
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.inner.create_folder(folder)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.inner.names(folder)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        timed(&*self.watch, DiskWait::Sync, || {
            self.inner.sync_folder(folder)
        })
    }

    fn create(&self, file: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.inner.create(file).map(|file| self.file(file))
    }

    fn open(&self, file: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.inner.open(file).map(|file| self.file(file))
    }

    fn remove(&self, file: &Path) -> io::Result<()> {
        self.inner.remove(file)
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        self.inner.remove_folder(folder)
    }

    fn try_lock(&self, file: &Path) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.inner.try_lock(file)
    }

    fn open_index(&self, file: &Path) -> io::Result<Box<dyn Index>> {
        let inner = self.inner.open_index(file)?;
        let watch = Arc::clone(&self.watch);
        Ok(Box::new(TimedIndex { inner, watch }))
    }
}

impl StoredFile for TimedFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        timed(&*self.watch, DiskWait::Sync, || self.inner.sync())
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn exposed(&self) -> io::Result<bool> {
        self.inner.exposed()
    }
}

impl Index for TimedIndex {
    fn update(&mut self, work: &mut UpdateWork<'_>) -> Result<(), StockError> {
        timed(&*self.watch, DiskWait::Commit, || self.inner.update(work))
    }
}
