//! The lexer: a handwritten single pass from text to tokens and comments.

mod token;

pub(crate) use token::{Token, TokenKind, WORDS};

use crate::border::acts_on_a_terminal;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{FileId, SourceMap, Span};

/// A comment: `// …` to the end of the line, or `/* … */`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Comment {
    /// The comment's place. It includes the comment's signs but not the end of the line after `//`.
    pub(crate) span: Span,
    /// Whether the comment starts with three slashes and documents the next item.
    pub(crate) is_doc: bool,
}

/// The tokens of a file, the last of which is [`TokenKind::End`], and its comments in order.
#[derive(Debug)]
pub(crate) struct Lexed {
    pub(crate) tokens: Vec<Token>,
    pub(crate) comments: Vec<Comment>,
}

/// Lexes all of `text`.
pub(crate) fn lex(file: FileId, text: &str, errors: &mut Diagnostics) -> Lexed {
    let mut lexer = Lexer {
        file,
        text,
        at: 0,
        lexed: Lexed {
            tokens: Vec::with_capacity(text.len() / 4),
            comments: Vec::new(),
        },
        errors,
    };
    if text.len() > SourceMap::MAX_BYTES {
        let span = lexer.span(0);
        let message = format!("this file has {} bytes, more than 4 MiB", text.len());
        lexer.errors.report(Diagnostic::new(span, message));
    } else {
        while lexer.token() {}
    }
    let end = lexer.span(lexer.at);
    lexer.push(TokenKind::End, end);
    lexer.lexed
}

struct Lexer<'a> {
    file: FileId,
    text: &'a str,
    at: usize,
    lexed: Lexed,
    errors: &'a mut Diagnostics,
}

impl Lexer<'_> {
    /// Returns the span from `start` to the lexer's position.
    fn span(&self, start: usize) -> Span {
        Span {
            file: self.file,
            start: start as u32,
            end: self.at as u32,
        }
    }

    fn push(&mut self, kind: TokenKind, span: Span) {
        self.lexed.tokens.push(Token { kind, span });
    }

    fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.rest().get(ahead).copied().unwrap_or(0)
    }

    fn skip_while(&mut self, holds: impl Fn(u8) -> bool) {
        while self.at < self.text.len() && holds(self.peek(0)) {
            self.at += 1;
        }
    }

    /// Reads the next token or comment. Returns false at the end.
    fn token(&mut self) -> bool {
        self.skip_while(|byte| byte.is_ascii_whitespace());
        if self.at >= self.text.len() {
            return false;
        }
        let start = self.at;
        match self.peek(0) {
            b'/' if self.peek(1) == b'/' => self.comment(),
            b'/' if self.peek(1) == b'*' => self.block_comment(),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
            b'0'..=b'9' => self.number(),
            b'"' => self.string(),
            b'\'' if self.ends_in_single_quote() => self.single_quoted(),
            _ => match token::sign(self.rest()) {
                Some((kind, length)) => {
                    self.at += length;
                    let span = self.span(start);
                    self.push(kind, span);
                }
                None => self.unknown(),
            },
        }
        true
    }

    fn comment(&mut self) {
        let start = self.at;
        let is_doc = self.peek(2) == b'/' && self.peek(3) != b'/';
        self.skip_while(|byte| byte != b'\n');
        let mut span = self.span(start);
        if self.text[..self.at].ends_with('\r') {
            span.end -= 1;
        }
        self.lexed.comments.push(Comment { span, is_doc });
        self.check_shown(span);
    }

    /// Reads a comment from `/*` to its `*/`. Comments nest.
    fn block_comment(&mut self) {
        let start = self.at;
        let mut open = 0_usize;
        let mut line = start;
        loop {
            match (self.peek(0), self.peek(1)) {
                _ if self.at >= self.text.len() => {
                    let end = (start + 2) as u32;
                    let span = self.span(start);
                    let error = Diagnostic::new(Span { end, ..span }, "this comment does not end");
                    self.errors
                        .report(error.help("close it with `*/`, one for each `/*`"));
                    break;
                }
                (b'/', b'*') => {
                    open += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    open -= 1;
                    self.at += 2;
                    if open == 0 {
                        break;
                    }
                }
                (b'\n', _) => {
                    self.check_line(line);
                    self.at += 1;
                    line = self.at;
                }
                _ => self.at += 1,
            }
        }
        self.check_line(line);
        let span = self.span(start);
        let is_doc = false;
        self.lexed.comments.push(Comment { span, is_doc });
    }

    /// Checks the characters of a line of a comment.
    fn check_line(&mut self, start: usize) {
        let mut span = self.span(start);
        if self.text[start..self.at].ends_with('\r') {
            span.end -= 1;
        }
        self.check_shown(span);
    }

    /// Refuses a character in a comment or a text that makes the program look different from what
    /// it is: one that ends a line only in an editor, changes the direction of writing, or moves a
    /// terminal's cursor. People read a program before they run it, and may have it from the other
    /// party.
    fn check_shown(&mut self, span: Span) {
        let text = &self.text[span.start as usize..span.end as usize];
        let misleads =
            |c: char| c != '\t' && (acts_on_a_terminal(c) || matches!(c, '\u{2028}' | '\u{2029}'));
        let Some((at, found)) = text.char_indices().find(|(_, c)| misleads(*c)) else {
            return;
        };
        let start = span.start + at as u32;
        let place = Span {
            start,
            end: start + found.len_utf8() as u32,
            ..span
        };
        let message = format!(
            "the character U+{:04X} makes a program look other than it is",
            u32::from(found)
        );
        let help = "leave it out, or write the comment or the text without it";
        self.errors
            .report(Diagnostic::new(place, message).help(help));
    }

    fn word(&mut self) {
        let start = self.at;
        self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let span = self.span(start);
        let kind = token::word(&self.text[start..self.at]);
        self.push(kind, span);
    }

    fn number(&mut self) {
        let start = self.at;
        let mut kind = TokenKind::Integer;
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'b') {
            self.at += 2;
            self.skip_while(|byte| byte.is_ascii_hexdigit() || byte == b'_');
        } else {
            self.skip_while(|byte| byte.is_ascii_digit() || byte == b'_');
            if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
                self.at += 1;
                self.skip_while(|byte| byte.is_ascii_digit() || byte == b'_');
                kind = TokenKind::Fraction;
            }
        }
        let digits_end = self.at;
        self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let span = self.span(start);
        let text = &self.text[start..self.at];
        let digits = text.trim_start_matches("0x").trim_start_matches("0b");
        let is_binary = text.starts_with("0b");
        let bad_digit = is_binary && digits.contains(|c| !matches!(c, '0' | '1' | '_'));
        if digits_end < self.at || bad_digit || digits.chars().all(|c| c == '_') {
            let (number, suffix) = text.split_at(digits_end - start);
            let mut error = Diagnostic::new(span, format!("`{text}` is not a number"));
            let exponent = suffix.strip_prefix(['e', 'E']);
            if exponent.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit())) {
                error = error.help("a number has no exponent; write it out, as `1_000` or `0.001`");
            } else if !suffix.is_empty() && !bad_digit {
                error = error.help(format!(
                    "a number has no suffix; write `{number} as {suffix}` for one of that type"
                ));
            }
            self.errors.report(error);
            // The intended number is read, so that this is the only error about it.
            if !bad_digit && is_number_type(suffix) {
                let end = span.end - suffix.len() as u32;
                let (number, suffixed) = (Span { end, ..span }, Span { start: end, ..span });
                let word = token::word(suffix);
                self.push(kind, number);
                self.push(TokenKind::As, Span { end, ..suffixed });
                self.push(word, suffixed);
                return;
            }
        }
        self.push(kind, span);
    }

    fn string(&mut self) {
        let start = self.at;
        self.at += 1;
        loop {
            self.skip_while(|byte| !matches!(byte, b'"' | b'\\' | b'\n'));
            match self.peek(0) {
                b'\\' if self.at + 1 < self.text.len() => {
                    self.at += 2;
                    while !self.text.is_char_boundary(self.at) {
                        self.at += 1;
                    }
                }
                b'"' => {
                    self.at += 1;
                    break;
                }
                _ => {
                    let span = self.span(start);
                    let error = Diagnostic::new(span, "this text does not end on its line");
                    self.errors.report(error.help("close it with `\"`"));
                    break;
                }
            }
        }
        let span = self.span(start);
        self.push(TokenKind::Text, span);
        self.check_shown(span);
    }

    /// Whether a text in single quotes starts here.
    fn ends_in_single_quote(&self) -> bool {
        let line = self.rest()[1..].split(|&byte| byte == b'\n').next();
        line.is_some_and(|line| line.contains(&b'\''))
    }

    /// Reads a text in single quotes as one token, so that there are no further errors about it.
    fn single_quoted(&mut self) {
        let start = self.at;
        self.at += 1;
        self.skip_while(|byte| byte != b'\'');
        self.at += 1;
        let span = self.span(start);
        let error = Diagnostic::new(span, "a text stands in double quotes");
        self.errors.report(error.help("write `\"…\"`"));
        self.push(TokenKind::Text, span);
    }

    fn unknown(&mut self) {
        let start = self.at;
        let found = self.text[start..].chars().next().unwrap_or(' ');
        self.at += found.len_utf8();
        let span = self.span(start);
        let mut error = Diagnostic::new(span, format!("`{found}` means nothing here"));
        if found.is_alphabetic() {
            error = error.help("names have letters from a to z, digits and `_`");
        } else if found == '?' {
            error = error.help("`if c { a } else { b }` selects one of two values");
        }
        self.errors.report(error);
    }
}

/// Whether a text names a type of whole numbers, such as `u8`.
fn is_number_type(text: &str) -> bool {
    let bits = text.strip_prefix(['u', 'i']).unwrap_or_default();
    !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let mut errors = Diagnostics::default();
        lex(FileId(0), text, &mut errors);
        let list = errors.into_list().into_iter();
        list.map(|error| error.message).collect()
    }

    /// A reader of a program, or of the output of `tacit inspect`, would take the hidden text for a
    /// separate line or for a line of the program.
    #[test]
    fn a_program_looks_as_it_is() {
        for (hidden, name) in [
            ("// adds noise\r let sum = sum + noise;\n", "U+000D"),
            ("/// a sum\u{1b}[1A\u{1b}[2Kfunction 33fa9d…\n", "U+001B"),
            ("let x = 1; // \u{202e} }\n", "U+202E"),
            ("// a\u{2028}let x = 1;\n", "U+2028"),
            ("test \"a\u{2066}b\" {}\n", "U+2066"),
        ] {
            let told = told(hidden);
            assert!(told.len() == 1 && told[0].contains(name), "{told:?}");
        }
        assert!(told("/// a\tb — é ≤ 日本\r\n// c\r\ntest \"a\tü\" {}\r\n").is_empty());
        assert_eq!(told("/* a\n\u{1b}[1A */").len(), 1);
        assert!(told("/* a\r\n\tb — é */").is_empty());
    }

    #[test]
    fn comments_stand_in_each_other() {
        let mut errors = Diagnostics::default();
        let text = "a /* b /* c */ d // e */ f /**/ g /* */ /";
        let lexed = lex(FileId(0), text, &mut errors);
        assert!(errors.is_empty());
        let of = |span: Span| &text[span.start as usize..span.end as usize];
        let tokens: Vec<&str> = lexed.tokens.iter().map(|token| of(token.span)).collect();
        assert_eq!(tokens, ["a", "f", "g", "/", ""]);
        let comments: Vec<&str> = lexed.comments.iter().map(|c| of(c.span)).collect();
        assert_eq!(comments, ["/* b /* c */ d // e */", "/**/", "/* */"]);
        for open in ["/*", "/* /* */", "a /*/", "/* ü"] {
            assert_eq!(told(open), ["this comment does not end"]);
        }
    }
}
