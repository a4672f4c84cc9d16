//! The record of a kind: which of its numbers belong to lots, and which are spent.

use std::ops::Deref;

use sha2::{Digest as _, Sha256};

use super::{LotRecord, Records};
use crate::codec::{Fields, Malformed};
use crate::storage::Entry;
use crate::{ComponentDigest, InstanceSize, Span, StockError};

/// A kind of material. Its fields change only by the steps below, none of which goes back: no
/// number is given to two lots, and no spent number becomes available again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KindRecord(KindFields);

/// The fields of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KindFields {
    /// The slot, which determines the kind's pages in the key file.
    pub(crate) slot: u32,
    pub(crate) size: InstanceSize,
    /// The number at or above which no lot was ever started.
    pub(crate) reserved: u64,
    /// The number below which every number is spent.
    pub(crate) leased: u64,
    /// The number of lots ever published.
    pub(crate) published: u64,
    /// A hash over the published lots in their order.
    pub(crate) chain: [u8; 32],
    /// The number below which every number was given up, including numbers that a process passed
    /// over and has the keys of.
    pub(crate) given_up: u64,
}

impl Deref for KindRecord {
    type Target = KindFields;

    fn deref(&self) -> &KindFields {
        &self.0
    }
}

impl KindFields {
    /// Returns the first number that belongs to no started lot and is not spent.
    pub(crate) fn end(&self) -> u64 {
        self.reserved.max(self.leased)
    }
}

impl KindRecord {
    /// Creates a kind without any lots.
    pub(crate) fn new(slot: u32, size: InstanceSize) -> Self {
        Self(KindFields {
            slot,
            size,
            reserved: 0,
            leased: 0,
            published: 0,
            chain: [0; 32],
            given_up: 0,
        })
    }

    /// Reserves the numbers below `end` for lots.
    pub(crate) fn reserve_to(&mut self, end: u64) {
        self.0.reserved = self.reserved.max(end);
    }

    /// Spends the numbers below `mark`. No lot gets them after that.
    pub(crate) fn spend_to(&mut self, mark: u64) {
        self.0.leased = self.leased.max(mark);
        self.reserve_to(mark);
    }

    /// Gives up all numbers of lots, including those that a process has passed over.
    pub(crate) fn give_up(&mut self) {
        self.0.given_up = self.end();
    }

    /// Publishes a pending lot, which is the next one of the kind.
    pub(crate) fn publish(&mut self, lot: LotRecord) -> LotRecord {
        self.0.published += 1;
        self.0.chain = chained(&self.chain, lot.span);
        lot.published()
    }

    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        Fields::all(bytes, |fields| {
            Ok(Self(KindFields {
                slot: fields.u32()?,
                size: InstanceSize {
                    secret_bytes: fields.u32()?,
                    table_bytes: fields.u32()?,
                },
                reserved: fields.u64()?,
                leased: fields.u64()?,
                published: fields.u64()?,
                chain: fields.array()?,
                given_up: fields.u64()?,
            }))
        })
    }

    fn to_bytes(self) -> Vec<u8> {
        [
            &self.slot.to_le_bytes()[..],
            &self.size.secret_bytes.to_le_bytes(),
            &self.size.table_bytes.to_le_bytes(),
            &self.reserved.to_le_bytes(),
            &self.leased.to_le_bytes(),
            &self.published.to_le_bytes(),
            &self.chain,
            &self.given_up.to_le_bytes(),
        ]
        .concat()
    }
}

/// Returns the hash over published lots, extended by one lot.
pub(crate) fn chained(chain: &[u8; 32], lot: Span) -> [u8; 32] {
    Sha256::new()
        .chain_update(b"tacit stock lots")
        .chain_update(chain)
        .chain_update(lot.first.to_le_bytes())
        .chain_update(lot.count.to_le_bytes())
        .finalize()
        .into()
}

fn key(kind: &ComponentDigest) -> Vec<u8> {
    [b"k", &kind.0[..]].concat()
}

impl Records<'_> {
    pub(crate) fn kind(&self, kind: &ComponentDigest) -> Result<Option<KindRecord>, StockError> {
        self.get(&key(kind), KindRecord::parse)
    }

    pub(crate) fn put_kind(
        &mut self,
        kind: &ComponentDigest,
        record: KindRecord,
    ) -> Result<(), StockError> {
        self.put(&key(kind), &record.to_bytes())
    }

    pub(crate) fn remove_kind(&mut self, kind: &ComponentDigest) -> Result<(), StockError> {
        self.remove(&key(kind))
    }

    pub(crate) fn kinds(&self) -> Result<Vec<(ComponentDigest, KindRecord)>, StockError> {
        let parse = |(key, value): Entry| {
            let record = self.parsed(&key, &value, KindRecord::parse)?;
            Ok((ComponentDigest(self.tail(&key)?), record))
        };
        self.scan(b"k")?.into_iter().map(parse).collect()
    }
}
