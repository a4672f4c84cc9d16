//! What functions compute.

use sha2::{Digest as _, Sha256};

use super::{component, instance, parameters, run, shipped_with};
use crate::{Function, FunctionBuilder, Recipient, Role, Type, Value, library};

fn symbols(text: &str) -> String {
    let numbers: Vec<String> = text.bytes().map(|byte| byte.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

/// Levenshtein's distance as the textbook has it.
fn levenshtein(x: &[u8], y: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=y.len()).collect();
    for (i, a) in x.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in y.iter().enumerate() {
            let least = (diagonal + usize::from(a != b))
                .min(row[j] + 1)
                .min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], least);
        }
    }
    row[y.len()]
}

#[test]
fn levenshtein_is_the_textbooks() {
    for (x, y) in [
        ("kitten", "sitting"),
        ("saturday", "sunday"),
        ("a", "b"),
        ("a", "abcdefgh"),
    ] {
        let function = shipped_with(
            "levenshtein",
            [("n", x.len() as u64), ("m", y.len() as u64)],
        );
        let expected = levenshtein(x.as_bytes(), y.as_bytes()).to_string();
        assert_eq!(
            run(&function, &[&symbols(x), &symbols(y)]),
            [expected],
            "{x} {y}"
        );
        assert_eq!(function.call_count() as usize, x.len() * y.len());
    }
    assert_eq!(levenshtein(b"kitten", b"sitting"), 3);
}

#[test]
fn levenshtein_by_tiles_is_the_same() {
    let (x, y) = ("theslowbrownfoxwalks", "thequickbrownfoxjumpsoverit...");
    let function = shipped_with(
        "levenshtein-tiles",
        [("rows", 4), ("columns", 6), ("side", 5)],
    );
    let expected = levenshtein(x.as_bytes(), y.as_bytes()).to_string();
    assert_eq!(run(&function, &[&symbols(x), &symbols(y)]), [expected]);
    assert_eq!(function.call_count(), 25);
}

#[test]
fn aes_by_rounds_gives_fips_197_and_aes_128() {
    let (key, block) = (
        "000102030405060708090a0b0c0d0e0f",
        "00112233445566778899aabbccddeeff",
    );
    let function = shipped_with("aes-128-rounds", []);
    assert_eq!(
        run(&function, &[key, block]),
        ["69c4e0d86a7b0430d8cdb78070b4c55a"]
    );
    assert_eq!(function.and_gates(), 6400);
    let whole = library::find("aes-128", &Default::default()).unwrap();
    for seed in 0..20_u8 {
        let bits: Vec<bool> = (0..256)
            .map(|i| (i * 7 + 3) % (usize::from(seed) + 2) == 1)
            .collect();
        assert_eq!(function.evaluate(&bits), whole.evaluate(&bits), "{seed}");
    }
}

#[test]
fn cbc_gives_sp_800_38a() {
    // NIST SP 800-38A, F.2.1.
    for (name, calls) in [("aes-128-cbc-rounds", 23), ("aes-128-cbc-blocks", 2)] {
        let function = shipped_with(name, [("blocks", 2)]);
        let outputs = run(
            &function,
            &[
                "2b7e151628aed2a6abf7158809cf4f3c",
                "000102030405060708090a0b0c0d0e0f",
                r#"["6bc1bee22e409f96e93d7e117393172a","ae2d8a571e03ac9c9eb76fac45af8e51"]"#,
            ],
        );
        let expected = r#"["7649abac8119b246cee98e9b12e9197d","5086cb9b507219ee95db113a917678b2"]"#;
        assert_eq!(outputs[0].replace(' ', ""), expected, "{name}");
        assert_eq!(function.call_count(), calls, "{name}");
    }
}

#[test]
fn a_chain_of_sha_256_keeps_two_states_at_most() {
    let function = shipped_with("sha-256-chain", [("n", 25)]);
    let mut state: [u8; 32] = core::array::from_fn(|i| i as u8);
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let inputs = [hex(&state[..16]), hex(&state[16..])];
    for _ in 0..25 {
        state = Sha256::digest(state).into();
    }
    assert_eq!(run(&function, &[&inputs[0], &inputs[1]]), [hex(&state)]);
    assert!(function.live_bits() <= 512, "{}", function.live_bits());
    assert_eq!(
        shipped_with("sha-256-chain", [("n", 2000)]).live_bits(),
        function.live_bits()
    );
}

#[test]
fn a_table_keeps_little_more_than_its_front() {
    let function = shipped_with("levenshtein", [("n", 40), ("m", 40)]);
    // Two strings of 320 bits, the first row and column, and a row in between.
    assert!(
        function.live_bits() < 640 + 3 * 41 * 6 + 64,
        "{}",
        function.live_bits()
    );
}

#[test]
fn constants_slices_and_concatenations_go_where_they_say() {
    let mut builder = FunctionBuilder::new("pieces");
    builder
        .parameter("k", 0..=100, Some(5))
        .input("x", "u8", Role::Garbler)
        .input("name", "bytes[3]", Role::Evaluator)
        .value("swapped", "u8")
        .value("list", "u16[3]")
        .value("counted", "i8[4]")
        .step("swapped = x[4..8] ++ x[0..4]")
        .step("list = [k, 0xabcd, 2*k+1]")
        .repeat("i in 0..4", |each| {
            each.step("counted[i] = 2*i-3");
        })
        .output("swapped", "u8", Recipient::Both, "swapped")
        .output("list", "u16[3]", Recipient::Garbler, "list")
        .output("counted", "i8[4]", Recipient::Both, "counted")
        .output(
            "text",
            "bytes[4]",
            Recipient::Both,
            "name[1..3] ++ 0x7f:u8 ++ name[0]",
        )
        .output("bit", "bit", Recipient::Evaluator, "name[2][7]")
        .output("bits", "bits[6]", Recipient::Both, "0");
    let function = instance(&mut builder, []).unwrap();
    let outputs = run(&function, &["0x3c", "0102ff"]);
    let shown: Vec<String> = outputs.iter().map(|text| text.replace(' ', "")).collect();
    let list = "[5,43981,11]";
    assert_eq!(
        shown,
        ["195", list, "[-3,-1,1,3]", "02ff7f01", "1", "000000"]
    );
    assert_eq!(function.call_count(), 0);
    assert_eq!(function.output_bits(Role::Garbler), 8 + 48 + 32 + 32 + 6);
    assert_eq!(function.output_bits(Role::Evaluator), 8 + 32 + 32 + 1 + 6);
}

#[test]
fn results_can_be_dropped_and_elements_left_unread() {
    let mut builder = FunctionBuilder::new("dropped");
    builder
        .library("divide", "divider", &[("bits", "8")])
        .input("a", "u8[3]", Role::Garbler)
        .input("b", "u8", Role::Evaluator)
        .value("rest", "u8[3]")
        .repeat("i in 0..3", |each| {
            each.step("_, rest[i] = divide(a[i], b)");
        })
        .output("last", "u8", Recipient::Both, "rest[2]");
    let function = instance(&mut builder, []).unwrap();
    assert_eq!(run(&function, &["[200, 100, 50]", "7"]), ["1"]);
}

#[test]
fn loops_may_have_no_turn_and_counters_may_run_backwards() {
    let mut builder = FunctionBuilder::new("reverse");
    builder
        .parameter("n", 1..=10, None)
        .input("x", "u4[n]", Role::Garbler)
        .value("y", "u4[n]")
        .repeat("i in 0..n", |each| {
            each.step("y[n-1-i] = x[i]");
            each.repeat("j in i..i", |never| {
                never.step("y[j] = 0");
            });
        })
        .output("y", "u4[n]", Recipient::Both, "y");
    let function = instance(&mut builder, [("n", 4)]).unwrap();
    assert_eq!(
        run(&function, &["[1, 2, 3, 4]"])[0].replace(' ', ""),
        "[4,3,2,1]"
    );
}

#[test]
fn saved_values_come_after_inputs_and_outputs() {
    let mut builder = FunctionBuilder::new("account");
    builder
        .component("add", component("adder", &[("bits", 16)]))
        .load("balance", "u16")
        .input("deposit", "u16", Role::Evaluator)
        .value("sum", "u16")
        .step("sum = add(balance, deposit)")
        .save("balance", "u16", "sum")
        .output("paid", "u16", Recipient::Evaluator, "deposit");
    let function = instance(&mut builder, []).unwrap();
    assert!(function.has_saved_values());
    assert_eq!(function.loads()[0].name, "balance");
    assert_eq!(function.saves()[0].ty, Type::unsigned(16));
    assert_eq!(run(&function, &["5", "100"]), ["5", "105"]);
}

#[test]
fn a_plain_circuit_is_a_function_of_one_call() {
    let circuit = library::find("adder", &parameters([("bits", 8)])).unwrap();
    let owner = |_: &_| Ok(Role::Evaluator);
    let function =
        Function::of_circuit("sum", circuit.clone(), owner, |_| Ok(Recipient::Both)).unwrap();
    let inputs = [Value::from(200_u64), Value::from(100_u64)];
    assert_eq!(run(&function, &["200", "100"]), ["44"]);
    assert_eq!(circuit.evaluate_values(&inputs).unwrap()[0].to_text(), "44");
    assert_eq!((function.call_count(), function.and_gates()), (1, 7));
}

#[test]
fn components_are_compiled_once_and_when_that_is_asked_for() {
    let function = shipped_with("sha-256-chain", [("n", 3)]);
    let compiled = |function: &Function| {
        let components = function.components().iter();
        let programs = components.map(|component| component.body.program.get());
        programs
            .flatten()
            .map(std::ptr::from_ref)
            .collect::<Vec<_>>()
    };
    let component = &function.components()[0];
    assert_eq!(component.digest(), component.circuit().digest());
    assert_eq!(
        (function.call_count(), function.component_calls()),
        (3, &[3][..])
    );
    assert!(compiled(&function).is_empty());
    let clone = function.clone();
    clone.compile();
    let programs = compiled(&function);
    assert_eq!(programs.len(), function.components().len());
    let program = component.program();
    assert_eq!(program.digest(), component.digest());
    assert_eq!(function.and_gates(), 3 * program.ands().len() as u64);
    assert_eq!(function.xor_gates(), 3 * program.xors().len() as u64);
    assert_eq!(
        (compiled(&function), compiled(&clone)),
        (programs.clone(), programs)
    );
}
