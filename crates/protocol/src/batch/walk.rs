//! A circuit garbled and evaluated as a whole: the function's calls, and then the component
//! that masks the garbler's result.

use core::convert::Infallible;

use tacit_circuit::{Program, Role, Values};
use tacit_garble::{Evaluator, Garbler, Scheme};
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::layout::Batch;

/// What a walk needs of either party.
trait Walker {
    /// A constant's label: both derive the active one.
    fn constant(&mut self, active: Block, bit: bool) -> Block;
    /// Garbles or evaluates `program`.
    fn call(&mut self, number: u32, program: &Program, inputs: &[Block]) -> Zeroizing<Vec<Block>>;
}

struct Garbling<'t, S: Scheme> {
    scheme: S,
    garbler: S::Garbler,
    tables: &'t mut Vec<u8>,
}

struct Evaluating<'t, S: Scheme> {
    scheme: S,
    evaluator: S::Evaluator,
    tables: &'t [u8],
}

impl<S: Scheme<Wire = Block>> Walker for Garbling<'_, S> {
    fn constant(&mut self, active: Block, bit: bool) -> Block {
        self.garbler.wire_with_active(active, bit)
    }

    fn call(&mut self, number: u32, program: &Program, inputs: &[Block]) -> Zeroizing<Vec<Block>> {
        self.garbler.begin(number, program, inputs);
        for segment in 0..program.segments().len() {
            let start = self.tables.len();
            let bytes = self.scheme.table_bytes(program, segment);
            self.tables.resize(start + bytes, 0);
            self.garbler
                .garble(program, segment, &mut self.tables[start..]);
        }
        let mut outputs = Zeroizing::new(Vec::with_capacity(program.outputs().len()));
        self.garbler.finish(program, &mut outputs);
        outputs
    }
}

impl<S: Scheme<Wire = Block>> Walker for Evaluating<'_, S> {
    fn constant(&mut self, active: Block, _: bool) -> Block {
        active
    }

    fn call(&mut self, number: u32, program: &Program, inputs: &[Block]) -> Zeroizing<Vec<Block>> {
        self.evaluator.begin(number, program, inputs);
        for segment in 0..program.segments().len() {
            let bytes = self.scheme.table_bytes(program, segment);
            let (these, rest) = self.tables.split_at(bytes);
            self.evaluator.evaluate(program, segment, these);
            self.tables = rest;
        }
        let mut outputs = Zeroizing::new(Vec::with_capacity(program.outputs().len()));
        self.evaluator.finish(program, &mut outputs);
        outputs
    }
}

/// What a circuit is garbled from. All but `start` secret.
pub(super) struct Material<'a> {
    pub(super) seed: [u8; 32],
    pub(super) start: Block,
    pub(super) delta: Block,
    /// Labels of 0 of the garbler's inputs.
    pub(super) inputs: &'a [Block],
    /// Labels of 0 of the evaluator's inputs.
    pub(super) choices: &'a [Block],
}

impl<S: Scheme<Wire = Block>> Batch<'_, S> {
    /// Garbles a circuit: appends its tables, and gives the labels of 0 of its outputs.
    pub(super) fn garble(&self, of: &Material<'_>, tables: &mut Vec<u8>) -> Zeroizing<Vec<Block>> {
        let mut garbling = Garbling {
            scheme: self.scheme,
            garbler: self.scheme.garbler(of.seed, of.start, of.delta),
            tables,
        };
        self.walk(&mut garbling, of.start, of.inputs, of.choices)
    }

    /// The labels of the outputs of a circuit whose tables begin at `start`, from active
    /// labels of its inputs. Any tables lead to some labels.
    pub(super) fn evaluate(
        &self,
        start: Block,
        tables: &[u8],
        inputs: &[Block],
        choices: &[Block],
    ) -> Zeroizing<Vec<Block>> {
        let mut evaluating = Evaluating::<S> {
            scheme: self.scheme,
            evaluator: self.scheme.evaluator(start),
            tables,
        };
        self.walk(&mut evaluating, start, inputs, choices)
    }

    fn walk(
        &self,
        walker: &mut impl Walker,
        start: Block,
        inputs: &[Block],
        choices: &[Block],
    ) -> Zeroizing<Vec<Block>> {
        let mut labels = Prg::new(Self::constant_seed(start));
        let own = self.function.input_bits(Role::Garbler);
        let (given, added) = inputs.split_at(own);
        let mut given = given.iter().copied();
        let mut chosen = choices.iter().copied();
        let values = Values::new(self.function, |port| {
            let label = match self.function.inputs()[port].owner {
                Role::Garbler => given.next(),
                Role::Evaluator => chosen.next(),
            };
            Ok::<_, Infallible>(label.expect("a label for each input bit"))
        });
        let Ok(mut values) = values;
        while let Some(call) = values.next_call(|bit| walker.constant(labels.next_block(), bit)) {
            let program = call.component.program();
            let results = walker.call(call.number, program, values.arguments());
            values.finish_call(&results);
        }
        let outputs = values.outputs(|bit| walker.constant(labels.next_block(), bit));
        let mut all = outputs.of(Role::Evaluator);
        if let Some(component) = &self.returned {
            let mut clear = outputs.of(Role::Garbler);
            clear.extend_from_slice(added);
            let number = self.function.call_count();
            all.extend_from_slice(&walker.call(number, component.program(), &clear));
        }
        all
    }
}
