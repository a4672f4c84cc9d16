//! A run from nothing or from triples of a stock: its start and its end, which are the same at both
//! parties.

use subtle::Choice;
use tacit_function::{Outputs as Results, Role};
use tacit_kernels::Prg;
use zeroize::Zeroizing;

use super::bucket::Triples;
use super::epoch::Epoch;
use super::gates::ClosedGates;
use super::lot::{InputCounts, MadeLot, make};
use super::oracle::{Domain, Oracle};
use super::saving::{saved, shares_of};
use super::share::Share;
use super::stocked::StockedTriples;
use super::terms::{Terms, check, mask_inputs, next_lot, open_results, results};
use super::walk::CallWalk;
use super::{evaluator, garbler, messages};
use crate::Error;
use crate::direct::check_without_values;
use crate::io::{Io, boxed};
use crate::message::Kind;
use crate::party::Progress;
use crate::saved::SharedHalf;

impl<'f> Terms<'f> {
    /// Runs the function from nothing. Returns this party's output bits in port order, and the
    /// epoch for the next run. The party's role is that of `epoch`. `inputs` are its input bits, in
    /// port order. `seed` is random, secret and used for this run alone.
    ///
    /// # Errors
    ///
    /// The number of `inputs` is not what the function takes from this party, the function has
    /// saved values, the epoch is that of a chain, the other party cheats, or the wire fails.
    pub async fn run(
        self,
        io: &mut Io<'_>,
        inputs: &[bool],
        epoch: Epoch,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<(Zeroizing<Vec<bool>>, Epoch), Error> {
        check_without_values(self.function, "authenticated, outside of a chain,")?;
        let run = RunState::begin(io, self, (inputs, &[]), (epoch, None), seed).await?;
        run.prove(io).await?.open(io).await
    }

    /// Runs the function as `role` from triples of a stock. They must be as many as
    /// [`blocks_for`](super::blocks_for) returns.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run), or a block cannot be read or is of another lot.
    pub async fn run_from_stock(
        self,
        io: &mut Io<'_>,
        role: Role,
        inputs: &[bool],
        triples: StockedTriples<'f>,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Zeroizing<Vec<bool>>, Error> {
        let source = (triples.epoch(role)?, Some(triples));
        let run = RunState::begin(io, self, (inputs, &[]), source, seed).await?;
        Ok(run.prove(io).await?.open(io).await?.0)
    }

    /// Runs a function that loads or saves values until its gates are proven, under the epoch of an
    /// attempt of the values' chain. `loads` are this party's halves of the loaded values.
    ///
    /// # Errors
    ///
    /// The number of `inputs` is not what the function takes from this party; a loaded value is
    /// missing, or belongs to another chain, or was saved as another type; the other party cheats;
    /// or the wire fails.
    pub async fn prove(
        self,
        io: &mut Io<'_>,
        (inputs, loads): (&[bool], &[SharedHalf]),
        epoch: Epoch,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Proven<'f>, Error> {
        let run = RunState::begin(io, self, (inputs, loads), (epoch, None), seed).await?;
        run.prove(io).await
    }
}

/// The state of a run, as both parties have it.
pub(super) struct RunState<'f> {
    pub(super) terms: Terms<'f>,
    pub(super) lots: Lots<'f>,
    /// The number of the run in the epoch.
    number: u64,
    /// The triples of the first lot, until gates take them.
    first: Option<Triples>,
    masks: CallWalk<'f, Share>,
    /// This party's inputs under their masks.
    pub(super) masked: Zeroizing<Vec<bool>>,
}

/// The source of a run's triples.
pub(super) struct Lots<'f> {
    pub(super) epoch: Epoch,
    /// Boxed, so that a moved value leaves no copy behind.
    pub(super) rng: Box<Prg>,
    /// The stock, or `None` if triples are made in the run.
    stock: Option<StockedTriples<'f>>,
    /// The number of gates that have no triple yet.
    left: u64,
}

impl<'f> RunState<'f> {
    /// Starts a run with the inputs, the loaded values and the first lot.
    async fn begin(
        io: &mut Io<'_>,
        terms: Terms<'f>,
        (inputs, loads): (&[bool], &[SharedHalf]),
        (epoch, stock): (Epoch, Option<StockedTriples<'f>>),
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        let (function, role) = (terms.function, epoch.role());
        check(function)?;
        let [own, others] = [role, role.other()].map(|role| function.input_bits(role));
        if inputs.len() != own {
            return Err(Error::ApiMisuse(
                "as many input bits as the party's ports have",
            ));
        }
        let loads = shares_of(&terms, &epoch, loads)?;
        let mut lots = Lots {
            epoch,
            rng: Box::new(Prg::from_seed(seed)),
            stock,
            left: function.and_gates(),
        };
        let counts = InputCounts { own, others };
        let MadeLot {
            triples,
            inputs: bits,
        } = lots.next(io, &terms, counts).await?;
        Ok(Self {
            masks: terms.masks(&lots.epoch, &bits, &loads)?,
            masked: mask_inputs(inputs, &bits.macs),
            number: lots.epoch.next_run(),
            first: Some(triples),
            terms,
            lots,
        })
    }

    async fn prove(self, io: &mut Io<'_>) -> Result<Proven<'f>, Error> {
        match self.lots.epoch.role() {
            Role::Garbler => boxed(|| garbler::prove(io, self)).await,
            Role::Evaluator => boxed(|| evaluator::prove(io, self)).await,
        }
    }

    /// Returns the next gates with their masks, as many as a lot has triples for.
    pub(super) async fn next_gates(&mut self, io: &mut Io<'_>) -> Result<ClosedGates, Error> {
        let triples = match self.first.take() {
            Some(first) => first,
            None => {
                let none = InputCounts::default();
                self.lots.next(io, &self.terms, none).await?.triples
            }
        };
        let mut gates = ClosedGates::new(triples, &mut self.lots.epoch.buffers);
        while !gates.fill(&mut self.masks) {
            io.breathe().await?;
        }
        self.lots.left -= gates.count() as u64;
        // The stock takes back the rest of a lot.
        if let Some(stock) = &mut self.lots.stock {
            stock.give_back(gates.rest());
        }
        let total_ands = self.terms.function.and_gates();
        io.progressed(Progress {
            done_ands: total_ands - self.lots.left,
            total_ands,
        });
        Ok(gates)
    }

    /// Whether all gates have their masks.
    pub(super) fn has_ended(&self) -> bool {
        self.masks.has_ended()
    }

    /// Returns the run's number in the epoch.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the run after the other party has proven its gates. `masked` are the masked values
    /// of its results.
    pub(super) fn proven(self, masked: Results<'f, bool>) -> Proven<'f> {
        Proven {
            terms: self.terms,
            epoch: self.lots.epoch,
            number: self.number,
            masks: self.masks.outputs(),
            masked,
            outputs: Zeroizing::default(),
        }
    }
}

impl<'f> Lots<'f> {
    /// Returns the next lot, with bits for inputs.
    async fn next(
        &mut self,
        io: &mut Io<'_>,
        terms: &Terms<'f>,
        inputs: InputCounts,
    ) -> Result<MadeLot, Error> {
        if let Some(stock) = &mut self.stock {
            return stock.take(&mut self.epoch, self.left, inputs);
        }
        let size = next_lot(self.left, terms.security);
        boxed(|| make(io, &mut self.epoch, &mut self.rng, size, inputs)).await
    }
}

/// A run whose gates are right. It may keep the values that it saves, and then open its results.
pub struct Proven<'f> {
    terms: Terms<'f>,
    epoch: Epoch,
    number: u64,
    masks: Results<'f, Share>,
    masked: Results<'f, bool>,
    /// The evaluator's results, if they were opened with the proof.
    pub(super) outputs: Zeroizing<Vec<bool>>,
}

impl Proven<'_> {
    /// Returns the values that the run saves, in the function's order. [Open](Self::open) the
    /// results only after both parties have kept these values.
    ///
    /// # Errors
    ///
    /// The run is not one of a chain.
    pub fn saves(&self) -> Result<Vec<SharedHalf>, Error> {
        let masked = self.masked.saved().iter();
        let masked = masked.map(|masked| Choice::from(u8::from(*masked)));
        saved(&self.terms, &self.epoch, self.masks.saved(), masked)
    }

    /// Returns this party's output bits in port order, and the epoch for the next run.
    ///
    /// # Errors
    ///
    /// The other party cheats, or the wire fails.
    pub async fn open(mut self, io: &mut Io<'_>) -> Result<(Zeroizing<Vec<bool>>, Epoch), Error> {
        let function = self.terms.function;
        // If the run saves nothing, the evaluator's results were opened with the proof.
        let evaluators = match function.saves() {
            [] => None,
            _ => messages::result_opening(function, Role::Evaluator),
        };
        let garblers = messages::result_opening(function, Role::Garbler);
        for (to, opening) in [(Role::Evaluator, evaluators), (Role::Garbler, garblers)] {
            let Some(opening) = opening else { continue };
            if to == self.epoch.role() {
                let payload = io.receive(opening).await?;
                self.outputs = self.results(opening.kind, payload)?;
            } else {
                io.message().clear();
                self.open_results(io.message());
                io.send(opening)?;
            }
        }
        Ok((self.outputs, self.epoch))
    }

    fn oracle(&self, from: Role) -> Oracle {
        let domain = Domain::ResultMacs;
        self.terms
            .oracle(&self.epoch, domain, Some(from), self.number)
    }

    /// Appends the opening of the other party's results.
    pub(super) fn open_results(&self, message: &mut Vec<u8>) {
        let role = self.epoch.role();
        open_results(self.oracle(role), &self.masks.of(role.other()), message);
    }

    /// Returns this party's results, from their opening.
    pub(super) fn results(
        &self,
        kind: Kind,
        opening: &[u8],
    ) -> Result<Zeroizing<Vec<bool>>, Error> {
        let role = self.epoch.role();
        let (macs, masks) = (self.oracle(role.other()), self.masks.of(role));
        let masked = self.masked.of(role);
        let delta = *self.epoch.delta();
        results(macs, delta, &masks, masked.iter().copied(), (kind, opening))
    }
}
