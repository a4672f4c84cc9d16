//! Base OT from Diffie–Hellman on ristretto255, in one simultaneous exchange.
//!
//! Source: McQuoid, Rosulek, Roy, "Batching Base Oblivious Transfers" (Asiacrypt 2021): the batch
//! protocol with one sender message for all OTs, over a programmable-once public function (POPF)
//! of two Feistel rounds whose first is a masked XOR. For OT i of a batch with sender message
//! A = aG, the receiver with choice c sends φ = (T, s), and both can compute
//!
//! > Y_0 = T + H(i, 0, s),  Y_1 = T + H(i, 1, s ⊕ T).
//!
//! The receiver makes Y_c = bG by drawing b and s′, taking T = bG − H(i, c, s′) and
//! s = s′ ⊕ c·T. The keys are r_x = KDF(i, x, A, φ, aY_x); the receiver has r_c from bA.
//!
//! **Why the receiver's choice is hidden**: T and s are uniform and independent for either c,
//! and for every A. **Why one key stays unknown**: the later of the two questions to H above is
//! answered when T is already fixed. So Y is a random element that the receiver could not choose,
//! and to know aY is to solve computational Diffie–Hellman. The simulator learns the choice from
//! the order of the questions, as soon as φ arrives.
//!
//! **Known weaknesses of a naive batch** that are closed here: with one A for all OTs and no index
//! in the hashes, a receiver that sends the same φ twice gets equal outputs (and, in an extension,
//! a peer learns relations between secret columns). So i, x, the session tag and both messages
//! enter the key's hash, i, x and the tag enter H, and equal elements are refused.
//! Assumption: the hashes are random oracles; strong computational Diffie–Hellman holds on
//! ristretto255 (CDH with an oracle that decides for the fixed A, which consistent answers need
//! because A serves many OTs). Security is endemic, as in Masny and Rindal (CCS 2019): a corrupt
//! party may choose its own outputs, which an extension tolerates.
//!
//! Deviations:
//!
//! - H(i, x, s) = 2·Ell(u), where u is a random field element and Ell is *one* Elligator map (RFC
//!   9496, MAP), not the sum of two. Its image is not the whole group, and need not be: the proof
//!   requires of H only that, for a random element R of the simulator's making, a u can be found
//!   for which H hits R. The simulator draws R until it has preimages, keeps it with probability
//!   (number of preimages of R/2)/16, and takes one of them at random: u is then exactly uniform,
//!   and two tries are expected. T stays uniform since bG is.
//! - Messages carry T before s, and both parties work with halves as the encoder needs them (actual
//!   scalars are twice the drawn ones, so that all elements are encoded in batches with one
//!   inversion).
//!
//! Cost for each OT: sender 2 variable-base multiplications, 2 Elligator maps, 1 decoding;
//! receiver 1 fixed-base and 1 variable-base multiplication, 1 Elligator map. (A table of
//! multiples of A costs as much as it saves at 128 OTs.) 64 bytes from the receiver for each OT,
//! 32 bytes from the sender for all.
//!
//! | message | bytes | content |
//! |---|---|---|
//! | sender's | 0..32 | A |
//! | receiver's | 64i .. 64i+32 | T of OT i |
//! | | 64i+32 .. 64i+64 | s of OT i |

mod oracle;
mod receiver;
mod sender;

pub use receiver::Receiver;
pub use sender::Sender;

/// The size of an encoded group element, in bytes.
const POINT_BYTES: usize = 32;

/// The size of φ, the receiver's part for one OT, in bytes.
const PHI_BYTES: usize = 64;
