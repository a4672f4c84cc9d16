//! Arguments of `tacit stock`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use tacit::Role;
use tacit::net::Lane;
use tacit::protocols::Protocol;

use super::party::roles;
use super::text::pair;

pub(super) const EXAMPLES: &str = "\
Examples:
  tacit stock list
  tacit stock list --peer bob --json
  tacit stock check
  tacit stock drop aes-128-rounds/round --peer bob
  tacit stock adopt total total-2.tacit --peer bob
  tacit stock new-epoch --peer bob";

/// Reads a protocol whose runs keep values in chains.
fn keeping() -> impl TypedValueParser<Value = Protocol> {
    let keeping = Protocol::ALL.into_iter().filter(|one| one.keeps_values());
    PossibleValuesParser::new(keeping.map(Protocol::name)).try_map(|name| name.parse::<Protocol>())
}

/// Arguments of `tacit stock`.
#[derive(Debug, Args)]
pub(crate) struct StockCommandArgs {
    #[command(subcommand)]
    pub(crate) command: StockCommand,
    /// The folder of this party's stocks. Default: the one in tacit.toml, or tacit/stock in your
    /// data folder
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) stock: Option<PathBuf>,
    /// Only stocks with this peer: its fingerprint, or its name in tacit.toml
    #[arg(
        long,
        global = true,
        visible_alias = "with",
        value_name = "NAME|FINGERPRINT"
    )]
    pub(crate) peer: Option<String>,
    /// Only stocks for this role
    #[arg(long, global = true, value_parser = roles())]
    pub(crate) role: Option<Role>,
    /// Only stocks under this garbling scheme
    #[arg(long, global = true, value_name = "SCHEME")]
    pub(crate) scheme: Option<String>,
    /// Only stocks and chains with this process of a peer that has several
    #[arg(long, global = true, value_name = "LANE", value_parser = str::parse::<Lane>)]
    pub(crate) lane: Option<Lane>,
    /// Only chains of this protocol
    #[arg(long, global = true, value_parser = keeping(), hide_short_help = true)]
    pub(crate) protocol: Option<Protocol>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// The commands of `tacit stock`.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum StockCommand {
    /// List what is in stock with each peer, and how long it lasts at the rate of the last day
    ///
    /// For each component: how many instances are usable and damaged, and the bytes of its lots;
    /// after an hour also how many are used a day, and how long the usable ones last.
    List,
    /// Read everything, and name and withdraw damaged instances
    Check,
    /// Drop all instances of one component in one stock, if no function uses it any more
    Drop {
        /// The component: its name in `tacit stock list`, or the beginning of its digest
        #[arg(value_name = "NAME|DIGEST")]
        component: String,
    },
    /// Let a party use the values of a chain of outsourced; both servers do the same
    Allow {
        /// The chain, as `tacit stock list` has it
        #[arg(value_name = "CHAIN")]
        chain: String,
        /// The party: a fingerprint, or a name in tacit.toml
        #[arg(value_name = "FINGERPRINT|NAME")]
        who: String,
        /// Take the permission away
        #[arg(long)]
        remove: bool,
    },
    /// Give a chain to another program, such as a new edition of the one that started it; both
    /// parties that keep the chain do the same
    ///
    /// A chain is for the runs of one program: its states, its parameters and the meaning of its
    /// runs. Kept states must have the same name and type in the new program; check yourself that
    /// they mean the same.
    Adopt {
        /// The chain, as `tacit stock list` has it
        #[arg(value_name = "CHAIN")]
        chain: String,
        /// The program
        #[arg(value_name = "FILE")]
        program: PathBuf,
        /// A param of the program; others have their defaults
        #[arg(
            long = "param",
            value_name = "NAME=VALUE",
            value_delimiter = ',',
            value_parser = pair
        )]
        params: Vec<(String, String)>,
    },
    /// Remove a chain of kept values, even a killed one; once the other party that keeps it has
    /// done the same, the name is free again
    DropChain {
        /// The chain, as `tacit stock list` has it
        #[arg(value_name = "NAME")]
        chain: String,
    },
    /// Remove used-up lots, and free their disk space
    Compact,
    /// Clear the count of batches and runs by authenticated that this peer did not finish, which
    /// makes later ones more expensive. Only if you know the reason
    ClearTries,
    /// Destroy stocks; once the peer has done the same, the next preparation starts under a new Δ.
    /// Chains of `prepared` with this peer end too. The remedy for a stock restored from an old
    /// copy and for a cloned machine
    NewEpoch {
        /// Destroy them even if chains of `prepared` with this peer, and their values, end with
        /// them
        #[arg(long)]
        end_chains: bool,
    },
}
