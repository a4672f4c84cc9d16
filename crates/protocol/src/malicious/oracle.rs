//! The random oracle of a batch or an outsourced run, SHA-256 with a separate domain for every use,
//! and the digest of long data.
//!
//! The input is the name of the batch or run (16 bytes, from its tag), the [`Domain`] (1 byte), the
//! number of a circuit (4) and of a position in it (4), both little-endian, and the hashed data. A
//! circuit that has many hashes of more than a block uses [`Oracle::of_circuit`]: the position is
//! 0, zeros fill up the first 64 bytes, whose compression all these hashes share, and the 4 bytes
//! of the real position come before the data.
//!
//! The published data of a circuit, hundreds of KiB, has a digest by BLAKE3 ([`Oracle::digest`]),
//! which hashes several blocks at once by SIMD. The proofs treat it as a random oracle that is
//! observed and never programmed.
//!
//! Commitments to labels use AES ([`commitment`](super::commitment)), from start points of this
//! oracle. Values with less entropy than a label (halves of m_j, W) are hashed with 128 random
//! bits. Binding is collision resistance, for which all 256 bits of output are kept.
//!
//! **Cost**: one compression a block, whose padding has a fixed length and is built by hand.

use sha2::block_api::compress256;
use sha2::{Digest as _, Sha256};
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use crate::bits::read_block;
use crate::session::RunTag;

/// Bytes of a commitment or digest.
pub(crate) const HASH_BYTES: usize = 32;

/// An output of the oracle.
pub(crate) type Hash = [u8; HASH_BYTES];

/// The use of a hash. A number never gets a second meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Domain {
    /// Digest of everything that is published of a circuit.
    Circuit = 1,
    /// Commitment to a circuit's seed.
    Seed = 2,
    /// Commitment to λ.
    Lambda = 3,
    /// Start point of commitments to labels of the garbler's input.
    GarblerInput = 4,
    /// Start point of commitments to first shares of labels of the evaluator's input.
    FirstShare = 5,
    /// Start point of commitments to second shares.
    SecondShare = 6,
    /// O, derived from a label of an output.
    Output = 7,
    /// Start point of commitments to O.
    OutputCommitment = 8,
    /// Start point of the masks of R and D under O.
    OutputMask = 9,
    /// Commitment to a half of m.
    Half = 10,
    /// The lock of the seed of m.
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
    /// The hash of a key of the cut that the evaluator compares (cmp).
    CutCompare = 33,
    /// All comparison hashes of the keys that the cloud has.
    CutCompareAll = 34,
    /// The seed of the encryption under a key of the cut (enc).
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
    /// Start point of a copy's blinds.
    BlindStart = 42,
    /// Start point of the masks of a transfer's strings.
    TransferStart = 43,
    /// Start point of a copy's select bits, which its ω determines.
    OrderStart = 44,
    /// Start point of p, which masks positions of transfers.
    PermutationStart = 45,
}

/// The number of bytes before the hashed data.
const HEAD_BYTES: usize = 25;

/// The number of bytes that SHA-256 compresses at a time.
const COMPRESSED_BYTES: usize = 64;

/// The initial state of SHA-256 (FIPS 180-4, section 5.3.3).
const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// The oracle of one batch.
#[derive(Clone, Copy)]
pub(crate) struct Oracle {
    name: [u8; 16],
}

impl Oracle {
    /// Returns the oracle of the batch that the run `tag` prepares.
    pub(crate) fn new(tag: &RunTag) -> Self {
        let hash = Sha256::new_with_prefix(b"tacit batch 2\0").chain_update(tag.as_bytes());
        let mut name = [0; 16];
        name.copy_from_slice(&hash.finalize()[..16]);
        Self { name }
    }

    /// Returns the oracle of the batch with this name.
    pub(crate) fn named(name: [u8; 16]) -> Self {
        Self { name }
    }

    /// Returns the batch's name.
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

    /// Returns the hash of one block.
    pub(crate) fn block(&self, domain: Domain, circuit: u32, position: u32, block: Block) -> Hash {
        const END: usize = HEAD_BYTES + Block::BYTES;
        let mut input = [0; 64];
        input[..HEAD_BYTES].copy_from_slice(&self.head(domain, circuit, position));
        input[HEAD_BYTES..END].copy_from_slice(&block.to_bytes());
        input[END] = 0x80;
        input[56..].copy_from_slice(&(8 * END as u64).to_be_bytes());
        let mut state = INITIAL;
        compress256(&mut state, &[input]);
        let mut hash = [0; HASH_BYTES];
        for (bytes, word) in hash.chunks_exact_mut(4).zip(state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        hash
    }

    /// Returns the first block of the hash of one block.
    pub(crate) fn block_to_block(
        &self,
        domain: Domain,
        circuit: u32,
        position: u32,
        block: Block,
    ) -> Block {
        read_block(&self.block(domain, circuit, position, block))
    }

    /// Returns the hash of several parts, whose lengths the domain fixes.
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

    /// Returns the digest of long data: BLAKE3 under the key H(domain, circuit, 0). It is binding
    /// but not hiding.
    pub(crate) fn digest(&self, domain: Domain, circuit: u32, bytes: &[u8]) -> Hash {
        // The head serves as the key, which keeps `bytes` aligned to chunks.
        blake3::keyed_hash(&self.parts(domain, circuit, 0, &[]), bytes).into()
    }

    /// Returns the shared start of the hashes of a circuit for one use, which must always be hashed
    /// in this way. Callers clone it and append a position (4 bytes) and then the data.
    pub(crate) fn of_circuit(&self, domain: Domain, circuit: u32) -> Sha256 {
        self.start(domain, circuit, 0)
            .chain_update([0; COMPRESSED_BYTES - HEAD_BYTES])
    }

    /// Returns a generator under `key` that starts at a point of this use alone. So a call of the
    /// cipher tests a guess of one key, and not of every key that ever made a block at the same
    /// point.
    pub(crate) fn prg(&self, domain: Domain, circuit: u32, position: u32, key: Block) -> Prg {
        let start = self.parts(domain, circuit, position, &[]);
        let mut seed = Zeroizing::new([0; 32]);
        seed[..16].copy_from_slice(&key.to_bytes());
        seed[16..].copy_from_slice(&start[..16]);
        Prg::from_seed(&seed)
    }

    /// Returns a hash that is fed by the caller.
    pub(crate) fn start(&self, domain: Domain, circuit: u32, position: u32) -> Sha256 {
        Sha256::new_with_prefix(self.head(domain, circuit, position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_a_circuit_share_a_block_of_their_own() {
        let mut input = vec![7; 16];
        input.extend([10, 4, 3, 2, 1]);
        input.resize(64, 0);
        input.extend([9, 0, 0, 0]);
        input.extend(b"a half");
        let circuit = Oracle::named([7; 16]).of_circuit(Domain::Half, 0x0102_0304);
        let found = circuit.chain_update([9, 0, 0, 0]).chain_update(b"a half");
        assert_eq!(found.finalize(), Sha256::digest(&input));
    }

    #[test]
    fn a_block_is_hashed_as_sha_256_says() {
        let oracle = Oracle::named([7; 16]);
        let block = Block::from_u128(0x0123_4567_89ab_cdef);
        let mut input = vec![7; 16];
        input.extend([7, 4, 3, 2, 1, 8, 7, 6, 5]);
        input.extend(block.to_bytes());
        let expected: Hash = Sha256::digest(&input).into();
        let (circuit, position) = (0x0102_0304, 0x0506_0708);
        let found = oracle.block(Domain::Output, circuit, position, block);
        assert_eq!(found, expected);
        let parts: [&[u8]; 1] = [&block.to_bytes()];
        assert_eq!(
            oracle.parts(Domain::Output, circuit, position, &parts),
            expected
        );
    }

    #[test]
    fn a_digest_is_bound_to_every_byte_and_to_batch_use_and_circuit() {
        let digest = |name, domain, circuit, bytes: &[u8]| {
            Oracle::named([name; 16]).digest(domain, circuit, bytes)
        };
        let published: Vec<u8> = (0..3000).map(|i| (i % 251) as u8).collect();
        let base = digest(0, Domain::Circuit, 0, &published);
        let mut key = [0; 25];
        key[16] = Domain::Circuit as u8;
        let expected = blake3::Hasher::new_keyed(&Sha256::digest(key).into())
            .update(&published)
            .finalize();
        assert_eq!(expected, base);
        assert_ne!(base, digest(1, Domain::Circuit, 0, &published));
        assert_ne!(base, digest(0, Domain::Pairs, 0, &published));
        assert_ne!(base, digest(0, Domain::Circuit, 1, &published));
        assert_ne!(base, digest(0, Domain::Circuit, 0, &published[1..]));
        for byte in [0, 1023, 1024, 2047, 2999] {
            let mut changed = published.clone();
            changed[byte] ^= 0x80;
            assert_ne!(base, digest(0, Domain::Circuit, 0, &changed), "byte {byte}");
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
