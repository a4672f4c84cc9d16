//! Arguments of `tacit check`, `tacit test` and `tacit fmt`.

use std::path::PathBuf;

use clap::Args;

use super::text::pair;

pub(super) const CHECK_EXAMPLES: &str = "\
Examples:
  tacit check auction.tacit                 every error in one go, with its place and what to do
  tacit check auction.tacit --param LOTS=3";

pub(super) const TEST_EXAMPLES: &str = "\
Examples:
  tacit test auction.tacit                  each test on fresh states, on this machine alone

Each run of a test is made twice, in the clear and by the function that two parties would run; a \
test passes if both agree and its assertions hold.";

pub(super) const FMT_EXAMPLES: &str = "\
Examples:
  tacit fmt auction.tacit                   writes the file in the one format
  tacit fmt --check *.tacit                 says which files are not in it, and writes nothing";

/// Arguments of `tacit check` and `tacit test`.
#[derive(Debug, Args)]
pub(crate) struct ProgramArgs {
    /// Programs of the language
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A param of the program; those that are left out have their defaults
    #[arg(long = "param", value_name = "NAME=VALUE", value_delimiter = ',', value_parser = pair)]
    pub(crate) params: Vec<(String, String)>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `tacit fmt`.
#[derive(Debug, Args)]
pub(crate) struct FmtArgs {
    /// Programs of the language
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write nothing; fail if a file is not in the format
    #[arg(long)]
    pub(crate) check: bool,
}
