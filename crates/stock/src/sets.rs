//! Sets of secrets that are made together and taken one by one, each once: a file for each name,
//! `sets-HEX.keys`, HEX being 16 bytes of the name's digest. A name is that of a stock, with what
//! the sets are for in place of a scheme.
//!
//! | byte | field |
//! |---|---|
//! | 0 | `TACITSET` |
//! | 8 | version (4) |
//! | 12 | own (32), peer (32), role (1), what the sets are for (4) |
//! | 81 | name of the batch (16) |
//! | 97 | number of sets (2), bytes of a set (4) |
//! | 103 | SHA-256 of the bytes before, 16 bytes of it |
//! | 119 | for each set in order: the set, sealed under a key of its batch and number; zeros once it is taken |
//!
//! A set is overwritten, and the overwriting durable, before it is given to anybody. What a crash
//! tears is sealed, does not open, and counts as taken: whoever takes sets can do without them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::codec::Fields;
use crate::names::Role;
use crate::seal::{NONCE_BYTES, TAG_BYTES};
use crate::stocks::{name as hex, wait_for_lock};
use crate::storage::StoredFile;
use crate::{FORMAT_VERSION, PeerId, SchemeId, StockError, StockId, Stocks, seal};

const MAGIC: [u8; 8] = *b"TACITSET";
const HEADER_BYTES: usize = 119;
const SUM_BYTES: usize = 16;

/// How long to wait for another process or thread that has a file: they write and sync it, and
/// whoever takes sets can do without them.
const LOCK_AT_MOST: Duration = Duration::from_secs(1);

/// No file of sets is larger.
const MAX_BYTES: usize = 1 << 20;

/// Which set is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichSet {
    /// That of the lowest number that is left.
    First,
    /// That of the highest one.
    Last,
    /// This one.
    Named {
        /// Its batch.
        batch: [u8; 16],
        /// Its number in the batch.
        number: u16,
    },
}

/// A set that was taken.
pub struct TakenSet {
    /// Its batch.
    pub batch: [u8; 16],
    /// Its number in the batch.
    pub number: u16,
    /// Its bytes.
    pub secret: Zeroizing<Vec<u8>>,
}

/// What stands before the sets.
struct Header {
    id: StockId,
    batch: [u8; 16],
    sets: u16,
    set_bytes: usize,
}

impl Header {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = [
            &MAGIC[..],
            &FORMAT_VERSION.to_le_bytes(),
            &self.id.own.0,
            &self.id.peer.0,
            &[self.id.role.byte()],
            &self.id.scheme.0,
            &self.batch,
            &self.sets.to_le_bytes(),
            &(self.set_bytes as u32).to_le_bytes(),
        ]
        .concat();
        let sum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&sum[..SUM_BYTES]);
        bytes
    }

    /// The header of a file that is whole, as far as it says.
    fn parse(file: &[u8]) -> Option<Self> {
        let mut fields = Fields::of(file.get(12..)?);
        let header = Self {
            id: StockId {
                own: PeerId(fields.array().ok()?),
                peer: PeerId(fields.array().ok()?),
                role: Role::of_byte(fields.u8().ok()?)?,
                scheme: SchemeId(fields.array().ok()?),
            },
            batch: fields.array().ok()?,
            sets: fields.u16().ok()?,
            set_bytes: fields.u32().ok()? as usize,
        };
        let is_whole = file.starts_with(&header.to_bytes());
        (is_whole && header.offset(header.sets) <= file.len()).then_some(header)
    }

    fn slot_bytes(&self) -> usize {
        NONCE_BYTES + self.set_bytes + TAG_BYTES
    }

    fn offset(&self, number: u16) -> usize {
        HEADER_BYTES + usize::from(number) * self.slot_bytes()
    }

    /// A set as it lies in a file that is whole.
    fn slot<'f>(&self, file: &'f [u8], number: u16) -> &'f [u8] {
        &file[self.offset(number)..][..self.slot_bytes()]
    }

    /// The sets that were not taken.
    fn left<'f>(
        &self,
        file: &'f [u8],
    ) -> impl DoubleEndedIterator<Item = u16> + Clone + use<'f, '_> {
        (0..self.sets).filter(|number| self.slot(file, *number).iter().any(|byte| *byte != 0))
    }

    fn context(&self, number: u16) -> Vec<u8> {
        [&self.id.digest()[..], &self.batch, &number.to_le_bytes()].concat()
    }
}

impl Stocks {
    /// Keeps a batch of sets under `id`, in place of what was kept there; each set is given with
    /// its number.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Busy`]; [`StockError::ApiMisuse`] where sets differ in
    /// length, or are more than 1 MiB.
    pub fn put_sets(
        &self,
        id: &StockId,
        batch: [u8; 16],
        sets: &[(u16, Zeroizing<Vec<u8>>)],
    ) -> Result<(), StockError> {
        let header = Header {
            id: *id,
            batch,
            sets: sets.iter().map(|(number, _)| number + 1).max().unwrap_or(0),
            set_bytes: sets.first().map_or(0, |(_, set)| set.len()),
        };
        let bytes = header.offset(header.sets);
        let fit = sets.iter().all(|(_, set)| set.len() == header.set_bytes);
        if !fit || bytes > MAX_BYTES {
            return Err(StockError::misuse("sets of one length, 1 MiB in all"));
        }
        let mut content = vec![0; bytes];
        content[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
        for (number, set) in sets {
            let context = header.context(*number);
            let key = seal::derive(b"tacit sets", &self.root, &context);
            let sealed = seal::seal(&key, &context, set)?;
            content[header.offset(*number)..][..sealed.len()].copy_from_slice(&sealed);
        }
        self.with_sets(&self.sets_file(id), true, |file| {
            let old = file.len()? as usize;
            // What an old batch had behind the new one's end goes, too.
            content.resize(content.len().max(old), 0);
            file.write_at(&content, 0)?;
            file.sync()
        })
    }

    /// Takes a set that is kept under `id`, if there is one: on the disk it is gone when this
    /// returns.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Busy`].
    pub fn take_set(&self, id: &StockId, which: WhichSet) -> Result<Option<TakenSet>, StockError> {
        let mut taken = None;
        self.with_sets(&self.sets_file(id), false, |file| {
            let content = whole(file)?;
            let Some(header) = Header::parse(&content).filter(|header| header.id == *id) else {
                return Ok(());
            };
            let open = |number: u16| {
                let context = header.context(number);
                let key = seal::derive(b"tacit sets", &self.root, &context);
                let secret = seal::open(&key, &context, header.slot(&content, number)).ok()?;
                Some((number, secret))
            };
            let left = header.left(&content);
            let found = match which {
                WhichSet::First => left.clone().find_map(open),
                WhichSet::Last => left.clone().rev().find_map(open),
                WhichSet::Named { batch, number } => (batch == header.batch
                    && number < header.sets)
                    .then(|| open(number))
                    .flatten(),
            };
            let Some((number, secret)) = found else {
                return Ok(());
            };
            let zeros = vec![0; header.slot_bytes()];
            file.write_at(&zeros, header.offset(number) as u64)?;
            file.sync()?;
            taken = Some(TakenSet {
                batch: header.batch,
                number,
                secret,
            });
            Ok(())
        })?;
        Ok(taken)
    }

    /// The batches of sets that are kept, by their names, and how many sets are left of each: as
    /// they are on the disk, without waiting for who has them.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`].
    pub fn sets(&self) -> Result<Vec<(StockId, u16)>, StockError> {
        let mut batches = Vec::new();
        for path in self.sets_files()? {
            let content = match self
                .storage
                .open(&path)
                .and_then(|file| whole(file.as_ref()))
            {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                content => content.map_err(StockError::io(&path, "read it"))?,
            };
            if let Some(header) = Header::parse(&content) {
                batches.push((header.id, header.left(&content).count() as u16));
            }
        }
        Ok(batches)
    }

    /// Destroys all batches of sets but those whose names `keep` admits, and says how many those
    /// were. Files that say no name are destroyed, too, and not counted.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Busy`]; those before it are then destroyed.
    pub fn retain_sets(&self, keep: impl Fn(&StockId) -> bool) -> Result<u64, StockError> {
        let mut destroyed = 0;
        for path in self.sets_files()? {
            self.with_sets(&path, false, |file| {
                let mut content = whole(file)?;
                let header = Header::parse(&content);
                if header.as_ref().is_some_and(|header| keep(&header.id)) {
                    return Ok(());
                }
                content.fill(0);
                file.write_at(&content, 0)?;
                file.sync()?;
                destroyed += u64::from(header.is_some());
                self.storage.remove(&path)
            })?;
        }
        let synced = self.storage.sync_folder(&self.folder);
        synced.map_err(StockError::io(&self.folder, "make it durable"))?;
        Ok(destroyed)
    }

    fn sets_files(&self) -> Result<Vec<PathBuf>, StockError> {
        let names = self.storage.names(&self.folder);
        let mut names = names.map_err(StockError::io(&self.folder, "list it"))?;
        names.retain(|name| name.starts_with("sets-") && name.ends_with(".keys"));
        Ok(names.iter().map(|name| self.folder.join(name)).collect())
    }

    fn sets_file(&self, id: &StockId) -> PathBuf {
        self.folder.join(format!("sets-{}.keys", hex(&id.digest())))
    }

    /// Runs `work` on a file of sets, which no other process or thread has meanwhile. Without the
    /// file nothing is done, unless it is to be made.
    fn with_sets(
        &self,
        path: &Path,
        make: bool,
        work: impl FnOnce(&dyn StoredFile) -> std::io::Result<()>,
    ) -> Result<(), StockError> {
        let lock = path.with_extension("lock");
        let _lock = wait_for_lock(self.storage.as_ref(), &lock, LOCK_AT_MOST)?;
        let io = |doing| StockError::io(path, doing);
        let file = match self.storage.open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if !make {
                    return Ok(());
                }
                let file = self.storage.create(path).map_err(io("make it"))?;
                let synced = self.storage.sync_folder(&self.folder);
                synced.map_err(io("make it durable"))?;
                file
            }
            Err(error) => return Err(io("open it")(error)),
        };
        work(file.as_ref()).map_err(io("read or overwrite it"))
    }
}

/// All of a file of sets.
fn whole(file: &dyn StoredFile) -> std::io::Result<Vec<u8>> {
    let mut content = vec![0; (file.len()? as usize).min(MAX_BYTES)];
    file.read_at(&mut content, 0)?;
    Ok(content)
}
