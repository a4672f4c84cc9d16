//! Runs of two parties, and the thin client of three.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tacit::{
    ChainVersion, Channel, Error, Fingerprint, Identity, Job, Outcome, OutsourcedJob,
    OutsourcedParameters, Role, Session, Settings, Side, Transport, library,
};

use crate::link;
use crate::program::{self, Refused, texts};

/// How long a person may take between two messages of the other tab or device.
const PATIENCE: Duration = Duration::from_secs(120);

/// A member of an order that is a text.
fn text<'o>(order: &'o Json, name: &str) -> Result<&'o str, Refused> {
    let member = order[name].as_str();
    member.ok_or_else(|| format!("the order's {name:?} is missing or is no text"))
}

fn order(text: &str) -> Result<Json, Refused> {
    serde_json::from_str(text).map_err(|error| format!("the order is no JSON: {error}"))
}

fn settings() -> Settings {
    Settings {
        timeout: PATIENCE,
        ..Settings::default()
    }
}

fn outcome_json(outcome: &Outcome) -> Json {
    let phases = outcome.cost.phases.iter();
    let phases: Vec<Json> = phases
        .map(|phase| {
            json!({
                "phase": phase.phase.name(),
                "ms": phase.wall.as_secs_f64() * 1e3,
                "sent_bytes": phase.traffic.sent.bytes,
                "received_bytes": phase.traffic.received.bytes,
                "rounds": phase.traffic.rounds,
            })
        })
        .collect();
    json!({
        "outputs": texts(&outcome.outputs),
        "threat_model": outcome.threat_model.to_string(),
        "security_bits": outcome.statistical_security_bits,
        "chain": outcome.chain.map(|chain| chain.to_string()),
        "phases": phases,
        "ms": outcome.cost.wall().as_secs_f64() * 1e3,
    })
}

/// A run of two parties, who give the same program and protocol:
///
/// | member | what it is |
/// |---|---|
/// | `program`, `params` | the text, and a JSON object of whole numbers |
/// | `role` | `garbler`, who listens, or `evaluator`, who connects |
/// | `protocol` | `direct` or `authenticated` |
/// | `inputs` | a JSON object of this party's inputs |
/// | `identity`, `peer` | this party's PEM text and the other's fingerprint; without them there is no TLS, for two tabs of one browser |
pub(crate) fn two_party(link: u32, text_of_order: &str) -> Result<String, Refused> {
    let order = order(text_of_order)?;
    let function = program::function(text(&order, "program")?, &order["params"].to_string())?;
    let (role, side) = match text(&order, "role")? {
        "garbler" => (Role::Garbler, Side::Listening),
        "evaluator" => (Role::Evaluator, Side::Connecting),
        other => return Err(format!("there is no role {other:?}")),
    };
    let mut job = Job::new(&function, role);
    match text(&order, "protocol")? {
        "direct" => {}
        "authenticated" => job = job.authenticated(),
        other => return Err(format!("{other:?} does not run in a browser")),
    }
    for (name, value) in program::values(&function, &[role], &order["inputs"])? {
        job = job.input(&name, value);
    }
    let transport = link::transport(link);
    let session = match (order["identity"].as_str(), order["peer"].as_str()) {
        (Some(identity), Some(peer)) => authenticated(transport, side, identity, peer)?,
        _ => Session::over(Channel::over(transport), side, None).map_err(told)?,
    };
    let mut session = session;
    let outcome = job.run(&mut session).map_err(told)?;
    // The result is here; a peer that has already left takes nothing from it.
    let _ = session.close();
    Ok(outcome_json(&outcome).to_string())
}

fn told(error: Error) -> Refused {
    error.to_string()
}

/// A session in which TLS proves both identities.
fn authenticated(
    transport: Transport,
    side: Side,
    identity: &str,
    peer: &str,
) -> Result<Session, Refused> {
    let identity = Identity::from_pem(identity.as_bytes()).map_err(|error| error.to_string())?;
    let peer: Fingerprint = peer.parse().map_err(|error| format!("{error}"))?;
    Session::over_transport(transport, side, &identity, &peer, &settings()).map_err(told)
}

/// A run of a function of the library as the thin client of `outsourced`:
///
/// | member | what it is |
/// |---|---|
/// | `function`, `params` | its name, and a JSON object of whole numbers |
/// | `inputs` | a JSON object of the evaluator's inputs |
/// | `copies`, `security_bits` | circuits, and k, as both servers have them |
/// | `identity` | this person's PEM text |
/// | `generator`, `cloud` | fingerprints of the servers |
/// | `pin` | the chain of an earlier run, from which on this one runs; or null |
pub(crate) fn client(generator: u32, cloud: u32, text_of_order: &str) -> Result<String, Refused> {
    let order = order(text_of_order)?;
    let params = serde_json::from_value(order["params"].clone());
    let params = params.map_err(|_| "params are a JSON object of whole numbers".to_owned())?;
    let function = library::function(text(&order, "function")?, &params).map_err(told)?;
    let number = |name: &str| {
        let number = order[name].as_u64();
        number.ok_or_else(|| format!("the order's {name:?} is missing or is no whole number"))
    };
    let copies = u32::try_from(number("copies")?).map_err(|error| error.to_string())?;
    let bits = u8::try_from(number("security_bits")?).map_err(|error| error.to_string())?;
    let parameters =
        OutsourcedParameters::malicious(copies, bits).map_err(|error| error.to_string())?;
    let mut job = OutsourcedJob::new(&function, parameters).patience(PATIENCE);
    for (name, value) in program::values(&function, &[Role::Evaluator], &order["inputs"])? {
        job = job.input(&name, value);
    }
    if let Some(pin) = order["pin"].as_str() {
        let pin: ChainVersion = pin.parse().map_err(|error| format!("{error}"))?;
        job = job.pin(pin);
    }
    let identity = text(&order, "identity")?;
    let meet = |link, peer| {
        let transport = link::transport(link);
        authenticated(transport, Side::Connecting, identity, text(&order, peer)?)
            .map_err(|error| format!("{peer}: {error}"))
    };
    let mut generator = meet(generator, "generator")?;
    let mut cloud = meet(cloud, "cloud")?;
    let outcome = job.evaluate(&mut generator, &mut cloud).map_err(told)?;
    for session in [generator, cloud] {
        // The results are here; a server that has already left takes nothing from them.
        let _ = session.close();
    }
    Ok(outcome_json(&outcome).to_string())
}
