//! What a peer is told that it may ask for: what is offered to it and kept in stock with it, and
//! nothing of what other peers may.
//!
//! The answer is JSON. Fields may be added; a reader passes over those that it does not know.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tacit::outsourced::OutsourcedRole;
use tacit::session::{AbortReason, ProtocolId};
use tacit::{Fingerprint, Function, Session};

use crate::policy::{Level, Material, Offer, Policy};
use crate::service::Seat;
use crate::visit::{REFUSED, Turn};

/// What a service offers the peer that asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// What it may run.
    pub functions: Vec<OfferedFunction>,
    /// What it may order.
    pub stock: Vec<OfferedOrder>,
    /// On what base OTs have to rest; as the peer wants if `None`.
    pub base_ot: Option<String>,
    /// How OTs have to be made; as the peer wants if `None`.
    pub ot_extension: Option<String>,
}

/// Functions that the peer may run, which differ in their parameters alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedFunction {
    /// What the service calls it, without the folder of a file.
    pub name: String,
    /// The peer's role: garbler or evaluator; in a run of three, evaluator or cloud.
    pub role: String,
    /// The protocols by which it may be run.
    pub protocols: Vec<String>,
    /// s of the protocols that have one.
    pub security_bits: Option<u8>,
    /// The chain in which it keeps values.
    pub chain: Option<String>,
    /// The fingerprint of the other server of a run of three.
    pub other_server: Option<String>,
    /// How many circuits a run of three takes.
    pub copies: Option<usize>,
    /// How often the peer may run it.
    pub rate: Option<String>,
    /// The functions.
    pub choices: Vec<OfferedChoice>,
}

/// One function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedChoice {
    /// Its parameters.
    pub params: BTreeMap<String, u64>,
    /// Its digest, which both parties have to have.
    pub digest: String,
    /// The garbling scheme under which it runs, but for `gmw`.
    pub scheme: String,
    /// Its digest in the form for `gmw`, where that is another and it may be run so.
    #[serde(default)]
    pub gmw_digest: Option<String>,
}

/// What the peer may order for the stock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedOrder {
    /// The function; `None` for triples.
    pub function: Option<String>,
    /// The function's parameters.
    pub params: BTreeMap<String, u64>,
    /// The peer's role.
    pub role: String,
    /// The protocol that takes what is ordered.
    pub protocol: String,
    /// The garbling scheme; `None` for triples.
    pub scheme: Option<String>,
    /// s, if the protocol has one.
    pub security_bits: Option<u8>,
    /// Most runs or, of triples, AND gates.
    pub most: u64,
}

/// Answers a peer that asks, unless it asks too often.
pub(crate) fn tell(seat: &Seat, policy: &Policy, session: &mut Session) -> Turn {
    let shared = seat.shared();
    if !shared.may_ask(seat.peer) {
        let why = "it asks what it may ask for too often";
        shared.refused(Some(seat.peer), None, "rate", why);
        return Turn::Refuse(AbortReason::TooOften, REFUSED.to_owned());
    }
    let offers = Offers::to(policy, &seat.peer);
    let text = serde_json::to_vec(&offers).expect("its fields are text and numbers");
    match session.tell_offers(&text) {
        Ok(()) => Turn::Answered,
        Err(error) => Turn::Failed(error, None),
    }
}

impl Offers {
    /// Asks the service at the other end of a session that this party began.
    ///
    /// # Errors
    ///
    /// As [`Session::ask_offers`].
    pub fn ask(session: &mut Session) -> Result<Self, tacit::Error> {
        session.ask_offers(|answer| serde_json::from_slice(answer).ok())
    }

    /// What `policy` offers `peer`.
    pub(crate) fn to(policy: &Policy, peer: &Fingerprint) -> Self {
        let offers = policy.offers().iter().enumerate();
        let served = offers.filter(|(_, offer)| offer.serves(peer));
        let levels = policy.levels().iter();
        let [base_ot, ot_extension] = policy.demanded_ots();
        Self {
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
    // Both forms of a function have the same params, and no two functions of an offer have.
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
    let (protocol, security) = match level.material {
        Material::Components(_) => (ProtocolId::Prepared, None),
        Material::Executions(_, security) => (ProtocolId::Batch, Some(security)),
        Material::Lots(_, security) | Material::Triples(security) => {
            (ProtocolId::Authenticated, Some(security))
        }
    };
    OfferedOrder {
        function: function.map(|function| without_folder(function.name())),
        params: function
            .map(|function| params(function))
            .unwrap_or_default(),
        role: level.role.other().name().to_owned(),
        protocol: protocol.to_string(),
        scheme: function.map(|_| level.scheme.to_string()),
        security_bits: security.map(|security| security.bits()),
        most: level.amount,
    }
}

fn params(function: &Function) -> BTreeMap<String, u64> {
    function.parameters().iter().cloned().collect()
}

/// A name without the folder of a file that it is made of, which tells of this machine.
fn without_folder(name: &str) -> String {
    name.rsplit(['/', '\\'])
        .next()
        .unwrap_or_default()
        .to_owned()
}
