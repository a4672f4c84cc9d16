//! The offers to peers, found by the digest of a function.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tacit::circuit::Digest;
use tacit::cost::gmw_memory_bytes;
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

/// The largest number of functions. Each choice of a program's params counts as one.
pub const MAX_FUNCTIONS: usize = 4096;

/// Functions that peers may ask for, all with the same inputs of this party.
#[derive(Clone)]
pub struct Offer {
    /// This party's name for the offer.
    pub name: String,
    /// The functions: one, or a program with each choice of params within its bounds.
    pub functions: Vec<Arc<Function>>,
    /// The same functions in the [form](Protocol::circuit_form) for `gmw`, if other protocols run
    /// them too. If the list is empty, all protocols run the same functions.
    pub shallow: Vec<Arc<Function>>,
    /// This party's role. A server of `outsourced` has the garbler's, which both servers are to the
    /// evaluator.
    pub role: Role,
    /// The peer's name in a program, if the functions are one.
    pub peer_party: Option<String>,
    /// The protocols that run them: some of those of two parties, or `outsourced` alone.
    pub protocols: Vec<ProtocolId>,
    /// This party's settings as a server of `outsourced`, if it is one.
    pub outsourced: Option<Outsourced>,
    /// The chain in which two parties keep values, if the functions save or load any: one of this
    /// name with each peer. Servers of `outsourced` have a chain in their own settings.
    pub chain: Option<String>,
    /// Whether a function may discard a value of this chain by saving it without loading it.
    pub replaces: bool,
    /// s of runs by `batch` and `authenticated`.
    pub security: StatisticalSecurity,
    /// The garbling scheme; `None` means the default of a [`Job`].
    pub scheme: Option<SchemeId>,
    /// The peers that may ask.
    pub peers: BTreeSet<Fingerprint>,
    /// The source of this party's inputs.
    pub inputs: Arc<dyn Inputs>,
    /// The destination of this party's results.
    pub results: Arc<dyn Results>,
    /// The rate at which each peer may ask.
    pub rate: Option<Rate>,
    /// Longest time of a run.
    pub time_limit: Duration,
}

impl Offer {
    /// Returns whether this peer may ask: a client, or the cloud if this party is the generator.
    pub(crate) fn serves(&self, peer: &Fingerprint) -> bool {
        let outsourced = self.outsourced.as_ref();
        self.peers.contains(peer) || outsourced.is_some_and(|servers| servers.is_cloud(peer))
    }

    /// Returns every function in each form, with the protocols that run it.
    pub fn forms(&self) -> impl Iterator<Item = (&Arc<Function>, Vec<ProtocolId>)> {
        let digests = |of: &[Arc<Function>]| -> HashSet<Digest> {
            of.iter().map(|function| function.digest()).collect()
        };
        let [small, shallow] = [&self.functions, &self.shallow].map(|of| digests(of));
        let small_forms = self.functions.iter().map(move |function| {
            let has_gmw = shallow.is_empty() || shallow.contains(&function.digest());
            let protocols = self.protocols.iter().copied();
            let protocols = protocols.filter(|id| has_gmw || *id != ProtocolId::Gmw);
            (function, protocols.collect())
        });
        let others = self.shallow.iter();
        let others = others.filter(move |function| !small.contains(&function.digest()));
        small_forms.chain(others.map(|function| (function, vec![ProtocolId::Gmw])))
    }

    /// Returns the s of runs by `protocol` in the form of a proposal.
    pub(crate) fn security_bits(&self, protocol: ProtocolId) -> u8 {
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

/// An offered function with its settings.
#[derive(Clone)]
pub(crate) struct OfferedFunction {
    /// The offer's number.
    pub(crate) offer: usize,
    pub(crate) function: Arc<Function>,
    pub(crate) protocols: Vec<ProtocolId>,
    pub(crate) scheme: SchemeId,
    /// The bytes of a run by `gmw`, without its OTs.
    pub(crate) shared_bytes: u64,
}

pub(super) fn index_offers(
    offers: &[Offer],
) -> Result<HashMap<Digest, Vec<OfferedFunction>>, Error> {
    let mut index: HashMap<Digest, Vec<OfferedFunction>> = HashMap::new();
    let counts = offers
        .iter()
        .map(|offer| offer.functions.len().max(offer.shallow.len()));
    let count: usize = counts.sum();
    if count > MAX_FUNCTIONS {
        return Err(Error::OutOfBounds {
            what: "functions, each choice of params counted as one".to_owned(),
            found: count.to_string(),
            expected: format!("at most {MAX_FUNCTIONS}"),
        });
    }
    for (number, offer) in offers.iter().enumerate() {
        for (function, protocols) in offer.forms() {
            check_chain(offer, function)?;
            let same = index.entry(function.digest()).or_default();
            let has_gmw = |protocols: &[ProtocolId]| protocols.contains(&ProtocolId::Gmw);
            let mut others = same.iter().map(|other| {
                // Under `gmw` no scheme tells them apart.
                let is_same = has_gmw(&other.protocols) && has_gmw(&protocols);
                (&offers[other.offer], is_same)
            });
            let twice = others.find(|(other, is_same)| {
                other.role == offer.role
                    && other.outsourced.is_some() == offer.outsourced.is_some()
                    && (other.scheme == offer.scheme
                        || other.scheme.is_none()
                        || offer.scheme.is_none()
                        || *is_same)
                    && !other.peers.is_disjoint(&offer.peers)
            });
            if let Some((other, _)) = twice {
                return Err(Error::TwoOffers {
                    one: other.name.clone(),
                    other: offer.name.clone(),
                });
            }
            let scheme = offer.scheme.unwrap_or_else(|| default_scheme(function));
            let what = format!("function {:?}", offer.name);
            let mut shared_bytes = 0;
            if has_gmw(&protocols) {
                let bytes = gmw_memory_bytes(function);
                shared_bytes = bytes.map_err(|error| Error::not_for(&what, &error))?;
            }
            check_malicious((offer, scheme), function, &protocols)?;
            same.push(OfferedFunction {
                offer: number,
                function: Arc::clone(function),
                protocols,
                scheme,
                shared_bytes,
            });
        }
        // The remaining rate of a peer is recorded under the offer's name.
        let mut others = offers[..number].iter();
        if others.any(|other| other.name == offer.name && !other.peers.is_disjoint(&offer.peers)) {
            let name = offer.name.clone();
            return Err(Error::SameName { name });
        }
    }
    Ok(index)
}

/// Checks that the protocols against a malicious party can run a function with the offer's
/// settings.
fn check_malicious(
    (offer, scheme): (&Offer, SchemeId),
    function: &Function,
    protocols: &[ProtocolId],
) -> Result<(), Error> {
    let what = format!("function {:?}", offer.name);
    if protocols.contains(&ProtocolId::Batch) {
        let order = BatchPreparation::largest(offer.role, function).scheme(scheme);
        let order = order.statistical_security(offer.security);
        order
            .plan()
            .map_err(|error| Error::not_for(&what, &error))?;
    }
    if protocols.contains(&ProtocolId::Authenticated) {
        let mut job = Job::new(function, offer.role)
            .scheme(scheme)
            .statistical_security(offer.security)
            .authenticated();
        if let Some(chain) = &offer.chain {
            job = job.chain(chain);
        }
        job.check().map_err(|error| Error::not_for(&what, &error))?;
    }
    Ok(())
}

/// Checks that a function of two parties has a chain, and protocols that keep values, if and only
/// if it keeps values. Functions of three parties are checked with their servers.
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
            "of its protocols, only prepared and authenticated keep values; name one or both"
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
