//! The wires of instances that a function's inputs and calls use, derived from the function alone.

use tacit_function::{Function, Role, Values};
use tacit_kernels::Block;

use crate::Error;
use crate::direct::check_without_values;

/// The largest size of a run's links in bytes.
const MAX_LINK_BYTES: u64 = 1 << 30;

/// The largest number of AND gates of a run, because parties hold the data of all its gates in
/// memory.
const MAX_ANDS: u64 = 1 << 23;

/// Sources of wires that carry no input bit.
const OUTPUT: u32 = 0;
const CONSTANT: u32 = u32::MAX;

/// The stage at which the garbler sends the link to a wire.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaves {
    /// With its openings: the wire carries an output of an instance. If only constants decide the
    /// value, the evaluator knows its label at this stage, but no input is part of it (reason 6
    /// under "Why links hold" in `docs/protocols/instances.md`).
    Early,
    /// After the evaluator's inputs are fixed: the wire carries an input or a constant, whose
    /// active label is public.
    Late,
}

/// The input wires of a function's calls, in order, and the input bits that they carry.
pub(super) struct Wiring {
    /// The component of each call.
    pub(super) components: Vec<usize>,
    /// For each wire the number of the input bit that it carries, plus one; [`OUTPUT`] if it
    /// carries an output of an instance, or [`CONSTANT`].
    sources: Vec<u32>,
    /// For each input bit its owner, and the first wire that carries it. The bit has the mask of
    /// that wire.
    inputs: Vec<(Role, Option<usize>)>,
}

impl Wiring {
    /// Returns the wiring of `function`.
    pub(super) fn of(function: &Function) -> Result<Self, Error> {
        check_without_values(function, "authenticated, from instances in stock,")?;
        if function.and_gates() > MAX_ANDS {
            return Err(unfit("it has too many AND gates"));
        }
        let (mut inputs, mut next) = (Vec::new(), 0);
        let mut values = Values::<u32>::new(function, |port| {
            inputs.push((function.inputs()[port].owner, None));
            next += 1;
            Ok::<_, Error>(next)
        })?;
        let (mut components, mut sources, mut results) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(call) = values.next_call(|_| CONSTANT) {
            components.push(call.component_index);
            for source in values.arguments() {
                if let Some((_, first)) = index(*source).and_then(|i| inputs.get_mut(i)) {
                    first.get_or_insert(sources.len());
                }
                sources.push(*source);
            }
            if sources.len() as u64 > MAX_LINK_BYTES / Block::BYTES as u64 {
                return Err(unfit("it has too many links"));
            }
            results.clear();
            results.resize(call.component.circuit().output_bits(), OUTPUT);
            values.finish_call(&results);
        }
        if components.is_empty() {
            return Err(unfit("it calls no component"));
        }
        let unread = |source: &u32| index(*source).is_some_and(|i| inputs[i].1.is_none());
        if values.outputs(|_| CONSTANT).all().iter().any(unread) {
            return Err(unfit("a result is an input that no component reads"));
        }
        Ok(Self {
            components,
            sources,
            inputs,
        })
    }

    /// Returns the number of wires.
    pub(super) fn wires(&self) -> usize {
        self.sources.len()
    }

    /// Returns the number of the input bit that a wire carries, if it carries one.
    pub(super) fn source(&self, wire: usize) -> Option<usize> {
        index(self.sources[wire])
    }

    /// Returns the stage at which the link to a wire is sent.
    pub(super) fn leaves(&self, wire: usize) -> Leaves {
        match self.sources[wire] {
            OUTPUT => Leaves::Early,
            _ => Leaves::Late,
        }
    }

    /// Returns the wires from `first` on whose links are sent at this stage.
    pub(super) fn sent(&self, when: Leaves, first: usize) -> impl Iterator<Item = usize> {
        (first..self.wires()).filter(move |wire| self.leaves(*wire) == when)
    }

    /// Whether the wire's mask is that of the input bit that it carries.
    pub(super) fn is_input(&self, wire: usize) -> bool {
        let source = self.source(wire);
        source.is_some_and(|input| self.inputs[input].1 == Some(wire))
    }

    /// Returns the wire whose mask an input bit has, if a call reads the bit.
    pub(super) fn wire_of(&self, input: usize) -> Option<usize> {
        self.inputs[input].1
    }

    /// Returns the wires of the input bits of `role` that calls read, in the order of the bits.
    pub(super) fn wires_of(&self, role: Role) -> impl Iterator<Item = usize> {
        let those = self.inputs.iter().filter(move |(owner, _)| *owner == role);
        those.filter_map(|(_, wire)| *wire)
    }

    /// Returns those of a party's input bits that calls read.
    pub(super) fn read(&self, role: Role, inputs: &[bool]) -> impl Iterator<Item = bool> {
        let those = self.inputs.iter().filter(move |(owner, _)| *owner == role);
        let read = those.zip(inputs).filter(|((_, wire), _)| wire.is_some());
        read.map(|(_, bit)| *bit)
    }

    /// Returns a bit for each input bit of the function, from those bits of each party that calls
    /// read. The other bits are 0.
    pub(super) fn all_inputs(&self, garblers: &[bool], evaluators: &[bool]) -> Vec<bool> {
        let (mut garblers, mut evaluators) = (garblers.iter(), evaluators.iter());
        let bits = self.inputs.iter().map(|(owner, wire)| {
            let bits = match owner {
                Role::Garbler => &mut garblers,
                Role::Evaluator => &mut evaluators,
            };
            wire.and_then(|_| bits.next()).copied().unwrap_or_default()
        });
        bits.collect()
    }
}

/// Returns the input bit that a source stands for, if any.
fn index(source: u32) -> Option<usize> {
    match source {
        OUTPUT | CONSTANT => None,
        input => Some(input as usize - 1),
    }
}

fn unfit(why: &str) -> Error {
    Error::Material(format!(
        "the function cannot be run from instances in stock, since {why}"
    ))
}
