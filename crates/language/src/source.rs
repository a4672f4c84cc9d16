//! Source files and places in them.

use core::fmt;
use std::borrow::Borrow;
use std::collections::HashSet;
use std::sync::Arc;

/// A name or another word of the source. Clones share the text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(Arc<str>);

impl Symbol {
    /// Creates the word `text`.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the text of the word.
    pub fn as_str(&self) -> &str {
        #[cfg(test)]
        TEXTS_READ.set(TEXTS_READ.get() + 1);
        &self.0
    }
}

#[cfg(test)]
thread_local! {
    /// The number of texts of words that were read, for tests that count work.
    pub(crate) static TEXTS_READ: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

impl Borrow<str> for Symbol {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The words seen before, so that each is allocated only once.
#[derive(Debug, Default)]
pub(crate) struct Words(HashSet<Symbol>);

impl Words {
    pub(crate) fn symbol(&mut self, text: &str) -> Symbol {
        if let Some(symbol) = self.0.get(text) {
            return symbol.clone();
        }
        let symbol = Symbol::new(text);
        self.0.insert(symbol.clone());
        symbol
    }
}

/// The number of a file of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) u32);

/// A part of a file, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the span from the start of this span to the end of `other`.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self {
            end: other.end.max(self.end),
            ..self
        }
    }

    /// Returns the position right after this span.
    #[must_use]
    pub fn after(self) -> Self {
        Self {
            start: self.end,
            ..self
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}..{}", self.file.0, self.start, self.end)
    }
}

/// A source file.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The name, for people: a path, or `std/order.tacit` for a part of the standard library.
    pub name: String,
    /// The text.
    pub text: Arc<str>,
}

/// The files of a program.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// The length of the longest file, in bytes.
    pub const MAX_BYTES: usize = 4 << 20;

    pub(crate) fn add(&mut self, name: String, text: Arc<str>) -> FileId {
        self.files.push(SourceFile { name, text });
        FileId(self.files.len() as u32 - 1)
    }

    /// Returns the file with this number.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// Returns all files, the program's own file first.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Returns the numbers of all files.
    pub fn ids(&self) -> impl Iterator<Item = FileId> + use<> {
        (0..self.files.len() as u32).map(FileId)
    }

    /// Returns the text of a span.
    pub fn text(&self, span: Span) -> &str {
        &self.file(span.file).text[span.start as usize..span.end as usize]
    }

    /// Returns the line and column of a span's start, from 1. Columns count characters.
    pub fn line_and_column(&self, span: Span) -> (usize, usize) {
        let before = &self.file(span.file).text[..span.start as usize];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (line, column)
    }
}

/// Provides the files that a program uses. The crate itself does no I/O.
pub trait Sources {
    /// Returns the text of the file `name`, such as `ledger.tacit`, in the folder of the program.
    ///
    /// # Errors
    ///
    /// The reason that there is none, as the end of a sentence: `it does not exist`.
    fn read(&self, name: &str) -> Result<String, String>;
}

/// Provides no files except the program itself and the standard library.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Sources for NoFiles {
    fn read(&self, _name: &str) -> Result<String, String> {
        Err("no other files are given here".to_owned())
    }
}
