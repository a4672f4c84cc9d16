//! Arguments of `tacit check`, `tacit test`, `tacit eval` and `tacit fmt`.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use super::any_run::OutputArgs;
use super::text::{pair, refused};

pub(super) const CHECK_EXAMPLES: &str = "\
Examples:
  tacit check auction.tacit                 many errors in one go, with their places and what to do
  tacit check auction.tacit --param LOTS=3

Exits with 0 if there is none, else with 3.";

pub(super) const TEST_EXAMPLES: &str = "\
Examples:
  tacit test auction.tacit                  each test on fresh states, on this machine alone

Each run of a test is made twice, in the clear and by the function that two parties would run; a \
test passes if both agree and its assertions hold. Exits with 0 if all pass, else with 3.";

pub(super) const EVAL_EXAMPLES: &str = "\
Examples:
  tacit eval auction.tacit --input bid=7 --input offer=5
  tacit eval pay.tacit --input a=@acme.csv --input b=@globex.csv

All inputs are given, those of both parties and those that are public, and nothing is secret: it \
is to try a program out.";

pub(super) const FMT_EXAMPLES: &str = "\
Examples:
  tacit fmt auction.tacit                   writes the file in the one format
  tacit fmt --check *.tacit                 says which files are not in it, and writes nothing

Spaces, indents and empty lines change; lines stay where they were broken. Exits with 0, or \
with 3 if --check finds such a file or a file has errors.";

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

/// What to give in place of `--public`, which is for two parties that agree on it.
const PUBLIC_INPUT: &str = "here all inputs are given by --input, public ones too";

/// Arguments of `tacit eval`.
#[derive(Debug, Args)]
#[command(arg = refused("public", ArgAction::Append, PUBLIC_INPUT))]
pub(crate) struct EvalArgs {
    /// A program of the language
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A param of the program; those that are left out have their defaults
    #[arg(long = "param", value_name = "NAME=VALUE", value_delimiter = ',', value_parser = pair)]
    pub(crate) params: Vec<(String, String)>,
    /// Which run of the program; `main` unless given
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    /// An input of any party: a value, `@FILE`, `@FILE.csv`, `@FILE.csv:COLUMN`, or `-` for
    /// standard input
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// Inputs as a JSON object of names and values; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) input_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) outputs: OutputArgs,
    /// What the program draws at random comes from this number
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,
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
