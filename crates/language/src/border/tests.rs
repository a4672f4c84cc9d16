mod given;
mod rows;
mod strict;

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{BorderError, CsvTexts, PortValue, Signature, TypedFunction};
use crate::lower::NoCircuitFiles;
use crate::{Loaded, NoFiles, ParamValues};

fn signature(text: &str) -> Signature {
    let loaded = Loaded::new("program.tacit", text, &NoFiles);
    match Signature::new(&loaded, &ParamValues::new(), None) {
        Ok(signature) => signature,
        Err(BorderError::Program(errors)) => {
            panic!("{}", crate::render_all(&errors, loaded.source_map(), false))
        }
        Err(error) => panic!("{error}"),
    }
}

/// Compares messages with a file of expected ones, which `TACIT_WRITE_EXPECTED=1` writes.
fn compare(file: &str, told: &str) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    let path = folder.join(file);
    if std::env::var_os("TACIT_WRITE_EXPECTED").is_some() {
        std::fs::write(&path, told).expect("the file");
    }
    let kept = std::fs::read_to_string(&path).expect("the file");
    assert_eq!(told, kept);
}

/// Returns the signature of a program whose only input `x` has this type and declaration.
fn with_input(ty: &str, rest: &str) -> Signature {
    signature(&format!(
        "parties alice, bob;
         enum Colour {{ Red, Green, Blue }}
         struct Person {{ name: text<8>, age: u8, colour: Colour }}
         struct Home {{ owner: Person, at: [i12; 2] }}
         main(x: {ty} {rest}, y: bool of bob) -> (same: bool to both) {{ y }}"
    ))
}

fn read(signature: &Signature, json: &Json) -> Result<PortValue, String> {
    let input = &signature.inputs()[0];
    let value = signature.read_json(input, json);
    value.map_err(|error| error.to_string())
}

fn csv(signature: &Signature, text: &str, column: Option<&str>) -> Result<Json, String> {
    let input = &signature.inputs()[0];
    let value = signature.read_csv(input, "people.csv", text.as_bytes(), column);
    let value = value.map_err(|error| error.to_string())?;
    Ok(signature.json(&value))
}

#[test]
fn values_of_all_types_are_read_and_written() {
    let ada = json!({ "name": "Ada", "age": 36, "colour": "Green" });
    let known = [
        ("bool", json!(true), "true"),
        ("u20", json!(77), "77"),
        ("i8", json!(-128), "-128"),
        ("u64", json!("18446744073709551615"), "18446744073709551615"),
        ("fixed<6, 12>", json!(-1.5), "-1.5"),
        ("bytes<2>", json!("0aff"), "0aff"),
        ("text<5>", json!("Zoë"), "\"Zoë\""),
        ("Colour", json!("Blue"), "Blue"),
        ("[bool; 2]", json!([true, false]), "[true, false]"),
        ("[u8; ..3]", json!([1, 2]), "[1, 2]"),
        ("(u8, bool)", json!([1, true]), "[1, true]"),
        (
            "Person",
            ada.clone(),
            "{\"name\": \"Ada\", \"age\": 36, \"colour\": \"Green\"}",
        ),
        (
            "[Home; ..2]",
            json!([{ "owner": ada, "at": [-1, 2] }]),
            "[{\"owner\": {\"name\": \"Ada\", \"age\": 36, \"colour\": \"Green\"}, \"at\": [-1, \
             2]}]",
        ),
    ];
    for (ty, json, text) in known {
        let signature = with_input(ty, "of alice");
        let value = read(&signature, &json).unwrap_or_else(|error| panic!("{ty}: {error}"));
        assert_eq!(signature.json(&value), json, "{ty}");
        assert_eq!(signature.text(&value), text, "{ty}");
    }
}

#[test]
fn errors_name_the_path_what_was_found_and_what_was_expected() {
    let person = |age: Json| json!([{ "name": "Ada", "age": 1, "colour": "Red" }, age]);
    let of_colour = |name: &str| person(json!({ "name": "Bo", "age": 3, "colour": name }));
    let cases = [
        (
            "[Person; ..4]",
            person(json!({ "name": "Bo", "age": 300, "colour": "Red" })),
        ),
        (
            "[Person; ..4]",
            person(json!({ "name": "Bo", "age": 3, "color": "Red" })),
        ),
        (
            "[Person; ..4]",
            person(json!({ "name": "Bo", "age": 3, "colour": "Red", "nmae": 1 })),
        ),
        ("[Person; ..4]", of_colour("Pink")),
        ("[Person; ..4]", of_colour("green")),
        ("[Person; ..4]", of_colour("")),
        (
            "[Person; ..4]",
            person(json!({ "name": "Somebody", "age": -3, "colour": "Red" })),
        ),
        (
            "[Person; ..4]",
            person(json!({ "name": "Somebody else", "age": 3, "colour": "Red" })),
        ),
        ("[Person; ..4]", person(json!(["Bo", 3, "Red"]))),
        ("[u8; ..1]", json!([1, 2])),
        ("[u8; 3]", json!([1, 2])),
        ("(u8, bool)", json!([1, 2])),
        ("(u8, bool)", json!([1])),
        ("bool", json!("yes")),
        ("u64", json!(1_u64 << 60)),
        ("bytes<2>", json!("0g00")),
        ("fixed<4, 4>", json!(8)),
        ("text<3>", json!("a\u{0}b")),
        ("Colour", json!(1)),
    ];
    let mut told = String::new();
    for (ty, json) in cases {
        let error = read(&with_input(ty, "of alice"), &json).expect_err(ty);
        told += &format!("{error}\n");
    }
    compare("border.txt", &told);
}

#[test]
fn tables_are_read_by_the_names_of_their_columns() {
    let signature = with_input("[Person; ..4]", "of alice");
    let text = "\u{feff}id, colour ,age,name\r\n1,Red,7,\"Li, Bo\"\r\n2,Blue, 8 ,\r\n";
    let expected = json!([
        { "name": "Li, Bo", "age": 7, "colour": "Red" },
        { "name": "", "age": 8, "colour": "Blue" },
    ]);
    assert_eq!(csv(&signature, text, None), Ok(expected));
    let ages = with_input("[u8; ..4]", "of alice");
    assert_eq!(csv(&ages, text, Some("age")), Ok(json!([7, 8])));
    assert_eq!(csv(&ages, "age\n5\n", None), Ok(json!([5])));
    let points = with_input("[[i12; 2]; 2]", "of alice");
    assert_eq!(
        csv(&points, "x,y\n1,-2\n3,4\n", None),
        Ok(json!([[1, -2], [3, 4]]))
    );
    let homes = with_input("[Home; ..1]", "of alice");
    let text = "owner.name,owner.age,owner.colour,at.0,at.1\nA,1,Red,2,3\n";
    let owner = json!({ "name": "A", "age": 1, "colour": "Red" });
    assert_eq!(
        csv(&homes, text, None),
        Ok(json!([{ "owner": owner, "at": [2, 3] }]))
    );
}

#[test]
fn no_text_is_a_formula_in_a_table() {
    let texts = with_input("[text<4>; ..2]", "of alice");
    let value = read(&texts, &json!(["=1+1", "a=1"])).expect("a value");
    let text = texts.csv(&value, "x", CsvTexts::Marked).expect("a table");
    assert_eq!(text, b"x\n'=1+1\na=1\n");
}

#[test]
fn errors_in_tables_name_line_and_column() {
    let people = |text: &str| csv(&with_input("[Person; ..2]", "of alice"), text, None);
    let ages = |text: &str, column| csv(&with_input("[u8; 2]", "of alice"), text, column);
    let errors = [
        people("name,age,colour\nA,7,Red\nB,300,Red\n"),
        people("name,age,colour\nA,7\n"),
        people("name,Age,colour\nA,7,Red\n"),
        people("name;age;colour\nA;7;Red\n"),
        people("name,age,colour,age\nA,7,Red,8\n"),
        people("name,age,colour\nA,7,Red\nB,7,Red\nC,7,Red\n"),
        people("nam,age,colour\nA,7,Red\n"),
        people("Ann,7,Red\nBen,8,Red\n"),
        people("name,age,colour\nA,7,red\n"),
        people("name,age,colour\nA,7.5,Red\n"),
        people("name,age,colour\n\"A,7,Red\n"),
        people(""),
        ages("5\n6\n", None),
        ages("age\n5\n", None),
        ages("name,age\nA,5\n", None),
        ages("name,age\nA,5\n", Some("ages")),
        csv(&with_input("u8", "of alice"), "age\n5\n", None),
        csv(&with_input("[[u8; ..2]; 1]", "of alice"), "age\n5\n", None),
    ];
    let told: String = errors
        .map(|error| error.expect_err("an error") + "\n")
        .concat();
    compare("tables.txt", &told);
}

#[test]
fn a_client_sorts_and_fills_what_is_declared_sorted() {
    let json_of = |signature: &Signature, json: Json| {
        let value = read(signature, &json).expect("a value");
        (signature.json(&value), value.filled_up())
    };
    let numbers = with_input("[i8; 4]", "of alice sorted");
    assert_eq!(
        json_of(&numbers, json!([5, -7, 2, 2])),
        (json!([-7, 2, 2, 5]), 0)
    );
    assert_eq!(json_of(&numbers, json!([5, 2])), (json!([0, 0, 2, 5]), 2));
    let value = numbers
        .read_text(&numbers.inputs()[0], "[3, 1]")
        .expect("a value");
    assert_eq!(numbers.text(&value), "[0, 0, 1, 3]");
    assert_eq!(csv(&numbers, "n\n9\n8\n", None), Ok(json!([0, 0, 8, 9])));
    let table = with_input("[u8; ..4]", "of alice sorted");
    assert_eq!(json_of(&table, json!([5, 2])), (json!([2, 5]), 0));
    // Sorts by one field. Rows that are equal in it keep their order.
    let people = with_input("[Person; ..4]", "of alice sorted by age");
    let person = |name: &str, age: u8| json!({ "name": name, "age": age, "colour": "Red" });
    let given = json!([
        person("Z", 9),
        person("Y", 3),
        person("A", 9),
        person("B", 3)
    ]);
    let sorted = json!([
        person("Y", 3),
        person("B", 3),
        person("Z", 9),
        person("A", 9)
    ]);
    assert_eq!(json_of(&people, given), (sorted, 0));
    let plain = with_input("[i8; 4]", "of alice");
    let same = json!([5, -7, 2, 2]);
    assert_eq!(json_of(&plain, same.clone()), (same, 0));
    assert!(read(&plain, &json!([5, 2])).is_err());
}

#[test]
fn what_a_dishonest_peer_can_send_is_read_as_the_language_says() {
    let signature = with_input("([Colour; 2], [u8; ..2], text<3>)", "of alice");
    let port = &signature.inputs()[0];
    let mut bits = vec![true; signature.program().types.width(port.ty) as usize];
    // Codes and a length past the last one, and a text that is not UTF-8 and would move a cursor.
    let text = bits.len() - 24;
    for (byte, value) in [0x1b_u8, 0xff, b'A'].into_iter().enumerate() {
        for bit in 0..8 {
            bits[text + 8 * byte + bit] = value >> bit & 1 == 1;
        }
    }
    let value = PortValue::of_bits(port.ty, bits.into());
    let expected = "[[\"Blue\", \"Blue\"], [255, 255], \"\\u001b\u{fffd}A\"]";
    assert_eq!(signature.text(&value), expected);
}

fn typed(text: &str, public: &BTreeMap<String, PortValue>) -> TypedFunction {
    let signature = signature(text);
    TypedFunction::new(signature, "main", public, &NoCircuitFiles).expect("a function")
}

const POLL: &str = "
/// Who won.
parties alice, bob;
enum Answer { No, Yes }
struct Vote { answer: Answer, weight: u8 }
main(a: [Vote; 2] of alice sorted by weight, b: Answer of bob)
    -> (same: bool to both, last: Answer to bob) {
    let it = a[1];
    (it.answer == b, it.answer)
}
";

#[test]
fn the_meaning_covers_names_and_order_and_no_comments_or_local_names() {
    let plain = typed(POLL, &BTreeMap::new());
    let same = [
        POLL.replace("/// Who won.", ""),
        POLL.replace("it", "there"),
        POLL.replace("    let", "let"),
    ];
    for text in same {
        let other = typed(&text, &BTreeMap::new());
        assert_eq!(other.meaning(), plain.meaning(), "{text}");
        assert_eq!(
            other.function().digest(),
            plain.function().digest(),
            "{text}"
        );
    }
    let others = [
        POLL.replace("No, Yes", "Yes, No"),
        POLL.replace("Yes", "Sure"),
        POLL.replace("enum Answer", "enum Reply")
            .replace("Answer", "Reply"),
        POLL.replace("weight: u8", "height: u8")
            .replace("by weight", "by height"),
        POLL.replace(" by weight", ""),
        POLL.replace("sorted by weight", ""),
        POLL.replace("weight: u8", "weight: i8"),
        POLL.replace("same:", "equal:"),
        POLL.replace("alice, bob;", "alice, bob;\nparam LIMIT: 0..=9 = 5;"),
        POLL.replace("alice", "carol"),
    ];
    for text in others {
        let other = typed(&text, &BTreeMap::new());
        assert_ne!(other.meaning(), plain.meaning(), "{text}");
        assert_ne!(
            other.function().digest(),
            plain.function().digest(),
            "{text}"
        );
    }
    // The bits are the same if only the variants change their order.
    let turned = typed(&POLL.replace("No, Yes", "Yes, No"), &BTreeMap::new());
    let bits = |of: &TypedFunction| of.function().digest_of_bits();
    assert_eq!(bits(&turned), bits(&plain));
    assert_eq!(plain.signature().documentation(), "Who won.");
}

#[test]
fn the_meaning_is_frozen() {
    let meaning = typed(POLL, &BTreeMap::new()).meaning().to_string();
    assert_eq!(
        meaning,
        "0d14c19272d17ac80ad2e48d75115b63b8f7b32cfd2fa7e8fe16b689910594bb"
    );
}

const PUBLIC: &str = "
parties alice, bob;
main(limit: u8 public, a: u8 of alice, b: u8 of bob) -> (over: bool to both) { max(a, b) > limit }
";

#[test]
fn public_inputs_are_constants_that_the_digest_covers() {
    let at = |limit: u8| {
        let signature = signature(PUBLIC);
        let value = signature
            .read_json(&signature.inputs()[0], &json!(limit))
            .expect("a limit");
        typed(PUBLIC, &BTreeMap::from([("limit".to_owned(), value)]))
    };
    let (ten, twenty) = (at(10), at(20));
    assert_eq!(ten.meaning(), twenty.meaning());
    assert_ne!(ten.function().digest(), twenty.function().digest());
    let names = ten
        .function()
        .inputs()
        .iter()
        .map(|input| input.port.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["a", "b"]);
    let run = |of: &TypedFunction, a: u8, b: u8| {
        let bits = |n: u8| (0..8).map(move |place| n >> place & 1 == 1);
        of.function()
            .evaluate(&bits(a).chain(bits(b)).collect::<Vec<_>>())
    };
    assert_eq!(run(&ten, 9, 11), [true]);
    assert_eq!(run(&twenty, 9, 11), [false]);
    let missing = TypedFunction::new(signature(PUBLIC), "main", &BTreeMap::new(), &NoCircuitFiles);
    let error = missing.expect_err("no value").to_string();
    let words = "the public input \"limit\" of type u8 has no value; both parties give it the same";
    assert_eq!(error, words);
}

#[test]
fn tests_of_a_program_give_public_inputs_their_values() {
    let tests = "test \"limits\" { assert main(10, 9, 11); assert !main(20, 9, 11); }";
    let loaded = Loaded::new("program.tacit", &format!("{PUBLIC}{tests}"), &NoFiles);
    let reports = loaded.run_tests(&ParamValues::new(), &NoCircuitFiles);
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].errors, []);
}

#[test]
fn each_party_draws_random_bits_of_its_own() {
    let text = "parties alice, bob; use std::random::random;
                main(x: u8 of bob) -> (sum: u8 to both) { x ^ random::<u8>() }";
    let function = typed(text, &BTreeMap::new());
    let signature = function.signature();
    let x = signature
        .read_json(&signature.inputs()[0], &json!(5))
        .expect("a value");
    let values = BTreeMap::from([("x".to_owned(), x)]);
    let of = |party: usize, byte: u8| {
        let inputs = function.inputs(party, &values, &mut |bytes: &mut [u8]| bytes.fill(byte));
        inputs.expect("inputs")
    };
    let (alice, bob) = (of(0, 0b1010_0101), of(1, 0b0000_0111));
    let order = function
        .function()
        .inputs()
        .iter()
        .map(|input| &input.port.name);
    let bits: Vec<bool> = order
        .flat_map(|name| {
            alice
                .get(name)
                .or(bob.get(name))
                .expect("an input")
                .to_bits()
                .to_vec()
        })
        .collect();
    let sum = function.function().evaluate(&bits);
    let sum = sum
        .iter()
        .rev()
        .fold(0, |sum, bit| sum << 1 | u8::from(*bit));
    assert_eq!(sum, 5 ^ 0b1010_0101 ^ 0b0000_0111);
    assert_eq!(alice.len(), 1);
    assert_eq!(bob.len(), 2);
}

#[test]
fn a_run_in_the_clear_takes_both_parties_values() {
    let signature = signature(POLL);
    let vote = |answer: &str, weight: u8| json!({ "answer": answer, "weight": weight });
    let given = [json!([vote("Yes", 9), vote("No", 3)]), json!("Yes")];
    let mut values = BTreeMap::new();
    for (input, json) in signature.inputs().iter().zip(given) {
        values.insert(
            input.name.to_string(),
            signature.read_json(input, &json).expect("a value"),
        );
    }
    let results = signature.evaluate(&values, 0).expect("results");
    let texts: Vec<String> = results.iter().map(|value| signature.text(value)).collect();
    assert_eq!(texts, ["true", "Yes"]);
    values.remove("b");
    let error = signature
        .evaluate(&values, 0)
        .expect_err("no b")
        .to_string();
    assert_eq!(error, "no value is given for b: Answer of bob");
}

/// Generates a type as a program writes it, of limited depth.
fn types() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("bool".to_owned()),
        Just("Colour".to_owned()),
        Just("Person".to_owned()),
        Just("Home".to_owned()),
        (1..=130_u32).prop_map(|w| format!("u{w}")),
        (1..=130_u32).prop_map(|w| format!("i{w}")),
        (1..=40_u32, 0..=40_u32).prop_map(|(i, f)| format!("fixed<{i}, {f}>")),
        (1..=9_u32).prop_map(|n| format!("bytes<{n}>")),
        (1..=9_u32).prop_map(|n| format!("text<{n}>")),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            (inner.clone(), 1..4_u32).prop_map(|(ty, n)| format!("[{ty}; {n}]")),
            (inner.clone(), 1..4_u32).prop_map(|(ty, n)| format!("[{ty}; ..{n}]")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a}, {b})")),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(ty in types(), seed in any::<[u64; 4]>()) {
        let signature = with_input(&ty, "of alice");
        let port = &signature.inputs()[0];
        let width = signature.program().types.width(port.ty) as usize;
        let bits: Vec<bool> = (0..width)
            .map(|n| (seed[n % 4].wrapping_mul(2 * n as u64 + 1) >> (n % 61)) & 1 == 1)
            .collect();
        let wild = PortValue::of_bits(port.ty, bits.into());
        // Random bits are not always a text. Later readings keep all that the first one keeps.
        let json = signature.json(&wild);
        let Ok(value) = signature.read_json(port, &json) else {
            let text = json.to_string();
            prop_assert!(text.contains('\u{fffd}') || text.contains("\\u0000"), "{text}");
            return Ok(());
        };
        prop_assert_eq!(signature.json(&value), json);
        let text = signature.text(&value);
        let is_quoted = text.starts_with('"');
        let again = if is_quoted {
            signature.read_json(port, &serde_json::from_str(&text).unwrap())
        } else {
            signature.read_text(port, &text)
        };
        let again = again.unwrap();
        prop_assert_eq!(again.bits(), value.bits());
        if let Some(text) = signature.csv(&value, "x", CsvTexts::Marked) {
            let again = signature.read_csv(port, "x.csv", &text[..], None).unwrap();
            prop_assert_eq!(again.bits(), value.bits());
        }
    }
}
