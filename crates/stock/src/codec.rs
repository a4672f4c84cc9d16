//! Records as bytes: little-endian fields in order, all lengths bounded, no trailing bytes.

use crate::{LaneId, LaneIds, Span};

/// The reason why bytes form no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// The bytes end before the record does.
    Short,
    /// The bytes continue after the record.
    Long,
    /// A field has a value that is never written.
    Value(&'static str),
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short => f.write_str("too short"),
            Self::Long => f.write_str("too long"),
            Self::Value(field) => write!(f, "of an impossible {field}"),
        }
    }
}

/// A reader that takes fields off the front of bytes.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Parses all of `bytes` with `parse`.
    pub(crate) fn all<T>(
        bytes: &'a [u8],
        parse: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<T, Malformed> {
        let mut fields = Self::of(bytes);
        let parsed = parse(&mut fields)?;
        fields.end().map(|()| parsed)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a byte that is 0 or 1.
    pub(crate) fn flag(&mut self, field: &'static str) -> Result<bool, Malformed> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed::Value(field)),
        }
    }

    pub(crate) fn text(&mut self, length: usize, field: &'static str) -> Result<String, Malformed> {
        let text = String::from_utf8(self.bytes(length)?.to_vec());
        text.map_err(|_| Malformed::Value(field))
    }

    pub(crate) fn span(&mut self) -> Result<Span, Malformed> {
        let (first, count) = (self.u64()?, self.u64()?);
        Ok(Span { first, count })
    }

    pub(crate) fn lanes(&mut self) -> Result<LaneIds, Malformed> {
        let (own, peer) = (LaneId(self.array()?), LaneId(self.array()?));
        Ok(LaneIds { own, peer })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn end(self) -> Result<(), Malformed> {
        match self.rest {
            [] => Ok(()),
            _ => Err(Malformed::Long),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_in_order_and_no_further() {
        let mut fields = Fields::of(&[1, 2, 0, 3, 0, 0, 0, 9]);
        assert_eq!(fields.u8(), Ok(1));
        assert_eq!(fields.u16(), Ok(2));
        assert_eq!(fields.u32(), Ok(3));
        assert_eq!(fields.u64(), Err(Malformed::Short));
        assert_eq!(Fields::of(&[0]).end(), Err(Malformed::Long));
    }
}
