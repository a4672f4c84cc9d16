//! Lots: instances of one component, garbled and sent before anybody knows what for.
//!
//! The tables of all instances of a lot are one stream, in the order of their numbers, cut into
//! frames of [`LOT_FRAME_BYTES`]; each instance is as long as its component's program says
//! ([`InstanceTables::size`]). Both parties know component, scheme and count beforehand.

use std::collections::VecDeque;
use std::thread;

use tacit_circuit::Program;
use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::{InstanceSeed, InstanceTables};
use crate::message::Kind;
use crate::party::{Action, NOT_ASKED, Party, Progress, SPENT};
use crate::{Error, Misbehaviour};

/// Bytes of a frame of a lot's tables, at most; each but the last is that long.
pub const LOT_FRAME_BYTES: usize = 256 << 10;

/// Several threads garble instances of this many bytes together: enough for each of them, and
/// little next to a lot. One thread garbles a frame, which is sent while a cache near it has it.
const TOGETHER_BYTES: usize = 8 << 20;

/// The garbler's side of a lot.
pub struct GarblingLot<'a, S: Scheme> {
    scheme: S,
    program: &'a Program,
    delta: Zeroizing<Block>,
    seeds: &'a [InstanceSeed],
    threads: usize,
    /// Instances that were garbled.
    done: usize,
    /// Parts that were garbled, of which not all was sent.
    ready: VecDeque<Vec<u8>>,
    /// Bytes of the first of them that were sent.
    sent: usize,
    /// Memory of parts that were sent.
    spare: Vec<Vec<u8>>,
}

impl<'a, S: Scheme> GarblingLot<'a, S> {
    /// A lot of `program`, an instance from each seed, garbled on this many threads. What is sent
    /// does not depend on their number.
    ///
    /// # Errors
    ///
    /// `threads` is 0.
    pub fn new(
        scheme: S,
        program: &'a Program,
        delta: Block,
        seeds: &'a [InstanceSeed],
        threads: usize,
    ) -> Result<Self, Error> {
        if threads == 0 {
            return Err(Error::ApiMisuse("at least one thread"));
        }
        Ok(Self {
            scheme,
            program,
            delta: Zeroizing::new(delta),
            seeds,
            threads,
            done: 0,
            ready: VecDeque::new(),
            sent: 0,
            spare: Vec::new(),
        })
    }

    /// Instances garbled so far.
    #[must_use]
    pub fn garbled(&self) -> usize {
        self.done
    }

    /// Garbles the next instances.
    fn garble(&mut self) {
        let size = InstanceTables::size(self.scheme, self.program).max(1);
        let bytes = match self.threads {
            1 => LOT_FRAME_BYTES,
            _ => TOGETHER_BYTES,
        };
        let together = (bytes as u64 / size).max(1) as usize;
        let left = &self.seeds[self.done..];
        let these = &left[..left.len().min(together)];
        let (scheme, program, delta) = (self.scheme, self.program, *self.delta);
        let garble = |seeds: &[InstanceSeed], mut bytes: Vec<u8>| {
            bytes.resize(seeds.len() * size as usize, 0);
            InstanceSeed::garble_all(seeds, scheme, program, delta, &mut bytes);
            bytes
        };
        let share = these.len().div_ceil(self.threads).max(1);
        let (ready, spare) = (&mut self.ready, &mut self.spare);
        thread::scope(|scope| {
            let mut shares = these.chunks(share);
            let own = shares.next().unwrap_or_default();
            let others: Vec<_> = shares
                .map(|seeds| {
                    let bytes = spare.pop().unwrap_or_default();
                    scope.spawn(move || garble(seeds, bytes))
                })
                .collect();
            ready.push_back(garble(own, spare.pop().unwrap_or_default()));
            for part in others {
                ready.push_back(part.join().expect("garbling panics nowhere"));
            }
        });
        self.done += these.len();
    }
}

impl<S: Scheme> Party for GarblingLot<'_, S> {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        message.clear();
        while message.len() < LOT_FRAME_BYTES {
            let Some(part) = self.ready.front() else {
                if self.done == self.seeds.len() {
                    break;
                }
                self.garble();
                continue;
            };
            let left = &part[self.sent..];
            let these = &left[..left.len().min(LOT_FRAME_BYTES - message.len())];
            message.extend_from_slice(these);
            self.sent += these.len();
            if self.sent == part.len() {
                self.spare.extend(self.ready.pop_front());
                self.sent = 0;
            }
        }
        Ok(match message.is_empty() {
            true => Action::Done,
            false => Action::send(Kind::LotTables),
        })
    }

    fn receive(&mut self, _payload: &[u8]) -> Result<(), Error> {
        Err(NOT_ASKED)
    }

    fn progress(&self) -> Progress {
        let ands = self.program.ands().len() as u64;
        Progress {
            done_ands: ands * self.done as u64,
            total_ands: ands * self.seeds.len() as u64,
        }
    }
}

/// The evaluator's side of a lot. Each whole instance goes to `keep` as it comes.
pub struct ReceivingLot<K> {
    size: usize,
    ands: u64,
    count: u64,
    due: u64,
    partial: Vec<u8>,
    keep: K,
    spent: bool,
}

impl<K: FnMut(&[u8]) -> Result<(), Error>> ReceivingLot<K> {
    /// A lot of `count` instances of `program`; `keep` gets the bytes of each, in order.
    ///
    /// # Errors
    ///
    /// The lot is larger than this machine can address.
    pub fn new<S: Scheme>(
        scheme: S,
        program: &Program,
        count: u64,
        keep: K,
    ) -> Result<Self, Error> {
        const TOO_LARGE: Error = Error::ApiMisuse("a lot of at most 2^63 bytes");
        let size = InstanceTables::size(scheme, program);
        let due = size.checked_mul(count).ok_or(TOO_LARGE)?;
        Ok(Self {
            size: usize::try_from(size).map_err(|_| TOO_LARGE)?,
            ands: program.ands().len() as u64,
            count,
            due,
            partial: Vec::new(),
            keep,
            spent: false,
        })
    }

    /// Bytes that are still to come.
    #[must_use]
    pub fn due(&self) -> u64 {
        self.due
    }

    fn take(&mut self, mut frame: &[u8]) -> Result<(), Error> {
        let expected = self.due.min(LOT_FRAME_BYTES as u64);
        if frame.is_empty() || frame.len() as u64 != expected {
            return Err(Misbehaviour::WrongLength {
                kind: Kind::LotTables,
                expected,
                found: frame.len() as u64,
            }
            .into());
        }
        self.due -= frame.len() as u64;
        while !frame.is_empty() {
            let missing = self.size - self.partial.len();
            let (these, rest) = frame.split_at(missing.min(frame.len()));
            frame = rest;
            match (self.partial.is_empty(), these.len() == missing) {
                (true, true) => (self.keep)(these)?,
                (_, whole) => {
                    self.partial.extend_from_slice(these);
                    if whole {
                        (self.keep)(&self.partial)?;
                        self.partial.clear();
                    }
                }
            }
        }
        Ok(())
    }
}

impl<K: FnMut(&[u8]) -> Result<(), Error>> Party for ReceivingLot<K> {
    fn next(&mut self, _message: &mut Vec<u8>) -> Result<Action, Error> {
        if self.spent {
            return Err(SPENT);
        }
        Ok(match self.due.min(LOT_FRAME_BYTES as u64) as usize {
            0 => Action::Done,
            bytes => Action::receive(Kind::LotTables, bytes),
        })
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        if self.spent {
            return Err(SPENT);
        }
        let taken = self.take(payload);
        self.spent = taken.is_err();
        taken
    }

    fn progress(&self) -> Progress {
        let left = self.due.div_ceil(self.size.max(1) as u64);
        Progress {
            done_ands: self.ands * self.count.saturating_sub(left),
            total_ands: self.ands * self.count,
        }
    }
}
