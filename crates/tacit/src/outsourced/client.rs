//! The evaluator's run: the thin client, which needs no circuit, no thread and no disk. Its
//! function's components are not compiled.

use rand_core::{Rng, UnwrapErr};
use tacit_circuit::Role;
use tacit_protocol::outsourced::{Evaluator, Peer, Shape, Terms};
use zeroize::Zeroizing;

use super::OutsourcedJob;
use super::kept::hear_kept;
use super::links::{chosen_ots, guarded};
use crate::cost::Phase;
use crate::{Error, Outcome, Session};

impl OutsourcedJob<'_> {
    /// Runs as the evaluator.
    ///
    /// # Errors
    ///
    /// What is wrong with the inputs, or whatever ends the run; both sessions are then spent.
    pub fn evaluate(
        mut self,
        generator: &mut Session,
        cloud: &mut Session,
    ) -> Result<Outcome, Error> {
        let inputs = self.input_bits(Role::Evaluator)?;
        let terms = Terms {
            function: self.function.digest(),
            scheme: self.scheme,
            parameters: self.parameters,
        };
        let links = ((Peer::Generator, generator), (Peer::Cloud, cloud));
        let mut refusal = None;
        let ran = guarded(links.0, links.1, |links| {
            let before = links.bound(self.patience, self.time_limit);
            let clock = links.clock();
            let [tag, _] = links.agree(&self, [Role::Evaluator; 2])?;
            let agreement = links.since(&clock, Phase::Agreement);
            let clock = links.clock();
            let ots = chosen_ots(links.to(Peer::Generator)?, tag, self.client_ots()?)?;
            let setup = links.since(&clock, Phase::Setup);
            let clock = links.clock();
            let mut seed = Zeroizing::new([0; 32]);
            UnwrapErr(getrandom::SysRng).fill_bytes(&mut *seed);
            let shape = Shape::of(self.function);
            let mut party = Evaluator::new(terms, shape, &inputs, ots, &seed)?;
            let ran = links.drive(&mut party, &mut self.watch, &mut |_, _| Ok(()));
            refusal = party.refusal();
            ran?;
            let bits = party.finish()?.outputs;
            if !self.function.saves().is_empty() {
                // The cloud gives out results when both have kept what is saved; the generator's
                // word is for the case that it is the cloud who lies.
                hear_kept(links)?;
            }
            let run = links.since(&clock, Phase::Run);
            links.unbound(before);
            Ok((bits, vec![agreement, setup, run]))
        });
        // Said here, when both peers have been told how the run ended, and not why.
        let (bits, phases) = ran.map_err(|error| refusal.map_or(error, Error::from))?;
        let outputs = self.as_role(Role::Evaluator).outputs(&bits)?;
        self.outcome(outputs, phases, 0)
    }
}
