//! The output of `tacit inspect` about a function.

use std::fmt::Write as _;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tacit::circuit::{Component, Digest, Port};
use tacit::garble::{AndCounts, ProgramCost, SCHEMES, SchemeInfo};
use tacit::{Function, Role};
use tacit_language::lower::ChainedLoop;
use tacit_language::{JoinPlan, TypedFunction};

use super::join;
use super::shown::{
    NamedPort, component_json, component_text, ports_json, ports_text, shown_seconds,
};
use crate::args::InspectArgs;
use crate::failure::{Failure, usage};
use crate::function::{FoundFunction, Origin};
use crate::typed::{self, CheckedProgram};

/// The time for which each side of each scheme is measured, over all components.
const PATIENCE: Duration = Duration::from_millis(6);

/// The subject of the inspection: components and, if owners and recipients are known, a function.
pub(super) struct Subject {
    name: String,
    origin: Origin,
    pub(super) components: Vec<Component>,
    function: Option<Function>,
    /// The digest that parties compare before they tell the sizes of tables, if some are open.
    open_meaning: Option<Digest>,
    typed: Option<Box<TypedFunction>>,
    /// The layers of AND gates, if the form is the shallow one and no values are kept.
    layers: Option<u32>,
    /// The loops whose iterations wait for each other, if it is a program in the shallow form.
    chains: Vec<Chain>,
}

/// A loop whose iterations wait for each other.
struct Chain {
    place: String,
    turns: u64,
    layers: u32,
    variables: Vec<String>,
}

impl Chain {
    fn new(program: &CheckedProgram, of: &ChainedLoop) -> Self {
        let names = of.variables.iter().map(ToString::to_string);
        Self {
            place: program.place(of.span),
            turns: of.turns,
            layers: of.layers,
            variables: names.filter(|name| !name.is_empty()).collect(),
        }
    }

    fn json(&self) -> Json {
        json!({
            "place": self.place,
            "turns": self.turns,
            "layers": self.layers,
            "variables": self.variables,
        })
    }
}

/// The number of chains that a person is told of.
const MAX_CHAINS: usize = 10;

impl Subject {
    pub(super) fn new(found: FoundFunction, args: &InspectArgs) -> Result<Self, Failure> {
        let said = !args.choice.owners.is_empty() || !args.choice.results.is_empty();
        let (mut typed, mut open_meaning, mut chains) = (None, None, Vec::new());
        if let (FoundFunction::Circuit(found), false) = (&found, args.ir) {
            // Meanwhile, another thread digests the circuit and counts its gates.
            let component = found.component.clone();
            thread::spawn(move || {
                let _compiled = component.program();
            });
        }
        let (origin, function) = match found {
            FoundFunction::Program(program) => {
                if !program.signature().open_params().is_empty() {
                    open_meaning = Some(program.open_meaning()?);
                }
                let compiled = if args.is_over_shares() {
                    let (compiled, costs) = program.compile_with_costs()?;
                    let named = costs.chains.iter();
                    chains = named.map(|one| Chain::new(&program, one)).collect();
                    compiled
                } else {
                    program.compile(false)?
                };
                let function = compiled.function().clone();
                typed = Some(Box::new(compiled));
                (Origin::File, function)
            }
            FoundFunction::Circuit(found) if found.origin == Origin::File && !said => {
                return Ok(Self {
                    name: found.component.name().to_owned(),
                    origin: found.origin,
                    components: vec![found.component],
                    function: None,
                    open_meaning,
                    typed: None,
                    layers: None,
                    chains,
                });
            }
            FoundFunction::Circuit(found) => (found.origin, found.function(&args.choice)?),
            FoundFunction::Function(function) => (Origin::Library, *function),
        };
        let (name, components) = (function.name().to_owned(), function.components().to_vec());
        let joins = typed.as_ref().is_some_and(|typed| typed.join().is_some());
        let is_over_shares = args.is_over_shares() || joins;
        let schedule = is_over_shares.then(|| function.schedule().ok()).flatten();
        Ok(Self {
            name,
            origin,
            components,
            function: Some(function),
            open_meaning,
            typed,
            layers: schedule.map(|schedule| schedule.step_count()),
            chains,
        })
    }

    /// Returns the function. A circuit without owners and recipients has none.
    pub(super) fn function_to_show(&self) -> Result<&Function, Failure> {
        self.function.as_ref().ok_or_else(|| {
            usage!(
                "--ir shows functions, and {} is a circuit that does not say whose its inputs are",
                self.name;
                "give --owner and --result"
            )
        })
    }

    /// Returns the component, if it is the only one and is called once.
    fn plain(&self) -> Option<&Component> {
        match (self.components.as_slice(), &self.function) {
            ([component], None) => Some(component),
            ([component], Some(function)) if function.call_count() == 1 => Some(component),
            _ => None,
        }
    }

    fn inputs(&self) -> Vec<NamedPort<'_>> {
        let Some(function) = &self.function else {
            return self.unowned(|one| one.circuit().inputs());
        };
        let inputs = function.inputs().iter();
        let inputs = inputs.map(|input| (&input.port, Some(input.owner.name())));
        inputs.chain(saved(function.loads())).collect()
    }

    fn outputs(&self) -> Vec<NamedPort<'_>> {
        let Some(function) = &self.function else {
            return self.unowned(|one| one.circuit().outputs());
        };
        let outputs = function.outputs().iter();
        let outputs = outputs.map(|output| (&output.port, Some(output.recipient.name())));
        outputs.chain(saved(function.saves())).collect()
    }

    /// Returns ports of a circuit that does not name their parties.
    fn unowned(&self, ports: fn(&Component) -> &[Port]) -> Vec<NamedPort<'_>> {
        let ports = self.components.iter().flat_map(ports);
        ports.map(|port| (port, None)).collect()
    }

    /// Returns the AND and XOR gates of all calls, as compiled.
    fn gates(&self) -> (u64, u64) {
        if let Some(function) = &self.function {
            return (function.and_gates(), function.xor_gates());
        }
        let programs = self.components.iter().map(Component::program);
        programs.fold((0, 0), |(ands, xors), program| {
            let (more_ands, more_xors) = (program.ands().len(), program.xors().len());
            (ands + more_ands as u64, xors + more_xors as u64)
        })
    }

    /// Returns the join of a program that joins two tables.
    fn join(&self) -> Option<(&TypedFunction, &JoinPlan)> {
        let typed = self.typed.as_deref()?;
        Some((typed, typed.join()?))
    }

    /// Returns the number of calls of component number `i`.
    fn calls(&self, i: usize) -> u32 {
        let function = self.function.as_ref();
        function.map_or(1, |function| function.component_calls()[i])
    }

    /// Counts the AND gates of all calls by batches.
    fn shape(&self) -> AndCounts {
        let programs = self.components.iter().enumerate();
        let programs =
            programs.map(|(i, component)| (component.program(), u64::from(self.calls(i))));
        AndCounts::of(&programs.collect::<Vec<_>>())
    }

    /// Returns the cost of all calls under a scheme.
    fn cost(&self, scheme: &SchemeInfo) -> ProgramCost {
        let costs = self.components.iter().enumerate().map(|(i, component)| {
            scheme.program_cost(component.program()) * u64::from(self.calls(i))
        });
        costs.sum()
    }

    /// Returns the cost of all calls under each scheme of the ladder.
    fn costs(&self) -> Vec<ProgramCost> {
        thread::scope(|scope| {
            let costs = SCHEMES
                .each_ref()
                .map(|scheme| scope.spawn(|| self.cost(scheme)));
            let costs = costs.into_iter().map(ScopedJoinHandle::join);
            costs.map(|cost| cost.expect("costs add up")).collect()
        })
    }

    /// Measures all calls on this machine under a scheme. Returns the seconds of the garbler and of
    /// the evaluator.
    fn seconds(&self, scheme: &SchemeInfo) -> [f64; 2] {
        let patience = PATIENCE / self.components.len().max(1) as u32;
        let mut seconds = [0.0; 2];
        for (i, component) in self.components.iter().enumerate() {
            let calls = f64::from(self.calls(i));
            let time = tacit::cost::TimeEstimate::measure(scheme.id, component.program(), patience);
            let time = time.expect("it is one of SCHEMES");
            seconds[0] += calls * time.garbler.as_secs_f64();
            seconds[1] += calls * time.evaluator.as_secs_f64();
        }
        seconds
    }

    fn origin(&self) -> &'static str {
        match self.origin {
            Origin::Library => "library",
            Origin::File => "file",
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{} (from the {})\n", self.name, self.origin());
        if let Some(function) = &self.function {
            let _ = writeln!(
                text,
                "  function  {}  what both parties agree on",
                function.digest()
            );
        }
        if let Some(meaning) = &self.open_meaning {
            let _ = writeln!(
                text,
                "  open      {meaning}  the same with the sizes of the tables open, which a run \
                 compares first"
            );
        }
        if let Some(component) = self.plain() {
            let _ = writeln!(text, "  circuit   {}", component.digest());
        }
        match &self.typed {
            Some(typed) => text += &typed::signature_text(typed),
            None => {
                let (inputs, results) = (self.inputs(), self.outputs());
                let owner = "name the owner with --owner";
                ports_text(&mut text, "inputs", owner, &inputs);
                let recipient = "name the recipient with --result";
                ports_text(&mut text, "results", recipient, &results);
            }
        }
        for (i, component) in self.components.iter().enumerate() {
            let calls = match self.plain() {
                Some(_) => None,
                None => Some(self.calls(i)),
            };
            component_text(&mut text, component, calls);
        }
        let (ands, xors) = self.gates();
        match &self.function {
            Some(function) if self.plain().is_none() => {
                let calls = function.call_count();
                let _ = writeln!(
                    text,
                    "{calls} calls, together {ands} AND, {xors} XOR as compiled"
                );
            }
            _ => {}
        }
        if let Some(layers) = self.layers {
            let _ = writeln!(text, "{ands} AND gates in {layers} layers over shares");
        }
        self.chains_text(&mut text);
        if let Some((typed, plan)) = self.join() {
            return text + &join::text(typed, plan);
        }
        if self
            .function
            .as_ref()
            .is_some_and(Function::has_saved_values)
        {
            let _ = writeln!(
                text,
                "saved values pass from run to run and are revealed to nobody; prepared, \
                 authenticated and outsourced keep them"
            );
        }
        self.transfers_text(&mut text);
        self.schemes_text(&mut text);
        text
    }

    /// Writes the costs of a run other than gates.
    fn transfers_text(&self, text: &mut String) {
        if let Some(function) = &self.function {
            let _ = writeln!(
                text,
                "oblivious transfers\n  {}, one for each input bit of the evaluator",
                function.input_bits(Role::Evaluator)
            );
            if let Some(count) = triples(function) {
                let _ = writeln!(
                    text,
                    "triples\n  {count} for a run by authenticated from stock"
                );
            }
        }
    }

    /// Writes the loops whose iterations wait for each other.
    fn chains_text(&self, text: &mut String) {
        if !self.chains.is_empty() {
            let _ = writeln!(text, "loops whose turns wait for each other");
        }
        for chain in self.chains.iter().take(MAX_CHAINS) {
            let (place, turns, layers) = (&chain.place, chain.turns, chain.layers);
            let names = chain.variables.join(", ");
            let _ = writeln!(
                text,
                "  {place}: {turns} turns, {layers} layers at most, by {names}"
            );
        }
        if let Some(more) = self.chains.len().checked_sub(MAX_CHAINS + 1) {
            let _ = writeln!(text, "  and {} more; --json has all", more + 1);
        }
    }

    fn schemes_text(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "schemes\n  {:<20} {:>14}  {:>23}  {:>20}\n  {:<20} {:>14}  {:>11} {:>11}  {:>10} \
             {:>9}  rests on",
            "",
            "tables,",
            "cipher calls",
            "time here",
            "",
            "bytes",
            "garbler",
            "evaluator",
            "garbler",
            "evaluator"
        );
        for (scheme, cost) in SCHEMES.iter().zip(self.costs()) {
            let [garbler, evaluator] = self.seconds(scheme).map(shown_seconds);
            let _ = writeln!(
                text,
                "  {:<20} {:>14}  {:>11} {:>11}  {garbler:>10} {evaluator:>9}  {}, {} bits",
                scheme.id.to_string(),
                cost.table_bytes,
                cost.garbler_calls,
                cost.evaluator_calls,
                scheme.assumption,
                scheme.security_bits
            );
        }
        text.push_str("  times are of one core of this machine, without network and OTs\n");
        let shape = self.shape();
        let _ = writeln!(
            text,
            "  a run takes {} unless told otherwise: of the AND gates {} wait for the one before, \
             and {} do not",
            shape.half_gates(),
            shape.lone_ands,
            shape.other_ands
        );
    }

    pub(super) fn json(&self) -> Json {
        let scheme = |(scheme, cost): (&SchemeInfo, ProgramCost)| {
            let [garbler_seconds, evaluator_seconds] = self.seconds(scheme);
            json!({
                "name": scheme.id.to_string(),
                "assumption": scheme.assumption.to_string(),
                "security_bits": scheme.security_bits,
                "security": scheme.security,
                "bits_per_and": scheme.cost.and.bits,
                "bits_per_xor": scheme.cost.xor.bits,
                "table_bytes": cost.table_bytes,
                "garbler_calls": cost.garbler_calls,
                "garbler_key_schedules": cost.garbler_key_schedules,
                "evaluator_calls": cost.evaluator_calls,
                "evaluator_key_schedules": cost.evaluator_key_schedules,
                "garbler_seconds": garbler_seconds,
                "evaluator_seconds": evaluator_seconds,
            })
        };
        let ((ands, xors), shape) = (self.gates(), self.shape());
        let components = self.components.iter().enumerate();
        let components = components.map(|(i, one)| component_json(one, self.calls(i)));
        json!({
            "name": self.name,
            "origin": self.origin(),
            "program": self.typed.as_deref().map(typed::signature_json),
            "function_digest": self.function.as_ref().map(|f| f.digest().to_string()),
            "open_meaning": self.open_meaning.map(|meaning| meaning.to_string()),
            "inputs": ports_json("owner", &self.inputs()),
            "results": ports_json("recipient", &self.outputs()),
            "components": components.collect::<Vec<_>>(),
            "calls": self.function.as_ref().map_or(1, Function::call_count),
            "compiled": { "and": ands, "xor": xors },
            "layers": self.layers,
            "join": self.join().map(|(typed, plan)| join::json(typed, plan)),
            "chains": self.chains.iter().map(Chain::json).collect::<Vec<_>>(),
            "oblivious_transfers":
                self.function.as_ref().map(|f| f.input_bits(Role::Evaluator)),
            "triples": self.function.as_ref().and_then(triples),
            "schemes": SCHEMES.iter().zip(self.costs()).map(scheme).collect::<Vec<_>>(),
            "shape": {
                "lone_ands": shape.lone_ands,
                "other_ands": shape.other_ands,
                "default_scheme": shape.half_gates().to_string(),
            },
        })
    }
}

/// Returns the triples that a run of `function` by `authenticated` takes from the stock, if that
/// protocol can run it.
fn triples(function: &Function) -> Option<u64> {
    let order = tacit::stock::LotPreparation::triples_for_runs(Role::Garbler, function, 1);
    order.ok().map(|order| order.and_gates())
}

/// Returns ports whose values are kept between runs.
fn saved(ports: &[Port]) -> impl Iterator<Item = NamedPort<'_>> {
    ports.iter().map(|port| (port, Some("saved")))
}
