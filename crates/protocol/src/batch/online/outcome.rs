//! The result of a bucket from its outputs: the outputs that open, the outputs that differ, and the
//! selection. No branch and no index depends on the outputs.

use subtle::{Choice, ConditionallySelectable};
use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::batch::circuit::derive_output;
use crate::batch::execution::KeptCircuit;
use crate::batch::layout::Batch;
use crate::batch::oracle::Domain;
use crate::malicious::commitment::{Committing, pads};

/// The findings about an output of a circuit: whether its O is that of 0 or of 1, and the value
/// that the mask under it hides.
#[derive(Clone, Copy, Zeroize)]
struct OutputFinding {
    zero: u8,
    one: u8,
    /// R, if O is that of 0.
    under_zero: Block,
    /// R ⊕ D, if O is that of 1.
    under_one: Block,
}

/// The findings about an evaluated circuit, output by output.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct CircuitOutcome(Vec<OutputFinding>);

impl CircuitOutcome {
    /// Returns the findings for a circuit with these output labels. `masks` has both masks of each
    /// output.
    pub(super) fn new<S: Scheme<Wire = Block>>(
        batch: &Batch<'_, S>,
        circuit: &KeptCircuit<'_>,
        labels: &[Block],
        masks: &[[u8; Block::BYTES]],
    ) -> Self {
        let (oracle, number) = (&batch.oracle, circuit.number);
        let derived = (0..).zip(labels);
        let derived = derived.map(|(output, label)| derive_output(oracle, number, output, *label));
        let derived = Zeroizing::new(derived.collect::<Vec<_>>());
        let mut under = derived.clone();
        pads(oracle, Domain::OutputMask, number, &mut under);
        let found = under.iter().zip(masks.as_chunks::<2>().0);
        let mut outcome = Self(Vec::with_capacity(labels.len()));
        outcome.0.extend(found.map(|(pad, masks)| OutputFinding {
            zero: 0,
            one: 0,
            under_zero: *pad ^ Block::from_bytes(masks[0]),
            under_one: *pad ^ Block::from_bytes(masks[1]),
        }));
        let commitments = &circuit.published[batch.layout.outputs.clone()];
        let committing = Committing::new(oracle, Domain::OutputCommitment, number);
        committing.compare(0, &derived, commitments, |output, [zero, one]| {
            outcome.0[output].zero = zero.unwrap_u8();
            outcome.0[output].one = one.unwrap_u8();
        });
        outcome
    }

    /// Whether every output is that of 0 or of 1.
    fn is_complete(&self) -> Choice {
        let opens = |found: &OutputFinding| Choice::from(found.zero ^ found.one);
        self.0
            .iter()
            .fold(Choice::from(1), |all, found| all & opens(found))
    }
}

/// The result of a bucket.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Outcome {
    /// The outputs of the first circuit that has all of them.
    pub(super) outputs: Vec<bool>,
    /// Whether there is such a circuit.
    pub(super) complete: u8,
    /// D, if two circuits differed; otherwise the random replacement.
    pub(super) key: Block,
}

impl Outcome {
    /// Combines these circuits. `random` is the key if no key passes `is_key`.
    pub(super) fn new(
        circuits: &[CircuitOutcome],
        outputs: usize,
        random: Block,
        is_key: impl Fn(Block) -> Choice,
    ) -> Self {
        let mut key = random;
        for output in 0..outputs {
            let [mut zero, mut one] = [Block::ZERO; 2];
            let [mut any_zero, mut any_one] = [Choice::from(0); 2];
            for found in circuits.iter().map(|circuit| &circuit.0[output]) {
                let (is_zero, is_one) = (Choice::from(found.zero), Choice::from(found.one));
                zero = Block::conditional_select(&zero, &found.under_zero, is_zero);
                one = Block::conditional_select(&one, &found.under_one, is_one);
                any_zero |= is_zero;
                any_one |= is_one;
            }
            let candidate = zero ^ one;
            let found = any_zero & any_one & is_key(candidate);
            key = Block::conditional_select(&key, &candidate, found);
        }
        let mut selected = Zeroizing::new(vec![0_u8; outputs]);
        let mut complete = Choice::from(0);
        for circuit in circuits {
            let take = circuit.is_complete() & !complete;
            for (bit, found) in selected.iter_mut().zip(&circuit.0) {
                bit.conditional_assign(&found.one, take);
            }
            complete |= circuit.is_complete();
        }
        Self {
            outputs: selected.iter().map(|bit| *bit == 1).collect(),
            complete: complete.unwrap_u8(),
            key,
        }
    }
}
