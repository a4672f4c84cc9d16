//! The parties that may use a chain, and the program whose runs may.

use super::Chain;
use crate::{Policy, StockError};

impl Chain {
    /// Who may use its values.
    ///
    /// # Errors
    ///
    /// [`StockError::NoChain`], [`StockError::ChainKilled`].
    pub fn policy(&self) -> Result<Policy, StockError> {
        let record = self.live()?;
        Ok(record.ok_or_else(|| self.absent())?.policy)
    }

    /// Changes who may use its values.
    ///
    /// # Errors
    ///
    /// As [`Chain::policy`].
    pub fn set_policy(&self, policy: &Policy) -> Result<(), StockError> {
        self.policy()?;
        self.change(|record| record.policy = policy.clone(), |_, _| true)
    }

    /// The program whose runs may use the chain.
    ///
    /// # Errors
    ///
    /// As [`Chain::policy`].
    pub fn program(&self) -> Result<Option<[u8; 32]>, StockError> {
        Ok(self.live()?.ok_or_else(|| self.absent())?.program)
    }

    /// Leaves the chain to the runs of another program.
    ///
    /// # Errors
    ///
    /// As [`Chain::policy`].
    pub fn set_program(&self, program: Option<[u8; 32]>) -> Result<(), StockError> {
        self.program()?;
        self.change(|record| record.program = program, |_, _| true)
    }
}
