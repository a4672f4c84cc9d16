//! The garbler of `prepared`.

mod late;

use tacit_function::{Function, Outputs, Role, Step, Values};
use tacit_garble::{Garbler, Scheme};
use tacit_kernels::{Block, Prg};
use zeroize::{Zeroize, Zeroizing};

use super::saving::{check_past, links_of_saved};
use super::{
    Demand, FRAME_BYTES, GarblerInstance, GarblerOts, Instances, NOTHING_SAVED, Past, WORK,
};
use crate::Error;
use crate::bits::{append_blocks, bytes_for, check_bits, unpack};
use crate::message::Kind;
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE, SPENT};
use crate::result::{read_result, result_bytes};
use crate::saved::{ChainId, GarblerHalf, Labels, id_oracle};
use crate::session::RunTag;
use late::Late;

/// A run of `prepared` on the garbler's side.
pub struct Garbling<'f, S: Scheme, I> {
    function: &'f Function,
    tag: RunTag,
    state: Option<State<'f, S, I>>,
}

pub(crate) enum State<'f, S: Scheme, I> {
    Starting(Box<Run<'f, S, I>>),
    LinkingSaved(Box<Run<'f, S, I>>),
    Linking(Box<Run<'f, S, I>>),
    AwaitingCorrections(Box<Run<'f, S, I>>),
    Unmasking(Box<Run<'f, S, I>>),
    LinkingInputs(Box<Late<'f, S>>),
    /// Until what the run saves is kept at both.
    Keeping(Box<Late<'f, S>>),
    Decoding(Box<Late<'f, S>>),
    AwaitingResult(Box<Late<'f, S>>),
    Done(Zeroizing<Vec<bool>>),
}

/// A value: a wire, or, until the corrections are known, the number of an evaluator's input bit.
#[derive(Clone, Copy, Default)]
struct Carried<W> {
    wire: W,
    /// 0 for a wire, else one more than the input bit's number.
    input: u32,
}

impl<W> Carried<W> {
    fn known(wire: W) -> Self {
        Self { wire, input: 0 }
    }
}

impl<W: Zeroize> Zeroize for Carried<W> {
    fn zeroize(&mut self) {
        self.wire.zeroize();
    }
}

/// A link from the evaluator's input bit `input` to the input `to` of an instance.
#[derive(Clone, Copy)]
pub(crate) struct LateLink<W> {
    input: u32,
    to: W,
}

impl<W: Zeroize> Zeroize for LateLink<W> {
    fn zeroize(&mut self) {
        self.to.zeroize();
    }
}

/// What both stages of linking need.
struct Links<S: Scheme> {
    scheme: S,
    garbler: S::Garbler,
    start: Block,
    /// The number of the next link.
    number: u64,
}

/// Until all links are made that no input of the evaluator decides.
pub(crate) struct Run<'f, S: Scheme, I> {
    links: Links<S>,
    delta: Zeroizing<Block>,
    values: Option<Values<'f, Carried<S::Wire>>>,
    outputs: Option<Outputs<'f, Carried<S::Wire>>>,
    label_seed: Block,
    /// Labels that the evaluator derives as well: of the garbler's inputs, then of constants.
    labels: Prg,
    mask_seed: Block,
    mask: Prg,
    /// Links from the labels of saved values, and how many of their bytes have left.
    saved: (Vec<u8>, usize),
    instances: I,
    ots: GarblerOts,
    late: Zeroizing<Vec<LateLink<S::Wire>>>,
    corrections: Option<Zeroizing<Vec<bool>>>,
    from: Zeroizing<Vec<S::Wire>>,
    to: Zeroizing<Vec<S::Wire>>,
}

impl<'f, S: Scheme, I: Instances<Instance = GarblerInstance<S::Wire>>> Garbling<'f, S, I> {
    /// A run of `function` with the garbler's input bits, in port order, and what it goes on from.
    /// `delta` is that of the prepared material; `seed` is random, secret and used for this run
    /// alone.
    ///
    /// # Errors
    ///
    /// `inputs` or `ots` are not as many as the function asks for, it needs too many links, or
    /// loads what is not there, of another chain, or of another type than was saved; or values are
    /// not kept under `scheme`.
    pub fn new(
        scheme: S,
        function: &'f Function,
        tag: RunTag,
        (inputs, past): (&[bool], Past<'_, GarblerHalf>),
        (delta, ots): (Block, GarblerOts),
        instances: I,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        check_past(
            scheme,
            function,
            past.chain,
            past.loads.iter().map(|half| &half.0),
        )?;
        let demand = Demand::of(function)?;
        demand.early_bytes(scheme.link_bytes())?;
        demand.late_bytes(scheme.link_bytes())?;
        let input_bits = function.input_bits(Role::Evaluator);
        if inputs.len() != function.input_bits(Role::Garbler)
            || [ots.numbers.len(), ots.q.len()] != [input_bits; 2]
        {
            return Err(TOO_FEW);
        }
        let mut prg = Prg::from_seed(seed);
        let [start, label_seed, mask_seed] = [(); 3].map(|()| prg.next_block());
        let mut garbling_seed = Zeroizing::new([0; 32]);
        prg.fill_bytes(&mut *garbling_seed);
        let mut garbler = scheme.garbler(*garbling_seed, start, delta);
        let mut labels = Prg::new(label_seed);
        // Wires of this run, for what is loaded: the label of 0 is random, and nobody else has it.
        let loaded = (0..demand.loaded_bits)
            .map(|_| garbler.wire_with_active(prg.next_block(), false))
            .collect();
        let loaded: Zeroizing<Vec<S::Wire>> = Zeroizing::new(loaded);
        let saved = links_of_saved(&garbler, (start, delta), past.loads, &loaded);
        let values = first_values(function, &mut garbler, &mut labels, inputs, &loaded)?;
        let run = Box::new(Run {
            links: Links {
                scheme,
                garbler,
                start,
                number: 0,
            },
            delta: Zeroizing::new(delta),
            values: Some(values),
            outputs: None,
            label_seed,
            labels,
            mask_seed,
            mask: Prg::new(mask_seed),
            saved: (saved, 0),
            instances,
            ots,
            late: Zeroizing::default(),
            corrections: (input_bits == 0).then(Zeroizing::default),
            from: Zeroizing::default(),
            to: Zeroizing::default(),
        });
        Ok(Self {
            function,
            tag,
            state: Some(State::Starting(run)),
        })
    }

    /// The garbler's output bits in port order.
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

    fn after_links(&self, run: Box<Run<'f, S, I>>) -> State<'f, S, I> {
        match run.corrections {
            Some(_) => State::Unmasking(run),
            None => State::AwaitingCorrections(run),
        }
    }

    /// What the run saves, in the function's order, for `chain`; and the run, which goes on to its
    /// results from there. To be called when the run has stopped, with nothing to do and no results
    /// yet; and to be driven on only when both parties have kept what they save.
    ///
    /// # Errors
    ///
    /// The run saves nothing, or has not stopped for it.
    pub fn save(mut self, chain: ChainId) -> Result<(Vec<GarblerHalf>, Self), Error> {
        let Some(State::Keeping(late)) = self.state.take() else {
            return Err(NOTHING_SAVED);
        };
        let copies = vec![late.saved()];
        let saves = Labels::cut(chain, &id_oracle(&self.tag), copies, self.function.saves());
        self.state = Some(self.after_keeping(late));
        Ok((saves.into_iter().map(GarblerHalf).collect(), self))
    }

    fn after_late_links(&self, late: Box<Late<'f, S>>) -> State<'f, S, I> {
        match self.function.saves() {
            [] => self.after_keeping(late),
            _ => State::Keeping(late),
        }
    }

    fn after_keeping(&self, late: Box<Late<'f, S>>) -> State<'f, S, I> {
        if self.function.output_bits(Role::Evaluator) > 0 {
            State::Decoding(late)
        } else {
            self.after_decoding(late)
        }
    }

    fn after_decoding(&self, late: Box<Late<'f, S>>) -> State<'f, S, I> {
        if self.function.output_bits(Role::Garbler) > 0 {
            State::AwaitingResult(late)
        } else {
            State::Done(Zeroizing::default())
        }
    }
}

const TOO_FEW: Error = Error::ApiMisuse("one bit or OT for each input wire");

/// The values before the first call, of the garbler's inputs and of what is loaded.
fn first_values<'f, G: Garbler<Wire: Copy + Default + Zeroize>>(
    function: &'f Function,
    garbler: &mut G,
    labels: &mut Prg,
    inputs: &[bool],
    loaded: &[G::Wire],
) -> Result<Values<'f, Carried<G::Wire>>, Error> {
    let (mut mine, mut theirs) = (inputs.iter().copied(), 0);
    let mut loaded = loaded.iter().copied();
    Values::new(function, |port| {
        let owner = function.inputs().get(port).map(|input| input.owner);
        Ok(match owner {
            Some(Role::Garbler) => {
                let input = mine.next().ok_or(TOO_FEW)?;
                Carried::known(garbler.wire_with_active(labels.next_block(), input))
            }
            Some(Role::Evaluator) => {
                theirs += 1;
                let (wire, input) = (G::Wire::default(), theirs);
                Carried { wire, input }
            }
            None => Carried::known(loaded.next().ok_or(TOO_FEW)?),
        })
    })
}

impl<S: Scheme> Links<S> {
    fn append(&mut self, from: &[S::Wire], to: &[S::Wire], message: &mut Vec<u8>) {
        self.garbler
            .link(self.start, self.number, from, to, message);
        self.number += from.len() as u64;
    }
}

impl<'f, S: Scheme, I: Instances<Instance = GarblerInstance<S::Wire>>> Run<'f, S, I> {
    fn start(&self, message: &mut Vec<u8>) {
        message.clear();
        append_blocks(message, &[self.links.start, self.label_seed]);
    }

    /// Links until `message` is a full frame, the party is to give way, or the function ends, when
    /// nothing is left of `values`.
    fn fill(&mut self, message: &mut Vec<u8>) -> Result<(), Error> {
        message.clear();
        let Some(mut values) = self.values.take() else {
            return Ok(());
        };
        let mut work = 0;
        while message.len() < FRAME_BYTES && work < WORK {
            let (garbler, labels) = (&mut self.links.garbler, &mut self.labels);
            let mut constant =
                |bit| Carried::known(garbler.wire_with_active(labels.next_block(), bit));
            let call = match values.step(&mut constant) {
                Step::Call(call) => call,
                Step::Assigned(bits) => {
                    work += bits + 1;
                    continue;
                }
                Step::End => {
                    self.outputs = Some(values.outputs(constant));
                    self.mask(message);
                    return Ok(());
                }
            };
            work += values.arguments().len() + 1;
            let instance = self.instances.next(call.component_index)?;
            self.from.clear();
            self.to.clear();
            for (from, to) in values.arguments().iter().zip(instance.inputs.iter()) {
                match from.input.checked_sub(1) {
                    Some(input) => self.late.push(LateLink { input, to: *to }),
                    None => {
                        self.from.push(from.wire);
                        self.to.push(*to);
                    }
                }
            }
            self.links.append(&self.from, &self.to, message);
            let results = instance.outputs.iter().copied().map(Carried::known);
            let results = Zeroizing::new(results.collect::<Vec<_>>());
            values.finish_call(&results);
        }
        self.values = Some(values);
        self.mask(message);
        Ok(())
    }

    /// The next frame of links from saved values.
    fn fill_saved(&mut self, message: &mut Vec<u8>) {
        let (links, done) = &mut self.saved;
        let left = &links[*done..];
        message.clear();
        message.extend_from_slice(&left[..left.len().min(FRAME_BYTES)]);
        *done += message.len();
        self.mask(message);
    }

    fn mask(&mut self, links: &mut [u8]) {
        let mut pad = vec![0; links.len()];
        self.mask.fill_bytes(&mut pad);
        links
            .iter_mut()
            .zip(&pad)
            .for_each(|(byte, pad)| *byte ^= pad);
    }

    /// Takes the corrections, which are answered once.
    fn correct(&mut self, payload: &[u8]) -> Result<(), Error> {
        let count = self.ots.q.len();
        check_bits(Kind::Corrections, payload, count)?;
        self.corrections = Some(unpack(payload, count));
        Ok(())
    }

    /// The wires of the evaluator's inputs, from its OTs and corrections.
    fn late(self) -> Result<Box<Late<'f, S>>, Error> {
        let (Some(corrections), Some(outputs)) = (&self.corrections, self.outputs) else {
            return Err(SPENT);
        };
        let offers = self.ots.numbers.iter().zip(&self.ots.q);
        let inputs = offers.zip(corrections.iter()).map(|((index, q), d)| {
            let q = *q ^ self.delta.and_bit(u8::from(*d).into());
            self.links.garbler.wire_from_cot(*index, q)
        });
        let inputs = Zeroizing::new(inputs.collect());
        Ok(Box::new(Late {
            links: self.links,
            delta: self.delta,
            inputs,
            late: self.late,
            done: 0,
            outputs,
        }))
    }
}

impl<'f, S, I> Machine for Garbling<'f, S, I>
where
    S: Scheme,
    I: Instances<Instance = GarblerInstance<S::Wire>>,
{
    type State = State<'f, S, I>;

    fn state(&mut self) -> &mut Option<State<'f, S, I>> {
        &mut self.state
    }

    fn awaited(&self, state: &State<'f, S, I>) -> Option<Action> {
        match state {
            State::AwaitingCorrections(_) => {
                let bits = self.function.input_bits(Role::Evaluator);
                Some(Action::receive(Kind::Corrections, bytes_for(bits)))
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
        state: State<'f, S, I>,
        message: &mut Vec<u8>,
    ) -> Result<(State<'f, S, I>, Option<Action>), Error> {
        Ok(match state {
            State::Starting(run) => {
                run.start(message);
                let send = Action::send(Kind::GarblingStart);
                (State::LinkingSaved(run), Some(send))
            }
            State::LinkingSaved(mut run) if run.saved.1 < run.saved.0.len() => {
                run.fill_saved(message);
                let send = Action::send(Kind::SavedLinks);
                (State::LinkingSaved(run), Some(send))
            }
            State::LinkingSaved(run) => (State::Linking(run), None),
            State::Linking(mut run) => {
                run.fill(message)?;
                let send = (!message.is_empty()).then_some(Action::send(Kind::Links));
                match run.values {
                    None => (self.after_links(run), send),
                    Some(_) => (State::Linking(run), send.or(Some(Action::Continue))),
                }
            }
            State::Unmasking(run) => {
                message.clear();
                message.extend_from_slice(&run.mask_seed.to_bytes());
                let late = run.late()?;
                (State::LinkingInputs(late), Some(Action::send(Kind::Unmask)))
            }
            State::LinkingInputs(mut late) if late.done < late.late.len() => {
                late.fill(message);
                (State::LinkingInputs(late), Some(Action::send(Kind::Links)))
            }
            State::LinkingInputs(late) => (self.after_late_links(late), None),
            State::Decoding(late) => {
                message.clear();
                let wires = late.output_wires(Role::Evaluator);
                late.links.garbler.decoding(0, &wires, message);
                let send = Action::send(Kind::Decoding);
                (self.after_decoding(late), Some(send))
            }
            stopped @ (State::Keeping(_) | State::Done(_)) => (stopped, Some(Action::Done)),
            _ => return Err(SPENT),
        })
    }

    fn take(&mut self, state: State<'f, S, I>, payload: &[u8]) -> Result<State<'f, S, I>, Error> {
        match state {
            State::AwaitingCorrections(mut run) => {
                run.correct(payload)?;
                Ok(State::Unmasking(run))
            }
            State::AwaitingResult(late) => {
                let wires = late.output_wires(Role::Garbler);
                let outputs = read_result(&late.links.garbler, &wires, &self.tag, payload)?;
                Ok(State::Done(outputs))
            }
            _ => Err(NOT_ASKED),
        }
    }
}
