//! The receiver of correlated OTs.

use core::fmt;
use core::num::NonZeroUsize;

use tacit_kernels::{Aes128, Block, Cpu, Prg, share_out};
use zeroize::Zeroizing;

use super::check::Check;
use super::lot::{Lot, SpareLots};
use super::{LOT, LOT_BLOCKS, Progress, check_base, message_bytes, shared_by};
use crate::base::Key;
use crate::extension::{FieldBits, STEP, Streams, first_bytes, grow, mask_key, prove_trees};
use crate::{ApiMisuse, Error, Security, SessionTag};

/// The evaluator's half: it has choice bits, and gets t = q ⊕ bΔ for each OT.
pub struct CotReceiver {
    pub(super) tag: SessionTag,
    pub(super) field: FieldBits,
    pub(super) security: Security,
    pub(super) progress: Progress,
    /// The corrections of the trees and their proof, until the first message carries them.
    pub(super) corrections: Vec<u8>,
    /// The streams of each group's whole tree.
    pub(super) groups: Vec<Streams>,
    /// The key for the choices that mask the check.
    pub(super) mask_key: Zeroizing<Block>,
    pub(super) threads: NonZeroUsize,
    pub(super) spare: SpareLots,
}

/// A call, and where its message goes.
struct Call<'a> {
    /// Number of its first block in all streams.
    first: u64,
    /// The part that only the first message carries.
    head: &'a [u8],
    t: &'a mut [Block],
    message: &'a mut [u8],
}

/// A lot that a thread makes.
struct MadeLot<'a> {
    /// Number of its first block in all streams.
    first: u64,
    choices: &'a [Block],
    lot: &'a mut Lot,
    sent: &'a mut [u8],
    t: &'a mut [Block],
}

impl MadeLot<'_> {
    /// The rows.
    fn rows(&self) -> &[Block] {
        &self.lot.rows[..128 * self.choices.len()]
    }

    /// Writes t of its OTs, with the choice in bit 0 if they are random.
    fn finish(&mut self, random: bool) {
        let length = self.choices.len();
        if random {
            self.lot.rows[..length].copy_from_slice(self.choices);
        }
        self.lot.transpose(length, self.t);
    }
}

impl CotReceiver {
    /// Returns the semi-honest receiver, with both keys of each base OT. The tag and the field must
    /// be the sender's.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongBaseCount`] if there are not
    /// [`Delta::BITS`](crate::Delta::BITS) base OTs.
    pub fn new(base: Vec<[Key; 2]>, tag: &SessionTag, field: FieldBits) -> Result<Self, Error> {
        Self::with_security(base, tag, field, Security::SemiHonest)
    }

    /// Returns the receiver with this security. All parameters must be the sender's.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new).
    pub fn with_security(
        base: Vec<[Key; 2]>,
        tag: &SessionTag,
        field: FieldBits,
        security: Security,
    ) -> Result<Self, Error> {
        check_base(base.len())?;
        let cpu = Cpu::detect();
        let mut corrections = Vec::with_capacity(first_bytes(field, security));
        let trees = (0..field.groups()).map(|group| {
            let keys = &base[field.group(group)];
            grow(tag, group, keys, &mut corrections)
        });
        let trees = trees.collect::<Vec<_>>();
        if security == Security::Malicious {
            prove_trees(tag, &trees, &mut corrections);
        }
        let groups = trees.iter().map(|leaves| Streams::of_whole(cpu, leaves));
        Ok(Self {
            tag: *tag,
            field,
            security,
            progress: Progress::default(),
            groups: groups.collect(),
            corrections,
            mask_key: Zeroizing::new(mask_key(tag, &base)),
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

    /// Returns the exact size in bytes of the next message, if it is for `count` OTs.
    pub fn message_len(&self, count: usize) -> usize {
        self.corrections.len() + message_bytes(self.field, self.security, count)
    }

    /// Returns the size of the part that only the first message carries, in bytes, until it is
    /// sent.
    pub(crate) fn head_bytes(&self) -> usize {
        self.corrections.len()
    }

    /// Makes the message for one OT for each of `choices`, which stay secret. Returns it with the
    /// t of each OT, secret, numbered from [`next_index`](Self::next_index) on. Messages must reach
    /// the sender in the order in which they were made, each once.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse`] if there are too many choices.
    pub fn extend(&mut self, choices: &[bool]) -> Result<(Vec<u8>, Vec<Block>), Error> {
        self.progress.check(choices.len())?;
        let mut message = Vec::new();
        let mut t = vec![Block::ZERO; choices.len()];
        self.extend_into(choices, &mut t, &mut message)?;
        Ok((message, t))
    }

    /// Does the same as [`extend`](Self::extend) in the caller's memory: writes each t into `t`,
    /// and replaces the contents of `message`, so that buffers can be reused.
    ///
    /// # Errors
    ///
    /// Those of [`extend`](Self::extend); also [`ApiMisuse::WrongBuffer`] if `t` is not as long as
    /// `choices`.
    pub fn extend_into(
        &mut self,
        choices: &[bool],
        t: &mut [Block],
        message: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let (expected, found) = (choices.len(), t.len());
        if found != expected {
            return Err(ApiMisuse::WrongBuffer { expected, found }.into());
        }
        self.run(Choices::Chosen(choices), t, message)
    }

    /// Does the same as [`extend_into`](Self::extend_into) with random choices from `rng`, one for
    /// each of `t`. Bit 0 of each t is then the choice. The sender uses
    /// [`extend_random`](super::CotSender::extend_random).
    ///
    /// # Errors
    ///
    /// Those of [`extend`](Self::extend).
    pub fn extend_random(
        &mut self,
        rng: &mut Prg,
        t: &mut [Block],
        message: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.run(Choices::Random(rng), t, message)
    }

    /// Does the same for several calls at once, each of `ots` OTs but for the last one, which has
    /// the rest, and with choices of its own. `message` gets the messages of all calls, one after
    /// the other. `ots` is a multiple of the OTs of a lot, and this half is semi-honest: so calls
    /// leave nothing behind but their OTs.
    pub(crate) fn extend_calls(
        &mut self,
        choices: &mut [Prg],
        ots: usize,
        t: &mut [Block],
        message: &mut Vec<u8>,
    ) -> Result<(), Error> {
        assert!(ots.is_multiple_of(LOT) && self.security == Security::SemiHonest);
        assert_eq!(choices.len(), t.len().div_ceil(ots), "choices of each call");
        let lots = ots / LOT;
        self.run(
            Choices::Calls {
                choices,
                lots,
                lot: 0,
            },
            t,
            message,
        )
    }

    /// Does the same as a call of [`extend_random`](Self::extend_random) for each of `calls`, in
    /// order, whose messages it returns. Each thread makes whole calls: one call alone would keep
    /// few threads busy.
    ///
    /// # Errors
    ///
    /// Those of [`extend`](Self::extend).
    pub fn extend_random_at_once(
        &mut self,
        rng: &mut Prg,
        calls: Vec<&mut [Block]>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        let mut progress = self.progress;
        let mut starts = Vec::with_capacity(calls.len());
        for t in &calls {
            progress.check(t.len())?;
            starts.push(progress.stream_blocks);
            progress.advance(t.len(), self.security);
        }
        let corrections = core::mem::take(&mut self.corrections);
        let mut head = &corrections[..];
        let mut messages = vec![Vec::new(); calls.len()];
        let (mut tasks, mut count) = (Vec::with_capacity(calls.len()), 0);
        for ((t, message), first) in calls.into_iter().zip(&mut messages).zip(starts) {
            let mut packed = Zeroizing::new(vec![Block::ZERO; super::blocks(t.len())]);
            let lots = packed.chunks_mut(LOT_BLOCKS);
            lots.for_each(|lot| rng.fill_blocks(lot));
            count += t.len();
            tasks.push((first, core::mem::take(&mut head), t, message, packed));
        }
        let mut lots = self.spare.take(self.threads.get().min(tasks.len()));
        share_out(
            &mut lots,
            tasks,
            |lot, (first, head, t, message, packed)| {
                let bytes = message_bytes(self.field, self.security, t.len());
                *message = vec![0; head.len() + bytes];
                let call = Call {
                    first,
                    head,
                    t,
                    message,
                };
                let choices = Choices::Packed(&packed);
                self.make(call, choices, 1, core::slice::from_mut(lot));
            },
        );
        self.spare.give(lots, count);
        self.progress = progress;
        Ok(messages)
    }

    /// Replaces each key by its successor, so that earlier OTs cannot be recomputed. The sender
    /// does the same at the same number.
    pub(crate) fn step_keys(&mut self) {
        self.groups.iter_mut().for_each(Streams::step);
        self.spare = SpareLots::default();
        *self.mask_key = self.masks().encrypt(STEP);
    }

    fn run(
        &mut self,
        choices: Choices<'_>,
        t: &mut [Block],
        message: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let count = t.len();
        self.progress.check(count)?;
        // The memory is not cleared first: bytes that are already there need not be set to zero.
        message.resize(self.message_len(count), 0);
        let corrections = core::mem::take(&mut self.corrections);
        let (threads, lots_of_turn) = shared_by(self.threads, self.field, count);
        let mut lots = self.spare.take(lots_of_turn);
        let call = Call {
            first: self.progress.stream_blocks,
            head: &corrections,
            t,
            message,
        };
        self.make(call, choices, threads, &mut lots);
        self.spare.give(lots, count);
        self.progress.advance(count, self.security);
        Ok(())
    }

    /// Makes the OTs of a call and its message on this many threads, which share `lots`.
    fn make(&self, call: Call<'_>, mut choices: Choices<'_>, threads: usize, lots: &mut [Lot]) {
        let Call {
            mut first,
            head: corrections,
            t,
            message,
        } = call;
        let lots_of_turn = lots.len();
        let (head, mut rest) = message.split_at_mut(corrections.len());
        head.copy_from_slice(corrections);
        let mut check =
            (self.security == Security::Malicious).then(|| Check::new(&self.tag, first, t.len()));
        let mut workers = vec![(); threads];
        let mut sums = Vec::new();
        if let Some(check) = &mut check {
            check.absorb(head);
            rest = self.mask(first, check, &mut lots[0], rest);
            first += 1;
            sums = check.share(threads);
        }
        let random = !matches!(choices, Choices::Chosen(_));
        let mut packed = Zeroizing::new(vec![Block::ZERO; LOT_BLOCKS * lots_of_turn]);
        for t in t.chunks_mut(LOT * lots_of_turn) {
            let mut turn = Vec::with_capacity(lots_of_turn);
            let room = lots.iter_mut().zip(packed.chunks_mut(LOT_BLOCKS));
            for ((lot, packed), t) in room.zip(t.chunks_mut(LOT)) {
                let choices = choices.next(t.len(), packed);
                let bytes = self.field.groups() * choices.len() * Block::BYTES;
                let (sent, left) = rest.split_at_mut(bytes);
                rest = left;
                turn.push(MadeLot {
                    first,
                    choices,
                    lot,
                    sent,
                    t,
                });
                first += choices.len() as u64;
            }
            share_out(&mut workers, turn.iter_mut(), |(), made| {
                self.fold_lot(made.first, made.choices, made.lot, made.sent);
                if sums.is_empty() {
                    made.finish(random);
                }
            });
            if let Some(check) = &mut check {
                let seeds = turn.iter().map(|made| check.seed_after(made.sent));
                let seeds: Vec<_> = seeds.collect();
                let lots = turn.iter_mut().zip(&seeds);
                share_out(&mut sums, lots, |sums, (made, seed)| {
                    sums.add_rows(seed, made.rows());
                    sums.add_choices(made.choices);
                    made.finish(random);
                });
            }
        }
        if let Some(mut check) = check {
            check.collect(sums);
            rest.copy_from_slice(&check.prove());
        }
    }

    /// Sends a block of OTs with random choices, which hide the choices of the call in the check.
    fn mask<'a>(
        &self,
        first: u64,
        check: &mut Check,
        lot: &mut Lot,
        rest: &'a mut [u8],
    ) -> &'a mut [u8] {
        let (sent, rest) = rest.split_at_mut(self.field.groups() * Block::BYTES);
        let choices = self.masks().encrypt(Block::from_u128(u128::from(first)));
        let choices = Zeroizing::new([choices]);
        self.fold_lot(first, &*choices, lot, sent);
        check.absorb(sent);
        check.begin_lots();
        check.add_mask_rows(&lot.rows[..128]);
        check.add_mask_choices(choices[0]);
        rest
    }

    fn masks(&self) -> Aes128 {
        Aes128::new(Cpu::detect(), *self.mask_key)
    }

    /// Writes the rows of one lot, v, and the bytes to send for each group, u ⊕ c.
    fn fold_lot(&self, first: u64, choices: &[Block], lot: &mut Lot, sent: &mut [u8]) {
        let length = choices.len();
        for (group, out) in sent.chunks_exact_mut(length * Block::BYTES).enumerate() {
            let bits = self.field.group(group);
            let rows = &mut lot.rows[bits.start * length..bits.end * length];
            self.groups[group].fold(first, rows, &mut lot.sum[..length]);
            let sums = lot.sum[..length].iter().zip(choices);
            for ((&u, &c), out) in sums.zip(out.chunks_exact_mut(Block::BYTES)) {
                out.copy_from_slice(&(u ^ c).to_bytes());
            }
        }
    }
}

/// The source of a call's choices.
enum Choices<'a> {
    Chosen(&'a [bool]),
    Random(&'a mut Prg),
    /// Random ones that were drawn before, in blocks.
    Packed(&'a [Block]),
    /// Random ones of several calls, of `lots` lots each. `lot` is the number of the next lot.
    Calls {
        choices: &'a mut [Prg],
        lots: usize,
        lot: usize,
    },
}

impl Choices<'_> {
    /// Returns the choices of a lot of `count` OTs as blocks.
    fn next<'b>(&mut self, count: usize, packed: &'b mut [Block]) -> &'b [Block] {
        match self {
            Self::Chosen(choices) => {
                let (now, later) = choices.split_at(count);
                *choices = later;
                let length = pack(now, packed);
                &packed[..length]
            }
            Self::Random(rng) => {
                let packed = &mut packed[..super::blocks(count)];
                rng.fill_blocks(packed);
                packed
            }
            Self::Packed(choices) => {
                let (now, later) = choices.split_at(super::blocks(count));
                *choices = later;
                let packed = &mut packed[..now.len()];
                packed.copy_from_slice(now);
                packed
            }
            Self::Calls { choices, lots, lot } => {
                let packed = &mut packed[..super::blocks(count)];
                choices[*lot / *lots].fill_blocks(packed);
                *lot += 1;
                packed
            }
        }
    }
}

/// Writes choice bits as blocks, bit i in bit i mod 128, the last block padded with zeros. Returns
/// the number of blocks.
fn pack(choices: &[bool], packed: &mut [Block]) -> usize {
    let word = |bits: &[bool]| {
        (0..)
            .zip(bits)
            .fold(0, |w, (i, &bit)| w | u64::from(bit) << i)
    };
    for (chunk, block) in choices.chunks(128).zip(packed) {
        let (low, high) = chunk.split_at(chunk.len().min(64));
        *block = Block::from_u128(u128::from(word(low)) | u128::from(word(high)) << 64);
    }
    super::blocks(choices.len())
}

impl fmt::Debug for CotReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "CotReceiver {{ next: {}, .. }}",
            self.progress.handed_out
        )
    }
}

#[cfg(test)]
mod tests;
