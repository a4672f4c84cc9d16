//! Correlated trees: a sender's leaves v and a receiver's w = v ⊕ Δ·(unit vector at α).
//!
//! Source: Guo, Yang, Wang, Zhang, Xie, Liu, Zhao, "Half-Tree: Halving the Cost of Tree Expansion
//! in COT and DPF" (EUROCRYPT 2023), figures 3 and 4. Node x has the children H(x) and x ⊕ H(x),
//! and the first level is (s, s ⊕ Δ), so every level sums to Δ. H(x) = π(σ(x)) ⊕ σ(x), where π is
//! AES under a public key, is circular correlation robust in the ideal-cipher model. Deviation: the
//! paper has one key for all trees; here each level of each tree has its own, drawn from a hash of
//! the session's tag and the batch.
//!
//! **Concrete security.** A receiver knows the level's sum, so its unknown node is Δ plus a known
//! value, and the sibling that it learns gives one value of H(Δ ⊕ known). So each level is a target
//! for guesses at Δ, and if one key serves n levels, a table of AES attacks n targets at once. With
//! one key for each level it attacks one: the 127 bits of Δ less one bit, for calls in both
//! directions.
//!
//! A COT for each level, (q, t = q ⊕ bΔ), tells the receiver the sum of the level's nodes that end
//! in b = ¬α_level: the sender sends q ⊕ (sum of those that end in 0). So α is the complement of
//! the COTs' random choices, and the receiver sends nothing.
//!
//! Leaves have bit 0 cleared, except that the receiver's leaf at α has bit 0 set: bit 0 is the
//! choice. The receiver numbers nodes by y = x ⊕ α. The unknown one is at y = 0 on every level, and
//! no index depends on α. At the end masked exchanges bring the leaves into the order of x.
//!
//! Cost: one cipher call per leaf and party, 16 bytes per level and tree.

use tacit_kernels::{Aes128, Block, Cpu, Kernel, Prg, Simd};
use zeroize::Zeroizing;

use super::double::Double;
use super::reorder::Reorder;

/// The depth of the deepest tree.
pub(super) const MAX_DEPTH: usize = 20;

/// A mask of all bits except bit 0.
const CLEAR: Block = Block::from_u128(!1);

/// An expanded key.
pub(super) type RoundKeys = [Block; 11];

/// The hashes of a batch's trees, with a key for each level of each tree. Public.
pub(super) struct Hashes {
    cpu: Cpu,
    keys: Prg,
    /// Keys before the next one.
    passed: usize,
}

/// Expands a key.
struct Expand(Block);

impl Kernel for Expand {
    type Output = RoundKeys;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> RoundKeys {
        simd.round_keys(&simd.expand(simd.splat(self.0)))
    }
}

impl Hashes {
    /// Returns the hashes whose keys are drawn from `seed`, which both parties know and no other
    /// batch has.
    pub(super) fn new(cpu: Cpu, seed: &[u8; 32]) -> Self {
        let keys = Prg::from_seed(seed);
        Self {
            cpu,
            keys,
            passed: 0,
        }
    }

    /// Moves on to the keys of tree `tree` of the batch, of `depth` levels as all of them.
    pub(super) fn pass_to(&mut self, tree: usize, depth: usize) {
        let first = tree * (depth - 1);
        debug_assert!(self.passed <= first);
        self.keys.skip_blocks(first - self.passed);
        self.passed = first;
    }

    /// Replaces all nodes of a level by their children, under the next key.
    pub(super) fn double(&mut self, nodes: &mut [Block], swap: Block) -> [Block; 2] {
        let round_keys = self.cpu.dispatch(Expand(self.keys.next_block()));
        self.passed += 1;
        self.cpu.dispatch(Double {
            round_keys: &round_keys,
            nodes,
            swap,
        })
    }

    /// Writes H(x) of each leaf x of a tree, under the next key.
    pub(super) fn hash_leaves(&mut self, leaves: &[Block], hashes: &mut [Block]) {
        let cipher = Aes128::new(self.cpu, self.keys.next_block());
        self.passed += 1;
        for (hash, leaf) in hashes.iter_mut().zip(leaves) {
            *hash = sigma(*leaf);
        }
        cipher.encrypt_blocks(hashes);
        for (hash, leaf) in hashes.iter_mut().zip(leaves) {
            *hash ^= sigma(*leaf);
        }
    }

    /// Grows the sender's tree from its root and the q of each level's COT. Writes the leaves into
    /// `leaves`, and appends the bytes to send to `message`.
    pub(super) fn grow(
        &mut self,
        root: Block,
        delta: Block,
        q: &[Block],
        leaves: &mut [Block],
        message: &mut [u8],
    ) {
        debug_assert_eq!(leaves.len(), 1 << q.len());
        let mut sent = message.chunks_exact_mut(Block::BYTES);
        let mut send = |block: Block| {
            if let Some(bytes) = sent.next() {
                bytes.copy_from_slice(&block.to_bytes());
            }
        };
        (leaves[0], leaves[1]) = (root, root ^ delta);
        send(q[0] ^ root);
        for (level, &q) in q.iter().enumerate().skip(1) {
            let [zeros, _] = self.double(&mut leaves[..2 << level], Block::ZERO);
            send(q ^ zeros);
        }
        leaves.iter_mut().for_each(|leaf| *leaf = *leaf & CLEAR);
    }

    /// Grows the receiver's tree from the t of each level's COT, whose bit 0 is its choice, and the
    /// sender's bytes.
    pub(super) fn grow_punctured(&mut self, t: &[Block], message: &[u8], leaves: &mut [Block]) {
        debug_assert_eq!(leaves.len(), 1 << t.len());
        let sums = t.iter().zip(message.chunks_exact(Block::BYTES));
        leaves[0] = Block::ZERO;
        for (level, (&t, sent)) in sums.enumerate() {
            // The sender sums whole labels; t carries its choice in bit 0, as they do.
            let mut bytes = [0; Block::BYTES];
            bytes.copy_from_slice(sent);
            let sum = Block::from_bytes(bytes) ^ t;
            let half = 1 << level;
            if level == 0 {
                leaves[1] = sum;
                continue;
            }
            // The node at y = 0 is unknown, so its two children are computed wrong and are then
            // replaced.
            let swap = Block::ONES ^ Block::ONES.and_bit(t.lsb());
            let [_, ones] = self.double(&mut leaves[..2 * half], swap);
            leaves[half] ^= ones ^ sum;
            leaves[0] = Block::ZERO;
        }
        let mut missing = Block::ZERO;
        for leaf in &mut leaves[1..] {
            *leaf = *leaf & CLEAR;
            missing ^= *leaf;
        }
        leaves[0] = missing ^ Block::from_u128(1);
        let mut swaps = Zeroizing::new([Block::ZERO; MAX_DEPTH]);
        let swaps = &mut swaps[..t.len()];
        for (swap, t) in swaps.iter_mut().zip(t) {
            *swap = Block::ONES ^ Block::ONES.and_bit(t.lsb());
        }
        self.cpu.dispatch(Reorder { leaves, swaps });
    }
}

/// Returns σ(x): (high ‖ low) becomes (high ⊕ low ‖ high), an orthomorphism.
fn sigma(block: Block) -> Block {
    let (block, high) = (block.to_u128(), block.to_u128() >> 64);
    Block::from_u128((high ^ block) << 64 | high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_differ_by_delta_at_alpha_alone() {
        let mut prg = Prg::new(Block::from_u128(3));
        for depth in 1..=10 {
            let delta = prg.next_block() ^ prg.next_block();
            let delta = delta.with_lsb(1.into());
            let mut q = vec![Block::ZERO; depth];
            prg.fill_blocks(&mut q);
            q.iter_mut().for_each(|q| *q = *q & CLEAR);
            let choices = prg.next_block().to_u128();
            let t = q.iter().enumerate();
            let t = t.map(|(i, &q)| q ^ delta.and_bit(((choices >> i & 1) as u8).into()));
            let t: Vec<Block> = t.collect();
            let alpha = !choices as usize % (1 << depth);
            let (mut v, mut w) = (vec![Block::ZERO; 1 << depth], vec![Block::ONES; 1 << depth]);
            let mut message = vec![0; 16 * depth];
            let hashes = || Hashes::new(Cpu::detect(), &[depth as u8; 32]);
            hashes().grow(prg.next_block(), delta, &q, &mut v, &mut message);
            hashes().grow_punctured(&t, &message, &mut w);
            for x in 0..1 << depth {
                let unit = delta.and_bit(u8::from(x == alpha).into());
                assert_eq!(w[x], v[x] ^ unit, "depth {depth}, leaf {x}, alpha {alpha}");
                assert_eq!(bool::from(w[x].lsb()), x == alpha);
            }
        }
    }

    #[test]
    fn children_are_those_of_the_paper() {
        let node = Block::from_u128(0x0123_4567_89ab_cdef_fedc_ba98_7654_3210);
        let seed = [9; 32];
        let key = Prg::from_seed(&seed).next_block();
        let cipher = Aes128::new(Cpu::portable(), key);
        let high = 0x0123_4567_89ab_cdef_u128;
        let s = Block::from_u128((high ^ 0xfedc_ba98_7654_3210) << 64 | high);
        let left = cipher.encrypt(s) ^ s;
        let mut nodes = [node, Block::ZERO];
        let sums = Hashes::new(Cpu::detect(), &seed).double(&mut nodes, Block::ZERO);
        assert_eq!(nodes, [left, left ^ node]);
        assert_eq!(sums, nodes);
        // A leaf is hashed in the same way, under the next key.
        let mut keys = Prg::from_seed(&seed);
        let _ = keys.next_block();
        let cipher = Aes128::new(Cpu::portable(), keys.next_block());
        let mut hashes = Hashes::new(Cpu::detect(), &seed);
        hashes.double(&mut [Block::ZERO; 2], Block::ZERO);
        let mut hash = [Block::ZERO];
        hashes.hash_leaves(&[node], &mut hash);
        assert_eq!(hash, [cipher.encrypt(s) ^ s]);
    }
}
