//! Sessions: an authenticated connection between two parties, over which they run functions.

mod doors;
mod greeting;
mod lanes;
mod names;
mod offers;
mod parameters;
mod process;
mod requests;
mod tables;
mod transfers;
mod waiting;

use std::time::Duration;

use tacit_circuit::Digest;
use tacit_function::Role;
use tacit_garble::SchemeId;
use tacit_net::{
    CancelHandle, Channel, Fingerprint, Identity, Lane, Meter, NetError, Settings, Transport,
    plain, tls,
};
use tacit_protocol::Error as ProtocolError;
use tacit_protocol::io::Io;
use tacit_protocol::message::Kind;
use tacit_protocol::outsourced::{Peer as OutsourcedRole, RunTicket};
use tacit_protocol::session::{RunTag, SessionTag};
use tacit_stock::OfProcess;

use crate::Error;
use crate::driver::{abort, flush, receive, run_exchange, run_script, send};
use crate::stock::{ChainAttempt, OpenedStock};

pub use crate::cost::BaseOtSource;
pub use doors::{Listener, PlainListener};
use greeting::{Greeting, greet, hear, introduce};
use lanes::WayBack;
pub use lanes::{ChainLanes, LaneHomes, NotAHome};
pub use offers::MAX_OFFERS_BYTES;
pub use parameters::DifferingParameter;
pub use requests::Request;
use tables::of_sizes;
pub(crate) use tables::wants_another;
pub use tacit_ot::base::BaseOt;
pub use tacit_ot::silent::Device as OtDevice;
pub use tacit_ot::source::Extension as OtExtension;
pub use tacit_protocol::Incompatibility;
pub use tacit_protocol::matching::TableSizes;
pub use tacit_protocol::message::AbortReason;
pub use tacit_protocol::session::{Proposal, ProtocolId, RunId, SessionId};
use transfers::Transfers;
pub(crate) use transfers::{CountedEpoch, OtNeed, ot_link};
use waiting::OfThree;

/// The end of the connection that a party has. It decides only who speaks first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The party that connected.
    Connecting,
    /// The party that listened.
    Listening,
}

/// An authenticated connection between two parties. Functions run over it one after another. After
/// an error the session is spent. It serves only the process that opened it: a forked process must
/// open its own.
pub struct Session {
    process: OfProcess<()>,
    channel: Channel,
    side: Side,
    own: Option<Fingerprint>,
    /// Whether one of the two is a worker, which has no share in its party's stock and chains.
    is_of_worker: bool,
    /// The name of this process among several of this party.
    lane: Lane,
    /// At a party that connected, the data to connect to another process of the peer.
    way_back: Option<Box<WayBack>>,
    /// At a party that listens, the addresses of its processes, for a peer that asks.
    homes: Option<LaneHomes>,
    /// The lanes of this party that keep chains, where each chain has one of them.
    chain_lanes: Option<ChainLanes>,
    greeting: Greeting,
    transfers: Transfers,
    runs: u64,
    /// The number, from 1, of the run that began last; 0 before the first.
    begun: u64,
    /// Stocks that both parties have opened in this session.
    stocks: Vec<OpenedStock>,
    /// The connecting party's proposal that the listening party has not answered yet.
    asked: Option<Proposal>,
    /// The sizes that the connecting party has told and this party has not answered yet.
    heard: Option<TableSizes>,
    of_three: OfThree,
    /// The place in its chain from which the latest run started, once the parties agreed on it.
    pub(crate) chain_attempt: Option<ChainAttempt>,
    spent: bool,
}

/// The terms on which both parties' orders must agree. The session adds the rest of a proposal.
#[derive(Clone, Copy)]
pub(crate) struct OrderTerms {
    pub(crate) protocol: ProtocolId,
    /// This party's role.
    pub(crate) role: Role,
    /// s, or 0 if there is none.
    pub(crate) statistical_security_bits: u8,
    pub(crate) scheme: SchemeId,
    /// The digest of the function, or of what is to be put in stock.
    pub(crate) function: Digest,
    /// The OTs that the order takes.
    pub(crate) ots: OtNeed,
}

impl Session {
    /// Connects to `peer` at `address`. Retries until the time limit for connecting, so that either
    /// side may start first.
    ///
    /// # Errors
    ///
    /// Nobody answers in time, or somebody else does. This does not wait for the peer's greeting: a
    /// peer that speaks another version or refuses this party says so in its answer to the first
    /// run.
    pub fn connect(
        address: &str,
        identity: &Identity,
        peer: &Fingerprint,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let mut channel = tls::connect(address, identity, peer, settings)?;
        introduce(&mut channel, settings)?;
        let own = identity.fingerprint();
        let session = Self::in_lane(channel, Side::Connecting, Some(&own), settings.lane)?;
        let way_back = WayBack::new(identity, peer, settings);
        Ok(Self {
            way_back: Some(Box::new(way_back)),
            ..session.held_by(identity)
        })
    }

    /// Opens a session with `peer` over an open transport, with TLS as over TCP.
    ///
    /// # Errors
    ///
    /// Somebody else is at the other end, TLS fails, or a peer that connected speaks another
    /// version.
    pub fn over_transport(
        transport: Transport,
        side: Side,
        identity: &Identity,
        peer: &Fingerprint,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let channel = match side {
            Side::Connecting => {
                let mut channel = tls::client(transport, identity, peer, settings)?;
                introduce(&mut channel, settings)?;
                channel
            }
            Side::Listening => tls::server(transport, identity, &[*peer], settings)?,
        };
        let own = identity.fingerprint();
        Ok(Self::in_lane(channel, side, Some(&own), settings.lane)?.held_by(identity))
    }

    /// Connects in the clear to a process of this machine. See [`PlainListener`].
    ///
    /// # Errors
    ///
    /// The address is not a loopback address, or nobody answers.
    pub fn connect_plain(address: &str, settings: &Settings) -> Result<Self, Error> {
        Self::over(plain::connect(address, settings)?, Side::Connecting, None)
    }

    /// Opens a session over an open channel, such as one in memory. `own` is this side's
    /// fingerprint if the channel is authenticated.
    ///
    /// # Errors
    ///
    /// A peer that connected speaks another version, or the channel fails.
    pub fn over(channel: Channel, side: Side, own: Option<&Fingerprint>) -> Result<Self, Error> {
        Self::in_lane(channel, side, own, Lane::NONE)
    }

    /// Opens a session as [`Session::over`] does, for the process of this name.
    fn in_lane(
        mut channel: Channel,
        side: Side,
        own: Option<&Fingerprint>,
        lane: Lane,
    ) -> Result<Self, Error> {
        let is_of_worker = channel.peer_worker().is_some();
        match greet(&mut channel, side, own, lane) {
            Ok(greeting) => Ok(Self {
                process: OfProcess::default(),
                channel,
                side,
                own: own.copied(),
                is_of_worker,
                lane,
                way_back: None,
                homes: None,
                chain_lanes: None,
                greeting,
                transfers: Transfers::new(),
                runs: 0,
                begun: 0,
                stocks: Vec::new(),
                asked: None,
                heard: None,
                of_three: OfThree::default(),
                chain_attempt: None,
                spent: false,
            }),
            Err(error) => {
                abort(&mut channel, &error, None);
                Err(error)
            }
        }
    }

    /// Waits for the peer's greeting, which shows that the peer speaks this version and has
    /// accepted this party. Otherwise a party that connected receives the greeting with the answer
    /// to its first run.
    ///
    /// # Errors
    ///
    /// The peer speaks another version or refuses this party. The session is then spent.
    pub fn greeted(&mut self) -> Result<(), Error> {
        self.guarded(|session| session.tag().map(drop))
    }

    /// Closes the session properly: delivers everything that was sent, and tells the peer that
    /// nothing follows.
    ///
    /// # Errors
    ///
    /// The peer has left already or takes too long, or another process opened the session.
    pub fn close(self) -> Result<(), Error> {
        self.check_process()?;
        Ok(self.channel.close()?)
    }

    /// Returns this party's end of the connection.
    pub(crate) fn side(&self) -> Side {
        self.side
    }

    /// Returns the peer's fingerprint, if the channel is authenticated.
    pub fn peer(&self) -> Option<Fingerprint> {
        self.channel.peer()
    }

    /// Returns the traffic of the session so far.
    pub fn traffic(&self) -> Meter {
        self.channel.meter()
    }

    /// Returns the channel underneath, for its meter and its timeouts.
    pub(crate) fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// Runs a script without reporting progress.
    pub(crate) fn script<T>(
        &mut self,
        script: impl AsyncFnOnce(&mut Io<'_>) -> Result<T, ProtocolError>,
    ) -> Result<T, Error> {
        run_script(&mut self.channel, &mut |_| (), script)
    }

    /// Runs an exchange. Its last messages are written out only with what the session sends next.
    pub(crate) fn exchange<T>(
        &mut self,
        script: impl AsyncFnOnce(&mut Io<'_>) -> Result<T, ProtocolError>,
    ) -> Result<T, Error> {
        run_exchange(&mut self.channel, script)
    }

    /// Runs `work` if the session is usable and belongs to this process. If `work` fails, the
    /// session is spent and the peer, if still connected, is told.
    pub(crate) fn guarded<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.check_process()?;
        if std::mem::replace(&mut self.spent, true) {
            return Err(Error::ApiMisuse(
                "a session ends with its first error; open a new one",
            ));
        }
        let result = work(self);
        match &result {
            Ok(_) => self.spent = false,
            // What ran may have forked.
            Err(error) if self.check_process().is_ok() => {
                abort(&mut self.channel, error, self.of_three.party);
            }
            Err(_) => {}
        }
        result
    }

    /// Sets the peer's role in the next run of three parties.
    pub(crate) fn set_party(&mut self, party: OutsourcedRole) {
        self.of_three.party = Some(party);
    }

    /// Runs [`guarded`](Self::guarded) work, which fails if it is not done within `limit`.
    pub(crate) fn guarded_within<T>(
        &mut self,
        limit: Option<Duration>,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.guarded(|session| {
            session.channel.set_time_limit(limit);
            let done = work(session)?;
            session.channel.set_time_limit(None);
            Ok(done)
        })
    }

    /// Agrees on the next run, and returns its tag.
    pub(crate) fn agree(&mut self, terms: &OrderTerms) -> Result<RunTag, Error> {
        self.begun = self.runs + 1;
        let ours = self.proposal(terms);
        let proposed = self.propose(&ours)?;
        let tag = self.tag()?.run(&proposed);
        self.transfers
            .settle(proposed.ot_extension, terms.ots.count);
        self.runs += 1;
        Ok(tag)
    }

    /// Returns this party's proposal for its next run.
    fn proposal(&mut self, terms: &OrderTerms) -> Proposal {
        if self.runs == 0 && self.side == Side::Connecting {
            self.transfers.choose(terms.ots);
        }
        let settings = self.transfers.settings();
        Proposal {
            protocol: terms.protocol,
            role: terms.role,
            statistical_security_bits: terms.statistical_security_bits,
            base_ot: settings.base,
            ot_extension: settings.extension,
            scheme: terms.scheme,
            run: self.runs,
            function: terms.function,
        }
    }

    /// Begins a run of three parties on this link, before the agreement. The connecting party sends
    /// its proposal, and a party that has the run's ticket sends the ticket. It waits for nothing.
    pub(crate) fn begin_of_three(
        &mut self,
        terms: &OrderTerms,
        ticket: Option<&RunTicket>,
    ) -> Result<(), Error> {
        self.of_three.place = None;
        if self.side == Side::Connecting {
            let ours = self.proposal(terms);
            let sent = send(&mut self.channel, Kind::Propose, &ours.to_bytes());
            sent.map_err(|error| over(error, self.runs))?;
            self.asked = Some(ours);
        }
        if let Some(ticket) = ticket {
            send(&mut self.channel, Kind::RunTicket, &ticket.to_bytes())?;
        }
        flush(&mut self.channel)
    }

    /// Receives the ticket of the run of three parties that the peer begins.
    pub(crate) fn hear_ticket(&mut self) -> Result<RunTicket, Error> {
        if let Some(ticket) = self.of_three.ticket.take() {
            return Ok(ticket);
        }
        if self.side == Side::Listening && self.asked.is_none() {
            self.asked = Some(self.hear_proposal()??);
        }
        let payload = receive(&mut self.channel, Kind::RunTicket, RunTicket::BYTES)?;
        Ok(RunTicket::parse(payload)?)
    }

    /// Returns the ticket of the run of three parties that the peer has asked for
    /// ([`Session::next_request`]). With it a server finds its other link. The run itself still
    /// gets the ticket.
    ///
    /// # Errors
    ///
    /// The peer sends no ticket. The session is then spent.
    pub fn next_ticket(&mut self) -> Result<RunTicket, Error> {
        self.guarded(|session| {
            let ticket = session.hear_ticket()?;
            session.of_three.ticket = Some(ticket);
            Ok(ticket)
        })
    }

    fn propose(&mut self, ours: &Proposal) -> Result<Proposal, Error> {
        match self.side {
            Side::Connecting => self.ask(ours),
            Side::Listening => self.answer(ours),
        }
    }

    fn ask(&mut self, ours: &Proposal) -> Result<Proposal, Error> {
        let sent = match self.asked.take() {
            Some(_) => Ok(()),
            None => send(&mut self.channel, Kind::Propose, &ours.to_bytes()),
        };
        let heard = sent.and_then(|()| self.tag());
        let answered =
            heard.and_then(|_| receive(&mut self.channel, Kind::Accept, Proposal::BYTES));
        let payload = answered.map_err(|error| over(of_sizes(error), self.runs))?;
        let theirs = Proposal::parse(Kind::Accept, payload)?;
        ours.check(&theirs).map_err(ProtocolError::from)?;
        Ok(*ours)
    }

    fn answer(&mut self, ours: &Proposal) -> Result<Proposal, Error> {
        let theirs = match self.asked.take() {
            Some(asked) => Ok(asked),
            None => self.hear_proposal()?,
        };
        let mut ours = *ours;
        if let (0, Ok(theirs)) = (self.runs, &theirs) {
            ours.ot_extension = self.transfers.answer(theirs.ot_extension);
        }
        // Even a refusal says what this party wanted, so that both sides can name the difference.
        send(&mut self.channel, Kind::Accept, &ours.to_bytes())?;
        let theirs = theirs?;
        ours.check(&theirs).map_err(ProtocolError::from)?;
        Ok(theirs)
    }

    /// Returns the session's tag. A party that connected first receives the peer's greeting, if it
    /// has not yet.
    fn tag(&mut self) -> Result<SessionTag, Error> {
        if let Greeting::Sent(ours) = self.greeting {
            self.greeting = hear(&mut self.channel, self.side, self.own.as_ref(), &ours)?;
        }
        match self.greeting {
            Greeting::Both(tag, _) => Ok(tag),
            Greeting::Sent(_) => Err(Error::ApiMisuse("a greeting is heard once")),
        }
    }

    /// Ends the session and tells the peer why, within `time`.
    pub fn refuse(self, reason: AbortReason, time: Duration) {
        if self.check_process().is_err() {
            return;
        }
        // If the peer has left, there is nobody to tell.
        let _ = self
            .channel
            .abort(Kind::Abort.byte(), &[reason.byte()], time);
    }

    /// Answers a request with what this side would run instead, and ends the session. The peer then
    /// names the difference.
    ///
    /// # Errors
    ///
    /// The difference, or the network's error.
    pub fn refuse_for(mut self, ours: &Proposal, time: Duration) -> Result<(), Error> {
        let refused = self.guarded(|session| session.propose(ours).map(|_| ()));
        // Read the messages that the peer has sent. Otherwise it would not get to read the answer.
        self.refuse(AbortReason::Incompatible, time);
        refused
    }

    /// Returns the handle that ends this session's waits from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.channel.cancel_handle()
    }

    /// Takes the stock that the parties have opened in these roles under this scheme, if there is
    /// one.
    pub(crate) fn take_stock(&mut self, role: Role, scheme: SchemeId) -> Option<OpenedStock> {
        let mut stocks = self.stocks.iter();
        let there = stocks.position(|stock| stock.role == role && stock.scheme == scheme)?;
        Some(self.stocks.swap_remove(there))
    }

    /// Keeps a stock open for the next run.
    pub(crate) fn keep_stock(&mut self, mut stock: OpenedStock) {
        stock.end_run(self.ot_extension());
        self.stocks.push(stock);
    }
}

/// Returns the error of a peer that left. If it left between two runs, it has ended the session,
/// and nothing is lost.
fn over(error: Error, runs: u64) -> Error {
    match error {
        Error::Network(NetError::Closed { .. }) if runs > 0 => Error::SessionOver { runs },
        error => error,
    }
}
