//! Offers: a peer asks what the listening party offers it, before a run or between two.

use tacit_circuit::Digest;
use tacit_function::Role;
use tacit_garble::SchemeId;
use tacit_protocol::message::Kind;
use tacit_protocol::party::admit;
use tacit_protocol::session::{Proposal, ProtocolId};
use tacit_protocol::{Error as ProtocolError, Incompatibility, Misbehaviour};

use super::{Session, Side};
use crate::Error;
use crate::driver::{flush, send};

/// The most bytes of an answer.
pub const MAX_OFFERS_BYTES: usize = 8 << 20;

impl Session {
    /// Asks what the peer offers, if this party connected. The answer is JSON of at most
    /// [`MAX_OFFERS_BYTES`]. `read` parses it, and returns `None` if it is invalid. This is not a
    /// run, so it costs no oblivious transfer.
    ///
    /// # Errors
    ///
    /// The peer is not a service, refuses to answer or sends an invalid answer. The session is then
    /// spent.
    pub fn ask_offers<T>(&mut self, read: impl FnOnce(&[u8]) -> Option<T>) -> Result<T, Error> {
        if self.side == Side::Listening {
            return Err(Error::ApiMisuse("it is the connecting party that asks"));
        }
        self.guarded(|session| {
            let question = session.question();
            send(&mut session.channel, Kind::Propose, &question.to_bytes())?;
            flush(&mut session.channel)?;
            session.tag()?;
            let frame = session.channel.receive(MAX_OFFERS_BYTES)?;
            // A party that is not a service answers with what it runs.
            if frame.kind == Kind::Accept.byte() {
                let theirs = Proposal::parse(Kind::Accept, frame.payload)?.protocol;
                let ours = ProtocolId::Offers;
                let difference = Incompatibility::Protocol { ours, theirs };
                return Err(ProtocolError::from(difference).into());
            }
            admit(Kind::Offers, MAX_OFFERS_BYTES, frame.kind, frame.payload)?;
            read(frame.payload).ok_or(Misbehaviour::invalid(Kind::Offers, "JSON").into())
        })
    }

    /// Answers a peer that has asked what this party offers, after
    /// [`next_request`](Self::next_request) has returned [`ProtocolId::Offers`].
    ///
    /// # Errors
    ///
    /// The peer has not asked, `offers` is longer than [`MAX_OFFERS_BYTES`], or the peer has left.
    /// The session is then spent.
    pub fn tell_offers(&mut self, offers: &[u8]) -> Result<(), Error> {
        self.guarded(|session| {
            let asked = session.asked.take();
            if asked.is_none_or(|asked| asked.protocol != ProtocolId::Offers) {
                return Err(Error::ApiMisuse("nobody has asked what is offered"));
            }
            if offers.len() > MAX_OFFERS_BYTES {
                return Err(Error::ApiMisuse(
                    "these offers are too long for one message",
                ));
            }
            send(&mut session.channel, Kind::Offers, offers)?;
            flush(&mut session.channel)
        })
    }

    /// Returns the proposal that asks. Only its `protocol` field has a meaning.
    fn question(&self) -> Proposal {
        Proposal {
            role: Role::Evaluator,
            run: self.runs,
            ..Proposal::first(
                ProtocolId::Offers,
                SchemeId::HALF_GATES_TWO_CALL,
                Digest([0; 32]),
            )
        }
    }
}
