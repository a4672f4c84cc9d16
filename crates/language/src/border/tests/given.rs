//! Values in the memory of other languages are read like their JSON.

use std::cell::Cell;
use std::io::Read;

use serde_json::{Value as Json, json};
use tacit_circuit::{HostValue, NumberFormat, Numbers};

use super::super::Signature;
use super::{read, with_input};

/// Checks that both forms of a value give the same value or the same error.
fn assert_alike(signature: &Signature, given: HostValue<'_>, json: &Json) {
    let input = &signature.inputs()[0];
    let value = signature.read_given(input, given);
    let value = value.map(|value| (signature.json(&value), value.filled_up()));
    let other = read(signature, json).map(|value| (signature.json(&value), value.filled_up()));
    assert_eq!(value.map_err(|error| error.to_string()), other, "{json}");
}

#[test]
fn numbers_in_memory_are_read_as_their_json_is() {
    let numbers: Vec<u8> = [1_i16, -2, 3, 0, 2047, -2048]
        .map(i16::to_le_bytes)
        .concat();
    let (flat, pairs) = (
        json!([1, -2, 3, 0, 2047, -2048]),
        json!([[1, -2], [3, 0], [2047, -2048]]),
    );
    for (ty, rest) in [
        ("[i12; 6]", "of alice"),
        ("[i12; 7]", "of alice sorted"),
        ("[i12; ..9]", "of alice"),
        ("[fixed<12, 3>; 6]", "of alice"),
        ("[u12; 6]", "of alice"),
        ("[i11; 6]", "of alice"),
        ("[bool; 6]", "of alice"),
        ("[text<4>; 6]", "of alice"),
        ("[i12; 5]", "of alice"),
        ("[[i12; 2]; 3]", "of alice"),
        ("[(i12, i100); 3]", "of alice"),
        ("[[i12; ..3]; ..4]", "of alice"),
        ("[[i12; 3]; 2]", "of alice"),
        ("[[u12; 2]; 3]", "of alice"),
        ("[Person; 3]", "of alice"),
        ("i12", "of alice"),
    ] {
        let signature = with_input(ty, rest);
        for (shape, json) in [(&[6][..], &flat), (&[3, 2], &pairs)] {
            let format = NumberFormat::Signed(2);
            let given = Numbers::new(format, shape, &numbers).expect("six numbers");
            assert_alike(&signature, HostValue::Numbers(given), json);
        }
    }
    let floats: Vec<u8> = [0.125_f64, -0.375].map(f64::to_le_bytes).concat();
    let floats = Numbers::new(NumberFormat::Float, &[2], &floats).expect("two numbers");
    let bools = Numbers::new(NumberFormat::Bool, &[2], &[0, 1]).expect("two bools");
    for ty in ["[bool; 2]", "[fixed<1, 2>; 2]", "[u8; 2]"] {
        let signature = with_input(ty, "of alice");
        assert_alike(
            &signature,
            HostValue::Numbers(floats),
            &json!([0.125, -0.375]),
        );
        assert_alike(&signature, HostValue::Numbers(bools), &json!([false, true]));
    }
}

#[test]
fn columns_are_read_as_their_rows_are() {
    let names = json!(["Ada", "Bob", "Eve"]);
    let colours = json!(["Red", "Green", "Blue"]);
    let person =
        |name: &str, age: u16, colour: &str| json!({ "name": name, "age": age, "colour": colour });
    for age in [12_u16, 256] {
        let bytes = [36, 7, age].map(u16::to_le_bytes).concat();
        let ages = Numbers::new(NumberFormat::Unsigned(2), &[3], &bytes).expect("three numbers");
        let columns = [
            ("age".to_owned(), HostValue::Numbers(ages)),
            ("colour".to_owned(), HostValue::Json(&colours)),
            ("note".to_owned(), HostValue::Json(&names)),
            ("name".to_owned(), HostValue::Json(&names)),
        ];
        let rows = [
            person("Ada", 36, "Red"),
            person("Bob", 7, "Green"),
            person("Eve", age, "Blue"),
        ];
        for ty in ["[Person; 3]", "[Person; ..9]", "[Person; 2]"] {
            let signature = with_input(ty, "of alice");
            assert_alike(&signature, HostValue::Columns(&columns), &json!(rows));
        }
        assert_alike(
            &with_input("[Person; 5]", "of alice sorted by age"),
            HostValue::Columns(&columns),
            &json!(rows),
        );
    }
    let columns = [("name".to_owned(), HostValue::Json(&names))];
    let error = with_input("[Person; 3]", "of alice");
    let error = error.read_given(&error.inputs()[0], HostValue::Columns(&columns));
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("x[0] is of type Person") && error.ends_with("no \"age\""),
        "{error}"
    );
}

/// One of two values would be lost.
#[test]
fn a_name_that_comes_twice_is_refused() {
    let signature = with_input("Person", "of alice");
    let read = |text: &str| {
        let value = signature.read_text(&signature.inputs()[0], text);
        value.map(drop).map_err(|error| error.to_string())
    };
    let person = r#"{"name": "Ada", "age": 1, "colour": "Red"}"#;
    assert_eq!(read(person), Ok(()));
    let error = read(&person.replace("\"colour", "\"age\": 2, \"colour")).unwrap_err();
    assert!(error.contains("a name twice in line 1"), "{error}");
}

/// A file without a line of names would lose its first row.
#[test]
fn a_first_line_of_bytes_is_no_name() {
    let signature = with_input("[bytes<2>; ..3]", "of alice");
    let read = |text: &str| {
        let value = signature.read_csv(&signature.inputs()[0], "x.csv", text.as_bytes(), None);
        value.map_err(|error| error.to_string())
    };
    assert!(read("id\n0102\nffff\n").is_ok());
    let error = read("0102\nffff\n").unwrap_err();
    assert!(error.contains("names of the columns in line 1"), "{error}");
    assert!(error.contains("ask for it as in table.csv:NAME"), "{error}");
    assert!(!signature.has_rows_of_texts(signature.inputs()[0].ty));
    for texts in [
        "[text<8>; ..5]",
        "[(text<4>, text<4>); ..3]",
        "[[text<4>; 2]; ..3]",
    ] {
        let texts = with_input(texts, "of alice");
        assert!(texts.has_rows_of_texts(texts.inputs()[0].ty));
    }
}

/// A table is read row by row: one that never ends is refused at its first row too many, and a file
/// is never held whole.
#[test]
fn a_table_is_read_no_further_than_its_rows_go() {
    /// Endless rows that count the bytes that were read.
    struct Endless<'c>(&'c Cell<usize>);
    impl Read for Endless<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            for (place, byte) in into.iter_mut().enumerate() {
                *byte = b"7\n"[(self.0.get() + place) % 2];
            }
            self.0.set(self.0.get() + into.len());
            Ok(into.len())
        }
    }
    for ty in ["[u8; ..1000]", "[u8; 1000]"] {
        let signature = with_input(ty, "of alice");
        let read = Cell::new(0);
        let rows = b"id\r\n".chain(Endless(&read).take(1 << 20));
        let error = signature.read_csv(&signature.inputs()[0], "x.csv", rows, None);
        let error = error.unwrap_err().to_string();
        let said = "expected at most 1000 rows, found more of them, from line 1002 on";
        assert!(error.contains(said), "{error}");
        assert!(read.get() < 1 << 18, "{}", read.get());
    }
    let signature = with_input("[u8; ..1000]", "of alice");
    let gone = signature.read_csv(&signature.inputs()[0], "x.csv", Gone, None);
    let error = gone.unwrap_err().to_string();
    assert!(
        error.contains("x.csv") && error.contains("unplugged"),
        "{error}"
    );
}

/// A file that cannot be read.
struct Gone;

impl Read for Gone {
    fn read(&mut self, _into: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("unplugged"))
    }
}
