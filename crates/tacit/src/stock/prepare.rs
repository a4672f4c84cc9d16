//! Orders of components and OTs, for `prepared`.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};
use tacit_circuit::{Component, Digest};
use tacit_function::{Function, Role};
use tacit_garble::SchemeId;
use tacit_ot::Security;
use tacit_protocol::prepared::Demand;
use tacit_protocol::session::{ProtocolId, RunTag};
use tacit_stock::ComponentDigest;

use super::contents::OTS;
use super::fill::{Making, fill};
use super::order::{StockOrder, Stocked};
use super::{OT_BLOCK, OpenedStock, ot_kind};
use crate::order::{Garbled, Order};
use crate::scheme::default_scheme;
use crate::session::{OrderTerms, OtNeed};
use crate::{Error, Session};

/// The level of one kind that a stock is to hold.
#[derive(Clone)]
pub(crate) struct KindLevel {
    /// The name for people.
    pub(super) name: String,
    /// The component. `None` for OTs.
    pub(super) component: Option<Component>,
    /// The number of unspent instances that the stock is to have.
    pub(super) level: u64,
}

impl KindLevel {
    /// Returns the number of countable items in an instance. OTs are counted one by one.
    pub(super) fn unit(&self) -> u64 {
        if self.component.is_some() {
            1
        } else {
            OT_BLOCK
        }
    }

    /// Returns the number of AND gates of an instance.
    pub(super) fn and_gates(&self) -> u64 {
        let component = self.component.as_ref();
        component.map_or(0, |component| component.program().ands().len() as u64)
    }
}

/// The level of each kind, in the order of their digests.
pub(crate) type Levels = BTreeMap<ComponentDigest, KindLevel>;

/// An order to fill the stock with a peer. Both parties give the same order, each in its role.
///
/// ```no_run
/// # use tacit::stock::{Preparation, Stocks};
/// # use tacit::{Error, Function, Role, Session};
/// # fn prepare(session: &mut Session, stocks: &Stocks, function: &Function) -> Result<(), Error> {
/// let order = Preparation::new(Role::Garbler).enough_for(function, 20)?;
/// let prepared = order.run(session, stocks)?;
/// println!("{} kinds", prepared.kinds.len());
/// # Ok(())
/// # }
/// ```
pub type Preparation<'w> = Order<'w, Components>;

/// The components and OTs that the stock is to have. [`Preparation`] orders them.
pub struct Components {
    role: Role,
    /// The default scheme of the functions, for an order without a named scheme.
    by_functions: Option<SchemeId>,
    levels: Levels,
}

impl Garbled for Components {
    fn default_scheme(&self) -> SchemeId {
        self.by_functions.unwrap_or(SchemeId::HALF_GATES_TWO_CALL)
    }
}

impl Preparation<'_> {
    /// Creates an empty order, for a party in this role.
    pub fn new(role: Role) -> Self {
        Self::of(Components {
            role,
            by_functions: None,
            levels: Levels::new(),
        })
    }

    /// Adds enough for `runs` runs of `function` to the order.
    ///
    /// # Errors
    ///
    /// The function has saved values, or no [scheme](Self::scheme) was named and an earlier
    /// function has another default scheme: one preparation fills the stock of one scheme.
    pub fn enough_for(mut self, function: &Function, runs: u64) -> Result<Self, Error> {
        let demand = Demand::of(function)?;
        if !self.names_scheme() {
            let scheme = default_scheme(function);
            if self.task.by_functions.is_some_and(|other| other != scheme) {
                return Err(Error::ApiMisuse(
                    "the functions of one preparation run under different schemes; name one \
                     scheme for all first, or prepare for each by itself",
                ));
            }
            self.task.by_functions = Some(scheme);
        }
        let blocks = demand.ots.div_ceil(OT_BLOCK);
        let needed = std::iter::once(blocks).chain(demand.instances);
        let needed: Vec<_> = needed.map(|count| count.saturating_mul(runs)).collect();
        add_all(&mut self.task.levels, function, &needed);
        Ok(self)
    }

    /// Adds `count` instances of a component to the order.
    #[must_use]
    pub fn component(mut self, component: Component, count: u64) -> Self {
        let name = component.name().to_owned();
        add(
            &mut self.task.levels,
            kind_of(&component),
            (name, Some(component)),
            count,
        );
        self
    }

    /// Adds `count` OTs, rounded up, to the order. A run takes one for each input bit of the
    /// evaluator.
    #[must_use]
    pub fn ots(mut self, count: u64) -> Self {
        let ots = (OTS.to_owned(), None);
        add(
            &mut self.task.levels,
            ot_kind(),
            ots,
            count.div_ceil(OT_BLOCK),
        );
        self
    }

    /// Returns the number of AND gates of the whole order.
    pub fn and_gates(&self) -> u64 {
        let kinds = self.task.levels.values();
        kinds
            .map(|wanted| wanted.and_gates().saturating_mul(wanted.level))
            .fold(0, u64::saturating_add)
    }

    /// Returns the digest of the order, which both parties compare before they prepare.
    pub fn digest(&self) -> Digest {
        self.digest_of_times(1)
    }

    /// Returns the digest of an order for a multiple of the same.
    pub(super) fn digest_of_times(&self, times: u64) -> Digest {
        let mut hash = Sha256::new_with_prefix(b"tacit preparation 1\0");
        for (kind, wanted) in &self.task.levels {
            hash.update(kind.0);
            hash.update(wanted.level.saturating_mul(times).to_le_bytes());
        }
        Digest(hash.finalize().into())
    }

    /// Returns the most bytes that the whole order takes on this party's disk. The evaluator keeps
    /// the tables; the rest is small.
    pub fn disk_bytes(&self) -> u64 {
        let Ok(scheme) = self.scheme_id().rung() else {
            return 0;
        };
        let of_kind = |wanted: &KindLevel| {
            let component = wanted.component.as_ref()?;
            let cost = scheme.program_cost(component.program());
            Some(cost.table_bytes.saturating_mul(wanted.level))
        };
        match self.task.role {
            Role::Garbler => 0,
            Role::Evaluator => {
                let kinds = self.task.levels.values().filter_map(of_kind);
                kinds.fold(0, u64::saturating_add)
            }
        }
    }
}

impl StockOrder for Preparation<'_> {
    fn terms(&self) -> Result<OrderTerms, Error> {
        Ok(OrderTerms {
            protocol: ProtocolId::Prepare,
            role: self.task.role,
            statistical_security_bits: 0,
            scheme: self.scheme_id(),
            function: self.digest(),
            ots: ot_need(&self.task.levels),
        })
    }

    fn fill(
        &mut self,
        session: &mut Session,
        opened: &mut OpenedStock,
        tag: RunTag,
    ) -> Result<Stocked, Error> {
        let making = Making {
            tag,
            levels: &self.task.levels,
            threads: self.threads,
            watch: &mut self.watch,
        };
        let kinds = fill(session, opened, making)?.kinds;
        Ok(Stocked {
            makes_ots: kinds.iter().any(|kind| kind.name == OTS && kind.made > 0),
            kinds,
            runs: None,
            made_at_bits: None,
            plan: None,
        })
    }
}

/// Returns the OTs of an order for an empty stock. Δ outlives the session, so the security against
/// a lying evaluator that wants to learn it must last as well.
fn ot_need(levels: &Levels) -> OtNeed {
    let blocks = levels.get(&ot_kind()).map_or(0, |wanted| wanted.level);
    OtNeed::of(Security::Malicious, blocks.saturating_mul(OT_BLOCK))
}

/// Raises the level of a kind by `count`.
fn add(
    levels: &mut Levels,
    kind: ComponentDigest,
    (name, component): (String, Option<Component>),
    count: u64,
) {
    let wanted = levels.entry(kind).or_insert(KindLevel {
        name,
        component,
        level: 0,
    });
    wanted.level = wanted.level.saturating_add(count);
}

/// Returns the kind under which a component's instances are kept.
pub(crate) fn kind_of(component: &Component) -> ComponentDigest {
    ComponentDigest(component.digest().0)
}

/// Returns the kinds that a function takes: OTs, then its components in order.
pub(crate) fn kinds_of(components: &[Component]) -> Vec<ComponentDigest> {
    let components = components.iter().map(kind_of);
    std::iter::once(ot_kind()).chain(components).collect()
}

/// Iterates over the names for people of what `function` takes: OTs, then its components in order.
pub(crate) fn names_of(function: &Function) -> impl Iterator<Item = String> {
    let components = function.components().iter();
    let components = components.map(|part| format!("{}/{}", function.name(), part.name()));
    std::iter::once(OTS.to_owned()).chain(components)
}

/// Raises the levels by what `function` needs of OTs and of each component, in order.
fn add_all(levels: &mut Levels, function: &Function, needed: &[u64]) {
    let components = function.components().iter().cloned().map(Some);
    let components = std::iter::once(None).chain(components);
    let named = names_of(function).zip(components);
    let kinds = kinds_of(function.components());
    for ((kind, named), count) in kinds.into_iter().zip(named).zip(needed) {
        add(levels, kind, named, *count);
    }
}

/// Returns the levels that hold what a run of `function` needs: OTs, then its components in order.
pub(crate) fn levels_for(function: &Function, needed: &[u64]) -> Levels {
    let mut levels = Levels::new();
    add_all(&mut levels, function, needed);
    levels
}
