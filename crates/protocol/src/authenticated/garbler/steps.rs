//! What the garbler does at each stage of a run.

use core::mem;

use tacit_function::Role;

use super::super::fold::FOLD_BYTES;
use super::super::garbling::frame_bytes;
use super::super::gates::OpenGates;
use super::super::terms::result_bytes;
use super::{Garbler, Lot, Next, Stage};
use crate::Error;
use crate::bits::{bytes_for, check_bits};
use crate::message::Kind;
use crate::party::{Action, Machine, NOT_ASKED, Party as _, Progress, SPENT};

impl<'f> Garbler<'f> {
    /// What comes next with gates that are opened: tables, and the proof.
    fn step_with_gates(
        &mut self,
        stage: Stage<'f>,
        message: &mut Vec<u8>,
    ) -> Result<Next<'f>, Error> {
        Ok(match stage {
            Stage::SendingInputs(mut lot, others) => {
                *message = mem::take(&mut lot.running.inputs);
                let action = (!message.is_empty()).then_some(Action::send(Kind::MaskedInputs));
                (Stage::SendingGates(lot, others), action)
            }
            Stage::SendingGates(mut lot, others) => {
                *message = mem::take(&mut lot.opening);
                let action = (!message.is_empty()).then_some(Action::send(Kind::GateOpenings));
                (Stage::Flushing(lot, others), action)
            }
            Stage::Flushing(lot, others) => (Stage::Opening(lot, others), Some(Action::Continue)),
            Stage::Opening(lot, others) => {
                let lot = lot.check(&others)?.open()?;
                (Stage::Garbling(Box::new(lot), 0), None)
            }
            Stage::Garbling(lot, frame) => Self::garble(lot, frame, message),
            Stage::Proving(mut lot, told) => {
                let Lot {
                    running,
                    gates,
                    labels,
                    ..
                } = &mut *lot;
                let last = running.masks.has_ended();
                match running.proof.add(gates, labels, &told, last) {
                    false => (Stage::Proving(lot, told), Some(Action::Continue)),
                    true => (self.proven(*lot)?, None),
                }
            }
            Stage::SendingProof(ended) => {
                message.clear();
                message.extend_from_slice(&ended.zeros);
                let stage = match self.terms.function.saves() {
                    [] => {
                        self.open_results(&ended, message);
                        self.after_opening(ended)
                    }
                    _ => Stage::Keeping(ended),
                };
                (stage, Some(Action::send(Kind::GateProof)))
            }
            Stage::SendingResult(ended) => {
                message.clear();
                self.open_results(&ended, message);
                let action = Action::send(Kind::ResultOpening);
                (self.after_opening(ended), Some(action))
            }
            paused @ (Stage::Keeping(_) | Stage::Done(..)) => (paused, Some(Action::Done)),
            _ => return Err(SPENT),
        })
    }

    /// Garbles the gates of message number `frame`, or walks on behind the last.
    fn garble(mut lot: Box<Lot<'f, OpenGates>>, frame: usize, message: &mut Vec<u8>) -> Next<'f> {
        let Lot { running, gates, .. } = &mut *lot;
        let Some(&count) = gates.frames.get(frame) else {
            if running.masks.has_ended() && !running.garbling.walk_to_end() {
                return (Stage::Garbling(lot, frame), Some(Action::Continue));
            }
            lot.labels = running.garbling.take_labels();
            let stage = match lot.labels.len() {
                0 => Stage::Proving(lot, Vec::new()),
                _ => Stage::AwaitingValues(lot),
            };
            return (stage, None);
        };
        match running.garbling.frame(gates, count as usize, message) {
            false => (Stage::Garbling(lot, frame), Some(Action::Continue)),
            true => {
                debug_assert_eq!(message.len(), frame_bytes(count as usize));
                let action = Action::send(Kind::AuthenticatedTables);
                (Stage::Garbling(lot, frame + 1), Some(action))
            }
        }
    }
}

impl<'f> Machine for Garbler<'f> {
    type State = Stage<'f>;

    fn state(&mut self) -> &mut Option<Stage<'f>> {
        &mut self.stage
    }

    fn awaited(&self, stage: &Stage<'f>) -> Option<Action> {
        let function = self.terms.function;
        Some(match stage {
            Stage::AwaitingInputs(_) => {
                let bits = function.input_bits(Role::Evaluator);
                Action::receive(Kind::MaskedInputs, bytes_for(bits))
            }
            Stage::AwaitingGates(lot) => {
                Action::receive(Kind::GateOpenings, lot.gates.opening_bytes())
            }
            Stage::AwaitingValues(lot) => {
                Action::receive(Kind::MaskedValues, bytes_for(lot.labels.len()))
            }
            Stage::AwaitingLabels(_) => Action::receive(Kind::LabelDigest, FOLD_BYTES),
            Stage::AwaitingResult(_) => {
                let bits = function.output_bits(Role::Garbler);
                Action::receive(Kind::ResultOpening, result_bytes(bits))
            }
            _ => return None,
        })
    }

    fn step(&mut self, stage: Stage<'f>, message: &mut Vec<u8>) -> Result<Next<'f>, Error> {
        Ok(match stage {
            Stage::Making(mut making, before) => match making.next(message)? {
                Action::Done => (self.made(making.finish()?, before)?, None),
                action => (Stage::Making(making, before), Some(action)),
            },
            Stage::Masking(mut lot) => match lot.gates.fill(&mut lot.running.masks) {
                false => (Stage::Masking(lot), Some(Action::Continue)),
                true => {
                    self.lots.taken(&lot.gates);
                    lot.gates.open(&lot.epoch, &mut lot.opening);
                    match lot.gates.count() {
                        0 => (Stage::SendingInputs(lot, Vec::new()), None),
                        _ => (Stage::AwaitingGates(lot), None),
                    }
                }
            },
            stage => return self.step_with_gates(stage, message),
        })
    }

    fn take(&mut self, stage: Stage<'f>, payload: &[u8]) -> Result<Stage<'f>, Error> {
        Ok(match stage {
            Stage::Making(mut making, before) => {
                making.receive(payload)?;
                Stage::Making(making, before)
            }
            Stage::AwaitingInputs(beginning) => {
                Stage::Masking(Box::new(beginning.begin(&self.terms, payload)?))
            }
            Stage::AwaitingGates(lot) => Stage::SendingInputs(lot, payload.to_vec()),
            Stage::AwaitingValues(lot) => {
                check_bits(Kind::MaskedValues, payload, lot.labels.len())?;
                Stage::Proving(lot, payload.to_vec())
            }
            Stage::AwaitingLabels(proven) => Stage::SendingProof(Box::new(proven.check(payload)?)),
            Stage::AwaitingResult(ended) => self.take_result(*ended, payload)?,
            _ => return Err(NOT_ASKED),
        })
    }

    fn progress(&self) -> Progress {
        self.terms.progress(&self.lots)
    }
}
