//! Python objects as the library's values.
//!
//! The library reads and checks every value itself. All that is decided here is which Python value
//! stands for what. Numbers in arrays and columns go by their memory, as one object of Python's for
//! all of them; other values go by JSON.

use core::fmt;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Map, Number, Value as Json};
use tacit::circuit::{Given, NumberFormat, Numbers, wipe_json};

use crate::error;
use crate::shape::Shape;

/// Integers of this magnitude and above are strings in the library's JSON.
const FIRST_STRING: u64 = 1 << 53;

/// Deepest nesting of lists that is read: more than any type has.
const MAX_DEPTH: usize = 32;

/// Where a value is, for errors: `rows[3].age`.
#[derive(Clone, Copy)]
enum ValueLocation<'a> {
    Input(&'a str),
    Item(&'a ValueLocation<'a>, usize),
    Field(&'a ValueLocation<'a>, &'a str),
}

impl ValueLocation<'_> {
    /// In how many lists and structs it is.
    fn depth(&self) -> usize {
        match self {
            Self::Input(_) => 0,
            Self::Item(outer, _) | Self::Field(outer, _) => 1 + outer.depth(),
        }
    }
}

impl fmt::Display for ValueLocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(name) => f.write_str(name),
            // A value of a column is named as that of its row is.
            Self::Item(Self::Field(table, name), row) => write!(f, "{table}[{row}].{name}"),
            Self::Item(list, number) => write!(f, "{list}[{number}]"),
            Self::Field(outer, name) => write!(f, "{outer}.{name}"),
        }
    }
}

/// A value that Python gives, which is not yet held to its type.
enum Source {
    Json(Json),
    Numbers {
        format: NumberFormat,
        sizes: Vec<usize>,
        bytes: PyBackedBytes,
    },
}

impl Source {
    fn given(&self) -> Option<Given<'_>> {
        match self {
            Self::Json(json) => Some(Given::Json(json)),
            Self::Numbers {
                format,
                sizes,
                bytes,
            } => Numbers::new(*format, sizes, bytes).map(Given::Numbers),
        }
    }

    fn wipe(self) {
        if let Self::Json(json) = self {
            wipe_json(json);
        }
    }
}

/// Reads a Python value for a port of this shape. Columns of Arrow's C data interface, arrays and
/// what has a method `tolist` or `to_list` are lists. Where a table is wanted, a DataFrame or a
/// dict of columns gives the columns that its fields name. `name` is that of the input, for errors.
///
/// # Errors
///
/// There is nothing to read.
pub(crate) fn read_with<T>(
    name: &str,
    shape: &Shape<'_>,
    value: &Bound<'_, PyAny>,
    read: impl FnOnce(Given<'_>) -> T,
) -> PyResult<T> {
    let at = ValueLocation::Input(name);
    let py = value.py();
    let broken = || error::usage(py, "an array has other memory than its shape and type say");
    let (result, sources) = match shape.columns() {
        Some(fields) if is_frame(value)? => {
            let sources = columns(at, fields, value)?;
            let names = fields.iter().map(|(name, _)| name.clone());
            let given = sources
                .iter()
                .map(Source::given)
                .collect::<Option<Vec<_>>>();
            let given: Vec<_> = names.zip(given.ok_or_else(broken)?).collect();
            (read(Given::Columns(&given)), sources)
        }
        _ => {
            let sources = vec![source(at, value)?];
            let given = sources[0].given().ok_or_else(broken)?;
            (read(given), sources)
        }
    };
    sources.into_iter().for_each(Source::wipe);
    Ok(result)
}

/// Whether a value has columns.
fn is_frame(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.is_instance_of::<PyDict>()
        || value.hasattr("columns")?
        || value.hasattr("__arrow_c_stream__")?)
}

/// The columns that these fields name of what has columns.
fn columns(
    at: ValueLocation<'_>,
    fields: &[(String, Shape<'_>)],
    frame: &Bound<'_, PyAny>,
) -> PyResult<Vec<Source>> {
    let py = frame.py();
    let column_of = py.import("tacit._columns")?.getattr("column")?;
    let mut columns: Vec<Source> = Vec::new();
    for (name, _) in fields {
        let column = column_of.call1((frame, name))?;
        if column.is_none() {
            let message: String = py
                .import("tacit._columns")?
                .getattr("no_column")?
                .call1((at.to_string(), frame, name))?
                .extract()?;
            return Err(error::input(py, &message));
        }
        let at = ValueLocation::Field(&at, name);
        let column = source(at, &column)?;
        let length = |column: &Source| column.given().and_then(Given::length);
        let Some(found) = length(&column) else {
            return Err(error::input(
                py,
                &format!("{at} is not a column: give a list or an array"),
            ));
        };
        let first = columns.first().and_then(length);
        if let Some(expected) = first.filter(|first| *first != found) {
            let message = format!("{at} has {found} values, and the first column {expected}");
            return Err(error::input(py, &message));
        }
        columns.push(column);
    }
    Ok(columns)
}

/// The memory of an array or column of bools or numbers without a gap, or JSON.
fn source(at: ValueLocation<'_>, value: &Bound<'_, PyAny>) -> PyResult<Source> {
    let columns = value.py().import("tacit._columns")?;
    let memory = columns.getattr("memory")?.call1((value,))?;
    let Some((kind, size, sizes, bytes)) =
        memory.extract::<Option<(char, usize, Vec<usize>, PyBackedBytes)>>()?
    else {
        return Ok(Source::Json(read(at, value)?));
    };
    let format = match kind {
        'b' => NumberFormat::Bool,
        'u' => NumberFormat::Unsigned(size),
        'i' => NumberFormat::Signed(size),
        _ => NumberFormat::Float,
    };
    Ok(Source::Numbers {
        format,
        sizes,
        bytes,
    })
}

/// A float: as a number where that has all of its digits, or else as the text of them.
fn exact(float: f64) -> Option<Json> {
    let exponent = float.to_bits() >> 52 & 0x7ff;
    // It is a multiple of 2^-digits, which has this many decimal digits.
    let digits = 1075_usize.saturating_sub(exponent.max(1) as usize).max(1);
    let number = Number::from_f64(float)?;
    let text = format!("{float:.digits$}");
    match text.trim_end_matches('0').trim_end_matches('.') == float.to_string() {
        true => Some(Json::Number(number)),
        false => Some(Json::String(text)),
    }
}

fn read(at: ValueLocation<'_>, value: &Bound<'_, PyAny>) -> PyResult<Json> {
    let py = value.py();
    if at.depth() > MAX_DEPTH {
        let message = format!("{at} is nested deeper than {MAX_DEPTH} lists");
        return Err(error::input(py, &message));
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Json::Bool(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return match value.extract::<i64>() {
            Ok(number) if number.unsigned_abs() < FIRST_STRING => Ok(Json::from(number)),
            _ => Ok(Json::String(value.str()?.extract()?)),
        };
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return exact(value.value()).ok_or_else(|| {
            let what = match value.value().is_nan() {
                true => "is missing, or no number (NaN)",
                false => "is infinite and no number",
            };
            let message = format!("{at} {what}; fill it, or leave its row out");
            error::input(py, &message)
        });
    }
    if let Ok(value) = value.cast::<PyString>() {
        return Ok(Json::String(value.extract()?));
    }
    if let Ok(value) = value.cast::<PyBytes>() {
        return Ok(Json::String(value.call_method0("hex")?.extract()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.enumerate();
        let items = items.map(|(number, item)| read(ValueLocation::Item(&at, number), &item?));
        return Ok(Json::Array(items.collect::<PyResult<_>>()?));
    }
    if let Ok(value) = value.cast::<PyDict>() {
        let mut fields = Map::new();
        for (field, value) in value {
            let field: String = field.extract()?;
            let json = read(ValueLocation::Field(&at, &field), &value)?;
            fields.insert(field, json);
        }
        return Ok(Json::Object(fields));
    }
    let columns = py.import("tacit._columns")?;
    let values = columns.getattr("values")?.call1((value,))?;
    if !values.is_none() {
        return read(at, &values);
    }
    let class = value.get_type().name()?;
    if class == "Decimal" {
        return Ok(Json::String(
            value.call_method1("__format__", ("f",))?.extract()?,
        ));
    }
    let message = match columns.getattr("MISSING")?.contains(&class)? {
        true => format!("{at} is missing; fill it, or leave its row out"),
        false => format!(
            "{at} has the class {class}, which Tacit does not take; give bools, numbers, texts or \
             bytes, or lists, arrays or columns of them"
        ),
    };
    Err(error::input(py, &message))
}
