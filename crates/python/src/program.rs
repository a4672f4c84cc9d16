//! Programs of the language: their files and params, and their errors.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tacit::circuit::builder::CircuitForm;
use tacit::circuit::{Digest, HostValue};
use tacit::join::Part;
use tacit::{Role, Value};
use tacit_language::{
    BorderError, ChosenRows, Diagnostic, Loaded, ParamValues, PortValue, ProgramFolder, RowRules,
    Signature, SourceMap, TypedFunction, UnfitRows, read_source,
};

use crate::party::threads;
use crate::shape::PythonType;
use crate::{error, value, wait};

/// A run of a program with all its parts. It is compiled when that is first needed; its ports,
/// values and errors are known before.
pub(crate) struct Program {
    pub(crate) signature: Signature,
    /// The function's name.
    pub(crate) name: String,
    /// The values of the public inputs.
    pub(crate) public: BTreeMap<String, PortValue>,
    loaded: Loaded,
    folder: Arc<ProgramFolder>,
    /// The compiled function in the small form and in the shallow one.
    compiled: [OnceLock<TypedFunction>; 2],
}

/// The place of a program's text.
pub(crate) enum Source {
    File(PathBuf),
    Text(String),
    /// The text of a program that uses no other files, and its name.
    Named(String, String),
}

impl Program {
    /// Reads the only run of a program, or its `main`, with values for its params and public
    /// inputs.
    pub(crate) fn new(
        py: Python<'_>,
        source: Source,
        run: Option<&str>,
        params: ParamValues,
        public: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let (name, text, folder) = match source {
            Source::Text(text) => ("<text>".to_owned(), text, ProgramFolder::new("")),
            Source::Named(name, text) => (name, text, ProgramFolder::new("")),
            Source::File(path) => {
                let read = read_source(&path).map_err(|error| {
                    let message = format!("the program {} cannot be read: {error}", path.display());
                    error::input(py, &message)
                });
                let folder = ProgramFolder::of(&path);
                (path.display().to_string(), read?, folder)
            }
        };
        let stem = Path::new(&name).file_stem().unwrap_or_default();
        let stem = stem.to_string_lossy().trim_matches(['<', '>']).to_owned();
        let run = run.map(str::to_owned);
        let (folder, loaded, signature) = wait::apart(py, move || {
            let loaded = Loaded::new(&name, &text, &folder);
            let signature = Signature::new(&loaded, &params, run.as_deref());
            let signature = signature.and_then(|signature| {
                // Errors of compilation that can be found at once.
                if signature.open_params().is_empty() {
                    signature.check_size()?;
                }
                signature.meaning(&folder)?;
                Ok(signature)
            });
            (folder, loaded, signature)
        })?;
        let map = loaded.source_map();
        let failed = |error| raise(py, error, map);
        let signature = signature.map_err(failed)?;
        let mut values = BTreeMap::new();
        for (name, value) in public {
            let name = value::name(&name)?;
            let value = read(&signature, map, &name, &value)?;
            values.insert(name, value);
        }
        let complete = signature.check_public(&values);
        complete.map_err(|error| raise(py, error, map))?;
        Ok(Self {
            signature,
            name: stem,
            public: values,
            loaded,
            folder: Arc::new(folder),
            compiled: Default::default(),
        })
    }

    /// Returns the program as a function in the small form, which most protocols run.
    pub(crate) fn compiled(
        &self,
        py: Python<'_>,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<&TypedFunction> {
        self.compiled_in(py, CircuitForm::Small, progress)
    }

    /// Returns the program as a function of operations in this form, which is compiled the first
    /// time. After one second, `progress` is called with the compilation's progress.
    pub(crate) fn compiled_in(
        &self,
        py: Python<'_>,
        form: CircuitForm,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<&TypedFunction> {
        let slot = &self.compiled[usize::from(form == CircuitForm::Shallow)];
        if let Some(compiled) = slot.get() {
            return Ok(compiled);
        }
        let made = self.compile(py, self.signature.clone().in_form(form), progress)?;
        // Another thread may have been faster, with an equal result.
        Ok(slot.get_or_init(|| made))
    }

    /// Compiles a run of the program, which may be one with other sizes.
    fn compile(
        &self,
        py: Python<'_>,
        signature: Signature,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<TypedFunction> {
        let (public, folder) = (self.public.clone(), Arc::clone(&self.folder));
        let name = self.name.clone();
        let made = wait::compiling(py, progress, move |watch| {
            let typed = TypedFunction::watched(signature, &name, &public, &*folder, watch);
            typed.inspect(|typed| typed.function().compile())
        })?;
        made.map_err(|error| self.raise(py, error))
    }

    /// Returns the digest of the meaning with all announced sizes open.
    pub(crate) fn open_meaning(&self, py: Python<'_>) -> PyResult<Digest> {
        let meaning = self.signature.open_meaning(&self.loaded, &*self.folder);
        meaning.map_err(|error| self.raise(py, error))
    }

    /// Returns the program compiled for `gmw` with the sizes that the parties have announced.
    pub(crate) fn compiled_for_sizes(
        &self,
        py: Python<'_>,
        sizes: &BTreeMap<String, u64>,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<TypedFunction> {
        let sized = self.signature.with_sizes(&self.loaded, sizes);
        let sized = sized.map_err(|error| self.raise(py, error))?;
        self.compile(py, sized.in_form(CircuitForm::Shallow), progress)
    }

    /// Reads the value of an input.
    pub(crate) fn read(
        &self,
        name: &str,
        value: &Bound<'_, PyAny>,
        reading: TableReading,
    ) -> PyResult<PortValue> {
        let signature = self.reading(value.py(), reading)?;
        read(&signature, self.loaded.source_map(), name, value)
    }

    /// Returns the ports of the program, which read this party's table in this way.
    pub(crate) fn reading(&self, py: Python<'_>, reading: TableReading) -> PyResult<Signature> {
        let signature = self.signature.clone().with_row_rules(reading.rules);
        let signature = signature.on_threads(reading.threads);
        signature
            .with_part(reading.part)
            .map_err(|error| self.raise(py, error))
    }

    /// Returns a value as a Python value.
    pub(crate) fn python<'py>(
        &self,
        py: Python<'py>,
        port: usize,
        value: &PortValue,
    ) -> PyResult<Bound<'py, PyAny>> {
        python(py, &self.signature, port, value)
    }

    /// Returns the bits of a party's inputs of the compiled program. Draws those that the program
    /// draws at random.
    pub(crate) fn inputs_of(
        &self,
        py: Python<'_>,
        typed: &TypedFunction,
        role: Role,
        values: &BTreeMap<String, PortValue>,
    ) -> PyResult<BTreeMap<String, Value>> {
        let mut failed = None;
        let mut draw = |bytes: &mut [u8]| {
            if let Err(error) = getrandom::fill(bytes) {
                failed = Some(error);
            }
        };
        let bits = typed.inputs(self.signature.party_of(role), values, &mut draw);
        match failed {
            Some(error) => Err(error::raise(py, error)),
            None => bits.map_err(|error| self.raise(py, error)),
        }
    }

    /// Returns the results of a run of the compiled program as Python values.
    pub(crate) fn results<'py>(
        &self,
        py: Python<'py>,
        typed: &TypedFunction,
        results: &BTreeMap<String, Value>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (outputs, signature) = (PyDict::new(py), typed.signature());
        for (name, value) in typed
            .results(results)
            .map_err(|error| self.raise(py, error))?
        {
            let mut ports = signature.results().iter();
            let port = ports.position(|port| port.name.as_str() == name);
            outputs.set_item(
                name,
                python(py, signature, port.unwrap_or_default(), &value)?,
            )?;
        }
        Ok(outputs)
    }

    /// Returns the program's warnings: a text and a place for each.
    pub(crate) fn warnings<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let found = self.signature.program().warnings.iter();
        let map = self.loaded.source_map();
        found
            .map(|one| Ok((one.render(map, false), place(py, one, map)?)))
            .collect()
    }

    /// Returns an error as Python's exception.
    pub(crate) fn raise(&self, py: Python<'_>, failed: BorderError) -> PyErr {
        raise(py, failed, self.loaded.source_map())
    }
}

/// Returns the value of a result as a Python value.
fn python<'py>(
    py: Python<'py>,
    signature: &Signature,
    port: usize,
    value: &PortValue,
) -> PyResult<Bound<'py, PyAny>> {
    let ty = signature.results()[port].ty;
    PythonType::of_program(signature, ty).python(py, value.bits())
}

fn read(
    signature: &Signature,
    map: &SourceMap,
    name: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<PortValue> {
    let py = value.py();
    let failed = |error| raise(py, error, map);
    let input = signature.input(name).map_err(failed)?;
    let shape = PythonType::of_program(signature, input.ty);
    let read = |given: HostValue<'_>| signature.read_given(input, given);
    let is_joined = signature.is_joined(input);
    value::read_with(name, (&shape, is_joined), value, read)?.map_err(failed)
}

/// Returns an error of the border as Python's exception, with the places of a program's errors.
fn raise(py: Python<'_>, failed: BorderError, map: &SourceMap) -> PyErr {
    let errors = match failed {
        BorderError::Program(errors) => errors,
        BorderError::Rows(rows) => return unfit_rows(py, &rows),
        other => return error::input(py, &other.to_string()),
    };
    let texts: Vec<String> = errors.iter().map(|one| one.render(map, false)).collect();
    let made = || -> PyResult<_> {
        let class = py.import("tacit.errors")?.getattr("ProgramError")?;
        let places = errors.iter().map(|one| place(py, one, map));
        let places = PyList::new(py, places.collect::<PyResult<Vec<_>>>()?)?;
        class.call1((texts.join("\n\n"), places))
    };
    made().map_or_else(|error| error, PyErr::from_value)
}

/// Returns the exception of rows that a join or a matching does not take.
pub(crate) fn unfit_rows(py: Python<'_>, rows: &UnfitRows) -> PyErr {
    let remedy = match rows {
        UnfitRows::Missing { .. } => "fill them, or give drop_missing=True to leave such rows out",
        _ => "leave one row of each key (`upto D`: D rows), or give keep=\"first\"",
    };
    error::input(py, &format!("{rows}; {remedy}"))
}

/// The settings for reading tables that are joined.
#[derive(Clone, Copy)]
pub(crate) struct TableReading {
    /// The treatment of rows that do not fit.
    pub(crate) rules: RowRules,
    /// The part of the rows that is read, if it is not all of them.
    pub(crate) part: Option<Part>,
    /// The number of threads.
    pub(crate) threads: NonZeroUsize,
}

impl TableReading {
    /// Returns the reading without arguments: all rows must fit, and all cores work.
    pub(crate) fn usual(py: Python<'_>) -> PyResult<Self> {
        Ok(Self {
            rules: RowRules::default(),
            part: None,
            threads: threads(py, None)?,
        })
    }
}

/// Returns the rules of these arguments.
pub(crate) fn row_rules(
    py: Python<'_>,
    drop_missing: bool,
    keep: Option<&str>,
) -> PyResult<RowRules> {
    match keep {
        None | Some("first") => Ok(RowRules {
            drop_missing,
            keep_first: keep.is_some(),
        }),
        Some(other) => {
            let message = format!("keep is '{other}'; give \"first\", or leave it out");
            Err(error::usage(py, &message))
        }
    }
}

/// Returns the rows of a table that a run takes, by their numbers. `keys` has a number for each
/// row's key, or none for a row that lacks the value that `lacking` names. A key may have at most
/// `most` rows.
#[pyfunction]
pub(crate) fn chosen_rows(
    py: Python<'_>,
    table: (String, Vec<Option<usize>>, BTreeMap<usize, String>),
    most: usize,
    drop_missing: bool,
    keep: Option<&str>,
) -> PyResult<Vec<usize>> {
    let rules = row_rules(py, drop_missing, keep)?;
    let (table, keys, lacking) = table;
    let chosen = ChosenRows::of((keys.len(), threads(py, None)?), most, |row| keys[row]);
    let name = |row: usize| match lacking.get(&row) {
        Some(column) if *column != table => format!("[{row}] of {column}"),
        _ => format!("[{row}]"),
    };
    let checked = chosen.check(rules, (&table, most), name);
    checked.map_err(|rows| unfit_rows(py, &rows))?;
    Ok(chosen.taken)
}

/// Returns the place of an error as a dict.
fn place<'py>(py: Python<'py>, found: &Diagnostic, map: &SourceMap) -> PyResult<Bound<'py, PyAny>> {
    let parse = py.import("json")?.getattr("loads")?;
    parse.call1((found.to_json(map).to_string(),))
}
