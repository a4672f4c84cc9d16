//! The garbler, which has both labels of each wire.

use core::marker::PhantomData;

use subtle::Choice;
use tacit_circuit::{AndGate, Output, Program, XorGate, XorLevel};
use tacit_kernels::{Block, Cpu, Kernel, KeyedPair, MAX_LANES, Simd, SlotView, Use};
use zeroize::Zeroizing;

use super::frame::{Frame, blocks_for};
use super::{AndRows, Gates, XorRows, bits_bytes, cot_label};
use crate::prf_calls::{Coins, KEY, LabelPair, Points, TABLES, decoding};
use crate::{Garbler, StartPoint};

/// The number of labels that the garbler has of a wire.
const LABELS: usize = 2;
/// The most slots of a program whose round keys are kept: at 384 bytes per slot they fit into the
/// second-level cache.
const MOST_KEPT: usize = 1024;
/// The garbler of schemes without a global offset.
pub struct GlnpGarbler<G> {
    cpu: Cpu,
    points: Points,
    delta: Zeroizing<Block>,
    coins: Coins,
    /// The number of wires that were made around an active label.
    active_wires: u64,
    /// The next segment.
    segment: usize,
    /// Two blocks per slot, in the form of [`LabelPair::to_slot`], of [`blocks_for`] slots.
    slots: Zeroizing<Vec<Block>>,
    /// The labels with their round keys, if these are kept. They then replace `slots`; otherwise
    /// this is empty.
    kept: Zeroizing<Vec<KeyedPair>>,
    /// Room for the random blocks of a batch's gates of one kind, and for two incomplete vectors.
    random: Zeroizing<Vec<Block>>,
    gates: PhantomData<fn() -> G>,
}

impl<G: Gates> GlnpGarbler<G> {
    pub(super) fn new(cpu: Cpu, seed: [u8; 32], start: StartPoint, delta: Block) -> Self {
        let seed = Zeroizing::new(seed);
        let most = if G::Xor::COINS {
            Program::MAX_SEGMENT_XORS
        } else {
            Program::MAX_BATCH_ANDS
        };
        Self {
            cpu,
            points: Points { start, instance: 0 },
            delta: Zeroizing::new(delta),
            coins: Coins::new(cpu, &seed),
            active_wires: 0,
            segment: 0,
            slots: Zeroizing::default(),
            kept: Zeroizing::default(),
            random: Zeroizing::new(vec![Block::ZERO; most + 2 * MAX_LANES]),
            gates: PhantomData,
        }
    }

    /// Implements [`Gates::garble_segment`].
    pub(crate) fn garble_next(&mut self, program: &Program, segment: usize, tables: &mut [u8]) {
        assert_eq!(
            segment, self.segment,
            "segments are garbled in order, each once"
        );
        self.segment += 1;
        let segment = &program.segments()[segment];
        let at_end = tables.len().checked_sub(bits_bytes::<G>(segment));
        let (mut tables, bits) = tables.split_at_mut(at_end.expect(TABLES));
        bits.fill(0);
        let (mut xor, mut and) = (segment.xors.start, segment.ands.start);
        for batch in segment.batches.clone() {
            let levels = program.xor_levels();
            let (xors, ands) = {
                let batch = program.batches()[batch];
                (batch.xors as usize, batch.ands as usize)
            };
            let instance = self.points.instance;
            if G::Xor::COINS {
                let random = &mut self.random[..xors];
                self.coins.draw(Use::Xor, instance, xor as u64, random);
            }
            self.cpu.dispatch(Xors::<G> {
                points: self.points,
                slots: &mut self.slots,
                kept: &mut self.kept,
                first: xor,
                gates: &levels.gates()[xor..xor + xors],
                levels: levels.levels(batch),
                random: &self.random,
                tables: tables.split_off_mut(..G::Xor::BYTES * xors).expect(TABLES),
                scheme: PhantomData,
            });
            let random = &mut self.random[..ands];
            self.coins.draw(Use::And, instance, and as u64, random);
            self.cpu.dispatch(Ands::<G> {
                points: self.points,
                slots: &mut self.slots,
                kept: &mut self.kept,
                first: and,
                gates: &program.ands()[and..and + ands],
                random: &self.random,
                rows: tables.split_off_mut(..G::And::BYTES * ands).expect(TABLES),
                bits,
                at: and - segment.ands.start,
                scheme: PhantomData,
            });
            (xor, and) = (xor + xors, and + ands);
        }
        assert!(tables.is_empty(), "{TABLES}");
    }
}

/// Expands the existing labels.
fn keep(cpu: Cpu, kept: &mut [KeyedPair]) {
    cpu.dispatch(KeepKernel(kept));
}

/// The kernel of [`keep`].
struct KeepKernel<'a>(&'a mut [KeyedPair]);

impl Kernel for KeepKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let kept = &mut SlotView::new(self.0);
        for first in (0..kept.count()).step_by(2 * S::LANES) {
            let slot = |n: usize, lane: usize| first + n * S::LANES + lane;
            let mut labels = [[simd.splat(KEY); 2]; 2];
            for (n, labels) in labels.iter_mut().enumerate() {
                *labels = simd.pairs(kept, |lane| slot(n, lane));
            }
            let mut keys = labels;
            for key in keys.as_flattened_mut() {
                *key = simd.and(*key, simd.splat(KEY));
            }
            simd.keep_pairs(labels, keys, kept, slot);
        }
    }
}

/// Garbles a batch's XOR gates, level by level.
struct Xors<'a, G> {
    points: Points,
    slots: &'a mut [Block],
    kept: &'a mut [KeyedPair],
    first: usize,
    gates: &'a [XorGate],
    levels: &'a [XorLevel],
    random: &'a [Block],
    tables: &'a mut [u8],
    scheme: PhantomData<G>,
}

impl<G: Gates> Kernel for Xors<'_, G> {
    type Output = ();

    fn gains_by_width(&self) -> bool {
        G::Xor::COINS && self.gates.len() > 2 * self.levels.len()
    }

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let mut frame = Frame::new(simd, self.slots, LABELS, self.points, Use::Xor, self.first)
            .keeping(self.kept);
        let (mut gates, mut tables, mut random) = (self.gates, self.tables, self.random);
        for level in self.levels {
            for (private, count) in [(true, level.private), (false, level.shared)] {
                let count = count as usize;
                let gates = gates.split_off(..count).expect("the level's gates");
                let tables = tables.split_off_mut(..G::Xor::BYTES * count).expect(TABLES);
                G::Xor::garble(&mut frame, gates, private, random, tables);
                random = &random[if G::Xor::COINS { count } else { 0 }..];
            }
        }
    }
}

/// Garbles a batch's AND gates.
struct Ands<'a, G> {
    points: Points,
    slots: &'a mut [Block],
    kept: &'a mut [KeyedPair],
    first: usize,
    gates: &'a [AndGate],
    random: &'a [Block],
    rows: &'a mut [u8],
    bits: &'a mut [u8],
    /// The place of the first gate in its segment.
    at: usize,
    scheme: PhantomData<G>,
}

impl<G: Gates> Kernel for Ands<'_, G> {
    type Output = ();

    fn gains_by_width(&self) -> bool {
        self.gates.len() > MAX_LANES
    }

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let mut frame = Frame::new(simd, self.slots, LABELS, self.points, Use::And, self.first)
            .keeping(self.kept);
        G::And::garble(
            &mut frame,
            self.gates,
            self.random,
            self.rows,
            self.bits,
            self.at,
        );
    }
}

impl<G: Gates> Garbler for GlnpGarbler<G> {
    type Wire = LabelPair;

    fn wire_with_active(&mut self, active: Block, bit: bool) -> LabelPair {
        let key = self.coins.one(Use::PublicLabel, 0, self.active_wires);
        self.active_wires += 1;
        LabelPair::with_active(active, Choice::from(u8::from(bit)), key)
    }

    fn wire_from_cot(&self, index: u64, q: Block) -> LabelPair {
        let label = |x: Block| cot_label(self.cpu, self.points.start, index, x);
        // Bit 0 of Δ is one, so the select bits differ.
        LabelPair::new([label(q), label(q ^ *self.delta)])
    }

    fn begin(&mut self, instance: u32, program: &Program, inputs: &[LabelPair]) {
        assert_eq!(
            inputs.len(),
            program.inputs(),
            "one wire for each input of the program"
        );
        self.points.instance = instance;
        self.segment = 0;
        let blocks = blocks_for(program.slots(), LABELS);
        if self.slots.len() < blocks {
            // This is a new vector, since growing the old one would leave labels behind in memory.
            self.slots = Zeroizing::new(vec![Block::ZERO; blocks]);
        }
        for (slot, wire) in self.slots.as_chunks_mut().0.iter_mut().zip(inputs) {
            *slot = wire.to_slot();
        }
        let keeps = G::KEEPS && program.slots() < MOST_KEPT;
        let pairs = if keeps { blocks / LABELS } else { 0 };
        if self.kept.len() != pairs {
            self.kept = Zeroizing::new(vec![KeyedPair::default(); pairs]);
        }
        if keeps {
            for (slot, wire) in self.kept.iter_mut().zip(inputs) {
                *slot = KeyedPair::new(wire.to_slot());
            }
            let expanded = inputs.len().next_power_of_two();
            keep(self.cpu, &mut self.kept[..expanded]);
        }
    }

    fn garble(&mut self, program: &Program, segment: usize, tables: &mut [u8]) {
        G::garble_segment(self, program, segment, tables);
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<LabelPair>) {
        let instance = self.points.instance;
        let slots = self.slots.as_chunks().0;
        let in_slot = |slot: u32| match self.kept.get(slot as usize) {
            Some(kept) => kept.labels(),
            None => slots[slot as usize],
        };
        let wire = |(number, output): (u64, &Output)| match *output {
            Output::Slot { slot, negated } => {
                LabelPair::from_slot(in_slot(slot)).negated_if(negated)
            }
            // The evaluator's label of a constant is zero, because its value is no secret.
            Output::Constant(bit) => {
                let key = self.coins.one(Use::Out, instance, number);
                LabelPair::with_active(Block::ZERO, Choice::from(u8::from(bit)), key)
            }
        };
        outputs.extend((0..).zip(program.outputs()).map(wire));
    }

    fn decoding(&self, first: u64, wires: &[LabelPair], out: &mut Vec<u8>) {
        decoding(self.cpu, self.points, first, wires, out);
    }

    fn label_with_select(&self, wire: &LabelPair, select: bool) -> (Block, bool) {
        wire.with_select(select)
    }
}
