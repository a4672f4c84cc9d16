//! Shows and clears the records of a peer's tries.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value as Json, json};
use tacit::stock::{Stocks, Tried, TryName, TryRecord, charge_bits};
use tacit::{Fingerprint, Identity, Role};

use crate::config::Config;
use crate::failure::{Failure, usage};
use crate::stock::{OfOwn, TextAndJson};
use crate::{output, party};

/// Returns the records of this peer and role, or of any. They are those in the folder's list, and
/// those of known parties, which may exist only in the witness outside the folder.
pub(super) fn records(
    stocks: &Stocks,
    (peer, role): (Option<Fingerprint>, Option<Role>),
    config: &Config,
) -> Result<Vec<(TryName, TryRecord)>, Failure> {
    let mut records = stocks.tries()?;
    let known = config.peers.values().map(|peer| peer.fingerprint);
    let peers: BTreeSet<_> = known.chain(peer).collect();
    for own in own_identities(stocks, config) {
        for name in peers.iter().flat_map(|peer| names(own, *peer)) {
            if records.iter().all(|(listed, _)| *listed != name) {
                records.push((name, stocks.try_record(&name)?));
            }
        }
    }
    records.retain(|(_, record)| !record.is_empty());
    records.retain(|(name, _)| peer.is_none_or(|peer| name.peer == peer));
    records.retain(|(name, _)| role.is_none_or(|role| name.role == role));
    Ok(records)
}

/// Returns the identities of this party, present and past.
fn own_identities(stocks: &Stocks, config: &Config) -> BTreeSet<Fingerprint> {
    let path = party::identity_path(None, config).ok();
    let identity = path.and_then(|path| Identity::load(&path).ok());
    let stocks = stocks.list().unwrap_or_default();
    let owners = stocks.iter().map(|name| name.own);
    owners
        .chain(identity.map(|one| one.fingerprint()))
        .collect()
}

/// Returns all names under which tries with a peer can be recorded.
fn names(own: Fingerprint, peer: Fingerprint) -> impl Iterator<Item = TryName> {
    let roles = Role::BOTH.into_iter();
    roles.flat_map(move |role| {
        [Tried::Batches, Tried::Authenticated].map(|tried| TryName {
            own,
            peer,
            role,
            tried,
        })
    })
}

/// Returns the output about each record.
pub(super) fn told_each(records: &[(TryName, TryRecord)], config: &Config) -> Vec<OfOwn> {
    let each = records.iter();
    each.map(|record| (record.0.own, told(record, config)))
        .collect()
}

/// Returns the output about a record.
fn told((name, record): &(TryName, TryRecord), config: &Config) -> TextAndJson {
    let TryRecord {
        unfinished, cheats, ..
    } = *record;
    let charge = charge_bits(name.tried, unfinished);
    let (what, ended, next) = match name.tried {
        Tried::Batches => (
            "batches",
            "set aside, since a check of a run failed",
            "an evaluator plans the next one",
        ),
        Tried::Authenticated => (
            "runs by authenticated",
            "ended by a failed check",
            "the next session makes its triples",
        ),
    };
    let (role, peer) = (name.role.name(), config.shown(&name.peer));
    let mut text = format!("{role} with {peer}, {what}\n");
    if unfinished > 0 {
        let _ = writeln!(
            text,
            "  {unfinished} under way or not finished by the peer: {next} at {charge} bits more"
        );
    }
    if cheats > 0 {
        let _ = writeln!(text, "  {cheats} {ended}");
    }
    let json = json!({
        "peer": name.peer.to_string(),
        "peer_name": config.peer_name(&name.peer),
        "role": role,
        "protocol": match name.tried {
            Tried::Batches => "batch",
            Tried::Authenticated => "authenticated",
        },
        "unfinished": unfinished,
        "cheats": cheats,
        "charge_bits": charge,
    });
    (text, json)
}

/// Clears all records of a peer, in this role or in both.
pub(super) fn clear(
    stocks: &Stocks,
    (peer, role): (Option<Fingerprint>, Option<Role>),
    as_json: bool,
    config: &Config,
) -> Result<(), Failure> {
    if peer.is_none() {
        return Err(usage!("clear-tries takes effect for one peer"; "say which by --peer"));
    }
    let records = records(stocks, (peer, role), config)?;
    for (name, _) in &records {
        stocks.clear_tries(name)?;
    }
    let told: Vec<TextAndJson> = records.iter().map(|record| told(record, config)).collect();
    if as_json {
        let cleared: Vec<&Json> = told.iter().map(|(_, json)| json).collect();
        return output::print_json(json!({ "cleared": cleared }));
    }
    let mut text: String = told.into_iter().map(|(text, _)| text).collect();
    text += if text.is_empty() {
        "no tries are counted\n"
    } else {
        "these counts are cleared, and start again at 0\n"
    };
    output::print(text)
}
