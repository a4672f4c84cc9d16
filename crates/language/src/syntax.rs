//! The syntax tree: a file in the form in which it is written, with a span on each part.

mod expression;
mod item;

pub(crate) use expression::{
    Argument, Arm, Block, Expression, ExpressionKind, FieldValue, ForLoop, Pattern, PatternKind,
    Statement, StatementKind,
};
pub use expression::{BinaryOperator, UnaryOperator};
pub use item::{BitOrder, EntryKind};
pub(crate) use item::{
    Entry, EnumItem, Function, FunctionBody, Generic, GenericArgument, Input, Item, ItemKind, Join,
    JoinedTable, KeyField, Output, ParamItem, Parameter, Party, Path, SortedClause, StateItem,
    StructItem, TestItem, TypeExpression, TypeExpressionKind, UseItem, method_name,
};

use crate::source::{Span, Symbol};

/// A name with its place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ident {
    pub(crate) name: Symbol,
    pub(crate) span: Span,
}

impl Ident {
    /// Returns the name as text.
    pub(crate) fn as_str(&self) -> &str {
        self.name.as_str()
    }
}
