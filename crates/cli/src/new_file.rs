//! New files, written completely or not at all, and never over an existing file.

use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::failure::Failure;

/// The users who may read a new file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Everybody whom the umask allows: the file holds no secret.
    All,
    /// The owner alone.
    Owner,
}

/// Checks that a new file can be written here, before the work whose result it is to hold. Leaves
/// nothing behind.
pub(crate) fn check_new(path: &Path, readers: Readers) -> Result<(), Failure> {
    if path.exists() {
        return Err(Failure::write_new(
            path,
            &io::ErrorKind::AlreadyExists.into(),
        ));
    }
    temporary(path, readers).map(drop)
}

/// Writes a new file completely or not at all. Fails if the file exists.
pub(crate) fn write_new(
    path: &Path,
    readers: Readers,
    content: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut file = temporary(path, readers)?;
    content(file.as_file_mut())?;
    let persisted = file.persist_noclobber(path);
    persisted.map_err(|error| Failure::write_new(path, &error.error))?;
    Ok(())
}

/// Creates the temporary file that becomes the one at `path`, in the same folder.
fn temporary(
    path: &Path,
    #[cfg_attr(
        not(unix),
        expect(unused_variables, reason = "there are no permissions to set")
    )]
    readers: Readers,
) -> Result<NamedTempFile, Failure> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    #[cfg_attr(
        not(unix),
        expect(unused_mut, reason = "there are no permissions to set")
    )]
    let mut file = tempfile::Builder::new();
    #[cfg(unix)]
    file.permissions(std::os::unix::fs::PermissionsExt::from_mode(
        match readers {
            Readers::All => 0o666,
            Readers::Owner => 0o600,
        },
    ));
    file.tempfile_in(folder)
        .map_err(|error| Failure::write_new(path, &of_system(error)))
}

/// Returns the system's error without the name of the temporary file, which nobody gave.
fn of_system(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((text, _)) => io::Error::new(error.kind(), text),
        None => error,
    }
}
