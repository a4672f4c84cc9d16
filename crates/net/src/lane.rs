//! The names of a party's processes.

use std::fmt;
use std::str::FromStr;

/// The name of one of several processes that serve peers as one party: up to 16 lower-case letters,
/// digits and hyphens. A party with one process has none.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane([u8; Self::BYTES]);

/// The text or the bytes are no name of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name of a lane is 1 to 16 lower-case letters, digits and hyphens, such as b or eu-2")]
pub struct NotALane;

impl Lane {
    /// The bytes of a name, which zeros fill up.
    pub const BYTES: usize = 16;
    /// No lane: the party has one process.
    pub const NONE: Self = Self([0; Self::BYTES]);

    /// Returns whether the party has one process.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// Returns the name's bytes, filled up with zeros; all are zero if there is no lane.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0
    }

    /// Returns the lane with these bytes, all of which are zero if there is none.
    ///
    /// # Errors
    ///
    /// They are neither a name nor all zero.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Result<Self, NotALane> {
        let lane = Self(bytes);
        if lane.is_none() || lane.name().parse() == Ok(lane) {
            return Ok(lane);
        }
        Err(NotALane)
    }

    /// Returns the name, which is empty if there is no lane.
    pub fn name(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0);
        str::from_utf8(&self.0[..end.unwrap_or(Self::BYTES)]).unwrap_or_default()
    }
}

impl FromStr for Lane {
    type Err = NotALane;

    fn from_str(text: &str) -> Result<Self, NotALane> {
        let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        if text.is_empty() || text.len() > Self::BYTES || !text.bytes().all(is_plain) {
            return Err(NotALane);
        }
        let mut bytes = [0; Self::BYTES];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Self(bytes))
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lane({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_form_in_bytes() {
        for name in ["b", "eu-2", "abcdefghijklmnop"] {
            let lane: Lane = name.parse().unwrap();
            assert_eq!(lane.to_string(), name);
            assert_eq!(Lane::from_bytes(lane.to_bytes()), Ok(lane));
        }
        for wrong in ["", "B", "a b", "ä", "a/b", "..", "abcdefghijklmnopq"] {
            assert_eq!(wrong.parse::<Lane>(), Err(NotALane), "{wrong}");
        }
        assert_eq!(Lane::from_bytes([0; 16]), Ok(Lane::NONE));
        for wrong in [[b'A'; 16], [0xff; 16], *b"a\0b\0\0\0\0\0\0\0\0\0\0\0\0\0"] {
            assert_eq!(Lane::from_bytes(wrong), Err(NotALane));
        }
    }
}
