//! Runs of programs that join two tables: the owners announce the sizes of their tables, and then
//! both compile the program for these sizes and run it by `gmw`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tacit::join::{JoinPlan, Part, by_key, naming_parts};
use tacit::protocols::{Protocol, ThreatModel};
use tacit::stock::Stocks;
use tacit::{Job, Role};
use tacit_language::{PortValue, RowRules};

use super::{Run, RunResult, Session, Terms, ran, role};
use crate::function::Function;
use crate::party::{seconds, threads};
use crate::program::{Program, TableReading, row_rules};
use crate::{error, wait};

impl Terms {
    /// Returns how the tables of a join are read.
    pub(super) fn table_reading(
        &self,
        py: Python<'_>,
        function: &Function,
    ) -> PyResult<TableReading> {
        let rules = row_rules(py, self.drop_missing, self.keep.as_deref())?;
        if rules != RowRules::default() && function.joining().is_none() {
            let message = "drop_missing and keep are for the table of a program that joins two; \
                           leave them out";
            return Err(error::usage(py, message));
        }
        Ok(TableReading {
            rules,
            part: function.part(py, self.shard.as_ref())?,
            threads: threads(py, self.threads)?,
        })
    }
}

/// Refuses the terms under which no join runs.
fn check_terms(py: Python<'_>, terms: &Terms) -> PyResult<()> {
    let refused = if terms
        .security
        .as_deref()
        .is_some_and(|one| one != "semi-honest")
    {
        "security: the program joins tables, which is secure against semi-honest parties only; \
         leave security out, if you can rely on the other party to follow the protocol"
    } else if terms.protocol.as_deref().is_some_and(|one| one != "gmw") {
        "protocol: the program joins tables, which the protocol gmw alone does; leave protocol out"
    } else if terms.security_bits.is_some() {
        "security_bits: the program joins tables, which is secure against semi-honest parties only \
         and has no statistical security parameter; leave security_bits out"
    } else if terms.chain.is_some() || terms.replace || terms.pin.is_some() {
        "chain: the program joins tables, and keeps no values between runs; leave chain out"
    } else {
        return Ok(());
    };
    Err(error::usage(py, refused))
}

/// The end of a run's time limit.
struct Deadline {
    begun: Instant,
    limit: Option<Duration>,
}

impl Deadline {
    /// Returns the time that is left.
    fn left(&self) -> Option<Duration> {
        let limit = self.limit?;
        Some(limit.saturating_sub(self.begun.elapsed()))
    }
}

/// A run of a program that joins tables, with this party's values.
pub(super) struct JoinRun<'a> {
    pub(super) program: &'a Program,
    /// The names of the parties, the garbler's first.
    pub(super) parties: (String, String),
    pub(super) values: &'a BTreeMap<String, PortValue>,
    /// How this party's table was read.
    pub(super) reading: TableReading,
}

/// This party's role, the announced sizes, and the stocks.
type SizedFor<'a> = (Role, &'a BTreeMap<String, u64>, Option<&'a Stocks>);

impl Session {
    /// Runs a program with this party's table and its other inputs. Checks all of them before
    /// sending anything to the peer.
    pub(super) fn run_join<'py>(
        &self,
        py: Python<'py>,
        run: JoinRun<'_>,
        terms: Terms,
    ) -> PyResult<RunResult<'py>> {
        check_terms(py, &terms)?;
        let role = role(py, &terms.role)?;
        let limit = terms.timeout.map(|given| seconds(py, "timeout", given));
        let deadline = Deadline {
            begun: Instant::now(),
            limit: limit.transpose()?,
        };
        let stocks = self.peer.map(|_| self.stocks(py)).transpose()?;
        let part = run.reading.part;
        let signature = run.program.reading(py, run.reading)?;
        let Some((_, name)) = signature.own_table(role) else {
            return Err(error::usage(py, "the run joins no tables"));
        };
        let rows = &run.values[name];
        let known = py.detach(|| signature.known_sizes(role, rows));
        let known = known.map_err(|wrong| error::input(py, &wrong.to_string()))?;
        let open = signature.open_params();
        // Once this party has announced its sizes, the peer waits for this run and for no other. So
        // other threads get the session only after the run.
        let mut held = self.lock(py)?;
        let mut sizes = BTreeMap::new();
        if !open.is_empty() {
            let meaning = run.program.open_meaning(py)?;
            let told = self.work(py, &mut held, (deadline.left(), None), |session| {
                let told = session.tell_sizes(Part::agreed(part, meaning), &open, role, &known);
                told.map_err(|error| naming_parts(error, meaning, part))
            })?;
            sizes = told.map_err(|error| error::raise(py, error))?;
        }
        let given = (role, &sizes, stocks.as_ref());
        let ran = self.run_sized(py, &mut held, (&run, given), terms, &deadline);
        if ran.is_err() && !open.is_empty() {
            drop(held.take());
        }
        ran
    }

    /// Compiles the program for the sizes that the parties have announced, and runs it.
    fn run_sized<'py>(
        &self,
        py: Python<'py>,
        held: &mut Option<tacit::Session>,
        (run, (role, sizes, stocks)): (&JoinRun<'_>, SizedFor<'_>),
        terms: Terms,
        deadline: &Deadline,
    ) -> PyResult<RunResult<'py>> {
        let JoinRun {
            program,
            parties,
            values,
            reading,
        } = run;
        let typed = program.compiled_for_sizes(py, sizes, terms.progress.as_ref())?;
        let joins_nothing = || error::usage(py, "the run joins no tables");
        let signature = &program.signature;
        let (side, name) = signature.own_table(role).ok_or_else(joins_nothing)?;
        let plan = typed.join().ok_or_else(joins_nothing)?.clone();
        let plan = &JoinPlan {
            part: reading.part,
            ..plan
        };
        let of_run = reading.threads;
        // Which fields of rows are read may depend on the sizes.
        let rows = typed.signature().joined_rows(side, &values[name]);
        let rows = rows.ok_or_else(joins_nothing)?;
        let rows = py.detach(|| rows.encode(of_run));
        let rows = rows.map_err(|wrong| error::input(py, &wrong.to_string()))?;
        let table = py.detach(|| by_key(plan, role, rows, of_run));
        let table = table.map_err(|error| error::raise(py, error))?;
        let mut job = Job::new(typed.function(), role)
            .by(Protocol::Gmw, stocks)
            .map_err(|error| error::raise(py, error))?
            .join(plan, &table)
            .threads(of_run)
            .time_limit(deadline.left());
        for (name, value) in program.inputs_of(py, &typed, role, values)? {
            job = job.input(&name, value);
        }
        job.check().map_err(|error| error::raise(py, error))?;
        let run = Run {
            function: typed.function(),
            parties: parties.clone(),
            role,
            protocol: Some(Protocol::Gmw),
            threat_model: ThreatModel::SemiHonest,
            security_bits: None,
            threads: of_run,
            limit: deadline.left(),
        };
        let (outcome, id) = self.work_of(py, held, (&run, terms.progress), |session| {
            let outcome = job.watch(|now| self.watch.note(now)).run(session)?;
            Ok((outcome, session.run_id()))
        })?;
        let outputs = program.results(py, &typed, &outcome.outputs)?;
        let ran = ran(outputs, Protocol::Gmw, &outcome, id);
        // Making the results may take long.
        wait::hold_interrupt(py);
        Ok(ran)
    }
}
