//! `tacit stock`: what is in stock with whom, whether it is whole, and how to begin anew; and where
//! the stock lies for all commands that use it.

mod chains;
mod drop;
mod tries;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;
use serde_json::{Value as Json, json};
use tacit::Fingerprint;
use tacit::session::KeptBaseOts;
use tacit::stock::{ComponentDigest, Damage, KeptChain, StockName, StockSummary, Stocks};

use crate::args::{StockCommand, StockCommandArgs};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{self, counted};
use crate::report::{JSON_VERSION, pretty, shown_bytes};
use crate::{function, party};

pub(crate) use chains::check_allowed;

/// Most bytes of a stock, unless the configuration says otherwise.
const DEFAULT_LIMIT_GIB: u64 = 20;

/// The output about a stock, as text and as JSON.
type Told = (String, Json);

/// This party's stocks: in `explicit`, or where the configuration says, or in the usual folder.
///
/// # Errors
///
/// The system names no home directory, or the folder cannot be used.
pub(crate) fn open(explicit: Option<&Path>, config: &Config) -> Result<Stocks, Failure> {
    let (folder, limit) = (folder(explicit, config)?, limit_bytes(config));
    let stocks = match &config.stock.witness {
        Some(notes) => Stocks::open_witnessed(&folder, limit, notes)?,
        None => Stocks::open(&folder, limit)?,
    };
    if let Some(why) = stocks.why_unwitnessed() {
        eprintln!(
            "note: a stock that is restored from a copy goes unnoticed if the peer's is, too: {why}; \
             set witness under [stock] to a folder that can be written"
        );
    }
    Ok(stocks)
}

/// The folder of this party's stocks.
///
/// # Errors
///
/// The system names no home directory.
pub(crate) fn folder(explicit: Option<&Path>, config: &Config) -> Result<PathBuf, Failure> {
    match explicit.or(config.stock.folder.as_deref()) {
        Some(folder) => Ok(folder.to_owned()),
        None => usual_folder(),
    }
}

/// Most bytes of a stock.
pub(crate) fn limit_bytes(config: &Config) -> u64 {
    let limit = config.stock.limit_gib.unwrap_or(DEFAULT_LIMIT_GIB);
    limit.saturating_mul(1 << 30)
}

fn usual_folder() -> Result<PathBuf, Failure> {
    let base = etcetera::choose_base_strategy().map_err(|_| Failure::NoHome)?;
    Ok(base.data_dir().join("tacit").join("stock"))
}

/// Runs the command.
///
/// # Errors
///
/// There is no such stock, or it cannot be used.
pub(crate) fn stock(args: &StockCommandArgs, config: Option<&Path>) -> Result<(), Failure> {
    let config = Config::load(config)?;
    let stocks = open(args.stock.as_deref(), &config)?;
    let peer = args.peer.as_deref();
    let peer = peer
        .map(|peer| party::fingerprint("--with", peer, &config))
        .transpose()?;
    let role = args.role;
    let which = chains::Which {
        peer,
        role,
        protocol: args.protocol,
    };
    if chains::command(&args.command, &stocks, which, &config, args.json)? {
        return Ok(());
    }
    if let StockCommand::ClearTries = &args.command {
        return tries::clear(&stocks, (peer, role), args.json, &config);
    }
    let scheme = args.scheme.as_deref();
    let scheme = scheme.map(|name| function::scheme(Some(name), None));
    let scheme = scheme.transpose()?.map(|rung| rung.id);
    let mut names = stocks.list()?;
    names.retain(|name| peer.is_none_or(|peer| name.peer == peer));
    names.retain(|name| role.is_none_or(|role| name.role == role));
    names.retain(|name| scheme.is_none_or(|scheme| name.scheme == scheme));
    let base_ots = begin_destruction(args, peer, &stocks, &names)?;
    if let StockCommand::Drop { component } = &args.command {
        let (stock, told) = drop::drop_component(&stocks, &names, component)?;
        let told = vec![told];
        return print(&config, args.json, &[stock], told, [&[], &[], &[]], None);
    }
    if names.is_empty() && base_ots.is_some() && !args.json {
        let told = "no such stock; base OTs that were kept with this peer are destroyed\n";
        return output::print(told.as_bytes());
    }
    let told = names
        .iter()
        .map(|name| carry_out(&args.command, &stocks, name));
    // One that cannot be had does not keep the others from what is done to them.
    let told: Vec<_> = told.collect();
    let told = told.into_iter().collect::<Result<Vec<_>, _>>()?;
    let damaged = told.iter().any(|(_, json)| is_damaged(json));
    let chains = told_chains(&args.command, &stocks, which, &config)?;
    let damaged = damaged || chains.iter().any(|(_, json)| is_damaged(json));
    let (tries, kept) = match args.command {
        StockCommand::List => (tries::records(&stocks, peer, role)?, stocks.base_ots()?),
        _ => Default::default(),
    };
    let tries: Vec<_> = tries
        .iter()
        .map(|record| tries::told(record, &config))
        .collect();
    let of_these = |kept: &&KeptBaseOts| {
        peer.is_none_or(|peer| kept.peer == peer) && role.is_none_or(|role| kept.role == role)
    };
    let kept = kept.iter().filter(of_these);
    let kept: Vec<_> = kept.map(|kept| base_ots_told(kept, &config)).collect();
    let others: [&[Told]; 3] = [&chains, &tries, &kept];
    print(&config, args.json, &names, told, others, base_ots)?;
    match damaged {
        true => Err(Failure::Damaged),
        false => Ok(()),
    }
}

/// What the command tells of the chains that it is about.
fn told_chains(
    command: &StockCommand,
    stocks: &Stocks,
    which: chains::Which,
    config: &Config,
) -> Result<Vec<Told>, Failure> {
    let checks = matches!(command, StockCommand::Check);
    let mut chains = match command {
        StockCommand::List | StockCommand::Check => stocks.chains()?,
        _ => Vec::new(),
    };
    chains.retain(|chain| which.admits(chain));
    let tell = |chain: KeptChain| match checks {
        true => chains::check_chain(stocks, &chain, config),
        false => Ok((
            chains::chain_text(&chain, config),
            chains::chain_json(&chain, config),
        )),
    };
    chains.into_iter().map(tell).collect()
}

/// Refuses to destroy anything where no peer is named, or where there is nothing. Base OTs may be
/// kept where no stock is: for a new epoch this destroys them, and says how many batches they were
/// if it could. Where it could not, the stocks go all the same, and each tries again.
fn begin_destruction(
    args: &StockCommandArgs,
    peer: Option<Fingerprint>,
    stocks: &Stocks,
    names: &[StockName],
) -> Result<Option<u64>, Failure> {
    let is_new_epoch = matches!(args.command, StockCommand::NewEpoch { .. });
    let name = match args.command {
        StockCommand::NewEpoch { .. } => "new-epoch",
        StockCommand::Drop { .. } => "drop",
        _ => return Ok(None),
    };
    let Some(peer) = peer else {
        return Err(Failure::Usage(format!(
            "{name} takes effect for one peer; say which by --peer"
        )));
    };
    if args.command == (StockCommand::NewEpoch { end_chains: false }) {
        refuse_to_end_chains(stocks, names)?;
    }
    let base_ots = is_new_epoch.then(|| stocks.forget_base_ots(&peer));
    if !names.is_empty() {
        return Ok(base_ots.and_then(Result::ok));
    }
    match base_ots.transpose()? {
        None | Some(0) => Err(Failure::Usage(
            "there is no such stock with this peer, so that nothing is to be destroyed; `tacit \
             stock list` lists those that there are"
                .to_owned(),
        )),
        destroyed => Ok(destroyed),
    }
}

/// Refuses to destroy stocks with which chains of kept values would end. Those that cannot be read
/// are no obstacle: a new epoch is the remedy.
fn refuse_to_end_chains(stocks: &Stocks, names: &[StockName]) -> Result<(), Failure> {
    let chains = names.iter().map(|name| stocks.chains_that_end_with(name));
    // Stocks of several schemes share them.
    let chains: BTreeSet<_> = chains.filter_map(Result::ok).flatten().collect();
    if chains.is_empty() {
        return Ok(());
    }
    let chains: Vec<_> = chains.into_iter().collect();
    Err(Failure::Usage(format!(
        "the values of what is kept with this peer by prepared would be lost: {}. Nothing was \
         destroyed; if these chains are to end, give --end-chains",
        chains.join(", ")
    )))
}

/// Carries out the command on one stock, and returns its output.
fn carry_out(command: &StockCommand, stocks: &Stocks, name: &StockName) -> Result<Told, Failure> {
    match command {
        StockCommand::Check => check(stocks, name),
        StockCommand::Compact => {
            let freed = stocks.compact(name)?;
            let text = format!("freed {}\n", shown_bytes(freed));
            Ok((text, json!({ "freed_bytes": freed })))
        }
        StockCommand::NewEpoch { .. } => {
            let ended = stocks.end_epoch(name)?;
            let chains = ended.chains;
            if let Err(error) = ended.base_ots {
                if !chains.is_empty() {
                    eprintln!("chains that ended with the stock: {}", chains.join(", "));
                }
                return Err(error.into());
            }
            let mut text = "destroyed, and base OTs that were kept with this peer, too; the next \
                            preparation begins a new epoch\n"
                .to_owned();
            if !chains.is_empty() {
                let chains = chains.join(", ");
                text.push_str(&format!("chains that ended with it: {chains}\n"));
            }
            Ok((text, json!({ "destroyed": true, "chains_killed": chains })))
        }
        // The others are of components, chains and tries, and have been answered.
        _ => Ok(list(&stocks.summary(name)?)),
    }
}

fn print(
    config: &Config,
    json: bool,
    names: &[StockName],
    told: Vec<Told>,
    others: [&[Told]; 3],
    base_ots: Option<u64>,
) -> Result<(), Failure> {
    let told = names.iter().zip(told);
    if json {
        let stocks: Vec<_> = told
            .map(|(name, (_, mut json))| {
                json["peer"] = name.peer.to_string().into();
                json["peer_name"] = config.peer_name(&name.peer).into();
                json["role"] = name.role.name().into();
                json["scheme"] = name.scheme.to_string().into();
                json
            })
            .collect();
        let [chains, tries, kept] = others.map(|all| {
            let jsons: Vec<_> = all.iter().map(|(_, json)| json).collect();
            json!(jsons)
        });
        let mut json = json!({
            "version": JSON_VERSION,
            "stocks": stocks,
            "chains": chains,
            "tries": tries,
            "base_ots": kept,
        });
        if let Some(batches) = base_ots {
            json["base_ot_batches_destroyed"] = batches.into();
        }
        return output::print(pretty(&json).as_bytes());
    }
    let mut text = String::new();
    for (name, (told, _)) in told {
        let _ = writeln!(
            text,
            "{} with {}, {}",
            name.role.name(),
            config.shown(&name.peer),
            name.scheme
        );
        for line in told.lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    let others = others.into_iter().flatten();
    others.for_each(|(other, _)| text += other);
    if text.is_empty() {
        text.push_str("nothing is in stock; `tacit prepare` puts something there\n");
    }
    output::print(text.as_bytes())
}

fn list(summary: &StockSummary) -> Told {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "epoch {}, {} of {}",
        summary.epoch,
        shown_bytes(summary.bytes),
        shown_bytes(summary.max_bytes)
    );
    let digests = shown_digests(summary.kinds.iter().map(|kind| &kind.digest));
    let width = digests.iter().map(String::len).max().unwrap_or_default();
    if !summary.kinds.is_empty() {
        let _ = writeln!(
            text,
            "{:>10} {:>10} {:>12} {:>10} {:>8}  {:width$}  component",
            "usable", "damaged", "bytes", "used/day", "lasts", "digest"
        );
    }
    for (kind, digest) in summary.kinds.iter().zip(digests) {
        let (usable, damaged) = (kind.available, kind.withdrawn);
        let _ = write!(
            text,
            "{usable:>10} {damaged:>10} {:>12} {:>10} {:>8}  {digest:width$}  {}",
            kind.bytes,
            kind.taken_per_day()
                .map_or("-".to_owned(), |count| format!("{count:.0}")),
            kind.lasts().map_or("-".to_owned(), shown_time),
            kind.names().collect::<Vec<_>>().join(", ")
        );
        if kind.pending > 0 {
            let _ = write!(text, " ({} more wait for the next meeting)", kind.pending);
        }
        text.push('\n');
    }
    let kinds = summary.kinds.iter().map(|kind| {
        json!({
            "name": kind.name,
            "other_names": kind.other_names,
            "digest": kind.digest.to_string(),
            "usable": kind.available,
            "pending": kind.pending,
            "damaged": kind.withdrawn,
            "bytes": kind.bytes,
            "taken": kind.taken,
            "taken_within_s": kind.taken_within.as_secs(),
            "lasts_s": kind.lasts().map(|lasts| lasts.as_secs()),
        })
    });
    let json = json!({
        "epoch": summary.epoch.to_string(),
        "bytes": summary.bytes,
        "max_bytes": summary.max_bytes,
        "kinds": kinds.collect::<Vec<_>>(),
    });
    (text, json)
}

/// What is told of base OTs that sessions keep.
fn base_ots_told(kept: &KeptBaseOts, config: &Config) -> Told {
    let KeptBaseOts {
        peer,
        role,
        base,
        sessions,
        ..
    } = kept;
    let (role, name) = (role.name(), config.shown(peer));
    let text = format!(
        "{role} with {name}, base OTs by {base}\n  for {sessions} more sessions by direct\n"
    );
    let json = json!({
        "peer": peer.to_string(),
        "peer_name": config.peer_name(peer),
        "role": role,
        "base_ot": base.name(),
        "sessions": sessions,
    });
    (text, json)
}

/// The beginnings of these digests, as long as it takes to tell them apart.
fn shown_digests<'d>(digests: impl Iterator<Item = &'d ComponentDigest>) -> Vec<String> {
    const DIGITS: usize = 12;
    let whole: Vec<_> = digests.map(ComponentDigest::to_string).collect();
    let is_clear = |digest: &String, length: usize| {
        let mut alike = whole
            .iter()
            .filter(|other| other.starts_with(&digest[..length]));
        alike.all(|other| other == digest)
    };
    let shown = whole.iter().map(|digest| {
        let length = (DIGITS..digest.len()).find(|&length| is_clear(digest, length));
        digest[..length.unwrap_or(digest.len())].to_owned()
    });
    shown.collect()
}

/// A time in the largest unit that leaves a whole number.
fn shown_time(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7_200 => format!("{} min", seconds / 60),
        seconds @ ..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// Whether something told of a stock or chain is damage.
fn is_damaged(json: &Json) -> bool {
    json["damaged"] != json!([]) && json["damaged"].is_array()
}

fn check(stocks: &Stocks, name: &StockName) -> Result<Told, Failure> {
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
        let _ = match withdrawn {
            true => writeln!(text, "{instances} damaged and withdrawn: {error}"),
            false => writeln!(text, "damaged, used already or given up before: {error}"),
        };
        damaged.push(json!({
            "error": error.to_string(),
            "withdrawn": withdrawn,
            "instances": count,
        }));
    }
    Ok((text, json!({ "whole": report.whole, "damaged": damaged })))
}
