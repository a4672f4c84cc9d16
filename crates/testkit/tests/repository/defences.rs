//! `mutants/`: each table removes a defence, and `scripts/remove-defences` shows that a test then
//! fails. Here the script compares the tables with the sources, without a build: each must still
//! apply, say what it gives an attacker, and name a test that exists.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Makes the script check the tables of a folder. Returns its findings.
fn check(folder: &Path) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(root.join("scripts/remove-defences"));
    command.args(["--check", "--tables"]).arg(folder);
    let ended = command.current_dir(root).output().expect("the script");
    if ended.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&ended.stderr).into_owned())
}

#[test]
fn each_table_applies_and_names_its_attack_and_a_test_that_exists() {
    let checked = check(Path::new("mutants"));
    checked.unwrap_or_else(|said| panic!("{said}"));
}

#[test]
fn a_table_that_does_not_fit_is_found() {
    // A table about this module itself, then with one error at a time.
    let fits = r#"
        attack = "Tables rot."
        test = "-p tacit-testkit --test repository defences::a_table_that_does_not_fit_is_found"
        file = "crates/testkit/tests/repository/main.rs"
        find = 'mod defences;'
        put = 'mod sizes;'
    "#;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("one.toml");
    fs::write(&file, format!("[fits]\n{fits}")).expect("written");
    assert_eq!(check(folder.path()), Ok(()));
    for (before, after, said) in [
        ("attack =", "atack =", "its keys are"),
        ("put =", "also = [{ find = 'a' }]\nput =", "its keys are"),
        ("::a_table_that", "::a_table", "there is no such test"),
        ("defences::", "layers::", "there is no such test"),
        (
            "repository def",
            "repository -- --exact def",
            "not of the form",
        ),
        ("/main.rs", "/mane.rs", "there is no crates"),
        ("mod defences", "mod fences", "stands 0 times"),
        ("mod defences;", "mod ", "stands 7 times"),
    ] {
        assert!(fits.contains(before), "{before}");
        let table = fits.replace(before, after);
        fs::write(&file, format!("[wrong]\n{table}")).expect("written");
        let told = check(folder.path()).expect_err(after);
        assert!(told.contains("wrong: ") && told.contains(said), "{told}");
    }
}
