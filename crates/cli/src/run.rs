//! `tacit run`: one party of a run.

use std::path::Path;

use tacit::garble::{Assumption, Rung, SchemeId};
use tacit::protocols::{DEFAULT_SECURITY_BITS, Protocol, StockUse, ThreatModel};
use tacit::scheme::{best_scheme, default_scheme};
use tacit::{
    AbortReason, BatchPreparation, Cost, Function, Job, Role, SecurityScope, StockName, Stocks,
};
use tacit_language::TypedFunction;

use crate::args::{RunArgs, RunRoleArg};
use crate::config::Config;
use crate::failure::Failure;
use crate::log::Log;
use crate::party::Party;
use crate::progress::Bar;
use crate::report::{Setting, costs_text, pretty};
use crate::typed::{OutputFiles, Runnable};
use crate::{cancel, function, outsourced, shell, stock};

/// Runs the command. Everything of this party's is checked before the peer hears of it.
///
/// # Errors
///
/// Something of this party's, of the peer's or of the network's is not right.
pub(crate) fn run(args: &RunArgs, config: Option<&Path>, log: Log) -> Result<(), Failure> {
    let config = Config::load(config)?;
    let mut protocol = protocol(args)?;
    if protocol == Protocol::Outsourced {
        return outsourced::run(args, &config, log);
    }
    refuse_for_two(args, protocol)?;
    let mut party = Party::new(&args.meet, args.plain_loopback, &config)?;
    let runnable = function::find(&args.function, &args.choice)?.runnable(&args.choice)?;
    let role = who(args).role_in(Some(&runnable), &config)?;
    let function = runnable.function();
    if function.has_saved_values() {
        return Err(Failure::Usage(format!(
            "{} keeps values between runs, which `{}` cannot; run it by --protocol outsourced",
            function.name(),
            protocol.name()
        )));
    }
    log.step(format_args!(
        "function {} {}",
        function.name(),
        function.digest()
    ));
    let security_bits = args.security_bits.unwrap_or(DEFAULT_SECURITY_BITS);
    if is_open(args) {
        let checked = || checked_in_stock(args, &config, &party, function, role);
        protocol = Protocol::by_default(args.security, checked)?;
        let why = match protocol {
            Protocol::Batch => "a checked execution of the function is in stock",
            _ => "no checked execution of the function is in stock",
        };
        eprintln!(
            "protocol {}: {why}; --protocol chooses another",
            protocol.name()
        );
    }
    let rung = scheme(args.scheme.as_deref(), Some(function))?;
    let is_authenticated = protocol == Protocol::Authenticated;
    let stocks = match (args.plain_loopback, protocol.stock_use()) {
        (true, StockUse::Components | StockUse::Executions) => {
            return Err(Failure::Usage(
                "what is in stock belongs to two identities, and --plain-loopback has none; give \
                 --identity and --peer"
                    .to_owned(),
            ));
        }
        // Without identities there is nobody whose tries could be counted.
        (true, StockUse::Nothing) => None,
        (false, StockUse::Nothing) if !is_authenticated => None,
        (false, _) => Some(stock::open(args.stock.stock.as_deref(), &config)?),
    };
    let values = runnable.gather(role, &args.inputs, args.input_file.as_deref())?;
    let files = OutputFiles::new(&args.outputs, &runnable, role)?;
    // Before a peer waits for it.
    function.compile();
    log.detail(format_args!(
        "{} AND and {} XOR gates as compiled; {} inputs of this party",
        function.and_gates(),
        function.xor_gates(),
        values.len()
    ));

    if let (Protocol::Batch, Some(stocks), Some([own, peer])) =
        (protocol, &stocks, party.fingerprints())
    {
        // What batch cannot do, a scheme that is not for it above all, shows in a plan.
        BatchPreparation::new(role, function, 1)
            .statistical_security_bits(security_bits)
            .scheme(rung.id)
            .plan()?;
        let scheme = rung.id;
        let stock = StockName {
            own,
            peer,
            role,
            scheme,
        };
        if stocks.executions_left(&stock, function, security_bits)? == 0 {
            // The other party may be there, and would wait for nothing.
            party.refuse(AbortReason::NothingInStock, log);
            return Err(nothing_checked(args, function, rung, security_bits));
        }
    }
    let mut session = party.meet(cancel::on_signal()?, log)?;
    log.detail(format_args!("base OTs from {}", session.base_ot()));
    let peer = session.peer().map(|peer| peer.to_string());
    log.step(format_args!(
        "connected to {}",
        peer.as_deref().unwrap_or("an unknown peer")
    ));
    let job = |stocks: Option<&Stocks>| {
        let job = Job::new(function, role).scheme(rung.id);
        match (protocol, stocks) {
            (Protocol::Batch, Some(stocks)) => job
                .batch(stocks)
                .statistical_security_bits(security_bits)
                .threads(args.threads),
            (Protocol::Authenticated, Some(stocks)) => job
                .authenticated_counted(stocks)
                .statistical_security_bits(security_bits),
            (Protocol::Authenticated, None) => {
                job.authenticated().statistical_security_bits(security_bits)
            }
            (_, Some(stocks)) => job.prepared(stocks),
            (_, None) => job,
        }
    };
    let setting = Setting {
        function,
        typed: runnable.typed(),
        role,
        protocol,
        security_bits: protocol.has_security_bits().then_some(security_bits),
        counts_tries: stocks.is_some(),
        rung,
        peer,
    };
    if !args.json {
        eprint!("{}", setting.text());
    }
    let mut costs: Vec<Cost> = Vec::new();
    let mut outputs = None;
    for run in 0..args.repeat {
        let bar = Bar::new(role.name(), function.and_gates(), !args.json);
        let mut job = job(stocks.as_ref())
            .lease_ahead(u64::from(args.repeat - run - 1))
            .watch_taken(|taken| log.detail(format_args!("run {run} takes {taken}")))
            .watch(|at| bar.show(at));
        if let Some(limit) = args.time_limit.or(config.timeouts.run) {
            job = job.time_limit(limit);
        }
        for (name, value) in &values {
            job = job.input(name, value.clone());
        }
        let outcome = match job.run(&mut session) {
            Err(tacit::Error::SessionOver { runs }) => {
                eprintln!(
                    "the other party ended after {runs} runs of {}; give both the same --repeat",
                    args.repeat
                );
                break;
            }
            Err(tacit::Error::NothingChecked { .. }) => {
                return Err(nothing_checked(args, function, rung, security_bits));
            }
            outcome => outcome?,
        };
        log.step(format_args!("run {run} took {:?}", outcome.cost.wall()));
        if let Some(SecurityScope::AllRuns { made_at_bits }) = outcome.security_scope
            && made_at_bits > security_bits
        {
            log.step(format_args!(
                "made at s = {made_at_bits}, since earlier tries were not finished; see `tacit stock \
                 list`"
            ));
        }
        if let Some(extension) = outcome.cost.ot_extension {
            log.detail(format_args!("OTs by {extension}"));
        }
        let missing = outcome.cost.and_gates_on_the_spot;
        if stocks.is_some() && missing > 0 {
            eprintln!(
                "the stock had too little: {missing} AND gates were garbled on the spot; `tacit \
                 prepare` fills it"
            );
        }
        costs.push(outcome.cost);
        outputs = Some(outcome.outputs);
    }
    // The results are here; a peer that has already left takes nothing from them.
    if let Err(error) = session.close() {
        log.step(format_args!("{error}"));
    }
    let outputs = outputs.unwrap_or_default();
    let done = costs.len();
    files.write(&runnable, &outputs)?;
    if args.json {
        let costs = args.cost.then_some(costs.as_slice());
        let mut json = setting.json(runnable.outputs_json(&outputs)?, costs);
        json["runs_done"] = done.into();
        return crate::print(pretty(&json).as_bytes());
    }
    if outputs.is_empty() {
        let peer = match runnable.typed() {
            None => format!("the {}", role.other().name()),
            Some(typed) => {
                let signature = typed.signature();
                signature
                    .party_name(signature.party_of(role.other()))
                    .to_owned()
            }
        };
        eprintln!("done; the results go to {peer}");
    }
    crate::print(runnable.outputs_text(&outputs)?.as_bytes())?;
    if args.cost {
        eprint!("{}", costs_text(&costs));
    }
    Ok(())
}

/// No execution is in stock: what prepares some, as both parties can paste it.
fn nothing_checked(args: &RunArgs, function: &Function, rung: &Rung, security_bits: u8) -> Failure {
    let mut words = vec!["tacit".to_owned(), "prepare".to_owned()];
    words.extend(shell::function(&args.function, &args.choice));
    words.extend(["--protocol", "batch", "--security-bits"].map(str::to_owned));
    words.push(security_bits.to_string());
    if args.scheme.is_some() {
        words.extend(["--scheme".to_owned(), rung.id.to_string()]);
    }
    words.extend(["--runs", "N"].map(str::to_owned));
    Failure::NothingChecked {
        function: function.name().to_owned(),
        scheme: rung.id.to_string(),
        security_bits,
        command: shell::line(&words),
    }
}

/// The protocol that the arguments ask for: never one that withstands less than they say.
fn protocol(args: &RunArgs) -> Result<Protocol, Failure> {
    let asked = args.security;
    // Where it is open, the stock is looked at once the function is known.
    let by_default = || Protocol::by_default(asked, || Ok::<_, Failure>(false));
    let protocol = args.protocol.map_or_else(by_default, Ok)?;
    let has = protocol.threat_model();
    let is_outsourced = protocol == Protocol::Outsourced;
    // Three parties that follow the protocol are a case of three that do not.
    let covers = has.covers(asked) || is_outsourced && asked == ThreatModel::SemiHonest;
    if !covers {
        let name = protocol.name();
        return Err(Failure::Usage(format!(
            "--security {asked} is asked for, and the protocol {name} is secure under the threat \
             model {has} only; --protocol authenticated and batch are {}, and --protocol \
             outsourced, which takes a third party, is {}",
            ThreatModel::Malicious,
            ThreatModel::MaliciousNonColluding
        )));
    }
    if args.security_bits.is_some() && !protocol.has_security_bits() {
        return Err(Failure::Usage(format!(
            "--security-bits is the statistical security of authenticated, batch and outsourced, and \
             {} has none; leave it out, or give --protocol authenticated",
            protocol.name()
        )));
    }
    Ok(protocol)
}

/// Whether the arguments leave open by which protocol against a malicious party is run.
fn is_open(args: &RunArgs) -> bool {
    args.protocol.is_none() && args.security == ThreatModel::Malicious
}

/// Whether a checked execution of `function` is in stock, which `batch` would run. Both parties
/// have their halves of it, and so both say the same.
fn checked_in_stock(
    args: &RunArgs,
    config: &Config,
    party: &Party,
    function: &Function,
    role: Role,
) -> Result<bool, Failure> {
    let Some([own, peer]) = party.fingerprints() else {
        return Ok(false);
    };
    let stock = StockName {
        own,
        peer,
        role,
        scheme: scheme(args.scheme.as_deref(), Some(function))?.id,
    };
    let stocks = stock::open(args.stock.stock.as_deref(), config)?;
    let security_bits = args.security_bits.unwrap_or(DEFAULT_SECURITY_BITS);
    Ok(stocks.executions_left(&stock, function, security_bits)? > 0)
}

/// Refuses flags that are for three parties.
fn refuse_for_two(args: &RunArgs, protocol: Protocol) -> Result<(), Failure> {
    let given = &args.outsourced;
    let named = [
        ("--generator", given.generator.is_some()),
        ("--evaluator", given.evaluator.is_some()),
        ("--cloud", given.cloud.is_some()),
        ("--generator-at", given.generator_at.is_some()),
        ("--cloud-at", given.cloud_at.is_some()),
        ("--copies", given.copies.is_some()),
        (
            "--insecure-for-measurements",
            given.insecure_for_measurements,
        ),
        ("--chain", given.chain.is_some()),
        ("--allow", !given.allow.is_empty()),
        ("--role generator", args.role == Some(RunRoleArg::Generator)),
        ("--role cloud", args.role == Some(RunRoleArg::Cloud)),
    ];
    if let Some((flag, _)) = named.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::Usage(format!(
            "{flag} is for three parties, and {} has two; leave it out, or give --protocol \
             outsourced",
            protocol.name()
        )));
    }
    Ok(())
}

fn who(args: &RunArgs) -> Who<'_> {
    Who {
        party: args.party.as_deref(),
        role: args.role.map(|role| match role {
            RunRoleArg::Garbler | RunRoleArg::Generator => Role::Garbler,
            RunRoleArg::Evaluator | RunRoleArg::Cloud => Role::Evaluator,
        }),
        peer: args.meet.peer.as_deref(),
    }
}

/// What says which of two parties this is.
pub(crate) struct Who<'a> {
    /// Its name in a program.
    pub(crate) party: Option<&'a str>,
    pub(crate) role: Option<Role>,
    /// The peer, for which the configuration may know it.
    pub(crate) peer: Option<&'a str>,
}

impl Who<'_> {
    /// This party's role: as given, or as the configuration has it for the peer.
    ///
    /// # Errors
    ///
    /// Nothing says it, or a program has no party of that name.
    pub(crate) fn role_in(
        &self,
        runnable: Option<&Runnable>,
        config: &Config,
    ) -> Result<Role, Failure> {
        let typed = runnable.and_then(Runnable::typed);
        if let Some(party) = self.party {
            return role_of(party, typed);
        }
        let known = || config.peer(self.peer?)?.role;
        self.role.or_else(known).ok_or_else(|| {
            let names = match typed {
                None => "one gives --role garbler and the other --role evaluator".to_owned(),
                Some(typed) => {
                    let parties = typed.signature().parties();
                    let flags: Vec<String> = parties.map(|name| format!("--as {name}")).collect();
                    format!("give {}", flags.join(" or "))
                }
            };
            Failure::Usage(format!(
                "nothing says which role this party plays; {names}, or both pair once, by \
                 `tacit pair`"
            ))
        })
    }
}

/// The role of a party of a program.
///
/// # Errors
///
/// It is no program, or has no party of that name.
pub(crate) fn role_of(party: &str, typed: Option<&TypedFunction>) -> Result<Role, Failure> {
    let Some(typed) = typed else {
        return Err(Failure::Usage(format!(
            "--as {party}: only programs of the language have parties with names; give --role \
             garbler or evaluator"
        )));
    };
    let signature = typed.signature();
    let party = signature.party(party);
    let party = party.map_err(|error| Failure::Usage(format!("--as: {error}")))?;
    Ok(signature.role(party))
}

/// The scheme of this name, or the best for `function` under the assumption of this name. Without a
/// name the default of `function`, or of all components where there is no function.
pub(crate) fn scheme(
    name: Option<&str>,
    function: Option<&Function>,
) -> Result<&'static Rung, Failure> {
    let named = name.map(|name| (name.parse::<SchemeId>(), name.parse::<Assumption>()));
    let id = match (named, function) {
        (Some((Ok(id), _)), _) => id,
        (Some((_, Ok(assumption))), Some(function)) => best_scheme(assumption, function),
        (Some((_, Ok(assumption))), None) => {
            return Err(Failure::Usage(format!(
                "--scheme: the best scheme under {assumption} depends on the function; name the \
                 scheme, as `tacit inspect` lists them"
            )));
        }
        (Some((Err(error), _)), _) => {
            return Err(Failure::Usage(format!(
                "--scheme: {error}; both parties give the same"
            )));
        }
        (None, Some(function)) => default_scheme(function),
        (None, None) => SchemeId::HALF_GATES_TWO_CALL,
    };
    id.rung().map_err(|error| Failure::Usage(error.to_string()))
}
