//! Secure two-party computation in which the slow part is already done.
//!
//! Two parties compute a function of their private inputs and learn only its result.
//!
//! ```no_run
//! use tacit::{Fingerprint, Identity, Job, Role, Session, Settings, library};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let identity = Identity::load("alice.key".as_ref())?;
//! let peer: Fingerprint = std::fs::read_to_string("bob.fingerprint")?.trim().parse()?;
//! let function = library::function("millionaires", &[("bits".into(), 32)].into())?;
//! let settings = Settings::default();
//! let mut session = Session::connect("bob.example:7000", &identity, &peer, &settings)?;
//! let outcome = Job::new(&function, Role::Evaluator).input("b", 41_u32).run(&mut session)?;
//! println!("{}", outcome.outputs["a_is_richer"].to_text());
//! println!("{}", outcome.cost);
//! # Ok(())
//! # }
//! ```
//!
//! | module or type | what it is |
//! |---|---|
//! | [`Function`], [`Circuit`], [`library`] | what is computed |
//! | [`Identity`], [`Fingerprint`] | who the parties are to each other |
//! | [`Session`], [`Listener`] | an authenticated connection between two of them |
//! | [`KeptOts`] | base OTs kept for later sessions of the same parties |
//! | [`Job`], [`Outcome`], [`Cost`] | one run of a function, its results and what it took |
//! | [`Stocks`], [`Preparation`], [`BatchPreparation`] | what two parties have prepared, and how they prepare more |
//! | [`OutsourcedJob`], [`KeptChain`] | a run in which a cloud does the evaluator's work, and what it keeps |
//! | [`plan`] | which protocol, scheme and cut of a function cost least over a link, and why |
//! | [`protocols`] | the protocols, what each withstands, and what it takes from the stock |
//! | [`scheme`] | the garbling scheme of a run for which nobody names one |
//! | [`Error`] | what went wrong, whose fault it is and what to do |
#![forbid(unsafe_code)]

mod authenticated;
mod cost;
mod driver;
mod error;
mod estimate;
mod job;
mod kept;
pub mod library;
pub mod order;
mod outsourced;
pub mod plan;
mod ports;
pub mod protocols;
pub mod scheme;
mod session;
mod stock;

pub use cost::{Cost, Phase, PhaseCost, peak_memory_bytes};
pub use error::{Category, Error};
pub use estimate::TimeEstimate;
pub use job::{Job, Outcome, SecurityScope};
pub use outsourced::{
    ChainId, ChainVersion, MIN_OUTSOURCED_SECURITY_BITS, OutsourcedJob, OutsourcedParameters,
    OutsourcedRole, RunBound, RunTicket,
};
pub use session::{
    Arrival, BaseOtSource, Door, KeptBaseOts, KeptOts, Listener, PlainListener, Session, Side,
};
pub use stock::{
    Access, BatchBound, BatchPlan, BatchPreparation, ChainMarks, ChainStatus, ChainSummary,
    ComponentDigest, Damage, EndedEpoch, EpochId, KeptChain, Preparation, Prepared, PreparedKind,
    Report, Span, StockError, StockName, StockSummary, StockedKind, Stocks, Storage, TakenNumbers,
    Tried, TriplePreparation, TryName, TryRecord, charge_bits, check_chain_name,
};
pub use tacit_circuit::{
    Circuit, CircuitError, Component, ComponentCache, Digest, Function, FunctionBuilder,
    FunctionError, FunctionFamily, FunctionParameter, Graph, GraphCall, GraphSource, Optimised,
    Pass, Port, Promise, Recipient, Role, Size, Statistics, Type, Value, builder, formats,
    wipe_json,
};
pub use tacit_garble as garble;
pub use tacit_net::{
    CancelHandle, Channel, Fingerprint, Identity, Interrupt, Link, Meter, NetError, SLICE,
    Settings, Sink, Source, Transport, Wait, memory, pairing, relay,
};
pub use tacit_ot::base::BaseOt;
pub use tacit_ot::source::Extension as OtExtension;
pub use tacit_protocol::Incompatibility;
pub use tacit_protocol::message::AbortReason;
pub use tacit_protocol::party::Progress;
pub use tacit_protocol::session::{Proposal, ProtocolId};
