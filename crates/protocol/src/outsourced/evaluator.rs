//! The evaluator: a thin client. It chooses, compares and hands on; it garbles nothing, holds no
//! circuit and needs no thread.
//!
//! **Encoded bits**: n bits of input, and with a result of r bits r + 128 that mask it, are encoded
//! in those and some 9 to 15 for each 2 bits of distance: 128 in 309, 8192 in 8487 at k = 40.
//!
//! **Cost** of an encoded bit: 24 bytes and a bit sent; for its OT 2 cipher calls, for its key one
//! and a key schedule; 1/128 cipher call a circuit. Of a circuit: 80 bytes received, at most 48
//! sent, 3 hashes. **State** of an encoded bit while a run lasts: 50 bytes and a few bits; of a
//! circuit 80 bytes; and the encoding's redundancy, some 40 to 80 bytes an input bit. Nothing is
//! kept between runs.

use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::copy::{blind_seed, expected_selects, order_bits, permutation};
use super::cut::{Fate, Split, compare_all, key_hashes_bytes};
use super::terms::{Meeting, Shape, Terms};
use super::transfer::{AGREED, REFUSED, handed_bytes, wire_pads};
use super::work::{check_transfers, encoding_of};
use super::{Cheat, cheated, read_result};
use crate::Error;
use crate::bits::{append_blocks, bit, bytes_for, check_bits, differ, pack, random_bits, xor_into};
use crate::direct::EXTENSION_OTS;
use crate::malicious::frames::Outgoing;
use crate::malicious::oracle::{HASH_BYTES, Hash, Oracle};
use crate::malicious::returned::{added_inputs, returned_bits};
use crate::message::{AbortReason, Kind, exactly};
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE, Peer, SPENT};
use crate::saved::ChainVersion;
use crate::setup::EvaluatorOt;

/// What a run gives the evaluator.
pub struct EvaluatorOutcome {
    /// Its output bits, in port order.
    pub outputs: Zeroizing<Vec<bool>>,
    /// OTs with the generator, for the session's next run.
    pub with_generator: EvaluatorOt,
    /// The chain, at the version that was loaded, or 0 where the run began it.
    pub loaded: ChainVersion,
    /// The chain, at the version that is saved, if the function saves anything.
    pub saved: ChainVersion,
}

/// A run on the evaluator's side.
pub struct Evaluator {
    terms: Terms,
    shape: Shape,
    stage: Option<Stage>,
}

/// Where a run stands.
pub(crate) enum Stage {
    Meeting(Box<Meeting>, Box<Brought>),
    AwaitingHashes(Box<Running>),
    AwaitingSplit(Box<Running>, Vec<Hash>),
    Choosing(Box<Running>),
    SendingPermutation(Box<Running>),
    AwaitingOrders(Box<Running>),
    Handing(Box<Running>, Outgoing),
    AwaitingResult(Box<Running>),
    Done(Box<Running>, Zeroizing<Vec<bool>>),
}

/// What the evaluator comes with.
pub(crate) struct Brought {
    ot: EvaluatorOt,
    /// What masks its result: the MAC's key, and the pad.
    added: Zeroizing<Vec<bool>>,
    /// a: its input and `added`, encoded.
    choices: Zeroizing<Vec<bool>>,
    /// The seed of p.
    permutation: Zeroizing<Block>,
}

/// What a run has besides.
pub(crate) struct Running {
    oracle: Oracle,
    brought: Brought,
    /// What is loaded of the chain, and what is saved.
    chain: [ChainVersion; 2],
    split: Split,
    /// What it will tell the cloud, and **nobody else**: whether generator and cloud are at odds
    /// over a key says how one circuit fares, and a generator that heard of it while the chain
    /// lives would learn the split circuit by circuit.
    verdict: u8,
    /// t of each OT, of which `chosen` are there; the number of the first.
    t: Zeroizing<Vec<Block>>,
    chosen: usize,
    first: u64,
}

impl Evaluator {
    /// A run with the evaluator's input bits, in port order. `with_generator` are OTs with the
    /// generator, in which the evaluator chooses; `seed` is random, secret and used for this run
    /// alone.
    ///
    /// # Errors
    ///
    /// `inputs` are not as many as `shape` says, or more than can be encoded.
    pub fn new(
        terms: Terms,
        shape: Shape,
        inputs: &[bool],
        with_generator: EvaluatorOt,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        if inputs.len() != shape.input_bits {
            return Err(Error::ApiMisuse(
                "as many input bits as the evaluator's ports have",
            ));
        }
        check_transfers(&terms.parameters, with_generator.security())?;
        let encoding = encoding_of(shape, &terms.parameters)?;
        let mut prg = Prg::from_seed(seed);
        let mut nonce = [0; 32];
        prg.fill_bytes(&mut nonce);
        let permutation = Zeroizing::new(prg.next_block());
        let count = added_inputs(shape.output_bits);
        let added = random_bits(&mut prg, count);
        let mut bits = Zeroizing::new(Vec::with_capacity(encoding.bits()));
        bits.extend_from_slice(inputs);
        bits.extend_from_slice(&added);
        let brought = Brought {
            ot: with_generator,
            added,
            choices: encoding.encode(&bits, &mut prg),
            permutation,
        };
        let meeting = Meeting::new(Peer::Evaluator, terms, nonce, None);
        Ok(Self {
            terms,
            shape,
            stage: Some(Stage::Meeting(Box::new(meeting), Box::new(brought))),
        })
    }

    /// Goes on only if the servers bring this chain, at this version or a later one.
    #[must_use]
    pub fn pinned(mut self, pin: ChainVersion) -> Self {
        if let Some(Stage::Meeting(meeting, _)) = &mut self.stage {
            meeting.pin(pin);
        }
        self
    }

    /// The result.
    ///
    /// # Errors
    ///
    /// The run is not done.
    pub fn finish(self) -> Result<EvaluatorOutcome, Error> {
        match self.stage {
            Some(Stage::Done(running, outputs)) => {
                let [loaded, saved] = running.chain;
                Ok(EvaluatorOutcome {
                    outputs,
                    with_generator: running.brought.ot,
                    loaded,
                    saved,
                })
            }
            _ => Err(NOT_DONE),
        }
    }

    /// That keys do not agree, which the evaluator has found and told the cloud alone, where its
    /// user may hear of it: if the run ended with `error` of `party`, and that is the cloud's word
    /// that somebody cheated. The cloud has then read the verdict and killed the chain.
    ///
    /// Any other end says nothing of the verdict, and is to be reported as it is: while the chain
    /// lives, a generator that lies about one key and then ends the run would learn from the
    /// evaluator's user whether that circuit is checked.
    #[must_use]
    pub fn refusal(&self, party: Peer, error: &Error) -> Option<Error> {
        let has_refused = match &self.stage {
            Some(Stage::AwaitingResult(running)) => running.verdict != AGREED,
            _ => false,
        };
        let has_killed = *error == Error::PeerAborted(AbortReason::Misbehaved);
        (has_refused && party == Peer::Cloud && has_killed).then(|| cheated(Cheat::Keys))
    }

    fn split_bytes(&self) -> usize {
        bytes_for(self.terms.parameters.copies()) + HASH_BYTES
    }

    fn orders_bytes(&self) -> usize {
        32 + self.terms.parameters.copies() * Block::BYTES
    }

    /// Takes the cloud's split, and compares its keys with the generator's.
    fn take_split(
        &self,
        mut running: Box<Running>,
        hashes: &[Hash],
        payload: &[u8],
    ) -> Result<Stage, Error> {
        let (kind, parameters) = (Kind::Split, self.terms.parameters);
        exactly(kind, payload, self.split_bytes())?;
        let copies = parameters.copies();
        let (split, hash) = payload.split_at(bytes_for(copies));
        check_bits(kind, split, copies)?;
        let fate = |copy| match bit(split, copy) {
            true => Fate::Evaluate,
            false => Fate::Check,
        };
        running.split = Zeroizing::new((0..copies).map(fate).collect());
        let evaluated = running.split.iter().filter(|fate| **fate == Fate::Evaluate);
        let (found, expected) = (evaluated.count(), parameters.evaluated());
        if found != expected {
            return Err(cheated(Cheat::SplitSize { found, expected }));
        }
        let pairs = hashes.as_chunks::<2>().0.iter().zip(running.split.iter());
        let due = pairs.map(|(pair, fate)| pair[*fate as usize]);
        let agree = !differ(&compare_all(&running.oracle, due), hash);
        running.verdict = if agree { AGREED } else { REFUSED };
        Ok(running.after_choices())
    }

    /// All that is handed to the cloud, from the generator's orders.
    fn hand(&self, running: &Running, payload: &[u8]) -> Result<Outgoing, Error> {
        exactly(Kind::Orders, payload, self.orders_bytes())?;
        let (root, orders) = payload.split_at(32);
        let mut blind_root = Zeroizing::new([0; 32]);
        blind_root.copy_from_slice(root);
        let (brought, oracle) = (&running.brought, &running.oracle);
        let count = brought.choices.len();
        let choices = Zeroizing::new(pack(&brought.choices));
        let mut stream = Outgoing::default();
        let out = stream.buffer();
        out.reserve_exact(handed_bytes(&self.terms.parameters, count));
        out.push(running.verdict);
        let keys = wire_pads(oracle).chosen(running.first, &running.t);
        append_blocks(out, &keys);
        let mut positions = permutation(oracle, *brought.permutation, count);
        xor_into(&mut positions, &choices);
        out.extend_from_slice(&positions);
        let orders = orders.as_chunks::<{ Block::BYTES }>().0.iter();
        for (copy, (order, fate)) in orders.zip(running.split.iter()).enumerate() {
            match fate {
                Fate::Check => out.extend_from_slice(order),
                Fate::Evaluate => {
                    let seed = blind_seed(oracle, &blind_root, copy);
                    out.extend_from_slice(&seed.to_bytes());
                    let order = Block::from_bytes(*order);
                    let mut selects = order_bits(oracle, copy, order, count);
                    xor_into(&mut selects, &choices);
                    out.extend_from_slice(&expected_selects(oracle, copy, &selects));
                }
            }
        }
        let mask = 0_u8.wrapping_sub(u8::from(running.verdict == AGREED));
        out.iter_mut().for_each(|byte| *byte &= mask);
        Ok(stream)
    }

    fn result(&self, running: &Running, payload: &[u8]) -> Result<Zeroizing<Vec<bool>>, Error> {
        if running.verdict != AGREED {
            // Who got nothing but zeros has no result.
            return Err(cheated(Cheat::Result));
        }
        let bits = returned_bits(self.shape.output_bits);
        read_result(payload, bits, &running.brought.added)
    }
}

impl Running {
    fn new(meeting: &Meeting, brought: Brought) -> Result<Box<Self>, Error> {
        let oracle = meeting.oracle()?;
        Ok(Box::new(Self {
            chain: meeting.chain(&oracle),
            oracle,
            split: Split::default(),
            verdict: REFUSED,
            t: Zeroizing::new(vec![Block::ZERO; brought.choices.len()]),
            chosen: 0,
            first: brought.ot.next_index(),
            brought,
        }))
    }

    fn after_choices(self: Box<Self>) -> Stage {
        match self.chosen < self.t.len() {
            true => Stage::Choosing(self),
            false => Stage::SendingPermutation(self),
        }
    }

    /// Writes the message that extends the next OTs.
    fn choose(&mut self, message: &mut Vec<u8>) -> Result<(), Error> {
        let end = self.t.len().min(self.chosen + EXTENSION_OTS);
        let now = self.chosen..end;
        let Brought { ot, choices, .. } = &mut self.brought;
        ot.extend(&choices[now.clone()], &mut self.t[now], message)?;
        self.chosen = end;
        Ok(())
    }
}

impl Machine<Peer> for Evaluator {
    type State = Stage;

    fn state(&mut self) -> &mut Option<Stage> {
        &mut self.stage
    }

    fn awaited(&self, stage: &Stage) -> Option<Action<Peer>> {
        let receive = Action::receive_from;
        match stage {
            Stage::AwaitingHashes(_) => {
                let bytes = key_hashes_bytes(&self.terms.parameters);
                receive(Peer::Generator, Kind::KeyHashes, bytes)
            }
            Stage::AwaitingSplit(..) => receive(Peer::Cloud, Kind::Split, self.split_bytes()),
            Stage::AwaitingOrders(_) => receive(Peer::Generator, Kind::Orders, self.orders_bytes()),
            Stage::AwaitingResult(_) => {
                let bytes = bytes_for(returned_bits(self.shape.output_bits));
                receive(Peer::Cloud, Kind::OutsourcedResult, bytes)
            }
            _ => None,
        }
    }

    fn step(
        &mut self,
        stage: Stage,
        message: &mut Vec<u8>,
    ) -> Result<(Stage, Option<Action<Peer>>), Error> {
        let send = Action::send_to;
        Ok(match stage {
            Stage::Meeting(mut meeting, brought) => match meeting.next(message) {
                None => (
                    Stage::AwaitingHashes(Running::new(&meeting, *brought)?),
                    None,
                ),
                action => (Stage::Meeting(meeting, brought), action),
            },
            Stage::Choosing(mut running) => {
                running.choose(message)?;
                let action = send(Peer::Generator, Kind::CotExtension);
                (running.after_choices(), action)
            }
            Stage::SendingPermutation(running) => {
                message.clear();
                message.extend_from_slice(&running.brought.permutation.to_bytes());
                let action = send(Peer::Generator, Kind::Permutation);
                (Stage::AwaitingOrders(running), action)
            }
            Stage::Handing(running, mut stream) => match stream.take(message) {
                true => {
                    let action = send(Peer::Cloud, Kind::TransferKeys);
                    (Stage::Handing(running, stream), action)
                }
                false => (Stage::AwaitingResult(running), None),
            },
            done @ Stage::Done(..) => (done, Some(Action::Done)),
            _ => return Err(SPENT),
        })
    }

    fn take(&mut self, stage: Stage, payload: &[u8]) -> Result<Stage, Error> {
        Ok(match stage {
            Stage::Meeting(mut meeting, brought) => {
                meeting.receive(payload)?;
                Stage::Meeting(meeting, brought)
            }
            Stage::AwaitingHashes(running) => {
                let bytes = key_hashes_bytes(&self.terms.parameters);
                exactly(Kind::KeyHashes, payload, bytes)?;
                Stage::AwaitingSplit(running, payload.as_chunks().0.to_vec())
            }
            Stage::AwaitingSplit(running, hashes) => self.take_split(running, &hashes, payload)?,
            Stage::AwaitingOrders(running) => {
                let stream = self.hand(&running, payload)?;
                Stage::Handing(running, stream)
            }
            Stage::AwaitingResult(running) => {
                let outputs = self.result(&running, payload)?;
                Stage::Done(running, outputs)
            }
            _ => return Err(NOT_ASKED),
        })
    }
}
