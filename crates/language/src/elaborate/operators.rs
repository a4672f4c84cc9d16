//! Operators between two operands.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};

use super::narrow::ends;
use super::term::Term;
use super::{Done, Elaborator};
use crate::diagnostic::Diagnostic;
use crate::interpret::operators;
use crate::program::{
    BinaryOperator, Expression, ExpressionKind, Number, TypeId, TypeKind, TypeTable, Value,
};
use crate::source::Span;
use crate::syntax;

use BinaryOperator as B;

/// The length of the longest number that consts make, in bits.
const MAX_CONST_BITS: u64 = 1 << 14;

impl<'a> Elaborator<'a> {
    pub(super) fn binary(
        &mut self,
        operator: BinaryOperator,
        sign: Span,
        (a, b): (&'a syntax::Expression, &'a syntax::Expression),
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let keeps_type =
            !operator.is_comparison() && !matches!(operator, B::LogicalAnd | B::LogicalOr);
        let hint = hint.filter(|_| keeps_type);
        let left = self.expression(a, hint)?;
        let is_shift = matches!(operator, B::ShiftLeft | B::ShiftRight);
        let right_hint = if is_shift { None } else { left.ty().or(hint) };
        let right = self.expression(b, right_hint)?;
        let terms = Operands {
            operator,
            sign,
            spans: (a.span, b.span),
            span,
        };
        self.apply(terms, left, right, hint)
    }

    /// Applies an operator, in `left operator right` or in a form such as `a += b`.
    pub(super) fn apply(
        &mut self,
        of: Operands,
        left: Term,
        right: Term,
        hint: Option<TypeId>,
    ) -> Done<Term> {
        match of.operator {
            B::LogicalAnd | B::LogicalOr => self.logic(of, left, right),
            B::ShiftLeft | B::ShiftRight => self.shift(of, left, right, hint),
            _ => {
                if let Some(exact) = self.exact(of, &left, &right)? {
                    return Ok(exact);
                }
                let (left, right) = self.one_type(of, left, right, hint)?;
                self.typed_binary(of, left, right)
            }
        }
    }

    fn logic(&mut self, of: Operands, left: Term, right: Term) -> Done<Term> {
        if let (Some(a), Some(b)) = (left.as_guard(), right.as_guard()) {
            let is_and = of.operator == B::LogicalAnd;
            let operator = if is_and { B::And } else { B::Or };
            return Ok(self.guard(Number::binary(operator, a, b), of.span));
        }
        let bool = self.program.types.bool();
        let left = self.meet(left, bool, of.spans.0)?;
        let right = self.meet(right, bool, of.spans.1)?;
        self.typed_binary(of, left, right)
    }

    fn shift(&mut self, of: Operands, left: Term, right: Term, hint: Option<TypeId>) -> Done<Term> {
        if let Some(exact) = self.exact(of, &left, &right)? {
            return Ok(exact);
        }
        let left = self.typed_or_met(left, hint, of.spans.0)?;
        if !self.program.types.is_number(left.ty) {
            let message = format!("a shift of a value of type `{}`", self.type_name(left.ty));
            return self.fail(Diagnostic::new(of.spans.0, message));
        }
        let (ty, span) = (left.ty, of.span);
        if let Some(amount) = right.as_number() {
            if amount.as_constant().is_some_and(|amount| amount < 0) {
                let error = Diagnostic::new(of.spans.1, "a shift by a negative number");
                return self.fail(error);
            }
            if let (Some(value), Some(amount)) = (left.as_constant(), amount.as_constant()) {
                let amount = amount.unsigned_abs();
                let types = &self.program.types;
                let folded = operators::shift(types, of.operator, ty, value, amount);
                return Ok(Term::constant(folded, ty, span));
            }
            let kind = ExpressionKind::Shift(of.operator, Box::new(left), amount);
            return Ok(Term::Value(Expression::new(kind, ty, span)));
        }
        let right = self.typed(right, of.spans.1)?;
        if !matches!(self.program.types.kind(right.ty), TypeKind::Unsigned(_)) {
            let message = format!("a shift by a value of type `{}`", self.type_name(right.ty));
            let error = Diagnostic::new(of.spans.1, message);
            return self.fail(error.help("the amount of a shift is unsigned"));
        }
        let kind = ExpressionKind::Binary(of.operator, Box::new(left), Box::new(right));
        Ok(Term::Value(Expression::new(kind, ty, span)))
    }

    /// Returns the result if no operand has a type.
    fn exact(&mut self, of: Operands, left: &Term, right: &Term) -> Done<Option<Term>> {
        match (left, right) {
            (Term::Integer(a), Term::Integer(b)) => self.integers(of, a, b).map(Some),
            (Term::Number(_), Term::Integer(_) | Term::Number(_))
            | (Term::Integer(_), Term::Number(_)) => {
                let (Some(a), Some(b)) = (left.as_number(), right.as_number()) else {
                    let error = Diagnostic::new(of.span, "this number is beyond 2^127");
                    return self.fail(error);
                };
                Ok(Some(self.numbers(of, a, b)))
            }
            (Term::Fraction(_) | Term::Integer(_), Term::Fraction(_))
            | (Term::Fraction(_), Term::Integer(_)) => self
                .fractions(of, &rational(left), &rational(right))
                .map(Some),
            _ => match (left.as_guard(), right.as_guard()) {
                (Some(a), Some(b)) => {
                    let operator = match of.operator {
                        B::NotEqual => B::Xor,
                        other => other,
                    };
                    let applies = matches!(operator, B::And | B::Or | B::Xor | B::Equal);
                    Ok(applies.then(|| self.guard(Number::binary(operator, a, b), of.span)))
                }
                _ => Ok(None),
            },
        }
    }

    fn integers(&mut self, of: Operands, a: &BigInt, b: &BigInt) -> Done<Term> {
        let amount = b.to_u64().filter(|by| *by <= MAX_CONST_BITS);
        let number = match of.operator {
            B::Add => a + b,
            B::Subtract => a - b,
            B::Multiply => a * b,
            B::Divide | B::Remainder if b.is_zero() => {
                let error = Diagnostic::new(of.span, "a const is divided by zero");
                return self.fail(error);
            }
            B::Divide => a / b,
            B::Remainder => a % b,
            B::And => a & b,
            B::Or => a | b,
            B::Xor => a ^ b,
            B::ShiftLeft | B::ShiftRight => match (of.operator, amount) {
                (B::ShiftLeft, Some(by)) => a << by,
                (B::ShiftRight, Some(by)) => a >> by,
                _ => {
                    let message = format!("a shift of a const by {b}");
                    return self.fail(Diagnostic::new(of.span, message));
                }
            },
            operator => {
                return Ok(self.bool_term(operator.holds(a.cmp(b)), of.span));
            }
        };
        if number.bits() > MAX_CONST_BITS {
            let message = format!("this const is beyond 2^{MAX_CONST_BITS}");
            return self.fail(Diagnostic::new(of.span, message));
        }
        Ok(Term::Integer(number))
    }

    fn numbers(&mut self, of: Operands, a: Number, b: Number) -> Term {
        let number = match of.operator {
            B::Greater => Number::binary(B::Less, b, a),
            B::GreaterEqual => Number::binary(B::LessEqual, b, a),
            operator => Number::binary(operator, a, b),
        };
        if of.operator.is_comparison() {
            return self.guard(number, of.span);
        }
        match number.as_constant() {
            Some(value) => Term::Integer(value.into()),
            None => Term::Number(number),
        }
    }

    fn fractions(&mut self, of: Operands, a: &BigRational, b: &BigRational) -> Done<Term> {
        let number = match of.operator {
            B::Add => a + b,
            B::Subtract => a - b,
            B::Multiply => a * b,
            B::Divide if b.is_zero() => {
                let error = Diagnostic::new(of.span, "a const is divided by zero");
                return self.fail(error);
            }
            B::Divide => a / b,
            operator if operator.is_comparison() => {
                return Ok(self.bool_term(operator.holds(a.cmp(b)), of.span));
            }
            operator => {
                let message = format!("`{}` of numbers with a point", operator.sign());
                return self.fail(Diagnostic::new(of.sign, message));
            }
        };
        if number.numer().bits() + number.denom().bits() > MAX_CONST_BITS {
            let error = Diagnostic::new(of.span, "this const has too many digits");
            return self.fail(error);
        }
        Ok(Term::Fraction(number))
    }

    /// Returns both operands as values of one type.
    pub(super) fn one_type(
        &mut self,
        of: Operands,
        left: Term,
        right: Term,
        hint: Option<TypeId>,
    ) -> Done<(Expression, Expression)> {
        let (a, b) = of.spans;
        match (left.ty(), right.ty()) {
            (Some(ty), Some(other)) if ty != other => {
                let (first, second) = (self.type_name(ty), self.type_name(other));
                let message = format!(
                    "`{}` of `{first}` and `{second}`: operands have one type",
                    of.operator.sign()
                );
                let mut error = Diagnostic::new(of.sign, message)
                    .related(a, format!("`{first}`"))
                    .related(b, format!("`{second}`"));
                let types = &self.program.types;
                if let (&TypeKind::Unsigned(unsigned), &TypeKind::Signed(signed))
                | (&TypeKind::Signed(signed), &TypeKind::Unsigned(unsigned)) =
                    (types.kind(ty), types.kind(other))
                {
                    let both = signed.max(unsigned + 1);
                    error = error.help(format!("one has a sign: convert both: `… as i{both}`"));
                } else if types.is_number(ty) && types.is_number(other) {
                    let wider = if types.width(ty) >= types.width(other) {
                        (first, "right")
                    } else {
                        (second, "left")
                    };
                    let help = format!("convert the {} one: `… as {}`", wider.1, wider.0);
                    error = error.help(help);
                } else if *types.kind(other) == TypeKind::Bool && types.is_integer(ty) {
                    error = error.help(format!("convert the bool: `(…) as {first}`"));
                }
                self.fail(error)
            }
            (Some(ty), _) => Ok((self.typed(left, a)?, self.meet(right, ty, b)?)),
            (None, Some(ty)) => Ok((self.meet(left, ty, a)?, self.typed(right, b)?)),
            (None, None) => {
                let left = self.typed_or_met(left, hint, a)?;
                let ty = left.ty;
                Ok((left, self.meet(right, ty, b)?))
            }
        }
    }

    fn typed_binary(&mut self, of: Operands, left: Expression, right: Expression) -> Done<Term> {
        let ty = left.ty;
        self.check_operand(of, ty)?;
        let result = if of.operator.is_comparison() {
            self.program.types.bool()
        } else {
            ty
        };
        if let (Some(a), Some(b)) = (left.as_constant(), right.as_constant()) {
            let types = &self.program.types;
            if operators::is_const_error(types, of.operator, ty, a, b) {
                let error = const_error(types, of, ty, (a, b));
                return self.fail(error);
            }
            let folded = operators::binary(types, of.operator, ty, a, b);
            return Ok(Term::constant(folded, result, of.span));
        }
        if matches!(of.operator, B::Divide | B::Remainder)
            && right.as_constant() == Some(&self.program.types.zero(ty))
        {
            let error = Diagnostic::new(of.span, "a division by 0").label("has no result");
            return self.fail(error.related(of.spans.1, "is always 0"));
        }
        let kind = ExpressionKind::Binary(of.operator, Box::new(left), Box::new(right));
        Ok(Term::Value(Expression {
            kind,
            ty: result,
            span: of.span,
        }))
    }

    /// Reports an operator that a type does not support.
    fn check_operand(&mut self, of: Operands, ty: TypeId) -> Done<()> {
        use TypeKind as K;
        let kind = self.program.types.kind(ty).clone();
        let fits = match of.operator {
            B::Equal | B::NotEqual => true,
            B::Less | B::LessEqual | B::Greater | B::GreaterEqual => self.is_ordered(ty),
            B::LogicalAnd | B::LogicalOr => kind == K::Bool,
            B::And | B::Or | B::Xor => {
                matches!(kind, K::Bool | K::Unsigned(_) | K::Signed(_) | K::Bytes(_))
            }
            B::Add | B::Subtract | B::Multiply | B::Divide => self.program.types.is_number(ty),
            B::Remainder => self.program.types.is_integer(ty),
            B::ShiftLeft | B::ShiftRight => true,
        };
        if fits {
            return Ok(());
        }
        let name = self.type_name(ty);
        let sign = of.operator.sign();
        let mut error = Diagnostic::new(of.sign, format!("`{sign}` of values of type `{name}`"));
        if kind == K::Bool && matches!(of.operator, B::Add) {
            error = error.help("convert a bool to add it: `hit as u8`");
        }
        self.fail(error)
    }

    /// Whether a type has an order.
    fn is_ordered(&self, ty: TypeId) -> bool {
        match self.program.types.kind(ty) {
            TypeKind::Bool
            | TypeKind::Enum(_)
            | TypeKind::Unsigned(_)
            | TypeKind::Signed(_)
            | TypeKind::Fixed(..)
            | TypeKind::Bytes(_)
            | TypeKind::Text(_)
            | TypeKind::OpenBytes
            | TypeKind::OpenText => true,
            TypeKind::Tuple(parts) => parts.iter().all(|part| self.is_ordered(*part)),
            TypeKind::Array(..) | TypeKind::Table(..) | TypeKind::Struct(_) => false,
        }
    }
}

/// An operator with its positions in the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operands {
    pub(super) operator: BinaryOperator,
    pub(super) sign: Span,
    pub(super) spans: (Span, Span),
    pub(super) span: Span,
}

/// Returns the error of an operator between consts of a type.
fn const_error(
    types: &TypeTable,
    of: Operands,
    ty: TypeId,
    (a, b): (&Value, &Value),
) -> Diagnostic {
    let is_division = matches!(of.operator, B::Divide | B::Remainder);
    if is_division && *b == types.zero(ty) {
        return Diagnostic::new(of.span, "a const is divided by zero");
    }
    let text = |value| types.value_text(ty, value);
    let (a, sign, b) = (text(a), of.operator.sign(), text(b));
    let name = types.name(ty);
    let message = format!("`{a} {sign} {b}` does not fit into the consts' type `{name}`");
    let (least, greatest) = ends(types, ty);
    let label = format!("`{name}` has {least} to {greatest}");
    let help = "convert the consts to a wider type first, or leave their type out";
    Diagnostic::new(of.span, message).label(label).help(help)
}

fn rational(term: &Term) -> BigRational {
    match term {
        Term::Integer(number) => BigRational::from(number.clone()),
        Term::Fraction(number) => number.clone(),
        _ => BigRational::zero(),
    }
}
