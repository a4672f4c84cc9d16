//! Values of another language: JSON, numbers in memory, and columns of both.

use serde_json::{Number as JsonNumber, Value as Json};

use crate::{Kind, Type};

use super::json::FIRST_ROUNDED;

/// A value that another language gives, or a part of it. A port's type tells how it is read.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum HostValue<'g> {
    /// JSON.
    Json(&'g Json),
    /// An array of numbers, or a single number.
    Numbers(Numbers<'g>),
    /// Columns with their names, which can also be read as rows.
    Columns(&'g [(String, HostValue<'g>)]),
    /// The row with this index of these columns.
    Row(&'g [(String, HostValue<'g>)], usize),
}

impl<'g> HostValue<'g> {
    /// Returns the number of items of a list, or `None` if this is not a list.
    pub fn length(self) -> Option<usize> {
        match self {
            Self::Json(json) => json.as_array().map(Vec::len),
            Self::Numbers(numbers) => numbers.shape.first().copied(),
            Self::Columns(columns) => columns.first().and_then(|(_, column)| column.length()),
            Self::Row(..) => None,
        }
    }

    /// Returns the item of a list at an index, if there is one.
    pub fn item(self, index: usize) -> Option<Self> {
        self.length().filter(|length| index < *length)?;
        match self {
            Self::Json(json) => json.get(index).map(Self::Json),
            Self::Numbers(numbers) => Some(Self::Numbers(numbers.item(index))),
            Self::Columns(columns) => Some(Self::Row(columns, index)),
            Self::Row(..) => None,
        }
    }

    /// Iterates over the items of a list.
    pub fn items(self) -> impl Iterator<Item = Self> + use<'g> {
        (0..self.length().unwrap_or(0)).filter_map(move |index| self.item(index))
    }

    /// Returns the field of this name of an object or a row.
    pub fn field(self, name: &str) -> Option<Self> {
        match self {
            Self::Json(json) => json.as_object()?.get(name).map(Self::Json),
            Self::Row(columns, index) => {
                let (_, column) = columns.iter().find(|(column, _)| column == name)?;
                column.item(index)
            }
            Self::Numbers(_) | Self::Columns(_) => None,
        }
    }
}

/// The format of numbers in memory, each little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumberFormat {
    /// A byte, which is zero only for `false`.
    Bool,
    /// An unsigned integer of this number of bytes, from 1 to 8.
    Unsigned(usize),
    /// An integer of this number of bytes in two's complement, from 1 to 8.
    Signed(usize),
    /// Double precision of IEEE 754.
    Float,
}

impl NumberFormat {
    fn bytes(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::Unsigned(bytes) | Self::Signed(bytes) => bytes,
            Self::Float => 8,
        }
    }
}

/// The greatest number of parts of an array that contain no number.
const MAX_EMPTY_PARTS: usize = 1 << 20;

/// Consecutive numbers in memory: a rectangular array whose last index varies fastest, or a single
/// number.
#[derive(Clone, Copy)]
pub struct Numbers<'g> {
    format: NumberFormat,
    shape: &'g [usize],
    bytes: &'g [u8],
}

impl<'g> Numbers<'g> {
    /// Creates an array of this shape. Returns `None` if the length of `bytes` does not match the
    /// shape, if the array has more than 2^20 parts but no number, or if the format has a number
    /// size that is not allowed.
    pub fn new(format: NumberFormat, shape: &'g [usize], bytes: &'g [u8]) -> Option<Self> {
        let product = |product: usize, n: &usize| product.checked_mul(*n);
        let size = shape.iter().try_fold(format.bytes(), product)?;
        // Bounds a walk over an array without numbers.
        let part = |parts: usize, n: &usize| parts.checked_mul((*n).max(1));
        let parts = shape.iter().try_fold(1, part)?;
        if parts > bytes.len().max(MAX_EMPTY_PARTS) {
            return None;
        }
        let numbers = Self {
            format,
            shape,
            bytes,
        };
        ((1..=8).contains(&format.bytes()) && size == bytes.len()).then_some(numbers)
    }

    /// Returns the part at `index`, which is below the first size of the shape.
    fn item(self, index: usize) -> Self {
        let stride = self.bytes.len() / self.shape[0];
        Self {
            shape: &self.shape[1..],
            bytes: &self.bytes[index * stride..(index + 1) * stride],
            ..self
        }
    }

    fn number(self) -> Option<Number> {
        if !self.shape.is_empty() {
            return None;
        }
        let mut word = [0; 8];
        word[..self.bytes.len()].copy_from_slice(self.bytes);
        let word = u64::from_le_bytes(word);
        Some(match self.format {
            NumberFormat::Bool => Number::Bool(word != 0),
            NumberFormat::Unsigned(_) => Number::Integer(word.into()),
            NumberFormat::Signed(bytes) => {
                let unused = 64 - 8 * bytes;
                Number::Integer(i128::from((word << unused) as i64 >> unused))
            }
            NumberFormat::Float => Number::Float(f64::from_bits(word)),
        })
    }

    /// Returns the bits of a single number as one of this type, the least significant first.
    /// Returns `None` if the number does not fit. The error then describes its JSON form.
    pub fn bits(self, ty: &Type) -> Option<impl Iterator<Item = bool> + use<>> {
        self.number()?.bits(ty)
    }

    /// Returns the same value as JSON.
    pub fn to_json(self) -> Json {
        match self.number() {
            Some(Number::Bool(bit)) => bit.into(),
            Some(Number::Integer(number)) if number.unsigned_abs() < FIRST_ROUNDED.into() => {
                (number as i64).into()
            }
            Some(Number::Integer(number)) => number.to_string().into(),
            Some(Number::Float(float)) => JsonNumber::from_f64(float).into(),
            None => {
                let items = 0..self.shape[0];
                items.map(|index| self.item(index).to_json()).collect()
            }
        }
    }
}

/// A number in machine form.
#[derive(Clone, Copy)]
pub(super) enum Number {
    Bool(bool),
    /// An integer of at most 64 bits and a sign.
    Integer(i128),
    Float(f64),
}

impl Number {
    /// Returns the bits of this number as one of type `ty`, if it fits.
    pub(super) fn bits(self, ty: &Type) -> Option<impl Iterator<Item = bool> + use<>> {
        let width = ty.width();
        let (number, shift) = match (ty.kind(), self) {
            (Kind::Bit, Self::Bool(bit)) => (bit.into(), 0),
            (Kind::Unsigned(_) | Kind::Signed(_), Self::Integer(number)) => (number, 0),
            (&Kind::Fixed { fraction, .. }, Self::Integer(number)) => (number, fraction as usize),
            (&Kind::Fixed { fraction, .. }, Self::Float(float)) => fixed(float, width, fraction)?,
            _ => return None,
        };
        let is_signed = matches!(ty.kind(), Kind::Signed(_) | Kind::Fixed { .. });
        let magnitude = if number < 0 { !number } else { number };
        let bits = 128 - magnitude.leading_zeros() as usize + usize::from(is_signed);
        let fits = bits + shift <= width && (is_signed || number >= 0);
        let bit = move |place: usize| match place.checked_sub(shift) {
            Some(place) => number >> place.min(127) & 1 == 1,
            None => false,
        };
        fits.then(|| (0..width).map(bit))
    }
}

/// Returns the fixed-point number of this width that is nearest to `float`, as an integer that is
/// to be shifted left. Of two equally near numbers, it takes the even one. As for text, a value
/// below the bound of the type is not rounded up to the bound, and a value below the least number
/// is refused.
fn fixed(float: f64, width: usize, fraction: u32) -> Option<(i128, usize)> {
    if !float.is_finite() {
        return None;
    }
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let word = float.to_bits();
    let exponent = (word >> MANTISSA_BITS & 0x7ff) as i64;
    let mantissa = word & ((1 << MANTISSA_BITS) - 1) | u64::from(exponent != 0) << MANTISSA_BITS;
    let signed = |magnitude: u64| {
        if float.is_sign_negative() {
            -i128::from(magnitude)
        } else {
            magnitude.into()
        }
    };
    // The number is the mantissa times 2^(exponent - 1075), or times 2^-1074 if it is subnormal.
    let shift = exponent.max(1) - 1075 + i64::from(fraction);
    if let Ok(shift) = usize::try_from(shift) {
        return Some((signed(mantissa), shift));
    }
    // For shifts of 2^63 and more, the mantissa is less than a half.
    let right = shift.unsigned_abs().min(63);
    let (magnitude, rest, half) = (
        mantissa >> right,
        mantissa & ((1 << right) - 1),
        1 << (right - 1),
    );
    let bound = 1_u64.checked_shl(width as u32 - 1).unwrap_or(u64::MAX);
    let is_up = rest > half || rest == half && magnitude & 1 == 1;
    match float.is_sign_negative() {
        true if magnitude >= bound && rest != 0 => None,
        false if magnitude == bound - 1 => Some((signed(magnitude), 0)),
        _ => Some((signed(magnitude + u64::from(is_up)), 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::*;

    /// Returns the bits of a number's exact decimal expansion, which is read as text.
    fn of_text(ty: &Type, text: &str) -> Option<Vec<bool>> {
        Some(Value::parse(ty, text).ok()?.to_bits().to_vec())
    }

    #[test]
    fn a_float_is_rounded_as_its_exact_text_is() {
        let types = [
            "fixed[1,1]",
            "fixed[4,2]",
            "fixed[10,20]",
            "fixed[40,40]",
            "fixed[3,1100]",
        ];
        let mut floats = vec![
            0.0,
            f64::MIN_POSITIVE,
            f64::from_bits(1),
            2_f64.powi(-1073),
            1e300,
        ];
        // Ties and their neighbours, some of which have more digits than their shortest text.
        for (odd, exponent) in [
            (1, 1),
            (3, 3),
            (5, 21),
            (12_345, 21),
            (1_048_575, 21),
            (31, 3),
        ] {
            let tie = f64::from(odd) * 2_f64.powi(-exponent);
            floats.extend([tie.next_down(), tie, tie.next_up()]);
        }
        for bound in [1.0_f64, 8.0, 512.0, 2_f64.powi(39)] {
            floats.extend([0.1, 0.2, 0.3].map(|part| bound - part));
            floats.extend([bound.next_down(), bound, bound.next_up()]);
        }
        for ty in types {
            let ty: Type = ty.parse().unwrap();
            for float in floats.iter().flat_map(|float| [*float, -float]) {
                let bits = Number::Float(float).bits(&ty);
                let text = format!("{float:.1074}");
                assert_eq!(
                    bits.map(Vec::from_iter),
                    of_text(&ty, &text),
                    "{ty} {float:e}"
                );
            }
        }
    }

    #[test]
    fn integers_are_read_as_their_text_is() {
        let words = [
            0,
            1,
            2,
            127,
            128,
            255,
            256,
            (1 << 53) + 1,
            1 << 63,
            u64::MAX,
        ];
        for ty in [
            "u1",
            "u8",
            "u64",
            "u100",
            "i1",
            "i8",
            "i64",
            "i65",
            "fixed[8,0]",
            "fixed[9,70]",
        ] {
            let ty: Type = ty.parse().unwrap();
            for bytes in 1..=8 {
                for word in words.map(u64::to_le_bytes) {
                    let mut all = [0; 8];
                    all[..bytes].copy_from_slice(&word[..bytes]);
                    let unsigned = u64::from_le_bytes(all);
                    let unused = 64 - 8 * bytes;
                    let signed = (unsigned << unused) as i64 >> unused;
                    for (format, text) in [
                        (NumberFormat::Unsigned(bytes), unsigned.to_string()),
                        (NumberFormat::Signed(bytes), signed.to_string()),
                    ] {
                        let number = Numbers::new(format, &[], &word[..bytes]).unwrap();
                        let bits = number.bits(&ty).map(Vec::from_iter);
                        assert_eq!(bits, of_text(&ty, &text), "{ty} {text}");
                        assert_eq!(number.to_json().as_str().unwrap_or(&text), text);
                    }
                }
            }
        }
    }

    #[test]
    fn an_array_is_as_large_as_its_shape() {
        let new = Numbers::new;
        let bytes = [0; 12];
        assert!(new(NumberFormat::Unsigned(2), &[3, 2], &bytes).is_some());
        assert!(new(NumberFormat::Unsigned(2), &[3, 3], &bytes).is_none());
        assert!(new(NumberFormat::Unsigned(0), &[3], &[]).is_none());
        assert!(new(NumberFormat::Signed(12), &[1], &bytes).is_none());
        assert!(new(NumberFormat::Bool, &[usize::MAX, 2], &bytes).is_none());
        assert!(new(NumberFormat::Bool, &[1 << 62, 0], &[]).is_none());
        let none = new(NumberFormat::Float, &[0, 3], &[]).unwrap();
        assert_eq!(HostValue::Numbers(none).items().count(), 0);
    }
}
