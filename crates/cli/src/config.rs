//! `tacit.toml`: this party's identity, the peers it knows, and how long it waits.
//!
//! Relative paths in it start at the folder of the file. The file holds no secret: it names the
//! identity file and never contains the key.

pub(crate) mod fields;
mod peers;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;
use serde::Deserialize;
use tacit::net::{Lane, Link};
use tacit::session::{BaseOt, OtExtension};
use tacit::{Fingerprint, Role};

use crate::failure::{Failure, NOT_TEXT};
use crate::serve::config::Serve;

pub(crate) use peers::{NewPeer, NewWay, add_peer, check_new_name};
pub(crate) use words::remedy;

/// The JSON schema of the file, as published in `docs/`.
pub(crate) const SCHEMA: &str = include_str!("../schemas/tacit.schema.json");

/// The longest configuration file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The contents of `tacit.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// This party's identity file.
    pub(crate) identity: Option<PathBuf>,
    /// The assumption under the base oblivious transfers of sessions.
    #[serde(default, deserialize_with = "fields::kind")]
    pub(crate) base_ot: Option<BaseOt>,
    /// The extension that makes the oblivious transfers of sessions.
    #[serde(default, deserialize_with = "fields::extension")]
    pub(crate) ot_extension: Option<OtExtension>,
    /// Peers by name.
    #[serde(default)]
    pub(crate) peers: BTreeMap<String, Peer>,
    /// The place of prepared material.
    #[serde(default)]
    pub(crate) stock: StockPlace,
    /// The longest waits.
    #[serde(default)]
    pub(crate) timeouts: Timeouts,
    /// The settings of `tacit serve`.
    pub(crate) serve: Option<Serve>,
    /// The folder of the file, if the configuration was read from a file.
    #[serde(skip)]
    pub(crate) home: Option<PathBuf>,
}

/// The folder and the size limit of prepared material.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StockPlace {
    /// The folder of all stocks.
    pub(crate) folder: Option<PathBuf>,
    /// A folder outside the stocks' folder that records how far each stock is used.
    pub(crate) witness: Option<PathBuf>,
    /// The name of this process, if several of this party have a folder each.
    #[serde(default, deserialize_with = "fields::parsed_if_given")]
    pub(crate) lane: Option<Lane>,
    /// The size limit of each stock, in GiB.
    #[serde(default, deserialize_with = "fields::limit")]
    pub(crate) limit_gib: Option<u64>,
}

/// A peer that this party knows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Peer {
    /// The fingerprint of its identity.
    #[serde(deserialize_with = "fields::parsed")]
    pub(crate) fingerprint: Fingerprint,
    /// The address at which it listens, `HOST:PORT`.
    pub(crate) address: Option<String>,
    /// The address at which this party listens for it, `HOST:PORT`. This party then does not
    /// connect.
    pub(crate) listen: Option<String>,
    /// The relay to which both parties connect, `HOST:PORT`, and the name of the room.
    pub(crate) relay: Option<String>,
    #[serde(default, deserialize_with = "fields::room")]
    pub(crate) room: Option<[u8; 32]>,
    /// This party's role with the peer, unless an argument says otherwise.
    #[serde(default, deserialize_with = "fields::role")]
    pub(crate) role: Option<Role>,
    /// The link to the peer, for plans and for the choice of the OT extension.
    #[serde(default, deserialize_with = "fields::parsed_if_given")]
    pub(crate) link: Option<Link>,
}

/// The longest waits for the peer.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timeouts {
    /// The longest wait until the peer is there.
    #[serde(default, deserialize_with = "fields::time")]
    pub(crate) connect: Option<Duration>,
    /// The longest wait for each message.
    #[serde(default, deserialize_with = "fields::time")]
    pub(crate) message: Option<Duration>,
    /// The longest time for a whole run. Without it a run may take any time.
    #[serde(default, deserialize_with = "fields::time")]
    pub(crate) run: Option<Duration>,
}

impl Config {
    /// Reads the configuration in `explicit`, or in the usual place if there is one.
    pub(crate) fn load(explicit: Option<&Path>) -> Result<Self, Failure> {
        let path = file(explicit)?;
        let failed = |reason: String| Failure::config(&path, &reason);
        match fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound && explicit.is_none() => {
                return Ok(Self::default());
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Failure::no_config(&path));
            }
            Err(error) => return Err(failed(error.to_string())),
            Ok(metadata) if metadata.len() > MAX_BYTES => {
                return Err(failed(format!("it is longer than {MAX_BYTES} bytes")));
            }
            Ok(_) => {}
        }
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => failed(format!("it {NOT_TEXT}")),
            _ => failed(error.to_string()),
        })?;
        Self::of_text(&path, &text)
    }

    /// Reads the configuration that the file at `path` has, or gets.
    pub(crate) fn of_text(path: &Path, text: &str) -> Result<Self, Failure> {
        let parsed = Self::parse(text);
        let mut config = parsed.map_err(|reason| Failure::config(path, &reason))?;
        let beside = |file: PathBuf| match path.parent() {
            Some(folder) => folder.join(file),
            None => file,
        };
        config.identity = config.identity.map(beside);
        config.stock.folder = config.stock.folder.map(beside);
        config.stock.witness = config.stock.witness.map(beside);
        if let (Some(serve), Some(folder)) = (&mut config.serve, path.parent()) {
            serve.beside(folder);
        }
        config.home = Some(folder_of(path));
        Ok(config)
    }

    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| words::of(&error, text))
    }
}

/// Returns Tacit's folder in the user's configuration folder (XDG on Linux).
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    let base = etcetera::choose_base_strategy().map_err(|_| Failure::no_home())?;
    Ok(base.config_dir().join("tacit"))
}

/// Returns the path of the configuration file: `explicit`, or the usual place.
pub(crate) fn file(explicit: Option<&Path>) -> Result<PathBuf, Failure> {
    match explicit {
        Some(path) => Ok(path.to_owned()),
        None => Ok(folder()?.join("tacit.toml")),
    }
}

/// Returns the folder of a file.
pub(crate) fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

impl Config {
    /// Returns the peer of this name or fingerprint.
    pub(crate) fn peer(&self, text: &str) -> Option<&Peer> {
        let has_it = |peer: &&Peer| peer.fingerprint.to_string() == text;
        self.peers
            .get(text)
            .or_else(|| self.peers.values().find(has_it))
    }

    /// Returns the name of the peer with this fingerprint.
    pub(crate) fn peer_name(&self, fingerprint: &Fingerprint) -> Option<&str> {
        let mut peers = self.peers.iter();
        let known = peers.find(|(_, peer)| peer.fingerprint == *fingerprint);
        known.map(|(name, _)| name.as_str())
    }

    /// Returns the peer's name, or its fingerprint if it has no name here.
    pub(crate) fn shown(&self, fingerprint: &Fingerprint) -> String {
        let name = self.peer_name(fingerprint).map(str::to_owned);
        name.unwrap_or_else(|| fingerprint.to_string())
    }

    /// Returns the peer's name, or else the first digits of its fingerprint, for people who gave
    /// the fingerprint themselves.
    pub(crate) fn short_name(&self, fingerprint: &Fingerprint) -> String {
        const SHOWN: usize = "tacit:".len() + 12;
        let name = self.peer_name(fingerprint).map(str::to_owned);
        name.unwrap_or_else(|| format!("{}…", &fingerprint.to_string()[..SHOWN]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINGERPRINT: Fingerprint = Fingerprint([7; 32]);

    #[test]
    fn kinds_of_base_ot_have_names() {
        for kind in BaseOt::ALL {
            let config = Config::parse(&format!("base_ot = \"{kind}\"")).unwrap();
            assert_eq!(config.base_ot, Some(kind));
        }
        let refused = Config::parse("base_ot = \"rsa\"").unwrap_err();
        assert!(
            refused.contains("line 1") && refused.contains("ml-kem-768"),
            "{refused}"
        );
    }

    #[test]
    fn ot_extensions_have_names() {
        for extension in OtExtension::NAMED {
            let config = Config::parse(&format!("ot_extension = \"{extension}\"")).unwrap();
            assert_eq!(config.ot_extension, Some(extension));
        }
        let refused = Config::parse("ot_extension = \"noisy\"").unwrap_err();
        assert!(
            refused.contains("line 1") && refused.contains("softspoken-8"),
            "{refused}"
        );
    }

    #[test]
    fn everything_is_optional() {
        let config = Config::parse("").unwrap();
        assert!(config.identity.is_none() && config.peers.is_empty());
        assert!(config.timeouts.connect.is_none() && config.timeouts.message.is_none());
    }

    #[test]
    fn a_whole_file_is_read() {
        let text = format!(
            "identity = \"me.key\"\n[peers.bob]\nfingerprint = \"{FINGERPRINT}\"\n\
             address = \"bob.example:7000\"\nlink = \"33ms,50mbit\"\n[timeouts]\nconnect = \
             \"2m\"\nmessage = \"500ms\"\nrun = \"1m\"\n"
        );
        let config = Config::parse(&text).unwrap();
        assert_eq!(config.identity.as_deref(), Some(Path::new("me.key")));
        assert_eq!(config.peers["bob"].fingerprint, FINGERPRINT);
        assert_eq!(
            config.peers["bob"].address.as_deref(),
            Some("bob.example:7000")
        );
        assert_eq!(config.peers["bob"].link, "33ms,50mbit".parse().ok());
        assert_eq!(config.timeouts.connect, Some(Duration::from_secs(120)));
        assert_eq!(config.timeouts.message, Some(Duration::from_millis(500)));
        assert_eq!(config.timeouts.run, Some(Duration::from_secs(60)));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let cases = [
            ("\nidentify = \"x\"", "line 2", "identify"),
            ("[timeouts]\nmessage = \"soon\"", "line 2", "soon"),
            ("[peers.bob]\nfingerprint = \"tacit:abc\"", "line 2", "56"),
            ("[peers.bob]\naddress = \"x:1\"", "line 1", "fingerprint"),
            ("[peers.bob]\nlink = \"fast\"", "line 2", "DELAY,RATE"),
            ("[peers.bob]\nrole = \"both\"", "line 2", "evaluator"),
            ("[stock]\nlimit_gib = 0", "line 2", "at least 1"),
        ];
        for (text, line, what) in cases {
            let error = Config::parse(text).unwrap_err();
            assert!(
                error.contains(line) && error.contains(what),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn the_schema_lists_the_fields_that_are_read() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let names = |at: &str| -> Vec<String> {
            let object = schema.pointer(at).and_then(|at| at.as_object()).unwrap();
            object.keys().cloned().collect()
        };
        let top = [
            "base_ot",
            "identity",
            "ot_extension",
            "peers",
            "serve",
            "stock",
            "timeouts",
        ];
        assert_eq!(names("/properties"), top);
        assert_eq!(
            names("/$defs/stock/properties"),
            ["folder", "lane", "limit_gib", "witness"]
        );
        let peer = [
            "address",
            "fingerprint",
            "link",
            "listen",
            "relay",
            "role",
            "room",
        ];
        assert_eq!(names("/$defs/peer/properties"), peer);
        assert_eq!(
            names("/$defs/timeouts/properties"),
            ["connect", "message", "run"]
        );
        for (at, table) in [
            ("/$defs/serve/properties", "[serve]"),
            ("/$defs/served/properties", "[[serve.function]]"),
            ("/$defs/site/properties", "[[serve.visitors]]"),
            ("/$defs/stocked/properties", "[[serve.stock]]"),
        ] {
            // The fields that are read are those that the parser's error message expects.
            let error = Config::parse(&format!("{table}\nnothing = 1")).unwrap_err();
            let mut expected: Vec<_> = error.split('`').skip(3).step_by(2).collect();
            expected.sort_unstable();
            assert_eq!(names(at), expected, "{error}");
        }
    }
}
