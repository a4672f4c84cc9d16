//! The rows of one [part](Part) of a table that is joined: the others are dropped as they are read,
//! so that a part takes the memory of its own rows.

use tacit_function::join::{Cut, KeyEncoding, Part};

use super::joined::{RowForm, RowValues};
use super::rows::{ChosenRows, check_number_of_keys};
use super::{BorderError, Signature};
use crate::program::{InputPort, Join, TypeId};

/// The form of the rows of a table that is joined, and the cut that keeps those of a part.
#[derive(Clone)]
pub(super) struct RowsForm {
    form: RowForm,
    cut: Option<Cut>,
    /// Memory for the key of a row.
    key: KeyEncoding,
}

impl RowsForm {
    /// Whether only one part of the table is read.
    pub(super) fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Appends a row, and returns whether it is kept. A row without a key is of every part.
    pub(super) fn end_row(&mut self, bits: &[bool], rows: &mut RowValues) -> bool {
        self.form.pack(bits, &mut rows.packed);
        rows.count += 1;
        let Some(cut) = &self.cut else {
            return true;
        };
        let has_key = self.form.encode_key(rows, rows.count - 1, &mut self.key);
        let is_kept = !has_key || cut.takes(self.key.bytes());
        if !is_kept {
            self.form.remove_last(rows);
            rows.elsewhere += 1;
        }
        is_kept
    }
}

impl Signature {
    /// Returns this signature, which reads one part of the tables that are joined, or all of them.
    ///
    /// # Errors
    ///
    /// The run joins no tables, or has a result by pair: its elements are in the order of the rows
    /// of a part, which are not those of the table.
    pub fn with_part(mut self, part: Option<Part>) -> Result<Self, BorderError> {
        self.part = part.filter(|part| !part.is_all());
        let refused = match (self.part, &self.entry().join) {
            (None, _) => return Ok(self),
            (Some(_), None) => "the run joins no tables, so it has no parts".to_owned(),
            (Some(_), Some(join)) => match join.by_pair {
                None => return Ok(self),
                Some(number) => format!(
                    "the result {} has an element for each row of a table, and of a part it would \
                     not show which rows these are; let the program compute sums or counts, or run \
                     it on the whole table",
                    self.entry().outputs[number].name
                ),
            },
        };
        Err(BorderError::Request(refused))
    }

    /// Returns the join of a table, and its side.
    pub(super) fn join_of(&self, input: &InputPort) -> Option<(&Join, usize)> {
        let entry = self.entry();
        let join = entry.join.as_ref()?;
        let is_it = |side: &usize| entry.inputs[join.tables[*side]].name == input.name;
        Some((join, (0..2).find(is_it)?))
    }

    /// Returns the form of the rows of a table that is joined.
    pub(super) fn rows_form(&self, input: &InputPort, row: TypeId) -> RowsForm {
        let key = self.join_of(input).map(|(join, side)| &join.key[side][..]);
        let key = key.unwrap_or_default();
        let kinds = key.iter().map(|part| part.kind);
        RowsForm {
            form: RowForm::of(&self.program.types, row, key),
            cut: self.part.map(|part| part.cut(kinds)),
            key: KeyEncoding::default(),
        }
    }

    /// Checks the number of different keys of a table, of which the parties agreed on `agreed` at
    /// most. Of a part it is the number to which the part is filled up, so that whether it fits
    /// depends on the size of the table alone. Returns the number of rows with a key in all parts.
    pub(super) fn check_keys(
        &self,
        (table, agreed): (&str, u64),
        chosen: &ChosenRows,
        elsewhere: usize,
    ) -> Result<Option<usize>, String> {
        let Some(part) = self.part else {
            check_number_of_keys(table, chosen.keys as u64, agreed)?;
            return Ok(None);
        };
        let all = chosen.taken.len() + chosen.repeated.len() + elsewhere;
        let fits = part.check(chosen.keys as u64, all as u64);
        fits.map_err(|error| format!("{table}: {error}"))?;
        let filled = part.filled(all as u64);
        if filled > agreed {
            return Err(format!(
                "{table}: a part of {all} rows with a key counts as {filled} keys, where {agreed} \
                 were agreed on; both parties give a larger number, or more parts"
            ));
        }
        Ok(Some(all))
    }
}
