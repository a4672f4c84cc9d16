//! The checks at which one of three parties is caught cheating, and what each check ends.

use super::Peer;
use crate::message::AbortReason;
use crate::{Check, Error, Misbehaviour};

/// The check of an outsourced run that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cheat {
    /// The cloud's split evaluates another number of circuits than it should.
    #[error("the cloud evaluates {found} circuits where {expected} are agreed")]
    SplitSize {
        /// Circuits that are evaluated by it.
        found: usize,
        /// Circuits that should be.
        expected: usize,
    },
    /// The cloud's keys are not those of the generator for this split: one of the two cheats.
    #[error("the cloud's keys are not the generator's: one of the two lies")]
    Keys,
    /// The evaluator says so of the cloud's keys, to the cloud alone, in place of its input.
    #[error(
        "the evaluator finds that the cloud's keys are not the generator's: generator or \
         evaluator lies"
    )]
    Refused,
    /// The cloud's share of the coin toss is not what it had committed to.
    #[error("the cloud changed its share of the coin toss")]
    Toss,
    /// A circuit that was checked is not what its seed says, in this part.
    #[error("the generator's circuit {0} has wrong {1}")]
    CheckedCopy(usize, &'static str),
    /// A label of the generator's input to an evaluated circuit does not open its commitment.
    #[error("a label of the generator's input to circuit {0} is wrong")]
    GeneratorInput(usize),
    /// The generator's input to a circuit is not that of the others.
    #[error("the generator gives circuit {0} another input")]
    DifferentInputs(usize),
    /// The order of labels that the evaluator was told of a circuit is not its seed's.
    #[error(
        "the order of labels of circuit {0} is not the generator's seed's: generator or \
         evaluator lies"
    )]
    Order(usize),
    /// Labels of the evaluator's input to a circuit do not stand for the values that it chose.
    #[error(
        "labels of circuit {0} are not for the evaluator's values: generator or evaluator lies"
    )]
    ChosenValues(usize),
    /// A label of the evaluator's input to a circuit does not open its commitment.
    #[error(
        "a label of the evaluator's input to circuit {0} is wrong: generator or evaluator lies"
    )]
    DeliveredLabel(usize),
    /// The evaluated circuits are tied on the value of an output.
    #[error("half of the generator's circuits are wrong")]
    NoMajority,
    /// A result that came back is not that of the circuits.
    #[error("the result that the cloud returned is forged")]
    Result,
}

impl Check for Cheat {
    fn cheater(&self) -> &'static str {
        "a party"
    }
}

/// Whether a run that ended with `error` of `party` takes its chain and all saved values with it.
/// Whoever keeps them removes them, durably, **before** anyone is told, since what a later run of
/// the same split would tell is what an abort must not.
///
/// A failed check does: which circuits the cloud checks may have decided it. So does whatever the
/// other server sends that no honest server does, and its word that it has found such a thing,
/// since it has then killed its half.
///
/// What the evaluator alone does wrong does not: a malformed message, a failed OT or an abort says
/// nothing of the split, and is no more than the lost connection that the evaluator could have had
/// instead. Nor do a lost connection, a cancelled run, and states that differ
/// ([`Incompatibility::SavedValues`]): keys were forwarded before the run.
///
/// [`Incompatibility::SavedValues`]: crate::Incompatibility::SavedValues
#[must_use]
pub fn kills_chain(error: &Error, party: Option<Peer>) -> bool {
    match error {
        Error::PeerMisbehaved(Misbehaviour::Cheated(_)) => true,
        Error::PeerMisbehaved(_) | Error::PeerAborted(AbortReason::Misbehaved) => {
            party != Some(Peer::Evaluator)
        }
        _ => false,
    }
}
