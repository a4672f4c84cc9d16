//! Oblivious transfer: base, extension, correlated; no I/O.
//!
//! | module | contents | source |
//! |---|---|---|
//! | [`base`] | a few random OTs by public keys, maliciously secure | McQuoid, Rosulek, Roy 2021 |
//! | [`extension`] | punctured trees and small-field VOLE: the inside of the extension | Roy 2022 |
//! | [`correlated`] | many correlated OTs under one Δ, with chosen choice bits | Roy 2022 |
//! | [`silent`] | very many correlated OTs with random choices, and VOLEs, from few bytes | Yang et al. 2020 |
//! | [`precomputed`] | OTs made in advance, and used once | Beaver 1995 |
//! | [`source`] | numbered OTs, made in advance by any extension | |
//! | [`spare`] | base OTs that are kept for many later runs | |
//!
//! The roles: the *evaluator* is the sender of the base OTs and the receiver of the correlated
//! ones; the *garbler* is the receiver of the base OTs, with the bits of Δ as its choices, and the
//! sender of the correlated ones. The two base messages do not depend on each other and cross on
//! the wire.
//!
//! ```
//! # use rand_core::CryptoRng;
//! # fn both<R: CryptoRng>(rng_g: &mut R, rng_e: &mut R) -> Result<(), tacit_ot::Error> {
//! use std::num::NonZeroUsize;
//! use tacit_kernels::Block;
//! use tacit_ot::correlated::{CotReceiver, CotSender};
//! use tacit_ot::{Delta, FieldBits, SessionTag, base};
//!
//! let tag = SessionTag::new([7; 32]); // binds the session, the roles and the function
//! let delta = Delta::random(rng_g);
//!
//! // One simultaneous exchange.
//! let (garbler, to_evaluator) = base::Receiver::start(&delta.choices(), &tag, rng_g)?;
//! let (evaluator, to_garbler) = base::Sender::start(Delta::BITS, &tag, rng_e)?;
//! let field = FieldBits::DEFAULT;
//! let keys = garbler.finish(NonZeroUsize::MIN, &to_garbler)?; // on one thread
//! let mut sender = CotSender::new(delta, keys, &tag, field)?;
//! let mut receiver = CotReceiver::new(evaluator.finish(&to_evaluator)?, &tag, field)?;
//!
//! // One message from the evaluator for any number of correlated OTs.
//! let choices = [true, false, true];
//! let (message, t) = receiver.extend(&choices)?;
//! let q = sender.extend(choices.len(), &message)?;
//! assert_eq!(t[1], q[1]);
//! # Ok(()) }
//! ```
#![forbid(unsafe_code)]

pub mod base;
pub mod correlated;
mod delta;
mod error;
pub mod extension;
pub mod precomputed;
mod security;
pub mod silent;
pub mod source;
pub mod spare;
mod tag;

pub use delta::Delta;
pub use error::{ApiMisuse, Check, DeviceError, Error, Message, PeerMisbehaved};
pub use extension::FieldBits;
pub use security::{PEER_WORK_LOG2, Security};
pub use tag::SessionTag;

/// One party's half of correlated OTs, q or t of each, wiped on drop.
pub type Outputs = zeroize::Zeroizing<Vec<tacit_kernels::Block>>;
