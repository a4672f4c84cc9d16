//! Doubles a level of a correlated tree: replaces every node by its two children.
//!
//! Source: see [`tree`](super::tree). σ(x), π and both children are computed in registers, eight
//! vectors at a time, so that a node is read once and its children are written once.

use tacit_kernels::{Block, Kernel, MAX_LANES, Simd};

use super::tree::RoundKeys;

/// The number of vectors that are encrypted at once: enough to hide the latency of an AES round.
const IN_FLIGHT: usize = 8;

/// Replaces the nodes in the first half by their children. Those that end in 0 go to the first half
/// and those that end in 1 to the second, or the other way round if `swap` is all ones. Returns the
/// sum of each half.
pub(super) struct Double<'a> {
    pub(super) round_keys: &'a RoundKeys,
    pub(super) nodes: &'a mut [Block],
    pub(super) swap: Block,
}

impl Kernel for Double<'_> {
    type Output = [Block; 2];

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> [Block; 2] {
        let schedule = simd.splat_schedule(self.round_keys);
        let swap = simd.splat(self.swap);
        let (low, high) = self.nodes.split_at_mut(self.nodes.len() / 2);
        let zero = simd.splat(Block::ZERO);
        let (mut sum, mut parents) = (zero, zero);
        let tile = IN_FLIGHT * S::LANES;
        let mut low_tiles = low.chunks_exact_mut(tile);
        let mut high_tiles = high.chunks_exact_mut(tile);
        for (low, high) in (&mut low_tiles).zip(&mut high_tiles) {
            let nodes: [S::Vector; IN_FLIGHT] =
                core::array::from_fn(|i| simd.load(&low[i * S::LANES..]));
            let (left, right) = children(simd, &schedule, swap, nodes);
            for i in 0..IN_FLIGHT {
                simd.store(left[i], &mut low[i * S::LANES..]);
                simd.store(right[i], &mut high[i * S::LANES..]);
                sum = simd.xor(sum, left[i]);
                parents = simd.xor(parents, nodes[i]);
            }
        }
        let [mut sum, mut parents] = [sum, parents].map(|vector| add_lanes(simd, vector));
        // The few levels with fewer nodes than a tile: one vector at a time, padded.
        let rest = low_tiles.into_remainder().chunks_mut(S::LANES);
        for (low, high) in rest.zip(high_tiles.into_remainder().chunks_mut(S::LANES)) {
            let mut padded = [Block::ZERO; MAX_LANES];
            padded[..low.len()].copy_from_slice(low);
            let (left, right) = children(simd, &schedule, swap, [simd.load(&padded)]);
            simd.store(left[0], &mut padded);
            low.iter().for_each(|&node| parents ^= node);
            low.copy_from_slice(&padded[..low.len()]);
            low.iter().for_each(|&node| sum ^= node);
            simd.store(right[0], &mut padded);
            high.copy_from_slice(&padded[..high.len()]);
        }
        [sum, sum ^ parents]
    }
}

/// Returns H(x) = π(σ(x)) ⊕ σ(x) and x ⊕ H(x), or these exchanged.
#[inline(always)]
fn children<S: Simd, const N: usize>(
    simd: S,
    schedule: &S::Schedule,
    swap: S::Vector,
    nodes: [S::Vector; N],
) -> ([S::Vector; N], [S::Vector; N]) {
    let inputs = nodes.map(|node| simd.sigma(node));
    let [outputs] = simd.encrypt([schedule], [inputs]);
    let left = core::array::from_fn(|i| {
        let hash = simd.xor(outputs[i], inputs[i]);
        simd.xor(hash, simd.and(nodes[i], swap))
    });
    let right = core::array::from_fn(|i| simd.xor(nodes[i], left[i]));
    (left, right)
}

#[inline(always)]
fn add_lanes<S: Simd>(simd: S, vector: S::Vector) -> Block {
    let mut lanes = [Block::ZERO; MAX_LANES];
    simd.store(vector, &mut lanes);
    lanes.iter().fold(Block::ZERO, |sum, &lane| sum ^ lane)
}
