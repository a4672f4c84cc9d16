//! The parties that may use a chain, and the program whose runs may.

use super::Chain;
use crate::{Policy, StockError};

impl Chain {
    /// Returns the policy, which says who may use the chain's values.
    ///
    /// # Errors
    ///
    /// [`StockError::NoChain`], [`StockError::ChainKilled`].
    pub fn policy(&self) -> Result<Policy, StockError> {
        let record = self.live()?;
        Ok(record.ok_or_else(|| self.absent())?.policy)
    }

    /// Changes the policy.
    ///
    /// # Errors
    ///
    /// Those of [`Chain::policy`].
    pub fn set_policy(&self, policy: &Policy) -> Result<(), StockError> {
        self.policy()?;
        self.change(|record| record.policy = policy.clone(), |_, _| true)
    }

    /// Returns the program whose runs may use the chain.
    ///
    /// # Errors
    ///
    /// Those of [`Chain::policy`].
    pub fn program(&self) -> Result<Option<[u8; 32]>, StockError> {
        Ok(self.live()?.ok_or_else(|| self.absent())?.program)
    }

    /// Hands the chain over to the runs of another program.
    ///
    /// # Errors
    ///
    /// Those of [`Chain::policy`].
    pub fn set_program(&self, program: Option<[u8; 32]>) -> Result<(), StockError> {
        self.program()?;
        self.change(|record| record.program = program, |_, _| true)
    }
}
