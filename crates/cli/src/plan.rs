//! `tacit plan`: the protocol and scheme with the least cost of a function over a link, and why.

mod commands;
mod joined;
mod text;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tacit::net::Link;
use tacit::plan::{Alternative, InStock, OverLink, Plan, Planner};
use tacit::session::OtExtension;
use tacit::{Function, Role};

use crate::args::PlanArgs;
use crate::config::Config;
use crate::failure::{Failure, usage};
use crate::function::{self, FoundFunction};
use crate::log::Log;
use crate::output;
use crate::typed::{CheckedProgram, Runnable};
use crate::{party, run, stock};
use commands::Commands;

/// Runs the command.
pub(crate) fn plan(args: &PlanArgs, config: Option<&Path>, log: Log) -> Result<(), Failure> {
    let config = Config::load(config)?;
    let link = link(args, &config)?;
    let found = function::find(&args.function, &args.choice)?;
    if found.joins() {
        return joined::plan(args, &config, (link, found));
    }
    let subject = Subject::new(args, &config, found)?;
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
    let ot_extension = args.ot_extension.or(config.ot_extension);
    if let Some(extension) = ot_extension {
        planner = planner.ot_extension(extension);
    }
    let in_stock = in_stock(args, subject.role, &config)?;
    let looked = in_stock.is_some();
    if let Some(in_stock) = in_stock {
        planner = planner.stock(in_stock);
    }
    let plan = match &subject.shallow {
        Some(program) => {
            planner.plan_program(subject.function.clone(), || shallow(program, log))?
        }
        None => planner.plan(subject.function.clone())?,
    };
    let overhead = planner.calibration().overhead;
    let told = PlanReport {
        args,
        role: subject.role,
        files: &subject.files,
        link,
        overhead_ms: 1e3 * overhead.exchange.as_secs_f64(),
        ot_extension,
        looked,
        plan: &plan,
    };
    if args.json {
        output::print_json(told.json())
    } else {
        output::print(told.text())
    }
}

/// Returns a program in the form in which `gmw` runs it, if that form is within the limits.
fn shallow(program: &CheckedProgram, log: Log) -> Option<Function> {
    let compiled = program.compile(true);
    let told = compiled.inspect_err(|failure| {
        log.step(format_args!("gmw is not planned: {failure}"));
    });
    Some(told.ok()?.function().clone())
}

/// The output of a plan.
struct PlanReport<'a> {
    args: &'a PlanArgs,
    /// This party's role, if it is known. This party's commands then name the peer and the stock.
    role: Option<Role>,
    /// The files that inputs are read from, by input.
    files: &'a BTreeMap<String, String>,
    link: Link,
    /// The milliseconds that this machine adds to a round trip.
    overhead_ms: f64,
    /// The OT extension, if one is given.
    ot_extension: Option<OtExtension>,
    /// Whether the plan looked at a stock.
    looked: bool,
    plan: &'a Plan,
}

/// The function to plan for.
struct Subject {
    function: Function,
    /// The program in the form in which `gmw` runs it.
    shallow: Option<CheckedProgram>,
    /// This party's role, if it is known.
    role: Option<Role>,
    /// The files that inputs are read from, by input. A run draws random bits itself.
    files: BTreeMap<String, String>,
}

impl Subject {
    fn new(args: &PlanArgs, config: &Config, found: FoundFunction) -> Result<Self, Failure> {
        let (runnable, shallow) = found.in_both_forms(&args.choice)?;
        Ok(Self {
            shallow,
            role: run::known_role(
                &args.who,
                args.peer.as_deref(),
                runnable.signature(),
                config,
            )?,
            function: runnable.function().clone(),
            files: files(&runnable),
        })
    }
}

/// Returns a file name for each input that people give.
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

/// Returns the given link, or that of the peer.
fn link(args: &PlanArgs, config: &Config) -> Result<Link, Failure> {
    let of_peer = || config.peers.get(args.peer.as_ref()?)?.link;
    args.link.or_else(of_peer).ok_or_else(|| {
        usage!(
            "a plan is for a link, and none is known";
            "give it by --link DELAY,RATE, such as 33ms,50mbit, or as link under the peer in \
             tacit.toml"
        )
    })
}

/// Returns the stock with the peer, if the plan takes it into account.
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
        return Err(usage!(
            "there are stocks with several peers";
            "say with whom the run will be by --peer"
        ));
    }
    let summaries = names.iter().map(|name| stocks.summary(name));
    Ok(Some(InStock::new(summaries.collect::<Result<_, _>>()?)))
}

impl PlanReport<'_> {
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
            "function": self.args.function,
            "link": {
                "one_way_delay_us": self.link.one_way_delay().as_micros() as u64,
                "rate_bits_per_s": self.link.rate_bits_per_s(),
                "software_adds_us": (1e3 * self.overhead_ms).round(),
            },
            "asked": {
                "threat_model": self.args.security.to_string(),
                "assumption": self.args.assumption.to_string(),
                "ot_extension": self.ot_extension.map(|extension| extension.to_string()),
            },
            "alternatives": plan.alternatives.iter().map(alternative).collect::<Vec<_>>(),
            "over_links": plan.elsewhere.iter().map(over_link).collect::<Vec<_>>(),
            "choice": plan.choice_number(),
            "better_once_prepared": plan.better().and_then(position),
            "reasons": self.reasons(),
            "commands": commands(plan.choice()),
            "commands_once_prepared": commands(next),
        })
    }

    /// Returns both roles, this party's first.
    fn roles(&self) -> [Role; 2] {
        let first = self.role.unwrap_or(Role::Garbler);
        [first, first.other()]
    }
}

fn ms(time: Duration) -> f64 {
    1e3 * time.as_secs_f64()
}

/// Returns the cost of `gmw` and `direct` over a link as JSON.
fn over_link(times: &OverLink) -> Json {
    json!({
        "one_way_delay_us": times.link.one_way_delay().as_micros() as u64,
        "rate_bits_per_s": times.link.rate_bits_per_s(),
        "gmw_online_ms": ms(times.gmw),
        "direct_online_ms": ms(times.direct),
    })
}

/// Returns one alternative as JSON.
fn alternative(one: &Alternative) -> Json {
    let (times, traffic, offline) = (&one.times, &one.traffic, &one.offline);
    let needs = one
        .needs
        .iter()
        .map(|need| json!({ "name": need.name, "count": need.count, "in_stock": need.in_stock }));
    let parameters = one.function.parameters().iter();
    let parameters: BTreeMap<&str, u64> = parameters
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    json!({
        "protocol": one.protocol.name(),
        "threat_model": one.protocol.threat_model().to_string(),
        "scheme": one.scheme.map(|scheme| scheme.id.to_string()),
        "assumption": one.scheme.map(|scheme| scheme.assumption.to_string()),
        "security_bits": one.scheme.map(|scheme| scheme.security_bits),
        "ot_extension": one.ot_extension.map(|extension| extension.to_string()),
        "function": {
            "name": one.function.name(),
            "parameters": parameters,
            "digest": one.function.digest().to_string(),
        },
        "and_gates": one.function.and_gates(),
        "calls": one.function.call_count(),
        "garbler_early_bytes": traffic.garbler_early_bytes,
        "garbler_late_bytes": traffic.garbler_late_bytes,
        "evaluator_bytes": traffic.evaluator_bytes,
        "online_round_trips": one.online_round_trips,
        "round_trips_from_agreement": one.round_trips(),
        "online_ms": ms(times.online),
        "from_agreement_ms": ms(times.from_agreement),
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
