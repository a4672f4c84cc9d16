//! `tacit lsp`: the language in editors, by the Language Server Protocol over standard input and
//! output. Errors come after each change; costs are counted when they are asked for.

use std::collections::HashMap;
use std::path::PathBuf;

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _,
    PublishDiagnostics,
};
use lsp_types::request::{Completion, Formatting, GotoDefinition, HoverRequest, Request as _};
use lsp_types::{
    CompletionItem, CompletionOptions, DiagnosticSeverity, DidChangeTextDocumentParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, Hover, HoverContents,
    HoverProviderCapability, Location, MarkupContent, MarkupKind, OneOf, Position,
    PublishDiagnosticsParams, Range, ServerCapabilities, TextDocumentPositionParams,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextEdit, Uri,
};
use serde_json::Value as Json;
use tacit_language::program::EntryId;
use tacit_language::{Diagnostic, Loaded, ParamValues, ProgramFolder, SourceMap, Span};

use crate::failure::Failure;
use crate::inspect::cost_of_line;

/// Runs the server until the editor ends it.
///
/// # Errors
///
/// The editor does not keep to the protocol.
pub(crate) fn serve() -> Result<(), Failure> {
    let broken = |error: String| Failure::Input(format!("the editor's messages: {error}"));
    let (connection, threads) = Connection::stdio();
    let capabilities = ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        completion_provider: Some(CompletionOptions::default()),
        ..ServerCapabilities::default()
    };
    let capabilities = serde_json::to_value(capabilities).map_err(|e| broken(e.to_string()))?;
    let initialized = connection.initialize(capabilities);
    initialized.map_err(|error| broken(error.to_string()))?;
    let mut server = Server {
        connection: &connection,
        documents: HashMap::new(),
    };
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                let ended = connection.handle_shutdown(&request);
                if ended.map_err(|error| broken(error.to_string()))? {
                    break;
                }
                server.answer(request);
            }
            Message::Notification(notification) => server.note(notification),
            Message::Response(_) => {}
        }
    }
    drop(connection);
    threads.join().map_err(|error| broken(error.to_string()))
}

/// The documents that are open.
struct Server<'c> {
    connection: &'c Connection,
    /// By the texts of their addresses.
    documents: HashMap<String, Document>,
}

/// A document as the editor has it.
struct Document {
    text: String,
    loaded: Loaded,
    folder: ProgramFolder,
}

impl Document {
    fn new(uri: &Uri, text: String) -> Self {
        let path = path_of(uri);
        let folder = ProgramFolder::of(&path);
        let loaded = Loaded::new(&path.display().to_string(), &text, &folder);
        Self {
            text,
            loaded,
            folder,
        }
    }

    fn hover(&self, position: Position) -> Option<Hover> {
        let offset = offset_of(&self.text, position);
        let program = self.loaded.program(&ParamValues::new()).ok()?;
        let map = self.loaded.source_map();
        let mut text = String::new();
        if let Some((_, name)) = program.type_at(self.loaded.root(), offset) {
            text += &format!("```tacit\n{name}\n```\n");
        }
        for (number, entry) in program.entries.iter().enumerate() {
            let (name, files) = (entry.name.to_string(), &self.folder);
            let costed = program.lower_with_costs(&name, EntryId(number as u32), files);
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

    fn definition(&self, uri: &Uri, position: Position) -> Option<Location> {
        let span = self.loaded.definition(offset_of(&self.text, position))?;
        // The standard library is in no file.
        let is_own = span.file == self.loaded.root();
        is_own.then(|| Location::new(uri.clone(), range_of(&self.text, span)))
    }

    fn formatted(&self) -> Option<Vec<TextEdit>> {
        let formatted = tacit_language::format("", &self.text).ok()?;
        let end = position_of(&self.text, self.text.len());
        let all = Range::new(Position::new(0, 0), end);
        Some(match formatted == self.text {
            true => Vec::new(),
            false => vec![TextEdit::new(all, formatted)],
        })
    }

    fn completions(&self) -> Vec<CompletionItem> {
        let names = self.loaded.names_in_sight().into_iter();
        names
            .map(|name| CompletionItem::new_simple(name, String::new()))
            .collect()
    }

    fn diagnostics(&self) -> Vec<lsp_types::Diagnostic> {
        let params = ParamValues::new();
        let mut told = self.loaded.check(&params);
        if let Ok(program) = self.loaded.program(&params) {
            told.extend(program.warnings);
        }
        let map = self.loaded.source_map();
        told.iter()
            .map(|error| self.diagnostic(map, error))
            .collect()
    }

    fn diagnostic(&self, map: &SourceMap, error: &Diagnostic) -> lsp_types::Diagnostic {
        let mut message = error.message.clone();
        for part in [Some(&error.label), error.help.as_ref()]
            .into_iter()
            .flatten()
        {
            if !part.is_empty() {
                message += "\n";
                message += part;
            }
        }
        // What is wrong in another file is told at the top of this one.
        let range = match error.span.file == self.loaded.root() {
            true => range_of(&self.text, error.span),
            false => {
                message = format!("{}: {message}", map.file(error.span.file).name);
                Range::default()
            }
        };
        lsp_types::Diagnostic {
            range,
            severity: Some(match error.is_warning {
                true => DiagnosticSeverity::WARNING,
                false => DiagnosticSeverity::ERROR,
            }),
            source: Some("tacit".to_owned()),
            message,
            ..lsp_types::Diagnostic::default()
        }
    }
}

impl Server<'_> {
    /// Takes a document as it is now, and tells what is wrong with it.
    fn open(&mut self, uri: Uri, text: String) {
        let document = Document::new(&uri, text);
        self.publish(uri.clone(), document.diagnostics());
        self.documents.insert(uri.as_str().to_owned(), document);
    }

    fn publish(&self, uri: Uri, errors: Vec<lsp_types::Diagnostic>) {
        let params = PublishDiagnosticsParams::new(uri, errors, None);
        let told = Notification::new(PublishDiagnostics::METHOD.to_owned(), params);
        // An editor that is gone is noticed where its messages end.
        let _ = self.connection.sender.send(Message::Notification(told));
    }

    fn note(&mut self, note: Notification) {
        match note.method.as_str() {
            DidOpenTextDocument::METHOD => {
                if let Some(opened) = read::<DidOpenTextDocumentParams>(note.params) {
                    self.open(opened.text_document.uri, opened.text_document.text);
                }
            }
            DidChangeTextDocument::METHOD => {
                if let Some(mut changed) = read::<DidChangeTextDocumentParams>(note.params)
                    && let Some(change) = changed.content_changes.pop()
                {
                    self.open(changed.text_document.uri, change.text);
                }
            }
            DidCloseTextDocument::METHOD => {
                if let Some(closed) = read::<DidCloseTextDocumentParams>(note.params) {
                    self.documents.remove(closed.text_document.uri.as_str());
                    self.publish(closed.text_document.uri, Vec::new());
                }
            }
            _ => {}
        }
    }

    fn answer(&self, request: Request) {
        let document = |uri: &Json| {
            let uri = read::<Uri>(uri.clone())?;
            Some((self.documents.get(uri.as_str())?, uri))
        };
        let at = &request.params;
        let place = || read::<TextDocumentPositionParams>(at.clone()).map(|place| place.position);
        let found = document(&at["textDocument"]["uri"]);
        let result = match (request.method.as_str(), found) {
            (HoverRequest::METHOD, Some((document, _))) => {
                json_of(place().and_then(|place| document.hover(place)))
            }
            (GotoDefinition::METHOD, Some((document, uri))) => {
                json_of(place().and_then(|place| document.definition(&uri, place)))
            }
            (Formatting::METHOD, Some((document, _))) => json_of(document.formatted()),
            (Completion::METHOD, Some((document, _))) => json_of(document.completions()),
            (
                HoverRequest::METHOD
                | GotoDefinition::METHOD
                | Formatting::METHOD
                | Completion::METHOD,
                None,
            ) => Json::Null,
            (method, _) => {
                let message = format!("{method} is not answered");
                let refused =
                    Response::new_err(request.id, ErrorCode::MethodNotFound as i32, message);
                let _ = self.connection.sender.send(Message::Response(refused));
                return;
            }
        };
        let response = Response::new_ok(request.id, result);
        let _ = self.connection.sender.send(Message::Response(response));
    }
}

fn read<T: serde::de::DeserializeOwned>(params: Json) -> Option<T> {
    serde_json::from_value(params).ok()
}

fn json_of(value: impl serde::Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

/// The path of a `file:` address; of any other its text, which is the path of no file.
fn path_of(uri: &Uri) -> PathBuf {
    let text = uri.as_str();
    let Some(path) = text.strip_prefix("file://") else {
        return PathBuf::from(text);
    };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| first == b'%');
        let escaped = escaped.and_then(|two| std::str::from_utf8(two).ok());
        match escaped.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

fn range_of(text: &str, span: Span) -> Range {
    let place = |byte: u32| position_of(text, byte as usize);
    Range::new(place(span.start), place(span.end))
}

/// A byte as a line and a number of UTF-16 units, as the protocol counts.
fn position_of(text: &str, byte: usize) -> Position {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default();
    Position::new(line as u32, column.encode_utf16().count() as u32)
}

/// The byte of a position; past the end of a line, the line's end.
fn offset_of(text: &str, position: Position) -> usize {
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines
        .by_ref()
        .take(position.line as usize)
        .map(str::len)
        .sum();
    let line = lines
        .next()
        .unwrap_or_default()
        .trim_end_matches(['\n', '\r']);
    let mut units = position.character as usize;
    let mut bytes = 0;
    for character in line.chars() {
        if units < character.len_utf16() {
            break;
        }
        units -= character.len_utf16();
        bytes += character.len_utf8();
    }
    before + bytes
}
