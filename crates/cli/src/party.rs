//! This party, its peer, and the way they meet.

mod ots;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, SystemTime};

use tacit::join::Part;
use tacit::net::relay::Hello;
use tacit::net::{CancelHandle, Link, NetError};
use tacit::session::{AbortReason, OtExtension, PlainListener};
use tacit::{Fingerprint, Identity, Listener, Session, Settings};
use tacit_gpu::Choice;
use tacit_language::most_like;

use crate::args::MeetArgs;
use crate::config::{self, Config};
use crate::failure::{Failure, usage};
use crate::gpu;
use crate::log::Log;
use crate::output::counted;
use ots::Ots;

/// The default for the longest wait until the peer is there.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// The time of waiting for the peer after which this party prints a hint.
pub(crate) const HINT_AFTER: Duration = Duration::from_secs(5);

/// The number of identities, and of other refused connections, that are printed without `-v`.
const REFUSALS_TOLD: usize = 5;

/// The longest wait for a peer that is to be refused, and the longest time to tell it.
const REFUSAL_TIME: Duration = Duration::from_secs(2);

/// This end of a connection that is not made yet.
pub(crate) struct Party {
    place: MeetingPlace,
    trust: Trust,
    settings: Settings,
    ots: Ots,
    /// The part of a job, which has a room of its own at a relay.
    part: Option<Part>,
}

/// The place where the parties meet.
enum MeetingPlace {
    Listen(String),
    Connect(String),
    /// The relay, with the name of the room; without one it is the room of both fingerprints.
    Relay(String, Option<[u8; 32]>),
}

/// The means by which the parties authenticate each other.
enum Trust {
    Pinned(Box<Identity>, Fingerprint),
    Plain,
}

impl Party {
    /// Makes the party from the arguments and the configuration.
    pub(crate) fn new(args: &MeetArgs, plain: bool, config: &Config) -> Result<Self, Failure> {
        let named = args.peer.as_deref().and_then(|peer| config.peer(peer));
        let place = meeting_place(args, named, plain, config)?;
        let trust = if plain {
            Trust::Plain
        } else {
            let peer = match (args.peer.as_deref(), named) {
                (None, _) => {
                    return Err(usage!(
                        "nothing says who the peer is";
                        "give --with NAME once you have paired, by `tacit pair`, or --peer and \
                         the fingerprint that its `tacit keygen` printed"
                    ));
                }
                (Some(text), _) => fingerprint("--with", text, config)?,
            };
            let path = identity_path(args.session.identity.as_ref(), config)?;
            let identity = Identity::load(&path).map_err(tacit::Error::from)?;
            if let Some(worker) = identity.worker() {
                let valid = worker.check_time(now_s());
                valid.map_err(NetError::from).map_err(tacit::Error::from)?;
            }
            if identity.fingerprint() == peer {
                return Err(usage!(
                    "--peer {peer} is this party's own fingerprint";
                    "give that of the other party"
                ));
            }
            Trust::Pinned(Box::new(identity), peer)
        };
        let mut settings = Settings {
            lane: config.stock.lane.unwrap_or_default(),
            ..Settings::default()
        };
        let connect = args.timeout.or(config.timeouts.connect);
        settings.connect_timeout = connect.unwrap_or(CONNECT_TIMEOUT);
        if let Some(timeout) = args.timeout.or(config.timeouts.message) {
            settings.timeout = timeout;
            settings.handshake_timeout = settings.handshake_timeout.min(timeout);
        }
        let known = |known: &&config::Peer| match &trust {
            Trust::Pinned(_, peer) => known.fingerprint == *peer,
            Trust::Plain => false,
        };
        let ots = Ots {
            base: args.session.base_ot.or(config.base_ot),
            extension: args.ot_extension.or(config.ot_extension),
            link: config.peers.values().find(known).and_then(|peer| peer.link),
            device: None,
        };
        Ok(Self {
            place,
            trust,
            settings,
            ots,
            part: None,
        })
    }

    /// Returns the link to the peer and the OT extension, as far as they were given.
    pub(crate) fn known_of_ots(&self) -> (Option<Link>, Option<OtExtension>) {
        (self.ots.link, self.ots.extension)
    }

    /// Sets the number of threads. If the peer works on several threads too, the session gets side
    /// streams.
    pub(crate) fn on_threads(self, threads: NonZeroUsize) -> Self {
        Self {
            settings: self.settings.with_threads(threads),
            ..self
        }
    }

    /// Lets GPUs make the OTs, as `choice` says, if they are of a kind that a GPU makes (`takes`).
    pub(crate) fn use_gpu(&mut self, choice: Choice, takes: bool, log: Log) -> Result<(), Failure> {
        self.ots.device = gpu::device(("--gpu", choice), (takes, self.ots.extension), log)?;
        Ok(())
    }

    /// Returns whether this party connects to an address.
    pub(crate) fn connects(&self) -> bool {
        matches!(self.place, MeetingPlace::Connect(_))
    }

    /// Returns this party's fingerprint and the peer's, if they have any.
    pub(crate) fn fingerprints(&self) -> Option<[Fingerprint; 2]> {
        match &self.trust {
            Trust::Pinned(identity, peer) => Some([identity.fingerprint(), *peer]),
            Trust::Plain => None,
        }
    }

    /// Tells a peer that is there, or comes soon, that there will be no run.
    pub(crate) fn refuse(&mut self, reason: AbortReason, log: Log) {
        self.settings.connect_timeout = self.settings.connect_timeout.min(REFUSAL_TIME);
        if let Ok(session) = self.meet(CancelHandle::new(), log) {
            session.refuse(reason, REFUSAL_TIME);
        }
    }

    /// Returns this party for one part of a job.
    pub(crate) fn in_part(self, part: Option<Part>) -> Self {
        Self { part, ..self }
    }

    /// Meets the peer.
    pub(crate) fn meet(&mut self, cancel: CancelHandle, log: Log) -> Result<Session, Failure> {
        self.settings.cancel = cancel;
        let settings = &self.settings;
        if matches!(self.trust, Trust::Plain) {
            eprintln!(
                "tacit: WARNING: --plain-loopback: no encryption and no identities; for \
                 measurements on this machine alone"
            );
        }
        let hint = hint_later(hint(&self.place));
        let mut session = match (&self.place, &self.trust) {
            (MeetingPlace::Listen(address), Trust::Pinned(identity, peer)) => {
                let listener = Listener::bind(address)?;
                eprintln!("listening on {}", listener.local_address());
                log.step(format_args!("waiting for {peer}"));
                let mut refusals = Refusals::new(Some(peer.to_string()), log);
                let mut refused = |from: SocketAddr, reason: &NetError| refusals.tell(from, reason);
                listener.accept_watched(identity, peer, settings, &mut refused)?
            }
            (MeetingPlace::Listen(address), Trust::Plain) => {
                let listener = PlainListener::bind(address)?;
                eprintln!("listening on {}", listener.local_address());
                listener.accept(settings)?
            }
            (MeetingPlace::Connect(address), Trust::Pinned(identity, peer)) => {
                eprintln!("waiting for the other party at {address}");
                log.step(format_args!("expecting {peer}"));
                Session::connect(address, identity, peer, settings)?
            }
            (MeetingPlace::Relay(address, room), Trust::Pinned(identity, peer)) => {
                eprintln!("waiting for the other party at the relay {address}");
                log.step(format_args!("expecting {peer}"));
                let own = identity.fingerprint();
                let hello = match room {
                    Some(room) => Hello::of(&own, peer, *room),
                    None => Hello::between(&own, peer),
                };
                let hello = match self.part.map(Part::numbers) {
                    Some((number, of)) => hello.in_part(number, of),
                    None => hello,
                };
                Session::at_relay(address, hello, identity, peer, settings)?
            }
            (MeetingPlace::Relay(..), Trust::Plain) => {
                return Err(usage!(
                    "--plain-loopback goes through no relay";
                    "give --listen or --connect"
                ));
            }
            (MeetingPlace::Connect(address), Trust::Plain) => {
                eprintln!("waiting for the other party at {address}");
                Session::connect_plain(address, settings)?
            }
        };
        drop(hint);
        self.ots.settle(&mut session)?;
        Ok(session)
    }
}

/// Returns where the parties meet: as given, or where the configuration says for this peer.
fn meeting_place(
    args: &MeetArgs,
    named: Option<&config::Peer>,
    plain: bool,
    config: &Config,
) -> Result<MeetingPlace, Failure> {
    let place = match (&args.listen, &args.connect, &args.relay) {
        (Some(address), ..) => MeetingPlace::Listen(address.clone()),
        (None, Some(address), _) => MeetingPlace::Connect(address.clone()),
        (None, None, Some(address)) => MeetingPlace::Relay(address.clone(), None),
        (None, None, None) => match named.and_then(place) {
            Some(place) => place,
            None => {
                // An error about a mistyped name is more helpful than one about a missing
                // address.
                if let Some(text) = args.peer.as_deref().filter(|_| !plain) {
                    fingerprint("--with", text, config)?;
                }
                return Err(usage!(
                    "nothing says where the parties meet";
                    "one gives --listen HOST:PORT and the other --connect HOST:PORT, or both \
                     give --relay HOST:PORT, or both pair once, by `tacit pair`, and give \
                     --with NAME"
                ));
            }
        },
    };
    Ok(place)
}

/// Returns the place where the configuration says that this party meets `peer`.
fn place(peer: &config::Peer) -> Option<MeetingPlace> {
    let listen = || peer.listen.clone().map(MeetingPlace::Listen);
    let connect = || peer.address.clone().map(MeetingPlace::Connect);
    let relay = peer.relay.clone().zip(peer.room);
    let relay = relay.map(|(relay, room)| MeetingPlace::Relay(relay, Some(room)));
    relay.or_else(listen).or_else(connect)
}

/// Returns a hint about the reason why the peer does not come.
fn hint(place: &MeetingPlace) -> String {
    let has_to = match place {
        MeetingPlace::Listen(_) => {
            "give --connect with this address, or --with once paired; if it listens as well, one \
             of the two has to connect"
        }
        MeetingPlace::Connect(_) => {
            "give --listen with this address, or --with once paired, or run `tacit serve` there; \
             if it connects as well, one of the two has to listen"
        }
        MeetingPlace::Relay(..) => "run the same with this party, at the same relay",
    };
    format!(
        "still waiting: the other party has to {has_to}; check that its command is still running"
    )
}

/// Prints `text` after [`HINT_AFTER`], unless the returned sender is dropped before.
pub(crate) fn hint_later(text: String) -> Sender<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        if receiver.recv_timeout(HINT_AFTER) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{text}");
        }
    });
    sender
}

/// Reports refused connections. Anybody can cause them, so only a few are printed, and each
/// identity once.
pub(crate) struct Refusals {
    /// The name of the awaited peer; nothing if any peer may come.
    awaited: Option<String>,
    /// The identities that were printed.
    identities: Vec<Fingerprint>,
    /// The number of connections refused for a reason other than their identity.
    others: usize,
    count: u64,
    last: String,
    log: Log,
}

impl Refusals {
    pub(crate) fn new(awaited: Option<String>, log: Log) -> Self {
        Self {
            awaited,
            identities: Vec::new(),
            others: 0,
            count: 0,
            last: String::new(),
            log,
        }
    }

    /// Returns the number of refusals and the last one, for a sentence. Without any it returns
    /// nothing.
    pub(crate) fn summary(&self) -> String {
        match self.count {
            0 => String::new(),
            count => {
                let connections = counted(count as usize, "connection");
                let last = &self.last;
                format!(", and this party refused {connections}, the last from {last}")
            }
        }
    }

    /// Sets the name of the awaited peer.
    pub(crate) fn await_only(&mut self, awaited: String) {
        self.awaited = Some(awaited);
    }

    /// Reports one refusal.
    pub(crate) fn tell(&mut self, from: SocketAddr, reason: &NetError) {
        self.count += 1;
        self.last = format!("{from}: {reason}");
        let text = match (reason, &self.awaited) {
            (NetError::WrongIdentity { found, .. }, Some(awaited)) => format!(
                "refused a connection from {from}, and still waiting for {awaited}: it shows the \
                 identity {found}, which is not the one that was given; if you expected it, \
                 compare it with what `tacit keygen --show` prints at the other party"
            ),
            _ => format!("refused a connection from {from}, and still waiting: {reason}"),
        };
        let Some(number) = self.number(reason) else {
            self.log.step(format_args!("{text}"));
            return;
        };
        eprintln!("{text}");
        if number == REFUSALS_TOLD {
            eprintln!("further ones are told with -v");
        }
    }

    /// Returns the number of this refusal among those of its kind, from 1 on, if it is printed
    /// without `-v`. Refusals without an identity are cheap to cause, so they have a limit of their
    /// own.
    fn number(&mut self, reason: &NetError) -> Option<usize> {
        let number = match (reason, &self.awaited) {
            (NetError::WrongIdentity { found, .. }, Some(_)) => {
                if self.identities.len() == REFUSALS_TOLD || self.identities.contains(found) {
                    return None;
                }
                self.identities.push(*found);
                self.identities.len()
            }
            _ => {
                self.others += 1;
                self.others
            }
        };
        (number <= REFUSALS_TOLD).then_some(number)
    }
}

/// Reads a fingerprint, or the name of a peer in the configuration, as `option` gives it.
pub(crate) fn fingerprint(
    option: &str,
    text: &str,
    config: &Config,
) -> Result<Fingerprint, Failure> {
    if let Some(peer) = config.peers.get(text) {
        return Ok(peer.fingerprint);
    }
    text.parse().map_err(|error| {
        if text.starts_with("tacit:") {
            Failure::usage(format!("{option} {text}: {error}"))
        } else {
            let names: Vec<&str> = config.peers.keys().map(String::as_str).collect();
            let known = match most_like(text, names.iter().copied()) {
                Some(name) => format!("did you mean {name}?"),
                None if names.is_empty() => "the file has no parties yet.".to_owned(),
                None => format!("the parties there are {}.", names.join(", ")),
            };
            usage!(
                "{option} {text}: tacit.toml has no party of this name, and it is not a \
                 fingerprint";
                "{known} `tacit pair` adds one, and `tacit keygen --show` at a party prints its \
                 fingerprint"
            )
        }
    })
}

/// Reads this party's own identity: not the key of one of its workers.
pub(crate) fn own_identity(path: &Path) -> Result<Identity, Failure> {
    let identity = Identity::load(path).map_err(tacit::Error::from)?;
    match identity.worker() {
        None => Ok(identity),
        Some(worker) => Err(usage!(
            "{} is the key of the worker {}, which only matches and runs", path.display(),
            worker.name();
            "give the key of the party itself"
        )),
    }
}

/// Returns the time in seconds since 1970.
pub(crate) fn now_s() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

/// Returns the path of this party's identity file: `given`, or the one that the configuration
/// names, or the one next to the configuration or in the usual place.
pub(crate) fn identity_path(given: Option<&PathBuf>, config: &Config) -> Result<PathBuf, Failure> {
    if let Some(path) = given.or(config.identity.as_ref()) {
        return Ok(path.clone());
    }
    let mut places: Vec<PathBuf> = config.home.iter().cloned().collect();
    places.push(config::folder()?);
    places.dedup();
    let mut places = places.iter().map(|folder| default_path(folder));
    // One that nobody may look at is tried, and its error told.
    let may_be_there = |place: &PathBuf| !matches!(place.try_exists(), Ok(false));
    match places.clone().find(may_be_there) {
        Some(place) => Ok(place),
        None => Err(no_identity(&mut places)),
    }
}

fn no_identity(looked: &mut dyn Iterator<Item = PathBuf>) -> Failure {
    let looked: Vec<String> = looked.map(|place| place.display().to_string()).collect();
    usage!(
        "this party has no identity: none was given, and there is none at {}", looked.join(" or ");
        "make one with `tacit keygen` or `tacit pair`, or give --identity FILE"
    )
}

/// Returns the default path of an identity.
pub(crate) fn default_path(folder: &Path) -> PathBuf {
    folder.join("identity.key")
}

#[cfg(test)]
mod tests {
    use tacit::net::Awaited;

    use super::*;

    /// A peer that makes a key for each connection fills neither the terminal nor the memory.
    #[test]
    fn few_refusals_are_told_and_of_an_identity_one() {
        let from = SocketAddr::from(([127, 0, 0, 1], 7000));
        let mut refusals = Refusals::new(Some("bob".to_owned()), Log::new(0));
        let of_identity = |identity: u8| NetError::WrongIdentity {
            expected: Vec::new(),
            found: Fingerprint([identity; 32]),
        };
        let noise = NetError::Cancelled {
            awaited: Awaited::Connection,
        };
        let told = [0, 0, 1].map(|identity| refusals.number(&of_identity(identity)));
        assert_eq!(told, [Some(1), None, Some(2)]);
        // Refusals without an identity leave the others their places.
        let others = (1..=100).filter_map(|_| refusals.number(&noise));
        assert_eq!(others.max(), Some(REFUSALS_TOLD));
        let told = (2..100).filter_map(|identity| refusals.number(&of_identity(identity)));
        assert_eq!(told.max(), Some(REFUSALS_TOLD));
        assert_eq!(refusals.identities.len(), REFUSALS_TOLD);
        (0..101).for_each(|_| refusals.tell(from, &of_identity(0)));
        assert!(
            refusals
                .summary()
                .contains("refused 101 connections, the last from 127.0.0.1")
        );
    }
}
