//! Spans of calls that other threads garble or evaluate while one thread sends or receives.
//!
//! Calls are taken in the function's order ([`Values::step_ahead`]). A span is the next calls whose
//! arguments are available: enough work for a thread, or as many as there are. Tables keep their
//! order, so the messages do not depend on the number of threads. A call may be long, so its tables
//! pass between threads in pieces.
//!
//! Memory: at most [`window`] spans exist at once, each with at most [`PIECES`] pieces of about
//! [`PIECE_BYTES`]: 8 MiB a thread.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};

use tacit_circuit::Program;
use tacit_function::{Call, Step, Values};
use zeroize::{Zeroize, Zeroizing};

/// The number of gates in a span, where an XOR gate counts an eighth: some 40 µs of work, compared
/// with which the cost of passing it to a thread is small.
const SPAN_GATES: usize = 4096;

/// The approximate size of a piece of tables, in bytes. A piece ends with a whole segment, or with
/// its span.
pub(super) const PIECE_BYTES: usize = 64 << 10;

/// The number of pieces of a span that may wait for the other thread.
pub(super) const PIECES: usize = 64;

/// The number of AND gates below which a run is over before threads have started.
pub(super) const LEAST_ANDS: u64 = 1 << 16;

/// Returns the number of spans that may exist at once.
pub(super) fn window(threads: usize) -> usize {
    2 * threads
}

/// A call whose arguments are available.
pub(super) struct SpanCall<'f, W: Zeroize> {
    pub(super) number: u32,
    pub(super) program: &'f Program,
    pub(super) arguments: Zeroizing<Vec<W>>,
}

/// Calls for a thread.
pub(super) struct Calls<'f, W: Zeroize> {
    pub(super) calls: Vec<SpanCall<'f, W>>,
    gates: usize,
}

impl<'f, W: Copy + Default + Zeroize> Calls<'f, W> {
    /// Takes the next calls whose arguments are available, until they are enough for a span.
    /// Returns `None` if the next step waits for a result, or is the end.
    pub(super) fn next(
        values: &mut Values<'f, W>,
        mut constant: impl FnMut(bool) -> W,
    ) -> Option<Self> {
        let (mut calls, mut gates) = (Vec::new(), 0);
        while gates < SPAN_GATES {
            match values.step_ahead(&mut constant) {
                Some(Step::Call(call)) => {
                    let Call {
                        number, component, ..
                    } = call;
                    let program = component.program();
                    gates += 1 + program.ands().len() + program.xors().len() / 8;
                    calls.push(SpanCall {
                        number,
                        program,
                        arguments: Zeroizing::new(values.arguments().to_vec()),
                    });
                }
                Some(Step::Assigned(_)) => {}
                Some(Step::End) | None => break,
            }
        }
        (!calls.is_empty()).then_some(Self { calls, gates })
    }

    /// Whether passing these calls to another thread takes about as long as the work.
    pub(super) fn is_small(&self) -> bool {
        self.gates < SPAN_GATES
    }

    /// Returns the segments of these calls, in order.
    pub(super) fn segments(&self) -> Segments<'f> {
        Segments {
            programs: self.calls.iter().map(|call| call.program).collect(),
            segment: 0,
        }
    }
}

/// The position of a walk over the segments of calls.
pub(super) struct Segments<'f> {
    programs: VecDeque<&'f Program>,
    segment: usize,
}

impl<'f> Segments<'f> {
    /// Returns the next segment, if there is one.
    pub(super) fn peek(&mut self) -> Option<(&'f Program, usize)> {
        while let Some(program) = self.programs.front() {
            if self.segment < program.segments().len() {
                return Some((program, self.segment));
            }
            self.programs.pop_front();
            self.segment = 0;
        }
        None
    }

    /// Moves past the next segment.
    pub(super) fn pass(&mut self) {
        self.segment += 1;
    }
}

/// The channel into which a thread puts the results of each call, by its number.
pub(super) type ResultSender<W> = Sender<(u32, Zeroizing<Vec<W>>)>;
/// The channel from which the results of each call come.
pub(super) type ResultReceiver<W> = Receiver<(u32, Zeroizing<Vec<W>>)>;

/// Runs all jobs that come, until no more can come.
pub(crate) fn work_on<J>(queue: &Mutex<Receiver<J>>, mut work: impl FnMut(J)) {
    let next = || {
        let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.recv().ok()
    };
    while let Some(job) = next() {
        work(job);
    }
}
