//! Files of kept values: sealed, and unreadable once they are destroyed.
//!
//! Each value has a file of its own, whose first page holds half of its key. Destroying a value
//! overwrites that page before the file is removed, so that a later thief of the disk cannot open
//! it. A value is sealed in pieces, so that hundreds of megabytes need little additional memory.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use zeroize::Zeroizing;

use crate::error::Repair;
use crate::records::{FORMAT_VERSION, Records, ValueRecord};
use crate::seal::{self, Key, NONCE_BYTES, TAG_BYTES};
use crate::stock::Inner;
use crate::storage::Storage;
use crate::{StockError, lots};

const MAGIC: [u8; 8] = *b"TACITVAL";
const PAGE_BYTES: usize = 4096;
const HALF_KEY_BYTES: usize = 32;
/// The bytes that are sealed together.
const PIECE_BYTES: usize = 1 << 20;
/// The most bytes of a value.
pub const MAX_VALUE_BYTES: usize = 1 << 31;

/// The chain and the value that a sealed file belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueName<'a> {
    pub(crate) chain: &'a str,
    /// Empty for the chain's own state.
    pub(crate) value: &'a str,
    pub(crate) version: u64,
}

impl ValueName<'_> {
    /// Returns the context with which piece number `piece` of a value of `bytes` is sealed.
    fn context(&self, bytes: usize, piece: usize) -> Vec<u8> {
        [
            self.chain.as_bytes(),
            &[0],
            self.value.as_bytes(),
            &[0],
            &self.version.to_le_bytes(),
            &(bytes as u64).to_le_bytes(),
            &(piece as u64).to_le_bytes(),
        ]
        .concat()
    }
}

impl std::fmt::Display for ValueName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.value {
            "" => write!(f, "the state of chain {:?}", self.chain),
            value => write!(
                f,
                "version {} of {value:?} in chain {:?}",
                self.version, self.chain
            ),
        }
    }
}

pub(crate) fn file_name(file: u64) -> String {
    format!("value-{file:016x}.val")
}

/// Returns the number of pieces of a value. An empty value also has one, which proves that it is
/// empty.
fn pieces(bytes: usize) -> usize {
    bytes.div_ceil(PIECE_BYTES).max(1)
}

/// Returns the bytes of the file of a value of `bytes`.
pub(crate) fn file_bytes(bytes: usize) -> u64 {
    (PAGE_BYTES + bytes + pieces(bytes) * (NONCE_BYTES + TAG_BYTES)) as u64
}

fn key(inner: &Inner, half: &[u8]) -> Key {
    inner.keys.derive(b"tacit stock value", half)
}

/// Draws a name for a new file.
pub(crate) fn new_file() -> Result<u64, StockError> {
    let mut random = [0; 8];
    seal::randomness(&mut random)?;
    Ok(u64::from_le_bytes(random))
}

/// Checks that a value of `bytes` fits. Call this inside a transaction.
pub(crate) fn check_room(
    inner: &Inner,
    records: &Records<'_>,
    name: &ValueName<'_>,
    bytes: usize,
) -> Result<(), StockError> {
    if bytes > MAX_VALUE_BYTES {
        return Err(StockError::misuse(format!(
            "{name} has {bytes} bytes, and at most {MAX_VALUE_BYTES} are kept"
        )));
    }
    let (needed, held) = (file_bytes(bytes), lots::held_bytes(records)?);
    let limit = inner.limits.max_bytes;
    if held.saturating_add(needed) > limit {
        return Err(StockError::Full {
            folder: inner.folder.clone(),
            what: name.to_string(),
            needed,
            held,
            limit,
        });
    }
    Ok(())
}

/// Writes a value into the new file `file`, durably, under a key for this file alone.
pub(crate) fn write(
    inner: &Inner,
    name: &ValueName<'_>,
    file: u64,
    value: &[u8],
) -> Result<ValueRecord, StockError> {
    let path = inner.folder.join(file_name(file));
    let failed = || StockError::io(&path, "write it");
    let mut half = [0; HALF_KEY_BYTES];
    seal::randomness(&mut half)?;
    let key = key(inner, &half);
    let mut page = vec![0; PAGE_BYTES];
    page[..8].copy_from_slice(&MAGIC);
    page[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    page[12..12 + HALF_KEY_BYTES].copy_from_slice(&half);
    let written = inner.storage.create(&path).map_err(failed())?;
    written.write_at(&page, 0).map_err(failed())?;
    let mut offset = PAGE_BYTES as u64;
    for number in 0..pieces(value.len()) {
        let start = number * PIECE_BYTES;
        let piece = &value[start..value.len().min(start + PIECE_BYTES)];
        let sealed = seal::seal(&key, &name.context(value.len(), number), piece)?;
        written.write_at(&sealed, offset).map_err(failed())?;
        offset += sealed.len() as u64;
    }
    written.sync().map_err(failed())?;
    inner.storage.sync_folder(&inner.folder).map_err(failed())?;
    let bytes = value.len() as u64;
    Ok(ValueRecord { file, bytes })
}

/// Reads a value.
pub(crate) fn read(
    inner: &Inner,
    name: &ValueName<'_>,
    record: ValueRecord,
) -> Result<Zeroizing<Vec<u8>>, StockError> {
    let path = inner.folder.join(file_name(record.file));
    let damaged = |found: &str| {
        StockError::corrupted(
            &path,
            "the value",
            found,
            name.to_string(),
            Repair::DropChain,
        )
    };
    let failed = |reason: io::Error| match reason.kind() {
        io::ErrorKind::NotFound => damaged("absent"),
        io::ErrorKind::UnexpectedEof => damaged("too short"),
        _ => StockError::io(&path, "read it")(reason),
    };
    let bytes = usize::try_from(record.bytes).ok();
    let Some(bytes) = bytes.filter(|&bytes| bytes <= MAX_VALUE_BYTES) else {
        return Err(damaged("of an impossible length"));
    };
    let file = inner.storage.open(&path).map_err(failed)?;
    if file.len().map_err(failed)? != file_bytes(bytes) {
        return Err(damaged("of another length"));
    }
    let mut page = [0; 12 + HALF_KEY_BYTES];
    file.read_at(&mut page, 0).map_err(failed)?;
    if page[..8] != MAGIC {
        return Err(damaged("no value"));
    }
    let found = u32::from_le_bytes([page[8], page[9], page[10], page[11]]);
    if found != FORMAT_VERSION {
        return Err(StockError::Incompatible {
            file: path,
            found,
            expected: FORMAT_VERSION,
        });
    }
    let key = key(inner, &page[12..]);
    let mut value = Zeroizing::new(Vec::with_capacity(bytes));
    let mut offset = PAGE_BYTES as u64;
    for number in 0..pieces(bytes) {
        let piece = (bytes - value.len()).min(PIECE_BYTES);
        let mut sealed = vec![0; NONCE_BYTES + piece + TAG_BYTES];
        file.read_at(&mut sealed, offset).map_err(failed)?;
        offset += sealed.len() as u64;
        let opened = seal::open(&key, &name.context(bytes, number), &sealed);
        value.extend_from_slice(&opened.map_err(|_| damaged("damaged"))?);
    }
    Ok(value)
}

/// Overwrites the file's half of the key and removes the file, which need not exist.
pub(crate) fn destroy(inner: &Inner, file: u64) -> Result<(), StockError> {
    destroy_path(inner.storage.as_ref(), &inner.folder.join(file_name(file)))
}

fn destroy_path(storage: &dyn Storage, path: &Path) -> Result<(), StockError> {
    let failed = || StockError::io(path, "remove it");
    let Some(file) = storage.find(path)? else {
        return Ok(());
    };
    file.write_at(&[0; PAGE_BYTES], 0).map_err(failed())?;
    file.sync().map_err(failed())?;
    storage.clear_away(path).map(drop)
}

/// Destroys files that the index does not know because a crash interrupted their removal. Call this
/// inside a transaction.
pub(crate) fn remove_strays(
    storage: &dyn Storage,
    folder: &Path,
    records: &Records<'_>,
) -> Result<(), StockError> {
    let known: BTreeSet<String> = records.value_files()?.into_iter().map(file_name).collect();
    let names = storage.list(folder)?;
    let is_stray = |name: &&String| name.starts_with("value-") && !known.contains(*name);
    let mut strays = names.iter().filter(is_stray);
    strays.try_for_each(|name| destroy_path(storage, &folder.join(name)))
}
