//! The making of a lot: correlated OTs both ways, leaky ANDs, their check, a coin, buckets.
//!
//! ```text
//! garbler                                                     evaluator
//!   ── OT extension of the garbler's bits, in parts ─────────────▶
//!   ◀── OT extension of the evaluator's bits, in parts, and the evaluator's blocks of the leaky
//!       ANDs that are made of each part
//!   ── leaky ANDs: the garbler's blocks and bits, in parts ──────▶
//!   ◀── leaky AND bits ───────────────────────────────────────────
//!   ◀── commitment to what must be equal ─────────────────────────
//!   ── digest of what must be equal, commitment to a coin ───────▶
//!   ◀── opening of the commitment, the evaluator's coin ──────────
//!   ── the garbler's coin ───────────────────────────────────────▶
//!   ── bucket openings ──────────────────────────────────────────▶
//!   ◀── bucket openings ──────────────────────────────────────────
//! ```
//!
//! The garbler's extension is checked before the evaluator's first block is sent, and the
//! evaluator's extension before the garbler's first block. A party sends its share of the coin
//! after it has found that the lots are equal. The garbler commits to its share before it knows the
//! evaluator's. Both directions are never full at once, so no connection stalls.
//!
//! **Both parties work at the same time**, if each has its own core. So a message that lets the
//! other party work is sent separately, before the sender's next computation: bits before the
//! digest, the coin before the openings, and openings before those of the other party are checked.

mod equality;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use tacit_function::Role;
use tacit_kernels::{Block, Prg, map_each};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::bucket::{CheckedLot, Triples};
use super::epoch::Epoch;
use super::leaky::{CHUNK, LeakyHash, LeakyShares, zero_blocks};
use super::messages;
use super::oracle::Digest;
use super::parameters::LotSize;
use super::share::Shares;
use crate::Error;
use crate::bits::{append_blocks, bytes_for};
use crate::io::{Io, Message};
use crate::setup::extension;

/// The number of OTs of one message.
pub(super) const EXTENSION_OTS: usize = 1 << 15;

/// The most pieces whose OTs are made together. Their messages, some megabytes, are in memory.
const MOST_AT_ONCE: usize = 8;

/// The numbers of bits for both parties' inputs that are made with a lot.
#[derive(Clone, Copy, Default)]
pub(super) struct InputCounts {
    pub(super) own: usize,
    pub(super) others: usize,
}

/// The result of making a lot.
pub(super) struct MadeLot {
    pub(super) triples: Triples,
    /// MACs of random bits that only this party knows, for its inputs, and keys of the other
    /// party's bits.
    pub(super) inputs: Shares,
}

/// A lot that is not checked yet.
struct Unchecked {
    number: u64,
    size: LotSize,
    hash: LeakyHash,
    shares: LeakyShares,
    masks: Shares,
    /// The part of each leaky AND's S that is known so far.
    sums: Outputs,
    /// The garbler's blocks, until it sends them; at the evaluator those of the pieces that are
    /// made at once.
    blocks: Outputs,
    /// Bit 1 of each sum, once all of it is known.
    turned: Vec<u8>,
    /// The messages of OTs of the pieces that are made at once.
    ots: Received,
    /// The messages with the other party's blocks of these pieces, or of some of them.
    received: Received,
}

/// Makes a lot of this size, and bits for inputs.
///
/// After an error, the epoch must not be used.
pub(super) async fn make(
    io: &mut Io<'_>,
    epoch: &mut Epoch,
    rng: &mut Prg,
    size: LotSize,
    inputs: InputCounts,
) -> Result<MadeLot, Error> {
    let (role, mut lot) = (epoch.role(), Unchecked::new(epoch, size));
    let mut inputs = Shares {
        macs: zero_blocks(inputs.own),
        keys: zero_blocks(inputs.others),
    };
    refill(io, epoch, rng, size, &inputs).await?;
    for party in Role::BOTH {
        let own = party == role;
        let at_once = messages_at_once(epoch);
        for several in pieces(0..size.leaky_ands(), ands_at_once(epoch)) {
            lot.ots(io, (epoch, rng), party, several, at_once).await?;
        }
        for shares in [&mut lot.masks, &mut inputs] {
            for several in shares.column(own).chunks_mut(EXTENSION_OTS * at_once) {
                let columns = several.chunks_mut(EXTENSION_OTS).collect();
                ots_at_once(io, (epoch, rng), (own, &mut lot.ots), columns).await?;
            }
        }
    }
    let triples = match size {
        LotSize::EMPTY => Triples {
            number: lot.number,
            ..Triples::default()
        },
        _ => {
            let (lot, coin) = lot.compare(io, epoch, rng).await?;
            open_buckets(io, epoch, lot, &coin).await?
        }
    };
    Ok(MadeLot { triples, inputs })
}

/// Cuts `of` into pieces of this length. The last piece may be shorter.
pub(super) fn pieces(of: Range<usize>, length: usize) -> impl Iterator<Item = Range<usize>> {
    let end = of.end;
    of.step_by(length)
        .map(move |first| first..end.min(first + length))
}

/// Makes the OTs that a lot takes, if the extension makes OTs ahead: first those that the garbler
/// sends, then the others.
async fn refill(
    io: &mut Io<'_>,
    epoch: &mut Epoch,
    rng: &mut Prg,
    size: LotSize,
    inputs: &Shares,
) -> Result<(), Error> {
    let mut seeds = [(); 2].map(|()| Zeroizing::new(Digest::default()));
    seeds
        .iter_mut()
        .for_each(|seed| rng.fill_bytes(&mut **seed));
    for (sender, seed) in [Role::Evaluator, Role::Garbler].iter().zip(&seeds).rev() {
        let count = |inputs: &Outputs| (size.ots() + inputs.len()) as u64;
        if *sender == epoch.role() {
            let (ot, count) = (epoch.sender()?, count(&inputs.keys));
            ot.refill(io, count, seed).await?;
        } else {
            let (ot, count) = (epoch.receiver()?, count(&inputs.macs));
            ot.refill(io, count, seed).await?;
        }
    }
    Ok(())
}

/// Returns the columns of x, y and z of each of consecutive pieces, in the order of their OTs: of
/// all these, the ones with these numbers.
fn columns_of<'s>(
    shares: &'s mut LeakyShares,
    own: bool,
    of: &Range<usize>,
    numbers: Range<usize>,
) -> Vec<&'s mut [Block]> {
    let LeakyShares { x, y, z } = shares;
    let columns = [x, y, z].map(|shares| &mut shares.column(own)[of.clone()]);
    let [x, y, z] = columns.map(|column| column.chunks_mut(EXTENSION_OTS));
    let pieces = x.zip(y).zip(z);
    let columns = pieces.flat_map(|((x, y), z)| [x, y, z]);
    columns.skip(numbers.start).take(numbers.len()).collect()
}

/// Returns the number of messages whose OTs are made together: one on one thread, so that the peer
/// works on each while the next one is made, and otherwise those of a piece for each thread, so
/// that each thread makes three messages.
fn messages_at_once(epoch: &Epoch) -> usize {
    match epoch.threads().get() {
        1 => 1,
        threads => 3 * threads.min(MOST_AT_ONCE),
    }
}

/// Returns the number of leaky ANDs whose OTs are made together.
fn ands_at_once(epoch: &Epoch) -> usize {
    EXTENSION_OTS * messages_at_once(epoch).div_ceil(3)
}

/// Makes the OTs with random choices of a message for each of `columns`. They are the MACs of this
/// party's bits, or the keys of the other's.
async fn ots_at_once(
    io: &mut Io<'_>,
    (epoch, rng): (&mut Epoch, &mut Prg),
    (of_own_bits, received): (bool, &mut Received),
    columns: Vec<&mut [Block]>,
) -> Result<(), Error> {
    if of_own_bits {
        for message in epoch.receiver()?.extend_random_at_once(rng, columns)? {
            send_ots(io, message)?;
        }
        return Ok(());
    }
    received.clear();
    for column in &columns {
        receive_ots(io, epoch, column.len(), received).await?;
    }
    take_ots(epoch, columns, &received.payloads)
}

/// Payloads that were received, and memory for others.
#[derive(Default)]
struct Received {
    payloads: Vec<Vec<u8>>,
    spare: Vec<Vec<u8>>,
}

impl Received {
    /// Receives a message, and returns its payload.
    async fn receive(&mut self, io: &mut Io<'_>, message: Message) -> Result<&[u8], Error> {
        let mut memory = self.spare.pop().unwrap_or_default();
        let payload = match io.receive_given(message, &mut memory).await? {
            Cow::Owned(payload) => payload,
            Cow::Borrowed(payload) => {
                memory.clear();
                memory.extend_from_slice(payload);
                memory
            }
        };
        Ok(self.payloads.push_mut(payload))
    }

    /// Forgets the payloads.
    fn clear(&mut self) {
        self.spare.append(&mut self.payloads);
    }
}

/// Makes the keys of the other party's bits from a message for each of `columns`.
fn take_ots(
    epoch: &mut Epoch,
    columns: Vec<&mut [Block]>,
    received: &[Vec<u8>],
) -> Result<(), Error> {
    let messages = received.iter().map(Vec::as_slice);
    let calls = columns.into_iter().zip(messages).collect();
    epoch.sender()?.extend_random_at_once(calls)
}

/// Sends a message of OTs, if there is one.
fn send_ots(io: &mut Io<'_>, message: Vec<u8>) -> Result<(), Error> {
    match message.len() {
        0 => Ok(()),
        bytes => io.send_shared(extension(bytes), vec![(Arc::new(message), 0..bytes)]),
    }
}

/// Receives the message of `count` OTs after those that were received, if there is one.
async fn receive_ots(
    io: &mut Io<'_>,
    epoch: &mut Epoch,
    count: usize,
    received: &mut Received,
) -> Result<(), Error> {
    let sender = epoch.sender()?;
    let bytes = if received.payloads.is_empty() {
        sender.random_bytes(count)
    } else {
        sender.later_random_bytes(count)
    };
    match bytes {
        0 => received.payloads.push(Vec::new()),
        bytes => {
            received.receive(io, extension(bytes)).await?;
        }
    }
    Ok(())
}

/// Writes blocks, and a bit for each or none, into messages of [`CHUNK`] blocks, on the epoch's
/// threads. Returns each with its number of blocks.
fn written(epoch: &Epoch, blocks: &[Block], bits: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let chunks: Vec<_> = pieces(0..blocks.len(), CHUNK).collect();
    map_each(chunks, epoch.threads(), |chunk| {
        let blocks = &blocks[chunk.clone()];
        let bits = bits.get(chunk.start / 8..bytes_for(chunk.end));
        let mut payload = Vec::with_capacity(blocks.len() * Block::BYTES + CHUNK / 8);
        append_blocks(&mut payload, blocks);
        payload.extend_from_slice(bits.unwrap_or_default());
        (blocks.len(), payload)
    })
}

/// Sends a message that was [`written`].
fn send_blocks(
    io: &mut Io<'_>,
    message: fn(usize) -> Message,
    (count, payload): (usize, Vec<u8>),
) -> Result<(), Error> {
    let all = 0..payload.len();
    io.send_shared(message(count), vec![(Arc::new(payload), all)])
}

/// Returns the triples of a lot, whose layers are shifted by the coin.
async fn open_buckets(
    io: &mut Io<'_>,
    epoch: &Epoch,
    lot: CheckedLot,
    coin: &Digest,
) -> Result<Triples, Error> {
    let openings = messages::triple_openings(lot.size);
    if epoch.role() == Role::Garbler {
        let lot = lot.open(epoch, coin, io.message());
        io.send(openings)?;
        let others = io.receive(openings).await?;
        return Ok(lot.check(epoch, others)?.triples(epoch));
    }
    let mut own = Vec::new();
    let lot = lot.open(epoch, coin, &mut own);
    let others = io.receive(openings).await?.to_vec();
    *io.message() = own;
    io.send(openings)?;
    // Send the openings now: the garbler works on them before this party has its triples.
    io.breathe().await?;
    Ok(lot.check(epoch, &others)?.triples(epoch))
}

impl Unchecked {
    fn new(epoch: &mut Epoch, size: LotSize) -> Self {
        let number = epoch.next_lot();
        let mut leaky = || epoch.buffers.take_shares(size.leaky_ands());
        let shares = LeakyShares {
            x: leaky(),
            y: leaky(),
            z: leaky(),
        };
        Self {
            number,
            size,
            hash: LeakyHash::new(epoch, number),
            shares,
            masks: epoch.buffers.take_shares(size.triples),
            sums: epoch.buffers.take(size.leaky_ands()),
            blocks: epoch.buffers.take(match epoch.role() {
                Role::Garbler => size.leaky_ands(),
                Role::Evaluator => size.leaky_ands().min(ands_at_once(epoch)),
            }),
            turned: vec![0; bytes_for(size.leaky_ands())],
            ots: Received::default(),
            received: Received::default(),
        }
    }

    /// Makes the OTs of several pieces in one direction, those of `party`'s bits, and of `at_once`
    /// messages together. For the evaluator's bits, also sends or receives its blocks. The OTs of
    /// some x, of their y and of their z follow each other, and then the evaluator's blocks for
    /// them.
    async fn ots(
        &mut self,
        io: &mut Io<'_>,
        (epoch, rng): (&mut Epoch, &mut Prg),
        party: Role,
        several: Range<usize>,
        at_once: usize,
    ) -> Result<(), Error> {
        let own = party == epoch.role();
        let together = at_once.min(3 * several.len().div_ceil(EXTENSION_OTS));
        let (mut first, mut made) = (0, VecDeque::new());
        let mut blocks = Vec::new().into_iter();
        self.ots.clear();
        self.received.clear();
        for piece in pieces(several.clone(), EXTENSION_OTS) {
            for _ in 0..3 {
                let now = first..first + together;
                if own {
                    if made.is_empty() {
                        let columns = columns_of(&mut self.shares, own, &several, now);
                        made.extend(epoch.receiver()?.extend_random_at_once(rng, columns)?);
                        first += together;
                    }
                    send_ots(io, made.pop_front().unwrap_or_default())?;
                } else {
                    receive_ots(io, epoch, piece.len(), &mut self.ots).await?;
                    if self.ots.payloads.len() == together {
                        let columns = columns_of(&mut self.shares, own, &several, now);
                        take_ots(epoch, columns, &self.ots.payloads)?;
                        self.ots.clear();
                        first += together;
                    }
                }
            }
            match (party, own) {
                (Role::Evaluator, true) => {
                    if piece.start == several.start {
                        // The OTs of all of them are made.
                        self.make_blocks(epoch, several.clone());
                        blocks = written(epoch, &self.blocks[..several.len()], &[]).into_iter();
                    }
                    let ands = blocks.by_ref().take(piece.len().div_ceil(CHUNK));
                    for ands in ands {
                        send_blocks(io, messages::evaluators_blocks, ands)?;
                    }
                }
                (Role::Evaluator, false) => {
                    for ands in pieces(piece, CHUNK) {
                        let message = messages::evaluators_blocks(ands.len());
                        self.received.receive(io, message).await?;
                    }
                }
                _ => {}
            }
        }
        if (party, own) == (Role::Evaluator, false) {
            self.make_blocks(epoch, several.clone());
            self.add_blocks(epoch, several);
        }
        Ok(())
    }

    /// Computes this party's blocks of consecutive pieces, and the sums that depend only on its own
    /// shares.
    fn make_blocks(&mut self, epoch: &Epoch, of: Range<usize>) {
        let (shares, sums) = (&self.shares, &mut self.sums[of.clone()]);
        let blocks = match epoch.role() {
            Role::Garbler => &mut self.blocks[of.clone()],
            Role::Evaluator => &mut self.blocks[..of.len()],
        };
        self.hash.blocks(epoch, shares, of.start, blocks, sums);
    }

    /// Adds the other party's blocks of consecutive pieces, which were received, to the sums.
    fn add_blocks(&mut self, epoch: &Epoch, of: Range<usize>) {
        let bits = &mut self.turned[of.start / 8..bytes_for(of.end)];
        let into = (&mut self.sums[of.clone()], bits);
        let (shares, others) = (&self.shares, &self.received.payloads);
        self.hash.add_blocks(epoch, shares, of.start, others, into);
    }

    /// Returns the lot as one that the caller has checked. Outputs are flipped by `turned`.
    fn checked(self, epoch: &mut Epoch, turned: Vec<u8>) -> CheckedLot {
        epoch.buffers.give([self.sums, self.blocks]);
        CheckedLot {
            number: self.number,
            size: self.size,
            shares: self.shares,
            masks: self.masks,
            turned,
        }
    }
}
