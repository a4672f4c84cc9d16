//! The driver: joins a protocol's states to a blocking channel.

use std::borrow::Cow;
use std::task::Poll;
use std::time::Duration;

use rand_core::{Rng, UnwrapErr};
use tacit_net::{CancelHandle, Channel, NetError};
use tacit_protocol::Error as ProtocolError;
use tacit_protocol::io::{Io, SharedBytes, Wire, complete};
use tacit_protocol::message::{AbortReason, Kind};
use tacit_protocol::outline::FRAME_BYTES;
use tacit_protocol::outsourced::Peer as OutsourcedRole;
use tacit_protocol::party::{OnlyPeer, PeerName, Progress, admit};
use tacit_stock::{OfProcess, StockError};
use zeroize::Zeroizing;

use crate::{Category, Error};

/// The planner and the channel must agree on the overhead of a frame.
const _: () = assert!(FRAME_BYTES == tacit_net::FRAME_BYTES as u64);

/// A door and a session must agree on the kind of an introduction.
const _: () = assert!(Kind::Introduction as u8 == tacit_net::tls::INTRODUCTION);

/// The error of a session in a process that was forked from the one that opened it.
pub(crate) const FORKED: Error =
    Error::ApiMisuse("a session serves the process that opened it; open one after the fork");

/// Draws a secret seed for one party of one run.
pub(crate) fn seed() -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([0; 32]);
    UnwrapErr(getrandom::SysRng).fill_bytes(&mut *seed);
    seed
}

/// Runs `script` over `channel` to its end in one poll, and reports progress as it goes.
///
/// # Errors
///
/// The script's error or the channel's. The session tells the peer.
pub fn run_script<T>(
    channel: &mut Channel,
    watch: &mut dyn FnMut(Progress),
    script: impl AsyncFnOnce(&mut Io<'_>) -> Result<T, ProtocolError>,
) -> Result<T, Error> {
    run_script_over(&mut [(OnlyPeer, channel)], |error, _| error, watch, script)
}

/// Runs `script` like [`run_script`], without progress. Calls `heard` for each message before the
/// script sees it.
pub(crate) fn run_script_hearing<T>(
    channel: &mut Channel,
    heard: &mut dyn FnMut(),
    script: impl AsyncFnOnce(&mut Io<'_>) -> Result<T, ProtocolError>,
) -> Result<T, Error> {
    run_on(
        Blocking {
            links: &mut [(OnlyPeer, channel)],
            of_peer: |error, _| error,
            watch: &mut |_| (),
            heard,
            process: OfProcess::default(),
            failure: None,
        },
        script,
    )
}

/// Runs `script` like [`run_script`], over a channel to each peer. `of_peer` adds the peer in whose
/// channel an error occurred.
pub(crate) fn run_script_over<P: PeerName, T>(
    links: &mut [(P, &mut Channel)],
    of_peer: fn(Error, P) -> Error,
    watch: &mut dyn FnMut(Progress),
    script: impl AsyncFnOnce(&mut Io<'_, P>) -> Result<T, ProtocolError>,
) -> Result<T, Error> {
    run_on(
        Blocking {
            links,
            of_peer,
            watch,
            heard: &mut || (),
            process: OfProcess::default(),
            failure: None,
        },
        script,
    )
}

/// Runs an exchange of a session to its end in one poll. Its last messages are written out only
/// with what the session sends next.
pub(crate) fn run_exchange<T>(
    channel: &mut Channel,
    script: impl AsyncFnOnce(&mut Io<'_>) -> Result<T, ProtocolError>,
) -> Result<T, Error> {
    run_unflushed(
        &mut Blocking {
            links: &mut [(OnlyPeer, channel)],
            of_peer: |error, _| error,
            watch: &mut |_| (),
            heard: &mut || (),
            process: OfProcess::default(),
            failure: None,
        },
        script,
    )
}

fn run_on<P: PeerName, T>(
    mut wire: Blocking<'_, '_, P>,
    script: impl AsyncFnOnce(&mut Io<'_, P>) -> Result<T, ProtocolError>,
) -> Result<T, Error> {
    let outcome = run_unflushed(&mut wire, script)?;
    wire.flush()?;
    Ok(outcome)
}

fn run_unflushed<P: PeerName, T>(
    wire: &mut Blocking<'_, '_, P>,
    script: impl AsyncFnOnce(&mut Io<'_, P>) -> Result<T, ProtocolError>,
) -> Result<T, Error> {
    let of_peer = wire.of_peer;
    let mut io = Io::new(wire);
    let ended = complete(script(&mut io));
    let from = io.from();
    match (ended, wire.failure.take()) {
        (_, Some(failure)) => Err(failure),
        (Ok(outcome), None) => Ok(outcome),
        (Err(error), None) => Err(match from {
            Some(from) => of_peer(error.into(), from),
            None => error.into(),
        }),
    }
}

/// A channel to each peer, in the form in which a script sends and receives. Its calls block.
struct Blocking<'a, 'c, P> {
    links: &'a mut [(P, &'c mut Channel)],
    of_peer: fn(Error, P) -> Error,
    watch: &'a mut dyn FnMut(Progress),
    heard: &'a mut dyn FnMut(),
    /// The process that runs the script. `watch` and `heard` may fork.
    process: OfProcess<()>,
    /// The channel's error, for which [`ProtocolError::Wire`] stands.
    failure: Option<Error>,
}

impl<P: PeerName> Blocking<'_, '_, P> {
    /// Flushes the channels to all peers, since any of them may be waiting.
    fn flush(&mut self) -> Result<(), Error> {
        for (peer, channel) in &mut *self.links {
            flush(channel).map_err(|error| (self.of_peer)(error, *peer))?;
        }
        Ok(())
    }

    /// Checks that the run is neither cancelled nor out of time, and not in a process that was
    /// forked since it began.
    fn check(&self) -> Result<(), Error> {
        self.process.get().ok_or(FORKED)?;
        for (_, channel) in &*self.links {
            channel.check()?;
        }
        Ok(())
    }

    /// Stores the error of a channel.
    fn note<T>(&mut self, moved: Result<T, Error>) -> Result<T, ProtocolError> {
        moved.map_err(|error| {
            self.failure = Some(error);
            ProtocolError::Wire
        })
    }
}

impl<P: PeerName> Wire<P> for Blocking<'_, '_, P> {
    fn send(&mut self, to: P, kind: Kind, payload: &[u8]) -> Result<(), ProtocolError> {
        let of_peer = self.of_peer;
        let sent = self.check().and_then(|()| {
            let sent = send(to_peer(self.links, to)?, kind, payload);
            sent.map_err(|error| of_peer(error, to))
        });
        self.note(sent)
    }

    fn send_shared(
        &mut self,
        to: P,
        kind: Kind,
        parts: Vec<SharedBytes>,
    ) -> Result<(), ProtocolError> {
        let of_peer = self.of_peer;
        let sent = self.check().and_then(|()| {
            let channel = to_peer(self.links, to)?;
            let sent = channel.send_shared(kind.byte(), parts);
            heard(channel, sent).map_err(|error| of_peer(error, to))
        });
        self.note(sent)
    }

    fn poll_message(&mut self, _from: P) -> Poll<()> {
        Poll::Ready(())
    }

    fn receive_given(
        &mut self,
        from: P,
        (kind, max_bytes): (Kind, usize),
        spare: &mut Vec<u8>,
    ) -> Result<Cow<'_, [u8]>, ProtocolError> {
        let flushed = self.check().and_then(|()| self.flush());
        self.note(flushed)?;
        let received = to_peer(self.links, from)
            .and_then(|channel| {
                let (found, payload) = channel.receive_given(max_bytes.max(1), spare)?;
                admit(kind, max_bytes, found, &payload)?;
                Ok(payload)
            })
            .inspect(|_| (self.heard)())
            .map_err(|error| (self.of_peer)(error, from));
        received.map_err(|error| {
            self.failure = Some(error);
            ProtocolError::Wire
        })
    }

    fn receive(&mut self, from: P, kind: Kind, max_bytes: usize) -> Result<&[u8], ProtocolError> {
        let flushed = self.check().and_then(|()| self.flush());
        self.note(flushed)?;
        let received = to_peer(self.links, from)
            .and_then(|channel| await_message(channel, kind, max_bytes))
            .inspect(|_| (self.heard)())
            .map_err(|error| (self.of_peer)(error, from));
        received.map_err(|error| {
            self.failure = Some(error);
            ProtocolError::Wire
        })
    }

    fn poll_breathe(&mut self) -> Poll<Result<(), ProtocolError>> {
        let flushed = self.check().and_then(|()| self.flush());
        Poll::Ready(self.note(flushed))
    }

    fn progressed(&mut self, progress: Progress) {
        (self.watch)(progress);
    }
}

/// Returns the channel to `peer`.
fn to_peer<'l, P: PeerName>(
    links: &'l mut [(P, &mut Channel)],
    peer: P,
) -> Result<&'l mut Channel, Error> {
    let link = links.iter_mut().find(|link| link.0 == peer);
    let (_, channel) = link.ok_or(Error::ApiMisuse("a party has no link to itself"))?;
    Ok(channel)
}

/// Sends one message. If the peer has closed the channel, reads its last message, which says why.
pub(crate) fn send(channel: &mut Channel, kind: Kind, payload: &[u8]) -> Result<(), Error> {
    let sent = channel.send(kind.byte(), payload);
    heard(channel, sent)
}

/// Flushes the channel. If the peer has closed it, reads its last message, which says why.
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

/// Flushes the channel and receives one message of this kind.
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

/// The longest time that telling the peer about an abort may take.
const ABORT_AT_MOST: Duration = Duration::from_secs(2);

/// Tells the peer that this party stops and why, unless the peer stopped first. `to` is the peer's
/// role in a run of three parties.
pub(crate) fn abort(channel: &mut Channel, error: &Error, to: Option<OutsourcedRole>) {
    let Some(reason) = reason(error, to) else {
        return;
    };
    let (timeout, cancel) = (channel.timeout(), channel.cancel_handle());
    channel.set_time_limit(None);
    channel.set_timeout(ABORT_AT_MOST.min(timeout));
    channel.set_cancel_handle(CancelHandle::new());
    // If the connection is gone, there is nobody to tell.
    let _ = channel
        .send(Kind::Abort.byte(), &[reason.byte()])
        .and_then(|()| channel.flush());
    channel.set_timeout(timeout);
    channel.set_cancel_handle(cancel);
}

/// Returns the reason to give the peer when a run ends in `error`, or `None` if the peer knows.
/// `to` is the peer's role in a run of three parties.
pub(crate) fn reason(error: &Error, to: Option<OutsourcedRole>) -> Option<AbortReason> {
    let is_others = error.party().is_some_and(|party| Some(party) != to);
    Some(match error.cause() {
        Error::Protocol(ProtocolError::PeerAborted(
            AbortReason::Incompatible | AbortReason::Pinned,
        )) if is_others => AbortReason::Incompatible,
        Error::Protocol(ProtocolError::PeerAborted(_)) if is_others => AbortReason::OtherParty,
        Error::Protocol(ProtocolError::PeerAborted(_)) | Error::SessionOver { .. } => return None,
        error if error.category() == Category::Peer => {
            // `Misbehaved` makes a server end the chain, and tells the evaluator that the chain has
            // ended. The servers must not hear it when the evaluator misbehaved, since that ends no
            // chain.
            if is_others && to != Some(OutsourcedRole::Evaluator) {
                AbortReason::OtherParty
            } else {
                AbortReason::Misbehaved
            }
        }
        Error::Protocol(ProtocolError::PeerIncompatible(difference)) => difference.abort_reason(),
        Error::TooManyPeerKeys { .. } => AbortReason::TooLarge,
        Error::OtherFunction { .. } | Error::OtherSize { .. } | Error::ChainsDiffer { .. } => {
            AbortReason::Incompatible
        }
        Error::ChainElsewhere { .. } => AbortReason::OtherLane,
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

#[cfg(test)]
mod tests {
    use std::io::Read;

    use tacit_net::memory;

    use super::*;

    /// A callback may fork, after which both processes have the run.
    #[test]
    fn a_run_goes_on_in_its_own_process_alone() {
        let (mut channel, mut other) = memory::pair_with_raw();
        let mut wire = Blocking {
            links: &mut [(OnlyPeer, &mut channel)],
            of_peer: |error, _| error,
            watch: &mut |_| (),
            heard: &mut || (),
            process: OfProcess::default(),
            failure: None,
        };
        wire.process.set_as_if_forked();
        assert!(wire.send(OnlyPeer, Kind::Hello, &[0; 48]).is_err());
        assert!(matches!(wire.failure, Some(Error::ApiMisuse(_))));
        drop(channel);
        let mut bytes = Vec::new();
        other.read_to_end(&mut bytes).expect("the end");
        assert!(bytes.is_empty());
    }
}
