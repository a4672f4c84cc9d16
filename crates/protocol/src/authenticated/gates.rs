//! The shares with which a gate is garbled, computed from the masks of its wires.
//!
//! Every input and every AND gate's output has a random mask ⟨λ⟩. XOR adds masks, and a negation
//! adds a public 1. A gate with input masks λ_i and λ_j and a triple opens e = λ_i ⊕ x and f = λ_j
//! ⊕ y, which gives ⟨λ_i λ_j⟩ = z ⊕ f·x ⊕ e·y ⊕ ef. The gates of a lot open together. A party's
//! tables, and what it computes from those of the other party, rest on openings whose MACs it has
//! checked: only that check makes [`CheckedGates`].
//!
//! *An input's mask* belongs to the input's owner alone: it is a bit with a MAC, without a share of
//! the other party, which would open it anyway. *A constant* has the mask 0.

use std::ops::Range;

use subtle::Choice;
use tacit_function::Role;
use tacit_kernels::{Block, Simd, prefetch_beyond};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::bucket::Triples;
use super::buffers::Buffers;
use super::caught::Caught;
use super::columns::{
    AddOffset, ExpectedMacs, Pass, Sum, bit_bytes, chunks, each_row, masks, scratch,
};
use super::epoch::Epoch;
use super::fold::{FOLD_BYTES, Fold};
use super::leaky::push_lsbs;
use super::oracle::{Domain, compare};
use super::share::{Share, Shares};
use super::walk::{CallWalk, Calls, Stop};
use crate::Error;
use crate::bits::{BitWriter, bit, bytes_for, check_bits};
use crate::message::Kind;

/// The number of AND gates of a message with tables. The batch that reaches this number is its
/// last.
pub(super) const FRAME_ANDS: usize = 2048;

/// The gates that one lot covers: whole batches, as long as there are triples, cut into frames.
#[derive(Default)]
pub(super) struct LotGates {
    most: usize,
    count: usize,
    frames: Vec<u32>,
    /// The number of gates in the last frame, which is not full.
    framed: usize,
}

/// Gates of a lot whose masks are known, before any bit is opened.
pub(crate) struct ClosedGates {
    triples: Triples,
    extent: LotGates,
    /// ⟨λ⟩ of each gate's inputs. Old blocks may follow.
    first: Shares,
    second: Shares,
}

/// Gates whose openings have the right MACs, with the other party's bits of e and f. Only the check
/// makes this type.
pub(crate) struct CheckedGates(ClosedGates, [Vec<u8>; 2]);

/// Gates that opened correctly, with ⟨λ_i⟩, ⟨λ_j⟩ and ⟨λ_i λ_j ⊕ λ_o⟩ of each. One part of a half
/// goes into tables and labels, and the other into the proof.
#[derive(Default)]
pub(crate) struct OpenGates {
    /// This party's part of λΔ_A: K ⊕ aΔ_A at the garbler, the MAC at the evaluator.
    tables: [Outputs; 3],
    /// The parts that must sum to the garbler's MAC of ⟨0⟩: MACs at the garbler, K ⊕ bΔ_B at the
    /// evaluator.
    proof: [Outputs; 3],
    /// That part of a public 1. Boxed, so that moved gates leave no copy behind.
    one: Box<Zeroizing<Block>>,
    /// The number of AND gates of each message with tables.
    pub(super) frames: Vec<u32>,
}

impl LotGates {
    /// Returns an empty set of gates, with room for `most`.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// Whether another batch of `ands` gates fits.
    pub(super) fn takes(&self, ands: usize) -> bool {
        ands <= self.most - self.count
    }

    /// Adds a batch.
    pub(super) fn add(&mut self, ands: usize) {
        self.count += ands;
        self.framed += ands;
        if self.framed >= FRAME_ANDS {
            self.end();
        }
    }

    /// Ends the last frame.
    pub(super) fn end(&mut self) {
        if self.framed > 0 {
            self.frames.push(self.framed as u32);
            self.framed = 0;
        }
    }

    /// Returns the number of gates.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of gates of each message with tables.
    pub(super) fn frames(&self) -> &[u32] {
        &self.frames
    }
}

impl ClosedGates {
    /// Returns an empty set of gates, with room for one for each triple.
    pub(super) fn new(triples: Triples, buffers: &mut Buffers) -> Self {
        let most = triples.len();
        Self {
            triples,
            extent: LotGates::new(most),
            first: buffers.take_longer_shares(most),
            second: buffers.take_longer_shares(most),
        }
    }

    /// Walks on until the triples or the walk end. Returns whether that has happened.
    pub(super) fn fill<'f, C: Calls<'f, Share>>(
        &mut self,
        walk: &mut CallWalk<'f, Share, C>,
    ) -> bool {
        loop {
            let ands = match walk.next() {
                Stop::Ands(ands) if self.extent.takes(ands.count()) => ands,
                Stop::Pause => return false,
                Stop::Ands(_) | Stop::End => break,
            };
            let first_gate = self.extent.count();
            let gates = first_gate..first_gate + ands.count();
            for shares in [&self.first, &self.second, &self.triples.masks] {
                let columns = shares.columns(gates.clone());
                columns.into_iter().for_each(prefetch_beyond);
            }
            for i in 0..ands.count() {
                let [first, second] = walk.inputs(ands, i);
                self.first.set(first_gate + i, first);
                self.second.set(first_gate + i, second);
            }
            let masks = &self.triples.masks;
            walk.pass(ands, |i| masks.at(first_gate + i));
            self.extent.add(ands.count());
        }
        self.extent.end();
        true
    }

    /// Returns the number of gates.
    pub(super) fn count(&self) -> usize {
        self.extent.count()
    }

    /// Returns the triples that no gate uses.
    pub(super) fn rest(&self) -> Triples {
        let Triples { x, y, z, masks, .. } = &self.triples;
        let rest = |shares: &Shares| {
            let columns = shares.columns(self.count()..self.triples.len());
            let [macs, keys] = columns.map(|column| Outputs::new(column.to_vec()));
            Shares { macs, keys }
        };
        Triples {
            number: 0,
            x: rest(x),
            y: rest(y),
            z: rest(z),
            masks: rest(masks),
        }
    }

    /// Returns the masks of the gates' outputs, with this party's own bit in the key, as parts of
    /// λΔ.
    pub(super) fn kept_masks(&self, delta: &Block) -> Shares {
        let columns = self.triples.masks.columns(0..self.count());
        let [macs, mut keys] = columns.map(|column| Outputs::new(column.to_vec()));
        each_row(AddBit(delta), [&macs], [&mut keys]);
        Shares { macs, keys }
    }

    /// Returns the masks and triple inputs that are opened together: ⟨e⟩ is λ_i ⊕ x, and ⟨f⟩ is λ_j
    /// ⊕ y.
    fn opened(&self) -> [[&Shares; 2]; 2] {
        let Triples { x, y, .. } = &self.triples;
        [[&self.first, x], [&self.second, y]]
    }

    /// Writes this party's openings: bits of e, bits of f, and a fold of their MACs.
    pub(super) fn open(&self, epoch: &Epoch, message: &mut Vec<u8>) {
        let macs = epoch.oracle(Domain::GateMacs, Some(epoch.role()), self.triples.number);
        message.clear();
        if self.count() == 0 {
            return;
        }
        let (mut macs, mut bits) = (Fold::new(macs), BitWriter::default());
        let [mut sums] = scratch();
        for shares in self.opened() {
            for range in chunks(self.count()) {
                let sums = &mut sums[..range.len()];
                let inputs = shares.map(|shares| &shares.macs[range.clone()]);
                each_row(Sum, inputs, [sums]);
                push_lsbs(&mut bits, sums);
                let bits = bits.take();
                macs.add(&[&bits], [sums]);
                message.extend_from_slice(&bits);
            }
        }
        message.extend_from_slice(&macs.finish()[0]);
    }

    /// Checks the other party's openings.
    pub(super) fn check(self, epoch: &Epoch, others: &[u8]) -> Result<CheckedGates, Error> {
        let (kind, bytes) = (Kind::GateOpenings, bytes_for(self.count()));
        if self.count() == 0 {
            return Ok(CheckedGates(self, Default::default()));
        }
        let (opened, digest) = others.split_at(2 * bytes);
        let (others_e, others_f) = opened.split_at(bytes);
        check_bits(kind, others_e, self.count())?;
        check_bits(kind, others_f, self.count())?;
        let expected = self.expected(epoch, [others_e, others_f]);
        compare(&expected, digest, Caught::Gates)?;
        let others = [others_e, others_f].map(<[u8]>::to_vec);
        Ok(CheckedGates(self, others))
    }

    /// Returns the fold of the MACs that the other party must have for its bits.
    fn expected(&self, epoch: &Epoch, others: [&[u8]; 2]) -> [u8; FOLD_BYTES] {
        let role = epoch.role().other();
        let mut macs = Fold::new(epoch.oracle(Domain::GateMacs, Some(role), self.triples.number));
        let [mut bits, mut sums] = scratch();
        for ([mask, input], others) in self.opened().into_iter().zip(others) {
            for range in chunks(self.count()) {
                let opened = &others[bit_bytes(&range)];
                let (bits, sums) = (&mut bits[..range.len()], &mut sums[..range.len()]);
                masks(others, range.start, bits);
                let inputs = [bits, &mask.keys[range.clone()], &input.keys[range]];
                each_row(ExpectedMacs(epoch.delta()), inputs, [sums]);
                macs.add(&[opened], [sums]);
            }
        }
        let [macs] = macs.finish();
        macs
    }
}

impl CheckedGates {
    /// Returns the opened gates.
    pub(super) fn open(self, epoch: &mut Epoch) -> OpenGates {
        let Self(gates, others) = self;
        let ClosedGates {
            triples,
            extent: LotGates { count, frames, .. },
            mut first,
            mut second,
        } = gates;
        let Triples {
            x,
            y,
            z: mut output,
            masks: output_masks,
            ..
        } = triples;
        let one = Zeroizing::new(epoch.one());
        let multiply = Multiply { one: &one };
        let [mut e, mut f] = scratch();
        for range in chunks(count) {
            let [e, f] = [&mut e[..range.len()], &mut f[..range.len()]];
            masks(&others[0], range.start, e);
            masks(&others[1], range.start, f);
            let [first_macs, first_keys] = first.columns_mut(range.clone());
            let [second_macs, second_keys] = second.columns_mut(range.clone());
            let [x_macs, x_keys] = x.columns(range.clone());
            let [y_macs, y_keys] = y.columns(range.clone());
            let [mask_macs, mask_keys] = output_masks.columns(range.clone());
            let [macs, keys] = output.columns_mut(range);
            each_row(AddLsb, [first_macs, x_macs], [e]);
            each_row(AddLsb, [second_macs, y_macs], [f]);
            let inputs = [e, f, x_macs, x_keys, y_macs, y_keys, mask_macs, mask_keys];
            each_row(&multiply, inputs, [macs, keys]);
            for (macs, keys) in [
                (first_macs, first_keys),
                (second_macs, second_keys),
                (macs, keys),
            ] {
                each_row(AddBit(epoch.delta()), [macs], [keys]);
            }
        }
        for shares in [x, y, output_masks] {
            epoch.buffers.give([shares.macs, shares.keys]);
        }
        let [macs, keys] = [
            [first.macs, second.macs, output.macs],
            [first.keys, second.keys, output.keys],
        ];
        let (tables, proof, one) = match epoch.role() {
            Role::Garbler => (keys, macs, one.mac),
            Role::Evaluator => (macs, keys, one.key),
        };
        OpenGates {
            tables,
            proof,
            one: Box::new(one.into()),
            frames,
        }
    }
}

/// A pass that adds bit 0 of the sum of two blocks to a mask.
struct AddLsb;

impl Pass<2, 1> for AddLsb {
    #[inline(always)]
    fn row<S: Simd>(&self, simd: S, [a, b]: [S::Vector; 2], [mask]: &mut [S::Vector; 1]) {
        *mask = simd.xor(*mask, simd.lsb_mask(simd.xor(a, b)));
    }
}

/// A pass that adds bit·Δ to keys, where the bit is the one that the MACs authenticate.
struct AddBit<'a>(&'a Block);

impl Pass<1, 1> for AddBit<'_> {
    #[inline(always)]
    fn row<S: Simd>(&self, simd: S, [mac]: [S::Vector; 1], [key]: &mut [S::Vector; 1]) {
        *key = simd.xor(*key, simd.and(simd.lsb_mask(mac), simd.splat(*self.0)));
    }
}

/// A pass that takes e, f and this party's halves of x, y and a mask, and adds f·x ⊕ e·y ⊕ ef and
/// the mask to z.
struct Multiply<'a> {
    one: &'a Share,
}

impl Pass<8, 2> for &Multiply<'_> {
    #[inline(always)]
    fn row<S: Simd>(
        &self,
        simd: S,
        [e, f, x_mac, x_key, y_mac, y_key, mask_mac, mask_key]: [S::Vector; 8],
        [mac, key]: &mut [S::Vector; 2],
    ) {
        let both = simd.and(e, f);
        let halves = [
            (mac, x_mac, y_mac, mask_mac, self.one.mac),
            (key, x_key, y_key, mask_key, self.one.key),
        ];
        for (output, x, y, mask, one) in halves {
            let products = simd.xor(simd.and(x, f), simd.and(y, e));
            let public = simd.and(both, simd.splat(one));
            let added = simd.xor(simd.xor(products, public), mask);
            *output = simd.xor(*output, added);
        }
    }
}

impl OpenGates {
    /// Returns gates whose parts were kept. `one` is the proof part of a public 1.
    pub(super) fn of_kept(tables: [Outputs; 3], proof: [Outputs; 3], one: Block) -> Self {
        Self {
            tables,
            proof,
            one: Box::new(one.into()),
            frames: Vec::new(),
        }
    }

    /// Returns both parts of each ⟨λ_i λ_j ⊕ λ_o⟩: that for tables, and that for the proof.
    pub(super) fn outputs(&self) -> [&[Block]; 2] {
        [&self.tables[2], &self.proof[2]]
    }

    /// Gives back the memory of the gates and of their labels.
    pub(super) fn give_back(self, labels: Outputs, buffers: &mut Buffers) {
        let columns = self.tables.into_iter().chain(self.proof);
        buffers.give(columns.chain([labels]));
    }

    /// Returns this party's part of the tables of gates, and of their outputs.
    pub(super) fn table_parts(&self, gates: Range<usize>) -> [&[Block]; 3] {
        self.tables.each_ref().map(|part| {
            let part = &part[gates.clone()];
            prefetch_beyond(part);
            part
        })
    }

    /// Returns the parts that must sum to the garbler's MAC of ⟨0⟩ of gates, and that part of a
    /// public 1.
    pub(super) fn proof_parts(&self, gates: Range<usize>) -> ([&[Block]; 3], Block) {
        let parts = self.proof.each_ref().map(|part| &part[gates.clone()]);
        (parts, **self.one)
    }

    /// Adds to the fold the labels that gates have for their masked values, and the garbler's MACs
    /// of ⟨0⟩, that is, of Λ_iΛ_j ⊕ Λ_iλ_j ⊕ Λ_jλ_i ⊕ λ_iλ_j ⊕ Λ_o ⊕ λ_o. `labels` are those of
    /// value 0 under `offset`. `masked` has the masked values of i, of j and of o.
    pub(super) fn prove(
        &self,
        masked: [&[u8]; 3],
        labels: &[Block],
        offset: Block,
        fold: &mut Fold<2>,
    ) {
        let [mut first, mut second, mut output, mut active, mut zeros] = scratch();
        for range in chunks(labels.len()) {
            let rows = range.len();
            let [i, j, o] = [&mut first, &mut second, &mut output].map(|mask| &mut mask[..rows]);
            for (bits, into) in masked.into_iter().zip([&mut *i, &mut *j, &mut *o]) {
                masks(bits, range.start, into);
            }
            let [active, zeros] = [&mut active, &mut zeros].map(|column| &mut column[..rows]);
            active.copy_from_slice(&labels[range.clone()]);
            each_row(AddOffset(&offset), [o], [active]);
            let [x, y, z] = [0, 1, 2].map(|i| &self.proof[i][range.clone()]);
            each_row(Zero(&self.one), [i, j, o, x, y, z], [zeros]);
            fold.add(&[&masked[2][bit_bytes(&range)]], [active, zeros]);
        }
    }
}

/// A pass that computes ⟨0⟩ from masked values Λ_i, Λ_j, Λ_o and the parts of a gate.
struct Zero<'a>(&'a Block);

impl Pass<6, 1> for Zero<'_> {
    #[inline(always)]
    fn row<S: Simd>(
        &self,
        simd: S,
        [i, j, o, first, second, output]: [S::Vector; 6],
        [zero]: &mut [S::Vector; 1],
    ) {
        let products = simd.xor(simd.and(first, j), simd.and(second, i));
        let public = simd.xor(simd.and(i, j), o);
        let public = simd.and(public, simd.splat(*self.0));
        *zero = simd.xor(simd.xor(output, products), public);
    }
}

/// Returns bit `i` of bits that have been opened.
pub(super) fn public(bits: &[u8], i: usize) -> Choice {
    Choice::from(u8::from(bit(bits, i)))
}
