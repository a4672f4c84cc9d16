//! The evaluator of a run.

use tacit_function::{Outputs as Results, Role};
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::caught::Caught;
use super::epoch::Epoch;
use super::evaluating::{Evaluating, LABEL_RULES};
use super::fold::FOLD_BYTES;
use super::garbling::input_label;
use super::gates::{ClosedGates, OpenGates};
use super::lot::{InputCounts, Made, Making};
use super::oracle::{Domain, Oracle, compare};
use super::party::AuthenticatedParty;
use super::saving::{Given, NOTHING_SAVED, saved};
use super::share::Share;
use super::stocked::StockedTriples;
use super::terms::{Before, Lots, Terms, mask_inputs, result_bytes, results};
use super::walk::Walk;
use crate::Error;
use crate::bits::{bytes_for, check_bits, read_block, unpack};
use crate::message::{Kind, exactly};
use crate::party::{Action, NOT_ASKED, NOT_DONE};
use crate::saved::SharedHalf;

/// A run of `authenticated` on the evaluator's side.
pub struct Evaluator<'f> {
    terms: Terms<'f>,
    stage: Option<Stage<'f>>,
    lots: Lots<'f>,
}

pub(crate) enum Stage<'f> {
    Making(Making, Before<Running<'f>>),
    SendingInputs(Box<Lot<'f, ClosedGates>>),
    Masking(Box<Lot<'f, ClosedGates>>),
    SendingGates(Box<Lot<'f, ClosedGates>>),
    AwaitingInputs(Box<Lot<'f, ClosedGates>>),
    AwaitingGates(Box<Lot<'f, ClosedGates>>),
    AwaitingTables(Box<Lot<'f, OpenGates>>, usize),
    Evaluating(Box<Lot<'f, OpenGates>>, usize),
    SendingValues(Box<Lot<'f, OpenGates>>),
    /// The garbler works on the values: they are not to wait for what follows.
    Flushing(Box<Lot<'f, OpenGates>>),
    Folding(Box<Lot<'f, OpenGates>>),
    SendingLabels(Box<Evaluated<'f>>),
    AwaitingProof(Box<Ended<'f>>),
    /// Until what the run saves is kept at both.
    Keeping(Box<Ended<'f>>),
    AwaitingResult(Box<Ended<'f>>),
    SendingResult(Box<Opening<'f>>, Zeroizing<Vec<bool>>),
    Done(Box<Epoch>, Zeroizing<Vec<bool>>),
}

/// A stage, and what is to be done before it.
type Next<'f> = (Stage<'f>, Option<Action>);

/// A run under way.
pub(crate) struct Running<'f> {
    run: u64,
    masks: Walk<'f, Share>,
    labels: Labels<'f>,
}

/// The evaluator's labels, before and after it has those of the inputs.
enum Labels<'f> {
    /// This party's inputs under their masks.
    Awaited(Zeroizing<Vec<bool>>),
    There(Box<Evaluating<'f>>),
}

/// A run with a lot.
pub(crate) struct Lot<'f, G> {
    epoch: Epoch,
    rng: Prg,
    running: Running<'f>,
    gates: G,
}

/// A run all of whose gates are evaluated.
pub(crate) struct Evaluated<'f> {
    epoch: Epoch,
    running: Running<'f>,
}

/// A run whose labels the garbler compares.
pub(crate) struct Ended<'f> {
    opening: Opening<'f>,
    /// What the garbler's proof must be.
    zeros: [u8; FOLD_BYTES],
    labels: Results<'f, Block>,
}

/// The masks of a run's results.
pub(crate) struct Opening<'f> {
    epoch: Epoch,
    run: u64,
    masks: Results<'f, Share>,
}

impl<'f> AuthenticatedParty<'f> for Evaluator<'f> {
    const ROLE: Role = Role::Evaluator;

    fn begin(
        terms: Terms<'f>,
        given: (&[bool], &[SharedHalf]),
        source: (Epoch, Option<StockedTriples<'f>>),
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        let (lots, making, before) = terms.begin(Self::ROLE, given, source, seed)?;
        let stage = Some(Stage::Making(making, before));
        Ok(Self { terms, stage, lots })
    }

    fn save(mut self) -> Result<(Vec<SharedHalf>, Self), Error> {
        let Some(Stage::Keeping(ended)) = self.stage.take() else {
            return Err(NOTHING_SAVED);
        };
        let Ended {
            opening, labels, ..
        } = &*ended;
        let masked = labels.saved().iter().map(|label| label.lsb());
        let saves = saved(&self.terms, &opening.epoch, opening.masks.saved(), masked)?;
        self.stage = Some(match self.terms.function.output_bits(Role::Evaluator) {
            0 => self.after_result(ended.opening, Zeroizing::default()),
            _ => Stage::AwaitingResult(ended),
        });
        Ok((saves, self))
    }

    fn finish(self) -> Result<(Zeroizing<Vec<bool>>, Epoch), Error> {
        match self.stage {
            Some(Stage::Done(epoch, outputs)) => Ok((outputs, *epoch)),
            _ => Err(NOT_DONE),
        }
    }
}

impl<'f> Evaluator<'f> {
    /// The stage after a lot was made.
    fn made(&self, mut made: Made, before: Before<Running<'f>>) -> Result<Stage<'f>, Error> {
        Ok(match before {
            Before::First(Given { inputs, loads }) => {
                let both = [&made.own_inputs, &made.others_inputs].map(|masks| &masks[..]);
                let running = Running {
                    masks: self.terms.masks(&made.epoch, both, &loads)?,
                    labels: Labels::Awaited(mask_inputs(&inputs, &made.own_inputs)),
                    run: made.epoch.next_run(),
                };
                Stage::SendingInputs(Box::new(running.with(made)))
            }
            Before::Later(running) => Stage::Masking(Box::new(running.with(made))),
        })
    }

    /// The stage after a lot's gates are evaluated.
    fn evaluated(&mut self, lot: Lot<'f, OpenGates>) -> Result<Stage<'f>, Error> {
        let Lot {
            mut epoch,
            rng,
            mut running,
            gates,
        } = lot;
        running.evaluating()?.fold(gates, &mut epoch.buffers);
        if running.masks.has_ended() {
            epoch.end_run();
            return Ok(Stage::SendingLabels(Box::new(Evaluated { epoch, running })));
        }
        let none = InputCounts::default();
        let making = self.lots.next(&self.terms, epoch, none, rng)?;
        Ok(Stage::Making(making, Before::Later(Box::new(running))))
    }

    fn result_oracle(&self, opening: &Opening<'_>, from: Role) -> Oracle {
        let Opening { epoch, run, .. } = opening;
        self.terms
            .oracle(epoch, Domain::ResultMacs, Some(from), *run)
    }

    /// Checks that every gate is right. Only then does this party keep what the run saves, or open
    /// the garbler's results.
    fn take_proof(&self, ended: Box<Ended<'f>>, payload: &[u8]) -> Result<Stage<'f>, Error> {
        let kind = Kind::GateProof;
        exactly(kind, payload, self.proof_bytes())?;
        let (proof, masks) = payload.split_at(FOLD_BYTES);
        compare(&ended.zeros, proof, Caught::GateProof)?;
        match self.terms.function.saves() {
            [] => self.take_result(*ended, (kind, masks)),
            _ => Ok(Stage::Keeping(ended)),
        }
    }

    fn take_result(&self, ended: Ended<'f>, opened: (Kind, &[u8])) -> Result<Stage<'f>, Error> {
        let Ended {
            opening, labels, ..
        } = ended;
        let (macs, role) = (self.result_oracle(&opening, Role::Garbler), Role::Evaluator);
        let (own, masked) = (opening.masks.of(role), labels.of(role));
        let masked = masked.iter().map(|label| label.lsb().into());
        let outputs = results(macs, *opening.epoch.delta(), &own, masked, opened)?;
        Ok(self.after_result(opening, outputs))
    }

    fn after_result(&self, opening: Opening<'f>, outputs: Zeroizing<Vec<bool>>) -> Stage<'f> {
        match self.terms.function.output_bits(Role::Garbler) {
            0 => Stage::Done(Box::new(opening.epoch), outputs),
            _ => Stage::SendingResult(Box::new(opening), outputs),
        }
    }

    fn result_bytes(&self) -> usize {
        result_bytes(self.terms.function.output_bits(Role::Evaluator))
    }

    fn proof_bytes(&self) -> usize {
        match self.terms.function.saves() {
            [] => FOLD_BYTES + self.result_bytes(),
            _ => FOLD_BYTES,
        }
    }
}

impl<'f> Running<'f> {
    /// The run with a lot that was made for it.
    fn with(self, mut made: Made) -> Lot<'f, ClosedGates> {
        Lot {
            gates: ClosedGates::new(made.triples, &mut made.epoch.buffers),
            epoch: made.epoch,
            rng: made.rng,
            running: self,
        }
    }

    fn evaluating(&mut self) -> Result<&mut Evaluating<'f>, Error> {
        match &mut self.labels {
            Labels::There(evaluating) => Ok(evaluating),
            Labels::Awaited(_) => Err(Error::ApiMisuse("labels of inputs come before gates")),
        }
    }
}

impl<'f> Lot<'f, ClosedGates> {
    /// Takes the garbler's masked inputs and the seed of the labels.
    fn begin(&mut self, terms: &Terms<'f>, payload: &[u8]) -> Result<(), Error> {
        let (kind, count) = (Kind::MaskedInputs, terms.function.input_bits(Role::Garbler));
        exactly(kind, payload, Block::BYTES + bytes_for(count))?;
        let (seed, bits) = payload.split_at(Block::BYTES);
        check_bits(kind, bits, count)?;
        let Labels::Awaited(masked) = &self.running.labels else {
            return Err(NOT_ASKED);
        };
        let (others, epoch) = (unpack(bits, count), &self.epoch);
        let mut labels = Prg::new(read_block(seed));
        let walk = terms.walk(
            Role::Evaluator,
            LABEL_RULES,
            [&masked[..], &others[..]],
            |bit| input_label(&mut labels, bit),
        )?;
        let fold = terms.proof_fold(epoch, self.running.run);
        let hash = terms.hash(epoch, self.running.run);
        let evaluating = Evaluating::new(walk, hash, fold);
        self.running.labels = Labels::There(Box::new(evaluating));
        Ok(())
    }

    /// Checks the garbler's openings of the gates.
    fn check(mut self, payload: &[u8]) -> Result<Lot<'f, OpenGates>, Error> {
        let labels = self.epoch.buffers.take(self.gates.count());
        let gates = self.gates.check(&self.epoch, payload)?;
        let mut lot = Lot {
            gates: gates.open(&mut self.epoch),
            epoch: self.epoch,
            rng: self.rng,
            running: self.running,
        };
        lot.running.evaluating()?.begin(labels);
        Ok(lot)
    }
}

impl<'f> Evaluated<'f> {
    /// Writes the fold of the labels of all gates.
    fn end(self, message: &mut Vec<u8>) -> Result<Ended<'f>, Error> {
        let Running { run, masks, labels } = self.running;
        let Labels::There(evaluating) = labels else {
            return Err(Error::ApiMisuse("labels of inputs come before gates"));
        };
        let ([labels, zeros], outputs) = evaluating.finish();
        message.clear();
        message.extend_from_slice(&labels);
        let opening = Opening {
            epoch: self.epoch,
            run,
            masks: masks.outputs(),
        };
        Ok(Ended {
            opening,
            zeros,
            labels: outputs,
        })
    }
}

mod steps;
