//! Reads and writes of parts of values.

use num_traits::ToPrimitive;

use super::operators;
use super::run::{Frame, Machine, Run};
use crate::program::{LocalId, Root, Step, Value, ValuePath};

impl<'p> Machine<'p> {
    pub(super) fn read(&mut self, frame: &mut Frame, place: &'p ValuePath) -> Run<Value> {
        // A root that is not in a variable is computed before the indices.
        let computed = match &place.root {
            Root::Value(root) => self.expression(frame, root)?,
            Root::Local(_) | Root::State(_) => Value::UNIT,
        };
        let steps = self.steps(frame, place)?;
        let mut value = match &place.root {
            Root::Local(local) => &frame.locals[local.0 as usize],
            Root::State(state) => &self.states[state.0 as usize],
            Root::Value(_) => &computed,
        };
        for step in &steps {
            let parts = value.as_list();
            value = match step {
                Resolved::Part(number) => &parts[*number],
                Resolved::Index(index) => &parts[operators::clamped(index, parts.len())],
                Resolved::Slice(from, count) => {
                    // Only steps into the slice's own parts can follow, and the slice is small.
                    let slice = Value::List(parts[*from..*from + *count].to_vec());
                    let rest = &steps[1 + position(&steps, step)..];
                    return Ok(below(&slice, rest));
                }
            };
        }
        Ok(value.clone())
    }

    /// Returns the steps of a place, with the current values of their numbers.
    fn steps(&mut self, frame: &mut Frame, place: &'p ValuePath) -> Run<Vec<Resolved>> {
        let mut steps = Vec::with_capacity(place.path.len());
        for step in &place.path {
            steps.push(match step {
                Step::Field(field) => Resolved::Part(*field as usize),
                Step::At(number, span) => {
                    let number = self.number(frame, number, *span)?;
                    Resolved::Part(number.to_usize().unwrap_or(usize::MAX))
                }
                Step::AtSecret(index) => Resolved::Index(self.expression(frame, index)?),
                Step::Slice(from, count, span) => {
                    let from = self.number(frame, from, *span)?;
                    let from = from.to_usize().unwrap_or(usize::MAX);
                    Resolved::Slice(from, *count as usize)
                }
            });
        }
        Ok(steps)
    }

    pub(super) fn assign(
        &mut self,
        frame: &mut Frame,
        place: &'p ValuePath,
        value: Value,
    ) -> Run<()> {
        let steps = self.steps(frame, place)?;
        let root = match &place.root {
            Root::Local(LocalId(local)) => &mut frame.locals[*local as usize],
            Root::State(state) => &mut self.states[state.0 as usize],
            Root::Value(_) => return Ok(()),
        };
        set(root, &steps, value);
        Ok(())
    }
}

/// A step whose numbers are known.
#[derive(Clone, Debug)]
enum Resolved {
    Part(usize),
    Index(Value),
    Slice(usize, usize),
}

fn position(steps: &[Resolved], step: &Resolved) -> usize {
    steps
        .iter()
        .position(|other| core::ptr::eq(other, step))
        .unwrap_or(0)
}

fn below(value: &Value, steps: &[Resolved]) -> Value {
    let Some((step, rest)) = steps.split_first() else {
        return value.clone();
    };
    let parts = value.as_list();
    match step {
        Resolved::Part(number) => below(&parts[*number], rest),
        Resolved::Index(index) => below(&parts[operators::clamped(index, parts.len())], rest),
        Resolved::Slice(from, count) => {
            below(&Value::List(parts[*from..*from + *count].to_vec()), rest)
        }
    }
}

/// Writes a part of a value. An index past the end writes nothing.
fn set(target: &mut Value, steps: &[Resolved], value: Value) {
    let Some((step, rest)) = steps.split_first() else {
        *target = value;
        return;
    };
    let parts = target.as_list_mut();
    match step {
        Resolved::Part(number) => set(&mut parts[*number], rest, value),
        Resolved::Index(index) => {
            let number = match index {
                Value::Bool(bit) => usize::from(*bit),
                index => index.as_integer().to_usize().unwrap_or(usize::MAX),
            };
            if let Some(part) = parts.get_mut(number) {
                set(part, rest, value);
            }
        }
        Resolved::Slice(from, count) => {
            let mut slice = Value::List(parts[*from..*from + *count].to_vec());
            set(&mut slice, rest, value);
            parts.splice(*from..*from + *count, slice.as_list().iter().cloned());
        }
    }
}
