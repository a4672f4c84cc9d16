//! The output at the end of a session's runs: the results of the last run that was finished, its
//! name, and the costs of all.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use tacit::cost::{Cost, FromStock};
use tacit::protocols::Protocol;
use tacit::session::RunId;
use tacit::{Outcome, Session, Value};

use super::TwoPartyRun;
use super::chained::KeptVersions;
use crate::failure::Failure;
use crate::program::plain_failure;
use crate::report::{Setting, costs_text, ended_early, json_with};
use crate::typed::left_out_json;
use crate::{output, shell};

/// The runs of a session that were finished. All but the costs are of the last of them.
#[derive(Default)]
pub(super) struct FinishedRuns {
    costs: Vec<Cost>,
    outputs: BTreeMap<String, Value>,
    chain: Option<KeptVersions>,
    id: Option<RunId>,
}

impl FinishedRuns {
    /// Adds the run that `session` has just finished.
    pub(super) fn add(&mut self, outcome: Outcome, session: &Session) {
        self.costs.push(outcome.cost);
        self.outputs = outcome.outputs;
        self.chain = KeptVersions::of(outcome.chain, session.chain_attempt());
        self.id = session.run_id();
    }
}

impl TwoPartyRun<'_> {
    /// Prints the results and, if wanted, the costs. If a `failure` ended the runs, returns it, and
    /// what was done before it is printed all the same.
    pub(super) fn tell(
        &self,
        setting: &Setting<'_>,
        done: &FinishedRuns,
        failure: Option<Failure>,
    ) -> Result<(), Failure> {
        let failure = ended_early(failure, done.costs.len(), &self.args.runs)?;
        let unwritten = self.write_files(&done.outputs)?;
        let failure = match (failure, unwritten) {
            (Some(failure), Some(unwritten)) => {
                eprintln!("{unwritten}");
                Some(failure)
            }
            (failure, unwritten) => failure.or(unwritten),
        };
        if self.args.runs.json {
            return json_with(failure, self.json(setting, done)?);
        }
        let printed = self.tell_text(done);
        failure.map_or(printed, Err)
    }

    /// Returns the results as JSON.
    fn json(&self, setting: &Setting<'_>, done: &FinishedRuns) -> Result<Json, Failure> {
        let told = self.args.runs.cost.then_some(&done.costs[..]);
        let mut json = setting.json(self.runnable.outputs_json(&done.outputs)?, told);
        json["runs_done"] = done.costs.len().into();
        json["run"] = done.id.map(|id| id.to_string()).into();
        if let Some(join) = &self.join {
            json["sizes"] = json!(join.sizes);
            json["left_out"] = left_out_json(join.left_out);
            json["shard"] = json!(join.plan.part.map(|part| part.to_string()));
        }
        if let Some(name) = &self.args.chain.chain {
            json["chain"] = name.as_str().into();
            json["chain_version"] = done.chain.map(|chain| chain.now.to_string()).into();
            json["chain_from"] = done.chain.and_then(|chain| chain.from).into();
        }
        Ok(json)
    }

    /// Prints the results for a person.
    fn tell_text(&self, done: &FinishedRuns) -> Result<(), Failure> {
        let (runnable, outputs) = (self.runnable, &done.outputs);
        if runnable.function().outputs().is_empty() {
            eprintln!("done; this run has no results");
        } else if outputs.is_empty() {
            let other = self.role.other();
            let peer = match runnable.typed().map(|typed| typed.signature()) {
                None => format!("the {}", other.name()),
                Some(signature) => signature.party_name(signature.party_of(other)).to_owned(),
            };
            eprintln!("done; the results go to {peer}");
        }
        if let (Some(name), Some(chain)) = (&self.args.chain.chain, done.chain) {
            eprintln!("chain     {name} at {chain}");
            eprintln!("pin       {}, for --pin in a later run", chain.now);
        }
        if let Some(id) = done.id {
            eprintln!("run       {id}");
        }
        self.tell_from_stock(&done.costs);
        output::print(runnable.outputs_text(outputs)?)?;
        if self.args.runs.cost {
            eprint!("{}", costs_text(&done.costs));
        }
        Ok(())
    }

    /// Writes the files for results. Returns the failure if one of them cannot be written; its
    /// table is then on standard output, as text here and in the JSON of the results.
    fn write_files(&self, outputs: &BTreeMap<String, Value>) -> Result<Option<Failure>, Failure> {
        let Some(typed) = self.runnable.typed() else {
            return Ok(None);
        };
        let results = typed.results(outputs).map_err(plain_failure)?;
        let written = self.files.write(typed.signature(), &results, |text| {
            if !self.args.runs.json {
                // If standard output fails too, the results below fail as well.
                let _ = output::print(text);
            }
        });
        let failure = written.err();
        Ok(failure.map(|failure| failure.and(", so its table is on standard output")))
    }

    /// Prints what runs by `authenticated` or `gmw` took from the stock.
    fn tell_from_stock(&self, costs: &[Cost]) {
        if self.protocol == Protocol::Gmw {
            let taken = costs.iter().filter(|cost| cost.from_stock.is_some());
            match (taken.count(), costs.len()) {
                (0, _) => {}
                (taken, runs) if taken == runs => eprintln!("crosses   from stock"),
                (taken, runs) => eprintln!("crosses   from stock in {taken} of {runs} runs"),
            }
        }
        if self.protocol != Protocol::Authenticated || self.stocks.is_none() || costs.is_empty() {
            return;
        }
        if self.args.chain.chain.is_some() {
            eprintln!("triples   made in the run, under the Δ of the chain");
            return;
        }
        let runs = costs.len();
        let mut made = runs;
        for (what, label) in [
            (FromStock::Instances, "instances"),
            (FromStock::Triples, "triples  "),
        ] {
            let taken = costs.iter().filter(|cost| cost.from_stock == Some(what));
            let taken = taken.count();
            made -= taken;
            match taken {
                0 => {}
                taken if taken == runs => eprintln!("{label} from stock"),
                taken => eprintln!("{label} from stock in {taken} of {runs} runs"),
            }
        }
        match made {
            0 => {}
            made if made == runs => {
                let mut command = self.prepare(Protocol::Authenticated, "N");
                command.extend(shell::meeting(self.args));
                let (command, scheme) = (shell::line(&command), self.scheme.id);
                eprintln!(
                    "triples   made in the run: the parties have none, or too few of one order, \
                     in stock under {scheme}. That is normal; here `{command}`, and the same at \
                     the other party, prepares some for later runs"
                );
            }
            made => eprintln!("triples   made in {made} of {runs} runs"),
        }
    }
}
