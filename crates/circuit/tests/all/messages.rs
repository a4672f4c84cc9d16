//! What people read when a function file or an input is not right: one text, whole, for each.

use std::collections::BTreeMap;

use tacit_circuit::{FunctionFamily, Port, library};

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

/// Type, JSON, and what is said of it.
const INPUTS: &[(&str, &str, &str)] = &[
    (
        "u8",
        "256",
        "expected a number from 0 to 255, in decimal or as 0x…, found a number out of range",
    ),
    (
        "u8",
        "-1",
        "expected a number from 0 to 255, in decimal or as 0x…, found a number out of range",
    ),
    (
        "u8",
        "1.5",
        "expected a number from 0 to 255, in decimal or as 0x…, found a number with a decimal \
         point or an exponent",
    ),
    (
        "u8",
        "null",
        "expected a number from 0 to 255, in decimal or as 0x…, found null",
    ),
    (
        "u8",
        "{}",
        "expected a number from 0 to 255, in decimal or as 0x…, found an object",
    ),
    ("u8[2]", "[1]", "expected a list of 2, found a list of 1"),
    ("u8[2]", "7", "expected a list of 2, found a number"),
    (
        "bytes[2]",
        "\"abc\"",
        "expected 4 hex digits, which are 2 bytes in order, found 3 of them",
    ),
    ("bytes[2]", "7", "expected a string, found a number"),
    (
        "bits[3]",
        "\"01\"",
        "expected 3 characters 0 or 1, index 0 first, found 2 characters",
    ),
    (
        "fixed[8,8]",
        "128",
        "expected a decimal number from -128 to less than 128, found a number out of range",
    ),
    (
        "fixed[8,8]",
        "\"x\"",
        "expected a decimal number from -128 to less than 128, found text of 1 character that is \
         no such number",
    ),
];

#[test]
fn inputs() {
    for (ty, json, expected) in INPUTS {
        let port = Port::new("age", ty.parse().unwrap());
        let error = port.value_from_json(&serde_json::from_str(json).unwrap());
        let at = format!("age is of type {ty}: ");
        assert_eq!(error.unwrap_err().to_string(), at + expected);
    }
}
