//! The evaluator's run. The evaluator is a thin client: it needs no circuit, no thread and no disk,
//! and does not compile the function's components.

use tacit_function::Role;
use tacit_protocol::outsourced::{Evaluator, EvaluatorBits, Peer, Terms, Verdict};

use super::kept::hear_kept;
use super::links::guarded;
use super::{ClientStage, OutsourcedJob};
use crate::cost::Phase;
use crate::driver::seed;
use crate::{Error, Outcome, Session};

impl OutsourcedJob<'_> {
    /// Runs as the evaluator.
    ///
    /// # Errors
    ///
    /// A problem with the inputs, or any error that ends the run. Both sessions are then spent.
    pub fn evaluate(
        mut self,
        generator: &mut Session,
        cloud: &mut Session,
    ) -> Result<Outcome, Error> {
        let inputs = self.input_bits(Role::Evaluator)?;
        let terms = Terms {
            function: self.task.function.digest(),
            scheme: self.scheme_id(),
            parameters: self.task.parameters,
        };
        let links = ((Peer::Generator, generator), (Peer::Cloud, cloud));
        // The error of keys that do not agree, if this party's user may know it. It is reported
        // only after both peers have been told that the run ended, but not why.
        let mut refusal = None;
        let ran = guarded(links.0, links.1, |links| {
            let before = links.bound(self.task.patience, self.time_limit);
            links.work_on(self.threads);
            let clock = links.clock();
            let [tag, _] = links.agree(&mut self, [Role::Evaluator; 2])?;
            (self.task.on_stage)(ClientStage::Runs);
            let agreement = links.since(&clock, Phase::Agreement);
            let clock = links.clock();
            let count = self.client_ots()?;
            let ots = links.with(Peer::Generator, |link| link.chosen_ots(&tag, count))?;
            let setup = links.since(&clock, Phase::Setup);
            let clock = links.clock();
            let seed = seed();
            let counts = EvaluatorBits::of(self.task.function);
            let mut party = Evaluator::new(terms, counts, &inputs, ots, &seed)?;
            if let Some(pin) = self.task.pin {
                party = party.pinned(pin);
            }
            let mut verdict = Verdict::default();
            let ran = links.run(&mut self.watch, async |io| {
                party.evaluate(io, &mut verdict).await
            });
            refusal = ran.as_ref().err().and_then(|error| {
                let (from, error) = error.party().zip(error.of_protocol())?;
                verdict.refusal(from, error)
            });
            let done = ran?;
            let saves = !self.task.function.saves().is_empty();
            let chain = if saves { done.saved } else { done.loaded };
            if saves {
                // The cloud gives out results once both servers have kept what is saved. The
                // generator's word covers a cloud that lies.
                hear_kept(links)?;
            }
            let run = links.since(&clock, Phase::Run);
            links.unbound(before);
            let phases = vec![agreement, setup, run];
            Ok((done.outputs, phases, chain))
        });
        let (bits, phases, chain) = ran.map_err(|error| refusal.map_or(error, Error::from))?;
        let outputs = self.outputs(Role::Evaluator, &bits)?;
        let keeps = self.task.function.has_saved_values();
        let outcome = self.outcome(outputs, phases, 0)?;
        Ok(Outcome {
            chain: keeps.then_some(chain),
            ..outcome
        })
    }
}
