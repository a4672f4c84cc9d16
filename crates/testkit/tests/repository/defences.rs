//! `mutants/`: each patch removes a defence, and `scripts/remove-defences` shows that a test then
//! fails. Here the patches are held to the sources, without building anything: each still applies,
//! says what it gives an attacker, and names a test that exists.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Each patch's name and text.
fn patches() -> Vec<(String, String)> {
    let files = fs::read_dir(root().join("mutants")).expect("the folder of patches");
    let files = files.map(|file| file.expect("a file").path());
    let files = files.filter(|file| file.extension().is_some_and(|is| is == "patch"));
    let mut patches: Vec<_> = files
        .map(|file| {
            let name = file.file_stem().expect("a name").to_string_lossy();
            (
                name.into_owned(),
                fs::read_to_string(&file).expect("a patch"),
            )
        })
        .collect();
    patches.sort();
    patches
}

/// The value of a line `# key: value` before the patch itself.
fn header<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let mut lines = text.lines().take_while(|line| line.starts_with('#'));
    lines.find_map(|line| line.strip_prefix(&format!("# {key}: ")))
}

/// The test that a command of this one form runs.
#[derive(Debug, PartialEq)]
struct NamedTest<'t> {
    package: &'t str,
    /// The program of an integration test; none for a unit test.
    program: Option<&'t str>,
    path: &'t str,
}

fn parse(command: &str) -> Option<NamedTest<'_>> {
    let words: Vec<&str> = command.split(' ').collect();
    let (package, program, path) = match words[..] {
        [
            "cargo",
            "test",
            "--locked",
            "-p",
            package,
            "--lib",
            "--",
            "--exact",
            path,
        ] => (package, None, path),
        [
            "cargo",
            "test",
            "--locked",
            "-p",
            package,
            "--test",
            program,
            "--",
            "--exact",
            path,
        ] => (package, Some(program), path),
        _ => return None,
    };
    Some(NamedTest {
        package,
        program,
        path,
    })
}

/// The Rust files under a folder, with their texts.
fn sources(folder: &Path, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        match path.is_dir() {
            true => sources(&path, found),
            false => found.extend(fs::read_to_string(&path)),
        }
    }
}

/// Whether the sources have a function of the test's name. The modules of a unit test are left to
/// the script, which runs it.
fn exists(test: &NamedTest<'_>) -> bool {
    // The library is published under a name of its own.
    let folder = match test.package {
        "tacit-mpc" => "tacit",
        package => package.strip_prefix("tacit-").unwrap_or(package),
    };
    let folder = root().join("crates").join(folder);
    let mut texts = Vec::new();
    match test.program {
        None => sources(&folder.join("src"), &mut texts),
        Some(program) => {
            let module = test.path.split("::").next().unwrap_or_default();
            let tests = folder.join("tests");
            let files = [format!("{program}.rs"), format!("{program}/{module}.rs")];
            let files = files.map(|file| fs::read_to_string(tests.join(file)));
            texts.extend(files.into_iter().flatten());
            sources(&tests.join(program).join(module), &mut texts);
        }
    }
    let name = test.path.rsplit("::").next().unwrap_or_default();
    texts
        .iter()
        .any(|text| text.contains(&format!("fn {name}(")))
}

#[test]
fn each_patch_names_its_attack_and_a_test_that_exists() {
    for (name, text) in patches() {
        assert!(header(&text, "attack").is_some(), "{name}: no attack");
        let command = header(&text, "test").unwrap_or_else(|| panic!("{name}: no test"));
        let test = parse(command).unwrap_or_else(|| panic!("{name}: not of the form: {command}"));
        assert!(exists(&test), "{name}: no such test: {command}");
    }
}

#[test]
fn each_patch_applies() {
    for (name, _) in patches() {
        let checked = Command::new("git")
            .args(["apply", "--check"])
            .arg(format!("mutants/{name}.patch"))
            .current_dir(root())
            .output()
            .expect("git");
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{name}: {said}");
    }
}

#[test]
fn a_command_is_read() {
    let unit = "cargo test --locked -p tacit-ot --lib -- --exact a::b";
    let expected = NamedTest {
        package: "tacit-ot",
        program: None,
        path: "a::b",
    };
    assert_eq!(parse(unit), Some(expected));
    assert!(parse("cargo test --locked -p tacit-ot -- --exact a; true").is_none());
    for (path, is_there) in [
        ("defences::a_command_is_read", true),
        ("layers::a_command_is_read", false),
        ("defences::no_such", false),
    ] {
        let command = "cargo test --locked -p tacit-testkit --test repository -- --exact";
        let command = format!("{command} {path}");
        let test = parse(&command).expect("of the form");
        assert_eq!(exists(&test), is_there, "{path}");
    }
}
