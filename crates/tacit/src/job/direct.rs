//! A run of `direct`.

use tacit_function::{Function, Role};
use tacit_garble::{Scheme, SchemeVisitor, with_scheme};
use tacit_ot::Security;
use tacit_protocol::direct::{self, Run};
use tacit_protocol::party::Progress;
use tacit_protocol::session::RunTag;
use zeroize::Zeroizing;

use super::{AgreedRun, Job, NOT_OFFERED, ProtocolOutcome, ProtocolRun};
use crate::cost::{Clock, Phase};
use crate::driver::{run_script, seed};
use crate::protocols::Protocol;
use crate::session::OtNeed;
use crate::{Error, Session};

pub(super) struct Direct;

impl ProtocolRun for Direct {
    fn protocol(&self) -> Protocol {
        Protocol::Direct
    }

    fn check(&self, job: &Job<'_>) -> Result<(), Error> {
        Ok(direct::check(job.task.function)?)
    }

    fn ot_need(&self, job: &Job<'_>) -> OtNeed {
        OtNeed::of_inputs(Security::SemiHonest, job.task.function)
    }

    fn run(&self, job: &mut Job<'_>, agreed: AgreedRun<'_>) -> Result<ProtocolOutcome, Error> {
        let AgreedRun {
            session,
            tag,
            inputs,
        } = agreed;
        let role = job.task.role;
        let mut phases: Vec<_> = session.set_up(role)?.into_iter().collect();
        phases.extend(session.refill(role, self.ot_need(job).count)?);
        let clock = Clock::start(session);
        let scheme = job.scheme_id();
        let visitor = DirectRun {
            function: job.task.function,
            role,
            session,
            tag,
            inputs,
            threads: job.threads.get(),
            watch: &mut job.watch,
        };
        let outputs = with_scheme(scheme, visitor).map_err(|_| NOT_OFFERED)??;
        phases.push(clock.stop(Phase::Run, session));
        Ok(ProtocolOutcome {
            outputs,
            phases,
            makes_ots: true,
            ..ProtocolOutcome::default()
        })
    }
}

/// A run of `direct`, generic over its scheme.
struct DirectRun<'a> {
    function: &'a Function,
    role: Role,
    session: &'a mut Session,
    tag: RunTag,
    inputs: &'a [bool],
    threads: usize,
    watch: &'a mut dyn FnMut(Progress),
}

impl SchemeVisitor for DirectRun<'_> {
    type Output = Result<Zeroizing<Vec<bool>>, Error>;

    fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
        let Self {
            function,
            role,
            session,
            tag,
            inputs,
            threads,
            watch,
        } = self;
        let run = Run {
            scheme,
            function,
            tag,
            threads,
        };
        match role {
            Role::Garbler => {
                let mut ot = session.take_garbler_ot()?;
                let seed = seed();
                let outputs = run_script(session.channel(), watch, async |io| {
                    run.garble(io, inputs, &mut ot, &seed).await
                })?;
                session.keep_garbler_ot(ot);
                Ok(outputs)
            }
            Role::Evaluator => {
                let mut ot = session.take_evaluator_ot()?;
                let outputs = run_script(session.channel(), watch, async |io| {
                    run.evaluate(io, inputs, &mut ot).await
                })?;
                session.keep_evaluator_ot(ot);
                Ok(outputs)
            }
        }
    }
}
