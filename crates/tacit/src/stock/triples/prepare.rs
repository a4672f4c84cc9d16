//! Making triples: one lot, which is there when both parties have ended well.

use std::cell::Cell;
use std::time::{Duration, Instant};

use rand_core::{Rng, UnwrapErr};
use sha2::{Digest as _, Sha256};
use tacit_circuit::{Digest, Function, Role};
use tacit_net::Meter;
use tacit_ot::Security;
use tacit_protocol::authenticated::{
    self, BLOCK_BYTES, EpochSetup, EpochTags, LotSize, MakingTriples, SecurityBits, blocks_for,
};
use tacit_protocol::party::Progress;
use tacit_protocol::session::{Proposal, ProtocolId, RunTag};
use tacit_stock::{LotWriter, Span, Tried};
use zeroize::Zeroizing;

use super::{HOME, LotTerms, SHAPE, kind_of, lots_in_stock, name_of, triples};
use crate::driver::drive;
use crate::protocols::DEFAULT_SECURITY_BITS;
use crate::session::OtNeed;
use crate::stock::OpenedStock;
use crate::stock::tries::CountedTry;
use crate::{Error, OtExtension, Session, Stocks};

/// An order for triples, which any run by `authenticated` takes: both parties give the same, each
/// in its role.
///
/// What is in stock counts. What is missing is made as one lot, which is in stock when both parties
/// have ended well, and not at all otherwise. A run takes its triples from one lot.
///
/// ```no_run
/// # use tacit::{Error, Function, Role, Session, Stocks, TriplePreparation};
/// # fn prepare(session: &mut Session, stocks: &Stocks, function: &Function) -> Result<(), Error> {
/// let order = TriplePreparation::for_runs(Role::Garbler, function, 20)?;
/// let prepared = order.run(session, stocks)?;
/// println!("{} triples", prepared.available);
/// # Ok(())
/// # }
/// ```
pub struct TriplePreparation<'w> {
    role: Role,
    /// Blocks that are of use in one lot alone: those of a run, or of the whole order.
    unit_blocks: u64,
    /// How many units there are to be.
    units: u64,
    statistical_security_bits: u8,
    time_limit: Option<Duration>,
    watch: Box<dyn FnMut(Progress) + Send + 'w>,
}

/// What an order for triples did.
#[derive(Clone, Debug)]
pub struct PreparedTriples {
    /// Triples that were made.
    pub made: u64,
    /// Triples that can be used now, at the s of the order or a higher one.
    pub available: u64,
    /// For how many runs of the order's function they are enough; of an order for triples alone,
    /// how often they are there.
    pub runs: u64,
    /// The s that they were made at, where some were: higher than what was ordered where earlier
    /// tries were not finished.
    pub made_at_bits: Option<u8>,
    /// How OTs were made, where any were.
    pub ot_extension: Option<OtExtension>,
    /// Wall time.
    pub wall: Duration,
    /// Bytes, messages and rounds.
    pub traffic: Meter,
}

impl<'w> TriplePreparation<'w> {
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
        Self {
            role,
            unit_blocks,
            units,
            statistical_security_bits: DEFAULT_SECURITY_BITS,
            time_limit: None,
            watch: Box::new(|_| ()),
        }
    }

    /// s, from 40 to 64. The default is 40.
    #[must_use]
    pub fn statistical_security_bits(mut self, bits: u8) -> Self {
        self.statistical_security_bits = bits;
        self
    }

    /// Ends the preparation where it is not done within `limit`; see
    /// [`Preparation::time_limit`](crate::Preparation::time_limit).
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Calls `watch` as the preparation goes on, with triples in the place of AND gates.
    #[must_use]
    pub fn watch(mut self, watch: impl FnMut(Progress) + Send + 'w) -> Self {
        self.watch = Box::new(watch);
        self
    }

    /// Triples of the whole order.
    #[must_use]
    pub fn count(&self) -> u64 {
        triples(self.unit_blocks.saturating_mul(self.units))
    }

    /// Bytes that the whole order takes on the disk of each party.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        let blocks = self.unit_blocks.saturating_mul(self.units);
        SHAPE.record_bytes().saturating_mul(blocks)
    }

    /// Checks the order's s.
    ///
    /// # Errors
    ///
    /// It is out of bounds.
    pub fn check(&self) -> Result<(), Error> {
        SecurityBits::new(self.statistical_security_bits)?;
        Ok(())
    }

    /// What names the order: both parties must give the same one.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let hash = Sha256::new_with_prefix(b"tacit triples order 1\0")
            .chain_update(self.unit_blocks.to_le_bytes())
            .chain_update(self.units.to_le_bytes());
        Digest(hash.finalize().into())
    }

    /// Makes what is missing, over `session`; the peer gives the same order in the other role.
    ///
    /// # Errors
    ///
    /// s is out of bounds, or whatever ends it: the session is then spent, and nothing of the lot
    /// is kept.
    pub fn run(mut self, session: &mut Session, stocks: &Stocks) -> Result<PreparedTriples, Error> {
        let security = SecurityBits::new(self.statistical_security_bits)?;
        let need = OtNeed {
            count: LotSize::cheapest(self.count(), security).ots() as u64,
            security: Security::Malicious,
            is_bulk: true,
        };
        let (begun, meter) = (Instant::now(), session.channel().meter());
        let filled = session.guarded(|session| {
            session.channel().set_time_limit(self.time_limit);
            let tag = session.agree(need, |terms| Proposal {
                protocol: ProtocolId::Prepare,
                role: self.role,
                statistical_security_bits: self.statistical_security_bits,
                base_ot: terms.base_ot,
                ot_extension: terms.ot_extension,
                scheme: HOME,
                run: terms.run,
                function: self.digest(),
            })?;
            let mut opened = OpenedStock::open(session, stocks, self.role, HOME)?;
            let filled = self.fill(session, &mut opened, tag)?;
            session.keep_stock(opened);
            session.channel().set_time_limit(None);
            Ok(filled)
        })?;
        Ok(PreparedTriples {
            made: triples(filled.made),
            available: triples(filled.available),
            runs: filled.units,
            made_at_bits: filled.made_at_bits,
            ot_extension: filled.made_at_bits.map(|_| session.ot_extension()),
            wall: begun.elapsed(),
            traffic: session.channel().meter() - meter,
        })
    }

    fn fill(
        &mut self,
        session: &mut Session,
        opened: &mut OpenedStock,
        tag: RunTag,
    ) -> Result<Filled, Error> {
        let right = opened.meet_to_prepare(session)?;
        let bits = self.statistical_security_bits;
        let ordered = LotTerms {
            statistical_security_bits: bits,
            base_ot: session.base_ot(),
        };
        let lots = lots_in_stock(opened, ordered);
        let of_lots = lots.iter().map(|kind| opened.agreed(kind));
        let mut filled = Filled {
            made: 0,
            available: of_lots.clone().sum(),
            units: of_lots.map(|blocks| blocks / self.unit_blocks).sum(),
            made_at_bits: None,
        };
        let missing = self.units.saturating_sub(filled.units);
        if missing == 0 {
            return Ok(filled);
        }
        let tags = EpochTags {
            garbler: tag.triples_setup(Role::Garbler),
            evaluator: tag.triples_setup(Role::Evaluator),
        };
        let mut rng = UnwrapErr(getrandom::SysRng);
        let mut setup = EpochSetup::new(self.role, session.ot_settings(), tags, &mut rng)?;
        let (id, kind) = (*setup.id(), kind_of(ordered, setup.id()));
        opened.stocks.note_name(&kind, &name_of(ordered));
        let span = Span {
            first: 0,
            count: missing.saturating_mul(self.unit_blocks),
        };
        // What does not fit is refused before the try counts.
        let lot = right.begin_lot(kind, SHAPE, span)?;
        let stocks = opened.stocks.clone();
        let (tried, charge_bits) = session.count_epoch((self.role, bits), Some(&stocks))?;
        let security = SecurityBits::new(bits)?.charged(charge_bits);
        let security = security.ok_or(Error::TooManyTries {
            tried: Tried::Authenticated,
            unfinished: tried.as_ref().map_or(0, |tried| tried.before),
        })?;
        drive(session.channel(), &mut setup, &mut |_| ())?;
        let making = Making {
            epoch: setup.finish()?,
            security,
            header: [&[security.get()][..], &id].concat(),
            lot: &lot,
        };
        let made = making.run(session, &mut self.watch);
        if let (Err(error), Some(tried)) = (&made, &tried) {
            tried.note_cheat(error)?;
        }
        made?;
        opened.publish(session, lot)?;
        tried.map_or(Ok(()), CountedTry::finish)?;
        opened.note_published(&kind, span);
        filled.made = span.count;
        filled.available += span.count;
        filled.units += missing;
        filled.made_at_bits = Some(security.get());
        Ok(filled)
    }
}

/// What was made, and what is there, in blocks.
struct Filled {
    made: u64,
    available: u64,
    units: u64,
    made_at_bits: Option<u8>,
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
        let mut seed = Zeroizing::new([0; 32]);
        UnwrapErr(getrandom::SysRng).fill_bytes(&mut *seed);
        // What the stock says where it cannot keep a block.
        let failed = Cell::new(None);
        let keep = |first: u64, blocks: &[u8]| {
            let headers = header.repeat(blocks.len() / BLOCK_BYTES);
            let kept = lot.put(first, blocks, &headers);
            kept.map_err(|error| {
                let text = error.to_string();
                failed.set(Some(Error::from(error)));
                tacit_protocol::Error::Material(text)
            })
        };
        let blocks = lot.span().count;
        let mut party = MakingTriples::new(epoch, blocks, security, keep, &seed)?;
        let driven = drive(session.channel(), &mut party, watch);
        drop(party);
        match failed.take() {
            Some(error) => Err(error),
            None => driven,
        }
    }
}
