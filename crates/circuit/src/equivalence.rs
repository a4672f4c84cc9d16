//! A test of two circuits for equivalence.

use crate::{Circuit, LANES, Lanes};

/// The number of input bits up to which every input is tried.
const EXHAUSTIVE_BITS: usize = 16;

/// The values of six input bits in 64 lanes, which cover all 64 combinations.
const PATTERNS: [Lanes; 6] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

impl Circuit {
    /// Looks for an input on which two circuits of equally wide ports differ. Tries all inputs if
    /// they have at most 16 bits. Otherwise tries `passes` times 64 inputs that look random and
    /// depend on nothing but the circuits. Returns the number of tried inputs.
    ///
    /// # Errors
    ///
    /// The input on which the circuits differ, in port order.
    ///
    /// # Panics
    ///
    /// If the circuits differ in the number of input bits or output bits.
    pub fn compare(&self, other: &Self, passes: usize) -> Result<u64, Vec<bool>> {
        let bits = self.input_bits();
        assert_eq!(bits, other.input_bits(), "input bits");
        assert_eq!(self.output_bits(), other.output_bits(), "output bits");
        let is_exhaustive = bits <= EXHAUSTIVE_BITS;
        let passes = if is_exhaustive {
            1 << bits.saturating_sub(PATTERNS.len())
        } else {
            passes
        };
        let mut words = Words::new(self, other);
        for pass in 0..passes {
            let lane = |bit: usize| match is_exhaustive {
                false => words.next(),
                true if bit < PATTERNS.len() => PATTERNS[bit],
                true => 0_u64.wrapping_sub((pass >> (bit - PATTERNS.len()) & 1) as Lanes),
            };
            let inputs: Vec<Lanes> = (0..bits).map(lane).collect();
            let (ours, theirs) = (self.evaluate_lanes(&inputs), other.evaluate_lanes(&inputs));
            let differences = ours
                .iter()
                .zip(&theirs)
                .fold(0, |all, (a, b)| all | (a ^ b));
            if differences != 0 {
                let lane = differences.trailing_zeros();
                return Err(inputs.iter().map(|word| word >> lane & 1 == 1).collect());
            }
        }
        let tried = (passes * LANES) as u64;
        Ok(if is_exhaustive {
            tried.min(1 << bits)
        } else {
            tried
        })
    }
}

/// Words that look random, from both digests: SplitMix64 (Steele, Lea, Flood, "Fast Splittable
/// Pseudorandom Number Generators", OOPSLA 2014).
struct Words(u64);

impl Words {
    fn new(one: &Circuit, other: &Circuit) -> Self {
        let word = |circuit: &Circuit| {
            let digest = circuit.digest().0;
            digest[..8]
                .iter()
                .fold(0, |word, &byte| word << 8 | u64::from(byte))
        };
        Self(word(one) ^ word(other).rotate_left(1))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}
