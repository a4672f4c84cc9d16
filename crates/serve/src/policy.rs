//! The policy of a service: its offers to each peer. It is checked when it is made.

mod error;
mod lanes;
mod levels;
mod limits;
mod offers;
mod tables;
mod visitors;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tacit::circuit::Digest;
use tacit::garble::SchemeId;
use tacit::net::Link;
use tacit::scheme::default_scheme;
use tacit::session::{BaseOt, ChainLanes, LaneHomes, OtDevice, OtExtension, Proposal, ProtocolId};
use tacit::{Fingerprint, Function, Session};

use crate::audit::Audit;
use crate::memory::{self, Memory};
use crate::outsourced::{self, Outsourced};
use crate::rate::Rate;
use crate::visitors::Visitors;

pub use error::Error;
use levels::index_levels;
pub use levels::{Level, MAX_LEVEL_RUNS};
pub use limits::Limits;
use limits::check_limits;
pub(crate) use offers::OfferedFunction;
use offers::index_offers;
pub use offers::{MAX_FUNCTIONS, Offer};
pub use tables::TableOffer;
use tables::check_tables;
pub use tacit::stock::Material;

/// A peer that may connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// This party's name for it.
    pub name: String,
    /// The identity that it must prove.
    pub fingerprint: Fingerprint,
    /// The address at which it listens, if it does. This party then connects to it to fill the
    /// stock.
    pub address: Option<String>,
    /// The link to it. When this party connects, it chooses the OT extension by this link.
    pub link: Option<Link>,
}

/// The offers to peers, and the levels of the stock.
pub struct Policy {
    peers: Vec<Peer>,
    offers: Vec<Offer>,
    levels: Vec<Level>,
    tables: Vec<TableOffer>,
    visitors: Vec<Visitors>,
    limits: Limits,
    base_ot: Option<BaseOt>,
    ot_extension: Option<OtExtension>,
    ot_device: Option<Arc<dyn OtDevice>>,
    lane_homes: LaneHomes,
    chain_lanes: ChainLanes,
    memory: Memory,
    audit: Option<Audit>,
    /// The offered functions, by their digests.
    by_function: HashMap<Digest, Vec<OfferedFunction>>,
    /// The levels and the numbers of runs, by the digest of the order.
    by_order: HashMap<Digest, Vec<(usize, u64)>>,
}

/// A permitted run.
pub(crate) struct Granted<'p> {
    pub(crate) offer: &'p Offer,
    pub(crate) function: &'p Arc<Function>,
    /// The bytes of a run by `gmw`, without its OTs.
    pub(crate) shared_bytes: u64,
}

/// The reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// This party does not offer the function to this peer.
    NotOffered,
    /// This party keeps no such material in stock with this peer. Holds a list of what it keeps.
    NotStocked(String),
    /// This party would run the function with other settings. Holds the proposal that it would
    /// make.
    Otherwise(Proposal),
}

impl Policy {
    /// Makes a policy. Base OTs rest on `base_ot`, or on the peer's choice if it is `None`.
    ///
    /// # Errors
    ///
    /// Offers are ambiguous, peers are unknown, or limits contradict each other.
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
        let runs = (&offers[..], &by_function);
        let memory = Memory::of(&limits, runs, &levels, OtExtension::default())?;
        Ok(Self {
            peers,
            offers,
            levels,
            tables: Vec::new(),
            visitors: Vec::new(),
            limits,
            base_ot,
            ot_extension: None,
            ot_device: None,
            lane_homes: LaneHomes::default(),
            chain_lanes: ChainLanes::default(),
            memory,
            audit: None,
            by_function,
            by_order,
        })
    }

    /// Sets the extension that makes the OTs of all sessions. If it is `None`, the peer chooses,
    /// except for silent OT, which rests on LPN; in sessions that this party starts, it takes the
    /// fastest for the peer's link.
    ///
    /// # Errors
    ///
    /// A run takes more memory than all runs together may.
    pub fn ot_extension(mut self, extension: Option<OtExtension>) -> Result<Self, Error> {
        let used = extension.unwrap_or_default();
        let runs = (&self.offers[..], &self.by_function);
        self.memory = Memory::of(&self.limits, runs, &self.levels, used)?;
        self.ot_extension = extension;
        Ok(self)
    }

    /// Sets the device that makes the OTs of `gmw` in all sessions, if they are silent.
    #[must_use]
    pub fn ot_device(mut self, device: Option<Arc<dyn OtDevice>>) -> Self {
        self.ot_device = device;
        self
    }

    /// Sets the audit log, without which runs are recorded nowhere.
    #[must_use]
    pub fn audited(mut self, audit: Option<Audit>) -> Self {
        self.audit = audit;
        self
    }

    /// Returns the audit log, if there is one.
    #[must_use]
    pub fn audit(&self) -> Option<&Audit> {
        self.audit.as_ref()
    }

    /// Offers tables of this party, which peers may match with theirs.
    ///
    /// # Errors
    ///
    /// An offer has the name of another one for the same peer, or names an unknown peer or visitors
    /// who are not [semi-honest](Visitors::semi_honest).
    pub fn tables(mut self, tables: Vec<TableOffer>) -> Result<Self, Error> {
        check_tables(&self.peers, &self.offers, &tables)?;
        self.tables = tables;
        self.check_strangers()?;
        Ok(self)
    }

    /// Compiles every function now, so that no peer has to wait for that.
    pub(crate) fn compile(&self) {
        let offers = self.offers.iter();
        let offered = offers.flat_map(|offer| offer.functions.iter().chain(&offer.shallow));
        let levels = self.levels.iter();
        let stocked = levels.filter_map(|level| level.material.function());
        offered
            .chain(stocked)
            .for_each(|function| function.compile());
    }

    /// Returns the peers that may connect.
    #[must_use]
    pub fn peers(&self) -> &[Peer] {
        &self.peers
    }

    /// Returns the offers.
    #[must_use]
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// Returns the tables that are offered.
    #[must_use]
    pub fn table_offers(&self) -> &[TableOffer] {
        &self.tables
    }

    /// Returns the number of functions, with the programs that join a table.
    #[must_use]
    pub fn function_count(&self) -> usize {
        let functions = self.offers.iter().map(|offer| offer.functions.len());
        let joins = |offer: &&TableOffer| offer.matching.offered().party.is_some();
        functions.sum::<usize>() + self.tables.iter().filter(joins).count()
    }

    /// Returns the tables that are offered to this peer.
    pub(crate) fn tables_for(&self, peer: &Fingerprint) -> impl Iterator<Item = &TableOffer> {
        self.tables
            .iter()
            .filter(|offer| offer.peers.contains(peer))
    }

    /// Returns the extension that makes the OTs of a run whose proposal is not known yet.
    pub(crate) fn usual_extension(&self) -> OtExtension {
        self.ot_extension.unwrap_or_default()
    }

    /// Returns the levels of the stock.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Returns the limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the bytes that all runs together and those of one peer may take. For a run of three
    /// the second bound is that of all, because the other server comes for all clients.
    pub(crate) fn memory(&self, is_run_of_three: bool) -> [u64; 2] {
        let Memory { all, per_peer } = self.memory;
        [all, if is_run_of_three { all } else { per_peer }]
    }

    /// Returns the largest number of bytes that a preparation with a peer takes.
    pub(crate) fn preparation_bytes(&self, peer: &Fingerprint) -> u64 {
        let extension = self.ot_extension.unwrap_or_default();
        let levels = self.levels.iter().filter(|level| level.peer == *peer);
        let bytes = levels.map(|level| memory::of_level(level, extension));
        bytes.max().unwrap_or_default()
    }

    /// Returns whether runs or preparations read or write the stock.
    pub(crate) fn uses_stock(&self) -> bool {
        let mut protocols = self.offers.iter().flat_map(|offer| &offer.protocols);
        // Runs of `authenticated` count tries in the stock.
        let from_nothing = [ProtocolId::Direct, ProtocolId::Gmw];
        !self.levels.is_empty() || protocols.any(|protocol| !from_nothing.contains(protocol))
    }

    /// Returns the peer with this fingerprint, if it may connect.
    #[must_use]
    pub fn peer(&self, fingerprint: &Fingerprint) -> Option<&Peer> {
        self.peers
            .iter()
            .find(|peer| peer.fingerprint == *fingerprint)
    }

    /// Returns whether `peer` is the other server of an offer, whose sessions are for many
    /// evaluators.
    pub(crate) fn is_server(&self, peer: &Fingerprint) -> bool {
        let servers = self
            .offers
            .iter()
            .filter_map(|offer| offer.outsourced.as_ref());
        servers.into_iter().any(|servers| servers.other == *peer)
    }

    /// Returns the peers that may use the values of the chain.
    pub(crate) fn clients(&self, of: &Outsourced) -> Vec<Fingerprint> {
        outsourced::clients(&self.offers, of).into_iter().collect()
    }

    /// Returns the rate at which a peer may start sessions. The other server of runs of three gets
    /// this rate for each client, and sessions for which a client came do not count.
    pub(crate) fn arrivals(&self, peer: &Fingerprint) -> Rate {
        let Rate { times, per } = self.limits.arrivals;
        let clients = if self.is_server(peer) {
            self.peers.len().saturating_sub(1).max(1)
        } else {
            1
        };
        let times = times.saturating_mul(u32::try_from(clients).unwrap_or(u32::MAX));
        Rate { times, per }
    }

    /// Returns the proposal with this party's settings for OTs.
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

    /// Returns the proposal that this party would make, if the peer proposes other OTs.
    pub(crate) fn other_ots(&self, asked: &Proposal) -> Option<Proposal> {
        let ours = self.with_own_ots(asked);
        let role = asked.role.other();
        (ours != *asked).then_some(Proposal { role, ..ours })
    }

    /// Returns the scheme under which the offer with this number runs one of its functions.
    pub(crate) fn scheme_of(&self, offer: usize, function: &Function) -> SchemeId {
        let offered = self.by_function.get(&function.digest());
        let mut offered = offered.into_iter().flatten();
        let found = offered.find(|place| place.offer == offer);
        found.map_or_else(|| default_scheme(function), |place| place.scheme)
    }

    /// Returns the base OT and the OT extension that this party insists on.
    pub(crate) fn demanded_ots(&self) -> [Option<String>; 2] {
        let base_ot = self.base_ot.map(|kind| kind.to_string());
        [base_ot, self.ot_extension.map(|kind| kind.to_string())]
    }

    /// Before a session's first run, sets its OTs for the settings that the peer proposes.
    pub(crate) fn set_ots_for(
        &self,
        session: &mut Session,
        asked: &Proposal,
    ) -> Result<(), tacit::Error> {
        let ours = self.with_own_ots(asked);
        session.set_base_ot(ours.base_ot)?;
        self.set_ot_device(session);
        session.set_ot_extension(ours.ot_extension)
    }

    fn set_ot_device(&self, session: &mut Session) {
        if let Some(device) = &self.ot_device {
            session.set_ot_device(device.clone());
        }
    }

    /// Returns the base OT and the OT extension of sessions that this party starts. Without a
    /// setting, the link chooses the extension among those that rest on the same.
    pub(crate) fn own_ots(&self) -> (BaseOt, OtExtension) {
        let extension = self.ot_extension.unwrap_or_default();
        (self.base_ot.unwrap_or_default(), extension)
    }

    /// Sets the OTs of a session that this party has started with a peer.
    pub(crate) fn set_own_ots(
        &self,
        session: &mut Session,
        peer: &Fingerprint,
    ) -> Result<(), tacit::Error> {
        session.set_base_ot(self.own_ots().0)?;
        self.set_ot_device(session);
        if let Some(extension) = self.ot_extension {
            session.set_ot_extension(extension)?;
        }
        if let Some(link) = self.peer(peer).and_then(|peer| peer.link) {
            session.set_link(link);
        }
        Ok(())
    }

    /// Returns the run that `peer` asks for, if it is permitted.
    pub(crate) fn run(&self, peer: &Fingerprint, asked: &Proposal) -> Result<Granted<'_>, Denied> {
        let there = self.by_function.get(&asked.function);
        let offers = there.into_iter().flatten();
        let offers = offers.map(|place| (&self.offers[place.offer], place));
        let mut offers = offers.filter(|(offer, _)| offer.serves(peer)).peekable();
        let Some(&(offer, place)) = offers.peek() else {
            return Err(Denied::NotOffered);
        };
        let protocol = if place.protocols.contains(&asked.protocol) {
            asked.protocol
        } else {
            place.protocols.first().copied().unwrap_or(asked.protocol)
        };
        let otherwise = Proposal {
            protocol,
            role: offer.role,
            scheme: place.scheme,
            statistical_security_bits: offer.security_bits(protocol),
            ..self.with_own_ots(asked)
        };
        // A proposal for `gmw` names no scheme.
        let is_shared = asked.protocol == ProtocolId::Gmw;
        let mut fitting = offers.filter(|(offer, place)| {
            offer.role == asked.role.other()
                && (is_shared || place.scheme == asked.scheme)
                && offer.security_bits(asked.protocol) == asked.statistical_security_bits
                && place.protocols.contains(&asked.protocol)
        });
        match fitting.next() {
            Some((offer, place)) if self.with_own_ots(asked) == *asked => Ok(Granted {
                offer,
                function: &place.function,
                shared_bytes: place.shared_bytes,
            }),
            _ => Err(Denied::Otherwise(otherwise)),
        }
    }

    /// Returns the level that `peer` wants filled, and the number of runs or triples.
    pub(crate) fn preparation(
        &self,
        peer: &Fingerprint,
        asked: &Proposal,
    ) -> Result<(&Level, u64), Denied> {
        let there = self.by_order.get(&asked.function).into_iter().flatten();
        let mut levels = there.map(|&(level, amount)| (&self.levels[level], amount));
        let found = levels.find(|(level, _)| {
            level.peer == *peer
                && level.role == asked.role.other()
                && level.stock_scheme() == asked.scheme
                && level.security_bits() == asked.statistical_security_bits
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

    /// Lists the stock levels of a peer, for this party's log: the digest of an order means nothing
    /// to a person.
    fn stocked_with(&self, peer: &Fingerprint) -> String {
        let levels = self.levels.iter().filter(|level| level.peer == *peer);
        let levels: Vec<_> = levels.map(Level::described).collect();
        if levels.is_empty() {
            "nothing".to_owned()
        } else {
            levels.join("; ")
        }
    }
}

fn check_peers(peers: &[Peer], offers: &[Offer], levels: &[Level]) -> Result<(), Error> {
    let known: BTreeSet<_> = peers.iter().map(|peer| peer.fingerprint).collect();
    let offers = offers.iter().flat_map(|offer| {
        let what = format!("function {:?}", offer.name);
        offer.peers.iter().map(move |peer| (what.clone(), *peer))
    });
    let levels = levels
        .iter()
        .map(|level| (format!("the stock for {}", level.name()), level.peer));
    let mut unknown = offers
        .chain(levels)
        .filter(|(_, peer)| !known.contains(peer));
    match unknown.next() {
        Some((what, peer)) => Err(Error::UnknownPeer { what, peer }),
        None => Ok(()),
    }
}
