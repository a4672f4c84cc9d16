//! `tacit inspect`: what a function takes, gives, costs and rests on.

mod graph;
mod optimise;
mod picture;

use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Value as Json, json};
use tacit::formats::{BristolFormat, write_bristol};
use tacit::garble::{LADDER, ProgramCost, Rung};
use tacit::{Circuit, Component, Function, Port, Role, library};

use crate::args::InspectArgs;
use crate::check;
use crate::failure::Failure;
use crate::function::{self, Found, FoundCircuit, Origin};
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
    let choice = match &args.out {
        Some(_) if function::is_in_library(name) => &args.choice.without_bit_order(),
        _ => &args.choice,
    };
    let found = function::find(name, choice)?;
    if args.optimise {
        return optimise::optimise(&found, args);
    }
    if let Some(path) = &args.out {
        let found = circuit_of(&found)?;
        write_circuit(&found.circuit, found, path, args)?;
    }
    let subject = Subject::new(found, args)?;
    log.step(format_args!(
        "compiled {} components",
        subject.components.len()
    ));
    if let Some(path) = &args.svg {
        picture::draw(subject.function_to_show()?, path)?;
    }
    if args.graph {
        return crate::print(graph::text(subject.function_to_show()?).as_bytes());
    }
    if args.json {
        crate::print(pretty(&subject.json()).as_bytes())
    } else {
        crate::print(subject.text().as_bytes())
    }
}

/// What was found, if it is a circuit.
fn circuit_of(found: &Found) -> Result<&FoundCircuit, Failure> {
    match found {
        Found::Circuit(found) => Ok(found),
        Found::Function(function, _) => {
            let components = function.components().iter();
            let names: Vec<&str> = components.map(Component::name).collect();
            Err(Failure::Usage(format!(
                "--optimise and --out take a circuit, and {} is a function of calls; its \
                 components are {}",
                function.name(),
                names.join(", ")
            )))
        }
    }
}

/// Writes a file that was not there before, whole or not at all.
fn write_new(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error: &std::io::Error| Failure::write(path, error);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| failed(&error))?;
    content(&mut file)?;
    let persisted = file.persist_noclobber(path);
    persisted.map_err(|error| failed(&error.error))?;
    Ok(())
}

/// Writes `circuit`, which is `found` or was made of it, in Bristol Fashion into a new file.
fn write_circuit(
    circuit: &Circuit,
    found: &FoundCircuit,
    path: &Path,
    args: &InspectArgs,
) -> Result<(), Failure> {
    let mut ports = circuit.inputs().iter().chain(circuit.outputs());
    let has_number = ports.any(|port| port.ty.to_string().starts_with(['u', 'i', 'f']));
    if found.origin == Origin::Library && has_number && args.choice.bit_order.is_none() {
        return Err(Failure::Usage(format!(
            "{} has numbers among its ports, and a file does not say how it numbers their bits; \
             say so with --bit-order, which is as-given for public files of arithmetic",
            found.name
        )));
    }
    let order = args.choice.bit_order.unwrap_or_default();
    write_new(path, |file| {
        let file = BufWriter::new(file);
        let written = write_bristol(circuit, file, BristolFormat::Fashion, order);
        Ok(written.map_err(tacit::Error::from)?)
    })
}

/// What is inspected: components and, where owners and recipients are known, a function of them.
struct Subject {
    name: String,
    origin: Origin,
    components: Vec<Component>,
    function: Option<Function>,
}

/// A port, and its owner or recipient if known.
type NamedPort<'a> = (&'a Port, Option<&'static str>);

impl Subject {
    fn new(found: Found, args: &InspectArgs) -> Result<Self, Failure> {
        let said = !args.choice.owners.is_empty() || !args.choice.results.is_empty();
        let (origin, function) = match found {
            Found::Circuit(found) if found.origin == Origin::File && !said => {
                let (name, origin) = (found.name, found.origin);
                let components = vec![Component::new(name.clone(), found.circuit)];
                return Ok(Self {
                    name,
                    origin,
                    components,
                    function: None,
                });
            }
            Found::Circuit(found) => (found.origin, found.function(&args.choice)?),
            Found::Function(function, origin) => (origin, *function),
        };
        let (name, components) = (function.name().to_owned(), function.components().to_vec());
        Ok(Self {
            name,
            origin,
            components,
            function: Some(function),
        })
    }

    /// The function; a circuit without owners and recipients has none.
    fn function_to_show(&self) -> Result<&Function, Failure> {
        self.function.as_ref().ok_or_else(|| {
            Failure::Usage(format!(
                "--svg and --graph show functions, and {} is a circuit that does not say whose its \
                 inputs are; say so with --owner and --result",
                self.name
            ))
        })
    }

    /// The only component, where there is but one and it is called but once.
    fn plain(&self) -> Option<&Component> {
        match (self.components.as_slice(), &self.function) {
            ([component], None) => Some(component),
            ([component], Some(function)) if function.call_count() == 1 => Some(component),
            _ => None,
        }
    }

    fn inputs(&self) -> Vec<NamedPort<'_>> {
        match &self.function {
            Some(function) => {
                let inputs = function.inputs().iter();
                let loads = function.loads().iter().map(|port| (port, Some("saved")));
                inputs
                    .map(|input| (&input.port, Some(input.owner.name())))
                    .chain(loads)
                    .collect()
            }
            None => {
                let ports = self
                    .components
                    .iter()
                    .flat_map(|one| one.circuit().inputs());
                ports.map(|port| (port, None)).collect()
            }
        }
    }

    fn outputs(&self) -> Vec<NamedPort<'_>> {
        match &self.function {
            Some(function) => {
                let outputs = function.outputs().iter();
                let saves = function.saves().iter().map(|port| (port, Some("saved")));
                outputs
                    .map(|output| (&output.port, Some(output.recipient.name())))
                    .chain(saves)
                    .collect()
            }
            None => {
                let ports = self
                    .components
                    .iter()
                    .flat_map(|one| one.circuit().outputs());
                ports.map(|port| (port, None)).collect()
            }
        }
    }

    /// AND and XOR gates of all calls, as compiled.
    fn gates(&self) -> (u64, u64) {
        match &self.function {
            Some(function) => (function.and_gates(), function.xor_gates()),
            None => {
                let count = |gates: fn(&Component) -> usize| {
                    self.components
                        .iter()
                        .map(|component| gates(component) as u64)
                        .sum()
                };
                (
                    count(|one| one.program().ands().len()),
                    count(|one| one.program().xors().len()),
                )
            }
        }
    }

    /// What all calls cost under a scheme.
    fn cost(&self, rung: &Rung) -> ProgramCost {
        let calls = self.function.as_ref().map(Function::component_calls);
        let costs = self.components.iter().enumerate().map(|(i, component)| {
            let calls = calls.map_or(1, |calls| calls[i]);
            rung.program_cost(component.program()) * u64::from(calls)
        });
        costs.sum()
    }

    fn origin(&self) -> &'static str {
        match self.origin {
            Origin::Library => "library",
            Origin::File => "file",
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{} (from the {})\n", self.name, self.origin());
        if let Some(function) = &self.function {
            let _ = writeln!(
                text,
                "  function  {}  what both parties agree on",
                function.digest()
            );
        }
        if let Some(component) = self.plain() {
            let _ = writeln!(text, "  circuit   {}", component.digest());
        }
        ports_text(
            &mut text,
            "inputs",
            "owner to be said with --owner",
            &self.inputs(),
        );
        ports_text(
            &mut text,
            "results",
            "recipient to be said with --result",
            &self.outputs(),
        );
        for component in &self.components {
            component_text(&mut text, component, self.plain().is_some());
        }
        let (ands, xors) = self.gates();
        match &self.function {
            Some(function) if self.plain().is_none() => {
                let calls = function.call_count();
                let _ = writeln!(
                    text,
                    "{calls} calls, together {ands} AND, {xors} XOR as compiled"
                );
            }
            _ => {}
        }
        if self
            .function
            .as_ref()
            .is_some_and(Function::has_saved_values)
        {
            let _ = writeln!(
                text,
                "saved values pass from run to run and are told to nobody; `direct` keeps none"
            );
        }
        let _ = writeln!(
            text,
            "schemes\n  {:<22} {:>14} {:>27}  rests on",
            "", "bytes of tables", "cipher calls, each side"
        );
        for rung in &LADDER {
            let cost = self.cost(rung);
            let _ = writeln!(
                text,
                "  {:<22} {:>15} {:>13} {:>13}  {}, {} bits",
                rung.id.to_string(),
                cost.table_bytes,
                cost.garbler_calls,
                cost.evaluator_calls,
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
        let scheme = |rung: &Rung| {
            let cost = self.cost(rung);
            json!({
                "name": rung.id.to_string(),
                "assumption": rung.assumption.to_string(),
                "security_bits": rung.security_bits,
                "security": rung.security,
                "bits_per_and": rung.cost.and.bits,
                "bits_per_xor": rung.cost.xor.bits,
                "table_bytes": cost.table_bytes,
                "garbler_calls": cost.garbler_calls,
                "garbler_key_schedules": cost.garbler_key_schedules,
                "evaluator_calls": cost.evaluator_calls,
                "evaluator_key_schedules": cost.evaluator_key_schedules,
            })
        };
        let (ands, xors) = self.gates();
        json!({
            "version": JSON_VERSION,
            "name": self.name,
            "origin": self.origin(),
            "function_digest": self.function.as_ref().map(|f| f.digest().to_string()),
            "inputs": ports_json("owner", &self.inputs()),
            "results": ports_json("recipient", &self.outputs()),
            "components": self.components.iter().map(component_json).collect::<Vec<_>>(),
            "calls": self.function.as_ref().map_or(1, Function::call_count),
            "compiled": { "and": ands, "xor": xors },
            "oblivious_transfers":
                self.function.as_ref().map(|f| f.input_bits(Role::Evaluator)),
            "schemes": LADDER.iter().map(scheme).collect::<Vec<_>>(),
        })
    }
}

fn ports_text(text: &mut String, title: &str, unsaid: &str, ports: &[NamedPort<'_>]) {
    let _ = writeln!(text, "{title}");
    for (port, party) in ports {
        let party = party.unwrap_or(unsaid);
        let _ = writeln!(
            text,
            "  {:<16} {:<16} {party}",
            port.name,
            port.ty.to_string()
        );
    }
}

fn ports_json(key: &str, ports: &[NamedPort<'_>]) -> Json {
    let port = |(port, party): &NamedPort<'_>| {
        let mut json = json!({
            "name": port.name,
            "type": port.ty.to_string(),
            "bits": port.ty.width(),
        });
        json[key] = json!(party);
        json
    };
    ports.iter().map(port).collect()
}

fn component_text(text: &mut String, component: &Component, alone: bool) {
    let (program, statistics) = (component.program(), component.circuit().statistics());
    if alone {
        let _ = writeln!(text, "gates");
    } else {
        let _ = writeln!(
            text,
            "component {}\n  {}",
            component.name(),
            component.digest()
        );
    }
    let _ = writeln!(
        text,
        "  {} AND, {} XOR, {} INV; depth {}, AND-depth {}",
        statistics.and, statistics.xor, statistics.inv, statistics.depth, statistics.and_depth
    );
    let _ = writeln!(
        text,
        "  as compiled: {} AND, {} XOR, {} labels at once",
        program.ands().len(),
        program.xors().len(),
        program.slots()
    );
}

fn component_json(component: &Component) -> Json {
    let (program, statistics) = (component.program(), component.circuit().statistics());
    json!({
        "name": component.name(),
        "circuit_digest": component.digest().to_string(),
        "gates": { "and": statistics.and, "xor": statistics.xor, "inv": statistics.inv },
        "depth": statistics.depth,
        "and_depth": statistics.and_depth,
        "compiled": {
            "and": program.ands().len(),
            "xor": program.xors().len(),
            "slots": program.slots(),
        },
    })
}

/// A function of the library, as the list shows it.
struct Listed {
    name: String,
    description: String,
    parameters: Vec<Json>,
}

fn listed() -> Result<Vec<Listed>, Failure> {
    let parameter = |name: &str, description: &str, range: (u64, u64), default: Option<u64>| {
        json!({
            "name": name,
            "description": description,
            "minimum": range.0,
            "maximum": range.1,
            "default": default,
        })
    };
    let components = library::list().iter().map(|entry| {
        let parameters = entry.parameters.iter();
        let parameters =
            parameters.map(|p| parameter(p.name, p.description, (p.minimum, p.maximum), p.default));
        Ok(Listed {
            name: entry.name.to_owned(),
            description: entry.description.to_owned(),
            parameters: parameters.collect(),
        })
    });
    let functions = library::shipped::names().filter_map(|name| {
        let family = library::shipped::find(name)
            .map_err(tacit::Error::from)
            .transpose()?;
        Some(family.map(|family| {
            let parameters = family.parameters().iter();
            let parameters = parameters
                .map(|p| parameter(&p.name, &p.description, (p.minimum, p.maximum), p.default));
            Listed {
                name: name.to_owned(),
                description: family.description().to_owned(),
                parameters: parameters.collect(),
            }
        }))
    });
    Ok(components
        .chain(functions)
        .collect::<Result<_, tacit::Error>>()?)
}

/// `tacit inspect --list`.
fn list(json: bool) -> Result<(), Failure> {
    let listed = listed()?;
    if json {
        let function = |one: &Listed| {
            json!({
                "name": one.name,
                "description": one.description,
                "parameters": one.parameters,
            })
        };
        let functions: Vec<Json> = listed.iter().map(function).collect();
        let text = pretty(&json!({ "version": JSON_VERSION, "functions": functions }));
        return crate::print(text.as_bytes());
    }
    let width = listed.iter().map(|one| one.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Listed {
        name,
        description,
        parameters,
    } in &listed
    {
        let _ = writeln!(text, "{name:<width$}  {description}");
        for p in parameters {
            let default = match p["default"].as_u64() {
                Some(default) => format!("{default} unless given"),
                None => "to be given".to_owned(),
            };
            let _ = writeln!(
                text,
                "{:<width$}    --param {}=…  {}, {} to {}, {default}",
                "",
                p["name"].as_str().unwrap_or_default(),
                p["description"].as_str().unwrap_or_default(),
                p["minimum"],
                p["maximum"]
            );
        }
    }
    crate::print(text.as_bytes())
}
