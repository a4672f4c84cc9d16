//! `tacit prepare`: one party's side of a preparation. It meets its peer again when the connection
//! breaks.

mod batch;
mod components;
mod crosses;
mod lots;

use std::fmt::{self, Write as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tacit::net::{CancelHandle, Lane};
use tacit::protocols::Protocol;
use tacit::session::{AbortReason, Incompatibility, RunId};
use tacit::stock::{AnyPreparation, Prepared, Stocks};
use tacit::{Category, Error, Function, ProtocolError, Role, Session};
use tacit_serve::memory::allowed;

use crate::args::{PrepareArgs, PrepareFor};
use crate::config::Config;
use crate::failure::{Failure, failure, usage};
use crate::function::FoundFunction;
use crate::log::Log;
use crate::output::{self, counted};
use crate::party::Party;
use crate::progress::Bar;
use crate::report::{micros, shown_bytes};
use crate::typed::Runnable;
use crate::{cancel, function, memory, run, stock};

use batch::BatchOrder;
use components::ComponentOrder;
use crosses::CrossOrder;
use lots::LotOrder;

/// The first pause before the parties meet again. Each further pause is twice as long as the last.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Runs the command.
pub(crate) fn prepare(args: &PrepareArgs, config: Option<&Path>, log: Log) -> Result<(), Failure> {
    let config = Config::load(config)?;
    let mut party = Party::new(&args.meet, false, &config)?.on_threads(args.threads);
    let stocks = stock::open(args.stock.stock.as_deref(), &config)?;
    let found = args.function.as_ref();
    let found = found.map(|name| function::find(name, &args.choice));
    let found = found.transpose()?;
    let usual = match &found {
        Some(found) if found.joins() => PrepareFor::Gmw,
        _ => PrepareFor::Prepared,
    };
    let protocol = args.protocol.unwrap_or(usual);
    check_options(args, protocol)?;
    let (function, role) = function_and_role(args, found, protocol, &config)?;
    let order: Box<dyn Order> = match protocol {
        PrepareFor::Prepared => Box::new(ComponentOrder::new(args, function, role)?),
        PrepareFor::Batch => Box::new(BatchOrder::new(args, function, role)?),
        PrepareFor::Authenticated => Box::new(LotOrder::new(args, function, role)?),
        PrepareFor::Gmw => Box::new(CrossOrder::new(args, function, role, &party)?),
    };
    if let Err(failure) = check_room(order.as_ref(), stock::limit_bytes(&config)) {
        // The other party may be there and would wait in vain.
        party.refuse(AbortReason::NoRoom, log);
        return Err(failure);
    }
    if let (Some(text), false) = (order.announcement(), args.json) {
        eprintln!("{text}");
    }
    party.use_gpu(args.device.gpu, protocol == PrepareFor::Gmw, log)?;
    let cancel = cancel::on_signal()?;
    let begun = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut retries = args.retries;
    let mut met = false;
    let (prepared, run) = loop {
        let attempt = party.meet(cancel.clone(), log).and_then(|mut session| {
            met = true;
            log.step(format_args!("connected"));
            if let Some(lane) = args.lane {
                go_to_lane(&mut session, lane)?;
            }
            let prepared = prepare_over(order.as_ref(), args, &stocks, &mut session);
            // The peer's greeting, which names its lane, may have come only now.
            let (lane, peer) = (session.lanes().peer, args.meet.peer.as_deref());
            let prepared = prepared.map_err(|error| Failure::in_lane(error, peer, lane))?;
            let run = session.run_id();
            // Both parties have everything, so a peer that has already left does not matter.
            let _ = session.close();
            Ok((prepared, run))
        });
        match attempt {
            Ok(ended) => break ended,
            // A peer that was never met is not waited for again; one that was met comes back.
            Err(failure) if met && retries > 0 && failure.is_transient() => {
                retries -= 1;
                eprintln!("{failure}; meeting again, and {}", order.resumption());
                rest(pause, &cancel);
                pause = LONGEST_PAUSE.min(pause * 2);
            }
            Err(failure) => return Err(with_order(failure, order.as_ref(), args)),
        }
    };
    let cost = PreparationCost {
        prepared: &prepared,
        wall: begun.elapsed(),
        run,
    };
    if args.json {
        output::print_json(cost.json(order.json(&prepared)))
    } else {
        output::print(order.text(&prepared, &cost))
    }
}

/// Refuses options that are not of the protocol.
fn check_options(args: &PrepareArgs, protocol: PrepareFor) -> Result<(), Failure> {
    use PrepareFor::{Authenticated, Batch, Gmw, Prepared};
    let options: [(_, _, &[_]); 7] = [
        ("--component", !args.components.is_empty(), &[Prepared]),
        ("--ots", args.ots.is_some(), &[Prepared]),
        ("--ands", args.ands.is_some(), &[Authenticated]),
        ("--crosses", args.crosses.is_some(), &[Gmw]),
        ("--wide-crosses", args.wide_crosses.is_some(), &[Gmw]),
        (
            "--security-bits",
            args.security_bits.is_some(),
            &[Batch, Authenticated],
        ),
        (
            "--scheme",
            args.scheme.is_some(),
            &[Prepared, Batch, Authenticated],
        ),
    ];
    let mut given = options.iter().filter(|(_, is_given, _)| *is_given);
    let Some((option, _, of)) = given.find(|(_, _, of)| !of.contains(&protocol)) else {
        return Ok(());
    };
    let names: Vec<_> = of.iter().map(|one| one.protocol().name()).collect();
    let (all, first) = (names.join(" and "), names[0]);
    Err(usage!(
        "{option} belongs to {all}, and not to {}", protocol.protocol().name();
        "leave it out and give FUNCTION --runs N, or give --protocol {first}"
    ))
}

/// Returns the function that was found, in the form for the protocol, and this party's role in the
/// runs to be prepared for.
fn function_and_role(
    args: &PrepareArgs,
    found: Option<FoundFunction>,
    protocol: PrepareFor,
    config: &Config,
) -> Result<(Option<Function>, Role), Failure> {
    let runnable = found.map(|found| {
        if protocol == PrepareFor::Gmw {
            found.check_sizes()?;
            return found.in_form_of(Protocol::Gmw).runnable(&args.choice);
        }
        found.without_join()?.runnable(&args.choice)
    });
    let runnable = runnable.transpose()?;
    let signature = runnable.as_ref().and_then(Runnable::signature);
    let role = run::role(&args.who, args.meet.peer.as_deref(), signature, config)?;
    let function = runnable.map(|runnable| runnable.function().clone());
    Ok((function, role))
}

/// Refuses an order that fits into no stock of at most `limit` bytes, or needs too much memory.
fn check_room(order: &dyn Order, limit: u64) -> Result<(), Failure> {
    let ordered = order.order()?;
    if let AnyPreparation::Lot(lot) = &ordered {
        memory::check(("the order", "order less at both parties"), lot, allowed())?;
    }
    let bytes = ordered.disk_bytes();
    if bytes > limit {
        return Err(usage!(
            "the order has {} of {} at this party, and a stock takes at most {}",
            shown_bytes(bytes), order.material(), shown_bytes(limit);
            "order less at both parties, or raise limit_gib under [stock] in tacit.toml"
        ));
    }
    Ok(())
}

/// Prepares over one session.
fn prepare_over(
    order: &dyn Order,
    args: &PrepareArgs,
    stocks: &Stocks,
    session: &mut Session,
) -> Result<Prepared, Error> {
    let order = order.order()?;
    let bar = Bar::new("prepare", order.and_gates(), !args.json);
    order
        .threads(args.threads)
        .time_limit(args.time_limit)
        .watch(move |at| bar.show(at))
        .run(session, stocks)
}

/// Goes to the peer's process of this name.
fn go_to_lane(session: &mut Session, lane: Lane) -> Result<(), Failure> {
    let reached = session.go_to_lane(&[lane])?;
    if reached == lane {
        return Ok(());
    }
    let reached = if reached.is_none() {
        "one without a lane".to_owned()
    } else {
        format!("lane {reached}")
    };
    Err(failure!(
        Incompatible;
        "no process of the peer in lane {lane} was reached; {reached} answers at this address";
        "connect to the address of that process, or leave --lane out; a service sends its peers to \
         the lanes under [serve.lanes] of its tacit.toml"
    ))
}

/// Adds this party's order to the failure if the parties may have ordered different things.
fn with_order(failure: Failure, order: &dyn Order, args: &PrepareArgs) -> Failure {
    let ours = order.described();
    match failure {
        Failure::Tacit(Error::Protocol(ProtocolError::PeerIncompatible(
            Incompatibility::Order { .. },
        ))) => failure!(
            Incompatible;
            "the peer is incompatible: it orders something other than this party, which orders \
             {ours}";
            "compare it with the order that the other party prints; they may differ in the \
             function or file, --param, --entry, --runs, --component, --ots, --ands, --crosses, \
             --wide-crosses, --protocol or --scheme"
        ),
        failure => {
            if failure.category() == Category::Incompatible && !args.json {
                eprintln!("this party orders {ours}");
            }
            failure
        }
    }
}

/// The material to be prepared.
trait Order {
    /// Returns the order for the stock.
    fn order(&self) -> Result<AnyPreparation<'_>, Error>;

    /// Names what takes space in the stock.
    fn material(&self) -> &'static str;

    /// Describes the order, for comparison with the other party's.
    fn described(&self) -> String;

    /// Says how the preparation continues when the parties meet again.
    fn resumption(&self) -> &'static str;

    /// Says before the parties meet what the preparation costs.
    fn announcement(&self) -> Option<String> {
        None
    }

    /// Describes what was prepared, and its cost.
    fn text(&self, prepared: &Prepared, cost: &PreparationCost<'_>) -> String;

    /// Returns what was prepared as JSON, without the fields of every preparation.
    fn json(&self, prepared: &Prepared) -> Json;
}

/// Waits for `pause`, or until a signal comes. After a signal, the next meeting reports the
/// cancellation.
fn rest(pause: Duration, cancel: &CancelHandle) {
    const SLICE: Duration = Duration::from_millis(50);
    let end = Instant::now() + pause;
    while !cancel.is_cancelled() && Instant::now() < end {
        thread::sleep(SLICE);
    }
}

/// Returns "run of" or "runs of" with the number and the function.
fn runs_of(runs: u64, function: &Function) -> String {
    let runs = counted(usize::try_from(runs).unwrap_or(usize::MAX), "run");
    format!("{runs} of {}", function.name())
}

/// Returns each kind of material as JSON.
fn kinds_json(prepared: &Prepared) -> Json {
    let kinds = prepared.kinds.iter().map(|kind| {
        json!({
            "name": kind.name,
            "made": kind.made,
            "usable": kind.available,
            "and_gates": kind.and_gates,
        })
    });
    kinds.collect()
}

/// Returns a table with a row for each kind.
fn table(prepared: &Prepared) -> String {
    let mut text = format!(
        "{:>10} {:>10} {:>10}  component\n",
        "made", "usable", "AND gates"
    );
    for kind in &prepared.kinds {
        let (made, usable) = (kind.made, kind.available);
        let _ = writeln!(
            text,
            "{made:>10} {usable:>10} {:>10}  {}",
            kind.and_gates, kind.name
        );
    }
    text
}

/// Returns the line of a text that says how much was made, and for how many runs of the function
/// that is enough.
fn made_line(prepared: &Prepared, material: &str, function: Option<&Function>) -> String {
    let (made, usable) = (prepared.made(), prepared.available());
    let runs = function.map_or(String::new(), |function| {
        let runs = runs_of(prepared.runs.unwrap_or(0), function);
        format!(", enough for {runs}")
    });
    format!("{made} {material} made, {usable} usable{runs}\n")
}

/// Adds to `json` how much was made of a material, and the function whose runs take it.
fn made_json(
    mut json: Json,
    prepared: &Prepared,
    material: &str,
    function: Option<&Function>,
) -> Json {
    let function = function.map(|function| {
        json!({
            "name": function.name(),
            "digest": function.digest().to_string(),
            "runs": prepared.runs,
        })
    });
    json["function"] = json!(function);
    json["material"] = json!(material);
    json["made"] = json!(prepared.made());
    json["usable"] = json!(prepared.available());
    json
}

/// Returns the last lines of a text: how OTs were made, if any were, and the cost.
fn last_lines(prepared: &Prepared, cost: &PreparationCost<'_>) -> String {
    match prepared.ot_extension {
        Some(extension) => format!("OTs by {extension}\n{cost}\n"),
        None => format!("{cost}\n"),
    }
}

/// The cost of a preparation.
struct PreparationCost<'a> {
    prepared: &'a Prepared,
    /// The time, including waits.
    wall: Duration,
    run: Option<RunId>,
}

impl PreparationCost<'_> {
    /// Adds to `json` the fields of every preparation.
    fn json(&self, mut json: Json) -> Json {
        let (traffic, ots) = (&self.prepared.traffic, self.prepared.ot_extension);
        json["run"] = json!(self.run.map(|run| run.to_string()));
        json["wall_us"] = json!(micros(self.wall));
        json["preparing_us"] = json!(micros(self.prepared.wall));
        json["bytes_sent"] = json!(traffic.sent.bytes);
        json["bytes_received"] = json!(traffic.received.bytes);
        json["ot_extension"] = json!(ots.map(|extension| extension.to_string()));
        json["lane"] = json!(stock::shown_lane(self.prepared.lane));
        json
    }
}

impl fmt::Display for PreparationCost<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} s, {} sent, {} received; {:.1} s with waiting{}",
            self.prepared.wall.as_secs_f64(),
            shown_bytes(self.prepared.traffic.sent.bytes),
            shown_bytes(self.prepared.traffic.received.bytes),
            self.wall.as_secs_f64(),
            match stock::shown_lane(self.prepared.lane) {
                Some(lane) => format!("; in lane {lane} of the peer"),
                None => String::new(),
            }
        )
    }
}
