//! `match` and its patterns.

use super::control::Branch;
use super::expression::read_of;
use super::names::habit;
use super::operators::Operands;
use super::term::Term;
use super::{Binding, Done, Elaborator};
use crate::diagnostic::Diagnostic;
use crate::load::Definition;
use crate::program::{BinaryOperator, Root, Statement, StatementKind, TypeId, TypeKind, Value};
use crate::source::Span;
use crate::syntax::{self, Arm, ExpressionKind as Syntax, Ident, ItemKind, Pattern, PatternKind};

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
        // A value is computed once, independent of the number of arms.
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
                statements.push(Statement::new(StatementKind::Let(local, value), at));
                read_of(Root::Local(local), ty, at)
            }
            term => term,
        };
        for arm in arms {
            for pattern in &arm.patterns {
                self.check_names(pattern, term.ty())?;
            }
            self.check_bound(arm)?;
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
        if rest.is_empty() {
            // The patterns together cover all values, so that the last one needs no test.
            let _ = self.arm_condition(value, arm)?;
            let last = self.arm_branch(value, arm, hint)?;
            return self.close(last, hint);
        }
        let condition = self.arm_condition(value, arm)?;
        let condition_span = arm.patterns[0].span;
        let mut first = |this: &mut Self| this.arm_branch(value, arm, hint);
        let mut second = |this: &mut Self| {
            let term = this.deeper(span, |this| this.arms(value, rest, hint, span))?;
            Ok(Branch::of(term, arm.value.span.after()))
        };
        self.choose(
            condition,
            condition_span,
            (&mut first, &mut second),
            hint,
            span,
        )
    }

    /// Returns the value of an arm, with the names of its pattern bound.
    fn arm_branch(&mut self, value: &Term, arm: &'a Arm, hint: Option<TypeId>) -> Done<Branch> {
        self.scoped(|this| {
            let mut statements = Vec::new();
            for pattern in &arm.patterns {
                this.bind_parts(value, pattern, &mut statements)?;
            }
            let branch = this.branch(&arm.value, hint)?;
            statements.extend(branch.statements);
            Ok(Branch {
                statements,
                ..branch
            })
        })
    }

    fn bind_parts(
        &mut self,
        value: &Term,
        pattern: &'a Pattern,
        out: &mut Vec<Statement>,
    ) -> Done<()> {
        if let PatternKind::Tuple(parts) = &pattern.kind {
            for (place, part) in parts.iter().enumerate() {
                let value = self.part_of(value, place, parts.len(), pattern.span)?;
                self.bind_parts(&value, part, out)?;
            }
        } else if let Some(name) = self.bound_name(pattern) {
            self.bind_name(
                (name, false),
                value.clone(),
                (pattern.span, pattern.span),
                out,
            )?;
        }
        Ok(())
    }

    /// Returns the name that a pattern binds. Such a name starts with a small letter, and no const
    /// has it.
    pub(super) fn bound_name(&self, pattern: &'a Pattern) -> Option<&'a Ident> {
        let PatternKind::Value(value) = &pattern.kind else {
            return None;
        };
        let Syntax::Path(path) = &value.kind else {
            return None;
        };
        let name = path.as_name()?;
        if !name
            .as_str()
            .starts_with(|first: char| first.is_lowercase())
        {
            return None;
        }
        let is_new = match self.binding(name.as_str()) {
            Some(Binding::Local(..)) => true,
            Some(Binding::Term(term)) => !term.is_const(),
            Some(_) => false,
            None => match self.loaded.lookup(self.context.module, name.as_str()) {
                Some(Definition::Item(key)) => {
                    let kind = &self.loaded.item(key).kind;
                    !matches!(kind, ItemKind::Const(..) | ItemKind::Param(_))
                }
                _ => true,
            },
        };
        is_new.then_some(name)
    }

    /// Reports names that an arm binds twice, or in only one of several patterns.
    fn check_bound(&mut self, arm: &'a Arm) -> Done<()> {
        let mut names: Vec<&Ident> = Vec::new();
        let mut open: Vec<&'a Pattern> = arm.patterns.iter().collect();
        while let Some(pattern) = open.pop() {
            if let PatternKind::Tuple(parts) = &pattern.kind {
                open.extend(parts);
            }
            let Some(name) = self.bound_name(pattern) else {
                continue;
            };
            if names.iter().any(|other| other.name == name.name) {
                let message = format!("this pattern gives the name `{}` twice", name.name);
                return self.fail(Diagnostic::new(name.span, message));
            }
            if arm.patterns.len() > 1 {
                let message = format!("`{}` stands in one of several patterns", name.name);
                let error = Diagnostic::new(name.span, message);
                return self
                    .fail(error.help("an arm with `|` gives no names: write `_`, or two arms"));
            }
            names.push(name);
        }
        Ok(())
    }

    /// Returns the condition that one of an arm's patterns matches.
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
            PatternKind::Value(_) if self.bound_name(pattern).is_some() => {
                Ok(self.bool_term(true, span))
            }
            PatternKind::Value(bound) => match &bound.kind {
                Syntax::Range(from, to, is_inclusive) => {
                    let first = self.pattern_const(from, value.ty())?;
                    let last = self.pattern_const(to, value.ty())?;
                    let lower = self.compared(value, BinaryOperator::GreaterEqual, first, from)?;
                    let upper = self.up_to(value, last, *is_inclusive, to)?;
                    let of = operands(BinaryOperator::LogicalAnd, span);
                    self.apply(of, lower, upper, None)
                }
                _ => {
                    let term = self.pattern_const(bound, value.ty())?;
                    self.compared(value, BinaryOperator::Equal, term, bound)
                }
            },
        }
    }

    /// Returns the const in a pattern.
    fn pattern_const(&mut self, of: &'a syntax::Expression, ty: Option<TypeId>) -> Done<Term> {
        let term = self.expression(of, ty)?;
        if term.is_const() {
            return Ok(term);
        }
        let error = Diagnostic::new(of.span, "a pattern is const, and this is a secret");
        self.fail(error.help("use `if` to compare secrets"))
    }

    /// Compares a value with a const.
    fn compared(
        &mut self,
        value: &Term,
        operator: BinaryOperator,
        to: Term,
        at: &'a syntax::Expression,
    ) -> Done<Term> {
        self.apply(operands(operator, at.span), value.clone(), to, None)
    }

    /// Compares a value with the end of a range. An exclusive end means the number before it, so
    /// that both forms mean the same.
    fn up_to(
        &mut self,
        value: &Term,
        to: Term,
        is_inclusive: bool,
        at: &'a syntax::Expression,
    ) -> Done<Term> {
        if is_inclusive {
            return self.compared(value, BinaryOperator::LessEqual, to, at);
        }
        let last = match (value.ty(), to) {
            (Some(ty), to) => {
                let met = self.meet(to, ty, at.span)?;
                let least = self.program.types.range(ty).map(|(least, _)| least);
                match (met.as_constant(), least) {
                    (Some(Value::Integer(end)), Some(least)) if *end > least => {
                        Term::constant(Value::Integer(end - 1), ty, at.span)
                    }
                    (Some(Value::Integer(_)), Some(_)) => return Ok(self.bool_term(false, at.span)),
                    _ => return self.compared(value, BinaryOperator::Less, Term::Value(met), at),
                }
            }
            (None, Term::Integer(end)) if !matches!(value, Term::Fraction(_)) => {
                Term::Integer(end - 1)
            }
            (None, to) => return self.compared(value, BinaryOperator::Less, to, at),
        };
        self.compared(value, BinaryOperator::LessEqual, last, at)
    }

    /// Reports names in a pattern that have no meaning.
    fn check_names(&mut self, pattern: &'a Pattern, ty: Option<TypeId>) -> Done<()> {
        let kind = ty.map(|ty| self.program.types.kind(ty).clone());
        if self.bound_name(pattern).is_some() {
            return Ok(());
        }
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
                let error = Diagnostic::new(path.span, format!("nothing here is called `{name}`"));
                error.help("a name that a pattern gives begins with a small letter")
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
