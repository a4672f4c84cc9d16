//! Arguments of `tacit match`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tacit::matching::{KeyNormalization, MatchRecipient};

use super::any_run::{HOW, RowArgs, ShardArgs};
use super::party::MEETING;
use super::text::{ALL_CORES, duration, threads};
use super::{GpuArgs, MeetArgs};

/// The heading of the table.
const TABLE: &str = "The table and its keys";
/// The heading of results.
const RESULT: &str = "The result";

pub(super) const EXAMPLES: &str = "\
Examples, with a party that `tacit pair` has made known:
  tacit match customers.csv:email --with bob --normalize email
  tacit match visitors.csv:address --with alice --normalize email

  The result to one party alone; the other party states the same from its side:
  tacit match customers.csv:email --with bob --to me --out common.csv
  tacit match visitors.csv:address --with alice --to peer

  Without pairing, in two terminals (identities from `tacit keygen`):
  tacit match a.csv:id --listen 127.0.0.1:7000 --identity alice.key --peer BOBS-FINGERPRINT
  tacit match b.csv:id --connect 127.0.0.1:7000 --identity bob.key --peer ALICES-FINGERPRINT

  A table with empty cells, or with a key in several rows:
  tacit match customers.csv:email --with bob --drop-missing --keep first

  The third of sixteen parts of large tables, on a machine of its own:
  tacit match customers.csv:email --with bob --shard 3/16 --out common-3.csv

The first line of a table names its columns. Each party learns how many keys the other has, and a \
party that gets the result learns which of its own keys the other has. If both parties follow the \
protocol, nothing else is shown; a party that does not may learn more. The other party may make up \
its keys, as many as --most-keys allows: decide how often you run it with whom. docs/matching.md \
has the details.";

/// Arguments of `tacit match`.
#[derive(Debug, Args)]
pub(crate) struct MatchArgs {
    /// A CSV file and the name of the column with the keys; for a table of one column, the file
    /// alone
    #[arg(value_name = "FILE:COLUMN")]
    pub(crate) table: String,
    /// The normalization of keys before they are compared. Both parties give the same
    #[arg(long, value_name = "HOW", default_value_t, value_parser = normalization())]
    #[arg(help_heading = TABLE)]
    pub(crate) normalize: KeyNormalization,
    #[command(flatten, next_help_heading = TABLE)]
    pub(crate) rows: RowArgs,
    #[command(flatten, next_help_heading = TABLE)]
    pub(crate) shard: ShardArgs,
    #[command(flatten)]
    pub(crate) meet: MeetArgs,
    #[command(flatten)]
    pub(crate) device: GpuArgs,
    /// The largest number of different keys that the other party may have, so that it cannot try
    /// all possible ones; with --shard, of keys of a filled part. Default: 16 times as many as
    /// this party, and at least 1048576; with --shard, a filled part of these
    #[arg(long, value_name = "N", help_heading = RESULT)]
    pub(crate) most_keys: Option<u64>,
    /// The recipient of the keys in common. Either one party gives me and the other peer, or both
    /// give both
    #[arg(long, value_name = "WHOM", default_value_t, value_parser = recipient())]
    #[arg(help_heading = RESULT)]
    pub(crate) to: MatchRecipient,
    /// Write the keys in common into this new CSV file, under the name of the column, instead of
    /// to standard output
    #[arg(long, value_name = "FILE", help_heading = RESULT)]
    pub(crate) out: Option<PathBuf>,
    /// Print the cost: time, bytes, rounds, memory
    #[arg(long, help_heading = RESULT)]
    pub(crate) cost: bool,
    /// Print JSON
    #[arg(long, help_heading = RESULT)]
    pub(crate) json: bool,
    /// Work on N threads
    #[arg(long, value_name = "N", default_value = ALL_CORES, value_parser = threads)]
    #[arg(help_heading = HOW, hide_short_help = true)]
    pub(crate) threads: NonZeroUsize,
    /// Longest time for the run, from its first message to its result, such as 10m. Default: no
    /// limit for the run, only for each wait
    #[arg(long, value_name = "TIME", value_parser = duration)]
    #[arg(help_heading = HOW, hide_short_help = true)]
    pub(crate) time_limit: Option<Duration>,
    /// No TLS and no identities, on loopback addresses only: for measurements
    #[arg(long, conflicts_with_all = ["identity", "peer"])]
    #[arg(help_heading = MEETING, hide_short_help = true)]
    pub(crate) plain_loopback: bool,
}

fn normalization() -> impl TypedValueParser<Value = KeyNormalization> {
    let values = KeyNormalization::ALL.map(|one| {
        PossibleValue::new(one.name()).help(match one {
            KeyNormalization::None => "Compare keys as they are in the table",
            KeyNormalization::Email => {
                "Compare e-mail addresses in lower case, without spaces around them, in one form \
                 of Unicode"
            }
            KeyNormalization::Phone => {
                "Compare the digits of telephone numbers: +49 (0)30 1234 is 0049 30-1234"
            }
            KeyNormalization::Date => {
                "Compare dates: 31.3.2024 is 2024-03-31 and 20240331; 3/4/2024 is refused, since \
                 countries read it in two ways"
            }
        })
    });
    PossibleValuesParser::new(values).try_map(|name| name.parse::<KeyNormalization>())
}

fn recipient() -> impl TypedValueParser<Value = MatchRecipient> {
    let values = MatchRecipient::ALL.map(|one| {
        PossibleValue::new(one.name()).help(match one {
            MatchRecipient::Me => "This party alone",
            MatchRecipient::Peer => "The other party alone",
            MatchRecipient::Both => "Both parties",
        })
    });
    PossibleValuesParser::new(values).try_map(|name| name.parse::<MatchRecipient>())
}
