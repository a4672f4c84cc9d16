//! Arguments of `tacit prepare`.

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use clap::builder::ArgPredicate;
use clap::{ArgAction, ArgGroup, Args, ValueEnum};

use tacit::net::Lane;
use tacit::protocols::Protocol;

use super::party::MEETING;
use super::text::{ALL_CORES, duration, pair, refused, threads};
use super::{FunctionArgs, GpuArgs, MeetArgs, PartyArgs, StockArgs};

/// The heading of the options for the kind and amount of material.
const WHAT: &str = "The material";
/// The heading of the options for making and storing it.
const HOW: &str = "How it is prepared";

pub(super) const EXAMPLES: &str = "\
Examples, with a party that `tacit pair` has made known:
  tacit prepare aes-128-rounds --runs 20 --with bob
  tacit prepare aes-128-rounds --runs 20 --with alice
  tacit prepare gap.tacit --runs 20 --with bob      a program; both have the same file

Without pairing, one line in each of two terminals (identities from `tacit keygen`):
  tacit prepare aes-128-rounds --runs 20 --role garbler --listen 127.0.0.1:7000 \\
      --identity alice.key --peer BOBS-FINGERPRINT
  tacit prepare aes-128-rounds --runs 20 --role evaluator --connect 127.0.0.1:7000 \\
      --identity bob.key --peer ALICES-FINGERPRINT

  Components, for any function of them:
  tacit prepare --component aes-round@900 --component xor@100 --ots 12800 --role garbler …

Both parties order the same. Material in stock counts, so the same command replaces what was used \
and continues where it was cut. Nothing in stock is used twice.

  Executions that are secure against a malicious party, for one function:
  tacit prepare aes-128 --protocol batch --runs 128 --role garbler …

A batch is prepared and checked as a whole; a larger one costs less for each run. If it is cut, or \
a check fails, both parties drop it, and the next attempt starts over.

  Components, garbled and checked against a malicious party, for any function of them; or
  triples, which serve any function:
  tacit prepare aes-128-rounds --protocol authenticated --runs 20 --role garbler …
  tacit prepare --ands 1000000 --role garbler …

An order is one lot, which is dropped like a batch. A run takes everything from one lot: \
components if both parties have enough, otherwise triples.

  Crosses, for any function that runs by gmw:
  tacit prepare gap.tacit --protocol gmw --runs 20 --with bob
  tacit prepare --crosses 1000000000 --with bob

  Crosses for a program that joins tables of at most these sizes, whose names `tacit inspect` lists:
  tacit prepare spend.tacit --param N=5000,M=20000 --runs 3 --with bob

A peer that runs `tacit serve` takes orders for what its [[serve.stock]] keeps with this party, \
up to that number of runs or AND gates.";

/// The hint in place of `--plain-loopback`.
const IDENTITIES: &str = "a stock belongs to two identities: give --identity and --peer, \
                          or --with once you have paired";

/// Arguments of `tacit prepare`.
#[derive(Debug, Args)]
#[command(arg = refused("plain-loopback", ArgAction::SetTrue, IDENTITIES))]
#[command(group = ArgGroup::new("wanted")
    .required(true)
    .multiple(true)
    .args(["function", "components", "ots", "ands", "crosses", "wide_crosses"]))]
pub(crate) struct PrepareArgs {
    /// Prepare for this function: a program of the language (`.tacit`), a name from the library, or
    /// a circuit file (Bristol Fashion or the old Bristol format)
    pub(crate) function: Option<String>,
    #[command(flatten)]
    pub(crate) choice: FunctionArgs,
    /// The number of runs of the function to have material for
    #[arg(long, value_name = "N", default_value_t = 1, requires = "function")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    #[arg(help_heading = WHAT)]
    pub(crate) runs: u64,
    /// The protocol of the later runs. Default: prepared; with --ands, authenticated; with
    /// --crosses or --wide-crosses, and for a program that joins tables, gmw
    #[arg(long, value_enum)]
    #[arg(default_value_ifs([
        ("ands", ArgPredicate::IsPresent, "authenticated"),
        ("crosses", ArgPredicate::IsPresent, "gmw"),
        ("wide_crosses", ArgPredicate::IsPresent, "gmw"),
    ]))]
    #[arg(help_heading = WHAT)]
    pub(crate) protocol: Option<PrepareFor>,
    /// Under batch (40 to 80) and authenticated (40 to 64): cheating succeeds with probability 2^-S
    /// at most. Default: 40. Both parties give the same. Runs from a batch give it too; material
    /// for authenticated serves runs at this S or a lower one
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u8).range(40..=80))]
    #[arg(help_heading = WHAT)]
    pub(crate) security_bits: Option<u8>,
    /// N instances of a component of the library or of a circuit file, such as aes-round@90
    /// or levenshtein-tile:side=10@36
    #[arg(long = "component", value_name = "NAME[:PARAM=VALUE,…]@COUNT")]
    #[arg(value_parser = counted)]
    #[arg(help_heading = WHAT)]
    pub(crate) components: Vec<OrderedComponent>,
    /// N additional oblivious transfers, rounded up: one for each input bit of the evaluator
    #[arg(long, value_name = "N")]
    #[arg(help_heading = WHAT)]
    pub(crate) ots: Option<u64>,
    /// Under authenticated: triples for N AND gates and inputs of any functions. A run takes one
    /// for each AND gate, and for each input bit of the party that has more of them, all of one
    /// order. An order that has this many left counts
    #[arg(long, value_name = "N", conflicts_with = "function")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    #[arg(help_heading = WHAT)]
    pub(crate) ands: Option<u64>,
    /// Under gmw: N crosses of each direction, rounded up to whole blocks of 65,536, for any
    /// functions. An AND gate of bits that both parties share takes one of each
    #[arg(long, value_name = "N", conflicts_with_all = ["function", "ands"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    #[arg(help_heading = WHAT)]
    pub(crate) crosses: Option<u64>,
    /// Under gmw: N wide crosses of each direction, rounded up to whole blocks of 4,096. One serves
    /// up to 128 AND gates that have an operand in common
    #[arg(long, value_name = "N", conflicts_with_all = ["function", "ands"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    #[arg(help_heading = WHAT)]
    pub(crate) wide_crosses: Option<u64>,
    #[command(flatten, next_help_heading = MEETING)]
    pub(crate) who: PartyArgs,
    #[command(flatten)]
    pub(crate) meet: MeetArgs,
    #[command(flatten)]
    pub(crate) device: GpuArgs,
    /// The garbling scheme, or an assumption for the best scheme that needs no more; `tacit
    /// inspect` lists both. Default: half-gates with the hash that suits the function. Both parties
    /// give the same
    #[arg(long, visible_alias = "assumption", value_name = "NAME")]
    #[arg(help_heading = HOW)]
    pub(crate) scheme: Option<String>,
    #[command(flatten, next_help_heading = HOW)]
    pub(crate) stock: StockArgs,
    /// If the peer has several processes, prepare with this one. Default: the first one reached.
    /// Runs go where the material is
    #[arg(long, value_name = "LANE", value_parser = str::parse::<Lane>)]
    #[arg(help_heading = HOW)]
    pub(crate) lane: Option<Lane>,
    /// Make OTs, garble, and check on N threads. If both parties give two or more, long messages go
    /// over several connections
    #[arg(long, value_name = "N", default_value = ALL_CORES, value_parser = threads)]
    #[arg(help_heading = HOW)]
    pub(crate) threads: NonZeroUsize,
    /// Reconnect up to N times when the connection breaks, each time after a longer pause. Do not
    /// wait again for a peer that never came, was cancelled or failed on its side
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(help_heading = HOW)]
    pub(crate) retries: u32,
    /// Longest time for the preparation over one connection, such as 10m. Default: no limit for it,
    /// only for each wait
    #[arg(long, value_name = "TIME", value_parser = duration)]
    #[arg(help_heading = HOW)]
    pub(crate) time_limit: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    #[arg(help_heading = HOW)]
    pub(crate) json: bool,
}

/// The protocols that `tacit prepare` prepares for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrepareFor {
    /// Components and oblivious transfers, for any function that consists of these components
    Prepared,
    /// Executions of one function, checked together, secure against a malicious party
    Batch,
    /// Components, garbled and checked, for functions that run by authenticated; or triples, if the
    /// function cannot run from components in stock
    Authenticated,
    /// Crosses, for any function that runs by gmw
    Gmw,
}

impl PrepareFor {
    /// Returns the protocol.
    pub(crate) fn protocol(self) -> Protocol {
        match self {
            Self::Prepared => Protocol::Prepared,
            Self::Batch => Protocol::Batch,
            Self::Authenticated => Protocol::Authenticated,
            Self::Gmw => Protocol::Gmw,
        }
    }
}

/// A component and the number of instances to prepare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OrderedComponent {
    pub(crate) name: String,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) count: u64,
}

/// Reads `name:param=value,param=value@count`.
fn counted(text: &str) -> Result<OrderedComponent, String> {
    let wrong = "expected NAME@COUNT or NAME:PARAM=VALUE,…@COUNT, such as aes-round@90";
    let (what, count) = text.rsplit_once('@').ok_or(wrong)?;
    let count: NonZeroU64 = count.parse().map_err(|_| wrong)?;
    let (name, params) = match what.rsplit_once(':') {
        Some((name, params)) => (name, params.split(',').map(pair).collect::<Result<_, _>>()?),
        None => (what, Vec::new()),
    };
    match name {
        "" => Err(wrong.to_owned()),
        _ => Ok(OrderedComponent {
            name: name.to_owned(),
            params,
            count: count.get(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_have_counts() {
        let params = vec![("side".to_owned(), "10".to_owned())];
        let counted_tile = OrderedComponent {
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
}
