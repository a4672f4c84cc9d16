//! Turns repeated steps into loops.
//!
//! A run is traced turn by turn, so that its steps come one by one. Two steps are *alike* if they
//! differ in where their wires stand alone. Where a row of steps repeats the row before it three
//! times or more, each of its places moved by the same distance, the rows become one loop, whose
//! counter is in the places. This is done again with the loops as steps, so that loops in loops
//! come back; what is found need not be the loops of the source, and means the same.

use std::collections::HashMap;
use std::fmt::Write as _;

use tacit_function::FunctionBuilder;

use super::text::{Piece, pieces_text};

/// Longest row of steps that is looked for.
const MAX_ROW: usize = 12;
/// Most pieces of wires of a step in a loop, which bounds its text.
const MAX_STARTS: usize = 16;
/// Fewest turns of a loop.
const MIN_TURNS: usize = 3;
/// Deepest nesting of loops in a function.
const MAX_DEPTH: usize = 8;

/// What a step assigns to wires in a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// How many wires.
    pub(super) width: usize,
    /// The component that is called, by number; nothing where wires are moved.
    pub(super) component: Option<usize>,
    /// Its arguments, with 0 in place of where wires stand.
    arguments: Vec<Vec<Piece>>,
}

/// Steps of a function, in the order in which they run.
#[derive(Debug, Default)]
pub(super) struct Steps {
    nodes: Vec<Node>,
    shapes: Vec<Shape>,
    numbers: HashMap<Shape, usize>,
    /// The likeness of nodes, each by its number.
    likeness: HashMap<Vec<i64>, i64>,
}

/// A step or a loop.
#[derive(Debug)]
struct Node {
    /// Nodes of the same number differ in `starts` alone.
    alike: i64,
    what: What,
    /// The number of loops in each other; the most there is where it may stand in none.
    depth: usize,
}

#[derive(Debug)]
enum What {
    Step {
        shape: usize,
        /// Where wires stand in the first turns: the target, then the arguments' pieces.
        starts: Vec<i64>,
        /// How far each start moves with a turn of each loop around the step, innermost first.
        strides: Vec<Vec<i64>>,
    },
    Loop {
        turns: usize,
        body: Vec<Node>,
    },
}

impl Node {
    fn starts(&self, all: &mut Vec<i64>) {
        match &self.what {
            What::Step { starts, .. } => all.extend(starts),
            What::Loop { body, .. } => body.iter().for_each(|node| node.starts(all)),
        }
    }

    /// Puts the steps into one more loop.
    fn push_strides(&mut self, rest: &mut &[i64]) {
        match &mut self.what {
            What::Step {
                starts, strides, ..
            } => {
                let (own, after) = rest.split_at(starts.len());
                strides.push(own.to_vec());
                *rest = after;
            }
            What::Loop { body, .. } => body.iter_mut().for_each(|node| node.push_strides(rest)),
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
        for piece in arguments.iter_mut().flatten() {
            if let Piece::Wires(start, _) = piece {
                starts.push(*start as i64);
                *start = 0;
            }
        }
        let wide = starts.len() > MAX_STARTS;
        let shape = Shape {
            width,
            component,
            arguments,
        };
        let shape = match self.numbers.get(&shape) {
            Some(number) => *number,
            None => {
                self.shapes.push(shape.clone());
                self.numbers.insert(shape, self.shapes.len() - 1);
                self.shapes.len() - 1
            }
        };
        let what = What::Step {
            shape,
            starts,
            strides: Vec::new(),
        };
        let depth = match wide {
            true => MAX_DEPTH,
            false => 0,
        };
        self.nodes.push(Node {
            alike: shape as i64,
            what,
            depth,
        });
    }

    /// Gives the steps to a builder, what repeats as loops. Components have these names and
    /// widths of results; `value` is where the wires are; counters' names begin with `counter`.
    pub(super) fn give(
        mut self,
        builder: &mut FunctionBuilder,
        (names, widths): (&[String], &[Vec<usize>]),
        value: &str,
        counter: &str,
    ) {
        let mut nodes = std::mem::take(&mut self.nodes);
        // Steps in a row first, so that the rows of loops are short.
        for row in [1, MAX_ROW, MAX_ROW, MAX_ROW, MAX_ROW] {
            let before = nodes.len();
            nodes = self.rolled(nodes, row);
            if row > 1 && nodes.len() == before {
                break;
            }
        }
        let text = Text {
            shapes: &self.shapes,
            names,
            widths,
            value,
            counter,
        };
        text.nodes(builder, &nodes, 0);
    }

    fn rolled(&mut self, nodes: Vec<Node>, longest: usize) -> Vec<Node> {
        let rows = Rows::new(&nodes);
        let mut rest = nodes.into_iter();
        let mut rolled = Vec::new();
        let mut next = 0;
        while let Some(node) = rest.next() {
            let Some((row, turns)) = rows.longest_at(next, longest) else {
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
        let what = What::Loop { turns, body };
        Node { alike, what, depth }
    }
}

impl Node {
    fn all_strides(&self, key: &mut Vec<i64>) {
        match &self.what {
            What::Step { strides, .. } => key.extend(strides.iter().flatten()),
            What::Loop { body, .. } => body.iter().for_each(|node| node.all_strides(key)),
        }
    }
}

/// Nodes in a row, to be compared.
struct Rows {
    alike: Vec<i64>,
    depths: Vec<usize>,
    /// The starts of all nodes, and where each node's begin.
    starts: Vec<i64>,
    first: Vec<usize>,
}

impl Rows {
    fn new(nodes: &[Node]) -> Self {
        let mut starts = Vec::new();
        let mut first = vec![0];
        for node in nodes {
            node.starts(&mut starts);
            first.push(starts.len());
        }
        Self {
            alike: nodes.iter().map(|node| node.alike).collect(),
            depths: nodes.iter().map(|node| node.depth).collect(),
            starts,
            first,
        }
    }

    /// The row at `at` that repeats most, as its length and how many turns.
    fn longest_at(&self, at: usize, longest: usize) -> Option<(usize, usize)> {
        let mut best: Option<(usize, usize)> = None;
        for row in 1..=longest {
            let fits = at + row * MIN_TURNS <= self.alike.len();
            if !fits || self.depths[at + row - 1] == MAX_DEPTH {
                break;
            }
            let turns = self.turns(at, row);
            if turns >= MIN_TURNS && best.is_none_or(|(row, most)| row * most < row * turns) {
                best = Some((row, turns));
            }
        }
        best
    }

    fn turns(&self, at: usize, row: usize) -> usize {
        let is_alike = |turn: usize| {
            let start = at + turn * row;
            start + row <= self.alike.len()
                && self.alike[start..start + row] == self.alike[at..at + row]
        };
        if !is_alike(1) {
            return 1;
        }
        let moved = |turn: usize| {
            let (before, now) = (
                self.of(at + (turn - 1) * row, row),
                self.of(at + turn * row, row),
            );
            before.iter().zip(now).map(|(before, now)| now - before)
        };
        let mut turns = 2;
        while is_alike(turns) && moved(turns).eq(moved(1)) {
            turns += 1;
        }
        turns
    }

    fn strides(&self, at: usize, row: usize) -> Vec<i64> {
        let pairs = self.of(at, row).iter().zip(self.of(at + row, row));
        pairs.map(|(before, now)| now - before).collect()
    }

    /// The starts of the nodes of a row.
    fn of(&self, at: usize, row: usize) -> &[i64] {
        &self.starts[self.first[at]..self.first[at + row]]
    }
}

/// Steps as text.
struct Text<'t> {
    shapes: &'t [Shape],
    names: &'t [String],
    widths: &'t [Vec<usize>],
    value: &'t str,
    counter: &'t str,
}

impl Text<'_> {
    fn nodes(&self, builder: &mut FunctionBuilder, nodes: &[Node], depth: usize) {
        for node in nodes {
            match &node.what {
                What::Loop { turns, body } => {
                    let head = format!("{}{depth} in 0..{turns}", self.counter);
                    builder.repeat(&head, |each| self.nodes(each, body, depth + 1));
                }
                What::Step {
                    shape,
                    starts,
                    strides,
                } => {
                    builder.step(&self.step(&self.shapes[*shape], starts, strides));
                }
            }
        }
    }

    fn step(&self, shape: &Shape, starts: &[i64], strides: &[Vec<i64>]) -> String {
        let mut places = (0..starts.len()).map(|number| self.place(number, starts, strides));
        let mut next = || places.next().unwrap_or_default();
        let (start, counters) = next();
        let whole = [shape.width];
        let widths = shape.component.map_or(&whole[..], |of| &self.widths[of]);
        let mut offset = 0;
        let targets = widths.iter().map(|width| {
            let mut place = || (start + offset, counters.clone());
            let text = pieces_text(self.value, &[Piece::Wires(0, *width)], &mut place);
            offset += width;
            text
        });
        let mut text = targets.collect::<Vec<_>>().join(",") + "=";
        let arguments = shape.arguments.iter();
        let arguments: Vec<String> = arguments
            .map(|pieces| pieces_text(self.value, pieces, &mut next))
            .collect();
        match shape.component {
            None => text += &arguments.join("++"),
            Some(number) => {
                let _ = write!(text, "{}({})", self.names[number], arguments.join(","));
            }
        }
        text
    }

    /// Where wires begin, and what the counters add to it.
    fn place(&self, number: usize, starts: &[i64], strides: &[Vec<i64>]) -> (usize, String) {
        let mut counters = String::new();
        for (depth, strides) in strides.iter().rev().enumerate() {
            let (stride, counter) = (strides[number], self.counter);
            let _ = match stride {
                0 => Ok(()),
                1.. => write!(counters, "+{stride}*{counter}{depth}"),
                _ => write!(counters, "-{}*{counter}{depth}", -stride),
            };
        }
        (starts[number] as usize, counters)
    }
}
