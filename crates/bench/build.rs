//! Tells the crate which commit it is built from, for its records.

use std::process::Command;

fn main() {
    // Without git or outside a clone nobody knows, and the records say so.
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
    let commit = match (commit, changed) {
        (Some(commit), Some(changed)) if changed.is_empty() => commit,
        (Some(commit), _) => format!("{commit}+changes"),
        (None, _) => "unknown".to_owned(),
    };
    println!("cargo:rustc-env=TACIT_COMMIT={commit}");
    println!("cargo:rerun-if-changed=build.rs");
    // Every commit, checkout and rebase writes a line there.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
}

/// What git answers, where it does.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
