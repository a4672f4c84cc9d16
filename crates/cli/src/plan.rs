//! `tacit plan`: which protocol, scheme and cut of a function cost least over a link, and why.

mod commands;
mod text;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value as Json, json};
use tacit::net::Link;
use tacit::plan::{Alternative, InStock, Plan, Planner};
use tacit::{Function, Role};

use crate::args::PlanArgs;
use crate::config::Config;
use crate::failure::Failure;
use crate::function::{self, Found, Origin};
use crate::log::Log;
use crate::output;
use crate::report::{JSON_VERSION, pretty};
use crate::typed::Runnable;
use crate::{party, run, stock};
use commands::Commands;

/// Runs the command.
///
/// # Errors
///
/// The function cannot be found, the link is not known, or no protocol does what is asked for.
pub(crate) fn plan(args: &PlanArgs, config: Option<&Path>, log: Log) -> Result<(), Failure> {
    let config = Config::load(config)?;
    let link = link(args, &config)?;
    let subject = Subject::new(args, &config)?;
    let mut planner = Planner::new(link)?
        .threat_model(args.security)
        .runs(args.runs)
        .assumption(args.assumption);
    log.step(format_args!(
        "this machine adds {:?} to a round trip",
        planner.calibration().overhead.exchange
    ));
    if let Some(name) = &args.scheme {
        planner = planner.scheme(function::scheme(Some(name), Some(&subject.function))?.id);
    }
    let in_stock = in_stock(args, subject.role, &config)?;
    let looked = in_stock.is_some();
    if let Some(in_stock) = in_stock {
        planner = planner.stock(in_stock);
    }
    let function = subject.function.clone();
    let plan = match &subject.library {
        Some((name, parameters)) => planner.plan((name, parameters), function)?,
        None => planner.plan_uncut(function)?,
    };
    let overhead = planner.calibration().overhead;
    let told = Told {
        args,
        role: subject.role,
        files: &subject.files,
        link,
        overhead_ms: 1e3 * overhead.exchange.as_secs_f64(),
        looked,
        plan: &plan,
    };
    match args.json {
        true => output::print(pretty(&told.json()).as_bytes()),
        false => output::print(told.text().as_bytes()),
    }
}

/// The output of a plan.
struct Told<'a> {
    args: &'a PlanArgs,
    /// This party's, if something says it: its commands name the peer and the stock.
    role: Option<Role>,
    /// The files that inputs are read from, by input.
    files: &'a BTreeMap<String, String>,
    link: Link,
    /// What this machine adds to a round trip.
    overhead_ms: f64,
    /// Whether a stock was looked at.
    looked: bool,
    plan: &'a Plan,
}

/// What is to be planned.
struct Subject {
    function: Function,
    /// The library's name and the parameters, where it may be cut otherwise: a function with other
    /// owners or recipients than the library gives has no other cuts.
    library: Option<(String, BTreeMap<String, u64>)>,
    /// This party's role, if it is said.
    role: Option<Role>,
    /// The files that inputs are read from, by input. A run draws random bits itself.
    files: BTreeMap<String, String>,
}

impl Subject {
    fn new(args: &PlanArgs, config: &Config) -> Result<Self, Failure> {
        let found = function::find(&args.function, &args.choice)?;
        let origin = match &found {
            Found::Circuit(found) => found.origin,
            Found::Function(_) => Origin::Library,
            Found::Program(_) => Origin::File,
        };
        let usual = args.choice.owners.is_empty() && args.choice.results.is_empty();
        let library = match origin == Origin::Library && usual {
            true => Some((args.function.clone(), function::parameters(&args.choice)?)),
            false => None,
        };
        let runnable = found.runnable(&args.choice)?;
        Ok(Self {
            role: run::known_role(
                &args.who,
                args.peer.as_deref(),
                runnable.signature(),
                config,
            )?,
            function: runnable.function().clone(),
            library,
            files: files(&runnable),
        })
    }
}

/// A file for each input that people give.
fn files(runnable: &Runnable) -> BTreeMap<String, String> {
    let file = |name: &str, ending: &str| (name.to_owned(), format!("{name}.{ending}"));
    match runnable {
        Runnable::Typed(typed) => {
            let signature = typed.signature();
            let inputs = signature.inputs().iter();
            let ending = |ty| if signature.is_table(ty) { "csv" } else { "txt" };
            inputs
                .map(|input| file(input.name.as_str(), ending(input.ty)))
                .collect()
        }
        Runnable::Bits(function) => {
            let inputs = function.inputs().iter();
            inputs.map(|input| file(&input.port.name, "txt")).collect()
        }
    }
}

/// The link that was given, or that of the peer.
fn link(args: &PlanArgs, config: &Config) -> Result<Link, Failure> {
    let of_peer = || config.peers.get(args.peer.as_ref()?)?.link;
    args.link.or_else(of_peer).ok_or_else(|| {
        Failure::Usage(
            "a plan is for a link, and none is known; give it by --link DELAY,RATE, such as \
             33ms,50mbit, or as link under the peer in tacit.toml"
                .to_owned(),
        )
    })
}

/// What is in stock with the peer, if it is to be looked at.
fn in_stock(
    args: &PlanArgs,
    role: Option<Role>,
    config: &Config,
) -> Result<Option<InStock>, Failure> {
    if args.peer.is_none() && args.stock.is_none() {
        return Ok(None);
    }
    let stocks = stock::open(args.stock.as_deref(), config)?;
    let mut names = stocks.list()?;
    if let Some(peer) = &args.peer {
        let peer = party::fingerprint("--with", peer, config)?;
        names.retain(|name| name.peer == peer);
    }
    if let Some(role) = role {
        names.retain(|name| name.role == role);
    }
    if names.iter().any(|name| name.peer != names[0].peer) {
        return Err(Failure::Usage(
            "there are stocks with several peers; say with whom the run will be by --peer"
                .to_owned(),
        ));
    }
    let summaries = names.iter().map(|name| stocks.summary(name));
    Ok(Some(InStock::new(summaries.collect::<Result<_, _>>()?)))
}

impl Told<'_> {
    fn json(&self) -> Json {
        let plan = self.plan;
        let position = |wanted: &Alternative| {
            let mut all = plan.alternatives.iter();
            all.position(|one| std::ptr::eq(one, wanted))
        };
        let next = plan.better().unwrap_or(plan.choice());
        let commands = |of: &Alternative| {
            let commands = Commands::new(self, of);
            let mut object = json!({});
            for role in self.roles() {
                object[role.name()] = json!({
                    "prepare": commands.prepare(role),
                    "run": commands.run(role),
                });
            }
            object
        };
        json!({
            "version": JSON_VERSION,
            "function": self.args.function,
            "link": {
                "one_way_delay_us": self.link.one_way_delay().as_micros() as u64,
                "rate_bits_per_s": self.link.rate_bits_per_s(),
                "software_adds_us": (1e3 * self.overhead_ms).round(),
            },
            "asked": {
                "threat_model": self.args.security.to_string(),
                "assumption": self.args.assumption.to_string(),
            },
            "alternatives": plan.alternatives.iter().map(alternative).collect::<Vec<_>>(),
            "choice": plan.choice_number(),
            "better_once_prepared": plan.better().and_then(position),
            "reasons": self.reasons(),
            "commands": commands(plan.choice()),
            "commands_once_prepared": commands(next),
        })
    }

    /// Both roles, this party's first.
    fn roles(&self) -> [Role; 2] {
        let first = self.role.unwrap_or(Role::Garbler);
        [first, first.other()]
    }
}

/// One alternative for a program.
fn alternative(one: &Alternative) -> Json {
    let ms = |time: std::time::Duration| 1e3 * time.as_secs_f64();
    let (times, traffic, offline) = (&one.times, &one.traffic, &one.offline);
    let needs = one
        .needs
        .iter()
        .map(|need| json!({ "name": need.name, "count": need.count, "in_stock": need.in_stock }));
    let parameters: BTreeMap<&str, u64> = match &one.cut {
        Some(cut) => {
            let parameters = cut.parameters.iter();
            parameters
                .map(|(name, value)| (name.as_str(), *value))
                .collect()
        }
        None => {
            let parameters = one.function.parameters().iter();
            parameters
                .map(|(name, value)| (name.as_str(), *value))
                .collect()
        }
    };
    json!({
        "protocol": one.protocol.name(),
        "threat_model": one.protocol.threat_model().to_string(),
        "scheme": one.rung.id.to_string(),
        "assumption": one.rung.assumption.to_string(),
        "security_bits": one.rung.security_bits,
        "function": {
            "name": one.function.name(),
            "parameters": parameters,
            "digest": one.function.digest().to_string(),
        },
        "cut": one.cut.as_ref().map(|cut| &cut.description),
        "serves_other_sizes": one.cut.as_ref().map(|cut| cut.serves_other_sizes),
        "and_gates": one.function.and_gates(),
        "calls": one.function.call_count(),
        "garbler_early_bytes": traffic.garbler_early_bytes,
        "garbler_late_bytes": traffic.garbler_late_bytes,
        "evaluator_bytes": traffic.evaluator_bytes,
        "online_round_trips": one.online_round_trips,
        "round_trips_from_agreement": one.round_trips(),
        "online_ms": ms(times.online),
        "from_agreement_ms": ms(times.from_agreement),
        "floor_known_ms": ms(times.floor_known),
        "floor_unknown_ms": ms(times.floor_unknown),
        "evaluation_ms": ms(times.evaluation),
        "needs": needs.collect::<Vec<_>>(),
        "runs_in_stock": one.runs_in_stock,
        "offline": {
            "bytes": offline.bytes,
            "evaluator_disk_bytes": offline.evaluator_disk_bytes,
            "garbler_disk_bytes": offline.garbler_disk_bytes,
            "ms": ms(offline.time),
        },
    })
}
