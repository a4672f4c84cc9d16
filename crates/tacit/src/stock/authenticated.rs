//! The material that `authenticated` takes from the stock: triples, made before any function is
//! known, and instances of components, garbled and checked before the function that links them is
//! known.
//!
//! | file | what it does |
//! |---|---|
//! | `lots` | orders for lots of either |
//! | `prepare` | makes one lot, which is published once both parties have ended well |
//! | `run` | leases what a run takes from one lot at both parties, and runs with it |
//! | `leased` | reads what was leased and checks that all of it belongs to one lot |
//!
//! **A lot** is the result of one order, under a Δ of its own: a kind of triples, or a kind of
//! instances for each component. So a run takes all its material from one lot, and a smaller run
//! takes the rest. The digest of a kind consists of 15 bytes of [its content](Content), the s that
//! was ordered, with the highest bit set if the base OTs are from ML-KEM, and 16 bytes of the id of
//! the lot's epoch. Each instance has a header: the s at which it was made, the epoch's id and, for
//! an instance of a component, the component, the scheme and the form.
//!
//! All lots are in the stock of [`LOT_SCHEME`], whatever scheme a run has: triples have no scheme,
//! and the digest of a kind of instances names theirs.

mod leased;
mod lots;
mod prepare;
mod run;

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};
use tacit_circuit::Component;
use tacit_function::{Function, Role};
use tacit_garble::SchemeId;
use tacit_ot::base::BaseOt;
use tacit_protocol::authenticated::{BLOCK_TRIPLES, SecurityBits, blocks_for, check_linked};
use tacit_protocol::session::{base_ot_byte, base_ot_of_byte};
use tacit_stock::ComponentDigest;

use super::supply::runs;
use super::{StockName, Stocks};
use crate::cost::FromStock;
use crate::protocols::StatisticalSecurity;
use crate::{Error, Session};

pub use lots::{LotPreparation, Lots};
pub(crate) use run::StockedRun;

/// The scheme in whose stock lots of `authenticated` are kept, whatever they are garbled under.
pub const LOT_SCHEME: SchemeId = SchemeId::HALF_GATES_TWO_CALL;

/// The bytes at the start of a kind that name its content.
const CONTENT_BYTES: usize = 15;

/// The bytes at the start of a kind that all kinds of instances share.
const FAMILY_BYTES: usize = 7;

/// The bytes at the end of a kind that name its lot: s, and 16 bytes of the epoch's id.
const LOT_BYTES: usize = 32 - CONTENT_BYTES;

/// The bit, in the byte with s, for the kind of base OTs. s has the 7 other bits.
const BASE_OT_BIT: u32 = 7;

const TRIPLES: &[u8] = b"tacit authenticated triples 1\0";
const INSTANCES: &[u8] = b"tacit authenticated instances 2\0";

/// A byte that precedes the scheme in the digest of instances.
const INSTANCES_BYTE: u8 = 1;

/// The content of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// The first bytes of the kind's digest.
    start: [u8; CONTENT_BYTES],
    /// The bytes that each instance holds about its content under its seal. Empty for triples.
    says: Vec<u8>,
}

impl Content {
    fn triples() -> Self {
        let hash = Sha256::digest(TRIPLES);
        Self {
            start: std::array::from_fn(|i| hash[i]),
            says: Vec::new(),
        }
    }

    /// Returns the content of instances of `component` that are garbled under `scheme`, with rows.
    fn instances(component: &Component, scheme: SchemeId) -> Self {
        let hash = Sha256::new_with_prefix(INSTANCES)
            .chain_update([INSTANCES_BYTE])
            .chain_update(scheme.to_bytes())
            .chain_update(component.digest().0);
        let says = hash.finalize().to_vec();
        let mut start = [0; CONTENT_BYTES];
        let (family, of) = start.split_at_mut(FAMILY_BYTES);
        family.copy_from_slice(&Sha256::digest(INSTANCES)[..FAMILY_BYTES]);
        of.copy_from_slice(&says[..CONTENT_BYTES - FAMILY_BYTES]);
        Self { start, says }
    }

    /// Returns the kind with this content in a lot.
    fn kind(&self, lot: &[u8; LOT_BYTES]) -> ComponentDigest {
        let mut kind = [0; 32];
        kind[..CONTENT_BYTES].copy_from_slice(&self.start);
        kind[CONTENT_BYTES..].copy_from_slice(lot);
        ComponentDigest(kind)
    }
}

/// The terms on which a lot is ordered, or that a run asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LotTerms {
    /// s, from 40 to 64.
    pub(crate) statistical_security_bits: u8,
    /// The kind of base OTs.
    pub(crate) base_ot: BaseOt,
}

impl LotTerms {
    pub(crate) fn at(statistical_security_bits: u8, base_ot: BaseOt) -> Self {
        Self {
            statistical_security_bits,
            base_ot,
        }
    }

    /// Returns the s that determines the rows of instances in a lot with these terms.
    fn ordered_at(self) -> Result<SecurityBits, Error> {
        Ok(SecurityBits::new(self.statistical_security_bits)?)
    }

    /// Returns the last bytes of the kinds of a lot with these terms, for the epoch `id`.
    fn lot(self, id: &[u8; 32]) -> [u8; LOT_BYTES] {
        let base_ot = base_ot_byte(self.base_ot) << BASE_OT_BIT;
        let mut lot = [self.statistical_security_bits | base_ot; LOT_BYTES];
        lot[1..].copy_from_slice(&id[..LOT_BYTES - 1]);
        lot
    }

    /// Returns a name for people for `what`, ordered on these terms.
    fn name(self, what: &str) -> String {
        let bits = self.statistical_security_bits;
        match self.base_ot {
            BaseOt::Ristretto255 => format!("{what} at s = {bits}"),
            base_ot => format!("{what} at s = {bits} from {base_ot}"),
        }
    }
}

/// Returns the last bytes of a kind, which all kinds of its lot share.
fn lot_of(kind: &ComponentDigest) -> [u8; LOT_BYTES] {
    std::array::from_fn(|i| kind.0[CONTENT_BYTES + i])
}

/// Returns the terms on which a kind's lot was ordered, or `None` if the kind belongs to no lot.
fn ordered(kind: &ComponentDigest) -> Option<LotTerms> {
    let is_instances = kind
        .0
        .starts_with(&Sha256::digest(INSTANCES)[..FAMILY_BYTES]);
    let byte = kind.0[CONTENT_BYTES];
    let base_ot = base_ot_of_byte(byte >> BASE_OT_BIT)?;
    let terms = LotTerms::at(byte & !(1 << BASE_OT_BIT), base_ot);
    (is_instances || is_triples(kind)).then_some(terms)
}

/// Whether a kind belongs to a lot of triples.
pub(super) fn is_triples(kind: &ComponentDigest) -> bool {
    kind.0.starts_with(&Content::triples().start)
}

/// Whether a kind belongs to a lot.
pub(super) fn is_of_lot(kind: &ComponentDigest) -> bool {
    ordered(kind).is_some()
}

/// Whether a kind belongs to a lot that serves runs that ask for these terms.
fn serves(kind: &ComponentDigest, asked: LotTerms) -> bool {
    ordered(kind).is_some_and(|ordered| {
        ordered.statistical_security_bits >= asked.statistical_security_bits
            && ordered.base_ot.serves(asked.base_ot)
    })
}

/// A lot in stock.
pub(crate) struct Lot {
    kinds: Vec<ComponentDigest>,
    /// The number of available instances of each kind.
    available: Vec<u64>,
}

impl Lot {
    /// Returns the lots among `kinds` that serve runs that ask for these terms and have something
    /// of `contents`. Each kind comes with its number of instances. The order of the lots follows
    /// from the kinds.
    pub(crate) fn all(
        kinds: impl Iterator<Item = (ComponentDigest, u64)>,
        asked: LotTerms,
        contents: &[Content],
    ) -> Vec<Self> {
        let there = kinds.filter(|(kind, count)| *count > 0 && serves(kind, asked));
        let there: BTreeMap<_, _> = there.collect();
        let starts: Vec<_> = contents.iter().map(|content| content.start).collect();
        let those = there.keys();
        let those = those.filter(|kind| starts.iter().any(|start| kind.0.starts_with(start)));
        let lots: BTreeSet<_> = those.map(lot_of).collect();
        let lots = lots.iter().map(|lot| {
            let kinds = contents.iter().map(|content| content.kind(lot));
            let kinds: Vec<_> = kinds.collect();
            let available = kinds.iter().map(|kind| there.get(kind).copied());
            Self {
                available: available.map(Option::unwrap_or_default).collect(),
                kinds,
            }
        });
        lots.collect()
    }

    /// Returns the number of instances of all its kinds.
    pub(crate) fn count(&self) -> u64 {
        self.available.iter().sum()
    }

    /// Returns the number of runs for which the lot is enough, if a run takes `needed` of each
    /// kind.
    pub(crate) fn runs(&self, needed: &[u64]) -> u64 {
        runs(&self.available, needed).unwrap_or(0)
    }
}

/// The amount of material that a run takes from a lot.
pub(crate) struct LotNeeds {
    pub(crate) contents: Vec<Content>,
    counts: Vec<u64>,
    /// The name for people of each content, without the lot.
    names: Vec<String>,
    /// Used for instances only: for each content the function's component, and for each component
    /// its content.
    components: Vec<usize>,
    places: Vec<usize>,
}

impl LotNeeds {
    /// Returns the triples of a run of `function`, in blocks, or `None` if it takes none.
    fn triples(function: &Function) -> Option<Self> {
        let blocks = blocks_for(function);
        (blocks > 0).then(|| Self {
            contents: vec![Content::triples()],
            counts: vec![blocks],
            names: vec!["triples".to_owned()],
            components: Vec::new(),
            places: Vec::new(),
        })
    }

    /// Returns the instances under `scheme` of a run of `function`, which must be linkable.
    fn instances(function: &Function, scheme: SchemeId) -> Self {
        let mut needs = Self {
            contents: Vec::new(),
            counts: Vec::new(),
            names: Vec::new(),
            components: Vec::new(),
            places: Vec::new(),
        };
        let calls = function.component_calls().iter();
        let components = function.components().iter().zip(calls).enumerate();
        for (i, (component, calls)) in components {
            let content = Content::instances(component, scheme);
            let there = needs.contents.iter().position(|one| *one == content);
            let place = there.unwrap_or(needs.contents.len());
            needs.places.push(place);
            if there.is_none() && *calls > 0 {
                let (function, component) = (function.name(), component.name());
                let name = format!("{function}/{component}, checked under {scheme},");
                needs.contents.push(content);
                needs.counts.push(0);
                needs.names.push(name);
                needs.components.push(i);
            }
            if let Some(count) = needs.counts.get_mut(place) {
                *count += u64::from(*calls);
            }
        }
        needs
    }

    /// Returns the counts as in the summary of a stock, in single triples instead of blocks.
    pub(crate) fn counts_in_summary(&self) -> Vec<u64> {
        let counts = self.counts.iter().copied();
        if self.components.is_empty() {
            return counts.map(triples).collect();
        }
        counts.collect()
    }

    /// Returns what a run of `function` under `scheme` by `authenticated` may take, in order of
    /// preference.
    pub(crate) fn of_run(function: &Function, scheme: SchemeId) -> impl Iterator<Item = Self> {
        let can_link = check_linked(function).is_ok();
        let instances = can_link.then(|| Self::instances(function, scheme));
        instances.into_iter().chain(Self::triples(function))
    }
}

impl Stocks {
    /// Returns the number of runs of `function` by `authenticated` at this s, whose OTs rest on
    /// `base_ot`, for which a stock has enough of what `from` names: triples, whatever the scheme
    /// of `name`, or instances under it. It is zero if the stock does not exist, or if the function
    /// cannot be run this way.
    ///
    /// # Errors
    ///
    /// The stock cannot be read.
    pub fn authenticated_runs_left(
        &self,
        name: &StockName,
        function: &Function,
        (security, base_ot): (StatisticalSecurity, BaseOt),
        from: FromStock,
    ) -> Result<u64, Error> {
        let asked = LotTerms::at(security.bits(), base_ot);
        let needs = match from {
            FromStock::Triples => LotNeeds::triples(function),
            FromStock::Instances => check_linked(function)
                .is_ok()
                .then(|| LotNeeds::instances(function, name.scheme)),
            FromStock::Crosses => None,
        };
        needs.map_or(Ok(0), |needs| self.lots_runs_left(name, &needs, asked))
    }

    /// Returns the largest number of triples that one order has left in a stock for runs at this s
    /// whose OTs rest on `base_ot`, whatever the scheme of `name`. It is zero if the stock does not
    /// exist.
    ///
    /// # Errors
    ///
    /// The stock cannot be read.
    pub fn triples_left(
        &self,
        name: &StockName,
        (security, base_ot): (StatisticalSecurity, BaseOt),
    ) -> Result<u64, Error> {
        let asked = LotTerms::at(security.bits(), base_ot);
        let lots = self.lots(name, &[Content::triples()], asked)?;
        Ok(lots
            .iter()
            .map(|lot| triples(lot.count()))
            .max()
            .unwrap_or(0))
    }

    fn lots_runs_left(
        &self,
        name: &StockName,
        needs: &LotNeeds,
        asked: LotTerms,
    ) -> Result<u64, Error> {
        let lots = self.lots(name, &needs.contents, asked)?;
        Ok(lots.iter().map(|lot| lot.runs(&needs.counts)).sum())
    }

    /// Returns the lots in a stock that serve runs that ask for these terms and have something of
    /// `contents`.
    fn lots(
        &self,
        name: &StockName,
        contents: &[Content],
        asked: LotTerms,
    ) -> Result<Vec<Lot>, Error> {
        let kinds = self.lot_kinds(name)?.into_iter();
        Ok(Lot::all(kinds, asked, contents))
    }

    /// Returns the kinds in the stock of lots, whatever the scheme of `name`, with the available
    /// number of each. It is empty if the stock does not exist.
    pub(super) fn lot_kinds(
        &self,
        name: &StockName,
    ) -> Result<BTreeMap<ComponentDigest, u64>, Error> {
        self.instances_of(&StockName {
            scheme: LOT_SCHEME,
            ..*name
        })
    }

    /// Whether this party has a lot with enough for a run of `function` under `scheme` with the
    /// peer of `session`.
    pub(crate) fn has_lot(
        &self,
        session: &Session,
        role: Role,
        (function, scheme): (&Function, SchemeId),
        security: StatisticalSecurity,
    ) -> Result<bool, Error> {
        let Some(name) = session.stock_name(role, scheme) else {
            return Ok(false);
        };
        Ok(self.lots_for(&name, function, (security, session.base_ot()))? > 0)
    }

    /// Returns the number of runs of `function` under the scheme of `name` for which a stock has
    /// enough in some lot.
    pub(crate) fn lots_for(
        &self,
        name: &StockName,
        function: &Function,
        (security, base_ot): (StatisticalSecurity, BaseOt),
    ) -> Result<u64, Error> {
        if !Self::ARE_POSSIBLE {
            return Ok(0);
        }
        let asked = LotTerms::at(security.bits(), base_ot);
        let mut left = 0_u64;
        for needs in LotNeeds::of_run(function, name.scheme) {
            left = left.saturating_add(self.lots_runs_left(name, &needs, asked)?);
        }
        Ok(left)
    }
}

/// Returns the number of triples in this many blocks.
const fn triples(blocks: u64) -> u64 {
    blocks.saturating_mul(BLOCK_TRIPLES as u64)
}
