//! What an editor asks about a place in a program: what a name means, and what type is there.

use crate::diagnostic::Diagnostics;
use crate::lexer::{Token, TokenKind, lex};
use crate::load::{Definition, Loaded};
use crate::program::Program;
use crate::source::{FileId, Span};

impl Loaded {
    /// Where the name at a byte of the program's own file is declared.
    #[must_use]
    pub fn definition(&self, offset: usize) -> Option<Span> {
        let root = self.root();
        let text = &self.source_map().file(root).text;
        let tokens = lex(root, text, &mut Diagnostics::default()).tokens;
        let at = name_at(&tokens, offset)?;
        let name = self.source_map().text(tokens[at].span);
        self.local(&tokens, at, name).or_else(|| {
            let Definition::Item(key) = self.lookup(root, name)? else {
                return None;
            };
            self.item(key).kind.name().map(|name| name.span)
        })
    }

    /// The last place before `at`, in the same item, that gives `name` to a variable.
    fn local(&self, tokens: &[Token], at: usize, name: &str) -> Option<Span> {
        let mut items = self.items().iter();
        let here = tokens[at].span;
        let item = items.find(|item| item.span.start <= here.start && here.end <= item.span.end)?;
        let declares = |place: usize| {
            let token = tokens[place];
            if token.kind != TokenKind::Name
                || token.span.start < item.span.start
                || self.source_map().text(token.span) != name
            {
                return false;
            }
            let after = tokens.get(place + 1).map(|token| token.kind);
            let before = place.checked_sub(1).map(|before| tokens[before].kind);
            let begins = matches!(
                before,
                Some(TokenKind::Let | TokenKind::Mut | TokenKind::For | TokenKind::Const)
            );
            // A parameter, an input, or a part of a pattern.
            let is_typed = after == Some(TokenKind::Colon) && in_parentheses(tokens, place);
            begins || is_typed || (after != Some(TokenKind::Dot) && in_pattern(tokens, place))
        };
        let place = (0..=at).rev().find(|&place| declares(place))?;
        Some(tokens[place].span)
    }

    /// The names that mean something all over the program's own file.
    #[must_use]
    pub fn names_in_sight(&self) -> Vec<String> {
        let mut names: Vec<String> = self.names(self.root()).map(ToString::to_string).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// The name that a byte is in or right behind.
fn name_at(tokens: &[Token], offset: usize) -> Option<usize> {
    tokens.iter().position(|token| {
        let span = token.span.start as usize..=token.span.end as usize;
        token.kind == TokenKind::Name && span.contains(&offset)
    })
}

/// Whether the innermost bracket around a token is round.
fn in_parentheses(tokens: &[Token], place: usize) -> bool {
    let mut closed = 0;
    for token in tokens[..place].iter().rev() {
        match token.kind {
            TokenKind::CloseParen | TokenKind::CloseBrace | TokenKind::CloseBracket => closed += 1,
            TokenKind::OpenParen | TokenKind::OpenBrace | TokenKind::OpenBracket => {
                if closed == 0 {
                    return token.kind == TokenKind::OpenParen;
                }
                closed -= 1;
            }
            _ => {}
        }
    }
    false
}

/// Whether a name stands in `let (a, b) = …`, or is a lambda's.
fn in_pattern(tokens: &[Token], place: usize) -> bool {
    for token in tokens[..place].iter().rev() {
        match token.kind {
            TokenKind::Name | TokenKind::Comma | TokenKind::OpenParen | TokenKind::Mut => {}
            TokenKind::Let | TokenKind::Or => return true,
            _ => return false,
        }
    }
    false
}

impl Program {
    /// The type of the smallest expression around a byte of a file, and its place. Of a generic
    /// function it is the first instance's.
    #[must_use]
    pub fn type_at(&self, file: FileId, offset: usize) -> Option<(Span, String)> {
        let offset = offset as u32;
        let mut best: Option<(u32, Span, String)> = None;
        for function in &self.functions {
            function.expressions(&mut |expression| {
                let span = expression.span;
                let length = span.end - span.start;
                let is_there = span.file == file && span.start <= offset && offset <= span.end;
                if is_there && best.as_ref().is_none_or(|(least, ..)| length < *least) {
                    let name = self.types.name(expression.ty).to_string();
                    best = Some((length, span, name));
                }
            });
        }
        best.map(|(_, span, name)| (span, name))
    }
}
