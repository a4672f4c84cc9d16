//! Files that get lines at their end: results and the audit log.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The longest wait for others that write to a file. Each holds it for one line.
const LOCK_TIME: Duration = Duration::from_secs(5);
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// The time at which a line is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durable {
    /// Before the call returns.
    Now,
    /// When the system writes it.
    Later,
}

/// A file that is created with access for its owner alone, and opened anew for each line, so that
/// it can be renamed away. A file that others may read is not written, nor is one behind a symbolic
/// link.
pub(crate) struct LineFile {
    path: PathBuf,
    lock_time: Duration,
}

impl LineFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            lock_time: LOCK_TIME,
        }
    }

    /// Writes `line` at the end of the file, completely or not at all.
    pub(crate) fn append(&self, line: &[u8], durable: Durable) -> Result<(), String> {
        let failed = |error| format!("cannot write {}: {error}", self.path.display());
        let (mut file, is_new) = self.open().map_err(failed)?;
        append(&mut file, line, self.lock_time).map_err(failed)?;
        if durable == Durable::Later {
            return Ok(());
        }
        // Waits that begin together end together, so this one comes after the turn.
        file.sync_data().map_err(failed)?;
        if is_new {
            sync_folder(&self.path).map_err(failed)
        } else {
            Ok(())
        }
    }

    /// Opens the file. Returns whether it was made now.
    fn open(&self) -> io::Result<(File, bool)> {
        match open_alone(&self.path, &mut OpenOptions::new(), By::Service) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = open_alone(&self.path, OpenOptions::new().create(true), By::Service);
                Ok((made?, true))
            }
            opened => Ok((opened?, false)),
        }
    }

    /// Checks that a line could be written, as far as possible without writing.
    pub(crate) fn check(&self) -> Result<(), String> {
        let path = self.path.display();
        match open_alone(&self.path, &mut OpenOptions::new(), By::Check) {
            Ok(file) => match file.try_lock_shared() {
                Ok(()) | Err(TryLockError::WouldBlock) => Ok(()),
                Err(TryLockError::Error(error)) => Err(format!(
                    "cannot write {path}: its file system does not lock files: {error}"
                )),
            },
            // The first line creates the file, as the user of the service. A check does not.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if folder_of(&self.path).is_none_or(Path::is_dir) {
                    Ok(())
                } else {
                    Err(format!("cannot write {path}: its folder is not there"))
                }
            }
            Err(error) => Err(format!("cannot write {path}: {error}")),
        }
    }
}

fn folder_of(path: &Path) -> Option<&Path> {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
}

/// Makes the name of a new file durable.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path).unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Writes a line at the end of a file completely or not at all: a part would spoil the next line.
/// Locks the file, which other offers or another process may write, so that no line of theirs is
/// cut away.
fn append(file: &mut File, line: &[u8], lock_time: Duration) -> io::Result<()> {
    lock(file, lock_time)?;
    let length = file.metadata()?.len();
    let written = file.write_all(line);
    if written.is_err() {
        file.set_len(length)?;
    }
    file.unlock()?;
    written
}

/// Locks a file, and waits for another holder of the lock for at most `time`.
fn lock(file: &File, time: Duration) -> io::Result<()> {
    let end = Instant::now() + time;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => {
                let held = format!("another process has had it locked for {time:?}");
                return Err(io::Error::other(held));
            }
        }
    }
}

/// The caller that opens a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Service,
    /// A check, which root may run in place of the service's user.
    Check,
}

/// Opens a file for appending that only its owner may read.
#[cfg(unix)]
fn open_alone(path: &Path, options: &mut OpenOptions, by: By) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    // Without this flag, opening a pipe would wait for its reader.
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Two offers may have one file, and so may the policies before and after a reload.
    #[test]
    fn a_line_waits_until_another_has_been_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results");
        let append = |line: &[u8]| LineFile::new(path.clone()).append(line, Durable::Later);
        append(b"first\n").unwrap();
        let other = File::open(&path).unwrap();
        other.lock().unwrap();
        thread::scope(|scope| {
            let second = scope.spawn(|| append(b"second\n"));
            thread::sleep(Duration::from_millis(100));
            let meanwhile = fs::read(&path);
            other.unlock().unwrap();
            second.join().unwrap().unwrap();
            assert_eq!(meanwhile.unwrap(), b"first\n");
        });
        assert_eq!(fs::read(&path).unwrap(), b"first\nsecond\n");
    }

    #[test]
    fn a_lock_that_is_held_forever_stops_no_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results");
        let file = LineFile {
            path: path.clone(),
            lock_time: Duration::from_millis(50),
        };
        file.append(b"first\n", Durable::Later).unwrap();
        let other = File::open(&path).unwrap();
        other.lock().unwrap();
        file.check().unwrap();
        let error = file.append(b"second\n", Durable::Later).unwrap_err();
        assert!(
            error.contains("results") && error.contains("locked"),
            "{error}"
        );
        other.unlock().unwrap();
        file.append(b"third\n", Durable::Later).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first\nthird\n");
    }
}
