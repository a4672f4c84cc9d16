//! Numbers and texts.

use num_bigint::BigInt;
use num_rational::BigRational;

use super::{Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind as T;
use crate::source::{Span, Symbol};
use crate::syntax::ExpressionKind;

/// The greatest number of digits of a number, which bounds the quadratic work of reading it.
const MAX_DIGITS: usize = 2048;

impl Parser<'_> {
    pub(super) fn literal(&mut self) -> Parsed<ExpressionKind> {
        let token = self.token();
        match token.kind {
            T::True | T::False => {
                self.skip();
                Ok(ExpressionKind::Bool(token.kind == T::True))
            }
            T::Text => {
                let (text, _) = self.quoted("a text")?;
                Ok(ExpressionKind::Text(text))
            }
            _ => self.number(token.span),
        }
    }

    fn number(&mut self, span: Span) -> Parsed<ExpressionKind> {
        self.skip();
        let text: String = self.text_of(span).chars().filter(|&c| c != '_').collect();
        if text.len() > MAX_DIGITS {
            let message = format!("this number has more than {MAX_DIGITS} digits");
            return self.report(Diagnostic::new(span, message));
        }
        let (digits, radix) = match text.get(..2) {
            Some("0x") => (&text[2..], 16),
            Some("0b") => (&text[2..], 2),
            _ => (&text[..], 10),
        };
        let integer = |digits: &str| BigInt::parse_bytes(digits.as_bytes(), radix);
        let number = match digits.split_once('.') {
            None => integer(digits).map(ExpressionKind::Integer),
            Some((whole, fraction)) => {
                let denominator = BigInt::from(10).pow(fraction.len() as u32);
                integer(&format!("{whole}{fraction}")).map(|numerator| {
                    let number = BigRational::new(numerator, denominator);
                    ExpressionKind::Fraction(Box::new(number))
                })
            }
        };
        // The lexer has reported the error of an invalid number.
        Ok(number.unwrap_or(ExpressionKind::Integer(BigInt::ZERO)))
    }

    /// Parses a text in quotes. Returns the text and its place.
    pub(super) fn quoted(&mut self, what: &str) -> Parsed<(Symbol, Span)> {
        if !self.is(T::Text) {
            return self.unexpected(what);
        }
        let span = self.skip();
        // The lexer has reported the error of a text in single quotes.
        let inside = self.text_of(span);
        let inside = inside.strip_prefix(['"', '\'']).unwrap_or(inside);
        let inside = inside.strip_suffix(['"', '\'']).unwrap_or(inside);
        let inside = inside.to_owned();
        let mut text = String::with_capacity(inside.len());
        let mut characters = inside.chars();
        while let Some(character) = characters.next() {
            if character != '\\' {
                text.push(character);
                continue;
            }
            match characters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('0') => text.push('\0'),
                Some(same @ ('\\' | '"')) => text.push(same),
                other => {
                    let found: String = other.into_iter().collect();
                    let message = format!("`\\{found}` stands for nothing");
                    let error = Diagnostic::new(span, message);
                    let help = "a text has `\\n`, `\\t`, `\\0`, `\\\\` and `\\\"`";
                    return self.report(error.help(help));
                }
            }
        }
        Ok((self.words.symbol(&text), span))
    }
}
