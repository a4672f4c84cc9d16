//! New files, written completely or not at all, and never over an existing file.

use std::io::Write;
use std::path::Path;

use crate::failure::Failure;

/// The users who may read a new file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Everybody whom the umask allows: the file holds no secret.
    All,
    /// The owner alone.
    Owner,
}

/// Writes a new file completely or not at all. Fails if the file exists.
pub(crate) fn write_new(
    path: &Path,
    #[cfg_attr(
        not(unix),
        expect(unused_variables, reason = "there are no permissions to set")
    )]
    readers: Readers,
    content: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error: &std::io::Error| Failure::write_new(path, error);
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
    let mut file = file.tempfile_in(folder).map_err(|error| failed(&error))?;
    content(&mut file)?;
    let persisted = file.persist_noclobber(path);
    persisted.map_err(|error| failed(&error.error))?;
    Ok(())
}
