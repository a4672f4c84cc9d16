//! Turns repeated steps into loops.
//!
//! A run is traced turn by turn, so that its steps come one by one. Two steps are *alike* if they
//! differ only in the places of their wires. If a row of steps repeats the previous row three times
//! or more, and each place moves by a constant distance, the rows become one loop with its counter
//! in the places. The search is repeated with these loops as steps, which restores nested loops.
//! The loops found may differ from those of the source, but compute the same.

mod rows;
mod writer;

use std::collections::HashMap;
use std::rc::Rc;

use num_integer::Integer as _;
use tacit_function::FunctionBuilder;

use super::super::pieces::Piece;
use rows::Rows;
use writer::Writer;

/// The length of the longest row of steps in the search.
const MAX_ROW: usize = 12;
/// The greatest number of pieces of wires of a step in a loop.
const MAX_STARTS: usize = 16;
/// The least number of turns of a loop.
const MIN_TURNS: usize = 3;
/// The greatest nesting depth of loops in a function.
const MAX_DEPTH: usize = 8;

/// The value that a step assigns to wires.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StepPattern {
    /// The number of wires.
    width: usize,
    /// The numbers of consecutive wires, if they are not all consecutive.
    apart: Vec<usize>,
    /// The number of the component that is called, or `None` if wires are moved.
    component: Option<usize>,
    /// The arguments, with 0 in place of the starts of wires.
    arguments: Vec<Vec<Piece>>,
}

/// The steps of a function, in the order in which they run.
#[derive(Debug, Default)]
pub(in super::super) struct Steps {
    nodes: Vec<Node>,
    /// The number of nodes that were rolled before.
    settled: usize,
    shapes: Vec<StepPattern>,
    numbers: HashMap<StepPattern, usize>,
    /// The number of each class of alike nodes.
    likeness: HashMap<Vec<i64>, i64>,
    /// The last steps, as a row of repetitions.
    row: Option<RepeatedStep>,
    made: Vec<MadeStep>,
    /// The greatest common divisor of all starts and widths of wires.
    divisor: u64,
}

/// Steps that were rolled.
#[derive(Debug)]
pub(in super::super) struct RolledSteps {
    nodes: Vec<Node>,
    shapes: Vec<StepPattern>,
}

/// A step that is repeated, each time moved by the same distance. Most steps are in such rows,
/// which are never expanded.
#[derive(Debug)]
struct RepeatedStep {
    shape: usize,
    turns: usize,
    first: Vec<i64>,
    last: Vec<i64>,
    /// The distances from one turn to the next, if there are two turns.
    moved: Vec<i64>,
}

/// A step that is a loop from the start, or that moves the results of such a loop.
#[derive(Debug)]
pub(super) enum MadeStep {
    /// Calls of a component, one for each turn.
    Calls {
        turns: u64,
        component: usize,
        /// The values that hold the results, and the number of bits of each that a turn assigns.
        targets: Vec<(String, usize)>,
        /// The number of turns of earlier loops that assign the first bits of these values.
        after: u64,
        arguments: Vec<LoopArgument>,
    },
    /// A move of bits of a value to wires from `place` on.
    Move {
        from: String,
        start: u64,
        width: usize,
        place: usize,
    },
    /// A move of wires to the bits of a value from `start` on.
    Fill {
        to: String,
        start: usize,
        wires: Vec<Piece>,
    },
    /// The steps of a network on its own value. The components are given by their numbers.
    Network {
        value: String,
        steps: Rc<RolledSteps>,
        components: Vec<usize>,
    },
}

/// An argument of a loop of calls.
#[derive(Debug)]
pub(super) enum LoopArgument {
    /// The next bits of a value, with their number.
    Element(String, usize),
    /// The same wires in each turn.
    Wires(Vec<Piece>),
}

/// A step or a loop.
#[derive(Debug)]
struct Node {
    /// The class of alike nodes, which differ only in `starts`.
    alike: i64,
    what: NodeKind,
    /// The number of nested loops. It is the maximum if the node cannot be in a loop.
    depth: usize,
}

#[derive(Debug)]
enum NodeKind {
    Step {
        shape: usize,
        /// The starts of wires in the first turns: the target, then the arguments' pieces.
        starts: Vec<i64>,
        /// The distance by which each start moves with a turn of each surrounding loop, innermost
        /// first.
        strides: Vec<Vec<i64>>,
    },
    Loop {
        turns: usize,
        body: Vec<Node>,
    },
    /// A finished step, by its number.
    Made(usize),
}

impl Node {
    fn step(shape: usize, starts: Vec<i64>) -> Self {
        let strides = Vec::new();
        Self {
            alike: shape as i64,
            what: NodeKind::Step {
                shape,
                starts,
                strides,
            },
            depth: 0,
        }
    }

    fn starts(&self, all: &mut Vec<i64>) {
        match &self.what {
            NodeKind::Step { starts, .. } => all.extend(starts),
            NodeKind::Loop { body, .. } => body.iter().for_each(|node| node.starts(all)),
            NodeKind::Made(_) => {}
        }
    }

    /// Puts the steps into one more loop.
    fn push_strides(&mut self, rest: &mut &[i64]) {
        match &mut self.what {
            NodeKind::Step {
                starts, strides, ..
            } => {
                let (own, after) = rest.split_at(starts.len());
                strides.push(own.to_vec());
                *rest = after;
            }
            NodeKind::Loop { body, .. } => body.iter_mut().for_each(|node| node.push_strides(rest)),
            NodeKind::Made(_) => {}
        }
    }
}

impl Steps {
    /// Adds a step that assigns wires from `start` on.
    pub(super) fn push(
        &mut self,
        (start, width): (usize, usize),
        component: Option<usize>,
        mut arguments: Vec<Vec<Piece>>,
    ) {
        let mut starts = vec![start as i64];
        self.cut(start, width);
        for piece in arguments.iter_mut().flatten() {
            if let Piece::Wires(start, width) = piece {
                self.cut(*start, *width);
                starts.push(*start as i64);
                *start = 0;
            }
        }
        let shape = self.shape(vec![width], component, arguments);
        self.push_alike(shape, starts);
    }

    /// Returns the number of a shape of steps. The wires of a step are consecutive in each of
    /// `widths`, and all wires that the arguments read start at 0.
    pub(in super::super) fn shape(
        &mut self,
        widths: Vec<usize>,
        component: Option<usize>,
        arguments: Vec<Vec<Piece>>,
    ) -> usize {
        let shape = StepPattern {
            width: widths.iter().sum(),
            apart: if widths.len() == 1 {
                Vec::new()
            } else {
                widths
            },
            component,
            arguments,
        };
        match self.numbers.get(&shape) {
            Some(number) => *number,
            None => {
                self.shapes.push(shape.clone());
                self.numbers.insert(shape, self.shapes.len() - 1);
                self.shapes.len() - 1
            }
        }
    }

    /// Adds a step of this shape, with the starts of the wires that it assigns and reads.
    pub(in super::super) fn push_alike(&mut self, shape: usize, starts: Vec<i64>) {
        let wide = starts.len() > MAX_STARTS;
        if wide {
            self.end_row();
            let mut node = Node::step(shape, starts);
            node.depth = MAX_DEPTH;
            return self.nodes.push(node);
        }
        self.repeat(shape, starts);
    }

    /// Notes that a step cuts the wires here.
    pub(super) fn cut(&mut self, start: usize, width: usize) {
        self.divisor = self.divisor.gcd(&(start as u64)).gcd(&(width as u64));
    }

    /// Returns the greatest number of bits that an element of the wires can have, or 0 if no step
    /// cuts them yet.
    pub(super) fn divisor(&self) -> u64 {
        self.divisor
    }

    /// Adds a step to the current row, or starts a new row.
    fn repeat(&mut self, shape: usize, starts: Vec<i64>) {
        let Some(row) = self.row.as_mut().filter(|row| row.shape == shape) else {
            self.end_row();
            return self.begin_row(shape, starts);
        };
        let moved: Vec<i64> = starts
            .iter()
            .zip(&row.last)
            .map(|(now, before)| now - before)
            .collect();
        if row.turns > 1 && moved != row.moved {
            let second = (row.turns == 2).then(|| std::mem::take(&mut row.last));
            match second {
                // The first step stays single, and the second one may start a row.
                Some(second) => {
                    let first = std::mem::take(&mut row.first);
                    self.row = None;
                    self.nodes.push(Node::step(shape, first));
                    self.begin_row(shape, second);
                    self.repeat(shape, starts);
                }
                None => {
                    self.end_row();
                    self.begin_row(shape, starts);
                }
            }
            return;
        }
        (row.moved, row.last) = (moved, starts);
        row.turns += 1;
    }

    fn begin_row(&mut self, shape: usize, starts: Vec<i64>) {
        self.row = Some(RepeatedStep {
            shape,
            turns: 1,
            last: starts.clone(),
            first: starts,
            moved: Vec::new(),
        });
    }

    /// Turns the last steps into nodes.
    fn end_row(&mut self) {
        let Some(row) = self.row.take() else { return };
        let mut first = Node::step(row.shape, row.first);
        if row.turns >= MIN_TURNS {
            first.push_strides(&mut &row.moved[..]);
            let node = self.a_loop(row.turns, vec![first]);
            return self.nodes.push(node);
        }
        self.nodes.push(first);
        if row.turns == 2 {
            self.nodes.push(Node::step(row.shape, row.last));
        }
    }

    /// Adds a step that is like no other.
    pub(super) fn push_made(&mut self, step: MadeStep) {
        self.end_row();
        self.made.push(step);
        let number = self.made.len() - 1;
        self.nodes.push(Node {
            alike: i64::MAX - number as i64,
            what: NodeKind::Made(number),
            depth: MAX_DEPTH,
        });
    }

    /// Passes the steps to a builder, with repetitions as loops. `names` and `widths` are those of
    /// the components and their results, `value` holds the wires, and the names of counters start
    /// with `counter`.
    pub(super) fn give(
        mut self,
        builder: &mut FunctionBuilder,
        (names, widths): (&[String], &[Vec<usize>]),
        value: &str,
        counter: &str,
    ) {
        self.settled = 0;
        self.settle();
        let writer = Writer {
            shapes: &self.shapes,
            made: &self.made,
            names,
            widths,
            components: None,
            value,
            counter,
        };
        writer.nodes(builder, &self.nodes, &mut Vec::new());
    }

    /// Returns the number of nodes so far.
    pub(in super::super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Rolls the steps that were added since the last call.
    pub(in super::super) fn settle(&mut self) {
        // Rows of steps are loops already, so that the rows of loops are short.
        self.end_row();
        let mut nodes = self.nodes.split_off(self.settled);
        for _ in 0..4 {
            let before = nodes.len();
            nodes = self.rolled(nodes);
            if nodes.len() == before {
                break;
            }
        }
        self.nodes.append(&mut nodes);
        self.settled = self.nodes.len();
    }

    /// Returns the rolled steps.
    pub(in super::super) fn finish(mut self) -> RolledSteps {
        self.settle();
        RolledSteps {
            nodes: self.nodes,
            shapes: self.shapes,
        }
    }

    fn rolled(&mut self, nodes: Vec<Node>) -> Vec<Node> {
        let rows = Rows::new(&nodes);
        let mut rest = nodes.into_iter();
        let mut rolled = Vec::new();
        let mut next = 0;
        while let Some(node) = rest.next() {
            let Some((row, turns)) = rows.longest_at(next) else {
                rolled.push(node);
                next += 1;
                continue;
            };
            let strides = rows.strides(next, row);
            let mut left = &strides[..];
            let mut body = vec![node];
            body.extend(rest.by_ref().take(row - 1));
            body.iter_mut()
                .for_each(|node| node.push_strides(&mut left));
            rest.by_ref().take(row * (turns - 1)).for_each(drop);
            rolled.push(self.a_loop(turns, body));
            next += row * turns;
        }
        rolled
    }

    fn a_loop(&mut self, turns: usize, body: Vec<Node>) -> Node {
        let depth = body.iter().map(|node| node.depth).max().unwrap_or(0) + 1;
        let mut key = vec![turns as i64];
        for node in &body {
            key.push(node.alike);
            node.all_strides(&mut key);
        }
        let new = -1 - self.likeness.len() as i64;
        let alike = *self.likeness.entry(key).or_insert(new);
        let what = NodeKind::Loop { turns, body };
        Node { alike, what, depth }
    }
}

impl Node {
    fn all_strides(&self, key: &mut Vec<i64>) {
        match &self.what {
            NodeKind::Step { strides, .. } => key.extend(strides.iter().flatten()),
            NodeKind::Loop { body, .. } => body.iter().for_each(|node| node.all_strides(key)),
            NodeKind::Made(_) => {}
        }
    }
}
