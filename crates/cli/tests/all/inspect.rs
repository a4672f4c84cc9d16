//! What `tacit inspect` makes of functions and circuits.

use crate::process::{tacit, words};
use tacit::Circuit;
use tacit::circuit::formats::{BitOrder, BristolFormat, Import, read_bristol_file, write_bristol};

/// A folder with the file `two.txt`: a ∧ b and a ∧ ¬b, which take one AND gate.
fn folder_with_two_products() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = "3 5\n2 1 1\n1 2\n\n1 1 1 2 INV\n2 1 0 1 3 AND\n2 1 0 2 4 AND\n";
    std::fs::write(folder.path().join("two.txt"), text).unwrap();
    folder
}

fn read(folder: &tempfile::TempDir, name: &str) -> Circuit {
    read_bristol_file(&folder.path().join(name), &Import::default()).unwrap()
}

#[test]
fn an_optimised_circuit_is_smaller_equal_and_another_file() {
    let folder = folder_with_two_products();
    let args = ["inspect", "--optimise", "two.txt", "--out", "one.txt"];
    let told = tacit(folder.path(), &args);
    for word in [
        "given",
        "linear",
        "-50.0% AND",
        "4 inputs: equal",
        "another digest",
    ] {
        assert!(told.succeeded().contains(word), "{word}: {told:?}");
    }
    let (before, after) = (read(&folder, "two.txt"), read(&folder, "one.txt"));
    assert_eq!((before.statistics().and, after.statistics().and), (2, 1));
    assert_eq!(before.compare(&after, 0), Ok(4));
    let json = tacit(
        folder.path(),
        &["inspect", "two.txt", "--optimise", "--json"],
    )
    .json();
    assert_eq!(json["before"]["and"], 2);
    assert_eq!(json["after"]["and"], 1);
    assert_eq!(json["passes"][0]["pass"], "linear");
    assert_eq!(json["circuit_digest"], before.digest().to_string());
    // A file that is there stays, and so does a circuit that cannot become smaller.
    tacit(folder.path(), &args).failed(3, &["one.txt", "exists"]);
    let least = tacit(folder.path(), &["inspect", "one.txt", "--optimise"]);
    assert!(least.succeeded().contains("nothing to gain"), "{least:?}");
}

#[test]
fn the_optimised_file_keeps_its_bit_order() {
    let folder = tempfile::tempdir().unwrap();
    let circuit = tacit::library::function("levenshtein-cell", &[("bits".into(), 7)].into());
    let circuit = circuit.unwrap().components()[0].circuit().clone();
    let path = folder.path().join("cell.txt");
    let file = std::fs::File::create(&path).unwrap();
    write_bristol(&circuit, file, BristolFormat::Fashion, BitOrder::AsGiven).unwrap();
    let order = ["--bit-order", "as-given", "--out", "smaller.txt"];
    tacit(
        folder.path(),
        &[&["inspect", "--optimise", "cell.txt"], &order[..]].concat(),
    )
    .succeeded();
    let import = Import {
        order: BitOrder::AsGiven,
        ..Import::default()
    };
    let smaller = read_bristol_file(&folder.path().join("smaller.txt"), &import).unwrap();
    assert!(smaller.statistics().xor < circuit.statistics().xor);
    assert_eq!(circuit.compare(&smaller, 4), Ok(256));
}

#[test]
fn only_circuits_are_optimised() {
    let folder = folder_with_two_products();
    let of_calls = ["inspect", "levenshtein", "--optimise"];
    tacit(folder.path(), &of_calls).failed(2, &["levenshtein", "cell"]);
    let written = ["inspect", "levenshtein", "--out", "x.txt"];
    tacit(folder.path(), &written).failed(2, &["--out", "cell"]);
    tacit(folder.path(), &["inspect", "--list", "--optimise"]).failed(2, &["--optimise"]);
}

#[test]
fn components_are_written_as_circuit_files() {
    let folder = tempfile::tempdir().unwrap();
    let adder = ["inspect", "adder", "--param", "bits=8"];
    let out = ["--bit-order", "as-given", "--out", "adder.txt"];
    tacit(folder.path(), &[&adder[..], &out[2..]].concat()).failed(2, &["--bit-order"]);
    tacit(folder.path(), &[&adder[..], &out].concat()).succeeded();
    let again = tacit(folder.path(), &[&adder[..], &out].concat());
    again.failed(3, &["adder.txt already exists", "another name"]);
    let import = Import {
        order: BitOrder::AsGiven,
        ..Import::default()
    };
    let read = read_bristol_file(&folder.path().join("adder.txt"), &import).unwrap();
    let adder = tacit::library::function("adder", &[("bits".into(), 8)].into()).unwrap();
    let adder = adder.components()[0].circuit();
    assert_eq!(adder.compare(&read, 0), Ok(1 << 16));
}

#[test]
fn pictures_show_every_call_and_who_owns_what() {
    let folder = folder_with_two_products();
    let draw = |name: &str, more: &[&str]| {
        let file = format!("{name}.svg");
        let ended = tacit(
            folder.path(),
            &[&["inspect", name, "--svg", &file], more].concat(),
        );
        ended.succeeded();
        tacit(folder.path(), &["inspect", name, "--svg", &file]).failed(3, &[&file]);
        std::fs::read_to_string(folder.path().join(file)).unwrap()
    };
    let count = |svg: &str, word: &str| svg.matches(word).count();
    let svg = draw("levenshtein", &["--param", "n=8,m=8"]);
    assert_eq!(count(&svg, ">cell<"), 64);
    // Each cell reads the one before it, the one above, and the one before that.
    assert_eq!(count(&svg, "<path d='M"), 1 + 2 * 8 * 7 + 7 * 7);
    assert_eq!((count(&svg, ">x[3]<"), count(&svg, ">y[3]<")), (8, 8));
    assert_eq!(count(&svg, "→ distance"), 1);
    let svg = draw("aes-128-cbc-rounds", &[]);
    assert_eq!(
        (count(&svg, ">round<"), count(&svg, ">last_round<")),
        (90, 10)
    );
    assert_eq!(count(&svg, ">initialization_vector<"), 1);
    assert_eq!(count(&svg, ">→ ciphertext["), 10);
    // What is too large is shown by its loops.
    let svg = draw("sha-256-chain", &["--param", "n=3000"]);
    assert!(svg.contains("for each ") && svg.len() < 20_000, "{svg}");
    let arguments = ["inspect", "two.txt", "--svg", "two.svg"];
    tacit(folder.path(), &arguments).failed(2, &["--owner"]);
}

#[test]
fn a_graph_as_text_has_the_steps_and_the_calls_of_each_component() {
    let folder = tempfile::tempdir().unwrap();
    let told = tacit(folder.path(), &["inspect", "aes-128-cbc-rounds", "--graph"]);
    for line in [
        "  expand once, 1280 AND",
        "  round 90 times, 512 AND each, 46080 in all",
        "  for k_0 in 0..9",
        "    for k_1 in 0..9",
        " = round(wires[",
        "of the garbler",
        "to both",
    ] {
        assert!(told.succeeded().contains(line), "{line}: {told:?}");
    }
}

#[test]
fn the_text_of_a_function_is_the_one_that_its_digest_takes() {
    let folder = tempfile::tempdir().unwrap();
    let text = "parties alice, bob;\n\
        component fn more(a: u8, b: u8) -> bool { a > b }\n\
        main(a: [u8; 9] of alice, b: [u8; 9] of bob) -> (more: [bool; 9] to alice) {\n\
        [for i in 0..9 { more(a[i], b[i]) }]\n}\n";
    std::fs::write(folder.path().join("more.tacit"), text).unwrap();
    let told = tacit(folder.path(), &["inspect", "more.tacit", "--ir"]);
    let text = told.succeeded();
    for line in [
        "component circuit ",
        "input a u8[9] garbler\n",
        "\nfor ",
        "=#0(",
        "\nend\n",
        "output more bit[9] garbler ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    tacit(folder.path(), &["inspect", "more.tacit", "--ir", "--json"]).failed(2, &["--json"]);
}

#[test]
fn names_are_escaped_in_pictures() {
    let folder = folder_with_two_products();
    let odd = "a<b>&\u{7}.txt";
    let [from, to] = ["two.txt", odd].map(|name| folder.path().join(name));
    std::fs::rename(from, to).unwrap();
    let whose = words("--owner in0=garbler,in1=evaluator --result out0=both");
    let args = [&["inspect", odd, "--svg", "odd.svg"], &whose[..]].concat();
    tacit(folder.path(), &args).succeeded();
    let svg = std::fs::read_to_string(folder.path().join("odd.svg")).unwrap();
    assert!(svg.contains("a&lt;b&gt;&amp;\u{fffd}"), "{svg}");
    assert!(!svg.contains("a<b") && !svg.contains('\u{7}'));
}

#[test]
fn every_scheme_is_shown_with_its_time_on_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let json = tacit(folder.path(), &["inspect", "aes-128", "--json"]).json();
    let schemes = json["schemes"].as_array().unwrap();
    assert_eq!(schemes.len(), tacit::garble::LADDER.len());
    for scheme in schemes {
        for side in ["garbler_seconds", "evaluator_seconds"] {
            assert!(scheme[side].as_f64().unwrap() > 0.0, "{scheme}");
        }
    }
    let told = tacit(folder.path(), &["inspect", "aes-128"]);
    assert!(told.succeeded().contains("time here"), "{told:?}");
}

#[test]
fn the_hash_that_suits_the_function_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (function, expected) in [
        ("aes-128", "half-gates/two-call"),
        ("adder", "half-gates/re-keyed"),
    ] {
        let json = tacit(folder.path(), &["inspect", function, "--json"]).json();
        assert_eq!(json["shape"]["default_scheme"], expected, "{function}");
        let ands = json["compiled"]["and"].as_u64().unwrap();
        let [lone, others] =
            ["lone_ands", "other_ands"].map(|kind| json["shape"][kind].as_u64().unwrap());
        assert_eq!(lone + others, ands, "{function}");
        let told = tacit(folder.path(), &["inspect", function]);
        let line = format!("a run takes {expected} unless told otherwise");
        assert!(told.succeeded().contains(&line), "{told:?}");
    }
}
