//! The syntax tree: a file as it is written, with a span on everything.

mod expression;
mod item;

pub use expression::{
    Argument, Arm, BinaryOperator, Block, Expression, ExpressionKind, FieldValue, ForLoop, Pattern,
    PatternKind, Statement, StatementKind, UnaryOperator,
};
pub use item::{
    BitOrder, Entry, EntryKind, EnumItem, Function, FunctionBody, Generic, GenericArgument, Input,
    Item, ItemKind, Output, Owner, ParamItem, Parameter, Party, Path, Recipient, Sorted, StateItem,
    StructItem, TestItem, TypeExpression, TypeExpressionKind, UseItem,
};

pub use crate::lexer::Comment;
use crate::source::{Span, Symbol};

/// A file.
#[derive(Clone, Debug)]
pub struct File {
    /// What it declares, in order.
    pub items: Vec<Item>,
    /// Its comments, in order.
    pub comments: Vec<Comment>,
}

/// A name where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The name.
    pub name: Symbol,
    /// Where.
    pub span: Span,
}

impl Ident {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.name.as_str()
    }
}
