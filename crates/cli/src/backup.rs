//! `tacit backup` and `tacit restore`: the state that may come back, and the state that never does.
//!
//! | part | in the backup | why |
//! |---|---|---|
//! | `tacit.toml`: peers, policy, service | yes | it is no secret state |
//! | the identity | yes | it is the same for ever |
//! | counts of tries | yes; the greater of both counts | a count that falls lets a peer try again |
//! | counts of answered keys | likewise | a count that falls lets a peer ask about as many more |
//! | stocks | their names | a copy gives material again that was used since |
//! | chains of kept values | their names | a copy cannot tell how far the chain went on. Only the peer knows, and a peer that lies would have masks used twice |

mod file;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tacit::Identity;
use tacit::stock::{StockError, Stocks};

use crate::args::{BackupArgs, RestoreArgs};
use crate::config::{self, Config};
use crate::failure::{Failure, input, usage};
use crate::new_file::{Readers, write_new};
use crate::output::{self, counted};
use crate::{party, stock};
use file::{Backup, LeftOut, file_bytes, read, read_secret};

/// Returns a peer's name and fingerprint.
fn peer_shown(peer: &str, config: &Config) -> String {
    let named = peer
        .parse()
        .ok()
        .map(|peer| config.shown(&peer).to_string());
    named.unwrap_or_else(|| peer.to_owned())
}

/// Returns the numbers of records in words.
fn records(backup: &Backup) -> String {
    let tries = counted(backup.tries.len(), "record");
    let answered = counted(backup.answered.len(), "record");
    format!("{tries} of tries, {answered} of answered keys")
}

/// Returns the stocks and chains in the folder that cannot come back, and the errors of those of
/// which not even the peer is known.
fn left_out(stocks: &Stocks) -> Result<(Vec<LeftOut>, Vec<tacit::Error>), Failure> {
    let (names, mut failures) = stocks.list_each()?;
    let (chains, unreadable) = stocks.chains_by_peer()?;
    failures.extend(unreadable.into_iter().filter(|error| !is_foreign(error)));
    let mut left_out: Vec<_> = names.iter().map(LeftOut::stock).collect();
    left_out.extend(chains.iter().map(LeftOut::chain));
    left_out.extend(stocks.foreign_chains()?.iter().map(LeftOut::foreign));
    left_out.sort();
    Ok((left_out, failures))
}

/// Whether these are chains of another version of the format, which can be destroyed as a whole.
fn is_foreign(error: &tacit::Error) -> bool {
    let tacit::Error::Stock(error) = error else {
        return false;
    };
    matches!(**error, StockError::Incompatible { .. })
}

/// Runs `tacit backup`.
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
    let fingerprint = party::own_identity(&key)?.fingerprint();
    let identity = read_secret(&key)?;
    let stocks = stock::open(args.stock.as_deref(), &config)?;
    let backup = Backup::of(&fingerprint, text, &stocks)?;
    write_new(&args.out, Readers::Owner, |file| {
        let written = file.write_all(&file_bytes(&backup, &identity));
        written.map_err(|error| Failure::write(&args.out, &error))
    })?;
    if args.json {
        return output::print_json(json!({
            "out": args.out.to_string_lossy(),
            "fingerprint": backup.fingerprint,
            "tries": backup.tries.len(),
            "answered": backup.answered.len(),
            "left_out": backup.left_out,
        }));
    }
    let mut told = format!(
        "wrote {}: {}, the identity {fingerprint}, {}\n",
        args.out.display(),
        path.display(),
        records(&backup),
    );
    for left in &backup.left_out {
        told += &format!("left out  {}\n", left.text(&config));
    }
    output::print(told)
}

/// Runs `tacit restore`.
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
    // The report needs what is destroyed below.
    if let Some(error) = unreadable.into_iter().next() {
        return Err(error.into());
    }
    let retired = retire(&stocks)?;
    for saved in &backup.tries {
        stocks.raise_tries(&saved.name, saved.record)?;
    }
    for saved in &backup.answered {
        stocks.raise_answered(&saved.0)?;
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
    if args.json {
        output::print_json(restored.json())
    } else {
        output::print(restored.text(&config))
    }
}

/// Returns whether the file is there with this content.
fn is_there(path: &Path, content: &str) -> Result<bool, Failure> {
    match path.try_exists() {
        Ok(false) => Ok(false),
        Ok(true) if read_secret(path)?.as_str() == content => Ok(true),
        Ok(true) => Err(usage!(
            "{} is there, and differs from the backup's. Nothing was restored", path.display();
            "move it away, or give another --config"
        )),
        Err(error) => Err(Failure::read(path.display().to_string(), error)),
    }
}

/// Destroys all stocks and chains of the folder that can be read, and those of another version.
/// Returns what they were.
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
    for chains in &stocks.foreign_chains()? {
        stocks.remove_foreign_chains(chains)?;
        retired.push(LeftOut::foreign(chains));
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
        let records = records(self.backup);
        let mut told = format!("restored {path}, {key} with {own}, and {records}\n");
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

    fn json(&self) -> Json {
        let own = &self.backup.fingerprint;
        let dropped = self.dropped.iter().map(|left| {
            let mut json = json!(left);
            json["at_peer"] = left.at_peer(own).into();
            json
        });
        let [path, key] = self.files.map(|file| file.to_string_lossy());
        json!({
            "config": path,
            "identity": key,
            "fingerprint": own,
            "tries": self.backup.tries.len(),
            "answered": self.backup.answered.len(),
            "dropped": dropped.collect::<Vec<_>>(),
        })
    }
}
