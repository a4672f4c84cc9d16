//! Scripts document their usage.

use std::path::Path;
use std::process::{Command, Output};

fn script(name: &str, argument: &str) -> Output {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
    let mut command = Command::new(scripts.join(name));
    let ended = command.arg(argument).output();
    ended.unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn help_is_printed_and_nothing_else_done() {
    for name in [
        "chart",
        "crates",
        "fuzz",
        "gpu",
        "mutants",
        "python",
        "release",
        "remove-defences",
        "sanitizers",
        "scale",
        "trust",
    ] {
        let ended = script(name, "--help");
        assert!(ended.status.success(), "{name}: {ended:?}");
        let text = String::from_utf8_lossy(&ended.stdout);
        assert!(text.contains(&format!("scripts/{name}")), "{text}");
    }
}

#[test]
fn what_the_script_for_python_does_not_know_is_refused() {
    let ended = script("python", "figure");
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("scripts/python figures"));
}
