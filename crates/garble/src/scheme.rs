//! The scheme interface: GARBLE, ENCODE, EVALUATE and DECODE of Bellare, Hoang and Rogaway
//! ("Foundations of garbled circuits", CCS 2012), divided into steps so that tables can be
//! streamed.
//!
//! A garbler and an evaluator each walk a [`Program`] segment by segment. The garbler's wires carry
//! both labels ([`Scheme::Wire`]); the evaluator never holds more than one [`Block`] per wire. Both
//! must know the [`SchemeId`] and a public [`StartPoint`] beforehand.
//!
//! Garbling is a function of the seed, Δ where the scheme has one, the start point, the instance,
//! the input wires that the protocol fixes, and the program.

use tacit_circuit::Program;
use tacit_kernels::Block;
use zeroize::{Zeroize, Zeroizing};

use crate::link::{self, HASHED_LINK_BYTES};
use crate::{DecodeError, SchemeId};

/// A public random value, fresh for each execution or prepared lot, from which the tweaks and keys
/// of its hashes start. The garbler draws it and sends it.
pub type StartPoint = Block;

/// A garbling scheme: its parameters, as a small value that both parties construct equally.
pub trait Scheme: Copy + Send + Sync + 'static {
    /// The garbler's representation of a wire: enough for both labels.
    type Wire: Copy + Default + Zeroize + Send + 'static;
    /// The garbler's half.
    type Garbler: Garbler<Wire = Self::Wire>;
    /// The evaluator's half.
    type Evaluator: Evaluator;

    /// Returns the value that both sides compare.
    fn id(self) -> SchemeId;

    /// Returns the exact size in bytes of the tables of one segment of `program`.
    fn table_bytes(self, program: &Program, segment: usize) -> usize;

    /// Returns the exact size in bytes of the decoding information for `outputs` wires.
    fn decoding_bytes(self, outputs: usize) -> usize;

    /// Returns the exact size in bytes of the link of one wire to another. The default is that of a
    /// hashed link. A scheme whose wires share Δ overrides it with a smaller one.
    fn link_bytes(self) -> usize {
        HASHED_LINK_BYTES
    }

    /// Returns a garbler. `seed` is secret and must be used for nothing else. `delta` is the secret
    /// offset of this garbler's correlated OTs, with bit 0 set. A scheme with a global offset takes
    /// it as its Δ; any other uses it only in [`Garbler::wire_from_cot`].
    fn garbler(self, seed: [u8; 32], start: StartPoint, delta: Block) -> Self::Garbler;

    /// Returns an evaluator for garblings that start at `start`.
    fn evaluator(self, start: StartPoint) -> Self::Evaluator;

    /// Garbles the whole of `program` with each of `garblings` as `instance`. The bytes are those
    /// of one garbling after the other, which is the default. A scheme that is faster on several
    /// small ones at once overrides this. [`Garbler::finish`] of each has its outputs afterwards.
    ///
    /// # Panics
    ///
    /// If the number of inputs is not the program's, or tables do not have its size.
    fn garble_side_by_side(
        self,
        instance: u32,
        program: &Program,
        garblings: &mut [WholeGarbling<'_, Self>],
    ) {
        for one in garblings {
            one.garble(self, instance, program);
        }
    }
}

/// One of several garblings of a program, for [`Scheme::garble_side_by_side`].
pub struct WholeGarbling<'a, S: Scheme> {
    /// Its garbler.
    pub garbler: S::Garbler,
    /// Its input wires.
    pub inputs: &'a [S::Wire],
    /// Room for the tables of all segments, one after the other.
    pub tables: &'a mut [u8],
}

impl<S: Scheme> WholeGarbling<'_, S> {
    /// Garbles the whole of `program` as `instance`.
    ///
    /// # Panics
    ///
    /// If the number of inputs is not the program's, or tables do not have its size.
    pub fn garble(&mut self, scheme: S, instance: u32, program: &Program) {
        self.garbler.begin(instance, program, self.inputs);
        let mut left = &mut *self.tables;
        for segment in 0..program.segments().len() {
            let (these, rest) = left.split_at_mut(scheme.table_bytes(program, segment));
            left = rest;
            self.garbler.garble(program, segment, these);
        }
        assert!(left.is_empty(), "tables are of the program's size");
    }
}

/// Makes the functions that run kernels, in the implementation of a scheme's gates. A function of
/// one type is compiled once, in this crate. A generic one would be compiled again in each crate
/// that calls it, together with its kernels, for every backend.
macro_rules! compiled_here {
    ($garbler:ident, $evaluator:ident) => {
        fn garble_segment(
            garbler: &mut $garbler<Self>,
            program: &tacit_circuit::Program,
            segment: usize,
            tables: &mut [u8],
        ) {
            garbler.garble_next(program, segment, tables);
        }

        fn evaluate_segment(
            evaluator: &mut $evaluator<Self>,
            program: &tacit_circuit::Program,
            segment: usize,
            tables: &[u8],
        ) {
            evaluator.evaluate_next(program, segment, tables);
        }
    };
}
pub(crate) use compiled_here;

/// The garbler's half of a scheme. One value garbles any number of instances, one at a time.
pub trait Garbler: Send {
    /// The garbler's representation of a wire.
    type Wire;

    /// Returns a wire whose label for `bit` is `active`, a label that the evaluator gets in another
    /// way (both derive it from a public seed, so that a garbler's input costs no bytes). `bit` is
    /// secret. Each call makes an independent wire.
    fn wire_with_active(&mut self, active: Block, bit: bool) -> Self::Wire;

    /// Returns a wire from correlated OT `index`, of which the garbler holds `q` and the evaluator
    /// `q ⊕ bΔ` for its input bit b.
    fn wire_from_cot(&self, index: u64, q: Block) -> Self::Wire;

    /// Starts garbling `program` as `instance`, which must never be used again under this start
    /// point.
    ///
    /// # Panics
    ///
    /// If the number of `inputs` is not the program's (a mistake of the caller, not of a peer).
    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Self::Wire]);

    /// Garbles one segment into `tables`, which must be exactly [`Scheme::table_bytes`] long. The
    /// segments of the started program must be garbled in order, each once.
    fn garble(&mut self, program: &Program, segment: usize, tables: &mut [u8]);

    /// Appends the output wires of the garbled program to `outputs`.
    fn finish(&mut self, program: &Program, outputs: &mut Vec<Self::Wire>);

    /// Appends the decoding information of `wires`, which are the outputs from number `first` on,
    /// to `out`. With it, the holder of a label of such a wire learns its value.
    fn decoding(&self, first: u64, wires: &[Self::Wire], out: &mut Vec<u8>);

    /// Returns the label of `wire` whose select bit is `select`, and its value.
    fn label_with_select(&self, wire: &Self::Wire, select: bool) -> (Block, bool);

    /// Appends to `out` the links from each wire of `from` to the corresponding one in `to`. With a
    /// label of the first, the evaluator gets the label of the second for the same value. They are
    /// the links from number `first` on under `start`; a number must never be used twice under one
    /// start point. Both wires must belong to garblers with the same Δ, if the scheme has one.
    ///
    /// # Panics
    ///
    /// If `from` and `to` are not equally long.
    fn link(
        &self,
        start: StartPoint,
        first: u64,
        from: &[Self::Wire],
        to: &[Self::Wire],
        out: &mut Vec<u8>,
    ) {
        link::hashed_links(self, start, first, from, to, out);
    }
}

/// The evaluator's half of a scheme.
pub trait Evaluator: Send {
    /// Returns the label of an input wire from correlated OT `index`: `t` = q ⊕ bΔ, where b is this
    /// evaluator's input bit.
    fn label_from_cot(&self, index: u64, t: Block, bit: bool) -> Block;

    /// Starts evaluating `program` as `instance`.
    ///
    /// # Panics
    ///
    /// If the number of `inputs` is not the program's (a mistake of the caller, not of a peer).
    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Block]);

    /// Evaluates one segment with its tables, exactly [`Scheme::table_bytes`] of them. The bytes
    /// come from the peer: any value is evaluated to some labels, and none panics.
    fn evaluate(&mut self, program: &Program, segment: usize, tables: &[u8]);

    /// Appends the output labels of the evaluated program to `outputs`.
    fn finish(&mut self, program: &Program, outputs: &mut Vec<Block>);

    /// Follows the links from number `first` on under `start` from `labels`, in place. Any bytes
    /// lead to some labels.
    ///
    /// # Panics
    ///
    /// If `links` does not have [`Scheme::link_bytes`] for each label.
    fn follow_links(&self, start: StartPoint, first: u64, labels: &mut [Block], links: &[u8]) {
        link::follow_hashed_links(start, first, labels, links);
    }

    /// Returns the values of the output labels from number `first` on, from the garbler's decoding
    /// information. The time does not depend on the labels, nor on which of them is refused.
    ///
    /// # Errors
    ///
    /// `decoding` has the wrong length, or, in schemes whose decoding is authenticated, a label
    /// fits neither value (⊥).
    fn decode(
        &self,
        first: u64,
        labels: &[Block],
        decoding: &[u8],
    ) -> Result<Zeroizing<Vec<bool>>, DecodeError>;
}
