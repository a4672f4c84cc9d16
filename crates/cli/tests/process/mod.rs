//! Runs the `tacit` command as people do: as a process, always ended, never waited for without
//! bound.

#![allow(dead_code, reason = "each test file uses a part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Longest that a test waits for a process; far longer than any takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a process that has ended left.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Fails the test unless the process ended with `code` and names each of `words` in its
    /// error.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is missing: {self:?}");
        }
        assert!(!self.stderr.contains("panicked"), "{self:?}");
    }

    /// Fails the test unless the process ended well; its standard output.
    #[track_caller]
    pub(crate) fn succeeded(&self) -> &str {
        assert_eq!(self.code, 0, "{self:?}");
        &self.stdout
    }

    /// The JSON object that it printed.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        let json: serde_json::Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert_eq!(json["version"], 1, "{self:?}");
        json
    }
}

/// A process under way, which ends with this value at the latest.
pub(crate) struct Running {
    child: Child,
    stdout: Option<JoinHandle<String>>,
    stderr_lines: Receiver<String>,
    stderr: String,
}

impl Running {
    /// Starts `tacit` with these arguments and this text on its standard input.
    pub(crate) fn start(folder: &Path, args: &[&str], stdin: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tacit"))
            .args(args)
            .current_dir(folder)
            .env("XDG_CONFIG_HOME", folder)
            .env("HOME", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tacit command starts");
        let mut input = child.stdin.take().expect("a pipe to it");
        // It may end before it reads, which is no fault of the test's.
        let _ = input.write_all(stdin.as_bytes());
        drop(input);
        let mut out = child.stdout.take().expect("a pipe from it");
        let stdout = thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text)
                .expect("text on standard output");
            text
        });
        let err = BufReader::new(child.stderr.take().expect("a pipe from it"));
        let (sender, stderr_lines) = channel();
        thread::spawn(move || {
            for line in err.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            stdout: Some(stdout),
            stderr_lines,
            stderr: String::new(),
        }
    }

    /// Waits for a line on standard error in which `words` stand; the rest of it.
    #[track_caller]
    pub(crate) fn line_after(&mut self, words: &str) -> String {
        loop {
            let line = self.stderr_lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("no {words:?} but {:?}", self.stderr));
            self.stderr.push_str(&line);
            self.stderr.push('\n');
            if let Some((_, rest)) = line.split_once(words) {
                return rest.to_owned();
            }
        }
    }

    /// Sends the signal that Ctrl-C sends.
    pub(crate) fn interrupt(&self) {
        self.signal("INT");
    }

    /// Sends the signal of this name.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(status.expect("the kill command").success());
    }

    /// Sends the signal of this name to a process that may have been killed.
    pub(crate) fn signal_if_running(&self, name: &str) {
        let pid = self.child.id().to_string();
        // It is this process's child until it is waited for, so that the number is its own.
        let _ = Command::new("kill").args(["-s", name, &pid]).status();
    }

    /// Kills it, if it has not ended: nothing of it runs any more.
    pub(crate) fn kill(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.child.kill();
    }

    /// Waits until it has ended.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait().expect("a process to wait for") {
                Some(status) => break status,
                None if Instant::now() > deadline => panic!("it does not end: {}", self.stderr),
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        let stdout = self
            .stdout
            .take()
            .expect("taken once")
            .join()
            .expect("its output");
        while let Ok(line) = self.stderr_lines.recv_timeout(PATIENCE) {
            self.stderr.push_str(&line);
            self.stderr.push('\n');
        }
        let stderr = std::mem::take(&mut self.stderr);
        Ended {
            code: status.code().unwrap_or(-1),
            stdout,
            stderr,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After `end` there is nothing left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `tacit` to its end in `folder`.
#[track_caller]
pub(crate) fn tacit(folder: &Path, args: &[&str]) -> Ended {
    Running::start(folder, args, "").end()
}

/// A folder with the identities of two parties.
pub(crate) struct Parties {
    folder: tempfile::TempDir,
    fingerprints: [String; 2],
}

impl Parties {
    /// Makes them with `tacit keygen`.
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

    /// The folder in which both run.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Alice's fingerprint and Bob's.
    pub(crate) fn fingerprints(&self) -> [&str; 2] {
        [&self.fingerprints[0], &self.fingerprints[1]]
    }

    /// Puts a file into the folder.
    pub(crate) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder().join(name);
        std::fs::write(&path, content).expect("a file in the temporary folder");
        path
    }

    /// Alice listens with these arguments of `tacit run` and standard input.
    pub(crate) fn alice_listens(&self, args: &[&str], stdin: &str) -> (Running, String) {
        self.alice_starts(&[&["run"], args].concat(), stdin)
    }

    /// Alice listens with this command and arguments; where.
    pub(crate) fn alice_starts(&self, args: &[&str], stdin: &str) -> (Running, String) {
        let mut all = args.to_vec();
        all.extend(["--listen", "127.0.0.1:0", "--identity", "alice.key"]);
        all.extend(["--peer", &self.fingerprints[1]]);
        let mut alice = Running::start(self.folder(), &all, stdin);
        let address = alice.line_after("listening on ");
        (alice, address)
    }

    /// Bob connects to `address` with these arguments of `tacit run` and standard input.
    pub(crate) fn bob_connects(&self, address: &str, args: &[&str], stdin: &str) -> Ended {
        self.bob_starts(address, &[&["run"], args].concat(), stdin)
            .end()
    }

    /// Bob connects to `address` with this command and arguments.
    pub(crate) fn bob_starts(&self, address: &str, args: &[&str], stdin: &str) -> Running {
        let mut all = args.to_vec();
        all.extend(["--connect", address, "--identity", "bob.key"]);
        all.extend(["--peer", &self.fingerprints[0]]);
        Running::start(self.folder(), &all, stdin)
    }

    /// Alice listens and Bob connects, each with its own arguments of `tacit run`; what each left.
    pub(crate) fn run(&self, alice: &[&str], bob: &[&str]) -> [Ended; 2] {
        self.act(&[&["run"], alice].concat(), &[&["run"], bob].concat())
    }

    /// Alice listens and Bob connects, each with its own command and arguments; what each left.
    pub(crate) fn act(&self, alice: &[&str], bob: &[&str]) -> [Ended; 2] {
        let (alice, address) = self.alice_starts(alice, "");
        let bob = self.bob_starts(&address, bob, "").end();
        [alice.end(), bob]
    }
}
