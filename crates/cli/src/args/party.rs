//! A party's role, the way it meets its peer, and the protocol.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tacit::Role;
use tacit::protocols::Protocol;
use tacit::session::{BaseOt, OtExtension};
use tacit_gpu::Choice;

use super::text::{base_ot, duration, ot_extension, role};

/// The heading of the options for meeting the peer.
pub(super) const MEETING: &str = "Which party this is, and how to meet the other";

/// The party's role, out of two.
#[derive(Debug, Args)]
pub(crate) struct PartyArgs {
    /// This party's role
    ///
    /// Default: the role in tacit.toml for the peer.
    #[arg(long, value_parser = roles())]
    pub(crate) role: Option<Role>,
    /// This party's name in the program, in place of --role
    #[arg(long = "as", value_name = "PARTY", conflicts_with = "role")]
    pub(crate) party: Option<String>,
}

/// Reads a role by its name. Help lists both.
pub(super) fn roles() -> impl TypedValueParser<Value = Role> + use<> {
    let value = |role: Role, does| PossibleValue::new(role.name()).help(does);
    let values = [
        value(Role::Garbler, "Makes the garbled circuit and sends it"),
        value(Role::Evaluator, "Evaluates it"),
    ];
    PossibleValuesParser::new(values).try_map(|name| role(&name))
}

/// Returns a protocol's entry in help.
pub(super) fn named(protocol: Protocol) -> PossibleValue {
    PossibleValue::new(protocol.name()).help(protocol.summary())
}

/// The options by which this party meets its peer.
#[derive(Debug, Args)]
#[command(next_help_heading = MEETING)]
pub(crate) struct MeetArgs {
    /// Wait for the peer at this address
    ///
    /// Port 0 takes a free port and prints it. Without --listen, --connect and --relay, tacit.toml
    /// decides.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["connect", "relay"])]
    pub(crate) listen: Option<String>,
    /// Connect to the peer at this address
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "relay")]
    pub(crate) connect: Option<String>,
    /// Meet the peer, a command or a page, at this relay: both connect to it, and give each other's
    /// fingerprint as --peer
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) relay: Option<String>,
    /// The peer: its name in tacit.toml, which has its address, or its fingerprint
    #[arg(long, visible_alias = "with", value_name = "NAME|FINGERPRINT")]
    pub(crate) peer: Option<String>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The method of oblivious transfer: softspoken-2, softspoken-4 or softspoken-8, each with
    /// fewer bytes and more work than the one before, or silent, which rests on LPN. Default: the
    /// party that connects takes softspoken-2, or softspoken-4 if transfers are most of a run, or
    /// the fastest for the link in tacit.toml, and the other follows
    #[arg(long, value_name = "NAME", value_parser = ot_extension, hide_short_help = true)]
    pub(crate) ot_extension: Option<OtExtension>,
    /// Longest wait for the peer, and for each message, such as 30s
    ///
    /// Default: 60s for the peer to be there, and 30s for a message. A long message may take that
    /// long for each 16 KiB.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

/// The GPU that makes OTs.
#[derive(Debug, Args)]
#[command(next_help_heading = MEETING)]
pub(crate) struct GpuArgs {
    /// Make the OTs of gmw on a GPU, if they are silent: auto takes one or two GPUs for large work,
    /// if there are any; N takes that one, from 0. The peer needs none
    #[arg(
        long,
        value_name = "never|auto|N",
        default_value_t,
        hide_short_help = true
    )]
    pub(crate) gpu: Choice,
}

/// The foundations of a session: the identity and the base OT.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// This party's identity, from `tacit keygen`
    ///
    /// Default: the one in tacit.toml, or identity.key next to it.
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// The base of the session's oblivious transfer: ristretto255, or ml-kem-768 against quantum
    /// computers. Default: ristretto255. All parties give the same
    #[arg(long, value_name = "NAME", value_parser = base_ot, hide_short_help = true)]
    pub(crate) base_ot: Option<BaseOt>,
}

/// The folder of this party's stocks.
#[derive(Debug, Default, Args)]
pub(crate) struct StockArgs {
    /// The folder of this party's stocks. Default: the one in tacit.toml, or tacit/stock in your
    /// data folder
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(crate) stock: Option<PathBuf>,
}
