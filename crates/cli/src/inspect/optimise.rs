//! `tacit inspect --optimise`: a smaller circuit, and what each pass gained.

use std::fmt::Write as _;
use std::io::BufWriter;
use std::path::Path;

use serde_json::{Value as Json, json};
use tacit::formats::{BristolFormat, write_bristol};
use tacit::{Circuit, Optimised, Size};

use crate::args::InspectArgs;
use crate::failure::Failure;
use crate::function::Found;
use crate::report::{JSON_VERSION, pretty};

/// Times 64 inputs on which a circuit and the optimised one are compared.
const COMPARED_PASSES: usize = 16;

/// Runs the command.
///
/// # Errors
///
/// What was found is a function of many calls, or the result cannot be written.
pub(super) fn optimise(found: Found, args: &InspectArgs) -> Result<(), Failure> {
    let (name, circuit) = match found {
        Found::Circuit(found) => (found.name, found.circuit),
        Found::Function(function, _) => {
            let components = function.components().iter();
            let names: Vec<&str> = components.map(|component| component.name()).collect();
            return Err(Failure::Usage(format!(
                "--optimise takes a circuit, and {} is a function of calls; optimise its \
                 components instead: {}",
                function.name(),
                names.join(", ")
            )));
        }
    };
    let optimised = circuit.optimise();
    let compared = circuit.compare(&optimised.circuit, COMPARED_PASSES);
    let compared = compared.map_err(|_| Failure::WrongResult {
        what: "the optimised circuit",
    })?;
    if let Some(path) = &args.out {
        write(&optimised.circuit, path, args)?;
    }
    let outcome = Outcome {
        name,
        circuit,
        optimised,
        compared,
        path: args.out.as_deref(),
    };
    if args.json {
        crate::print(pretty(&outcome.json()).as_bytes())
    } else {
        crate::print(outcome.text().as_bytes())
    }
}

/// Writes a file that was not there before, whole or not at all.
fn write(circuit: &Circuit, path: &Path, args: &InspectArgs) -> Result<(), Failure> {
    let failed = |error: &std::io::Error| Failure::write(path, error);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| failed(&error))?;
    let order = args.choice.bit_order.unwrap_or_default();
    write_bristol(
        circuit,
        BufWriter::new(&mut file),
        BristolFormat::Fashion,
        order,
    )
    .map_err(tacit::Error::from)?;
    let persisted = file.persist_noclobber(path);
    persisted.map_err(|error| failed(&error.error))?;
    Ok(())
}

/// What is told.
struct Outcome<'a> {
    name: String,
    circuit: Circuit,
    optimised: Optimised,
    /// Inputs on which both gave the same.
    compared: u64,
    path: Option<&'a Path>,
}

impl Outcome<'_> {
    /// Before the first pass and after the last.
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
                "  {name:<8} {and:>10} AND {xor:>10} XOR  depth {depth:>6}, AND-depth {and_depth:>6}"
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
            "version": JSON_VERSION,
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
