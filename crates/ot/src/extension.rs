//! The inside of the OT extension: small-field VOLE from punctured trees.
//!
//! Source: Roy, "SoftSpokenOT: Quieter OT Extension from Small-Field Silent VOLE in the Minicrypt
//! Model" (CRYPTO 2022), figures 6 (punctured PRF), 7 (small-field VOLE) and 8 (subspace VOLE),
//! with the repetition code. With k = 1 this is the extension of Ishai, Kilian, Nissim and Petrank
//! (CRYPTO 2003).
//!
//! Δ's 128 bits are divided into groups of k. For each group the receiver of the extension knows
//! all 2^k leaves of a tree, and the sender all except the leaf that its k bits of Δ name. Each
//! leaf keys a stream G_x; over all streams
//!
//! > receiver: u = ⊕_x G_x,  v = ⊕_x x·G_x;  sender: w = ⊕_x (x ⊕ Δ)·G_x = v ⊕ Δ·u.
//!
//! The receiver sends u ⊕ c for its choice bits c, the same c for every group; the sender adds Δ
//! times that, and holds v ⊕ Δ·c. Rows of all groups together, transposed, are the correlated OTs.
//!
//! The receiver's u is used once, as a pad. The semi-honest extension does not catch a receiver
//! that uses different c for different groups, or wrong corrections in a tree. The malicious one
//! checks the trees (`proof`) and the choices ([`correlated`](crate::correlated), by a linear hash
//! of the rows before they are transposed).
//!
//! Assumption: SHA-256 is a pseudorandom generator (trees), AES-128 a pseudorandom function
//! (streams). Cost for each OT: 128/k bits; (2^k / k) AES calls for the receiver, (2^k − 1)/k for
//! the sender.

mod proof;
mod tree;
mod vole;

pub(crate) use proof::{first_bytes, mask_key, prove_trees, verify_trees};
pub(crate) use tree::{CORRECTION_BYTES, correction_bytes, grow, grow_punctured};
pub(crate) use vole::{STEP, Streams};

use crate::{ApiMisuse, Delta};

/// k, the bits of the small field: a larger k costs fewer bytes on the wire and more AES calls.
///
/// | k | bits for each OT | AES calls for each OT, receiver |
/// |---|---|---|
/// | 1 | 128 | 2 |
/// | 2 | 64 | 2 |
/// | 4 | 32 | 4 |
/// | 8 | 16 | 32 |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldBits(u8);

impl FieldBits {
    /// The largest k.
    pub const MAX: usize = 8;

    /// k = 1: the most bytes.
    pub const SMALLEST: Self = Self(1);

    /// k = 2: half the bytes of k = 1 for the same work.
    pub const DEFAULT: Self = Self(2);

    /// k = 4: a quarter of the bytes of k = 1 for twice the work.
    pub const MIDDLE: Self = Self(4);

    /// k = 8: the fewest bytes.
    pub const LARGEST: Self = Self(8);

    /// Returns the field of 2^`bits` elements.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::FieldBits`] unless `bits` is 1 to 8.
    pub fn new(bits: usize) -> Result<Self, ApiMisuse> {
        match u8::try_from(bits) {
            Ok(k @ 1..=8) => Ok(Self(k)),
            _ => Err(ApiMisuse::FieldBits {
                found: bits,
                limit: Self::MAX,
            }),
        }
    }

    /// Returns k.
    pub const fn get(self) -> usize {
        self.0 as usize
    }

    /// Returns the number of groups of Δ's bits.
    pub(crate) const fn groups(self) -> usize {
        Delta::BITS.div_ceil(self.get())
    }

    /// Returns the bits of Δ that form group `group`: k of them, fewer in the last group.
    pub(crate) fn group(self, group: usize) -> core::ops::Range<usize> {
        let start = group * self.get();
        start..Delta::BITS.min(start + self.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_cover_delta_once() {
        for k in 1..=FieldBits::MAX {
            let field = FieldBits::new(k).unwrap();
            let bits: Vec<usize> = (0..field.groups()).flat_map(|g| field.group(g)).collect();
            assert_eq!(bits, (0..Delta::BITS).collect::<Vec<_>>());
        }
    }

    #[test]
    fn other_fields_are_refused() {
        for found in [0, 9, 256, usize::MAX] {
            let limit = FieldBits::MAX;
            assert_eq!(
                FieldBits::new(found),
                Err(ApiMisuse::FieldBits { found, limit })
            );
        }
    }
}
