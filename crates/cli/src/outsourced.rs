//! `tacit run --protocol outsourced`: one of three parties.
//!
//! The generator listens for both others, the cloud connects to it and listens for the evaluator,
//! and the evaluator, which may be behind a router, connects to both.

mod meeting;

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use tacit::cost::Cost;
use tacit::garble::Rung;
use tacit::outsourced::{
    MIN_OUTSOURCED_SECURITY_BITS as MIN_SECURITY_BITS, OutsourcedJob, OutsourcedParameters,
    OutsourcedRole,
};
use tacit::protocols::{StatisticalSecurity, ThreatModel};
use tacit::stock::Stocks;
use tacit::{Fingerprint, Function, Outcome, Role, Session, Value};

use crate::args::{RunArgs, RunRoleArg};
use crate::config::Config;
use crate::failure::Failure;
use crate::log::Log;
use crate::output;
use crate::progress::Bar;
use crate::report::{JSON_VERSION, bits_text, costs_json, costs_text, insecure, pretty, security};
use crate::typed::Runnable;
use crate::{cancel, function, party, shell, stock};
use function::scheme;
use meeting::Meeting;

/// Circuits unless told otherwise: those of the published experiments, some 2^-82.
pub(crate) const COPIES: u32 = 256;
/// Runs the command. Checks everything of this party's before contacting another party.
///
/// # Errors
///
/// Something of this party's, of another's or of the network's is not right.
pub(crate) fn run(args: &RunArgs, config: &Config, log: Log) -> Result<(), Failure> {
    let role = role(args)?;
    if !args.outputs.is_empty() {
        return Err(Failure::Usage(
            "--output is for two parties; leave it out, and take the results from standard output"
                .to_owned(),
        ));
    }
    let meeting = Meeting::new(args, config, role)?;
    let runnable = function::find(&args.function, &args.choice)?.runnable(&args.choice)?;
    let function = runnable.function();
    let rung = scheme(args.scheme.as_deref(), Some(function))?;
    let parameters = parameters_of(args)?;
    let values = values(&runnable, role, args)?;
    log.step(format_args!(
        "function {} {}",
        function.name(),
        function.digest()
    ));
    let chain = chain(function, role, args, config)?;
    let job = || {
        let values = values
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()));
        let job = OutsourcedJob::new(function, parameters).scheme(rung.id);
        values.fold(
            told(job, args, config, chain.as_ref()),
            |job, (name, value)| job.input(name, value),
        )
    };
    let setting = Setting {
        function,
        role,
        parameters,
        rung,
        others: meeting.others,
        chain: args.outsourced.chain.as_deref(),
    };
    if !args.json {
        eprint!("{}", setting.text());
    }
    // The evaluator's part has nothing to do with gates, and its memory is to stay small.
    let gates = match role {
        OutsourcedRole::Evaluator => 0,
        _ => function
            .and_gates()
            .saturating_mul(parameters.copies() as u64),
    };
    let base_ot = args.meet.base_ot.or(config.base_ot);
    let mut sessions = meeting.meet(cancel::on_signal()?, log)?;
    if let Some(kind) = base_ot {
        for session in &mut sessions {
            session.set_base_ot(kind)?;
        }
    }
    let outcomes = runs(&mut sessions, (role, gates), args, log, job)?;
    for session in sessions {
        // The results are here; a peer that has already left takes nothing from them.
        if let Err(error) = session.close() {
            log.step(format_args!("{error}"));
        }
    }
    tell(args, &runnable, &setting, &outcomes)
}

/// `job` with what the arguments and the configuration say of it.
fn told<'f>(
    job: OutsourcedJob<'f>,
    args: &RunArgs,
    config: &Config,
    chain: Option<&Chain>,
) -> OutsourcedJob<'f> {
    let mut job = job.threads(args.threads);
    if let Some(chain) = chain {
        job = job.chain(&chain.stocks, &chain.name, &chain.allowed);
        if args.outsourced.replace {
            job = job.replacing();
        }
    }
    if let Some(pin) = args.outsourced.pin {
        job = job.pin(pin);
    }
    if let Some(patience) = args.meet.timeout.or(config.timeouts.message) {
        job = job.patience(patience);
    }
    if let Some(limit) = args.time_limit.or(config.timeouts.run) {
        job = job.time_limit(limit);
    }
    job
}

/// Runs as often as asked, of `gates` AND gates each, or until another party wants no more.
fn runs<'f>(
    [first, second]: &mut [Session; 2],
    (role, gates): (OutsourcedRole, u64),
    args: &RunArgs,
    log: Log,
    job: impl Fn() -> OutsourcedJob<'f>,
) -> Result<Vec<Outcome>, Failure> {
    let mut outcomes = Vec::new();
    for run in 0..args.repeat {
        let bar = Bar::new(role.name(), gates, !args.json);
        let job = job().watch(|at| bar.show(at));
        let outcome = match role {
            OutsourcedRole::Generator => job.generate(second, first),
            OutsourcedRole::Evaluator => job.evaluate(first, second),
            OutsourcedRole::Cloud => job.serve(first, second),
        };
        match outcome {
            Err(tacit::Error::SessionOver { runs }) => {
                eprintln!(
                    "another party ended after run {runs} of {}; give all three the same --repeat",
                    args.repeat
                );
                break;
            }
            Err(error) => {
                let words = shell::function(&args.function, &args.choice);
                return Err(error.calling_function(&shell::line(&words)).into());
            }
            Ok(outcome) => outcomes.push(outcome),
        }
        log.step(format_args!("run {run} is done"));
    }
    Ok(outcomes)
}

/// Tells the results of the last run, and the costs of all.
fn tell(
    args: &RunArgs,
    runnable: &Runnable,
    setting: &Setting<'_>,
    outcomes: &[Outcome],
) -> Result<(), Failure> {
    let Some(last) = outcomes.last() else {
        return Ok(());
    };
    let costs: Vec<_> = outcomes
        .iter()
        .map(|outcome| outcome.cost.clone())
        .collect();
    if args.json {
        let mut json = setting.json(last, args.cost.then_some(costs.as_slice()));
        json["outputs"] = runnable.outputs_json(&last.outputs)?;
        json["runs_done"] = outcomes.len().into();
        return output::print(pretty(&json).as_bytes());
    }
    output::print(setting.warning().as_bytes())?;
    if last.outputs.is_empty() {
        eprintln!("done; this party gets no result");
    }
    if let Some(chain) = last.chain {
        eprintln!("chain     {chain}, for --pin in a later run");
    }
    output::print(runnable.outputs_text(&last.outputs)?.as_bytes())?;
    if args.cost {
        eprint!("{}", costs_text(&costs));
    }
    Ok(())
}

fn role(args: &RunArgs) -> Result<OutsourcedRole, Failure> {
    let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
    if args.plain_loopback {
        return usage(
            "outsourced rests on three identities, and --plain-loopback has none; leave it out, \
             and give --identity and the fingerprints of the others",
        );
    }
    if args.meet.peer.is_some() || args.meet.connect.is_some() {
        return usage(
            "--peer and --connect are for two parties; name the others by --generator, \
             --evaluator and --cloud, and where they listen by --generator-at and --cloud-at",
        );
    }
    match args.role {
        Some(RunRoleArg::Generator | RunRoleArg::Garbler) => Ok(OutsourcedRole::Generator),
        Some(RunRoleArg::Evaluator) => Ok(OutsourcedRole::Evaluator),
        Some(RunRoleArg::Cloud) => Ok(OutsourcedRole::Cloud),
        None if args.party.is_some() => usage(
            "--as names one of two parties, and outsourced has three; give --role generator, \
             evaluator or cloud",
        ),
        None => usage("nothing says which of the three this party is; give --role"),
    }
}

/// The parameters of `copies` circuits and `bits` bits of the checks of inputs; one circuit is for
/// parties that follow the protocol. `allow` is the option that allows less than 40 bits of
/// statistical security, and whether it was given.
///
/// # Errors
///
/// What is wrong with the number of circuits.
pub(crate) fn parameters(
    copies: u32,
    bits: u8,
    allow: (&str, bool),
) -> Result<OutsourcedParameters, String> {
    if copies == 1 {
        return Ok(OutsourcedParameters::SEMI_HONEST);
    }
    let parameters = OutsourcedParameters::insecure_for_measurements(copies, bits);
    let parameters = parameters.map_err(|_| {
        format!(
            "{copies} circuits: at least 3 are needed to check some and evaluate others; {COPIES} \
             are usual"
        )
    })?;
    let (option, is_allowed) = allow;
    match OutsourcedParameters::malicious(copies, bits) {
        Err(_) if !is_allowed => Err(format!(
            "{copies} circuits and {bits} bits of the input checks give {} of statistical \
             security, and {MIN_SECURITY_BITS} are the least against a malicious party; take \
             {COPIES} and {}, or, to measure and for nothing else, give {option}",
            security_bits_text(&parameters),
            StatisticalSecurity::DEFAULT
        )),
        _ => Ok(parameters),
    }
}

/// The bits of statistical security of parameters, rounded down: what is promised holds.
fn security_bits_of(parameters: &OutsourcedParameters, function: Option<&Function>) -> Option<u8> {
    let bound = parameters.bound(function);
    let bits = bound.map(|bound| bound.total_bits() as u8);
    bits.ok().filter(|_| !parameters.is_semi_honest())
}

fn security_bits_text(parameters: &OutsourcedParameters) -> String {
    bits_text(security_bits_of(parameters, None).unwrap_or(0))
}

fn parameters_of(args: &RunArgs) -> Result<OutsourcedParameters, Failure> {
    let copies = args.outsourced.copies.unwrap_or(COPIES);
    if copies == 1 && args.security != ThreatModel::SemiHonest {
        return Err(Failure::Usage(format!(
            "--copies 1 is for parties that follow the protocol, and --security {} asks for more; \
             give more --copies, such as 256",
            args.security
        )));
    }
    let bits = args.security_bits;
    let bits = bits.unwrap_or(StatisticalSecurity::DEFAULT.bits());
    let allow = (
        "--insecure-for-measurements",
        args.insecure_for_measurements,
    );
    let parameters = parameters(copies, bits, allow);
    parameters.map_err(|what| Failure::Usage(format!("--copies {copies}: {what}")))
}

fn values(
    runnable: &Runnable,
    role: OutsourcedRole,
    args: &RunArgs,
) -> Result<BTreeMap<String, Value>, Failure> {
    let gather = |role| runnable.gather(role, &args.inputs, args.input_file.as_deref());
    match role {
        OutsourcedRole::Generator => gather(Role::Garbler),
        OutsourcedRole::Evaluator => gather(Role::Evaluator),
        OutsourcedRole::Cloud if args.inputs.is_empty() && args.input_file.is_none() => {
            Ok(BTreeMap::new())
        }
        OutsourcedRole::Cloud => Err(Failure::Usage(
            "the cloud has no inputs; leave out --input and --input-file".to_owned(),
        )),
    }
}

/// Where a server keeps values, and whose a chain is that it begins.
struct Chain {
    stocks: Stocks,
    name: String,
    allowed: Vec<Fingerprint>,
}

/// The chain of the runs, where they have one.
fn chain(
    function: &Function,
    role: OutsourcedRole,
    args: &RunArgs,
    config: &Config,
) -> Result<Option<Chain>, Failure> {
    let given = &args.outsourced;
    let is_server = role != OutsourcedRole::Evaluator;
    let wrong = |text: String| Err(Failure::Usage(text));
    if given.pin.is_some() && (is_server || !function.has_saved_values()) {
        return wrong(
            "--pin is for an evaluator whose function saves or loads values; leave it out"
                .to_owned(),
        );
    }
    match &given.chain {
        Some(_) if !is_server => {
            wrong("the evaluator keeps nothing; --chain is for generator and cloud".to_owned())
        }
        Some(name) if !function.has_saved_values() => wrong(format!(
            "--chain {name}: {} neither saves nor loads values; leave it out",
            function.name()
        )),
        None if is_server && function.has_saved_values() => wrong(format!(
            "{} keeps values between runs; name the chain of runs with --chain, as the other \
             server does",
            function.name()
        )),
        None if given.replace => {
            wrong("--replace discards values of a chain; name the chain with --chain".to_owned())
        }
        None if !given.allow.is_empty() => wrong(
            "--allow says who may use a chain's values; name the chain with --chain".to_owned(),
        ),
        None => Ok(None),
        Some(name) => {
            let stocks = stock::open(args.stock.stock.as_deref(), config)?;
            let allowed = given.allow.iter();
            let allowed = allowed.map(|who| party::fingerprint("--allow", who, config));
            let allowed = allowed.collect::<Result<Vec<_>, _>>()?;
            let name = name.clone();
            Ok(Some(Chain {
                stocks,
                name,
                allowed,
            }))
        }
    }
}

/// What is said of a run, apart from its results.
struct Setting<'a> {
    function: &'a Function,
    role: OutsourcedRole,
    parameters: OutsourcedParameters,
    rung: &'static Rung,
    others: [(OutsourcedRole, Fingerprint); 2],
    chain: Option<&'a str>,
}

impl Setting<'_> {
    fn threat_model(&self) -> ThreatModel {
        OutsourcedJob::new(self.function, self.parameters).threat_model()
    }

    /// The first line of results that fewer bits protect than a malicious model needs.
    fn warning(&self) -> String {
        let is_weak =
            !self.parameters.is_semi_honest() && !self.parameters.is_secure().unwrap_or_default();
        match is_weak {
            true => insecure(&security_bits_text(&self.parameters)),
            false => String::new(),
        }
    }

    /// What a person reads before the results.
    fn text(&self) -> String {
        let bits = security_bits_of(&self.parameters, Some(self.function));
        let mut text = format!(
            "protocol  outsourced, {}\n\
             copies    {}\n\
             scheme    {}, rests on {} ({} bits)\n\
             function  {} {}\n\
             role      {}\n",
            security(self.threat_model(), bits),
            self.parameters,
            self.rung.id,
            self.rung.assumption,
            self.rung.security_bits,
            self.function.name(),
            self.function.digest(),
            self.role,
        );
        for (other, who) in &self.others {
            text += &format!("{:<9} {who}\n", other.name());
        }
        if let Some(chain) = self.chain {
            text += &format!("chain     {chain}\n");
        }
        text
    }

    /// The same for a program, with the results and, if wanted, the costs.
    fn json(&self, outcome: &Outcome, costs: Option<&[Cost]>) -> Json {
        let mut object = json!({
            "version": JSON_VERSION,
            "protocol": "outsourced",
            "threat_model": self.threat_model().to_string(),
            "statistical_security_bits": outcome.statistical_security_bits,
            "copies": self.parameters.copies(),
            "evaluated_copies": self.parameters.evaluated(),
            "scheme": self.rung.id.to_string(),
            "assumption": self.rung.assumption.to_string(),
            "security_bits": self.rung.security_bits,
            "function": {
                "name": self.function.name(),
                "digest": self.function.digest().to_string(),
            },
            "role": self.role.name(),
            "chain": self.chain,
            "chain_version": outcome.chain.map(|chain| chain.to_string()),
        });
        for (other, who) in &self.others {
            object[other.name()] = who.to_string().into();
        }
        if let Some(costs) = costs {
            object["cost"] = costs_json(costs);
        }
        object
    }
}
