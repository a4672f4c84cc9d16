//! The cloud: checks or evaluates each circuit as it passes.
//!
//! **It does the same work for every circuit**, checked or evaluated, so that the pace at which it
//! reads says nothing of the split to a generator who watches it: with the one key that it has it
//! opens both boxes, makes a circuit from the seed that it finds, and evaluates the one that came.
//! What it finds under the key that it lacks means nothing, and is not used.
//!
//! **Memory**: 16 bytes for each input bit of each evaluated circuit, and the bodies of a few
//! circuits. **Cost**: each circuit garbled and evaluated once.

use core::mem;

use tacit_function::Function;
use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::chain::{CloudChain, Head};
use super::copy::{CopySecrets, expected_selects};
use super::cut::{CutKey, Fate, Split, compare_all, draw_split};
use super::judge::HeldCopy;
use super::majority::majority;
use super::parameters::Parameters;
use super::same_input::InputHash;
use super::terms::Meeting;
use super::toss::{SHARE_BYTES, Share};
use super::transfer::{AGREED, EVALUATED_BYTES, REFUSED, accept, blinds, cut_pads, handed_bytes};
use super::work::{ServerRun, check_transfers};
use super::{Cheat, cheated};
use crate::bits::{bit, bytes_for, pack, read_block, select_bits};
use crate::malicious::frames::Incoming;
use crate::malicious::oracle::{Hash, Oracle};
use crate::malicious::parallel;
use crate::message::{Kind, exactly};
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE, Peer, Progress, SPENT};
use crate::saved::{ChainId, EvaluatorHalf as CloudValue, SavedCopy, SavedState};
use crate::setup::EvaluatorOt;
use crate::{Error, Misbehaviour};

/// Under which chain a cloud runs.
pub enum CloudStart {
    /// A new one, whose keys come from OTs with the generator.
    NewChain(EvaluatorOt),
    /// One that was started before, forwarded and kept for this attempt.
    Chain(CloudChain),
}

/// What a run leaves the cloud.
pub struct CloudOutcome {
    /// The chain, for later runs.
    pub chain: CloudChain,
    /// Its half of each saved value, in the function's order.
    pub saved: Vec<CloudValue>,
}

/// A run on the cloud's side.
pub struct Cloud<'f, S: Scheme> {
    work: ServerRun<'f, S>,
    threads: usize,
    stage: Option<Stage>,
    /// Circuits checked or evaluated.
    done: u64,
}

/// Where a run stands.
pub(crate) enum Stage {
    Meeting(Box<Meeting>, Box<Brought>),
    SendingCut(Box<Running>),
    SendingToss(Box<Running>),
    SendingSplit(Box<Running>),
    AwaitingHeads(Box<Running>, Incoming),
    SendingOpening(Box<Running>),
    AwaitingDecodings(Box<Running>, InputHash),
    AwaitingHanded(Box<Running>, Incoming),
    AwaitingStrings(Box<Running>, Incoming, Handed),
    AwaitingBodies(Box<Running>, Incoming),
    /// The results to generator and evaluator, of which none is sent.
    Keeping(Box<Running>, [Vec<u8>; 2]),
    /// To generator and evaluator; this many are sent.
    SendingResults(Box<Running>, [Vec<u8>; 2], usize),
    Done(Box<Running>),
}

/// What the cloud comes with.
pub(crate) struct Brought {
    start: CloudStart,
    loads: Vec<CloudValue>,
    /// The split of a chain that it begins.
    split: Split,
    share: Share,
}

/// What a run has besides.
pub(crate) struct Running {
    oracle: Oracle,
    brought: Brought,
    their_share: Share,
    copies: Vec<HeldCopy>,
    /// The circuits that are evaluated, and the labels of the evaluator's encoded input to each.
    evaluated: Zeroizing<Vec<usize>>,
    encoded: Vec<Zeroizing<Vec<Block>>>,
    masked: Vec<Zeroizing<Vec<bool>>>,
    /// What each circuit saves, and once all are judged the values that it is of.
    judged: Vec<SavedCopy>,
    saved: Vec<CloudValue>,
    /// Memory for the circuit that is judged.
    expected: Vec<u8>,
}

/// What the evaluator forwarded.
pub(crate) struct Handed {
    keys: Zeroizing<Vec<Block>>,
    /// a ⊕ p.
    positions: Vec<u8>,
    /// The hash of the select bits of each evaluated circuit's labels.
    selects: Vec<Hash>,
}

impl<'f, S: Scheme<Wire = Block>> Cloud<'f, S> {
    /// A run of `function` with the cloud's half of each value that the function loads, in order.
    /// `seed` is random, secret and used for this run alone.
    ///
    /// # Errors
    ///
    /// `loads` are not as the function asks, a value or the parameters are of another chain, or the
    /// function can't be run.
    pub fn new(
        scheme: S,
        function: &'f Function,
        parameters: Parameters,
        start: CloudStart,
        loads: Vec<CloudValue>,
        threads: usize,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        let work = ServerRun::new(scheme, function, parameters)?;
        let chain = match &start {
            CloudStart::NewChain(_) => None,
            CloudStart::Chain(chain) => Some(chain.head),
        };
        work.check_state(chain, loads.iter().map(|value| &value.0))?;
        if let CloudStart::NewChain(with_generator) = &start {
            check_transfers(&parameters, with_generator.security())?;
        }
        let mut prg = Prg::from_seed(seed);
        let (mut nonce, mut share) = ([0; 32], Share([0; SHARE_BYTES]));
        prg.fill_bytes(&mut nonce);
        prg.fill_bytes(&mut share.0);
        let state = SavedState::new(
            chain.map(|head| head.place()),
            loads.iter().map(|value| &value.0),
        );
        let brought = Brought {
            start,
            loads,
            split: draw_split(&parameters, &mut prg),
            share,
        };
        let meeting = Meeting::new(Peer::Cloud, work.terms(), nonce, Some(state));
        Ok(Self {
            work,
            threads: threads.max(1),
            stage: Some(Stage::Meeting(Box::new(meeting), Box::new(brought))),
            done: 0,
        })
    }

    /// What is kept at [`Action::Keep`]: the chain, and the cloud's half of each saved value, in
    /// the function's order.
    ///
    /// # Errors
    ///
    /// It is not the time.
    pub fn to_keep(&self) -> Result<(&CloudChain, &[CloudValue]), Error> {
        let Some(Stage::SendingResults(running, _, 0)) = &self.stage else {
            return Err(NOT_DONE);
        };
        Ok((running.chain()?, &running.saved))
    }

    /// What later runs go on from.
    ///
    /// # Errors
    ///
    /// The run is not done.
    pub fn finish(self) -> Result<CloudOutcome, Error> {
        let Some(Stage::Done(running)) = self.stage else {
            return Err(NOT_DONE);
        };
        let CloudStart::Chain(chain) = running.brought.start else {
            return Err(NOT_DONE);
        };
        Ok(CloudOutcome {
            chain,
            saved: running.saved,
        })
    }

    /// The split of the chain that this run, which has not started, goes on or will begin.
    #[cfg(test)]
    pub(super) fn split(&self) -> Split {
        let Some(Stage::Meeting(_, brought)) = &self.stage else {
            return Split::default();
        };
        match &brought.start {
            CloudStart::Chain(chain) => chain.split.clone(),
            CloudStart::NewChain(_) => brought.split.clone(),
        }
    }

    /// Takes a message of heads, which follow the generator's share of the toss.
    fn take_heads(
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
    fn take_decodings(
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
                    crate::bits::xor_into(&mut value, given);
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
    fn take_handed(
        &mut self,
        mut running: Box<Running>,
        mut incoming: Incoming,
        payload: &[u8],
    ) -> Result<Stage, Error> {
        let (work, mut whole) = (&self.work, Vec::new());
        let due = handed_bytes(&work.parameters, work.transfers());
        incoming.receive(payload, |_| due, &mut whole)?;
        let Some((_, handed)) = whole
            .pop()
            .map(|(piece, bytes)| (piece, Zeroizing::new(bytes)))
        else {
            return Ok(Stage::AwaitingHanded(running, incoming));
        };
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
    fn take_strings(
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
    fn take_bodies(
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

impl Running {
    fn new(meeting: &Meeting, brought: Brought) -> Result<Box<Self>, Error> {
        Ok(Box::new(Self {
            oracle: meeting.oracle()?,
            brought,
            their_share: Share([0; SHARE_BYTES]),
            copies: Vec::new(),
            evaluated: Zeroizing::default(),
            encoded: Vec::new(),
            masked: Vec::new(),
            judged: Vec::new(),
            saved: Vec::new(),
            expected: Vec::new(),
        }))
    }

    fn chain(&self) -> Result<&CloudChain, Error> {
        match &self.brought.start {
            CloudStart::Chain(chain) => Ok(chain),
            CloudStart::NewChain(_) => Err(NOT_ASKED),
        }
    }

    /// Chooses by OT one key of each circuit.
    fn begin_chain(&mut self, parameters: Parameters, message: &mut Vec<u8>) -> Result<(), Error> {
        let CloudStart::NewChain(ot) = &mut self.brought.start else {
            return Err(NOT_ASKED);
        };
        let split = mem::take(&mut self.brought.split);
        let choices = split.iter().map(|fate| *fate == Fate::Evaluate);
        let choices = Zeroizing::new(choices.collect::<Vec<_>>());
        let first = ot.next_index();
        let mut t = Zeroizing::new(vec![Block::ZERO; split.len()]);
        ot.extend(&choices, &mut t, message)?;
        let given = cut_pads(&self.oracle).chosen(first, &t);
        let keys = split.iter().zip(given.iter()).enumerate();
        let keys = keys
            .map(|(copy, (fate, key))| CutKey::from_transfer(&self.oracle, copy, *fate, *key))
            .collect();
        let head = Head {
            id: ChainId::new(&self.oracle),
            attempt: 0,
            parameters,
            version: 0,
        };
        self.brought.start = CloudStart::Chain(CloudChain { head, split, keys });
        Ok(())
    }

    /// Tells the evaluator the split, and a hash that only a holder of its keys can compute.
    fn write_split(&self, message: &mut Vec<u8>) -> Result<(), Error> {
        let chain = self.chain()?;
        let evaluated = chain.split.iter().map(|fate| *fate == Fate::Evaluate);
        let evaluated = Zeroizing::new(evaluated.collect::<Vec<_>>());
        message.clear();
        message.extend_from_slice(&Zeroizing::new(pack(&evaluated)));
        let keys = chain.keys.iter().zip(chain.split.iter()).enumerate();
        let hashes = keys.map(|(copy, (key, fate))| key.compare(&self.oracle, copy, *fate));
        message.extend_from_slice(&compare_all(&self.oracle, hashes));
        Ok(())
    }
}

impl<S: Scheme<Wire = Block>> Machine<Peer> for Cloud<'_, S> {
    type State = Stage;

    fn state(&mut self) -> &mut Option<Stage> {
        &mut self.stage
    }

    fn awaited(&self, stage: &Stage) -> Option<Action<Peer>> {
        let (from, kind, bytes) = match stage {
            Stage::AwaitingHeads(_, incoming) => {
                (Peer::Generator, Kind::CopyHeads, incoming.next_bytes())
            }
            Stage::AwaitingDecodings(..) => {
                let bytes = self.work.decoding_bytes() * self.work.copies();
                (Peer::Generator, Kind::InputDecodings, bytes)
            }
            Stage::AwaitingHanded(_, incoming) => {
                (Peer::Evaluator, Kind::TransferKeys, incoming.next_bytes())
            }
            Stage::AwaitingStrings(_, incoming, _) => (
                Peer::Generator,
                Kind::TransferStrings,
                incoming.next_bytes(),
            ),
            Stage::AwaitingBodies(_, incoming) => {
                (Peer::Generator, Kind::Copies, incoming.next_bytes())
            }
            _ => return None,
        };
        Action::receive_from(from, kind, bytes)
    }

    fn step(
        &mut self,
        stage: Stage,
        message: &mut Vec<u8>,
    ) -> Result<(Stage, Option<Action<Peer>>), Error> {
        let (work, send) = (&self.work, Action::send_to);
        Ok(match stage {
            Stage::Meeting(mut meeting, brought) => match meeting.next(message) {
                None => {
                    let running = Running::new(&meeting, *brought)?;
                    let stage = match running.brought.start {
                        CloudStart::NewChain(_) => Stage::SendingCut(running),
                        CloudStart::Chain(_) => Stage::SendingToss(running),
                    };
                    (stage, None)
                }
                action => (Stage::Meeting(meeting, brought), action),
            },
            Stage::SendingCut(mut running) => {
                running.begin_chain(work.parameters, message)?;
                let action = send(Peer::Generator, Kind::CotExtension);
                (Stage::SendingToss(running), action)
            }
            Stage::SendingToss(running) => {
                message.clear();
                message.extend_from_slice(&running.brought.share.commit(&running.oracle));
                let action = send(Peer::Generator, Kind::TossCommitment);
                (Stage::SendingSplit(running), action)
            }
            Stage::SendingSplit(running) => {
                running.write_split(message)?;
                let due = SHARE_BYTES + work.copies() * work.head_bytes();
                let incoming = Incoming::new(Kind::CopyHeads, 1 + work.copies(), due);
                let action = send(Peer::Evaluator, Kind::Split);
                (Stage::AwaitingHeads(running, incoming), action)
            }
            Stage::SendingOpening(running) => {
                message.clear();
                message.extend_from_slice(&running.brought.share.0);
                let seed = running.brought.share.with(&running.their_share);
                let rows = work.parameters.hash_rows();
                let hash = InputHash::new(&seed, rows, work.own_bits);
                let action = send(Peer::Generator, Kind::TossOpening);
                (Stage::AwaitingDecodings(running, hash), action)
            }
            Stage::Keeping(running, results) => {
                (Stage::SendingResults(running, results, 0), work.keeping())
            }
            Stage::SendingResults(running, results, sent) => {
                let to = [Peer::Generator, Peer::Evaluator];
                match results.get(sent).zip(to.get(sent)) {
                    Some((result, to)) => {
                        message.clear();
                        message.extend_from_slice(result);
                        let action = send(*to, Kind::OutsourcedResult);
                        (Stage::SendingResults(running, results, sent + 1), action)
                    }
                    None => (Stage::Done(running), None),
                }
            }
            done @ Stage::Done(_) => (done, Some(Action::Done)),
            _ => return Err(SPENT),
        })
    }

    fn take(&mut self, stage: Stage, payload: &[u8]) -> Result<Stage, Error> {
        match stage {
            Stage::Meeting(mut meeting, brought) => {
                meeting.receive(payload)?;
                Ok(Stage::Meeting(meeting, brought))
            }
            Stage::AwaitingHeads(running, incoming) => self.take_heads(running, incoming, payload),
            Stage::AwaitingDecodings(running, hash) => self.take_decodings(running, &hash, payload),
            Stage::AwaitingHanded(running, incoming) => {
                self.take_handed(running, incoming, payload)
            }
            Stage::AwaitingStrings(running, incoming, handed) => {
                self.take_strings(running, (incoming, handed), payload)
            }
            Stage::AwaitingBodies(running, incoming) => {
                self.take_bodies(running, incoming, payload)
            }
            _ => Err(NOT_ASKED),
        }
    }

    fn progress(&self) -> Progress {
        let ands = self.work.function.and_gates();
        Progress {
            done_ands: ands * self.done,
            total_ands: ands * self.work.copies() as u64,
        }
    }
}
