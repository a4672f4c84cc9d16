//! `tacit keygen`: makes an identity, or shows the fingerprint of one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use tacit::Identity;

use crate::args::KeygenArgs;
use crate::config::{self, Config};
use crate::failure::Failure;
use crate::output;
use crate::party;

/// Runs the command.
pub(crate) fn keygen(args: &KeygenArgs, config: Option<&Path>) -> Result<(), Failure> {
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
        return output::print_json(json!({
            "identity": path.display().to_string(),
            "fingerprint": fingerprint.to_string(),
        }));
    }
    if args.show.is_none() {
        eprintln!(
            "Made an identity in {} (mode 0600; never give it away).",
            path.display()
        );
        eprintln!("Give the other party this fingerprint over a channel nobody can tamper with:");
    }
    output::print(format!("{fingerprint}\n"))
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
