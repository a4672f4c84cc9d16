//! Garbling on several threads: one walks and sends, the others garble.

use std::collections::VecDeque;
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use tacit_garble::{Garbler, Scheme};
use zeroize::Zeroizing;

use super::super::frames::FRAME_BYTES;
use super::super::spans::{
    Calls, PIECE_BYTES, PIECES, ResultReceiver, ResultSender, Segments, window, work_on,
};
use super::Streaming;
use crate::Error;
use crate::io::{Io, Message, SharedBytes};

/// A span, as the garbling thread holds it.
struct Job<'f, S: Scheme> {
    calls: Calls<'f, S::Wire>,
    tables: SyncSender<Vec<u8>>,
    results: ResultSender<S::Wire>,
}

/// A span, as the sending thread holds it.
struct Span<'f, S: Scheme> {
    segments: Segments<'f>,
    tables: Receiver<Vec<u8>>,
    results: ResultReceiver<S::Wire>,
}

fn ends<S: Scheme>(calls: Calls<'_, S::Wire>) -> (Job<'_, S>, Span<'_, S>) {
    let (tables_out, tables) = sync_channel(PIECES);
    let (results_out, results) = channel();
    let segments = calls.segments();
    let job = Job {
        calls,
        tables: tables_out,
        results: results_out,
    };
    let span = Span {
        segments,
        tables,
        results,
    };
    (job, span)
}

impl<S: Scheme> Job<'_, S> {
    /// Garbles the span. Returns `None` if the sending thread no longer takes its tables.
    fn garble(self, scheme: S, garbler: &mut S::Garbler) -> Option<()> {
        let mut piece = Vec::new();
        for call in &self.calls.calls {
            let program = call.program;
            garbler.begin(call.number, program, &call.arguments);
            for segment in 0..program.segments().len() {
                let begin = piece.len();
                piece.resize(begin + scheme.table_bytes(program, segment), 0);
                garbler.garble(program, segment, &mut piece[begin..]);
                if piece.len() >= PIECE_BYTES {
                    let next = Vec::with_capacity(piece.len());
                    self.tables.send(mem::replace(&mut piece, next)).ok()?;
                }
            }
            let room = Vec::with_capacity(program.outputs().len());
            let mut outputs = Zeroizing::new(room);
            garbler.finish(program, &mut outputs);
            self.results.send((call.number, outputs)).ok()?;
        }
        self.tables.send(piece).ok()
    }
}

impl<'f, S: Scheme> Streaming<'f, '_, S> {
    /// Garbles the function on `threads` threads, at least three, and sends all frames but the
    /// last, which stays in `io`. `another` makes a garbler with the same seed and Δ for each
    /// thread: the tables of a call depend on nothing that the thread garbled before.
    pub(super) fn garble_on_threads(
        &mut self,
        io: &mut Io<'_>,
        frame: Message,
        threads: usize,
        another: impl Fn() -> Box<S::Garbler> + Sync,
    ) -> Result<(), Error> {
        let scheme = self.scheme;
        let (jobs, queue) = channel::<Job<'f, S>>();
        let queue = Mutex::new(queue);
        let work = || {
            let mut garbler = another();
            work_on(&queue, |job: Job<'f, S>| {
                job.garble(scheme, &mut garbler);
            });
        };
        let work = &work;
        thread::scope(|scope| {
            // Dropped at the end, so that no further job can come.
            let jobs = jobs;
            let mut idle = threads - 1;
            let (mut spans, mut parts) = (VecDeque::new(), Vec::<SharedBytes>::new());
            loop {
                while spans.len() < window(threads) {
                    let Some(calls) = self.next_calls() else {
                        break;
                    };
                    let is_small = calls.is_small() && spans.is_empty();
                    let (job, span) = ends::<S>(calls);
                    spans.push_back(span);
                    if is_small {
                        job.garble(scheme, self.garbler);
                        continue;
                    }
                    if idle > 0 {
                        idle -= 1;
                        scope.spawn(work);
                    }
                    // The queue lives as long as this function.
                    let _ = jobs.send(job);
                }
                let Some(span) = spans.pop_front() else {
                    io.message().clear();
                    for (piece, range) in parts {
                        io.message().extend_from_slice(&piece[range]);
                    }
                    return Ok(());
                };
                self.send(io, frame, &mut parts, span)?;
            }
        })
    }

    fn next_calls(&mut self) -> Option<Calls<'f, S::Wire>> {
        let (garbler, labels) = (&mut *self.garbler, &mut self.labels);
        let constant = |bit| garbler.wire_with_active(labels.next_block(), bit);
        Calls::next(&mut self.values, constant)
    }

    /// Sends the tables of a span as they come, in frames, and takes its results. The frame that is
    /// being filled consists of `parts`.
    fn send(
        &mut self,
        io: &mut Io<'_>,
        frame: Message,
        parts: &mut Vec<SharedBytes>,
        mut span: Span<'f, S>,
    ) -> Result<(), Error> {
        for piece in &span.tables {
            let (piece, mut begin, mut end) = (Arc::new(piece), 0, 0);
            while let Some((program, segment)) = span.segments.peek() {
                let bytes = self.scheme.table_bytes(program, segment);
                if bytes > piece.len() - end {
                    break;
                }
                end += bytes;
                self.filled += bytes;
                self.walk.pass_ahead(program, segment);
                span.segments.pass();
                if self.filled >= FRAME_BYTES {
                    parts.push((Arc::clone(&piece), begin..end));
                    (begin, self.filled) = (end, 0);
                    io.send_shared(frame, mem::take(parts))?;
                    io.progressed(self.walk.progress(self.values.function()));
                }
            }
            if begin < end {
                parts.push((piece, begin..end));
            }
        }
        for (number, wires) in &span.results {
            self.values.finish_ahead(number, &wires);
        }
        Ok(())
    }
}
