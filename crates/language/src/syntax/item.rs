//! Items and types.

use tacit_circuit::formats;

use super::{Argument, Block, Expression, Ident};
use crate::source::{Span, Symbol};

#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) kind: ItemKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum ItemKind {
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
    /// An item with an error that was meant to declare this name. Uses of the name cause no further
    /// errors.
    Broken(Symbol),
}

impl ItemKind {
    /// Returns the name that the item declares, if others can use it.
    pub(crate) fn name(&self) -> Option<&Ident> {
        match self {
            Self::Param(param) => Some(&param.name),
            Self::Const(name, ..) | Self::Type(name, ..) => Some(name),
            Self::Struct(item) => Some(&item.name),
            Self::Enum(item) => Some(&item.name),
            Self::State(state) => Some(&state.name),
            Self::Function(function) => Some(&function.name),
            Self::Entry(entry) => Some(&entry.name),
            Self::Parties(_) | Self::Use(_) | Self::Test(_) | Self::Broken(_) => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Party {
    pub(crate) name: Ident,
    /// Whether the file declares the party as the garbler.
    pub(crate) garbles: bool,
}

/// `use PATH;` or `use PATH::{NAME, …};`. If the path is only `std`, the names are modules.
#[derive(Clone, Debug)]
pub(crate) struct UseItem {
    /// The module: `std::order`, or a file's name.
    pub(crate) module: Vec<Ident>,
    /// The names used from the module.
    pub(crate) names: Vec<Ident>,
}

impl UseItem {
    /// Whether the item names modules of the standard library, and nothing in them:
    /// `use std::psi;`.
    pub(crate) fn is_of_modules(&self) -> bool {
        matches!(&self.module[..], [only] if only.as_str() == "std")
    }

    /// Returns one use for each module that the item names.
    pub(crate) fn modules(&self) -> Vec<Self> {
        if !self.is_of_modules() {
            return vec![self.clone()];
        }
        let names = self.names.iter();
        let module = |name: &Ident| vec![self.module[0].clone(), name.clone()];
        names
            .map(|name| Self {
                module: module(name),
                names: Vec::new(),
            })
            .collect()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ParamItem {
    pub(crate) name: Ident,
    pub(crate) from: Expression,
    pub(crate) to: Expression,
    /// The value if none is given.
    pub(crate) default: Option<Expression>,
}

#[derive(Clone, Debug)]
pub(crate) struct StructItem {
    pub(crate) name: Ident,
    pub(crate) generics: Vec<Generic>,
    pub(crate) fields: Vec<(Ident, TypeExpression)>,
}

#[derive(Clone, Debug)]
pub(crate) struct EnumItem {
    pub(crate) name: Ident,
    pub(crate) variants: Vec<Ident>,
}

#[derive(Clone, Debug)]
pub(crate) struct StateItem {
    pub(crate) name: Ident,
    pub(crate) ty: TypeExpression,
    /// The value before any run, if the file states it.
    pub(crate) value: Option<Expression>,
}

/// `const N` or `T` between angle brackets.
#[derive(Clone, Debug)]
pub(crate) struct Generic {
    pub(crate) name: Ident,
    /// Whether the generic is a number rather than a type.
    pub(crate) is_const: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: Ident,
    /// Whether the function's circuit is a separate component.
    pub(crate) is_component: bool,
    pub(crate) generics: Vec<Generic>,
    pub(crate) parameters: Vec<Parameter>,
    /// The type of the result, if there is one.
    pub(crate) result: Option<TypeExpression>,
    /// The order of the result, if it is declared.
    pub(crate) result_sorted: Option<SortedClause>,
    pub(crate) body: FunctionBody,
}

/// Returns the name under which a method of a struct is declared. Nothing else can have this name.
pub(crate) fn method_name(of: &str, name: &str) -> Symbol {
    Symbol::new(&format!("{of}::{name}"))
}

#[derive(Clone, Debug)]
pub(crate) enum FunctionBody {
    Block(Block),
    /// `= library "sha-256"(bytes: 32);`
    Library(Symbol, Vec<Argument>, Span),
    /// `= file "f.txt" order lsb_first;`
    File(Symbol, BitOrder, Span),
}

/// The order in which a circuit file has the bits of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOrder {
    /// `lsb_first`: the least significant bit of a number comes first.
    LsbFirst,
    /// `msb_first`: the most significant bit of a number comes first.
    MsbFirst,
    /// An order by its name in `tacit --bit-order`, with `_` in place of `-`.
    Named(formats::BitOrder),
}

impl BitOrder {
    /// Every order, with its word.
    pub(crate) const WORDS: [(&'static str, Self); 6] = [
        ("lsb_first", Self::LsbFirst),
        ("msb_first", Self::MsbFirst),
        (
            "reversed_bytes",
            Self::Named(formats::BitOrder::ReversedBytes),
        ),
        (
            "reversed_bits",
            Self::Named(formats::BitOrder::ReversedBits),
        ),
        ("as_given", Self::Named(formats::BitOrder::AsGiven)),
        ("reversed", Self::Named(formats::BitOrder::Reversed)),
    ];

    /// Returns the order of the file.
    pub(crate) fn of_file(self) -> formats::BitOrder {
        match self {
            Self::LsbFirst => formats::BitOrder::AsGiven,
            Self::MsbFirst => formats::BitOrder::Reversed,
            Self::Named(order) => order,
        }
    }

    /// Whether the order does not determine the order of bytes, nor the first bit of each byte.
    pub(crate) fn is_of_numbers(self) -> bool {
        matches!(self, Self::LsbFirst | Self::MsbFirst)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    /// Whether the body may assign the parameter.
    pub(crate) is_mutable: bool,
    pub(crate) name: Ident,
    pub(crate) ty: TypeExpression,
    /// The order in which callers must pass the argument, if it is declared.
    pub(crate) sorted: Option<SortedClause>,
}

/// `sorted`, or `sorted by` a field of the elements or by a lambda that is a parameter.
#[derive(Clone, Debug)]
pub(crate) struct SortedClause {
    /// Whether it is `strictly sorted`, which is allowed for inputs only.
    pub(crate) is_strict: bool,
    pub(crate) by: Option<Ident>,
    pub(crate) span: Span,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A separate function without states.
    Main,
    /// A run of a chain.
    Run,
    /// The run that starts a chain.
    Start,
}

impl EntryKind {
    /// Returns the word with which the entry starts.
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
pub(crate) struct Entry {
    pub(crate) kind: EntryKind,
    /// The name, which is `main` for a `main`.
    pub(crate) name: Ident,
    pub(crate) inputs: Vec<Input>,
    /// The pairs of two of the inputs. Only a `main` may have them.
    pub(crate) join: Option<Join>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) body: Block,
}

impl Entry {
    /// Whether the entry joins the input with this name.
    pub(crate) fn joins(&self, input: &Symbol) -> bool {
        let tables = self.join.iter();
        let mut tables = tables.flat_map(|join| [&join.left.table, &join.right.table]);
        tables.any(|table| table.name == *input)
    }
}

/// `pairs: join people by name with sales by name upto D`
#[derive(Clone, Debug)]
pub(crate) struct Join {
    /// The name of the pairs.
    pub(crate) name: Ident,
    pub(crate) left: JoinedTable,
    pub(crate) right: JoinedTable,
    /// The greatest number of rows of the right table with one key, if it may be more than one.
    pub(crate) upto: Option<Expression>,
    pub(crate) span: Span,
}

/// `people by (name, born)`
#[derive(Clone, Debug)]
pub(crate) struct JoinedTable {
    /// The input.
    pub(crate) table: Ident,
    /// The parts of the key, in order.
    pub(crate) key: Vec<KeyField>,
}

/// `name`, or `email(address)`
#[derive(Clone, Debug)]
pub(crate) struct KeyField {
    /// The normalization of the field before the comparison.
    pub(crate) normalization: Option<Ident>,
    pub(crate) field: Ident,
}

#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) name: Ident,
    pub(crate) ty: TypeExpression,
    /// The party that owns the secret input, or `None` for a public one.
    pub(crate) owner: Option<Ident>,
    /// The order into which the owner's client sorts the input, if it is declared.
    pub(crate) sorted: Option<SortedClause>,
}

#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) name: Ident,
    pub(crate) ty: TypeExpression,
    /// The party that gets the result, or `None` if both do.
    pub(crate) to: Option<Ident>,
}

#[derive(Clone, Debug)]
pub(crate) struct TestItem {
    /// The name of the test.
    pub(crate) name: Symbol,
    /// The place of the name.
    pub(crate) name_span: Span,
    /// The params and the seed.
    pub(crate) with: Vec<(Ident, Expression)>,
    pub(crate) body: Block,
}

/// Names joined by `::`.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) segments: Vec<Ident>,
    /// The arguments in `::<…>`.
    pub(crate) generics: Vec<GenericArgument>,
    pub(crate) span: Span,
}

impl Path {
    /// Returns the path of one name.
    pub(crate) fn of(name: Ident) -> Self {
        Self {
            span: name.span,
            segments: vec![name],
            generics: Vec::new(),
        }
    }

    /// Returns the name, if the path is just one name.
    pub(crate) fn as_name(&self) -> Option<&Ident> {
        match &self.segments[..] {
            [name] if self.generics.is_empty() => Some(name),
            _ => None,
        }
    }

    /// Returns the last name.
    pub(crate) fn last(&self) -> &Ident {
        self.segments.last().expect("a path has a name")
    }
}

#[derive(Clone, Debug)]
pub(crate) struct TypeExpression {
    pub(crate) kind: TypeExpressionKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeExpressionKind {
    /// `u32`, `u<W>`, `Row`, `Maybe<T>`.
    Named(Path),
    /// `[T; n]`
    Array(Box<TypeExpression>, Box<Expression>),
    /// `[T; ..n]`
    Table(Box<TypeExpression>, Box<Expression>),
    /// `(A, B)`
    Tuple(Vec<TypeExpression>),
    /// `fn(A) -> B`, of a lambda
    Function,
}

/// A generic argument, between angle brackets.
#[derive(Clone, Debug)]
pub(crate) enum GenericArgument {
    /// A type, or a name that may be one.
    Type(TypeExpression),
    Number(Expression),
}
