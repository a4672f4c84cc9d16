//! The walk over the calls of a network, which computes the numbers of counters alone.

use std::collections::HashMap;

use super::super::emit::Steps;
use super::super::pieces::{Piece, push};
use super::super::trace::{Frame, MAX_STEPS, STEPS_BETWEEN, Tracer};
use super::super::{Diagnostic, Lower, size};
use super::{
    ArgumentPiece, Assignment, CALLS_OF_A_STEP, Loops, Network, NetworkChain, NetworkComponent,
    NetworkLoop, NetworkStep, NetworkVariable, Place,
};
use crate::program::{Function, Program};

/// The most rolled steps of a network, half of those that a function may have.
const MAX_ROLLED: usize = 1 << 15;

/// The most chains that a network records.
const MAX_CHAINS: usize = 64;

/// The state of a walk.
struct CallWalk<'w> {
    counters: Vec<i128>,
    steps: Steps,
    granule: usize,
    /// For each granule, the number of calls that its value waits for.
    waits: Vec<u32>,
    components: Vec<NetworkComponent>,
    assignments: HashMap<*const Assignment, Known>,
    /// The number of calls and moves so far, and the bits that the calls return.
    calls: u64,
    bits: u64,
    chains: Vec<NetworkChain>,
    /// Gets the number of calls and moves from time to time.
    tell: &'w dyn Fn(u64) -> bool,
}

/// The shape, component, width and calls that the walk found for an assignment.
#[derive(Clone, Copy)]
struct Known {
    shape: usize,
    component: Option<usize>,
    width: u64,
    calls: u64,
}

impl<'b, 'p> Tracer<'b, 'p> {
    /// Walks the calls of a network. Returns `None` if they repeat too little to stay loops.
    pub(super) fn walked(
        &mut self,
        frame: &Frame<'b, 'p>,
        loops: &Loops,
    ) -> Lower<Option<Network>> {
        let (left, tell) = (self.left, self.tell);
        let told = |calls: u64| {
            let steps = calls / CALLS_OF_A_STEP;
            if steps.is_multiple_of(STEPS_BETWEEN) {
                tell(MAX_STEPS - left.saturating_sub(steps));
            }
            steps <= left
        };
        let mut walk = CallWalk {
            counters: frame.counters.clone(),
            steps: Steps::default(),
            granule: loops.granule,
            waits: vec![0; loops.width.div_ceil(loops.granule)],
            components: Vec::new(),
            assignments: HashMap::new(),
            calls: 0,
            bits: 0,
            chains: Vec::new(),
            tell: &told,
        };
        for step in &loops.steps {
            walk.outermost(step, loops, self.program, frame.function)?;
            if walk.steps.len() > MAX_ROLLED {
                size::check_calls(loops.span, walk.bits)?;
                return Ok(None);
            }
        }
        self.left = self.left.saturating_sub(walk.calls / CALLS_OF_A_STEP);
        let mut calls = Vec::new();
        for (assignment, known) in walk.in_order(loops) {
            if let Some(component) = known.component {
                let site = self.site_at(assignment.span);
                calls.push((site, component, known.calls));
            }
        }
        let outer = loops.variables.iter().filter(|variable| !variable.is_inner);
        let given = outer
            .clone()
            .map(|variable| (variable.start, variable.width));
        let results = outer.filter(|variable| variable.is_assigned);
        Ok(Some(Network {
            width: loops.width,
            given: given.collect(),
            results: results.map(|of| (of.start, of.width)).collect(),
            depth: walk.waits.iter().copied().max().unwrap_or(0),
            steps: std::rc::Rc::new(walk.steps.finish()),
            components: walk.components,
            calls,
            chains: walk.chains,
        }))
    }
}

impl CallWalk<'_> {
    /// Walks a loop that is in no other one, and rolls its steps.
    fn outermost(
        &mut self,
        step: &NetworkStep,
        loops: &Loops,
        program: &Program,
        function: &Function,
    ) -> Lower<()> {
        let before = self.waits.iter().copied().max().unwrap_or(0);
        self.step(step)?;
        self.steps.settle();
        let NetworkStep::For(each) = step else {
            return Ok(());
        };
        let after = self.waits.iter().copied().max().unwrap_or(0);
        let turns = self.turns(each)?.count() as u64;
        let calls = after - before;
        if turns > 1 && u64::from(calls) >= turns && self.chains.len() < MAX_CHAINS {
            let assigned = loops.variables.iter().filter(|of| of.is_assigned);
            let name = |of: &NetworkVariable| program.variable(function, of.variable).0.clone();
            self.chains.push(NetworkChain {
                span: each.span,
                function: function.name.clone(),
                variables: assigned.map(name).collect(),
                turns,
                calls,
            });
        }
        Ok(())
    }

    fn all(&mut self, steps: &[NetworkStep]) -> Lower<()> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &NetworkStep) -> Lower<()> {
        match step {
            NetworkStep::For(each) => {
                for turn in self.turns(each)? {
                    self.counters[each.counter.0 as usize] = turn;
                    self.all(&each.body)?;
                }
                Ok(())
            }
            NetworkStep::If(number, span, [otherwise, then]) => {
                match number.at(&self.counters, *span)? {
                    0 => self.all(otherwise),
                    _ => self.all(then),
                }
            }
            NetworkStep::Assign(assignment) => self.assign(assignment),
        }
    }

    fn turns(&self, each: &NetworkLoop) -> Lower<std::ops::Range<i128>> {
        let from = each.from.at(&self.counters, each.span)?;
        let to = each.to.at(&self.counters, each.span)?;
        Ok(from..to)
    }

    fn assign(&mut self, of: &Assignment) -> Lower<()> {
        self.calls += 1;
        if self.calls.is_multiple_of(CALLS_OF_A_STEP) && !(self.tell)(self.calls) {
            return Err(size::too_long(of.span, "what is computed here"));
        }
        let known = match self.assignments.get_mut(&std::ptr::from_ref(of)) {
            Some(known) => {
                known.calls += 1;
                *known
            }
            None => self.first(of),
        };
        self.bits += known.width;
        let mut starts = Vec::with_capacity(of.targets.len() + of.arguments.len());
        for target in &of.targets {
            starts.push(target.at(&self.counters)? as i64);
        }
        let mut waits = 0;
        for given in of.arguments.iter().flatten() {
            if let ArgumentPiece::Place(place) = given {
                let start = place.at(&self.counters)?;
                let granules = start / self.granule..(start + place.width) / self.granule;
                waits = self.waits[granules].iter().fold(waits, |a, b| a.max(*b));
                starts.push(start as i64);
            }
        }
        waits += u32::from(known.component.is_some());
        for (target, start) in of.targets.iter().zip(&starts) {
            let start = *start as usize;
            let granules = start / self.granule..(start + target.width) / self.granule;
            self.waits[granules].fill(waits);
        }
        self.steps.push_alike(known.shape, starts);
        Ok(())
    }

    /// Notes an assignment at its first run.
    fn first(&mut self, of: &Assignment) -> Known {
        let results: Vec<usize> = of.targets.iter().map(|target| target.width).collect();
        let width: usize = results.iter().sum();
        let component = of.component.map(|function| {
            let results = results.clone();
            let component = NetworkComponent { function, results };
            let known = self.components.iter().position(|one| *one == component);
            known.unwrap_or_else(|| {
                self.components.push(component);
                self.components.len() - 1
            })
        });
        let arguments = of.arguments.iter().map(|pieces| {
            let mut row = Vec::new();
            for given in pieces {
                match given {
                    ArgumentPiece::Place(place) => row.push(Piece::Wires(0, place.width)),
                    ArgumentPiece::Constant(bits) => {
                        for bit in bits {
                            push(&mut row, Piece::Constant(u64::from(*bit), 1));
                        }
                    }
                }
            }
            row
        });
        let shape = self.steps.shape(results, component, arguments.collect());
        let known = Known {
            shape,
            component,
            width: width as u64,
            calls: 1,
        };
        self.assignments.insert(std::ptr::from_ref(of), known);
        known
    }

    /// Returns the assignments that were run, in the order of the source.
    fn in_order<'l>(&self, loops: &'l Loops) -> Vec<(&'l Assignment, Known)> {
        fn collect<'l>(steps: &'l [NetworkStep], all: &mut Vec<&'l Assignment>) {
            for step in steps {
                match step {
                    NetworkStep::For(each) => collect(&each.body, all),
                    NetworkStep::If(_, _, [otherwise, then]) => {
                        collect(then, all);
                        collect(otherwise, all);
                    }
                    NetworkStep::Assign(assignment) => all.push(assignment),
                }
            }
        }
        let mut all = Vec::new();
        collect(&loops.steps, &mut all);
        let known = |of: &&'l Assignment| self.assignments.get(&std::ptr::from_ref(*of)).copied();
        let run = all.iter().filter_map(|of| Some((*of, known(of)?)));
        run.collect()
    }
}

impl Place {
    /// Returns the first bit.
    fn at(&self, counters: &[i128]) -> Lower<usize> {
        let mut start = self.start;
        for index in &self.indices {
            let number = index.number.at(counters, index.span)?;
            if number < 0 || number > i128::from(index.last) {
                let elements = index.elements;
                let message =
                    format!("the index is {number}, and the array has {elements} elements");
                return Err(Diagnostic::new(index.span, message));
            }
            start += number as usize * index.stride;
        }
        Ok(start)
    }
}
