//! From masks of wires to the shares that a gate is garbled with.
//!
//! Every input and every AND gate's output has a random mask ⟨λ⟩; XOR adds masks, and a negation
//! adds a public 1. A gate with input masks λ_i and λ_j and a triple opens e = λ_i ⊕ x and f = λ_j ⊕ y, which
//! gives ⟨λ_i λ_j⟩ = z ⊕ f·x ⊕ e·y ⊕ ef. The gates of a lot open together. A party's tables, and what
//! it finds with those of the other, rest on openings whose MACs it has checked: [`OpenGates`] is
//! made by that check alone.
//!
//! *An input's mask* is its owner's alone: a bit with a MAC, without a share of the other party,
//! which would open it anyway. *A constant* has the mask 0.

use subtle::Choice;
use tacit_kernels::Block;

use super::bucket::Triples;
use super::caught::Caught;
use super::epoch::Epoch;
use super::leaky::pack;
use super::oracle::{DIGEST_BYTES, Domain, compare};
use super::share::{Share, Shares};
use super::walk::{Stop, Walk};
use crate::malicious::bits::{bit, bytes_for, unused_are_clear};
use crate::message::{Kind, exactly};
use crate::{Error, Misbehaviour};

/// AND gates of a message with tables: the batch that reaches this number is its last.
pub(super) const FRAME_ANDS: usize = 2048;

/// Which gates go with a lot: whole batches, as long as there are triples, cut into frames.
#[derive(Default)]
pub(super) struct Extent {
    most: usize,
    count: usize,
    frames: Vec<u32>,
    /// Gates of the last frame, which is not full.
    framed: usize,
}

/// Gates of a lot whose masks are known, before anything is opened.
pub(super) struct ClosedGates {
    triples: Triples,
    extent: Extent,
    /// ⟨λ⟩ of each gate's inputs.
    first: Shares,
    second: Shares,
}

/// Gates that opened right.
#[derive(Default)]
pub(super) struct OpenGates {
    /// ⟨λ_i⟩ of each gate.
    pub(super) first: Shares,
    /// ⟨λ_j⟩ of each gate.
    pub(super) second: Shares,
    /// ⟨λ_i λ_j ⊕ λ_o⟩ of each gate.
    pub(super) output: Shares,
    /// AND gates of each message with tables.
    pub(super) frames: Vec<u32>,
}

impl Extent {
    /// None yet, of so many at most.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// Whether a batch of `ands` gates still fits.
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

    /// How many gates there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Gates of each message with tables.
    pub(super) fn frames(&self) -> &[u32] {
        &self.frames
    }
}

/// The length of a party's openings of so many gates, in bytes: none where there are no gates.
pub(super) const fn opening_bytes(gates: usize) -> usize {
    match gates {
        0 => 0,
        gates => 2 * bytes_for(gates) + DIGEST_BYTES,
    }
}

impl ClosedGates {
    /// None yet, for as many as there are triples.
    pub(super) fn new(triples: Triples) -> Self {
        let most = triples.x.len();
        Self {
            triples,
            extent: Extent::new(most),
            first: Shares::zeros(most),
            second: Shares::zeros(most),
        }
    }

    /// Walks on until the triples or the function end. Whether that has come.
    pub(super) fn fill(&mut self, walk: &mut Walk<'_, Share>) -> bool {
        loop {
            let ands = match walk.next() {
                Stop::Ands(ands) if self.extent.takes(ands.count()) => ands,
                Stop::Pause => return false,
                Stop::Ands(_) | Stop::End => break,
            };
            let first_gate = self.extent.count();
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

    /// How many gates there are.
    pub(super) fn count(&self) -> usize {
        self.extent.count()
    }

    /// The length of a party's openings, in bytes.
    pub(super) fn opening_bytes(&self) -> usize {
        opening_bytes(self.count())
    }

    /// What is opened: ⟨e⟩ of each gate, and ⟨f⟩ of each.
    fn sums(&self) -> [impl Iterator<Item = Share> + '_; 2] {
        let Self {
            triples: Triples { x, y, .. },
            first,
            second,
            ..
        } = self;
        let count = self.count();
        [(first, x), (second, y)].map(|(masks, inputs)| {
            let both = masks.range(0..count).zip(inputs.range(0..count));
            both.map(|(mask, input)| mask ^ input)
        })
    }

    /// Writes this party's openings: bits of e, bits of f, and a digest of their MACs.
    pub(super) fn open(&self, epoch: &Epoch, message: &mut Vec<u8>) {
        let mut macs = epoch.oracle(Domain::GateMacs, Some(epoch.role()), self.triples.number);
        message.clear();
        if self.count() == 0 {
            return;
        }
        for sums in self.sums() {
            let bits = sums.map(|sum| {
                macs.add(sum.mac);
                sum.bit()
            });
            message.extend_from_slice(&pack(bits));
        }
        message.extend_from_slice(&macs.finish());
    }

    /// Takes the other party's openings.
    ///
    /// # Errors
    ///
    /// They are malformed, or their MACs are not those of the bits that were opened.
    pub(super) fn check(self, epoch: &Epoch, others: &[u8]) -> Result<OpenGates, Error> {
        let (kind, bytes) = (Kind::GateOpenings, bytes_for(self.count()));
        exactly(kind, others, self.opening_bytes())?;
        if self.count() == 0 {
            return Ok(OpenGates::default());
        }
        let (opened, digest) = others.split_at(2 * bytes);
        let (others_e, others_f) = opened.split_at(bytes);
        if ![others_e, others_f]
            .iter()
            .all(|bits| unused_are_clear(bits, self.count()))
        {
            let field = "padding";
            return Err(Misbehaviour::InvalidField { kind, field }.into());
        }
        let role = epoch.role().other();
        let mut macs = epoch.oracle(Domain::GateMacs, Some(role), self.triples.number);
        for (sums, bits) in self.sums().into_iter().zip([others_e, others_f]) {
            for (i, sum) in sums.enumerate() {
                macs.add(sum.others_mac(public(bits, i), epoch.delta()));
            }
        }
        compare(&macs.finish(), digest, Caught::Gates)?;
        let Self {
            triples,
            extent: Extent { count, frames, .. },
            first,
            second,
        } = self;
        let Triples { x, y, z, masks, .. } = triples;
        let (mut output, one) = (z, epoch.one());
        for i in 0..count {
            let e = (first.at(i) ^ x.at(i)).bit() ^ public(others_e, i);
            let f = (second.at(i) ^ y.at(i)).bit() ^ public(others_f, i);
            let product = output.at(i) ^ x.at(i).times(f) ^ y.at(i).times(e) ^ one.times(e & f);
            output.set(i, product ^ masks.at(i));
        }
        Ok(OpenGates {
            first,
            second,
            output,
            frames,
        })
    }
}

impl OpenGates {
    /// What a garbler adds to a gate's table, and to its output.
    #[inline(always)]
    pub(super) fn garblers_parts(&self, gate: usize, delta: Block) -> [Block; 3] {
        let all = [&self.first, &self.second, &self.output];
        all.map(|shares| shares.at(gate).garblers_part(delta))
    }

    /// What an evaluator adds to them.
    #[inline(always)]
    pub(super) fn evaluators_parts(&self, gate: usize) -> [Block; 3] {
        [&self.first, &self.second, &self.output].map(|shares| shares.macs[gate])
    }

    /// This party's half of ⟨0⟩ of a gate whose inputs and output have these masked values:
    /// Λ_iΛ_j ⊕ Λ_iλ_j ⊕ Λ_jλ_i ⊕ λ_iλ_j ⊕ Λ_o ⊕ λ_o.
    #[inline(always)]
    pub(super) fn zero(&self, gate: usize, masked: [Choice; 3], one: Share) -> Share {
        let [first, second, output] = masked;
        self.output.at(gate)
            ^ self.second.at(gate).times(first)
            ^ self.first.at(gate).times(second)
            ^ one.times(first & second ^ output)
    }
}

/// Bit `i` of bits that have been opened.
pub(super) fn public(bits: &[u8], i: usize) -> Choice {
    Choice::from(u8::from(bit(bits, i)))
}
