//! The sites whose visitors may connect.

use std::fs;

use tacit_serve::{Peer, Visitors};

use super::config::Serve;
use super::lanes::keys_per_day;
use super::policy::wrong;
use crate::config::Config;
use crate::failure::Failure;

/// Reads every `[[serve.visitors]]`.
pub(super) fn visitors(config: &Config, serve: &Serve) -> Result<Vec<Visitors>, Failure> {
    let mut all: Vec<Visitors> = Vec::new();
    for (number, site) in serve.visitors.iter().enumerate() {
        let at = |field: &str| format!("[[serve.visitors]] {} {field}", number + 1);
        let name = &site.name;
        if name.is_empty() || name.contains('/') {
            return Err(wrong(&at("name"), "write a name without a slash"));
        }
        if config.peers.contains_key(name) || all.iter().any(|other| other.name == *name) {
            let what = format!("{name:?} is the name of others; write another");
            return Err(wrong(&at("name"), &what));
        }
        if site.audience.is_empty() {
            let what = "write the `aud` of the tokens for this service";
            return Err(wrong(&at("audience"), what));
        }
        let path = site.key_file.display();
        let text = fs::read_to_string(&site.key_file);
        let text = text.map_err(|error| wrong(&at("key_file"), &format!("{path}: {error}")))?;
        let key = text.parse();
        let key = key.map_err(|error| wrong(&at("key_file"), &format!("{path}: {error}")))?;
        let keys = site.keys_per_day;
        all.push(Visitors {
            name: name.clone(),
            key,
            audience: site.audience.clone(),
            semi_honest: site.semi_honest,
            keys_per_day: keys
                .map(|keys| keys_per_day(config, serve, keys))
                .transpose()?,
        });
    }
    Ok(all)
}

/// Returns the peer that stands for all visitors of a site.
pub(super) fn as_peer(site: &Visitors) -> Peer {
    Peer {
        name: site.name.clone(),
        fingerprint: site.fingerprint(),
        address: None,
        link: None,
    }
}
