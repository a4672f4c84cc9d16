//! Keys from correlated OTs: the sender gets one key for each value, the receiver one of the two.
//!
//! The keys of OT i are H(i, q) and H(i, q ⊕ Δ). H is the re-keyed tweakable hash of `kernels`
//! under the OT's number and a start point from the protocol's oracle. Assumption: H is correlation
//! robust under Δ (AES as an ideal cipher).

use tacit_kernels::{Block, Construction, Tweak, TweakableHash, Use};
use zeroize::Zeroizing;

/// The hash of one run's OTs.
pub(crate) struct Pads(TweakableHash);

impl Pads {
    /// Returns the hash with this start point.
    pub(crate) fn new(start: Block) -> Self {
        Self(TweakableHash::new(Construction::Rekeyed, start))
    }

    /// Returns both keys of each OT, numbered from `first`, under `delta`: the keys of value 0, and
    /// those of value 1.
    pub(crate) fn both(&self, first: u64, q: &[Block], delta: Block) -> [Zeroizing<Vec<Block>>; 2] {
        let mut zeros = Zeroizing::new(q.to_vec());
        let mut ones = Zeroizing::new(vec![Block::ZERO; q.len()]);
        self.0
            .hash_both(tweak(first), &delta, &mut zeros, &mut ones);
        [zeros, ones]
    }

    /// Returns the chosen key of each OT, numbered from `first`.
    pub(crate) fn chosen(&self, first: u64, t: &[Block]) -> Zeroizing<Vec<Block>> {
        let mut keys = Zeroizing::new(t.to_vec());
        self.0.hash(tweak(first), &mut keys);
        keys
    }
}

fn tweak(first: u64) -> Tweak {
    Tweak::of(Use::CorrelatedOt, first)
}
