//! `tacit prepare`: one party of a preparation, which meets its peer again when the connection
//! breaks.

mod batch;
mod triples;

use std::fmt::Write as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tacit::garble::Rung;
use tacit::{
    AbortReason, CancelHandle, Category, Component, Error, Meter, OtExtension, Preparation,
    Prepared, Role, Session, Stocks,
};

use crate::args::{Counted, FunctionArgs, PrepareArgs, PrepareFor};
use crate::config::Config;
use crate::failure::Failure;
use crate::function::Found;
use crate::log::Log;
use crate::party::Party;
use crate::progress::Bar;
use crate::report::{JSON_VERSION, pretty, shown_bytes};
use crate::typed::Runnable;
use crate::{cancel, function, run, stock};

use batch::BatchOrder;
use triples::TripleOrder;

/// The first pause before the parties meet again; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Runs the command.
///
/// # Errors
///
/// Something of this party's, of the peer's or of the network's is not right.
pub(crate) fn prepare(args: &PrepareArgs, config: Option<&Path>, log: Log) -> Result<(), Failure> {
    let config = Config::load(config)?;
    let mut party = Party::new(&args.meet, false, &config)?;
    let stocks = stock::open(args.stock.stock.as_deref(), &config)?;
    if args.insecure_for_measurements && args.protocol != PrepareFor::Batch {
        return Err(Failure::Usage(
            "--insecure-for-measurements is for --protocol batch; leave it out".to_owned(),
        ));
    }
    let order = match args.protocol {
        PrepareFor::Prepared => Order::components(args, &config)?,
        PrepareFor::Batch => Order::Batch(Box::new(BatchOrder::new(args, &config)?)),
        PrepareFor::Authenticated => Order::Triples(Box::new(TripleOrder::new(args, &config)?)),
    };
    if let Err(failure) = order.check_room(stock::limit_bytes(&config)) {
        // The other party may be there, and would wait for nothing.
        party.refuse(AbortReason::NoRoom, log);
        return Err(failure);
    }
    if let (Order::Batch(wanted), false) = (&order, args.json) {
        eprintln!("{}", wanted.announcement());
    }
    let cancel = cancel::on_signal()?;
    let begun = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut retries = args.retries;
    let mut met = false;
    let told = loop {
        let attempt = party.meet(cancel.clone(), log).and_then(|session| {
            met = true;
            log.step(format_args!("connected"));
            match &order {
                Order::Components(wanted) => {
                    let prepared = wanted.once(args, &stocks, session)?;
                    Ok(wanted.told(&prepared, begun.elapsed()))
                }
                Order::Batch(wanted) => {
                    let prepared = wanted.once(args, &stocks, session)?;
                    Ok(wanted.told(&prepared, begun.elapsed()))
                }
                Order::Triples(wanted) => {
                    let prepared = wanted.once(args, &stocks, session)?;
                    Ok(wanted.told(&prepared, begun.elapsed()))
                }
            }
        });
        match attempt {
            Ok(told) => break told,
            // A peer that never came is not there; one that was comes back.
            Err(failure)
                if met
                    && failure.category() == Category::Network
                    && retries > 0
                    && !failure.is_time_limit() =>
            {
                retries -= 1;
                eprintln!("{failure}; meeting again, and {}", order.resumption());
                rest(pause, &cancel);
                pause = LONGEST_PAUSE.min(pause * 2);
            }
            Err(failure) => {
                if failure.category() == Category::Incompatible && !args.json {
                    eprintln!("this party orders {}", order.described());
                }
                return Err(failure);
            }
        }
    };
    match args.json {
        true => crate::print(pretty(&told.json).as_bytes()),
        false => crate::print(told.text.as_bytes()),
    }
}

/// What is to be prepared.
enum Order {
    Components(Box<ComponentOrder>),
    Batch(Box<BatchOrder>),
    Triples(Box<TripleOrder>),
}

impl Order {
    /// Components and OTs.
    fn components(args: &PrepareArgs, config: &Config) -> Result<Self, Failure> {
        if args.security_bits.is_some() || args.ands.is_some() {
            return Err(Failure::Usage(
                "--security-bits is the statistical security of batch and authenticated, and \
                 --ands is of authenticated; give --protocol batch or --protocol authenticated \
                 in place of prepared, or leave the option out"
                    .to_owned(),
            ));
        }
        Ok(Self::Components(Box::new(ComponentOrder::new(
            args, config,
        )?)))
    }

    /// Refuses an order that fits into no stock.
    fn check_room(&self, limit_bytes: u64) -> Result<(), Failure> {
        match self {
            Self::Components(wanted) => wanted.check_room(limit_bytes),
            Self::Batch(wanted) => wanted.check_room(limit_bytes),
            Self::Triples(wanted) => wanted.check_room(limit_bytes),
        }
    }

    /// What it is, to be compared with the other party's.
    fn described(&self) -> String {
        match self {
            Self::Components(wanted) => wanted.described(),
            Self::Batch(wanted) => wanted.described(),
            Self::Triples(wanted) => wanted.described(),
        }
    }

    /// How it goes on when the parties meet again.
    fn resumption(&self) -> &'static str {
        match self {
            Self::Components(_) => "going on from there",
            Self::Batch(_) => "starting over with a new batch",
            Self::Triples(_) => "starting over with a new lot",
        }
    }
}

/// What a person or a program is told of a preparation.
struct Told {
    text: String,
    json: Json,
}

/// Waits for `pause`, or until a signal comes; who meets next then says that it was cancelled.
fn rest(pause: Duration, cancel: &CancelHandle) {
    const SLICE: Duration = Duration::from_millis(50);
    let end = Instant::now() + pause;
    while !cancel.is_cancelled() && Instant::now() < end {
        thread::sleep(SLICE);
    }
}

/// The components that the arguments ask for.
struct ComponentOrder {
    role: Role,
    rung: &'static Rung,
    function: Option<(tacit::Function, u64)>,
    components: Vec<(Component, u64)>,
    ots: u64,
}

impl ComponentOrder {
    fn new(args: &PrepareArgs, config: &Config) -> Result<Self, Failure> {
        let found = args.function.as_ref();
        let found = found.map(|name| function::find(name, &args.choice)?.runnable(&args.choice));
        let runnable = found.transpose()?;
        let role = role(args, runnable.as_ref(), config)?;
        let function = runnable.map(|runnable| (runnable.function().clone(), args.runs));
        let components = args.components.iter().map(component);
        let rung = run::scheme(args.scheme.as_deref(), function.as_ref().map(|(f, _)| f))?;
        Ok(Self {
            role,
            rung,
            function,
            components: components.collect::<Result<_, _>>()?,
            ots: args.ots.unwrap_or(0),
        })
    }

    /// The order in words.
    fn described(&self) -> String {
        let of_function = self.function.iter();
        let runs =
            of_function.map(|(function, runs)| format!("{runs} runs of {}", function.name()));
        let components = self.components.iter();
        let components = components.map(|(component, count)| {
            let name = component.name();
            format!("{count} of the component {name}")
        });
        let ots = (self.ots > 0).then(|| format!("{} OTs", self.ots));
        let parts: Vec<_> = runs.chain(components).chain(ots).collect();
        let (role, scheme) = (self.role.name(), self.rung.id);
        format!("{} by prepared as {role} under {scheme}", parts.join(", "))
    }

    /// Bytes of the tables of everything that is asked for.
    fn table_bytes(&self) -> u64 {
        let tables = |component: &Component, count: u64| {
            let cost = self.rung.program_cost(component.program());
            cost.table_bytes.saturating_mul(count)
        };
        let mut sum = 0_u64;
        if let Some((function, runs)) = &self.function {
            let calls = function.component_calls().iter();
            for (component, &calls) in function.components().iter().zip(calls) {
                let count = u64::from(calls).saturating_mul(*runs);
                sum = sum.saturating_add(tables(component, count));
            }
        }
        for (component, count) in &self.components {
            sum = sum.saturating_add(tables(component, *count));
        }
        sum
    }

    /// Refuses an order whose tables alone, which the evaluator keeps, are more than a stock takes.
    fn check_room(&self, limit: u64) -> Result<(), Failure> {
        let bytes = self.table_bytes();
        check_room(self.role, bytes, limit)
    }

    fn order(&self) -> Result<Preparation<'static>, Error> {
        let mut order = Preparation::new(self.role).scheme(self.rung.id);
        if let Some((function, runs)) = &self.function {
            order = order.enough_for(function, *runs)?;
        }
        for (component, count) in &self.components {
            order = order.component(component.clone(), *count);
        }
        Ok(order.ots(self.ots))
    }

    /// Prepares over one session.
    fn once(
        &self,
        args: &PrepareArgs,
        stocks: &Stocks,
        mut session: Session,
    ) -> Result<Prepared, Error> {
        let mut order = self.order()?.threads(args.threads);
        if let Some(limit) = args.time_limit {
            order = order.time_limit(limit);
        }
        let bar = Bar::new("prepare", order.and_gates(), !args.json);
        let prepared = order
            .watch(move |at| bar.show(at))
            .run(&mut session, stocks)?;
        // Both have everything; a peer that has already left takes nothing from it.
        let _ = session.close();
        Ok(prepared)
    }

    fn told(&self, prepared: &Prepared, wall: Duration) -> Told {
        Told {
            text: text(prepared, wall),
            json: self.json(prepared, wall),
        }
    }

    fn json(&self, prepared: &Prepared, wall: Duration) -> Json {
        let kinds = prepared.kinds.iter().map(|kind| {
            json!({
                "name": kind.name,
                "made": kind.made,
                "usable": kind.available,
                "and_gates": kind.and_gates,
            })
        });
        let traffic = &prepared.traffic;
        json!({
            "version": JSON_VERSION,
            "role": self.role.name(),
            "scheme": self.rung.id.to_string(),
            "kinds": kinds.collect::<Vec<_>>(),
            "wall_us": u64::try_from(wall.as_micros()).unwrap_or(u64::MAX),
            "preparing_us": u64::try_from(prepared.wall.as_micros()).unwrap_or(u64::MAX),
            "bytes_sent": traffic.sent.bytes,
            "bytes_received": traffic.received.bytes,
            "ot_extension": prepared.ot_extension.map(|extension| extension.to_string()),
        })
    }
}

/// This party's role in the runs that are prepared for.
fn role(args: &PrepareArgs, runnable: Option<&Runnable>, config: &Config) -> Result<Role, Failure> {
    let who = run::Who {
        party: args.who.party.as_deref(),
        role: args.who.role.map(Role::from),
        peer: args.meet.peer.as_deref(),
    };
    who.role_in(runnable, config)
}

/// Refuses `bytes` of tables, which the evaluator keeps, where they are more than a stock takes.
fn check_room(role: Role, bytes: u64, limit: u64) -> Result<(), Failure> {
    if role == Role::Evaluator && bytes > limit {
        return Err(Failure::Usage(format!(
            "the order has {} of tables, which the evaluator keeps, and a stock takes at most {}; \
             order less at both parties, or raise limit_gib under [stock] in tacit.toml",
            shown_bytes(bytes),
            shown_bytes(limit)
        )));
    }
    Ok(())
}

/// A component of the library or of a circuit file, and how many of it.
fn component(wanted: &Counted) -> Result<(Component, u64), Failure> {
    let choice = FunctionArgs {
        params: wanted.params.clone(),
        ..FunctionArgs::default()
    };
    let name = &wanted.name;
    match function::find(name, &choice)? {
        Found::Circuit(found) => {
            // Of several sizes each has its own name in what is listed.
            let params = wanted
                .params
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            let params = params.collect::<Vec<_>>().join(",");
            let name = match params.is_empty() {
                true => found.name,
                false => format!("{}:{params}", found.name),
            };
            Ok((Component::new(name, found.circuit), wanted.count))
        }
        Found::Function(..) | Found::Program(_) => Err(Failure::Usage(format!(
            "{name} is a function and --component takes circuits; prepare for it with `tacit \
             prepare {name} --runs N`"
        ))),
    }
}

fn text(prepared: &Prepared, wall: Duration) -> String {
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
    let ands: u64 = prepared
        .kinds
        .iter()
        .map(|kind| kind.made * kind.and_gates)
        .sum();
    let ots = ots(prepared.ot_extension);
    let took = took(prepared.wall, &prepared.traffic, wall);
    let _ = writeln!(text, "{ands} AND gates{ots} in {took}");
    text
}

/// How OTs were made, if any were.
fn ots(extension: Option<OtExtension>) -> String {
    extension.map_or(String::new(), |extension| format!(", OTs by {extension},"))
}

/// Time and bytes of a preparation for a person.
fn took(preparing: Duration, traffic: &Meter, wall: Duration) -> String {
    format!(
        "{:.2} s, {} sent, {} received; {:.1} s with waiting",
        preparing.as_secs_f64(),
        shown_bytes(traffic.sent.bytes),
        shown_bytes(traffic.received.bytes),
        wall.as_secs_f64(),
    )
}
