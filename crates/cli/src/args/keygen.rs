//! Arguments of `tacit keygen`.

use std::path::PathBuf;

use std::time::Duration;

use clap::Args;

use super::text::duration;

pub(super) const EXAMPLES: &str = "\
Examples:
  tacit keygen                          into tacit/identity.key in your configuration folder
  tacit keygen --out alice.key
  tacit keygen --show alice.key         print its fingerprint again
  tacit keygen --show                   the fingerprint of the identity that `tacit run` uses
  tacit keygen --for-worker pod-3 --from alice.key --valid 1h --out worker.key

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
    /// Make a key for a worker of this party instead, with this name. Other parties take it for
    /// this party until it expires. It serves runs and matchings without stock and chains
    #[arg(long, value_name = "NAME", requires = "out")]
    pub(crate) for_worker: Option<String>,
    /// With --for-worker: the file with this party's own key. Default: the one `tacit run` uses
    #[arg(long, value_name = "FILE", requires = "for_worker")]
    pub(crate) from: Option<PathBuf>,
    /// With --for-worker: the time for which the key is valid, at most 7 days. Nobody can revoke it
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1h")]
    #[arg(requires = "for_worker")]
    pub(crate) valid: Duration,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
