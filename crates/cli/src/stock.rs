//! `tacit stock`: lists, checks and destroys the stocks with each peer. Also finds the stocks'
//! folder for all commands that use it.

mod chains;
mod drop;
mod list;
mod tries;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use etcetera::BaseStrategy;
use serde_json::{Value as Json, json};
use tacit::Fingerprint;
use tacit::advice::Advice;
use tacit::net::Lane;
use tacit::stock::{Damage, ForeignChains, KeptChain, Lanes, StockName, Stocks};

use crate::args::{StockCommand, StockCommandArgs};
use crate::config::Config;
use crate::failure::{Failure, failure, usage};
use crate::output::{self, counted};
use crate::remedy;
use crate::report::shown_bytes;
use crate::{function, party};

pub(crate) use chains::check_allowed;
use list::list;

/// The default limit of a stock.
const DEFAULT_LIMIT_GIB: u64 = 20;

/// The output about a stock, as text and as JSON.
type TextAndJson = (String, Json);
/// The same output, and the identity of this party that it belongs to.
type OfOwn = (Fingerprint, TextAndJson);

/// Opens this party's stocks in `explicit`, in the folder that the configuration names, or in the
/// usual one.
pub(crate) fn open(explicit: Option<&Path>, config: &Config) -> Result<Stocks, Failure> {
    let stocks = open_silently(&folder(explicit, config)?, config)?;
    if let Some(why) = stocks.why_unwitnessed() {
        eprintln!(
            "note: nothing outside of the stock's folder records how far the stock is ({why}), so \
             that restoring it and the peer's from copies would go unnoticed; set witness under \
             [stock] to a folder that can be written"
        );
    }
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    opened.push(stocks.clone());
    Ok(stocks)
}

/// The stocks that this command has opened.
static OPENED: Mutex<Vec<Stocks>> = Mutex::new(Vec::new());

/// Warns of notes of how far the stocks are that failed while the command ran.
pub(crate) fn tell_failed_notes() {
    // Taken, so that their keys are wiped as they are dropped.
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    for stocks in std::mem::take(&mut *opened) {
        let failed = stocks.note_failures();
        if failed.count > 0 {
            let why = failed
                .last
                .map_or_else(String::new, |why| format!(" ({why})"));
            eprintln!(
                "warning: {} of how far the stock is could not be written{why}: a copy of the \
                 stock that is restored later may go unnoticed; make the folder writable, or set \
                 witness under [stock] to another one",
                counted(usize::try_from(failed.count).unwrap_or(usize::MAX), "note")
            );
        }
    }
}

/// Opens the stocks in `folder`, without a notice if they have no witness.
pub(crate) fn open_silently(folder: &Path, config: &Config) -> Result<Stocks, Failure> {
    let limit = limit_bytes(config);
    let stocks = match &config.stock.witness {
        Some(notes) => Stocks::open_witnessed(folder, limit, notes)?,
        None => Stocks::open(folder, limit)?,
    };
    Ok(stocks.in_lane(config.stock.lane.unwrap_or_default()))
}

/// Returns the folder of this party's stocks.
pub(crate) fn folder(explicit: Option<&Path>, config: &Config) -> Result<PathBuf, Failure> {
    match explicit.or(config.stock.folder.as_deref()) {
        Some(folder) => Ok(folder.to_owned()),
        None => usual_folder(),
    }
}

/// Returns the limit of a stock in bytes.
pub(crate) fn limit_bytes(config: &Config) -> u64 {
    let limit = config.stock.limit_gib.unwrap_or(DEFAULT_LIMIT_GIB);
    limit.saturating_mul(1 << 30)
}

fn usual_folder() -> Result<PathBuf, Failure> {
    let base = etcetera::choose_base_strategy().map_err(|_| Failure::no_home())?;
    Ok(base.data_dir().join("tacit").join("stock"))
}

/// Runs the command.
pub(crate) fn stock(args: &StockCommandArgs, config: Option<&Path>) -> Result<(), Failure> {
    let config = Config::load(config)?;
    let stocks = open(args.stock.as_deref(), &config)?;
    let peer = args.peer.as_deref();
    let peer = peer
        .map(|peer| party::fingerprint("--with", peer, &config))
        .transpose()?;
    let role = args.role;
    let which = chains::ChainFilter {
        peer,
        role,
        protocol: args.protocol,
        lane: args.lane,
    };
    if let Some((text, json)) = chains::command(&args.command, &stocks, which, &config)? {
        if args.json {
            return output::print_json(json);
        }
        return output::print(text);
    }
    if let StockCommand::ClearTries = &args.command {
        return tries::clear(&stocks, (peer, role), args.json, &config);
    }
    let is_list = matches!(args.command, StockCommand::List);
    let names = named(args, &stocks, peer)?;
    let foreign = chains::foreign(&args.command, &stocks, which)?;
    begin_destruction(args, peer, &stocks, (&names, &foreign))?;
    if let StockCommand::Drop { component } = &args.command {
        let (stock, told) = drop::drop_component(&stocks, &names, component)?;
        return print(&config, args.json, vec![(stock, told)], [&[], &[]]);
    }
    let told = names.iter().map(|name| {
        let told = carry_out(&args.command, &stocks, name);
        let told = told.or_else(|failure| {
            if is_list {
                Ok(unreadable(&failure))
            } else {
                Err(failure)
            }
        });
        told.map(|told| (*name, told))
    });
    // A stock that cannot be opened does not prevent the command on the others.
    let told: Vec<_> = told.collect();
    let told = told.into_iter().collect::<Result<Vec<_>, _>>()?;
    let damaged = told.iter().any(|(_, (_, json))| is_damaged(json));
    let mut chains = told_chains(&args.command, &stocks, which, &config)?;
    for all in &foreign {
        chains.push((all.own, chains::remove_foreign(&stocks, all, &config)?));
    }
    let damaged = damaged || chains.iter().any(|(_, (_, json))| is_damaged(json));
    let tries = if is_list {
        tries::records(&stocks, (peer, role), &config)?
    } else {
        Default::default()
    };
    let tries = tries::told_each(&tries, &config);
    print(&config, args.json, told, [&chains, &tries])?;
    if damaged {
        Err(something_damaged())
    } else {
        Ok(())
    }
}

/// Returns the stocks that the arguments select. A list reports on standard error the stocks that
/// it cannot name.
fn named(
    args: &StockCommandArgs,
    stocks: &Stocks,
    peer: Option<Fingerprint>,
) -> Result<Vec<StockName>, Failure> {
    let scheme = args.scheme.as_deref();
    let scheme = scheme.map(|name| function::scheme(Some(name), None));
    let scheme = scheme.transpose()?.map(|scheme| scheme.id);
    let mut names = match args.command {
        StockCommand::List => {
            let (names, failures) = stocks.list_each()?;
            for failure in failures {
                eprintln!("a stock that cannot be read: {failure}");
            }
            names
        }
        _ => stocks.list()?,
    };
    names.retain(|name| peer.is_none_or(|peer| name.peer == peer));
    names.retain(|name| args.role.is_none_or(|role| name.role == role));
    names.retain(|name| scheme.is_none_or(|scheme| name.scheme == scheme));
    names.retain(|name| args.lane.is_none_or(|lane| name.lanes.peer == lane));
    Ok(names)
}

/// Returns the failure of a check that has already listed the damage.
fn something_damaged() -> Failure {
    failure!(
        Stock;
        "something in stock is damaged";
        "no run will use what is withdrawn, and `tacit prepare` replaces it"
    )
}

/// Returns the output for a stock that cannot be read.
fn unreadable(failure: &Failure) -> TextAndJson {
    let (what, remedy) = failure.parts(None);
    let mut text = format!("cannot be read: {what}\n");
    if let Some(remedy) = &remedy {
        let _ = writeln!(text, "what to do: {remedy}");
    }
    (text, json!({ "error": what, "remedy": remedy }))
}

/// Returns the output about the chains that the command concerns. A list reports on standard error
/// the chains that cannot be read.
fn told_chains(
    command: &StockCommand,
    stocks: &Stocks,
    which: chains::ChainFilter,
    config: &Config,
) -> Result<Vec<OfOwn>, Failure> {
    let mut chains = match command {
        StockCommand::List => chains::readable(stocks)?,
        StockCommand::Check => stocks.chains()?,
        _ => Vec::new(),
    };
    chains.retain(|chain| which.admits(chain));
    let tell = |chain: KeptChain| {
        let told = match command {
            StockCommand::Check => chains::check_chain(stocks, &chain, config)?,
            _ => (
                chains::chain_text(&chain, config),
                chains::chain_json(&chain, config),
            ),
        };
        Ok((chain.own, told))
    };
    chains.into_iter().map(tell).collect()
}

/// Refuses to destroy anything if no peer is named, or if there is nothing.
fn begin_destruction(
    args: &StockCommandArgs,
    peer: Option<Fingerprint>,
    stocks: &Stocks,
    (names, foreign): (&[StockName], &[ForeignChains]),
) -> Result<(), Failure> {
    let name = match args.command {
        StockCommand::NewEpoch { .. } => "new-epoch",
        StockCommand::Drop { .. } => "drop",
        _ => return Ok(()),
    };
    if peer.is_none() {
        return Err(usage!("{name} takes effect for one peer"; "say which by --peer"));
    }
    if args.command == (StockCommand::NewEpoch { end_chains: false }) {
        refuse_to_end_chains(stocks, names)?;
    }
    if names.is_empty() && foreign.is_empty() {
        return Err(usage!(
            "there is no such stock with this peer, so that nothing is to be destroyed";
            "`tacit stock list` lists those that there are; `tacit stock new-epoch --end-chains` \
             ends chains of another version, too"
        ));
    }
    Ok(())
}

/// Refuses to destroy stocks if chains of kept values would end with them. Chains that cannot be
/// read are no obstacle: a new epoch is the remedy for them.
fn refuse_to_end_chains(stocks: &Stocks, names: &[StockName]) -> Result<(), Failure> {
    let chains = names.iter().map(|name| stocks.chains_that_end_with(name));
    // Stocks of several schemes share chains.
    let chains: BTreeSet<_> = chains.filter_map(Result::ok).flatten().collect();
    if chains.is_empty() {
        return Ok(());
    }
    let chains: Vec<_> = chains.into_iter().collect();
    Err(usage!(
        "the values of what is kept with this peer by prepared would be lost: {}. Nothing was \
         destroyed", chains.join(", ");
        "if these chains are to end, give --end-chains"
    ))
}

/// Carries out the command on one stock, and returns its output.
fn carry_out(
    command: &StockCommand,
    stocks: &Stocks,
    name: &StockName,
) -> Result<TextAndJson, Failure> {
    match command {
        StockCommand::Check => check(stocks, name),
        StockCommand::Compact => {
            let freed = stocks.compact(name)?;
            let text = format!("freed {}\n", shown_bytes(freed));
            Ok((text, json!({ "freed_bytes": freed })))
        }
        StockCommand::NewEpoch { .. } => {
            let chains = stocks.end_epoch(name)?;
            let mut text = "destroyed; the next preparation starts a new epoch\n".to_owned();
            if !chains.is_empty() {
                let chains = chains.join(", ");
                text.push_str(&format!("chains that ended with it: {chains}\n"));
            }
            Ok((text, json!({ "destroyed": true, "chains_killed": chains })))
        }
        // The other commands concern components, chains and tries, and are done.
        _ => Ok(list(&stocks.summary(name)?)),
    }
}

fn print(
    config: &Config,
    json: bool,
    stocks: Vec<(StockName, TextAndJson)>,
    others: [&[OfOwn]; 2],
) -> Result<(), Failure> {
    if json {
        let stocks: Vec<_> = stocks
            .into_iter()
            .map(|(name, (_, mut json))| {
                json["own"] = name.own.to_string().into();
                json["peer"] = name.peer.to_string().into();
                json["peer_name"] = config.peer_name(&name.peer).into();
                json["role"] = name.role.name().into();
                json["scheme"] = name.scheme.to_string().into();
                json["lane"] = shown_lane(name.lanes.peer).into();
                json["own_lane"] = shown_lane(name.lanes.own).into();
                json
            })
            .collect();
        let [chains, tries] = others.map(|all| {
            let jsons = all.iter().map(|(own, (_, json))| {
                let mut json = json.clone();
                json["own"] = own.to_string().into();
                json
            });
            Json::Array(jsons.collect())
        });
        return output::print_json(json!({
            "stocks": stocks,
            "chains": chains,
            "tries": tries,
        }));
    }
    let stocks = stocks.into_iter().map(|(name, (told, _))| {
        let (role, peer) = (name.role.name(), config.shown(&name.peer));
        let lanes = in_lanes(name.lanes);
        let mut text = format!("{role} with {peer}, {}{lanes}\n", name.scheme);
        for line in told.lines() {
            let _ = writeln!(text, "  {line}");
        }
        (name.own, text)
    });
    let others = others.into_iter().flatten();
    let others = others.map(|(own, (text, _))| (*own, text.clone()));
    let text = by_own(stocks.chain(others));
    output::print(text)
}

/// Returns the name of a lane, if there is one.
pub(crate) fn shown_lane(lane: Lane) -> Option<String> {
    (!lane.is_none()).then(|| lane.to_string())
}

/// Returns the end of a line about a stock or chain, which names its lanes.
fn in_lanes(lanes: Lanes) -> String {
    let peer = shown_lane(lanes.peer).map(|lane| format!(", its lane {lane}"));
    let own = shown_lane(lanes.own).map(|lane| format!(", own lane {lane}"));
    peer.into_iter().chain(own).collect()
}

/// Joins texts about this party. If it has several identities, each has a heading.
fn by_own(texts: impl Iterator<Item = (Fingerprint, String)>) -> String {
    let mut all: BTreeMap<Fingerprint, String> = BTreeMap::new();
    for (own, text) in texts {
        all.entry(own).or_default().push_str(&text);
    }
    match all.len() {
        0 => "nothing is in stock; `tacit prepare` puts something there\n".to_owned(),
        1 => all.into_values().collect(),
        _ => {
            let parts = all.into_iter();
            let parts = parts.map(|(own, text)| format!("this party as {own}:\n{text}"));
            parts.collect()
        }
    }
}

/// Returns whether the output about a stock or a chain reports damage.
fn is_damaged(json: &Json) -> bool {
    json["damaged"] != json!([]) && json["damaged"].is_array()
}

fn check(stocks: &Stocks, name: &StockName) -> Result<TextAndJson, Failure> {
    let report = stocks.check(name)?;
    let mut text = format!("{} instances are whole\n", report.whole);
    let mut damaged = Vec::new();
    for Damage {
        instances,
        error,
        withdrawn,
    } in &report.damaged
    {
        let count = instances.map_or(0, |(_, span)| span.count);
        let instances = counted(count as usize, "instance");
        let _ = if *withdrawn {
            writeln!(
                text,
                "{instances} damaged and withdrawn: {error}; {}",
                remedy::told(&Advice::of_stock(error), None)
            )
        } else {
            writeln!(text, "damaged, used already or given up before: {error}")
        };
        damaged.push(json!({
            "error": error.to_string(),
            "withdrawn": withdrawn,
            "instances": count,
        }));
    }
    Ok((text, json!({ "whole": report.whole, "damaged": damaged })))
}
