//! The material that a run of a function needs, found by a dry walk over its calls.

use tacit_function::{Function, Role, Values};

use super::MAX_LINK_BYTES;
use crate::Error;
use crate::saved::{GATE_BYTES, check_size};

/// The material that one run of a function takes from the stock and over the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The number of instances of each of the function's components, in the function's order.
    pub instances: Vec<u64>,
    /// The number of correlated OTs: one for each input bit of the evaluator.
    pub ots: u64,
    /// The number of links that do not start at an input of the evaluator.
    pub early_links: u64,
    /// The number of links that start at an input of the evaluator.
    pub late_links: u64,
    /// The number of bits of loaded values.
    pub loaded_bits: u64,
}

impl Demand {
    /// Returns the demand of one run of `function`.
    ///
    /// # Errors
    ///
    /// The function saves or loads more bits than one run may, or is over shares.
    pub fn of(function: &Function) -> Result<Self, Error> {
        if function.is_over_shares() {
            return Err(Error::ApiMisuse("a function over shares is not garbled"));
        }
        let [loaded_bits, _] = check_size(function)?;
        let mut demand = Self {
            instances: vec![0; function.components().len()],
            ots: function.input_bits(Role::Evaluator) as u64,
            early_links: 0,
            late_links: 0,
            loaded_bits: loaded_bits as u64,
        };
        let late = |port| Ok::<_, Error>(comes_late(function, port));
        let mut values = Values::new(function, late)?;
        let mut results = Vec::new();
        while let Some(call) = values.next_call(|_| false) {
            demand.instances[call.component_index] += 1;
            let late = values.arguments().iter().filter(|late| **late).count() as u64;
            demand.late_links += late;
            demand.early_links += values.arguments().len() as u64 - late;
            results.clear();
            results.resize(call.component.circuit().output_bits(), false);
            values.finish_call(&results);
        }
        Ok(demand)
    }

    /// Returns the bytes of the early links, each of `link_bytes` bytes.
    pub(super) fn early_bytes(&self, link_bytes: usize) -> Result<usize, Error> {
        bounded(self.early_links, link_bytes)
    }

    /// Returns the bytes of the links of saved values.
    pub(super) fn saved_bytes(&self) -> usize {
        self.loaded_bits as usize * GATE_BYTES
    }

    /// Returns the bytes of the late links, each of `link_bytes` bytes.
    pub(super) fn late_bytes(&self, link_bytes: usize) -> Result<usize, Error> {
        bounded(self.late_links, link_bytes)
    }
}

/// Whether the value of `port` waits for the evaluator's choices. `port` numbers the inputs and,
/// after these, the loaded values.
pub(crate) fn comes_late(function: &Function, port: usize) -> bool {
    let input = function.inputs().get(port);
    input.is_some_and(|input| input.owner == Role::Evaluator)
}

fn bounded(links: u64, link_bytes: usize) -> Result<usize, Error> {
    let found = links.saturating_mul(link_bytes as u64);
    match usize::try_from(found) {
        Ok(bytes) if found <= MAX_LINK_BYTES => Ok(bytes),
        _ => {
            let limit = MAX_LINK_BYTES;
            Err(Error::TooManyLinks { found, limit })
        }
    }
}
