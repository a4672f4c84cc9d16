//! The sharing of common parts of sums, which are then computed once.
//!
//! This works on the sums of the network (`blocks`). As in Paar's algorithm, the pair of terms that
//! most sums share becomes a sum of its own, again and again. Before that, a sum that has most
//! terms of an earlier one can be written as the earlier one plus the terms in which they differ,
//! so that terms cancel. Only the end result shows whether this step helps.
//!
//! Sums are processed [`MOST_PAIRS`] pairs of terms at a time, which bounds memory.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use tacit_circuit::netlist::{Literal, Node, Sharing};

use super::blocks::{Block, blocks, difference};
use super::{Network, moved};

/// The most pairs of terms that are counted at a time, some 60 bytes each.
const MOST_PAIRS: usize = 1 << 21;
/// The most earlier sums that share a term and are compared with a sum.
const MOST_COMPARED: usize = 32;
/// The most times that a sum is rewritten.
const MOST_REWRITES: usize = 8;

/// Shares pairs of terms.
pub(super) fn extract_pairs(network: &Network) -> Network {
    share(network, blocks(network))
}

/// Rewrites sums in terms of earlier ones, then shares pairs of terms.
pub(super) fn reuse_and_extract_pairs(network: &Network) -> Network {
    let mut blocks = blocks(network);
    reuse(&mut blocks);
    share(network, blocks)
}

fn share(network: &Network, mut blocks: Vec<Block>) -> Network {
    let mut pairs = Vec::new();
    let first = network.netlist.node_count() as u32;
    let mut rest = blocks.as_mut_slice();
    while !rest.is_empty() {
        let mut count = 0;
        let end = rest.iter().position(|block| {
            count += block.terms.len() * block.terms.len() / 2;
            count > MOST_PAIRS
        });
        let (chunk, after) = rest.split_at_mut(end.unwrap_or(rest.len()).max(1));
        Pairs::new(first, &mut pairs, chunk).extract();
        rest = after;
    }
    build(network, &blocks, &pairs)
}

/// Rewrites each sum as an earlier one plus the difference, if that is shorter.
fn reuse(blocks: &mut [Block]) {
    let mut readers: HashMap<u32, Vec<u32>> = HashMap::new();
    for index in 0..blocks.len() {
        for _ in 0..MOST_REWRITES {
            let Some(terms) = shorter(blocks, index, &readers) else {
                break;
            };
            blocks[index].terms = terms;
        }
        for &term in &blocks[index].terms {
            readers.entry(term).or_default().push(index as u32);
        }
    }
}

/// Returns the terms of a sum in terms of an earlier one, if they are fewer.
fn shorter(blocks: &[Block], index: usize, readers: &HashMap<u32, Vec<u32>>) -> Option<Vec<u32>> {
    let terms = &blocks[index].terms;
    let mut shared: HashMap<u32, usize> = HashMap::new();
    for term in terms {
        let earlier = readers.get(term).map_or(&[][..], Vec::as_slice);
        for &other in earlier.iter().rev().take(MOST_COMPARED) {
            *shared.entry(other).or_default() += 1;
        }
    }
    // The terms that differ, plus the other sum as a term.
    let length =
        |other: u32, count: usize| terms.len() + blocks[other as usize].terms.len() + 1 - 2 * count;
    let best = shared
        .into_iter()
        .map(|(other, count)| (length(other, count), other))
        .min()?;
    let other = &blocks[best.1 as usize];
    let differing = difference(terms, &other.terms);
    let terms_anew = difference(&differing, &[other.root]);
    (terms_anew.len() < terms.len()).then_some(terms_anew)
}

/// Pairs of terms, with the number of sums that contain both.
struct Pairs<'b> {
    /// The number of the first new sum.
    first: u32,
    /// The new sums, of two terms each.
    made: &'b mut Vec<[u32; 2]>,
    blocks: &'b mut [Block],
    counts: HashMap<[u32; 2], u32>,
    heap: BinaryHeap<(u32, Reverse<[u32; 2]>)>,
    readers: HashMap<u32, Vec<u32>>,
}

impl<'b> Pairs<'b> {
    fn new(first: u32, made: &'b mut Vec<[u32; 2]>, blocks: &'b mut [Block]) -> Self {
        let mut counts: HashMap<[u32; 2], u32> = HashMap::new();
        let mut readers: HashMap<u32, Vec<u32>> = HashMap::new();
        for (index, block) in blocks.iter().enumerate() {
            for (i, &a) in block.terms.iter().enumerate() {
                readers.entry(a).or_default().push(index as u32);
                for &b in &block.terms[i + 1..] {
                    *counts.entry([a, b]).or_default() += 1;
                }
            }
        }
        let several = counts.iter().filter(|(_, count)| **count > 1);
        let heap = several
            .map(|(&pair, &count)| (count, Reverse(pair)))
            .collect();
        Self {
            first,
            made,
            blocks,
            counts,
            heap,
            readers,
        }
    }

    fn extract(mut self) {
        while let Some((count, Reverse(pair))) = self.heap.pop() {
            let now = self.counts.get(&pair).copied().unwrap_or(0);
            if now < 2 {
                continue;
            }
            if now < count {
                self.heap.push((now, Reverse(pair)));
                continue;
            }
            self.take(pair);
        }
    }

    /// Makes a sum of a pair, and replaces the pair by it wherever both are terms.
    fn take(&mut self, pair: [u32; 2]) {
        let Some(number) = self.first.checked_add(self.made.len() as u32) else {
            return;
        };
        self.made.push(pair);
        let fewer = pair
            .into_iter()
            .min_by_key(|term| self.readers.get(term).map_or(0, Vec::len))
            .unwrap_or(pair[0]);
        let mut touched = Vec::new();
        for index in self.readers.get(&fewer).cloned().unwrap_or_default() {
            let block = &mut self.blocks[index as usize];
            if !pair
                .iter()
                .all(|term| block.terms.binary_search(term).is_ok())
            {
                continue;
            }
            block.terms.retain(|term| !pair.contains(term));
            for &term in &block.terms {
                for member in pair {
                    let key = [term.min(member), term.max(member)];
                    if let Some(count) = self.counts.get_mut(&key) {
                        *count -= 1;
                    }
                }
                *self.counts.entry([term, number]).or_default() += 1;
                touched.push(term);
            }
            // New numbers are greater than all others.
            block.terms.push(number);
            self.readers.entry(number).or_default().push(index);
        }
        self.counts.remove(&pair);
        touched.sort_unstable();
        touched.dedup();
        for term in touched {
            let key = [term, number];
            let count = self.counts.get(&key).copied().unwrap_or(0);
            if count > 1 {
                self.heap.push((count, Reverse(key)));
            }
        }
    }
}

/// Returns the network with these sums.
fn build(network: &Network, blocks: &[Block], pairs: &[[u32; 2]]) -> Network {
    let first = network.netlist.node_count();
    let mut gates = Sharing::default();
    let mut places = vec![Literal::FALSE; first];
    let mut made: Vec<Option<Literal>> = vec![None; pairs.len()];
    let mut sums = blocks.iter().peekable();
    for node in 0..first as u32 {
        let literal = match (network.netlist.node(node), sums.peek()) {
            (Node::Input(_), _) => gates.input(),
            (Node::And(a, b), _) => gates.and(moved(&places, a), moved(&places, b)),
            (Node::Xor(..), Some(sum)) if sum.root == node => {
                let mut total = Literal::FALSE;
                for &term in &sum.terms {
                    let term = term_of(term, first, pairs, &mut made, &mut gates, &places);
                    total = gates.xor(total, term);
                }
                sums.next();
                total
            }
            // This node is part of a later sum and has no other reader.
            (Node::Xor(..), _) => Literal::FALSE,
        };
        places[node as usize] = literal;
    }
    let roots = network.roots.iter().map(|&root| moved(&places, root));
    let roots = roots.collect();
    network.clone().replaced(gates, roots)
}

/// Returns the literal of a term: an existing node, or a new sum, which is made with everything
/// that it depends on.
fn term_of(
    term: u32,
    first: usize,
    pairs: &[[u32; 2]],
    made: &mut [Option<Literal>],
    gates: &mut Sharing,
    places: &[Literal],
) -> Literal {
    let Some(pair) = (term as usize).checked_sub(first) else {
        return places[term as usize];
    };
    if let Some(literal) = made[pair] {
        return literal;
    }
    // A sum has at most 32 terms, so pairs of pairs end soon.
    let [a, b] = pairs[pair].map(|term| term_of(term, first, pairs, made, gates, places));
    let literal = gates.xor(a, b);
    made[pair] = Some(literal);
    literal
}
