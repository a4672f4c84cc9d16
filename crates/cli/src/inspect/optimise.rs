//! `tacit inspect --optimise`: a smaller circuit, and the gain of each pass.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value as Json, json};
use tacit::Circuit;
use tacit::circuit::{self, Optimised, Size};

use super::{circuit_of, write_circuit};
use crate::args::InspectArgs;
use crate::failure::Failure;
use crate::function::FoundFunction;
use crate::output;

/// The number of passes, of 64 inputs each, in which the circuit is compared with the optimised
/// one.
const COMPARED_PASSES: usize = 16;

/// Runs the command.
///
/// # Errors
///
/// The function has many calls, or the result cannot be written.
pub(super) fn optimise(found: &FoundFunction, args: &InspectArgs) -> Result<(), Failure> {
    let found = circuit_of(found)?;
    let circuit = found.component.circuit();
    let optimised = circuit::optimise(circuit);
    let compared = circuit.compare(&optimised.circuit, COMPARED_PASSES);
    let compared = compared.map_err(|_| Failure::wrong_result("the optimised circuit"))?;
    let outcome = Outcome {
        name: found.component.name(),
        circuit,
        optimised,
        compared,
        path: args.out.as_deref(),
    };
    if let Some(path) = outcome.path {
        write_circuit(&outcome.optimised.circuit, found, path, args)?;
    }
    if args.json {
        output::print_json(outcome.json())
    } else {
        output::print(outcome.text())
    }
}

/// The output of the command.
struct Outcome<'a> {
    name: &'a str,
    circuit: &'a Circuit,
    optimised: Optimised,
    /// The number of inputs on which both gave the same.
    compared: u64,
    path: Option<&'a Path>,
}

impl Outcome<'_> {
    /// Returns the sizes before the first pass and after the last.
    fn sizes(&self) -> [Size; 2] {
        let passes = &self.optimised.passes;
        match (passes.first(), passes.last()) {
            (Some(first), Some(last)) => [first.before, last.after],
            _ => {
                let statistics = self.circuit.statistics();
                [Size {
                    and: statistics.and,
                    xor: statistics.xor,
                    depth: statistics.depth,
                    and_depth: statistics.and_depth,
                }; 2]
            }
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{}, optimised\n", self.name);
        let [given, after] = self.sizes();
        let mut row = |name: &str, size: Size| {
            let Size {
                and,
                xor,
                depth,
                and_depth,
            } = size;
            let _ = writeln!(
                text,
                "  {name:<8} {and:>10} AND {xor:>10} XOR  depth {depth:>6}, AND-depth \
                 {and_depth:>6}"
            );
        };
        row("given", given);
        for pass in &self.optimised.passes {
            row(pass.name.name(), pass.after);
        }
        let change = |before: usize, after: usize| match before {
            0 => 0.0,
            _ => 100.0 * (after as f64 - before as f64) / before as f64,
        };
        if self.optimised.passes.is_empty() {
            let _ = writeln!(text, "  nothing to gain: the circuit stays as it is");
            return text;
        }
        let _ = writeln!(
            text,
            "  in all   {:+.1}% AND, {:+.1}% XOR",
            change(given.and, after.and),
            change(given.xor, after.xor)
        );
        let _ = writeln!(
            text,
            "  compared with what was given on {} inputs: equal\n\
             \x20 circuit    {}\n\
             \x20 optimised  {}\n\
             another circuit with another digest: a run with it needs it on both sides",
            self.compared,
            self.circuit.digest(),
            self.optimised.circuit.digest()
        );
        if let Some(path) = self.path {
            let _ = writeln!(text, "written to {} in Bristol Fashion", path.display());
        }
        text
    }

    fn json(&self) -> Json {
        let size = |size: Size| {
            json!({
                "and": size.and,
                "xor": size.xor,
                "depth": size.depth,
                "and_depth": size.and_depth,
            })
        };
        let passes = self.optimised.passes.iter().map(|pass| {
            json!({
                "pass": pass.name.name(),
                "before": size(pass.before),
                "after": size(pass.after),
            })
        });
        let [before, after] = self.sizes();
        json!({
            "name": self.name,
            "passes": passes.collect::<Vec<_>>(),
            "before": size(before),
            "after": size(after),
            "inputs_compared": self.compared,
            "circuit_digest": self.circuit.digest().to_string(),
            "optimised_digest": self.optimised.circuit.digest().to_string(),
        })
    }
}
