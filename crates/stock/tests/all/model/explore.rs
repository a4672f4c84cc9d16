//! Every state that a model reaches, breadth first.
//!
//! Written here because what must be shown is that *some* way leads on from *every* state. Of the
//! model checkers in Rust, stateright checks that every way leads on, skips cycles when it does,
//! and brings a web server and a second `rand`.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// The states by number, from the first, and the steps between them.
pub(super) struct Graph<S, A> {
    pub(super) states: Vec<S>,
    /// The steps from each state, and where they lead.
    pub(super) steps: Vec<Vec<(A, usize)>>,
    /// The step by which each state was found first, and from where.
    found: Vec<Option<(usize, A)>>,
}

/// Explores a model from `start`, as far as states are not `last`.
pub(super) fn explore<S: Copy + Eq + Hash, A: Copy>(
    start: S,
    next: impl Fn(&S) -> Vec<(A, S)>,
    is_last: impl Fn(&S) -> bool,
) -> Graph<S, A> {
    let mut numbers = HashMap::from([(start, 0)]);
    let mut graph = Graph {
        states: vec![start],
        steps: Vec::new(),
        found: vec![None],
    };
    while let Some(state) = graph.states.get(graph.steps.len()).copied() {
        let from = graph.steps.len();
        let steps = if is_last(&state) {
            Vec::new()
        } else {
            next(&state)
        };
        let steps = steps.into_iter().map(|(action, state)| {
            let to = *numbers.entry(state).or_insert_with(|| {
                graph.states.push(state);
                graph.found.push(Some((from, action)));
                graph.states.len() - 1
            });
            (action, to)
        });
        graph.steps.push(steps.collect());
    }
    graph
}

impl<S, A: Copy> Graph<S, A> {
    /// Returns the shortest way to a state.
    pub(super) fn way_to(&self, mut state: usize) -> Vec<A> {
        let mut way = Vec::new();
        while let Some((from, action)) = self.found[state] {
            way.push(action);
            state = from;
        }
        way.reverse();
        way
    }

    /// Returns the first state that `must` lead to a goal and does not, by steps that `may` be
    /// taken.
    pub(super) fn stuck(
        &self,
        must: impl Fn(&S) -> bool,
        is_goal: impl Fn(usize) -> bool,
        may: impl Fn(&A) -> bool,
    ) -> Option<usize> {
        let mut before = vec![Vec::new(); self.states.len()];
        for (from, steps) in self.steps.iter().enumerate() {
            for (_, to) in steps.iter().filter(|(action, _)| may(action)) {
                before[*to].push(from);
            }
        }
        let mut leads: Vec<bool> = (0..self.states.len()).map(is_goal).collect();
        let mut queue: VecDeque<usize> = (0..leads.len()).filter(|state| leads[*state]).collect();
        while let Some(state) = queue.pop_front() {
            for from in &before[state] {
                if !std::mem::replace(&mut leads[*from], true) {
                    queue.push_back(*from);
                }
            }
        }
        let mut states = self.states.iter().zip(leads);
        states.position(|(state, leads)| !leads && must(state))
    }
}
