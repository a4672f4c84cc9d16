//! Conversions of values from Rust's own types, back, and between types.

use zeroize::Zeroizing;

use crate::{CircuitError, Kind, Type};

use super::text::number_range;
use super::{Bits, Reader, THE_VALUE, Value};

impl Value {
    /// Converts this value to type `ty`. A number may change its width or signedness if it is in
    /// range, and an integer may become a fixed-point number. Between `bit`, `bits[n]`, `bytes[n]`
    /// and `uN` of the same width, the bits stay the same. Each element of an array is converted.
    ///
    /// # Errors
    ///
    /// [`CircuitError::Value`] if this conversion does not exist or the number is out of range.
    pub fn convert(&self, ty: &Type) -> Result<Self, CircuitError> {
        Reader::read(THE_VALUE, ty, |reader| reader.value(ty, self))
    }

    /// Returns the bytes of a `bytes[n]`. They are wiped when dropped.
    pub fn to_bytes(&self) -> Option<Zeroizing<Vec<u8>>> {
        matches!(self.ty.kind(), Kind::Bytes(_)).then(|| Zeroizing::new(self.packed.clone()))
    }
}

impl Reader<'_> {
    /// Reads a value from one of a type that may differ.
    pub(super) fn value(&mut self, ty: &Type, value: &Value) -> Result<(), CircuitError> {
        use Kind::{Array, Bit, Bits, Bytes, Fixed, Signed, Unsigned};
        let same_width = ty.width() == value.ty.width();
        match (ty.kind(), value.ty.kind()) {
            _ if *ty == value.ty => self.same_bits(value),
            (Array(of, n), Array(_, m)) if n == m => {
                for (index, element) in value.elements().iter().enumerate() {
                    self.indices.push(index);
                    self.value(of, element)?;
                    self.indices.pop();
                }
            }
            (Unsigned(_) | Signed(_), Unsigned(_) | Signed(_)) => {
                let (negative, magnitude) = value.magnitude();
                self.number(ty, negative, magnitude, false)?;
            }
            (Fixed { .. }, Unsigned(_) | Signed(_)) => {
                let text = Zeroizing::new(value.to_text());
                self.text(ty, &text)?;
            }
            (Bit | Bits(_) | Bytes(_) | Unsigned(_), Bit | Bits(_) | Bytes(_) | Unsigned(_))
                if same_width =>
            {
                self.same_bits(value);
            }
            (kind, _) => {
                let expected = match kind {
                    Unsigned(_) | Signed(_) | Fixed { .. } => number_range(ty),
                    _ => "a value of this type".to_owned(),
                };
                return Err(self.error(ty, expected, format!("a value of type {}", value.ty)));
            }
        }
        Ok(())
    }

    fn same_bits(&mut self, value: &Value) {
        (0..value.ty.width()).for_each(|i| self.bits.push(value.bit(i)));
    }
}

impl From<bool> for Value {
    fn from(bit: bool) -> Self {
        Self {
            ty: Type::BIT,
            packed: vec![u8::from(bit)],
        }
    }
}

impl<const N: usize> From<[u8; N]> for Value {
    fn from(bytes: [u8; N]) -> Self {
        Self::from(&bytes)
    }
}

impl<const N: usize> From<&[u8; N]> for Value {
    fn from(bytes: &[u8; N]) -> Self {
        const { assert!(N > 0, "a byte string has at least one byte") };
        Self {
            ty: Type::bytes(N),
            packed: bytes.to_vec(),
        }
    }
}

impl TryFrom<&[u8]> for Value {
    type Error = CircuitError;

    fn try_from(bytes: &[u8]) -> Result<Self, CircuitError> {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Ok(Self {
            ty: Type::new(Kind::Bytes(length))?,
            packed: bytes.to_vec(),
        })
    }
}

/// Implements the conversions between Rust's integers and values.
macro_rules! integers {
    ($($kind:ident $($int:ty)+;)+) => { $($(
        impl From<$int> for Value {
            fn from(number: $int) -> Self {
                let ty = Type::new(Kind::$kind(<$int>::BITS)).expect("a width from 8 to 128");
                Self { ty, packed: number.to_le_bytes().to_vec() }
            }
        }

        /// Converts a `bit`, `uN` or `iN` to a number, if it is in range.
        impl TryFrom<&Value> for $int {
            type Error = CircuitError;

            fn try_from(value: &Value) -> Result<Self, CircuitError> {
                let ty = Type::new(Kind::$kind(<$int>::BITS))?;
                let packed = value.convert_number(&ty)?;
                let mut bytes = [0; size_of::<$int>()];
                bytes.copy_from_slice(&packed);
                Ok(Self::from_le_bytes(bytes))
            }
        }
    )+)+ };
}

integers! {
    Unsigned u8 u16 u32 u64 u128;
    Signed i8 i16 i32 i64 i128;
}

impl TryFrom<&Value> for bool {
    type Error = CircuitError;

    fn try_from(value: &Value) -> Result<Self, CircuitError> {
        value.convert(&Type::BIT).map(|bit| bit.bit(0))
    }
}

impl Value {
    /// Returns the packed bits of this value as a number of type `ty`. A `bit` counts as a `u1`.
    fn convert_number(&self, ty: &Type) -> Result<Zeroizing<Vec<u8>>, CircuitError> {
        let bit_as_number = matches!(self.ty.kind(), Kind::Bit).then(|| self.same_bits_as_u1());
        let mut converted = bit_as_number.as_ref().unwrap_or(self).convert(ty)?;
        Ok(Zeroizing::new(core::mem::take(&mut converted.packed)))
    }

    fn same_bits_as_u1(&self) -> Self {
        let mut bits = Bits::with_capacity(1);
        bits.push(self.bit(0));
        Self {
            ty: Type::unsigned(1),
            packed: bits.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_values_have_the_type_and_text_one_expects() {
        let known = [
            (Value::from(true), "bit", "1"),
            (Value::from(200_u8), "u8", "200"),
            (Value::from(-5_i16), "i16", "-5"),
            (
                Value::from(u128::MAX),
                "u128",
                "340282366920938463463374607431768211455",
            ),
            (Value::from([1_u8, 2]), "bytes[2]", "0102"),
            (
                Value::try_from(&[0xff_u8, 0][..]).unwrap(),
                "bytes[2]",
                "ff00",
            ),
        ];
        for (value, ty, text) in known {
            assert_eq!(value.ty().to_string(), ty);
            assert_eq!(value.to_text(), text);
            assert_eq!(Value::parse(value.ty(), text).unwrap(), value);
        }
        let error = Value::try_from(&[][..]).unwrap_err();
        assert!(matches!(error, CircuitError::TypeSize { .. }));
    }

    #[test]
    fn values_come_back_as_rust_numbers_if_they_fit() {
        assert_eq!(u64::try_from(&Value::from(7_u8)), Ok(7));
        assert_eq!(i8::try_from(&Value::from(127_u64)), Ok(127));
        assert_eq!(i64::try_from(&Value::from(-7_i8)), Ok(-7));
        assert_eq!(u8::try_from(&Value::from(true)), Ok(1));
        assert_eq!(bool::try_from(&Value::from(false)), Ok(false));
        assert_eq!(
            Value::from([7_u8; 2]).to_bytes().as_deref(),
            Some(&vec![7_u8; 2])
        );
        assert_eq!(Value::from(7_u8).to_bytes(), None);
        assert_eq!(u8::try_from(&Value::from([7_u8; 1])), Ok(7));
        for outside in [
            Value::from(-1_i8),
            Value::from(256_u16),
            Value::from([1_u8; 2]),
        ] {
            assert!(u8::try_from(&outside).is_err(), "{outside:?}");
        }
    }

    #[test]
    fn conversions_keep_numbers_and_bits_or_fail() {
        let convert = |value: Value, ty: &str| {
            value
                .convert(&ty.parse().unwrap())
                .map(|converted| converted.to_text())
        };
        assert_eq!(convert(Value::from(41_u64), "u8").as_deref(), Ok("41"));
        assert_eq!(convert(Value::from(41_i32), "u6").as_deref(), Ok("41"));
        assert_eq!(convert(Value::from(-41_i64), "i7").as_deref(), Ok("-41"));
        assert_eq!(
            convert(Value::from(-3_i64), "fixed[4,4]").as_deref(),
            Ok("-3")
        );
        assert_eq!(
            convert(Value::from([1_u8, 0x80]), "bits[16]").as_deref(),
            Ok("1000000000000001")
        );
        assert_eq!(
            convert(Value::from([1_u8, 0x80]), "u16").as_deref(),
            Ok("32769")
        );
        let array = Value::array(&[Value::from(1_u64), Value::from(2_u64)]).unwrap();
        assert_eq!(convert(array.clone(), "u8[2]").as_deref(), Ok("[1,2]"));
        let refused = [
            (Value::from(256_u64), "u8"),
            (Value::from(-1_i64), "u64"),
            (Value::from(i64::MIN), "i63"),
            (Value::from([1_u8; 3]), "bits[16]"),
            (Value::from([1_u8; 2]), "i16"),
            (array, "u64[3]"),
            (Value::from(8_u8), "fixed[4,4]"),
        ];
        for (value, ty) in refused {
            let shown = format!("{value:?} {ty}");
            let error = convert(value, ty).expect_err(&shown);
            assert!(matches!(error, CircuitError::Value { .. }), "{shown}");
        }
    }
}
