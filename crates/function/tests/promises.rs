//! Tests of what inputs promise beyond their types, and that the owners' machines ensure it.

use serde_json::json;
use tacit_circuit::{Circuit, Port, Promise, Value};
use tacit_components::library;
use tacit_function::{Function, FunctionBuilder, FunctionError, Part, Recipient, Role};

/// Returns a component of the library.
fn component(name: &str, given: &[(&str, u64)]) -> Circuit {
    let given = given.iter().map(|&(name, value)| (name.to_owned(), value));
    library::find(name, &given.collect()).unwrap()
}

/// Returns a component as a function whose first input is the garbler's.
fn function(name: &str, given: &[(&str, u64)]) -> Function {
    let circuit = component(name, given);
    let first = circuit.inputs()[0].name.clone();
    let owner = |port: &Port| {
        if port.name == first {
            Role::Garbler
        } else {
            Role::Evaluator
        }
    };
    Function::of_circuit(name, circuit, owner, |_| Recipient::Both).unwrap()
}

/// Returns the result of a function with one result as text, on inputs as owners write them.
fn result(function: &Function, inputs: &[&str]) -> Result<String, String> {
    let mut bits = Vec::new();
    for (input, text) in function.inputs().iter().zip(inputs) {
        let value = input
            .port
            .parse_value(text)
            .map_err(|error| error.to_string())?;
        bits.extend_from_slice(&value.to_bits());
    }
    let result = function.evaluate(&bits);
    let value = Value::from_bits(&function.outputs()[0].port.ty, &result);
    Ok(value.unwrap().to_text())
}

#[test]
fn sets_are_sorted_by_their_owners() {
    let function = function("set-intersection-size", &[("elements", 3), ("bits", 8)]);
    assert_eq!(
        result(&function, &["[3,1,2]", "[2,9,3]"]).as_deref(),
        Ok("2")
    );
    assert_eq!(
        result(&function, &["[255,0,128]", "[128,255,0]"]).as_deref(),
        Ok("3")
    );
    let port = &function.inputs()[0].port;
    assert_eq!(port.promise, Some(Promise::Set));
    let sorted = Value::parse(&port.ty, "[1,2,255]").unwrap();
    assert_eq!(port.value_from_json(&json!([255, 2, 1])).unwrap(), sorted);
    let other_type = Value::parse(&"u16[3]".parse().unwrap(), "[255,1,2]").unwrap();
    assert_eq!(port.convert_value(&other_type).unwrap(), sorted);
}

#[test]
fn many_wide_elements_are_counted_right() {
    let function = function("set-intersection-size", &[("elements", 300), ("bits", 64)]);
    // The numbers differ only in the upper half, and each is far from its sorted position.
    let list = |step: u64| {
        let numbers: Vec<_> = (0..300_u64)
            .map(|i| (i * 7919 % 300 * step) << 33)
            .collect();
        json!(numbers.iter().map(u64::to_string).collect::<Vec<_>>()).to_string()
    };
    // Multiples of 2 below 600 and multiples of 3 below 900. Their intersection is the multiples of
    // 6 below 600.
    assert_eq!(
        result(&function, &[&list(2), &list(3)]).as_deref(),
        Ok("100")
    );
}

#[test]
fn a_set_with_a_number_twice_is_refused() {
    let function = function("set-intersection-size", &[("elements", 3), ("bits", 8)]);
    let error = result(&function, &["[1,2,3]", "[2,2,2]"]).unwrap_err();
    assert_eq!(
        error,
        "b is of type u8[3]: expected a set of 3 different numbers, in any order, found a number \
         that is there twice; give each once, and set the size accordingly"
    );
    // Equal numbers that are not adjacent.
    assert!(result(&function, &["[7,2,7]", "[1,2,3]"]).is_err());
}

/// A component, its parameters, a port, a value that is refused, and one that is accepted.
type Row = (
    &'static str,
    &'static [(&'static str, u64)],
    &'static str,
    &'static str,
    &'static str,
);

const BROKEN: &[Row] = &[
    (
        "set-intersection-size",
        &[("elements", 2)],
        "a",
        "[5,5]",
        "[5,4]",
    ),
    (
        "set-intersection-size",
        &[("elements", 2)],
        "b",
        "[0,0]",
        "[1,0]",
    ),
    (
        "levenshtein-tile",
        &[("side", 2)],
        "left",
        "[-2,1]",
        "[-1,1]",
    ),
    (
        "levenshtein-tile",
        &[("side", 2)],
        "above",
        "[1,-2]",
        "[0,0]",
    ),
    (
        "levenshtein-distance",
        &[("rows", 2), ("columns", 2)],
        "right",
        "[0,-2]",
        "[-1,1]",
    ),
    (
        "longest-common-substring-step",
        &[("length", 4)],
        "runs",
        r#"["000","000","011","000"]"#,
        r#"["000","000","110","000"]"#,
    ),
    (
        "longest-common-substring-step",
        &[("length", 4)],
        "longest",
        "100",
        "000",
    ),
    (
        "longest-common-substring-step",
        &[("length", 4)],
        "length",
        "5",
        "4",
    ),
    (
        "naive-bayes",
        &[("classes", 2), ("features", 2), ("values", 3)],
        "sample",
        "[0,3]",
        "[0,2]",
    ),
    (
        "decision-tree",
        &[("depth", 1), ("features", 5)],
        "features",
        "[5]",
        "[4]",
    ),
];

/// A circuit may promise any range, also one without zero.
#[test]
fn the_least_value_keeps_every_range() {
    for (ty, least, greatest) in [
        ("i8", -5, -2),
        ("i80[3]", -5, -2),
        ("i80", i64::MIN, -1),
        ("i8", -1, 1),
        ("u8[2]", 0, 3),
        ("u80", 7, 9),
    ] {
        let mut port = Port::new("x", ty.parse().unwrap());
        port.promise = Some(Promise::Within { least, greatest });
        let value = port.least_value();
        assert_eq!(port.convert_value(&value), Ok(value), "{ty} {least}");
    }
    let mut port = Port::new("x", "u64".parse().unwrap());
    port.promise = Some(Promise::Within {
        least: i64::MIN,
        greatest: 3,
    });
    assert!(port.parse_value("3").is_ok());
    assert!(port.parse_value(&u64::MAX.to_string()).is_err());
}

/// Checks every promise of the catalogue, and that the table above has each.
#[test]
fn each_promise_of_the_library_is_seen_to() {
    for (name, given, port, refused, taken) in BROKEN {
        let circuit = component(name, given);
        let port = circuit.inputs().iter().find(|p| p.name == *port).unwrap();
        assert!(port.promise.is_some(), "{name} {}", port.name);
        assert!(
            Value::parse(&port.ty, refused).is_ok(),
            "{refused} is of the type"
        );
        assert!(
            port.parse_value(refused).is_err(),
            "{name} {} {refused}",
            port.name
        );
        port.parse_value(taken).unwrap();
        let least = port.least_value();
        assert_eq!(
            port.convert_value(&least),
            Ok(least),
            "{name} {}",
            port.name
        );
    }
    for entry in library::list() {
        let small = entry.parameters.iter().map(|parameter| {
            let least = if parameter.name == "bits" { 8 } else { 2 };
            (
                parameter.name.to_owned(),
                parameter.default.unwrap_or(least).max(parameter.minimum),
            )
        });
        if entry.name.starts_with("min-cut") {
            continue;
        }
        let circuit = entry.circuit(&small.collect()).unwrap();
        for port in circuit
            .inputs()
            .iter()
            .filter(|port| port.promise.is_some())
        {
            let row = BROKEN
                .iter()
                .any(|(name, _, p, ..)| *name == entry.name && *p == port.name);
            assert!(row, "{} {} has no row", entry.name, port.name);
        }
    }
}

/// Builds the size of the intersection of `theirs` and of what these steps make from `mine`, of
/// type `ty`.
fn meeting(ty: &str, steps: impl FnOnce(&mut FunctionBuilder)) -> FunctionBuilder {
    let mut builder = FunctionBuilder::new("meeting");
    let sizes = [("elements", 3), ("bits", 8)];
    builder
        .library("meet", "set-intersection-size", &sizes)
        .library("sort", "sort", &[("count", 3), ("bits", 8)])
        .input("mine", ty, Role::Garbler)
        .input("theirs", "u8[3]", Role::Evaluator)
        .value("copy", "u8[3]")
        .value("n", "u2");
    steps(&mut builder);
    builder.output("size", "u2", Recipient::Both, "n");
    builder
}

/// Adds `n = meet(mine, theirs)`, with this value in place of `mine`.
fn meet(builder: &mut FunctionBuilder, mine: impl Into<Part>) {
    builder.call(["n"], "meet", [mine.into(), Part::of("theirs")]);
}

fn builder(reads_more: bool) -> FunctionBuilder {
    let mut builder = meeting("u8[3]", |f| meet(f, "mine"));
    if reads_more {
        builder.output("first", "u8", Recipient::Both, Part::of("mine").at(0));
    }
    builder
}

fn promises(builder: &mut FunctionBuilder) -> Result<Vec<Option<Promise>>, FunctionError> {
    let function = builder.finish()?;
    Ok(function
        .inputs()
        .iter()
        .map(|input| input.port.promise)
        .collect())
}

#[test]
fn inputs_of_function_files_take_over_promises() {
    assert_eq!(
        promises(&mut builder(false)).unwrap(),
        [Some(Promise::Set); 2]
    );
    // Another reader sees the order, which is then the owner's responsibility.
    let both = promises(&mut builder(true)).unwrap();
    assert_eq!(both, [Some(Promise::Ascending), Some(Promise::Set)]);
    let function = builder(true).finish().unwrap();
    let port = &function.inputs()[0].port;
    assert!(port.parse_value("[1,2,3]").is_ok());
    for other in ["[1,3,2]", "[1,2,2]"] {
        let error = port.parse_value(other).unwrap_err().to_string();
        assert!(
            error.contains("sort them, and what belongs to them"),
            "{error}"
        );
    }
}

#[test]
fn what_cannot_be_promised_is_refused() {
    let mine = || Part::of("mine");
    let mut refused = [
        meeting("u8[4]", |f| meet(f, mine().range(0, 3))),
        meeting("bytes[3]", |f| meet(f, "mine")),
        meeting("u8[3]", |f| {
            f.assign("copy", "mine");
            meet(f, "copy");
        }),
        meeting("u8[3]", |f| {
            f.assign(Part::of("copy").at(0), mine().at(1));
            f.assign(Part::of("copy").range(1, 3), mine().range(1, 3));
            meet(f, "copy");
        }),
    ];
    for (row, refused) in refused.iter_mut().enumerate() {
        let error = promises(refused).unwrap_err();
        assert!(
            matches!(error, FunctionError::Promise { .. }),
            "row {row}: {error}"
        );
    }
}

#[test]
fn what_steps_compute_is_the_function_s_own_matter() {
    let mut sorted = meeting("u8[3]", |f| {
        f.call(["copy"], "sort", ["mine"]);
        meet(f, "copy");
    });
    assert_eq!(promises(&mut sorted).unwrap(), [None, Some(Promise::Set)]);
}
