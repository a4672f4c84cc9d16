//! All expressions and statements of a function, from the outside in.

use std::collections::{HashMap, HashSet};

use super::{
    Body, Condition, Expression, ExpressionKind, Function, FunctionId, Intrinsic, LocalId, Root,
    Statement, StatementKind, Step, ValuePath,
};
use crate::source::Span;

/// A statement or an expression.
#[derive(Clone, Copy, Debug)]
enum Node<'f> {
    Statement(&'f Statement),
    Expression(&'f Expression),
}

impl Function {
    /// The functions that it calls are given to `see`, with the place of each call.
    pub fn callees(&self, see: &mut impl FnMut(FunctionId, Span)) {
        self.expressions(&mut |expression| {
            if let ExpressionKind::Call(id, _) = &expression.kind {
                see(*id, expression.span);
            }
        });
    }

    /// Each expression is given to `see`, and after it those that it is made of.
    pub fn expressions<'f>(&'f self, see: &mut impl FnMut(&'f Expression)) {
        self.nodes(&mut |node| {
            if let Node::Expression(expression) = node {
                see(expression);
            }
        });
    }

    /// The values of variables that a `let` binds and nothing assigns, and the variables that are
    /// assigned.
    pub(crate) fn values(&self) -> (HashMap<LocalId, &Expression>, HashSet<LocalId>) {
        let mut values = HashMap::new();
        let mut changed = HashSet::new();
        self.nodes(&mut |node| {
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

    /// Each statement and expression is given to `see`, and after it those that it is made of.
    fn nodes<'f>(&'f self, see: &mut impl FnMut(Node<'f>)) {
        let Body::Block(block) = &self.body else {
            return;
        };
        block.statements.iter().for_each(|s| in_statement(s, see));
        in_expression(&block.value, see);
    }
}

impl Expression {
    /// Whether a `let` in it binds the variable.
    pub(crate) fn binds(&self, variable: LocalId) -> bool {
        let mut is_bound = false;
        in_expression(self, &mut |node| {
            if let Node::Statement(statement) = node
                && let StatementKind::Let(local, _) = &statement.kind
            {
                is_bound |= *local == variable;
            }
        });
        is_bound
    }

    /// Whether it draws random bits, is a run, or assigns what is not its own: computed twice, it
    /// does that twice.
    pub(crate) fn has_effects(&self) -> bool {
        let (mut has_effects, mut bound, mut assigned) = (false, HashSet::new(), HashSet::new());
        in_expression(self, &mut |node| match node {
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
        });
        has_effects || !assigned.is_subset(&bound)
    }
}

fn in_statement<'f>(statement: &'f Statement, see: &mut impl FnMut(Node<'f>)) {
    see(Node::Statement(statement));
    match &statement.kind {
        StatementKind::Let(_, value)
        | StatementKind::Evaluate(value)
        | StatementKind::Assert(value)
        | StatementKind::Debug(value) => in_expression(value, see),
        StatementKind::Assign(place, value) => {
            in_place(place, see);
            in_expression(value, see);
        }
        StatementKind::If(condition, then, otherwise) => {
            in_condition(condition, see);
            then.iter()
                .chain(otherwise)
                .for_each(|s| in_statement(s, see));
        }
        StatementKind::For(each) => each.body.iter().for_each(|s| in_statement(s, see)),
    }
}

fn in_condition<'f>(condition: &'f Condition, see: &mut impl FnMut(Node<'f>)) {
    if let Condition::Secret(condition) = condition {
        in_expression(condition, see);
    }
}

fn in_place<'f>(place: &'f ValuePath, see: &mut impl FnMut(Node<'f>)) {
    if let Root::Value(value) = &place.root {
        in_expression(value, see);
    }
    for step in &place.path {
        if let Step::AtSecret(index) = step {
            in_expression(index, see);
        }
    }
}

fn in_expression<'f>(expression: &'f Expression, see: &mut impl FnMut(Node<'f>)) {
    use ExpressionKind as K;
    see(Node::Expression(expression));
    match &expression.kind {
        K::Constant(_) | K::Number(_) => {}
        K::Read(place) => in_place(place, see),
        K::Unary(_, of)
        | K::Shift(_, of, _)
        | K::Cast(of)
        | K::Repeat(of)
        | K::Comprehension(_, _, of) => in_expression(of, see),
        K::Binary(_, a, b) => {
            in_expression(a, see);
            in_expression(b, see);
        }
        K::If(condition, a, b) => {
            in_condition(condition, see);
            in_expression(a, see);
            in_expression(b, see);
        }
        K::Block(block) => {
            block.statements.iter().for_each(|s| in_statement(s, see));
            in_expression(&block.value, see);
        }
        K::Call(_, parts) | K::Aggregate(parts) | K::Run(_, parts) | K::Intrinsic(_, parts) => {
            parts.iter().for_each(|part| in_expression(part, see));
        }
    }
}
