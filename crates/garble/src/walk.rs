//! The walk through a segment, for any rule for AND gates and for either party.
//!
//! A scheme with free XOR is a *rule* for AND gates ([`AndRule`]), one for each party. It defines
//! the size of a gate's table, the labels that are hashed, and their use. The walk brings gates to
//! the rule in one of two layouts:
//!
//! - *gates in lanes*: a vector holds one input of several gates, one gate per lane. A step has
//!   several vectors, so that the cipher always has independent work. The rest of a batch is padded
//!   with gates on slots of their own.
//! - *halves in lanes*: a gate that is alone in its batch, for rules that want it ([`recent`]).
//!
//! A third layout, instances in lanes, belongs to half-gates (`half_gates/side_by_side.rs`).

mod gates;
mod recent;
mod rows;

pub(crate) use gates::{Gates, Slots};
pub(crate) use rows::Rows;

#[cfg(test)]
pub(crate) use gates::length_for;
pub(crate) use recent::{half_of_lane, pair};

use tacit_circuit::{AndGate, NEGATED};
use tacit_kernels::{MAX_LANES, Simd, SlotView, prefetch_beyond};

use gates::{fill_up, xor_gates};
use recent::Recent;

/// One party's operation on AND gates whose tables have `BYTES` bytes.
///
/// A step of the walk reads labels, hashes them and finishes the gates. `N` is the number of
/// vectors of labels with their own tweaks that a step hashes: for each vector of gates, as many as
/// the rule hashes of a gate.
pub(crate) trait AndRule<S: Simd, const BYTES: usize> {
    /// The tables, to be written or to be read.
    type Rows<'t>: Rows<'t, BYTES>;
    /// The values that a step reads, and those that it may compute from them before the hashes.
    type Labels<const N: usize>: Copy;
    /// The hashes of a step.
    type Hashes<const N: usize>;

    /// Whether a gate's lane must be its number modulo the lanes, because keys are expanded for a
    /// whole vector of gates.
    const ALIGNED: bool;
    /// Whether the labels of a step are read before the previous step is finished, so that neither
    /// waits for the other. No gate of a batch reads a slot that another one writes.
    const PIPELINED: bool;
    /// Whether gates that are alone in their batch go to [`AndRule::lone_gate_output`].
    const LONE: bool;

    /// Loads data for gate `number` other than its labels, such as keys. Returns the number of
    /// gates from it on for which that is sufficient.
    fn load_keys(&mut self, simd: S, number: u64) -> usize;

    /// Reads the labels of the gates from `number` on.
    fn read<const N: usize>(
        &self,
        simd: S,
        gates: &[AndGate],
        slots: &SlotView<'_>,
    ) -> Self::Labels<N>;

    /// Hashes these labels.
    fn hash<const N: usize>(
        &mut self,
        simd: S,
        number: u64,
        labels: &Self::Labels<N>,
    ) -> Self::Hashes<N>;

    /// Writes the output labels, and reads or writes the tables.
    #[expect(clippy::too_many_arguments, reason = "a step has that many parts")]
    fn finish<const N: usize>(
        &self,
        simd: S,
        number: u64,
        labels: &Self::Labels<N>,
        hashes: Self::Hashes<N>,
        gates: &[AndGate],
        slots: &mut SlotView<'_>,
        rows: Self::Rows<'_>,
    );

    /// Returns the output's label of a gate with these input labels before negations, in every
    /// lane, if [`AndRule::LONE`].
    fn lone_gate_output(
        &mut self,
        _simd: S,
        _number: u64,
        _gate: AndGate,
        _labels: [S::Vector; 2],
        _rows: Self::Rows<'_>,
    ) -> S::Vector {
        unreachable!("this rule takes no gate alone")
    }
}

/// Walks through a segment. A gate has `PARTS` hashed inputs, and a whole step has `WIDE` vectors
/// of them and so at most `STEP` gates.
///
/// # Panics
///
/// If the number of `rows` is not that of the segment's AND gates.
#[inline(always)]
pub(crate) fn walk<
    S,
    R,
    const BYTES: usize,
    const PARTS: usize,
    const WIDE: usize,
    const STEP: usize,
>(
    simd: S,
    rule: &mut R,
    mut gates: Gates<'_>,
    slots: &mut SlotView<'_>,
    mut rows: R::Rows<'_>,
) where
    S: Simd,
    R: AndRule<S, BYTES>,
{
    const { assert!(STEP == WIDE / PARTS * MAX_LANES) };
    assert_eq!(
        rows.count(),
        gates.ands.len(),
        "a table for each AND gate of the segment"
    );
    let mut recent = Recent::none(simd);
    let mut number = gates.first_and;
    for batch in gates.batches {
        let (xors, mut ands);
        (xors, gates.xors) = gates.xors.split_at(batch.xors as usize);
        (ands, gates.ands) = gates.ands.split_at(batch.ands as usize);
        if R::LONE
            && let [gate] = *ands
        {
            recent.xor_gates(simd, slots, xors);
            rule.load_keys(simd, number);
            let labels = [
                recent.read(simd, slots, gate.a & !NEGATED),
                recent.read(simd, slots, gate.b & !NEGATED),
            ];
            let out = rule.lone_gate_output(simd, number, gate, labels, rows.take(1));
            recent.write(simd, slots, gate.out, out);
            number += 1;
            continue;
        }
        recent = Recent::none(simd);
        xor_gates(slots, xors);
        while !ands.is_empty() {
            let count = ands.len().min(rule.load_keys(simd, number));
            let now;
            (now, ands) = ands.split_at(count);
            let rows = rows.take(count);
            run::<S, R, BYTES, PARTS, WIDE, STEP>(simd, rule, number, now, slots, rows);
            number += count as u64;
        }
    }
}

/// Runs AND gates whose keys are loaded, from gate `number` on: as many whole steps as there are,
/// and then the rest in one step, or one vector at a time.
#[inline(always)]
fn run<S, R, const BYTES: usize, const PARTS: usize, const WIDE: usize, const STEP: usize>(
    simd: S,
    rule: &mut R,
    mut number: u64,
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    mut rows: R::Rows<'_>,
) where
    S: Simd,
    R: AndRule<S, BYTES>,
{
    let step = WIDE / PARTS * S::LANES;
    let (whole, mut left) = gates.split_at(gates.len() - gates.len() % step);
    let these = rows.take(whole.len());
    steps::<S, R, BYTES, WIDE>(simd, rule, number, step, whole, slots, these);
    number += whole.len() as u64;
    if !R::ALIGNED && left.len() > S::LANES {
        let filled = fill_up::<STEP>(left, 0, slots);
        let mut own = [[0; BYTES]; STEP];
        rows.copy_in(&mut own);
        let own_rows = R::Rows::of(&mut own[..step]);
        one_step::<S, R, BYTES, WIDE>(simd, rule, number, &filled[..step], slots, own_rows);
        rows.copy_out(&own);
        return;
    }
    while !left.is_empty() {
        let first = if R::ALIGNED {
            number as usize % S::LANES
        } else {
            0
        };
        let count = left.len().min(S::LANES - first);
        let now;
        (now, left) = left.split_at(count);
        let filled = fill_up::<MAX_LANES>(now, first, slots);
        let mut own = [[0; BYTES]; MAX_LANES];
        let these = rows.take(count);
        these.copy_in(&mut own[first..]);
        let own_rows = R::Rows::of(&mut own[..S::LANES]);
        let lane_0 = number - first as u64;
        one_step::<S, R, BYTES, PARTS>(simd, rule, lane_0, &filled[..S::LANES], slots, own_rows);
        these.copy_out(&own[first..]);
        number += count as u64;
    }
}

/// Runs whole steps of `step` gates, from gate `number` on.
#[inline(always)]
fn steps<S, R, const BYTES: usize, const N: usize>(
    simd: S,
    rule: &mut R,
    mut number: u64,
    step: usize,
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    rows: R::Rows<'_>,
) where
    S: Simd,
    R: AndRule<S, BYTES>,
{
    let mut steps = gates.chunks_exact(step).zip(rows.chunks(step));
    if !R::PIPELINED {
        for (gates, rows) in steps {
            prefetch_beyond(gates);
            rows.prefetch();
            one_step::<S, R, BYTES, N>(simd, rule, number, gates, slots, rows);
            number += step as u64;
        }
        return;
    }
    let Some(mut now) = steps.next() else {
        return;
    };
    let mut labels = rule.read::<N>(simd, now.0, slots);
    for next in steps {
        prefetch_beyond(next.0);
        next.1.prefetch();
        let hashes = rule.hash(simd, number, &labels);
        let read = rule.read::<N>(simd, next.0, slots);
        rule.finish(simd, number, &labels, hashes, now.0, slots, now.1);
        (labels, now) = (read, next);
        number += step as u64;
    }
    let hashes = rule.hash(simd, number, &labels);
    rule.finish(simd, number, &labels, hashes, now.0, slots, now.1);
}

#[inline(always)]
fn one_step<S, R, const BYTES: usize, const N: usize>(
    simd: S,
    rule: &mut R,
    number: u64,
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    rows: R::Rows<'_>,
) where
    S: Simd,
    R: AndRule<S, BYTES>,
{
    let labels = rule.read::<N>(simd, gates, slots);
    let hashes = rule.hash(simd, number, &labels);
    rule.finish(simd, number, &labels, hashes, gates, slots, rows);
}
