//! The random oracle of a batch or an outsourced run: SHA-256, with every use apart from every
//! other.
//!
//! The input is the batch's or run's name (16 bytes, from its tag), the [`Domain`] (1), the number
//! of a circuit (4) and of a position in it (4), both little-endian, and what is hashed.
//!
//! **Commitments to labels carry no randomness of their own.** A label is 128 random bits, and its
//! pair's other label differs from it by the circuit's Δ, of which 127 bits are unknown: whoever
//! holds one of them finds the other in the oracle only by guessing Δ, and a guess serves one
//! circuit. What has less entropy (halves of m_j, W) is hashed with 128 random bits. Binding is
//! collision resistance, of which all 256 bits of output are kept.
//!
//! **Cost**: one compression a label. The length of its padding is fixed, so that the block is
//! made by hand, and labels are hashed in pairs, which takes little longer than one. Long messages
//! go in [`halves`](Oracle::halves) for the same reason.

use sha2::block_api::compress256;
use sha2::{Digest as _, Sha256};
use tacit_kernels::{Block, SHA_256_INITIAL, sha_256_compress_two};

use crate::session::RunTag;

/// Bytes of a commitment or digest.
pub(crate) const HASH_BYTES: usize = 32;

/// What the oracle gives.
pub(crate) type Hash = [u8; HASH_BYTES];

/// What a hash is for. A number is never given a second meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Domain {
    /// Digest of all that is published of a circuit, in halves.
    Circuit = 1,
    /// Commitment to a circuit's seed.
    Seed = 2,
    /// Commitment to λ.
    Lambda = 3,
    /// Commitment to a label of the garbler's input; in `outsourced` where such commitments start.
    GarblerInput = 4,
    /// Commitment to a first share of a label of the evaluator's input.
    FirstShare = 5,
    /// Commitment to a second share.
    SecondShare = 6,
    /// O, derived from a label of an output.
    Output = 7,
    /// Commitment to O.
    OutputCommitment = 8,
    /// What masks R and D under O.
    OutputMask = 9,
    /// Commitment to a half of m.
    Half = 10,
    /// What locks the seed of m.
    Lock = 11,
    /// The hash of D.
    RecoveryKey = 12,
    /// Commitment to the seed of the check set.
    CheckSet = 13,
    /// Commitment to the seed of the buckets.
    Buckets = 14,
    /// Commitment to W of an execution.
    Halves = 15,
    /// A circuit's seed from the garbler's.
    CircuitSeed = 16,
    /// Start point of the hash of OT pads.
    Pads = 17,
    /// All commitments to a circuit's halves.
    Pairs = 18,
    /// `outsourced`: a key of the cut, from an oblivious transfer.
    CutKey = 32,
    /// What the evaluator compares of a key of the cut (cmp).
    CutCompare = 33,
    /// All comparison hashes of the keys that the cloud has.
    CutCompareAll = 34,
    /// The seed of what is encrypted under a key of the cut (enc).
    CutEncrypt = 35,
    /// Commitment to the cloud's share of a coin toss.
    Toss = 36,
    /// Start point of commitments to labels of the evaluator's encoded input.
    EvaluatorInput = 37,
    /// The seed of a copy's blinds.
    Blind = 38,
    /// Select bits that the evaluator expects of a copy's labels.
    Selects = 39,
    /// The name of a chain.
    Chain = 40,
    /// The mark of a version of a saved value.
    Mark = 41,
}

/// Bytes before what is hashed.
const HEAD_BYTES: usize = 25;

/// The oracle of one batch.
#[derive(Clone, Copy)]
pub(crate) struct Oracle {
    name: [u8; 16],
}

impl Oracle {
    /// The oracle of the batch that the run `tag` prepares.
    pub(crate) fn new(tag: &RunTag) -> Self {
        let hash = Sha256::new_with_prefix(b"tacit batch 1\0").chain_update(tag.as_bytes());
        let mut name = [0; 16];
        name.copy_from_slice(&hash.finalize()[..16]);
        Self { name }
    }

    /// The oracle of the batch of this name.
    pub(crate) fn named(name: [u8; 16]) -> Self {
        Self { name }
    }

    /// The batch's name.
    pub(crate) fn name(&self) -> [u8; 16] {
        self.name
    }

    fn head(&self, domain: Domain, circuit: u32, position: u32) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        head[..16].copy_from_slice(&self.name);
        head[16] = domain as u8;
        head[17..21].copy_from_slice(&circuit.to_le_bytes());
        head[21..].copy_from_slice(&position.to_le_bytes());
        head
    }

    /// The hash of one block.
    pub(crate) fn block(&self, domain: Domain, circuit: u32, position: u32, block: Block) -> Hash {
        let bytes = block.to_bytes();
        let message = Message::new(self.head(domain, circuit, position), &bytes);
        let mut state = SHA_256_INITIAL;
        compress256(&mut state, &[message.block(0)]);
        hash_of(state)
    }

    /// The hashes of two blocks, each in its domain and at its position.
    pub(crate) fn two_blocks(
        &self,
        circuit: u32,
        places: [(Domain, u32); 2],
        blocks: [Block; 2],
    ) -> [Hash; 2] {
        let bytes = blocks.map(Block::to_bytes);
        let padded = [0, 1].map(|i| {
            let (domain, position) = places[i];
            Message::new(self.head(domain, circuit, position), &bytes[i]).block(0)
        });
        let mut states = [SHA_256_INITIAL; 2];
        sha_256_compress_two(&mut states, [&padded[0], &padded[1]]);
        states.map(hash_of)
    }

    /// The hash, at position 0, of the hashes at positions 1 and 2 of the first ⌊n/2⌋ of n bytes
    /// and of the others: two streams at once.
    pub(crate) fn halves(&self, domain: Domain, circuit: u32, bytes: &[u8]) -> Hash {
        let (first, second) = bytes.split_at(bytes.len() / 2);
        let messages = [(1, first), (2, second)]
            .map(|(position, half)| Message::new(self.head(domain, circuit, position), half));
        let [least, most] = messages.each_ref().map(Message::blocks);
        let mut states = [SHA_256_INITIAL; 2];
        for number in 0..least {
            let blocks = messages.each_ref().map(|message| message.block(number));
            sha_256_compress_two(&mut states, [&blocks[0], &blocks[1]]);
        }
        // The second half is a byte longer at most, and with it a block.
        for number in least..most {
            compress256(&mut states[1], &[messages[1].block(number)]);
        }
        let [first, second] = states.map(hash_of);
        self.parts(domain, circuit, 0, &[&first, &second])
    }

    /// The first block of the hash of one block.
    pub(crate) fn block_to_block(
        &self,
        domain: Domain,
        circuit: u32,
        position: u32,
        block: Block,
    ) -> Block {
        first_block(&self.block(domain, circuit, position, block))
    }

    /// The hash of several parts, whose lengths the domain fixes.
    pub(crate) fn parts(
        &self,
        domain: Domain,
        circuit: u32,
        position: u32,
        parts: &[&[u8]],
    ) -> Hash {
        let mut hash = self.start(domain, circuit, position);
        for part in parts {
            hash.update(part);
        }
        hash.finalize().into()
    }

    /// A hash to be fed.
    pub(crate) fn start(&self, domain: Domain, circuit: u32, position: u32) -> Sha256 {
        Sha256::new_with_prefix(self.head(domain, circuit, position))
    }
}

/// Bytes of a block of SHA-256, where in the last one the length stands, and least padding.
const BLOCK_BYTES: usize = 64;
const LENGTH_AT: usize = 56;
const PADDING_BYTES: usize = 9;

/// A message that is hashed block by block: its head and its bytes, padded (FIPS 180-4, section
/// 5.1.1).
struct Message<'b> {
    head: [u8; HEAD_BYTES],
    bytes: &'b [u8],
}

impl<'b> Message<'b> {
    fn new(head: [u8; HEAD_BYTES], bytes: &'b [u8]) -> Self {
        Self { head, bytes }
    }

    /// How many blocks it has.
    fn blocks(&self) -> usize {
        (HEAD_BYTES + self.bytes.len() + PADDING_BYTES).div_ceil(BLOCK_BYTES)
    }

    /// Block `number`.
    #[inline]
    fn block(&self, number: usize) -> [u8; BLOCK_BYTES] {
        let (begin, length) = (BLOCK_BYTES * number, HEAD_BYTES + self.bytes.len());
        let mut block = [0; BLOCK_BYTES];
        let (head, from) = match number {
            0 => (HEAD_BYTES, 0),
            _ => (0, begin - HEAD_BYTES),
        };
        block[..head].copy_from_slice(&self.head[..head]);
        let rest = self.bytes.get(from..).unwrap_or_default();
        let taken = rest.len().min(BLOCK_BYTES - head);
        block[head..head + taken].copy_from_slice(&rest[..taken]);
        if (begin..begin + BLOCK_BYTES).contains(&length) {
            block[length - begin] = 0x80;
        }
        if number + 1 == self.blocks() {
            block[LENGTH_AT..].copy_from_slice(&(8 * length as u64).to_be_bytes());
        }
        block
    }
}

/// A state as a hash.
fn hash_of(state: [u32; 8]) -> Hash {
    let mut hash = [0; HASH_BYTES];
    for (bytes, word) in hash.as_chunks_mut().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    hash
}

/// The first 16 bytes of a hash.
pub(crate) fn first_block(hash: &Hash) -> Block {
    let mut bytes = [0; Block::BYTES];
    bytes.copy_from_slice(&hash[..Block::BYTES]);
    Block::from_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_hashed_as_sha_256_says() {
        let oracle = Oracle::named([7; 16]);
        let block = Block::from_u128(0x0123_4567_89ab_cdef);
        let mut input = vec![7; 16];
        input.extend([9, 4, 3, 2, 1, 8, 7, 6, 5]);
        input.extend(block.to_bytes());
        let expected: Hash = Sha256::digest(&input).into();
        let (circuit, position) = (0x0102_0304, 0x0506_0708);
        let found = oracle.block(Domain::OutputMask, circuit, position, block);
        assert_eq!(found, expected);
        let other = Block::from_u128(7);
        let places = [(Domain::OutputMask, position), (Domain::Lambda, 2)];
        let two = oracle.two_blocks(circuit, places, [block, other]);
        let one = oracle.block(Domain::Lambda, circuit, 2, other);
        assert_eq!(two, [expected, one]);
        let parts: [&[u8]; 1] = [&block.to_bytes()];
        assert_eq!(
            oracle.parts(Domain::OutputMask, circuit, position, &parts),
            expected
        );
    }

    /// Lengths around every end of a block, and halves of equal and of unequal length.
    #[test]
    fn halves_are_hashed_as_sha_256_says() {
        let oracle = Oracle::named([3; 16]);
        let bytes: Vec<u8> = (0..600).map(|i| (i * 31 % 251) as u8).collect();
        for length in (0..300).chain([511, 512, 599, 600]) {
            let bytes = &bytes[..length];
            let (first, second) = bytes.split_at(length / 2);
            let [first, second] = [(1, first), (2, second)]
                .map(|(position, half)| oracle.parts(Domain::Circuit, 9, position, &[half]));
            let expected = oracle.parts(Domain::Circuit, 9, 0, &[&first, &second]);
            assert_eq!(
                oracle.halves(Domain::Circuit, 9, bytes),
                expected,
                "{length}"
            );
        }
    }

    #[test]
    fn domains_circuits_positions_and_batches_are_apart() {
        let hash = |name, domain, circuit, position| {
            Oracle::named([name; 16]).block(domain, circuit, position, Block::ZERO)
        };
        let base = hash(0, Domain::Seed, 0, 0);
        assert_ne!(base, hash(1, Domain::Seed, 0, 0));
        assert_ne!(base, hash(0, Domain::Lambda, 0, 0));
        assert_ne!(base, hash(0, Domain::Seed, 1, 0));
        assert_ne!(base, hash(0, Domain::Seed, 0, 1));
    }
}
