//! Keys that are made alike: the interpreter, which is the oracle, does it as the border and the
//! rule of both parties.

use std::num::NonZeroUsize;

use serde_json::json;
use tacit_function::join::{KeyEncoding, KeyNormalization};
use tacit_language::Signature;

use super::*;

/// Addresses in a text of any length, and in one that zeros fill up.
const ADDRESSES: &str = "
parties a, b;
const N = 1;
struct L { id: text }
struct R { name: text<16> }
main(left: [L; ..N] of a, right: [R; ..N] of b,
     pairs: join left by email(id) with right by email(name)) -> (count: u8 to both) {
    let mut count: u8 = 0;
    for p in pairs { count += p.matched as u8; }
    count
}
";

/// Texts, of which all but the last three are the address `ann@x`.
const TEXTS: [&str; 10] = [
    "ann@x",
    " Ann@X\r\n",
    "\u{a0}ANN@x\u{a0}",
    "\u{3000}ann@x\u{3000}",
    "\0ann@x\0",
    "ann@x \0 \0",
    "\r\n\0\u{a0}ann@x\u{3000}\0",
    "ann\0@x",
    "ann @x",
    "ann@x\u{200b}",
];

fn row(text: &str, size: usize) -> Value {
    let zeros = std::iter::repeat(0);
    let bytes = text.bytes().chain(zeros).take(size.max(text.len()));
    let bytes = bytes.map(|byte| number(byte.into()));
    Value::List(vec![Value::List(bytes.collect())])
}

#[test]
fn the_interpreter_makes_addresses_alike_by_the_same_characters() {
    let loaded = Loaded::new("alike.tacit", ADDRESSES, &NoFiles);
    let program = loaded.program(&ParamValues::new()).expect("a program");
    let (id, _) = lower(&program, "main");
    for (place, text) in TEXTS.into_iter().enumerate() {
        let address = KeyNormalization::Email.apply(text);
        assert_eq!(*address == "ann@x", place < 7, "{text:?}");
        for (left, right) in [(text, "ann@x"), ("ann@x", text), (text, text)] {
            let given = vec![
                table(vec![row(left, 0)], 1, &row("", 0)),
                table(vec![row(right, 16)], 1, &row("", 16)),
            ];
            let outcome = program.evaluate(id, given, Vec::new(), Vec::new());
            let count = number((left == right || place < 7).into());
            assert_eq!(outcome.expect("a result").results, count, "{text:?}");
        }
    }
}

/// Two tables have one name in two forms of Unicode.
#[test]
fn composed_and_decomposed_addresses_are_alike() {
    let loaded = Loaded::new("alike.tacit", ADDRESSES, &NoFiles);
    let signature = Signature::new(&loaded, &ParamValues::new(), None).expect("a program");
    let read = |side: usize, field: &str, text: &str| {
        let input = &signature.inputs()[side];
        signature
            .read_json(input, &json!([{ field: text }]))
            .expect("a table")
    };
    for (left, right, count) in [
        ("JOSE\u{301}@x", "jos\u{e9}@x", 1),
        ("jos\u{e9}@x", "Jose\u{301}@x", 1),
        ("jose@x", "jos\u{e9}@x", 0),
    ] {
        let values = BTreeMap::from([
            ("left".to_owned(), read(0, "id", left)),
            ("right".to_owned(), read(1, "name", right)),
        ]);
        let results = signature.evaluate(&values, 0).expect("a result");
        assert_eq!(signature.json(&results[0]), json!(count), "{left:?}");
    }
}

/// No table that is read has the character U+0000.
#[test]
fn the_border_makes_addresses_alike_as_the_interpreter_does() {
    let loaded = Loaded::new("alike.tacit", ADDRESSES, &NoFiles);
    let signature = Signature::new(&loaded, &ParamValues::new(), None).expect("a program");
    for text in TEXTS.into_iter().filter(|text| !text.contains('\0')) {
        let address = KeyNormalization::Email.apply(text);
        let of_side = |side, field: &str| {
            let input = &signature.inputs()[usize::from(side == JoinSide::Right)];
            let value = signature.read_json(input, &json!([{ field: text }]));
            let value = value.expect("a table");
            let rows = signature.joined_rows(side, &value).expect("rows");
            let (keys, _) = rows.encode(NonZeroUsize::MIN).expect("keys").into_parts();
            let key = KeyEncoding::default().text(address.as_bytes());
            assert_eq!((keys.len(), keys.get(0)), (1, key.bytes()), "{text:?}");
            value.clone()
        };
        let values = BTreeMap::from([
            ("left".to_owned(), of_side(JoinSide::Left, "id")),
            ("right".to_owned(), of_side(JoinSide::Right, "name")),
        ]);
        let results = signature.evaluate(&values, 0).expect("a result");
        assert_eq!(signature.json(&results[0]), json!(1), "{text:?}");
    }
}
