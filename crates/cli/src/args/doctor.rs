//! Arguments of `tacit doctor`.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  tacit doctor                  configuration, identity, peers, stock, service and machine
  tacit doctor --with bob       of the peers bob alone
  tacit doctor --json           for a program

It changes nothing, and sends nothing to a peer: it opens a connection and closes it. The exit \
code is \
that of the first failure; a warning is none.";

/// Arguments of `tacit doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Look at this peer alone
    #[arg(long = "with", value_name = "NAME")]
    pub(crate) peer: Option<String>,
    /// Look at this stock
    #[arg(long, value_name = "DIR")]
    pub(crate) stock: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
