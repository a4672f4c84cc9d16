//! A walk over a function's operations that tracks what each granule of its arrays holds.

use crate::Function;
use crate::plan::{Cursor, Operation, Piece, Plan};

use super::{Block, InputBlock};

/// The results of a call, an element of an input, or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) block: Block,
    pub(super) instance: u32,
}

/// Bits that are consecutive in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) bits: u32,
    pub(super) source: Source,
    /// The row of the first bit there.
    pub(super) row: u32,
}

/// The location of the bits of a granule.
#[derive(Clone, Copy, Debug)]
enum GranuleSource {
    /// They are consecutive from this row on.
    Together(Source, u32),
    /// They are the spans with this number.
    Apart(u32),
}

/// A walk over the operations of a function. It takes 16 bytes for each granule, and 20 for each
/// span of granules whose bits are not consecutive.
pub(super) struct SourceWalk<'f> {
    plan: &'f Plan,
    cursor: Cursor,
    held: Vec<GranuleSource>,
    apart: Vec<Box<[Span]>>,
}

impl<'f> SourceWalk<'f> {
    /// Creates a walk before the first operation.
    pub(super) fn new(function: &'f Function, inputs: &[InputBlock]) -> Self {
        let plan = function.plan();
        let mut walk = Self {
            plan,
            cursor: Cursor::new(),
            // The check has found each element to be assigned before it is read.
            held: vec![GranuleSource::Apart(u32::MAX); plan.granules],
            apart: Vec::new(),
        };
        for (number, (array, input)) in (0..).zip(plan.arrays.iter().zip(inputs)) {
            let element = |instance| Span {
                bits: input.rows,
                source: Source {
                    block: Block::Input(number),
                    instance,
                },
                row: 0,
            };
            let elements: Vec<Span> = (0..input.instances).map(element).collect();
            let mut bits = SpanReader::new(&elements);
            for granule in array.granules() {
                walk.hold(granule, bits.take(array.granule));
            }
        }
        walk
    }

    /// Advances to the next operation.
    pub(super) fn advance(&mut self) -> Option<&'f Operation> {
        self.cursor.advance(self.plan)
    }

    /// Sets `spans` to the spans that an operation or an output reads. `constant` returns the
    /// source of a constant.
    pub(super) fn gather<E>(
        &self,
        operation: &Operation,
        spans: &mut Vec<Span>,
        mut constant: impl FnMut(&[bool]) -> Result<Source, E>,
    ) -> Result<(), E> {
        spans.clear();
        for piece in &operation.arguments {
            match piece {
                Piece::Constant(bits) => {
                    let source = constant(bits)?;
                    let bits = bits.len() as u32;
                    spans.push(Span {
                        bits,
                        source,
                        row: 0,
                    });
                }
                Piece::Part(part) => {
                    let bits = self.plan.array(part).granule;
                    for granule in self.plan.granules(part, self.cursor.counters()) {
                        self.push(granule, bits, spans);
                    }
                }
            }
        }
        Ok(())
    }

    fn push(&self, granule: usize, bits: u32, spans: &mut Vec<Span>) {
        let (source, row) = match self.held[granule] {
            GranuleSource::Together(source, row) => (source, row),
            GranuleSource::Apart(number) => {
                spans.extend_from_slice(&self.apart[number as usize]);
                return;
            }
        };
        match spans.last_mut() {
            Some(last) if last.source == source && last.row + last.bits == row => last.bits += bits,
            _ => spans.push(Span { bits, source, row }),
        }
    }

    /// Assigns the results of an operation.
    pub(super) fn assign(&mut self, operation: &Operation, spans: &[Span]) {
        let mut bits = SpanReader::new(spans);
        for (width, part) in &operation.results {
            let Some(part) = part else {
                bits.take(*width as u32).for_each(drop);
                continue;
            };
            let granule = self.plan.array(part).granule;
            for number in self.plan.granules(part, self.cursor.counters()) {
                self.hold(number, bits.take(granule));
            }
        }
    }

    fn hold(&mut self, granule: usize, mut bits: impl Iterator<Item = Span>) {
        let Some(first) = bits.next() else { return };
        let Some(second) = bits.next() else {
            self.held[granule] = GranuleSource::Together(first.source, first.row);
            return;
        };
        let all = [first, second].into_iter().chain(bits).collect();
        // A variable's element that is assigned again keeps its number.
        match self.held[granule] {
            GranuleSource::Apart(number) if number != u32::MAX => self.apart[number as usize] = all,
            _ => {
                self.held[granule] = GranuleSource::Apart(self.apart.len() as u32);
                self.apart.push(all);
            }
        }
    }
}

/// Spans from which bits are taken in order.
pub(super) struct SpanReader<'s> {
    spans: &'s [Span],
    /// The number of bits of the first span that were taken.
    taken: u32,
}

impl<'s> SpanReader<'s> {
    pub(super) fn new(spans: &'s [Span]) -> Self {
        Self { spans, taken: 0 }
    }

    /// Takes the next bits.
    pub(super) fn take(&mut self, bits: u32) -> impl Iterator<Item = Span> + use<'_, 's> {
        let mut left = bits;
        std::iter::from_fn(move || {
            let span = self.spans.first().filter(|_| left > 0)?;
            let part = Span {
                bits: left.min(span.bits - self.taken),
                source: span.source,
                row: span.row + self.taken,
            };
            left -= part.bits;
            self.taken += part.bits;
            if self.taken == span.bits {
                (self.spans, self.taken) = (&self.spans[1..], 0);
            }
            Some(part)
        })
    }
}
