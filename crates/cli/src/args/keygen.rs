//! Arguments of `tacit keygen`.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  tacit keygen                          into tacit/identity.key in your configuration folder
  tacit keygen --out alice.key
  tacit keygen --show alice.key         print its fingerprint again
  tacit keygen --show                   that of the identity which `tacit run` takes

Give the fingerprint to the other party over a way on which nobody can change it. The key file \
itself stays with you: whoever has it can pass for you.";

/// Arguments of `tacit keygen`.
#[derive(Debug, Args)]
pub(crate) struct KeygenArgs {
    /// Where to put the identity; an existing file is never overwritten
    #[arg(long, value_name = "FILE", conflicts_with = "show")]
    pub(crate) out: Option<PathBuf>,
    /// Print the fingerprint of an existing identity; without FILE, of the one that `tacit run`
    /// takes
    #[arg(long, value_name = "FILE")]
    pub(crate) show: Option<Option<PathBuf>>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
