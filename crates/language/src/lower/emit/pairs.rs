//! The pairs of a join: the inputs that the stage makes, the test and mask of each bin, and the
//! loops of calls over pairs. Pairs and the results of turns are held in separate values.
//!
//! No value of a function is wider than [`Circuit::MAX_WIRES`], so the bins of a large join are cut
//! into spans. Each span has inputs, pairs and results of turns of its own, and a loop for each
//! loop over the pairs. Spans end where trees of 64 results end, and all spans' trees fill one
//! value.

use tacit_circuit::builder::{Bit, Builder, Bus, CircuitForm};
use tacit_circuit::{Circuit, CircuitError, Component};
use tacit_function::join::{JoinPlan, JoinSide, JoinSpan, ResultByPair, Sizes};
use tacit_function::{Operand, Part};

use super::super::addends::MOST_ADDENDS;
use super::super::pairs::PairLoop;
use super::super::pieces::Piece;
use super::super::size::{check_bins, check_sums};
use super::super::trace::{Call, Called};
use super::super::{Diagnostic, Lower};
use super::Emitter;
use super::roll::{LoopArgument, MadeStep};
use crate::program::Join;
use crate::source::Span;

/// The name of the component that is first called, once for each bin.
const TEST_AND_MASK: &str = "test_and_mask";

/// The number of results of turns that a tree adds up. Every span but the last has a multiple of
/// it.
const TURNS_OF_TREE: u64 = MOST_ADDENDS as u64;

/// A value that holds a number of elements.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    value: String,
    count: u64,
}

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

    /// Declares a value of `count` elements of `width` bits.
    fn elements(&mut self, wanted: &str, width: usize, count: u64) -> Elements {
        let value = self.free_value(wanted);
        let bits = (width as u64).saturating_mul(count);
        self.builder.value(&value, &format!("bits[{bits}]"));
        Elements { value, count }
    }

    /// Returns the spans of a join, with names for their inputs.
    fn spans(&mut self, join: &Join) -> Lower<Vec<JoinSpan>> {
        let sizes = &join.sizes;
        let loops = self.run.pair_loops.iter();
        let results: Vec<u64> = loops
            .flat_map(|of| of.results.iter().map(|result| result.width as u64))
            .collect();
        check_bins(join, results.iter().sum())?;
        let elements = [
            sizes.placer_element_bits(),
            sizes.programmer_element_bits(),
            sizes.pair_bits(),
        ];
        let widest = elements.into_iter().chain(results).max().unwrap_or(1);
        let most = (Circuit::MAX_WIRES as u64 / widest).min(join.most_span_bins);
        let mut left = sizes.all_bins();
        let most = if left > most {
            (most / TURNS_OF_TREE * TURNS_OF_TREE).max(TURNS_OF_TREE)
        } else {
            most
        };
        let mut spans = Vec::new();
        while spans.is_empty() || left > 0 {
            let bins = left.min(most);
            spans.push(JoinSpan {
                bins,
                placer_input: self.free_value("pairs_of_placer"),
                programmer_input: self.free_value("pairs_of_programmer"),
            });
            left -= bins;
        }
        Ok(spans)
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
        let spans = self.spans(join)?;
        let plan = JoinPlan {
            left: join.table(program, JoinSide::Left),
            right: join.table(program, JoinSide::Right),
            most_rows_of_key: join.most_rows_of_key.into(),
            placer: join.placer,
            sizes: join.sizes,
            spans,
            by_pair,
            part: None,
        };
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
        let sizes = &plan.sizes;
        let placers = (sizes.placer_element_bits(), plan.placers().owner);
        let programmers = (sizes.programmer_element_bits(), plan.programmers().owner);
        for span in &plan.spans {
            let inputs = [
                (&span.placer_input, placers),
                (&span.programmer_input, programmers),
            ];
            for (name, (bits, owner)) in inputs {
                let ty = format!("bits[{bits}][{}]", span.bins);
                self.builder.input(name, &ty, owner);
            }
        }
        let spans = plan.spans.iter();
        self.pairs = spans
            .map(|span| self.elements("pairs", width, span.bins))
            .collect();
        self.pair_bits = width;
        let counter = self.free_value("bin");
        for (span, pairs) in plan.spans.iter().zip(&self.pairs) {
            self.builder.repeat(&counter, 0, span.bins, |each, bin| {
                let start = bin.times(width as u64);
                let end = start.plus(width as u64);
                let target = Part::of(&pairs.value).range(start, end);
                let given = [&span.placer_input, &span.programmer_input];
                let given = given.map(|name| Part::of(name).at(bin));
                each.call([target], &component, given);
            });
        }
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
        let results = self.turns(of, (call.called, call.site, call.span), given)?;
        let mut place = call.result.start;
        for (result, mut values) in of.results.iter().zip(results) {
            for level in &result.levels {
                let (calls, left) = (level.calls(), level.left());
                if let Some(last) = values.last().filter(|_| left > 0) {
                    let width = left as usize * level.width;
                    self.steps.push_made(MadeStep::Move {
                        from: last.value.clone(),
                        start: (last.count - left) * level.width as u64,
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
                check_sums(call.span, (width as u64).saturating_mul(calls))?;
                let mut sums = self.elements("sums", width, calls);
                let read = tree.count * tree.width;
                if run.recorder.is_some() {
                    self.costs
                        .calls(call.site, Called::Tree(tree), calls, read as u64);
                }
                let mut after = 0;
                for Elements { value, count } in values {
                    let turns = count / tree.count as u64;
                    if turns > 0 {
                        self.steps.push_made(MadeStep::Calls {
                            turns,
                            component,
                            targets: vec![(sums.value.clone(), width)],
                            after,
                            arguments: vec![LoopArgument::Element(value, read)],
                        });
                    }
                    after += turns;
                }
                sums.count = calls * tree.results() as u64;
                values = vec![sums];
            }
        }
        Ok(())
    }

    /// Calls a loop's component for each pair. Returns the values that hold each result, in the
    /// order of the spans.
    fn turns(
        &mut self,
        of: &PairLoop,
        (called, site, span): (Called, super::super::lines::SiteId, Span),
        given: Vec<Piece>,
    ) -> Lower<Vec<Vec<Elements>>> {
        let component = self.component(called, span)?;
        let pairs = self.pairs.clone();
        let mut results: Vec<Vec<Elements>> = Vec::new();
        for result in &of.results {
            let spans = pairs.iter();
            let spans = spans.map(|span| self.elements("turns", result.width, span.count));
            results.push(spans.collect());
        }
        let more: usize = given.iter().map(|piece| piece.width()).sum();
        if self.run.recorder.is_some() {
            let read = self.pair_bits + more;
            self.costs.calls(site, called, of.turns, read as u64);
        }
        for (number, pairs) in pairs.into_iter().enumerate() {
            let mut arguments = vec![LoopArgument::Element(pairs.value, self.pair_bits)];
            if !given.is_empty() {
                arguments.push(LoopArgument::Wires(given.clone()));
            }
            let targets = results.iter().zip(&of.results);
            let targets = targets.map(|(spans, of)| (spans[number].value.clone(), of.width));
            self.steps.push_made(MadeStep::Calls {
                turns: pairs.count,
                component,
                targets: targets.collect(),
                after: 0,
                arguments,
            });
        }
        Ok(results)
    }

    /// Returns the result with an element for each pair, and its type.
    pub(super) fn value_for_each_pair(&mut self) -> Lower<Option<(Operand, String)>> {
        let run = self.run;
        let Some(number) = run.by_pair else {
            return Ok(None);
        };
        let of = &run.pair_loops[number as usize];
        let at = (Called::PairLoop(number), run.join_site, self.entry.span);
        let spans = self.turns(of, at, Vec::new())?.into_iter().flatten();
        let spans = spans.map(|span| Operand::from(&span.value));
        let ty = format!("bits[{}][{}]", of.results[0].width, of.turns);
        Ok(spans.reduce(Operand::then).map(|all| (all, ty)))
    }
}
