//! A service: this party runs the functions that its policy allows, for many peers at once, and
//! keeps the stocks with them filled.
//!
//! | module | contents |
//! |---|---|
//! | [`policy`] | which peer may ask for what, how often, on which inputs, and the levels of the stock |
//! | [`inputs`], [`results`] | the sources of this party's inputs and the destinations of its results |
//! | [`audit`] | the beginning and the end of each run, in a file |
//! | `lines` | files that get lines at their end |
//! | [`service`] | the listener, the sessions and their limits, stop and reload |
//! | `visit` | one session: the request, the decision, the run |
//! | [`offers`] | the list of functions and orders that a peer may ask for |
//! | [`outsourced`] | runs of three, in which this party is the generator or the cloud |
//! | [`tables`] | runs that match a table of this party with the peer's, and their limits |
//! | `lobby` | the meeting of the links of runs of three, and the turns at a chain |
//! | `replenish` | fills the stock to its levels |
//! | [`visitors`] | strangers that a site's login lets in by a token |
//! | `turns` | which peers prepare, and which is next |
//! | [`event`], [`metrics`], [`http`] | the output for programs and people; never a secret |
//! | [`log`] | events as lines, for a reader that may be slow or absent |
//! | [`relay`] | passes sealed bytes between two parties that nobody can connect to |
//! | `accepting` | sockets whose connections have a thread each, and which of them gives way |
//! | [`rate`] | limits on how often something may happen |
//! | [`descriptors`] | open files and connections, as many as the limits need |
//! | [`reading`] | bytes that may be secret, read into memory that is wiped |
//!
//! A [`Policy`] is checked when it is made, before a running service takes it. The service uses
//! threads and no async runtime: one for each session and preparation, up to a limit, one that
//! accepts, and one that watches the stock. A peer's mistake ends its own session; the service
//! tells the peer, counts it and logs it. A peer that repeats it is ignored for a while.
//!
//! Libraries that other services use and this one does not:
//!
//! - `tokio`: docs/operate.md gives the cost of idle peers. `hyper`, `axum` and `tower` need it
//!   too; [`http`] has four paths, and `httparse` parses the heads.
//! - `governor`, for [`rate`]: it can neither look without taking, nor change a rate and still
//!   count what was used.
//! - `tracing`, for [`event`]: events are a type, which tests match and whose JSON is versioned. An
//!   [`Observer`] can pass them on to `tracing` with one line of code.
#![forbid(unsafe_code)]

mod accepting;
pub mod audit;
pub mod descriptors;
pub mod event;
pub mod http;
pub mod inputs;
mod lines;
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
pub mod tables;
mod turns;
mod visit;
pub mod visitors;

pub use audit::Audit;
pub use event::{Event, Observer};
pub use inputs::{Inputs, RunRequest};
pub use log::Log;
pub use metrics::Metrics;
pub use offers::Offers;
pub use outsourced::{Outsourced, Server};
pub use policy::{Error, Level, Limits, Material, Offer, Peer, Policy, TableOffer};
pub use rate::{Rate, read_time};
pub use results::Results;
pub use service::{Service, Stopped};
pub use visitors::{IssuerKey, Visitors};
