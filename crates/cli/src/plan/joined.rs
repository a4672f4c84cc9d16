//! `tacit plan` of a program that joins tables: what a run takes over several links. It runs by
//! `gmw` alone, so there is no protocol to choose.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tacit::garble::Assumption;
use tacit::net::Link;
use tacit::plan::{JoinCost, JoinOverLink, Planner};
use tacit::protocols::{Protocol, ThreatModel};
use tacit::session::OtExtension;
use tacit_language::{JoinPlan, TypedFunction};

use super::ms;
use super::text::asked;
use crate::args::PlanArgs;
use crate::config::Config;
use crate::failure::{Failure, usage};
use crate::function::FoundFunction;
use crate::inspect::join;
use crate::report::shown_bytes;
use crate::{output, shell};

/// Plans the program and prints the plan.
pub(super) fn plan(
    args: &PlanArgs,
    config: &Config,
    (link, found): (Link, FoundFunction),
) -> Result<(), Failure> {
    check_terms(args)?;
    found.check_sizes()?;
    let runnable = found.in_form_of(Protocol::Gmw).runnable(&args.choice)?;
    let typed = runnable.typed();
    let plan = typed.and_then(TypedFunction::join);
    let (Some(typed), Some(plan)) = (typed, plan) else {
        return Err(Failure::input("the run joins no tables"));
    };
    let mut planner = Planner::new(link)?;
    if let Some(extension) = args.ot_extension.or(config.ot_extension) {
        planner = planner.ot_extension(extension);
    }
    let links = planner.plan_join(typed.function().clone(), plan)?;
    let is_silent = |over: &JoinOverLink| over.ot_extension == OtExtension::Silent;
    let mut silent = None;
    if !links.iter().any(is_silent) {
        let planner = Planner::new(link)?.ot_extension(OtExtension::Silent);
        silent = planner
            .plan_join(typed.function().clone(), plan)?
            .first()
            .copied();
    }
    let told = JoinReport {
        args,
        typed,
        plan,
        links: &links,
        silent,
    };
    if args.json {
        output::print_json(told.json())
    } else {
        output::print(told.text())
    }
}

/// Refuses the arguments under which no join runs.
fn check_terms(args: &PlanArgs) -> Result<(), Failure> {
    if args.security != ThreatModel::SemiHonest {
        return Err(usage!(
            "--security {}: the program joins tables, which is secure against semi-honest parties \
             only", args.security;
            "leave --security out, if you can rely on the other party to follow the protocol"
        ));
    }
    if args.scheme.is_some() || args.assumption != Assumption::IdealCipher {
        return Err(usage!(
            "--scheme and --assumption are of garbling, and gmw, which alone joins tables, garbles \
             nothing";
            "leave them out"
        ));
    }
    Ok(())
}

/// The output of a plan.
struct JoinReport<'a> {
    args: &'a PlanArgs,
    typed: &'a TypedFunction,
    plan: &'a JoinPlan,
    /// The asked link first.
    links: &'a [JoinOverLink],
    /// The asked link with silent OT, if no other line shows that.
    silent: Option<JoinOverLink>,
}

impl JoinReport<'_> {
    fn text(&self) -> String {
        let args = self.args;
        let mut text = asked(&args.function, &args.choice.params);
        let _ = writeln!(text, ": {}", join::text(self.typed, self.plan));
        let _ = writeln!(
            text,
            "  {:>10}  {:>5}  {:>9}  {:>10}  {:>5}  {:>9}  {:<13}  link",
            "bytes", "trips", "time", "from stock", "trips", "time", "OTs"
        );
        for over in self.links.iter().chain(&self.silent) {
            let (made, taken) = (cells(&over.from_nothing), cells(&over.from_stock));
            let link = match over.link.one_way_delay() {
                Duration::ZERO => "loopback".to_owned(),
                _ => over.link.to_string(),
            };
            let ots = over.ot_extension.to_string();
            let _ = writeln!(text, "  {made}  {taken}  {ots:<13}  {link}");
        }
        text.push_str(LEGEND);
        if self.silent.is_some() {
            text.push_str(SILENT);
        }
        let _ = writeln!(text, "\nTo prepare for {} runs:\n", args.runs);
        for party in self.parties() {
            let _ = writeln!(text, "  {} {}", self.prepare(), self.of_party(party, false));
        }
        let _ = writeln!(text, "\nTo run, each with its table:\n");
        for party in self.parties() {
            let _ = writeln!(text, "  {} {}", self.run(), self.of_party(party, true));
        }
        text
    }

    fn json(&self) -> Json {
        let cost = |cost: &JoinCost| {
            json!({
                "bytes": cost.bytes,
                "round_trips": cost.round_trips,
                "ms": ms(cost.time),
            })
        };
        let over_link = |over: &JoinOverLink| {
            json!({
                "one_way_delay_us": over.link.one_way_delay().as_micros() as u64,
                "rate_bits_per_s": over.link.rate_bits_per_s(),
                "ot_extension": over.ot_extension.to_string(),
                "from_nothing": cost(&over.from_nothing),
                "from_stock": cost(&over.from_stock),
            })
        };
        let of_parties = |command: &str, has_inputs: bool| {
            let signature = self.typed.signature();
            let line = |party| {
                let line = format!("{command} {}", self.of_party(party, has_inputs));
                (signature.party_name(party).to_owned(), Json::String(line))
            };
            Json::Object(self.parties().map(line).collect())
        };
        json!({
            "function": self.args.function,
            "protocol": "gmw",
            "join": join::json(self.typed, self.plan),
            "over_links": self.links.iter().map(over_link).collect::<Vec<_>>(),
            "silent": self.silent.as_ref().map(over_link),
            "commands": { "prepare": self.prepare(), "run": self.run() },
            "commands_of_parties": {
                "prepare": of_parties(&self.prepare(), false),
                "run": of_parties(&self.run(), true),
            },
        })
    }

    fn prepare(&self) -> String {
        let runs = self.args.runs.to_string();
        self.command("prepare", &["--protocol", "gmw", "--runs", &runs])
    }

    fn run(&self) -> String {
        self.command("run", &[])
    }

    /// Returns the numbers of both parties.
    fn parties(&self) -> impl Iterator<Item = usize> {
        0..self.typed.signature().parties().count()
    }

    /// Returns the arguments for a party, its peer and, for a run, its inputs.
    fn of_party(&self, party: usize, has_inputs: bool) -> String {
        let signature = self.typed.signature();
        let own = signature.party_name(party);
        let given = &self.args.who.party;
        // The peer's name that was given is this party's, if this party is known.
        let peer = match (&self.args.peer, given) {
            (Some(peer), Some(given)) if given == own => peer,
            _ => "NAME",
        };
        let mut words = ["--as", own, "--with", peer].map(str::to_owned).to_vec();
        let inputs = signature.inputs().iter();
        let inputs = inputs.filter(|input| has_inputs && input.owner == Some(party));
        for input in inputs {
            let ending = if signature.is_table(input.ty) {
                "csv"
            } else {
                "txt"
            };
            let value = format!("{0}=@{0}.{ending}", input.name);
            words.extend(["--input".to_owned(), value]);
        }
        shell::line(&words)
    }

    /// Returns a command, without the arguments for this party, its peer and its inputs.
    fn command(&self, name: &str, more: &[&str]) -> String {
        let args = self.args;
        let mut words = vec!["tacit".to_owned(), name.to_owned()];
        words.extend(shell::function(&args.function, &args.choice));
        words.extend(more.iter().map(|word| (*word).to_owned()));
        if let Some(extension) = args.ot_extension {
            words.extend(["--ot-extension".to_owned(), extension.to_string()]);
        }
        shell::line(&words)
    }
}

const LEGEND: &str = "\n  from stock: with all crosses prepared\n  bytes: of both parties, exact \
                      but for some kilobytes; trips: round trips; time: predicted, on one core a \
                      party, reading the table apart\n";

const SILENT: &str = "  silent: if both give --ot-extension silent; secure if LPN is hard, which \
                      the other OTs do not need\n";

fn cells(cost: &JoinCost) -> String {
    let (bytes, time) = (shown_bytes(cost.bytes), cost.time.as_secs_f64());
    format!("{bytes:>10}  {:>5}  {time:>7.2} s", cost.round_trips)
}
