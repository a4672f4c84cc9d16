//! Both branches of a secret condition, and the selection of their values and assignments.

use std::collections::BTreeMap;

use tacit_circuit::builder::Bit;

use super::Lower;
use super::operators::Bits;
use super::trace::{Frame, Tracer};
use crate::program::{Condition, Variable};
use crate::source::Span;

/// Wires that were overwritten.
pub(super) struct OverwrittenWires<'b> {
    pub(super) variable: Variable,
    pub(super) start: usize,
    pub(super) before: Bits<'b>,
}

/// The wires that a branch assigned to bits of variables.
type Changes<'b> = BTreeMap<(Variable, usize), Bit<'b>>;

impl<'b, 'p> Tracer<'b, 'p> {
    /// Traces one branch, or both and a selection of their values and assignments.
    pub(super) fn choose(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        condition: &'p Condition,
        span: Span,
        then: impl FnOnce(&mut Self, &mut Frame<'b, 'p>) -> Lower<Bits<'b>>,
        otherwise: impl FnOnce(&mut Self, &mut Frame<'b, 'p>) -> Lower<Bits<'b>>,
    ) -> Lower<Bits<'b>> {
        let bit = match condition {
            Condition::Guard(number) => {
                return match self.number(frame, number, span)? {
                    0 => otherwise(self, frame),
                    _ => then(self, frame),
                };
            }
            Condition::Secret(value) => self.expression(frame, value)?[0],
        };
        let outer = frame.log.replace(Vec::new());
        frame.conditions.push(bit);
        let first = then(self, frame)?;
        let changed = self.undo(frame);
        frame.log = Some(Vec::new());
        frame.conditions.pop();
        frame.conditions.push(!bit);
        let second = otherwise(self, frame)?;
        frame.conditions.pop();
        let other = self.undo(frame);
        frame.log = outer;
        self.merge(frame, bit, &changed, &other);
        Ok(self.operators().select(bit, &first, &second))
    }

    /// Restores the overwritten wires, and returns the wires that replaced them.
    fn undo(&mut self, frame: &mut Frame<'b, 'p>) -> Changes<'b> {
        let log = frame.log.take().unwrap_or_default();
        let mut changes = Changes::new();
        for OverwrittenWires {
            variable,
            start,
            before,
        } in &log
        {
            let now = &self.wires(frame, *variable)[*start..*start + before.len()];
            for (place, bit) in now.iter().enumerate() {
                changes.insert((*variable, start + place), *bit);
            }
        }
        for written in log.iter().rev() {
            let end = written.start + written.before.len();
            let wires = self.wires_mut(frame, written.variable);
            wires[written.start..end].copy_from_slice(&written.before);
        }
        changes
    }

    fn merge(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        condition: Bit<'b>,
        then: &Changes<'b>,
        otherwise: &Changes<'b>,
    ) {
        let keys: std::collections::BTreeSet<_> = then.keys().chain(otherwise.keys()).collect();
        let mut run: Option<(Variable, usize, Bits<'b>)> = None;
        for &(variable, place) in keys {
            let before = self.wires(frame, variable)[place];
            let a = *then.get(&(variable, place)).unwrap_or(&before);
            let b = *otherwise.get(&(variable, place)).unwrap_or(&before);
            let bit = b ^ (condition & (a ^ b));
            match &mut run {
                Some((of, start, bits)) if *of == variable && *start + bits.len() == place => {
                    bits.push(bit);
                }
                _ => {
                    if let Some((variable, start, bits)) = run.replace((variable, place, vec![bit]))
                    {
                        self.write(frame, variable, start, &bits);
                    }
                }
            }
        }
        if let Some((variable, start, bits)) = run {
            self.write(frame, variable, start, &bits);
        }
    }
}
