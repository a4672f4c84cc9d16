//! The parts of one matching or join that runs as several, each with the keys of one part of both
//! tables.
//!
//! The cut of a table is public, and the same at both parties and in every run: the key with the
//! encoding x is in part 1 + ⌊h·S / 2^64⌋ of S, where h are the first 8 bytes, little-endian, of
//! SHA-256("tacit match part 1\0" ‖ S (4) ‖ number of parts of a key (4) ‖ for each part of a key
//! the [code](KeyKind::code) of its kind (1) and its bits (4) ‖ x). Neither a run's tag nor the
//! hash that cuts a table into shards within a run has a share in it.
//!
//! A part of a table of n keys counts as [`Part::filled`] keys, so that its size shows n and S
//! alone. Nobody makes keys to fill it up: a stage has the size of the agreed numbers, whatever the
//! tables hold, and what no key takes in it is random.

use core::fmt;
use core::str::FromStr;

use sha2::{Digest as _, Sha256};
use tacit_circuit::Digest;

use super::KeyKind;
use super::sizes::filled_up;

/// The most parts of a job.
pub const MAX_PARTS: u32 = 1 << 12;

/// One of the parts of a job, which are numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    number: u32,
    of: u32,
}

/// The error that a part does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a part as K/S, with K from 1 to S, and S up to {MAX_PARTS}")]
pub struct WrongPart;

/// The error that more keys of a table are in a part than it has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found} keys of the table are in part {part}, which has room for {room}; this happens by \
     chance to almost no table, so see whether the keys are made up; another number of parts cuts \
     the table otherwise"
)]
pub struct PartTooFull {
    /// The part.
    pub part: Part,
    /// The number of different keys in the part.
    pub found: u64,
    /// The most keys of the part.
    pub room: u64,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Part {
    type Err = WrongPart;

    fn from_str(text: &str) -> Result<Self, WrongPart> {
        let (number, of) = text.split_once('/').ok_or(WrongPart)?;
        let read = |text: &str| text.parse().map_err(|_| WrongPart);
        Self::new(read(number)?, read(of)?)
    }
}

impl Part {
    /// Returns part `number` of `of`.
    ///
    /// # Errors
    ///
    /// `number` is not from 1 to `of`, or `of` is more than [`MAX_PARTS`].
    pub fn new(number: u32, of: u32) -> Result<Self, WrongPart> {
        if of <= MAX_PARTS && (1..=of).contains(&number) {
            Ok(Self { number, of })
        } else {
            Err(WrongPart)
        }
    }

    /// Returns the number of the part, from 1, and the number of parts.
    #[must_use]
    pub fn numbers(self) -> (u32, u32) {
        (self.number, self.of)
    }

    /// Whether there is no other part.
    #[must_use]
    pub fn is_all(self) -> bool {
        self.of == 1
    }

    /// Returns the number of keys that the part counts as, of a table with `keys` keys. It depends
    /// on nothing else, so that it shows nothing else.
    #[must_use]
    pub fn filled(self, keys: u64) -> u64 {
        if self.is_all() {
            return keys;
        }
        filled_up(keys, self.of.into()).min(keys)
    }

    /// Refuses a part with `found` different keys, of a table with `keys` keys, if it has room for
    /// fewer.
    ///
    /// # Errors
    ///
    /// The part is too full.
    pub fn check(self, found: u64, keys: u64) -> Result<(), PartTooFull> {
        let (part, room) = (self, self.filled(keys));
        if found > room {
            return Err(PartTooFull { part, found, room });
        }
        Ok(())
    }

    /// Returns the cut of tables whose keys have parts of these kinds.
    pub fn cut(self, kinds: impl ExactSizeIterator<Item = KeyKind>) -> Cut {
        let mut prefix = Sha256::new_with_prefix(b"tacit match part 1\0");
        prefix.update(self.of.to_le_bytes());
        prefix.update((kinds.len() as u32).to_le_bytes());
        for kind in kinds {
            let (code, bits) = kind.code();
            prefix.update([code]);
            prefix.update(bits.to_le_bytes());
        }
        Cut { part: self, prefix }
    }

    /// Returns the digest on which the parties agree in place of `meaning`, that of the whole job:
    /// SHA-256("tacit match part of job 1\0" ‖ number (4) ‖ S (4) ‖ meaning (32)), or `meaning`
    /// itself without a part or for 1/1.
    #[must_use]
    pub fn agreed(part: Option<Self>, meaning: Digest) -> Digest {
        let Some(part) = part.filter(|part| !part.is_all()) else {
            return meaning;
        };
        let hash = Sha256::new_with_prefix(b"tacit match part of job 1\0")
            .chain_update(part.number.to_le_bytes())
            .chain_update(part.of.to_le_bytes())
            .chain_update(meaning.0);
        Digest(hash.finalize().into())
    }

    /// Iterates over the parts that somebody may have given to the peer by mistake: the whole,
    /// another number, or another S.
    pub fn mistaken(part: Option<Self>) -> impl Iterator<Item = Option<Self>> {
        let others = part.into_iter().flat_map(|own| {
            let numbers = (1..=own.of).map(move |number| (number, own.of));
            let counts = (own.number..=MAX_PARTS).map(move |of| (own.number, of));
            let others = numbers.chain(counts);
            others.map(|(number, of)| Some(Self { number, of }))
        });
        [None].into_iter().chain(others)
    }

    /// Returns a part in words.
    #[must_use]
    pub fn in_words(part: Option<Self>) -> String {
        part.map_or_else(|| "the whole".to_owned(), |part| format!("part {part}"))
    }
}

/// The cut of a table into parts.
#[derive(Clone)]
pub struct Cut {
    part: Part,
    /// The state of the hash before a key's encoding.
    prefix: Sha256,
}

impl Cut {
    /// Returns whether the key with this encoding is in the part. Its time varies with the length
    /// of the encoding alone.
    #[must_use]
    pub fn takes(&self, encoding: &[u8]) -> bool {
        self.number_of(encoding) == self.part.number
    }

    /// Returns the number of the part in which the key with this encoding is.
    #[must_use]
    pub fn number_of(&self, encoding: &[u8]) -> u32 {
        let digest: [u8; 32] = self.prefix.clone().chain_update(encoding).finalize().into();
        let hash = digest
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let place = (u128::from(hash) * u128::from(self.part.of)) >> 64;
        place as u32 + 1
    }
}

impl fmt::Debug for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cut({})", self.part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::{KeyEncoding, KeyNormalization};

    fn part(text: &str) -> Part {
        text.parse().expect("a part")
    }

    #[test]
    fn a_part_is_k_of_s() {
        for text in ["1/1", "3/16", "4096/4096", "2/3"] {
            assert_eq!(part(text).to_string(), text);
        }
        for text in [
            "", "1", "/", "0/1", "2/1", "1/0", "1/4097", "-1/2", "1/2/3", "a/b", "1 /2",
        ] {
            assert_eq!(text.parse::<Part>(), Err(WrongPart), "{text}");
        }
    }

    /// Each key is in one part, the parts have about as many, and keys of other kinds and other S
    /// are cut by another hash.
    #[test]
    fn each_key_is_in_one_part() {
        let text = [KeyKind::Text(KeyNormalization::None)];
        let bytes = [KeyKind::Bytes];
        let keys: Vec<_> = (0..4_000_u32)
            .map(|key| KeyEncoding::default().text(&key.to_le_bytes()))
            .collect();
        for of in [1, 2, 3, 7, 16] {
            let cuts: Vec<_> = (1..=of)
                .map(|number| Part::new(number, of).expect("a part").cut(text.into_iter()))
                .collect();
            let mut found = vec![0; of as usize];
            for key in &keys {
                let in_parts = cuts.iter().zip(&mut found);
                let taken = in_parts.filter(|(cut, _)| cut.takes(key.bytes()));
                assert_eq!(taken.map(|(_, found)| *found += 1).count(), 1);
            }
            let room = part(&format!("1/{of}")).filled(4_000);
            assert!(
                found
                    .iter()
                    .all(|found| *found <= room && found * 2 * u64::from(of) > 4_000)
            );
        }
        let cuts = [
            part("1/2").cut(text.into_iter()),
            part("1/2").cut(bytes.into_iter()),
            part("1/2").cut([text[0], bytes[0]].into_iter()),
        ];
        let taken = cuts.map(|cut| {
            keys.iter()
                .map(|key| cut.takes(key.bytes()))
                .collect::<Vec<_>>()
        });
        assert!(taken[0] != taken[1] && taken[0] != taken[2] && taken[1] != taken[2]);
    }

    /// The cut is part of the format: parts of one job may run with different builds.
    #[test]
    fn the_cut_is_known() {
        let cut = part("2/3").cut([KeyKind::Fixed { bits: 32 }, KeyKind::Bytes].into_iter());
        let key = |n: u32| {
            KeyEncoding::default()
                .fixed(&n.to_le_bytes(), 32)
                .text(b"x")
        };
        let taken: Vec<_> = (0..24).filter(|n| cut.takes(key(*n).bytes())).collect();
        assert_eq!(taken, [3, 6, 8, 9, 15, 18]);
    }

    #[test]
    fn the_size_of_a_part_is_that_of_the_formula() {
        for (keys, of, filled) in [
            (0, 4, 0),
            (1, 4, 1),
            (100, 4, 98),
            // 250 + ⌊√(2·1000·32/4)⌋ + 1 + 32.
            (1_000, 4, 409),
            // ⌈1000/3⌉ + ⌊√⌊2·1000·32/3⌋⌋ + 1 + 32.
            (1_000, 3, 513),
            (1_000, 1, 1_000),
            (10_000_000_000, 4_096, 2_455_770),
        ] {
            let part = Part::new(1, of).expect("a part");
            assert_eq!(part.filled(keys), filled, "{keys} / {of}");
        }
        let part = part("2/4");
        assert_eq!(part.check(409, 1_000), Ok(()));
        let told = part.check(410, 1_000).expect_err("too full").to_string();
        assert!(told.contains("part 2/4, which has room for 409"), "{told}");
    }

    #[test]
    fn parts_agree_on_different_digests() {
        let meaning = Digest([7; 32]);
        let of = |text: &str| Part::agreed(Some(part(text)), meaning);
        assert_eq!(of("1/1"), meaning);
        assert_eq!(Part::agreed(None, meaning), meaning);
        let all = [meaning, of("1/2"), of("2/2"), of("1/3"), of("2/3")];
        for (place, digest) in all.iter().enumerate() {
            assert!(!all[..place].contains(digest));
        }
        for other in [
            None,
            Some(part("16/16")),
            Some(part("3/8")),
            Some(part("3/4096")),
        ] {
            assert!(Part::mistaken(Some(part("3/16"))).any(|mistaken| mistaken == other));
        }
    }
}
