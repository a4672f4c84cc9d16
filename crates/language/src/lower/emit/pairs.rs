//! The pairs of a join: the inputs that the stage makes, the test and mask of each bin, and the
//! loops of calls over pairs. Pairs and the results of turns are held in separate values.

use tacit_circuit::builder::{Bit, Builder, Bus, CircuitForm};
use tacit_circuit::{Circuit, CircuitError, Component};
use tacit_function::Part;
use tacit_function::join::{JoinPlan, JoinTable, KeyPart, ResultByPair, RowField, Sizes};

use super::super::pairs::PairLoop;
use super::super::pieces::Piece;
use super::super::trace::{Call, Called};
use super::super::{Diagnostic, Lower};
use super::Emitter;
use super::roll::{LoopArgument, MadeStep};
use crate::program::{Join, Program, TypeKind};
use crate::source::Span;

/// The name of the component that is first called, once for each bin.
const TEST_AND_MASK: &str = "test_and_mask";

/// Makes the circuit that tests whether the tags of a bin are equal, and masks its row and payload
/// if they are not: a tree of ℓ − 1 ANDs, then one for each bit.
fn test_and_mask(form: CircuitForm, sizes: &Sizes) -> Result<Circuit, CircuitError> {
    let builder = Builder::new().in_form(form);
    let (tag, row) = (sizes.tag_bits as usize, sizes.placer_bits as usize);
    let payload = sizes.payload_bits as usize;
    let placer: Vec<Bit<'_>> = builder.bus("placer", tag + row + payload).bits().collect();
    let programmer: Vec<Bit<'_>> = builder.bus("programmer", tag + payload).bits().collect();
    let mut equal: Vec<Bit<'_>> = (0..tag).map(|i| !(placer[i] ^ programmer[i])).collect();
    while equal.len() > 1 {
        let pairs = equal.chunks(2);
        equal = pairs
            .map(|pair| pair.iter().copied().reduce(|a, b| a & b).expect("a bit"))
            .collect();
    }
    let matched = equal[0];
    let rows = placer[tag..tag + row].iter().copied();
    let payloads = placer[tag + row..].iter().zip(&programmer[tag..]);
    let values = rows.chain(payloads.map(|(a, b)| *a ^ *b));
    let pair = std::iter::once(matched).chain(values.map(|bit| matched & bit));
    let pair: Vec<Bit<'_>> = pair.collect();
    builder.output("pair", &Bus::from_bits(&builder, pair));
    builder.finish()
}

/// Returns the part of a join that the parties must know to run it.
fn plan(
    program: &Program,
    join: &Join,
    names: [String; 2],
    by_pair: Option<ResultByPair>,
) -> JoinPlan {
    let entry = program.entries.iter().find(|entry| entry.join.is_some());
    let inputs = entry.map_or(&[][..], |entry| &entry.inputs[..]);
    let types = &program.types;
    let table = |side: usize| {
        let input = &inputs[join.tables[side]];
        let (row, most_rows) = match *types.kind(input.ty) {
            TypeKind::Table(row, most_rows) => (row, most_rows),
            _ => (join.rows[side], 0),
        };
        let key = join.key[side].iter().map(|part| KeyPart {
            field: types.named_fields(row)[part.field as usize].0.to_string(),
            kind: part.kind,
        });
        let fields = join.read[side].iter().map(|field| {
            let (name, ty) = &types.named_fields(join.rows[side])[*field as usize];
            RowField {
                field: name.to_string(),
                bits: types.width(*ty),
            }
        });
        JoinTable {
            input: input.name.to_string(),
            owner: super::role(program, input.owner.unwrap_or(0)),
            most_rows: most_rows.into(),
            most_keys: join.keys[side],
            key: key.collect(),
            row: fields.collect(),
        }
    };
    let [placer_input, programmer_input] = names;
    JoinPlan {
        left: table(0),
        right: table(1),
        most_rows_of_key: join.most_rows_of_key.into(),
        placer: join.placer,
        sizes: join.sizes,
        placer_input,
        programmer_input,
        by_pair,
    }
}

impl Emitter<'_, '_> {
    /// Returns a name that no input and no value has.
    pub(super) fn free_value(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = self.values.len();
        let given = &self.run.given;
        while name == self.value
            || self.values.contains(&name)
            || given.iter().any(|given| given.name == name)
        {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        self.values.push(name.clone());
        name
    }

    /// Declares a value of `bits` bits.
    fn own_value(&mut self, wanted: &str, bits: u64) -> String {
        let name = self.free_value(wanted);
        self.builder.value(&name, &format!("bits[{bits}]"));
        name
    }

    /// Declares the inputs from the stage, and calls the test of each bin, before anything else.
    pub(super) fn test_bins(&mut self) -> Lower<Option<JoinPlan>> {
        let program = self.program;
        let Some(join) = &self.entry.join else {
            return Ok(None);
        };
        let by_pair = join.by_pair.map(|number| {
            let output = &self.entry.outputs[number];
            let (element, rows) = program.types.element(output.ty).unwrap_or((output.ty, 1));
            ResultByPair {
                output: output.name.to_string(),
                element_bits: program.types.width(element),
                rows: rows.into(),
            }
        });
        let names = ["pairs_of_placer", "pairs_of_programmer"].map(|name| self.free_value(name));
        let plan = plan(program, join, names, by_pair);
        let bins = plan.bin_count();
        if bins == 0 {
            return Ok(Some(plan));
        }
        self.builder.over_shares();
        let circuit = test_and_mask(program.form, &join.sizes);
        let circuit = circuit.map_err(Diagnostic::at(join.span))?;
        let width = circuit.output_bits();
        let component = self.free_name(TEST_AND_MASK, vec![width]);
        self.costs
            .add_ands(self.run.join_site, bins * circuit.statistics().and as u64);
        self.builder
            .component(&component, Component::new(&component, circuit));
        let inputs = [
            (
                &plan.placer_input,
                plan.placer_element_bits(),
                plan.placers().owner,
            ),
            (
                &plan.programmer_input,
                plan.programmer_element_bits(),
                plan.programmers().owner,
            ),
        ];
        for (name, bits, owner) in inputs {
            self.builder
                .input(name, &format!("bits[{bits}][{bins}]"), owner);
        }
        self.pairs = self.own_value("pairs", width as u64 * bins);
        self.pair_bits = width;
        let counter = self.free_value("bin");
        let pairs = &self.pairs;
        self.builder.repeat(&counter, 0, bins, |each, bin| {
            let target = Part::of(pairs).range(
                bin.times(width as u64),
                bin.times(width as u64).plus(width as u64),
            );
            let given = inputs.map(|(name, ..)| Part::of(name).at(bin));
            each.call([target], &component, given);
        });
        Ok(Some(plan))
    }

    /// Emits a loop of calls over pairs, and the loops that add up the results of its turns. The
    /// remaining addends go to the places of the call's result.
    pub(super) fn pair_loop(&mut self, call: &Call, number: u32) -> Lower<()> {
        let run = self.run;
        let of = &run.pair_loops[number as usize];
        let given: Vec<Piece> = run.calls.arguments_of(call).flatten().copied().collect();
        let given = if given.is_empty() {
            Vec::new()
        } else {
            self.joined(&given, super::MAX_PIECES)
        };
        let names = self.turns(of, (call.called, call.site, call.span), given)?;
        let mut place = call.result.start;
        for (result, name) in of.results.iter().zip(names) {
            let mut value = name;
            for level in &result.levels {
                let (calls, left) = (level.calls(), level.left());
                if left > 0 {
                    let width = left as usize * level.width;
                    self.steps.push_made(MadeStep::Move {
                        from: value.clone(),
                        start: (level.values - left) * level.width as u64,
                        width,
                        place,
                    });
                    place += width;
                }
                let Some(tree) = level.tree else {
                    continue;
                };
                let component = self.component(Called::Tree(tree), call.span)?;
                let width = tree.results() * tree.result;
                let next = self.own_value("sums", width as u64 * calls);
                let read = tree.count * tree.width;
                if run.recorder.is_some() {
                    self.costs
                        .calls(call.site, Called::Tree(tree), calls, read as u64);
                }
                self.steps.push_made(MadeStep::Calls {
                    turns: calls,
                    component,
                    targets: vec![(next.clone(), width)],
                    arguments: vec![LoopArgument::Element(value, read)],
                });
                value = next;
            }
        }
        Ok(())
    }

    /// Calls a loop's component for each pair. Returns the names of the values that hold the
    /// results.
    fn turns(
        &mut self,
        of: &PairLoop,
        (called, site, span): (Called, super::super::lines::SiteId, Span),
        given: Vec<Piece>,
    ) -> Lower<Vec<String>> {
        let component = self.component(called, span)?;
        let turns = of.turns;
        let mut names = Vec::new();
        for result in &of.results {
            names.push(self.own_value("turns", result.width as u64 * turns));
        }
        let mut arguments = vec![LoopArgument::Element(self.pairs.clone(), self.pair_bits)];
        let more: usize = given.iter().map(|piece| piece.width()).sum();
        if self.run.recorder.is_some() {
            let read = self.pair_bits + more;
            self.costs.calls(site, called, turns, read as u64);
        }
        if !given.is_empty() {
            arguments.push(LoopArgument::Wires(given));
        }
        let widths = of.results.iter().map(|result| result.width);
        self.steps.push_made(MadeStep::Calls {
            turns,
            component,
            targets: names.iter().cloned().zip(widths).collect(),
            arguments,
        });
        Ok(names)
    }

    /// Returns the value that holds a result with an element for each pair, and its type.
    pub(super) fn value_for_each_pair(&mut self) -> Lower<Option<(String, String)>> {
        let run = self.run;
        let Some(number) = run.by_pair else {
            return Ok(None);
        };
        let of = &run.pair_loops[number as usize];
        let at = (Called::PairLoop(number), run.join_site, self.entry.span);
        let names = self.turns(of, at, Vec::new())?;
        let ty = format!("bits[{}][{}]", of.results[0].width, of.turns);
        Ok(names.into_iter().next().map(|name| (name, ty)))
    }
}
