//! Matching the keys of two tables.
//!
//! The protocol of Rindal and Schoppmann, "VOLE-PSI" (2021/266), over the OKVS of Bienstock, Patel,
//! Seo and Yeo (2023/903); semi-honest. Each party learns the agreed number of keys and its result.
//! The *placer* encodes H(z) over the points z of its keys and sends the encoding under one half of
//! a VOLE. After that the placer has F(z) for its own points, and the *programmer* can compute F at
//! any point. To anyone but the programmer, F is random at every other point.
//!
//! | module | contents |
//! |---|---|
//! | `keys` | encodings of keys, each once |
//! | `hashes` | the hashes, under the tag of the run |
//! | `okvs` | encoding and decoding |
//! | `bins` | the placement of keys into bins |
//! | `vole` | the VOLE, from correlated OTs, and its form |
//! | `asking` | the ask, and F |
//! | `plain` | plain intersection |
//! | `join` | a join's bins, up to their test |
//! | `stage` | a party's table, and the bits that a join's function reads |
//! | `telling` | the exchange of sizes before a run is proposed |
//!
//! **Plain intersection.** The points are those of the keys themselves. For each of its keys y the
//! programmer sends a part of F(y) as a tag, fills up with random tags, and sends all of them in
//! random order. The placer finds its own tags among them. If both parties get the result, it
//! returns a bit for each tag.
//!
//! ```text
//! placer                                             programmer
//!   ◀──────── sizes: what is matched, how many keys ─────▶
//!   ◀─────── for each set of OTs: base OTs ────────────────▶
//!   ─────── for each turn: OTs, an ask for each shard ───▶
//!   ◀────── for each shard of the turn: tags ─────────────
//!   ─────── for each shard of the turn: matches ─────────▶     (if both get the result)
//! ```
//!
//! Large tables are cut into shards by a hash of their keys, and the parties work on some shards in
//! each turn ([`Sizes::turn_shards`]), each on a thread.
//!
//! | message | kind | bytes |
//! |---|---|---|
//! | sizes | 116 | what is matched (32), how many sizes follow (1), 1 of plain intersection, 16 at most; each (8) |
//! | trees, of a silent VOLE | 121 | from the programmer: 161,280 once, then 72,960 a batch |
//! | ask | 117 | 16 a column, in frames of 2^20 bytes |
//! | hint, of a join | 118 | [`Sizes::hint_column_bytes`] a column, in frames of 2^20 bytes |
//! | tags | 119 | [`PlainSizes::tag_bytes`] each, in frames of whole tags, up to 2^20 bytes |
//! | matches | 120 | bit i for tag i of the shard, then zeros |
//!
//! The OTs of an ask withstand a malicious placer ([`ASK_SECURITY`]): if it learned Δ, it could
//! compute F everywhere and try keys without end. OTs are treated as ideal, AES as an ideal cipher
//! and BLAKE3 as a random oracle. A run tells the
//! placer which of the agreed number of keys, which it chooses freely, the programmer has: owners
//! decide how many runs they allow. Encoding and decoding branch on the digests of a party's own
//! keys (`vartime` in the names), so *when* its messages leave depends on its keys, under hashes
//! that the peer knows.

mod asking;
mod bins;
mod hashes;
mod join;
mod keys;
mod messages;
mod okvs;
mod plain;
mod stage;
mod telling;
#[cfg(test)]
mod tests;
mod vole;

use tacit_function::join::sizes;

pub use asking::ASK_SECURITY;
pub use hashes::MatchTag;
pub use join::{BinValues, Join, PlacedBins};
pub use keys::{KeyEncoding, Keys, TooManyRows};
pub use plain::Plain;
pub use stage::{JoinedTable, TableRows};
pub use tacit_function::join::{MAX_KEYS, MAX_ROWS_OF_KEY, PlainSizes, Sizes, TooLarge, Widths};
pub use telling::{TableSizes, exchange_open_sizes, exchange_sizes};
pub use vole::VolePlan;
