//! The record of a kind: which of its numbers lots have, and which are spent.

use std::ops::Deref;

use sha2::{Digest as _, Sha256};

use super::{LotRecord, Records};
use crate::codec::{Fields, Malformed};
use crate::storage::Entry;
use crate::{ComponentDigest, Shape, Span, StockError};

/// A kind of material. What its fields say changes by the steps below alone, none of which goes
/// back: no number is given to a lot twice, and none that is spent is there again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KindRecord(KindFields);

/// What the record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KindFields {
    /// Which pages of the key file are its.
    pub(crate) slot: u32,
    pub(crate) shape: Shape,
    /// No lot was ever started at or above this number.
    pub(crate) reserved: u64,
    /// Every number below is spent.
    pub(crate) leased: u64,
    /// Lots ever published.
    pub(crate) published: u64,
    /// A hash over the published lots in their order.
    pub(crate) chain: [u8; 32],
    /// Every number below was given up, also where a process passed over it and has its key.
    pub(crate) given_up: u64,
}

impl Deref for KindRecord {
    type Target = KindFields;

    fn deref(&self) -> &KindFields {
        &self.0
    }
}

impl KindFields {
    /// No number from here on is of a lot that was started, or is spent.
    pub(crate) fn end(&self) -> u64 {
        self.reserved.max(self.leased)
    }
}

impl KindRecord {
    /// A kind of which nothing was begun.
    pub(crate) fn new(slot: u32, shape: Shape) -> Self {
        Self(KindFields {
            slot,
            shape,
            reserved: 0,
            leased: 0,
            published: 0,
            chain: [0; 32],
            given_up: 0,
        })
    }

    /// Takes the numbers below `end` for lots.
    pub(crate) fn reserve_to(&mut self, end: u64) {
        self.0.reserved = self.reserved.max(end);
    }

    /// Spends the numbers below `mark`, which no lot gets after that.
    pub(crate) fn spend_to(&mut self, mark: u64) {
        self.0.leased = self.leased.max(mark);
        self.reserve_to(mark);
    }

    /// Gives up all numbers that lots have, also those that a process has passed over.
    pub(crate) fn give_up(&mut self) {
        self.0.given_up = self.end();
    }

    /// Publishes a lot that was pending, the next one of the kind.
    pub(crate) fn publish(&mut self, lot: LotRecord) -> LotRecord {
        self.0.published += 1;
        self.0.chain = chained(&self.chain, lot.span);
        lot.published()
    }

    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        Fields::all(bytes, |fields| {
            Ok(Self(KindFields {
                slot: fields.u32()?,
                shape: Shape {
                    secret_bytes: fields.u32()?,
                    table_bytes: fields.u32()?,
                },
                reserved: fields.u64()?,
                leased: fields.u64()?,
                published: fields.u64()?,
                chain: fields.array()?,
                given_up: fields.later_u64()?,
            }))
        })
    }

    fn to_bytes(self) -> Vec<u8> {
        [
            &self.slot.to_le_bytes()[..],
            &self.shape.secret_bytes.to_le_bytes(),
            &self.shape.table_bytes.to_le_bytes(),
            &self.reserved.to_le_bytes(),
            &self.leased.to_le_bytes(),
            &self.published.to_le_bytes(),
            &self.chain,
            &self.given_up.to_le_bytes(),
        ]
        .concat()
    }
}

/// The hash over published lots, one lot further.
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
