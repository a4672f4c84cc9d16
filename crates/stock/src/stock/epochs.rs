//! The beginning and the end of epochs, and the repair of one after a crash.

use std::path::Path;

use super::{INDEX_NAME, KEYS_NAME, epoch_folder, has_index};
use crate::keys::{self, KeyFile, Move};
use crate::records::{EpochRecord, MAX_EPOCH_SECRET_BYTES, Records};
use crate::seal;
use crate::stocks::StockLocation;
use crate::storage::Storage;
use crate::{EpochId, StockError};

fn sealed_epoch_secret(keys: &KeyFile, secret: &[u8]) -> Result<Vec<u8>, StockError> {
    if secret.len() > MAX_EPOCH_SECRET_BYTES {
        return Err(StockError::misuse(format!(
            "an epoch's secret has {} bytes, and at most {MAX_EPOCH_SECRET_BYTES} are kept",
            secret.len()
        )));
    }
    seal::seal(&keys.derive(b"tacit stock epoch", &[]), b"", secret)
}

/// Makes the folder and the key file of an epoch durable. The caller commits the record.
pub(super) fn begin_epoch(
    storage: &dyn Storage,
    place: &StockLocation,
    epoch: &EpochId,
    secret: &[u8],
) -> Result<(KeyFile, EpochRecord), StockError> {
    // The garbler names the epoch. Refuse one that existed before here, where nothing has been
    // ended for it yet.
    if place.notes.epoch(epoch)? > 0 {
        return Err(StockError::PeerMisbehaved {
            what: "the epoch that it begins",
            found: format!("epoch {epoch}, which was here before"),
            expected: "one that never was".to_owned(),
        });
    }
    let folder = epoch_folder(&place.folder, epoch);
    storage
        .create_folder(&folder)
        .map_err(StockError::io(&folder, "make it"))?;
    let path = folder.join(KEYS_NAME);
    // A crash may have left one before its epoch started.
    storage.clear_away(&path)?;
    let keys = KeyFile::create(storage, &path, &place.key, &place.digest, epoch)?;
    storage.keep_names(&folder)?;
    let record = EpochRecord {
        id: *epoch,
        meeting: 0,
        peer_confirmed: 0,
        sealed_secret: sealed_epoch_secret(&keys, secret)?,
    };
    Ok((keys, record))
}

/// Repairs a lease that a crash cut short. Keys move first, so the mark follows them.
pub(super) fn settle(records: &mut Records<'_>, keys: &KeyFile) -> Result<(), StockError> {
    let mut unsettled = Vec::new();
    for (kind, mut record) in records.kinds()? {
        let slot = keys.read(record.slot, &kind)?;
        let mark = slot.cover.mark();
        if mark < record.leased {
            return Err(StockError::Restored {
                what: format!("the key file's mark of component {kind}"),
                found: mark.to_string(),
                expected: format!("{}, the index's", record.leased),
            });
        }
        if !slot.settled {
            unsettled.push(Move::from(&slot, record.slot, &kind, slot.cover.clone()));
        }
        if mark > record.leased {
            record.spend_to(mark);
            records.put_kind(&kind, record)?;
        }
    }
    keys.write(&unsettled)
}

/// Removes epochs that have ended, and those that never started. A crash has kept them, and may
/// have come before their end was noted.
pub(super) fn remove_other_epochs(
    storage: &dyn Storage,
    place: &StockLocation,
    epoch: &EpochId,
) -> Result<(), StockError> {
    let current = epoch.folder_name();
    for name in epoch_names(storage, &place.folder)? {
        if name != current {
            let folder = place.folder.join(&name);
            end_keys(storage, place, &name)?;
            let failed = StockError::io(&folder, "remove it");
            storage.remove_folder(&folder).map_err(failed)?;
        }
    }
    Ok(())
}

/// Returns the names of the folders of epochs in a stock's folder.
fn epoch_names(storage: &dyn Storage, stock: &Path) -> Result<Vec<String>, StockError> {
    let mut names = storage.list(stock)?;
    names.retain(|name| name.starts_with("epoch-"));
    Ok(names)
}

/// Overwrites the keys of the epoch with this folder, and notes its end. The index, which has a
/// record of one epoch, may be damaged.
fn end_keys(storage: &dyn Storage, place: &StockLocation, name: &str) -> Result<(), StockError> {
    keys::destroy(storage, &place.folder.join(name).join(KEYS_NAME))?;
    if let Some(epoch) = EpochId::of_folder(name) {
        place.notes.end_epoch(&epoch);
    }
    Ok(())
}

/// Removes a stock's folder, its keys first. Calls `between` when the keys are gone and the folder
/// is not.
pub(crate) fn remove<T, E: From<StockError>>(
    storage: &dyn Storage,
    place: &StockLocation,
    between: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let lock_path = place.folder.join("prepare.lock");
    let lock = match storage.try_lock(&lock_path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return between(),
        lock => lock.map_err(StockError::io(&lock_path, "lock it"))?,
    };
    let Some(_lock) = lock else {
        return Err(StockError::Busy { file: lock_path }.into());
    };
    // If this fails, it is repeated below, which reports the error.
    let _ = destroy_keys(storage, place);
    let done = between()?;
    destroy(storage, place)?;
    Ok(done)
}

/// Removes a stock's folder, durably, for a caller that has the right to prepare.
pub(super) fn destroy(storage: &dyn Storage, place: &StockLocation) -> Result<(), StockError> {
    let folder = &place.folder;
    overwrite_keys(storage, place)?;
    // A full disk accepts no commit, but has room once the folder is gone.
    let told = end_epoch(storage, place);
    storage
        .remove_folder(folder)
        .map_err(StockError::io(folder, "remove it"))?;
    // Otherwise a loss of power may bring the index back, which no session can use or replace.
    if let Some(stocks) = folder.parent() {
        storage.keep_names(stocks)?;
    }
    told
}

/// Destroys a stock's keys, and tells everyone who has it open that its epoch has ended.
pub(super) fn destroy_keys(storage: &dyn Storage, place: &StockLocation) -> Result<(), StockError> {
    overwrite_keys(storage, place)?;
    end_epoch(storage, place)
}

fn overwrite_keys(storage: &dyn Storage, place: &StockLocation) -> Result<(), StockError> {
    let names = epoch_names(storage, &place.folder)?;
    names
        .iter()
        .try_for_each(|name| end_keys(storage, place, name))
}

/// Tells everyone who has the stock open that its epoch has ended.
fn end_epoch(storage: &dyn Storage, place: &StockLocation) -> Result<(), StockError> {
    let folder = &place.folder;
    let path = folder.join(INDEX_NAME);
    if !has_index(storage, folder) {
        return Ok(());
    }
    let ended = storage.index(&path).and_then(|mut index| {
        index.update(&mut |entries| {
            let mut records = Records::new(entries, &path);
            // The epoch's folder may be lost.
            if let Ok(epoch) = records.epoch() {
                place.notes.end_epoch(&epoch.id);
            }
            records.remove_epoch()
        })
    });
    match ended {
        // Nobody can have a damaged index open.
        Err(StockError::Corrupted { .. }) => Ok(()),
        Err(StockError::Io { reason, .. }) if reason.kind() == std::io::ErrorKind::InvalidData => {
            Ok(())
        }
        ended => ended,
    }
}
