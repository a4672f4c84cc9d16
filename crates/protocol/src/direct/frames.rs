//! The walk over a function's segments, whose tables are packed into frames.

use tacit_circuit::{Call, Function, Program};
use tacit_garble::Scheme;

/// A frame of tables is sent once it holds this many bytes; it ends with a whole segment.
pub const FRAME_BYTES: usize = 64 << 10;

/// The largest frame that an honest garbler sends for `function`.
pub(super) fn max_frame_bytes<S: Scheme>(scheme: S, function: &Function) -> usize {
    let programs = function
        .components()
        .iter()
        .map(|component| component.program());
    let segments = programs.flat_map(|program| {
        (0..program.segments().len()).map(move |segment| scheme.table_bytes(program, segment))
    });
    FRAME_BYTES + segments.max().unwrap_or(0)
}

/// Where a walk stands, and what it has behind it.
#[derive(Default)]
pub(super) struct Walk {
    call: usize,
    segment: usize,
    begun: bool,
    done_ands: u64,
}

/// What a walk meets next.
pub(super) enum Stop<'f> {
    /// A call whose inputs are to be gathered.
    Begin(u32, &'f Call, &'f Program),
    /// A segment of the call that was begun.
    Segment(&'f Program, usize),
    /// The end of the call that was begun, whose outputs are to be kept.
    Finish(&'f Call, &'f Program),
}

impl Walk {
    /// The next stop, or `None` at the function's end.
    pub(super) fn peek<'f>(&self, function: &'f Function) -> Option<Stop<'f>> {
        let call = function.calls().get(self.call)?;
        let program = function.program(call);
        Some(if !self.begun {
            Stop::Begin(self.call as u32, call, program)
        } else if self.segment < program.segments().len() {
            Stop::Segment(program, self.segment)
        } else {
            Stop::Finish(call, program)
        })
    }

    /// Moves past the stop that `peek` showed.
    pub(super) fn pass(&mut self, stop: &Stop<'_>) {
        match stop {
            Stop::Begin(..) => self.begun = true,
            Stop::Segment(program, segment) => {
                self.done_ands += program.segments()[*segment].ands.len() as u64;
                self.segment += 1;
            }
            Stop::Finish(..) => {
                *self = Self {
                    call: self.call + 1,
                    done_ands: self.done_ands,
                    ..Self::default()
                };
            }
        }
    }

    /// AND gates behind it.
    pub(super) fn done_ands(&self) -> u64 {
        self.done_ands
    }
}
