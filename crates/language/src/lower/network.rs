//! Networks: loops of calls that exchange elements of arrays, such as those that sort and merge.
//!
//! Such a loop is not unrolled. Its arrays become one variable of the function, and its calls stay
//! loops, which assign the variable's elements again. So a run takes memory for the arrays and not
//! for the results of all calls. Consecutive loops are one network.
//!
//! A loop belongs to a network if each of its statements is a loop again, an `if` on counters, a
//! call of a component on parts of variables and constants, or a move of such parts, and no index
//! is secret. Networks of fewer than [`MIN_CALLS`] calls are unrolled like other loops.

mod compile;
mod walk;

use std::rc::Rc;

use tacit_circuit::builder::Bit;

use super::Lower;
use super::emit::RolledSteps;
use super::lines::SiteId;
use super::trace::{Called, Frame, MAX_STEPS, Tracer};
use crate::program::{CounterId, FunctionId, Number, Statement, StatementKind, Variable};
use crate::source::{Span, Symbol};

pub(super) use compile::network_at;

/// The least number of calls of a network, counted with both branches of each `if`.
pub(super) const MIN_CALLS: u64 = 1 << 14;
/// The number of calls of a network that count as one step of a run.
pub(super) const CALLS_OF_A_STEP: u64 = 4;

/// Loops that form a network.
#[derive(Debug)]
pub(super) struct Loops {
    /// The number of statements.
    pub(super) statements: usize,
    span: Span,
    /// The variables, with the places of their first bits.
    variables: Vec<NetworkVariable>,
    /// The number of bits of all variables.
    width: usize,
    /// The greatest number that divides the starts and widths of all parts.
    granule: usize,
    steps: Vec<NetworkStep>,
}

#[derive(Debug)]
struct NetworkVariable {
    variable: Variable,
    start: usize,
    width: usize,
    /// Whether it belongs to a turn of a loop, so that nothing outside reads it.
    is_inner: bool,
    is_assigned: bool,
}

#[derive(Debug)]
enum NetworkStep {
    For(NetworkLoop),
    If(Number, Span, [Vec<NetworkStep>; 2]),
    /// An assignment of the parts of a result or of a move.
    Assign(Assignment),
}

#[derive(Debug)]
struct NetworkLoop {
    counter: CounterId,
    from: Number,
    to: Number,
    span: Span,
    body: Vec<NetworkStep>,
}

#[derive(Debug)]
struct Assignment {
    /// The component, or `None` if the arguments themselves are assigned.
    component: Option<FunctionId>,
    span: Span,
    targets: Vec<Place>,
    arguments: Vec<Vec<ArgumentPiece>>,
}

/// A piece of an argument.
#[derive(Debug)]
enum ArgumentPiece {
    Place(Place),
    Constant(Vec<bool>),
}

/// Consecutive bits of the variables.
#[derive(Debug)]
struct Place {
    start: usize,
    width: usize,
    indices: Vec<PlaceIndex>,
}

/// An index of an array, which adds `stride` bits for each element.
#[derive(Debug)]
struct PlaceIndex {
    number: Number,
    stride: usize,
    /// The number of elements, and the greatest index.
    elements: u32,
    last: i64,
    span: Span,
}

/// A network that was walked: its calls as rolled steps.
#[derive(Debug)]
pub(super) struct Network {
    /// The number of bits of all variables.
    pub(super) width: usize,
    /// The places of the variables that have values before the network, in the order of the call's
    /// arguments. The next field has those of the variables that it assigns.
    pub(super) given: Vec<(usize, usize)>,
    pub(super) results: Vec<(usize, usize)>,
    pub(super) steps: Rc<RolledSteps>,
    /// The components that the steps call, by their numbers there.
    pub(super) components: Vec<NetworkComponent>,
    /// The numbers of calls, by their sites and components.
    pub(super) calls: Vec<(SiteId, usize, u64)>,
    /// The loops in which each turn waits for the one before.
    pub(super) chains: Vec<NetworkChain>,
    /// The greatest number of calls that wait for each other.
    pub(super) depth: u32,
}

/// A component, whose result is cut into parts of these widths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NetworkComponent {
    pub(super) function: FunctionId,
    pub(super) results: Vec<usize>,
}

/// A loop whose turns wait for each other.
#[derive(Clone, Debug)]
pub(super) struct NetworkChain {
    pub(super) span: Span,
    pub(super) function: Symbol,
    pub(super) variables: Vec<Symbol>,
    pub(super) turns: u64,
    /// The number of calls that wait for each other.
    pub(super) calls: u32,
}

impl Loops {
    /// Returns the number of calls, counted with both branches of each `if`, or `None` if a number
    /// of counters has no value.
    pub(super) fn most_calls(&self, counters: &[i128]) -> Option<u64> {
        let mut counters = counters.to_vec();
        most_calls(&self.steps, &mut counters)
    }

    /// Returns the number of bits of its variables, and the bits of each of their elements.
    pub(super) fn size(&self) -> (u64, u64) {
        (self.width as u64, self.granule as u64)
    }
}

fn most_calls(steps: &[NetworkStep], counters: &mut [i128]) -> Option<u64> {
    let mut sum = 0_u64;
    for step in steps {
        let more = match step {
            NetworkStep::Assign(_) => 1,
            NetworkStep::If(_, _, branches) => {
                let [one, other] = branches;
                most_calls(one, counters)?.saturating_add(most_calls(other, counters)?)
            }
            NetworkStep::For(each) => each.most_calls(counters)?,
        };
        sum = sum.saturating_add(more);
    }
    Some(sum)
}

impl NetworkLoop {
    fn most_calls(&self, counters: &mut [i128]) -> Option<u64> {
        let (from, to) = (self.from.evaluate(counters)?, self.to.evaluate(counters)?);
        let turns = u64::try_from(to.saturating_sub(from).max(0)).unwrap_or(u64::MAX);
        if turns == 0 {
            return Some(0);
        }
        let counter = self.counter.0 as usize;
        counters[counter] = from;
        if !bounds_read(&self.body, self.counter) {
            return Some(most_calls(&self.body, counters)?.saturating_mul(turns));
        }
        let mut sum = 0_u64;
        for turn in from..to {
            counters[counter] = turn;
            sum = sum.saturating_add(most_calls(&self.body, counters)?);
            if sum > MAX_STEPS * CALLS_OF_A_STEP {
                break;
            }
        }
        Some(sum)
    }
}

/// Whether the bounds of an inner loop depend on a counter.
fn bounds_read(steps: &[NetworkStep], counter: CounterId) -> bool {
    steps.iter().any(|step| match step {
        NetworkStep::Assign(_) => false,
        NetworkStep::If(_, _, branches) => branches.iter().any(|all| bounds_read(all, counter)),
        NetworkStep::For(each) => {
            each.from.reads(counter) || each.to.reads(counter) || bounds_read(&each.body, counter)
        }
    })
}

impl<'b, 'p> Tracer<'b, 'p> {
    /// Traces statements, of which networks stay loops.
    pub(super) fn statements(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        statements: &'p [Statement],
    ) -> Lower<()> {
        let mut rest = statements;
        while let Some((statement, after)) = rest.split_first() {
            rest = match self.network(frame, rest)? {
                Some(taken) => &rest[taken..],
                None => {
                    self.statement(frame, statement)?;
                    after
                }
            };
        }
        Ok(())
    }

    /// Traces the network that starts with the first of these statements. Returns the number of
    /// statements, or `None` if there is no network.
    fn network(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        statements: &'p [Statement],
    ) -> Lower<Option<usize>> {
        let starts = matches!(
            statements.first().map(|s| &s.kind),
            Some(StatementKind::For(_))
        );
        if !starts || !self.keeps_networks || !self.calls_components() {
            return Ok(None);
        }
        let key = statements.as_ptr();
        let loops = self
            .network_loops
            .entry(key)
            .or_insert_with(|| network_at(self.program, frame.function, statements).map(Rc::new));
        let Some(loops) = loops.clone() else {
            return Ok(None);
        };
        let calls = loops.most_calls(&frame.counters);
        let is_assigned = |variable: &&NetworkVariable| variable.is_assigned && !variable.is_inner;
        let assigned: Vec<&NetworkVariable> = loops.variables.iter().filter(is_assigned).collect();
        if calls.is_none_or(|calls| calls < MIN_CALLS) || assigned.is_empty() {
            return Ok(None);
        }
        let outer = loops.variables.iter().filter(|variable| !variable.is_inner);
        // The pairs of a join have no wires.
        let lacks_wires = |of: &NetworkVariable| self.wires(frame, of.variable).len() != of.width;
        if outer.clone().any(lacks_wires) {
            return Ok(None);
        }
        let Some(network) = self.walked(frame, &loops)? else {
            return Ok(None);
        };
        let arguments = outer.map(|of| self.wires(frame, of.variable).clone());
        let arguments: Vec<Vec<Bit<'b>>> = arguments.collect();
        let width = assigned.iter().map(|variable| variable.width).sum();
        let number = self.networks.len() as u32;
        self.networks.push(network);
        let bits = self.called(Called::Network(number), arguments, width, loops.span);
        let mut rest = &bits[..];
        for variable in assigned {
            let (these, after) = rest.split_at(variable.width);
            rest = after;
            self.write(frame, variable.variable, 0, these);
        }
        Ok(Some(loops.statements))
    }
}
