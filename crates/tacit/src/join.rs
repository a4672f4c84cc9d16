//! Joins: two tables that a function reads pair by pair.
//!
//! A program with a `join` is lowered to a function and a [`JoinPlan`]. A [`Job`](crate::Job) by
//! `gmw` gets the plan and this party's [`JoinedTable`]. It first runs the
//! [stage](tacit_protocol::matching) that makes inputs of the function from the tables, and then
//! runs the function. The messages depend on the plan alone, and on nothing in the tables.
//!
//! | step | what |
//! |---|---|
//! | [`TableRows`] | the rows of a table, each a [`KeyEncoding`] and bits |
//! | [`Session::tell_sizes`](crate::Session::tell_sizes) | for a program that leaves sizes open: each party tells the sizes of its table |
//! | [`by_key`] | the table, in which no key has too many rows |
//! | [`peer_asks`] | at a service: what the run takes, before it is answered |
//! | [`Job::join`](crate::Job::join) | the run |
//!
//! The parties agree on a digest: SHA-256 of "tacit join run 4\0" ‖ the function's digest (32) ‖
//! for left and right: the input's name, most rows (8), most keys (8), the owner (1: 0 garbler, 1
//! evaluator), the number of parts of a key (8), for each part the field's name, its kind (1: 1
//! text, 5 text as an email address in NFC, 3 bytes, 4 a number of bits) and bits (8), the number
//! of fields of a row (8), for each field its name and bits (8) ‖ most rows of a key (8) ‖ the
//! placer (1: 0 left, 1 right) ‖ bits of an element and number of elements of the result by pair
//! (8, 8), zeros without one ‖ the most columns that are packed with silent OT (8). A name is its
//! length in bytes (8) and its bytes. The tables are not ports of the function, so the function's
//! own digest does not say which columns are joined and read. Of a
//! [part](JoinPlan::part), they agree on [`Part::agreed`] of this digest, and of the program's.

use std::num::NonZeroUsize;

use sha2::{Digest as _, Sha256};
use tacit_circuit::{Digest, Type, Value};
use tacit_function::{Function, FunctionInput, Role};
use tacit_protocol::gmw::MadeBits;
use tacit_protocol::matching::{Join, VolePlan};
use tacit_protocol::session::RunTag;
use tacit_protocol::{Error as ProtocolError, Incompatibility};
use zeroize::Zeroizing;

pub use tacit_function::join::{
    Counted, JoinPlan, JoinSide, JoinSpan, JoinTable, KeyKind, KeyNormalization, KeyPart,
    OpenParam, Part, ResultByPair, RowField,
};
pub use tacit_protocol::matching::{JoinedTable, KeyEncoding, TableRows, TooManyRows};

use crate::cost::gmw_memory_bytes;
use crate::driver::{run_script, seed};
use crate::matching::{PeerAsks, silent_vole_bytes};
use crate::{Error, Progress, Session};

/// For each bin, the number of the placer's key in it.
pub(crate) type KeyOfBin = Zeroizing<Vec<Option<u32>>>;

/// A join of a run, with this party's table.
pub(crate) struct JoinOfRun<'f> {
    pub(crate) plan: &'f JoinPlan,
    pub(crate) table: &'f JoinedTable,
}

/// Checks that `role` may give this table.
///
/// # Errors
///
/// The table has more rows or keys than agreed, or its rows have another number of bits.
pub fn check_table(plan: &JoinPlan, role: Role, table: &JoinedTable) -> Result<(), Error> {
    let side = side_of(plan, role);
    let agreed = plan.table(side);
    let found = [
        (table.row_count() as u64, agreed.most_rows, "rows"),
        (
            table.keys().len() as u64,
            agreed.most_keys,
            "different keys",
        ),
    ];
    for (found, most, what) in found {
        if found > most {
            return Err(Error::Input(format!(
                "{} has {found} {what}, and {most} are the most that the parties agreed on",
                agreed.input
            )));
        }
    }
    let bits = if side == plan.placer {
        plan.sizes.placer_bits
    } else {
        plan.sizes.payload_bits
    };
    if table.payload_bits() as u64 == bits {
        Ok(())
    } else {
        Err(Error::ApiMisuse("a table's rows have the bits of the plan"))
    }
}

/// Makes the table of `role` from its rows, on `threads` threads.
///
/// # Errors
///
/// A key has more rows than agreed, or [`check_table`] refuses the table.
pub fn by_key(
    plan: &JoinPlan,
    role: Role,
    rows: TableRows,
    threads: NonZeroUsize,
) -> Result<JoinedTable, Error> {
    let most_rows_of_key = match side_of(plan, role) {
        JoinSide::Left => 1,
        JoinSide::Right => plan.most_rows_of_key,
    };
    let table = JoinedTable::by_key(rows, most_rows_of_key, threads)?;
    check_table(plan, role, &table)?;
    Ok(table)
}

/// Adds a part to a key's encoding. `bytes` are the UTF-8 of a text, the bytes themselves, or a
/// value's bytes, lowest first, with zeros above it.
///
/// # Errors
///
/// A text is empty or not UTF-8, or the number of bytes is not that of the value.
pub fn with_part(key: KeyEncoding, kind: KeyKind, bytes: &[u8]) -> Result<KeyEncoding, Error> {
    let wrong = |what: &str| Error::Input(what.to_owned());
    match kind {
        KeyKind::Text(normalization) => {
            let text = str::from_utf8(bytes).map_err(|_| wrong("a key is no text in UTF-8"))?;
            let text = normalization.apply(text);
            if text.is_empty() {
                return Err(wrong("a key is an empty text"));
            }
            Ok(key.text(text.as_bytes()))
        }
        KeyKind::Bytes => Ok(key.text(bytes)),
        KeyKind::Fixed { bits } if bytes.len() == (bits as usize).div_ceil(8) => {
            Ok(key.fixed(bytes, bits as usize))
        }
        KeyKind::Fixed { .. } => Err(wrong("a part of a key has other bits than its type")),
    }
}

/// Returns the side whose table `role` owns.
pub fn side_of(plan: &JoinPlan, role: Role) -> JoinSide {
    if plan.left.owner == role {
        JoinSide::Left
    } else {
        JoinSide::Right
    }
}

/// The bytes of a stage that do not depend on its sizes: buffers, OTs in batches.
const STAGE_BYTES: u64 = 16 << 20;

/// The bytes of each column of an ask, and of each of this party's keys, of the shards of a turn.
const COLUMN_BYTES: u64 = 96;
const KEY_BYTES: u64 = 256;

/// The bytes of each key of this party's table, besides its encoding and its payload: the
/// encoding's end, its digest, and its row and digest in its shard.
const TABLE_KEY_BYTES: u64 = 72;

/// The bytes of each row of a table whose rows are grouped by key, besides its encoding and bits.
const GROUPED_ROW_BYTES: u64 = 128;

/// The bytes of the placer's row in a bin.
const BIN_ROW_BYTES: u64 = 8;

/// Returns the demands of a run of `function` in which this party is `role`, if the peer asks for
/// it. The parts of the keys of this party's rows have `key_bytes` bytes in all.
///
/// # Errors
///
/// `gmw` cannot run the function.
pub fn peer_asks(
    plan: &JoinPlan,
    (role, key_bytes): (Role, u64),
    function: &Function,
) -> Result<PeerAsks, Error> {
    let sizes = &plan.sizes;
    let function_bytes = gmw_memory_bytes(function)?;
    let (own, peer) = (side_of(plan, role), plan.table(side_of(plan, role.other())));
    if plan.bin_count() == 0 {
        return Ok(PeerAsks {
            keys: peer.most_keys,
            memory_bytes: function_bytes,
        });
    }
    let is_placer = plan.placers().owner == role;
    // An encoding holds at most as many points as it has columns. A key that the peer programs has
    // three points, and is found with a third of the chance for each.
    let of_shard = if is_placer {
        sizes.hint_columns.div_ceil(3)
    } else {
        sizes.ask_columns
    };
    let (own_keys, points, element_bits, payload_bits) = if is_placer {
        let (keys, bits) = (sizes.placer_keys, sizes.placer_element_bits());
        (keys, keys, bits, sizes.placer_bits)
    } else {
        let (keys, bits) = (sizes.programmer_keys, sizes.programmer_element_bits());
        (keys, 3 * keys, bits, sizes.payload_bits)
    };
    let in_blocks = |bits: u64| 16 * bits.div_ceil(128);
    let value_bytes = in_blocks(8 * sizes.hint_column_bytes());
    let (table, bins, turn) = (plan.table(own), plan.bin_count(), sizes.turn_shards());
    let grouped_rows = if own == JoinSide::Right && plan.most_rows_of_key > 1 {
        table.most_rows
    } else {
        0
    };
    let memory_bytes = [
        STAGE_BYTES,
        silent_vole_bytes(sizes.shards * sizes.ask_columns),
        // The shards of a turn: the asks; the pivots of the hints' columns, and the columns, twice
        // if their values are long; the keys, and the values of their points.
        turn * COLUMN_BYTES * sizes.ask_columns,
        turn * (64 + 2 * value_bytes) * sizes.hint_columns,
        turn * (KEY_BYTES * own_keys + value_bytes * points),
        // All shards: the table, whose memory may have grown to twice what it holds; the values of
        // the bins; and their bits, once packed and once as rows.
        table.most_keys * (TABLE_KEY_BYTES + 2 * in_blocks(payload_bits)) + 2 * key_bytes,
        grouped_rows * (GROUPED_ROW_BYTES + 2 * in_blocks(table.row_bits())),
        bins * (value_bytes + BIN_ROW_BYTES),
        2 * (bins * element_bits).div_ceil(8),
    ];
    Ok(PeerAsks {
        keys: sizes.shards * of_shard,
        memory_bytes: memory_bytes
            .into_iter()
            .fold(function_bytes, u64::saturating_add),
    })
}

/// Returns the number of OTs that the stage of a join takes.
pub(crate) fn stage_ots(plan: &JoinPlan) -> u64 {
    match plan.bin_count() {
        0 => 0,
        _ => plan.sizes.shards.saturating_mul(plan.sizes.vole_ots()),
    }
}

/// Computes the digest on which both parties agree.
pub(crate) fn digest(function: &Function, plan: &JoinPlan) -> Digest {
    Part::agreed(plan.part, digest_of_all(function, plan))
}

/// Computes the digest without the part.
fn digest_of_all(function: &Function, plan: &JoinPlan) -> Digest {
    let mut hash = Sha256::new_with_prefix(b"tacit join run 4\0");
    hash.update(function.digest().0);
    let number = |hash: &mut Sha256, number: u64| hash.update(number.to_le_bytes());
    let name = |hash: &mut Sha256, name: &str| {
        number(hash, name.len() as u64);
        hash.update(name);
    };
    for table in [&plan.left, &plan.right] {
        name(&mut hash, &table.input);
        number(&mut hash, table.most_rows);
        number(&mut hash, table.most_keys);
        hash.update([u8::from(table.owner == Role::Evaluator)]);
        number(&mut hash, table.key.len() as u64);
        for part in &table.key {
            let (kind, bits) = part.kind.code();
            name(&mut hash, &part.field);
            hash.update([kind]);
            number(&mut hash, bits.into());
        }
        number(&mut hash, table.row.len() as u64);
        for field in &table.row {
            name(&mut hash, &field.field);
            number(&mut hash, field.bits);
        }
    }
    number(&mut hash, plan.most_rows_of_key);
    hash.update([u8::from(plan.placer == JoinSide::Right)]);
    let by_pair = plan.by_pair.as_ref();
    for of_result in by_pair.map_or([0, 0], |one| [one.element_bits, one.rows]) {
        number(&mut hash, of_result);
    }
    number(&mut hash, VolePlan::MOST_PACKED_COLUMNS);
    Digest(hash.finalize().into())
}

/// Turns an error of an agreement on a part of `meaning` into one that names the peer's part, if
/// only the parts differ.
pub fn naming_parts(error: Error, meaning: Digest, part: Option<Part>) -> Error {
    let Error::Protocol(ProtocolError::PeerIncompatible(Incompatibility::Function {
        theirs, ..
    })) = &error
    else {
        return error;
    };
    let is_theirs = |other: &Option<Part>| Part::agreed(*other, meaning) == *theirs;
    match Part::mistaken(part).find(is_theirs) {
        Some(theirs) => Incompatibility::Part {
            ours: Part::in_words(part),
            theirs: Part::in_words(theirs),
        }
        .into(),
        None => error,
    }
}

impl JoinOfRun<'_> {
    /// Names the peer's part in an error of the agreement, if only the parts differ.
    pub(crate) fn naming_part(&self, error: Error, function: &Function) -> Error {
        naming_parts(error, digest_of_all(function, self.plan), self.plan.part)
    }

    /// Returns the names of the inputs that the stage makes for `role`, in order, or none if there
    /// is no stage.
    pub(crate) fn inputs_of(&self, role: Role) -> Vec<&str> {
        if self.plan.bin_count() == 0 {
            return Vec::new();
        }
        let spans = self.plan.spans.iter();
        if self.places(role) {
            return spans.map(|span| &*span.placer_input).collect();
        }
        spans.map(|span| &*span.programmer_input).collect()
    }

    /// Returns the VOLE of the stage in this session.
    pub(crate) fn vole(&self, session: &Session) -> VolePlan {
        let sizes = &self.plan.sizes;
        let columns = sizes.shards.saturating_mul(sizes.ask_columns);
        VolePlan::of(session.ot_extension(), columns)
    }

    fn places(&self, role: Role) -> bool {
        self.plan.placers().owner == role
    }

    /// Checks that the function has the plan's inputs and that each party has one table.
    pub(crate) fn check(&self, function: &Function, role: Role) -> Result<(), Error> {
        let plan = self.plan;
        check_table(plan, role, self.table)?;
        if plan.left.owner == plan.right.owner {
            return Err(Error::ApiMisuse("the tables of a join are of two parties"));
        }
        if plan.bin_count() == 0 {
            return Ok(());
        }
        let bins: u64 = plan.spans.iter().map(|span| span.bins).sum();
        let has_inputs = |role: Role| {
            let element_bits = if self.places(role) {
                plan.sizes.placer_element_bits()
            } else {
                plan.sizes.programmer_element_bits()
            };
            let names = self.inputs_of(role);
            let own = function.inputs().iter().filter(|one| one.owner == role);
            let mut own = own.skip_while(|one| Some(&&*one.port.name) != names.first());
            // The stage makes the bits of all spans in one piece.
            names.iter().zip(&plan.spans).all(|(name, span)| {
                let bits = span.bins * element_bits;
                let is_right = |one: &FunctionInput| {
                    one.port.name == *name && one.port.ty.width() as u64 == bits
                };
                own.next().is_some_and(is_right)
            })
        };
        if bins == plan.bin_count() && [role, role.other()].into_iter().all(has_inputs) {
            return Ok(());
        }
        Err(Error::ApiMisuse(
            "a function of a join has the inputs of its plan",
        ))
    }

    /// Runs the stage. Returns the bits of this party's inputs and, at the placer, the key in each
    /// bin.
    pub(crate) fn run(
        &self,
        session: &mut Session,
        (role, tag): (Role, RunTag),
        watch: &mut dyn FnMut(Progress),
    ) -> Result<(MadeBits, Option<KeyOfBin>), Error> {
        let join = Join::new(self.plan.sizes, tag, session.ot_settings());
        let (table, seed) = (self.table, seed());
        let channel = session.channel();
        if self.places(role) {
            let (bits, keys) = run_script(channel, watch, async |io| {
                join.placer_input(io, table, &seed).await
            })?;
            return Ok((bits, Some(keys)));
        }
        let bits = run_script(channel, watch, async |io| {
            join.programmer_input(io, table, &seed).await
        })?;
        Ok((bits, None))
    }

    /// Reorders the result by bins into the order of the placer's rows. Returns `None` if it has no
    /// elements.
    pub(crate) fn by_row(
        by_pair: &ResultByPair,
        keys: Option<&KeyOfBin>,
        by_bin: Option<&Value>,
    ) -> Result<Option<Value>, Error> {
        let bits = by_pair.element_bits as usize;
        if by_pair.rows == 0 || bits == 0 {
            return Ok(None);
        }
        let mut ordered = Zeroizing::new(vec![false; by_pair.rows as usize * bits]);
        let element = by_bin.and_then(|value| value.elements().first().map(|one| one.ty().clone()));
        if let (Some(value), Some(keys)) = (by_bin, keys) {
            let by_bin = value.to_bits();
            for (key, pair) in keys.iter().zip(by_bin.chunks_exact(bits)) {
                let row = key.map(|key| key as usize);
                if let Some(row) = row.filter(|row| *row < by_pair.rows as usize) {
                    ordered[row * bits..][..bits].copy_from_slice(pair);
                }
            }
        }
        let element = element.unwrap_or_else(|| Type::bits(bits));
        let ty = element.array(by_pair.rows as usize);
        Ok(Some(Value::from_bits(&ty, &ordered)?))
    }
}
