//! What both halves of silent OT do alike: rounds, batches, and the sums of the check.

use sha2::{Digest, Sha256};
use tacit_kernels::{Block, Cpu, Gf128Sum, Kernel, Prg, Simd, inner_products};
use zeroize::Zeroizing;

use super::lpn::add_columns;
use super::params::{BOOTSTRAP, CHECK_COTS, Params, ROUND};
use super::tree::Hash;
use crate::{Security, SessionTag};

const COLUMNS: &[u8; 32] = b"tacit silent OT v1 LPN columns  ";
const TRANSCRIPT: &[u8; 32] = b"tacit silent OT v1 transcript   ";
const ANSWER: &[u8; 32] = b"tacit silent OT v1 check answer ";

/// Size of the receiver's reply to a batch, in bytes.
pub(super) const REPLY_BYTES: usize = Block::BYTES;

/// Size of the sender's answer to the reply, in bytes.
pub(super) const ANSWER_BYTES: usize = 32;

/// Lanes of the widest vector.
const MAX_LANES: usize = 4;

/// Coefficients of the check that are made at once.
const CHUNK: usize = 512;

/// Where one half stands, and the COTs that it feeds on: its secret, and what each batch takes.
pub(super) struct Rounds {
    tag: SessionTag,
    pub(super) security: Security,
    pub(super) hash: Hash,
    params: Params,
    /// The parameters of the rounds after the first.
    later: Params,
    round: u64,
    batch: usize,
    inputs: Zeroizing<Vec<Block>>,
    /// Inputs of the next round, as far as they are made.
    reserve: Zeroizing<Vec<Block>>,
}

impl Rounds {
    /// The bootstrap's round over its COTs, bit 0 of which is the receiver's choice.
    pub(super) fn new(tag: SessionTag, security: Security, inputs: Zeroizing<Vec<Block>>) -> Self {
        Self::with_params(tag, security, inputs, BOOTSTRAP, ROUND)
    }

    pub(super) fn with_params(
        tag: SessionTag,
        security: Security,
        inputs: Zeroizing<Vec<Block>>,
        params: Params,
        later: Params,
    ) -> Self {
        debug_assert_eq!(inputs.len(), params.inputs());
        Self {
            tag,
            security,
            hash: Hash::new(Cpu::detect()),
            params,
            later,
            round: 0,
            batch: 0,
            inputs,
            reserve: Zeroizing::new(Vec::with_capacity(later.inputs())),
        }
    }

    pub(super) fn params(&self) -> Params {
        self.params
    }

    /// Size of the sender's message for the next batch, in bytes.
    pub(super) fn trees_bytes(&self) -> usize {
        self.params.batch_trees * self.params.depth * Block::BYTES
    }

    /// How many COTs the next batch gives away.
    pub(super) fn next_count(&self) -> usize {
        if self.round == 0 {
            return 0;
        }
        self.params.batch_outputs() - self.reserved_next()
    }

    /// How many of the next batch's outputs the next round takes.
    fn reserved_next(&self) -> usize {
        let missing = self.later.inputs() - self.reserve.len();
        missing.min(self.params.batch_outputs())
    }

    /// COTs that the trees of this batch take, and those that its check takes.
    pub(super) fn batch_inputs(&self) -> (&[Block], &[Block]) {
        let start = self.params.secret() + self.batch * self.params.batch_inputs();
        let inputs = &self.inputs[start..start + self.params.batch_inputs()];
        inputs.split_at(self.params.batch_inputs() - CHECK_COTS)
    }

    /// Everything that a batch works with, borrowed apart.
    pub(super) fn parts(&self) -> (&Hash, &[Block], &[Block], Prg) {
        let seed = self.tag.hash(COLUMNS);
        let seed = seed.chain_update(self.round.to_le_bytes());
        let seed = seed.chain_update((self.batch as u64).to_le_bytes());
        let columns = Prg::from_seed(&seed.finalize().into());
        let (secret, rest) = self.inputs.split_at(self.params.secret());
        let start = self.batch * self.params.batch_inputs();
        let trees = &rest[start..start + self.params.batch_trees * self.params.depth];
        (&self.hash, secret, trees, columns)
    }

    pub(super) fn expand(columns: &mut Prg, secret: &[Block], leaves: &mut [Block]) {
        add_columns(Cpu::detect(), columns, secret, leaves);
    }

    /// The sums of this batch's check, if it has one.
    pub(super) fn check(&self) -> Option<Sums> {
        let transcript = self.tag.hash(TRANSCRIPT);
        let transcript = transcript.chain_update(self.round.to_le_bytes());
        let transcript = transcript.chain_update((self.batch as u64).to_le_bytes());
        (self.security == Security::Malicious).then(|| Sums {
            cpu: Cpu::detect(),
            transcript,
            coefficients: vec![Block::ZERO; CHUNK],
            values: Zeroizing::default(),
            choices: Block::ZERO,
        })
    }

    /// Ends a batch: keeps what the next round takes at the front of `outputs`, and leaves the
    /// rest, which is given away.
    pub(super) fn finish(&mut self, outputs: &mut Zeroizing<Vec<Block>>) {
        let reserved = self.reserved_next();
        self.reserve.extend_from_slice(&outputs[..reserved]);
        let kept = outputs.len();
        if reserved > 0 {
            outputs.copy_within(reserved.., 0);
        }
        // What lies past the end is wiped before it is forgotten.
        let given = if self.round == 0 { 0 } else { kept - reserved };
        outputs[given..].fill(Block::ZERO);
        outputs.truncate(given);
        self.batch += 1;
        if self.batch == self.params.batches() {
            self.batch = 0;
            self.round += 1;
            self.params = self.later;
            let next = Vec::with_capacity(self.later.inputs());
            self.inputs = core::mem::replace(&mut self.reserve, Zeroizing::new(next));
        }
    }
}

/// The sum of the coefficients of those leaves whose bit 0 is set.
struct Marked<'a> {
    coefficients: &'a [Block],
    leaves: &'a [Block],
}

impl Kernel for Marked<'_> {
    type Output = Block;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Block {
        let mut sum = simd.splat(Block::ZERO);
        let mut coefficients = self.coefficients.chunks_exact(S::LANES);
        let mut leaves = self.leaves.chunks_exact(S::LANES);
        for (coefficient, leaf) in (&mut coefficients).zip(&mut leaves) {
            let marked = simd.lsb_mask(simd.load(leaf));
            sum = simd.xor(sum, simd.and(simd.load(coefficient), marked));
        }
        let mut lanes = [Block::ZERO; MAX_LANES];
        simd.store(sum, &mut lanes);
        let rest = coefficients.remainder().iter().zip(leaves.remainder());
        let rest = rest.map(|(coefficient, leaf)| coefficient.and_bit(leaf.lsb()));
        lanes
            .into_iter()
            .chain(rest)
            .fold(Block::ZERO, |sum, block| sum ^ block)
    }
}

/// The sums that a batch's check compares.
pub(super) struct Sums {
    cpu: Cpu,
    transcript: Sha256,
    coefficients: Vec<Block>,
    values: Zeroizing<[Gf128Sum; 1]>,
    /// Sum of the coefficients where bit 0 of a leaf is set.
    choices: Block,
}

impl Sums {
    /// Adds a tree's leaves, with coefficients drawn from what the sender sent up to this tree.
    pub(super) fn add_tree(&mut self, sent: &[u8], leaves: &[Block]) {
        self.transcript.update(sent);
        let mut seed = self.transcript.clone();
        seed.update([0]);
        let mut prg = Prg::from_seed(&seed.finalize().into());
        for leaves in leaves.chunks(CHUNK) {
            let coefficients = &mut self.coefficients[..leaves.len()];
            prg.fill_blocks(coefficients);
            inner_products(self.cpu, coefficients, leaves, &mut *self.values);
            self.choices ^= self.cpu.dispatch(Marked {
                coefficients,
                leaves,
            });
        }
    }

    /// The receiver's x', with the check's COTs.
    pub(super) fn reply(&self, cots: &[Block]) -> Block {
        let bits = (0..).zip(cots);
        let bits = bits.fold(0, |sum, (i, cot)| sum | (cot.to_u128() & 1) << i);
        self.choices ^ Block::from_u128(bits)
    }

    /// The answer, with the check's COTs and, for the sender, Δ and the receiver's x'.
    pub(super) fn answer(mut self, cots: &[Block], shift: Option<(Block, Block)>) -> [u8; 32] {
        let powers: Vec<Block> = (0..cots.len()).map(|i| Block::from_u128(1 << i)).collect();
        inner_products(self.cpu, &powers, cots, &mut *self.values);
        if let Some((delta, reply)) = shift {
            inner_products(self.cpu, &[reply], &[delta], &mut *self.values);
        }
        self.transcript.update([1]);
        let value = Zeroizing::new(self.values[0].reduce().to_bytes());
        let hash = Sha256::new().chain_update(ANSWER);
        let hash = hash.chain_update(self.transcript.finalize());
        hash.chain_update(*value).finalize().into()
    }
}
