//! Linear relations: what an evaluator could find out by adding up what it holds.
//!
//! [`no_relation`] garbles small circuits under a scheme, lays each garbling open and collects, for
//! each input, what the evaluator *knows*: its label of each wire, the tables, links and decoding
//! information, and the value of each cipher call that it can make with its labels at the points
//! that the gates use. *Secret* are the other labels, the offsets, the sums of two hidden labels or
//! of two offsets, and what decrypts to one of these (perhaps with a known value added) under a
//! key that the evaluator has.
//!
//! By Gaussian elimination over GF(2) a secret is looked for among *all* sums of known values, and
//! not only those of up to four; a relation that is found is then named by its shortest form. This
//! is sound while known values are [`MARGIN`] fewer than they have bits: random values would add
//! up to a given secret with probability 2^−[`MARGIN`] or less. Bit 0, the public select bit, is
//! left out of all values.
//!
//! Relations that a scheme's page names and argues are declared with the scheme, as
//! [`tacit_garble::PublicRelation`].

mod circuits;
mod evaluator;
mod scene;
mod span;

pub use circuits::{Shape, shapes};
pub use evaluator::sigma;
pub use scene::{Arrangement, no_relation};

use core::{fmt, iter};
use std::collections::HashMap;

use span::Span;
use tacit_kernels::{Aes128, Block, Tweak};

/// By how many the bits of a value must exceed the known values.
pub const MARGIN: usize = 24;

/// How many secrets that are given away are named, to choose the shortest relation.
const MAX_NAMED: usize = 32;

/// A value that the evaluator knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Its label of this wire.
    Label(usize),
    /// This block of the tables.
    Table(usize),
    /// This block of the links.
    Link(usize),
    /// This block of the decoding information.
    Decoding(usize),
    /// A cipher call on its label of this wire, at this point.
    Call(usize, Tweak),
    /// The inner one of two cipher calls on its label of this wire, or the label after σ.
    Inner(usize, Tweak),
}

/// A value that it must not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secret {
    /// The other label of this wire.
    Label(usize),
    /// The sum of this wire's labels: Δ.
    Offset(usize),
    /// The sum of the other labels of these wires.
    TwoLabels(usize, usize),
    /// The sum of these wires' offsets.
    TwoOffsets(usize, usize),
    /// What decrypts to the other label of this wire, perhaps with a known value added, under the
    /// key for this point.
    Encrypted(usize, Tweak),
}

/// A wire as the garbler sees it, and its value.
#[derive(Clone, Copy)]
pub struct OpenWire {
    /// Labels by value.
    pub labels: [u128; 2],
    /// The value for the evaluator's inputs.
    pub value: bool,
}

impl OpenWire {
    /// The evaluator's label.
    #[must_use]
    pub fn active(&self) -> u128 {
        self.labels[usize::from(self.value)]
    }

    /// The other label.
    #[must_use]
    pub fn hidden(&self) -> u128 {
        self.labels[usize::from(!self.value)]
    }

    /// The sum with a wire of the same offset.
    fn plus(&self, other: &Self) -> Self {
        let zero = self.labels[0] ^ other.labels[0];
        Self {
            labels: [zero, self.labels[0] ^ other.labels[1]],
            value: self.value ^ other.value,
        }
    }

    /// The sum of the labels, without the select bit.
    #[must_use]
    pub fn offset(&self) -> u128 {
        (self.labels[0] ^ self.labels[1]) & !1
    }
}

/// The parts of a value among which relations are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// The value as it is.
    Whole,
    /// Its halves of 64 bits, each a value of its own.
    Halves,
}

impl Parts {
    /// Bits of a part, without bit 0.
    const fn bits(self) -> usize {
        match self {
            Self::Whole => 127,
            Self::Halves => 63,
        }
    }

    /// The parts of a value that is known.
    fn of(self, value: u128) -> Vec<u128> {
        let low = u128::from(value as u64);
        match self {
            Self::Whole => vec![value & !1],
            Self::Halves => vec![low & !1, value >> 64 & !1],
        }
    }

    /// What of a value must stay secret: the parts, and the sum of the halves.
    fn secret(self, value: u128) -> Vec<u128> {
        let mut parts = self.of(value);
        if let [low, high] = parts[..] {
            parts.push(low ^ high);
        }
        parts
    }
}

/// What an evaluator knows of a garbling, and what is secret.
pub struct View {
    parts: Parts,
    /// Parts of known values.
    knowns: Vec<(Known, u128)>,
    /// Known values as they are.
    whole: Vec<u128>,
    /// Parts of secrets, each of which is one.
    secrets: Vec<(Secret, u128)>,
    /// Values that are a secret's if all their parts are known.
    ciphertexts: Vec<(Secret, u128)>,
}

/// A sum of known values that is a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The values.
    pub terms: Vec<Known>,
    /// Their sum.
    pub secret: Secret,
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { terms, secret } = self;
        write!(f, "the sum of {} known values is {secret:?}: ", terms.len())?;
        write!(f, "{terms:?}")
    }
}

impl View {
    /// Nothing is known yet, and nothing secret.
    #[must_use]
    pub const fn new(parts: Parts) -> Self {
        Self {
            parts,
            knowns: Vec::new(),
            whole: Vec::new(),
            secrets: Vec::new(),
            ciphertexts: Vec::new(),
        }
    }

    /// Adds a value that the evaluator knows.
    pub fn know(&mut self, name: Known, value: u128) {
        if !self.whole.contains(&value) {
            self.whole.push(value);
            let parts = self.parts.of(value);
            self.knowns
                .extend(parts.into_iter().map(|part| (name, part)));
        }
    }

    /// Adds a value of 64 bits that it knows, where halves are values.
    pub fn know_half(&mut self, name: Known, half: u64) {
        if self.parts == Parts::Halves {
            self.knowns.push((name, u128::from(half) & !1));
        }
    }

    /// Adds the two values on the way to the hash of its label of `wire`, which is their sum; of
    /// halves the sum alone.
    pub fn know_two(&mut self, wire: usize, tweak: Tweak, inner: u128, outer: u128) {
        match self.parts {
            Parts::Whole => {
                self.know(Known::Inner(wire, tweak), inner);
                self.know(Known::Call(wire, tweak), outer);
            }
            Parts::Halves => self.know(Known::Call(wire, tweak), inner ^ outer),
        }
    }

    /// Adds a secret.
    pub fn hide(&mut self, name: Secret, value: u128) {
        let parts = self.parts.secret(value);
        self.secrets
            .extend(parts.into_iter().map(|part| (name, part)));
    }

    /// Adds what is secret of `wires`, and of each two of them unless `public` says that the sum
    /// of their hidden labels is not.
    pub fn hide_wires(&mut self, wires: &[OpenWire], public: impl Fn(usize, usize) -> bool) {
        for (b, wire) in wires.iter().enumerate() {
            self.hide(Secret::Label(b), wire.hidden());
            self.hide(Secret::Offset(b), wire.offset());
            for (a, other) in wires[..b].iter().enumerate() {
                let sum = wire.hidden() ^ other.hidden();
                let offsets = wire.offset() ^ other.offset();
                if public(a, b) {
                    continue;
                }
                // One wire under two numbers is none that is secret.
                if sum >> 1 != 0 {
                    self.hide(Secret::TwoLabels(a, b), sum);
                }
                if offsets != 0 {
                    self.hide(Secret::TwoOffsets(a, b), offsets);
                }
            }
        }
    }

    /// Makes secret what decrypts under `cipher`, whose key for `tweak` is public, to one of
    /// `hidden`, or to the sum of one and a value that is known by now: from it the hidden label of
    /// `wire` follows.
    pub fn hide_under(&mut self, cipher: &Aes128, wire: usize, tweak: Tweak, hidden: &[u128]) {
        let mut blocks = Vec::new();
        for known in iter::once(&0).chain(&self.whole) {
            let sums = hidden.iter().map(|hidden| hidden ^ known);
            blocks.extend(sums.map(Block::from_u128));
        }
        cipher.encrypt_blocks(&mut blocks);
        let name = Secret::Encrypted(wire, tweak);
        let named = |block: Block| (name, block.to_u128());
        self.ciphertexts.extend(blocks.into_iter().map(named));
    }

    /// Whether so little is known that random values can be told from related ones.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.knowns.len() + MARGIN <= self.parts.bits()
    }

    /// Whether known values add up to `value`, all parts of it.
    #[must_use]
    pub fn makes(&self, value: u128) -> bool {
        let span = Span::of(self.values());
        self.parts
            .of(value)
            .into_iter()
            .all(|part| span.contains(part))
    }

    /// The known values, without their names.
    fn values(&self) -> Vec<u128> {
        self.knowns.iter().map(|(_, value)| *value).collect()
    }

    /// A relation that gives a secret away, if there is one.
    ///
    /// # Panics
    ///
    /// If more is known than random values of this length allow to be told from related ones.
    #[must_use]
    pub fn relation(&self) -> Option<Relation> {
        assert!(
            self.fits(),
            "{} known values are too many for {:?}",
            self.knowns.len(),
            self.parts
        );
        let span = Span::of(self.values());
        let contains = |part: &u128| span.contains(*part);
        let plain = self.secrets.iter().filter(|(_, part)| contains(part));
        let whole = |(_, value): &&(Secret, u128)| self.parts.of(*value).iter().all(contains);
        let decrypts = self.ciphertexts.iter().filter(whole);
        let relation = |(secret, value): &(Secret, u128)| {
            let part = self.parts.of(*value)[0];
            let terms = self.shortest(part).or_else(|| span.terms(part))?;
            let terms = terms.into_iter().map(|term| self.knowns[term].0).collect();
            Some(Relation {
                terms,
                secret: *secret,
            })
        };
        let relations = plain.chain(decrypts).take(MAX_NAMED).filter_map(relation);
        relations.min_by_key(|relation| relation.terms.len())
    }

    /// The names of the fewest known values, up to four, that add up to `sum`: by a table of the
    /// sums of two.
    fn shortest(&self, sum: u128) -> Option<Vec<usize>> {
        // The sum of none comes first, so that a table of two has the sums of one, too.
        let values = [&[0], &self.values()[..]].concat();
        let mut twos = HashMap::new();
        for a in 0..values.len() {
            for b in 0..=a {
                twos.entry(values[a] ^ values[b]).or_insert([a, b]);
            }
        }
        let fours = twos.iter().filter_map(|(value, two)| {
            let mut terms = [*two, *twos.get(&(value ^ sum))?].concat();
            terms.sort_unstable();
            // A value twice is none.
            let odd = terms
                .chunk_by(|a, b| a == b)
                .filter(|same| same.len() % 2 == 1);
            let terms = odd.filter_map(|same| same[0].checked_sub(1));
            Some(terms.collect::<Vec<_>>())
        });
        fours.min_by_key(|terms| (terms.len(), terms.clone()))
    }
}
