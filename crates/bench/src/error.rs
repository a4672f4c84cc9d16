//! Errors of measurements and reports.

use std::io;
use std::path::{Path, PathBuf};

use tacit_net::NetError;

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// One of the parties that are measured has failed.
    #[error("the measured {party} failed: {reason}; run the suite again, alone on the machine")]
    Party {
        /// Which party.
        party: &'static str,
        /// What it said last.
        reason: String,
    },
    /// Several have: most of them because one did.
    #[error("{}", reasons.join(". And: "))]
    Parties {
        /// What each says, in the order of the parties.
        reasons: Vec<String>,
    },
    /// A process for a party cannot be started.
    #[error("cannot start a process for the {party}: {reason}; see whether more may be started")]
    Start {
        /// Which party.
        party: &'static str,
        /// What the system says.
        reason: io::Error,
    },
    /// A party cannot be kept on a core.
    #[error("cannot pin a party to core {core}: {reason}; name cores that this machine has")]
    Pin {
        /// The core.
        core: usize,
        /// What the system says.
        reason: String,
    },
    /// The connection between the parties failed.
    #[error(transparent)]
    Network(#[from] NetError),
    /// The library failed.
    #[error(transparent)]
    Tacit(#[from] tacit::Error),
    /// Oblivious transfer failed between two honest halves.
    #[error(
        "oblivious transfer between honest parties failed: {0}; please report this, it is a bug"
    )]
    Ot(#[from] tacit_ot::Error),
    /// A record or a task is not what was expected.
    #[error("not a record or task of this version: {0}; use one build for both")]
    Json(#[from] serde_json::Error),
    /// A line of a file of records is none.
    #[error(
        "{file}, line {line} is not a record of this version: {reason}; give a file that \
         tacit-bench --json printed"
    )]
    NoRecord {
        /// The file's name.
        file: String,
        /// The line, the first being 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// No case of a suite has these words in its name.
    #[error("no case is called {0}; run the suite with --quick to see what its cases are called")]
    NoCase(String),
    /// A file cannot be read.
    #[error("cannot read {name}: {reason}; check that it exists and may be read")]
    Read {
        /// Its name.
        name: String,
        /// What the system says.
        reason: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {reason}; check that its folder exists and may be written",
        path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// Records cannot be written.
    #[error("cannot write records: {0}; see whether the disk is full")]
    Output(#[from] io::Error),
}

impl Error {
    /// The error of reading the file called `name`.
    #[must_use]
    pub fn read(name: &str, reason: io::Error) -> Self {
        let name = name.to_owned();
        Self::Read { name, reason }
    }

    /// The error of writing the file at `path`.
    #[must_use]
    pub fn write(path: &Path, reason: io::Error) -> Self {
        let path = path.to_owned();
        Self::Write { path, reason }
    }
}
