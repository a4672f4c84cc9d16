//! The garbler of `direct`.

mod on_threads;

use tacit_function::{Outputs, Role, Step, Values};
use tacit_garble::{Garbler, Scheme};
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::frames::{FRAME_BYTES, FrameCursor, Stop, tables};
use super::{Run, widest_output};
use crate::Error;
use crate::bits::append_blocks;
use crate::io::Io;
use crate::result::{GARBLING_START, garblers_results};
use crate::setup::GarblerOt;

impl<S: Scheme> Run<'_, S> {
    /// Runs the garbler's side and returns its output bits, in port order. `inputs` are its input
    /// bits in port order, and `ot` provides one OT for each input bit of the evaluator. `seed` is
    /// random, secret and used for this run alone.
    ///
    /// # Errors
    ///
    /// The number of `inputs` is not what the function takes from the garbler, the function has
    /// saved values, the evaluator misbehaves, or the wire fails. `ot` must not be used afterwards.
    pub async fn garble(
        self,
        io: &mut Io<'_>,
        inputs: &[bool],
        ot: &mut GarblerOt,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Zeroizing<Vec<bool>>, Error> {
        self.check(Role::Garbler, inputs)?;
        let Self {
            scheme,
            function,
            tag,
            threads,
        } = self;
        let mut prg = Prg::from_seed(seed);
        let (start, label_seed) = (prg.next_block(), prg.next_block());
        let mut garbling_seed = Zeroizing::new([0; 32]);
        prg.fill_bytes(&mut *garbling_seed);
        io.message().clear();
        append_blocks(io.message(), &[start, label_seed]);
        io.send(GARBLING_START)?;

        let first = ot.next_index();
        let offers = ot.offer(io, function.input_bits(Role::Evaluator)).await?;

        let mut garbler = Box::new(scheme.garbler(*garbling_seed, start, ot.delta()));
        let offers = (first..).zip(offers.iter().copied());
        let labels = Prg::new(label_seed);
        let mut streaming = Streaming::new(self, &mut garbler, labels, inputs, offers)?;
        let tables = tables(scheme, function);
        if self.is_on_threads() {
            let delta = Zeroizing::new(ot.delta());
            let another = || Box::new(scheme.garbler(*garbling_seed, start, *delta));
            streaming.garble_on_threads(io, tables, threads, another)?;
        }
        loop {
            match streaming.fill(io.message()) {
                Filled::Paused => io.breathe().await?,
                Filled::Full => io.send(tables)?,
                Filled::Last => break,
            }
            io.progressed(streaming.walk.progress(function));
        }
        if !io.message().is_empty() {
            io.send(tables)?;
        }

        let outputs = streaming.finish();
        let wires = |role| outputs.of(role);
        garblers_results(io, scheme, (function, &tag), &*garbler, wires).await
    }
}

/// The state of the garbler while tables leave.
struct Streaming<'f, 'g, S: Scheme> {
    scheme: S,
    /// Borrowed, so that its secrets are never moved.
    garbler: &'g mut S::Garbler,
    values: Values<'f, S::Wire>,
    /// The labels that the evaluator derives as well: those of the garbler's inputs, then those of
    /// constants.
    labels: Prg,
    walk: FrameCursor<'f>,
    results: Zeroizing<Vec<S::Wire>>,
    /// Bytes of the frame that is being filled.
    filled: usize,
}

/// The reason that a garbler stops filling a frame.
enum Filled {
    /// The frame is full.
    Full,
    /// The function has ended, and the frame holds its last tables, if there are any.
    Last,
    /// It is time to yield.
    Paused,
}

const TOO_FEW: Error = Error::ApiMisuse("one bit for each input wire");

impl<'f, 'g, S: Scheme> Streaming<'f, 'g, S> {
    /// Makes the input wires: the garbler's around labels that both parties derive, the evaluator's
    /// from its correlated OTs.
    fn new(
        run: Run<'f, S>,
        garbler: &'g mut S::Garbler,
        mut labels: Prg,
        inputs: &[bool],
        mut offers: impl Iterator<Item = (u64, Block)>,
    ) -> Result<Self, Error> {
        let mut inputs = inputs.iter().copied();
        let values = Values::new(run.function, |port| {
            Ok::<_, Error>(match run.function.inputs()[port].owner {
                Role::Garbler => {
                    let input = inputs.next().ok_or(TOO_FEW)?;
                    garbler.wire_with_active(labels.next_block(), input)
                }
                Role::Evaluator => {
                    let (index, q) = offers.next().ok_or(TOO_FEW)?;
                    garbler.wire_from_cot(index, q)
                }
            })
        })?;
        Ok(Self {
            scheme: run.scheme,
            garbler,
            values,
            labels,
            walk: FrameCursor::default(),
            results: Zeroizing::new(Vec::with_capacity(widest_output(run.function))),
            filled: 0,
        })
    }

    /// Garbles until `frame` is full, the function ends or it is time to yield. After a yield, the
    /// caller continues with the same frame.
    fn fill(&mut self, frame: &mut Vec<u8>) -> Filled {
        while self.filled < FRAME_BYTES {
            if self.walk.gives_way() {
                return Filled::Paused;
            }
            match self.walk.peek() {
                Stop::Begin => {
                    let (garbler, labels) = (&mut *self.garbler, &mut self.labels);
                    let constant = |bit| garbler.wire_with_active(labels.next_block(), bit);
                    match self.values.step(constant) {
                        Step::Call(call) => {
                            let program = call.component.program();
                            self.garbler
                                .begin(call.number, program, self.values.arguments());
                            self.walk.begin(program);
                        }
                        Step::Assigned(bits) => self.walk.work(bits),
                        Step::End => {
                            frame.truncate(self.filled);
                            return Filled::Last;
                        }
                    }
                }
                Stop::Segment(program, segment) => {
                    let end = self.filled + self.scheme.table_bytes(program, segment);
                    if frame.len() < end {
                        frame.resize(end, 0);
                    }
                    self.garbler
                        .garble(program, segment, &mut frame[self.filled..end]);
                    self.filled = end;
                    self.walk.pass(program);
                }
                Stop::Finish(program) => {
                    self.results.clear();
                    self.garbler.finish(program, &mut self.results);
                    self.values.finish_call(&self.results);
                    self.walk.finish();
                }
            }
        }
        frame.truncate(self.filled);
        self.filled = 0;
        Filled::Full
    }

    /// Returns the function's outputs, after the last call.
    fn finish(mut self) -> Outputs<'f, S::Wire> {
        let (garbler, labels) = (self.garbler, &mut self.labels);
        let constant = |bit| garbler.wire_with_active(labels.next_block(), bit);
        self.values.outputs(constant)
    }
}
