//! The garbler of three halves.

use core::fmt;

use tacit_circuit::{AndGate, Program};
use tacit_kernels::{Block, Cpu, Kernel, Simd, SlotView, Use, prefetch_beyond};
use zeroize::Zeroizing;

use super::{AND_BYTES, C_U, C_V, Z_0, Z_1, Z_2};
use super::{DICE_PER_BLOCK, GARBLED, SECOND_AT, ThreeHalves};
use crate::half_gates::HalfGatesGarbler;
use crate::half_gates::gates::{Gates, fill_up, xor_gates};
use crate::half_gates::hashing::{Hashing, MAX_LANES, TwoCall};
use crate::label_keyed::Coins;
use crate::{Garbler, Scheme, StartPoint};

/// Most gates of one step.
const STEP: usize = GARBLED * MAX_LANES;
/// Most gates whose dice are spread out at once.
const GROUP: usize = DICE_PER_BLOCK as usize;

/// The garbler's half of three halves. A wire is its label of value 0. Wiped when dropped.
pub struct ThreeHalvesGarbler {
    /// Wires, links and decoding are those of half-gates.
    wires: HalfGatesGarbler,
    coins: Coins,
    /// The dice of a segment, [`DICE_PER_BLOCK`] gates a block.
    dice: Zeroizing<Vec<Block>>,
}

impl ThreeHalvesGarbler {
    pub(super) fn new(
        cpu: Cpu,
        seed: &Zeroizing<[u8; 32]>,
        start: StartPoint,
        delta: Block,
    ) -> Self {
        let scheme = ThreeHalves::on(cpu).half_gates();
        Self {
            wires: scheme.garbler([0; 32], start, delta),
            coins: Coins::new(cpu, seed),
            dice: Zeroizing::new(Vec::with_capacity(Self::DICE_BLOCKS)),
        }
    }

    /// Blocks of dice for any segment's gates, which may begin and end within a block's.
    const DICE_BLOCKS: usize = Program::MAX_SEGMENT_ANDS / GROUP + 1;
}

impl Garbler for ThreeHalvesGarbler {
    type Wire = Block;

    fn wire_with_active(&mut self, active: Block, bit: bool) -> Block {
        self.wires.wire_with_active(active, bit)
    }

    fn wire_from_cot(&self, index: u64, q: Block) -> Block {
        self.wires.wire_from_cot(index, q)
    }

    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Block]) {
        self.wires.begin(instance, program, inputs);
    }

    fn garble(&mut self, program: &Program, segment: usize, tables: &mut [u8]) {
        let wires = &mut self.wires;
        wires.enter(segment);
        let gates = Gates::of(program, segment);
        let first_block = gates.first_and / DICE_PER_BLOCK;
        let end = gates.first_and + gates.ands.len() as u64;
        let blocks = end.div_ceil(DICE_PER_BLOCK) - first_block;
        self.dice.resize(blocks as usize, Block::ZERO);
        self.coins
            .draw(Use::And, wires.instance, first_block, &mut self.dice);
        wires.cpu.dispatch(Garble {
            start: wires.start,
            instance: wires.instance,
            delta: wires.delta,
            dice: &self.dice,
            slots: wires.slots.as_mut_slice(),
            gates,
            tables,
        });
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<Block>) {
        self.wires.finish(program, outputs);
    }

    fn decoding(&self, first: u64, wires: &[Block], out: &mut Vec<u8>) {
        self.wires.decoding(first, wires, out);
    }

    fn label_with_select(&self, wire: &Block, select: bool) -> (Block, bool) {
        self.wires.label_with_select(wire, select)
    }

    fn link(&self, start: StartPoint, first: u64, from: &[Block], to: &[Block], out: &mut Vec<u8>) {
        self.wires.link(start, first, from, to, out);
    }
}

impl fmt::Debug for ThreeHalvesGarbler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreeHalvesGarbler({:?})", self.wires.cpu)
    }
}

/// The garbling of one segment.
struct Garble<'a> {
    start: StartPoint,
    instance: u32,
    delta: Block,
    /// The segment's dice, from the block of its first AND gate on.
    dice: &'a [Block],
    slots: &'a mut [Block],
    gates: Gates<'a>,
    tables: &'a mut [u8],
}

impl Kernel for Garble<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self {
            mut gates, dice, ..
        } = self;
        assert_eq!(
            self.tables.len(),
            AND_BYTES * gates.ands.len(),
            "tables have room for the segment's AND gates"
        );
        let (mut tables, _) = self.tables.as_chunks_mut::<AND_BYTES>();
        let slots = &mut SlotView::new(self.slots);
        let mut state = State {
            offset: Offset::new(simd, self.delta),
            hashing: TwoCall::new(simd, self.start, self.instance),
            dice: Zeroizing::new([Block::ZERO; GROUP]),
        };
        let first_block = gates.first_and / DICE_PER_BLOCK;
        let mut number = gates.first_and;
        for batch in gates.batches {
            let xors;
            (xors, gates.xors) = gates.xors.split_at(batch.xors as usize);
            xor_gates(slots, xors);
            let mut ands;
            (ands, gates.ands) = gates.ands.split_at(batch.ands as usize);
            while !ands.is_empty() {
                // No group's gates lie in two blocks of dice, nor in two epochs of the hash.
                let (block, first) = (number / DICE_PER_BLOCK, number % DICE_PER_BLOCK);
                let count = ands.len().min((DICE_PER_BLOCK - first) as usize);
                let (now, rows);
                (now, ands) = ands.split_at(count);
                (rows, tables) = tables.split_at_mut(count);
                state.hashing.keys_for(simd, number);
                let block = dice[(block - first_block) as usize];
                spread_dice(block, first, &mut state.dice[..count]);
                garble_group(simd, &state, number, now, slots, rows);
                number += count as u64;
            }
        }
    }
}

/// The dice of gates from number `first` of a block on, as masks: v in the low half, u in the high.
#[inline(always)]
fn spread_dice(block: Block, first: u64, dice: &mut [Block]) {
    let value = block.to_u128();
    let (v, u) = (value as u64, (value >> 64) as u64);
    for (place, dice) in (first..DICE_PER_BLOCK).zip(dice) {
        let (v, u) = (
            (v >> place & 1).wrapping_neg(),
            (u >> place & 1).wrapping_neg(),
        );
        *dice = Block::from_u128(u128::from(v) | u128::from(u) << 64);
    }
}

/// What stays the same from step to step of a group.
struct State<S: Simd> {
    offset: Offset<S>,
    hashing: TwoCall<S>,
    /// The dice of the group's gates.
    dice: Zeroizing<[Block; GROUP]>,
}

/// Δ and its multiples.
struct Offset<S: Simd> {
    /// Δ.
    one: S::Vector,
    /// ωΔ.
    omega: S::Vector,
}

impl<S: Simd> Offset<S> {
    #[inline(always)]
    fn new(simd: S, delta: Block) -> Self {
        let one = simd.splat(delta);
        Self {
            one,
            omega: simd.xor(one, simd.sigma(one)),
        }
    }
}

/// Garbles AND gates whose dice and keys are at hand, from gate `number` on: as many whole steps
/// as there are, and then what is left.
#[inline(always)]
fn garble_group<S: Simd>(
    simd: S,
    state: &State<S>,
    number: u64,
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &mut [[u8; AND_BYTES]],
) {
    let step = GARBLED * S::LANES;
    let whole = gates.len() - gates.len() % step;
    let (gates, left) = gates.split_at(whole);
    let (tables, left_tables) = tables.split_at_mut(whole);
    let (dice, left_dice) = state.dice.split_at(whole);
    garble_steps::<S, GARBLED>(simd, state, number, gates, dice, slots, tables);
    if left.is_empty() {
        return;
    }
    let filled = fill_up::<STEP>(left, 0, slots);
    let mut rows = [[0; AND_BYTES]; STEP];
    let number = number + whole as u64;
    if left.len() <= S::LANES {
        let (filled, rows) = (&filled[..S::LANES], &mut rows[..S::LANES]);
        garble_steps::<S, 1>(simd, state, number, filled, left_dice, slots, rows);
    } else {
        let (filled, rows) = (&filled[..step], &mut rows[..step]);
        garble_steps::<S, GARBLED>(simd, state, number, filled, left_dice, slots, rows);
    }
    left_tables.copy_from_slice(&rows[..left_tables.len()]);
}

/// Garbles gates in steps of `N` vectors, from gate `number` on.
///
/// The first calls of a step are made before the step before it is finished, so that neither waits
/// for the other. No gate of a batch reads what another one writes, so labels may be read early.
#[inline(always)]
fn garble_steps<S: Simd, const N: usize>(
    simd: S,
    state: &State<S>,
    mut number: u64,
    gates: &[AndGate],
    dice: &[Block],
    slots: &mut SlotView<'_>,
    tables: &mut [[u8; AND_BYTES]],
) {
    let step = N * S::LANES;
    let steps = gates.chunks_exact(step).zip(dice.chunks_exact(step));
    let mut steps = steps.zip(tables.chunks_exact_mut(step));
    let Some(mut now) = steps.next() else {
        return;
    };
    let mut labels = Labels::<S, N>::read(simd, &state.offset, now.0.0, slots);
    let mut inner = state.hashing.first_call(simd, labels.x);
    for next in steps {
        prefetch_beyond(next.0.0);
        prefetch_beyond(&*next.1);
        let hashes = state.hashing.second_call(simd, number, PLACES, inner);
        let read = Labels::<S, N>::read(simd, &state.offset, next.0.0, slots);
        inner = state.hashing.first_call(simd, read.x);
        let ((gates, dice), tables) = now;
        finish_step(
            simd,
            &state.offset,
            &labels,
            hashes,
            dice,
            gates,
            slots,
            tables,
        );
        (labels, now) = (read, next);
        number += step as u64;
    }
    let hashes = state.hashing.second_call(simd, number, PLACES, inner);
    let ((gates, dice), tables) = now;
    finish_step(
        simd,
        &state.offset,
        &labels,
        hashes,
        dice,
        gates,
        slots,
        tables,
    );
}

/// The places of `A_0`, `A_1`, `B_0`, `B_1`, `S_0`, `S_1` in the hash.
const PLACES: [u8; 6] = [0, 0, 1, 1, 2, 2];

/// What a step hashes.
#[derive(Clone, Copy)]
struct Labels<S: Simd, const N: usize> {
    /// `A_0`, `A_1`, `B_0`, `B_1`, `S_0`, `S_1`.
    x: [[S::Vector; 6]; N],
    /// p_a and p_b as masks.
    permute: [[S::Vector; 2]; N],
}

impl<S: Simd, const N: usize> Labels<S, N> {
    #[inline(always)]
    fn read(simd: S, offset: &Offset<S>, gates: &[AndGate], slots: &SlotView<'_>) -> Self {
        let zero = simd.splat(Block::ZERO);
        let (mut x, mut permute) = ([[zero; 6]; N], [[zero; 2]; N]);
        for (n, gates) in gates.chunks_exact(S::LANES).take(N).enumerate() {
            let side = |pin: fn(&AndGate) -> u32| {
                let label = simd.gather(slots, |lane| pin(&gates[lane]) as usize);
                let select = simd.lsb_mask(label);
                // Which of its labels a wire's negation has at select bit 0 is the same.
                let negated = |lane: usize| (pin(&gates[lane]) >> 31) as usize;
                let permute = simd.xor(select, simd.gather(&NEGATIONS, negated));
                (simd.xor(label, simd.and(select, offset.one)), permute)
            };
            let ((a, p_a), (b, p_b)) = (side(|gate| gate.a), side(|gate| gate.b));
            let sum = simd.xor(a, b);
            let other = |label| simd.xor(label, offset.one);
            x[n] = [a, other(a), b, other(b), sum, other(sum)];
            permute[n] = [p_a, p_b];
        }
        Self { x, permute }
    }
}

/// What a pin's negation adds to its permute bit, as masks.
const NEGATIONS: [Block; 2] = [Block::ZERO, Block::ONES];

/// Writes the tables and the output labels of a step's gates.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "a step has that many parts")]
fn finish_step<S: Simd, const N: usize>(
    simd: S,
    offset: &Offset<S>,
    labels: &Labels<S, N>,
    hashes: [[S::Vector; 6]; N],
    dice: &[Block],
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &mut [[u8; AND_BYTES]],
) {
    for (n, hashes) in hashes.into_iter().enumerate() {
        let (from, to) = (n * S::LANES, (n + 1) * S::LANES);
        let dice = simd.load(&dice[from..]);
        let [first, second, label] =
            garble_gates(simd, offset, labels.permute[n], dice, labels.x[n], hashes);
        let (gates, tables) = (&gates[from..to], &mut tables[from..to]);
        simd.scatter(label, slots, |lane| gates[lane].out as usize);
        // What the second has below its control byte falls under the first.
        simd.store_rows(second, tables, SECOND_AT);
        simd.store_rows(first, tables, 0);
    }
}

/// From the permute bits, dice, labels `A_0`, `A_1`, `B_0`, `B_1`, `S_0`, `S_1` and their hashes:
/// `G_0`‖`G_1`, then the control byte below `G_2`, then the output's label of value 0.
///
/// The module's equations, solved for the unknowns, with ω² = ω ⊕ 1.
#[inline(always)]
fn garble_gates<S: Simd>(
    simd: S,
    offset: &Offset<S>,
    [p_a, p_b]: [S::Vector; 2],
    dice: S::Vector,
    [a, _, b, _, _, _]: [S::Vector; 6],
    [h_a0, h_a1, h_b0, h_b1, h_s0, h_s1]: [S::Vector; 6],
) -> [S::Vector; 3] {
    let xor = |a, b| simd.xor(a, b);
    let and = |a, b| simd.and(a, b);
    let xor4 = |a, b, c, d| simd.xor(simd.xor(a, b), simd.xor(c, d));
    let Offset { one, omega } = *offset;
    let halves = |low, high| simd.halves(low, high);
    let (u, v) = (simd.high_twice(dice), simd.low_twice(dice));
    let (p_ab, uv) = (xor(p_a, p_b), xor(u, v));
    let p_ab_uv = xor(p_ab, uv);
    let x = xor(a, simd.sigma(b));
    let x2 = simd.sigma(x);
    let [of_a, of_b, of_s] = [xor(h_a0, h_a1), xor(h_b0, h_b1), xor(h_s0, h_s1)];

    let first = halves(xor(of_a, b), xor(of_b, a));
    let by_p = xor(and(p_ab, x), and(p_a, x2));
    let first = xor4(first, by_p, and(xor(u, p_b), one), and(p_ab_uv, omega));

    let by_p = xor(and(p_b, x), and(p_ab, x2));
    let by_dice = xor(and(p_ab_uv, one), and(xor(v, p_a), omega));
    let second = xor(of_s, simd.low_twice(xor(by_p, by_dice)));

    let label = xor(halves(h_a0, h_b0), simd.high_twice(h_s0));
    let by_dice = xor(and(uv, x), and(u, x2));
    let label = xor(xor(label, by_dice), and(and(p_a, p_b), one));

    // u's in the high half and v's in the low, each where it belongs in the control byte.
    let masks = |a| simd.msb_masks_of_halves(a);
    let bits = |low, high| {
        simd.splat(Block::from_u128(
            1_u128 << (56 + low) | 1_u128 << (120 + high),
        ))
    };
    let constant = xor(halves(h_b0, h_a0), xor(simd.low_twice(h_s0), dice));
    let z_01 = halves(xor(of_b, p_b), xor(of_a, p_a));
    let control = xor(
        and(masks(constant), bits(C_V, C_U)),
        and(masks(z_01), bits(Z_1, Z_0)),
    );
    let z_2 = and(xor(masks(of_s), p_ab), bits(Z_2, Z_2));
    let control = xor(xor(control, simd.swap_halves(control)), z_2);
    [first, halves(control, second), label]
}
