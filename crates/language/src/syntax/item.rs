//! Items and types.

use super::{Block, Expression, Ident};
use crate::source::{Span, Symbol};

/// Something that a file declares.
#[derive(Clone, Debug)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// All of it.
    pub span: Span,
}

/// What an item is.
#[derive(Clone, Debug)]
pub enum ItemKind {
    /// `parties alice, bob;`
    Parties(Vec<Party>),
    /// `use std::order::merge_by;`
    Use(UseItem),
    /// `param N: 1..=4096 = 64;`
    Param(ParamItem),
    /// `const K = 2 * N;`
    Const(Ident, Option<TypeExpression>, Expression),
    /// `struct Row { id: u32 }`
    Struct(StructItem),
    /// `enum Gender { Woman, Man }`
    Enum(EnumItem),
    /// `type Near = u<bits(N)>;`
    Type(Ident, Vec<Generic>, TypeExpression),
    /// `state map: [u8; N] = [0; N];`
    State(StateItem),
    /// `fn` or `component fn`.
    Function(Function),
    /// `main`, `run` or `start`.
    Entry(Entry),
    /// `test "…" { … }`
    Test(TestItem),
}

impl ItemKind {
    /// The name that it declares, if it is one that others use.
    #[must_use]
    pub fn name(&self) -> Option<&Ident> {
        match self {
            Self::Param(param) => Some(&param.name),
            Self::Const(name, ..) | Self::Type(name, ..) => Some(name),
            Self::Struct(item) => Some(&item.name),
            Self::Enum(item) => Some(&item.name),
            Self::State(state) => Some(&state.name),
            Self::Function(function) => Some(&function.name),
            Self::Entry(entry) => Some(&entry.name),
            Self::Parties(_) | Self::Use(_) | Self::Test(_) => None,
        }
    }
}

/// A party.
#[derive(Clone, Debug)]
pub struct Party {
    /// Its name.
    pub name: Ident,
    /// Whether the file says that it garbles.
    pub garbles: bool,
}

/// `use PATH;` or `use PATH::{NAME, …};`
#[derive(Clone, Debug)]
pub struct UseItem {
    /// The module: `std::order`, or a file's name.
    pub module: Vec<Ident>,
    /// What is used of it.
    pub names: Vec<Ident>,
}

/// A param.
#[derive(Clone, Debug)]
pub struct ParamItem {
    /// Its name.
    pub name: Ident,
    /// The least value.
    pub from: Expression,
    /// The greatest value.
    pub to: Expression,
    /// The value where none is given.
    pub default: Option<Expression>,
}

/// A struct.
#[derive(Clone, Debug)]
pub struct StructItem {
    /// Its name.
    pub name: Ident,
    /// What it is generic in.
    pub generics: Vec<Generic>,
    /// Its fields, in order.
    pub fields: Vec<(Ident, TypeExpression)>,
}

/// An enum.
#[derive(Clone, Debug)]
pub struct EnumItem {
    /// Its name.
    pub name: Ident,
    /// Its variants, in order.
    pub variants: Vec<Ident>,
}

/// A state.
#[derive(Clone, Debug)]
pub struct StateItem {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: TypeExpression,
    /// What it holds before any run, if the file says so.
    pub value: Option<Expression>,
}

/// `const N` or `T` between angle brackets.
#[derive(Clone, Debug)]
pub struct Generic {
    /// The name.
    pub name: Ident,
    /// Whether it is a number rather than a type.
    pub is_const: bool,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Ident,
    /// Whether its circuit is a component of its own.
    pub is_component: bool,
    /// What it is generic in.
    pub generics: Vec<Generic>,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The type of its result; without it, there is none.
    pub result: Option<TypeExpression>,
    /// Whether its result is in order.
    pub result_sorted: Option<Sorted>,
    /// What it computes.
    pub body: FunctionBody,
}

/// What a function computes.
#[derive(Clone, Debug)]
pub enum FunctionBody {
    /// A block.
    Block(Block),
    /// `= library "sha-256-compress";`
    Library(Symbol, Span),
    /// `= file "f.txt" order lsb_first;`
    File(Symbol, BitOrder, Span),
}

/// In which order a circuit file has the bits of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOrder {
    /// The least significant first.
    LsbFirst,
    /// The most significant first.
    MsbFirst,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Whether the body may assign it.
    pub is_mutable: bool,
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: TypeExpression,
    /// Whether its callers give it in order.
    pub sorted: Option<Sorted>,
}

/// `sorted`, or `sorted by` a field of the elements or by a lambda that is a parameter.
#[derive(Clone, Debug)]
pub struct Sorted {
    /// The field or lambda.
    pub by: Option<Ident>,
    /// All of it.
    pub span: Span,
}

/// What a `main`, `run` or `start` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A function of its own, without states.
    Main,
    /// A run of a chain.
    Run,
    /// The run that begins a chain.
    Start,
}

impl EntryKind {
    /// The word that it begins with.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Run => "run",
            Self::Start => "start",
        }
    }
}

/// `main`, `run` or `start`.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Which of them.
    pub kind: EntryKind,
    /// Its name; that of `main` is `main`.
    pub name: Ident,
    /// What the parties put in.
    pub inputs: Vec<Input>,
    /// What they get.
    pub outputs: Vec<Output>,
    /// What is computed.
    pub body: Block,
}

/// An input.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: TypeExpression,
    /// Whose it is.
    pub owner: Owner,
    /// Whether its owner's client sorts it.
    pub sorted: Option<Sorted>,
}

/// Whose an input is.
#[derive(Clone, Debug)]
pub enum Owner {
    /// A party's secret.
    Party(Ident),
    /// Part of the agreement.
    Public(Span),
}

/// A result.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: TypeExpression,
    /// Who gets it.
    pub to: Recipient,
}

/// Who gets a result.
#[derive(Clone, Debug)]
pub enum Recipient {
    /// One party.
    Party(Ident),
    /// All parties.
    Both(Span),
}

/// A test.
#[derive(Clone, Debug)]
pub struct TestItem {
    /// What it says.
    pub name: Symbol,
    /// Where the name stands.
    pub name_span: Span,
    /// Params and the seed.
    pub with: Vec<(Ident, Expression)>,
    /// What it does.
    pub body: Block,
}

/// Names joined by `::`.
#[derive(Clone, Debug)]
pub struct Path {
    /// The names, at least one.
    pub segments: Vec<Ident>,
    /// What stands in `::<…>`.
    pub generics: Vec<GenericArgument>,
    /// All of it.
    pub span: Span,
}

impl Path {
    /// The name, if it is one alone.
    #[must_use]
    pub fn as_name(&self) -> Option<&Ident> {
        match &self.segments[..] {
            [name] if self.generics.is_empty() => Some(name),
            _ => None,
        }
    }

    /// The last name.
    #[must_use]
    pub fn last(&self) -> &Ident {
        self.segments.last().expect("a path has a name")
    }
}

/// A type as it is written.
#[derive(Clone, Debug)]
pub struct TypeExpression {
    /// What it is.
    pub kind: TypeExpressionKind,
    /// All of it.
    pub span: Span,
}

/// What a type is, as it is written.
#[derive(Clone, Debug)]
pub enum TypeExpressionKind {
    /// `u32`, `u<W>`, `Row`, `Maybe<T>`.
    Named(Path),
    /// `[T; n]`
    Array(Box<TypeExpression>, Box<Expression>),
    /// `[T; ..n]`
    Table(Box<TypeExpression>, Box<Expression>),
    /// `(A, B)`
    Tuple(Vec<TypeExpression>),
    /// `fn(A) -> B`, of a lambda
    Function(Vec<TypeExpression>, Option<Box<TypeExpression>>),
}

/// What stands between angle brackets.
#[derive(Clone, Debug)]
pub enum GenericArgument {
    /// A type, or a name that may be one.
    Type(TypeExpression),
    /// A number.
    Number(Expression),
}
