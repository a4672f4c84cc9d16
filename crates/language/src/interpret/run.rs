//! Runs functions on values.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tacit_circuit::Circuit;

use super::intrinsic;
use super::join;
use super::operators;
use crate::diagnostic::Diagnostic;
use crate::lower::{CircuitFiles, NoCircuitFiles, external};
use crate::program::{
    BinaryOperator, Block, Body, Condition, EntryId, Expression, ExpressionKind, FunctionId,
    Intrinsic, Number, Program, Statement, StatementKind, TypeId, Value,
};
use crate::source::Span;

/// The result of a part of a run, or the reason that the run ended early.
pub(super) type Run<T> = Result<T, Box<Diagnostic>>;

/// Returns the result of a function of these arguments. The steps are taken from `fuel`.
pub(crate) fn call(
    program: &Program,
    function: FunctionId,
    arguments: Vec<Value>,
    fuel: &mut u64,
) -> Run<Value> {
    let mut machine = Machine::new(program, *fuel, Random::Seed(0));
    let result = machine.call(function, arguments);
    *fuel = machine.fuel;
    result
}

/// The states of a program, and the resources of a run.
pub(crate) struct Machine<'p> {
    program: &'p Program,
    /// The circuit files that the program names.
    pub(crate) files: &'p dyn CircuitFiles,
    circuits: HashMap<FunctionId, Circuit>,
    pub(crate) states: Vec<Value>,
    /// The number of remaining steps.
    fuel: u64,
    random: Random,
    /// The random bits that this run drew.
    drawn: Vec<bool>,
    /// Checks each run after its end.
    pub(crate) after_run: Option<Watch<'p>>,
    /// The values that a failed assertion compared.
    pub(crate) compared: Option<(Value, Value, TypeId)>,
    /// Receives the values that `debug` shows, with their places in the source.
    pub(crate) debug: Option<Show<'p>>,
    /// Whether the branch being run is not the one taken.
    is_other_branch: bool,
}

/// A completed run.
pub(crate) struct CompletedRun<'r> {
    pub(crate) entry: EntryId,
    pub(crate) inputs: &'r [Value],
    pub(crate) drawn: &'r [bool],
    /// All states before the run.
    pub(crate) before: &'r [Value],
    pub(crate) results: &'r Value,
    /// All states after the run.
    pub(crate) after: &'r [Value],
}

/// Checks a completed run. The error describes what is wrong.
type Watch<'p> = &'p mut dyn FnMut(&CompletedRun<'_>) -> Result<(), String>;

/// Shows a value of an expression at a place of the program.
type Show<'p> = &'p mut dyn FnMut(Span, &str);

/// The source of random bits.
#[derive(Clone, Debug)]
pub(crate) enum Random {
    /// A test generator that always gives the same bits for a seed: SplitMix64 (Steele, Lea and
    /// Flood 2014).
    Seed(u64),
    /// These bits, in reverse order.
    Bits(Vec<bool>),
}

impl Random {
    fn bit(&mut self) -> bool {
        let state = match self {
            Self::Bits(bits) => return bits.pop().unwrap_or(false),
            Self::Seed(state) => state,
        };
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) >> 63 == 1
    }
}

/// The variables of a call.
pub(super) struct Frame {
    pub(super) locals: Vec<Value>,
    counters: Vec<i128>,
}

impl<'p> Machine<'p> {
    /// Creates a machine with the states' first values.
    pub(crate) fn new(program: &'p Program, fuel: u64, random: Random) -> Self {
        let first = |state: &crate::program::StateVariable| {
            let zero = || program.types.zero(state.ty);
            state.value.clone().unwrap_or_else(zero)
        };
        Self {
            program,
            files: &NoCircuitFiles,
            circuits: HashMap::new(),
            states: program.states.iter().map(first).collect(),
            fuel,
            random,
            drawn: Vec::new(),
            after_run: None,
            compared: None,
            debug: None,
            is_other_branch: false,
        }
    }

    /// Returns the result of a run. The states are kept for the next run.
    pub(crate) fn run(&mut self, id: EntryId, arguments: Vec<Value>) -> Run<Value> {
        let entry = &self.program.entries[id.0 as usize];
        if entry.kind == crate::program::EntryKind::Start {
            let program = self.program;
            for (value, state) in self.states.iter_mut().zip(&program.states) {
                *value = match &state.value {
                    Some(first) => first.clone(),
                    None => program.types.zero(state.ty),
                };
            }
        }
        let span = entry.span;
        let Some(watch) = self.after_run.take() else {
            return self.call_entry(id, arguments);
        };
        let before = self.states.clone();
        self.drawn.clear();
        let results = self.call_entry(id, arguments.clone())?;
        let told = watch(&CompletedRun {
            entry: id,
            inputs: &arguments,
            drawn: &self.drawn,
            before: &before,
            results: &results,
            after: &self.states,
        });
        self.after_run = Some(watch);
        told.map_err(Diagnostic::at(span))?;
        Ok(results)
    }

    /// Returns the result of a run. If the run joins two tables, it gets their pairs.
    fn call_entry(&mut self, id: EntryId, mut arguments: Vec<Value>) -> Run<Value> {
        let program = self.program;
        let entry = &program.entries[id.0 as usize];
        let Some(join) = &entry.join else {
            return self.call(entry.function, arguments);
        };
        let pairs = join::pairs(program, entry, &arguments);
        let pairs = pairs.map_err(Diagnostic::at(join.span))?;
        arguments.push(pairs);
        let mut result = self.call(entry.function, arguments.clone())?;
        join::without_values_behind(program, entry, &arguments, &mut result);
        Ok(result)
    }

    /// Returns the result of a function.
    pub(crate) fn call(&mut self, function: FunctionId, arguments: Vec<Value>) -> Run<Value> {
        let id = function;
        let function = &self.program.functions[id.0 as usize];
        let Body::Block(block) = &function.body else {
            return self.circuit(id, &arguments);
        };
        let mut frame = Frame {
            locals: vec![Value::UNIT; function.locals.len()],
            counters: vec![0; function.counters.len()],
        };
        for (local, value) in function.parameters.iter().zip(arguments) {
            frame.locals[local.0 as usize] = value;
        }
        self.block(&mut frame, block)
    }

    /// Returns the result of a function that stands for a circuit of the library or of a file.
    fn circuit(&mut self, id: FunctionId, arguments: &[Value]) -> Run<Value> {
        let function = &self.program.functions[id.0 as usize];
        let circuit = match self.circuits.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(external(self.program, function, self.files)?),
        };
        let types = &self.program.types;
        let mut bits = Vec::new();
        for (local, value) in function.parameters.iter().zip(arguments) {
            let ty = function.locals[local.0 as usize].ty;
            bits.extend(types.bits_of_value(ty, value));
        }
        Ok(types.value_of_bits(function.result, &circuit.evaluate(&bits)))
    }

    fn burn(&mut self, span: Span) -> Run<()> {
        match self.fuel.checked_sub(1) {
            Some(left) => {
                self.fuel = left;
                Ok(())
            }
            None => Err(Diagnostic::new(span, "this takes too many steps").into()),
        }
    }

    fn block(&mut self, frame: &mut Frame, block: &'p Block) -> Run<Value> {
        self.statements(frame, &block.statements)?;
        self.expression(frame, &block.value)
    }

    fn statements(&mut self, frame: &mut Frame, statements: &'p [Statement]) -> Run<()> {
        statements.iter().try_for_each(|s| self.statement(frame, s))
    }

    fn statement(&mut self, frame: &mut Frame, statement: &'p Statement) -> Run<()> {
        let span = statement.span;
        self.burn(span)?;
        match &statement.kind {
            StatementKind::Let(local, value) => {
                let value = self.expression(frame, value)?;
                frame.locals[local.0 as usize] = value;
            }
            StatementKind::Assign(place, value) => {
                let value = self.expression(frame, value)?;
                self.assign(frame, place, value)?;
            }
            StatementKind::If(condition, then, otherwise) => self.choose(
                frame,
                (condition, span),
                |machine, frame| machine.statements(frame, then),
                |machine, frame| machine.statements(frame, otherwise),
            )?,
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
            StatementKind::Assert(value) => self.assert(frame, value)?,
            StatementKind::Debug(value) => {
                let shown = self.expression(frame, value)?;
                if let Some(debug) = self.debug.as_mut().filter(|_| !self.is_other_branch) {
                    debug(value.span, &self.program.types.value_text(value.ty, &shown));
                }
            }
        }
        Ok(())
    }

    fn assert(&mut self, frame: &mut Frame, value: &'p Expression) -> Run<()> {
        if let ExpressionKind::Binary(BinaryOperator::Equal, a, b) = &value.kind {
            let (left, right) = (self.expression(frame, a)?, self.expression(frame, b)?);
            if left == right {
                return Ok(());
            }
            self.compared = Some((left, right, a.ty));
        } else if self.expression(frame, value)?.as_bool() {
            return Ok(());
        }
        Err(Diagnostic::new(value.span, "this does not hold").into())
    }

    /// Runs one of two branches. If the condition is secret, the other branch has no effect, but
    /// draws its random bits, so that both branches draw in their order.
    fn choose<T>(
        &mut self,
        frame: &mut Frame,
        (condition, span): (&'p Condition, Span),
        then: impl FnOnce(&mut Self, &mut Frame) -> Run<T>,
        otherwise: impl FnOnce(&mut Self, &mut Frame) -> Run<T>,
    ) -> Run<T> {
        let (holds, is_secret) = match condition {
            Condition::Guard(number) => (self.number(frame, number, span)? != 0, false),
            Condition::Secret(value) => (self.expression(frame, value)?.as_bool(), true),
        };
        let draws = is_secret && self.program.draws_random;
        if !holds {
            if draws {
                self.without_effect(frame, then)?;
            }
            return otherwise(self, frame);
        }
        let value = then(self, frame)?;
        if draws {
            self.without_effect(frame, otherwise)?;
        }
        Ok(value)
    }

    fn without_effect<T>(
        &mut self,
        frame: &mut Frame,
        branch: impl FnOnce(&mut Self, &mut Frame) -> Run<T>,
    ) -> Run<()> {
        let (locals, states) = (frame.locals.clone(), self.states.clone());
        let outer = std::mem::replace(&mut self.is_other_branch, true);
        let done = branch(self, frame);
        self.is_other_branch = outer;
        done?;
        frame.locals = locals;
        self.states = states;
        Ok(())
    }

    pub(super) fn number(&self, frame: &Frame, number: &Number, span: Span) -> Run<i128> {
        Ok(number.at(&frame.counters, span)?)
    }

    pub(super) fn expression(&mut self, frame: &mut Frame, of: &'p Expression) -> Run<Value> {
        self.burn(of.span)?;
        let types = &self.program.types;
        match &of.kind {
            ExpressionKind::Constant(value) => Ok(value.clone()),
            ExpressionKind::Number(number) => {
                let value = self.number(frame, number, of.span)?;
                Ok(types.value_of_number(of.ty, value))
            }
            ExpressionKind::Read(place) => self.read(frame, place),
            ExpressionKind::Unary(operator, a) => {
                let value = self.expression(frame, a)?;
                Ok(operators::unary(types, *operator, a.ty, &value))
            }
            ExpressionKind::Binary(operator, a, b) => {
                let (left, right) = (self.expression(frame, a)?, self.expression(frame, b)?);
                Ok(operators::binary(types, *operator, a.ty, &left, &right))
            }
            ExpressionKind::Shift(operator, a, amount) => {
                let value = self.expression(frame, a)?;
                let amount = self.number(frame, amount, of.span)?.unsigned_abs();
                Ok(operators::shift(types, *operator, a.ty, &value, amount))
            }
            ExpressionKind::Cast(a) => {
                let value = self.expression(frame, a)?;
                Ok(operators::cast(types, a.ty, of.ty, &value))
            }
            ExpressionKind::If(condition, then, otherwise) => self.choose(
                frame,
                (condition, of.span),
                |machine, frame| machine.expression(frame, then),
                |machine, frame| machine.expression(frame, otherwise),
            ),
            ExpressionKind::Block(block) => self.block(frame, block),
            ExpressionKind::Aggregate(parts) => Ok(Value::List(self.all(frame, parts)?)),
            ExpressionKind::Repeat(a) => {
                let value = self.expression(frame, a)?;
                let length = self.program.types.length(of.ty);
                Ok(Value::List(vec![value; length]))
            }
            ExpressionKind::Comprehension(counter, from, a) => {
                let from = self.number(frame, from, of.span)?;
                let mut values = Vec::with_capacity(self.program.types.length(of.ty));
                for turn in 0..self.program.types.length(of.ty) {
                    frame.counters[counter.0 as usize] = from + turn as i128;
                    values.push(self.expression(frame, a)?);
                }
                Ok(Value::List(values))
            }
            ExpressionKind::ForEachPair(counter, of_pair) => {
                let mut values = Vec::with_capacity(types.length(of.ty));
                for row in 0..types.length(of.ty) {
                    frame.counters[counter.0 as usize] = row as i128;
                    values.push(self.expression(frame, of_pair)?);
                }
                Ok(Value::List(values))
            }
            ExpressionKind::Call(..) | ExpressionKind::Run(..) | ExpressionKind::Intrinsic(..) => {
                self.called(frame, of)
            }
        }
    }

    fn called(&mut self, frame: &mut Frame, of: &'p Expression) -> Run<Value> {
        let types = &self.program.types;
        match &of.kind {
            ExpressionKind::Call(function, arguments) => {
                let arguments = self.all(frame, arguments)?;
                self.call(*function, arguments)
            }
            ExpressionKind::Run(entry, arguments) => {
                let arguments = self.all(frame, arguments)?;
                self.run(*entry, arguments)
            }
            ExpressionKind::Intrinsic(Intrinsic::Random, _) => {
                let bits: Vec<bool> = (0..types.width(of.ty)).map(|_| self.random.bit()).collect();
                self.drawn.extend(&bits);
                Ok(types.value_of_bits(of.ty, &bits))
            }
            ExpressionKind::Intrinsic(intrinsic, arguments) => {
                let ids: Vec<TypeId> = arguments.iter().map(|argument| argument.ty).collect();
                let values = self.all(frame, arguments)?;
                let value =
                    intrinsic::intrinsic(&self.program.types, *intrinsic, of.ty, &ids, &values);
                Ok(value.expect("only random bits have no value without a machine"))
            }
            _ => Ok(Value::UNIT),
        }
    }

    fn all(&mut self, frame: &mut Frame, of: &'p [Expression]) -> Run<Vec<Value>> {
        of.iter().map(|part| self.expression(frame, part)).collect()
    }
}
