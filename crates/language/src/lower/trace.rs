//! Runs functions over wires in place of values, every loop unrolled.

use super::lines::{Before, Recorder, SiteId};
use super::operators::{Bits, Operators};
use super::{CircuitFiles, Error, Lower, component, size};
use crate::program::{
    Block, Body, Condition, Expression, ExpressionKind, Function, FunctionId, Intrinsic, Number,
    Program, Statement, StatementKind, TypeId, Value,
};
use crate::source::Span;

use std::collections::BTreeMap;

use tacit_circuit::builder::{Bit, Builder, Bus};

/// Most steps of a run that is unrolled.
pub(super) const MAX_STEPS: u64 = 1 << 26;
/// Steps from one report of progress to the next.
const STEPS_BETWEEN: u64 = 1 << 18;
/// Most gates of a circuit.
pub(super) const MAX_GATES: usize = 1 << 24;

/// A call of a component that is not inlined.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// What is called.
    pub(super) function: FunctionId,
    /// Where the call is written.
    pub(super) span: Span,
    /// Who calls, where that is recorded.
    pub(super) site: SiteId,
}

/// What becomes of component calls.
pub(super) enum Components {
    /// They are inlined: this is a component itself.
    Inline,
    /// Each is a call, whose arguments are outputs and whose result is inputs of the circuit.
    Call(Vec<Call>),
}

pub(super) struct Tracer<'b, 'p> {
    pub(super) builder: &'b Builder,
    pub(super) program: &'p Program,
    pub(super) files: &'p dyn CircuitFiles,
    pub(super) states: Vec<Bits<'b>>,
    /// Random bits that are drawn one after the other.
    pub(super) random: Bits<'b>,
    /// How many of them are drawn.
    pub(super) drawn: usize,
    pub(super) components: Components,
    pub(super) left: u64,
    /// Hears now and then how many steps are done.
    pub(super) tell: &'p dyn Fn(u64),
    /// Notes who makes gates, where that is asked for.
    pub(super) recorder: Option<Recorder>,
}

/// The variables of a call.
pub(super) struct Frame<'b, 'p> {
    pub(super) function: &'p Function,
    pub(super) locals: Vec<Bits<'b>>,
    pub(super) counters: Vec<i128>,
    /// What was overwritten under the innermost secret condition, oldest first.
    pub(super) log: Option<Vec<Written<'b>>>,
}

/// A variable or a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variable {
    Local(u32),
    State(u32),
}

/// Wires that were overwritten.
pub(super) struct Written<'b> {
    pub(super) variable: Variable,
    pub(super) start: usize,
    pub(super) before: Bits<'b>,
}

/// The wires that a branch gave to bits of variables.
type Changes<'b> = BTreeMap<(Variable, usize), Bit<'b>>;

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
            random: Vec::new(),
            drawn: 0,
            components,
            left: MAX_STEPS,
            tell: &|_| {},
            recorder: None,
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

    /// Refuses a circuit that has more than [`MAX_GATES`] gates with `more`.
    pub(super) fn check_gates(&self, more: usize, span: Span) -> Lower<()> {
        if self.builder.gate_count().saturating_add(more) <= MAX_GATES {
            return Ok(());
        }
        let message = "what is written up to here has more than 2^24 gates: put a part that \
                       repeats into a `component fn`, which is garbled by itself";
        Err(Error::At(span, message.to_owned()))
    }

    /// The result of a function.
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
        };
        for (local, bits) in function.parameters.iter().zip(arguments) {
            frame.locals[local.0 as usize] = bits;
        }
        let before = self.recorder.as_mut().map(|recorder| recorder.enter(id));
        let result = self.block(&mut frame, block);
        self.go_back(before);
        result
    }

    fn go_to(&mut self, span: Span) -> Option<Before> {
        let gates = self.builder.gate_count();
        let recorder = self.recorder.as_mut();
        recorder.map(|recorder| recorder.go_to(span, gates))
    }

    fn go_back(&mut self, before: Option<Before>) {
        if let (Some(recorder), Some(before)) = (&mut self.recorder, before) {
            recorder.go_back(before, self.builder.gate_count());
        }
    }

    /// A circuit in the place of a call.
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

    fn statements(&mut self, frame: &mut Frame<'b, 'p>, statements: &'p [Statement]) -> Lower<()> {
        statements.iter().try_for_each(|s| self.statement(frame, s))
    }

    fn statement(&mut self, frame: &mut Frame<'b, 'p>, statement: &'p Statement) -> Lower<()> {
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
            StatementKind::For(each) => {
                let from = self.number(frame, &each.from, span)?;
                let to = self.number(frame, &each.to, span)?;
                for value in from..to {
                    self.burn(span)?;
                    frame.counters[each.counter.0 as usize] = value;
                    self.statements(frame, &each.body)?;
                }
            }
            StatementKind::Evaluate(value) => {
                self.expression(frame, value)?;
            }
            StatementKind::Assert(_) | StatementKind::Debug(_) => {}
        }
        Ok(())
    }

    /// One branch, or both and a selection of what they give and assign.
    fn choose(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        condition: &'p Condition,
        span: Span,
        then: impl FnOnce(&mut Self, &mut Frame<'b, 'p>) -> Lower<Bits<'b>>,
        otherwise: impl FnOnce(&mut Self, &mut Frame<'b, 'p>) -> Lower<Bits<'b>>,
    ) -> Lower<Bits<'b>> {
        let bit = match condition {
            Condition::Guard(number) => {
                return match self.number(frame, number, span)? {
                    0 => otherwise(self, frame),
                    _ => then(self, frame),
                };
            }
            Condition::Secret(value) => self.expression(frame, value)?[0],
        };
        let outer = frame.log.replace(Vec::new());
        let first = then(self, frame)?;
        let changed = self.undo(frame);
        frame.log = Some(Vec::new());
        let second = otherwise(self, frame)?;
        let other = self.undo(frame);
        frame.log = outer;
        self.merge(frame, bit, &changed, &other);
        Ok(self.operators().select(bit, &first, &second))
    }

    /// Puts back what was overwritten, and gives what it was overwritten with.
    fn undo(&mut self, frame: &mut Frame<'b, 'p>) -> Changes<'b> {
        let log = frame.log.take().unwrap_or_default();
        let mut changes = Changes::new();
        for Written {
            variable,
            start,
            before,
        } in &log
        {
            let now = &self.wires(frame, *variable)[*start..*start + before.len()];
            for (place, bit) in now.iter().enumerate() {
                changes.insert((*variable, start + place), *bit);
            }
        }
        for written in log.iter().rev() {
            let end = written.start + written.before.len();
            let wires = self.wires_mut(frame, written.variable);
            wires[written.start..end].copy_from_slice(&written.before);
        }
        changes
    }

    fn merge(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        condition: Bit<'b>,
        then: &Changes<'b>,
        otherwise: &Changes<'b>,
    ) {
        let keys: std::collections::BTreeSet<_> = then.keys().chain(otherwise.keys()).collect();
        let mut run: Option<(Variable, usize, Bits<'b>)> = None;
        for &(variable, place) in keys {
            let before = self.wires(frame, variable)[place];
            let a = *then.get(&(variable, place)).unwrap_or(&before);
            let b = *otherwise.get(&(variable, place)).unwrap_or(&before);
            let bit = b ^ (condition & (a ^ b));
            match &mut run {
                Some((of, start, bits)) if *of == variable && *start + bits.len() == place => {
                    bits.push(bit);
                }
                _ => {
                    if let Some((variable, start, bits)) = run.replace((variable, place, vec![bit]))
                    {
                        self.write(frame, variable, start, &bits);
                    }
                }
            }
        }
        if let Some((variable, start, bits)) = run {
            self.write(frame, variable, start, &bits);
        }
    }

    pub(super) fn number(&self, frame: &Frame<'b, 'p>, number: &Number, span: Span) -> Lower<i128> {
        let value = number.evaluate(&frame.counters);
        value.ok_or_else(|| Error::At(span, "this number overflows or divides by zero".to_owned()))
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
                Ok(bits.repeat(self.length(of.ty)))
            }
            ExpressionKind::Comprehension(counter, from, a) => {
                let from = self.number(frame, from, of.span)?;
                let mut bits = Vec::with_capacity(self.program.types.width(of.ty) as usize);
                for turn in 0..self.length(of.ty) {
                    frame.counters[counter.0 as usize] = from + turn as i128;
                    bits.extend(self.expression(frame, a)?);
                }
                Ok(bits)
            }
            ExpressionKind::Call(function, arguments) => {
                let arguments = self.all(frame, arguments)?;
                self.function_call(*function, arguments, of.span)
            }
            ExpressionKind::Run(..) => Err(Error::At(
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

    fn length(&self, ty: TypeId) -> usize {
        self.program
            .types
            .element(ty)
            .map_or(0, |(_, n)| n as usize)
    }

    /// A component is called where this run calls components, else inlined.
    fn function_call(
        &mut self,
        id: FunctionId,
        arguments: Vec<Bits<'b>>,
        span: Span,
    ) -> Lower<Bits<'b>> {
        let function = &self.program.functions[id.0 as usize];
        let width = self.program.types.width(function.result) as usize;
        let has_bits = width > 0 && arguments.iter().any(|bits| !bits.is_empty());
        let Components::Call(calls) = &mut self.components else {
            return self.call(id, arguments);
        };
        if !function.is_component || !has_bits {
            return self.call(id, arguments);
        }
        let number = calls.len();
        let site = self.recorder.as_ref().map_or(0, Recorder::site);
        calls.push(Call {
            function: id,
            span,
            site,
        });
        for (place, bits) in arguments.iter().filter(|bits| !bits.is_empty()).enumerate() {
            let bus = Bus::from_bits(self.builder, bits.iter().copied());
            self.builder.output(&format!("c{number}_{place}"), &bus);
        }
        let result = self.builder.bus(&format!("c{number}"), width);
        Ok(result.bits().collect())
    }

    /// The next random bits as a value.
    fn draw(&mut self, ty: TypeId) -> Bits<'b> {
        let width = self.program.types.width(ty) as usize;
        let drawn = self.drawn..self.drawn + width;
        self.drawn = drawn.end;
        match self.random.get(drawn) {
            Some(bits) => self.operators().canonical(ty, bits),
            // The run is traced once to count them.
            None => vec![self.builder.constant(false); width],
        }
    }
}
