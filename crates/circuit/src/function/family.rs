//! Families: functions whose parameters are yet to be given.

use std::collections::BTreeMap;

use super::check::check;
use super::expression::{Affine, Scope};
use super::lower::{Lowering, parameters};
use super::promises::promise;
use super::source::{
    ComponentSource, Destination, InputSource, OutputSource, Owner, Source, StepSource,
    ValueSource, family_digest, function_digest, shown,
};
use super::syntax::{Assigned, Assignment, Item, Reference, TypeExpression};
use super::{
    Component, ErrorLocation, Function, FunctionError, FunctionInput, FunctionOutput,
    FunctionParameter, Recipient, Role,
};
use crate::{Circuit, Port, library};

impl FunctionParameter {
    pub(super) fn check(&self) -> Result<(), FunctionError> {
        let range = self.minimum..=self.maximum;
        if range.is_empty()
            || self
                .default
                .is_some_and(|default| !range.contains(&default))
        {
            return Err(FunctionError::ParameterBounds {
                parameter: shown(&self.name),
                minimum: self.minimum,
                maximum: self.maximum,
            });
        }
        Ok(())
    }

    /// The value, from what is given or the default.
    pub(super) fn value(&self, function: &str, given: Option<u64>) -> Result<u64, FunctionError> {
        let Self {
            name,
            minimum,
            maximum,
            default,
        } = self;
        let (function, parameter) = (function.to_owned(), name.clone());
        let (minimum, maximum) = (*minimum, *maximum);
        match given.or(*default) {
            None => Err(FunctionError::MissingParameter {
                function,
                parameter,
                minimum,
                maximum,
            }),
            Some(found) if !(minimum..=maximum).contains(&found) => {
                Err(FunctionError::ParameterRange {
                    function,
                    parameter,
                    found,
                    minimum,
                    maximum,
                })
            }
            Some(value) => Ok(value),
        }
    }
}

/// A function whose parameters are yet to be given, from a
/// [`FunctionBuilder`](super::FunctionBuilder).
#[derive(Clone, Debug)]
pub struct FunctionFamily {
    source: Source,
}

impl FunctionFamily {
    pub(super) fn of_source(source: Source) -> Result<Self, FunctionError> {
        source.check()?;
        Ok(Self { source })
    }

    /// A plain circuit as a function of one call; see [`Function::of_circuit`].
    pub(super) fn of_circuit(
        name: &str,
        circuit: Circuit,
        mut owner: impl FnMut(&Port) -> Result<Role, FunctionError>,
        mut recipient: impl FnMut(&Port) -> Result<Recipient, FunctionError>,
    ) -> Result<Self, FunctionError> {
        let mut source = Source {
            name: name.to_owned(),
            ..Source::default()
        };
        let (mut arguments, mut targets) = (Vec::new(), Vec::new());
        for port in circuit.inputs() {
            let (name, ty) = (port.name.clone(), TypeExpression::of(&port.ty));
            let owner = Owner::Party(owner(port)?);
            arguments.push(vec![Item::Reference(Reference::whole(&name))]);
            source.inputs.push(InputSource { name, ty, owner });
        }
        for port in circuit.outputs() {
            let ty = TypeExpression::of(&port.ty);
            // A result may have an input's name, and no value may.
            let mut inner = format!("result_{}", source.values.len());
            while circuit.inputs().iter().any(|port| port.name == inner) {
                inner.push('_');
            }
            let value = vec![Item::Reference(Reference::whole(&inner))];
            let destination = Destination::Parties(recipient(port)?);
            let name = port.name.clone();
            targets.push(Some(Reference::whole(&inner)));
            source.values.push(ValueSource {
                name: inner,
                ty: ty.clone(),
            });
            source.outputs.push(OutputSource {
                name,
                ty,
                destination,
                value,
            });
        }
        let call = Assigned::Call("circuit".to_owned(), arguments);
        source.steps.push(StepSource::Assignment(Assignment {
            targets,
            assigned: call,
        }));
        let component = ComponentSource::Given(Component::new(name, circuit));
        source.components.push(("circuit".to_owned(), component));
        Self::of_source(source)
    }

    /// Its name, for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Its parameters, in order.
    #[must_use]
    pub fn parameters(&self) -> &[FunctionParameter] {
        &self.source.parameters
    }

    /// The function that these parameters give. All of it is checked; that takes time for each of
    /// its calls, and memory for each element of its arrays.
    ///
    /// # Errors
    ///
    /// A parameter is missing, unknown or out of range; a component cannot be found or made; a
    /// step does not fit the components, the types or the steps before it; or the whole is past
    /// the limits. The error names the call, the port and the loops' counters.
    pub fn instantiate(
        &self,
        parameters: &BTreeMap<String, u64>,
    ) -> Result<Function, FunctionError> {
        let source = &self.source;
        let values = source.arguments(parameters)?;
        let components = self.components(&values)?;
        let lowered = Lowering::lower(source, &values, &components)?;
        let mut plan = lowered.plan;
        let counts = check(&mut plan, components.len())?;
        let text = source.canonical_text(&components);
        let family = family_digest(&text);
        let digest = function_digest(family, &values, &components);
        let mut function = Function {
            name: source.name.clone(),
            parameters: source
                .parameters
                .iter()
                .map(|p| p.name.clone())
                .zip(values)
                .collect(),
            inputs: Vec::new(),
            loads: Vec::new(),
            outputs: Vec::new(),
            saves: Vec::new(),
            components,
            plan,
            counts,
            text,
            family,
            digest_of_bits: digest,
            digest,
            meaning: None,
            program: None,
        };
        let mut types = lowered.inputs.into_iter().chain(lowered.outputs);
        let mut port = |name: &str| types.next().map(|ty| Port::new(name, ty));
        let parties = source.inputs.iter().filter_map(|input| match input.owner {
            Owner::Party(owner) => Some((input, owner)),
            Owner::Saved => None,
        });
        let (owners, mut ports): (Vec<Role>, Vec<Port>) = parties
            .filter_map(|(input, owner)| Some((owner, port(&input.name)?)))
            .unzip();
        promise(source, &function.components, &mut ports)?;
        let inputs = ports.into_iter().zip(owners);
        function.inputs = inputs
            .map(|(port, owner)| FunctionInput { port, owner })
            .collect();
        let loads = source.inputs.iter().filter(|i| i.owner == Owner::Saved);
        let loads = loads.filter_map(|input| port(&input.name));
        function.loads.extend(loads);
        let parties = source
            .outputs
            .iter()
            .filter_map(|output| match output.destination {
                Destination::Parties(recipient) => Some((output, recipient)),
                Destination::Saved => None,
            });
        for (output, recipient) in parties {
            let output = port(&output.name).map(|port| FunctionOutput { port, recipient });
            function.outputs.extend(output);
        }
        for output in source
            .outputs
            .iter()
            .filter(|o| o.destination == Destination::Saved)
        {
            function.saves.extend(port(&output.name));
        }
        Ok(function)
    }

    fn components(&self, values: &[u64]) -> Result<Vec<Component>, FunctionError> {
        let sizes = Sizes(parameters(&self.source, values)?);
        let components = self.source.components.iter();
        components
            .map(|(name, source)| component(name, source, &sizes))
            .collect()
    }
}

fn component(
    name: &str,
    source: &ComponentSource,
    sizes: &Sizes<'_>,
) -> Result<Component, FunctionError> {
    let (library, parameters) = match source {
        ComponentSource::Given(component) => return Ok(component.clone()),
        ComponentSource::Library { name, parameters } => (name, parameters),
    };
    let mut numbers = BTreeMap::new();
    for (parameter, expression) in parameters {
        let number = expression.number(sizes)?;
        let number = u64::try_from(number).map_err(|_| FunctionError::NegativeParameter {
            component: name.to_owned(),
            parameter: shown(parameter),
            found: number,
        })?;
        numbers.insert(parameter.clone(), number);
    }
    let circuit = library::find(library, &numbers).map_err(|error| FunctionError::Library {
        component: name.to_owned(),
        error: Box::new(error),
    })?;
    Ok(Component::new(name, circuit))
}

/// The values of the parameters where there are no loops.
struct Sizes<'s>(std::collections::HashMap<&'s str, i64>);

impl Scope for Sizes<'_> {
    fn value(&self, name: &str) -> Option<Affine> {
        self.0.get(name).copied().map(Affine::constant)
    }

    fn place(&self) -> ErrorLocation {
        ErrorLocation::new("the parameters of a component")
    }
}
