//! Runs the `tacit` command, alone or for two parties.

use std::path::{Path, PathBuf};

pub(crate) use tacit_testkit::process::{ChildProcess, Ended};

/// An address at which nobody listens. No system assigns this port when a free one is requested.
pub(crate) const NOBODY: &str = "127.0.0.1:9";

/// Splits a typed command into words, none of which contains a space.
pub(crate) fn words(command: &str) -> Vec<&str> {
    command.split(' ').collect()
}

/// Starts `tacit` in `folder` with these arguments and this text on its standard input.
pub(crate) fn start(folder: &Path, args: &[&str], stdin: &str) -> ChildProcess {
    ChildProcess::start(env!("CARGO_BIN_EXE_tacit"), folder, args, stdin)
}

/// Runs `tacit` to its end in `folder`.
#[track_caller]
pub(crate) fn tacit(folder: &Path, args: &[&str]) -> Ended {
    start(folder, args, "").end()
}

/// A folder with the identities of two parties.
pub(crate) struct Parties {
    folder: tempfile::TempDir,
    fingerprints: [String; 2],
}

impl Parties {
    /// Makes the identities with `tacit keygen`.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let fingerprints = ["alice.key", "bob.key"].map(|file| {
            let made = tacit(folder.path(), &["keygen", "--out", file]);
            made.succeeded().trim().to_owned()
        });
        Self {
            folder,
            fingerprints,
        }
    }

    /// Returns the folder in which both run.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns Alice's fingerprint and Bob's.
    pub(crate) fn fingerprints(&self) -> [&str; 2] {
        [&self.fingerprints[0], &self.fingerprints[1]]
    }

    /// Puts a file into the folder.
    pub(crate) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder().join(name);
        std::fs::write(&path, content).expect("a file in the temporary folder");
        path
    }

    /// Returns the usable numbers of each kind from `tacit stock list`.
    pub(crate) fn usable(&self, stock: &str) -> Vec<u64> {
        let args = ["stock", "list", "--stock", stock, "--json"];
        let listed = tacit(self.folder(), &args).json();
        let kinds = listed["stocks"][0]["kinds"].as_array();
        let kinds = kinds.map_or(&[][..], Vec::as_slice);
        let usable = kinds.iter().map(|kind| kind["usable"].as_u64());
        usable.map(|usable| usable.expect("a number")).collect()
    }

    /// Starts Alice's `tacit run` with these arguments and standard input. She listens. Returns her
    /// address too.
    pub(crate) fn alice_listens(&self, args: &[&str], stdin: &str) -> (ChildProcess, String) {
        self.alice_starts(&[&["run"], args].concat(), stdin)
    }

    /// Starts Alice's command with these arguments. She listens. Returns her address too.
    pub(crate) fn alice_starts(&self, args: &[&str], stdin: &str) -> (ChildProcess, String) {
        let mut all = args.to_vec();
        all.extend(["--listen", "127.0.0.1:0", "--identity", "alice.key"]);
        all.extend(["--peer", &self.fingerprints[1]]);
        let mut alice = start(self.folder(), &all, stdin);
        let address = alice.line_after("listening on ");
        (alice, address)
    }

    /// Runs Bob's `tacit run` with these arguments and standard input. He connects to `address`.
    pub(crate) fn bob_connects(&self, address: &str, args: &[&str], stdin: &str) -> Ended {
        self.bob_starts(address, &[&["run"], args].concat(), stdin)
            .end()
    }

    /// Starts Bob's command with these arguments. He connects to `address`.
    pub(crate) fn bob_starts(&self, address: &str, args: &[&str], stdin: &str) -> ChildProcess {
        let mut all = args.to_vec();
        all.extend(["--connect", address, "--identity", "bob.key"]);
        all.extend(["--peer", &self.fingerprints[0]]);
        start(self.folder(), &all, stdin)
    }

    /// Runs `tacit run` at Alice, who listens, and at Bob, who connects, each with its own
    /// arguments. Returns their output.
    pub(crate) fn run(&self, alice: &[&str], bob: &[&str]) -> [Ended; 2] {
        self.act(&[&["run"], alice].concat(), &[&["run"], bob].concat())
    }

    /// Runs a command at Alice, who listens, and at Bob, who connects, each with its own arguments.
    /// Returns their output.
    pub(crate) fn act(&self, alice: &[&str], bob: &[&str]) -> [Ended; 2] {
        let (alice, address) = self.alice_starts(alice, "");
        let bob = self.bob_starts(&address, bob, "").end();
        [alice.end(), bob]
    }
}

/// Returns a command's arguments for a garbler with stock `a` and an evaluator with stock `b`, each
/// with its input for a run.
pub(crate) fn with_stocks<'a>(command: &[&'a str], inputs: [&'a str; 2]) -> [Vec<&'a str>; 2] {
    [("garbler", "a", inputs[0]), ("evaluator", "b", inputs[1])].map(|(role, stock, input)| {
        let mut all = command.to_vec();
        all.extend(["--role", role, "--stock", stock]);
        if command[0] == "run" {
            all.extend(["--input", input]);
        }
        all
    })
}
