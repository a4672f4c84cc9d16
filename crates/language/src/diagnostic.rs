//! Diagnostics of a program: a sentence, the places, and a remedy.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde_json::{Value as Json, json};

use crate::source::{FileId, SourceMap, Span};

/// The help where a program prints a value.
pub(crate) const SHOWN_VALUES: &str = "`debug(x);` shows a value in trials and tests; what a party \
                                       learns is a result: `-> (x: u32 to alice)`";

/// An error or a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether it is a warning.
    pub is_warning: bool,
    /// The error, as a sentence.
    pub message: String,
    /// The place of the error.
    pub span: Span,
    /// A description of the place, in a few words.
    pub label: String,
    /// Other relevant places, each with a few words.
    pub related: Vec<(Span, String)>,
    /// The remedy.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Creates an error at `span`.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self {
            is_warning: false,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            help: None,
        }
    }

    /// Returns a function that makes errors of another kind errors at `span`.
    pub(crate) fn at<E: std::fmt::Display>(span: Span) -> impl Fn(E) -> Self {
        move |error| Self::new(span, error.to_string())
    }

    /// Creates a warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self {
            is_warning: true,
            ..Self::new(span, message)
        }
    }

    /// Sets the description of the place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }

    /// Sets the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns the diagnostic as JSON for programs: its place, with lines and columns from 1, and
    /// its texts.
    pub fn to_json(&self, map: &SourceMap) -> Json {
        let (line, column) = map.line_and_column(self.span);
        json!({
            "file": map.file(self.span.file).name,
            "line": line,
            "column": column,
            "message": self.message,
            "label": self.label,
            "help": self.help,
        })
    }

    /// Returns the diagnostic as text for a terminal, with its lines of the program, in colour if
    /// `colour` is set.
    pub fn render(&self, map: &SourceMap, colour: bool) -> String {
        let level = if self.is_warning {
            Level::WARNING
        } else {
            Level::ERROR
        };
        let mut group = Group::with_title(level.primary_title(self.message.clone()));
        let primary = (self.span, &self.label, AnnotationKind::Primary);
        let related = self.related.iter();
        let related = related.map(|(span, label)| (*span, label, AnnotationKind::Context));
        let all: Vec<_> = std::iter::once(primary).chain(related).collect();
        let mut files: Vec<FileId> = all.iter().map(|(span, ..)| span.file).collect();
        files.dedup();
        for id in files {
            let file = map.file(id);
            let mut snippet = Snippet::source(file.text.to_string()).path(file.name.clone());
            for (span, label, kind) in all.iter().filter(|(span, ..)| span.file == id) {
                let range = span.start as usize..(span.end as usize).min(file.text.len());
                let annotation = kind.span(range);
                snippet = snippet.annotation(match label.as_str() {
                    "" => annotation,
                    label => annotation.label(label.to_owned()),
                });
            }
            group = group.element(snippet);
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.clone()));
        }
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        renderer.render(&[group])
    }
}

/// Returns diagnostics as text for a terminal, one after the other, in colour if `colour` is set.
pub fn render_all<'d>(
    found: impl IntoIterator<Item = &'d Diagnostic>,
    map: &SourceMap,
    colour: bool,
) -> String {
    let texts: Vec<String> = found
        .into_iter()
        .map(|one| one.render(map, colour))
        .collect();
    texts.join("\n\n")
}

/// A proof that an error is in [`Diagnostics`]. Reporting an error makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reported(());

impl Reported {
    /// Creates the proof for a part of the program whose error the parser has reported.
    pub(crate) fn by_parser() -> Self {
        Self(())
    }
}

/// The errors so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// The greatest number of errors that are reported together.
    pub(crate) const MAX: usize = 64;

    /// Adds an error, unless the same one was reported or there are enough.
    pub(crate) fn report(&mut self, error: Diagnostic) -> Reported {
        let same =
            |other: &Diagnostic| (other.span, &other.message) == (error.span, &error.message);
        if self.list.len() < Self::MAX && !self.list.iter().any(same) {
            self.list.push(error);
        }
        Reported(())
    }

    /// Whether no more errors are reported.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= Self::MAX
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Drops the errors after the first `length`, after a wrong guess.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.list.truncate(length);
    }

    /// Returns the errors, sorted by file and place.
    pub(crate) fn into_list(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|error| error.span);
        self.list
    }
}
