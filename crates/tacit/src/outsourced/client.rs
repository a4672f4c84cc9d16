//! The evaluator's run: the thin client, which needs no circuit, no thread and no disk.

use rand_core::{Rng, UnwrapErr};
use tacit_circuit::Role;
use tacit_protocol::outsourced::{Evaluator, Peer, Shape, Terms};
use zeroize::Zeroizing;

use super::OutsourcedJob;
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
        let (bits, phases) = guarded(links.0, links.1, |links| {
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
            links.drive(&mut party, &mut self.watch)?;
            let bits = party.finish()?.outputs;
            let run = links.since(&clock, Phase::Run);
            links.unbound(before);
            Ok((bits, vec![agreement, setup, run]))
        })?;
        let outputs = self.as_role(Role::Evaluator).outputs(&bits)?;
        self.outcome(outputs, phases)
    }
}
