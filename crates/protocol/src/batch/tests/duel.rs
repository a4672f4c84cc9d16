//! The parts of cheating parties: honest parties whose circuits are spoilt before they are digested
//! ([`Spoiling`]), or whose messages are rewritten in transit ([`duel`]).

use std::collections::HashSet;
use std::ops::Range;

use tacit_function::Function;
use tacit_garble::HalfGates;
use tacit_kernels::{Block, Construction, Prg};
use zeroize::Zeroizing;

use super::tag;
use crate::Error;
use crate::batch::cut::CheckSet;
use crate::batch::layout::Layout;
use crate::batch::{
    Batch, EvaluatorBytes, EvaluatorExecution, GarblerExecution, OnlineEvaluator, OnlineGarbler,
    Plan,
};
use crate::io::Io;
use crate::io::memory::{self, OnItsWay, run_two};
use crate::message::{AbortReason, Kind};
use crate::party::OnlyPeer;
use crate::setup::dealt;

/// The fault of a spoilt circuit.
#[derive(Clone, Copy, Debug)]
pub(in crate::batch) enum How {
    /// The first output bit is negated, and everything else is right.
    NegatedOutput,
    /// A bit of this part, in the byte with this number, is flipped.
    Flipped(fn(&Layout) -> Range<usize>, usize),
}

/// A garbler's sets of bad circuits, each with its fault.
pub(in crate::batch) struct Spoiling(pub(super) Vec<(HashSet<u32>, How)>);

impl Spoiling {
    fn of(&self, number: u32) -> impl Iterator<Item = How> + '_ {
        let spoilt = self
            .0
            .iter()
            .filter(move |(circuits, _)| circuits.contains(&number));
        spoilt.map(|(_, how)| *how)
    }

    /// Spoils the published bytes of a circuit.
    pub(in crate::batch) fn spoil(&self, number: u32, layout: &Layout, published: &mut [u8]) {
        for how in self.of(number) {
            match how {
                How::NegatedOutput => {}
                How::Flipped(part, byte) => published[part(layout).start + byte] ^= 1,
            }
        }
    }

    /// Spoils the outputs of a circuit, O^0 and O^1 of each.
    pub(in crate::batch) fn spoil_outputs(&self, number: u32, outputs: &mut [Block]) {
        if self.of(number).any(|how| matches!(how, How::NegatedOutput)) {
            outputs.swap(0, 1);
        }
    }
}

/// Returns the randomness of a party in run number `seed`.
fn randomness(seed: u64, cheater: Cheater) -> [u8; 32] {
    let mut bytes = [cheater as u8; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes
}

pub(super) fn scheme() -> HalfGates {
    HalfGates::new(Construction::TwoCall)
}

pub(super) fn batch(function: &Function, plan: Plan) -> Batch<'_, HalfGates> {
    Batch::new(scheme(), function, plan, &tag(function)).expect("a function for `batch`")
}

/// Returns the cut and the buckets that an evaluator with the randomness of `seed` chooses. A
/// garbler that guesses right knows them.
pub(super) fn foreseen(batch: &Batch<'_, HalfGates>, seed: u64) -> (CheckSet, Vec<Vec<u32>>) {
    let mut prg = Prg::from_seed(&randomness(seed, Cheater::Evaluator));
    let mut drawn = [[0; 32]; 3];
    drawn.iter_mut().for_each(|bytes| prg.fill_bytes(bytes));
    let set = CheckSet::choose(batch, &drawn[1]);
    let buckets = set.buckets(batch, &drawn[2]);
    (set, buckets)
}

/// A change of a message, which gets the message's kind, its number among those of that kind, and
/// its payload. Returns whether the party continues. If not, it stops instead of sending the
/// message.
pub(super) type Rewrite<'r> = &'r mut dyn FnMut(Kind, usize, &mut Vec<u8>) -> bool;

/// Changes nothing.
pub(super) fn honest(_: Kind, _: usize, _: &mut Vec<u8>) -> bool {
    true
}

/// The cheating party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cheater {
    Garbler,
    Evaluator,
}

/// The sent messages: kind and payload.
pub(super) type Sent = Vec<(Kind, Vec<u8>)>;

/// The outcome of a run.
pub(super) struct Ended<A, B = A> {
    pub(super) garbler: Result<A, Error>,
    pub(super) evaluator: Result<B, Error>,
    /// The messages of the garbler and of the evaluator, which are what the other one legitimately
    /// holds.
    sent: [Sent; 2],
}

impl<A, B> Ended<A, B> {
    /// Returns the payloads of one kind that a party sent, concatenated.
    pub(super) fn sent(&self, from: Cheater, kind: Kind) -> Vec<u8> {
        of_kind(&self.sent[from as usize], kind)
    }

    /// Returns the kind and the length of each message that a party sent.
    pub(super) fn shapes(&self, from: Cheater) -> Vec<(Kind, usize)> {
        let sent = self.sent[from as usize].iter();
        sent.map(|(kind, payload)| (*kind, payload.len())).collect()
    }
}

/// Returns the payloads of one kind, concatenated.
pub(super) fn of_kind(messages: &[(Kind, Vec<u8>)], kind: Kind) -> Vec<u8> {
    let messages = messages.iter().filter(|(this, _)| *this == kind);
    messages.flat_map(|(_, payload)| payload.clone()).collect()
}

/// Runs two parties against each other, and rewrites the messages of one of them. A party that
/// fails tells the other.
fn duel<A, B>(
    run: impl FnOnce(OnItsWay<'_, OnlyPeer>) -> memory::Ended<A, B>,
    cheater: Cheater,
    rewrite: Rewrite<'_>,
) -> Ended<A, B> {
    let mut sent: [Sent; 2] = Default::default();
    let ended = run(&mut |own, _, kind, (_, payload)| {
        if own == cheater as usize {
            let before = sent[own].iter().filter(|(k, _)| *k == kind).count();
            if !rewrite(kind, before, payload) {
                return Err(Error::PeerAborted(AbortReason::Cancelled));
            }
        }
        sent[own].push((kind, payload.clone()));
        Ok(())
    });
    let (garbler, evaluator) = ended.results;
    Ended {
        garbler,
        evaluator,
        sent,
    }
}

/// The executions that both parties keep of a preparation.
type Executions = (Vec<GarblerExecution>, Vec<EvaluatorExecution<'static>>);

/// Prepares with a garbler whose circuits are spoilt as in `garbler`. Both parties have the
/// randomness of `seed`.
pub(super) fn prepare_by(
    garbler: &Batch<'_, HalfGates>,
    evaluator: &Batch<'_, HalfGates>,
    seed: u64,
    on_its_way: OnItsWay<'_, OnlyPeer>,
) -> memory::Ended<Vec<GarblerExecution>, Vec<EvaluatorExecution<'static>>> {
    let mut own = Prg::from_seed(&randomness(seed, Cheater::Garbler));
    let (mut garbler_ot, mut evaluator_ot) = dealt(&tag(garbler.function()), &mut own);
    let mut root = Zeroizing::new([0; 32]);
    own.fill_bytes(&mut *root);
    let mut prg = Prg::from_seed(&randomness(seed, Cheater::Evaluator));
    let make = async |io: &mut Io<'_>| {
        let prepared = garbler.prepare_as_garbler(io, &mut garbler_ot, Vec::new(), 1, &root);
        prepared.await
    };
    let check = async |io: &mut Io<'_>| {
        let (ot, kept) = (&mut evaluator_ot, Vec::new());
        let prepared = evaluator.prepare_as_evaluator(io, ot, kept, 1, &mut prg);
        prepared.await
    };
    run_two(make, check, on_its_way)
}

/// Prepares in the same way, and rewrites the messages of one party.
pub(super) fn prepare(
    garbler: &Batch<'_, HalfGates>,
    evaluator: &Batch<'_, HalfGates>,
    seed: u64,
    cheater: Cheater,
    rewrite: Rewrite<'_>,
) -> Ended<Vec<GarblerExecution>, Vec<EvaluatorExecution<'static>>> {
    let run = |on_its_way: OnItsWay<'_, _>| prepare_by(garbler, evaluator, seed, on_its_way);
    duel(run, cheater, rewrite)
}

/// Stored executions, which a test may use several times.
pub(super) struct Kept {
    pub(super) garbler: Vec<Zeroizing<Vec<u8>>>,
    pub(super) evaluator: Vec<EvaluatorBytes<Zeroizing<Vec<u8>>, Vec<u8>>>,
}

impl Kept {
    /// Stores the executions of a successful preparation.
    pub(super) fn of(
        prepared: Ended<Vec<GarblerExecution>, Vec<EvaluatorExecution<'static>>>,
    ) -> Self {
        let (garbler, evaluator): Executions = match (prepared.garbler, prepared.evaluator) {
            (Ok(garbler), Ok(evaluator)) => (garbler, evaluator),
            (garbler, evaluator) => panic!("{:?}, {:?}", garbler.err(), evaluator.err()),
        };
        Self {
            garbler: garbler.iter().map(GarblerExecution::to_bytes).collect(),
            evaluator: evaluator.iter().map(EvaluatorExecution::to_bytes).collect(),
        }
    }

    /// Returns the garbler of execution `number`.
    pub(super) fn garbler<'a>(
        &self,
        batch: &'a Batch<'a, HalfGates>,
        number: usize,
        inputs: &[bool],
        seed: &'a Zeroizing<[u8; 32]>,
    ) -> OnlineGarbler<'a, 'a, HalfGates> {
        let execution = GarblerExecution::from_bytes(batch, &self.garbler[number]).unwrap();
        OnlineGarbler::new(batch, execution.ready(batch, 1), inputs, seed).unwrap()
    }

    /// Returns the evaluator's half of execution `number`.
    pub(super) fn evaluators(
        &self,
        batch: &Batch<'_, HalfGates>,
        number: usize,
    ) -> EvaluatorExecution<'_> {
        EvaluatorExecution::from_bytes(batch, self.evaluator[number].as_slices()).unwrap()
    }

    /// Runs execution `number`, and rewrites the messages of one party.
    pub(super) fn run(
        &self,
        batches: [&Batch<'_, HalfGates>; 2],
        number: usize,
        inputs: [&[bool]; 2],
        cheater: Cheater,
        rewrite: Rewrite<'_>,
    ) -> Ended<Zeroizing<Vec<bool>>> {
        let seeds = [1, 101].map(|first| Zeroizing::new([first + number as u8; 32]));
        let garbler = self.garbler(batches[0], number, inputs[0], &seeds[0]);
        let execution = self.evaluators(batches[1], number);
        let evaluator = OnlineEvaluator::new(batches[1], execution, inputs[1], 1, &seeds[1]);
        let evaluator = evaluator.unwrap();
        let run = |on_its_way: OnItsWay<'_, _>| {
            let garble = async |io: &mut Io<'_>| garbler.run(io).await;
            let evaluate = async |io: &mut Io<'_>| evaluator.run(io).await;
            run_two(garble, evaluate, on_its_way)
        };
        duel(run, cheater, rewrite)
    }
}
