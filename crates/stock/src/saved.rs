//! Saved values: named, versioned, sealed, and gone when dropped.
//!
//! Each version has a file of its own, whose first page holds half of its key. Dropping overwrites
//! that page before the file is removed, so that who takes the disk later cannot open it.

use std::io;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::error::BEGIN_ANEW;
use crate::records::{FORMAT_VERSION, MAX_NAME_BYTES, Records, SavedRecord};
use crate::seal::{self, NONCE_BYTES, TAG_BYTES};
use crate::storage::Storage;
use crate::{Stock, StockError, lots};

const MAGIC: [u8; 8] = *b"TACITSAV";
const PAGE_BYTES: usize = 4096;
/// Bytes of a saved value at most.
pub const MAX_SAVED_BYTES: usize = 1 << 30;

fn file_name(file: u64) -> String {
    format!("saved-{file:016x}.val")
}

fn check_name(name: &str) -> Result<(), StockError> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains('\0') {
        return Err(StockError::misuse(format!(
            "a saved value named {name:?}: a name has 1 to {MAX_NAME_BYTES} bytes, none of them 0"
        )));
    }
    Ok(())
}

impl Stock {
    /// Saves a version of a value, durably. Versions of a name only grow.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] where a version as high exists or a bound is passed;
    /// [`StockError::Full`].
    pub fn save(&self, name: &str, version: u64, value: &[u8]) -> Result<(), StockError> {
        check_name(name)?;
        if value.len() > MAX_SAVED_BYTES {
            return Err(StockError::misuse(format!(
                "a saved value of {} bytes",
                value.len()
            )));
        }
        let mut random = [0; 8 + 32];
        seal::randomness(&mut random)?;
        let (file, half) = random.split_at(8);
        let file = u64::from_le_bytes(file.try_into().expect("8 bytes"));
        let key = self.inner.keys.derive(b"tacit stock saved", half);
        let mut content = vec![0; PAGE_BYTES];
        content[..8].copy_from_slice(&MAGIC);
        content[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        content[12..44].copy_from_slice(half);
        content.extend(seal::seal(&key, &context(name, version), value)?);
        let bytes = content.len() as u64;
        let inner = &self.inner;
        inner.update(|records| {
            let saved = records.all_saved()?.into_iter();
            let last = saved
                .filter(|saved| saved.0 == name)
                .map(|saved| saved.1)
                .max();
            if last.is_some_and(|last| last >= version) {
                return Err(StockError::misuse(format!(
                    "version {version} of {name:?} saved after version {}",
                    last.unwrap_or_default()
                )));
            }
            let (held, limit) = (lots::held_bytes(records)?, inner.limits.max_bytes);
            if held.saturating_add(bytes) > limit {
                return Err(StockError::Full {
                    folder: inner.folder.clone(),
                    what: format!("the saved value {name:?}"),
                    needed: bytes,
                    held,
                    limit,
                });
            }
            let path = inner.folder.join(file_name(file));
            let failed = || StockError::io(&path, "write it");
            let written = inner.storage.create(&path).map_err(failed())?;
            written.write_at(&content, 0).map_err(failed())?;
            written.sync().map_err(failed())?;
            inner.storage.sync_folder(&inner.folder).map_err(failed())?;
            records.put_saved(name, version, SavedRecord { file, bytes })
        })
    }

    /// The versions of a saved value, the latest last.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Corrupted`].
    pub fn saved_versions(&self, name: &str) -> Result<Vec<u64>, StockError> {
        let all = self.inner.update(|records| records.all_saved())?;
        Ok(all
            .into_iter()
            .filter(|saved| saved.0 == name)
            .map(|saved| saved.1)
            .collect())
    }

    /// The value that was saved, any number of times.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] where there is no such version, [`StockError::Corrupted`].
    pub fn load_saved(&self, name: &str, version: u64) -> Result<Zeroizing<Vec<u8>>, StockError> {
        check_name(name)?;
        let record = self.inner.update(|records| records.saved(name, version))?;
        let record = record.ok_or_else(|| {
            StockError::misuse(format!("no version {version} of a saved value {name:?}"))
        })?;
        let path = self.inner.folder.join(file_name(record.file));
        let damaged = |found: &str| {
            let expected = "what was saved";
            StockError::corrupted(&path, "the saved value", found, expected, BEGIN_ANEW)
        };
        let read = |reason: io::Error| match reason.kind() {
            io::ErrorKind::NotFound => damaged("absent"),
            io::ErrorKind::UnexpectedEof => damaged("too short"),
            _ => StockError::io(&path, "read it")(reason),
        };
        let least = (PAGE_BYTES + NONCE_BYTES + TAG_BYTES) as u64;
        let most = least + MAX_SAVED_BYTES as u64;
        if !(least..=most).contains(&record.bytes) {
            return Err(damaged("of an impossible length"));
        }
        let file = self.inner.storage.open(&path).map_err(read)?;
        let mut content = vec![0; record.bytes as usize];
        file.read_at(&mut content, 0).map_err(read)?;
        if content[..8] != MAGIC {
            return Err(damaged("no saved value"));
        }
        let found = u32::from_le_bytes([content[8], content[9], content[10], content[11]]);
        if found != FORMAT_VERSION {
            return Err(StockError::Incompatible {
                file: path,
                found,
                expected: FORMAT_VERSION,
            });
        }
        let key = self
            .inner
            .keys
            .derive(b"tacit stock saved", &content[12..44]);
        seal::open(&key, &context(name, version), &content[PAGE_BYTES..])
            .map_err(|_| damaged("damaged"))
    }

    /// Removes a version of a saved value, durably, so that it cannot be opened again. It may be
    /// absent.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`].
    pub fn drop_saved(&self, name: &str, version: u64) -> Result<(), StockError> {
        check_name(name)?;
        let record = self.inner.update(|records| {
            let record = records.saved(name, version)?;
            records.remove_saved(name, version)?;
            Ok(record)
        })?;
        match record {
            Some(record) => {
                let path = self.inner.folder.join(file_name(record.file));
                destroy(self.inner.storage.as_ref(), &path)
            }
            None => Ok(()),
        }
    }
}

fn context(name: &str, version: u64) -> Vec<u8> {
    [name.as_bytes(), &[0], &version.to_le_bytes()].concat()
}

/// Overwrites the key's half and removes the file, which another process may have done.
fn destroy(storage: &dyn Storage, path: &Path) -> Result<(), StockError> {
    let failed = || StockError::io(path, "remove it");
    let file = match storage.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed()(error)),
    };
    file.write_at(&[0; PAGE_BYTES], 0).map_err(failed())?;
    file.sync().map_err(failed())?;
    match storage.remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed()(error)),
        _ => Ok(()),
    }
}

/// Removes files of values that the index does not know: a crash cut their saving or dropping.
pub(crate) fn remove_strays(
    storage: &dyn Storage,
    folder: &Path,
    records: &Records<'_>,
) -> Result<(), StockError> {
    let known: Vec<PathBuf> = records
        .all_saved()?
        .into_iter()
        .map(|saved| folder.join(file_name(saved.2.file)))
        .collect();
    let names = storage
        .names(folder)
        .map_err(StockError::io(folder, "list it"))?;
    let files = names.iter().filter(|name| name.starts_with("saved-"));
    for path in files
        .map(|name| folder.join(name))
        .filter(|path| !known.contains(path))
    {
        destroy(storage, &path)?;
    }
    Ok(())
}
