//! Saved values: the labels or the shares that a run leaves and a later run takes.
//!
//! The garbler keeps Δ and the labels of 0. The evaluator keeps the labels that it found, with a
//! meaningless value in place of Δ. `prepared` has one circuit. `outsourced` has σ of them: for a
//! circuit that the cloud checks, it keeps the same as the generator. Labels belong to a circuit's
//! number: circuit j of a later run continues circuit j. `authenticated` keeps shares in the form
//! of two circuits: a MAC of each bit and a key of each bit, without a Δ.
//!
//! A value keeps the type of the port that saved it, and only a port of that type loads it: 4 × 6
//! bits are not 8 × 3. Both parties compare the types of the values that they load.
//!
//! Bytes, numbers little-endian, all but the first seven fields secret:
//!
//! | bytes | field |
//! |---|---|
//! | 1 | version of this table, 2 |
//! | 16 | the chain's id |
//! | 32 | mark |
//! | 2 | σ |
//! | 4 | bits |
//! | 2 | length of the type |
//! | that | the type, as text |
//! | for each circuit: 16 + 16 a bit | Δ, labels |

use core::fmt;

use tacit_circuit::Port;
use tacit_function::Function;
use tacit_kernels::Block;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{BROKEN, ChainId, StoredValue};
use crate::Error;
use crate::bits::append_blocks;
use crate::malicious::oracle::{Domain, Oracle};

const VERSION: u8 = 2;

/// The longest type, as text, in bytes.
const MAX_TYPE_BYTES: usize = 256;

/// The largest size of a saved value, in bits.
pub const MAX_SAVED_BITS: usize = 1 << 24;

/// The name of a version of a saved value: the run that saved it and the value's place in that run.
/// Both parties' marks are equal if and only if they are of the same version.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark(pub [u8; 32]);

impl Mark {
    /// Returns the mark of the value number `number` that the run of `oracle` saves.
    pub(crate) fn new(oracle: &Oracle, number: u32) -> Self {
        Self(oracle.parts(Domain::Mark, 0, number, &[]))
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "Mark({a:02x}{b:02x}{c:02x}{d:02x}..)")
    }
}

/// The kept part of a value in one circuit.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct SavedCopy {
    pub(crate) delta: Block,
    pub(crate) labels: Vec<Block>,
}

/// The labels of one value in every circuit.
#[derive(Clone)]
pub(crate) struct Labels {
    pub(crate) chain: ChainId,
    pub(crate) mark: Mark,
    /// The type of the port that saved it, as text.
    pub(crate) ty: String,
    pub(crate) copies: Vec<SavedCopy>,
}

impl Labels {
    /// Cuts the values that a run saves, circuit by circuit, into those of `ports`.
    pub(crate) fn cut(
        chain: ChainId,
        oracle: &Oracle,
        copies: Vec<SavedCopy>,
        ports: &[Port],
    ) -> Vec<Self> {
        let value = |number, port: &Port, copies| Self {
            chain,
            mark: Mark::new(oracle, number),
            ty: port.ty.to_string(),
            copies,
        };
        if let [port] = ports {
            // One value takes all of it without a copy: it may be long.
            return vec![value(0, port, copies)];
        }
        let mut first = 0;
        let cut = (0..).zip(ports).map(|(number, port)| {
            let bits = first..first + port.ty.width();
            first = bits.end;
            let copies = copies.iter().map(|copy| SavedCopy {
                delta: copy.delta,
                labels: copy.labels[bits.clone()].to_vec(),
            });
            value(number, port, copies.collect())
        });
        cut.collect()
    }

    fn bits(&self) -> usize {
        self.copies.first().map_or(0, |copy| copy.labels.len())
    }

    fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let bits = self.bits();
        let room = 57 + self.ty.len() + self.copies.len() * (1 + bits) * Block::BYTES;
        let mut bytes = Zeroizing::new(Vec::with_capacity(room));
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.chain.0);
        bytes.extend_from_slice(&self.mark.0);
        bytes.extend_from_slice(&(self.copies.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&(bits as u32).to_le_bytes());
        bytes.extend_from_slice(&(self.ty.len() as u16).to_le_bytes());
        bytes.extend_from_slice(self.ty.as_bytes());
        for copy in &self.copies {
            append_blocks(&mut bytes, &[copy.delta]);
            append_blocks(&mut bytes, &copy.labels);
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        if reader.array()? != [VERSION] {
            return Err(BROKEN);
        }
        let (chain, mark) = (ChainId(reader.array()?), Mark(reader.array()?));
        let count = u16::from_le_bytes(reader.array()?);
        let bits = u32::from_le_bytes(reader.array()?) as usize;
        let ty = reader.text()?;
        let fits = count > 0 && bits <= MAX_SAVED_BITS;
        // The product is larger than the addresses of a browser.
        let length = u64::from(count) * (1 + bits as u64) * Block::BYTES as u64;
        // Check the length before anything is allocated.
        if !fits || reader.0.len() as u64 != length {
            return Err(BROKEN);
        }
        let (blocks, _) = reader.0.as_chunks();
        let copies = blocks.chunks_exact(1 + bits).map(|blocks| SavedCopy {
            delta: Block::from_bytes(blocks[0]),
            labels: blocks[1..]
                .iter()
                .map(|block| Block::from_bytes(*block))
                .collect(),
        });
        let copies = copies.collect();
        Ok(Self {
            chain,
            mark,
            ty,
            copies,
        })
    }
}

/// The garbling party's half of a saved value: Δ and the label of 0 of each bit in each circuit.
/// Secret.
#[derive(Clone)]
pub struct GarblerHalf(pub(crate) Labels);

/// The evaluating party's half of a saved value. Secret.
#[derive(Clone)]
pub struct EvaluatorHalf(pub(crate) Labels);

macro_rules! both_halves {
    ($name:ident) => {
        impl $name {
            /// Returns the chain that the value belongs to.
            pub fn chain(&self) -> ChainId {
                self.0.chain
            }

            /// Returns the name of this version of the value.
            pub fn mark(&self) -> Mark {
                self.0.mark
            }

            /// Returns the width in bits.
            pub fn bits(&self) -> usize {
                self.0.bits()
            }
        }

        impl StoredValue for $name {
            fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
                self.0.to_bytes()
            }

            fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
                Labels::from_bytes(bytes).map(Self)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "{}({:?}, {} bits)",
                    stringify!($name),
                    self.mark(),
                    self.bits()
                )
            }
        }
    };
}

/// A party's half of the shares of a saved value under `authenticated`. Secret.
#[derive(Clone)]
pub struct SharedHalf(pub(crate) Labels);

both_halves!(GarblerHalf);
both_halves!(EvaluatorHalf);
both_halves!(SharedHalf);

/// Returns the number of bits that a run of `function` loads and the number that it saves.
pub(crate) fn check_size(function: &Function) -> Result<[usize; 2], Error> {
    let bits = [function.loads(), function.saves()]
        .map(|ports| ports.iter().map(|port| port.ty.width()).sum::<usize>());
    if bits.iter().all(|bits| *bits <= MAX_SAVED_BITS) {
        return Ok(bits);
    }
    Err(Error::ApiMisuse(
        "a run saves and loads at most 2^24 bits of saved values each",
    ))
}

/// Checks that a run of `chain` can load `values` through `ports`: one value for each port, of this
/// chain, of the port's type, in this number of circuits.
pub(crate) fn check_loads<'a>(
    chain: Option<ChainId>,
    copies: usize,
    values: impl ExactSizeIterator<Item = &'a Labels>,
    ports: &[Port],
) -> Result<(), Error> {
    if values.len() != ports.len() {
        return Err(Error::ApiMisuse("one saved value for each that is loaded"));
    }
    for (value, port) in values.zip(ports) {
        if chain != Some(value.chain) {
            let value = port.name.clone();
            return Err(Error::OtherChain { value });
        }
        let wanted = port.ty.to_string();
        if value.ty != wanted {
            return Err(Error::SavedType {
                value: port.name.clone(),
                kept: value.ty.clone(),
                wanted,
            });
        }
        let mut all = value.copies.iter();
        let wide = all.all(|copy| copy.labels.len() == port.ty.width());
        if value.copies.len() != copies || !wide {
            return Err(Error::ApiMisuse(
                "saved values as wide as the function loads them",
            ));
        }
    }
    Ok(())
}

/// The bytes that are still to be read.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Reader<'_> {
    /// Reads the next bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (array, rest) = self.0.split_first_chunk().ok_or(BROKEN)?;
        self.0 = rest;
        Ok(*array)
    }

    /// Reads a text that follows its length.
    fn text(&mut self) -> Result<String, Error> {
        let length = usize::from(u16::from_le_bytes(self.array()?));
        if length > MAX_TYPE_BYTES {
            return Err(BROKEN);
        }
        let (text, rest) = self.0.split_at_checked(length).ok_or(BROKEN)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).map_err(|_| BROKEN)
    }

    /// Checks that no bytes are left.
    pub(crate) fn end(&self) -> Result<(), Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(BROKEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value() -> GarblerHalf {
        let block = |n: usize| Block::from_u128(n as u128);
        let copies: Vec<_> = (0..3)
            .map(|n| SavedCopy {
                delta: block(n),
                labels: (10 * n..10 * n + 4).map(block).collect(),
            })
            .collect();
        let oracle = Oracle::named([1; 16]);
        let ports = ["bit", "u3"].map(|ty| Port::new(ty, ty.parse().unwrap()));
        let all = Labels::cut(ChainId([2; 16]), &oracle, copies, &ports);
        assert_eq!(all.len(), 2);
        assert_ne!(all[0].mark, all[1].mark);
        assert_eq!(all[1].copies[2].labels, [21, 22, 23].map(block));
        GarblerHalf(all[1].clone())
    }

    #[test]
    fn values_are_kept_as_bytes() {
        let value = value();
        let bytes = value.to_bytes();
        assert_eq!(bytes.len(), bytes.capacity());
        let again = GarblerHalf::from_bytes(&bytes).unwrap();
        assert_eq!(again.to_bytes(), bytes);
        assert_eq!((again.bits(), again.mark()), (3, value.mark()));
        assert_eq!(again.chain(), ChainId([2; 16]));
    }

    #[test]
    fn other_bytes_are_refused() {
        let bytes = value().to_bytes();
        for end in 0..bytes.len() {
            assert!(EvaluatorHalf::from_bytes(&bytes[..end]).is_err(), "{end}");
        }
        for (at, with) in [
            (0, 9),
            (49, 4),
            (51, 200),
            (54, 255),
            (55, 3),
            (56, 2),
            (57, 0xff),
        ] {
            let mut changed = bytes.to_vec();
            changed[at] = with;
            assert!(EvaluatorHalf::from_bytes(&changed).is_err(), "{at}");
        }
    }

    #[test]
    fn debug_prints_no_label() {
        let text = format!("{:?}", value());
        assert!(text.ends_with("3 bits)") && text.len() < 60, "{text}");
    }
}
