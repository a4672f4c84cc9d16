//! Destinations of this party's results: none, a file, a command, or the program.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tacit::Value;
use tacit::circuit::wipe_json;
use zeroize::Zeroizing;

use crate::inputs::{Asked, Border};
use crate::reading::read_wiped;

/// Most bytes that are read of what a command for results prints.
const MAX_ANSWER_BYTES: u64 = 1 << 16;

/// Takes this party's results of a run.
pub trait Results: Send + Sync {
    /// Takes the results of a run that has ended well, which may be none.
    ///
    /// # Errors
    ///
    /// Why they could not be taken, without a secret: it is logged.
    fn take(&self, asked: &Asked<'_>, outputs: &BTreeMap<String, Value>) -> Result<(), String>;

    /// Whether results could be taken, as far as that shows without any: nothing is made or run.
    ///
    /// # Errors
    ///
    /// What is wrong.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// They are dropped.
#[derive(Clone, Copy, Debug)]
pub struct Dropped;

impl Results for Dropped {
    fn take(&self, _asked: &Asked<'_>, _outputs: &BTreeMap<String, Value>) -> Result<(), String> {
        Ok(())
    }
}

/// A function of the program.
pub struct ToProgram<F>(pub F);

impl<F> Results for ToProgram<F>
where
    F: Fn(&Asked<'_>, &BTreeMap<String, Value>) -> Result<(), String> + Send + Sync,
{
    fn take(&self, asked: &Asked<'_>, outputs: &BTreeMap<String, Value>) -> Result<(), String> {
        self.0(asked, outputs)
    }
}

/// A line of JSON for each run at the end of a file, which is made for the owner alone and opened
/// anew for each, so that it can be renamed away. A file that others may read is not written, nor
/// is one behind a link.
pub struct ToFile {
    path: PathBuf,
    border: Arc<dyn Border>,
    /// Lines of runs at the same time do not mix.
    turn: Mutex<()>,
}

impl ToFile {
    /// Results at the end of the file at `path`, as `border` writes them.
    #[must_use]
    pub fn new(path: PathBuf, border: Arc<dyn Border>) -> Self {
        let turn = Mutex::new(());
        Self { path, border, turn }
    }
}

impl Results for ToFile {
    fn take(&self, asked: &Asked<'_>, outputs: &BTreeMap<String, Value>) -> Result<(), String> {
        let line = line(asked, &*self.border, outputs)?;
        let _turn = self.turn.lock().unwrap_or_else(|error| error.into_inner());
        let opened = open_alone(&self.path, OpenOptions::new().create(true), By::Service);
        let written = opened.and_then(|file| append(file, &line));
        written.map_err(|error| format!("cannot write {}: {error}", self.path.display()))
    }

    fn check(&self) -> Result<(), String> {
        let path = self.path.display();
        match open_alone(&self.path, &mut OpenOptions::new(), By::Check) {
            Ok(_) => Ok(()),
            // It is made by the first run, as the user of the service: not by a check.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = self
                    .path
                    .parent()
                    .filter(|folder| !folder.as_os_str().is_empty());
                match folder.is_none_or(Path::is_dir) {
                    true => Ok(()),
                    false => Err(format!("cannot write {path}: its folder is not there")),
                }
            }
            Err(error) => Err(format!("cannot write {path}: {error}")),
        }
    }
}

/// Writes a line at the end of a file, or nothing: a part of it would spoil the next one.
fn append(mut file: File, line: &[u8]) -> io::Result<()> {
    let length = file.metadata()?.len();
    let written = file.write_all(line);
    if written.is_err() {
        file.set_len(length)?;
    }
    written
}

/// The process that opens a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Service,
    /// Which root may run in place of the service's user.
    Check,
}

/// Opens a file at whose end to write what its owner alone may read.
#[cfg(unix)]
fn open_alone(path: &Path, options: &mut OpenOptions, by: By) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    // Opening a pipe would wait for its reader.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = options
        .append(true)
        .mode(0o600)
        .custom_flags(flags.bits() as i32);
    let file = opened
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => {
                io::Error::other("it is a link; name the file itself")
            }
            _ => error,
        })?;
    let metadata = file.metadata()?;
    let own = rustix::process::geteuid();
    let is_own = metadata.uid() == own.as_raw() || by == By::Check && own.is_root();
    let wrong = if !metadata.is_file() {
        "it is not a file"
    } else if !is_own {
        "it is another user's; let it be the service's own"
    } else if metadata.mode() & 0o077 != 0 {
        "others may read or write it; `chmod 600` it"
    } else {
        return Ok(file);
    };
    Err(io::Error::other(wrong))
}

#[cfg(not(unix))]
fn open_alone(path: &Path, options: &mut OpenOptions, _by: By) -> io::Result<File> {
    options.append(true).open(path)
}

/// A command that gets that line on its standard input, the run in its environment as
/// [`FromCommand`](crate::inputs::FromCommand) has it, and is ended after `patience`.
#[derive(Clone)]
pub struct ToCommand {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// How long it may take.
    pub patience: Duration,
    /// How the results are written.
    pub border: Arc<dyn Border>,
}

impl Results for ToCommand {
    fn take(&self, asked: &Asked<'_>, outputs: &BTreeMap<String, Value>) -> Result<(), String> {
        let line = line(asked, &*self.border, outputs)?;
        command(&self.command, asked, &line, self.patience, MAX_ANSWER_BYTES).map(|_| ())
    }
}

fn line(
    asked: &Asked<'_>,
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
        "outputs": border.outputs(asked, outputs)?,
    });
    let mut line = Zeroizing::new(json.to_string().into_bytes());
    wipe_json(json);
    line.push(b'\n');
    Ok(line)
}

/// Runs a command to its end, within `patience`; what it printed, of at most `max_bytes`. Its
/// standard error is this process's.
pub(crate) fn command(
    command: &[String],
    asked: &Asked<'_>,
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
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Ended(child.map_err(failed)?);
    let (input, output) = (child.0.stdin.take(), child.0.stdout.take());
    let (Some(mut input), Some(output)) = (input, output) else {
        return Err(format!("{program} has no standard input or output"));
    };
    let end = Instant::now() + patience;
    let late = || format!("{program} took longer than {patience:?}");
    let stdin = Zeroizing::new(stdin.to_vec());
    // The threads are left alone when the time is over: somebody else may hold the pipes still.
    thread::spawn(move || {
        // It may end before it reads.
        let _ = input.write_all(&stdin);
    });
    let (sender, printed) = mpsc::sync_channel(1);
    thread::spawn(move || {
        // Nobody listens any more once the time is over.
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
    match status.success() {
        true => Ok(text),
        false => Err(format!("{program} failed: {status}")),
    }
}

/// A process that ends with this value at the latest.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // One that has been waited for has no number any more by which it could be ended.
        if let Ok(None) = self.0.try_wait() {
            // Whom the command has started is of its group, and ends with it.
            #[cfg(target_os = "linux")]
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

    use super::{Asked, Results, ToFile, command};
    use crate::inputs::Ports;

    /// Whether there is a process of this number that has not ended.
    fn runs(number: &str) -> bool {
        let path = Path::new("/proc").join(number.trim()).join("stat");
        let state = fs::read_to_string(path);
        state.is_ok_and(|state| !state.contains(") Z"))
    }

    fn millionaires() -> Function {
        library::function("millionaires", &BTreeMap::new()).unwrap()
    }

    fn asked(function: &Function) -> Asked<'_> {
        Asked {
            offer: "millionaires",
            function,
            role: Role::Garbler,
            peer: Identity::generate().unwrap().fingerprint(),
            peer_name: "bob",
            protocol: ProtocolId::Direct,
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
        // It is made, and written again.
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
        // Nobody reads from a pipe, and nobody waits for that.
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
        // A busy machine may need longer than that to start a shell.
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
