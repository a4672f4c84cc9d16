//! The check that the generator gives the same input to all circuits.
//!
//! This is section 4 of shelat and Shen 2013. The generator appends random bits r to its input x.
//! When its labels for all evaluated circuits have arrived and are opened, a coin toss draws a
//! matrix H. H·(x ‖ r) must be equal for all evaluated circuits: two different inputs agree with
//! probability 2^−rows. r makes the sums of the rows random, so that they reveal nothing about x.
//!
//! **No circuit computes it.** A sum of inputs is a sum of labels under free XOR, and the select
//! bit of a sum is the sum of the select bits. Each label of the generator has been opened as the
//! one with its select bit, s = z ⊕ π for input z and permute bit π. So H·s ⊕ H·π = H·z. The
//! generator sends H·π of *every* circuit, and the cloud compares it with the seed if it has the
//! circuit's seed: a lie about H·π counts as one more bad circuit. **Cost**: no gate and no table;
//! rows/8 bytes for each circuit.

use tacit_kernels::{Block, Prg};

/// A random matrix over GF(2), of at most 128 rows, by columns.
pub(crate) struct InputHash {
    columns: Vec<Block>,
}

impl InputHash {
    /// Returns the matrix with these numbers of rows and columns that `seed` draws.
    pub(super) fn new(seed: &[u8; 32], rows: usize, columns: usize) -> Self {
        debug_assert!(rows <= 128);
        let mut drawn = vec![Block::ZERO; columns];
        Prg::from_seed(seed).fill_blocks(&mut drawn);
        let used = match rows {
            128 => u128::MAX,
            rows => (1 << rows) - 1,
        };
        for column in &mut drawn {
            *column = *column & Block::from_u128(used);
        }
        Self { columns: drawn }
    }

    /// Returns the number of columns.
    pub(super) fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Returns the sum of those columns from `from` on whose label has select bit 1.
    pub(super) fn of(&self, from: usize, labels: &[Block]) -> Block {
        let columns = self.columns[from..].iter().zip(labels);
        columns.fold(Block::ZERO, |sum, (column, label)| {
            sum ^ (*column & label.lsb_mask())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::bit_mask;

    /// Returns the matrix times `input`, which has one bit for each column.
    fn of(hash: &InputHash, input: &[u8]) -> Block {
        let labels: Vec<Block> = (0..hash.columns()).map(|i| bit_mask(input, i)).collect();
        let (first, rest) = labels.split_at(labels.len() / 2);
        hash.of(0, first) ^ hash.of(first.len(), rest)
    }

    #[test]
    fn the_hash_is_linear_and_has_its_rows() {
        let hash = InputHash::new(&[3; 32], 49, 20);
        let [a, b] = [[0x5a, 0xc3, 0x0f], [0x11, 0x92, 0x04]];
        let sum = [a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2]];
        assert_eq!(of(&hash, &sum), of(&hash, &a) ^ of(&hash, &b));
        assert_ne!(of(&hash, &a), of(&hash, &b));
        assert!(of(&hash, &[0xff; 3]).to_u128() >> 49 == 0);
        assert_eq!(of(&hash, &[0; 3]), Block::ZERO);
        assert_eq!(of(&InputHash::new(&[3; 32], 0, 20), &a), Block::ZERO);
    }

    /// Of two different inputs, one in eight has the same hash of three rows.
    #[test]
    fn different_inputs_agree_as_often_as_rows_say() {
        let agree = (0..2000_u32).filter(|n| {
            let mut seed = [0; 32];
            seed[..4].copy_from_slice(&n.to_le_bytes());
            let hash = InputHash::new(&seed, 3, 8);
            of(&hash, &[0x21]) == of(&hash, &[0x64])
        });
        let count = agree.count();
        // The expected count is 250, with deviation 15. The seeds are fixed.
        assert!((175..325).contains(&count), "{count}");
    }
}
