//! Inner products over GF(2^128), for universal hashes of long rows.
//!
//! The field is GF(2)\[x\] / (x^128 + x^7 + x^2 + x + 1); bit i of a block is the coefficient of
//! x^i. With secret-independent random coefficients χ, the inner product Σ χ_i·a_i is a linear
//! universal hash: two different rows collide with probability 2^-128.
//!
//! Sums are kept unreduced, as 256 bits in three parts, so that a product costs four carry-less
//! multiplications and a row one reduction.

use zeroize::DefaultIsZeroes;

use crate::simd::{MAX_LANES, Simd};
use crate::{Block, Cpu, Kernel};

/// A sum of products, not reduced yet. It may be secret; `Debug` prints none of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gf128Sum {
    /// The products of low halves.
    low: Block,
    /// The products of a low and a high half, at x^64.
    middle: Block,
    /// The products of high halves, at x^128.
    high: Block,
}

impl DefaultIsZeroes for Gf128Sum {}

impl Gf128Sum {
    /// Adds an element of the field.
    pub fn add(&mut self, element: Block) {
        self.low ^= element;
    }

    /// Returns the sum as an element of the field.
    #[must_use]
    pub fn reduce(self) -> Block {
        let middle = self.middle.to_u128();
        let low = self.low.to_u128() ^ middle << 64;
        let high = self.high.to_u128() ^ middle >> 64;
        // x^128 = x^7 + x^2 + x + 1; the part that this moves past x^127 again is below x^7.
        let over = high >> 127 ^ high >> 126 ^ high >> 121;
        let fold = |a: u128| a ^ a << 1 ^ a << 2 ^ a << 7;
        Block::from_u128(low ^ fold(high) ^ fold(over))
    }
}

/// Returns the product of two elements.
pub fn gf128_multiply(cpu: Cpu, a: Block, b: Block) -> Block {
    let mut sum = [Gf128Sum::default()];
    inner_products(cpu, &[a], &[b], &mut sum);
    sum[0].reduce()
}

/// Adds Σ coefficients\[i\] · row\[i\] to the sum of each row. `rows` contains the rows one after
/// the other, each as long as `coefficients`. The time depends only on lengths.
///
/// # Panics
///
/// If the number of rows in `rows` is not that of `sums`.
pub fn inner_products(cpu: Cpu, coefficients: &[Block], rows: &[Block], sums: &mut [Gf128Sum]) {
    assert_eq!(
        coefficients.len() * sums.len(),
        rows.len(),
        "a row has a block for each coefficient"
    );
    if !coefficients.is_empty() {
        cpu.dispatch(InnerProducts {
            coefficients,
            rows,
            sums,
        });
    }
}

struct InnerProducts<'a> {
    coefficients: &'a [Block],
    rows: &'a [Block],
    sums: &'a mut [Gf128Sum],
}

impl Kernel for InnerProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let length = self.coefficients.len();
        let whole = length - length % S::LANES;
        let mut last = [Block::ZERO; MAX_LANES];
        last[..length - whole].copy_from_slice(&self.coefficients[whole..]);
        let last = simd.load(&last);
        for (row, sum) in self.rows.chunks_exact(length).zip(self.sums) {
            let zero = simd.splat(Block::ZERO);
            let mut parts = [zero; 3];
            let coefficients = self.coefficients[..whole].chunks_exact(S::LANES);
            for (a, b) in coefficients.zip(row.chunks_exact(S::LANES)) {
                multiply_add(simd, &mut parts, simd.load(a), simd.load(b));
            }
            if whole < length {
                let mut rest = [Block::ZERO; MAX_LANES];
                rest[..length - whole].copy_from_slice(&row[whole..]);
                multiply_add(simd, &mut parts, last, simd.load(&rest));
            }
            let mut lanes = [[Block::ZERO; MAX_LANES]; 3];
            for (part, lanes) in parts.into_iter().zip(&mut lanes) {
                simd.store(part, lanes);
            }
            let add = |lanes: &[Block]| lanes.iter().fold(Block::ZERO, |sum, &lane| sum ^ lane);
            sum.low ^= add(&lanes[0]);
            sum.middle ^= add(&lanes[1]);
            sum.high ^= add(&lanes[2]);
        }
    }
}

#[inline(always)]
fn multiply_add<S: Simd>(simd: S, parts: &mut [S::Vector; 3], a: S::Vector, b: S::Vector) {
    parts[0] = simd.xor(parts[0], simd.multiply_low(a, b));
    parts[1] = simd.xor(parts[1], simd.multiply_cross(a, b));
    parts[2] = simd.xor(parts[2], simd.multiply_high(a, b));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;

    /// Multiplies by the definition, one bit at a time.
    fn defined(a: Block, b: Block) -> u128 {
        let (mut a, b, mut sum) = (a.to_u128(), b.to_u128(), 0);
        for i in 0..128 {
            if b >> i & 1 == 1 {
                sum ^= a;
            }
            a = (a << 1) ^ ((a >> 127) * 0x87);
        }
        sum
    }

    #[test]
    fn products_of_powers_are_known() {
        let power = |i: u32| Block::from_u128(1 << i);
        for cpu in Cpu::available() {
            assert_eq!(gf128_multiply(cpu, power(3), power(4)), power(7));
            let x_128 = Block::from_u128(0x87);
            assert_eq!(gf128_multiply(cpu, power(127), power(1)), x_128);
            assert_eq!(gf128_multiply(cpu, power(64), power(64)), x_128);
        }
    }

    #[test]
    fn every_backend_agrees_with_the_definition() {
        for length in [0, 1, 2, 3, 4, 5, 8, 33] {
            let mut blocks = vec![Block::ZERO; 4 * length];
            Prg::new(Block::from_u128(length as u128)).fill_blocks(&mut blocks);
            let (coefficients, rows) = blocks.split_at(length);
            let expected = rows.chunks_exact(length.max(1)).map(|row| {
                let terms = coefficients.iter().zip(row);
                terms.fold(5, |sum, (&a, &b)| sum ^ defined(a, b))
            });
            let mut expected: Vec<u128> = expected.collect();
            expected.resize(3, 5);
            for cpu in Cpu::available() {
                let mut sums = [Gf128Sum::default(); 3];
                sums.iter_mut().for_each(|sum| sum.add(Block::from_u128(5)));
                inner_products(cpu, coefficients, rows, &mut sums);
                let found = sums.map(|sum| sum.reduce().to_u128());
                assert_eq!(found[..], expected, "{cpu:?}, {length} blocks");
            }
        }
    }
}
