//! The garbler of a run from instances.

use std::collections::VecDeque;

use tacit_function::{Function, Outputs as Results, Role, Values};
use tacit_kernels::Block;
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::super::epoch::Epoch;
use super::super::fold::FOLD_BYTES;
use super::super::garbling::{Proof, label_rules};
use super::super::gates::OpenGates;
use super::super::oracle::{Domain, Oracle};
use super::super::rows::InstanceForm;
use super::super::share::Share;
use super::super::terms::{Terms, open_results, result_bytes, results};
use super::calls::Following;
use super::kept::{GarblerSide, GarblerWire, Side as _};
use super::linking::{Found, Linking, follow};
use super::opening::{CheckedLinks, ClosedLinks};
use super::wiring::{Leaves, Wiring};
use super::{FRAME_LINKS, LinkedParty, check_inputs};
use crate::Error;
use crate::bits::{append_blocks, bytes_for, check_bits, pack, unpack};
use crate::message::Kind;
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE};
use crate::prepared::Instances;

/// A run from instances on the garbler's side.
pub struct LinkedGarbler<'f> {
    terms: Terms<'f>,
    form: InstanceForm,
    wiring: Wiring,
    stage: Option<Stage<'f>>,
}

pub(crate) enum Stage<'f> {
    Linking(Box<Linking<'f, GarblerSide>>, Given),
    SendingMasks(Box<Begun<'f>>, ClosedLinks),
    /// Links that need no input, from this wire on.
    SendingEarly(Box<Begun<'f>>, ClosedLinks, usize),
    AwaitingMasks(Box<Begun<'f>>, ClosedLinks),
    AwaitingInputs(Box<Begun<'f>>, CheckedLinks),
    SendingInputs(Box<Answer<'f>>),
    SendingLinks(Box<Answer<'f>>, usize),
    AwaitingValues(Box<Running<'f>>),
    Proving(Box<Running<'f>>, Vec<u8>),
    AwaitingLabels(Box<Running<'f>>),
    SendingProof(Box<Ended<'f>>, [u8; FOLD_BYTES]),
    SendingMasksOfResults(Box<Ended<'f>>),
    AwaitingResult(Box<Ended<'f>>),
    Done(Zeroizing<Vec<bool>>),
}

/// What a run begins with: the epoch's id, and this party's inputs that calls read.
pub(crate) struct Given {
    id: [u8; 32],
    inputs: Zeroizing<Vec<bool>>,
}

/// A run whose instances are known.
pub(crate) struct Begun<'f> {
    epoch: Epoch,
    run: u64,
    inputs: Zeroizing<Vec<bool>>,
    found: Found<'f, GarblerSide>,
}

/// A run whose masked inputs are known: what the garbler answers, and what comes then.
pub(crate) struct Answer<'f> {
    /// This party's inputs under their masks.
    masked: Vec<bool>,
    /// What leads to wires that carry inputs and constants.
    links: Zeroizing<Vec<Block>>,
    then: Then<'f>,
}

enum Then<'f> {
    /// The evaluator tells masked values.
    Prove(Box<Running<'f>>),
    /// Rows prove the gates.
    End(Box<Ended<'f>>),
}

/// A run whose gates are to be proven.
pub(crate) struct Running<'f> {
    epoch: Epoch,
    run: u64,
    proof: Proof<'f, Following<'f, bool>>,
    /// Gates whose masked values are not told, and the labels of their outputs.
    pieces: VecDeque<(OpenGates, Outputs)>,
    results: Results<'f, GarblerWire>,
}

/// A run after the evaluator's labels were compared, or one whose rows prove the gates.
pub(crate) struct Ended<'f> {
    epoch: Epoch,
    run: u64,
    results: Results<'f, GarblerWire>,
    /// Masked values of the results. Where rows prove the gates the garbler knows only those of
    /// results that are inputs, and has 0 for the others.
    masked: Results<'f, bool>,
}

impl<'f> LinkedParty<'f> for LinkedGarbler<'f> {
    const ROLE: Role = Role::Garbler;

    fn new<I: Instances<Instance = Zeroizing<Vec<u8>>>>(
        terms: Terms<'f>,
        inputs: &[bool],
        (id, form): ([u8; 32], InstanceForm),
        instances: I,
    ) -> Result<Self, Error> {
        let wiring = Wiring::of(terms.function)?;
        let inputs = check_inputs(terms.function, &wiring, Self::ROLE, inputs)?;
        let linking = Linking::new(terms.function, (&wiring, form), instances)?;
        let stage = Stage::Linking(Box::new(linking), Given { id, inputs });
        Ok(Self {
            terms,
            form,
            wiring,
            stage: Some(stage),
        })
    }

    fn finish(self) -> Result<Zeroizing<Vec<bool>>, Error> {
        match self.stage {
            Some(Stage::Done(outputs)) => Ok(outputs),
            _ => Err(NOT_DONE),
        }
    }
}

impl<'f> Begun<'f> {
    fn new(given: Given, found: Found<'f, GarblerSide>) -> Self {
        let run = found.run();
        Self {
            epoch: Epoch::of_stock(Role::Garbler, given.id, *found.delta, run),
            run,
            inputs: given.inputs,
            found,
        }
    }

    /// Writes the next links that leave early, from `first` on; the first wire behind them, if
    /// there are any.
    fn early(&self, wiring: &Wiring, first: usize, message: &mut Vec<u8>) -> Option<usize> {
        let mut links = Zeroizing::new(Vec::with_capacity(FRAME_LINKS));
        let mut last = None;
        for wire in wiring.sent(Leaves::Early, first).take(FRAME_LINKS) {
            links.push(link(self.found.sums[wire]));
            last = Some(wire);
        }
        message.clear();
        append_blocks(message, &links);
        last.map(|last| last + 1)
    }

    /// Takes the evaluator's masked inputs. Only then are there active labels, and what leads from
    /// public ones to wires.
    fn begin(
        self,
        terms: &Terms<'f>,
        (wiring, form): (&Wiring, InstanceForm),
        checked: CheckedLinks,
        payload: &[u8],
    ) -> Result<Answer<'f>, Error> {
        let count = wiring.wires_of(Role::Evaluator).count();
        check_bits(Kind::MaskedInputs, payload, count)?;
        let others = unpack(payload, count);
        let own = self.inputs.iter().zip(checked.masks.iter());
        let own: Vec<bool> = own.map(|(input, mask)| input ^ mask).collect();
        let masked = wiring.all_inputs(&own, &others);
        let delta = *self.found.delta;
        let rules = label_rules(delta);
        let mut links = Zeroizing::new(Vec::with_capacity(wiring.sent(Leaves::Late, 0).count()));
        for wire in wiring.sent(Leaves::Late, 0) {
            let input = wiring.source(wire).is_some_and(|input| masked[input]);
            links.push(link(self.found.sums[wire]) ^ rules.constant(input));
        }
        let then = match form {
            InstanceForm::Told => {
                Then::Prove(Box::new(self.prove(terms, checked.differences, &masked)?))
            }
            InstanceForm::Rows(_) => Then::End(Box::new(Ended {
                masked: inputs_among_results(terms.function, &masked)?,
                epoch: self.epoch,
                run: self.run,
                results: self.found.results,
            })),
        };
        Ok(Answer {
            masked: own,
            links,
            then,
        })
    }

    /// The proof of the gates, which is to come.
    fn prove(
        self,
        terms: &Terms<'f>,
        differences: Vec<bool>,
        masked: &[bool],
    ) -> Result<Running<'f>, Error> {
        let differences = Zeroizing::new(differences);
        let numbers = self.found.numbers;
        let walk = follow(terms.function, Proof::RULES, numbers, differences, masked)?;
        let fold = terms.proof_fold(&self.epoch, self.run);
        let pieces = self.found.pieces.into_iter();
        Ok(Running {
            proof: Proof::new(walk, *self.found.delta, fold),
            epoch: self.epoch,
            run: self.run,
            pieces: pieces.map(|(_, piece)| piece.open()).collect(),
            results: self.found.results,
        })
    }
}

/// What leads to a wire, from the sum of what it carries and what comes to it: the evaluator adds
/// its MAC of d, which makes this part of dΔ whole. So no word of the evaluator's is in it.
fn link(sum: GarblerWire) -> Block {
    sum.label ^ GarblerSide::mask(sum).key
}

/// Of each result the masked value, if it is an input, and otherwise 0.
fn inputs_among_results<'f>(
    function: &'f Function,
    masked: &[bool],
) -> Result<Results<'f, bool>, Error> {
    let mut bits = masked.iter();
    let next = |_| Ok::<_, Error>(bits.next().copied().unwrap_or_default());
    let (mut values, mut none) = (Values::new(function, next)?, Vec::new());
    while let Some(call) = values.next_call(|_| false) {
        none.resize(call.component.circuit().output_bits(), false);
        values.finish_call(&none);
    }
    Ok(values.outputs(|_| false))
}

impl Ended<'_> {
    /// The masks of the results of `role`.
    fn masks(&self, role: Role) -> Zeroizing<Vec<Share>> {
        let delta = *self.epoch.delta();
        let results = self.results.of(role);
        let masks = results.iter();
        let masks = masks.map(|wire| GarblerSide::mask(*wire).turned(delta));
        Zeroizing::new(masks.collect())
    }

    /// The masks of this party's results, with the labels of masked value 0 added to the keys: what
    /// the evaluator opens is a result under this party's bit of its mask alone.
    fn labelled_masks(&self) -> Zeroizing<Vec<Share>> {
        let mut masks = self.masks(Role::Garbler);
        let rules = label_rules(*self.epoch.delta());
        let wires = self.results.of(Role::Garbler);
        let inputs = self.masked.of(Role::Garbler);
        for ((mask, wire), input) in masks.iter_mut().zip(wires.iter()).zip(inputs.iter()) {
            // The label of an input is public.
            mask.key ^= wire.label ^ rules.constant(*input);
        }
        masks
    }

    fn oracle(&self, terms: &Terms<'_>, from: Role) -> Oracle {
        terms.oracle(&self.epoch, Domain::ResultMacs, Some(from), self.run)
    }
}

impl<'f> LinkedGarbler<'f> {
    /// The stage after the links.
    fn answered(&self, then: Then<'f>) -> Stage<'f> {
        match then {
            Then::Prove(running) => Stage::AwaitingValues(running),
            Then::End(ended) => match self.terms.function.output_bits(Role::Evaluator) {
                0 => self.opened(ended),
                _ => Stage::SendingMasksOfResults(ended),
            },
        }
    }

    /// The stage after the evaluator's results are opened.
    fn opened(&self, ended: Box<Ended<'f>>) -> Stage<'f> {
        match self.terms.function.output_bits(Role::Garbler) {
            0 => Stage::Done(Zeroizing::default()),
            _ => Stage::AwaitingResult(ended),
        }
    }

    /// The stage after the masked values of a piece are behind.
    fn proven(mut running: Box<Running<'f>>) -> Stage<'f> {
        running.pieces.pop_front();
        match running.pieces.is_empty() {
            true => Stage::AwaitingLabels(running),
            false => Stage::AwaitingValues(running),
        }
    }
}

#[cfg(test)]
impl LinkedGarbler<'_> {
    /// Takes the other d of a wire for its link than was opened, before any link leaves.
    pub(crate) fn turn_link(&mut self, wire: usize) {
        if let Some(Stage::SendingEarly(begun, _, 0)) = &mut self.stage {
            begun.found.sums[wire].label ^= *begun.found.delta;
        }
    }

    /// Takes the other d of a wire for what was opened, for its proof, once that is checked;
    /// whether it was.
    pub(crate) fn turn_proof(&mut self, wire: usize) -> bool {
        let Some(Stage::AwaitingInputs(_, checked)) = &mut self.stage else {
            return false;
        };
        checked.differences[wire] ^= true;
        true
    }
}

impl<'f> Machine for LinkedGarbler<'f> {
    type State = Stage<'f>;

    fn state(&mut self) -> &mut Option<Stage<'f>> {
        &mut self.stage
    }

    fn awaited(&self, stage: &Stage<'f>) -> Option<Action> {
        Some(match stage {
            Stage::AwaitingMasks(_, links) => {
                Action::receive(Kind::LinkMasks, links.bytes(Role::Garbler))
            }
            Stage::AwaitingInputs(..) => {
                let inputs = self.wiring.wires_of(Role::Evaluator).count();
                Action::receive(Kind::MaskedInputs, bytes_for(inputs))
            }
            Stage::AwaitingValues(running) => match running.pieces.front()? {
                (_, labels) if labels.is_empty() => return None,
                (_, labels) => Action::receive(Kind::MaskedValues, bytes_for(labels.len())),
            },
            Stage::AwaitingLabels(_) => Action::receive(Kind::LabelDigest, FOLD_BYTES),
            Stage::AwaitingResult(_) => {
                let results = self.terms.function.output_bits(Role::Garbler);
                Action::receive(Kind::ResultOpening, result_bytes(results))
            }
            _ => return None,
        })
    }

    fn step(
        &mut self,
        stage: Stage<'f>,
        message: &mut Vec<u8>,
    ) -> Result<(Stage<'f>, Option<Action>), Error> {
        Ok(match stage {
            Stage::Linking(mut linking, given) => match linking.walk() {
                false => (Stage::Linking(linking, given), Some(Action::Continue)),
                true => {
                    let begun = Begun::new(given, linking.finish());
                    let links = begun.found.close(&self.wiring);
                    (Stage::SendingMasks(Box::new(begun), links), None)
                }
            },
            Stage::SendingMasks(begun, links) => {
                links.open(&self.terms, &begun.epoch, begun.run, message);
                let action = Action::send(Kind::LinkMasks);
                (Stage::SendingEarly(begun, links, 0), Some(action))
            }
            Stage::SendingEarly(begun, links, first) => {
                match begun.early(&self.wiring, first, message) {
                    None => (Stage::AwaitingMasks(begun, links), None),
                    Some(next) => {
                        let action = Action::send(Kind::AuthenticatedLinks);
                        (Stage::SendingEarly(begun, links, next), Some(action))
                    }
                }
            }
            Stage::SendingInputs(answer) => {
                *message = pack(&answer.masked);
                let action = Action::send(Kind::MaskedInputs);
                (Stage::SendingLinks(answer, 0), Some(action))
            }
            Stage::SendingLinks(answer, first) => {
                let end = answer.links.len().min(first + FRAME_LINKS);
                message.clear();
                append_blocks(message, &answer.links[first..end]);
                match first == end {
                    true => (self.answered(answer.then), None),
                    false => {
                        let action = Action::send(Kind::AuthenticatedLinks);
                        (Stage::SendingLinks(answer, end), Some(action))
                    }
                }
            }
            Stage::SendingMasksOfResults(ended) => {
                let macs = ended.oracle(&self.terms, Role::Garbler);
                message.clear();
                open_results(macs, &ended.masks(Role::Evaluator), message);
                (self.opened(ended), Some(Action::send(Kind::ResultOpening)))
            }
            Stage::AwaitingValues(running) => (Stage::Proving(running, Vec::new()), None),
            Stage::Proving(mut running, told) => {
                let last = running.pieces.len() == 1;
                let (gates, labels) = running.pieces.front().ok_or(NOT_ASKED)?;
                match running.proof.add(gates, labels, &told, last) {
                    false => (Stage::Proving(running, told), Some(Action::Continue)),
                    true => (Self::proven(running), None),
                }
            }
            Stage::SendingProof(ended, zeros) => {
                message.clear();
                message.extend_from_slice(&zeros);
                let macs = ended.oracle(&self.terms, Role::Garbler);
                open_results(macs, &ended.masks(Role::Evaluator), message);
                (self.opened(ended), Some(Action::send(Kind::GateProof)))
            }
            done @ Stage::Done(_) => (done, Some(Action::Done)),
            _ => return Err(NOT_ASKED),
        })
    }

    fn take(&mut self, stage: Stage<'f>, payload: &[u8]) -> Result<Stage<'f>, Error> {
        Ok(match stage {
            Stage::AwaitingMasks(begun, links) => {
                let run = (&begun.epoch, begun.run);
                let checked = links.check(&self.terms, &self.wiring, run, payload)?;
                Stage::AwaitingInputs(begun, checked)
            }
            Stage::AwaitingInputs(begun, checked) => {
                let how = (&self.wiring, self.form);
                let answer = begun.begin(&self.terms, how, checked, payload)?;
                Stage::SendingInputs(Box::new(answer))
            }
            Stage::AwaitingValues(running) => {
                let count = running.pieces.front().map_or(0, |(_, labels)| labels.len());
                check_bits(Kind::MaskedValues, payload, count)?;
                Stage::Proving(running, payload.to_vec())
            }
            Stage::AwaitingLabels(running) => {
                let Running {
                    epoch,
                    run,
                    proof,
                    results,
                    ..
                } = *running;
                let (zeros, masked) = proof.check(payload)?;
                let ended = Ended {
                    epoch,
                    run,
                    results,
                    masked,
                };
                Stage::SendingProof(Box::new(ended), zeros)
            }
            Stage::AwaitingResult(ended) => {
                let (role, kind) = (Role::Garbler, Kind::ResultOpening);
                let macs = ended.oracle(&self.terms, Role::Evaluator);
                let mut masked = ended.masked.of(role);
                let masks = match self.form {
                    InstanceForm::Told => ended.masks(role),
                    InstanceForm::Rows(_) => {
                        masked.fill(false);
                        ended.labelled_masks()
                    }
                };
                let masked = masked.iter().copied();
                let delta = *ended.epoch.delta();
                Stage::Done(results(macs, delta, &masks, masked, (kind, payload))?)
            }
            _ => return Err(NOT_ASKED),
        })
    }
}
