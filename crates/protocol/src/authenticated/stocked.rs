//! Triples from a stock: their storage, and their use by a run.
//!
//! A **block** is the unit of storage: this party's Δ, then its halves of [`BLOCK_TRIPLES`]
//! triples. All blocks of a stock's lot belong to one epoch, which ends with the lot: its Δ serve
//! nothing else, and no OT of it remains. Both parties lease the same blocks for a run, which reads
//! them, and so it needs neither base OTs nor OTs.
//!
//! **Masks of inputs**: the share of a triple's mask is two bits, each known to one party and
//! authenticated to the other. So a triple of a block that is read for inputs gives each party one
//! mask, as an OT in each direction would. Nothing else of that triple is used.
//!
//! **Numbers**: the number of a run is that of its first block, and the number of a piece of its
//! gates is that of the first block that is read for it. A block is read once, so an epoch uses no
//! number twice.

mod making;

use tacit_function::{Function, Role};
use tacit_kernels::Block;
use zeroize::Zeroizing;

pub use making::{KEPT_BLOCKS, TripleOrder};

use super::bucket::Triples;
use super::epoch::{Epoch, is_of_role};
use super::leaky::zero_blocks;
use super::lot::{InputCounts, MadeLot};
use super::oracle::{DIGEST_BYTES, Digest};
use super::share::Shares;
use crate::Error;
use crate::bits::{append_blocks, read_block};

/// The number of triples in a block.
pub const BLOCK_TRIPLES: usize = 64;

/// The size of a column of a block in bytes.
const COLUMN_BYTES: usize = BLOCK_TRIPLES * Block::BYTES;

/// The size of a block at a party in bytes: its Δ, and the MACs and keys of x, y, z and the mask.
pub const BLOCK_BYTES: usize = Block::BYTES + 8 * COLUMN_BYTES;

/// The largest number of triples in memory at once, except those of the last block. It is that of
/// the largest lot that is made during a run.
pub(super) const PIECE_TRIPLES: u64 = 400_000;

/// Blocks of one lot that both parties have leased for one run, in the same order.
pub trait TripleBlocks {
    /// Writes the next block to `block`, and returns its number in the lot.
    ///
    /// # Errors
    ///
    /// No block is left, or it cannot be read.
    fn next(&mut self, block: &mut [u8; BLOCK_BYTES]) -> Result<u64, Error>;
}

/// Returns the number of blocks that a run of `function` takes, for masks of inputs and for AND
/// gates. It is 0 if the function loads or saves values: these are under the Δ of a chain, and the
/// triples in stock are under others.
pub fn blocks_for(function: &Function) -> u64 {
    if function.has_saved_values() {
        return 0;
    }
    let inputs = Role::BOTH.map(|role| function.input_bits(role));
    let inputs = input_blocks(inputs) as u64;
    inputs.saturating_add(function.and_gates().div_ceil(BLOCK_TRIPLES as u64))
}

/// Returns the number of blocks for these numbers of input bits of the parties.
fn input_blocks([garblers, evaluators]: [usize; 2]) -> usize {
    garblers.max(evaluators).div_ceil(BLOCK_TRIPLES)
}

/// Returns the number of blocks that are read for the next gates of a run that has `gates` gates
/// left, and `spare` triples that no gate has taken.
pub(super) fn piece_blocks(gates: u64, spare: usize) -> usize {
    #[cfg(test)]
    let gates = super::terms::MOST_TRIPLES
        .get()
        .map_or(gates, |most| gates.min(most));
    let missing = gates.min(PIECE_TRIPLES).saturating_sub(spare as u64);
    missing.div_ceil(BLOCK_TRIPLES as u64) as usize
}

/// The triples of one run from a stock.
pub struct StockedTriples<'s> {
    /// The epoch that the triples belong to.
    id: Digest,
    /// Boxed, so that a moved value leaves no copy behind.
    delta: Box<Zeroizing<Block>>,
    blocks: Box<dyn TripleBlocks + 's>,
    /// The last block read, and its number.
    block: Box<Zeroizing<[u8; BLOCK_BYTES]>>,
    number: u64,
    /// Whether the first block is read and not used yet.
    is_first: bool,
    /// Triples that were read and that no gate has taken.
    spare: Triples,
}

impl<'s> StockedTriples<'s> {
    /// Returns the triples of `blocks`, which belong to the epoch `id`.
    ///
    /// # Errors
    ///
    /// There is no block, or it cannot be read.
    pub fn new(
        id: [u8; DIGEST_BYTES],
        mut blocks: Box<dyn TripleBlocks + 's>,
    ) -> Result<Self, Error> {
        let mut block = Box::new(Zeroizing::new([0; BLOCK_BYTES]));
        let number = blocks.next(&mut block)?;
        Ok(Self {
            id,
            delta: Box::new(read_block(&**block).into()),
            blocks,
            block,
            number,
            is_first: true,
            spare: Triples::default(),
        })
    }

    /// Returns the epoch of a run that starts with the first block.
    pub(super) fn epoch(&self, role: Role) -> Result<Epoch, Error> {
        if is_of_role(**self.delta, role) {
            return Ok(Epoch::of_stock(role, self.id, **self.delta, self.number));
        }
        Err(broken())
    }

    /// Returns the same as making a lot would: masks of inputs, and triples for the next of the
    /// `gates` gates that are left.
    pub(super) fn take(
        &mut self,
        epoch: &mut Epoch,
        gates: u64,
        counts: InputCounts,
    ) -> Result<MadeLot, Error> {
        let mut inputs = Shares {
            macs: zero_blocks(counts.own),
            keys: zero_blocks(counts.others),
        };
        for first in 0..input_blocks([counts.own, counts.others]) {
            self.read()?;
            for (masks, column) in [(&mut inputs.macs, 6), (&mut inputs.keys, 7)] {
                let masks = masks.get_mut(first * BLOCK_TRIPLES..).unwrap_or_default();
                let masks = masks.chunks_mut(BLOCK_TRIPLES).next();
                self.copy(column, masks.unwrap_or_default());
            }
        }
        let spare = self.spare.len();
        let blocks = piece_blocks(gates, spare);
        let count = spare + blocks * BLOCK_TRIPLES;
        let mut columns = [(); 4].map(|()| epoch.buffers.take_shares(count));
        let old = std::mem::take(&mut self.spare);
        for (into, old) in columns.iter_mut().zip([old.x, old.y, old.z, old.masks]) {
            into.macs[..spare].copy_from_slice(&old.macs);
            into.keys[..spare].copy_from_slice(&old.keys);
        }
        let mut number = None;
        for i in 0..blocks {
            self.read()?;
            number.get_or_insert(self.number);
            let first = spare + i * BLOCK_TRIPLES;
            let range = first..first + BLOCK_TRIPLES;
            for (i, into) in columns.iter_mut().enumerate() {
                self.copy(2 * i, &mut into.macs[range.clone()]);
                self.copy(2 * i + 1, &mut into.keys[range.clone()]);
            }
        }
        let [x, y, z, masks] = columns;
        Ok(MadeLot {
            triples: Triples {
                number: number.unwrap_or_default(),
                x,
                y,
                z,
                masks,
            },
            inputs,
        })
    }

    /// Takes back the triples that the gates of a piece did not use.
    pub(super) fn give_back(&mut self, rest: Triples) {
        self.spare = rest;
    }

    /// Reads the next block.
    fn read(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.is_first) {
            return Ok(());
        }
        self.number = self.blocks.next(&mut self.block)?;
        if read_block(&**self.block) == **self.delta {
            return Ok(());
        }
        Err(broken())
    }

    /// Copies the start of a column of the block.
    fn copy(&self, column: usize, into: &mut [Block]) {
        let (_, columns) = self.block.split_at(Block::BYTES);
        let column = &columns[column * COLUMN_BYTES..][..COLUMN_BYTES];
        for (into, bytes) in into.iter_mut().zip(column.as_chunks().0) {
            *into = Block::from_bytes(*bytes);
        }
    }
}

/// Appends this party's block of the triples from number `first` on.
fn append_block(bytes: &mut Vec<u8>, delta: Block, triples: &Triples, first: usize) {
    append_blocks(bytes, &[delta]);
    let Triples { x, y, z, masks, .. } = triples;
    for shares in [x, y, z, masks] {
        for column in shares.columns(first..first + BLOCK_TRIPLES) {
            append_blocks(bytes, column);
        }
    }
}

fn broken() -> Error {
    Error::DamagedMaterial(
        "blocks of triples in the stock are not of one lot and this role".to_owned(),
    )
}
