//! Expressions.

use super::{Parsed, Parser, Role};
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind as T;
use crate::syntax::{
    Argument, Arm, BinaryOperator, Block, Expression, ExpressionKind, FieldValue, Ident, Path,
    PatternKind, UnaryOperator,
};

/// The greatest number of operators and accesses in a row, which bounds the depth of the tree:
/// `a + b + c` is `(a + b) + c`.
const MAX_CHAIN: usize = 256;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        self.nested(|parser| parser.binary(0))
    }

    /// Parses an expression or a range.
    pub(super) fn range(&mut self) -> Parsed<Expression> {
        self.range_of(Self::expression)
    }

    /// Parses the value of a pattern, or a range of such values.
    pub(super) fn value_or_range(&mut self) -> Parsed<Expression> {
        self.range_of(Self::range_end)
    }

    fn range_of(&mut self, end: fn(&mut Self) -> Parsed<Expression>) -> Parsed<Expression> {
        let from = end(self)?;
        let is_inclusive = match self.kind() {
            T::DotDot => false,
            T::DotDotEqual => true,
            _ => return Ok(from),
        };
        self.skip();
        let to = end(self)?;
        let span = from.span.to(to.span);
        let kind = ExpressionKind::Range(Box::new(from), Box::new(to), is_inclusive);
        Ok(Expression { kind, span })
    }

    /// Parses an expression before or after `..`.
    pub(super) fn range_end(&mut self) -> Parsed<Expression> {
        self.nested(|parser| parser.binary(BinaryOperator::ShiftLeft.precedence()))
    }

    /// Parses operators that bind at least as tightly as `least`.
    pub(super) fn binary(&mut self, least: u8) -> Parsed<Expression> {
        let mut left = self.unary()?;
        let mut length = 0;
        while let Some(operator) = BinaryOperator::of_token(self.kind()) {
            let precedence = operator.precedence();
            if precedence < least {
                break;
            }
            length = self.longer(length)?;
            let sign = self.skip();
            let right = self.nested(|parser| parser.binary(precedence + 1))?;
            if operator.is_comparison() {
                self.single_comparison(operator)?;
            }
            let span = left.span.to(right.span);
            let kind = ExpressionKind::Binary(operator, sign, Box::new(left), Box::new(right));
            left = Expression { kind, span };
        }
        Ok(left)
    }

    fn longer(&mut self, length: usize) -> Parsed<usize> {
        if length < MAX_CHAIN {
            return Ok(length + 1);
        }
        let message = format!("more than {MAX_CHAIN} operators, fields or calls in a row");
        let error = Diagnostic::new(self.span(), message);
        self.report(error.help("give parts of it a name with `let`"))
    }

    /// Refuses `a < b < c`, which would compare a bool.
    fn single_comparison(&mut self, first: BinaryOperator) -> Parsed<()> {
        match BinaryOperator::of_token(self.kind()) {
            Some(next) if next.is_comparison() => {
                let message = format!("`{}` and `{}` in a row", first.sign(), next.sign());
                let error = Diagnostic::new(self.span(), message);
                self.report(error.help("join two comparisons with `&&`, or use parentheses"))
            }
            _ => Ok(()),
        }
    }

    fn unary(&mut self) -> Parsed<Expression> {
        match self.kind() {
            T::Star if self.text_of(self.previous()) == "*" => {
                let error = Diagnostic::new(self.span(), "there is no operator for powers");
                self.report(error.help("write `x * x`, or a loop"))
            }
            T::And | T::Star => {
                let error = Diagnostic::new(self.span(), "there are no references");
                self.report(error.help("values are copied; use the name alone"))
            }
            _ => {
                let expression = self.unary_operand()?;
                self.casts(expression)
            }
        }
    }

    /// Parses an operand after `-` and `!`, which bind tighter than `as`.
    fn unary_operand(&mut self) -> Parsed<Expression> {
        match self.kind() {
            T::Minus | T::Not => {
                let operator = match self.kind() {
                    T::Minus => UnaryOperator::Negate,
                    _ => UnaryOperator::Not,
                };
                self.note(Role::Prefix);
                let start = self.skip();
                let operand = self.nested(Self::unary_operand)?;
                let span = start.to(operand.span);
                let kind = ExpressionKind::Unary(operator, Box::new(operand));
                Ok(Expression { kind, span })
            }
            _ => self.postfix(),
        }
    }

    fn casts(&mut self, mut expression: Expression) -> Parsed<Expression> {
        let mut length = 0;
        while self.take(T::As).is_some() {
            length = self.longer(length)?;
            let ty = self.cast_type()?;
            let span = expression.span.to(ty.span);
            let kind = ExpressionKind::Cast(Box::new(expression), ty);
            expression = Expression { kind, span };
        }
        Ok(expression)
    }

    fn postfix(&mut self) -> Parsed<Expression> {
        let mut expression = self.primary()?;
        let mut length = 0;
        loop {
            let kind = match self.kind() {
                T::Dot => self.member(&mut expression)?,
                T::OpenBracket => {
                    let of = Box::new(expression.take());
                    self.index(of)?
                }
                T::OpenParen => {
                    let called = Box::new(expression.take());
                    ExpressionKind::Call(called, self.arguments()?)
                }
                _ => return Ok(expression),
            };
            length = self.longer(length)?;
            expression = Expression {
                kind,
                span: expression.span.to(self.previous()),
            };
        }
    }

    /// Parses `.name`, `.0` or `.f(…)`.
    fn member(&mut self, of: &mut Expression) -> Parsed<ExpressionKind> {
        self.skip();
        match self.kind() {
            T::Integer => {
                let span = self.skip();
                let name = self.symbol(span);
                Ok(ExpressionKind::Field(
                    Box::new(of.take()),
                    Ident { name, span },
                ))
            }
            // In `x.0.1`, the lexer reads `0.1` as one token.
            T::Fraction => {
                let span = self.skip();
                let text = self.text_of(span);
                let point = text.find('.').unwrap_or(0) as u32;
                let (mut first, mut second) = (span, span);
                first.end = span.start + point;
                second.start = first.end + 1;
                let (one, two) = (self.symbol(first), self.symbol(second));
                let inner = ExpressionKind::Field(
                    Box::new(of.take()),
                    Ident {
                        name: one,
                        span: first,
                    },
                );
                let inner = Expression {
                    kind: inner,
                    span: of.span.to(first),
                };
                let name = Ident {
                    name: two,
                    span: second,
                };
                Ok(ExpressionKind::Field(Box::new(inner), name))
            }
            _ => {
                let name = self.ident("a field's name or number")?;
                let of = Box::new(of.take());
                let mut generics = Vec::new();
                if self.is(T::ColonColon) && self.kind_after(1) == T::Less {
                    self.skip();
                    generics = self.generic_arguments()?;
                }
                if self.is(T::OpenParen) {
                    let arguments = self.arguments()?;
                    return Ok(ExpressionKind::Method(of, name, generics, arguments));
                }
                Ok(ExpressionKind::Field(of, name))
            }
        }
    }

    fn index(&mut self, of: Box<Expression>) -> Parsed<ExpressionKind> {
        self.skip();
        let kind = self.with_struct(true, |parser| {
            let from = match parser.kind() {
                T::DotDot => None,
                _ => Some(Box::new(parser.expression()?)),
            };
            if parser.take(T::DotDot).is_none() {
                return match from {
                    Some(index) => Ok(ExpressionKind::Index(of, index)),
                    None => parser.unexpected("an index"),
                };
            }
            let to = match parser.kind() {
                T::CloseBracket => None,
                _ => Some(Box::new(parser.expression()?)),
            };
            Ok(ExpressionKind::Slice(of, from, to))
        })?;
        self.expect(T::CloseBracket)?;
        Ok(kind)
    }

    pub(super) fn arguments(&mut self) -> Parsed<Vec<Argument>> {
        self.with_struct(true, |parser| {
            parser.list(T::OpenParen, T::CloseParen, |parser| {
                let named = parser.is(T::Name) && parser.kind_after(1) == T::Colon;
                let name = if named {
                    let name = parser.ident("a parameter's name")?;
                    parser.skip();
                    Some(name)
                } else {
                    None
                };
                let value = parser.expression()?;
                Ok(Argument { name, value })
            })
        })
    }

    fn primary(&mut self) -> Parsed<Expression> {
        let start = self.span();
        let kind = match self.kind() {
            T::Integer | T::Fraction | T::Text | T::True | T::False => self.literal()?,
            T::Name => return self.name_or_struct(),
            T::OpenParen => return self.with_struct(true, Self::parenthesised),
            T::OpenBracket => self.with_struct(true, Self::array)?,
            T::If | T::Match | T::OpenBrace => return self.block_expression(),
            T::Or | T::OrOr => self.lambda()?,
            _ => return self.unexpected("an expression"),
        };
        let span = start.to(self.previous());
        Ok(Expression { kind, span })
    }

    fn name_or_struct(&mut self) -> Parsed<Expression> {
        let path = self.path()?;
        let span = path.span;
        let names_field = self.kind_after(1) == T::Name
            && matches!(self.kind_after(2), T::Colon | T::Comma | T::CloseBrace);
        let is_struct = self.struct_allowed
            && self.is(T::OpenBrace)
            && (names_field || self.kind_after(1) == T::CloseBrace);
        if is_struct {
            return self.struct_value(path);
        }
        // No block starts like this.
        if names_field && self.is(T::OpenBrace) && self.kind_after(2) == T::Colon {
            let value = self.struct_value(path)?;
            let message = "a struct's value stands in parentheses before a block";
            let error = Diagnostic::new(value.span, message);
            let written = self.text_of(value.span);
            let help = if written.contains('\n') {
                "write `(…)` around it".to_owned()
            } else {
                format!("write `({written})`")
            };
            self.errors.report(error.help(help));
            return Ok(value);
        }
        let kind = ExpressionKind::Path(path);
        Ok(Expression { kind, span })
    }

    fn struct_value(&mut self, path: Path) -> Parsed<Expression> {
        let start = path.span;
        let fields = self.list(T::OpenBrace, T::CloseBrace, |parser| {
            let name = parser.ident("a field's name")?;
            let value = parser
                .take(T::Colon)
                .map(|_| parser.expression())
                .transpose()?;
            Ok(FieldValue { name, value })
        })?;
        let span = start.to(self.previous());
        let kind = ExpressionKind::Struct(path, fields);
        Ok(Expression { kind, span })
    }

    /// Parses `(e)` or a tuple.
    fn parenthesised(&mut self) -> Parsed<Expression> {
        let start = self.skip();
        let mut parts = Vec::new();
        let mut is_tuple = true;
        while !self.is(T::CloseParen) {
            parts.push(self.expression()?);
            is_tuple = self.take(T::Comma).is_some();
            if !is_tuple {
                break;
            }
        }
        let is_tuple = is_tuple || parts.len() != 1;
        if !self.is(T::CloseParen) {
            return self.unexpected("`,` or `)`");
        }
        let span = start.to(self.skip());
        let kind = match parts.pop() {
            // Only the span keeps the parentheses.
            Some(only) if !is_tuple => only.kind,
            last => {
                parts.extend(last);
                ExpressionKind::Tuple(parts)
            }
        };
        Ok(Expression { kind, span })
    }

    /// Parses `[a, b]`, `[x; n]` or `[for … { … }]`.
    fn array(&mut self) -> Parsed<ExpressionKind> {
        self.skip();
        if self.is(T::For) {
            let each = self.for_loop()?;
            self.expect(T::CloseBracket)?;
            return Ok(ExpressionKind::Comprehension(Box::new(each)));
        }
        let mut elements = Vec::new();
        while !self.is(T::CloseBracket) {
            elements.push(self.expression()?);
            if elements.len() == 1 && self.take(T::Semicolon).is_some() {
                let size = self.expression()?;
                self.expect(T::CloseBracket)?;
                let element = elements.swap_remove(0);
                return Ok(ExpressionKind::Repeat(Box::new(element), Box::new(size)));
            }
            if self.take(T::Comma).is_none() {
                break;
            }
        }
        if !self.is(T::CloseBracket) {
            return self.unexpected("`,` or `]`");
        }
        self.skip();
        Ok(ExpressionKind::Array(elements))
    }

    fn lambda(&mut self) -> Parsed<ExpressionKind> {
        let mut parameters = Vec::new();
        if self.is(T::OrOr) {
            self.note(Role::CloseLambda);
            self.skip();
        } else {
            self.note(Role::OpenLambda);
            self.skip();
            parameters = self.elements(T::Or, Self::pattern)?;
            self.note(Role::CloseLambda);
            self.expect(T::Or)?;
        }
        let body = self.expression()?;
        Ok(ExpressionKind::Lambda(parameters, Box::new(body)))
    }

    /// Parses an expression that ends with its block.
    pub(super) fn block_expression(&mut self) -> Parsed<Expression> {
        self.nested(|parser| {
            let start = parser.span();
            let kind = match parser.kind() {
                T::If => parser.if_expression()?,
                T::Match => parser.match_expression()?,
                _ => ExpressionKind::Block(parser.block()?),
            };
            let span = start.to(parser.previous());
            Ok(Expression { kind, span })
        })
    }

    fn if_expression(&mut self) -> Parsed<ExpressionKind> {
        self.skip();
        let condition = Box::new(self.with_struct(false, Self::expression)?);
        let then: Block = self.block()?;
        let otherwise = match self.take(T::Else) {
            None => None,
            Some(_) if self.is(T::If) || self.is(T::OpenBrace) => {
                Some(Box::new(self.block_expression()?))
            }
            Some(_) => return self.unexpected("`if` or `{`"),
        };
        Ok(ExpressionKind::If(condition, then, otherwise))
    }

    fn match_expression(&mut self) -> Parsed<ExpressionKind> {
        self.skip();
        let value = Box::new(self.with_struct(false, Self::expression)?);
        self.expect(T::OpenBrace)?;
        let mut arms = Vec::new();
        while !self.is(T::CloseBrace) {
            let mut patterns = vec![self.value_pattern()?];
            while self.take(T::Or).is_some() {
                patterns.push(self.value_pattern()?);
            }
            self.expect(T::FatArrow)?;
            let value = self.with_struct(true, Self::expression)?;
            let ends_with_block = matches!(
                value.kind,
                ExpressionKind::Block(_) | ExpressionKind::If(..) | ExpressionKind::Match(..)
            );
            arms.push(Arm { patterns, value });
            if self.take(T::Comma).is_none() && !ends_with_block {
                break;
            }
        }
        let open_end = arms.iter().rev().skip(1).flat_map(|arm| &arm.patterns);
        for pattern in open_end {
            if matches!(pattern.kind, PatternKind::Any) {
                let error = Diagnostic::new(pattern.span, "the arms after `_` are never taken");
                self.errors.report(error.help("put the arm with `_` last"));
            }
        }
        self.expect(T::CloseBrace)?;
        Ok(ExpressionKind::Match(value, arms))
    }
}

impl Expression {
    /// Takes the expression out. Its span also stays here.
    fn take(&mut self) -> Self {
        let kind = std::mem::replace(&mut self.kind, ExpressionKind::Bool(false));
        Self {
            kind,
            span: self.span,
        }
    }
}
