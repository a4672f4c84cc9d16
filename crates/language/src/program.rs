//! A program whose params have values: every type has a size, every name is resolved, and every
//! operation has operands of one type. Both the interpreter and the lowering start from here.
//!
//! Const values have been computed, and `for const` is unrolled. A value that depends on the
//! counters of loops is a [`Number`]: the same for all parties, not secret, and without a width.

mod bits;
mod expressions;
mod join;
mod number;
mod types;
mod value;

pub(crate) use expressions::{VariableUse, Visit, in_expression, in_statement, variable_uses};
pub use join::{Join, JoinKeyField};
pub use number::{CounterId, Number, NumberOperator};
pub use types::{EnumType, GenericValue, StructType, TypeId, TypeKind, TypeTable};
pub(crate) use types::{ItemKey, bits_of, low_bits};
pub use value::Value;

use std::collections::BTreeMap;

use num_bigint::BigInt;
use tacit_circuit::builder::CircuitForm;
use tacit_function::Role;
pub use tacit_function::join::Counted;

use crate::diagnostic::Diagnostic;
use crate::source::{Span, Symbol};
pub use crate::syntax::{BinaryOperator, BitOrder, EntryKind, UnaryOperator};

/// A program with values for its params.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The parties, in the order in which the file names them.
    pub parties: Vec<Symbol>,
    /// The index of the party that garbles.
    pub garbler: usize,
    /// The params and their values.
    pub params: Vec<Param>,
    /// All types.
    pub types: TypeTable,
    /// The instances of functions, including those that entries call.
    pub functions: Vec<Function>,
    /// The states.
    pub states: Vec<StateVariable>,
    /// `main`, the runs and the starts.
    pub entries: Vec<Entry>,
    /// Whether any run draws random bits.
    pub draws_random: bool,
    /// Warnings about code that is allowed but probably not intended.
    pub warnings: Vec<Diagnostic>,
    /// The form of operations in which the program is lowered. It changes the digests of functions,
    /// but not the program's meaning.
    pub form: CircuitForm,
}

/// A variable or a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Variable {
    Local(u32),
    State(u32),
}

impl Program {
    /// Returns the role of a party.
    pub(crate) fn role(&self, party: usize) -> Role {
        if party == self.garbler {
            Role::Garbler
        } else {
            Role::Evaluator
        }
    }

    /// Returns the name and the type of a variable of `function`, or of a state.
    pub(crate) fn variable<'p>(
        &'p self,
        function: &'p Function,
        variable: Variable,
    ) -> (&'p Symbol, TypeId) {
        match variable {
            Variable::Local(local) => {
                let local = &function.locals[local as usize];
                (&local.name, local.ty)
            }
            Variable::State(state) => {
                let state = &self.states[state as usize];
                (&state.name, state.ty)
            }
        }
    }
}

/// A param and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The name.
    pub name: Symbol,
    /// The least value.
    pub minimum: BigInt,
    /// The greatest value.
    pub maximum: BigInt,
    /// The value if none is given.
    pub default: Option<BigInt>,
    /// The value.
    pub value: BigInt,
    /// The value if none is given and the param is the size of a joined table. The table's owner
    /// announces this size before a run.
    pub open: Option<OpenValue>,
}

/// The size of a joined table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenValue {
    /// The input.
    pub input: Symbol,
    /// The things that are counted: rows or keys.
    pub counted: Counted,
}

/// A function, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// A variable of a function, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocalId(pub u32);

/// A state, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StateId(pub u32);

/// An entry, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryId(pub u32);

/// A state.
#[derive(Clone, Debug)]
pub struct StateVariable {
    /// The name.
    pub name: Symbol,
    /// The type.
    pub ty: TypeId,
    /// The value before any run. Without it, a start assigns the state.
    pub value: Option<Value>,
    /// The place of the declaration.
    pub span: Span,
}

/// `main`, a run or a start.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The kind of the entry.
    pub kind: EntryKind,
    /// The name.
    pub name: Symbol,
    /// The inputs of the parties, which are the parameters of `function`.
    pub inputs: Vec<InputPort>,
    /// The results of the parties. The result of `function` is a tuple of them, unless there is
    /// only one.
    pub outputs: Vec<OutputPort>,
    /// The function that is computed.
    pub function: FunctionId,
    /// The join of two of its inputs. The function has the pairs as its last parameter.
    pub join: Option<Join>,
    /// The numbers of the states that the entry assigns.
    pub assigns: Vec<usize>,
    /// The place of the declaration.
    pub span: Span,
}

impl Entry {
    /// Whether the input with this number is a table that is joined.
    pub fn is_joined(&self, number: usize) -> bool {
        let join = self.join.as_ref();
        join.is_some_and(|join| join.tables.contains(&number))
    }

    /// Returns the values of the outputs, given the result of the function.
    pub fn results<'v>(&self, result: &'v Value) -> &'v [Value] {
        match self.outputs[..] {
            [_] => core::slice::from_ref(result),
            _ => result.as_list(),
        }
    }
}

/// An input.
#[derive(Clone, Debug)]
pub struct InputPort {
    /// The name.
    pub name: Symbol,
    /// The type.
    pub ty: TypeId,
    /// The number of the owner, or `None` for a public input.
    pub owner: Option<usize>,
    /// Whether the owner's client sorts the input, and by which field.
    pub sorted: Option<Option<Symbol>>,
    /// Whether the owner's client refuses two elements with the same sort key.
    pub is_strict: bool,
}

/// A result.
#[derive(Clone, Debug)]
pub struct OutputPort {
    /// The name.
    pub name: Symbol,
    /// The type.
    pub ty: TypeId,
    /// The number of the party that gets the result, or `None` if all do.
    pub to: Option<usize>,
}

/// A function with values for its generics.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name.
    pub name: Symbol,
    /// Whether its circuit is a component.
    pub is_component: bool,
    /// The variables that hold its arguments, in order.
    pub parameters: Vec<LocalId>,
    /// For each argument, the key by which it is in order, if it is declared `sorted`.
    pub(crate) sorted: Vec<Option<SortKey>>,
    /// The key by which the result is in order, if any.
    pub(crate) result_sorted: Option<SortKey>,
    /// The variables.
    pub locals: Vec<Local>,
    /// The names of the loops' counters.
    pub counters: Vec<Symbol>,
    /// The type of its result.
    pub result: TypeId,
    /// The computation.
    pub body: Body,
    /// The place of the declaration.
    pub span: Span,
}

/// The parts of an element by which an array ascends, the most significant first. A part is a path
/// of nested fields, or `COMPUTED` and the number of a value that a function computes from the
/// element.
pub(crate) type SortKey = Vec<Vec<u32>>;

/// A number that no field has.
pub(crate) const COMPUTED: u32 = u32::MAX;

/// The computation of a function.
#[derive(Clone, Debug)]
pub enum Body {
    /// A block.
    Block(Block),
    /// A component of the library in Rust, with its parameters.
    Library(Symbol, BTreeMap<String, u64>),
    /// A circuit file.
    File(Symbol, BitOrder),
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Local {
    /// The name, which is empty for a variable that the compiler made.
    pub name: Symbol,
    /// The type.
    pub ty: TypeId,
}

/// Statements, followed by a value.
#[derive(Clone, Debug)]
pub struct Block {
    /// The statements, in order.
    pub statements: Vec<Statement>,
    /// The value, which is the empty tuple for a block without one.
    pub value: Expression,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The action of the statement.
    pub kind: StatementKind,
    /// The statement's place in the source.
    pub span: Span,
}

impl Statement {
    pub(crate) fn new(kind: StatementKind, span: Span) -> Self {
        Self { kind, span }
    }
}

/// The action of a statement.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// Gives a variable its first value.
    Let(LocalId, Expression),
    /// Assigns a place.
    Assign(ValuePath, Expression),
    /// Runs one of two branches.
    If(Condition, Vec<Statement>, Vec<Statement>),
    /// Repeats statements for each value of a counter.
    For(Box<Loop>),
    /// Computes a value and drops it.
    Evaluate(Expression),
    /// Fails a test unless the value is true.
    Assert(Expression),
    /// Shows a value, only in `tacit eval` and tests. Other programs do not contain it.
    Debug(Expression),
}

/// A loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The counter.
    pub counter: CounterId,
    /// The counter's first value.
    pub from: Number,
    /// One more than the counter's last value.
    pub to: Number,
    /// The statements of a turn.
    pub body: Vec<Statement>,
    /// Whether each turn gets one of the pairs of a join.
    pub is_over_pairs: bool,
}

/// The condition of an `if`.
#[derive(Clone, Debug)]
pub enum Condition {
    /// A condition on counters, for which only one branch is run.
    Guard(Number),
    /// A secret value. Both branches are computed, and one result is selected.
    Secret(Expression),
}

/// A variable or state, or a part of it.
#[derive(Clone, Debug)]
pub struct ValuePath {
    /// The value of which this is a part.
    pub root: Root,
    /// The steps from the whole inwards.
    pub path: Vec<Step>,
}

impl ValuePath {
    /// Returns the path of a whole value.
    pub(crate) fn whole(root: Root) -> Self {
        let path = Vec::new();
        Self { root, path }
    }

    /// Returns the variable that contains the place.
    pub(crate) fn local(&self) -> Option<LocalId> {
        match self.root {
            Root::Local(local) => Some(local),
            _ => None,
        }
    }

    /// Returns the variable if the place is the whole of one.
    pub(crate) fn whole_local(&self) -> Option<LocalId> {
        self.local().filter(|_| self.path.is_empty())
    }
}

/// The value of which a place is a part.
#[derive(Clone, Debug)]
pub enum Root {
    /// A variable.
    Local(LocalId),
    /// A state.
    State(StateId),
    /// A value that is not in a variable.
    Value(Box<Expression>),
}

/// A step from a value to a part of it.
#[derive(Clone, Debug)]
pub enum Step {
    /// The field with this number of a struct, tuple or table.
    Field(u32),
    /// An element whose number is not secret.
    At(Number, Span),
    /// An element whose number is secret.
    AtSecret(Box<Expression>),
    /// The elements from this number on, and how many.
    Slice(Number, u32, Span),
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expression {
    /// The kind of the expression.
    pub kind: ExpressionKind,
    /// The type.
    pub ty: TypeId,
    /// The expression's place in the source.
    pub span: Span,
}

impl Expression {
    pub(crate) fn new(kind: ExpressionKind, ty: TypeId, span: Span) -> Self {
        Self { kind, ty, span }
    }

    pub(crate) fn constant(value: Value, ty: TypeId, span: Span) -> Self {
        Self::new(ExpressionKind::Constant(value), ty, span)
    }

    /// Returns the place whose value this is.
    pub(crate) fn as_place(&self) -> Option<&ValuePath> {
        match &self.kind {
            ExpressionKind::Read(place) => Some(place),
            _ => None,
        }
    }

    /// Returns the variable whose whole value this is.
    pub(crate) fn as_local(&self) -> Option<LocalId> {
        self.as_place()?.whole_local()
    }
}

/// The kind of an expression.
#[derive(Clone, Debug)]
pub enum ExpressionKind {
    /// A constant.
    Constant(Value),
    /// A number made from counters, as an integer, a fixed-point number or a bool.
    Number(Number),
    /// The value of a place.
    Read(ValuePath),
    /// An operator before its operand.
    Unary(UnaryOperator, Box<Expression>),
    /// An operator between two operands of one type. The amount of a shift has its own type.
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    /// A shift by a number that is not secret.
    Shift(BinaryOperator, Box<Expression>, Number),
    /// A conversion to the expression's type.
    Cast(Box<Expression>),
    /// One of two values.
    If(Box<Condition>, Box<Expression>, Box<Expression>),
    /// A block.
    Block(Box<Block>),
    /// The fields of a struct or tuple, or the elements of an array.
    Aggregate(Vec<Expression>),
    /// An array that repeats one value.
    Repeat(Box<Expression>),
    /// An array with an element for each value of a counter from this one on.
    Comprehension(CounterId, Number, Box<Expression>),
    /// An array with an element for each row of the placer's table, computed from the pair with
    /// that row. The counter runs over the pairs.
    ForEachPair(CounterId, Box<Expression>),
    /// A call.
    Call(FunctionId, Vec<Expression>),
    /// A call of a run, in a test.
    Run(EntryId, Vec<Expression>),
    /// A function of the prelude that is implemented in Rust.
    Intrinsic(Intrinsic, Vec<Expression>),
}

/// A function of the prelude that is implemented in Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Intrinsic {
    /// The lesser of two numbers.
    Min,
    /// The greater of two numbers.
    Max,
    /// A number without its sign.
    Abs,
    /// A product that does not wrap.
    WideMul,
    /// A sum of products that does not wrap.
    WideDot,
    /// A sum that stops at the greatest or least value.
    AddSat,
    /// For each number below n, whether it is the index.
    OneHot,
    /// An element, or another value past the end.
    GetOr,
    /// The number of leading ones.
    LeadingOnes,
    /// The number of ones.
    CountOnes,
    /// A value in its opened form, with zero in each `Maybe` that holds no value.
    Opened,
    /// Fresh random bits.
    Random,
}
