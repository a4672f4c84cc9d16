//! The evaluator of a preparation.

use core::ops::Range;
use std::borrow::Cow;

use rand_core::CryptoRng;
use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use tacit_ot::Security;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{DIGESTS, RANDOM_BYTES, SEEDS};
use crate::Error;
use crate::batch::circuit::{CircuitSeed, Secrets};
use crate::batch::consistency::find_inconsistent;
use crate::batch::cut::{CheckSet, ChoiceSeed};
use crate::batch::execution::KeptCircuit;
use crate::batch::frames::Incoming;
use crate::batch::oracle::{Domain, HASH_BYTES, Hash};
use crate::batch::{Batch, Caught, Circuits, EvaluatorExecution, cheated, parallel};
use crate::bits::{clear_unused, random_bits};
use crate::malicious::commitment::Committing;
use crate::message::{Kind, exactly};
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE, Progress, SPENT};
use crate::setup::EvaluatorOt;

/// A preparation on the evaluator's side.
pub struct PreparingEvaluator<'a, 'f, S: Scheme, C> {
    batch: &'a Batch<'f, S>,
    choices: Choices,
    /// Draws ŷ of each execution.
    prg: Prg,
    ot: EvaluatorOt,
    keep: C,
    threads: usize,
    /// The digest of each circuit.
    digests: Vec<Hash>,
    buckets: Vec<Vec<u32>>,
    state: Option<State>,
    checked: u64,
}

/// What the evaluator commits to.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Choices {
    check_set: ChoiceSeed,
    buckets: ChoiceSeed,
    /// Of each execution, the randomness of its commitment and W.
    halves: Vec<Vec<u8>>,
}

pub(crate) enum State {
    Planning,
    ReceivingDigests,
    Choosing,
    /// Seeds of the checked circuits before the index have been received.
    Checking(CheckSet, usize),
    Throwing(CheckSet),
    Receiving(Box<Group>),
    Transferring(Box<Group>),
    Halving(Box<Group>),
    AwaitingOpenings(Box<Group>),
    Ending,
    Done,
}

/// Executions that are worked on together.
pub(crate) struct Group {
    executions: Range<usize>,
    stream: Incoming,
    /// What was published of each circuit, execution by execution.
    published: Vec<Vec<u8>>,
    /// Of how many of them the digest is compared.
    compared: usize,
    /// What was sent for neighbours, of each execution.
    steps: Vec<Vec<u8>>,
    /// ŷ of each execution, for its input and then for D.
    encoded: Zeroizing<Vec<bool>>,
    first_transfer: u64,
    t: Zeroizing<Vec<Block>>,
    /// Executions whose openings have come.
    opened: usize,
}

impl<'a, 'f, S: Scheme<Wire = Block>, C: for<'k> Circuits<EvaluatorExecution<'k>>>
    PreparingEvaluator<'a, 'f, S, C>
{
    /// A preparation of `batch`, whose executions go to `keep`, on this many threads.
    ///
    /// # Errors
    ///
    /// The OTs are not maliciously secure, or there are no threads.
    pub fn new<R: CryptoRng + ?Sized>(
        batch: &'a Batch<'f, S>,
        ot: EvaluatorOt,
        keep: C,
        threads: usize,
        rng: &mut R,
    ) -> Result<Self, Error> {
        if ot.security() != Security::Malicious || threads == 0 {
            return Err(Error::ApiMisuse("maliciously secure OTs, and a thread"));
        }
        let mut draw = |bytes: &mut [u8]| rng.fill_bytes(bytes);
        let mut seed = Zeroizing::new([0; 32]);
        draw(&mut *seed);
        let (mut check_set, mut buckets) = ([0; 32], [0; 32]);
        draw(&mut check_set);
        draw(&mut buckets);
        let halves = (0..batch.plan().executions()).map(|_| {
            let mut opening = vec![0; batch.half_choice_bytes()];
            draw(&mut opening);
            clear_unused(&mut opening[RANDOM_BYTES..], batch.chaining.pairs);
            opening
        });
        Ok(Self {
            batch,
            choices: Choices {
                check_set,
                buckets,
                halves: halves.collect(),
            },
            prg: Prg::from_seed(&seed),
            ot,
            keep,
            threads,
            digests: Vec::new(),
            buckets: Vec::new(),
            state: Some(State::Planning),
            checked: 0,
        })
    }

    /// What was given to keep executions, which may be used from now on.
    ///
    /// # Errors
    ///
    /// The preparation is not done.
    pub fn finish(self) -> Result<C, Error> {
        match self.state {
            Some(State::Done) => Ok(self.keep),
            _ => Err(NOT_DONE),
        }
    }

    fn plan(&self, message: &mut Vec<u8>) {
        let (oracle, choices) = (&self.batch.oracle, &self.choices);
        message.clear();
        message.extend_from_slice(&self.batch.plan().to_bytes());
        message.extend_from_slice(&oracle.parts(Domain::CheckSet, 0, 0, &[&choices.check_set]));
        message.extend_from_slice(&oracle.parts(Domain::Buckets, 0, 0, &[&choices.buckets]));
        for (execution, opening) in (0..).zip(&choices.halves) {
            message.extend_from_slice(&oracle.parts(Domain::Halves, execution, 0, &[opening]));
        }
    }

    fn digests_due(&self) -> usize {
        DIGESTS.min(self.batch.circuits() as usize - self.digests.len())
    }

    fn take_digests(&mut self, payload: &[u8]) -> Result<State, Error> {
        exactly(
            Kind::CircuitDigests,
            payload,
            self.digests_due() * HASH_BYTES,
        )?;
        self.digests.extend_from_slice(payload.as_chunks().0);
        Ok(match self.digests_due() {
            0 => State::Choosing,
            _ => State::ReceivingDigests,
        })
    }

    /// Makes circuits again from their seeds, and compares.
    fn check(&mut self, set: CheckSet, from: usize, payload: &[u8]) -> Result<State, Error> {
        let end = set.checked.len().min(from + SEEDS);
        exactly(
            Kind::CheckedSeeds,
            payload,
            (end - from) * CircuitSeed::BYTES,
        )?;
        let (batch, seeds) = (self.batch, payload.as_chunks().0);
        let these: Vec<_> = set.checked[from..end].iter().zip(seeds).collect();
        let fits = parallel::map(self.threads, &these, |published, (number, seed)| {
            Secrets::derive(batch, **number, CircuitSeed(**seed)).publish(batch, published);
            batch.digest(**number, published) == self.digests[**number as usize]
        });
        if let Some(wrong) = fits.iter().position(|fits| !fits) {
            return Err(cheated(Caught::CheckedCircuit(*these[wrong].0)));
        }
        self.checked += these.len() as u64;
        Ok(match end < set.checked.len() {
            true => State::Checking(set, end),
            false => State::Throwing(set),
        })
    }

    /// The state in which the group from execution `first` comes, or after the last. `done` are
    /// the pieces of the group before.
    fn begin_group(&self, first: usize, done: impl IntoIterator<Item = Vec<u8>>) -> State {
        let executions = self.batch.group(first);
        if executions.is_empty() {
            return State::Ending;
        }
        let due = executions.len() * (self.batch.execution_bytes() + self.batch.steps_bytes());
        let pieces = executions.len() * (self.batch.bucket() + 1);
        let mut stream = Incoming::new(Kind::BucketCircuits, pieces, due);
        stream.give_back(done);
        State::Receiving(Box::new(Group {
            stream,
            executions,
            published: Vec::new(),
            compared: 0,
            steps: Vec::new(),
            encoded: Zeroizing::default(),
            first_transfer: 0,
            t: Zeroizing::default(),
            opened: 0,
        }))
    }

    /// The chain of the execution that circuit or step number `index` of a group belongs to.
    fn number(&self, group: &Group, index: usize) -> u32 {
        let length = self.batch.bucket();
        self.buckets[group.executions.start + index / length][index % length]
    }

    fn take_circuits(&mut self, mut group: Box<Group>, payload: &[u8]) -> Result<State, Error> {
        let batch = self.batch;
        let length = batch.bucket();
        // An execution is its circuits and then its steps.
        let piece_bytes = |index: usize| match index % (length + 1) == length {
            true => batch.steps_bytes(),
            false => batch.layout.total,
        };
        let mut pieces = Vec::new();
        group.stream.receive(payload, piece_bytes, &mut pieces)?;
        for (index, piece) in pieces {
            match index % (length + 1) == length {
                true => group.steps.push(piece),
                false => group.published.push(piece),
            }
        }
        let complete = group.stream.next_bytes() == 0;
        if group.published.len() - group.compared >= self.threads || complete {
            self.compare(&mut group)?;
        }
        Ok(match complete {
            true => State::Transferring(group),
            false => State::Receiving(group),
        })
    }

    /// Compares circuits that have come with their digests.
    fn compare(&mut self, group: &mut Group) -> Result<(), Error> {
        let new = &group.published[group.compared..];
        let numbers = (group.compared..).map(|index| self.number(group, index));
        let new: Vec<(u32, &Vec<u8>)> = numbers.zip(new).collect();
        let fits = parallel::map(self.threads, &new, |_, (number, published)| {
            self.batch.digest(*number, published) == self.digests[*number as usize]
        });
        if let Some(wrong) = fits.iter().position(|fits| !fits) {
            return Err(cheated(Caught::PublishedCircuit(new[wrong].0)));
        }
        group.compared = group.published.len();
        Ok(())
    }

    /// Draws ŷ of each execution, and asks for the OTs.
    fn transfer(&mut self, group: &mut Group, message: &mut Vec<u8>) -> Result<(), Error> {
        let count = self.batch.transfers() * group.executions.len();
        group.encoded = random_bits(&mut self.prg, count);
        group.first_transfer = self.ot.next_index();
        group.t = Zeroizing::new(vec![Block::ZERO; count]);
        self.ot.extend(&group.encoded, &mut group.t, message)
    }

    fn open_halves(&self, group: &mut Group, message: &mut Vec<u8>) {
        message.clear();
        for opening in &self.choices.halves[group.executions.clone()] {
            message.extend_from_slice(opening);
        }
        let due = group.executions.len() * self.batch.opening_bytes();
        group.stream = Incoming::new(Kind::BucketOpenings, group.executions.len(), due);
    }

    fn take_openings(&mut self, mut group: Box<Group>, payload: &[u8]) -> Result<State, Error> {
        let mut openings = Vec::new();
        let bytes = self.batch.opening_bytes();
        group.stream.receive(payload, |_| bytes, &mut openings)?;
        let batch = self.batch;
        let (buckets, halves) = (&self.buckets, &self.choices.halves);
        let opened = parallel::map(self.threads, &openings, |_, (index, opening)| {
            let number = group.executions.start + index;
            let halves = &halves[number][RANDOM_BYTES..];
            check_openings(batch, &group, *index, &buckets[number], halves, opening)
        });
        for (opened, (index, _)) in opened.into_iter().zip(&openings) {
            let (shares, offset) = opened?;
            let number = group.executions.start + index;
            let length = batch.bucket();
            let published = &group.published[index * length..(index + 1) * length];
            let circuits = self.buckets[number].iter().zip(published).zip(shares);
            let circuits = circuits.map(|((number, published), shares)| KeptCircuit {
                number: *number,
                published: Cow::Borrowed(&published[..batch.layout.kept()]),
                pairs: batch.hash_pairs(*number, &published[batch.layout.pairs.clone()]),
                shares,
            });
            let half = batch.chaining.half_bytes();
            let steps = group.steps[*index].chunks_exact(batch.chaining.step_bytes().max(1));
            let execution = EvaluatorExecution {
                circuits: circuits.collect(),
                differences: steps.flat_map(|step| step[..half].to_vec()).collect(),
                offset,
            };
            self.keep.keep(number as u32, execution)?;
            self.checked += length as u64;
        }
        group.opened += openings.len();
        Ok(match group.opened < group.executions.len() {
            true => State::AwaitingOpenings(group),
            false => {
                let done = group.published.into_iter().chain(group.steps);
                self.begin_group(group.executions.end, done)
            }
        })
    }
}

/// Checks an execution's halves and first shares: the shares of y1 and c, decoded, for each
/// circuit, with y1 and c.
fn check_openings<S: Scheme<Wire = Block>>(
    batch: &Batch<'_, S>,
    group: &Group,
    index: usize,
    chain: &[u32],
    choices: &[u8],
    opening: &[u8],
) -> Result<CheckedShares, Error> {
    let length = batch.bucket();
    let published = &group.published[index * length..(index + 1) * length];
    let (halves, strings) = opening.split_at(length * batch.chaining.opening_bytes());
    let numbered = chain.iter().zip(published);
    let chained = numbered
        .clone()
        .enumerate()
        .map(|(place, (number, published))| {
            let bytes = batch.chaining.opening_bytes();
            let commitments = &published[batch.layout.pairs.clone()];
            (
                *number,
                commitments,
                &halves[place * bytes..(place + 1) * bytes],
            )
        });
    let steps = &group.steps[index];
    if let Some(circuit) = find_inconsistent(batch.chaining, &batch.oracle, choices, chained, steps)
    {
        return Err(cheated(Caught::Inconsistent(circuit)));
    }
    let transfers = index * batch.transfers()..(index + 1) * batch.transfers();
    let first = group.first_transfer + transfers.start as u64;
    let encoded = &group.encoded[transfers.clone()];
    let shares = batch.accept(encoded, first, &group.t[transfers], strings);
    let mut decoded = Vec::with_capacity(length);
    for ((number, published), shares) in numbered.zip(shares) {
        let commitments = &published[batch.layout.first.clone()];
        let committing = Committing::new(&batch.oracle, Domain::FirstShare, *number);
        let choice = |k: usize| u8::from(encoded[k]).into();
        if !committing.open(0, &shares, choice, commitments) {
            return Err(cheated(Caught::TransferredLabel(*number)));
        }
        decoded.push(batch.encoding.decode_blocks(&shares));
    }
    let offset = Zeroizing::new(batch.encoding.decode_bits(encoded));
    Ok((decoded, offset))
}

/// Decoded shares of each circuit; y1 and c.
type CheckedShares = (Vec<Vec<Block>>, Zeroizing<Vec<bool>>);

impl<S: Scheme<Wire = Block>, C: for<'k> Circuits<EvaluatorExecution<'k>>> Machine
    for PreparingEvaluator<'_, '_, S, C>
{
    type State = State;

    fn state(&mut self) -> &mut Option<State> {
        &mut self.state
    }

    fn awaited(&self, state: &State) -> Option<Action> {
        Some(match state {
            State::ReceivingDigests => {
                let bytes = self.digests_due() * HASH_BYTES;
                Action::receive(Kind::CircuitDigests, bytes)
            }
            State::Checking(set, from) => {
                let due = SEEDS.min(set.checked.len() - from) * CircuitSeed::BYTES;
                Action::receive(Kind::CheckedSeeds, due)
            }
            State::Receiving(group) => {
                Action::receive(Kind::BucketCircuits, group.stream.next_bytes())
            }
            State::AwaitingOpenings(group) => {
                Action::receive(Kind::BucketOpenings, group.stream.next_bytes())
            }
            _ => return None,
        })
    }

    fn step(
        &mut self,
        state: State,
        message: &mut Vec<u8>,
    ) -> Result<(State, Option<Action>), Error> {
        let (state, kind) = match state {
            State::Planning => {
                self.plan(message);
                (State::ReceivingDigests, Kind::BatchPlan)
            }
            State::Choosing => {
                // Before the check set leaves: a try that is not counted could be repeated.
                self.keep.begin()?;
                message.clear();
                message.extend_from_slice(&self.choices.check_set);
                let set = CheckSet::choose(self.batch, &self.choices.check_set);
                let state = match set.checked.is_empty() {
                    true => State::Throwing(set),
                    false => State::Checking(set, 0),
                };
                (state, Kind::CheckSet)
            }
            State::Throwing(set) => {
                message.clear();
                message.extend_from_slice(&self.choices.buckets);
                self.buckets = set.buckets(self.batch, &self.choices.buckets);
                (self.begin_group(0, None), Kind::Buckets)
            }
            State::Transferring(mut group) => {
                self.transfer(&mut group, message)?;
                (State::Halving(group), Kind::CotExtension)
            }
            State::Halving(mut group) => {
                self.open_halves(&mut group, message);
                (State::AwaitingOpenings(group), Kind::HalfChoices)
            }
            State::Ending => {
                message.clear();
                (State::Done, Kind::BatchChecked)
            }
            State::Done => return Ok((State::Done, Some(Action::Done))),
            _ => return Err(SPENT),
        };
        Ok((state, Some(Action::send(kind))))
    }

    fn take(&mut self, state: State, payload: &[u8]) -> Result<State, Error> {
        match state {
            State::ReceivingDigests => self.take_digests(payload),
            State::Checking(set, from) => self.check(set, from, payload),
            State::Receiving(group) => self.take_circuits(group, payload),
            State::AwaitingOpenings(group) => self.take_openings(group, payload),
            _ => Err(NOT_ASKED),
        }
    }

    fn progress(&self) -> Progress {
        let ands = self.batch.function().and_gates();
        Progress {
            done_ands: ands * self.checked,
            total_ands: ands * u64::from(self.batch.circuits()),
        }
    }
}
