//! Reads and writes of parts of values.

use tacit_circuit::builder::Bit;

use super::branch::OverwrittenWires;
use super::operators::Bits;
use super::order_free::{addition, variable};
use super::trace::{Frame, Tracer};
use super::{Diagnostic, Lower};
use crate::program::{Expression, Root, Step, TypeId, ValuePath, Variable};

/// A step whose numbers are known, and for a secret index its wires.
enum Resolved<'b> {
    /// The offset and number of the wires within the part before.
    At(usize, usize),
    /// One of `count` elements of `width` wires.
    Secret(Bits<'b>, usize, usize),
}

/// Returns the start and length of the part of a value of `width` bits up to the first secret step,
/// and the steps from there on.
fn known_part<'s, 'b>(
    mut steps: &'s [Resolved<'b>],
    width: usize,
) -> (usize, usize, &'s [Resolved<'b>]) {
    let (mut start, mut length) = (0, width);
    while let [Resolved::At(from, wide), rest @ ..] = steps {
        start += from;
        (length, steps) = (*wide, rest);
    }
    (start, length, steps)
}

impl<'b, 'p> Tracer<'b, 'p> {
    pub(super) fn wires<'f>(
        &'f self,
        frame: &'f Frame<'b, 'p>,
        variable: Variable,
    ) -> &'f Bits<'b> {
        match variable {
            Variable::Local(local) => &frame.locals[local as usize],
            Variable::State(state) => &self.states[state as usize],
        }
    }

    pub(super) fn wires_mut<'f>(
        &'f mut self,
        frame: &'f mut Frame<'b, 'p>,
        variable: Variable,
    ) -> &'f mut Bits<'b> {
        match variable {
            Variable::Local(local) => &mut frame.locals[local as usize],
            Variable::State(state) => &mut self.states[state as usize],
        }
    }

    /// Overwrites wires. Under a secret condition, records the old wires.
    pub(super) fn write(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        variable: Variable,
        start: usize,
        bits: &[Bit<'b>],
    ) {
        let end = start + bits.len();
        if frame.log.is_some() {
            let before = self.wires(frame, variable)[start..end].to_vec();
            let written = OverwrittenWires {
                variable,
                start,
                before,
            };
            frame.log.get_or_insert_default().push(written);
        }
        self.wires_mut(frame, variable)[start..end].copy_from_slice(bits);
    }

    pub(super) fn read(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        place: &'p ValuePath,
    ) -> Lower<Bits<'b>> {
        let (ty, computed) = match &place.root {
            Root::Local(local) => (frame.function.locals[local.0 as usize].ty, None),
            Root::State(state) => (self.program.states[state.0 as usize].ty, None),
            Root::Value(value) => (value.ty, Some(self.expression(frame, value)?)),
        };
        let (steps, width) = self.steps(frame, place, ty)?;
        let wires = match (&computed, variable(place)) {
            (None, Some(variable)) => self.wires(frame, variable),
            (computed, _) => computed.as_ref().expect("a value that was computed"),
        };
        Ok(self.part(wires, &steps, width))
    }

    /// Returns the part of `wires` that steps lead to, which is `width` wide.
    fn part(&self, wires: &[Bit<'b>], steps: &[Resolved<'b>], width: usize) -> Bits<'b> {
        let Some((step, rest)) = steps.split_first() else {
            return wires[..width].to_vec();
        };
        match step {
            Resolved::At(start, length) => self.part(&wires[*start..start + length], rest, width),
            Resolved::Secret(index, count, element) => {
                // The following steps select the same part of each element.
                let (start, length, rest) = known_part(rest, *element);
                let at = |number: usize| {
                    let from = number * element + start;
                    &wires[from..from + length]
                };
                let elements: Vec<&[Bit<'b>]> = (0..*count).map(at).collect();
                let found = self.operators().lookup(&elements, index);
                self.part(&found, rest, width)
            }
        }
    }

    /// Returns the steps of a place, and the width of the part that they lead to.
    fn steps(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        place: &'p ValuePath,
        root: TypeId,
    ) -> Lower<(Vec<Resolved<'b>>, usize)> {
        let types = &self.program.types;
        let mut ty = root;
        let mut steps = Vec::with_capacity(place.path.len());
        for step in &place.path {
            let element = types.element(ty);
            let (element_type, count) = element.unwrap_or((ty, 0));
            let width = types.width(element_type) as usize;
            let outside = |span, number: i128| {
                let message = format!("the index is {number}, and the array has {count} elements");
                Diagnostic::new(span, message)
            };
            match step {
                Step::Field(field) => {
                    let fields = types.fields(ty);
                    let before = &fields[..*field as usize];
                    let start: u64 = before.iter().map(|ty| types.width(*ty)).sum();
                    ty = fields[*field as usize];
                    steps.push(Resolved::At(start as usize, types.width(ty) as usize));
                }
                Step::At(number, span) => {
                    let number = self.number(frame, number, *span)?;
                    let at = usize::try_from(number)
                        .ok()
                        .filter(|at| *at < count as usize);
                    let at = at.ok_or_else(|| outside(*span, number))?;
                    steps.push(Resolved::At(at * width, width));
                    ty = element_type;
                }
                Step::AtSecret(index) => {
                    let index = self.expression(frame, index)?;
                    steps.push(Resolved::Secret(index, count as usize, width));
                    ty = element_type;
                }
                Step::Slice(from, picked, span) => {
                    let number = self.number(frame, from, *span)?;
                    let last = i128::from(count) - i128::from(*picked);
                    let at = usize::try_from(number).ok().filter(|_| number <= last);
                    let at = at.ok_or_else(|| outside(*span, number))?;
                    steps.push(Resolved::At(at * width, *picked as usize * width));
                    ty = types.find(&types.slice(ty, *picked)).unwrap_or(ty);
                }
            }
        }
        Ok((steps, types.width(ty) as usize))
    }

    pub(super) fn assign(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        place: &'p ValuePath,
        bits: &[Bit<'b>],
    ) -> Lower<()> {
        let Some(variable) = variable(place) else {
            return Ok(());
        };
        let (_, ty) = self.program.variable(frame.function, variable);
        let (steps, _) = self.steps(frame, place, ty)?;
        let width = self.program.types.width(ty) as usize;
        let (start, length, rest) = known_part(&steps, width);
        let now = self.wires(frame, variable)[start..start + length].to_vec();
        let after = self.updated(&now, rest, bits);
        self.write(frame, variable, start, &after);
        Ok(())
    }

    /// Adds to the place's parts. Each element that an index may select gets an addition under the
    /// condition that the index selects it.
    pub(super) fn add_at(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        place: &'p ValuePath,
        value: &'p Expression,
    ) -> Lower<()> {
        let variable = variable(place).expect("a variable that is summed up");
        let addition = addition(place, value).expect("a statement that adds");
        let addend = self.expression(frame, addition.addend)?;
        let (_, ty) = self.program.variable(frame.function, variable);
        let (steps, _) = self.steps(frame, place, ty)?;
        let mut parts = vec![(0, None)];
        for step in &steps {
            parts = match step {
                Resolved::At(from, _) => {
                    let parts = parts.into_iter();
                    parts
                        .map(|(start, condition)| (start + from, condition))
                        .collect()
                }
                Resolved::Secret(index, count, width) => {
                    let chosen = self.operators().one_hot(index, *count);
                    let element = |(start, condition): (usize, Option<Bit<'b>>)| {
                        let chosen = chosen.iter().enumerate();
                        chosen.map(move |(number, &here)| {
                            let both = condition.map_or(here, |condition| condition & here);
                            (start + number * width, Some(both))
                        })
                    };
                    parts.into_iter().flat_map(element).collect()
                }
            };
        }
        self.add(frame, variable, addition, &parts, &addend)
    }

    /// Returns `wires` with `bits` in the part that steps lead to.
    fn updated(&self, wires: &[Bit<'b>], steps: &[Resolved<'b>], bits: &[Bit<'b>]) -> Bits<'b> {
        let Some((step, rest)) = steps.split_first() else {
            return bits.to_vec();
        };
        let mut all = wires.to_vec();
        match step {
            Resolved::At(start, length) => {
                let range = *start..start + length;
                let part = self.updated(&wires[range.clone()], rest, bits);
                all[range].copy_from_slice(&part);
            }
            Resolved::Secret(index, count, width) => {
                let chosen = self.operators().one_hot(index, *count);
                for (number, here) in chosen.into_iter().enumerate() {
                    let range = number * width..(number + 1) * width;
                    let before = &wires[range.clone()];
                    let after = self.updated(before, rest, bits);
                    let selected = self.operators().select(here, &after, before);
                    all[range].copy_from_slice(&selected);
                }
            }
        }
        all
    }
}
