//! The owners of a circuit's inputs and the recipients of its results: as given, or by default.

use std::collections::BTreeMap;

use tacit::circuit::Port;
use tacit::{Function, Recipient, Role, library};

use crate::args::{FunctionArgs, role};
use crate::failure::{Failure, usage};
use crate::function::{FoundCircuit, Origin};

impl FoundCircuit {
    /// Returns the circuit as a function, with the owners and recipients of the arguments and, for
    /// the library, the defaults.
    pub(crate) fn function(self, choice: &FunctionArgs) -> Result<Function, Failure> {
        let circuit = self.component.circuit();
        let owners = said(
            &choice.owners,
            "--owner",
            circuit.inputs(),
            "input",
            |word| role(word).ok(),
        )?;
        let recipients = said(
            &choice.results,
            "--result",
            circuit.outputs(),
            "result",
            recipient,
        )?;
        if self.origin == Origin::File {
            self.complete(&owners, &recipients)?;
        }
        let usual = library::usual_owner(circuit);
        let owner = |port: &Port| {
            let owner = owners.get(port.name.as_str());
            owner.copied().unwrap_or_else(|| usual(port))
        };
        let gets = |port: &Port| {
            let recipient = recipients.get(port.name.as_str());
            recipient.copied().unwrap_or(Recipient::Both)
        };
        let function = Function::of_component(self.component.clone(), owner, gets);
        let function = function.map_err(tacit::Error::from)?;
        Ok(function.with_parameters(self.parameters))
    }

    /// Checks that the arguments describe all ports of a circuit file.
    fn complete(
        &self,
        owners: &BTreeMap<&str, Role>,
        recipients: &BTreeMap<&str, Recipient>,
    ) -> Result<(), Failure> {
        let circuit = self.component.circuit();
        let (inputs, outputs) = (circuit.inputs(), circuit.outputs());
        let missing = |known: &dyn Fn(&str) -> bool, ports: &[Port]| -> Vec<String> {
            ports
                .iter()
                .map(|port| port.name.clone())
                .filter(|name| !known(name))
                .collect()
        };
        let ownerless = missing(&|name| owners.contains_key(name), inputs);
        let unclaimed = missing(&|name| recipients.contains_key(name), outputs);
        if ownerless.is_empty() && unclaimed.is_empty() {
            return Ok(());
        }
        let mut example = Vec::new();
        for (i, port) in inputs.iter().enumerate() {
            let role = if i == 0 { "garbler" } else { "evaluator" };
            example.push(format!("--owner {}={role}", port.name));
        }
        example.extend(
            outputs
                .iter()
                .map(|port| format!("--result {}=both", port.name)),
        );
        let mut lacking = Vec::new();
        if !ownerless.is_empty() {
            lacking.push(format!("whose {} is", ownerless.join(", ")));
        }
        if !unclaimed.is_empty() {
            lacking.push(format!("who gets {}", unclaimed.join(", ")));
        }
        Err(usage!(
            "the circuit file {} does not say {}", self.component.name(), lacking.join(" nor ");
            "say it, for example with {}", example.join(" ")
        ))
    }
}

/// Reads the arguments `name=word` for the ports and checks them; `parse` reads the words.
fn said<'a, T>(
    pairs: &'a [(String, String)],
    flag: &str,
    ports: &[Port],
    kind: &str,
    parse: fn(&str) -> Option<T>,
) -> Result<BTreeMap<&'a str, T>, Failure> {
    let mut said = BTreeMap::new();
    for (name, word) in pairs {
        if !ports.iter().any(|port| port.name == *name) {
            let known: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
            return Err(usage!(
                "{flag} {name}: there is no {kind} of that name";
                "there are {}", known.join(", ")
            ));
        }
        let words = if kind == "result" {
            "garbler, evaluator or both"
        } else {
            "garbler or evaluator"
        };
        let value = parse(word)
            .ok_or_else(|| usage!("{flag} {name}={word} says nothing"; "write {words}"))?;
        if said.insert(name.as_str(), value).is_some() {
            return Err(usage!("{flag} {name} is given twice"; "give it once"));
        }
    }
    Ok(said)
}

fn recipient(word: &str) -> Option<Recipient> {
    let all = [Recipient::Garbler, Recipient::Evaluator, Recipient::Both];
    all.into_iter().find(|recipient| recipient.name() == word)
}
