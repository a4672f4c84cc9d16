//! Orders for lots of a function's instances or of triples.

use tacit_circuit::Component;
use tacit_function::{Function, Role};
use tacit_garble::SchemeId;
use tacit_ot::base::BaseOt;
use tacit_protocol::authenticated::{
    self, BLOCK_BYTES, Epoch, InstanceOrder, MAX_SECURITY_BITS, SecurityBits, TripleOrder,
    blocks_for, check_linked, instance_bytes,
};
use tacit_stock::{InstanceSize, MAX_INSTANCE_BYTES};

use super::leased::LotName;
use super::prepare::Part;
use super::{Content, LOT_SCHEME, LotNeeds, LotTerms, triples};
use crate::advice::advice;
use crate::authenticated::construction;
use crate::cost::FromStock;
use crate::driver::{run_script, seed};
use crate::order::{Garbled, Order, Secured};
use crate::scheme::default_scheme;
use crate::stock::keeping::KeepInstances;
use crate::{Error, Session};

/// An order for the material that runs by `authenticated` take from the stock. Both parties give
/// the same order, each in its role. Instances of components are garbled and checked before a
/// function runs, and serve any function of these components. Triples serve any function.
///
/// The order counts what is in stock, and makes what is missing as one lot. The lot is in stock
/// only once both parties have ended well. A run takes what it needs from one lot.
///
/// ```no_run
/// # use tacit::stock::{LotPreparation, Stocks};
/// # use tacit::{Error, Function, Role, Session};
/// # fn prepare(session: &mut Session, stocks: &Stocks, function: &Function) -> Result<(), Error> {
/// let order = LotPreparation::for_runs(Role::Garbler, function, 20)?;
/// let prepared = order.run(session, stocks)?;
/// println!("enough for {:?} runs", prepared.runs);
/// # Ok(())
/// # }
/// ```
pub type LotPreparation<'w> = Order<'w, Lots<'w>>;

/// The instances or triples that the stock is to have. [`LotPreparation`] orders them.
pub struct Lots<'f> {
    pub(super) role: Role,
    unit: Unit<'f>,
    /// The number of units that the stock is to have.
    pub(super) units: u64,
}

/// The smallest amount of material that is of use, which must lie in one lot.
enum Unit<'f> {
    /// The instances for a run of a function.
    Instances(&'f Function),
    /// This many blocks of triples, for a run or for the whole order.
    Triples(u64),
}

impl Garbled for Lots<'_> {
    fn default_scheme(&self) -> SchemeId {
        match self.unit {
            Unit::Instances(function) => default_scheme(function),
            Unit::Triples(_) => LOT_SCHEME,
        }
    }
}

impl Secured for Lots<'_> {}

impl<'w> LotPreparation<'w> {
    /// Orders enough for `runs` runs of `function`, for a party in this role: instances or, if the
    /// function [has none](Self::instances_for_runs), triples. Both parties choose the same.
    ///
    /// # Errors
    ///
    /// Those of [`triples_for_runs`](Self::triples_for_runs).
    pub fn for_runs(role: Role, function: &'w Function, runs: u64) -> Result<Self, Error> {
        Self::instances_for_runs(role, function, runs)
            .or_else(|_| Self::triples_for_runs(role, function, runs))
    }

    /// Orders instances for `runs` runs of `function`, for a party in this role.
    ///
    /// # Errors
    ///
    /// The function cannot be run from instances, or a component is larger than a stock allows.
    pub fn instances_for_runs(
        role: Role,
        function: &'w Function,
        runs: u64,
    ) -> Result<Self, Error> {
        check_linked(function)?;
        let order = Self::new(role, Unit::Instances(function), runs);
        let needs = LotNeeds::instances(function, order.scheme_id());
        // The longest rows, because s may be set later.
        let form = LotTerms::at(MAX_SECURITY_BITS, BaseOt::default()).ordered_at()?;
        for (component, content) in needs.components_of(function).zip(&needs.contents) {
            // Both parties check the larger size, and so decide alike.
            let instance_size = InstanceSize {
                secret_bytes: 0,
                table_bytes: LotName::header_bytes(content),
            };
            let bytes = instance_bytes(Role::Evaluator, component, form);
            let bytes = bytes.saturating_add(instance_size.record_bytes());
            if bytes > MAX_INSTANCE_BYTES {
                return Err(Error::material(
                    format!(
                        "an instance of {} takes {bytes} bytes at the evaluator, and a stock keeps \
                         at most {MAX_INSTANCE_BYTES} of one",
                        component.name()
                    ),
                    advice!(),
                ));
            }
        }
        Ok(order)
    }

    /// Orders triples for `runs` runs of `function`, for a party in this role. Triples have no
    /// scheme.
    ///
    /// # Errors
    ///
    /// `authenticated` cannot run the function, or the function takes no triples.
    pub fn triples_for_runs(role: Role, function: &Function, runs: u64) -> Result<Self, Error> {
        authenticated::check(function)?;
        match blocks_for(function) {
            0 => Err(Error::ApiMisuse(
                "a run takes no triples from the stock: the function has no inputs and no AND \
                 gates, or keeps values, and those are under the Δ of their chain",
            )),
            blocks => Ok(Self::new(role, Unit::Triples(blocks), runs)),
        }
    }

    /// Orders `count` triples in one lot, rounded up to whole blocks, for a run of any function. A
    /// run takes one triple for each AND gate, and one for each input bit of the party that has
    /// more input bits.
    pub fn triples(role: Role, count: u64) -> Self {
        let blocks = count.div_ceil(triples(1)).max(1);
        Self::new(role, Unit::Triples(blocks), 1)
    }

    fn new(role: Role, unit: Unit<'w>, units: u64) -> Self {
        Self::of(Lots { role, unit, units })
    }

    /// Returns whether the order is for instances or for triples.
    pub fn from_stock(&self) -> FromStock {
        match self.task.unit {
            Unit::Instances(_) => FromStock::Instances,
            Unit::Triples(_) => FromStock::Triples,
        }
    }

    /// Returns the s at which instances are ordered.
    fn ordered_at(&self) -> Result<SecurityBits, Error> {
        LotTerms::at(self.security.bits(), BaseOt::default()).ordered_at()
    }

    /// Checks the order's s and scheme.
    ///
    /// # Errors
    ///
    /// `authenticated` has no such s, or does not run under the scheme.
    pub fn check(&self) -> Result<(), Error> {
        if let Unit::Instances(_) = self.task.unit {
            construction(self.scheme_id())?;
        }
        self.security.of_lots().map(drop)
    }

    /// Returns the parts of a unit.
    pub(super) fn parts(&self) -> Vec<Part> {
        let function = match self.task.unit {
            Unit::Instances(function) => function,
            Unit::Triples(blocks) => {
                return vec![Part {
                    content: Content::triples(),
                    name: "triples".to_owned(),
                    bytes: BLOCK_BYTES as u64,
                    count: blocks,
                    and_gates: 1,
                }];
            }
        };
        let needs = LotNeeds::instances(function, self.scheme_id());
        let components: Vec<_> = needs.components_of(function).collect();
        let bytes = |component| {
            let bytes = self.ordered_at();
            let bytes = bytes.map(|form| instance_bytes(self.task.role, component, form));
            // Orders that `check` refuses have no size.
            bytes.unwrap_or(u64::MAX)
        };
        let parts = needs.contents.into_iter().zip(needs.names);
        let parts = parts.zip(needs.counts).zip(components);
        let parts = parts.map(|(((content, name), count), component)| Part {
            content,
            name,
            bytes: bytes(component),
            count,
            and_gates: component.program().ands().len() as u64,
        });
        parts.collect()
    }

    /// Returns the text that identifies this type of order.
    pub(super) fn words(&self) -> &'static [u8] {
        match self.task.unit {
            Unit::Instances(_) => b"tacit instances order 1\0",
            Unit::Triples(_) => b"tacit triples order 1\0",
        }
    }

    /// Makes this many units.
    pub(super) fn make(
        &mut self,
        session: &mut Session,
        epoch: Epoch,
        security: SecurityBits,
        units: u64,
        keep: &KeepInstances<'_>,
    ) -> Result<(), Error> {
        let seed = seed();
        match self.task.unit {
            Unit::Instances(function) => {
                let needs = LotNeeds::instances(function, self.scheme_id());
                let counts = needs.counts.iter().map(|count| count.saturating_mul(units));
                let order: Vec<_> = needs.components_of(function).zip(counts).collect();
                let mut made = vec![0; order.len()];
                let keep = |place: usize, instance: &[u8]| {
                    let number: &mut u64 = &mut made[place];
                    *number += 1;
                    keep(place, *number - 1, instance)
                };
                let order = InstanceOrder {
                    components: &order,
                    security,
                    construction: construction(self.scheme_id())?,
                    ordered_at: self.ordered_at()?,
                };
                run_script(session.channel(), &mut self.watch, async |io| {
                    order.make(io, epoch, keep, &seed).await
                })
            }
            Unit::Triples(blocks) => {
                let blocks = units.saturating_mul(blocks);
                let keep = |first, blocks: &[u8]| keep(0, first, blocks);
                let order = TripleOrder { blocks, security };
                run_script(session.channel(), &mut self.watch, async |io| {
                    order.make(io, epoch, keep, &seed).await
                })
            }
        }
    }
}

impl LotNeeds {
    /// Returns the component of `function` for each of its needs.
    fn components_of<'f>(&self, function: &'f Function) -> impl Iterator<Item = &'f Component> {
        let components = function.components();
        self.components.iter().map(|place| &components[*place])
    }
}
