//! `tacit pair`: two parties learn each other's fingerprints and remember how they meet.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tacit::net::pairing::{
    self, Invitation, Inviter, Ledger, Paired, PairingListener, Route, UnconfirmedPairing,
};
use tacit::net::{CancelHandle, NetError};
use tacit::{Identity, Role, Settings};

use crate::args::{AcceptArgs, InviteArgs, PairCommand};
use crate::cancel;
use crate::config::{self, Config, NewPeer};
use crate::failure::{Failure, input, usage};
use crate::keygen;
use crate::log::Log;
use crate::output;
use crate::party;

/// The longest validity of an invitation.
const MAX_VALID: Duration = Duration::from_secs(24 * 3600);

/// The number of tries to type a code: a typing error is likelier than a man in the middle.
const TRIES: usize = 3;

/// Runs the command.
pub(crate) fn pair(command: &PairCommand, config: Option<&Path>, log: Log) -> Result<(), Failure> {
    match command {
        PairCommand::Invite(args) => invite(args, config, log),
        PairCommand::Accept(args) => accept(args, config),
    }
}

/// This party: its configuration, and its identity, which is made if there is none.
struct Own {
    file: PathBuf,
    identity: Identity,
    settings: Settings,
    cancel: CancelHandle,
}

impl Own {
    fn new(name: &str, explicit: Option<&Path>) -> Result<Self, Failure> {
        let file = config::file(explicit)?;
        // The file to be written may not exist yet.
        let config = if file.exists() {
            Config::load(Some(&file))?
        } else {
            Config::default()
        };
        config::check_new_name(&config, &file, name)?;
        let folder = config::folder_of(&file);
        fs::create_dir_all(&folder).map_err(|error| Failure::write(&folder, &error))?;
        let path = config.identity.clone();
        let path = path.unwrap_or_else(|| party::default_path(&folder));
        let identity = if path.exists() {
            party::own_identity(&path)?
        } else {
            let made = keygen::make(&path)?;
            eprintln!(
                "Made an identity in {} (mode 0600; never give it away).",
                path.display()
            );
            made
        };
        let cancel = cancel::on_signal()?;
        let settings = Settings {
            connect_timeout: config.timeouts.connect.unwrap_or(party::CONNECT_TIMEOUT),
            cancel: cancel.clone(),
            ..Settings::default()
        };
        Ok(Self {
            file,
            identity,
            settings,
            cancel,
        })
    }

    /// Returns the invitations that were made and used here.
    fn ledger(&self) -> Result<Ledger, Failure> {
        let folder = config::folder_of(&self.file).join("invitations");
        Ok(Ledger::open(&folder).map_err(tacit::Error::from)?)
    }
}

fn invite(args: &InviteArgs, config: Option<&Path>, log: Log) -> Result<(), Failure> {
    if args.valid > MAX_VALID || args.valid < Duration::from_secs(1) {
        return Err(usage!("--valid is from 1s to 1440m, a day"; "give a time between"));
    }
    let own = Own::new(&args.name, config)?;
    let meeting = Meeting::new(args)?;
    let (way, address) = meeting.told(args)?;
    let now = pairing::now().map_err(tacit::Error::from)?;
    let expires = now + args.valid.as_secs();
    let inviter = own.identity.fingerprint();
    let invitation = Invitation::new(inviter, way, &address, expires);
    let invitation = invitation.map_err(tacit::Error::from)?;
    let ledger = own.ledger()?;
    let line = invitation.to_text();
    let waiting = Inviter::new(invitation, ledger).map_err(tacit::Error::from)?;
    eprintln!(
        "Send this line to {} in any way, such as by mail. It works once, within {} min:",
        args.name,
        args.valid.as_secs().div_ceil(60)
    );
    output::print(format!("{}\n", *line))?;
    eprintln!(
        "waiting for {} to run `tacit pair accept` with it",
        args.name
    );
    let met = meeting.wait(waiting, &own, log)?;
    let paired = compare(met, &args.name, &own.cancel)?;
    let peer = NewPeer {
        fingerprint: paired.peer,
        way: match meeting {
            Meeting::Here(_, listen) => config::NewWay::Listen(listen),
            Meeting::Relay(relay) => config::NewWay::Relay(relay, paired.room),
        },
        role: Role::Garbler,
    };
    remember(&own.file, &args.name, &peer)
}

/// The place where the inviting party waits.
enum Meeting {
    /// This listener, with the address to listen at later.
    Here(PairingListener, String),
    /// This relay.
    Relay(String),
}

impl Meeting {
    fn new(args: &InviteArgs) -> Result<Self, Failure> {
        match (&args.listen, &args.relay) {
            (Some(listen), _) => {
                let listener = PairingListener::bind(listen).map_err(tacit::Error::from)?;
                let listen = listening(listen, listener.local_address());
                Ok(Self::Here(listener, listen))
            }
            (None, Some(relay)) => Ok(Self::Relay(relay.clone())),
            (None, None) => Err(usage!(
                "the other party has no address to come to";
                "give --listen or --relay"
            )),
        }
    }

    /// Returns the route and the address for the invitation.
    fn told(&self, args: &InviteArgs) -> Result<(Route, String), Failure> {
        match (self, &args.address) {
            (Self::Relay(relay), _) => Ok((Route::Relay, relay.clone())),
            (Self::Here(..), Some(address)) => Ok((Route::Direct, address.clone())),
            (Self::Here(listener, listen), None) => {
                let address = reachable(listen, listener.local_address().ip())?;
                Ok((Route::Direct, address))
            }
        }
    }

    fn wait(&self, waiting: Inviter, own: &Own, log: Log) -> Result<UnconfirmedPairing, Failure> {
        let met = match self {
            Self::Here(listener, _) => {
                let mut refusals = party::Refusals::new(None, log);
                let mut refused = |from: SocketAddr, reason: &NetError| refusals.tell(from, reason);
                waiting.wait(listener, &own.identity, &own.settings, &mut refused)
            }
            Self::Relay(_) => {
                let mut refused = |reason: &NetError| {
                    eprintln!("refused somebody at the relay, and still waiting: {reason}");
                };
                waiting.wait_at_relay(&own.identity, &own.settings, &mut refused)
            }
        };
        Ok(met.map_err(tacit::Error::from)?)
    }
}

fn accept(args: &AcceptArgs, config: Option<&Path>) -> Result<(), Failure> {
    let invitation: Invitation = args
        .invitation
        .parse()
        .map_err(|error| Failure::input(format!("{error}")))?;
    let own = Own::new(&args.name, config)?;
    if invitation.inviter() == own.identity.fingerprint() {
        return Err(usage!("the invitation is this party's own"; "give it to the other party"));
    }
    let ledger = own.ledger()?;
    pairing::check_invitation(&invitation, &ledger).map_err(tacit::Error::from)?;
    let (name, address) = (&args.name, invitation.address());
    let place = match invitation.way() {
        Route::Direct => format!("at {address}"),
        // The latter is refused above.
        Route::Relay | Route::RelayOfPages => format!("by the relay at {address}"),
    };
    eprintln!(
        "waiting for {name} {place}, for {} s at most: `tacit pair invite`, which printed the \
         invitation, has to be running there",
        own.settings.connect_timeout.as_secs()
    );
    let met = pairing::accept(&invitation, &ledger, &own.identity, &own.settings);
    let paired = compare(met.map_err(tacit::Error::from)?, &args.name, &own.cancel)?;
    let peer = NewPeer {
        fingerprint: paired.peer,
        way: match invitation.way() {
            Route::Direct => config::NewWay::Connect(invitation.address().to_owned()),
            Route::Relay | Route::RelayOfPages => {
                config::NewWay::Relay(invitation.address().to_owned(), paired.room)
            }
        },
        role: Role::Evaluator,
    };
    remember(&own.file, &args.name, &peer)
}

/// Asks people to compare the two codes.
fn compare(met: UnconfirmedPairing, name: &str, cancel: &CancelHandle) -> Result<Paired, Failure> {
    eprintln!("Speak to {name} now, by telephone or face to face, so that you know the voice.");
    eprintln!("  read this code aloud: {}", met.own_code());
    eprintln!("  type the code that {name} reads, and Enter:");
    let lines = lines();
    let mut tries = 0;
    loop {
        let line = match lines.recv_timeout(Duration::from_millis(50)) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) if !cancel.is_cancelled() => continue,
            Err(_) => {
                // The other party learns that the pairing failed.
                let _ = met.refuse();
                let what = "the code was not compared, so nothing was saved";
                return Err(input!("{what}"; "pair again with a new invitation"));
            }
        };
        // An empty line is no code.
        if line.trim().is_empty() {
            continue;
        }
        tries += 1;
        let is_theirs = met.is_theirs(&line);
        if !is_theirs && tries < TRIES {
            eprintln!(
                "That is not {name}'s code. Have it read again, and type it ({} left):",
                match TRIES - tries {
                    1 => "1 try".to_owned(),
                    left => format!("{left} tries"),
                }
            );
            continue;
        }
        if is_theirs {
            eprintln!("waiting for {name} to type this party's code");
        }
        return Ok(met.confirm(&line).map_err(tacit::Error::from)?);
    }
}

/// Reads the lines of standard input on a thread, so that a signal does not have to wait for them.
fn lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::sync_channel(0);
    thread::spawn(move || {
        let mut line = String::new();
        // The receiver is gone once the code is there.
        while io::stdin()
            .read_line(&mut line)
            .is_ok_and(|count| count > 0)
            && sender.send(std::mem::take(&mut line)).is_ok()
        {}
    });
    receiver
}

fn remember(file: &Path, name: &str, peer: &NewPeer) -> Result<(), Failure> {
    config::add_peer(file, name, peer)?;
    eprintln!("Paired: {} has [peers.{name}].", file.display());
    eprintln!("Try, each with the name of the other: tacit run FUNCTION --with {name} --input …");
    Ok(())
}

/// Returns the address to listen at later: the given one, with the port that was taken.
fn listening(given: &str, taken: SocketAddr) -> String {
    match given.rsplit_once(':') {
        Some((host, _)) => format!("{host}:{}", taken.port()),
        None => taken.to_string(),
    }
}

/// Returns the address at which another party reaches this machine, if it can be known.
fn reachable(listen: &str, ip: IpAddr) -> Result<String, Failure> {
    if ip.is_unspecified() {
        return Err(usage!(
            "the other party cannot connect to {listen}, which stands for all addresses of this \
             machine";
            "give --address and the HOST:PORT that leads here from where it is"
        ));
    }
    Ok(listen.to_owned())
}
