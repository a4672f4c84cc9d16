//! The common part of tests of two parties: two stocks on disk, and ends of links in memory between
//! authenticated parties.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tacit::protocols::StatisticalSecurity;
use tacit::session::Side;
use tacit::stock::Stocks;
use tacit::{Error, Fingerprint, Role, Session};
use tacit_net::{Channel, Transport, memory};
use tempfile::TempDir;

use crate::tamper::Rewrite;

/// Both roles, the garbler's first.
pub const ROLES: [Role; 2] = Role::BOTH;

/// Returns a party's fingerprint.
pub fn fingerprint(role: Role) -> Fingerprint {
    Fingerprint([1 + role as u8; 32])
}

/// Returns a party's side: the garbler connects.
pub fn side(role: Role) -> Side {
    match role {
        Role::Garbler => Side::Connecting,
        Role::Evaluator => Side::Listening,
    }
}

/// Returns each party's result at its end of a link in memory, the garbler's first. `below` wraps
/// the transport of each end.
///
/// # Panics
///
/// If a party panics.
pub fn over_link<T: Send>(
    below: impl Fn(Role, Transport) -> Transport,
    party: impl Fn(Role, Transport) -> T + Sync,
) -> [T; 2] {
    let (garbler, evaluator) = memory::raw_pair(memory::PIPE_BYTES);
    let garbler = below(Role::Garbler, garbler.into_transport());
    let evaluator = below(Role::Evaluator, evaluator.into_transport());
    thread::scope(|scope| {
        let garbler = scope.spawn(|| party(Role::Garbler, garbler));
        let evaluator = party(Role::Evaluator, evaluator);
        [garbler.join().expect("no panic"), evaluator]
    })
}

/// Returns s of `bits`, only for tests.
///
/// # Panics
///
/// If it is out of bounds.
pub fn insecure(bits: u8) -> StatisticalSecurity {
    StatisticalSecurity::insecure_for_measurements(bits).expect("1 to 80 bits")
}

/// Starts a session of `role` with the other party; both are authenticated. No wait takes longer
/// than `timeout`.
///
/// # Errors
///
/// The greeting fails.
pub fn session(transport: Transport, role: Role, timeout: Duration) -> Result<Session, Error> {
    let channel = channel(transport, fingerprint(role.other()), timeout);
    Session::over(channel, side(role), Some(&fingerprint(role)))
}

/// The folders of two parties' stocks, which are removed on drop. They are in memory if the system
/// supports that.
pub struct Folders([TempDir; 2]);

impl Folders {
    /// Makes two empty folders.
    ///
    /// # Panics
    ///
    /// If they cannot be made.
    pub fn empty() -> Self {
        let memory = Path::new("/dev/shm");
        Self([(); 2].map(|()| {
            if memory.is_dir() {
                TempDir::new_in(memory).expect("a folder")
            } else {
                TempDir::new().expect("a folder")
            }
        }))
    }

    /// Returns copies of the same stocks, in new folders.
    ///
    /// # Panics
    ///
    /// If they cannot be copied.
    pub fn copy(&self) -> Self {
        let copies = Self::empty();
        for (from, to) in self.0.iter().zip(&copies.0) {
            copy_folder(from.path(), to.path());
        }
        copies
    }

    /// Opens the stocks of a party.
    ///
    /// # Errors
    ///
    /// They cannot be opened.
    pub fn stocks(&self, role: Role) -> Result<Stocks, Error> {
        let folder = self.path(role as usize);
        // A copy of the folders includes a copy of the notes.
        Stocks::open_witnessed(folder, 1 << 26, &folder.join("witness"))
    }

    /// Returns the folder of the first party, 0, or the second.
    pub fn path(&self, party: usize) -> &Path {
        self.0[party].path()
    }
}

/// Copies a folder with all that it holds.
pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

/// Returns the end of a link to the authenticated `peer`. No wait takes longer than `timeout`.
pub fn channel(transport: Transport, peer: Fingerprint, timeout: Duration) -> Channel {
    let mut channel = Channel::over_proved(transport, peer, [7; 32]);
    channel.set_timeout(timeout);
    channel
}

/// The kinds and lengths of the messages that a side sent.
pub type Trace = Arc<Mutex<Vec<(u8, usize)>>>;

/// Returns a function that changes no message, and records each in `trace`.
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
