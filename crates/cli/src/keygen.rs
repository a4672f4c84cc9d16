//! `tacit keygen`: makes an identity, or shows the fingerprint of one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use tacit::net::NetError;
use tacit::{Identity, WorkerTerms};

use crate::args::KeygenArgs;
use crate::config::{self, Config};
use crate::failure::Failure;
use crate::output;
use crate::party;

/// Runs the command.
pub(crate) fn keygen(args: &KeygenArgs, config: Option<&Path>) -> Result<(), Failure> {
    if let Some(name) = &args.for_worker {
        return worker(args, name, config);
    }
    let (path, identity) = match &args.show {
        Some(given) => {
            let path = party::identity_path(given.as_ref(), &Config::load(config)?)?;
            let identity = Identity::load(&path).map_err(tacit::Error::from)?;
            (path, identity)
        }
        None => {
            let path = match &args.out {
                Some(path) => path.clone(),
                None => usual(config)?,
            };
            let identity = make(&path)?;
            (path, identity)
        }
    };
    let fingerprint = identity.fingerprint();
    if args.json {
        return print_json(&path, &identity);
    }
    if args.show.is_none() {
        eprintln!(
            "Made an identity in {} (mode 0600; never give it away).",
            path.display()
        );
        eprintln!("Give the other party this fingerprint over a channel nobody can tamper with:");
    }
    if let Some(worker) = identity.worker() {
        eprintln!(
            "The key of the worker {}, of the party with this fingerprint:",
            worker.name()
        );
    }
    output::print(format!("{fingerprint}\n"))
}

fn print_json(path: &Path, identity: &Identity) -> Result<(), Failure> {
    let worker = identity.worker();
    output::print_json(json!({
        "identity": path.display().to_string(),
        "fingerprint": identity.fingerprint().to_string(),
        "worker": worker.map(|worker| json!({
            "name": worker.name(), "valid_until_s": worker.until_s(),
        })),
    }))
}

/// Makes a key for a worker.
fn worker(args: &KeygenArgs, name: &str, config: Option<&Path>) -> Result<(), Failure> {
    let given = args.from.as_ref();
    let party = match given {
        Some(path) => party::own_identity(path)?,
        None => party::own_identity(&party::identity_path(None, &Config::load(config)?)?)?,
    };
    let terms = WorkerTerms::new(name, party::now_s(), args.valid);
    let terms = terms.map_err(NetError::from).map_err(tacit::Error::from)?;
    let worker = party.for_worker(&terms).map_err(tacit::Error::from)?;
    let path = args
        .out
        .as_deref()
        .unwrap_or_else(|| Path::new("worker.key"));
    worker.save(path).map_err(tacit::Error::from)?;
    if args.json {
        return print_json(path, &worker);
    }
    eprintln!(
        "Made a key for the worker {name} in {} (mode 0600). A thief who has it can act \
         as this party until it expires.",
        path.display()
    );
    output::print(format!("{}\n", worker.fingerprint()))
}

/// Returns the usual path, next to the configuration. Makes the folder if it does not exist.
fn usual(config: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = config::folder_of(&config::file(config)?);
    fs::create_dir_all(&folder).map_err(|error| Failure::write(&folder, &error))?;
    Ok(party::default_path(&folder))
}

/// Makes an identity in a new file at `path`.
pub(crate) fn make(path: &Path) -> Result<Identity, Failure> {
    let identity = Identity::generate().map_err(tacit::Error::from)?;
    identity.save(path).map_err(tacit::Error::from)?;
    Ok(identity)
}
