//! What people read when a function file is not right: one text, whole, for each mistake.

use std::collections::BTreeMap;

use tacit_circuit::{FunctionFamily, library};

const GOOD: &str = r#"{
"tacit_function": 1, "name": "sum",
"parameters": [{"name": "n", "minimum": 1, "maximum": 9}],
"components": [{"name": "add", "library": "adder", "parameters": {"bits": 8}}],
"inputs": [{"name": "x", "type": "u8[n]", "owner": "garbler"}],
"values": [{"name": "p", "type": "u8[n+1]"}],
"steps": ["p[0] = 0", {"for": "i in 0..n", "do": ["p[i+1] = add(p[i], x[i])"]}],
"outputs": [{"name": "sum", "type": "u8", "to": "both", "value": "p[n]"}]
}"#;

/// The error that is left when `from` in the good file is `to`, with n = 2.
fn broken(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let json = GOOD.replacen(from, to, 1);
    let family = FunctionFamily::from_json(&json);
    let function =
        family.and_then(|family| family.instantiate(&BTreeMap::from([("n".to_owned(), 2)])));
    match function {
        Err(error) => error.to_string(),
        Ok(_) => "no error".to_owned(),
    }
}

/// What is replaced, by what, and the message. `S` stands for the words about the
/// schema, `LIST` for the library's components.
const FILES: &[(&str, &str, &str)] = &include!("../messages/files.in");

#[test]
fn function_files() {
    FunctionFamily::from_json(GOOD).unwrap();
    let mut wrong = String::new();
    for (from, to, expected) in FILES {
        let schema = "the function file does not follow the schema, ";
        let names: Vec<&str> = library::list().iter().map(|entry| entry.name).collect();
        let found = broken(from, to)
            .replace(&names.join(", "), "LIST")
            .replace(schema, "S ")
            .replace("; `tacit inspect --schema` prints it", " S");
        if found != *expected {
            wrong += &format!("    (r#\"{from}\"#, r#\"{to}\"#, r#\"{found}\"#),\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
