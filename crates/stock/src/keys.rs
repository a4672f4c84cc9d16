//! The key file. Its keys are overwritten in place, which a database with a log cannot do.
//!
//! Each kind has two pages that hold the same [`Cover`], sealed under the epoch's key. Moving
//! forward overwrites one page, waits until it is durable, and overwrites the other. So one page is
//! whole at every instant, and once both are written the file has no older cover. Several kinds
//! move together, so that they wait for the disk twice in total, and not twice each. The caller
//! holds the index's writer lock.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::codec::{Fields, Malformed};
use crate::cover::{Cover, MAX_NODES};
use crate::error::Repair;
use crate::records::FORMAT_VERSION;
use crate::seal::{self, Key, NONCE_BYTES, TAG_BYTES};
use crate::storage::{Storage, StoredFile};
use crate::{ComponentDigest, EpochId, StockError};

const MAGIC: [u8; 8] = *b"TACITKEY";
/// The size of a page: the most that a disk replaces at once, so that a torn write damages no other
/// page.
const PAGE_BYTES: usize = 4096;
const HEADER_BYTES: usize = 8 + 4 + 32 + 8 + 16;
const NODES_BYTES: usize = MAX_NODES * 32;
const SEALED_BYTES: usize = NONCE_BYTES + NODES_BYTES + TAG_BYTES;

/// The key file of an epoch, open.
pub(crate) struct KeyFile {
    file: Box<dyn StoredFile>,
    path: PathBuf,
    header: [u8; HEADER_BYTES],
    epoch_key: Key,
}

/// The move of a kind's pages forward, or its start.
pub(crate) struct Move {
    pub(crate) slot: u32,
    pub(crate) kind: ComponentDigest,
    /// The new content of its pages.
    pub(crate) cover: Cover,
    /// The page with the newest cover so far. It is overwritten last.
    newest: u64,
}

impl Move {
    /// Starts a kind.
    pub(crate) fn begin(slot: u32, kind: &ComponentDigest, cover: Cover) -> Self {
        Self {
            slot,
            kind: *kind,
            cover,
            newest: 1,
        }
    }

    /// Moves a kind from its present content to `cover`.
    pub(crate) fn from(old: &Slot, slot: u32, kind: &ComponentDigest, cover: Cover) -> Self {
        Self {
            newest: old.page,
            ..Self::begin(slot, kind, cover)
        }
    }
}

/// The content of the two pages of a kind.
pub(crate) struct Slot {
    pub(crate) cover: Cover,
    /// The page with `cover`. Unless `settled`, the other page is older or damaged.
    page: u64,
    /// Whether both pages hold the cover.
    pub(crate) settled: bool,
}

fn header(stock: &[u8; 32], epoch: &EpochId) -> [u8; HEADER_BYTES] {
    let fields = [
        &MAGIC[..],
        &FORMAT_VERSION.to_le_bytes(),
        stock,
        &epoch.number.to_le_bytes(),
        &epoch.nonce,
    ];
    fields
        .concat()
        .try_into()
        .expect("the sum of their lengths")
}

impl KeyFile {
    /// Writes the key file of a new epoch. It is durable except for its name.
    pub(crate) fn create(
        storage: &dyn Storage,
        path: &Path,
        stock_key: &Key,
        stock: &[u8; 32],
        epoch: &EpochId,
    ) -> Result<Self, StockError> {
        let failed = || StockError::io(path, "write it");
        let header = header(stock, epoch);
        let epoch_key = seal::random_key()?;
        let sealed = seal::seal(stock_key, &header, &*epoch_key)?;
        let mut page = vec![0; 2 * PAGE_BYTES];
        page[..HEADER_BYTES].copy_from_slice(&header);
        page[HEADER_BYTES..][..32].copy_from_slice(&Sha256::digest(header));
        page[PAGE_BYTES..][..sealed.len()].copy_from_slice(&sealed);
        let file = storage.create(path).map_err(failed())?;
        file.write_at(&page, 0).map_err(failed())?;
        file.sync().map_err(failed())?;
        Ok(Self {
            file,
            path: path.to_owned(),
            header,
            epoch_key,
        })
    }

    /// Opens the key file of an epoch.
    pub(crate) fn open(
        storage: &dyn Storage,
        path: &Path,
        stock_key: &Key,
        stock: &[u8; 32],
        epoch: &EpochId,
    ) -> Result<Self, StockError> {
        let bad = |field, found: &str, expected: &str| {
            StockError::corrupted(path, field, found, expected, Repair::BeginAnew)
        };
        let file = storage.find(path)?;
        let file = file.ok_or_else(|| bad("the file", "absent", "the key file of the epoch"))?;
        let mut pages = vec![0; 2 * PAGE_BYTES];
        file.read_at(&mut pages, 0)
            .map_err(|reason| match reason.kind() {
                std::io::ErrorKind::UnexpectedEof => {
                    bad("the file", "too short", "at least two pages")
                }
                _ => StockError::io(path, "read it")(reason),
            })?;
        let (head, sealed) = pages.split_at(PAGE_BYTES);
        Self::check_header(path, head, &header(stock, epoch))?;
        let header = header(stock, epoch);
        let sealed = &sealed[..NONCE_BYTES + 32 + TAG_BYTES];
        let opened = seal::open(stock_key, &header, sealed).map_err(|_| {
            bad(
                "the epoch's key",
                "not sealed under this root key",
                "a key that opens",
            )
        })?;
        let mut epoch_key = Key::default();
        epoch_key.copy_from_slice(&opened);
        Ok(Self {
            file,
            path: path.to_owned(),
            header,
            epoch_key,
        })
    }

    fn check_header(
        path: &Path,
        page: &[u8],
        expected: &[u8; HEADER_BYTES],
    ) -> Result<(), StockError> {
        let bad = |field, found: String, expected: String| {
            StockError::corrupted(path, field, found, expected, Repair::BeginAnew)
        };
        let malformed = |error: Malformed| bad("the header", error.to_string(), "whole".to_owned());
        let mut fields = Fields::of(page);
        let found: [u8; HEADER_BYTES] = fields.array().map_err(malformed)?;
        let sum: [u8; 32] = fields.array().map_err(malformed)?;
        if found[..8] != MAGIC || sum[..] != Sha256::digest(found)[..] {
            let expected = "one that begins with TACITKEY and has its checksum";
            return Err(bad("the header", "damaged".to_owned(), expected.to_owned()));
        }
        let version = u32::from_le_bytes([found[8], found[9], found[10], found[11]]);
        if version != FORMAT_VERSION {
            return Err(StockError::Incompatible {
                file: path.to_owned(),
                found: version,
                expected: FORMAT_VERSION,
            });
        }
        if found != *expected {
            return Err(StockError::WrongStock {
                file: path.to_owned(),
                field: "stock and epoch",
                found: "another".to_owned(),
                expected: "that of the index next to it".to_owned(),
            });
        }
        Ok(())
    }

    /// Derives a key of the epoch for one purpose.
    pub(crate) fn derive(&self, purpose: &[u8], context: &[u8]) -> Key {
        seal::derive(purpose, &self.epoch_key, context)
    }

    fn offset(slot: u32, page: u64) -> u64 {
        (2 + 2 * u64::from(slot) + page) * PAGE_BYTES as u64
    }

    fn context(&self, kind: &ComponentDigest, mark: u64) -> Vec<u8> {
        [&self.header[..], &kind.0, &mark.to_le_bytes()].concat()
    }

    /// Returns the cover of a kind from the page that is further ahead.
    pub(crate) fn read(&self, slot: u32, kind: &ComponentDigest) -> Result<Slot, StockError> {
        let pages = [0, 1].map(|page| self.read_page(slot, page, kind));
        let [first, second] = pages;
        let (first, second) = (first?, second?);
        let marks = [&first, &second].map(|page| page.as_ref().map(Cover::mark));
        let settled = marks[0].is_some() && marks[0] == marks[1];
        let page = u64::from(marks[1] > marks[0]);
        let cover = if page == 1 { second } else { first };
        let cover = cover.ok_or_else(|| {
            StockError::corrupted(
                &self.path,
                "the keys of a component",
                format!("unreadable on both pages ({kind})"),
                "whole on one of them",
                Repair::BeginAnew,
            )
        })?;
        Ok(Slot {
            cover,
            page,
            settled,
        })
    }

    fn read_page(
        &self,
        slot: u32,
        page: u64,
        kind: &ComponentDigest,
    ) -> Result<Option<Cover>, StockError> {
        let mut bytes = vec![0; PAGE_BYTES];
        match self.file.read_at(&mut bytes, Self::offset(slot, page)) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(StockError::io(&self.path, "read it")(error)),
        }
        let mut fields = Fields::of(&bytes);
        let (Ok(mark), Ok(sealed)) = (fields.u64(), fields.bytes(SEALED_BYTES)) else {
            return Ok(None);
        };
        let key = self.derive(b"tacit stock slots", &[]);
        let Ok(nodes) = seal::open(&key, &self.context(kind, mark), sealed) else {
            return Ok(None);
        };
        let mut keys = nodes
            .as_chunks::<32>()
            .0
            .iter()
            .map(|key| Zeroizing::new(*key));
        Ok(Cover::from_mark(mark, || keys.next()))
    }

    /// Overwrites the pages of all these kinds together. Each kind already has its pages.
    pub(crate) fn write(&self, moves: &[Move]) -> Result<(), StockError> {
        if moves.is_empty() {
            return Ok(());
        }
        let key = self.derive(b"tacit stock slots", &[]);
        let failed = || StockError::io(&self.path, "write it");
        for first in [true, false] {
            for moved in moves {
                let page = if first {
                    1 - moved.newest
                } else {
                    moved.newest
                };
                let bytes = self.page(&key, moved)?;
                let offset = Self::offset(moved.slot, page);
                self.file.write_at(&bytes, offset).map_err(failed())?;
            }
            self.file.sync().map_err(failed())?;
        }
        Ok(())
    }

    /// Returns a page as it is written, freshly sealed.
    fn page(&self, key: &Key, moved: &Move) -> Result<Vec<u8>, StockError> {
        let mut nodes = Zeroizing::new(vec![0; NODES_BYTES]);
        for (place, key) in nodes.chunks_exact_mut(32).zip(moved.cover.keys()) {
            place.copy_from_slice(&**key);
        }
        let mark = moved.cover.mark();
        let sealed = seal::seal(key, &self.context(&moved.kind, mark), &nodes)?;
        let mut bytes = vec![0; PAGE_BYTES];
        bytes[..8].copy_from_slice(&mark.to_le_bytes());
        bytes[8..8 + SEALED_BYTES].copy_from_slice(&sealed);
        Ok(bytes)
    }
}

/// Overwrites the key of an epoch that has ended, so that none of its content can be opened again.
pub(crate) fn destroy(storage: &dyn Storage, path: &Path) -> Result<(), StockError> {
    let Some(file) = storage.find(path)? else {
        return Ok(());
    };
    let failed = || StockError::io(path, "write it");
    file.write_at(&[0; 2 * PAGE_BYTES], 0).map_err(failed())?;
    file.sync().map_err(failed())
}
