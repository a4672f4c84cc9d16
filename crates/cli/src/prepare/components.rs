//! Tables of components for `prepared`, in any number or for runs of a function.

use serde_json::{Value as Json, json};
use tacit::circuit::Component;
use tacit::garble::SchemeInfo;
use tacit::stock::{AnyPreparation, Preparation, Prepared};
use tacit::{Error, Function, Role};

use super::{Order, PreparationCost, kinds_json, runs_of, table};
use crate::args::{FunctionArgs, OrderedComponent, PrepareArgs};
use crate::failure::{Failure, usage};
use crate::function::{self, FoundFunction};

/// The components that the arguments order.
pub(super) struct ComponentOrder {
    role: Role,
    scheme: &'static SchemeInfo,
    function: Option<(Function, u64)>,
    components: Vec<(Component, u64)>,
    ots: u64,
}

impl ComponentOrder {
    pub(super) fn new(
        args: &PrepareArgs,
        function: Option<Function>,
        role: Role,
    ) -> Result<Self, Failure> {
        let components = args.components.iter().map(component);
        let order = Self {
            role,
            scheme: function::scheme(args.scheme.as_deref(), function.as_ref())?,
            function: function.map(|function| (function, args.runs)),
            components: components.collect::<Result<_, _>>()?,
            ots: args.ots.unwrap_or(0),
        };
        order.order()?;
        Ok(order)
    }
}

impl Order for ComponentOrder {
    fn order(&self) -> Result<AnyPreparation<'_>, Error> {
        let mut order = Preparation::new(self.role).scheme(self.scheme.id);
        if let Some((function, runs)) = &self.function {
            order = order.enough_for(function, *runs)?;
        }
        for (component, count) in &self.components {
            order = order.component(component.clone(), *count);
        }
        Ok(order.ots(self.ots).into())
    }

    fn material(&self) -> &'static str {
        "tables"
    }

    fn described(&self) -> String {
        let of_function = self.function.iter();
        let runs = of_function.map(|(function, runs)| runs_of(*runs, function));
        let components = self.components.iter();
        let components = components.map(|(component, count)| {
            let name = component.name();
            format!("{count} of the component {name}")
        });
        let ots = (self.ots > 0).then(|| format!("{} OTs", self.ots));
        let parts: Vec<_> = runs.chain(components).chain(ots).collect();
        let (role, scheme) = (self.role.name(), self.scheme.id);
        format!("{} by prepared as {role} under {scheme}", parts.join(", "))
    }

    fn resumption(&self) -> &'static str {
        "going on from there"
    }

    fn text(&self, prepared: &Prepared, cost: &PreparationCost<'_>) -> String {
        let kinds = prepared.kinds.iter();
        let ands: u64 = kinds.map(|kind| kind.made * kind.and_gates).sum();
        let ots = prepared.ot_extension;
        let ots = ots.map_or(String::new(), |extension| format!(", OTs by {extension},"));
        format!("{}{ands} AND gates{ots} in {cost}\n", table(prepared))
    }

    fn json(&self, prepared: &Prepared) -> Json {
        json!({
            "role": self.role.name(),
            "scheme": self.scheme.id.to_string(),
            "kinds": kinds_json(prepared),
        })
    }
}

/// Returns a component of the library or of a circuit file, and the number of its instances.
fn component(wanted: &OrderedComponent) -> Result<(Component, u64), Failure> {
    let choice = FunctionArgs {
        params: wanted.params.clone(),
        ..FunctionArgs::default()
    };
    let name = &wanted.name;
    match function::find(name, &choice)? {
        FoundFunction::Circuit(found) => {
            // Each of several sizes gets a name of its own in lists.
            let params = wanted
                .params
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            let params = params.collect::<Vec<_>>().join(",");
            let component = if params.is_empty() {
                found.component
            } else {
                let name = format!("{}:{params}", found.component.name());
                found.component.with_name(name)
            };
            Ok((component, wanted.count))
        }
        FoundFunction::Function(_) | FoundFunction::Program(_) => Err(usage!(
            "{name} is a function and --component takes circuits";
            "prepare for it with `tacit prepare {name} --runs N`"
        )),
    }
}
