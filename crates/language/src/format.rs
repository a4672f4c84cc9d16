//! The formatter: one way to space and indent a program. Line breaks and comments stay as they are.
//! Formatting changes only spaces, indentation and empty lines.

use std::collections::HashMap;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lexer::{Comment, Token, TokenKind as T, lex};
use crate::parser::{Role, parse_tokens};
use crate::source::{FileId, SourceMap};
use crate::syntax::BinaryOperator;

/// The number of columns of an indentation level.
const INDENT: usize = 4;

/// Formats the program `text`.
///
/// # Errors
///
/// The program cannot be parsed. Returns its errors and the map of its only file.
pub fn format(name: &str, text: &str) -> Result<String, (SourceMap, Vec<Diagnostic>)> {
    let mut map = SourceMap::default();
    let file = map.add(name.to_owned(), text.into());
    let mut errors = Diagnostics::default();
    let formatted = of_file(file, text, &mut errors);
    if errors.is_empty() {
        Ok(formatted)
    } else {
        Err((map, errors.into_list()))
    }
}

/// A token or a comment.
#[derive(Clone, Copy)]
struct Word<'t> {
    kind: Option<T>,
    text: &'t str,
    start: usize,
    role: Option<Role>,
}

fn of_file(file: FileId, text: &str, errors: &mut Diagnostics) -> String {
    let lexed = lex(file, text, errors);
    let (_, roles) = parse_tokens(text, &lexed, errors);
    if !errors.is_empty() {
        return String::new();
    }
    let roles: HashMap<u32, Role> = roles.into_iter().collect();
    let words = words(text, &lexed.tokens, &lexed.comments, &roles);
    let mut writer = Writer::default();
    for (number, word) in words.iter().enumerate() {
        let before = number.checked_sub(1).map(|number| &words[number]);
        let breaks = match before {
            None => 0,
            Some(before) => {
                let between = &text[before.start + before.text.len()..word.start];
                between.matches('\n').count().min(2)
            }
        };
        writer.word(before, word, breaks, words.get(number + 1));
    }
    writer.finish()
}

fn words<'t>(
    text: &'t str,
    tokens: &[Token],
    comments: &[Comment],
    roles: &HashMap<u32, Role>,
) -> Vec<Word<'t>> {
    let of_token = tokens
        .iter()
        .filter(|token| token.kind != T::End)
        .map(|token| {
            let (start, end) = (token.span.start as usize, token.span.end as usize);
            Word {
                kind: Some(token.kind),
                text: &text[start..end],
                start,
                role: roles.get(&token.span.start).copied(),
            }
        });
    let of_comment = comments.iter().map(|comment| {
        let (start, end) = (comment.span.start as usize, comment.span.end as usize);
        Word {
            kind: None,
            text: text[start..end].trim_end(),
            start,
            role: None,
        }
    });
    let mut words: Vec<Word<'t>> = of_token.chain(of_comment).collect();
    words.sort_by_key(|word| word.start);
    words
}

/// The content between two brackets, or the whole file.
#[derive(Clone, Copy, Default)]
struct Frame {
    /// The indentation of its lines.
    indent: usize,
    /// The indentation of the line on which it starts.
    opened: usize,
    /// The first word of the open statement or element.
    open: Option<T>,
    /// Whether the brackets are braces.
    is_block: bool,
    /// Whether the braces contain the names of a `use`, and have no spaces inside.
    is_of_use: bool,
    /// The number of open angle brackets. Commas inside them end nothing.
    angles: usize,
}

#[derive(Default)]
struct Writer {
    out: String,
    frame: Frame,
    outer: Vec<Frame>,
    /// The indentation of the line that is being written.
    line: usize,
}

impl Writer {
    fn word(
        &mut self,
        before: Option<&Word<'_>>,
        word: &Word<'_>,
        breaks: usize,
        next: Option<&Word<'_>>,
    ) {
        let closes = word.kind.is_some_and(is_closing);
        let opened = self.frame.opened;
        let is_at_edge = closes || before.is_some_and(|before| before.kind == Some(T::OpenBrace));
        let is_tight = self.frame.is_of_use && is_at_edge;
        if closes {
            self.frame = self.outer.pop().unwrap_or_default();
        }
        match (before, breaks) {
            (None, _) => {}
            (Some(before), 0) => {
                if !is_tight && is_spaced(before, word) {
                    self.out.push(' ');
                }
            }
            (Some(before), breaks) => {
                let after_open = before.kind.is_some_and(is_opening);
                let empty = breaks > 1 && !after_open && !closes;
                self.out.push_str(if empty { "\n\n" } else { "\n" });
                self.line = if closes {
                    opened
                } else {
                    self.indentation(word)
                };
                self.out.extend(std::iter::repeat_n(' ', self.line));
            }
        }
        self.out.push_str(word.text);
        self.note(word, next);
    }

    /// Returns the indentation of a line that starts with `word`.
    fn indentation(&self, word: &Word<'_>) -> usize {
        let goes_on = match (self.frame.open, word.kind) {
            (None, _) | (_, None) => false,
            (Some(first), Some(T::Else)) => first != T::If,
            _ => true,
        };
        if goes_on {
            self.frame.indent + INDENT
        } else {
            self.frame.indent
        }
    }

    /// Tracks brackets and statements.
    fn note(&mut self, word: &Word<'_>, next: Option<&Word<'_>>) {
        let Some(kind) = word.kind else {
            return;
        };
        if is_opening(kind) {
            self.frame.open.get_or_insert(kind);
            // The block of an item belongs to the item's first line, wherever its brace is.
            let line = if self.outer.is_empty() && kind == T::OpenBrace {
                self.frame.indent
            } else {
                self.line
            };
            let is_block = kind == T::OpenBrace;
            let is_of_use = is_block && self.frame.open == Some(T::Use);
            self.outer.push(self.frame);
            self.frame = Frame {
                indent: line + INDENT,
                opened: line,
                open: None,
                is_block,
                is_of_use,
                angles: 0,
            };
            return;
        }
        let angles = &mut self.frame.angles;
        match word.role {
            Some(Role::OpenAngle) => *angles += 1,
            Some(Role::CloseAngle) => {
                *angles = angles.saturating_sub(word.text.matches('>').count())
            }
            _ => {}
        }
        let next = next.and_then(|next| next.kind);
        let ends = match kind {
            T::Semicolon => true,
            T::Comma => self.frame.angles == 0,
            T::CloseBrace => {
                let is_whole = match self.frame.open {
                    Some(T::Let | T::Const | T::Type | T::Use) => false,
                    Some(_) => self.frame.is_block || self.outer.is_empty(),
                    None => true,
                };
                is_whole && !next.is_some_and(continues)
            }
            _ => false,
        };
        if ends {
            self.frame.open = None
        } else {
            self.frame.open.get_or_insert(kind);
        }
    }

    fn finish(mut self) -> String {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }
}

fn is_opening(kind: T) -> bool {
    matches!(kind, T::OpenParen | T::OpenBracket | T::OpenBrace)
}

fn is_closing(kind: T) -> bool {
    matches!(kind, T::CloseParen | T::CloseBracket | T::CloseBrace)
}

/// Whether a token continues the statement before it.
fn continues(kind: T) -> bool {
    matches!(
        kind,
        T::Else | T::Dot | T::As | T::Comma | T::Semicolon | T::CloseParen | T::CloseBracket
    ) || BinaryOperator::of_token(kind).is_some()
}

/// Whether there is a space between two words of a line.
fn is_spaced(left: &Word<'_>, right: &Word<'_>) -> bool {
    let (Some(a), Some(b)) = (left.kind, right.kind) else {
        // A comment between brackets is treated like a value.
        let is_inside = |word: &Word<'_>| word.text.starts_with("/*");
        let opens = matches!(left.kind, Some(T::OpenParen | T::OpenBracket));
        let ends = right.kind.is_some_and(|kind| {
            matches!(
                kind,
                T::CloseParen | T::CloseBracket | T::Comma | T::Semicolon
            )
        });
        return !(opens && is_inside(right) || ends && is_inside(left));
    };
    match (left.role, right.role) {
        (Some(Role::Prefix | Role::OpenAngle | Role::OpenLambda), _) => return false,
        (_, Some(Role::OpenAngle | Role::CloseAngle)) => return false,
        (Some(Role::CloseAngle), _) if matches!(b, T::OpenParen | T::ColonColon) => return false,
        (Some(Role::CloseLambda), _) => return true,
        (_, Some(Role::CloseLambda)) if b == T::Or => return false,
        _ => {}
    }
    // Names, components of the library and closed brackets can be called and indexed.
    let is_value =
        matches!(a, T::Name | T::Text | T::CloseParen | T::CloseBracket) && !is_item_word(left);
    match (a, b) {
        (T::OpenBrace, T::CloseBrace) => false,
        (T::OpenParen | T::OpenBracket | T::Dot | T::ColonColon, _) => false,
        (T::DotDot | T::DotDotEqual, _) | (_, T::DotDot | T::DotDotEqual) => {
            matches!(a, T::Semicolon)
        }
        (_, T::CloseParen | T::CloseBracket | T::Comma | T::Semicolon | T::Colon) => false,
        (_, T::Dot | T::ColonColon) => false,
        (_, T::OpenParen | T::OpenBracket) => !is_value && a != T::Fn,
        _ => true,
    }
}

/// Whether a name is a word of the language here. Parentheses or brackets after `of`, `to` and
/// similar words do not belong to them.
fn is_item_word(word: &Word<'_>) -> bool {
    matches!(word.text, "of" | "to" | "by" | "with" | "sorted" | "public")
}
