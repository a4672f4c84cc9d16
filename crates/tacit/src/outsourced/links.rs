//! The two sessions of one party in a run of three parties.

use std::num::NonZeroUsize;
use std::time::Duration;

use tacit_function::Role;
use tacit_net::{Awaited, Meter, NetError, SLICE};
use tacit_protocol::io::Io;
use tacit_protocol::message::Kind;
use tacit_protocol::outsourced::{Peer, RunTicket};
use tacit_protocol::party::Progress;
use tacit_protocol::session::RunTag;
use tacit_protocol::{Incompatibility, Misbehaviour};
use web_time::Instant;

use super::{ClientStage, OutsourcedJob};
use crate::cost::{Phase, PhaseCost};
use crate::driver::{flush, run_script_over};
use crate::session::OtNeed;
use crate::{Error, Session};

/// The time spent on each look at the second link.
const GLANCE: Duration = Duration::from_millis(1);

/// A party's two sessions, in the order in which every party works on its links.
pub(super) struct Links<'s> {
    pub(super) first: (Peer, &'s mut Session),
    pub(super) second: (Peer, &'s mut Session),
}

/// A moment, and the traffic of both sessions up to it.
pub(super) struct Clock {
    begun: Instant,
    carried: [Meter; 2],
}

impl Links<'_> {
    /// Returns the session with `peer`.
    pub(super) fn to(&mut self, peer: Peer) -> Result<&mut Session, Error> {
        match peer {
            peer if peer == self.first.0 => Ok(self.first.1),
            peer if peer == self.second.0 => Ok(self.second.1),
            _ => Err(Error::ApiMisuse("a party of three has no link to itself")),
        }
    }

    /// Does `work` in the session with `peer` and marks its errors with that peer.
    pub(super) fn with<T>(
        &mut self,
        peer: Peer,
        work: impl FnOnce(&mut Session) -> Result<T, Error>,
    ) -> Result<T, Error> {
        work(self.to(peer)?).map_err(|error| error.of_party(peer))
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

    /// Returns the cost since `clock`.
    pub(super) fn since(&self, clock: &Clock, phase: Phase) -> PhaseCost {
        let now = self.clock();
        let [first, second] = [0, 1].map(|link| now.carried[link] - clock.carried[link]);
        PhaseCost {
            phase,
            wall: now.begun - clock.begun,
            traffic: first + second,
        }
    }

    /// Bounds every wait and, if there is a limit, the whole run. Returns the earlier bounds.
    pub(super) fn bound(&mut self, patience: Duration, limit: Option<Duration>) -> [Duration; 2] {
        self.both().map(|session| {
            let before = session.channel().timeout();
            session.channel().set_timeout(patience);
            session.channel().set_time_limit(limit);
            before
        })
    }

    /// Makes the OTs of both sessions on this many threads.
    pub(super) fn work_on(&mut self, threads: NonZeroUsize) {
        for session in self.both() {
            session.work_on(threads);
        }
    }

    /// Undoes [`Links::bound`].
    pub(super) fn unbound(&mut self, before: [Duration; 2]) {
        for (session, before) in self.both().into_iter().zip(before) {
            session.channel().set_timeout(before);
            session.channel().set_time_limit(None);
        }
    }

    /// Agrees with both peers on the run and returns the tags of both links. `roles` are this
    /// party's roles on the two links.
    ///
    /// The evaluator starts on both links before it waits on either, so that a server with many
    /// links learns the purpose of each.
    pub(super) fn agree(
        &mut self,
        job: &mut OutsourcedJob<'_>,
        roles: [Role; 2],
    ) -> Result<[RunTag; 2], Error> {
        let peers = [self.first.0, self.second.0];
        let needs = job.ot_needs(peers[0], peers[1])?;
        self.begin(job, roles, needs)?;
        if peers == [Peer::Generator, Peer::Cloud] {
            self.hear_first(&mut job.task.on_stage)?;
        }
        let mut agree = |peer: Peer, role: Role, need: OtNeed| {
            self.with(peer, |session| {
                let agreed = session.agree(&job.terms(role, need));
                let tag =
                    agreed.map_err(|error| session.naming_difference(error, job.task.function))?;
                // Send the answer now: the peer must not wait while this party works on its other
                // link.
                flush(session.channel())?;
                Ok(tag)
            })
        };
        let first = agree(peers[0], roles[0], needs[0])?;
        Ok([first, agree(peers[1], roles[1], needs[1])?])
    }

    /// Waits until the first peer has answered, up to the time limit for a message, and then as
    /// long for the second. Meanwhile the second peer tells the run's place in its queue, which
    /// does not prolong the wait. Ends early if the second peer leaves or ends the run: the first
    /// peer may be waiting for the second, and for longer.
    fn hear_first(&mut self, on_stage: &mut dyn FnMut(ClientStage)) -> Result<(), Error> {
        let [first, second] = [self.first.0, self.second.0];
        let after = self.first.1.channel().timeout();
        let late = |peer| {
            let awaited = Awaited::Message;
            Err(Error::from(NetError::Timeout { awaited, after }).of_party(peer))
        };
        let end = Instant::now() + after;
        while !self.with(first, |link| link.hears(SLICE))? {
            if let Some(before) = self.with(second, |link| link.hear_place(GLANCE))? {
                on_stage(ClientStage::Waits { before });
            }
            if Instant::now() > end {
                return late(first);
            }
        }
        // The places that were sent before the first peer answered, and come after its answer.
        let end = Instant::now() + after;
        let left = || end.saturating_duration_since(Instant::now());
        while self.with(second, |link| link.hear_place(left()))?.is_some() {}
        if self.with(second, |link| link.hears(Duration::ZERO))? {
            Ok(())
        } else {
            late(second)
        }
    }

    /// Begins the run on both links. The evaluator draws a ticket and sends it to both servers, the
    /// cloud passes it on to the generator, and the generator compares. Each server checks that the
    /// ticket is meant for it.
    fn begin(
        &mut self,
        job: &OutsourcedJob<'_>,
        roles: [Role; 2],
        needs: [OtNeed; 2],
    ) -> Result<(), Error> {
        let peers = [self.first.0, self.second.0];
        let begin = |links: &mut Self, link: usize, ticket: Option<&RunTicket>| {
            let terms = job.terms(roles[link], needs[link]);
            let begin = |session: &mut Session| session.begin_of_three(&terms, ticket);
            links.with(peers[link], begin)
        };
        match (peers[0], peers[1]) {
            (Peer::Generator, Peer::Cloud) => {
                let mut number = [0; 16];
                getrandom::fill(&mut number)?;
                let evaluator = self.first.1.own().map_or([0; 32], |own| own.0);
                let ticket = |to| RunTicket {
                    number,
                    evaluator,
                    to,
                };
                begin(self, 0, Some(&ticket(Peer::Generator)))?;
                begin(self, 1, Some(&ticket(Peer::Cloud)))
            }
            (Peer::Generator, _) => {
                begin(self, 1, None)?;
                let theirs = self.with(Peer::Evaluator, |link| evaluators(link, Peer::Cloud))?;
                let ticket = RunTicket {
                    to: Peer::Generator,
                    ..theirs
                };
                begin(self, 0, Some(&ticket))
            }
            _ => {
                begin(self, 0, None)?;
                begin(self, 1, None)?;
                let of_cloud = |link: &mut Session| meant_for(Peer::Generator, link.hear_ticket()?);
                let of_evaluator = |link: &mut Session| evaluators(link, Peer::Generator);
                let clouds = self.with(Peer::Cloud, of_cloud)?;
                if clouds == self.with(Peer::Evaluator, of_evaluator)? {
                    Ok(())
                } else {
                    Err(Incompatibility::OtherRun.into())
                }
            }
        }
    }

    /// Runs `script` over both links.
    pub(super) fn run<T>(
        &mut self,
        watch: &mut dyn FnMut(Progress),
        script: impl AsyncFnOnce(&mut Io<'_, Peer>) -> Result<T, tacit_protocol::Error>,
    ) -> Result<T, Error> {
        let peers = [self.first.0, self.second.0];
        let [first, second] = self.both().map(Session::channel);
        let mut links = [(peers[0], first), (peers[1], second)];
        run_script_over(&mut links, Error::of_party, watch, script)
    }
}

/// Checks that the ticket is meant for this party.
fn meant_for(we_are: Peer, ticket: RunTicket) -> Result<RunTicket, Error> {
    if ticket.to == we_are {
        return Ok(ticket);
    }
    let taken_for = ticket.to;
    Err(Incompatibility::OtherServer { taken_for, we_are }.into())
}

/// Receives the evaluator's ticket, which must name the evaluator and this party.
fn evaluators(session: &mut Session, we_are: Peer) -> Result<RunTicket, Error> {
    let ticket = meant_for(we_are, session.hear_ticket()?)?;
    if ticket.evaluator == session.peer().map_or([0; 32], |peer| peer.0) {
        return Ok(ticket);
    }
    Err(Misbehaviour::invalid(Kind::RunTicket, "evaluator").into())
}

/// Runs `work` over two sessions that are both usable. If it fails, tells both peers as far as
/// possible, and marks both sessions as spent.
pub(super) fn guarded<T>(
    first: (Peer, &mut Session),
    second: (Peer, &mut Session),
    work: impl FnOnce(&mut Links<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let (first_peer, second_peer) = (first.0, second.0);
    first.1.set_party(first_peer);
    second.1.set_party(second_peer);
    first.1.guarded(|first| {
        second.1.guarded(|second| {
            work(&mut Links {
                first: (first_peer, first),
                second: (second_peer, second),
            })
        })
    })
}
