//! Tacit in a browser: what its worker calls. Docs for people are in docs/web.md.
//!
//! | file | what it does |
//! |---|---|
//! | `program` | a program as people type it: errors, ports, results in the clear |
//! | `link` | a transport whose bytes another worker moves |
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

use tacit::Identity;
use wasm_bindgen::JsError;
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

/// An error as JavaScript has it: its message.
fn failed(error: impl ToString) -> JsError {
    JsError::new(&error.to_string())
}

/// What is wrong with a program, as a JSON array; empty where it is right. `params` is a JSON object
/// of whole numbers.
///
/// # Errors
///
/// `params` is something else.
#[wasm_bindgen]
pub fn check(text: &str, params: &str) -> Result<String, JsError> {
    program::check(text, params).map_err(failed)
}

/// The function of a program's `main`: its ports, owners, gates and digest, as JSON.
///
/// # Errors
///
/// The program is wrong, or its `main` cannot be run here.
#[wasm_bindgen]
pub fn describe(text: &str, params: &str) -> Result<String, JsError> {
    program::describe(text, params).map_err(failed)
}

/// The results of a program's `main` in the clear, as a JSON object of texts. `inputs` is a JSON
/// object with each input's value.
///
/// # Errors
///
/// The program is wrong, or an input is missing or not of its type.
#[wasm_bindgen]
pub fn evaluate(text: &str, params: &str, inputs: &str) -> Result<String, JsError> {
    program::evaluate(text, params, inputs).map_err(failed)
}

/// A program in the one format.
///
/// # Errors
///
/// It does not parse.
#[wasm_bindgen]
pub fn format(text: &str) -> Result<String, JsError> {
    program::format(text).map_err(failed)
}

/// A new identity as PEM text, which is secret.
///
/// # Errors
///
/// The browser gives no randomness.
#[wasm_bindgen]
pub fn generate_identity() -> Result<String, JsError> {
    let identity = Identity::generate().map_err(failed)?;
    Ok(String::clone(&identity.to_pem()))
}

/// The fingerprint of an identity, by which others know it.
///
/// # Errors
///
/// The text is no identity.
#[wasm_bindgen]
pub fn fingerprint(pem: &str) -> Result<String, JsError> {
    let identity = Identity::from_pem(pem.as_bytes()).map_err(failed)?;
    Ok(identity.fingerprint().to_string())
}

/// Runs a program's `main` with a peer over the link of this number, and gives results and cost as
/// JSON. `order` is JSON: see `run::TwoParty`.
///
/// # Errors
///
/// Whatever is wrong with the order, or ends the run.
#[wasm_bindgen]
pub fn run_two_party(link: u32, order: &str) -> Result<String, JsError> {
    run::two_party(link, order).map_err(failed)
}

/// Runs a function of the library as the thin client of `outsourced`, over links to generator and
/// cloud. `order` is JSON: see `run::Client`.
///
/// # Errors
///
/// Whatever is wrong with the order, or ends the run.
#[wasm_bindgen]
pub fn run_client(generator: u32, cloud: u32, order: &str) -> Result<String, JsError> {
    run::client(generator, cloud, order).map_err(failed)
}

/// Millions of AND gates a second that this device garbles and evaluates, as JSON, measured for
/// about so many milliseconds each.
///
/// # Errors
///
/// The browser gives no randomness.
#[wasm_bindgen]
pub fn speed(milliseconds: u32) -> Result<String, JsError> {
    speed::measure(milliseconds).map_err(failed)
}
