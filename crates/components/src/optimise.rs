//! The optimiser: passes over a circuit that never change what it computes.
//!
//! | pass | what it does |
//! |---|---|
//! | [`Fold`](PassName::Fold) | constants, equal gates, absorption, dead gates: what the builder also does while building |
//! | [`Linear`](PassName::Linear) | gates that are equal up to the order of XORs, and ANDs over one pair of sums (`linear`) |
//! | [`Rewrite`](PassName::Rewrite) | parts with up to four inputs, rebuilt with the fewest AND gates for their function (`rewrite`) |
//! | [`Factor`](PassName::Factor) | two products in one sum that share a factor become one: `ab ⊕ ac = a(b ⊕ c)` (`factor`) |
//! | [`Sums`](PassName::Sums) | the common parts of XORs are computed once (`sums`) |
//!
//! Linear, rewrite and factor repeat while they save a thousandth of the gates, at most
//! [`MAX_ROUNDS`] times. Sums comes last, alternating with linear in the same way. AND gates count
//! first and XOR gates second. A pass that would make a circuit larger is dropped, so the result is
//! never worse than the input.
//!
//! The optimiser counts AND gates, not layers. So it may make a circuit deep again that was built
//! in the shallow form. It runs only on request: neither the library nor the language calls it.
//!
//! The result is another circuit with another digest, so two parties who run it must both have it.
//! It depends on the circuit alone, so each party can compute it.
//!
//! **Cost**: about 100 bytes per gate, and a few microseconds per gate and round. No pass looks at
//! more than a bounded neighbourhood of a gate.
//!
//! Sources: E. Testa, M. Soeken, L. Amarù, G. De Micheli, "Reducing the Multiplicative Complexity
//! in Logic Networks for Cryptography and Security Applications", DAC 2019 (rewriting); C. Paar,
//! "Optimized Arithmetic for Reed–Solomon Encoders", ISIT 1997 (sharing of sums).

mod blocks;
mod classes;
mod cuts;
mod factor;
mod linear;
mod rewrite;
mod sums;
#[cfg(test)]
mod tests;

use core::fmt;

use tacit_circuit::netlist::{Literal, Netlist, Node, Sharing};
use tacit_circuit::{Circuit, Digest};

use classes::Classes;

/// The most rounds of the passes that reduce AND gates.
pub(crate) const MAX_ROUNDS: usize = 12;

/// A pass of the optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PassName {
    /// Folds constants, equal gates and absorption, and removes dead gates.
    Fold,
    /// Merges gates that are equal up to the order of XORs.
    Linear,
    /// Rebuilds parts with up to four inputs with the fewest AND gates.
    Rewrite,
    /// Merges products in one sum that share a factor.
    Factor,
    /// Shares the common parts of sums.
    Sums,
}

impl PassName {
    /// Returns the pass's name as one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fold => "fold",
            Self::Linear => "linear",
            Self::Rewrite => "rewrite",
            Self::Factor => "factor",
            Self::Sums => "sums",
        }
    }
}

impl fmt::Display for PassName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The size of a circuit for garbling, without its negations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The number of AND gates.
    pub and: usize,
    /// The number of XOR gates.
    pub xor: usize,
    /// The number of gates on the longest path.
    pub depth: u32,
    /// The number of AND gates on the path that has most of them.
    pub and_depth: u32,
}

impl Size {
    /// Returns the numbers that matter for garbling: AND gates, then XOR gates.
    fn gates(self) -> (usize, usize) {
        (self.and, self.xor)
    }

    /// Whether a round saved enough for another one: a thousandth of the gates of either kind.
    fn is_well_below(self, before: Self) -> bool {
        let gained = |before: usize, after: usize| before.saturating_sub(after) > before / 1000;
        gained(before.and, self.and) || gained(before.xor, self.xor)
    }
}

/// The effect of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The pass.
    pub name: PassName,
    /// The size before the pass.
    pub before: Size,
    /// The size after the pass.
    pub after: Size,
}

/// A circuit after the optimiser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Optimised {
    /// The circuit, with the same ports and the same function.
    pub circuit: Circuit,
    /// The passes that saved something, in order. The first one starts from the original circuit
    /// without its INV gates.
    pub passes: Vec<Pass>,
}

/// Returns a circuit equal to `circuit` with at most as many AND gates. If it has as many, it has
/// at most as many XOR gates.
///
/// Takes time linear in the number of gates and rounds, and about 100 bytes of memory per gate.
pub fn optimise(circuit: &Circuit) -> Optimised {
    let mut work = Optimisation::new(circuit);
    let mut classes = Classes::new();
    for _ in 0..MAX_ROUNDS {
        let before = work.size;
        work.pass(PassName::Linear, linear::run);
        work.pass(PassName::Rewrite, |network| {
            rewrite::run(network, &mut classes)
        });
        work.pass(PassName::Factor, factor::run);
        if !work.size.is_well_below(before) {
            break;
        }
    }
    for _ in 0..MAX_ROUNDS {
        let before = work.size;
        work.pass(PassName::Sums, sums::extract_pairs);
        work.pass(PassName::Sums, sums::reuse_and_extract_pairs);
        work.pass(PassName::Linear, linear::run);
        if !work.size.is_well_below(before) {
            break;
        }
    }
    work.finish(circuit)
}

/// A circuit between passes: its gates, all of which are live, and its outputs.
#[derive(Clone, Debug)]
struct Network {
    netlist: Netlist,
    roots: Vec<Literal>,
    /// The source of choices that must be hard to foresee.
    digest: Digest,
}

impl Network {
    fn size(&self) -> Size {
        let mut size = Size::default();
        // A circuit makes a constant with one XOR gate.
        size.xor += usize::from(self.roots.iter().any(|root| root.as_constant().is_some()));
        let mut depths: Vec<(u32, u32)> = Vec::with_capacity(self.netlist.node_count());
        for number in 0..self.netlist.node_count() as u32 {
            let (count, a, b, and) = match self.netlist.node(number) {
                Node::Input(_) => {
                    depths.push((0, 0));
                    continue;
                }
                Node::Xor(a, b) => (&mut size.xor, a, b, 0),
                Node::And(a, b) => (&mut size.and, a, b, 1),
            };
            *count += 1;
            let (a, b) = (depths[a.node() as usize], depths[b.node() as usize]);
            let depth = (a.0.max(b.0) + 1, a.1.max(b.1) + and);
            size.depth = size.depth.max(depth.0);
            size.and_depth = size.and_depth.max(depth.1);
            depths.push(depth);
        }
        size
    }

    /// Returns the network of `sharing`, or `self` if `sharing` exceeded a netlist's limit.
    fn replaced(self, sharing: Sharing, mut roots: Vec<Literal>) -> Self {
        match sharing.into_netlist() {
            Some(mut netlist) => {
                netlist.retain_live(&mut roots);
                Self {
                    netlist,
                    roots,
                    digest: self.digest,
                }
            }
            None => self,
        }
    }

    /// Returns how often each node is read, by gates and by outputs.
    fn uses(&self) -> Vec<u32> {
        let mut uses = vec![0_u32; self.netlist.node_count()];
        for number in 0..self.netlist.node_count() as u32 {
            if let Node::Xor(a, b) | Node::And(a, b) = self.netlist.node(number) {
                uses[a.node() as usize] += 1;
                uses[b.node() as usize] += 1;
            }
        }
        for root in self
            .roots
            .iter()
            .filter(|root| root.as_constant().is_none())
        {
            uses[root.node() as usize] += 1;
        }
        uses
    }
}

/// Translates an old literal into a new network, given the new place of each node.
fn moved(places: &[Literal], old: Literal) -> Literal {
    match old.as_constant() {
        Some(_) => old,
        None => places[old.node() as usize].negated_if(old.is_negated()),
    }
}

/// The network, and the effects of its passes.
struct Optimisation {
    network: Network,
    size: Size,
    passes: Vec<Pass>,
    given: Size,
}

impl Optimisation {
    fn new(circuit: &Circuit) -> Self {
        let given = size_as_given(circuit);
        let mut sharing = Sharing::default();
        let inputs = (0..circuit.input_bits()).map(|_| sharing.input()).collect();
        let mut roots = sharing.splice(circuit, inputs);
        // A netlist can hold as many nodes as a circuit can have wires.
        let mut netlist = sharing.into_netlist().unwrap_or_default();
        netlist.retain_live(&mut roots);
        let digest = circuit.digest();
        let network = Network {
            netlist,
            roots,
            digest,
        };
        let mut work = Self {
            size: given,
            passes: Vec::new(),
            given,
            network,
        };
        work.note(PassName::Fold);
        work
    }

    fn note(&mut self, name: PassName) {
        let (before, after) = (self.size, self.network.size());
        if before.gates() != after.gates() {
            self.passes.push(Pass {
                name,
                before,
                after,
            });
        }
        self.size = after;
    }

    /// Runs a pass and keeps its result if it is smaller.
    fn pass(&mut self, name: PassName, run: impl FnOnce(&Network) -> Network) {
        let result = run(&self.network);
        let size = result.size();
        if size.gates() < self.size.gates() {
            self.network = result;
            self.note(name);
        }
    }

    fn finish(self, given: &Circuit) -> Optimised {
        let Network { netlist, roots, .. } = self.network;
        match netlist.into_circuit(given, roots) {
            Ok(circuit) if self.size.gates() < self.given.gates() => Optimised {
                circuit,
                passes: self.passes,
            },
            // Nothing was saved, or the negations do not fit.
            _ => Optimised {
                circuit: given.clone(),
                passes: Vec::new(),
            },
        }
    }
}

/// Returns the size of a circuit's gates as given, including dead ones.
fn size_as_given(circuit: &Circuit) -> Size {
    let statistics = circuit.statistics();
    Size {
        and: statistics.and,
        xor: statistics.xor,
        depth: statistics.depth,
        and_depth: statistics.and_depth,
    }
}
