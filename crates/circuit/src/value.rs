//! Values of ports, as bits, as text, as JSON and as Rust numbers.
//!
//! Bits of a value are ordered by wire, from wire 0. A number starts at its least significant bit.
//! A byte string keeps its order, and each byte starts at its least significant bit. A bit string
//! or an array starts at index 0.
//!
//! A value may be secret. It is wiped when dropped, `Debug` shows only its type, `==` takes
//! constant time, and errors state kinds and lengths, never contents. The time to read or print
//! text depends on the length and form of the text, but the text's owner does this on its own
//! machine. Conversions to and from bits neither branch nor index on the value.

use core::fmt;

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use crate::{CircuitError, Kind, Port, Type};

mod convert;
mod given;
mod json;
mod number;
mod text;
mod unique;

pub use given::{HostValue, NumberFormat, Numbers};
pub use json::wipe_json;
pub use unique::UniqueJson;

/// A value of a [`Type`].
#[derive(Clone)]
pub struct Value {
    ty: Type,
    /// The bits, eight to a byte, the first in the least significant bit. Zeros pad the last byte.
    packed: Vec<u8>,
}

impl Value {
    /// Parses a value of this type, as written on a command line. Numbers are in decimal or `0x…`,
    /// byte strings in hex (with or without `0x`), bit strings are zeros and ones with index 0
    /// first, and arrays are JSON lists.
    ///
    /// # Errors
    ///
    /// [`CircuitError::Value`] if the text has another form or length than the type, or the number
    /// is out of range.
    pub fn parse(ty: &Type, text: &str) -> Result<Self, CircuitError> {
        Reader::read(THE_VALUE, ty, |reader| reader.text(ty, text))
    }

    /// Reads a value of this type from JSON. Numbers below 2^53 are numbers or strings, and greater
    /// ones are strings. A `bit` may also be `true` or `false`. Byte and bit strings are strings,
    /// and arrays are lists.
    ///
    /// # Errors
    ///
    /// As [`Value::parse`].
    pub fn from_json(ty: &Type, json: &serde_json::Value) -> Result<Self, CircuitError> {
        Reader::read(THE_VALUE, ty, |reader| {
            reader.given(ty, HostValue::Json(json))
        })
    }

    /// Creates the value of this type with these bits.
    ///
    /// # Errors
    ///
    /// [`CircuitError::Value`] if the number of bits is not the type's width.
    pub fn from_bits(ty: &Type, bits: &[bool]) -> Result<Self, CircuitError> {
        Reader::read(THE_VALUE, ty, |reader| {
            if bits.len() != ty.width() {
                let expected = format!("{} bits", ty.width());
                return Err(reader.error(ty, expected, format!("{} bits", bits.len())));
            }
            bits.iter().for_each(|&bit| reader.bits.push(bit));
            Ok(())
        })
    }

    /// Creates an array of these values.
    ///
    /// # Errors
    ///
    /// [`CircuitError::Value`] if a value has another type than the first,
    /// [`CircuitError::TypeSize`] if `elements` is empty or the array is too large.
    pub fn array(elements: &[Self]) -> Result<Self, CircuitError> {
        let of = elements.first().map_or(Type::BIT, |first| first.ty.clone());
        let length = u32::try_from(elements.len()).unwrap_or(u32::MAX);
        let ty = Type::new(Kind::Array(Box::new(of.clone()), length))?;
        Reader::read(THE_VALUE, &ty, |reader| {
            for (index, element) in elements.iter().enumerate() {
                reader.indices.push(index);
                if element.ty != of {
                    let found = format!("a value of type {}", element.ty);
                    return Err(reader.error(&of, "a value of this type".to_owned(), found));
                }
                (0..of.width()).for_each(|i| reader.bits.push(element.bit(i)));
                reader.indices.pop();
            }
            Ok(())
        })
    }

    /// Returns the type of the value.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Returns the bits, wire 0 first. They are wiped when dropped.
    pub fn to_bits(&self) -> Zeroizing<Vec<bool>> {
        Zeroizing::new((0..self.ty.width()).map(|i| self.bit(i)).collect())
    }

    /// Returns the elements of an array. Returns nothing for other types.
    pub fn elements(&self) -> Vec<Self> {
        let Kind::Array(of, n) = self.ty.kind() else {
            return Vec::new();
        };
        let width = of.width();
        (0..*n as usize)
            .map(|index| {
                let mut bits = Bits::with_capacity(width);
                (0..width).for_each(|i| bits.push(self.bit(index * width + i)));
                Self {
                    ty: (**of).clone(),
                    packed: bits.finish(),
                }
            })
            .collect()
    }

    fn bit(&self, index: usize) -> bool {
        self.packed[index / 8] >> (index % 8) & 1 == 1
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.packed.zeroize();
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({}, ..)", self.ty)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.ty == other.ty && bool::from(self.packed.ct_eq(&other.packed))
    }
}

impl Eq for Value {}

impl Port {
    /// Parses a value for this port like [`Value::parse`], and applies the port's
    /// [`Promise`](crate::Promise). Errors contain the port's name.
    ///
    /// # Errors
    ///
    /// Those of [`Value::parse`], or the value breaks the promise.
    pub fn parse_value(&self, text: &str) -> Result<Value, CircuitError> {
        let read = Reader::read(&self.name, &self.ty, |reader| reader.text(&self.ty, text));
        self.uphold(read?)
    }

    /// Reads a value for this port like [`Value::from_json`], and applies the port's promise.
    /// Errors contain the port's name.
    ///
    /// # Errors
    ///
    /// Those of [`Port::parse_value`].
    pub fn value_from_json(&self, json: &serde_json::Value) -> Result<Value, CircuitError> {
        self.value_from(HostValue::Json(json))
    }

    /// Reads a value that another language gives for this port, and applies the port's promise.
    /// Errors contain the port's name.
    ///
    /// # Errors
    ///
    /// Those of [`Port::parse_value`].
    pub fn value_from(&self, given: HostValue<'_>) -> Result<Value, CircuitError> {
        let read = Reader::read(&self.name, &self.ty, |reader| reader.given(&self.ty, given));
        self.uphold(read?)
    }

    /// Converts a value to this port's type like [`Value::convert`], and applies the port's
    /// promise. Errors contain the port's name.
    ///
    /// # Errors
    ///
    /// Those of [`Value::convert`], or the value breaks the promise.
    pub fn convert_value(&self, value: &Value) -> Result<Value, CircuitError> {
        let read = Reader::read(&self.name, &self.ty, |reader| reader.value(&self.ty, value));
        self.uphold(read?)
    }
}

const THE_VALUE: &str = "the value";

/// Reads a value bit by bit and tracks the position for errors.
struct Reader<'a> {
    /// The port's name, or [`THE_VALUE`].
    at: &'a str,
    /// The indices of the array elements that are being read.
    indices: Vec<usize>,
    bits: Bits,
}

impl<'a> Reader<'a> {
    fn read(
        at: &'a str,
        ty: &Type,
        read: impl FnOnce(&mut Self) -> Result<(), CircuitError>,
    ) -> Result<Value, CircuitError> {
        let mut reader = Self {
            at,
            indices: Vec::new(),
            bits: Bits::with_capacity(ty.width()),
        };
        read(&mut reader)?;
        assert_eq!(
            reader.bits.length,
            ty.width(),
            "a reader gives each bit of the type once"
        );
        Ok(Value {
            ty: ty.clone(),
            packed: reader.bits.finish(),
        })
    }

    fn error(&self, ty: &Type, expected: String, found: String) -> CircuitError {
        let mut at = self.at.to_owned();
        self.indices
            .iter()
            .for_each(|index| at += &format!("[{index}]"));
        CircuitError::Value {
            at,
            ty: ty.to_string(),
            expected,
            found,
        }
    }
}

/// Packed bits that are wiped unless they are finished. They never grow past their capacity, so
/// that no copy of them remains in memory.
struct Bits {
    packed: Zeroizing<Vec<u8>>,
    length: usize,
}

impl Bits {
    fn with_capacity(bits: usize) -> Self {
        Self {
            packed: Zeroizing::new(Vec::with_capacity(bits.div_ceil(8))),
            length: 0,
        }
    }

    fn push(&mut self, bit: bool) {
        if self.length.is_multiple_of(8) {
            assert!(
                self.packed.len() < self.packed.capacity(),
                "bits past the type's width"
            );
            self.packed.push(0);
        }
        self.packed[self.length / 8] |= u8::from(bit) << (self.length % 8);
        self.length += 1;
    }

    fn push_byte(&mut self, byte: u8) {
        (0..8).for_each(|i| self.push(byte >> i & 1 == 1));
    }

    fn finish(mut self) -> Vec<u8> {
        core::mem::take(&mut *self.packed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_each_kind_start_where_the_contract_says() {
        let bits = |ty: &str, text: &str| -> String {
            let value = Value::parse(&ty.parse().unwrap(), text).unwrap();
            value
                .to_bits()
                .iter()
                .map(|&bit| if bit { '1' } else { '0' })
                .collect()
        };
        assert_eq!(bits("bit", "1"), "1");
        assert_eq!(bits("bits[4]", "1000"), "1000");
        assert_eq!(bits("u8", "1"), "10000000");
        assert_eq!(bits("u4", "0xE"), "0111");
        assert_eq!(bits("i4", "-2"), "0111");
        assert_eq!(bits("fixed[4,2]", "1.25"), "101000");
        assert_eq!(bits("bytes[2]", "0180"), "1000000000000001");
        assert_eq!(bits("u2[3]", "[1,2,3]"), "100111");
        assert_eq!(bits("bytes[1][2]", r#"["01","0x02"]"#), "1000000001000000");
    }

    #[test]
    fn bits_come_back_and_must_be_as_many_as_the_type_has() {
        let ty: Type = "u12[3]".parse().unwrap();
        let bits: Vec<bool> = (0..36).map(|i| i % 5 == 0 || i % 7 == 3).collect();
        assert_eq!(*Value::from_bits(&ty, &bits).unwrap().to_bits(), bits);
        let error = Value::from_bits(&ty, &bits[1..]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the value is of type u12[3]: expected 36 bits, found 35 bits"
        );
    }

    #[test]
    fn arrays_are_made_of_values_and_taken_apart() {
        let rows: Vec<Value> = (0..5_u16).map(|n| Value::from(n * 999)).collect();
        let array = Value::array(&rows).unwrap();
        assert_eq!(array.ty().to_string(), "u16[5]");
        assert_eq!(array.elements(), rows);
        assert_eq!(rows[0].elements(), []);
        assert!(matches!(
            Value::array(&[]),
            Err(CircuitError::TypeSize { .. })
        ));
        let mixed = Value::array(&[Value::from(1_u8), Value::from(1_u16)]).unwrap_err();
        assert_eq!(
            mixed.to_string(),
            "the value[1] is of type u8: expected a value of this type, found a value of type u16"
        );
    }

    #[test]
    fn debug_shows_the_type_alone() {
        assert_eq!(format!("{:?}", Value::from(77_u8)), "Value(u8, ..)");
    }

    #[test]
    fn equality_is_of_type_and_bits() {
        assert_eq!(Value::from(7_u8), Value::from(7_u8));
        assert_ne!(Value::from(7_u8), Value::from(6_u8));
        assert_ne!(Value::from(7_u8), Value::from(7_i8));
    }
}
