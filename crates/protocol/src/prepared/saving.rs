//! Values that a run goes on from and leaves: the chain, and the labels that both keep.

use sha2::{Digest as _, Sha256};
use tacit_circuit::Function;
use tacit_garble::{Garbler, Scheme, SchemeId};
use tacit_kernels::Block;
use zeroize::Zeroizing;

use crate::Error;
use crate::malicious::oracle::Oracle;
use crate::saved::{
    BROKEN, ChainId, ChainVersion, GATE_BYTES, GarblerHalf, Labels, Reader, check_loads,
    keeps_under, steps_to, write_gates,
};
use crate::session::RunTag;

/// What names the chain that a run begins and the values that it saves.
pub(super) fn oracle(tag: &RunTag) -> Oracle {
    let hash = Sha256::new_with_prefix(b"tacit prepared run 1\0").chain_update(tag.as_bytes());
    let mut name = [0; 16];
    name.copy_from_slice(&hash.finalize()[..16]);
    Oracle::named(name)
}

/// A chain of runs of two parties: its name, and how far it is. It has no secret of its own.
///
/// Bytes, numbers little-endian:
///
/// | bytes | field |
/// |---|---|
/// | 1 | version of this table, 1 |
/// | 1 | whose: 3, garbler or evaluator of `prepared` |
/// | 16 | id |
/// | 8 | attempt |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairChain {
    id: ChainId,
    attempt: u64,
    /// The version that a run loads from; 0 before one is saved.
    version: u64,
}

impl PairChain {
    const HEAD: [u8; 2] = [1, 3];

    /// The chain that the run `tag` begins.
    #[must_use]
    pub fn new(tag: &RunTag) -> Self {
        Self {
            id: ChainId::new(&oracle(tag)),
            attempt: 0,
            version: 0,
        }
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> ChainId {
        self.id
    }

    /// The version that a run loads from, and the attempt.
    #[must_use]
    pub fn place(&self) -> (ChainVersion, u64) {
        let (id, version) = (self.id, self.version);
        (ChainVersion { id, version }, self.attempt)
    }

    /// Goes on to `attempt`: before every attempt, and kept before it.
    ///
    /// # Errors
    ///
    /// It is not a later attempt, or more than [`MAX_FORWARD`](crate::saved::MAX_FORWARD) later.
    pub fn forward_to(&mut self, attempt: u64) -> Result<(), Error> {
        steps_to(self.attempt, attempt)?;
        self.attempt = attempt;
        Ok(())
    }

    /// Says which version a run loads from.
    #[must_use]
    pub fn at_version(mut self, version: u64) -> Self {
        self.version = version;
        self
    }

    /// Its bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let attempt = self.attempt.to_le_bytes();
        Zeroizing::new([&Self::HEAD[..], &self.id.0, &attempt].concat())
    }

    /// The chain with these bytes.
    ///
    /// # Errors
    ///
    /// They are of no chain of two parties of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        if reader.array()? != Self::HEAD {
            return Err(BROKEN);
        }
        let id = ChainId(reader.array()?);
        let attempt = u64::from_le_bytes(reader.array()?);
        reader.end()?;
        Ok(Self {
            id,
            attempt,
            version: 0,
        })
    }
}

/// What a run goes on from: the chain, if there is one, and this party's half of each value that
/// the function loads, in order.
#[derive(Clone, Copy)]
pub struct Past<'a, V> {
    /// The chain.
    pub chain: Option<ChainId>,
    /// The values.
    pub loads: &'a [V],
}

impl<V> Past<'_, V> {
    /// That of a run which goes on nothing.
    pub const NOTHING: Self = Self {
        chain: None,
        loads: &[],
    };
}

/// Checks that `prepared` can run `function` under `scheme`.
///
/// # Errors
///
/// [`Error::SchemeKeepsNothing`] if it saves or loads values, and the scheme is not for that.
pub fn check(function: &Function, scheme: SchemeId) -> Result<(), Error> {
    match function.has_saved_values() && !keeps_under(scheme) {
        true => Err(Error::SchemeKeepsNothing { scheme }),
        false => Ok(()),
    }
}

/// Checks that `function` can load `loads` in `chain` under `scheme`, and save what it saves.
pub(super) fn check_past<'a, S: Scheme>(
    scheme: S,
    function: &Function,
    chain: Option<ChainId>,
    loads: impl ExactSizeIterator<Item = &'a Labels>,
) -> Result<(), Error> {
    check(function, scheme.id())?;
    check_loads(chain, 1, loads, function.loads())
}

/// The label of 0 of a wire under the Δ that all of them have.
pub(super) fn label_of_0<G: Garbler>(garbler: &G, wire: &G::Wire, delta: Block) -> Block {
    let (label, value) = garbler.label_with_select(wire, false);
    label ^ delta.and_bit(u8::from(value).into())
}

/// The links from the labels of `loads`, which may be under another Δ, to the wires `to`.
pub(super) fn links_of_saved<G: Garbler>(
    garbler: &G,
    (start, delta): (Block, Block),
    loads: &[GarblerHalf],
    to: &[G::Wire],
) -> Vec<u8> {
    let to = to.iter().map(|wire| label_of_0(garbler, wire, delta));
    let to = Zeroizing::new(to.collect::<Vec<_>>());
    let from = loads.iter().flat_map(|half| &half.0.copies);
    let mut links = Vec::with_capacity(to.len() * GATE_BYTES);
    write_gates(start, from, &to, delta, &mut links);
    links
}
