//! What the cloud does with what it is sent: it takes what its keys open, and checks or evaluates
//! each circuit.

use core::mem;

use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::super::copy::{Drawing, expected_selects};
use super::super::cut::Fate;
use super::super::judge::HeldCopy;
use super::super::judging::{Judged, Judging};
use super::super::majority::majority;
use super::super::same_input::InputHash;
use super::super::toss::SHARE_BYTES;
use super::super::transfer::{AGREED, EVALUATED_BYTES, REFUSED, accept, blinds, handed_bytes};
use super::super::work::ServerRun;
use super::super::{Cheat, cheated};
use super::{Cloud, CloudValue, Handed, Running, Stage};
use crate::bits::{bit, bytes_for, pack, read_block, select_bits, xor_into};
use crate::malicious::frames::{Incoming, Pieces};
use crate::malicious::parallel;
use crate::message::{Kind, exactly};
use crate::{Error, Misbehaviour};

impl<'f, S: Scheme<Wire = Block>> Cloud<'f, S> {
    /// Takes a message of heads, which follow the generator's share of the toss.
    pub(super) fn take_heads(
        &self,
        mut running: Box<Running>,
        mut incoming: Incoming,
        payload: &[u8],
    ) -> Result<Stage, Error> {
        let work = &self.work;
        let mut whole = Vec::new();
        let length = |piece| match piece {
            0 => SHARE_BYTES,
            _ => work.head_bytes(),
        };
        incoming.receive(payload, length, &mut whole)?;
        if let Some((0, share)) = whole.first() {
            running.their_share.0.copy_from_slice(share);
            whole.remove(0);
        }
        let (oracle, chain) = (&running.oracle, running.chain()?);
        let heads = parallel::map(self.threads, &whole, |_, (piece, head)| {
            let copy = piece - 1;
            HeldCopy::open(
                work,
                oracle,
                copy,
                (&chain.keys[copy], chain.split[copy]),
                head,
            )
        });
        for held in heads {
            running.copies.push(held?);
        }
        incoming.give_back(whole.into_iter().map(|(_, head)| head));
        Ok(match incoming.next_bytes() {
            0 => Stage::SendingOpening(running),
            _ => Stage::AwaitingHeads(running, incoming),
        })
    }

    /// Checks that the generator's input to all evaluated circuits is one. `sums` are from
    /// [`Running::hash_inputs`].
    pub(super) fn take_decodings(
        &self,
        running: Box<Running>,
        sums: &[Block],
        payload: &[u8],
    ) -> Result<Stage, Error> {
        let (work, chain) = (&self.work, running.chain()?);
        let bytes = work.decoding_bytes();
        exactly(Kind::InputDecodings, payload, bytes * work.copies())?;
        let mut common: Option<Vec<u8>> = None;
        for (copy, sum) in sums.iter().enumerate() {
            let given = &payload[copy * bytes..(copy + 1) * bytes];
            let sum = &sum.to_bytes()[..bytes];
            match chain.split[copy] {
                Fate::Check if sum != given => {
                    return Err(cheated(Cheat::CheckedCopy(copy, "decoding of inputs")));
                }
                Fate::Check => {}
                Fate::Evaluate => {
                    let mut value = sum.to_vec();
                    xor_into(&mut value, given);
                    if common.get_or_insert_with(|| value.clone()) != &value {
                        return Err(cheated(Cheat::DifferentInputs(copy)));
                    }
                }
            }
        }
        let due = handed_bytes(&work.parameters, work.transfers());
        let incoming = Incoming::new(Kind::TransferKeys, 1, due);
        Ok(Stage::AwaitingHanded(running, incoming))
    }

    /// Takes a message of what the evaluator hands on.
    pub(super) fn take_handed(
        &mut self,
        mut running: Box<Running>,
        mut incoming: Incoming,
        payload: &[u8],
    ) -> Result<Stage, Error> {
        let (work, mut whole) = (&self.work, Vec::new());
        let due = handed_bytes(&work.parameters, work.transfers());
        incoming.receive(payload, |_| due, &mut whole)?;
        let Some((_, handed)) = whole.pop() else {
            return Ok(Stage::AwaitingHanded(running, incoming));
        };
        let handed = Zeroizing::new(handed);
        let transfers = work.transfers();
        let (verdict, rest) = handed.split_at(1);
        match verdict {
            [AGREED] => {}
            [REFUSED] => return Err(cheated(Cheat::Refused)),
            _ => {
                let (kind, field) = (Kind::TransferKeys, "verdict");
                return Err(Misbehaviour::InvalidField { kind, field }.into());
            }
        }
        let (keys, rest) = rest.split_at(Block::BYTES * transfers);
        let (positions, mut rest) = rest.split_at(bytes_for(transfers));
        let mut selects = Vec::new();
        let chain = running.chain()?;
        let e = work.parameters.evaluated();
        let mut evaluated = Zeroizing::new(Vec::with_capacity(e));
        let mut encoded = Vec::with_capacity(e);
        for (copy, fate) in chain.split.iter().enumerate() {
            let bytes = match fate {
                Fate::Check => Block::BYTES,
                Fate::Evaluate => EVALUATED_BYTES,
            };
            let (said, after) = rest.split_at(bytes);
            rest = after;
            let (block, hash) = said.split_at(Block::BYTES);
            let block = read_block(block);
            match fate {
                Fate::Check => {
                    let drawing = Drawing::begin(&running.copies[copy].seed);
                    if *drawing.order != block {
                        return Err(cheated(Cheat::Order(copy)));
                    }
                }
                Fate::Evaluate => {
                    evaluated.push(copy);
                    encoded.push(blinds(&running.oracle, copy, block, transfers));
                    selects.extend_from_slice(hash.as_chunks().0);
                }
            }
        }
        let keys = keys.as_chunks().0.iter().map(|key| Block::from_bytes(*key));
        let handed = Handed {
            keys: Zeroizing::new(keys.collect()),
            positions: positions.to_vec(),
            selects,
        };
        (running.evaluated, running.encoded) = (evaluated, encoded);
        let due = work.string_bytes() * transfers;
        let incoming = Incoming::new(Kind::TransferStrings, transfers, due);
        self.after_strings(running, incoming, handed)
    }

    /// Takes a message of the generator's strings.
    pub(super) fn take_strings(
        &mut self,
        mut running: Box<Running>,
        (mut incoming, handed): (Incoming, Handed),
        payload: &[u8],
    ) -> Result<Stage, Error> {
        let mut whole = Vec::new();
        incoming.receive(payload, |_| self.work.string_bytes(), &mut whole)?;
        for (j, strings) in whole {
            let position = bit(&handed.positions, j);
            let (key, evaluated) = (handed.keys[j], &running.evaluated);
            let labels = &mut running.encoded;
            accept(
                &running.oracle,
                j,
                key,
                position,
                &strings,
                evaluated,
                labels,
            );
        }
        self.after_strings(running, incoming, handed)
    }

    /// When all strings are there, checks that labels stand for what the evaluator chose.
    fn after_strings(
        &mut self,
        running: Box<Running>,
        incoming: Incoming,
        handed: Handed,
    ) -> Result<Stage, Error> {
        if incoming.next_bytes() > 0 {
            return Ok(Stage::AwaitingStrings(running, incoming, handed));
        }
        let labels = running.evaluated.iter().zip(&running.encoded);
        for ((copy, labels), due) in labels.zip(&handed.selects) {
            let found = expected_selects(&running.oracle, *copy, &select_bits(labels));
            if found != *due {
                return Err(cheated(Cheat::ChosenValues(*copy)));
            }
        }
        let due = self.work.body_bytes() * self.work.copies();
        let incoming = Incoming::new(Kind::Copies, self.work.copies(), due);
        self.after_bodies(running, incoming)
    }

    /// Takes a message of bodies.
    pub(super) fn take_bodies(
        &mut self,
        mut running: Box<Running>,
        mut incoming: Incoming,
        payload: &[u8],
    ) -> Result<Stage, Error> {
        if self.threads == 1 {
            incoming.pass_on(payload, &mut self.bodies(&mut running))?;
            return self.after_bodies(running, incoming);
        }
        /// Bytes of bodies that wait at most, but for one body.
        const WAITING_BYTES: usize = 1 << 28;
        let bytes = self.work.body_bytes();
        let together = self.threads.min(WAITING_BYTES / bytes.max(1));
        incoming.receive(payload, |_| bytes, &mut running.bodies)?;
        if running.bodies.len() >= together || incoming.next_bytes() == 0 {
            self.judge_together(&mut running)?;
            incoming.give_back(running.bodies.drain(..).map(|(_, bytes)| bytes));
        }
        self.after_bodies(running, incoming)
    }

    /// Who judges circuits as their bodies come.
    fn bodies<'c>(&'c mut self, running: &'c mut Running) -> Bodies<'c, 'f, S> {
        Bodies {
            work: &self.work,
            running,
            judging: &mut self.judging,
            done: &mut self.done,
        }
    }

    /// Judges the circuits whose bodies wait, on several threads.
    fn judge_together(&mut self, running: &mut Running) -> Result<(), Error> {
        let (work, bodies) = (&self.work, &running.bodies);
        let judged = parallel::map(self.threads, bodies, |_, (copy, body)| {
            let (before_tables, mut rest) = body.split_at(work.before_tables_bytes());
            let mut judging = running.judging(work, *copy, before_tables);
            while let Some(bytes) = judging.next_bytes() {
                let tables;
                (tables, rest) = rest.split_at(bytes);
                judging.segment(tables);
            }
            judging.finish(work, rest)
        });
        self.done += judged.len() as u64;
        judged.into_iter().try_for_each(|judged| {
            running.keep(judged?);
            Ok(())
        })
    }

    /// When all bodies are there, counts what they say.
    fn after_bodies(
        &mut self,
        mut running: Box<Running>,
        mut incoming: Incoming,
    ) -> Result<Stage, Error> {
        if incoming.next_bytes() > 0 {
            return Ok(Stage::AwaitingBodies(running, incoming));
        }
        if self.work.body_bytes() == 0 {
            // Nothing is sent of circuits that save constants or inputs and do nothing else.
            incoming.pass_empty(&mut self.bodies(&mut running))?;
        }
        let judged = mem::take(&mut running.judged);
        let id = running.chain()?.head.id;
        let saved = self.work.saved(id, &running.oracle, judged).into_iter();
        running.saved = saved.map(CloudValue).collect();
        let results = running.masked.iter().map(|masked| &masked[..]);
        let masked = majority(self.work.all_masked_bits(), results)?;
        let (evaluator, generator) = masked.split_at(self.work.masked_bits[0]);
        let results = [pack(generator), pack(evaluator)];
        Ok(Stage::Keeping(running, results))
    }
}

impl Running {
    /// What there is of the hash of the generator's input before its decodings come: H·π of each
    /// circuit that is checked, H·s of each that is evaluated.
    pub(super) fn hash_inputs(&self, hash: &InputHash) -> Result<Vec<Block>, Error> {
        let copies = self.copies.iter().zip(self.chain()?.split.iter());
        let sums = copies.map(|(held, fate)| match fate {
            Fate::Check => Drawing::begin(&held.seed).hash_permute_bits(hash),
            Fate::Evaluate => hash.of(0, &held.own),
        });
        Ok(sums.collect())
    }

    /// Begins to judge circuit `copy`.
    fn judging<'f, S: Scheme<Wire = Block>>(
        &self,
        work: &ServerRun<'f, S>,
        copy: usize,
        before_tables: &[u8],
    ) -> Judging<'f, S> {
        let place = self.evaluated.binary_search(&copy).ok();
        let encoded = place.map(|place| &self.encoded[place][..]);
        let (held, loads) = (&self.copies[copy], &self.brought.loads);
        Judging::begin(work, &self.oracle, held, encoded, loads, before_tables)
    }

    fn keep(&mut self, judged: Judged) {
        self.masked.extend(judged.masked);
        self.judged.push(judged.saved);
    }
}

/// Judges one circuit after the other as their bodies come.
struct Bodies<'c, 'f, S: Scheme<Wire = Block>> {
    work: &'c ServerRun<'f, S>,
    running: &'c mut Running,
    judging: &'c mut Option<Box<Judging<'f, S>>>,
    done: &'c mut u64,
}

impl<S: Scheme<Wire = Block>> Pieces for Bodies<'_, '_, S> {
    fn next_bytes(&self) -> Option<usize> {
        let work = self.work;
        match &self.judging {
            Some(judging) => {
                let behind = work.body_bytes() - work.tables_end();
                Some(judging.next_bytes().unwrap_or(behind))
            }
            None => (self.running.judged.len() < work.copies()).then(|| work.before_tables_bytes()),
        }
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), Error> {
        let (work, copy) = (self.work, self.running.judged.len());
        match self.judging.take() {
            None => *self.judging = Some(Box::new(self.running.judging(work, copy, piece))),
            Some(mut judging) if judging.next_bytes().is_some() => {
                judging.segment(piece);
                *self.judging = Some(judging);
            }
            Some(judging) => {
                self.running.keep(judging.finish(work, piece)?);
                *self.done += 1;
            }
        }
        Ok(())
    }
}
