//! Destinations of this party's results: none, a file, a command, or the program.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tacit::Value;
use tacit::circuit::wipe_json;
use zeroize::Zeroizing;

use crate::inputs::{Border, RunRequest};
use crate::lines::{Durable, LineFile};
use crate::reading::read_wiped;

/// The largest number of bytes that are read from the output of a results command.
const MAX_ANSWER_BYTES: u64 = 1 << 16;

/// A destination of this party's results.
pub trait Results: Send + Sync {
    /// Takes the results of a run that ended well. There may be none.
    ///
    /// # Errors
    ///
    /// The reason why they could not be taken. It must contain no secret, because it is logged.
    fn take(&self, asked: &RunRequest<'_>, outputs: &BTreeMap<String, Value>)
    -> Result<(), String>;

    /// Checks that results could be taken, as far as possible without writing or running anything.
    ///
    /// # Errors
    ///
    /// The problem.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Drops all results.
#[derive(Clone, Copy, Debug)]
pub struct Dropped;

impl Results for Dropped {
    fn take(
        &self,
        _asked: &RunRequest<'_>,
        _outputs: &BTreeMap<String, Value>,
    ) -> Result<(), String> {
        Ok(())
    }
}

/// A function of the program as a destination.
pub struct ToProgram<F>(pub F);

impl<F> Results for ToProgram<F>
where
    F: Fn(&RunRequest<'_>, &BTreeMap<String, Value>) -> Result<(), String> + Send + Sync,
{
    fn take(
        &self,
        asked: &RunRequest<'_>,
        outputs: &BTreeMap<String, Value>,
    ) -> Result<(), String> {
        self.0(asked, outputs)
    }
}

/// A file that gets a line of JSON for each run at its end. It is created with access for the owner
/// alone, and opened anew for each run, so that it can be renamed away. A file that others may read
/// is not written, nor is one behind a symbolic link.
pub struct ToFile {
    file: LineFile,
    border: Arc<dyn Border>,
}

impl ToFile {
    /// Makes a destination at the end of the file at `path`, in the form of `border`.
    #[must_use]
    pub fn new(path: PathBuf, border: Arc<dyn Border>) -> Self {
        let file = LineFile::new(path);
        Self { file, border }
    }
}

impl Results for ToFile {
    fn take(
        &self,
        asked: &RunRequest<'_>,
        outputs: &BTreeMap<String, Value>,
    ) -> Result<(), String> {
        let line = line(asked, &*self.border, outputs)?;
        self.file.append(&line, Durable::Later)
    }

    fn check(&self) -> Result<(), String> {
        self.file.check()
    }
}

/// A command that gets that line on its standard input and the run in its environment, as
/// [`FromCommand`](crate::inputs::FromCommand) does. It is killed after `patience`.
#[derive(Clone)]
pub struct ToCommand {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// The longest time of the command.
    pub patience: Duration,
    /// The form of the results.
    pub border: Arc<dyn Border>,
}

impl Results for ToCommand {
    fn take(
        &self,
        asked: &RunRequest<'_>,
        outputs: &BTreeMap<String, Value>,
    ) -> Result<(), String> {
        let line = line(asked, &*self.border, outputs)?;
        command(&self.command, asked, &line, self.patience, MAX_ANSWER_BYTES).map(|_| ())
    }
}

fn line(
    asked: &RunRequest<'_>,
    border: &dyn Border,
    outputs: &BTreeMap<String, Value>,
) -> Result<Zeroizing<Vec<u8>>, String> {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let json = json!({
        "version": 1,
        "time": time.map_or(0.0, |time| time.as_millis() as f64 / 1e3),
        "offer": asked.offer,
        "function": asked.function.name(),
        "params": border.params(asked),
        "digest": asked.function.digest().to_string(),
        "protocol": asked.protocol.to_string(),
        "peer": asked.peer_name,
        "fingerprint": asked.peer.to_string(),
        "run": asked.run.map(|run| run.to_string()),
        "outputs": border.outputs(asked, outputs)?,
    });
    let mut line = Zeroizing::new(json.to_string().into_bytes());
    wipe_json(json);
    line.push(b'\n');
    Ok(line)
}

/// Runs a command to its end, within `patience`. Returns its output of at most `max_bytes`. Its
/// standard error is that of this process.
pub(crate) fn command(
    command: &[String],
    asked: &RunRequest<'_>,
    stdin: &[u8],
    patience: Duration,
    max_bytes: u64,
) -> Result<Zeroizing<Vec<u8>>, String> {
    let (program, arguments) = command.split_first().ok_or("there is no command to run")?;
    let failed = |error| format!("cannot run {program}: {error}");
    let mut started = Command::new(program);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut started, 0);
    let child = started
        .args(arguments)
        .env("TACIT_OFFER", asked.offer)
        .env("TACIT_FUNCTION", asked.function.name())
        .env("TACIT_DIGEST", asked.function.digest().to_string())
        .env("TACIT_ROLE", asked.role.name())
        .env("TACIT_PEER", asked.peer_name)
        .env("TACIT_PEER_FINGERPRINT", asked.peer.to_string())
        .env(
            "TACIT_RUN",
            asked.run.map_or_else(String::new, |run| run.to_string()),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = KilledOnDrop(child.map_err(failed)?);
    let (input, output) = (child.0.stdin.take(), child.0.stdout.take());
    let (Some(mut input), Some(output)) = (input, output) else {
        return Err(format!("{program} has no standard input or output"));
    };
    let end = Instant::now() + patience;
    let late = || format!("{program} took longer than {patience:?}");
    let stdin = Zeroizing::new(stdin.to_vec());
    // When the time is over, the threads are abandoned: another process may still hold the pipes.
    thread::spawn(move || {
        // The command may end before it reads.
        let _ = input.write_all(&stdin);
    });
    let (sender, printed) = mpsc::sync_channel(1);
    thread::spawn(move || {
        // The receiver is gone once the time is over.
        let _ = sender.send(read_wiped(output, 0, max_bytes));
    });
    let left = || end.saturating_duration_since(Instant::now());
    let text = printed
        .recv_timeout(left())
        .map_err(|_| late())?
        .map_err(failed)?;
    if text.len() as u64 > max_bytes {
        return Err(format!("{program} printed more than {max_bytes} bytes"));
    }
    let status = loop {
        match child.0.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if !left().is_zero() => thread::sleep(Duration::from_millis(2)),
            None => return Err(late()),
        }
    };
    if status.success() {
        Ok(text)
    } else {
        Err(format!("{program} failed: {status}"))
    }
}

/// A process that is killed at the latest when this is dropped.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // A process that has been waited for no longer owns its number, so it must not be killed by
        // it.
        if let Ok(None) = self.0.try_wait() {
            // Processes that the command has started are in its group, and end with it.
            #[cfg(unix)]
            let _ = rustix::process::kill_process_group(
                rustix::process::Pid::from_child(&self.0),
                rustix::process::Signal::KILL,
            );
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::Path;
    use std::process;
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    use tacit::session::ProtocolId;
    use tacit::{Function, Identity, Role, library};

    use super::{Results, RunRequest, ToFile, command};
    use crate::inputs::Ports;

    /// Returns whether a process with this number exists and has not ended.
    fn runs(number: &str) -> bool {
        let path = Path::new("/proc").join(number.trim()).join("stat");
        let state = fs::read_to_string(path);
        state.is_ok_and(|state| !state.contains(") Z"))
    }

    fn millionaires() -> Function {
        library::function("millionaires", &BTreeMap::new()).unwrap()
    }

    fn asked(function: &Function) -> RunRequest<'_> {
        RunRequest {
            offer: "millionaires",
            function,
            role: Role::Garbler,
            peer: Identity::generate().unwrap().fingerprint(),
            peer_name: "bob",
            protocol: ProtocolId::Direct,
            run: None,
        }
    }

    #[test]
    fn results_go_into_no_file_that_others_may_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        let function = millionaires();
        let all = |name| {
            let file = ToFile::new(path(name), Arc::new(Ports));
            let taken = file.take(&asked(&function), &BTreeMap::new());
            [file.check(), taken]
        };
        // The file is created, and then written again.
        for result in [all("new"), all("new")].as_flattened() {
            assert_eq!(*result, Ok(()));
        }
        let made = fs::metadata(path("new")).unwrap();
        assert_eq!(made.mode() & 0o777, 0o600);
        symlink(path("new"), path("link")).unwrap();
        for error in all("link").map(Result::unwrap_err) {
            assert!(error.contains("it is a link"), "{error}");
        }
        for mode in [0o640, 0o602] {
            fs::set_permissions(path("new"), fs::Permissions::from_mode(mode)).unwrap();
            let length = fs::metadata(path("new")).unwrap().len();
            for error in all("new").map(Result::unwrap_err) {
                assert!(error.contains("others may read or write it"), "{error}");
            }
            assert_eq!(fs::metadata(path("new")).unwrap().len(), length);
        }
        // The pipe has no reader, and the call does not wait for one.
        let made = process::Command::new("mkfifo")
            .arg(path("pipe"))
            .status()
            .unwrap();
        assert!(made.success() && all("pipe").iter().all(Result::is_err));
    }

    #[test]
    fn a_command_that_is_late_ends_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        let script = format!("sleep 600 & echo $! > {}; wait", file.display());
        let function = millionaires();
        let asked = asked(&function);
        let words = ["sh", "-c", &script].map(str::to_owned);
        let mut patience = Duration::from_secs(1);
        // A busy machine may take longer than that to start a shell.
        let number = loop {
            let late = command(&words, &asked, b"", patience, 100).unwrap_err();
            assert!(late.contains("took longer"), "{late}");
            match fs::read_to_string(&file) {
                Ok(number) if !number.is_empty() => break number,
                _ if patience > Duration::from_secs(60) => panic!("the command never started"),
                _ => patience *= 2,
            }
        };
        let ended = (0..1000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            !runs(&number)
        });
        assert!(ended, "{number} runs on");
    }
}
