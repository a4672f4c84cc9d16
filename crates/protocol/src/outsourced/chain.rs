//! A chain of runs: the keys of one cut, which stays fixed while values are saved under it.
//!
//! With two different splits the cloud would evaluate a circuit under one and know its seed under
//! the other, and so hold both labels of a saved wire. Therefore all runs that share saved values
//! share a chain, and a value of another chain is refused.
//!
//! Bytes, numbers little-endian, all secret:
//!
//! | bytes | field |
//! |---|---|
//! | 1 | version of this table, 1 |
//! | 1 | owner: 1 generator, 2 cloud |
//! | 2, 1 | σ, k |
//! | 16 | id |
//! | 8 | attempt |
//! | generator: 64 a circuit | check key, evaluation key |
//! | cloud: 1 + 32 a circuit | 0 checked or 1 evaluated, its key |

use core::fmt;

use zeroize::Zeroizing;

use super::cut::{CutKey, Fate, Split};
use super::parameters::Parameters;
use crate::Error;
use crate::malicious::oracle::Oracle;
use crate::saved::{BROKEN, ChainId, ChainVersion, Reader, StoredChain, steps_to};

const VERSION: u8 = 1;

/// The fields that both ends of a chain have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) id: ChainId,
    pub(super) attempt: u64,
    pub(super) parameters: Parameters,
    /// The version that a run loads from; 0 before one is saved. The caller sets it, and it is not
    /// stored here.
    pub(super) version: u64,
}

impl Head {
    const BYTES: usize = 29;

    /// Returns the head of a chain that the run of `oracle` starts.
    pub(super) fn new(oracle: &Oracle, parameters: Parameters) -> Self {
        Self {
            id: ChainId::new(oracle),
            attempt: 0,
            parameters,
            version: 0,
        }
    }

    fn write(&self, side: u8, out: &mut Vec<u8>) {
        out.extend_from_slice(&[VERSION, side]);
        out.extend_from_slice(&(self.parameters.copies() as u16).to_le_bytes());
        out.push(self.parameters.statistical_security_bits());
        out.extend_from_slice(&self.id.0);
        out.extend_from_slice(&self.attempt.to_le_bytes());
    }

    fn read(side: u8, reader: &mut Reader<'_>) -> Result<Self, Error> {
        if reader.array()? != [VERSION, side] {
            return Err(BROKEN);
        }
        let copies = u16::from_le_bytes(reader.array()?);
        let [bits] = reader.array()?;
        Ok(Self {
            parameters: Parameters::from_fields(copies, bits).ok_or(BROKEN)?,
            id: ChainId(reader.array()?),
            attempt: u64::from_le_bytes(reader.array()?),
            version: 0,
        })
    }

    /// Returns the version that a run loads from, and the attempt.
    pub(super) fn place(&self) -> (ChainVersion, u64) {
        let (id, version) = (self.id, self.version);
        (ChainVersion { id, version }, self.attempt)
    }

    /// Returns the number of times that keys are hashed to reach `attempt`.
    fn steps_to(&self, attempt: u64) -> Result<u64, Error> {
        steps_to(self.attempt, attempt)
    }
}

/// The generator's end of a chain. Secret.
pub struct GeneratorChain {
    pub(super) head: Head,
    /// The check key and the evaluation key of each circuit.
    pub(super) keys: Vec<[CutKey; 2]>,
}

/// The cloud's end of a chain. Secret.
pub struct CloudChain {
    pub(super) head: Head,
    pub(super) split: Split,
    /// The key that the cloud has of each circuit.
    pub(super) keys: Vec<CutKey>,
}

macro_rules! both_ends {
    ($name:ident) => {
        impl $name {
            /// Returns the attempt that its keys are for.
            pub fn attempt(&self) -> u64 {
                self.head.attempt
            }

            /// Returns the parameters that it was started with.
            pub fn parameters(&self) -> Parameters {
                self.head.parameters
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} {{ {:?}, .. }}", stringify!($name), self.head)
            }
        }
    };
}

both_ends!(GeneratorChain);
both_ends!(CloudChain);

impl GeneratorChain {
    const SIDE: u8 = 1;
}

impl StoredChain for GeneratorChain {
    fn id(&self) -> ChainId {
        self.head.id
    }

    fn forward_to(&mut self, attempt: u64) -> Result<(), Error> {
        for _ in 0..self.head.steps_to(attempt)? {
            self.keys.iter_mut().flatten().for_each(CutKey::forward);
        }
        self.head.attempt = attempt;
        Ok(())
    }

    fn at_version(mut self, version: u64) -> Self {
        self.head.version = version;
        self
    }

    fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let room = Head::BYTES + self.keys.len() * 2 * CutKey::BYTES;
        let mut bytes = Zeroizing::new(Vec::with_capacity(room));
        self.head.write(Self::SIDE, &mut bytes);
        for key in self.keys.iter().flatten() {
            bytes.extend_from_slice(&key.0);
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        let head = Head::read(Self::SIDE, &mut reader)?;
        let copies = head.parameters.copies();
        // With room for all: a vector that grows would leave a copy behind.
        let mut keys = Vec::with_capacity(copies);
        for _ in 0..copies {
            keys.push([CutKey(reader.array()?), CutKey(reader.array()?)]);
        }
        reader.end()?;
        Ok(Self { head, keys })
    }
}

impl CloudChain {
    const SIDE: u8 = 2;
}

impl StoredChain for CloudChain {
    fn id(&self) -> ChainId {
        self.head.id
    }

    fn forward_to(&mut self, attempt: u64) -> Result<(), Error> {
        for _ in 0..self.head.steps_to(attempt)? {
            self.keys.iter_mut().for_each(CutKey::forward);
        }
        self.head.attempt = attempt;
        Ok(())
    }

    fn at_version(mut self, version: u64) -> Self {
        self.head.version = version;
        self
    }

    fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let room = Head::BYTES + self.keys.len() * (1 + CutKey::BYTES);
        let mut bytes = Zeroizing::new(Vec::with_capacity(room));
        self.head.write(Self::SIDE, &mut bytes);
        for (fate, key) in self.split.iter().zip(&self.keys) {
            bytes.push(*fate as u8);
            bytes.extend_from_slice(&key.0);
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        let head = Head::read(Self::SIDE, &mut reader)?;
        let copies = head.parameters.copies();
        // Reserve room for all, as above.
        let mut split = Zeroizing::new(Vec::with_capacity(copies));
        let mut keys = Vec::with_capacity(copies);
        for _ in 0..copies {
            split.push(match reader.array()? {
                [0] => Fate::Check,
                [1] => Fate::Evaluate,
                [_] => return Err(BROKEN),
            });
            keys.push(CutKey(reader.array()?));
        }
        reader.end()?;
        let evaluated = split.iter().filter(|fate| **fate == Fate::Evaluate);
        if evaluated.count() != head.parameters.evaluated() {
            return Err(BROKEN);
        }
        Ok(Self { head, split, keys })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::saved::MAX_FORWARD;

    fn head() -> Head {
        Head {
            id: ChainId([9; 16]),
            attempt: 4,
            parameters: Parameters::insecure_for_measurements(5, 8).unwrap(),
            version: 0,
        }
    }

    fn chains() -> (GeneratorChain, CloudChain) {
        let key = |n| CutKey([n; 32]);
        let keys: Vec<_> = (0..5).map(|n| [key(2 * n), key(2 * n + 1)]).collect();
        let split = [0, 1, 0, 0, 1].map(|f| if f == 1 { Fate::Evaluate } else { Fate::Check });
        let own = keys
            .iter()
            .zip(split)
            .map(|(pair, fate)| pair[fate as usize].clone());
        let cloud = CloudChain {
            head: head(),
            split: Zeroizing::new(split.to_vec()),
            keys: own.collect(),
        };
        (GeneratorChain { head: head(), keys }, cloud)
    }

    #[test]
    fn both_ends_stay_together_when_keys_are_forwarded_and_kept() {
        let (mut generator, mut cloud) = chains();
        generator.forward_to(7).unwrap();
        cloud.forward_to(5).unwrap();
        cloud.forward_to(7).unwrap();
        let generator = GeneratorChain::from_bytes(&generator.to_bytes()).unwrap();
        let cloud = CloudChain::from_bytes(&cloud.to_bytes()).unwrap();
        assert_eq!(generator.head, cloud.head);
        assert_eq!(generator.attempt(), 7);
        for ((pair, fate), key) in generator
            .keys
            .iter()
            .zip(cloud.split.iter())
            .zip(&cloud.keys)
        {
            assert_eq!(pair[*fate as usize].0, key.0);
            assert_ne!(pair[1 - *fate as usize].0, key.0);
        }
    }

    #[test]
    fn chains_never_go_back_nor_far() {
        let (mut generator, mut cloud) = chains();
        for attempt in [0, 4, 5 + MAX_FORWARD] {
            assert!(generator.forward_to(attempt).is_err(), "{attempt}");
            assert!(cloud.forward_to(attempt).is_err(), "{attempt}");
        }
        assert_eq!(generator.attempt(), 4);
    }

    #[test]
    fn other_bytes_are_refused() {
        let (generator, cloud) = chains();
        let (generator, cloud) = (generator.to_bytes(), cloud.to_bytes());
        assert!(GeneratorChain::from_bytes(&cloud).is_err());
        assert!(CloudChain::from_bytes(&generator).is_err());
        for end in 0..cloud.len() {
            assert!(CloudChain::from_bytes(&cloud[..end]).is_err(), "{end}");
        }
        for end in 0..generator.len() {
            assert!(
                GeneratorChain::from_bytes(&generator[..end]).is_err(),
                "{end}"
            );
        }
        let mut more = cloud.to_vec();
        more.push(0);
        assert!(CloudChain::from_bytes(&more).is_err());
        // Circuit 0 is evaluated, too: three of five.
        let mut changed = cloud.to_vec();
        changed[Head::BYTES] = 1;
        assert!(CloudChain::from_bytes(&changed).is_err());
    }

    #[test]
    fn debug_prints_no_key() {
        let (generator, cloud) = chains();
        let text = format!("{generator:?} {cloud:?}");
        assert!(!text.contains("keys") && !text.contains("split"), "{text}");
    }
}
