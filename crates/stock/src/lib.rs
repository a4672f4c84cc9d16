//! The stock: what two parties have prepared together. It is durable at both, and each piece is
//! used at most once.
//!
//! - **Open or make** a stock: [`Stocks::open`], [`Stocks::create`], [`Stocks::stock`].
//! - **Meet** the peer: [`Stock::marks`], its answer to [`Stock::reconcile`], [`Stock::confirm`].
//! - **Prepare**: [`Stock::prepare`], [`Preparation::begin_lot`], [`LotWriter::put`],
//!   [`LotWriter::finish`] and, once the peer has it, too, [`Stock::publish`];
//!   [`Preparation::forget`] for kinds that never had any material.
//! - **Use**: [`Stock::lease`] or [`Stock::lease_spans`], [`Stock::lease_all`] or
//!   [`Stock::lease_named`] for several kinds at once, into a [`LeasePool`] ahead of need;
//!   [`Lease::take`], [`Lease::instances`].
//! - **Keep** values between runs: [`Stock::chain`], [`Chain::reconcile`],
//!   [`Chain::begin_attempt`], [`Chain::load`], [`Chain::begin_version`], [`Chain::publish`],
//!   [`Chain::kill`].
//! - **Set aside** a lot after the peer cheated, and count what went wrong: [`Stock::set_aside`],
//!   [`Stocks::change_tries`].
//! - **Count** the keys of a peer that a service answers on a day: [`Stocks::answer_keys`].
//! - **Look after** it: [`Stock::summary`], [`Stock::check`], [`Stock::compact`],
//!   [`Stock::new_epoch`], [`Stocks::remove`], [`Stocks::probe`].
//!
//! Secrets are sealed under keys by number that only move forward (`cover`). The keys are in a file
//! that is overwritten in place (`keys`). A database (`records`) says what is where and what is
//! spent. The instances are in files read by position (`lots`). All of it uses [`Storage`]:
//! [`Disk`] for programs, and [`Memory`], which can lose power, for tests. docs/stock.md describes
//! the bytes of every file, the invariants, and why no crash breaks them.
//!
//! ```
//! use std::{path::Path, sync::Arc};
//! use tacit_stock::*;
//!
//! # fn main() -> Result<(), StockError> {
//! let stocks = Stocks::open(Arc::new(Memory::new()), Path::new("stocks"), RootKey::Beside)?;
//! let id = StockId {
//!     own: PeerId([1; 32]),
//!     peer: PeerId([2; 32]),
//!     role: Role::Garbler,
//!     scheme: *b"demo",
//!     lanes: LaneIds::default(),
//! };
//! let stock = stocks.create(id, EpochId::generate(0)?, b"the offset", Limits::default())?;
//!
//! // Ten instances with 16 secret bytes each, which the peer has durably, too.
//! let aes = ComponentDigest([7; 32]);
//! let size = InstanceSize { secret_bytes: 16, table_bytes: 0 };
//! let preparation = stock.prepare()?;
//! let lot = preparation.begin_lot(aes, size, Span { first: 0, count: 10 })?;
//! lot.put(0, &[5; 160], &[])?;
//! lot.finish()?;
//! stock.publish(&aes, 0)?;
//!
//! // Four are leased in advance, and two of them are used.
//! let mut lease = stock.lease(&aes, 4)?;
//! for instance in lease.take(2)?.instances() {
//!     assert_eq!(instance?.secret(), [5; 16]);
//! }
//! assert_eq!(stock.available(&aes)?, 6);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod answered;
mod chains;
mod codec;
mod counts;
mod cover;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
mod disk;
mod error;
mod forget;
mod inspect;
mod keys;
mod lease;
mod lots;
mod marks;
mod memory;
mod names;
mod passed;
mod policy;
mod probe;
mod process;
mod records;
mod seal;
mod stock;
mod stocks;
mod storage;
mod timed;
mod tries;
mod values;
mod witness;

pub use answered::AnsweredKeys;
pub use chains::{
    Chain, ChainAgreement, ChainMarks, ChainStatus, ChainSummary, MAX_CHAINS, MAX_VALUES,
    NewVersion,
};
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use disk::Disk;
pub use error::{Repair, StockError, Whose};
pub use inspect::{Damage, KindSummary, Report, Summary};
pub use lease::{Instances, Lease, LeasePool, LeaseRequest};
pub use lots::{Instance, LotWriter, MAX_INSTANCE_BYTES, Preparation};
pub use marks::{AgreedKind, Agreement, KindMarks, Marks};
pub use memory::Memory;
pub use names::{ComponentDigest, EpochId, InstanceSize, LaneId, LaneIds, PeerId, StockId};
pub use policy::{Access, MAX_OPEN_TO, MAX_RULES, Policy, Rule, check_chain_name};
pub use process::OfProcess;
pub use records::{
    FORMAT_VERSION, MAX_CHAIN_NAME_BYTES, MAX_EPOCH_SECRET_BYTES, MAX_KINDS, MAX_NAME_BYTES,
    MAX_PENDING_LOTS, write_version,
};
pub use stock::{Limits, Stock};
pub use stocks::{MAX_LANES, Meeting, RootKey, Stocks};
pub use storage::{Entries, Entry, Index, MAX_KEY_BYTES, Storage, StoredFile, UpdateWork};
pub use tacit_circuit::{Role, Span};
pub use timed::{DiskWait, WatchDisk};
pub use tries::{Tried, TryKey, TryRecord};
pub use values::MAX_VALUE_BYTES;
pub use witness::{NoteFailures, Witness};
