//! A shared walk over expressions and statements, from the outside in.

use std::collections::{HashMap, HashSet};

use super::{
    Block, Body, Condition, Expression, ExpressionKind, Function, FunctionId, Intrinsic, LocalId,
    Root, Statement, StatementKind, Step, ValuePath,
};
use crate::source::Span;

/// A walk. By default, each method visits the parts, in the order in which they are computed.
pub(crate) trait Visit<'p>: Sized {
    fn statement(&mut self, of: &'p Statement) {
        in_statement(self, of);
    }

    fn expression(&mut self, of: &'p Expression) {
        in_expression(self, of);
    }

    fn condition(&mut self, of: &'p Condition) {
        if let Condition::Secret(condition) = of {
            self.expression(condition);
        }
    }

    fn place(&mut self, of: &'p ValuePath) {
        if let Root::Value(value) = &of.root {
            self.expression(value);
        }
        for step in &of.path {
            if let Step::AtSecret(index) = step {
                self.expression(index);
            }
        }
    }

    fn statements(&mut self, all: &'p [Statement]) {
        all.iter().for_each(|statement| self.statement(statement));
    }

    fn block(&mut self, of: &'p Block) {
        self.statements(&of.statements);
        self.expression(&of.value);
    }
}

/// Visits the parts of a statement.
pub(crate) fn in_statement<'p>(walk: &mut impl Visit<'p>, of: &'p Statement) {
    match &of.kind {
        StatementKind::Let(_, value)
        | StatementKind::Evaluate(value)
        | StatementKind::Assert(value)
        | StatementKind::Debug(value) => walk.expression(value),
        StatementKind::Assign(place, value) => {
            walk.expression(value);
            walk.place(place);
        }
        StatementKind::If(condition, then, otherwise) => {
            walk.condition(condition);
            walk.statements(then);
            walk.statements(otherwise);
        }
        StatementKind::For(each) => walk.statements(&each.body),
    }
}

/// Visits the parts of an expression.
pub(crate) fn in_expression<'p>(walk: &mut impl Visit<'p>, of: &'p Expression) {
    use ExpressionKind as K;
    match &of.kind {
        K::Constant(_) | K::Number(_) => {}
        K::Read(place) => walk.place(place),
        K::Unary(_, of)
        | K::Shift(_, of, _)
        | K::Cast(of)
        | K::Repeat(of)
        | K::Comprehension(_, _, of)
        | K::ForEachPair(_, of) => walk.expression(of),
        K::Binary(_, a, b) => {
            walk.expression(a);
            walk.expression(b);
        }
        K::If(condition, a, b) => {
            walk.condition(condition);
            walk.expression(a);
            walk.expression(b);
        }
        K::Block(block) => walk.block(block),
        K::Call(_, parts) | K::Aggregate(parts) | K::Run(_, parts) | K::Intrinsic(_, parts) => {
            parts.iter().for_each(|part| walk.expression(part));
        }
    }
}

/// A statement or an expression.
#[derive(Clone, Copy, Debug)]
enum Node<'f> {
    Statement(&'f Statement),
    Expression(&'f Expression),
}

/// Passes each statement and expression to a closure, and then visits its parts.
struct Nodes<F>(F);

impl<'f, F: FnMut(Node<'f>)> Visit<'f> for Nodes<F> {
    fn statement(&mut self, of: &'f Statement) {
        self.0(Node::Statement(of));
        in_statement(self, of);
    }

    fn expression(&mut self, of: &'f Expression) {
        self.0(Node::Expression(of));
        in_expression(self, of);
    }
}

impl Function {
    /// Passes the functions that this function calls to `see`, with the place of each call.
    pub fn callees(&self, see: &mut impl FnMut(FunctionId, Span)) {
        self.expressions(&mut |expression| {
            if let ExpressionKind::Call(id, _) = &expression.kind {
                see(*id, expression.span);
            }
        });
    }

    /// Passes each expression to `see`, before its parts.
    pub fn expressions<'f>(&'f self, see: &mut impl FnMut(&'f Expression)) {
        self.nodes(|node| {
            if let Node::Expression(expression) = node {
                see(expression);
            }
        });
    }

    /// Returns the values of variables that a `let` binds and nothing assigns, and the variables
    /// that are assigned.
    pub(crate) fn values(&self) -> (HashMap<LocalId, &Expression>, HashSet<LocalId>) {
        let mut values = HashMap::new();
        let mut changed = HashSet::new();
        self.nodes(|node| {
            let Node::Statement(statement) = node else {
                return;
            };
            match &statement.kind {
                StatementKind::Let(local, value) => {
                    values.insert(*local, value);
                }
                StatementKind::Assign(place, _) => {
                    if let Root::Local(local) = place.root {
                        changed.insert(local);
                    }
                }
                _ => {}
            }
        });
        values.retain(|local, _| !changed.contains(local));
        (values, changed)
    }

    /// Passes each statement and expression to `see`, before its parts.
    fn nodes<'f>(&'f self, see: impl FnMut(Node<'f>)) {
        if let Body::Block(block) = &self.body {
            Nodes(see).block(block);
        }
    }
}

impl Expression {
    /// Whether a `let` in the expression binds the variable.
    pub(crate) fn binds(&self, variable: LocalId) -> bool {
        let mut is_bound = false;
        let walk = |node: Node<'_>| {
            if let Node::Statement(statement) = node
                && let StatementKind::Let(local, _) = &statement.kind
            {
                is_bound |= *local == variable;
            }
        };
        Nodes(walk).expression(self);
        is_bound
    }

    /// Whether the expression draws random bits, is a run, or assigns an outer variable. Computing
    /// it twice would have these effects twice.
    pub(crate) fn has_effects(&self) -> bool {
        let (mut has_effects, mut bound, mut assigned) = (false, HashSet::new(), HashSet::new());
        let walk = |node: Node<'_>| match node {
            Node::Statement(statement) => match &statement.kind {
                StatementKind::Let(local, _) => {
                    bound.insert(*local);
                }
                StatementKind::Assign(place, _) => match place.root {
                    Root::Local(local) => {
                        assigned.insert(local);
                    }
                    _ => has_effects = true,
                },
                _ => {}
            },
            Node::Expression(expression) => {
                has_effects |= matches!(
                    expression.kind,
                    ExpressionKind::Run(..) | ExpressionKind::Intrinsic(Intrinsic::Random, _)
                );
            }
        };
        Nodes(walk).expression(self);
        has_effects || !assigned.is_subset(&bound)
    }
}
