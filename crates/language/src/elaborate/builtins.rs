//! The functions that are implemented in Rust.

use num_bigint::BigInt;
use num_traits::Signed;

use super::calls::CallArgument;
use super::expression::block_of;
use super::operators::Operands;
use super::term::Term;
use super::{Done, Elaborator, Surroundings};
use crate::diagnostic::Diagnostic;
use crate::interpret;
use crate::program::{
    BinaryOperator, Expression, ExpressionKind, GenericValue, Intrinsic, Number, NumberOperator,
    Statement, StatementKind, TypeId, TypeKind, TypeTable, bits_of,
};
use crate::source::{Span, Symbol};
use crate::syntax::{self, Generic, GenericArgument, Ident};

impl<'a> Elaborator<'a> {
    pub(super) fn builtin(
        &mut self,
        name: &'static str,
        generics: &'a [GenericArgument],
        given: &[CallArgument<'a>],
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        if let Some(CallArgument {
            name: Some(named), ..
        }) = given.iter().find(|g| g.name.is_some())
        {
            let message = format!("the arguments of `{name}` have no names");
            return self.fail(Diagnostic::new(named.span, message));
        }
        match name {
            "bits" => self.bits(given, span),
            "min" => self.least(given, Intrinsic::Min, hint, span),
            "max" => self.least(given, Intrinsic::Max, hint, span),
            "abs" => self.magnitude(given, hint, span),
            "wide_mul" => self.wide_mul(given, span),
            "wide_dot" => self.wide_dot(given, span),
            "add_sat" => self.add_sat(given, hint, span),
            "one_hot" => self.one_hot(generics, given, hint, span),
            "get_or" => self.get_or(given, span),
            "leading_ones" => self.bit_count(name, given, Intrinsic::LeadingOnes, span),
            "count_ones" => self.bit_count(name, given, Intrinsic::CountOnes, span),
            "zero" => {
                let [] = self.positional(name, given, span)?;
                let ty = self.result_type(name, generics, hint, span)?;
                let value = self.program.types.zero(ty);
                Ok(Term::constant(value, ty, span))
            }
            "debug" => self.debug(given, span),
            _ => self.random(name, generics, given, hint, span),
        }
    }

    /// Applies an intrinsic. The result is a constant if all arguments are.
    pub(super) fn intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        arguments: Vec<Expression>,
        ty: TypeId,
        span: Span,
    ) -> Expression {
        let types: Vec<TypeId> = arguments.iter().map(|value| value.ty).collect();
        if let Some(constants) = Expression::constants(&arguments) {
            let table = &self.program.types;
            if let Some(value) = interpret::intrinsic(table, intrinsic, ty, &types, &constants) {
                return Expression::constant(value, ty, span);
            }
        }
        Expression::new(ExpressionKind::Intrinsic(intrinsic, arguments), ty, span)
    }

    fn applied(
        &mut self,
        intrinsic: Intrinsic,
        arguments: Vec<Expression>,
        ty: TypeId,
        span: Span,
    ) -> Done<Term> {
        Ok(Term::Value(self.intrinsic(intrinsic, arguments, ty, span)))
    }

    /// Returns the type of a function's integer result, unless it is too wide.
    fn wide_type(&mut self, kind: TypeKind, what: &str, span: Span) -> Done<TypeId> {
        let ty = self.program.types.add(kind);
        if self.program.types.width(ty) > u64::from(TypeTable::MAX_NUMBER_BITS) {
            let message = format!("this {what} has more than 4096 bits");
            return self.fail(Diagnostic::new(span, message));
        }
        Ok(ty)
    }

    /// Returns `T` of `zero::<T>()`, or the expected type.
    fn result_type(
        &mut self,
        name: &str,
        generics: &'a [GenericArgument],
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<TypeId> {
        let declared = [generic("T", false, span)];
        let values = self.generic_values(&declared, generics, span)?;
        match (values.first(), hint) {
            (Some(GenericValue::Type(ty)), _) => Ok(*ty),
            (_, Some(ty)) => Ok(ty),
            _ => {
                let error = Diagnostic::new(span, format!("`{name}` of which type?"));
                self.fail(error.help(format!("write `{name}::<u32>()`")))
            }
        }
    }

    fn bits(&mut self, given: &[CallArgument<'a>], span: Span) -> Done<Term> {
        let [value] = self.positional("bits", given, span)?;
        let term = self.expression(value, None)?;
        if let Term::Number(number) = term {
            let number = Number::apply(NumberOperator::Bits, vec![number]);
            return Ok(Term::Number(number));
        }
        let number = self.integer_of(term, value.span, "what `bits` counts the bits of")?;
        if number.is_negative() {
            let error = Diagnostic::new(value.span, format!("`bits` of {number}"));
            return self.fail(error.help("`bits(x)` is how many bits it takes to write x ≥ 0"));
        }
        Ok(Term::Integer(number.bits().max(1).into()))
    }

    fn least(
        &mut self,
        given: &[CallArgument<'a>],
        intrinsic: Intrinsic,
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let (name, operator) = match intrinsic {
            Intrinsic::Min => ("min", NumberOperator::Minimum),
            _ => ("max", NumberOperator::Maximum),
        };
        let [a, b] = self.positional(name, given, span)?;
        let left = self.expression(a, hint)?;
        let right = self.expression(b, left.ty().or(hint))?;
        if let (Term::Integer(a), Term::Integer(b)) = (&left, &right) {
            let number: &BigInt = match intrinsic {
                Intrinsic::Min => a.min(b),
                _ => a.max(b),
            };
            return Ok(Term::Integer(number.clone()));
        }
        if let (Some(a), Some(b)) = (left.as_number(), right.as_number()) {
            return Ok(Term::Number(Number::apply(operator, vec![a, b])));
        }
        let (left, right) = self.one_number_type(name, (a, left), (b, right), hint, span)?;
        let ty = left.ty;
        self.applied(intrinsic, vec![left, right], ty, span)
    }

    /// Returns both arguments as numbers of one type.
    fn one_number_type(
        &mut self,
        name: &str,
        (a, left): (&syntax::Expression, Term),
        (b, right): (&syntax::Expression, Term),
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<(Expression, Expression)> {
        let of = Operands {
            operator: BinaryOperator::Less,
            sign: span,
            spans: (a.span, b.span),
            span,
        };
        let (left, right) = self.one_type(of, left, right, hint)?;
        if !self.program.types.is_number(left.ty) {
            let message = format!("`{name}` of values of type `{}`", self.type_name(left.ty));
            return self.fail(Diagnostic::new(span, message));
        }
        Ok((left, right))
    }

    fn magnitude(
        &mut self,
        given: &[CallArgument<'a>],
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let [value] = self.positional("abs", given, span)?;
        match self.expression(value, hint)? {
            Term::Integer(number) => Ok(Term::Integer(number.abs())),
            Term::Fraction(number) => Ok(Term::Fraction(number.abs())),
            Term::Number(number) => {
                let number = Number::apply(NumberOperator::Absolute, vec![number]);
                Ok(Term::Number(number))
            }
            term => {
                let value = self.typed(term, value.span)?;
                let ty = value.ty;
                match self.program.types.kind(ty) {
                    TypeKind::Signed(_) | TypeKind::Fixed(..) => {
                        self.has_opposite(&value, span)?;
                        self.applied(Intrinsic::Abs, vec![value], ty, span)
                    }
                    _ => {
                        let message = format!("`abs` of a `{}`", self.type_name(ty));
                        let error = Diagnostic::new(span, message);
                        self.fail(error.help("only signed numbers have a sign to lose"))
                    }
                }
            }
        }
    }

    fn wide_mul(&mut self, given: &[CallArgument<'a>], span: Span) -> Done<Term> {
        let [a, b] = self.positional("wide_mul", given, span)?;
        let left = self.expression(a, None)?;
        let right = self.expression(b, left.ty())?;
        let left = self.typed_or_met(left, right.ty(), a.span)?;
        let right = self.typed_or_met(right, Some(left.ty), b.span)?;
        let types = &self.program.types;
        let kind = match (types.kind(left.ty), types.kind(right.ty)) {
            (TypeKind::Unsigned(m), TypeKind::Unsigned(n)) => TypeKind::Unsigned(m + n),
            (TypeKind::Signed(m), TypeKind::Signed(n)) => TypeKind::Signed(m + n),
            _ => {
                let (a, b) = (self.type_name(left.ty), self.type_name(right.ty));
                let message = format!("`wide_mul` of a `{a}` and a `{b}`");
                let error = Diagnostic::new(span, message);
                return self.fail(error.help("it takes two unsigned or two signed integers"));
            }
        };
        let ty = self.wide_type(kind, "product", span)?;
        self.applied(Intrinsic::WideMul, vec![left, right], ty, span)
    }

    fn wide_dot(&mut self, given: &[CallArgument<'a>], span: Span) -> Done<Term> {
        let [a, b] = self.positional("wide_dot", given, span)?;
        let left = self.expression(a, None)?;
        let left = self.typed(left, a.span)?;
        let right = self.expression(b, Some(left.ty))?;
        let right = self.meet(right, left.ty, b.span)?;
        let types = &self.program.types;
        let of = types.element(left.ty).filter(|(_, length)| *length > 0);
        let more = |length: u32| u32::BITS - (length - 1).max(1).leading_zeros();
        let kind = match of.map(|(element, length)| (types.kind(element), length)) {
            Some((TypeKind::Unsigned(w), n)) => TypeKind::Unsigned(2 * w + more(n)),
            Some((TypeKind::Signed(w), n)) => TypeKind::Signed(2 * w + more(n)),
            _ => {
                let message = format!("`wide_dot` of two `{}`", self.type_name(left.ty));
                let error = Diagnostic::new(span, message);
                return self.fail(error.help("it takes two arrays of one type of integers"));
            }
        };
        let ty = self.wide_type(kind, "sum", span)?;
        self.applied(Intrinsic::WideDot, vec![left, right], ty, span)
    }

    fn add_sat(
        &mut self,
        given: &[CallArgument<'a>],
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let [a, b] = self.positional("add_sat", given, span)?;
        let left = self.expression(a, hint)?;
        let right = self.expression(b, left.ty().or(hint))?;
        let (left, right) = self.one_number_type("add_sat", (a, left), (b, right), hint, span)?;
        let ty = left.ty;
        self.applied(Intrinsic::AddSat, vec![left, right], ty, span)
    }

    fn one_hot(
        &mut self,
        generics: &'a [GenericArgument],
        given: &[CallArgument<'a>],
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let [index] = self.positional("one_hot", given, span)?;
        let declared = [generic("N", true, span)];
        let values = self.generic_values(&declared, generics, span)?;
        let bool = self.program.types.bool();
        let length = match (values.first(), hint.map(|ty| self.program.types.kind(ty))) {
            (Some(GenericValue::Number(n)), _) => u32::try_from(n).ok(),
            (_, Some(&TypeKind::Array(element, n))) if element == bool => Some(n),
            _ => None,
        };
        let Some(length) = length.filter(|n| (1..=1 << 24).contains(n)) else {
            let error = Diagnostic::new(span, "how many bools does `one_hot` give?");
            return self.fail(error.help("write `one_hot::<N>(index)`"));
        };
        let index = self.index_value(index)?;
        let ty = self.sized(TypeKind::Array(bool, length), span)?;
        self.applied(Intrinsic::OneHot, vec![index], ty, span)
    }

    /// Elaborates an index that may be secret.
    fn index_value(&mut self, from: &'a syntax::Expression) -> Done<Expression> {
        let term = self.expression(from, None)?;
        let value = self.typed(term, from.span)?;
        match self.program.types.kind(value.ty) {
            TypeKind::Unsigned(_) | TypeKind::Enum(_) => Ok(value),
            _ => {
                let message = format!("a `{}` cannot be an index", self.type_name(value.ty));
                let error = Diagnostic::new(from.span, message);
                self.fail(error.help("an index is unsigned, or an enum"))
            }
        }
    }

    fn get_or(&mut self, given: &[CallArgument<'a>], span: Span) -> Done<Term> {
        let [array, index, other] = self.positional("get_or", given, span)?;
        let term = self.expression(array, None)?;
        let values = self.typed(term, array.span)?;
        let Some((element, length)) = self.program.types.element(values.ty) else {
            let message = format!("a `{}` has no elements", self.type_name(values.ty));
            return self.fail(Diagnostic::new(array.span, message));
        };
        let index = self.index_value(index)?;
        let other = self.value(other, element)?;
        if length == 0 {
            let mut statements = Vec::new();
            self.emit(Term::Value(values), &mut statements);
            self.emit(Term::Value(index), &mut statements);
            return Ok(Term::Value(block_of(statements, other)));
        }
        let arguments = vec![values, index, other];
        self.applied(Intrinsic::GetOr, arguments, element, span)
    }

    fn bit_count(
        &mut self,
        name: &str,
        given: &[CallArgument<'a>],
        intrinsic: Intrinsic,
        span: Span,
    ) -> Done<Term> {
        let [value] = self.positional(name, given, span)?;
        let term = self.expression(value, None)?;
        let value = self.typed(term, value.span)?;
        if !self.program.types.is_integer(value.ty) {
            let message = format!("`{name}` of a `{}`", self.type_name(value.ty));
            return self.fail(Diagnostic::new(span, message));
        }
        let width = bits_of(self.program.types.width(value.ty));
        let ty = self.program.types.unsigned(width);
        self.applied(intrinsic, vec![value], ty, span)
    }

    /// Elaborates `debug(x)`, which shows `x` when the program is evaluated or tested. In other
    /// programs it leaves no trace, so that no run can print a secret.
    fn debug(&mut self, given: &[CallArgument<'a>], span: Span) -> Done<Term> {
        let [value] = self.positional("debug", given, span)?;
        let term = match self.expression(value, None)? {
            Term::Number(number) => {
                let ty = self.program.types.add(TypeKind::Signed(128));
                self.meet(Term::Number(number), ty, value.span)?
            }
            Term::Integer(number) => {
                let bits = (number.bits() + 1) as u32;
                let ty = self.program.types.add(TypeKind::Signed(bits));
                self.meet(Term::Integer(number), ty, value.span)?
            }
            term => self.typed(term, value.span)?,
        };
        // A test is never in a run. Everywhere else, a program without `debug` must do the same.
        if term.has_effects() && self.context.surroundings != Surroundings::Test {
            let error = Diagnostic::new(value.span, "`debug` of what assigns or draws random bits");
            return self.fail(error.help("write `let x = …;` before, and `debug(x)` here"));
        }
        if !self.keeps_debug {
            self.left_out.push(span);
            return Ok(self.unit(span));
        }
        let kind = StatementKind::Debug(term);
        let value = self.unit_expression(span);
        Ok(Term::Value(block_of(vec![Statement { kind, span }], value)))
    }

    fn random(
        &mut self,
        name: &str,
        generics: &'a [GenericArgument],
        given: &[CallArgument<'a>],
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let [] = self.positional(name, given, span)?;
        let ty = self.result_type(name, generics, hint, span)?;
        if !matches!(self.context.surroundings, Surroundings::Entry(_)) {
            let error = Diagnostic::new(span, "only `main` and runs draw random bits");
            return self.fail(error.help("draw them there, and give them to the function"));
        }
        self.program.draws_random = true;
        let kind = ExpressionKind::Intrinsic(Intrinsic::Random, Vec::new());
        Ok(Term::Value(Expression::new(kind, ty, span)))
    }
}

/// Returns the generic of a function that no file declares.
fn generic(name: &str, is_const: bool, span: Span) -> Generic {
    let name = Symbol::new(name);
    let name = Ident { name, span };
    Generic { name, is_const }
}
