//! A function garbled and evaluated as a whole: its calls, followed by the components that mask
//! results ([`returned`](super::returned)).
//!
//! Labels of constants are public: both parties derive the active one from the start point.
//!
//! A [`MaskedWalk`] pauses after each segment, so that tables need not be held in whole.

use core::convert::Infallible;
use core::mem;

use tacit_circuit::{Component, Program};
use tacit_function::{Function, Outputs, Role, Values};
use tacit_garble::{Evaluator, Garbler, Scheme};
use tacit_kernels::{Block, Prg, Tweak, Use};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// The operations of a walk that differ between garbling and evaluating.
pub(crate) trait Walker {
    /// The walker's data for a wire.
    type Wire: Copy + Default + Zeroize;
    /// The tables of a segment, to write or to read.
    type Tables<'t>;

    /// Returns a constant's wire. Both parties derive the active label.
    fn constant(&mut self, active: Block, bit: bool) -> Self::Wire;
    /// Starts `program`, which is call `number`.
    fn begin(&mut self, number: u32, program: &Program, inputs: &[Self::Wire]);
    /// Returns the number of bytes of a segment's tables.
    fn table_bytes(&self, program: &Program, segment: usize) -> usize;
    /// Walks through the next segment.
    fn segment(&mut self, program: &Program, segment: usize, tables: Self::Tables<'_>);
    /// Appends the outputs of the program that was walked through.
    fn finish(&mut self, program: &Program, outputs: &mut Vec<Self::Wire>);
}

/// A garbling walker. A wire is its label of 0.
pub(crate) struct Garbling<S: Scheme> {
    scheme: S,
    garbler: S::Garbler,
}

/// An evaluating walker. A wire is its active label.
pub(crate) struct Evaluating<S: Scheme> {
    scheme: S,
    evaluator: S::Evaluator,
}

impl<S: Scheme<Wire = Block>> Garbling<S> {
    /// Returns the walker of a garbling.
    pub(crate) fn new(scheme: S, material: &Material) -> Self {
        let Material { seed, start, delta } = *material;
        let garbler = scheme.garbler(seed, start, delta);
        Self { scheme, garbler }
    }
}

impl<S: Scheme<Wire = Block>> Evaluating<S> {
    /// Returns the walker of a garbling that starts at `start`.
    pub(crate) fn new(scheme: S, start: Block) -> Self {
        let evaluator = scheme.evaluator(start);
        Self { scheme, evaluator }
    }
}

impl<S: Scheme<Wire = Block>> Walker for Garbling<S> {
    type Wire = Block;
    type Tables<'t> = &'t mut [u8];

    fn constant(&mut self, active: Block, bit: bool) -> Block {
        self.garbler.wire_with_active(active, bit)
    }

    fn begin(&mut self, number: u32, program: &Program, inputs: &[Block]) {
        self.garbler.begin(number, program, inputs);
    }

    fn table_bytes(&self, program: &Program, segment: usize) -> usize {
        self.scheme.table_bytes(program, segment)
    }

    fn segment(&mut self, program: &Program, segment: usize, tables: &mut [u8]) {
        self.garbler.garble(program, segment, tables);
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<Block>) {
        self.garbler.finish(program, outputs);
    }
}

impl<S: Scheme<Wire = Block>> Walker for Evaluating<S> {
    type Wire = Block;
    type Tables<'t> = &'t [u8];

    fn constant(&mut self, active: Block, _: bool) -> Block {
        active
    }

    fn begin(&mut self, number: u32, program: &Program, inputs: &[Block]) {
        self.evaluator.begin(number, program, inputs);
    }

    fn table_bytes(&self, program: &Program, segment: usize) -> usize {
        self.scheme.table_bytes(program, segment)
    }

    fn segment(&mut self, program: &Program, segment: usize, tables: &[u8]) {
        self.evaluator.evaluate(program, segment, tables);
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<Block>) {
        self.evaluator.finish(program, outputs);
    }
}

/// The secrets and the start point of a garbling.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Material {
    pub(crate) seed: [u8; 32],
    pub(crate) start: Block,
    pub(crate) delta: Block,
}

/// The labels of a function's inputs: labels of value 0 for garbling, active labels for evaluating.
#[derive(Clone, Copy)]
pub(crate) struct InputLabels<'a, T = Block> {
    /// Labels of the garbler's input, and of the bits that it adds to mask its result.
    pub(crate) garbler: &'a [T],
    /// Labels of the evaluator's input, and of the bits that it adds to mask its result.
    pub(crate) evaluator: &'a [T],
    /// Labels of loaded values.
    pub(crate) loaded: &'a [T],
}

/// A function with the components that mask its results.
pub(crate) struct Whole<'f, S> {
    pub(crate) scheme: S,
    pub(crate) function: &'f Function,
    /// The component that masks the garbler's result. Without it the garbler gets no result.
    pub(crate) for_garbler: Option<Component>,
    /// The component that masks the evaluator's result. Without it that result is not masked.
    pub(crate) for_evaluator: Option<Component>,
}

impl<'f, S: Scheme<Wire = Block>> Whole<'f, S> {
    /// Garbles the function. Appends its tables, and returns the labels of 0 of its outputs: the
    /// evaluator's, the garbler's, and the saved values.
    pub(crate) fn garble(
        self,
        material: &Material,
        inputs: InputLabels<'_>,
        tables: &mut Vec<u8>,
    ) -> Zeroizing<Vec<Block>> {
        let mut walk = self.garbling(material, inputs);
        while walk.append(tables) {}
        walk.outputs()
    }

    /// Returns a walk that garbles the function and pauses after each segment.
    pub(crate) fn garbling(
        self,
        material: &Material,
        inputs: InputLabels<'_>,
    ) -> MaskedWalk<'f, Garbling<S>> {
        let garbling = Garbling::new(self.scheme, material);
        MaskedWalk::new(self, garbling, material.start, inputs)
    }

    /// Returns the labels of the outputs of a garbling whose tables start at `start`. Any tables of
    /// the right length lead to some labels.
    pub(crate) fn evaluate(
        self,
        start: Block,
        mut tables: &[u8],
        inputs: InputLabels<'_>,
    ) -> Zeroizing<Vec<Block>> {
        let evaluating = Evaluating::new(self.scheme, start);
        let mut walk = MaskedWalk::new(self, evaluating, start, inputs);
        while let Some(bytes) = walk.next_bytes() {
            let these;
            (these, tables) = tables.split_at(bytes);
            walk.segment(these);
        }
        walk.outputs()
    }

    /// Returns the number of bytes of its tables, or `None` if that number overflows.
    pub(crate) fn table_bytes(&self) -> Option<usize> {
        let of = |component: &Component| -> usize {
            let program = component.program();
            let segments = 0..program.segments().len();
            let bytes = segments.map(|segment| self.scheme.table_bytes(program, segment));
            bytes.sum()
        };
        let masks = [&self.for_garbler, &self.for_evaluator];
        let mut total: usize = masks.into_iter().flatten().map(of).sum();
        let function = self.function;
        for (component, calls) in function.components().iter().zip(function.component_calls()) {
            total = total.checked_add(of(component).checked_mul(*calls as usize)?)?;
        }
        Some(total)
    }
}

/// The position of a walk.
enum WalkPosition<'f, T: Copy + Default + Zeroize> {
    /// The walk is in a call of the function.
    Call(Box<Values<'f, T>>, &'f Component),
    /// The walk is in the component that masks the result of this party.
    Mask(Role, Component, Outputs<'f, T>),
    End,
}

impl<T: Copy + Default + Zeroize> WalkPosition<'_, T> {
    /// Returns the program whose segments come next.
    fn program(&self) -> Option<&Program> {
        match self {
            Self::Call(_, component) => Some(component.program()),
            Self::Mask(_, component, _) => Some(component.program()),
            Self::End => None,
        }
    }
}

/// The pending masking of a result.
struct Mask<T: Zeroize> {
    component: Component,
    /// The number of the component as a call.
    number: u32,
    /// The inputs that the component takes in addition to the result.
    added: Zeroizing<Vec<T>>,
}

/// A walk through a function and the components that mask its results. It pauses before each
/// segment.
pub(crate) struct MaskedWalk<'f, W: Walker> {
    walker: W,
    constants: Prg,
    position: WalkPosition<'f, W::Wire>,
    /// The number of the next segment.
    segment: usize,
    /// The pending masks of the evaluator's and the garbler's results.
    masks: [Option<Mask<W::Wire>>; 2],
    outputs: Zeroizing<Vec<W::Wire>>,
}

impl<'f, W: Walker> MaskedWalk<'f, W> {
    /// Returns a walk of a garbling that starts at `start`.
    pub(crate) fn new<S>(
        whole: Whole<'f, S>,
        walker: W,
        start: Block,
        inputs: InputLabels<'_, W::Wire>,
    ) -> Self {
        let function = whole.function;
        let (given, added) = inputs.garbler.split_at(function.input_bits(Role::Garbler));
        let (chosen, chosen_added) = inputs
            .evaluator
            .split_at(function.input_bits(Role::Evaluator));
        let mut given = given.iter().copied();
        let mut chosen = chosen.iter().copied();
        let mut loaded = inputs.loaded.iter().copied();
        let values = Values::new(function, |port| {
            let input = function.inputs().get(port);
            let wire = match input.map(|input| input.owner) {
                Some(Role::Garbler) => given.next(),
                Some(Role::Evaluator) => chosen.next(),
                None => loaded.next(),
            };
            Ok::<_, Infallible>(wire.expect("a wire for each input bit"))
        });
        let Ok(values) = values;
        let of_mask = |component: &Option<Component>, clear| {
            let outputs = |component: &Component| component.program().outputs().len();
            component.as_ref().map_or(clear, outputs)
        };
        let clear_bits = function.output_bits(Role::Evaluator);
        let saved_bits: usize = function.saves().iter().map(|port| port.ty.width()).sum();
        let output_bits =
            of_mask(&whole.for_evaluator, clear_bits) + of_mask(&whole.for_garbler, 0) + saved_bits;
        let calls = function.call_count();
        let mask = |component: Option<Component>, number, added: &[W::Wire]| {
            component.map(|component| Mask {
                component,
                number,
                added: Zeroizing::new(added.to_vec()),
            })
        };
        let mut walk = Self {
            walker,
            constants: Prg::new(constant_seed(start)),
            position: WalkPosition::End,
            segment: 0,
            masks: [
                mask(whole.for_evaluator, calls + 1, chosen_added),
                mask(whole.for_garbler, calls, added),
            ],
            outputs: Zeroizing::new(Vec::with_capacity(output_bits)),
        };
        walk.next_call(Box::new(values));
        walk.leave_programs();
        walk
    }

    /// Returns the walker.
    pub(crate) fn walker(&self) -> &W {
        &self.walker
    }

    /// Returns the number of bytes of the tables of the next segment, or `None` at the end.
    pub(crate) fn next_bytes(&self) -> Option<usize> {
        let program = self.position.program()?;
        Some(self.walker.table_bytes(program, self.segment))
    }

    /// Walks through the next segment.
    ///
    /// # Panics
    ///
    /// Panics if no segment is left, or if `tables` are not of its size.
    pub(crate) fn segment(&mut self, tables: W::Tables<'_>) {
        let program = self
            .position
            .program()
            .expect("a walk that is not at its end");
        self.walker.segment(program, self.segment, tables);
        self.segment += 1;
        self.leave_programs();
    }

    /// Returns the outputs: the evaluator's, the garbler's, and the saved values.
    ///
    /// # Panics
    ///
    /// If the walk is not at its end.
    pub(crate) fn outputs(self) -> Zeroizing<Vec<W::Wire>> {
        assert!(
            matches!(self.position, WalkPosition::End),
            "a walk has its outputs at its end"
        );
        self.outputs
    }

    /// Leaves each program that has no segment left, and starts the next.
    fn leave_programs(&mut self) {
        while let Some(program) = self.position.program()
            && self.segment == program.segments().len()
        {
            let mut results = Zeroizing::new(Vec::with_capacity(program.outputs().len()));
            self.walker.finish(program, &mut results);
            match mem::replace(&mut self.position, WalkPosition::End) {
                WalkPosition::Call(mut values, _) => {
                    values.finish_call(&results);
                    self.next_call(values);
                }
                WalkPosition::Mask(role, _, outputs) => self.masked(role, &results, outputs),
                WalkPosition::End => {}
            }
        }
    }

    fn next_call(&mut self, mut values: Box<Values<'f, W::Wire>>) {
        let (walker, constants) = (&mut self.walker, &mut self.constants);
        let mut constant = |bit| walker.constant(constants.next_block(), bit);
        let Some(call) = values.next_call(&mut constant) else {
            let outputs = values.outputs(constant);
            self.mask(Role::Evaluator, outputs);
            return;
        };
        let program = call.component.program();
        self.walker.begin(call.number, program, values.arguments());
        self.segment = 0;
        self.position = WalkPosition::Call(values, call.component);
    }

    /// Starts to mask a party's result.
    fn mask(&mut self, role: Role, outputs: Outputs<'f, W::Wire>) {
        let mut clear = outputs.of(role);
        let mask = match role {
            Role::Evaluator => self.masks[0].take(),
            Role::Garbler => self.masks[1].take(),
        };
        match (mask, role) {
            (Some(mask), _) => {
                clear.extend_from_slice(&mask.added);
                let program = mask.component.program();
                self.walker.begin(mask.number, program, &clear);
                self.segment = 0;
                self.position = WalkPosition::Mask(role, mask.component, outputs);
            }
            (None, Role::Evaluator) => self.masked(role, &clear, outputs),
            (None, Role::Garbler) => self.masked(role, &[], outputs),
        }
    }

    /// Takes a party's masked result.
    fn masked(&mut self, role: Role, result: &[W::Wire], outputs: Outputs<'f, W::Wire>) {
        self.outputs.extend_from_slice(result);
        match role {
            Role::Evaluator => self.mask(Role::Garbler, outputs),
            Role::Garbler => self.outputs.extend_from_slice(outputs.saved()),
        }
    }
}

impl<S: Scheme<Wire = Block>> MaskedWalk<'_, Garbling<S>> {
    /// Appends the tables of the next segment. Returns `false` at the end.
    pub(crate) fn append(&mut self, tables: &mut Vec<u8>) -> bool {
        let Some(bytes) = self.next_bytes() else {
            return false;
        };
        let begin = tables.len();
        tables.resize(begin + bytes, 0);
        self.segment(&mut tables[begin..]);
        true
    }
}

/// Returns the seed of the public labels of constants.
fn constant_seed(start: Block) -> Block {
    let tweak = Tweak::of(Use::PublicLabel, 0);
    start ^ tweak.to_block()
}
