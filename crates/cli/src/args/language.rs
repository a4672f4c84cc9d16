//! Arguments of `tacit check`, `tacit test`, `tacit eval` and `tacit fmt`.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use super::any_run::{OutputArgs, RowArgs};
use super::text::{pair, refused};

pub(super) const CHECK_EXAMPLES: &str = "\
Examples:
  tacit check auction.tacit                 its errors, their places and remedies
  tacit check auction.tacit --param LOTS=3

Exits with 0 if there is no error, otherwise with 3.";

pub(super) const TEST_EXAMPLES: &str = "\
Examples:
  tacit test auction.tacit                  each test on fresh states, on this machine

Each test runs twice: in the clear, and by the function that two parties would run. It passes if \
both agree and its assertions hold. Exits with 0 if all pass, otherwise with 3.";

pub(super) const EVAL_EXAMPLES: &str = "\
Examples:
  tacit eval auction.tacit --input bid=7 --input offer=5
  tacit eval pay.tacit --input a=@acme.csv --input b=@globex.csv

Give all inputs: those of both parties and the public ones. Nothing is secret; the command is for \
trying a program out.";

pub(super) const FMT_EXAMPLES: &str = "\
Examples:
  tacit fmt auction.tacit                   formats the file
  tacit fmt --check *.tacit                 lists files in another format, and writes nothing

It changes spaces, indents and empty lines, but no line breaks. Exits with 0, or with 3 if --check \
finds such a file or a file has errors.";

/// Arguments of `tacit check` and `tacit test`.
#[derive(Debug, Args)]
pub(crate) struct ProgramArgs {
    /// Programs of the language
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A param of the program; others have their defaults
    #[arg(long = "param", value_name = "NAME=VALUE", value_delimiter = ',', value_parser = pair)]
    pub(crate) params: Vec<(String, String)>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The hint in place of `--public`, a flag for two parties that agree on the value.
const PUBLIC_INPUT: &str = "here --input gives all inputs, public ones too";

/// Arguments of `tacit eval`.
#[derive(Debug, Args)]
#[command(arg = refused("public", ArgAction::Append, PUBLIC_INPUT))]
pub(crate) struct EvalArgs {
    /// A program of the language
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A param of the program; others have their defaults
    #[arg(long = "param", value_name = "NAME=VALUE", value_delimiter = ',', value_parser = pair)]
    pub(crate) params: Vec<(String, String)>,
    /// The run of the program. Default: `main`
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
    pub(crate) rows: RowArgs,
    #[command(flatten)]
    pub(crate) outputs: OutputArgs,
    /// The seed of the program's random values
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
    /// Write nothing; fail if a file has another format
    #[arg(long)]
    pub(crate) check: bool,
}
