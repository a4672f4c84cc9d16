//! `match` and its patterns.

use std::ops::Range;

use super::control::Branch;
use super::expression::read_of;
use super::names::habit;
use super::operators::Operands;
use super::term::Term;
use super::{Done, Elaborator};
use crate::diagnostic::Diagnostic;
use crate::program::{BinaryOperator, Root, Statement, StatementKind, TypeId, TypeKind, Value};
use crate::source::Span;
use crate::syntax::{self, Arm, ExpressionKind as Syntax, Pattern, PatternKind};

impl<'a> Elaborator<'a> {
    pub(super) fn match_expression(
        &mut self,
        value: &'a syntax::Expression,
        arms: &'a [Arm],
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let term = self.expression(value, None)?;
        let mut statements = Vec::new();
        // A value is computed once, whatever the number of arms.
        let (term, is_list) = match term {
            Term::List(..) => (Term::Value(self.typed(term, value.span)?), true),
            Term::Choice(_) | Term::Block(_) => (Term::Value(self.typed(term, value.span)?), false),
            term => (term, false),
        };
        let term = match term {
            Term::Value(value)
                if value.as_constant().is_none() && (!is_list || value.has_effects()) =>
            {
                let local = self.unnamed(value.ty);
                let (ty, at) = (value.ty, value.span);
                let kind = StatementKind::Let(local, value);
                statements.push(Statement { kind, span: at });
                read_of(Root::Local(local), ty, at)
            }
            term => term,
        };
        for pattern in arms.iter().flat_map(|arm| &arm.patterns) {
            self.check_names(pattern, term.ty())?;
        }
        self.check_exhaustive(&term, arms, span)?;
        let chosen = self.arms(&term, arms, hint, span)?;
        let branch = Branch {
            statements,
            term: chosen,
            span,
        };
        self.close(branch, hint)
    }

    fn arms(
        &mut self,
        value: &Term,
        arms: &'a [Arm],
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let Some((arm, rest)) = arms.split_first() else {
            return self.fail(Diagnostic::new(span, "this `match` has no arms"));
        };
        let branch = |this: &mut Self, of: &'a syntax::Expression| match &of.kind {
            Syntax::Block(block) => this.block(block, hint),
            _ => Ok(Branch {
                statements: Vec::new(),
                term: this.expression(of, hint)?,
                span: of.span,
            }),
        };
        if rest.is_empty() {
            // The patterns together cover all values, so that the last needs no test.
            let _ = self.arm_condition(value, arm)?;
            let last = branch(self, &arm.value)?;
            return self.close(last, hint);
        }
        let condition = self.arm_condition(value, arm)?;
        let condition_span = arm.patterns[0].span;
        let mut first = |this: &mut Self| branch(this, &arm.value);
        let mut second = |this: &mut Self| {
            Ok(Branch {
                statements: Vec::new(),
                term: this.deeper(span, |this| this.arms(value, rest, hint, span))?,
                span: arm.value.span.after(),
            })
        };
        self.choose(
            condition,
            condition_span,
            (&mut first, &mut second),
            hint,
            span,
        )
    }

    /// Whether one of an arm's patterns holds.
    fn arm_condition(&mut self, value: &Term, arm: &'a Arm) -> Done<Term> {
        let mut condition = None;
        for pattern in &arm.patterns {
            let next = self.pattern_condition(value, pattern)?;
            condition = Some(match condition {
                None => next,
                Some(before) => {
                    let of = operands(BinaryOperator::LogicalOr, pattern.span);
                    self.apply(of, before, next, None)?
                }
            });
        }
        Ok(condition.expect("an arm has a pattern"))
    }

    fn pattern_condition(&mut self, value: &Term, pattern: &'a Pattern) -> Done<Term> {
        let span = pattern.span;
        match &pattern.kind {
            PatternKind::Any | PatternKind::Name(..) => Ok(self.bool_term(true, span)),
            PatternKind::Tuple(parts) => {
                let mut condition = self.bool_term(true, span);
                for (place, part) in parts.iter().enumerate() {
                    let value = self.part_of(value, place, parts.len(), span)?;
                    let next = self.pattern_condition(&value, part)?;
                    let of = operands(BinaryOperator::LogicalAnd, span);
                    condition = self.apply(of, condition, next, None)?;
                }
                Ok(condition)
            }
            PatternKind::Value(bound) => match &bound.kind {
                Syntax::Range(from, to, is_inclusive) => {
                    let last = match is_inclusive {
                        true => BinaryOperator::LessEqual,
                        false => BinaryOperator::Less,
                    };
                    let lower = self.bound(value, BinaryOperator::GreaterEqual, from)?;
                    let upper = self.bound(value, last, to)?;
                    let of = operands(BinaryOperator::LogicalAnd, span);
                    self.apply(of, lower, upper, None)
                }
                _ => self.bound(value, BinaryOperator::Equal, bound),
            },
        }
    }

    /// How a value stands to a const.
    fn bound(
        &mut self,
        value: &Term,
        operator: BinaryOperator,
        bound: &'a syntax::Expression,
    ) -> Done<Term> {
        let term = self.expression(bound, value.ty())?;
        let is_const = !matches!(&term, Term::Value(value) if value.as_constant().is_none());
        if !is_const {
            let error = Diagnostic::new(bound.span, "a pattern is const, and this is a secret");
            return self.fail(error.help("use `if` to compare secrets"));
        }
        self.apply(operands(operator, bound.span), value.clone(), term, None)
    }

    /// Reports values that no arm is for.
    fn check_exhaustive(&mut self, value: &Term, arms: &'a [Arm], span: Span) -> Done<()> {
        let patterns = || arms.iter().flat_map(|arm| &arm.patterns);
        if patterns().any(|pattern| matches!(pattern.kind, PatternKind::Any)) {
            return Ok(());
        }
        let names: Vec<String> = match value.ty().map(|ty| self.program.types.kind(ty).clone()) {
            Some(TypeKind::Enum(number)) => {
                let ty = self.program.types.enum_type(number);
                ty.variants.iter().map(ToString::to_string).collect()
            }
            Some(TypeKind::Bool) => vec!["false".to_owned(), "true".to_owned()],
            Some(TypeKind::Unsigned(1)) => vec!["0".to_owned(), "1".to_owned()],
            _ => {
                let error = Diagnostic::new(span, "this `match` is not for all values");
                return self.fail(error.help("add `_ => …` for the others"));
            }
        };
        let mut covered = vec![false; names.len()];
        for pattern in patterns() {
            let PatternKind::Value(value) = &pattern.kind else {
                continue;
            };
            if let Some(codes) = self.codes(value)? {
                for (code, covered) in covered.iter_mut().enumerate() {
                    *covered |= codes.contains(&code);
                }
            }
        }
        let missing = names.iter().zip(covered).filter(|(_, covered)| !covered);
        let missing: Vec<&str> = missing.map(|(name, _)| name.as_str()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let message = format!("this `match` has no arm for {}", missing.join(", "));
        let error = Diagnostic::new(span, message);
        self.fail(error.help("add an arm, or `_ => …` for all others"))
    }

    /// The codes of the values that a pattern is for.
    fn codes(&mut self, pattern: &'a syntax::Expression) -> Done<Option<Range<usize>>> {
        let (from, to, is_inclusive) = match &pattern.kind {
            Syntax::Range(from, to, is_inclusive) => (&**from, &**to, *is_inclusive),
            _ => (pattern, pattern, true),
        };
        let mut code = |of: &'a syntax::Expression| -> Done<Option<usize>> {
            let term = self.expression(of, None)?;
            Ok(match (&term, term.as_constant()) {
                (Term::Integer(code), _) | (_, Some(Value::Integer(code))) => {
                    usize::try_from(code).ok()
                }
                (_, Some(Value::Bool(value))) => Some(usize::from(*value)),
                _ => None,
            })
        };
        let ends = code(from)?.zip(code(to)?);
        Ok(ends.map(|(from, to)| from..to.saturating_add(usize::from(is_inclusive))))
    }

    /// Reports names in a pattern that mean nothing.
    fn check_names(&mut self, pattern: &'a Pattern, ty: Option<TypeId>) -> Done<()> {
        let kind = ty.map(|ty| self.program.types.kind(ty).clone());
        let path = match (&pattern.kind, &kind) {
            (PatternKind::Tuple(parts), Some(TypeKind::Tuple(types))) => {
                let mut parts = parts.iter().zip(types);
                return parts.try_for_each(|(part, ty)| self.check_names(part, Some(*ty)));
            }
            (PatternKind::Value(value), _) => match &value.kind {
                Syntax::Path(path) => path,
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        let name = &path.last().name;
        let enum_type = match (ty, kind) {
            (Some(ty), Some(TypeKind::Enum(number))) => {
                let variants = &self.program.types.enum_type(number).variants;
                let named = variants.iter().find(|variant| *variant == name);
                let variant = named.or(variants.first()).cloned();
                variant.map(|variant| (self.type_name(ty), named.is_some(), variant))
            }
            _ => None,
        };
        let error = match enum_type {
            Some((of, true, variant)) if self.is_unknown(path) => {
                let error = Diagnostic::new(path.span, format!("nothing here is called `{name}`"));
                error.help(format!("a variant is written `{of}::{variant}`"))
            }
            Some((of, false, variant)) if self.is_new(path) => {
                let error = Diagnostic::new(path.span, format!("nothing here is called `{name}`"));
                let help = "and `_ => …` is for all others";
                error.help(format!("a variant is written `{of}::{variant}`, {help}"))
            }
            None if self.is_new(path) && habit(name.as_str()).is_none() => {
                let error = Diagnostic::new(path.span, "a pattern gives no names");
                error.help("write `_ => …`")
            }
            _ => return Ok(()),
        };
        self.fail(error)
    }
}

fn operands(operator: BinaryOperator, span: Span) -> Operands {
    Operands {
        operator,
        sign: span,
        spans: (span, span),
        span,
    }
}
