//! From leaky ANDs to triples: buckets by independent shifts, so that a cheating party that knows
//! some x knows none of the sums.
//!
//! Wang, Ranellucci and Katz (CCS 2017), section 4, with the shifts of [`parameters`](super::parameters).
//! In a bucket y ⊕ y' is opened for each further layer; then x ⊕ x', y and
//! z ⊕ z' ⊕ (y ⊕ y')x' are a triple again. The MACs of all that a lot opens are compared, as one
//! digest each way, before a triple can be had.

use tacit_kernels::Prg;

use super::caught::Caught;
use super::epoch::Epoch;
use super::gates::public;
use super::leaky::{LeakyShares, pack};
use super::oracle::{DIGEST_BYTES, Digest, Domain, compare};
use super::parameters::LotSize;
use super::share::{Share, Shares};
use crate::malicious::bits::{bytes_for, unused_are_clear};
use crate::malicious::shuffle::below;
use crate::message::{Kind, exactly};
use crate::{Error, Misbehaviour};

/// Leaky ANDs that both parties have found the same. Only the equality check makes one.
pub(super) struct CheckedLot {
    pub(super) number: u64,
    pub(super) size: LotSize,
    pub(super) shares: LeakyShares,
    /// Shares of random bits, one for each triple, which no leaky AND is made of.
    pub(super) masks: Shares,
}

/// AND triples that nobody but both together knows: ⟨x⟩, ⟨y⟩, ⟨z⟩, z = xy, with a random ⟨mask⟩
/// each. Only checked buckets make them.
pub(super) struct Triples {
    /// The lot that they are of.
    pub(super) number: u64,
    pub(super) x: Shares,
    pub(super) y: Shares,
    pub(super) z: Shares,
    pub(super) masks: Shares,
}

/// A lot that has its shifts, and this party's openings.
pub(super) struct Bucketed {
    lot: CheckedLot,
    /// Where each layer but the first begins.
    shifts: Vec<usize>,
    /// This party's bits of the openings.
    own: Vec<u8>,
}

impl CheckedLot {
    /// How many bits the lot opens.
    fn openings(&self) -> usize {
        self.size.triples * self.size.layers.saturating_sub(1)
    }

    /// The length of a party's openings with their digest, in bytes.
    pub(super) fn opening_bytes(&self) -> usize {
        bytes_for(self.openings()) + DIGEST_BYTES
    }

    /// Turns the layers by a coin that both tossed after the check, and appends this party's
    /// openings to `message`.
    pub(super) fn open(self, epoch: &Epoch, coin: &Digest, message: &mut Vec<u8>) -> Bucketed {
        let mut prg = Prg::from_seed(coin);
        let LotSize { triples, layers } = self.size;
        let shift = |_| below(&mut prg, triples as u64) as usize;
        let shifts: Vec<usize> = (1..layers).map(shift).collect();
        let mut macs = epoch.oracle(Domain::BucketMacs, Some(epoch.role()), self.number);
        let opened = sums(&self.shares.y, self.size, &shifts).map(|sum| {
            macs.add(sum.mac);
            sum.bit()
        });
        let own = pack(opened);
        message.extend_from_slice(&own);
        message.extend_from_slice(&macs.finish());
        let lot = self;
        Bucketed { lot, shifts, own }
    }
}

impl Bucketed {
    /// The triples, from the other party's openings.
    ///
    /// # Errors
    ///
    /// The openings are malformed, or their MACs are not those of the bits that were opened.
    pub(super) fn triples(self, epoch: &Epoch, others: &[u8]) -> Result<Triples, Error> {
        let Self { lot, shifts, own } = self;
        let kind = Kind::TripleOpenings;
        exactly(kind, others, lot.opening_bytes())?;
        let (others, digest) = others.split_at(bytes_for(lot.openings()));
        if !unused_are_clear(others, lot.openings()) {
            let field = "padding";
            return Err(Misbehaviour::InvalidField { kind, field }.into());
        }
        let role = epoch.role().other();
        let mut macs = epoch.oracle(Domain::BucketMacs, Some(role), lot.number);
        for (i, sum) in sums(&lot.shares.y, lot.size, &shifts).enumerate() {
            macs.add(sum.others_mac(public(others, i), epoch.delta()));
        }
        compare(&macs.finish(), digest, Caught::Buckets)?;
        let LotSize { triples, .. } = lot.size;
        let LeakyShares { mut x, y, mut z } = lot.shares;
        for (layer, shift) in shifts.into_iter().enumerate() {
            let first = (layer + 1) * triples;
            let items = (first + shift..first + triples).chain(first..first + shift);
            for (i, item) in items.enumerate() {
                let opened = layer * triples + i;
                let difference = public(&own, opened) ^ public(others, opened);
                let added = x.at(item);
                x.set(i, x.at(i) ^ added);
                z.set(i, z.at(i) ^ z.at(item) ^ added.times(difference));
            }
        }
        Ok(Triples {
            number: lot.number,
            x: x.into_first(triples),
            y: y.into_first(triples),
            z: z.into_first(triples),
            masks: lot.masks,
        })
    }
}

/// What is opened, layer after layer: y of the first layer plus y of the bucket's item.
fn sums(y: &Shares, size: LotSize, shifts: &[usize]) -> impl Iterator<Item = Share> {
    let triples = size.triples;
    (1..).zip(shifts).flat_map(move |(layer, shift)| {
        let first = layer * triples;
        let items = y.range(first + shift..first + triples);
        let items = items.chain(y.range(first..first + shift));
        y.range(0..triples).zip(items).map(|(a, b)| a ^ b)
    })
}
