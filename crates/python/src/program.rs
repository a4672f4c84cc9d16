//! Programs of the language: their files and params, and their errors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tacit::circuit::HostValue;
use tacit::circuit::builder::CircuitForm;
use tacit_language::{
    BorderError, Diagnostic, Loaded, ParamValues, PortValue, ProgramFolder, Signature, SourceMap,
    TypedFunction, read_source,
};

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
    map: SourceMap,
    folder: Arc<ProgramFolder>,
    /// The compiled function in the small form and in the shallow one.
    compiled: [OnceLock<TypedFunction>; 2],
}

/// The place of a program's text.
pub(crate) enum Source {
    File(PathBuf),
    Text(String),
}

impl Program {
    /// Reads the only run of a program, or its `main`, with values for its params and public
    /// inputs.
    ///
    /// # Errors
    ///
    /// The program cannot be read or is wrong, or a value does not fit.
    pub(crate) fn new(
        py: Python<'_>,
        source: Source,
        run: Option<&str>,
        params: ParamValues,
        public: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let (name, text, folder) = match source {
            Source::Text(text) => ("<text>".to_owned(), text, ProgramFolder::new("")),
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
        let (folder, map, signature) = wait::apart(py, move || {
            let loaded = Loaded::new(&name, &text, &folder);
            let signature = Signature::new(&loaded, &params, run.as_deref());
            let signature = signature.and_then(|signature| {
                // Errors of compilation that can be found at once.
                signature.check_size()?;
                signature.meaning(&folder)?;
                Ok(signature)
            });
            (folder, loaded.source_map().clone(), signature)
        })?;
        let failed = |error| raise(py, error, &map);
        let signature = signature.map_err(failed)?;
        let mut values = BTreeMap::new();
        for (name, value) in public {
            let name = value::name(&name)?;
            let value = read(&signature, &map, &name, &value)?;
            values.insert(name, value);
        }
        let complete = signature.check_public(&values);
        complete.map_err(|error| raise(py, error, &map))?;
        Ok(Self {
            signature,
            name: stem,
            public: values,
            map,
            folder: Arc::new(folder),
            compiled: Default::default(),
        })
    }

    /// Returns the program as a function in the small form, which most protocols run.
    ///
    /// # Errors
    ///
    /// Those of [`Program::compiled_in`].
    pub(crate) fn compiled(
        &self,
        py: Python<'_>,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<&TypedFunction> {
        self.compiled_in(py, CircuitForm::Small, progress)
    }

    /// Returns the program as a function of operations in this form, which is compiled the first
    /// time. After one second, `progress` is called with the compilation's progress.
    ///
    /// # Errors
    ///
    /// The run is beyond a limit, or the exception of a signal or of `progress`.
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
        let (signature, name) = (self.signature.clone().in_form(form), self.name.clone());
        let (public, folder) = (self.public.clone(), Arc::clone(&self.folder));
        let made = wait::compiling(py, progress, move |watch| {
            let typed = TypedFunction::watched(signature, &name, &public, &*folder, watch);
            typed.inspect(|typed| typed.function().compile())
        })?;
        let made = made.map_err(|error| self.raise(py, error))?;
        // Another thread may have been faster, with an equal result.
        Ok(slot.get_or_init(|| made))
    }

    /// Reads the value of an input.
    ///
    /// # Errors
    ///
    /// There is no such input, or the value does not fit its type.
    pub(crate) fn read(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<PortValue> {
        read(&self.signature, &self.map, name, value)
    }

    /// Returns a value as a Python value.
    pub(crate) fn python<'py>(
        &self,
        py: Python<'py>,
        port: usize,
        value: &PortValue,
    ) -> PyResult<Bound<'py, PyAny>> {
        let signature = &self.signature;
        let ty = signature.results()[port].ty;
        PythonType::of_program(signature, ty).python(py, value.bits())
    }

    /// Returns the program's warnings: a text and a place for each.
    ///
    /// # Errors
    ///
    /// Those of Python.
    pub(crate) fn warnings<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let found = self.signature.program().warnings.iter();
        found
            .map(|one| Ok((one.render(&self.map, false), place(py, one, &self.map)?)))
            .collect()
    }

    /// Returns an error as Python's exception.
    pub(crate) fn raise(&self, py: Python<'_>, failed: BorderError) -> PyErr {
        raise(py, failed, &self.map)
    }
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
    value::read_with(name, &shape, value, read)?.map_err(failed)
}

/// Returns an error of the border as Python's exception, with the places of a program's errors.
fn raise(py: Python<'_>, failed: BorderError, map: &SourceMap) -> PyErr {
    let BorderError::Program(errors) = failed else {
        return error::input(py, &failed.to_string());
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

/// Returns the place of an error as a dict.
fn place<'py>(py: Python<'py>, found: &Diagnostic, map: &SourceMap) -> PyResult<Bound<'py, PyAny>> {
    let parse = py.import("json")?.getattr("loads")?;
    parse.call1((found.to_json(map).to_string(),))
}
