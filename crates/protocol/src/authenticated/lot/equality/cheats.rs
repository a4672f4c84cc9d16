//! A garbler that cheats in a leaky AND and tries not to be caught.

use core::cell::Cell;

use tacit_kernels::Block;

use super::*;
use crate::authenticated::lot::{InputCounts, make};
use crate::authenticated::parameters::LotSize;
use crate::authenticated::tests::epochs;
use crate::error::cheated;
use crate::io::memory::run_two;

/// The difference that the garbler adds to its first block. It leaves bit 1, which shows d,
/// unchanged.
const ADDED: u128 = 1 << 77;

thread_local! {
    /// Whether this thread's garblers answer with a digest that they look up in the commitment.
    static GUESSES: Cell<bool> = const { Cell::new(false) };
}

/// Returns the digest with which a cheating garbler answers. The garbler knows the evaluator's
/// digest for both values of the evaluator's first x, but not the salt.
pub(super) fn answer(
    lot: &mut Unchecked,
    epoch: &Epoch,
    turned: &[u8],
    commitment: &Digest,
) -> Option<Digest> {
    if !GUESSES.get() {
        return None;
    }
    let digests = [0, ADDED].map(|added| {
        let first = lot.sums[0];
        lot.sums[0] ^= Block::from_u128(added);
        let digest = lot.digest(epoch, turned);
        lot.sums[0] = first;
        digest
    });
    let no_salt = [0; DIGEST_BYTES];
    let fits =
        |digest: &&Digest| commit_to_equality(epoch, lot.number, digest, &no_salt) == *commitment;
    Some(*digests.iter().find(fits).unwrap_or(&digests[0]))
}

/// A garbler that cheated knows both digests that the evaluator may have. If the commitment
/// revealed which one it is, the garbler would answer with that one, learn a bit of x and never be
/// caught. Here it is caught about every other time.
#[test]
fn the_commitment_does_not_tell_which_digest_is_right() {
    let size = LotSize {
        triples: 3,
        layers: 2,
    };
    GUESSES.set(true);
    let mut caught = 0;
    for _ in 0..32 {
        let [mut a, mut b] = epochs();
        let [mut mine, mut yours] = [(); 2].map(|()| crate::authenticated::tests::prg());
        let (none, mut blocks) = (InputCounts::default(), 0);
        let ended = run_two(
            async |io| make(io, &mut a, &mut mine, size, none).await.map(drop),
            async |io| make(io, &mut b, &mut yours, size, none).await.map(drop),
            &mut |from, _, kind, (_, payload)| {
                if (from, kind) == (0, Kind::LeakyAnds) {
                    blocks += 1;
                    payload[9] ^= (ADDED >> 72) as u8;
                }
                Ok(())
            },
        );
        assert_eq!(blocks, 1);
        let evaluators = ended.results.1;
        caught += usize::from(evaluators == Err(cheated(Caught::LeakyAnds)));
    }
    GUESSES.set(false);
    assert!((6..=26).contains(&caught), "{caught} of 32");
}
