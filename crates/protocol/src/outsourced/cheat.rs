//! What a cheating party of three is caught at, and what that ends.

use core::fmt;

use crate::Error;
use crate::message::AbortReason;

/// The check of an outsourced run that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cheat {
    /// The cloud's split evaluates another number of circuits than it should.
    SplitSize {
        /// Circuits that are evaluated by it.
        found: usize,
        /// Circuits that should be.
        expected: usize,
    },
    /// The cloud's keys are not those of the generator for this split: one of the two cheats.
    Keys,
    /// The evaluator says so of the cloud's keys, to the cloud alone, in place of its input.
    Refused,
    /// The cloud's share of the coin toss is not what it had committed to.
    Toss,
    /// A circuit that was checked is not what its seed says, in this part.
    CheckedCopy(usize, &'static str),
    /// A label of the generator's input to an evaluated circuit does not open its commitment.
    GeneratorInput(usize),
    /// The generator's input to a circuit is not that of the others.
    DifferentInputs(usize),
    /// The order of labels that the evaluator was told of a circuit is not its seed's.
    Order(usize),
    /// Labels of the evaluator's input to a circuit do not stand for the values that it chose.
    ChosenValues(usize),
    /// A label of the evaluator's input to a circuit does not open its commitment.
    DeliveredLabel(usize),
    /// As many evaluated circuits give an output the one value as the other.
    NoMajority,
    /// A result that came back is not that of the circuits.
    Result,
}

impl fmt::Display for Cheat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SplitSize { found, expected } => write!(
                f,
                "the cloud evaluates {found} circuits where {expected} are agreed"
            ),
            Self::Keys => {
                f.write_str("the cloud's keys are not the generator's: one of the two lies")
            }
            Self::Refused => f.write_str(
                "the evaluator finds that the cloud's keys are not the generator's: generator or \
                 evaluator lies",
            ),
            Self::Toss => f.write_str("the cloud changed its share of the coin toss"),
            Self::CheckedCopy(n, part) => {
                write!(f, "the generator's circuit {n} has wrong {part}")
            }
            Self::GeneratorInput(n) => {
                write!(
                    f,
                    "a label of the generator's input to circuit {n} is wrong"
                )
            }
            Self::DifferentInputs(n) => {
                write!(f, "the generator gives circuit {n} another input")
            }
            Self::Order(n) => write!(
                f,
                "the order of labels of circuit {n} is not the generator's seed's: generator or \
                 evaluator lies"
            ),
            Self::ChosenValues(n) => write!(
                f,
                "labels of circuit {n} are not for the evaluator's values: generator or evaluator \
                 lies"
            ),
            Self::DeliveredLabel(n) => write!(
                f,
                "a label of the evaluator's input to circuit {n} is wrong: generator or evaluator \
                 lies"
            ),
            Self::NoMajority => f.write_str("half of the generator's circuits are wrong"),
            Self::Result => f.write_str("the result that the cloud returned is forged"),
        }
    }
}

/// Whether a run that ended with this error takes its chain and all saved values with it: a check
/// failed, here or at a peer. Whoever keeps them removes them, durably, **before** anyone is told,
/// since what a later run of the same split would tell is what an abort must not.
///
/// Other errors (a connection lost, a cancelled run) leave the chain, whose keys were forwarded
/// before the run. So do states that differ ([`Incompatibility::SavedValues`]): nothing of the chain
/// was used, and it stays stopped until its servers' states are the same.
///
/// [`Incompatibility::SavedValues`]: crate::Incompatibility::SavedValues
#[must_use]
pub fn kills_chain(error: &Error) -> bool {
    matches!(
        error,
        Error::PeerMisbehaved(_) | Error::PeerAborted(AbortReason::Misbehaved)
    )
}
