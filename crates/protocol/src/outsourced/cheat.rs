//! The checks at which one of three parties is caught cheating, and what each check ends.

use core::fmt;

use super::Peer;
use crate::message::AbortReason;
use crate::{Error, Misbehaviour};

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
    /// The evaluated circuits are tied on the value of an output.
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
        Error::PeerMisbehaved(Misbehaviour::CheatedOutsourced(_)) => true,
        Error::PeerMisbehaved(_) | Error::PeerAborted(AbortReason::Misbehaved) => {
            party != Some(Peer::Evaluator)
        }
        _ => false,
    }
}
