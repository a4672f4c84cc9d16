//! The generator: makes all circuits, and never learns which of them are evaluated.
//!
//! It keeps a root seed and makes what it sends of a circuit when it sends it: a circuit's secrets
//! are derived three times, and its tables once. **Memory**: 16 bytes for each encoded bit of the
//! evaluator and circuit while transfers are offered; then a message of a body, or on several
//! threads a body for each.

mod making;

use tacit_function::{Function, Role};
use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::chain::{GeneratorChain, Head};
use super::copy::{Body, CopySecrets, CopySeed, permutation};
use super::cut::{CutKey, Fate};
use super::parameters::Parameters;
use super::same_input::InputHash;
use super::terms::Meeting;
use super::toss::{SHARE_BYTES, Share, TossCommitment};
use super::transfer::{Offer, cut_pads};
use super::work::{ServerRun, check_transfers};
use crate::Error;
use crate::bits::{bytes_for, pack, random_bits, read_blocks};
use crate::direct::EXTENSION_OTS;
use crate::malicious::frames::Outgoing;
use crate::malicious::oracle::{HASH_BYTES, Oracle};
use crate::message::{Kind, array, exactly};
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE, Peer, Progress, SPENT};
use crate::saved::{GarblerHalf as GeneratorValue, SavedCopy, SavedState};
use crate::setup::GarblerOt;

/// Under which chain a generator runs.
pub enum GeneratorStart {
    /// A new one, whose keys come from OTs with the cloud.
    NewChain(GarblerOt),
    /// One that was started before, forwarded and kept for this attempt.
    Chain(GeneratorChain),
}

/// What a run leaves the generator.
pub struct GeneratorOutcome {
    /// Its output bits, in port order.
    pub outputs: Zeroizing<Vec<bool>>,
    /// The chain, for later runs.
    pub chain: GeneratorChain,
    /// Its half of each saved value, in the function's order.
    pub saved: Vec<GeneratorValue>,
    /// OTs with the evaluator, for the session's next run.
    pub with_evaluator: GarblerOt,
}

/// A run on the generator's side.
pub struct Generator<'f, S: Scheme<Wire = Block>> {
    work: ServerRun<'f, S>,
    threads: usize,
    stage: Option<Stage>,
    /// Circuits garbled.
    made: u64,
    /// The body that is being written.
    body: Option<Box<Body<'f, S>>>,
    /// How the generator of a test cheats with its input.
    #[cfg(test)]
    pub(super) spoiling: Option<super::tests::OtherInput>,
}

/// Where a run stands.
pub(crate) enum Stage {
    Meeting(Box<Meeting>, Box<Brought>),
    AwaitingCut(Box<Running>),
    AwaitingToss(Box<Running>),
    SendingHashes(Box<Running>),
    AwaitingChoices(Box<Running>),
    AwaitingPermutation(Box<Running>),
    SendingOrders(Box<Running>),
    SendingHeads(Box<Running>, Outgoing, usize),
    AwaitingOpening(Box<Running>),
    SendingDecodings(Box<Running>, InputHash),
    /// What was sent goes out before long work.
    Flushing(Box<Running>),
    Offering(Box<Running>),
    SendingStrings(Box<Running>, Outgoing, Box<Offer>, usize),
    SendingBodies(Box<Running>, Outgoing, usize),
    Keeping(Box<Running>),
    AwaitingResult(Box<Running>),
    Done(Box<Running>, Zeroizing<Vec<bool>>),
}

/// What the generator comes with.
pub(crate) struct Brought {
    start: GeneratorStart,
    loads: Vec<GeneratorValue>,
    ot: GarblerOt,
    /// Its input, what masks its result, and what hides both under the hash, eight a byte.
    input: Zeroizing<Vec<u8>>,
    root: Zeroizing<[u8; 32]>,
    blind_root: Zeroizing<[u8; 32]>,
    share: Share,
}

/// What a run has besides.
pub(crate) struct Running {
    oracle: Oracle,
    brought: Brought,
    toss: Option<TossCommitment>,
    /// q of each OT, of which `taken` are there; the number of the first.
    q: Zeroizing<Vec<Block>>,
    taken: usize,
    first: u64,
    permutation: Zeroizing<Vec<u8>>,
    /// What each circuit saves, and once all are made the values that it is of.
    made: Vec<SavedCopy>,
    saved: Vec<GeneratorValue>,
}

impl<'f, S: Scheme<Wire = Block>> Generator<'f, S> {
    /// A run of `function` with the generator's input bits, in port order, and its half of each
    /// value that the function loads, in order. `with_evaluator` are OTs with the evaluator, in
    /// which the generator offers; `seed` is random, secret and used for this run alone.
    ///
    /// # Errors
    ///
    /// `inputs` or `loads` are not as the function asks, a value or the parameters are of another
    /// chain, or the function can't be run.
    #[expect(clippy::too_many_arguments, reason = "each is of another kind")]
    pub fn new(
        scheme: S,
        function: &'f Function,
        parameters: Parameters,
        inputs: &[bool],
        start: GeneratorStart,
        loads: Vec<GeneratorValue>,
        with_evaluator: GarblerOt,
        threads: usize,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        let work = ServerRun::new(scheme, function, parameters)?;
        if inputs.len() != function.input_bits(Role::Garbler) {
            return Err(Error::ApiMisuse(
                "as many input bits as the generator's ports have",
            ));
        }
        let chain = match &start {
            GeneratorStart::NewChain(_) => None,
            GeneratorStart::Chain(chain) => Some(chain.head),
        };
        work.check_state(chain, loads.iter().map(|value| &value.0))?;
        check_transfers(&parameters, with_evaluator.security())?;
        if let GeneratorStart::NewChain(with_cloud) = &start {
            check_transfers(&parameters, with_cloud.security())?;
        }
        let mut prg = Prg::from_seed(seed);
        let mut draw = || {
            let mut bytes = Zeroizing::new([0; 32]);
            prg.fill_bytes(&mut *bytes);
            bytes
        };
        let (nonce, root, blind_root, share) = (draw(), draw(), draw(), Share(*draw()));
        let mut bits = Zeroizing::new(Vec::with_capacity(work.own_bits));
        bits.extend_from_slice(inputs);
        bits.extend_from_slice(&random_bits(&mut prg, work.own_bits - inputs.len()));
        let state = SavedState::of_garbler(chain.map(|head| head.place()), &loads);
        let brought = Brought {
            start,
            loads,
            ot: with_evaluator,
            input: Zeroizing::new(pack(&bits)),
            root,
            blind_root,
            share,
        };
        let meeting = Meeting::new(Peer::Generator, work.terms(), *nonce, Some(state));
        Ok(Self {
            work,
            threads: threads.max(1),
            stage: Some(Stage::Meeting(Box::new(meeting), Box::new(brought))),
            made: 0,
            body: None,
            #[cfg(test)]
            spoiling: None,
        })
    }

    /// What is kept at [`Action::Keep`]: the chain, and the generator's half of each saved value,
    /// in the function's order.
    ///
    /// # Errors
    ///
    /// It is not the time.
    pub fn to_keep(&self) -> Result<(&GeneratorChain, &[GeneratorValue]), Error> {
        let Some(Stage::AwaitingResult(running)) = &self.stage else {
            return Err(NOT_DONE);
        };
        Ok((running.chain()?, &running.saved))
    }

    /// The result, and what later runs go on from.
    ///
    /// # Errors
    ///
    /// The run is not done.
    pub fn finish(self) -> Result<GeneratorOutcome, Error> {
        let Some(Stage::Done(running, outputs)) = self.stage else {
            return Err(NOT_DONE);
        };
        let GeneratorStart::Chain(chain) = running.brought.start else {
            return Err(NOT_DONE);
        };
        Ok(GeneratorOutcome {
            outputs,
            saved: running.saved,
            chain,
            with_evaluator: running.brought.ot,
        })
    }
}

impl Running {
    fn new(meeting: &Meeting, brought: Brought, transfers: usize) -> Result<Box<Self>, Error> {
        Ok(Box::new(Self {
            oracle: meeting.oracle()?,
            toss: None,
            q: Zeroizing::new(vec![Block::ZERO; transfers]),
            taken: 0,
            first: brought.ot.next_index(),
            permutation: Zeroizing::default(),
            made: Vec::new(),
            saved: Vec::new(),
            brought,
        }))
    }

    fn chain(&self) -> Result<&GeneratorChain, Error> {
        match &self.brought.start {
            GeneratorStart::Chain(chain) => Ok(chain),
            GeneratorStart::NewChain(_) => Err(NOT_ASKED),
        }
    }

    fn seed(&self, copy: usize) -> CopySeed {
        CopySeed::derive(&self.oracle, &self.brought.root, copy)
    }

    fn secrets<S>(&self, work: &ServerRun<'_, S>, copy: usize) -> CopySecrets
    where
        S: Scheme<Wire = Block>,
    {
        CopySecrets::derive(work, &self.oracle, copy, &self.seed(copy))
    }

    /// Makes the keys of a new chain from the cloud's OTs.
    fn begin_chain(&mut self, parameters: Parameters, payload: &[u8]) -> Result<(), Error> {
        let GeneratorStart::NewChain(ot) = &mut self.brought.start else {
            return Err(NOT_ASKED);
        };
        let first = ot.next_index();
        let mut q = Zeroizing::new(vec![Block::ZERO; parameters.copies()]);
        ot.extend(&mut q, payload)?;
        let [zeros, ones] = cut_pads(&self.oracle).both(first, &q, ot.delta());
        let pairs = (0..).zip(zeros.iter().zip(ones.iter()));
        let keys = pairs.map(|(copy, (zero, one))| {
            let key = |fate, given| CutKey::from_transfer(&self.oracle, copy, fate, given);
            [key(Fate::Check, *zero), key(Fate::Evaluate, *one)]
        });
        let chain = GeneratorChain {
            head: Head::new(&self.oracle, parameters),
            keys: keys.collect(),
        };
        self.brought.start = GeneratorStart::Chain(chain);
        Ok(())
    }

    /// How many OTs the evaluator's next message gives.
    fn awaited(&self) -> usize {
        EXTENSION_OTS.min(self.q.len() - self.taken)
    }

    fn take_choices(mut self: Box<Self>, payload: &[u8]) -> Result<Stage, Error> {
        let end = self.taken + self.awaited();
        let Self {
            brought, q, taken, ..
        } = &mut *self;
        brought.ot.extend(&mut q[*taken..end], payload)?;
        *taken = end;
        Ok(self.after_choices())
    }

    fn after_choices(self: Box<Self>) -> Stage {
        match self.awaited() {
            0 => Stage::AwaitingPermutation(self),
            _ => Stage::AwaitingChoices(self),
        }
    }

    fn write_hashes(&self, message: &mut Vec<u8>) -> Result<(), Error> {
        message.clear();
        for (copy, [check, evaluate]) in self.chain()?.keys.iter().enumerate() {
            message.extend_from_slice(&check.compare(&self.oracle, copy, Fate::Check));
            message.extend_from_slice(&evaluate.compare(&self.oracle, copy, Fate::Evaluate));
        }
        Ok(())
    }
}

impl<S: Scheme<Wire = Block>> Machine<Peer> for Generator<'_, S> {
    type State = Stage;

    fn state(&mut self) -> &mut Option<Stage> {
        &mut self.stage
    }

    fn awaited(&self, stage: &Stage) -> Option<Action<Peer>> {
        let (from, kind, bytes) = match stage {
            Stage::AwaitingCut(running) => match &running.brought.start {
                GeneratorStart::NewChain(ot) => {
                    let bytes = ot.extension_bytes(self.work.copies());
                    (Peer::Cloud, Kind::CotExtension, bytes)
                }
                GeneratorStart::Chain(_) => return None,
            },
            Stage::AwaitingToss(_) => (Peer::Cloud, Kind::TossCommitment, HASH_BYTES),
            Stage::AwaitingChoices(running) => {
                let bytes = running.brought.ot.extension_bytes(running.awaited());
                (Peer::Evaluator, Kind::CotExtension, bytes)
            }
            Stage::AwaitingPermutation(_) => (Peer::Evaluator, Kind::Permutation, Block::BYTES),
            Stage::AwaitingOpening(_) => (Peer::Cloud, Kind::TossOpening, SHARE_BYTES),
            Stage::AwaitingResult(_) => {
                let bytes = bytes_for(self.work.masked_bits[1]);
                (Peer::Cloud, Kind::OutsourcedResult, bytes)
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
        let send = Action::send_to;
        Ok(match stage {
            Stage::Meeting(mut meeting, brought) => match meeting.next(message) {
                None => {
                    let running = Running::new(&meeting, *brought, self.work.transfers())?;
                    let stage = match running.brought.start {
                        GeneratorStart::NewChain(_) => Stage::AwaitingCut(running),
                        GeneratorStart::Chain(_) => Stage::AwaitingToss(running),
                    };
                    (stage, None)
                }
                action => (Stage::Meeting(meeting, brought), action),
            },
            Stage::SendingHashes(running) => {
                running.write_hashes(message)?;
                let action = send(Peer::Evaluator, Kind::KeyHashes);
                (running.after_choices(), action)
            }
            Stage::SendingOrders(running) => {
                self.write_orders(&running, message);
                let mut heads = Outgoing::default();
                heads.append(&running.brought.share.0);
                let action = send(Peer::Evaluator, Kind::Orders);
                (Stage::SendingHeads(running, heads, 0), action)
            }
            Stage::SendingHeads(running, mut stream, mut done) => {
                match self.send_heads(&running, (&mut stream, &mut done), message)? {
                    true => {
                        let action = send(Peer::Cloud, Kind::CopyHeads);
                        (Stage::SendingHeads(running, stream, done), action)
                    }
                    false => (Stage::AwaitingOpening(running), None),
                }
            }
            Stage::SendingDecodings(running, hash) => {
                self.write_decodings(&running, &hash, message);
                let action = send(Peer::Cloud, Kind::InputDecodings);
                (Stage::Flushing(running), action)
            }
            Stage::Flushing(running) => (Stage::Offering(running), Some(Action::Continue)),
            Stage::Offering(mut running) => {
                let (offer, stream) = (Box::new(self.offer(&mut running)), Outgoing::default());
                (Stage::SendingStrings(running, stream, offer, 0), None)
            }
            Stage::SendingStrings(running, mut stream, offer, mut done) => {
                while !stream.is_full() && done < self.work.transfers() {
                    offer.write(done, stream.buffer());
                    done += 1;
                }
                match stream.take(message) {
                    true => {
                        let action = send(Peer::Cloud, Kind::TransferStrings);
                        (Stage::SendingStrings(running, stream, offer, done), action)
                    }
                    false => (Stage::SendingBodies(running, Outgoing::default(), 0), None),
                }
            }
            Stage::SendingBodies(mut running, mut stream, mut done) => {
                match self.send_bodies(&mut running, (&mut stream, &mut done), message)? {
                    true => {
                        let action = send(Peer::Cloud, Kind::Copies);
                        (Stage::SendingBodies(running, stream, done), action)
                    }
                    false => (Stage::Keeping(running), None),
                }
            }
            Stage::Keeping(running) => (Stage::AwaitingResult(running), self.work.keeping()),
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
            Stage::AwaitingCut(mut running) => {
                running.begin_chain(self.work.parameters, payload)?;
                Stage::AwaitingToss(running)
            }
            Stage::AwaitingToss(mut running) => {
                let commitment = array(Kind::TossCommitment, payload)?;
                running.toss = Some(TossCommitment(commitment));
                Stage::SendingHashes(running)
            }
            Stage::AwaitingChoices(running) => running.take_choices(payload)?,
            Stage::AwaitingPermutation(mut running) => {
                let [seed] = read_blocks(Kind::Permutation, payload)?;
                let count = self.work.transfers();
                running.permutation = permutation(&running.oracle, seed, count);
                Stage::SendingOrders(running)
            }
            Stage::AwaitingOpening(mut running) => {
                exactly(Kind::TossOpening, payload, SHARE_BYTES)?;
                let theirs = Share(array(Kind::TossOpening, payload)?);
                let toss = running.toss.take().ok_or(NOT_ASKED)?;
                let seed = toss.open(&running.oracle, &running.brought.share, &theirs)?;
                let rows = self.work.parameters.hash_rows();
                let hash = InputHash::new(&seed, rows, self.work.own_bits);
                Stage::SendingDecodings(running, hash)
            }
            Stage::AwaitingResult(running) => {
                let outputs = self.result(&running, payload)?;
                Stage::Done(running, outputs)
            }
            _ => return Err(NOT_ASKED),
        })
    }

    fn progress(&self) -> Progress {
        self.work.progress(self.made)
    }
}
