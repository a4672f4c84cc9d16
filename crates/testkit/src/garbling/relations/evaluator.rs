//! What an evaluator knows of a scene, and what is secret from it.

use core::iter;

use tacit_garble::{Hash, PublicRelation};
use tacit_kernels::{Aes128, Block, Cpu, Tweak, Use, hash};
use tacit_reference::Gate;

use super::scene::{Scene, Source};
use super::{Known, OpenWire, Parts, Shape, View};

impl Scene {
    /// Looks for relations, given the inputs.
    pub(super) fn check(&self, shape: &Shape, bits: usize) {
        let wires = self.values(bits);
        for parts in [Parts::Whole, Parts::Halves] {
            let one_gate = self.parts.len() == 1 && shape.one_gate;
            let view = self.view(&wires, parts);
            // Of more than a gate there are often more halves than fit.
            if parts == Parts::Halves && !one_gate && !view.fits() {
                continue;
            }
            if let Some(relation) = view.relation() {
                panic!("{}, inputs {bits:b}: {relation}", self.description);
            }
            if bits == 0 {
                self.assert_evaluates(&wires, parts);
            }
        }
    }

    /// What the evaluator knows, and what is secret.
    fn view(&self, wires: &[OpenWire], parts: Parts) -> View {
        let mut view = View::new(parts);
        for (number, wire) in wires.iter().enumerate() {
            view.know(Known::Label(number), wire.active());
        }
        self.know_what_is_sent(&mut view);
        let callers = self.callers(wires);
        for caller in &callers {
            know_call(&mut view, self.id.hash, self.start, caller);
        }
        let public = self.id.public_relations();
        let equal_offsets = public.contains(&PublicRelation::EqualOffsets);
        let untranslated = public.contains(&PublicRelation::UntranslatedInput);
        view.hide_wires(wires, |a, b| {
            equal_offsets && wires[a].offset() == wires[b].offset()
                || untranslated && (self.goes_only_into(a, b) || self.goes_only_into(b, a))
        });
        for caller in &callers {
            hide_ciphertexts(&mut view, self.id.hash, self.start, caller);
        }
        view
    }

    /// Adds tables, links and decoding information.
    fn know_what_is_sent(&self, view: &mut View) {
        let mut table = 0;
        for part in &self.parts {
            for block in part.tables.as_chunks().0 {
                view.know(Known::Table(table), u128::from_le_bytes(*block));
                table += 1;
            }
            if self.id.hash == Hash::LabelKeyed {
                for (number, block) in part.decoding.as_chunks().0.iter().enumerate() {
                    view.know(Known::Decoding(number), u128::from_le_bytes(*block));
                }
            } else {
                for (number, tag) in part.decoding.as_chunks().0.iter().enumerate() {
                    view.know_half(Known::Decoding(number), u64::from_le_bytes(*tag));
                }
            }
        }
        for (number, block) in self.links.as_chunks().0.iter().enumerate() {
            view.know(Known::Link(number), u128::from_le_bytes(*block));
        }
    }

    /// Whether wire `a` is a gate's output that one XOR gate reads and nothing else, and `b` that
    /// gate's wire, or, if that one is such a wire itself, the wire of the gate that reads it, ….
    fn goes_only_into(&self, a: usize, b: usize) -> bool {
        let mut at = a;
        while let Some(next) = self.only_reader(at) {
            if next == b {
                return true;
            }
            at = next;
        }
        false
    }

    /// The wire of the XOR gate that reads wire `a`, a gate's output that nothing else reads.
    fn only_reader(&self, a: usize) -> Option<usize> {
        let mut readers = Vec::new();
        for part in &self.parts {
            let (inputs, outs) = part.wires.split_at(part.circuit.inputs);
            let is_output = part.outputs.iter().any(|(wire, _)| *wire == a);
            if inputs.contains(&a) || is_output {
                return None;
            }
            for (gate, out) in part.circuit.gates.iter().zip(outs) {
                let (read, reader) = match *gate {
                    Gate::Xor(i, j) => ([i, j], Some(*out)),
                    Gate::And(i, j) => ([i.wire, j.wire], None),
                };
                let count = read.iter().filter(|wire| part.wires[**wire] == a).count();
                readers.extend(iter::repeat_n(reader, count));
            }
        }
        match readers[..] {
            [reader] => reader,
            _ => None,
        }
    }

    /// Each label with the points at which a call on it could matter.
    fn callers(&self, wires: &[OpenWire]) -> Vec<Caller> {
        let mut callers = Vec::new();
        let keyed = self.id.hash == Hash::LabelKeyed;
        let cost = self.id.rung().expect("it is on the ladder").cost;
        for part in &self.parts {
            let (mut xors, mut ands) = (0, 0);
            // By a wire's number in the scene.
            let mut call = |wire: usize, usage, number, a, b| {
                let instance = part.instance;
                let tweak = Tweak {
                    usage,
                    instance,
                    number,
                    a,
                    b,
                };
                callers.push(Caller {
                    wire,
                    open: wires[wire],
                    tweak,
                });
            };
            for gate in &part.circuit.gates {
                match *gate {
                    Gate::Xor(i, j) => {
                        let rows = if cost.xor.bits > 128 { 4 } else { 2 };
                        let sides = if cost.xor.bits == 0 {
                            [].as_slice()
                        } else {
                            &[(0, i), (1, j)]
                        };
                        for (side, wire) in sides {
                            (0..rows).for_each(|row| {
                                call(part.wires[*wire], Use::Xor, xors, row, *side)
                            });
                        }
                        xors += 1;
                    }
                    Gate::And(i, j) => {
                        for (side, pin) in [(0, i), (1, j)] {
                            if keyed {
                                (0..4).for_each(|row| {
                                    call(part.wires[pin.wire], Use::And, ands, row, side)
                                });
                            } else {
                                call(part.wires[pin.wire], Use::And, ands, side, 0);
                            }
                        }
                        ands += 1;
                    }
                }
            }
            for (input, wire) in part.inputs.iter().enumerate() {
                if part.wires[input] != *wire {
                    (0..2).for_each(|row| call(*wire, Use::Xor, input as u64, row, BRIDGE_SIDE));
                }
            }
        }
        self.callers_of_outputs(wires, &mut callers);
        callers
    }

    /// The labels that decoding and links call on.
    fn callers_of_outputs(&self, wires: &[OpenWire], callers: &mut Vec<Caller>) {
        let keyed = self.id.hash == Hash::LabelKeyed;
        let mut call = |wire: usize, usage, number, a| {
            let tweak = Tweak {
                usage,
                instance: 0,
                number,
                a,
                b: 0,
            };
            callers.push(Caller {
                wire,
                open: wires[wire],
                tweak,
            });
        };
        let selects = 0..1 + u8::from(keyed);
        for part in &self.parts {
            for (number, (wire, _)) in (part.first_output..).zip(&part.outputs) {
                selects
                    .clone()
                    .for_each(|select| call(*wire, Use::Out, number, select));
            }
        }
        for (number, wire) in (0..).zip(self.linked.iter().filter(|_| keyed)) {
            selects
                .clone()
                .for_each(|select| call(*wire, Use::Link, number, select));
        }
    }

    /// Fails if the evaluator's label of a gate's output is no sum of what it has without it: then
    /// calls that it makes are missing here.
    fn assert_evaluates(&self, wires: &[OpenWire], parts: Parts) {
        let mut view = View::new(parts);
        for (number, (wire, (_, source))) in wires.iter().zip(&self.wires).enumerate() {
            if matches!(source, Source::Input(_) | Source::Constant(_)) {
                view.know(Known::Label(number), wire.active());
            }
        }
        self.know_what_is_sent(&mut view);
        for caller in &self.callers(wires) {
            know_call(&mut view, self.id.hash, self.start, caller);
        }
        for (number, wire) in wires.iter().enumerate() {
            assert!(
                view.makes(wire.active()),
                "{}: the label of wire {number} comes from calls that are not known here",
                self.description
            );
            view.know(Known::Label(number), wire.active());
        }
    }
}

/// A wire, and a point at which the hash is called on its labels.
struct Caller {
    wire: usize,
    open: OpenWire,
    tweak: Tweak,
}

/// The side in the point of a bridged input.
const BRIDGE_SIDE: u8 = 2;

/// The cipher whose key is public for this point.
fn public_cipher(hash: Hash, start: Block, tweak: Tweak) -> Aes128 {
    let key = match hash {
        Hash::TwoCall => hash::epoch_key(start, tweak),
        _ => start ^ tweak.to_block(),
    };
    Aes128::new(Cpu::detect(), key)
}

fn encrypt(cipher: &Aes128, block: u128) -> u128 {
    cipher.encrypt(Block::from_u128(block)).to_u128()
}

/// σ(high‖low) = (high ⊕ low)‖high, of the re-keyed hash.
#[must_use]
pub fn sigma(x: u128) -> u128 {
    let (high, low) = (x >> 64, x & u128::from(u64::MAX));
    (high ^ low) << 64 | high
}

/// Adds what the evaluator computes from its label at a point.
fn know_call(view: &mut View, hash: Hash, start: Block, caller: &Caller) {
    let Caller { wire, open, tweak } = *caller;
    let x = open.active();
    let point = tweak.to_block().to_u128();
    match hash {
        Hash::LabelKeyed => {
            let cipher = Aes128::new(Cpu::detect(), Block::from_u128(x & !1));
            view.know(
                Known::Call(wire, tweak),
                encrypt(&cipher, start.to_u128() ^ point),
            );
        }
        Hash::TwoCall => {
            let cipher = public_cipher(hash, start, tweak);
            let inner = encrypt(&cipher, x);
            view.know_two(wire, tweak, inner, encrypt(&cipher, inner ^ point));
        }
        Hash::Rekeyed => {
            let cipher = public_cipher(hash, start, tweak);
            view.know_two(wire, tweak, sigma(x), encrypt(&cipher, sigma(x)));
        }
        other => panic!("what an evaluator calls under {other} is not known here"),
    }
}

/// Makes secret what decrypts to the hidden label, or to what the hash makes of it before its last
/// call, where the key is public.
fn hide_ciphertexts(view: &mut View, hash: Hash, start: Block, caller: &Caller) {
    let Caller { wire, open, tweak } = *caller;
    if hash == Hash::LabelKeyed {
        return;
    }
    let cipher = public_cipher(hash, start, tweak);
    let hidden = open.hidden();
    let inner = match hash {
        Hash::TwoCall => encrypt(&cipher, hidden),
        _ => sigma(hidden),
    };
    view.hide_under(&cipher, wire, tweak, &[hidden, inner]);
}
