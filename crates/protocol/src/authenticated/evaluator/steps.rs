//! What the evaluator does at each stage of a run.

use core::mem;

use tacit_circuit::Role;
use tacit_kernels::Block;

use super::super::garbling::frame_bytes;
use super::super::lot::receive;
use super::super::terms::{FAILED, NOT_ASKED, open_results};
use super::{Evaluator, Labels, Lot, Next, Stage};
use crate::Error;
use crate::malicious::bits::{bytes_for, pack};
use crate::message::{Kind, exactly};
use crate::party::{Action, Party, Progress};

impl<'f> Evaluator<'f> {
    /// What comes next at this stage, and the stage after it: a lot, and its openings.
    fn step(&mut self, stage: Stage<'f>, message: &mut Vec<u8>) -> Result<Next<'f>, Error> {
        Ok(match stage {
            Stage::Making(mut making, before) => match making.next(message)? {
                Action::Done => (self.made(making.finish()?, before)?, None),
                action => (Stage::Making(making, before), Some(action)),
            },
            Stage::SendingInputs(lot) => {
                message.clear();
                if let Labels::Awaited(masked) = &lot.running.labels {
                    message.extend_from_slice(&pack(masked));
                }
                (Stage::Masking(lot), Some(Action::Send(Kind::MaskedInputs)))
            }
            Stage::Masking(mut lot) => match lot.gates.fill(&mut lot.running.masks) {
                false => (Stage::Masking(lot), Some(Action::Continue)),
                true => {
                    self.done_ands += lot.gates.count() as u64;
                    if let Some(stock) = &mut self.stock {
                        stock.give_back(lot.gates.rest());
                    }
                    (Stage::SendingGates(lot), None)
                }
            },
            Stage::SendingGates(lot) => {
                lot.gates.open(&lot.epoch, message);
                let action = (!message.is_empty()).then_some(Action::Send(Kind::GateOpenings));
                let stage = match lot.running.labels {
                    Labels::Awaited(_) => Stage::AwaitingInputs(lot),
                    Labels::There(_) => Stage::AwaitingGates(lot),
                };
                (stage, action)
            }
            Stage::AwaitingInputs(lot) => {
                let bits = self.terms.function.input_bits(Role::Garbler);
                let action = receive(Kind::MaskedInputs, Block::BYTES + bytes_for(bits));
                (Stage::AwaitingInputs(lot), action)
            }
            Stage::AwaitingGates(lot) => match lot.gates.opening_bytes() {
                0 => (Stage::AwaitingTables(Box::new(lot.check(&[])?), 0), None),
                bytes => (
                    Stage::AwaitingGates(lot),
                    receive(Kind::GateOpenings, bytes),
                ),
            },
            stage => return self.step_with_gates(stage, message),
        })
    }

    /// The same with gates that are opened: tables, and masked values.
    fn step_with_gates(
        &mut self,
        stage: Stage<'f>,
        message: &mut Vec<u8>,
    ) -> Result<Next<'f>, Error> {
        Ok(match stage {
            Stage::AwaitingTables(mut lot, frame) => match lot.gates.frames.get(frame) {
                Some(count) => {
                    let bytes = frame_bytes(*count as usize);
                    let action = receive(Kind::AuthenticatedTables, bytes);
                    (Stage::AwaitingTables(lot, frame), action)
                }
                None if !lot.running.masks.has_ended()
                    || lot.running.evaluating()?.walk_to_end() =>
                {
                    (Stage::SendingValues(lot), None)
                }
                None => (Stage::AwaitingTables(lot, frame), Some(Action::Continue)),
            },
            Stage::Evaluating(mut lot, frame) => {
                let Lot { running, gates, .. } = &mut *lot;
                match running.evaluating()?.evaluate(gates) {
                    false => (Stage::Evaluating(lot, frame), Some(Action::Continue)),
                    true => (Stage::AwaitingTables(lot, frame + 1), None),
                }
            }
            Stage::SendingValues(mut lot) => {
                message.clear();
                message.extend_from_slice(lot.running.evaluating()?.end_lot());
                let action = (!message.is_empty()).then_some(Action::Send(Kind::MaskedValues));
                (Stage::Flushing(lot), action)
            }
            Stage::Flushing(lot) => (Stage::Folding(lot), Some(Action::Continue)),
            Stage::Folding(lot) => (self.evaluated(*lot)?, None),
            stage => return self.step_to_end(stage, message),
        })
    }

    /// The same when all gates are evaluated.
    fn step_to_end(&self, stage: Stage<'f>, message: &mut Vec<u8>) -> Result<Next<'f>, Error> {
        Ok(match stage {
            Stage::SendingLabels(lot) => {
                let ended = Box::new(lot.end(message)?);
                (
                    Stage::AwaitingProof(ended),
                    Some(Action::Send(Kind::LabelDigest)),
                )
            }
            Stage::AwaitingProof(ended) => {
                let action = receive(Kind::GateProof, self.proof_bytes());
                (Stage::AwaitingProof(ended), action)
            }
            Stage::SendingResult(opening, outputs) => {
                let macs = self.result_oracle(&opening, Role::Evaluator);
                message.clear();
                open_results(macs, &opening.masks.of(Role::Garbler), message);
                let stage = Stage::Done(Box::new(opening.epoch), outputs);
                (stage, Some(Action::Send(Kind::ResultOpening)))
            }
            Stage::Done(epoch, outputs) => (Stage::Done(epoch, outputs), Some(Action::Done)),
            _ => return Err(FAILED),
        })
    }
}

impl Party for Evaluator<'_> {
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
            Stage::AwaitingInputs(mut lot) => {
                lot.begin(&self.terms, payload)?;
                Stage::AwaitingGates(lot)
            }
            Stage::AwaitingGates(lot) => Stage::AwaitingTables(Box::new(lot.check(payload)?), 0),
            Stage::AwaitingTables(mut lot, frame) => {
                let count = lot.gates.frames.get(frame).ok_or(NOT_ASKED)?;
                let count = *count as usize;
                exactly(Kind::AuthenticatedTables, payload, frame_bytes(count))?;
                lot.running.evaluating()?.receive(count, payload)?;
                Stage::Evaluating(lot, frame)
            }
            Stage::AwaitingProof(ended) => self.take_proof(*ended, payload)?,
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
