//! Arguments of `tacit outsource`.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::{Args, Subcommand};
use tacit::outsourced::OutsourcedRole;
use tacit::protocols::{ThreatModel, UnknownThreatModel};
use tacit::stock::ChainVersion;

use super::any_run::{ChainArgs, HOW, InputArgs, KEPT, RunsArgs};
use super::party::SessionArgs;
use super::text::{ALL_CORES, duration, pin, threads};
use super::{FunctionArgs, StockArgs};

const EXAMPLES: &str = "\
Examples, one line at each of three parties that have paired two by two, by `tacit pair`:
  alice$ tacit outsource generator millionaires --cloud carol --evaluator bob --input a=41
  carol$ tacit outsource cloud millionaires --generator alice --evaluator bob
  bob$   tacit outsource evaluator millionaires --generator alice --cloud carol --input b=40

";

const MORE_EXAMPLES: &str = "\
Without pairing, one line in each of three terminals (identities from `tacit keygen`):
  tacit outsource generator millionaires --identity alice.key --listen 127.0.0.1:7000 \\
      --cloud CAROLS-FINGERPRINT --evaluator BOBS-FINGERPRINT --input a=41
  tacit outsource cloud millionaires --identity carol.key --listen 127.0.0.1:7001 \\
      --generator ALICES-FINGERPRINT --generator-at 127.0.0.1:7000 \\
      --evaluator BOBS-FINGERPRINT
  tacit outsource evaluator millionaires --identity bob.key \\
      --generator ALICES-FINGERPRINT --generator-at 127.0.0.1:7000 \\
      --cloud CAROLS-FINGERPRINT --cloud-at 127.0.0.1:7001 --input b=40

  A program that keeps a state between runs; it stays garbled at generator and cloud:
  alice$ tacit outsource generator total.tacit --entry start --chain total …
  carol$ tacit outsource cloud total.tacit --entry start --chain total …
  bob$   tacit outsource evaluator total.tacit --entry start …

The generator has the garbler's inputs and results, the evaluator its own, and the cloud none. The \
runs are secure even if all three are malicious, as long as no two of them work together. If \
all three follow the protocol, each gives --copies 1.

docs/outsourced.md shows generator and cloud as services, by `tacit serve`. `tacit run --help` \
shows how to write values.";

/// Returns the text at the end of `-h`.
pub(super) fn short_examples() -> String {
    const MORE: &str = "\
A program with several runs takes --entry at all three, and one that keeps a state --chain NAME at
generator and cloud. `--help` in place of `-h` has all options, and more examples.";
    EXAMPLES.to_owned() + MORE
}

/// Returns the text at the end of `--help`.
pub(super) fn examples() -> String {
    EXAMPLES.to_owned() + MORE_EXAMPLES
}

const OTHERS: &str = "This party, the others, and how to meet them";

/// The commands of `tacit outsource`, one for each of the three roles.
#[derive(Debug, Subcommand)]
pub(crate) enum OutsourceCommand {
    /// Make the garbled circuits. Both others connect to this party
    #[command(after_help = short_examples(), after_long_help = examples())]
    Generator(Box<GeneratorArgs>),
    /// Do the evaluator's work: evaluate some of the circuits and check the others
    #[command(after_help = short_examples(), after_long_help = examples())]
    Cloud(Box<CloudArgs>),
    /// Give an input and get a result, with little work
    #[command(after_help = short_examples(), after_long_help = examples())]
    Evaluator(Box<EvaluatorArgs>),
}

/// Arguments of `tacit outsource generator`.
#[derive(Debug, Args)]
pub(crate) struct GeneratorArgs {
    #[command(flatten)]
    each: EachArgs,
    /// The cloud: its name in tacit.toml, or its fingerprint
    #[arg(long, value_name = "NAME|FINGERPRINT", help_heading = OTHERS)]
    cloud: String,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    inputs: InputArgs,
}

/// Arguments of `tacit outsource cloud`.
#[derive(Debug, Args)]
pub(crate) struct CloudArgs {
    #[command(flatten)]
    each: EachArgs,
    #[command(flatten)]
    generator: ToGeneratorArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Arguments of `tacit outsource evaluator`.
#[derive(Debug, Args)]
pub(crate) struct EvaluatorArgs {
    #[command(flatten)]
    each: EachArgs,
    #[command(flatten)]
    generator: ToGeneratorArgs,
    /// The cloud: its name in tacit.toml, or its fingerprint
    #[arg(long, value_name = "NAME|FINGERPRINT", help_heading = OTHERS)]
    cloud: String,
    /// The address of the cloud. Default: the one in tacit.toml
    #[arg(long, value_name = "HOST:PORT", help_heading = OTHERS)]
    cloud_at: Option<String>,
    #[command(flatten)]
    inputs: InputArgs,
    /// Run only if generator and cloud continue from this chain, at this version or a later one; an
    /// earlier run printed it
    #[arg(long, value_name = "CHAIN:VERSION", value_parser = pin)]
    #[arg(help_heading = KEPT, hide_short_help = true)]
    pin: Option<ChainVersion>,
}

/// Arguments that all three parties take.
#[derive(Debug, Args)]
pub(crate) struct EachArgs {
    /// A program (`.tacit`), a name from the library, or a circuit file. All three give the same
    ///
    /// A circuit file has Bristol Fashion or the old Bristol format.
    pub(crate) function: String,
    #[command(flatten)]
    pub(crate) choice: FunctionArgs,
    #[command(flatten, next_help_heading = OTHERS)]
    pub(crate) session: SessionArgs,
    /// Longest wait for each other party, and for each message, such as 30s
    ///
    /// Default: 60s for the other parties to be there, and 15m for a message, since they may work
    /// meanwhile.
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = OTHERS)]
    pub(crate) timeout: Option<Duration>,
    /// Make N circuits; the cloud evaluates two fifths and checks the others
    ///
    /// Default: 256. Parties that follow the protocol may give 1. All three give the same.
    #[arg(long, value_name = "N", help_heading = HOW)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) copies: Option<u32>,
    /// Refuse --copies that protect against less than this model: semi-honest or
    /// malicious-non-colluding
    #[arg(long, value_name = "MODEL", value_parser = model)]
    #[arg(help_heading = HOW, hide_short_help = true)]
    pub(crate) security: Option<ThreatModel>,
    /// The statistical security of the checks of inputs. Default: 40. All three give the same
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u8).range(40..=80))]
    #[arg(help_heading = HOW, hide_short_help = true)]
    pub(crate) security_bits: Option<u8>,
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
}

/// Arguments that generator and cloud take.
#[derive(Debug, Args)]
#[command(mut_arg("chain", |chain| chain.hide_short_help(false)))]
pub(crate) struct ServerArgs {
    /// The evaluator: its name in tacit.toml, or its fingerprint
    #[arg(long, value_name = "NAME|FINGERPRINT", help_heading = OTHERS)]
    evaluator: String,
    /// Wait at this address for the parties that connect to this one
    ///
    /// Port 0 takes a free one and prints it. Default: the address in tacit.toml.
    #[arg(long, value_name = "HOST:PORT", help_heading = OTHERS)]
    pub(crate) listen: Option<String>,
    #[command(flatten)]
    pub(crate) chain: ChainArgs,
    /// Let this party, in addition to the evaluator, use the values of a chain that this run
    /// starts; repeat the option for more parties, the same at both servers. `tacit stock allow`
    /// adds more later
    #[arg(long, value_name = "NAME|FINGERPRINT", help_heading = KEPT, hide_short_help = true)]
    pub(crate) allow: Vec<String>,
    #[command(flatten, next_help_heading = KEPT)]
    pub(crate) stock: StockArgs,
    /// Work on N threads
    #[arg(long, value_name = "N", default_value = ALL_CORES, value_parser = threads)]
    #[arg(help_heading = HOW, hide_short_help = true)]
    pub(crate) threads: NonZeroUsize,
}

/// The generator, for the parties that connect to it.
#[derive(Debug, Args)]
#[command(next_help_heading = OTHERS)]
pub(crate) struct ToGeneratorArgs {
    /// The generator: its name in tacit.toml, or its fingerprint
    #[arg(long, value_name = "NAME|FINGERPRINT")]
    generator: String,
    /// The address of the generator. Default: the one in tacit.toml
    #[arg(long, value_name = "HOST:PORT")]
    generator_at: Option<String>,
}

/// The arguments of any of the three roles, in one form.
pub(crate) struct OutsourceArgs<'a> {
    pub(crate) role: OutsourcedRole,
    pub(crate) each: &'a EachArgs,
    /// The other parties, in the order in which this party meets them.
    pub(crate) others: [Other<'a>; 2],
    /// Arguments of the generator and the cloud.
    pub(crate) server: Option<&'a ServerArgs>,
    /// Arguments of the generator and the evaluator.
    pub(crate) inputs: Option<&'a InputArgs>,
    pub(crate) pin: Option<ChainVersion>,
}

/// One of the other two parties.
pub(crate) struct Other<'a> {
    pub(crate) role: OutsourcedRole,
    /// Its name in the configuration, or its fingerprint.
    pub(crate) name: &'a str,
    /// The address at which it listens, if this party connects to it and the address was given.
    pub(crate) at: Option<&'a str>,
}

impl<'a> Other<'a> {
    fn new(role: OutsourcedRole, name: &'a str, at: Option<&'a String>) -> Self {
        let at = at.map(String::as_str);
        Self { role, name, at }
    }
}

impl ServerArgs {
    fn evaluator(&self) -> Other<'_> {
        Other::new(OutsourcedRole::Evaluator, &self.evaluator, None)
    }
}

impl ToGeneratorArgs {
    fn generator(&self) -> Other<'_> {
        let at = self.generator_at.as_ref();
        Other::new(OutsourcedRole::Generator, &self.generator, at)
    }
}

impl OutsourceCommand {
    /// Returns the arguments in one form for the three roles.
    pub(crate) fn given(&self) -> OutsourceArgs<'_> {
        use OutsourcedRole::{Cloud, Evaluator, Generator};
        let cloud = |name, at| Other::new(Cloud, name, at);
        match self {
            Self::Generator(args) => OutsourceArgs {
                role: Generator,
                each: &args.each,
                others: [cloud(&args.cloud, None), args.server.evaluator()],
                server: Some(&args.server),
                inputs: Some(&args.inputs),
                pin: None,
            },
            Self::Cloud(args) => OutsourceArgs {
                role: Cloud,
                each: &args.each,
                others: [args.generator.generator(), args.server.evaluator()],
                server: Some(&args.server),
                inputs: None,
                pin: None,
            },
            Self::Evaluator(args) => OutsourceArgs {
                role: Evaluator,
                each: &args.each,
                others: [
                    args.generator.generator(),
                    cloud(&args.cloud, args.cloud_at.as_ref()),
                ],
                server: None,
                inputs: Some(&args.inputs),
                pin: args.pin,
            },
        }
    }
}

/// Reads a threat model of three parties.
fn model(text: &str) -> Result<ThreatModel, String> {
    match text.parse() {
        Ok(ThreatModel::Malicious) => Err(format!(
            "it is of two parties, by `tacit run`; of three write {}",
            ThreatModel::MaliciousNonColluding
        )),
        parsed => parsed.map_err(|UnknownThreatModel { found, .. }| {
            let [one, other] = [ThreatModel::SemiHonest, ThreatModel::MaliciousNonColluding];
            format!("`{found}` names no threat model; known are {one}, {other}")
        }),
    }
}
