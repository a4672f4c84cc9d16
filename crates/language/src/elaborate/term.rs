//! Terms: the results of expressions before they meet a type.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::ToPrimitive;

use super::control::{Branch, Choice};
use super::expression::block_of;
use super::{Done, Elaborator};
use crate::diagnostic::Diagnostic;
use crate::interpret::operators;
use crate::program::{Expression, ExpressionKind, Number, TypeId, TypeKind, Value, bits_of};
use crate::source::{Span, Symbol};

/// The result of an expression.
#[derive(Clone, Debug)]
pub(super) enum Term {
    /// An exact whole number.
    Integer(BigInt),
    /// An exact number with a point.
    Fraction(BigRational),
    /// A text.
    Text(Symbol),
    /// A whole number made from counters.
    Number(Number),
    /// A condition on counters.
    Guard(Number),
    /// Parts of an array (`false`) or tuple (`true`), some of which have no type yet.
    List(Vec<(Term, Span)>, bool),
    /// A choice between two terms without a type.
    Choice(Box<Choice>),
    /// Statements followed by a term without a type.
    Block(Box<Branch>),
    /// A value with a type.
    Value(Expression),
}

impl Term {
    pub(super) fn constant(value: Value, ty: TypeId, span: Span) -> Self {
        Self::Value(Expression::constant(value, ty, span))
    }

    /// Returns the constant, if the term is one with a type.
    pub(super) fn as_constant(&self) -> Option<&Value> {
        match self {
            Self::Value(expression) => expression.as_constant(),
            _ => None,
        }
    }

    /// Returns the type, if the term has one.
    pub(super) fn ty(&self) -> Option<TypeId> {
        match self {
            Self::Value(expression) => Some(expression.ty),
            _ => None,
        }
    }

    /// Whether the term has a type in every context.
    pub(super) fn tells_type(&self) -> bool {
        match self {
            Self::Value(_) | Self::Guard(_) => true,
            Self::List(parts, true) => parts.iter().all(|(part, _)| part.tells_type()),
            Self::List(parts, false) => parts.iter().any(|(part, _)| part.tells_type()),
            Self::Choice(choice) => {
                choice.then.term.tells_type() || choice.otherwise.term.tells_type()
            }
            Self::Block(branch) => branch.term.tells_type(),
            Self::Integer(_) | Self::Fraction(_) | Self::Text(_) | Self::Number(_) => false,
        }
    }

    /// Whether the term depends on no input and assigns nothing.
    pub(super) fn is_const(&self) -> bool {
        match self {
            Self::Value(value) => value.as_constant().is_some(),
            Self::List(parts, _) => parts.iter().all(|(part, _)| part.is_const()),
            Self::Choice(_) | Self::Block(_) => false,
            _ => true,
        }
    }

    /// Whether the term contains counters of loops.
    pub(super) fn has_counters(&self) -> bool {
        match self {
            Self::Number(_) | Self::Guard(_) => true,
            Self::List(parts, _) => parts.iter().any(|(part, _)| part.has_counters()),
            _ => false,
        }
    }

    /// Whether the term may assign or draw random bits.
    pub(super) fn has_effects(&self) -> bool {
        match self {
            Self::Value(value) => value.has_effects(),
            Self::List(parts, _) => parts.iter().any(|(part, _)| part.has_effects()),
            Self::Choice(_) | Self::Block(_) => true,
            _ => false,
        }
    }

    /// Returns the whole number, if the term is exact or made from counters.
    pub(super) fn as_number(&self) -> Option<Number> {
        match self {
            Self::Integer(value) => value.to_i128().map(Number::Constant),
            Self::Number(number) => Some(number.clone()),
            _ => None,
        }
    }

    /// Returns the condition on counters, if the term is one. Constants count as conditions.
    pub(super) fn as_guard(&self) -> Option<Number> {
        match self {
            Self::Guard(number) => Some(number.clone()),
            _ => match self.as_constant() {
                Some(Value::Bool(value)) => Some(Number::Constant(i128::from(*value))),
                _ => None,
            },
        }
    }
}

impl Expression {
    /// Returns the constant, if the expression is one.
    pub(super) fn as_constant(&self) -> Option<&Value> {
        match &self.kind {
            ExpressionKind::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the values of `parts`, if all of them are const.
    pub(super) fn constants(parts: &[Self]) -> Option<Vec<Value>> {
        let values = parts.iter().map(|part| part.as_constant().cloned());
        values.collect()
    }
}

impl Elaborator<'_> {
    /// Returns a condition as a term.
    pub(super) fn guard(&mut self, number: Number, span: Span) -> Term {
        match number.as_constant() {
            Some(value) => self.bool_term(value != 0, span),
            None => Term::Guard(number),
        }
    }

    pub(super) fn bool_term(&mut self, value: bool, span: Span) -> Term {
        Term::constant(Value::Bool(value), self.program.types.bool(), span)
    }

    pub(super) fn unit(&mut self, span: Span) -> Term {
        Term::constant(Value::UNIT, self.program.types.unit(), span)
    }

    /// Returns a term as a value of type `ty`.
    pub(super) fn meet(&mut self, term: Term, ty: TypeId, span: Span) -> Done<Expression> {
        let kind = match term {
            Term::Value(expression) if expression.ty == ty => return Ok(expression),
            Term::Value(expression) => return self.convert(expression, ty, span),
            Term::Integer(number) => ExpressionKind::Constant(self.integer(number, ty, span)?),
            Term::Fraction(number) => ExpressionKind::Constant(self.fraction(&number, ty, span)?),
            Term::Text(text) => ExpressionKind::Constant(self.text(&text, ty, span)?),
            Term::Number(number) => {
                if !self.program.types.is_number(ty) {
                    return self.mismatch(ty, "a whole number", span);
                }
                ExpressionKind::Number(number)
            }
            Term::Guard(number) => {
                if *self.program.types.kind(ty) != TypeKind::Bool {
                    return self.mismatch(ty, "a condition", span);
                }
                ExpressionKind::Number(number)
            }
            Term::List(parts, is_tuple) => return self.meet_list(parts, is_tuple, ty, span),
            Term::Choice(choice) => return self.meet_choice(*choice, ty),
            Term::Block(branch) => {
                let value = self.meet(branch.term, ty, branch.span)?;
                return Ok(block_of(branch.statements, value));
            }
        };
        Ok(Expression::new(kind, ty, span))
    }

    /// Returns terms as values of these types.
    pub(super) fn meet_all(
        &mut self,
        terms: impl IntoIterator<Item = (Term, Span)>,
        types: impl IntoIterator<Item = TypeId>,
    ) -> Done<Vec<Expression>> {
        let pairs = terms.into_iter().zip(types);
        pairs
            .map(|((term, span), ty)| self.meet(term, ty, span))
            .collect()
    }

    /// Returns a term as a value of its own type.
    pub(super) fn typed(&mut self, term: Term, span: Span) -> Done<Expression> {
        match term {
            Term::Value(expression) => Ok(expression),
            Term::Guard(_) => {
                let bool = self.program.types.bool();
                self.meet(term, bool, span)
            }
            Term::List(parts, is_tuple) => self.typed_list(parts, is_tuple, span),
            Term::Choice(choice) => {
                let first = &choice.then;
                let ty = self.typed(first.term.clone(), first.span)?.ty;
                self.meet_choice(*choice, ty)
            }
            Term::Block(branch) => {
                let value = self.typed(branch.term, branch.span)?;
                Ok(block_of(branch.statements, value))
            }
            Term::Integer(_) | Term::Fraction(_) | Term::Number(_) => {
                let error = Diagnostic::new(span, "this number meets no type")
                    .label("of which type is it?");
                self.fail(error.help("say it: `let x: u32 = …`, or `… as u32`"))
            }
            Term::Text(_) => {
                let error = Diagnostic::new(span, "this text meets no type");
                self.fail(error.help("say it: `let name: text<16> = …`"))
            }
        }
    }

    /// Makes a value of `term`, which has a type, meets `hint`, or tells its type by itself.
    pub(super) fn typed_or_met(
        &mut self,
        term: Term,
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Expression> {
        match hint {
            Some(ty) if term.ty().is_none() => self.meet(term, ty, span),
            _ => self.typed(term, span),
        }
    }

    fn typed_list(
        &mut self,
        parts: Vec<(Term, Span)>,
        is_tuple: bool,
        span: Span,
    ) -> Done<Expression> {
        if is_tuple {
            let values = parts.into_iter().map(|(part, span)| self.typed(part, span));
            let values = values.collect::<Done<Vec<_>>>()?;
            let types = values.iter().map(|value| value.ty).collect();
            let ty = self.sized(TypeKind::Tuple(types), span)?;
            return Ok(aggregate(values, ty, span));
        }
        let typed = parts.iter().find(|(part, _)| part.tells_type());
        let element = match typed.or(parts.first()) {
            Some((Term::Value(value), _)) => value.ty,
            Some((told, told_span)) => self.typed(told.clone(), *told_span)?.ty,
            None => {
                let error = Diagnostic::new(span, "this array has no element to tell its type");
                return self.fail(error.help("say it: `let x: [u32; 0] = [];`"));
            }
        };
        let ty = TypeKind::Array(element, parts.len() as u32);
        let ty = self.sized(ty, span)?;
        self.meet_list(parts, false, ty, span)
    }

    fn meet_list(
        &mut self,
        parts: Vec<(Term, Span)>,
        is_tuple: bool,
        ty: TypeId,
        span: Span,
    ) -> Done<Expression> {
        let found = parts.len();
        let types: Vec<TypeId> = match (self.program.types.kind(ty).clone(), is_tuple) {
            (TypeKind::Array(element, n), false) if n as usize == found => vec![element; found],
            (TypeKind::Bytes(n), false) if n as usize == found => {
                vec![self.program.types.unsigned(8); found]
            }
            (TypeKind::Tuple(types), true) if types.len() == found => types,
            (TypeKind::Table(element, n), false) => {
                return self.meet_table(parts, ty, (element, n), span);
            }
            (TypeKind::Array(..) | TypeKind::Bytes(_), false) => {
                return self.mismatch(ty, &format!("an array of {found}"), span);
            }
            (_, false) => return self.mismatch(ty, "an array", span),
            (_, true) => return self.mismatch(ty, &format!("a tuple of {found}"), span),
        };
        Ok(aggregate(self.meet_all(parts, types)?, ty, span))
    }

    /// Makes a table of items: their number, and zeros after the last item.
    fn meet_table(
        &mut self,
        parts: Vec<(Term, Span)>,
        ty: TypeId,
        (element, size): (TypeId, u32),
        span: Span,
    ) -> Done<Expression> {
        let length = parts.len();
        if length > size as usize {
            let name = self.type_name(ty);
            let message = format!("{length} items for a `{name}`, which has at most {size}");
            return self.fail(Diagnostic::new(span, message));
        }
        let mut items = self.meet_all(parts, std::iter::repeat(element))?;
        let zero = self.program.types.zero(element);
        items.resize_with(size as usize, || {
            Expression::constant(zero.clone(), element, span)
        });
        let array = self.program.types.add(TypeKind::Array(element, size));
        let length_type = self.program.types.unsigned(bits_of(size.into()));
        let length = Expression::constant(Value::Integer(length.into()), length_type, span);
        let items = aggregate(items, array, span);
        Ok(aggregate(vec![length, items], ty, span))
    }

    /// Converts a value to the expected type.
    fn convert(&mut self, value: Expression, ty: TypeId, span: Span) -> Done<Expression> {
        let found = self.program.types.kind(value.ty).clone();
        let expected = self.program.types.kind(ty).clone();
        match (found, expected) {
            (TypeKind::Array(a, n), TypeKind::Table(b, size)) if a == b && n <= size => {
                let mut statements = Vec::new();
                let is_list = matches!(value.kind, ExpressionKind::Aggregate(_));
                // An expression that may give different elements each time is computed once.
                let value = if !is_list && value.has_effects() {
                    self.in_variable(Term::Value(value), &mut statements)
                } else {
                    Term::Value(value)
                };
                let value = self.typed(value, span)?;
                let part = |i: u32| (Term::Value(element_of(&value, i, a)), value.span);
                let parts = (0..n).map(part).collect();
                let table = self.meet_table(parts, ty, (b, size), span)?;
                Ok(block_of(statements, table))
            }
            (found, expected) => {
                let name = self.type_name(value.ty);
                let message = format!("expected `{}`, found `{name}`", self.type_name(ty));
                let mut error = Diagnostic::new(span, message);
                let is_number = |kind: &TypeKind| {
                    matches!(
                        kind,
                        TypeKind::Unsigned(_)
                            | TypeKind::Signed(_)
                            | TypeKind::Fixed(..)
                            | TypeKind::Bool
                    )
                };
                if expected == TypeKind::Bool && is_number(&found) {
                    error = error.help("compare it: `… != 0`");
                } else if is_number(&found) && is_number(&expected) {
                    let help = format!(
                        "nothing converts by itself; write `… as {}`",
                        self.type_name(ty)
                    );
                    error = error.help(help);
                }
                self.fail(error)
            }
        }
    }

    /// Reports `found` in the place of a value of type `ty`.
    pub(super) fn mismatch<T>(&mut self, ty: TypeId, found: &str, span: Span) -> Done<T> {
        let message = format!("expected `{}`, found {found}", self.type_name(ty));
        self.fail(Diagnostic::new(span, message))
    }

    fn integer(&mut self, number: BigInt, ty: TypeId, span: Span) -> Done<Value> {
        let kind = self.program.types.kind(ty).clone();
        let scaled = match kind {
            TypeKind::Fixed(_, fraction) => number.clone() << fraction,
            TypeKind::Unsigned(_) | TypeKind::Signed(_) => number.clone(),
            TypeKind::Bool => {
                let help = "write `true` or `false`";
                let message = "expected `bool`, found a whole number";
                return self.fail(Diagnostic::new(span, message).help(help));
            }
            TypeKind::Bytes(size) => return self.hex(size as usize, ty, span),
            _ => return self.mismatch(ty, "a whole number", span),
        };
        self.in_range(scaled, ty, &number.to_string(), span)
    }

    /// Returns bytes that are written as `0x` and two digits for each byte, in their order.
    fn hex(&mut self, size: usize, ty: TypeId, span: Span) -> Done<Value> {
        let written = self.loaded.source_map().text(span);
        let digits: String = written.chars().filter(|&digit| digit != '_').collect();
        let digits = digits.strip_prefix("0x").unwrap_or_default();
        let digits: Option<Vec<u32>> = digits.chars().map(|digit| digit.to_digit(16)).collect();
        let digits = digits.unwrap_or_default();
        if digits.len() == 2 * size && size > 0 {
            let bytes = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]);
            return Ok(Value::List(
                bytes.map(|byte| Value::Integer(byte.into())).collect(),
            ));
        }
        let name = self.type_name(ty);
        let found = match digits.len() {
            0 => "a whole number".to_owned(),
            count => format!("{count} hex digits"),
        };
        let message = format!("expected `{name}`, found {found}");
        let error = Diagnostic::new(span, message);
        self.fail(error.help(format!(
            "write `0x` and all {} digits of its bytes in order, or a text of {size} bytes in \
             quotes",
            2 * size
        )))
    }

    fn fraction(&mut self, number: &BigRational, ty: TypeId, span: Span) -> Done<Value> {
        let &TypeKind::Fixed(_, fraction) = self.program.types.kind(ty) else {
            let message = format!(
                "expected `{}`, found a number with a point",
                self.type_name(ty)
            );
            return self.fail(Diagnostic::new(span, message).help(
                "without `fixed<…>` multiply before you divide: nine tenths are `x * 9 / 10`",
            ));
        };
        let scaled = operators::scaled(number, fraction);
        self.in_range(scaled, ty, "this number", span)
    }

    fn in_range(&mut self, number: BigInt, ty: TypeId, text: &str, span: Span) -> Done<Value> {
        let (least, greatest) = self.program.types.range(ty).expect("a number's type");
        if least <= number && number <= greatest {
            return Ok(Value::Integer(number));
        }
        let name = self.type_name(ty);
        let message = format!("{text} does not fit into `{name}`");
        let mut error = Diagnostic::new(span, message);
        if !matches!(self.program.types.kind(ty), TypeKind::Fixed(..)) {
            error = error.label(format!("`{name}` has {least} to {greatest}"));
        }
        self.fail(error)
    }

    fn text(&mut self, text: &Symbol, ty: TypeId, span: Span) -> Done<Value> {
        let bytes = text.as_str().as_bytes();
        let size = match *self.program.types.kind(ty) {
            TypeKind::Text(size) if bytes.len() <= size as usize => size as usize,
            TypeKind::Bytes(size) if bytes.len() == size as usize => size as usize,
            TypeKind::OpenText | TypeKind::OpenBytes => bytes.len(),
            TypeKind::Text(_) | TypeKind::Bytes(_) => {
                let found = format!("a text of {} bytes", bytes.len());
                return self.mismatch(ty, &found, span);
            }
            _ => return self.mismatch(ty, "a text", span),
        };
        let zeros = std::iter::repeat(&0);
        let padded = bytes.iter().chain(zeros).take(size);
        let bytes = padded.map(|byte| Value::Integer((*byte).into()));
        Ok(Value::List(bytes.collect()))
    }
}

/// Makes one value of parts. It is constant if all parts are.
pub(super) fn aggregate(parts: Vec<Expression>, ty: TypeId, span: Span) -> Expression {
    let kind = match Expression::constants(&parts) {
        Some(values) => ExpressionKind::Constant(Value::List(values)),
        None => ExpressionKind::Aggregate(parts),
    };
    Expression::new(kind, ty, span)
}

/// Returns an element of an array's value.
fn element_of(array: &Expression, number: u32, ty: TypeId) -> Expression {
    use crate::program::{Root, Step, ValuePath};
    let (place, span) = (number as usize, array.span);
    let mut path = match &array.kind {
        ExpressionKind::Constant(value) => {
            return Expression::constant(value.as_list()[place].clone(), ty, span);
        }
        ExpressionKind::Aggregate(parts) => return parts[place].clone(),
        ExpressionKind::Read(path) => path.clone(),
        _ => ValuePath::whole(Root::Value(Box::new(array.clone()))),
    };
    path.path
        .push(Step::At(Number::Constant(number.into()), span));
    Expression::new(ExpressionKind::Read(path), ty, span)
}
