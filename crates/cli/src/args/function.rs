//! Arguments that choose a function, and those that a circuit file lacks.

use clap::Args;
use tacit::circuit::formats::BitOrder;

use super::text::pair;

/// The function, from the library or from a file.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "What the function is")]
pub(crate) struct FunctionArgs {
    /// A parameter of the function; `tacit inspect` shows them
    #[arg(long = "param", value_name = "NAME=VALUE", value_delimiter = ',', value_parser = pair)]
    pub(crate) params: Vec<(String, String)>,
    /// The owner of an input: garbler or evaluator
    #[arg(long = "owner", value_name = "INPUT=PARTY", value_delimiter = ',', value_parser = pair)]
    #[arg(hide_short_help = true)]
    pub(crate) owners: Vec<(String, String)>,
    /// The recipient of a result: garbler, evaluator or both
    #[arg(long = "result", value_name = "RESULT=WHO", value_delimiter = ',', value_parser = pair)]
    #[arg(hide_short_help = true)]
    pub(crate) results: Vec<(String, String)>,
    /// Read a port of a circuit file as this type, of the same width: in0=bytes[16], in1=u64. Both
    /// parties give the same
    #[arg(long = "type", value_name = "PORT=TYPE", value_parser = pair, hide_short_help = true)]
    pub(crate) types: Vec<(String, String)>,
    /// A public input of a program, the same at both parties: a value or `@FILE`
    #[arg(long = "public", value_name = "NAME=VALUE")]
    pub(crate) public: Vec<String>,
    /// The run of a program of the language. Default: `main`
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    /// The order of the bits in a circuit file's values, relative to Tacit's order: as-given,
    /// reversed-bytes, reversed-bits or reversed. Default: reversed-bytes, for public Bristol
    /// Fashion files of ciphers and hashes. Those of arithmetic need as-given
    #[arg(long, value_name = "ORDER", hide_short_help = true)]
    pub(crate) bit_order: Option<BitOrder>,
}

impl FunctionArgs {
    /// Returns the same choice without a bit order, for commands where that is the order of a file
    /// to be written.
    pub(crate) fn without_bit_order(&self) -> Self {
        Self {
            bit_order: None,
            ..self.clone()
        }
    }
}
