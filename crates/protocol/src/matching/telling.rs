//! The exchange of sizes before a run is proposed.

use std::ops::RangeInclusive;

use tacit_circuit::Digest;

use super::messages::{MAX_SIZES, SIZES};
use super::sizes::MAX_KEYS;
use crate::io::Io;
use crate::message::Kind;
use crate::{Error, Incompatibility, Misbehaviour};

/// The bytes before the sizes: the digest of the matching, and the number of sizes.
const HEAD_BYTES: usize = 32 + 1;

/// Sends the peer the number of this party's keys, and returns the peer's number. `meaning` is the
/// digest of the matching, on which both parties must agree.
///
/// # Errors
///
/// The peer matches something else, sends a number that is too large, or the wire fails.
pub async fn exchange_sizes(io: &mut Io<'_>, meaning: Digest, keys: u64) -> Result<u64, Error> {
    match exchange(io, meaning, &[keys], &[0..=MAX_KEYS]).await? {
        Ok(theirs) => Ok(theirs[0]),
        Err(theirs) => Err(Incompatibility::other_match(meaning, theirs).into()),
    }
}

/// Sends the peer the sizes of this party's tables that its program leaves open, and returns the
/// peer's, which must lie in the ranges `theirs`. `meaning` is the digest of the program with all
/// such sizes open, on which both parties must agree.
///
/// # Errors
///
/// The peer runs another program, sends more or fewer sizes than there are ranges, or one outside
/// its range, or the wire fails. A party sends at most 16 sizes.
pub async fn exchange_open_sizes(
    io: &mut Io<'_>,
    meaning: Digest,
    own: &[u64],
    theirs: &[RangeInclusive<u64>],
) -> Result<Vec<u64>, Error> {
    if own.len() > MAX_SIZES || theirs.len() > MAX_SIZES {
        return Err(Error::ApiMisuse("a party tells at most 16 sizes"));
    }
    match exchange(io, meaning, own, theirs).await? {
        Ok(theirs) => Ok(theirs),
        Err(theirs) => Err(Incompatibility::Function {
            ours: meaning,
            theirs,
        }
        .into()),
    }
}

/// Returns the peer's sizes, or the digest of the peer's matching if it is not `meaning`.
async fn exchange(
    io: &mut Io<'_>,
    meaning: Digest,
    own: &[u64],
    theirs: &[RangeInclusive<u64>],
) -> Result<Result<Vec<u64>, Digest>, Error> {
    let message = io.message();
    message.clear();
    message.extend(meaning.0);
    message.push(own.len() as u8);
    message.extend(own.iter().flat_map(|size| size.to_le_bytes()));
    io.send(SIZES)?;
    let kind = Kind::MatchSizes;
    let invalid = |field| Misbehaviour::InvalidField { kind, field };
    let told = io.receive(SIZES).await?;
    let found = told.len() as u64;
    let wrong_length = |sizes: usize| Misbehaviour::WrongLength {
        kind,
        expected: (HEAD_BYTES + 8 * sizes) as u64,
        found,
    };
    let Some((their_meaning, [count, sizes @ ..])) = told.split_first_chunk::<32>() else {
        return Err(wrong_length(0).into());
    };
    if *their_meaning != meaning.0 {
        return Ok(Err(Digest(*their_meaning)));
    }
    if usize::from(*count) != theirs.len() {
        return Err(invalid("number of sizes").into());
    }
    if sizes.len() != 8 * theirs.len() {
        return Err(wrong_length(theirs.len()).into());
    }
    let (sizes, _) = sizes.as_chunks::<8>();
    let sizes: Vec<u64> = sizes
        .iter()
        .map(|bytes| u64::from_le_bytes(*bytes))
        .collect();
    if sizes
        .iter()
        .zip(theirs)
        .any(|(size, range)| !range.contains(size))
    {
        return Err(invalid("size").into());
    }
    Ok(Ok(sizes))
}
