//! The check that a receiver used the same choices in every group: a linear hash of the rows.
//!
//! Source: Roy 2022, figure 8 and section 4.1: the consistency check of subspace VOLE, for the
//! repetition code, with a universal hash R whose coefficients are drawn after the rows are fixed.
//! The receiver sends ũ = R·c and binds itself to ṽ_j = R·v_j; the sender compares with
//! R·w_j ⊕ Δ_j·ũ, row by row. Rows are never added to one another: the check of Keller, Orsini and
//! Scholl (CRYPTO 2015), which hashed whole columns, rested on a lemma that does not hold.
//!
//! **Why it holds.** Group j of a cheating receiver has choices c_j. Unless R maps two different
//! ones to the same value, only the groups with one c have R·c_j = ũ. In any other group the
//! comparison holds for a single value of the sender's k bits Δ_j, which the receiver must have
//! guessed. So a receiver that cheats in n groups passes with probability 2^-kn, and then knows
//! what it guessed: Δ keeps the rest of its entropy, and no strategy wins more than guessing all of
//! Δ at once. R here is an inner product over GF(2^128), which maps two given rows to one value
//! with probability 2^-128.
//!
//! **Without interaction** (Fiat and Shamir): the coefficients of a lot come from a random oracle
//! on everything that was sent before, including the lot, and the rows that mask ũ come first. A
//! receiver that asks the oracle Q times succeeds with at most Q·2^-128 for each pair of groups:
//! [`Extension::check_bits`](crate::source::Extension::check_bits) counts them. Deviation: ṽ is
//! sent as its SHA-256, which commits to it.
//!
//! BLAKE3 hashes the message, since it has up to 16 bytes per OT. The bytes before the first lot
//! are hashed under a key, the SHA-256 of tag and place, and the lots under the hash of those bytes
//! as a key. So the lots, which fill whole chunks of BLAKE3, begin at a chunk, and many chunks are
//! hashed at once.

use blake3::Hasher;
use sha2::{Digest, Sha256};
use tacit_kernels::{Block, Cpu, Gf128Sum, Prg, inner_products};
use zeroize::{Zeroize, Zeroizing};

use crate::{Delta, SessionTag};

const TRANSCRIPT: &[u8; 32] = b"tacit OT extension v1 transcript";
const SEAL: &[u8; 32] = b"tacit OT extension v1 row hashes";

/// The size of ũ and of the commitment to ṽ, in bytes.
pub(super) const CHECK_BYTES: usize = Block::BYTES + 32;

/// The hashes of all rows and of the choices, to which lots are added.
pub(super) struct Check {
    transcript: Hasher,
    sums: RowSums,
}

/// The hashes of some lots' rows and choices.
#[derive(Default)]
pub(super) struct RowSums {
    coefficients: Vec<Block>,
    /// One hash for each row.
    rows: Zeroizing<Vec<Gf128Sum>>,
    /// The hash of the choices; only the receiver has it.
    choices: Zeroizing<[Gf128Sum; 1]>,
}

impl RowSums {
    fn new() -> Self {
        Self {
            coefficients: Vec::new(),
            rows: Zeroizing::new(vec![Gf128Sum::default(); Delta::BITS]),
            choices: Zeroizing::default(),
        }
    }

    /// Adds the rows of a lot, with coefficients drawn from its [seed](Check::seed_after).
    pub(super) fn add_rows(&mut self, seed: &[u8; 32], rows: &[Block]) {
        let length = rows.len() / Delta::BITS;
        self.coefficients.resize(length, Block::ZERO);
        Prg::from_seed(seed).fill_blocks(&mut self.coefficients);
        inner_products(Cpu::detect(), &self.coefficients, rows, &mut self.rows);
    }

    /// Adds the choices of the lot whose rows were added last.
    pub(super) fn add_choices(&mut self, choices: &[Block]) {
        inner_products(
            Cpu::detect(),
            &self.coefficients,
            choices,
            &mut *self.choices,
        );
    }
}

impl Check {
    /// Returns the check of the call for `count` OTs whose streams start at block `first`.
    pub(super) fn new(tag: &SessionTag, first: u64, count: usize) -> Self {
        let place = tag.hash(TRANSCRIPT).chain_update(first.to_le_bytes());
        let place = place.chain_update((count as u64).to_le_bytes());
        Self {
            transcript: Hasher::new_keyed(&place.finalize().into()),
            sums: RowSums::new(),
        }
    }

    /// Ends the part before the first lot.
    pub(super) fn begin_lots(&mut self) {
        self.transcript = Hasher::new_keyed(&self.transcript.finalize().into());
    }

    /// Adds bytes of the receiver's message to the transcript.
    pub(super) fn absorb(&mut self, sent: &[u8]) {
        self.transcript.update(sent);
    }

    /// Takes in the bytes of a lot. Returns the seed of its coefficients.
    pub(super) fn seed_after(&mut self, sent: &[u8]) -> [u8; 32] {
        self.absorb(sent);
        let mut transcript = self.transcript.clone();
        transcript.update(&[0]);
        transcript.finalize().into()
    }

    /// Sums for this many threads, of which each adds some of the lots.
    pub(super) fn share(&mut self, threads: usize) -> Vec<RowSums> {
        let own = core::mem::take(&mut self.sums);
        let others = (1..threads).map(|_| RowSums::new());
        core::iter::once(own).chain(others).collect()
    }

    /// Takes these sums back, with all lots.
    pub(super) fn collect(&mut self, shared: Vec<RowSums>) {
        let mut shared = shared.into_iter();
        if let Some(first) = shared.next() {
            self.sums = first;
        }
        for other in shared {
            for (sum, part) in self.sums.rows.iter_mut().zip(other.rows.iter()) {
                sum.add(part.reduce());
            }
            self.sums.choices[0].add(other.choices[0].reduce());
        }
    }

    /// Takes in a lot's bytes, and adds its rows and choices.
    #[cfg(test)]
    pub(super) fn add_lot(&mut self, sent: &[u8], rows: &[Block], choices: &[Block]) {
        let seed = self.seed_after(sent);
        self.sums.add_rows(&seed, rows);
        self.sums.add_choices(choices);
    }

    /// Adds the masks: one block of each row, with coefficient 1.
    pub(super) fn add_mask_rows(&mut self, rows: &[Block]) {
        for (sum, &row) in self.sums.rows.iter_mut().zip(rows) {
            sum.add(row);
        }
    }

    /// Adds the choices of the masks.
    pub(super) fn add_mask_choices(&mut self, choices: Block) {
        self.sums.choices[0].add(choices);
    }

    /// Returns the receiver's proof: ũ and the commitment to ṽ.
    pub(super) fn prove(self) -> [u8; CHECK_BYTES] {
        let u = self.sums.choices[0].reduce();
        let mut proof = [0; CHECK_BYTES];
        proof[..Block::BYTES].copy_from_slice(&u.to_bytes());
        let hashes = self.sums.rows.iter().map(|sum| sum.reduce());
        proof[Block::BYTES..].copy_from_slice(&seal(&self.transcript, u, hashes));
        proof
    }

    /// Returns whether `proof` fits the sender's rows, with all bits of Δ.
    pub(super) fn verify(&self, proof: &[u8], delta: &[bool]) -> bool {
        let (u, sealed) = proof.split_at(Block::BYTES);
        let mut bytes = [0; Block::BYTES];
        bytes.copy_from_slice(u);
        let u = Block::from_bytes(bytes);
        let hashes = self.sums.rows.iter().zip(delta);
        let hashes = hashes.map(|(sum, &bit)| sum.reduce() ^ u.and_bit(u8::from(bit).into()));
        // The result is public; the values behind it are compared as a whole.
        seal(&self.transcript, u, hashes)[..] == *sealed
    }
}

/// Returns the commitment to ṽ.
fn seal(transcript: &Hasher, u: Block, hashes: impl Iterator<Item = Block>) -> [u8; 32] {
    let mut sent = transcript.clone();
    sent.update(&[1]);
    let mut hash = Sha256::new().chain_update(SEAL);
    hash.update(sent.finalize().as_bytes());
    hash.update(u.to_bytes());
    for block in hashes {
        let mut bytes = block.to_bytes();
        hash.update(bytes);
        bytes.zeroize();
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const TAG: SessionTag = SessionTag::new([7; 32]);
    /// The blocks of the lot in each row.
    const BLOCKS: usize = 2;

    type Choices = [Block; BLOCKS];

    /// Returns the check after one lot of these rows, which were sent as `sent`.
    fn after(sent: &[u8], rows: &[Block]) -> Check {
        let mut check = Check::new(&TAG, 0, BLOCKS * 128);
        check.begin_lots();
        let seed = check.seed_after(sent);
        check.sums.add_rows(&seed, rows);
        check
    }

    /// What one call sends has other coefficients and another proof in every other call: in the
    /// next one, in a longer one, in another session.
    #[test]
    fn a_call_is_checked_by_coefficients_of_its_own() {
        let other = SessionTag::new([8; 32]);
        let places = [
            (&TAG, 0, 256),
            (&TAG, 1, 256),
            (&TAG, 1 << 32, 256),
            (&TAG, 0, 384),
            (&other, 0, 256),
        ];
        let made = places.map(|(tag, first, count)| {
            let mut check = Check::new(tag, first, count);
            check.begin_lots();
            let seeds = [(); 2].map(|()| check.seed_after(b"a lot"));
            (seeds, check.prove())
        });
        let seeds: HashSet<_> = made.iter().flat_map(|(seeds, _)| seeds).collect();
        let proofs: HashSet<_> = made.iter().map(|(_, proof)| proof).collect();
        assert_eq!([seeds.len(), proofs.len()], [10, 5]);
    }

    /// A receiver that knew the coefficients before its rows were fixed could find choices for one
    /// group with the same hash as the other groups' choices. It would then pass for every Δ
    /// of that group, and learn Δ from the OTs. The coefficients are drawn from the rows, so such
    /// choices are useless.
    #[test]
    fn choices_of_one_hash_are_not_found_before_the_rows_are_fixed() {
        let choices = [0x1234, 0x5678].map(Block::from_u128);
        let other_in_first = |other: Choices| -> Vec<u8> {
            let sent = [other, choices].into_iter().flatten();
            sent.flat_map(Block::to_bytes).collect()
        };
        // The receiver's v are zero and Δ is all ones, so the sender's rows are the choices.
        let honest = other_in_first(choices);
        let v = [Block::ZERO; 128 * BLOCKS];
        let [x, y] = after(&honest, &v).sums.coefficients[..] else {
            panic!("as many coefficients as blocks in a row");
        };
        let other = [choices[0] ^ y, choices[1] ^ x];
        let mut w = choices.repeat(128);
        w[..BLOCKS].copy_from_slice(&other);
        let passes = |sent: &[u8], w: &[Block]| {
            let mut receiver = after(sent, &v);
            receiver.sums.add_choices(&choices);
            after(sent, w).verify(&receiver.prove(), &[true; 128])
        };
        assert!(passes(&honest, &choices.repeat(128)));
        assert!(passes(&honest, &w), "x · y + y · x is zero");
        assert!(!passes(&other_in_first(other), &w));
    }
}
