//! `tacit backup` and `tacit restore`: what may come back, and what never does.
//!
//! | part | in the backup | why |
//! |---|---|---|
//! | `tacit.toml`: peers, policy, service | yes | it is no secret state |
//! | the identity | yes | it is the same for ever |
//! | counts of tries | yes; the greater of both counts | a count that falls lets a peer try again |
//! | stocks | their names | a copy gives material again that was used since |
//! | chains of kept values | their names | a copy cannot tell how far the chain went on. Only the peer knows, and a peer that lies would have masks used twice |

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tacit::circuit::wipe_json;
use tacit::stock::{KeptChain, StockName, Stocks, Tried, TryName, TryRecord};
use tacit::{Fingerprint, Identity, Role};
use zeroize::Zeroizing;

use crate::args::{BackupArgs, RestoreArgs};
use crate::config::{self, Config};
use crate::failure::{Failure, input, usage};
use crate::new_file::{Readers, write_new};
use crate::output::{self, counted};
use crate::report::{JSON_VERSION, pretty};
use crate::{party, stock};

/// The longest backup that is read.
const MAX_BYTES: u64 = 64 << 20;

/// The version of the file's form.
const VERSION: u32 = 1;

/// The content of a backup, except for the identity.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Backup {
    tacit_backup: u32,
    fingerprint: String,
    config: String,
    tries: Vec<SavedTries>,
    /// What the stocks and chains were, for the report of a restore.
    left_out: Vec<LeftOut>,
}

/// A record of tries.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct SavedTries {
    own: String,
    peer: String,
    role: String,
    protocol: String,
    unfinished: u64,
    cheats: u64,
    clearings: u64,
}

/// A stock or a chain that a backup does not contain.
#[derive(Clone, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(deny_unknown_fields)]
struct LeftOut {
    peer: String,
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
    fn stock(name: &StockName) -> Self {
        Self {
            peer: name.peer.to_string(),
            role: name.role.name().to_owned(),
            of: name.scheme.to_string(),
            chain: None,
            own_lane: stock::shown_lane(name.lanes.own),
            peer_lane: stock::shown_lane(name.lanes.peer),
        }
    }

    fn chain(chain: &KeptChain) -> Self {
        Self {
            peer: chain.peer.to_string(),
            role: chain.role.name().to_owned(),
            of: chain.protocol.name().to_owned(),
            chain: Some(chain.summary.name.clone()),
            own_lane: stock::shown_lane(chain.lanes.own),
            peer_lane: stock::shown_lane(chain.lanes.peer),
        }
    }

    fn text(&self, config: &Config) -> String {
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
    fn at_peer(&self, own: &str) -> String {
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

/// Returns a peer's name and fingerprint.
fn peer_shown(peer: &str, config: &Config) -> String {
    let named = peer
        .parse()
        .ok()
        .map(|peer| config.shown(&peer).to_string());
    named.unwrap_or_else(|| peer.to_owned())
}

/// Returns the stocks and chains in the folder that cannot come back, and the errors of those that
/// cannot be read.
///
/// # Errors
///
/// The folder cannot be read.
fn left_out(stocks: &Stocks) -> Result<(Vec<LeftOut>, Vec<tacit::Error>), Failure> {
    let (names, mut failures) = stocks.list_each()?;
    let (chains, unreadable) = stocks.chains_by_peer()?;
    failures.extend(unreadable);
    let stocks = names.iter().map(LeftOut::stock);
    let mut left_out: Vec<_> = stocks.chain(chains.iter().map(LeftOut::chain)).collect();
    left_out.sort();
    Ok((left_out, failures))
}

/// Runs `tacit backup`.
///
/// # Errors
///
/// There is no configuration or identity, or the file exists or cannot be written.
pub(crate) fn backup(args: &BackupArgs, config: Option<&Path>) -> Result<(), Failure> {
    let path = config::file(config)?;
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Failure::no_config(&path));
        }
        Err(error) => return Err(Failure::read(path.display().to_string(), error)),
    };
    let config = Config::load(Some(&path))?;
    let key = party::identity_path(None, &config)?;
    let fingerprint = Identity::load(&key)
        .map_err(tacit::Error::from)?
        .fingerprint();
    let identity = fs::read_to_string(&key)
        .map_err(|error| Failure::read(key.display().to_string(), error))?;
    let identity = Zeroizing::new(identity);
    let stocks = stock::open(args.stock.as_deref(), &config)?;
    let tries = stocks
        .tries()?
        .into_iter()
        .map(|(name, record)| SavedTries {
            own: name.own.to_string(),
            peer: name.peer.to_string(),
            role: name.role.name().to_owned(),
            protocol: tried_name(name.tried).to_owned(),
            unfinished: record.unfinished,
            cheats: record.cheats,
            clearings: record.clearings,
        });
    let backup = Backup {
        tacit_backup: VERSION,
        fingerprint: fingerprint.to_string(),
        config: text,
        tries: tries.collect(),
        left_out: left_out(&stocks)?.0,
    };
    write_new(&args.out, Readers::Owner, |file| {
        let written = file.write_all(&sealed(&backup, &identity));
        written.map_err(|error| Failure::write(&args.out, &error))
    })?;
    if args.json {
        let json = json!({
            "version": JSON_VERSION,
            "out": args.out.to_string_lossy(),
            "fingerprint": backup.fingerprint,
            "tries": backup.tries.len(),
            "left_out": backup.left_out,
        });
        return output::print(pretty(&json).as_bytes());
    }
    let mut told = format!(
        "wrote {}: {}, the identity {fingerprint}, {} of tries\n",
        args.out.display(),
        path.display(),
        counted(backup.tries.len(), "record"),
    );
    for left in &backup.left_out {
        told += &format!("left out  {}\n", left.text(&config));
    }
    output::print(told.as_bytes())
}

/// Returns the bytes of the file: the content as one line of JSON, the identity as a JSON text, and
/// the hash of both lines.
fn sealed(backup: &Backup, identity: &str) -> Zeroizing<Vec<u8>> {
    let content = json!(backup).to_string();
    let json = json!(identity);
    let quoted = Zeroizing::new(json.to_string());
    wipe_json(json);
    let mut hash = Sha256::new();
    let mut bytes = Zeroizing::new(Vec::with_capacity(content.len() + quoted.len() + 80));
    for line in [&content, &*quoted] {
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    hash.update(&*bytes);
    let hash = hash.finalize();
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.extend_from_slice(hash.as_bytes());
    bytes.push(b'\n');
    bytes
}

/// Reads a backup.
///
/// # Errors
///
/// The file cannot be read, is damaged or cut, or is of another version.
fn read(path: &Path) -> Result<(Backup, Zeroizing<String>), Failure> {
    let failed = |error| Failure::read(path.display().to_string(), error);
    let mut text = Zeroizing::new(String::new());
    let file = fs::File::open(path).map_err(failed)?;
    let read = file.take(MAX_BYTES).read_to_string(&mut text);
    read.map_err(failed)?;
    let shown = path.display();
    let damaged = || {
        input!(
            "{shown} is no whole backup";
            "give a file that `tacit backup` has written, unchanged"
        )
    };
    let (lines, hash) = text
        .trim_end_matches('\n')
        .rsplit_once('\n')
        .ok_or_else(damaged)?;
    let found = Sha256::new()
        .chain_update(lines)
        .chain_update(b"\n")
        .finalize();
    let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
    let (content, identity) = lines.split_once('\n').ok_or_else(damaged)?;
    if found != hash {
        return Err(damaged());
    }
    let backup: Backup = serde_json::from_str(content).map_err(|_| damaged())?;
    if backup.tacit_backup != VERSION {
        return Err(input!(
            "{shown} is a backup of version {}, and this is for version {VERSION}",
            backup.tacit_backup;
            "restore it with the release that has written it"
        ));
    }
    let identity: String = serde_json::from_str(identity).map_err(|_| damaged())?;
    Ok((backup, Zeroizing::new(identity)))
}

/// Runs `tacit restore`.
///
/// # Errors
///
/// The backup is damaged, another file is in the way, or the stock's folder has something that a
/// restore does not bring back.
pub(crate) fn restore(args: &RestoreArgs, config: Option<&Path>) -> Result<(), Failure> {
    let (backup, identity) = read(&args.file)?;
    let path = config::file(config)?;
    let folder = config::folder_of(&path);
    fs::create_dir_all(&folder).map_err(|error| Failure::write(&folder, &error))?;
    let config = Config::of_text(&path, &backup.config)?;
    let key = config.identity.clone();
    let key = key.unwrap_or_else(|| party::default_path(&folder));
    let files = [
        (&path, backup.config.as_str(), Readers::All),
        (&key, identity.as_str(), Readers::Owner),
    ];
    for (path, content, _) in &files {
        is_there(path, content)?;
    }
    let stocks = stock::open(args.stock.as_deref(), &config)?;
    let (found, unreadable) = left_out(&stocks)?;
    if !found.is_empty() && !args.retire {
        let what: Vec<_> = found.iter().map(|left| left.text(&config)).collect();
        return Err(usage!(
            "the folder of stocks is not empty, and whatever of it came from a copy must not be \
             used: {}. Nothing was restored", what.join(", ");
            "give --retire, which destroys all of it; or another folder by --stock, or in \
             tacit.toml"
        ));
    }
    let retired = retire(&stocks)?;
    if let Some(error) = unreadable.into_iter().next() {
        return Err(error.into());
    }
    for saved in &backup.tries {
        let (name, record) = saved.parse(&args.file)?;
        stocks.raise_tries(&name, record)?;
    }
    for (path, content, readers) in files {
        if !is_there(path, content)? {
            write_new(path, readers, |file| {
                let written = file.write_all(content.as_bytes());
                written.map_err(|error| Failure::write(path, &error))
            })?;
        }
    }
    let loaded = Identity::load(&key).map_err(tacit::Error::from)?;
    if loaded.fingerprint().to_string() != backup.fingerprint {
        return Err(input!(
            "{} is not the identity {}", key.display(), backup.fingerprint;
            "restore an earlier backup"
        ));
    }
    let mut dropped = [backup.left_out.clone(), retired].concat();
    dropped.sort();
    dropped.dedup();
    let restored = Restored {
        backup: &backup,
        files: [&path, &key],
        dropped: &dropped,
    };
    match args.json {
        true => output::print(restored.json().as_bytes()),
        false => output::print(restored.text(&config).as_bytes()),
    }
}

/// Returns whether the file is there with this content.
///
/// # Errors
///
/// It is there with another.
fn is_there(path: &Path, content: &str) -> Result<bool, Failure> {
    match fs::read(path).map(Zeroizing::new) {
        Ok(found) if *found == content.as_bytes() => Ok(true),
        Ok(_) => Err(usage!(
            "{} is there, and differs from the backup's. Nothing was restored", path.display();
            "move it away, or give another --config"
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Failure::read(path.display().to_string(), error)),
    }
}

/// Destroys all stocks and chains of the folder that can be read. Returns what they were.
fn retire(stocks: &Stocks) -> Result<Vec<LeftOut>, Failure> {
    let mut retired = Vec::new();
    for name in &stocks.list_each()?.0 {
        stocks.end_epoch(name)?;
        retired.push(LeftOut::stock(name));
    }
    for chain in &stocks.chains_by_peer()?.0 {
        stocks.drop_chain(chain)?;
        retired.push(LeftOut::chain(chain));
    }
    Ok(retired)
}

/// The report of a restore.
struct Restored<'a> {
    backup: &'a Backup,
    files: [&'a PathBuf; 2],
    dropped: &'a [LeftOut],
}

impl Restored<'_> {
    fn text(&self, config: &Config) -> String {
        let own = &self.backup.fingerprint;
        let [path, key] = self.files.map(|file| file.display());
        let tries = counted(self.backup.tries.len(), "record");
        let mut told = format!("restored {path}, {key} with {own}, and {tries} of tries\n");
        for left in self.dropped {
            let peer = peer_shown(&left.peer, config);
            let (left, command) = (left.text(config), left.at_peer(own));
            told += &format!("dropped  {left}; at {peer} run `{command}`\n");
        }
        if !self.dropped.is_empty() {
            told +=
                "Until a peer has done so, runs from its stock, and of its chains, are refused.\n";
        }
        told
    }

    fn json(&self) -> String {
        let own = &self.backup.fingerprint;
        let dropped = self.dropped.iter().map(|left| {
            let mut json = json!(left);
            json["at_peer"] = left.at_peer(own).into();
            json
        });
        let [path, key] = self.files.map(|file| file.to_string_lossy());
        pretty(&json!({
            "version": JSON_VERSION,
            "config": path,
            "identity": key,
            "fingerprint": own,
            "tries": self.backup.tries.len(),
            "dropped": dropped.collect::<Vec<_>>(),
        }))
    }
}

fn tried_name(tried: Tried) -> &'static str {
    match tried {
        Tried::Batches => "batch",
        Tried::Authenticated => "authenticated",
    }
}

impl SavedTries {
    fn parse(&self, file: &Path) -> Result<(TryName, TryRecord), Failure> {
        let invalid =
            || input!("{} has an invalid record of tries", file.display(); "use another backup");
        let party = |text: &str| text.parse::<Fingerprint>().map_err(|_| invalid());
        let role = [Role::Garbler, Role::Evaluator];
        let role = role.into_iter().find(|role| role.name() == self.role);
        let tried = [Tried::Batches, Tried::Authenticated];
        let tried = tried
            .into_iter()
            .find(|tried| tried_name(*tried) == self.protocol);
        let name = TryName {
            own: party(&self.own)?,
            peer: party(&self.peer)?,
            role: role.ok_or_else(invalid)?,
            tried: tried.ok_or_else(invalid)?,
        };
        let record = TryRecord {
            unfinished: self.unfinished,
            cheats: self.cheats,
            clearings: self.clearings,
        };
        Ok((name, record))
    }
}
