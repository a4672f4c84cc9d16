//! The OTs of a session: its base OTs, its extension, and OTs that are made ahead.

mod directions;
mod lent;
mod need;

use std::num::NonZeroUsize;
use std::sync::Arc;

use rand_core::UnwrapErr;
use tacit_function::Role;
use tacit_net::Link;
use tacit_ot::Security;
use tacit_ot::silent::Device;
use tacit_ot::source::Extension;
use tacit_protocol::Misbehaviour;
use tacit_protocol::authenticated::{Epoch, EpochBase, EpochSetup, EpochTags};
use tacit_protocol::gmw::Directions;
use tacit_protocol::session::RunTag;
use tacit_protocol::setup::{EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup, OtSettings};

pub(crate) use self::need::{OtNeed, ot_link};
use super::{Session, Side};
use crate::Error;
use crate::cost::{BaseOtSource, Clock, Phase, PhaseCost};
use crate::driver::{run_script_hearing, seed};
use crate::protocols::Protocol;
use crate::session::{BaseOt, OtExtension};
use crate::stock::messages::{self, STOCK_THERE};
use crate::stock::tries::{self, CountedTry, TryName};
use crate::stock::{Stocks, Tried};

/// The OTs that a session has, and the settings by which it makes them.
pub(super) struct Transfers {
    settings: OtSettings,
    /// Whether this party was given the extension.
    told: bool,
    /// The link to the peer, if it is known.
    link: Option<Link>,
    garbler: Option<GarblerOt>,
    evaluator: Option<EvaluatorOt>,
    /// The source of the latest base OTs, until a run reports it.
    source: Option<BaseOtSource>,
    /// The OTs of `gmw`. Each party is the sender in one direction.
    directions: Option<Directions>,
    /// The device that makes the OTs of `gmw`, if they are silent.
    device: Option<Arc<dyn Device>>,
    /// About how many OTs the run or preparation takes that was agreed on last.
    agreed: u64,
    /// Epochs of `authenticated`, one for each role of this party.
    epochs: Vec<IdleEpoch>,
    /// For each protocol and role, whether runs of `authenticated` or `gmw` take from the stock. It
    /// has an entry once the parties have agreed on that.
    from_stock: Vec<((Protocol, Role), bool)>,
}

/// An epoch of `authenticated` and its count. If it is dropped in a run that has not ended well, it
/// stays counted on the disk.
pub(crate) struct CountedEpoch {
    pub(crate) epoch: Epoch,
    /// The try, if this party counts.
    pub(crate) tried: Option<CountedTry>,
    /// The bits by which earlier tries raise s, at the party where they raise it more.
    pub(crate) charge_bits: u8,
}

/// An epoch between two runs. When the session ends, the epoch is taken off the count, because all
/// its runs have ended well.
struct IdleEpoch(Option<CountedEpoch>);

impl IdleEpoch {
    fn role(&self) -> Option<Role> {
        self.0.as_ref().map(|counted| counted.epoch.role())
    }
}

impl Drop for IdleEpoch {
    fn drop(&mut self) {
        let tried = self.0.take().and_then(|counted| counted.tried);
        // A try that cannot be taken off the count stays there. That raises s and weakens nothing.
        let _ = tried.map(CountedTry::finish);
    }
}

impl Transfers {
    pub(super) fn new() -> Self {
        Self {
            settings: OtSettings {
                base_threads: base_ot_threads(),
                ..OtSettings::default()
            },
            told: false,
            link: None,
            garbler: None,
            evaluator: None,
            source: None,
            directions: None,
            device: None,
            agreed: 0,
            epochs: Vec::new(),
            from_stock: Vec::new(),
        }
    }

    pub(super) fn settings(&self) -> OtSettings {
        self.settings
    }

    /// Sets the extension that this party, which connected, proposes for a session that starts with
    /// these OTs: the one that it was given, or else the one that suits the link.
    pub(super) fn choose(&mut self, need: OtNeed) {
        if !self.told {
            self.settings.extension = need.extension_over(self.link);
        }
    }

    /// Returns the answer of this party, which listened, to the extension `theirs` at the start of
    /// a session. If it was given an extension it answers with that, and otherwise it accepts
    /// whatever rests on symmetric cryptography alone.
    pub(super) fn answer(&self, theirs: Extension) -> Extension {
        match theirs {
            Extension::SoftSpoken(_) if !self.told => theirs,
            _ => self.settings.extension,
        }
    }

    /// Whether there are OTs for this role.
    pub(super) fn is_set_up(&self, role: Role) -> bool {
        match role {
            Role::Garbler => self.garbler.is_some(),
            Role::Evaluator => self.evaluator.is_some(),
        }
    }

    /// Sets the extension on which both parties have agreed, for about this many OTs.
    pub(super) fn settle(&mut self, extension: Extension, ots: u64) {
        self.settings.extension = extension;
        self.agreed = ots;
    }
}

impl Session {
    /// Returns the kind of the session's base OTs.
    pub fn base_ot(&self) -> BaseOt {
        self.transfers.settings.base
    }

    /// Chooses the kind of the session's base OTs. Both parties must choose the same. The default
    /// is ristretto255.
    ///
    /// # Errors
    ///
    /// A function has already run over the session.
    pub fn set_base_ot(&mut self, kind: BaseOt) -> Result<(), Error> {
        if self.runs > 0 && kind != self.transfers.settings.base {
            return Err(Error::ApiMisuse(
                "base OTs are chosen before a session's first run; open a new session",
            ));
        }
        self.transfers.settings.base = kind;
        Ok(())
    }

    /// Returns the extension that makes the session's OTs from base OTs. The first run settles it.
    pub fn ot_extension(&self) -> OtExtension {
        self.transfers.settings.extension
    }

    /// Chooses the extension that makes the session's OTs from base OTs. If both parties choose,
    /// they must choose the same. Without a choice, the connecting party takes the fastest over the
    /// link ([`set_link`](Self::set_link)). If the link is unknown, it takes SoftSpoken with k = 2,
    /// or with k = 4 if the session starts with a run by `authenticated`. The listening party takes
    /// what the other proposes. Neither takes silent OT, which rests on LPN, unless it is chosen.
    ///
    /// # Errors
    ///
    /// A function has already run over the session.
    pub fn set_ot_extension(&mut self, extension: OtExtension) -> Result<(), Error> {
        if self.runs > 0 && extension != self.ot_extension() {
            return Err(Error::ApiMisuse(
                "the OT extension is chosen before a session's first run; open a new session",
            ));
        }
        self.transfers.settings.extension = extension;
        self.transfers.told = true;
        Ok(())
    }

    /// Sets the properties of the link to the peer. From them a connecting party chooses the OT
    /// extension in the session's first run.
    pub fn set_link(&mut self, link: Link) {
        self.transfers.link = Some(link);
    }

    /// Makes `count` OTs for runs of `direct` in which this party has `role`, while the parties
    /// have time between two runs. The peer must call it, too, with the same count and the other
    /// role. A run takes one OT for each input bit of the evaluator. If the extension makes OTs
    /// within the run, as SoftSpoken does, there is nothing to do.
    ///
    /// # Errors
    ///
    /// No function has run over the session yet, so the extension is not agreed. Or any error that
    /// ends the exchange, after which the session is spent.
    pub fn make_ots(&mut self, role: Role, count: u64) -> Result<(), Error> {
        if self.runs == 0 {
            return Err(Error::ApiMisuse(
                "the session's first run agrees on the OT extension; make OTs after it",
            ));
        }
        self.guarded(|session| {
            session.set_up(role)?;
            session.refill(role, count).map(drop)
        })
    }

    /// Returns the settings by which this session makes OTs.
    pub(crate) fn ot_settings(&self) -> OtSettings {
        self.transfers.settings
    }

    /// Makes the base OTs for `role`, if they are missing. Returns the cost if it made them.
    pub(crate) fn set_up(&mut self, role: Role) -> Result<Option<PhaseCost>, Error> {
        if self.transfers.is_set_up(role) {
            return Ok(None);
        }
        let clock = Clock::start(self);
        let connecting_role = self.connecting_role(role);
        let settings = self.transfers.settings;
        let tag = self
            .tag()?
            .setup(connecting_role, settings.base, settings.extension);
        let mut rng = UnwrapErr(getrandom::SysRng);
        match role {
            Role::Garbler => {
                let setup = GarblerSetup::with(settings, &tag, &mut rng)?;
                let ot = self.script(async |io| setup.run(io).await?.ots())?;
                self.keep_garbler_ot(ot);
            }
            Role::Evaluator => {
                let setup = EvaluatorSetup::with(settings, &tag, &mut rng)?;
                let ot = self.script(async |io| setup.run(io).await?.ots())?;
                self.keep_evaluator_ot(ot);
            }
        }
        self.transfers.source = Some(BaseOtSource::Fresh);
        Ok(Some(clock.stop(Phase::Setup, self)))
    }

    /// Returns the source of the base OTs that were made since the last call.
    pub(crate) fn take_base_ot_source(&mut self) -> Option<BaseOtSource> {
        self.transfers.source.take()
    }

    /// Returns the role of the party that connected, if this party's is `role`.
    pub(super) fn connecting_role(&self, role: Role) -> Role {
        match self.side {
            Side::Connecting => role,
            Side::Listening => role.other(),
        }
    }

    /// Takes the epoch of `authenticated` for `role` for a run, which gives it back if it succeeds.
    /// The first call sets up an epoch with base OTs of its own and returns the cost. If there are
    /// `stocks`, it counts the epoch there as a try before the peer learns anything about it, and
    /// tells the peer by how much earlier tries raise `bits`.
    pub(crate) fn take_epoch(
        &mut self,
        (role, bits): (Role, u8),
        stocks: Option<&Stocks>,
    ) -> Result<(CountedEpoch, Option<PhaseCost>), Error> {
        let settings = self.transfers.settings;
        let mut epochs = self.transfers.epochs.iter_mut();
        if let Some(there) = epochs.position(|idle| idle.role() == Some(role))
            && let Some(mut counted) = self.transfers.epochs.swap_remove(there).0.take()
        {
            counted.epoch.set_threads(settings.threads);
            return Ok((counted, None));
        }
        let clock = Clock::start(self);
        let (mut tried, charge_bits) = self.count_epoch((role, bits), stocks)?;
        let connecting_role = self.connecting_role(role);
        let session_tag = self.tag()?;
        let tag = |sender| {
            let OtSettings {
                base, extension, ..
            } = settings;
            session_tag.authenticated_setup(connecting_role, sender, base, extension)
        };
        let tags = EpochTags {
            garbler: tag(Role::Garbler),
            evaluator: tag(Role::Evaluator),
        };
        let mut rng = UnwrapErr(getrandom::SysRng);
        let setup = EpochSetup::new(role, settings, tags, &mut rng)?;
        let base = self.set_up_epoch(setup, tried.as_mut())?;
        self.transfers.source = Some(BaseOtSource::Fresh);
        let counted = CountedEpoch {
            epoch: base.epoch()?,
            tried,
            charge_bits,
        };
        Ok((counted, Some(clock.stop(Phase::Setup, self))))
    }

    /// Counts an epoch of `authenticated` in `stocks`, if there are any, before the peer learns
    /// anything about it. Returns by how many bits both parties raise s = `bits` for unfinished
    /// tries: the larger of what the two parties say.
    pub(crate) fn count_epoch(
        &mut self,
        (role, bits): (Role, u8),
        stocks: Option<&Stocks>,
    ) -> Result<(Option<CountedTry>, u8), Error> {
        let tried = match stocks {
            Some(stocks) => {
                let name = TryName::in_session(self, role, Tried::Authenticated)?;
                Some(CountedTry::plan(stocks, name)?)
            }
            None => None,
        };
        let unfinished = tried.as_ref().map_or(0, |tried| tried.before);
        let own = tries::charged(bits, Tried::Authenticated, unfinished)?;
        let others = self.exchange(async |io| {
            tries::tell(io, own)?;
            tries::hear(io, bits).await
        })?;
        Ok((tried, own.max(others) - bits))
    }

    /// Makes the base OTs of an epoch. The epoch counts as a try from the peer's first message of
    /// them: before that the peer has done nothing that could be a try.
    pub(crate) fn set_up_epoch(
        &mut self,
        setup: EpochSetup,
        mut tried: Option<&mut CountedTry>,
    ) -> Result<EpochBase, Error> {
        let mut heard = || tried.iter_mut().for_each(|tried| tried.begin());
        run_script_hearing(&mut self.channel, &mut heard, async |io| {
            setup.run(io).await
        })
    }

    /// Whether runs by a protocol in a role take from the stock. Once per session, both parties say
    /// whether they have something for this run.
    pub(crate) fn takes_from_stock(
        &mut self,
        runs: (Protocol, Role),
        are_there: impl FnOnce(&Self) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let mut agreed = self.transfers.from_stock.iter();
        if let Some((_, agreed)) = agreed.find(|(of, _)| *of == runs) {
            return Ok(*agreed);
        }
        let ours = are_there(self)?;
        let theirs = self.exchange(async |io| {
            messages::send(io, STOCK_THERE, &[u8::from(ours)])?;
            match io.receive(STOCK_THERE).await? {
                [0] => Ok(false),
                [1] => Ok(true),
                _ => Err(Misbehaviour::invalid(STOCK_THERE.kind, "value").into()),
            }
        })?;
        self.transfers.from_stock.push((runs, ours && theirs));
        Ok(ours && theirs)
    }

    /// Records that no lot has enough at both parties: later runs of the session by this protocol
    /// in this role make their own material.
    pub(crate) fn end_of_stock(&mut self, runs: (Protocol, Role)) {
        let mut agreed = self.transfers.from_stock.iter_mut();
        if let Some((_, agreed)) = agreed.find(|(of, _)| *of == runs) {
            *agreed = false;
        }
    }

    /// Stores the source of the base OTs of a run.
    pub(crate) fn note_base_ots(&mut self, source: BaseOtSource) {
        self.transfers.source = Some(source);
    }

    /// Keeps an epoch whose run ended well for the next run.
    pub(crate) fn keep_epoch(&mut self, epoch: CountedEpoch) {
        self.transfers.epochs.push(IdleEpoch(Some(epoch)));
    }

    /// Makes `count` OTs for `role`, if they are missing. The base OTs exist already. Returns the
    /// cost if some had to be made.
    pub(crate) fn refill(&mut self, role: Role, count: u64) -> Result<Option<PhaseCost>, Error> {
        let clock = Clock::start(self);
        let needed = match role {
            Role::Garbler => {
                let mut ot = self.take_garbler_ot()?;
                let needed = ot.needs_refill(count);
                self.script(async |io| ot.refill(io, count, &seed()).await)?;
                self.keep_garbler_ot(ot);
                needed
            }
            Role::Evaluator => {
                let mut ot = self.take_evaluator_ot()?;
                let needed = ot.needs_refill(count);
                self.script(async |io| ot.refill(io, count, &seed()).await)?;
                self.keep_evaluator_ot(ot);
                needed
            }
        };
        Ok(needed.then(|| clock.stop(Phase::Refill, self)))
    }

    /// Makes `count` separate OTs under `tag`, secure against a malicious peer, as the sender.
    pub(crate) fn offered_ots(&mut self, tag: &RunTag, count: u64) -> Result<GarblerOt, Error> {
        let mut rng = UnwrapErr(getrandom::SysRng);
        let setup = GarblerSetup::with(self.transfers.settings, tag, &mut rng)?;
        self.script(async |io| {
            let mut ots = setup.secured(Security::Malicious).run(io).await?.ots()?;
            ots.refill(io, count, &seed()).await?;
            Ok(ots)
        })
    }

    /// Makes the same OTs as the receiver.
    pub(crate) fn chosen_ots(&mut self, tag: &RunTag, count: u64) -> Result<EvaluatorOt, Error> {
        let mut rng = UnwrapErr(getrandom::SysRng);
        let setup = EvaluatorSetup::with(self.transfers.settings, tag, &mut rng)?;
        self.script(async |io| {
            let mut ots = setup.secured(Security::Malicious).run(io).await?.ots()?;
            ots.refill(io, count, &seed()).await?;
            Ok(ots)
        })
    }
}

/// The limit of threads for base OTs. They take milliseconds and both parties need threads for
/// them, so more help little.
const MAX_BASE_OT_THREADS: usize = 8;

fn base_ot_threads() -> NonZeroUsize {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::new(cores.min(MAX_BASE_OT_THREADS)).unwrap_or(NonZeroUsize::MIN)
}
