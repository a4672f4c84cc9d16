//! Everything that can go wrong with a command: the problem, the remedy and the exit code.
//!
//! A person sees the problem and the remedy on two lines. A program that asked for JSON gets them
//! as two fields.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value as Json, json};
use tacit::Category;
use tacit::advice::Remedy;
use tacit::net::{Lane, NetError};
use tacit::session::AbortReason;

use crate::report::json_text;
use crate::terminal::escaped;
use crate::{config, remedy};

/// A problem, and its remedy if one is known.
#[derive(Clone, Debug)]
pub(crate) struct Explained {
    what: String,
    remedy: Option<String>,
}

/// Makes a failure of this category from two texts for `format!` with a semicolon between them: the
/// problem and the remedy.
macro_rules! failure {
    ($category:ident; $what:literal $(, $value:expr)*; $remedy:literal $(, $other:expr)*) => {
        $crate::failure::Failure::Own {
            category: tacit::Category::$category,
            explained: $crate::failure::Explained::new(
                format!($what $(, $value)*),
                format!($remedy $(, $other)*),
            ),
        }
    };
}

/// Makes a failure for arguments that do not go together.
macro_rules! usage {
    ($($text:tt)*) => { $crate::failure::failure!(Usage; $($text)*) };
}

/// Makes a failure for an invalid input, file or function.
macro_rules! input {
    ($($text:tt)*) => { $crate::failure::failure!(Input; $($text)*) };
}

pub(crate) use {failure, input, usage};

impl Explained {
    pub(crate) fn new(what: String, remedy: impl Into<Option<String>>) -> Self {
        let remedy = remedy.into();
        Self { what, remedy }
    }
}

/// The library's text about a circuit, a function or an input gives the remedy in plain words after
/// a semicolon.
impl From<String> for Explained {
    fn from(text: String) -> Self {
        // A type such as [u8; 4] has a semicolon of its own.
        let mut depth = 0_i32;
        let end = text.bytes().enumerate().position(|(place, byte)| {
            depth += i32::from(byte == b'[') - i32::from(byte == b']');
            depth == 0 && text.as_bytes()[place..].starts_with(b"; ")
        });
        match end {
            Some(end) => Self::new(text[..end].to_owned(), text[end + 2..].to_owned()),
            None => Self::new(text, None),
        }
    }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

/// The reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The library's error.
    #[error("{}", library_error(.0, None))]
    Tacit(#[from] tacit::Error),
    /// The command's own error; [`failure`] makes most of them.
    #[error("{explained}")]
    Own {
        /// The category of the failure.
        category: Category,
        /// The problem and the remedy.
        explained: Explained,
    },
    /// Another failure, with further fields of the JSON.
    #[error("{failure}")]
    WithFields {
        failure: Box<Failure>,
        fields: Map<String, Json>,
    },
    /// The reader of standard output has left, which ends the command without an error.
    #[error("the reader of standard output has left")]
    OutputClosed,
}

/// The problem with a file that should be text and is not.
pub(crate) const NOT_TEXT: &str = "is not text in UTF-8; save it as such";

impl Failure {
    fn own(category: Category, text: impl Into<String>) -> Self {
        let explained = text.into().into();
        Self::Own {
            category,
            explained,
        }
    }

    /// Returns the failure for arguments that do not go together, in the library's words.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::own(Category::Usage, text)
    }

    /// Returns the failure for an invalid input or function, in the library's words.
    pub(crate) fn input(text: impl Into<String>) -> Self {
        Self::own(Category::Input, text)
    }

    /// Adds fields to the JSON of the failure, which keeps those that it has.
    pub(crate) fn with_fields(self, mut fields: Map<String, Json>) -> Self {
        let failure = match self {
            Self::WithFields {
                failure,
                fields: own,
            } => {
                fields.extend(own);
                failure
            }
            failure => Box::new(failure),
        };
        Self::WithFields { failure, fields }
    }

    /// Returns the failure for a configuration that cannot be used.
    pub(crate) fn config(path: &Path, reason: &str) -> Self {
        let remedy = config::remedy(reason);
        usage!("{}: {reason}", path.display(); "{remedy}")
    }

    /// Returns the failure for a missing configuration.
    pub(crate) fn no_config(path: &Path) -> Self {
        usage!(
            "{} is not there", path.display();
            "give --config FILE, whose settings `tacit config schema` shows"
        )
    }

    /// Returns the failure for a system that names no home directory.
    pub(crate) fn no_home() -> Self {
        usage!(
            "this system names no home directory to look for tacit.toml in"; "give --config FILE"
        )
    }

    /// Returns the failure for a finding that was already printed with its remedy.
    pub(crate) fn found(category: Category, subject: &str) -> Self {
        Self::own(
            category,
            format!("{subject} is not right; do what stands under it"),
        )
    }

    /// Returns the failure for a system that does not let Ctrl-C be caught.
    pub(crate) fn signal(error: &dyn fmt::Display) -> Self {
        usage!("cannot catch Ctrl-C: {error}"; "run tacit where signals are allowed")
    }

    /// Returns the failure for two computations that must agree and differ: garbled and plain.
    pub(crate) fn wrong_result(what: &str) -> Self {
        input!(
            "{what} is wrong: two computations that must agree differ";
            "please report this, it is a bug of Tacit"
        )
    }

    /// Returns the failure of reading `what`.
    pub(crate) fn read(what: impl Into<String>, reason: io::Error) -> Self {
        let what = what.into();
        match reason.kind() {
            io::ErrorKind::InvalidData => Self::input(format!("{what} {NOT_TEXT}")),
            _ => input!(
                "cannot read {what}: {reason}"; "check that the file exists and is readable"
            ),
        }
    }

    /// Returns the failure of writing the file at `path`.
    pub(crate) fn write(path: &Path, reason: &io::Error) -> Self {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        let remedy = match reason.kind() {
            StorageFull | QuotaExceeded => "free some space",
            _ => "check that the folder exists and is writable",
        };
        input!("cannot write {}: {reason}", path.display(); "{remedy}")
    }

    /// Returns the failure with `more` after the problem.
    pub(crate) fn and(self, more: &str) -> Self {
        match self {
            Self::Own {
                category,
                explained: Explained { what, remedy },
            } => Self::Own {
                category,
                explained: Explained::new(format!("{what}{more}"), remedy),
            },
            other => other,
        }
    }

    /// Returns the failure of writing a new file at `path`, which must not exist.
    pub(crate) fn write_new(path: &Path, reason: &io::Error) -> Self {
        match reason.kind() {
            io::ErrorKind::AlreadyExists => input!(
                "{} already exists and is not overwritten", path.display();
                "choose another name, or remove it first"
            ),
            _ => Self::write(path, reason),
        }
    }

    /// Returns the failure of a standard output that cannot be written to.
    pub(crate) fn output(error: &dyn fmt::Display) -> Self {
        input!("cannot write to standard output: {error}"; "see whether the disk is full")
    }

    /// Returns the failure of writing to standard output, by the kind of the error.
    pub(crate) fn from_output(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::output(&error),
        }
    }

    /// Returns the category of the failure; its number is the exit code.
    pub(crate) fn category(&self) -> Category {
        match self {
            Self::Tacit(error) => error.category(),
            Self::Own { category, .. } => *category,
            Self::WithFields { failure, .. } => failure.category(),
            Self::OutputClosed => Category::Input,
        }
    }

    /// Returns whether the parties may succeed when they meet again: the connection broke, or the
    /// peer is slow or busy for now. A peer that was cancelled or failed on its side does not come
    /// back, and a time limit for everything together is not granted twice.
    pub(crate) fn is_transient(&self) -> bool {
        if let Self::WithFields { failure, .. } = self {
            return failure.is_transient();
        }
        let is_final = matches!(
            self,
            Self::Tacit(
                tacit::Error::Network(NetError::TimeLimit { .. })
                    | tacit::Error::Protocol(tacit::ProtocolError::PeerAborted(
                        AbortReason::Cancelled | AbortReason::Failed
                    ))
            )
        );
        self.category() == Category::Network && !is_final
    }

    /// Returns the failure of a run with the peer's process of this name. An error of the stock
    /// names the process, and a command that starts a new epoch is for that process alone.
    pub(crate) fn in_lane(error: tacit::Error, peer: Option<&str>, lane: Lane) -> Self {
        let advice = error.advice();
        let begins_epoch = advice.remedies().any(|remedy| *remedy == Remedy::NewEpoch);
        let is_of_stock = begins_epoch || error.category() == Category::Stock;
        if lane.is_none() || !is_of_stock {
            return error.into();
        }
        let peer = format!("{} --lane {lane}", peer.unwrap_or("PEER"));
        let remedy = (!advice.is_empty()).then(|| remedy::told(&advice, Some(&peer)));
        let what = format!("with lane {lane} of the peer: {error}");
        Self::Own {
            category: error.category(),
            explained: Explained::new(what, remedy),
        }
    }

    /// Returns the problem and the remedy. A command in the remedy is for `peer`, if the peer is
    /// known.
    fn explained_for(&self, peer: Option<&str>) -> Explained {
        match self {
            Self::Tacit(error) => library_error(error, peer),
            Self::Own { explained, .. } => explained.clone(),
            Self::WithFields { failure, .. } => failure.explained_for(peer),
            Self::OutputClosed => Explained::new(self.to_string(), None),
        }
    }

    /// Returns the problem and the remedy as two texts.
    pub(crate) fn parts(&self, peer: Option<&str>) -> (String, Option<String>) {
        let Explained { what, remedy } = self.explained_for(peer);
        (what, remedy)
    }

    /// Prints the failure for a person on standard error and, if JSON was asked for, for a program
    /// on standard output. A command that it recommends is for `peer`, if the peer is known.
    pub(crate) fn tell(&self, json: bool, peer: Option<&str>) {
        let (what, remedy) = self.parts(peer);
        let mut text = format!("tacit: {what}\n");
        if let Some(remedy) = &remedy {
            text.push_str(&format!("  what to do: {remedy}\n"));
        }
        // The text may contain a file name from somebody else.
        let text = text.split('\n').map(escaped).collect::<Vec<_>>().join("\n");
        // If standard error is closed too, nobody can be told.
        let _ = io::stderr().write_all(text.as_bytes());
        if json {
            let fields = match self {
                Self::WithFields { fields, .. } => fields.clone(),
                _ => Map::new(),
            };
            print_json(self.category(), &what, remedy.as_deref(), fields);
        }
    }
}

/// Returns the library's error with a remedy in the words of the command.
fn library_error(error: &tacit::Error, peer: Option<&str>) -> Explained {
    match error.advice() {
        advice if advice.is_empty() => error.to_string().into(),
        advice => Explained::new(error.to_string(), remedy::told(&advice, peer)),
    }
}

/// Prints the failure as JSON on standard output, for a program, with these fields in the same
/// object.
pub(crate) fn print_json(
    category: Category,
    what: &str,
    remedy: Option<&str>,
    fields: Map<String, Json>,
) {
    let mut error = json!({
        "error": { "exit_code": category as u8, "message": what, "remedy": remedy },
    });
    fields
        .into_iter()
        .for_each(|(name, value)| error[name] = value);
    // If standard output is closed too, nobody can be told.
    let _ = io::stdout().write_all(json_text(error).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The material with the peer's other processes is not lost with that of one.
    #[test]
    fn a_new_epoch_is_for_the_lane_of_the_run() {
        let error = || {
            tacit::Error::from(tacit::stock::StockError::Incompatible {
                file: "index.db".into(),
                found: 1,
                expected: 2,
            })
        };
        let lane = "b".parse().expect("a lane");
        let (what, remedy) = Failure::in_lane(error(), Some("alice"), lane).parts(None);
        let remedy = remedy.expect("a remedy");
        assert!(what.starts_with("with lane b of the peer: "), "{what}");
        let command = "new-epoch --peer alice --lane b`";
        assert!(remedy.contains(command), "{remedy}");
        let alone = Failure::in_lane(error(), Some("alice"), Lane::NONE);
        let (what, remedy) = alone.parts(Some("alice"));
        assert!(!what.contains("lane"), "{what}");
        assert!(remedy.is_some_and(|remedy| remedy.contains("--peer alice`")));
    }

    #[test]
    fn each_kind_has_its_code_and_a_remedy_on_a_line_of_its_own() {
        let path = Path::new("a/b");
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        assert!(
            Failure::write(path, &full())
                .to_string()
                .ends_with("; free some space")
        );
        let exists = io::Error::from(io::ErrorKind::AlreadyExists);
        for (failure, code) in [
            (usage!("this"; "do that"), 2),
            (Failure::config(path, "reason"), 2),
            (Failure::no_config(path), 2),
            (Failure::no_home(), 2),
            (Failure::signal(&"reason"), 2),
            (input!("this"; "do that"), 3),
            (Failure::input("a text of the library; do that"), 3),
            (Failure::read("input a", denied()), 3),
            (Failure::write(path, &denied()), 3),
            (Failure::write(path, &full()), 3),
            (Failure::write_new(path, &exists), 3),
            (Failure::wrong_result("AES-128"), 3),
            (Failure::output(&"reason"), 3),
            (failure!(Incompatible; "this"; "do that"), 5),
            (failure!(Network; "this"; "do that"), 6),
            (failure!(Stock; "this"; "do that"), 7),
            (Failure::from_output(io::ErrorKind::BrokenPipe.into()), 3),
            (Failure::Tacit(tacit::Error::ApiMisuse("x")), 2),
        ] {
            assert_eq!(failure.category() as u8, code, "{failure}");
            let (what, remedy) = failure.parts(None);
            assert!(!what.contains('\n') && !what.is_empty(), "{failure}");
            if matches!(failure, Failure::Own { .. }) {
                let remedy = remedy.expect("what to do");
                assert!(!remedy.contains('\n'), "{failure}");
                assert_eq!(failure.to_string(), format!("{what}; {remedy}"));
            }
        }
    }
}
