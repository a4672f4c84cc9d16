//! The policy of a service: what it does for which peer. It is checked when it is made.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tacit::circuit::Digest;
use tacit::garble::SchemeId;
use tacit::net::Link;
use tacit::protocols::{Protocol, StatisticalSecurity};
use tacit::scheme::default_scheme;
use tacit::session::{BaseOt, OtExtension, Proposal, ProtocolId};
use tacit::stock::{BatchPreparation, Preparation, StockName, Stocks, check_chain_name};
use tacit::{Fingerprint, Function, Job, Role, Session};

use crate::inputs::Inputs;
use crate::memory::Memory;
use crate::outsourced::{self, Outsourced};
use crate::rate::Rate;
use crate::results::Results;

/// Most functions, the members of families counted one by one.
pub const MAX_FUNCTIONS: usize = 4096;
/// Most runs that a level of the stock holds: the orders for fewer runs are known, too.
pub const MAX_LEVEL_RUNS: u64 = 100_000;

/// A peer that may connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// What this party calls it.
    pub name: String,
    /// Who it proves to be.
    pub fingerprint: Fingerprint,
    /// Where it listens, if it does: this party then connects to it to fill the stock.
    pub address: Option<String>,
    /// The link to it, by which this party chooses the OT extension where it connects.
    pub link: Option<Link>,
}

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
    /// The protocols by which they are run: `direct`, `prepared`, `batch`, or `outsourced` alone.
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

/// What there is to be in stock with a peer.
#[derive(Clone)]
pub struct Level {
    /// With whom.
    pub peer: Fingerprint,
    /// This party's role in the runs.
    pub role: Role,
    /// The garbling scheme.
    pub scheme: SchemeId,
    /// What the runs are of.
    pub function: Arc<Function>,
    /// s of checked executions for `batch`; where there is none, components and OTs for `prepared`
    /// are kept.
    pub security: Option<StatisticalSecurity>,
    /// Enough for this many runs after it was filled.
    pub runs: u64,
    /// It is filled when there is enough for fewer than this many.
    pub refill_below: u64,
}

/// Bounds of what peers can take of this party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sessions at once.
    pub sessions: usize,
    /// Sessions of one peer at once.
    pub sessions_per_peer: usize,
    /// Sessions that one peer may begin.
    pub arrivals: Rate,
    /// What one peer may get wrong before it is not heard for a while.
    pub refusals: Rate,
    /// MiB that lots of `authenticated` and silent OTs of all runs take together.
    pub memory_mib: u64,
    /// MiB of these for the runs of one peer; a quarter if `None`, or what the largest run takes
    /// where that is more. The other server of a run of three is not bounded by it.
    pub memory_mib_per_peer: Option<u64>,
    /// For TLS and the greeting.
    pub handshake: Duration,
    /// Between two runs of a session.
    pub idle: Duration,
    /// For the other server and for a turn at a chain, before a run of three.
    pub meeting: Duration,
    /// For each message within a run.
    pub message: Duration,
    /// Preparations at once.
    pub preparations: usize,
    /// How long a preparation may take.
    pub preparation: Duration,
    /// How often the stock is looked at.
    pub look_at_stock: Duration,
    /// Origins of the pages that may come by WebSocket; nobody comes so where there is nothing.
    pub websocket_origins: Option<Arc<[String]>>,
}

impl Limits {
    /// Descriptors that a service within these limits takes at most.
    #[must_use]
    pub fn descriptors(&self) -> u64 {
        // A session has two connections at most, pipes to a command, and a stock's files and index.
        // Handshakes, refusals, metrics and what the process itself has open are the rest.
        12 * self.sessions as u64 + 256
    }

    /// Sessions that the other server of runs of three may have: all but those of one client, and
    /// no fewer than half.
    pub(crate) fn sessions_of_server(&self) -> usize {
        let but_one_clients = self.sessions.saturating_sub(self.sessions_per_peer);
        but_one_clients.max(self.sessions.div_ceil(2))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 64,
            sessions_per_peer: 8,
            arrivals: Rate::per_minute(600),
            refusals: Rate::per_minute(20),
            memory_mib: 4096,
            memory_mib_per_peer: None,
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            meeting: Duration::from_secs(60),
            message: Duration::from_secs(30),
            preparations: 2,
            preparation: Duration::from_secs(600),
            look_at_stock: Duration::from_secs(15),
            websocket_origins: None,
        }
    }
}

/// The reason a policy is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two offers for one peer are called the same.
    #[error("two functions are named {name:?}; give each its own `name`, or different `peers`")]
    SameName {
        /// What they are called.
        name: String,
    },
    /// Two offers are for the same function, peer, role and scheme.
    #[error(
        "functions {one:?} and {other:?} are the same function for the same peer; leave one out, \
         or give them different peers"
    )]
    TwoOffers {
        /// An offer.
        one: String,
        /// Another.
        other: String,
    },
    /// An offer or level names a peer that may not connect.
    #[error("{what} names {peer}, which is none of the peers; add it to [peers]")]
    UnknownPeer {
        /// What names it.
        what: String,
        /// The peer.
        peer: Fingerprint,
    },
    /// A value is out of its bounds.
    #[error("{what}: {found}, where {expected} is expected; change it")]
    OutOfBounds {
        /// What it is of.
        what: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A protocol cannot run a function as it is to be run.
    #[error("{what}: {reason}")]
    NotForProtocol {
        /// What it is of.
        what: String,
        /// What is in the way.
        reason: String,
    },
    /// `outsourced` cannot run an offer as it is to be run.
    #[error("{what}: {reason}")]
    NotForOutsourced {
        /// What it is of.
        what: String,
        /// What is in the way, and what to do.
        reason: String,
    },
    /// A function keeps values, and nothing says where.
    #[error(
        "function {name:?} keeps values between runs; name a `chain`, and protocols = \
         [\"prepared\"], or [\"authenticated\"] where a peer may cheat, or serve it with role = \
         \"generator\" or \"cloud\""
    )]
    SavedValues {
        /// The offer.
        name: String,
    },
}

/// Who may ask for what, and what is kept in stock.
pub struct Policy {
    peers: Vec<Peer>,
    offers: Vec<Offer>,
    levels: Vec<Level>,
    limits: Limits,
    base_ot: Option<BaseOt>,
    ot_extension: Option<OtExtension>,
    keeps_base_ots: bool,
    memory: Memory,
    /// Offers and the place of the function in them, by function.
    by_function: HashMap<Digest, Vec<OfferedFunction>>,
    /// Levels and numbers of runs, by what is ordered.
    by_order: HashMap<Digest, Vec<(usize, u64)>>,
}

/// Where an offered function is, and under which scheme it runs.
#[derive(Clone, Copy)]
struct OfferedFunction {
    offer: usize,
    function: usize,
    scheme: SchemeId,
}

/// A run that may be.
pub(crate) struct Granted<'p> {
    pub(crate) offer: &'p Offer,
    pub(crate) function: &'p Arc<Function>,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// It is nothing that this party offers to this peer.
    NotOffered,
    /// It is no order that this party keeps in stock with this peer: what it keeps.
    NotStocked(String),
    /// This party would run the function otherwise: what it would propose.
    Otherwise(Proposal),
}

impl Policy {
    /// A policy. Base OTs rest on `base_ot`, or on what the peer says where it is `None`.
    ///
    /// # Errors
    ///
    /// Offers that cannot be told apart, peers that are not known, bounds that make no sense.
    pub fn new(
        peers: Vec<Peer>,
        offers: Vec<Offer>,
        levels: Vec<Level>,
        limits: Limits,
        base_ot: Option<BaseOt>,
    ) -> Result<Self, Error> {
        check_limits(&limits)?;
        check_peers(&peers, &offers, &levels)?;
        outsourced::check(&peers, &offers)?;
        let by_function = index_offers(&offers)?;
        let by_order = index_levels(&levels)?;
        let memory = Memory::of(&limits, &offers, OtExtension::default())?;
        Ok(Self {
            peers,
            offers,
            levels,
            limits,
            base_ot,
            ot_extension: None,
            keeps_base_ots: true,
            memory,
            by_function,
            by_order,
        })
    }

    /// The same with OTs made by `extension` in all sessions. Where it is `None` they are made as
    /// the peer says, but for silent OT, which rests on LPN; in sessions that this party begins, as
    /// is the fastest over the peer's link.
    ///
    /// # Errors
    ///
    /// A run takes more memory than all may together.
    pub fn ot_extension(mut self, extension: Option<OtExtension>) -> Result<Self, Error> {
        let used = extension.unwrap_or_default();
        self.memory = Memory::of(&self.limits, &self.offers, used)?;
        self.ot_extension = extension;
        Ok(self)
    }

    /// The same, keeping base OTs in memory for later sessions with peers that keep them too, or
    /// not. A policy keeps them unless it is told otherwise.
    #[must_use]
    pub fn keep_base_ots(mut self, keep: bool) -> Self {
        self.keeps_base_ots = keep;
        self
    }

    /// Whether base OTs are kept.
    pub(crate) fn keeps_base_ots(&self) -> bool {
        self.keeps_base_ots
    }

    /// Compiles every function now, so that no peer waits for it.
    pub(crate) fn compile(&self) {
        let offered = self.offers.iter().flat_map(|offer| &offer.functions);
        let stocked = self.levels.iter().map(|level| &level.function);
        offered
            .chain(stocked)
            .for_each(|function| function.compile());
    }

    /// Everybody who may connect.
    #[must_use]
    pub fn peers(&self) -> &[Peer] {
        &self.peers
    }

    /// The offers.
    #[must_use]
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// What there is to be in stock.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The bounds.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What runs may take of memory: together, and those of one peer. The other server of a run of
    /// three comes for everybody.
    pub(crate) fn memory(&self, is_run_of_three: bool) -> [u64; 2] {
        let Memory { all, per_peer } = self.memory;
        [all, if is_run_of_three { all } else { per_peer }]
    }

    /// Who this is, if it may connect.
    #[must_use]
    pub fn peer(&self, fingerprint: &Fingerprint) -> Option<&Peer> {
        self.peers
            .iter()
            .find(|peer| peer.fingerprint == *fingerprint)
    }

    /// Whether this is the other server of an offer, whose sessions are those of many evaluators.
    pub(crate) fn is_server(&self, peer: &Fingerprint) -> bool {
        let servers = self
            .offers
            .iter()
            .filter_map(|offer| offer.outsourced.as_ref());
        servers.into_iter().any(|servers| servers.other == *peer)
    }

    /// The peers that may use the values of the chain: those that may ask for any offer of it.
    pub(crate) fn clients(&self, of: &Outsourced) -> Vec<Fingerprint> {
        let offers = self.offers.iter().filter(|offer| {
            let outsourced = offer.outsourced.as_ref();
            outsourced.is_some_and(|other| (other.other, &other.chain) == (of.other, &of.chain))
        });
        let clients: BTreeSet<_> = offers.flat_map(|offer| &offer.peers).copied().collect();
        clients.into_iter().collect()
    }

    /// What is asked for, with OTs as this party has them.
    fn with_own_ots(&self, asked: &Proposal) -> Proposal {
        let usual = match asked.ot_extension {
            OtExtension::Silent => OtExtension::default(),
            theirs => theirs,
        };
        Proposal {
            base_ot: self.base_ot.unwrap_or(asked.base_ot),
            ot_extension: self.ot_extension.unwrap_or(usual),
            ..*asked
        }
    }

    /// Tells a session, before its first run, how OTs are made where the peer asks for this.
    pub(crate) fn set_ots_for(
        &self,
        session: &mut Session,
        asked: &Proposal,
    ) -> Result<(), tacit::Error> {
        let ours = self.with_own_ots(asked);
        session.set_base_ot(ours.base_ot)?;
        session.set_ot_extension(ours.ot_extension)
    }

    /// Tells a session that this party has started with a peer how OTs are made.
    pub(crate) fn set_own_ots(
        &self,
        session: &mut Session,
        peer: &Fingerprint,
    ) -> Result<(), tacit::Error> {
        session.set_base_ot(self.base_ot.unwrap_or_default())?;
        if let Some(extension) = self.ot_extension {
            session.set_ot_extension(extension)?;
        }
        if let Some(link) = self.peer(peer).and_then(|peer| peer.link) {
            session.set_link(link);
        }
        Ok(())
    }

    /// Whether `peer` may have the run that it asks for.
    pub(crate) fn run(&self, peer: &Fingerprint, asked: &Proposal) -> Result<Granted<'_>, Denied> {
        let there = self.by_function.get(&asked.function);
        let offers = there.into_iter().flatten().map(|place| {
            let offer = &self.offers[place.offer];
            (offer, &offer.functions[place.function], place)
        });
        let mut offers = offers.filter(|(offer, ..)| offer.serves(peer)).peekable();
        let Some(&(offer, _, place)) = offers.peek() else {
            return Err(Denied::NotOffered);
        };
        let protocol = match offer.protocols.contains(&asked.protocol) {
            true => asked.protocol,
            false => offer.protocols.first().copied().unwrap_or(asked.protocol),
        };
        let otherwise = Proposal {
            protocol,
            role: offer.role,
            scheme: place.scheme,
            statistical_security_bits: offer.security_bits(protocol),
            ..self.with_own_ots(asked)
        };
        let mut fitting = offers.filter(|(offer, _, place)| {
            offer.role == asked.role.other()
                && place.scheme == asked.scheme
                && offer.security_bits(asked.protocol) == asked.statistical_security_bits
                && offer.protocols.contains(&asked.protocol)
        });
        match fitting.next() {
            Some((offer, function, _)) if self.with_own_ots(asked) == *asked => {
                Ok(Granted { offer, function })
            }
            _ => Err(Denied::Otherwise(otherwise)),
        }
    }

    /// The level that `peer` wants filled, and for how many runs.
    pub(crate) fn preparation(
        &self,
        peer: &Fingerprint,
        asked: &Proposal,
    ) -> Result<(&Level, u64), Denied> {
        let there = self.by_order.get(&asked.function).into_iter().flatten();
        let mut levels = there.map(|&(level, runs)| (&self.levels[level], runs));
        let found = levels.find(|(level, _)| {
            level.peer == *peer
                && level.role == asked.role.other()
                && level.scheme == asked.scheme
                && level.security.map_or(0, StatisticalSecurity::bits)
                    == asked.statistical_security_bits
        });
        let ours = self.with_own_ots(asked);
        match found {
            None => Err(Denied::NotStocked(self.stocked_with(peer))),
            Some(found) if ours == *asked => Ok(found),
            Some((level, _)) => Err(Denied::Otherwise(Proposal {
                role: level.role,
                ..ours
            })),
        }
    }

    /// What is kept in stock with a peer, for this party's log: an order is a digest that says
    /// nothing to a person.
    fn stocked_with(&self, peer: &Fingerprint) -> String {
        let levels = self.levels.iter().filter(|level| level.peer == *peer);
        let levels = levels.map(|level| {
            let (role, scheme) = (level.role.other().name(), level.scheme);
            let (name, runs) = (level.function.name(), level.runs);
            format!("{name} as {role} under {scheme}, up to {runs} runs")
        });
        let levels: Vec<_> = levels.collect();
        match levels.is_empty() {
            true => "nothing".to_owned(),
            false => levels.join("; "),
        }
    }
}

impl Offer {
    /// Whether this peer may ask: a client, or the cloud of which this party is the generator.
    fn serves(&self, peer: &Fingerprint) -> bool {
        let outsourced = self.outsourced.as_ref();
        self.peers.contains(peer) || outsourced.is_some_and(|servers| servers.is_cloud(peer))
    }

    /// s of runs by `protocol`, as a proposal says it.
    fn security_bits(&self, protocol: ProtocolId) -> u8 {
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

/// An order that fills a level.
pub(crate) enum Order<'l> {
    Components(Preparation<'l>),
    Executions(BatchPreparation<'l>),
}

impl Order<'_> {
    fn digest(&self) -> Digest {
        match self {
            Self::Components(order) => order.digest(),
            Self::Executions(order) => order.digest(),
        }
    }

    /// Fills it over `session`; how many instances or executions were made.
    pub(crate) fn run(
        self,
        session: &mut Session,
        stocks: &Stocks,
        within: Duration,
    ) -> Result<u64, tacit::Error> {
        let prepared = match self {
            Self::Components(order) => order.time_limit(within).run(session, stocks),
            Self::Executions(order) => order.time_limit(within).run(session, stocks),
        };
        Ok(prepared?.made())
    }
}

impl Level {
    /// The order for `runs` runs.
    pub(crate) fn order(&self, runs: u64) -> Result<Order<'_>, tacit::Error> {
        Ok(match self.security {
            None => {
                let order = Preparation::new(self.role).scheme(self.scheme);
                Order::Components(order.enough_for(&self.function, runs)?)
            }
            Some(security) => {
                let order = BatchPreparation::new(self.role, &self.function, runs);
                Order::Executions(order.scheme(self.scheme).statistical_security(security))
            }
        })
    }

    /// For how many runs there is enough.
    pub(crate) fn runs_left(&self, stocks: &Stocks, own: Fingerprint) -> Result<u64, tacit::Error> {
        let (name, function) = (self.stock(own), &self.function);
        match self.security {
            None => stocks.runs_left(&name, function),
            Some(security) => stocks.executions_left(&name, function, security),
        }
    }

    /// What it is called in events and metrics.
    pub(crate) fn name(&self) -> String {
        let function = self.function.name();
        match self.security {
            None => function.to_owned(),
            Some(s) => format!("{function}, checked executions at s = {s}"),
        }
    }

    /// The stock of which party `own` it is.
    pub(crate) fn stock(&self, own: Fingerprint) -> StockName {
        StockName {
            own,
            peer: self.peer,
            role: self.role,
            scheme: self.scheme,
        }
    }
}

fn check_limits(limits: &Limits) -> Result<(), Error> {
    let counts = [
        ("sessions", limits.sessions, 4096),
        (
            "sessions_per_peer",
            limits.sessions_per_peer,
            limits.sessions,
        ),
        ("preparations", limits.preparations, 64),
    ];
    for (what, found, most) in counts {
        if !(1..=most).contains(&found) {
            return Err(Error::OutOfBounds {
                what: what.to_owned(),
                found: found.to_string(),
                expected: format!("1 to {most}"),
            });
        }
    }
    Ok(())
}

fn check_peers(peers: &[Peer], offers: &[Offer], levels: &[Level]) -> Result<(), Error> {
    let known: BTreeSet<_> = peers.iter().map(|peer| peer.fingerprint).collect();
    let offers = offers.iter().flat_map(|offer| {
        let what = format!("function {:?}", offer.name);
        offer.peers.iter().map(move |peer| (what.clone(), *peer))
    });
    let levels = levels.iter().map(|level| {
        (
            format!("the stock for {}", level.function.name()),
            level.peer,
        )
    });
    let mut unknown = offers
        .chain(levels)
        .filter(|(_, peer)| !known.contains(peer));
    match unknown.next() {
        Some((what, peer)) => Err(Error::UnknownPeer { what, peer }),
        None => Ok(()),
    }
}

fn index_offers(offers: &[Offer]) -> Result<HashMap<Digest, Vec<OfferedFunction>>, Error> {
    let mut index: HashMap<Digest, Vec<OfferedFunction>> = HashMap::new();
    let count: usize = offers.iter().map(|offer| offer.functions.len()).sum();
    if count > MAX_FUNCTIONS {
        return Err(Error::OutOfBounds {
            what: "functions, the members of families counted".to_owned(),
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
            if offer.protocols.contains(&ProtocolId::Batch) {
                let order = BatchPreparation::new(offer.role, function, 1).scheme(scheme);
                let order = order.statistical_security(offer.security);
                check_batch(&format!("function {:?}", offer.name), &order)?;
            }
            if offer.protocols.contains(&ProtocolId::Authenticated) {
                let mut job = Job::new(function, offer.role)
                    .scheme(scheme)
                    .statistical_security(offer.security)
                    .authenticated();
                if let Some(chain) = &offer.chain {
                    job = job.chain(chain);
                }
                job.check().map_err(|error| Error::NotForProtocol {
                    what: format!("function {:?}", offer.name),
                    reason: error.to_string(),
                })?;
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

/// Checks that `batch` can run a function as it is to be run.
fn check_batch(what: &str, order: &BatchPreparation<'_>) -> Result<(), Error> {
    order
        .plan()
        .map(drop)
        .map_err(|error| Error::NotForProtocol {
            what: what.to_owned(),
            reason: error.to_string(),
        })
}

fn index_levels(levels: &[Level]) -> Result<HashMap<Digest, Vec<(usize, u64)>>, Error> {
    let mut index: HashMap<Digest, Vec<(usize, u64)>> = HashMap::new();
    // Peers with the same level have the same orders.
    let mut orders: BTreeMap<([u8; 32], Option<StatisticalSecurity>, u64), Vec<Digest>> =
        BTreeMap::new();
    for (number, level) in levels.iter().enumerate() {
        let what = format!("the stock for {}", level.name());
        if !(1..=MAX_LEVEL_RUNS).contains(&level.runs) {
            return Err(Error::OutOfBounds {
                what: format!("{what}: runs"),
                found: level.runs.to_string(),
                expected: format!("1 to {MAX_LEVEL_RUNS}"),
            });
        }
        if level.refill_below > level.runs {
            return Err(Error::OutOfBounds {
                what: format!("{what}: refill_below"),
                found: level.refill_below.to_string(),
                expected: format!("at most its runs, {}", level.runs),
            });
        }
        if let Ok(Order::Executions(order)) = level.order(level.runs) {
            check_batch(&what, &order)?;
        }
        let key = (level.function.digest().0, level.security, level.runs);
        let digests = match orders.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let digests = (1..=level.runs).map(|runs| Ok(level.order(runs)?.digest()));
                let digests: Result<Vec<_>, tacit::Error> = digests.collect();
                new.insert(digests.map_err(|_| Error::SavedValues {
                    name: level.function.name().to_owned(),
                })?)
            }
        };
        for (digest, runs) in digests.iter().zip(1..) {
            index.entry(*digest).or_default().push((number, runs));
        }
    }
    Ok(index)
}
