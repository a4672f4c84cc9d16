//! The garbler, which represents a wire by its label of value 0.

use core::fmt;

use subtle::Choice;
use tacit_circuit::{Output, Program};
use tacit_kernels::{Block, Kernel, Simd, TweakableHash, Use};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::{Ands, FreeXor, Secrets, Segment, output_tag, output_tweak};
use crate::link::offset_links;
use crate::prf_calls::Coins;
use crate::walk::{Gates, Slots};
use crate::{Garbler, StartPoint};

/// The garbler's half of a scheme with free XOR. Wiped on drop.
#[derive(ZeroizeOnDrop)]
pub struct FreeXorGarbler<A: Ands> {
    #[zeroize(skip)]
    scheme: FreeXor<A>,
    pub(crate) start: StartPoint,
    pub(crate) delta: Block,
    instance: u32,
    /// The next segment.
    next: usize,
    slots: Slots,
    /// Whether the program was garbled elsewhere, and the first slots hold its outputs, in order.
    elsewhere: bool,
    /// The source of random blocks, if the AND gates need any. It is boxed so that the garbler
    /// contains no unwritten memory: earlier stack contents there, such as Δ, would move along with
    /// it.
    #[zeroize(skip)]
    coins: Option<Box<Coins>>,
    /// The random blocks of a segment.
    drawn: Vec<Block>,
}

impl<A: Ands> FreeXorGarbler<A> {
    pub(super) fn new(scheme: FreeXor<A>, seed: [u8; 32], start: StartPoint, delta: Block) -> Self {
        assert!(
            bool::from(delta.lsb()),
            "bit 0 of Δ is set, so that the labels of a wire differ in their select bits"
        );
        let seed = Zeroizing::new(seed);
        let coins = (A::GATES_A_COIN > 0).then(|| Box::new(Coins::new(scheme.cpu, &seed)));
        let most = match A::GATES_A_COIN {
            0 => 0,
            // A segment may start and end within the gates of one block.
            gates => Program::MAX_SEGMENT_ANDS / gates as usize + 1,
        };
        Self {
            scheme,
            start,
            delta,
            instance: 0,
            next: 0,
            slots: Slots::default(),
            elsewhere: false,
            coins,
            drawn: Vec::with_capacity(most),
        }
    }

    /// Draws the random blocks of these gates.
    fn draw(&mut self, gates: &Gates<'_>) {
        let Some(coins) = &self.coins else {
            return;
        };
        let first = gates.first_and / A::GATES_A_COIN;
        let end = gates.first_and + gates.ands.len() as u64;
        let blocks = end.div_ceil(A::GATES_A_COIN) - first;
        self.drawn.resize(blocks as usize, Block::ZERO);
        coins.draw(Use::And, self.instance, first, &mut self.drawn);
    }

    /// Implements [`Ands::garble_segment`].
    pub(crate) fn garble_next(&mut self, program: &Program, segment: usize, tables: &mut [u8]) {
        assert_eq!(segment, self.next, "segments are garbled in order");
        self.next += 1;
        let gates = Gates::of(program, segment);
        assert_eq!(
            tables.len(),
            A::BYTES * gates.ands.len(),
            "tables have room for the segment's AND gates"
        );
        self.draw(&gates);
        self.scheme.cpu.dispatch_and_wipe(GarbleSegment {
            ands: self.scheme.ands,
            of: Segment::new(self.start, self.instance, gates, &mut self.slots),
            with: Secrets {
                delta: &self.delta,
                coins: &self.drawn,
            },
            tables,
        });
    }

    /// Continues as if every segment had been garbled, because that was done elsewhere, with these
    /// labels of outputs: 0 for a constant.
    pub(crate) fn skip_to_end(&mut self, program: &Program, outputs: impl Iterator<Item = Block>) {
        self.slots.hold(outputs, program.outputs().len());
        self.elsewhere = true;
        self.next = program.segments().len();
    }

    /// Returns the wire with this label of value 0, negated if `negated` (which is public).
    fn negated_if(&self, zero: Block, negated: bool) -> Block {
        zero ^ self.delta.and_bit(Choice::from(u8::from(negated)))
    }
}

impl<A: Ands> Garbler for FreeXorGarbler<A> {
    type Wire = Block;

    fn wire_with_active(&mut self, active: Block, bit: bool) -> Block {
        active ^ self.delta.and_bit(Choice::from(u8::from(bit)))
    }

    fn wire_from_cot(&self, _index: u64, q: Block) -> Block {
        q
    }

    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Block]) {
        self.slots.begin(program, inputs);
        self.instance = instance;
        self.elsewhere = false;
        self.next = 0;
    }

    fn garble(&mut self, program: &Program, segment: usize, tables: &mut [u8]) {
        A::garble_segment(self, program, segment, tables);
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<Block>) {
        assert_eq!(
            self.next,
            program.segments().len(),
            "every segment is garbled before the end"
        );
        let numbered = (0..).zip(program.outputs());
        outputs.extend(numbered.map(|(number, output)| match *output {
            Output::Slot { slot, negated } => {
                let slot = if self.elsewhere { number } else { slot };
                self.negated_if(self.slots.get(slot), negated)
            }
            Output::Constant(bit) => self.negated_if(Block::ZERO, bit),
        }));
    }

    fn decoding(&self, first: u64, wires: &[Block], out: &mut Vec<u8>) {
        let FreeXor { cpu, ands } = self.scheme;
        let hash = TweakableHash::on(cpu, ands.construction(), self.start);
        let mut zeros = Zeroizing::new(wires.to_vec());
        let mut ones = Zeroizing::new(vec![Block::ZERO; wires.len()]);
        hash.hash_both(output_tweak(first), &self.delta, &mut zeros, &mut ones);
        for tag in zeros
            .iter()
            .zip(ones.iter())
            .flat_map(|(zero, one)| [zero, one])
        {
            out.extend_from_slice(&output_tag(*tag));
        }
    }

    fn label_with_select(&self, wire: &Block, select: bool) -> (Block, bool) {
        let value = wire.lsb() ^ Choice::from(u8::from(select));
        (*wire ^ self.delta.and_bit(value), value.into())
    }

    fn link(&self, _: StartPoint, _: u64, from: &[Block], to: &[Block], out: &mut Vec<u8>) {
        offset_links(from, to, out);
    }
}

impl<A: Ands> fmt::Debug for FreeXorGarbler<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FreeXorGarbler({:?})", self.scheme)
    }
}

/// The garbling of one segment.
pub(crate) struct GarbleSegment<'a, A> {
    pub(crate) ands: A,
    pub(crate) of: Segment<'a>,
    pub(crate) with: Secrets<'a>,
    pub(crate) tables: &'a mut [u8],
}

impl<A: Ands> Kernel for GarbleSegment<'_, A> {
    type Output = ();

    fn gains_by_width(&self) -> bool {
        self.of.gates.has_batches_of(self.ands.wide_from()[0])
    }

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.ands.garble(simd, self.of, self.with, self.tables);
    }
}
