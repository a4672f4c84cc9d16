//! Arguments of `tacit pair`.

use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};

use super::text::duration;

pub(super) const EXAMPLES: &str = "\
Examples:
  alice$ tacit pair invite --name bob --listen 0.0.0.0:7000 --address alice.example:7000
  bob$   tacit pair accept tacit-invitation:… --name alice
  alice$ tacit pair invite --name bob --relay relay.example:7400    nobody can connect to Alice

Alice sends Bob the line that the first command prints, over any channel. Then they speak to each \
other: each reads a code of six digits aloud and types the other's. Now each has the other in \
tacit.toml. By default Alice listens and garbles:
  tacit run FUNCTION --with bob --input …

An invitation is valid once, for an hour. An attacker between the two stays unnoticed by each of \
them with a chance of one in a million (docs/pairing.md).";

const INVITE_EXAMPLES: &str = "\
Examples:
  tacit pair invite --name bob --listen 127.0.0.1:7000                     both on this machine
  tacit pair invite --name bob --listen 0.0.0.0:7000 --address alice.example:7000
  tacit pair invite --name bob --relay relay.example:7400                  neither can be reached

It prints one line for the other party, and waits until that party gives it to `tacit pair \
accept`. The port serves all parties that you invite: runs listen there one after the other.";

const ACCEPT_EXAMPLES: &str = "\
Examples:
  tacit pair accept tacit-invitation:… --name alice

The other party's command must be running. Speak to that party: each reads a code aloud, and the \
other types it.";

/// Arguments of `tacit pair`.
#[derive(Debug, Args)]
pub(crate) struct PairArgs {
    #[command(subcommand)]
    pub(crate) command: PairCommand,
}

/// The commands of `tacit pair`.
#[derive(Debug, Subcommand)]
pub(crate) enum PairCommand {
    /// Make an invitation for the other party, and wait until it accepts
    #[command(after_help = INVITE_EXAMPLES)]
    Invite(InviteArgs),
    /// Accept the other party's invitation
    #[command(after_help = ACCEPT_EXAMPLES)]
    Accept(AcceptArgs),
}

/// Arguments of `tacit pair invite`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("where").required(true).args(["listen", "relay"]))]
pub(crate) struct InviteArgs {
    /// The other party's name in tacit.toml
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// Wait for the other party at this address, now and in runs; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
    /// Meet the other party at this relay, now and in runs: both connect to it, and neither needs
    /// to be reachable
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "address")]
    pub(crate) relay: Option<String>,
    /// The address at which the other party reaches this one, if not that of --listen
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) address: Option<String>,
    /// The lifetime of the invitation, at most a day
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1h")]
    pub(crate) valid: Duration,
}

/// Arguments of `tacit pair accept`.
#[derive(Debug, Args)]
pub(crate) struct AcceptArgs {
    /// The line that the other party's `tacit pair invite` printed
    pub(crate) invitation: String,
    /// The other party's name in tacit.toml
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
}
