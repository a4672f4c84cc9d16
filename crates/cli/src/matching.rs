//! `tacit match`: the keys that the tables of two parties have in common.

mod table;

use std::path::Path;

use serde_json::{Value as Json, json};
use tacit::matching::{KeyNormalization, Match, MatchOutcome, MatchRecipient};
use tacit::session::{ProtocolId, RunId};
use zeroize::Zeroizing;

use crate::args::MatchArgs;
use crate::cancel;
use crate::config::Config;
use crate::failure::{Failure, input, usage};
use crate::log::Log;
use crate::new_file::{Readers, check_new, write_new};
use crate::output;
use crate::party::Party;
use crate::progress::Bar;
use crate::report::{UNAUTHENTICATED, costs_json, costs_text, security, shown_bytes};
use crate::typed::{left_out_json, tell_left_out};
pub(crate) use table::{KeyColumn, Table};

/// If both tables have at least this many keys and none in common, that is probably a mistake.
const LARGE_TABLE: u64 = 100;

/// Runs the command. Checks everything on this party's side before contacting the peer.
pub(crate) fn matching(args: &MatchArgs, config: Option<&Path>, log: Log) -> Result<(), Failure> {
    let config = Config::load(config)?;
    let party = Party::new(&args.meet, args.plain_loopback, &config)?;
    let mut party = party.on_threads(args.threads).in_part(args.shard.part());
    party.use_gpu(args.device.gpu, false, log)?;
    if let Some(path) = &args.out {
        check_new(path, Readers::Owner)?;
    }
    if args.out.is_some() && args.to == MatchRecipient::Peer {
        return Err(usage!(
            "--out is for the result, which goes to the peer alone"; "leave out one of the two"
        ));
    }
    let reading = Bar::without_end("reading the table", !args.json);
    let table = Table::read(KeyColumn::of(args), args.threads)?;
    drop(reading);
    tell_left_out(table.left_out, "", "with the key of an earlier row");
    if table.all_keys == 0 && table.left_out.missing > 0 {
        return Err(input!(
            "no row of {} has a valid key", args.table;
            "see whether it is the right column{}", match args.normalize {
                KeyNormalization::None => String::new(),
                how => format!(", and whether its keys are of --normalize {how}"),
            }
        ));
    }
    let order = ordered(args, &table)?.time_limit(args.time_limit.or(config.timeouts.run));
    let threat_model = security(order.threat_model(), None);
    if !args.json {
        tell_estimate(&order, &party)?;
    }
    let mut session = party.meet(cancel::on_signal()?, log)?;
    let peer = session.peer();
    if !args.json {
        let name = peer.as_ref().and_then(|peer| config.peer_name(peer));
        let peer = match (name, &peer) {
            (Some(name), Some(peer)) => format!("{name}, {peer}"),
            (None, Some(peer)) => peer.to_string(),
            (_, None) => UNAUTHENTICATED.to_owned(),
        };
        let protocol = ProtocolId::Match;
        eprintln!("protocol  {protocol}, {threat_model}\npeer      {peer}");
    }
    let matching = Bar::percent("matching", !args.json);
    let order = order.watch(move |at| matching.show_part(at.done_ands, at.total_ands));
    let outcome = order.run(&mut session)?;
    let id = session.run_id();
    // The result is here, so a peer that has already left does not matter.
    if let Err(error) = session.close() {
        log.step(format_args!("{error}"));
    }
    let told = MatchReport {
        args,
        table: &table,
        outcome: &outcome,
        id,
    };
    told.write()?;
    if args.json {
        told.print_json(peer.map(|peer| peer.to_string()))
    } else {
        told.print()
    }
}

/// Returns the matching that the arguments ask for.
fn ordered(args: &MatchArgs, table: &Table) -> Result<Match, Failure> {
    let mut order = Match::new(table.keys())?;
    if let Some(part) = args.shard.part() {
        order = order.part(part, table.all_keys as u64)?;
    }
    if let Some(most) = args.most_keys {
        order = order.most_peer_keys(most);
    }
    let order = order.normalized(args.normalize).to(args.to);
    Ok(order.threads(args.threads))
}

/// Says what the matching takes if the peer has as many keys as this party.
fn tell_estimate(order: &Match, party: &Party) -> Result<(), Failure> {
    let (keys, (link, extension)) = (order.told_keys(), party.known_of_ots());
    let estimate = order.estimate(keys, link, extension)?;
    let over = if link.is_some() {
        ""
    } else {
        " and what the network takes"
    };
    let seconds = match estimate.time.as_secs_f64() {
        short if short < 0.1 => "less than 0.1".to_owned(),
        seconds => format!("{seconds:.1}"),
    };
    eprintln!(
        "estimate  {} and {seconds} s{over}, if the peer has as many keys as this party, {keys}",
        shown_bytes(estimate.bytes)
    );
    Ok(())
}

/// The output of a matching.
struct MatchReport<'a> {
    args: &'a MatchArgs,
    table: &'a Table,
    outcome: &'a MatchOutcome,
    id: Option<RunId>,
}

impl MatchReport<'_> {
    /// Returns the keys in common as they stand in this party's table, if this party gets them.
    fn common(&self) -> Option<impl Iterator<Item = &str>> {
        let common = self.outcome.common.as_ref()?;
        Some(common.iter().map(|key| self.table.cell(*key)))
    }

    /// Returns whether the tables have keys and none in common.
    fn has_none(&self) -> bool {
        let has_keys = self.outcome.peer_keys > 0 && self.table.len() > 0;
        has_keys && self.outcome.common.as_ref().is_some_and(Vec::is_empty)
    }

    /// Returns what to check if large tables have no key in common: that is probably a mistake.
    fn checks(&self) -> Option<Vec<&'static str>> {
        let keys = self.outcome.peer_keys.min(self.table.len() as u64);
        if !self.has_none() || keys < LARGE_TABLE {
            return None;
        }
        let mut checks = vec![
            "the columns: do both hold the same thing, such as addresses?",
            "the form: do both write keys alike, with the same zeros, prefixes, separators and \
             order of day and month?",
            "the type: numbers that a spreadsheet has turned into 1e+05 or 7.0 are other keys",
        ];
        if self.args.normalize == KeyNormalization::None {
            checks.push(
                "spaces and capitals: --normalize email at both leaves out the former and compares \
                 in lower case",
            );
        }
        Some(checks)
    }

    /// Returns the keys in common, one on each line, after a first line that names the column if
    /// they are a table.
    fn lines(&self, is_table: bool) -> Zeroizing<Vec<u8>> {
        let name = is_table.then_some(self.table.column.as_str());
        let keys = || name.into_iter().chain(self.common().into_iter().flatten());
        // The capacity includes all quotes, so that the buffer never moves.
        let most = keys().map(|key| 2 * key.len() + 3).sum();
        let mut lines = Zeroizing::new(Vec::with_capacity(most));
        for key in keys() {
            let needs_quotes = key.is_empty() || key.contains([',', '"', '\n', '\r']);
            let quote: &[u8] = if needs_quotes { b"\"" } else { b"" };
            lines.extend_from_slice(quote);
            for byte in key.bytes() {
                lines.extend_from_slice(if byte == b'"' { quote } else { b"" });
                lines.push(byte);
            }
            lines.extend_from_slice(quote);
            lines.push(b'\n');
        }
        lines
    }

    /// Writes the result into the file that the arguments name.
    fn write(&self) -> Result<(), Failure> {
        let Some(path) = self.args.out.as_deref().filter(|_| self.common().is_some()) else {
            return Ok(());
        };
        write_new(path, Readers::Owner, |file| {
            let written = file.write_all(&self.lines(true));
            written.map_err(|error| Failure::write(path, &error))
        })
    }

    fn print_json(&self, peer: Option<String>) -> Result<(), Failure> {
        let (common, left_out) = (self.outcome.common.as_ref(), self.table.left_out);
        let mut told = json!({
            "protocol": ProtocolId::Match.name(),
            "threat_model": self.outcome.threat_model.to_string(),
            "peer": peer,
            "normalize": self.args.normalize.name(),
            "to": self.args.to.name(),
            "keys": { "own": self.table.len(), "peer": self.outcome.peer_keys },
            "left_out": left_out_json(left_out),
            "shard": self.args.shard.part().map(|part| part.to_string()),
            "count": common.map(Vec::len),
            "check": self.checks(),
            "run": self.id.map(|id| id.to_string()),
        });
        match &self.args.out {
            Some(path) => told["out"] = path.to_string_lossy().into(),
            None => {
                told["common"] = self
                    .common()
                    .map(Vec::from_iter)
                    .map_or(Json::Null, Json::from)
            }
        }
        if self.args.cost {
            told["cost"] = costs_json(std::slice::from_ref(&self.outcome.cost));
        }
        output::print_json(told)
    }

    fn print(&self) -> Result<(), Failure> {
        let (own, peers) = (self.table.len() as u64, self.outcome.peer_keys);
        match self.args.shard.part() {
            None => eprintln!("keys      {own} of this party, {peers} of the peer"),
            Some(part) => {
                eprintln!("keys      {own} of this party in part {part}, up to {peers} of the peer")
            }
        }
        if let Some(id) = self.id {
            eprintln!("run       {id}");
        }
        match &self.outcome.common {
            None => eprintln!("done; the result goes to the peer"),
            Some(common) => eprintln!("common    {}", common.len()),
        }
        if let Some(checks) = self.checks() {
            eprintln!("no key is in both tables; check:");
            for check in checks {
                eprintln!("- {check}");
            }
        } else if self.has_none() {
            eprintln!("no key is in both tables: do both columns hold the same thing?");
        }
        if self.args.out.is_none() && self.args.to != MatchRecipient::Peer {
            output::print(self.lines(false))?;
        }
        if self.args.cost {
            eprint!("{}", costs_text(std::slice::from_ref(&self.outcome.cost)));
        }
        Ok(())
    }
}
