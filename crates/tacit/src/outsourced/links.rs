//! Two sessions of one party, and a party of three over both.

use std::time::{Duration, Instant};

use rand_core::UnwrapErr;
use tacit_circuit::Role;
use tacit_net::Meter;
use tacit_ot::Security;
use tacit_protocol::outsourced::{Peer, Step, ThreeParty};
use tacit_protocol::party::Progress;
use tacit_protocol::session::RunTag;
use tacit_protocol::setup::{EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup, Refill};

use super::OutsourcedJob;
use crate::cost::{Phase, PhaseCost};
use crate::driver::{drive, flush, receive, send};
use crate::session::OtNeed;
use crate::{Error, Session};

/// A party's two sessions, in the order in which all parties work on links.
pub(super) struct Links<'s> {
    pub(super) first: (Peer, &'s mut Session),
    pub(super) second: (Peer, &'s mut Session),
}

/// What both sessions carried until a moment.
pub(super) struct Clock {
    begun: Instant,
    carried: [Meter; 2],
}

impl Links<'_> {
    /// The session with `peer`.
    pub(super) fn to(&mut self, peer: Peer) -> Result<&mut Session, Error> {
        match peer {
            peer if peer == self.first.0 => Ok(self.first.1),
            peer if peer == self.second.0 => Ok(self.second.1),
            _ => Err(Error::ApiMisuse("a party of three has no link to itself")),
        }
    }

    fn both(&mut self) -> [&mut Session; 2] {
        [self.first.1, self.second.1]
    }

    pub(super) fn clock(&self) -> Clock {
        Clock {
            begun: Instant::now(),
            carried: [self.first.1.traffic(), self.second.1.traffic()],
        }
    }

    /// What has passed since `clock`.
    pub(super) fn since(&self, clock: &Clock, phase: Phase) -> PhaseCost {
        let now = self.clock();
        let [first, second] = [0, 1].map(|link| now.carried[link] - clock.carried[link]);
        PhaseCost {
            phase,
            wall: now.begun - clock.begun,
            traffic: first + second,
        }
    }

    /// Bounds every wait, and the whole run where there is a limit; gives back the waits before.
    pub(super) fn bound(&mut self, patience: Duration, limit: Option<Duration>) -> [Duration; 2] {
        self.both().map(|session| {
            let before = session.channel().timeout();
            session.channel().set_timeout(patience);
            session.channel().set_time_limit(limit);
            before
        })
    }

    /// Ends what [`Links::bound`] began.
    pub(super) fn unbound(&mut self, before: [Duration; 2]) {
        for (session, before) in self.both().into_iter().zip(before) {
            session.channel().set_timeout(before);
            session.channel().set_time_limit(None);
        }
    }

    /// Agrees with both peers on the run; `roles` are what this party is on either link. Gives the
    /// tags of both links.
    pub(super) fn agree(
        &mut self,
        job: &OutsourcedJob<'_>,
        roles: [Role; 2],
    ) -> Result<[RunTag; 2], Error> {
        let needs = job.ot_needs(self.first.0, self.second.0)?;
        let agree = |session: &mut Session, role: Role, need: OtNeed| {
            let tag = session.agree(need, |terms| job.proposal(role, terms))?;
            // The answer is not to wait here while this party turns to its other link.
            flush(session.channel())?;
            Ok::<_, Error>(tag)
        };
        Ok([
            agree(self.first.1, roles[0], needs[0])?,
            agree(self.second.1, roles[1], needs[1])?,
        ])
    }

    /// Runs `party` to its end, and reports progress as it goes.
    pub(super) fn drive(
        &mut self,
        party: &mut dyn ThreeParty,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<(), Error> {
        let mut message = Vec::new();
        loop {
            for session in self.both() {
                session.channel().check()?;
            }
            match party.next(&mut message)? {
                Step::Send { to, kind } => send(self.to(to)?.channel(), kind, &message)?,
                Step::Receive {
                    from,
                    kind,
                    max_bytes,
                } => {
                    // The other peer may wait for what was sent to it.
                    self.flush()?;
                    let payload = receive(self.to(from)?.channel(), kind, max_bytes)?;
                    party.receive(payload)?;
                }
                Step::Continue => self.flush()?,
                Step::Done => return self.flush(),
            }
            watch(party.progress());
        }
    }

    fn flush(&mut self) -> Result<(), Error> {
        let mut both = self.both().into_iter();
        both.try_for_each(|session| flush(session.channel()))
    }
}

/// So many OTs that withstand a malicious peer, in which this party offers.
pub(super) fn offered_ots(
    session: &mut Session,
    tag: RunTag,
    count: u64,
) -> Result<GarblerOt, Error> {
    let mut rng = UnwrapErr(getrandom::SysRng);
    let setup = GarblerSetup::with(session.ot_settings(), &tag, &mut rng)?;
    let mut setup = setup.secured(Security::Malicious);
    drive(session.channel(), &mut setup, &mut |_| ())?;
    let mut ots = setup.finish()?;
    let mut refill = Refill::of_garbler(&mut ots, count, &mut rng);
    drive(session.channel(), &mut refill, &mut |_| ())?;
    Ok(ots)
}

/// So many OTs that withstand a malicious peer, in which this party chooses.
pub(super) fn chosen_ots(
    session: &mut Session,
    tag: RunTag,
    count: u64,
) -> Result<EvaluatorOt, Error> {
    let mut rng = UnwrapErr(getrandom::SysRng);
    let setup = EvaluatorSetup::with(session.ot_settings(), &tag, &mut rng)?;
    let mut setup = setup.secured(Security::Malicious);
    drive(session.channel(), &mut setup, &mut |_| ())?;
    let mut ots = setup.finish()?;
    let mut refill = Refill::of_evaluator(&mut ots, count, &mut rng);
    drive(session.channel(), &mut refill, &mut |_| ())?;
    Ok(ots)
}

/// Runs `work` over two sessions that are both whole. If it fails, both peers are told, as far as
/// they still hear, and both sessions are spent.
pub(super) fn guarded<T>(
    first: (Peer, &mut Session),
    second: (Peer, &mut Session),
    work: impl FnOnce(&mut Links<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let (first_peer, second_peer) = (first.0, second.0);
    first.1.guarded(|first| {
        second.1.guarded(|second| {
            work(&mut Links {
                first: (first_peer, first),
                second: (second_peer, second),
            })
        })
    })
}
