//! Errors of measurements.

use std::io;

use tacit_net::NetError;

impl Error {
    /// Returns the failure of a party.
    pub(crate) fn of(party: &'static str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Party { party, reason }
    }
}

/// The reason why there is no figure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// One of the measured parties has failed.
    #[error("the measured {party} failed: {reason}; run the suite again, alone on the machine")]
    Party {
        /// The party.
        party: &'static str,
        /// Its last message.
        reason: String,
    },
    /// Several parties have failed, most of them because one did.
    #[error("{}", reasons.join(". And: "))]
    Parties {
        /// The message of each, in the order of the parties.
        reasons: Vec<String>,
    },
    /// A process for a party cannot be started.
    #[error("cannot start a process for the {party}: {reason}; see whether more may be started")]
    Start {
        /// The party.
        party: &'static str,
        /// The system's message.
        reason: io::Error,
    },
    /// A party cannot be pinned to a core.
    #[error("cannot pin a party to core {core}: {reason}; name cores that this machine has")]
    Pin {
        /// The core.
        core: usize,
        /// The system's message.
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
    /// No case of a suite has these words in its name.
    #[error("no case is called {0}; run the suite with --quick to see what its cases are called")]
    NoCase(String),
    /// The path of this program is unknown, so that no party can be started.
    #[error("cannot find this program again, for the parties: {0}; start it by its full path")]
    Program(io::Error),
    /// Records cannot be written.
    #[error("cannot write records: {0}; see whether the disk is full")]
    Output(#[from] io::Error),
}
