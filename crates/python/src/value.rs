//! Converts Python objects to the library's values.
//!
//! The library reads and checks every value itself. This module only decides which Python value
//! stands for which JSON. Numbers in arrays and columns are passed as memory, in a single Python
//! object; other values are passed as JSON.

use core::fmt;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Map, Number, Value as Json};
use tacit::circuit::{HostValue, NumberFormat, Numbers, wipe_json};

use crate::error;
use crate::shape::{Expected, PythonType};

/// Integers of at least this magnitude are strings in the library's JSON.
const FIRST_STRING: u64 = 1 << 53;

/// The most conversions of a value until it is one of Python's own: an array of no dimensions may
/// hold a number of NumPy's.
const MAX_CONVERSIONS: usize = 2;

/// The place of a value, for errors: `rows[3].age`.
#[derive(Clone, Copy)]
enum ValueLocation<'a> {
    Input(&'a str),
    /// A table whose rows may lack values: they become null.
    Table(&'a str),
    Item(&'a ValueLocation<'a>, usize),
    Field(&'a ValueLocation<'a>, &'a str),
}

impl fmt::Display for ValueLocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(name) | Self::Table(name) => f.write_str(name),
            // A value of a column has the name of the row's value.
            Self::Item(Self::Field(table, name), row) => write!(f, "{table}[{row}].{name}"),
            Self::Item(list, number) => write!(f, "{list}[{number}]"),
            Self::Field(outer, name) => write!(f, "{outer}.{name}"),
        }
    }
}

impl ValueLocation<'_> {
    fn may_lack_values(&self) -> bool {
        match self {
            Self::Input(_) => false,
            Self::Table(_) => true,
            Self::Item(outer, _) | Self::Field(outer, _) => outer.may_lack_values(),
        }
    }
}

/// A value from Python that is not yet checked against its type.
enum Source {
    Json(Json),
    Numbers {
        format: NumberFormat,
        sizes: Vec<usize>,
        bytes: PyBackedBytes,
    },
}

impl Source {
    fn given(&self) -> Option<HostValue<'_>> {
        match self {
            Self::Json(json) => Some(HostValue::Json(json)),
            Self::Numbers {
                format,
                sizes,
                bytes,
            } => Numbers::new(*format, sizes, bytes).map(HostValue::Numbers),
        }
    }

    fn wipe(self) {
        if let Self::Json(json) = self {
            wipe_json(json);
        }
    }
}

/// Reads a Python value for a port of this shape. Columns of Arrow's C data interface, arrays, and
/// objects with a method `tolist` or `to_list` are lists. For a table, a DataFrame or a dict of
/// columns gives the columns that its fields name; elsewhere a DataFrame is the list of its rows.
/// `name` is that of the input, for errors. In a table that `is_joined`, missing values become
/// null.
pub(crate) fn read_with<T>(
    name: &str,
    (shape, is_joined): (&PythonType<'_>, bool),
    value: &Bound<'_, PyAny>,
    read: impl FnOnce(HostValue<'_>) -> T,
) -> PyResult<T> {
    let at = if is_joined {
        ValueLocation::Table(name)
    } else {
        ValueLocation::Input(name)
    };
    let py = value.py();
    let broken = || error::usage(py, "an array has other memory than its shape and type say");
    let is_frame = python(py, "is_frame")?.call1((value,))?.is_truthy()?;
    let (result, sources) = match shape.columns() {
        Some(fields) if is_frame => {
            let sources = columns(at, fields, value)?;
            let names = fields.iter().map(|(name, _)| name.clone());
            let given = sources
                .iter()
                .map(Source::given)
                .collect::<Option<Vec<_>>>();
            let given: Vec<_> = names.zip(given.ok_or_else(broken)?).collect();
            (read(HostValue::Columns(&given)), sources)
        }
        _ => {
            let sources = vec![source(at, Expected::Value(shape), value)?];
            let given = sources[0].given().ok_or_else(broken)?;
            (read(given), sources)
        }
    };
    sources.into_iter().for_each(Source::wipe);
    Ok(result)
}

/// Returns a function of the module `tacit._columns`.
fn python<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("tacit._columns")?.getattr(name)
}

/// Returns the columns for these fields of an object that has columns.
fn columns(
    at: ValueLocation<'_>,
    fields: &[(String, PythonType<'_>)],
    frame: &Bound<'_, PyAny>,
) -> PyResult<Vec<Source>> {
    let py = frame.py();
    let column_of = python(py, "column")?;
    let mut columns: Vec<Source> = Vec::new();
    for (name, shape) in fields {
        let column = column_of.call1((frame, name))?;
        if column.is_none() {
            let message = python(py, "no_column")?.call1((at.to_string(), frame, name))?;
            return Err(error::input(py, &message.extract::<String>()?));
        }
        let at = ValueLocation::Field(&at, name);
        let column = source(at, Expected::Column(shape), &column)?;
        let length = |column: &Source| column.given().and_then(HostValue::length);
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

/// Returns the memory of a contiguous array or column of bools or numbers, or else JSON.
fn source(
    at: ValueLocation<'_>,
    expected: Expected<'_>,
    value: &Bound<'_, PyAny>,
) -> PyResult<Source> {
    let memory = python(value.py(), "memory")?.call1((value,))?;
    let Some((kind, size, sizes, bytes)) =
        memory.extract::<Option<(char, usize, Vec<usize>, PyBackedBytes)>>()?
    else {
        return Ok(Source::Json(read(at, expected, value)?));
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

/// Returns a float as a number if that keeps all its digits, or else as the text of its digits.
fn exact(float: f64) -> Option<Json> {
    let exponent = float.to_bits() >> 52 & 0x7ff;
    // The float is a multiple of 2^-digits, which has this many decimal digits.
    let digits = 1075_usize.saturating_sub(exponent.max(1) as usize).max(1);
    let number = Number::from_f64(float)?;
    let text = format!("{float:.digits$}");
    if text.trim_end_matches('0').trim_end_matches('.') == float.to_string() {
        Some(Json::Number(number))
    } else {
        Some(Json::String(text))
    }
}

/// Returns whether a float is a whole number that it holds exactly.
fn is_whole(float: f64) -> bool {
    float.fract() == 0.0 && float.abs() < FIRST_STRING as f64
}

/// Reads a value as far as its type has parts, which limits the depth and the amount. A value for
/// which the type has no place becomes null, and the library then reports what it expects there.
fn read(at: ValueLocation<'_>, expected: Expected<'_>, value: &Bound<'_, PyAny>) -> PyResult<Json> {
    if let Expected::Nothing = expected {
        return Ok(Json::Null);
    }
    let mut value = value.clone();
    for _ in 0..=MAX_CONVERSIONS {
        if let Some(json) = own(at, expected, &value)? {
            return Ok(json);
        }
        let converted = python(value.py(), "values")?.call1((&value,))?;
        if converted.is_none() || converted.is(&value) {
            break;
        }
        value = converted;
    }
    null_if_missing(at, &value)
}

/// Returns null for a missing value where there may be one.
fn null_if_missing(at: ValueLocation<'_>, value: &Bound<'_, PyAny>) -> PyResult<Json> {
    let py = value.py();
    if at.may_lack_values() && python(py, "is_missing")?.call1((value,))?.is_truthy()? {
        return Ok(Json::Null);
    }
    Err(refused(at, value))
}

/// Reads a value of one of Python's own classes. Returns `None` for another class.
fn own(
    at: ValueLocation<'_>,
    expected: Expected<'_>,
    value: &Bound<'_, PyAny>,
) -> PyResult<Option<Json>> {
    let json = if let Ok(value) = value.cast::<PyBool>() {
        Json::Bool(value.is_true())
    } else if value.is_instance_of::<PyInt>() {
        match value.extract::<i64>() {
            Ok(number) if number.unsigned_abs() < FIRST_STRING => Json::from(number),
            // Python writes no integer of more than 4,300 digits.
            _ => match value.str().and_then(|text| text.extract()) {
                Ok(text) => Json::String(text),
                Err(_) => return Err(refused(at, value)),
            },
        }
    } else if let Ok(float) = value.cast::<PyFloat>() {
        // pandas makes floats of a column of integers that lacks some.
        let whole = Some(float.value()).filter(|float| at.may_lack_values() && is_whole(*float));
        match whole
            .map(|float| Json::from(float as i64))
            .or_else(|| exact(float.value()))
        {
            Some(json) => json,
            None => null_if_missing(at, value)?,
        }
    } else if let Ok(value) = value.cast::<PyString>() {
        Json::String(text(at, value)?)
    } else if value.is_instance_of::<PyBytes>() {
        if !expected.is_bytes() {
            return Err(refused(at, value));
        }
        Json::String(value.call_method0("hex")?.extract()?)
    } else if let Ok(list) = value.cast::<PyList>() {
        items(at, expected, list.iter())?
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        items(at, expected, tuple.iter())?
    } else if let Ok(dict) = value.cast::<PyDict>() {
        let mut fields = Map::new();
        // As of a table's columns, others than the struct's are passed over. If one of its own is
        // missing, they stay, since one of them may be meant.
        let known = expected.fields().unwrap_or_default();
        let mut is_whole = !known.is_empty();
        for (field, _) in known {
            is_whole &= dict.contains(field)?;
        }
        // This is a copy, since reading a value may change the dict.
        for pair in dict.items() {
            let (field, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            let field = key(at, &field)?;
            if is_whole && known.iter().all(|(known, _)| *known != field) {
                continue;
            }
            let at = ValueLocation::Field(&at, &field);
            let json = read(at, expected.field(&field), &value)?;
            fields.insert(field, json);
        }
        Json::Object(fields)
    } else {
        return Ok(None);
    };
    Ok(Some(json))
}

/// Returns the items that a list or tuple contains, even if its class defines another iteration.
fn items<'py>(
    at: ValueLocation<'_>,
    expected: Expected<'_>,
    items: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Json> {
    let length = items.len();
    let items = items.take(length).enumerate().map(|(number, item)| {
        let at = ValueLocation::Item(&at, number);
        read(at, expected.item(number, length), &item)
    });
    Ok(Json::Array(items.collect::<PyResult<_>>()?))
}

/// Returns the name of an input.
pub(crate) fn name(name: &Bound<'_, PyAny>) -> PyResult<String> {
    key(ValueLocation::Input("an input"), name)
}

fn key(at: ValueLocation<'_>, key: &Bound<'_, PyAny>) -> PyResult<String> {
    match key.cast::<PyString>() {
        Ok(key) => text(at, key),
        Err(_) => {
            let class = key.get_type().name()?;
            let message = format!("{at} has a name of the class {class}; names are texts");
            Err(error::input(key.py(), &message))
        }
    }
}

fn text(at: ValueLocation<'_>, text: &Bound<'_, PyString>) -> PyResult<String> {
    match text.to_str() {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(refused(at, text)),
    }
}

/// Returns the error of a value that cannot be read.
fn refused(at: ValueLocation<'_>, value: &Bound<'_, PyAny>) -> PyErr {
    let py = value.py();
    let reason = python(py, "refusal").and_then(|refusal| refusal.call1((value,))?.extract());
    reason.map_or_else(
        |error| error,
        |reason: String| error::input(py, &format!("{at} {reason}")),
    )
}
