//! The folder of all stocks of a party, and the root key that opens them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::error::Repair;
use crate::passed::{PassedOfStocks, SharedPassed};
use crate::records::FORMAT_VERSION;
use crate::seal::{self, Key};
use crate::stock::locked;
use crate::storage::Storage;
use crate::witness::{Notes, Witness};
use crate::{EpochId, Limits, Stock, StockError, StockId};

const MAGIC: [u8; 8] = *b"TACITROT";
const FILE_NAME: &str = "root.key";
const FILE_BYTES: usize = 8 + 4 + 32 + 32;

/// How long to wait for another process that opens the folder, and between two tries.
const LOCK_AT_MOST: Duration = Duration::from_secs(20);
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// Where the root key is, without which nothing in the stocks opens.
pub enum RootKey {
    /// In the file `root.key` of the folder, made when it is absent. Protects a copy of a stock
    /// that lacks this file, and used material always; not against who takes the whole disk.
    Beside,
    /// The caller keeps it, for instance derived from the party's identity. Protects unused
    /// material too, as well as the caller keeps the key.
    Given(Zeroizing<[u8; 32]>),
}

/// The stocks of a party.
#[derive(Clone)]
pub struct Stocks {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) folder: PathBuf,
    pub(crate) root: Key,
    /// Whether the key is in a file of the folder.
    pub(crate) has_key_file: bool,
    passed: PassedOfStocks,
    witness: Option<Witness>,
}

impl Stocks {
    /// Opens the folder, and makes it if it does not exist.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`]; [`StockError::Corrupted`] where the root key is damaged or others can
    /// read it; [`StockError::Busy`] where another process that opens the folder does not finish.
    pub fn open(
        storage: Arc<dyn Storage>,
        folder: &Path,
        root: RootKey,
    ) -> Result<Self, StockError> {
        Self::open_within(storage, folder, root, LOCK_AT_MOST)
    }

    /// As [`Stocks::open`], with `at_most` as the longest wait for another process that opens the
    /// folder.
    ///
    /// # Errors
    ///
    /// Those of [`Stocks::open`].
    pub fn open_within(
        storage: Arc<dyn Storage>,
        folder: &Path,
        root: RootKey,
        at_most: Duration,
    ) -> Result<Self, StockError> {
        storage
            .create_folder(folder)
            .map_err(StockError::io(folder, "make the folder"))?;
        let has_key_file = matches!(root, RootKey::Beside);
        let root = match root {
            RootKey::Given(key) => key,
            RootKey::Beside => root_key(storage.as_ref(), folder, at_most)?,
        };
        Ok(Self {
            storage,
            folder: folder.to_owned(),
            root,
            has_key_file,
            passed: PassedOfStocks::default(),
            witness: None,
        })
    }

    /// The stocks, which from now on are compared with what `witness` notes of them.
    #[must_use]
    pub fn witnessed(mut self, witness: Witness) -> Self {
        self.witness = Some(witness);
        self
    }

    /// The notes about tries.
    pub(crate) fn notes(&self) -> Notes {
        Notes::new(self.witness.as_ref(), &self.root)
    }

    /// Makes a stock that does not exist, with its first epoch; `secret` is the caller's record of
    /// the epoch (the garbler's Δ, the state of an OT source), at most
    /// [`crate::MAX_EPOCH_SECRET_BYTES`].
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] where the stock exists.
    pub fn create(
        &self,
        id: StockId,
        epoch: EpochId,
        secret: &[u8],
        limits: Limits,
    ) -> Result<Stock, StockError> {
        let place = self.place(&id);
        Stock::create(Arc::clone(&self.storage), place, id, epoch, secret, limits)
    }

    /// Opens a stock, and heals what a crash left.
    ///
    /// # Errors
    ///
    /// [`StockError::Missing`], [`StockError::WrongStock`], [`StockError::Incompatible`],
    /// [`StockError::Corrupted`]; [`StockError::Restored`] where the [`Witness`] has seen it
    /// further.
    pub fn stock(&self, id: StockId, limits: Limits) -> Result<Stock, StockError> {
        Stock::open(Arc::clone(&self.storage), self.place(&id), id, limits)
    }

    /// The names of the stocks here that this party has, with whomever.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Corrupted`].
    pub fn list(&self) -> Result<Vec<StockId>, StockError> {
        self.list_each()?.into_iter().collect()
    }

    /// The same, each apart: one that cannot be read does not hide the others.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`].
    pub fn list_each(&self) -> Result<Vec<Result<StockId, StockError>>, StockError> {
        let failed = StockError::io(&self.folder, "list it");
        let names = self.storage.names(&self.folder).map_err(failed)?;
        let folders = names.iter().filter(|name| name.starts_with("stock-"));
        let ids = folders
            .map(|name| crate::stock::identify(self.storage.as_ref(), &self.folder.join(name)));
        let ids = ids.filter_map(Result::transpose);
        let ids = ids.map(|id| id.map_err(|error| error.repaired_by(Repair::Remove)));
        Ok(ids.collect())
    }

    /// Removes a stock, and destroys its keys first. `id` may name none.
    ///
    /// # Errors
    ///
    /// [`StockError::Busy`] where a process prepares, [`StockError::Io`].
    pub fn remove(&self, id: &StockId) -> Result<(), StockError> {
        self.remove_after(id, || Ok(()))
    }

    /// Removes a stock, and runs `ends` when nobody who has it open can use it any more and before
    /// it is gone: where that fails, or the power does, the stock is still in the list.
    ///
    /// # Errors
    ///
    /// Those of [`Stocks::remove`] and of `ends`.
    pub fn remove_after<T, E: From<StockError>>(
        &self,
        id: &StockId,
        ends: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        crate::stock::remove(self.storage.as_ref(), &self.place(id), ends)
    }

    /// The right to let a stock, which need not be there yet, meet the peer's: `None` while
    /// another process or thread of this party has it. A record that was taken before another
    /// meeting and comes after it looks like one of an old copy, so that the party that speaks
    /// first takes this right before its [`Stock::marks`], the other when those have come, and
    /// both give it back after [`Stock::confirm`].
    ///
    /// # Errors
    ///
    /// [`StockError::Io`].
    pub fn try_meet(&self, id: &StockId) -> Result<Option<Meeting>, StockError> {
        let file = self.meeting_lock(id);
        let lock = self.storage.try_lock(&file);
        let lock = lock.map_err(StockError::io(&file, "lock it"))?;
        Ok(lock.map(|lock| Meeting { _lock: lock }))
    }

    /// The file that [`Stocks::try_meet`] locks.
    #[must_use]
    pub fn meeting_lock(&self, id: &StockId) -> PathBuf {
        self.folder
            .join(format!("meet-{}.lock", name(&id.digest())))
    }

    fn place(&self, id: &StockId) -> StockLocation {
        let digest = id.digest();
        let key = seal::derive(b"tacit stock root", &self.root, &digest);
        StockLocation {
            folder: self.folder.join(format!("stock-{}", name(&digest))),
            notes: Notes::new(self.witness.as_ref(), &key),
            key,
            digest,
            passed: Arc::clone(locked(&self.passed).entry(digest).or_default()),
        }
    }
}

impl std::fmt::Debug for Stocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stocks({})", self.folder.display())
    }
}

/// A stock's name in the names of files.
pub(crate) fn name(digest: &[u8; 32]) -> String {
    let bytes = digest[..16].iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// The right that [`Stocks::try_meet`] gives, until it is dropped.
pub struct Meeting {
    _lock: Box<dyn Send + Sync>,
}

impl std::fmt::Debug for Meeting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meeting")
    }
}

/// Where a stock is and what opens it.
pub(crate) struct StockLocation {
    pub(crate) folder: PathBuf,
    pub(crate) key: Key,
    pub(crate) digest: [u8; 32],
    pub(crate) passed: SharedPassed,
    pub(crate) notes: Notes,
}

/// Reads the root key, or makes it where the folder is new.
fn root_key(storage: &dyn Storage, folder: &Path, at_most: Duration) -> Result<Key, StockError> {
    let path = folder.join(FILE_NAME);
    // Several processes may open a new folder at once. The first to get the lock writes the key;
    // the others read it when it is whole and durable.
    let _lock = wait_for_lock(storage, &folder.join("root.lock"), at_most)?;
    let file = match storage.open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if !unused(storage, folder)? {
                return Err(StockError::corrupted(
                    &path,
                    "the file",
                    "absent",
                    "the root key of the stocks next to it",
                    Repair::RestoreRootKey,
                ));
            }
            return make_root_key(storage, folder, &path);
        }
        Err(error) => return Err(StockError::io(&path, "open it")(error)),
    };
    let mut bytes = Zeroizing::new([0; FILE_BYTES]);
    let read = file.read_at(&mut *bytes, 0);
    if read.is_err() && unused(storage, folder)? {
        // A crash cut its writing: no stock was ever sealed under it.
        storage
            .remove(&path)
            .map_err(StockError::io(&path, "remove it"))?;
        return make_root_key(storage, folder, &path);
    }
    if file
        .exposed()
        .map_err(StockError::io(&path, "read its mode"))?
    {
        return Err(StockError::corrupted(
            &path,
            "its mode",
            "open to others",
            "0600",
            Repair::CloseRootKey,
        ));
    }
    parse_root(&path, read, &bytes)
}

/// Reads the key of an open folder once more.
pub(crate) fn read_root_key(stocks: &Stocks) -> Result<(), StockError> {
    let path = stocks.folder.join(FILE_NAME);
    let file = stocks.storage.open(&path);
    let file = file.map_err(StockError::io(&path, "open it"))?;
    let mut bytes = Zeroizing::new([0; FILE_BYTES]);
    let read = file.read_at(&mut *bytes, 0);
    match parse_root(&path, read, &bytes)? == stocks.root {
        true => Ok(()),
        false => {
            let expected = "the one under which the folder was opened";
            let what = "the root key";
            Err(StockError::corrupted(
                &path,
                what,
                "another one",
                expected,
                Repair::Remove,
            ))
        }
    }
}

/// Waits until no other process or thread has the lock. Those that take it hold it for
/// milliseconds.
pub(crate) fn wait_for_lock(
    storage: &dyn Storage,
    file: &Path,
    at_most: Duration,
) -> Result<Box<dyn Send + Sync>, StockError> {
    let began = Instant::now();
    loop {
        let lock = storage.try_lock(file);
        match lock.map_err(StockError::io(file, "lock it"))? {
            Some(lock) => return Ok(lock),
            None if began.elapsed() < at_most => thread::sleep(LOCK_PAUSE),
            None => {
                let file = file.to_owned();
                return Err(StockError::Busy { file });
            }
        }
    }
}

/// Whether no stock stands in the folder.
fn unused(storage: &dyn Storage, folder: &Path) -> Result<bool, StockError> {
    let names = storage
        .names(folder)
        .map_err(StockError::io(folder, "list it"))?;
    Ok(!names.iter().any(|name| name.starts_with("stock-")))
}

fn make_root_key(storage: &dyn Storage, folder: &Path, path: &Path) -> Result<Key, StockError> {
    let key = seal::random_key()?;
    let mut bytes = Zeroizing::new([0; FILE_BYTES]);
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes[12..44].copy_from_slice(&*key);
    let sum = Sha256::digest(&bytes[..44]);
    bytes[44..].copy_from_slice(&sum);
    let file = storage
        .create(path)
        .map_err(StockError::io(path, "make it"))?;
    file.write_at(&*bytes, 0)
        .map_err(StockError::io(path, "write it"))?;
    file.sync().map_err(StockError::io(path, "write it"))?;
    storage
        .sync_folder(folder)
        .map_err(StockError::io(folder, "write it"))?;
    Ok(key)
}

fn parse_root(
    path: &Path,
    read: io::Result<()>,
    bytes: &[u8; FILE_BYTES],
) -> Result<Key, StockError> {
    let damaged = |found: &str| {
        let expected = "76 bytes that begin with TACITROT and end with their checksum";
        StockError::corrupted(path, "the root key", found, expected, Repair::Remove)
    };
    read.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("too short"),
        _ => StockError::io(path, "read it")(error),
    })?;
    if bytes[..8] != MAGIC || bytes[44..] != Sha256::digest(&bytes[..44])[..] {
        return Err(damaged("damaged"));
    }
    // Of whatever version: this file has never changed, each stock says its own version, and what
    // removes a stock of another version needs the folder.
    let mut key = Key::default();
    key.copy_from_slice(&bytes[12..44]);
    Ok(key)
}
