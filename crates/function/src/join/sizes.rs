//! The sizes of everything in a matching, computed from the agreed numbers.
//!
//! Both parties must get the same numbers on every machine, so everything is in integers. For each
//! power of two, the tables hold a value that keeps the probability of a failure below its bound:
//!
//! | failure | bound |
//! |---|---|
//! | an OKVS of n rows on `starts` places, with 256 random bits at a random start each | 2^-52 |
//! | placing n keys into bins, by Hall's theorem | 2^-42, and 2^-52 from 2^14 keys on |
//! | two tags that are equal by chance | 2^-42 |
//! | a shard that is too full, by Bernstein | 2^-42 |
//!
//! A join has up to 512 shards. All of its OKVSs together stay below 2^-42 and all its bins below
//! 2^-43, so it fails with less than 2^-40.
//!
//! # The bins
//!
//! Each key has a random place in each third of the bins, of M bins each. If the keys have no
//! placement, some set S of keys has a *deficiency* |S| − |N(S)| above zero, where N(S) are the
//! bins of its places. Of the sets with the greatest deficiency d, take one that contains no other
//! of them. Then
//!
//! 1. each bin of N(S) is a place of two keys of S: without the only one, both sets lose one;
//! 2. every other key has a place outside N(S): with it, the deficiency would be d + 1;
//! 3. no two other keys have only one place outside N(S), and this place in common: the same.
//!
//! The sum over all sizes s of S and wᵢ = fᵢM of N(S) in each third bounds the failure. A term has
//! the choices of S and N(S); for the first property, s! x^-s (e^x − 1 − x)^wᵢ / M^s in each third,
//! for any x > 0; and for the other two r! z^-r e^(pz) Πᵢ (1 + qᵢz)^(M − wᵢ) for any z > 0, where
//! r = n − s, p is the probability of two or three places outside N(S), and qᵢ that of a given bin
//! outside, in third i, as the only place outside. `tests/bins.rs` computes it.

/// The number of columns that the band of a row spans.
pub const BAND: u64 = 256;

/// The most keys of a table.
pub const MAX_KEYS: u64 = 1 << 26;

/// The most rows of a key.
pub const MAX_ROWS_OF_KEY: u64 = 64;

/// The number of starts of a band per 1,024 rows, for up to 2^8, 2^9, … 2^24 rows.
const STARTS: [u64; 17] = [
    241, 643, 856, 990, 1061, 1097, 1116, 1126, 1132, 1136, 1139, 1141, 1143, 1144, 1146, 1148,
    1149,
];
const FIRST_STARTS: usize = 8;

/// The least number of bins in a third, for up to 2^0, 2^1, … 2^12 keys.
const THIRD: [u64; 13] = [1, 1, 51, 82, 117, 163, 224, 306, 418, 570, 776, 1056, 1600];

/// Most bytes of the hints of a turn, which both parties hold in memory. With 2^20 keys, each key
/// may then bring some 1,200 bytes.
pub const MAX_HINT_BYTES: u64 = 1 << 32;

/// The logarithm of the most rows of a table that is not cut into shards if the other table is as
/// long. A shard is the work of a thread: most of its steps wait for the one before.
const SHARD_BITS: u32 = 17;

/// The logarithm of the most rows of a shard.
const MOST_SHARD_BITS: u32 = 20;

/// The logarithm of the rows of the shorter table for which a shard is worth it, unless the longer
/// one needs more shards: each shard of a shorter one would be filled up by more than 7 %.
const FEWEST_SHARD_BITS: u32 = 15;

/// The least rows to which a shard is filled up. With fewer, the bins of 64 shards, which a much
/// longer table may need, would fail too often.
const LEAST_SHARD: u64 = 1 << 14;

/// The most shards of a turn, on which a party works at a time.
const MOST_TURN_SHARDS: u64 = 8;

/// The most keys of the longer table in a turn: those of eight shards of 2^17 keys, filled up.
const MOST_TURN_KEYS: u64 = 9 << 17;

/// The bits of the failure bound, for each of tags, bins and shards.
const FAILURE_BITS: u32 = 42;

/// The bits of plain intersection's tags, in addition to those of the number of pairs.
const PLAIN_TAG_BITS: u32 = 40;

/// Returns the least j with n ≤ 2^j.
pub const fn octave(n: u64) -> u32 {
    if n <= 1 {
        return 0;
    }
    u64::BITS - (n - 1).leading_zeros()
}

/// Returns the columns of an OKVS of `rows` rows, of which there are at most 2^24.
pub const fn okvs_columns(rows: u64) -> u64 {
    if rows == 0 {
        return 0;
    }
    let octave = octave(rows) as usize;
    let starts = if octave < FIRST_STARTS {
        STARTS[0]
    } else {
        STARTS[octave - FIRST_STARTS]
    };
    (rows * starts).div_ceil(1024) + BAND - 1
}

/// Returns the number of bins for `keys` keys, in three thirds.
pub const fn bins(keys: u64) -> u64 {
    if keys == 0 {
        return 0;
    }
    let octave = octave(keys) as usize;
    let least = if octave < THIRD.len() {
        THIRD[octave]
    } else {
        0
    };
    // The second one is less from 4,107 keys on.
    let (few, many) = ((7 * keys).div_ceil(16), (2 * keys).div_ceil(5) + 154);
    let third = if few < many { few } else { many };
    3 * if third < least { least } else { third }
}

/// Returns the number of shards of two tables, a power of two.
pub const fn shards(placer_keys: u64, programmer_keys: u64) -> u64 {
    let (less, more) = if placer_keys < programmer_keys {
        (octave(placer_keys), octave(programmer_keys))
    } else {
        (octave(programmer_keys), octave(placer_keys))
    };
    let wanted = more.saturating_sub(SHARD_BITS);
    let sensible = less.saturating_sub(FEWEST_SHARD_BITS);
    let needed = more.saturating_sub(MOST_SHARD_BITS);
    let chosen = if wanted < sensible { wanted } else { sensible };
    1 << if chosen < needed { needed } else { chosen }
}

/// Returns the number of shards of a turn, of `shards` shards with this many keys each.
const fn turn_shards(shards: u64, placer_keys: u64, programmer_keys: u64) -> u64 {
    let keys = if placer_keys < programmer_keys {
        programmer_keys
    } else {
        placer_keys
    };
    let mut of_turn = if shards < MOST_TURN_SHARDS {
        shards
    } else {
        MOST_TURN_SHARDS
    };
    while of_turn > 1 && of_turn * keys > MOST_TURN_KEYS {
        of_turn -= 1;
    }
    of_turn
}

/// Returns the number of keys to which each of `shards` shards of a table of `keys` keys is filled
/// up.
pub const fn shard_keys(keys: u64, shards: u64) -> u64 {
    if shards == 1 || keys == 0 {
        return keys;
    }
    let filled = filled_up(keys, shards);
    if filled < LEAST_SHARD {
        LEAST_SHARD
    } else {
        filled
    }
}

/// Returns a number of keys that some part exceeds with probability 2^-43 at most, if a random hash
/// cuts `keys` keys into `parts` parts: by Bernstein, each does with e^-(30 + log2(parts)).
pub(super) const fn filled_up(keys: u64, parts: u64) -> u64 {
    let slack = 30 + octave(parts) as u64;
    keys.div_ceil(parts) + (2 * keys * slack / parts).isqrt() + 1 + slack
}

/// The widths of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    /// The bits of the placer's rows.
    pub placer_bits: u32,
    /// The bits of the programmer's rows.
    pub programmer_bits: u32,
}

/// The sizes of a join's stage. Unless stated otherwise, they are those of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The number of shards.
    pub shards: u64,
    /// The number of the placer's keys to which a shard is filled up.
    pub placer_keys: u64,
    /// The number of the programmer's keys to which a shard is filled up.
    pub programmer_keys: u64,
    /// The number of bins.
    pub bins: u64,
    /// The number of columns of the ask, a block each.
    pub ask_columns: u64,
    /// The number of columns of the hint.
    pub hint_columns: u64,
    /// The bits of a tag.
    pub tag_bits: u32,
    /// The bits of the programmer's part of a bin: the number of rows, if there may be more than
    /// one, and the rows.
    pub payload_bits: u64,
    /// The bits of the placer's row.
    pub placer_bits: u64,
}

/// The reason why there are no sizes for these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TooLarge {
    /// A table has too many keys.
    #[error("the table has {found} keys; at most {MAX_KEYS} are allowed")]
    Keys {
        /// The number of keys.
        found: u64,
    },
    /// The most rows of a key are zero, or too many.
    #[error("a key may have up to {found} rows; this must be from 1 to {MAX_ROWS_OF_KEY}")]
    RowsOfKey {
        /// The most rows of a key.
        found: u64,
    },
    /// The programmer's rows take too many bytes to send.
    #[error("rows take {found} bytes to send at a time; at most {MAX_HINT_BYTES} are allowed")]
    Hint {
        /// The number of bytes of the hints of a turn.
        found: u64,
    },
}

fn check_keys(keys: [u64; 2]) -> Result<(), TooLarge> {
    match keys.into_iter().find(|keys| *keys > MAX_KEYS) {
        Some(found) => Err(TooLarge::Keys { found }),
        None => Ok(()),
    }
}

impl Sizes {
    /// Computes the sizes of a join of at most this many keys on each side, with at most `upto`
    /// rows of the programmer for each key.
    ///
    /// # Errors
    ///
    /// There are more than [`MAX_KEYS`] keys, `upto` is not from 1 to [`MAX_ROWS_OF_KEY`], or the
    /// hints of a turn have more than [`MAX_HINT_BYTES`].
    pub fn of(
        placer_keys: u64,
        programmer_keys: u64,
        upto: u64,
        widths: Widths,
    ) -> Result<Self, TooLarge> {
        check_keys([placer_keys, programmer_keys])?;
        if !(1..=MAX_ROWS_OF_KEY).contains(&upto) {
            return Err(TooLarge::RowsOfKey { found: upto });
        }
        let shards = shards(placer_keys, programmer_keys);
        let (n1, n2) = (
            shard_keys(placer_keys, shards),
            shard_keys(programmer_keys, shards),
        );
        let count_bits = if upto > 1 {
            64 - upto.leading_zeros()
        } else {
            0
        };
        let bins = bins(n1);
        let sizes = Self {
            shards,
            placer_keys: n1,
            programmer_keys: n2,
            bins,
            ask_columns: okvs_columns(n1),
            hint_columns: okvs_columns(3 * n2),
            tag_bits: FAILURE_BITS + octave(bins * shards).max(1),
            payload_bits: u64::from(count_bits) + upto * u64::from(widths.programmer_bits),
            placer_bits: widths.placer_bits.into(),
        };
        match sizes.turn_shards().saturating_mul(sizes.hint_bytes()) {
            found if found > MAX_HINT_BYTES => Err(TooLarge::Hint { found }),
            _ => Ok(sizes),
        }
    }

    /// Returns the number of bins of all shards together, or 0 if a party has no keys.
    pub const fn all_bins(&self) -> u64 {
        if self.placer_keys == 0 || self.programmer_keys == 0 {
            return 0;
        }
        self.shards * self.bins
    }

    /// Returns the number of shards of a turn, on which a party works at a time.
    pub const fn turn_shards(&self) -> u64 {
        turn_shards(self.shards, self.placer_keys, self.programmer_keys)
    }

    /// Returns the bits of the placer's part of a bin.
    pub const fn placer_element_bits(&self) -> u64 {
        self.tag_bits as u64 + self.placer_bits + self.payload_bits
    }

    /// Returns the bits of the programmer's part of a bin.
    pub const fn programmer_element_bits(&self) -> u64 {
        self.tag_bits as u64 + self.payload_bits
    }

    /// Returns the bits of a pair: whether the bin has one, the placer's row and the payload.
    pub const fn pair_bits(&self) -> u64 {
        1 + self.placer_bits + self.payload_bits
    }

    /// Returns the number of correlated OTs of a shard's VOLE. Over many columns silent OT takes
    /// fewer.
    pub const fn vole_ots(&self) -> u64 {
        128 * self.ask_columns
    }

    /// Returns the bytes of a shard's ask.
    pub const fn ask_bytes(&self) -> u64 {
        16 * self.ask_columns
    }

    /// Returns the bytes of a column of the hint.
    pub const fn hint_column_bytes(&self) -> u64 {
        (self.tag_bits as u64 + self.payload_bits).div_ceil(8)
    }

    /// Returns the bytes of a shard's hint.
    pub const fn hint_bytes(&self) -> u64 {
        self.hint_columns * self.hint_column_bytes()
    }

    /// Returns the price of a shard in bits. Both parties choose the placer by it.
    pub const fn price_bits(&self) -> u64 {
        let ands = self.tag_bits as u64 - 1;
        let opened = 4 * ands + 2 + self.placer_bits + 2 * self.payload_bits;
        8 * (self.ask_bytes() + self.hint_bytes())
            + self.bins * opened
            + 3 * self.bins * (2 * ands + 2) / 4
    }
}

/// The sizes of a plain intersection. Unless stated otherwise, they are those of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainSizes {
    /// The number of shards.
    pub shards: u64,
    /// The number of the placer's keys to which a shard is filled up.
    pub placer_keys: u64,
    /// The number of the programmer's keys to which a shard is filled up.
    pub programmer_keys: u64,
    /// The number of columns of the ask, a block each.
    pub ask_columns: u64,
    /// The bytes of a tag. It has 40 bits more than the number of pairs, rounded up to whole bytes.
    pub tag_bytes: u32,
}

impl PlainSizes {
    /// Computes the sizes of an intersection of at most this many keys on each side.
    ///
    /// # Errors
    ///
    /// There are more than [`MAX_KEYS`] keys.
    pub fn of(placer_keys: u64, programmer_keys: u64) -> Result<Self, TooLarge> {
        check_keys([placer_keys, programmer_keys])?;
        let shards = shards(placer_keys, programmer_keys);
        let placers = shard_keys(placer_keys, shards);
        let programmers = shard_keys(programmer_keys, shards);
        // The placer compares a key with all tags of its shard, including random ones.
        let pairs = placer_keys * programmer_keys.max(programmers);
        Ok(Self {
            shards,
            placer_keys: placers,
            programmer_keys: programmers,
            ask_columns: okvs_columns(placers),
            tag_bytes: (PLAIN_TAG_BITS + octave(pairs)).div_ceil(8),
        })
    }

    /// Returns the number of shards of a turn, on which a party works at a time.
    pub const fn turn_shards(&self) -> u64 {
        turn_shards(self.shards, self.placer_keys, self.programmer_keys)
    }

    /// Returns the bytes of a shard's ask.
    pub const fn ask_bytes(&self) -> u64 {
        16 * self.ask_columns
    }

    /// Returns the bytes of a shard's tags.
    pub const fn tags_bytes(&self) -> u64 {
        self.tag_bytes as u64 * self.programmer_keys
    }
}
