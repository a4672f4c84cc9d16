//! Base OTs that parties keep from one session for later ones.
//!
//! | what the parties say | this session's base OTs |
//! |---|---|
//! | both name the same set of a batch | that set, which both have taken out of what they keep |
//! | both keep base OTs, and no set serves | the first set of a batch that they make |
//! | one of them keeps none, or cannot now | fresh ones |
//!
//! A set leaves what is kept before anything that rests on it is sent. Where parties differ, since
//! one of them crashed, went back or forgot, a batch is made, and takes the place of the old one.

mod listed;

use std::collections::{HashMap, HashSet};
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use std::time::Duration;

use rand_core::UnwrapErr;
use tacit_function::Role;
use tacit_net::Fingerprint;
use tacit_ot::spare::{self, Batch, BatchName, SpareSet};
use tacit_ot::{Security, SessionTag};
use tacit_protocol::prepared::{ChoosingOts, OfferingOts};
use tacit_protocol::session::{Proposal, ProtocolId, SpareAgreement, SpareOffer, base_ot_byte};
use tacit_protocol::setup::{EvaluatorSetup, GarblerSetup, OtSettings};
use tacit_stock::{OfProcess, PeerId, SchemeId, StockError, StockId, WhichSet};

pub use listed::KeptBaseOts;

use super::Session;
use crate::Error;
use crate::session::BaseOt;
use crate::stock::{Stocks, stock_role};

/// How long to wait for other processes that open the folder.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
const OPEN_AT_MOST: Duration = Duration::from_secs(1);

/// Base OTs that this party keeps for later sessions with the same peers: in memory
/// ([`KeptOts::default`]) or next to its stocks ([`KeptOts::open`], [`KeptOts::in_stocks`]). Clones
/// share them, and any number of sessions take from them at the same time.
///
/// A batch serves [`SETS`](spare::SETS) sessions of two identities in the same roles, and takes up
/// to 256 KiB. What is kept gives the base OTs of sessions that have not started, and nothing of
/// others.
#[derive(Clone, Default)]
pub struct KeptOts(Arc<OtStore>);

#[derive(Default)]
struct OtStore {
    /// Where they are kept, if not in memory.
    stocks: Option<tacit_stock::Stocks>,
    /// Nothing waits for a disk while it has this lock.
    memory: Mutex<InMemory>,
}

#[derive(Default)]
struct InMemory {
    held: OfProcess<Held>,
    /// With whom base OTs are kept alone, once that was said.
    only: Option<HashSet<Fingerprint>>,
}

/// What one process has.
#[derive(Default)]
struct Held {
    batches: HashMap<SpareName, Batch>,
    /// Those of which a session makes a batch.
    making: HashSet<SpareName>,
}

/// Where the base OTs of a run come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BaseOtSource {
    /// They were made for the session alone.
    Fresh,
    /// They were made for the session together with those of later ones, which are kept.
    Batch,
    /// An earlier session of the same parties made them.
    Kept,
}

impl BaseOtSource {
    /// Its name in JSON: `fresh`, `batch` or `kept`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Batch => "batch",
            Self::Kept => "kept",
        }
    }
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
        self.kept.lock().held().making.remove(&self.name);
    }
}

impl SpareName {
    /// What names them on the disk.
    fn id(&self) -> StockId {
        StockId {
            own: PeerId(self.own.0),
            peer: PeerId(self.peer.0),
            role: stock_role(self.role),
            scheme: SchemeId([b'o', b't', b's', base_ot_byte(self.base)]),
        }
    }
}

impl KeptOts {
    /// Base OTs that are kept in the folder of `stocks`, for all processes that open it.
    #[must_use]
    pub fn in_stocks(stocks: &Stocks) -> Self {
        Self::over(stocks.stocks.clone())
    }

    /// Base OTs that are kept in the folder of this party's stocks, which is made if it does not
    /// exist. As sessions can do without what is kept, other processes that open the folder are
    /// waited for a second at most.
    ///
    /// # Errors
    ///
    /// Those of [`Stocks::open`].
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let (disk, root) = (Arc::new(tacit_stock::Disk), tacit_stock::RootKey::Beside);
        let stocks = tacit_stock::Stocks::open_within(disk, folder, root, OPEN_AT_MOST)?;
        Ok(Self::over(stocks))
    }

    fn over(stocks: tacit_stock::Stocks) -> Self {
        Self(Arc::new(OtStore {
            stocks: Some(stocks),
            ..OtStore::default()
        }))
    }

    /// Destroys what is kept with all peers but these, and from now on keeps nothing with others,
    /// also of what a session makes meanwhile.
    ///
    /// # Errors
    ///
    /// The disk cannot be written; in memory none.
    pub fn retain(&self, peers: &[Fingerprint]) -> Result<(), Error> {
        self.lock().only = Some(peers.iter().copied().collect());
        if let Some(stocks) = &self.0.stocks {
            stocks.retain_sets(|id| peers.contains(&Fingerprint(id.peer.0)))?;
        }
        let mut memory = self.lock();
        let batches = &mut memory.held().batches;
        batches.retain(|name, _| peers.contains(&name.peer));
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, InMemory> {
        self.0.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a set, which is then kept nowhere; fails where a disk does not let it be seen or
    /// overwritten.
    fn take(
        &self,
        name: SpareName,
        which: WhichSet,
    ) -> Result<Option<(SpareOffer, SpareSet)>, StockError> {
        let Some(stocks) = &self.0.stocks else {
            return Ok(self.lock().take(name, which));
        };
        let Some(taken) = stocks.take_set(&name.id(), which)? else {
            return Ok(None);
        };
        let (batch, number) = (taken.batch, taken.number);
        let set = SpareSet::from_bytes(&taken.secret);
        Ok(set.map(|set| (SpareOffer::Set { batch, number }, set)))
    }

    /// Keeps a batch in place of another, unless nothing is kept with the peer any more.
    fn put(&self, name: SpareName, batch: Batch) -> Result<(), StockError> {
        let mut memory = self.lock();
        if !memory.keeps_with(&name.peer) {
            return Ok(());
        }
        let Some(stocks) = &self.0.stocks else {
            memory.held().batches.insert(name, batch);
            return Ok(());
        };
        drop(memory);
        stocks.put_sets(&name.id(), batch.name(), &batch.to_bytes())?;
        // `retain` may have come meanwhile and seen no file.
        if !self.lock().keeps_with(&name.peer) {
            stocks.retain_sets(|id| *id != name.id())?;
        }
        Ok(())
    }

    /// The right to make a batch, unless another session has it.
    fn begin_batch(&self, name: SpareName) -> Option<Making> {
        let is_first = self.lock().held().making.insert(name);
        is_first.then(|| Making {
            kept: self.clone(),
            name,
        })
    }

    /// What this party, which connected, offers. Parties that connect to each other in the same
    /// roles begin at different ends.
    fn offer(&self, name: SpareName) -> Result<Offered, StockError> {
        let next = match name.role {
            Role::Garbler => WhichSet::First,
            Role::Evaluator => WhichSet::Last,
        };
        let (offer, set) = self.take(name, next)?.unzip();
        let making = match set {
            Some(_) => None,
            None => self.begin_batch(name),
        };
        let wanted = making.as_ref().map(|_| SpareOffer::Wanted);
        Ok(Offered {
            offer: offer.or(wanted).unwrap_or_default(),
            name: Some(name),
            set,
            making,
        })
    }

    /// What this party, which listened, answers to `offer`, and what the session does then.
    fn answer(
        &self,
        name: SpareName,
        offer: SpareOffer,
    ) -> Result<(SpareOffer, Option<Spare>), StockError> {
        if let SpareOffer::Set { batch, number } = offer
            && let Some((_, set)) = self.take(name, WhichSet::Named { batch, number })?
        {
            return Ok((offer, Some(Spare::Take(set))));
        }
        let making = match offer {
            SpareOffer::None => None,
            _ => self.begin_batch(name),
        };
        Ok(match making {
            None => (SpareOffer::None, None),
            making => (SpareOffer::Wanted, Some(Spare::Make(name, making))),
        })
    }

    /// Forgets a batch that the peer does not have, so that no other session names it.
    fn forget(&self, name: SpareName, batch: BatchName) {
        let mut memory = self.lock();
        let batches = &mut memory.held().batches;
        let there = batches.get(&name);
        if there.is_some_and(|there| there.name() == batch) {
            batches.remove(&name);
        }
    }
}

impl InMemory {
    fn held(&mut self) -> &mut Held {
        self.held.or_cleared()
    }

    fn keeps_with(&self, peer: &Fingerprint) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(peer))
    }

    fn take(&mut self, name: SpareName, which: WhichSet) -> Option<(SpareOffer, SpareSet)> {
        let batch = self.held().batches.get_mut(&name)?;
        let number = match which {
            WhichSet::First => batch.left().next(),
            WhichSet::Last => batch.left().next_back(),
            WhichSet::Named { batch: of, number } => (of == batch.name()).then_some(number),
        }?;
        let offer = SpareOffer::Set {
            batch: batch.name(),
            number,
        };
        Some((offer, batch.take(number)?))
    }
}

impl Session {
    /// Takes base OTs from `kept` where the peer has the other half, and else makes a batch of them
    /// for this session and later ones, if the peer keeps base OTs as well. It is for runs of
    /// `direct`; the other protocols make base OTs once an order, a run of three or a session.
    pub fn keep_ots(&mut self, kept: &KeptOts) {
        self.transfers.kept = Some(kept.clone());
    }

    /// Why the session could take no base OTs from what this party keeps, or keep none: it then had
    /// fresh ones.
    #[must_use]
    pub fn kept_ots_failure(&self) -> Option<&Error> {
        self.transfers.kept_failure.as_ref()
    }

    /// Where the base OTs come from that were set up since this was asked last.
    pub(crate) fn take_base_ot_source(&mut self) -> Option<BaseOtSource> {
        self.transfers.source.take()
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

    /// What a use of what is kept gave; nothing where it failed, which is noted.
    fn noted<T>(&mut self, used: Result<T, StockError>) -> Option<T> {
        used.map_err(|error| self.transfers.kept_failure = Some(error.into()))
            .ok()
    }

    /// What this party, which connected, offers for a run.
    pub(super) fn offer_spare(&mut self, run: &Proposal) -> Offered {
        let Some((kept, name)) = self.spare_name(run) else {
            return Offered::default();
        };
        self.noted(kept.offer(name)).unwrap_or_default()
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
        let answer = self.noted(kept.answer(name, offer));
        let (answer, spare) = answer.unwrap_or_default();
        self.transfers.spare = spare;
        answer
    }

    /// The base OTs that were agreed on, if they are not to be fresh ones.
    pub(super) fn spare_set(&mut self) -> Result<Option<SpareSet>, Error> {
        let (source, set) = match self.transfers.spare.take() {
            None => (BaseOtSource::Fresh, None),
            Some(Spare::Take(set)) => (BaseOtSource::Kept, Some(set)),
            Some(Spare::Make(name, making)) => {
                let mut batch = self.make_batch(name)?;
                let first = batch.take(0);
                let kept = self.transfers.kept.clone();
                let put = kept.and_then(|kept| self.noted(kept.put(name, batch)));
                drop(making);
                let source = put.map_or(BaseOtSource::Fresh, |()| BaseOtSource::Batch);
                (source, first)
            }
        };
        self.transfers.source = Some(source);
        Ok(set)
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
                Ok(ot.into_spares(&tag, q))
            }
        }
    }
}
