//! The file of a backup: a line of JSON, a line with the identity in hexadecimal digits, and a line
//! with the SHA-256 of both. Nothing in it is encrypted.
//!
//! The identity is read and written in memory that is wiped and that never grows, so that no copy
//! of it stays behind.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tacit::stock::{
    AnsweredKeys, ForeignChains, KeptChain, Lanes, StockName, Stocks, Tried, TryName, TryRecord,
};
use tacit::{Fingerprint, Role};
use tacit_serve::reading::read_wiped;
use zeroize::Zeroizing;

use super::peer_shown;
use crate::config::Config;
use crate::failure::{Failure, input};
use crate::stock;

/// The longest backup that is read.
const MAX_BYTES: u64 = 64 << 20;

/// The version of the file's form.
const VERSION: u32 = 2;

/// The content of a backup, except for the identity.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Backup {
    tacit_backup: u32,
    pub(super) fingerprint: String,
    pub(super) config: String,
    pub(super) tries: Vec<SavedTries>,
    /// The keys that peers were told about on the last day.
    pub(super) answered: Vec<SavedKeys>,
    /// The stocks and chains that the backup leaves out, for the report of a restore.
    pub(super) left_out: Vec<LeftOut>,
}

/// A record of tries.
#[derive(Deserialize, Serialize)]
pub(super) struct SavedTries {
    #[serde(flatten, with = "SavedName")]
    pub(super) name: TryName,
    #[serde(flatten, with = "SavedRecord")]
    pub(super) record: TryRecord,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "TryName")]
struct SavedName {
    #[serde(with = "text")]
    own: Fingerprint,
    #[serde(with = "text")]
    peer: Fingerprint,
    #[serde(with = "SavedRole")]
    role: Role,
    #[serde(rename = "protocol", with = "SavedTried")]
    tried: Tried,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "Role", rename_all = "lowercase")]
enum SavedRole {
    Garbler,
    Evaluator,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "Tried", rename_all = "lowercase")]
enum SavedTried {
    #[serde(rename = "batch")]
    Batches,
    Authenticated,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "TryRecord")]
struct SavedRecord {
    unfinished: u64,
    cheats: u64,
    clearings: u64,
}

/// A count of answered keys.
#[derive(Deserialize, Serialize)]
pub(super) struct SavedKeys(#[serde(with = "SavedAnswered")] pub(super) AnsweredKeys);

#[derive(Deserialize, Serialize)]
#[serde(remote = "AnsweredKeys")]
struct SavedAnswered {
    #[serde(with = "text")]
    own: Fingerprint,
    #[serde(with = "text")]
    peer: Fingerprint,
    day: u64,
    keys: u64,
}

/// Fingerprints as texts.
mod text {
    use serde::{Deserialize as _, Deserializer, Serializer};
    use tacit::Fingerprint;

    pub(super) fn serialize<S: Serializer>(who: &Fingerprint, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(who)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Fingerprint, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Backup {
    /// Returns the backup of what the configuration and the stocks have.
    pub(super) fn of(
        fingerprint: &Fingerprint,
        config: String,
        stocks: &Stocks,
    ) -> Result<Self, Failure> {
        Ok(Self {
            tacit_backup: VERSION,
            fingerprint: fingerprint.to_string(),
            config,
            tries: stocks
                .tries()?
                .into_iter()
                .map(|(name, record)| SavedTries { name, record })
                .collect(),
            answered: stocks.all_answered()?.into_iter().map(SavedKeys).collect(),
            left_out: super::left_out(stocks)?.0,
        })
    }
}

/// A stock or a chain that a backup does not contain.
#[derive(Clone, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LeftOut {
    pub(super) peer: String,
    role: String,
    /// The scheme of a stock, or the protocol of a chain.
    of: String,
    chain: Option<String>,
    /// The lanes of both parties, where they have any.
    #[serde(default)]
    own_lane: Option<String>,
    #[serde(default)]
    peer_lane: Option<String>,
}

impl LeftOut {
    fn of(peer: &Fingerprint, role: Role, lanes: &Lanes, of: String) -> Self {
        Self {
            peer: peer.to_string(),
            role: role.name().to_owned(),
            of,
            chain: None,
            own_lane: stock::shown_lane(lanes.own),
            peer_lane: stock::shown_lane(lanes.peer),
        }
    }

    pub(super) fn stock(name: &StockName) -> Self {
        Self::of(&name.peer, name.role, &name.lanes, name.scheme.to_string())
    }

    pub(super) fn chain(chain: &KeptChain) -> Self {
        let of = chain.protocol.name().to_owned();
        Self {
            chain: Some(chain.summary.name.clone()),
            ..Self::of(&chain.peer, chain.role, &chain.lanes, of)
        }
    }

    /// Chains of another version of the format, which have no names here.
    pub(super) fn foreign(chains: &ForeignChains) -> Self {
        let of = format!("{}, chains of another version", chains.protocol.name());
        Self::of(&chains.peer, chains.role, &chains.lanes, of)
    }

    pub(super) fn text(&self, config: &Config) -> String {
        let peer = peer_shown(&self.peer, config);
        let mut text = match &self.chain {
            None => format!("the stock with {peer} as {} under {}", self.role, self.of),
            Some(name) => format!(
                "the chain {name} of {} with {peer} as {}",
                self.of, self.role
            ),
        };
        if let Some(lane) = &self.peer_lane {
            text += &format!(", its lane {lane}");
        }
        if let Some(lane) = &self.own_lane {
            text += &format!(", own lane {lane}");
        }
        text
    }

    /// Returns what the peer runs, so that both can go on. Without a lane it would destroy what the
    /// peer has with all of this party's processes.
    pub(super) fn at_peer(&self, own: &str) -> String {
        let mut command = match &self.chain {
            None => format!("tacit stock new-epoch --end-chains --peer {own}"),
            Some(name) => format!("tacit stock drop-chain {name} --peer {own}"),
        };
        if let Some(lane) = &self.own_lane {
            command += &format!(" --lane {lane}");
        }
        command
    }
}

/// Reads a file that has an identity.
pub(super) fn read_secret(path: &Path) -> Result<Zeroizing<String>, Failure> {
    let failed = |error| Failure::read(path.display().to_string(), error);
    let file = fs::File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let bytes = read_wiped(file, length, MAX_BYTES).map_err(failed)?;
    text_of(bytes).ok_or_else(|| input!("{} is not text", path.display(); "give another file"))
}

/// Returns the bytes as text, in the same memory.
fn text_of(mut bytes: Zeroizing<Vec<u8>>) -> Option<Zeroizing<String>> {
    match String::from_utf8(std::mem::take(&mut *bytes)) {
        Ok(text) => Some(Zeroizing::new(text)),
        Err(error) => {
            drop(Zeroizing::new(error.into_bytes()));
            None
        }
    }
}

/// Returns the bytes of the file. Anybody who reads them has the identity: nothing is encrypted,
/// and the checksum has no key.
pub(super) fn file_bytes(backup: &Backup, identity: &str) -> Zeroizing<Vec<u8>> {
    let content = json!(backup).to_string();
    let digits = hexadecimal(identity.as_bytes());
    let mut bytes = Zeroizing::new(Vec::with_capacity(content.len() + digits.len() + 80));
    for line in [content.as_bytes(), &digits] {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    let hash = Sha256::digest(&*bytes);
    bytes.extend_from_slice(&hexadecimal(&hash));
    bytes.push(b'\n');
    bytes
}

/// Reads a backup.
pub(super) fn read(path: &Path) -> Result<(Backup, Zeroizing<String>), Failure> {
    let failed = |error| Failure::read(path.display().to_string(), error);
    let file = fs::File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    opened(file, length, path)
}

/// Reads a backup of about this length from `file`, which is at `path`.
fn opened(
    file: impl Read,
    length: u64,
    path: &Path,
) -> Result<(Backup, Zeroizing<String>), Failure> {
    let bytes = read_wiped(file, length, MAX_BYTES);
    let bytes = bytes.map_err(|error| Failure::read(path.display().to_string(), error))?;
    let shown = path.display();
    let damaged = || {
        input!(
            "{shown} is no whole backup";
            "give a file that `tacit backup` has written, unchanged"
        )
    };
    let mut lines = bytes
        .strip_suffix(b"\n")
        .ok_or_else(damaged)?
        .rsplitn(3, |byte| *byte == b'\n');
    let (Some(hash), Some(identity), Some(content)) = (lines.next(), lines.next(), lines.next())
    else {
        return Err(damaged());
    };
    let found = Sha256::digest(&bytes[..content.len() + identity.len() + 2]);
    if *hexadecimal(&found) != *hash {
        return Err(damaged());
    }
    let backup: serde_json::Value = serde_json::from_slice(content).map_err(|_| damaged())?;
    let version = &backup["tacit_backup"];
    if *version != json!(VERSION) {
        return Err(input!(
            "{shown} is a backup of version {version}, and this is for version {VERSION}";
            "restore it with the release that has written it"
        ));
    }
    let backup: Backup = serde_json::from_value(backup).map_err(|_| damaged())?;
    let identity = bytes_of(identity).and_then(text_of).ok_or_else(damaged)?;
    Ok((backup, identity))
}

/// Returns the bytes in hexadecimal digits, in memory of the right size.
fn hexadecimal(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut digits = Zeroizing::new(Vec::with_capacity(2 * bytes.len()));
    // Without a table, since the bytes are secret.
    let digit = |value: u8| b'0' + value + u8::from(value > 9) * (b'a' - b'0' - 10);
    digits.extend(
        bytes
            .iter()
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]),
    );
    digits
}

/// Returns the bytes of hexadecimal digits, in memory of the right size, if they are such.
fn bytes_of(digits: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let value = |digit: u8| (digit & 15) + 9 * (digit >> 6 & 1);
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    let mut bytes = Zeroizing::new(Vec::with_capacity(pairs.len()));
    bytes.extend(
        pairs
            .iter()
            .map(|[high, low]| value(*high) << 4 | value(*low)),
    );
    (*hexadecimal(&bytes) == *digits).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use tacit_kernels::leftovers::watch;

    use super::*;

    const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\"\\k7Jq0Zr5wT1vXy9B2dLmNc4GhQ8sPfUe\n";

    fn backup() -> Backup {
        Backup {
            tacit_backup: VERSION,
            fingerprint: "f".repeat(64),
            config: "# a\n".repeat(3000),
            tries: Vec::new(),
            answered: Vec::new(),
            left_out: Vec::new(),
        }
    }

    #[test]
    fn records_have_the_fields_of_the_files_version() {
        let [own, peer] = [1, 2].map(|party| Fingerprint([party; 32]));
        let name = TryName {
            own,
            peer,
            role: Role::Evaluator,
            tried: Tried::Batches,
        };
        let record = TryRecord {
            unfinished: 3,
            cheats: 4,
            clearings: 5,
        };
        let saved = json!({
            "own": own.to_string(), "peer": peer.to_string(), "role": "evaluator",
            "protocol": "batch", "unfinished": 3, "cheats": 4, "clearings": 5,
        });
        assert_eq!(json!(SavedTries { name, record }), saved);
        let read: SavedTries = serde_json::from_value(saved).expect("a record");
        assert_eq!((read.name, read.record), (name, record));
        let (day, keys) = (6, 7);
        let answered = AnsweredKeys {
            own,
            peer,
            day,
            keys,
        };
        let saved =
            json!({ "own": own.to_string(), "peer": peer.to_string(), "day": 6, "keys": 7 });
        assert_eq!(json!(SavedKeys(answered)), saved);
        let read: SavedKeys = serde_json::from_value(saved).expect("a record");
        assert_eq!(read.0, answered);
    }

    #[test]
    fn a_backup_is_read_as_it_was_written_and_not_changed() {
        let bytes = file_bytes(&backup(), KEY);
        let at = Path::new("alice.backup");
        let read = |bytes: &[u8]| opened(bytes, 0, at).map(|(backup, key)| (backup.config, key));
        let (config, key) = read(&bytes).expect("a backup");
        assert_eq!((config, key.as_str()), (backup().config, KEY));
        for place in [0, 20, bytes.len() - 300, bytes.len() - 100, bytes.len() - 2] {
            let mut changed = bytes.to_vec();
            changed[place] ^= 1;
            assert!(read(&changed).is_err(), "{place}");
            assert!(read(&bytes[..place]).is_err(), "{place}");
        }
        let older = json!({ "tacit_backup": 1 }).to_string() + "\n\n";
        let hash = hexadecimal(&Sha256::digest(&older));
        let older = [older.as_bytes(), &hash, b"\n"].concat();
        let refused = read(&older).expect_err("of version 1");
        assert!(refused.to_string().contains("version 1"), "{refused}");
    }

    #[test]
    fn a_backup_leaves_no_copy_of_the_key_in_freed_memory() {
        let secrets = [
            KEY.as_bytes().to_vec(),
            hexadecimal(KEY.as_bytes()).to_vec(),
        ];
        let folder = tempfile::TempDir::new().expect("a folder");
        let [key, file] = ["alice.key", "alice.backup"].map(|name| folder.path().join(name));
        fs::write(&key, KEY).expect("room");
        let backup = backup();
        let ((), memory) = watch(|| {
            let identity = read_secret(&key).expect("a file");
            fs::write(&file, file_bytes(&backup, &identity)).expect("room");
            let (_, restored) = read(&file).expect("a backup");
            assert_eq!(restored.as_str(), KEY);
        });
        for secret in secrets {
            // The middle of it: what is copied in parts counts as well.
            assert_eq!(memory.freed(&secret[20..40]), 0);
        }
    }
}
