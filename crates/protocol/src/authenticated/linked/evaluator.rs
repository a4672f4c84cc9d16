//! The evaluator of a run from instances.

use std::collections::VecDeque;

use tacit_function::{Outputs as Results, Role};
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::super::caught::Caught;
use super::super::epoch::Epoch;
use super::super::evaluating::{Evaluating, LABEL_RULES};
use super::super::fold::FOLD_BYTES;
use super::super::gates::OpenGates;
use super::super::oracle::{Domain, Oracle, compare};
use super::super::rows::{CheckingRows, InstanceForm};
use super::super::share::Share;
use super::super::terms::{Terms, open_results, result_bytes, results};
use super::calls::Following;
use super::kept::{EvaluatorPiece, EvaluatorSide, Side as _};
use super::linking::{Found, Linking, follow};
use super::opening::{CheckedLinks, ClosedLinks};
use super::wiring::{Leaves, Wiring};
use super::{FRAME_LINKS, LinkedParty, check_inputs};
use crate::bits::{bytes_for, check_bits, pack, unpack};
use crate::message::{Kind, exactly};
use crate::party::{Action, Machine, NOT_ASKED, NOT_DONE};
use crate::prepared::Instances;
use crate::{Error, Misbehaviour};

/// A run from instances on the evaluator's side.
pub struct LinkedEvaluator<'f> {
    terms: Terms<'f>,
    form: InstanceForm,
    wiring: Wiring,
    stage: Option<Stage<'f>>,
}

pub(crate) enum Stage<'f> {
    Linking(
        Box<Linking<'f, EvaluatorSide>>,
        [u8; 32],
        Zeroizing<Vec<bool>>,
    ),
    AwaitingMasks(Box<Begun<'f>>, ClosedLinks),
    SendingMasks(Box<Begun<'f>>, Vec<u8>),
    SendingInputs(Box<Begun<'f>>),
    AwaitingEarly(Box<Begun<'f>>),
    AwaitingInputs(Box<Begun<'f>>),
    AwaitingLinks(Box<Begun<'f>>),
    /// The masks of this party's results, where rows prove the gates.
    AwaitingOpening(Box<Begun<'f>>),
    Evaluating(Box<Running<'f>>, OpenGates),
    Folding(Box<Running<'f>>, OpenGates),
    SendingLabels(Box<Ended<'f>>, [u8; FOLD_BYTES]),
    AwaitingProof(Box<Ended<'f>>),
    SendingResult(Box<Ended<'f>>, Zeroizing<Vec<bool>>),
    Done(Zeroizing<Vec<bool>>),
}

/// A run whose instances are known.
pub(crate) struct Begun<'f> {
    epoch: Epoch,
    run: u64,
    found: Found<'f, EvaluatorSide>,
    /// This party's inputs that calls read; once what links open is checked, under their masks.
    inputs: Zeroizing<Vec<bool>>,
    /// d of each wire, once that is checked.
    differences: Vec<bool>,
    /// All masked inputs, once the garbler's are there.
    masked: Vec<bool>,
    /// Of each wire the link that leads to it, once that has come.
    links: Zeroizing<Vec<Block>>,
    /// The first wire behind those whose links have come at this time.
    next: usize,
}

/// A run that has all labels of its inputs.
pub(crate) struct Running<'f> {
    epoch: Epoch,
    run: u64,
    evaluating: Evaluating<'f, Following<'f, Block>>,
    pieces: VecDeque<(usize, EvaluatorPiece)>,
    results: Results<'f, Share>,
    /// What opens this party's results, where rows prove the gates.
    opening: Vec<u8>,
}

/// A run whose labels the garbler compares, or whose gates rows have proven.
pub(crate) struct Ended<'f> {
    epoch: Epoch,
    run: u64,
    /// What the garbler's proof must be.
    zeros: [u8; FOLD_BYTES],
    labels: Results<'f, Block>,
    results: Results<'f, Share>,
}

impl<'f> LinkedParty<'f> for LinkedEvaluator<'f> {
    const ROLE: Role = Role::Evaluator;

    fn new<I: Instances<Instance = Zeroizing<Vec<u8>>>>(
        terms: Terms<'f>,
        inputs: &[bool],
        (id, form): ([u8; 32], InstanceForm),
        instances: I,
    ) -> Result<Self, Error> {
        let wiring = Wiring::of(terms.function)?;
        let inputs = check_inputs(terms.function, &wiring, Self::ROLE, inputs)?;
        let linking = Linking::new(terms.function, (&wiring, form), instances)?;
        Ok(Self {
            terms,
            form,
            wiring,
            stage: Some(Stage::Linking(Box::new(linking), id, inputs)),
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
    fn new(
        id: [u8; 32],
        inputs: Zeroizing<Vec<bool>>,
        found: Found<'f, EvaluatorSide>,
        wiring: &Wiring,
    ) -> Self {
        let run = found.run();
        Self {
            epoch: Epoch::of_stock(Role::Evaluator, id, *found.delta, run),
            run,
            found,
            inputs,
            differences: Vec::new(),
            masked: Vec::new(),
            links: Zeroizing::new(vec![Block::ZERO; wiring.wires()]),
            next: 0,
        }
    }

    /// Takes what message 0 opened. Only then may a masked input leave.
    fn checked(&mut self, checked: CheckedLinks) {
        for (input, mask) in self.inputs.iter_mut().zip(checked.masks.iter()) {
            *input ^= mask;
        }
        self.differences = checked.differences;
    }

    /// How many links the next message has.
    fn due(&self, wiring: &Wiring, when: Leaves) -> usize {
        wiring.sent(when, self.next).take(FRAME_LINKS).count()
    }

    /// Takes the next links. Each becomes whole by this party's MAC of d, and then bit 0 of it is
    /// d, which both parties know.
    fn receive(&mut self, wiring: &Wiring, when: Leaves, payload: &[u8]) -> Result<(), Error> {
        let kind = Kind::AuthenticatedLinks;
        exactly(kind, payload, self.due(wiring, when) * Block::BYTES)?;
        let parts = payload.as_chunks().0.iter();
        let mut differs = false;
        for (wire, part) in wiring.sent(when, self.next).zip(parts) {
            let own = EvaluatorSide::mask(self.found.sums[wire]).mac;
            let link = Block::from_bytes(*part) ^ own;
            differs |= bool::from(link.lsb()) != self.differences[wire];
            self.links[wire] = link;
            self.next = wire + 1;
        }
        match differs {
            false => Ok(()),
            true => Err(Misbehaviour::InvalidField {
                kind,
                field: "select bit",
            }
            .into()),
        }
    }

    /// The run, when all links are there.
    fn begin(
        self,
        terms: &Terms<'f>,
        form: InstanceForm,
        opening: Vec<u8>,
    ) -> Result<Box<Running<'f>>, Error> {
        let numbers = self.found.numbers;
        let walk = follow(
            terms.function,
            LABEL_RULES,
            numbers,
            self.links,
            &self.masked,
        )?;
        let hash = self
            .epoch
            .hash(terms.construction, Domain::InstanceStart, 0);
        let fold = terms.proof_fold(&self.epoch, self.run);
        let rows = match form {
            InstanceForm::Told => None,
            form => {
                let hash = self.epoch.hash(terms.construction, Domain::RowStart, 0);
                Some(CheckingRows::new(hash, form.row_bytes()))
            }
        };
        Ok(Box::new(Running {
            evaluating: Evaluating::new(walk, hash, fold).with_rows(rows),
            epoch: self.epoch,
            run: self.run,
            pieces: self.found.pieces,
            results: self.found.results,
            opening,
        }))
    }
}

impl<'f> Running<'f> {
    /// Evaluates the gates of a piece and, after the last, walks to the function's end. Whether
    /// that is done.
    fn evaluate(&mut self, gates: &OpenGates) -> bool {
        let last = self.pieces.is_empty();
        self.evaluating.evaluate(gates) && (!last || self.evaluating.walk_to_end())
    }

    /// Begins with the next gates, if there are any.
    ///
    /// # Errors
    ///
    /// There are not three rows for each gate.
    fn next(&mut self) -> Result<Option<OpenGates>, Error> {
        let Some((count, piece)) = self.pieces.pop_front() else {
            return Ok(None);
        };
        let (gates, tables, rows) = piece.open(*self.epoch.delta());
        let labels = self.epoch.buffers.take(count);
        self.evaluating.begin(labels);
        self.evaluating.load(tables, rows)?;
        Ok(Some(gates))
    }

    /// Ends, after the last: with the fold of labels, and what opens this party's results where
    /// rows have proven the gates.
    fn end(self) -> (Box<Ended<'f>>, [u8; FOLD_BYTES], Vec<u8>) {
        let ([labels, zeros], outputs) = self.evaluating.finish();
        let ended = Ended {
            epoch: self.epoch,
            run: self.run,
            zeros,
            labels: outputs,
            results: self.results,
        };
        (Box::new(ended), labels, self.opening)
    }
}

impl<'f> LinkedEvaluator<'f> {
    /// The stage that evaluates the next gates, or ends.
    fn proceed(&self, mut running: Box<Running<'f>>) -> Result<Stage<'f>, Error> {
        if let Some(gates) = running.next()? {
            return Ok(Stage::Evaluating(running, gates));
        }
        // Nothing leaves before.
        running.evaluating.check_rows()?;
        let (ended, labels, opening) = running.end();
        Ok(match self.form {
            InstanceForm::Told => Stage::SendingLabels(ended, labels),
            InstanceForm::Rows(_) => {
                let outputs = match self.terms.function.output_bits(Role::Evaluator) {
                    0 => Zeroizing::default(),
                    _ => ended.open(&self.terms, (Kind::ResultOpening, &opening))?,
                };
                self.opened(ended, outputs)
            }
        })
    }

    /// The stage after this party's results are open.
    fn opened(&self, ended: Box<Ended<'f>>, outputs: Zeroizing<Vec<bool>>) -> Stage<'f> {
        match self.terms.function.output_bits(Role::Garbler) {
            0 => Stage::Done(outputs),
            _ => Stage::SendingResult(ended, outputs),
        }
    }
}

impl Ended<'_> {
    fn masks(&self, role: Role) -> Zeroizing<Vec<Share>> {
        let delta = *self.epoch.delta();
        let results = self.results.of(role);
        Zeroizing::new(results.iter().map(|mask| mask.turned(delta)).collect())
    }

    fn oracle(&self, terms: &Terms<'_>, from: Role) -> Oracle {
        terms.oracle(&self.epoch, Domain::ResultMacs, Some(from), self.run)
    }

    /// Checks that every gate is right, and opens this party's results. Only then does it open
    /// the garbler's.
    fn check(&self, terms: &Terms<'_>, payload: &[u8]) -> Result<Zeroizing<Vec<bool>>, Error> {
        let kind = Kind::GateProof;
        exactly(kind, payload, proof_bytes(terms))?;
        let (proof, masks) = payload.split_at(FOLD_BYTES);
        compare(&self.zeros, proof, Caught::GateProof)?;
        self.open(terms, (kind, masks))
    }

    /// Opens this party's results.
    fn open(
        &self,
        terms: &Terms<'_>,
        opening: (Kind, &[u8]),
    ) -> Result<Zeroizing<Vec<bool>>, Error> {
        let role = Role::Evaluator;
        let macs = self.oracle(terms, Role::Garbler);
        let labels = self.labels.of(role);
        let masked = labels.iter().map(|label| label.lsb().into());
        let delta = *self.epoch.delta();
        results(macs, delta, &self.masks(role), masked, opening)
    }

    /// Opens the garbler's results: its masks, with the labels added where the garbler was told no
    /// masked value.
    fn answer(&self, terms: &Terms<'_>, form: InstanceForm, message: &mut Vec<u8>) {
        let mut masks = self.masks(Role::Garbler);
        if let InstanceForm::Rows(_) = form {
            let labels = self.labels.of(Role::Garbler);
            for (mask, label) in masks.iter_mut().zip(labels.iter()) {
                mask.mac ^= *label;
            }
        }
        message.clear();
        open_results(self.oracle(terms, Role::Evaluator), &masks, message);
    }
}

fn proof_bytes(terms: &Terms<'_>) -> usize {
    FOLD_BYTES + result_bytes(terms.function.output_bits(Role::Evaluator))
}

impl<'f> Machine for LinkedEvaluator<'f> {
    type State = Stage<'f>;

    fn state(&mut self) -> &mut Option<Stage<'f>> {
        &mut self.stage
    }

    fn awaited(&self, stage: &Stage<'f>) -> Option<Action> {
        Some(match stage {
            Stage::AwaitingMasks(_, links) => {
                Action::receive(Kind::LinkMasks, links.bytes(Role::Evaluator))
            }
            Stage::AwaitingInputs(_) => {
                let inputs = self.wiring.wires_of(Role::Garbler).count();
                Action::receive(Kind::MaskedInputs, bytes_for(inputs))
            }
            Stage::AwaitingEarly(begun) => match begun.due(&self.wiring, Leaves::Early) {
                0 => return None,
                count => Action::receive(Kind::AuthenticatedLinks, count * Block::BYTES),
            },
            Stage::AwaitingLinks(begun) => match begun.due(&self.wiring, Leaves::Late) {
                0 => return None,
                count => Action::receive(Kind::AuthenticatedLinks, count * Block::BYTES),
            },
            Stage::AwaitingOpening(_) => {
                let results = self.terms.function.output_bits(Role::Evaluator);
                Action::receive(Kind::ResultOpening, result_bytes(results))
            }
            Stage::AwaitingProof(_) => Action::receive(Kind::GateProof, proof_bytes(&self.terms)),
            _ => return None,
        })
    }

    fn step(
        &mut self,
        stage: Stage<'f>,
        message: &mut Vec<u8>,
    ) -> Result<(Stage<'f>, Option<Action>), Error> {
        Ok(match stage {
            Stage::Linking(mut linking, id, inputs) => match linking.walk() {
                false => (Stage::Linking(linking, id, inputs), Some(Action::Continue)),
                true => {
                    let begun = Begun::new(id, inputs, linking.finish(), &self.wiring);
                    let links = begun.found.close(&self.wiring);
                    (Stage::AwaitingMasks(Box::new(begun), links), None)
                }
            },
            Stage::SendingMasks(begun, own) => {
                *message = own;
                let action = Action::send(Kind::LinkMasks);
                (Stage::SendingInputs(begun), Some(action))
            }
            Stage::SendingInputs(begun) => {
                *message = pack(&begun.inputs);
                let action = Action::send(Kind::MaskedInputs);
                (Stage::AwaitingEarly(begun), Some(action))
            }
            // The last early links are there.
            Stage::AwaitingEarly(mut begun) => {
                begun.next = 0;
                (Stage::AwaitingInputs(begun), None)
            }
            // The last links are there.
            Stage::AwaitingLinks(begun) => {
                let results = self.terms.function.output_bits(Role::Evaluator);
                let stage = match (self.form, results) {
                    (InstanceForm::Rows(_), 1..) => Stage::AwaitingOpening(begun),
                    (form, _) => self.proceed(begun.begin(&self.terms, form, Vec::new())?)?,
                };
                (stage, None)
            }
            Stage::Evaluating(mut running, gates) => {
                if !running.evaluate(&gates) {
                    return Ok((Stage::Evaluating(running, gates), Some(Action::Continue)));
                }
                message.clear();
                message.extend_from_slice(running.evaluating.end_lot());
                let action = (!message.is_empty()).then_some(Action::send(Kind::MaskedValues));
                (Stage::Folding(running, gates), action)
            }
            Stage::Folding(mut running, gates) => {
                let Running {
                    evaluating, epoch, ..
                } = &mut *running;
                evaluating.fold(gates, &mut epoch.buffers);
                (self.proceed(running)?, None)
            }
            Stage::SendingLabels(ended, labels) => {
                message.clear();
                message.extend_from_slice(&labels);
                let action = Action::send(Kind::LabelDigest);
                (Stage::AwaitingProof(ended), Some(action))
            }
            Stage::SendingResult(ended, outputs) => {
                ended.answer(&self.terms, self.form, message);
                (
                    Stage::Done(outputs),
                    Some(Action::send(Kind::ResultOpening)),
                )
            }
            done @ Stage::Done(_) => (done, Some(Action::Done)),
            _ => return Err(NOT_ASKED),
        })
    }

    fn take(&mut self, stage: Stage<'f>, payload: &[u8]) -> Result<Stage<'f>, Error> {
        Ok(match stage {
            Stage::AwaitingMasks(mut begun, links) => {
                let mut own = Vec::new();
                links.open(&self.terms, &begun.epoch, begun.run, &mut own);
                let run = (&begun.epoch, begun.run);
                let checked = links.check(&self.terms, &self.wiring, run, payload)?;
                begun.checked(checked);
                Stage::SendingMasks(begun, own)
            }
            Stage::AwaitingInputs(mut begun) => {
                let count = self.wiring.wires_of(Role::Garbler).count();
                check_bits(Kind::MaskedInputs, payload, count)?;
                let garblers = unpack(payload, count);
                begun.masked = self.wiring.all_inputs(&garblers, &begun.inputs);
                Stage::AwaitingLinks(begun)
            }
            Stage::AwaitingEarly(mut begun) => {
                begun.receive(&self.wiring, Leaves::Early, payload)?;
                Stage::AwaitingEarly(begun)
            }
            Stage::AwaitingLinks(mut begun) => {
                begun.receive(&self.wiring, Leaves::Late, payload)?;
                Stage::AwaitingLinks(begun)
            }
            Stage::AwaitingOpening(begun) => {
                let opening = payload.to_vec();
                self.proceed(begun.begin(&self.terms, self.form, opening)?)?
            }
            Stage::AwaitingProof(ended) => {
                let outputs = ended.check(&self.terms, payload)?;
                self.opened(ended, outputs)
            }
            _ => return Err(NOT_ASKED),
        })
    }
}
