//! Evaluation on several threads: one receives and walks, the others evaluate.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use tacit_garble::{Evaluator, Scheme};
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::super::spans::{Calls, PIECES, ResultReceiver, ResultSender, Segments, window, work_on};
use super::Streaming;
use crate::Error;
use crate::io::{Io, Message, SharedBytes, complete};

/// A span, as the evaluating thread holds it.
struct Job<'f> {
    calls: Calls<'f, Block>,
    tables: Receiver<SharedBytes>,
    results: ResultSender<Block>,
}

/// A span, as the receiving thread holds it.
struct Span<'f> {
    segments: Segments<'f>,
    /// The sender of the span's tables, until all are sent.
    tables: Option<SyncSender<SharedBytes>>,
    results: ResultReceiver<Block>,
    /// The span itself, where this thread is to evaluate it.
    own: Option<Job<'f>>,
}

fn ends(calls: Calls<'_, Block>) -> (Job<'_>, Span<'_>) {
    let (tables_out, tables) = sync_channel(PIECES);
    let (results_out, results) = channel();
    let segments = calls.segments();
    let job = Job {
        calls,
        tables,
        results: results_out,
    };
    let span = Span {
        segments,
        tables: Some(tables_out),
        results,
        own: None,
    };
    (job, span)
}

impl Job<'_> {
    /// Evaluates the span. Returns `None` if the rest of its tables will not come.
    fn evaluate<S: Scheme>(self, scheme: S, evaluator: &mut S::Evaluator) -> Option<()> {
        let (mut frame, mut rest): SharedBytes = Default::default();
        for call in &self.calls.calls {
            let program = call.program;
            evaluator.begin(call.number, program, &call.arguments);
            for segment in 0..program.segments().len() {
                let needed = scheme.table_bytes(program, segment);
                if needed > 0 && rest.is_empty() {
                    (frame, rest) = self.tables.recv().ok()?;
                }
                let tables = frame[rest.clone()].get(..needed)?;
                evaluator.evaluate(program, segment, tables);
                rest.start += needed;
            }
            let room = Vec::with_capacity(program.outputs().len());
            let mut outputs = Zeroizing::new(room);
            evaluator.finish(program, &mut outputs);
            self.results.send((call.number, outputs)).ok()?;
        }
        Some(())
    }
}

impl Span<'_> {
    /// Sends a part of a frame. If the thread has ended, its missing results tell.
    fn hand_over(&self, frame: &Arc<Vec<u8>>, part: Range<usize>) {
        if let Some(tables) = &self.tables
            && !part.is_empty()
        {
            let _ = tables.send((Arc::clone(frame), part));
        }
    }
}

/// The spans of a walk. Those whose tables are all sent come first.
struct Spans<'w, 'f, 'e, S: Scheme> {
    streaming: &'w mut Streaming<'f, 'e, S>,
    spans: VecDeque<Span<'f>>,
    /// The number of spans that have all their tables.
    fed: usize,
    window: usize,
}

impl<'f, S: Scheme> Streaming<'f, '_, S> {
    /// Evaluates the function on `threads` threads, at least two, with frames of tables from `io`,
    /// whose waits never return pending. `another` makes an evaluator for each thread.
    pub(super) fn evaluate_on_threads(
        &mut self,
        io: &mut Io<'_>,
        frame: Message,
        threads: usize,
        another: impl Fn() -> Box<S::Evaluator> + Sync,
    ) -> Result<(), Error> {
        let scheme = self.scheme;
        let function = self.values.function();
        let (jobs, queue) = channel::<Job<'f>>();
        let queue = Mutex::new(queue);
        let work = || {
            let mut evaluator = another();
            work_on(&queue, |job: Job<'f>| {
                job.evaluate(scheme, &mut evaluator);
            });
        };
        let work = &work;
        thread::scope(|scope| {
            // Dropped at the end, so that no further job can come.
            let jobs = jobs;
            let mut idle = threads - 1;
            let mut hand_out = |job| {
                if idle > 0 {
                    idle -= 1;
                    scope.spawn(work);
                }
                // The queue lives as long as this function.
                let _ = jobs.send(job);
            };
            let mut spans = Spans {
                streaming: self,
                spans: VecDeque::new(),
                fed: 0,
                window: window(threads),
            };
            let mut is_over = spans.use_tables(&Arc::default(), &mut hand_out)?;
            let mut used: VecDeque<Arc<Vec<u8>>> = VecDeque::new();
            while !is_over {
                io.progressed(spans.streaming.walk.progress(function));
                let free = used.pop_front_if(|frame| Arc::strong_count(frame) == 1);
                let mut memory = free.and_then(Arc::into_inner).unwrap_or_default();
                let tables = complete(io.receive_given(frame, &mut memory))?;
                let tables = Arc::new(tables.into_owned());
                spans.streaming.begin_frame(&tables)?;
                is_over = spans.use_tables(&tables, &mut hand_out)?;
                used.push_back(tables);
            }
            Ok(())
        })
    }
}

impl<'f, S: Scheme> Spans<'_, 'f, '_, S> {
    /// Continues until the frame is used up and more tables are needed, or until the function ends.
    /// Returns whether the function has ended.
    fn use_tables(
        &mut self,
        tables: &Arc<Vec<u8>>,
        hand_out: &mut dyn FnMut(Job<'f>),
    ) -> Result<bool, Error> {
        let mut begin = 0;
        loop {
            self.take_calls(hand_out);
            if self.fed < self.spans.len() {
                match self.feed(tables, begin)? {
                    Some(end) => begin = end,
                    None => return Ok(false),
                }
            } else if let Some(span) = self.spans.pop_front() {
                self.fed -= 1;
                if let Some(job) = span.own {
                    job.evaluate(self.streaming.scheme, self.streaming.evaluator);
                }
                for (number, labels) in &span.results {
                    self.streaming.values.finish_ahead(number, &labels);
                }
            } else if begin == tables.len() {
                return Ok(true);
            } else {
                return Err(self.streaming.frame_should_have(self.streaming.used));
            }
        }
    }

    /// Takes calls whose arguments are available.
    fn take_calls(&mut self, hand_out: &mut dyn FnMut(Job<'f>)) {
        while self.spans.len() < self.window {
            let labels = &mut self.streaming.labels;
            let constant = |_| labels.next_block();
            let Some(calls) = Calls::next(&mut self.streaming.values, constant) else {
                return;
            };
            let is_small = calls.is_small() && self.spans.is_empty();
            let (job, mut span) = ends(calls);
            if is_small {
                span.own = Some(job);
            } else {
                hand_out(job);
            }
            self.spans.push_back(span);
        }
    }

    /// Sends the tables of the frame from `begin` on to the first span that needs some. Returns
    /// their end once that span has all of its tables, or `None` if it needs more.
    fn feed(&mut self, tables: &Arc<Vec<u8>>, begin: usize) -> Result<Option<usize>, Error> {
        let span = &mut self.spans[self.fed];
        let streaming = &mut *self.streaming;
        let mut end = begin;
        while let Some((program, segment)) = span.segments.peek() {
            let needed = streaming.scheme.table_bytes(program, segment);
            if needed > 0 && end == tables.len() {
                streaming.check_end_of_frame(needed)?;
                span.hand_over(tables, begin..end);
                return Ok(None);
            }
            streaming.split(&tables[end..], needed)?;
            end += needed;
            streaming.walk.pass_ahead(program, segment);
            span.segments.pass();
        }
        span.hand_over(tables, begin..end);
        span.tables = None;
        self.fed += 1;
        Ok(Some(end))
    }
}
