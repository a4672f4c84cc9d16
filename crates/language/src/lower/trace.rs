//! Runs functions over wires in place of values, with every loop unrolled.

use super::addends::{Pending, Tree};
use super::branch::OverwrittenWires;
use super::lines::{Recorder, RecorderMark, SiteId};
use super::network::{Loops, Network};
use super::operators::{Bits, Operators};
use super::order_free::{Judged, variable};
use super::pairs::PairLoop;
use super::pieces::{Piece, PieceRows, pieces};
use super::size::Cuts;
use super::{CircuitFiles, Diagnostic, Lower, component, size};
use crate::program::{
    Block, Body, Expression, ExpressionKind, Function, FunctionId, Intrinsic, Loop, Number,
    Program, Statement, StatementKind, TypeId, Value, Variable,
};
use crate::source::Span;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;

use tacit_circuit::builder::{Bit, Builder, Bus};

/// The greatest number of steps of an unrolled run.
pub(super) const MAX_STEPS: u64 = 1 << 26;
/// The number of steps between reports of progress.
pub(super) const STEPS_BETWEEN: u64 = 1 << 18;
/// The greatest number of gates of a circuit.
pub(super) const MAX_GATES: usize = 1 << 24;

/// The target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Called {
    /// A `component fn`.
    Function(FunctionId),
    /// A component that adds up some of the addends of a loop.
    Tree(Tree),
    /// The turns of a loop over pairs, by its number, and the components that add them up.
    PairLoop(u32),
    /// A network of calls, by its number.
    Network(u32),
}

/// A call of a component that is not inlined.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The target of the call.
    pub(super) called: Called,
    /// The call's place in the source.
    pub(super) span: Span,
    /// The calling site, if costs are recorded.
    pub(super) site: SiteId,
    /// The number of gates made before the call.
    pub(super) gates: usize,
    /// The rows of [`Calls::arguments`] that the call reads, one for each argument that has bits.
    pub(super) arguments: Range<u32>,
    /// The places of the call's result.
    pub(super) result: Range<usize>,
}

/// The calls in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    pub(super) list: Vec<Call>,
    pub(super) arguments: PieceRows,
}

impl Calls {
    /// Returns the arguments of a call.
    pub(super) fn arguments_of(&self, call: &Call) -> impl Iterator<Item = &[Piece]> + Clone {
        let Range { start, end } = call.arguments;
        self.arguments.rows(start as usize..end as usize)
    }
}

/// The treatment of component calls.
pub(super) enum Components {
    /// Components are inlined, since this trace is of a component itself.
    Inline,
    /// Each component is called, and the results are late inputs.
    Call(Calls),
}

pub(super) struct Tracer<'b, 'p> {
    pub(super) builder: &'b Builder,
    pub(super) program: &'p Program,
    pub(super) files: &'p dyn CircuitFiles,
    pub(super) states: Vec<Bits<'b>>,
    /// The number of late inputs that the run gets.
    pub(super) given: usize,
    /// The random bits that the run draws, in order.
    pub(super) random: Bits<'b>,
    /// The number of random bits drawn so far.
    pub(super) drawn: usize,
    pub(super) components: Components,
    pub(super) left: u64,
    /// Gets the number of completed steps from time to time.
    pub(super) tell: &'p dyn Fn(u64),
    /// The elements into which the calls so far cut the run's value.
    pub(super) cuts: Cuts,
    /// Records the origins of gates, if costs are recorded.
    pub(super) recorder: Option<Recorder>,
    /// The judgements of the loops visited so far, by their addresses in memory.
    pub(super) judged: HashMap<*const Loop, Rc<Judged>>,
    /// The loops over pairs visited so far.
    pub(super) pair_loops: Vec<PairLoop>,
    /// The loop among them that gives a result with an element for each pair.
    pub(super) by_pair: Option<u32>,
    /// Whether networks of calls stay loops.
    pub(super) keeps_networks: bool,
    /// The networks visited so far.
    pub(super) networks: Vec<Network>,
    /// The networks that start at the loops visited so far, by the loops' addresses in memory.
    pub(super) network_loops: HashMap<*const Statement, Option<Rc<Loops>>>,
}

/// The variables of a call.
pub(super) struct Frame<'b, 'p> {
    pub(super) function: &'p Function,
    pub(super) locals: Vec<Bits<'b>>,
    pub(super) counters: Vec<i128>,
    /// The wires overwritten under the innermost secret condition, oldest first.
    pub(super) log: Option<Vec<OverwrittenWires<'b>>>,
    /// The surrounding secret conditions, outermost first.
    pub(super) conditions: Vec<Bit<'b>>,
    /// The variables that surrounding loops add up.
    pub(super) pending: BTreeMap<Variable, Pending<'b>>,
}

impl<'b, 'p> Tracer<'b, 'p> {
    pub(super) fn new(
        builder: &'b Builder,
        program: &'p Program,
        files: &'p dyn CircuitFiles,
        components: Components,
    ) -> Self {
        Self {
            builder,
            program,
            files,
            states: Vec::new(),
            given: 0,
            random: Vec::new(),
            drawn: 0,
            components,
            left: MAX_STEPS,
            tell: &|_| {},
            cuts: Cuts::default(),
            recorder: None,
            judged: HashMap::new(),
            pair_loops: Vec::new(),
            by_pair: None,
            keeps_networks: false,
            networks: Vec::new(),
            network_loops: HashMap::new(),
        }
    }

    pub(super) fn operators(&self) -> Operators<'b, 'p> {
        Operators {
            builder: self.builder,
            types: &self.program.types,
        }
    }

    fn burn(&mut self, span: Span) -> Lower<()> {
        self.check_gates(0, span)?;
        self.left = match self.left.checked_sub(1) {
            Some(left) => left,
            None => return Err(size::too_long(span, "what is computed here")),
        };
        if self.left.is_multiple_of(STEPS_BETWEEN) {
            (self.tell)(MAX_STEPS - self.left);
        }
        Ok(())
    }

    /// Refuses a circuit that would have more than [`MAX_GATES`] gates after `more` gates.
    pub(super) fn check_gates(&self, more: usize, span: Span) -> Lower<()> {
        if self.builder.gate_count().saturating_add(more) <= MAX_GATES {
            return Ok(());
        }
        let message = "the program up to here has more than 2^24 gates: put a part that \
                       repeats into a `component fn`, which is garbled by itself";
        Err(Diagnostic::new(span, message))
    }

    /// Returns the result of a function.
    pub(super) fn call(&mut self, id: FunctionId, arguments: Vec<Bits<'b>>) -> Lower<Bits<'b>> {
        let program = self.program;
        let function = &program.functions[id.0 as usize];
        let block = match &function.body {
            Body::Block(block) => block,
            Body::Library(..) | Body::File(..) => {
                let circuit = component::external(program, function, self.files)?;
                return Ok(self.splice(function, &circuit, &arguments));
            }
        };
        let mut frame = Frame {
            function,
            locals: vec![Vec::new(); function.locals.len()],
            counters: vec![0; function.counters.len()],
            log: None,
            conditions: Vec::new(),
            pending: BTreeMap::new(),
        };
        for (local, bits) in function.parameters.iter().zip(arguments) {
            frame.locals[local.0 as usize] = bits;
        }
        let before = self.recorder.as_mut().map(|recorder| recorder.enter(id));
        let result = self.block(&mut frame, block);
        self.go_back(before);
        result
    }

    fn go_to(&mut self, span: Span) -> Option<RecorderMark> {
        let gates = self.builder.gate_count();
        let recorder = self.recorder.as_mut();
        recorder.map(|recorder| recorder.go_to(span, gates))
    }

    /// Returns the site of a place in the source, if costs are recorded.
    pub(super) fn site_at(&mut self, span: Span) -> SiteId {
        let gates = self.builder.gate_count();
        let Some(recorder) = &mut self.recorder else {
            return 0;
        };
        let before = recorder.go_to(span, gates);
        let site = recorder.site();
        recorder.go_back(before, gates);
        site
    }

    fn go_back(&mut self, before: Option<RecorderMark>) {
        if let (Some(recorder), Some(before)) = (&mut self.recorder, before) {
            recorder.go_back(before, self.builder.gate_count());
        }
    }

    /// Inserts a circuit in the place of a call.
    fn splice(
        &self,
        function: &Function,
        circuit: &tacit_circuit::Circuit,
        arguments: &[Bits<'b>],
    ) -> Bits<'b> {
        let buses: Vec<Bus<'b>> = arguments
            .iter()
            .map(|bits| Bus::from_bits(self.builder, bits.iter().copied()))
            .collect();
        let results = self.builder.call(circuit, &buses);
        let bits: Bits<'b> = results.iter().flat_map(Bus::bits).collect();
        self.operators().canonical(function.result, &bits)
    }

    pub(super) fn block(&mut self, frame: &mut Frame<'b, 'p>, block: &'p Block) -> Lower<Bits<'b>> {
        self.statements(frame, &block.statements)?;
        self.expression(frame, &block.value)
    }

    pub(super) fn statement(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        statement: &'p Statement,
    ) -> Lower<()> {
        self.burn(statement.span)?;
        let before = self.go_to(statement.span);
        let done = self.do_statement(frame, statement);
        self.go_back(before);
        done
    }

    fn do_statement(&mut self, frame: &mut Frame<'b, 'p>, statement: &'p Statement) -> Lower<()> {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Let(local, value) => {
                let bits = self.expression(frame, value)?;
                frame.locals[local.0 as usize] = bits;
            }
            StatementKind::Assign(place, value)
                if variable(place).is_some_and(|of| frame.pending.contains_key(&of)) =>
            {
                self.add_at(frame, place, value)?;
            }
            StatementKind::Assign(place, value) => {
                let bits = self.expression(frame, value)?;
                self.assign(frame, place, &bits)?;
            }
            StatementKind::If(condition, then, otherwise) => {
                self.choose(
                    frame,
                    condition,
                    span,
                    |this, frame| this.statements(frame, then).map(|()| Vec::new()),
                    |this, frame| this.statements(frame, otherwise).map(|()| Vec::new()),
                )?;
            }
            StatementKind::For(each) if each.is_over_pairs => self.pair_loop(frame, each, span)?,
            StatementKind::For(each) => {
                let from = self.number(frame, &each.from, span)?;
                let to = self.number(frame, &each.to, span)?;
                let sums = self.order_free(frame, each);
                let made = self.made();
                for value in from..to {
                    self.burn(span)?;
                    frame.counters[each.counter.0 as usize] = value;
                    self.statements(frame, &each.body)?;
                }
                for variable in sums {
                    self.give_sum(frame, variable, span)?;
                }
                self.note_loop(frame, each, (span, from..to), made);
            }
            StatementKind::Evaluate(value) => {
                self.expression(frame, value)?;
            }
            StatementKind::Assert(_) | StatementKind::Debug(_) => {}
        }
        Ok(())
    }

    pub(super) fn number(&self, frame: &Frame<'b, 'p>, number: &Number, span: Span) -> Lower<i128> {
        number.at(&frame.counters, span)
    }

    pub(super) fn constant(&self, ty: TypeId, value: &Value) -> Bits<'b> {
        let bits = self.program.types.bits_of_value(ty, value);
        bits.into_iter()
            .map(|bit| self.builder.constant(bit))
            .collect()
    }

    pub(super) fn expression(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        of: &'p Expression,
    ) -> Lower<Bits<'b>> {
        self.burn(of.span)?;
        let before = self.go_to(of.span);
        let bits = self.value_of(frame, of);
        self.go_back(before);
        bits
    }

    fn value_of(&mut self, frame: &mut Frame<'b, 'p>, of: &'p Expression) -> Lower<Bits<'b>> {
        let operators = self.operators();
        match &of.kind {
            ExpressionKind::Constant(value) => Ok(self.constant(of.ty, value)),
            ExpressionKind::Number(number) => {
                let value = self.number(frame, number, of.span)?;
                let value = self.program.types.value_of_number(of.ty, value);
                Ok(self.constant(of.ty, &value))
            }
            ExpressionKind::Read(place) => self.read(frame, place),
            ExpressionKind::Unary(operator, a) => {
                let bits = self.expression(frame, a)?;
                Ok(operators.unary(*operator, &bits))
            }
            ExpressionKind::Binary(operator, a, b) => {
                let (left, right) = (self.expression(frame, a)?, self.expression(frame, b)?);
                self.check_gates(operators.least_gates(*operator, &left, &right), of.span)?;
                Ok(operators.binary(*operator, a.ty, &left, &right))
            }
            ExpressionKind::Shift(operator, a, amount) => {
                let by = self.number(frame, amount, of.span)?.unsigned_abs();
                Ok(operators.shift(*operator, a.ty, &self.expression(frame, a)?, by))
            }
            ExpressionKind::Cast(a) => {
                let bits = self.expression(frame, a)?;
                Ok(operators.cast(a.ty, of.ty, &bits))
            }
            ExpressionKind::If(condition, then, otherwise) => self.choose(
                frame,
                condition,
                of.span,
                |this, frame| this.expression(frame, then),
                |this, frame| this.expression(frame, otherwise),
            ),
            ExpressionKind::Block(block) => self.block(frame, block),
            ExpressionKind::Aggregate(parts) => {
                Ok(self.all(frame, parts)?.into_iter().flatten().collect())
            }
            ExpressionKind::Repeat(a) => {
                let bits = self.expression(frame, a)?;
                Ok(bits.repeat(self.program.types.length(of.ty)))
            }
            ExpressionKind::Comprehension(counter, from, a) => {
                let from = self.number(frame, from, of.span)?;
                let mut bits = Vec::with_capacity(self.program.types.width(of.ty) as usize);
                for turn in 0..self.program.types.length(of.ty) {
                    frame.counters[counter.0 as usize] = from + turn as i128;
                    bits.extend(self.expression(frame, a)?);
                }
                Ok(bits)
            }
            ExpressionKind::ForEachPair(counter, value) => {
                self.for_each_pair(frame, *counter, value, of.span)?;
                Ok(Vec::new())
            }
            ExpressionKind::Call(function, arguments) => {
                let arguments = self.all(frame, arguments)?;
                self.function_call(*function, arguments, of.span)
            }
            ExpressionKind::Run(..) => Err(Diagnostic::new(
                of.span,
                "a run is called, which only tests do".to_owned(),
            )),
            ExpressionKind::Intrinsic(Intrinsic::Random, _) => Ok(self.draw(of.ty)),
            ExpressionKind::Intrinsic(intrinsic, given) => {
                let types: Vec<TypeId> = given.iter().map(|argument| argument.ty).collect();
                let given = self.all(frame, given)?;
                Ok(operators.intrinsic(*intrinsic, of.ty, &types, &given))
            }
        }
    }

    fn all(&mut self, frame: &mut Frame<'b, 'p>, of: &'p [Expression]) -> Lower<Vec<Bits<'b>>> {
        of.iter().map(|part| self.expression(frame, part)).collect()
    }

    /// Calls a component if this run calls components, and inlines it otherwise.
    fn function_call(
        &mut self,
        id: FunctionId,
        arguments: Vec<Bits<'b>>,
        span: Span,
    ) -> Lower<Bits<'b>> {
        let function = &self.program.functions[id.0 as usize];
        let width = self.program.types.width(function.result) as usize;
        let has_bits = width > 0 && arguments.iter().any(|bits| !bits.is_empty());
        if !self.calls_components() || !function.is_component || !has_bits {
            return self.call(id, arguments);
        }
        let result = self.called(Called::Function(id), arguments, width, span);
        if let Components::Call(calls) = &self.components {
            let call = calls.list.last().expect("the call that was made");
            calls
                .arguments_of(call)
                .try_for_each(|row| self.cuts.add(row, span))?;
        }
        Ok(result)
    }

    /// Whether this trace calls components. The trace of a component does not.
    pub(super) fn calls_components(&self) -> bool {
        matches!(self.components, Components::Call(_))
    }

    /// Returns the result of a call that is not inlined.
    pub(super) fn called(
        &mut self,
        called: Called,
        arguments: Vec<Bits<'b>>,
        width: usize,
        span: Span,
    ) -> Bits<'b> {
        let Components::Call(calls) = &mut self.components else {
            unreachable!("a component calls none");
        };
        let site = self.recorder.as_ref().map_or(0, Recorder::site);
        let start = calls.list.last().map_or(self.given, |call| call.result.end);
        let first = calls.arguments.len() as u32;
        for bits in arguments.iter().filter(|bits| !bits.is_empty()) {
            calls.arguments.push(&pieces(bits));
        }
        calls.list.push(Call {
            called,
            span,
            site,
            gates: self.builder.gate_count(),
            arguments: first..calls.arguments.len() as u32,
            result: start..start + width,
        });
        self.builder.late_inputs(width).bits().collect()
    }

    /// Draws the next random bits as a value.
    fn draw(&mut self, ty: TypeId) -> Bits<'b> {
        let width = self.program.types.width(ty) as usize;
        let drawn = self.drawn..self.drawn + width;
        self.drawn = drawn.end;
        match self.random.get(drawn) {
            Some(bits) => self.operators().canonical(ty, bits),
            // A first trace of the run counts the random bits.
            None => vec![self.builder.constant(false); width],
        }
    }
}
