//! The search for linear relations can fail: it must find garblings with one fault each.
//!
//! The faults are planted in a textbook garbler of this file, gate by gate. Without them it finds
//! nothing in the same circuits.

use tacit_kernels::{Aes128, Block, Cpu, Prg, Tweak, Use};
use tacit_testkit::garbling::relations::{Known, OpenWire, Parts, Relation, Secret, View, sigma};

/// The fault of a garbler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// All gates share one cipher key and have no tweak.
    OneKey,
    /// Both inputs of an AND gate call at the same point.
    OneSide,
    /// The tweaks of AND gate 1 and of XOR gate 2 are equal.
    CollidingKinds,
    /// The number of the instance is added to the gate's.
    CollidingInstances,
    /// The re-keyed hash is `AES_k(x) ⊕ x`, without σ.
    NoSigma,
    /// A XOR gate passes on a wire untranslated (G′) that another gate reads.
    SharedInput,
    /// A link is the sum of labels whose offsets differ.
    PlainLink,
}

/// A garbling under construction, and the evaluator's knowledge of it.
struct Book {
    fault: Option<Fault>,
    start: u128,
    delta: u128,
    coins: Prg,
    instance: u32,
    xors: u64,
    ands: u64,
    /// Whether wires have one Δ; otherwise they are keyed by labels.
    one_offset: bool,
    wires: Vec<OpenWire>,
    blocks: Vec<u128>,
    /// The labels on which calls are made, each with its point.
    calls: Vec<(usize, Tweak)>,
}

fn lsb(label: u128) -> bool {
    label & 1 == 1
}

fn times(bit: bool, value: u128) -> u128 {
    if bit { value } else { 0 }
}

fn cipher(key: u128) -> Aes128 {
    Aes128::new(Cpu::detect(), Block::from_u128(key))
}

impl Book {
    fn new(fault: Option<Fault>, one_offset: bool, seed: u32) -> Self {
        let mut coins = Prg::new(Block::from_u128(7 << 64 | u128::from(seed)));
        Self {
            fault,
            start: coins.next_block().to_u128(),
            delta: coins.next_block().to_u128() | 1,
            coins,
            instance: 0,
            xors: 0,
            ands: 0,
            one_offset,
            wires: Vec::new(),
            blocks: Vec::new(),
            calls: Vec::new(),
        }
    }

    fn random(&mut self) -> u128 {
        self.coins.next_block().to_u128()
    }

    fn push(&mut self, labels: [u128; 2], value: bool) -> usize {
        self.wires.push(OpenWire { labels, value });
        self.wires.len() - 1
    }

    /// Adds an input wire with this permute bit.
    fn input(&mut self, permute: bool, value: bool) -> usize {
        let zero = self.random() & !1 | u128::from(permute);
        let one = if self.one_offset {
            zero ^ self.delta
        } else {
            self.random() & !1 | u128::from(!permute)
        };
        self.push([zero, one], value)
    }

    fn tweak(&self, usage: Use, number: u64, a: u8, b: u8) -> Tweak {
        let instance = self.instance;
        Tweak {
            usage,
            instance,
            number,
            a,
            b,
        }
    }

    /// Returns a tweak in its encoded form.
    fn point(&self, tweak: Tweak) -> u128 {
        let Tweak {
            usage, number, a, ..
        } = tweak;
        let b = if self.fault == Some(Fault::OneSide) {
            0
        } else {
            tweak.b
        };
        let written = match self.fault {
            Some(Fault::CollidingKinds) => {
                let rows = if usage == Use::And { 4 } else { 2 };
                return self.start ^ u128::from(rows * number + u64::from(a)) ^ u128::from(b) << 64;
            }
            Some(Fault::CollidingInstances) => {
                let number = number + u64::from(tweak.instance);
                Tweak {
                    number,
                    instance: 0,
                    ..tweak
                }
            }
            _ => Tweak { b, ..tweak },
        };
        self.start ^ written.to_block().to_u128()
    }

    /// Computes F of a label, keyed by it.
    fn keyed(&self, label: u128, tweak: Tweak) -> u128 {
        let point = Block::from_u128(self.point(tweak));
        cipher(label & !1).encrypt(point).to_u128()
    }

    /// Returns the cipher of the re-keyed hash.
    fn public(&self, tweak: Tweak) -> Aes128 {
        match self.fault {
            Some(Fault::OneKey) => cipher(self.start),
            _ => cipher(self.point(tweak)),
        }
    }

    fn before(&self, x: u128) -> u128 {
        match self.fault {
            Some(Fault::NoSigma) => x,
            _ => sigma(x),
        }
    }

    /// Computes the re-keyed hash.
    fn rekeyed(&self, x: u128, tweak: Tweak) -> u128 {
        let x = self.before(x);
        self.public(tweak).encrypt(Block::from_u128(x)).to_u128() ^ x
    }

    /// Garbles AND as half-gates.
    fn half_gates(&mut self, a: usize, b: usize) -> usize {
        let [first, second] = [0, 1].map(|half| self.tweak(Use::And, self.ands, half, 0));
        self.ands += 1;
        self.calls.extend([(a, first), (b, second)]);
        let value = self.wires[a].value & self.wires[b].value;
        let ([a0, a1], [b0, b1]) = (self.wires[a].labels, self.wires[b].labels);
        let [h_a0, h_a1] = [a0, a1].map(|label| self.rekeyed(label, first));
        let [h_b0, h_b1] = [b0, b1].map(|label| self.rekeyed(label, second));
        let t_g = h_a0 ^ h_a1 ^ times(lsb(b0), self.delta);
        let t_e = h_b0 ^ h_b1 ^ a0;
        self.blocks.extend([t_g, t_e]);
        let zero = h_a0 ^ times(lsb(a0), t_g) ^ h_b0 ^ times(lsb(b0), h_b0 ^ h_b1);
        self.push([zero, zero ^ self.delta], value)
    }

    /// Garbles AND in three rows.
    fn rows(&mut self, i: usize, j: usize) -> usize {
        let number = self.ands;
        self.ands += 1;
        for row in 0..4 {
            let [first, second] = [0, 1].map(|side| self.tweak(Use::And, number, row, side));
            self.calls.extend([(i, first), (j, second)]);
        }
        let value = self.wires[i].value & self.wires[j].value;
        let (i, j) = (self.wires[i].labels, self.wires[j].labels);
        let (pi_i, pi_j) = (lsb(i[0]), lsb(j[0]));
        let keys = [0, 1, 2, 3].map(|row: u8| {
            let (k_i, k_j) = (
                i[usize::from(pi_i ^ (row > 1))],
                j[usize::from(pi_j ^ lsb(row.into()))],
            );
            self.keyed(k_i, self.tweak(Use::And, number, row, 0))
                ^ self.keyed(k_j, self.tweak(Use::And, number, row, 1))
        });
        let s = 2 * usize::from(!pi_i) + usize::from(!pi_j);
        let other = self.random() & !1 | u128::from(!lsb(keys[0]));
        let labels = if s == 0 {
            [other, keys[0]]
        } else {
            [keys[0], other]
        };
        self.blocks
            .extend((1..4).map(|row| keys[row] ^ labels[usize::from(row == s)]));
        self.push(labels, value)
    }

    /// Garbles XOR by procedure G, or G′ with `j` untranslated.
    fn xor(&mut self, i: usize, j: usize, prime: bool) -> usize {
        let number = self.xors;
        self.xors += 1;
        for row in 0..2 {
            let [first, second] = [0, 1].map(|side| self.tweak(Use::Xor, number, row, side));
            self.calls.extend([(i, first), (j, second)]);
        }
        let value = self.wires[i].value ^ self.wires[j].value;
        let (i, j) = (self.wires[i].labels, self.wires[j].labels);
        let f = |label: u128, side| {
            let tweak = self.tweak(Use::Xor, number, u8::from(lsb(label)), side);
            self.keyed(label, tweak) & !1
        };
        let by_select = |labels: [u128; 2]| {
            if lsb(labels[0]) {
                [labels[1], labels[0]]
            } else {
                labels
            }
        };
        let ([i_0, i_1], [j_0, j_1]) = (by_select(i), by_select(j));
        let (t_i0, t_i1) = (f(i_0, 0), f(i_1, 0));
        let t_j0 = if prime { j_0 & !1 } else { f(j_0, 1) };
        let t_j1 = t_j0 ^ t_i0 ^ t_i1;
        self.blocks.push(f(j_1, 1) ^ t_j1);
        let (with_0, with_1) = (t_i0 ^ t_j0, (t_i1 ^ t_j0) | 1);
        let labels = if lsb(i[0]) ^ lsb(j[0]) {
            [with_1, with_0]
        } else {
            [with_0, with_1]
        };
        self.push(labels, value)
    }

    /// Links one wire to a new one with labels of its own.
    fn link(&mut self, from: usize) {
        let permute = lsb(self.random());
        let value = self.wires[from].value;
        let to = self.input(permute, value);
        let (from_labels, to_labels) = (self.wires[from].labels, self.wires[to].labels);
        for select in [false, true] {
            let bit = usize::from(lsb(from_labels[0]) ^ select);
            let tweak = self.tweak(Use::Link, 0, u8::from(select), 0);
            self.calls.push((from, tweak));
            let pad = match self.fault {
                Some(Fault::PlainLink) => from_labels[bit],
                _ => self.keyed(from_labels[bit], tweak),
            };
            self.blocks.push(pad ^ to_labels[bit]);
        }
    }

    fn relation(&self, parts: Parts) -> Option<Relation> {
        let mut view = View::new(parts);
        for (number, wire) in self.wires.iter().enumerate() {
            view.know(Known::Label(number), wire.active());
        }
        for (number, block) in self.blocks.iter().enumerate() {
            view.know(Known::Table(number), *block);
        }
        for &(wire, tweak) in &self.calls {
            let x = self.wires[wire].active();
            if self.one_offset {
                let x = self.before(x);
                let outer = self.public(tweak).encrypt(Block::from_u128(x));
                view.know_two(wire, tweak, x, outer.to_u128());
            } else {
                view.know(Known::Call(wire, tweak), self.keyed(x, tweak));
            }
        }
        view.hide_wires(&self.wires, |_, _| self.one_offset);
        for &(wire, tweak) in self.calls.iter().filter(|_| self.one_offset) {
            let hidden = self.wires[wire].hidden();
            let hidden = [hidden, self.before(hidden)];
            view.hide_under(&self.public(tweak), wire, tweak, &hidden);
        }
        view.relation()
    }
}

/// Garbles a small circuit.
type Garble = fn(&mut Book, &[usize]);

/// Returns the first relation in garblings of `inputs` inputs, over all inputs and permute bits.
fn search(
    fault: Option<Fault>,
    one_offset: bool,
    inputs: usize,
    garble: Garble,
) -> Option<Relation> {
    let garblings =
        (0..4).flat_map(|seed| (0..1 << inputs).map(move |permute: u32| (seed, permute)));
    let mut views = garblings.flat_map(|one| (0..1 << inputs).map(move |bits: u32| (one, bits)));
    views.find_map(|((seed, permute), bits)| {
        let mut book = Book::new(fault, one_offset, seed);
        let of = |number: u32, input: usize| number >> input & 1 == 1;
        let wires: Vec<usize> = (0..inputs)
            .map(|input| book.input(of(permute, input), of(bits, input)))
            .collect();
        garble(&mut book, &wires);
        book.relation(Parts::Whole)
    })
}

/// Returns the relation that the fault causes. Without the fault there must be none.
fn found(fault: Fault, one_offset: bool, inputs: usize, garble: Garble) -> Relation {
    let without = search(None, one_offset, inputs, garble);
    assert_eq!(without, None, "the textbook is sound without {fault:?}");
    let relation = search(Some(fault), one_offset, inputs, garble);
    let relation = relation.unwrap_or_else(|| panic!("{fault:?} is not found"));
    println!("{fault:?}: {relation}");
    relation
}

#[test]
fn one_key_and_no_tweak_for_four_gates_with_a_common_operand() {
    let relation = found(Fault::OneKey, true, 5, |book, wires| {
        for other in &wires[1..] {
            book.half_gates(wires[0], *other);
        }
    });
    // The garbler's halves of two gates differ by Δ if the permute bits of their operands do.
    assert_eq!(relation.terms.len(), 2, "{relation}");
    assert!(
        matches!(relation.terms[..], [Known::Table(_), Known::Table(_)]),
        "{relation}"
    );
}

#[test]
fn an_and_of_a_wire_with_itself() {
    let relation = found(Fault::OneSide, false, 1, |book, wires| {
        book.rows(wires[0], wires[0]);
    });
    // K_0 and K_3 are zero, so a label is zero or a row of the table.
    assert!(relation.terms.len() <= 1, "{relation}");
    assert_eq!(relation.secret, Secret::Label(1));
}

#[test]
fn tweaks_of_and_and_xor_gates_that_collide() {
    let relation = found(Fault::CollidingKinds, false, 2, |book, wires| {
        (book.ands, book.xors) = (1, 2);
        book.rows(wires[0], wires[1]);
        book.xor(wires[0], wires[1], false);
    });
    assert!(relation.terms.len() <= 5, "{relation}");
}

#[test]
fn tweaks_of_instances_that_collide() {
    let relation = found(Fault::CollidingInstances, true, 2, |book, wires| {
        let first = book.half_gates(wires[0], wires[1]);
        book.half_gates(wires[0], first);
        book.instance = 1;
        book.ands = 0;
        book.half_gates(wires[0], wires[1]);
    });
    // Gate 1 of instance 0 and gate 0 of instance 1 have a common operand.
    assert_eq!(relation.terms.len(), 2, "{relation}");
}

#[test]
fn a_hash_without_sigma() {
    let relation = found(Fault::NoSigma, true, 2, |book, wires| {
        book.half_gates(wires[0], wires[1]);
    });
    // This decrypts to the hidden label: the table's row, the hash of the active label, and the
    // label.
    assert!(
        matches!(relation.secret, Secret::Encrypted(..)),
        "{relation}"
    );
    assert!(relation.terms.len() <= 4, "{relation}");
}

#[test]
fn a_shared_input_that_is_not_translated() {
    for (used_again, garble) in [
        ("by a XOR", |book: &mut Book, wires: &[usize]| {
            let prime = book.fault == Some(Fault::SharedInput);
            book.xor(wires[0], wires[1], prime);
            book.xor(wires[1], wires[2], false);
        }),
        ("by an AND", |book: &mut Book, wires: &[usize]| {
            let prime = book.fault == Some(Fault::SharedInput);
            book.xor(wires[0], wires[1], prime);
            book.rows(wires[1], wires[2]);
        }),
    ] as [(&str, Garble); 2]
    {
        let relation = found(Fault::SharedInput, false, 3, garble);
        assert_eq!(
            relation.secret,
            Secret::TwoLabels(1, 3),
            "{used_again}: {relation}"
        );
        assert_eq!(relation.terms.len(), 1, "{used_again}: {relation}");
    }
}

#[test]
fn a_plain_link_between_offsets() {
    let relation = found(Fault::PlainLink, false, 2, |book, wires| {
        let out = book.rows(wires[0], wires[1]);
        book.link(out);
    });
    assert!(
        matches!(relation.secret, Secret::TwoLabels(2, 3)),
        "{relation}"
    );
    assert_eq!(relation.terms.len(), 1, "{relation}");
}
