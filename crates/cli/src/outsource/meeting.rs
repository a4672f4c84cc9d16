//! The way in which one of three parties meets the other two.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tacit::net::{Awaited, CancelHandle, NetError};
use tacit::outsourced::OutsourcedRole;
use tacit::{Fingerprint, Identity, Listener, Session, Settings};

use crate::args::{Other, OutsourceArgs};
use crate::config::Config;
use crate::failure::{Failure, failure, usage};
use crate::log::Log;
use crate::party::{self, HINT_AFTER, Refusals};

/// The default for the longest wait until the other parties are there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// The pause between two checks for new connections.
const PAUSE: Duration = Duration::from_millis(20);

/// This party, the other two, and their addresses.
pub(super) struct Meeting {
    role: OutsourcedRole,
    identity: Identity,
    /// The other parties, in the order in which this party meets them.
    pub(super) others: [(OutsourcedRole, Fingerprint); 2],
    /// The addresses of the parties to which this party connects.
    addresses: [Option<String>; 2],
    listen: Option<String>,
    settings: Settings,
}

impl Meeting {
    /// Makes the meeting from the arguments and the configuration.
    pub(super) fn new(given: &OutsourceArgs<'_>, config: &Config) -> Result<Self, Failure> {
        let path = party::identity_path(given.each.session.identity.as_ref(), config)?;
        let identity = party::own_identity(&path)?;
        let who = |other: &Other<'_>| {
            let option = format!("--{}", other.role);
            let who = party::fingerprint(&option, other.name, config)?;
            Ok::<_, Failure>((other.role, who))
        };
        let [first, second] = &given.others;
        let others = [who(first)?, who(second)?];
        let own = (given.role, identity.fingerprint());
        for (one, other) in [(own, others[0]), (own, others[1]), (others[0], others[1])] {
            if one.1 == other.1 {
                return Err(usage!(
                    "the {} and the {} have one fingerprint", one.0, other.0;
                    "each of the three is to have its own"
                ));
            }
        }
        let addresses = [first, second].map(|other| address(given.role, other, config));
        let [first, second] = addresses;
        let mut settings = Settings::default();
        let connect = given.each.timeout.or(config.timeouts.connect);
        settings.connect_timeout = connect.unwrap_or(CONNECT_TIMEOUT);
        Ok(Self {
            role: given.role,
            identity,
            others,
            addresses: [first?, second?],
            listen: listen(given, config)?,
            settings,
        })
    }

    /// Returns the two servers, which keep the chains. This party must be one of them.
    pub(super) fn servers(&self) -> [Fingerprint; 2] {
        [self.identity.fingerprint(), self.others[0].1]
    }

    /// Meets both other parties, in the order of `others`.
    pub(super) fn meet(mut self, cancel: CancelHandle, log: Log) -> Result<[Session; 2], Failure> {
        self.settings.cancel = cancel;
        let listener = self.listen.as_deref().map(Listener::bind).transpose()?;
        if let Some(listener) = &listener {
            eprintln!("listening on {}", listener.local_address());
        }
        let (identity, settings) = (&self.identity, &self.settings);
        for (other, who) in &self.others {
            log.step(format_args!("the {other} is {who}"));
        }
        let mut met: [Option<Session>; 2] = [None, None];
        for ((met, address), (other, who)) in met.iter_mut().zip(&self.addresses).zip(&self.others)
        {
            if let Some(address) = address {
                eprintln!("waiting for the {other} at {address}");
                let hint = party::hint_later(format!(
                    "still waiting: the {other} may have ended with an error, or listens at \
                     another address, which --{other}-at HOST:PORT gives. It listens at one \
                     address for both other parties"
                ));
                let session = Session::connect(address, identity, who, settings);
                drop(hint);
                *met = Some(session.map_err(|error| error.of_party(*other))?);
            }
        }
        if let Some(listener) = listener {
            self.receive(listener, &mut met, log)?;
        }
        match met {
            [Some(first), Some(second)] => Ok([first, second]),
            _ => Err(Failure::usage(format!(
                "the {} was not told where to meet the others",
                self.role
            ))),
        }
    }

    /// Waits for the parties that connect to this one, for `connect_timeout` in all.
    fn receive(
        &self,
        listener: Listener,
        met: &mut [Option<Session>; 2],
        log: Log,
    ) -> Result<(), Failure> {
        let (identity, settings) = (&self.identity, &self.settings);
        let own = identity.fingerprint();
        let awaited = self.missing(met);
        let allowed: Vec<_> = awaited.iter().map(|(_, who)| *who).collect();
        let mut refusals = Refusals::new(Some(named(&awaited, "or")), log);
        eprintln!("waiting for {}", named(&awaited, "and"));
        let mut door = listener.open(identity, &allowed[..].into(), settings)?;
        let (begun, mut is_hinted) = (Instant::now(), false);
        while met.iter().any(Option::is_none) {
            if settings.cancel.is_cancelled() {
                let awaited = Awaited::Connection;
                return Err(tacit::Error::from(NetError::Cancelled { awaited }).into());
            }
            let missing = named(&self.missing(met), "and");
            if begun.elapsed() > settings.connect_timeout {
                let (after, refused) = (settings.connect_timeout, refusals.summary());
                return Err(failure!(
                    Network;
                    "{missing} did not connect within {after:?}{refused}";
                    "check that the command still runs there and that its --{}-at names this \
                     address, or allow a longer --timeout", self.role
                ));
            }
            if begun.elapsed() > HINT_AFTER && !is_hinted {
                is_hinted = true;
                eprintln!(
                    "still waiting for {missing}: the command there connects to this address, by \
                     --{}-at or tacit.toml, and may have ended with an error",
                    self.role
                );
            }
            let mut refused = |from: SocketAddr, reason: &NetError| refusals.tell(from, reason);
            let Some(arrived) = door.next(PAUSE, &mut refused) else {
                continue;
            };
            let mut others = self.others.iter();
            if let Some(place) = others.position(|(_, who)| Some(*who) == arrived.channel.peer()) {
                let (other, _) = self.others[place];
                let session = Session::greet(arrived, &own, settings);
                let session = session.map_err(|error| error.of_party(other))?;
                // A party whose command was restarted connects again; its last connection counts.
                let again = met[place].replace(session).map_or("", |_| " again");
                eprintln!("the {other} is here{again}");
                refusals.await_only(named(&self.missing(met), "or"));
            }
        }
        Ok(())
    }

    /// Returns the parties that this party has not met.
    fn missing(&self, met: &[Option<Session>; 2]) -> Vec<(OutsourcedRole, Fingerprint)> {
        let others = self.others.iter().zip(met);
        let missing = others.filter(|(_, met)| met.is_none());
        missing.map(|(other, _)| *other).collect()
    }
}

/// Lists some of the other parties in a sentence.
fn named(others: &[(OutsourcedRole, Fingerprint)], joint: &str) -> String {
    let names: Vec<_> = others
        .iter()
        .map(|(role, _)| format!("the {role}"))
        .collect();
    names.join(&format!(" {joint} "))
}

/// Returns whether the party in `role` connects to `other`. Both others connect to the generator,
/// and the evaluator connects to the cloud.
fn connects(role: OutsourcedRole, other: OutsourcedRole) -> bool {
    use OutsourcedRole::{Cloud, Evaluator, Generator};
    matches!(
        (role, other),
        (Cloud | Evaluator, Generator) | (Evaluator, Cloud)
    )
}

/// Returns the address at which this party listens: the given one, or the one at which it listens
/// for runs of two parties with these peers.
fn listen(given: &OutsourceArgs<'_>, config: &Config) -> Result<Option<String>, Failure> {
    let Some(server) = given.server else {
        return Ok(None);
    };
    if server.listen.is_some() {
        return Ok(server.listen.clone());
    }
    let role = given.role;
    let coming = given.others.iter();
    let coming = coming.filter(|other| connects(other.role, role));
    let configured = coming
        .filter_map(|other| config.peers.get(other.name))
        .filter_map(|peer| peer.listen.clone());
    let configured: BTreeSet<String> = configured.collect();
    if configured.len() > 1 {
        let all: Vec<_> = configured.into_iter().collect();
        return Err(usage!(
            "the {role} listens at one address for both others, and [peers] has {}",
            all.join(" and ");
            "give --listen HOST:PORT, and the others --{role}-at with it"
        ));
    }
    let only = configured.into_iter().next();
    only.map(Some)
        .ok_or_else(|| usage!("the {role} is connected to"; "give --listen HOST:PORT"))
}

/// Returns the address of `other`, if the party in `role` connects to it.
fn address(
    role: OutsourcedRole,
    other: &Other<'_>,
    config: &Config,
) -> Result<Option<String>, Failure> {
    if !connects(role, other.role) {
        return Ok(None);
    }
    let configured = || config.peers.get(other.name)?.address.clone();
    let said = other.at.map(str::to_owned).or_else(configured);
    said.map(Some).ok_or_else(|| {
        let other = other.role;
        usage!("nothing says where the {other} listens"; "give --{other}-at HOST:PORT")
    })
}
