//! The function to compute, of the library or of a program.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tacit::circuit::Port;
use tacit::circuit::builder::CircuitForm;
use tacit::join::Part;
use tacit::{Job, Role, Value, library};
use tacit_language::PortValue;

use crate::cost::{self, Costs, Row};
use crate::party::part;
use crate::program::{Program, Source, TableReading};
use crate::shape::PythonType;
use crate::value;
use crate::{error, wait};

/// A function with its parameters. Python code uses `tacit.Function`.
#[pyclass(frozen, module = "tacit._tacit")]
pub(crate) struct Function {
    body: Body,
    costs: Costs,
}

enum Body {
    /// A function of circuits, which itself describes its inputs and results.
    Circuits(Box<tacit::Function>),
    /// A program, whose values have types of the language.
    Program(Box<Program>),
}

impl From<Body> for Function {
    fn from(body: Body) -> Self {
        let costs = Costs::default();
        Self { body, costs }
    }
}

/// The values of inputs, checked against their types.
pub(crate) enum Inputs {
    Circuits(BTreeMap<String, Value>),
    Program(BTreeMap<String, PortValue>),
}

/// A port: its name, its type as text, and the party that owns it, or `both`.
type PortRow = (String, String, String);

#[pymethods]
impl Function {
    /// Returns the library's function `name`.
    #[staticmethod]
    fn library(py: Python<'_>, name: &str, params: BTreeMap<String, u64>) -> PyResult<Self> {
        let name = name.to_owned();
        let made = wait::apart(py, move || {
            library::function(&name, &params).inspect(tacit::Function::compile)
        })?;
        let function = made.map_err(|error| error::raise(py, error))?;
        Ok(Body::Circuits(Box::new(function)).into())
    }

    /// Returns a run of the program in a file, or of the program `text`, which `path` may name.
    #[staticmethod]
    #[pyo3(signature = (path, text, run, params, public))]
    fn program(
        py: Python<'_>,
        path: Option<PathBuf>,
        text: Option<String>,
        run: Option<&str>,
        params: BTreeMap<String, i64>,
        public: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let source = match (path, text) {
            (Some(path), None) => Source::File(path),
            (Some(name), Some(text)) => Source::Named(name.display().to_string(), text),
            (None, text) => Source::Text(text.unwrap_or_default()),
        };
        let params = params.into_iter().map(|(name, value)| (name, value.into()));
        let program = Program::new(py, source, run, params.collect(), public)?;
        Ok(Body::Program(Box::new(program)).into())
    }

    /// Returns the names of the library's functions.
    #[staticmethod]
    fn names() -> Vec<String> {
        let components = library::list().iter().map(|entry| entry.name.to_owned());
        let shipped = library::shipped::names().map(str::to_owned);
        components.chain(shipped).collect()
    }

    #[getter]
    fn name(&self) -> &str {
        match &self.body {
            Body::Circuits(function) => function.name(),
            Body::Program(program) => &program.name,
        }
    }

    /// Returns the program's own documentation.
    #[getter]
    fn documentation(&self) -> String {
        match &self.body {
            Body::Circuits(_) => String::new(),
            Body::Program(program) => program.signature.documentation().to_owned(),
        }
    }

    /// Returns the program's warnings: a text and a place for each.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        match &self.body {
            Body::Circuits(_) => Ok(Vec::new()),
            Body::Program(program) => program.warnings(py),
        }
    }

    #[getter]
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.lowered(py)?.digest().to_string())
    }

    #[getter]
    fn and_gates(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lowered(py)?.and_gates())
    }

    #[getter]
    fn inputs(&self) -> Vec<PortRow> {
        match &self.body {
            Body::Circuits(function) => {
                let inputs = function.inputs().iter();
                inputs
                    .map(|input| row(&input.port, input.owner.name()))
                    .collect()
            }
            Body::Program(program) => {
                let signature = &program.signature;
                let inputs = signature.inputs().iter().filter_map(|input| {
                    let owner = signature.party_name(input.owner?).to_owned();
                    Some((input.name.to_string(), signature.type_name(input.ty), owner))
                });
                inputs.collect()
            }
        }
    }

    #[getter]
    fn outputs(&self) -> Vec<PortRow> {
        match &self.body {
            Body::Circuits(function) => {
                let outputs = function.outputs().iter();
                outputs
                    .map(|output| row(&output.port, output.recipient.name()))
                    .collect()
            }
            Body::Program(program) => {
                let signature = &program.signature;
                let results = signature.results().iter().map(|port| {
                    let to = port.to.map_or("both", |party| signature.party_name(party));
                    let ty = signature.type_name(port.ty);
                    (port.name.to_string(), ty, to.to_owned())
                });
                results.collect()
            }
        }
    }

    /// Returns the parties, the garbler first.
    #[getter]
    pub(crate) fn parties(&self) -> (String, String) {
        let name = |role: Role| match &self.body {
            Body::Circuits(_) => role.name().to_owned(),
            Body::Program(program) => {
                let signature = &program.signature;
                signature.party_name(signature.party_of(role)).to_owned()
            }
        };
        (name(Role::Garbler), name(Role::Evaluator))
    }

    /// Computes the function in the clear, from all inputs to all results. The program's random
    /// values come from `seed`.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyDict>,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let outputs = PyDict::new(py);
        let reading = TableReading::usual(py)?;
        match (&self.body, self.read(inputs, reading)?) {
            (Body::Program(program), Inputs::Program(mut values)) => {
                let signature = &program.signature;
                values.extend(program.public.clone());
                let results = py.detach(|| signature.evaluate(&values, seed));
                let results = results.map_err(|error| program.raise(py, error))?;
                for (number, value) in results.iter().enumerate() {
                    let name = signature.results()[number].name.to_string();
                    outputs.set_item(name, program.python(py, number, value)?)?;
                }
            }
            (Body::Circuits(function), Inputs::Circuits(values)) => {
                evaluate_circuits(function, &values, &outputs)?;
            }
            _ => unreachable!("values are read by the function's own kind"),
        }
        Ok(outputs)
    }

    /// Checks the inputs of the party in this role, as a run does before it sends anything.
    #[pyo3(signature = (inputs, role, shard = None))]
    fn check(
        &self,
        py: Python<'_>,
        inputs: &Bound<'_, PyDict>,
        role: &str,
        shard: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let role = match role {
            "garbler" => Role::Garbler,
            _ => Role::Evaluator,
        };
        let reading = TableReading {
            part: self.part(py, shard.as_ref())?,
            ..TableReading::usual(py)?
        };
        let given = self.given(py, role, (inputs, reading))?;
        let (Body::Circuits(function), Inputs::Circuits(values)) = (&self.body, given) else {
            // Values of a program are checked as they are read.
            return Ok(());
        };
        let mut job = Job::new(function, role);
        for (name, value) in values {
            job = job.input(&name, value);
        }
        let bits = job.input_bits();
        bits.map(drop).map_err(|error| error::raise(py, error))
    }

    /// Compiles a program now. `progress` gets the number of finished steps and of all steps.
    #[pyo3(signature = (progress))]
    fn compile(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        if let Body::Program(program) = &self.body {
            program.compiled(py, progress.as_ref())?;
        }
        Ok(())
    }

    /// Returns the cost of a run by each protocol over this link.
    fn cost(&self, py: Python<'_>, link: &str, security: &str, runs: u64) -> PyResult<Vec<Row>> {
        let question = (link.to_owned(), security.to_owned(), runs);
        let Some(program) = self.joining() else {
            return self.costs.of(py, self.lowered(py)?, question);
        };
        self.check_sizes(py)?;
        let typed = program.compiled_in(py, CircuitForm::Shallow, None)?;
        cost::of_join(py, typed, &question)
    }
}

impl Function {
    /// Returns the function that two parties run. A program is compiled the first time.
    pub(crate) fn lowered(&self, py: Python<'_>) -> PyResult<&tacit::Function> {
        self.lowered_in(py, CircuitForm::Small)
    }

    /// Returns the same function; a program is made of operations in this form.
    pub(crate) fn lowered_in(
        &self,
        py: Python<'_>,
        form: CircuitForm,
    ) -> PyResult<&tacit::Function> {
        match &self.body {
            Body::Circuits(function) => Ok(function),
            Body::Program(program) => Ok(program.compiled_in(py, form, None)?.function()),
        }
    }

    /// Returns the program, if it joins two tables.
    pub(crate) fn joining(&self) -> Option<&Program> {
        match &self.body {
            Body::Program(program) if program.signature.entry().join.is_some() => Some(program),
            _ => None,
        }
    }

    /// Checks that the sizes of the tables that a program joins are given as params.
    pub(crate) fn check_sizes(&self, py: Python<'_>) -> PyResult<()> {
        let unknown = self
            .joining()
            .map(|program| program.signature.unknown_sizes());
        let unknown = unknown.into_iter().flatten();
        let sizes: Vec<_> = unknown
            .map(|param| format!("{}=1000", param.name))
            .collect();
        if sizes.is_empty() {
            return Ok(());
        }
        let message = format!(
            "the program joins tables, and what it takes depends on their sizes, which are not \
             given; give them as params: tacit.function(..., {})",
            sizes.join(", ")
        );
        Err(error::usage(py, &message))
    }

    /// Converts the argument `shard` to the part of the tables that a run joins, if it is not the
    /// whole of them.
    pub(crate) fn part(&self, py: Python<'_>, shard: Option<&Py<PyAny>>) -> PyResult<Option<Part>> {
        match part(py, shard)? {
            Some(part) if self.joining().is_none() => {
                let message =
                    format!("shard {part} is for a program that joins two tables; leave it out");
                Err(error::usage(py, &message))
            }
            part => Ok(part.filter(|part| !part.is_all())),
        }
    }

    /// Returns the values of these inputs, which must be all inputs of the party in this role. A
    /// program need not be compiled for it.
    pub(crate) fn given(
        &self,
        py: Python<'_>,
        role: Role,
        (inputs, reading): (&Bound<'_, PyDict>, TableReading),
    ) -> PyResult<Inputs> {
        let read = self.read(inputs, reading)?;
        if let (Body::Program(program), Inputs::Program(values)) = (&self.body, &read) {
            let signature = &program.signature;
            let complete = signature.check_given(signature.party_of(role), values);
            complete.map_err(|error| program.raise(py, error))?;
        }
        Ok(read)
    }

    /// Returns the values of these inputs, checked against the function's types.
    pub(crate) fn read(
        &self,
        inputs: &Bound<'_, PyDict>,
        reading: TableReading,
    ) -> PyResult<Inputs> {
        let named = inputs
            .iter()
            .map(|(name, value)| PyResult::Ok((value::name(&name)?, value)));
        match &self.body {
            Body::Program(program) => {
                let values = named.map(|pair| {
                    let (name, value) = pair?;
                    let value = program.read(&name, &value, reading)?;
                    Ok((name, value))
                });
                Ok(Inputs::Program(values.collect::<PyResult<_>>()?))
            }
            Body::Circuits(function) => {
                let values = named.map(|pair| {
                    let (name, value) = pair?;
                    let value = read_port(function, &name, &value)?;
                    Ok((name, value))
                });
                Ok(Inputs::Circuits(values.collect::<PyResult<_>>()?))
            }
        }
    }

    /// Returns the bits of a party's inputs. Draws those that a program draws at random.
    pub(crate) fn bits(
        &self,
        py: Python<'_>,
        role: Role,
        inputs: Inputs,
    ) -> PyResult<BTreeMap<String, Value>> {
        match (&self.body, inputs) {
            (Body::Program(program), Inputs::Program(values)) => {
                program.inputs_of(py, program.compiled(py, None)?, role, &values)
            }
            (_, Inputs::Circuits(values)) => Ok(values),
            (Body::Circuits(_), Inputs::Program(_)) => {
                unreachable!("values are read by the function's own kind")
            }
        }
    }

    /// Returns the results of a run as Python values.
    pub(crate) fn results<'py>(
        &self,
        py: Python<'py>,
        results: &BTreeMap<String, Value>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let outputs = PyDict::new(py);
        match &self.body {
            Body::Circuits(function) => {
                for output in function.outputs() {
                    if let Some(value) = results.get(&output.port.name) {
                        outputs.set_item(&output.port.name, python(py, value)?)?;
                    }
                }
            }
            Body::Program(program) => {
                return program.results(py, program.compiled(py, None)?, results);
            }
        }
        Ok(outputs)
    }
}

fn read_port(function: &tacit::Function, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = value.py();
    let mut ports = function.inputs().iter().map(|input| &input.port);
    let port = ports.find(|port| port.name == name).ok_or_else(|| {
        let known = function.inputs().iter();
        let known: Vec<_> = known.map(|input| input.port.name.as_str()).collect();
        let known = known.join(", ");
        error::input(
            py,
            &format!("there is no input {name:?}; there are {known}"),
        )
    })?;
    let shape = PythonType::of_type(&port.ty);
    let read = value::read_with(name, (&shape, false), value, |given| port.value_from(given))?;
    read.map_err(|error| error::raise(py, error))
}

fn evaluate_circuits(
    function: &tacit::Function,
    values: &BTreeMap<String, Value>,
    outputs: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let py = outputs.py();
    if function.has_saved_values() {
        let message = "the function keeps values between runs, which a run in the clear cannot";
        return Err(error::usage(py, message));
    }
    let values = function.inputs().iter().map(|input| {
        let (name, ty) = (&input.port.name, &input.port.ty);
        values.get(name).cloned().ok_or_else(|| {
            let message = format!("input {name:?} of type {ty} has no value; give it one");
            error::input(py, &message)
        })
    });
    let values = values.collect::<PyResult<Vec<_>>>()?;
    let results = py.detach(|| function.evaluate_values(&values));
    let results = results.map_err(|error| error::raise(py, error))?;
    for (output, value) in function.outputs().iter().zip(&results) {
        outputs.set_item(&output.port.name, python(py, value)?)?;
    }
    Ok(())
}

/// Returns the known name that is most similar to `name`, if one is similar.
#[pyfunction]
pub(crate) fn most_like(name: &str, known: Vec<String>) -> Option<String> {
    tacit_language::most_like(name, known.iter().map(String::as_str))
}

fn row(port: &Port, whose: &str) -> PortRow {
    (port.name.clone(), port.ty.to_string(), whose.to_owned())
}

/// Returns a value as a Python value.
fn python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    PythonType::of_type(value.ty()).python(py, &value.to_bits())
}
