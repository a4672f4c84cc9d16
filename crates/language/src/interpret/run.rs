//! Running functions over values.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::operators;
use crate::program::{
    BinaryOperator, Block, Body, Condition, EntryId, Expression, ExpressionKind, Function,
    FunctionId, Intrinsic, LocalId, Number, Place, Program, Root, Statement, StatementKind, Step,
    TypeId, TypeKind, TypeTable, Value,
};
use crate::source::Span;

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) span: Span,
    pub(crate) message: String,
}

type Run<T> = Result<T, Failure>;

/// The result of a function of these arguments, which takes from `fuel`.
pub(crate) fn call(
    program: &Program,
    function: FunctionId,
    arguments: Vec<Value>,
    fuel: &mut u64,
) -> Run<Value> {
    let mut machine = Machine::new(program, *fuel, 0);
    let result = machine.call(function, arguments);
    *fuel = machine.fuel;
    result
}

/// A program's states, and what a run takes.
pub(crate) struct Machine<'p> {
    program: &'p Program,
    states: Vec<Value>,
    /// Steps that are left.
    fuel: u64,
    random: Random,
    /// What a failed assertion compared.
    pub(crate) compared: Option<(Value, Value, TypeId)>,
}

/// Random bits for tests, the same for the same seed: SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn bit(&mut self) -> bool {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) >> 63 == 1
    }
}

/// The variables of a call.
struct Frame<'p> {
    function: &'p Function,
    locals: Vec<Value>,
    counters: Vec<i128>,
}

impl<'p> Machine<'p> {
    /// A machine with the states' first values.
    pub(crate) fn new(program: &'p Program, fuel: u64, seed: u64) -> Self {
        let first = |state: &crate::program::State| {
            let zero = || program.types.zero(state.ty);
            state.value.clone().unwrap_or_else(zero)
        };
        Self {
            program,
            states: program.states.iter().map(first).collect(),
            fuel,
            random: Random(seed),
            compared: None,
        }
    }

    /// The result of a run, whose states stay for the next.
    pub(crate) fn run(&mut self, entry: EntryId, arguments: Vec<Value>) -> Run<Value> {
        let entry = &self.program.entries[entry.0 as usize];
        if entry.kind == crate::program::EntryKind::Start {
            let program = self.program;
            for (value, state) in self.states.iter_mut().zip(&program.states) {
                *value = match &state.value {
                    Some(first) => first.clone(),
                    None => program.types.zero(state.ty),
                };
            }
        }
        self.call(entry.function, arguments)
    }

    /// The result of a function.
    pub(crate) fn call(&mut self, function: FunctionId, arguments: Vec<Value>) -> Run<Value> {
        let function = &self.program.functions[function.0 as usize];
        let Body::Block(block) = &function.body else {
            return Err(Failure {
                span: function.span,
                message: format!(
                    "`{}` is a circuit, which is not run in the clear",
                    function.name
                ),
            });
        };
        let mut frame = Frame {
            function,
            locals: vec![Value::UNIT; function.locals.len()],
            counters: vec![0; function.counters.len()],
        };
        for (local, value) in function.parameters.iter().zip(arguments) {
            frame.locals[local.0 as usize] = value;
        }
        self.block(&mut frame, block)
    }

    fn burn(&mut self, span: Span) -> Run<()> {
        match self.fuel.checked_sub(1) {
            Some(left) => {
                self.fuel = left;
                Ok(())
            }
            None => Err(Failure {
                span,
                message: "this takes too many steps".to_owned(),
            }),
        }
    }

    fn block(&mut self, frame: &mut Frame<'p>, block: &'p Block) -> Run<Value> {
        self.statements(frame, &block.statements)?;
        self.expression(frame, &block.value)
    }

    fn statements(&mut self, frame: &mut Frame<'p>, statements: &'p [Statement]) -> Run<()> {
        statements.iter().try_for_each(|s| self.statement(frame, s))
    }

    fn statement(&mut self, frame: &mut Frame<'p>, statement: &'p Statement) -> Run<()> {
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
            StatementKind::If(condition, then, otherwise) => {
                let holds = self.condition(frame, condition, span)?;
                let (taken, other) = match holds {
                    true => (then, otherwise),
                    false => (otherwise, then),
                };
                self.statements(frame, taken)?;
                self.skip(frame, condition, |machine, frame| {
                    machine.statements(frame, other)
                })?;
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
            StatementKind::Assert(value) => self.assert(frame, value)?,
        }
        Ok(())
    }

    fn assert(&mut self, frame: &mut Frame<'p>, value: &'p Expression) -> Run<()> {
        if let ExpressionKind::Binary(BinaryOperator::Equal, a, b) = &value.kind {
            let (left, right) = (self.expression(frame, a)?, self.expression(frame, b)?);
            if left == right {
                return Ok(());
            }
            self.compared = Some((left, right, a.ty));
        } else if self.expression(frame, value)?.as_bool() {
            return Ok(());
        }
        Err(Failure {
            span: value.span,
            message: "this does not hold".to_owned(),
        })
    }

    fn condition(
        &mut self,
        frame: &mut Frame<'p>,
        condition: &'p Condition,
        span: Span,
    ) -> Run<bool> {
        match condition {
            Condition::Guard(number) => Ok(self.number(frame, number, span)? != 0),
            Condition::Secret(value) => Ok(self.expression(frame, value)?.as_bool()),
        }
    }

    /// The branch of a secret condition that is not taken: it changes nothing, but draws the
    /// random bits that it draws.
    fn skip<T>(
        &mut self,
        frame: &mut Frame<'p>,
        condition: &Condition,
        branch: impl FnOnce(&mut Self, &mut Frame<'p>) -> Run<T>,
    ) -> Run<()> {
        let draws = matches!(condition, Condition::Secret(_)) && self.program.draws_random;
        if !draws {
            return Ok(());
        }
        let (locals, states) = (frame.locals.clone(), self.states.clone());
        branch(self, frame)?;
        frame.locals = locals;
        self.states = states;
        Ok(())
    }

    fn number(&self, frame: &Frame<'p>, number: &Number, span: Span) -> Run<i128> {
        number.evaluate(&frame.counters).ok_or_else(|| Failure {
            span,
            message: "this number overflows or divides by zero".to_owned(),
        })
    }

    fn expression(&mut self, frame: &mut Frame<'p>, of: &'p Expression) -> Run<Value> {
        self.burn(of.span)?;
        let types = &self.program.types;
        match &of.kind {
            ExpressionKind::Constant(value) => Ok(value.clone()),
            ExpressionKind::Number(number) => {
                let value = self.number(frame, number, of.span)?;
                Ok(match *types.kind(of.ty) {
                    TypeKind::Bool => Value::Bool(value != 0),
                    TypeKind::Fixed(_, fraction) => Value::Integer(BigInt::from(value) << fraction),
                    _ => Value::Integer(value.into()),
                })
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
            ExpressionKind::If(condition, then, otherwise) => {
                let holds = self.condition(frame, condition, of.span)?;
                let (taken, other) = match holds {
                    true => (then, otherwise),
                    false => (otherwise, then),
                };
                let value = self.expression(frame, taken)?;
                self.skip(frame, condition, |machine, frame| {
                    machine.expression(frame, other)
                })?;
                Ok(value)
            }
            ExpressionKind::Block(block) => self.block(frame, block),
            ExpressionKind::Aggregate(parts) => Ok(Value::List(self.all(frame, parts)?)),
            ExpressionKind::Repeat(a) => {
                let value = self.expression(frame, a)?;
                let length = self.length(of.ty);
                Ok(Value::List(vec![value; length]))
            }
            ExpressionKind::Comprehension(counter, from, a) => {
                let from = self.number(frame, from, of.span)?;
                let mut values = Vec::with_capacity(self.length(of.ty));
                for turn in 0..self.length(of.ty) {
                    frame.counters[counter.0 as usize] = from + turn as i128;
                    values.push(self.expression(frame, a)?);
                }
                Ok(Value::List(values))
            }
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
                Ok(types.value_of_bits(of.ty, &bits))
            }
            ExpressionKind::Intrinsic(intrinsic, arguments) => {
                let ids: Vec<TypeId> = arguments.iter().map(|argument| argument.ty).collect();
                let values = self.all(frame, arguments)?;
                let value = self::intrinsic(&self.program.types, *intrinsic, of.ty, &ids, &values);
                Ok(value.expect("only random bits have no value without a machine"))
            }
        }
    }

    fn all(&mut self, frame: &mut Frame<'p>, of: &'p [Expression]) -> Run<Vec<Value>> {
        of.iter().map(|part| self.expression(frame, part)).collect()
    }

    fn length(&self, ty: TypeId) -> usize {
        self.program
            .types
            .element(ty)
            .map_or(0, |(_, n)| n as usize)
    }

    fn read(&mut self, frame: &mut Frame<'p>, place: &'p Place) -> Run<Value> {
        let steps = self.steps(frame, place)?;
        let computed;
        let mut value = match &place.root {
            Root::Local(local) => &frame.locals[local.0 as usize],
            Root::State(state) => &self.states[state.0 as usize],
            Root::Value(root) => {
                computed = self.expression(frame, root)?;
                &computed
            }
        };
        for step in &steps {
            let parts = value.as_list();
            value = match step {
                Resolved::Part(number) => &parts[*number],
                Resolved::Index(index) => &parts[operators::clamped(index, parts.len())],
                Resolved::Slice(from, count) => {
                    // Nothing but steps on the slice's own parts follow; it is small.
                    let slice = Value::List(parts[*from..*from + *count].to_vec());
                    let rest = &steps[1 + position(&steps, step)..];
                    return Ok(below(&slice, rest));
                }
            };
        }
        Ok(value.clone())
    }

    /// The steps of a place, with the numbers that they have now.
    fn steps(&mut self, frame: &mut Frame<'p>, place: &'p Place) -> Run<Vec<Resolved>> {
        let mut steps = Vec::with_capacity(place.path.len());
        for step in &place.path {
            steps.push(match step {
                Step::Field(field) => Resolved::Part(*field as usize),
                Step::At(number, span) => {
                    let number = self.number(frame, number, *span)?;
                    Resolved::Part(number.to_usize().unwrap_or(usize::MAX))
                }
                Step::AtSecret(index) => Resolved::Index(self.expression(frame, index)?),
                Step::Slice(from, count, span) => {
                    let from = self.number(frame, from, *span)?;
                    let from = from.to_usize().unwrap_or(usize::MAX);
                    Resolved::Slice(from, *count as usize)
                }
            });
        }
        Ok(steps)
    }

    fn assign(&mut self, frame: &mut Frame<'p>, place: &'p Place, value: Value) -> Run<()> {
        let steps = self.steps(frame, place)?;
        let root = match &place.root {
            Root::Local(LocalId(local)) => &mut frame.locals[*local as usize],
            Root::State(state) => &mut self.states[state.0 as usize],
            Root::Value(_) => return Ok(()),
        };
        set(root, &steps, value);
        let _ = frame.function;
        Ok(())
    }
}

/// A step whose numbers are known.
#[derive(Clone, Debug)]
enum Resolved {
    Part(usize),
    Index(Value),
    Slice(usize, usize),
}

fn position(steps: &[Resolved], step: &Resolved) -> usize {
    steps
        .iter()
        .position(|other| core::ptr::eq(other, step))
        .unwrap_or(0)
}

fn below(value: &Value, steps: &[Resolved]) -> Value {
    let Some((step, rest)) = steps.split_first() else {
        return value.clone();
    };
    let parts = value.as_list();
    match step {
        Resolved::Part(number) => below(&parts[*number], rest),
        Resolved::Index(index) => below(&parts[operators::clamped(index, parts.len())], rest),
        Resolved::Slice(from, count) => {
            below(&Value::List(parts[*from..*from + *count].to_vec()), rest)
        }
    }
}

/// Writes a part of a value; an index past the end writes nothing.
fn set(target: &mut Value, steps: &[Resolved], value: Value) {
    let Some((step, rest)) = steps.split_first() else {
        *target = value;
        return;
    };
    let parts = target.as_list_mut();
    match step {
        Resolved::Part(number) => set(&mut parts[*number], rest, value),
        Resolved::Index(index) => {
            let number = match index {
                Value::Bool(bit) => usize::from(*bit),
                index => index.as_integer().to_usize().unwrap_or(usize::MAX),
            };
            if let Some(part) = parts.get_mut(number) {
                set(part, rest, value);
            }
        }
        Resolved::Slice(from, count) => {
            let mut slice = Value::List(parts[*from..*from + *count].to_vec());
            set(&mut slice, rest, value);
            parts.splice(*from..*from + *count, slice.as_list().iter().cloned());
        }
    }
}

/// The value of a function of the prelude; nothing for random bits.
pub(crate) fn intrinsic(
    types: &TypeTable,
    intrinsic: Intrinsic,
    ty: TypeId,
    argument_types: &[TypeId],
    arguments: &[Value],
) -> Option<Value> {
    let count = |n: u64| Some(Value::Integer(n.into()));
    let width = argument_types.first().map_or(0, |ty| types.width(*ty));
    match (intrinsic, arguments) {
        (Intrinsic::Min, [a, b]) => {
            Some(Value::Integer(a.as_integer().min(b.as_integer()).clone()))
        }
        (Intrinsic::Max, [a, b]) => {
            Some(Value::Integer(a.as_integer().max(b.as_integer()).clone()))
        }
        (Intrinsic::Abs, [a]) => Some(operators::abs(types, ty, a)),
        (Intrinsic::WideMul, [a, b]) => Some(operators::wide_mul(a, b)),
        (Intrinsic::AddSat, [a, b]) => Some(operators::add_sat(types, ty, a, b)),
        (Intrinsic::OneHot, [index]) => {
            let (_, length) = types.element(ty)?;
            let at = index.as_integer().to_u32();
            let bits = (0..length).map(|number| Value::Bool(at == Some(number)));
            Some(Value::List(bits.collect()))
        }
        (Intrinsic::GetOr, [array, index, other]) => {
            let at = index.as_integer().to_usize();
            let element = at.and_then(|at| array.as_list().get(at));
            Some(element.unwrap_or(other).clone())
        }
        (Intrinsic::LeadingOnes, [a]) => count(operators::leading_ones(width, a.as_integer())),
        (Intrinsic::CountOnes, [a]) => count(operators::count_ones(width, a.as_integer())),
        _ => None,
    }
}
