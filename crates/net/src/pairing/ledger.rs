//! A record of the invitations that were made and used, in a folder of small files or, for a page,
//! in memory.
//!
//! `ID.made` holds the expiry of an invitation; `ID.used` exists once the invitation was used. A
//! file of the second kind is created only if it does not exist, and is on disk before the
//! invitation is answered, so that an invitation is used once even with several processes or after
//! a crash. The accepting party writes both, under an identifier of its own, before it opens its
//! nonce.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Refusal;
use crate::NetError;
use crate::identity::sync_folder;

/// The time for which the ledger remembers an expired invitation, in seconds.
const REMEMBERED_SECONDS: u64 = 30 * 24 * 3600;

/// The invitations of one party. It holds no secret.
#[derive(Clone, Debug)]
pub struct Ledger(Record);

#[derive(Clone, Debug)]
enum Record {
    Folder(PathBuf),
    /// The invitations that were used.
    Memory(Arc<Mutex<BTreeSet<[u8; 16]>>>),
}

impl Ledger {
    /// Opens the ledger in `folder`, which is created if it does not exist. Forgets invitations
    /// that expired long ago.
    ///
    /// # Errors
    ///
    /// The folder cannot be created or read.
    pub fn open(folder: &Path) -> Result<Self, NetError> {
        let failed = |error| failed(folder, error);
        fs::create_dir_all(folder).map_err(failed)?;
        forget(folder, super::now()?).map_err(failed)?;
        Ok(Self(Record::Folder(folder.to_owned())))
    }

    /// Returns an empty ledger of a party that forgets its invitations, and their secrets, when it
    /// forgets the ledger.
    #[must_use]
    pub fn in_memory() -> Self {
        Self(Record::Memory(Arc::default()))
    }

    /// Adds a new invitation.
    pub(super) fn enter(&self, id: &[u8; 16], expires: u64) -> Result<(), NetError> {
        let Record::Folder(folder) = &self.0 else {
            return Ok(());
        };
        let text = format!("{expires}\n");
        let made = create(folder, &file(folder, id, "made"), text.as_bytes());
        made.map_err(|error| failed(folder, error))
    }

    /// Uses an invitation up. Returns `false` if it was used before.
    pub(super) fn claim(&self, id: &[u8; 16]) -> Result<bool, NetError> {
        let folder = match &self.0 {
            Record::Folder(folder) => folder,
            Record::Memory(used) => return Ok(lock(used).insert(*id)),
        };
        match create(folder, &file(folder, id, "used"), &[]) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(failed(folder, error)),
        }
    }

    /// Uses up an invitation that this party accepts. Returns `false` if it was accepted before.
    pub(super) fn accept(&self, id: &[u8; 16], expires: u64) -> Result<bool, NetError> {
        // Without this file, which may be there after a crash, the ledger would never forget it.
        match self.enter(id, expires) {
            Err(NetError::Invitations { reason, .. })
                if reason.kind() == ErrorKind::AlreadyExists => {}
            entered => entered?,
        }
        self.claim(id)
    }

    /// Returns whether an invitation was used up. Only [`Ledger::claim`] decides who uses it.
    pub(super) fn is_used(&self, id: &[u8; 16]) -> bool {
        match &self.0 {
            Record::Folder(folder) => file(folder, id, "used").exists(),
            Record::Memory(used) => lock(used).contains(id),
        }
    }

    /// Returns the reason to refuse an invitation that is not open here.
    pub(super) fn look(&self, id: &[u8; 16], now: u64) -> Refusal {
        let folder = match &self.0 {
            Record::Folder(folder) => folder,
            Record::Memory(_) if self.is_used(id) => return Refusal::Used,
            Record::Memory(_) => return Refusal::Unknown,
        };
        match expiry(&file(folder, id, "made")) {
            None => Refusal::Unknown,
            Some(_) if self.is_used(id) => Refusal::Used,
            Some(at) if now >= at => Refusal::Late,
            Some(_) => Refusal::Withdrawn,
        }
    }
}

fn lock(used: &Mutex<BTreeSet<[u8; 16]>>) -> MutexGuard<'_, BTreeSet<[u8; 16]>> {
    used.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(folder: &Path, reason: io::Error) -> NetError {
    NetError::Invitations {
        folder: folder.to_owned(),
        reason,
    }
}

fn file(folder: &Path, id: &[u8; 16], kind: &str) -> PathBuf {
    let name: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    folder.join(format!("{name}.{kind}"))
}

fn forget(folder: &Path, now: u64) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let made = entry?.path();
        if made.extension().is_some_and(|kind| kind == "made")
            && expiry(&made).is_some_and(|at| at.saturating_add(REMEMBERED_SECONDS) < now)
        {
            // Another process may remove the same files.
            let _ = fs::remove_file(made.with_extension("used"));
            let _ = fs::remove_file(made);
        }
    }
    Ok(())
}

/// Creates a new file, which is on disk when this returns.
fn create(folder: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()?;
    sync_folder(folder)
}

/// Returns the expiry of the invitation of this file.
fn expiry(made: &Path) -> Option<u64> {
    // This module writes short files; any other content is no invitation.
    let length = fs::metadata(made).ok()?.len();
    (length <= 21)
        .then(|| fs::read_to_string(made).ok())??
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise the file of a used invitation would stay for ever.
    #[test]
    fn an_invitation_is_entered_before_it_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        let at = |kind| file(folder.path(), &[1; 16], kind);
        // After a crash between the two files.
        ledger.enter(&[1; 16], 1).unwrap();
        assert!(ledger.accept(&[1; 16], 1).unwrap());
        assert!(!ledger.accept(&[1; 16], 1).unwrap());
        drop(Ledger::open(folder.path()).unwrap());
        assert!(!at("made").exists() && !at("used").exists());
    }
}
