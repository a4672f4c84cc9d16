//! Orders for triples.

use tacit_function::{Function, Role};
use tacit_protocol::authenticated::{
    self, BLOCK_BYTES, Epoch, MakingTriples, SecurityBits, blocks_for,
};

use super::prepare::{Keep, LotOrder, Part};
use super::{Content, triples};
use crate::driver::{drive, seed};
use crate::order::{Order, Secured};
use crate::{Error, Session};

/// An order for triples, which any run by `authenticated` takes: both parties give the same, each
/// in its role.
///
/// What is in stock counts. What is missing is made as one lot, which is in stock when both parties
/// have ended well, and not at all otherwise. A run takes its triples from one lot.
///
/// ```no_run
/// # use tacit::stock::{Stocks, TriplePreparation};
/// # use tacit::{Error, Function, Role, Session};
/// # fn prepare(session: &mut Session, stocks: &Stocks, function: &Function) -> Result<(), Error> {
/// let order = TriplePreparation::for_runs(Role::Garbler, function, 20)?;
/// let prepared = order.run(session, stocks)?;
/// println!("{} triples", prepared.available());
/// # Ok(())
/// # }
/// ```
pub type TriplePreparation<'w> = Order<'w, Triples>;

/// Triples that are to be in stock. [`TriplePreparation`] orders them.
pub struct Triples {
    role: Role,
    /// Blocks that are of use in one lot alone: those of a run, or of the whole order.
    unit_blocks: u64,
    /// How many units there are to be.
    units: u64,
}

impl Secured for Triples {}

impl TriplePreparation<'_> {
    /// An order that there be triples for `runs` runs of `function`, of a party in this role.
    ///
    /// # Errors
    ///
    /// `authenticated` cannot run the function, or it takes no triples.
    pub fn for_runs(role: Role, function: &Function, runs: u64) -> Result<Self, Error> {
        authenticated::check(function)?;
        match blocks_for(function) {
            0 => Err(Error::ApiMisuse(
                "a run takes no triples from the stock: the function has no inputs and no AND \
                 gates, or keeps values, and those are under the Δ of their chain",
            )),
            blocks => Ok(Self::new(role, blocks, runs)),
        }
    }

    /// An order that there be `count` triples in one lot, rounded up to whole blocks, for a run of
    /// whatever function: one for each AND gate, and one for each input bit of the party that has
    /// more.
    #[must_use]
    pub fn triples(role: Role, count: u64) -> Self {
        Self::new(role, count.div_ceil(triples(1)).max(1), 1)
    }

    fn new(role: Role, unit_blocks: u64, units: u64) -> Self {
        Self::of(Triples {
            role,
            unit_blocks,
            units,
        })
    }

    /// Triples of the whole order.
    #[must_use]
    pub fn count(&self) -> u64 {
        triples(self.task.unit_blocks.saturating_mul(self.task.units))
    }
}

impl LotOrder for TriplePreparation<'_> {
    fn role(&self) -> Role {
        self.task.role
    }

    fn parts(&self) -> Vec<Part> {
        vec![Part {
            content: Content::triples(),
            name: "triples".to_owned(),
            bytes: BLOCK_BYTES as u64,
            count: self.task.unit_blocks,
            and_gates: 1,
        }]
    }

    fn units(&self) -> u64 {
        self.task.units
    }

    fn words(&self) -> &'static [u8] {
        b"tacit triples order 1\0"
    }

    fn make(
        &mut self,
        session: &mut Session,
        epoch: Epoch,
        security: SecurityBits,
        units: u64,
        keep: &Keep<'_>,
    ) -> Result<(), Error> {
        let blocks = units.saturating_mul(self.task.unit_blocks);
        let keep = |first, blocks: &[u8]| keep(0, first, blocks);
        let mut party = MakingTriples::new(epoch, blocks, security, keep, &seed())?;
        drive(session.channel(), &mut party, &mut self.watch)
    }
}
