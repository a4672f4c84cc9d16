//! The owner's client names the equal rows of an input that is `strictly sorted`.

use serde_json::{Value as Json, json};
use tacit_circuit::{HostValue, NumberFormat, Numbers};

use super::super::Signature;
use super::{csv, read, with_input};
use crate::lower::NoCircuitFiles;

fn person(name: &str, age: u8) -> Json {
    json!({ "name": name, "age": age, "colour": "Red" })
}

fn told(signature: &Signature, json: &Json) -> String {
    read(signature, json).expect_err("an error")
}

#[test]
fn rows_that_are_alike_are_named_by_their_places() {
    let numbers = with_input("[i8; 6]", "of alice strictly sorted");
    assert_eq!(
        read(&numbers, &json!([5, -7, 2])).map(|value| numbers.json(&value)),
        Ok(json!([-7, 0, 0, 0, 2, 5]))
    );
    let expected = "x is of type [i8; 6]: expected each value once, found the same in [0], [3]; \
                    the same in [1], [2], [4]; make one row of these before";
    let twice = json!([5, 2, 2, 5, 2, 1]);
    assert_eq!(told(&numbers, &twice), expected);
    let input = &numbers.inputs()[0];
    let text = numbers.read_text(input, &twice.to_string()).map(drop);
    assert_eq!(text.expect_err("an error").to_string(), expected);
    let bytes = [5, 2, 2, 5, 2, 1];
    let array = Numbers::new(NumberFormat::Signed(1), &[6], &bytes).expect("an array");
    let given = numbers
        .read_given(input, HostValue::Numbers(array))
        .map(drop);
    assert_eq!(given.expect_err("an error").to_string(), expected);
    let people = with_input("[Person; ..6]", "of alice strictly sorted by age");
    let found = told(
        &people,
        &json!([person("A", 3), person("B", 0), person("C", 3)]),
    );
    assert!(
        found.contains("each value once in \"age\", found the same in [0], [2]"),
        "{found}"
    );
    // Without a field, elements are compared in all parts.
    let people = with_input("[Person; ..6]", "of alice strictly sorted");
    assert!(read(&people, &json!([person("A", 3), person("B", 3)])).is_ok());
    assert!(read(&people, &json!([person("A", 3), person("A", 3)])).is_err());
}

#[test]
fn rows_of_a_file_that_are_alike_are_named_by_their_lines() {
    let people = with_input("[Person; 9]", "of alice strictly sorted by age");
    let rows = "name,age,colour\nA,5,Red\n\"B\nB\",6,Red\nC,5,Red\nD,6,Red\nE,7,Red\n";
    assert_eq!(
        csv(&people, rows, None).expect_err("an error"),
        "x in people.csv is of type [Person; 9]: expected each value once in \"age\", found the \
         same in lines 2, 5; the same in lines 3, 6; make one row of these before"
    );
    let ages = with_input("[u8; 99]", "of alice strictly sorted");
    let rows: String = (0..60).map(|row| format!("{}\n", 1 + row % 6)).collect();
    let found = csv(&ages, &format!("age\n{rows}"), Some("age")).expect_err("an error");
    assert!(
        found.contains("the same in lines 2, 8, 14, 20, 26 and 5 more; "),
        "{found}"
    );
    assert!(
        found.contains("; and 1 more values that stand several times; "),
        "{found}"
    );
}

#[test]
fn a_row_that_counts_as_none_is_refused() {
    let numbers = with_input("[u8; 4]", "of alice strictly sorted");
    assert_eq!(
        told(&numbers, &json!([5, 0, 2])),
        "x is of type [u8; 4]: expected values other than 0, which stands for no row, found 0 \
         in [1]; leave it out, or number from 1"
    );
    let found = csv(&numbers, "age\n7\n0\n", None).expect_err("an error");
    assert!(found.contains("found 0 in line 3; "), "{found}");
    // A missing row of a table is not filled up.
    let table = with_input("[u8; ..4]", "of alice strictly sorted");
    assert!(read(&table, &json!([5, 0, 2])).is_ok());
    // `sorted` without `strictly` makes no such promise.
    let sorted = with_input("[u8; 4]", "of alice sorted");
    assert!(read(&sorted, &json!([5, 0, 5])).is_ok());
}

#[test]
fn strictly_is_part_of_the_meaning() {
    let of = |rest| {
        let signature = with_input("[u8; 4]", rest);
        (
            signature.meaning(&NoCircuitFiles).expect("a digest"),
            signature,
        )
    };
    let (strict, signature) = of("of alice strictly sorted");
    assert_ne!(strict, of("of alice sorted").0);
    let input = &signature.inputs()[0];
    assert_eq!(
        signature.input_text(input),
        "x: [u8; 4] of alice strictly sorted"
    );
    assert_eq!(signature.to_json()["inputs"][0]["strictly"], true);
}

#[test]
fn bools_are_read_as_tables_of_other_programs_write_them() {
    let bools = with_input("[bool; 7]", "of alice");
    let rows = "known\nTrue\nFalse\nTRUE\nFALSE\ntrue\n1\n0\n";
    let expected = json!([true, false, true, false, true, true, false]);
    assert_eq!(csv(&bools, rows, None), Ok(expected));
    let one = with_input("[bool; 1]", "of alice");
    let found = csv(&one, "known\nyes\n", None).expect_err("an error");
    assert!(found.contains("expected true or false"), "{found}");
}
