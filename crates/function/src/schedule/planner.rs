//! The planner: one walk over the calls, which finds owners, groups, steps, and the sources of
//! values.

use std::collections::HashMap;

use tacit_circuit::{Component, Kind, LayerOutline, Owners, Role, RowProgram, Type};

use super::argument::{ArgumentSpan, Arguments, NoNumber};
use super::walk::{Source, SourceWalk, Span, SpanReader};
use super::{
    Block, Constants, GroupData, InputBlock, LastRead, Limits, OutputSpan, Pattern, Schedule,
    add_times, most_calls,
};
use crate::plan::{MAX_GRANULES, MAX_RUN_GRANULES, MAX_RUN_STEPS, Operation};
use crate::{Function, FunctionError};

/// The most steps.
const MAX_STEPS: u32 = 1 << 31;

/// The most granules that turns of streams read and assign which are scheduled one by one.
const MAX_GRANULES_OF_TURNS: u64 = if cfg!(test) {
    1 << 22
} else {
    MAX_RUN_GRANULES
};

/// The key of calls of one pattern that are ready at one step and, without layers, have one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Ready {
    pattern: u32,
    step: u32,
    rank: u32,
}

/// The groups into which these calls are cut.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// The number of groups before the last one.
    before: u32,
    last: u32,
}

/// Returns the schedule. Calls `called` with the group of each call and the call's instance in it.
pub(crate) fn plan(
    function: &Function,
    owners_of_inputs: &[Owners],
    limits: Limits,
    mut called: impl FnMut(u32, u32),
) -> Result<Schedule, FunctionError> {
    let inputs = function.inputs();
    assert_eq!(
        inputs.len(),
        owners_of_inputs.len(),
        "owners for each input"
    );
    if function.has_saved_values() {
        return Err(FunctionError::SavedValues {
            function: function.name().to_owned(),
        });
    }
    let mut planner = Planner::new(function, owners_of_inputs, limits);
    let shapes: Vec<CallShape> = function.components().iter().map(CallShape::new).collect();
    let mut walk = SourceWalk::new(function, &planner.schedule.inputs);
    let mut spans = Vec::new();
    // Whether the call of a stream reads what the turn before has read, moved on.
    let mut is_moved = false;
    while let Some(operation) = walk.advance() {
        planner.count_turn(operation)?;
        let before = planner.counts();
        walk.gather(operation, &mut spans, |bits| planner.constant(bits))?;
        let Some(component) = operation.component else {
            walk.assign(operation, &spans);
            continue;
        };
        let shape = &shapes[component as usize];
        let (group, instance) = planner.call(component as usize, &spans, shape)?;
        called(group, instance);
        let results = Span {
            bits: shape.results,
            source: Source {
                block: Block::Group(group),
                instance,
            },
            row: 0,
        };
        walk.assign(operation, &[results]);
        if !operation.is_stream {
            continue;
        }
        if walk.runs() as u64 > MAX_GRANULES {
            return Err(planner.too_many("runs of elements", MAX_GRANULES));
        }
        // If this call is the one before, moved on, and has added nothing but an instance, then it
        // has continued all runs of arguments by the same strides. So do the calls that follow.
        if is_moved && planner.counts() == before {
            let calls = planner.add_calls(group, walk.turns_ahead(operation));
            walk.skip(operation, calls.into());
            (1..=calls).for_each(|more| called(group, instance + more));
        }
        is_moved = walk.turns_ahead(operation) > 0;
    }
    if walk.is_exhausted() {
        return Err(planner.too_many("steps that are scheduled one by one", MAX_RUN_STEPS));
    }
    for output in &function.plan().outputs {
        walk.gather(output, &mut spans, |bits| planner.constant(bits))?;
        planner.output(&spans);
    }
    Ok(planner.finish())
}

/// The bits of a component's ports and results.
struct CallShape {
    ports: Vec<u32>,
    results: u32,
}

impl CallShape {
    fn new(component: &Component) -> Self {
        let circuit = component.circuit();
        let ports = circuit.inputs().iter();
        Self {
            ports: ports.map(|port| port.ty.width() as u32).collect(),
            results: circuit.output_bits() as u32,
        }
    }
}

/// Returns the bits of an element of an input, as calls read it. If the bits that all steps read
/// together are whole elements of its type, it is that number. Otherwise it is the width of one
/// element of the type.
fn element_bits(ty: &Type, read_together: u32) -> u32 {
    let mut element = ty;
    while let Kind::Array(of, _) = element.kind() {
        element = of;
    }
    let width = element.width() as u32;
    if read_together.is_multiple_of(width) {
        read_together
    } else {
        width
    }
}

struct Planner<'f> {
    function: &'f Function,
    schedule: Schedule,
    /// The patterns of each component, by the owners of its ports.
    patterns: Vec<HashMap<Box<[Owners]>, u32>>,
    cuts: HashMap<Ready, Cut>,
    /// The pool of the constants of each width.
    pools: HashMap<u32, u32>,
    /// The number of all constants.
    constants: u64,
    /// The granules that turns of streams have read and assigned one by one.
    granules_of_turns: u64,
    spans: Vec<ArgumentSpan>,
    owners: Vec<Owners>,
}

impl<'f> Planner<'f> {
    fn new(function: &'f Function, owners_of_inputs: &[Owners], limits: Limits) -> Self {
        let inputs = function.inputs().iter().zip(owners_of_inputs);
        let arrays = &function.plan().arrays;
        let inputs: Vec<InputBlock> = inputs
            .zip(arrays)
            .map(|((input, owners), array)| {
                let rows = element_bits(&input.port.ty, array.granule);
                InputBlock {
                    owners: *owners,
                    rows,
                    instances: input.port.ty.width() as u32 / rows,
                    last_read: LastRead::Never,
                }
            })
            .collect();
        let schedule = Schedule {
            limits,
            components: function.components().to_vec(),
            inputs,
            patterns: Vec::new(),
            groups: Vec::new(),
            arguments: Arguments::default(),
            constants: Vec::new(),
            outputs: Vec::new(),
            output_ends: Vec::new(),
            starts: Vec::new(),
            steps: 0,
            total_ots: [0; 2],
            elements: function.plan().granules_apart as u64,
        };
        Self {
            function,
            schedule,
            patterns: vec![HashMap::new(); function.components().len()],
            cuts: HashMap::new(),
            pools: HashMap::new(),
            constants: 0,
            granules_of_turns: 0,
            spans: Vec::new(),
            owners: Vec::new(),
        }
    }

    /// Returns the numbers of everything that a call may add to the schedule: groups, columns and
    /// runs of arguments, and constants.
    fn counts(&self) -> (usize, [usize; 2], u64) {
        let schedule = &self.schedule;
        let arguments = schedule.arguments.counts();
        (schedule.groups.len(), arguments, self.constants)
    }

    /// Counts what a turn of a stream reads and assigns. The check counts it for other operations.
    fn count_turn(&mut self, operation: &Operation) -> Result<(), FunctionError> {
        if !operation.is_stream {
            return Ok(());
        }
        let touched = operation.reads().chain(operation.assigns());
        self.granules_of_turns += touched.map(|part| u64::from(part.granules)).sum::<u64>();
        if self.granules_of_turns > MAX_GRANULES_OF_TURNS {
            let what = "elements of turns that are scheduled one by one";
            return Err(self.too_many(what, MAX_GRANULES_OF_TURNS));
        }
        Ok(())
    }

    /// Adds up to `calls` calls that continue the runs of the group's arguments. Returns their
    /// number.
    fn add_calls(&mut self, group: u32, calls: u64) -> u32 {
        let group = &mut self.schedule.groups[group as usize];
        let most_calls = self.schedule.patterns[group.pattern as usize].most_calls;
        let free = most_calls - group.calls;
        let calls = u32::try_from(calls).unwrap_or(u32::MAX).min(free);
        group.calls += calls;
        calls
    }

    fn too_many(&self, what: &'static str, limit: u64) -> FunctionError {
        FunctionError::too_many(format!("function {}", self.function.name()), what, limit)
    }

    fn no_number(&self) -> FunctionError {
        self.too_many("pieces of arguments", u64::from(u32::MAX))
    }

    /// Puts a call into a group. Returns the group, and the call's instance in it.
    fn call(
        &mut self,
        component: usize,
        arguments: &[Span],
        shape: &CallShape,
    ) -> Result<(u32, u32), FunctionError> {
        let mut spans = std::mem::take(&mut self.spans);
        spans.clear();
        self.owners.clear();
        let mut bits = SpanReader::new(arguments);
        for (port, width) in (0..).zip(&shape.ports) {
            let first = spans.len();
            spans.extend(bits.take(*width).map(|span| argument(span, port)));
            let owners = spans[first..].iter().map(|span| self.owners_of(span));
            self.owners.push(owners.fold(Owners::PUBLIC, Owners::union));
        }
        let (pattern, has_layers) = self.pattern(component);
        let (step, rank) = self.ready(&spans, has_layers);
        let ready = Ready {
            pattern,
            step,
            rank,
        };
        let place = self.put(ready, &spans)?;
        let start = self.schedule.groups[place.0 as usize].start;
        for span in &spans {
            self.read(span.block, LastRead::Step(start));
        }
        self.spans = spans;
        Ok(place)
    }

    /// Returns the source of a constant.
    fn constant(&mut self, bits: &[bool]) -> Result<Source, FunctionError> {
        let (width, pools) = (bits.len() as u32, &mut self.schedule.constants);
        let pool = *self.pools.entry(width).or_insert_with(|| {
            pools.push(Constants::new(width));
            pools.len() as u32 - 1
        });
        let pool_of_width = &mut pools[pool as usize];
        let before = pool_of_width.count();
        let number = pool_of_width.put(bits.iter().copied());
        self.constants += u64::from(pool_of_width.count() - before);
        let instance = number.ok_or_else(|| self.no_number())?;
        Ok(Source {
            block: Block::Constants(pool),
            instance,
        })
    }

    fn owners_of(&self, span: &ArgumentSpan) -> Owners {
        match span.block {
            Block::Input(number) => self.schedule.inputs[number as usize].owners,
            Block::Constants(_) => Owners::PUBLIC,
            Block::Group(number) => {
                let pattern = self.schedule.groups[number as usize].pattern as usize;
                let results = self.schedule.patterns[pattern].program.owners_of_results();
                let rows = span.row as usize..(span.row + span.bits) as usize;
                let owners = results[rows].iter().copied();
                owners.fold(Owners::PUBLIC, Owners::union)
            }
        }
    }

    /// Returns the pattern of a call by the owners of its ports, and whether its program has
    /// layers.
    fn pattern(&mut self, component: usize) -> (u32, bool) {
        let Schedule {
            patterns,
            components,
            limits,
            ..
        } = &mut self.schedule;
        let known = &mut self.patterns[component];
        let number = known.get(&self.owners[..]).copied().unwrap_or_else(|| {
            let owners: Box<[Owners]> = self.owners[..].into();
            let program = RowProgram::compile(components[component].circuit(), &owners);
            let number = patterns.len() as u32;
            known.insert(owners.clone(), number);
            patterns.push(Pattern {
                component: component as u32,
                owners,
                most_calls: most_calls(&program, *limits),
                program,
            });
            number
        });
        (number, patterns[number as usize].program.depth() > 0)
    }

    /// Returns the step at which all of this is available, and the rank of a call without layers.
    fn ready(&self, spans: &[ArgumentSpan], has_layers: bool) -> (u32, u32) {
        let there = spans.iter().map(|span| match span.block {
            Block::Input(_) | Block::Constants(_) => (0, 0),
            Block::Group(number) => {
                let group = self.schedule.group(number);
                let depth = group.program().depth();
                let rank = if depth > 0 { 0 } else { group.data().rank + 1 };
                (group.data().start + depth, rank)
            }
        });
        let (step, rank) = there.max().unwrap_or_default();
        (step, if has_layers { 0 } else { rank })
    }

    /// Puts a call into a group.
    fn put(&mut self, ready: Ready, spans: &[ArgumentSpan]) -> Result<(u32, u32), FunctionError> {
        let cut = self.cuts.get(&ready).copied();
        let schedule = &mut self.schedule;
        let pattern = &schedule.patterns[ready.pattern as usize];
        if let Some(cut) = cut {
            let group = &mut schedule.groups[cut.last as usize];
            if group.calls < pattern.most_calls {
                let instance = group.calls;
                group.calls += 1;
                let appended = schedule.arguments.append(group.arguments, instance, spans);
                return match appended {
                    Ok(()) => Ok((cut.last, instance)),
                    Err(NoNumber) => Err(self.no_number()),
                };
            }
        }
        let before = cut.map_or(0, |cut| cut.before + 1);
        let depth = pattern.program.depth();
        let delay = u64::from(before / 2) * u64::from(depth);
        let start = u64::from(ready.step) + delay;
        if start + u64::from(depth) > u64::from(MAX_STEPS) {
            return Err(self.too_many("steps", u64::from(MAX_STEPS)));
        }
        let arguments = schedule.arguments.begin(spans, &pattern.owners);
        let Ok(arguments) = arguments else {
            return Err(self.no_number());
        };
        let last = schedule.groups.len() as u32;
        schedule.groups.push(GroupData {
            pattern: ready.pattern,
            calls: 1,
            start: start as u32,
            rank: ready.rank,
            last_read: LastRead::Never,
            arguments,
        });
        schedule.steps = schedule.steps.max(start as u32 + depth);
        self.cuts.insert(ready, Cut { before, last });
        Ok((last, 0))
    }

    fn read(&mut self, block: Block, when: LastRead) {
        let last_read = match block {
            Block::Input(number) => &mut self.schedule.inputs[number as usize].last_read,
            Block::Group(number) => &mut self.schedule.groups[number as usize].last_read,
            Block::Constants(_) => return,
        };
        *last_read = when.max(*last_read);
    }

    fn output(&mut self, spans: &[Span]) {
        for span in spans {
            let Source { block, instance } = span.source;
            self.read(block, LastRead::Outputs);
            self.schedule.outputs.push(OutputSpan {
                block,
                instance,
                row: span.row,
                bits: span.bits,
            });
        }
        let end = self.schedule.outputs.len();
        self.schedule.output_ends.push(end);
    }

    fn finish(self) -> Schedule {
        let mut schedule = self.schedule;
        let mut starts: Vec<u32> = (0..schedule.group_count()).collect();
        starts.sort_unstable_by_key(|number| {
            let group = schedule.group(*number);
            let has_layers = group.program().depth() > 0;
            (group.start(), has_layers, group.data().rank, *number)
        });
        schedule.starts = starts;
        let each: Vec<[u64; 2]> = schedule.patterns.iter().map(ots_of_a_call).collect();
        for group in &schedule.groups {
            let each = each[group.pattern as usize];
            add_times(&mut schedule.total_ots, group.calls as usize, each);
        }
        schedule
    }
}

fn argument(span: Span, port: u32) -> ArgumentSpan {
    ArgumentSpan {
        bits: span.bits,
        block: span.source.block,
        row: span.row,
        instance: span.source.instance,
        port,
    }
}

/// Returns the OTs of a call, by their sender.
fn ots_of_a_call(pattern: &Pattern) -> [u64; 2] {
    let program = &pattern.program;
    let layers = (0..=program.depth()).map(|layer| program.outline(layer));
    layers.fold([0; 2], |mut total, LayerOutline { ots, .. }| {
        for role in Role::BOTH {
            total[role as usize] += ots[role as usize];
        }
        total
    })
}
