//! A stock: how it is created, opened, repaired after a crash, and restarted.

mod epochs;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use zeroize::Zeroizing;

use crate::error::Repair;
use crate::keys::{self, KeyFile, Slot};
use crate::passed::Passed;
use crate::process::OfProcess;
use crate::records::{FORMAT_VERSION, KindRecord, Records, StockRecord};
use crate::stocks::StockLocation;
use crate::storage::{Index, Storage, StoredFile};
use crate::witness::Notes;
use crate::{ComponentDigest, EpochId, StockError, StockId};
use crate::{lots, seal, values, witness};

pub(crate) use epochs::remove;
use epochs::{begin_epoch, destroy, destroy_keys, remove_other_epochs, settle};

const INDEX_NAME: &str = "index.db";
const KEYS_NAME: &str = "keys";

/// Bounds that the owner sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of lots and kept values together.
    pub max_bytes: u64,
}

impl Default for Limits {
    /// Returns a limit of 100 GiB.
    fn default() -> Self {
        Self {
            max_bytes: 100 << 30,
        }
    }
}

/// The material prepared with one peer in one epoch. Clones are the same stock.
#[derive(Clone)]
pub struct Stock {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) folder: PathBuf,
    pub(crate) id: StockId,
    pub(crate) epoch: EpochId,
    pub(crate) limits: Limits,
    pub(crate) keys: KeyFile,
    place: StockLocation,
    /// The index. A SQLite connection is only for the process that opened it.
    index: OfProcess<Mutex<Box<dyn Index>>>,
    /// The files of lots that leases have open, by slot and first number.
    open: Mutex<BTreeMap<(u32, u64), Weak<LotFile>>>,
}

impl fmt::Debug for Stock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (folder, epoch) = (self.inner.folder.display(), self.inner.epoch);
        write!(f, "Stock({folder}, epoch {epoch})")
    }
}

pub(crate) fn epoch_folder(stock: &Path, epoch: &EpochId) -> PathBuf {
    stock.join(epoch.folder_name())
}

impl Stock {
    pub(crate) fn create(
        storage: Arc<dyn Storage>,
        place: StockLocation,
        id: StockId,
        epoch: EpochId,
        secret: &[u8],
        limits: Limits,
    ) -> Result<Self, StockError> {
        let folder = &place.folder;
        storage
            .create_folder(folder)
            .map_err(StockError::io(folder, "make it"))?;
        let path = folder.join(INDEX_NAME);
        let mut index = storage.index(&path)?;
        let mut keys = None;
        index.update(&mut |entries| {
            let mut records = Records::new(entries, &path);
            if records.stock()?.is_some() {
                let folder = folder.display();
                return Err(StockError::misuse(format!(
                    "{folder} has a stock already; open it"
                )));
            }
            let made = begin_epoch(storage.as_ref(), &place, &epoch, secret)?;
            records.put_stock(StockRecord {
                version: FORMAT_VERSION,
                id,
            })?;
            records.put_epoch(&made.1)?;
            keys = Some(made.0);
            Ok(())
        })?;
        let keys = keys.expect("the transaction ran");
        Ok(Self::from_parts(
            storage, place, id, epoch, limits, keys, index,
        ))
    }

    pub(crate) fn open(
        storage: Arc<dyn Storage>,
        place: StockLocation,
        id: StockId,
        limits: Limits,
    ) -> Result<Self, StockError> {
        let folder = place.folder.clone();
        let path = folder.join(INDEX_NAME);
        if !has_index(storage.as_ref(), &folder) {
            return Err(StockError::Missing { folder });
        }
        let mut index = storage.index(&path)?;
        let mut opened = None;
        index.update(&mut |entries| {
            let mut records = Records::new(entries, &path);
            let Some(found) = records.stock()? else {
                let folder = folder.clone();
                return Err(StockError::Missing { folder });
            };
            check_owner(&path, &found, &id)?;
            let epoch = records.epoch()?.id;
            check_noted(&place, &epoch, records.changes()?)?;
            let file = epoch_folder(&folder, &epoch).join(KEYS_NAME);
            let keys = KeyFile::open(storage.as_ref(), &file, &place.key, &place.digest, &epoch)?;
            settle(&mut records, &keys)?;
            remove_other_epochs(storage.as_ref(), &place, &epoch)?;
            values::remove_strays(storage.as_ref(), &epoch_folder(&folder, &epoch), &records)?;
            opened = Some((epoch, keys));
            Ok(())
        })?;
        let (epoch, keys) = opened.expect("the transaction ran");
        Ok(Self::from_parts(
            storage, place, id, epoch, limits, keys, index,
        ))
    }

    fn from_parts(
        storage: Arc<dyn Storage>,
        place: StockLocation,
        id: StockId,
        epoch: EpochId,
        limits: Limits,
        keys: KeyFile,
        index: Box<dyn Index>,
    ) -> Self {
        let inner = Inner {
            storage,
            folder: epoch_folder(&place.folder, &epoch),
            id,
            epoch,
            limits,
            keys,
            place,
            index: OfProcess::new(Mutex::new(index)),
            open: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns the stock's id: its parties, this party's role, and the scheme.
    pub fn id(&self) -> StockId {
        self.inner.id
    }

    /// Returns the epoch.
    pub fn epoch(&self) -> EpochId {
        self.inner.epoch
    }

    /// Runs `work` if the epoch has not ended, and while nobody can end it. So `work` makes
    /// something durable elsewhere before the epoch ends, or never.
    ///
    /// # Errors
    ///
    /// [`StockError::EpochEnded`], and those of `work`.
    pub fn in_epoch<T>(
        &self,
        work: impl FnOnce() -> Result<T, StockError>,
    ) -> Result<T, StockError> {
        let mut work = Some(work);
        self.inner.update(|_| {
            let work = work.take();
            work.ok_or_else(|| StockError::misuse("a transaction that runs twice"))?()
        })
    }

    /// Returns the caller's secret record of the epoch.
    ///
    /// # Errors
    ///
    /// [`StockError::Corrupted`].
    pub fn epoch_secret(&self) -> Result<Zeroizing<Vec<u8>>, StockError> {
        let sealed = self
            .inner
            .update(|records| Ok(records.epoch()?.sealed_secret))?;
        let key = self.inner.keys.derive(b"tacit stock epoch", &[]);
        seal::open(&key, b"", &sealed).map_err(|_| {
            let expected = "what was sealed for this epoch";
            let file = self.inner.index_path();
            StockError::corrupted(
                &file,
                "the epoch's secret",
                "damaged",
                expected,
                Repair::BeginAnew,
            )
        })
    }

    /// Ends the epoch and starts another one. Everything prepared and kept is destroyed, its keys
    /// first. This is the remedy after a rollback, and the way to replace Δ.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if `epoch` is not later than this one.
    pub fn new_epoch(self, epoch: EpochId, secret: &[u8]) -> Result<Self, StockError> {
        let inner = &self.inner;
        if epoch.number <= inner.epoch.number {
            let last = inner.epoch;
            return Err(StockError::misuse(format!(
                "epoch {epoch} after epoch {last}"
            )));
        }
        let storage = inner.storage.as_ref();
        let was_used = inner.update(|records| {
            let kinds = records.kinds()?;
            let (_, record) = begin_epoch(storage, &inner.place, &epoch, secret)?;
            records.clear()?;
            records.put_epoch(&record)?;
            Ok(kinds.iter().any(|(_, kind)| kind.published > 0))
        })?;
        keys::destroy(storage, &inner.folder.join(KEYS_NAME))?;
        if was_used {
            inner.place.notes.end_epoch(&inner.epoch);
        } else {
            inner.place.notes.forget_epoch(&inner.epoch);
        }
        let failed = StockError::io(&inner.folder, "remove it");
        storage.remove_folder(&inner.folder).map_err(failed)?;
        let (storage, place) = (Arc::clone(&inner.storage), inner.place.clone());
        Self::open(storage, place, inner.id, inner.limits)
    }
}

impl Inner {
    pub(crate) fn index_path(&self) -> PathBuf {
        self.place.folder.join(INDEX_NAME)
    }

    /// Removes the whole stock, its keys first. The caller must have the right to prepare.
    pub(crate) fn destroy(&self) -> Result<(), StockError> {
        destroy(self.storage.as_ref(), &self.place)
    }

    /// Ends the stock without removing it. The caller must have the right to prepare.
    pub(crate) fn destroy_keys(&self) -> Result<(), StockError> {
        destroy_keys(self.storage.as_ref(), &self.place)
    }

    pub(crate) fn lock_path(&self) -> PathBuf {
        self.place.folder.join("prepare.lock")
    }

    /// Returns the file that a process locks while it waits for the right to prepare.
    pub(crate) fn waiting_path(&self) -> PathBuf {
        self.place.folder.join("waiting.lock")
    }

    /// Returns the file that a process locks while it uses a chain, by the chain's short hash.
    pub(crate) fn chain_lock_path(&self, short: &str) -> PathBuf {
        self.place.folder.join(format!("chain-{short}.lock"))
    }

    /// Returns the digest of the stock's name, which its files carry.
    pub(crate) fn digest(&self) -> &[u8; 32] {
        &self.place.digest
    }

    /// Runs `work` alone among all processes, and makes its changes durable.
    pub(crate) fn update<T>(
        &self,
        mut work: impl FnMut(&mut Records<'_>) -> Result<T, StockError>,
    ) -> Result<T, StockError> {
        let path = self.index_path();
        let index = self.index.get().ok_or_else(|| {
            StockError::misuse("a stock serves the process that opened it; open it after the fork")
        })?;
        let (mut result, mut changed) = (None, None);
        locked(index).update(&mut |entries| {
            let mut records = Records::new(entries, &path);
            if !records.is_epoch(&self.epoch)? {
                return Err(StockError::EpochEnded { epoch: self.epoch });
            }
            result = Some(work(&mut records)?);
            changed = records.count_changes()?;
            Ok(())
        })?;
        // Write the note only when the change is durable: a note must never be ahead of the record.
        if let Some(changed) = changed {
            let notes = &self.place.notes;
            notes.raise_epoch(&self.epoch, changed.count);
            for (chain, change) in &changed.chains {
                notes.raise_chain(chain, *change);
            }
        }
        Ok(result.expect("the transaction ran"))
    }

    /// Returns the notes outside of the stock's folder.
    pub(crate) fn notes(&self) -> &Notes {
        &self.place.notes
    }

    /// Returns a kind's record and its keys, with the record's mark at least that of the keys. Call
    /// this inside a transaction.
    pub(crate) fn kind(
        &self,
        records: &Records<'_>,
        kind: &ComponentDigest,
    ) -> Result<Option<(KindRecord, Slot)>, StockError> {
        let record = records.kind(kind)?;
        record
            .map(|record| self.with_keys(kind, record))
            .transpose()
    }

    /// Completes [`Inner::kind`] for a record that has been read.
    pub(crate) fn with_keys(
        &self,
        kind: &ComponentDigest,
        mut record: KindRecord,
    ) -> Result<(KindRecord, Slot), StockError> {
        let slot = self.keys.read(record.slot, kind)?;
        record.spend_to(slot.cover.mark());
        Ok((record, slot))
    }

    /// Returns the numbers that this process has passed over.
    pub(crate) fn passed(&self) -> MutexGuard<'_, OfProcess<Passed>> {
        locked(&self.place.passed)
    }

    /// Returns a lot's file, which is open only once for all leases, because a peer decides how
    /// many spans it names.
    pub(crate) fn lot_file(&self, slot: u32, first: u64) -> Result<Arc<LotFile>, StockError> {
        let mut open = locked(&self.open);
        if let Some(file) = open.get(&(slot, first)).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let file = Arc::new(self.open_lot(slot, first)?);
        open.retain(|_, file| file.strong_count() > 0);
        open.insert((slot, first), Arc::downgrade(&file));
        Ok(file)
    }

    /// Opens a lot's file.
    pub(crate) fn open_lot(&self, slot: u32, first: u64) -> Result<LotFile, StockError> {
        let path = self.folder.join(lots::file_name(slot, first));
        match self.storage.open(&path) {
            Ok(file) => Ok(LotFile { file, path }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let expected = "a file that the index knows";
                Err(StockError::corrupted(
                    &path,
                    "the file",
                    "absent",
                    expected,
                    Repair::Check,
                ))
            }
            Err(error) => Err(StockError::io(&path, "open it")(error)),
        }
    }
}

/// The open file of a lot. It can be read until this is dropped, even after it is removed.
pub(crate) struct LotFile {
    pub(crate) file: Box<dyn StoredFile>,
    pub(crate) path: PathBuf,
}

/// Locks a mutex. A panic under the lock does no harm: transactions are whole or absent.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn check_owner(path: &Path, found: &StockRecord, id: &StockId) -> Result<(), StockError> {
    if found.version != FORMAT_VERSION {
        return Err(StockError::Incompatible {
            file: path.to_owned(),
            found: found.version,
            expected: FORMAT_VERSION,
        });
    }
    let in_words = |id: &StockId| {
        [
            ("own identity", id.own.to_string()),
            ("peer's identity", id.peer.to_string()),
            ("role", id.role.name().to_owned()),
            ("scheme", format!("{:02x?}", id.scheme)),
            ("lanes", format!("{:?}", id.lanes)),
        ]
    };
    let fields = in_words(&found.id).into_iter().zip(in_words(id));
    for ((field, found), (_, expected)) in fields {
        if found != expected {
            return Err(StockError::WrongStock {
                file: path.to_owned(),
                field,
                found,
                expected,
            });
        }
    }
    Ok(())
}

/// Refuses a stock whose note has counted more changes than its record.
fn check_noted(place: &StockLocation, epoch: &EpochId, changes: u64) -> Result<(), StockError> {
    let noted = place.notes.epoch(epoch)?;
    if changes >= noted {
        return Ok(());
    }
    Err(StockError::Restored {
        what: "its last change".to_owned(),
        found: format!("change {changes}"),
        expected: witness::in_words(noted),
    })
}

/// Returns the id of the stock in a folder, or `None` if a crash interrupted its creation.
pub(crate) fn identify(
    storage: &dyn Storage,
    folder: &Path,
) -> Result<Option<StockId>, StockError> {
    if !has_index(storage, folder) {
        return Ok(None);
    }
    let path = folder.join(INDEX_NAME);
    let mut index = storage.index(&path)?;
    let mut found = None;
    index.update(&mut |entries| {
        found = Records::new(entries, &path).stock()?;
        Ok(())
    })?;
    Ok(found.map(|record| record.id))
}

pub(crate) fn has_index(storage: &dyn Storage, folder: &Path) -> bool {
    let names = storage.names(folder).unwrap_or_default();
    names.iter().any(|name| name == INDEX_NAME)
}
