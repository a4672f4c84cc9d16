//! Arguments of `tacit keygen`.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  tacit keygen                          into tacit/identity.key in your configuration folder
  tacit keygen --out alice.key
  tacit keygen --show alice.key         print its fingerprint again
  tacit keygen --show                   the fingerprint of the identity that `tacit run` uses

Give the fingerprint to the other party over a channel that nobody can tamper with. Keep the key \
file secret: anyone who has it can impersonate you.";

/// Arguments of `tacit keygen`.
#[derive(Debug, Args)]
pub(crate) struct KeygenArgs {
    /// The file for the new identity; an existing file is never overwritten
    #[arg(long, value_name = "FILE", conflicts_with = "show")]
    pub(crate) out: Option<PathBuf>,
    /// Print the fingerprint of an existing identity. Without FILE: of the one that `tacit run`
    /// uses
    #[arg(long, value_name = "FILE")]
    pub(crate) show: Option<Option<PathBuf>>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
