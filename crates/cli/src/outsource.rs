//! `tacit outsource`: the run of one of three parties.
//!
//! The generator listens for the other two parties. The cloud connects to it and listens for the
//! evaluator. The evaluator, which may be behind a router, connects to both.

mod meeting;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value as Json;
use tacit::cost::Cost;
use tacit::garble::SchemeInfo;
use tacit::outsourced::{
    MIN_OUTSOURCED_SECURITY_BITS as MIN_SECURITY_BITS, OutsourcedJob, OutsourcedParameters,
    OutsourcedRole,
};
use tacit::protocols::{Protocol, StatisticalSecurity, ThreatModel};
use tacit::stock::Stocks;
use tacit::{Fingerprint, Function, Outcome, Role, Session};

use crate::args::{OutsourceArgs, OutsourceCommand};
use crate::config::Config;
use crate::failure::{Failure, usage};
use crate::inputs::Reading;
use crate::log::Log;
use crate::output;
use crate::progress::Bar;
use crate::report::{costs_json, costs_text, run_json, security, what_runs};
use crate::typed::Runnable;
use crate::{cancel, function, party, report, shell, stock};
use function::scheme;
use meeting::Meeting;

/// The default number of circuits, from the published experiments: about 2^-82.
pub(crate) const COPIES: u32 = 256;

/// Runs the command. Checks everything on this party's side before contacting another party.
pub(crate) fn outsource(
    command: &OutsourceCommand,
    config: Option<&Path>,
    log: Log,
) -> Result<(), Failure> {
    let config = &Config::load(config)?;
    let given = &command.given();
    let each = given.each;
    let meeting = Meeting::new(given, config)?;
    let found = function::find(&each.function, &each.choice)?.without_join()?;
    let ahead = match reading(given) {
        Some((role, reading)) => found.values(role, &reading)?,
        None => None,
    };
    let runnable = found.runnable(&each.choice)?;
    let function = runnable.function();
    let scheme = scheme(each.runs.scheme.as_deref(), Some(function))?;
    let parameters = parameters_of(given)?;
    let values = match reading(given) {
        Some((role, reading)) => runnable.inputs(role, &reading, ahead.as_ref())?,
        None => BTreeMap::new(),
    };
    drop(ahead);
    log.step(format_args!(
        "function {} {}",
        function.name(),
        function.digest()
    ));
    let chain = chain(function, given, config, meeting.servers())?;
    let job = || {
        let values = values
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()));
        let job = OutsourcedJob::new(function, parameters).scheme(scheme.id);
        values.fold(
            told(job, given, config, chain.as_ref()),
            |job, (name, value)| job.input(name, value),
        )
    };
    let setting = Setting {
        function,
        role: given.role,
        parameters,
        scheme,
        others: meeting.others,
        names: meeting.others.map(|(_, who)| config.short_name(&who)),
        chain: chain.as_ref().map(|chain| chain.name.as_str()),
    };
    if !each.runs.json {
        eprint!("{}", setting.text());
    }
    // The evaluator handles no gates, and its memory must stay small.
    let gates = match given.role {
        OutsourcedRole::Evaluator => 0,
        _ => function
            .and_gates()
            .saturating_mul(parameters.copies() as u64),
    };
    let base_ot = each.session.base_ot.or(config.base_ot);
    let peers = meeting.others.map(|(role, _)| role);
    let mut sessions = meeting.meet(cancel::on_signal()?, log)?;
    if let Some(kind) = base_ot {
        for session in &mut sessions {
            session.set_base_ot(kind)?;
        }
    }
    let (outcomes, error) = runs(&mut sessions, (given, gates), log, job);
    let names = sessions.each_ref().map(Session::run_id);
    close(sessions, error.as_ref(), log);
    let failure = error.map(|error| ended_by(error, given, &runnable));
    let names = peers.into_iter().zip(names);
    let names = names.map(|(peer, run)| (peer.to_string(), run.map(|run| run.to_string()).into()));
    let ended = (outcomes.as_slice(), failure);
    tell(given, (&runnable, &setting), ended, names.collect())
}

/// Closes the sessions, unless an error has broken them.
fn close(sessions: [Session; 2], error: Option<&tacit::Error>, log: Log) {
    if !matches!(error, None | Some(tacit::Error::SessionOver { .. })) {
        return;
    }
    for session in sessions {
        // The results are here, so a peer that has already left does not matter.
        if let Err(error) = session.close() {
            log.step(format_args!("{error}"));
        }
    }
}

/// Returns the failure for the error that ended the runs.
fn ended_by(error: tacit::Error, given: &OutsourceArgs<'_>, runnable: &Runnable) -> Failure {
    let each = given.each;
    match error {
        tacit::Error::SessionOver { runs } => {
            report::session_over("another", "all three", (runs, each.runs.repeat))
        }
        error => {
            let called = shell::called(&each.function, &each.choice, runnable.typed());
            error.calling_function(&called).into()
        }
    }
}

/// Adds the settings of the arguments and the configuration to `job`.
fn told<'f>(
    mut job: OutsourcedJob<'f>,
    given: &OutsourceArgs<'_>,
    config: &Config,
    chain: Option<&Chain>,
) -> OutsourcedJob<'f> {
    if let Some(server) = given.server {
        job = job.threads(server.threads);
    }
    if let Some(chain) = chain {
        job = job.chain(&chain.stocks, &chain.name, &chain.allowed);
        if chain.is_replaced {
            job = job.replacing();
        }
    }
    if let Some(pin) = given.pin {
        job = job.pin(pin);
    }
    if let Some(patience) = given.each.timeout.or(config.timeouts.message) {
        job = job.patience(patience);
    }
    job.time_limit(given.each.runs.time_limit.or(config.timeouts.run))
}

/// Makes the requested number of runs, of `gates` AND gates each. Returns those that were finished,
/// and the error that ended them if there are fewer.
fn runs<'f>(
    [first, second]: &mut [Session; 2],
    (given, gates): (&OutsourceArgs<'_>, u64),
    log: Log,
    job: impl Fn() -> OutsourcedJob<'f>,
) -> (Vec<Outcome>, Option<tacit::Error>) {
    let asked = &given.each.runs;
    let mut outcomes = Vec::new();
    for run in 0..asked.repeat {
        let bar = Bar::new(given.role.name(), gates, !asked.json);
        let job = job().watch(|at| bar.show(at));
        let outcome = match given.role {
            OutsourcedRole::Generator => job.generate(second, first),
            OutsourcedRole::Evaluator => job.evaluate(first, second),
            OutsourcedRole::Cloud => job.serve(first, second),
        };
        match outcome {
            Err(error) => return (outcomes, Some(error)),
            Ok(outcome) => outcomes.push(outcome),
        }
        log.step(format_args!("run {run} is done"));
    }
    (outcomes, None)
}

/// Prints the results of the last run, with its name at each peer, and the costs of all. Returns
/// the failure that ended the runs.
fn tell(
    given: &OutsourceArgs<'_>,
    (runnable, setting): (&Runnable, &Setting<'_>),
    (outcomes, failure): (&[Outcome], Option<Failure>),
    names: serde_json::Map<String, serde_json::Value>,
) -> Result<(), Failure> {
    let asked = &given.each.runs;
    let failure = report::ended_early(failure, outcomes.len(), asked)?;
    let Some(last) = outcomes.last() else {
        return Ok(());
    };
    let costs: Vec<_> = outcomes
        .iter()
        .map(|outcome| outcome.cost.clone())
        .collect();
    if asked.json {
        let mut json = setting.json(last, asked.cost.then_some(costs.as_slice()));
        json["outputs"] = runnable.outputs_json(&last.outputs)?;
        json["runs_done"] = outcomes.len().into();
        json["run"] = names.into();
        return report::json_with(failure, json);
    }
    if runnable.function().outputs().is_empty() {
        eprintln!("done; this run has no results");
    } else if last.outputs.is_empty() {
        eprintln!("done; this party gets no result");
    }
    if let Some(chain) = last.chain {
        eprintln!("chain     at version {}", chain.version);
        eprintln!("pin       {chain}, for --pin in a later run");
    }
    output::print(runnable.outputs_text(&last.outputs)?)?;
    if asked.cost {
        eprint!("{}", costs_text(&costs));
    }
    failure.map_or(Ok(()), Err)
}

/// Returns the parameters for `copies` circuits and `bits` bits of the checks of inputs. One
/// circuit is for parties that follow the protocol.
///
/// # Errors
///
/// The number of circuits is invalid or gives too few bits.
pub(crate) fn parameters(copies: u32, bits: u8) -> Result<OutsourcedParameters, String> {
    if copies == 1 {
        return Ok(OutsourcedParameters::SEMI_HONEST);
    }
    OutsourcedParameters::malicious(copies, bits).map_err(|_| {
        format!(
            "{copies} circuits and {bits} bits of the input checks give fewer than \
             {MIN_SECURITY_BITS} bits of statistical security, the least against a malicious \
             party; take {COPIES} and {}",
            StatisticalSecurity::DEFAULT
        )
    })
}

/// Returns the bits of statistical security of the parameters, rounded down so that the promise
/// holds.
fn security_bits_of(parameters: &OutsourcedParameters, function: &Function) -> Option<u8> {
    let bound = parameters.bound(Some(function));
    let bits = bound.map(|bound| bound.total_bits() as u8);
    bits.ok().filter(|_| !parameters.is_semi_honest())
}

fn parameters_of(given: &OutsourceArgs<'_>) -> Result<OutsourcedParameters, Failure> {
    let each = given.each;
    let copies = each.copies.unwrap_or(COPIES);
    if let Some(asked @ ThreatModel::MaliciousNonColluding) = each.security
        && copies == 1
    {
        return Err(usage!(
            "--copies 1 is for parties that follow the protocol, and --security {asked} asks for \
             more";
            "give more --copies, such as {COPIES}"
        ));
    }
    let bits = each.security_bits;
    let bits = bits.unwrap_or(StatisticalSecurity::DEFAULT.bits());
    parameters(copies, bits).map_err(|what| Failure::usage(format!("--copies {copies}: {what}")))
}

/// Returns the role whose inputs this party gives, and their place. The cloud has none.
fn reading<'g>(given: &OutsourceArgs<'g>) -> Option<(Role, Reading<'g>)> {
    let inputs = given.inputs?;
    let role = match given.role {
        OutsourcedRole::Generator => Role::Garbler,
        OutsourcedRole::Evaluator | OutsourcedRole::Cloud => Role::Evaluator,
    };
    Some((role, inputs.reading()))
}

/// A server's stocks, and the owners of the chain if the run starts one.
struct Chain {
    stocks: Stocks,
    name: String,
    allowed: Vec<Fingerprint>,
    is_replaced: bool,
}

/// Returns the chain of the runs, if this party keeps one.
fn chain(
    function: &Function,
    given: &OutsourceArgs<'_>,
    config: &Config,
    servers: [Fingerprint; 2],
) -> Result<Option<Chain>, Failure> {
    let wrong = |text: String| Err(Failure::usage(text));
    let keeps = function.has_saved_values();
    if given.pin.is_some() && !keeps {
        return wrong(
            "--pin is for a function that saves or loads values; leave it out".to_owned(),
        );
    }
    let Some(server) = given.server else {
        return Ok(None);
    };
    server.chain.check(function, "server")?;
    match &server.chain.chain {
        None if !server.allow.is_empty() => wrong(
            "--allow says who may use a chain's values; name the chain with --chain".to_owned(),
        ),
        None => Ok(None),
        Some(name) => {
            let stocks = stock::open(server.stock.stock.as_deref(), config)?;
            let allowed = server.allow.iter();
            let allowed = allowed.map(|text| {
                let who = party::fingerprint("--allow", text, config)?;
                stock::check_allowed(who, servers, text).map(|()| who)
            });
            Ok(Some(Chain {
                stocks,
                name: name.clone(),
                allowed: allowed.collect::<Result<_, _>>()?,
                is_replaced: server.chain.replace,
            }))
        }
    }
}

/// The description of a run, apart from its results.
struct Setting<'a> {
    function: &'a Function,
    role: OutsourcedRole,
    parameters: OutsourcedParameters,
    scheme: &'static SchemeInfo,
    others: [(OutsourcedRole, Fingerprint); 2],
    /// The names of the other parties, for people.
    names: [String; 2],
    chain: Option<&'a str>,
}

impl Setting<'_> {
    fn threat_model(&self) -> ThreatModel {
        OutsourcedJob::new(self.function, self.parameters).threat_model()
    }

    /// Returns the text before the results, for people.
    fn text(&self) -> String {
        let bits = security_bits_of(&self.parameters, self.function);
        let mut text = format!(
            "protocol  outsourced, {}\n\
             copies    {}\n\
             {}role      {}\n",
            security(self.threat_model(), bits),
            self.parameters,
            what_runs(Some(self.scheme), self.function),
            self.role,
        );
        for ((other, _), name) in self.others.iter().zip(&self.names) {
            text += &format!("{:<9} {name}\n", other.name());
        }
        if let Some(chain) = self.chain {
            text += &format!("chain     {chain}\n");
        }
        text
    }

    /// Returns the JSON for a program, with the results and, if wanted, the costs.
    fn json(&self, outcome: &Outcome, costs: Option<&[Cost]>) -> Json {
        let of = (Protocol::Outsourced.name(), self.threat_model());
        let mut object = run_json(of, Some(self.scheme), self.function, self.role.name());
        object["statistical_security_bits"] = outcome.statistical_security_bits.into();
        object["copies"] = self.parameters.copies().into();
        object["evaluated_copies"] = self.parameters.evaluated().into();
        object["chain"] = self.chain.into();
        object["chain_version"] = outcome.chain.map(|chain| chain.to_string()).into();
        for (other, who) in &self.others {
            object[other.name()] = who.to_string().into();
        }
        if let Some(costs) = costs {
            object["cost"] = costs_json(costs);
        }
        object
    }
}
