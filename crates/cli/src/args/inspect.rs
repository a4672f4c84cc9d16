//! Arguments of `tacit inspect`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use tacit::circuit::builder::CircuitForm;
use tacit::protocols::Protocol;

use super::FunctionArgs;
use super::run::protocol;

/// The heading of the options for the output.
const TOLD: &str = "Output";

pub(super) const EXAMPLES: &str = "\
Examples:
  tacit inspect --list
  tacit inspect aes-128
  tacit inspect millionaires --param bits=64
  tacit inspect adder64.txt --type in0=u64 --type in1=u64 --type out0=u64 --bit-order as-given
  tacit inspect auction.tacit           parties, types, ports, meaning and cost of a program
  tacit inspect aes-128 --out aes.txt   the circuit in Bristol Fashion
  tacit inspect auction.tacit --lines   the cost of each line of a program
  tacit inspect table.tacit --protocol gmw   its layers, and the loops that have many";

/// Arguments of `tacit inspect`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what")
    .required(true)
    .args(["function", "list"]))]
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
    /// Print the text that the function's digest covers: inputs, steps that call components,
    /// results
    #[arg(long, conflicts_with_all = ["list", "out", "json"])]
    #[arg(help_heading = TOLD)]
    pub(crate) ir: bool,
    /// Write the circuit into this new file, in Bristol Fashion and in the bit order of
    /// --bit-order. Default: that of byte strings
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    #[arg(help_heading = TOLD)]
    pub(crate) out: Option<PathBuf>,
    /// Print the cost of each line of a program: AND gates with and without those of the functions
    /// that it calls; bytes of tables; bits that go into components
    #[arg(long)]
    #[arg(conflicts_with_all = ["list", "out"])]
    #[arg(help_heading = TOLD)]
    pub(crate) lines: bool,
    /// Compile a program as this protocol runs it. gmw takes the shallow form: more AND gates in
    /// fewer layers, each of which costs a message. The output then also names the layers, and the
    /// loops whose turns wait for each other
    #[arg(long, value_parser = protocol())]
    #[arg(conflicts_with = "list")]
    #[arg(help_heading = TOLD)]
    pub(crate) protocol: Option<Protocol>,
    /// Print JSON
    #[arg(long)]
    #[arg(help_heading = TOLD)]
    pub(crate) json: bool,
}

impl InspectArgs {
    /// Returns the form in which a program's operations are compiled.
    pub(crate) fn form(&self) -> CircuitForm {
        match self.protocol {
            Some(protocol) => protocol.circuit_form(),
            None => CircuitForm::Small,
        }
    }

    /// Returns whether to report what a run over shares costs.
    pub(crate) fn is_over_shares(&self) -> bool {
        self.form() == CircuitForm::Shallow
    }
}
