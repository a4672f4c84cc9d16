//! The driver: joins a protocol's states to a blocking channel.

use std::time::Duration;

use rand_core::{Rng, UnwrapErr};
use tacit_net::{CancelHandle, Channel, NetError};
use tacit_protocol::message::{AbortReason, Kind};
use tacit_protocol::outsourced::Peer as OutsourcedRole;
use tacit_protocol::party::{Action, OnlyPeer, Party, PeerName, Progress, admit};
use tacit_stock::StockError;
use zeroize::Zeroizing;

use crate::{Category, Error};

/// A secret seed for one party of one run.
pub(crate) fn seed() -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([0; 32]);
    UnwrapErr(getrandom::SysRng).fill_bytes(&mut *seed);
    seed
}

/// Runs `party` over `channel` to its end, and reports progress as it goes.
///
/// # Errors
///
/// The party's error or the channel's. The session tells the peer.
pub(crate) fn drive(
    channel: &mut Channel,
    party: &mut dyn Party,
    watch: &mut dyn FnMut(Progress),
) -> Result<(), Error> {
    match drive_over(&mut [(OnlyPeer, channel)], |error, _| error, party, watch)? {
        Action::Done => Ok(()),
        _ => Err(Error::ApiMisuse("a party of two has nothing to keep")),
    }
}

/// The same over a channel to each peer, until the party is done or has something to
/// [keep](Action::Keep). Returns which. `of_peer` adds to an error the peer that it was with.
pub(crate) fn drive_over<P: PeerName>(
    links: &mut [(P, &mut Channel)],
    of_peer: fn(Error, P) -> Error,
    party: &mut dyn Party<P>,
    watch: &mut dyn FnMut(Progress),
) -> Result<Action<P>, Error> {
    let mut message = Vec::new();
    loop {
        for (_, channel) in &*links {
            channel.check()?;
        }
        let action = party.next(&mut message)?;
        if !matches!(action, Action::Send { .. } | Action::Keep) {
            // Any peer may wait for what was sent to it.
            for (peer, channel) in &mut *links {
                flush(channel).map_err(|error| of_peer(error, *peer))?;
            }
        }
        let done = match action {
            Action::Send { to, kind } => {
                send(to_peer(links, to)?, kind, &message).map_err(|error| of_peer(error, to))
            }
            Action::Receive {
                from,
                kind,
                max_bytes,
            } => await_message(to_peer(links, from)?, kind, max_bytes)
                .and_then(|payload| Ok(party.receive(payload)?))
                .map_err(|error| of_peer(error, from)),
            Action::Continue => Ok(()),
            Action::Keep | Action::Done => return Ok(action),
        };
        done?;
        watch(party.progress());
    }
}

/// The channel to `peer`.
fn to_peer<'l, P: PeerName>(
    links: &'l mut [(P, &mut Channel)],
    peer: P,
) -> Result<&'l mut Channel, Error> {
    let link = links.iter_mut().find(|link| link.0 == peer);
    let (_, channel) = link.ok_or(Error::ApiMisuse("a party has no link to itself"))?;
    Ok(channel)
}

/// Sends one message. Where the peer has closed, its last word is read, which says why.
///
/// # Errors
///
/// The channel's error, or the peer's abort.
pub(crate) fn send(channel: &mut Channel, kind: Kind, payload: &[u8]) -> Result<(), Error> {
    let sent = channel.send(kind.byte(), payload);
    heard(channel, sent)
}

/// Writes out what was sent. Where the peer has closed, its last word is read, which says why.
///
/// # Errors
///
/// The channel's error, or the peer's abort.
pub(crate) fn flush(channel: &mut Channel) -> Result<(), Error> {
    let flushed = channel.flush();
    heard(channel, flushed)
}

fn heard(channel: &mut Channel, sent: Result<(), NetError>) -> Result<(), Error> {
    match sent {
        Err(error @ NetError::Closed { .. }) => Err(last_word(channel).unwrap_or(error.into())),
        sent => Ok(sent?),
    }
}

/// Sends what waits and receives one message of this kind.
///
/// # Errors
///
/// The channel's error, a message that is not due, or the peer's abort.
pub(crate) fn receive(channel: &mut Channel, kind: Kind, max_bytes: usize) -> Result<&[u8], Error> {
    flush(channel)?;
    await_message(channel, kind, max_bytes)
}

fn await_message(channel: &mut Channel, kind: Kind, max_bytes: usize) -> Result<&[u8], Error> {
    let frame = channel.receive(max_bytes.max(1))?;
    admit(kind, max_bytes, frame.kind, frame.payload)?;
    Ok(frame.payload)
}

fn last_word(channel: &mut Channel) -> Option<Error> {
    let frame = channel.receive(Kind::MAX_CONTROL_BYTES).ok()?;
    match admit(Kind::Abort, 1, frame.kind, frame.payload) {
        Err(error @ tacit_protocol::Error::PeerAborted(_)) => Some(error.into()),
        _ => None,
    }
}

/// How long telling the peer that this party stops may take.
const ABORT_AT_MOST: Duration = Duration::from_secs(2);

/// Tells the peer, which of three is `to`, that we stop and why, if it did not stop first.
pub(crate) fn abort(channel: &mut Channel, error: &Error, to: Option<OutsourcedRole>) {
    let Some(reason) = reason(error, to) else {
        return;
    };
    let (timeout, cancel) = (channel.timeout(), channel.cancel_handle());
    channel.set_time_limit(None);
    channel.set_timeout(ABORT_AT_MOST.min(timeout));
    channel.set_cancel_handle(CancelHandle::new());
    // The connection may be gone; then there is nobody to tell.
    let _ = channel
        .send(Kind::Abort.byte(), &[reason.byte()])
        .and_then(|()| channel.flush());
    channel.set_timeout(timeout);
    channel.set_cancel_handle(cancel);
}

/// Why a run ends in `error`, for the peer, which of three is `to`; nothing where it knows.
pub(crate) fn reason(error: &Error, to: Option<OutsourcedRole>) -> Option<AbortReason> {
    let is_others = error.party().is_some_and(|party| Some(party) != to);
    Some(match error.cause() {
        Error::PeerAborted(AbortReason::Incompatible | AbortReason::Pinned) if is_others => {
            AbortReason::Incompatible
        }
        Error::PeerAborted(_) if is_others => AbortReason::OtherParty,
        Error::PeerAborted(_) | Error::SessionOver { .. } => return None,
        error if error.category() == Category::Peer => {
            // To a server it is a word that ends the chain, and to the evaluator that it has ended:
            // neither hears it of the evaluator's own fault, which ends none.
            match is_others && to != Some(OutsourcedRole::Evaluator) {
                true => AbortReason::OtherParty,
                false => AbortReason::Misbehaved,
            }
        }
        Error::PeerIncompatible(difference) => difference.abort_reason(),
        Error::OtherFunction { .. } | Error::ChainsDiffer(_) => AbortReason::Incompatible,
        Error::Network(NetError::Cancelled { .. }) => AbortReason::Cancelled,
        Error::Network(_) if is_others => AbortReason::OtherParty,
        Error::Network(NetError::Timeout { .. } | NetError::TimeLimit { .. }) => {
            AbortReason::TimedOut
        }
        Error::Stock(error) => match **error {
            StockError::Full { .. } => AbortReason::NoRoom,
            StockError::DiskFull { .. } => AbortReason::DiskFull,
            _ => AbortReason::Failed,
        },
        Error::StockLacks { .. } => AbortReason::NothingInStock,
        _ => AbortReason::Failed,
    })
}
