//! The material that has been prepared with a peer, and the runs that use it.
//!
//! | file | what it does |
//! |---|---|
//! | `chains` | chains of kept values, of `prepared`, `authenticated` and `outsourced` |
//! | `contents` | the contents of a party's stock |
//! | `material` | the kinds of material for runs, and an order of any kind |
//! | `opened` | a stock in a session: its kinds, its epoch, what both parties have |
//! | `order` | an order for the stock, for any protocol |
//! | `prepare` | orders of components and OTs, for `prepared` |
//! | `failure` | the stock's error, if it ended a run |
//! | `fill` | fills the stock: lots of OTs and of garbled components |
//! | `pace` | the size of the batches in which the stock is filled |
//! | `lanes` | the stocks of parties that have several processes |
//! | `keeping` | writes the tables of a lot, on several threads |
//! | `messages` | every message of the files below except those of protocols |
//! | `meeting` | compares the two parties' records, and brings lots to both |
//! | `leases` | lets both parties lease the same numbers |
//! | `supply` | leases for a run, and the material that they give |
//! | `run` | a run of `prepared` |
//! | `crosses` | crosses for `gmw`: preparation, and what runs lease |
//! | `authenticated` | triples and instances for `authenticated`: preparation, and runs |
//! | `batch` | checked batches of `batch`: preparation, and a run of one execution |
//! | `tries` | the record of a peer's unfinished tries and cheats |
//! | `usage` | the speed at which the stock is used |
//!
//! The crate `tacit_stock` defines the bytes on disk and their invariants. The messages are in
//! `docs/protocols/prepared.md`.

mod authenticated;
mod batch;
mod chains;
mod contents;
mod crosses;
mod failure;
mod fill;
mod keeping;
mod lanes;
mod leases;
mod material;
mod meeting;
pub(crate) mod messages;
mod opened;
mod order;
mod pace;
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
use std::time::Duration;

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use etcetera::BaseStrategy as _;
use tacit_net::Lane;
use tacit_protocol::authenticated::BLOCK_TRIPLES;
use tacit_stock::{Limits, Witness};

use crate::Error;

pub use crate::kept::ChainAttempt;
pub use authenticated::{LOT_SCHEME, LotPreparation, Lots};
pub(crate) use authenticated::{Lot, LotNeeds, LotTerms, StockedRun};
pub use batch::{BatchBound, BatchPlan, BatchPreparation, Executions};
pub(crate) use batch::{BatchRun, NAME_BYTES, family};
pub use chains::{ForeignChains, KeptChain};
pub use contents::{StockName, StockNeed, StockSummary, StockedKind};
#[cfg(test)]
pub(crate) use crosses::kinds_of_crosses;
pub use crosses::{CrossPreparation, Crosses};
pub(crate) use crosses::{
    NeededCrosses, OtOrigin, crosses_serve, lease_crosses, runs_from_crosses, takes_crosses,
};
pub use lanes::Lanes;
pub(crate) use lanes::{Home, Keepers};
pub use material::{AnyPreparation, Material};
pub(crate) use opened::{OpenedStock, wait_for};
pub use order::{Prepared, PreparedKind};
pub(crate) use prepare::kind_of;
pub use prepare::{Components, Preparation};
pub(crate) use run::PreparedRun;
pub(crate) use supply::{LeaseOrder, Supplies};
pub use tacit_protocol::outsourced::{ChainId, ChainVersion};
pub use tacit_stock::{
    Access, ChainMarks, ChainStatus, ChainSummary, ComponentDigest, Damage, DiskWait, EpochId,
    MAX_LANES, MAX_OPEN_TO, NoteFailures, Report, Span, StockError, Storage, Tried, TryRecord,
    WatchDisk, check_chain_name,
};
pub use taken::TakenNumbers;
pub use tries::{AnsweredKeys, TryName, charge_bits};

/// The number of OTs in one instance of their kind: few enough that a run wastes little, and many
/// enough that the data stored around them is small.
const OT_BLOCK: u64 = 64;

/// Returns the kind under which correlated OTs are kept, [`OT_BLOCK`] per instance.
pub(crate) fn ot_kind() -> ComponentDigest {
    ComponentDigest::of_kind("correlated OTs, 64 an instance")
}

/// Returns the number of countable items (OTs, triples, crosses) in an instance of a kind.
fn unit(kind: &ComponentDigest) -> u64 {
    if authenticated::is_triples(kind) {
        BLOCK_TRIPLES as u64
    } else if *kind == ot_kind() {
        OT_BLOCK
    } else {
        crosses::BlockKind::of(kind).map_or(1, crosses::BlockKind::unit)
    }
}

/// The stocks of this party in one folder: one for each peer, lane, role and garbling scheme.
#[derive(Clone)]
pub struct Stocks {
    pub(crate) stocks: tacit_stock::Stocks,
    storage: Arc<dyn Storage>,
    folder: PathBuf,
    /// The name of this process, if the party has several.
    lane: Lane,
    limits: Limits,
    /// Held while the used material is counted.
    counting: Arc<Mutex<()>>,
    /// The notes outside of the folder, which say how far its records are.
    witness: Option<Witness>,
    /// The reason for which there is no witness.
    unwitnessed: Option<Arc<str>>,
    /// Chains that could not be killed because of the disk.
    doomed: Arc<Mutex<Vec<chains::Doomed>>>,
    /// Excludes the type in a browser, which has no stocks and none of the code for them.
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    _nowhere: nowhere::Nowhere,
}

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod nowhere {
    /// An empty type. The compiler removes all code that would need a value of it.
    #[derive(Clone)]
    pub(super) struct Nowhere(std::convert::Infallible);
}

impl Stocks {
    /// Whether there can be stocks. The compiler does not see everywhere that a browser has none.
    pub(crate) const ARE_POSSIBLE: bool =
        cfg!(not(all(target_family = "wasm", target_os = "unknown")));

    /// Opens the folder, and creates it if it does not exist. No stock in it grows beyond
    /// `max_bytes`.
    ///
    /// The stocks note in `tacit/witness` of the user's state folder how far their records are, so
    /// that records restored from a copy are refused. If no notes can be made there,
    /// [`why_unwitnessed`](Self::why_unwitnessed) says why, and the stocks work without them.
    ///
    /// # Errors
    ///
    /// The folder cannot be created, or its key is damaged or accessible to others.
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

    /// Opens the stocks as [`Stocks::open`] does, with the notes in the folder `notes`, which is
    /// created if it does not exist.
    ///
    /// # Errors
    ///
    /// Those of [`Stocks::open`], or no notes can be made in `notes`.
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

    /// Calls `watch` with the time of each wait for the disk from now on.
    #[must_use]
    pub fn watch_disk(self, watch: Arc<WatchDisk>) -> Self {
        let stocks = self.stocks.watch_disk(watch);
        Self {
            storage: stocks.storage(),
            stocks,
            ..self
        }
    }

    /// Returns the reason for which nothing is noted outside of the folder. In that case only the
    /// peer's records reveal that this party's were restored from a copy.
    pub fn why_unwitnessed(&self) -> Option<&str> {
        self.unwitnessed.as_deref()
    }

    /// Returns the notes that could not be written since the stocks were opened.
    pub fn note_failures(&self) -> NoteFailures {
        let witness = self.witness.as_ref();
        witness.map_or_else(NoteFailures::default, Witness::failures)
    }

    /// Opens the stocks as [`Stocks::open`] does, on other storage than the disk and without notes.
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
            lane: Lane::NONE,
            limits,
            counting: Arc::default(),
            witness: None,
            unwitnessed: None,
            doomed: Arc::default(),
        })
    }

    /// Reads everything in a stock, reports damage, and withdraws what is damaged, so that no run
    /// uses it.
    ///
    /// # Errors
    ///
    /// The stock does not exist, or cannot be read at all.
    pub fn check(&self, name: &StockName) -> Result<Report, Error> {
        Ok(self.stocks.stock(name.id(), self.limits)?.check()?)
    }

    /// Checks that the folder exists and that a run can write to it. Returns how long a write
    /// waited for the disk.
    ///
    /// # Errors
    ///
    /// The folder is gone, read-only or another one, or the disk is full.
    pub fn probe(&self) -> Result<Duration, Error> {
        Ok(self.stocks.probe()?)
    }

    /// Frees the space of used material, and returns the number of freed bytes.
    ///
    /// # Errors
    ///
    /// The stock does not exist, or cannot be written.
    pub fn compact(&self, name: &StockName) -> Result<u64, Error> {
        Ok(self.stocks.stock(name.id(), self.limits)?.compact()?)
    }

    /// Gives up every instance of one kind and returns how many there were. [`Stocks::compact`]
    /// then frees their space. The peer does the same, or follows when the parties meet.
    ///
    /// # Errors
    ///
    /// The stock does not exist, or cannot be written.
    pub fn give_up(&self, name: &StockName, kind: &ComponentDigest) -> Result<u64, Error> {
        let stock = self.stocks.stock(name.id(), self.limits)?;
        Ok(stock.give_up(&[*kind])? * unit(kind))
    }

    /// Destroys a stock, its keys first. Returns the names of the chains of `prepared` that end
    /// with it because their values are under a Δ of its epochs. Once the peer has done the same,
    /// the next preparation starts a new epoch with a new Δ. This is the remedy if one of the
    /// stocks was restored from an old copy, or its machine was cloned.
    ///
    /// # Errors
    ///
    /// Another process is preparing, or the folder cannot be written.
    pub fn end_epoch(&self, name: &StockName) -> Result<Vec<String>, Error> {
        // A chain must not outlive the stock. Before the stock's epoch has ended, another chain may
        // start.
        let end_chains = || self.kill_chains_with(name.keepers(), name.role);
        self.stocks.remove_after(&name.id(), end_chains)
    }
}

impl fmt::Debug for Stocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stocks.fmt(f)
    }
}
