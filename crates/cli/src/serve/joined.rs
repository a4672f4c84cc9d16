//! Programs that join a table of this party with a peer's: the table is read and checked when the
//! configuration is, and held.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use tacit::circuit::Digest;
use tacit::join::{JoinPlan, JoinSide, JoinedTable, OpenParam, by_key, peer_asks};
use tacit::matching::PeerAsks;
use tacit::protocols::Protocol;
use tacit::session::{ProtocolId, TableSizes};
use tacit::{Error, Job, Role, Session, Value};
use tacit_language::{PortValue, TypedFunction};
use tacit_serve::offers::{OfferedSize, OfferedTable};
use tacit_serve::tables::{FinishedRun, Matching, RunOfPeer, SizedMatching};
use tacit_serve::{RunRequest, TableOffer};

use super::border::{Member, Offered};
use super::config::{NamedProtocol, Served, ServedRole};
use super::policy::{RUN_TIME, choice, members, peers, wrong};
use super::sources::results;
use crate::args::{FunctionArgs, RowArgs};
use crate::config::Config;
use crate::failure::Failure;
use crate::function::{self, FoundFunction};
use crate::inputs::{InputOfService, Reading};
use crate::typed::{CheckedProgram, Runnable, values};

/// A program with this party's table and its other inputs.
struct ServedJoin {
    program: CheckedProgram,
    choice: FunctionArgs,
    params: BTreeMap<String, u64>,
    served: Served,
    role: Role,
    side: JoinSide,
    /// The name of the table's input, and the bytes of the encodings of its rows' keys.
    table: String,
    key_bytes: u64,
    values: BTreeMap<String, PortValue>,
    open: Vec<OpenParam>,
    /// The sizes that this party tells, and those of the peer that it insists on.
    known: BTreeMap<String, u64>,
    meaning: Digest,
    /// Serialises the lines of concurrent runs in a results file.
    turn: Mutex<()>,
}

struct HeldJoin(Arc<ServedJoin>);

/// Returns the offer of a program that joins tables, or nothing if it joins none.
pub(super) fn joined(config: &Config, served: &Served) -> Result<Option<TableOffer>, Failure> {
    let first = members(&served.params)?.into_iter().next();
    let params = first.unwrap_or_default();
    let texts = params.iter();
    let texts = texts.map(|(name, value)| (name.clone(), value.to_string()));
    let ports = [&served.owners, &served.results, &served.types];
    let (entry, order) = (served.entry.as_deref(), served.bit_order.as_deref());
    let choice = choice(entry, texts.collect(), &served.public, ports, order)?;
    let FoundFunction::Program(program) = function::find(&served.function, &choice)? else {
        return Ok(None);
    };
    let rows = RowArgs {
        drop_missing: served.drop_missing,
        keep: served.keep,
    };
    let signature = program.signature().clone().with_row_rules(rows.rules());
    // A service reads its tables when it starts, and when it reads its configuration again.
    let signature = signature.on_threads(available_parallelism().unwrap_or(NonZeroUsize::MIN));
    let ServedRole::OfTwo(role) = served.role else {
        return Ok(None);
    };
    let Some((side, table)) = signature.own_table(role) else {
        return Ok(None);
    };
    check_terms(served)?;
    let open = signature.open_params();
    if !open.iter().any(|param| param.owner != role) {
        return Err(wrong(
            "function",
            "the program fixes the size of the peer's table; leave it open, as in \
             param N: 0..=1_000_000 = len(customers)",
        ));
    }
    let find = |name: &str| {
        served
            .input_files
            .get(name)
            .map(|path| InputOfService::File(path))
    };
    let values = values(&signature, role, &Reading::Named(&find))?;
    let rows = values.get(table);
    let rows = rows.ok_or_else(|| wrong("input_files", &format!("{table} is missing")))?;
    let delivery = results(served, &Offered::new(Vec::new()))?.check();
    delivery.map_err(|reason| wrong("results", &reason))?;
    let known = signature.known_sizes(role, rows);
    let known = known.map_err(|size| Failure::input(size.to_string()))?;
    let encoded = signature.joined_rows(side, rows);
    let held = ServedJoin {
        meaning: program.open_meaning()?,
        program: *program,
        choice,
        params,
        served: served.clone(),
        role,
        side,
        table: table.to_owned(),
        key_bytes: encoded.map_or(0, |rows| rows.key_bytes()),
        values,
        open,
        known,
        turn: Mutex::new(()),
    };
    Ok(Some(TableOffer {
        name: served.shown_name(),
        matching: Arc::new(HeldJoin(Arc::new(held))),
        peers: peers(config, served.peers.as_deref())?,
        rate: served.rate,
        time_limit: served
            .time_limit
            .or(config.timeouts.run)
            .unwrap_or(RUN_TIME),
    }))
}

/// Refuses the fields under which no join runs.
fn check_terms(served: &Served) -> Result<(), Failure> {
    let is_gmw = |named: &NamedProtocol| named.0 == Protocol::Gmw;
    let others = served.protocols.as_ref();
    let refused = if others.is_some_and(|named| !named.iter().all(is_gmw)) {
        ("protocols", "gmw alone joins tables; leave protocols out")
    } else if served.scheme.is_some() {
        ("scheme", "gmw garbles nothing; leave it out")
    } else if served.security_bits.is_some() {
        (
            "security_bits",
            "joins are secure against semi-honest parties only; leave it out",
        )
    } else if served.chain.is_some() || served.replace {
        ("chain", "a join keeps no values between runs; leave it out")
    } else if served.inputs_file.is_some() || served.inputs_command.is_some() {
        (
            "inputs",
            "the table is read once, and held; name its file in input_files",
        )
    } else if served.params.values().any(|given| !given.is_one()) {
        (
            "params",
            "of a program that joins tables each has one value",
        )
    } else {
        return Ok(());
    };
    Err(wrong(refused.0, refused.1))
}

impl ServedJoin {
    /// Returns the sizes of both parties with those that the peer told.
    fn sizes(&self, told: &TableSizes) -> Result<BTreeMap<String, u64>, Error> {
        let theirs: Vec<_> = self
            .open
            .iter()
            .filter(|param| param.owner != self.role)
            .collect();
        let ranges: Vec<_> = theirs
            .iter()
            .map(|param| param.minimum..=param.maximum)
            .collect();
        let mut sizes = self.known.clone();
        for (param, theirs) in theirs.iter().zip(told.within(&ranges)?) {
            let name = param.name.clone();
            match sizes.insert(name.clone(), *theirs) {
                Some(ours) if ours != *theirs => {
                    let theirs = *theirs;
                    return Err(Error::OtherSize { name, ours, theirs });
                }
                _ => {}
            }
        }
        Ok(sizes)
    }

    /// Compiles the program for these sizes.
    fn compiled(&self, sizes: &BTreeMap<String, u64>) -> Result<Runnable, Failure> {
        let program = self.program.clone().with_sizes(&self.choice, sizes)?;
        let found = FoundFunction::Program(Box::new(program)).in_form_of(Protocol::Gmw);
        found.runnable(&self.choice)
    }
}

impl Matching for HeldJoin {
    fn meaning(&self) -> Digest {
        self.0.meaning
    }

    fn sized(&self, told: &TableSizes) -> Result<Box<dyn SizedMatching>, Error> {
        let held = &self.0;
        let runnable = held.compiled(&held.sizes(told)?);
        let runnable = runnable.map_err(|failure| Error::Input(failure.to_string()))?;
        let plan = plan(&runnable)?;
        let asks = peer_asks(plan, (held.role, held.key_bytes), runnable.function())?;
        Ok(Box::new(JoinRun {
            held: Arc::clone(held),
            runnable: Arc::new(runnable),
            asks,
        }))
    }

    fn offered(&self) -> OfferedTable {
        let held = &self.0;
        let signature = held.program.signature();
        let party = signature.party_of(held.role.other());
        let size = |param: &OpenParam| OfferedSize {
            name: param.name.clone(),
            minimum: param.minimum,
            maximum: param.maximum,
            input: param.input.clone(),
            is_peers: param.owner != held.role,
        };
        OfferedTable {
            party: Some(signature.party_name(party).to_owned()),
            meaning: Some(held.meaning.to_string()),
            params: held.params.clone(),
            sizes: held.open.iter().map(size).collect(),
            ..OfferedTable::default()
        }
    }

    fn row_count(&self) -> u64 {
        let held = &self.0;
        let signature = held.program.signature();
        let rows = held.values.get(&held.table);
        let rows = rows.and_then(|rows| signature.joined_rows(held.side, rows));
        rows.map_or(0, |rows| rows.len() as u64)
    }
}

/// Returns the plan of a program that joins tables.
fn plan(runnable: &Runnable) -> Result<&JoinPlan, Error> {
    let plan = runnable.typed().and_then(TypedFunction::join);
    plan.ok_or(Error::ApiMisuse("the run joins no tables"))
}

/// A run of a program with tables of known sizes.
struct JoinRun {
    held: Arc<ServedJoin>,
    runnable: Arc<Runnable>,
    asks: PeerAsks,
}

impl JoinRun {
    /// Returns this party's table in the form that the run takes.
    fn table(&self, threads: NonZeroUsize) -> Result<JoinedTable, Error> {
        let held = &self.held;
        // Which fields of rows are read may depend on the sizes.
        let typed = self.runnable.typed();
        let signature = typed.map_or(held.program.signature(), TypedFunction::signature);
        let rows = signature.joined_rows(held.side, &held.values[&held.table]);
        let rows = rows.ok_or(Error::ApiMisuse("the run joins no tables"))?;
        let rows = rows.encode(threads);
        let rows = rows.map_err(|error| Error::Input(error.to_string()))?;
        by_key(plan(&self.runnable)?, held.role, rows, threads)
    }

    /// Delivers this party's results.
    fn deliver(
        &self,
        run: &RunOfPeer<'_>,
        outputs: &BTreeMap<String, Value>,
    ) -> Result<(), String> {
        let held = &self.held;
        let asked = RunRequest {
            offer: run.offer,
            function: self.runnable.function(),
            role: held.role,
            peer: run.peer,
            peer_name: run.peer_name,
            protocol: ProtocolId::Gmw,
            run: run.run,
        };
        let member = Member {
            runnable: Arc::clone(&self.runnable),
            params: held.params.clone(),
        };
        let results = results(&held.served, &Offered::new(vec![member]));
        let results = results.map_err(|failure| failure.to_string())?;
        let is_file = held.served.results_file.is_some();
        let turn = || held.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _turn = is_file.then(turn);
        results.take(&asked, outputs)
    }
}

impl SizedMatching for JoinRun {
    fn asks(&self) -> PeerAsks {
        self.asks
    }

    fn protocol(&self) -> ProtocolId {
        ProtocolId::Gmw
    }

    fn tell(&mut self, session: &mut Session, _limit: Duration) -> Result<(), Error> {
        let held = &self.held;
        session
            .tell_sizes(held.meaning, &held.open, held.role, &held.known)
            .map(drop)
    }

    fn run(
        self: Box<Self>,
        session: &mut Session,
        run: &RunOfPeer<'_>,
    ) -> Result<FinishedRun, Error> {
        let held = &self.held;
        let function = self.runnable.function();
        let find = |_: &str| None;
        let ahead = Some(&held.values);
        let inputs = self
            .runnable
            .inputs(held.role, &Reading::Named(&find), ahead);
        let inputs = inputs.map_err(|failure| Error::Input(failure.to_string()))?;
        let table = self.table(run.threads)?;
        let mut job = Job::new(function, held.role)
            .by(Protocol::Gmw, run.stocks)?
            .join(plan(&self.runnable)?, &table)
            .time_limit(run.time_limit)
            .threads(run.threads);
        for (name, value) in inputs {
            job = job.input(&name, value);
        }
        let outcome = job.run(session)?;
        Ok(FinishedRun {
            delivered: self.deliver(run, &outcome.outputs),
            cost: outcome.cost,
        })
    }
}
