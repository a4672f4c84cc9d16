//! Sets of secrets that are made together and taken one by one, each once: a file for each name,
//! `sets-HEX.keys`, HEX being 16 bytes of the name.
//!
//! | byte | field |
//! |---|---|
//! | 0 | `TACITSET` |
//! | 8 | version (4) |
//! | 12 | name of the batch (16) |
//! | 28 | number of sets (2), bytes of a set (4) |
//! | 34 | SHA-256 of the name and the bytes before, 16 bytes of it |
//! | 50 | for each set in order: the set, sealed under a key of its batch and number; zeros once it is taken |
//!
//! A set is overwritten, and the overwriting durable, before it is given to anybody. What a crash
//! tears is sealed, does not open, and counts as taken: whoever takes sets can do without them.

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::seal::{NONCE_BYTES, TAG_BYTES};
use crate::stocks::{name as hex, wait_for_lock};
use crate::storage::StoredFile;
use crate::{FORMAT_VERSION, StockError, Stocks, seal};

const MAGIC: [u8; 8] = *b"TACITSET";
const HEADER_BYTES: usize = 50;
const SUM_BYTES: usize = 16;

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
    batch: [u8; 16],
    sets: u16,
    set_bytes: usize,
}

impl Header {
    fn to_bytes(&self, name: &[u8; 32]) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[12..28].copy_from_slice(&self.batch);
        bytes[28..30].copy_from_slice(&self.sets.to_le_bytes());
        bytes[30..34].copy_from_slice(&(self.set_bytes as u32).to_le_bytes());
        let sum = Sha256::new().chain_update(name).chain_update(&bytes[..34]);
        bytes[34..].copy_from_slice(&sum.finalize()[..SUM_BYTES]);
        bytes
    }

    /// The header of a file that is whole, as far as it says.
    fn parse(name: &[u8; 32], file: &[u8]) -> Option<Self> {
        let bytes = file.first_chunk::<HEADER_BYTES>()?;
        let header = Self {
            batch: *bytes[12..].first_chunk()?,
            sets: u16::from_le_bytes(*bytes[28..].first_chunk()?),
            set_bytes: u32::from_le_bytes(*bytes[30..].first_chunk()?) as usize,
        };
        let end = header.offset(header.sets);
        (header.to_bytes(name) == *bytes && end <= file.len()).then_some(header)
    }

    fn slot_bytes(&self) -> usize {
        NONCE_BYTES + self.set_bytes + TAG_BYTES
    }

    fn offset(&self, number: u16) -> usize {
        HEADER_BYTES + usize::from(number) * self.slot_bytes()
    }

    fn context(&self, name: &[u8; 32], number: u16) -> Vec<u8> {
        [&name[..], &self.batch, &number.to_le_bytes()].concat()
    }
}

impl Stocks {
    /// Keeps a batch of sets under `name`, in place of what was kept there; each set is given with
    /// its number.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Busy`]; [`StockError::ApiMisuse`] where sets differ in
    /// length, or are more than 1 MiB.
    pub fn put_sets(
        &self,
        name: &[u8; 32],
        batch: [u8; 16],
        sets: &[(u16, Zeroizing<Vec<u8>>)],
    ) -> Result<(), StockError> {
        let header = Header {
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
        content[..HEADER_BYTES].copy_from_slice(&header.to_bytes(name));
        for (number, set) in sets {
            let context = header.context(name, *number);
            let key = seal::derive(b"tacit sets", &self.root, &context);
            let sealed = seal::seal(&key, &context, set)?;
            content[header.offset(*number)..][..sealed.len()].copy_from_slice(&sealed);
        }
        self.with_sets(name, true, |file| {
            let old = file.len()? as usize;
            // What an old batch had behind the new one's end goes, too.
            content.resize(content.len().max(old), 0);
            file.write_at(&content, 0)?;
            file.sync()
        })
        .map(drop)
    }

    /// Takes a set that is kept under `name`, if there is one: on the disk it is gone when this
    /// returns.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Busy`].
    pub fn take_set(
        &self,
        name: &[u8; 32],
        which: WhichSet,
    ) -> Result<Option<TakenSet>, StockError> {
        let mut taken = None;
        self.with_sets(name, false, |file| {
            let mut content = vec![0; (file.len()? as usize).min(MAX_BYTES)];
            file.read_at(&mut content, 0)?;
            let Some(header) = Header::parse(name, &content) else {
                return Ok(());
            };
            let slot = |number| &content[header.offset(number)..][..header.slot_bytes()];
            let open = |number: u16| {
                let context = header.context(name, number);
                let key = seal::derive(b"tacit sets", &self.root, &context);
                let secret = seal::open(&key, &context, slot(number)).ok()?;
                Some((number, secret))
            };
            let left = (0..header.sets).filter(|number| slot(*number).iter().any(|b| *b != 0));
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

    /// Runs `work` on the file of a name, which no other process or thread has meanwhile. Without
    /// the file nothing is done, unless it is to be made.
    fn with_sets(
        &self,
        name: &[u8; 32],
        make: bool,
        work: impl FnOnce(&dyn StoredFile) -> std::io::Result<()>,
    ) -> Result<(), StockError> {
        let path = self.folder.join(format!("sets-{}.keys", hex(name)));
        let lock = path.with_extension("lock");
        let _lock = wait_for_lock(self.storage.as_ref(), &lock)?;
        let io = |doing| StockError::io(&path, doing);
        let file = match self.storage.open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if !make {
                    return Ok(());
                }
                let file = self.storage.create(&path).map_err(io("make it"))?;
                let synced = self.storage.sync_folder(&self.folder);
                synced.map_err(io("make it durable"))?;
                file
            }
            Err(error) => return Err(io("open it")(error)),
        };
        work(file.as_ref()).map_err(io("read or overwrite it"))
    }
}
