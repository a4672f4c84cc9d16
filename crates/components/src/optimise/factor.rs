//! Products in one sum that share a factor: `ab ⊕ ac = a(b ⊕ c)`.
//!
//! The products are AND gates that only this sum reads. The shared factor may be negated in one of
//! them: `ab ⊕ ¬a·c = a(b ⊕ c) ⊕ c`. The factor that most products of a sum share is taken first.

use std::collections::HashMap;

use tacit_circuit::netlist::{Literal, Node, Sharing};

use super::blocks::{Block, blocks};
use super::{Network, moved};

/// Runs the pass.
pub(super) fn run(network: &Network) -> Network {
    let uses = network.uses();
    let mut sums = blocks(network).into_iter().peekable();
    let mut gates = Sharing::default();
    let mut places: Vec<Literal> = Vec::with_capacity(network.netlist.node_count());
    for node in 0..network.netlist.node_count() as u32 {
        let literal = match (network.netlist.node(node), sums.peek()) {
            (Node::Input(_), _) => gates.input(),
            (_, Some(sum)) if sum.root == node => {
                let literal = factored(network, &uses, sum, &mut gates, &places);
                sums.next();
                literal
            }
            (Node::Xor(a, b), _) => gates.xor(moved(&places, a), moved(&places, b)),
            (Node::And(a, b), _) => gates.and(moved(&places, a), moved(&places, b)),
        };
        places.push(literal);
    }
    let roots = network.roots.iter().map(|&root| moved(&places, root));
    let roots = roots.collect();
    network.clone().replaced(gates, roots)
}

/// Returns a sum with its products factored, or unchanged if there is nothing to save.
fn factored(
    network: &Network,
    uses: &[u32],
    sum: &Block,
    gates: &mut Sharing,
    places: &[Literal],
) -> Literal {
    let mut products = Vec::new();
    let mut others = Vec::new();
    for &term in &sum.terms {
        match network.netlist.node(term) {
            Node::And(a, b) if uses[term as usize] == 1 => {
                products.push([moved(places, a), moved(places, b)]);
            }
            _ => others.push(places[term as usize]),
        }
    }
    let Some(groups) = grouped(products) else {
        let Node::Xor(a, b) = network.netlist.node(sum.root) else {
            unreachable!("a sum's root is a XOR gate")
        };
        return gates.xor(moved(places, a), moved(places, b));
    };
    for (factor, rests) in groups {
        let mut inner = Literal::FALSE;
        for [other, rest] in rests {
            inner = gates.xor(inner, rest);
            if other != factor {
                others.push(rest);
            }
        }
        others.push(gates.and(factor, inner));
    }
    others
        .into_iter()
        .fold(Literal::FALSE, |sum, term| gates.xor(sum, term))
}

/// A factor, and the products that contain it or its negation: for each product, that factor as it
/// occurs, and the other factor.
type Group = (Literal, Vec<[Literal; 2]>);

/// Groups the products by shared factors. Returns `None` if no factor is shared.
fn grouped(mut products: Vec<[Literal; 2]>) -> Option<Vec<Group>> {
    let mut groups = Vec::new();
    let mut is_gain = false;
    while !products.is_empty() {
        let mut counts: HashMap<u32, usize> = HashMap::new();
        for literal in products.iter().flatten() {
            *counts.entry(literal.node()).or_default() += 1;
        }
        let most = counts
            .into_iter()
            .max_by_key(|&(node, count)| (count, node));
        let (node, count) = most?;
        is_gain |= count > 1;
        let (shared, rest) = products
            .into_iter()
            .partition::<Vec<_>, _>(|product| product.iter().any(|l| l.node() == node));
        products = rest;
        let sides = shared
            .into_iter()
            .map(|[a, b]| if a.node() == node { [a, b] } else { [b, a] });
        let sides: Vec<[Literal; 2]> = sides.collect();
        groups.push((sides[0][0], sides));
    }
    is_gain.then_some(groups)
}
