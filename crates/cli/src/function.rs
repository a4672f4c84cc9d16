//! From a name, a file and what was said about owners to the function that runs.
//!
//! A name from the library comes before a file of the same name; `./name` is always a file.

use std::collections::BTreeMap;
use std::path::Path;

use tacit::formats::{BitOrder, Import, read_bristol_file};
use tacit::{Circuit, CircuitError, Function, Port, Recipient, Role, Type, library};

use crate::args::FunctionArgs;
use crate::failure::Failure;

/// A circuit with the name that it was asked for by, and where it comes from.
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) circuit: Circuit,
    pub(crate) origin: Origin,
}

/// Where a circuit comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The library, whose functions have owners and recipients unless told otherwise.
    Library,
    /// A circuit file, which says nothing about owners and recipients.
    File,
}

/// The circuit that `name` means.
///
/// # Errors
///
/// There is none, it cannot be read, or the parameters do not suit it.
pub(crate) fn find(name: &str, choice: &FunctionArgs) -> Result<Found, Failure> {
    let known = library::list().iter().any(|entry| entry.name == name);
    let is_file = Path::new(name).is_file();
    if known || (!is_file && choice.bit_order.is_none() && !looks_like_a_path(name)) {
        if choice.bit_order.is_some() {
            return Err(Failure::Usage(format!(
                "--bit-order is for circuit files and {name} comes from the library; leave it out, \
                 or write ./{name} for a file of that name"
            )));
        }
        if let Some((port, _)) = choice.types.first() {
            return Err(Failure::Usage(format!(
                "--type {port} is for circuit files and {name} comes from the library, whose \
                 ports have types; leave it out"
            )));
        }
        let circuit =
            library::find(name, &parameters(choice)?).map_err(|error| unknown(name, &error))?;
        return Ok(Found {
            name: name.to_owned(),
            circuit,
            origin: Origin::Library,
        });
    }
    if let Some((parameter, _)) = choice.params.first() {
        return Err(Failure::Usage(format!(
            "--param {parameter} is for library functions and {name} is a circuit file; leave it \
             out"
        )));
    }
    let circuit = retype(read(Path::new(name), choice.bit_order)?, &choice.types)?;
    Ok(Found {
        name: file_name(name),
        circuit,
        origin: Origin::File,
    })
}

fn looks_like_a_path(name: &str) -> bool {
    name.contains(['/', '\\', '.'])
}

/// The last part of a path, for people; the rest is nobody's business.
fn file_name(path: &str) -> String {
    match Path::new(path).file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.to_owned(),
    }
}

fn unknown(name: &str, error: &library::LibraryError) -> Failure {
    match error {
        library::LibraryError::UnknownComponent { .. } => Failure::Input(format!(
            "{name} is neither a file nor a function of the library; `tacit inspect --list` lists \
             the library"
        )),
        error => Failure::Input(error.to_string()),
    }
}

fn parameters(choice: &FunctionArgs) -> Result<BTreeMap<String, u64>, Failure> {
    let mut parameters = BTreeMap::new();
    for (name, value) in &choice.params {
        let value = value.parse().map_err(|_| {
            Failure::Input(format!(
                "--param {name}: {value:?} is no whole number; write it in decimal, such as \
                 {name}=32"
            ))
        })?;
        if parameters.insert(name.clone(), value).is_some() {
            return Err(Failure::Usage(format!(
                "--param {name} is given twice; give it once"
            )));
        }
    }
    Ok(parameters)
}

/// Reads a circuit file. The order of its bits is the one that was said, else that of Bristol
/// Fashion's byte strings.
fn read(path: &Path, order: Option<BitOrder>) -> Result<Circuit, Failure> {
    let import = Import {
        order: order.unwrap_or_default(),
        ..Import::default()
    };
    let circuit = read_bristol_file(path, &import);
    circuit.map_err(|error| match error {
        CircuitError::Io { .. } => tacit::Error::from(error).into(),
        error => Failure::Input(format!("{}: {error}", path.display())),
    })
}

/// The same circuit with other types of the same widths.
fn retype(circuit: Circuit, types: &[(String, String)]) -> Result<Circuit, Failure> {
    if types.is_empty() {
        return Ok(circuit);
    }
    let (mut inputs, mut outputs) = (circuit.inputs().to_vec(), circuit.outputs().to_vec());
    for (name, text) in types {
        let ty: Type = text.parse().map_err(tacit::Error::from)?;
        let mut ports = inputs.iter_mut().chain(&mut outputs);
        let port = ports.find(|port| port.name == *name).ok_or_else(|| {
            let ports = circuit.inputs().iter().chain(circuit.outputs());
            let known: Vec<&str> = ports.map(|port| port.name.as_str()).collect();
            Failure::Usage(format!(
                "--type {name}: there is no port of that name; there are {}",
                known.join(", ")
            ))
        })?;
        if port.ty.width() != ty.width() {
            return Err(Failure::Usage(format!(
                "--type {name}={ty} has {} bits and the port has {}; take a type of that width",
                ty.width(),
                port.ty.width()
            )));
        }
        port.ty = ty;
    }
    let wires = circuit.output_wires().to_vec();
    Ok(Circuit::new(inputs, outputs, circuit.gates(), wires).map_err(tacit::Error::from)?)
}

impl Found {
    /// The circuit as a function, with the owners and recipients that were said and, for the
    /// library, the usual ones.
    ///
    /// # Errors
    ///
    /// An owner or recipient is missing, or is said of what is not there.
    pub(crate) fn function(self, choice: &FunctionArgs) -> Result<Function, Failure> {
        let owners = said(
            &choice.owners,
            "--owner",
            self.circuit.inputs(),
            "input",
            role,
        )?;
        let recipients = said(
            &choice.results,
            "--result",
            self.circuit.outputs(),
            "result",
            recipient,
        )?;
        if self.origin == Origin::File {
            self.complete(&owners, &recipients)?;
        }
        let usual = library::usual_owner(&self.circuit);
        let owner = |port: &Port| {
            Ok(owners
                .get(port.name.as_str())
                .copied()
                .unwrap_or_else(|| usual(port)))
        };
        let gets = |port: &Port| {
            Ok(recipients
                .get(port.name.as_str())
                .copied()
                .unwrap_or(Recipient::Both))
        };
        Ok(Function::of_circuit(&self.name, self.circuit, owner, gets)
            .map_err(tacit::Error::from)?)
    }

    /// Checks that everything was said of a circuit file.
    fn complete(
        &self,
        owners: &BTreeMap<&str, Role>,
        recipients: &BTreeMap<&str, Recipient>,
    ) -> Result<(), Failure> {
        let (inputs, outputs) = (self.circuit.inputs(), self.circuit.outputs());
        let missing = |known: &dyn Fn(&str) -> bool, ports: &[Port]| -> Vec<String> {
            ports
                .iter()
                .map(|port| port.name.clone())
                .filter(|name| !known(name))
                .collect()
        };
        let ownerless = missing(&|name| owners.contains_key(name), inputs);
        let unclaimed = missing(&|name| recipients.contains_key(name), outputs);
        if ownerless.is_empty() && unclaimed.is_empty() {
            return Ok(());
        }
        let mut example = Vec::new();
        for (i, port) in inputs.iter().enumerate() {
            let role = if i == 0 { "garbler" } else { "evaluator" };
            example.push(format!("--owner {}={role}", port.name));
        }
        example.extend(
            outputs
                .iter()
                .map(|port| format!("--result {}=both", port.name)),
        );
        let mut lacking = Vec::new();
        if !ownerless.is_empty() {
            lacking.push(format!("whose {} is", ownerless.join(", ")));
        }
        if !unclaimed.is_empty() {
            lacking.push(format!("who gets {}", unclaimed.join(", ")));
        }
        Err(Failure::Usage(format!(
            "the circuit file {} does not say {}; say it, for example with {}",
            self.name,
            lacking.join(" nor "),
            example.join(" ")
        )))
    }
}

/// What was said of each port, checked: `name=word`, with `parse` for the words.
fn said<'a, T>(
    pairs: &'a [(String, String)],
    flag: &str,
    ports: &[Port],
    kind: &str,
    parse: fn(&str) -> Option<T>,
) -> Result<BTreeMap<&'a str, T>, Failure> {
    let mut said = BTreeMap::new();
    for (name, word) in pairs {
        if !ports.iter().any(|port| port.name == *name) {
            let known: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
            return Err(Failure::Usage(format!(
                "{flag} {name}: there is no {kind} of that name; there are {}",
                known.join(", ")
            )));
        }
        let words = if kind == "result" {
            "garbler, evaluator or both"
        } else {
            "garbler or evaluator"
        };
        let value = parse(word).ok_or_else(|| {
            Failure::Usage(format!("{flag} {name}={word} says nothing; write {words}"))
        })?;
        if said.insert(name.as_str(), value).is_some() {
            return Err(Failure::Usage(format!(
                "{flag} {name} is given twice; give it once"
            )));
        }
    }
    Ok(said)
}

fn role(word: &str) -> Option<Role> {
    [Role::Garbler, Role::Evaluator]
        .into_iter()
        .find(|role| role.name() == word)
}

fn recipient(word: &str) -> Option<Recipient> {
    let all = [Recipient::Garbler, Recipient::Evaluator, Recipient::Both];
    all.into_iter().find(|recipient| recipient.name() == word)
}
