//! `tacit lsp`, tested in the role of an editor.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value as Json, json};

const URI: &str = "file:///tmp/a%20folder/gap.tacit";

const GAP: &str = "parties alice, bob;

main(a: u32 of alice, b: u32 of bob) -> (differ: bool to both) {
    let gap = max(a, b) - min(a, b);
    gap > 100
}
";

/// An editor that waits for each answer.
struct Editor {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
}

impl Editor {
    fn new() -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_tacit"))
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server");
        let input = server.stdin.take().expect("its input");
        let output = BufReader::new(server.stdout.take().expect("its output"));
        let mut editor = Self {
            server,
            input,
            output,
            number: 0,
        };
        let answer = editor.ask("initialize", json!({ "capabilities": {} }));
        assert_eq!(answer["capabilities"]["hoverProvider"], true, "{answer}");
        editor.tell("initialized", json!({}));
        editor
    }

    fn send(&mut self, message: &Json) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("a message");
        self.input.flush().expect("a message");
    }

    fn next(&mut self) -> Json {
        let mut length = 0;
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("a line");
            assert!(read > 0, "the server ended");
            match line.trim_end() {
                "" => break,
                line => {
                    if let Some(number) = line.strip_prefix("Content-Length: ") {
                        length = number.parse().expect("a length");
                    }
                }
            }
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).expect("a message");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    fn tell(&mut self, method: &str, params: Json) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn answer(&mut self, method: &str, params: Json) -> Json {
        self.number += 1;
        let id = self.number;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Returns the result of a request.
    fn ask(&mut self, method: &str, params: Json) -> Json {
        let answer = self.answer(method, params);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Changes a document's text, and returns its diagnostics.
    fn change(&mut self, version: u32, text: &str) -> Json {
        self.give(URI, version, text);
        self.told(URI)
    }

    /// Sends the present text of a document.
    fn give(&mut self, uri: &str, version: u32, text: &str) {
        let document = json!({ "uri": uri, "version": version });
        match version {
            1 => {
                let mut document = document;
                document["languageId"] = "tacit".into();
                document["text"] = text.into();
                self.tell("textDocument/didOpen", json!({ "textDocument": document }));
            }
            _ => {
                let changes = json!([{ "text": text }]);
                let params = json!({ "textDocument": document, "contentChanges": changes });
                self.tell("textDocument/didChange", params);
            }
        }
    }

    /// Returns the diagnostics of a document from the next message.
    fn told(&mut self, uri: &str) -> Json {
        let told = self.next();
        assert_eq!(told["method"], "textDocument/publishDiagnostics", "{told}");
        assert_eq!(told["params"]["uri"], uri, "{told}");
        told["params"]["diagnostics"].clone()
    }

    fn ask_at(&mut self, method: &str, line: u32, character: u32) -> Json {
        let position = json!({ "line": line, "character": character });
        let params = json!({ "textDocument": { "uri": URI }, "position": position });
        self.ask(method, params)
    }

    fn end(mut self) {
        assert!(self.ask("shutdown", Json::Null).is_null());
        self.tell("exit", Json::Null);
        assert!(self.server.wait().expect("an end").success());
    }
}

#[test]
fn an_editor_is_told_of_errors_types_costs_and_names() {
    let mut editor = Editor::new();
    assert_eq!(editor.change(1, GAP), json!([]));
    let errors = editor.change(2, &GAP.replace("min(a, b)", "min(a, true)"));
    assert_eq!(errors[0]["range"]["start"]["line"], 3, "{errors}");
    assert_eq!(errors[0]["severity"], 1);
    assert_eq!(editor.change(3, GAP), json!([]));

    let hover = editor.ask_at("textDocument/hover", 3, 15);
    let text = hover["contents"]["value"].as_str().expect("a text");
    assert!(text.contains("u32"), "{text}");
    assert!(
        text.contains("main: this line costs 159 AND gates"),
        "{text}"
    );

    let place = editor.ask_at("textDocument/definition", 4, 4);
    let start = &place["range"]["start"];
    assert_eq!(*start, json!({ "line": 3, "character": 8 }), "{place}");
    assert!(editor.ask_at("textDocument/definition", 1, 0).is_null());

    let names = editor.ask_at("textDocument/completion", 4, 0);
    let names = names.as_array().expect("names");
    assert!(names.iter().any(|name| name["label"] == "wide_mul"));
    editor.end();
}

#[test]
fn a_document_is_formatted_and_closed() {
    let mut editor = Editor::new();
    // An é before the place: positions count UTF-16 units.
    let text = format!("// \u{e9}\u{1f600}\n{}", GAP.replace("    ", ""));
    assert_eq!(editor.change(1, &text), json!([]));
    let params = json!({ "textDocument": { "uri": URI }, "options": {} });
    let edits = editor.ask("textDocument/formatting", params.clone());
    let expected = format!("// \u{e9}\u{1f600}\n{GAP}");
    assert_eq!(edits[0]["newText"], expected.as_str(), "{edits}");
    assert_eq!(
        edits[0]["range"]["start"],
        json!({ "line": 0, "character": 0 })
    );
    assert_eq!(editor.change(2, &expected), json!([]));
    let edits = editor.ask("textDocument/formatting", params);
    assert_eq!(edits, json!([]));
    let document = json!({ "textDocument": { "uri": URI } });
    editor.tell("textDocument/didClose", document);
    assert_eq!(editor.next()["params"]["diagnostics"], json!([]));
    assert!(editor.ask_at("textDocument/hover", 3, 15).is_null());
    editor.end();
}

const LEDGER: &str = "struct Entry { amount: u24 }
fn total<const N>(entries: [Entry; N]) -> u32 {
    let mut sum: u32 = 0;
    for e in entries { sum += e.amount as u32; }
    sum
}
";

const ACCOUNTS: &str = "parties alice, bob;
use ledger::{Entry, total};
main(a: [Entry; 3] of alice, b: [Entry; 2] of bob) -> (sum: u32 to both) {
    let own = total(a);
    own + total(b)
}
";

/// A program of two files: the editor has one of them as it is on disk, and changes the other.
#[test]
fn a_program_of_two_files() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("accounts.tacit"), ACCOUNTS).expect("a file");
    std::fs::write(folder.path().join("ledger.tacit"), "").expect("a file");
    let uri = |name: &str| format!("file://{}/{name}", folder.path().display());
    let (accounts, ledger) = (uri("accounts.tacit"), uri("ledger.tacit"));
    let mut editor = Editor::new();
    editor.give(&accounts, 1, ACCOUNTS);
    assert_ne!(editor.told(&accounts), json!([]));
    // The open text counts, not the file on disk, and both files get diagnostics.
    editor.give(&ledger, 1, LEDGER);
    assert_eq!(editor.told(&accounts), json!([]));
    assert_eq!(editor.told(&ledger), json!([]));
    editor.give(&ledger, 2, &LEDGER.replace("e.amount as u32", "e.amount"));
    let errors = editor.told(&ledger);
    assert_eq!(errors[0]["range"]["start"]["line"], 3, "{errors}");
    editor.give(&ledger, 3, LEDGER);
    assert_eq!(editor.told(&ledger), json!([]));

    let at = |line: u32, character: u32| json!({ "line": line, "character": character });
    let asked = |place: &Json| json!({ "textDocument": { "uri": accounts }, "position": place });
    let place = editor.ask("textDocument/definition", asked(&at(3, 15)));
    assert_eq!(place["uri"], ledger.as_str(), "{place}");
    assert_eq!(place["range"]["start"], at(1, 3));
    let places = editor.ask("textDocument/references", asked(&at(3, 15)));
    assert_eq!(places.as_array().map(Vec::len), Some(4), "{places}");

    editor.end();
}
