//! Python's values as the library's JSON, and back.
//!
//! The library reads and checks every value itself. All that is decided here is which Python value
//! stands for which JSON.

use core::fmt;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Map, Number, Value as Json};
use tacit::Type;
use tacit_circuit::Kind;
use tacit_language::program::{TypeId, TypeKind, TypeTable};

use crate::error;

/// Integers of this magnitude and above are strings in the library's JSON.
const FIRST_STRING: u64 = 1 << 53;

/// Deepest nesting of lists that is read: more than any type has.
const MAX_DEPTH: usize = 32;

/// What a type is to Python.
pub(crate) enum Shape {
    Bool,
    Integer { is_signed: bool, bits: u32 },
    Fixed { bits: u32 },
    Bytes,
    Text,
    List(Box<Shape>),
    Tuple(Vec<Shape>),
    Struct(Vec<(String, Shape)>),
}

impl Shape {
    /// That of a port of a circuit.
    pub(crate) fn of_type(ty: &Type) -> Self {
        match *ty.kind() {
            Kind::Bit => Self::Bool,
            Kind::Bits(_) => Self::Text,
            Kind::Unsigned(bits) | Kind::Signed(bits) => {
                let is_signed = matches!(ty.kind(), Kind::Signed(_));
                Self::Integer { is_signed, bits }
            }
            Kind::Fixed { integer, fraction } => {
                let bits = integer.saturating_add(fraction);
                Self::Fixed { bits }
            }
            Kind::Bytes(_) => Self::Bytes,
            Kind::Array(ref element, _) => Self::List(Box::new(Self::of_type(element))),
        }
    }

    /// That of a port of a program.
    pub(crate) fn of_program(types: &TypeTable, ty: TypeId) -> Self {
        let part = |ty| Self::of_program(types, ty);
        match types.kind(ty) {
            TypeKind::Bool => Self::Bool,
            TypeKind::Unsigned(bits) | TypeKind::Signed(bits) => {
                let is_signed = matches!(types.kind(ty), TypeKind::Signed(_));
                let bits = *bits;
                Self::Integer { is_signed, bits }
            }
            TypeKind::Fixed(integer, fraction) => {
                let bits = integer.saturating_add(*fraction);
                Self::Fixed { bits }
            }
            TypeKind::Bytes(_) => Self::Bytes,
            TypeKind::Text(_) | TypeKind::Enum(_) => Self::Text,
            TypeKind::Array(element, _) | TypeKind::Table(element, _) => {
                Self::List(Box::new(part(*element)))
            }
            TypeKind::Tuple(parts) => Self::Tuple(parts.iter().map(|ty| part(*ty)).collect()),
            TypeKind::Struct(number) => {
                let fields = types.struct_type(*number).fields.iter();
                Self::Struct(
                    fields
                        .map(|(name, ty)| (name.to_string(), part(*ty)))
                        .collect(),
                )
            }
        }
    }

    /// The fields of the rows of a table or of an array of structs.
    fn columns(&self) -> Option<&[(String, Shape)]> {
        match self {
            Self::List(row) => match &**row {
                Self::Struct(fields) => Some(fields),
                _ => None,
            },
            _ => None,
        }
    }

    /// The Python value that the library's JSON writes. An array of NumPy is made where NumPy has a
    /// type that holds every element, and `Rows` of a table.
    ///
    /// # Errors
    ///
    /// Python's.
    pub(crate) fn python<'py>(&self, py: Python<'py>, json: &Json) -> PyResult<Bound<'py, PyAny>> {
        let value = self.plain(py, json)?;
        if let Some(fields) = self.columns() {
            let types = PyDict::new(py);
            for (name, field) in fields {
                types.set_item(name, field.arrow())?;
            }
            let rows = py.import("tacit._table")?.getattr("Rows")?;
            return rows.call1((value, types));
        }
        match (self, self.dtype()) {
            (Self::List(_), Some(dtype)) => {
                py.import("numpy")?.call_method1("array", (value, dtype))
            }
            _ => Ok(value),
        }
    }

    /// Arrow's type of a column of such values; numbers that no type holds are texts. None where
    /// each value has parts.
    fn arrow(&self) -> Option<&'static str> {
        match self {
            Self::List(_) | Self::Tuple(_) | Self::Struct(_) => None,
            Self::Bytes => Some("binary"),
            Self::Text => Some("string"),
            scalar => scalar.dtype().or(Some("string")),
        }
    }

    fn plain<'py>(&self, py: Python<'py>, json: &Json) -> PyResult<Bound<'py, PyAny>> {
        let text = || {
            json.as_str()
                .map_or_else(|| json.to_string(), str::to_owned)
        };
        Ok(match self {
            Self::Bool => {
                let bit = json.as_bool().unwrap_or_else(|| json.as_u64() == Some(1));
                PyBool::new(py, bit).to_owned().into_any()
            }
            Self::Integer { .. } => match json.as_i64() {
                Some(number) => PyInt::new(py, number).into_any(),
                None => py.get_type::<PyInt>().call1((text(),))?,
            },
            Self::Fixed { .. } => match json.as_f64() {
                Some(number) => PyFloat::new(py, number).into_any(),
                None => py.import("decimal")?.getattr("Decimal")?.call1((text(),))?,
            },
            Self::Bytes => py
                .get_type::<PyBytes>()
                .call_method1("fromhex", (text(),))?,
            Self::Text => PyString::new(py, &text()).into_any(),
            Self::List(element) => {
                let items = json.as_array().into_iter().flatten();
                let items = items.map(|item| element.plain(py, item));
                PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
            }
            Self::Tuple(parts) => {
                let items = json.as_array().into_iter().flatten().zip(parts);
                let items = items.map(|(item, part)| part.python(py, item));
                PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
            }
            Self::Struct(fields) => {
                let dict = PyDict::new(py);
                for (name, part) in fields {
                    dict.set_item(name, part.python(py, &json[name])?)?;
                }
                dict.into_any()
            }
        })
    }

    /// NumPy's type that holds every value, of an array every element, where there is one.
    fn dtype(&self) -> Option<&'static str> {
        let of_size = |bits: u32, names: [&'static str; 4]| {
            let sizes = [8, 16, 32, 64].into_iter();
            let fits = sizes.zip(names).find(|(size, _)| bits <= *size);
            fits.map(|(_, name)| name)
        };
        match self {
            Self::Bool => Some("bool"),
            Self::Integer {
                is_signed: false,
                bits,
            } => of_size(*bits, ["uint8", "uint16", "uint32", "uint64"]),
            Self::Integer {
                is_signed: true,
                bits,
            } => of_size(*bits, ["int8", "int16", "int32", "int64"]),
            Self::Fixed { bits: ..=53 } => Some("float64"),
            Self::List(element) => element.dtype(),
            _ => None,
        }
    }
}

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

/// A Python value for a port of this shape as the library's JSON. Columns of Arrow's C data
/// interface and what has a method `tolist` or `to_list` are lists. Where a table is wanted, a
/// DataFrame or a dict of columns gives the columns that its fields name. `name` is that of the
/// input, for errors.
///
/// # Errors
///
/// No JSON stands for it.
pub(crate) fn json(name: &str, shape: &Shape, value: &Bound<'_, PyAny>) -> PyResult<Json> {
    given(ValueLocation::Input(name), shape, value)
}

fn given(at: ValueLocation<'_>, shape: &Shape, value: &Bound<'_, PyAny>) -> PyResult<Json> {
    match shape.columns() {
        Some(fields) if is_frame(value)? => rows(at, fields, value),
        _ => read(at, value),
    }
}

/// Whether a value has columns.
fn is_frame(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.is_instance_of::<PyDict>()
        || value.hasattr("columns")?
        || value.hasattr("__arrow_c_stream__")?)
}

/// The rows of what has columns.
fn rows(
    at: ValueLocation<'_>,
    fields: &[(String, Shape)],
    frame: &Bound<'_, PyAny>,
) -> PyResult<Json> {
    let py = frame.py();
    let column_of = py.import("tacit._columns")?.getattr("column")?;
    let mut rows: Vec<Map<String, Json>> = Vec::new();
    for (place, (name, shape)) in fields.iter().enumerate() {
        let column = column_of.call1((frame, name))?;
        if column.is_none() {
            let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
            let names = names.join(", ");
            let message = format!("{at} has no column {name:?}; its rows have {names}");
            return Err(error::input(py, &message));
        }
        let at = ValueLocation::Field(&at, name);
        let Json::Array(cells) = given(at, shape, &column)? else {
            return Err(error::input(
                py,
                &format!("{at} is no column: give a list or an array"),
            ));
        };
        if place == 0 {
            rows.resize_with(cells.len(), Map::new);
        }
        if cells.len() != rows.len() {
            let (found, expected) = (cells.len(), rows.len());
            let message = format!("{at} has {found} values, and the first column {expected}");
            return Err(error::input(py, &message));
        }
        for (row, cell) in rows.iter_mut().zip(cells) {
            row.insert(name.clone(), cell);
        }
    }
    Ok(Json::Array(rows.into_iter().map(Json::Object).collect()))
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
        return Number::from_f64(value.value())
            .map(Json::Number)
            .ok_or_else(|| {
                let message = format!("{at} is no number; fill it, or leave its row out");
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
