//! Compares rows of nodes.

use super::{MAX_DEPTH, MAX_ROW, MIN_TURNS, Node};

/// Consecutive nodes that are compared.
pub(super) struct Rows {
    alike: Vec<i64>,
    depths: Vec<usize>,
    /// The starts of all nodes, and the position of each node's starts.
    starts: Vec<i64>,
    first: Vec<usize>,
}

impl Rows {
    pub(super) fn new(nodes: &[Node]) -> Self {
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

    /// Returns the row at `at` that repeats most, as its length and its number of turns.
    pub(super) fn longest_at(&self, at: usize) -> Option<(usize, usize)> {
        let mut best: Option<(usize, usize)> = None;
        for row in 1..=MAX_ROW {
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

    pub(super) fn strides(&self, at: usize, row: usize) -> Vec<i64> {
        let pairs = self.of(at, row).iter().zip(self.of(at + row, row));
        pairs.map(|(before, now)| now - before).collect()
    }

    /// Returns the starts of the nodes of a row.
    fn of(&self, at: usize, row: usize) -> &[i64] {
        &self.starts[self.first[at]..self.first[at + row]]
    }
}
