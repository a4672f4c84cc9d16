//! The rows of a table that a join or a matching takes: rows that have all values, and at most as
//! many rows of a key as the join pairs. The command, the service and Python choose them here.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash};
use std::num::NonZeroUsize;

use tacit_function::join::KeyEncoding;
use tacit_kernels::KeyHashes;

use super::strict::Rows;
use super::{BorderError, JoinedRows, PortValue, Signature};
use crate::program::{InputPort, TypeId};

/// The greatest number of rows that a message names.
pub(super) const MAX_NAMED: usize = 5;

/// The treatment of rows that a join or a matching does not take. By default they are errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowRules {
    /// Whether rows without a key, or without another value that they need, are left out.
    pub drop_missing: bool,
    /// Whether only the first rows of a key are kept, as many as a key may have.
    pub keep_first: bool,
}

/// The number of rows that were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Rows that lack a value.
    pub missing: usize,
    /// Rows whose key has enough rows before them.
    pub repeated: usize,
}

/// The rows of a table that cannot stay in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnfitRows {
    /// Rows that lack a value.
    #[error("{table} has no valid value in {rows}")]
    Missing {
        /// The name of the table.
        table: String,
        /// The first of these rows, and the number of the others.
        rows: String,
    },
    /// Rows whose key has enough rows before them.
    #[error("{table} has a key in {}: {rows}", several(*.most))]
    Repeated {
        /// The name of the table.
        table: String,
        /// The first of these rows, and the number of the others.
        rows: String,
        /// The most rows of a key.
        most: usize,
    },
}

fn several(most: usize) -> String {
    match most {
        1 => "several rows".to_owned(),
        _ => format!("more than {most} rows"),
    }
}

/// The rows of a table, by their numbers from 0.
#[derive(Clone, Debug, Default)]
pub struct ChosenRows {
    /// The rows that are taken.
    pub taken: Vec<usize>,
    /// The rows that lack a value.
    pub missing: Vec<usize>,
    /// The rows whose key has enough rows before them, each with the first of these.
    pub repeated: Vec<(usize, usize)>,
    /// The number of different keys.
    pub keys: usize,
}

impl ChosenRows {
    /// Chooses from `count` rows, at most `most` rows of each key. `key` returns the key of a row,
    /// by its number from 0: a row without one lacks a value. Works on `threads` threads.
    pub fn of<K: Eq + Hash>(
        (count, threads): (usize, NonZeroUsize),
        most: usize,
        key: impl Fn(usize) -> Option<K> + Sync,
    ) -> Self {
        let hashes = KeyHashes::of(count, threads, |hasher, first, hashes| {
            for (row, hash) in (first..).zip(hashes) {
                *hash = key(row).map_or(KeyHashes::NO_KEY, |key| hasher.hash_one(key));
            }
        });
        Self::by_hashes(&hashes, count, most, key)
    }

    /// Chooses like [`of`](Self::of), with the hashes of the rows' keys. Only a key that may occur
    /// twice is made.
    fn by_hashes<K: Eq + Hash>(
        hashes: &KeyHashes,
        count: usize,
        most: usize,
        key: impl Fn(usize) -> Option<K>,
    ) -> Self {
        let mut chosen = Self::default();
        if hashes.are_different() && most > 0 && !hashes.may_lack() {
            chosen.taken = (0..count).collect();
            chosen.keys = count;
            return chosen;
        }
        // For each key that may have several rows, its first row and its number of rows.
        let mut found: HashMap<K, (usize, usize)> = HashMap::new();
        for row in 0..count {
            if most > 0 && !hashes.may_repeat(row) {
                chosen.keys += 1;
                chosen.taken.push(row);
                continue;
            }
            let Some(key) = key(row) else {
                chosen.missing.push(row);
                continue;
            };
            let (first, count) = found.entry(key).or_insert((row, 0));
            *count += 1;
            if *count > most {
                chosen.repeated.push((row, *first));
            } else {
                chosen.taken.push(row);
            }
        }
        chosen.keys += found.len();
        chosen
    }

    /// Returns the number of rows that are not taken.
    #[must_use]
    pub fn left_out(&self) -> LeftOut {
        LeftOut {
            missing: self.missing.len(),
            repeated: self.repeated.len(),
        }
    }

    /// Refuses rows that `rules` do not leave out. `name` names a row.
    ///
    /// # Errors
    ///
    /// The rows.
    pub fn check(
        &self,
        rules: RowRules,
        (table, most): (&str, usize),
        name: impl Fn(usize) -> String,
    ) -> Result<(), UnfitRows> {
        let table = table.to_owned();
        if !self.missing.is_empty() && !rules.drop_missing {
            let rows = listed(self.missing.iter(), |row| name(*row));
            return Err(UnfitRows::Missing { table, rows });
        }
        if !self.repeated.is_empty() && !rules.keep_first {
            let rows = listed(self.repeated.iter(), |(row, first)| {
                format!("{} has the key of {}", name(*row), name(*first))
            });
            return Err(UnfitRows::Repeated { table, rows, most });
        }
        Ok(())
    }
}

/// Refuses more keys than the parties agreed on.
pub(crate) fn check_number_of_keys(table: &str, found: u64, agreed: u64) -> Result<(), String> {
    if found > agreed {
        return Err(format!(
            "{table} has {found} keys, where {agreed} were agreed on"
        ));
    }
    Ok(())
}

/// Lists the first of `things` in a sentence, with the number of the others.
fn listed<T>(things: impl ExactSizeIterator<Item = T>, text: impl Fn(T) -> String) -> String {
    let more = things.len().saturating_sub(MAX_NAMED);
    let first: Vec<_> = things.take(MAX_NAMED).map(text).collect();
    match more {
        0 => first.join(", "),
        more => format!("{}, and {more} more", first.join(", ")),
    }
}

impl Signature {
    /// Returns this signature, which reads tables that are joined by `rules`.
    #[must_use]
    pub fn with_row_rules(mut self, rules: RowRules) -> Self {
        self.rules = rules;
        self
    }

    /// Returns this signature, which reads large tables on `threads` threads. By default it reads
    /// them on one.
    #[must_use]
    pub fn on_threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Removes the rows of a joined table that the rules leave out. `rows` has the places of its
    /// rows, and those of the rows that lack a value and were not read.
    pub(super) fn choose_rows(
        &self,
        (input, row): (&InputPort, TypeId),
        value: &mut PortValue,
        rows: &Rows,
    ) -> Result<(), BorderError> {
        let Some((join, side)) = self.join_of(input) else {
            return Ok(());
        };
        let most = join.most_rows_of(side);
        let mut chosen = match self.rows_of(side, value) {
            Some(rows) => chosen(&rows, most, self.threads),
            None => return Ok(()),
        };
        let table = rows.file.as_deref().unwrap_or(input.name.as_str());
        // Rows that were not read are numbered behind the others.
        let (read, unread) = (rows.places.len(), rows.missing.len());
        chosen.missing.extend(read..read + unread);
        let place = |row: usize| match row.checked_sub(read) {
            None => rows.places[row],
            Some(row) => rows.missing[row].0,
        };
        chosen.missing.sort_by_key(|row| place(*row));
        chosen.check(self.rules, (table, most), |row| {
            let field = row.checked_sub(read).map(|row| &rows.missing[row].1);
            let field = field.map_or(String::new(), |field| format!(" of {field}"));
            rows.name(place(row)) + &field
        })?;
        let elsewhere = value.rows.as_ref().map_or(0, |rows| rows.elsewhere);
        let all = self.check_keys((table, join.keys[side]), &chosen, elsewhere);
        let all = all.map_err(BorderError::Request)?;
        value.left_out = chosen.left_out();
        if let Some(rows) = &mut value.rows {
            rows.of_all_parts = all;
            rows.keys = Some(chosen.keys);
            if chosen.taken.len() < read {
                self.keep_rows(row, rows, &chosen.taken);
            }
        }
        Ok(())
    }
}

/// Chooses from rows that are encoded on `threads` threads.
fn chosen(rows: &JoinedRows<'_>, most: usize, threads: NonZeroUsize) -> ChosenRows {
    let hashes = KeyHashes::of(rows.len(), threads, |hasher, first, hashes| {
        let mut key = KeyEncoding::default();
        for (row, hash) in (first..).zip(hashes) {
            *hash = if rows.encode_key(row, &mut key) {
                hasher.hash_one(key.bytes())
            } else {
                KeyHashes::NO_KEY
            };
        }
    });
    ChosenRows::by_hashes(&hashes, rows.len(), most, |row| {
        let mut key = KeyEncoding::default();
        rows.encode_key(row, &mut key).then_some(key)
    })
}
