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
use tacit_stock::{
    Chain, ChainSummary, EpochId, PeerId, RootKey, SchemeId, Stock, StockError, StockId,
};

use super::{StockName, Stocks, stock_role};
use crate::Error;
use crate::protocols::Protocol;

const FOLDER: &str = "chains";
/// What stands where a stock has its garbling scheme: of chains of `outsourced`, of `prepared`, and
/// of `authenticated`.
const KEPT: SchemeId = SchemeId(*b"kept");
const KEPT_BY_TWO: SchemeId = SchemeId(*b"kep2");
const KEPT_SHARED: SchemeId = SchemeId(*b"kep3");
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
        role: stock_role(role),
        scheme: match protocol {
            Protocol::Outsourced => KEPT,
            Protocol::Authenticated => KEPT_SHARED,
            _ => KEPT_BY_TWO,
        },
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

    /// The chain of this name with another party, in a role of a protocol; it need not be there.
    pub(crate) fn chain_with(
        &self,
        own: Fingerprint,
        peer: Fingerprint,
        role: (Protocol, Role),
        name: &str,
    ) -> Result<Chain, Error> {
        let (kept, id) = (self.kept()?, id(own, peer, role));
        let stock = match kept.stock(id, self.limits) {
            Err(StockError::Missing { .. }) => {
                kept.create(id, EpochId::generate(0)?, &[], self.limits)
            }
            stock => stock,
        };
        let chain = stock?.chain(name)?;
        self.kill_if_doomed(&chain)?;
        Ok(chain)
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
        let Some((of_both, chains)) = self.live_chains_with(own, peer, role)? else {
            return Ok(Vec::new());
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
    /// The folder cannot be read.
    pub fn chains(&self) -> Result<Vec<KeptChain>, Error> {
        let Some(kept) = self.kept_if_any()? else {
            return Ok(Vec::new());
        };
        let mut chains = Vec::new();
        for id in kept.list()? {
            for summary in kept.stock(id, self.limits)?.chains()? {
                chains.push(KeptChain {
                    own: Fingerprint(id.own.0),
                    peer: Fingerprint(id.peer.0),
                    protocol: match id.scheme {
                        KEPT => Protocol::Outsourced,
                        KEPT_SHARED => Protocol::Authenticated,
                        _ => Protocol::Prepared,
                    },
                    role: match id.role {
                        tacit_stock::Role::Garbler => Role::Garbler,
                        tacit_stock::Role::Evaluator => Role::Evaluator,
                    },
                    summary,
                });
            }
        }
        Ok(chains)
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
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use tacit_stock::{ChainStatus, Memory, Policy};

    use super::*;

    const CLOUD: (Protocol, Role) = (Protocol::Outsourced, Role::Evaluator);

    #[test]
    fn what_the_disk_does_not_let_be_killed_is_not_used() {
        let disk = Memory::new();
        let stocks = Stocks::over(Arc::new(disk.clone()), Path::new("s"), 1 << 20).expect("room");
        let [own, peer] = [1, 2].map(|party| Fingerprint([party; 32]));
        let open = |stocks: &Stocks| stocks.chain_with(own, peer, CLOUD, "friends");
        let chain = open(&stocks).expect("room");
        let new = chain.create([7; 16], &Policy::default(), None, b"a split");
        let version = new.expect("room").finish().expect("room");
        chain.publish(version).expect("room");
        disk.refuse_commits(true);
        let killed = stocks.kill_chain(&chain, "a circuit was wrong");
        drop(chain);
        for refused in [killed, open(&stocks.clone()).map(drop)] {
            let error = refused.expect_err("no room").to_string();
            assert!(error.contains("a circuit was wrong"), "{error}");
        }
        disk.refuse_commits(false);
        let chain = open(&stocks).expect("room");
        assert_eq!(chain.marks().expect("a record").status, ChainStatus::Killed);
        chain.remove().expect("room");
        drop(chain);
        let chain = open(&stocks).expect("room");
        assert_eq!(chain.marks().expect("none").status, ChainStatus::Absent);
    }

    /// A chain with somebody else whose folder was damaged is no reason to let one live on.
    #[test]
    fn an_unreadable_chain_with_another_saves_none() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let stocks = Stocks::open(folder.path(), 1 << 20).expect("room");
        let [own, peer, other] = [1, 2, 3].map(|party| Fingerprint([party; 32]));
        let place = (Protocol::Prepared, Role::Garbler);
        let open = |peer| stocks.chain_with(own, peer, place, "total").expect("room");
        begin(&open(other), 7);
        let chains = stocks.chains_folder();
        let entries = std::fs::read_dir(&chains).expect("a folder");
        let entries = entries.map(|entry| entry.expect("an entry").path());
        let of_other: Vec<_> = entries.filter(|path| path.is_dir()).collect();
        begin(&open(peer), 8);
        for folder in of_other {
            for file in std::fs::read_dir(folder).expect("a folder") {
                let file = file.expect("an entry").path();
                if file.is_file() {
                    std::fs::write(file, "not an index").expect("room");
                }
            }
        }
        stocks.chains().expect_err("one cannot be read");
        let killed = stocks.kill_chains_with(own, peer, Role::Garbler);
        assert_eq!(killed.expect("one that can be read"), ["total"]);
        let marks = open(peer).marks().expect("a record");
        assert_eq!(marks.status, ChainStatus::Killed);
    }

    fn begin(chain: &Chain, id: u8) {
        let new = chain.create([id; 16], &Policy::default(), None, b"a split");
        let version = new.expect("room").finish().expect("room");
        chain.publish(version).expect("room");
    }

    /// A service cannot kill a chain; another process drops it and begins one of the same name.
    #[test]
    fn a_chain_that_was_dropped_beside_a_service_is_not_killed_under_its_new_id() {
        let disk = Memory::new();
        let both = [(); 2]
            .map(|()| Stocks::over(Arc::new(disk.clone()), Path::new("s"), 1 << 20).expect("room"));
        let [service, command] = &both;
        let [own, peer] = [1, 2].map(|party| Fingerprint([party; 32]));
        let open = |stocks: &Stocks| stocks.chain_with(own, peer, CLOUD, "friends");
        let chain = open(service).expect("room");
        begin(&chain, 7);
        disk.refuse_commits(true);
        let killed = service.kill_chain(&chain, "a circuit was wrong");
        killed.expect_err("no room");
        disk.refuse_commits(false);
        // The run still has the chain.
        let kept = command.chains().expect("a folder");
        let error = command.drop_chain(&kept[0]).expect_err("it is in use");
        assert_eq!(error.category(), crate::Category::Stock, "{error}");
        drop(chain);
        command.drop_chain(&kept[0]).expect("nobody has it");
        begin(&open(command).expect("nobody has it"), 8);
        // What was read of the old one does not drop the new one.
        command.drop_chain(&kept[0]).expect_err("it is another one");
        let chain = open(service).expect("it is another one");
        assert_eq!(chain.marks().expect("a record").status, ChainStatus::Live);
    }
}
