//! Several garblings of one program side by side: a vector holds the same gate of several
//! garblings.
//!
//! A small component has few AND gates that do not wait for each other, so vectors over its gates
//! are mostly empty and the cipher waits. With one garbling per lane every vector is full for
//! every shape of component, and the labels of a slot are next to each other. Each garbling has its
//! own start point, so each lane has its own keys. The bytes are the same as those of one garbling
//! after the other.

use tacit_circuit::{NEGATED, Output, Program};
use tacit_kernels::{Block, Construction, Kernel, MAX_LANES, Simd};
use zeroize::Zeroizing;

use super::{AND_BYTES, HalfGates, garble_gate};
use crate::WholeGarbling;
use crate::hashing::{Hashing, InstancesInLanes, Rekeyed, TwoCall};

/// The vectors of garblings that share a walk: with both inputs of a gate and both labels of each,
/// eight labels are in flight.
const GARBLED: usize = 2;

/// The most garblings that share a walk: enough vectors to hide the cipher's latency.
const MOST: usize = GARBLED * MAX_LANES;

/// A program is narrow if its batches have fewer AND gates than this on average. Otherwise its own
/// gates fill the vectors.
const NARROW: usize = 8;

/// The most slots for which the labels of all lanes fit into the second-level cache.
const MOST_SLOTS: usize = 2048;

/// Returns how many of `count` garblings of `program` are faster side by side, in vectors of
/// `lanes`. The others are faster one after the other.
///
/// All garblings of a narrow program are. Those of other programs gain only by XOR gates, of which
/// one serves all lanes, and lose by idle lanes. So they share the widest vectors, and fill them.
fn count_together(count: usize, program: &Program, lanes: usize) -> usize {
    let narrow = program.ands().len() < NARROW * program.batches().len();
    if count < 2 || program.slots() > MOST_SLOTS {
        0
    } else if narrow {
        count
    } else if lanes == MAX_LANES {
        count - count % MOST
    } else {
        0
    }
}

/// Garbles `program` with each of `garblings`, side by side if that is faster.
pub(super) fn garble(
    scheme: HalfGates,
    instance: u32,
    program: &Program,
    garblings: &mut [WholeGarbling<'_, HalfGates>],
) {
    let together = count_together(garblings.len(), program, scheme.cpu.dispatch(Lanes));
    let (garblings, alone) = garblings.split_at_mut(together);
    for one in alone {
        one.garble(scheme, instance, program);
    }
    if garblings.is_empty() {
        return;
    }
    let labels = &mut *Zeroizing::new(vec![Block::ZERO; MOST * program.slots()]);
    for garblings in garblings.chunks_mut(MOST) {
        for one in &*garblings {
            assert_eq!(
                one.inputs.len(),
                program.inputs(),
                "a program is begun with as many inputs as it has"
            );
            assert_eq!(
                one.tables.len(),
                AND_BYTES * program.ands().len(),
                "tables have room for the program's AND gates"
            );
        }
        let width = scheme.cpu.dispatch_and_wipe(SideBySide {
            construction: scheme.ands.construction,
            instance,
            program,
            labels,
            garblings,
        });
        let mut labels = &labels[..];
        for garblings in garblings.chunks_mut(width) {
            let of_group;
            (of_group, labels) = labels.split_at(width * program.slots());
            take_outputs(program, width, of_group, garblings);
        }
    }
}

/// The lanes of the vectors that [`SideBySide`] takes.
struct Lanes;

impl Kernel for Lanes {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, _simd: S) -> usize {
        S::LANES
    }
}

/// Gives the labels of outputs, which are among those of all lanes, to their garblers, and advances
/// these to their end.
fn take_outputs(
    program: &Program,
    width: usize,
    labels: &[Block],
    garblings: &mut [WholeGarbling<'_, HalfGates>],
) {
    for (lane, one) in garblings.iter_mut().enumerate() {
        let outputs = program.outputs().iter().map(|output| match *output {
            Output::Slot { slot, .. } => labels[width * slot as usize + lane],
            Output::Constant(_) => Block::ZERO,
        });
        one.garbler.skip_to_end(program, outputs);
    }
}

/// Garblings, at most [`MOST`], with room for as many labels in each slot. The result is
/// the number that share a walk: a group's labels are next to each other.
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
                program: self.program,
                labels,
                garblings,
            };
            let starts = group.starts(simd);
            match self.construction {
                Construction::Rekeyed => {
                    group.walk(simd, Rekeyed::new(simd, starts, self.instance));
                }
                _ => group.walk(simd, TwoCall::new(simd, starts, self.instance)),
            }
        }
        width
    }
}

/// At most as many garblings as [`GARBLED`] vectors have lanes.
struct Group<'a, 'b> {
    program: &'a Program,
    labels: &'a mut [Block],
    garblings: &'a mut [WholeGarbling<'b, HalfGates>],
}

impl Group<'_, '_> {
    /// Returns the garblings' start points, one per lane.
    #[inline(always)]
    fn starts<S: Simd>(&self, simd: S) -> [S::Vector; GARBLED] {
        let mut starts = [Block::ZERO; MOST];
        for (start, one) in starts.iter_mut().zip(&*self.garblings) {
            *start = one.garbler.start;
        }
        load(simd, &starts)
    }

    #[inline(always)]
    fn walk<S: Simd, H: Hashing<S>>(self, simd: S, mut hashing: H) {
        let width = GARBLED * S::LANES;
        let (program, labels) = (self.program, self.labels);
        // Bit 0 of Δ is set in idle lanes too, which is harmless.
        let mut deltas = Zeroizing::new([Block::ONES; MOST]);
        for (lane, one) in self.garblings.iter().enumerate() {
            deltas[lane] = one.garbler.delta;
            for (slot, zero) in one.inputs.iter().enumerate() {
                labels[width * slot + lane] = *zero;
            }
        }
        let deltas = load(simd, &*deltas);
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
                hashing.keys_for(simd, number as u64);
                let (zeros, rows) = garble_gates(simd, &mut hashing, number as u64, deltas, [a, b]);
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

/// Loads the first blocks, one per lane.
#[inline(always)]
fn load<S: Simd>(simd: S, blocks: &[Block]) -> [S::Vector; GARBLED] {
    [simd.load(blocks), simd.load(&blocks[S::LANES..])]
}

/// Writes the blocks that [`load`] reads.
#[inline(always)]
fn store<S: Simd>(simd: S, vectors: [S::Vector; GARBLED], blocks: &mut [Block]) {
    let [first, second] = vectors;
    simd.store(first, blocks);
    simd.store(second, &mut blocks[S::LANES..]);
}

/// Returns the labels of value 0 of wires, or of their negations if `negated`, which is public.
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

/// Garbles one gate of all lanes. Returns the output's labels of value 0, and the tables by lane.
#[inline(always)]
fn garble_gates<S: Simd, H: Hashing<S>>(
    simd: S,
    hashing: &mut H,
    number: u64,
    deltas: [S::Vector; GARBLED],
    [a, b]: [[S::Vector; GARBLED]; 2],
) -> ([S::Vector; GARBLED], [[u8; AND_BYTES]; MOST]) {
    let mut x = [[a[0]; 2]; 2 * GARBLED];
    for (n, x) in x.chunks_exact_mut(2).enumerate() {
        x[0] = [a[n], simd.xor(a[n], deltas[n])];
        x[1] = [b[n], simd.xor(b[n], deltas[n])];
    }
    let hashes = hashing.hash::<InstancesInLanes, { 2 * GARBLED }, 2>(simd, number, x);
    let (mut zeros, mut rows) = (a, [[0; AND_BYTES]; MOST]);
    for (n, hashes) in hashes.as_chunks::<2>().0.iter().enumerate() {
        let (t_g, t_e);
        ([t_g, t_e], zeros[n]) = garble_gate(simd, deltas[n], [a[n], b[n]], *hashes);
        let of_vector = &mut rows[n * S::LANES..(n + 1) * S::LANES];
        simd.store_pairs(t_g, t_e, of_vector.as_flattened_mut());
    }
    (zeros, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn narrow_programs_share_vectors_and_others_only_fill_them() {
        let program = |name| {
            let circuit = tacit_components::library::find(name, &BTreeMap::new());
            Program::compile(&circuit.expect("the library has it"))
        };
        let (narrow, wide) = (program("adder"), program("aes-128"));
        for (count, lanes, expected) in [(1, 4, 0), (2, 4, 2), (3, 1, 3), (9, 2, 9)] {
            assert_eq!(count_together(count, &narrow, lanes), expected);
        }
        for (count, lanes, expected) in [(7, 4, 0), (8, 4, 8), (23, 4, 16), (16, 2, 0)] {
            assert_eq!(count_together(count, &wide, lanes), expected);
        }
    }
}
