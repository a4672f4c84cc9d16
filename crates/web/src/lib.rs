//! Tacit in a browser: the functions that its worker calls. docs/web.md is the documentation for
//! people.
//!
//! | file | contents |
//! |---|---|
//! | `programs` | the worker's functions for programs, which the feature `programs` compiles |
//! | `program` | a typed program: errors, ports, results in the clear |
//! | `editing` | what an editor asks: names, their meaning, new names, tests |
//! | `shape` | the parts of values, for forms |
//! | `link` | a transport whose bytes another worker moves, and a key with which that worker signs |
//! | `meeting` | two pages that meet by a link |
//! | `session` | sessions over links, and what all orders have in common |
//! | `run` | runs of two parties, and the thin client of three |
//! | `matching` | a page's keys against a service's table |
//! | `speed` | AND gates a second on this device |
//!
//! All values pass to and from JavaScript as text, in JSON if they have parts. A call blocks its
//! worker until it is done; the page gets promises (`js/tacit.js`).
#![forbid(unsafe_code)]

#[cfg(feature = "programs")]
mod editing;
mod link;
mod matching;
mod meeting;
#[cfg(feature = "programs")]
mod program;
#[cfg(feature = "programs")]
pub mod programs;
#[cfg(feature = "programs")]
mod run;
mod session;
#[cfg(feature = "programs")]
mod shape;
#[cfg(feature = "programs")]
mod speed;

use serde_json::json;
use tacit::net::NetError;
use tacit::net::relay::Answer;
use tacit::session::AbortReason;
use tacit::{Category, Error, Identity, ProtocolError};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn tell(text: &str);
}

/// Sends panics to the browser's console. Called once, before anything else.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| tell(&panic.to_string())));
}

/// An error: a sentence, and its kind and reason for pages that act on it.
#[derive(Debug)]
struct Refused {
    kind: &'static str,
    message: String,
    /// One of the reasons of `js/tacit.d.ts`.
    reason: Option<&'static str>,
    /// Whether the run may have started, so that the other party may have done its part.
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

/// Returns whether another party answered than the one with the given fingerprint.
fn is_of_another(error: &Error) -> bool {
    matches!(
        error.cause(),
        Error::Network(NetError::WrongIdentity { .. })
    )
}

/// Returns the reason of an error, if pages have their own words for it.
fn reason(error: &Error) -> Option<&'static str> {
    Some(match error.cause() {
        Error::Network(NetError::Refused { .. }) => "unknown",
        Error::Network(NetError::Timeout { .. } | NetError::TimeLimit { .. }) => "late",
        Error::Network(NetError::Relay(Answer::Full | Answer::TooMany)) => "busy",
        Error::Network(NetError::Relay(Answer::Replaced)) => "occupied",
        Error::Network(NetError::Closed { .. }) | Error::SessionOver { .. } => "left",
        Error::Protocol(ProtocolError::PeerAborted(abort)) => match abort {
            AbortReason::NotAllowed | AbortReason::TableNotAllowed => "not-allowed",
            AbortReason::Unknown => "unknown",
            AbortReason::TooOften | AbortReason::KeysSpent => "too-often",
            AbortReason::TooLarge => "too-large",
            AbortReason::Busy => "busy",
            _ => return None,
        },
        _ => return None,
    })
}

/// Converts an error for the worker: the JSON of its parts.
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

/// Makes a new identity. Returns it as PEM text, which is secret.
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

/// Returns the fingerprint of an identity, by which others know it. `identity` is JSON: see
/// `session::identity`.
///
/// # Errors
///
/// `identity` is not of that form.
#[wasm_bindgen]
pub fn fingerprint(identity: &str) -> Result<String, JsValue> {
    let identity = session::identity(&session::parsed(identity).map_err(failed)?);
    Ok(identity.map_err(failed)?.fingerprint().to_string())
}

/// Finds the keys that the service at the end of this link has in its table, too, and returns their
/// numbers and the cost as JSON. `order` is JSON: see `matching::matching`.
///
/// # Errors
///
/// The order is wrong, or an error ends the run.
#[wasm_bindgen]
pub fn match_keys(link: u32, order: &str) -> Result<String, JsValue> {
    matching::matching(link, order).map_err(failed)
}

/// Makes an invitation of another page, to meet at a relay. Returns its text, which is secret.
/// `order` is JSON: see `meeting::make`.
///
/// # Errors
///
/// The order is wrong.
#[wasm_bindgen]
pub fn make_invitation(order: &str) -> Result<String, JsValue> {
    meeting::make(order).map_err(failed)
}

/// Returns the relay of an invitation, the fingerprint of the page that made it, and its end, as
/// JSON.
///
/// # Errors
///
/// It is damaged, or not for pages.
#[wasm_bindgen]
pub fn read_invitation(invitation: &str) -> Result<String, JsValue> {
    meeting::read(invitation).map_err(failed)
}

/// Waits, over a link to the relay, for the guest of an invitation that this page made. Returns the
/// guest's fingerprint. `order` is JSON: see `meeting::invite`.
///
/// # Errors
///
/// The relay cannot be reached, or the invitation expires.
#[wasm_bindgen]
pub fn invite(link: u32, invitation: &str, order: &str) -> Result<String, JsValue> {
    meeting::invite(link, invitation, order).map_err(failed)
}

/// Accepts an invitation, over a link to its relay. Returns the fingerprint of the page that made
/// it. `order` is JSON: see `meeting::accept`.
///
/// # Errors
///
/// The relay cannot be reached, or nobody waits for this invitation.
#[wasm_bindgen]
pub fn accept(link: u32, invitation: &str, order: &str) -> Result<String, JsValue> {
    meeting::accept(link, invitation, order).map_err(failed)
}
