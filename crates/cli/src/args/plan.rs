//! `tacit plan`.

use std::path::PathBuf;

use clap::Args;
use tacit::garble::Assumption;
use tacit::net::Link;
use tacit::protocols::ThreatModel;
use tacit::session::OtExtension;

use super::run::model;
use super::text::ot_extension;
use super::{FunctionArgs, PartyArgs};

/// The text at the end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  tacit plan levenshtein --param n=60,m=60 --link 33ms,50mbit
  tacit plan aes-128-cbc --param blocks=10 --link 500us,1gbit --assumption prf
  tacit plan levenshtein --param n=60,m=60 --peer bob       from what is in stock with bob
  tacit plan aes-128 --link 500us,1gbit --security malicious --runs 1024
  tacit plan auction.tacit --link 40ms,100mbit --json
  tacit plan table.tacit --link 33ms,50mbit --ot-extension silent       with gmw
  tacit plan join.tacit --param N=50000,M=80000 --link 33ms,50mbit      a join of tables

A function can be run by several protocols and garbled under several schemes. A plan compares \
their bytes, which are exact, their times, predicted from the link and the speed of this machine, \
which takes less than a second to measure, and what must be prepared. Larger components need fewer \
links and cost less online; smaller ones serve more functions. So plan each function that computes \
what you want.

With --ot-extension, or one in tacit.toml, the plan considers gmw: a fiftieth of the bytes, and \
half a round trip for each layer of AND gates. With silent the run may rest on LPN.

With --peer or --stock the plan uses the stock: it chooses the fastest protocol for which there is \
enough, and names what would be faster once prepared. It never chooses a weaker threat model.

A link is its delay one way and its rate: the round trip of 33ms,50mbit takes 66 ms. `ping` shows \
round trips. The times of a plan assume no loss, no slow start and no other traffic.";

/// The heading of the options for link, peer and stock.
const WITH: &str = "The link, the peer and the stock";
/// The heading of the options that limit the comparison.
const COMPARED: &str = "The comparison";

/// Arguments of `tacit plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// A program of the language (`.tacit`), a name from the library, or a circuit file (Bristol
    /// Fashion or the old Bristol format)
    pub(crate) function: String,
    #[command(flatten)]
    pub(crate) choice: FunctionArgs,
    /// The link between the parties: one-way delay and rate each way, such as 33ms,50mbit; without
    /// it, the peer's in tacit.toml
    #[arg(long, value_name = "DELAY,RATE")]
    #[arg(help_heading = WITH)]
    pub(crate) link: Option<Link>,
    /// Plan from what is in stock with this peer: its fingerprint, or its name in tacit.toml
    #[arg(long, visible_alias = "with", value_name = "NAME|FINGERPRINT")]
    #[arg(help_heading = WITH)]
    pub(crate) peer: Option<String>,
    /// Plan from what is in stock in this folder; without it, with --peer, the one in tacit.toml,
    /// or tacit/stock in your data folder
    #[arg(long, value_name = "DIR")]
    #[arg(help_heading = WITH)]
    pub(crate) stock: Option<PathBuf>,
    #[command(flatten, next_help_heading = WITH)]
    pub(crate) who: PartyArgs,
    /// The threat model: semi-honest or malicious. No weaker protocol is ever chosen
    #[arg(long, value_name = "MODEL", value_parser = model)]
    #[arg(default_value_t = ThreatModel::SemiHonest)]
    #[arg(help_heading = COMPARED)]
    pub(crate) security: ThreatModel,
    /// Consider only schemes that need no more than this: prf, related-key, circular or
    /// ideal-cipher
    #[arg(long, value_name = "ASSUMPTION", default_value_t = Assumption::IdealCipher)]
    #[arg(help_heading = COMPARED)]
    pub(crate) assumption: Assumption,
    /// Consider only this scheme; `tacit inspect` lists them
    #[arg(long, value_name = "NAME", conflicts_with = "assumption")]
    #[arg(help_heading = COMPARED)]
    pub(crate) scheme: Option<String>,
    /// The run's method of oblivious transfer, as for `tacit run`; if given, gmw is considered.
    /// Default: the one in tacit.toml
    #[arg(long, value_name = "NAME", value_parser = ot_extension)]
    #[arg(help_heading = COMPARED)]
    pub(crate) ot_extension: Option<OtExtension>,
    /// The number of runs that the printed command prepares; against malicious parties more runs
    /// cost less each
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    #[arg(help_heading = COMPARED)]
    pub(crate) runs: u64,
    /// Print JSON
    #[arg(long)]
    #[arg(help_heading = COMPARED)]
    pub(crate) json: bool,
}
