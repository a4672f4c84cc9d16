//! `tacit config show`: the settings of the configuration, as text or JSON.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tacit::Role;

use super::{Config, file};
use crate::failure::Failure;
use crate::output;
use crate::serve::config::Serve;

impl Config {
    /// Returns the JSON of `tacit config show --json`: each setting, and `null` for those that the
    /// file does not give.
    fn json(&self, path: &Path) -> Json {
        let milliseconds = |wait: Option<Duration>| wait.map(|wait| wait.as_millis() as u64);
        let peers = self.peers.iter().map(|(name, peer)| {
            let peer = json!({
                "fingerprint": peer.fingerprint.to_string(),
                "address": peer.address,
                "listen": peer.listen,
                "relay": peer.relay,
                "role": peer.role.map(Role::name),
                "link": peer.link.map(|link| link.to_string()),
            });
            (name.clone(), peer)
        });
        json!({
            "file": path,
            "exists": path.exists(),
            "identity": self.identity,
            "base_ot": self.base_ot.map(|kind| kind.to_string()),
            "ot_extension": self.ot_extension.map(|extension| extension.to_string()),
            "peers": peers.collect::<serde_json::Map<_, _>>(),
            "stock": {
                "folder": self.stock.folder,
                "lane": self.stock.lane.map(|lane| lane.to_string()),
                "limit_gib": self.stock.limit_gib,
                "witness": self.stock.witness,
            },
            "timeouts": {
                "connect_ms": milliseconds(self.timeouts.connect),
                "message_ms": milliseconds(self.timeouts.message),
                "run_ms": milliseconds(self.timeouts.run),
            },
            "serve": self.serve.as_ref().map(Serve::json),
        })
    }
}

/// Runs `tacit config show`.
pub(crate) fn show(explicit: Option<&Path>, wants_json: bool) -> Result<(), Failure> {
    let path = file(explicit)?;
    let config = Config::load(explicit)?;
    if wants_json {
        return output::print_json(config.json(&path));
    }
    let mut text = String::new();
    let there = if path.exists() {
        ""
    } else {
        " (not there; all of it is optional)"
    };
    let _ = writeln!(text, "file: {}{there}", path.display());
    if let Some(identity) = &config.identity {
        let _ = writeln!(text, "identity: {}", identity.display());
    }
    if let Some(kind) = config.base_ot {
        let _ = writeln!(text, "base_ot: {kind}");
    }
    if let Some(extension) = config.ot_extension {
        let _ = writeln!(text, "ot_extension: {extension}");
    }
    for (name, peer) in &config.peers {
        let address = match (&peer.relay, &peer.listen, &peer.address) {
            (Some(relay), _, _) => format!("through the relay {relay}"),
            (None, Some(listen), _) => format!("waited for at {listen}"),
            (None, None, Some(address)) => format!("at {address}"),
            (None, None, None) => "at no address".to_owned(),
        };
        let role = peer
            .role
            .map_or(String::new(), |role| format!(", as {}", role.name()));
        let link = peer
            .link
            .map_or(String::new(), |link| format!(", over {link}"));
        let _ = writeln!(
            text,
            "peer {name}: {} {address}{role}{link}",
            peer.fingerprint
        );
    }
    if let Some(folder) = &config.stock.folder {
        let _ = writeln!(text, "stock folder: {}", folder.display());
    }
    if let Some(lane) = &config.stock.lane {
        let _ = writeln!(text, "stock lane: {lane}");
    }
    if let Some(witness) = &config.stock.witness {
        let _ = writeln!(text, "stock witness: {}", witness.display());
    }
    if let Some(limit) = config.stock.limit_gib {
        let _ = writeln!(text, "stock limit: {limit} GiB");
    }
    for (name, wait) in [
        ("connect", config.timeouts.connect),
        ("message", config.timeouts.message),
        ("run", config.timeouts.run),
    ] {
        if let Some(wait) = wait {
            let _ = writeln!(text, "timeout {name}: {wait:?}");
        }
    }
    if let Some(serve) = &config.serve {
        serve.show(&mut text);
    }
    output::print(text)
}
