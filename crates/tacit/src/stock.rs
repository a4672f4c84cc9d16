//! What has been prepared with a peer, and the runs that use it.
//!
//! | file | what it does |
//! |---|---|
//! | `chains` | chains of kept values, of `prepared` and `outsourced` |
//! | `contents` | what a party has in stock |
//! | `opened` | a stock in a session: its kinds, its epoch, what both have |
//! | `order` | an order for the stock, whichever protocol it is for |
//! | `prepare` | orders of components and OTs, for `prepared` |
//! | `failure` | what the stock said, where a party ended by it |
//! | `fill` | fills it: lots of OTs and of garbled components |
//! | `keeping` | keeps the tables of a lot, on several threads |
//! | `messages` | every message of what follows but those of protocols, each once |
//! | `meeting` | how the two parties' records meet, and lots come to be at both |
//! | `leases` | how both parties come to lease the same numbers |
//! | `supply` | leases for a run, and the material that they give |
//! | `run` | a run of `prepared` |
//! | `crosses` | crosses for `gmw`: preparation, and what runs lease |
//! | `authenticated` | triples and instances for `authenticated`: preparation, and runs |
//! | `batch` | checked batches of `batch`: how they are prepared, and a run of one execution |
//! | `tries` | what is recorded of a peer: tries not finished, and cheats |
//! | `usage` | how fast the stock is used |
//!
//! The bytes on disk and their invariants are those of the crate `tacit_stock`; what crosses the
//! network stands in `docs/protocols/prepared.md`.

mod authenticated;
mod batch;
mod chains;
mod contents;
mod crosses;
mod failure;
mod fill;
mod keeping;
mod leases;
mod meeting;
pub(crate) mod messages;
mod opened;
mod order;
mod prepare;
mod run;
mod supply;
mod taken;
#[cfg(test)]
mod tests;
pub(crate) mod tries;
mod usage;

use std::fmt;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use std::path::Path;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use etcetera::BaseStrategy as _;
use tacit_protocol::authenticated::BLOCK_TRIPLES;
use tacit_stock::{Limits, Witness};

use crate::Error;

pub use authenticated::{LOT_SCHEME, LotPreparation, Lots};
pub(crate) use authenticated::{Lot, LotTerms, Needs, StockedOutcome, StockedRun};
pub use batch::{BatchBound, BatchPlan, BatchPreparation, Executions};
pub(crate) use batch::{
    BatchOutcome, BatchRun, BatchVisitor, NAME_BYTES, check_scheme, family, with_batch_scheme,
};
pub use chains::KeptChain;
pub use contents::{StockName, StockSummary, StockedKind};
pub(crate) use crosses::lease_crosses;
pub use crosses::{CrossPreparation, Crosses};
pub(crate) use opened::{OpenedStock, wait_for};
pub use order::{Prepared, PreparedKind};
pub(crate) use prepare::kind_of;
pub use prepare::{Components, Preparation};
pub(crate) use run::PreparedRun;
pub(crate) use supply::{LeaseOrder, Supplies};
pub use tacit_protocol::outsourced::{ChainId, ChainVersion};
pub use tacit_stock::{
    Access, ChainMarks, ChainStatus, ChainSummary, ComponentDigest, Damage, EpochId, MAX_OPEN_TO,
    NoteFailures, Report, Span, StockError, Storage, Tried, TryRecord, check_chain_name,
};
pub use taken::TakenNumbers;
pub use tries::{TryName, charge_bits};

/// OTs of one numbered instance of the kind: few enough that a run wastes little, and many enough
/// that what is stored around them is small.
const OT_BLOCK: u64 = 64;

/// The kind under which correlated OTs are kept, [`OT_BLOCK`] in an instance.
pub(crate) fn ot_kind() -> ComponentDigest {
    ComponentDigest::of_kind("correlated OTs, 64 an instance")
}

/// How many of what people count there are in an instance of a kind.
fn unit(kind: &ComponentDigest) -> u64 {
    match authenticated::is_triples(kind) {
        true => BLOCK_TRIPLES as u64,
        false if *kind == ot_kind() => OT_BLOCK,
        false => crosses::BlockKind::of(kind).map_or(1, crosses::BlockKind::unit),
    }
}

/// The stocks of this party, in one folder: one for each peer, role and garbling scheme.
#[derive(Clone)]
pub struct Stocks {
    pub(crate) stocks: tacit_stock::Stocks,
    storage: Arc<dyn Storage>,
    folder: PathBuf,
    limits: Limits,
    /// Held while what was taken is counted.
    counting: Arc<Mutex<()>>,
    /// What notes outside of the folder how far its records are.
    witness: Option<Witness>,
    /// Why there is none.
    unwitnessed: Option<Arc<str>>,
    /// Chains that the disk has not let be killed.
    doomed: Arc<Mutex<Vec<chains::Doomed>>>,
    /// A browser has no stocks, and none of the code for them.
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    _nowhere: nowhere::Nowhere,
}

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod nowhere {
    /// What there is not. The compiler leaves out whatever would need one.
    #[derive(Clone)]
    pub(super) struct Nowhere(std::convert::Infallible);
}

impl Stocks {
    /// Opens the folder, and makes it if it does not exist. No stock in it grows beyond
    /// `max_bytes`.
    ///
    /// How far its records are is noted in `tacit/witness` of the user's state folder, so that
    /// records which are restored from a copy are refused. Where no notes can be made there,
    /// [`why_unwitnessed`](Self::why_unwitnessed) says why, and the stock serves without them.
    ///
    /// # Errors
    ///
    /// The folder cannot be made, or its key is damaged or open to others.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn open(folder: &Path, max_bytes: u64) -> Result<Self, Error> {
        let opened = match etcetera::choose_base_strategy() {
            Ok(base) => {
                let state = base.state_dir().unwrap_or_else(|| base.data_dir());
                let notes = state.join("tacit").join("witness");
                Witness::open(Arc::new(tacit_stock::Disk), &notes)
                    .map_err(|error| error.to_string())
            }
            Err(_) => Err("the system names no home directory".to_owned()),
        };
        let stocks = Self::over(Arc::new(tacit_stock::Disk), folder, max_bytes)?;
        Ok(match opened {
            Ok(witness) => stocks.witnessed(witness),
            Err(why) => Self {
                unwitnessed: Some(why.into()),
                ..stocks
            },
        })
    }

    /// [`Stocks::open`] with the notes in the folder `notes`, which is made if it does not exist.
    ///
    /// # Errors
    ///
    /// Those of [`Stocks::open`]; no notes can be made there.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn open_witnessed(folder: &Path, max_bytes: u64, notes: &Path) -> Result<Self, Error> {
        let witness = Witness::open(Arc::new(tacit_stock::Disk), notes)?;
        let stocks = Self::over(Arc::new(tacit_stock::Disk), folder, max_bytes)?;
        Ok(stocks.witnessed(witness))
    }

    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    fn witnessed(self, witness: Witness) -> Self {
        Self {
            stocks: self.stocks.witnessed(witness.clone()),
            witness: Some(witness),
            ..self
        }
    }

    /// Why nothing is noted outside of the folder, so that records which are restored from a copy
    /// are detected only by the peer's.
    #[must_use]
    pub fn why_unwitnessed(&self) -> Option<&str> {
        self.unwitnessed.as_deref()
    }

    /// The notes of how far the records are that could not be written since the stocks were opened.
    #[must_use]
    pub fn note_failures(&self) -> NoteFailures {
        let witness = self.witness.as_ref();
        witness.map_or_else(NoteFailures::default, Witness::failures)
    }

    /// As [`Stocks::open`], on other storage than the disk, with nothing noted outside of it.
    ///
    /// # Errors
    ///
    /// Those of [`Stocks::open`].
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn over(storage: Arc<dyn Storage>, folder: &Path, max_bytes: u64) -> Result<Self, Error> {
        let beside = tacit_stock::RootKey::Beside;
        let stocks = tacit_stock::Stocks::open(Arc::clone(&storage), folder, beside)?;
        let limits = Limits { max_bytes };
        Ok(Self {
            stocks,
            storage,
            folder: folder.to_owned(),
            limits,
            counting: Arc::default(),
            witness: None,
            unwitnessed: None,
            doomed: Arc::default(),
        })
    }

    /// Reads everything in a stock, reports what is damaged, and withdraws it: no run will use it.
    ///
    /// # Errors
    ///
    /// It is not there, or cannot be read at all.
    pub fn check(&self, name: &StockName) -> Result<Report, Error> {
        Ok(self.stocks.stock(name.id(), self.limits)?.check()?)
    }

    /// Checks that the folder is there and takes what a run has to write.
    ///
    /// # Errors
    ///
    /// It is gone, read-only or another one, or the disk is full.
    pub fn probe(&self) -> Result<(), Error> {
        Ok(self.stocks.probe()?)
    }

    /// Frees the room of what is used, and returns how many bytes that gives.
    ///
    /// # Errors
    ///
    /// It is not there, or cannot be written.
    pub fn compact(&self, name: &StockName) -> Result<u64, Error> {
        Ok(self.stocks.stock(name.id(), self.limits)?.compact()?)
    }

    /// Gives up every instance of one kind, and returns how many, so that their room is free after
    /// [`Stocks::compact`]. The peer does the same, or follows when the parties meet.
    ///
    /// # Errors
    ///
    /// It is not there, or cannot be written.
    pub fn give_up(&self, name: &StockName, kind: &ComponentDigest) -> Result<u64, Error> {
        let stock = self.stocks.stock(name.id(), self.limits)?;
        Ok(stock.give_up(&[*kind])? * unit(kind))
    }

    /// Destroys a stock, its keys first, and returns the names of the chains of `prepared` that end
    /// with it, since their values are under a Δ of its epochs. Once the peer has done the same,
    /// the next preparation begins a new epoch with a new Δ: the remedy when one of the stocks was
    /// restored from an old copy, or its machine was cloned.
    ///
    /// # Errors
    ///
    /// Another process prepares, or the folder cannot be written.
    pub fn end_epoch(&self, name: &StockName) -> Result<Vec<String>, Error> {
        let StockName {
            own, peer, role, ..
        } = *name;
        // A chain must not outlive the stock, and before its epoch has ended another may begin.
        let end_chains = || self.kill_chains_with(own, peer, role);
        self.stocks.remove_after(&name.id(), end_chains)
    }
}

impl fmt::Debug for Stocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stocks.fmt(f)
    }
}
