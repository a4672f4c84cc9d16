//! Making triples: one lot, which is there when both parties have ended well.

use rand_core::UnwrapErr;
use sha2::{Digest as _, Sha256};
use tacit_circuit::Digest;
use tacit_function::{Function, Role};
use tacit_ot::Security;
use tacit_protocol::authenticated::{
    self, BLOCK_BYTES, EpochSetup, EpochTags, LotSize, MakingTriples, SecurityBits, blocks_for,
};
use tacit_protocol::party::Progress;
use tacit_protocol::session::{ProtocolId, RunTag};
use tacit_stock::{LotWriter, Span, Tried};

use super::{HOME, LotTerms, SHAPE, kind_of, lots_in_stock, name_of, triples};
use crate::driver::{drive, seed};
use crate::order::{Order, Secured};
use crate::session::{OrderTerms, OtNeed};
use crate::stock::failure::StockFailure;
use crate::stock::order::{StockOrder, Stocked};
use crate::stock::tries::CountedTry;
use crate::stock::{OpenedStock, PreparedKind};
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

    /// Bits of statistical security of runs that take the triples: s, or fewer where the check of
    /// the OTs leaves a peer more.
    #[must_use]
    pub fn held_bits(&self) -> u8 {
        self.security.of_lots().map_or(0, SecurityBits::held_bits)
    }

    /// Triples of the whole order.
    #[must_use]
    pub fn count(&self) -> u64 {
        triples(self.task.unit_blocks.saturating_mul(self.task.units))
    }

    /// Bytes that the whole order takes on the disk of each party.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        let blocks = self.task.unit_blocks.saturating_mul(self.task.units);
        SHAPE.record_bytes().saturating_mul(blocks)
    }

    /// Checks the order's s.
    ///
    /// # Errors
    ///
    /// `authenticated` has no such s.
    pub fn check(&self) -> Result<(), Error> {
        self.security.of_lots().map(drop)
    }

    /// What names the order: both parties must give the same one.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let hash = Sha256::new_with_prefix(b"tacit triples order 1\0")
            .chain_update(self.task.unit_blocks.to_le_bytes())
            .chain_update(self.task.units.to_le_bytes());
        Digest(hash.finalize().into())
    }
}

impl StockOrder for TriplePreparation<'_> {
    fn terms(&self) -> Result<OrderTerms, Error> {
        let security = self.security.of_lots()?;
        Ok(OrderTerms {
            protocol: ProtocolId::Prepare,
            role: self.task.role,
            statistical_security_bits: security.get(),
            scheme: HOME,
            function: self.digest(),
            ots: OtNeed {
                count: LotSize::cheapest(self.count(), security).ots() as u64,
                security: Security::Malicious,
                is_bulk: true,
            },
        })
    }

    fn fill(
        &mut self,
        session: &mut Session,
        opened: &mut OpenedStock,
        tag: RunTag,
    ) -> Result<Stocked, Error> {
        let right = opened.meet_to_prepare(session)?;
        let bits = self.security.bits();
        let ordered = LotTerms::at(bits, session.base_ot());
        let lots = lots_in_stock(opened, ordered);
        let of_lots = lots.iter().map(|kind| opened.agreed(kind));
        let mut there = Blocks {
            made: 0,
            available: of_lots.clone().sum(),
            units: of_lots.map(|blocks| blocks / self.task.unit_blocks).sum(),
            made_at_bits: None,
        };
        let missing = self.task.units.saturating_sub(there.units);
        if missing == 0 {
            return Ok(there.stocked(ordered));
        }
        let tags = EpochTags {
            garbler: tag.triples_setup(Role::Garbler),
            evaluator: tag.triples_setup(Role::Evaluator),
        };
        let mut rng = UnwrapErr(getrandom::SysRng);
        let mut setup = EpochSetup::new(self.task.role, session.ot_settings(), tags, &mut rng)?;
        let (id, kind) = (*setup.id(), kind_of(ordered, setup.id()));
        opened.stocks.note_name(&kind, &name_of(ordered));
        let span = Span {
            first: 0,
            count: missing.saturating_mul(self.task.unit_blocks),
        };
        // What does not fit is refused before the try counts.
        let lot = right.begin_lot(kind, SHAPE, span)?;
        let stocks = opened.stocks.clone();
        let (mut tried, charge_bits) =
            session.count_epoch((self.task.role, bits), Some(&stocks))?;
        let security = self.security.of_lots()?.charged(charge_bits);
        let security = security.ok_or(Error::TooManyTries {
            tried: Tried::Authenticated,
            unfinished: tried.as_ref().map_or(0, |tried| tried.before),
        })?;
        session.set_up_epoch(&mut setup, tried.as_mut())?;
        let making = Making {
            epoch: setup.finish()?,
            security,
            header: [&[security.get()][..], &id].concat(),
            lot: &lot,
        };
        // Who is done may hear only when it publishes that the other found a cheat.
        let made = making.run(session, &mut self.watch);
        let published = made.and_then(|()| opened.publish(session, lot));
        if let (Err(error), Some(tried)) = (&published, &tried) {
            tried.note_cheat(error)?;
        }
        published?;
        tried.map_or(Ok(()), CountedTry::finish)?;
        opened.note_published(&kind, span);
        there.made = span.count;
        there.available += span.count;
        there.units += missing;
        there.made_at_bits = Some(security.get());
        Ok(there.stocked(ordered))
    }
}

/// What was made, and what is there, in blocks.
struct Blocks {
    made: u64,
    available: u64,
    units: u64,
    made_at_bits: Option<u8>,
}

impl Blocks {
    /// What people are told of it.
    fn stocked(self, ordered: LotTerms) -> Stocked {
        let kind = PreparedKind {
            name: name_of(ordered),
            made: triples(self.made),
            available: triples(self.available),
            and_gates: 1,
        };
        Stocked {
            kinds: vec![kind],
            runs: Some(self.units),
            made_at_bits: self.made_at_bits,
            plan: None,
            makes_ots: self.made > 0,
        }
    }
}

/// The making of a lot under an epoch of its own.
struct Making<'a> {
    epoch: authenticated::Epoch,
    security: SecurityBits,
    /// What each block says of the lot.
    header: Vec<u8>,
    lot: &'a LotWriter,
}

impl Making<'_> {
    fn run(self, session: &mut Session, watch: &mut dyn FnMut(Progress)) -> Result<(), Error> {
        let Self {
            epoch,
            security,
            header,
            lot,
        } = self;
        let seed = seed();
        let failure = StockFailure::default();
        let keep = |first: u64, blocks: &[u8]| {
            let headers = header.repeat(blocks.len() / BLOCK_BYTES);
            let kept = lot.put(first, blocks, &headers);
            kept.map_err(|error| failure.note(error))
        };
        let blocks = lot.span().count;
        let mut party = MakingTriples::new(epoch, blocks, security, keep, &seed)?;
        failure.or(drive(session.channel(), &mut party, watch))
    }
}
