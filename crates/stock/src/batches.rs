//! What this party has recorded of the batches that it prepared with a peer, in each role: tries
//! that were begun and not finished, and cheats that were proven.
//!
//! A try is counted durably before the cut is opened, and taken off when both parties have published
//! its lot. So whatever ends it in between counts: an abort, a lost connection, a crash. The count
//! is of a peer and a role, not of a scheme or function, of which a peer may choose others for
//! another try. Nothing but an operator clears it.
//!
//! The records are an index of their own, `batches.index` in the folder of the stocks, which every
//! process of this party shares. A key is this party, the peer (32 bytes each) and the role (1); its
//! value is the tries, the cheats (8 each, little-endian) and 8 bytes of SHA-256 over key and both.

use sha2::{Digest as _, Sha256};

use crate::{PeerId, Role, StockError, Stocks};

const FILE_NAME: &str = "batches.index";

const CHECKSUM_BYTES: usize = 8;
const VALUE_BYTES: usize = 16 + CHECKSUM_BYTES;

/// What was recorded of the batches with one peer in one role of this party.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchRecord {
    /// Batches of which the cut was opened and which were not finished. The evaluator plans the next
    /// one at an s that they raise.
    pub unfinished: u64,
    /// Batches that were set aside, since the peer was caught or caught this party.
    pub cheats: u64,
}

impl BatchRecord {
    fn parse(key: &[u8], value: &[u8]) -> Option<Self> {
        let value: &[u8; VALUE_BYTES] = value.try_into().ok()?;
        let (fields, sum) = value.split_last_chunk::<CHECKSUM_BYTES>()?;
        let (numbers, _) = fields.as_chunks::<8>();
        let [unfinished, cheats] = [0, 1].map(|at| u64::from_le_bytes(numbers[at]));
        let record = Self { unfinished, cheats };
        (checksum(key, fields) == *sum).then_some(record)
    }

    fn to_bytes(self, key: &[u8]) -> Vec<u8> {
        let fields = [self.unfinished.to_le_bytes(), self.cheats.to_le_bytes()].concat();
        let sum = checksum(key, &fields);
        [&fields[..], &sum].concat()
    }
}

fn checksum(key: &[u8], fields: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let hash = Sha256::new_with_prefix(b"tacit batches\0")
        .chain_update(key)
        .chain_update(fields)
        .finalize();
    let mut sum = [0; CHECKSUM_BYTES];
    sum.copy_from_slice(&hash[..CHECKSUM_BYTES]);
    sum
}

impl Stocks {
    /// Reads what was recorded of the batches that `own` has prepared with `peer` in `role`, under
    /// any scheme, lets `change` change it durably, and returns it.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Full`]; [`StockError::Corrupted`] where it is damaged.
    pub fn change_batch_record(
        &self,
        (own, peer, role): (PeerId, PeerId, Role),
        mut change: impl FnMut(&mut BatchRecord),
    ) -> Result<BatchRecord, StockError> {
        let key = [&own.0[..], &peer.0, &[role.byte()]].concat();
        let path = self.folder.join(FILE_NAME);
        let index = self.storage.open_index(&path);
        let mut index = index.map_err(StockError::io(&path, "open it"))?;
        let mut changed = BatchRecord::default();
        index.update(&mut |entries| {
            let value = entries.get(&key);
            let before = match value.map_err(StockError::io(&path, "read it"))? {
                None => BatchRecord::default(),
                Some(value) => BatchRecord::parse(&key, &value).ok_or_else(|| {
                    StockError::corrupted(
                        &path,
                        "an entry",
                        "damaged (its checksum differs)",
                        "a record of batches as it was written",
                        "Remove the file only if you know of every batch with every peer why it \
                         did not end",
                    )
                })?,
            };
            changed = before;
            change(&mut changed);
            if changed == before {
                return Ok(());
            }
            let put = entries.put(&key, &changed.to_bytes(&key));
            put.map_err(StockError::io(&path, "write it"))
        })?;
        Ok(changed)
    }
}
