//! Passes nodes to a function's builder.

use tacit_function::{Expression, FunctionBuilder, Part};

use super::super::super::pieces::operand;
use super::{LoopArgument, MadeStep, Node, NodeKind, StepPattern};

/// Passes steps to a function's builder.
#[derive(Clone, Copy)]
pub(super) struct Writer<'t> {
    pub(super) shapes: &'t [StepPattern],
    pub(super) made: &'t [MadeStep],
    pub(super) names: &'t [String],
    pub(super) widths: &'t [Vec<usize>],
    /// The numbers of the components that steps call, if steps count them on their own.
    pub(super) components: Option<&'t [usize]>,
    pub(super) value: &'t str,
    pub(super) counter: &'t str,
}

impl Writer<'_> {
    /// Writes nodes. `counters` holds the counters of the surrounding loops, outermost first.
    pub(super) fn nodes(
        &self,
        builder: &mut FunctionBuilder,
        nodes: &[Node],
        counters: &mut Vec<Expression>,
    ) {
        for node in nodes {
            match &node.what {
                NodeKind::Made(number) => self.made(builder, &self.made[*number]),
                NodeKind::Loop { turns, body } => {
                    let name = format!("{}{}", self.counter, counters.len());
                    builder.repeat(&name, 0, *turns as u64, |each, counter| {
                        counters.push(counter.clone());
                        self.nodes(each, body, counters);
                        counters.pop();
                    });
                }
                NodeKind::Step {
                    shape,
                    starts,
                    strides,
                } => {
                    let part = |number: usize, offset, width| {
                        let moved = strides.iter().rev().map(|strides| strides[number]);
                        let start = starts[number] as usize + offset;
                        self.part(start, width, moved.zip(&*counters))
                    };
                    self.step(builder, &self.shapes[*shape], part);
                }
            }
        }
    }

    fn made(&self, builder: &mut FunctionBuilder, step: &MadeStep) {
        match step {
            MadeStep::Calls {
                turns,
                component,
                targets,
                after,
                arguments,
            } => {
                let name = format!("{}0", self.counter);
                builder.repeat(&name, 0, *turns, |each, turn| {
                    let next = |value: &str, width: usize, after: u64| {
                        let mut from = turn.times(width as u64);
                        if after > 0 {
                            from = from.plus(after * width as u64);
                        }
                        Part::of(value).range(from.clone(), from.plus(width as u64))
                    };
                    let targets = targets.iter();
                    let targets = targets.map(|(value, width)| next(value, *width, *after));
                    let arguments = arguments.iter().map(|argument| match argument {
                        LoopArgument::Element(value, width) => next(value, *width, 0).into(),
                        LoopArgument::Wires(pieces) => operand(pieces, |start, width| {
                            Part::of(self.value).range(start as u64, (start + width) as u64)
                        }),
                    });
                    let arguments: Vec<tacit_function::Operand> = arguments.collect();
                    each.call(targets, &self.names[*component], arguments);
                });
            }
            MadeStep::Move {
                from,
                start,
                width,
                place,
            } => {
                let target = Part::of(self.value).range(*place as u64, (place + width) as u64);
                let value = Part::of(from).range(*start, start + *width as u64);
                builder.assign(target, value);
            }
            MadeStep::Fill { to, start, wires } => {
                let width: usize = wires.iter().map(|piece| piece.width()).sum();
                let target = Part::of(to).range(*start as u64, (start + width) as u64);
                let value = operand(wires, |start, width| {
                    Part::of(self.value).range(start as u64, (start + width) as u64)
                });
                builder.assign(target, value);
            }
            MadeStep::Network {
                value,
                steps,
                components,
            } => {
                let writer = Writer {
                    shapes: &steps.shapes,
                    made: &[],
                    components: Some(components),
                    value,
                    ..*self
                };
                writer.nodes(builder, &steps.nodes, &mut Vec::new());
            }
        }
    }

    /// Writes a step. `part` returns the wires of the start with a given number, from an offset on.
    fn step(
        &self,
        builder: &mut FunctionBuilder,
        shape: &StepPattern,
        part: impl Fn(usize, usize, usize) -> Part,
    ) {
        let mut number = shape.apart.len().saturating_sub(1);
        let mut next = |_, width| {
            number += 1;
            part(number, 0, width)
        };
        let arguments = shape.arguments.iter();
        let mut arguments = arguments.map(|pieces| operand(pieces, &mut next));
        match (shape.component, arguments.next()) {
            (None, Some(argument)) => builder.assign(part(0, 0, shape.width), argument),
            (None, None) => builder,
            (Some(of), first) => {
                let of = self.components.map_or(of, |components| components[of]);
                let mut offset = 0;
                let targets = self.widths[of].iter().enumerate();
                let targets = targets.map(|(number, &width)| {
                    offset += width;
                    if shape.apart.is_empty() {
                        part(0, offset - width, width)
                    } else {
                        part(number, 0, width)
                    }
                });
                builder.call(targets, &self.names[of], first.into_iter().chain(arguments))
            }
        };
    }

    /// Returns consecutive wires that move with each counter by a stride.
    fn part<'e>(
        &self,
        start: usize,
        width: usize,
        moved: impl Iterator<Item = (i64, &'e Expression)> + Clone,
    ) -> Part {
        let at = |start: usize| {
            let moved = moved.clone();
            moved.fold(
                (start as u64).into(),
                |at: Expression, (stride, counter)| match stride {
                    0 => at,
                    1.. => at.plus(counter.times(stride.unsigned_abs())),
                    _ => at.minus(counter.times(stride.unsigned_abs())),
                },
            )
        };
        Part::of(self.value).range(at(start), at(start + width))
    }
}
