//! A record of the invitations that were made and used, in a folder of small files.
//!
//! `ID.made` holds when an invitation expires; `ID.used` is there once it was used. A file of the
//! second kind is made only if it is not there, and is on disk before the invitation is answered,
//! so that several processes and a crash use an invitation once. The accepting party writes both,
//! under a name of its own, before it opens its nonce.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::Refusal;
use crate::NetError;
use crate::identity::sync_folder;

/// How long the ledger remembers an invitation that has expired, in seconds.
const REMEMBERED_SECONDS: u64 = 30 * 24 * 3600;

/// The invitations of one party. It holds no secret.
#[derive(Clone, Debug)]
pub struct Ledger {
    folder: PathBuf,
}

impl Ledger {
    /// The ledger in `folder`, which is made if it is not there. Invitations that expired long ago
    /// are forgotten.
    ///
    /// # Errors
    ///
    /// The folder cannot be made or read.
    pub fn open(folder: &Path) -> Result<Self, NetError> {
        let ledger = Self {
            folder: folder.to_owned(),
        };
        fs::create_dir_all(folder).map_err(|error| ledger.failed(error))?;
        ledger
            .forget(super::now()?)
            .map_err(|error| ledger.failed(error))?;
        Ok(ledger)
    }

    fn failed(&self, reason: io::Error) -> NetError {
        NetError::Invitations {
            folder: self.folder.clone(),
            reason,
        }
    }

    fn file(&self, id: &[u8; 16], kind: &str) -> PathBuf {
        let name: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.{kind}"))
    }

    fn forget(&self, now: u64) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let made = entry?.path();
            if made.extension().is_some_and(|kind| kind == "made")
                && expiry(&made).is_some_and(|at| at.saturating_add(REMEMBERED_SECONDS) < now)
            {
                // Another process may forget the same.
                let _ = fs::remove_file(made.with_extension("used"));
                let _ = fs::remove_file(made);
            }
        }
        Ok(())
    }

    /// Enters a new invitation.
    pub(super) fn enter(&self, id: &[u8; 16], expires: u64) -> Result<(), NetError> {
        let text = format!("{expires}\n");
        let made = self.create(&self.file(id, "made"), text.as_bytes());
        made.map_err(|error| self.failed(error))
    }

    /// Uses an invitation up: `false` if it was used before.
    pub(super) fn claim(&self, id: &[u8; 16]) -> Result<bool, NetError> {
        match self.create(&self.file(id, "used"), &[]) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Uses up an invitation that this party accepts: `false` if it was accepted before.
    pub(super) fn accept(&self, id: &[u8; 16], expires: u64) -> Result<bool, NetError> {
        let is_first = self.claim(id)?;
        if is_first {
            // So that it is forgotten in time.
            self.enter(id, expires)?;
        }
        Ok(is_first)
    }

    /// Why an invitation that is not open here is refused.
    pub(super) fn look(&self, id: &[u8; 16], now: u64) -> Refusal {
        match expiry(&self.file(id, "made")) {
            None => Refusal::Unknown,
            Some(_) if self.file(id, "used").exists() => Refusal::Used,
            Some(at) if now >= at => Refusal::Late,
            Some(_) => Refusal::Withdrawn,
        }
    }

    /// Makes a new file, on disk when this returns.
    fn create(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(content)?;
        file.sync_all()?;
        sync_folder(&self.folder)
    }
}

/// When the invitation of this file expires.
fn expiry(made: &Path) -> Option<u64> {
    // Written by this module, and short; what is anything else is no invitation.
    let length = fs::metadata(made).ok()?.len();
    (length <= 21)
        .then(|| fs::read_to_string(made).ok())??
        .trim()
        .parse()
        .ok()
}
