//! A run of `authenticated` in a chain. It continues from values that earlier runs kept, under
//! their Δ. Both parties keep what the run saves before either has a result.

use rand_core::UnwrapErr;
use tacit_function::Role;
use tacit_net::NetError;
use tacit_protocol::Error as ProtocolError;
use tacit_protocol::authenticated::{EpochSetup, EpochTags, SharedChain, Terms};
use tacit_protocol::message::AbortReason;
use tacit_protocol::party::Progress;
use tacit_protocol::saved::{SavedState, SharedHalf};

use super::planned_at;
use crate::advice::advice;
use crate::cost::{Clock, Phase};
use crate::driver::{run_script, seed};
use crate::job::{ProtocolOutcome, SecurityScope};
use crate::kept::{Agreed, ChainInUse, ChainPlace, Past};
use crate::protocols::Protocol;
use crate::session::{BaseOt, BaseOtSource};
use crate::stock::tries::CountedTry;
use crate::{Error, Session};

/// The reason recorded for a chain that a failed check ended.
const CHECK_FAILED: &str = "a check failed in a run of the chain, so that its Δ serve no more";

/// One party's side of a run on which both parties have agreed.
pub(crate) struct ChainedRun<'a> {
    pub(crate) session: &'a mut Session,
    /// The terms of the run. Their s is the one that was asked for.
    pub(crate) terms: Terms<'a>,
    pub(crate) inputs: &'a [bool],
    pub(crate) place: &'a ChainPlace,
    pub(crate) watch: &'a mut dyn FnMut(Progress),
}

impl ChainedRun<'_> {
    /// Runs as `role`.
    ///
    /// After a failed check, at either party, the chain has ended.
    pub(crate) fn run(mut self, role: Role) -> Result<ProtocolOutcome, Error> {
        let Self {
            session,
            terms,
            place,
            ..
        } = &mut self;
        let function = terms.function;
        let kept_as = (Protocol::Authenticated, role);
        let about = (function, terms.tag);
        let agreed = Agreed::on(place, about, session, kept_as, |past| {
            let place = past.chain.as_ref().map(SharedChain::place);
            SavedState::of_shared(place, &past.loads)
        })?;
        terms.tag = agreed.tag;
        check_base_ot(&agreed, session.base_ot())?;
        // Count the try before the peer learns anything about the Δ of this attempt.
        let bits = terms.security.get();
        let (mut tried, charge_bits) = session.count_epoch((role, bits), Some(&place.stocks))?;
        terms.security = planned_at(bits, charge_bits, tried.as_ref())?;
        let Agreed { kept, past, .. } = agreed;
        let ran = self.attempt(role, (&kept, past), tried.as_mut());
        let error = match ran {
            Ok(outcome) => {
                // A try that cannot be taken off the count stays there. Later runs then pay for it
                // with bits of s, but none becomes weaker.
                let _ = tried.map(|tried| tried.finish());
                return Ok(outcome);
            }
            Err(error) if ends_chain(&error) => error,
            Err(error) => return Err(error),
        };
        // Kill the chain before the peer learns why: the peer could try again meanwhile.
        let killed = kept.stocks.kill_chain(&kept.chain, CHECK_FAILED);
        let noted = tried.map_or(Ok(()), |tried| tried.note_cheat(&error));
        Err(match killed.and(noted) {
            Ok(()) => error,
            Err(failed) => Error::material(
                format!("{error}; and the end of its chain could not be recorded: {failed}"),
                advice!("remove the chain by hand with "(DropChain(None))),
            ),
        })
    }

    /// Makes the attempt, which is already durable and, if `tried` is given, counted.
    fn attempt(
        self,
        role: Role,
        (kept, past): (&ChainInUse, Past<SharedChain, SharedHalf>),
        mut tried: Option<&mut CountedTry>,
    ) -> Result<ProtocolOutcome, Error> {
        let Self {
            session,
            terms,
            inputs,
            watch,
            ..
        } = self;
        let settings = session.ot_settings();
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
                let setup = EpochSetup::new(role, settings, tags, &mut rng)?;
                let base = session.set_up_epoch(setup, tried.as_deref_mut())?;
                session.note_base_ots(BaseOtSource::Fresh);
                phases.push(clock.stop(Phase::Setup, session));
                SharedChain::new(&terms.tag, base)
            }
        };
        let clock = Clock::start(session);
        // An attempt reveals something about the chain's Δ, which helps against later attempts,
        // too.
        if let Some(tried) = tried {
            tried.begin();
        }
        if chain.role() != role {
            return Err(Error::ApiMisuse("a chain serves its own role"));
        }
        let (epoch, seed) = (chain.epoch(&terms.tag, settings)?, seed());
        let given = (inputs, &past.loads[..]);
        let proven = run_script(session.channel(), watch, async |io| {
            terms.prove(io, given, epoch, &seed).await
        })?;
        let (mut version, saves) = (chain.place().0, terms.function.saves());
        if !saves.is_empty() {
            version.version = kept.save(saves, &chain, &proven.saves()?, None, session)?;
        }
        let opened = run_script(session.channel(), watch, async |io| proven.open(io).await);
        let (outputs, _) = opened?;
        phases.push(clock.stop(Phase::Run, session));
        Ok(ProtocolOutcome {
            outputs,
            chain: Some(version),
            phases,
            security_scope: Some(SecurityScope::AllRuns {
                made_at_bits: terms.security.get(),
            }),
            makes_ots: true,
            ..ProtocolOutcome::default()
        })
    }
}

/// Checks that the chain's base OTs rest on no less than the session asks for. A run in a chain
/// makes no base OTs of its own.
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

/// Whether no run may use the chain's Δ again: the peer sent something that no honest party sends,
/// such as a message that is too long, or reports the same of this party. In either case the peer
/// hears that it misbehaved and ends the chain, too. A lost connection does not end a chain.
fn ends_chain(error: &Error) -> bool {
    matches!(
        error,
        Error::Protocol(
            ProtocolError::PeerMisbehaved(_) | ProtocolError::PeerAborted(AbortReason::Misbehaved)
        ) | Error::Network(NetError::TooLong { .. } | NetError::WrongFrame { .. })
    )
}
