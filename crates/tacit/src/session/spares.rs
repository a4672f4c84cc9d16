//! Base OTs that parties keep from one session for later ones.
//!
//! | what the parties say | this session's base OTs |
//! |---|---|
//! | both name the same set of a batch | that set, which both have taken out of what they keep |
//! | both keep base OTs, and no set serves | the first set of a batch that they make |
//! | one of them keeps none | fresh ones |
//!
//! A set leaves what is kept before anything that rests on it is sent. Where parties differ, since
//! one of them crashed, went back or forgot, a batch is made, and takes the place of the old one.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand_core::UnwrapErr;
use sha2::{Digest as _, Sha256};
use tacit_circuit::Role;
use tacit_net::Fingerprint;
use tacit_ot::spare::{self, Batch, BatchName, SpareSet};
use tacit_ot::{Security, SessionTag};
use tacit_protocol::prepared::{ChoosingOts, OfferingOts};
use tacit_protocol::session::{Proposal, ProtocolId, SpareAgreement, SpareOffer};
use tacit_protocol::setup::{EvaluatorSetup, GarblerSetup, OtSettings};
use tacit_stock::WhichSet;

use super::Session;
use crate::{BaseOt, Error, Stocks};

/// Base OTs that this party keeps for later sessions with the same peers: in memory
/// ([`KeptOts::default`]) or next to its stocks ([`KeptOts::in_stocks`]). Clones share them, and
/// any number of sessions take from them at the same time.
///
/// A batch serves [`SETS`](spare::SETS) sessions of two identities in the same roles, and takes up
/// to 256 KiB. What is kept gives the base OTs of sessions that have not begun, and nothing of
/// others.
#[derive(Clone, Default)]
pub struct KeptOts(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    /// Where they are kept, if not here.
    stocks: Option<tacit_stock::Stocks>,
    batches: HashMap<SpareName, Batch>,
    /// Those of which a session makes a batch.
    making: HashSet<SpareName>,
}

/// Whose base OTs are kept, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SpareName {
    own: Fingerprint,
    peer: Fingerprint,
    /// What this party is in the runs.
    role: Role,
    base: BaseOt,
}

/// What a session does for its next base OTs.
pub(super) enum Spare {
    Take(SpareSet),
    Make(SpareName, Option<Making>),
}

/// What a party that connected has offered.
#[derive(Default)]
pub(super) struct Offered {
    pub(super) offer: SpareOffer,
    name: Option<SpareName>,
    set: Option<SpareSet>,
    making: Option<Making>,
}

/// The right to make a batch, which other sessions then do not make.
pub(super) struct Making {
    kept: KeptOts,
    name: SpareName,
}

impl Drop for Making {
    fn drop(&mut self) {
        self.kept.lock().making.remove(&self.name);
    }
}

impl SpareName {
    /// What names them on the disk.
    fn digest(&self) -> [u8; 32] {
        let hash = Sha256::new_with_prefix(b"tacit spare base OTs\0")
            .chain_update(self.own.0)
            .chain_update(self.peer.0)
            .chain_update(self.role.name())
            .chain_update([0])
            .chain_update(self.base.name());
        hash.finalize().into()
    }
}

impl Kept {
    /// Takes a set, which is then kept nowhere. What cannot be read or overwritten is not there.
    fn take(&mut self, name: SpareName, which: WhichSet) -> Option<(SpareOffer, SpareSet)> {
        let (batch, number, set) = match &self.stocks {
            Some(stocks) => {
                let taken = stocks.take_set(&name.digest(), which).ok()??;
                let set = SpareSet::from_bytes(&taken.secret)?;
                (taken.batch, taken.number, set)
            }
            None => {
                let batch = self.batches.get_mut(&name)?;
                let number = match which {
                    WhichSet::First => batch.left().next(),
                    WhichSet::Last => batch.left().next_back(),
                    WhichSet::Named { batch: of, number } => (of == batch.name()).then_some(number),
                }?;
                (batch.name(), number, batch.take(number)?)
            }
        };
        Some((SpareOffer::Set { batch, number }, set))
    }

    /// Keeps a batch in place of another.
    fn put(&mut self, name: SpareName, batch: Batch) {
        let Some(stocks) = &self.stocks else {
            self.batches.insert(name, batch);
            return;
        };
        // Where the disk takes nothing, nothing is kept, and a later session makes a batch anew.
        let _ = stocks.put_sets(&name.digest(), batch.name(), &batch.to_bytes());
    }
}

impl KeptOts {
    /// Base OTs that are kept in the folder of `stocks`, for all processes that open it.
    #[must_use]
    pub fn in_stocks(stocks: &Stocks) -> Self {
        let kept = Kept {
            stocks: Some(stocks.stocks.clone()),
            ..Kept::default()
        };
        Self(Arc::new(Mutex::new(kept)))
    }

    /// Forgets what is kept in memory with all peers but these.
    pub fn retain(&self, peers: &[Fingerprint]) {
        let mut kept = self.lock();
        kept.batches.retain(|name, _| peers.contains(&name.peer));
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What this party, which connected, offers. Parties that connect to each other in the same
    /// roles begin at different ends.
    fn offer(&self, name: SpareName) -> Offered {
        let mut kept = self.lock();
        let next = match name.role {
            Role::Garbler => WhichSet::First,
            Role::Evaluator => WhichSet::Last,
        };
        let (offer, set) = kept.take(name, next).unzip();
        let making = (set.is_none() && kept.making.insert(name)).then(|| Making {
            kept: self.clone(),
            name,
        });
        let wanted = making.as_ref().map(|_| SpareOffer::Wanted);
        Offered {
            offer: offer.or(wanted).unwrap_or_default(),
            name: Some(name),
            set,
            making,
        }
    }

    /// What this party, which listened, answers to `offer`, and what the session does then.
    fn answer(&self, name: SpareName, offer: SpareOffer) -> (SpareOffer, Option<Spare>) {
        let mut kept = self.lock();
        if let SpareOffer::Set { batch, number } = offer
            && let Some((_, set)) = kept.take(name, WhichSet::Named { batch, number })
        {
            return (offer, Some(Spare::Take(set)));
        }
        if offer == SpareOffer::None || !kept.making.insert(name) {
            return (SpareOffer::None, None);
        }
        let kept = self.clone();
        let making = Making { kept, name };
        (SpareOffer::Wanted, Some(Spare::Make(name, Some(making))))
    }

    /// Forgets a batch that the peer does not have, so that no other session names it.
    fn forget(&self, name: SpareName, batch: BatchName) {
        let mut kept = self.lock();
        let there = kept.batches.get(&name);
        if there.is_some_and(|there| there.name() == batch) {
            kept.batches.remove(&name);
        }
    }
}

impl Session {
    /// Takes base OTs from `kept` where the peer has the other half, and else makes a batch of them
    /// for this session and later ones, if the peer keeps base OTs as well. It is for runs of
    /// `direct`; the other protocols make base OTs once an order, a run of three or a session.
    pub fn keep_ots(&mut self, kept: &KeptOts) {
        self.transfers.kept = Some(kept.clone());
    }

    /// Where base OTs for a run are kept, if the run makes some.
    fn spare_name(&self, run: &Proposal) -> Option<(KeptOts, SpareName)> {
        let is_set_up = self.transfers.is_set_up(run.role);
        if run.protocol != ProtocolId::Direct || is_set_up {
            return None;
        }
        let (own, peer) = self.own().zip(self.peer())?;
        let name = SpareName {
            own,
            peer,
            role: run.role,
            base: run.base_ot,
        };
        Some((self.transfers.kept.clone()?, name))
    }

    /// What this party, which connected, offers for a run.
    pub(super) fn offer_spare(&self, run: &Proposal) -> Offered {
        let kept = self.spare_name(run);
        kept.map_or_else(Offered::default, |(kept, name)| kept.offer(name))
    }

    /// Takes what the peer answered to the offer for a run.
    pub(super) fn settle_spare(
        &mut self,
        offered: Offered,
        answer: SpareOffer,
    ) -> Result<(), Error> {
        let agreement = offered.offer.agreement(answer)?;
        self.transfers.spare = match (agreement, offered.name) {
            (SpareAgreement::Take, _) => offered.set.map(Spare::Take),
            (SpareAgreement::Make, Some(name)) => {
                if let (SpareOffer::Set { batch, .. }, Some(kept)) =
                    (offered.offer, &self.transfers.kept)
                {
                    kept.forget(name, batch);
                }
                Some(Spare::Make(name, offered.making))
            }
            _ => None,
        };
        Ok(())
    }

    /// What this party, which listened, answers to the peer's offer for a run.
    pub(super) fn answer_spare(&mut self, run: &Proposal, offer: SpareOffer) -> SpareOffer {
        let Some((kept, name)) = self.spare_name(run) else {
            return SpareOffer::None;
        };
        let (answer, spare) = kept.answer(name, offer);
        self.transfers.spare = spare;
        answer
    }

    /// The base OTs that were agreed on, if they are not to be fresh ones.
    pub(super) fn spare_set(&mut self) -> Result<Option<SpareSet>, Error> {
        match self.transfers.spare.take() {
            None => Ok(None),
            Some(Spare::Take(set)) => Ok(Some(set)),
            Some(Spare::Make(name, making)) => {
                let mut batch = self.make_batch(name)?;
                let first = batch.take(0);
                if let Some(kept) = &self.transfers.kept {
                    kept.lock().put(name, batch);
                }
                drop(making);
                Ok(first)
            }
        }
    }

    /// Makes a batch: base OTs with the roles exchanged, and the extension over them, which
    /// withstands a malicious peer.
    fn make_batch(&mut self, name: SpareName) -> Result<Batch, Error> {
        let connecting_role = self.connecting_role(name.role);
        let tag = self.tag()?.spare_setup(connecting_role, name.base);
        let settings = OtSettings {
            extension: spare::extension(),
            ..self.ot_settings()
        };
        let mut rng = UnwrapErr(getrandom::SysRng);
        match name.role {
            Role::Garbler => {
                let setup = EvaluatorSetup::with(settings, &tag, &mut rng)?;
                let mut setup = setup.secured(Security::Malicious);
                self.move_messages(&mut setup)?;
                let (mut ot, choices) = (setup.finish()?, spare::random_choices(&mut rng));
                let mut making = ChoosingOts::new(&mut ot, choices.clone());
                self.move_messages(&mut making)?;
                let tag = SessionTag::new(*tag.as_bytes());
                Ok(Batch::chosen(&tag, &choices, making.finish()?))
            }
            Role::Evaluator => {
                let setup = GarblerSetup::with(settings, &tag, &mut rng)?;
                let mut setup = setup.secured(Security::Malicious);
                self.move_messages(&mut setup)?;
                let mut ot = setup.finish()?;
                let mut making = OfferingOts::new(&mut ot, spare::OTS);
                self.move_messages(&mut making)?;
                let q = making.finish()?;
                Ok(ot.into_spares(&tag, q)?)
            }
        }
    }
}
