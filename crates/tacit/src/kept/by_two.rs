//! A chain in a run of the two parties that keep it: their agreement before the run takes material.

use tacit_function::{Function, Role};
use tacit_protocol::Misbehaviour;
use tacit_protocol::io::{Io, Message};
use tacit_protocol::message::Kind;
use tacit_protocol::saved::{SavedState, StoredChain, StoredValue};
use tacit_protocol::session::RunTag;

use super::{ChainInUse, ChainPlace, ChainUser, MARKS, OtherKeeper, Past};
use crate::protocols::Protocol;
use crate::{Error, Session};

/// Sent by both: chain, version and loads of the run, as the sender has them.
const STATE: Message = Message::exactly(Kind::SavedState, SavedState::BYTES);

/// The place in its chain from which a run of two parties starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainAttempt {
    /// The version that both parties have before the run, or `None` if the run starts the chain.
    pub from: Option<u64>,
    /// The version that the chain has after the run if the run saves something and is kept. A run
    /// that is not kept uses up its number, so versions that follow each other can lie apart.
    pub keeps: u64,
}

impl Session {
    /// Returns the place in its chain from which the latest run started, if the parties came to
    /// agree on one. After a run that failed, the party's record of the chain tells by these two
    /// versions whether the run was kept.
    pub fn chain_attempt(&self) -> Option<ChainAttempt> {
        self.chain_attempt
    }
}

/// A chain on which both parties have agreed.
pub(crate) struct Agreed<C, V> {
    pub(crate) kept: ChainInUse,
    pub(crate) past: Past<C, V>,
    /// The run's tag, which covers the chain.
    pub(crate) tag: RunTag,
}

/// The other party, whose first message may have been heard before this party had its chain.
struct OtherParty<'s> {
    session: &'s mut Session,
    first: Option<Vec<u8>>,
}

impl OtherKeeper for OtherParty<'_> {
    fn name(&self) -> &'static str {
        self.session.name()
    }

    fn swap(&mut self, message: Message, ours: &[u8]) -> Result<Vec<u8>, Error> {
        match self.first.take() {
            None => self.session.swap(message, ours),
            Some(theirs) => self.session.exchange(async |io| {
                io.message().clear();
                io.message().extend_from_slice(ours);
                io.send(message)?;
                Ok(theirs)
            }),
        }
    }

    fn blame(&self, error: Error) -> Error {
        self.session.blame(error)
    }
}

impl<C: StoredChain, V: StoredValue> Agreed<C, V> {
    /// Brings the chain to the attempt that both parties reach, makes that attempt durable, and
    /// checks that both would load the same. `state` returns what this party would load.
    ///
    /// While another run of this party has the chain, waits up to the time limit for a message. The
    /// evaluator takes its chain before it sends anything, and the garbler takes its own after it
    /// has heard from the evaluator. Otherwise two runs that hold one of the two chains each would
    /// wait for each other.
    pub(crate) fn on(
        place: &ChainPlace,
        (function, tag): (&Function, RunTag),
        session: &mut Session,
        role: (Protocol, Role),
        state: impl FnOnce(&Past<C, V>) -> SavedState,
    ) -> Result<Self, Error> {
        session.check_chain_home(&place.name)?;
        let first = match role.1 {
            Role::Evaluator => None,
            Role::Garbler => {
                let told = async |io: &mut Io<'_>| Ok(io.receive(MARKS).await?.to_vec());
                Some(session.exchange(told)?)
            }
        };
        let located = super::locate(Some(place), function, session.keepers(), role)?;
        let located = located.ok_or(Error::ApiMisuse("a run of a chain names it"))?;
        let opened = located.take(session)?;
        let mut other = OtherParty { session, first };
        let (kept, past) = ChainInUse::begin(opened, function, ChainUser::Keepers, &mut other)?;
        other.session.chain_attempt = Some(ChainAttempt {
            from: kept.agreed.latest,
            keeps: kept.new_version(),
        });
        let ours = state(&past);
        let told = other.swap(STATE, &ours.to_bytes())?;
        let theirs =
            SavedState::parse(&told).ok_or(Misbehaviour::invalid(Kind::SavedState, "state"))?;
        ours.check(&theirs)?;
        let tag = tag.on(&ours);
        Ok(Self { kept, past, tag })
    }
}
