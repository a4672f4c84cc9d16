//! Arguments of `tacit relay`.

use std::time::Duration;

use clap::Args;

use super::text::{duration, origin};

pub(super) const EXAMPLES: &str = "\
Examples:
  tacit relay --listen 0.0.0.0:7400
  tacit relay --listen 127.0.0.1:7400 --origins https://game.example    for pages too
  tacit pair invite --name bob --relay relay.example:7400    at a party that nobody can connect to

A relay sees addresses, sizes and times, but no content. docs/pairing.md has \
more.";

/// Arguments of `tacit relay`.
#[derive(Debug, Args)]
pub(crate) struct RelayArgs {
    /// The address to which parties connect; port 0 takes a free one and prints it
    #[arg(long, value_name = "HOST:PORT", default_value = "0.0.0.0:7400")]
    pub(crate) listen: String,
    /// The origins of pages that may connect, separated by commas. Programs always may
    #[arg(long, value_name = "ORIGIN", value_parser = origin, value_delimiter = ',')]
    pub(crate) origins: Vec<String>,
    /// Serve metrics and health over HTTP at this address. Default: nowhere
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) metrics: Option<String>,
    /// Serve at most N pairs of parties at once
    #[arg(long, value_name = "N", default_value_t = 256)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rooms: u16,
    /// Let at most N parties wait for another party
    #[arg(long, value_name = "N", default_value_t = 1024)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) waiting: u16,
    /// Serve at most N connections from one address, or from one /64 subnet of IPv6
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) per_network: u16,
    /// Let at most N MiB pass between two parties
    #[arg(long, value_name = "MIB", default_value_t = 65_536)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) room_mib: u32,
    /// Let N Mbit a second pass between two parties, each way
    #[arg(long, value_name = "MBIT", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate_mbit: u32,
    /// Longest time that a party waits for another
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10m")]
    pub(crate) wait: Duration,
    /// Longest time that two parties are served
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "12h")]
    pub(crate) time: Duration,
    /// Longest silence of two parties
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "16m")]
    pub(crate) idle: Duration,
}
