//! Linear relations: secrets that an evaluator could compute by adding up its values.
//!
//! [`no_relation`] garbles small circuits under a scheme, with all of the garbler's values visible,
//! and collects for each input the values that the evaluator *knows*: its label of each wire, the
//! tables, links and decoding information, and the value of each cipher call that it can make with
//! its labels at the points that the gates use. *Secret* are the other labels, the offsets, the
//! sums of two hidden labels or of two offsets, and values that decrypt to one of these (perhaps
//! with a known value added) under a key that the evaluator has.
//!
//! Gaussian elimination over GF(2) looks for a secret among *all* sums of known values, not only
//! those of up to four; a relation that is found is then reported in its shortest form. This is
//! sound while the number of known values is [`MARGIN`] less than their number of bits: random
//! values would add up to a given secret with probability 2^−[`MARGIN`] or less. Bit 0, the public
//! select bit, is left out of all values.
//!
//! Relations that a scheme's page names and justifies are declared with the scheme, as
//! [`tacit_garble::PublicRelation`].

mod circuits;
mod evaluator;
mod scene;
mod span;

pub use circuits::{ExaminedCircuit, examined_circuits};
pub use evaluator::sigma;
pub use scene::{Arrangement, no_relation};

use core::{fmt, iter};
use std::collections::HashMap;

use span::Span;
use tacit_kernels::{Aes128, Block, Tweak};

/// The number by which the bits of a value must exceed the known values.
pub const MARGIN: usize = 24;

/// The number of revealed secrets that are examined, to report the shortest relation.
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

/// A value that the evaluator must not know.
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
    /// A value that decrypts to the other label of this wire, perhaps with a known value added,
    /// under the key for this point.
    Encrypted(usize, Tweak),
}

/// A wire from the garbler's view, and its value.
#[derive(Clone, Copy)]
pub struct OpenWire {
    /// The labels by value.
    pub labels: [u128; 2],
    /// The value for the evaluator's inputs.
    pub value: bool,
}

impl OpenWire {
    /// Returns the evaluator's label.
    pub fn active(&self) -> u128 {
        self.labels[usize::from(self.value)]
    }

    /// Returns the other label.
    pub fn hidden(&self) -> u128 {
        self.labels[usize::from(!self.value)]
    }

    /// Returns the sum with a wire of the same offset.
    fn plus(&self, other: &Self) -> Self {
        let zero = self.labels[0] ^ other.labels[0];
        Self {
            labels: [zero, self.labels[0] ^ other.labels[1]],
            value: self.value ^ other.value,
        }
    }

    /// Returns the sum of the labels, without the select bit.
    pub fn offset(&self) -> u128 {
        (self.labels[0] ^ self.labels[1]) & !1
    }
}

/// The parts of a value among which relations are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// The value as a whole.
    Whole,
    /// Its halves of 64 bits, each as a value of its own.
    Halves,
}

impl Parts {
    /// Returns the bits of a part, without bit 0.
    const fn bits(self) -> usize {
        match self {
            Self::Whole => 127,
            Self::Halves => 63,
        }
    }

    /// Returns the parts of a known value.
    fn of(self, value: u128) -> Vec<u128> {
        let low = u128::from(value as u64);
        match self {
            Self::Whole => vec![value & !1],
            Self::Halves => vec![low & !1, value >> 64 & !1],
        }
    }

    /// Returns the parts of a value that must stay secret: its parts, and the sum of the halves.
    fn secret(self, value: u128) -> Vec<u128> {
        let mut parts = self.of(value);
        if let [low, high] = parts[..] {
            parts.push(low ^ high);
        }
        parts
    }
}

/// An evaluator's knowledge of a garbling, and the secrets.
pub struct View {
    parts: Parts,
    /// The parts of known values.
    knowns: Vec<(Known, u128)>,
    /// The known values as a whole.
    whole: Vec<u128>,
    /// The parts of secrets, each of which is secret.
    secrets: Vec<(Secret, u128)>,
    /// Values that reveal a secret if all their parts are known.
    ciphertexts: Vec<(Secret, u128)>,
}

/// A sum of known values that is a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The known values.
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
    /// Returns a view without known values and secrets.
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

    /// Adds a known value of 64 bits, if halves are values.
    pub fn know_half(&mut self, name: Known, half: u64) {
        if self.parts == Parts::Halves {
            self.knowns.push((name, u128::from(half) & !1));
        }
    }

    /// Adds the two intermediate values of the hash of the evaluator's label of `wire`, whose sum
    /// is the hash; if halves are values, only the sum.
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

    /// Adds the secrets of `wires`, and of each two of them unless `public` says that the sum of
    /// their hidden labels is public.
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
                // One wire with two numbers is no secret.
                if sum >> 1 != 0 {
                    self.hide(Secret::TwoLabels(a, b), sum);
                }
                if offsets != 0 {
                    self.hide(Secret::TwoOffsets(a, b), offsets);
                }
            }
        }
    }

    /// Hides the values that decrypt under `cipher`, whose key for `tweak` is public, to one of
    /// `hidden`, or to the sum of one and a value known so far: the hidden label of `wire` would
    /// follow from them.
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

    /// Returns whether there are few enough known values to tell random values from related ones.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.knowns.len() + MARGIN <= self.parts.bits()
    }

    /// Returns whether known values add up to `value`, in all its parts.
    #[must_use]
    pub fn makes(&self, value: u128) -> bool {
        let span = Span::of(self.values());
        self.parts
            .of(value)
            .into_iter()
            .all(|part| span.contains(part))
    }

    /// Returns the known values, without their names.
    fn values(&self) -> Vec<u128> {
        self.knowns.iter().map(|(_, value)| *value).collect()
    }

    /// Returns a relation that reveals a secret, if there is one.
    ///
    /// # Panics
    ///
    /// If there are too many known values to tell random values of this length from related ones.
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

    /// Returns the indices of the fewest known values, up to four, that add up to `sum`, by a table
    /// of the sums of two.
    fn shortest(&self, sum: u128) -> Option<Vec<usize>> {
        // The empty sum comes first, so that a table of two also has the sums of one.
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
            // A value that occurs twice cancels.
            let odd = terms
                .chunk_by(|a, b| a == b)
                .filter(|same| same.len() % 2 == 1);
            let terms = odd.filter_map(|same| same[0].checked_sub(1));
            Some(terms.collect::<Vec<_>>())
        });
        fours.min_by_key(|terms| (terms.len(), terms.clone()))
    }
}
