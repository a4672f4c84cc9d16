//! The chains of kept values of this party. In `outsourced` it is the generator with a cloud, or
//! the cloud with a generator. In `prepared` and `authenticated` it is the garbler or the
//! evaluator.
//!
//! The chains are in a folder of their own next to the stocks, since they have no garbling scheme
//! and no epoch.

use std::path::PathBuf;
use std::sync::{MutexGuard, PoisonError};

use tacit_circuit::Digest;
use tacit_function::Role;
use tacit_net::Fingerprint;
use tacit_stock::{Chain, ChainSummary, EpochId, PeerId, RootKey, Stock, StockError, StockId};

use super::{Keepers, Lanes, StockName, Stocks};
use crate::Error;
use crate::protocols::Protocol;

const FOLDER: &str = "chains";
/// The bytes in place of a stock's garbling scheme, for the chains of `outsourced`, of `prepared`,
/// and of `authenticated`.
const KEPT: [u8; 4] = *b"kept";
const KEPT_BY_TWO: [u8; 4] = *b"kep2";
const KEPT_SHARED: [u8; 4] = *b"kep3";
/// The reason recorded for a chain of `prepared` that ended with its stock.
pub(super) const STOCK_DESTROYED: &str = "the stock whose Δ its values are under was destroyed";

/// A chain of kept values, and the parties that keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptChain {
    /// This party.
    pub own: Fingerprint,
    /// The other party that keeps the chain.
    pub peer: Fingerprint,
    /// The parties' processes that keep it, where a party has several.
    pub lanes: Lanes,
    /// The protocol of the runs that use it: `prepared`, `authenticated` or `outsourced`.
    pub protocol: Protocol,
    /// This party's role. Under `outsourced`, the generator is the garbler and the cloud the
    /// evaluator.
    pub role: Role,
    /// The contents of the chain.
    pub summary: ChainSummary,
}

impl KeptChain {
    fn place(&self) -> (Protocol, Role) {
        (self.protocol, self.role)
    }

    fn keepers(&self) -> Keepers {
        let Self {
            own, peer, lanes, ..
        } = *self;
        Keepers { own, peer, lanes }
    }
}

/// The chains that this party keeps with one peer in a role of a protocol, written in another
/// version of the format. This version knows only their keepers and can only destroy them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignChains {
    /// This party.
    pub own: Fingerprint,
    /// The other party that keeps them.
    pub peer: Fingerprint,
    /// The parties' processes that keep them, where a party has several.
    pub lanes: Lanes,
    /// The protocol of the runs that use them.
    pub protocol: Protocol,
    /// This party's role.
    pub role: Role,
}

/// A chain that is to be killed, but could not be killed yet because of the disk.
pub(super) struct Doomed {
    stock: StockId,
    chain: String,
    /// The id of the chain, if it could be read. Another chain may have its name by now.
    id: Option<[u8; 16]>,
    why: String,
}

pub(super) fn id(keepers: Keepers, (protocol, role): (Protocol, Role)) -> StockId {
    StockId {
        own: PeerId(keepers.own.0),
        peer: PeerId(keepers.peer.0),
        role,
        lanes: keepers.lanes.ids(),
        scheme: match protocol {
            Protocol::Outsourced => KEPT,
            Protocol::Authenticated => KEPT_SHARED,
            _ => KEPT_BY_TWO,
        },
    }
}

fn protocol_of(id: &StockId) -> Protocol {
    match id.scheme {
        KEPT => Protocol::Outsourced,
        KEPT_SHARED => Protocol::Authenticated,
        _ => Protocol::Prepared,
    }
}

fn kept_chain(id: &StockId, lanes: Lanes, summary: ChainSummary) -> KeptChain {
    KeptChain {
        lanes,
        own: Fingerprint(id.own.0),
        peer: Fingerprint(id.peer.0),
        protocol: protocol_of(id),
        role: id.role,
        summary,
    }
}

impl Stocks {
    fn chains_folder(&self) -> PathBuf {
        self.folder.join(FOLDER)
    }

    pub(super) fn kept(&self) -> Result<tacit_stock::Stocks, Error> {
        let storage = std::sync::Arc::clone(&self.storage);
        let folder = self.chains_folder();
        let stocks = tacit_stock::Stocks::open(storage, &folder, RootKey::Beside)?;
        Ok(match &self.witness {
            Some(witness) => stocks.witnessed(witness.of_chains()),
            None => stocks,
        })
    }

    /// Opens the folder as [`Stocks::kept`] does, if there ever was a chain: listing chains must
    /// not create it.
    fn kept_if_any(&self) -> Result<Option<tacit_stock::Stocks>, Error> {
        let names = self.storage.names(&self.folder).unwrap_or_default();
        let is_there = names.iter().any(|name| name == FOLDER);
        is_there.then(|| self.kept()).transpose()
    }

    /// Returns the stock that has the chains with another party, in a role of a protocol.
    pub(crate) fn chains_with(
        &self,
        keepers: Keepers,
        role: (Protocol, Role),
    ) -> Result<Stock, Error> {
        let (kept, id) = (self.kept()?, id(keepers, role));
        let create = || kept.create(id, EpochId::generate(0)?, &[], self.limits);
        if let Some(stock) = kept.find(id, self.limits)? {
            return Ok(stock);
        }
        Ok(match create() {
            // A peer may name any lane, and a run that fails leaves a stock without a chain.
            Err(StockError::TooManyLanes { .. }) => {
                self.remove_unused(&kept, id)?;
                create()?
            }
            created => created?,
        })
    }

    /// Returns the stocks that have chains with any of the peer's processes, in a role of a
    /// protocol.
    pub(super) fn chain_stocks(
        &self,
        keepers: Keepers,
        role: (Protocol, Role),
    ) -> Result<Vec<(Lanes, Stock)>, Error> {
        let Some(kept) = self.kept_if_any()? else {
            return Ok(Vec::new());
        };
        let mut id = id(keepers, role);
        let mut stocks = Vec::new();
        for lane in kept.lanes(&id)? {
            id.lanes.peer = lane;
            // One whose beginning was cut off, or is under way, has no chain.
            if let Some(stock) = kept.find(id, self.limits)? {
                stocks.push((Lanes::of(id.lanes)?, stock));
            }
        }
        Ok(stocks)
    }

    /// Returns the chain of this name in the stock that has it. The chain need not exist. If the
    /// chain is busy, this only costs a look at its lock.
    pub(crate) fn chain_in(&self, stock: &Stock, name: &str) -> Result<Chain, Error> {
        let chain = stock.chain(name)?;
        self.kill_if_doomed(&chain)?;
        Ok(chain)
    }

    /// Returns the chain of this name with another party, in a role of a protocol. It need not
    /// exist.
    pub(crate) fn chain_with(
        &self,
        keepers: Keepers,
        role: (Protocol, Role),
        name: &str,
    ) -> Result<Chain, Error> {
        self.chain_in(&self.chains_with(keepers, role)?, name)
    }

    /// Kills a chain. If the disk fails, this process and everything that shares these stocks stop
    /// using the chain until it is killed.
    pub(crate) fn kill_chain(&self, chain: &Chain, why: &str) -> Result<(), Error> {
        let (stock, id) = (chain.stock(), chain.marks().ok().map(|marks| marks.id));
        self.noted(chain.kill(why), stock, chain.name(), id)
    }

    /// Records a chain that could not be killed.
    fn noted(
        &self,
        killed: Result<(), StockError>,
        stock: &Stock,
        chain: &str,
        id: Option<[u8; 16]>,
    ) -> Result<(), Error> {
        if let Err(StockError::NotKilled { why, .. }) = &killed {
            self.doomed().push(Doomed {
                stock: stock.id(),
                chain: chain.to_owned(),
                id,
                why: why.clone(),
            });
        }
        Ok(killed?)
    }

    /// Returns the chains of `prepared` that this party keeps with `peer` in this role and that
    /// have not been killed, together with their stock.
    fn live_chains_with(
        &self,
        keepers: Keepers,
        role: Role,
    ) -> Result<Option<(Stock, Vec<ChainSummary>)>, Error> {
        let place = (Protocol::Prepared, role);
        let Some(all) = self.kept_if_any()? else {
            return Ok(None);
        };
        // Only the chains of these two parties: unreadable chains with others must not get in the
        // way.
        let Some(of_both) = all.find(id(keepers, place), self.limits)? else {
            return Ok(None);
        };
        let mut chains = of_both.chains()?;
        chains.retain(|chain| chain.killed.is_none());
        Ok(Some((of_both, chains)))
    }

    /// Returns the names of the chains of `prepared` that [`Stocks::end_epoch`] of this stock would
    /// end.
    ///
    /// # Errors
    ///
    /// The chains cannot be read.
    pub fn chains_that_end_with(&self, name: &StockName) -> Result<Vec<String>, Error> {
        let live = self.live_chains_with(name.keepers(), name.role)?;
        let chains = live.map_or_else(Vec::new, |(_, chains)| chains);
        Ok(chains.into_iter().map(|chain| chain.name).collect())
    }

    /// Kills the chains of `prepared` that this party keeps with `peer` in this role, and returns
    /// their names. A party that knows the Δ under which a value was saved can open both rows that
    /// bring the value into a run, and so learns the Δ of that run's stock. A run that has such a
    /// chain open finds it killed.
    pub(super) fn kill_chains_with(
        &self,
        keepers: Keepers,
        role: Role,
    ) -> Result<Vec<String>, Error> {
        let (of_both, chains) = match self.live_chains_with(keepers, role) {
            // This version cannot read the chains of another version, but that version could
            // continue them.
            Err(Error::Stock(error)) if matches!(*error, StockError::Incompatible { .. }) => {
                let id = id(keepers, (Protocol::Prepared, role));
                self.kept()?.remove(&id)?;
                return Ok(Vec::new());
            }
            live => match live? {
                None => return Ok(Vec::new()),
                Some(live) => live,
            },
        };
        let mut killed = Ok(Vec::new());
        for chain in chains {
            let done = of_both.kill_chain(&chain.name, STOCK_DESTROYED);
            let done = self.noted(done, &of_both, &chain.name, Some(chain.marks.id));
            killed = match (killed, done) {
                (Ok(mut names), Ok(())) => {
                    names.push(chain.name);
                    Ok(names)
                }
                (Err(error), _) | (_, Err(error)) => Err(error),
            };
        }
        killed
    }

    /// Kills the chain if [`Stocks::kill_chain`] could not.
    fn kill_if_doomed(&self, chain: &Chain) -> Result<(), StockError> {
        let is_it =
            |doomed: &Doomed| doomed.stock == chain.stock().id() && doomed.chain == chain.name();
        let doomed = self.doomed();
        let Some(found) = doomed.iter().find(|doomed| is_it(doomed)) else {
            return Ok(());
        };
        let (why, id) = (found.why.clone(), found.id);
        // Release the lock before waiting for the disk. The holder of the chain has it alone.
        drop(doomed);
        // Another process may have dropped the chain and started a new one of the same name since.
        let now = chain.marks()?;
        if id.is_none_or(|id| id == now.id) {
            chain.kill(&why)?;
        }
        self.doomed().retain(|doomed| !is_it(doomed));
        Ok(())
    }

    fn doomed(&self) -> MutexGuard<'_, Vec<Doomed>> {
        self.doomed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the chains of kept values of this party, with all peers.
    ///
    /// # Errors
    ///
    /// The folder, or the chains with a peer, cannot be read.
    pub fn chains(&self) -> Result<Vec<KeptChain>, Error> {
        let (chains, mut failures) = self.chains_by_peer()?;
        match failures.pop() {
            None => Ok(chains),
            Some(failure) => Err(failure),
        }
    }

    /// Returns the chains that can be read, and the errors of those that cannot, by peer.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn chains_by_peer(&self) -> Result<(Vec<KeptChain>, Vec<Error>), Error> {
        let (mut chains, mut failures) = (Vec::new(), Vec::new());
        let Some(kept) = self.kept_if_any()? else {
            return Ok((chains, failures));
        };
        for id in kept.list_each()? {
            let found = id.map_err(Error::from).and_then(|id| {
                let found = kept.stock(id, self.limits)?.chains()?.into_iter();
                let lanes = Lanes::of(id.lanes)?;
                Ok(found.map(move |summary| kept_chain(&id, lanes, summary)))
            });
            match found {
                Ok(found) => chains.extend(found),
                Err(error) => failures.push(error),
            }
        }
        Ok((chains, failures))
    }

    /// Returns the chains of another version of the format. [`Stocks::chains_by_peer`] returns an
    /// error for each of them.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn foreign_chains(&self) -> Result<Vec<ForeignChains>, Error> {
        let Some(kept) = self.kept_if_any()? else {
            return Ok(Vec::new());
        };
        let ids = kept.list_each()?.into_iter().flatten();
        let foreign = ids.filter(|id| {
            let opened = kept.stock(*id, self.limits);
            matches!(opened, Err(StockError::Incompatible { .. }))
        });
        let foreign = foreign.map(|id| {
            Ok(ForeignChains {
                own: Fingerprint(id.own.0),
                peer: Fingerprint(id.peer.0),
                lanes: Lanes::of(id.lanes)?,
                protocol: protocol_of(&id),
                role: id.role,
            })
        });
        foreign.collect()
    }

    /// Destroys chains of another version of the format, which that version would continue. The
    /// other party must drop its half.
    ///
    /// # Errors
    ///
    /// The folder cannot be written.
    pub fn remove_foreign_chains(&self, chains: &ForeignChains) -> Result<(), Error> {
        let ForeignChains {
            own, peer, lanes, ..
        } = *chains;
        let id = id(Keepers { own, peer, lanes }, (chains.protocol, chains.role));
        Ok(self.kept()?.remove(&id)?)
    }

    /// Reads a chain's state and values, and reports damage. A damaged chain cannot be used any
    /// more, and both parties should drop it. Others can use the chain meanwhile.
    ///
    /// # Errors
    ///
    /// The chain cannot be read at all.
    pub fn check_chain(&self, chain: &KeptChain) -> Result<Vec<StockError>, Error> {
        let id = id(chain.keepers(), chain.place());
        let stock = self.kept()?.stock(id, self.limits)?;
        Ok(stock.damaged_in(&chain.summary.name)?)
    }

    /// Lets `who` load and save all values of a chain of `outsourced`, or forbids it again. The
    /// other server must do the same: a run needs the permission of both.
    ///
    /// # Errors
    ///
    /// The chain belongs to two parties that alone use it, another process uses it, it was killed,
    /// or the folder cannot be written.
    pub fn allow(
        &self,
        chain: &KeptChain,
        who: Fingerprint,
        is_allowed: bool,
    ) -> Result<(), Error> {
        let name = &chain.summary.name;
        if chain.protocol != Protocol::Outsourced {
            let what = "a chain of two parties is for these two; nobody else is allowed";
            return Err(Error::ApiMisuse(what));
        }
        let open = self.chain_with(chain.keepers(), chain.place(), name)?;
        let policy = open.policy()?.with(PeerId(who.0), is_allowed)?;
        Ok(open.set_policy(&policy)?)
    }

    /// Hands a chain over to the runs of another program, whose [`Function::program`] is `program`.
    /// The other party must do the same. The new program's runs read the values as the types that
    /// they declare. The caller must know that the values have this meaning.
    ///
    /// [`Function::program`]: tacit_function::Function::program
    ///
    /// # Errors
    ///
    /// A run uses the chain, it was replaced since `chain` was read, it was killed, or the folder
    /// cannot be written.
    pub fn adopt(&self, chain: &KeptChain, program: Digest) -> Result<(), Error> {
        Ok(self.same_chain(chain)?.set_program(Some(program.0))?)
    }

    /// Removes a chain, killed or not, and destroys its values. Its name is then free again. The
    /// other party must do the same. A service may keep running: between its runs nobody holds the
    /// chain, and it does not mistake a new chain of the same name for the old one.
    ///
    /// # Errors
    ///
    /// A run uses the chain, it was replaced since `chain` was read, or the folder cannot be
    /// written.
    pub fn drop_chain(&self, chain: &KeptChain) -> Result<(), Error> {
        Ok(self.same_chain(chain)?.remove()?)
    }

    /// Returns the chain that was listed, and not a newer one of the same name.
    fn same_chain(&self, chain: &KeptChain) -> Result<Chain, Error> {
        let name = &chain.summary.name;
        let open = self.chain_with(chain.keepers(), chain.place(), name)?;
        let now = open.marks()?;
        if now.id != chain.summary.marks.id {
            let what = "the chain was replaced by another one of its name; list the chains again";
            return Err(Error::ApiMisuse(what));
        }
        Ok(open)
    }
}

#[cfg(test)]
mod tests;
