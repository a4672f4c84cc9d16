//! The evaluator of `direct`.

mod on_threads;

use tacit_function::{Outputs, Role, Step, Values};
use tacit_garble::{Evaluator, Scheme};
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::frames::{FRAME_BYTES, FrameCursor, Stop, tables};
use super::{Run, widest_output};
use crate::bits::read_blocks;
use crate::io::Io;
use crate::message::Kind;
use crate::result::{GARBLING_START, evaluators_results};
use crate::setup::EvaluatorOt;
use crate::{Error, Misbehaviour};

impl<S: Scheme> Run<'_, S> {
    /// Runs the evaluator's side and returns its output bits, in port order. `inputs` are its input
    /// bits in port order, and `ot` provides one OT for each.
    ///
    /// # Errors
    ///
    /// The number of `inputs` is not what the function takes from the evaluator, the function has
    /// saved values, the garbler misbehaves, or the wire fails. `ot` must not be used afterwards.
    pub async fn evaluate(
        self,
        io: &mut Io<'_>,
        inputs: &[bool],
        ot: &mut EvaluatorOt,
    ) -> Result<Zeroizing<Vec<bool>>, Error> {
        self.check(Role::Evaluator, inputs)?;
        let Self {
            scheme,
            function,
            tag,
            threads,
        } = self;
        // The evaluator sends its choices without waiting for a message.
        let first = ot.next_index();
        let received = ot.choose(io, inputs)?;

        let payload = io.receive(GARBLING_START).await?;
        let [start, label_seed] = read_blocks(Kind::GarblingStart, payload)?;
        let chosen = received.iter().copied().zip(inputs.iter().copied());
        let chosen = (first..).zip(chosen);
        let mut evaluator = Box::new(scheme.evaluator(start));
        let mut streaming = Streaming::new(self, &mut evaluator, Prg::new(label_seed), chosen)?;
        let tables = tables(scheme, function);
        if self.is_on_threads() {
            let another = || Box::new(scheme.evaluator(start));
            streaming.evaluate_on_threads(io, tables, threads, another)?;
        }
        let mut stopped = streaming.use_tables(&[])?;
        loop {
            io.progressed(streaming.walk.progress(function));
            stopped = match stopped {
                Stopped::NeedsTables => {
                    let frame = io.receive(tables).await?;
                    streaming.begin_frame(frame)?;
                    streaming.use_tables(frame)?
                }
                Stopped::Paused(rest) => {
                    io.breathe().await?;
                    streaming.use_tables(&rest)?
                }
                Stopped::Ended => break,
            };
        }

        let outputs = streaming.finish();
        let labels = |role| outputs.of(role);
        evaluators_results(io, scheme, (function, &tag), &*evaluator, labels).await
    }
}

/// The state of the evaluator while tables arrive.
struct Streaming<'f, 'e, S: Scheme> {
    scheme: S,
    evaluator: &'e mut S::Evaluator,
    values: Values<'f, Block>,
    /// The labels that the garbler derives as well: those of its inputs, then those of constants.
    labels: Prg,
    walk: FrameCursor<'f>,
    results: Zeroizing<Vec<Block>>,
    /// Length of the last frame.
    frame_bytes: usize,
    /// The number of bytes of that frame that are used.
    used: usize,
}

/// The reason that an evaluator stops.
enum Stopped {
    /// The frame is used up, and more tables are needed.
    NeedsTables,
    /// The function has ended, and so has the frame.
    Ended,
    /// The evaluator yields before the frame is used up. Holds the rest of the frame.
    Paused(Vec<u8>),
}

impl<'f, 'e, S: Scheme> Streaming<'f, 'e, S> {
    /// Takes the input labels: the garbler's from the seed, the evaluator's from its OTs.
    fn new(
        run: Run<'f, S>,
        evaluator: &'e mut S::Evaluator,
        mut labels: Prg,
        mut chosen: impl Iterator<Item = (u64, (Block, bool))>,
    ) -> Result<Self, Error> {
        let values = Values::new(run.function, |port| {
            Ok::<_, Error>(match run.function.inputs()[port].owner {
                Role::Garbler => labels.next_block(),
                Role::Evaluator => {
                    let too_few = Error::ApiMisuse("one bit for each input wire");
                    let (index, (t, bit)) = chosen.next().ok_or(too_few)?;
                    evaluator.label_from_cot(index, t, bit)
                }
            })
        })?;
        Ok(Self {
            scheme: run.scheme,
            evaluator,
            values,
            labels,
            walk: FrameCursor::default(),
            results: Zeroizing::new(Vec::with_capacity(widest_output(run.function))),
            frame_bytes: 0,
            used: 0,
        })
    }

    /// Starts a frame, which holds the tables of whole segments.
    fn begin_frame(&mut self, tables: &[u8]) -> Result<(), Error> {
        if tables.is_empty() {
            return Err(Misbehaviour::invalid(Kind::Tables, "length").into());
        }
        (self.frame_bytes, self.used) = (tables.len(), 0);
        Ok(())
    }

    /// Evaluates until the frame is used up and more tables are needed, until the function ends, or
    /// until it is time to yield. `tables` is the rest of the frame.
    fn use_tables(&mut self, mut tables: &[u8]) -> Result<Stopped, Error> {
        loop {
            if self.walk.gives_way() {
                return Ok(Stopped::Paused(tables.to_vec()));
            }
            match self.walk.peek() {
                Stop::Begin => {
                    let labels = &mut self.labels;
                    match self.values.step(|_| labels.next_block()) {
                        Step::Call(call) => {
                            let program = call.component.program();
                            self.evaluator
                                .begin(call.number, program, self.values.arguments());
                            self.walk.begin(program);
                        }
                        Step::Assigned(bits) => self.walk.work(bits),
                        Step::End if tables.is_empty() => return Ok(Stopped::Ended),
                        Step::End => return Err(self.frame_should_have(self.used)),
                    }
                }
                Stop::Segment(program, segment) => {
                    let needed = self.scheme.table_bytes(program, segment);
                    if needed > 0 && tables.is_empty() {
                        self.check_end_of_frame(needed)?;
                        return Ok(Stopped::NeedsTables);
                    }
                    let now;
                    (now, tables) = self.split(tables, needed)?;
                    self.evaluator.evaluate(program, segment, now);
                    self.walk.pass(program);
                }
                Stop::Finish(program) => {
                    self.results.clear();
                    self.evaluator.finish(program, &mut self.results);
                    self.values.finish_call(&self.results);
                    self.walk.finish();
                }
            }
        }
    }

    /// Splits `tables` into those of the next segment, `needed` bytes, and the rest.
    fn split<'t>(
        &mut self,
        tables: &'t [u8],
        needed: usize,
    ) -> Result<(&'t [u8], &'t [u8]), Error> {
        if needed > 0 && self.used >= FRAME_BYTES {
            return Err(self.frame_should_have(self.used));
        }
        let split = tables.split_at_checked(needed);
        self.used += needed;
        split.ok_or_else(|| self.frame_should_have(self.used))
    }

    /// Checks that the frame may end before a segment that needs this number of bytes: no frame has
    /// come yet, or the frame is full. A garbler that sent less at a time could delay a run for
    /// long.
    fn check_end_of_frame(&self, needed: usize) -> Result<(), Error> {
        if self.frame_bytes == 0 || self.used >= FRAME_BYTES {
            return Ok(());
        }
        Err(self.frame_should_have(self.used + needed))
    }

    fn frame_should_have(&self, expected: usize) -> Error {
        let (expected, found) = (expected as u64, self.frame_bytes as u64);
        let kind = Kind::Tables;
        Misbehaviour::WrongLength {
            kind,
            expected,
            found,
        }
        .into()
    }

    /// Returns the labels of the function's outputs, after the last call.
    fn finish(mut self) -> Outputs<'f, Block> {
        self.values.outputs(|_| self.labels.next_block())
    }
}
