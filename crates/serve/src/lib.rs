//! A service: this party runs the functions that its policy allows, for many peers at once, and
//! keeps the stock with them filled.
//!
//! | module | what it does |
//! |---|---|
//! | [`policy`] | who may ask for what, how often, on which inputs, and what is kept in stock |
//! | [`inputs`], [`results`] | where this party's inputs come from and its results go |
//! | [`service`] | the listener, the sessions and their limits, stop and reload |
//! | `visit` | one session: what is asked, whether it may be, the run |
//! | [`offers`] | what a peer is told that it may ask for |
//! | [`outsourced`] | runs of three, in which this party is the generator or the cloud |
//! | `lobby` | where the links of runs of three meet, and turns at a chain |
//! | `replenish` | fills the stock to its levels |
//! | `turns` | which peers prepare, and who is next |
//! | [`event`], [`metrics`], [`http`] | what programs and people see of it; never a secret |
//! | [`log`] | events as lines, which nobody has to read |
//! | [`relay`] | sealed bytes carried between two parties that nobody can connect to |
//! | `silent` | connections that have not said what they want, and which of them gives way |
//! | [`rate`] | how often something may happen |
//! | [`descriptors`] | open files and connections, as many as limits take |
//! | [`reading`] | bytes that may be secret, read into memory that is wiped |
//!
//! A [`Policy`] is checked when it is made, before a running service takes it. The service uses
//! threads and no async runtime: one for each session and preparation, up to a limit, one that
//! accepts, and one that watches the stock. A peer's mistake ends its own session; the service
//! tells the peer, counts it and logs it. A peer that repeats it is ignored for a while.
//!
//! Where other services take a library and this one does not:
//!
//! - `tokio`: what idle peers cost is in docs/operate.md. `hyper`, `axum` and `tower` need it, too;
//!   [`http`] has two paths, whose heads `httparse` parses.
//! - `governor`, for [`rate`]: it can neither look without taking nor change a rate and still count
//!   what was used.
//! - `tracing`, for [`event`]: events are a type, which tests match and whose JSON is versioned. An
//!   [`Observer`] passes them on to `tracing` in a line.
#![forbid(unsafe_code)]

pub mod descriptors;
pub mod event;
pub mod http;
pub mod inputs;
mod lobby;
pub mod log;
pub mod memory;
pub mod metrics;
pub mod offers;
pub mod outsourced;
pub mod policy;
pub mod rate;
pub mod reading;
pub mod relay;
mod replenish;
pub mod results;
pub mod service;
mod silent;
mod turns;
mod visit;

pub use event::{Event, Observer};
pub use inputs::{Asked, Inputs};
pub use log::Log;
pub use metrics::Metrics;
pub use offers::Offers;
pub use outsourced::{Outsourced, Server};
pub use policy::{Error, Level, Limits, Material, Offer, Peer, Policy};
pub use rate::{Rate, read_time};
pub use results::Results;
pub use service::{Service, Stopped};
