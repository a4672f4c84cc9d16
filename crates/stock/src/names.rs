//! The names of a stock and of its contents. They are plain bytes: this crate knows nothing about
//! circuits, schemes or identities.

use std::fmt;

use sha2::{Digest, Sha256};
use tacit_circuit::Role;

use crate::StockError;

/// A party, by the digest of its public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub [u8; 32]);

/// The kind of an instance: a component, or another kind of material such as blocks of correlated
/// OTs. It is a digest that both parties compute alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentDigest(pub [u8; 32]);

impl ComponentDigest {
    /// Returns a kind of material that is not a circuit, by a name such as `correlated OT, blocks
    /// of 128`.
    pub fn of_kind(name: &str) -> Self {
        let hash = Sha256::new()
            .chain_update(b"tacit stock kind")
            .chain_update(name);
        Self(hash.finalize().into())
    }
}

/// Returns the role with this number.
pub(crate) fn role_of_byte(byte: u8) -> Option<Role> {
    Role::BOTH.into_iter().find(|role| *role as u8 == byte)
}

/// The lifetime of one Δ. The number grows by at least one from epoch to epoch. The nonce
/// distinguishes epochs that were started under the same number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EpochId {
    /// The number, which is 1 for the first epoch.
    pub number: u64,
    /// A random nonce.
    pub nonce: [u8; 16],
}

impl EpochId {
    /// Draws a new epoch after number `after` (0: the first), from the operating system's
    /// randomness.
    ///
    /// # Errors
    ///
    /// The operating system provides no randomness, or the numbers are used up.
    pub fn generate(after: u64) -> Result<Self, StockError> {
        let mut nonce = [0; 16];
        crate::seal::randomness(&mut nonce)?;
        let number = after.checked_add(1).ok_or_else(|| StockError::ApiMisuse {
            what: "the last epoch has the highest number there is".to_owned(),
        })?;
        Ok(Self { number, nonce })
    }

    /// Returns the name of the epoch's folder.
    pub(crate) fn folder_name(&self) -> String {
        let nonce = u128::from_be_bytes(self.nonce);
        format!("epoch-{:020}-{nonce:032x}", self.number)
    }

    /// Returns the epoch with a folder of this name, if it is one of an epoch.
    pub(crate) fn of_folder(name: &str) -> Option<Self> {
        let (number, nonce) = name.strip_prefix("epoch-")?.split_once('-')?;
        let nonce = u128::from_str_radix(nonce, 16).ok()?.to_be_bytes();
        let number = number.parse().ok()?;
        let epoch = Self { number, nonce };
        (epoch.folder_name() == name).then_some(epoch)
    }
}

/// The name of one of several processes of a party, each with a folder of its own. All bytes are
/// zero if the party has one process.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(pub [u8; 16]);

/// The processes that share a stock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneIds {
    /// This party's.
    pub own: LaneId,
    /// The other party's.
    pub peer: LaneId,
}

impl LaneIds {
    /// Returns the bytes of both names, or none if either party has one process.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        if self == Self::default() {
            return Vec::new();
        }
        [self.own.0, self.peer.0].concat()
    }

    /// Returns the same processes as the other party names them.
    pub(crate) fn swapped(self) -> Self {
        let Self { own, peer } = self;
        Self {
            own: peer,
            peer: own,
        }
    }
}

/// The id of a stock: its parties and their lanes, this party's role, and the scheme. Its epochs
/// follow one another inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StockId {
    /// This party.
    pub own: PeerId,
    /// The other party.
    pub peer: PeerId,
    /// This party's role in the runs that use the stock.
    pub role: Role,
    /// The id of the scheme under which the material was garbled, or of its purpose instead.
    pub scheme: [u8; 4],
    /// The processes that have the two halves.
    pub lanes: LaneIds,
}

impl StockId {
    /// Returns the digest of the name, which the files of the stock carry.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::new()
            .chain_update(b"tacit stock name")
            .chain_update(self.own.0)
            .chain_update(self.peer.0)
            .chain_update([self.role as u8])
            .chain_update(self.scheme)
            .chain_update(self.lanes.to_bytes())
            .finalize()
            .into()
    }
}

/// The size of an instance of a kind at this party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceSize {
    /// Bytes that are sealed: a garbler's seed and labels, an evaluator's choice bits.
    pub secret_bytes: u32,
    /// Bytes that are only protected against change: garbled tables.
    pub table_bytes: u32,
}

fn hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(f, &self.0)
    }
}

impl fmt::Debug for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerId({self})")
    }
}

impl fmt::Display for LaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0.iter().take_while(|byte| **byte != 0);
        name.flat_map(|byte| byte.escape_ascii())
            .try_for_each(|byte| write!(f, "{}", char::from(byte)))
    }
}

impl fmt::Debug for LaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LaneId({self})")
    }
}

impl fmt::Display for ComponentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(f, &self.0)
    }
}

impl fmt::Debug for ComponentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ComponentDigest({self})")
    }
}

impl fmt::Display for EpochId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-", self.number)?;
        hex(f, &self.nonce[..4])
    }
}

impl fmt::Debug for EpochId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EpochId({self})")
    }
}
