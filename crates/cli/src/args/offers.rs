//! Arguments of `tacit offers`.

use clap::Args;

use super::party::MeetArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  tacit offers --with alice             what her service offers this party
  tacit offers --with alice --json      the same as JSON, with the digest of each function";

/// Arguments of `tacit offers`.
#[derive(Debug, Args)]
pub(crate) struct OffersArgs {
    #[command(flatten)]
    pub(crate) meet: MeetArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
