//! The other processes of the party, as `[serve.lanes]` names them, and those that keep chains.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use tacit::net::{Lane, NotALane};
use tacit::session::{ChainLanes, LaneHomes, NotAHome};
use tacit::stock::MAX_LANES;
use tacit_serve::{Offer, Policy};

use super::config::Serve;
use super::policy::wrong;
use crate::config::Config;
use crate::failure::{Failure, usage};
use crate::stock;

/// Returns the addresses of this party's other processes.
pub(super) fn lane_homes(
    config: &Config,
    serve: &Serve,
    offers: &[Offer],
) -> Result<LaneHomes, Failure> {
    let Some(own) = config.stock.lane else {
        return if serve.lanes.is_empty() {
            Ok(LaneHomes::default())
        } else {
            Err(wrong(
                "[serve.lanes]",
                "name this process, by lane under [stock]",
            ))
        };
    };
    if offers.iter().any(|offer| offer.outsourced.is_some()) {
        let what = "a server of runs of three is one process; leave lane out";
        return Err(wrong("[stock] lane", what));
    }
    let homes = serve.lanes.iter().map(|(name, address)| {
        let at = format!("[serve.lanes] {name}");
        let lane: Lane = name
            .parse()
            .map_err(|error: NotALane| wrong(&at, &error.to_string()))?;
        NotAHome::check(address).map_err(|error| wrong(&at, &error.to_string()))?;
        Ok((lane, address.clone()))
    });
    let mut homes: BTreeMap<_, _> = homes.collect::<Result<_, Failure>>()?;
    // The same table may stand in the configuration of each.
    homes.remove(&own);
    if homes.len() < MAX_LANES {
        Ok(Arc::new(homes))
    } else {
        Err(wrong(
            "[serve.lanes]",
            &format!("a party has at most {MAX_LANES} lanes"),
        ))
    }
}

/// Returns this process's share of the keys that a peer may ask about in a day: none of the party's
/// processes knows what the others count.
pub(super) fn keys_per_day(config: &Config, serve: &Serve, all: u64) -> Result<u64, Failure> {
    let Some(own) = config.stock.lane else {
        return Ok(all);
    };
    let is_named = serve.lanes.contains_key(own.name());
    let processes = serve.lanes.len() as u64 + u64::from(!is_named);
    match all / processes {
        0 if all > 0 => Err(wrong(
            "keys_per_day",
            &format!("{all} keys are shared by {processes} lanes, and none has one"),
        )),
        share => Ok(share),
    }
}

/// Returns the lanes that keep chains: those of `chain_lanes`, or all of this party's.
pub(super) fn chain_lanes(
    config: &Config,
    serve: &Serve,
    homes: &LaneHomes,
    offers: &[Offer],
) -> Result<ChainLanes, Failure> {
    let given = serve.chain_lanes.as_ref();
    let Some(own) = config.stock.lane else {
        return match given {
            None => Ok(ChainLanes::default()),
            Some(_) => Err(wrong(
                "[serve] chain_lanes",
                "name this process, by lane under [stock]",
            )),
        };
    };
    let at = "[serve] chain_lanes";
    let known: BTreeSet<Lane> = homes.keys().copied().chain([own]).collect();
    let Some(given) = given else {
        let has_chain = offers.iter().any(|offer| offer.chain.is_some());
        return if has_chain && serve.lanes.is_empty() {
            Err(wrong(
                "[serve.lanes]",
                "name all of this party's processes: each chain is kept by one of them, and a \
                 peer could start it once with each process that does not know the others",
            ))
        } else {
            Ok(ChainLanes::new(known))
        };
    };
    if given.is_empty() {
        return Err(wrong(at, "name one lane or more, or leave it out for all"));
    }
    let lanes = given.iter().map(|name| {
        let lane: Result<Lane, NotALane> = name.parse();
        let lane = lane.map_err(|error| wrong(at, &error.to_string()))?;
        if known.contains(&lane) {
            Ok(lane)
        } else {
            Err(wrong(
                at,
                &format!("{lane} is none of the lanes in [serve.lanes]"),
            ))
        }
    });
    Ok(ChainLanes::new(lanes.collect::<Result<Vec<_>, Failure>>()?))
}

/// Checks that this process keeps no chain that the list gives to another one.
pub(super) fn check_chains(folder: &Path, config: &Config, policy: &Policy) -> Result<(), Failure> {
    if !folder.join("chains").is_dir() {
        return Ok(());
    }
    let stocks = stock::open_silently(folder, config)?;
    let Some((chain, home)) = policy.chain_elsewhere(&stocks)? else {
        return Ok(());
    };
    let (name, peer) = (&chain.summary.name, config.shown(&chain.peer));
    let in_words = |lane: Option<Lane>| match lane {
        Some(lane) if !lane.is_none() => format!("lane {lane}"),
        _ => "no lane".to_owned(),
    };
    let (kept, home) = (in_words(Some(chain.lanes.own)), in_words(home));
    Err(usage!(
        "the chain {name:?} with {peer} is kept here, in {kept}, and this configuration gives it \
         to {home}, where the peer could start another";
        "leave [serve.lanes] as it was, or name under [serve] the chain_lanes that it had, in all \
         processes; or drop the chain first with `tacit stock drop-chain`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the configuration of a service in lane a, with these lines under `[serve]`.
    fn config(lane: &str, serve: &str) -> Config {
        let text = format!("[stock]\n{lane}\n[serve]\n{serve}");
        Config::of_text(Path::new("tacit.toml"), &text).expect("a configuration")
    }

    const IN_LANE_A: &str = "lane = \"a\"";
    const LANES: &str = "[serve.lanes]\nb = \"b.example:7000\"\nc = \"c.example:7000\"";

    #[test]
    fn a_process_answers_its_share_of_the_keys() {
        let share = |lane: &str, serve: &str| {
            let config = config(lane, serve);
            let serve = config.serve.as_ref().expect("a service");
            keys_per_day(&config, serve, serve.keys_per_day.unwrap_or(20_000))
        };
        for (lane, serve, expected) in [
            ("", String::new(), 20_000),
            ("", "keys_per_day = 7".to_owned(), 7),
            (IN_LANE_A, String::new(), 20_000),
            (IN_LANE_A, LANES.to_owned(), 6666),
            (IN_LANE_A, format!("keys_per_day = 7\n{LANES}"), 2),
            (
                IN_LANE_A,
                format!("keys_per_day = 7\n{LANES}\na = \"x:1\""),
                2,
            ),
            (IN_LANE_A, format!("keys_per_day = 0\n{LANES}"), 0),
        ] {
            let found = share(lane, &serve).expect("a share");
            assert_eq!(found, expected, "{lane} {serve}");
        }
        let none = share(IN_LANE_A, &format!("keys_per_day = 2\n{LANES}"));
        let none = none.expect_err("no key for the third").to_string();
        assert!(none.contains("3 lanes"), "{none}");
    }

    #[test]
    fn chains_are_kept_by_known_lanes() {
        let lanes = |lane: &str, serve: &str| {
            let config = config(lane, serve);
            let serve = config.serve.as_ref().expect("a service");
            let homes = lane_homes(&config, serve, &[]).expect("addresses");
            chain_lanes(&config, serve, &homes, &[])
        };
        let of = |names: &[&str]| {
            ChainLanes::new(names.iter().map(|name| name.parse().expect("a name")))
        };
        assert_eq!(lanes("", "").expect("none"), of(&[]));
        // Without [serve.lanes] no function may have a chain.
        assert_eq!(lanes(IN_LANE_A, "").expect("one"), of(&["a"]));
        assert_eq!(lanes(IN_LANE_A, LANES).expect("all"), of(&["a", "b", "c"]));
        let two = lanes(IN_LANE_A, &format!("chain_lanes = [\"b\", \"a\"]\n{LANES}"));
        assert_eq!(two.expect("two"), of(&["a", "b"]));
        for (lane, serve) in [
            ("", "chain_lanes = [\"a\"]"),
            (IN_LANE_A, "chain_lanes = []"),
            (IN_LANE_A, "chain_lanes = [\"d\"]"),
            (IN_LANE_A, "chain_lanes = [\"A\"]"),
        ] {
            let refused = lanes(
                lane,
                &format!("{serve}\n{}", if lane.is_empty() { "" } else { LANES }),
            );
            let refused = refused.expect_err("refused").to_string();
            assert!(refused.contains("chain_lanes"), "{refused}");
        }
    }
}
