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

/// Sends the peer the number of this party's keys, and returns the peer's number, which is in
/// `heard` if the peer has told it already. `meaning` is the digest of the matching, on which both
/// parties must agree.
///
/// # Errors
///
/// The peer matches something else, sends a number that is too large, or the wire fails.
pub async fn exchange_sizes(
    io: &mut Io<'_>,
    meaning: Digest,
    keys: u64,
    heard: Option<TableSizes>,
) -> Result<u64, Error> {
    match exchange(io, meaning, &[keys], (&[0..=MAX_KEYS], heard)).await? {
        Ok(theirs) => Ok(theirs[0]),
        Err(theirs) => Err(Incompatibility::other_match(meaning, theirs).into()),
    }
}

/// Sends the peer the sizes of this party's tables that its program leaves open, and returns the
/// peer's, which must lie in the ranges `theirs` and are in `heard` if the peer has told them
/// already. `meaning` is the digest of the program with all such sizes open, on which both parties
/// must agree.
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
    heard: Option<TableSizes>,
) -> Result<Vec<u64>, Error> {
    if own.len() > MAX_SIZES || theirs.len() > MAX_SIZES {
        return Err(Error::ApiMisuse("a party tells at most 16 sizes"));
    }
    match exchange(io, meaning, own, (theirs, heard)).await? {
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
    (theirs, heard): (&[RangeInclusive<u64>], Option<TableSizes>),
) -> Result<Result<Vec<u64>, Digest>, Error> {
    let message = io.message();
    message.clear();
    message.extend(meaning.0);
    message.push(own.len() as u8);
    message.extend(own.iter().flat_map(|size| size.to_le_bytes()));
    io.send(SIZES)?;
    let told = match heard {
        Some(told) => told,
        None => TableSizes::hear(io).await?,
    };
    if told.meaning != meaning {
        return Ok(Err(told.meaning));
    }
    told.within(theirs)?;
    Ok(Ok(told.sizes))
}

/// The sizes of its tables that a peer has told. Nothing of them is checked yet but their form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSizes {
    meaning: Digest,
    /// At most 16.
    sizes: Vec<u64>,
}

impl TableSizes {
    /// Receives the peer's sizes.
    ///
    /// # Errors
    ///
    /// The peer sends something else, or the wire fails.
    pub async fn hear(io: &mut Io<'_>) -> Result<Self, Error> {
        Self::parse(io.receive(SIZES).await?)
    }

    fn parse(told: &[u8]) -> Result<Self, Error> {
        let kind = Kind::MatchSizes;
        let wrong_length = |sizes: usize| Misbehaviour::WrongLength {
            kind,
            expected: (HEAD_BYTES + 8 * sizes) as u64,
            found: told.len() as u64,
        };
        let Some((meaning, [count, sizes @ ..])) = told.split_first_chunk::<32>() else {
            return Err(wrong_length(0).into());
        };
        let (sizes, rest) = sizes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(wrong_length(usize::from(*count)).into());
        }
        if sizes.len() != usize::from(*count) {
            let field = "number of sizes";
            return Err(Misbehaviour::InvalidField { kind, field }.into());
        }
        let sizes = sizes.iter().map(|bytes| u64::from_le_bytes(*bytes));
        Ok(Self {
            meaning: Digest(*meaning),
            sizes: sizes.collect(),
        })
    }

    /// Returns the digest of the peer's matching, or of its program with all sizes open.
    #[must_use]
    pub fn meaning(&self) -> Digest {
        self.meaning
    }

    /// Returns the sizes, of which there must be one in each of these ranges.
    ///
    /// # Errors
    ///
    /// The peer has told more or fewer sizes, or one outside its range.
    pub fn within(&self, ranges: &[RangeInclusive<u64>]) -> Result<&[u64], Error> {
        let invalid = |field| Misbehaviour::InvalidField {
            kind: Kind::MatchSizes,
            field,
        };
        if self.sizes.len() != ranges.len() {
            return Err(invalid("number of sizes").into());
        }
        let mut sizes = self.sizes.iter().zip(ranges);
        match sizes.all(|(size, range)| range.contains(size)) {
            true => Ok(&self.sizes),
            false => Err(invalid("size").into()),
        }
    }
}
