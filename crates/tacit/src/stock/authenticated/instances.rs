//! Orders for instances of components.

use tacit_circuit::Component;
use tacit_function::{Function, Role};
use tacit_garble::SchemeId;
use tacit_ot::base::BaseOt;
use tacit_protocol::authenticated::{
    Epoch, InstanceForm, MAX_SECURITY_BITS, MakingInstances, SecurityBits, check_linked,
    instance_bytes,
};
use tacit_stock::{MAX_INSTANCE_BYTES, Shape};

use super::leased::LotName;
use super::prepare::{Keep, LotOrder, Part};
use super::{LotTerms, Needs};
use crate::authenticated::construction;
use crate::driver::{drive, seed};
use crate::order::{Garbled, Order, Secured};
use crate::scheme::default_scheme;
use crate::{Error, Session};

/// An order for instances of the components of a function, garbled and checked before it runs:
/// both parties give the same, each in its role. Any function of these components takes them.
///
/// What is in stock counts. What is missing is made as one lot, which is in stock when both parties
/// have ended well, and not at all otherwise. A run takes its instances from one lot.
///
/// ```no_run
/// # use tacit::stock::{InstancePreparation, Stocks};
/// # use tacit::{Error, Function, Role, Session};
/// # fn prepare(session: &mut Session, stocks: &Stocks, function: &Function) -> Result<(), Error> {
/// let order = InstancePreparation::for_runs(Role::Garbler, function, 20)?;
/// let prepared = order.run(session, stocks)?;
/// println!("enough for {:?} runs", prepared.runs);
/// # Ok(())
/// # }
/// ```
pub type InstancePreparation<'w> = Order<'w, Instances<'w>>;

/// Instances of components that are to be in stock. [`InstancePreparation`] orders them.
pub struct Instances<'f> {
    role: Role,
    function: &'f Function,
    runs: u64,
}

impl Garbled for Instances<'_> {
    fn default_scheme(&self) -> SchemeId {
        default_scheme(self.function)
    }
}

impl Secured for Instances<'_> {}

impl<'w> InstancePreparation<'w> {
    /// An order that there be instances for `runs` runs of `function`, of a party in this role.
    ///
    /// # Errors
    ///
    /// The function cannot be run from instances, or a component is larger than a stock keeps.
    pub fn for_runs(role: Role, function: &'w Function, runs: u64) -> Result<Self, Error> {
        check_linked(function)?;
        let order = Self::of(Instances {
            role,
            function,
            runs,
        });
        let needs = order.needs();
        // With the longest rows: s may be set later.
        let form = LotTerms::at(MAX_SECURITY_BITS, BaseOt::default()).form()?;
        for (component, content) in order.components(&needs).zip(&needs.contents) {
            // Both parties look at what is larger, and so decide alike.
            let shape = Shape {
                secret_bytes: 0,
                table_bytes: LotName::header_bytes(content),
            };
            let bytes = instance_bytes(Role::Evaluator, component, form);
            let bytes = bytes.saturating_add(shape.record_bytes());
            if bytes > MAX_INSTANCE_BYTES {
                return Err(Error::Material(format!(
                    "an instance of {} takes {bytes} bytes at the evaluator, and a stock keeps at \
                     most {MAX_INSTANCE_BYTES} of one",
                    component.name()
                )));
            }
        }
        Ok(order)
    }

    fn needs(&self) -> Needs {
        Needs::instances(self.task.function, self.scheme_id())
    }

    /// The form that it is ordered in.
    ///
    /// # Errors
    ///
    /// Its s is refused.
    fn form(&self) -> Result<InstanceForm, Error> {
        LotTerms::at(self.security.bits(), BaseOt::default()).form()
    }

    /// The component of each of its needs.
    fn components(&self, needs: &Needs) -> impl Iterator<Item = &'w Component> {
        let components = self.task.function.components();
        needs.components.iter().map(|place| &components[*place])
    }
}

impl LotOrder for InstancePreparation<'_> {
    fn role(&self) -> Role {
        self.task.role
    }

    fn check_scheme(&self) -> Result<(), Error> {
        construction(self.scheme_id()).map(drop)
    }

    fn parts(&self) -> Vec<Part> {
        let needs = self.needs();
        let components: Vec<_> = self.components(&needs).collect();
        let bytes = |component| {
            let bytes = self.form();
            let bytes = bytes.map(|form| instance_bytes(self.task.role, component, form));
            // What `check` refuses has no size.
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

    fn units(&self) -> u64 {
        self.task.runs
    }

    fn words(&self) -> &'static [u8] {
        b"tacit instances order 1\0"
    }

    fn make(
        &mut self,
        session: &mut Session,
        epoch: Epoch,
        security: SecurityBits,
        units: u64,
        keep: &Keep<'_>,
    ) -> Result<(), Error> {
        let needs = self.needs();
        let counts = needs.counts.iter().map(|count| count.saturating_mul(units));
        let order: Vec<_> = self.components(&needs).zip(counts).collect();
        let mut made = vec![0; order.len()];
        let keep = |place: usize, instance: &[u8]| {
            let number: &mut u64 = &mut made[place];
            *number += 1;
            keep(place, *number - 1, instance)
        };
        let how = (security, construction(self.scheme_id())?, self.form()?);
        let mut party = MakingInstances::new(epoch, &order, how, keep, &seed())?;
        drive(session.channel(), &mut party, &mut self.watch)
    }
}
