//! Components of the library by name, for tests.

use std::collections::BTreeMap;

use tacit_circuit::Circuit;
use tacit_components::library;

use crate::oracle::{Bits, agrees};

/// Returns a map of parameters by name.
pub(crate) fn parameters(given: &[(&str, u64)]) -> BTreeMap<String, u64> {
    let given = given.iter().map(|&(name, value)| (name.to_owned(), value));
    given.collect()
}

/// Returns a component of the library.
pub(crate) fn component(name: &str, given: &[(&str, u64)]) -> Circuit {
    library::find(name, &parameters(given)).unwrap_or_else(|error| panic!("{error}"))
}

/// Panics unless a component of the library computes `plain` on random inputs.
pub(crate) fn computes(name: &str, given: &[(&str, u64)], plain: impl Fn(&[Bits]) -> Vec<Bits>) {
    agrees(name, &component(name, given), plain);
}
