//! Compares a circuit with the plain function that it must equal, on random inputs.
//!
//! The tests of the component library use it too.

pub(crate) mod numbers;
pub(crate) mod vectors;

use tacit_circuit::builder::Builder;
use tacit_circuit::{Circuit, Kind, Lanes, Program, Type};

/// Builds the circuit that `describe` describes.
pub(crate) fn build(describe: impl FnOnce(&Builder)) -> Circuit {
    let builder = Builder::new();
    describe(&builder);
    builder.finish().unwrap()
}

/// Returns the number of random inputs for the comparison of each circuit: 10,000, or more if
/// `TACIT_RANDOM_INPUTS` asks for an occasional long run. Each number of inputs starts with
/// different inputs.
pub(crate) fn random_inputs() -> usize {
    const LEAST: usize = 10_000;
    let asked = std::env::var("TACIT_RANDOM_INPUTS").map(|text| text.parse());
    match asked {
        Ok(asked) => LEAST.max(asked.expect("TACIT_RANDOM_INPUTS is a number")),
        Err(_) => LEAST,
    }
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): random enough for test inputs, and repeatable.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns the next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Returns uniform bits.
    pub(crate) fn bits(&mut self, width: usize) -> Bits {
        Bits(
            (0..width.div_ceil(64))
                .flat_map(|_| {
                    let word = self.next();
                    (0..64).map(move |bit| word >> bit & 1 == 1)
                })
                .take(width)
                .collect(),
        )
    }

    /// Returns a value of this type. Numbers are small, zero or extreme more often than by chance,
    /// so that equal values, overflows and boundaries occur.
    pub(crate) fn value(&mut self, ty: &Type) -> Bits {
        match ty.kind() {
            Kind::Array(of, n) => Bits((0..*n).flat_map(|_| self.value(of).0).collect()),
            Kind::Unsigned(n) | Kind::Signed(n) => self.number(*n as usize),
            _ => self.bits(ty.width()),
        }
    }

    fn number(&mut self, width: usize) -> Bits {
        let mut bits = self.bits(width);
        let kept = match self.below(8) {
            0 => self.below(width as u64 + 1) as usize,
            1 => self.below(4) as usize,
            _ => width,
        };
        let fill = self.below(2) == 1;
        bits.0.iter_mut().skip(kept).for_each(|bit| *bit = fill);
        bits
    }
}

/// A value's bits, with one reading for each type of port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits(pub(crate) Vec<bool>);

impl Bits {
    pub(crate) fn of(value: u128, width: usize) -> Self {
        Self(
            (0..width)
                .map(|bit| bit < 128 && value >> bit & 1 == 1)
                .collect(),
        )
    }

    pub(crate) fn of_int(value: i128, width: usize) -> Self {
        Self(
            (0..width)
                .map(|bit| value >> bit.min(127) & 1 == 1)
                .collect(),
        )
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self::of_numbers(bytes.iter().map(|&byte| byte.into()), 8)
    }

    pub(crate) fn of_hex(text: &str) -> Self {
        let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        Self::of_bytes(&(0..text.len()).step_by(2).map(byte).collect::<Vec<u8>>())
    }

    pub(crate) fn of_numbers(numbers: impl IntoIterator<Item = u128>, width: usize) -> Self {
        Self(
            numbers
                .into_iter()
                .flat_map(|number| Self::of(number, width).0)
                .collect(),
        )
    }

    pub(crate) fn bit(&self) -> bool {
        assert_eq!(self.0.len(), 1);
        self.0[0]
    }

    pub(crate) fn uint(&self) -> u128 {
        assert!(self.0.len() <= 128);
        self.0
            .iter()
            .rev()
            .fold(0, |value, &bit| value << 1 | u128::from(bit))
    }

    pub(crate) fn int(&self) -> i128 {
        let (value, width) = (self.uint() as i128, self.0.len());
        value << (128 - width) >> (128 - width)
    }

    pub(crate) fn numbers(&self, width: usize) -> Vec<u128> {
        self.0
            .chunks(width)
            .map(|bits| Self(bits.to_vec()).uint())
            .collect()
    }

    pub(crate) fn ints(&self, width: usize) -> Vec<i128> {
        self.0
            .chunks(width)
            .map(|bits| Self(bits.to_vec()).int())
            .collect()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.numbers(8).into_iter().map(|byte| byte as u8).collect()
    }
}

/// Returns the circuit's outputs for these inputs, port by port.
pub(crate) fn outputs(circuit: &Circuit, inputs: &[Bits]) -> Vec<Bits> {
    let bits: Vec<bool> = inputs
        .iter()
        .flat_map(|port| port.0.iter().copied())
        .collect();
    split(circuit, &circuit.evaluate(&bits))
}

fn split(circuit: &Circuit, bits: &[bool]) -> Vec<Bits> {
    let mut rest = bits;
    let ports = circuit.outputs().iter().map(|port| {
        let (port, after) = rest.split_at(port.ty.width());
        rest = after;
        Bits(port.to_vec())
    });
    ports.collect()
}

/// Panics unless the circuit computes `plain` on random inputs of its ports' types.
pub(crate) fn agrees(name: &str, circuit: &Circuit, plain: impl Fn(&[Bits]) -> Vec<Bits>) {
    let types: Vec<Type> = circuit
        .inputs()
        .iter()
        .map(|port| port.ty.clone())
        .collect();
    let draw = |random: &mut Random| types.iter().map(|ty| random.value(ty)).collect();
    agrees_on(name, circuit, draw, plain);
}

/// Panics unless the circuit computes `plain` on inputs drawn by `draw`.
pub(crate) fn agrees_on(
    name: &str,
    circuit: &Circuit,
    draw: impl Fn(&mut Random) -> Vec<Bits>,
    plain: impl Fn(&[Bits]) -> Vec<Bits>,
) {
    let mut left = random_inputs();
    let mut random = Random(circuit.gate_count() as u64 ^ (left as u64) << 32);
    while left > 0 {
        let size = left.min(64);
        let instances: Vec<Vec<Bits>> = (0..size).map(|_| draw(&mut random)).collect();
        let flat: Vec<Vec<bool>> = instances
            .iter()
            .map(|ports| {
                ports
                    .iter()
                    .flat_map(|port| port.0.iter().copied())
                    .collect()
            })
            .collect();
        for (inputs, found) in instances.iter().zip(circuit.evaluate_batch(&flat)) {
            let found = split(circuit, &found);
            let expected = plain(inputs);
            assert!(
                found == expected,
                "{name} of {inputs:?}: {found:?} instead of {expected:?}"
            );
        }
        left -= size;
    }
}

/// Compiles the circuit, checks the invariants, and compares the program with the circuit on 64
/// inputs.
pub(crate) fn compiled(circuit: &Circuit, random: &mut Random) -> Program {
    let program = Program::compile(circuit);
    program.check_invariants().unwrap();
    assert_eq!(program.inputs(), circuit.input_bits());
    assert_eq!(program.digest(), circuit.digest());
    let inputs: Vec<Lanes> = (0..circuit.input_bits()).map(|_| random.next()).collect();
    assert_eq!(
        program.interpret_lanes(&inputs),
        circuit.evaluate_lanes(&inputs)
    );
    program
}
