//! Everything that can go wrong with a command: what, what to do about it, and the exit code.
//!
//! Messages are written `what; what to do`. A person sees the halves on two lines, a program that
//! asked for JSON gets them as two fields.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tacit::Category;
use tacit::net::NetError;
use tacit::outsourced::OutsourcedRole;
use tacit::session::AbortReason;

use crate::report::{JSON_VERSION, pretty};
use crate::terminal::escaped;

/// Why a command did not do what it was told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Failure {
    /// The library's error.
    #[error(transparent)]
    Tacit(#[from] tacit::Error),
    /// Arguments that do not go together.
    #[error("{0}")]
    Usage(String),
    /// An input or function of this party is not right.
    #[error("{0}")]
    Input(String),
    /// The configuration cannot be used.
    #[error(
        "{}: {reason}; `tacit config schema` prints what the file may say",
        path.display()
    )]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Both parties are the same one of a program.
    #[error("the peer is incompatible: it is {own}, too; start one of the two with --as {other}")]
    SameParty {
        /// This party's name.
        own: String,
        /// The other one of the program.
        other: String,
    },
    /// The parties gave a parameter different values.
    #[error(
        "the peer is incompatible: {name} is {own} here and {theirs} at the peer; give both the \
         same --param {name}=VALUE"
    )]
    OtherParam {
        /// The parameter.
        name: String,
        /// Its value at this party.
        own: u64,
        /// Its value at the peer.
        theirs: u64,
    },
    /// Of three parties, not all have come to this one.
    #[error(
        "{missing} did not connect within {after:?}{refused}; check that the command still runs \
         there and that its --{own}-at names this address, or allow a longer --timeout"
    )]
    Missing {
        /// The parties that have not connected.
        missing: String,
        /// The time allowed.
        after: Duration,
        /// What is said of others that came.
        refused: String,
        /// What this party is.
        own: OutsourcedRole,
    },
    /// The parties order different preparations.
    #[error(
        "the peer is incompatible: it orders something other than this party, which orders \
         {ours}; give both the same function or file, --param, --entry, --runs, --component, \
         --ots, --ands, --protocol and --scheme"
    )]
    OtherOrder {
        /// This party's order.
        ours: String,
    },
    /// There is no configuration where one is needed.
    #[error(
        "{} is not there; give --config FILE, whose settings `tacit config schema` shows",
        path.display()
    )]
    NoConfig {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read {what}: {reason}; check that the file exists and is readable")]
    Read {
        /// The file, and what it was read for.
        what: String,
        /// What the system says.
        reason: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {reason}; check that the folder exists and is writable",
        path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// A file that was to be new is there.
    #[error(
        "{} already exists and is not overwritten; choose another name, or remove it first",
        path.display()
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The system names no home directory.
    #[error("this system names no home directory to look for tacit.toml in; give --config FILE")]
    NoHome,
    /// Ctrl-C cannot be caught.
    #[error("cannot catch Ctrl-C: {0}; run tacit where signals are allowed")]
    Signal(String),
    /// Programs of the language that are wrong, or whose tests fail.
    #[error("{what}; {remedy}")]
    Program {
        /// How many.
        what: String,
        /// What to do.
        remedy: &'static str,
        /// The fields of JSON that say which.
        fields: serde_json::Map<String, Json>,
    },
    /// Public circuit files that do not compute what they should.
    #[error(
        "of {checked} circuit files {wrong} are not what their names say and {unreadable} cannot \
         be read; get them again from \
         their publisher"
    )]
    Unproven {
        /// Files that compute something else than their names say.
        wrong: usize,
        /// Files that are no circuit.
        unreadable: usize,
        /// Files that were checked.
        checked: usize,
        /// What JSON says of each.
        fields: serde_json::Map<String, Json>,
    },
    /// No checked execution of the function is in stock.
    #[error(
        "no checked execution of {function} at s = {security_bits} under {scheme} is in stock with \
         this peer in this role; both parties prepare some before, of which each run takes one: \
         here `{command}`, and the same at the other party in its role. Or both give --protocol \
         authenticated, which needs none"
    )]
    NothingChecked {
        /// The function's name.
        function: String,
        /// The garbling scheme.
        scheme: String,
        /// s of the run.
        security_bits: u8,
        /// What prepares some.
        command: String,
    },
    /// Something in stock is damaged; it was said what.
    #[error(
        "something in stock is damaged; no run will use what is withdrawn, and `tacit prepare` \
         replaces it"
    )]
    Damaged,
    /// Two computations that must agree differ: garbled and plain, or given and optimised.
    #[error(
        "{what} came out wrong: two computations that must agree differ; please report this, it is \
         a bug of Tacit"
    )]
    WrongResult {
        /// What was computed.
        what: &'static str,
    },
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}; see whether the disk is full")]
    Output(String),
    /// The reader of standard output has left, which ends the command in peace.
    #[error("the reader of standard output has left; nothing is to be done")]
    OutputClosed,
}

/// What a file is that is to be text and is not.
pub(crate) const NOT_TEXT: &str = "is not text in UTF-8; save it as such";

impl Failure {
    /// The failure of reading `what`.
    pub(crate) fn read(what: impl Into<String>, reason: io::Error) -> Self {
        let what = what.into();
        match reason.kind() {
            io::ErrorKind::InvalidData => Self::Input(format!("{what} {NOT_TEXT}")),
            _ => Self::Read { what, reason },
        }
    }

    /// The failure of writing the file at `path`.
    pub(crate) fn write(path: &Path, reason: &dyn std::error::Error) -> Self {
        Self::Write {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }

    /// The failure of writing a file at `path` that was not to be there.
    pub(crate) fn write_new(path: &Path, reason: &io::Error) -> Self {
        match reason.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists {
                path: path.to_owned(),
            },
            _ => Self::write(path, reason),
        }
    }

    /// The failure of writing to standard output.
    pub(crate) fn from_output(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Output(error.to_string()),
        }
    }

    /// What kind of failure it is; its number is the exit code.
    pub(crate) fn category(&self) -> Category {
        match self {
            Self::Tacit(error) => error.category(),
            Self::Usage(_)
            | Self::Config { .. }
            | Self::NoConfig { .. }
            | Self::NoHome
            | Self::Signal(_) => Category::Usage,
            Self::Input(_)
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::Exists { .. }
            | Self::Program { .. }
            | Self::Unproven { .. }
            | Self::WrongResult { .. }
            | Self::Output(_)
            | Self::OutputClosed => Category::Input,
            Self::SameParty { .. } | Self::OtherOrder { .. } | Self::OtherParam { .. } => {
                Category::Incompatible
            }
            Self::Missing { .. } => Category::Network,
            Self::Damaged | Self::NothingChecked { .. } => Category::Stock,
        }
    }

    /// Whether the parties may do better when they meet again: the connection broke, or the peer is
    /// slow or busy for now. One that was cancelled, or failed on its side, does not come back, and
    /// the time that was allowed for all together is not given twice.
    pub(crate) fn is_transient(&self) -> bool {
        let is_final = matches!(
            self,
            Self::Tacit(
                tacit::Error::Network(NetError::TimeLimit { .. })
                    | tacit::Error::PeerAborted(AbortReason::Cancelled | AbortReason::Failed)
            )
        );
        self.category() == Category::Network && !is_final
    }

    /// What went wrong, and what to do about it where the message says so.
    pub(crate) fn parts(&self) -> (String, Option<String>) {
        let message = self.to_string();
        // A type such as [u8; 4] has one of its own.
        let mut depth = 0_i32;
        let end = message.bytes().enumerate().position(|(place, byte)| {
            depth += i32::from(byte == b'[') - i32::from(byte == b']');
            depth == 0 && message.as_bytes()[place..].starts_with(b"; ")
        });
        match end {
            Some(end) => (
                message[..end].to_owned(),
                Some(message[end + 2..].to_owned()),
            ),
            None => (message, None),
        }
    }

    /// Tells a person on standard error and, where it asked for JSON, a program on standard
    /// output. A command that it recommends is for `peer`, if that is known.
    pub(crate) fn tell(&self, json: bool, peer: Option<&str>) {
        let (what, remedy) = self.parts();
        let remedy = remedy.map(|remedy| about_stock(remedy, peer));
        let mut text = format!("tacit: {what}\n");
        if let Some(remedy) = &remedy {
            text.push_str(&format!("  what to do: {remedy}\n"));
        }
        // It may name a file that somebody else named.
        let text = text.split('\n').map(escaped).collect::<Vec<_>>().join("\n");
        // With standard error and output gone there is nobody left to tell.
        let _ = io::stderr().write_all(text.as_bytes());
        if json {
            let fields = match self {
                Self::Program { fields, .. } | Self::Unproven { fields, .. } => fields.clone(),
                _ => serde_json::Map::new(),
            };
            print_json(self.category(), &what, remedy.as_deref(), fields);
        }
    }
}

/// The remedy with the peer's name in it, and what else a new epoch ends.
fn about_stock(remedy: String, peer: Option<&str>) -> String {
    const NEW_EPOCH: &str = "tacit stock new-epoch";
    if !remedy.contains(NEW_EPOCH) {
        return remedy;
    }
    let named = peer.map(|peer| remedy.replace("--peer PEER", &format!("--peer {peer}")));
    named.unwrap_or(remedy) + "; a new epoch ends the chains of `prepared` with the peer, too"
}

/// Tells a program that asked for JSON, on standard output, with these fields in the same object.
pub(crate) fn print_json(
    category: Category,
    what: &str,
    remedy: Option<&str>,
    fields: serde_json::Map<String, Json>,
) {
    let mut error = json!({
        "version": JSON_VERSION,
        "error": { "exit_code": category as u8, "message": what, "remedy": remedy },
    });
    fields
        .into_iter()
        .for_each(|(name, value)| error[name] = value);
    // With standard output gone there is nobody left to tell.
    let _ = io::stdout().write_all(pretty(&error).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_kind() -> Vec<(Failure, u8)> {
        let path = PathBuf::from("a/b");
        let io = || io::Error::from(io::ErrorKind::PermissionDenied);
        let reason = "reason".to_owned();
        vec![
            (Failure::Usage("this; do that".to_owned()), 2),
            (
                Failure::Config {
                    path: path.clone(),
                    reason: reason.clone(),
                },
                2,
            ),
            (Failure::NoConfig { path: path.clone() }, 2),
            (Failure::NoHome, 2),
            (Failure::Signal(reason.clone()), 2),
            (Failure::Input("this; do that".to_owned()), 3),
            (Failure::read("input a", io()), 3),
            (Failure::write(&path, &io()), 3),
            (
                Failure::write_new(&path, &io::ErrorKind::AlreadyExists.into()),
                3,
            ),
            (
                Failure::Unproven {
                    wrong: 1,
                    unreadable: 1,
                    checked: 2,
                    fields: serde_json::Map::new(),
                },
                3,
            ),
            (
                Failure::Program {
                    what: "1 error was found".to_owned(),
                    remedy: "change each place as the messages say",
                    fields: serde_json::Map::new(),
                },
                3,
            ),
            (Failure::WrongResult { what: "AES-128" }, 3),
            (
                Failure::NothingChecked {
                    function: "sha-256".to_owned(),
                    scheme: "half-gates/two-call".to_owned(),
                    security_bits: 40,
                    command: "tacit prepare".to_owned(),
                },
                7,
            ),
            (Failure::Output(reason), 3),
            (Failure::from_output(io::ErrorKind::BrokenPipe.into()), 3),
            (Failure::Tacit(tacit::Error::ApiMisuse("x")), 2),
        ]
    }

    /// Where the parties do not come together.
    fn between_parties() -> Vec<(Failure, u8)> {
        vec![
            (
                Failure::SameParty {
                    own: "buyer".to_owned(),
                    other: "seller".to_owned(),
                },
                5,
            ),
            (
                Failure::Missing {
                    missing: "the cloud".to_owned(),
                    after: Duration::from_secs(60),
                    refused: String::new(),
                    own: OutsourcedRole::Generator,
                },
                6,
            ),
            (
                Failure::OtherParam {
                    name: "N".to_owned(),
                    own: 8,
                    theirs: 4,
                },
                5,
            ),
            (
                Failure::OtherOrder {
                    ours: "2 runs".to_owned(),
                },
                5,
            ),
        ]
    }

    #[test]
    fn a_new_epoch_is_recommended_with_the_peer() {
        let remedy = || "both run `tacit stock new-epoch --peer PEER`".to_owned();
        let named = about_stock(remedy(), Some("bob"));
        assert!(
            named.contains("new-epoch --peer bob`; a new epoch ends the chains"),
            "{named}"
        );
        assert!(about_stock(remedy(), None).contains("--peer PEER`; a new epoch"));
        assert_eq!(about_stock("do that".to_owned(), Some("bob")), "do that");
    }

    #[test]
    fn each_kind_has_its_code_and_a_remedy_on_a_line_of_its_own() {
        for (failure, code) in every_kind().into_iter().chain(between_parties()) {
            assert_eq!(failure.category() as u8, code, "{failure}");
            let (what, remedy) = failure.parts();
            assert!(!what.contains('\n') && !what.is_empty(), "{failure}");
            if !matches!(failure, Failure::Tacit(_)) {
                assert!(
                    remedy.is_some_and(|remedy| !remedy.contains('\n')),
                    "{failure}"
                );
            }
        }
    }
}
