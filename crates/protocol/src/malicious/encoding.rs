//! The probe-resistant encoding of the evaluator's inputs.
//!
//! A garbler that offers a wrong label for one value of an input bit learns the bit from whether
//! the evaluator aborts. So the evaluator draws a longer word ŷ at random, gets a label for each of
//! *its* bits, and uses y = M·ŷ (Lindell and Pinkas 2007, section 5.2; the name is from shelat and
//! Shen 2013). If every nonzero sum of rows of M has weight d or more, any d − 1 bits of ŷ are
//! random and independent of y. A garbler that makes the abort depend on d bits or more is caught
//! except with probability 2^−(d−1). So the distribution of the abort depends on y with a distance
//! of at most 2^−(d−1).
//!
//! M = \[I | P\] generates a code of distance d. The literature draws M at random and relies on
//! luck; here it is **a BCH code with a parity bit**: narrow-sense, binary, primitive of length 2^μ
//! − 1, with designed distance 2t + 1, whose generator is the product of the minimal polynomials of
//! α, α^3, … α^(2t−1) (MacWilliams and Sloane, chapter 7, §6 and chapter 9). The BCH bound proves
//! its distance, shortening (leaving information bits out) keeps it, and one parity bit over the
//! word makes it 2t + 2. For 128 bits and d = 44, it has 309 encoded bits. A random matrix of the
//! same proven distance would need about as many, and could not be checked.
//!
//! M consists of XORs alone, so the labels of y follow from those of ŷ for free.

use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use crate::Error;
use crate::bits::random_bits;

/// Primitive polynomials over GF(2), of degree 3 to 17 (Peterson and Weldon, appendix C).
const PRIMITIVE: [u32; 15] = [
    0b1011,
    0b1_0011,
    0b10_0101,
    0b100_0011,
    0b1000_1001,
    0x11d,
    0x211,
    0x409,
    0x805,
    0x1053,
    0x201b,
    0x4443,
    0x8003,
    0x1_100b,
    0x2_0009,
];
const SMALLEST_DEGREE: u32 = 3;

/// The number of columns of P that one table of 2^WINDOW sums covers.
const WINDOW: usize = 4;

/// The number of windows whose sums are added to a row at once, so that the row is read and written
/// once for all of them.
const WINDOWS: usize = 4;

/// The number of columns in [`WINDOWS`] windows.
const COLUMNS: usize = WINDOW * WINDOWS;

/// The encoding of a number of bits, M = \[I | P\].
#[derive(Clone, Debug)]
pub(crate) struct Encoding {
    bits: usize,
    redundancy: usize,
    /// P in groups of [`COLUMNS`] columns: a group has one word for each row, with the first column
    /// in the lowest bit.
    columns: Vec<u16>,
}

impl Encoding {
    /// Returns an encoding of `bits` bits, of which any `distance` − 1 encoded bits reveal nothing.
    /// If the distance is 1 or less, the encoded bits are the bits themselves.
    pub(crate) fn new(bits: usize, distance: usize) -> Result<Self, Error> {
        if bits == 0 || distance <= 1 {
            return Ok(Self {
                bits,
                redundancy: 0,
                columns: Vec::new(),
            });
        }
        // With parity, a code that corrects t errors has distance 2t + 2.
        let errors = (distance.saturating_sub(1) / 2).max(1);
        let (degree, polynomial, roots) = (SMALLEST_DEGREE..)
            .zip(PRIMITIVE)
            .map(|(degree, polynomial)| (degree, polynomial, roots(degree, errors)))
            .filter(|(degree, _, roots)| bits + roots.len() < 1 << degree)
            .min_by_key(|(_, _, roots)| roots.len())
            .ok_or(Error::ApiMisuse(
                "at most 130000 input bits of the evaluator in `batch`: `authenticated` takes any \
                 number",
            ))?;
        Ok(Self::systematic(
            bits,
            &generator(degree, polynomial, &roots),
        ))
    }

    /// Returns the systematic code with this generator polynomial, shortened, with a parity bit.
    fn systematic(bits: usize, generator: &[bool]) -> Self {
        let degree = generator.len() - 1;
        let redundancy = degree + 1;
        let mut packed = vec![0; bits * redundancy.div_ceil(COLUMNS)];
        // The remainder is x^degree mod g, then that of each next power.
        let mut remainder = generator[..degree].to_vec();
        for row in 0..bits {
            let places = packed[row..].iter_mut().step_by(bits);
            for (place, columns) in places.zip(remainder.chunks(COLUMNS)) {
                let bits = (0..).zip(columns).map(|(i, bit)| u16::from(*bit) << i);
                *place = bits.fold(0, |all, bit| all | bit);
            }
            let weight = remainder
                .iter()
                .fold(1, |weight, bit| weight ^ u16::from(*bit));
            packed[degree / COLUMNS * bits + row] |= weight << (degree % COLUMNS);
            let carry = remainder[degree - 1];
            remainder.rotate_right(1);
            remainder[0] = false;
            for (bit, tap) in remainder.iter_mut().zip(generator) {
                *bit ^= carry & *tap;
            }
        }
        Self {
            bits,
            redundancy,
            columns: packed,
        }
    }

    /// Returns the number of bits before encoding.
    pub(crate) fn bits(&self) -> usize {
        self.bits
    }

    /// Returns the number of encoded bits.
    pub(crate) fn encoded_bits(&self) -> usize {
        self.bits + self.redundancy
    }

    /// Returns a random word ŷ with M·ŷ = `bits`. The redundant bits are drawn, and the others
    /// follow.
    pub(crate) fn encode(&self, bits: &[bool], prg: &mut Prg) -> Zeroizing<Vec<bool>> {
        debug_assert_eq!(bits.len(), self.bits);
        let mut encoded = Zeroizing::new(Vec::with_capacity(self.encoded_bits()));
        encoded.extend_from_slice(bits);
        encoded.extend_from_slice(&random_bits(prg, self.redundancy));
        // The bits before r are [I | P]·(y ‖ r) = y ⊕ P·r.
        let straight = Zeroizing::new(self.decode_bits(&encoded));
        encoded[..self.bits].copy_from_slice(&straight);
        encoded
    }

    /// Returns M times `encoded`, over blocks with XOR.
    pub(crate) fn decode_blocks(&self, encoded: &[Block]) -> Vec<Block> {
        debug_assert_eq!(encoded.len(), self.encoded_bits());
        let (straight, rest) = encoded.split_at(self.bits);
        let mut sums = straight.to_vec();
        let packed = self.columns.chunks_exact(self.bits.max(1));
        // The first sum of a table stays zero, and a window without columns adds only that sum.
        let mut tables = Zeroizing::new([[Block::ZERO; 1 << WINDOW]; WINDOWS]);
        for (encoded, packed) in rest.chunks(COLUMNS).zip(packed) {
            for (table, columns) in tables.iter_mut().zip(encoded.chunks(WINDOW)) {
                for (i, column) in columns.iter().enumerate() {
                    for low in 0..1 << i {
                        table[1 << i | low] = table[low] ^ *column;
                    }
                }
            }
            for (sum, columns) in sums.iter_mut().zip(packed) {
                for (window, table) in tables.iter().enumerate() {
                    *sum ^= table[usize::from(columns >> (WINDOW * window)) % (1 << WINDOW)];
                }
            }
        }
        sums
    }

    /// Returns M times `encoded`.
    pub(crate) fn decode_bits(&self, encoded: &[bool]) -> Vec<bool> {
        let blocks = encoded.iter().map(|bit| Block::from_u128(u128::from(*bit)));
        let blocks = Zeroizing::new(blocks.collect::<Vec<_>>());
        let sums = Zeroizing::new(self.decode_blocks(&blocks));
        sums.iter().map(|sum| sum.lsb().into()).collect()
    }
}

/// Returns the logarithms of the roots of the generator polynomial of the BCH code of length
/// 2^degree − 1 that corrects `errors` errors: the first odd numbers and their doubles.
fn roots(degree: u32, errors: usize) -> Vec<usize> {
    let length = (1 << degree) - 1;
    let mut is_root = vec![false; length];
    let mut roots = Vec::new();
    for odd in (1..2 * errors).step_by(2) {
        let mut root = odd % length;
        while !is_root[root] {
            is_root[root] = true;
            roots.push(root);
            root = 2 * root % length;
        }
    }
    roots
}

/// Returns the generator polynomial of the code of length 2^degree − 1 with these roots, lowest
/// coefficient first.
fn generator(degree: u32, polynomial: u32, roots: &[usize]) -> Vec<bool> {
    let length = (1_usize << degree) - 1;
    let mut powers = Vec::with_capacity(length);
    let mut power = 1_u32;
    for _ in 0..length {
        powers.push(power);
        power <<= 1;
        if power >> degree == 1 {
            power ^= polynomial;
        }
    }
    let mut logarithms = vec![0; length + 1];
    for (exponent, power) in powers.iter().enumerate() {
        logarithms[*power as usize] = exponent;
    }
    // The product of all x − α^root. Its coefficients lie in GF(2).
    let mut product = vec![1_u32];
    for root in roots {
        product.push(0);
        for i in (0..product.len()).rev() {
            let times_root = match product[i] {
                0 => 0,
                factor => {
                    let sum = logarithms[factor as usize] + root;
                    powers[if sum < length { sum } else { sum - length }]
                }
            };
            let below = if i > 0 { product[i - 1] } else { 0 };
            product[i] = times_root ^ below;
        }
    }
    debug_assert!(product.iter().all(|coefficient| *coefficient < 2));
    product
        .iter()
        .map(|coefficient| *coefficient == 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rows of M, each in a word of 128 bits.
    fn rows(encoding: &Encoding) -> Vec<u128> {
        let mut rows = vec![0; encoding.bits()];
        for k in 0..encoding.encoded_bits() {
            let mut unit = vec![false; encoding.encoded_bits()];
            unit[k] = true;
            for (row, bit) in rows.iter_mut().zip(encoding.decode_bits(&unit)) {
                *row |= u128::from(bit) << k;
            }
        }
        rows
    }

    /// Tries every nonzero sum of rows, at sizes where that is possible.
    #[test]
    fn no_sum_of_rows_is_lighter_than_the_distance() {
        for (bits, distance) in [
            (1, 4),
            (3, 5),
            (4, 4),
            (8, 8),
            (11, 4),
            (12, 12),
            (14, 22),
            (9, 44),
        ] {
            let encoding = Encoding::new(bits, distance).unwrap();
            let rows = rows(&encoding);
            let (mut sum, mut lightest) = (0_u128, u32::MAX);
            for i in 1..1_u32 << bits {
                // In Gray code order, one row changes from one sum to the next.
                sum ^= rows[i.trailing_zeros() as usize];
                lightest = lightest.min(sum.count_ones());
            }
            assert!(
                lightest as usize >= distance,
                "{bits}, {distance}: {lightest}"
            );
        }
    }

    /// The dimensions are those published for primitive BCH codes (MacWilliams and Sloane, figure
    /// 9.1; Lin and Costello, table 6.1).
    #[test]
    fn the_codes_are_those_of_the_tables() {
        for (degree, errors, dimension) in [
            (4, 2, 7),
            (5, 3, 16),
            (6, 5, 36),
            (7, 10, 64),
            (8, 21, 115),
            (8, 18, 131),
            (9, 21, 331),
            (10, 21, 818),
        ] {
            let polynomial = PRIMITIVE[(degree - SMALLEST_DEGREE) as usize];
            let length = (1 << degree) - 1;
            let generator = generator(degree, polynomial, &roots(degree, errors));
            assert_eq!(
                length + 1 - generator.len(),
                dimension,
                "{degree}, {errors}"
            );
        }
    }

    #[test]
    fn what_is_encoded_decodes_and_its_redundancy_is_drawn() {
        let mut prg = Prg::new(Block::ONES);
        for (bits, distance) in [(1, 4), (11, 12), (128, 44), (5, 1)] {
            let encoding = Encoding::new(bits, distance).unwrap();
            let word: Vec<bool> = (0..bits).map(|i| i % 3 == 0).collect();
            let [first, second] = [(); 2].map(|()| encoding.encode(&word, &mut prg));
            assert_eq!(encoding.decode_bits(&first), word);
            assert_eq!(encoding.decode_bits(&second), word);
            assert_eq!(first == second, distance == 1, "{bits}, {distance}");
        }
    }

    #[test]
    fn an_aes_block_is_encoded_in_309_bits() {
        let encoding = Encoding::new(128, 44).unwrap();
        assert_eq!(encoding.encoded_bits(), 309);
        assert_eq!(Encoding::new(115, 44).unwrap().encoded_bits(), 115 + 141);
        assert_eq!(Encoding::new(0, 44).unwrap().encoded_bits(), 0);
        assert!(Encoding::new(132_000, 44).is_err());
    }

    /// Tries sums of few rows, and random sums, of the code that is used.
    #[test]
    fn light_sums_of_the_code_in_use_are_heavy_enough() {
        let encoding = Encoding::new(128, 44).unwrap();
        let row = |row: usize| encoding.columns[row..].iter().step_by(128);
        let word = |number| row(number).map(|bits| bits.count_ones()).sum::<u32>() + 1;
        assert!((0..128).all(|number| word(number) >= 44));
        let mut state = 1_u64;
        for _ in 0..2000 {
            let mut sum = vec![0_u16; row(0).count()];
            let mut straight = 0;
            for number in 0..128 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                if state >> 60 == 0 {
                    straight += 1;
                    let bits = sum.iter_mut().zip(row(number));
                    bits.for_each(|(sum, bits)| *sum ^= bits);
                }
            }
            let weight = straight + sum.iter().map(|w| w.count_ones()).sum::<u32>();
            assert!(straight == 0 || weight >= 44, "{weight}");
        }
    }
}
