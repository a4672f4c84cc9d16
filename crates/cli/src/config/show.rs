//! `tacit config show`: the settings of the configuration, as text or JSON.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
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
    let file = file(explicit)?;
    let config = Config::load(explicit)?;
    if wants_json {
        return output::print_json(config.json(&file));
    }
    let mut text = String::new();
    let there = if file.exists() {
        ""
    } else {
        " (not there; all of it is optional)"
    };
    let _ = writeln!(text, "file: {}{there}", file.display());
    let tell = |text: &mut String, name: &str, value: Option<String>| {
        let _ = value.map(|value| writeln!(text, "{name}: {value}"));
    };
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let extension = config.ot_extension.map(|extension| extension.to_string());
    tell(&mut text, "identity", path(&config.identity));
    tell(
        &mut text,
        "base_ot",
        config.base_ot.map(|kind| kind.to_string()),
    );
    tell(&mut text, "ot_extension", extension);
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
    let (stock, timeouts) = (&config.stock, &config.timeouts);
    let time = |time: Option<Duration>| time.map(|time| format!("{time:?}"));
    for (name, value) in [
        ("stock folder", path(&stock.folder)),
        ("stock lane", stock.lane.map(|lane| lane.to_string())),
        ("stock witness", path(&stock.witness)),
        (
            "stock limit",
            stock.limit_gib.map(|limit| format!("{limit} GiB")),
        ),
        ("timeout connect", time(timeouts.connect)),
        ("timeout message", time(timeouts.message)),
        ("timeout run", time(timeouts.run)),
    ] {
        tell(&mut text, name, value);
    }
    if let Some(serve) = &config.serve {
        serve.show(&mut text);
    }
    output::print(text)
}
