//! What the stock is built on: files read and written by position, and an index that changes in
//! transactions. An interface, so that tests can break it ([`crate::Memory`]) where
//! [`crate::Disk`] is what programs use.
//!
//! The stock relies on exactly this:
//!
//! - what was written is durable when [`StoredFile::sync`] has returned, and before that may be
//!   there in whole, in part, torn within a page, or not at all;
//! - a name made or removed is durable when [`Storage::sync_folder`] has returned;
//! - a transaction of the index is durable and whole when [`Index::update`] has returned, excludes
//!   every other process meanwhile, and leaves nothing when it fails or is cut.

use std::fmt;
use std::io;
use std::path::Path;

use crate::StockError;

/// Where stocks are kept.
pub trait Storage: Send + Sync + fmt::Debug {
    /// Makes a folder and those above it, for the owner alone; it may exist.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;
    /// The names in a folder, sorted.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Makes an empty file for the owner alone; it must not exist.
    fn create(&self, file: &Path) -> io::Result<Box<dyn StoredFile>>;
    /// Opens a file that exists.
    fn open(&self, file: &Path) -> io::Result<Box<dyn StoredFile>>;
    /// Removes a file.
    fn remove(&self, file: &Path) -> io::Result<()>;
    /// Removes a folder and everything in it; it may be absent.
    fn remove_folder(&self, folder: &Path) -> io::Result<()>;
    /// Takes a lock that ends with the guard or with the process; `None` where another has it.
    fn try_lock(&self, file: &Path) -> io::Result<Option<Box<dyn Send + Sync>>>;
    /// Opens the index in a file, and makes the file if it does not exist.
    fn open_index(&self, file: &Path) -> io::Result<Box<dyn Index>>;
}

/// An open file.
pub trait StoredFile: Send + Sync {
    /// Fills `bytes` from `offset`; an error where the file ends before.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes `bytes` at `offset`; the file grows as needed.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes everything written durable.
    fn sync(&self) -> io::Result<()>;
    /// Bytes in the file.
    fn len(&self) -> io::Result<u64>;
    /// Whether others than the owner may read the file, where the system can say.
    fn exposed(&self) -> io::Result<bool>;
    /// Whether the file is empty.
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|len| len == 0)
    }
}

/// A transaction, as [`Index::update`] runs it.
pub type UpdateWork<'a> = dyn FnMut(&mut dyn Entries) -> Result<(), StockError> + 'a;

/// Entries by key, changed in transactions, shared by processes.
pub trait Index: Send {
    /// Runs `work` while no other process is in an `update`, and makes its changes durable; leaves
    /// no change where `work` fails.
    ///
    /// # Errors
    ///
    /// Those of `work`, unchanged, and [`StockError::Io`].
    fn update(&mut self, work: &mut UpdateWork<'_>) -> Result<(), StockError>;
}

/// No key of an index is longer.
pub const MAX_KEY_BYTES: usize = 128;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// The entries inside a transaction.
pub trait Entries {
    /// The value at a key.
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>>;
    /// The entries whose keys begin with `prefix`, in the order of their keys.
    fn scan(&self, prefix: &[u8]) -> io::Result<Vec<Entry>>;
    /// Sets the value at a key.
    fn put(&mut self, key: &[u8], value: &[u8]) -> io::Result<()>;
    /// Removes a key, which may be absent.
    fn remove(&mut self, key: &[u8]) -> io::Result<()>;
}
