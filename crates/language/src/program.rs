//! A program whose params have values: every type has a size, every name is resolved, every
//! operation has operands of one type. Both the interpreter and the lowering start from here.
//!
//! What is const has been computed, and `for const` is unrolled. What depends on the counters of
//! loops is a [`Number`]: the same for all parties, no secret, without a width.

mod bits;
mod expressions;
mod join;
mod number;
mod types;
mod value;

pub(crate) use expressions::{Visit, in_expression, in_statement};
pub use join::{Join, JoinKeyField};
pub use number::{CounterId, Number, NumberOperator};
pub use types::{EnumType, GenericValue, StructType, TypeId, TypeKind, TypeTable};
pub(crate) use types::{ItemKey, bits_of, low_bits};
pub use value::Value;

use std::collections::BTreeMap;

use num_bigint::BigInt;
use tacit_circuit::builder::CircuitForm;
pub use tacit_function::join::Counted;

use crate::diagnostic::Diagnostic;
use crate::source::{Span, Symbol};
pub use crate::syntax::{BinaryOperator, BitOrder, EntryKind, UnaryOperator};

/// A program with values for its params.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The parties, in the order in which the file names them.
    pub parties: Vec<Symbol>,
    /// Which of them garbles.
    pub garbler: usize,
    /// The params and their values.
    pub params: Vec<Param>,
    /// All types.
    pub types: TypeTable,
    /// The instances of functions, those that entries call among them.
    pub functions: Vec<Function>,
    /// The states.
    pub states: Vec<StateVariable>,
    /// `main`, the runs and the starts.
    pub entries: Vec<Entry>,
    /// Whether some run draws random bits.
    pub draws_random: bool,
    /// What is allowed and probably not meant.
    pub warnings: Vec<Diagnostic>,
    /// What its operations are made of when it is lowered. Functions of two forms differ in their
    /// digests; what the program means does not.
    pub form: CircuitForm,
}

/// A param and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: Symbol,
    /// The least value.
    pub minimum: BigInt,
    /// The greatest value.
    pub maximum: BigInt,
    /// The value where none is given.
    pub default: Option<BigInt>,
    /// The value.
    pub value: BigInt,
    /// What its value is where none is given: the size of a joined table, which its owner announces
    /// before a run.
    pub open: Option<OpenValue>,
}

/// The size of a joined table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenValue {
    /// The input.
    pub input: Symbol,
    /// What is counted of it.
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
    /// Its name.
    pub name: Symbol,
    /// Its type.
    pub ty: TypeId,
    /// What it holds before any run; without it, a start assigns it.
    pub value: Option<Value>,
    /// Where it is declared.
    pub span: Span,
}

/// `main`, a run or a start.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Which of them.
    pub kind: EntryKind,
    /// Its name.
    pub name: Symbol,
    /// What the parties put in: the parameters of `function`.
    pub inputs: Vec<InputPort>,
    /// What they get: the result of `function`, which is a tuple unless there is one alone.
    pub outputs: Vec<OutputPort>,
    /// What is computed.
    pub function: FunctionId,
    /// The join of two of its inputs. The function has the pairs as its last parameter.
    pub join: Option<Join>,
    /// The numbers of the states that it assigns.
    pub assigns: Vec<usize>,
    /// Where it is declared.
    pub span: Span,
}

impl Entry {
    /// Whether the input of this number is a table that is joined.
    #[must_use]
    pub fn is_joined(&self, number: usize) -> bool {
        let join = self.join.as_ref();
        join.is_some_and(|join| join.tables.contains(&number))
    }

    /// The values of its outputs, from the result of its function.
    #[must_use]
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
    /// Its name.
    pub name: Symbol,
    /// Its type.
    pub ty: TypeId,
    /// Whose it is, by number; nothing where it is public.
    pub owner: Option<usize>,
    /// Whether its client sorts it, and by which field.
    pub sorted: Option<Option<Symbol>>,
    /// Whether its client refuses two elements that are alike in what it sorts them by.
    pub is_strict: bool,
}

/// A result.
#[derive(Clone, Debug)]
pub struct OutputPort {
    /// Its name.
    pub name: Symbol,
    /// Its type.
    pub ty: TypeId,
    /// Who gets it, by number; nothing where all do.
    pub to: Option<usize>,
}

/// A function with values for what it is generic in.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Symbol,
    /// Whether its circuit is a component.
    pub is_component: bool,
    /// The variables that hold its arguments, in order.
    pub parameters: Vec<LocalId>,
    /// For each argument the key by which it is in order, if it is declared `sorted`.
    pub(crate) sorted: Vec<Option<SortKey>>,
    /// The key by which the result is in order, if it is.
    pub(crate) result_sorted: Option<SortKey>,
    /// Its variables.
    pub locals: Vec<Local>,
    /// The names of its loops' counters.
    pub counters: Vec<Symbol>,
    /// The type of its result.
    pub result: TypeId,
    /// What it computes.
    pub body: Body,
    /// Where it is declared.
    pub span: Span,
}

/// The parts of an element by which an array ascends, the most significant first. A part is what
/// these fields lead to, one in the other, or `COMPUTED` and the number of what a function computes
/// of the element.
pub(crate) type SortKey = Vec<Vec<u32>>;

/// No field's number.
pub(crate) const COMPUTED: u32 = u32::MAX;

/// What a function computes.
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
    /// Its name; empty where the compiler made it.
    pub name: Symbol,
    /// Its type.
    pub ty: TypeId,
}

/// Statements, and a value at their end.
#[derive(Clone, Debug)]
pub struct Block {
    /// The statements, in order.
    pub statements: Vec<Statement>,
    /// The value; that of a block without one is the empty tuple.
    pub value: Expression,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// Where it is written.
    pub span: Span,
}

/// What a statement does.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// Gives a variable its first value.
    Let(LocalId, Expression),
    /// Assigns a place.
    Assign(ValuePath, Expression),
    /// Does one thing or the other.
    If(Condition, Vec<Statement>, Vec<Statement>),
    /// Repeats statements for each value of a counter, from the first to before the second.
    For(Box<Loop>),
    /// Computes a value and drops it.
    Evaluate(Expression),
    /// Fails a test unless the value is true.
    Assert(Expression),
    /// Shows a value, in `tacit eval` and tests alone. No other program has it.
    Debug(Expression),
}

/// A loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Its counter.
    pub counter: CounterId,
    /// The counter's first value.
    pub from: Number,
    /// One past its last value.
    pub to: Number,
    /// What a turn does.
    pub body: Vec<Statement>,
    /// Whether each turn gets one of the pairs of a join.
    pub is_over_pairs: bool,
}

/// What an `if` depends on.
#[derive(Clone, Debug)]
pub enum Condition {
    /// Counters alone: only one branch is run.
    Guard(Number),
    /// A value: what both branches give is computed, and one is selected.
    Secret(Expression),
}

/// A variable or state, or a part of it.
#[derive(Clone, Debug)]
pub struct ValuePath {
    /// What it is a part of.
    pub root: Root,
    /// From the whole inwards.
    pub path: Vec<Step>,
}

/// What a place is a part of.
#[derive(Clone, Debug)]
pub enum Root {
    /// A variable.
    Local(LocalId),
    /// A state.
    State(StateId),
    /// A value that is in no variable.
    Value(Box<Expression>),
}

/// From a value to a part of it.
#[derive(Clone, Debug)]
pub enum Step {
    /// The field of this number of a struct, tuple or table.
    Field(u32),
    /// An element whose number is no secret.
    At(Number, Span),
    /// An element whose number is a secret.
    AtSecret(Box<Expression>),
    /// Elements from this one on; as many as this.
    Slice(Number, u32, Span),
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expression {
    /// What it is.
    pub kind: ExpressionKind,
    /// Its type.
    pub ty: TypeId,
    /// Where it is written.
    pub span: Span,
}

/// What an expression is.
#[derive(Clone, Debug)]
pub enum ExpressionKind {
    /// A constant.
    Constant(Value),
    /// A number of counters, as a value: of an integer, a fixed-point number or a bool.
    Number(Number),
    /// The value of a place.
    Read(ValuePath),
    /// An operator before its operand.
    Unary(UnaryOperator, Box<Expression>),
    /// An operator between two operands of one type; the amount of a shift has its own.
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    /// A shift by a number that is no secret.
    Shift(BinaryOperator, Box<Expression>, Number),
    /// A conversion to the expression's type.
    Cast(Box<Expression>),
    /// One value or the other.
    If(Box<Condition>, Box<Expression>, Box<Expression>),
    /// A block.
    Block(Box<Block>),
    /// The fields of a struct or tuple, or the elements of an array.
    Aggregate(Vec<Expression>),
    /// An array of one value.
    Repeat(Box<Expression>),
    /// An array with an element for each value of a counter from this one on.
    Comprehension(CounterId, Number, Box<Expression>),
    /// An array with an element for each row of the placer's table, of the pair with that row. The
    /// counter goes over the pairs.
    ForEachPair(CounterId, Box<Expression>),
    /// A call.
    Call(FunctionId, Vec<Expression>),
    /// A run, in a test.
    Run(EntryId, Vec<Expression>),
    /// A function of the prelude that is not written in the language.
    Intrinsic(Intrinsic, Vec<Expression>),
}

/// A function of the prelude that is not written in the language.
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
    /// A sum that stays at the greatest or least value.
    AddSat,
    /// For each number below n whether it is the index.
    OneHot,
    /// An element, or another value past the end.
    GetOr,
    /// How many of the most significant bits are one before the first zero.
    LeadingOnes,
    /// How many bits are one.
    CountOnes,
    /// A value as it is opened: zero in each `Maybe` that holds none.
    Opened,
    /// Fresh random bits.
    Random,
}
