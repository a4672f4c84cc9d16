//! Blocks and `if`.

use super::expression::block_of;
use super::term::Term;
use super::{Done, Elaborator};
use crate::diagnostic::{Diagnostic, Reported};
use crate::program::{
    Condition, Expression, ExpressionKind, Number, NumberOperator, Statement, StatementKind,
    TypeId, Value,
};
use crate::source::Span;
use crate::syntax::{self, Block, ExpressionKind as Syntax};

/// Statements followed by a term.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) statements: Vec<Statement>,
    pub(super) term: Term,
    pub(super) span: Span,
}

/// A choice between two branches that have no type yet.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) condition: Condition,
    pub(super) then: Branch,
    pub(super) otherwise: Branch,
    pub(super) span: Span,
}

/// Elaborates one branch of a choice.
pub(super) type MakeBranch<'c, 'a> = &'c mut dyn FnMut(&mut Elaborator<'a>) -> Done<Branch>;

impl Branch {
    /// Returns the branch without statements.
    pub(super) fn of(term: Term, span: Span) -> Self {
        Self {
            statements: Vec::new(),
            term,
            span,
        }
    }
}

impl<'a> Elaborator<'a> {
    /// Elaborates a block, or an expression in its place.
    pub(super) fn branch(
        &mut self,
        of: &'a syntax::Expression,
        hint: Option<TypeId>,
    ) -> Done<Branch> {
        match &of.kind {
            Syntax::Block(block) => self.block(block, hint),
            _ => Ok(Branch::of(self.expression(of, hint)?, of.span)),
        }
    }

    pub(super) fn block(&mut self, block: &'a Block, hint: Option<TypeId>) -> Done<Branch> {
        self.scoped(|this| {
            let mut statements = Vec::new();
            let result = this.statements(&block.statements, &mut statements);
            let (term, span) = match &block.value {
                Some(value) => (this.expression(value, hint)?, value.span),
                None => (this.unit(block.span), block.span),
            };
            result?;
            if block.is_broken {
                return Err(Reported::by_parser());
            }
            Ok(Branch {
                statements,
                term,
                span,
            })
        })
    }

    /// Returns a branch as a term. A term without a type gets the expected type.
    pub(super) fn close(&mut self, branch: Branch, hint: Option<TypeId>) -> Done<Term> {
        if branch.statements.is_empty() {
            return Ok(branch.term);
        }
        if hint.is_none() && !branch.term.tells_type() {
            return Ok(Term::Block(Box::new(branch)));
        }
        let value = self.typed_or_met(branch.term, hint, branch.span)?;
        Ok(Term::Value(block_of(branch.statements, value)))
    }

    pub(super) fn if_expression(
        &mut self,
        condition: &'a syntax::Expression,
        then: &'a Block,
        otherwise: Option<&'a syntax::Expression>,
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let term = self.expression(condition, None)?;
        let mut first = |this: &mut Self| this.block(then, hint);
        let mut second = |this: &mut Self| match otherwise {
            None => Ok(Branch::of(this.unit(span), span)),
            Some(otherwise) => this.branch(otherwise, hint),
        };
        self.choose(term, condition.span, (&mut first, &mut second), hint, span)
    }

    /// Elaborates one of two branches, or a selection of both.
    pub(super) fn choose(
        &mut self,
        condition: Term,
        condition_span: Span,
        (then, otherwise): (MakeBranch<'_, 'a>, MakeBranch<'_, 'a>),
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        if let Some(Value::Bool(holds)) = condition.as_constant() {
            let branch = if *holds {
                then(self)?
            } else {
                otherwise(self)?
            };
            return self.close(branch, hint);
        }
        let bool = self.program.types.bool();
        let condition = match condition {
            Term::Guard(number) => Condition::Guard(number),
            term => Condition::Secret(self.meet(term, bool, condition_span)?),
        };
        let (first, second) = (then(self), otherwise(self));
        let (first, second) = (first?, second?);
        if let Condition::Guard(guard) = &condition
            && first.statements.is_empty()
            && second.statements.is_empty()
            && let Some(term) = self.choose_number(guard, &first.term, &second.term, span)
        {
            return Ok(term);
        }
        let unit = self.program.types.unit();
        let is_lone = second.span == span;
        if is_lone && first.term.ty() != Some(unit) {
            let error = Diagnostic::new(span, "this `if` has a value, but no `else`");
            return self.fail(error.help("add `else { … }`, or end the block with `;`"));
        }
        let mut ty = first.term.ty().or(second.term.ty()).or(hint);
        for branch in [&first, &second] {
            if ty.is_none() && branch.term.tells_type() {
                ty = Some(self.typed(branch.term.clone(), branch.span)?.ty);
            }
        }
        let choice = Choice {
            condition,
            then: first,
            otherwise: second,
            span,
        };
        Ok(match ty {
            Some(ty) => Term::Value(self.meet_choice(choice, ty)?),
            None => Term::Choice(Box::new(choice)),
        })
    }

    /// Makes a choice between two values of one type.
    pub(super) fn meet_choice(&mut self, choice: Choice, ty: TypeId) -> Done<Expression> {
        let Choice {
            condition,
            then,
            otherwise,
            span,
        } = choice;
        let first = self.meet(then.term, ty, then.span)?;
        let second = self.meet(otherwise.term, ty, otherwise.span)?;
        let first = Box::new(block_of(then.statements, first));
        let second = Box::new(block_of(otherwise.statements, second));
        Ok(Expression::new(
            ExpressionKind::If(Box::new(condition), first, second),
            ty,
            span,
        ))
    }

    /// Makes a number or a condition of counters if both branches are of that kind.
    fn choose_number(&mut self, guard: &Number, a: &Term, b: &Term, span: Span) -> Option<Term> {
        let choice = |a, b| Number::apply(NumberOperator::If, vec![guard.clone(), a, b]);
        if let (Some(a), Some(b)) = (a.as_number(), b.as_number()) {
            return Some(Term::Number(choice(a, b)));
        }
        let (a, b) = (a.as_guard()?, b.as_guard()?);
        Some(self.guard(choice(a, b), span))
    }

    /// Emits a term in the place of a statement.
    pub(super) fn emit(&mut self, term: Term, out: &mut Vec<Statement>) {
        match term {
            Term::Value(value) => emit_value(value, out),
            Term::List(parts, _) => parts.into_iter().for_each(|(part, _)| self.emit(part, out)),
            Term::Block(branch) => {
                out.extend(branch.statements);
                self.emit(branch.term, out);
            }
            Term::Choice(choice) => {
                let (mut first, mut second) = (choice.then.statements, choice.otherwise.statements);
                self.emit(choice.then.term, &mut first);
                self.emit(choice.otherwise.term, &mut second);
                emit_if(choice.condition, (first, second), choice.span, out);
            }
            Term::Integer(_) | Term::Fraction(_) | Term::Text(_) => {}
            Term::Number(_) | Term::Guard(_) => {}
        }
    }
}

/// Emits the effects of an expression, without its value.
fn emit_value(value: Expression, out: &mut Vec<Statement>) {
    let span = value.span;
    // A place has effects if an index or the value that contains it has.
    if matches!(value.kind, ExpressionKind::Read(_)) && !value.has_effects() {
        return;
    }
    match value.kind {
        ExpressionKind::Constant(_) | ExpressionKind::Number(_) => {}
        ExpressionKind::Block(block) => {
            out.extend(block.statements);
            emit_value(block.value, out);
        }
        ExpressionKind::If(condition, then, otherwise) => {
            let (mut first, mut second) = (Vec::new(), Vec::new());
            emit_value(*then, &mut first);
            emit_value(*otherwise, &mut second);
            emit_if(*condition, (first, second), span, out);
        }
        kind => {
            let value = Expression { kind, ..value };
            out.push(Statement::new(StatementKind::Evaluate(value), span));
        }
    }
}

/// Emits an `if`. If both branches are empty, emits only the effects of the condition.
fn emit_if(
    condition: Condition,
    (then, otherwise): (Vec<Statement>, Vec<Statement>),
    span: Span,
    out: &mut Vec<Statement>,
) {
    if !then.is_empty() || !otherwise.is_empty() {
        out.push(Statement::new(
            StatementKind::If(condition, then, otherwise),
            span,
        ));
    } else if let Condition::Secret(value) = condition
        && value.has_effects()
    {
        emit_value(value, out);
    }
}
