//! Tests of what inputs promise beyond their types, and that the owners' machines ensure it.

use tacit_circuit::{Circuit, Port, Promise, Value};
use tacit_components::library;
use tacit_function::{FunctionBuilder, FunctionError, Part, Recipient, Role};

/// Returns a component of the library.
fn component(name: &str, given: &[(&str, u64)]) -> Circuit {
    let given = given.iter().map(|&(name, value)| (name.to_owned(), value));
    library::find(name, &given.collect()).unwrap()
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

/// Builds the distance of what these steps make from `mine`, of type `ty`.
fn distance(ty: &str, steps: impl FnOnce(&mut FunctionBuilder)) -> FunctionBuilder {
    let mut builder = FunctionBuilder::new("distance");
    let (end, tile) = ([("rows", 3), ("columns", 3)], [("side", 3)]);
    builder
        .library("end", "levenshtein-distance", &end)
        .library("tile", "levenshtein-tile", &tile)
        .input("mine", ty, Role::Garbler)
        .input("theirs", "i2[3]", Role::Evaluator)
        .value("copy", "i2[3]")
        .value("below", "i2[3]")
        .value("n", "u2");
    steps(&mut builder);
    builder.output("distance", "u2", Recipient::Both, "n");
    builder
}

/// Adds `n = end(mine)`, with this value in place of `mine`.
fn end(builder: &mut FunctionBuilder, mine: impl Into<Part>) {
    builder.call(["n"], "end", [mine.into()]);
}

fn promises(builder: &mut FunctionBuilder) -> Result<Vec<Option<Promise>>, FunctionError> {
    let function = builder.finish()?;
    Ok(function
        .inputs()
        .iter()
        .map(|input| input.port.promise)
        .collect())
}

const DIFFERENCES: Option<Promise> = Some(Promise::Within {
    least: -1,
    greatest: 1,
});

#[test]
fn inputs_take_over_promises() {
    let function = distance("i2[3]", |f| end(f, "mine")).finish().unwrap();
    let promises = function.inputs().iter().map(|input| input.port.promise);
    assert_eq!(promises.collect::<Vec<_>>(), [DIFFERENCES, None]);
    let error = function.inputs()[0].port.parse_value("[1,0,-2]");
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("mine[2]") && error.contains("-1 to 1"),
        "{error}"
    );
}

#[test]
fn what_cannot_be_promised_is_refused() {
    let mine = || Part::of("mine");
    let mut refused = [
        distance("i2[4]", |f| end(f, mine().range(0, 3))),
        distance("bits[6]", |f| end(f, "mine")),
        distance("i2[3]", |f| {
            f.assign("copy", "mine");
            end(f, "copy");
        }),
        distance("i2[3]", |f| {
            f.assign(Part::of("copy").at(0), mine().at(1));
            f.assign(Part::of("copy").range(1, 3), mine().range(1, 3));
            end(f, "copy");
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
    let mut of_a_tile = distance("u8[3]", |f| {
        f.call(
            ["copy", "below"],
            "tile",
            ["mine", "mine", "theirs", "theirs"],
        );
        end(f, "copy");
    });
    assert_eq!(promises(&mut of_a_tile).unwrap(), [None, DIFFERENCES]);
}
