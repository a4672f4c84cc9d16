//! The hashes of a matching, each with its own key, under the tag of the run.
//!
//! | value | definition |
//! |---|---|
//! | T, of a join of a run | SHA-256("tacit match 1\0" ‖ run tag ‖ number of the join (4)) |
//! | T_s, of a shard | SHA-256("tacit match shard 1\0" ‖ T ‖ number of the shard (4)) |
//! | k_i | the first 16 bytes of SHA-256("tacit match key 1\0" ‖ T_s ‖ i (1)) |
//! | E_i(x) | AES under k_i of x, ⊕ x |
//! | digest d of a key | 16 bytes of BLAKE3, keyed with T, of its encoding |
//! | shard | the low bits of E_1(d), whose k_1 is from T in place of T_s |
//! | places | from h_0 h_1 = E_2(d), and h_2, the low half of E_3(d) |
//! | point | z = E_4(d ⊕ bin), or E_4(d) without bins |
//! | row 1 of z, row 2 of z | start from E_5(z), band E_6(z) ‖ E_7(z); E_9, E_10 and E_11 |
//! | element | H(z) = E_8(z) |
//! | pad(v, z), block j | AES_κ(σ(v) ⊕ j) ⊕ σ(v) ⊕ j with κ = E_12(z) |
//!
//! AES is treated as an ideal cipher and BLAKE3 as a random oracle. Each point has its own key for
//! its pad, so many points are no better a target for guesses of Δ than one. Blocks are
//! little-endian integers.

use sha2::{Digest as _, Sha256};
use tacit_kernels::{Aes128, Block, Cpu, WipedVec, encrypt_each};
use zeroize::{Zeroize, Zeroizing};

use super::okvs::Band;

/// The number of points that are hashed at once: their blocks fit in the first-level cache.
pub(crate) const AT_ONCE: usize = 256;

/// T: the tag that the hashes of one join of a run are bound to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MatchTag([u8; 32]);

impl MatchTag {
    /// Returns the tag of join number `join` of the run with the tag `run_tag`.
    #[must_use]
    pub fn new(run_tag: &[u8; 32], join: u32) -> Self {
        let hash = Sha256::new_with_prefix(b"tacit match 1\0")
            .chain_update(run_tag)
            .chain_update(join.to_le_bytes());
        Self(hash.finalize().into())
    }

    /// Returns the digest of a key with this encoding.
    pub(crate) fn digest(&self, encoding: &[u8]) -> Block {
        let hash = blake3::keyed_hash(&self.0, encoding);
        let mut digest = [0; 16];
        digest.copy_from_slice(&hash.as_bytes()[..16]);
        Block::from_bytes(digest)
    }

    /// Returns T_s.
    fn shard(&self, shard: u32) -> Self {
        let hash = Sha256::new_with_prefix(b"tacit match shard 1\0")
            .chain_update(self.0)
            .chain_update(shard.to_le_bytes());
        Self(hash.finalize().into())
    }

    /// Returns E_i.
    fn cipher(&self, cpu: Cpu, number: u8) -> Aes128 {
        let hash = Sha256::new_with_prefix(b"tacit match key 1\0")
            .chain_update(self.0)
            .chain_update([number])
            .finalize();
        let mut key = [0; 16];
        key.copy_from_slice(&hash[..16]);
        Aes128::new(cpu, Block::from_bytes(key))
    }

    /// Returns the shard of each digest. The number of shards is a power of two.
    pub(crate) fn shards_of(&self, digests: &[Block], shards: u32) -> WipedVec<u32> {
        let cipher = self.cipher(Cpu::detect(), 1);
        let (mut of, mut hashes) = (WipedVec::zeros(digests.len()), [Block::ZERO; AT_ONCE]);
        for (of, digests) in of.chunks_mut(AT_ONCE).zip(digests.chunks(AT_ONCE)) {
            let hashes = &mut hashes[..digests.len()];
            hash(&cipher, digests, hashes);
            for (of, hash) in of.iter_mut().zip(hashes) {
                *of = hash.to_u128() as u32 & (shards - 1);
            }
        }
        hashes.zeroize();
        of
    }
}

/// Computes x ↦ AES(x) ⊕ x of each block.
fn hash(cipher: &Aes128, blocks: &[Block], hashes: &mut [Block]) {
    hashes.copy_from_slice(blocks);
    cipher.encrypt_blocks(hashes);
    for (hash, block) in hashes.iter_mut().zip(blocks) {
        *hash ^= *block;
    }
}

/// Calls `each` with parts of `made`, the number of the first value of each, and room for as many
/// hashes.
fn by_parts<T>(made: &mut [T], mut each: impl FnMut(usize, &mut [T], &mut [Block])) {
    let mut room = Zeroizing::new([Block::ZERO; AT_ONCE]);
    for (first, part) in (0..).step_by(AT_ONCE).zip(made.chunks_mut(AT_ONCE)) {
        let room = &mut room[..part.len()];
        each(first, part, room);
    }
}

/// Returns `word` as a fraction of 2^64, times `range`.
fn scaled(word: u64, range: u64) -> u32 {
    ((u128::from(word) * u128::from(range)) >> 64) as u32
}

/// The OKVS that a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// The OKVS of the ask.
    Ask = 5,
    /// The OKVS of the hint.
    Hint = 9,
}

/// The hashes of one shard.
pub(crate) struct ShardHashes {
    cpu: Cpu,
    /// E_2 to E_12.
    ciphers: [Aes128; 11],
}

impl ShardHashes {
    pub(crate) fn new(tag: &MatchTag, shard: u32) -> Self {
        let (cpu, tag) = (Cpu::detect(), tag.shard(shard));
        Self {
            cpu,
            ciphers: core::array::from_fn(|i| tag.cipher(cpu, i as u8 + 2)),
        }
    }

    fn hash(&self, number: usize, blocks: &[Block], hashes: &mut [Block]) {
        hash(&self.ciphers[number - 2], blocks, hashes);
    }

    /// Returns the three places of each digest among `bins` bins, one in each third.
    pub(crate) fn places(&self, digests: &[Block], bins: u64) -> WipedVec<[u32; 3]> {
        let (mut places, third) = (WipedVec::<[u32; 3]>::zeros(digests.len()), bins / 3);
        by_parts(&mut places, |first, places, hashes| {
            let digests = &digests[first..first + places.len()];
            self.hash(2, digests, hashes);
            for (places, hash) in places.iter_mut().zip(&*hashes) {
                let hash = hash.to_u128();
                places[0] = scaled(hash as u64, third);
                places[1] = third as u32 + scaled((hash >> 64) as u64, third);
            }
            self.hash(3, digests, hashes);
            for (places, hash) in places.iter_mut().zip(&*hashes) {
                places[2] = 2 * third as u32 + scaled(hash.to_u128() as u64, third);
            }
        });
        places
    }

    /// Returns the points of `count` digests. Where there are bins, each digest already includes
    /// its bin.
    pub(crate) fn points(&self, count: usize, digest: impl Fn(usize) -> Block) -> WipedVec<Block> {
        let mut points = WipedVec::zeros(count);
        by_parts(&mut points, |first, points, digests| {
            for (into, number) in digests.iter_mut().zip(first..) {
                *into = digest(number);
            }
            self.hash(4, digests, points);
        });
        points
    }

    /// Returns the start of each point's row among `starts` starts.
    pub(crate) fn starts(&self, row: Row, points: &[Block], starts: u64) -> WipedVec<u32> {
        let mut found = WipedVec::zeros(points.len());
        by_parts(&mut found, |first, found, hashes| {
            self.hash(row as usize, &points[first..first + found.len()], hashes);
            for (start, hash) in found.iter_mut().zip(&*hashes) {
                *start = scaled(hash.to_u128() as u64, starts);
            }
        });
        found
    }

    /// Writes the bands of the rows of up to [`AT_ONCE`] points.
    pub(crate) fn bands(&self, row: Row, points: &[Block], bands: &mut [Band]) {
        let mut hashes = Zeroizing::new([[Block::ZERO; AT_ONCE]; 2]);
        for (i, hashes) in hashes.iter_mut().enumerate() {
            self.hash(row as usize + 1 + i, points, &mut hashes[..points.len()]);
        }
        for (i, band) in bands.iter_mut().enumerate() {
            let [low, high] = [hashes[0][i].to_u128(), hashes[1][i].to_u128()];
            *band = [low, low >> 64, high, high >> 64].map(|word| word as u64);
        }
    }

    /// Writes H of each point.
    pub(crate) fn elements(&self, points: &[Block], elements: &mut [Block]) {
        self.hash(8, points, elements);
    }

    /// Writes `blocks` blocks of pad(v, z) for each point z, one point after the other. The blocks
    /// of a point are pseudorandom to anyone who does not know all of v.
    pub(crate) fn pads(&self, values: &[Block], points: &[Block], pads: &mut [Block]) {
        let blocks = pads.len() / points.len().max(1);
        let mut point_keys = WipedVec::zeros(points.len());
        self.hash(12, points, &mut point_keys);
        let mut keys = WipedVec::zeros(pads.len());
        for (i, (value, key)) in values.iter().zip(point_keys.iter()).enumerate() {
            let mut value = value.to_u128();
            let high = value >> 64;
            value = (high ^ (value & u128::from(u64::MAX))) << 64 | high;
            for j in 0..blocks {
                pads[i * blocks + j] = Block::from_u128(value ^ j as u128);
                keys[i * blocks + j] = *key;
            }
            value.zeroize();
        }
        let inputs = WipedVec::of(pads.iter().copied());
        encrypt_each(self.cpu, &keys, pads);
        for (pad, input) in pads.iter_mut().zip(inputs.iter()) {
            *pad ^= *input;
        }
    }
}
