//! The sender of correlated OTs.

use core::fmt;
use core::num::NonZeroUsize;

use tacit_kernels::{Block, Cpu, share_out};
use zeroize::Zeroize;

use super::check::{CHECK_BYTES, Check, RowSums};
use super::lot::{Lot, SpareLots};
use super::{LOT, Progress, blocks, check_base, message_bytes, shared_by};
use crate::SessionTag;
use crate::base::Key;
use crate::extension::{
    CORRECTION_BYTES, FieldBits, Streams, correction_bytes, first_bytes, grow_punctured,
    verify_trees,
};
use crate::{Check as Failed, Delta, Error, Message, PeerMisbehaved, Security};

/// The garbler's half: it has chosen Δ, and gets q for each OT.
pub struct CotSender {
    pub(super) delta: Delta,
    pub(super) tag: SessionTag,
    pub(super) field: FieldBits,
    pub(super) security: Security,
    pub(super) progress: Progress,
    /// The chosen keys of the base OTs, until the first message brings the corrections.
    pub(super) base: Vec<Key>,
    /// The streams of each group's punctured tree, from the first message on.
    pub(super) groups: Vec<Streams>,
    threads: NonZeroUsize,
    spare: SpareLots,
}

/// A call, and where its OTs go.
struct Call<'a> {
    /// Number of its first block in all streams.
    first: u64,
    /// The part that only the first message carries, and the rest of the message.
    head: &'a [u8],
    rest: &'a [u8],
    /// Whether bit 0 of each q is cleared, for random choices.
    random: bool,
    q: &'a mut [Block],
}

/// A lot that a thread takes.
struct SentLot<'a> {
    /// Number of its first block in all streams.
    first: u64,
    sent: &'a [u8],
    /// Of its coefficients in the check.
    seed: Option<[u8; 32]>,
    q: &'a mut [Block],
}

impl CotSender {
    /// Returns the semi-honest sender under `delta`, with the chosen keys of the base OTs whose
    /// choices were [`Delta::choices`]. The tag and the field must be the receiver's.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongBaseCount`](crate::ApiMisuse::WrongBaseCount) if there are not
    /// [`Delta::BITS`] base OTs.
    pub fn new(
        delta: Delta,
        base: Vec<Key>,
        tag: &SessionTag,
        field: FieldBits,
    ) -> Result<Self, Error> {
        Self::with_security(delta, base, tag, field, Security::SemiHonest)
    }

    /// Returns the sender with this security. All parameters must be the receiver's.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new).
    pub fn with_security(
        delta: Delta,
        base: Vec<Key>,
        tag: &SessionTag,
        field: FieldBits,
        security: Security,
    ) -> Result<Self, Error> {
        check_base(base.len())?;
        Ok(Self {
            delta,
            tag: *tag,
            field,
            security,
            progress: Progress::default(),
            base,
            groups: Vec::new(),
            threads: NonZeroUsize::MIN,
            spare: SpareLots::default(),
        })
    }

    /// Works on this many threads from now on; at first on one. The OTs stay the same.
    pub fn set_threads(&mut self, threads: NonZeroUsize) {
        self.threads = threads;
    }

    pub(crate) fn threads(&self) -> NonZeroUsize {
        self.threads
    }

    /// Returns the threat model that this half withstands.
    pub fn security(&self) -> Security {
        self.security
    }

    /// Returns the number of the next correlated OT.
    pub fn next_index(&self) -> u64 {
        self.progress.handed_out
    }

    /// Returns the number of OTs by which padding brings the base OTs closer to their last one.
    pub(crate) fn padding(&self) -> u64 {
        self.progress.padding()
    }

    /// Returns the offset of all OTs. Secret.
    pub fn delta(&self) -> &Delta {
        &self.delta
    }

    /// Returns the exact size in bytes of the receiver's next message, if it is for `count` OTs.
    pub fn message_len(&self, count: usize) -> usize {
        self.head_bytes() + self.later_message_len(count)
    }

    /// Returns the bytes of the receiver's message for `count` OTs after its first message.
    pub fn later_message_len(&self, count: usize) -> usize {
        message_bytes(self.field, self.security, count)
    }

    /// Returns the size of the part that only the first message carries, in bytes.
    pub(crate) fn head_bytes(&self) -> usize {
        if self.groups.is_empty() {
            first_bytes(self.field, self.security)
        } else {
            0
        }
    }

    /// Takes the receiver's message for `count` OTs and returns their q, secret, which are numbered
    /// from [`next_index`](Self::next_index) on.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved::WrongLength`] or [`PeerMisbehaved::CheckFailed`], which end this sender
    /// and wipe its base OTs; [`ApiMisuse`](crate::ApiMisuse) if there are too many OTs or this
    /// sender has ended.
    pub fn extend(&mut self, count: usize, message: &[u8]) -> Result<Vec<Block>, Error> {
        self.progress.check(count)?;
        self.check_length(count, message)?;
        let mut q = vec![Block::ZERO; count];
        self.extend_into(&mut q, message)?;
        Ok(q)
    }

    /// Does the same as [`extend`](Self::extend) in the caller's memory: makes as many OTs as `q`
    /// has blocks.
    ///
    /// # Errors
    ///
    /// Those of [`extend`](Self::extend). `q` holds zeros if the check failed.
    pub fn extend_into(&mut self, q: &mut [Block], message: &[u8]) -> Result<(), Error> {
        self.run(false, q, message)
    }

    /// Does the same as [`extend_into`](Self::extend_into) for the receiver's
    /// [`extend_random`](super::CotReceiver::extend_random): bit 0 of each q is clear, so that bit
    /// 0 of t is the choice.
    ///
    /// # Errors
    ///
    /// Those of [`extend_into`](Self::extend_into).
    pub fn extend_random(&mut self, q: &mut [Block], message: &[u8]) -> Result<(), Error> {
        self.run(true, q, message)
    }

    /// Replaces each key by its successor, so that earlier OTs cannot be recomputed. The receiver
    /// does the same at the same number.
    pub(crate) fn step_keys(&mut self) {
        self.groups.iter_mut().for_each(Streams::step);
        self.spare = SpareLots::default();
    }

    fn run(&mut self, random: bool, q: &mut [Block], message: &[u8]) -> Result<(), Error> {
        let count = q.len();
        self.progress.check(count)?;
        self.check_length(count, message)?;
        let result = self.take(random, q, message);
        if result.is_err() {
            q.zeroize();
            self.end();
        }
        result.map_err(Error::from)
    }

    fn check_length(&mut self, count: usize, message: &[u8]) -> Result<(), Error> {
        self.check_bytes(self.message_len(count), message.len())
    }

    fn check_bytes(&mut self, expected: usize, found: usize) -> Result<(), Error> {
        if found == expected {
            return Ok(());
        }
        self.end();
        Err(Error::PeerMisbehaved(PeerMisbehaved::WrongLength {
            message: Message::Extension,
            expected,
            found,
        }))
    }

    /// Discards the base OTs and everything derived from them.
    fn end(&mut self) {
        self.progress.ended = true;
        self.base = Vec::new();
        self.groups = Vec::new();
        self.spare = SpareLots::default();
    }

    /// Does the same as a call of [`extend_random`](Self::extend_random) for each of `calls`, in
    /// order: its q, and the receiver's message. Each thread takes whole calls: one call alone
    /// would keep few threads busy.
    ///
    /// # Errors
    ///
    /// Those of [`extend_into`](Self::extend_into).
    pub fn extend_random_at_once(
        &mut self,
        mut calls: Vec<(&mut [Block], &[u8])>,
    ) -> Result<(), Error> {
        if calls.is_empty() {
            return Ok(());
        }
        let mut progress = self.progress;
        let mut starts = Vec::with_capacity(calls.len());
        let mut expected_head = self.head_bytes();
        for (q, message) in &calls {
            progress.check(q.len())?;
            let expected = expected_head + self.later_message_len(q.len());
            self.check_bytes(expected, message.len())?;
            expected_head = 0;
            starts.push(progress.stream_blocks);
            progress.advance(q.len(), self.security);
        }
        let mut head: &[u8] = &[];
        if let Some((_, message)) = calls.first_mut() {
            (head, *message) = message.split_at(self.head_bytes());
        }
        let result = self.take_calls(&mut calls, head, &starts);
        if result.is_err() {
            calls.iter_mut().for_each(|(q, _)| q.zeroize());
            self.end();
        } else {
            self.progress = progress;
        }
        result.map_err(Error::from)
    }

    fn take_calls(
        &mut self,
        calls: &mut [(&mut [Block], &[u8])],
        head: &[u8],
        starts: &[u64],
    ) -> Result<(), PeerMisbehaved> {
        if self.groups.is_empty() {
            self.open_trees(head)?;
        }
        let mut lots = self.spare.take(self.threads.get().min(calls.len()));
        let mut results = vec![Ok(()); calls.len()];
        let count = calls.iter().map(|(q, _)| q.len()).sum();
        let heads = core::iter::once(head).chain(core::iter::repeat(&[][..]));
        let tasks = calls.iter_mut().zip(&mut results).zip(starts).zip(heads);
        let tasks: Vec<_> = tasks.collect();
        share_out(
            &mut lots,
            tasks,
            |lot, ((((q, rest), result), &first), head)| {
                let call = Call {
                    first,
                    head,
                    rest,
                    random: true,
                    q,
                };
                *result = self.take_call(call, 1, core::slice::from_mut(lot));
            },
        );
        self.spare.give(lots, count);
        results.into_iter().collect()
    }

    fn take(
        &mut self,
        random: bool,
        q: &mut [Block],
        message: &[u8],
    ) -> Result<(), PeerMisbehaved> {
        let count = q.len();
        let (head, rest) = message.split_at(self.head_bytes());
        if self.groups.is_empty() {
            self.open_trees(head)?;
        }
        let (threads, lots_of_turn) = shared_by(self.threads, self.field, count);
        let mut lots = self.spare.take(threads);
        let call = Call {
            first: self.progress.stream_blocks,
            head,
            rest,
            random,
            q,
        };
        let taken = self.take_call(call, lots_of_turn, &mut lots);
        self.spare.give(lots, count);
        self.progress.advance(count, self.security);
        taken
    }

    /// Takes the message of a call in turns of `lots_of_turn` lots. Each thread has one of `lots`.
    fn take_call(
        &self,
        call: Call<'_>,
        lots_of_turn: usize,
        lots: &mut [Lot],
    ) -> Result<(), PeerMisbehaved> {
        let (mut first, mut rest, count) = (call.first, call.rest, call.q.len());
        let delta = self.delta.choices();
        let mut check =
            (self.security == Security::Malicious).then(|| Check::new(&self.tag, first, count));
        let mut sums = Vec::new();
        if let Some(check) = &mut check {
            check.absorb(call.head);
            let (sent, left) = rest.split_at(self.field.groups() * Block::BYTES);
            rest = left;
            self.fold_lot(first, 1, sent, &delta, &mut lots[0]);
            check.absorb(sent);
            check.begin_lots();
            check.add_mask_rows(&lots[0].rows[..Delta::BITS]);
            first += 1;
            sums = check.share(lots.len());
        }
        let mut sums_of = sums.iter_mut();
        let workers = lots.iter_mut().map(|lot| (lot, sums_of.next()));
        let mut workers: Vec<_> = workers.collect();
        for q in call.q.chunks_mut(LOT * lots_of_turn) {
            let mut turn = Vec::with_capacity(lots_of_turn);
            for q in q.chunks_mut(LOT) {
                let length = blocks(q.len());
                let (sent, left) = rest.split_at(self.field.groups() * length * Block::BYTES);
                rest = left;
                let seed = check.as_mut().map(|check| check.seed_after(sent));
                turn.push(SentLot {
                    first,
                    sent,
                    seed,
                    q,
                });
                first += length as u64;
            }
            share_out(&mut workers, turn, |(lot, sums), sent| {
                self.take_lot(call.random, &delta, lot, sums.as_deref_mut(), sent);
            });
        }
        drop(workers);
        if let Some(check) = &mut check {
            check.collect(sums);
        }
        debug_assert_eq!(rest.len(), if check.is_some() { CHECK_BYTES } else { 0 });
        match check {
            Some(check) if !check.verify(rest, &delta) => Err(PeerMisbehaved::CheckFailed {
                check: Failed::Choices,
            }),
            _ => Ok(()),
        }
    }

    /// Takes a lot of a message in `lot`, and adds its rows to the check's sums.
    fn take_lot(
        &self,
        random: bool,
        delta: &[bool],
        lot: &mut Lot,
        sums: Option<&mut RowSums>,
        taken: SentLot<'_>,
    ) {
        let length = blocks(taken.q.len());
        self.fold_lot(taken.first, length, taken.sent, delta, lot);
        if let (Some(sums), Some(seed)) = (sums, &taken.seed) {
            sums.add_rows(seed, &lot.rows[..Delta::BITS * length]);
        }
        if random {
            lot.rows[..length].fill(Block::ZERO);
        }
        lot.transpose(length, taken.q);
    }

    /// Writes the rows of one lot, `length` blocks each: w ⊕ Δ · (u ⊕ c), where `delta` are all
    /// bits of Δ.
    fn fold_lot(&self, first: u64, length: usize, sent: &[u8], delta: &[bool], lot: &mut Lot) {
        for (group, sent) in sent.chunks_exact(length * Block::BYTES).enumerate() {
            let bits = self.field.group(group);
            let rows = &mut lot.rows[bits.start * length..bits.end * length];
            self.groups[group].fold(first, rows, &mut lot.sum[..length]);
            for (row, &bit) in rows.chunks_exact_mut(length).zip(&delta[bits]) {
                let mask = Block::ONES.and_bit(u8::from(bit).into());
                for (block, sent) in row.iter_mut().zip(sent.chunks_exact(Block::BYTES)) {
                    *block ^= read_block(sent) & mask;
                }
            }
        }
    }

    /// Grows the punctured trees from the base OTs and the first message.
    fn open_trees(&mut self, head: &[u8]) -> Result<(), PeerMisbehaved> {
        let (cpu, choices) = (Cpu::detect(), self.delta.choices());
        let (mut corrections, proof) = head.split_at(correction_bytes(self.field));
        let mut trees = Vec::with_capacity(self.field.groups());
        for group in 0..self.field.groups() {
            let bits = self.field.group(group);
            let (own, rest) = corrections.split_at((bits.len() - 1) * CORRECTION_BYTES);
            corrections = rest;
            let (keys, choices) = (&self.base[bits.clone()], &choices[bits]);
            trees.push(grow_punctured(&self.tag, group, keys, choices, own));
        }
        if self.security == Security::Malicious
            && !verify_trees(&self.tag, self.field, &trees, &choices, proof)
        {
            let check = Failed::Trees;
            return Err(PeerMisbehaved::CheckFailed { check });
        }
        let streams = trees.iter().map(|tree| Streams::of_punctured(cpu, tree));
        self.groups = streams.collect();
        self.base = Vec::new();
        Ok(())
    }
}

fn read_block(bytes: &[u8]) -> Block {
    let mut array = [0; Block::BYTES];
    array.copy_from_slice(bytes);
    Block::from_bytes(array)
}

impl fmt::Debug for CotSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CotSender {{ next: {}, .. }}", self.progress.handed_out)
    }
}
