//! Parts that the maliciously secure protocols share.
//!
//! | module | contents |
//! |---|---|
//! | `frames` | long streams in messages |
//! | `encoding` | probe-resistant encoding of the evaluator's inputs |
//! | `commitment` | commitments to labels, by AES |
//! | `oracle` | other commitments and every other hash, by SHA-256 |
//! | `pads` | keys of chosen strings from correlated OTs |
//! | `parallel` | work on several threads |
//! | `returned` | a result that is masked and authenticated in the circuit |
//! | `shuffle` | uniform shuffles |
//! | `tries` | the security cost of tries that a peer does not finish |
//! | `walk` | a function garbled and evaluated as a whole |

pub(crate) mod commitment;
pub(crate) mod encoding;
pub(crate) mod frames;
pub(crate) mod oracle;
pub(crate) mod pads;
pub(crate) mod parallel;
pub(crate) mod returned;
pub(crate) mod shuffle;
pub(crate) mod tries;
pub(crate) mod walk;

use tacit_ot::PEER_WORK_LOG2;
use tacit_ot::source::Extension;

/// Returns the base-two logarithm of the probability that a peer that chooses inconsistently in one
/// OT passes the check of the OT extension, for any extension that the parties may use.
pub(crate) fn transfers_log2() -> f64 {
    Extension::LEAST_CHECKED.cheating_log2(PEER_WORK_LOG2)
}

/// Returns the base-two logarithm of the sum of these powers of two.
pub(crate) fn log2_sum(logs: impl IntoIterator<Item = f64>) -> f64 {
    logs.into_iter().map(f64::exp2).sum::<f64>().log2()
}
