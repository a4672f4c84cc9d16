//! Runs of two parties, and the thin client of three.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tacit::circuit::wipe_json;
use tacit::cost::Cost;
use tacit::net::relay::Hello;
use tacit::net::{Channel, Introduction, Transport};
use tacit::outsourced::{OutsourcedJob, OutsourcedParameters};
use tacit::session::Side;
use tacit::stock::ChainVersion;
use tacit::{
    Fingerprint, Function, Identity, Job, Outcome, Role, SecurityScope, Session, Settings, Value,
    library,
};

use crate::Refused;
use crate::link::{self, LinkState};
use crate::program::{GivenProgram, result_json};

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

/// Returns the error that ended a run after it was requested.
pub(crate) fn of_run(error: tacit::Error) -> Refused {
    let refused = Refused::from(error);
    let is_declined = matches!(
        refused.reason,
        Some("unknown" | "not-allowed" | "too-often" | "too-large" | "busy")
    );
    Refused {
        started: !is_declined,
        ..refused
    }
}

/// As [`of_run`], for a run through a relay, which may be what ended the connection.
fn of_run_at_relay(error: tacit::Error) -> Refused {
    let refused = of_run(error);
    if refused.reason != Some("left") {
        return refused;
    }
    let message = "the connection through the relay ended during the run: see whether the other \
                   party and the relay are still there, and run again, both of you";
    Refused {
        message: message.to_owned(),
        ..refused
    }
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
    // The library's own text may quote a secret.
    let order: Result<Json, _> = serde_json::from_str(text);
    let mut order = order.map_err(|_| "the order is not JSON")?;
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

fn outcome_json(outcome: &Outcome, results: Json) -> Json {
    json!({
        "results": results,
        "threat_model": outcome.threat_model.to_string(),
        "security_bits": outcome.statistical_security_bits,
        "of_this_run_alone": outcome.security_scope == Some(SecurityScope::ThisRun),
        "chain": outcome.chain.map(|chain| chain.to_string()),
        "phases": phases_json(&outcome.cost),
        "ms": outcome.cost.wall().as_secs_f64() * 1e3,
    })
}

/// Makes a run of two parties, which give the same program and protocol:
///
/// | member | content |
/// |---|---|
/// | `program` | see [`GivenProgram`] |
/// | `party` | the name of this party in the program |
/// | `protocol` | `direct` or `authenticated` |
/// | `inputs` | a JSON object of this party's inputs |
/// | `identity`, `peer` | this party's identity ([`identity`]) and the other's fingerprint; without them there is no TLS, for two tabs of one browser |
/// | `by_relay` | whether the link leads to a relay, and not to a service that is the other party |
/// | `token` | of a visitor whom the service does not know; may be left out |
/// | `patience_ms` | see [`patience`]; may be left out |
pub(crate) fn two_party(link: u32, text_of_order: &str) -> Result<String, Refused> {
    let (order, given) = order(text_of_order)?;
    let program = GivenProgram::new(&order["program"])?;
    let typed = program.function()?;
    let signature = typed.signature();
    let party = signature.party(text(&order, "party")?);
    let party = party.map_err(|error| program.told(error))?;
    let values = program.inputs_of(signature, party, &given);
    wipe_json(given);
    let mut random = Ok(());
    let mut draw = |bytes: &mut [u8]| random = random.and(getrandom::fill(bytes));
    let inputs = typed.inputs(party, &values?, &mut draw);
    let inputs = inputs.map_err(|error| program.told(error))?;
    random.map_err(|_| "the browser gives no randomness")?;
    let role = signature.role(party);
    let mut job = Job::new(typed.function(), role);
    match text(&order, "protocol")? {
        "direct" => {}
        "authenticated" => job = job.authenticated(),
        protocol @ ("prepared" | "batch") => {
            let why = format!(
                "`{protocol}` does not run in a browser, which keeps no stock: a browser may \
                 remove what pages keep, or bring back an older copy of it, and what is \
                 prepared must never be used twice; run `direct` or `authenticated`"
            );
            return Err(why.into());
        }
        other => {
            let known = "a page runs `direct` and `authenticated`";
            return Err(format!("no protocol is called {other:?}; {known}").into());
        }
    }
    for (name, value) in inputs {
        job = job.input(&name, value);
    }
    let patience = patience(&order)?;
    let by_relay = order["by_relay"] == true;
    let is_known = ["identity", "peer"].map(|name| !order[name].is_null());
    let (with, session) = match (is_known, by_relay) {
        ([true, true], true) => (With::Relay, at_relay(link, &order, patience)),
        ([true, true], false) => (
            With::Service,
            authenticated(link::transport(link), &order, "peer"),
        ),
        ([false, false], false) => (With::Tab, with_tab(link::transport(link), role, patience)),
        _ => return Err("give both identity and peer, or neither between two tabs".into()),
    };
    let mut session = session.map_err(|refused| of_link(link, with, patience, refused))?;
    let of_run = if by_relay { of_run_at_relay } else { of_run };
    let outcome = job.run(&mut session).map_err(of_run)?;
    // The result is here, so a peer that has already left does not matter.
    let _ = session.close();
    let results = typed.results(&outcome.outputs);
    let results = results.map_err(|error| program.told(error))?;
    let results = results.iter();
    let results = results.map(|(name, value)| result_json(signature, name, value));
    Ok(outcome_json(&outcome, results.collect()).to_string())
}

/// Starts a session with another tab of this browser.
fn with_tab(transport: Transport, role: Role, patience: Duration) -> Result<Session, Refused> {
    let side = match role {
        Role::Garbler => Side::Listening,
        Role::Evaluator => Side::Connecting,
    };
    let mut channel = Channel::over(transport);
    channel.set_timeout(patience);
    Ok(Session::over(channel, side, None)?)
}

/// Returns the values of the evaluator's inputs of a function of the library.
fn values(function: &Function, given: &Json) -> Result<Vec<(String, Value)>, Refused> {
    let wanted = function.inputs().iter();
    let wanted = wanted.filter(|input| input.owner == Role::Evaluator);
    let mut values = Vec::new();
    for port in wanted.map(|input| &input.port) {
        let value = match &given[&port.name] {
            Json::Null => return Err(format!("give the input {} ({})", port.name, port.ty).into()),
            Json::String(text) => port.parse_value(text),
            json => port.value_from_json(json),
        };
        let value = value.map_err(|error| error.to_string())?;
        values.push((port.name.clone(), value));
    }
    Ok(values)
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
fn parties(order: &Json, peer: &str) -> Result<(Identity, Fingerprint), Refused> {
    let peer: Fingerprint = text(order, peer)?
        .parse()
        .map_err(|error| format!("{error}"))?;
    Ok((identity(&order["identity"])?, peer))
}

/// Starts a session with the party that comes to the relay, to which the link leads, and has the
/// fingerprint `peer` of the order. TLS between the two proves both identities.
fn at_relay(link: u32, order: &Json, patience: Duration) -> Result<Session, Refused> {
    let (identity, peer) = parties(order, "peer")?;
    if identity.fingerprint() == peer {
        return Err("peer is this party's own fingerprint: give that of the other party".into());
    }
    let hello = Hello::between(&identity.fingerprint(), &peer);
    let side = if hello.listens {
        Side::Listening
    } else {
        Side::Connecting
    };
    let transport = link::meet(link, hello, patience).map_err(tacit::Error::from)?;
    let settings = settings(patience);
    Ok(Session::over_transport(
        transport, side, &identity, &peer, &settings,
    )?)
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

thread_local! {
    /// The sessions with servers that are kept for the next run, by the numbers of their links.
    static SESSIONS: RefCell<BTreeMap<u32, Session>> = const { RefCell::new(BTreeMap::new()) };
}

/// Connects to both servers at once.
fn open(links: [u32; 2]) {
    links.into_iter().for_each(link::open);
}

/// Returns the session with the server of this name in the order, over this link, and meets the
/// server if there is none.
fn met(link: u32, order: &Json, server: &str) -> Result<Session, Refused> {
    match SESSIONS.with_borrow_mut(|kept| kept.remove(&link)) {
        Some(session) => Ok(session),
        None => {
            let patience = patience(order)?;
            authenticated(link::transport(link), order, server)
                .map_err(|refused| of_link(link, With::Server(server), patience, refused))
        }
    }
}

fn keep(link: u32, session: Session) {
    SESSIONS.with_borrow_mut(|kept| kept.insert(link, session));
}

/// Meets both servers in advance of the next run. Uses `identity`, `generator`, `cloud` and
/// `patience_ms` of the order.
pub(crate) fn meet(generator: u32, cloud: u32, text_of_order: &str) -> Result<(), Refused> {
    let (order, _) = order(text_of_order)?;
    open([generator, cloud]);
    for (link, server) in [(generator, "generator"), (cloud, "cloud")] {
        keep(link, met(link, &order, server)?);
    }
    Ok(())
}

/// Ends the session over this link, if there is one.
pub(crate) fn part(link: u32) {
    let session = SESSIONS.with_borrow_mut(|kept| kept.remove(&link));
    // A server that has already left need not be told.
    let _ = session.map(Session::close);
}

/// Runs a function of the library as the thin client of `outsourced`, and keeps its sessions for
/// the next run:
///
/// | member | content |
/// |---|---|
/// | `function`, `params` | its name, and a JSON object of whole numbers |
/// | `inputs` | a JSON object of the evaluator's inputs |
/// | `copies`, `security_bits` | the number of circuits, and k, the same as at both servers |
/// | `identity` | this person's identity ([`identity`]) |
/// | `generator`, `cloud` | fingerprints of the servers |
/// | `pin` | the chain of an earlier run, at whose version or a later one this run must start; or null |
/// | `patience_ms` | see [`patience`]; may be left out |
pub(crate) fn client(generator: u32, cloud: u32, text_of_order: &str) -> Result<String, Refused> {
    let (order, given) = order(text_of_order)?;
    let params = serde_json::from_value(order["params"].clone());
    let params = params.map_err(|_| "params are a JSON object of whole numbers")?;
    let function = library::function(text(&order, "function")?, &params)?;
    let copies = u32::try_from(number(&order, "copies")?).map_err(|error| error.to_string())?;
    let bits = u8::try_from(number(&order, "security_bits")?).map_err(|error| error.to_string())?;
    let parameters =
        OutsourcedParameters::malicious(copies, bits).map_err(|error| error.to_string())?;
    let mut job = OutsourcedJob::new(&function, parameters).patience(patience(&order)?);
    let values = values(&function, &given);
    wipe_json(given);
    for (name, value) in values? {
        job = job.input(&name, value);
    }
    if let Some(pin) = order["pin"].as_str() {
        let pin: ChainVersion = pin.parse().map_err(|error| format!("{error}"))?;
        job = job.pin(pin);
    }
    open([generator, cloud]);
    let mut with_generator = met(generator, &order, "generator")?;
    let mut with_cloud = met(cloud, &order, "cloud")?;
    let outcome = job.evaluate(&mut with_generator, &mut with_cloud);
    let outcome = outcome.map_err(of_run)?;
    keep(generator, with_generator);
    keep(cloud, with_cloud);
    let outputs = outcome.outputs.iter();
    let results = outputs.map(|(name, value)| {
        json!({ "name": name, "text": value.to_text(), "value": value.to_json(), "table": null })
    });
    Ok(outcome_json(&outcome, results.collect()).to_string())
}
