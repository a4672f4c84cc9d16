//! Runs and preparations over an open session.

mod joined;
mod stocks;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tacit::circuit::builder::CircuitForm;
use tacit::cost::Cost;
use tacit::protocols::{Protocol, StatisticalSecurity, ThreatModel};
use tacit::scheme::default_scheme;
use tacit::session::{BaseOtSource, Incompatibility, RunId};
use tacit::stock::{ChainVersion, Material, Prepared};
use tacit::{Error, Fingerprint, Job, Outcome, ProtocolError, Role, SecurityScope};

use self::joined::JoinRun;
use crate::common::{self, Common, CommonTerms, Ordered};
use crate::error;
use crate::function::{Function, Inputs};
use crate::party::{seconds, threads};
use crate::wait::{self, Watch};

/// An authenticated connection. Python code uses `tacit.Session`.
#[pyclass(frozen, module = "tacit._tacit")]
pub(crate) struct Session {
    session: Mutex<Option<tacit::Session>>,
    watch: Watch,
    own: Fingerprint,
    peer: Option<Fingerprint>,
    stock: Option<PathBuf>,
    /// Whether the user knows that a restored copy of the stocks could go unnoticed.
    is_warned: AtomicBool,
}

/// The terms of a run or preparation, as Python gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Terms {
    role: String,
    protocol: Option<String>,
    security: Option<String>,
    security_bits: Option<u8>,
    threads: Option<i64>,
    timeout: Option<f64>,
    chain: Option<String>,
    replace: bool,
    pin: Option<String>,
    drop_missing: bool,
    keep: Option<String>,
    shard: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
}

/// The cost of a phase of a run: its name, seconds, bytes sent and received, and rounds.
pub(crate) type PhaseRow = (&'static str, f64, u64, u64, u64);

/// The result of a run.
#[derive(IntoPyObject)]
struct RunResult<'py> {
    outputs: Bound<'py, PyDict>,
    protocol: &'static str,
    security: String,
    security_bits: Option<u8>,
    /// Whether `security_bits` holds only for this run, because tries are not counted.
    of_this_run_alone: bool,
    /// The chain of kept values with its present version.
    chain: Option<String>,
    /// The source of the base OTs, in a session's first run.
    base_ots: Option<&'static str>,
    phases: Vec<PhaseRow>,
    and_gates: u64,
    and_gates_on_the_spot: u64,
    /// The run's name in the logs of both parties.
    run: Option<String>,
}

/// The result of a preparation for one kind: its name, the number made and the number usable.
type PreparedRow = (String, u64, u64);

impl Session {
    /// Wraps a session that uses the handle of `watch`.
    pub(crate) fn new(
        session: tacit::Session,
        watch: Watch,
        own: Fingerprint,
        stock: Option<PathBuf>,
    ) -> Self {
        Self {
            watch,
            own,
            peer: session.peer(),
            session: Mutex::new(Some(session)),
            stock,
            is_warned: AtomicBool::new(false),
        }
    }

    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<tacit::Session>>> {
        match self.session.try_lock() {
            Ok(session) => Ok(session),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(error::usage(
                py,
                "the session runs something in another thread; it does one thing at a time",
            )),
        }
    }
}

/// A function with its terms, checked.
struct Run<'f> {
    function: &'f tacit::Function,
    /// The names of the parties, the garbler's first.
    parties: (String, String),
    role: Role,
    protocol: Option<Protocol>,
    threat_model: ThreatModel,
    security_bits: Option<u8>,
    threads: NonZeroUsize,
    limit: Option<Duration>,
}

impl<'f> Run<'f> {
    fn new(py: Python<'_>, function: &'f Function, terms: &Terms) -> PyResult<Self> {
        if function.joining().is_some() {
            if terms.protocol.as_deref() != Some(Protocol::Gmw.name()) {
                let message = "the program joins two tables, for which session.prepare makes \
                               crosses alone; give protocol=\"gmw\"";
                return Err(error::usage(py, message));
            }
            function.check_sizes(py)?;
        }
        let role = role(py, &terms.role)?;
        let protocol = terms.protocol.as_deref().map(|name| named(py, name));
        let protocol = protocol.transpose()?;
        let has = protocol.map_or(ThreatModel::SemiHonest, Protocol::threat_model);
        let form = protocol.map_or(CircuitForm::Small, Protocol::circuit_form);
        let asked = match terms.security.as_deref().map(str::parse) {
            None => has,
            Some(Ok(asked @ (ThreatModel::SemiHonest | ThreatModel::Malicious))) => asked,
            Some(_) => {
                let other = terms.security.as_deref().unwrap_or_default();
                let message =
                    format!("security is {other:?}; give \"semi-honest\" or \"malicious\"");
                return Err(error::usage(py, &message));
            }
        };
        if let Some(protocol) = protocol
            && !has.covers(asked)
        {
            let message = format!(
                "security=\"malicious\" is asked for, and the protocol {} is secure against \
                 semi-honest parties only; leave protocol out, or take \"authenticated\" or \
                 \"batch\"",
                protocol.name()
            );
            return Err(error::usage(py, &message));
        }
        let limit = terms.timeout.map(|given| seconds(py, "timeout", given));
        Ok(Self {
            function: function.lowered_in(py, form)?,
            parties: function.parties(),
            role,
            protocol,
            threat_model: if has.covers(asked) { has } else { asked },
            security_bits: terms.security_bits,
            threads: threads(py, terms.threads)?,
            limit: limit.transpose()?,
        })
    }

    /// Returns the names of this party and of the other one.
    fn names(&self) -> (&str, &str) {
        let (garbler, evaluator) = (&*self.parties.0, &*self.parties.1);
        match self.role {
            Role::Garbler => (garbler, evaluator),
            Role::Evaluator => (evaluator, garbler),
        }
    }

    /// Returns s under `protocol`.
    fn security(&self, py: Python<'_>, protocol: Protocol) -> PyResult<StatisticalSecurity> {
        let Some(bits) = self.security_bits else {
            return Ok(StatisticalSecurity::DEFAULT);
        };
        let security = protocol.statistical_security(bits);
        security.map_err(|error| error::raise(py, error))
    }
}

/// Returns the role of this name.
fn role(py: Python<'_>, name: &str) -> PyResult<Role> {
    match name {
        "garbler" => Ok(Role::Garbler),
        "evaluator" => Ok(Role::Evaluator),
        other => {
            let message = format!("role is {other:?}; give \"garbler\" or \"evaluator\"");
            Err(error::usage(py, &message))
        }
    }
}

/// Returns the two-party protocol of this name.
fn named(py: Python<'_>, name: &str) -> PyResult<Protocol> {
    let found = Protocol::between_two().find(|one| one.name() == name);
    found.ok_or_else(|| {
        let known: Vec<_> = Protocol::between_two().map(Protocol::name).collect();
        let known = known.join(", ");
        let message = format!("there is no protocol {name:?} between two; there are {known}");
        error::usage(py, &message)
    })
}

#[pymethods]
impl Session {
    /// Returns the peer's fingerprint.
    #[getter]
    fn peer(&self) -> Option<String> {
        self.peer.map(|peer| peer.to_string())
    }

    /// Ends the session's work, from another thread. The session cannot be used afterwards.
    fn cancel(&self) {
        self.watch.cancel_handle().cancel();
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(session) = self.lock(py)?.take() else {
            return Ok(());
        };
        // The results are here, so a peer that has already left does not matter.
        let terms = wait::Terms::default();
        let _ = self.watch.run(py, terms, || session.close())?;
        Ok(())
    }

    /// Runs a function once. Checks the inputs before sending anything to the peer.
    fn run<'py>(
        &self,
        py: Python<'py>,
        function: &Function,
        inputs: &Bound<'py, PyDict>,
        terms: Terms,
    ) -> PyResult<RunResult<'py>> {
        let reading = terms.table_reading(py, function)?;
        let inputs = function.given(py, role(py, &terms.role)?, (inputs, reading))?;
        if let (Some(program), Inputs::Program(values)) = (function.joining(), &inputs) {
            let run = JoinRun {
                program,
                parties: function.parties(),
                values,
                reading,
            };
            return self.run_join(py, run, terms);
        }
        let run = Run::new(py, function, &terms)?;
        let mut job = Job::new(run.function, run.role);
        for (name, value) in function.bits(py, run.role, inputs)? {
            job = job.input(&name, value);
        }
        job.input_bits().map_err(|error| error::raise(py, error))?;
        let checked = || self.has_checked(py, &job, &run);
        let by_default = || Protocol::by_default(run.threat_model, checked);
        let protocol = run.protocol.map_or_else(by_default, Ok)?;
        let stocks = match protocol {
            Protocol::Direct => None,
            Protocol::Gmw if self.peer.is_none() => None,
            _ => Some(self.stocks(py)?),
        };
        job = job
            .by(protocol, stocks.as_ref())
            .map_err(|error| error::raise(py, error))?;
        if protocol.has_security_bits() {
            job = job.statistical_security(run.security(py, protocol)?);
        }
        job = job.threads(run.threads).time_limit(run.limit);
        if let Some(chain) = &terms.chain {
            job = job.chain(chain);
        }
        if terms.replace {
            job = job.replacing();
        }
        if let Some(pin) = &terms.pin {
            let pin: Result<ChainVersion, _> = pin.parse();
            job = job.pin(pin.map_err(|error| error::raise(py, error))?);
        }
        job.check().map_err(|error| error::raise(py, error))?;
        let terms = (&run, terms.progress);
        let (outcome, id) = self.work_of(py, &mut *self.lock(py)?, terms, |session| {
            let outcome = job.watch(|now| self.watch.note(now)).run(session)?;
            Ok((outcome, session.run_id()))
        })?;
        if let Some(stocks) = &stocks {
            self.warn_if_unnoted(py, stocks)?;
        }
        let outputs = function.results(py, &outcome.outputs)?;
        let ran = ran(outputs, protocol, &outcome, id);
        // Making the results may take long.
        wait::hold_interrupt(py);
        Ok(ran)
    }

    /// Finds the keys that both parties have. Checks them before sending anything to the peer.
    fn common(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyList>,
        terms: CommonTerms,
    ) -> PyResult<Common> {
        let Ordered {
            order,
            limit,
            taken,
        } = common::order(keys, &terms)?;
        let watch = self.watch.clone();
        let order = order.watch(move |now| watch.note(now));
        let terms = (limit, terms.progress);
        let outcome = self.work(py, &mut *self.lock(py)?, terms, |session| {
            order.run(session)
        })?;
        let outcome = outcome.map_err(|error| error::raise(py, error))?;
        Ok(Common::new(outcome, taken.as_deref()))
    }

    /// Prepares for `runs` runs of a function. The peer does the same in the other role.
    fn prepare(
        &self,
        py: Python<'_>,
        function: &Function,
        runs: u64,
        terms: Terms,
    ) -> PyResult<Vec<PreparedRow>> {
        let run = Run::new(py, function, &terms)?;
        let protocol = run.protocol.unwrap_or(match run.threat_model {
            ThreatModel::SemiHonest => Protocol::Prepared,
            _ => Protocol::Batch,
        });
        let stocks = self.stocks(py)?;
        let security = if protocol.has_security_bits() {
            run.security(py, protocol)?
        } else {
            StatisticalSecurity::DEFAULT
        };
        let function = Arc::new(run.function.clone());
        let material = Material::for_runs(protocol, function, security).ok_or_else(|| {
            let name = protocol.name();
            let message = format!("runs by {name} take nothing that session.prepare could make");
            error::usage(py, &message)
        })?;
        let order = material.order(run.role, default_scheme(run.function), runs);
        let order = order.map_err(|error| error::raise(py, error))?;
        let order = order.threads(run.threads).time_limit(run.limit);
        let terms = (&run, terms.progress);
        let prepared = self.work_of(py, &mut *self.lock(py)?, terms, |session| {
            order
                .watch(|now| self.watch.note(now))
                .run(session, &stocks)
        })?;
        let made = match protocol {
            Protocol::Batch => {
                let name = run.function.name().to_owned();
                vec![(name, prepared.made(), prepared.available())]
            }
            _ => rows(prepared),
        };
        self.warn_if_unnoted(py, &stocks)?;
        Ok(made)
    }
}

impl Session {
    /// Works over the session, which `held` is, without the GIL and for at most `limit`.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        held: &mut Option<tacit::Session>,
        (limit, progress): (Option<Duration>, Option<Py<PyAny>>),
        work: impl FnOnce(&mut tacit::Session) -> Result<T, Error> + Send,
    ) -> PyResult<Result<T, Error>> {
        let session = held
            .as_mut()
            .ok_or_else(|| error::usage(py, "the session is closed; open a new one"))?;
        let deadline = limit.and_then(|limit| Some((Instant::now().checked_add(limit)?, limit)));
        let terms = wait::Terms { deadline, progress };
        self.watch.run(py, terms, || work(session))
    }

    /// Does the same as [`work`](Self::work) for a run.
    fn work_of<T: Send>(
        &self,
        py: Python<'_>,
        held: &mut Option<tacit::Session>,
        (run, progress): (&Run<'_>, Option<Py<PyAny>>),
        work: impl FnOnce(&mut tacit::Session) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let done = self.work(py, held, (run.limit, progress), work)?;
        done.map_err(|error| match error {
            Error::Protocol(ProtocolError::PeerIncompatible(Incompatibility::SameRole(_))) => {
                let (own, other) = run.names();
                let message = format!(
                    "the other party runs as {own} too; one of the two is {other}: it gives inputs \
                     of {other}, or role={other:?}"
                );
                error::exception(py, "PeerIncompatible", &message)
            }
            error => error::raise(py, error),
        })
    }
}

/// Returns a row for each kind.
fn rows(prepared: Prepared) -> Vec<PreparedRow> {
    let kinds = prepared.kinds.into_iter();
    kinds
        .map(|kind| (kind.name, kind.made, kind.available))
        .collect()
}

fn ran<'py>(
    outputs: Bound<'py, PyDict>,
    protocol: Protocol,
    outcome: &Outcome,
    id: Option<RunId>,
) -> RunResult<'py> {
    RunResult {
        outputs,
        protocol: protocol.name(),
        security: outcome.threat_model.to_string(),
        security_bits: outcome.statistical_security_bits,
        of_this_run_alone: outcome.security_scope == Some(SecurityScope::ThisRun),
        chain: outcome.chain.as_ref().map(ToString::to_string),
        base_ots: outcome.cost.base_ots.map(BaseOtSource::name),
        phases: phases(&outcome.cost),
        and_gates: outcome.cost.and_gates,
        and_gates_on_the_spot: outcome.cost.and_gates_on_the_spot,
        run: id.map(|id| id.to_string()),
    }
}

pub(crate) fn phases(cost: &Cost) -> Vec<PhaseRow> {
    let phases = cost.phases.iter().map(|phase| {
        let traffic = &phase.traffic;
        (
            phase.phase.name(),
            phase.wall.as_secs_f64(),
            traffic.sent.bytes,
            traffic.received.bytes,
            traffic.rounds,
        )
    });
    phases.collect()
}
