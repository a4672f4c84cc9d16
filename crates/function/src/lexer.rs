//! The words of expressions and steps.

use core::fmt;

use tacit_circuit::Type;

use crate::{ErrorLocation, FunctionError};

/// Longest text of an expression or a step, in bytes.
pub(super) const MAX_TEXT_BYTES: usize = 4096;

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name.
    Name(String),
    /// A number in decimal.
    Number(u64),
    /// A sign: one of those in [`SIGNS`].
    Sign(&'static str),
}

/// The signs; one that begins with another stands before it.
const SIGNS: [&str; 13] = [
    "++", "..", "+", "-", "*", "(", ")", "[", "]", ",", "=", ":", "_",
];

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Number(number) => number.fmt(f),
            Self::Sign(sign) => f.write_str(sign),
        }
    }
}

/// The words of a text, one after the other.
pub(super) struct Lexer<'a> {
    /// Where the text stands in the function.
    place: &'a ErrorLocation,
    text: &'a str,
    /// The words, each with the byte at which it begins.
    tokens: Vec<(usize, Token)>,
    next: usize,
}

impl<'a> Lexer<'a> {
    /// Cuts `text` into words.
    pub(super) fn new(place: &'a ErrorLocation, text: &'a str) -> Result<Self, FunctionError> {
        let mut lexer = Self {
            place,
            text,
            tokens: Vec::new(),
            next: 0,
        };
        if text.len() > MAX_TEXT_BYTES {
            lexer.text = "";
            let found = format!("a text of {} bytes", text.len());
            return Err(lexer.error_at(0, "at most 4096 bytes", found));
        }
        let mut rest = text;
        loop {
            rest = rest.trim_start();
            let Some(first) = rest.bytes().next() else {
                return Ok(lexer);
            };
            let at = text.len() - rest.len();
            let length = lexer.token(at, first, rest)?;
            rest = &rest[length..];
        }
    }

    /// Takes up the word at the beginning of `rest`; returns its length.
    fn token(&mut self, at: usize, first: u8, rest: &str) -> Result<usize, FunctionError> {
        let while_in = |allowed: fn(&u8) -> bool| rest.bytes().take_while(allowed).count();
        let (length, token) = if first.is_ascii_alphabetic() {
            let length = while_in(|c| c.is_ascii_alphanumeric() || *c == b'_');
            (length, Token::Name(rest[..length].to_owned()))
        } else if first.is_ascii_digit() {
            let length = while_in(u8::is_ascii_alphanumeric);
            let number = rest[..length].parse().map_err(|_| {
                self.error_at(at, "a decimal number below 2^64", rest[..length].to_owned())
            })?;
            (length, Token::Number(number))
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (sign.len(), Token::Sign(sign))
        } else {
            let found = rest.chars().take(1).collect();
            return Err(self.error_at(at, "a name, a number or a sign", found));
        };
        self.tokens.push((at, token));
        Ok(length)
    }

    /// The next word, left where it is.
    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    /// Whether the word after `ahead` others is this sign.
    pub(super) fn sign_after(&self, ahead: usize, sign: &str) -> bool {
        let word = self.tokens.get(self.next + ahead);
        matches!(word, Some((_, Token::Sign(found))) if *found == sign)
    }

    /// Takes the next word if it is this sign.
    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.sign_after(0, sign);
        self.next += usize::from(found);
        found
    }

    /// Takes the next word, which must be this sign.
    pub(super) fn expect_sign(&mut self, sign: &'static str) -> Result<(), FunctionError> {
        if self.take_sign(sign) {
            Ok(())
        } else {
            Err(self.error(&format!("{sign:?}")))
        }
    }

    /// Takes the next word, which must be a name.
    pub(super) fn expect_name(&mut self, what: &'static str) -> Result<String, FunctionError> {
        match self.peek() {
            Some(Token::Name(name)) => {
                let name = name.clone();
                self.next += 1;
                Ok(name)
            }
            _ => Err(self.error(what)),
        }
    }

    /// Takes the next word, which must be a type without brackets.
    pub(super) fn expect_type(&mut self) -> Result<Type, FunctionError> {
        let text = self.expect_name("a type")?;
        text.parse().map_err(|error| FunctionError::Type {
            place: self.place.clone(),
            error: Box::new(error),
        })
    }

    /// Takes the next word.
    pub(super) fn skip(&mut self) {
        self.next += 1;
    }

    /// Passes at the text's end only.
    pub(super) fn expect_end(&self) -> Result<(), FunctionError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error("the end")),
        }
    }

    /// An error at the next word.
    pub(super) fn error(&self, expected: &str) -> FunctionError {
        match self.tokens.get(self.next) {
            Some((at, token)) => self.error_at(*at, expected, token.to_string()),
            None => self.error_at(self.text.len(), expected, "the end".to_owned()),
        }
    }

    fn error_at(&self, at: usize, expected: &str, found: String) -> FunctionError {
        FunctionError::Syntax {
            place: self.place.clone(),
            text: self.text.chars().take(120).collect(),
            column: self.text[..at].chars().count() + 1,
            expected: expected.to_owned(),
            found: found.chars().take(40).collect(),
        }
    }
}
