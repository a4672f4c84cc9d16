//! The rows of an active group, and the operations on them.

use tacit_circuit::{NO_SLOT, Piece, Role, RowAction, RowOperation, RowProgram};
use tacit_function::schedule::{Group, StepWork};
use zeroize::Zeroizing;

use super::bits::{self, BitWriter, words_for};
use super::one_word::OneWordRows;
use super::{CrossMasks, CrossOts, LayerCrosses};

pub(super) const ROLES: [Role; 2] = [Role::Garbler, Role::Evaluator];

/// A party's rows of a group.
pub(super) struct GroupRows {
    role: Role,
    instances: usize,
    /// The number of words of a row.
    words: usize,
    rows: Zeroizing<Vec<u64>>,
}

/// The position within a step's crosses, during one pass over its groups.
pub(super) struct OpenedStep<'m, M> {
    role: Role,
    masks: &'m mut M,
    /// The numbers of the next OTs, and of the next narrow OTs, by their sender.
    ots: [u64; 2],
    narrow_ots: [u64; 2],
    /// The number of the peer's bits that were taken.
    pub(super) taken: usize,
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

impl<'m, M: CrossMasks> OpenedStep<'m, M> {
    pub(super) fn new(role: Role, step: &StepWork, narrow_ots: [u64; 2], masks: &'m mut M) -> Self {
        Self {
            role,
            masks,
            ots: step.ots_before,
            narrow_ots,
            taken: 0,
            rows: Default::default(),
            peer: Default::default(),
            result: Zeroizing::default(),
            packed: Default::default(),
        }
    }

    /// Reads the rows of all crosses of a layer, as bits without gaps.
    pub(super) fn fetch_packed(&mut self, program: &RowProgram, layer: u32, instances: usize) {
        let outline = program.outline(layer);
        for sender in ROLES {
            let of = sender as usize;
            let before = [self.ots[of], self.narrow_ots[of]];
            let sends = sender == self.role;
            let crosses = LayerCrosses::of((program, layer), (sender, sends), instances, before);
            self.ots[of] += outline.ots[of] * instances as u64;
            self.narrow_ots[of] += outline.narrow_ots[of] * instances as u64;
            let [first, second] = &mut self.packed[of];
            for (writer, rows) in [&mut *first, &mut *second].into_iter().zip(crosses.rows()) {
                writer.restart(rows * instances as u64);
            }
            if crosses.crosses > 0 {
                self.masks.packed_rows(&crosses, first, second);
            }
            first.fill_up();
            second.fill_up();
        }
    }

    /// Reads the rows of the cross of a piece that `chooser` chooses.
    fn fetch(&mut self, chooser: Role, instances: usize, width: usize) {
        let sender = chooser.other();
        let number = self.ots[sender as usize];
        let narrow = self.narrow_ots[sender as usize];
        let cross = CrossOts {
            sender,
            number,
            number_of_kind: if width == 1 { narrow } else { number - narrow },
            instances,
            width,
        };
        self.ots[sender as usize] += instances as u64;
        if width == 1 {
            self.narrow_ots[sender as usize] += instances as u64;
        }
        let words = words_for(instances);
        let firsts = if chooser == self.role { 1 } else { width };
        let MaskRows { first, second } = &mut self.rows[chooser as usize];
        resize(first, firsts * words);
        resize(second, width * words);
        self.masks.rows(
            &cross,
            &mut first[..firsts * words],
            &mut second[..width * words],
        );
    }

    /// Takes the peer's rows of that cross.
    fn take_peer(&mut self, chooser: Role, instances: usize, width: usize, peer: &[u64]) {
        let rows = if chooser == self.role { width } else { 1 };
        let words = words_for(instances);
        let into = &mut self.peer[chooser as usize];
        resize(into, rows * words);
        for row in into[..rows * words].chunks_exact_mut(words) {
            bits::read(peer, self.taken, instances, row);
            self.taken += instances;
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
    /// Returns rows of zeros.
    pub(super) fn new(role: Role, group: &Group<'_>) -> Self {
        let instances = group.instances();
        let words = words_for(instances);
        Self {
            role,
            instances,
            words,
            rows: Zeroizing::new(vec![0; words * group.program().slots()]),
        }
    }

    pub(super) fn role(&self) -> Role {
        self.role
    }

    /// Returns the rows, if each is one word.
    fn one_word(&self) -> Option<OneWordRows<&[u64]>> {
        (self.words == 1).then_some(OneWordRows {
            role: self.role,
            instances: self.instances,
            rows: &self.rows[..],
        })
    }

    fn one_word_mut(&mut self) -> Option<OneWordRows<&mut [u64]>> {
        (self.words == 1).then_some(OneWordRows {
            role: self.role,
            instances: self.instances,
            rows: &mut self.rows[..],
        })
    }

    pub(super) fn instances(&self) -> usize {
        self.instances
    }

    fn range(&self, slot: usize) -> core::ops::Range<usize> {
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

    /// Appends this party's rows of a layer.
    pub(super) fn open<M: CrossMasks>(
        &self,
        program: &RowProgram,
        layer: u32,
        step: &mut OpenedStep<'_, M>,
        out: &mut BitWriter,
    ) {
        if let Some(words) = self.one_word() {
            return words.open(program, layer, step, out);
        }
        for piece in program.pieces(layer) {
            for chooser in ROLES {
                let width = piece.widths[chooser as usize];
                if width > 0 {
                    step.fetch(chooser, self.instances, width);
                    self.open_cross(&piece, chooser, &step.rows[chooser as usize], out);
                }
            }
        }
    }

    fn open_cross(&self, piece: &Piece<'_>, chooser: Role, masks: &MaskRows, out: &mut BitWriter) {
        if chooser == self.role {
            // x is opened without negation, even where a gate negates it.
            let common = self.row(piece.common as usize).iter();
            let row = common.zip(&*masks.first).map(|(x, b)| x ^ b);
            return out.push(row, self.instances);
        }
        let gates = piece.gates.iter().filter(|gate| gate.is_chosen_by(chooser));
        for (gate, alpha) in gates.zip(masks.second.chunks_exact(self.words)) {
            let invert = mask(gate.inverts_other(self.role));
            let other = self.row(gate.other()).iter();
            let row = other.zip(alpha).map(|(y, alpha)| y ^ invert ^ alpha);
            out.push(row, self.instances);
        }
    }

    /// Takes the peer's rows of a layer, and performs the layer's local operations.
    pub(super) fn absorb<M: CrossMasks>(
        &mut self,
        program: &RowProgram,
        layer: u32,
        step: &mut OpenedStep<'_, M>,
        peer: &[u64],
    ) {
        if let Some(mut words) = self.one_word_mut() {
            words.absorb(program, layer, step, peer);
            return words.operate(program, layer);
        }
        for piece in program.pieces(layer) {
            for chooser in ROLES {
                let width = piece.widths[chooser as usize];
                if width > 0 {
                    step.fetch(chooser, self.instances, width);
                    step.take_peer(chooser, self.instances, width, peer);
                }
            }
            self.absorb_piece(&piece, step);
        }
        self.operate(program, layer);
    }

    fn absorb_piece<M>(&mut self, piece: &Piece<'_>, step: &mut OpenedStep<'_, M>) {
        let words = self.words;
        resize(&mut step.result, words);
        let result = &mut step.result[..words];
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
                let (e, rho) = (&step.peer[me][row.clone()], &step.rows[me].second[row]);
                for (((result, x), e), rho) in result.iter_mut().zip(x).zip(e).zip(rho) {
                    *result ^= x & e ^ rho;
                }
                chosen += 1;
            }
            if gate.is_chosen_by(self.role.other()) {
                let row = sent * words..(sent + 1) * words;
                let MaskRows { first, second } = &step.rows[peer];
                let (r, alpha) = (&first[row.clone()], &second[row]);
                let d = &step.peer[peer][..words];
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

fn disjoint(
    rows: &mut [u64],
    one: core::ops::Range<usize>,
    other: core::ops::Range<usize>,
) -> [&mut [u64]; 2] {
    rows.get_disjoint_mut([one, other]).expect("two rows")
}

/// Returns a word with all bits set, or none.
#[inline(always)]
pub(super) fn mask(bit: bool) -> u64 {
    u64::from(bit).wrapping_neg()
}
