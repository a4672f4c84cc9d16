//! What the tests of tampering peers share: two stocks on disk, and ends of links in memory between
//! parties that have proved who they are.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tacit::Fingerprint;
use tacit_net::{Channel, Transport};
use tempfile::TempDir;

use crate::tamper::Rewrite;

/// Folders of two parties' stocks, which go when they are dropped; in memory where the system has
/// that.
pub struct Folders([TempDir; 2]);

impl Folders {
    /// Two empty folders.
    ///
    /// # Panics
    ///
    /// If they cannot be made.
    #[must_use]
    pub fn empty() -> Self {
        let memory = Path::new("/dev/shm");
        Self([(); 2].map(|()| match memory.is_dir() {
            true => TempDir::new_in(memory).expect("a folder"),
            false => TempDir::new().expect("a folder"),
        }))
    }

    /// The same stocks again, in folders of their own.
    ///
    /// # Panics
    ///
    /// If they cannot be copied.
    #[must_use]
    pub fn copy(&self) -> Self {
        let copies = Self::empty();
        for (from, to) in self.0.iter().zip(&copies.0) {
            copy(from.path(), to.path());
        }
        copies
    }

    /// The folder of the first party, 0, or the second.
    #[must_use]
    pub fn path(&self, party: usize) -> &Path {
        self.0[party].path()
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

/// The end of a link to a peer that has proved to be `peer`, on which no wait lasts longer than
/// `timeout`.
#[must_use]
pub fn channel(transport: Transport, peer: Fingerprint, timeout: Duration) -> Channel {
    let mut channel = Channel::over_proved(transport, peer, [7; 32]);
    channel.set_timeout(timeout);
    channel
}

/// Kinds and lengths of the messages that a side sent.
pub type Trace = Arc<Mutex<Vec<(u8, usize)>>>;

/// Changes no message, and notes each in `trace`.
#[must_use]
pub fn noting(trace: &Trace) -> Rewrite {
    let trace = Arc::clone(trace);
    Box::new(move |_, kind, payload| {
        trace
            .lock()
            .expect("nobody panicked while noting")
            .push((kind, payload.len()));
        None
    })
}
