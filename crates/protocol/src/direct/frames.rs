//! The walk over a function's segments, whose tables are packed into frames.

use tacit_circuit::Program;
use tacit_function::Function;
use tacit_garble::Scheme;

use crate::Error;
use crate::io::Message;
use crate::message::Kind;
use crate::party::Progress;

/// A frame of tables is sent once it holds this many bytes; it ends with a whole segment.
pub const FRAME_BYTES: usize = 64 << 10;

/// The amount of work that a party does before it yields, in XOR gates and in bits that calls and
/// assignments move. It takes some milliseconds.
const WORK: usize = 1 << 20;

/// From the garbler: tables of whole segments.
pub(super) fn tables<S: Scheme>(scheme: S, function: &Function) -> Message {
    let programs = function
        .components()
        .iter()
        .map(|component| component.program());
    let segments = programs.flat_map(|program| {
        (0..program.segments().len()).map(move |segment| scheme.table_bytes(program, segment))
    });
    Message::up_to(Kind::Tables, FRAME_BYTES + segments.max().unwrap_or(0))
}

/// The position of a walk within the current call, and the work done so far.
#[derive(Default)]
pub(super) struct FrameCursor<'f> {
    program: Option<&'f Program>,
    segment: usize,
    done_ands: u64,
    /// The work done since the party last yielded.
    work: usize,
}

/// The next step of a walk.
pub(super) enum Stop<'f> {
    /// The next call is to be started.
    Begin,
    /// A segment of the current call.
    Segment(&'f Program, usize),
    /// The end of the current call, whose outputs are to be kept.
    Finish(&'f Program),
}

impl<'f> FrameCursor<'f> {
    /// Returns the next stop.
    pub(super) fn peek(&self) -> Stop<'f> {
        match self.program {
            None => Stop::Begin,
            Some(program) if self.segment < program.segments().len() => {
                Stop::Segment(program, self.segment)
            }
            Some(program) => Stop::Finish(program),
        }
    }

    /// Starts a call.
    pub(super) fn begin(&mut self, program: &'f Program) {
        (self.program, self.segment) = (Some(program), 0);
        self.work(program.inputs() + program.outputs().len());
    }

    /// Counts a step of `amount` gates or bits.
    pub(super) fn work(&mut self, amount: usize) {
        self.work = self.work.saturating_add(amount).saturating_add(1);
    }

    /// Returns whether it is time to yield, and if so restarts the count.
    pub(super) fn gives_way(&mut self) -> bool {
        let over = self.work >= WORK;
        if over {
            self.work = 0;
        }
        over
    }

    /// Moves past a segment.
    pub(super) fn pass(&mut self, program: &Program) {
        let segment = &program.segments()[self.segment];
        self.done_ands += segment.ands.len() as u64;
        self.work(segment.xors.len());
        self.segment += 1;
    }

    /// Counts a segment of a call that another thread walks through.
    pub(super) fn pass_ahead(&mut self, program: &Program, segment: usize) {
        self.done_ands += program.segments()[segment].ands.len() as u64;
    }

    /// Ends the current call.
    pub(super) fn finish(&mut self) {
        self.program = None;
    }

    /// Returns the progress through `function`.
    pub(super) fn progress(&self, function: &Function) -> Progress {
        Progress {
            done_ands: self.done_ands,
            total_ands: function.and_gates(),
        }
    }
}

/// Checks that `direct` can run `function`, which must not save or load values.
///
/// # Errors
///
/// [`Error::SavedValue`] if the function loads or saves a value.
pub fn check(function: &Function) -> Result<(), Error> {
    check_without_values(function, "direct")
}

/// Checks that `function` neither saves nor loads values, which `protocol` does not support.
pub(crate) fn check_without_values(
    function: &Function,
    protocol: &'static str,
) -> Result<(), Error> {
    match function.loads().iter().chain(function.saves()).next() {
        None => Ok(()),
        Some(port) => Err(Error::SavedValue {
            protocol,
            value: port.name.clone(),
        }),
    }
}
