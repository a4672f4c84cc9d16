//! A run of `authenticated` in a chain: it goes on from values that earlier runs kept, under their
//! Δ, and both parties keep what it saves before either has a result.

use rand_core::UnwrapErr;
use tacit_function::Role;
use tacit_net::NetError;
use tacit_protocol::authenticated::{
    AuthenticatedParty, EpochSetup, EpochTags, Evaluator, Garbler, SharedChain, Terms,
};
use tacit_protocol::message::AbortReason;
use tacit_protocol::party::Progress;
use tacit_protocol::saved::{ChainVersion, SavedState, SharedHalf};
use zeroize::Zeroizing;

use super::planned_at;
use crate::cost::{Clock, Phase, PhaseCost};
use crate::driver::{drive, seed};
use crate::kept::{Agreed, ChainInUse, ChainPlace, Past};
use crate::protocols::Protocol;
use crate::session::{BaseOt, BaseOtSource};
use crate::stock::tries::CountedTry;
use crate::{Error, Session};

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

    fn play<P: AuthenticatedParty<'a>>(mut self) -> Result<ChainedOutcome, Error> {
        let Self {
            session,
            terms,
            place,
            ..
        } = &mut self;
        let function = terms.function;
        let kept_as = (Protocol::Authenticated, P::ROLE);
        let about = (function, terms.tag);
        let agreed = Agreed::on(place, about, session, kept_as, |past| {
            let place = past.chain.as_ref().map(SharedChain::place);
            SavedState::of_shared(place, &past.loads)
        })?;
        terms.tag = agreed.tag;
        check_base_ot(&agreed, session.base_ot())?;
        // Before the peer hears anything of the attempt's Δ.
        let (role, bits) = (P::ROLE, terms.security.get());
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
    fn attempt<P: AuthenticatedParty<'a>>(
        self,
        kept: &ChainInUse,
        past: Past<SharedChain, SharedHalf>,
        mut tried: Option<&mut CountedTry>,
    ) -> Result<ChainedOutcome, Error> {
        let Self {
            session,
            terms,
            inputs,
            watch,
            ..
        } = self;
        let (role, settings) = (P::ROLE, session.ot_settings());
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
        let mut party = P::in_chain(terms, (inputs, &past.loads), epoch, &seed())?;
        drive(session.channel(), &mut party, watch)?;
        let (mut version, saves) = (chain.place().0, terms.function.saves());
        if !saves.is_empty() {
            let (values, opening) = party.save()?;
            version.version = kept.save(saves, &chain, &values, None, session)?;
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
fn check_base_ot(agreed: &Agreed<SharedChain, SharedHalf>, asked: BaseOt) -> Result<(), Error> {
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

/// Whether no more is to rest on a chain's Δ: the peer sent what no honest party sends, a message
/// that is too long among it, or says that of this one. It hears that it misbehaved, and ends the
/// chain, too. A lost connection is no such thing.
fn ends_chain(error: &Error) -> bool {
    matches!(
        error,
        Error::PeerMisbehaved(_)
            | Error::PeerAborted(AbortReason::Misbehaved)
            | Error::Network(NetError::TooLong { .. } | NetError::WrongFrame { .. })
    )
}
