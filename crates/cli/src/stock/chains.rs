//! The commands of `tacit stock` for chains of kept values.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};
use tacit::circuit::Digest;
use tacit::net::Lane;
use tacit::outsourced::OutsourcedRole;
use tacit::protocols::Protocol;
use tacit::stock::{ForeignChains, KeptChain, Lanes, Stocks};
use tacit::{Fingerprint, Role};

use super::{TextAndJson, in_lanes, shown_lane};
use crate::args::StockCommand;
use crate::config::Config;
use crate::failure::{Failure, usage};
use crate::output::counted;
use crate::party;
use crate::program::Program;
use crate::report::shown_bytes;

/// Returns this party's role in the runs of a chain.
fn role(chain: &KeptChain) -> &'static str {
    match (chain.protocol, chain.role) {
        (Protocol::Outsourced, Role::Garbler) => OutsourcedRole::Generator.name(),
        (Protocol::Outsourced, Role::Evaluator) => OutsourcedRole::Cloud.name(),
        (_, role) => role.name(),
    }
}

/// Returns a chain as text, with the names of its parties.
pub(super) fn chain_text(chain: &KeptChain, config: &Config) -> String {
    let summary = &chain.summary;
    let mut text = format!(
        "{} with {}, chain {} of {}{}\n  ",
        role(chain),
        config.shown(&chain.peer),
        summary.name,
        chain.protocol.name(),
        in_lanes(chain.lanes)
    );
    let _ = match &summary.killed {
        Some(why) => writeln!(text, "killed: {why}"),
        None => writeln!(
            text,
            "version {} was kept last; {} in all, {}",
            summary.marks.latest,
            counted(summary.marks.attempt as usize + 1, "attempt"),
            shown_bytes(summary.bytes)
        ),
    };
    if summary.marks.pending > 0 {
        let pending = summary.marks.pending;
        let _ = writeln!(
            text,
            "  version {pending} of a run that broke is open: the next run keeps or drops it"
        );
    }
    for (name, version, bytes) in &summary.values {
        let _ = writeln!(text, "  {name}: version {version}, {}", shown_bytes(*bytes));
    }
    for rule in summary.policy.rules() {
        let value = rule.value.as_deref().unwrap_or("everything");
        let who = config.shown(&Fingerprint(rule.who.0));
        let _ = writeln!(text, "  {who} may {} {value}", rule.access);
    }
    text
}

/// Returns a chain as JSON.
pub(super) fn chain_json(chain: &KeptChain, config: &Config) -> Json {
    let summary = &chain.summary;
    let values = summary
        .values
        .iter()
        .map(|(name, version, bytes)| json!({ "name": name, "version": version, "bytes": bytes }));
    let rules = summary.policy.rules().iter().map(|rule| {
        json!({
            "who": Fingerprint(rule.who.0).to_string(),
            "who_name": config.peer_name(&Fingerprint(rule.who.0)),
            "may": rule.access.to_string(),
            "value": rule.value,
        })
    });
    json!({
        "name": summary.name,
        "protocol": chain.protocol.name(),
        "role": role(chain),
        "peer": chain.peer.to_string(),
        "peer_name": config.peer_name(&chain.peer),
        "lane": shown_lane(chain.lanes.peer),
        "own_lane": shown_lane(chain.lanes.own),
        "killed": summary.killed,
        "version": summary.marks.latest,
        "pending": (summary.marks.pending > 0).then_some(summary.marks.pending),
        "attempts": summary.marks.attempt + 1,
        "bytes": summary.bytes,
        "values": values.collect::<Vec<_>>(),
        "policy": rules.collect::<Vec<_>>(),
    })
}

/// Removes the chain of this name.
fn drop_chain(
    stocks: &Stocks,
    name: &str,
    which: ChainFilter,
    config: &Config,
) -> Result<TextAndJson, Failure> {
    let chain = named(stocks, name, which)?;
    stocks.drop_chain(&chain)?;
    let peer = config.shown(&chain.peer);
    let text = format!("dropped the chain {name}; {peer} has to drop it, too\n");
    Ok((text, json!({ "dropped": name })))
}

/// Returns the chains that can be read, and reports the others on standard error.
pub(super) fn readable(stocks: &Stocks) -> Result<Vec<KeptChain>, Failure> {
    let (chains, failures) = stocks.chains_by_peer()?;
    for failure in failures {
        eprintln!("chains that cannot be read: {failure}");
    }
    Ok(chains)
}

/// The properties that tell several chains of one name apart.
#[derive(Clone, Copy)]
pub(super) struct ChainFilter {
    pub(super) peer: Option<Fingerprint>,
    pub(super) role: Option<Role>,
    pub(super) protocol: Option<Protocol>,
    pub(super) lane: Option<Lane>,
}

impl ChainFilter {
    /// Returns whether this chain may be the one that is meant.
    pub(super) fn admits(&self, chain: &KeptChain) -> bool {
        self.admits_of(chain.peer, chain.role, chain.protocol, chain.lanes)
    }

    fn admits_of(&self, peer: Fingerprint, role: Role, protocol: Protocol, lanes: Lanes) -> bool {
        self.peer.is_none_or(|wanted| wanted == peer)
            && self.role.is_none_or(|wanted| wanted == role)
            && self.protocol.is_none_or(|wanted| wanted == protocol)
            && self.lane.is_none_or(|wanted| wanted == lanes.peer)
    }
}

/// Returns the chains of another version that the command destroys.
pub(super) fn foreign(
    command: &StockCommand,
    stocks: &Stocks,
    which: ChainFilter,
) -> Result<Vec<ForeignChains>, Failure> {
    if *command != (StockCommand::NewEpoch { end_chains: true }) {
        return Ok(Vec::new());
    }
    let mut foreign = stocks.foreign_chains()?;
    foreign.retain(|all| which.admits_of(all.peer, all.role, all.protocol, all.lanes));
    Ok(foreign)
}

/// Destroys chains of another version, and returns the output.
pub(super) fn remove_foreign(
    stocks: &Stocks,
    chains: &ForeignChains,
    config: &Config,
) -> Result<TextAndJson, Failure> {
    stocks.remove_foreign_chains(chains)?;
    let (protocol, role) = (chains.protocol.name(), chains.role.name());
    let peer = config.shown(&chains.peer);
    let text = format!(
        "destroyed all chains of {protocol} as {role} with {peer}, which another version of tacit \
         wrote; {peer} has to drop its half\n"
    );
    let json = json!({
        "destroyed": true,
        "protocol": protocol,
        "role": role,
        "peer": chains.peer.to_string(),
    });
    Ok((text, json))
}

/// Returns the one chain of this name and these properties. Reports on standard error the chains
/// that cannot be read.
fn named(stocks: &Stocks, name: &str, which: ChainFilter) -> Result<KeptChain, Failure> {
    let mut chains = readable(stocks)?;
    chains.retain(|chain| chain.summary.name == name && which.admits(chain));
    let count = chains.len();
    match (chains.pop(), count) {
        (Some(chain), 1) => Ok(chain),
        (None, _) => Err(usage!(
            "there is no chain {name}";
            "`tacit stock list` lists those that there are"
        )),
        _ => Err(usage!(
            "there are several chains {name}";
            "choose one by --peer, --role and --protocol"
        )),
    }
}

/// Carries out a command about one chain, and returns its output. Returns nothing for another
/// command.
pub(super) fn command(
    command: &StockCommand,
    stocks: &Stocks,
    which: ChainFilter,
    config: &Config,
) -> Result<Option<TextAndJson>, Failure> {
    Ok(Some(match command {
        StockCommand::DropChain { chain } => drop_chain(stocks, chain, which, config)?,
        StockCommand::Allow { chain, who, remove } => {
            let chain = named(stocks, chain, which)?;
            let allowed = party::fingerprint("allow", who, config)?;
            if !remove && chain.protocol == Protocol::Outsourced {
                check_allowed(allowed, [chain.own, chain.peer], who)?;
            }
            allow(stocks, &chain, (allowed, !remove), config)?
        }
        StockCommand::Adopt {
            chain,
            program,
            params,
        } => {
            let digest = Program::read(program)?.chain_digest(params)?;
            adopt(stocks, &named(stocks, chain, which)?, digest, config)?
        }
        _ => return Ok(None),
    }))
}

/// Checks that `who` is none of the `servers` that keep a chain, which may not use its values.
/// `text` names `who`.
pub(crate) fn check_allowed(
    who: Fingerprint,
    servers: [Fingerprint; 2],
    text: &str,
) -> Result<(), Failure> {
    if servers.contains(&who) {
        Err(usage!(
            "{text} is the generator or the cloud of the chain, and so cannot be its evaluator";
            "name a party that runs `tacit outsource evaluator`"
        ))
    } else {
        Ok(())
    }
}

/// Lets `who` use the values of a chain, or withdraws that permission.
fn allow(
    stocks: &Stocks,
    chain: &KeptChain,
    (who, is_allowed): (Fingerprint, bool),
    config: &Config,
) -> Result<TextAndJson, Failure> {
    stocks.allow(chain, who, is_allowed)?;
    let name = &chain.summary.name;
    let json = json!({ "chain": name, "who": who.to_string(), "allowed": is_allowed });
    let may = if is_allowed { "may" } else { "may no longer" };
    let (who, peer) = (config.shown(&who), config.shown(&chain.peer));
    let text = format!("{who} {may} use the chain {name}; {peer} must allow the same\n");
    Ok((text, json))
}

/// Gives a chain to the runs of another program.
fn adopt(
    stocks: &Stocks,
    chain: &KeptChain,
    program: Digest,
    config: &Config,
) -> Result<TextAndJson, Failure> {
    stocks.adopt(chain, program)?;
    let name = &chain.summary.name;
    let peer = config.shown(&chain.peer);
    let text = format!("the chain {name} is for the runs of that program; {peer} does the same\n");
    Ok((
        text,
        json!({ "chain": name, "program": program.to_string() }),
    ))
}

/// Reads a chain's values, and reports damaged ones.
pub(super) fn check_chain(
    stocks: &Stocks,
    chain: &KeptChain,
    config: &Config,
) -> Result<TextAndJson, Failure> {
    let damaged = stocks.check_chain(chain)?;
    let name = &chain.summary.name;
    let peer = config.shown(&chain.peer);
    let mut text = format!("{} with {peer}, chain {name}\n", role(chain));
    if damaged.is_empty() {
        let values = counted(chain.summary.values.len(), "value");
        let _ = writeln!(text, "  whole, with {values}");
    }
    for error in &damaged {
        let _ = writeln!(
            text,
            "  damaged: {error}; both that keep it remove the chain by `tacit stock drop-chain \
             {name}` and begin a new one"
        );
    }
    let mut json = chain_json(chain, config);
    let damaged: Vec<_> = damaged.iter().map(ToString::to_string).collect();
    json["damaged"] = json!(damaged);
    Ok((text, json))
}
