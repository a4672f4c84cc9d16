//! Blocks, statements and patterns.

use super::{Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind as T;
use crate::syntax::{
    BinaryOperator, Block, Expression, ForLoop, Ident, Pattern, PatternKind, Statement,
    StatementKind, TypeExpression,
};

/// A statement, or the value at a block's end.
enum Part {
    Statement(StatementKind),
    Value(Expression),
}

impl Parser<'_> {
    pub(super) fn block(&mut self) -> Parsed<Block> {
        self.nested(|parser| parser.with_struct(true, Self::block_inside))
    }

    fn block_inside(&mut self) -> Parsed<Block> {
        let start = self.expect(T::OpenBrace)?;
        let mut statements = Vec::new();
        let mut value = None;
        let mut is_broken = false;
        while !self.is(T::CloseBrace) {
            if self.is(T::End) || self.errors.is_full() {
                let error = Diagnostic::new(start, "this `{` is not closed");
                return self.report(error);
            }
            let (first, before) = (self.span(), self.at);
            match self.statement() {
                Ok(Part::Statement(kind)) => statements.push(Statement {
                    kind,
                    span: first.to(self.previous()),
                }),
                Ok(Part::Value(expression)) => {
                    value = Some(Box::new(expression));
                    if !self.is(T::CloseBrace) {
                        let after = self.previous().after();
                        let error = Diagnostic::new(after, "expected `;` or `}` here");
                        let error = self.with_habit(error);
                        self.errors.report(error);
                        self.skip_statement(before);
                        value = None;
                        is_broken = true;
                    }
                }
                Err(_) => {
                    self.skip_statement(before);
                    is_broken = true;
                }
            }
        }
        let end = self.skip();
        Ok(Block {
            statements,
            value,
            is_broken,
            span: start.to(end),
        })
    }

    /// Skips past the next `;` of this block, or to its end.
    fn skip_statement(&mut self, failed: usize) {
        let mut open = 0_usize;
        // The braces that the statement opened before it failed are still open.
        for token in &self.tokens[failed..self.at] {
            match token.kind {
                T::OpenBrace => open += 1,
                T::CloseBrace => open = open.saturating_sub(1),
                _ => {}
            }
        }
        loop {
            match self.kind() {
                T::End => return,
                T::CloseBrace if open == 0 => return,
                T::CloseBrace => open -= 1,
                T::OpenBrace => open += 1,
                T::Semicolon if open == 0 => {
                    self.skip();
                    return;
                }
                T::Let | T::For if open == 0 && self.at > failed => return,
                _ => {}
            }
            self.skip();
        }
    }

    fn statement(&mut self) -> Parsed<Part> {
        let kind = match self.kind() {
            T::Let => self.let_statement()?,
            T::Const => {
                let (name, ty, value) = self.constant()?;
                self.expect(T::Semicolon)?;
                StatementKind::Const(name, ty, value)
            }
            T::For => StatementKind::For(Box::new(self.for_loop()?)),
            T::Hash => {
                let error = Diagnostic::new(self.span(), "`#` begins no comment");
                return self.report(error.help("a comment begins with `//`"));
            }
            T::Assert => {
                self.skip();
                let condition = self.expression()?;
                self.expect(T::Semicolon)?;
                StatementKind::Assert(condition)
            }
            T::If | T::Match | T::OpenBrace => return self.block_statement(),
            T::Return | T::Break | T::Continue | T::While | T::Loop => return self.no_jumps(),
            _ => return self.expression_statement(),
        };
        Ok(Part::Statement(kind))
    }

    fn no_jumps<K>(&mut self) -> Parsed<K> {
        let span = self.span();
        let text = self.text_of(span).to_owned();
        let help = match self.kind() {
            T::Return => "a block's value is its last expression, without a `;`",
            T::While | T::Loop => {
                "the iteration count is public: write `for` with a bound, and `if` inside"
            }
            _ => "a loop runs all its turns: write `if` around statements that not every turn runs",
        };
        let message = format!("there is no `{text}`");
        self.report(Diagnostic::new(span, message).help(help))
    }

    fn let_statement(&mut self) -> Parsed<StatementKind> {
        self.skip();
        let pattern = self.pattern()?;
        let (ty, value) = self.typed_value()?;
        match self.expect(T::Semicolon) {
            Err(error) if !self.begins_line() => Err(error),
            // Only the `;` is missing, so what follows knows the names.
            _ => Ok(StatementKind::Let(pattern, ty, value)),
        }
    }

    /// Parses `const NAME: TYPE = VALUE`.
    pub(super) fn constant(&mut self) -> Parsed<(Ident, Option<TypeExpression>, Expression)> {
        self.skip();
        let name = self.ident("the const's name")?;
        let (ty, value) = self.typed_value()?;
        Ok((name, ty, value))
    }

    /// Parses `: TYPE = VALUE`, in which the type is optional.
    fn typed_value(&mut self) -> Parsed<(Option<TypeExpression>, Expression)> {
        let ty = self.take(T::Colon).map(|_| self.ty()).transpose()?;
        self.expect(T::Equal)?;
        let value = self.expression()?;
        Ok((ty, value))
    }

    pub(super) fn for_loop(&mut self) -> Parsed<ForLoop> {
        self.expect(T::For)?;
        let is_const = self.take(T::Const).is_some();
        let pattern = self.pattern()?;
        self.expect(T::In)?;
        let over = self.with_struct(false, Self::range)?;
        let body = self.block()?;
        Ok(ForLoop {
            is_const,
            pattern,
            over,
            body,
        })
    }

    /// Parses a statement that starts with `if`, `match` or a block, and ends with its block.
    fn block_statement(&mut self) -> Parsed<Part> {
        let expression = self.block_expression()?;
        if self.is(T::CloseBrace) {
            return Ok(Part::Value(expression));
        }
        self.take(T::Semicolon);
        Ok(Part::Statement(StatementKind::Expression(expression)))
    }

    fn expression_statement(&mut self) -> Parsed<Part> {
        let target = self.expression()?;
        let operator = match self.kind() {
            T::Semicolon => {
                self.skip();
                return Ok(Part::Statement(StatementKind::Expression(target)));
            }
            T::Equal => None,
            kind => match BinaryOperator::of_assignment(kind) {
                Some(operator) => Some((operator, self.span())),
                None => return Ok(Part::Value(target)),
            },
        };
        self.skip();
        let value = self.expression()?;
        self.expect(T::Semicolon)?;
        let kind = StatementKind::Assign(target, operator, value);
        Ok(Part::Statement(kind))
    }

    pub(super) fn pattern(&mut self) -> Parsed<Pattern> {
        self.pattern_of(|parser| {
            let is_mutable = parser.take(T::Mut).is_some();
            Ok(PatternKind::Name(is_mutable, parser.ident("a name")?))
        })
    }

    /// Parses a pattern of a `match`. Names in it are consts and variants.
    pub(super) fn value_pattern(&mut self) -> Parsed<Pattern> {
        self.pattern_of(|parser| Ok(PatternKind::Value(Box::new(parser.value_or_range()?))))
    }

    /// Parses a pattern of tuples, `_` and the leaves that `leaf` parses.
    fn pattern_of(&mut self, leaf: fn(&mut Self) -> Parsed<PatternKind>) -> Parsed<Pattern> {
        self.nested(|parser| {
            let start = parser.span();
            let kind = match parser.kind() {
                T::OpenParen => {
                    let part = |parser: &mut Self| parser.pattern_of(leaf);
                    PatternKind::Tuple(parser.list(T::OpenParen, T::CloseParen, part)?)
                }
                T::Underscore => {
                    parser.skip();
                    PatternKind::Any
                }
                _ => leaf(parser)?,
            };
            let span = start.to(parser.previous());
            Ok(Pattern { kind, span })
        })
    }
}
