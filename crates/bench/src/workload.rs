//! Functions by their names and parameters: of the library, or of a program of the suites or the
//! examples.

use core::fmt;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tacit::circuit::Component;
use tacit::library::shipped;
use tacit::protocols::Protocol;
use tacit::{Function, FunctionBuilder, Part, Recipient, Role, library};
use tacit_language::lower::NoCircuitFiles;
use tacit_language::{Loaded, NoFiles, Signature, TypedFunction};

use crate::Error;

/// The programs that are not in the library. A parameter of a workload is the program's param of
/// that name in capital letters.
const PROGRAMS: [(&str, &str); 7] = [
    ("shared-ands", ANDS),
    ("sort-program", SORT),
    ("sort-curve", CURVE),
    ("psi-sum", INTERSECT),
    (
        "auction",
        include_str!("../../../examples/01_auction.tacit"),
    ),
    (
        "salary-gap",
        include_str!("../../../examples/02_salary_gap.tacit"),
    ),
    (
        "logistic",
        include_str!("../../../examples/06_logistic.tacit"),
    ),
];

/// 32 gates a word, none with an operand of another or of one party, and one word as the result.
const ANDS: &str = "parties alice, bob;
param N: 2..=1_048_576 = 65_536;
component fn word(a: u32, b: u32, c: u32, d: u32) -> u32 { (a ^ c) & (b ^ d) }
main(a: [u32; N] of alice, b: [u32; N] of alice, c: [u32; N] of bob, d: [u32; N] of bob)
    -> (parity: u32 to both) {
    let mut parity: u32 = 0;
    for i in 0..N { parity ^= word(a[i], b[i], c[i], d[i]); }
    parity
}
";

const SORT: &str = "parties alice, bob;
use std::order::sort;
param N: 2..=65_536 = 1024;
main(a: [u32; N] of alice, mask: [u32; N] of bob) -> (sorted: [u32; N] to both) {
    sort([for i in 0..N { a[i] ^ mask[i] }])
}
";

/// Half of the numbers are of either party, so that no gate stands before the sort.
const CURVE: &str = "parties alice, bob;
use std::order::sort;
param N: 4..=1_048_576 = 1024;
const HALF = N / 2;
main(a: [u32; HALF] of alice, b: [u32; HALF] of bob) -> (sorted: [u32; 2 * HALF] to both) {
    sort([for i in 0..2 * HALF { if i < HALF { a[i] } else { b[i - HALF] } }])
}
";

const INTERSECT: &str = "parties alice, bob;
use std::psi::count_and_sum;
param N: 2..=65_536 = 10_000;
main(a: [u32; N] of alice sorted, b: [u32; N] of bob sorted, amounts: [u32; N] of bob)
    -> (count: u<bits(N)> to both, total: u<32 + bits(N)> to both) {
    count_and_sum(a, b, amounts)
}
";

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

    /// Returns the function in the form for a protocol. A component of the library has one form.
    pub(crate) fn by(&self, protocol: Protocol) -> Result<Function, Error> {
        let form = protocol.circuit_form();
        let wrong = |error| tacit::Error::Input(format!("{self}: {error}"));
        if let Some(calls) = self.parameter("calls") {
            return calls_of_aes(calls);
        }
        let mut programs = PROGRAMS.iter();
        let typed = if let Some((_, text)) = programs.find(|(name, _)| *name == self.function) {
            let loaded = Loaded::new(&self.function, text, &NoFiles);
            let params = self.parameters.iter();
            let params = params.map(|(name, value)| (name.to_uppercase(), (*value).into()));
            let signature = Signature::new(&loaded, &params.collect(), Some("main"));
            let signature = signature.map_err(wrong)?.in_form(form);
            TypedFunction::new(signature, &self.function, &BTreeMap::new(), &NoCircuitFiles)
        } else if let Some(shipped) = shipped::find(&self.function) {
            shipped.function_in_form(&self.parameters, form)
        } else {
            return self.of_library();
        };
        Ok(typed.map_err(wrong)?.function().clone())
    }
}

/// Returns a function of this many calls of AES-128 that do not depend on each other.
pub(crate) fn calls_of_aes(calls: u64) -> Result<Function, Error> {
    let circuit = library::find("aes-128", &BTreeMap::new()).map_err(tacit::Error::from)?;
    let blocks = format!("bytes[16][{calls}]");
    let mut builder = FunctionBuilder::new("aes-128-calls");
    builder
        .component("aes", Component::new("aes-128", circuit))
        .input("key", "bytes[16]", Role::Garbler)
        .input("block", &blocks, Role::Evaluator)
        .value("found", &blocks)
        .repeat("i", 0, calls, |each, i| {
            each.call(
                [Part::of("found").at(i)],
                "aes",
                [Part::of("key"), Part::of("block").at(i)],
            );
        })
        .output("ciphertext", &blocks, Recipient::Evaluator, "found");
    Ok(builder.finish().map_err(tacit::Error::from)?)
}

/// The function's name, followed by its parameters.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        let mut parameters = self.parameters.iter();
        parameters.try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses small sizes.
    #[test]
    fn every_program_compiles_in_both_forms() {
        for (name, _) in PROGRAMS {
            let parameter = match name {
                "auction" => "lots",
                "logistic" => "features",
                _ => "n",
            };
            let workload = Workload::new(name, &[(parameter, 8)]);
            let [shallow, small] = [Protocol::Gmw, Protocol::Direct]
                .map(|protocol| workload.by(protocol).expect("a function"));
            assert!(shallow.schedule().is_ok(), "{name}");
            assert!(shallow.and_gates() >= small.and_gates(), "{name}");
        }
    }
}
