//! From tokens to the syntax tree, by recursive descent. After an error, parsing continues with the
//! next statement or item.

mod expression;
mod item;
mod join;
mod literal;
mod statement;
mod types;

use crate::diagnostic::{Diagnostic, Diagnostics, Reported, SHOWN_VALUES};
use crate::lexer::{Lexed, Token, TokenKind, lex};
use crate::source::{FileId, Span, Symbol, Words};
use crate::syntax::{Ident, Item};

/// The greatest nesting depth of expressions, blocks and types.
const MAX_NESTING: usize = 128;

type Parsed<T> = Result<T, Reported>;

/// Parses a file. Parts with errors are reported and left out.
pub(crate) fn parse(file: FileId, text: &str, errors: &mut Diagnostics) -> Vec<Item> {
    let lexed = lex(file, text, errors);
    parse_tokens(text, &lexed, errors).0
}

/// The meaning of an ambiguous sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Opens angle brackets.
    OpenAngle,
    /// Closes angle brackets.
    CloseAngle,
    /// Precedes its operand.
    Prefix,
    /// Opens the parameters of a lambda.
    OpenLambda,
    /// Closes the parameters of a lambda.
    CloseLambda,
}

/// Returns the items of a file, and the roles of its ambiguous signs by their byte offsets.
pub(crate) fn parse_tokens(
    text: &str,
    lexed: &Lexed,
    errors: &mut Diagnostics,
) -> (Vec<Item>, Vec<(u32, Role)>) {
    let mut parser = Parser {
        text,
        tokens: &lexed.tokens,
        at: 0,
        half: None,
        nesting: 0,
        struct_allowed: true,
        words: Words::default(),
        roles: Vec::new(),
        errors,
    };
    let items = parser.items();
    (items, parser.roles)
}

struct Parser<'a> {
    text: &'a str,
    /// The tokens, the last of which is the end.
    tokens: &'a [Token],
    at: usize,
    /// The second half of a `>>` whose first half has been taken.
    half: Option<Token>,
    nesting: usize,
    /// Whether a name and `{` start a struct's value. This is not the case before a block.
    struct_allowed: bool,
    words: Words,
    /// The roles of ambiguous signs, by their byte offsets.
    roles: Vec<(u32, Role)>,
    errors: &'a mut Diagnostics,
}

/// A position to return to.
#[derive(Clone, Copy)]
struct Mark {
    at: usize,
    half: Option<Token>,
    errors: usize,
    roles: usize,
}

impl Parser<'_> {
    fn token(&self) -> Token {
        self.half.unwrap_or(self.tokens[self.at])
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// Returns the kind of the token that is `ahead` tokens after the next one.
    fn kind_after(&self, ahead: usize) -> TokenKind {
        let last = self.tokens.len() - 1;
        self.tokens[(self.at + ahead).min(last)].kind
    }

    /// Returns the span of the token before the next one.
    fn previous(&self) -> Span {
        match self.half {
            Some(half) => Span {
                start: half.span.start - 1,
                end: half.span.start,
                ..half.span
            },
            None => self.tokens[self.at.saturating_sub(1)].span,
        }
    }

    fn text_of(&self, span: Span) -> &str {
        &self.text[span.start as usize..span.end as usize]
    }

    fn is(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    /// Whether the next token is this word, which is a name in other contexts.
    fn is_word(&self, word: &str) -> bool {
        self.is(TokenKind::Name) && self.text_of(self.span()) == word
    }

    fn skip(&mut self) -> Span {
        let span = self.span();
        self.half = None;
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        span
    }

    /// Records the role of the next sign.
    fn note(&mut self, role: Role) {
        self.roles.push((self.span().start, role));
    }

    fn take(&mut self, kind: TokenKind) -> Option<Span> {
        self.is(kind).then(|| self.skip())
    }

    fn take_word(&mut self, word: &str) -> Option<Span> {
        self.is_word(word).then(|| self.skip())
    }

    fn mark(&self) -> Mark {
        Mark {
            at: self.at,
            half: self.half,
            errors: self.errors.len(),
            roles: self.roles.len(),
        }
    }

    fn go_back(&mut self, mark: Mark) {
        (self.at, self.half) = (mark.at, mark.half);
        self.errors.truncate(mark.errors);
        self.roles.truncate(mark.roles);
    }

    fn report<T>(&mut self, error: Diagnostic) -> Parsed<T> {
        Err(self.errors.report(error))
    }

    /// Reports that `expected` is missing at the next token.
    fn unexpected<T>(&mut self, expected: &str) -> Parsed<T> {
        let found = self.token();
        let text = match found.kind {
            TokenKind::Name => format!("`{}`", self.text_of(found.span)),
            TokenKind::Integer | TokenKind::Fraction => self.text_of(found.span).to_owned(),
            kind => kind.to_string(),
        };
        let message = format!("expected {expected}, found {text}");
        let error = Diagnostic::new(found.span, message);
        let compares = [TokenKind::OpenBrace.to_string(), "`,` or `)`".to_owned()];
        if found.kind == TokenKind::Equal && compares.iter().any(|place| place == expected) {
            return self.report(error.help("`==` compares"));
        }
        if found.kind == TokenKind::For && expected == "`,` or `]`" {
            let help = "an array of values is written `[for x in array { … }]`";
            return self.report(error.help(help));
        }
        if found.kind == TokenKind::Colon && expected == TokenKind::CloseBracket.to_string() {
            return self.report(error.help("a part of an array is written `a[1..3]`"));
        }
        self.report(self.with_habit(error))
    }

    /// Returns `error`, with help if the next or the previous word is from another language.
    fn with_habit(&self, error: Diagnostic) -> Diagnostic {
        let help = match (self.text_of(self.previous()), self.text_of(self.span())) {
            (_, "and") => "`and` is written `&&`",
            (_, "or") => "`or` is written `||`",
            ("not", _) => "`not` is written `!`",
            ("elif", _) | (_, "elif") => "`elif` is written `else if`",
            ("<", ">") => "`<>` is written `!=`",
            ("+", "+") => "`x++` is written `x += 1`",
            ("print" | "println" | "printf" | "dbg", "!") => SHOWN_VALUES,
            ("import" | "include", _) => "`use std::order::sort;` brings a function in",
            ("def" | "func" | "function", _) => {
                "a function is `fn f(x: u32) -> u32 { … }`, outside of others"
            }
            _ => return error,
        };
        error.help(help)
    }

    fn expect(&mut self, kind: TokenKind) -> Parsed<Span> {
        if let Some(span) = self.take(kind) {
            return Ok(span);
        }
        if matches!(kind, TokenKind::Semicolon | TokenKind::Comma) {
            let after = self.previous().after();
            let mut error = Diagnostic::new(after, format!("expected {kind} here"));
            if kind == TokenKind::Semicolon && self.is(TokenKind::CloseBrace) {
                error = error.help("each statement ends with `;`, the last one of a block too");
            }
            return self.report(self.with_habit(error));
        }
        self.unexpected(&kind.to_string())
    }

    /// Takes a `>` that closes angle brackets, even if it is half of a `>>`.
    fn expect_close_angle(&mut self) -> Parsed<Span> {
        let token = self.token();
        self.note(Role::CloseAngle);
        let rest = match token.kind {
            TokenKind::ShiftRight => TokenKind::Greater,
            TokenKind::GreaterEqual => TokenKind::Equal,
            TokenKind::ShiftRightAssign => TokenKind::GreaterEqual,
            _ => return self.expect(TokenKind::Greater),
        };
        let (mut first, mut second) = (token.span, token.span);
        first.end = first.start + 1;
        second.start = first.end;
        self.half = Some(Token {
            kind: rest,
            span: second,
        });
        Ok(first)
    }

    /// Whether the next token is on a later line than the one before it.
    fn begins_line(&self) -> bool {
        let (before, next) = (self.previous().end, self.span().start);
        self.text[before as usize..next as usize].contains('\n')
    }

    fn symbol(&mut self, span: Span) -> Symbol {
        self.words
            .symbol(&self.text[span.start as usize..span.end as usize])
    }

    fn ident(&mut self, what: &str) -> Parsed<Ident> {
        if let Some(span) = self.take(TokenKind::Name) {
            let name = self.symbol(span);
            return Ok(Ident { name, span });
        }
        let token = self.token();
        let text = self.text_of(token.span);
        let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic());
        if is_word && token.kind != TokenKind::Text {
            let message = format!("expected {what}, found the reserved word `{text}`");
            let help = format!("choose another name, such as `{text}_`");
            return self.report(Diagnostic::new(token.span, message).help(help));
        }
        self.unexpected(what)
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= MAX_NESTING {
            let message = format!("more than {MAX_NESTING} levels of nesting");
            let error = Diagnostic::new(self.span(), message);
            return self.report(error.help("give parts of it a name with `let` or `fn`"));
        }
        self.nesting += 1;
        let result = parse(self);
        self.nesting -= 1;
        result
    }

    /// Parses the elements between `open`, which is the next token, and `close`, separated by
    /// commas.
    fn list<T>(
        &mut self,
        open: TokenKind,
        close: TokenKind,
        element: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.expect(open)?;
        let elements = self.elements(close, element)?;
        if !self.is(close) {
            return self.unexpected(&format!("`,` or {close}"));
        }
        self.skip();
        Ok(elements)
    }

    /// Parses elements before `close`, separated by commas.
    fn elements<T>(
        &mut self,
        close: TokenKind,
        mut element: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut elements = Vec::new();
        while !self.is(close) {
            elements.push(element(self)?);
            if self.take(TokenKind::Comma).is_none() {
                break;
            }
        }
        Ok(elements)
    }

    /// Runs `parse` with struct values allowed, or not, at its outermost level.
    fn with_struct<T>(&mut self, allowed: bool, parse: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.struct_allowed, allowed);
        let result = parse(self);
        self.struct_allowed = before;
        result
    }
}
