//! The chains of kept values that this party has: as a server of `outsourced`, the generator with a
//! cloud or the cloud with a generator; or as garbler or evaluator of `prepared` or
//! `authenticated`.
//!
//! They lie in a folder of their own next to the stocks, since no garbling scheme and no epoch is
//! theirs.

use std::path::PathBuf;
use std::sync::{MutexGuard, PoisonError};

use tacit_circuit::Digest;
use tacit_function::Role;
use tacit_net::Fingerprint;
use tacit_stock::{Chain, ChainSummary, EpochId, PeerId, RootKey, Stock, StockError, StockId};

use super::{StockName, Stocks};
use crate::Error;
use crate::protocols::Protocol;

const FOLDER: &str = "chains";
/// What stands where a stock has its garbling scheme: of chains of `outsourced`, of `prepared`, and
/// of `authenticated`.
const KEPT: [u8; 4] = *b"kept";
const KEPT_BY_TWO: [u8; 4] = *b"kep2";
const KEPT_SHARED: [u8; 4] = *b"kep3";
/// Why a chain of `prepared` was killed.
pub(super) const STOCK_DESTROYED: &str = "the stock whose Δ its values are under was destroyed";

/// A chain of kept values, and with whom it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptChain {
    /// This party.
    pub own: Fingerprint,
    /// The other party that keeps it.
    pub peer: Fingerprint,
    /// By which protocol the runs are that use it: `prepared`, `authenticated` or `outsourced`.
    pub protocol: Protocol,
    /// Under `outsourced` garbler for the generator, evaluator for the cloud.
    pub role: Role,
    /// What is kept.
    pub summary: ChainSummary,
}

impl KeptChain {
    fn place(&self) -> (Protocol, Role) {
        (self.protocol, self.role)
    }
}

/// A chain that is to be killed, and that the disk has not let be killed yet.
pub(super) struct Doomed {
    stock: StockId,
    chain: String,
    /// Which chain of this name, where that could be read: another one may have its name since.
    id: Option<[u8; 16]>,
    why: String,
}

fn id(own: Fingerprint, peer: Fingerprint, (protocol, role): (Protocol, Role)) -> StockId {
    StockId {
        own: PeerId(own.0),
        peer: PeerId(peer.0),
        role,
        scheme: match protocol {
            Protocol::Outsourced => KEPT,
            Protocol::Authenticated => KEPT_SHARED,
            _ => KEPT_BY_TWO,
        },
    }
}

fn kept_chain(id: &StockId, summary: ChainSummary) -> KeptChain {
    KeptChain {
        own: Fingerprint(id.own.0),
        peer: Fingerprint(id.peer.0),
        protocol: match id.scheme {
            KEPT => Protocol::Outsourced,
            KEPT_SHARED => Protocol::Authenticated,
            _ => Protocol::Prepared,
        },
        role: id.role,
        summary,
    }
}

impl Stocks {
    fn chains_folder(&self) -> PathBuf {
        self.folder.join(FOLDER)
    }

    fn kept(&self) -> Result<tacit_stock::Stocks, Error> {
        let storage = std::sync::Arc::clone(&self.storage);
        let folder = self.chains_folder();
        let stocks = tacit_stock::Stocks::open(storage, &folder, RootKey::Beside)?;
        Ok(match &self.witness {
            Some(witness) => stocks.witnessed(witness.of_chains()),
            None => stocks,
        })
    }

    /// As [`Stocks::kept`], where there ever was a chain: listing them makes no folder.
    fn kept_if_any(&self) -> Result<Option<tacit_stock::Stocks>, Error> {
        let names = self.storage.names(&self.folder).unwrap_or_default();
        let is_there = names.iter().any(|name| name == FOLDER);
        is_there.then(|| self.kept()).transpose()
    }

    /// The stock that has the chains with another party, in a role of a protocol.
    pub(crate) fn chains_with(
        &self,
        own: Fingerprint,
        peer: Fingerprint,
        role: (Protocol, Role),
    ) -> Result<Stock, Error> {
        let (kept, id) = (self.kept()?, id(own, peer, role));
        let stock = match kept.stock(id, self.limits) {
            Err(StockError::Missing { .. }) => {
                kept.create(id, EpochId::generate(0)?, &[], self.limits)
            }
            stock => stock,
        };
        Ok(stock?)
    }

    /// The chain of this name in the stock that has it; it need not be there. To ask for one that
    /// is busy costs a look at its lock.
    pub(crate) fn chain_in(&self, stock: &Stock, name: &str) -> Result<Chain, Error> {
        let chain = stock.chain(name)?;
        self.kill_if_doomed(&chain)?;
        Ok(chain)
    }

    /// The chain of this name with another party, in a role of a protocol; it need not be there.
    pub(crate) fn chain_with(
        &self,
        own: Fingerprint,
        peer: Fingerprint,
        role: (Protocol, Role),
        name: &str,
    ) -> Result<Chain, Error> {
        self.chain_in(&self.chains_with(own, peer, role)?, name)
    }

    /// Kills a chain. Where the disk does not take that, this process, or whoever shares these
    /// stocks, uses the chain no more before it does.
    ///
    /// # Errors
    ///
    /// The disk does not take it.
    pub(crate) fn kill_chain(&self, chain: &Chain, why: &str) -> Result<(), Error> {
        let (stock, id) = (chain.stock(), chain.marks().ok().map(|marks| marks.id));
        self.noted(chain.kill(why), stock, chain.name(), id)
    }

    /// Notes a chain that could not be killed.
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

    /// The chains of `prepared` that this party keeps with `peer` in this role and that have not
    /// been killed, and where they are.
    fn live_chains_with(
        &self,
        own: Fingerprint,
        peer: Fingerprint,
        role: Role,
    ) -> Result<Option<(Stock, Vec<ChainSummary>)>, Error> {
        let place = (Protocol::Prepared, role);
        let Some(all) = self.kept_if_any()? else {
            return Ok(None);
        };
        // Theirs alone: chains with others that cannot be read are no obstacle.
        let of_both = match all.stock(id(own, peer, place), self.limits) {
            Err(StockError::Missing { .. }) => return Ok(None),
            stock => stock?,
        };
        let mut chains = of_both.chains()?;
        chains.retain(|chain| chain.killed.is_none());
        Ok(Some((of_both, chains)))
    }

    /// The names of the chains of `prepared` that [`Stocks::end_epoch`] of this stock would end.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    pub fn chains_that_end_with(&self, name: &StockName) -> Result<Vec<String>, Error> {
        let live = self.live_chains_with(name.own, name.peer, name.role)?;
        let chains = live.map_or_else(Vec::new, |(_, chains)| chains);
        Ok(chains.into_iter().map(|chain| chain.name).collect())
    }

    /// Kills the chains of `prepared` that this party keeps with `peer` in this role, and names
    /// them: whoever knows the Δ that a value was saved under opens both rows that bring it into a
    /// run, and so learns the Δ of that run's stock. A run that has one open finds it killed.
    ///
    /// # Errors
    ///
    /// The folder cannot be read, or a chain cannot be written.
    pub(super) fn kill_chains_with(
        &self,
        own: Fingerprint,
        peer: Fingerprint,
        role: Role,
    ) -> Result<Vec<String>, Error> {
        let (of_both, chains) = match self.live_chains_with(own, peer, role) {
            // Nobody can read what another version keeps. That one could go on with it.
            Err(Error::Stock(error)) if matches!(*error, StockError::Incompatible { .. }) => {
                let id = id(own, peer, (Protocol::Prepared, role));
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

    /// Does what [`Stocks::kill_chain`] could not.
    fn kill_if_doomed(&self, chain: &Chain) -> Result<(), StockError> {
        let is_it =
            |doomed: &Doomed| doomed.stock == chain.stock().id() && doomed.chain == chain.name();
        let doomed = self.doomed();
        let Some(found) = doomed.iter().find(|doomed| is_it(doomed)) else {
            return Ok(());
        };
        let (why, id) = (found.why.clone(), found.id);
        // Not held while the disk is waited for: who has the chain is alone with it.
        drop(doomed);
        // Another process may have dropped the chain, and started a new one of this name since.
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

    /// The chains of kept values that this party has, with whomever.
    ///
    /// # Errors
    ///
    /// The folder cannot be read, or those with a peer.
    pub fn chains(&self) -> Result<Vec<KeptChain>, Error> {
        let (chains, mut failures) = self.chains_by_peer()?;
        match failures.pop() {
            None => Ok(chains),
            Some(failure) => Err(failure),
        }
    }

    /// The chains that can be read, and why those with some peers cannot.
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
            let found = id.and_then(|id| {
                let found = kept.stock(id, self.limits)?.chains()?;
                Ok(found
                    .into_iter()
                    .map(move |summary| kept_chain(&id, summary)))
            });
            match found {
                Ok(found) => chains.extend(found),
                Err(error) => failures.push(error.into()),
            }
        }
        Ok((chains, failures))
    }

    /// Reads a chain's state and values, and reports what is damaged: nothing of it can be used any
    /// more, and both parties drop it. Others go on using it meanwhile.
    ///
    /// # Errors
    ///
    /// It cannot be read at all.
    pub fn check_chain(&self, chain: &KeptChain) -> Result<Vec<StockError>, Error> {
        let id = id(chain.own, chain.peer, chain.place());
        let stock = self.kept()?.stock(id, self.limits)?;
        Ok(stock.damaged_in(&chain.summary.name)?)
    }

    /// Lets `who` load and save all values of a chain of `outsourced`, or no longer. The other
    /// server does the same: a run needs leave at both.
    ///
    /// # Errors
    ///
    /// The chain is of two parties, who use it and nobody else; another process uses it, it was
    /// killed, or the folder cannot be written.
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
        let open = self.chain_with(chain.own, chain.peer, chain.place(), name)?;
        let policy = open.policy()?.with(PeerId(who.0), is_allowed)?;
        Ok(open.set_policy(&policy)?)
    }

    /// Leaves a chain to the runs of another program, whose [`Function::program`] it is. The other
    /// party does the same. What its runs load they read as they declare it: that the values mean
    /// this to the new program is for the caller to know.
    ///
    /// [`Function::program`]: tacit_function::Function::program
    ///
    /// # Errors
    ///
    /// A run uses it, it is another one since `chain` was read, it was killed, or the folder cannot
    /// be written.
    pub fn adopt(&self, chain: &KeptChain, program: Digest) -> Result<(), Error> {
        Ok(self.same_chain(chain)?.set_program(Some(program.0))?)
    }

    /// Removes a chain, killed or not, and destroys its values; its name is free again. The other
    /// party does the same. A service may run meanwhile: between its runs nobody has the chain,
    /// and what it remembers of one that is gone it does not take for one of the same name.
    ///
    /// # Errors
    ///
    /// A run uses it, it is another one since `chain` was read, or the folder cannot be written.
    pub fn drop_chain(&self, chain: &KeptChain) -> Result<(), Error> {
        Ok(self.same_chain(chain)?.remove()?)
    }

    /// The chain that was listed, and not another of its name.
    fn same_chain(&self, chain: &KeptChain) -> Result<Chain, Error> {
        let name = &chain.summary.name;
        let open = self.chain_with(chain.own, chain.peer, chain.place(), name)?;
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
