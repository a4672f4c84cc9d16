//! The check that both parties have the same values of a lot, and the coin that shifts its layers.

use std::mem;

use tacit_function::Role;
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::super::bucket::CheckedLot;
use super::super::caught::Caught;
use super::super::epoch::Epoch;
use super::super::leaky::{CHUNK, turned_digest};
use super::super::messages;
use super::super::oracle::{DIGEST_BYTES, Digest, Domain, compare};
use super::{Unchecked, ands_at_once, pieces, send_blocks, written};
use crate::Error;
use crate::bits::{bytes_for, check_bits, xor_into};
use crate::io::Io;
use crate::message::{Kind, array};

impl Unchecked {
    /// Compares a lot, for which the garbler has computed its blocks and the evaluator has sent its
    /// own. Returns the coin that both parties have then tossed.
    pub(super) async fn compare(
        self,
        io: &mut Io<'_>,
        epoch: &mut Epoch,
        rng: &mut Prg,
    ) -> Result<(CheckedLot, Digest), Error> {
        match epoch.role() {
            Role::Garbler => self.compare_as_garbler(io, epoch, rng).await,
            Role::Evaluator => self.compare_as_evaluator(io, epoch, rng).await,
        }
    }

    async fn compare_as_garbler(
        mut self,
        io: &mut Io<'_>,
        epoch: &mut Epoch,
        rng: &mut Prg,
    ) -> Result<(CheckedLot, Digest), Error> {
        let leaky_ands = self.size.leaky_ands();
        let mut turned = mem::take(&mut self.turned);
        for several in pieces(0..leaky_ands, ands_at_once(epoch)) {
            let bits = &turned[several.start / 8..bytes_for(several.end)];
            let blocks = written(epoch, &self.blocks[several], bits);
            let mut blocks = blocks.into_iter();
            blocks.try_for_each(|ands| send_blocks(io, messages::garblers_blocks, ands))?;
        }
        let others = io.receive(messages::leaky_bits(self.size)).await?;
        check_bits(Kind::LeakyBits, others, leaky_ands)?;
        xor_into(&mut turned, others);
        let digest = self.digest(epoch, &turned);
        let payload = io.receive(messages::EQUALITY_COMMITMENT).await?;
        let commitment: Digest = array(Kind::EqualityCommitment, payload)?;
        #[cfg(test)]
        let digest = cheats::answer(&mut self, epoch, &turned, &commitment).unwrap_or(digest);

        let own = random(rng);
        write(io, [&digest, &commit_to_coin(epoch, self.number, &own)]);
        io.send(messages::EQUALITY_DIGEST)?;
        let [salt, others] = digests(io.receive(messages::EQUALITY_OPENING).await?)?;
        let expected = commit_to_equality(epoch, self.number, &digest, &salt);
        compare(&expected, &commitment, Caught::Commitment)?;
        let lot = self.checked(epoch, turned);
        write(io, [&*own]);
        io.send(messages::COIN_OPENING)?;
        // Send the coin now: the evaluator works on it before the openings come.
        io.breathe().await?;
        Ok((lot, coin(&own, &others)))
    }

    async fn compare_as_evaluator(
        mut self,
        io: &mut Io<'_>,
        epoch: &mut Epoch,
        rng: &mut Prg,
    ) -> Result<(CheckedLot, Digest), Error> {
        let leaky_ands = self.size.leaky_ands();
        let mut others = Vec::with_capacity(bytes_for(leaky_ands));
        for several in pieces(0..leaky_ands, ands_at_once(epoch)) {
            self.received.clear();
            for ands in pieces(several.clone(), CHUNK) {
                let message = messages::garblers_blocks(ands.len());
                let payload = self.received.receive(io, message).await?;
                let bits = &payload[ands.len() * Block::BYTES..];
                check_bits(Kind::LeakyAnds, bits, ands.len())?;
                others.extend_from_slice(bits);
            }
            self.add_blocks(epoch, several);
        }
        let mut turned = mem::take(&mut self.turned);
        write(io, [&turned]);
        io.send(messages::leaky_bits(self.size))?;
        // Send the bits now: the garbler works on them before the digest comes.
        io.breathe().await?;
        xor_into(&mut turned, &others);
        let (digest, salt) = (self.digest(epoch, &turned), random(rng));
        write(
            io,
            [&commit_to_equality(epoch, self.number, &digest, &salt)],
        );
        io.send(messages::EQUALITY_COMMITMENT)?;

        let [found, commitment] = digests(io.receive(messages::EQUALITY_DIGEST).await?)?;
        compare(&digest, &found, Caught::LeakyAnds)?;
        let lot = self.checked(epoch, turned);
        let own = random(rng);
        write(io, [&*salt, &*own]);
        io.send(messages::EQUALITY_OPENING)?;
        let payload = io.receive(messages::COIN_OPENING).await?;
        let garblers = array(Kind::CoinOpening, payload)?;
        let expected = commit_to_coin(epoch, lot.number, &garblers);
        compare(&expected, &commitment, Caught::Coin)?;
        Ok((lot, coin(&garblers, &own)))
    }

    /// Returns the digest of the values that must be equal, with outputs flipped by the bits
    /// `turned`.
    fn digest(&self, epoch: &Epoch, turned: &[u8]) -> Digest {
        let key = epoch.oracle_key(Domain::Equality, None, self.number);
        turned_digest(epoch, &self.sums, turned, &key)
    }
}

/// Writes the next message.
fn write<const N: usize>(io: &mut Io<'_>, parts: [&[u8]; N]) {
    io.message().clear();
    for part in parts {
        io.message().extend_from_slice(part);
    }
}

/// Returns both digests of a message.
fn digests(payload: &[u8]) -> Result<[Digest; 2], Error> {
    let (digests, _) = payload.as_chunks::<DIGEST_BYTES>();
    let both = digests.try_into();
    both.map_err(|_| Error::ApiMisuse("a message of two digests"))
}

/// Returns 32 random bytes.
fn random(rng: &mut Prg) -> Zeroizing<Digest> {
    let mut bytes = Zeroizing::new(Digest::default());
    rng.fill_bytes(&mut *bytes);
    bytes
}

/// Returns the evaluator's commitment to the values that must be equal, whose hash is `digest`.
///
/// **Why the salt**: a garbler that cheated knows the evaluator's values except for the evaluator's
/// bits. Without the salt it could try all candidates against the commitment, answer with the right
/// one and never be caught.
fn commit_to_equality(epoch: &Epoch, lot: u64, digest: &Digest, salt: &Digest) -> Digest {
    let mut oracle = epoch.oracle(Domain::EqualityCommitment, None, lot);
    oracle.add_bytes(digest);
    oracle.add_bytes(salt);
    oracle.finish()
}

/// Returns the garbler's commitment to its share of the coin. It hides the share, which is random.
fn commit_to_coin(epoch: &Epoch, lot: u64, share: &Digest) -> Digest {
    let mut oracle = epoch.oracle(Domain::CoinCommitment, None, lot);
    oracle.add_bytes(share);
    oracle.finish()
}

/// Returns the coin of both shares.
fn coin(garblers: &Digest, evaluators: &Digest) -> Digest {
    std::array::from_fn(|i| garblers[i] ^ evaluators[i])
}

#[cfg(test)]
mod cheats;
