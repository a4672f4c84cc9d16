//! A chain in a run of the two parties that keep it: what both are agreed on before the run takes
//! anything.

use tacit_function::Function;
use tacit_protocol::Misbehaviour;
use tacit_protocol::message::Kind;
use tacit_protocol::saved::{SavedState, StoredChain, StoredValue};
use tacit_protocol::session::RunTag;

use super::{ChainInUse, Opened, OtherKeeper as _, Past, User};
use crate::{Error, Session};

/// What both are agreed on.
pub(crate) struct Agreed<C, V> {
    pub(crate) kept: ChainInUse,
    pub(crate) past: Past<C, V>,
    /// The run's tag, from there on.
    pub(crate) tag: RunTag,
}

impl<C: StoredChain, V: StoredValue> Agreed<C, V> {
    /// Brings the chain to where both parties have it, makes the next attempt durable, and checks
    /// that both would load the same. `state` says what this party would.
    pub(crate) fn on(
        opened: Opened<'_>,
        (function, tag): (&Function, RunTag),
        session: &mut Session,
        state: impl FnOnce(&Past<C, V>) -> SavedState,
    ) -> Result<Self, Error> {
        let (kept, past) = ChainInUse::begin(opened, function, User::Keepers, session)?;
        let ours = state(&past);
        let told = session.exchange(Kind::SavedState, &ours.to_bytes(), SavedState::BYTES)?;
        let theirs = SavedState::parse(&told).ok_or(Misbehaviour::InvalidField {
            kind: Kind::SavedState,
            field: "state",
        })?;
        ours.check(&theirs)?;
        let tag = tag.on(&ours);
        Ok(Self { kept, past, tag })
    }
}
