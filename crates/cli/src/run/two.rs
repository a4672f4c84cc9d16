//! `tacit run` between two parties: the checks before the peer is contacted, and the runs.

mod chained;
mod ended;
mod failed;

use std::collections::BTreeMap;
use std::time::Duration;

use tacit::garble::SchemeInfo;
use tacit::join::{JoinPlan, JoinedTable};
use tacit::protocols::{Protocol, StatisticalSecurity};
use tacit::session::AbortReason;
use tacit::stock::{BatchPreparation, LotPreparation, StockName, Stocks};
use tacit::{Job, Outcome, Role, SecurityScope, Session, Value};
use tacit_language::LeftOut;
use tacit_serve::memory::allowed;

use super::given::GivenInputs;
use super::material::{checked_in_stock, is_open, security, stocks};
use super::{check_chain, role};
use crate::args::RunArgs;
use crate::config::Config;
use crate::failure::{Failure, failure, usage};
use crate::function::scheme;
use crate::log::Log;
use crate::memory;
use crate::party::Party;
use crate::progress::Bar;
use crate::report::{Setting, session_over};
use crate::typed::{OutputFiles, Runnable};
use ended::FinishedRuns;

/// One party's runs of a function with one peer, checked and ready.
pub(super) struct TwoPartyRun<'a> {
    args: &'a RunArgs,
    runnable: &'a Runnable,
    role: Role,
    protocol: Protocol,
    scheme: &'static SchemeInfo,
    security: StatisticalSecurity,
    stocks: Option<Stocks>,
    values: BTreeMap<String, Value>,
    files: OutputFiles,
    join: Option<JoinOfRun<'a>>,
    time_limit: Option<Duration>,
    log: Log,
}

/// A join and this party's table for it.
#[derive(Clone, Copy)]
pub(super) struct JoinOfRun<'a> {
    pub(super) plan: &'a JoinPlan,
    pub(super) table: &'a JoinedTable,
    /// The sizes that the parties told each other.
    pub(super) sizes: &'a BTreeMap<String, u64>,
    /// The rows of this party's table that are not in it.
    pub(super) left_out: LeftOut,
}

impl<'a> TwoPartyRun<'a> {
    /// Puts a join before the function.
    pub(super) fn joining(mut self, join: JoinOfRun<'a>) -> Result<Self, Failure> {
        self.join = Some(join);
        self.job()?.check()?;
        Ok(self)
    }

    /// Checks everything that this party was given, before contacting the peer.
    pub(super) fn new(
        args: &'a RunArgs,
        config: &Config,
        (party, runnable, given): (&Party, &'a Runnable, GivenInputs),
        mut protocol: Protocol,
        log: Log,
    ) -> Result<Self, Failure> {
        let peer = args.meet.peer.as_deref();
        let role = role(&args.who, peer, runnable.signature(), config)?;
        let function = runnable.function();
        check_chain(args, protocol, function)?;
        log.step(format_args!(
            "function {} {}",
            function.name(),
            function.digest()
        ));
        if is_open(args) {
            let checked = || checked_in_stock(args, config, party, function, role);
            protocol = Protocol::by_default(args.security, checked)?;
            let why = match protocol {
                Protocol::Batch => "a checked batch",
                _ => "no checked batch",
            };
            let name = protocol.name();
            eprintln!("{why} of the function is in this party's stock, so `{name}` runs");
        }
        if protocol == Protocol::Authenticated {
            let lot = LotPreparation::triples(role, function.and_gates().max(1));
            let remedy = "make the function smaller";
            if !args.require_stock {
                memory::check(("the run", remedy), &lot, allowed())?;
            }
        }
        if let (Some(named), false) = (&args.runs.scheme, protocol.is_garbled()) {
            return Err(usage!(
                "--scheme {named}: {} garbles nothing", protocol.name();
                "leave --scheme out"
            ));
        }
        let run = Self {
            args,
            runnable,
            role,
            protocol,
            scheme: scheme(args.runs.scheme.as_deref(), Some(function))?,
            security: security(protocol, args)?,
            stocks: stocks(args, config, protocol)?,
            values: runnable.inputs(role, &args.inputs.reading(), given.values.as_ref())?,
            files: given.files,
            join: None,
            time_limit: args.runs.time_limit.or(config.timeouts.run),
            log,
        };
        if matches!(protocol, Protocol::Prepared | Protocol::Gmw) || args.chain.chain.is_some() {
            run.job()?.check()?;
        }
        // The compilation comes first, so that no peer waits for it.
        let compiling = Bar::without_end("compiling", !args.runs.json);
        function.compile();
        drop(compiling);
        log.detail(format_args!(
            "{} AND and {} XOR gates as compiled; {} inputs of this party",
            function.and_gates(),
            function.xor_gates(),
            run.values.len()
        ));
        Ok(run)
    }

    /// Checks that the stock has what `batch` needs. If not, tells the peer, if it is there.
    pub(super) fn check_executions(&self, party: &mut Party) -> Result<(), Failure> {
        let (Protocol::Batch, Some(stocks), Some([own, peer])) =
            (self.protocol, &self.stocks, party.fingerprints())
        else {
            return Ok(());
        };
        let (function, scheme) = (self.runnable.function(), self.scheme.id);
        // The plan reports, above all, a scheme that is not for batch.
        let order = BatchPreparation::largest(self.role, function).scheme(scheme);
        order.statistical_security(self.security).plan()?;
        let stock = stocks.name((own, peer), self.role, scheme);
        let left = |stock: &StockName| stocks.executions_left(stock, function, self.security);
        if stocks.total(&stock, left)? > 0 {
            return Ok(());
        }
        // The other party may be there and would wait in vain.
        party.refuse(AbortReason::NothingInStock, self.log);
        Err(self.nothing_checked())
    }

    /// Makes the requested number of runs over `session`, and prints the results and the costs.
    pub(super) fn play(&self, mut session: Session) -> Result<(), Failure> {
        self.log
            .detail(format_args!("base OTs from {}", session.base_ot()));
        let peer = session.peer().map(|peer| peer.to_string());
        self.log.step(format_args!(
            "connected to {}",
            peer.as_deref().unwrap_or("an unknown peer")
        ));
        let setting = Setting {
            function: self.runnable.function(),
            typed: self.runnable.typed(),
            role: self.role,
            protocol: self.protocol,
            security_bits: self.job()?.held_bits(),
            counts_tries: self.stocks.is_some(),
            scheme: self.scheme,
            peer,
            peer_name: self
                .args
                .meet
                .peer
                .as_deref()
                .filter(|named| !named.starts_with("tacit:")),
        };
        if !self.args.runs.json {
            eprint!("{}", setting.text());
            self.tell_chain(&session);
        }
        let (mut done, mut failure) = (FinishedRuns::default(), None);
        for run in 0..self.args.runs.repeat {
            match self.once(run, &mut session) {
                Ok(outcome) => done.add(outcome, &session),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        // The results are here, so a peer that has already left does not matter.
        if failure.is_none()
            && let Err(error) = session.close()
        {
            self.log.step(format_args!("{error}"));
        }
        self.tell(&setting, &done, failure)
    }

    /// Makes run number `run`.
    fn once(&self, run: u32, session: &mut Session) -> Result<Outcome, Failure> {
        let (args, log) = (self.args, self.log);
        let and_gates = self.runnable.function().and_gates();
        let bar = Bar::new(
            self.role.name(),
            and_gates,
            !args.runs.json && self.join.is_none(),
        );
        // The OTs of a join's stage are no gates, so a join has a percentage.
        let joining = Bar::percent("joining", !args.runs.json && self.join.is_some());
        let mut job = self
            .job()?
            .lease_ahead(u64::from(args.runs.repeat - run - 1))
            .time_limit(self.time_limit)
            .watch_taken(move |taken| log.detail(format_args!("run {run} takes {taken}")))
            .watch(|at| {
                bar.show(at);
                joining.show_part(at.done_ands, at.total_ands);
            });
        for (name, value) in &self.values {
            job = job.input(name, value.clone());
        }
        let outcome = match job.run(session) {
            Err(tacit::Error::SessionOver { runs }) => {
                let runs = (runs, args.runs.repeat);
                return Err(session_over("the other", "both", runs));
            }
            Err(tacit::Error::NothingChecked { .. }) if run > 0 => {
                return Err(failure!(
                    Stock;
                    "the stock was used up after run {run} of {}", args.runs.repeat;
                    "add to it with `tacit prepare`, and run again for the rest"
                ));
            }
            Err(tacit::Error::NothingChecked { .. }) => return Err(self.nothing_checked()),
            Err(error) => return Err(self.failed(error, session)),
            Ok(outcome) => outcome,
        };
        self.report(run, session, &outcome);
        Ok(outcome)
    }

    /// Tells what run number `run` took, beyond its results.
    fn report(&self, run: u32, session: &Session, outcome: &Outcome) {
        let log = self.log;
        if let (0, Some(lane)) = (run, crate::stock::shown_lane(session.lanes().peer)) {
            log.step(format_args!("with lane {lane} of the peer"));
        }
        log.step(format_args!("run {run} took {:?}", outcome.cost.wall()));
        if let Some(SecurityScope::AllRuns { made_at_bits }) = outcome.security_scope
            && made_at_bits > self.security.bits()
        {
            log.step(format_args!(
                "made at s = {made_at_bits}, since earlier tries were not finished; see `tacit \
                 stock list`"
            ));
        }
        if let Some(extension) = outcome.cost.ot_extension {
            log.detail(format_args!("OTs by {extension}"));
        }
        let missing = outcome.cost.and_gates_on_the_spot;
        if self.stocks.is_some() && missing > 0 {
            eprintln!(
                "{missing} AND gates were not in stock and were garbled on the spot; `tacit \
                 prepare` does that beforehand"
            );
        }
    }

    /// Returns the job of a run by its protocol, without inputs yet.
    fn job(&self) -> Result<Job<'_>, tacit::Error> {
        let mut job = Job::new(self.runnable.function(), self.role)
            .threads(self.args.threads)
            .by(self.protocol, self.stocks.as_ref())?;
        if self.protocol.is_garbled() {
            job = job.scheme(self.scheme.id);
        }
        let given = &self.args.chain;
        let job = match &given.chain {
            Some(name) => job.chain(name),
            None => job,
        };
        let mut job = job.statistical_security(self.security);
        if let Some(join) = self.join {
            job = job.join(join.plan, join.table);
        }
        if given.replace {
            job = job.replacing();
        }
        if let Some(pin) = self.args.pin {
            job = job.pin(pin);
        }
        if self.args.require_stock {
            job = job.from_stock_alone();
        }
        Ok(job)
    }
}
