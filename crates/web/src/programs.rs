//! The functions of the worker that compile programs, or functions of the library: a page without
//! them leaves the compiler out.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{editing, failed, program, run, speed};

/// Returns the errors of a program as a JSON array, which is empty for a right program. `program`
/// is JSON: see `program::GivenProgram`.
///
/// # Errors
///
/// `program` is not of that form.
#[wasm_bindgen]
pub fn check(program: &str) -> Result<String, JsValue> {
    let errors = program::check(program).map_err(failed)?;
    Ok(errors.to_string())
}

/// Returns a run of a program as JSON: its ports, and once its public inputs have values its gates,
/// the cost of each line, and its digests.
///
/// # Errors
///
/// The program is wrong, or cannot be run here.
#[wasm_bindgen]
pub fn describe(program: &str) -> Result<String, JsValue> {
    let described = program::describe(program).map_err(failed)?;
    Ok(described.to_string())
}

/// Returns the results of a run in the clear, as a JSON array. `order` is JSON with a `program` and
/// with `inputs`, the value of each input.
///
/// # Errors
///
/// The program is wrong, or an input is missing or not of its type.
#[wasm_bindgen]
pub fn evaluate(order: &str) -> Result<String, JsValue> {
    let results = program::evaluate(order).map_err(failed)?;
    Ok(results.to_string())
}

/// Returns a program in the standard format.
///
/// # Errors
///
/// The program does not parse.
#[wasm_bindgen]
pub fn format(text: &str) -> Result<String, JsValue> {
    program::format(text).map_err(failed)
}

/// Returns the names that may be used everywhere in a program, and the words of the language, as
/// JSON.
///
/// # Errors
///
/// `program` is not of the right form.
#[wasm_bindgen]
pub fn names(program: &str) -> Result<String, JsValue> {
    let names = editing::names(program).map_err(failed)?;
    Ok(names.to_string())
}

/// Returns the meaning and the type of what is at a place of a program, as JSON. `offset` counts
/// the units of JavaScript's strings.
///
/// # Errors
///
/// `program` is not of the right form.
#[wasm_bindgen]
pub fn explain(program: &str, offset: u32) -> Result<String, JsValue> {
    let found = editing::explain(program, offset).map_err(failed)?;
    Ok(found.to_string())
}

/// Returns the places of a program that get `name`, so that what is at a place has it, as a JSON
/// array.
///
/// # Errors
///
/// Nothing that the program declares is there, or the name would change the program.
#[wasm_bindgen]
pub fn rename(program: &str, offset: u32, name: &str) -> Result<String, JsValue> {
    let places = editing::rename(program, offset, name).map_err(failed)?;
    Ok(places.to_string())
}

/// Runs the tests of a program, and returns a report on each as a JSON array.
///
/// # Errors
///
/// `program` is not of the right form.
#[wasm_bindgen]
pub fn test(program: &str) -> Result<String, JsValue> {
    let reports = editing::test(program).map_err(failed)?;
    Ok(reports.to_string())
}

/// Runs a program with a peer over the link of this number, and returns results and cost as JSON.
/// `order` is JSON: see `run::two_party`.
///
/// # Errors
///
/// The order is wrong, or an error ends the run.
#[wasm_bindgen]
pub fn run_two_party(link: u32, order: &str) -> Result<String, JsValue> {
    run::two_party(link, order).map_err(failed)
}

/// Meets generator and cloud over these links, in advance of the next run. `order` is JSON: see
/// `run::meet`.
///
/// # Errors
///
/// The order or a server is wrong.
#[wasm_bindgen]
pub fn meet(generator: u32, cloud: u32, order: &str) -> Result<(), JsValue> {
    run::meet(generator, cloud, order).map_err(failed)
}

/// Ends the session over this link, if there is one.
#[wasm_bindgen]
pub fn part(link: u32) {
    run::part(link);
}

/// Runs a function of the library as the thin client of `outsourced`, over links to generator and
/// cloud, in existing sessions or in new ones. `order` is JSON: see `run::client`.
///
/// # Errors
///
/// The order is wrong, or an error ends the run.
#[wasm_bindgen]
pub fn run_client(generator: u32, cloud: u32, order: &str) -> Result<String, JsValue> {
    run::client(generator, cloud, order).map_err(failed)
}

/// Returns the millions of AND gates per second that this device garbles and evaluates, as JSON.
/// Each is measured for about this time.
///
/// # Errors
///
/// None: the circuit is valid.
#[wasm_bindgen]
pub fn speed(milliseconds: u32) -> Result<String, JsValue> {
    speed::measure(milliseconds).map_err(failed)
}
