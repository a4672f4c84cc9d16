//! The parameters that differ between two parties that want different functions.
//!
//! A proposal has only the digest of a function. So before such a session ends, each party sends
//! the parameters of its own function: text, with a line `name=value` for each. Nothing is decided
//! by it: a peer that lies or sends nothing only changes which of its own parameters this party's
//! error names.

use std::fmt::Write as _;
use std::time::Duration;

use tacit_function::Function;
use tacit_protocol::io::Message;
use tacit_protocol::message::Kind;
use tacit_protocol::{Error as ProtocolError, Incompatibility};

use super::Session;
use crate::Error;
use crate::stock::messages;

/// Sent by both: the parameters of the sender's function.
const PARAMETERS: Message = Message::up_to(Kind::Parameters, Kind::MAX_CONTROL_BYTES);

/// The time in which the peer must send its parameters.
const PATIENCE: Duration = Duration::from_secs(2);

/// A parameter to which the parties gave different values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferingParameter {
    /// The parameter's name.
    pub name: String,
    /// Its value at this party.
    pub ours: u64,
    /// Its value at the peer, according to the peer.
    pub theirs: u64,
}

impl Session {
    /// Completes the error of a peer that wants another function: adds the name of this party's
    /// `function` and the parameters that differ.
    pub(crate) fn naming_difference(&mut self, error: Error, function: &Function) -> Error {
        let Error::Protocol(ProtocolError::PeerIncompatible(Incompatibility::Function {
            ours,
            theirs,
        })) = error
        else {
            return error;
        };
        let own = function.parameters();
        Error::OtherFunction {
            name: name_with_parameters(function).into(),
            ours,
            theirs,
            differing: if own.is_empty() {
                Box::default()
            } else {
                differing(own, &self.swap_parameters(own).unwrap_or_default()).into()
            },
        }
    }

    /// Sends this party's parameters and receives the peer's as text.
    fn swap_parameters(&mut self, own: &[(String, u64)]) -> Result<String, Error> {
        let mut text = String::new();
        for (name, value) in own {
            let _ = writeln!(text, "{name}={value}");
        }
        if text.len() > Kind::MAX_CONTROL_BYTES {
            return Ok(String::new());
        }
        let timeout = self.channel.timeout();
        self.channel.set_timeout(PATIENCE.min(timeout));
        let told = self.exchange(async |io| {
            messages::send(io, PARAMETERS, text.as_bytes())?;
            let told = io.receive(PARAMETERS).await?;
            Ok(String::from_utf8_lossy(told).into_owned())
        });
        self.channel.set_timeout(timeout);
        told
    }
}

/// Returns the parameters of `own` that have another value in the peer's message.
fn differing(own: &[(String, u64)], told: &str) -> Vec<DifferingParameter> {
    let lines = told.lines().filter_map(|line| line.split_once('='));
    let differing = lines.filter_map(|(name, value)| {
        let theirs = value.parse().ok()?;
        let (name, ours) = own.iter().find(|(own, _)| own == name)?;
        (*ours != theirs).then(|| DifferingParameter {
            name: name.clone(),
            ours: *ours,
            theirs,
        })
    });
    let mut found: Vec<DifferingParameter> = Vec::new();
    for parameter in differing {
        // A second value for the same parameter is ignored.
        if found.iter().all(|known| known.name != parameter.name) {
            found.push(parameter);
        }
    }
    found
}

fn name_with_parameters(function: &Function) -> String {
    let mut text = function.name().to_owned();
    for (name, value) in function.parameters() {
        let _ = write!(text, " {name}={value}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The peer's message only selects among this party's own names.
    #[test]
    fn what_a_peer_tells_names_own_parameters_alone() {
        let own = [("n".to_owned(), 3), ("m".to_owned(), 4)];
        let found = |told: &str| {
            let found = differing(&own, told).into_iter();
            let found = found.map(|one| (one.name, one.theirs));
            found.collect::<Vec<_>>()
        };
        let (n, m) = (("n".to_owned(), 5), ("m".to_owned(), 6));
        assert_eq!(found("n=5\nm=6\n"), [n.clone(), m]);
        assert_eq!(found("n=3\nm=4\n"), []);
        assert_eq!(found("n=5\nn=7\n\u{1b}[31m=1\nm=x\nk=2\n="), [n]);
        assert_eq!(found(""), []);
    }
}
