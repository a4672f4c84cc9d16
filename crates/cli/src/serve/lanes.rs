//! The other processes of the party, as `[serve.lanes]` names them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tacit::net::{Lane, NotALane};
use tacit::session::{LaneHomes, NotAHome};
use tacit::stock::MAX_LANES;
use tacit_serve::Offer;

use super::config::Serve;
use super::policy::wrong;
use crate::config::Config;
use crate::failure::Failure;

/// Returns the addresses of this party's other processes.
///
/// # Errors
///
/// A name or an address is none, or the service cannot have lanes.
pub(super) fn lane_homes(
    config: &Config,
    serve: &Serve,
    offers: &[Offer],
) -> Result<LaneHomes, Failure> {
    let Some(own) = config.stock.lane else {
        return match serve.lanes.is_empty() {
            true => Ok(LaneHomes::default()),
            false => Err(wrong(
                "[serve.lanes]",
                "name this process, by lane under [stock]",
            )),
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
    match homes.len() < MAX_LANES {
        true => Ok(Arc::new(homes)),
        false => Err(wrong(
            "[serve.lanes]",
            &format!("a party has at most {MAX_LANES} lanes"),
        )),
    }
}
