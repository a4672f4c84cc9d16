//! Uniform shuffles by Fisher and Yates, with unbiased numbers from AES in counter mode.

use tacit_kernels::Prg;

/// Shuffles `all` with the randomness of `prg`.
pub(crate) fn shuffle(prg: &mut Prg, all: &mut [u32]) {
    for i in (1..all.len()).rev() {
        all.swap(i, below(prg, i as u64 + 1) as usize);
    }
}

/// Returns a uniform number below `bound`, which is not 0.
pub(crate) fn below(prg: &mut Prg, bound: u64) -> u64 {
    let unbiased = u64::MAX - u64::MAX % bound;
    loop {
        let mut bytes = [0; 8];
        prg.fill_bytes(&mut bytes);
        let drawn = u64::from_le_bytes(bytes);
        if drawn < unbiased {
            return drawn % bound;
        }
    }
}

#[cfg(test)]
mod tests {
    use tacit_kernels::Block;

    use super::*;

    #[test]
    fn shuffles_are_uniform() {
        let mut prg = Prg::new(Block::ONES);
        let mut counts = [0_u32; 24];
        for _ in 0..24_000 {
            let mut all = [0, 1, 2, 3];
            shuffle(&mut prg, &mut all);
            let rank = all.iter().enumerate().fold(0, |rank, (i, a)| {
                rank * (4 - i) + all[i + 1..].iter().filter(|b| *b < a).count()
            });
            counts[rank] += 1;
        }
        // A count is 1000 with deviation 31; the seed is fixed.
        assert!(
            counts.iter().all(|count| (850..1150).contains(count)),
            "{counts:?}"
        );
    }
}
