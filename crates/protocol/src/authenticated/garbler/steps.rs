//! What the garbler does at each stage of a run.

use core::mem;

use tacit_circuit::Role;
use zeroize::Zeroizing;

use super::super::fold::FOLD_BYTES;
use super::super::garbling::frame_bytes;
use super::super::lot::receive;
use super::super::terms::{FAILED, NOT_ASKED, result_bytes};
use super::{Garbler, Lot, Next, Stage};
use crate::malicious::bits::{bytes_for, unused_are_clear};
use crate::message::{Kind, exactly};
use crate::party::{Action, Party, Progress};
use crate::{Error, Misbehaviour};

impl<'f> Garbler<'f> {
    /// What comes next at this stage, and the stage after it: a lot, and its openings.
    fn step(&mut self, stage: Stage<'f>, message: &mut Vec<u8>) -> Result<Next<'f>, Error> {
        Ok(match stage {
            Stage::Making(mut making, before) => match making.next(message)? {
                Action::Done => (self.made(making.finish()?, before)?, None),
                action => (Stage::Making(making, before), Some(action)),
            },
            Stage::AwaitingInputs(beginning) => {
                let bits = self.terms.function.input_bits(Role::Evaluator);
                let action = receive(Kind::MaskedInputs, bytes_for(bits));
                (Stage::AwaitingInputs(beginning), action)
            }
            Stage::Masking(mut lot) => match lot.gates.fill(&mut lot.running.masks) {
                false => (Stage::Masking(lot), Some(Action::Continue)),
                true => {
                    self.done_ands += lot.gates.count() as u64;
                    if let Some(stock) = &mut self.stock {
                        stock.give_back(lot.gates.rest());
                    }
                    lot.gates.open(&lot.epoch, &mut lot.opening);
                    match lot.gates.count() {
                        0 => (Stage::SendingInputs(Box::new(lot.check(&[])?)), None),
                        _ => (Stage::AwaitingGates(lot), None),
                    }
                }
            },
            Stage::AwaitingGates(lot) => {
                let action = receive(Kind::GateOpenings, lot.gates.opening_bytes());
                (Stage::AwaitingGates(lot), action)
            }
            stage => return self.step_with_gates(stage, message),
        })
    }

    /// The same with gates that are opened: tables, and the proof.
    fn step_with_gates(
        &mut self,
        stage: Stage<'f>,
        message: &mut Vec<u8>,
    ) -> Result<Next<'f>, Error> {
        Ok(match stage {
            Stage::SendingInputs(mut lot) => {
                *message = mem::take(&mut lot.running.inputs);
                let action = (!message.is_empty()).then_some(Action::Send(Kind::MaskedInputs));
                (Stage::SendingGates(lot), action)
            }
            Stage::SendingGates(mut lot) => {
                *message = mem::take(&mut lot.opening);
                let action = (!message.is_empty()).then_some(Action::Send(Kind::GateOpenings));
                (Stage::Flushing(lot), action)
            }
            Stage::Flushing(lot) => (Stage::Opening(lot), Some(Action::Continue)),
            Stage::Opening(lot) => (Stage::Garbling(Box::new(lot.open()?), 0), None),
            Stage::Garbling(mut lot, frame) => match lot.gates.frames.get(frame) {
                None if !lot.running.masks.has_ended() || lot.running.garbling.walk_to_end() => {
                    lot.labels = lot.running.garbling.take_labels();
                    match lot.labels.len() {
                        0 => (Stage::Proving(lot, Vec::new()), None),
                        _ => (Stage::AwaitingValues(lot), None),
                    }
                }
                None => (Stage::Garbling(lot, frame), Some(Action::Continue)),
                Some(count) => {
                    let count = *count as usize;
                    let Lot { running, gates, .. } = &mut *lot;
                    match running.garbling.frame(gates, count, message) {
                        false => (Stage::Garbling(lot, frame), Some(Action::Continue)),
                        true => {
                            debug_assert_eq!(message.len(), frame_bytes(count));
                            let action = Action::Send(Kind::AuthenticatedTables);
                            (Stage::Garbling(lot, frame + 1), Some(action))
                        }
                    }
                }
            },
            Stage::AwaitingValues(lot) => {
                let action = receive(Kind::MaskedValues, bytes_for(lot.labels.len()));
                (Stage::AwaitingValues(lot), action)
            }
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
            stage => return self.step_to_end(stage, message),
        })
    }

    /// The same when all gates are proven.
    fn step_to_end(&self, stage: Stage<'f>, message: &mut Vec<u8>) -> Result<Next<'f>, Error> {
        Ok(match stage {
            Stage::AwaitingLabels(proven) => {
                let action = receive(Kind::LabelDigest, FOLD_BYTES);
                (Stage::AwaitingLabels(proven), action)
            }
            Stage::SendingProof(ended) => {
                self.send_proof(&ended, message);
                let stage = match self.terms.function.output_bits(Role::Garbler) {
                    0 => Stage::Done(Box::new(ended.epoch), Zeroizing::default()),
                    _ => Stage::AwaitingResult(ended),
                };
                (stage, Some(Action::Send(Kind::GateProof)))
            }
            Stage::AwaitingResult(ended) => {
                let bits = self.terms.function.output_bits(Role::Garbler);
                let action = receive(Kind::ResultOpening, result_bytes(bits));
                (Stage::AwaitingResult(ended), action)
            }
            Stage::Done(epoch, outputs) => (Stage::Done(epoch, outputs), Some(Action::Done)),
            _ => return Err(FAILED),
        })
    }
}

impl Party for Garbler<'_> {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        loop {
            let stage = mem::replace(&mut self.stage, Stage::Spent);
            let (stage, action) = self.step(stage, message)?;
            self.stage = stage;
            if let Some(action) = action {
                return Ok(action);
            }
        }
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.stage = match mem::replace(&mut self.stage, Stage::Spent) {
            Stage::Making(mut making, before) => {
                making.receive(payload)?;
                Stage::Making(making, before)
            }
            Stage::AwaitingInputs(beginning) => {
                Stage::Masking(Box::new(beginning.begin(&self.terms, payload)?))
            }
            Stage::AwaitingGates(lot) => Stage::SendingInputs(Box::new(lot.check(payload)?)),
            Stage::AwaitingValues(lot) => {
                let (kind, count) = (Kind::MaskedValues, lot.labels.len());
                exactly(kind, payload, bytes_for(count))?;
                if !unused_are_clear(payload, count) {
                    let field = "padding";
                    return Err(Misbehaviour::InvalidField { kind, field }.into());
                }
                Stage::Proving(lot, payload.to_vec())
            }
            Stage::AwaitingLabels(proven) => Stage::SendingProof(Box::new(proven.check(payload)?)),
            Stage::AwaitingResult(ended) => self.take_result(*ended, payload)?,
            _ => return Err(NOT_ASKED),
        };
        Ok(())
    }

    fn progress(&self) -> Progress {
        Progress {
            done_ands: self.done_ands,
            total_ands: self.terms.function.and_gates(),
        }
    }
}
