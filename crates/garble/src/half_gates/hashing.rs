//! The hashes of several gates' input labels at once, by either construction.

use tacit_kernels::{Block, Simd, Tweak, Use, hash};

/// Vectors of gates in one step of the garbler: four labels each, so eight in flight.
pub(super) const GARBLED: usize = 2;
/// Vectors of gates in one step of the evaluator: two labels each, so eight in flight.
pub(super) const EVALUATED: usize = 4;
/// Lanes of the widest vector.
pub(super) const MAX_LANES: usize = 4;

/// The tweak field that tells the evaluator's half from the garbler's.
const SECOND_HALF: Block = Block::from_u128(1 << 8);

/// The tweak of the garbler's half of gate `number`.
fn first_half(instance: u32, number: u64) -> Tweak {
    Tweak {
        usage: Use::And,
        instance,
        number,
        a: 0,
        b: 0,
    }
}

/// Hashes for the gates of one segment.
pub(super) trait Hashing<S: Simd> {
    /// Begins at a segment.
    fn new(simd: S, start: Block, instance: u32) -> Self;

    /// Takes up the keys for gate `number`, and returns for how many gates from it on they serve.
    fn keys_for(&mut self, simd: S, number: u64) -> usize;

    /// Hashes of the labels W_a^0, W_a^1, W_b^0, W_b^1 of the gates from `number` on.
    fn four(&self, simd: S, number: u64, x: [[S::Vector; 4]; GARBLED])
    -> [[S::Vector; 4]; GARBLED];

    /// Hashes of the labels W_a, W_b of the gates from `number` on.
    fn two(
        &self,
        simd: S,
        number: u64,
        x: [[S::Vector; 2]; EVALUATED],
    ) -> [[S::Vector; 2]; EVALUATED];
}

/// The tweaks of both halves of `N` vectors of gates from `number` on.
#[inline(always)]
fn tweaks<S: Simd, const N: usize>(simd: S, instance: u32, number: u64) -> [[S::Vector; 2]; N] {
    let mut first = hash::counting_tweaks(simd, first_half(instance, number));
    let second_half = simd.splat(SECOND_HALF);
    let step = hash::number_step(simd, S::LANES);
    let mut tweaks = [[first; 2]; N];
    for pair in &mut tweaks {
        *pair = [first, simd.xor(first, second_half)];
        first = simd.add_halves(first, step);
    }
    tweaks
}

/// The two-call hash.
pub(super) struct TwoCall<S: Simd> {
    start: Block,
    instance: u32,
    /// One past the last gate that the permutation serves.
    end: u64,
    permutation: S::Schedule,
}

impl<S: Simd> Hashing<S> for TwoCall<S> {
    #[inline(always)]
    fn new(simd: S, start: Block, instance: u32) -> Self {
        Self {
            start,
            instance,
            end: 0,
            permutation: simd.splat_schedule(&[Block::ZERO; 11]),
        }
    }

    #[inline(always)]
    fn keys_for(&mut self, simd: S, number: u64) -> usize {
        if number >= self.end {
            let key = hash::epoch_key(self.start, first_half(self.instance, number));
            self.permutation = simd.expand(simd.splat(key));
            self.end = ((number >> hash::EPOCH_BITS) + 1) << hash::EPOCH_BITS;
        }
        (self.end - number) as usize
    }

    #[inline(always)]
    fn four(
        &self,
        simd: S,
        number: u64,
        x: [[S::Vector; 4]; GARBLED],
    ) -> [[S::Vector; 4]; GARBLED] {
        let tweaks = tweaks::<S, GARBLED>(simd, self.instance, number);
        let mut each = x;
        for (each, [first, second]) in each.iter_mut().zip(tweaks) {
            *each = [first, first, second, second];
        }
        hash::two_call(simd, &self.permutation, each, x)
    }

    #[inline(always)]
    fn two(
        &self,
        simd: S,
        number: u64,
        x: [[S::Vector; 2]; EVALUATED],
    ) -> [[S::Vector; 2]; EVALUATED] {
        let tweaks = tweaks(simd, self.instance, number);
        hash::two_call(simd, &self.permutation, tweaks, x)
    }
}

/// The re-keyed hash.
pub(super) struct Rekeyed<S: Simd> {
    start: S::Vector,
    instance: u32,
}

impl<S: Simd> Rekeyed<S> {
    /// The keys of both halves of `N` vectors of gates from `number` on.
    #[inline(always)]
    fn keys<const N: usize>(&self, simd: S, number: u64) -> [[S::Vector; 2]; N] {
        let mut keys = tweaks(simd, self.instance, number);
        for key in keys.iter_mut().flatten() {
            *key = simd.xor(*key, self.start);
        }
        keys
    }
}

impl<S: Simd> Hashing<S> for Rekeyed<S> {
    #[inline(always)]
    fn new(simd: S, start: Block, instance: u32) -> Self {
        Self {
            start: simd.splat(start),
            instance,
        }
    }

    #[inline(always)]
    fn keys_for(&mut self, _simd: S, _number: u64) -> usize {
        usize::MAX
    }

    #[inline(always)]
    fn four(
        &self,
        simd: S,
        number: u64,
        x: [[S::Vector; 4]; GARBLED],
    ) -> [[S::Vector; 4]; GARBLED] {
        let [[k0, k1], [k2, k3]] = self.keys(simd, number);
        let [[a0, a1, b0, b1], [c0, c1, d0, d1]] = x;
        let halves = [[a0, a1], [b0, b1], [c0, c1], [d0, d1]];
        let [[a0, a1], [b0, b1], [c0, c1], [d0, d1]] =
            hash::rekeyed(simd, [k0, k1, k2, k3], halves);
        [[a0, a1, b0, b1], [c0, c1, d0, d1]]
    }

    #[inline(always)]
    fn two(
        &self,
        simd: S,
        number: u64,
        x: [[S::Vector; 2]; EVALUATED],
    ) -> [[S::Vector; 2]; EVALUATED] {
        let keys: [[S::Vector; 2]; EVALUATED] = self.keys(simd, number);
        let mut hashes = x;
        for (i, [first, second]) in keys.into_iter().enumerate().step_by(2) {
            let [third, fourth] = keys[i + 1];
            let halves = [[x[i][0]], [x[i][1]], [x[i + 1][0]], [x[i + 1][1]]];
            let [[a], [b], [c], [d]] = hash::rekeyed(simd, [first, second, third, fourth], halves);
            hashes[i] = [a, b];
            hashes[i + 1] = [c, d];
        }
        hashes
    }
}
