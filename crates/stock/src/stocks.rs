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
use crate::timed::{Timed, WatchDisk};
use crate::witness::{Notes, Witness};
use crate::{EpochId, LaneId, Limits, Stock, StockError, StockId};

const MAGIC: [u8; 8] = *b"TACITROT";
const FILE_NAME: &str = "root.key";
const FILE_BYTES: usize = 8 + 4 + 32 + 32;

/// The most lanes of a peer with a stock in one role under one scheme: a peer may name any.
pub const MAX_LANES: usize = 16;

/// The longest wait for another process that opens the folder, and the pause between two attempts.
const LOCK_AT_MOST: Duration = Duration::from_secs(20);
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// The place of the root key, without which nothing in the stocks can be opened.
pub enum RootKey {
    /// In the file `root.key` of the folder, which is created if it does not exist. This protects a
    /// copy of a stock without this file, and always protects used material. It does not protect
    /// against a thief of the whole disk.
    Beside,
    /// With the caller, who may derive it from the party's identity. This also protects unused
    /// material, as well as the caller keeps the key.
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
    /// Opens the folder, and creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`]; [`StockError::Corrupted`] if the root key is damaged or others can read
    /// it; [`StockError::Busy`] if another process that opens the folder does not finish.
    pub fn open(
        storage: Arc<dyn Storage>,
        folder: &Path,
        root: RootKey,
    ) -> Result<Self, StockError> {
        storage
            .create_folder(folder)
            .map_err(StockError::io(folder, "make the folder"))?;
        let has_key_file = matches!(root, RootKey::Beside);
        let root = match root {
            RootKey::Given(key) => key,
            RootKey::Beside => root_key(storage.as_ref(), folder)?,
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

    /// Returns the stocks, which from now on are compared with the notes of `witness`.
    #[must_use]
    pub fn witnessed(mut self, witness: Witness) -> Self {
        self.witness = Some(witness);
        self
    }

    /// Returns the stocks, which from now on call `watch` with the time of each wait for the disk.
    #[must_use]
    pub fn watch_disk(mut self, watch: Arc<WatchDisk>) -> Self {
        self.storage = Arc::new(Timed::new(self.storage, watch));
        self
    }

    /// Returns the storage.
    pub fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.storage)
    }

    /// Returns the notes about tries and answered keys.
    pub(crate) fn notes(&self) -> Notes {
        Notes::new(self.witness.as_ref(), &self.root)
    }

    /// Creates a stock with its first epoch. `secret` is the caller's record of the epoch (the
    /// garbler's Δ, the state of an OT source), of at most [`crate::MAX_EPOCH_SECRET_BYTES`].
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if the stock exists; [`StockError::TooManyLanes`] if the peer has
    /// stocks in [`MAX_LANES`] others of its lanes.
    pub fn create(
        &self,
        id: StockId,
        epoch: EpochId,
        secret: &[u8],
        limits: Limits,
    ) -> Result<Stock, StockError> {
        if self.lanes(&id)?.len() >= MAX_LANES {
            return Err(StockError::TooManyLanes { most: MAX_LANES });
        }
        let place = self.place(&id);
        Stock::create(Arc::clone(&self.storage), place, id, epoch, secret, limits)
    }

    /// Returns the peer's lanes in which there is such a stock, whatever the peer's lane in `id`. A
    /// peer with one process has the lane of zeros.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`].
    pub fn lanes(&self, id: &StockId) -> Result<Vec<LaneId>, StockError> {
        let names = self.storage.list(&self.folder)?;
        let lanes = names.iter().filter_map(|name| {
            let mut in_lane = *id;
            in_lane.lanes.peer = lane_of_folder(name)?;
            (*name == folder_name(&in_lane)).then_some(in_lane.lanes.peer)
        });
        Ok(lanes.collect())
    }

    /// Opens a stock, and repairs it after a crash.
    ///
    /// # Errors
    ///
    /// [`StockError::Missing`], [`StockError::WrongStock`], [`StockError::Incompatible`],
    /// [`StockError::Corrupted`]; [`StockError::Restored`] if the [`Witness`] has seen a later
    /// state of it.
    pub fn stock(&self, id: StockId, limits: Limits) -> Result<Stock, StockError> {
        // A peer may name any lane, and one without a stock leaves nothing in memory.
        let folder = self.folder.join(folder_name(&id));
        if !crate::stock::has_index(self.storage.as_ref(), &folder) {
            return Err(StockError::Missing { folder });
        }
        Stock::open(Arc::clone(&self.storage), self.place(&id), id, limits)
    }

    /// Opens a stock as [`Stocks::stock`] does, or returns `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// The other errors of [`Stocks::stock`].
    pub fn find(&self, id: StockId, limits: Limits) -> Result<Option<Stock>, StockError> {
        match self.stock(id, limits) {
            Err(StockError::Missing { .. }) => Ok(None),
            stock => stock.map(Some),
        }
    }

    /// Returns the ids of this party's stocks in the folder, with all peers.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Corrupted`].
    pub fn list(&self) -> Result<Vec<StockId>, StockError> {
        self.list_each()?.into_iter().collect()
    }

    /// Returns the same ids, each with its own error: an unreadable stock does not hide the others.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`].
    pub fn list_each(&self) -> Result<Vec<Result<StockId, StockError>>, StockError> {
        let names = self.storage.list(&self.folder)?;
        let folders = names.iter().filter(|name| name.starts_with("stock-"));
        let ids = folders
            .map(|name| crate::stock::identify(self.storage.as_ref(), &self.folder.join(name)));
        let ids = ids.filter_map(Result::transpose);
        let ids = ids.map(|id| id.map_err(|error| error.repaired_by(Repair::Remove)));
        Ok(ids.collect())
    }

    /// Removes a stock, durably, and destroys its keys first. The stock need not exist.
    ///
    /// # Errors
    ///
    /// [`StockError::Busy`] if a process prepares, [`StockError::Io`].
    pub fn remove(&self, id: &StockId) -> Result<(), StockError> {
        self.remove_after(id, || Ok(()))
    }

    /// Removes a stock. Calls `ends` when nobody who has the stock open can use it any more, and
    /// before it is gone. If `ends` or the power fails, the stock is still in the list.
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

    /// Takes the right to let a stock's record meet the peer's. The stock need not exist yet.
    /// Returns `None` while another process or thread of this party has the right. A record that
    /// was read before another meeting, and arrives after it, looks like one from an old copy. So
    /// the party that sends first takes this right before its [`Stock::marks`], and the other party
    /// when those have arrived. Both give it back after [`Stock::confirm`].
    ///
    /// # Errors
    ///
    /// [`StockError::Io`].
    pub fn try_meet(&self, id: &StockId) -> Result<Option<Meeting>, StockError> {
        let lock = self.storage.lock(&self.meeting_lock(id))?;
        Ok(lock.map(|lock| Meeting { _lock: lock }))
    }

    /// Returns the file that [`Stocks::try_meet`] locks. It is the same for all of the peer's
    /// lanes: a peer may name any, and the files stay.
    pub fn meeting_lock(&self, id: &StockId) -> PathBuf {
        let mut of_all = *id;
        of_all.lanes.peer = LaneId::default();
        self.folder
            .join(format!("meet-{}.lock", name(&of_all.digest())))
    }

    fn place(&self, id: &StockId) -> StockLocation {
        let digest = id.digest();
        let key = seal::derive(b"tacit stock root", &self.root, &digest);
        StockLocation {
            folder: self.folder.join(folder_name(id)),
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

/// Returns a stock's name for use in file names.
pub(crate) fn name(digest: &[u8; 32]) -> String {
    let bytes = digest[..16].iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the name of a stock's folder. It ends with the peer's lane in hexadecimal digits, if the
/// peer has one, so that a look at the names finds the lanes.
fn folder_name(id: &StockId) -> String {
    let mut folder = format!("stock-{}", name(&id.digest()));
    let lane = id.lanes.peer.0;
    if lane != [0; 16] {
        folder.push('-');
        let digits = lane.iter().map(|byte| format!("{byte:02x}"));
        folder.extend(digits);
    }
    folder
}

/// Returns the lane in the name of a stock's folder.
fn lane_of_folder(folder: &str) -> Option<LaneId> {
    let (_, digits) = match folder.strip_prefix("stock-")?.split_once('-') {
        None => return Some(LaneId::default()),
        Some(parts) => parts,
    };
    let mut lane = [0; 16];
    for (place, byte) in lane.iter_mut().enumerate() {
        let digits = digits.get(2 * place..2 * place + 2)?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(LaneId(lane))
}

/// The right from [`Stocks::try_meet`], held until it is dropped.
pub struct Meeting {
    _lock: Box<dyn Send + Sync>,
}

impl std::fmt::Debug for Meeting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meeting")
    }
}

/// The location and the key of a stock.
#[derive(Clone)]
pub(crate) struct StockLocation {
    pub(crate) folder: PathBuf,
    pub(crate) key: Key,
    pub(crate) digest: [u8; 32],
    pub(crate) passed: SharedPassed,
    pub(crate) notes: Notes,
}

/// Reads the root key, or creates it if the folder is new.
fn root_key(storage: &dyn Storage, folder: &Path) -> Result<Key, StockError> {
    let path = folder.join(FILE_NAME);
    // Several processes may open a new folder at once. The first to get the lock writes the key.
    // The others read it once it is whole and durable.
    let _lock = wait_for_lock(storage, &folder.join("root.lock"), LOCK_AT_MOST)?;
    let Some(file) = storage.find(&path)? else {
        if unused(storage, folder)? {
            return make_root_key(storage, folder, &path);
        }
        return Err(StockError::corrupted(
            &path,
            "the file",
            "absent",
            "the root key of the stocks next to it",
            Repair::RestoreRootKey,
        ));
    };
    let mut bytes = Zeroizing::new([0; FILE_BYTES]);
    let read = file.read_at(&mut *bytes, 0);
    if read.is_err() && unused(storage, folder)? {
        // A crash interrupted the write, so no stock was ever sealed under this key.
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

/// Reads the key of an open folder again.
pub(crate) fn read_root_key(stocks: &Stocks) -> Result<(), StockError> {
    let path = stocks.folder.join(FILE_NAME);
    let file = stocks.storage.open(&path);
    let file = file.map_err(StockError::io(&path, "open it"))?;
    let mut bytes = Zeroizing::new([0; FILE_BYTES]);
    let read = file.read_at(&mut *bytes, 0);
    if parse_root(&path, read, &bytes)? == stocks.root {
        return Ok(());
    }
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

/// Waits until no other process or thread has the lock. Every holder has it only for milliseconds.
pub(crate) fn wait_for_lock(
    storage: &dyn Storage,
    file: &Path,
    at_most: Duration,
) -> Result<Box<dyn Send + Sync>, StockError> {
    let began = Instant::now();
    loop {
        match storage.lock(file)? {
            Some(lock) => return Ok(lock),
            None if began.elapsed() < at_most => thread::sleep(LOCK_PAUSE),
            None => {
                let file = file.to_owned();
                return Err(StockError::Busy { file });
            }
        }
    }
}

/// Whether the folder contains no stock.
fn unused(storage: &dyn Storage, folder: &Path) -> Result<bool, StockError> {
    let names = storage.list(folder)?;
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
    storage.keep_names(folder)?;
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
    // Accept every version: this file has never changed, each stock has its own version, and
    // removing a stock of another version needs the folder.
    let mut key = Key::default();
    key.copy_from_slice(&bytes[12..44]);
    Ok(key)
}
