//! The interface on which the stock is built: files read and written by position, and an index that
//! changes in transactions. Tests can break it ([`crate::Memory`]), and programs use
//! [`crate::Disk`].
//!
//! The stock relies on exactly this:
//!
//! - written bytes are durable when [`StoredFile::sync`] has returned, and before that may be there
//!   in whole, in part, torn within a page, or not at all;
//! - a name made or removed is durable when [`Storage::sync_folder`] has returned;
//! - a transaction of the index is durable and whole when [`Index::update`] has returned, excludes
//!   every other process meanwhile, and leaves nothing when it fails or is cut.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::StockError;

/// A place where stocks are kept.
pub trait Storage: Send + Sync + fmt::Debug {
    /// Creates a folder and its parents, for the owner alone. It may exist already.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;
    /// Returns the names in a folder, sorted.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Creates an empty file for the owner alone. It must not exist.
    fn create(&self, file: &Path) -> io::Result<Box<dyn StoredFile>>;
    /// Opens a file that exists.
    fn open(&self, file: &Path) -> io::Result<Box<dyn StoredFile>>;
    /// Removes a file.
    fn remove(&self, file: &Path) -> io::Result<()>;
    /// Removes a folder and everything in it. It need not exist.
    fn remove_folder(&self, folder: &Path) -> io::Result<()>;
    /// Takes a lock that ends with the guard or with the process. Returns `None` if it is taken.
    fn try_lock(&self, file: &Path) -> io::Result<Option<Box<dyn Send + Sync>>>;
    /// Opens the index in a file, and creates the file if it does not exist.
    fn open_index(&self, file: &Path) -> io::Result<Box<dyn Index>>;
}

/// A lock that ends when it is dropped, or with the process.
pub(crate) type Lock = Box<dyn Send + Sync>;

/// The same with errors that name the file and the operation.
impl dyn Storage + '_ {
    /// Returns the names in a folder, sorted.
    pub(crate) fn list(&self, folder: &Path) -> Result<Vec<String>, StockError> {
        let names = self.names(folder);
        names.map_err(StockError::io(folder, "list it"))
    }

    /// Opens a file, or returns `None` if it does not exist.
    pub(crate) fn find(&self, file: &Path) -> Result<Option<Box<dyn StoredFile>>, StockError> {
        match self.open(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some).map_err(StockError::io(file, "open it")),
        }
    }

    /// Opens a file, and creates it if it does not exist.
    pub(crate) fn find_or_create(&self, file: &Path) -> Result<Box<dyn StoredFile>, StockError> {
        let opened = match self.create(file) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => self.open(file),
            created => created,
        };
        opened.map_err(StockError::io(file, "make it"))
    }

    /// Removes a file. Returns false if it does not exist.
    pub(crate) fn clear_away(&self, file: &Path) -> Result<bool, StockError> {
        match self.remove(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            removed => removed
                .map(|()| true)
                .map_err(StockError::io(file, "remove it")),
        }
    }

    /// Takes a lock, or returns `None` if it is taken.
    pub(crate) fn lock(&self, file: &Path) -> Result<Option<Lock>, StockError> {
        let lock = self.try_lock(file);
        lock.map_err(StockError::io(file, "lock it"))
    }

    /// Opens the index in a file, and creates the file if it does not exist.
    pub(crate) fn index(&self, file: &Path) -> Result<Box<dyn Index>, StockError> {
        let index = self.open_index(file);
        index.map_err(StockError::io(file, "open it"))
    }

    /// Makes the names in a folder durable.
    pub(crate) fn keep_names(&self, folder: &Path) -> Result<(), StockError> {
        let synced = self.sync_folder(folder);
        synced.map_err(StockError::io(folder, "write it"))
    }
}

/// An open file.
pub trait StoredFile: Send + Sync {
    /// Fills `bytes` from `offset`. Fails if the file ends before.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes `bytes` at `offset`. The file grows as needed.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes everything that was written durable.
    fn sync(&self) -> io::Result<()>;
    /// Returns the bytes in the file.
    fn len(&self) -> io::Result<u64>;
    /// Whether others than the owner may read the file, if the system can tell.
    fn exposed(&self) -> io::Result<bool>;
    /// Whether the file is empty.
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|len| len == 0)
    }
}

/// The work of a transaction, which [`Index::update`] runs.
pub type UpdateWork<'a> = dyn FnMut(&mut dyn Entries) -> Result<(), StockError> + 'a;

/// Entries by key, which change in transactions and are shared by processes.
pub trait Index: Send {
    /// Runs `work` while no other process is in an `update`, and makes its changes durable. If
    /// `work` fails, nothing changes.
    ///
    /// # Errors
    ///
    /// Those of `work`, unchanged, and [`StockError::Io`].
    fn update(&mut self, work: &mut UpdateWork<'_>) -> Result<(), StockError>;
}

/// The most bytes of a key of an index.
pub const MAX_KEY_BYTES: usize = 128;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// The entries inside a transaction.
pub trait Entries {
    /// Returns the value at a key.
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>>;
    /// Returns the entries whose keys start with `prefix`, in the order of their keys.
    fn scan(&self, prefix: &[u8]) -> io::Result<Vec<Entry>>;
    /// Sets the value at a key.
    fn put(&mut self, key: &[u8], value: &[u8]) -> io::Result<()>;
    /// Removes a key, which need not exist.
    fn remove(&mut self, key: &[u8]) -> io::Result<()>;
}
