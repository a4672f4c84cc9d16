//! The chains of kept values that this party has as a server of `outsourced`: as the generator with
//! a cloud, or as the cloud with a generator.
//!
//! They lie in a folder of their own beside the stocks, since no garbling scheme and no Δ is theirs.

use std::path::PathBuf;

use tacit_circuit::Role;
use tacit_net::Fingerprint;
use tacit_stock::{Chain, ChainSummary, EpochId, PeerId, RootKey, SchemeId, StockError, StockId};

use super::Stocks;
use crate::Error;

const FOLDER: &str = "chains";
/// What stands where a stock has its garbling scheme.
const KEPT: SchemeId = SchemeId(*b"kept");

/// A chain of kept values, and with whom it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptChain {
    /// This party.
    pub own: Fingerprint,
    /// The other server.
    pub peer: Fingerprint,
    /// Garbler for the generator, evaluator for the cloud.
    pub role: Role,
    /// What is kept.
    pub summary: ChainSummary,
}

fn id(own: Fingerprint, peer: Fingerprint, role: Role) -> StockId {
    StockId {
        own: PeerId(own.0),
        peer: PeerId(peer.0),
        role: match role {
            Role::Garbler => tacit_stock::Role::Garbler,
            Role::Evaluator => tacit_stock::Role::Evaluator,
        },
        scheme: KEPT,
    }
}

impl Stocks {
    fn chains_folder(&self) -> PathBuf {
        self.folder.join(FOLDER)
    }

    fn kept(&self) -> Result<tacit_stock::Stocks, Error> {
        let storage = std::sync::Arc::clone(&self.storage);
        Ok(tacit_stock::Stocks::open(
            storage,
            &self.chains_folder(),
            RootKey::Beside,
        )?)
    }

    /// The chain of this name with another server, which need not be there.
    pub(crate) fn chain_with(
        &self,
        own: Fingerprint,
        peer: Fingerprint,
        role: Role,
        name: &str,
    ) -> Result<Chain, Error> {
        let (kept, id) = (self.kept()?, id(own, peer, role));
        let stock = match kept.stock(id, self.limits) {
            Err(StockError::Missing { .. }) => {
                kept.create(id, EpochId::generate(0)?, &[], self.limits)
            }
            stock => stock,
        };
        Ok(stock?.chain(name)?)
    }

    /// The chains of kept values that this party has, with whomever.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn chains(&self) -> Result<Vec<KeptChain>, Error> {
        let names = self.storage.names(&self.folder).unwrap_or_default();
        if !names.iter().any(|name| name == FOLDER) {
            return Ok(Vec::new());
        }
        let kept = self.kept()?;
        let mut chains = Vec::new();
        for id in kept.list()? {
            for summary in kept.stock(id, self.limits)?.chains()? {
                chains.push(KeptChain {
                    own: Fingerprint(id.own.0),
                    peer: Fingerprint(id.peer.0),
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
    /// more, and both servers drop it. Others go on using it meanwhile.
    ///
    /// # Errors
    ///
    /// It cannot be read at all.
    pub fn check_chain(&self, chain: &KeptChain) -> Result<Vec<StockError>, Error> {
        let id = id(chain.own, chain.peer, chain.role);
        let stock = self.kept()?.stock(id, self.limits)?;
        Ok(stock.damaged_in(&chain.summary.name)?)
    }

    /// Removes a chain, killed or not, and destroys its values; its name is free again. The other
    /// server does the same.
    ///
    /// # Errors
    ///
    /// Another process uses it, or the folder cannot be written.
    pub fn drop_chain(&self, chain: &KeptChain) -> Result<(), Error> {
        let name = &chain.summary.name;
        let open = self.chain_with(chain.own, chain.peer, chain.role, name)?;
        Ok(open.remove()?)
    }
}
