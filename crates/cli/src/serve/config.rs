//! The `[serve]` part of `tacit.toml`, in its written form.

mod beside;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use tacit::Role;
use tacit::matching::{KeyNormalization, MatchRecipient};
use tacit::net::IpNet;
use tacit::protocols::{Protocol, UnknownProtocol};
use tacit_gpu::Choice;
use tacit_serve::{Audit, Rate, Server};

use crate::args::{self, KeptRow};
use crate::config::fields::{parsed, parsed_if_given, required_text, time};
use crate::failure::Failure;

/// The settings of `tacit serve`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Serve {
    /// The address for peers.
    pub(crate) listen: Option<String>,
    /// The origins of the pages that may connect by WebSocket, to the same address.
    pub(crate) origins: Option<Vec<String>>,
    /// The networks of the load balancers, whose PROXY headers name the peers' addresses.
    pub(crate) proxy_from: Vec<IpNet>,
    /// The address for metrics and health; none if it is empty.
    pub(crate) metrics: Option<String>,
    /// The file of the audit log; none if not given.
    pub(crate) audit_file: Option<PathBuf>,
    /// Whether each line of it is on the disk before the run goes on; true if not given.
    pub(crate) audit_durable: Option<bool>,
    /// The largest number of sessions at once.
    pub(crate) sessions: Option<usize>,
    /// The largest number of sessions of one peer at once.
    pub(crate) sessions_per_peer: Option<usize>,
    /// The rate at which a peer may begin sessions.
    #[serde(deserialize_with = "parsed_if_given")]
    pub(crate) arrivals: Option<Rate>,
    /// The rate at which a peer may make mistakes.
    #[serde(deserialize_with = "parsed_if_given")]
    pub(crate) refusals: Option<Rate>,
    /// The MiB for lots of `authenticated` and silent OTs of all runs together.
    pub(crate) memory_mib: Option<u64>,
    /// The MiB of these for the runs of one peer.
    pub(crate) memory_mib_per_peer: Option<u64>,
    /// The largest number of threads of one run or preparation.
    pub(crate) threads: Option<NonZeroUsize>,
    /// The GPU that makes silent OTs, as `--gpu` names it; `auto` if not given.
    #[serde(deserialize_with = "parsed_if_given")]
    pub(crate) gpu: Option<Choice>,
    /// The largest number of keys of a peer about which it is told on a day.
    pub(crate) keys_per_day: Option<u64>,
    /// The largest number of TLS handshakes at once.
    pub(crate) handshakes: Option<usize>,
    /// The longest time for TLS and the greeting.
    #[serde(deserialize_with = "time")]
    pub(crate) handshake: Option<Duration>,
    /// The longest pause between two runs of a session.
    #[serde(deserialize_with = "time")]
    pub(crate) idle: Option<Duration>,
    /// The longest wait for the other server and for a chain, before a run of three parties.
    #[serde(deserialize_with = "time")]
    pub(crate) meeting: Option<Duration>,
    /// The time for runs to end when the service stops.
    #[serde(deserialize_with = "time")]
    pub(crate) stop: Option<Duration>,
    /// The largest number of preparations at once.
    pub(crate) preparations: Option<usize>,
    /// The longest time of a preparation.
    #[serde(deserialize_with = "time")]
    pub(crate) preparation: Option<Duration>,
    /// The time between two checks of the stock.
    #[serde(deserialize_with = "time")]
    pub(crate) look_at_stock: Option<Duration>,
    /// The addresses of this party's other processes, by the lane of each.
    pub(crate) lanes: BTreeMap<String, String>,
    /// The lanes that keep chains; all if not given.
    pub(crate) chain_lanes: Option<Vec<String>>,
    /// The functions that peers may ask for.
    pub(crate) function: Vec<Served>,
    /// The columns of keys that peers may match with theirs.
    #[serde(rename = "match")]
    pub(crate) matched: Vec<Matched>,
    /// The sites whose visitors may connect.
    pub(crate) visitors: Vec<Site>,
    /// The material that is kept in stock.
    pub(crate) stock: Vec<Stocked>,
}

/// A site whose own login lets visitors in by signed tokens.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Site {
    /// The visitors' name here, by which `peers` of an offer names them.
    pub(crate) name: String,
    /// The file with the public key of the site, in PEM.
    pub(crate) key_file: PathBuf,
    /// This service's name in tokens.
    pub(crate) audience: String,
    /// Whether this party counts on its visitors to follow protocols.
    #[serde(default)]
    pub(crate) semi_honest: bool,
    /// The largest number of keys of a visitor about which it is told on a day.
    pub(crate) keys_per_day: Option<u64>,
}

/// A function that is served. Its fields correspond to arguments of `tacit run`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Served {
    /// A name from the library, or a file.
    pub(crate) function: String,
    /// The run of a program; `main` if not given.
    pub(crate) entry: Option<String>,
    /// The function's name in this service.
    pub(crate) name: Option<String>,
    /// This party's role.
    pub(crate) role: ServedRole,
    /// The other server, by its name in [peers]: the cloud if this party is the generator, and the
    /// generator if it is the cloud.
    pub(crate) other_server: Option<String>,
    /// The number of circuits in a run of three parties.
    pub(crate) copies: Option<u32>,
    /// The chain in which values are kept.
    pub(crate) chain: Option<String>,
    /// Whether a function may discard a value of the chain by saving it without loading it.
    /// Otherwise such a function is refused.
    #[serde(default)]
    pub(crate) replace: bool,
    /// The threads of a run of three parties.
    pub(crate) threads: Option<NonZeroUsize>,
    /// The parameters: a value, a list of allowed values, or bounds.
    #[serde(default)]
    pub(crate) params: BTreeMap<String, Parameter>,
    /// The public inputs of a program: values, or `@` and a file.
    #[serde(default)]
    pub(crate) public: BTreeMap<String, String>,
    /// The owner of each input of a circuit.
    #[serde(default)]
    pub(crate) owners: BTreeMap<String, String>,
    /// The recipient of each result of a circuit.
    #[serde(default)]
    pub(crate) results: BTreeMap<String, String>,
    /// The types of a circuit file's ports.
    #[serde(default)]
    pub(crate) types: BTreeMap<String, String>,
    /// The bit order of a circuit file.
    pub(crate) bit_order: Option<String>,
    /// `direct`, `prepared`, `batch` or several; only `outsourced` for a server of three parties.
    pub(crate) protocols: Option<Vec<NamedProtocol>>,
    /// s of runs by `batch`; k of runs of three parties.
    pub(crate) security_bits: Option<u8>,
    /// The garbling scheme.
    pub(crate) scheme: Option<String>,
    /// The peers that may ask; everybody in [peers] if not given.
    pub(crate) peers: Option<Vec<String>>,
    /// A file for each of this party's inputs.
    #[serde(default)]
    pub(crate) input_files: BTreeMap<String, String>,
    /// Whether rows of the table of a join that lack a value are left out.
    #[serde(default)]
    pub(crate) drop_missing: bool,
    /// The row of that table to keep of several with one key.
    pub(crate) keep: Option<KeptRow>,
    /// A JSON file with this party's inputs.
    pub(crate) inputs_file: Option<PathBuf>,
    /// A command that prints this party's inputs.
    pub(crate) inputs_command: Option<Vec<String>>,
    /// A file that receives this party's results.
    pub(crate) results_file: Option<PathBuf>,
    /// A command that receives this party's results.
    pub(crate) results_command: Option<Vec<String>>,
    /// The longest time of these commands.
    #[serde(default, deserialize_with = "time")]
    pub(crate) command_time: Option<Duration>,
    /// The rate at which each peer may ask.
    #[serde(default, deserialize_with = "parsed_if_given")]
    pub(crate) rate: Option<Rate>,
    /// The longest time of a run.
    #[serde(default, deserialize_with = "time")]
    pub(crate) time_limit: Option<Duration>,
}

impl Served {
    /// Returns the function's name here: `name`, or the names of the function and the run.
    pub(crate) fn shown_name(&self) -> String {
        match (&self.name, &self.entry) {
            (Some(name), _) => name.clone(),
            (None, Some(entry)) => format!("{} {entry}", self.function),
            (None, None) => self.function.clone(),
        }
    }
}

/// A level of material that is kept in stock.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stocked {
    /// A name from the library, or a file. There is none if `ands` gives a number of triples.
    pub(crate) function: Option<String>,
    /// The run of a program; `main` if not given.
    pub(crate) entry: Option<String>,
    /// This party's role.
    #[serde(deserialize_with = "role")]
    pub(crate) role: Role,
    /// The parameters.
    #[serde(default)]
    pub(crate) params: BTreeMap<String, u64>,
    /// The public inputs of a program: values, or `@` and a file.
    #[serde(default)]
    pub(crate) public: BTreeMap<String, String>,
    /// The owner of each input of a circuit.
    #[serde(default)]
    pub(crate) owners: BTreeMap<String, String>,
    /// The recipient of each result of a circuit.
    #[serde(default)]
    pub(crate) results: BTreeMap<String, String>,
    /// The types of a circuit file's ports.
    #[serde(default)]
    pub(crate) types: BTreeMap<String, String>,
    /// The bit order of a circuit file.
    pub(crate) bit_order: Option<String>,
    /// The protocol: `prepared` if not given, `batch`, `gmw`, or `authenticated`, which `ands`
    /// implies.
    pub(crate) protocol: Option<NamedProtocol>,
    /// s of the material for `batch` and `authenticated`.
    pub(crate) security_bits: Option<u8>,
    /// The garbling scheme.
    pub(crate) scheme: Option<String>,
    /// The peers with whom it is kept; everybody in [peers] if not given.
    pub(crate) peers: Option<Vec<String>>,
    /// The number of runs that the stock suffices for.
    pub(crate) runs: Option<u64>,
    /// The number of AND gates of any functions that the triples suffice for, all of one order.
    pub(crate) ands: Option<u64>,
    /// The level at which the stock is refilled; half of `runs`, or of `ands`, if not given.
    pub(crate) refill_below: Option<u64>,
}

impl Stocked {
    /// Returns the name for people.
    pub(crate) fn shown_name(&self) -> &str {
        self.function.as_deref().unwrap_or("triples")
    }
}

/// A column of keys that peers may match with theirs. Its fields correspond to arguments of `tacit
/// match`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Matched {
    /// The file and the name of the column.
    pub(crate) table: String,
    /// The table's name in this service.
    pub(crate) name: Option<String>,
    /// The normalization of keys.
    #[serde(default, deserialize_with = "parsed")]
    pub(crate) normalize: KeyNormalization,
    /// The recipient of the common keys: `both`, or `peer` for the peer alone.
    #[serde(default, deserialize_with = "parsed")]
    pub(crate) to: MatchRecipient,
    /// Whether rows without a key are left out.
    #[serde(default)]
    pub(crate) drop_missing: bool,
    /// The row to keep of several with one key.
    pub(crate) keep: Option<KeptRow>,
    /// The peers that may ask; everybody in [peers] if not given.
    pub(crate) peers: Option<Vec<String>>,
    /// The rate at which each peer may ask.
    #[serde(default, deserialize_with = "parsed_if_given")]
    pub(crate) rate: Option<Rate>,
    /// The longest time of a run.
    #[serde(default, deserialize_with = "time")]
    pub(crate) time_limit: Option<Duration>,
}

impl Matched {
    /// Returns the table's name here.
    pub(crate) fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.table)
    }
}

/// The allowed values of a parameter.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number, a list of numbers, or { min = …, max = … }"
)]
pub(crate) enum Parameter {
    /// This value.
    One(u64),
    /// One of these.
    Among(Vec<u64>),
    /// A value between these, both included.
    Between(Bounds),
}

impl Parameter {
    /// Whether one value is allowed.
    pub(crate) fn is_one(&self) -> bool {
        matches!(self, Self::One(_))
    }
}

/// Bounds of a parameter.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bounds {
    /// The least.
    pub(crate) min: u64,
    /// The greatest.
    pub(crate) max: u64,
}

/// This party's role in what is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum ServedRole {
    /// One of two parties.
    OfTwo(Role),
    /// One of the two servers of thin clients.
    OfThree(Server),
}

impl ServedRole {
    fn name(self) -> &'static str {
        match self {
            Self::OfTwo(role) => role.name(),
            Self::OfThree(server) => server.role().name(),
        }
    }
}

impl TryFrom<String> for ServedRole {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let two = Role::BOTH.map(Self::OfTwo);
        let three = [Server::Generator, Server::Cloud].map(Self::OfThree);
        let mut all = two.into_iter().chain(three);
        all.find(|role| role.name() == name).ok_or_else(|| {
            format!("{name:?} is not a role; write garbler, evaluator, generator or cloud")
        })
    }
}

/// A protocol by its name.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct NamedProtocol(pub(crate) Protocol);

impl TryFrom<String> for NamedProtocol {
    type Error = UnknownProtocol;

    fn try_from(name: String) -> Result<Self, UnknownProtocol> {
        name.parse().map(Self)
    }
}

fn role<'de, D: Deserializer<'de>>(from: D) -> Result<Role, D::Error> {
    required_text(from, args::role)
}

impl Serve {
    /// Returns the audit log, if one is named.
    pub(super) fn audit(&self) -> Result<Option<Audit>, Failure> {
        let is_durable = self.audit_durable;
        if self.audit_file.is_none() && is_durable.is_some() {
            return Err(Failure::usage(
                "[serve] audit_durable: there is no audit_file; name one, or leave this out",
            ));
        }
        let file = self.audit_file.clone();
        Ok(file.map(|file| Audit::new(file, is_durable.unwrap_or(true))))
    }
}
