//! Several garblings of one program side by side: a vector holds one gate of several of them.
//!
//! A small component has few AND gates that do not wait for each other, so that vectors over its
//! gates stay empty and the cipher waits. With garblings in the lanes every vector is full, whatever
//! the component's shape, and labels of a slot lie together. Each garbling has a start point of its
//! own, and so each lane its keys. The bytes are those of one garbling after the other.

use tacit_circuit::{NEGATED, Output, Program};
use tacit_kernels::{Block, Construction, Kernel, Simd, Tweak, hash};
use zeroize::{Zeroize, Zeroizing};

use super::hashing::{GARBLED, MAX_LANES, first_half};
use super::{AND_BYTES, HalfGates};
use crate::{Garbler, WholeGarbling};

/// Most garblings that share a walk: vectors enough to hide the cipher's latency.
const MOST: usize = GARBLED * MAX_LANES;

/// AND gates a batch, on average, below which a program is narrow. Above, its own gates fill the
/// vectors.
const NARROW: usize = 8;

/// Slots up to which the labels of all lanes stay in the second-level cache.
const MOST_SLOTS: usize = 2048;

/// Whether garblings of `program` are faster side by side than one after the other.
fn is_worth_it(program: &Program) -> bool {
    let narrow = program.ands().len() < NARROW * program.batches().len();
    narrow && program.slots() <= MOST_SLOTS
}

/// Garbles `program` with each of `garblings`, side by side where that is faster.
pub(super) fn garble(
    scheme: HalfGates,
    instance: u32,
    program: &Program,
    garblings: &mut [WholeGarbling<'_, HalfGates>],
) {
    if garblings.len() < 2 || !is_worth_it(program) {
        for one in garblings {
            one.garble(scheme, instance, program);
        }
        return;
    }
    let labels = &mut *Zeroizing::new(vec![Block::ZERO; MOST * program.slots()]);
    for garblings in garblings.chunks_mut(MOST) {
        for one in &mut *garblings {
            one.garbler.begin(instance, program, one.inputs);
            assert_eq!(
                one.tables.len(),
                AND_BYTES * program.ands().len(),
                "tables have room for the program's AND gates"
            );
        }
        let width = scheme.cpu.dispatch(SideBySide {
            construction: scheme.construction,
            instance,
            program,
            labels,
            garblings,
        });
        wipe_stack();
        let mut labels = &labels[..];
        for garblings in garblings.chunks_mut(width) {
            let of_group;
            (of_group, labels) = labels.split_at(width * program.slots());
            take_outputs(program, width, of_group, garblings);
        }
    }
}

/// Overwrites the stack below the caller's frame, where a walk had vectors of Δ and of labels that
/// no register had room for.
#[inline(never)]
fn wipe_stack() {
    let mut below = [0_u8; 16 << 10];
    below.zeroize();
    core::hint::black_box(&below);
}

/// Takes the labels of outputs from those of all lanes to where garblings one after the other would
/// leave them, and these to their end.
fn take_outputs(
    program: &Program,
    width: usize,
    labels: &[Block],
    garblings: &mut [WholeGarbling<'_, HalfGates>],
) {
    for (lane, one) in garblings.iter_mut().enumerate() {
        let slots = one.garbler.slots.as_mut_slice();
        for output in program.outputs() {
            if let Output::Slot { slot, .. } = *output {
                slots[slot as usize] = labels[width * slot as usize + lane];
            }
        }
        one.garbler.skip_to_end(program);
    }
}

/// Garblings that were begun, at most [`MOST`], with room for as many labels in each slot. Returns
/// how many share a walk: a group's labels lie together.
struct SideBySide<'a, 'b> {
    construction: Construction,
    instance: u32,
    program: &'a Program,
    labels: &'a mut [Block],
    garblings: &'a mut [WholeGarbling<'b, HalfGates>],
}

impl Kernel for SideBySide<'_, '_> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> usize {
        let width = GARBLED * S::LANES;
        let mut rest = self.labels;
        for garblings in self.garblings.chunks_mut(width) {
            let labels;
            (labels, rest) = rest.split_at_mut(width * self.program.slots());
            let group = Group {
                instance: self.instance,
                program: self.program,
                labels,
                garblings,
            };
            match self.construction {
                Construction::Rekeyed => group.walk::<S, Rekeyed<S>>(simd),
                _ => group.walk::<S, TwoCall<S>>(simd),
            }
        }
        width
    }
}

/// As many garblings as [`GARBLED`] vectors have lanes, or fewer.
struct Group<'a, 'b> {
    instance: u32,
    program: &'a Program,
    labels: &'a mut [Block],
    garblings: &'a mut [WholeGarbling<'b, HalfGates>],
}

impl Group<'_, '_> {
    #[inline(always)]
    fn walk<S: Simd, H: LaneHash<S>>(self, simd: S) {
        let width = GARBLED * S::LANES;
        let (program, labels) = (self.program, self.labels);
        let mut starts = [Block::ZERO; MOST];
        // Bit 0 of Δ is set in idle lanes too, which does no more than the rest of them.
        let mut deltas = [Block::ONES; MOST];
        for (lane, one) in self.garblings.iter().enumerate() {
            (starts[lane], deltas[lane]) = (one.garbler.start, one.garbler.delta);
            for (slot, zero) in one.inputs.iter().enumerate() {
                labels[width * slot + lane] = *zero;
            }
        }
        let mut hashing = H::new(simd, load(simd, &starts), self.instance);
        let deltas = load(simd, &deltas);
        let (mut xors, mut number) = (program.xors(), 0);
        for batch in program.batches() {
            let these;
            (these, xors) = xors.split_at(batch.xors as usize);
            for gate in these {
                let [a, b, out] = [gate.a, gate.b, gate.out].map(|slot| width * slot as usize);
                let [a, b]: [[S::Vector; GARBLED]; 2] =
                    [a, b].map(|at| load(simd, &labels[at..at + width]));
                let sum = [simd.xor(a[0], b[0]), simd.xor(a[1], b[1])];
                store(simd, sum, &mut labels[out..out + width]);
            }
            let ands = &program.ands()[number..number + batch.ands as usize];
            for gate in ands {
                let [a, b] = [gate.a, gate.b].map(|pin| {
                    let at = width * (pin & !NEGATED) as usize;
                    let zeros = load(simd, &labels[at..at + width]);
                    negated_if(simd, zeros, deltas, pin & NEGATED != 0)
                });
                hashing.take_up(simd, number as u64);
                let (zeros, rows) = garble_gate(simd, &hashing, number as u64, deltas, [a, b]);
                let out = width * gate.out as usize;
                store(simd, zeros, &mut labels[out..out + width]);
                for (one, row) in self.garblings.iter_mut().zip(&rows) {
                    let at = AND_BYTES * number;
                    one.tables[at..at + AND_BYTES].copy_from_slice(row);
                }
                number += 1;
            }
        }
    }
}

/// The first blocks, one a lane.
#[inline(always)]
fn load<S: Simd>(simd: S, blocks: &[Block]) -> [S::Vector; GARBLED] {
    [simd.load(blocks), simd.load(&blocks[S::LANES..])]
}

/// Writes what [`load`] reads.
#[inline(always)]
fn store<S: Simd>(simd: S, vectors: [S::Vector; GARBLED], blocks: &mut [Block]) {
    let [first, second] = vectors;
    simd.store(first, blocks);
    simd.store(second, &mut blocks[S::LANES..]);
}

/// The labels of value 0 of wires, or of their negations if `negated`, which is public.
#[inline(always)]
fn negated_if<S: Simd>(
    simd: S,
    zeros: [S::Vector; GARBLED],
    deltas: [S::Vector; GARBLED],
    negated: bool,
) -> [S::Vector; GARBLED] {
    if !negated {
        return zeros;
    }
    [simd.xor(zeros[0], deltas[0]), simd.xor(zeros[1], deltas[1])]
}

/// Garbles one gate of all lanes: the output's labels of value 0, and the tables by lane.
#[inline(always)]
fn garble_gate<S: Simd, H: LaneHash<S>>(
    simd: S,
    hashing: &H,
    number: u64,
    deltas: [S::Vector; GARBLED],
    [a, b]: [[S::Vector; GARBLED]; 2],
) -> ([S::Vector; GARBLED], [[u8; AND_BYTES]; MOST]) {
    let mut x = [[a[0]; 4]; GARBLED];
    for (n, x) in x.iter_mut().enumerate() {
        let (a, b, delta) = (a[n], b[n], deltas[n]);
        *x = [a, simd.xor(a, delta), b, simd.xor(b, delta)];
    }
    let hashes = hashing.four(simd, number, x);
    let (mut zeros, mut rows) = (a, [[0; AND_BYTES]; MOST]);
    for (n, [h_a0, h_a1, h_b0, h_b1]) in hashes.into_iter().enumerate() {
        let (p_a, p_b) = (simd.lsb_mask(a[n]), simd.lsb_mask(b[n]));
        let t_g = simd.xor(simd.xor(h_a0, h_a1), simd.and(p_b, deltas[n]));
        let both_b = simd.xor(h_b0, h_b1);
        let of_vector = &mut rows[n * S::LANES..(n + 1) * S::LANES];
        simd.store_pairs(t_g, simd.xor(both_b, a[n]), of_vector.as_flattened_mut());
        let w_g = simd.xor(h_a0, simd.and(p_a, t_g));
        let w_e = simd.xor(h_b0, simd.and(p_b, both_b));
        zeros[n] = simd.xor(w_g, w_e);
    }
    (zeros, rows)
}

/// Hashes of one gate's labels in all lanes, each lane with its start point.
trait LaneHash<S: Simd> {
    /// Begins at gate 0.
    fn new(simd: S, starts: [S::Vector; GARBLED], instance: u32) -> Self;

    /// Takes up the keys for gate `number`, the next.
    fn take_up(&mut self, simd: S, number: u64);

    /// Hashes of W_a^0, W_a^1, W_b^0, W_b^1.
    fn four(&self, simd: S, number: u64, x: [[S::Vector; 4]; GARBLED])
    -> [[S::Vector; 4]; GARBLED];
}

/// The tweaks of both halves of a gate.
fn halves(instance: u32, number: u64) -> [Tweak; 2] {
    let first = first_half(instance, number);
    [first, Tweak { a: 1, ..first }]
}

struct TwoCall<S: Simd> {
    starts: [S::Vector; GARBLED],
    instance: u32,
    permutations: [S::Schedule; GARBLED],
}

impl<S: Simd> LaneHash<S> for TwoCall<S> {
    #[inline(always)]
    fn new(simd: S, starts: [S::Vector; GARBLED], instance: u32) -> Self {
        Self {
            starts,
            instance,
            permutations: [simd.splat_schedule(&[Block::ZERO; 11]); GARBLED],
        }
    }

    #[inline(always)]
    fn take_up(&mut self, simd: S, number: u64) {
        if number.is_multiple_of(1 << hash::EPOCH_BITS) {
            let epoch = hash::epoch_key(Block::ZERO, first_half(self.instance, number));
            let epoch = simd.splat(epoch);
            for (permutation, start) in self.permutations.iter_mut().zip(self.starts) {
                *permutation = simd.expand(simd.xor(start, epoch));
            }
        }
    }

    #[inline(always)]
    fn four(
        &self,
        simd: S,
        number: u64,
        x: [[S::Vector; 4]; GARBLED],
    ) -> [[S::Vector; 4]; GARBLED] {
        let [first, second] = halves(self.instance, number).map(|i| simd.splat(i.to_block()));
        let tweaks = [[first, first, second, second]; GARBLED];
        hash::two_call_each(simd, self.permutations.each_ref(), tweaks, x)
    }
}

struct Rekeyed<S: Simd> {
    starts: [S::Vector; GARBLED],
    instance: u32,
}

impl<S: Simd> LaneHash<S> for Rekeyed<S> {
    #[inline(always)]
    fn new(_: S, starts: [S::Vector; GARBLED], instance: u32) -> Self {
        Self { starts, instance }
    }

    #[inline(always)]
    fn take_up(&mut self, _: S, _: u64) {}

    #[inline(always)]
    fn four(
        &self,
        simd: S,
        number: u64,
        x: [[S::Vector; 4]; GARBLED],
    ) -> [[S::Vector; 4]; GARBLED] {
        let [first, second] = halves(self.instance, number).map(|i| simd.splat(i.to_block()));
        let [s, t] = self.starts;
        let keys = [(s, first), (s, second), (t, first), (t, second)];
        let keys = keys.map(|(start, tweak)| simd.xor(start, tweak));
        let [[a0, a1, b0, b1], [c0, c1, d0, d1]] = x;
        let labels = [[a0, a1], [b0, b1], [c0, c1], [d0, d1]];
        let [[[a0, a1], [b0, b1], [c0, c1], [d0, d1]]] = hash::rekeyed(simd, [keys], [labels]);
        [[a0, a1, b0, b1], [c0, c1, d0, d1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn small_components_share_vectors_and_wide_ones_do_not() {
        let program = |name| {
            let circuit = tacit_circuit::library::find(name, &BTreeMap::new());
            Program::compile(&circuit.expect("the library has it"))
        };
        assert!(is_worth_it(&program("adder")));
        assert!(!is_worth_it(&program("aes-128")));
    }
}
