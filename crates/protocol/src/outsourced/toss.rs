//! The coin toss that draws the hash of the generator's input. The cloud commits to a share, the
//! generator sends its own, and the cloud opens its share when the input is fixed.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{Cheat, cheated};
use crate::Error;
use crate::bits::xor_into;
use crate::malicious::oracle::{Domain, Hash, Oracle};

/// The size of a share in bytes.
pub(super) const SHARE_BYTES: usize = 32;

/// A share: random, and secret until it is sent.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Share(pub(super) [u8; SHARE_BYTES]);

impl Share {
    /// Returns the commitment to the share.
    pub(super) fn commit(&self, oracle: &Oracle) -> Hash {
        oracle.parts(Domain::Toss, 0, 0, &[&self.0])
    }

    /// Returns the seed that both shares give.
    pub(super) fn with(&self, other: &Self) -> [u8; SHARE_BYTES] {
        let mut seed = self.0;
        xor_into(&mut seed, &other.0);
        seed
    }
}

/// The cloud's commitment.
pub(super) struct TossCommitment(pub(super) Hash);

impl TossCommitment {
    /// Returns the seed, if `theirs` matches the commitment.
    pub(super) fn open(
        self,
        oracle: &Oracle,
        ours: &Share,
        theirs: &Share,
    ) -> Result<[u8; SHARE_BYTES], Error> {
        if theirs.commit(oracle) == self.0 {
            return Ok(ours.with(theirs));
        }
        Err(cheated(Cheat::Toss))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator that knew the hash of its input before it sends labels could give one circuit
    /// another input with the same hash. At that time it knows only its own share, which it may
    /// choose freely.
    #[test]
    fn the_seed_takes_both_shares() {
        let oracle = Oracle::named([1; 16]);
        let seed = |clouds: u8, generators: u8| {
            let [cloud, generator] = [clouds, generators].map(|byte| Share([byte; SHARE_BYTES]));
            let commitment = TossCommitment(cloud.commit(&oracle));
            let seed = commitment.open(&oracle, &generator, &cloud);
            assert_eq!(seed, Ok(cloud.with(&generator)), "one seed at both");
            seed.expect("what was committed to")
        };
        assert!(seed(1, 2) != seed(3, 2) && seed(1, 2) != seed(1, 3));
        assert!(seed(1, 2) != [1; SHARE_BYTES] && seed(1, 2) != [2; SHARE_BYTES]);
    }
}
