//! The commands, their arguments and their help.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use tacit::formats::BitOrder;
use tacit::plan::ThreatModel;
use tacit::{BaseOt, OtExtension, Role};

use crate::bench::BenchArgs;
use crate::plan::PlanArgs;

const ABOUT: &str = "\
Tacit lets two parties compute a function of their private inputs and learn only its result.

Each party runs `tacit run` on its own machine: one as the garbler, who makes the garbled circuit, \
the other as the evaluator. They know each other by the fingerprints of their identities, which \
they exchange beforehand over a way they trust.";

const EXAMPLES: &str = "\
Examples:
  tacit demo                            see it work: both parties on this machine
  tacit inspect --list                  the functions that come with Tacit
  tacit inspect millionaires            what a function takes, gives and costs
  tacit plan aes-128 --link 33ms,50mbit how to run it over a link, and what to prepare
  tacit keygen --out alice.key          make an identity

Exit codes: 0 done, 2 usage, 3 input, 4 the peer misbehaved, 5 the parties want different things, \
6 network, 7 stock, 130 cancelled.";

const DEMO_EXAMPLES: &str = "\
Examples:
  tacit demo
  tacit demo --json";

const KEYGEN_EXAMPLES: &str = "\
Examples:
  tacit keygen                          into tacit/identity.key in your configuration folder
  tacit keygen --out alice.key
  tacit keygen --show alice.key         print its fingerprint again

Give the fingerprint to the other party over a way on which nobody can change it. The key file \
itself stays with you: whoever has it can pass for you.";

const INSPECT_EXAMPLES: &str = "\
Examples:
  tacit inspect --list
  tacit inspect aes-128
  tacit inspect millionaires --param bits=64
  tacit inspect adder64.txt --type in0=u64 --type in1=u64 --type out0=u64 --bit-order as-given
  tacit inspect levenshtein --param n=8,m=8 --svg levenshtein.svg
  tacit inspect adder64.txt --optimise --out smaller.txt
  tacit inspect aes-128 --out aes.txt   the circuit in Bristol Fashion
  tacit inspect --check circuits/       public circuit files against known answers";

const RUN_EXAMPLES: &str = "\
Examples, one line in each of two terminals (identities from `tacit keygen`):
  tacit run millionaires --role garbler --listen 127.0.0.1:7000 \\
      --identity alice.key --peer BOBS-FINGERPRINT --input a=41
  tacit run millionaires --role evaluator --connect 127.0.0.1:7000 \\
      --identity bob.key --peer ALICES-FINGERPRINT --input b=40

  A secret from a file or from standard input:
  tacit run aes-128 --role garbler … --input key=@key.hex
  secret-tool lookup tacit key | tacit run aes-128 --role garbler … --input key=-

  Values: numbers as 41, -5 or 0x29; byte strings in hexadecimal; bits as 0110, index 0 first;
  bit as 0 or 1; arrays as JSON lists. `tacit inspect` shows each input's type.

  A circuit file says neither whose an input is nor who gets a result:
  tacit run adder64.txt --role garbler … --owner in0=garbler,in1=evaluator \\
      --result out0=both --bit-order as-given --type in0=u64 --type in1=u64 \\
      --type out0=u64 --input in0=41
  It does not say how it numbers bits either, and the wrong --bit-order gives a wrong result.

Arguments show in the list of processes and in your shell's history. A secret that others on this \
machine must not see goes through `name=@FILE`, `name=-` or --input-file.

  With what `tacit prepare` has put in stock, on both sides:
  tacit run aes-128-rounds --protocol prepared …

The protocols `direct` and `prepared` are secure against semi-honest parties: both follow the \
protocol. `batch` is secure against a malicious party; it runs what `tacit prepare --protocol batch` \
has put in stock and nothing else, on both sides:
  tacit run aes-128 --protocol batch …
  tacit run aes-128 --security malicious …   the same; refuses any protocol that promises less

`tacit inspect` says what a scheme rests on.";

const PREPARE_EXAMPLES: &str = "\
Examples, one line in each of two terminals:
  tacit prepare aes-128-rounds --runs 20 --role garbler --listen 127.0.0.1:7000 \\
      --identity alice.key --peer BOBS-FINGERPRINT
  tacit prepare aes-128-rounds --runs 20 --role evaluator --connect 127.0.0.1:7000 \\
      --identity bob.key --peer ALICES-FINGERPRINT

  Components, whatever they will serve:
  tacit prepare --component aes-round@900 --component xor@100 --ots 12800 --role garbler …

Both parties order the same. What is in stock already counts, so that the same command fills up \
what was used, and goes on where it was cut. Nothing in stock is used twice.

  Executions that are secure against a malicious party, for one function:
  tacit prepare aes-128 --protocol batch --runs 128 --threads 2 --role garbler …

A batch is prepared and checked as a whole, and costs less a run the larger it is. One that is cut, \
or in which a check fails, is dropped at both parties, and the next attempt begins anew.";

const SERVE_EXAMPLES: &str = "\
Examples:
  tacit serve --check                   is [serve] in tacit.toml right?
  tacit serve
  tacit serve --log json
  kill -HUP PID                         read tacit.toml again; a wrong one is not taken
  curl http://127.0.0.1:9464/metrics    what it has done; /health says whether it accepts peers

SIGTERM and Ctrl-C stop it: runs get some time to end, and the second signal ends it at once. \
docs/operate.md shows a configuration and a systemd unit; docs/outsourced.md, two servers.";

const STOCK_EXAMPLES: &str = "\
Examples:
  tacit stock list
  tacit stock list --peer bob --json
  tacit stock check
  tacit stock drop aes-128-rounds/round --peer bob
  tacit stock new-epoch --peer bob";

/// The `tacit` command.
#[derive(Debug, Parser)]
#[command(name = "tacit", version, about = "Secure two-party computation", long_about = ABOUT)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Tell each step on standard error; twice for more. Never tells a secret
    #[arg(short, long, global = true, display_order = 998, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Read this configuration instead of tacit/tacit.toml in your configuration folder
    #[arg(long, global = true, display_order = 999, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// What `tacit` does.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Both parties on this machine, over TLS: AES-128 and a comparison, checked
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// Make an identity and print the fingerprint that the other party needs
    #[command(after_help = KEYGEN_EXAMPLES)]
    Keygen(KeygenArgs),
    /// What a function takes, gives, costs and rests on
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
    /// Which protocol, scheme and cut of a function cost least over a link, and why
    #[command(after_help = crate::plan::EXAMPLES)]
    Plan(Box<PlanArgs>),
    /// Run a function with a peer, each party on its own private inputs
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Garble components with a peer before function and inputs are known, and keep them
    #[command(after_help = PREPARE_EXAMPLES)]
    Prepare(Box<PrepareArgs>),
    /// Answer the functions in tacit.toml for many peers, and keep the stock filled
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// What is in stock, whether it is whole, and how to begin anew
    #[command(after_help = STOCK_EXAMPLES)]
    Stock(StockCommandArgs),
    /// Measure this machine: kernels, schemes, oblivious transfer, whole functions
    #[command(after_help = crate::bench::EXAMPLES)]
    Bench(BenchArgs),
    /// One of the two parties that `bench` measures; tasks on standard input
    #[command(hide = true)]
    BenchParty,
    /// The configuration file
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the man page, or write the pages of all commands into a folder
    Man {
        /// Write every page into this folder
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}

impl Command {
    /// Whether the caller wants JSON.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::Demo(args) => args.json,
            Self::Keygen(args) => args.json,
            Self::Inspect(args) => args.json,
            Self::Plan(args) => args.json,
            Self::Run(args) => args.json,
            Self::Prepare(args) => args.json,
            Self::Stock(args) => args.json,
            // Records are lines of their own.
            Self::Bench(_) | Self::BenchParty => false,
            // Events are lines of their own.
            Self::Serve(_) => false,
            Self::Config { .. } | Self::Completions { .. } | Self::Man { .. } => false,
        }
    }
}

/// What `tacit config` does.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the JSON schema of tacit.toml
    Schema,
    /// Print where tacit.toml is looked for and what was read from it
    Show,
}

/// Arguments of `tacit demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `tacit keygen`.
#[derive(Debug, Args)]
pub(crate) struct KeygenArgs {
    /// Where to put the identity; an existing file is never overwritten
    #[arg(long, value_name = "FILE", conflicts_with = "show")]
    pub(crate) out: Option<PathBuf>,
    /// Print the fingerprint of an existing identity
    #[arg(long, value_name = "FILE")]
    pub(crate) show: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which function: from the library or from a file.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FunctionArgs {
    /// A parameter of a function; `tacit inspect --list` shows those of the library
    #[arg(long = "param", value_name = "NAME=VALUE", value_delimiter = ',', value_parser = pair)]
    pub(crate) params: Vec<(String, String)>,
    /// Whose an input is: garbler or evaluator
    #[arg(long = "owner", value_name = "INPUT=PARTY", value_delimiter = ',', value_parser = pair)]
    pub(crate) owners: Vec<(String, String)>,
    /// Who gets a result: garbler, evaluator or both
    #[arg(long = "result", value_name = "RESULT=WHO", value_delimiter = ',', value_parser = pair)]
    pub(crate) results: Vec<(String, String)>,
    /// Read a port of a circuit file as this type, of the same width: in0=bytes[16], in1=u64. Both
    /// parties say the same
    #[arg(long = "type", value_name = "PORT=TYPE", value_parser = pair)]
    pub(crate) types: Vec<(String, String)>,
    /// How a circuit file numbers the bits of its values, seen from Tacit's numbering: as-given,
    /// reversed-bytes, reversed-bits or reversed. Public Bristol Fashion files of ciphers and
    /// hashes have reversed-bytes, which is the default; those of arithmetic have as-given
    #[arg(long, value_name = "ORDER")]
    pub(crate) bit_order: Option<BitOrder>,
}

impl FunctionArgs {
    /// The same where the bit order is that of a file to be written.
    pub(crate) fn without_bit_order(&self) -> Self {
        Self {
            bit_order: None,
            ..self.clone()
        }
    }
}

/// Arguments of `tacit inspect`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["function", "list", "check"]))]
pub(crate) struct InspectArgs {
    /// A name from the library, a function file (JSON), or a circuit file (Bristol Fashion or the
    /// old Bristol format)
    pub(crate) function: Option<String>,
    #[command(flatten)]
    pub(crate) choice: FunctionArgs,
    /// List the library
    #[arg(long)]
    pub(crate) list: bool,
    /// Check the public circuit files in a folder against known answers and list their digests
    #[arg(long, value_name = "DIR")]
    pub(crate) check: Option<PathBuf>,
    /// Draw the function's graph into this new file, as SVG: calls, who owns what they read, results
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "check", "optimise"])]
    pub(crate) svg: Option<PathBuf>,
    /// Print the function's graph as text: components and how often each is called, and the steps
    #[arg(long, conflicts_with_all = ["list", "check", "optimise", "json"])]
    pub(crate) graph: bool,
    /// Make the circuit smaller without changing what it computes, and say what each pass gained.
    /// The result is another circuit with another digest, so that a run with it needs it on both
    /// sides
    #[arg(long, conflicts_with_all = ["list", "check"])]
    pub(crate) optimise: bool,
    /// Write the circuit, optimised if that is asked for, into this new file, in Bristol Fashion and
    /// in the bit order that --bit-order says, or that of byte strings
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "check"])]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A party's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleArg {
    /// Makes the garbled circuit and sends it
    Garbler,
    /// Evaluates it
    Evaluator,
}

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolArg {
    /// Garbles, sends and evaluates when inputs are there
    Direct,
    /// Links what `tacit prepare` has put in stock: one round trip; what is missing is garbled on
    /// the spot
    Prepared,
    /// Runs an execution that `tacit prepare --protocol batch` has put in stock, secure against a
    /// malicious party: four short messages. Without one it does not run
    Batch,
    /// Three parties: a cloud does the evaluator's work, and values can stay between runs; secure
    /// against malicious parties that do not work together
    Outsourced,
}

/// What `tacit prepare` prepares for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrepareFor {
    /// Components and oblivious transfers, which any function of them takes
    Prepared,
    /// Executions of one function, checked together, secure against a malicious party
    Batch,
}

impl ProtocolArg {
    /// Its name in the literature and on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Prepared => "prepared",
            Self::Batch => "batch",
            Self::Outsourced => "outsourced",
        }
    }

    /// What it protects against.
    pub(crate) fn threat_model(self) -> ThreatModel {
        match self {
            Self::Direct | Self::Prepared => ThreatModel::SemiHonest,
            Self::Batch => ThreatModel::Malicious,
            Self::Outsourced => ThreatModel::MaliciousNonColluding,
        }
    }
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
pub(crate) struct OutsourcedArgs {
    /// Under outsourced: the generator's fingerprint, or its name in tacit.toml
    #[arg(long, value_name = "FINGERPRINT|NAME")]
    pub(crate) generator: Option<String>,
    /// Under outsourced: the evaluator's fingerprint, or its name in tacit.toml
    #[arg(long, value_name = "FINGERPRINT|NAME")]
    pub(crate) evaluator: Option<String>,
    /// Under outsourced: the cloud's fingerprint, or its name in tacit.toml
    #[arg(long, value_name = "FINGERPRINT|NAME")]
    pub(crate) cloud: Option<String>,
    /// Under outsourced: where the generator listens; without it, the address in tacit.toml
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) generator_at: Option<String>,
    /// Under outsourced: where the cloud listens; without it, the address in tacit.toml
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) cloud_at: Option<String>,
    /// Under outsourced: so many circuits, of which the cloud evaluates two fifths and checks the
    /// others; 256 unless given, and 1 for parties that follow the protocol. All three name the
    /// same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) copies: Option<u32>,
    /// Under outsourced, at generator and cloud: keep values in the chain of this name; both name
    /// the same. A run that saves values and loads none begins it
    #[arg(long, value_name = "NAME")]
    pub(crate) chain: Option<String>,
    /// Under outsourced, at generator and cloud: who else may use the values of a chain that this
    /// run begins, besides its evaluator; once for each
    #[arg(long, value_name = "FINGERPRINT|NAME")]
    pub(crate) allow: Vec<String>,
}

/// How this party meets its peer.
#[derive(Debug, Args)]
pub(crate) struct MeetArgs {
    /// Wait for the peer at this address; port 0 takes a free one and tells it
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "connect")]
    pub(crate) listen: Option<String>,
    /// Connect to the peer at this address; without it, at the address in tacit.toml
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) connect: Option<String>,
    /// This party's identity, from `tacit keygen`; without it, the one in tacit.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// The peer's fingerprint, or its name in tacit.toml
    #[arg(long, value_name = "FINGERPRINT|NAME")]
    pub(crate) peer: Option<String>,
    /// On what the session's oblivious transfer rests: ristretto255, which is the default, or
    /// ml-kem-768 against quantum computers; both parties name the same
    #[arg(long, value_name = "NAME", value_parser = base_ot)]
    pub(crate) base_ot: Option<BaseOt>,
    /// How oblivious transfers are made: softspoken-2, softspoken-4 or softspoken-8, each with
    /// fewer bytes and more work, or silent, which rests on LPN; without it the party that connects
    /// takes softspoken-2, or what the link in tacit.toml says, and the other follows
    #[arg(long, value_name = "NAME", value_parser = ot_extension)]
    pub(crate) ot_extension: Option<OtExtension>,
    /// Longest wait for the peer, for each message and for the connection, such as 30s or 500ms;
    /// without it 60s for the peer to be there and 30s for a message
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

/// Where this party's stock is.
#[derive(Debug, Args)]
pub(crate) struct StockArgs {
    /// The folder of this party's stocks; without it the one in tacit.toml, or tacit/stock in your
    /// data folder
    #[arg(long, value_name = "DIR")]
    pub(crate) stock: Option<PathBuf>,
}

/// Arguments of `tacit prepare`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("wanted").required(true).multiple(true).args(["function", "components", "ots"]))]
pub(crate) struct PrepareArgs {
    /// Prepare for this function: a name from the library, a function file (JSON), or a circuit
    /// file (Bristol Fashion or the old Bristol format)
    pub(crate) function: Option<String>,
    #[command(flatten)]
    pub(crate) choice: FunctionArgs,
    /// For how many runs of the function there is to be enough
    #[arg(long, value_name = "N", default_value_t = 1, requires = "function")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) runs: u64,
    /// What to prepare for: the protocol of the later runs
    #[arg(long, value_enum, default_value_t = PrepareFor::Prepared)]
    pub(crate) protocol: PrepareFor,
    /// Under batch: cheating succeeds with at most two to minus this number; 40 unless given. Both
    /// parties name the same, here and in runs
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u8).range(1..=80))]
    pub(crate) security_bits: Option<u8>,
    /// So many instances of a component of the library or of a circuit file, such as aes-round@90
    /// or levenshtein-tile:side=10@36
    #[arg(long = "component", value_name = "NAME[:PARAM=VALUE,…]@COUNT")]
    #[arg(value_parser = counted)]
    pub(crate) components: Vec<Counted>,
    /// So many oblivious transfers beside, rounded up: one for each input bit of the evaluator
    #[arg(long, value_name = "N")]
    pub(crate) ots: Option<u64>,
    /// The role that this party will play in the runs; the other party plays the other
    #[arg(long, value_enum)]
    pub(crate) role: RoleArg,
    #[command(flatten)]
    pub(crate) meet: MeetArgs,
    /// The garbling scheme, or an assumption for the best scheme that needs no more; `tacit inspect`
    /// lists both. half-gates unless given; both parties name the same
    #[arg(long, visible_alias = "assumption", value_name = "NAME")]
    pub(crate) scheme: Option<String>,
    #[command(flatten)]
    pub(crate) stock: StockArgs,
    /// Garble, and check, on so many threads
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN)]
    pub(crate) threads: NonZeroUsize,
    /// Meet again so often when the connection breaks, each time after a longer pause; a peer that
    /// was never there is not waited for again
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) retries: u32,
    /// Longest time for the preparation over one connection, such as 10m; without it only the
    /// waits are bounded, each by itself
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) time_limit: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `tacit serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Answer at this address instead of the one in tacit.toml; port 0 takes a free one and tells it
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
    /// Answer for metrics and health at this address instead of the one in tacit.toml; nowhere if it
    /// is empty
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) metrics: Option<String>,
    /// This party's identity, from `tacit keygen`; without it, the one in tacit.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) stock: StockArgs,
    /// How events are told on standard error
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log: LogFormat,
    /// Check the configuration and end
    #[arg(long)]
    pub(crate) check: bool,
}

/// How events are told.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// A JSON object a line.
    Json,
}

/// Arguments of `tacit stock`.
#[derive(Debug, Args)]
pub(crate) struct StockCommandArgs {
    #[command(subcommand)]
    pub(crate) command: StockCommand,
    /// The folder of this party's stocks; without it the one in tacit.toml, or tacit/stock in your
    /// data folder
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) stock: Option<PathBuf>,
    /// Only stocks with this peer: its fingerprint, or its name in tacit.toml
    #[arg(long, global = true, value_name = "FINGERPRINT|NAME")]
    pub(crate) peer: Option<String>,
    /// Only stocks for this role
    #[arg(long, global = true, value_enum)]
    pub(crate) role: Option<RoleArg>,
    /// Only stocks under this garbling scheme
    #[arg(long, global = true, value_name = "SCHEME")]
    pub(crate) scheme: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What `tacit stock` does.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum StockCommand {
    /// What is in stock with whom, and how long it lasts if it goes on as in the last day
    List,
    /// Read everything, name what is damaged and withdraw it
    Check,
    /// Give up all instances of one component, which no function takes any more, in one stock
    Drop {
        /// The component: its name as `tacit stock list` has it, or its digest's beginning
        #[arg(value_name = "NAME|DIGEST")]
        component: String,
    },
    /// Remove a chain of kept values, killed or not; the other server does the same, and the name
    /// is free again
    DropChain {
        /// The chain, as `tacit stock list` has it
        #[arg(value_name = "NAME")]
        chain: String,
    },
    /// Free the room of what is used
    Compact,
    /// Destroy stocks; once the peer has done the same, the next preparation begins anew under a
    /// new Δ. The remedy for a stock restored from an old copy and for a cloned machine
    NewEpoch,
}

/// A component and how many instances of it are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) name: String,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) count: u64,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Garbler => Self::Garbler,
            RoleArg::Evaluator => Self::Evaluator,
        }
    }
}

/// Arguments of `tacit run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// A name from the library, a function file (JSON), or a circuit file (Bristol Fashion or the
    /// old Bristol format)
    pub(crate) function: String,
    #[command(flatten)]
    pub(crate) choice: FunctionArgs,
    /// Which role this party plays: garbler or evaluator; under outsourced generator, evaluator or
    /// cloud
    #[arg(long, value_enum)]
    pub(crate) role: RunRoleArg,
    #[command(flatten)]
    pub(crate) meet: MeetArgs,
    #[command(flatten)]
    pub(crate) outsourced: OutsourcedArgs,
    /// An input of this party: a value, `@FILE`, or `-` for standard input. Values in arguments
    /// show in the list of processes
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// This party's inputs as a JSON object of names and values; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) input_file: Option<PathBuf>,
    /// The garbling scheme, or an assumption for the best scheme that needs no more; `tacit inspect`
    /// lists both. half-gates unless given, with the hash that suits the function where the
    /// protocol is direct; both parties name the same
    #[arg(long, visible_alias = "assumption", value_name = "NAME")]
    pub(crate) scheme: Option<String>,
    /// The protocol; all parties name the same. direct unless given, batch with --security
    /// malicious, and outsourced with --security malicious-non-colluding
    #[arg(long, value_enum)]
    pub(crate) protocol: Option<ProtocolArg>,
    /// The threat model that the protocol must withstand: semi-honest, malicious, or
    /// malicious-non-colluding of three parties; one that does not is refused
    #[arg(long, value_name = "MODEL", default_value_t = ThreatModel::SemiHonest)]
    pub(crate) security: ThreatModel,
    /// Under batch: take executions that were prepared with this statistical security. Under
    /// outsourced: that of its checks of inputs. 40 unless given
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u8).range(1..=80))]
    pub(crate) security_bits: Option<u8>,
    /// Under batch and outsourced: work on so many threads
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN)]
    pub(crate) threads: NonZeroUsize,
    #[command(flatten)]
    pub(crate) stock: StockArgs,
    /// Longest time for each run, from its first message to its result, such as 10m; without it
    /// only the waits are bounded, each by itself
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) time_limit: Option<Duration>,
    /// Run so many times over one connection, on the same inputs, to measure; both parties say the
    /// same
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) repeat: u32,
    /// Print what it took: time, bytes, rounds, memory
    #[arg(long)]
    pub(crate) cost: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// No TLS and no identities, on loopback addresses only: for measurements
    #[arg(long, conflicts_with_all = ["identity", "peer", "stock"])]
    pub(crate) plain_loopback: bool,
}

/// `name=value`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// `name:param=value,param=value@count`.
fn counted(text: &str) -> Result<Counted, String> {
    let wrong = "expected NAME@COUNT or NAME:PARAM=VALUE,…@COUNT, such as aes-round@90";
    let (what, count) = text.rsplit_once('@').ok_or(wrong)?;
    let count: NonZeroU64 = count.parse().map_err(|_| wrong)?;
    let (name, params) = match what.rsplit_once(':') {
        Some((name, params)) => (name, params.split(',').map(pair).collect::<Result<_, _>>()?),
        None => (what, Vec::new()),
    };
    match name {
        "" => Err(wrong.to_owned()),
        _ => Ok(Counted {
            name: name.to_owned(),
            params,
            count: count.get(),
        }),
    }
}

/// A kind of base OT by its name.
pub(crate) fn base_ot(text: &str) -> Result<BaseOt, String> {
    BaseOt::from_name(text).ok_or_else(|| {
        let names = BaseOt::ALL.map(BaseOt::name).join(" or ");
        format!("{text:?} is no kind of base OT; write {names}")
    })
}

/// An OT extension by its name.
pub(crate) fn ot_extension(text: &str) -> Result<OtExtension, String> {
    OtExtension::from_name(text).ok_or_else(|| {
        let names = OtExtension::NAMED.map(|extension| extension.to_string());
        let names = names.join(", ");
        format!("{text:?} is no OT extension; write one of {names}")
    })
}

/// A time with its unit: `500ms`, `30s`, `5m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time; write a number and ms, s or m, such as 30s");
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let milliseconds = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1000),
        "m" => number.checked_mul(60_000),
        _ => None,
    };
    match milliseconds {
        Some(0) => Err("a time of 0 leaves the peer no chance; allow at least 1ms".to_owned()),
        Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
        None => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        for wrong in [
            "",
            "30",
            "s",
            "-1s",
            "1.5s",
            "1h",
            "99999999999999999999s",
            "0s",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn components_have_counts() {
        let params = vec![("side".to_owned(), "10".to_owned())];
        let counted_tile = Counted {
            name: "levenshtein-tile".to_owned(),
            params,
            count: 36,
        };
        assert_eq!(counted("levenshtein-tile:side=10@36"), Ok(counted_tile));
        for wrong in [
            "",
            "xor",
            "xor@",
            "xor@0",
            "xor@-1",
            "@5",
            ":side=1@5",
            "xor:side@5",
        ] {
            assert!(counted(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn pairs_are_split_at_the_first_equals_sign() {
        assert_eq!(pair("key=a=b"), Ok(("key".to_owned(), "a=b".to_owned())));
        assert_eq!(pair("bits="), Ok(("bits".to_owned(), String::new())));
        assert!(pair("garbler").is_err());
        assert!(pair("=5").is_err());
    }
}
