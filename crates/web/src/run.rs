//! Runs of two parties, and the thin client of three.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tacit::circuit::wipe_json;
use tacit::net::relay::Hello;
use tacit::net::{Channel, Transport};
use tacit::outsourced::{OutsourcedJob, OutsourcedParameters};
use tacit::session::Side;
use tacit::stock::ChainVersion;
use tacit::{Function, Job, Outcome, Role, SecurityScope, Session, Value, library};

use crate::Refused;
use crate::link;
use crate::program::{GivenProgram, result_json};
use crate::session::{
    With, authenticated, number, of_link, order, parties, patience, phases_json, ran, settings,
    text,
};

/// Returns the error that ended a run through a relay, which may be what ended the connection.
fn of_relay(refused: Refused) -> Refused {
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
    let outcome = ran(&mut session, |session| job.run(session));
    let outcome = outcome.map_err(|refused| match by_relay {
        true => of_relay(refused),
        false => refused,
    })?;
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
    let job = OutsourcedJob::new(&function, parameters).patience(patience(&order)?);
    let mut job = job.on_stage(link::staged);
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
    // The cloud agrees after the generator.
    let outcome = ran(&mut with_cloud, |cloud| {
        job.evaluate(&mut with_generator, cloud)
    })?;
    keep(generator, with_generator);
    keep(cloud, with_cloud);
    let outputs = outcome.outputs.iter();
    let results = outputs.map(|(name, value)| {
        json!({ "name": name, "text": value.to_text(), "value": value.to_json(), "table": null })
    });
    Ok(outcome_json(&outcome, results.collect()).to_string())
}
