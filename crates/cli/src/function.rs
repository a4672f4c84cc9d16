//! Loads a circuit or a function by name or file, with its parameters.
//!
//! A name from the library comes before a file of the same name; `./name` is always a file.

use std::collections::BTreeMap;
use std::path::Path;

use tacit::circuit::builder::CircuitForm;
use tacit::circuit::formats::{BitOrder, Import, read_bristol_file};
use tacit::circuit::{CircuitError, Component};
use tacit::garble::{Assumption, SchemeId, SchemeInfo};
use tacit::protocols::Protocol;
use tacit::scheme::{best_scheme, default_scheme};
use tacit::{Circuit, Function, Role, Type, library};
use tacit_language::{PortValue, Signature, most_like};

use crate::args::FunctionArgs;
use crate::failure::{Failure, input, usage};
use crate::inputs::Reading;
use crate::program::is_program;
use crate::typed::{self, CheckedProgram, Runnable};

/// A circuit, function or program that was found by its name.
pub(crate) enum FoundFunction {
    /// A circuit, which becomes a function once its ports have owners and its results recipients.
    Circuit(FoundCircuit),
    /// A function that comes with Tacit, with owners and recipients.
    Function(Box<Function>),
    /// A program of the language, which also has types. It is not compiled yet.
    Program(Box<CheckedProgram>),
}

/// A circuit, the name by which it was found, and its origin.
pub(crate) struct FoundCircuit {
    pub(crate) component: Component,
    pub(crate) origin: Origin,
    /// Its parameters, if it comes from the library.
    pub(crate) parameters: Vec<(String, u64)>,
}

/// The origin of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The library, whose functions have default owners and recipients.
    Library,
    /// A file. A circuit file says nothing about owners and recipients.
    File,
}

/// Returns whether the library has something of this name.
pub(crate) fn is_in_library(name: &str) -> bool {
    is_component(name) || library::shipped::names().any(|shipped| shipped == name)
}

fn is_component(name: &str) -> bool {
    library::list().iter().any(|entry| entry.name == name)
}

/// Finds the circuit, function or program that `name` means.
pub(crate) fn find(name: &str, choice: &FunctionArgs) -> Result<FoundFunction, Failure> {
    if is_in_library(name) {
        return in_library(name, choice);
    }
    let path = Path::new(name);
    if !path.exists() {
        let meant =
            meant(path, name).map_or(String::new(), |meant| format!("did you mean {meant}? "));
        if is_program(path) {
            let folder = match path.parent() {
                Some(folder) if folder != Path::new("") => folder.to_owned(),
                _ => std::env::current_dir().unwrap_or_default(),
            };
            return Err(input!(
                "there is no file {} in {}", file_name(name), folder.display();
                "{meant}give the path of the program's file"
            ));
        }
        return Err(input!(
            "{name} is neither a file nor a function of the library";
            "{meant}`tacit inspect --list` lists the library"
        ));
    }
    if is_program(path) {
        let flags = ["--owner", "--result", "--type", "--bit-order"];
        refuse(choice, name, "a program, which says so itself", &flags)?;
        return Ok(FoundFunction::Program(Box::new(CheckedProgram::read(
            path, choice,
        )?)));
    }
    if (path.extension()).is_some_and(|ending| ending.eq_ignore_ascii_case("json")) {
        return Err(input!(
            "{name}: functions are not written in JSON";
            "write it as a program of the language, NAME.tacit (docs/language.md)"
        ));
    }
    refuse(
        choice,
        name,
        "no program of the language",
        &["--public", "--entry"],
    )?;
    refuse(choice, name, "a circuit file", &["--param"])?;
    order_of_numbers(choice)?;
    let circuit = retype(read(path, choice.bit_order)?, &choice.types)?;
    Ok(FoundFunction::Circuit(FoundCircuit {
        component: Component::new(file_name(name), circuit),
        origin: Origin::File,
        parameters: Vec::new(),
    }))
}

fn in_library(name: &str, choice: &FunctionArgs) -> Result<FoundFunction, Failure> {
    let flags = ["--type", "--bit-order", "--public", "--entry"];
    refuse(choice, name, "in the library", &flags)?;
    if !is_component(name) {
        let what = "a function that has them";
        refuse(choice, name, what, &["--owner", "--result"])?;
        let function = library::function(name, &parameters(choice)?)?;
        return Ok(FoundFunction::Function(Box::new(function)));
    }
    let parameters = parameters(choice)?;
    let circuit = library::find(name, &parameters).map_err(tacit::Error::from)?;
    Ok(FoundFunction::Circuit(FoundCircuit {
        component: Component::new(name, circuit),
        origin: Origin::Library,
        parameters: library::parameter_values(name, &parameters),
    }))
}

/// Refuses flags that have no meaning for the function that was found.
fn refuse(choice: &FunctionArgs, name: &str, what: &str, flags: &[&str]) -> Result<(), Failure> {
    let given = |flag: &str| match flag {
        "--param" => !choice.params.is_empty(),
        "--owner" => !choice.owners.is_empty(),
        "--result" => !choice.results.is_empty(),
        "--type" => !choice.types.is_empty(),
        "--public" => !choice.public.is_empty(),
        "--entry" => choice.entry.is_some(),
        _ => choice.bit_order.is_some(),
    };
    match flags.iter().find(|flag| given(flag)) {
        Some(flag) if is_in_library(name) => Err(usage!(
            "{flag} has no meaning here, since {name} is {what}";
            "leave it out, or write ./{name} for a file of that name"
        )),
        Some(flag) => Err(usage!(
            "{flag} has no meaning here, since {name} is {what}";
            "leave it out"
        )),
        None => Ok(()),
    }
}

/// Returns the file next to `path`, or the function of the library, that `name` probably meant.
fn meant(path: &Path, name: &str) -> Option<String> {
    let with_ending = ["tacit", "txt"].map(|ending| path.with_added_extension(ending));
    if let Some(file) = with_ending.iter().find(|file| file.is_file()) {
        return Some(file.display().to_string());
    }
    if path.extension().is_none() {
        return library::like(name);
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let entries = folder.unwrap_or(Path::new(".")).read_dir().ok()?.flatten();
    let files: Vec<String> = entries
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let file = most_like(
        path.file_name()?.to_str()?,
        files.iter().map(String::as_str),
    )?;
    Some(path.with_file_name(file).display().to_string())
}

/// Returns the last part of a path, for people: the other party need not see the rest.
fn file_name(path: &str) -> String {
    match Path::new(path).file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.to_owned(),
    }
}

pub(crate) fn parameters(choice: &FunctionArgs) -> Result<BTreeMap<String, u64>, Failure> {
    let mut parameters = BTreeMap::new();
    for (name, value) in &choice.params {
        let value = value.parse().map_err(|_| {
            input!(
                "--param {name}: {value:?} is not a whole number";
                "write it in decimal, such as {name}=32"
            )
        })?;
        if parameters.insert(name.clone(), value).is_some() {
            return Err(usage!("--param {name} is given twice"; "give it once"));
        }
    }
    Ok(parameters)
}

/// Reads a circuit file. The order of its bits is `order`, or else that of Bristol Fashion's byte
/// strings.
fn read(path: &Path, order: Option<BitOrder>) -> Result<Circuit, Failure> {
    let import = Import {
        order: order.unwrap_or_default(),
        ..Import::default()
    };
    let circuit = read_bristol_file(path, &import);
    circuit.map_err(|error| match error {
        CircuitError::Io { .. } => tacit::Error::from(error).into(),
        error => Failure::input(format!("{}: {error}", path.display())),
    })
}

/// Refuses to read a file's port as a number by the order of byte strings. The file does not state
/// its order, and the wrong order gives a wrong result and no error.
fn order_of_numbers(choice: &FunctionArgs) -> Result<(), Failure> {
    let number = |ty: &str| ty.starts_with(['u', 'i', 'f']);
    match choice.types.iter().find(|(_, ty)| number(ty)) {
        Some((name, ty)) if choice.bit_order.is_none() => Err(usage!(
            "--type reads {name} as {ty}, a number, and the file does not say how it numbers bits";
            "give --bit-order, which is as-given for public files of arithmetic"
        )),
        _ => Ok(()),
    }
}

/// Returns the same circuit with other types of the same widths.
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
            usage!(
                "--type {name}: there is no port of that name";
                "there are {}", known.join(", ")
            )
        })?;
        if port.ty.width() != ty.width() {
            return Err(usage!(
                "--type {name}={ty} has {} bits and the port has {}", ty.width(), port.ty.width();
                "take a type of that width"
            ));
        }
        port.ty = ty;
    }
    let wires = circuit.output_wires().to_vec();
    Ok(Circuit::new(inputs, outputs, circuit.gates(), wires).map_err(tacit::Error::from)?)
}

impl FoundFunction {
    /// Returns whether it is a program that joins tables.
    pub(crate) fn joins(&self) -> bool {
        let signature = self.signature();
        signature.is_some_and(|signature| signature.entry().join.is_some())
    }

    /// Returns the same, unless it joins tables.
    pub(crate) fn without_join(self) -> Result<Self, Failure> {
        if self.joins() {
            Err(usage!(
                "the program joins tables, which the protocol gmw does alone, between two parties";
                "run it by `tacit run` at both parties, and prepare it by `tacit prepare` without \
                 --protocol; `tacit plan` says what it takes"
            ))
        } else {
            Ok(self)
        }
    }

    /// Checks that the sizes of the tables that a program joins are given as params. At a run they
    /// are announced; before it, nobody knows them.
    pub(crate) fn check_sizes(&self) -> Result<(), Failure> {
        let unknown = self.signature().map(Signature::unknown_sizes);
        let missing = unknown.into_iter().flatten();
        let missing: Vec<_> = missing
            .map(|param| format!("{}=1000", param.name))
            .collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(usage!(
                "the program joins tables, and the crosses depend on the sizes of these, which are \
                 not given";
                "both parties give the largest that the tables will have, such as --param {}",
                missing.join(",")
            ))
        }
    }

    /// Returns the same; a program is made of operations in the form for this protocol.
    pub(crate) fn in_form_of(self, protocol: Protocol) -> Self {
        match self {
            Self::Program(program) => {
                Self::Program(Box::new(program.in_form(protocol.circuit_form())))
            }
            other => other,
        }
    }

    /// Returns the ports of a program, or nothing if it is no program.
    pub(crate) fn signature(&self) -> Option<&Signature> {
        match self {
            Self::Program(program) => Some(program.signature()),
            Self::Circuit(_) | Self::Function(_) => None,
        }
    }

    /// Returns the values of a role's inputs in a program, before it is compiled. Circuits and
    /// functions give nothing.
    pub(crate) fn values(
        &self,
        role: Role,
        reading: &Reading<'_>,
    ) -> Result<Option<BTreeMap<String, PortValue>>, Failure> {
        let signature = self.signature();
        let values = signature.map(|signature| typed::values(signature, role, reading));
        values.transpose()
    }

    /// Returns the function, with the owners and recipients that the arguments give.
    pub(crate) fn function(self, choice: &FunctionArgs) -> Result<Function, Failure> {
        match self {
            Self::Circuit(circuit) => circuit.function(choice),
            Self::Function(function) => Ok(*function),
            Self::Program(program) => Ok(program.compile(true)?.function().clone()),
        }
    }

    /// Returns the function, with its types if it is a program.
    pub(crate) fn runnable(self, choice: &FunctionArgs) -> Result<Runnable, Failure> {
        match self {
            Self::Program(program) => Ok(Runnable::Typed(Box::new(program.compile(true)?))),
            other => Ok(Runnable::Bits(Box::new(other.function(choice)?))),
        }
    }
    /// Returns the function, and a program also in the form for protocols over shares, not compiled
    /// yet.
    pub(crate) fn in_both_forms(
        self,
        choice: &FunctionArgs,
    ) -> Result<(Runnable, Option<CheckedProgram>), Failure> {
        match self {
            Self::Program(program) => {
                let runnable = Runnable::Typed(Box::new(program.compile(true)?));
                Ok((runnable, Some(program.in_form(CircuitForm::Shallow))))
            }
            other => Ok((other.runnable(choice)?, None)),
        }
    }
}

/// Returns the scheme of this name, or the best scheme for `function` under the assumption of this
/// name. Without a name it returns the default of `function`, or the default for all components if
/// there is no function.
pub(crate) fn scheme(
    name: Option<&str>,
    function: Option<&Function>,
) -> Result<&'static SchemeInfo, Failure> {
    let named = name.map(|name| (name.parse::<SchemeId>(), name.parse::<Assumption>()));
    let id = match (named, function) {
        (Some((Ok(id), _)), _) => id,
        (Some((_, Ok(assumption))), Some(function)) => best_scheme(assumption, function),
        (Some((_, Ok(assumption))), None) => {
            return Err(usage!(
                "--scheme: the best scheme under {assumption} depends on the function";
                "name the scheme, as `tacit inspect` lists them"
            ));
        }
        (Some((Err(error), _)), _) => {
            return Err(usage!("--scheme: {error}"; "both parties give the same"));
        }
        (None, Some(function)) => default_scheme(function),
        (None, None) => SchemeId::HALF_GATES_TWO_CALL,
    };
    id.rung().map_err(|error| Failure::usage(error.to_string()))
}
