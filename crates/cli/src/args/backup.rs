//! Arguments of `tacit backup` and `tacit restore`.

use std::path::PathBuf;

use clap::Args;

pub(super) const BACKUP_EXAMPLES: &str = "\
Examples:
  tacit backup --out alice.backup
  tacit backup --out alice.backup --config /etc/tacit/tacit.toml

It contains tacit.toml with the peers and the policy, the identity, and two counts for each peer: \
tries that it did not finish, and keys that it was told about on its last day. It lists prepared \
material and chains of kept values, but does not contain them, since a restored copy would be used \
a second time. Keep the file as secret as the identity.";

pub(super) const RESTORE_EXAMPLES: &str = "\
Examples:
  tacit restore alice.backup
  tacit restore alice.backup --config /etc/tacit/tacit.toml
  tacit restore alice.backup --retire     also destroy a folder of stocks that came from a copy

It replaces no file: move tacit.toml and the identity away if they differ from the backup's. It \
prints what each peer must do.";

/// Arguments of `tacit backup`.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// Write this file, which must not exist; only you may read it
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// The folder of this party's stocks. Default: the one in tacit.toml, or tacit/stock in your
    /// data folder
    #[arg(long, value_name = "DIR")]
    pub(crate) stock: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `tacit restore`.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// A file that `tacit backup` has written
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The folder of this party's stocks. Default: the one in tacit.toml, or tacit/stock in your
    /// data folder
    #[arg(long, value_name = "DIR")]
    pub(crate) stock: Option<PathBuf>,
    /// Destroy all stocks and chains in that folder: they came back from a copy
    #[arg(long)]
    pub(crate) retire: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
