//! Spans of calls that other threads garble or evaluate while one sends or receives.
//!
//! Calls are taken in the function's order ([`Values::step_ahead`]), and a span is the next of them
//! whose arguments are there: enough for a thread, or as many as there are. Tables keep their
//! order, so that what is sent does not depend on the number of threads. A call may be long, so its
//! tables pass between threads in pieces.
//!
//! Memory: [`window`] spans are there at once, and of each at most [`PIECES`] pieces of about
//! [`PIECE_BYTES`]: 8 MiB a thread.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};

use tacit_circuit::Program;
use tacit_function::{Call, Step, Values};
use zeroize::{Zeroize, Zeroizing};

/// Gates of a span, where an XOR gate counts an eighth: some 40 µs of work, next to which handing
/// it to a thread is little.
const SPAN_GATES: usize = 4096;

/// Bytes of a piece of tables, about: it ends with a whole segment, or with its span.
pub(super) const PIECE_BYTES: usize = 64 << 10;

/// Pieces of a span that wait for the other thread.
pub(super) const PIECES: usize = 64;

/// AND gates of a function below which a run is over before threads have started.
pub(super) const LEAST_ANDS: u64 = 1 << 16;

/// Spans that are there at once.
pub(super) fn window(threads: usize) -> usize {
    2 * threads
}

/// A call whose arguments are there.
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
    /// The next calls whose arguments are there, until they are enough. None where the next step
    /// waits for a result, or is the end.
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

    /// Whether handing them to another thread takes about as long as the work.
    pub(super) fn is_small(&self) -> bool {
        self.gates < SPAN_GATES
    }

    /// Their segments, in order.
    pub(super) fn segments(&self) -> Segments<'f> {
        Segments {
            programs: self.calls.iter().map(|call| call.program).collect(),
            segment: 0,
        }
    }
}

/// Where a walk over the segments of calls stands.
pub(super) struct Segments<'f> {
    programs: VecDeque<&'f Program>,
    segment: usize,
}

impl<'f> Segments<'f> {
    /// The next segment, if there is one.
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

    /// Moves past it.
    pub(super) fn pass(&mut self) {
        self.segment += 1;
    }
}

/// Where a thread puts the results of each call, by its number.
pub(super) type ResultSender<W> = Sender<(u32, Zeroizing<Vec<W>>)>;
/// Where they come from.
pub(super) type ResultReceiver<W> = Receiver<(u32, Zeroizing<Vec<W>>)>;

/// Does all jobs that come, until no more can.
pub(super) fn work_on<J>(queue: &Mutex<Receiver<J>>, mut work: impl FnMut(J)) {
    let next = || {
        let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.recv().ok()
    };
    while let Some(job) = next() {
        work(job);
    }
}
