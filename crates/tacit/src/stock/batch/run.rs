//! A run of `batch` with one checked execution, which both parties lease before the run's first
//! byte.

use tacit_function::{Function, Role};
use tacit_garble::Scheme;
use tacit_kernels::Block;
use tacit_protocol::batch::{
    Batch, EvaluatorBytes, EvaluatorExecution, GarblerExecution, OnlineEvaluator, OnlineGarbler,
    Plan, READY,
};
use tacit_protocol::io::Io;
use tacit_protocol::party::Progress;
use tacit_stock::{ComponentDigest, Instance, Lease, Tried};

use super::{HEADER_BYTES, kind_of, kinds_in_stock, name_of};
use crate::cost::Clock;
use crate::driver::{run_script, seed};
use crate::job::{ProtocolOutcome, SecurityScope};
use crate::protocols::Protocol;
use crate::scheme::{BlockVisitor, with_block_scheme};
use crate::stock::OpenedStock;
use crate::stock::TakenNumbers;
use crate::stock::messages;
use crate::stock::supply::{LeaseOrder, LotLease, lease_of_one_lot};
use crate::stock::tries::{self, TryName};
use crate::{Error, Session};

/// One party's side of a run on which both parties have agreed.
pub(crate) struct BatchRun<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) opened: &'a mut OpenedStock,
    pub(crate) function: &'a Function,
    pub(crate) inputs: &'a [bool],
    pub(crate) statistical_security_bits: u8,
    pub(crate) threads: usize,
    /// The start of the run.
    pub(crate) preparation: Clock,
    pub(crate) leases: LeaseOrder<'a>,
    pub(crate) watch: &'a mut dyn FnMut(Progress),
}

impl BatchRun<'_> {
    /// Runs the next execution that both parties have.
    ///
    /// After an error, a leased execution is lost.
    pub(crate) fn run(mut self) -> Result<ProtocolOutcome, Error> {
        let (kind, lease) = self.lease()?;
        let instance = lease.instances().next().transpose()?;
        let instance = instance.ok_or(Error::ApiMisuse("an execution was leased"))?;
        let (number, scheme) = (instance.number(), self.opened.scheme);
        let name = TryName::in_session(self.session, self.opened.role, Tried::Batches)?;
        let visitor = Execute {
            run: &mut self,
            kind,
            instance,
        };
        let ran = with_block_scheme(scheme, Protocol::Batch, visitor)?;
        let opened = &*self.opened;
        // Record the end before the peer learns why: it could take the other executions meanwhile.
        ran.map_err(|error| after_run(opened, &name, (&kind, number), error))
    }

    /// Leases one execution at both parties, and as many more as the evaluator wants ahead.
    fn lease(&mut self) -> Result<(ComponentDigest, Lease), Error> {
        let (function, security_bits) = (self.function, self.statistical_security_bits);
        let kinds = kinds_in_stock(self.opened, function, security_bits);
        let nothing = || Error::NothingChecked {
            function: function.name().to_owned(),
            statistical_security_bits: security_bits,
        };
        if kinds.is_empty() {
            return Err(nothing());
        }
        let lots: Vec<_> = kinds.iter().map(|kind| vec![*kind]).collect();
        let order = LotLease {
            lots: &lots,
            needed: &[1],
            ahead: self.leases.ahead,
            rank: |_, _| (None, 0),
        };
        let leased = lease_of_one_lot(self.session, self.opened, &order)?;
        let lease = leased.and_then(|leases| leases.into_iter().next());
        let lease = lease.ok_or_else(nothing)?;
        let kind = lease.kind();
        let name = name_of(function, security_bits);
        (self.leases.watch)(&TakenNumbers::of(&lease, name, self.opened.stock.epoch()));
        Ok((kind, lease))
    }
}

/// A run with a leased execution of this kind.
struct Execute<'r, 'a> {
    run: &'r mut BatchRun<'a>,
    kind: ComponentDigest,
    instance: Instance,
}

impl BlockVisitor for Execute<'_, '_> {
    type Output = Result<ProtocolOutcome, Error>;

    fn visit<S: Scheme<Wire = Block>>(self, scheme: S) -> Self::Output {
        let Self {
            run,
            kind,
            instance,
        } = self;
        let (function, inputs, threads) = (run.function, run.inputs, run.threads);
        let (session, watch) = (&mut *run.session, &mut *run.watch);
        let (header, published) = instance
            .tables()
            .split_first_chunk::<HEADER_BYTES>()
            .ok_or_else(|| broken(function))?;
        let (plan, name) = header.split_first_chunk().ok_or_else(|| broken(function))?;
        let plan = Plan::from_bytes(plan).map_err(|_| broken(function))?;
        let name = name.try_into().map_err(|_| broken(function))?;
        let least_bits = run.statistical_security_bits;
        let is_of_run = plan.statistical_security_bits() >= least_bits
            && kind_of(function, least_bits, &plan)? == kind;
        if !is_of_run {
            return Err(broken(function));
        }
        let batch = Batch::named(scheme, function, plan, name)?;
        let secret = instance.secret();
        let seed = seed();
        let (outputs, online) = match run.opened.role {
            Role::Garbler => {
                let execution = GarblerExecution::from_bytes(&batch, secret);
                let execution = execution.map_err(|_| broken(function))?;
                drop(instance);
                let ready = execution.ready(&batch, threads);
                let garbler = OnlineGarbler::new(&batch, ready, inputs, &seed)?;
                session.exchange(async |io| messages::send(io, READY, &[]))?;
                let online = Clock::start(session);
                let script = async |io: &mut Io<'_>| garbler.run(io).await;
                (run_script(session.channel(), watch, script)?, online)
            }
            Role::Evaluator => {
                let bytes = EvaluatorBytes { secret, published };
                let execution = EvaluatorExecution::from_bytes(&batch, bytes);
                let execution = execution.map_err(|_| broken(function))?;
                let evaluator = OnlineEvaluator::new(&batch, execution, inputs, threads, &seed)?;
                session.exchange(async |io| io.receive(READY).await.map(drop))?;
                let online = Clock::start(session);
                let script = async |io: &mut Io<'_>| evaluator.run(io).await;
                (run_script(session.channel(), watch, script)?, online)
            }
        };
        Ok(ProtocolOutcome {
            outputs,
            phases: run.preparation.stop_online(&online, session),
            security_scope: Some(SecurityScope::AllRuns {
                made_at_bits: plan.statistical_security_bits(),
            }),
            ..ProtocolOutcome::default()
        })
    }
}

/// Sets the batch of an execution aside if the run ended because the peer was caught, or because
/// the peer says that it has caught this party. Returns the run's error, or the reason why the end
/// could not be recorded.
fn after_run(
    opened: &OpenedStock,
    name: &TryName,
    (kind, number): (&ComponentDigest, u64),
    error: Error,
) -> Error {
    let set_aside = || match opened.stock.set_aside(kind, number)? {
        Some(_) => tries::note_cheat(&opened.stocks, name),
        None => Ok(()),
    };
    tries::after_run(error, "its batch could not be set aside", set_aside)
}

fn broken(function: &Function) -> Error {
    Error::damaged(format!(
        "an execution of {} in the stock is not as it was kept",
        function.name()
    ))
}
