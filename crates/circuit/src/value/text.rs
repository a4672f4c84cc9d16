//! Values from and to text.

use crate::{CircuitError, Kind, Type};

use super::given::HostValue;
use super::json::wipe_json;
use super::number::{Natural, negated_if};
use super::{Reader, Value};

/// The greatest number of digits of a number in text. It is enough for the exact expansion of every
/// type's values, and bounds the quadratic work of reading them.
const MAX_DIGITS: usize = 8192;

impl Reader<'_> {
    /// Reads a value from text.
    pub(super) fn text(&mut self, ty: &Type, text: &str) -> Result<(), CircuitError> {
        match ty.kind() {
            Kind::Bit | Kind::Bits(_) => self.bit_string(ty, text),
            Kind::Unsigned(_) | Kind::Signed(_) => self.integer(ty, text),
            Kind::Fixed { .. } => self.fixed(ty, text),
            Kind::Bytes(_) => self.hex(ty, text),
            Kind::Array(..) => {
                let json = serde_json::from_str(text).map_err(|error| {
                    // The error's own text may quote the value.
                    let (line, column) = (error.line(), error.column());
                    let found = if text.trim_start().starts_with('[') {
                        format!("text that is not JSON at line {line} column {column}")
                    } else {
                        "text that is not JSON: it does not begin with [".to_owned()
                    };
                    self.error(ty, "a JSON list".to_owned(), found)
                })?;
                let result = self.given(ty, HostValue::Json(&json));
                wipe_json(json);
                result
            }
        }
    }

    fn bit_string(&mut self, ty: &Type, text: &str) -> Result<(), CircuitError> {
        let expected = || match ty.width() {
            1 => "0 or 1".to_owned(),
            width => format!("{width} characters 0 or 1, index 0 first"),
        };
        if text.len() != ty.width() {
            return Err(self.error(ty, expected(), characters(text)));
        }
        if let Some(index) = text.bytes().position(|c| c & !1 != b'0') {
            let found = format!("another character at index {index}");
            return Err(self.error(ty, expected(), found));
        }
        text.bytes().for_each(|c| self.bits.push(c & 1 == 1));
        Ok(())
    }

    fn hex(&mut self, ty: &Type, text: &str) -> Result<(), CircuitError> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let expected = || {
            let bytes = ty.width() / 8;
            format!("{} hex digits, which are {bytes} bytes in order", 2 * bytes)
        };
        if let Some(index) = digits.bytes().position(|c| !c.is_ascii_hexdigit()) {
            let found = format!(
                "another character at index {index} of {}",
                characters(digits)
            );
            return Err(self.error(ty, expected(), found));
        }
        if digits.len() * 4 != ty.width() {
            return Err(self.error(ty, expected(), format!("{} of them", digits.len())));
        }
        for pair in digits.as_bytes().chunks_exact(2) {
            self.bits
                .push_byte(hex_digit(pair[0]) << 4 | hex_digit(pair[1]));
        }
        Ok(())
    }

    fn integer(&mut self, ty: &Type, text: &str) -> Result<(), CircuitError> {
        let (negative, digits) = sign(text);
        let (radix, digits) = match digits.strip_prefix("0x") {
            Some(hex) => (16, hex),
            None => (10, digits),
        };
        let is_digit = |c: u8| {
            if radix == 16 {
                c.is_ascii_hexdigit()
            } else {
                c.is_ascii_digit()
            }
        };
        if digits.is_empty() || digits.len() > MAX_DIGITS || !digits.bytes().all(is_digit) {
            return Err(self.error(ty, number_range(ty), no_number(text)));
        }
        let mut magnitude = Natural::with_bits(ty.width() + 1);
        let overflow = digits.bytes().fold(false, |overflow, digit| {
            overflow | magnitude.multiply_add(radix, u32::from(hex_digit(digit)))
        });
        self.number(ty, negative, magnitude, overflow)
    }

    /// Reads the nearest value of the type, or the even one of two equally near values. The number
    /// itself must be in the type's range: from -2^(i - 1) to less than 2^(i - 1).
    fn fixed(&mut self, ty: &Type, text: &str) -> Result<(), CircuitError> {
        let Kind::Fixed { fraction, .. } = *ty.kind() else {
            unreachable!("a fixed type")
        };
        let Some((negative, digits, places)) = decimal(text) else {
            return Err(self.error(ty, number_range(ty), no_number(text)));
        };
        let zeros = usize::try_from(-places).unwrap_or(0);
        let decimal_bits = 4 * (digits.len() + zeros);
        let mut magnitude = Natural::with_bits(decimal_bits + fraction as usize + 1);
        let digits = digits.bytes().map(|digit| u32::from(digit - b'0'));
        for digit in digits.chain(core::iter::repeat_n(0, zeros)) {
            magnitude.multiply_add(10, digit);
        }
        for _ in 0..fraction {
            magnitude.multiply_add(2, 0);
        }
        let (mut sticky, mut last) = (false, 0);
        for _ in 0..places {
            sticky |= last != 0;
            last = magnitude.divide(10);
        }
        // At this point, the magnitude is rounded towards zero.
        let top = ty.width() - 1;
        let below_least = negative && magnitude.any_bit_from(top) && (sticky || last != 0);
        let is_greatest = !negative && (0..top).fold(true, |all, i| all & magnitude.bit(i));
        let up = last > 5 || last == 5 && (sticky || magnitude.bit(0));
        magnitude.multiply_add(1, u32::from(up && !is_greatest));
        self.number(ty, negative, magnitude, below_least)
    }

    /// Reads a number's bits if it is in the type's range.
    pub(super) fn number(
        &mut self,
        ty: &Type,
        negative: bool,
        magnitude: Natural,
        overflow: bool,
    ) -> Result<(), CircuitError> {
        let width = ty.width();
        let too_large = match ty.kind() {
            Kind::Unsigned(_) if negative => magnitude.any_bit_from(0),
            Kind::Unsigned(_) => magnitude.any_bit_from(width),
            // The least number is -2^(width - 1), whose magnitude has one bit more than the others.
            _ => {
                let least = !magnitude.any_bit_below(width - 1) && !magnitude.any_bit_from(width);
                magnitude.any_bit_from(width - 1) && !(negative && least)
            }
        };
        if overflow || too_large {
            return Err(self.error(ty, number_range(ty), "a number out of range".to_owned()));
        }
        let bits = negated_if(negative, (0..width).map(|i| magnitude.bit(i)));
        bits.for_each(|bit| self.bits.push(bit));
        Ok(())
    }
}

/// Splits a text into its sign and the rest.
fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Parses a decimal number `digits / 10^places` with its sign, from text with or without a point
/// and an exponent.
fn decimal(text: &str) -> Option<(bool, String, i32)> {
    let (negative, text) = sign(text);
    let (text, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, behind) = text.split_once('.').unwrap_or((text, "0"));
    let exponent: i32 = exponent
        .parse()
        .ok()
        .filter(|e: &i32| e.unsigned_abs() <= 4096)?;
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
    // 0.5 may be written as .5.
    let whole = if text.starts_with('.') { "0" } else { whole };
    let long = whole.len() + behind.len() > MAX_DIGITS;
    if long || !is_number(whole) || !is_number(behind) {
        return None;
    }
    Some((
        negative,
        format!("{whole}{behind}"),
        behind.len() as i32 - exponent,
    ))
}

/// Returns the value of a hex digit, without a table that a secret would index.
fn hex_digit(digit: u8) -> u8 {
    (digit & 0xf) + 9 * (digit >> 6)
}

/// Describes, without quoting it, a text that is not a number of its type.
fn no_number(text: &str) -> String {
    let digits = sign(text).1;
    let is_digit = |c: char| c.is_ascii_digit();
    let is_between = |c: char| matches!(c, ',' | '.' | '_' | ' ' | '\'');
    let is_grouped = digits.starts_with(is_digit)
        && digits.ends_with(is_digit)
        && digits.contains(is_between)
        && digits.chars().all(|c| is_digit(c) || is_between(c));
    if text.is_empty() {
        "an empty text".to_owned()
    } else if text != text.trim() {
        format!("text of {} with spaces around it", characters(text))
    } else if decimal(text).is_some() {
        "a number with a decimal point or an exponent".to_owned()
    } else if is_grouped {
        "digits with other characters between them".to_owned()
    } else {
        format!("text of {} that is not such a number", characters(text))
    }
}

fn characters(text: &str) -> String {
    match text.len() {
        1 => "1 character".to_owned(),
        n => format!("{n} characters"),
    }
}

/// Describes the numbers of a type, for an error.
pub(super) fn number_range(ty: &Type) -> String {
    let power = |bits: u32, minus: u32| match 1_u128.checked_shl(bits) {
        Some(power) if bits <= 64 => (power - u128::from(minus)).to_string(),
        _ if minus == 0 => format!("2^{bits}"),
        _ => format!("2^{bits} - {minus}"),
    };
    match *ty.kind() {
        Kind::Signed(n) => {
            let bits = n - 1;
            let (least, most) = (power(bits, 0), power(bits, 1));
            format!("a number from -{least} to {most}, in decimal or as 0x…")
        }
        Kind::Fixed { integer, .. } => {
            let bound = power(integer - 1, 0);
            format!("a decimal number from -{bound} to less than {bound}")
        }
        _ => {
            let most = power(ty.width() as u32, 1);
            format!("a number from 0 to {most}, in decimal or as 0x…")
        }
    }
}

impl Value {
    /// Returns text that [`Value::parse`] reads back: numbers in decimal, byte strings in
    /// lower-case hex, bit strings as zeros and ones, arrays as JSON lists.
    ///
    /// There is no `Display`, so that a value is never shown by accident.
    pub fn to_text(&self) -> String {
        match self.ty.kind() {
            Kind::Bit | Kind::Bits(_) => (0..self.ty.width())
                .map(|i| char::from(b'0' + u8::from(self.bit(i))))
                .collect(),
            Kind::Unsigned(_) | Kind::Signed(_) => {
                let (negative, magnitude) = self.magnitude();
                with_sign(negative, magnitude.into_decimal())
            }
            Kind::Fixed { fraction, .. } => {
                let (negative, magnitude) = self.magnitude();
                with_sign(
                    negative,
                    fixed_text(magnitude, *fraction as usize, self.ty.width()),
                )
            }
            Kind::Bytes(_) => self
                .packed
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            Kind::Array(..) => self.to_json().to_string(),
        }
    }

    /// Returns the sign and magnitude of a number.
    pub(super) fn magnitude(&self) -> (bool, Natural) {
        let width = self.ty.width();
        let signed = matches!(self.ty.kind(), Kind::Signed(_) | Kind::Fixed { .. });
        let negative = signed && self.bit(width - 1);
        let mut number = Natural::with_bits(width + 1);
        let bits = negated_if(negative, (0..width).map(|i| self.bit(i)));
        bits.enumerate().for_each(|(i, bit)| number.set_bit(i, bit));
        (negative, number)
    }
}

fn with_sign(negative: bool, digits: String) -> String {
    if negative {
        format!("-{digits}")
    } else {
        digits
    }
}

/// Writes `magnitude / 2^fraction` exactly: f binary places are at most f decimal places.
fn fixed_text(magnitude: Natural, fraction: usize, width: usize) -> String {
    let mut whole = Natural::with_bits(width + 1);
    let mut behind = Natural::with_bits(fraction + 4);
    (fraction..=width).for_each(|i| whole.set_bit(i - fraction, magnitude.bit(i)));
    (0..fraction).for_each(|i| behind.set_bit(i, magnitude.bit(i)));
    let mut digits = String::new();
    while behind.any_bit_from(0) {
        behind.multiply_add(10, 0);
        let digit = (0..4)
            .map(|i| u8::from(behind.bit(fraction + i)) << i)
            .sum::<u8>();
        digits.push(char::from(b'0' + digit));
        (0..4).for_each(|i| behind.set_bit(fraction + i, false));
    }
    let whole = whole.into_decimal();
    if digits.is_empty() {
        whole
    } else {
        format!("{whole}.{digits}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(ty: &str, text: &str) -> Result<String, CircuitError> {
        Value::parse(&ty.parse().unwrap(), text).map(|value| value.to_text())
    }

    #[test]
    fn texts_are_read_and_printed() {
        let known = [
            ("bit", "0", "0"),
            ("bits[5]", "01101", "01101"),
            ("u8", "255", "255"),
            ("u8", "0xfF", "255"),
            ("u8", "007", "7"),
            ("u8", "-0", "0"),
            ("u64", "18446744073709551615", "18446744073709551615"),
            (
                "u128",
                "0xffffffffffffffffffffffffffffffff",
                "340282366920938463463374607431768211455",
            ),
            ("i8", "-128", "-128"),
            ("i8", "-0x80", "-128"),
            ("i8", "127", "127"),
            ("i1", "-1", "-1"),
            ("i64", "-9223372036854775808", "-9223372036854775808"),
            ("bytes[3]", "0x00FFa1", "00ffa1"),
            ("bytes[3]", "00ffa1", "00ffa1"),
            ("u8[3]", "[1, 2, \"0xff\"]", "[1,2,255]"),
            ("bytes[1][2]", "[\"00\",\"ff\"]", "[\"00\",\"ff\"]"),
            ("bits[2][2]", "[\"01\",\"11\"]", "[\"01\",\"11\"]"),
        ];
        for (ty, written, printed) in known {
            assert_eq!(text(ty, written).as_deref(), Ok(printed), "{ty} {written}");
        }
    }

    #[test]
    fn fixed_point_rounds_to_the_nearest_and_prints_exactly() {
        let known = [
            ("fixed[8,8]", "3.25", "3.25"),
            ("fixed[8,8]", "-3.25", "-3.25"),
            ("fixed[8,8]", "7", "7"),
            ("fixed[8,8]", "-128", "-128"),
            ("fixed[8,8]", "0.1", "0.1015625"),
            ("fixed[8,8]", "-0.1", "-0.1015625"),
            ("fixed[8,8]", "25e-2", "0.25"),
            ("fixed[8,8]", "1.25e1", "12.5"),
            ("fixed[8,1]", "0.25", "0"),
            ("fixed[8,1]", "0.75", "1"),
            ("fixed[8,1]", "0.2500001", "0.5"),
            ("fixed[8,0]", "2.5", "2"),
            ("fixed[8,0]", "3.5", "4"),
            ("fixed[8,8]", "-0.0001", "0"),
            ("fixed[8,8]", "127.999", "127.99609375"),
            ("fixed[8,8]", "127.99999999999", "127.99609375"),
            ("fixed[8,8]", "-127.9999", "-128"),
            ("fixed[8,8]", "-128.000", "-128"),
            ("fixed[1,0]", "0.999", "0"),
            ("fixed[1,0]", "-1", "-1"),
        ];
        for (ty, written, printed) in known {
            assert_eq!(text(ty, written).as_deref(), Ok(printed), "{ty} {written}");
        }
        for out_of_range in ["128", "-128.001", "-128.00000000001", "1e9", "-1e4096"] {
            assert!(text("fixed[8,8]", out_of_range).is_err(), "{out_of_range}");
        }
        assert!(text("fixed[1,0]", "-1.001").is_err());
        assert!(text("fixed[1,0]", "1").is_err());
    }

    proptest! {
        /// The oracle searches all values of the type.
        #[test]
        fn the_nearest_value_is_taken(
            (integer, fraction) in (1..6_u32, 0..6_u32),
            digits in -4000..4000_i64,
            places in 0..4_usize,
        ) {
            let scale = 10_i64.pow(places as u32);
            let number = format!(
                "{}{}.{:0places$}0",
                if digits < 0 { "-" } else { "" },
                digits.abs() / scale,
                digits.abs() % scale,
            );
            let number = if places == 0 { digits.to_string() } else { number };
            let bound = 1_i64 << (integer - 1);
            let is_in_range = (-bound * scale..bound * scale).contains(&digits);
            let ty = Type::fixed(integer as usize, fraction as usize);
            let read = Value::parse(&ty, &number);
            prop_assert_eq!(read.is_ok(), is_in_range, "{} as {}", number, ty);
            let most = bound << fraction;
            let distance = |k: &i64| ((digits << fraction) - k * scale).abs();
            // The even value is the first among equals.
            let nearest = (-most..most).min_by_key(|k| (distance(k), k & 1));
            if let (Ok(read), Some(nearest)) = (read, nearest) {
                let bits = read.to_bits();
                let bit = |i: usize| nearest >> i & 1 == 1;
                prop_assert!((0..bits.len()).all(|i| bits[i] == bit(i)), "{} as {}", number, ty);
                let again = Value::parse(&ty, &read.to_text());
                prop_assert_eq!(again, Ok(read), "{} printed", number);
            }
        }
    }

    /// Type, text, expected value, found value.
    const REFUSED: &str = "
u8 | 256 | a number from 0 to 255, in decimal or as 0x… | a number out of range
u8 | -1 | a number from 0 to 255, in decimal or as 0x… | a number out of range
i8 | 128 | a number from -128 to 127, in decimal or as 0x… | a number out of range
i8 | -129 | a number from -128 to 127, in decimal or as 0x… | a number out of range
u64 | 0x10000000000000000 | a number from 0 to 18446744073709551615, in decimal or as 0x… | \
        a number out of range
u99 | ? | a number from 0 to 2^99 - 1, in decimal or as 0x… | \
        text of 1 character that is not such a number
fixed[9,1] | 256 | a decimal number from -256 to less than 256 | a number out of range
fixed[9,1] | ?? | a decimal number from -256 to less than 256 | \
        text of 2 characters that is not such a number
u8 |  | a number from 0 to 255, in decimal or as 0x… | an empty text
u8 | 5.0 | a number from 0 to 255, in decimal or as 0x… | \
        a number with a decimal point or an exponent
u8 | 1e2 | a number from 0 to 255, in decimal or as 0x… | \
        a number with a decimal point or an exponent
u32 | 50,000 | a number from 0 to 4294967295, in decimal or as 0x… | \
        digits with other characters between them
u8 | 7  | a number from 0 to 255, in decimal or as 0x… | text of 2 characters with spaces around it
fixed[9,1] | 1,5 | a decimal number from -256 to less than 256 | \
        digits with other characters between them
bit | 2 | 0 or 1 | another character at index 0
bits[3] | 01 | 3 characters 0 or 1, index 0 first | 2 characters
bits[3] | 01x | 3 characters 0 or 1, index 0 first | another character at index 2
bytes[2] | 0xabc | 4 hex digits, which are 2 bytes in order | 3 of them
bytes[2] | abcg | 4 hex digits, which are 2 bytes in order | \
        another character at index 3 of 4 characters
u8[2] | [1,2, | a JSON list | text that is not JSON at line 1 column 5
u8[2] | 1,2 | a JSON list | text that is not JSON: it does not begin with [
u8[2] | [1,2,3] | a list of 2 | a list of 3
";

    #[test]
    fn other_texts_are_refused_without_being_quoted() {
        for case in REFUSED.trim().lines() {
            let [ty, written, expected, found] = case.split(" | ").collect::<Vec<_>>()[..] else {
                panic!("{case}");
            };
            let error = text(ty, written).unwrap_err().to_string();
            let message = format!("the value is of type {ty}: expected {expected}, found {found}");
            assert_eq!(error, message);
        }
    }

    #[test]
    fn numbers_have_one_form() {
        for number in "|-|+|0x|+-1| 1|1 |1_000|--1|0X1|1.0|1e3|é".split('|') {
            assert!(text("i32", number).is_err(), "{number:?}");
        }
        for number in "|.|1.|+.|0x1|1e|1e5000|1e9999999999|1.-5|nan".split('|') {
            assert!(text("fixed[32,32]", number).is_err(), "{number:?}");
        }
        assert!(text("u8", &"0".repeat(MAX_DIGITS)).is_ok());
        assert!(text("u8", &"0".repeat(MAX_DIGITS + 1)).is_err());
    }

    #[test]
    fn the_error_names_the_element_and_its_type() {
        let error = text("u8[2][2]", "[[1,2],[3,256]]").unwrap_err().to_string();
        assert!(
            error.starts_with("the value[1][1] is of type u8: expected"),
            "{error}"
        );
    }
}
