//! Runs of three parties, in which this party is the generator or the cloud.
//!
//! The evaluator is the client. It asks both servers for the same run and sends both its
//! [`RunTicket`](tacit::outsourced::RunTicket).
//!
//! | server | steps |
//! |---|---|
//! | cloud | waits for its turn at the chain, connects to the generator, and sends it the ticket |
//! | generator | lets the cloud's link wait for the evaluator's link (`lobby`), and runs |
//!
//! So the cloud decides the order of the runs of a chain, and the generator follows. A client that
//! does not come to both, stalls or leaves ends only its own run. An error counts against the
//! client, unless an abort of the other server reports it: there are many clients but only one
//! other server, without which no client is served.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::time::Duration;

use tacit::net::Lane;
use tacit::outsourced::{OutsourcedJob, OutsourcedParameters, OutsourcedRole};
use tacit::session::{AbortReason, Proposal, ProtocolId, RunId};
use tacit::stock::{MAX_OPEN_TO, check_chain_name};
use tacit::{Error, Fingerprint, Outcome, Role, Session, Settings};

use crate::audit;
use crate::inputs::RunRequest;
use crate::lobby::{ChainKey, Lent, NoTurn, Turn as ChainTurn};
use crate::policy::{self, Granted, Offer, Peer, Policy};
use crate::service::{Seat, Shared, settings};
use crate::visit::{REFUSAL_TIME, REFUSED, Turn, asked_for, busy, finish, inputs_of, may_run};

/// The longest wait for the generator to answer.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// This party's part, out of the two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// It garbles.
    Generator,
    /// It evaluates and checks.
    Cloud,
}

impl Server {
    /// Returns its role in a run.
    #[must_use]
    pub const fn role(self) -> OutsourcedRole {
        match self {
            Self::Generator => OutsourcedRole::Generator,
            Self::Cloud => OutsourcedRole::Cloud,
        }
    }
}

/// The settings of an offer for runs of three.
#[derive(Clone, Debug)]
pub struct Outsourced {
    /// This party's part.
    pub server: Server,
    /// The other server. A cloud connects to it.
    pub other: Fingerprint,
    /// The number of circuits and the security, which clients and the other server must agree on.
    pub parameters: OutsourcedParameters,
    /// The chain of saved values, if the functions save or load any. Offers with the same chain and
    /// other server share it, and its values are for the clients of all these offers.
    pub chain: Option<String>,
    /// Whether a function may replace a value of the chain by saving it without loading it.
    pub replaces: bool,
    /// The threads of a run.
    pub threads: NonZeroUsize,
}

impl Outsourced {
    /// Returns whether `peer` is the cloud of this party, which is the generator.
    pub(crate) fn is_cloud(&self, peer: &Fingerprint) -> bool {
        self.server == Server::Generator && self.other == *peer
    }

    fn other_name(&self) -> &'static str {
        match self.server {
            Server::Generator => "cloud",
            Server::Cloud => "generator",
        }
    }

    fn key(&self) -> Option<ChainKey> {
        self.chain.clone().map(|chain| (self.other, chain))
    }
}

/// Checks the settings of all offers for runs of three.
pub(crate) fn check(peers: &[Peer], offers: &[Offer]) -> Result<(), policy::Error> {
    for offer in offers {
        let wrong = |reason: String| policy::Error::NotForOutsourced {
            what: format!("function {:?}", offer.name),
            reason,
        };
        let is_named = offer.protocols.contains(&ProtocolId::Outsourced);
        let Some(servers) = &offer.outsourced else {
            if is_named {
                return Err(wrong("outsourced takes another server; name it".to_owned()));
            }
            continue;
        };
        check_offer(peers, offer, servers).map_err(wrong)?;
        check_clients(offers, servers).map_err(wrong)?;
    }
    Ok(())
}

/// Returns the peers that may use the values of the chain of `servers`: those that may ask for any
/// of its offers.
pub(crate) fn clients(offers: &[Offer], servers: &Outsourced) -> BTreeSet<Fingerprint> {
    let of_chain = offers.iter().filter(|offer| {
        let other = offer.outsourced.as_ref();
        other.is_some_and(|other| (other.other, &other.chain) == (servers.other, &servers.chain))
    });
    of_chain.flat_map(|offer| &offer.peers).copied().collect()
}

/// Refuses a chain that has more clients than a run can open it to.
fn check_clients(offers: &[Offer], servers: &Outsourced) -> Result<(), String> {
    let Some(chain) = &servers.chain else {
        return Ok(());
    };
    let count = clients(offers, servers).len();
    if count > MAX_OPEN_TO {
        Err(format!(
            "chain {chain:?} is for {count} clients, where at most {MAX_OPEN_TO} are possible; \
             name fewer in `peers`, or give some of them a chain of their own"
        ))
    } else {
        Ok(())
    }
}

fn check_offer(peers: &[Peer], offer: &Offer, servers: &Outsourced) -> Result<(), String> {
    if offer.protocols != [ProtocolId::Outsourced] || offer.role != Role::Garbler {
        return Err("a server of outsourced runs nothing else; offer it apart".to_owned());
    }
    let other = peers.iter().find(|peer| peer.fingerprint == servers.other);
    let name = servers.other_name();
    let Some(other) = other else {
        let other = servers.other;
        return Err(format!(
            "its {name} {other} is not one of the peers; add it to [peers]"
        ));
    };
    if offer.peers.contains(&servers.other) {
        return Err(format!(
            "{} is its {name} and one of its clients; leave it out of `peers`",
            other.name
        ));
    }
    if servers.server == Server::Cloud && other.address.is_none() {
        return Err(format!(
            "the cloud connects to the generator; say where in [peers.{}] address",
            other.name
        ));
    }
    for function in &offer.functions {
        match (&servers.chain, function.has_saved_values()) {
            (None, true) => {
                let name = function.name();
                return Err(format!(
                    "{name} saves or loads values; say in which `chain`"
                ));
            }
            (Some(chain), false) => {
                let name = function.name();
                return Err(format!(
                    "{name} neither saves nor loads values; leave out chain = {chain:?}"
                ));
            }
            _ => {}
        }
        let job = job(offer, servers, function);
        job.check().map_err(|error| error.to_string())?;
    }
    let chain = servers.chain.as_deref().map_or(Ok(()), check_chain_name);
    chain.map_err(|error| error.to_string())
}

fn job<'f>(
    offer: &'f Offer,
    servers: &Outsourced,
    function: &'f tacit::Function,
) -> OutsourcedJob<'f> {
    let job = OutsourcedJob::new(function, servers.parameters);
    let job = job.threads(servers.threads).time_limit(offer.time_limit);
    match offer.scheme {
        Some(scheme) => job.scheme(scheme),
        None => job,
    }
}

/// Serves one request of an evaluator, from its ticket to its result.
pub(crate) fn run(
    seat: &Seat,
    granted: &Granted<'_>,
    servers: &Outsourced,
    session: &mut Session,
    asked: &Proposal,
) -> Turn {
    let ticket = match session.next_ticket() {
        Ok(ticket) => ticket,
        Err(error) => {
            let shared = seat.shared();
            shared.refused(Some(seat.peer), None, "request", &error.with_advice());
            return Turn::Failed(error, Some(REFUSED));
        }
    };
    if ticket.evaluator != seat.peer.0 {
        let why = "its ticket names another evaluator";
        seat.shared().refused(Some(seat.peer), None, "request", why);
        return Turn::Refuse(AbortReason::Misbehaved, REFUSED.to_owned());
    }
    if ticket.to != servers.server.role() {
        let why = format!("it takes us for the {}", ticket.to);
        seat.shared()
            .refused(Some(seat.peer), None, "request", &why);
        return Turn::Refuse(AbortReason::OtherServer, REFUSED.to_owned());
    }
    if let Some(refused) = may_run(seat, &granted.offer.name, granted.offer.rate) {
        return refused;
    }
    let policy = seat.shared().policy();
    let visit = Visit {
        seat,
        policy: &policy,
        granted,
        servers,
        asked,
        run: session.run_id(),
    };
    match servers.server {
        Server::Generator => visit.generate(session, ticket),
        Server::Cloud => visit.serve(session),
    }
}

/// The run of an evaluator.
struct Visit<'a> {
    seat: &'a Seat,
    policy: &'a Policy,
    granted: &'a Granted<'a>,
    servers: &'a Outsourced,
    asked: &'a Proposal,
    /// The run's name in the logs of this party and of the evaluator.
    run: Option<RunId>,
}

impl<'a> Visit<'a> {
    fn shared(&self) -> &'a Shared {
        self.seat.shared()
    }

    fn about(&self) -> RunRequest<'a> {
        asked_for(self.seat, self.granted, self.asked, self.run)
    }

    /// Waits for the run's turn at its chain, if it has one. Calls `waits` with the number of
    /// earlier runs.
    fn chain_turn(
        &self,
        waits: &mut dyn FnMut(usize),
    ) -> Result<Option<ChainTurn<'a, Session>>, Turn> {
        let Some(key) = self.servers.key() else {
            return Ok(None);
        };
        let (client, within) = (self.seat.peer, self.policy.limits().meeting);
        let turn = self.shared().lobby.turn(key, client, within, waits);
        turn.map(Some).map_err(|none| {
            let why = match none {
                NoTurn::TooMany => "it has the most runs of the chain that it may have",
                NoTurn::Late => "its turn at the chain did not come in time",
            };
            busy(self.seat, "run", why)
        })
    }

    /// Returns the job, with the inputs of this party if it is the generator.
    fn job(&self) -> Result<OutsourcedJob<'a>, Turn> {
        let (offer, function) = (self.granted.offer, self.granted.function);
        let about = self.about();
        let mut job = job(offer, self.servers, function).patience(self.policy.limits().message);
        for (name, value) in inputs_of(self.seat, &about, offer)? {
            job = job.input(&name, value);
        }
        match (&self.servers.chain, &self.shared().stocks) {
            (None, _) => Ok(job),
            (Some(chain), Some(stocks)) => {
                let clients = self.policy.clients(self.servers);
                let job = job.chain_of(stocks, chain, &clients);
                Ok(if self.servers.replaces {
                    job.replacing()
                } else {
                    job
                })
            }
            (Some(_), None) => {
                let why = "there is no stock here".to_owned();
                Err(Turn::Refuse(AbortReason::Failed, why))
            }
        }
    }

    fn finish(&self, outcome: Result<Outcome, Error>) -> Turn {
        let about = self.about();
        finish(self.seat, &about, self.granted, outcome)
    }

    /// Runs as the generator, once the cloud is there too.
    fn generate(&self, evaluator: &mut Session, ticket: tacit::outsourced::RunTicket) -> Turn {
        let within = self.policy.limits().meeting;
        let Some(mut loan) = self
            .shared()
            .lobby
            .claim((self.servers.other, ticket), within)
        else {
            return busy(self.seat, "run", "the cloud did not come for its run");
        };
        // The run before may not have ended at this server yet. The cloud tells the evaluator.
        let ready = self.chain_turn(&mut |_| ());
        let ready = ready.and_then(|turn| Ok((turn, self.job()?)));
        let (turn, job) = match ready {
            Ok(ready) => ready,
            Err(refused) => {
                if let Some(cloud) = loan.keep() {
                    cloud.refuse(AbortReason::Failed, REFUSAL_TIME);
                }
                return refused;
            }
        };
        let Some(cloud) = loan.link() else {
            return busy(self.seat, "run", "the cloud has left");
        };
        if let Some(refused) = audit::begun(self.seat, &self.about()) {
            return refused;
        }
        let outcome = job.generate(evaluator, cloud);
        drop(turn);
        if outcome.is_ok() {
            loan.give_back();
        }
        self.finish(outcome)
    }

    /// Runs as the cloud.
    fn serve(&self, evaluator: &mut Session) -> Turn {
        // The run itself reports an evaluator that has left.
        let ready = self.chain_turn(&mut |before| drop(evaluator.tell_place(before)));
        let ready = ready.and_then(|turn| Ok((turn, self.job()?)));
        let (turn, job) = match ready {
            Ok(ready) => ready,
            Err(refused) => return refused,
        };
        let mut generator = match self.connect() {
            Ok(generator) => generator,
            Err(error) => {
                let why = format!("the generator cannot be had: {}", error.with_advice());
                let (metrics, name) = (&self.shared().metrics, &self.granted.offer.name);
                metrics.run_failed(name, &self.asked.protocol.to_string());
                self.shared()
                    .put_off(Some(self.seat.peer), None, "run", &why);
                return Turn::Refuse(AbortReason::Failed, REFUSED.to_owned());
            }
        };
        if let Some(refused) = audit::begun(self.seat, &self.about()) {
            return refused;
        }
        let outcome = job.serve(&mut generator, evaluator);
        drop(turn);
        if outcome.is_ok() {
            // Both have everything, so a generator that has already left does not matter.
            let _ = generator.close();
        }
        self.finish(outcome)
    }

    /// Starts a session with the generator, for this run.
    fn connect(&self) -> Result<Session, Error> {
        let other = &self.servers.other;
        let address = self
            .policy
            .peer(other)
            .and_then(|peer| peer.address.as_ref());
        let address = address.ok_or(Error::ApiMisuse("a cloud knows where its generator is"))?;
        let settings = Settings {
            connect_timeout: CONNECT_TIME,
            ..settings(self.policy.limits(), self.seat.cancel.clone(), Lane::NONE)
        };
        let mut session = Session::connect(address, &self.shared().identity, other, &settings)?;
        self.policy.set_own_ots(&mut session, other)?;
        Ok(session)
    }
}

/// Lends the cloud's session to its evaluator's run, and takes it back. Returns the session if it
/// goes on, or the reason why it ends.
pub(crate) fn lend(seat: &Seat, mut session: Session) -> Result<Session, String> {
    let shared = seat.shared();
    let within = shared.policy().limits().handshake;
    let ticket = session.next_ticket().map_err(|error| {
        shared.refused(Some(seat.peer), None, "request", &error.with_advice());
        REFUSED.to_owned()
    })?;
    let lent = shared.lobby.lend((seat.peer, ticket), session, within);
    if !matches!(lent, Lent::Unclaimed(_)) {
        shared.came_for_a_client(seat.peer);
    }
    match lent {
        Lent::Back(session) => Ok(session),
        Lent::Spent => Err("its run failed".to_owned()),
        Lent::Unclaimed(session) => {
            // The fault is the evaluator's, whose identity is unknown here, and not the cloud's.
            let why = "the evaluator of its run did not come, or was refused";
            shared.put_off(Some(seat.peer), None, "run", why);
            session.refuse(AbortReason::Busy, REFUSAL_TIME);
            Err(REFUSED.to_owned())
        }
    }
}
