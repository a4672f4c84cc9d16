//! The types of ports: the interpretation of a bus of wires as a value.
//!
//! | text | value | width in bits |
//! |---|---|---|
//! | `bit` | 0 or 1 | 1 |
//! | `bits[n]` | a string of bits, index 0 first | n |
//! | `uN` | an unsigned integer | N |
//! | `iN` | a signed integer in two's complement | N |
//! | `fixed[i,f]` | a signed number: i bits before the point with the sign, f after it | i + f |
//! | `bytes[n]` | a byte string | 8n |
//! | `T[n]` | n values of type T, index 0 first | n · width of T |
//!
//! Arrays nest: `bytes[16][4]` is four strings of 16 bytes.

use core::fmt;
use core::str::FromStr;

use crate::{Circuit, CircuitError};

/// A port's type. Every value of this Rust type is valid and has a width from 1 to
/// [`Circuit::MAX_WIRES`] bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    kind: Kind,
    width: u32,
}

/// The kind of a [`Type`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One bit.
    Bit,
    /// A string of this many bits.
    Bits(u32),
    /// An unsigned integer of this many bits.
    Unsigned(u32),
    /// A signed integer of this many bits, in two's complement.
    Signed(u32),
    /// A signed fixed-point number: an integer in two's complement, divided by 2^`fraction`.
    Fixed {
        /// The number of bits before the binary point, including the sign.
        integer: u32,
        /// The number of bits after the binary point.
        fraction: u32,
    },
    /// A string of this many bytes.
    Bytes(u32),
    /// This many values of one type.
    Array(Box<Type>, u32),
}

impl Type {
    /// The type of one bit.
    pub const BIT: Self = Self {
        kind: Kind::Bit,
        width: 1,
    };
    /// The width of the widest integer or fixed-point number, in bits. It is enough for RSA-4096,
    /// and bounds the quadratic work of printing a number in decimal.
    pub const MAX_NUMBER_BITS: u32 = 4096;
    /// The greatest nesting depth of arrays.
    pub const MAX_DIMENSIONS: usize = 8;

    /// Creates a type of this kind.
    ///
    /// # Errors
    ///
    /// A size is 0, a number is wider than [`Type::MAX_NUMBER_BITS`], arrays are nested deeper than
    /// [`Type::MAX_DIMENSIONS`], or the type is wider than [`Circuit::MAX_WIRES`].
    pub fn new(kind: Kind) -> Result<Self, CircuitError> {
        let width = match &kind {
            Kind::Bit => Some(1),
            Kind::Bits(n) => Some(u64::from(*n)),
            Kind::Unsigned(n) | Kind::Signed(n) => number_width(*n, 0),
            Kind::Fixed { integer: 0, .. } => None,
            Kind::Fixed { integer, fraction } => number_width(*integer, *fraction),
            Kind::Bytes(n) => Some(8 * u64::from(*n)),
            Kind::Array(of, _) if of.dimensions() >= Self::MAX_DIMENSIONS => None,
            Kind::Array(of, n) => Some(u64::from(of.width) * u64::from(*n)),
        };
        match width {
            Some(width @ 1..=MAX_WIDTH) => Ok(Self {
                kind,
                width: width as u32,
            }),
            _ => Err(CircuitError::TypeSize {
                ty: Shown(&kind).to_string(),
            }),
        }
    }

    /// Returns the type `bits[n]`.
    ///
    /// # Panics
    ///
    /// If [`Type::new`] refuses the size. This constructor and the next ones are for sizes written
    /// in a program. Sizes from a file go through [`Type::new`] or [`str::parse`].
    pub fn bits(n: usize) -> Self {
        Self::written(Kind::Bits(size(n)))
    }

    /// Returns the type `uN`. Panics like [`Type::bits`].
    pub fn unsigned(bits: usize) -> Self {
        Self::written(Kind::Unsigned(size(bits)))
    }

    /// Returns the type `iN`. Panics like [`Type::bits`].
    pub fn signed(bits: usize) -> Self {
        Self::written(Kind::Signed(size(bits)))
    }

    /// Returns the type `fixed[integer,fraction]`. Panics like [`Type::bits`].
    pub fn fixed(integer: usize, fraction: usize) -> Self {
        Self::written(Kind::Fixed {
            integer: size(integer),
            fraction: size(fraction),
        })
    }

    /// Returns the type `bytes[n]`. Panics like [`Type::bits`].
    pub fn bytes(n: usize) -> Self {
        Self::written(Kind::Bytes(size(n)))
    }

    /// Returns the type of an array of `n` values of this type. Panics like [`Type::bits`].
    #[must_use]
    pub fn array(self, n: usize) -> Self {
        Self::written(Kind::Array(Box::new(self), size(n)))
    }

    /// Returns the kind of the type.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Returns the width in bits, from 1 to [`Circuit::MAX_WIRES`].
    pub fn width(&self) -> usize {
        self.width as usize
    }

    /// Returns the nesting depth of arrays, which is 0 for all other types.
    fn dimensions(&self) -> usize {
        let (mut ty, mut dimensions) = (self, 0);
        while let Kind::Array(of, _) = &ty.kind {
            (ty, dimensions) = (of, dimensions + 1);
        }
        dimensions
    }

    fn written(kind: Kind) -> Self {
        Self::new(kind).unwrap_or_else(|error| panic!("{error}"))
    }
}

const MAX_WIDTH: u64 = Circuit::MAX_WIRES as u64;

/// Converts a size for [`Type::written`]. A size that does not fit becomes one that is refused.
fn size(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn number_width(a: u32, b: u32) -> Option<u64> {
    a.checked_add(b)
        .filter(|&width| width <= Type::MAX_NUMBER_BITS)
        .map(u64::from)
}

/// A kind as text. It may be a kind that no type has.
struct Shown<'a>(&'a Kind);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Bit => f.write_str("bit"),
            Kind::Bits(n) => write!(f, "bits[{n}]"),
            Kind::Unsigned(n) => write!(f, "u{n}"),
            Kind::Signed(n) => write!(f, "i{n}"),
            Kind::Fixed { integer, fraction } => write!(f, "fixed[{integer},{fraction}]"),
            Kind::Bytes(n) => write!(f, "bytes[{n}]"),
            Kind::Array(of, n) => write!(f, "{of}[{n}]"),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown(&self.kind).fmt(f)
    }
}

impl FromStr for Type {
    type Err = CircuitError;

    fn from_str(text: &str) -> Result<Self, CircuitError> {
        let unknown = || CircuitError::NotAType {
            text: text.chars().take(64).collect(),
        };
        let mut rest = Rest(text);
        let name_end = text.find('[').unwrap_or(text.len());
        let name = rest.take(name_end);
        let kind = match (name, name.split_at_checked(1)) {
            ("bit", _) => Kind::Bit,
            ("bits", _) => Kind::Bits(rest.index().ok_or_else(unknown)?),
            ("bytes", _) => Kind::Bytes(rest.index().ok_or_else(unknown)?),
            ("fixed", _) => {
                let (integer, fraction) = rest.pair().ok_or_else(unknown)?;
                Kind::Fixed { integer, fraction }
            }
            (_, Some(("u", bits))) => Kind::Unsigned(number(bits).ok_or_else(unknown)?),
            (_, Some(("i", bits))) => Kind::Signed(number(bits).ok_or_else(unknown)?),
            _ => return Err(unknown()),
        };
        let mut ty = Self::new(kind)?;
        while !rest.0.is_empty() {
            let n = rest.index().ok_or_else(unknown)?;
            ty = Self::new(Kind::Array(Box::new(ty), n))?;
        }
        Ok(ty)
    }
}

/// The part of a type's text that has not been read yet.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn take(&mut self, n: usize) -> &'a str {
        let (taken, rest) = self.0.split_at(n);
        self.0 = rest;
        taken
    }

    /// Returns the text between the next two square brackets.
    fn bracketed(&mut self) -> Option<&'a str> {
        let (inside, rest) = self.0.strip_prefix('[')?.split_once(']')?;
        self.0 = rest;
        Some(inside)
    }

    fn index(&mut self) -> Option<u32> {
        number(self.bracketed()?)
    }

    fn pair(&mut self) -> Option<(u32, u32)> {
        let (a, b) = self.bracketed()?.split_once(',')?;
        Some((number(a)?, number(b)?))
    }
}

/// Parses a number as [`fmt::Display`] writes it, without sign or leading zeros, so that every type
/// has one text only.
fn number(text: &str) -> Option<u32> {
    let canonical = text == "0" || text.starts_with(|c: char| matches!(c, '1'..='9'));
    text.parse().ok().filter(|_| canonical)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_width_and_constructors_agree() {
        let known = [
            ("bit", Type::BIT, 1),
            ("bits[7]", Type::bits(7), 7),
            ("u1", Type::unsigned(1), 1),
            ("u4096", Type::unsigned(4096), 4096),
            ("i64", Type::signed(64), 64),
            ("fixed[8,24]", Type::fixed(8, 24), 32),
            ("fixed[1,0]", Type::fixed(1, 0), 1),
            ("bytes[16]", Type::bytes(16), 128),
            ("u32[10]", Type::unsigned(32).array(10), 320),
            ("bytes[16][4]", Type::bytes(16).array(4), 512),
            ("bit[2][3]", Type::BIT.array(2).array(3), 6),
            ("bits[1073741824]", Type::bits(1 << 30), 1 << 30),
        ];
        for (text, ty, width) in known {
            assert_eq!(text.parse::<Type>().unwrap(), ty);
            assert_eq!(ty.to_string(), text);
            assert_eq!(ty.width(), width, "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let not_types = [
            "",
            "u",
            "u-1",
            "u+8",
            "u08",
            "U8",
            "bit s",
            "bits",
            "bits[]",
            "bits[8",
            "bits[8]]",
            "bits[8]x",
            "fixed[8]",
            "fixed[8,8",
            "fixed[8,8,8]",
            "é",
            "bytes[ 16]",
            "u99999999999",
            "u32[0x10]",
        ];
        for text in not_types {
            let error = text.parse::<Type>().unwrap_err();
            assert!(
                matches!(error, CircuitError::NotAType { .. }),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn sizes_outside_the_bounds_are_refused() {
        let too_large = [
            "u0",
            "i0",
            "u4097",
            "bits[0]",
            "bytes[0]",
            "u8[0]",
            "fixed[0,8]",
            "fixed[4096,1]",
            "fixed[4294967295,4294967295]",
            "bytes[134217729]",
            "bits[1073741825]",
            "bits[65536][65536]",
            "u1[1][1][1][1][1][1][1][1][1]",
        ];
        for text in too_large {
            let error = text.parse::<Type>().unwrap_err();
            assert!(
                matches!(error, CircuitError::TypeSize { .. }),
                "{text}: {error}"
            );
        }
    }

    #[test]
    #[should_panic(expected = "bytes[0]")]
    fn a_constructor_panics_on_a_size_of_zero() {
        let _ = Type::bytes(0);
    }
}
