//! Tells the crate the commit that it is built from, for its records.

use std::process::Command;

/// The paths of the measured code. A change of it rebuilds this crate in any case.
const MEASURED: [&str; 12] = [
    "src",
    "../kernels/src",
    "../circuit/src",
    "../components/src",
    "../function/src",
    "../language/src",
    "../garble/src",
    "../ot/src",
    "../protocol/src",
    "../net/src",
    "../tacit/src",
    "../../circuits",
];

fn main() {
    // Without git or outside a clone the commit is unknown, and the records say so.
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    let changed = git(&[&["status", "--porcelain", "--"], &MEASURED[..]].concat());
    let commit = match (commit, changed) {
        (Some(commit), Some(changed)) if changed.is_empty() => commit,
        (Some(commit), _) => format!("{commit}+changes"),
        (None, _) => "unknown".to_owned(),
    };
    println!("cargo:rustc-env=TACIT_COMMIT={commit}");
    println!("cargo:rerun-if-changed=build.rs");
    for folder in MEASURED {
        println!("cargo:rerun-if-changed={folder}");
    }
    // Every commit, checkout and rebase adds a line there.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
}

/// Returns the output of git, if it succeeds.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
