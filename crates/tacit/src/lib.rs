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
//! A first program needs only these types:
//!
//! | type | what it is |
//! |---|---|
//! | [`Function`], [`Circuit`], [`library`] | what is computed |
//! | [`FunctionBuilder`], [`Operand`], [`Part`], [`Expression`] | a function made step by step |
//! | [`Role`], [`Recipient`], [`Type`], [`Value`] | the owners of inputs and results, and their values |
//! | [`Identity`], [`Fingerprint`] | how the parties know each other |
//! | [`Session`], [`Listener`], [`Settings`] | an authenticated connection between two parties |
//! | [`Job`], [`Outcome`], [`SecurityScope`], [`Progress`] | a run of a function, and its results |
//! | [`Error`], [`Category`] | what went wrong, who caused it and what to do |
//!
//! The rest is in modules:
//!
//! | module | what it holds |
//! |---|---|
//! | [`protocols`] | the protocols, what each withstands, and s |
//! | [`order`] | the settings that runs and preparations have in common |
//! | [`stock`] | the material that two parties have prepared, preparations, chains of kept values |
//! | [`join`] | two tables that a function reads pair by pair |
//! | [`matching`] | the keys that two parties' tables have in common |
//! | [`outsourced`] | runs of three parties, in which a cloud does the evaluator's work |
//! | [`plan`] | the cheapest protocol, scheme and partition of a function over a link, and why |
//! | [`scheme`], [`garble`] | the default scheme of a run; all schemes |
//! | [`cost`] | the cost of a run, and of a scheme on this machine |
//! | [`circuit`] | components, families of functions, file formats, the builder |
//! | [`session`] | the terms of a session's orders, and the source of its OTs |
//! | [`net`] | channels, transports, links, cancelling, pairing, relays |
#![forbid(unsafe_code)]

pub mod advice;
mod authenticated;
pub mod circuit;
pub mod cost;
mod driver;
mod error;
mod estimate;
mod job;
pub mod join;
mod kept;
pub mod library;
pub mod matching;
pub mod net;
pub mod order;
pub mod outsourced;
pub mod plan;
mod ports;
pub mod protocols;
pub mod scheme;
pub mod session;
pub mod stock;

pub use error::{Category, Error};
pub use job::{Job, Outcome, SecurityScope};
pub use session::{Listener, Session};
pub use tacit_circuit::{Circuit, Type, Value};
pub use tacit_function::{Expression, Function, FunctionBuilder, Operand, Part, Recipient, Role};
pub use tacit_garble as garble;
pub use tacit_net::{Fingerprint, Identity, Settings, WorkerTerms};
pub use tacit_protocol::Error as ProtocolError;
pub use tacit_protocol::party::Progress;
