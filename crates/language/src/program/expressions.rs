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
        self.indices(of);
    }

    /// Visits the secret indices of a place.
    fn indices(&mut self, of: &'p ValuePath) {
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

/// Passes each expression to a closure, before its parts.
struct Expressions<F>(F);

impl<'f, F: FnMut(&'f Expression)> Visit<'f> for Expressions<F> {
    fn expression(&mut self, of: &'f Expression) {
        self.0(of);
        in_expression(self, of);
    }
}

/// A use of a variable or of random bits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum VariableUse<'f> {
    Bind(LocalId, &'f Expression),
    Assign(&'f ValuePath),
    Read(&'f ValuePath, Span),
    /// Draws random bits, or is a run.
    Draw(Span),
}

/// Passes what statements, and then a value, do with variables to `see`, from the outside in.
pub(crate) fn variable_uses<'f>(
    statements: &'f [Statement],
    value: Option<&'f Expression>,
    see: impl FnMut(VariableUse<'f>),
) {
    let mut walk = VariableUses(see);
    walk.statements(statements);
    value.into_iter().for_each(|value| walk.expression(value));
}

struct VariableUses<F>(F);

impl<'f, F: FnMut(VariableUse<'f>)> Visit<'f> for VariableUses<F> {
    fn statement(&mut self, of: &'f Statement) {
        match &of.kind {
            StatementKind::Let(local, value) => self.0(VariableUse::Bind(*local, value)),
            StatementKind::Assign(place, _) => self.0(VariableUse::Assign(place)),
            _ => {}
        }
        in_statement(self, of);
    }

    fn expression(&mut self, of: &'f Expression) {
        use ExpressionKind as K;
        match &of.kind {
            K::Read(place) => self.0(VariableUse::Read(place, of.span)),
            K::Run(..) | K::Intrinsic(Intrinsic::Random, _) => self.0(VariableUse::Draw(of.span)),
            _ => {}
        }
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
        if let Body::Block(block) = &self.body {
            Expressions(see).block(block);
        }
    }

    /// Returns the values of variables that a `let` binds and nothing assigns, and the variables
    /// that are assigned.
    pub(crate) fn values(&self) -> (HashMap<LocalId, &Expression>, HashSet<LocalId>) {
        let (mut values, mut changed) = (HashMap::new(), HashSet::new());
        if let Body::Block(block) = &self.body {
            variable_uses(&block.statements, Some(&block.value), |of| match of {
                VariableUse::Bind(local, value) => _ = values.insert(local, value),
                VariableUse::Assign(place) => changed.extend(place.local()),
                _ => {}
            });
        }
        values.retain(|local, _| !changed.contains(local));
        (values, changed)
    }
}

impl Expression {
    /// Whether a `let` in the expression binds the variable.
    pub(crate) fn binds(&self, variable: LocalId) -> bool {
        let mut is_bound = false;
        variable_uses(&[], Some(self), |of| {
            is_bound |= matches!(of, VariableUse::Bind(local, _) if local == variable);
        });
        is_bound
    }

    /// Whether the expression draws random bits, is a run, or assigns an outer variable. Computing
    /// it twice would have these effects twice.
    pub(crate) fn has_effects(&self) -> bool {
        let (mut has_effects, mut bound, mut assigned) = (false, HashSet::new(), HashSet::new());
        variable_uses(&[], Some(self), |of| match of {
            VariableUse::Bind(local, _) => _ = bound.insert(local),
            VariableUse::Assign(place) => match place.local() {
                Some(local) => _ = assigned.insert(local),
                None => has_effects = true,
            },
            VariableUse::Draw(_) => has_effects = true,
            VariableUse::Read(..) => {}
        });
        has_effects || !assigned.is_subset(&bound)
    }
}
