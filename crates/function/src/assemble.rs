//! Builds a function from its source form.

use tacit_circuit::{Component, Port};

use crate::check::{check, check_walk};
use crate::lower::Lowering;
use crate::promises::promise;
use crate::source::{
    ComponentSource, Destination, InputSource, OutputSource, Owner, Source, StepSource,
    ValueSource, function_digest,
};
use crate::steps::{Assignment, Part};
use crate::{Function, FunctionError, FunctionInput, FunctionOutput, Recipient, Role};

impl Source {
    /// Returns a function of one call of `component`. See [`Function::of_component`].
    pub(super) fn of_component(
        component: Component,
        owner: impl Fn(&Port) -> Role,
        recipient: impl Fn(&Port) -> Recipient,
    ) -> Self {
        let circuit = component.circuit();
        let mut source = Self {
            name: component.name().to_owned(),
            ..Self::default()
        };
        let (mut arguments, mut targets) = (Vec::new(), Vec::new());
        for port in circuit.inputs() {
            arguments.push(Part::of(&port.name).into());
            source.inputs.push(InputSource {
                name: port.name.clone(),
                ty: port.ty.clone(),
                owner: Owner::Party(owner(port)),
            });
        }
        for port in circuit.outputs() {
            // A result may share an input's name, but a value may not.
            let mut inner = format!("result_{}", source.values.len());
            while circuit.inputs().iter().any(|port| port.name == inner) {
                inner.push('_');
            }
            let whole = Part::of(&inner);
            source.values.push(ValueSource {
                name: inner,
                ty: port.ty.clone(),
                is_variable: false,
            });
            source.outputs.push(OutputSource {
                name: port.name.clone(),
                ty: port.ty.clone(),
                destination: Destination::Parties(recipient(port)),
                value: whole.clone().into(),
            });
            targets.push(Some(whole));
        }
        let call = Assignment::Call(targets, "circuit".to_owned(), arguments);
        source.steps.push(StepSource::Assignment(call));
        source.components.push(ComponentSource {
            name: "circuit".to_owned(),
            component,
            library: None,
        });
        source
    }
}

impl Function {
    pub(super) fn of_source(source: Source) -> Result<Self, FunctionError> {
        source.check()?;
        let plan = Lowering::lower(&source)?;
        let components = source.components.iter();
        let components: Vec<Component> = components.map(|c| c.component.clone()).collect();
        let (counts, walk_plan) = if source.is_over_shares {
            (check(&plan, components.len())?, None)
        } else {
            let (counts, walk_plan) = check_walk(&plan, components.len())?;
            (counts, Some(walk_plan))
        };
        let text = source.canonical_text();
        let digest = function_digest(&text, &components);
        let (mut ports, mut owners, mut loads) = (Vec::new(), Vec::new(), Vec::new());
        for input in &source.inputs {
            let port = Port::new(&input.name, input.ty.clone());
            match input.owner {
                Owner::Party(owner) => {
                    ports.push(port);
                    owners.push(owner);
                }
                Owner::Saved => loads.push(port),
            }
        }
        promise(&source, &mut ports)?;
        let inputs = ports.into_iter().zip(owners);
        let inputs = inputs.map(|(port, owner)| FunctionInput { port, owner });
        let (mut outputs, mut saves) = (Vec::new(), Vec::new());
        for output in &source.outputs {
            let port = Port::new(&output.name, output.ty.clone());
            match output.destination {
                Destination::Parties(recipient) => outputs.push(FunctionOutput { port, recipient }),
                Destination::Saved => saves.push(port),
            }
        }
        Ok(Self {
            name: source.name,
            parameters: Vec::new(),
            inputs: inputs.collect(),
            loads,
            outputs,
            saves,
            components,
            plan,
            counts,
            walk_plan,
            text,
            digest_of_bits: digest,
            digest,
            meaning: None,
            program: None,
        })
    }
}
