//! Arguments of `tacit doctor`.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  tacit doctor                  configuration, identity, peers, stock, service and machine
  tacit doctor --with bob       only bob of the peers
  tacit doctor --json           for a program

It changes nothing, and sends nothing to a peer: it opens a connection and closes it. The exit \
code is that of the first failure; warnings do not count.";

/// Arguments of `tacit doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Check only this peer
    #[arg(long = "with", value_name = "NAME")]
    pub(crate) peer: Option<String>,
    /// Check this stock
    #[arg(long, value_name = "DIR")]
    pub(crate) stock: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
