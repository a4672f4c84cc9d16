//! Schemes with offsets under F(k, x) = `AES_k(x)`: related keys by an ordering (Gueron, Lindell,
//! Nof and Pinkas, "Fast garbling of circuits under standard assumptions", 2015, section 5), and
//! free XOR with one Δ, with AND in three rows, in two, or as half-gates.
//!
//! The ordering is an argument: it says which inputs of XOR gates are translated, and to which
//! offset.

use crate::prf::{KEY, coin, f};
use crate::{Circuit, Gate, Output, Use, select_bit, times, tweak};

/// The form of an AND gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum And {
    /// Three rows; the output's offset is an argument.
    ThreeRows,
    /// Two rows and a bit; the gate determines its output's offset.
    TwoRows,
    /// Half-gates; the output's offset is Δ.
    HalfGates,
}

/// The offsets of a circuit by number.
#[derive(Clone, Debug, Default)]
pub struct Ordering {
    /// The number of numbered offsets.
    pub offsets: usize,
    /// The inputs to be translated first, each with its offset.
    pub bridges: Vec<(usize, usize)>,
    /// For both inputs of each XOR gate, the offset to which it is translated, if it is.
    pub xors: Vec<[Option<usize>; 2]>,
    /// For each AND gate, the number of its output's offset, if it has one.
    pub ands: Vec<Option<usize>>,
}

/// The arguments that determine a garbling, besides the circuit and the inputs.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The form of AND gates.
    pub and: And,
    /// The offsets; `None` if Δ is the only one.
    pub ordering: Option<&'a Ordering>,
    /// The garbler's seed.
    pub seed: [u8; 32],
    /// The public start point.
    pub start: u128,
    /// The instance.
    pub instance: u32,
    /// Δ.
    pub delta: u128,
}

/// A garbled circuit, with its tables separate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Garbled {
    /// Both labels of every wire, by value.
    pub wires: Vec<[u128; 2]>,
    /// Both labels of every output, by value.
    pub outputs: Vec<[u128; 2]>,
    /// The ciphertexts of the bridged inputs.
    pub bridges: Vec<u128>,
    /// The ciphertexts of each XOR gate.
    pub xors: Vec<Vec<u128>>,
    /// The rows of each AND gate.
    pub ands: Vec<Vec<u128>>,
    /// The bit of each AND gate in two rows.
    pub bits: Vec<bool>,
}

impl Setting<'_> {
    /// Computes F of a label at a point of this instance.
    fn f(&self, label: u128, usage: Use, number: usize, row: u8, side: u8) -> u128 {
        let at = tweak(usage, self.instance, number as u64, row, side);
        f(self.start, label, at)
    }

    /// Returns the labels under another offset, and the ciphertext.
    fn translate(
        &self,
        labels: [u128; 2],
        number: usize,
        side: u8,
        offset: u128,
    ) -> ([u128; 2], u128) {
        let pi = usize::from(select_bit(labels[0]));
        let at = |select: u8| {
            let label = labels[pi ^ usize::from(select)];
            self.f(label, Use::Xor, number, select, side) & KEY
        };
        let with_0 = at(0);
        let with_1 = with_0 ^ offset;
        let mut translated = [with_0, with_1];
        translated.swap(0, pi);
        (translated, at(1) ^ with_1 & KEY)
    }

    /// Computes K_0 to K_3.
    fn row_keys(&self, number: usize, i: [u128; 2], j: [u128; 2]) -> [u128; 4] {
        let (pi_i, pi_j) = (select_bit(i[0]), select_bit(j[0]));
        [0, 1, 2, 3].map(|row: u8| {
            let k_i = i[usize::from(pi_i ^ (row & 2 != 0))];
            let k_j = j[usize::from(pi_j ^ (row & 1 != 0))];
            self.f(k_i, Use::And, number, row, 0) ^ self.f(k_j, Use::And, number, row, 1)
        })
    }

    fn garble_and(
        &self,
        number: usize,
        i: [u128; 2],
        j: [u128; 2],
        offset: u128,
    ) -> ([u128; 2], Vec<u128>, bool) {
        let s = 2 * usize::from(!select_bit(i[0])) + usize::from(!select_bit(j[0]));
        match self.and {
            And::ThreeRows => {
                let k = self.row_keys(number, i, j);
                let other = k[0] ^ offset;
                let labels = if s == 0 { [other, k[0]] } else { [k[0], other] };
                let row = |row: usize| k[row] ^ labels[usize::from(row == s)];
                (labels, vec![row(1), row(2), row(3)], false)
            }
            And::TwoRows => {
                let k = self.row_keys(number, i, j);
                let x = k[1] ^ k[2] ^ k[3];
                // The table of procedure G″, by s.
                let (zero, one, t_1, t_2) = match s {
                    0 => (x, k[0], k[2] ^ k[3], k[1] ^ k[3]),
                    1 => (k[0], x, k[2] ^ k[3], k[0] ^ k[2]),
                    2 => (k[0], x, k[0] ^ k[1], k[1] ^ k[3]),
                    _ => (k[0], x, k[0] ^ k[1], k[0] ^ k[2]),
                };
                let pi = select_bit(k[0]) ^ (s == 0);
                let t = |row: usize| select_bit(k[row]) ^ pi ^ (row == s);
                assert!(!t(0), "π was chosen so");
                let labels = [zero & KEY | u128::from(pi), one & KEY | u128::from(!pi)];
                let rows = vec![t_1 & KEY | u128::from(t(1)), t_2 & KEY | u128::from(t(2))];
                (labels, rows, t(1) ^ t(2) ^ t(3))
            }
            And::HalfGates => {
                let h = |label, half| self.f(label, Use::And, number, 0, half);
                let (p_a, p_b) = (select_bit(i[0]), select_bit(j[0]));
                let t_g = h(i[0], 0) ^ h(i[1], 0) ^ times(p_b, self.delta);
                let t_e = h(j[0], 1) ^ h(j[1], 1) ^ i[0];
                let w_g = h(i[0], 0) ^ times(p_a, t_g);
                let w_e = h(j[0], 1) ^ times(p_b, t_e ^ i[0]);
                let zero = w_g ^ w_e;
                ([zero, zero ^ self.delta], vec![t_g, t_e], false)
            }
        }
    }

    /// Garbles `circuit`, given both labels of each input.
    #[must_use]
    pub fn garble(&self, circuit: &Circuit, inputs: &[[u128; 2]]) -> Garbled {
        let mut garbled = Garbled {
            wires: inputs.to_vec(),
            ..Garbled::default()
        };
        let count = self.ordering.map_or(0, |ordering| ordering.offsets);
        let offset = |number| tweak(Use::Xor, self.instance, number, 0, 0);
        let mut offsets: Vec<u128> = (0..count as u64)
            .map(|number| coin(self.seed, offset(number)) | 1)
            .collect();
        for &(input, offset) in self.ordering.iter().flat_map(|one| &one.bridges) {
            let (labels, c) = self.translate(inputs[input], input, 2, offsets[offset]);
            garbled.wires[input] = labels;
            garbled.bridges.push(c);
        }
        for gate in &circuit.gates {
            let labels = match *gate {
                Gate::Xor(i, j) => {
                    let number = garbled.xors.len();
                    let to = self.ordering.map_or([None; 2], |one| one.xors[number]);
                    let mut inputs = [garbled.wires[i], garbled.wires[j]];
                    let mut ciphertexts = Vec::new();
                    for side in 0..2 {
                        if let Some(offset) = to[side] {
                            let (labels, c) =
                                self.translate(inputs[side], number, side as u8, offsets[offset]);
                            inputs[side] = labels;
                            ciphertexts.push(c);
                        }
                    }
                    garbled.xors.push(ciphertexts);
                    let [i, j] = inputs;
                    assert_eq!(i[0] ^ i[1], j[0] ^ j[1], "one offset");
                    [i[0] ^ j[0], i[0] ^ j[1]]
                }
                Gate::And(i, j) => {
                    let number = garbled.ands.len();
                    let (i, j) = (i.labels(&garbled.wires), j.labels(&garbled.wires));
                    let named = self.ordering.and_then(|one| one.ands[number]);
                    let offset = named.map_or(self.delta, |named| offsets[named]);
                    let (labels, rows, bit) = self.garble_and(number, i, j, offset);
                    if let (Some(named), And::TwoRows) = (named, self.and) {
                        offsets[named] = labels[0] ^ labels[1];
                    }
                    garbled.ands.push(rows);
                    garbled.bits.push(bit);
                    labels
                }
            };
            garbled.wires.push(labels);
        }
        let labels = |(number, output): (usize, &Output)| match *output {
            Output::Wire(pin) => pin.labels(&garbled.wires),
            Output::Constant(bit) => {
                let at = tweak(Use::Out, self.instance, number as u64, 0, 0);
                let inactive = match self.ordering {
                    Some(_) => coin(self.seed, at) | 1,
                    None => self.delta,
                };
                [times(bit, inactive), times(!bit, inactive)]
            }
        };
        garbled.outputs = circuit.outputs.iter().enumerate().map(labels).collect();
        garbled
    }

    /// Evaluates `circuit` on the inputs' labels. Returns the outputs' labels. Reads only the
    /// public values of `self`, and the tables of `garbled`.
    #[must_use]
    pub fn evaluate(&self, circuit: &Circuit, garbled: &Garbled, inputs: &[u128]) -> Vec<u128> {
        let mut wires = inputs.to_vec();
        let translate = |label: u128, number: usize, side: u8, c: u128| {
            let select = select_bit(label);
            let value = self.f(label, Use::Xor, number, u8::from(select), side);
            (value ^ times(select, c)) & KEY | u128::from(select)
        };
        let bridges = self.ordering.iter().flat_map(|one| &one.bridges);
        for (&(input, _), &c) in bridges.zip(&garbled.bridges) {
            wires[input] = translate(wires[input], input, 2, c);
        }
        let (mut xors, mut ands) = (0, 0);
        for gate in &circuit.gates {
            let label = match *gate {
                Gate::Xor(i, j) => {
                    let to = self.ordering.map_or([None; 2], |one| one.xors[xors]);
                    let mut ciphertexts = garbled.xors[xors].iter();
                    let mut inputs = [wires[i], wires[j]];
                    for side in (0..2).filter(|&side| to[side].is_some()) {
                        let c = *ciphertexts.next().expect("one for each translation");
                        inputs[side] = translate(inputs[side], xors, side as u8, c);
                    }
                    xors += 1;
                    inputs[0] ^ inputs[1]
                }
                Gate::And(i, j) => {
                    let (i, j) = (wires[i.wire], wires[j.wire]);
                    let label = self.evaluate_and(ands, i, j, garbled);
                    ands += 1;
                    label
                }
            };
            wires.push(label);
        }
        circuit.output_labels(&wires)
    }

    fn evaluate_and(&self, number: usize, i: u128, j: u128, garbled: &Garbled) -> u128 {
        let rows = &garbled.ands[number];
        let (a, b) = (select_bit(i), select_bit(j));
        let row = 2 * u8::from(a) + u8::from(b);
        let f = |row| self.f(i, Use::And, number, row, 0) ^ self.f(j, Use::And, number, row, 1);
        match self.and {
            And::ThreeRows if row == 0 => f(row),
            And::ThreeRows => f(row) ^ rows[usize::from(row) - 1],
            And::TwoRows => {
                let bit = garbled.bits[number] && row == 3;
                f(row) ^ times(b, rows[0]) ^ times(a, rows[1]) ^ u128::from(bit)
            }
            And::HalfGates => f(0) ^ times(a, rows[0]) ^ times(b, rows[1] ^ i),
        }
    }
}
