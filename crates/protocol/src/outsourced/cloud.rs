//! The cloud: checks or evaluates each circuit as it passes.
//!
//! **It does the same work for every circuit**, checked or evaluated, so that the pace at which it
//! reads says nothing of the split to a generator who watches it: with the one key that it has it
//! opens both boxes, makes a circuit from the seed that it finds, and evaluates the one that came.
//! What it finds under the key that it lacks means nothing, and is not used.
//!
//! **Memory**: 16 bytes for each input bit of each evaluated circuit, and on several threads the
//! body of a circuit for each. **Cost**: each circuit garbled and evaluated once.

mod taking;

use core::mem;

use tacit_function::Function;
use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::chain::{CloudChain, Head};
use super::cut::{CutKey, Fate, Split, compare_all, draw_split};
use super::judge::HeldCopy;
use super::judging::Judging;
use super::parameters::Parameters;
use super::same_input::InputHash;
use super::terms::Meeting;
use super::toss::{SHARE_BYTES, Share};
use super::transfer::cut_pads;
use super::work::{ServerRun, check_transfers};
use crate::Error;
use crate::bits::pack;
use crate::malicious::frames::Incoming;
use crate::malicious::oracle::{Hash, Oracle};
use crate::message::Kind;
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE, Peer, Progress, SPENT};
use crate::saved::{EvaluatorHalf as CloudValue, SavedCopy, SavedState};
use crate::setup::EvaluatorOt;

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
pub struct Cloud<'f, S: Scheme<Wire = Block>> {
    work: ServerRun<'f, S>,
    threads: usize,
    stage: Option<Stage>,
    /// Circuits checked or evaluated.
    done: u64,
    /// The circuit that is judged as its body comes.
    judging: Option<Box<Judging<'f, S>>>,
}

/// Where a run stands.
pub(crate) enum Stage {
    Meeting(Box<Meeting>, Box<Brought>),
    SendingCut(Box<Running>),
    SendingToss(Box<Running>),
    SendingSplit(Box<Running>),
    AwaitingHeads(Box<Running>, Incoming),
    SendingOpening(Box<Running>),
    /// What was sent goes out before long work.
    Flushing(Box<Running>, InputHash),
    Hashing(Box<Running>, InputHash),
    /// What each circuit's decoding is or must be added to.
    AwaitingDecodings(Box<Running>, Vec<Block>),
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
    /// Bodies that wait for others, to be judged on several threads.
    bodies: Vec<(usize, Vec<u8>)>,
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
        let state = SavedState::of_evaluator(chain.map(|head| head.place()), &loads);
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
            judging: None,
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
            bodies: Vec::new(),
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
        let head = Head::new(&self.oracle, parameters);
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
                (Stage::Flushing(running, hash), action)
            }
            Stage::Flushing(running, hash) => {
                (Stage::Hashing(running, hash), Some(Action::Continue))
            }
            Stage::Hashing(running, hash) => {
                let sums = running.hash_inputs(&hash)?;
                (Stage::AwaitingDecodings(running, sums), None)
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
            Stage::AwaitingDecodings(running, sums) => self.take_decodings(running, &sums, payload),
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
        self.work.progress(self.done)
    }
}
