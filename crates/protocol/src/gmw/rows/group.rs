//! The rows of an active group, and the operations on them.

use core::ops::Range;

use tacit_circuit::{NO_SLOT, Piece, Role, RowAction, RowOperation, RowProgram};
use tacit_function::schedule::Group;
use zeroize::Zeroizing;

use super::bits::{self, BitWriter, words_for};
use super::one_word::OneWordRows;
use super::opened::OpenedWriter;
use super::{CrossCursor, CrossMasks, LayerCrosses};
use crate::gmw::packing::make_room;

/// The most instances of a part: few enough that its rows stay in a cache.
const MOST_OF_PART: usize = 1 << 12;
/// The fewest instances of a part where several threads share a group. In smaller parts, finding a
/// row takes as long as the work on it. A multiple of the side of a transposed square.
const FEWEST_OF_PART: usize = 1 << 10;

/// A party's rows of a group, in parts that do not depend on each other.
pub(super) struct GroupRows {
    pub(super) instances: usize,
    pub(super) parts: Vec<PartRows>,
}

/// The rows of consecutive instances of a group.
pub(super) struct PartRows {
    role: Role,
    /// The number of instances of the group.
    instances_of_group: usize,
    /// The instances of the part, from a multiple of 128 on.
    pub(super) instances: Range<usize>,
    /// The number of words of a row.
    words: usize,
    rows: Zeroizing<Vec<u64>>,
}

/// Where a layer of a group starts in the run and in its step.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerStart {
    /// The places of the next crosses, by the OTs' sender.
    pub(super) crosses: [CrossCursor; 2],
    /// The numbers of bits before it in the step's messages, by their sender.
    pub(super) bits: [u64; 2],
}

impl LayerStart {
    /// Moves on behind a layer. Returns where it starts.
    pub(super) fn pass(&mut self, program: &RowProgram, layer: u32, instances: usize) -> Self {
        let (start, outline) = (*self, program.outline(layer));
        let times = instances as u64;
        for role in Role::BOTH {
            let [of, other] = [role as usize, role.other() as usize];
            let next = &mut self.crosses[of];
            next.ots += outline.ots[of] * times;
            next.narrow_ots += outline.narrow_ots[of] * times;
            next.gates += (outline.opened_bits[of] - outline.ots[other]) * times;
            self.bits[of] += outline.opened_bits[of] * times;
        }
        start
    }
}

/// A layer of a group in a step.
#[derive(Clone, Copy)]
pub(super) struct LayerOf<'s> {
    pub(super) program: &'s RowProgram,
    pub(super) number: u32,
    /// Where the next cross of the layer starts.
    pub(super) at: LayerStart,
}

impl LayerOf<'_> {
    /// Returns about how many operations on words the layer of a part takes.
    pub(super) fn cost(&self, part: &PartRows) -> u64 {
        let opened: u64 = self.program.outline(self.number).opened_bits.iter().sum();
        part.cost_of(4 * opened as usize + self.program.operations(self.number).len())
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
    pub(super) layer: LayerOf<'p>,
    pub(super) masks: &'p M,
    pub(super) room: &'p mut RowRoom<M::Room>,
}

impl<M: CrossMasks> LayerPass<'_, M> {
    /// Returns the number of bits before the layer in the message of `sender`.
    pub(super) fn bits_before(&self, sender: Role) -> u64 {
        self.layer.at.bits[sender as usize]
    }

    /// Reads the rows of all crosses of the layer, as bits without gaps, for a party in this role.
    pub(super) fn fetch_packed(&mut self, role: Role, instances: usize) {
        let LayerOf {
            program,
            number,
            at,
        } = self.layer;
        for sender in Role::BOTH {
            let start = at.crosses[sender as usize];
            let sends = sender == role;
            let crosses = LayerCrosses::of(program, number, sender, sends, instances, start);
            let [first, second] = &mut self.room.packed[sender as usize];
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
        let next = &mut self.layer.at.crosses[sender as usize];
        let cross = next.take(sender, part.instances_of_group, width);
        let rows = cross.rows(sender == part.role);
        let [firsts, seconds] = rows.map(|rows| rows * part.words);
        let MaskRows { first, second } = &mut self.room.rows[chooser as usize];
        make_room(first, firsts);
        make_room(second, seconds);
        let into = [&mut first[..firsts], &mut second[..seconds]];
        let room = &mut self.room.masks;
        self.masks.rows(&cross, part.instances.clone(), room, into);
    }

    /// Takes the peer's rows of that cross.
    fn take_peer(&mut self, chooser: Role, part: &PartRows, width: usize, peer: &[u64]) {
        let rows = if chooser == part.role { width } else { 1 };
        let into = &mut self.room.peer[chooser as usize];
        make_room(into, rows * part.words);
        let bits = &mut self.layer.at.bits[part.role.other() as usize];
        for row in into[..rows * part.words].chunks_exact_mut(part.words) {
            bits::read(
                peer,
                *bits as usize + part.instances.start,
                part.instances.len(),
                row,
            );
            *bits += part.instances_of_group as u64;
        }
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
            let of_part = first..instances.min(first + of_part);
            PartRows::new(role, instances, of_part, slots)
        });
        Self {
            instances,
            parts: parts.collect(),
        }
    }
}

impl PartRows {
    fn new(role: Role, of_group: usize, instances: Range<usize>, slots: usize) -> Self {
        let words = words_for(instances.len());
        Self {
            role,
            instances_of_group: of_group,
            instances,
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
        (self.instances_of_group <= 64).then_some(OneWordRows {
            role: self.role,
            instances: self.instances_of_group,
            rows: &self.rows[..],
        })
    }

    fn one_word_mut(&mut self) -> Option<OneWordRows<&mut [u64]>> {
        (self.instances_of_group <= 64).then_some(OneWordRows {
            role: self.role,
            instances: self.instances_of_group,
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
        let mut at = pass.bits_before(self.role) + self.instances.start as u64;
        for piece in pass.layer.program.pieces(pass.layer.number) {
            for chooser in Role::BOTH {
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
            out.push(row, self.instances.len());
            *at += self.instances_of_group as u64;
            return;
        }
        let gates = piece.gates.iter().filter(|gate| gate.is_chosen_by(chooser));
        for (gate, alpha) in gates.zip(masks.second.chunks_exact(self.words)) {
            let invert = mask(gate.inverts_other(self.role));
            let other = self.row(gate.other()).iter();
            let row = other.zip(alpha).map(|(y, alpha)| y ^ invert ^ alpha);
            out.go_to(*at);
            out.push(row, self.instances.len());
            *at += self.instances_of_group as u64;
        }
    }

    /// Takes the peer's rows of a layer, and performs the layer's local operations.
    pub(super) fn absorb<M: CrossMasks>(&mut self, mut pass: LayerPass<'_, M>, peer: &[u64]) {
        let LayerOf {
            program,
            number: layer,
            ..
        } = pass.layer;
        if let Some(mut words) = self.one_word_mut() {
            words.absorb(pass, peer);
            return words.operate(program, layer);
        }
        for piece in program.pieces(layer) {
            for chooser in Role::BOTH {
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
        make_room(&mut room.result, words);
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
