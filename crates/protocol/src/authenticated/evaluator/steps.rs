//! What the evaluator does at each stage of a run.

use tacit_function::Role;
use tacit_kernels::Block;

use super::super::garbling::frame_bytes;
use super::super::terms::open_results;
use super::{Evaluator, Labels, Lot, Next, Stage};
use crate::Error;
use crate::bits::{bytes_for, pack};
use crate::message::{Kind, exactly};
use crate::party::{Action, Machine, NOT_ASKED, Party as _, Progress, SPENT};

impl<'f> Evaluator<'f> {
    /// What comes next with gates that are opened: tables, masked values, and results.
    fn step_with_gates(
        &mut self,
        stage: Stage<'f>,
        message: &mut Vec<u8>,
    ) -> Result<Next<'f>, Error> {
        Ok(match stage {
            // The last tables are there.
            Stage::AwaitingTables(mut lot, frame) => {
                let has_ended = lot.running.masks.has_ended();
                match has_ended && !lot.running.evaluating()?.walk_to_end() {
                    true => (Stage::AwaitingTables(lot, frame), Some(Action::Continue)),
                    false => (Stage::SendingValues(lot), None),
                }
            }
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
                let action = (!message.is_empty()).then_some(Action::send(Kind::MaskedValues));
                (Stage::Flushing(lot), action)
            }
            Stage::Flushing(lot) => (Stage::Folding(lot), Some(Action::Continue)),
            Stage::Folding(lot) => (self.evaluated(*lot)?, None),
            Stage::SendingLabels(lot) => {
                let ended = Box::new(lot.end(message)?);
                let action = Action::send(Kind::LabelDigest);
                (Stage::AwaitingProof(ended), Some(action))
            }
            Stage::SendingResult(opening, outputs) => {
                let macs = self.result_oracle(&opening, Role::Evaluator);
                message.clear();
                open_results(macs, &opening.masks.of(Role::Garbler), message);
                let stage = Stage::Done(Box::new(opening.epoch), outputs);
                (stage, Some(Action::send(Kind::ResultOpening)))
            }
            paused @ (Stage::Keeping(_) | Stage::Done(..)) => (paused, Some(Action::Done)),
            _ => return Err(SPENT),
        })
    }
}

impl<'f> Machine for Evaluator<'f> {
    type State = Stage<'f>;

    fn state(&mut self) -> &mut Option<Stage<'f>> {
        &mut self.stage
    }

    fn awaited(&self, stage: &Stage<'f>) -> Option<Action> {
        Some(match stage {
            Stage::AwaitingInputs(_) => {
                let bits = self.terms.function.input_bits(Role::Garbler);
                Action::receive(Kind::MaskedInputs, Block::BYTES + bytes_for(bits))
            }
            Stage::AwaitingGates(lot) if lot.gates.count() > 0 => {
                Action::receive(Kind::GateOpenings, lot.gates.opening_bytes())
            }
            Stage::AwaitingTables(lot, frame) => {
                let count = *lot.gates.frames.get(*frame)? as usize;
                Action::receive(Kind::AuthenticatedTables, frame_bytes(count))
            }
            Stage::AwaitingProof(_) => Action::receive(Kind::GateProof, self.proof_bytes()),
            Stage::AwaitingResult(_) => Action::receive(Kind::ResultOpening, self.result_bytes()),
            _ => return None,
        })
    }

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
                (Stage::Masking(lot), Some(Action::send(Kind::MaskedInputs)))
            }
            Stage::Masking(mut lot) => match lot.gates.fill(&mut lot.running.masks) {
                false => (Stage::Masking(lot), Some(Action::Continue)),
                true => {
                    self.lots.taken(&lot.gates);
                    (Stage::SendingGates(lot), None)
                }
            },
            Stage::SendingGates(lot) => {
                lot.gates.open(&lot.epoch, message);
                let action = (!message.is_empty()).then_some(Action::send(Kind::GateOpenings));
                let stage = match lot.running.labels {
                    Labels::Awaited(_) => Stage::AwaitingInputs(lot),
                    Labels::There(_) => Stage::AwaitingGates(lot),
                };
                (stage, action)
            }
            Stage::AwaitingGates(lot) => {
                (Stage::AwaitingTables(Box::new(lot.check(&[])?), 0), None)
            }
            stage => return self.step_with_gates(stage, message),
        })
    }

    fn take(&mut self, stage: Stage<'f>, payload: &[u8]) -> Result<Stage<'f>, Error> {
        Ok(match stage {
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
            Stage::AwaitingProof(ended) => self.take_proof(ended, payload)?,
            Stage::AwaitingResult(ended) => {
                self.take_result(*ended, (Kind::ResultOpening, payload))?
            }
            _ => return Err(NOT_ASKED),
        })
    }

    fn progress(&self) -> Progress {
        self.terms.progress(&self.lots)
    }
}
