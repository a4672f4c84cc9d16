//! `outsourced`: a thin client, a generator, and a cloud that does the client's work, secure
//! against malicious parties that do not collude. Values stay garbled from one run to the next.
//!
//! The protocol is that of Mood, Gupta, Butler and Feigenbaum, "Reuse it or lose it: more efficient
//! secure computation through reuse of encrypted values" (CCS 2014), over Carter, Mood, Traynor and
//! Butler (USENIX Security 2013) and shelat and Shen (CCS 2013). `docs/protocols/outsourced.md`
//! lists the corrections and deviations, each with its reason.
//!
//! | module | step |
//! |---|---|
//! | `parameters` | the number of circuits, and the sum of all ways to cheat |
//! | `terms` | the agreement of the three parties, and the name of a run |
//! | `ticket` | the ticket by which a server finds the two connections of one run |
//! | `cut`, `chain` | the choice of evaluated circuits, and its keys over a chain of runs |
//! | `copy`, `work` | a circuit from its seed, and its bytes |
//! | `transfer` | oblivious transfer from the generator to the cloud, by the evaluator's choice |
//! | `toss`, `same_input` | the check that the generator gives all circuits the same input |
//! | `judge`, `judging` | the cloud's work on a circuit's head and body |
//! | `majority` | the result of the evaluated circuits |
//! | `messages` | each message: its kind, sender, receiver and length |
//! | `generator`, `evaluator`, `cloud` | the parties |
//!
//! **Assumptions.** SHA-256 is a random oracle. AES is an ideal cipher for garbling and links, and
//! a pseudorandom permutation elsewhere. The malicious OT extension adds its own. At most one of
//! the three parties is corrupt, or several are but share no information.

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
pub use parameters::{MAX_COPIES, MIN_SECURITY_BITS, Parameters, RunBound};
pub use terms::{EvaluatorBits, Terms};
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

/// The chain under which a server runs.
pub enum ServerStart<O, C> {
    /// A new chain, whose keys come from OTs with the other server.
    NewChain(O),
    /// A chain that was started before, and was forwarded and stored for this attempt.
    Chain(C),
}

/// The data that a run leaves a server for later runs.
pub struct ServerKept<C, V> {
    /// The chain.
    pub chain: C,
    /// The server's half of each saved value, in the function's order.
    pub saved: Vec<V>,
}

/// Returns the result of `bits` bits that the cloud returned, without the mask of the `added` input
/// bits.
fn read_result(payload: &[u8], bits: usize, added: &[bool]) -> Result<Zeroizing<Vec<bool>>, Error> {
    check_bits(Kind::OutsourcedResult, payload, bits)?;
    returned::unmask(&unpack(payload, bits), added).ok_or_else(|| cheated(Cheat::Result))
}
