//! `tacit run`: one party of a run.

mod given;
mod joined;
mod material;
mod two;

use std::path::Path;

use tacit::protocols::{Protocol, StatisticalSecurity, ThreatModel};
use tacit::{Function, Role};
use tacit_language::Signature;

use crate::args::{PartyArgs, RunArgs};
use crate::config::Config;
use crate::failure::{Failure, usage};
use crate::function::FoundFunction;
use crate::log::Log;
use crate::party::Party;
use crate::{cancel, function};
use given::GivenInputs;
use two::TwoPartyRun;

/// Runs the command. Checks everything on this party's side before contacting the peer.
pub(crate) fn run(args: &RunArgs, config: Option<&Path>, log: Log) -> Result<(), Failure> {
    let config = Config::load(config)?;
    let protocol = protocol(args)?;
    let party = Party::new(&args.meet, args.plain_loopback, &config)?;
    let mut party = party.on_threads(args.threads);
    let found = match function::find(&args.function, &args.choice)? {
        FoundFunction::Program(program) if program.signature().entry().join.is_some() => {
            return joined::run(args, &config, party, *program, log);
        }
        found => found.in_form_of(protocol),
    };
    args.rows.refuse()?;
    args.shard.refuse()?;
    check_takes_from_stock(args, protocol)?;
    let given = GivenInputs::new(args, (&found, protocol), &config)?;
    let runnable = found.runnable(&args.choice)?;
    let run = TwoPartyRun::new(args, &config, (&party, &runnable, given), protocol, log)?;
    run.check_executions(&mut party)?;
    party.use_gpu(args.device.gpu, protocol == Protocol::Gmw, log)?;
    run.play(party.meet(cancel::on_signal()?, log)?)
}

/// Returns the protocol that the arguments ask for, never one that withstands less than they say.
fn protocol(args: &RunArgs) -> Result<Protocol, Failure> {
    let asked = args.security;
    // If the choice is open, the stock decides once the function is known.
    let by_default = || Protocol::by_default(asked, || Ok::<_, Failure>(false));
    let protocol = args.protocol.map_or_else(by_default, Ok)?;
    let has = protocol.threat_model();
    if !has.covers(asked) {
        let name = protocol.name();
        return Err(usage!(
            "--security {asked} is asked for, and the protocol {name} is secure under the threat \
             model {has} only";
            "leave out --protocol {name}, or give one that withstands more: authenticated and \
             batch are {}", ThreatModel::Malicious
        ));
    }
    if args.security_bits.is_some() && !protocol.has_security_bits() {
        return Err(usage!(
            "--security-bits is the statistical security of authenticated and batch, and {} has \
             none", protocol.name();
            "leave it out, or give --protocol authenticated"
        ));
    }
    Ok(protocol)
}

/// Refuses `--require-stock` under a protocol that takes nothing from the stock.
fn check_takes_from_stock(args: &RunArgs, protocol: Protocol) -> Result<(), Failure> {
    if !args.require_stock || protocol != Protocol::Direct {
        return Ok(());
    }
    Err(usage!(
        "--require-stock: {} takes nothing from the stock", protocol.name();
        "give both parties --protocol prepared, --protocol gmw or --security malicious, or leave \
         it out"
    ))
}

/// Checks that a chain is named if two parties keep values in one, and only then.
fn check_chain(args: &RunArgs, protocol: Protocol, function: &Function) -> Result<(), Failure> {
    let name = function.name();
    let wrong = |text: String| Err(Failure::usage(text));
    let keeps = function.has_saved_values();
    match args.chain.chain {
        _ if keeps && !protocol.keeps_values() => wrong(format!(
            "{name} keeps values between runs, which {} cannot; give --protocol prepared and \
             --chain NAME, or --security malicious and --chain NAME where a party may cheat, or \
             run it with a third party, by `tacit outsource`",
            protocol.name()
        )),
        _ if keeps && args.plain_loopback => wrong(format!(
            "{name} keeps values between runs, which belong to two identities, and \
             --plain-loopback has none; leave it out, and give --identity and --peer, or --with \
             once you have paired"
        )),
        None if !keeps && args.pin.is_some() => {
            wrong("--pin is of a chain; name the chain with --chain".to_owned())
        }
        _ => args.chain.check(function, "party"),
    }
}

/// Returns the role of party `who`: the given one, or the one in the configuration for `peer`.
pub(crate) fn role(
    who: &PartyArgs,
    peer: Option<&str>,
    signature: Option<&Signature>,
    config: &Config,
) -> Result<Role, Failure> {
    known_role(who, peer, signature, config)?.ok_or_else(|| {
        let names = match signature {
            None => "one gives --role garbler and the other --role evaluator".to_owned(),
            Some(signature) => {
                let parties = signature.parties();
                let flags: Vec<String> = parties.map(|name| format!("--as {name}")).collect();
                format!("give {}", flags.join(" or "))
            }
        };
        usage!(
            "this party has no role";
            "{names}, or both pair once, by `tacit pair`"
        )
    })
}

/// Returns the role as [`role`] does, or nothing if nothing gives it.
pub(crate) fn known_role(
    who: &PartyArgs,
    peer: Option<&str>,
    signature: Option<&Signature>,
    config: &Config,
) -> Result<Option<Role>, Failure> {
    let Some(party) = &who.party else {
        let known = || config.peer(peer?)?.role;
        return Ok(who.role.or_else(known));
    };
    let Some(signature) = signature else {
        return Err(usage!(
            "--as {party}: only programs of the language have parties with names";
            "give --role garbler or evaluator"
        ));
    };
    let party = signature.party(party);
    let party = party.map_err(|error| Failure::usage(format!("--as: {error}")))?;
    Ok(Some(signature.role(party)))
}

/// Returns s of `bits` under `protocol`, or the default.
///
/// # Errors
///
/// The protocol does not offer it.
pub(crate) fn statistical_security(
    protocol: Protocol,
    bits: Option<u8>,
) -> Result<StatisticalSecurity, tacit::Error> {
    bits.map_or(Ok(StatisticalSecurity::DEFAULT), |bits| {
        protocol.statistical_security(bits)
    })
}
