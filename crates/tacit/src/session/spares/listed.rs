//! The base OTs that a folder keeps, for people.

use tacit_function::Role;
use tacit_net::Fingerprint;
use tacit_stock::StockId;

use super::SpareName;
use crate::Error;
use crate::session::BaseOt;
use crate::stock::Stocks;

/// Base OTs that are kept with a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptBaseOts {
    /// This party.
    pub own: Fingerprint,
    /// The other one.
    pub peer: Fingerprint,
    /// What this party is in the runs.
    pub role: Role,
    /// Their kind.
    pub base: BaseOt,
    /// For how many more sessions they are.
    pub sessions: u16,
}

impl Stocks {
    /// The base OTs that sessions keep in this folder.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn base_ots(&self) -> Result<Vec<KeptBaseOts>, Error> {
        let named = |(id, sessions): (StockId, u16)| {
            let name = |base| SpareName {
                own: Fingerprint(id.own.0),
                peer: Fingerprint(id.peer.0),
                role: match id.role {
                    tacit_stock::Role::Garbler => Role::Garbler,
                    tacit_stock::Role::Evaluator => Role::Evaluator,
                },
                base,
            };
            let found = BaseOt::ALL
                .map(name)
                .into_iter()
                .find(|name| name.id() == id)?;
            let SpareName {
                own,
                peer,
                role,
                base,
            } = found;
            Some(KeptBaseOts {
                own,
                peer,
                role,
                base,
                sessions,
            })
        };
        let batches = self.stocks.sets()?.into_iter().filter_map(named);
        Ok(batches.filter(|kept| kept.sessions > 0).collect())
    }
}
