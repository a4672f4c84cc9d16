//! The checks that catch one of three parties cheating, and the consequences of each.

use super::Peer;
use crate::message::AbortReason;
use crate::{Check, Error, Misbehaviour};

/// The check of an outsourced run that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cheat {
    /// The cloud's split evaluates a wrong number of circuits.
    #[error("the cloud evaluates {found} circuits where {expected} are agreed")]
    SplitSize {
        /// The number of circuits that the split evaluates.
        found: usize,
        /// The agreed number of evaluated circuits.
        expected: usize,
    },
    /// The cloud's keys are not those of the generator for this split: one of the two cheats.
    #[error("the cloud's keys are not the generator's: one of the two lies")]
    Keys,
    /// The evaluator's report about the cloud's keys, which only the cloud gets, in place of the
    /// evaluator's input.
    #[error(
        "the evaluator finds that the cloud's keys are not the generator's: generator or \
         evaluator lies"
    )]
    Refused,
    /// The cloud's share of the coin toss does not match its commitment.
    #[error("the cloud changed its share of the coin toss")]
    Toss,
    /// This part of a checked circuit does not match the circuit's seed.
    #[error("the generator's circuit {0} has wrong {1}")]
    CheckedCopy(usize, &'static str),
    /// A label of the generator's input to an evaluated circuit does not open its commitment.
    #[error("a label of the generator's input to circuit {0} is wrong")]
    GeneratorInput(usize),
    /// The generator's input to a circuit differs from that to the others.
    #[error("the generator gives circuit {0} another input")]
    DifferentInputs(usize),
    /// The order of labels that the evaluator got for a circuit is not that of the circuit's seed.
    #[error(
        "the order of labels of circuit {0} is not the generator's seed's: generator or \
         evaluator lies"
    )]
    Order(usize),
    /// Labels of the evaluator's input to a circuit do not stand for the chosen values.
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
    /// A returned result is not that of the circuits.
    #[error("the result that the cloud returned is forged")]
    Result,
}

impl Check for Cheat {
    fn cheater(&self) -> &'static str {
        "a party"
    }
}

/// Returns whether a run that ended with `error` of `party` destroys its chain and all saved
/// values. The server that stores them removes them durably **before** it reports the error to
/// anyone, because an abort must not reveal what a later run of the same split would.
///
/// A failed check destroys the chain: the set of checked circuits may have decided it. So does any
/// message of the other server that no honest server sends, and the other server's report that it
/// has found such a message, since that server has then destroyed its half.
///
/// Misbehaviour of the evaluator alone does not destroy the chain: a malformed message, a failed OT
/// or an abort reveals nothing about the split, and has the same effect as a lost connection, which
/// the evaluator could also cause. A lost connection, a cancelled run, and differing states
/// ([`Incompatibility::SavedValues`]) do not destroy it either: keys were forwarded before the run.
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
