//! Triples of `authenticated`: made into the stock before anybody knows a function, and taken from
//! it by a run of any.
//!
//! | file | what it does |
//! |---|---|
//! | `prepare` | makes one lot of the stock, published when both have ended well |
//! | `run` | leases blocks of one lot at both parties, and runs from them |
//!
//! **A lot** of the stock is what one order makes, under Δ of its own. It is a kind of its own, so
//! that a run takes what it needs from one lot, and a smaller run what is left. The kind's digest
//! is 15 bytes of a hash of words, the s that was ordered, with the highest bit set where its base
//! OTs are from ML-KEM, and 16 bytes of the id of the lot's epoch. **An instance** is a block of
//! [`BLOCK_TRIPLES`] triples with this party's Δ, and what it is of, [`HEADER_BYTES`]: the s that
//! it was made at, and the epoch's id.
//!
//! Triples are of no garbling scheme. They lie in the stock of [`HOME`], whatever scheme a run has.

mod prepare;
mod run;

use sha2::{Digest as _, Sha256};
use tacit_function::{Function, Role};
use tacit_garble::SchemeId;
use tacit_ot::base::BaseOt;
use tacit_protocol::authenticated::{BLOCK_BYTES, BLOCK_TRIPLES, blocks_for};
use tacit_protocol::session::{base_ot_byte, base_ot_of_byte};
use tacit_stock::{ComponentDigest, Shape, StockError};

use super::{OpenedStock, StockName, Stocks};
use crate::protocols::StatisticalSecurity;
use crate::{Error, Session};

pub use prepare::{TriplePreparation, Triples};
pub(crate) use run::{StockedOutcome, StockedRun};

/// Whose stock triples lie in.
const HOME: SchemeId = SchemeId::HALF_GATES_TWO_CALL;

/// Bytes that all kinds of triples begin with.
const FAMILY_BYTES: usize = 15;

/// Bytes of a kind that are of its lot's epoch.
const ID_BYTES: usize = 32 - FAMILY_BYTES - 1;

/// What a block says of its lot.
const HEADER_BYTES: usize = 1 + 32;

/// What a block of triples is at a party.
const SHAPE: Shape = Shape {
    secret_bytes: BLOCK_BYTES as u32,
    table_bytes: HEADER_BYTES as u32,
};

/// What all kinds of triples begin with.
fn family() -> [u8; FAMILY_BYTES] {
    let hash = Sha256::digest(b"tacit authenticated triples 1\0");
    std::array::from_fn(|i| hash[i])
}

/// What a lot is ordered as, and a run asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LotTerms {
    /// s, from 40 to 64.
    pub(crate) statistical_security_bits: u8,
    /// On what its base OTs rest.
    pub(crate) base_ot: BaseOt,
}

impl LotTerms {
    pub(crate) fn at(statistical_security_bits: u8, base_ot: BaseOt) -> Self {
        Self {
            statistical_security_bits,
            base_ot,
        }
    }
}

/// The highest bit of the byte with s, which has 7.
const BASE_OT_BIT: u32 = 7;

/// The kind of a lot that was ordered as this, of the epoch `id`.
fn kind_of(ordered: LotTerms, id: &[u8; 32]) -> ComponentDigest {
    let base_ot = base_ot_byte(ordered.base_ot) << BASE_OT_BIT;
    let mut kind = [ordered.statistical_security_bits | base_ot; 32];
    kind[..FAMILY_BYTES].copy_from_slice(&family());
    kind[FAMILY_BYTES + 1..].copy_from_slice(&id[..ID_BYTES]);
    ComponentDigest(kind)
}

/// What a lot of triples was ordered as; `None` of another kind.
fn ordered(kind: &ComponentDigest) -> Option<LotTerms> {
    let byte = kind.0[FAMILY_BYTES];
    let base_ot = base_ot_of_byte(byte >> BASE_OT_BIT)?;
    let terms = LotTerms::at(byte & !(1 << BASE_OT_BIT), base_ot);
    kind.0.starts_with(&family()).then_some(terms)
}

/// Whether a kind is a lot of triples.
pub(super) fn is_triples(kind: &ComponentDigest) -> bool {
    ordered(kind).is_some()
}

/// Whether a kind is a lot of triples for runs that ask for this.
pub(crate) fn serves(kind: &ComponentDigest, asked: LotTerms) -> bool {
    ordered(kind).is_some_and(|ordered| {
        ordered.statistical_security_bits >= asked.statistical_security_bits
            && ordered.base_ot.serves(asked.base_ot)
    })
}

/// The lots for runs that ask for this of which both parties had something when they met, in an
/// order that both know.
fn lots_in_stock(opened: &OpenedStock, asked: LotTerms) -> Vec<ComponentDigest> {
    let kinds = opened.agreement.kinds.iter();
    let kinds = kinds.filter(|agreed| agreed.available > 0 && serves(&agreed.kind, asked));
    let mut kinds: Vec<_> = kinds.map(|agreed| agreed.kind).collect();
    kinds.sort_unstable();
    kinds
}

impl Stocks {
    /// The number of runs of `function` by `authenticated` at this s for which a stock has triples,
    /// whatever its scheme and the kind of base OT. Without the stock it is zero.
    ///
    /// # Errors
    ///
    /// The stock cannot be read.
    pub fn authenticated_runs_left(
        &self,
        name: &StockName,
        function: &Function,
        security: StatisticalSecurity,
    ) -> Result<u64, Error> {
        let asked = LotTerms::at(security.bits(), BaseOt::default());
        self.triple_runs_left(name, function, asked)
    }

    fn triple_runs_left(
        &self,
        name: &StockName,
        function: &Function,
        asked: LotTerms,
    ) -> Result<u64, Error> {
        let home = StockName {
            scheme: HOME,
            ..*name
        };
        let stock = match self.stocks.stock(home.id(), self.limits) {
            Ok(stock) => stock,
            Err(StockError::Missing { .. }) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let needed = blocks_for(function);
        let summary = stock.summary()?;
        let lots = summary.kinds.iter();
        let lots = lots.filter(|lot| serves(&lot.kind, asked));
        let runs = lots.map(|lot| lot.available.checked_div(needed).unwrap_or(0));
        Ok(runs.sum())
    }
}

impl Stocks {
    /// Whether this party has triples for a run of `function` with the peer of `session`.
    pub(crate) fn has_triples(
        &self,
        session: &Session,
        role: Role,
        function: &Function,
        security: StatisticalSecurity,
    ) -> Result<bool, Error> {
        let Some((own, peer)) = session.own().zip(session.peer()) else {
            return Ok(false);
        };
        let name = StockName {
            own,
            peer,
            role,
            scheme: HOME,
        };
        let asked = LotTerms::at(security.bits(), session.base_ot());
        Ok(self.triple_runs_left(&name, function, asked)? > 0)
    }
}

/// Triples of this many blocks.
const fn triples(blocks: u64) -> u64 {
    blocks.saturating_mul(BLOCK_TRIPLES as u64)
}

/// What people call a lot.
fn name_of(ordered: LotTerms) -> String {
    let bits = ordered.statistical_security_bits;
    match ordered.base_ot {
        BaseOt::Ristretto255 => format!("triples at s = {bits}"),
        base_ot => format!("triples at s = {bits} from {base_ot}"),
    }
}
