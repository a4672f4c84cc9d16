//! Values: what a port holds, as bits, as text, as JSON and as Rust numbers.
//!
//! The bits of a value, wire 0 first: a number starts at its least significant bit; a byte
//! string keeps its order and each byte starts at its least significant bit; a bit string and
//! an array start at index 0.
//!
//! A value may be secret. It is wiped when dropped, `Debug` shows its type alone, `==` takes
//! constant time, and errors say kinds and lengths, never contents. Reading and printing text
//! takes time that depends on the text's length and form, which the text's owner does on their
//! own machine; conversions to and from bits neither branch nor index on the value.

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
    /// The bits, eight a byte, the first in the least significant bit; padded with zeros.
    packed: Vec<u8>,
}

impl Value {
    /// The value of this type that `text` writes, as on a command line: numbers in decimal or as
    /// `0x…`, byte strings in hex (`0x` or not), bit strings as zeros and ones with index 0
    /// first, arrays as JSON lists.
    ///
    /// # Errors
    ///
    /// [`CircuitError::Value`] where the text has another form or length than the type, or the
    /// number is out of range.
    pub fn parse(ty: &Type, text: &str) -> Result<Self, CircuitError> {
        Reader::read(THE_VALUE, ty, |reader| reader.text(ty, text))
    }

    /// The value of this type that `json` writes: numbers below 2^53 as numbers or strings and
    /// greater ones as strings, `bit` also as `true` or `false`, byte and bit strings as strings,
    /// arrays as lists.
    ///
    /// # Errors
    ///
    /// As [`Value::parse`].
    pub fn from_json(ty: &Type, json: &serde_json::Value) -> Result<Self, CircuitError> {
        Reader::read(THE_VALUE, ty, |reader| {
            reader.given(ty, HostValue::Json(json))
        })
    }

    /// The value of this type with these bits.
    ///
    /// # Errors
    ///
    /// [`CircuitError::Value`] if the bits are not as many as the type's width.
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

    /// An array of these values.
    ///
    /// # Errors
    ///
    /// [`CircuitError::Value`] if a value is of another type than the first,
    /// [`CircuitError::TypeSize`] if there is none or the array is too large.
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

    /// Its type.
    #[must_use]
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Its bits, wire 0 first; wiped when dropped.
    #[must_use]
    pub fn to_bits(&self) -> Zeroizing<Vec<bool>> {
        Zeroizing::new((0..self.ty.width()).map(|i| self.bit(i)).collect())
    }

    /// The elements of an array; nothing for any other type.
    #[must_use]
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
    /// [`Value::parse`] for this port, whose name the error gives, held to the port's
    /// [`Promise`](crate::Promise).
    ///
    /// # Errors
    ///
    /// As [`Value::parse`], or the value breaks the promise.
    pub fn parse_value(&self, text: &str) -> Result<Value, CircuitError> {
        let read = Reader::read(&self.name, &self.ty, |reader| reader.text(&self.ty, text));
        self.uphold(read?)
    }

    /// [`Value::from_json`] for this port, whose name the error gives, held to its promise.
    ///
    /// # Errors
    ///
    /// As [`Port::parse_value`].
    pub fn value_from_json(&self, json: &serde_json::Value) -> Result<Value, CircuitError> {
        self.value_from(HostValue::Json(json))
    }

    /// The value that another language gives for this port, whose name the error gives, held to
    /// its promise.
    ///
    /// # Errors
    ///
    /// As [`Port::parse_value`].
    pub fn value_from(&self, given: HostValue<'_>) -> Result<Value, CircuitError> {
        let read = Reader::read(&self.name, &self.ty, |reader| reader.given(&self.ty, given));
        self.uphold(read?)
    }

    /// [`Value::convert`] to this port's type, held to its promise; the error gives the port's
    /// name.
    ///
    /// # Errors
    ///
    /// As [`Value::convert`], or the value breaks the promise.
    pub fn convert_value(&self, value: &Value) -> Result<Value, CircuitError> {
        let read = Reader::read(&self.name, &self.ty, |reader| reader.value(&self.ty, value));
        self.uphold(read?)
    }
}

const THE_VALUE: &str = "the value";

/// Reads a value bit by bit and knows where it is, for errors.
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
/// that no copy of them is left behind.
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
