//! The scheme interface: GARBLE, ENCODE, EVALUATE and DECODE of Bellare, Hoang and Rogaway
//! ("Foundations of garbled circuits", CCS 2012), cut into steps so that tables stream.
//!
//! A garbler and an evaluator each walk a [`Program`] segment by segment. The garbler's wires
//! carry both labels ([`Scheme::Wire`]); the evaluator only ever holds one [`Block`] a wire. What
//! both must know beforehand is the [`SchemeId`] and a public [`StartPoint`].
//!
//! Garbling is a function of the seed, Δ where the scheme has one, the start point, the instance,
//! the input wires that the protocol fixes, and the program.

use tacit_circuit::Program;
use tacit_kernels::Block;
use zeroize::{Zeroize, Zeroizing};

use crate::link::{self, HASHED_LINK_BYTES};
use crate::{DecodeError, SchemeId};

/// A public random value, fresh for each execution or prepared lot, at which the tweaks and keys
/// of its hashes start. The garbler draws it and sends it.
pub type StartPoint = Block;

/// A garbling scheme: its parameters, as a small value that both parties construct alike.
pub trait Scheme: Copy + Send + Sync + 'static {
    /// What the garbler knows of a wire: enough for both labels.
    type Wire: Copy + Default + Zeroize + Send + 'static;
    /// The garbler's half.
    type Garbler: Garbler<Wire = Self::Wire>;
    /// The evaluator's half.
    type Evaluator: Evaluator;

    /// The value that both sides compare.
    fn id(self) -> SchemeId;

    /// Exact size in bytes of the tables of one segment of `program`.
    fn table_bytes(self, program: &Program, segment: usize) -> usize;

    /// Exact size in bytes of the decoding information for `outputs` wires.
    fn decoding_bytes(self, outputs: usize) -> usize;

    /// Exact size in bytes of the link of one wire to another. The default is that of a hashed
    /// link; a scheme whose wires share Δ says and does better.
    fn link_bytes(self) -> usize {
        HASHED_LINK_BYTES
    }

    /// A garbler. `seed` is secret and used for nothing else. `delta` is the offset that this
    /// garbler's correlated OTs use, secret, with bit 0 set; a scheme with a global offset takes
    /// it as its Δ, any other uses it only to understand [`Garbler::wire_from_cot`].
    fn garbler(self, seed: [u8; 32], start: StartPoint, delta: Block) -> Self::Garbler;

    /// An evaluator for garblings that begin at `start`.
    fn evaluator(self, start: StartPoint) -> Self::Evaluator;

    /// Garbles the whole of `program` with each of `garblings` as `instance`, to the very bytes of
    /// one after the other, which is the default. A scheme that is faster on several small ones at
    /// once does better. [`Garbler::finish`] of each has its outputs afterwards.
    ///
    /// # Panics
    ///
    /// If inputs are not as many as the program has, or tables not of its size.
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
    /// If inputs are not as many as the program has, or tables not of its size.
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

/// The functions that run kernels, in what implements a scheme's gates. A function of one type is
/// compiled in this crate, once; a generic one again in each crate that calls it, and these take
/// their kernels along, for every backend.
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
    /// What the garbler knows of a wire.
    type Wire;

    /// A wire whose label for `bit` is `active`, a label that the evaluator has by other means
    /// (both derive it from a public seed, so that a garbler's input costs no bytes). `bit` is
    /// secret. Each call makes an independent wire.
    fn wire_with_active(&mut self, active: Block, bit: bool) -> Self::Wire;

    /// A wire from correlated OT `index`, of which the garbler holds `q` and the evaluator
    /// `q ⊕ bΔ` for its input bit b.
    fn wire_from_cot(&self, index: u64, q: Block) -> Self::Wire;

    /// Starts garbling `program` as `instance`, which is never used again under this start point.
    ///
    /// # Panics
    ///
    /// If `inputs` are not as many as the program has (a mistake of the caller, not of a peer).
    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Self::Wire]);

    /// Garbles one segment into `tables`, which is exactly [`Scheme::table_bytes`] long. Segments
    /// are taken in order, each once, of the program that was begun.
    fn garble(&mut self, program: &Program, segment: usize, tables: &mut [u8]);

    /// Appends the output wires of the program that was garbled to `outputs`.
    fn finish(&mut self, program: &Program, outputs: &mut Vec<Self::Wire>);

    /// Appends the decoding information of `wires`, which are outputs number `first…`, to `out`.
    /// It lets whoever holds a label of such a wire learn its value.
    fn decoding(&self, first: u64, wires: &[Self::Wire], out: &mut Vec<u8>);

    /// The label of `wire` whose select bit is `select`, and the value that it stands for.
    fn label_with_select(&self, wire: &Self::Wire, select: bool) -> (Block, bool);

    /// Appends to `out` the links from each wire of `from` to its like in `to`: with a label of
    /// the one, the evaluator gets the label of the other for the same value. They are links
    /// number `first…` under `start`; a number is never used twice under one start point. Both
    /// wires belong to garblers with the same Δ, where the scheme has one.
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
    /// The label of an input wire from correlated OT `index`: `t` = q ⊕ bΔ, with b this
    /// evaluator's input bit.
    fn label_from_cot(&self, index: u64, t: Block, bit: bool) -> Block;

    /// Starts evaluating `program` as `instance`.
    ///
    /// # Panics
    ///
    /// If `inputs` are not as many as the program has (a mistake of the caller, not of a peer).
    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Block]);

    /// Evaluates one segment with its tables, exactly [`Scheme::table_bytes`] of them. The bytes
    /// come from the peer: any value is evaluated to some labels, none panics.
    fn evaluate(&mut self, program: &Program, segment: usize, tables: &[u8]);

    /// Appends the output labels of the program that was evaluated to `outputs`.
    fn finish(&mut self, program: &Program, outputs: &mut Vec<Block>);

    /// Follows the links number `first…` under `start` from `labels`, in place. Any bytes lead to
    /// some labels.
    ///
    /// # Panics
    ///
    /// If `links` are not [`Scheme::link_bytes`] for each label.
    fn follow_links(&self, start: StartPoint, first: u64, labels: &mut [Block], links: &[u8]) {
        link::follow_hashed_links(start, first, labels, links);
    }

    /// The values of output labels number `first…`, from the garbler's decoding information. The
    /// time does not depend on the labels, nor on which of them is refused.
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
