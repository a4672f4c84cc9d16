//! The start of a run: a walk over the function and its instances that computes the links between
//! them, and those parts of their gates that were not kept.

use std::collections::{HashSet, VecDeque};

use tacit_function::{Function, Outputs as Results, Values};
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::super::parameters::SecurityBits;
use super::super::walk::{CallWalk, Rules, Stop};
use super::calls::{Finding, Following};
use super::kept::{KeptInstance, Side, broken};
use super::opening::ClosedLinks;
use super::wiring::Wiring;
use crate::Error;
use crate::prepared::Instances;

/// The largest number of AND gates, in whole batches, that are evaluated together.
const PIECE_ANDS: usize = 1 << 16;

/// The walk over a function that computes the links between its instances.
pub(crate) struct Linking<'f, S: Side> {
    walk: CallWalk<'f, S::Wire, Finding<'f, S>>,
    /// The content of each wire.
    wires: Zeroizing<Vec<S::Wire>>,
    delta: Zeroizing<Block>,
    numbers: Vec<u32>,
    /// The number of gates that are in no piece yet.
    left: usize,
    pieces: VecDeque<(usize, S::Piece)>,
    outputs: Zeroizing<Vec<S::Wire>>,
}

/// The result of [`Linking`].
pub(super) struct LinkedWires<'f, S: Side> {
    pub(super) delta: Zeroizing<Block>,
    /// The number of each call's instance.
    pub(super) numbers: Vec<u32>,
    /// The content of each wire, and the sum of that content and of the content that leads to it.
    pub(super) wires: Zeroizing<Vec<S::Wire>>,
    pub(super) sums: Zeroizing<Vec<S::Wire>>,
    /// The gates, and the number of gates in each piece.
    pub(super) pieces: VecDeque<(usize, S::Piece)>,
    /// The contents of the results.
    pub(super) results: Results<'f, S::Wire>,
}

impl<'f, S: Side> Linking<'f, S> {
    /// Returns the walk over `function` with an instance for each of its calls.
    pub(super) fn new(
        function: &'f Function,
        (wiring, ordered_at): (&Wiring, SecurityBits),
        mut instances: impl Instances<Instance = Zeroizing<Vec<u8>>>,
    ) -> Result<Self, Error> {
        let mut all: Vec<KeptInstance> = Vec::with_capacity(wiring.components.len());
        let (mut numbers, mut seen) = (Vec::new(), HashSet::new());
        let mut wires = Zeroizing::new(Vec::with_capacity(wiring.wires()));
        for place in &wiring.components {
            let component = &function.components()[*place];
            let kept =
                KeptInstance::parse(S::ROLE, component, ordered_at, instances.next(*place)?)?;
            // Two answers for the same wire sum to the garbler's Δ.
            if !seen.insert(kept.number()) {
                return Err(broken());
            }
            if all
                .first()
                .is_some_and(|first| first.delta() != kept.delta())
            {
                return Err(broken());
            }
            numbers.push(kept.number());
            wires.extend(kept.inputs::<S>());
            all.push(kept);
        }
        let delta = Zeroizing::new(all.first().ok_or_else(broken)?.delta());
        let mut input = 0..;
        let values = Values::new(function, |_| {
            let wire = input.next().and_then(|input| wiring.wire_of(input));
            Ok::<_, Error>(wire.map_or(S::Wire::default(), |wire| S::given(wires[wire])))
        })?;
        let finding = Finding::new(values, all, Zeroizing::new(wires.to_vec()));
        Ok(Self {
            walk: CallWalk::over(finding, S::rules(*delta)),
            wires,
            delta,
            numbers,
            left: function.and_gates() as usize,
            pieces: VecDeque::new(),
            outputs: Zeroizing::default(),
        })
    }

    /// Walks on. Returns whether the function has ended.
    pub(super) fn walk(&mut self) -> bool {
        loop {
            let ands = match self.walk.next() {
                Stop::Ands(ands) => ands,
                Stop::Pause => return false,
                Stop::End => return true,
            };
            let count = ands.count();
            let is_full = |(held, _): &(usize, S::Piece)| held + count > PIECE_ANDS;
            if self.pieces.back().is_none_or(is_full) {
                let room = self.left.min(PIECE_ANDS).max(count);
                self.pieces.push_back((0, S::piece(room)));
            }
            if self.outputs.capacity() < count {
                self.outputs = Zeroizing::new(Vec::with_capacity(count));
            }
            self.outputs.clear();
            let Some((held, piece)) = self.pieces.back_mut() else {
                continue;
            };
            let mut kept = std::mem::take(self.walk.calls().current());
            let inputs = (0..count).map(|i| self.walk.inputs(ands, i));
            kept.open::<S>(inputs, count, piece, &mut self.outputs);
            *self.walk.calls().current() = kept;
            *held += count;
            self.left -= count;
            let outputs = &self.outputs;
            self.walk.pass(ands, |i| outputs[i]);
        }
    }

    /// Returns the result, after the end.
    pub(super) fn finish(mut self) -> LinkedWires<'f, S> {
        // The walk over the rest of the function needs a piece, even an empty one.
        if self.pieces.is_empty() {
            self.pieces.push_back((0, S::piece(0)));
        }
        let sums = self.walk.calls().take_sums();
        LinkedWires {
            delta: self.delta,
            numbers: self.numbers,
            wires: self.wires,
            sums,
            pieces: self.pieces,
            results: self.walk.outputs(),
        }
    }
}

impl<S: Side> LinkedWires<'_, S> {
    /// Returns the run's number in the epoch: that of its first instance, which no other run has.
    pub(super) fn run(&self) -> u64 {
        self.numbers.first().copied().map_or(0, u64::from)
    }

    /// Returns the shares that links and inputs open.
    pub(super) fn close(&self, wiring: &Wiring) -> ClosedLinks {
        let differences = self.sums.iter().map(|sum| S::mask(*sum));
        ClosedLinks::new(wiring, differences, |wire| S::mask(self.wires[wire]))
    }
}

/// The evaluator's walk over the gates of linked instances.
pub(super) type Followed<'f> = CallWalk<'f, Block, Following<'f, Block>>;

/// Returns the walk over `function` in which `links` lead from values to instances. `masked` are
/// the input bits under their masks.
pub(super) fn follow<'f>(
    function: &'f Function,
    rules: Rules<Block>,
    numbers: Vec<u32>,
    links: Zeroizing<Vec<Block>>,
    masked: &[bool],
) -> Result<Followed<'f>, Error> {
    let mut bits = masked.iter();
    let values = Values::new(function, |_| {
        let bit = bits.next().copied().unwrap_or_default();
        Ok::<_, Error>(rules.constant(bit))
    })?;
    Ok(CallWalk::over(
        Following::new(values, numbers, links),
        rules,
    ))
}
