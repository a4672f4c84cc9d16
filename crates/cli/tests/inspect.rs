//! What `tacit inspect` makes of functions and circuits.

mod process;

use process::tacit;
use tacit::Circuit;
use tacit::formats::{BitOrder, BristolFormat, Import, read_bristol_file, write_bristol};

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
    tacit(folder.path(), &["inspect", "two.txt", "--out", "x.txt"]).failed(2, &["--optimise"]);
    tacit(folder.path(), &["inspect", "--list", "--optimise"]).failed(2, &["--optimise"]);
}
