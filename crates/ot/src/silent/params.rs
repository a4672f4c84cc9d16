//! LPN parameters: the sizes of a round, and the reserve from the round before.

/// The sizes of a round: its trees, its secret, and its division into batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    /// t, the number of trees of a round, and so the weight of its noise.
    pub(super) trees: usize,
    /// The number of trees of a batch; divides `trees`.
    pub(super) batch_trees: usize,
    /// The base-2 logarithm of the number of leaves of a tree.
    pub(super) depth: usize,
    /// The base-2 logarithm of the number of elements of the LPN secret.
    pub(super) log_secret: u32,
    /// The number of outputs of the round before that a tree takes.
    pub(super) tree_inputs: usize,
    /// The number of them that a batch's check takes.
    pub(super) check_inputs: usize,
}

/// The number of non-zero elements in a column of the LPN matrix.
pub(super) const WEIGHT: usize = 10;

/// The number of COTs that a batch's check takes.
pub(super) const CHECK_COTS: usize = 128;

/// The bits of security of both sets of parameters: no attack of `crates/ot/tests/all/lpn.rs` costs
/// less.
pub(crate) const SECURITY_BITS: u32 = 128;

/// N = 3,891,200: the round whose OTs are handed out.
///
/// Source: sizes at which all attacks of `crates/ot/tests/all/lpn.rs` keep [`SECURITY_BITS`]. The
/// cheapest of these uses information sets inside a peeled subset of the secret. An attack must
/// guess which of k outputs are noisy: k over the leaves of a tree, here 128. If both were twice as
/// large, a batch would send half the bytes and read randomly from a secret of 8 MiB, at half the
/// speed. Deeper trees alone would lower the bits: the set `b13` of emp-ot 1.0.0-alpha.1 (t = 1900,
/// k = 2^19, trees of depth 13) has 87 under the same attacks on random subsets, since outputs have
/// ten elements each and an attack need not consider all of the secret.
pub(super) const ROUND: Params = Params {
    trees: 1900,
    batch_trees: 380,
    depth: 11,
    log_secret: 18,
    tree_inputs: 11,
    check_inputs: CHECK_COTS,
};

/// N = 286,720: the round that makes the first secret of [`ROUND`] from few COTs.
pub(crate) const BOOTSTRAP: Params = Params {
    trees: 1120,
    batch_trees: 1120,
    depth: 8,
    log_secret: 15,
    tree_inputs: 8,
    check_inputs: CHECK_COTS,
};

/// The rounds of silent VOLE: a tree takes one VOLE, and its COTs from elsewhere.
pub(super) const VOLE_ROUND: Params = Params {
    tree_inputs: 1,
    check_inputs: 0,
    ..ROUND
};

/// The round that makes the first secret of [`VOLE_ROUND`].
pub(super) const VOLE_BOOTSTRAP: Params = Params {
    tree_inputs: 1,
    check_inputs: 0,
    ..BOOTSTRAP
};

/// The public sizes of an LPN instance with regular noise and a local code, which determine the
/// costs of attacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LpnSizes {
    /// The number of trees, each of which has one noisy output.
    pub trees: usize,
    /// The number of outputs of a tree.
    pub leaves: usize,
    /// The number of elements of the secret.
    pub secret: usize,
}

impl LpnSizes {
    /// The number of elements of the secret in an output.
    pub const WEIGHT: usize = WEIGHT;

    const fn of(params: Params) -> Self {
        Self {
            trees: params.trees,
            leaves: params.leaves(),
            secret: params.secret(),
        }
    }
}

/// The sizes of a usual round, and of the first one.
pub const LPN_SIZES: [LpnSizes; 2] = [LpnSizes::of(ROUND), LpnSizes::of(BOOTSTRAP)];

impl Params {
    pub(super) const fn leaves(self) -> usize {
        1 << self.depth
    }

    pub(super) const fn secret(self) -> usize {
        1 << self.log_secret
    }

    pub(super) const fn batches(self) -> usize {
        self.trees / self.batch_trees
    }

    /// Returns the number of COTs or VOLEs that one batch makes.
    pub(super) const fn batch_outputs(self) -> usize {
        self.batch_trees * self.leaves()
    }

    /// Returns the number of COTs or VOLEs that a batch takes for its trees and its check.
    pub(super) const fn batch_inputs(self) -> usize {
        self.batch_trees * self.tree_inputs + self.check_inputs
    }

    /// Returns the number of COTs or VOLEs that a round takes, which the round before reserves.
    pub(crate) const fn inputs(self) -> usize {
        self.secret() + self.batches() * self.batch_inputs()
    }
}

/// The progress of the rounds: only sizes and counts, from which a cost can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    params: Params,
    /// The parameters of the rounds after the first.
    later: Params,
    round: u64,
    batch: usize,
    /// The number of COTs that are reserved for the next round.
    reserved: usize,
}

impl Schedule {
    /// The bootstrap's first batch.
    pub(crate) const START: Self = Self::new(BOOTSTRAP, ROUND);

    pub(super) const fn new(params: Params, later: Params) -> Self {
        Self {
            params,
            later,
            round: 0,
            batch: 0,
            reserved: 0,
        }
    }

    pub(super) const fn params(&self) -> Params {
        self.params
    }

    pub(super) const fn later(&self) -> Params {
        self.later
    }

    /// Returns the number of the round, and of the batch in it.
    pub(super) const fn place(&self) -> (u64, usize) {
        (self.round, self.batch)
    }

    /// Returns the size of the sender's message for the next batch, in bytes.
    pub(crate) const fn trees_bytes(&self) -> usize {
        self.params.batch_trees * self.params.depth * tacit_kernels::Block::BYTES
    }

    /// Returns the number of the next batch's outputs that are reserved for the next round.
    pub(super) fn next_reserved(&self) -> usize {
        let missing = self.later.inputs() - self.reserved;
        missing.min(self.params.batch_outputs())
    }

    /// Returns the number of COTs that the next batch hands out.
    pub(crate) fn next_count(&self) -> usize {
        if self.round == 0 {
            return 0;
        }
        self.params.batch_outputs() - self.next_reserved()
    }

    /// Advances by one batch. Returns whether a new round begins.
    pub(crate) fn advance(&mut self) -> bool {
        self.reserved += self.next_reserved();
        self.batch += 1;
        let ends = self.batch == self.params.batches();
        if ends {
            (self.batch, self.reserved) = (0, 0);
            self.round = self.round.saturating_add(1);
            self.params = self.later;
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_feeds_the_next() {
        assert_eq!(ROUND.trees % ROUND.batch_trees, 0);
        assert_eq!(ROUND.trees * ROUND.leaves(), 3_891_200);
        assert_eq!(BOOTSTRAP.trees * BOOTSTRAP.leaves(), 286_720);
        // One batch gives the whole reserve, so that a round needs one batch at a time.
        assert!(BOOTSTRAP.batch_outputs() >= ROUND.inputs());
        assert!(ROUND.batch_outputs() >= ROUND.inputs());
    }
}
