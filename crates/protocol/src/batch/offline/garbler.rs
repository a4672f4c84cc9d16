//! The garbler of a preparation.

use core::ops::Range;

use rand_core::CryptoRng;
use tacit_garble::Scheme;
use tacit_kernels::Block;
use tacit_ot::Security;
use zeroize::Zeroizing;

use super::{DIGESTS, RANDOM_BYTES, SEEDS, describe_plan};
use crate::batch::circuit::{CircuitSeed, Secrets};
use crate::batch::cut::{CheckSet, ChoiceSeed};
use crate::batch::frames::Outgoing;
use crate::batch::oracle::{Domain, HASH_BYTES, Hash};
use crate::batch::{Batch, Caught, Circuits, GarblerExecution, Plan, cheated, parallel};
use crate::message::{Kind, array, exactly};
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE, Progress, SPENT};
use crate::setup::GarblerOt;
use crate::{Error, Incompatibility};

/// A preparation on the garbler's side.
pub struct PreparingGarbler<'a, 'f, S: Scheme, C> {
    batch: &'a Batch<'f, S>,
    /// Each circuit's seed follows from it.
    root: Zeroizing<[u8; 32]>,
    ot: GarblerOt,
    keep: C,
    threads: usize,
    committed: Committed,
    buckets: Vec<Vec<u32>>,
    state: Option<State>,
    made: u64,
}

/// What the evaluator has committed to.
#[derive(Default)]
struct Committed {
    check_set: Hash,
    buckets: Hash,
    halves: Vec<Hash>,
}

pub(crate) enum State {
    AwaitingPlan,
    /// Circuits below the number have been digested.
    Digesting(u32),
    AwaitingCheckSet,
    /// Seeds of the checked circuits before the index have been sent.
    OpeningSeeds(CheckSet, usize),
    AwaitingBuckets(CheckSet),
    Publishing(Box<Group>),
    AwaitingTransfers(Box<Group>),
    AwaitingHalves(Box<Group>),
    Opening(Box<Group>),
    AwaitingEnd,
    Done,
}

/// Executions that are worked on together.
pub(crate) struct Group {
    executions: Range<usize>,
    /// Circuits that were published, execution by execution.
    circuits: Vec<Secrets>,
    /// Executions whose steps or openings are in the stream.
    done: usize,
    stream: Outgoing,
    first_transfer: u64,
    q: Zeroizing<Vec<Block>>,
    /// W of each execution.
    choices: Vec<Vec<u8>>,
}

impl<'a, 'f, S: Scheme<Wire = Block>, C: Circuits<GarblerExecution>>
    PreparingGarbler<'a, 'f, S, C>
{
    /// A preparation of `batch`, whose executions go to `keep`, on this many threads. What is sent
    /// does not depend on their number.
    ///
    /// # Errors
    ///
    /// The OTs are not maliciously secure, or there are no threads.
    pub fn new<R: CryptoRng + ?Sized>(
        batch: &'a Batch<'f, S>,
        ot: GarblerOt,
        keep: C,
        threads: usize,
        rng: &mut R,
    ) -> Result<Self, Error> {
        if ot.security() != Security::Malicious || threads == 0 {
            return Err(Error::ApiMisuse("maliciously secure OTs, and a thread"));
        }
        let mut root = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *root);
        Ok(Self {
            batch,
            root,
            ot,
            keep,
            threads,
            committed: Committed::default(),
            buckets: Vec::new(),
            state: Some(State::AwaitingPlan),
            made: 0,
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

    fn seed(&self, number: u32) -> CircuitSeed {
        CircuitSeed::derive(&self.batch.oracle, &self.root, number)
    }

    fn take_plan(&mut self, payload: &[u8]) -> Result<State, Error> {
        exactly(Kind::BatchPlan, payload, self.batch.plan_bytes())?;
        let (plan, commitments) = payload.split_at(Plan::BYTES);
        let plan: [u8; Plan::BYTES] = array(Kind::BatchPlan, plan)?;
        let ours = self.batch.plan().to_bytes();
        if plan != ours {
            return Err(Incompatibility::BatchPlan {
                ours: describe_plan(&ours),
                theirs: describe_plan(&plan),
            }
            .into());
        }
        let mut commitments = commitments.as_chunks::<HASH_BYTES>().0.iter().copied();
        let mut next = || commitments.next().unwrap_or_default();
        self.committed = Committed {
            check_set: next(),
            buckets: next(),
            halves: commitments.collect(),
        };
        Ok(State::Digesting(0))
    }

    /// Digests the next circuits into a message.
    fn digest(&mut self, from: u32, message: &mut Vec<u8>) -> State {
        let batch = self.batch;
        let end = batch.circuits().min(from + DIGESTS as u32);
        let numbers: Vec<u32> = (from..end).collect();
        let root = &self.root;
        let digests = parallel::map(self.threads, &numbers, |published, number| {
            let seed = CircuitSeed::derive(&batch.oracle, root, *number);
            Secrets::derive(batch, *number, seed).publish(batch, published);
            batch.digest(*number, published)
        });
        message.clear();
        message.extend_from_slice(digests.as_flattened());
        self.made += u64::from(end - from);
        match end < batch.circuits() {
            true => State::Digesting(end),
            false => State::AwaitingCheckSet,
        }
    }

    /// The opening of a choice that was committed to.
    fn opened(&self, domain: Domain, kind: Kind, payload: &[u8]) -> Result<ChoiceSeed, Error> {
        let seed: ChoiceSeed = array(kind, payload)?;
        let (commitment, what) = match domain {
            Domain::CheckSet => (&self.committed.check_set, "the check set"),
            _ => (&self.committed.buckets, "the buckets"),
        };
        match self.batch.oracle.parts(domain, 0, 0, &[&seed]) == *commitment {
            true => Ok(seed),
            false => Err(cheated(Caught::CommittedChoice(what))),
        }
    }

    fn open_seeds(&self, set: CheckSet, from: usize, message: &mut Vec<u8>) -> State {
        let end = set.checked.len().min(from + SEEDS);
        message.clear();
        for number in &set.checked[from..end] {
            message.extend_from_slice(&self.seed(*number).0);
        }
        match end < set.checked.len() {
            true => State::OpeningSeeds(set, end),
            false => State::AwaitingBuckets(set),
        }
    }

    /// The state in which the group from execution `first` is published, or after the last.
    fn begin_group(&self, first: usize) -> State {
        let executions = self.batch.group(first);
        if executions.is_empty() {
            return State::AwaitingEnd;
        }
        State::Publishing(Box::new(Group {
            executions,
            circuits: Vec::new(),
            done: 0,
            stream: Outgoing::default(),
            first_transfer: 0,
            q: Zeroizing::default(),
            choices: Vec::new(),
        }))
    }

    /// Garbles circuits until a message is full or the group ends; whether there is a message.
    fn publish(&mut self, group: &mut Group, message: &mut Vec<u8>) -> bool {
        let batch = self.batch;
        while !group.stream.is_full() && group.done < group.executions.len() {
            let chain = &self.buckets[group.executions.start + group.done];
            let before = group.done * chain.len();
            let left = &chain[group.circuits.len() - before..];
            let bytes = batch.layout.total;
            let these = &left[..left.len().min(batch.together(self.threads, bytes))];
            let root = &self.root;
            let stream = group.stream.buffer();
            let made = parallel::append(self.threads, these, stream, |out, number| {
                let seed = CircuitSeed::derive(&batch.oracle, root, *number);
                let circuit = Secrets::derive(batch, *number, seed);
                circuit.publish(batch, out);
                circuit
            });
            group.circuits.extend(made);
            let chain = &group.circuits[before..];
            if chain.len() == batch.bucket() {
                for pair in chain.windows(2) {
                    pair[0].pairs.step(&pair[1].pairs, group.stream.buffer());
                }
                group.done += 1;
            }
        }
        group.stream.take(message)
    }

    fn take_transfers(&mut self, group: &mut Group, payload: &[u8]) -> Result<(), Error> {
        let count = self.batch.transfers() * group.executions.len();
        group.first_transfer = self.ot.next_index();
        group.q = Zeroizing::new(vec![Block::ZERO; count]);
        self.ot.extend(&mut group.q, payload)
    }

    fn take_halves(&self, group: &mut Group, payload: &[u8]) -> Result<(), Error> {
        let bytes = self.batch.half_choice_bytes();
        exactly(Kind::HalfChoices, payload, bytes * group.executions.len())?;
        for (number, opened) in group.executions.clone().zip(payload.chunks_exact(bytes)) {
            let execution = number as u32;
            let hash = self
                .batch
                .oracle
                .parts(Domain::Halves, execution, 0, &[opened]);
            if self.committed.halves.get(number) != Some(&hash) {
                return Err(cheated(Caught::CommittedChoice("halves")));
            }
            group.choices.push(opened[RANDOM_BYTES..].to_vec());
        }
        group.done = 0;
        Ok(())
    }

    /// Opens executions until a message is full or the group ends; whether there is a message.
    fn open(&mut self, group: &mut Group, message: &mut Vec<u8>) -> Result<bool, Error> {
        let batch = self.batch;
        let (length, transfers) = (batch.bucket(), batch.transfers());
        while !group.stream.is_full() && group.done < group.executions.len() {
            let index = group.done;
            let chain = &group.circuits[index * length..(index + 1) * length];
            let out = group.stream.buffer();
            for circuit in chain {
                circuit.pairs.open(&group.choices[index], out);
            }
            let q = &group.q[index * transfers..(index + 1) * transfers];
            let first = group.first_transfer + (index * transfers) as u64;
            batch.offer(chain, first, q, self.ot.delta(), out);
            let number = group.executions.start + index;
            let circuits = self.buckets[number].iter();
            let execution = GarblerExecution {
                circuits: circuits.map(|n| (*n, self.seed(*n))).collect(),
            };
            self.keep.keep(number as u32, execution)?;
            group.done += 1;
        }
        Ok(group.stream.take(message))
    }
}

impl<S: Scheme<Wire = Block>, C: Circuits<GarblerExecution>> Machine
    for PreparingGarbler<'_, '_, S, C>
{
    type State = State;

    fn state(&mut self) -> &mut Option<State> {
        &mut self.state
    }

    fn awaited(&self, state: &State) -> Option<Action> {
        Some(match state {
            State::AwaitingPlan => Action::receive(Kind::BatchPlan, self.batch.plan_bytes()),
            State::AwaitingCheckSet => Action::receive(Kind::CheckSet, 32),
            State::OpeningSeeds(set, from) if *from < set.checked.len() => return None,
            State::OpeningSeeds(..) | State::AwaitingBuckets(_) => {
                Action::receive(Kind::Buckets, 32)
            }
            State::AwaitingTransfers(group) => {
                let count = self.batch.transfers() * group.executions.len();
                Action::receive(Kind::CotExtension, self.ot.extension_bytes(count))
            }
            State::AwaitingHalves(group) => {
                let bytes = self.batch.half_choice_bytes() * group.executions.len();
                Action::receive(Kind::HalfChoices, bytes)
            }
            State::AwaitingEnd => Action::receive(Kind::BatchChecked, 0),
            _ => return None,
        })
    }

    fn step(
        &mut self,
        state: State,
        message: &mut Vec<u8>,
    ) -> Result<(State, Option<Action>), Error> {
        let (state, kind) = match state {
            State::Digesting(from) => (self.digest(from, message), Kind::CircuitDigests),
            State::OpeningSeeds(set, from) => {
                (self.open_seeds(set, from, message), Kind::CheckedSeeds)
            }
            State::Publishing(mut group) => match self.publish(&mut group, message) {
                true => (State::Publishing(group), Kind::BucketCircuits),
                false => return Ok((State::AwaitingTransfers(group), None)),
            },
            State::Opening(mut group) => match self.open(&mut group, message)? {
                true => (State::Opening(group), Kind::BucketOpenings),
                false => return Ok((self.begin_group(group.executions.end), None)),
            },
            State::Done => return Ok((State::Done, Some(Action::Done))),
            _ => return Err(SPENT),
        };
        Ok((state, Some(Action::send(kind))))
    }

    fn take(&mut self, state: State, payload: &[u8]) -> Result<State, Error> {
        Ok(match state {
            State::AwaitingPlan => self.take_plan(payload)?,
            State::AwaitingCheckSet => {
                let seed = self.opened(Domain::CheckSet, Kind::CheckSet, payload)?;
                self.keep.begin()?;
                State::OpeningSeeds(CheckSet::choose(self.batch, &seed), 0)
            }
            State::AwaitingBuckets(set) | State::OpeningSeeds(set, _) => {
                let seed = self.opened(Domain::Buckets, Kind::Buckets, payload)?;
                self.buckets = set.buckets(self.batch, &seed);
                self.begin_group(0)
            }
            State::AwaitingTransfers(mut group) => {
                self.take_transfers(&mut group, payload)?;
                State::AwaitingHalves(group)
            }
            State::AwaitingHalves(mut group) => {
                self.take_halves(&mut group, payload)?;
                State::Opening(group)
            }
            State::AwaitingEnd => {
                exactly(Kind::BatchChecked, payload, 0)?;
                State::Done
            }
            _ => return Err(NOT_ASKED),
        })
    }

    fn progress(&self) -> Progress {
        let ands = self.batch.function().and_gates();
        Progress {
            done_ands: ands * self.made,
            total_ands: ands * u64::from(self.batch.circuits()),
        }
    }
}
