//! `tacit inspect`: what a function takes, gives, costs and rests on.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};
use tacit::garble::{LADDER, Rung};
use tacit::{Component, Function, Port, Role, library};

use crate::args::InspectArgs;
use crate::check;
use crate::failure::Failure;
use crate::function::{self, Found, Origin};
use crate::log::Log;
use crate::report::{JSON_VERSION, pretty};

/// Runs the command.
///
/// # Errors
///
/// The function cannot be found or read, or a checked file is not what its name says.
pub(crate) fn inspect(args: &InspectArgs, log: Log) -> Result<(), Failure> {
    if let Some(folder) = &args.check {
        return check::check(folder, args.json);
    }
    let Some(name) = &args.function else {
        return list(args.json);
    };
    let found = function::find(name, &args.choice)?;
    log.step(format_args!("read {} gates", found.circuit.gate_count()));
    let subject = Subject::new(found, args)?;
    if args.json {
        crate::print(pretty(&subject.json()).as_bytes())
    } else {
        crate::print(subject.text().as_bytes())
    }
}

/// What is inspected: a compiled circuit and, where owners and recipients are known, a function.
struct Subject {
    origin: Origin,
    component: Component,
    function: Option<Function>,
}

impl Subject {
    fn new(found: Found, args: &InspectArgs) -> Result<Self, Failure> {
        let origin = found.origin;
        let said = !args.choice.owners.is_empty() || !args.choice.results.is_empty();
        if origin == Origin::File && !said {
            let component = Component::new(found.name, found.circuit);
            return Ok(Self {
                origin,
                component,
                function: None,
            });
        }
        let function = found.function(&args.choice)?;
        let component = function.components()[0].clone();
        Ok(Self {
            origin,
            component,
            function: Some(function),
        })
    }

    fn inputs(&self) -> Vec<(&Port, Option<&'static str>)> {
        match &self.function {
            Some(function) => {
                let inputs = function.inputs().iter();
                inputs
                    .map(|input| (&input.port, Some(input.owner.name())))
                    .collect()
            }
            None => self
                .component
                .circuit()
                .inputs()
                .iter()
                .map(|port| (port, None))
                .collect(),
        }
    }

    fn outputs(&self) -> Vec<(&Port, Option<&'static str>)> {
        match &self.function {
            Some(function) => {
                let outputs = function.outputs().iter();
                outputs
                    .map(|output| (&output.port, Some(output.recipient.name())))
                    .collect()
            }
            None => self
                .component
                .circuit()
                .outputs()
                .iter()
                .map(|port| (port, None))
                .collect(),
        }
    }

    /// Bytes of all tables under a scheme.
    fn table_bytes(&self, rung: &Rung) -> u64 {
        let program = self.component.program();
        let gates = [
            (program.ands().len(), rung.cost.and),
            (program.xors().len(), rung.cost.xor),
        ];
        gates
            .iter()
            .map(|(count, cost)| *count as u64 * u64::from(cost.table_bytes))
            .sum()
    }

    fn origin(&self) -> &'static str {
        match self.origin {
            Origin::Library => "library",
            Origin::File => "file",
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{} (from the {})\n", self.component.name(), self.origin());
        let program = self.component.program();
        let statistics = self.component.circuit().statistics();
        if let Some(function) = &self.function {
            let _ = writeln!(
                text,
                "  function  {}  what both parties agree on",
                function.digest()
            );
        }
        let _ = writeln!(text, "  circuit   {}", self.component.circuit().digest());
        let _ = writeln!(text, "inputs");
        for (port, owner) in self.inputs() {
            let owner = owner.map_or("owner to be said with --owner", |owner| owner);
            let _ = writeln!(
                text,
                "  {:<16} {:<16} {owner}",
                port.name,
                port.ty.to_string()
            );
        }
        let _ = writeln!(text, "results");
        for (port, recipient) in self.outputs() {
            let recipient = recipient.map_or("recipient to be said with --result", |who| who);
            let _ = writeln!(
                text,
                "  {:<16} {:<16} {recipient}",
                port.name,
                port.ty.to_string()
            );
        }
        let _ = writeln!(
            text,
            "gates\n  {} AND, {} XOR, {} INV; depth {}, AND-depth {}",
            statistics.and, statistics.xor, statistics.inv, statistics.depth, statistics.and_depth
        );
        let _ = writeln!(
            text,
            "  as compiled: {} AND, {} XOR, {} labels at once",
            program.ands().len(),
            program.xors().len(),
            program.slots()
        );
        let _ = writeln!(text, "schemes, and the bytes of all tables under each");
        for rung in &LADDER {
            let _ = writeln!(
                text,
                "  {:<22} {:>12} bytes  rests on {}, {} bits",
                rung.id.to_string(),
                self.table_bytes(rung),
                rung.assumption,
                rung.security_bits
            );
        }
        if let Some(function) = &self.function {
            let _ = writeln!(
                text,
                "  and {} oblivious transfers, one for each input bit of the evaluator",
                function.input_bits(Role::Evaluator)
            );
        }
        text
    }

    fn json(&self) -> Json {
        let program = self.component.program();
        let statistics = self.component.circuit().statistics();
        let port = |(port, party): &(&Port, Option<&str>), key: &str| {
            let mut json = json!({
                "name": port.name,
                "type": port.ty.to_string(),
                "bits": port.ty.width(),
            });
            json[key] = json!(party);
            json
        };
        let scheme = |rung: &Rung| {
            json!({
                "name": rung.id.to_string(),
                "assumption": rung.assumption.to_string(),
                "security_bits": rung.security_bits,
                "security": rung.security,
                "bits_per_and": rung.cost.and.bits,
                "bits_per_xor": rung.cost.xor.bits,
                "table_bytes": self.table_bytes(rung),
            })
        };
        json!({
            "version": JSON_VERSION,
            "name": self.component.name(),
            "origin": self.origin(),
            "function_digest": self.function.as_ref().map(|f| f.digest().to_string()),
            "circuit_digest": self.component.circuit().digest().to_string(),
            "inputs": self.inputs().iter().map(|p| port(p, "owner")).collect::<Vec<_>>(),
            "results": self.outputs().iter().map(|p| port(p, "recipient")).collect::<Vec<_>>(),
            "gates": { "and": statistics.and, "xor": statistics.xor, "inv": statistics.inv },
            "depth": statistics.depth,
            "and_depth": statistics.and_depth,
            "compiled": {
                "and": program.ands().len(),
                "xor": program.xors().len(),
                "slots": program.slots(),
            },
            "oblivious_transfers":
                self.function.as_ref().map(|f| f.input_bits(Role::Evaluator)),
            "schemes": LADDER.iter().map(scheme).collect::<Vec<_>>(),
        })
    }
}

/// `tacit inspect --list`.
fn list(json: bool) -> Result<(), Failure> {
    let entries = library::list();
    if json {
        let entry = |entry: &library::Entry| {
            let parameter = |p: &library::Parameter| {
                json!({
                    "name": p.name,
                    "description": p.description,
                    "minimum": p.minimum,
                    "maximum": p.maximum,
                    "default": p.default,
                })
            };
            json!({
                "name": entry.name,
                "description": entry.description,
                "parameters": entry.parameters.iter().map(parameter).collect::<Vec<_>>(),
            })
        };
        let functions: Vec<Json> = entries.iter().map(entry).collect();
        let text = pretty(&json!({ "version": JSON_VERSION, "functions": functions }));
        return crate::print(text.as_bytes());
    }
    let mut text = String::new();
    for entry in entries {
        let _ = writeln!(text, "{:<18} {}", entry.name, entry.description);
        for p in entry.parameters {
            let default = match p.default {
                Some(default) => format!("{default} unless given"),
                None => "to be given".to_owned(),
            };
            let _ = writeln!(
                text,
                "{:<18}   --param {}=…  {}, {} to {}, {default}",
                "", p.name, p.description, p.minimum, p.maximum
            );
        }
    }
    crate::print(text.as_bytes())
}
