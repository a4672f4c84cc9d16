//! What a run between two parties gave.

use std::collections::BTreeMap;

use tacit_circuit::Value;

use crate::cost::Cost;
use crate::protocols::ThreatModel;
use crate::stock::ChainVersion;

/// Over what the statistical security of a run holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityScope {
    /// Over this session's runs alone: nobody counts the runs that a peer does not finish, and a
    /// peer may try again as often as it likes.
    ThisRun,
    /// Over all runs of the protocol with the peer in this role, forever.
    AllRuns {
        /// The s that the run was made at: higher than what was asked for where the peer did not
        /// finish earlier tries.
        made_at_bits: u8,
    },
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// The results that go to this party, by name.
    pub outputs: BTreeMap<String, Value>,
    /// Against whom the run was secure.
    pub threat_model: ThreatModel,
    /// Of a run that was secure against a malicious party: cheating succeeds with at most two to
    /// minus this number. It is s, or fewer where a peer has better ways to cheat than s bounds.
    pub statistical_security_bits: Option<u8>,
    /// Over what that holds, where it is known.
    pub security_scope: Option<SecurityScope>,
    /// The chain of kept values, at the version that the run saved or, if it saved none, loaded. At
    /// both parties of `prepared` and `authenticated`, and at the evaluator of three, to be pinned
    /// in a later run.
    pub chain: Option<ChainVersion>,
    /// What it took on this side.
    pub cost: Cost,
}
