//! The garbler of `direct`.

use core::mem;

use tacit_function::{Function, Outputs, Role, Step, Values};
use tacit_garble::{Garbler, Scheme};
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::frames::{EXTENSION_OTS, FRAME_BYTES, Stop, Walk, check};
use crate::Error;
use crate::bits::append_blocks;
use crate::message::Kind;
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE, Progress, SPENT};
use crate::result::{read_result, result_bytes};
use crate::session::RunTag;
use crate::setup::GarblerOt;

/// A run of `direct` on the garbler's side.
pub struct Garbling<'f, S: Scheme> {
    function: &'f Function,
    tag: RunTag,
    state: Option<State<'f, S>>,
    done_ands: u64,
}

pub(crate) enum State<'f, S: Scheme> {
    Greeting(Opening<'f, S>),
    AwaitingChoices(Opening<'f, S>),
    Streaming(Box<Streaming<'f, S>>),
    Decoding(Box<Garbled<'f, S>>),
    AwaitingResult(Box<Garbled<'f, S>>),
    Done(GarblerOt, Zeroizing<Vec<bool>>),
}

/// Before the evaluator's choices are known.
pub(crate) struct Opening<'f, S: Scheme> {
    function: &'f Function,
    garbler: S::Garbler,
    scheme: S,
    start: Block,
    label_seed: Block,
    inputs: Zeroizing<Vec<bool>>,
    ot: GarblerOt,
    /// One OT for each input bit of the evaluator, of which `taken` are there.
    offers: Zeroizing<Vec<Block>>,
    taken: usize,
    /// The number of the first OT.
    first: u64,
}

/// While tables leave.
pub(crate) struct Streaming<'f, S: Scheme> {
    scheme: S,
    garbler: S::Garbler,
    values: Values<'f, S::Wire>,
    /// Labels that the evaluator derives as well: of the garbler's inputs, then of constants.
    labels: Prg,
    walk: Walk<'f>,
    ot: GarblerOt,
    results: Zeroizing<Vec<S::Wire>>,
    /// The frame that was started when the garbler gave way, and how much of it is filled.
    frame: Vec<u8>,
    filled: usize,
}

/// Why a garbler stops filling a frame.
enum Filled {
    /// The frame is full.
    Full,
    /// The function has ended, and the frame holds its last tables, if there are any.
    Last,
    /// It gives way.
    Paused,
}

/// When all tables have left.
pub(crate) struct Garbled<'f, S: Scheme> {
    garbler: S::Garbler,
    outputs: Outputs<'f, S::Wire>,
    ot: GarblerOt,
}

impl<'f, S: Scheme> Garbling<'f, S> {
    /// A run of `function` with the garbler's input bits, in port order. `seed` is random, secret
    /// and used for this run alone.
    ///
    /// # Errors
    ///
    /// `inputs` are not as many as the function asks of the garbler, or the function has saved
    /// values.
    pub fn new(
        scheme: S,
        function: &'f Function,
        tag: RunTag,
        inputs: &[bool],
        ot: GarblerOt,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        check(function)?;
        if inputs.len() != function.input_bits(Role::Garbler) {
            return Err(Error::ApiMisuse(
                "as many input bits as the garbler's ports have",
            ));
        }
        let mut prg = Prg::from_seed(seed);
        let (start, label_seed) = (prg.next_block(), prg.next_block());
        let mut garbling_seed = Zeroizing::new([0; 32]);
        prg.fill_bytes(&mut *garbling_seed);
        let garbler = scheme.garbler(*garbling_seed, start, ot.delta());
        let offers = vec![Block::ZERO; function.input_bits(Role::Evaluator)];
        let opening = Opening {
            function,
            garbler,
            scheme,
            start,
            label_seed,
            inputs: Zeroizing::new(inputs.to_vec()),
            first: ot.next_index(),
            ot,
            offers: Zeroizing::new(offers),
            taken: 0,
        };
        Ok(Self {
            function,
            tag,
            state: Some(State::Greeting(opening)),
            done_ands: 0,
        })
    }

    /// The garbler's output bits in port order, and the OTs for the session's next run.
    ///
    /// # Errors
    ///
    /// The run is not done.
    pub fn finish(self) -> Result<(Zeroizing<Vec<bool>>, GarblerOt), Error> {
        match self.state {
            Some(State::Done(ot, outputs)) => Ok((outputs, ot)),
            _ => Err(NOT_DONE),
        }
    }

    fn after_tables(&self, garbled: Box<Garbled<'f, S>>) -> State<'f, S> {
        if self.function.output_bits(Role::Evaluator) > 0 {
            State::Decoding(garbled)
        } else {
            self.after_decoding(garbled)
        }
    }

    fn after_decoding(&self, garbled: Box<Garbled<'f, S>>) -> State<'f, S> {
        if self.function.output_bits(Role::Garbler) > 0 {
            State::AwaitingResult(garbled)
        } else {
            State::Done(garbled.ot, Zeroizing::default())
        }
    }
}

impl<'f, S: Scheme> Opening<'f, S> {
    fn message(&self, message: &mut Vec<u8>) {
        message.clear();
        append_blocks(message, &[self.start, self.label_seed]);
    }

    /// How many OTs the evaluator's next message gives.
    fn awaited(&self) -> usize {
        EXTENSION_OTS.min(self.offers.len() - self.taken)
    }

    /// Takes the OTs from the evaluator's message; goes on awaiting more, or to the tables.
    fn take(mut self, extension: &[u8]) -> Result<State<'f, S>, Error> {
        let end = self.taken + self.awaited();
        self.ot
            .extend(&mut self.offers[self.taken..end], extension)?;
        self.taken = end;
        self.opened()
    }

    /// What comes next: more OTs, or the tables.
    fn opened(self) -> Result<State<'f, S>, Error> {
        Ok(match self.awaited() {
            0 => State::Streaming(self.streaming()?),
            _ => State::AwaitingChoices(self),
        })
    }

    /// The input wires: the garbler's around labels that both derive, the evaluator's from its
    /// correlated OTs.
    fn streaming(mut self) -> Result<Box<Streaming<'f, S>>, Error> {
        let mut offers = (self.first..).zip(self.offers.iter().copied());
        let mut labels = Prg::new(self.label_seed);
        let mut inputs = self.inputs.iter().copied();
        let values = Values::new(self.function, |port| {
            Ok::<_, Error>(match self.function.inputs()[port].owner {
                Role::Garbler => {
                    let input = inputs.next().ok_or(TOO_FEW)?;
                    self.garbler.wire_with_active(labels.next_block(), input)
                }
                Role::Evaluator => {
                    let (index, q) = offers.next().ok_or(TOO_FEW)?;
                    self.garbler.wire_from_cot(index, q)
                }
            })
        })?;
        Ok(Box::new(Streaming {
            scheme: self.scheme,
            garbler: self.garbler,
            values,
            labels,
            walk: Walk::default(),
            ot: self.ot,
            results: Zeroizing::new(Vec::with_capacity(widest_output(self.function))),
            frame: Vec::new(),
            filled: 0,
        }))
    }
}

const TOO_FEW: Error = Error::ApiMisuse("one bit for each input wire");

/// Most output bits that a component of `function` has.
pub(super) fn widest_output(function: &Function) -> usize {
    let components = function.components().iter();
    let widths = components.map(|component| component.circuit().output_bits());
    widths.max().unwrap_or(0)
}

impl<'f, S: Scheme> Streaming<'f, S> {
    /// Garbles until `message` is a full frame, the function ends or it is time to give way.
    fn fill(&mut self, message: &mut Vec<u8>) -> Filled {
        if self.filled > 0 {
            *message = mem::take(&mut self.frame);
        }
        let mut filled = mem::take(&mut self.filled);
        while filled < FRAME_BYTES {
            if self.walk.gives_way() {
                if filled > 0 {
                    (self.frame, self.filled) = (mem::take(message), filled);
                }
                return Filled::Paused;
            }
            match self.walk.peek() {
                Stop::Begin => {
                    let (garbler, labels) = (&mut self.garbler, &mut self.labels);
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
                            message.truncate(filled);
                            return Filled::Last;
                        }
                    }
                }
                Stop::Segment(program, segment) => {
                    let end = filled + self.scheme.table_bytes(program, segment);
                    if message.len() < end {
                        message.resize(end, 0);
                    }
                    self.garbler
                        .garble(program, segment, &mut message[filled..end]);
                    filled = end;
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
        message.truncate(filled);
        Filled::Full
    }

    /// What is left after the last call.
    fn garbled(self) -> Box<Garbled<'f, S>> {
        let Self {
            mut garbler,
            values,
            mut labels,
            ot,
            ..
        } = self;
        let outputs = values.outputs(|bit| garbler.wire_with_active(labels.next_block(), bit));
        Box::new(Garbled {
            garbler,
            outputs,
            ot,
        })
    }
}

impl<S: Scheme> Garbled<'_, S> {
    fn decoding(&self, message: &mut Vec<u8>) {
        message.clear();
        self.garbler
            .decoding(0, &self.outputs.of(Role::Evaluator), message);
    }

    fn result(
        self,
        tag: &RunTag,
        payload: &[u8],
    ) -> Result<(GarblerOt, Zeroizing<Vec<bool>>), Error> {
        let wires = self.outputs.of(Role::Garbler);
        let outputs = read_result(&self.garbler, &wires, tag, payload)?;
        Ok((self.ot, outputs))
    }
}

impl<'f, S: Scheme> Machine for Garbling<'f, S> {
    type State = State<'f, S>;

    fn state(&mut self) -> &mut Option<State<'f, S>> {
        &mut self.state
    }

    fn awaited(&self, state: &State<'f, S>) -> Option<Action> {
        match state {
            State::AwaitingChoices(opening) => {
                let bytes = opening.ot.extension_bytes(opening.awaited());
                Some(Action::receive(Kind::CotExtension, bytes))
            }
            State::AwaitingResult(_) => {
                let bits = self.function.output_bits(Role::Garbler);
                Some(Action::receive(Kind::Result, result_bytes(bits)))
            }
            _ => None,
        }
    }

    fn step(
        &mut self,
        state: State<'f, S>,
        message: &mut Vec<u8>,
    ) -> Result<(State<'f, S>, Option<Action>), Error> {
        Ok(match state {
            State::Greeting(opening) => {
                opening.message(message);
                (opening.opened()?, Some(Action::send(Kind::GarblingStart)))
            }
            State::Streaming(mut streaming) => {
                let filled = streaming.fill(message);
                self.done_ands = streaming.walk.done_ands();
                let send = Action::send(Kind::Tables);
                match filled {
                    Filled::Full => (State::Streaming(streaming), Some(send)),
                    Filled::Paused => (State::Streaming(streaming), Some(Action::Continue)),
                    Filled::Last => {
                        let action = (!message.is_empty()).then_some(send);
                        (self.after_tables(streaming.garbled()), action)
                    }
                }
            }
            State::Decoding(garbled) => {
                garbled.decoding(message);
                let send = Action::send(Kind::Decoding);
                (self.after_decoding(garbled), Some(send))
            }
            done @ State::Done(..) => (done, Some(Action::Done)),
            _ => return Err(SPENT),
        })
    }

    fn take(&mut self, state: State<'f, S>, payload: &[u8]) -> Result<State<'f, S>, Error> {
        match state {
            State::AwaitingChoices(opening) => opening.take(payload),
            State::AwaitingResult(garbled) => {
                let (ot, outputs) = garbled.result(&self.tag, payload)?;
                Ok(State::Done(ot, outputs))
            }
            _ => Err(NOT_ASKED),
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            done_ands: self.done_ands,
            total_ands: self.function.and_gates(),
        }
    }
}
