//! Sessions with the party at the other end of a link, and what all orders of pages have in common.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tacit::cost::Cost;
use tacit::net::{Introduction, Transport};
use tacit::session::Side;
use tacit::{Fingerprint, Identity, Session, Settings};

use crate::Refused;
use crate::link::{self, LinkState};

/// The default and the largest value of the longest wait for the other party to come, and then for
/// each of its messages.
const PATIENCE: Duration = Duration::from_secs(120);
const MAX_PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the longest wait of an order for the other party to come, and for each of its messages.
pub(crate) fn patience(order: &Json) -> Result<Duration, Refused> {
    let given = &order["patience_ms"];
    if given.is_null() {
        return Ok(PATIENCE);
    }
    let given = given.as_u64().map(Duration::from_millis);
    let given = given.filter(|given| !given.is_zero() && *given <= MAX_PATIENCE);
    given.ok_or_else(|| "patience_ms is a whole number of ms, of a day at most".into())
}

/// The party at the other end of a link.
#[cfg_attr(
    not(feature = "programs"),
    expect(dead_code, reason = "matches and invitations meet only some of them")
)]
#[derive(Clone, Copy)]
pub(crate) enum With<'a> {
    /// Another tab of this browser.
    Tab,
    /// A service that plays the other party.
    Service,
    /// A relay, at which another page or a command comes.
    Relay,
    /// A relay, at which the page waits that made an invitation.
    Inviter,
    /// A server of a run of three, by its name.
    Server(&'a str),
}

/// Returns the error to report for a run over this link that ended with `refused`. If nobody was at
/// the link's other end, the network's own error says little.
pub(crate) fn of_link(link: u32, with: With<'_>, patience: Duration, refused: Refused) -> Refused {
    let told = |kind, reason, message: String| Refused {
        kind,
        message,
        reason: Some(reason),
        started: false,
    };
    match (link::state(link), with) {
        _ if refused.kind != "network" => in_session(with, refused),
        (LinkState::Occupied, _) => {
            let message = "another tab of this browser is this party already: close it, or be \
                           the other party here";
            told("usage", "occupied", message.to_owned())
        }
        (LinkState::Unreached, With::Tab) => {
            let message = format!(
                "no other tab came within {patience:?}: open one in this browser, with the same \
                 program, as the other party"
            );
            told("network", "unreached", message)
        }
        (LinkState::Unreached, with) => {
            let who = match with {
                With::Server(server) => server,
                With::Relay | With::Inviter => "relay",
                With::Tab | With::Service => "service",
            };
            let message = format!(
                "the {who} cannot be reached: check its address and the network, and that it \
                 allows this page's origin"
            );
            told("network", "unreached", message)
        }
        (LinkState::Met, With::Inviter) if refused.reason == Some("late") => {
            let message = "nobody waits for this link: it was used, or it was changed on its way, \
                           or the page that made it is closed; ask for a new one";
            told("network", "not-awaited", message.to_owned())
        }
        (LinkState::Met, With::Relay) if refused.reason == Some("late") => {
            let message = format!(
                "the other party did not come to the relay within {patience:?}: it has to run the \
                 same, with this party's fingerprint, at the same relay"
            );
            told("network", "not-there", message)
        }
        _ => in_session(with, refused),
    }
}

/// Adds to an error in the session with one of several servers the name of the server.
fn in_session(with: With<'_>, refused: Refused) -> Refused {
    let With::Server(server) = with else {
        return refused;
    };
    let message = format!("in the session with the {server}: {}", refused.message);
    Refused { message, ..refused }
}

/// Runs `run` in a session. If it fails before the parties have agreed on it and since the peer
/// declines it, it has not started. Afterwards the peer may say the same, but may have its result.
pub(crate) fn ran<T>(
    session: &mut Session,
    run: impl FnOnce(&mut Session) -> Result<T, tacit::Error>,
) -> Result<T, Refused> {
    let before = session.agreed_runs();
    let ran = run(session).map_err(Refused::from);
    let is_agreed = session.agreed_runs() > before;
    ran.map_err(|refused| {
        let is_declined = matches!(
            refused.reason,
            Some("unknown" | "not-allowed" | "too-often" | "too-large" | "busy")
        );
        Refused {
            started: is_agreed || !is_declined,
            ..refused
        }
    })
}

/// Returns a text member of an order.
pub(crate) fn text<'o>(order: &'o Json, name: &str) -> Result<&'o str, Refused> {
    let member = order[name].as_str();
    member.ok_or_else(|| format!("the order's {name:?} is missing or not a text").into())
}

/// Returns a member of an order that is a whole number.
pub(crate) fn number(order: &Json, name: &str) -> Result<u64, Refused> {
    let wrong = || format!("the order's {name:?} is missing or not a whole number").into();
    order[name].as_u64().ok_or_else(wrong)
}

/// Parses an order, and separates the inputs that it contains.
pub(crate) fn order(text: &str) -> Result<(Json, Json), Refused> {
    let mut order = parsed(text)?;
    let inputs = order["inputs"].take();
    Ok((order, inputs))
}

pub(crate) fn settings(patience: Duration) -> Settings {
    let default = Settings::default();
    Settings {
        handshake_timeout: default.handshake_timeout.min(patience),
        timeout: patience,
        ..default
    }
}

/// Returns the phases of a run: what each sent, received and took.
pub(crate) fn phases_json(cost: &Cost) -> Json {
    let phases = cost.phases.iter();
    phases
        .map(|phase| {
            json!({
                "phase": phase.phase.name(),
                "ms": phase.wall.as_secs_f64() * 1e3,
                "sent_bytes": phase.traffic.sent.bytes,
                "received_bytes": phase.traffic.received.bytes,
                "rounds": phase.traffic.rounds,
            })
        })
        .collect()
}

/// Reads an identity: PEM text, or an object with the `publicKey`, 32 numbers, and the number of
/// the `privateKey` that the browser holds.
pub(crate) fn identity(json: &Json) -> Result<Identity, Refused> {
    if let Some(pem) = json.as_str() {
        return Ok(Identity::from_pem(pem.as_bytes()).map_err(tacit::Error::from)?);
    }
    let public: Option<[u8; 32]> = serde_json::from_value(json["publicKey"].clone()).ok();
    let key = json["privateKey"].as_u64();
    let key = key.and_then(|key| u32::try_from(key).ok());
    let (Some(public), Some(key)) = (public, key) else {
        return Err(
            "an identity is PEM text, or a private and a public key of the browser's".into(),
        );
    };
    Ok(link::identity(key, &public))
}

/// Returns this party's identity, and the fingerprint that the order has under this name.
pub(crate) fn parties(order: &Json, peer: &str) -> Result<(Identity, Fingerprint), Refused> {
    let peer: Fingerprint = text(order, peer)?
        .parse()
        .map_err(|error| format!("{error}"))?;
    Ok((identity(&order["identity"])?, peer))
}

/// Reads the token of a visitor, if there is one.
fn introduction(token: &Json) -> Result<Option<Introduction>, Refused> {
    if token.is_null() {
        return Ok(None);
    }
    let token = token.as_str().map(str::to_owned);
    let token = token.and_then(Introduction::new).ok_or_else(|| {
        let most = Introduction::MAX_BYTES;
        Refused::from(format!("a token is a text of 1 to {most} bytes"))
    });
    token.map(Some)
}

/// Starts a session with the service whose fingerprint the order has under this name. TLS proves
/// both identities. A page always connects, in either role.
pub(crate) fn authenticated(
    transport: Transport,
    order: &Json,
    peer: &str,
) -> Result<Session, Refused> {
    let (identity, peer) = parties(order, peer)?;
    let connecting = Side::Connecting;
    let settings = Settings {
        introduction: introduction(&order["token"])?,
        ..settings(patience(order)?)
    };
    let session = Session::over_transport(transport, connecting, &identity, &peer, &settings);
    Ok(session?)
}

/// Parses a text as JSON.
pub(crate) fn parsed(text: &str) -> Result<Json, Refused> {
    // The library's own text may quote a secret.
    serde_json::from_str(text).map_err(|_| "the order is not JSON".into())
}

#[cfg(all(test, feature = "programs"))]
mod tests {
    use std::thread;

    use tacit::session::AbortReason;
    use tacit::{Job, Role, library};
    use tacit_net::memory;
    use tacit_protocol::message::Kind;
    use tacit_protocol::session::{Hello, Proposal};

    use super::*;

    /// Asks a peer for a run that says that it is busy, where `agrees` says once it has agreed.
    fn refused(agrees: bool) -> Refused {
        let (to_peer, mut peer) = memory::pair();
        thread::scope(|scope| {
            scope.spawn(move || {
                let hello = Hello::of([7; 32]).to_bytes();
                peer.send(Kind::Hello.byte(), &hello).expect("room");
                peer.flush().expect("a page");
                if agrees {
                    peer.receive(Kind::MAX_CONTROL_BYTES).expect("a greeting");
                    let asked = peer.receive(Proposal::BYTES).expect("a proposal");
                    let asked = Proposal::parse(Kind::Propose, asked.payload).expect("valid");
                    let role = asked.role.other();
                    let accepted = Proposal { role, ..asked }.to_bytes();
                    peer.send(Kind::Accept.byte(), &accepted).expect("room");
                }
                let busy = [AbortReason::Busy.byte()];
                let _ = peer.abort(Kind::Abort.byte(), &busy, Duration::from_secs(10));
            });
            let session = Session::over(to_peer, Side::Connecting, None);
            let bits = [("bits".to_owned(), 4)].into();
            let function = library::function("millionaires", &bits).expect("a function");
            let job = Job::new(&function, Role::Evaluator).input("b", 3_u32);
            let ran = ran(&mut session.expect("a channel"), |session| job.run(session));
            ran.map(|_| ()).expect_err("nobody runs it")
        })
    }

    /// Else a peer that has its result would have the page say that nothing has happened.
    #[test]
    fn a_peer_that_has_agreed_cannot_say_that_a_run_did_not_start() {
        for agrees in [false, true] {
            let refused = refused(agrees);
            assert_eq!((refused.reason, refused.started), (Some("busy"), agrees));
        }
    }
}
