//! The list of functions and orders that a service tells a peer: those offered to it and kept in
//! stock with it, and nothing about other peers.
//!
//! The answer is JSON. Fields may be added; a reader ignores those that it does not know.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tacit::outsourced::OutsourcedRole;
use tacit::session::{AbortReason, ProtocolId};
use tacit::{Fingerprint, Function, Session};

use crate::policy::{Level, Offer, Policy};
use crate::service::Seat;
use crate::visit::{REFUSED, Turn};

/// The offers of a service to the peer that asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// The functions that the peer may run.
    pub functions: Vec<OfferedFunction>,
    /// The tables with which the peer may match its own.
    #[serde(default)]
    pub tables: Vec<OfferedTable>,
    /// The number of keys of the peer about which such runs may still tell it today, in UTC.
    #[serde(default)]
    pub keys_left: Option<u64>,
    /// The same for a whole day.
    #[serde(default)]
    pub keys_per_day: Option<u64>,
    /// The material that the peer may order.
    pub stock: Vec<OfferedOrder>,
    /// The required base OT; as the peer wants if `None`.
    pub base_ot: Option<String>,
    /// The required OT extension; as the peer wants if `None`.
    pub ot_extension: Option<String>,
}

/// Functions that the peer may run, which differ only in their parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedFunction {
    /// The function's name in the service, without the folder of a file.
    pub name: String,
    /// The peer's role: garbler or evaluator; in a run of three, evaluator or cloud.
    pub role: String,
    /// The peer's name in a program.
    #[serde(default)]
    pub party: Option<String>,
    /// The protocols that may run it.
    pub protocols: Vec<String>,
    /// s of the protocols that have one.
    pub security_bits: Option<u8>,
    /// The chain in which it keeps values.
    pub chain: Option<String>,
    /// The fingerprint of the other server of a run of three.
    pub other_server: Option<String>,
    /// The number of circuits in a run of three.
    pub copies: Option<usize>,
    /// The rate at which the peer may run it.
    pub rate: Option<String>,
    /// The functions, one for each choice of parameters.
    pub choices: Vec<OfferedChoice>,
}

/// A table of the service, with which the peer may match its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedTable {
    /// The table's name in the service, without the folder of a file.
    pub name: String,
    /// The normalization of keys, in plain matching.
    pub normalize: Option<String>,
    /// The recipient of the common keys in plain matching, in the peer's words: `me`, `peer` or
    /// `both`.
    pub to: Option<String>,
    /// The peer's name in a program that joins the tables.
    #[serde(default)]
    pub party: Option<String>,
    /// The digest of what such a program means with the sizes open.
    #[serde(default)]
    pub meaning: Option<String>,
    /// Its parameters that are fixed.
    #[serde(default)]
    pub params: BTreeMap<String, u64>,
    /// The sizes that it leaves open.
    #[serde(default)]
    pub sizes: Vec<OfferedSize>,
    /// The rate at which the peer may match.
    pub rate: Option<String>,
}

/// A size of a table that its owner tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedSize {
    /// The name of the parameter.
    pub name: String,
    /// The smallest value.
    pub minimum: u64,
    /// The largest value.
    pub maximum: u64,
    /// The name of the table.
    pub input: String,
    /// Whether it is the peer's table.
    pub is_peers: bool,
}

/// A function of an offer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedChoice {
    /// Its parameters.
    pub params: BTreeMap<String, u64>,
    /// Its digest, which must be the same at both parties.
    pub digest: String,
    /// The garbling scheme of all protocols except `gmw`.
    pub scheme: String,
    /// Its digest in the form for `gmw`, if `gmw` may run it and that form is another.
    #[serde(default)]
    pub gmw_digest: Option<String>,
}

/// Material that the peer may order for the stock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedOrder {
    /// The function; `None` for triples.
    pub function: Option<String>,
    /// The function's parameters.
    pub params: BTreeMap<String, u64>,
    /// The peer's role.
    pub role: String,
    /// The protocol that takes the material.
    pub protocol: String,
    /// The garbling scheme; `None` for triples and crosses.
    pub scheme: Option<String>,
    /// s, if the protocol has one.
    pub security_bits: Option<u8>,
    /// The largest number of runs or, for triples, of AND gates.
    pub most: u64,
}

/// Answers a peer's question about offers, unless it asks too often.
pub(crate) fn tell(seat: &Seat, policy: &Policy, session: &mut Session) -> Turn {
    let shared = seat.shared();
    if !shared.may_ask(seat.peer) {
        let why = "it asks what it may ask for too often";
        shared.refused(Some(seat.peer), None, "rate", why);
        return Turn::Refuse(AbortReason::TooOften, REFUSED.to_owned());
    }
    let mut offers = Offers::to(policy, &seat.of_policy);
    if let Some(most) = offers.keys_per_day {
        offers.keys_left = Some(shared.keys_left(seat.peer, most));
    }
    let text = serde_json::to_vec(&offers).expect("its fields are text and numbers");
    match session.tell_offers(&text) {
        Ok(()) => Turn::Answered,
        Err(error) => Turn::Failed(error, None),
    }
}

impl Offers {
    /// Asks the service at the other end of a session that this party started.
    ///
    /// # Errors
    ///
    /// Those of [`Session::ask_offers`].
    pub fn ask(session: &mut Session) -> Result<Self, tacit::Error> {
        session.ask_offers(|answer| serde_json::from_slice(answer).ok())
    }

    /// Returns the offers of `policy` to `peer`.
    pub(crate) fn to(policy: &Policy, peer: &Fingerprint) -> Self {
        let offers = policy.offers().iter().enumerate();
        let served = offers.filter(|(_, offer)| offer.serves(peer));
        let levels = policy.levels().iter();
        let [base_ot, ot_extension] = policy.demanded_ots();
        let tables = policy.tables_for(peer).map(|offer| OfferedTable {
            name: without_folder(&offer.name),
            rate: offer.rate.map(|rate| rate.to_string()),
            ..offer.matching.offered()
        });
        let tables: Vec<_> = tables.collect();
        let keys_per_day = policy.keys_per_day(peer);
        Self {
            keys_per_day: (!tables.is_empty()).then_some(keys_per_day),
            keys_left: None,
            tables,
            functions: served
                .map(|(number, offer)| function(policy, (number, offer), peer))
                .collect(),
            stock: levels
                .filter(|level| level.peer == *peer)
                .map(order)
                .collect(),
            base_ot,
            ot_extension,
        }
    }
}

fn function(
    policy: &Policy,
    (number, offer): (usize, &Offer),
    peer: &Fingerprint,
) -> OfferedFunction {
    let servers = offer.outsourced.as_ref();
    let role = match servers {
        None => offer.role.other().name(),
        Some(servers) if servers.is_cloud(peer) => OutsourcedRole::Cloud.name(),
        Some(_) => OutsourcedRole::Evaluator.name(),
    };
    let bits = offer.protocols.iter().map(|id| offer.security_bits(*id));
    // Both forms of a function have the same params, and no two functions of an offer do.
    let shallow = |function: &Function| {
        let mut forms = offer.shallow.iter();
        let form = forms.find(|form| form.parameters() == function.parameters());
        form.map(|form| form.digest())
            .filter(|digest| *digest != function.digest())
    };
    let choices = offer.functions.iter().map(|function| OfferedChoice {
        params: params(function),
        digest: function.digest().to_string(),
        scheme: policy.scheme_of(number, function).to_string(),
        gmw_digest: shallow(function).map(|digest| digest.to_string()),
    });
    OfferedFunction {
        name: without_folder(&offer.name),
        role: role.to_owned(),
        party: offer.peer_party.clone(),
        protocols: offer.protocols.iter().map(ProtocolId::to_string).collect(),
        security_bits: bits.max().filter(|bits| *bits > 0),
        chain: offer
            .chain
            .clone()
            .or_else(|| servers.and_then(|servers| servers.chain.clone())),
        other_server: servers
            .filter(|servers| servers.other != *peer)
            .map(|servers| servers.other.to_string()),
        copies: servers.map(|servers| servers.parameters.copies()),
        rate: offer.rate.map(|rate| rate.to_string()),
        choices: choices.collect(),
    }
}

fn order(level: &Level) -> OfferedOrder {
    let function = level.material.function();
    let (protocol, security) = (level.material.protocol(), level.material.security());
    OfferedOrder {
        function: function.map(|function| without_folder(function.name())),
        params: function
            .map(|function| params(function))
            .unwrap_or_default(),
        role: level.role.other().name().to_owned(),
        protocol: protocol.name().to_owned(),
        scheme: function
            .filter(|_| protocol.is_garbled())
            .map(|_| level.scheme.to_string()),
        security_bits: security.map(|security| security.bits()),
        most: level.amount,
    }
}

fn params(function: &Function) -> BTreeMap<String, u64> {
    function.parameters().iter().cloned().collect()
}

/// Removes from a name the folder of its file, which would reveal something about this machine.
fn without_folder(name: &str) -> String {
    name.rsplit(['/', '\\'])
        .next()
        .unwrap_or_default()
        .to_owned()
}
