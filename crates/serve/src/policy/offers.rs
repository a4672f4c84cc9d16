//! What peers may ask for, found by the digest of its function.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tacit::circuit::Digest;
use tacit::garble::SchemeId;
use tacit::protocols::{Protocol, StatisticalSecurity};
use tacit::scheme::default_scheme;
use tacit::session::ProtocolId;
use tacit::stock::{BatchPreparation, check_chain_name};
use tacit::{Fingerprint, Function, Job, Role};

use super::Error;
use crate::inputs::Inputs;
use crate::outsourced::Outsourced;
use crate::rate::Rate;
use crate::results::Results;

/// Most functions, each choice of a program's params counted as one.
pub const MAX_FUNCTIONS: usize = 4096;

/// Functions that peers may ask for, all with the same inputs of this party.
#[derive(Clone)]
pub struct Offer {
    /// What this party calls it.
    pub name: String,
    /// The functions: one, or a program with each choice of params within its bounds.
    pub functions: Vec<Arc<Function>>,
    /// This party's role; the garbler's where it is a server of `outsourced`, which either is to
    /// the evaluator.
    pub role: Role,
    /// The protocols by which they are run: some of those of two parties, or `outsourced` alone.
    pub protocols: Vec<ProtocolId>,
    /// What this party is and keeps as a server of `outsourced`, where it is one.
    pub outsourced: Option<Outsourced>,
    /// Where two parties keep values, if the functions save or load any: of each peer in a chain of
    /// this name. Servers of `outsourced` have theirs.
    pub chain: Option<String>,
    /// Whether a function that saves a value without loading it may discard one that this chain
    /// keeps.
    pub replaces: bool,
    /// s of runs by `batch` and `authenticated`.
    pub security: StatisticalSecurity,
    /// The garbling scheme; that of a [`Job`] for which none was named if `None`.
    pub scheme: Option<SchemeId>,
    /// Who may ask.
    pub peers: BTreeSet<Fingerprint>,
    /// Where this party's inputs come from.
    pub inputs: Arc<dyn Inputs>,
    /// Where this party's results go.
    pub results: Arc<dyn Results>,
    /// How often each peer may ask.
    pub rate: Option<Rate>,
    /// Longest time of a run.
    pub time_limit: Duration,
}

impl Offer {
    /// Whether this peer may ask: a client, or the cloud of which this party is the generator.
    pub(super) fn serves(&self, peer: &Fingerprint) -> bool {
        let outsourced = self.outsourced.as_ref();
        self.peers.contains(peer) || outsourced.is_some_and(|servers| servers.is_cloud(peer))
    }

    /// s of runs by `protocol`, as a proposal says it.
    pub(super) fn security_bits(&self, protocol: ProtocolId) -> u8 {
        match protocol {
            ProtocolId::Batch | ProtocolId::Authenticated => self.security.bits(),
            ProtocolId::Outsourced => self
                .outsourced
                .as_ref()
                .map_or(0, |servers| servers.parameters.statistical_security_bits()),
            _ => 0,
        }
    }
}

/// Where an offered function is, and under which scheme it runs.
#[derive(Clone, Copy)]
pub(super) struct OfferedFunction {
    pub(super) offer: usize,
    pub(super) function: usize,
    pub(super) scheme: SchemeId,
}

pub(super) fn index_offers(
    offers: &[Offer],
) -> Result<HashMap<Digest, Vec<OfferedFunction>>, Error> {
    let mut index: HashMap<Digest, Vec<OfferedFunction>> = HashMap::new();
    let count: usize = offers.iter().map(|offer| offer.functions.len()).sum();
    if count > MAX_FUNCTIONS {
        return Err(Error::OutOfBounds {
            what: "functions, each choice of params counted as one".to_owned(),
            found: count.to_string(),
            expected: format!("at most {MAX_FUNCTIONS}"),
        });
    }
    for (number, offer) in offers.iter().enumerate() {
        for (place, function) in offer.functions.iter().enumerate() {
            check_chain(offer, function)?;
            let same = index.entry(function.digest()).or_default();
            let mut others = same.iter().map(|other| &offers[other.offer]);
            let twice = others.find(|other| {
                other.role == offer.role
                    && other.outsourced.is_some() == offer.outsourced.is_some()
                    && (other.scheme == offer.scheme
                        || other.scheme.is_none()
                        || offer.scheme.is_none())
                    && !other.peers.is_disjoint(&offer.peers)
            });
            if let Some(other) = twice {
                return Err(Error::TwoOffers {
                    one: other.name.clone(),
                    other: offer.name.clone(),
                });
            }
            let scheme = offer.scheme.unwrap_or_else(|| default_scheme(function));
            same.push(OfferedFunction {
                offer: number,
                function: place,
                scheme,
            });
            let what = format!("function {:?}", offer.name);
            if offer.protocols.contains(&ProtocolId::Batch) {
                let order = BatchPreparation::largest(offer.role, function).scheme(scheme);
                let order = order.statistical_security(offer.security);
                order
                    .plan()
                    .map_err(|error| Error::not_for(&what, &error))?;
            }
            if offer.protocols.contains(&ProtocolId::Authenticated) {
                let mut job = Job::new(function, offer.role)
                    .scheme(scheme)
                    .statistical_security(offer.security)
                    .authenticated();
                if let Some(chain) = &offer.chain {
                    job = job.chain(chain);
                }
                job.check().map_err(|error| Error::not_for(&what, &error))?;
            }
        }
        // What a peer may still have is remembered by name.
        let mut others = offers[..number].iter();
        if others.any(|other| other.name == offer.name && !other.peers.is_disjoint(&offer.peers)) {
            let name = offer.name.clone();
            return Err(Error::SameName { name });
        }
    }
    Ok(index)
}

/// Checks that a function of two parties that keeps values has a chain and protocols that keep
/// them, and no other has one. Those of three are checked with their servers.
fn check_chain(offer: &Offer, function: &Function) -> Result<(), Error> {
    let keeps = |id: &ProtocolId| Protocol::of_wire(*id).is_some_and(Protocol::keeps_values);
    let reason = match (&offer.chain, function.has_saved_values()) {
        _ if offer.outsourced.is_some() => return Ok(()),
        (None, false) if !offer.replaces => return Ok(()),
        (None, false) => "replace is of a chain; name one, or leave it out".to_owned(),
        (None, true) => {
            let name = offer.name.clone();
            return Err(Error::SavedValues { name });
        }
        (Some(chain), false) => {
            format!("it neither saves nor loads values; leave out chain = {chain:?}")
        }
        (Some(_), true) if !offer.protocols.iter().all(keeps) => {
            "of its protocols, prepared and authenticated alone keep values; name one of them, or \
             both"
                .to_owned()
        }
        (Some(chain), true) => match check_chain_name(chain) {
            Ok(()) => return Ok(()),
            Err(error) => error.to_string(),
        },
    };
    let what = format!("function {:?}", offer.name);
    Err(Error::NotForProtocol { what, reason })
}
