//! Sizes of tables, which the parties tell each other before they propose.

use std::collections::BTreeMap;

use tacit_circuit::Digest;
use tacit_function::Role;
use tacit_function::join::OpenParam;
use tacit_net::NetError;
use tacit_protocol::matching::exchange_open_sizes;
use tacit_protocol::message::{AbortReason, Kind};
use tacit_protocol::{Error as ProtocolError, Incompatibility, Misbehaviour};

use super::Session;
use crate::Error;

impl Session {
    /// Sends the peer the values of those open params of a program that this party, `role`,
    /// announces, and receives the peer's. It does so before the session's first run, or before the
    /// next one. `meaning` is the digest of the program with all of them open. `known` has the
    /// values of this party's params. It may also have values of the peer's params, which must then
    /// be what the peer sends. Returns the values of all.
    ///
    /// # Errors
    ///
    /// A value of this party's is missing or out of its range. Or the peer runs another program, or
    /// sends a value that is out of its range or differs from `known`. The session is then spent,
    /// except after an error in this party's own values.
    pub fn tell_sizes(
        &mut self,
        meaning: Digest,
        params: &[OpenParam],
        role: Role,
        known: &BTreeMap<String, u64>,
    ) -> Result<BTreeMap<String, u64>, Error> {
        let mut values = BTreeMap::new();
        let mut own = Vec::new();
        for param in params.iter().filter(|param| param.owner == role) {
            let name = &param.name;
            let Some(value) = known.get(name).copied() else {
                return Err(Error::ApiMisuse("a party knows the sizes of its own table"));
            };
            check_range(param, value)?;
            own.push(value);
            values.insert(name.clone(), value);
        }
        let theirs: Vec<_> = params.iter().filter(|param| param.owner != role).collect();
        let range = |param: &&OpenParam| param.minimum..=param.maximum;
        let ranges: Vec<_> = theirs.iter().map(range).collect();
        self.guarded(|session| {
            session.tag()?;
            let heard = session.take_heard();
            let told = session
                .script(async |io| exchange_open_sizes(io, meaning, &own, &ranges, heard).await);
            let told = told.map_err(|error| {
                if wants_another(&error) {
                    Incompatibility::MatchesNoTables.into()
                } else {
                    error
                }
            })?;
            for (param, told) in theirs.iter().zip(told) {
                let name = param.name.clone();
                if let Some(&ours) = known.get(&name).filter(|ours| **ours != told) {
                    let theirs = told;
                    return Err(Error::OtherSize { name, ours, theirs });
                }
                values.insert(name, told);
            }
            Ok(values)
        })
    }
}

/// Checks that the value of a param is in its range.
fn check_range(param: &OpenParam, value: u64) -> Result<(), Error> {
    if (param.minimum..=param.maximum).contains(&value) {
        return Ok(());
    }
    let OpenParam {
        name,
        minimum,
        maximum,
        ..
    } = param;
    Err(Error::Input(format!(
        "{name} is {value}, and the program takes {minimum} to {maximum}"
    )))
}

/// Whether the peer proposes a run instead of sending sizes, or stops because it expected a
/// proposal.
pub(crate) fn wants_another(error: &Error) -> bool {
    match error {
        Error::Protocol(ProtocolError::PeerMisbehaved(Misbehaviour::UnexpectedMessage {
            found,
            ..
        })) => *found == Kind::Propose,
        Error::Network(NetError::TooLong { kind, .. }) => *kind == Kind::Propose.byte(),
        // A peer that runs a matching sends its sizes before it stops.
        Error::Protocol(ProtocolError::PeerAborted(reason)) => {
            matches!(reason, AbortReason::Misbehaved | AbortReason::Incompatible)
        }
        _ => false,
    }
}

/// Returns the error of a wait for a proposal or an answer in which the peer sends sizes of tables
/// instead.
pub(super) fn of_sizes(error: Error) -> Error {
    let tells_sizes = match &error {
        Error::Network(NetError::TooLong { kind, .. }) => *kind == Kind::MatchSizes.byte(),
        Error::Protocol(ProtocolError::PeerMisbehaved(Misbehaviour::UnexpectedMessage {
            found,
            ..
        })) => *found == Kind::MatchSizes,
        _ => false,
    };
    if tells_sizes {
        return Incompatibility::MatchesTables.into();
    }
    error
}
