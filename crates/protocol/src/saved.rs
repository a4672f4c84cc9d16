//! Values that stay garbled between runs: the data that two parties keep, and the way a later run
//! takes it. The garbler and the evaluator keep them under `prepared` and `authenticated`, the
//! generator and the cloud under `outsourced`.
//!
//! | module | contents |
//! |---|---|
//! | `value` | a party's half of a value, and its bytes |
//! | `gates` | links from the labels that a run saved to labels of this run |
//! | `pair` | a chain of two parties: its name and its progress |
//! | `state` | the state that both parties compare before a run: chain, version and loads |
//!
//! A value belongs to a chain of runs, which both parties name by the same [`ChainId`].

#[cfg(test)]
pub(crate) mod functions;
mod gates;
mod pair;
mod state;
mod value;

use core::fmt;
use core::str::FromStr;

use tacit_garble::{Assumption, GateCost, SchemeId};
use zeroize::Zeroizing;

use crate::Error;
use crate::malicious::oracle::{Domain, Oracle};

pub(crate) use gates::{GATE_BYTES, follow_gates, write_gates};
pub use pair::PairChain;
pub(crate) use pair::id_oracle;
pub use state::SavedState;
pub use value::{EvaluatorHalf, GarblerHalf, MAX_SAVED_BITS, Mark, SharedHalf};
pub(crate) use value::{Labels, Reader, SavedCopy, check_loads, check_size};

/// Whether values can be kept under this scheme. It must treat AES as an ideal cipher, on which the
/// gates that lead to the next run rest, and it must have one Δ for all wires, as free XOR does.
#[must_use]
pub fn keeps_under(scheme: SchemeId) -> bool {
    scheme.rung().is_ok_and(|scheme| {
        scheme.assumption == Assumption::IdealCipher && scheme.cost.xor == GateCost::FREE
    })
}

/// The largest number of attempts by which a chain is forwarded at once. Under `outsourced` each
/// attempt costs a hash per key.
pub const MAX_FORWARD: u64 = 64;

/// Returns the number of attempts from `attempt` to `later`.
pub(crate) fn steps_to(attempt: u64, later: u64) -> Result<u64, Error> {
    match later.checked_sub(attempt) {
        Some(steps @ 1..=MAX_FORWARD) => Ok(steps),
        _ => Err(Error::ApiMisuse(
            "a chain is forwarded to a later attempt, and by at most 64 of them at once",
        )),
    }
}

pub(crate) const BROKEN: Error =
    Error::ApiMisuse("the bytes of a chain or a saved value, as they were kept");

/// A party's record of a chain of runs.
pub trait StoredChain: Sized {
    /// Returns the chain's name.
    fn id(&self) -> ChainId;

    /// Moves the chain to `attempt`, hashing its keys forward. Callers do this, and store the
    /// result, before every attempt.
    ///
    /// # Errors
    ///
    /// `attempt` is not later, or is more than [`MAX_FORWARD`] later.
    fn forward_to(&mut self, attempt: u64) -> Result<(), Error>;

    /// Sets the version that a run loads from.
    #[must_use]
    fn at_version(self, version: u64) -> Self;

    /// Returns the chain's bytes.
    fn to_bytes(&self) -> Zeroizing<Vec<u8>>;

    /// Returns the chain with these bytes.
    ///
    /// # Errors
    ///
    /// The bytes are not those of such a chain of this version.
    fn from_bytes(bytes: &[u8]) -> Result<Self, Error>;
}

/// A party's record of a saved value.
pub trait StoredValue: Sized {
    /// Returns the value's bytes.
    fn to_bytes(&self) -> Zeroizing<Vec<u8>>;

    /// Returns the value with these bytes.
    ///
    /// # Errors
    ///
    /// The bytes are not those of a saved value of this version.
    fn from_bytes(bytes: &[u8]) -> Result<Self, Error>;
}

/// A chain's name, the same at both parties that keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChainId(pub [u8; 16]);

impl ChainId {
    /// Returns the name of the chain that the run of `oracle` starts.
    pub(crate) fn new(oracle: &Oracle) -> Self {
        let hash = oracle.parts(Domain::Chain, 0, 0, &[]);
        let mut id = [0; 16];
        id.copy_from_slice(&hash[..16]);
        Self(id)
    }
}

/// A version of a chain, which clients pin and are told.
///
/// As text it is the id in hex, a colon and the version, such as
/// `000102030405060708090a0b0c0d0e0f:7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChainVersion {
    /// The chain.
    pub id: ChainId,
    /// The version, from 1.
    pub version: u64,
}

impl ChainVersion {
    /// Whether `found` is this version of the chain or a later one.
    pub fn is_reached_by(&self, found: Option<&Self>) -> bool {
        found.is_some_and(|found| found.id == self.id && found.version >= self.version)
    }
}

impl fmt::Display for ChainVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id
            .0
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ":{}", self.version)
    }
}

impl FromStr for ChainVersion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        const NONE: Error =
            Error::ApiMisuse("a version of a chain is 32 hex digits, a colon and a number from 1");
        let (id, version) = text.split_once(':').ok_or(NONE)?;
        let version = version.parse().ok().filter(|version| *version > 0);
        let digits = id.as_bytes();
        if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(NONE);
        }
        let id = u128::from_str_radix(id, 16).map_err(|_| NONE)?;
        Ok(Self {
            id: ChainId(id.to_be_bytes()),
            version: version.ok_or(NONE)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_reached_by_the_same_chain_at_that_version_or_later() {
        let text = "000102030405060708090a0b0c0d0e0f:7";
        let pin: ChainVersion = text.parse().unwrap();
        assert_eq!(pin.id.0, core::array::from_fn(|i| i as u8));
        assert_eq!(pin.to_string(), text);
        let at = |id, version| ChainVersion { id, version };
        assert!(pin.is_reached_by(Some(&at(pin.id, 7))) && pin.is_reached_by(Some(&at(pin.id, 8))));
        assert!(!pin.is_reached_by(Some(&at(pin.id, 6))) && !pin.is_reached_by(None));
        assert!(!pin.is_reached_by(Some(&at(ChainId([9; 16]), 7))));
        for wrong in [
            "",
            ":7",
            "00:7",
            &text[..33],
            &text.replace(":7", ":0"),
            "+".repeat(34).as_str(),
        ] {
            assert!(wrong.parse::<ChainVersion>().is_err(), "{wrong}");
        }
    }
}
