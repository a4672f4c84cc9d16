//! The evaluator of `prepared`.

use tacit_function::{Call, Function, Outputs, Role, Step, Values};
use tacit_garble::{Evaluator, Scheme};
use tacit_kernels::{Block, Prg};
use zeroize::{Zeroize, Zeroizing};

use super::saving::check_past;
use super::{
    EarlyLinks, EvaluatorOts, FRAME_BYTES, InstanceTables, Instances, NOTHING_SAVED, Past, WORK,
};
use crate::bits::{pack, read_blocks};
use crate::message::{Kind, exactly};
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE, Progress, SPENT};
use crate::result::write_result;
use crate::saved::{ChainId, EvaluatorHalf, Labels, SavedCopy, follow_gates, id_oracle};
use crate::session::RunTag;
use crate::{Error, Misbehaviour};

/// A run of `prepared` on the evaluator's side.
pub struct Evaluating<'f, S: Scheme, I> {
    function: &'f Function,
    scheme: S,
    tag: RunTag,
    state: Option<State<'f, S, I>>,
    done_ands: u64,
}

pub(crate) enum State<'f, S: Scheme, I> {
    Correcting(Zeroizing<Vec<bool>>, Box<Masked<'f, S, I>>),
    AwaitingMask(Box<Masked<'f, S, I>>),
    Following(Box<Run<'f, S, I>>),
    /// Until what the run saves is kept at both.
    Keeping(Box<Evaluated<'f, S>>),
    AwaitingDecoding(Box<Evaluated<'f, S>>),
    Returning(Box<Evaluated<'f, S>>, Zeroizing<Vec<bool>>),
    Done(Zeroizing<Vec<bool>>),
}

/// A value: a label, and whether the link from it comes with the evaluator's inputs.
#[derive(Clone, Copy, Default)]
struct Carried {
    label: Block,
    late: bool,
}

impl Carried {
    fn early(label: Block) -> Self {
        let late = false;
        Self { label, late }
    }
}

impl Zeroize for Carried {
    fn zeroize(&mut self) {
        self.label.zeroize();
    }
}

/// Before the links can be read that are there.
pub(crate) struct Masked<'f, S: Scheme, I> {
    scheme: S,
    function: &'f Function,
    evaluator: S::Evaluator,
    early: EarlyLinks,
    /// Labels of this party's inputs.
    inputs: Zeroizing<Vec<Block>>,
    /// Labels that earlier runs saved.
    loads: Vec<SavedCopy>,
    instances: I,
}

/// While links arrive, early ones first.
pub(crate) struct Run<'f, S: Scheme, I> {
    scheme: S,
    evaluator: S::Evaluator,
    start: Block,
    values: Values<'f, Carried>,
    /// Labels that the garbler derives as well: of its inputs, then of constants.
    labels: Prg,
    instances: I,
    early: Arriving,
    late: Arriving,
    /// The call whose arguments have been gathered.
    pending: Option<Call<'f>>,
    gathered: Zeroizing<Vec<Block>>,
    results: Zeroizing<Vec<Block>>,
}

/// Links of one kind: those that came and were not followed yet.
struct Arriving {
    bytes: Vec<u8>,
    followed: usize,
    /// Bytes that are still to come.
    due: usize,
    /// The number of the next link.
    number: u64,
}

/// Where following the links stopped.
enum Followed {
    /// At the function's end.
    All,
    /// At a call whose links have not come.
    AsFarAsLinksReach,
    /// To give way.
    Paused,
}

/// When all links have been followed.
pub(crate) struct Evaluated<'f, S: Scheme> {
    evaluator: S::Evaluator,
    outputs: Outputs<'f, Carried>,
}

impl<'f, S: Scheme, I: Instances<Instance = InstanceTables>> Evaluating<'f, S, I> {
    /// A run of `function` with the evaluator's input bits, in port order, and what it goes on
    /// from, after the links were gathered that do not depend on the inputs.
    ///
    /// # Errors
    ///
    /// `inputs` or `ots` are not as many as the function asks for, or it loads what is not there,
    /// of another chain, or of another type than was saved; or values are not kept under `scheme`.
    pub fn new(
        scheme: S,
        function: &'f Function,
        tag: RunTag,
        (inputs, past): (&[bool], Past<'_, EvaluatorHalf>),
        early: EarlyLinks,
        ots: &EvaluatorOts,
        instances: I,
    ) -> Result<Self, Error> {
        let loads = past.loads.iter().map(|half| &half.0);
        check_past(scheme, function, past.chain, loads.clone())?;
        let count = function.input_bits(Role::Evaluator);
        let theirs = [ots.numbers.len(), ots.choices.len(), ots.labels.len()];
        if inputs.len() != count || theirs != [count; 3] {
            return Err(TOO_FEW);
        }
        let pairs = inputs.iter().zip(&ots.choices);
        let corrections = Zeroizing::new(pairs.map(|(input, choice)| input ^ choice).collect());
        let evaluator = scheme.evaluator(early.start);
        let received = ots.numbers.iter().zip(&ots.labels).zip(inputs);
        let inputs = received.map(|((index, t), bit)| evaluator.label_from_cot(*index, *t, *bit));
        let masked = Box::new(Masked {
            scheme,
            function,
            inputs: Zeroizing::new(inputs.collect()),
            evaluator,
            early,
            loads: loads.flat_map(|value| value.copies.clone()).collect(),
            instances,
        });
        let state = match count {
            0 => State::AwaitingMask(masked),
            _ => State::Correcting(corrections, masked),
        };
        Ok(Self {
            function,
            scheme,
            tag,
            state: Some(state),
            done_ands: 0,
        })
    }

    /// The evaluator's output bits in port order.
    ///
    /// # Errors
    ///
    /// The run is not done.
    pub fn finish(self) -> Result<Zeroizing<Vec<bool>>, Error> {
        match self.state {
            Some(State::Done(outputs)) => Ok(outputs),
            _ => Err(NOT_DONE),
        }
    }

    fn decoding_bytes(&self) -> usize {
        self.scheme
            .decoding_bytes(self.function.output_bits(Role::Evaluator))
    }

    /// What the run saves, in the function's order, for `chain`; and the run, which goes on to its
    /// results from there. To be called when the run has stopped, with nothing to do and no results
    /// yet; and to be driven on only when both parties have kept what they save.
    ///
    /// # Errors
    ///
    /// The run saves nothing, or has not stopped for it.
    pub fn save(mut self, chain: ChainId) -> Result<(Vec<EvaluatorHalf>, Self), Error> {
        let Some(State::Keeping(evaluated)) = self.state.take() else {
            return Err(NOTHING_SAVED);
        };
        let labels = evaluated.outputs.saved().iter().map(|output| output.label);
        let copies = vec![SavedCopy {
            delta: Block::ZERO,
            labels: labels.collect(),
        }];
        let saves = Labels::cut(chain, &id_oracle(&self.tag), copies, self.function.saves());
        self.state = Some(self.after_keeping(evaluated));
        Ok((saves.into_iter().map(EvaluatorHalf).collect(), self))
    }

    /// Follows what has come, for a bounded time: the state after it, and what to do.
    fn follow(&mut self, mut run: Box<Run<'f, S, I>>) -> Result<(State<'f, S, I>, Action), Error> {
        match run.follow(&mut self.done_ands)? {
            Followed::Paused => Ok((State::Following(run), Action::Continue)),
            Followed::All => Ok((self.after_links(*run), Action::Continue)),
            Followed::AsFarAsLinksReach => {
                if run.late.due == 0 {
                    return Err(SPENT);
                }
                let action = Action::receive(Kind::Links, run.late.due.min(FRAME_BYTES));
                Ok((State::Following(run), action))
            }
        }
    }

    fn after_links(&self, run: Run<'f, S, I>) -> State<'f, S, I> {
        let Run {
            evaluator,
            values,
            mut labels,
            ..
        } = run;
        let outputs = values.outputs(|_| Carried::early(labels.next_block()));
        let evaluated = Box::new(Evaluated { evaluator, outputs });
        match self.function.saves() {
            [] => self.after_keeping(evaluated),
            _ => State::Keeping(evaluated),
        }
    }

    fn after_keeping(&self, evaluated: Box<Evaluated<'f, S>>) -> State<'f, S, I> {
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
    ) -> State<'f, S, I> {
        if self.function.output_bits(Role::Garbler) > 0 {
            State::Returning(evaluated, outputs)
        } else {
            State::Done(outputs)
        }
    }
}

const TOO_FEW: Error = Error::ApiMisuse("one bit and one OT for each input wire");

impl Arriving {
    /// Takes a frame of links, which is as long as it can be.
    fn take(&mut self, frame: &[u8]) -> Result<(), Error> {
        let expected = self.due.min(FRAME_BYTES);
        if frame.is_empty() || frame.len() != expected {
            return Err(Misbehaviour::WrongLength {
                kind: Kind::Links,
                expected: expected as u64,
                found: frame.len() as u64,
            }
            .into());
        }
        self.bytes.extend_from_slice(frame);
        self.due -= frame.len();
        Ok(())
    }

    /// Whether `bytes` more links can be followed now.
    fn has(&self, bytes: usize) -> bool {
        self.bytes.len() - self.followed >= bytes
    }

    /// Follows the next links from `labels`.
    fn follow<E: Evaluator>(
        &mut self,
        evaluator: &E,
        start: Block,
        labels: &mut [Block],
        bytes: usize,
    ) {
        let links = &self.bytes[self.followed..self.followed + bytes];
        evaluator.follow_links(start, self.number, labels, links);
        self.followed += bytes;
        self.number += labels.len() as u64;
        if self.followed == self.bytes.len() {
            self.bytes.clear();
            self.followed = 0;
        }
    }
}

impl<'f, S: Scheme, I> Masked<'f, S, I> {
    /// Undoes the mask, and follows the links of saved values.
    fn unmask(self, payload: &[u8]) -> Result<Run<'f, S, I>, Error> {
        let [mask] = read_blocks(Kind::Unmask, payload)?;
        let mut mask = Prg::new(mask);
        let Self {
            scheme,
            function,
            evaluator,
            early,
            inputs,
            loads,
            instances,
        } = self;
        let EarlyLinks {
            start,
            label_seed,
            mut saved,
            mut bytes,
            demand,
        } = early;
        for links in [&mut saved, &mut bytes] {
            let mut pad = vec![0; links.len()];
            mask.fill_bytes(&mut pad);
            let masked = links.iter_mut().zip(&pad);
            masked.for_each(|(byte, pad)| *byte ^= pad);
        }
        let loaded = follow_gates(start, loads.iter(), &saved);
        let (mut inputs, mut loaded) = (inputs.iter(), loaded.iter());
        let mut labels = Prg::new(label_seed);
        let values = Values::new(function, |port| {
            let owner = function.inputs().get(port).map(|input| input.owner);
            Ok::<_, Error>(match owner {
                Some(Role::Garbler) => Carried::early(labels.next_block()),
                Some(Role::Evaluator) => {
                    let (label, late) = (*inputs.next().ok_or(TOO_FEW)?, true);
                    Carried { label, late }
                }
                None => Carried::early(*loaded.next().ok_or(TOO_FEW)?),
            })
        })?;
        let arriving = |bytes, due, number| Arriving {
            bytes,
            followed: 0,
            due,
            number,
        };
        let late_bytes = demand.late_bytes(scheme.link_bytes())?;
        Ok(Run {
            scheme,
            evaluator,
            start,
            values,
            labels,
            instances,
            early: arriving(bytes, 0, 0),
            late: arriving(Vec::new(), late_bytes, demand.early_links),
            pending: None,
            gathered: Zeroizing::default(),
            results: Zeroizing::default(),
        })
    }
}

impl<S: Scheme, I: Instances<Instance = InstanceTables>> Run<'_, S, I> {
    /// Evaluates calls until the links end, the party is to give way, or there is none left.
    fn follow(&mut self, done_ands: &mut u64) -> Result<Followed, Error> {
        let link_bytes = self.scheme.link_bytes();
        let mut work = 0;
        while work < WORK {
            let call = match self.pending.take() {
                Some(call) => call,
                None => {
                    let labels = &mut self.labels;
                    match self.values.step(|_| Carried::early(labels.next_block())) {
                        Step::Call(call) => call,
                        Step::Assigned(bits) => {
                            work += bits + 1;
                            continue;
                        }
                        Step::End => return Ok(Followed::All),
                    }
                }
            };
            let arguments = self.values.arguments();
            let late = arguments.iter().filter(|argument| argument.late).count();
            let arguments_and_gates = arguments.len() + call.component.program().ands().len() + 1;
            let early = arguments.len() - late;
            if !self.late.has(late * link_bytes) {
                self.pending = Some(call);
                return Ok(Followed::AsFarAsLinksReach);
            }
            let side = |late| {
                arguments
                    .iter()
                    .filter(move |argument| argument.late == late)
            };
            self.gathered.clear();
            self.gathered
                .extend(side(false).chain(side(true)).map(|argument| argument.label));
            let (early_labels, late_labels) = self.gathered.split_at_mut(early);
            let (evaluator, start) = (&self.evaluator, self.start);
            self.early
                .follow(evaluator, start, early_labels, early * link_bytes);
            self.late
                .follow(evaluator, start, late_labels, late * link_bytes);
            let (mut early_labels, mut late_labels) = (early_labels.iter(), late_labels.iter());
            let inputs = arguments.iter().filter_map(|argument| match argument.late {
                false => early_labels.next().copied(),
                true => late_labels.next().copied(),
            });
            let inputs = Zeroizing::new(inputs.collect::<Vec<_>>());
            let program = call.component.program();
            let instance = self.instances.next(call.component_index)?;
            self.results.clear();
            instance.evaluate(self.scheme, program, &inputs, &mut self.results);
            let results = self.results.iter().copied().map(Carried::early);
            let results = Zeroizing::new(results.collect::<Vec<_>>());
            self.values.finish_call(&results);
            *done_ands += program.ands().len() as u64;
            work += arguments_and_gates;
        }
        Ok(Followed::Paused)
    }
}

impl<S: Scheme> Evaluated<'_, S> {
    fn labels(&self, role: Role) -> Zeroizing<Vec<Block>> {
        let outputs = self.outputs.of(role);
        Zeroizing::new(outputs.iter().map(|output| output.label).collect())
    }
}

impl<'f, S: Scheme, I: Instances<Instance = InstanceTables>> Machine for Evaluating<'f, S, I> {
    type State = State<'f, S, I>;

    fn state(&mut self) -> &mut Option<State<'f, S, I>> {
        &mut self.state
    }

    fn awaited(&self, state: &State<'f, S, I>) -> Option<Action> {
        match state {
            State::AwaitingMask(_) => Some(Action::receive(Kind::Unmask, Block::BYTES)),
            State::AwaitingDecoding(_) => {
                Some(Action::receive(Kind::Decoding, self.decoding_bytes()))
            }
            _ => None,
        }
    }

    fn step(
        &mut self,
        state: State<'f, S, I>,
        message: &mut Vec<u8>,
    ) -> Result<(State<'f, S, I>, Option<Action>), Error> {
        let (state, action) = match state {
            State::Correcting(corrections, run) => {
                *message = pack(&corrections);
                (State::AwaitingMask(run), Action::send(Kind::Corrections))
            }
            State::Following(run) => self.follow(run)?,
            State::Returning(evaluated, outputs) => {
                write_result(&self.tag, &evaluated.labels(Role::Garbler), message);
                (State::Done(outputs), Action::send(Kind::Result))
            }
            stopped @ (State::Keeping(_) | State::Done(_)) => (stopped, Action::Done),
            _ => return Err(SPENT),
        };
        Ok((state, Some(action)))
    }

    fn take(&mut self, state: State<'f, S, I>, payload: &[u8]) -> Result<State<'f, S, I>, Error> {
        Ok(match state {
            State::AwaitingMask(masked) => State::Following(Box::new(masked.unmask(payload)?)),
            State::Following(mut run) => {
                run.late.take(payload)?;
                State::Following(run)
            }
            State::AwaitingDecoding(evaluated) => {
                exactly(Kind::Decoding, payload, self.decoding_bytes())?;
                let labels = evaluated.labels(Role::Evaluator);
                let decoded = evaluated.evaluator.decode(0, &labels, payload);
                let outputs = decoded.map_err(Misbehaviour::Undecodable)?;
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
