//! The evaluator's knowledge of a scene, and the secrets.

use core::iter;

use tacit_garble::{Cost, Hash, PublicRelation, SchemeInfo};
use tacit_kernels::{Aes128, Block, Cpu, Tweak, Use, hash};
use tacit_reference::Gate;

use super::scene::{Scene, Source};
use super::{ExaminedCircuit, Known, OpenWire, Parts, View};

/// The places of the halves in a table of three halves, whose byte 16 holds control bits.
const HALVES_AT: [usize; 3] = [0, 8, 17];

impl Scene {
    /// Looks for relations, for the given inputs.
    pub(super) fn check(&self, examined: &ExaminedCircuit, bits: usize) {
        let wires = self.values(bits);
        let modes: &[Parts] = if self.is_sliced() {
            &[Parts::Halves]
        } else {
            &[Parts::Whole, Parts::Halves]
        };
        for parts in modes.iter().copied() {
            let one_gate = self.parts.len() == 1 && examined.one_gate;
            let view = self.view(&wires, parts);
            // For more than one gate there are often more halves than fit.
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

    /// Returns the evaluator's knowledge, and the secrets.
    fn view(&self, wires: &[OpenWire], parts: Parts) -> View {
        let mut view = View::new(parts);
        for (number, wire) in wires.iter().enumerate() {
            view.know(Known::Label(number), wire.active());
        }
        self.know_what_is_sent(&mut view);
        let callers = self.callers(wires);
        for caller in &callers {
            know_call(&mut view, self.scheme().hash, self.start, caller);
        }
        let public = self.scheme().public_relations;
        let equal_offsets = public.contains(&PublicRelation::EqualOffsets);
        let untranslated = public.contains(&PublicRelation::UntranslatedInput);
        view.hide_wires(wires, |a, b| {
            equal_offsets && wires[a].offset() == wires[b].offset()
                || untranslated && (self.goes_only_into(a, b) || self.goes_only_into(b, a))
        });
        for caller in &callers {
            hide_ciphertexts(&mut view, self.scheme().hash, self.start, caller);
        }
        view
    }

    /// Returns whether the tables consist of halves of labels.
    fn is_sliced(&self) -> bool {
        let row = usize::from(self.cost().and.table_bytes);
        self.scheme().hash != Hash::Prf && !row.is_multiple_of(Block::BYTES)
    }

    fn scheme(&self) -> &'static SchemeInfo {
        self.id.rung().expect("it is in the catalogue")
    }

    fn cost(&self) -> Cost {
        self.scheme().cost
    }

    /// Adds tables, links and decoding information.
    fn know_what_is_sent(&self, view: &mut View) {
        let mut table = 0;
        for part in &self.parts {
            if self.is_sliced() {
                let gates = part.tables.chunks(self.cost().and.table_bytes.into());
                for (gate, at) in gates.flat_map(|gate| HALVES_AT.map(|at| (gate, at))) {
                    let half = gate[at..].first_chunk().expect("8 bytes of a gate");
                    view.know_half(Known::Table(table), u64::from_le_bytes(*half));
                    table += 1;
                }
            } else {
                for block in part.tables.as_chunks().0 {
                    view.know(Known::Table(table), u128::from_le_bytes(*block));
                    table += 1;
                }
            }
            if self.scheme().hash == Hash::Prf {
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

    /// Returns whether wire `a` is a gate's output that only one XOR gate reads, and `b` is that
    /// gate's wire. If that wire is of the same kind, `b` may also be the wire of the gate that
    /// reads it, and so on.
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

    /// Returns the wire of the XOR gate that reads wire `a`, a gate's output that nothing else
    /// reads.
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

    /// Returns each label with the points at which a call on it could matter.
    fn callers(&self, wires: &[OpenWire]) -> Vec<Caller> {
        let mut callers = Vec::new();
        let (of_xor, of_and) = (self.calls(Use::Xor), self.calls(Use::And));
        for part in &self.parts {
            let mut call = |wire, open, usage, number, [a, b]: [u8; 2]| {
                let instance = part.instance;
                let tweak = tweak(usage, instance, number, [a, b]);
                callers.push(Caller { wire, open, tweak });
            };
            let (mut xors, mut ands) = (0, 0);
            for gate in &part.circuit.gates {
                let (usage, calls, number, [i, j]) = match *gate {
                    Gate::Xor(i, j) => (Use::Xor, &of_xor, &mut xors, [i, j]),
                    Gate::And(i, j) => (Use::And, &of_and, &mut ands, [i.wire, j.wire]),
                };
                let [i, j] = [part.wires[i], part.wires[j]];
                for (point, input) in calls {
                    let (wire, open) = match input {
                        Input::First => (i, wires[i]),
                        Input::Second => (j, wires[j]),
                        Input::Sum => (i, wires[i].plus(&wires[j])),
                    };
                    call(wire, open, usage, *number, *point);
                }
                *number += 1;
            }
            for (number, wire) in (0..).zip(&part.inputs) {
                let translated = part.wires[number as usize] != *wire;
                for select in (0..2).filter(|_| translated) {
                    call(*wire, wires[*wire], Use::Xor, number, [select, BRIDGE_SIDE]);
                }
            }
        }
        self.callers_of_outputs(wires, &mut callers);
        callers
    }

    /// Returns the fields a and b of the tweaks at which a gate of a kind calls, and the input for
    /// each.
    fn calls(&self, usage: Use) -> Vec<([u8; 2], Input)> {
        let keyed = self.scheme().hash == Hash::Prf;
        let rows = match usage {
            Use::And if keyed => 0..4,
            Use::And => {
                let mut calls = vec![([0, 0], Input::First), ([1, 0], Input::Second)];
                calls.extend(self.is_sliced().then_some(([2, 0], Input::Sum)));
                return calls;
            }
            // A XOR is free, takes one ciphertext by select bits, or takes rows.
            _ => match self.cost().xor.bits {
                0 => 0..0,
                1..=128 => 0..2,
                _ => 0..4,
            },
        };
        let both = |row| [([row, 0], Input::First), ([row, 1], Input::Second)];
        rows.flat_map(both).collect()
    }

    /// Adds the labels on which decoding and links call.
    fn callers_of_outputs(&self, wires: &[OpenWire], callers: &mut Vec<Caller>) {
        let keyed = self.scheme().hash == Hash::Prf;
        let selects = if keyed { 0..2 } else { 0..1 };
        let mut calls = |wire: usize, usage, number| {
            callers.extend(selects.clone().map(|select| Caller {
                wire,
                open: wires[wire],
                tweak: tweak(usage, 0, number, [select, 0]),
            }));
        };
        for part in &self.parts {
            for (number, (wire, _)) in (part.first_output..).zip(&part.outputs) {
                calls(*wire, Use::Out, number);
            }
        }
        for (number, wire) in (0..).zip(self.linked.iter().filter(|_| keyed)) {
            calls(*wire, Use::Link, number);
        }
    }

    /// Checks that the evaluator's label of a gate's output is a sum of its other values. If it is
    /// not, this module misses calls that the evaluator makes.
    fn assert_evaluates(&self, wires: &[OpenWire], parts: Parts) {
        let mut view = View::new(parts);
        for (number, (wire, (_, source))) in wires.iter().zip(&self.wires).enumerate() {
            if matches!(source, Source::Input(_) | Source::Constant(_)) {
                view.know(Known::Label(number), wire.active());
            }
        }
        self.know_what_is_sent(&mut view);
        for caller in &self.callers(wires) {
            know_call(&mut view, self.scheme().hash, self.start, caller);
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

/// The input of a gate's hash call.
#[derive(Clone, Copy)]
enum Input {
    First,
    Second,
    Sum,
}

fn tweak(usage: Use, instance: u32, number: u64, [a, b]: [u8; 2]) -> Tweak {
    Tweak {
        usage,
        instance,
        number,
        a,
        b,
    }
}

/// The side in the point of a bridged input.
const BRIDGE_SIDE: u8 = 2;

/// Returns the cipher whose key is public for this point.
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

/// Computes σ(high‖low) = (high ⊕ low)‖high, of the re-keyed hash.
pub fn sigma(x: u128) -> u128 {
    let (high, low) = (x >> 64, x & u128::from(u64::MAX));
    (high ^ low) << 64 | high
}

/// Adds the values that the evaluator computes from its label at a point.
fn know_call(view: &mut View, hash: Hash, start: Block, caller: &Caller) {
    let Caller { wire, open, tweak } = *caller;
    let x = open.active();
    let point = tweak.to_block().to_u128();
    match hash {
        Hash::Prf => {
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
        other => panic!("what an evaluator calls under {other:?} is not known here"),
    }
}

/// Hides the values that decrypt to the hidden label, or to its hash before the last call, if the
/// key is public.
fn hide_ciphertexts(view: &mut View, hash: Hash, start: Block, caller: &Caller) {
    let Caller { wire, open, tweak } = *caller;
    if hash == Hash::Prf {
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
