//! The checks at which a peer is caught cheating.

use thiserror::Error;

use crate::Check;

/// The check of a batch that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Caught {
    /// An opened circuit does not match its digest.
    #[error("opened circuit {0} is not what was promised")]
    CheckedCircuit(u32),
    /// A circuit to be evaluated does not match its digest.
    #[error("circuit {0} is not what was promised")]
    PublishedCircuit(u32),
    /// A circuit's halves do not open, or do not add up: the garbler's inputs differ.
    #[error("circuit {0} has another input than its neighbour")]
    Inconsistent(u32),
    /// A label that an oblivious transfer gave does not open its commitment.
    #[error("an oblivious transfer gave a wrong label of circuit {0}")]
    TransferredLabel(u32),
    /// The opening of a choice does not match the evaluator's commitment to it.
    #[error("it changed its choice of {0}")]
    CommittedChoice(&'static str),
    /// λ of a circuit does not open.
    #[error("the mask of circuit {0} is not what was promised")]
    Lambda(u32),
    /// A label of the garbler's input does not open.
    #[error("a label of its input to circuit {0} is wrong")]
    GarblerInput(u32),
    /// A second share of a label of the evaluator's input does not open.
    #[error("a label of our input to circuit {0} is wrong")]
    SecondShare(u32),
    /// The key of recovery is not the one that was hashed.
    #[error("the key of recovery is not what was promised")]
    RecoveryKey,
    /// An output of a circuit does not open.
    #[error("an output of circuit {0} is not what was promised")]
    Output(u32),
    /// A mask of the key of recovery under outputs of a circuit is wrong.
    #[error("an output of circuit {0} masks another key")]
    OutputMask(u32),
    /// No circuit of the execution has a result.
    #[error("none of its circuits has a result")]
    NoResult,
    /// The result that the evaluator returned is not that of the circuit.
    #[error("the result that it returned is forged")]
    ReturnedResult,
}

impl Check for Caught {}
