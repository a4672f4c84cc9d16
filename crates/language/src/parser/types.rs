//! Types, paths and generic arguments.

use super::{Parsed, Parser, Role};
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind as T;
use crate::syntax::{
    BinaryOperator, Expression, Generic, GenericArgument, Path, TypeExpression, TypeExpressionKind,
};

impl Parser<'_> {
    /// Parses `<const N, T>`, or nothing.
    pub(super) fn generics(&mut self) -> Parsed<Vec<Generic>> {
        if !self.is(T::Less) {
            return Ok(Vec::new());
        }
        self.note(Role::OpenAngle);
        self.skip();
        let generics = self.elements(T::Greater, |parser| {
            let is_const = parser.take(T::Const).is_some();
            let name = parser.ident("a name such as `T` or `const N`")?;
            Ok(Generic { name, is_const })
        })?;
        self.expect_close_angle()?;
        Ok(generics)
    }

    pub(super) fn ty(&mut self) -> Parsed<TypeExpression> {
        self.nested(Self::ty_inside)
    }

    fn ty_inside(&mut self) -> Parsed<TypeExpression> {
        let start = self.span();
        let kind = match self.kind() {
            T::OpenBracket => self.array_type()?,
            T::OpenParen => {
                TypeExpressionKind::Tuple(self.list(T::OpenParen, T::CloseParen, Self::ty)?)
            }
            T::Fn => {
                self.skip();
                self.list(T::OpenParen, T::CloseParen, Self::ty)?;
                if self.take(T::Arrow).is_some() {
                    self.ty()?;
                }
                TypeExpressionKind::Function
            }
            T::Name => {
                let named = TypeExpressionKind::Named(self.type_path()?);
                if self.is(T::OpenBracket) {
                    let error = Diagnostic::new(self.span(), "an array's type begins with `[`");
                    return self.report(error.help("write `[T; n]` in place of `T[n]`"));
                }
                named
            }
            T::And => {
                let error = Diagnostic::new(start, "there are no references; values are copied");
                return self.report(error.help("remove the `&`"));
            }
            _ => return self.unexpected("a type"),
        };
        Ok(TypeExpression {
            kind,
            span: start.to(self.previous()),
        })
    }

    /// Parses the type after `as`. A `<` after its name is a comparison, as in `a as u16 < b`,
    /// unless it opens generics.
    pub(super) fn cast_type(&mut self) -> Parsed<TypeExpression> {
        let names = self.is(T::Name) && self.kind_after(1) == T::Less;
        let name = self.text_of(self.span());
        let is_sized = ["u", "i", "fixed", "bytes", "text"].contains(&name);
        if !names || is_sized {
            return self.ty();
        }
        // `u16` and `bool` have no generics.
        let is_number =
            name.starts_with(['u', 'i']) && name[1..].bytes().all(|byte| byte.is_ascii_digit());
        let mark = self.mark();
        if !is_number
            && name != "bool"
            && let Ok(ty) = self.ty()
        {
            return Ok(ty);
        }
        self.go_back(mark);
        let path = Path::of(self.ident("a type")?);
        let span = path.span;
        let kind = TypeExpressionKind::Named(path);
        Ok(TypeExpression { kind, span })
    }

    fn array_type(&mut self) -> Parsed<TypeExpressionKind> {
        self.skip();
        let element = Box::new(self.ty()?);
        if self.is(T::CloseBracket) {
            let error = Diagnostic::new(self.span(), "an array's type says how long it is")
                .help("write `[T; n]` for n elements, or `[T; ..n]` for at most n");
            return self.report(error);
        }
        self.expect(T::Semicolon)?;
        let is_table = self.take(T::DotDot).is_some();
        let size = Box::new(self.with_struct(true, Self::expression)?);
        self.expect(T::CloseBracket)?;
        Ok(if is_table {
            TypeExpressionKind::Table(element, size)
        } else {
            TypeExpressionKind::Array(element, size)
        })
    }

    /// Parses a path whose generics follow without `::`.
    fn type_path(&mut self) -> Parsed<Path> {
        let first = self.ident("a type")?;
        let start = first.span;
        let mut segments = vec![first];
        while self.take(T::ColonColon).is_some() {
            segments.push(self.ident("a name")?);
        }
        let generics = if self.is(T::Less) {
            self.generic_arguments()?
        } else {
            Vec::new()
        };
        Ok(Path {
            segments,
            generics,
            span: start.to(self.previous()),
        })
    }

    /// Parses a path in an expression, whose generics follow after `::`.
    pub(super) fn path(&mut self) -> Parsed<Path> {
        let first = self.ident("a name")?;
        let start = first.span;
        let mut segments = vec![first];
        let mut generics = Vec::new();
        while self.take(T::ColonColon).is_some() {
            if self.is(T::Less) {
                generics = self.generic_arguments()?;
                break;
            }
            segments.push(self.ident("a name")?);
        }
        Ok(Path {
            segments,
            generics,
            span: start.to(self.previous()),
        })
    }

    pub(super) fn generic_arguments(&mut self) -> Parsed<Vec<GenericArgument>> {
        self.note(Role::OpenAngle);
        self.expect(T::Less)?;
        let mut arguments = Vec::new();
        loop {
            arguments.push(self.nested(Self::generic_argument)?);
            if self.take(T::Comma).is_none() {
                break;
            }
        }
        self.expect_close_angle()?;
        Ok(arguments)
    }

    /// Parses a type, or otherwise a sum.
    fn generic_argument(&mut self) -> Parsed<GenericArgument> {
        let mark = self.mark();
        if let Ok(ty) = self.ty() {
            let closes = [
                T::Comma,
                T::Greater,
                T::ShiftRight,
                T::GreaterEqual,
                T::ShiftRightAssign,
            ];
            if closes.contains(&self.kind()) {
                return Ok(GenericArgument::Type(ty));
            }
        }
        self.go_back(mark);
        let sum = self.with_struct(true, Self::sum)?;
        Ok(GenericArgument::Number(sum))
    }

    /// Parses an expression without shifts and comparisons. Inside angle brackets, these need
    /// parentheses.
    fn sum(&mut self) -> Parsed<Expression> {
        self.binary(BinaryOperator::Add.precedence())
    }
}
