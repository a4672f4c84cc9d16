//! `outsourced`: a thin client, a generator, and a cloud that does the client's work, against
//! malicious parties that do not collude; values stay garbled from one run to the next.
//!
//! Mood, Gupta, Butler and Feigenbaum, "Reuse it or lose it: more efficient secure computation
//! through reuse of encrypted values" (CCS 2014), over Carter, Mood, Traynor and Butler (USENIX
//! Security 2013) and shelat and Shen (CCS 2013), with corrections and deviations that
//! `docs/protocols/outsourced.md` lists, each with its reason.
//!
//! | module | step |
//! |---|---|
//! | `parameters` | how many circuits, and every way to cheat added up |
//! | `terms` | what the three agree on, and the name of a run |
//! | `ticket` | by which a server finds the two links of one run |
//! | `cut`, `chain` | which circuits are evaluated, and the keys that say so, run after run |
//! | `copy`, `work` | a circuit from its seed, and its bytes |
//! | `transfer` | oblivious transfer from the generator to the cloud, by the evaluator's choice |
//! | `toss`, `same_input` | one input of the generator to all circuits |
//! | `judge`, `judging` | what the cloud does with a circuit's head and body |
//! | `majority` | from the evaluated circuits to a result |
//! | `messages` | each message: its kind, who sends it to whom, its length |
//! | `generator`, `evaluator`, `cloud` | the parties |
//!
//! **Assumptions.** SHA-256 as a random oracle; AES as an ideal cipher for garbling and links, a
//! pseudorandom permutation elsewhere; the malicious OT extension's. At most one of the three is
//! corrupt, or several are but tell each other nothing.

mod chain;
mod cheat;
mod cloud;
mod copy;
mod cut;
mod evaluator;
mod generator;
mod judge;
mod judging;
mod majority;
mod messages;
mod parameters;
mod same_input;
mod terms;
#[cfg(test)]
mod tests;
mod ticket;
mod toss;
mod transfer;
mod work;

pub use chain::{CloudChain, GeneratorChain};
pub use cheat::{Cheat, kills_chain};
pub use cloud::{Cloud, CloudKept, CloudStart, MaskedResults};
pub use evaluator::{Evaluator, EvaluatorOutcome, Verdict};
pub use generator::{AwaitedResult, Generator, GeneratorKept, GeneratorStart};
pub use parameters::{MAX_COPIES, MIN_SECURITY_BITS, Parameters, PointEncoding, RunBound};
pub use terms::{Shape, Terms};
pub use ticket::RunTicket;
pub use work::circuit_and_gates;

pub use crate::party::Peer;
pub use crate::saved::{
    ChainId, ChainVersion, EvaluatorHalf as CloudValue, GarblerHalf as GeneratorValue, MAX_FORWARD,
    MAX_SAVED_BITS, Mark,
};

use zeroize::Zeroizing;

use crate::Error;
use crate::bits::{check_bits, unpack};
use crate::error::cheated;
use crate::malicious::returned;
use crate::message::Kind;

/// Under which chain a server runs.
pub enum ServerStart<O, C> {
    /// A new one, whose keys come from OTs with the other server.
    NewChain(O),
    /// One that was started before, forwarded and kept for this attempt.
    Chain(C),
}

/// What a run leaves a server for later runs.
pub struct ServerKept<C, V> {
    /// The chain.
    pub chain: C,
    /// The server's half of each saved value, in the function's order.
    pub saved: Vec<V>,
}

/// The result that the cloud returned in this many bits, masked with the `added` input bits.
fn read_result(payload: &[u8], bits: usize, added: &[bool]) -> Result<Zeroizing<Vec<bool>>, Error> {
    check_bits(Kind::OutsourcedResult, payload, bits)?;
    returned::unmask(&unpack(payload, bits), added).ok_or_else(|| cheated(Cheat::Result))
}
