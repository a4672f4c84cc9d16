//! The conformance suite over functions of every form: one call and many, results for either party
//! and for both, constants, inputs of only one party.

use tacit::{Function, FunctionBuilder, Operand, Recipient, Role, Value, library};
use tacit_testkit::protocols::conformance;

fn shipped(name: &str, parameters: &[(&str, u64)]) -> Function {
    let parameters = parameters.iter();
    let parameters = parameters.map(|(name, value)| ((*name).to_owned(), *value));
    library::function(name, &parameters.collect()).expect("a function of the library")
}

/// Runs `function` by every protocol. `inputs` and `expected` are text.
fn gives(function: &Function, inputs: &[(&str, &str)], output: &str, expected: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let ports = function.inputs().iter();
    let values = ports.map(|input| {
        let name = input.port.name.as_str();
        let given = inputs.iter().find(|(known, _)| *known == name);
        let text = given.expect("an input").1;
        (name, Value::parse(&input.port.ty, text).expect("a value"))
    });
    let values: Vec<_> = values.collect();
    let results = conformance(function, &values, folder.path());
    assert_eq!(results[output].to_text(), expected, "{}", function.name());
}

/// FIPS 197, appendix C.1.
#[test]
fn one_component() {
    let inputs = [
        ("key", "000102030405060708090a0b0c0d0e0f"),
        ("block", "00112233445566778899aabbccddeeff"),
    ];
    let expected = "69c4e0d86a7b0430d8cdb78070b4c55a";
    gives(&shipped("aes-128", &[]), &inputs, "ciphertext", expected);
}

#[test]
fn many_calls() {
    let kitten = [
        ("x", "[107,105,116,116,101,110]"),
        ("y", "[115,105,116,116,105,110,103]"),
    ];
    let whole = shipped("levenshtein", &[("n", 6), ("m", 7)]);
    gives(&whole, &kitten, "distance", "3");
    let tiles = [("rows", 3), ("columns", 3), ("side", 2)];
    let kitten = [kitten[0], ("y", "[115,105,116,116,105,110]")];
    let tiles = shipped("levenshtein-tiles", &tiles);
    gives(&tiles, &kitten, "distance", "2");
}

/// Returns a sum, and a sum of it with a constant; each result goes to another party.
fn sums(x: Role, y: Role, to: [Recipient; 2]) -> Function {
    let mut builder = FunctionBuilder::new("sums");
    builder
        .library("add", "adder", &[("bits", 16)])
        .input("x", "u16", x)
        .input("y", "u16", y)
        .value("sum", "u16")
        .value("more", "u16")
        .call(["sum"], "add", ["x", "y"])
        .call(
            ["more"],
            "add",
            [Operand::from("sum"), Operand::number(300)],
        )
        .output("sum", "u16", to[0], "sum")
        .output("more", "u16", to[1], "more");
    builder.finish().expect("a function")
}

#[test]
fn each_result_goes_to_whom_it_belongs() {
    use Recipient::{Both, Evaluator, Garbler};
    let (g, e) = (Role::Garbler, Role::Evaluator);
    for (owners, to) in [
        ([g, e], [Garbler, Evaluator]),
        ([e, g], [Both, Garbler]),
        ([g, g], [Evaluator, Evaluator]),
        ([e, e], [Garbler, Both]),
    ] {
        let function = sums(owners[0], owners[1], to);
        let inputs = [("x", "65000"), ("y", "600")];
        gives(&function, &inputs, "more", "364");
    }
}
