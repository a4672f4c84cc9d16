//! Arguments of `tacit run`.

use std::num::NonZeroUsize;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tacit::protocols::{Protocol, ThreatModel, UnknownProtocol, UnknownThreatModel};
use tacit::stock::ChainVersion;

use super::any_run::{
    ChainArgs, HOW, InputArgs, KEPT, OutputArgs, RowArgs, RunsArgs, ShardArgs, VALUES,
};
use super::party::{MEETING, PartyArgs, named};
use super::text::{ALL_CORES, pin, threads};
use super::{FunctionArgs, GpuArgs, MeetArgs, StockArgs};

pub(super) const EXAMPLES: &str = "\
Examples, with a party that `tacit pair` has made known:
  tacit run millionaires --with bob --input a=41
  tacit run millionaires --with alice --input b=40
  tacit run gap.tacit --with bob --input a=500      a program; both have the same file

Without pairing, one line in each of two terminals (identities from `tacit keygen`):
  tacit run millionaires --role garbler --listen 127.0.0.1:7000 \\
      --identity alice.key --peer BOBS-FINGERPRINT --input a=41
  tacit run millionaires --role evaluator --connect 127.0.0.1:7000 \\
      --identity bob.key --peer ALICES-FINGERPRINT --input b=40

  A secret from a file or from standard input:
  tacit run aes-128 --role garbler … --input key=@key.hex
  secret-tool lookup tacit key | tacit run aes-128 --role garbler … --input key=-

  Values: numbers as 41, -5 or 0x29; byte strings in hexadecimal; bits as 0110, index 0 first;
  bit as 0 or 1; arrays as JSON lists; a text of a circuit file or of the library as a list of
  bytes: [72,105] for Hi. Quote a list with spaces, and in zsh every list: --input 'a=[1, 2]'.
  `tacit inspect` shows each input's type.

  A program of the language has parties with names, and values of its own types: true or false,
  texts as they are, variants by name, structs as JSON, tables as CSV whose first line names \
columns:
  tacit run pay.tacit --as acme … --input staff=@staff.csv --output means=means.csv
  tacit run match.tacit --as bob … --input ids=@customers.csv:id --public limit=10
  A text that begins with @, or is -, is given in a JSON file with --input-file.

  A circuit file does not state who owns an input or gets a result:
  tacit run adder64.txt --role garbler … --owner in0=garbler,in1=evaluator \\
      --result out0=both --bit-order as-given --type in0=u64 --type in1=u64 \\
      --type out0=u64 --input in0=41
  It does not state how it numbers bits either, and a wrong --bit-order gives a wrong result.

Arguments show in the list of processes and in your shell's history. If others on this machine \
must not see an input, give it by `name=@FILE`, `name=-` or --input-file.

  With what `tacit prepare` has put in stock, on both sides:
  tacit run aes-128-rounds --protocol prepared …

  A program that keeps a state between runs, on both sides; the state stays garbled:
  tacit run total.tacit --entry start --protocol prepared --chain total …
  tacit run total.tacit --entry spend --protocol prepared --chain total …
  tacit run total.tacit --entry spend --security malicious --chain total …   if a party may cheat
`tacit outsource` does the same with a third party, a cloud.

The protocols `direct` and `prepared` are secure against semi-honest parties: both follow the \
protocol. `authenticated` and `batch` are secure against a malicious party. `authenticated` runs \
any function at once; `batch` runs only what `tacit prepare --protocol batch` has put in stock, on \
both sides:
  tacit run aes-128 --protocol authenticated …
  tacit run aes-128 --protocol batch …
  tacit run aes-128 --security malicious …   batch if it is in stock, otherwise authenticated; \
refuses any protocol that promises less

`gmw`, also semi-honest, sends less for wide functions over slow links. Programs that join two \
tables run only by it:
  tacit run sums.tacit --as shop --protocol gmw --ot-extension silent …
  tacit run shops.tacit --as shop … --input customers=@customers.csv

`tacit inspect` prints the assumption of a scheme.";

/// The text at the end of `-h`.
pub(super) const SHORT_EXAMPLES: &str = "\
Examples, with a party that `tacit pair` has made known:
  tacit run millionaires --with bob --input a=41
  tacit run millionaires --with alice --input b=40
  tacit run pay.tacit --as acme --with globex --input staff=@staff.csv

`tacit run --help` has all options and more examples.";

/// Arguments of `tacit run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// A program (`.tacit`), a name from the library, or a circuit file
    ///
    /// A circuit file has Bristol Fashion or the old Bristol format.
    pub(crate) function: String,
    #[command(flatten)]
    pub(crate) choice: FunctionArgs,
    #[command(flatten, next_help_heading = MEETING)]
    pub(crate) who: PartyArgs,
    #[command(flatten)]
    pub(crate) meet: MeetArgs,
    #[command(flatten)]
    pub(crate) device: GpuArgs,
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    #[command(flatten, next_help_heading = VALUES)]
    pub(crate) rows: RowArgs,
    #[command(flatten, next_help_heading = VALUES)]
    pub(crate) shard: ShardArgs,
    #[command(flatten, next_help_heading = VALUES)]
    pub(crate) outputs: OutputArgs,
    /// The protocol. Both parties give the same
    ///
    /// Default: direct; gmw for a program that joins tables; with --security malicious, batch if a
    /// checked execution is in stock, otherwise authenticated.
    #[arg(long, value_parser = protocol(), help_heading = HOW)]
    pub(crate) protocol: Option<Protocol>,
    /// The threat model: semi-honest or malicious parties
    ///
    /// A protocol for a weaker model is refused.
    #[arg(long, value_name = "MODEL", default_value_t = ThreatModel::SemiHonest)]
    #[arg(value_parser = model, help_heading = HOW)]
    pub(crate) security: ThreatModel,
    /// Under authenticated: the statistical security, 40 to 64. Under batch: take executions that
    /// were prepared with it. Default: 40
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u8).range(40..=80))]
    #[arg(help_heading = HOW, hide_short_help = true)]
    pub(crate) security_bits: Option<u8>,
    /// Work on N threads: direct, batch and gmw with all of their work, other protocols with their
    /// OTs. If both parties give two or more, long messages go over several connections
    #[arg(long, value_name = "N", default_value = ALL_CORES, value_parser = threads)]
    #[arg(help_heading = HOW, hide_short_help = true)]
    pub(crate) threads: NonZeroUsize,
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
    #[command(flatten)]
    pub(crate) chain: ChainArgs,
    /// With --chain: run only from this chain, at this version or a later one; an earlier run
    /// printed it
    #[arg(long, value_name = "CHAIN:VERSION", value_parser = pin)]
    #[arg(help_heading = KEPT, hide_short_help = true)]
    pub(crate) pin: Option<ChainVersion>,
    #[command(flatten, next_help_heading = KEPT)]
    pub(crate) stock: StockArgs,
    /// Under prepared, authenticated and gmw: take everything from the stock, and fail if it has
    /// too little
    #[arg(long, conflicts_with_all = ["chain", "plain_loopback"])]
    #[arg(help_heading = KEPT, hide_short_help = true)]
    pub(crate) require_stock: bool,
    /// No TLS and no identities, on loopback addresses only: for measurements
    #[arg(long, conflicts_with_all = ["identity", "peer", "stock"])]
    #[arg(help_heading = MEETING, hide_short_help = true)]
    pub(crate) plain_loopback: bool,
}

/// The error text for a protocol or a threat model of three parties.
const OF_THREE: &str = "it is for three parties; each runs `tacit outsource` with its role, \
                        `generator`, `cloud` or `evaluator`";

/// Reads a protocol of two parties by its name. Help lists them.
pub(super) fn protocol() -> impl TypedValueParser<Value = Protocol> {
    let three = Protocol::Outsourced;
    // The protocol also has the name of its command as an alias.
    let command = "outsource";
    let hidden = PossibleValue::new(three.name()).alias(command).hide(true);
    let values = Protocol::between_two().map(named).chain([hidden]);
    PossibleValuesParser::new(values).try_map(move |name| match name.parse() {
        Ok(protocol) if protocol == three => Err(OF_THREE.to_owned()),
        Err(_) if name == command => Err(OF_THREE.to_owned()),
        parsed => parsed.map_err(|error: UnknownProtocol| error.to_string()),
    })
}

/// Reads a threat model of two parties.
pub(super) fn model(text: &str) -> Result<ThreatModel, String> {
    match text.parse() {
        Ok(ThreatModel::MaliciousNonColluding) => Err(OF_THREE.to_owned()),
        parsed => parsed.map_err(|UnknownThreatModel { found, .. }| {
            let [semi_honest, malicious] = [ThreatModel::SemiHonest, ThreatModel::Malicious];
            format!("`{found}` names no threat model; known are {semi_honest}, {malicious}")
        }),
    }
}
