//! Runs a command as a process that always ends, with a limit on each wait.
//!
//! Like tests, these functions panic if the process does something other than expected.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The longest wait of a test for a process, far longer than any takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The output of a process that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code, or -1 if a signal ended it.
    pub code: i32,
    /// All of its standard output.
    pub stdout: String,
    /// All of its standard error.
    pub stderr: String,
}

impl Ended {
    /// Checks that the process ended with `code` and that its error contains each of `words`.
    #[track_caller]
    pub fn failed(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is missing: {self:?}");
        }
        assert!(!self.stderr.contains("panicked"), "{self:?}");
    }

    /// Checks that the process succeeded. Returns its standard output.
    #[track_caller]
    pub fn succeeded(&self) -> &str {
        assert_eq!(self.code, 0, "{self:?}");
        &self.stdout
    }

    /// Returns the JSON object that it printed.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        let json: serde_json::Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert_eq!(json["version"], 1, "{self:?}");
        json
    }
}

/// A running process. Dropping this kills it.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<JoinHandle<String>>,
    stdout_lines: Receiver<String>,
    stderr_lines: Receiver<String>,
    stderr: String,
}

impl ChildProcess {
    /// Starts `program` in `folder` with these arguments and this text on its standard input.
    pub fn start(program: &str, folder: &Path, args: &[&str], stdin: &str) -> Self {
        let mut running = Self::start_open(program, folder, args);
        running.says(stdin);
        running.stdin = None;
        running
    }

    /// Starts `program` in `folder` with these arguments, and keeps its standard input open.
    pub fn start_open(program: &str, folder: &Path, args: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(args)
            .current_dir(folder)
            .env("XDG_CONFIG_HOME", folder)
            .env("HOME", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{program} does not start: {error}"));
        let stdin = child.stdin.take();
        let mut out = BufReader::new(child.stdout.take().expect("a pipe from it"));
        let (line_sender, stdout_lines) = channel();
        let stdout = thread::spawn(move || {
            let mut text = String::new();
            loop {
                let start = text.len();
                let read = out.read_line(&mut text);
                if read.expect("text on standard output") == 0 {
                    return text;
                }
                // A test that no longer listens gets all output at the end.
                let _ = line_sender.send(text[start..].trim_end().to_owned());
            }
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
            stdin,
            stdout: Some(stdout),
            stdout_lines,
            stderr_lines,
            stderr: String::new(),
        }
    }

    /// Writes this text to its standard input, if that is open.
    pub fn says(&mut self, text: &str) {
        if let Some(stdin) = &mut self.stdin {
            // The process may end before it reads, which is no fault of the test.
            let _ = stdin.write_all(text.as_bytes());
        }
    }

    /// Waits for the next line of its standard output.
    #[track_caller]
    pub fn line(&self) -> String {
        let line = self.stdout_lines.recv_timeout(PATIENCE);
        line.unwrap_or_else(|_| panic!("no line on standard output but {:?}", self.stderr))
    }

    /// Waits for a line on standard error that contains `words`. Returns the rest of the line.
    #[track_caller]
    pub fn line_after(&mut self, words: &str) -> String {
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

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends the signal that Ctrl-C sends.
    pub fn interrupt(&self) {
        self.signal("INT");
    }

    /// Sends the signal of this name.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(status.expect("the kill command").success());
    }

    /// Sends the signal of this name to a process that may have been killed.
    pub fn signal_if_running(&self, name: &str) {
        let pid = self.child.id().to_string();
        // Until it is waited for it is a child of this process, so the id is still its own.
        let _ = Command::new("kill").args(["-s", name, &pid]).status();
    }

    /// Kills it, if it has not ended. No part of it runs afterwards.
    pub fn kill(&mut self) {
        // A process that has ended cannot be killed.
        let _ = self.child.kill();
    }

    /// Waits until it has ended.
    #[track_caller]
    pub fn end(mut self) -> Ended {
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

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // After `end` there is no process left.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
