//! The result of a run between two parties.

use std::collections::BTreeMap;

use tacit_circuit::Value;
use zeroize::Zeroizing;

use crate::cost::{Cost, FromStock, PhaseCost};
use crate::join::KeyOfBin;
use crate::protocols::ThreatModel;
use crate::stock::ChainVersion;

/// The set of runs over which the statistical security of a run holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityScope {
    /// The runs of this session alone. Nobody counts the runs that a peer does not finish, so a
    /// peer may try again as often as it likes.
    ThisRun,
    /// All runs of the protocol with this peer in this role, forever.
    AllRuns {
        /// The s at which the run was made. It is higher than what was asked for if the peer left
        /// earlier tries unfinished.
        made_at_bits: u8,
    },
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The results for this party, by name.
    pub outputs: BTreeMap<String, Value>,
    /// The threat model under which the run was secure.
    pub threat_model: ThreatModel,
    /// In a run that was secure against a malicious party, cheating succeeds with probability at
    /// most two to minus this number. It is s, or less where a peer has better ways to cheat than s
    /// bounds.
    pub statistical_security_bits: Option<u8>,
    /// The set of runs over which that holds, if known.
    pub security_scope: Option<SecurityScope>,
    /// The chain of kept values, at the version that the run saved or, if it saved none, loaded.
    /// Both parties of `prepared` and `authenticated` have it, and the evaluator of three parties
    /// does. A later run can pin it.
    pub chain: Option<ChainVersion>,
    /// The cost on this side.
    pub cost: Cost,
}

/// The result of a protocol's part of a run.
#[derive(Default)]
pub(crate) struct ProtocolOutcome {
    /// This party's output bits in port order.
    pub(crate) outputs: Zeroizing<Vec<bool>>,
    /// The chain of kept values, at the version that the run saved or, if it saved none, loaded.
    pub(crate) chain: Option<ChainVersion>,
    pub(crate) phases: Vec<PhaseCost>,
    /// The number of AND gates that were garbled during the run because the stock had too few.
    pub(crate) and_gates_on_the_spot: u64,
    pub(crate) security_scope: Option<SecurityScope>,
    /// The material that a run by `authenticated` or `gmw` took from the stock.
    pub(crate) from_stock: Option<FromStock>,
    /// Whether the run took OTs that the session made.
    pub(crate) makes_ots: bool,
    /// At the placer of a join, the number of its key in each bin.
    pub(crate) keys_of_bins: Option<KeyOfBin>,
}
