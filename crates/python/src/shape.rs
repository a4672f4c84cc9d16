//! Types in Python, and the library's values as Python objects.

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple,
};
use serde_json::Value as Json;
use tacit::{Type, Value};
use tacit_circuit::Kind;
use tacit_language::Signature;
use tacit_language::program::{TypeId, TypeKind};

/// A type in Python's terms, and the number of bits of its values.
pub(crate) struct PythonType<'s> {
    width: usize,
    parts: Parts<'s>,
}

/// Converts a value's bits to JSON.
type ToJson<'s> = Box<dyn Fn(&[bool]) -> Json + 's>;

enum Parts<'s> {
    /// A value without parts.
    Scalar(Scalar, ToJson<'s>),
    /// Items, at most this many. In a table, bits before them give their number.
    List(Box<PythonType<'s>>, usize),
    Tuple(Vec<PythonType<'s>>),
    Struct(Vec<(String, PythonType<'s>)>),
}

#[derive(Clone, Copy)]
enum Scalar {
    Bool,
    Integer { is_signed: bool },
    Fixed { fraction: u32 },
    Bytes,
    Text,
}

/// The expected type of a value from Python.
#[derive(Clone, Copy)]
pub(crate) enum Expected<'a> {
    Value(&'a PythonType<'a>),
    /// A list of such values: those of a field in all rows.
    Column(&'a PythonType<'a>),
    /// No value: the type has no place for it.
    Nothing,
}

impl<'a> Expected<'a> {
    /// Returns the expected type of an item in a list of `length` items.
    pub(crate) fn item(self, number: usize, length: usize) -> Self {
        let item = match self {
            Self::Column(shape) => Some(shape),
            Self::Value(shape) => match &shape.parts {
                Parts::List(item, most) if length <= *most => Some(&**item),
                Parts::Tuple(parts) if length == parts.len() => Some(&parts[number]),
                _ => None,
            },
            Self::Nothing => None,
        };
        item.map_or(Self::Nothing, Self::Value)
    }

    /// Returns the expected type of a field of a struct.
    pub(crate) fn field(self, name: &str) -> Self {
        let mut fields = self.fields().into_iter().flatten();
        let field = fields.find(|(field, _)| field == name);
        field.map_or(Self::Nothing, |(_, shape)| Self::Value(shape))
    }

    /// Returns the fields of a struct.
    pub(crate) fn fields(self) -> Option<&'a [(String, PythonType<'a>)]> {
        match self {
            Self::Value(PythonType {
                parts: Parts::Struct(fields),
                ..
            }) => Some(fields),
            _ => None,
        }
    }

    pub(crate) fn is_bytes(self) -> bool {
        matches!(
            self,
            Self::Value(PythonType {
                parts: Parts::Scalar(Scalar::Bytes, _),
                ..
            })
        )
    }
}

impl Scalar {
    fn of_kind(kind: &Kind) -> Option<Self> {
        Some(match *kind {
            Kind::Bit => Self::Bool,
            Kind::Bits(_) => Self::Text,
            Kind::Unsigned(_) => Self::Integer { is_signed: false },
            Kind::Signed(_) => Self::Integer { is_signed: true },
            Kind::Fixed { fraction, .. } => Self::Fixed { fraction },
            Kind::Bytes(_) => Self::Bytes,
            Kind::Array(..) => return None,
        })
    }
}

impl<'s> PythonType<'s> {
    /// Returns the type of a port of a circuit.
    pub(crate) fn of_type(ty: &'s Type) -> Self {
        let parts = match (ty.kind(), Scalar::of_kind(ty.kind())) {
            (_, Some(scalar)) => Parts::Scalar(
                scalar,
                Box::new(|bits| Value::from_bits(ty, bits).map_or(Json::Null, |v| v.to_json())),
            ),
            (Kind::Array(element, n), _) => {
                Parts::List(Box::new(Self::of_type(element)), *n as usize)
            }
            _ => unreachable!("what is no array is a scalar"),
        };
        let width = ty.width();
        Self { width, parts }
    }

    /// Returns the type of a port of a program.
    pub(crate) fn of_program(signature: &'s Signature, ty: TypeId) -> Self {
        let types = &signature.program().types;
        let part = |ty| Self::of_program(signature, ty);
        let parts = match types.kind(ty) {
            &TypeKind::Array(element, n) | &TypeKind::Table(element, n) => {
                Parts::List(Box::new(part(element)), n as usize)
            }
            TypeKind::Tuple(parts) => Parts::Tuple(parts.iter().map(|ty| part(*ty)).collect()),
            TypeKind::Struct(number) => {
                let fields = types.struct_type(*number).fields.iter();
                let fields = fields.map(|(name, ty)| (name.to_string(), part(*ty)));
                Parts::Struct(fields.collect())
            }
            kind => {
                let scalar = match *kind {
                    TypeKind::Bool => Scalar::Bool,
                    TypeKind::Unsigned(_) => Scalar::Integer { is_signed: false },
                    TypeKind::Signed(_) => Scalar::Integer { is_signed: true },
                    TypeKind::Fixed(_, fraction) => Scalar::Fixed { fraction },
                    TypeKind::Bytes(_) | TypeKind::OpenBytes => Scalar::Bytes,
                    _ => Scalar::Text,
                };
                Parts::Scalar(scalar, Box::new(move |bits| signature.json_of(ty, bits)))
            }
        };
        let width = types.width(ty) as usize;
        Self { width, parts }
    }

    /// Returns the fields of the rows of a table or of an array of structs.
    pub(crate) fn columns(&self) -> Option<&[(String, Self)]> {
        match &self.parts {
            Parts::List(row, _) => match &row.parts {
                Parts::Struct(fields) => Some(fields),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the Python value of these bits. Makes a NumPy array if NumPy has a type that holds
    /// every element, and `Rows` of a table.
    pub(crate) fn python<'py>(
        &self,
        py: Python<'py>,
        bits: &[bool],
    ) -> PyResult<Bound<'py, PyAny>> {
        match &self.parts {
            Parts::Scalar(scalar, json) => scalar.python(py, &json(bits)),
            Parts::List(item, most) => {
                let width = item.width;
                let (length, items) = bits.split_at(bits.len() - most * width);
                let length = match length {
                    [] => *most,
                    // A dishonest peer can give a length beyond the maximum.
                    _ => (unsigned(length) as usize).min(*most),
                };
                let place = |from: usize, width: usize| {
                    (0..length).map(move |n| &items[n * item.width + from..][..width])
                };
                let Some(fields) = self.columns() else {
                    return item.column(py, place(0, width));
                };
                let (columns, types) = (PyDict::new(py), PyDict::new(py));
                let mut from = 0;
                for (name, field) in fields {
                    columns.set_item(name, field.column(py, place(from, field.width))?)?;
                    types.set_item(name, field.arrow())?;
                    from += field.width;
                }
                let rows = py.import("tacit._table")?.getattr("Rows")?;
                rows.call1((length, columns, types))
            }
            Parts::Tuple(parts) => {
                let parts = parts.iter().zip(split(bits, parts.iter()));
                let parts = parts.map(|(part, bits)| part.python(py, bits));
                Ok(PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any())
            }
            Parts::Struct(fields) => {
                let dict = PyDict::new(py);
                let parts = split(bits, fields.iter().map(|(_, field)| field));
                for ((name, field), bits) in fields.iter().zip(parts) {
                    dict.set_item(name, field.python(py, bits)?)?;
                }
                Ok(dict.into_any())
            }
        }
    }

    /// Returns a series of values: a NumPy array, or a list.
    fn column<'py, 'b>(
        &self,
        py: Python<'py>,
        values: impl ExactSizeIterator<Item = &'b [bool]>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut sizes = vec![values.len()];
        let Some((number, dtype, bytes)) = self.numbers(&mut sizes) else {
            let values = values.map(|bits| self.python(py, bits));
            return Ok(PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any());
        };
        let size = sizes.iter().product::<usize>() * bytes;
        let memory = PyByteArray::new_with(py, size, |memory| {
            let numbers = values.flat_map(|bits| bits.chunks_exact(number.width));
            for (bits, place) in numbers.zip(memory.chunks_exact_mut(bytes)) {
                place.copy_from_slice(&number.in_memory(bits).to_le_bytes()[..bytes]);
            }
            Ok(())
        })?;
        let array = py.import("tacit._columns")?.getattr("array")?;
        array.call1((memory, dtype, sizes))
    }

    /// Returns the number type that this is or that arrays of this contain, with NumPy's type for
    /// such numbers and its size in bytes, if there is one. Appends the arrays' sizes to `sizes`.
    fn numbers(&self, sizes: &mut Vec<usize>) -> Option<(&Self, &'static str, usize)> {
        let (of_size, bits) = match &self.parts {
            Parts::List(item, n) if self.width == n * item.width => {
                sizes.push(*n);
                return item.numbers(sizes);
            }
            Parts::Scalar(Scalar::Bool, _) => return Some((self, "bool", 1)),
            Parts::Scalar(Scalar::Fixed { .. }, _) if self.width <= 53 => {
                return Some((self, "float64", 8));
            }
            Parts::Scalar(Scalar::Integer { is_signed: false }, _) => {
                (["uint8", "uint16", "uint32", "uint64"], self.width)
            }
            Parts::Scalar(Scalar::Integer { is_signed: true }, _) => {
                (["int8", "int16", "int32", "int64"], self.width)
            }
            _ => return None,
        };
        let mut fits = [1, 2, 4, 8].into_iter().zip(of_size);
        let (bytes, dtype) = fits.find(|(bytes, _)| bits <= 8 * bytes)?;
        Some((self, dtype, bytes))
    }

    /// Returns NumPy's memory content for a number of these bits.
    fn in_memory(&self, bits: &[bool]) -> u64 {
        let is_negative = bits.last() == Some(&true);
        let extended = match bits.len() {
            64.. => unsigned(bits),
            width => unsigned(bits) | u64::MAX << width,
        };
        match self.parts {
            Parts::Scalar(Scalar::Integer { is_signed: true }, _) if is_negative => extended,
            Parts::Scalar(Scalar::Fixed { fraction }, _) => {
                let number = if is_negative {
                    extended
                } else {
                    unsigned(bits)
                };
                // The result is exact, as both have at most 53 bits.
                let scale = 2_f64.powi(-(fraction as i32));
                (number as i64 as f64 * scale).to_bits()
            }
            _ => unsigned(bits),
        }
    }

    /// Returns Arrow's type of a column of such values. Numbers that no type holds are texts.
    /// Returns `None` if each value has parts.
    fn arrow(&self) -> Option<&'static str> {
        match self.parts {
            Parts::Scalar(Scalar::Bytes, _) => Some("binary"),
            Parts::Scalar(..) => {
                let number = self.numbers(&mut Vec::new());
                Some(number.map_or("string", |(_, dtype, _)| dtype))
            }
            _ => None,
        }
    }
}

impl Scalar {
    /// Returns the Python value for the library's JSON.
    fn python<'py>(self, py: Python<'py>, json: &Json) -> PyResult<Bound<'py, PyAny>> {
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
        })
    }
}

/// Returns the number of at most 64 bits, the least significant first.
fn unsigned(bits: &[bool]) -> u64 {
    let places = bits.iter().enumerate();
    places.fold(0, |sum, (place, bit)| sum | u64::from(*bit) << place)
}

/// Splits the bits of consecutive parts.
fn split<'b, 's: 'b>(
    mut bits: &'b [bool],
    parts: impl Iterator<Item = &'b PythonType<'s>>,
) -> impl Iterator<Item = &'b [bool]> {
    parts.map(move |part| {
        let (own, after) = bits.split_at(part.width);
        bits = after;
        own
    })
}
