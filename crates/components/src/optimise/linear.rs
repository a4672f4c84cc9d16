//! Gates that are equal up to the order of XORs.
//!
//! Every node is a sum (over GF(2)) of *terms*: inputs and AND gates. A sum is identified by a
//! signature of 128 bits, the XOR of its terms' signatures. So two nodes with the same signature
//! are one node, however their XORs are arranged. An AND gate is identified by the three sums that
//! its two factors span, {p, q, p ⊕ q}. Any two of them, negated or not, multiply to the same
//! product plus a sum of p, q and a constant, so one AND gate serves all.
//!
//! The signatures of terms come from SHA-256 over the circuit's digest and the term's number. Two
//! different sums have equal signatures with probability 2^-128, and nobody can choose a circuit
//! against its own digest. Among 2^30 gates the probability is 2^-69, and each attempt costs as
//! many gates.

use sha2::{Digest as _, Sha256};
use tacit_circuit::Digest;
use tacit_circuit::netlist::{Literal, Node, Sharing};

use super::{Network, moved};

/// Runs the pass.
pub(super) fn run(network: &Network) -> Network {
    let mut sums = Sums::new(network.digest, network.netlist.node_count());
    let mut places: Vec<Literal> = Vec::with_capacity(network.netlist.node_count());
    for number in 0..network.netlist.node_count() as u32 {
        let literal = match network.netlist.node(number) {
            Node::Input(_) => sums.input(),
            Node::Xor(a, b) => sums.xor(moved(&places, a), moved(&places, b)),
            Node::And(a, b) => sums.and(moved(&places, a), moved(&places, b)),
        };
        places.push(literal);
    }
    let roots = network
        .roots
        .iter()
        .map(|&root| moved(&places, root))
        .collect();
    network.clone().replaced(sums.gates, roots)
}

/// Gates, with the signature of each.
struct Sums {
    digest: Digest,
    gates: Sharing,
    signatures: Vec<u128>,
    /// The two factors of each AND gate. For other nodes, the node itself twice.
    factors: Vec<[Literal; 2]>,
    by_signature: Table,
    by_span: Table,
}

impl Sums {
    fn new(digest: Digest, nodes: usize) -> Self {
        Self {
            digest,
            gates: Sharing::default(),
            signatures: Vec::with_capacity(nodes),
            factors: Vec::with_capacity(nodes),
            by_signature: Table::default(),
            by_span: Table::default(),
        }
    }

    fn input(&mut self) -> Literal {
        let literal = self.gates.input();
        self.note(literal, None, None);
        literal
    }

    fn signature(&self, literal: Literal) -> u128 {
        match literal.as_constant() {
            Some(_) => 0,
            None => self.signatures[literal.node() as usize],
        }
    }

    /// Stores a node if it is new, with the signature of a sum, or with that of a new term.
    fn note(&mut self, literal: Literal, sum: Option<u128>, factors: Option<[Literal; 2]>) {
        let number = literal.node();
        if literal.as_constant().is_some() || (number as usize) < self.signatures.len() {
            return;
        }
        let signature = sum.unwrap_or_else(|| term_signature(self.digest, number));
        self.signatures.push(signature);
        self.factors.push(factors.unwrap_or([literal; 2]));
        let signatures = &self.signatures;
        let hash = |number: u32| fold(signatures[number as usize]);
        self.by_signature.insert(number, fold(signature), hash);
    }

    fn xor(&mut self, a: Literal, b: Literal) -> Literal {
        let signature = self.signature(a) ^ self.signature(b);
        let negated = a.is_negated() != b.is_negated();
        if signature == 0 {
            return Literal::constant(negated);
        }
        let signatures = &self.signatures;
        let is_it = |number: u32| signatures[number as usize] == signature;
        if let Some(number) = self.by_signature.find(fold(signature), is_it) {
            return Literal::of(number).negated_if(negated);
        }
        let literal = self.gates.xor(a, b);
        self.note(literal, Some(signature), None);
        literal
    }

    fn and(&mut self, a: Literal, b: Literal) -> Literal {
        let (sa, sb) = (self.signature(a), self.signature(b));
        if sa == 0 || sb == 0 || sa == sb {
            return self.gates.and(a, b);
        }
        let span = span(sa, sb);
        let is_it = |number: u32| self.span_of(number) == span;
        if let Some(known) = self.by_span.find(fold(span[0] ^ span[1] << 1), is_it) {
            return self.by_known(known, [a, b]);
        }
        let before = self.signatures.len() as u32;
        let literal = self.gates.and(a, b);
        self.note(literal, None, Some([a, b]));
        if literal.as_constant().is_none() && literal.node() >= before {
            let (signatures, factors) = (&self.signatures, &self.factors);
            let hash = |number: u32| {
                let [p, q] = factors[number as usize];
                let span = span_in(signatures, p, q);
                fold(span[0] ^ span[1] << 1)
            };
            self.by_span
                .insert(literal.node(), hash(literal.node()), hash);
        }
        literal
    }

    fn span_of(&self, and: u32) -> [u128; 2] {
        let [p, q] = self.factors[and as usize];
        span_in(&self.signatures, p, q)
    }

    /// Returns the product of `factors`, computed from the product of two sums with the same span.
    fn by_known(&mut self, known: u32, factors: [Literal; 2]) -> Literal {
        let [p, q] = self.factors[known as usize];
        let (sp, sq) = (self.signature(p), self.signature(q));
        // The value of a factor, for the four values of the nodes of p and q, as a truth table.
        let table = |literal: Literal| {
            let table = match self.signature(literal) {
                s if s == sp => 0b1010_u8,
                s if s == sq => 0b1100,
                _ => 0b0110,
            };
            if literal.is_negated() {
                !table & 0xf
            } else {
                table
            }
        };
        let wanted = table(factors[0]) & table(factors[1]);
        let rest = wanted ^ (table(p) & table(q));
        let mut result = Literal::of(known).negated_if(rest & 1 == 1);
        let plain = |literal: Literal| literal.negated_if(literal.is_negated());
        if (rest >> 1 ^ rest) & 1 == 1 {
            result = self.xor(result, plain(p));
        }
        if (rest >> 2 ^ rest) & 1 == 1 {
            result = self.xor(result, plain(q));
        }
        result
    }
}

/// Returns the two least of the three signatures of a span, in order.
fn span(a: u128, b: u128) -> [u128; 2] {
    let mut all = [a, b, a ^ b];
    all.sort_unstable();
    [all[0], all[1]]
}

fn span_in(signatures: &[u128], p: Literal, q: Literal) -> [u128; 2] {
    span(signatures[p.node() as usize], signatures[q.node() as usize])
}

fn term_signature(digest: Digest, number: u32) -> u128 {
    let hash = Sha256::new_with_prefix(digest.0).chain_update(number.to_le_bytes());
    let bytes: [u8; 32] = hash.finalize().into();
    bytes[..16]
        .iter()
        .fold(0, |word, &byte| word << 8 | u128::from(byte))
}

/// Hashes a signature to half its length.
fn fold(signature: u128) -> u32 {
    (signature ^ signature >> 64) as u32
}

/// Node numbers in an open-addressed table with linear probing, which is at most three quarters
/// full. An entry is a number plus one.
#[derive(Default)]
struct Table {
    entries: Vec<u32>,
    count: usize,
}

impl Table {
    fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.entries.len().checked_sub(1)?;
        let mut place = hash as usize & mask;
        while self.entries[place] != 0 {
            if is_it(self.entries[place] - 1) {
                return Some(self.entries[place] - 1);
            }
            place = (place + 1) & mask;
        }
        None
    }

    /// Adds a number that is not in the table. `hash_of` returns the hash of the numbers that are.
    fn insert(&mut self, number: u32, hash: u32, hash_of: impl Fn(u32) -> u32) {
        if (self.count + 1) * 4 > self.entries.len() * 3 {
            let larger = vec![0; (self.entries.len() * 2).max(64)];
            let old = std::mem::replace(&mut self.entries, larger);
            for entry in old.into_iter().filter(|&entry| entry != 0) {
                self.place(entry, hash_of(entry - 1));
            }
        }
        self.count += 1;
        self.place(number + 1, hash);
    }

    fn place(&mut self, entry: u32, hash: u32) {
        let mask = self.entries.len() - 1;
        let mut place = hash as usize & mask;
        while self.entries[place] != 0 {
            place = (place + 1) & mask;
        }
        self.entries[place] = entry;
    }
}
