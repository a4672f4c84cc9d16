//! What the cloud does with what it is sent: it takes what its keys open, and checks or evaluates
//! each circuit.

use core::mem;

use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::super::copy::{CopySecrets, expected_selects};
use super::super::cut::Fate;
use super::super::judge::HeldCopy;
use super::super::majority::majority;
use super::super::same_input::InputHash;
use super::super::toss::SHARE_BYTES;
use super::super::transfer::{AGREED, EVALUATED_BYTES, REFUSED, accept, blinds, handed_bytes};
use super::super::{Cheat, cheated};
use super::{Cloud, CloudValue, Handed, Running, Stage};
use crate::bits::{bit, bytes_for, pack, read_block, select_bits, xor_into};
use crate::malicious::frames::Incoming;
use crate::malicious::parallel;
use crate::message::{Kind, exactly};
use crate::{Error, Misbehaviour};

impl<S: Scheme<Wire = Block>> Cloud<'_, S> {
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
        Ok(match incoming.next_bytes() {
            0 => Stage::SendingOpening(running),
            _ => Stage::AwaitingHeads(running, incoming),
        })
    }

    /// Checks that the generator's input to all evaluated circuits is one.
    pub(super) fn take_decodings(
        &self,
        running: Box<Running>,
        hash: &InputHash,
        payload: &[u8],
    ) -> Result<Stage, Error> {
        let (work, chain) = (&self.work, running.chain()?);
        let bytes = work.decoding_bytes();
        exactly(Kind::InputDecodings, payload, bytes * work.copies())?;
        let sum = |bits: &[u8]| hash.of(bits).to_bytes();
        let mut common: Option<Vec<u8>> = None;
        for (copy, held) in running.copies.iter().enumerate() {
            let given = &payload[copy * bytes..(copy + 1) * bytes];
            match chain.split[copy] {
                Fate::Check => {
                    let secrets = CopySecrets::derive(work, &running.oracle, copy, &held.seed);
                    if sum(&secrets.permute_bits())[..bytes] != *given {
                        return Err(cheated(Cheat::CheckedCopy(copy, "decoding of inputs")));
                    }
                }
                Fate::Evaluate => {
                    let mut value = sum(&select_bits(&held.own))[..bytes].to_vec();
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
                    let seed = &running.copies[copy].seed;
                    let secrets = CopySecrets::derive(work, &running.oracle, copy, seed);
                    if secrets.order != block {
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
        let (work, mut whole) = (&self.work, Vec::new());
        incoming.receive(payload, |_| work.body_bytes(), &mut whole)?;
        self.judge_bodies(&mut running, &whole)?;
        incoming.give_back(whole.into_iter().map(|(_, bytes)| bytes));
        self.after_bodies(running, incoming)
    }

    /// Checks or evaluates the circuits with these numbers and bodies.
    fn judge_bodies(
        &mut self,
        running: &mut Running,
        bodies: &[(usize, Vec<u8>)],
    ) -> Result<(), Error> {
        let (work, loads) = (&self.work, &running.brought.loads);
        let mut memory = mem::take(&mut running.expected);
        let judged = parallel::map_in(
            &mut memory,
            self.threads,
            bodies,
            |expected, (copy, body)| {
                let place = running.evaluated.binary_search(copy).ok();
                let encoded = place.map(|place| &running.encoded[place][..]);
                let held = &running.copies[*copy];
                held.judge(work, &running.oracle, encoded, loads, body, expected)
            },
        );
        running.expected = memory;
        for judged in judged {
            let judged = judged?;
            running.masked.extend(judged.masked);
            running.judged.push(judged.saved);
        }
        self.done += bodies.len() as u64;
        Ok(())
    }

    /// When all bodies are there, counts what they say.
    fn after_bodies(
        &mut self,
        mut running: Box<Running>,
        incoming: Incoming,
    ) -> Result<Stage, Error> {
        if incoming.next_bytes() > 0 {
            return Ok(Stage::AwaitingBodies(running, incoming));
        }
        if self.work.body_bytes() == 0 {
            // Nothing is sent of circuits that save constants or inputs and do nothing else.
            let empty: Vec<_> = (0..self.work.copies()).map(|n| (n, Vec::new())).collect();
            self.judge_bodies(&mut running, &empty)?;
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
