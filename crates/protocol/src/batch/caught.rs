//! The checks at which a peer is caught cheating.

use core::fmt;

/// The check of a batch that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caught {
    /// A circuit that was opened is not what its digest says.
    CheckedCircuit(u32),
    /// A circuit to be evaluated came otherwise than its digest says.
    PublishedCircuit(u32),
    /// A circuit's halves do not open, or do not add up: the garbler's inputs differ.
    Inconsistent(u32),
    /// A label that an oblivious transfer gave does not open its commitment.
    TransferredLabel(u32),
    /// A choice that the evaluator had committed to was opened otherwise.
    CommittedChoice(&'static str),
    /// λ of a circuit does not open.
    Lambda(u32),
    /// A label of the garbler's input does not open.
    GarblerInput(u32),
    /// A second share of a label of the evaluator's input does not open.
    SecondShare(u32),
    /// The key of recovery is not the one that was hashed.
    RecoveryKey,
    /// An output of a circuit does not open.
    Output(u32),
    /// What masks the key of recovery under outputs of a circuit is not what it should be.
    OutputMask(u32),
    /// No circuit of the execution has a result.
    NoResult,
    /// The result that the evaluator returned is not that of the circuit.
    ReturnedResult,
}

impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CheckedCircuit(n) => write!(f, "opened circuit {n} is not what was promised"),
            Self::PublishedCircuit(n) => write!(f, "circuit {n} is not what was promised"),
            Self::Inconsistent(n) => write!(f, "circuit {n} has another input than its neighbour"),
            Self::TransferredLabel(n) => {
                write!(f, "an oblivious transfer gave a wrong label of circuit {n}")
            }
            Self::CommittedChoice(what) => write!(f, "it changed its choice of {what}"),
            Self::Lambda(n) => write!(f, "the mask of circuit {n} is not what was promised"),
            Self::GarblerInput(n) => write!(f, "a label of its input to circuit {n} is wrong"),
            Self::SecondShare(n) => write!(f, "a label of our input to circuit {n} is wrong"),
            Self::RecoveryKey => f.write_str("the key of recovery is not what was promised"),
            Self::Output(n) => write!(f, "an output of circuit {n} is not what was promised"),
            Self::OutputMask(n) => write!(f, "an output of circuit {n} masks another key"),
            Self::NoResult => f.write_str("none of its circuits has a result"),
            Self::ReturnedResult => f.write_str("the result that it returned is forged"),
        }
    }
}
