//! Calls that are instances of components: instances that are made, and instances that a function
//! links.

use std::ops::Range;

use tacit_circuit::Component;
use tacit_function::{Call, Step, Values};
use zeroize::Zeroizing;

use super::super::walk::{Calls, Rules, Wire};
use super::kept::{KeptInstance, Side};

/// An instance to be made.
#[derive(Clone, Copy)]
pub(crate) struct Member<'f> {
    pub(super) component: &'f Component,
    /// The position of the component in the order.
    pub(super) place: usize,
    /// The number of the instance in the epoch.
    pub(super) number: u32,
}

/// Instances that are made one after the other, with the contents of their inputs.
pub(super) struct Sequence<'f, T: Wire> {
    members: std::vec::IntoIter<Member<'f>>,
    inputs: Zeroizing<Vec<T>>,
    /// The inputs of the current call.
    current: Range<usize>,
    /// The contents of the outputs of all calls so far.
    outputs: Zeroizing<Vec<T>>,
}

impl<'f, T: Wire> Sequence<'f, T> {
    /// Returns these instances. `inputs` are the contents of the inputs of all of them, in order.
    pub(super) fn new(members: &[Member<'f>], inputs: Zeroizing<Vec<T>>) -> Self {
        let outputs = members.iter();
        let outputs = outputs.map(|member| member.component.circuit().output_bits());
        Self {
            members: Vec::from(members).into_iter(),
            inputs,
            current: 0..0,
            outputs: Zeroizing::new(Vec::with_capacity(outputs.sum())),
        }
    }

    /// Returns the contents of the outputs of all calls so far, in order.
    pub(super) fn outputs(&self) -> &[T] {
        &self.outputs
    }
}

impl<'f, T: Wire> Calls<'f, T> for Sequence<'f, T> {
    fn step(&mut self, _rules: &Rules<T>) -> Step<'f> {
        let Some(member) = self.members.next() else {
            return Step::End;
        };
        let first = self.current.end;
        self.current = first..first + member.component.circuit().input_bits();
        Step::Call(Call {
            number: member.number,
            component: member.component,
            component_index: member.place,
        })
    }

    fn arguments(&self) -> &[T] {
        &self.inputs[self.current.clone()]
    }

    fn finish_call(&mut self, results: &[T]) {
        self.outputs.extend_from_slice(results);
    }
}

/// A function's calls as instances, during the walk that computes the links between them.
pub(super) struct Finding<'f, S: Side> {
    values: Values<'f, S::Wire>,
    instances: std::vec::IntoIter<KeptInstance>,
    /// The instance of the current call.
    current: KeptInstance,
    /// The content of each input of each call. For finished calls, the sum of that content and of
    /// the content of the value that leads to the input.
    wires: Zeroizing<Vec<S::Wire>>,
    /// The inputs of the current call.
    inputs: Range<usize>,
    arguments: Zeroizing<Vec<S::Wire>>,
}

impl<'f, S: Side> Finding<'f, S> {
    /// Returns the calls of `values` as `instances`, whose inputs carry `wires`.
    pub(super) fn new(
        values: Values<'f, S::Wire>,
        instances: Vec<KeptInstance>,
        wires: Zeroizing<Vec<S::Wire>>,
    ) -> Self {
        Self {
            values,
            instances: instances.into_iter(),
            current: KeptInstance::default(),
            wires,
            inputs: 0..0,
            arguments: Zeroizing::default(),
        }
    }

    /// Takes the next call's instance, and the contents of the values that lead to its inputs.
    fn begin_call(&mut self) {
        self.current = self.instances.next().unwrap_or_default();
        let values = Calls::arguments(&self.values);
        let first = self.inputs.end;
        self.inputs = first..first + values.len();
        let wires = &mut self.wires[self.inputs.clone()];
        if self.arguments.capacity() < wires.len() {
            self.arguments = Zeroizing::new(Vec::with_capacity(wires.len()));
        }
        self.arguments.clear();
        self.arguments.extend_from_slice(wires);
        for (wire, value) in wires.iter_mut().zip(values) {
            *wire = *wire ^ *value;
        }
    }

    /// Returns the instance of the current call.
    pub(super) fn current(&mut self) -> &mut KeptInstance {
        &mut self.current
    }

    /// Returns the sums, after the last call.
    pub(super) fn take_sums(&mut self) -> Zeroizing<Vec<S::Wire>> {
        std::mem::take(&mut self.wires)
    }
}

impl<'f, S: Side> Calls<'f, S::Wire> for Finding<'f, S> {
    fn step(&mut self, rules: &Rules<S::Wire>) -> Step<'f> {
        loop {
            let step = Calls::step(&mut self.values, rules);
            let Step::Call(call) = step else {
                return step;
            };
            self.begin_call();
            let number = self.current.number();
            // If its outputs are stored, the walk need not enter the component.
            match self.current.outputs::<S>() {
                Some(outputs) => {
                    let results = Zeroizing::new(outputs.collect::<Vec<_>>());
                    Calls::finish_call(&mut self.values, &results);
                }
                None => return Step::Call(Call { number, ..call }),
            }
        }
    }

    fn arguments(&self) -> &[S::Wire] {
        &self.arguments
    }

    fn finish_call(&mut self, results: &[S::Wire]) {
        Calls::finish_call(&mut self.values, results);
    }
}

impl<'f, S: Side> From<Finding<'f, S>> for Values<'f, S::Wire> {
    fn from(finding: Finding<'f, S>) -> Self {
        finding.values
    }
}

/// A function's calls as instances, during the walk that follows links to their inputs.
pub(super) struct Following<'f, T: Wire> {
    values: Values<'f, T>,
    numbers: std::vec::IntoIter<u32>,
    /// The sum that is added to the value that leads to each input of each call.
    links: Zeroizing<Vec<T>>,
    next: usize,
    arguments: Zeroizing<Vec<T>>,
}

impl<'f, T: Wire> Following<'f, T> {
    /// Returns the calls of `values`, whose instances have these numbers.
    pub(super) fn new(values: Values<'f, T>, numbers: Vec<u32>, links: Zeroizing<Vec<T>>) -> Self {
        Self {
            values,
            numbers: numbers.into_iter(),
            links,
            next: 0,
            arguments: Zeroizing::default(),
        }
    }
}

impl<'f, T: Wire> Calls<'f, T> for Following<'f, T> {
    fn step(&mut self, rules: &Rules<T>) -> Step<'f> {
        let step = Calls::step(&mut self.values, rules);
        let Step::Call(call) = step else {
            return step;
        };
        let number = self.numbers.next().unwrap_or_default();
        let values = Calls::arguments(&self.values);
        if self.arguments.capacity() < values.len() {
            self.arguments = Zeroizing::new(Vec::with_capacity(values.len()));
        }
        self.arguments.clear();
        let links = values.iter().zip(&self.links[self.next..]);
        self.arguments
            .extend(links.map(|(value, link)| *value ^ *link));
        self.next += self.arguments.len();
        Step::Call(Call { number, ..call })
    }

    fn arguments(&self) -> &[T] {
        &self.arguments
    }

    fn finish_call(&mut self, results: &[T]) {
        Calls::finish_call(&mut self.values, results);
    }
}

impl<'f, T: Wire> From<Following<'f, T>> for Values<'f, T> {
    fn from(following: Following<'f, T>) -> Self {
        following.values
    }
}
