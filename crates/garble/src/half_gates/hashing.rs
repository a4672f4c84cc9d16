//! The hashes of several gates' input labels at once, by either construction.

use tacit_kernels::{Block, Simd, Tweak, Use, hash};

use super::lone;

/// Vectors of gates in one step of the garbler: four labels each, so eight in flight.
pub(crate) const GARBLED: usize = 2;
/// Vectors of gates in one step of the evaluator: two labels each, so eight in flight.
pub(crate) const EVALUATED: usize = 4;
/// Lanes of the widest vector.
pub(crate) const MAX_LANES: usize = 4;

/// The tweak field that tells the evaluator's half from the garbler's.
const SECOND_HALF: Block = Block::from_u128(1 << 8);

/// The tweak of the garbler's half of gate `number`.
pub(super) fn first_half(instance: u32, number: u64) -> Tweak {
    Tweak {
        usage: Use::And,
        instance,
        number,
        a: 0,
        b: 0,
    }
}

/// Hashes for the gates of one segment.
///
/// `number` is the number of the gate in lane 0 of the first vector.
pub(crate) trait Hashing<S: Simd> {
    /// Whether keys are expanded for a whole vector of gates, in which a gate's lane is then its
    /// number modulo the lanes.
    const ALIGNED: bool;

    /// Begins at a segment.
    fn new(simd: S, start: Block, instance: u32) -> Self;

    /// Takes up the keys for gate `number`, and returns for how many gates from it on they serve.
    fn keys_for(&mut self, simd: S, number: u64) -> usize;

    /// Hashes of the labels W_a^0, W_a^1, W_b^0, W_b^1 of several vectors of gates.
    fn four(&self, simd: S, number: u64, x: [[S::Vector; 4]; GARBLED])
    -> [[S::Vector; 4]; GARBLED];

    /// Hashes of the labels W_a, W_b of several vectors of gates.
    fn two(
        &self,
        simd: S,
        number: u64,
        x: [[S::Vector; 2]; EVALUATED],
    ) -> [[S::Vector; 2]; EVALUATED];

    /// [`Hashing::four`] of one vector, in the shortest time. If [`Hashing::ALIGNED`], `number` is
    /// a multiple of the lanes.
    fn four_soon(&mut self, simd: S, number: u64, x: [S::Vector; 4]) -> [S::Vector; 4];

    /// [`Hashing::two`] of one vector, likewise.
    fn two_soon(&mut self, simd: S, number: u64, x: [S::Vector; 2]) -> [S::Vector; 2];

    /// Hashes of `M` labels of each half of one gate, in the shortest time. The `N` vectors are a
    /// pair, as [`lone`] has them.
    fn lone<const N: usize, const M: usize>(
        &mut self,
        simd: S,
        number: u64,
        x: [[S::Vector; M]; N],
    ) -> [[S::Vector; M]; N];
}

/// The tweaks of both halves of one gate, as [`lone`] has them.
#[inline(always)]
fn lone_tweaks<S: Simd, const N: usize>(simd: S, instance: u32, number: u64) -> [S::Vector; N] {
    let first = simd.splat(first_half(instance, number).to_block());
    let mut tweaks = [first; N];
    for (v, tweak) in tweaks.iter_mut().enumerate() {
        let halves = [Block::ZERO, SECOND_HALF];
        let half = simd.gather(&halves, |lane| lone::half::<S>(v, lane));
        *tweak = simd.xor(*tweak, half);
    }
    tweaks
}

/// [`lone_tweaks`] for `M` labels of each half.
#[inline(always)]
fn lone_tweaks_each<S: Simd, const N: usize, const M: usize>(
    simd: S,
    instance: u32,
    number: u64,
) -> [[S::Vector; M]; N] {
    let tweaks: [S::Vector; N] = lone_tweaks(simd, instance, number);
    let mut each = [[tweaks[0]; M]; N];
    for (each, tweak) in each.iter_mut().zip(tweaks) {
        *each = [tweak; M];
    }
    each
}

/// How many of `left` gates from `number` on go into one vector, and in which lane the first.
#[inline(always)]
pub(super) fn lanes_for<S: Simd, H: Hashing<S>>(number: u64, left: usize) -> (usize, usize) {
    let first = if H::ALIGNED {
        number as usize % S::LANES
    } else {
        0
    };
    (first, left.min(S::LANES - first))
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
pub(crate) struct TwoCall<S: Simd> {
    start: Block,
    instance: u32,
    /// One past the last gate that the permutation serves.
    end: u64,
    permutation: S::Schedule,
}

impl<S: Simd> TwoCall<S> {
    /// The first of the two calls, for labels of `N` vectors of gates.
    #[inline(always)]
    pub(crate) fn first_call<const N: usize, const M: usize>(
        &self,
        simd: S,
        x: [[S::Vector; M]; N],
    ) -> [[S::Vector; M]; N] {
        simd.encrypt([&self.permutation; N], x)
    }

    /// The hashes whose first calls these are: of `N` vectors of gates from `number` on, label `m`
    /// of each at place `places[m]`.
    #[inline(always)]
    pub(crate) fn second_call<const N: usize, const M: usize>(
        &self,
        simd: S,
        number: u64,
        places: [u8; M],
        inner: [[S::Vector; M]; N],
    ) -> [[S::Vector; M]; N] {
        let mut first = hash::counting_tweaks(simd, first_half(self.instance, number));
        let step = hash::number_step(simd, S::LANES);
        let mut tweaks = inner;
        for tweaks in &mut tweaks {
            for (tweak, place) in tweaks.iter_mut().zip(places) {
                let place = simd.splat(Block::from_u128(u128::from(place) << 8));
                *tweak = simd.xor(first, place);
            }
            first = simd.add_halves(first, step);
        }
        hash::second_call(simd, &self.permutation, tweaks, inner)
    }

    #[inline(always)]
    fn four_of<const N: usize>(
        &self,
        simd: S,
        number: u64,
        x: [[S::Vector; 4]; N],
    ) -> [[S::Vector; 4]; N] {
        let tweaks = tweaks::<S, N>(simd, self.instance, number);
        let mut each = x;
        for (each, [first, second]) in each.iter_mut().zip(tweaks) {
            *each = [first, first, second, second];
        }
        hash::two_call(simd, &self.permutation, each, x)
    }

    #[inline(always)]
    fn two_of<const N: usize>(
        &self,
        simd: S,
        number: u64,
        x: [[S::Vector; 2]; N],
    ) -> [[S::Vector; 2]; N] {
        let tweaks = tweaks(simd, self.instance, number);
        hash::two_call(simd, &self.permutation, tweaks, x)
    }
}

impl<S: Simd> Hashing<S> for TwoCall<S> {
    const ALIGNED: bool = false;

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
        self.four_of(simd, number, x)
    }

    #[inline(always)]
    fn two(
        &self,
        simd: S,
        number: u64,
        x: [[S::Vector; 2]; EVALUATED],
    ) -> [[S::Vector; 2]; EVALUATED] {
        self.two_of(simd, number, x)
    }

    #[inline(always)]
    fn four_soon(&mut self, simd: S, number: u64, x: [S::Vector; 4]) -> [S::Vector; 4] {
        let [hashes] = self.four_of(simd, number, [x]);
        hashes
    }

    #[inline(always)]
    fn two_soon(&mut self, simd: S, number: u64, x: [S::Vector; 2]) -> [S::Vector; 2] {
        let [hashes] = self.two_of(simd, number, [x]);
        hashes
    }

    #[inline(always)]
    fn lone<const N: usize, const M: usize>(
        &mut self,
        simd: S,
        number: u64,
        x: [[S::Vector; M]; N],
    ) -> [[S::Vector; M]; N] {
        let tweaks = lone_tweaks_each(simd, self.instance, number);
        hash::two_call(simd, &self.permutation, tweaks, x)
    }
}

/// The one-call hash under one key for all gates: H(x, i) = π(σ(x) ⊕ i) ⊕ σ(x) ⊕ i. For
/// [`hazmat`](crate::hazmat) alone.
pub(crate) struct FixedKey<S: Simd> {
    instance: u32,
    permutation: S::Schedule,
}

impl<S: Simd> FixedKey<S> {
    /// Hashes of W_a^0, W_a^1, W_b^0, W_b^1 of `N` vectors of gates.
    #[inline(always)]
    fn four_of<const N: usize>(
        &self,
        simd: S,
        number: u64,
        mut x: [[S::Vector; 4]; N],
    ) -> [[S::Vector; 4]; N] {
        let tweaks = tweaks::<S, N>(simd, self.instance, number);
        for (x, [first, second]) in x.iter_mut().zip(tweaks) {
            let [a, a1, b, _] = *x;
            // σ is linear, and σ(Δ) the same for all gates.
            let delta = simd.sigma(simd.xor(a, a1));
            let a = simd.xor(simd.sigma(a), first);
            let b = simd.xor(simd.sigma(b), second);
            *x = [a, simd.xor(a, delta), b, simd.xor(b, delta)];
        }
        self.permuted(simd, x)
    }

    /// Hashes of W_a, W_b of `N` vectors of gates.
    #[inline(always)]
    fn two_of<const N: usize>(
        &self,
        simd: S,
        number: u64,
        mut x: [[S::Vector; 2]; N],
    ) -> [[S::Vector; 2]; N] {
        let tweaks = tweaks::<S, N>(simd, self.instance, number);
        for (x, [first, second]) in x.iter_mut().zip(tweaks) {
            let [a, b] = *x;
            *x = [
                simd.xor(simd.sigma(a), first),
                simd.xor(simd.sigma(b), second),
            ];
        }
        self.permuted(simd, x)
    }

    /// π(y) ⊕ y.
    #[inline(always)]
    fn permuted<const N: usize, const M: usize>(
        &self,
        simd: S,
        y: [[S::Vector; M]; N],
    ) -> [[S::Vector; M]; N] {
        let mut hashes = simd.encrypt([&self.permutation; N], y);
        for (hashes, y) in hashes.iter_mut().zip(y) {
            for (hash, y) in hashes.iter_mut().zip(y) {
                *hash = simd.xor(*hash, y);
            }
        }
        hashes
    }
}

impl<S: Simd> Hashing<S> for FixedKey<S> {
    const ALIGNED: bool = false;

    /// Begins at a segment; `start` is the key.
    #[inline(always)]
    fn new(simd: S, start: Block, instance: u32) -> Self {
        Self {
            instance,
            permutation: simd.expand(simd.splat(start)),
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
        self.four_of(simd, number, x)
    }

    #[inline(always)]
    fn two(
        &self,
        simd: S,
        number: u64,
        x: [[S::Vector; 2]; EVALUATED],
    ) -> [[S::Vector; 2]; EVALUATED] {
        self.two_of(simd, number, x)
    }

    #[inline(always)]
    fn four_soon(&mut self, simd: S, number: u64, x: [S::Vector; 4]) -> [S::Vector; 4] {
        let [hashes] = self.four_of(simd, number, [x]);
        hashes
    }

    #[inline(always)]
    fn two_soon(&mut self, simd: S, number: u64, x: [S::Vector; 2]) -> [S::Vector; 2] {
        let [hashes] = self.two_of(simd, number, [x]);
        hashes
    }

    #[inline(always)]
    fn lone<const N: usize, const M: usize>(
        &mut self,
        simd: S,
        number: u64,
        mut x: [[S::Vector; M]; N],
    ) -> [[S::Vector; M]; N] {
        let tweaks: [S::Vector; N] = lone_tweaks(simd, self.instance, number);
        for (x, tweak) in x.iter_mut().zip(tweaks) {
            for x in x {
                *x = simd.xor(simd.sigma(*x), tweak);
            }
        }
        self.permuted(simd, x)
    }
}

/// Gates whose keys [`Rekeyed`] expands ahead, in vectors.
const AHEAD: usize = 2;

/// Vectors of keys of lone gates that [`Rekeyed`] expands ahead.
const LONE_AHEAD: usize = 4;

/// The re-keyed hash.
///
/// Keys do not depend on labels: where few gates are ready at once, those of the next gates are
/// expanded beforehand, so that a chain of gates waits for the cipher alone.
pub(super) struct Rekeyed<S: Simd> {
    start: S::Vector,
    instance: u32,
    /// The first gate whose keys are in `schedules`, a multiple of the lanes.
    ahead: u64,
    /// Keys of both halves of [`AHEAD`] vectors of gates.
    schedules: [S::Schedule; 2 * AHEAD],
    /// The first gate whose keys are in `lone`.
    lone_ahead: u64,
    /// Keys of gates that are alone, the pair of each.
    lone: [S::Schedule; LONE_AHEAD],
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

    /// The expanded keys of both halves of the vector of gates from `number` on.
    #[inline(always)]
    fn expanded(&mut self, simd: S, number: u64) -> [&S::Schedule; 2] {
        let mut vector = (number.wrapping_sub(self.ahead) / S::LANES as u64) as usize;
        if vector >= AHEAD {
            let [[a, b], [c, d]] = self.keys(simd, number);
            simd.expand_four([a, b, c, d], &mut self.schedules);
            self.ahead = number;
            vector = 0;
        }
        let [a, b, c, d] = &self.schedules;
        if vector == 0 { [a, b] } else { [c, d] }
    }

    /// Where in `lone` the `N` expanded vectors of keys of gate `number` begin.
    #[inline(always)]
    fn expanded_lone<const N: usize>(&mut self, simd: S, number: u64) -> usize {
        let gates = LONE_AHEAD / N;
        let mut gate = number.wrapping_sub(self.lone_ahead) as usize;
        if gate >= gates {
            let mut keys = [self.start; LONE_AHEAD];
            for (n, keys) in keys.chunks_exact_mut(N).enumerate() {
                let tweaks: [S::Vector; N] =
                    lone_tweaks(simd, self.instance, number.wrapping_add(n as u64));
                for (key, tweak) in keys.iter_mut().zip(tweaks) {
                    *key = simd.xor(*key, tweak);
                }
            }
            simd.expand_four(keys, &mut self.lone);
            self.lone_ahead = number;
            gate = 0;
        }
        N * gate
    }
}

impl<S: Simd> Hashing<S> for Rekeyed<S> {
    const ALIGNED: bool = true;

    #[inline(always)]
    fn new(simd: S, start: Block, instance: u32) -> Self {
        Self {
            start: simd.splat(start),
            instance,
            // No gate has this number, so that the first one finds no keys.
            ahead: u64::MAX / 2,
            schedules: [simd.splat_schedule(&[Block::ZERO; 11]); 2 * AHEAD],
            lone_ahead: u64::MAX / 2,
            lone: [simd.splat_schedule(&[Block::ZERO; 11]); LONE_AHEAD],
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
        let [[[a0, a1], [b0, b1], [c0, c1], [d0, d1]]] =
            hash::rekeyed(simd, [[k0, k1, k2, k3]], [halves]);
        [[a0, a1, b0, b1], [c0, c1, d0, d1]]
    }

    #[inline(always)]
    fn two(
        &self,
        simd: S,
        number: u64,
        x: [[S::Vector; 2]; EVALUATED],
    ) -> [[S::Vector; 2]; EVALUATED] {
        let [[k0, k1], [k2, k3], [k4, k5], [k6, k7]] = self.keys(simd, number);
        let [low, high] = [[x[0], x[1]], [x[2], x[3]]].map(|[[a, b], [c, d]]| [[a], [b], [c], [d]]);
        let keys = [[k0, k1, k2, k3], [k4, k5, k6, k7]];
        let [low, high] = hash::rekeyed(simd, keys, [low, high]);
        let [[[a], [b], [c], [d]], [[e], [f], [g], [h]]] = [low, high];
        [[a, b], [c, d], [e, f], [g, h]]
    }

    #[inline(always)]
    fn four_soon(&mut self, simd: S, number: u64, x: [S::Vector; 4]) -> [S::Vector; 4] {
        let [a0, a1, b0, b1] = x;
        let keys = self.expanded(simd, number);
        let [[a0, a1], [b0, b1]] = hash::rekeyed_expanded(simd, keys, [[a0, a1], [b0, b1]]);
        [a0, a1, b0, b1]
    }

    #[inline(always)]
    fn two_soon(&mut self, simd: S, number: u64, x: [S::Vector; 2]) -> [S::Vector; 2] {
        let keys = self.expanded(simd, number);
        let [[a], [b]] = hash::rekeyed_expanded(simd, keys, [[x[0]], [x[1]]]);
        [a, b]
    }

    #[inline(always)]
    fn lone<const N: usize, const M: usize>(
        &mut self,
        simd: S,
        number: u64,
        x: [[S::Vector; M]; N],
    ) -> [[S::Vector; M]; N] {
        let first = self.expanded_lone::<N>(simd, number);
        let mut schedules = [&self.lone[first]; N];
        for (v, schedule) in schedules.iter_mut().enumerate() {
            *schedule = &self.lone[first + v];
        }
        hash::rekeyed_expanded(simd, schedules, x)
    }
}
