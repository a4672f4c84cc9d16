//! The common part of schemes whose hash is keyed by labels: F(k, x) = `AES_k(x)`.
//!
//! This covers the points x at which F is called, and decoding as in Gueron, Lindell, Nof and
//! Pinkas ("Fast garbling of circuits under standard assumptions", 2015), figure 6: d[j, b] =
//! F(k_j^b, out‖λ) cut to 127 bits, so that a label that is not the garbler's decodes to ⊥.

mod pair;

pub(crate) use pair::Coins;
pub use pair::LabelPair;

use subtle::{Choice, ConstantTimeEq};
use tacit_circuit::{Output, Program};
use tacit_kernels::{Block, Cpu, Tweak, Use, encrypt_each, wiping_stack};
use zeroize::{Zeroize, Zeroizing};

use crate::decoding::{self, Fit};
use crate::{DecodeError, StartPoint};

/// The bytes of an output's decoding information.
pub(crate) const DECODING_BYTES: usize = 32;
/// [1..n]: all bits of a label except its select bit.
pub(crate) const KEY: Block = Block::from_u128(!1);

/// The rule that a caller with tables of another size broke.
pub(crate) const TABLES: &str = "exactly as many bytes as the segment's tables have";

/// The place at which F is called: the start point and the instance, which all tweaks share.
#[derive(Clone, Copy)]
pub(crate) struct Points {
    pub(crate) start: StartPoint,
    pub(crate) instance: u32,
}

impl Points {
    /// Returns the point at which gate `number` calls F for `row` on one `side`.
    #[inline(always)]
    pub(crate) fn at(self, usage: Use, number: usize, row: u8, side: u8) -> Block {
        let tweak = Tweak {
            usage,
            instance: self.instance,
            number: number as u64,
            a: row,
            b: side,
        };
        self.start ^ tweak.to_block()
    }

    /// Returns the point at which output `number` is decoded. Outputs are numbered across
    /// instances.
    fn output(self, number: u64, select: Choice) -> Block {
        let tweak = Tweak {
            usage: Use::Out,
            instance: 0,
            number,
            a: select.unwrap_u8(),
            b: 0,
        };
        self.start ^ tweak.to_block()
    }
}

/// Writes what a party has of a program's inputs to the first of its slots. Afterwards there are at
/// least `length` slots.
pub(crate) fn place_inputs<T: Copy + Default + Zeroize>(
    program: &Program,
    inputs: &[T],
    slots: &mut Zeroizing<Vec<T>>,
    length: usize,
) {
    assert_eq!(
        inputs.len(),
        program.inputs(),
        "one wire for each input of the program"
    );
    if slots.len() < length {
        // This is a new vector, since growing the old one would leave labels behind in memory.
        *slots = Zeroizing::new(vec![T::default(); length]);
    }
    slots[..inputs.len()].copy_from_slice(inputs);
}

/// Appends the evaluator's labels of a program's outputs. That of a constant is zero.
pub(crate) fn output_labels(program: &Program, slots: &[Block], outputs: &mut Vec<Block>) {
    let label = |output: &Output| match *output {
        Output::Slot { slot, .. } => slots[slot as usize],
        Output::Constant(_) => Block::ZERO,
    };
    outputs.extend(program.outputs().iter().map(label));
}

/// Appends d[j, 0] and d[j, 1] of the outputs from number `first` on with these labels.
pub(crate) fn decoding(
    cpu: Cpu,
    points: Points,
    first: u64,
    wires: &[LabelPair],
    out: &mut Vec<u8>,
) {
    let pair = |wire: &LabelPair| [wire.of(false), wire.of(true)];
    let labels: Zeroizing<Vec<Block>> = Zeroizing::new(wires.iter().flat_map(pair).collect());
    let numbers = (first..).flat_map(|number| [number, number]);
    let values = fingerprints(cpu, points, numbers, &labels);
    out.extend(values.iter().flat_map(|value| value.to_bytes()));
}

/// Returns the values of these labels of the outputs from number `first` on, with ⊥ if one fits
/// neither decoding value, or both.
pub(crate) fn decode(
    cpu: Cpu,
    points: Points,
    first: u64,
    labels: &[Block],
    information: &[u8],
) -> Result<Zeroizing<Vec<bool>>, DecodeError> {
    let expected = DECODING_BYTES * labels.len();
    if information.len() != expected {
        return Err(DecodeError::WrongLength {
            expected,
            found: information.len(),
        });
    }
    let found = fingerprints(cpu, points, first.., labels);
    let pairs = information.as_chunks().0.as_chunks().0;
    let fits = found
        .iter()
        .zip(pairs)
        .map(|(found, d): (&Block, &[[u8; 16]; 2])| {
            let [zero, one] = d.map(|d| found.ct_eq(&Block::from_bytes(d)));
            Fit { zero, one }
        });
    decoding::values(first, fits).map_err(DecodeError::NeitherValue)
}

/// Computes F(k, out‖λ)[1..n] of labels of the outputs with these numbers.
fn fingerprints(
    cpu: Cpu,
    points: Points,
    numbers: impl Iterator<Item = u64>,
    labels: &[Block],
) -> Zeroizing<Vec<Block>> {
    let keys = Zeroizing::new(labels.iter().map(|label| *label & KEY).collect::<Vec<_>>());
    let point = |(number, label): (u64, &Block)| points.output(number, label.lsb());
    let mut values = Zeroizing::new(numbers.zip(labels).map(point).collect::<Vec<_>>());
    wiping_stack(|| encrypt_each(cpu, &keys, &mut values));
    values.iter_mut().for_each(|value| *value = *value & KEY);
    values
}
