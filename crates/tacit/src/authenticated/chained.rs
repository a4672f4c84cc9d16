//! A run of `authenticated` in a chain: it goes on from values that earlier runs kept, under their
//! Δ, and both parties keep what it saves before either has a result.

use rand_core::UnwrapErr;
use tacit_circuit::Role;
use tacit_protocol::authenticated::{
    Epoch, EpochSetup, EpochTags, Evaluator, Garbler, SharedChain, Terms,
};
use tacit_protocol::message::AbortReason;
use tacit_protocol::party::{Party, Progress};
use tacit_protocol::saved::{ChainVersion, SavedState, SharedHalf};
use zeroize::Zeroizing;

use super::planned_at;
use crate::cost::{Clock, Phase, PhaseCost};
use crate::driver::{drive, seed};
use crate::kept::{self, Agreed, ChainPlace, Keeper};
use crate::protocols::Protocol;
use crate::session::{BaseOt, BaseOtSource};
use crate::stock::tries::CountedTry;
use crate::{Error, Session};

/// What the garbler keeps.
pub(super) struct GarblerKeeps;

impl Keeper for GarblerKeeps {
    type Chain = SharedChain;
    type Value = SharedHalf;
    const ROLE: Role = Role::Garbler;
    const PROTOCOL: Protocol = Protocol::Authenticated;
}

/// What the evaluator keeps.
pub(super) struct EvaluatorKeeps;

impl Keeper for EvaluatorKeeps {
    type Chain = SharedChain;
    type Value = SharedHalf;
    const ROLE: Role = Role::Evaluator;
    const PROTOCOL: Protocol = Protocol::Authenticated;
}

/// Why a chain was killed.
const CHECK_FAILED: &str = "a check failed in a run of the chain, so that its Δ serve no more";

/// One party's side of a run, once both have agreed on it.
pub(crate) struct ChainedRun<'a> {
    pub(crate) session: &'a mut Session,
    /// Its s is the one that the run was asked for at.
    pub(crate) terms: Terms<'a>,
    pub(crate) inputs: &'a [bool],
    pub(crate) place: &'a ChainPlace,
    pub(crate) watch: &'a mut dyn FnMut(Progress),
}

/// What a run gave.
pub(crate) struct ChainedOutcome {
    /// This party's output bits in port order.
    pub(crate) outputs: Zeroizing<Vec<bool>>,
    /// The chain, at the version that the run saved or, if it saved none, loaded.
    pub(crate) chain: ChainVersion,
    /// The s that the run was made at.
    pub(crate) made_at_bits: u8,
    pub(crate) phases: Vec<PhaseCost>,
}

/// A party of the protocol in a run of a chain.
trait ChainedParty<'f>: Party + Sized {
    /// What it keeps.
    type Keeps: Keeper<Chain = SharedChain, Value = SharedHalf>;

    fn begin(
        terms: Terms<'f>,
        given: (&[bool], &[SharedHalf]),
        epoch: Epoch,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, tacit_protocol::Error>;
    fn save(self) -> Result<(Vec<SharedHalf>, Self), tacit_protocol::Error>;
    fn finish(self) -> Result<(Zeroizing<Vec<bool>>, Epoch), tacit_protocol::Error>;
}

macro_rules! chained_party {
    ($party:ident, $keeps:ident) => {
        impl<'f> ChainedParty<'f> for $party<'f> {
            type Keeps = $keeps;

            fn begin(
                terms: Terms<'f>,
                given: (&[bool], &[SharedHalf]),
                epoch: Epoch,
                seed: &Zeroizing<[u8; 32]>,
            ) -> Result<Self, tacit_protocol::Error> {
                $party::in_chain(terms, given, epoch, seed)
            }

            fn save(self) -> Result<(Vec<SharedHalf>, Self), tacit_protocol::Error> {
                $party::save(self)
            }

            fn finish(self) -> Result<(Zeroizing<Vec<bool>>, Epoch), tacit_protocol::Error> {
                $party::finish(self)
            }
        }
    };
}

chained_party!(Garbler, GarblerKeeps);
chained_party!(Evaluator, EvaluatorKeeps);

impl<'a> ChainedRun<'a> {
    /// Runs as `role`.
    ///
    /// # Errors
    ///
    /// Whatever ends the run. After a failed check, at either party, the chain has ended.
    pub(crate) fn run(self, role: Role) -> Result<ChainedOutcome, Error> {
        match role {
            Role::Garbler => self.play::<Garbler<'a>>(),
            Role::Evaluator => self.play::<Evaluator<'a>>(),
        }
    }

    fn play<P: ChainedParty<'a>>(mut self) -> Result<ChainedOutcome, Error> {
        let Self {
            session,
            terms,
            place,
            ..
        } = &mut self;
        let function = terms.function;
        let keepers = (session.own(), session.peer());
        let opened = kept::open::<P::Keeps>(Some(place), function, keepers)?;
        let opened = opened.ok_or(Error::ApiMisuse("a run of a chain names it"))?;
        let about = (function, terms.tag);
        let agreed = Agreed::<P::Keeps>::on(opened, about, session, |past| {
            let place = past.chain.as_ref().map(SharedChain::place);
            SavedState::of_shared(place, &past.loads)
        })?;
        terms.tag = agreed.tag;
        check_base_ot(&agreed, session.base_ot())?;
        // Before the peer hears anything of the attempt's Δ.
        let (role, bits) = (P::Keeps::ROLE, terms.security.get());
        let (mut tried, charge_bits) = session.count_epoch((role, bits), Some(&place.stocks))?;
        terms.security = planned_at(bits, charge_bits, tried.as_ref())?;
        let Agreed { kept, past, .. } = agreed;
        let ran = self.attempt::<P>(&kept, past, tried.as_mut());
        let error = match ran {
            Ok(outcome) => {
                // A try that cannot be taken off stays, which costs bits and loses none.
                let _ = tried.map(|tried| tried.finish());
                return Ok(outcome);
            }
            Err(error) if ends_chain(&error) => error,
            Err(error) => return Err(error),
        };
        // Before the peer hears why: it could try again meanwhile.
        let killed = kept.stocks.kill_chain(&kept.chain, CHECK_FAILED);
        let noted = tried.map_or(Ok(()), |tried| tried.note_cheat(&error));
        Err(match killed.and(noted) {
            Ok(()) => error,
            Err(failed) => Error::Material(format!(
                "{error}; and the end of its chain could not be recorded: {failed}. Remove the \
                 chain by hand with `tacit stock drop-chain`"
            )),
        })
    }

    /// The attempt, which is durable and, as `tried`, counted.
    fn attempt<P: ChainedParty<'a>>(
        self,
        kept: &kept::ChainInUse,
        past: kept::Past<P::Keeps>,
        mut tried: Option<&mut CountedTry>,
    ) -> Result<ChainedOutcome, Error> {
        let Self {
            session,
            terms,
            inputs,
            watch,
            ..
        } = self;
        let (role, settings) = (P::Keeps::ROLE, session.ot_settings());
        let mut phases = Vec::new();
        let mut chain = match past.chain {
            Some(chain) => {
                session.note_base_ots(BaseOtSource::Kept);
                chain
            }
            None => {
                let clock = Clock::start(session);
                let (tags, mut rng) = (
                    EpochTags::of_chain(&terms.tag),
                    UnwrapErr(getrandom::SysRng),
                );
                let mut setup = EpochSetup::new(role, settings, tags, &mut rng)?;
                session.set_up_epoch(&mut setup, tried.as_deref_mut())?;
                session.note_base_ots(BaseOtSource::Fresh);
                phases.push(clock.stop(Phase::Setup, session));
                SharedChain::new(&terms.tag, setup)?
            }
        };
        let clock = Clock::start(session);
        // What an attempt shows of the chain's Δ is for its later ones, too.
        if let Some(tried) = tried {
            tried.begin();
        }
        let epoch = chain.epoch(&terms.tag, settings)?;
        let mut party = P::begin(terms, (inputs, &past.loads), epoch, &seed())?;
        drive(session.channel(), &mut party, watch)?;
        let (mut version, saves) = (chain.place().0, terms.function.saves());
        if !saves.is_empty() {
            let (values, opening) = party.save()?;
            version.version = kept.save::<P::Keeps>(saves, &chain, &values, None, session)?;
            party = opening;
            drive(session.channel(), &mut party, watch)?;
        }
        let (outputs, _) = party.finish()?;
        phases.push(clock.stop(Phase::Run, session));
        Ok(ChainedOutcome {
            outputs,
            chain: version,
            made_at_bits: terms.security.get(),
            phases,
        })
    }
}

/// Checks that a chain rests on no less than the session is to rest on: a run makes no base OTs.
fn check_base_ot<K: Keeper<Chain = SharedChain>>(
    agreed: &Agreed<K>,
    asked: BaseOt,
) -> Result<(), Error> {
    let kept = agreed.past.chain.as_ref().map(SharedChain::base_ot);
    match kept.filter(|kept| !kept.serves(asked)) {
        None => Ok(()),
        Some(kept) => Err(Error::ChainBaseOt {
            chain: agreed.kept.chain.name().to_owned(),
            kept,
            asked,
        }),
    }
}

/// Whether no more is to rest on a chain's Δ: the peer sent what no honest party sends, or says
/// that of this one. A lost connection is no such thing.
fn ends_chain(error: &Error) -> bool {
    matches!(
        error,
        Error::PeerMisbehaved(_) | Error::PeerAborted(AbortReason::Misbehaved)
    )
}
