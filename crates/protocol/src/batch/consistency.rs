//! The check that the garbler gives the same input to all circuits of an execution.
//!
//! This is section 3 of Lindell–Riva 2015, with O(s) symmetric operations for each circuit. The
//! garbler's labels of circuit j are committed to in pairs that are permuted by a secret m_j, and
//! the garbler opens positions x ⊕ m_j. It also commits to s + 2 pairs (m_j ⊕ r_i, r_i).
//!
//! The circuits of an execution form a chain in the order of their bucket. For neighbours a and b
//! the garbler sends δ = m_a ⊕ m_b and, for each i, the sum of their first halves; δ plus that sum
//! is the sum of the second halves. The evaluator has committed to W ∈ {0,1}^(s+2), **one for the
//! whole chain**, and opens it when all of these are there. The garbler opens half W_i of each
//! circuit, and the evaluator checks that the halves of neighbours have the sums that were sent.
//!
//! *Sound*: let a and b be two good circuits of a chain. Over all steps between them, the opened
//! halves in the middle cancel, so half W_i of a ⊕ half W_i of b is the sum of the values sent for
//! that half. If the δ between them do not add up to m_a ⊕ m_b, then for each i one of the two
//! halves fails, whatever the circuits between contain. So all checks pass with probability
//! 2^−(s+2). *Hiding*: W reveals r_i or m_j ⊕ r_i, never both, which is independent of m_j. Two
//! different W on one circuit would reveal m_j.
//!
//! **Cost**: 2 (s + 2) commitments for each circuit.

use sha2::{Digest as _, Sha256};
use tacit_kernels::Prg;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::oracle::{Domain, HASH_BYTES, Hash, Oracle};
use crate::bits::{bit, bytes_for, clear_unused, xor_into};

/// The number of random bytes in a commitment to a half.
pub(super) const RANDOM_BYTES: usize = 16;

/// Sizes that the checks of one batch share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chaining {
    /// The number of bits of m: the garbler's input bits.
    pub(super) input_bits: usize,
    /// The number of pairs: s + 2, or 0 if the garbler has no input.
    pub(super) pairs: usize,
}

impl Chaining {
    pub(super) fn new(input_bits: usize, share_bits: usize) -> Self {
        let pairs = if input_bits == 0 { 0 } else { share_bits };
        Self { input_bits, pairs }
    }

    /// Returns the bytes of m, δ or a half.
    pub(super) fn half_bytes(self) -> usize {
        bytes_for(self.input_bits)
    }

    /// Returns the bytes of W.
    pub(super) fn choice_bytes(self) -> usize {
        bytes_for(self.pairs)
    }

    /// Returns the bytes of a circuit's commitments.
    pub(super) fn commitment_bytes(self) -> usize {
        2 * self.pairs * HASH_BYTES
    }

    /// Returns the bytes that are sent for two neighbours: δ, and sums of first halves.
    pub(super) fn step_bytes(self) -> usize {
        (1 + self.pairs) * self.half_bytes()
    }

    /// Returns the bytes of a circuit's openings.
    pub(super) fn opening_bytes(self) -> usize {
        self.pairs * (RANDOM_BYTES + self.half_bytes())
    }
}

/// m_j and the halves of a circuit, with the randomness of their commitments.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Pairs {
    #[zeroize(skip)]
    sizes: Chaining,
    /// m.
    pub(super) mask: Vec<u8>,
    /// r_0, r_1, …
    seconds: Vec<u8>,
    /// The randomness of each commitment, two for each pair.
    random: Vec<u8>,
}

impl Pairs {
    /// Draws the pairs from the generator of a circuit's seed.
    pub(super) fn draw(sizes: Chaining, prg: &mut Prg) -> Self {
        let half = sizes.half_bytes();
        let mut draw = |bytes: usize| {
            let mut drawn = vec![0; bytes];
            prg.fill_bytes(&mut drawn);
            drawn
        };
        let (mut mask, mut seconds) = (draw(half), draw(sizes.pairs * half));
        clear_unused(&mut mask, sizes.input_bits);
        for second in seconds.chunks_exact_mut(half.max(1)) {
            clear_unused(second, sizes.input_bits);
        }
        let random = draw(2 * sizes.pairs * RANDOM_BYTES);
        Self {
            sizes,
            mask,
            seconds,
            random,
        }
    }

    /// Appends half `which` of pair `i`: m ⊕ r_i or r_i.
    fn append_half(&self, i: usize, which: bool, out: &mut Vec<u8>) {
        let bytes = self.sizes.half_bytes();
        let select = u8::from(which).wrapping_sub(1);
        let seconds = &self.seconds[i * bytes..(i + 1) * bytes];
        let half = seconds
            .iter()
            .zip(&self.mask)
            .map(|(r, m)| r ^ (m & select));
        out.extend(half);
    }

    fn random(&self, i: usize, which: bool) -> &[u8] {
        let at = (2 * i + usize::from(which)) * RANDOM_BYTES;
        &self.random[at..at + RANDOM_BYTES]
    }

    /// Appends the commitments.
    pub(super) fn commit(&self, oracle: &Oracle, circuit: u32, out: &mut Vec<u8>) {
        let hash = oracle.of_circuit(Domain::Half, circuit);
        let room = RANDOM_BYTES + self.sizes.half_bytes();
        let mut opening = Zeroizing::new(Vec::with_capacity(room));
        for i in 0..self.sizes.pairs {
            for which in [false, true] {
                opening.clear();
                opening.extend_from_slice(self.random(i, which));
                self.append_half(i, which, &mut opening);
                out.extend_from_slice(&commitment(&hash, i, which, &opening));
            }
        }
    }

    /// Appends the bytes that are sent for this circuit and its neighbour.
    pub(super) fn step(&self, neighbour: &Self, out: &mut Vec<u8>) {
        let delta = out.len();
        out.extend_from_slice(&self.mask);
        xor_into(&mut out[delta..], &neighbour.mask);
        let mut other = Zeroizing::new(Vec::with_capacity(self.sizes.half_bytes()));
        for i in 0..self.sizes.pairs {
            let sum = out.len();
            self.append_half(i, false, out);
            other.clear();
            neighbour.append_half(i, false, &mut other);
            xor_into(&mut out[sum..], &other);
        }
    }

    /// Appends the openings of the halves that `choices` (W) selects.
    pub(super) fn open(&self, choices: &[u8], out: &mut Vec<u8>) {
        for i in 0..self.sizes.pairs {
            let which = bit(choices, i);
            out.extend_from_slice(self.random(i, which));
            self.append_half(i, which, out);
        }
    }
}

/// Returns the commitment to half `which` of pair `i` of the circuit of `hash`. `opening` is its
/// randomness followed by the half.
fn commitment(hash: &Sha256, i: usize, which: bool, opening: &[u8]) -> Hash {
    let mut hash = hash.clone();
    hash.update(position(i, which).to_le_bytes());
    hash.update(opening);
    hash.finalize().into()
}

fn position(i: usize, which: bool) -> u32 {
    2 * i as u32 + u32::from(which)
}

/// Writes to `out` the sum that a step gives for half `which` of pair `i`.
fn sum(sizes: Chaining, step: &[u8], i: usize, which: bool, out: &mut Vec<u8>) {
    let bytes = sizes.half_bytes();
    out.clear();
    out.extend_from_slice(&step[(1 + i) * bytes..(2 + i) * bytes]);
    if which {
        xor_into(out, &step[..bytes]);
    }
}

/// Returns a circuit of a chain whose openings fail, or whose sums with its predecessor fail.
///
/// `circuits` have, in the chain's order, a number, commitments and openings. `steps` has the bytes
/// that were sent for each circuit but the first and its predecessor. All have the right sizes.
pub(super) fn find_inconsistent<'a>(
    sizes: Chaining,
    oracle: &Oracle,
    choices: &[u8],
    circuits: impl Iterator<Item = (u32, &'a [u8], &'a [u8])>,
    steps: &[u8],
) -> Option<u32> {
    if sizes.pairs == 0 {
        return None;
    }
    let mut steps = steps.chunks_exact(sizes.step_bytes());
    let mut before: Option<&[u8]> = None;
    let mut total = Vec::with_capacity(sizes.half_bytes());
    for (number, commitments, openings) in circuits {
        let opened = openings.chunks_exact(RANDOM_BYTES + sizes.half_bytes());
        let step = before.and_then(|_| steps.next());
        let before_this = before.map(|all| all.chunks_exact(RANDOM_BYTES + sizes.half_bytes()));
        let mut before_this = before_this.into_iter().flatten();
        let hash = oracle.of_circuit(Domain::Half, number);
        for (i, opened) in opened.enumerate() {
            let which = bit(choices, i);
            let at = position(i, which) as usize * HASH_BYTES;
            if commitment(&hash, i, which, opened) != commitments[at..at + HASH_BYTES] {
                return Some(number);
            }
            if let (Some(step), Some(before)) = (step, before_this.next()) {
                sum(sizes, step, i, which, &mut total);
                xor_into(&mut total, &opened[RANDOM_BYTES..]);
                if total != before[RANDOM_BYTES..] {
                    return Some(number);
                }
            }
        }
        before = Some(openings);
    }
    None
}
