//! Arguments of `tacit inspect`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::FunctionArgs;

/// The heading of what is told of it.
const TOLD: &str = "What is told";

pub(super) const EXAMPLES: &str = "\
Examples:
  tacit inspect --list
  tacit inspect aes-128
  tacit inspect millionaires --param bits=64
  tacit inspect adder64.txt --type in0=u64 --type in1=u64 --type out0=u64 --bit-order as-given
  tacit inspect auction.tacit           parties, types, ports, meaning and cost of a program
  tacit inspect levenshtein --param n=8,m=8 --svg levenshtein.svg
  tacit inspect adder64.txt --optimise --out smaller.txt
  tacit inspect aes-128 --out aes.txt   the circuit in Bristol Fashion
  tacit inspect auction.tacit --lines   what each line of a program costs
  tacit inspect --check circuits/       public circuit files against known answers";

/// Arguments of `tacit inspect`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what")
    .required(true)
    .args(["function", "list", "check"]))]
pub(crate) struct InspectArgs {
    /// A program of the language (`.tacit`), a name from the library, or a circuit file
    /// (Bristol Fashion or the old Bristol format)
    pub(crate) function: Option<String>,
    #[command(flatten)]
    pub(crate) choice: FunctionArgs,
    /// List the library
    #[arg(long)]
    #[arg(help_heading = TOLD)]
    pub(crate) list: bool,
    /// Check the public circuit files in a folder against known answers and list their digests
    #[arg(long, value_name = "DIR")]
    #[arg(help_heading = TOLD)]
    pub(crate) check: Option<PathBuf>,
    /// Draw the function's graph into this new file, as SVG: calls, who owns what they read,
    /// results
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "check", "optimise"])]
    #[arg(help_heading = TOLD)]
    pub(crate) svg: Option<PathBuf>,
    /// Print the function's graph as text: components and how often each is called, and the steps
    #[arg(long, conflicts_with_all = ["list", "check", "optimise", "json"])]
    #[arg(help_heading = TOLD)]
    pub(crate) graph: bool,
    /// Print the function as its digest takes it: inputs, steps that call components, results.
    /// Nothing reads this text
    #[arg(long, conflicts_with_all = ["list", "check", "optimise", "graph", "svg"])]
    #[arg(conflicts_with_all = ["out", "json"])]
    #[arg(help_heading = TOLD)]
    pub(crate) ir: bool,
    /// Make the circuit smaller without changing what it computes, and say what each pass gained.
    /// The result is another circuit with another digest, so that a run with it needs it on both
    /// sides
    #[arg(long, conflicts_with_all = ["list", "check"])]
    #[arg(help_heading = TOLD)]
    pub(crate) optimise: bool,
    /// Write the circuit, optimised if that is asked for, into this new file, in Bristol Fashion
    /// and in the bit order that --bit-order says, or that of byte strings
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "check"])]
    #[arg(help_heading = TOLD)]
    pub(crate) out: Option<PathBuf>,
    /// Print what each line of a program costs: AND gates, those of the functions that it calls
    /// among them, and of itself alone; bytes of tables; bits that go into components
    #[arg(long)]
    #[arg(conflicts_with_all = ["list", "check", "optimise", "graph", "svg", "out"])]
    #[arg(help_heading = TOLD)]
    pub(crate) lines: bool,
    /// Write the AND gates of each line of a program and of the calls that lead to it into this new
    /// file, as the folded stacks from which tools draw flame graphs
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["list", "check", "optimise", "graph", "svg", "out"])]
    #[arg(help_heading = TOLD)]
    pub(crate) folded: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    #[arg(help_heading = TOLD)]
    pub(crate) json: bool,
}
