//! Three halves (Rosulek and Roy, "Three halves make a whole? Beating the half-gates lower bound
//! for garbled circuits", CRYPTO 2021) under the two-call hash, by the equations that each pair of
//! select bits must satisfy.

use crate::half_gates::{GateContext, Hash};
use crate::{Circuit, Garbled, Use, aes_128, select_bit, times, tweak};

/// Returns a block's low or high half.
fn half(block: u128, high: bool) -> u64 {
    (if high { block >> 64 } else { block }) as u64
}

/// Returns a block of two halves.
fn join(low: u64, high: u64) -> u128 {
    u128::from(low) | u128::from(high) << 64
}

/// An element uω ⊕ v of GF(4).
#[derive(Clone, Copy, PartialEq, Eq)]
struct Dice {
    u: bool,
    v: bool,
}

impl Dice {
    fn plus(self, other: Self) -> Self {
        Self {
            u: self.u ^ other.u,
            v: self.v ^ other.v,
        }
    }

    /// Multiplies by ω, with ω² = ω ⊕ 1.
    fn omega(self) -> Self {
        Self {
            u: self.u ^ self.v,
            v: self.u,
        }
    }

    /// Multiplies a label; ω maps it to (L ⊕ R, L).
    fn label(self, label: u128) -> u128 {
        let (low, high) = (half(label, false), half(label, true));
        times(self.u, join(low ^ high, low)) ^ times(self.v, label)
    }
}

/// Returns ω² times a label.
fn omega_2(label: u128) -> u128 {
    Dice { u: true, v: true }.label(label)
}

/// Returns the parts of a gate's hashes for select bits i and j: the sum for both halves of the
/// output, and the dice.
fn of_hashes(place: GateContext, a: u128, b: u128) -> (u128, Dice) {
    let [a, b, sum] = [(a, 0), (b, 1), (a ^ b, 2)].map(|(x, number)| place.hash(x, number));
    let (whole, sigma) = (half(sum, true), sum >> 63 & 1 == 1);
    let dice = Dice {
        u: (a >> 127 & 1 == 1) ^ sigma,
        v: (b >> 63 & 1 == 1) ^ sigma,
    };
    (join(half(a, false) ^ whole, half(b, true) ^ whole), dice)
}

/// Returns the part that comes neither from hashes nor from the table: i B in the low half and j A
/// in the high half, and the dice times A ⊕ ω² B.
fn of_labels(a: u128, b: u128, dice: Dice) -> u128 {
    let (i, j) = (select_bit(a), select_bit(b));
    let whole = join(
        if i { half(b, false) } else { 0 },
        if j { half(a, true) } else { 0 },
    );
    whole ^ dice.label(a ^ omega_2(b))
}

/// Returns the output's label for zero, and the table.
fn garble_and(
    place: GateContext,
    seed: [u8; 32],
    delta: u128,
    a: [u128; 2],
    b: [u128; 2],
) -> (u128, Vec<u8>) {
    let (p_a, p_b) = (select_bit(a[0]), select_bit(b[0]));
    let coins = coins(seed, tweak(Use::And, place.instance, place.gate / 64, 0, 0));
    let random = Dice {
        u: coins >> (64 + place.gate % 64) & 1 == 1,
        v: coins >> (place.gate % 64) & 1 == 1,
    };
    // P = p_a ⊕ ω² p_b, with ω² = ω ⊕ 1.
    let p = Dice {
        u: p_b,
        v: p_a ^ p_b,
    };
    // For select bits i and j, the remaining sides of the equations: C^0 ⊕ V_ij G, and c ⊕ V_ij z.
    let left = |i: bool, j: bool| {
        let (a, b) = (a[usize::from(i ^ p_a)], b[usize::from(j ^ p_b)]);
        let mut dice = random;
        if i {
            dice = dice.plus(p);
        }
        if j {
            dice = dice.plus(p.omega().omega());
        }
        let (hashes, masks) = of_hashes(place, a, b);
        let value = (i ^ p_a) && (j ^ p_b);
        let rest = hashes ^ of_labels(a, b, dice) ^ times(value, delta);
        (rest, dice.plus(masks))
    };
    let (zero, c) = left(false, false);
    let (at_01, c_01) = left(false, true);
    let (at_10, c_10) = left(true, false);
    let (at_11, c_11) = left(true, true);
    // By the choice of the dice, equations with the same unknown agree.
    assert_eq!(half(zero ^ at_01, false), half(zero ^ at_10, true));
    assert_eq!(half(at_10 ^ at_11, false), half(at_01 ^ at_11, true));
    assert_eq!(half(zero ^ at_01 ^ at_10 ^ at_11, false), 0);
    assert_eq!(half(zero ^ at_01 ^ at_10 ^ at_11, true), 0);
    let both = zero ^ at_11;
    let mut table = Vec::with_capacity(25);
    table.extend(both.to_le_bytes());
    assert!(c.plus(c_01).u == c.plus(c_10).v && c.plus(c_01).plus(c_10) == c_11);
    let (z_0, z_1, z_2) = (c.u ^ c_11.u, c.v ^ c_11.v, c.u ^ c_01.u);
    let bits = (0..).zip([z_2, c.u, z_0, c.v, z_1]);
    table.push(bits.map(|(place, bit)| u8::from(bit) << place).sum());
    table.extend(half(zero ^ at_01, false).to_le_bytes());
    (zero, table)
}

/// Returns the output's label.
fn evaluate_and(place: GateContext, a: u128, b: u128, table: &[u8; 25]) -> u128 {
    let (i, j) = (select_bit(a), select_bit(b));
    let g = |number: usize| {
        let at = [0, 8, 17][number];
        let bytes = table[at..at + 8].try_into();
        u64::from_le_bytes(bytes.expect("eight bytes"))
    };
    let bit = |place: usize| table[16] >> place & 1 == 1;
    let (z_0, z_1, z_2) = (bit(2), bit(4), bit(0));
    let (hashes, masks) = of_hashes(place, a, b);
    let dice = Dice {
        u: masks.u ^ (i && z_0) ^ ((i ^ j) && z_2) ^ bit(1),
        v: masks.v ^ (j && z_1) ^ ((i ^ j) && z_2) ^ bit(3),
    };
    let rows = times(i, join(g(0), 0)) ^ times(j, join(0, g(1))) ^ times(i ^ j, join(g(2), g(2)));
    hashes ^ rows ^ of_labels(a, b, dice)
}

/// Returns random bits of 64 gates: AES in counter mode under one half of the seed, starting from
/// the other half.
fn coins(seed: [u8; 32], counter: u128) -> u128 {
    let word = |bytes: &[u8]| u128::from_le_bytes(bytes.try_into().expect("sixteen bytes"));
    aes_128(word(&seed[..16]), word(&seed[16..]) ^ counter)
}

/// Garbles `circuit` with offset `delta`, given the inputs' labels for zero.
#[must_use]
pub fn garble(
    circuit: &Circuit,
    seed: [u8; 32],
    start: u128,
    instance: u32,
    delta: u128,
    inputs: &[u128],
) -> Garbled {
    circuit.garble(delta, inputs, |gate, a, b, tables| {
        let place = GateContext::new(Hash::TwoCall, start, instance, gate);
        let (zero, table) = garble_and(place, seed, delta, a, b);
        tables.extend(table);
        zero
    })
}

/// Evaluates `circuit` on the inputs' labels. Returns the outputs' labels.
///
/// # Panics
///
/// If `tables` are too short.
#[must_use]
pub fn evaluate(
    circuit: &Circuit,
    start: u128,
    instance: u32,
    tables: &[u8],
    inputs: &[u128],
) -> Vec<u128> {
    let (tables, _) = tables.as_chunks();
    circuit.evaluate(inputs, |gate, a, b| {
        let place = GateContext::new(Hash::TwoCall, start, instance, gate);
        evaluate_and(place, a, b, &tables[gate as usize])
    })
}
