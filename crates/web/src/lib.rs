//! Tacit in a browser: what its worker calls. Docs for people are in docs/web.md.
//!
//! | file | what it does |
//! |---|---|
//! | `program` | a program as people type it: errors, ports, results in the clear |
//! | `link` | a transport whose bytes another worker moves, and a key that signs there |
//! | `run` | runs of two parties, and the thin client of three |
//! | `speed` | AND gates a second on this device |
//!
//! Everything crosses the border to JavaScript as text, JSON where it has parts. A call blocks its
//! worker until it is done; the page has promises (`js/tacit.js`).
#![forbid(unsafe_code)]

mod link;
mod program;
mod run;
mod speed;

use serde_json::json;
use tacit::net::NetError;
use tacit::session::AbortReason;
use tacit::{Category, Error, Identity, ProtocolError};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn tell(text: &str);
}

/// Tells panics to the browser's console; called once, before anything else.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| tell(&panic.to_string())));
}

/// What is wrong: in a sentence, and for pages that act on it of which kind it is and what
/// happened.
#[derive(Debug)]
struct Refused {
    kind: &'static str,
    message: String,
    /// One of the reasons of `js/tacit.d.ts`.
    reason: Option<&'static str>,
    /// Whether the run may have begun, so that the other party may have done its part.
    started: bool,
}

impl From<String> for Refused {
    fn from(message: String) -> Self {
        Self {
            kind: "input",
            message,
            reason: None,
            started: false,
        }
    }
}

impl From<&str> for Refused {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let kind = match error.category() {
            _ if is_of_another(&error) => "identity",
            Category::Usage => "usage",
            Category::Input => "input",
            Category::Peer => "misbehaved",
            Category::Incompatible => "incompatible",
            Category::Network => "network",
            Category::Stock => "stock",
            Category::Cancelled => "cancelled",
        };
        Self {
            kind,
            message: error.with_advice(),
            reason: reason(&error),
            started: false,
        }
    }
}

/// Whether somebody else answers than whose fingerprint was given.
fn is_of_another(error: &Error) -> bool {
    matches!(
        error.cause(),
        Error::Network(NetError::WrongIdentity { .. })
    )
}

/// What happened, where pages have words of their own for it.
fn reason(error: &Error) -> Option<&'static str> {
    Some(match error.cause() {
        Error::Network(NetError::Refused { .. }) => "unknown",
        Error::Network(NetError::Timeout { .. } | NetError::TimeLimit { .. }) => "late",
        Error::Network(NetError::Closed { .. }) | Error::SessionOver { .. } => "left",
        Error::Protocol(ProtocolError::PeerAborted(abort)) => match abort {
            AbortReason::NotAllowed => "not-allowed",
            AbortReason::TooOften => "too-often",
            AbortReason::Busy => "busy",
            _ => return None,
        },
        _ => return None,
    })
}

/// An error as the worker takes it: the JSON of its parts.
fn failed(refused: impl Into<Refused>) -> JsValue {
    let Refused {
        kind,
        message,
        reason,
        started,
    } = refused.into();
    let told = json!({ "kind": kind, "message": message, "reason": reason, "started": started });
    JsValue::from_str(&told.to_string())
}

/// What is wrong with a program, as a JSON array; empty where it is right. `program` is JSON: see
/// `program::Given`.
///
/// # Errors
///
/// `program` is something else.
#[wasm_bindgen]
pub fn check(program: &str) -> Result<String, JsValue> {
    let errors = program::check(program).map_err(failed)?;
    Ok(errors.to_string())
}

/// A run of a program as JSON: its ports, and once its public inputs have values its gates, what
/// each line costs, and its digests.
///
/// # Errors
///
/// The program is wrong, or cannot be run here.
#[wasm_bindgen]
pub fn describe(program: &str) -> Result<String, JsValue> {
    let described = program::describe(program).map_err(failed)?;
    Ok(described.to_string())
}

/// The results of a run in the clear, as a JSON array. `order` is JSON with a `program` and with
/// `inputs`, each input's value.
///
/// # Errors
///
/// The program is wrong, or an input is missing or not of its type.
#[wasm_bindgen]
pub fn evaluate(order: &str) -> Result<String, JsValue> {
    let results = program::evaluate(order).map_err(failed)?;
    Ok(results.to_string())
}

/// A program in the one format.
///
/// # Errors
///
/// It does not parse.
#[wasm_bindgen]
pub fn format(text: &str) -> Result<String, JsValue> {
    program::format(text).map_err(failed)
}

/// A new identity as PEM text, which is secret.
///
/// # Errors
///
/// The browser gives no randomness.
#[wasm_bindgen]
pub fn generate_identity() -> Result<String, JsValue> {
    let pem = Identity::generate().and_then(|identity| identity.to_pem());
    let pem = pem.map_err(|error| failed(Error::from(error)))?;
    Ok(String::clone(&pem))
}

/// The fingerprint of an identity, by which others know it. `identity` is JSON: see
/// `run::identity`.
///
/// # Errors
///
/// It is no identity.
#[wasm_bindgen]
pub fn fingerprint(identity: &str) -> Result<String, JsValue> {
    let identity = run::identity(&program::parsed(identity).map_err(failed)?);
    Ok(identity.map_err(failed)?.fingerprint().to_string())
}

/// Runs a program with a peer over the link of this number, and gives results and cost as JSON.
/// `order` is JSON: see `run::two_party`.
///
/// # Errors
///
/// Whatever is wrong with the order, or ends the run.
#[wasm_bindgen]
pub fn run_two_party(link: u32, order: &str) -> Result<String, JsValue> {
    run::two_party(link, order).map_err(failed)
}

/// Meets generator and cloud over these links, for the next run. `order` is JSON: see `run::meet`.
///
/// # Errors
///
/// Whatever is wrong with the order, or with a server.
#[wasm_bindgen]
pub fn meet(generator: u32, cloud: u32, order: &str) -> Result<(), JsValue> {
    run::meet(generator, cloud, order).map_err(failed)
}

/// Ends the session over this link, if one is kept.
#[wasm_bindgen]
pub fn part(link: u32) {
    run::part(link);
}

/// Runs a function of the library as the thin client of `outsourced`, over links to generator and
/// cloud, in the sessions that are kept or in new ones. `order` is JSON: see `run::client`.
///
/// # Errors
///
/// Whatever is wrong with the order, or ends the run.
#[wasm_bindgen]
pub fn run_client(generator: u32, cloud: u32, order: &str) -> Result<String, JsValue> {
    run::client(generator, cloud, order).map_err(failed)
}

/// Millions of AND gates a second that this device garbles and evaluates, as JSON. Each is measured
/// for about this time.
///
/// # Errors
///
/// Never: the circuit is a valid one.
#[wasm_bindgen]
pub fn speed(milliseconds: u32) -> Result<String, JsValue> {
    speed::measure(milliseconds).map_err(failed)
}
