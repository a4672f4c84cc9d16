//! A matching of a page's keys with the table that a service holds.

use std::collections::HashMap;
use std::str::FromStr;

use serde_json::{Value as Json, json};
use tacit::circuit::wipe_json;
use tacit::matching::{KeyNormalization, Match, MatchOutcome, MatchRecipient};
use zeroize::Zeroizing;

use crate::Refused;
use crate::link;
use crate::session::{With, authenticated, number, of_link, order, patience, phases_json, ran};

/// Returns the keys in the form in which they are compared.
fn normalized(given: &Json, how: KeyNormalization) -> Result<Vec<Zeroizing<String>>, Refused> {
    let given = given.as_array().ok_or("the order's keys are a list")?;
    let keys = given.iter().enumerate().map(|(number, key)| {
        let key = key.as_str().map(|key| how.apply(key));
        let key = key.filter(|key| !key.is_empty());
        key.ok_or_else(|| format!("key {number} is no key: leave it out").into())
    });
    keys.collect()
}

/// A page's keys, of which some may be alike.
struct PageKeys<'k> {
    distinct: Vec<&'k str>,
    /// For each key of the page, its place among the distinct ones.
    places: Vec<usize>,
}

impl<'k> PageKeys<'k> {
    fn new(keys: &'k [Zeroizing<String>]) -> Self {
        let (mut distinct, mut known) = (Vec::new(), HashMap::new());
        let places = keys.iter().map(|key| {
            *known.entry(key.as_str()).or_insert_with(|| {
                distinct.push(key.as_str());
                distinct.len() - 1
            })
        });
        let places = places.collect();
        Self { distinct, places }
    }

    /// Returns the numbers of the page's keys that are in common.
    fn common(&self, distinct: &[usize]) -> Vec<usize> {
        let places = self.places.iter().enumerate();
        let common = places.filter(|(_, place)| distinct.binary_search(place).is_ok());
        common.map(|(number, _)| number).collect()
    }
}

/// Finds the keys that are in a service's table, too:
///
/// | member | content |
/// |---|---|
/// | `keys` | a list of texts |
/// | `normalize` | how keys are normalised; `none` if left out |
/// | `to` | who gets the result: `both` or `me`, which may be left out |
/// | `most_peer_keys` | the most keys that the service may have; may be left out |
/// | `identity`, `peer` | this person's identity ([`identity`](crate::session::identity)) and the service's fingerprint |
/// | `token` | of a visitor whom the service does not know; may be left out |
/// | `patience_ms` | see [`patience`]; may be left out |
pub(crate) fn matching(link: u32, text_of_order: &str) -> Result<String, Refused> {
    let (mut order, _) = order(text_of_order)?;
    let given = order["keys"].take();
    let how = named(&order, "normalize", KeyNormalization::None)?;
    let keys = normalized(&given, how);
    wipe_json(given);
    let keys = keys?;
    let keys = PageKeys::new(&keys);
    let to = named(&order, "to", MatchRecipient::Me)?;
    if to == MatchRecipient::Peer {
        return Err("a page gets the result itself: `to` is me or both".into());
    }
    let mut told = None;
    let mut wanted = Match::new(&keys.distinct)?
        .normalized(how)
        .to(to)
        .watch(move |at| {
            let percent = 100 * at.done_ands / at.total_ands.max(1);
            if told.replace(percent) != Some(percent) {
                link::progressed(percent as f64 / 100.0);
            }
        });
    if !order["most_peer_keys"].is_null() {
        wanted = wanted.most_peer_keys(number(&order, "most_peer_keys")?);
    }
    let patience = patience(&order)?;
    let session = authenticated(link::transport(link), &order, "peer");
    let of_link = |refused| of_link(link, With::Service, patience, refused);
    let mut session = session.map_err(of_link)?;
    let sized = wanted.tell(&mut session);
    let sized = sized.map_err(|error| of_link(error.into()))?;
    let outcome = ran(&mut session, |session| sized.run(session))?;
    // The result is here, so a service that has already left does not matter.
    let _ = session.close();
    Ok(outcome_json(&keys, &outcome).to_string())
}

/// Reads a member of the order that has a name for each of its values.
fn named<T: FromStr<Err = String>>(order: &Json, member: &str, usual: T) -> Result<T, Refused> {
    match &order[member] {
        Json::Null => Ok(usual),
        Json::String(name) => Ok(name.parse()?),
        _ => Err(format!("the order's {member:?} is not a text").into()),
    }
}

fn outcome_json(keys: &PageKeys<'_>, outcome: &MatchOutcome) -> Json {
    let common = outcome.common.as_deref().unwrap_or_default();
    json!({
        "common": keys.common(common),
        "own_keys": keys.distinct.len(),
        "peer_keys": outcome.peer_keys,
        "threat_model": outcome.threat_model.to_string(),
        "phases": phases_json(&outcome.cost),
        "ms": outcome.cost.wall().as_secs_f64() * 1e3,
    })
}
