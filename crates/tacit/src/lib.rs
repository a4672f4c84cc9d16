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
//! This is all that a first program needs:
//!
//! | type | what it is |
//! |---|---|
//! | [`Function`], [`Circuit`], [`library`] | what is computed |
//! | [`FunctionBuilder`], [`Operand`], [`Part`], [`Expression`] | one made step by step |
//! | [`Role`], [`Recipient`], [`Type`], [`Value`] | whose inputs and results are, and what |
//! | [`Identity`], [`Fingerprint`] | who the parties are to each other |
//! | [`Session`], [`Listener`], [`Settings`] | an authenticated connection between two of them |
//! | [`Job`], [`Outcome`], [`SecurityScope`], [`Progress`] | a run of a function, and its results |
//! | [`Error`], [`Category`] | what went wrong, whose fault it is and what to do |
//!
//! The rest is in modules:
//!
//! | module | what it holds |
//! |---|---|
//! | [`protocols`] | the protocols, what each withstands, and s |
//! | [`order`] | what a run or preparation can be told, whichever it is |
//! | [`stock`] | what two parties have prepared, how they prepare more, chains of kept values |
//! | [`join`] | two tables that a function reads by their pairs |
//! | [`matching`] | the keys that two parties' tables have in common |
//! | [`outsourced`] | runs of three parties, in which a cloud does the evaluator's work |
//! | [`plan`] | which protocol, scheme and cut of a function cost least over a link, and why |
//! | [`scheme`], [`garble`] | the scheme of a run for which nobody names one; all schemes |
//! | [`cost`] | what a run took, and what a scheme takes on this machine |
//! | [`circuit`] | components, families of functions, file formats, the builder and optimiser |
//! | [`session`] | who asks for what in a session, and where its OTs come from |
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
pub use tacit_net::{Fingerprint, Identity, Settings};
pub use tacit_protocol::Error as ProtocolError;
pub use tacit_protocol::party::Progress;
