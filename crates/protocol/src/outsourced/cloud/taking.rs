//! The cloud's handling of received messages: it opens the parts under its keys, and checks or
//! evaluates each circuit.

use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::super::chain::CloudChain;
use super::super::copy::{Drawing, expected_selects};
use super::super::cut::Fate;
use super::super::judge::HeldCopy;
use super::super::judging::{Judged, Judging};
use super::super::majority::majority;
use super::super::same_input::InputHash;
use super::super::toss::{SHARE_BYTES, Share};
use super::super::transfer::{AGREED, EVALUATED_BYTES, REFUSED, accept, blinds};
use super::super::work::ServerRun;
use super::super::{Cheat, cheated, messages};
use super::CloudValue;
use crate::bits::{bit, bytes_for, read_block, select_bits, xor_into};
use crate::io::Io;
use crate::malicious::frames::Pieces;
use crate::malicious::oracle::{Hash, Oracle};
use crate::malicious::parallel;
use crate::message::Kind;
use crate::party::Peer;
use crate::saved::SavedCopy;
use crate::{Error, Misbehaviour};

/// The context in which the cloud takes circuits.
pub(super) struct Taking<'t, 'f, S: Scheme<Wire = Block>> {
    pub(super) work: &'t ServerRun<'f, S>,
    pub(super) threads: usize,
    pub(super) oracle: Oracle,
    pub(super) chain: &'t CloudChain,
    pub(super) loads: &'t [CloudValue],
}

/// The data that the evaluator forwarded.
pub(super) struct EvaluatorMaterial {
    keys: Zeroizing<Vec<Block>>,
    /// a ⊕ p.
    positions: Vec<u8>,
    /// The hash of the select bits of each evaluated circuit's labels.
    selects: Vec<Hash>,
    encoded: Encoded,
}

/// The evaluated circuits, and the labels of the evaluator's encoded input to each. At first these
/// are only the labels' blinds.
pub(super) struct Encoded {
    copies: Zeroizing<Vec<usize>>,
    labels: Vec<Zeroizing<Vec<Block>>>,
}

impl<'f, S: Scheme<Wire = Block>> Taking<'_, 'f, S> {
    /// Receives the generator's share of the toss, and the heads.
    pub(super) async fn heads(
        &self,
        io: &mut Io<'_, Peer>,
    ) -> Result<(Box<Share>, Vec<HeldCopy>), Error> {
        let (work, heads) = (self.work, messages::heads(self.work));
        let length = |piece| match piece {
            0 => SHARE_BYTES,
            _ => work.head_bytes(),
        };
        let mut share = Box::new(Share([0; SHARE_BYTES]));
        // Reserve room for all: a vector that grows would leave seeds behind.
        let mut held = Vec::with_capacity(work.copies());
        let take = |whole: &mut Vec<(usize, Vec<u8>)>| {
            if let Some((0, given)) = whole.first() {
                share.0.copy_from_slice(given);
                whole.remove(0);
            }
            let opened = parallel::map(self.threads, whole, |_, (piece, head)| {
                let copy = piece - 1;
                let key = (&self.chain.keys[copy], self.chain.split[copy]);
                HeldCopy::open(work, &self.oracle, copy, key, head)
            });
            for opened in opened {
                held.push(opened?);
            }
            Ok(())
        };
        heads
            .receive_pieces(io, 1 + work.copies(), length, take)
            .await?;
        Ok((share, held))
    }

    /// Returns the known part of the hash of the generator's input before its decodings arrive: H·π
    /// of each checked circuit, and H·s of each evaluated circuit.
    pub(super) fn hash_inputs(&self, held: &[HeldCopy], hash: &InputHash) -> Vec<Block> {
        let copies = held.iter().zip(self.chain.split.iter());
        let sums = copies.map(|(held, fate)| match fate {
            Fate::Check => Drawing::begin(&held.seed).hash_permute_bits(hash),
            Fate::Evaluate => hash.of(0, &held.own),
        });
        sums.collect()
    }

    /// Checks that the generator's input is the same for all evaluated circuits. `sums` come from
    /// [`hash_inputs`](Self::hash_inputs).
    pub(super) fn check_decodings(&self, sums: &[Block], payload: &[u8]) -> Result<(), Error> {
        let bytes = self.work.decoding_bytes();
        let mut common: Option<Vec<u8>> = None;
        for (copy, sum) in sums.iter().enumerate() {
            let given = &payload[copy * bytes..(copy + 1) * bytes];
            let sum = &sum.to_bytes()[..bytes];
            match self.chain.split[copy] {
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
        Ok(())
    }

    /// Receives the data that the evaluator forwards.
    pub(super) async fn handed(
        &self,
        io: &mut Io<'_, Peer>,
        held: &[HeldCopy],
    ) -> Result<EvaluatorMaterial, Error> {
        let transfers = self.work.transfers();
        let keys = messages::transfer_keys(&self.work.parameters, transfers);
        let mut handed = Zeroizing::<Vec<u8>>::default();
        let take = |whole: &mut Vec<(usize, Vec<u8>)>| {
            *handed = whole.pop().map(|(_, bytes)| bytes).unwrap_or_default();
            Ok(())
        };
        keys.receive_pieces(io, 1, |_| keys.bytes, take).await?;
        let (verdict, rest) = handed.split_at(1);
        match verdict {
            [AGREED] => {}
            [REFUSED] => return Err(cheated(Cheat::Refused)),
            _ => {
                return Err(Misbehaviour::invalid(Kind::TransferKeys, "verdict").into());
            }
        }
        let (keys, rest) = rest.split_at(Block::BYTES * transfers);
        let (positions, said) = rest.split_at(bytes_for(transfers));
        let keys = keys.as_chunks().0.iter().map(|key| Block::from_bytes(*key));
        let (encoded, selects) = self.said_of_circuits(held, said)?;
        Ok(EvaluatorMaterial {
            keys: Zeroizing::new(keys.collect()),
            positions: positions.to_vec(),
            selects,
            encoded,
        })
    }

    /// Reads the evaluator's data about each circuit.
    fn said_of_circuits(
        &self,
        held: &[HeldCopy],
        mut rest: &[u8],
    ) -> Result<(Encoded, Vec<Hash>), Error> {
        let (mut selects, evaluated) = (Vec::new(), self.work.parameters.evaluated());
        let mut copies = Zeroizing::new(Vec::with_capacity(evaluated));
        let mut labels = Vec::with_capacity(evaluated);
        for (copy, fate) in self.chain.split.iter().enumerate() {
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
                    let drawing = Drawing::begin(&held[copy].seed);
                    if *drawing.order != block {
                        return Err(cheated(Cheat::Order(copy)));
                    }
                }
                Fate::Evaluate => {
                    copies.push(copy);
                    labels.push(blinds(&self.oracle, copy, block, self.work.transfers()));
                    selects.extend_from_slice(hash.as_chunks().0);
                }
            }
        }
        Ok((Encoded { copies, labels }, selects))
    }

    /// Receives the generator's strings, and checks that labels stand for the values that the
    /// evaluator chose.
    pub(super) async fn strings(
        &self,
        io: &mut Io<'_, Peer>,
        mut handed: EvaluatorMaterial,
    ) -> Result<Encoded, Error> {
        let (strings, transfers) = (messages::strings(self.work), self.work.transfers());
        let Encoded { copies, labels } = &mut handed.encoded;
        let take = |whole: &mut Vec<(usize, Vec<u8>)>| {
            let accepted = parallel::map(self.threads, whole, |_, (j, strings)| {
                let (key, position) = (handed.keys[*j], bit(&handed.positions, *j));
                accept(&self.oracle, *j, key, position, strings, copies)
            });
            for ((j, _), accepted) in whole.iter().zip(accepted) {
                for (labels, block) in labels.iter_mut().zip(accepted.iter()) {
                    labels[*j] ^= *block;
                }
            }
            Ok(())
        };
        let length = |_| self.work.string_bytes();
        strings.receive_pieces(io, transfers, length, take).await?;
        for ((copy, labels), due) in copies.iter().zip(labels).zip(&handed.selects) {
            let found = expected_selects(&self.oracle, *copy, &select_bits(labels));
            if found != *due {
                return Err(cheated(Cheat::ChosenValues(*copy)));
            }
        }
        Ok(handed.encoded)
    }

    /// Receives the bodies, and judges each circuit. Returns the majority of the evaluated circuits
    /// for each bit, and the cloud's half of each saved value.
    pub(super) async fn bodies(
        &self,
        io: &mut Io<'_, Peer>,
        held: &[HeldCopy],
        encoded: &Encoded,
    ) -> Result<(Vec<bool>, Vec<CloudValue>), Error> {
        /// The largest number of bytes of waiting bodies, unless it is one body.
        const WAITING_BYTES: usize = 1 << 28;
        let (work, bytes) = (self.work, self.work.body_bytes());
        let together = self.threads.min(WAITING_BYTES / bytes.max(1));
        let bodies = messages::bodies(work);
        let mut incoming = bodies.incoming(work.copies());
        let mut judge = Judge {
            work,
            circuits: Circuits {
                oracle: &self.oracle,
                loads: self.loads,
                held,
                encoded,
            },
            judging: None,
            masked: Vec::with_capacity(encoded.copies.len()),
            saved: Vec::with_capacity(work.copies()),
        };
        let mut waiting = Vec::new();
        while incoming.next_bytes() > 0 {
            let payload = bodies.receive_next(io, &incoming).await?;
            if self.threads == 1 {
                incoming.pass_on(payload, &mut judge)?;
            } else {
                incoming.receive(payload, |_| bytes, &mut waiting)?;
                if waiting.len() >= together || incoming.next_bytes() == 0 {
                    judge.judge_together(self.threads, &waiting)?;
                    incoming.give_back(waiting.drain(..).map(|(_, bytes)| bytes));
                }
            }
            io.progressed(work.progress(judge.saved.len()));
        }
        if bytes == 0 {
            // Circuits that only save constants or inputs have no bytes.
            incoming.pass_empty(&mut judge)?;
        }
        let saved = work.saved(self.chain.head.id, &self.oracle, judge.saved);
        let results = judge.masked.iter().map(|masked| &masked[..]);
        let masked = majority(work.all_masked_bits(), results)?;
        Ok((masked, saved.into_iter().map(CloudValue).collect()))
    }
}

/// The data by which circuits are judged.
struct Circuits<'j> {
    oracle: &'j Oracle,
    loads: &'j [CloudValue],
    held: &'j [HeldCopy],
    encoded: &'j Encoded,
}

impl Circuits<'_> {
    /// Starts to judge circuit `copy`.
    fn begin<'f, S: Scheme<Wire = Block>>(
        &self,
        work: &ServerRun<'f, S>,
        copy: usize,
        before_tables: &[u8],
    ) -> Judging<'f, S> {
        let place = self.encoded.copies.binary_search(&copy).ok();
        let encoded = place.map(|place| &self.encoded.labels[place][..]);
        let held = &self.held[copy];
        Judging::begin(work, self.oracle, held, encoded, self.loads, before_tables)
    }
}

/// A judge of circuits, as their bodies arrive.
struct Judge<'j, 'f, S: Scheme<Wire = Block>> {
    work: &'j ServerRun<'f, S>,
    circuits: Circuits<'j>,
    /// The circuit that is judged while its body arrives.
    judging: Option<Box<Judging<'f, S>>>,
    /// The results of each evaluated circuit.
    masked: Vec<Zeroizing<Vec<bool>>>,
    /// The saved values of each circuit.
    saved: Vec<SavedCopy>,
}

impl<S: Scheme<Wire = Block>> Judge<'_, '_, S> {
    fn keep(&mut self, judged: Judged) {
        self.masked.extend(judged.masked);
        self.saved.push(judged.saved);
    }

    /// Judges the circuits whose bodies wait, on several threads.
    fn judge_together(&mut self, threads: usize, bodies: &[(usize, Vec<u8>)]) -> Result<(), Error> {
        let (work, circuits) = (self.work, &self.circuits);
        let judged = parallel::map(threads, bodies, |_, (copy, body)| {
            let (before_tables, mut rest) = body.split_at(work.before_tables_bytes());
            let mut judging = circuits.begin(work, *copy, before_tables);
            while let Some(bytes) = judging.next_bytes() {
                let tables;
                (tables, rest) = rest.split_at(bytes);
                judging.segment(tables);
            }
            judging.finish(work, rest)
        });
        judged.into_iter().try_for_each(|judged| {
            self.keep(judged?);
            Ok(())
        })
    }
}

impl<S: Scheme<Wire = Block>> Pieces for Judge<'_, '_, S> {
    fn next_bytes(&self) -> Option<usize> {
        let work = self.work;
        match &self.judging {
            Some(judging) => {
                let behind = work.body_bytes() - work.tables_end();
                Some(judging.next_bytes().unwrap_or(behind))
            }
            None => (self.saved.len() < work.copies()).then(|| work.before_tables_bytes()),
        }
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), Error> {
        match self.judging.take() {
            None => {
                let judging = self.circuits.begin(self.work, self.saved.len(), piece);
                self.judging = Some(Box::new(judging));
            }
            Some(mut judging) if judging.next_bytes().is_some() => {
                judging.segment(piece);
                self.judging = Some(judging);
            }
            Some(judging) => {
                let judged = judging.finish(self.work, piece)?;
                self.keep(judged);
            }
        }
        Ok(())
    }
}
