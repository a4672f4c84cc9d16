//! Each error, and what it names.

use super::{component, instance, parameters};
use crate::function::shipped;
use crate::{Function, FunctionBuilder, FunctionError, FunctionFamily, Recipient, Role};

/// A function with `x` and `y` of four `u8`, a value `v` of five, the component `add`, and these
/// steps; its output is `v[4]`.
pub(super) fn with_steps(steps: &[&str]) -> Result<Function, FunctionError> {
    let mut builder = declarations();
    for step in steps {
        builder.step(step);
    }
    builder.output("r", "u8", Recipient::Both, "v[4]");
    instance(&mut builder, [])
}

fn declarations() -> FunctionBuilder {
    let mut builder = FunctionBuilder::new("f");
    builder
        .parameter("n", 1..=8, Some(4))
        .component("add", component("adder", &[("bits", 8)]))
        .input("x", "u8[n]", Role::Garbler)
        .input("y", "u8[n]", Role::Evaluator)
        .value("v", "u8[n+1]");
    builder
}

/// The steps of a loop over `i in 0..n`, after `v[0] = 0`.
fn with_loop(steps: &[&str]) -> Result<Function, FunctionError> {
    let mut builder = declarations();
    builder.step("v[0] = 0");
    builder.repeat("i in 0..n", |each| {
        for step in steps {
            each.step(step);
        }
    });
    builder.output("r", "u8", Recipient::Both, "v[4]");
    instance(&mut builder, [])
}

#[test]
fn an_index_out_of_range_names_call_port_and_counters() {
    let result = with_loop(&["v[i+1] = add(v[i], x[i+1])"]);
    assert_error!(
        result,
        FunctionError::Index { .. },
        "call 3, v[i+1]=add(v[i],x[i+1]) with i = 3",
        "port b (u8), x[i+1]",
        "picks 4",
        "before 4"
    );
    assert_error!(
        with_steps(&["v[0] = x[0-1]"]),
        FunctionError::Index { .. },
        "picks -1"
    );
    // In range as a whole and out of it in one dimension.
    let mut builder = FunctionBuilder::new("f");
    builder
        .input("x", "u8[2][3]", Role::Garbler)
        .output("r", "u8", Recipient::Both, "x[0][2]");
    assert_error!(
        instance(&mut builder, []),
        FunctionError::Index { .. },
        "output r",
        "x[0][2]"
    );
    assert_error!(
        with_steps(&["v[1..6] = x ++ 0:u8"]),
        FunctionError::Index { .. },
        "v[1..6]"
    );
    assert_error!(
        with_steps(&["v[3..2] = x"]),
        FunctionError::Index { .. },
        "3..2"
    );
    assert_error!(
        with_steps(&["v[0..9] = x"]),
        FunctionError::Index { .. },
        "0..9"
    );
}

#[test]
fn an_element_is_assigned_once() {
    let result = with_loop(&["v[i+1] = add(v[i], x[i])", "v[i] = y[i]"]);
    assert_error!(
        result,
        FunctionError::TwoDrivers { .. },
        "v[i]=y[i] with i = 0",
        "bits 0 to 7"
    );
    let result = with_steps(&["x[0] = 1"]);
    assert_error!(result, FunctionError::TwoDrivers { .. }, "x[0]=1");
    // Parts of an element that overlap.
    let result = with_steps(&["v[0][0..5] = 0", "v[0][4..8] = 0"]);
    assert_error!(
        result,
        FunctionError::TwoDrivers { .. },
        "v[0][4..8]=0",
        "bits 4 to 4"
    );
}

#[test]
fn a_cycle_and_a_hole_are_told_apart() {
    let result = with_loop(&["v[i+1] = add(v[n], x[i])"]);
    assert_error!(
        result,
        FunctionError::ReadAhead { .. },
        "call 0, v[i+1]=add(v[n],x[i]) with i = 0",
        "with i = 3",
        "no cycles"
    );
    let result = with_steps(&["v[4] = add(v[4], x[0])"]);
    assert_error!(
        result,
        FunctionError::ReadAhead { .. },
        "v[4]=add(v[4],x[0])"
    );
    let result = with_steps(&["v[4] = add(v[2], x[0])"]);
    assert_error!(
        result,
        FunctionError::NeverAssigned { .. },
        "bits 16 to 23",
        "call 0"
    );
    assert_error!(
        with_steps(&[]),
        FunctionError::NeverAssigned { .. },
        "output r"
    );
}

#[test]
fn widths_must_match() {
    let result = with_steps(&["v[0] = add(x[0], y[0][1..8])"]);
    assert_error!(
        result,
        FunctionError::Width {
            expected: 8,
            found: 7,
            ..
        },
        "v[0]=add(x[0],y[0][1..8])",
        "port b (u8)"
    );
    let result = with_steps(&["v[0..2] = add(x[0], y[0])"]);
    assert_error!(
        result,
        FunctionError::Width { .. },
        "port sum (u8)",
        "v[0..2] (u8[2])"
    );
    let result = with_steps(&["v[0] = x[0..2]"]);
    assert_error!(
        result,
        FunctionError::Width {
            expected: 8,
            found: 16,
            ..
        },
        "v[0]"
    );
    let mut builder = declarations();
    builder.output("r", "u9", Recipient::Both, "x[0]");
    assert_error!(
        instance(&mut builder, []),
        FunctionError::Width { .. },
        "output r",
        "r (u9)"
    );
}

#[test]
fn calls_take_what_their_component_has() {
    assert_error!(
        with_steps(&["v[0] = add(x[0])"]),
        FunctionError::Arguments {
            expected: 2,
            found: 1,
            ..
        },
        "a u8, b u8"
    );
    assert_error!(
        with_steps(&["v[0], v[1] = add(x[0], y[0])"]),
        FunctionError::Results {
            expected: 1,
            found: 2,
            ..
        },
        "sum u8"
    );
    assert_error!(
        with_steps(&["v[0], v[1] = x[0]"]),
        FunctionError::Results { .. },
        "v[1]=x[0]"
    );
    assert_error!(
        with_steps(&["_ = x[0]"]),
        FunctionError::Results { .. },
        "_=x[0]"
    );
    assert_error!(
        with_steps(&["v[0] = sub(x[0], y[0])"]),
        FunctionError::UnknownComponent { .. },
        "sub",
        "add"
    );
}

#[test]
fn names_are_known_unique_and_well_formed() {
    assert_error!(
        with_steps(&["v[0] = z"]),
        FunctionError::UnknownName { .. },
        "\"z\""
    );
    assert_error!(
        with_steps(&["z[0] = x[0]"]),
        FunctionError::UnknownName { .. },
        "\"z\""
    );
    assert_error!(
        with_steps(&["v[m] = x[0]"]),
        FunctionError::UnknownName { .. },
        "\"m\""
    );
    let mut builder = declarations();
    builder.value("x", "u8");
    assert_error!(
        instance(&mut builder, []),
        FunctionError::DuplicateName { .. },
        "value \"x\""
    );
    let mut builder = declarations();
    builder
        .repeat("n in 0..2", |_| ())
        .output("r", "u8", Recipient::Both, "x[0]");
    assert_error!(
        instance(&mut builder, []),
        FunctionError::DuplicateName { .. },
        "for n in"
    );
    let mut builder = declarations();
    builder.value("1st", "u8");
    assert_error!(
        instance(&mut builder, []),
        FunctionError::Name { .. },
        "1st"
    );
    let mut builder = declarations();
    builder.component("max", component("adder", &[]));
    assert_error!(
        instance(&mut builder, []),
        FunctionError::Name { .. },
        "max"
    );
    let mut builder = declarations();
    assert_error!(
        instance(&mut builder, []),
        FunctionError::NoOutput { .. },
        "no output"
    );
}

#[test]
fn parameters_are_given_within_their_bounds() {
    let family = |default| {
        let mut builder = FunctionBuilder::new("f");
        builder
            .parameter("n", 2..=8, default)
            .input("x", "u8[n]", Role::Garbler);
        builder.output("r", "u8", Recipient::Both, "x[0]");
        builder.finish()
    };
    let given = |name, value| family(None)?.instantiate(&parameters([(name, value)]));
    assert_error!(
        given("n", 9),
        FunctionError::ParameterRange { .. },
        "n is 9",
        "from 2 to 8"
    );
    assert_error!(
        given("m", 3),
        FunctionError::UnknownParameter { .. },
        "\"m\"",
        "it takes: n"
    );
    let nothing = family(None).unwrap().instantiate(&parameters([]));
    assert_error!(
        nothing,
        FunctionError::MissingParameter { .. },
        "needs the parameter n"
    );
    assert_error!(
        family(Some(1)),
        FunctionError::ParameterBounds { .. },
        "parameter n"
    );
    let unfit = family(Some(8)).unwrap().instantiate(&parameters([]));
    assert_eq!(unfit.unwrap().parameters(), [("n".to_owned(), 8)]);
}

#[test]
fn expressions_have_values_and_stay_affine() {
    let result = with_loop(&["v[i*i] = x[i]"]);
    assert_error!(result, FunctionError::NotAffine { .. }, "i*i");
    let result = with_loop(&["v[i/2] = x[i]"]);
    assert_error!(result, FunctionError::NotAffine { .. }, "i/2");
    let result = with_loop(&["v[1..i+1] = x[0..i]"]);
    assert_error!(result, FunctionError::NotAffine { .. }, "1..i+1");
    assert_error!(
        with_steps(&["v[1/0] = x[0]"]),
        FunctionError::Overflow { .. },
        "1/0"
    );
    let large = "v[9223372036854775807*2] = x[0]";
    assert_error!(
        with_steps(&[large]),
        FunctionError::Overflow { .. },
        "9223372036854775807*2"
    );
    let large = "v[18446744073709551615] = x[0]";
    assert_error!(
        with_steps(&[large]),
        FunctionError::Overflow { .. },
        "18446744073709551615"
    );
}

#[test]
fn constants_fit_their_place() {
    assert_error!(
        with_steps(&["v[0] = 256"]),
        FunctionError::Constant { .. },
        "256",
        "v[0]=256"
    );
    assert_error!(
        with_steps(&["v[0] = -1"]),
        FunctionError::Constant { .. },
        "-1"
    );
    let untyped = with_steps(&["v[0..2] = x[0] ++ 1"]);
    assert_error!(untyped, FunctionError::Constant { .. }, "say its type");
    assert_error!(
        with_steps(&["v[0..2] = 3"]),
        FunctionError::Constant { .. },
        "list"
    );
    let result = with_loop(&["v[i+1] = 100*i"]);
    assert_error!(
        result,
        FunctionError::Constant { .. },
        "300",
        "with i = 3",
        "8 bits"
    );
    let result = with_loop(&["v[i+1] = 2-i"]);
    assert_error!(result, FunctionError::Constant { .. }, "-1", "with i = 3");
    let mut builder = FunctionBuilder::new("f");
    builder.output("r", "bytes[2]", Recipient::Both, "1");
    assert_error!(
        instance(&mut builder, []),
        FunctionError::Constant { .. },
        "0x"
    );
}

#[test]
fn dimensions_and_types_are_checked() {
    assert_error!(
        with_steps(&["v[0][0][0] = 1"]),
        FunctionError::Dimensions { .. },
        "v[0][0][0]"
    );
    assert_error!(
        with_steps(&["v[0] = n[0]"]),
        FunctionError::Dimensions { .. },
        "n[0]"
    );
    let mut builder = declarations();
    builder
        .value("w", "u(n-4)")
        .output("r", "u8", Recipient::Both, "x[0]");
    assert_error!(
        instance(&mut builder, []),
        FunctionError::Type { .. },
        "value w",
        "u0"
    );
    let mut builder = declarations();
    builder
        .value("w", "word")
        .output("r", "u8", Recipient::Both, "x[0]");
    assert_error!(
        instance(&mut builder, []),
        FunctionError::Type { .. },
        "value w",
        "word"
    );
}

#[test]
fn texts_that_do_not_parse_are_shown_with_the_column() {
    assert_error!(
        with_steps(&["v[0] = add(x[0] y[0])"]),
        FunctionError::Syntax { column: 17, .. },
        "expected \",\"",
        "found \"y\""
    );
    for text in [
        "",
        "v",
        "v[",
        "v[0] =",
        "v[0] = x[0] x",
        "v = f(",
        "v[0] = 0x",
        "é = 1",
        "v = [1",
    ] {
        assert_error!(
            with_steps(&[text]),
            FunctionError::Syntax { .. },
            "expected"
        );
    }
    let long = format!("v[0] = {}1", "1+".repeat(3000));
    assert_error!(
        with_steps(&[&long]),
        FunctionError::Syntax { .. },
        "4096 bytes"
    );
    let deep = format!("v[{}1{}] = x[0]", "(".repeat(100), ")".repeat(100));
    assert_error!(
        with_steps(&[&deep]),
        FunctionError::Syntax { .. },
        "64 parentheses"
    );
}

#[test]
fn components_come_from_the_library_with_its_parameters() {
    let with = |library: &str, parameter: &str, size: &str| {
        let mut builder = FunctionBuilder::new("f");
        builder
            .library("c", library, &[(parameter, size)])
            .input("x", "u8", Role::Garbler);
        builder.output("r", "u8", Recipient::Both, "x");
        instance(&mut builder, [])
    };
    assert_error!(
        with("no-such", "bits", "8"),
        FunctionError::Library { .. },
        "c:",
        "no-such"
    );
    assert_error!(
        with("adder", "width", "8"),
        FunctionError::Library { .. },
        "width"
    );
    assert_error!(
        with("adder", "bits", "5000"),
        FunctionError::Library { .. },
        "5000"
    );
    assert_error!(
        with("adder", "bits", "-1"),
        FunctionError::NegativeParameter { .. },
        "-1"
    );
    assert_error!(
        with("adder", "bits", "k"),
        FunctionError::UnknownName { .. },
        "\"k\""
    );
}

/// A function file around these components.
fn file(components: &str) -> String {
    format!(
        r#"{{ "tacit_function": 1, "name": "f", "components": [{components}],
            "inputs": [{{ "name": "x", "type": "bits[1]", "owner": "garbler" }},
                       {{ "name": "y", "type": "bits[1]", "owner": "evaluator" }}],
            "values": [{{ "name": "z", "type": "bits[1]" }}],
            "steps": ["z = and(x, y)"],
            "outputs": [{{ "name": "z", "type": "bits[1]", "to": "both", "value": "z" }}] }}"#
    )
}

#[test]
fn circuit_files_stand_beside_the_function_file() {
    let folder = tempfile::tempdir().unwrap();
    let read = |json: &str| {
        let path = folder.path().join("f.json");
        std::fs::write(&path, json).unwrap();
        FunctionFamily::read(&path)?.instantiate(&parameters([]))
    };
    std::fs::write(
        folder.path().join("and.txt"),
        "1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n",
    )
    .unwrap();
    let good = r#"{ "name": "and", "file": "and.txt", "bit_order": "as-given" }"#;
    let function = read(&file(good)).unwrap();
    assert_eq!(function.evaluate(&[true, true]), [true]);
    assert_eq!(function.evaluate(&[true, false]), [false]);
    let in_memory = FunctionFamily::from_json(&file(good))
        .unwrap()
        .instantiate(&parameters([]));
    assert_error!(in_memory, FunctionError::Path { .. }, "and.txt");
    for path in [
        "../and.txt",
        "/and.txt",
        "a/../../and.txt",
        "./../and.txt",
        ".",
        "",
    ] {
        let file = file(&good.replace("and.txt", path));
        assert_error!(read(&file), FunctionError::Path { .. }, "component and");
    }
    let absent = file(&good.replace("and.txt", "or.txt"));
    assert_error!(
        read(&absent),
        FunctionError::Circuit { .. },
        "component and",
        "or.txt"
    );
    std::fs::write(
        folder.path().join("and.txt"),
        "1 3\n2 1 1\n1 1\n\n2 1 0 9 2 AND\n",
    )
    .unwrap();
    assert_error!(read(&file(good)), FunctionError::Circuit { .. }, "line 5");
    let nowhere = FunctionFamily::read(&folder.path().join("g.json"));
    assert_error!(nowhere, FunctionError::Io { .. }, "g.json");
    std::fs::write(folder.path().join("large.json"), vec![b' '; (1 << 20) + 1]).unwrap();
    let large = FunctionFamily::read(&folder.path().join("large.json"));
    assert_error!(large, FunctionError::Io { .. }, "1048577", "1048576");
    assert_error!(
        FunctionFamily::read(folder.path()),
        FunctionError::Io { .. },
        "not a regular file"
    );
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    let no_file = file(&good.replace("and.txt", "folder"));
    assert_error!(
        read(&no_file),
        FunctionError::Circuit { .. },
        "component and",
        "not a regular file"
    );
    // A hole takes no room on the disk.
    let huge = std::fs::File::create(folder.path().join("huge.txt")).unwrap();
    huge.set_len((1 << 30) + 1).unwrap();
    let huge = file(&good.replace("and.txt", "huge.txt"));
    assert_error!(
        read(&huge),
        FunctionError::Circuit { .. },
        "component and",
        "1073741825 bytes"
    );
}

#[test]
fn files_follow_the_schema() {
    let both = r#"{ "name": "and", "file": "and.txt", "library": "adder" }"#;
    let neither = r#"{ "name": "and" }"#;
    let order = r#"{ "name": "and", "file": "and.txt", "bit_order": "up" }"#;
    for components in [both, neither, order] {
        let family = FunctionFamily::from_json(&file(components));
        assert_error!(
            family,
            FunctionError::ComponentEntry { .. },
            "component and"
        );
    }
    let json = shipped::json("levenshtein").unwrap();
    FunctionFamily::from_json(json).unwrap();
    let version = json.replace("\"tacit_function\": 1", "\"tacit_function\": 2");
    assert_error!(
        FunctionFamily::from_json(&version),
        FunctionError::Version { .. },
        "2"
    );
    let unknown = json.replace("\"owner\": \"garbler\"", "\"owner\": \"cloud\"");
    assert_error!(
        FunctionFamily::from_json(&unknown),
        FunctionError::File { .. },
        "cloud"
    );
    let cut = &json[..json.len() / 2];
    assert_error!(
        FunctionFamily::from_json(cut),
        FunctionError::File { .. },
        "line"
    );
    let field = json.replace("\"description\"", "\"descriptions\"");
    assert_error!(
        FunctionFamily::from_json(&field),
        FunctionError::File { .. },
        "descriptions"
    );
}

#[test]
fn an_owner_or_recipient_may_be_missing() {
    let circuit = || crate::library::find("adder", &parameters([])).unwrap();
    let owner = |port: &crate::Port| {
        Err(FunctionError::NoOwner {
            port: port.name.clone(),
        })
    };
    let function = Function::of_circuit("f", circuit(), owner, |_| Ok(Recipient::Both));
    assert_error!(function, FunctionError::NoOwner { .. }, "\"a\"");
    let nobody = |port: &crate::Port| {
        Err(FunctionError::NoRecipient {
            port: port.name.clone(),
        })
    };
    let function = Function::of_circuit("f", circuit(), |_| Ok(Role::Garbler), nobody);
    assert_error!(function, FunctionError::NoRecipient { .. }, "\"sum\"");
}
