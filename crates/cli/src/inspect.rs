//! `tacit inspect`: a function's inputs, results, costs and assumption.

pub(crate) mod join;
mod lines;
mod list;
mod shown;
mod subject;

use std::io::BufWriter;
use std::path::Path;

use tacit::Function;
use tacit::circuit::{Component, formats};
use tacit::protocols::Protocol;

use crate::args::InspectArgs;
use crate::failure::{Failure, usage};
use crate::function::{self, FoundCircuit, FoundFunction, Origin};
use crate::log::Log;
use crate::new_file::{Readers, write_new};
use crate::output;
use crate::progress::Bar;

pub(crate) use lines::cost_of_line;
use subject::Subject;

/// Runs the command.
pub(crate) fn inspect(args: &InspectArgs, log: Log) -> Result<(), Failure> {
    let Some(name) = &args.function else {
        return list::list(args.json);
    };
    if args.lines {
        return lines::show(name, args);
    }
    let choice = match &args.out {
        Some(_) if function::is_in_library(name) => &args.choice.without_bit_order(),
        _ => &args.choice,
    };
    let compiling = Bar::without_end("compiling", !args.json);
    let found = match function::find(name, choice)? {
        FoundFunction::Program(program) => {
            let (program, sizes) = program.with_example_sizes(choice)?;
            if !sizes.is_empty() {
                eprintln!("as an example, for {sizes}; --param NAME=ROWS gives other sizes");
            }
            FoundFunction::Program(Box::new(program))
        }
        found => found,
    };
    // A join runs only over shares.
    let found = match args.protocol {
        _ if found.joins() => found.in_form_of(Protocol::Gmw),
        Some(protocol) => found.in_form_of(protocol),
        None => found,
    };
    if let Some(path) = &args.out {
        write_circuit(circuit_of(&found)?, path, args)?;
    }
    let subject = Subject::new(found, args)?;
    drop(compiling);
    log.step(format_args!(
        "compiled {} components",
        subject.components.len()
    ));
    if args.ir {
        return output::print(subject.function_to_show()?.canonical_text());
    }
    let measuring = Bar::without_end("measuring", !args.json);
    if args.json {
        let json = subject.json();
        drop(measuring);
        return output::print_json(json);
    }
    let text = subject.text();
    drop(measuring);
    output::print(text)
}

/// Returns the circuit, if a circuit was found.
fn circuit_of(found: &FoundFunction) -> Result<&FoundCircuit, Failure> {
    match found {
        FoundFunction::Circuit(found) => Ok(found),
        FoundFunction::Program(program) => Err(not_a_circuit(program.compile(false)?.function())),
        FoundFunction::Function(function) => Err(not_a_circuit(function)),
    }
}

fn not_a_circuit(function: &Function) -> Failure {
    let components = function.components().iter();
    let names: Vec<&str> = components.map(Component::name).collect();
    usage!(
        "--out takes a circuit, and {} is a function of calls", function.name();
        "its components are {}", names.join(", ")
    )
}

/// Writes the circuit in Bristol Fashion into a new file.
fn write_circuit(found: &FoundCircuit, path: &Path, args: &InspectArgs) -> Result<(), Failure> {
    let circuit = found.component.circuit();
    let mut ports = circuit.inputs().iter().chain(circuit.outputs());
    let has_number = ports.any(|port| port.ty.to_string().starts_with(['u', 'i', 'f']));
    if found.origin == Origin::Library && has_number && args.choice.bit_order.is_none() {
        return Err(usage!(
            "{} has numbers among its ports, and a file does not say how it numbers their bits",
            found.component.name();
            "give --bit-order, which is as-given for public files of arithmetic"
        ));
    }
    let order = args.choice.bit_order.unwrap_or_default();
    write_new(path, Readers::All, |file| {
        let file = BufWriter::new(file);
        let written = formats::write_bristol(circuit, file, formats::BristolFormat::Fashion, order);
        Ok(written.map_err(tacit::Error::from)?)
    })
}
