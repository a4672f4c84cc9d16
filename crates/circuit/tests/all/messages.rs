//! The messages for invalid inputs: one complete text for each.

use tacit_circuit::Port;

/// Type, JSON, and the message.
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
         not such a number",
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
