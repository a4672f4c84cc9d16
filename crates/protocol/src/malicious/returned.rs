//! The garbler's result on its way back: masked, with a one-time MAC that is computed in the
//! circuit.
//!
//! After the fourth message the evaluator knows both labels of every output, so labels prove
//! nothing. Therefore the garbler adds random input bits k and p, and the circuit computes (f ‖
//! MAC_k(f)) ⊕ p for the evaluator to return. p hides f. The evaluator can only add some (e, e′) ≠
//! 0 to it, which passes if MAC_k(f ⊕ e) = MAC_k(f) ⊕ e′. The MAC is linear in f:
//!
//! MAC_k(f) = Σ f_i · k^(i+1) over GF(2^64) = GF(2)\[x\]/(x^64 + x^4 + x^3 + x + 1),
//!
//! where f is cut into ⌈n/64⌉ words. So a change passes if Σ e_i k^(i+1) = e′, a nonzero polynomial
//! in k (or a nonzero constant) of degree at most ⌈n/64⌉: **with probability at most ⌈n/64⌉ ·
//! 2^−64**.
//!
//! **Cost**: one multiplication a word, 3^6 = 729 AND gates by Karatsuba's method.

use tacit_circuit::builder::{Bit, Builder, Bus};
use tacit_circuit::{CircuitError, Component};
use zeroize::Zeroizing;

/// The size of the MAC and of its key, in bits.
pub(crate) const MAC_BITS: usize = 64;

/// Returns the number of input bits that the garbler adds for a result of `result_bits` bits: k,
/// then p.
pub(crate) const fn added_inputs(result_bits: usize) -> usize {
    match result_bits {
        0 => 0,
        bits => MAC_BITS + returned_bits(bits),
    }
}

/// Returns the number of bits that the evaluator returns for a result of `result_bits` bits.
pub(crate) const fn returned_bits(result_bits: usize) -> usize {
    match result_bits {
        0 => 0,
        bits => bits + MAC_BITS,
    }
}

/// Returns the base-two logarithm of the probability that a changed result of `result_bits` bits
/// passes its MAC.
pub(crate) fn forging_log2(result_bits: usize) -> f64 {
    (result_bits.div_ceil(MAC_BITS) as f64).log2() - MAC_BITS as f64
}

/// Returns the component that masks a result of `result_bits` bits. Its inputs are f, k and p.
pub(crate) fn component(result_bits: usize) -> Result<Component, CircuitError> {
    let builder = Builder::new();
    let f = builder.bus("f", result_bits);
    let k: Vec<Bit<'_>> = builder.bus("k", MAC_BITS).bits().collect();
    let p = builder.bus("p", returned_bits(result_bits));
    let zero = builder.constant(false);
    let words: Vec<Bit<'_>> = f.bits().collect();
    let mut mac = vec![zero; MAC_BITS];
    for word in words.chunks(MAC_BITS).rev() {
        for (sum, bit) in mac.iter_mut().zip(word) {
            *sum = *sum ^ *bit;
        }
        mac = reduce(&multiply(&mac, &k, zero), zero);
    }
    let clear = words.into_iter().chain(mac);
    let masked = Bus::from_bits(&builder, clear.zip(p.bits()).map(|(bit, mask)| bit ^ mask));
    builder.output("returned", &masked);
    drop((f, k, p, masked));
    Ok(Component::new("returned", builder.finish()?))
}

/// Returns the product of two polynomials over GF(2) of equal length, a power of two.
fn multiply<'b>(a: &[Bit<'b>], b: &[Bit<'b>], zero: Bit<'b>) -> Vec<Bit<'b>> {
    let mut product = vec![zero; 2 * a.len()];
    if a.len() == 1 {
        product[0] = a[0] & b[0];
        return product;
    }
    let half = a.len() / 2;
    let sum = |x: &[Bit<'b>]| -> Vec<Bit<'b>> {
        let (low, high) = x.split_at(half);
        low.iter()
            .zip(high)
            .map(|(low, high)| *low ^ *high)
            .collect()
    };
    let low = multiply(&a[..half], &b[..half], zero);
    let high = multiply(&a[half..], &b[half..], zero);
    let middle = multiply(&sum(a), &sum(b), zero);
    for i in 0..a.len() {
        let cross = middle[i] ^ low[i] ^ high[i];
        product[i] = product[i] ^ low[i];
        product[i + half] = product[i + half] ^ cross;
        product[i + a.len()] = product[i + a.len()] ^ high[i];
    }
    product
}

/// Returns the remainder of 128 bits modulo x^64 + x^4 + x^3 + x + 1.
fn reduce<'b>(product: &[Bit<'b>], zero: Bit<'b>) -> Vec<Bit<'b>> {
    let mut all = product.to_vec();
    for i in (MAC_BITS..all.len()).rev() {
        let top = std::mem::replace(&mut all[i], zero);
        for tap in [0, 1, 3, 4] {
            let at = i - MAC_BITS + tap;
            all[at] = all[at] ^ top;
        }
    }
    all.truncate(MAC_BITS);
    all
}

/// Returns MAC_k(f), computed in the clear, in time that depends only on lengths.
fn mac(f: &[bool], k: &[bool]) -> u64 {
    let k = word(k);
    f.chunks(MAC_BITS)
        .rev()
        .fold(0, |sum, bits| field_multiply(sum ^ word(bits), k))
}

fn word(bits: &[bool]) -> u64 {
    (0..)
        .zip(bits)
        .fold(0, |word, (i, bit)| word | u64::from(*bit) << i)
}

fn field_multiply(mut a: u64, b: u64) -> u64 {
    let mut product = 0;
    for i in 0..64 {
        product ^= a & (b >> i & 1).wrapping_neg();
        a = a << 1 ^ (0b1_1011 & (a >> 63).wrapping_neg());
    }
    product
}

/// Returns the evaluator's answer for the result `f` and the added input bits (k, then p).
pub(crate) fn mask(f: &[bool], added: &[bool]) -> Zeroizing<Vec<bool>> {
    if f.is_empty() {
        return Zeroizing::default();
    }
    let (k, p) = added.split_at(MAC_BITS);
    let mac = mac(f, k);
    let tag = (0..MAC_BITS).map(|i| mac >> i & 1 == 1);
    let clear = f.iter().copied().chain(tag);
    Zeroizing::new(clear.zip(p).map(|(bit, mask)| bit ^ mask).collect())
}

/// Returns the result if `returned` is (f ‖ MAC_k(f)) ⊕ p for the added input bits (k, then p).
pub(crate) fn unmask(returned: &[bool], added: &[bool]) -> Option<Zeroizing<Vec<bool>>> {
    let Some(result_bits) = returned.len().checked_sub(MAC_BITS) else {
        return Some(Zeroizing::default());
    };
    let (k, p) = added.split_at(MAC_BITS);
    let clear = returned.iter().zip(p).map(|(bit, mask)| bit ^ mask);
    let mut clear = Zeroizing::new(clear.collect::<Vec<bool>>());
    let tag = word(&clear[result_bits..]);
    clear.truncate(result_bits);
    (mac(&clear, k) == tag).then_some(clear)
}

/// The number of AND gates of one multiplication.
#[cfg(test)]
const MULTIPLICATION_ANDS: usize = 729;

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(count: usize, mut state: u64) -> Vec<bool> {
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 63 == 1
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn the_field_is_that_of_its_polynomial() {
        // x^63 · x = x^4 + x^3 + x + 1, and (x + 1)^2 = x^2 + 1.
        assert_eq!(field_multiply(1 << 63, 2), 0b1_1011);
        assert_eq!(field_multiply(3, 3), 5);
        assert_eq!(field_multiply(0xdead_beef, 1), 0xdead_beef);
        // The multiplicative order of every element divides 2^64 − 1.
        let (mut power, mut square) = (1, 0x1234_5678_9abc_def1);
        for _ in 0..64 {
            power = field_multiply(power, square);
            square = field_multiply(square, square);
        }
        assert_eq!(power, 1);
    }

    #[test]
    fn the_circuit_computes_what_is_computed_in_the_clear() {
        for length in [1, 63, 64, 65, 128, 200] {
            let component = component(length).unwrap();
            let words = length.div_ceil(64);
            assert!(component.program().ands().len() <= words * MULTIPLICATION_ANDS);
            for seed in 0..4 {
                let input = bits(length + added_inputs(length), seed);
                let (f, added) = input.split_at(length);
                let returned = mask(f, added);
                assert_eq!(
                    component.circuit().evaluate(&input),
                    *returned,
                    "{length} bits"
                );
                assert_eq!(unmask(&returned, added).unwrap()[..], *f);
                for i in 0..returned.len() {
                    let mut forged = returned.clone();
                    forged[i] ^= true;
                    assert_eq!(unmask(&forged, added), None, "bit {i} of {length}");
                }
            }
        }
        assert_eq!(unmask(&[], &[]), Some(Zeroizing::default()));
    }
}
