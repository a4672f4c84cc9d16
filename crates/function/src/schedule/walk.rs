//! A walk over a function's operations that tracks what each granule of its arrays holds.

use crate::Function;
use crate::plan::{Array, Cursor, Operation, Part, Piece, Plan};

use super::runs::HeldRuns;
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

/// A walk over the operations of a function. It takes 16 bytes for each granule that is in no run,
/// and 20 for each span of granules whose bits are not consecutive.
pub(super) struct SourceWalk<'f> {
    plan: &'f Plan,
    cursor: Cursor,
    held: Vec<GranuleSource>,
    apart: Vec<Box<[Span]>>,
    /// The other granules.
    runs: HeldRuns,
}

impl<'f> SourceWalk<'f> {
    /// Creates a walk before the first operation.
    pub(super) fn new(function: &'f Function, inputs: &[InputBlock]) -> Self {
        let plan = function.plan();
        let mut walk = Self {
            plan,
            cursor: Cursor::new(),
            // The check has found each element to be assigned before it is read.
            held: vec![GranuleSource::Apart(u32::MAX); plan.granules_apart],
            apart: Vec::new(),
            runs: HeldRuns::default(),
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
            if walk.is_in_runs(array) {
                walk.runs.add(array, array.granules(), element(0));
                continue;
            }
            let elements: Vec<Span> = (0..input.instances).map(element).collect();
            let mut bits = SpanReader::new(&elements);
            for granule in array.granules() {
                walk.hold(granule, bits.take(array.granule));
            }
        }
        walk
    }

    fn is_in_runs(&self, array: &Array) -> bool {
        array.first >= self.held.len()
    }

    /// Returns the number of runs of elements.
    pub(super) fn runs(&self) -> usize {
        self.runs.count()
    }

    /// Whether the walk ended because it took too many steps.
    pub(super) fn is_exhausted(&self) -> bool {
        self.cursor.is_exhausted()
    }

    /// Returns for how many more turns of a stream its call reads what it reads now, with each span
    /// moved by as many instances each time.
    pub(super) fn turns_ahead(&self, operation: &Operation) -> u64 {
        let moves = |part: &&Part| !part.start.factors.is_empty();
        let ahead = operation.reads().filter(moves).map(|part| {
            let granules = self.plan.granules(part, self.cursor.counters());
            self.runs.ahead(self.plan.array(part), &granules)
        });
        ahead.fold(self.cursor.turns_left(), u64::min)
    }

    /// Skips turns of a stream, whose results are in the instances that follow the present ones.
    pub(super) fn skip(&mut self, operation: &Operation, turns: u64) {
        for part in operation.assigns() {
            let granules = self.plan.granules(part, self.cursor.counters());
            let skipped = granules.len() * turns as usize;
            self.runs.lengthen(granules.end, skipped);
        }
        self.cursor.skip(turns);
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
                    let array = self.plan.array(part);
                    for granule in self.plan.granules(part, self.cursor.counters()) {
                        self.push(array, granule, spans);
                    }
                }
            }
        }
        Ok(())
    }

    fn push(&self, array: &Array, granule: usize, spans: &mut Vec<Span>) {
        let span = match self.held.get(granule) {
            Some(GranuleSource::Together(source, row)) => Span {
                bits: array.granule,
                source: *source,
                row: *row,
            },
            Some(GranuleSource::Apart(number)) => {
                spans.extend_from_slice(&self.apart[*number as usize]);
                return;
            }
            None => {
                let mut pieces = self.runs.spans(array, granule);
                match pieces.next() {
                    Some(whole) if whole.bits == array.granule => whole,
                    first => {
                        spans.extend(first.into_iter().chain(pieces));
                        return;
                    }
                }
            }
        };
        match spans.last_mut() {
            Some(last) if last.source == span.source && last.row + last.bits == span.row => {
                last.bits += span.bits;
            }
            _ => spans.push(span),
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
            let array = self.plan.array(part);
            let granules = self.plan.granules(part, self.cursor.counters());
            if self.is_in_runs(array) {
                // The results of a call are consecutive.
                for result in bits.take(*width as u32) {
                    self.runs.add(array, granules.clone(), result);
                }
                continue;
            }
            for number in granules {
                self.hold(number, bits.take(array.granule));
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
