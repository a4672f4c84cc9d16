//! Hashes the input labels of several gates at once, by either construction of
//! [`tacit_kernels::hash`].
//!
//! A vector of labels has one tweak per lane; the labels 0 and 1 of an input have the same one. The
//! [`Layout`] decides the tweaks, and [`Hashing`] decides how they and the start point enter the
//! hash.

use tacit_kernels::{Block, Simd, Tweak, Use, hash};

use crate::walk::half_of_lane;

/// Returns the tweak of input 0 of gate `number`.
fn first_tweak(instance: u32, number: u64) -> Tweak {
    Tweak {
        usage: Use::And,
        instance,
        number,
        a: 0,
        b: 0,
    }
}

/// Returns the difference of the tweak of input `input` of a gate from that of its input 0.
#[inline(always)]
const fn of_input(input: usize) -> Block {
    Block::from_u128((input as u128) << 8)
}

/// The gates and inputs in the lanes of vectors, from gate `number` on.
pub(crate) trait Layout {
    /// The index of this layout's keys among those that are expanded ahead.
    const AHEAD: usize;

    /// Returns the number of gates that one group of keys serves, starting with gate `number`.
    fn gates<S: Simd>() -> u64;

    /// Returns the tweaks of `N` vectors.
    fn tweaks<S: Simd, const N: usize>(simd: S, instance: u32, number: u64) -> [S::Vector; N];
}

/// One gate per lane, and `PARTS` inputs of each vector of gates one after the other.
#[derive(Debug)]
pub(crate) enum GatesInLanes<const PARTS: usize> {}

impl<const PARTS: usize> Layout for GatesInLanes<PARTS> {
    const AHEAD: usize = 0;

    #[inline(always)]
    fn gates<S: Simd>() -> u64 {
        S::LANES as u64
    }

    #[inline(always)]
    fn tweaks<S: Simd, const N: usize>(simd: S, instance: u32, number: u64) -> [S::Vector; N] {
        let mut first = hash::counting_tweaks(simd, first_tweak(instance, number));
        let step = hash::number_step(simd, S::LANES);
        let mut tweaks = [first; N];
        for gates in tweaks.chunks_exact_mut(PARTS) {
            for (input, tweak) in gates.iter_mut().enumerate() {
                *tweak = simd.xor(first, simd.splat(of_input(input)));
            }
            first = simd.add_halves(first, step);
        }
        tweaks
    }
}

/// The two inputs of one gate in the lanes of a pair.
#[derive(Debug)]
pub(crate) enum HalvesInLanes {}

impl Layout for HalvesInLanes {
    const AHEAD: usize = 1;

    #[inline(always)]
    fn gates<S: Simd>() -> u64 {
        1
    }

    #[inline(always)]
    fn tweaks<S: Simd, const N: usize>(simd: S, instance: u32, number: u64) -> [S::Vector; N] {
        let first = simd.splat(first_tweak(instance, number).to_block());
        let halves = [of_input(0), of_input(1)];
        let mut tweaks = [first; N];
        for (v, tweak) in tweaks.iter_mut().enumerate() {
            let half = simd.gather(&halves, |lane| half_of_lane::<S>(v, lane));
            *tweak = simd.xor(*tweak, half);
        }
        tweaks
    }
}

/// The same gate of one instance per lane, and both inputs of each vector of instances one after
/// the other.
#[derive(Debug)]
pub(crate) enum InstancesInLanes {}

impl Layout for InstancesInLanes {
    const AHEAD: usize = 0;

    #[inline(always)]
    fn gates<S: Simd>() -> u64 {
        1
    }

    #[inline(always)]
    fn tweaks<S: Simd, const N: usize>(simd: S, instance: u32, number: u64) -> [S::Vector; N] {
        let first = simd.splat(first_tweak(instance, number).to_block());
        let mut tweaks = [first; N];
        for (n, tweak) in tweaks.iter_mut().enumerate() {
            *tweak = simd.xor(first, simd.splat(of_input(n % 2)));
        }
        tweaks
    }
}

/// Hashes for gates under a start point in each lane. It is the same in all lanes for the gates of
/// one segment.
pub(crate) trait Hashing<S: Simd> {
    /// Whether keys are expanded for a whole vector of gates. A gate's lane must then be its number
    /// modulo the lanes.
    const ALIGNED: bool;

    /// Prepares the keys for gate `number`. Returns the number of gates from it on that they serve.
    fn keys_for(&mut self, simd: S, number: u64) -> usize;

    /// Hashes `M` labels under each of `N` vectors of tweaks, which the layout gives from gate
    /// `number` on.
    fn hash<L: Layout, const N: usize, const M: usize>(
        &mut self,
        simd: S,
        number: u64,
        x: [[S::Vector; M]; N],
    ) -> [[S::Vector; M]; N];
}

/// Returns each of `tweaks` `M` times.
#[inline(always)]
fn each<V: Copy, const N: usize, const M: usize>(tweaks: [V; N]) -> [[V; M]; N] {
    let mut each = [[tweaks[0]; M]; N];
    for (each, tweak) in each.iter_mut().zip(tweaks) {
        *each = [tweak; M];
    }
    each
}

/// The two-call hash, under `K` vectors of start points. Each vector serves an equal share of a
/// call's vectors.
pub(crate) struct TwoCall<S: Simd, const K: usize = 1> {
    starts: [S::Vector; K],
    instance: u32,
    /// The number after the last gate that the permutations serve.
    end: u64,
    permutations: [S::Schedule; K],
}

impl<S: Simd, const K: usize> TwoCall<S, K> {
    /// Returns the hash that starts at these start points.
    #[inline(always)]
    pub(crate) fn new(simd: S, starts: [S::Vector; K], instance: u32) -> Self {
        Self {
            starts,
            instance,
            end: 0,
            permutations: [simd.splat_schedule(&[Block::ZERO; 11]); K],
        }
    }

    #[inline(always)]
    fn permutations<const N: usize>(&self) -> [&S::Schedule; N] {
        let mut each = [&self.permutations[0]; N];
        for (n, permutation) in each.iter_mut().enumerate() {
            *permutation = &self.permutations[n * K / N];
        }
        each
    }

    /// Makes the first of the two calls.
    #[inline(always)]
    pub(crate) fn first_call<const N: usize, const M: usize>(
        &self,
        simd: S,
        x: [[S::Vector; M]; N],
    ) -> [[S::Vector; M]; N] {
        simd.encrypt(self.permutations(), x)
    }

    /// Returns the hashes whose first calls these are. Work between the first and the second calls
    /// keeps the CPU busy while it waits.
    #[inline(always)]
    pub(crate) fn second_call<L: Layout, const N: usize, const M: usize>(
        &self,
        simd: S,
        number: u64,
        inner: [[S::Vector; M]; N],
    ) -> [[S::Vector; M]; N] {
        let tweaks = each(L::tweaks(simd, self.instance, number));
        hash::second_call(simd, self.permutations(), tweaks, inner)
    }
}

impl<S: Simd, const K: usize> Hashing<S> for TwoCall<S, K> {
    const ALIGNED: bool = false;

    #[inline(always)]
    fn keys_for(&mut self, simd: S, number: u64) -> usize {
        if number >= self.end {
            let epoch = hash::epoch_key(Block::ZERO, first_tweak(self.instance, number));
            let epoch = simd.splat(epoch);
            for (permutation, start) in self.permutations.iter_mut().zip(self.starts) {
                *permutation = simd.expand(simd.xor(start, epoch));
            }
            self.end = ((number >> hash::EPOCH_BITS) + 1) << hash::EPOCH_BITS;
        }
        (self.end - number) as usize
    }

    #[inline(always)]
    fn hash<L: Layout, const N: usize, const M: usize>(
        &mut self,
        simd: S,
        number: u64,
        x: [[S::Vector; M]; N],
    ) -> [[S::Vector; M]; N] {
        let inner = self.first_call(simd, x);
        self.second_call::<L, N, M>(simd, number, inner)
    }
}

/// The number of vectors of keys that [`Rekeyed`] expands together.
const TOGETHER: usize = 4;

/// The re-keyed hash, under `K` vectors of start points. Each vector serves an equal share of a
/// call's vectors.
///
/// Keys do not depend on labels. If fewer than [`TOGETHER`] vectors of keys are ready at once, the
/// keys of the next gates are expanded in advance, so that a chain of gates waits only for the
/// cipher.
pub(crate) struct Rekeyed<S: Simd, const K: usize = 1> {
    starts: [S::Vector; K],
    instance: u32,
    /// The keys of gates in lanes, and of halves in lanes.
    ahead: [Ahead<S>; 2],
}

/// Expanded keys.
struct Ahead<S: Simd> {
    /// The first gate that they serve.
    number: u64,
    schedules: [S::Schedule; TOGETHER],
}

impl<S: Simd, const K: usize> Rekeyed<S, K> {
    /// Returns the hash that starts at these start points.
    #[inline(always)]
    pub(crate) fn new(simd: S, starts: [S::Vector; K], instance: u32) -> Self {
        let none = || Ahead {
            // No gate has this number, so the first gate finds no keys.
            number: u64::MAX / 2,
            schedules: [simd.splat_schedule(&[Block::ZERO; 11]); TOGETHER],
        };
        Self {
            starts,
            instance,
            ahead: [none(), none()],
        }
    }

    #[inline(always)]
    fn keys<L: Layout, const N: usize>(&self, simd: S, number: u64) -> [S::Vector; N] {
        let mut keys = L::tweaks(simd, self.instance, number);
        for (n, key) in keys.iter_mut().enumerate() {
            *key = simd.xor(*key, self.starts[n * K / N]);
        }
        keys
    }

    /// Returns the expanded keys of `N` vectors from gate `number` on. Expands further keys ahead
    /// if needed.
    #[inline(always)]
    fn expanded<L: Layout, const N: usize>(&mut self, simd: S, number: u64) -> [&S::Schedule; N] {
        let groups = TOGETHER / N;
        // Truncated to 32 bits, the number of a group far away would look like one that is
        // expanded.
        let group = number.wrapping_sub(self.ahead[L::AHEAD].number) / L::gates::<S>();
        let mut group = usize::try_from(group).unwrap_or(usize::MAX);
        if group >= groups {
            let mut keys = [self.starts[0]; TOGETHER];
            for (n, keys) in keys.chunks_exact_mut(N).enumerate() {
                let number = number.wrapping_add(n as u64 * L::gates::<S>());
                keys.copy_from_slice(&self.keys::<L, N>(simd, number));
            }
            let ahead = &mut self.ahead[L::AHEAD];
            simd.expand_four(keys, &mut ahead.schedules);
            ahead.number = number;
            group = 0;
        }
        let schedules = &self.ahead[L::AHEAD].schedules[N * group..N * (group + 1)];
        let mut each = [&schedules[0]; N];
        for (each, schedule) in each.iter_mut().zip(schedules) {
            *each = schedule;
        }
        each
    }

    /// Returns the hashes of `N` = 4`G` vectors, and expands their keys in the same step.
    #[inline(always)]
    fn on_the_way<L: Layout, const G: usize, const N: usize, const M: usize>(
        &self,
        simd: S,
        number: u64,
        mut x: [[S::Vector; M]; N],
    ) -> [[S::Vector; M]; N] {
        let keys = self.keys::<L, N>(simd, number);
        let (mut fours, mut labels) = ([[keys[0]; TOGETHER]; G], [[x[0]; TOGETHER]; G]);
        fours.as_flattened_mut().copy_from_slice(&keys);
        labels.as_flattened_mut().copy_from_slice(&x);
        let hashes = hash::rekeyed(simd, fours, labels);
        x.copy_from_slice(hashes.as_flattened());
        x
    }
}

impl<S: Simd, const K: usize> Hashing<S> for Rekeyed<S, K> {
    const ALIGNED: bool = true;

    #[inline(always)]
    fn keys_for(&mut self, _simd: S, _number: u64) -> usize {
        usize::MAX
    }

    #[inline(always)]
    fn hash<L: Layout, const N: usize, const M: usize>(
        &mut self,
        simd: S,
        number: u64,
        x: [[S::Vector; M]; N],
    ) -> [[S::Vector; M]; N] {
        match N {
            4 => self.on_the_way::<L, 1, N, M>(simd, number, x),
            8 => self.on_the_way::<L, 2, N, M>(simd, number, x),
            _ => hash::rekeyed_expanded(simd, self.expanded::<L, N>(simd, number), x),
        }
    }
}
