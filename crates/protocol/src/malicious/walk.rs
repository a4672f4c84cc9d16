//! A function garbled and evaluated as a whole: its calls, and then the components that mask
//! results ([`returned`](super::returned)).
//!
//! Labels of constants are public: both parties derive the active one from the start point.

use core::convert::Infallible;

use tacit_circuit::{Component, Program};
use tacit_function::{Function, Role, Values};
use tacit_garble::{Evaluator, Garbler, Scheme};
use tacit_kernels::{Block, Prg, Tweak, Use};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

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

/// The secrets of a garbling, and where it starts.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Material {
    pub(crate) seed: [u8; 32],
    pub(crate) start: Block,
    pub(crate) delta: Block,
}

/// Labels of a function's inputs: of value 0 to garble, active ones to evaluate.
#[derive(Clone, Copy)]
pub(crate) struct InputLabels<'a> {
    /// Of the garbler's input, and what it adds to mask its result.
    pub(crate) garbler: &'a [Block],
    /// Of the evaluator's, likewise.
    pub(crate) evaluator: &'a [Block],
    /// Of loaded values.
    pub(crate) loaded: &'a [Block],
}

/// A function with the components that mask its results.
pub(crate) struct Whole<'a, S> {
    pub(crate) scheme: S,
    pub(crate) function: &'a Function,
    /// Masks what the garbler gets. Without it the garbler gets nothing.
    pub(crate) for_garbler: Option<&'a Component>,
    /// Masks what the evaluator gets. Without it that comes as it is.
    pub(crate) for_evaluator: Option<&'a Component>,
}

impl<S: Scheme<Wire = Block>> Whole<'_, S> {
    /// Garbles it: appends its tables, and gives the labels of 0 of its outputs, which are the
    /// evaluator's, the garbler's, and what is saved.
    pub(crate) fn garble(
        &self,
        material: &Material,
        inputs: InputLabels<'_>,
        tables: &mut Vec<u8>,
    ) -> Zeroizing<Vec<Block>> {
        let Material { seed, start, delta } = *material;
        let mut garbling = Garbling {
            scheme: self.scheme,
            garbler: self.scheme.garbler(seed, start, delta),
            tables,
        };
        self.walk(&mut garbling, start, inputs)
    }

    /// The labels of the outputs of a garbling whose tables begin at `start`. Any tables of the
    /// right length lead to some labels.
    pub(crate) fn evaluate(
        &self,
        start: Block,
        tables: &[u8],
        inputs: InputLabels<'_>,
    ) -> Zeroizing<Vec<Block>> {
        let mut evaluating = Evaluating::<S> {
            scheme: self.scheme,
            evaluator: self.scheme.evaluator(start),
            tables,
        };
        self.walk(&mut evaluating, start, inputs)
    }

    /// Bytes of its tables, or `None` if there are too many to count.
    pub(crate) fn table_bytes(&self) -> Option<usize> {
        let of = |component: &Component| -> usize {
            let program = component.program();
            let segments = 0..program.segments().len();
            let bytes = segments.map(|segment| self.scheme.table_bytes(program, segment));
            bytes.sum()
        };
        let masks = [self.for_garbler, self.for_evaluator];
        let mut total: usize = masks.into_iter().flatten().map(of).sum();
        let function = self.function;
        for (component, calls) in function.components().iter().zip(function.component_calls()) {
            total = total.checked_add(of(component).checked_mul(*calls as usize)?)?;
        }
        Some(total)
    }

    fn walk(
        &self,
        walker: &mut impl Walker,
        start: Block,
        inputs: InputLabels<'_>,
    ) -> Zeroizing<Vec<Block>> {
        let mut labels = Prg::new(constant_seed(start));
        let own = |role| self.function.input_bits(role);
        let (given, added) = inputs.garbler.split_at(own(Role::Garbler));
        let (chosen, chosen_added) = inputs.evaluator.split_at(own(Role::Evaluator));
        let mut given = given.iter().copied();
        let mut chosen = chosen.iter().copied();
        let mut loaded = inputs.loaded.iter().copied();
        let values = Values::new(self.function, |port| {
            let input = self.function.inputs().get(port);
            let label = match input.map(|input| input.owner) {
                Some(Role::Garbler) => given.next(),
                Some(Role::Evaluator) => chosen.next(),
                None => loaded.next(),
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
        let calls = self.function.call_count();
        let mut masked =
            |component: &Component, number, mut clear: Zeroizing<Vec<Block>>, added| {
                clear.extend_from_slice(added);
                walker.call(number, component.program(), &clear)
            };
        let mut all = outputs.of(Role::Evaluator);
        if let Some(component) = self.for_evaluator {
            all = masked(component, calls + 1, all, chosen_added);
        }
        if let Some(component) = self.for_garbler {
            let clear = outputs.of(Role::Garbler);
            all.extend_from_slice(&masked(component, calls, clear, added));
        }
        all.extend_from_slice(outputs.saved());
        all
    }
}

/// The public labels of constants begin with this seed.
fn constant_seed(start: Block) -> Block {
    let tweak = Tweak {
        usage: Use::PublicLabel,
        instance: 0,
        number: 0,
        a: 0,
        b: 0,
    };
    start ^ tweak.to_block()
}
