//! What cheating parties are made of: honest ones whose circuits are spoilt before they are
//! digested ([`Spoiling`]), or whose messages are rewritten on their way ([`Duel`]).

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
    Batch, EvaluatorBytes, EvaluatorExecution, GarblerExecution, Plan, PreparingEvaluator,
    PreparingGarbler,
};
use crate::io::memory::{end_of, run_through};
use crate::message::{AbortReason, Kind};
use crate::party::{Action, Party, Progress};
use crate::setup::dealt;

/// What is wrong with a spoilt circuit.
#[derive(Clone, Copy, Debug)]
pub(in crate::batch) enum How {
    /// It computes the first output bit negated, and is otherwise as it should be.
    NegatedOutput,
    /// A bit of this part, at this byte, is flipped.
    Flipped(fn(&Layout) -> Range<usize>, usize),
}

/// A garbler's bad circuits, and what is wrong with each set of them.
pub(in crate::batch) struct Spoiling(pub(super) Vec<(HashSet<u32>, How)>);

impl Spoiling {
    fn of(&self, number: u32) -> impl Iterator<Item = How> + '_ {
        let spoilt = self
            .0
            .iter()
            .filter(move |(circuits, _)| circuits.contains(&number));
        spoilt.map(|(_, how)| *how)
    }

    /// Spoils what is published of a circuit.
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

/// The randomness of a party in run number `seed`.
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

/// The cut and the buckets that an evaluator chooses whose randomness is that of `seed`: what a
/// garbler that guesses right knows.
pub(super) fn foreseen(batch: &Batch<'_, HalfGates>, seed: u64) -> (CheckSet, Vec<Vec<u32>>) {
    let mut prg = Prg::from_seed(&randomness(seed, Cheater::Evaluator));
    let mut drawn = [[0; 32]; 3];
    drawn.iter_mut().for_each(|bytes| prg.fill_bytes(bytes));
    let set = CheckSet::choose(batch, &drawn[1]);
    let buckets = set.buckets(batch, &drawn[2]);
    (set, buckets)
}

/// Changes a message, of which it is given the kind, the number among those of that kind, and the
/// payload. Says whether the party goes on, or stops instead of sending it.
pub(super) type Rewrite<'r> = &'r mut dyn FnMut(Kind, usize, &mut Vec<u8>) -> bool;

/// Changes nothing.
pub(super) fn honest(_: Kind, _: usize, _: &mut Vec<u8>) -> bool {
    true
}

/// Who cheats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cheater {
    Garbler,
    Evaluator,
}

/// How a run ended.
pub(super) struct Ended {
    pub(super) garbler: Result<(), Error>,
    pub(super) evaluator: Result<(), Error>,
    /// What the garbler and the evaluator sent: kind and length.
    pub(super) sent: [Vec<(Kind, usize)>; 2],
}

/// Lets two parties run against each other, one of which has its messages rewritten. Whoever fails
/// says so to the other.
pub(super) fn duel(
    garbler: &mut dyn Party,
    evaluator: &mut dyn Party,
    cheater: Cheater,
    rewrite: Rewrite<'_>,
) -> Ended {
    let mut sent: [Vec<(Kind, usize)>; 2] = Default::default();
    let mut failures = run_through([garbler, evaluator], &mut |own, _, kind, (_, payload)| {
        if own == cheater as usize {
            let before = sent[own].iter().filter(|(k, _)| *k == kind).count();
            if !rewrite(kind, before, payload) {
                return Err(Error::PeerAborted(AbortReason::Cancelled));
            }
        }
        sent[own].push((kind, payload.len()));
        Ok(())
    });
    let [garbler, evaluator] = [0, 1].map(|own| end_of(&mut failures, own));
    Ended {
        garbler,
        evaluator,
        sent,
    }
}

/// A party that notes what it sends and receives: what it legitimately holds, besides its secrets.
pub(super) struct Noting<P> {
    pub(super) party: P,
    awaited: Option<Kind>,
    pub(super) sent: Vec<(Kind, Vec<u8>)>,
    pub(super) received: Vec<(Kind, Vec<u8>)>,
}

impl<P> Noting<P> {
    pub(super) fn new(party: P) -> Self {
        Self {
            party,
            awaited: None,
            sent: Vec::new(),
            received: Vec::new(),
        }
    }
}

/// The payloads of one kind, one after the other.
pub(super) fn of_kind(messages: &[(Kind, Vec<u8>)], kind: Kind) -> Vec<u8> {
    let messages = messages.iter().filter(|(this, _)| *this == kind);
    messages.flat_map(|(_, payload)| payload.clone()).collect()
}

impl<P: Party> Party for Noting<P> {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        let action = self.party.next(message)?;
        match action {
            Action::Send { kind, .. } => self.sent.push((kind, message.clone())),
            Action::Receive { kind, .. } => self.awaited = Some(kind),
            _ => {}
        }
        Ok(action)
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        let kind = self.awaited.expect("a message was asked for");
        self.received.push((kind, payload.to_vec()));
        self.party.receive(payload)
    }

    fn progress(&self) -> Progress {
        self.party.progress()
    }
}

type Garbling<'a, 'f> = PreparingGarbler<'a, 'f, HalfGates, Vec<GarblerExecution>>;
type Evaluating<'a, 'f> = PreparingEvaluator<'a, 'f, HalfGates, Vec<EvaluatorExecution<'static>>>;

/// The honest parties of a preparation whose randomness is that of `seed`.
pub(super) fn parties<'a, 'f>(
    garbler: &'a Batch<'f, HalfGates>,
    evaluator: &'a Batch<'f, HalfGates>,
    seed: u64,
) -> (Garbling<'a, 'f>, Evaluating<'a, 'f>) {
    let mut own = Prg::from_seed(&randomness(seed, Cheater::Garbler));
    let (garbler_ot, evaluator_ot) = dealt(&tag(garbler.function()), &mut own);
    let garbler = PreparingGarbler::new(garbler, garbler_ot, Vec::new(), 1, &mut own);
    let mut prg = Prg::from_seed(&randomness(seed, Cheater::Evaluator));
    let evaluator = PreparingEvaluator::new(evaluator, evaluator_ot, Vec::new(), 1, &mut prg);
    (
        garbler.expect("a preparation"),
        evaluator.expect("a preparation"),
    )
}

/// Executions of both parties after a preparation, or how it ended.
pub(super) type Prepared =
    Result<(Vec<GarblerExecution>, Vec<EvaluatorExecution<'static>>), Box<Ended>>;

/// Prepares with a garbler whose circuits are those of `garbler`'s spoiling, and an evaluator whose
/// randomness is that of `seed`.
pub(super) fn prepare(
    garbler: &Batch<'_, HalfGates>,
    evaluator: &Batch<'_, HalfGates>,
    seed: u64,
    cheater: Cheater,
    rewrite: Rewrite<'_>,
) -> Prepared {
    let (mut garbler, mut evaluator) = parties(garbler, evaluator, seed);
    let ended = duel(&mut garbler, &mut evaluator, cheater, rewrite);
    match (&ended.garbler, &ended.evaluator) {
        (Ok(()), Ok(())) => Ok((
            garbler.finish().expect("done"),
            evaluator.finish().expect("done"),
        )),
        _ => Err(Box::new(ended)),
    }
}

/// Executions as they are kept, which a test may take again and again.
pub(super) struct Kept {
    pub(super) garbler: Vec<Zeroizing<Vec<u8>>>,
    pub(super) evaluator: Vec<EvaluatorBytes<Zeroizing<Vec<u8>>, Vec<u8>>>,
}

impl Kept {
    pub(super) fn of(prepared: &(Vec<GarblerExecution>, Vec<EvaluatorExecution<'static>>)) -> Self {
        Self {
            garbler: prepared.0.iter().map(GarblerExecution::to_bytes).collect(),
            evaluator: prepared
                .1
                .iter()
                .map(EvaluatorExecution::to_bytes)
                .collect(),
        }
    }
}
