//! What a run of a function needs: a dry walk over its calls.

use tacit_function::{Function, Role, Values};

use super::MAX_LINK_BYTES;
use crate::Error;
use crate::saved::{GATE_BYTES, check_size};

/// What one run of a function takes from the stock and from the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Instances of each of the function's components, in the function's order.
    pub instances: Vec<u64>,
    /// Correlated OTs: one for each input bit of the evaluator.
    pub ots: u64,
    /// Links that do not start at an input of the evaluator.
    pub early_links: u64,
    /// Links that do.
    pub late_links: u64,
    /// Bits of saved values that are loaded.
    pub loaded_bits: u64,
}

impl Demand {
    /// What one run of `function` takes.
    ///
    /// # Errors
    ///
    /// The function saves or loads more than is kept of one run.
    pub fn of(function: &Function) -> Result<Self, Error> {
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

    /// Bytes of the early links, each of `link_bytes`.
    ///
    /// # Errors
    ///
    /// They are more than a run holds.
    pub(super) fn early_bytes(&self, link_bytes: usize) -> Result<usize, Error> {
        bounded(self.early_links, link_bytes)
    }

    /// Bytes of the links of saved values.
    pub(super) fn saved_bytes(&self) -> usize {
        self.loaded_bits as usize * GATE_BYTES
    }

    /// Bytes of the late links, each of `link_bytes`.
    ///
    /// # Errors
    ///
    /// They are more than a run holds.
    pub(super) fn late_bytes(&self, link_bytes: usize) -> Result<usize, Error> {
        bounded(self.late_links, link_bytes)
    }
}

/// Whether what comes in through `port`, an input or after these a loaded value, waits for the
/// evaluator's choices.
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
