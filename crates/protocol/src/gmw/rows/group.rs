//! The rows of an active group, and the operations on them.

use core::ops::Range;

use tacit_circuit::{NO_SLOT, Piece, Role, RowAction, RowOperation, RowProgram};
use tacit_function::schedule::{Group, StepWork};
use zeroize::Zeroizing;

use super::bits::{self, BitWriter, words_for};
use super::one_word::OneWordRows;
use super::opened::OpenedWriter;
use super::{CrossMasks, CrossOts, LayerCrosses};

pub(super) const ROLES: [Role; 2] = [Role::Garbler, Role::Evaluator];

/// The most instances of a part: few enough that its rows stay in a cache.
const MOST_OF_PART: usize = 1 << 12;
/// The fewest instances of a part, of a group that several threads share: with fewer, finding rows
/// would take as long as working on them. A multiple of what is transposed at once.
const FEWEST_OF_PART: usize = 1 << 10;

/// A party's rows of a group, in parts that do not depend on each other.
pub(super) struct GroupRows {
    pub(super) instances: usize,
    pub(super) parts: Vec<PartRows>,
}

/// The rows of consecutive instances of a group.
pub(super) struct PartRows {
    role: Role,
    /// The number of instances of the group, and those of the part. The first one's number is a
    /// multiple of 128.
    all: usize,
    pub(super) of: Range<usize>,
    /// The number of words of a row.
    words: usize,
    rows: Zeroizing<Vec<u64>>,
}

/// Where a layer of a group starts in the run and in its step.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerStart {
    /// The numbers of OTs before it in the run, of the narrow ones among them, and of gates, of
    /// which each counts once for each instance. By the OTs' sender.
    ots: [u64; 2],
    narrow_ots: [u64; 2],
    gates: [u64; 2],
    /// The numbers of bits before it in the step's messages, by their sender.
    bits: [u64; 2],
}

impl LayerStart {
    /// Returns the start of a step, before which the run used so many narrow OTs and gates.
    pub(super) fn of_step(step: &StepWork, narrow_ots: [u64; 2], gates: [u64; 2]) -> Self {
        Self {
            ots: step.ots_before,
            narrow_ots,
            gates,
            bits: [0; 2],
        }
    }

    /// Moves on behind a layer. Returns where it starts.
    pub(super) fn pass(&mut self, program: &RowProgram, layer: u32, instances: usize) -> Self {
        let (start, outline) = (*self, program.outline(layer));
        for role in ROLES {
            let [of, other] = [role as usize, role.other() as usize];
            let times = instances as u64;
            self.ots[of] += outline.ots[of] * times;
            self.narrow_ots[of] += outline.narrow_ots[of] * times;
            self.gates[of] += (outline.opened_bits[of] - outline.ots[other]) * times;
            self.bits[of] += outline.opened_bits[of] * times;
        }
        start
    }
}

/// What a thread works in.
#[derive(Default)]
pub(super) struct RowRoom<R> {
    masks: R,
    /// The mask rows of the cross that each party chooses.
    rows: [MaskRows; 2],
    /// The peer's rows of the cross that each party chooses.
    peer: [Zeroizing<Vec<u64>>; 2],
    result: Zeroizing<Vec<u64>>,
    /// The first and second rows of the crosses of a layer that each party sends.
    pub(super) packed: [[BitWriter; 2]; 2],
}

/// The mask rows of a cross.
#[derive(Default)]
struct MaskRows {
    first: Zeroizing<Vec<u64>>,
    second: Zeroizing<Vec<u64>>,
}

/// A layer of a part of a group, during one pass over its crosses.
pub(super) struct LayerPass<'p, M: CrossMasks> {
    pub(super) program: &'p RowProgram,
    pub(super) layer: u32,
    pub(super) masks: &'p M,
    pub(super) room: &'p mut RowRoom<M::Room>,
    /// Where the next cross starts.
    pub(super) at: LayerStart,
}

impl<M: CrossMasks> LayerPass<'_, M> {
    /// Returns the number of bits before the layer in the message of `sender`.
    pub(super) fn bits_before(&self, sender: Role) -> u64 {
        self.at.bits[sender as usize]
    }

    /// Reads the rows of all crosses of the layer, as bits without gaps, for a party in this role.
    pub(super) fn fetch_packed(&mut self, role: Role, instances: usize) {
        let layer = (self.program, self.layer);
        for sender in ROLES {
            let of = sender as usize;
            let before = [self.at.ots[of], self.at.narrow_ots[of], self.at.gates[of]];
            let crosses = LayerCrosses::of(layer, (sender, sender == role), instances, before);
            let [first, second] = &mut self.room.packed[of];
            for (writer, rows) in [&mut *first, &mut *second].into_iter().zip(crosses.rows()) {
                writer.restart(rows * instances as u64);
            }
            if crosses.crosses > 0 {
                let room = &mut self.room.masks;
                self.masks.packed_rows(&crosses, room, [first, second]);
            }
            first.fill_up();
            second.fill_up();
        }
    }

    /// Reads the rows of the cross of a piece that `chooser` chooses.
    fn fetch(&mut self, chooser: Role, part: &PartRows, width: usize) {
        let sender = chooser.other();
        let of = sender as usize;
        let (number, narrow) = (self.at.ots[of], self.at.narrow_ots[of]);
        let cross = CrossOts {
            sender,
            number,
            number_of_kind: if width == 1 { narrow } else { number - narrow },
            gates_before: self.at.gates[of],
            instances: part.all,
            width,
        };
        let instances = part.all as u64;
        self.at.ots[of] += instances;
        self.at.gates[of] += width as u64 * instances;
        if width == 1 {
            self.at.narrow_ots[of] += instances;
        }
        let firsts = if chooser == part.role { 1 } else { width };
        let (firsts, seconds) = (firsts * part.words, width * part.words);
        let MaskRows { first, second } = &mut self.room.rows[chooser as usize];
        resize(first, firsts);
        resize(second, seconds);
        let into = [&mut first[..firsts], &mut second[..seconds]];
        let room = &mut self.room.masks;
        self.masks.rows(&cross, part.of.clone(), room, into);
    }

    /// Takes the peer's rows of that cross.
    fn take_peer(&mut self, chooser: Role, part: &PartRows, width: usize, peer: &[u64]) {
        let rows = if chooser == part.role { width } else { 1 };
        let into = &mut self.room.peer[chooser as usize];
        resize(into, rows * part.words);
        let bits = &mut self.at.bits[part.role.other() as usize];
        for row in into[..rows * part.words].chunks_exact_mut(part.words) {
            bits::read(peer, *bits as usize + part.of.start, part.of.len(), row);
            *bits += part.all as u64;
        }
    }
}

/// Makes room. The allocation is replaced rather than grown, so that no copy of its content is
/// freed unwiped.
fn resize(words: &mut Zeroizing<Vec<u64>>, length: usize) {
    if words.len() < length {
        *words = Zeroizing::new(vec![0; length]);
    }
}

impl GroupRows {
    /// Returns rows of zeros, in parts that suit this many threads.
    pub(super) fn new(role: Role, group: &Group<'_>, threads: usize) -> Self {
        let instances = group.instances();
        let slots = group.program().slots();
        let of_part = match threads {
            1 => MOST_OF_PART,
            _ => instances
                .div_ceil(threads)
                .next_multiple_of(FEWEST_OF_PART)
                .min(MOST_OF_PART),
        };
        let parts = (0..instances).step_by(of_part).map(|first| {
            let of = first..instances.min(first + of_part);
            PartRows::new(role, instances, of, slots)
        });
        Self {
            instances,
            parts: parts.collect(),
        }
    }
}

impl PartRows {
    fn new(role: Role, all: usize, of: Range<usize>, slots: usize) -> Self {
        let words = words_for(of.len());
        Self {
            role,
            all,
            of,
            words,
            rows: Zeroizing::new(vec![0; words * slots]),
        }
    }

    pub(super) fn role(&self) -> Role {
        self.role
    }

    /// Returns the cost of a number of operations on rows, in operations on words.
    pub(super) fn cost_of(&self, operations: usize) -> u64 {
        (operations * self.words) as u64
    }

    /// Returns the rows, if each is one word and the part is the group.
    fn one_word(&self) -> Option<OneWordRows<&[u64]>> {
        (self.all <= 64).then_some(OneWordRows {
            role: self.role,
            instances: self.all,
            rows: &self.rows[..],
        })
    }

    fn one_word_mut(&mut self) -> Option<OneWordRows<&mut [u64]>> {
        (self.all <= 64).then_some(OneWordRows {
            role: self.role,
            instances: self.all,
            rows: &mut self.rows[..],
        })
    }

    fn range(&self, slot: usize) -> Range<usize> {
        self.words * slot..self.words * (slot + 1)
    }

    /// Returns the row of a slot.
    pub(super) fn row(&self, slot: usize) -> &[u64] {
        &self.rows[self.range(slot)]
    }

    /// Returns the row of an input bit, if any gate reads it.
    pub(super) fn input(&mut self, slot: u32) -> Option<&mut [u64]> {
        let range = self.range(slot as usize);
        (slot != NO_SLOT).then(|| &mut self.rows[range])
    }

    /// Writes this party's rows of a layer.
    pub(super) fn open<M: CrossMasks>(
        &self,
        mut pass: LayerPass<'_, M>,
        out: &mut OpenedWriter<'_>,
    ) {
        out.go_to(pass.bits_before(self.role));
        if let Some(words) = self.one_word() {
            return words.open(pass, out);
        }
        let mut at = pass.bits_before(self.role) + self.of.start as u64;
        for piece in pass.program.pieces(pass.layer) {
            for chooser in ROLES {
                let width = piece.widths[chooser as usize];
                if width > 0 {
                    pass.fetch(chooser, self, width);
                    let masks = &pass.room.rows[chooser as usize];
                    self.open_cross(&piece, chooser, masks, (&mut at, out));
                }
            }
        }
    }

    fn open_cross(
        &self,
        piece: &Piece<'_>,
        chooser: Role,
        masks: &MaskRows,
        (at, out): (&mut u64, &mut OpenedWriter<'_>),
    ) {
        if chooser == self.role {
            // x is opened without negation, even where a gate negates it.
            let common = self.row(piece.common as usize).iter();
            let row = common.zip(&*masks.first).map(|(x, b)| x ^ b);
            out.go_to(*at);
            out.push(row, self.of.len());
            *at += self.all as u64;
            return;
        }
        let gates = piece.gates.iter().filter(|gate| gate.is_chosen_by(chooser));
        for (gate, alpha) in gates.zip(masks.second.chunks_exact(self.words)) {
            let invert = mask(gate.inverts_other(self.role));
            let other = self.row(gate.other()).iter();
            let row = other.zip(alpha).map(|(y, alpha)| y ^ invert ^ alpha);
            out.go_to(*at);
            out.push(row, self.of.len());
            *at += self.all as u64;
        }
    }

    /// Takes the peer's rows of a layer, and performs the layer's local operations.
    pub(super) fn absorb<M: CrossMasks>(&mut self, mut pass: LayerPass<'_, M>, peer: &[u64]) {
        let (program, layer) = (pass.program, pass.layer);
        if let Some(mut words) = self.one_word_mut() {
            words.absorb(pass, peer);
            return words.operate(program, layer);
        }
        for piece in program.pieces(layer) {
            for chooser in ROLES {
                let width = piece.widths[chooser as usize];
                if width > 0 {
                    pass.fetch(chooser, self, width);
                    pass.take_peer(chooser, self, width, peer);
                }
            }
            self.absorb_piece(&piece, pass.room);
        }
        self.operate(program, layer);
    }

    fn absorb_piece<R>(&mut self, piece: &Piece<'_>, room: &mut RowRoom<R>) {
        let words = self.words;
        resize(&mut room.result, words);
        let result = &mut room.result[..words];
        let (me, peer) = (self.role as usize, self.role.other() as usize);
        let (mut chosen, mut sent) = (0, 0);
        for gate in piece.gates {
            let invert = mask(gate.inverts_other(self.role));
            let negates = mask(gate.negates_common());
            let (x, y) = (self.row(piece.common as usize), self.row(gate.other()));
            for ((result, x), y) in result.iter_mut().zip(x).zip(y) {
                // If x is negated, (x ⊕ 1)·y = x·y ⊕ y, with y's own negation.
                *result = (x ^ negates) & (y ^ invert);
            }
            if gate.is_chosen_by(self.role) {
                let row = chosen * words..(chosen + 1) * words;
                let (e, rho) = (&room.peer[me][row.clone()], &room.rows[me].second[row]);
                for (((result, x), e), rho) in result.iter_mut().zip(x).zip(e).zip(rho) {
                    *result ^= x & e ^ rho;
                }
                chosen += 1;
            }
            if gate.is_chosen_by(self.role.other()) {
                let row = sent * words..(sent + 1) * words;
                let MaskRows { first, second } = &room.rows[peer];
                let (r, alpha) = (&first[row.clone()], &second[row]);
                let d = &room.peer[peer][..words];
                for (((result, d), r), alpha) in result.iter_mut().zip(d).zip(r).zip(alpha) {
                    *result ^= r ^ d & alpha;
                }
                sent += 1;
            }
            let range = self.range(gate.result());
            self.rows[range].copy_from_slice(result);
        }
    }

    /// Performs the local operations of a layer.
    pub(super) fn operate(&mut self, program: &RowProgram, layer: u32) {
        if let Some(mut words) = self.one_word_mut() {
            return words.operate(program, layer);
        }
        for operation in program.operations(layer) {
            self.local(*operation);
        }
    }

    fn local(&mut self, operation: RowOperation) {
        let [first, second] = operation.operands();
        match operation.action(self.role) {
            RowAction::And {
                invert_first,
                invert_second,
            } => {
                let (one, two) = (mask(invert_first), mask(invert_second));
                self.apply(operation.result(), first, second, |a, b| {
                    (a ^ one) & (b ^ two)
                });
            }
            RowAction::Xor {
                first: true,
                second: true,
                invert: false,
            } => self.apply(operation.result(), first, second, |a, b| a ^ b),
            RowAction::Xor {
                first: with_first,
                second: with_second,
                invert,
            } => {
                let (one, two) = (mask(with_first), mask(with_second));
                let invert = mask(invert);
                let of = |a, b| a & one ^ b & two ^ invert;
                self.apply(operation.result(), first, second, of);
            }
        }
    }

    /// Computes a row from two rows, which may be the same.
    #[inline]
    fn apply(&mut self, result: usize, first: usize, second: usize, of: impl Fn(u64, u64) -> u64) {
        let [result, first, second] = [result, first, second].map(|slot| self.range(slot));
        let rows = &mut self.rows[..];
        if let Ok([result, first, second]) =
            rows.get_disjoint_mut([result.clone(), first.clone(), second.clone()])
        {
            for ((result, a), b) in result.iter_mut().zip(first).zip(second) {
                *result = of(*a, *b);
            }
        } else if first == second {
            for i in 0..self.words {
                let word = rows[first.start + i];
                rows[result.start + i] = of(word, word);
            }
        } else if result == first {
            let [result, second] = disjoint(rows, result, second);
            for (result, b) in result.iter_mut().zip(second) {
                *result = of(*result, *b);
            }
        } else {
            let [result, first] = disjoint(rows, result, first);
            for (result, a) in result.iter_mut().zip(first) {
                *result = of(*a, *result);
            }
        }
    }
}

fn disjoint(rows: &mut [u64], one: Range<usize>, other: Range<usize>) -> [&mut [u64]; 2] {
    rows.get_disjoint_mut([one, other]).expect("two rows")
}

/// Returns a word with all bits set, or none.
#[inline(always)]
pub(super) fn mask(bit: bool) -> u64 {
    u64::from(bit).wrapping_neg()
}
