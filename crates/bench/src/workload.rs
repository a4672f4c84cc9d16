//! Functions by their names and parameters.

use core::fmt;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tacit::{Function, library};

use crate::Error;

/// A function and its parameters, in a table of a suite.
pub(crate) type Case = (&'static str, &'static [(&'static str, u64)]);

/// A function and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The function.
    pub function: String,
    /// Its parameters.
    pub parameters: BTreeMap<String, u64>,
}

impl Workload {
    pub(crate) fn new(function: &str, parameters: &[(&str, u64)]) -> Self {
        let parameters = parameters.iter();
        let parameters = parameters.map(|(name, value)| ((*name).to_owned(), *value));
        Self {
            function: function.to_owned(),
            parameters: parameters.collect(),
        }
    }

    /// Returns a parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<u64> {
        self.parameters.get(name).copied()
    }

    /// Returns the function of the library.
    pub(crate) fn of_library(&self) -> Result<Function, Error> {
        Ok(library::function(&self.function, &self.parameters)?)
    }
}

/// The function's name, followed by its parameters.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        let mut parameters = self.parameters.iter();
        parameters.try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}
