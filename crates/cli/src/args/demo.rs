//! Arguments of `tacit demo`.

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  tacit demo
  tacit demo --json";

/// Arguments of `tacit demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
