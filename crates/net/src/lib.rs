//! Authenticated channels between two parties: TLS, framing, limits and a meter.
//!
//! A [`Channel`] carries frames to one peer and back, and every call on it returns within a
//! timeout. It comes from [`tls`] (two machines, both identities pinned), from [`plain`] (two
//! processes on one machine), or from [`memory`] (one process). This crate knows nothing about
//! circuits or protocols.
//!
//! ```
//! use tacit_net::memory;
//!
//! let (mut garbler, mut evaluator) = memory::pair();
//! garbler.send(1, b"tables")?;
//! garbler.flush()?;
//! let frame = evaluator.receive(100)?;
//! assert_eq!((frame.kind, frame.payload), (1, &b"tables"[..]));
//! # Ok::<(), tacit_net::NetError>(())
//! ```
#![forbid(unsafe_code)]

mod buffer;
mod channel;
mod error;
mod fingerprint;
mod identity;
mod lane;
mod link;
pub mod memory;
mod meter;
pub mod networks;
pub mod pairing;
pub mod plain;
mod proxy;
pub mod relay;
mod settings;
mod shaped;
mod sides;
mod signer;
mod tcp;
pub mod tls;
mod transport;
mod wait;
#[cfg(not(target_family = "wasm"))]
mod websocket;

pub use channel::{
    CONTINUED, Channel, FRAME_BYTES, Frame, FrameHeader, HEADER_BYTES, READ_AHEAD_BYTES,
    SharedBytes, frames,
};
pub use error::{Awaited, NetError};
pub use fingerprint::{Fingerprint, NotAFingerprint};
pub use identity::Identity;
pub use identity::worker::{InvalidWorker, WorkerTerms};
pub use ipnet::IpNet;
pub use lane::{Lane, NotALane};
pub use link::{Link, NotALink};
pub use meter::{Meter, Traffic};
pub use settings::Settings;
pub use transport::{Sink, Source, Transport};
pub use wait::{CancelHandle, Interrupt, PROGRESS_BYTES, SLICE, Wait};
