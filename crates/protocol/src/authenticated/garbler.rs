//! The garbler of a run.

use subtle::Choice;
use tacit_function::{Outputs as Results, Role};
use tacit_kernels::Prg;
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::epoch::Epoch;
use super::fold::FOLD_BYTES;
use super::garbling::{Garbling, Proof, input_label, label_rules};
use super::gates::{CheckedGates, ClosedGates, OpenGates};
use super::lot::{InputCounts, Made, Making};
use super::oracle::Domain;
use super::party::AuthenticatedParty;
use super::saving::{Given, NOTHING_SAVED, saved};
use super::share::Share;
use super::stocked::StockedTriples;
use super::terms::{Before, Lots, Terms, mask_inputs, open_results, results};
use super::walk::Walk;
use crate::Error;
use crate::bits::{check_bits, pack, unpack};
use crate::message::Kind;
use crate::party::{Action, NOT_DONE};
use crate::saved::SharedHalf;

/// A run of `authenticated` on the garbler's side.
pub struct Garbler<'f> {
    terms: Terms<'f>,
    stage: Option<Stage<'f>>,
    lots: Lots<'f>,
}

pub(crate) enum Stage<'f> {
    Making(Making, Before<Running<'f>>),
    AwaitingInputs(Box<Beginning<'f>>),
    Masking(Box<Lot<'f, ClosedGates>>),
    AwaitingGates(Box<Lot<'f, ClosedGates>>),
    /// With the evaluator's openings.
    SendingInputs(Box<Lot<'f, ClosedGates>>, Vec<u8>),
    SendingGates(Box<Lot<'f, ClosedGates>>, Vec<u8>),
    /// Flushes the openings before checking the evaluator's, so that it can work on them meanwhile.
    Flushing(Box<Lot<'f, ClosedGates>>, Vec<u8>),
    Opening(Box<Lot<'f, ClosedGates>>, Vec<u8>),
    Garbling(Box<Lot<'f, OpenGates>>, usize),
    AwaitingValues(Box<Lot<'f, OpenGates>>),
    Proving(Box<Lot<'f, OpenGates>>, Vec<u8>),
    AwaitingLabels(Box<Proven<'f>>),
    SendingProof(Box<Ended<'f>>),
    /// Until what the run saves is kept at both.
    Keeping(Box<Ended<'f>>),
    SendingResult(Box<Ended<'f>>),
    AwaitingResult(Box<Ended<'f>>),
    Done(Box<Epoch>, Zeroizing<Vec<bool>>),
}

/// A stage, and what is to be done before it.
type Next<'f> = (Stage<'f>, Option<Action>);

/// A run with its first lot, before the evaluator's inputs are known.
pub(crate) struct Beginning<'f> {
    made: Made,
    run: u64,
    masks: Walk<'f, Share>,
    /// This party's inputs under their masks.
    masked: Zeroizing<Vec<bool>>,
}

/// A run under way.
pub(crate) struct Running<'f> {
    run: u64,
    masks: Walk<'f, Share>,
    garbling: Garbling<'f>,
    proof: Proof<'f>,
    /// What tells the evaluator its first labels, until it is sent.
    inputs: Vec<u8>,
}

/// A run with a lot.
pub(crate) struct Lot<'f, G> {
    epoch: Epoch,
    rng: Prg,
    running: Running<'f>,
    gates: G,
    /// Openings that wait to be sent.
    opening: Vec<u8>,
    labels: Outputs,
}

/// A run all of whose gates were evaluated.
pub(crate) struct Proven<'f> {
    epoch: Epoch,
    running: Running<'f>,
}

/// A run whose gates the evaluator evaluated right.
pub(crate) struct Ended<'f> {
    epoch: Epoch,
    run: u64,
    zeros: [u8; FOLD_BYTES],
    masks: Results<'f, Share>,
    masked: Results<'f, bool>,
}

impl<'f> AuthenticatedParty<'f> for Garbler<'f> {
    const ROLE: Role = Role::Garbler;

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
        let masked = ended.masked.saved().iter();
        let masked = masked.map(|masked| Choice::from(u8::from(*masked)));
        let saves = saved(&self.terms, &ended.epoch, ended.masks.saved(), masked)?;
        self.stage = Some(match self.terms.function.output_bits(Role::Evaluator) {
            0 => self.after_opening(ended),
            _ => Stage::SendingResult(ended),
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

impl<'f> Garbler<'f> {
    /// The stage after a lot was made.
    fn made(&self, mut made: Made, before: Before<Running<'f>>) -> Result<Stage<'f>, Error> {
        Ok(match before {
            Before::First(Given { inputs, loads }) => {
                let both = [&made.own_inputs, &made.others_inputs].map(|masks| &masks[..]);
                let masks = self.terms.masks(&made.epoch, both, &loads)?;
                let masked = mask_inputs(&inputs, &made.own_inputs);
                let run = made.epoch.next_run();
                Stage::AwaitingInputs(Box::new(Beginning {
                    made,
                    run,
                    masks,
                    masked,
                }))
            }
            Before::Later(running) => Stage::Masking(Box::new(running.with(made))),
        })
    }

    /// The stage after a lot's gates are proven.
    fn proven(&mut self, lot: Lot<'f, OpenGates>) -> Result<Stage<'f>, Error> {
        let Lot {
            mut epoch,
            rng,
            running,
            gates,
            labels,
            ..
        } = lot;
        gates.give_back(labels, &mut epoch.buffers);
        if running.masks.has_ended() {
            epoch.end_run();
            let proven = Box::new(Proven { epoch, running });
            return Ok(Stage::AwaitingLabels(proven));
        }
        let none = InputCounts::default();
        let making = self.lots.next(&self.terms, epoch, none, rng)?;
        Ok(Stage::Making(making, Before::Later(Box::new(running))))
    }

    /// The masks of the results of `role` with their MACs' hash.
    fn result_oracle(&self, ended: &Ended<'_>, from: Role) -> super::oracle::Oracle {
        self.terms
            .oracle(&ended.epoch, Domain::ResultMacs, Some(from), ended.run)
    }

    /// The stage after the evaluator's results are opened.
    fn after_opening(&self, ended: Box<Ended<'f>>) -> Stage<'f> {
        match self.terms.function.output_bits(Role::Garbler) {
            0 => Stage::Done(Box::new(ended.epoch), Zeroizing::default()),
            _ => Stage::AwaitingResult(ended),
        }
    }

    /// Opens the evaluator's results: of a run that saves something, once that is kept at both.
    fn open_results(&self, ended: &Ended<'_>, message: &mut Vec<u8>) {
        let macs = self.result_oracle(ended, Role::Garbler);
        open_results(macs, &ended.masks.of(Role::Evaluator), message);
    }

    fn take_result(&self, ended: Ended<'f>, payload: &[u8]) -> Result<Stage<'f>, Error> {
        let role = Role::Garbler;
        let macs = self.result_oracle(&ended, Role::Evaluator);
        let (masks, masked) = (ended.masks.of(role), ended.masked.of(role));
        let opening = (Kind::ResultOpening, payload);
        let delta = *ended.epoch.delta();
        let outputs = results(macs, delta, &masks, masked.iter().copied(), opening)?;
        Ok(Stage::Done(Box::new(ended.epoch), outputs))
    }
}

impl<'f> Beginning<'f> {
    /// Takes the evaluator's masked inputs. Only then is there an active label: the labels of
    /// inputs come from a seed that leaves with the next message.
    fn begin(self, terms: &Terms<'f>, payload: &[u8]) -> Result<Lot<'f, ClosedGates>, Error> {
        let Self {
            mut made,
            run,
            masks,
            masked,
        } = self;
        let count = terms.function.input_bits(Role::Evaluator);
        check_bits(Kind::MaskedInputs, payload, count)?;
        let others = unpack(payload, count);
        let (epoch, role) = (&made.epoch, Role::Garbler);
        let delta = *epoch.delta();
        let seed = made.rng.next_block();
        let mut labels = Prg::new(seed);
        let both = [&masked[..], &others[..]];
        let zero = |bit: bool| {
            let bit_of = Choice::from(u8::from(bit));
            input_label(&mut labels, bit) ^ delta.and_bit(bit_of)
        };
        let garbling = terms.walk(role, label_rules(delta), both, zero)?;
        let proof = terms.walk(role, Proof::RULES, both, |bit| bit)?;
        let fold = terms.proof_fold(epoch, run);
        let mut inputs = seed.to_bytes().to_vec();
        inputs.extend_from_slice(&pack(&masked));
        let running = Running {
            run,
            masks,
            garbling: Garbling::new(garbling, terms.hash(epoch, run), delta),
            proof: Proof::new(proof, delta, fold),
            inputs,
        };
        Ok(running.with(made))
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
            opening: Vec::new(),
            labels: Outputs::default(),
        }
    }
}

impl<'f, G> Lot<'f, G> {
    /// The lot with other gates.
    fn with<H>(
        mut self,
        gates: impl FnOnce(G, &mut Epoch) -> Result<H, Error>,
    ) -> Result<Lot<'f, H>, Error> {
        Ok(Lot {
            gates: gates(self.gates, &mut self.epoch)?,
            epoch: self.epoch,
            rng: self.rng,
            running: self.running,
            opening: self.opening,
            labels: self.labels,
        })
    }
}

impl<'f> Lot<'f, ClosedGates> {
    /// Checks the evaluator's openings of the gates.
    fn check(self, payload: &[u8]) -> Result<Lot<'f, CheckedGates>, Error> {
        self.with(|gates, epoch| gates.check(epoch, payload))
    }
}

impl<'f> Lot<'f, CheckedGates> {
    /// Opens the gates.
    fn open(self) -> Result<Lot<'f, OpenGates>, Error> {
        let count = self.gates.count();
        let mut lot = self.with(|gates, epoch| Ok(gates.open(epoch)))?;
        let labels = lot.epoch.buffers.take(count);
        lot.running.garbling.begin(labels);
        Ok(lot)
    }
}

impl<'f> Proven<'f> {
    /// Compares the evaluator's labels with those that the values that it told must have.
    fn check(self, payload: &[u8]) -> Result<Ended<'f>, Error> {
        let Running {
            run, masks, proof, ..
        } = self.running;
        let (zeros, masked) = proof.check(payload)?;
        Ok(Ended {
            epoch: self.epoch,
            run,
            zeros,
            masks: masks.outputs(),
            masked,
        })
    }
}

mod steps;

#[cfg(test)]
mod cheats;
