//! Values from text, such as the cells of a table.

use tacit_circuit::{HostValue, UniqueJson, Value as Leaf, wipe_json};
use zeroize::Zeroizing;

use super::{Read, Reader, leaf};
use crate::program::{TypeId, TypeKind};

impl Reader<'_> {
    /// Reads a value from text: its JSON, or the content of the string if its JSON is a string.
    pub(in crate::border) fn text(&mut self, ty: TypeId, text: &str) -> Read<()> {
        let is_scalar = match self.types.kind(ty) {
            TypeKind::Bool
            | TypeKind::Text(_)
            | TypeKind::Enum(_)
            | TypeKind::OpenText
            | TypeKind::OpenBytes
            | TypeKind::Unsigned(_)
            | TypeKind::Signed(_) => true,
            _ => leaf(self.types, ty).is_some(),
        };
        if is_scalar {
            return self.scalar_text(ty, text);
        }
        let UniqueJson(json) = serde_json::from_str(text).map_err(|error| {
            // The error's own text may quote the value.
            let (line, column) = (error.line(), error.column());
            let found = match text.trim_start().starts_with(['[', '{']) {
                true if error.is_data() => {
                    format!("an object with a name twice in line {line} at column {column}")
                }
                true => format!("text that is not JSON at line {line} column {column}"),
                false => "text that is not JSON: it does not begin with a bracket".to_owned(),
            };
            self.error(ty, self.expected(ty), found)
        })?;
        let result = self.given(ty, HostValue::Json(&json));
        wipe_json(json);
        result
    }

    /// Reads a value without parts from the text of a string.
    pub(super) fn scalar_text(&mut self, ty: TypeId, text: &str) -> Read<()> {
        match self.types.kind(ty) {
            TypeKind::Bool => {
                let bit = match text {
                    "true" | "True" | "TRUE" | "1" => Some(true),
                    "false" | "False" | "FALSE" | "0" => Some(false),
                    _ => None,
                };
                self.bool(ty, bit, "a string")
            }
            TypeKind::Text(n) => self.characters(ty, *n as usize, text),
            TypeKind::OpenText => self.any_text(ty, text),
            TypeKind::OpenBytes => self.any_bytes(ty, text),
            TypeKind::Enum(_) => self.variant(ty, text),
            TypeKind::Bytes(0) if text.is_empty() => Ok(()),
            TypeKind::Unsigned(width) if self.digits(text, *width, *width) => Ok(()),
            TypeKind::Signed(width) if self.digits(text, *width, *width - 1) => Ok(()),
            _ => match leaf(self.types, ty) {
                Some(leaf) => {
                    let is_negative = text.starts_with('-');
                    self.leaf(ty, &leaf, Leaf::parse(&leaf, text), is_negative)
                }
                None => Err(self.error(ty, self.expected(ty), "a string")),
            },
        }
    }

    /// Reads a whole number of less than 64 bits in at most 18 decimal digits, as most are. Returns
    /// whether it did so: other texts and numbers are read as any text, which says what is wrong.
    fn digits(&mut self, text: &str, width: u32, most_bits: u32) -> bool {
        if width >= 64 || text.is_empty() || text.len() > 18 {
            return false;
        }
        let mut number = 0;
        for digit in text.bytes() {
            if !digit.is_ascii_digit() {
                return false;
            }
            number = 10 * number + u64::from(digit - b'0');
        }
        if number >> most_bits > 0 {
            return false;
        }
        self.number(number, width);
        true
    }

    fn any_text(&mut self, ty: TypeId, text: &str) -> Read<()> {
        if text.contains('\0') {
            let found = "a character U+0000, which no key has";
            return Err(self.error(ty, self.expected(ty), found));
        }
        self.cell(text.as_bytes());
        Ok(())
    }

    fn any_bytes(&mut self, ty: TypeId, text: &str) -> Read<()> {
        let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
        let digit = |digit: u8| char::from(digit).to_digit(16);
        let byte = |pair: &[u8]| match *pair {
            [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
            _ => None,
        };
        // The capacity suffices, so that no part of the key stays behind in memory.
        let mut bytes = Zeroizing::new(Vec::with_capacity(digits.len().div_ceil(2)));
        for pair in digits.chunks(2) {
            let Some(byte) = byte(pair) else {
                return Err(self.error(ty, self.expected(ty), "another text"));
            };
            bytes.push(byte);
        }
        self.cell(&bytes);
        Ok(())
    }
}
