//! Two directions of correlated OTs, one for each sender, for `gmw` alone.
//!
//! Each direction has its own base OTs, Δ and [source](tacit_ot::source) of semi-honest OTs with
//! random choices, numbered from 0. No Δ outlives its session or lot.
//!
//! Silent OT of both directions takes its columns from the tag of the garbler's direction, so that
//! a party makes the sums of both at once ([`sum_both`]).
//!
//! A refill moves the messages of both sources in rounds. In each round a party first sends the
//! messages of its two halves, and then reads the peer's messages, those of the garbler's direction
//! first. So both parties work at the same time, and neither sends more than two messages before it
//! reads.

use core::fmt;
use core::num::NonZeroUsize;
use std::sync::Arc;

use tacit_circuit::Role;
use tacit_kernels::{CrossHash, Prg};
use tacit_ot::SessionTag as OtTag;
use tacit_ot::silent::{Device, HashedBits, JointSums};
use tacit_ot::source::{SourceReceiver, SourceSender, Turn, sum_both};
use zeroize::Zeroizing;

use super::hashed::{HashRoom, HashedOtSink, OtHalf, OtHash, hash_of};
use super::messages;
use super::packing::{OtPart, make_room};
use crate::Error;
use crate::io::{Io, boxed};
use crate::session::{RunTag, SessionTag};
use crate::setup::{EvaluatorSetup, GarblerSetup, Half, OtSettings};

/// The number of OTs that a source is asked for at once, so that few are held as blocks.
pub(super) const REFILL_PART_OTS: u64 = 1 << 18;

/// The parameters of two directions of OTs.
#[derive(Clone, Copy)]
pub struct DirectionSetup {
    /// The role of this party.
    pub role: Role,
    /// Base OTs and extension; both parties name the same.
    pub settings: OtSettings,
    /// The tags of the directions, by their senders' roles.
    tags: [RunTag; 2],
}

/// A party's halves of both directions: it sends the OTs of one and receives those of the other.
pub struct Directions {
    role: Role,
    sender: Box<SourceSender>,
    receiver: Box<SourceReceiver>,
    sums: JointSums,
    /// The hashes of the directions, by their senders' roles.
    hashes: [CrossHash; 2],
    threads: NonZeroUsize,
    room: HashRoom,
    /// Memory for the bits of OTs that a device hashes.
    bits: [Zeroizing<Vec<u64>>; 2],
}

impl fmt::Debug for Directions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Directions({}, ..)", self.role.name())
    }
}

impl DirectionSetup {
    /// Returns the directions of a session, in which the connecting party has `connecting_role`.
    pub fn new(
        session: &SessionTag,
        (role, connecting_role): (Role, Role),
        settings: OtSettings,
    ) -> Self {
        let OtSettings {
            base, extension, ..
        } = settings;
        let tags =
            Role::BOTH.map(|sender| session.gmw_setup(sender == connecting_role, base, extension));
        Self {
            role,
            settings,
            tags,
        }
    }

    /// Returns the directions of lot number `lot`, from 0, that an order makes for the stock.
    pub fn of_lot(order: &RunTag, lot: u64, role: Role, settings: OtSettings) -> Self {
        Self {
            role,
            settings,
            tags: Role::BOTH.map(|sender| order.crosses_setup(sender, lot)),
        }
    }

    /// Runs the base OTs of both directions, the garbler's first. `seed` is random, secret and used
    /// only here.
    ///
    /// # Errors
    ///
    /// The peer misbehaves, or the wire fails.
    pub async fn run(
        self,
        io: &mut Io<'_>,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Directions, Error> {
        let mut prg = Box::new(Prg::from_seed(seed));
        let (mut sender, mut receiver) = (None, None);
        for direction in Role::BOTH {
            let (settings, tag) = (self.settings, &self.tags[direction as usize]);
            if direction == self.role {
                let setup = GarblerSetup::with(settings, tag, &mut *prg)?;
                sender = Some(Box::new(boxed(|| setup.run(io)).await?.source()?));
            } else {
                let setup = EvaluatorSetup::with(settings, tag, &mut *prg)?;
                receiver = Some(Box::new(boxed(|| setup.run(io)).await?.source()?));
            }
        }
        let (Some(mut sender), Some(mut receiver)) = (sender, receiver) else {
            return Err(Error::ApiMisuse("a party sends in one of two directions"));
        };
        let columns = OtTag::new(*self.tags[0].as_bytes());
        sender.share_columns(columns);
        receiver.share_columns(columns);
        Ok(Directions {
            role: self.role,
            sender,
            receiver,
            sums: JointSums::default(),
            hashes: self.tags.each_ref().map(hash_of),
            threads: self.settings.threads,
            room: HashRoom::default(),
            bits: Default::default(),
        })
    }
}

impl Directions {
    /// Returns the party's role.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the directions for runs in which the party has this role. The party sends the same
    /// OTs as before. If the role changes, the directions swap.
    #[must_use]
    pub fn in_role(mut self, role: Role) -> Self {
        if role != self.role {
            self.role = role;
            self.hashes.swap(0, 1);
        }
        self
    }

    pub(super) fn threads(&self) -> NonZeroUsize {
        self.threads
    }

    /// Makes and hashes OTs, and computes in runs, on this many threads from now on; at first on
    /// those of the settings. OTs and messages do not depend on it.
    pub fn set_threads(&mut self, threads: NonZeroUsize) {
        self.threads = threads;
        self.sender.set_threads(threads);
        self.receiver.set_threads(threads);
    }

    /// Lets `device` make silent OTs from the next round on, and hash those of which two bits are
    /// used. OTs and messages do not depend on it.
    pub fn use_device(&mut self, device: &Arc<dyn Device>) {
        self.sender.set_device(device.clone());
        self.receiver.set_device(device.clone());
    }

    /// Returns the Δ of the OTs that this party sends.
    #[cfg(test)]
    pub(super) fn delta(&self) -> tacit_kernels::Block {
        self.sender.delta().to_block()
    }

    fn half(&mut self, sender: Role) -> &mut dyn Half {
        if sender == self.role {
            &mut *self.sender
        } else {
            &mut *self.receiver
        }
    }

    /// Returns the numbers of the next OTs, by their sender.
    pub(super) fn next_numbers(&self) -> [u64; 2] {
        Role::BOTH.map(|sender| {
            if sender == self.role {
                self.sender.available().start
            } else {
                self.receiver.available().start
            }
        })
    }

    /// Returns the number of OTs that were used, with those lost to padding, of the direction that
    /// used more. Both parties have the same number.
    pub fn used_ots(&self) -> u64 {
        let sent = self.sender.available().start + self.sender.padding();
        let received = self.receiver.available().start + self.receiver.padding();
        sent.max(received)
    }

    /// Returns the number of OTs made in all, by their sender.
    pub(super) fn made(&self) -> [u64; 2] {
        Role::BOTH.map(|sender| {
            if sender == self.role {
                self.sender.available().end
            } else {
                self.receiver.available().end
            }
        })
    }

    /// Makes OTs until `totals` were made in all, by their sender, and hashes those that `sink`
    /// wants.
    pub(super) async fn refill(
        &mut self,
        io: &mut Io<'_>,
        totals: [u64; 2],
        rng: &mut Prg,
        sink: &mut impl HashedOtSink,
    ) -> Result<(), Error> {
        self.hash_into(sink)?;
        loop {
            let mut turns = [Turn::Idle; 2];
            for sender in Role::BOTH {
                let total = totals[sender as usize];
                let turn = self.next_turn(sender, total, rng, (io, sink))?;
                if turn == Turn::Send {
                    let bytes = io.message().len();
                    io.send(messages::refill(sender, bytes))?;
                    // The message is sent before the work that follows it, which is most of the
                    // work.
                    io.breathe().await?;
                }
                turns[sender as usize] = turn;
            }
            if turns == [Turn::Idle; 2] {
                // A half may have finished its last OTs in the same turn in which it becomes idle.
                return self.hash_into(sink);
            }
            for sender in Role::BOTH {
                if let Turn::Receive { bytes } = turns[sender as usize] {
                    let payload = io.receive(messages::refill(sender, bytes)).await?;
                    self.half(sender).receive(payload)?;
                }
            }
            sum_both(&mut self.sender, &mut self.receiver, &mut self.sums);
        }
    }

    /// Returns the next turn of a direction's half towards `total` OTs in all. Writes its message,
    /// if it sends one. Before it asks for further OTs, hashes those that are made.
    fn next_turn(
        &mut self,
        sender: Role,
        total: u64,
        rng: &mut Prg,
        (io, sink): (&mut Io<'_>, &mut impl HashedOtSink),
    ) -> Result<Turn, Error> {
        let half = self.half(sender);
        let turn = half.next(rng, io.message())?;
        let missing = total.saturating_sub(half.made());
        if turn != Turn::Idle || missing == 0 {
            return Ok(turn);
        }
        self.hash_direction_into(sender, sink)?;
        let half = self.half(sender);
        half.refill(missing.min(REFILL_PART_OTS) as usize)?;
        Ok(half.next(rng, io.message())?)
    }

    /// Hashes those of the available OTs that `sink` wants.
    pub(super) fn hash_into(&mut self, sink: &mut impl HashedOtSink) -> Result<(), Error> {
        for sender in Role::BOTH {
            self.hash_direction_into(sender, sink)?;
        }
        Ok(())
    }

    /// Hashes those of the available OTs of a direction that `sink` wants.
    fn hash_direction_into(
        &mut self,
        sender: Role,
        sink: &mut impl HashedOtSink,
    ) -> Result<(), Error> {
        self.device_hash_into(sender, sink)?;
        let count = self.half(sender).left().min(sink.wants(sender)) as usize;
        if count == 0 {
            return Ok(());
        }
        let (threads, room) = (self.threads, &mut self.room);
        let hash = &self.hashes[sender as usize];
        if sender == self.role {
            let number = self.sender.available().start;
            let (delta, mut q) = self.sender.take(number, count)?.into_correlated();
            let half = OtHalf::Sender(&delta);
            let hash = OtHash {
                hash,
                half,
                threads,
                room,
            };
            hash.pass_on(number, &mut q, (sender, sink))?;
            self.sender.use_again(q);
        } else {
            let number = self.receiver.available().start;
            let mut t = self.receiver.take(number, count)?.into_blocks();
            let half = OtHalf::Receiver;
            let hash = OtHash {
                hash,
                half,
                threads,
                room,
            };
            hash.pass_on(number, &mut t, (sender, sink))?;
            self.receiver.use_again(t);
        }
        Ok(())
    }

    /// Wipes and frees the hashes of the OTs taken last. With the messages of their run they would
    /// tell the peer's shares.
    pub(super) fn forget_hashes(&mut self) {
        self.room = HashRoom::default();
        self.bits = Default::default();
    }

    /// Lets a device that has the next OTs of a direction hash those that `sink` takes as bits.
    fn device_hash_into(
        &mut self,
        sender: Role,
        sink: &mut impl HashedOtSink,
    ) -> Result<(), Error> {
        loop {
            let (there, number) = if sender == self.role {
                (self.sender.on_device(), self.sender.available().start)
            } else {
                (self.receiver.on_device(), self.receiver.available().start)
            };
            // Those that are here come first.
            if there == 0 {
                return Ok(());
            }
            let count = sink.next_bits(sender).min(there) as usize;
            if count == 0 {
                return Ok(());
            }
            let words = count.div_ceil(64);
            let [first, second] = &mut self.bits;
            for row in [&mut *first, &mut *second] {
                make_room(row, words);
            }
            let (first, second) = (&mut first[..words], &mut second[..words]);
            let hash = &self.hashes[sender as usize];
            let ots = HashedBits {
                hash,
                number,
                count,
                lead: 0,
                first,
                second,
            };
            if sender == self.role {
                self.sender.take_bits(ots)?;
            } else {
                self.receiver.take_bits(ots)?;
            }
            let rows = self.bits.each_ref().map(|row| &row[..words]);
            sink.take_part(sender, &OtPart::of_bits(count), rows)?;
        }
    }
}
