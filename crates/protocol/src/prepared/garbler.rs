//! The garbler of `prepared`.

use tacit_function::{Function, Outputs, Role, Step, Values};
use tacit_garble::{Garbler, Scheme};
use tacit_kernels::{Block, Prg};
use zeroize::{Zeroize, Zeroizing};

use super::saving::{check_past, label_of_0, links_of_saved};
use super::{
    Demand, FRAME_BYTES, GarblerInstance, GarblerOts, Instances, Past, Run, WORK, mask, messages,
};
use crate::Error;
use crate::bits::{append_blocks, check_bits, unpack};
use crate::io::{Io, Message};
use crate::message::Kind;
use crate::party::Progress;
use crate::result::{GARBLING_START, garblers_results};
use crate::saved::{ChainId, GarblerHalf, Labels, SavedCopy, id_oracle};

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
struct LateLink<W> {
    input: u32,
    to: W,
}

impl<W: Zeroize> Zeroize for LateLink<W> {
    fn zeroize(&mut self) {
        self.to.zeroize();
    }
}

const TOO_FEW: Error = Error::ApiMisuse("one bit or OT for each input wire");

impl<'f, S: Scheme> Run<'f, S> {
    /// Runs the garbler's side up to its results. Takes its input bits, in port order, and the
    /// values that it loads. `delta` is the Δ of the prepared material, which has an OT for each
    /// input bit of the evaluator and an instance for each call. `seed` is random, secret and used
    /// for this run alone.
    ///
    /// # Errors
    ///
    /// The number of `inputs` or `ots` is not what the function needs; the function needs too many
    /// links; a loaded value is missing, or belongs to another chain, or was saved as another type;
    /// values are not kept under the scheme; the evaluator misbehaves; or the wire fails.
    pub async fn garble<I>(
        self,
        io: &mut Io<'_>,
        (inputs, past): (&[bool], Past<'_, GarblerHalf>),
        (delta, ots): (&'f Block, &GarblerOts),
        instances: I,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Garbled<'f, S>, Error>
    where
        I: Instances<Instance = GarblerInstance<S::Wire>>,
    {
        let Self {
            scheme, function, ..
        } = self;
        let demand = self.check(inputs, &past, ots)?;
        let mut prg = Prg::from_seed(seed);
        let [start, label_seed, mask_seed] = [(); 3].map(|()| prg.next_block());
        let mut garbling_seed = Zeroizing::new([0; 32]);
        prg.fill_bytes(&mut *garbling_seed);
        let mut garbler = Box::new(scheme.garbler(*garbling_seed, start, *delta));
        // The wires of this run for the loaded values: the label of 0 is random and known only to
        // the garbler.
        let loaded = (0..demand.loaded_bits)
            .map(|_| garbler.wire_with_active(prg.next_block(), false))
            .collect();
        let loaded: Zeroizing<Vec<S::Wire>> = Zeroizing::new(loaded);
        let saved = links_of_saved(&*garbler, (start, *delta), past.loads, &loaded);
        let mut linking =
            Linking::<S, I>::new(&mut garbler, start, instances, Prg::new(label_seed));
        let mut values = linking.first_values(function, inputs, &loaded)?;

        let mut pad = Prg::new(mask_seed);
        send_blocks(io, GARBLING_START, &[start, label_seed])?;
        for links in saved.chunks(FRAME_BYTES) {
            io.message().clear();
            io.message().extend_from_slice(links);
            mask(&mut pad, io.message());
            io.send(messages::saved_links(links.len()))?;
        }
        let mut left = demand.early_bytes(scheme.link_bytes())?;
        loop {
            // The components were garbled before the run, so no AND gate counts as done here.
            io.progressed(Progress::default());
            let has_ended = linking.fill(&mut values, io.message())?;
            let bytes = io.message().len();
            if bytes > 0 {
                mask(&mut pad, io.message());
                io.send(messages::early_links(scheme, function, left))?;
                left -= bytes;
            } else if !has_ended {
                io.breathe().await?;
            }
            if has_ended {
                break;
            }
        }
        let outputs = linking.outputs(values);
        let Linking { number, late, .. } = linking;

        let mut corrections = Zeroizing::default();
        if let Some(expected) = messages::corrections(function) {
            let payload = io.receive(expected).await?;
            check_bits(Kind::Corrections, payload, ots.q.len())?;
            corrections = unpack(payload, ots.q.len());
        }
        send_blocks(io, messages::UNMASK, &[mask_seed])?;
        let offers = ots.numbers.iter().zip(&ots.q).zip(corrections.iter());
        let inputs = offers.map(|((index, q), d)| {
            let q = *q ^ delta.and_bit(u8::from(*d).into());
            garbler.wire_from_cot(*index, q)
        });
        let inputs = Zeroizing::new(inputs.collect::<Vec<_>>());
        send_late_links(io, scheme, (&*garbler, start, number), (&inputs, &late))?;
        Ok(Garbled(GarblerOpening {
            run: self,
            garbler,
            delta,
            inputs,
            outputs,
        }))
    }

    /// Checks that the run can start.
    fn check(
        &self,
        inputs: &[bool],
        past: &Past<'_, GarblerHalf>,
        ots: &GarblerOts,
    ) -> Result<Demand, Error> {
        let (function, link_bytes) = (self.function, self.scheme.link_bytes());
        let loads = past.loads.iter().map(|half| &half.0);
        check_past(self.scheme, function, past.chain, loads)?;
        let demand = Demand::of(function)?;
        demand.early_bytes(link_bytes)?;
        demand.late_bytes(link_bytes)?;
        let [mine, theirs] = Role::BOTH.map(|role| function.input_bits(role));
        if [inputs.len(), ots.numbers.len(), ots.q.len()] == [mine, theirs, theirs] {
            return Ok(demand);
        }
        Err(TOO_FEW)
    }
}

/// The state of the garbler while it makes the links that no input of the evaluator decides.
struct Linking<'g, S: Scheme, I> {
    /// Borrowed, so that its secrets are never moved.
    garbler: &'g mut S::Garbler,
    start: Block,
    /// The number of the next link.
    number: u64,
    /// The labels that the evaluator derives as well: those of the garbler's inputs, then those of
    /// constants.
    labels: Prg,
    instances: I,
    late: Zeroizing<Vec<LateLink<S::Wire>>>,
    from: Zeroizing<Vec<S::Wire>>,
    to: Zeroizing<Vec<S::Wire>>,
}

impl<'g, S: Scheme, I: Instances<Instance = GarblerInstance<S::Wire>>> Linking<'g, S, I> {
    fn new(garbler: &'g mut S::Garbler, start: Block, instances: I, labels: Prg) -> Self {
        Self {
            garbler,
            start,
            number: 0,
            labels,
            instances,
            late: Zeroizing::default(),
            from: Zeroizing::default(),
            to: Zeroizing::default(),
        }
    }

    /// Returns the values before the first call, from the garbler's inputs and the loaded wires.
    fn first_values<'f>(
        &mut self,
        function: &'f Function,
        inputs: &[bool],
        loaded: &[S::Wire],
    ) -> Result<Values<'f, Carried<S::Wire>>, Error> {
        let (mut mine, mut theirs) = (inputs.iter(), 0);
        let mut loaded = loaded.iter();
        Values::new(function, |port| {
            let owner = function.inputs().get(port).map(|input| input.owner);
            Ok(match owner {
                Some(Role::Garbler) => self.public(*mine.next().ok_or(TOO_FEW)?),
                Some(Role::Evaluator) => {
                    theirs += 1;
                    let (wire, input) = (S::Wire::default(), theirs);
                    Carried { wire, input }
                }
                None => Carried::known(*loaded.next().ok_or(TOO_FEW)?),
            })
        })
    }

    /// Returns the wire of an input or a constant, around a label that both parties derive.
    fn public(&mut self, bit: bool) -> Carried<S::Wire> {
        let label = self.labels.next_block();
        Carried::known(self.garbler.wire_with_active(label, bit))
    }

    /// Returns the function's outputs, after the last call.
    fn outputs<'f>(
        &mut self,
        values: Values<'f, Carried<S::Wire>>,
    ) -> Outputs<'f, Carried<S::Wire>> {
        values.outputs(|bit| self.public(bit))
    }

    /// Links until `message` is a full frame, it is time to yield, or the function ends. Returns
    /// whether the function has ended.
    fn fill(
        &mut self,
        values: &mut Values<'_, Carried<S::Wire>>,
        message: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        message.clear();
        let mut work = 0;
        while message.len() < FRAME_BYTES && work < WORK {
            let call = match values.step(|bit| self.public(bit)) {
                Step::Call(call) => call,
                Step::Assigned(bits) => {
                    work += bits + 1;
                    continue;
                }
                Step::End => return Ok(true),
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
            self.garbler
                .link(self.start, self.number, &self.from, &self.to, message);
            self.number += self.from.len() as u64;
            let results = instance.outputs.iter().copied().map(Carried::known);
            let results = Zeroizing::new(results.collect::<Vec<_>>());
            values.finish_call(&results);
        }
        Ok(false)
    }
}

fn send_blocks(io: &mut Io<'_>, message: Message, blocks: &[Block]) -> Result<(), Error> {
    io.message().clear();
    append_blocks(io.message(), blocks);
    io.send(message)
}

/// Sends the links from the evaluator's inputs, whose wires are `inputs`.
fn send_late_links<S: Scheme>(
    io: &mut Io<'_>,
    scheme: S,
    (garbler, start, mut number): (&S::Garbler, Block, u64),
    (inputs, links): (&[S::Wire], &[LateLink<S::Wire>]),
) -> Result<(), Error> {
    let mut left = links.len() * scheme.link_bytes();
    for links in links.chunks(FRAME_BYTES / scheme.link_bytes()) {
        let from = links.iter().map(|link| inputs[link.input as usize]);
        let from = Zeroizing::new(from.collect::<Vec<_>>());
        let to = Zeroizing::new(links.iter().map(|link| link.to).collect::<Vec<_>>());
        io.message().clear();
        garbler.link(start, number, &from, &to, io.message());
        number += links.len() as u64;
        io.send(messages::late_links(left))?;
        left -= io.message().len();
    }
    Ok(())
}

/// The garbler of a run whose links are sent.
pub struct Garbled<'f, S: Scheme>(GarblerOpening<'f, S>);

impl<'f, S: Scheme> Garbled<'f, S> {
    /// Returns the values that the run saves for `chain`, in the function's order, and the opening
    /// of its results. The caller opens only after both parties have kept what they save.
    #[must_use]
    pub fn save(self, chain: ChainId) -> (Vec<GarblerHalf>, GarblerOpening<'f, S>) {
        let GarblerOpening {
            run,
            garbler,
            delta,
            outputs,
            ..
        } = &self.0;
        let wires = outputs.saved().iter().map(|output| self.0.wire(output));
        let labels = wires.map(|wire| label_of_0(&**garbler, &wire, **delta));
        let copies = vec![SavedCopy {
            delta: **delta,
            labels: labels.collect(),
        }];
        let saves = Labels::cut(chain, &id_oracle(&run.tag), copies, run.function.saves());
        (saves.into_iter().map(GarblerHalf).collect(), self.0)
    }
}

/// The garbler's state for opening results.
pub struct GarblerOpening<'f, S: Scheme> {
    run: Run<'f, S>,
    garbler: Box<S::Garbler>,
    delta: &'f Block,
    /// The wires of the evaluator's inputs.
    inputs: Zeroizing<Vec<S::Wire>>,
    outputs: Outputs<'f, Carried<S::Wire>>,
}

impl<S: Scheme> GarblerOpening<'_, S> {
    /// Opens the evaluator's results. Returns the garbler's output bits, in port order.
    ///
    /// # Errors
    ///
    /// The evaluator misbehaves, or the wire fails.
    pub async fn open(self, io: &mut Io<'_>) -> Result<Zeroizing<Vec<bool>>, Error> {
        let Run {
            scheme,
            function,
            tag,
        } = self.run;
        let wires = |role| {
            let outputs = self.outputs.of(role);
            let wires = outputs.iter().map(|output| self.wire(output));
            Zeroizing::new(wires.collect())
        };
        garblers_results(io, scheme, (function, &tag), &*self.garbler, wires).await
    }

    fn wire(&self, output: &Carried<S::Wire>) -> S::Wire {
        match output.input.checked_sub(1) {
            Some(input) => self.inputs[input as usize],
            None => output.wire,
        }
    }
}
