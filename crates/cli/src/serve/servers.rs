//! The servers of runs of three parties, of which this party is one.

use std::num::NonZeroUsize;

use tacit::protocols::StatisticalSecurity;
use tacit_serve::Outsourced;

use super::config::{Served, ServedRole};
use super::policy::{peers, wrong};
use crate::config::Config;
use crate::failure::Failure;
use crate::outsource::{COPIES, parameters};

/// Returns the servers of a function, if this party's role is that of a server.
pub(super) fn servers(config: &Config, served: &Served) -> Result<Option<Outsourced>, Failure> {
    let server = match served.role {
        ServedRole::OfThree(server) => server,
        ServedRole::OfTwo(_) => {
            let given = [
                ("other_server", served.other_server.is_some()),
                ("copies", served.copies.is_some()),
                ("threads", served.threads.is_some()),
            ];
            return match given.iter().find(|(_, is_given)| *is_given) {
                None => Ok(None),
                Some((field, _)) => Err(wrong(
                    field,
                    "it is for role = \"generator\" and \"cloud\"; leave it out, or change the \
                     role",
                )),
            };
        }
    };
    let Some(name) = &served.other_server else {
        let what = "the other server is missing; write its name in [peers]";
        return Err(wrong("other_server", what));
    };
    let other = peers(config, Some(std::slice::from_ref(name)))?;
    let Some(other) = other.first().copied() else {
        return Err(wrong("other_server", "it is none of [peers]"));
    };
    let copies = served.copies.unwrap_or(COPIES);
    let bits = served.security_bits;
    let bits = bits.unwrap_or(StatisticalSecurity::DEFAULT.bits());
    Ok(Some(Outsourced {
        server,
        other,
        parameters: parameters(copies, bits).map_err(|what| wrong("copies", &what))?,
        chain: served.chain.clone(),
        replaces: served.replace,
        threads: served.threads.unwrap_or(NonZeroUsize::MIN),
    }))
}
