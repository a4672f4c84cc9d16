//! A half of silent OT on a machine.
//!
//! The machine's memory has public data (keys, seeds, messages) and secrets (COTs, Δ, roots,
//! leaves, bits). All of it is wiped on drop. OTs are wiped as they are taken, and COTs as their
//! batch ends.

mod table;

use std::collections::VecDeque;

use tacit_kernels::Block;
use tacit_ot::DeviceError;
use tacit_ot::silent::{BatchSizes, DeviceBatch, DeviceHalf, HalfStart, HashedBits};
use zeroize::Zeroizing;

use self::table::table;
use crate::machine::{Argument, KEY_BYTES, Kernel, MAX_DEPTH, Machine, THREADS};

/// The number of OTs whose hashes have one key, as a power of two.
const EPOCH_BITS: u32 = tacit_kernels::hash::EPOCH_BITS;

/// A half's memory, and what is in it.
struct Half<M: Machine> {
    machine: M,
    sizes: BatchSizes,
    /// The first table of AES.
    table: M::Memory,
    /// Δ, at the sender.
    delta: Option<M::Memory>,
    /// The secret, and the COTs of the round's batches.
    cots: M::Memory,
    /// The COTs of the next round, as far as they exist.
    reserve: M::Memory,
    reserved: usize,
    roots: M::Memory,
    message: M::Memory,
    /// Keys before they are expanded.
    key_blocks: M::Memory,
    /// The keys of a batch's two seeds.
    seed_keys: M::Memory,
    /// The keys of a batch's levels, or of the OTs that are hashed.
    keys: M::Memory,
    /// Both rows of bits; zeros between two calls.
    bits: M::Memory,
    /// Both rows of bits on their way from the machine; zeros between two calls.
    rows: Zeroizing<Vec<u64>>,
    /// The leaves of the batch that is being made.
    leaves: Option<M::Memory>,
    segments: VecDeque<Segment<M::Memory>>,
    /// Memory for the leaves of the next batch.
    spare: Option<M::Memory>,
}

/// The OTs of a batch that are not taken yet.
struct Segment<T> {
    blocks: T,
    used: usize,
    filled: usize,
}

/// Puts a half on a machine.
///
/// # Errors
///
/// The machine has too little memory or fails, or the sizes are others than the kernels take.
pub fn take_over<M: Machine + 'static>(
    machine: M,
    start: HalfStart<'_>,
) -> Result<Box<dyn DeviceHalf>, DeviceError> {
    let sizes = start.sizes;
    let BatchSizes {
        log_secret,
        trees,
        depth,
        ..
    } = sizes;
    if !(2..=MAX_DEPTH).contains(&depth) || log_secret > 21 || sizes.outputs() >= 1 << 31 {
        return Err(failed("take_over"));
    }
    // Keys of hashes: one for each whole epoch of a batch's OTs, and for one at either end.
    let epochs = (sizes.outputs() >> EPOCH_BITS) + 2;
    let bits_bytes = 2 * row_bytes(sizes.outputs() + 63);
    // All that a usual batch takes: where there is too little memory, nothing has started yet.
    let room = |bytes| machine.allocate(bytes);
    let round_bytes = start.cots.len() * Block::BYTES;
    let delta = start.delta.map(|_| room(Block::BYTES)).transpose()?;
    let mut half = Half {
        sizes,
        table: room(4 * 256)?,
        delta,
        cots: room(round_bytes)?,
        reserve: room(round_bytes)?,
        reserved: 0,
        roots: room(trees * Block::BYTES)?,
        message: room(trees * depth * Block::BYTES)?,
        key_blocks: room(epochs * Block::BYTES)?,
        seed_keys: room(2 * KEY_BYTES)?,
        keys: room((trees * (depth - 1)).max(epochs) * KEY_BYTES)?,
        bits: room(bits_bytes)?,
        rows: Zeroizing::new(vec![0; bits_bytes / 8]),
        leaves: None,
        segments: VecDeque::new(),
        spare: Some(room(sizes.outputs() * Block::BYTES)?),
        machine,
    };
    half.machine.upload(&mut half.table, 0, &table())?;
    half.machine.wipe(&mut half.bits, 0, bits_bytes)?;
    half.machine
        .upload(&mut half.cots, 0, bytes_of(start.cots))?;
    if let (Some(room), Some(delta)) = (&mut half.delta, start.delta) {
        half.machine.upload(room, 0, bytes_of(&[delta]))?;
    }
    Ok(Box::new(half))
}

fn failed(call: &'static str) -> DeviceError {
    DeviceError::Failed { call, code: 0 }
}

/// Returns the bytes of a row of bits: whole words of 64.
fn row_bytes(bits: usize) -> usize {
    bits.div_ceil(64) * 8
}

/// Returns the bytes of blocks.
fn bytes_of(blocks: &[Block]) -> &[u8] {
    // SAFETY: a block is 16 bytes without padding (`repr(C)`), and any byte is valid as `u8`.
    unsafe { core::slice::from_raw_parts(blocks.as_ptr().cast(), size_of_val(blocks)) }
}

/// Returns the bytes of blocks, to be written.
fn bytes_of_mut(blocks: &mut [Block]) -> &mut [u8] {
    let bytes = size_of_val(blocks);
    // SAFETY: a block is 16 bytes without padding (`repr(C)`), of which any value is valid.
    unsafe { core::slice::from_raw_parts_mut(blocks.as_mut_ptr().cast(), bytes) }
}

/// Returns the bytes of words, to be written.
fn bytes_of_words(words: &mut [u64]) -> &mut [u8] {
    let bytes = size_of_val(words);
    // SAFETY: words are bytes without padding, of which any value is valid.
    unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), bytes) }
}

/// Returns the two halves of a seed: the key, and the start of the counter, its lower half first.
fn split(seed: &[u8; 32]) -> ([u8; 16], [u64; 2]) {
    let words = seed.as_chunks().0;
    let [.., low, high] = [0, 1, 2, 3].map(|i| u64::from_le_bytes(words[i]));
    let mut key = [0; 16];
    key.copy_from_slice(&seed[..16]);
    (key, [low, high])
}

impl<M: Machine> Half<M> {
    fn at(&self, memory: &M::Memory, bytes: usize) -> Argument {
        Argument::Long(self.machine.address(memory) + bytes as u64)
    }

    /// Returns the place of a batch's COTs, in bytes.
    fn cots_at(&self, batch: &DeviceBatch) -> usize {
        ((1 << self.sizes.log_secret) + batch.number * self.sizes.cots) * Block::BYTES
    }

    /// Returns the number of blocks of threads for this many elements, of which each may do
    /// several.
    fn blocks_for(&self, count: usize) -> u32 {
        let blocks = (count as u32).div_ceil(THREADS);
        blocks.min(self.machine.blocks_at_once())
    }

    /// Expands the keys of a batch: of its seeds, and of the levels of its trees.
    fn expand_keys_of(&mut self, batch: &DeviceBatch) -> Result<(), DeviceError> {
        let (tree_key, [low, high]) = split(&batch.tree_keys);
        let (columns_key, _) = split(&batch.columns);
        self.expand_keys(&[tree_key, columns_key].concat(), false)?;
        let count = self.sizes.trees * (self.sizes.depth - 1);
        let arguments = [
            self.at(&self.table, 0),
            self.at(&self.seed_keys, 0),
            Argument::Long(low),
            Argument::Long(high),
            Argument::Word(count as u32),
            self.at(&self.keys, 0),
        ];
        let blocks = (count as u32).div_ceil(THREADS);
        // SAFETY: the arguments are those of `expand_stream`, which reads the first seed's key and
        // writes `count` keys, for which `keys` has room.
        unsafe {
            self.machine
                .launch(Kernel::ExpandStream, blocks, &arguments)
        }
    }

    /// Expands keys, of 16 bytes each, into `seed_keys` or, if `hashes`, into `keys`.
    fn expand_keys(&mut self, bytes: &[u8], hashes: bool) -> Result<(), DeviceError> {
        self.machine.upload(&mut self.key_blocks, 0, bytes)?;
        let count = (bytes.len() / Block::BYTES) as u32;
        let into = if hashes { &self.keys } else { &self.seed_keys };
        let arguments = [
            self.at(&self.table, 0),
            self.at(&self.key_blocks, 0),
            Argument::Word(count),
            self.at(into, 0),
        ];
        let blocks = count.div_ceil(THREADS);
        // SAFETY: the arguments are those of `expand_keys`, which reads `count` uploaded blocks and
        // writes as many keys: two seeds', or at most as many as a batch has epochs.
        unsafe { self.machine.launch(Kernel::ExpandKeys, blocks, &arguments) }
    }

    /// Makes room for the leaves of the next batch.
    fn make_room(&mut self) -> Result<&M::Memory, DeviceError> {
        let leaves = match self.leaves.take().or_else(|| self.spare.take()) {
            Some(room) => room,
            None => {
                let bytes = self.sizes.outputs() * Block::BYTES;
                self.machine.allocate(bytes)?
            }
        };
        Ok(self.leaves.insert(leaves))
    }

    /// Calls `each` with the segment, the place and the number of the next OTs, part by part, and
    /// then wipes them. The parts are those of different batches.
    fn pass(
        &mut self,
        mut count: usize,
        mut each: impl FnMut(&mut Self, &M::Memory, usize, usize) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        while count > 0 {
            let Some(mut segment) = self.segments.pop_front() else {
                return Err(failed("take of more OTs than there are"));
            };
            let now = count.min(segment.filled - segment.used);
            each(self, &segment.blocks, segment.used, now)?;
            let (at, bytes) = (segment.used * Block::BYTES, now * Block::BYTES);
            self.machine.wipe(&mut segment.blocks, at, bytes)?;
            segment.used += now;
            count -= now;
            if segment.used < segment.filled {
                self.segments.push_front(segment);
            } else {
                self.spare.get_or_insert(segment.blocks);
            }
        }
        Ok(())
    }
}

impl<M: Machine> DeviceHalf for Half<M> {
    fn grow(
        &mut self,
        batch: &DeviceBatch,
        roots: &[Block],
        message: &mut [u8],
    ) -> Result<(), DeviceError> {
        let BatchSizes { trees, depth, .. } = self.sizes;
        let sent_bytes = trees * depth * Block::BYTES;
        if roots.len() != trees || message.len() != sent_bytes {
            return Err(failed("grow"));
        }
        self.expand_keys_of(batch)?;
        self.machine.upload(&mut self.roots, 0, bytes_of(roots))?;
        self.make_room()?;
        let (Some(leaves), Some(delta)) = (&self.leaves, &self.delta) else {
            return Err(failed("grow of a receiver"));
        };
        let arguments = [
            self.at(&self.table, 0),
            self.at(&self.keys, 0),
            Argument::Word(depth as u32),
            self.at(delta, 0),
            self.at(&self.roots, 0),
            self.at(&self.cots, self.cots_at(batch)),
            self.at(leaves, 0),
            self.at(&self.message, 0),
        ];
        // SAFETY: the arguments are those of `grow`, which reads a root and `depth` COTs and writes
        // 2^`depth` leaves and `depth` blocks for each of `trees` blocks of threads.
        unsafe {
            self.machine
                .launch(Kernel::Grow, trees as u32, &arguments)?;
        }
        self.machine.download(&self.message, 0, message)
    }

    fn grow_punctured(&mut self, batch: &DeviceBatch, message: &[u8]) -> Result<(), DeviceError> {
        let BatchSizes { trees, depth, .. } = self.sizes;
        if message.len() != trees * depth * Block::BYTES {
            return Err(failed("grow_punctured"));
        }
        self.expand_keys_of(batch)?;
        self.machine.upload(&mut self.message, 0, message)?;
        self.make_room()?;
        let Some(leaves) = &self.leaves else {
            return Err(failed("grow_punctured"));
        };
        let arguments = [
            self.at(&self.table, 0),
            self.at(&self.keys, 0),
            Argument::Word(depth as u32),
            self.at(&self.cots, self.cots_at(batch)),
            self.at(&self.message, 0),
            self.at(leaves, 0),
        ];
        // SAFETY: the arguments are those of `grow_punctured`, which reads `depth` COTs and blocks
        // of the message and writes 2^`depth` leaves for each of `trees` blocks of threads.
        unsafe {
            self.machine
                .launch(Kernel::GrowPunctured, trees as u32, &arguments)
        }
    }

    fn finish(&mut self, batch: &DeviceBatch) -> Result<(), DeviceError> {
        let Some(mut leaves) = self.leaves.take() else {
            return Err(failed("finish of no batch"));
        };
        let (_, [low, high]) = split(&batch.columns);
        let outputs = self.sizes.outputs();
        let arguments = [
            self.at(&self.table, 0),
            self.at(&self.seed_keys, KEY_BYTES),
            Argument::Long(low),
            Argument::Long(high),
            self.at(&self.cots, 0),
            Argument::Word(self.sizes.log_secret),
            Argument::Word(outputs as u32),
            self.at(&leaves, 0),
        ];
        let blocks = self.blocks_for(outputs);
        // SAFETY: the arguments are those of `add_columns`, which reads 2^`log_secret` blocks, the
        // first COTs, and reads and writes `outputs` leaves.
        unsafe {
            self.machine
                .launch(Kernel::AddColumns, blocks, &arguments)?;
        }
        let bytes = batch.reserved * Block::BYTES;
        let to = (&mut self.reserve, self.reserved * Block::BYTES);
        self.machine.copy((&leaves, 0), to, bytes)?;
        self.machine.wipe(&mut leaves, 0, bytes)?;
        self.reserved += batch.reserved;
        self.segments.push_back(Segment {
            blocks: leaves,
            used: batch.reserved,
            filled: outputs,
        });
        let (at, taken) = (self.cots_at(batch), self.sizes.cots * Block::BYTES);
        self.machine.wipe(&mut self.cots, at, taken)?;
        if batch.ends_round {
            core::mem::swap(&mut self.cots, &mut self.reserve);
            self.reserved = 0;
            let secret = Block::BYTES << self.sizes.log_secret;
            self.machine.wipe(&mut self.reserve, 0, secret)?;
        }
        Ok(())
    }

    fn take(&mut self, into: &mut [Block]) -> Result<(), DeviceError> {
        let mut done = 0;
        self.pass(into.len(), |half, blocks, from, count| {
            let into = bytes_of_mut(&mut into[done..done + count]);
            done += count;
            half.machine.download(blocks, from * Block::BYTES, into)
        })
    }

    fn take_bits(&mut self, ots: HashedBits<'_>) -> Result<(), DeviceError> {
        let HashedBits {
            hash,
            number,
            count,
            lead,
            first,
            second,
        } = ots;
        let words = row_bytes(lead + count) / 8;
        if lead >= 64 || [&first, &second].iter().any(|row| row.len() != words) {
            return Err(failed("take_bits"));
        }
        first.fill(0);
        second.fill(0);
        let mut done = 0;
        self.pass(count, |half, blocks, from, count| {
            let number = number + done as u64;
            let epochs = number >> EPOCH_BITS..=(number + count as u64 - 1) >> EPOCH_BITS;
            let keys = epochs.flat_map(|epoch| hash.key(epoch << EPOCH_BITS).to_bytes());
            half.expand_keys(&keys.collect::<Vec<_>>(), true)?;
            let (word, lead) = ((lead + done) / 64, (lead + done) % 64);
            let words = half.hash(number, (blocks, from, count), lead)?;
            let (one, two) = half.rows[..2 * words].split_at(words);
            for (row, from) in [(&mut *first, one), (&mut *second, two)] {
                for (into, from) in row[word..].iter_mut().zip(from) {
                    *into |= u64::from_le(*from);
                }
            }
            half.rows[..2 * words].fill(0);
            done += count;
            Ok(())
        })
    }

    fn skip(&mut self, count: usize) -> Result<(), DeviceError> {
        self.pass(count, |_, _, _, _| Ok(()))
    }
}

impl<M: Machine> Half<M> {
    /// Hashes OTs, whose keys are expanded, into `rows`: the first row of bits, and then the
    /// second. Returns the words of each.
    fn hash(
        &mut self,
        number: u64,
        (blocks, from, count): (&M::Memory, usize, usize),
        lead: usize,
    ) -> Result<usize, DeviceError> {
        let row = row_bytes(lead + count);
        let start = [self.at(&self.table, 0), self.at(&self.keys, 0)];
        let numbers = [
            Argument::Long(number),
            Argument::Word(count as u32),
            Argument::Word(lead as u32),
        ];
        let delta = self.delta.as_ref().map(|delta| self.at(delta, 0));
        let end = [
            self.at(blocks, from * Block::BYTES),
            self.at(&self.bits, 0),
            self.at(&self.bits, row),
        ];
        let arguments = start.into_iter().chain(numbers).chain(delta).chain(end);
        let arguments: Vec<_> = arguments.collect();
        let kernel = match delta {
            Some(_) => Kernel::HashSent,
            None => Kernel::HashReceived,
        };
        let grid = self.blocks_for(lead + count);
        // SAFETY: the arguments are those of `hash_sent`, or without Δ of `hash_received`, which
        // reads `count` blocks of the segment and their epochs' keys, and writes whole words of 32
        // bits of two rows, for which `bits` has room.
        unsafe { self.machine.launch(kernel, grid, &arguments)? };
        let words = row / 8;
        let into = bytes_of_words(&mut self.rows[..2 * words]);
        self.machine.download(&self.bits, 0, into)?;
        self.machine.wipe(&mut self.bits, 0, 2 * row)?;
        Ok(words)
    }
}
