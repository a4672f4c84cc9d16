//! The join of a `main`. Its keywords are names in other contexts.

use super::{Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind as T;
use crate::syntax::{EntryKind, Input, Join, JoinedTable, KeyField};

impl Parser<'_> {
    /// Parses the inputs of a run, including a join.
    pub(super) fn inputs(&mut self, kind: EntryKind) -> Parsed<(Vec<Input>, Option<Join>)> {
        let (mut inputs, mut join) = (Vec::new(), None);
        self.list(T::OpenParen, T::CloseParen, |parser| {
            if parser.begins_join() {
                parser.join(kind, &mut join)?
            } else {
                inputs.push(parser.input()?)
            }
            Ok(())
        })?;
        Ok((inputs, join))
    }

    /// Whether `pairs: join people …` comes next. An input may have a type named `join`.
    fn begins_join(&self) -> bool {
        let word = |ahead: usize| {
            let last = self.tokens.len() - 1;
            let token = self.tokens[(self.at + ahead).min(last)];
            (token.kind == T::Name).then(|| self.text_of(token.span))
        };
        let is_table = |word: &str| !["of", "public"].contains(&word);
        self.is(T::Name)
            && self.kind_after(1) == T::Colon
            && word(2) == Some("join")
            && word(3).is_some_and(is_table)
    }

    /// Parses `pairs: join people by name with sales by name upto D`, which `main` may have once.
    fn join(&mut self, kind: EntryKind, known: &mut Option<Join>) -> Parsed<()> {
        let name = self.ident("a name for the pairs")?;
        self.expect(T::Colon)?;
        let word = self.skip();
        if kind != EntryKind::Main {
            let message = format!("a `{}` joins no tables", kind.word());
            let error = Diagnostic::new(word, message);
            return self.report(error.help("join them in `main`, of a program without states"));
        }
        if let Some(first) = known {
            let error = Diagnostic::new(word, "a program has one join");
            let error = error.related(first.span, "the first one is here");
            return self.report(error.help("join two tables; a third one takes another program"));
        }
        let left = self.joined_table()?;
        if self.take_word("with").is_none() {
            return self.unexpected("`with` and the other table");
        }
        let right = self.joined_table()?;
        let upto = self
            .take_word("upto")
            .map(|_| self.with_struct(false, Self::expression))
            .transpose()?;
        let span = word.to(self.previous());
        *known = Some(Join {
            name,
            left,
            right,
            upto,
            span,
        });
        Ok(())
    }

    /// Parses `people by name` or `people by (name, born)`.
    fn joined_table(&mut self) -> Parsed<JoinedTable> {
        let table = self.ident("the input that is joined")?;
        if self.take_word("by").is_none() {
            return self.unexpected("`by` and the field that is the key");
        }
        let key = if self.is(T::OpenParen) {
            self.list(T::OpenParen, T::CloseParen, Self::key_field)?
        } else {
            vec![self.key_field()?]
        };
        if key.is_empty() {
            let error = Diagnostic::new(self.previous(), "a key has a field at least");
            return self.report(error.help("write `by name`, or `by (name, born)`"));
        }
        Ok(JoinedTable { table, key })
    }

    /// Parses `name`, or `email(address)`.
    fn key_field(&mut self) -> Parsed<KeyField> {
        let first = self.ident("a field")?;
        if self.take(T::OpenParen).is_none() {
            let (normalization, field) = (None, first);
            return Ok(KeyField {
                normalization,
                field,
            });
        }
        let field = self.ident("a field")?;
        self.expect(T::CloseParen)?;
        let normalization = Some(first);
        Ok(KeyField {
            normalization,
            field,
        })
    }
}
