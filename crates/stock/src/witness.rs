//! Notes of the last known state of each record, in a folder that no copy of the stocks contains.
//!
//! A stock that is restored from a copy brings back material that was used since, and a restored
//! `batches.index` or `answered.index` forgets tries or keys. So each record counts its changes,
//! and the count is also noted here. A record with a lower count than its note was restored.
//!
//! A note is **a lower bound**. It is written once the change is durable, and nobody waits for it.
//! So a loss of power, or a note that cannot be written, leaves it lower than it could be, but
//! never higher. If there is no note, as on a machine to which a stock was moved, the record is
//! accepted as it is. So a whole record is never refused, and any number of processes and folders
//! of notes may see it.
//!
//! Each note has one file, which is named by a keyed hash of its subject. When an epoch or a chain
//! has ended, an entry in the stock's list of ends ([`ended`]) replaces its file, so that the
//! folder does not grow by a file for each. docs/stock.md has the bytes of both.

mod ended;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::seal::Key;
use crate::stocks::{self, wait_for_lock};
use crate::storage::Storage;
use crate::{EpochId, StockError};

const MAGIC: [u8; 8] = *b"TACITWIT";
const VERSION: u32 = 1;
/// Magic, version and count, data that belongs to the count, and a checksum.
const FILE_BYTES: usize = 8 + 4 + 8 + REST_BYTES + CHECKSUM_BYTES;
const REST_BYTES: usize = 24;
const CHECKSUM_BYTES: usize = 8;

/// The longest wait for another process that writes a note. Writing takes microseconds.
const LOCK_AT_MOST: Duration = Duration::from_secs(1);

/// The count of something that has ended for good: no copy of it is newer.
const ENDED: u64 = u64::MAX;

/// Describes a count from a note in words.
pub(crate) fn in_words(count: u64) -> String {
    match count {
        ENDED => "its end".to_owned(),
        count => format!("change {count} or later"),
    }
}

/// The folder of notes.
#[derive(Clone, Debug)]
pub struct Witness {
    storage: Arc<dyn Storage>,
    folder: PathBuf,
    /// Whether stocks are compared as a whole, and not only their chains.
    has_stocks: bool,
    failures: Arc<Mutex<NoteFailures>>,
}

/// Notes that could not be written, so that a copy restored later may go unnoticed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteFailures {
    /// The number of failures.
    pub count: u64,
    /// The error of the last note, or `None` if it was written.
    pub last: Option<String>,
}

/// The content of a note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    /// The number of changes to the record.
    pub(crate) count: u64,
    /// The content of the record at that time, if it is short enough to be kept here.
    pub(crate) rest: [u64; REST_BYTES / 8],
}

impl Witness {
    /// Opens the notes in a folder, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// The folder cannot be created or written.
    pub fn open(storage: Arc<dyn Storage>, folder: &Path) -> Result<Self, StockError> {
        let made = storage.create_folder(folder);
        made.map_err(StockError::io(folder, "make the folder"))?;
        let witness = Self {
            storage,
            folder: folder.to_owned(),
            has_stocks: true,
            failures: Arc::default(),
        };
        // Whether anything can be written there.
        let probe = witness.folder.join("lock");
        wait_for_lock(witness.storage.as_ref(), &probe, LOCK_AT_MOST).map(drop)?;
        Ok(witness)
    }

    /// Returns the same notes for stocks that hold only chains. A restored chain is refused when it
    /// is used, and can be dropped.
    pub fn of_chains(&self) -> Self {
        Self {
            has_stocks: false,
            ..self.clone()
        }
    }

    /// The lock of a file, by its name: one of sixteen, so that stocks seldom wait for each other.
    fn lock(&self, name: &[u8; 32]) -> Result<Box<dyn Send + Sync>, StockError> {
        let file = self.folder.join(format!("lock-{:x}", name[0] >> 4));
        wait_for_lock(self.storage.as_ref(), &file, LOCK_AT_MOST)
    }

    /// Returns the notes that this process could not write.
    pub fn failures(&self) -> NoteFailures {
        self.failed().clone()
    }

    fn failed(&self) -> MutexGuard<'_, NoteFailures> {
        let failures = self.failures.lock();
        failures.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the note of this name, or `None` if it does not exist or was torn by a loss of
    /// power. A whole note is read without the lock, which all stocks of the folder share.
    pub(crate) fn note(&self, name: &[u8; 32]) -> Result<Option<Note>, StockError> {
        let path = self.path(name);
        if let Some(note) = self.read(&path)? {
            return Ok(Some(note));
        }
        // Another process may be writing the note.
        let _lock = self.lock(name)?;
        self.read(&path)
    }

    fn path(&self, name: &[u8; 32]) -> PathBuf {
        self.folder.join(stocks::name(name))
    }

    fn read(&self, path: &Path) -> Result<Option<Note>, StockError> {
        let Some(file) = self.storage.find(path)? else {
            return Ok(None);
        };
        let mut bytes = [0; FILE_BYTES];
        match file.read_at(&mut bytes, 0) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            read => {
                read.map_err(StockError::io(path, "read it"))?;
                Ok(Note::parse(&bytes))
            }
        }
    }

    /// Records the progress of a record, unless the note is already further. A failure leaves the
    /// bound lower than it could be, and is counted.
    pub(crate) fn raise(&self, name: &[u8; 32], note: Note) {
        self.count(self.try_raise(name, note));
    }

    /// Removes the note of something that never had any content, so that a copy of it may come
    /// back.
    pub(crate) fn forget(&self, name: &[u8; 32]) {
        let removed = self.lock(name).and_then(|_lock| self.remove(name));
        self.count(removed);
    }

    fn remove(&self, name: &[u8; 32]) -> Result<(), StockError> {
        self.storage.clear_away(&self.path(name)).map(drop)
    }

    fn count(&self, done: Result<(), StockError>) {
        let why = done.err().map(|error| error.to_string());
        let mut failed = self.failed();
        failed.count += u64::from(why.is_some());
        failed.last = why;
    }

    fn try_raise(&self, name: &[u8; 32], note: Note) -> Result<(), StockError> {
        let path = &self.path(name);
        let _lock = self.lock(name)?;
        let noted = self.read(path)?.map_or(0, |old| old.count);
        if noted >= note.count {
            return Ok(());
        }
        let file = self.storage.find_or_create(path)?;
        let written = file.write_at(&note.to_bytes(), 0);
        written.map_err(StockError::io(path, "write it"))
    }
}

impl Note {
    fn parse(bytes: &[u8; FILE_BYTES]) -> Option<Self> {
        let (fields, sum) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
        let (head, numbers) = fields.split_first_chunk::<12>()?;
        let is_one = head[..8] == MAGIC && head[8..] == VERSION.to_le_bytes();
        let ([count, rest @ ..], []) = numbers.as_chunks::<8>() else {
            return None;
        };
        let rest = rest.iter().map(|number| u64::from_le_bytes(*number));
        let rest: Vec<u64> = rest.collect();
        (is_one && checksum(fields) == *sum).then_some(Self {
            count: u64::from_le_bytes(*count),
            rest: rest.try_into().ok()?,
        })
    }

    fn to_bytes(self) -> Vec<u8> {
        let rest = self.rest.map(u64::to_le_bytes).concat();
        let (version, count) = (VERSION.to_le_bytes(), self.count.to_le_bytes());
        let fields = [&MAGIC[..], &version, &count, &rest].concat();
        [&fields[..], &checksum(&fields)].concat()
    }
}

fn checksum(fields: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let hash = Sha256::digest(fields);
    *hash.first_chunk().expect("32 bytes")
}

/// The change of a transaction to a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainChange {
    /// The chain has changed this many times.
    Changed(u64),
    /// The chain was removed.
    Ended,
    /// The chain was removed before it had a version. Two parties start such a chain again when
    /// they meet, so no run continues from a copy of it. A peer may have any number of them
    /// started.
    NeverWas,
}

/// The notes about the records under one key: a stock, or the tries and answered keys of a folder.
#[derive(Clone)]
pub(crate) struct Notes {
    witness: Option<Witness>,
    key: Key,
}

impl Notes {
    pub(crate) fn new(witness: Option<&Witness>, key: &Key) -> Self {
        Self {
            witness: witness.cloned(),
            key: key.clone(),
        }
    }

    fn name(&self, what: &[&[u8]]) -> [u8; 32] {
        let mut hash =
            Sha256::new_with_prefix(b"tacit witness\0").chain_update(self.key.as_slice());
        what.iter().for_each(|part| hash.update(part));
        hash.finalize().into()
    }

    fn of_epoch(&self, epoch: &EpochId) -> [u8; 32] {
        self.name(&[b"epoch\0", &epoch.number.to_le_bytes(), &epoch.nonce])
    }

    fn raise(&self, name: &[u8; 32], count: u64) {
        if let Some(witness) = &self.witness {
            let rest = [0; 3];
            witness.raise(name, Note { count, rest });
        }
    }

    /// Records that the stock has changed this many times in this epoch.
    pub(crate) fn raise_epoch(&self, epoch: &EpochId, count: u64) {
        self.raise(&self.of_epoch(epoch), count);
    }

    /// Records that the epoch has ended.
    pub(crate) fn end_epoch(&self, epoch: &EpochId) {
        self.end(&self.of_epoch(epoch));
    }

    /// The name of the list of ended epochs and chains.
    fn of_ends(&self) -> [u8; 32] {
        self.name(&[b"ends\0"])
    }

    fn end(&self, name: &[u8; 32]) {
        if let Some(witness) = &self.witness {
            witness.end(&self.of_ends(), name);
        }
    }

    /// Returns how many changes of the record with this name were noted.
    fn count(&self, witness: &Witness, name: &[u8; 32]) -> Result<u64, StockError> {
        // In this order: what ends is on the list before its note is removed. A process that was
        // slow may have noted it once more since.
        let noted = witness.note(name)?.map_or(0, |note| note.count);
        if witness.has_ended(&self.of_ends(), name)? {
            return Ok(ENDED);
        }
        Ok(noted)
    }

    /// Forgets an epoch that has ended and in which nothing was ever published. A peer may have any
    /// number of them started.
    pub(crate) fn forget_epoch(&self, epoch: &EpochId) {
        self.forget(&self.of_epoch(epoch));
    }

    fn forget(&self, name: &[u8; 32]) {
        if let Some(witness) = &self.witness {
            witness.forget(name);
        }
    }

    /// Returns the noted number of changes to the stock in this epoch.
    pub(crate) fn epoch(&self, epoch: &EpochId) -> Result<u64, StockError> {
        match &self.witness {
            Some(witness) if witness.has_stocks => self.count(witness, &self.of_epoch(epoch)),
            _ => Ok(0),
        }
    }

    fn of_chain(&self, chain: &[u8; 16]) -> [u8; 32] {
        self.name(&[b"chain\0", chain])
    }

    /// Records the change of a transaction to a chain.
    pub(crate) fn raise_chain(&self, chain: &[u8; 16], change: ChainChange) {
        let name = self.of_chain(chain);
        match change {
            ChainChange::Changed(count) => self.raise(&name, count),
            ChainChange::Ended => self.end(&name),
            ChainChange::NeverWas => self.forget(&name),
        }
    }

    /// Returns the noted number of changes to a chain.
    pub(crate) fn chain(&self, chain: &[u8; 16]) -> Result<u64, StockError> {
        let noted = |witness| self.count(witness, &self.of_chain(chain));
        self.witness.as_ref().map_or(Ok(0), noted)
    }

    /// Notes a record as a whole, under this name.
    pub(crate) fn raise_record(&self, name: &[&[u8]], note: Note) {
        if let Some(witness) = &self.witness {
            witness.raise(&self.name(name), note);
        }
    }

    /// Removes the note about a record that is removed as well.
    pub(crate) fn forget_record(&self, name: &[&[u8]]) {
        self.forget(&self.name(name));
    }

    /// Returns the note about a record of this name.
    pub(crate) fn record(&self, name: &[&[u8]]) -> Result<Option<Note>, StockError> {
        let witness = self.witness.as_ref();
        let noted = witness.map(|witness| witness.note(&self.name(name)));
        noted.transpose().map(Option::flatten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;

    #[test]
    fn a_note_is_only_raised_and_one_that_is_torn_is_none() {
        let disk = Memory::new();
        let witness = Witness::open(Arc::new(disk.clone()), Path::new("w")).expect("room");
        let name = [7; 32];
        let note = |count| Note {
            count,
            rest: [count, 1, 2],
        };
        let noted = || witness.note(&name).expect("it can be read");
        assert_eq!(noted(), None);
        for (raised, due) in [(3, 3), (2, 3), (3, 3), (9, 9)] {
            witness.raise(&name, note(raised));
            assert_eq!(noted(), Some(note(due)));
        }
        let file = disk.open(&witness.path(&name)).expect("a note");
        file.write_at(&[1; 2], 13).expect("room");
        assert_eq!(noted(), None);
        witness.raise(&name, note(4));
        assert_eq!(noted(), Some(note(4)));
    }

    #[test]
    fn a_note_is_read_while_another_process_writes_one() {
        let disk = Memory::new();
        let witness = Witness::open(Arc::new(disk.clone()), Path::new("w")).expect("room");
        let note = Note {
            count: 3,
            rest: [0; 3],
        };
        witness.raise(&[7; 32], note);
        let _writes = disk.try_lock(Path::new("w/lock-0")).expect("a folder");
        assert_eq!(witness.note(&[7; 32]).expect("no wait"), Some(note));
        // A missing or torn note is not reported while a note may be being written.
        let waits = witness.note(&[8; 32]);
        assert!(matches!(waits, Err(StockError::Busy { .. })), "{waits:?}");
    }

    #[test]
    fn notes_that_fail_are_counted_with_the_reason() {
        let disk = Memory::new();
        let witness = Witness::open(Arc::new(disk.clone()), Path::new("w")).expect("room");
        let raise = |name: u8| {
            let rest = [0; 3];
            witness.raise(&[name; 32], Note { count: 1, rest });
        };
        raise(1);
        assert_eq!(witness.failures(), NoteFailures::default());
        disk.limit_bytes(Some(0));
        raise(2);
        witness.of_chains().raise(
            &[3; 32],
            Note {
                count: 1,
                rest: [0; 3],
            },
        );
        let failures = witness.failures();
        assert_eq!(failures.count, 2);
        assert!(failures.last.is_some_and(|why| why.contains("full")));
        disk.limit_bytes(None);
        raise(2);
        let (count, last) = (2, None);
        assert_eq!(witness.failures(), NoteFailures { count, last });
    }
}
