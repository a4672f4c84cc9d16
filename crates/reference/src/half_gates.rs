//! Half-gates (Zahur, Rosulek and Evans, "Two halves make a whole", EUROCRYPT 2015, figure 2)
//! under the two hashes that Tacit has.

use crate::{Circuit, Garbled, Use, aes_128, select_bit, times, tweak};

/// The tweakable hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// π(π(x) ⊕ i) ⊕ π(x), with a key of π for every 2^10 AND gates.
    TwoCall,
    /// `AES_k(σ(x)) ⊕ σ(x)`, with a key for every half-gate.
    Rekeyed,
}

/// The arguments of a gate's hash besides the label.
#[derive(Clone, Copy)]
pub(crate) struct GateContext {
    hash: Hash,
    start: u128,
    pub(crate) instance: u32,
    pub(crate) gate: u64,
}

impl GateContext {
    pub(crate) fn new(hash: Hash, start: u128, instance: u32, gate: u64) -> Self {
        Self {
            hash,
            start,
            instance,
            gate,
        }
    }

    /// Computes H(x) for half gate `half` of this gate.
    pub(crate) fn hash(self, x: u128, half: u8) -> u128 {
        self.hash_under(tweak(Use::And, self.instance, self.gate, half, 0), x)
    }

    /// Computes H(x, index).
    fn hash_under(self, index: u128, x: u128) -> u128 {
        match self.hash {
            Hash::TwoCall => {
                let epoch = tweak(Use::KeyEpoch, self.instance, self.gate >> 10, 0, 0);
                let pi = |block| aes_128(self.start ^ epoch, block);
                pi(pi(x) ^ index) ^ pi(x)
            }
            Hash::Rekeyed => aes_128(self.start ^ index, sigma(x)) ^ sigma(x),
        }
    }
}

/// Computes σ(L‖R) = (L ⊕ R)‖L, where L is the half of higher value.
fn sigma(x: u128) -> u128 {
    let (left, right) = (x >> 64, x & u128::from(u64::MAX));
    (left ^ right) << 64 | left
}

/// Garbles `circuit` with offset `delta`, given the inputs' labels for zero.
#[must_use]
pub fn garble(
    circuit: &Circuit,
    hash: Hash,
    start: u128,
    instance: u32,
    delta: u128,
    inputs: &[u128],
) -> Garbled {
    circuit.garble(delta, inputs, |gate, a, b, tables| {
        let place = GateContext::new(hash, start, instance, gate);
        let (zero, rows) = garble_and(place, delta, a, b);
        tables.extend(rows.iter().flat_map(|row| row.to_le_bytes()));
        zero
    })
}

/// Returns the output's label for zero, and the two rows `T_G` and `T_E`.
fn garble_and(place: GateContext, delta: u128, a: [u128; 2], b: [u128; 2]) -> (u128, [u128; 2]) {
    let (p_a, p_b) = (select_bit(a[0]), select_bit(b[0]));
    let t_g = place.hash(a[0], 0) ^ place.hash(a[1], 0) ^ times(p_b, delta);
    let w_g = place.hash(a[0], 0) ^ times(p_a, t_g);
    let t_e = place.hash(b[0], 1) ^ place.hash(b[1], 1) ^ a[0];
    let w_e = place.hash(b[0], 1) ^ times(p_b, t_e ^ a[0]);
    (w_g ^ w_e, [t_g, t_e])
}

/// Evaluates `circuit` on the inputs' labels. Returns the outputs' labels.
///
/// # Panics
///
/// If `tables` are too short.
#[must_use]
pub fn evaluate(
    circuit: &Circuit,
    hash: Hash,
    start: u128,
    instance: u32,
    tables: &[u8],
    inputs: &[u128],
) -> Vec<u128> {
    let (rows, _) = tables.as_chunks();
    circuit.evaluate(inputs, |gate, a, b| {
        let place = GateContext::new(hash, start, instance, gate);
        let [t_g, t_e] = [0, 1].map(|half| u128::from_le_bytes(rows[2 * gate as usize + half]));
        let w_g = place.hash(a, 0) ^ times(select_bit(a), t_g);
        let w_e = place.hash(b, 1) ^ times(select_bit(b), t_e ^ a);
        w_g ^ w_e
    })
}

/// Returns the decoding information of the outputs from number `first` on: for each the tags of
/// both its labels, the first eight bytes of their hashes.
#[must_use]
pub fn decoding(hash: Hash, start: u128, first: u64, outputs: &[[u128; 2]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, labels) in (first..).zip(outputs) {
        for label in labels {
            let place = GateContext::new(hash, start, 0, number);
            let tag = place.hash_under(tweak(Use::Out, 0, number, 0, 0), *label);
            bytes.extend(&tag.to_le_bytes()[..8]);
        }
    }
    bytes
}
