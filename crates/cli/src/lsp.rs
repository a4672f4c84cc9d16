//! `tacit lsp`: the language in editors, by the Language Server Protocol over standard input and
//! output. The server sends errors after each change, and counts costs on request.

mod document;
mod position;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use document::{Document, Texts};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _,
    PublishDiagnostics,
};
use lsp_types::request::{
    Completion, Formatting, GotoDefinition, HoverRequest, References, Request as _,
};
use lsp_types::{
    CompletionOptions, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, HoverProviderCapability, Location, OneOf, PublishDiagnosticsParams,
    ServerCapabilities, TextDocumentPositionParams, TextDocumentSyncCapability,
    TextDocumentSyncKind, Uri,
};
use position::{path_of, uri_of};
use serde_json::Value as Json;
use tacit_language::Span;

use crate::failure::Failure;

/// Runs the server until the editor ends it.
pub(crate) fn serve() -> Result<(), Failure> {
    let broken = |error: String| Failure::input(format!("the editor's messages: {error}"));
    let (connection, threads) = Connection::stdio();
    let capabilities = ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
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
        addresses: HashMap::new(),
        texts: Texts::new(),
        told: BTreeMap::new(),
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

/// The open documents, by their paths.
struct Server<'c> {
    connection: &'c Connection,
    documents: HashMap<PathBuf, Document>,
    /// The editor's addresses of the documents.
    addresses: HashMap<PathBuf, Uri>,
    texts: Texts,
    /// The diagnostics that were last sent for each file.
    told: BTreeMap<PathBuf, Vec<lsp_types::Diagnostic>>,
}

impl Server<'_> {
    /// Takes a document's present text. Sends the errors of the document and of the other open
    /// documents in its folder, which may use it.
    fn open(&mut self, uri: Uri, text: String) {
        let path = path_of(&uri);
        self.addresses.insert(path.clone(), uri);
        self.texts.insert(path.clone(), text);
        self.read_folder_of(&path);
    }

    fn close(&mut self, uri: &Uri) {
        let path = path_of(uri);
        self.texts.remove(&path);
        self.documents.remove(&path);
        self.read_folder_of(&path);
        self.addresses.remove(&path);
    }

    fn read_folder_of(&mut self, changed: &PathBuf) {
        for (path, text) in &self.texts {
            if path.parent() == changed.parent() {
                let document = Document::new(path.clone(), text, &self.texts);
                self.documents.insert(path.clone(), document);
            }
        }
        let mut found: BTreeMap<PathBuf, Vec<lsp_types::Diagnostic>> = BTreeMap::new();
        found.insert(changed.clone(), Vec::new());
        for document in self.documents.values() {
            for (path, errors) in document.diagnostics() {
                let told = found.entry(path).or_default();
                for error in errors {
                    if !told.contains(&error) {
                        told.push(error);
                    }
                }
            }
        }
        for path in self.told.keys() {
            found.entry(path.clone()).or_default();
        }
        for (path, errors) in found {
            if path == *changed || self.told.get(&path) != Some(&errors) {
                self.publish(path, errors);
            }
        }
    }

    fn publish(&mut self, path: PathBuf, errors: Vec<lsp_types::Diagnostic>) {
        let Some(uri) = self.address(&path) else {
            return;
        };
        self.told.insert(path, errors.clone());
        let params = PublishDiagnosticsParams::new(uri, errors, None);
        let told = Notification::new(PublishDiagnostics::METHOD.to_owned(), params);
        // If the editor is gone, the end of its messages shows it.
        let _ = self.connection.sender.send(Message::Notification(told));
    }

    fn address(&self, path: &PathBuf) -> Option<Uri> {
        self.addresses.get(path).cloned().or_else(|| uri_of(path))
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
                    self.close(&closed.text_document.uri);
                }
            }
            _ => {}
        }
    }

    fn answer(&self, request: Request) {
        let response = match self.result(&request.method, &request.params) {
            Ok(result) => Response::new_ok(request.id, result),
            Err((code, message)) => Response::new_err(request.id, code as i32, message),
        };
        let _ = self.connection.sender.send(Message::Response(response));
    }

    fn result(&self, method: &str, params: &Json) -> Result<Json, (ErrorCode, String)> {
        let uri = read::<Uri>(params["textDocument"]["uri"].clone());
        let document = uri.and_then(|uri| self.documents.get(&path_of(&uri)));
        let place = || read::<TextDocumentPositionParams>(params.clone());
        let place = || place().map(|place| place.position);
        let Some(document) = document else {
            return Ok(Json::Null);
        };
        Ok(match method {
            HoverRequest::METHOD => json_of(place().and_then(|place| document.hover(place))),
            GotoDefinition::METHOD => {
                let declared = place().and_then(|place| document.declared(place));
                json_of(declared.and_then(|declared| self.location(document, declared)))
            }
            References::METHOD => {
                let uses = place()
                    .map(|place| document.uses(place))
                    .unwrap_or_default();
                let places = uses
                    .into_iter()
                    .filter_map(|span| self.location(document, span));
                json_of(places.collect::<Vec<_>>())
            }
            Formatting::METHOD => json_of(document.formatted()),
            Completion::METHOD => json_of(document.completions()),
            _ => {
                let message = format!("{method} is not answered");
                return Err((ErrorCode::MethodNotFound, message));
            }
        })
    }

    /// Returns a place of a program as the editor names it. The standard library has no file.
    fn location(&self, document: &Document, span: Span) -> Option<Location> {
        let (path, range) = document.place(span)?;
        Some(Location::new(self.address(&path)?, range))
    }
}

fn read<T: serde::de::DeserializeOwned>(params: Json) -> Option<T> {
    serde_json::from_value(params).ok()
}

fn json_of(value: impl serde::Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}
