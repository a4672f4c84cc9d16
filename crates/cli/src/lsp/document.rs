//! A document that is open in the editor, treated as the root of a program.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use lsp_types::{
    CompletionItem, DiagnosticSeverity, Hover, HoverContents, MarkupContent, MarkupKind, Position,
    Range, TextEdit,
};
use tacit_language::program::EntryId;
use tacit_language::{Diagnostic, FileId, Loaded, ParamValues, ProgramFolder, Sources, Span};

use super::position::{offset_of, position_of, range_of};
use crate::inspect::cost_of_line;

/// The texts of the open documents, by their paths. They take precedence over the files on disk.
pub(super) type Texts = HashMap<PathBuf, String>;

/// A program's folder, with the texts of the open documents.
struct OpenFolder<'t> {
    path: PathBuf,
    folder: ProgramFolder,
    texts: &'t Texts,
}

impl Sources for OpenFolder<'_> {
    fn read(&self, name: &str) -> Result<String, String> {
        match self.texts.get(&self.path.join(name)) {
            Some(text) => Ok(text.clone()),
            None => self.folder.read(name),
        }
    }
}

/// A program, with the path of its own file.
pub(super) struct Document {
    path: PathBuf,
    loaded: Loaded,
}

impl Document {
    pub(super) fn new(path: PathBuf, text: &str, texts: &Texts) -> Self {
        let sources = OpenFolder {
            path: path.parent().unwrap_or(Path::new("")).to_owned(),
            folder: ProgramFolder::of(&path),
            texts,
        };
        let loaded = Loaded::new(&path.display().to_string(), text, &sources);
        Self { path, loaded }
    }

    fn text(&self) -> &str {
        self.text_of(self.loaded.root())
    }

    fn text_of(&self, file: FileId) -> &str {
        &self.loaded.source_map().file(file).text
    }

    /// Returns the path of a file of the program. The standard library has none.
    fn path_of(&self, file: FileId) -> Option<PathBuf> {
        if file == self.loaded.root() {
            Some(self.path.clone())
        } else {
            let name = &self.loaded.source_map().file(file).name;
            let folder = self.path.parent()?;
            (!name.starts_with("std/")).then(|| folder.join(name))
        }
    }

    pub(super) fn hover(&self, position: Position) -> Option<Hover> {
        let offset = offset_of(self.text(), position);
        let program = self.loaded.program(&ParamValues::new()).ok()?;
        let map = self.loaded.source_map();
        let mut text = String::new();
        let declared = self.loaded.definition(self.loaded.root(), offset);
        if let Some(meaning) = declared.and_then(|declared| self.loaded.meaning(declared)) {
            text += &format!("```tacit\n{}\n```\n", meaning.declared);
            text += &format!("\n{}\n", meaning.documentation);
        }
        if let Some((_, name)) = program.type_at(self.loaded.root(), offset) {
            text += &format!("```tacit\n{name}\n```\n");
        }
        let files = ProgramFolder::of(&self.path);
        for (number, entry) in program.entries.iter().enumerate() {
            let name = entry.name.to_string();
            let costed = program.lower_with_costs(&name, EntryId(number as u32), &files);
            let Ok((_, costs)) = costed else {
                continue;
            };
            let cost = cost_of_line(map, &costs, position.line as usize + 1);
            if let Some(cost) = cost {
                text += &format!(
                    "\n{name}: this line costs {} AND gates, and {} bits go into components\n",
                    cost.and_gates, cost.link_bits
                );
            }
        }
        (!text.is_empty()).then_some(Hover {
            contents: HoverContents::Markup(MarkupContent {
                kind: MarkupKind::Markdown,
                value: text,
            }),
            range: None,
        })
    }

    /// Returns the place where the name at a position is declared.
    pub(super) fn declared(&self, position: Position) -> Option<Span> {
        let offset = offset_of(self.text(), position);
        self.loaded.definition(self.loaded.root(), offset)
    }

    /// Returns all places in the program's files that name what is named at a position.
    pub(super) fn uses(&self, position: Position) -> Vec<Span> {
        let declared = self.declared(position);
        declared.map_or_else(Vec::new, |declared| self.loaded.uses(declared))
    }

    /// Returns a place of the program in the editor's terms.
    pub(super) fn place(&self, span: Span) -> Option<(PathBuf, Range)> {
        let range = range_of(self.text_of(span.file), (span.start, span.end));
        Some((self.path_of(span.file)?, range))
    }

    pub(super) fn formatted(&self) -> Option<Vec<TextEdit>> {
        let text = self.text();
        let formatted = tacit_language::format("", text).ok()?;
        let end = position_of(text, text.len());
        let all = Range::new(Position::new(0, 0), end);
        Some(if formatted == text {
            Vec::new()
        } else {
            vec![TextEdit::new(all, formatted)]
        })
    }

    pub(super) fn completions(&self) -> Vec<CompletionItem> {
        let names = self.loaded.names_in_sight().into_iter();
        names
            .map(|(name, meaning)| CompletionItem::new_simple(name, meaning.declared))
            .collect()
    }

    /// Returns the errors of the program.
    fn errors(&self) -> Vec<Diagnostic> {
        let files = ProgramFolder::of(&self.path);
        self.loaded.check(&ParamValues::new(), &files)
    }

    /// Returns the errors and warnings of the program, by file.
    pub(super) fn diagnostics(&self) -> BTreeMap<PathBuf, Vec<lsp_types::Diagnostic>> {
        let params = ParamValues::new();
        let mut told = self.errors();
        if let Ok(program) = self.loaded.program(&params) {
            told.extend(program.warnings);
        }
        let mut by_file = BTreeMap::from([(self.path.clone(), Vec::new())]);
        for error in &told {
            let diagnostic = self.diagnostic(error);
            // Errors in the standard library are shown at the top of the program.
            let (path, range) = self
                .place(error.span)
                .unwrap_or((self.path.clone(), Range::default()));
            let told = by_file.entry(path).or_default();
            told.push(lsp_types::Diagnostic {
                range,
                ..diagnostic
            });
        }
        by_file
    }

    fn diagnostic(&self, error: &Diagnostic) -> lsp_types::Diagnostic {
        let mut message = error.message.clone();
        let related = error.related.iter().map(|(span, words)| {
            let map = self.loaded.source_map();
            let (line, column) = map.line_and_column(*span);
            format!("{words}: {}:{line}:{column}", map.file(span.file).name)
        });
        let parts = [Some(error.label.clone()), error.help.clone()];
        for part in parts.into_iter().flatten().chain(related) {
            if !part.is_empty() {
                message += "\n";
                message += &part;
            }
        }
        lsp_types::Diagnostic {
            severity: Some(if error.is_warning {
                DiagnosticSeverity::WARNING
            } else {
                DiagnosticSeverity::ERROR
            }),
            source: Some("tacit".to_owned()),
            message,
            ..lsp_types::Diagnostic::default()
        }
    }
}
