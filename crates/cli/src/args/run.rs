//! Arguments of `tacit run`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tacit::protocols::{Protocol, ThreatModel};
use tacit::stock::ChainVersion;

use super::party::{MEETING, protocols};
use super::text::{duration, pair, pin, threads};
use super::{FunctionArgs, MeetArgs, StockArgs};

pub(super) const EXAMPLES: &str = "\
Examples, with a party that `tacit pair` has made known:
  tacit run millionaires --with bob --input a=41
  tacit run millionaires --with alice --input b=40
  tacit run gap.tacit --with bob --input a=500      a program, of which both have the same file

Without, one line in each of two terminals (identities from `tacit keygen`):
  tacit run millionaires --role garbler --listen 127.0.0.1:7000 \\
      --identity alice.key --peer BOBS-FINGERPRINT --input a=41
  tacit run millionaires --role evaluator --connect 127.0.0.1:7000 \\
      --identity bob.key --peer ALICES-FINGERPRINT --input b=40

  A secret from a file or from standard input:
  tacit run aes-128 --role garbler … --input key=@key.hex
  secret-tool lookup tacit key | tacit run aes-128 --role garbler … --input key=-

  Values: numbers as 41, -5 or 0x29; byte strings in hexadecimal; bits as 0110, index 0 first;
  bit as 0 or 1; arrays as JSON lists, a text as the list of its bytes: [72,105] for Hi. Quote a
  list with spaces, and in zsh every list: --input 'a=[1, 2]'.
  `tacit inspect` shows each input's type.

  A program of the language has parties with names, and values of its own types: true or false,
  texts as they are, variants by name, structs as JSON, tables as CSV whose first line names \
columns:
  tacit run pay.tacit --as acme … --input staff=@staff.csv --output means=means.csv
  tacit run match.tacit --as bob … --input ids=@customers.csv:id --public limit=10

  A circuit file says neither which party owns an input nor who gets a result:
  tacit run adder64.txt --role garbler … --owner in0=garbler,in1=evaluator \\
      --result out0=both --bit-order as-given --type in0=u64 --type in1=u64 \\
      --type out0=u64 --input in0=41
  It does not say how it numbers bits either, and the wrong --bit-order gives a wrong result.

Arguments show in the list of processes and in your shell's history. A secret that others on this \
machine must not see goes through `name=@FILE`, `name=-` or --input-file.

  With what `tacit prepare` has put in stock, on both sides:
  tacit run aes-128-rounds --protocol prepared …

  A program that keeps a state between runs, on both sides; the state stays garbled:
  tacit run total.tacit --entry start --protocol prepared --chain total …
  tacit run total.tacit --entry spend --protocol prepared --chain total …
  tacit run total.tacit --entry spend --security malicious --chain total …   if a party may cheat

The protocols `direct` and `prepared` are secure against semi-honest parties: both follow the \
protocol. `authenticated` and `batch` are secure against a malicious party. `authenticated` runs \
any function at once; `batch` runs what `tacit prepare --protocol batch` has put in stock and \
nothing else, on both sides:
  tacit run aes-128 --protocol authenticated …
  tacit run aes-128 --protocol batch …
  tacit run aes-128 --security malicious …   batch if it is in stock, else authenticated; refuses \
any protocol that promises less

`tacit inspect` says what a scheme rests on.";

/// What `-h` ends with.
pub(super) const SHORT_EXAMPLES: &str = "\
Examples, with a party that `tacit pair` has made known:
  tacit run millionaires --with bob --input a=41
  tacit run millionaires --with alice --input b=40
  tacit run pay.tacit --as acme --with globex --input staff=@staff.csv

`tacit run --help` has all options, among them those for three parties, and more examples.";

const VALUES: &str = "Inputs and results";
const HOW: &str = "How it is run";
const OF_THREE: &str = "Three parties, and values kept between runs";

/// Arguments of `tacit run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// A program (`.tacit`), a name from the library, or a circuit file
    ///
    /// A circuit file has Bristol Fashion or the old Bristol format.
    pub(crate) function: String,
    #[command(flatten)]
    pub(crate) choice: FunctionArgs,
    /// Which role this party plays
    ///
    /// Garbler or evaluator; under outsourced generator, evaluator or cloud. Without it, the one
    /// that tacit.toml has for the peer.
    #[arg(long, value_enum, help_heading = MEETING)]
    pub(crate) role: Option<RunRoleArg>,
    /// Which party of a program this is, by its name there, in place of --role
    #[arg(long = "as", value_name = "PARTY", conflicts_with = "role", help_heading = MEETING)]
    pub(crate) party: Option<String>,
    #[command(flatten)]
    pub(crate) meet: MeetArgs,
    #[command(flatten)]
    pub(crate) outsourced: OutsourcedArgs,
    /// An input of this party: a value, `@FILE`, `@FILE.csv`, or `-` for standard input
    ///
    /// Of a program also `@FILE.csv`, and `@FILE.csv:COLUMN` for one column. Values in arguments
    /// show in the list of processes.
    #[arg(long = "input", value_name = "NAME=VALUE", help_heading = VALUES)]
    pub(crate) inputs: Vec<String>,
    /// This party's inputs as a JSON object; `-` for standard input
    #[arg(long, value_name = "FILE", help_heading = VALUES)]
    pub(crate) input_file: Option<PathBuf>,
    /// Write an array or a table of a program's results into this new file
    #[arg(long = "output", value_name = "NAME=FILE.csv", value_parser = pair)]
    #[arg(help_heading = VALUES)]
    pub(crate) outputs: Vec<(String, String)>,
    /// The garbling scheme, or an assumption for the best scheme that needs no more;
    /// `tacit inspect` lists both. Unless given, half-gates with the hash that suits the function;
    /// both parties name the same
    #[arg(long, visible_alias = "assumption", value_name = "NAME")]
    #[arg(help_heading = HOW, hide_short_help = true)]
    pub(crate) scheme: Option<String>,
    /// The protocol; all parties name the same
    ///
    /// direct unless given; with --security malicious batch where a checked execution is in stock,
    /// else authenticated; outsourced with --security malicious-non-colluding.
    #[arg(long, value_parser = protocols(&Protocol::ALL), help_heading = HOW)]
    pub(crate) protocol: Option<Protocol>,
    /// What the protocol must withstand: semi-honest or malicious parties
    ///
    /// semi-honest, malicious, or malicious-non-colluding of three parties; a protocol that does
    /// not is refused.
    #[arg(long, value_name = "MODEL", default_value_t = ThreatModel::SemiHonest)]
    #[arg(help_heading = HOW)]
    pub(crate) security: ThreatModel,
    /// Under authenticated: the statistical security, 40 to 64. Under batch: take executions that
    /// were prepared with it. Under outsourced: that of its checks of inputs. 40 unless given
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u8).range(1..=80))]
    #[arg(help_heading = HOW, hide_short_help = true)]
    pub(crate) security_bits: Option<u8>,
    /// Under batch and outsourced: allow fewer --security-bits or --copies than give 40 bits of
    /// statistical security. For measurements: whoever cheats may succeed
    #[arg(long, help_heading = HOW, hide_short_help = true)]
    pub(crate) insecure_for_measurements: bool,
    /// Under batch and outsourced: work on N threads
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN, value_parser = threads)]
    #[arg(help_heading = HOW, hide_short_help = true)]
    pub(crate) threads: NonZeroUsize,
    #[command(flatten)]
    pub(crate) stock: StockArgs,
    /// Longest time for each run, from its first message to its result, such as 10m; without it
    /// only the waits are bounded, each by itself
    #[arg(long, value_name = "TIME", value_parser = duration)]
    #[arg(help_heading = HOW, hide_short_help = true)]
    pub(crate) time_limit: Option<Duration>,
    /// Run N times over one connection, on the same inputs, to measure; both parties say the
    /// same
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = HOW, hide_short_help = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) repeat: u32,
    /// Print what it took: time, bytes, rounds, memory
    #[arg(long, help_heading = VALUES)]
    pub(crate) cost: bool,
    /// Print JSON
    #[arg(long, help_heading = VALUES)]
    pub(crate) json: bool,
    /// No TLS and no identities, on loopback addresses only: for measurements
    #[arg(long, conflicts_with_all = ["identity", "peer", "stock"])]
    #[arg(help_heading = MEETING, hide_short_help = true)]
    pub(crate) plain_loopback: bool,
}

/// A party's role in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunRoleArg {
    /// Makes the garbled circuit and sends it
    Garbler,
    /// Evaluates it; under outsourced a cloud does so for it
    Evaluator,
    /// Under outsourced: the garbler
    Generator,
    /// Under outsourced: does the evaluator's work
    Cloud,
}

/// Who and where the others are under `outsourced`.
#[derive(Debug, Args)]
#[command(next_help_heading = OF_THREE)]
pub(crate) struct OutsourcedArgs {
    /// Under outsourced: the generator's fingerprint, or its name in tacit.toml
    #[arg(long, hide_short_help = true, value_name = "FINGERPRINT|NAME")]
    pub(crate) generator: Option<String>,
    /// Under outsourced: the evaluator's fingerprint, or its name in tacit.toml
    #[arg(long, hide_short_help = true, value_name = "FINGERPRINT|NAME")]
    pub(crate) evaluator: Option<String>,
    /// Under outsourced: the cloud's fingerprint, or its name in tacit.toml
    #[arg(long, hide_short_help = true, value_name = "FINGERPRINT|NAME")]
    pub(crate) cloud: Option<String>,
    /// Under outsourced: where the generator listens; without it, the address in tacit.toml
    #[arg(long, hide_short_help = true, value_name = "HOST:PORT")]
    pub(crate) generator_at: Option<String>,
    /// Under outsourced: where the cloud listens; without it, the address in tacit.toml
    #[arg(long, hide_short_help = true, value_name = "HOST:PORT")]
    pub(crate) cloud_at: Option<String>,
    /// Under outsourced: N circuits, of which the cloud evaluates two fifths and checks the
    /// others; 256 unless given, and 1 for parties that follow the protocol. All three name the
    /// same
    #[arg(long, hide_short_help = true, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) copies: Option<u32>,
    /// Under prepared and authenticated at both parties, under outsourced at generator and cloud:
    /// keep values in the chain of this name; both name the same. A run that saves values and loads
    /// none begins it
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    pub(crate) chain: Option<String>,
    /// Under outsourced, at generator and cloud: who else may use the values of a chain that this
    /// run begins, in addition to its evaluator; once for each, the same at both. `tacit stock
    /// allow` adds more later
    #[arg(long, hide_short_help = true, value_name = "FINGERPRINT|NAME")]
    pub(crate) allow: Vec<String>,
    /// With --chain, at both: let a function that saves a value without loading it discard the one
    /// that the chain keeps
    #[arg(long, hide_short_help = true)]
    pub(crate) replace: bool,
    /// With --chain, and under outsourced at the evaluator: run only if it goes on from this chain
    /// at this version or a later one, as an earlier run printed it
    #[arg(long, hide_short_help = true, value_name = "CHAIN:VERSION", value_parser = pin)]
    pub(crate) pin: Option<ChainVersion>,
}
