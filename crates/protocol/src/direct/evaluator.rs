//! The evaluator of `direct`.

use tacit_function::{Function, Outputs, Role, Step, Values};
use tacit_garble::{Evaluator, Scheme};
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::frames::{EXTENSION_OTS, FRAME_BYTES, Stop, Walk, check, max_frame_bytes};
use super::garbler::widest_output;
use crate::bits::read_blocks;
use crate::message::{Kind, exactly};
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE, Progress, SPENT};
use crate::result::write_result;
use crate::session::RunTag;
use crate::setup::EvaluatorOt;
use crate::{Error, Misbehaviour};

/// A run of `direct` on the evaluator's side.
pub struct Evaluating<'f, S: Scheme> {
    function: &'f Function,
    scheme: S,
    tag: RunTag,
    max_frame_bytes: usize,
    state: Option<State<'f, S>>,
    done_ands: u64,
}

pub(crate) enum State<'f, S: Scheme> {
    Choosing(Choosing<'f, S>),
    AwaitingStart(Choosing<'f, S>),
    Working(Box<Streaming<'f, S>>),
    AwaitingTables(Box<Streaming<'f, S>>),
    AwaitingDecoding(Box<Evaluated<'f, S>>),
    Returning(Box<Evaluated<'f, S>>, Zeroizing<Vec<bool>>),
    Done(EvaluatorOt, Zeroizing<Vec<bool>>),
}

/// Before the garbler's start point is known: the choices wait for nothing.
pub(crate) struct Choosing<'f, S: Scheme> {
    function: &'f Function,
    scheme: S,
    inputs: Zeroizing<Vec<bool>>,
    ot: EvaluatorOt,
    /// The label of each OT, of which `chosen` are there.
    received: Zeroizing<Vec<Block>>,
    chosen: usize,
    /// The number of the first OT.
    first: u64,
}

/// While tables arrive.
pub(crate) struct Streaming<'f, S: Scheme> {
    scheme: S,
    evaluator: S::Evaluator,
    values: Values<'f, Block>,
    /// Labels that the garbler derives as well: of its inputs, then of constants.
    labels: Prg,
    walk: Walk<'f>,
    ot: EvaluatorOt,
    results: Zeroizing<Vec<Block>>,
    frame: Frame,
}

/// What came of the frame that was received last.
#[derive(Default)]
struct Frame {
    /// Its length.
    length: usize,
    /// How much of it is used.
    used: usize,
    /// The rest, where the evaluator gave way before it was used.
    rest: Vec<u8>,
}

/// Why an evaluator stops.
enum Stopped {
    /// The frame is used up, and more tables are needed.
    NeedsTables,
    /// The function has ended, and so has the frame.
    Ended,
    /// It gives way.
    Paused,
}

/// When all tables have been used.
pub(crate) struct Evaluated<'f, S: Scheme> {
    evaluator: S::Evaluator,
    outputs: Outputs<'f, Block>,
    ot: EvaluatorOt,
}

impl<'f, S: Scheme> Evaluating<'f, S> {
    /// A run of `function` with the evaluator's input bits, in port order.
    ///
    /// # Errors
    ///
    /// `inputs` are not as many as the function asks of the evaluator, or the function has saved
    /// values.
    pub fn new(
        scheme: S,
        function: &'f Function,
        tag: RunTag,
        inputs: &[bool],
        ot: EvaluatorOt,
    ) -> Result<Self, Error> {
        check(function)?;
        if inputs.len() != function.input_bits(Role::Evaluator) {
            return Err(Error::ApiMisuse(
                "as many input bits as the evaluator's ports have",
            ));
        }
        let inputs = Zeroizing::new(inputs.to_vec());
        let choosing = Choosing {
            received: Zeroizing::new(vec![Block::ZERO; inputs.len()]),
            chosen: 0,
            first: ot.next_index(),
            function,
            scheme,
            inputs,
            ot,
        };
        let state = Some(choosing.chosen());
        let max_frame_bytes = max_frame_bytes(scheme, function);
        Ok(Self {
            function,
            scheme,
            tag,
            max_frame_bytes,
            state,
            done_ands: 0,
        })
    }

    /// The evaluator's output bits in port order, and the OTs for the session's next run.
    ///
    /// # Errors
    ///
    /// The run is not done.
    pub fn finish(self) -> Result<(Zeroizing<Vec<bool>>, EvaluatorOt), Error> {
        match self.state {
            Some(State::Done(ot, outputs)) => Ok((outputs, ot)),
            _ => Err(NOT_DONE),
        }
    }

    fn decoding_bytes(&self) -> usize {
        self.scheme
            .decoding_bytes(self.function.output_bits(Role::Evaluator))
    }

    /// Uses `tables`, which are the frame received or its rest; the state after it.
    fn use_tables(
        &mut self,
        mut streaming: Box<Streaming<'f, S>>,
        tables: &[u8],
    ) -> Result<State<'f, S>, Error> {
        let stopped = streaming.use_tables(tables)?;
        self.done_ands = streaming.walk.done_ands();
        Ok(match stopped {
            Stopped::Paused => State::Working(streaming),
            Stopped::NeedsTables => State::AwaitingTables(streaming),
            Stopped::Ended => self.after_tables(*streaming),
        })
    }

    fn after_tables(&self, streaming: Streaming<'f, S>) -> State<'f, S> {
        let Streaming {
            evaluator,
            values,
            mut labels,
            ot,
            ..
        } = streaming;
        let outputs = values.outputs(|_| labels.next_block());
        let evaluated = Box::new(Evaluated {
            evaluator,
            outputs,
            ot,
        });
        if self.function.output_bits(Role::Evaluator) > 0 {
            State::AwaitingDecoding(evaluated)
        } else {
            self.after_decoding(evaluated, Zeroizing::default())
        }
    }

    fn after_decoding(
        &self,
        evaluated: Box<Evaluated<'f, S>>,
        outputs: Zeroizing<Vec<bool>>,
    ) -> State<'f, S> {
        if self.function.output_bits(Role::Garbler) > 0 {
            State::Returning(evaluated, outputs)
        } else {
            State::Done(evaluated.ot, outputs)
        }
    }
}

impl<'f, S: Scheme> Choosing<'f, S> {
    /// Writes the message that extends the next OTs; goes on choosing, or waits for the start.
    fn choose(mut self, message: &mut Vec<u8>) -> Result<State<'f, S>, Error> {
        let end = self.received.len().min(self.chosen + EXTENSION_OTS);
        let now = self.chosen..end;
        let received = &mut self.received[now.clone()];
        self.ot.extend(&self.inputs[now], received, message)?;
        self.chosen = end;
        Ok(self.chosen())
    }

    /// What comes next: more choices, or the start.
    fn chosen(self) -> State<'f, S> {
        if self.chosen < self.received.len() {
            State::Choosing(self)
        } else {
            State::AwaitingStart(self)
        }
    }

    /// The input labels, after the garbler's message of its start point: the garbler's from the
    /// seed, the evaluator's from its OTs.
    fn streaming(self, payload: &[u8]) -> Result<Box<Streaming<'f, S>>, Error> {
        let [start, label_seed] = read_blocks(Kind::GarblingStart, payload)?;
        let Self {
            function,
            scheme,
            inputs,
            ot,
            ..
        } = self;
        let evaluator = scheme.evaluator(start);
        let mut received = (self.first..)
            .zip(self.received.iter().copied())
            .zip(inputs.iter().copied());
        let mut labels = Prg::new(label_seed);
        let values = Values::new(function, |port| {
            Ok::<_, Error>(match function.inputs()[port].owner {
                Role::Garbler => labels.next_block(),
                Role::Evaluator => {
                    let ((index, t), bit) = received
                        .next()
                        .ok_or(Error::ApiMisuse("one bit for each input wire"))?;
                    evaluator.label_from_cot(index, t, bit)
                }
            })
        })?;
        Ok(Box::new(Streaming {
            scheme,
            evaluator,
            values,
            labels,
            walk: Walk::default(),
            ot,
            results: Zeroizing::new(Vec::with_capacity(widest_output(function))),
            frame: Frame::default(),
        }))
    }
}

impl<S: Scheme> Streaming<'_, S> {
    /// Takes up a frame, which holds the tables of whole segments.
    fn begin_frame(&mut self, tables: &[u8]) -> Result<(), Error> {
        if tables.is_empty() {
            let kind = Kind::Tables;
            let field = "length";
            return Err(Misbehaviour::InvalidField { kind, field }.into());
        }
        (self.frame.length, self.frame.used) = (tables.len(), 0);
        Ok(())
    }

    /// Evaluates until the frame, of which `tables` are what is left, has been used and more are
    /// needed, until the function ends, or until it is time to give way.
    fn use_tables(&mut self, mut tables: &[u8]) -> Result<Stopped, Error> {
        loop {
            if self.walk.gives_way() {
                self.frame.rest = tables.to_vec();
                return Ok(Stopped::Paused);
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
                        Step::End => return Err(self.frame.should_be(self.frame.used)),
                    }
                }
                Stop::Segment(program, segment) => {
                    let needed = self.scheme.table_bytes(program, segment);
                    if needed > 0 && tables.is_empty() {
                        self.frame.may_end(needed)?;
                        return Ok(Stopped::NeedsTables);
                    }
                    let now;
                    (now, tables) = self.frame.split(tables, needed)?;
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
}

impl Frame {
    /// The tables of the next segment, `needed` bytes, and what is left of `tables` behind them.
    fn split<'t>(
        &mut self,
        tables: &'t [u8],
        needed: usize,
    ) -> Result<(&'t [u8], &'t [u8]), Error> {
        if needed > 0 && self.used >= FRAME_BYTES {
            return Err(self.should_be(self.used));
        }
        let split = tables.split_at_checked(needed);
        self.used += needed;
        split.ok_or_else(|| self.should_be(self.used))
    }

    /// Passes if the frame may end before a segment that needs this many bytes: no frame has come
    /// yet, or it is full. A garbler that sent less at a time could hold up a run for long.
    fn may_end(&self, needed: usize) -> Result<(), Error> {
        if self.length == 0 || self.used >= FRAME_BYTES {
            return Ok(());
        }
        Err(self.should_be(self.used + needed))
    }

    fn should_be(&self, expected: usize) -> Error {
        let (expected, found) = (expected as u64, self.length as u64);
        let kind = Kind::Tables;
        Misbehaviour::WrongLength {
            kind,
            expected,
            found,
        }
        .into()
    }
}

impl<S: Scheme> Evaluated<'_, S> {
    fn decode(&self, payload: &[u8]) -> Result<Zeroizing<Vec<bool>>, Error> {
        let labels = self.outputs.of(Role::Evaluator);
        let outputs = self.evaluator.decode(0, &labels, payload);
        Ok(outputs.map_err(Misbehaviour::Undecodable)?)
    }

    fn result(&self, tag: &RunTag, message: &mut Vec<u8>) {
        write_result(tag, &self.outputs.of(Role::Garbler), message);
    }
}

impl<'f, S: Scheme> Machine for Evaluating<'f, S> {
    type State = State<'f, S>;

    fn state(&mut self) -> &mut Option<State<'f, S>> {
        &mut self.state
    }

    fn awaited(&self, state: &State<'f, S>) -> Option<Action> {
        match state {
            State::AwaitingStart(_) => Some(Action::receive(Kind::GarblingStart, 2 * Block::BYTES)),
            State::AwaitingTables(_) => Some(Action::receive(Kind::Tables, self.max_frame_bytes)),
            State::AwaitingDecoding(_) => {
                Some(Action::receive(Kind::Decoding, self.decoding_bytes()))
            }
            _ => None,
        }
    }

    fn step(
        &mut self,
        state: State<'f, S>,
        message: &mut Vec<u8>,
    ) -> Result<(State<'f, S>, Option<Action>), Error> {
        let (state, action) = match state {
            State::Choosing(choosing) => {
                (choosing.choose(message)?, Action::send(Kind::CotExtension))
            }
            State::Working(mut streaming) => {
                let rest = std::mem::take(&mut streaming.frame.rest);
                (self.use_tables(streaming, &rest)?, Action::Continue)
            }
            State::Returning(evaluated, outputs) => {
                evaluated.result(&self.tag, message);
                let done = State::Done(evaluated.ot, outputs);
                (done, Action::send(Kind::Result))
            }
            done @ State::Done(..) => (done, Action::Done),
            _ => return Err(SPENT),
        };
        Ok((state, Some(action)))
    }

    fn take(&mut self, state: State<'f, S>, payload: &[u8]) -> Result<State<'f, S>, Error> {
        Ok(match state {
            State::AwaitingStart(choosing) => State::Working(choosing.streaming(payload)?),
            State::AwaitingTables(mut streaming) => {
                streaming.begin_frame(payload)?;
                self.use_tables(streaming, payload)?
            }
            State::AwaitingDecoding(evaluated) => {
                exactly(Kind::Decoding, payload, self.decoding_bytes())?;
                let outputs = evaluated.decode(payload)?;
                self.after_decoding(evaluated, outputs)
            }
            _ => return Err(NOT_ASKED),
        })
    }

    fn progress(&self) -> Progress {
        Progress {
            done_ands: self.done_ands,
            total_ands: self.function.and_gates(),
        }
    }
}
