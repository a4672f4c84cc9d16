//! The evaluator of `direct`.

use tacit_circuit::{Function, Outputs, Role, Values};
use tacit_garble::{Evaluator, Scheme};
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::frames::{Stop, Walk, check, max_frame_bytes};
use super::garbler::widest_output;
use crate::message::{Kind, array, exactly};
use crate::party::{Action, Party, Progress};
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
    state: State<'f, S>,
    done_ands: u64,
}

enum State<'f, S: Scheme> {
    AwaitingStart(Opening<'f, S>),
    Choosing(Choosing<'f, S>),
    Streaming(Box<Streaming<'f, S>>),
    AwaitingDecoding(Box<Evaluated<'f, S>>),
    Returning(Box<Evaluated<'f, S>>, Zeroizing<Vec<bool>>),
    Done(EvaluatorOt, Zeroizing<Vec<bool>>),
    Spent,
}

/// Before the garbler's start point is known.
struct Opening<'f, S: Scheme> {
    function: &'f Function,
    scheme: S,
    inputs: Zeroizing<Vec<bool>>,
    ot: EvaluatorOt,
}

/// With the start point, before the choices have left.
struct Choosing<'f, S: Scheme> {
    opening: Opening<'f, S>,
    start: Block,
    label_seed: Block,
}

/// While tables arrive.
struct Streaming<'f, S: Scheme> {
    scheme: S,
    evaluator: S::Evaluator,
    values: Values<'f, Block>,
    /// Labels that the garbler derives as well: of its inputs, then of constants.
    labels: Prg,
    walk: Walk<'f>,
    ot: EvaluatorOt,
    results: Zeroizing<Vec<Block>>,
}

/// When all tables have been used.
struct Evaluated<'f, S: Scheme> {
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
        let state = State::AwaitingStart(Opening {
            function,
            scheme,
            inputs,
            ot,
        });
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
            State::Done(ot, outputs) => Ok((outputs, ot)),
            _ => Err(Error::ApiMisuse("a run is finished when it is done")),
        }
    }

    fn start(&self, opening: Opening<'f, S>, payload: &[u8]) -> Result<State<'f, S>, Error> {
        let bytes: [u8; 2 * Block::BYTES] = array(Kind::GarblingStart, payload)?;
        let (start, label_seed) = bytes.split_at(Block::BYTES);
        let block = |bytes| Ok::<_, Error>(Block::from_bytes(array(Kind::GarblingStart, bytes)?));
        let (start, label_seed) = (block(start)?, block(label_seed)?);
        let choosing = Choosing {
            opening,
            start,
            label_seed,
        };
        if self.function.input_bits(Role::Evaluator) > 0 {
            Ok(State::Choosing(choosing))
        } else {
            Ok(self.after_tables(choosing.choose()?.1))
        }
    }

    /// The state after `streaming` has used what it has.
    fn after_tables(&self, mut streaming: Box<Streaming<'f, S>>) -> State<'f, S> {
        if streaming.walk_without_tables().is_some() {
            return State::Streaming(streaming);
        }
        let Streaming {
            evaluator,
            values,
            mut labels,
            ot,
            ..
        } = *streaming;
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
    /// The message that extends the OTs, and the input labels.
    fn choose(self) -> Result<(Vec<u8>, Box<Streaming<'f, S>>), Error> {
        let Opening {
            function,
            scheme,
            inputs,
            mut ot,
        } = self.opening;
        let evaluator = scheme.evaluator(self.start);
        let (first, extension, received) = ot.extend(&inputs)?;
        let mut received = (first..)
            .zip(received.iter().copied())
            .zip(inputs.iter().copied());
        let mut labels = Prg::new(self.label_seed);
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
        let streaming = Streaming {
            scheme,
            evaluator,
            values,
            labels,
            walk: Walk::default(),
            ot,
            results: Zeroizing::new(Vec::with_capacity(widest_output(function))),
        };
        Ok((extension, Box::new(streaming)))
    }
}

impl<S: Scheme> Streaming<'_, S> {
    /// Evaluates one frame, which holds the tables of whole segments.
    fn use_frame(&mut self, mut tables: &[u8]) -> Result<(), Error> {
        if tables.is_empty() {
            return Err(Misbehaviour::InvalidField {
                kind: Kind::Tables,
                field: "length",
            }
            .into());
        }
        let announced = tables.len() as u64;
        while !tables.is_empty() {
            let Some(needed) = self.walk_without_tables() else {
                let expected = announced - tables.len() as u64;
                let (kind, found) = (Kind::Tables, announced);
                return Err(Misbehaviour::WrongLength {
                    kind,
                    expected,
                    found,
                }
                .into());
            };
            let Some((segment_tables, rest)) = tables.split_at_checked(needed) else {
                let expected = announced - tables.len() as u64 + needed as u64;
                let (kind, found) = (Kind::Tables, announced);
                return Err(Misbehaviour::WrongLength {
                    kind,
                    expected,
                    found,
                }
                .into());
            };
            if let Stop::Segment(program, segment) = self.walk.peek() {
                self.evaluator.evaluate(program, segment, segment_tables);
                self.walk.pass(program);
            }
            tables = rest;
        }
        Ok(())
    }

    /// Passes everything that needs no tables. Returns how many bytes of tables the segment needs
    /// that it stops at, or `None` at the function's end.
    fn walk_without_tables(&mut self) -> Option<usize> {
        loop {
            match self.walk.peek() {
                Stop::Begin => {
                    let labels = &mut self.labels;
                    let call = self.values.next_call(|_| labels.next_block())?;
                    let program = call.component.program();
                    self.evaluator
                        .begin(call.number, program, self.values.arguments());
                    self.walk.begin(program);
                }
                Stop::Segment(program, segment) => {
                    let needed = self.scheme.table_bytes(program, segment);
                    if needed > 0 {
                        return Some(needed);
                    }
                    self.evaluator.evaluate(program, segment, &[]);
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

impl<S: Scheme> Party for Evaluating<'_, S> {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        let state = std::mem::replace(&mut self.state, State::Spent);
        let (state, action) = match state {
            State::AwaitingStart(opening) => {
                let max_bytes = 2 * Block::BYTES;
                let receive = Action::Receive {
                    kind: Kind::GarblingStart,
                    max_bytes,
                };
                (State::AwaitingStart(opening), receive)
            }
            State::Choosing(choosing) => {
                let (extension, streaming) = choosing.choose()?;
                *message = extension;
                (
                    self.after_tables(streaming),
                    Action::Send(Kind::CotExtension),
                )
            }
            State::Streaming(streaming) => {
                let max_bytes = self.max_frame_bytes;
                (
                    State::Streaming(streaming),
                    Action::Receive {
                        kind: Kind::Tables,
                        max_bytes,
                    },
                )
            }
            State::AwaitingDecoding(evaluated) => {
                let outputs = self.function.output_bits(Role::Evaluator);
                let max_bytes = self.scheme.decoding_bytes(outputs);
                let receive = Action::Receive {
                    kind: Kind::Decoding,
                    max_bytes,
                };
                (State::AwaitingDecoding(evaluated), receive)
            }
            State::Returning(evaluated, outputs) => {
                evaluated.result(&self.tag, message);
                (
                    State::Done(evaluated.ot, outputs),
                    Action::Send(Kind::Result),
                )
            }
            State::Done(ot, outputs) => (State::Done(ot, outputs), Action::Done),
            State::Spent => return Err(Error::ApiMisuse("the run has failed before")),
        };
        self.state = state;
        Ok(action)
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.state = match std::mem::replace(&mut self.state, State::Spent) {
            State::AwaitingStart(opening) => self.start(opening, payload)?,
            State::Streaming(mut streaming) => {
                streaming.use_frame(payload)?;
                self.done_ands = streaming.walk.done_ands();
                self.after_tables(streaming)
            }
            State::AwaitingDecoding(evaluated) => {
                let outputs = self.function.output_bits(Role::Evaluator);
                exactly(Kind::Decoding, payload, self.scheme.decoding_bytes(outputs))?;
                let outputs = evaluated.decode(payload)?;
                self.after_decoding(evaluated, outputs)
            }
            _ => return Err(Error::ApiMisuse("no message was asked for")),
        };
        Ok(())
    }

    fn progress(&self) -> Progress {
        Progress {
            done_ands: self.done_ands,
            total_ands: self.function.and_gates(),
        }
    }
}
