//! The rows of a table that is joined. Their number varies, and their texts have any length.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;

use num_traits::ToPrimitive;
use serde_json::Value as Json;
use tacit_circuit::{CircuitError, HostValue, WipedTexts, reserve_wiping};
use tacit_function::join::{
    Counted, JoinSide, JoinTable, KeyEncoding, KeyKind, OpenParam, TableRows,
};
use tacit_kernels::map_parts;
use zeroize::Zeroizing;

use super::read::Reader;
use super::strict::Rows;
use super::{BorderError, PortValue, Signature};
use crate::program::{InputPort, Join, JoinKeyField, TypeId, TypeKind, TypeTable, Value};
use crate::source::Symbol;

/// The number of rows that a thread encodes at a time.
const SPAN_ROWS: usize = if cfg!(test) { 1 << 4 } else { 1 << 13 };

/// The values of the rows of a table.
#[derive(Clone, Default)]
pub(super) struct RowValues {
    /// The number of rows.
    pub(super) count: usize,
    /// The number of different keys, once the rows are chosen.
    pub(super) keys: Option<usize>,
    /// The number of rows that are in other [parts](tacit_function::join::Part) of the table.
    pub(super) elsewhere: usize,
    /// The number of rows with a key in all parts, once those of a part are chosen.
    pub(super) of_all_parts: Option<usize>,
    /// The fields without a fixed length, row by row.
    pub(super) cells: WipedTexts,
    /// The other fields, row by row, each in whole bytes with its lowest bit first and zeros above.
    pub(super) packed: Zeroizing<Vec<u8>>,
}

impl RowValues {
    /// Appends rows of the same form.
    pub(super) fn append(&mut self, others: &Self) {
        self.count += others.count;
        self.elsewhere += others.elsewhere;
        self.cells.append(&others.cells);
        reserve_wiping(&mut self.packed, others.packed.len());
        self.packed.extend_from_slice(&others.packed);
    }
}

/// The place of a field among the values of a row.
#[derive(Clone)]
pub(super) enum FieldPlace {
    /// Its number among the fields without a fixed length.
    Cell(usize),
    /// Its bytes among those of a row, and its bits.
    Packed(Range<usize>, usize),
}

/// The places of the fields of a row, and which of them are its key.
#[derive(Clone)]
pub(super) struct RowForm {
    fields: Vec<FieldPlace>,
    /// The parts of the key.
    key: Vec<(KeyKind, FieldPlace)>,
    /// The number of fields without a fixed length, and the bytes of the others.
    cells: usize,
    bytes: usize,
}

impl RowForm {
    pub(super) fn of(types: &TypeTable, row: TypeId, key: &[JoinKeyField]) -> Self {
        let (mut cells, mut bytes) = (0, 0);
        let places = fields(types, row).iter().map(|(_, ty)| {
            if types.is_open(*ty) {
                cells += 1;
                return FieldPlace::Cell(cells - 1);
            }
            let (begin, bits) = (bytes, types.width(*ty) as usize);
            bytes += bits.div_ceil(8);
            FieldPlace::Packed(begin..bytes, bits)
        });
        let fields: Vec<_> = places.collect();
        let key = key.iter();
        let key = key.map(|part| (part.kind, fields[part.field as usize].clone()));
        Self {
            key: key.collect(),
            fields,
            cells,
            bytes,
        }
    }

    /// Returns the bits of each field of a fixed length, in order.
    fn packed(&self) -> impl Iterator<Item = (&Range<usize>, usize)> {
        self.fields.iter().filter_map(|field| match field {
            FieldPlace::Cell(_) => None,
            FieldPlace::Packed(bytes, bits) => Some((bytes, *bits)),
        })
    }

    /// Appends the bits of a row, which has all fields of a fixed length one after another.
    pub(super) fn pack(&self, mut bits: &[bool], into: &mut Zeroizing<Vec<u8>>) {
        reserve_wiping(into, self.bytes);
        for (_, width) in self.packed() {
            let (field, behind) = bits.split_at(width);
            bits = behind;
            for bits in field.chunks(8) {
                let mut byte = 0;
                for (place, bit) in bits.iter().enumerate() {
                    byte |= u8::from(*bit) << place;
                }
                into.push(byte);
            }
        }
        assert!(bits.is_empty(), "a reader gives each bit of a row once");
    }

    /// Encodes the key of a row. Returns `false` if a part of it is an empty text or one of white
    /// space. Different keys of one type have different encodings.
    pub(super) fn encode_key(&self, rows: &RowValues, row: usize, key: &mut KeyEncoding) -> bool {
        key.clear();
        let mut is_whole = true;
        for (kind, place) in &self.key {
            let bytes = match place {
                FieldPlace::Cell(cell) => rows.cells.get(row * self.cells + cell),
                FieldPlace::Packed(bytes, _) => &self.row(rows, row)[bytes.clone()],
            };
            match (kind, str::from_utf8(bytes)) {
                (KeyKind::Text(how), Ok(text)) => is_whole &= key.push_normalized(*how, text),
                (KeyKind::Text(_), Err(_)) => is_whole = false,
                (KeyKind::Bytes, _) => key.push_text(bytes),
                (KeyKind::Fixed { bits }, _) => key.push_fixed(bytes, *bits as usize),
            }
        }
        is_whole
    }

    /// Removes the last row.
    pub(super) fn remove_last(&self, rows: &mut RowValues) {
        rows.count -= 1;
        rows.cells.truncate(rows.count * self.cells);
        rows.packed.truncate(rows.count * self.bytes);
    }

    fn row<'v>(&self, rows: &'v RowValues, row: usize) -> &'v [u8] {
        &rows.packed[row * self.bytes..][..self.bytes]
    }
}

/// The rows of a table that is joined, in the form that the stage takes. Secret.
pub struct JoinedRows<'v> {
    values: &'v RowValues,
    form: RowForm,
    /// The fields that the function reads, in the order of
    /// [`JoinTable::row`](tacit_function::join::JoinTable::row): their bytes and bits.
    read: Vec<(Range<usize>, usize)>,
}

impl core::fmt::Debug for JoinedRows<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "JoinedRows({})", self.len())
    }
}

impl JoinedRows<'_> {
    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.count
    }

    /// Returns whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Encodes the key of a row, as [`RowForm::encode_key`] does.
    pub(super) fn encode_key(&self, row: usize, key: &mut KeyEncoding) -> bool {
        self.form.encode_key(self.values, row, key)
    }

    /// Returns the number of bytes of the encodings of all keys.
    #[must_use]
    pub fn key_bytes(&self) -> u64 {
        let mut key = KeyEncoding::default();
        let bytes = (0..self.len()).map(|row| {
            self.encode_key(row, &mut key);
            key.bytes().len() as u64
        });
        bytes.sum()
    }

    fn packed(&self, row: usize) -> &[u8] {
        self.form.row(self.values, row)
    }

    /// Encodes all rows on `threads` threads.
    ///
    /// # Errors
    ///
    /// A row has no key.
    pub fn encode(&self, threads: NonZeroUsize) -> Result<TableRows, BorderError> {
        let row_bits = self.read.iter().map(|(_, bits)| bits).sum();
        let mut table = TableRows::new(row_bits);
        let encoded = |rows: Range<usize>| {
            let (mut table, mut key) = (TableRows::new(row_bits), KeyEncoding::default());
            for row in rows {
                let packed = self.packed(row);
                let read = self.read.iter();
                if !self.encode_key(row, &mut key) {
                    return Err(row);
                }
                table.push_packed(
                    &key,
                    read.map(|(bytes, bits)| (&packed[bytes.clone()], *bits)),
                );
            }
            Ok(table)
        };
        let at_once = SPAN_ROWS.saturating_mul(threads.get());
        for first in (0..self.len()).step_by(at_once) {
            let count = at_once.min(self.len() - first);
            let spans = map_parts(count, threads, SPAN_ROWS, |rows| {
                encoded(first + rows.start..first + rows.end)
            });
            for span in spans {
                let span = span.map_err(|row| {
                    BorderError::Request(format!("row {row} of a table has no key"))
                })?;
                if table.is_empty() {
                    // Most rows are as long as the first ones. None gets much longer than it is.
                    let most = self.values.cells.byte_count() / self.len()
                        + self.form.bytes
                        + 8 * self.form.key.len();
                    let mean = span.key_bytes() / span.len().max(1);
                    table.reserve(self.len(), mean.min(most) + 1);
                }
                table.append(&span);
            }
        }
        Ok(table)
    }
}

/// Returns the fields of a struct.
fn fields(types: &TypeTable, row: TypeId) -> &[(Symbol, TypeId)] {
    match types.kind(row) {
        TypeKind::Struct(number) => &types.struct_type(*number).fields,
        _ => &[],
    }
}

impl Signature {
    /// Returns the type of a row and the greatest number of rows, if an input is a table that is
    /// joined.
    pub(super) fn joined_table(&self, input: &InputPort) -> Option<(TypeId, usize)> {
        let entry = self.entry();
        let number = self
            .inputs()
            .iter()
            .position(|other| other.name == input.name)?;
        match *self.program.types.kind(input.ty) {
            TypeKind::Table(row, most) if entry.is_joined(number) => Some((row, most as usize)),
            _ => None,
        }
    }

    /// Returns whether an input is a table that is joined.
    #[must_use]
    pub fn is_joined(&self, input: &InputPort) -> bool {
        self.joined_table(input).is_some()
    }

    /// Reads the rows that another language gives for a table that is joined.
    pub(super) fn read_joined<'t>(
        &'t self,
        reader: &mut Reader<'t>,
        input: &InputPort,
        (row, most): (TypeId, usize),
        given: HostValue<'_>,
    ) -> Result<Rows, CircuitError> {
        match given.length() {
            Some(length) if length <= most || reader.is_cut() => {
                let mut rows = Rows::default();
                let fields = fields(&self.program.types, row);
                for (place, item) in (0..).zip(given.items()) {
                    let is_null = |(name, _): &&(Symbol, TypeId)| {
                        let value = item.field(name.as_str());
                        matches!(value, Some(HostValue::Json(Json::Null)))
                    };
                    if let Some((name, _)) = fields.iter().find(is_null) {
                        rows.missing.push((place, format!("{:?}", name.as_str())));
                        continue;
                    }
                    reader.element(place, row, item)?;
                    if reader.end_row() {
                        rows.places.push(place);
                    }
                }
                if rows.places.len() > most {
                    return reader.given(input.ty, given).map(|()| rows);
                }
                Ok(rows)
            }
            _ => reader.given(input.ty, given).map(|()| Rows::default()),
        }
    }

    /// Returns the params whose values the owners of joined tables announce, in the order of their
    /// declarations.
    #[must_use]
    pub fn open_params(&self) -> Vec<OpenParam> {
        let params = self.params().iter();
        let open = params.filter_map(|param| {
            let open = param.open.as_ref()?;
            let input = self
                .inputs()
                .iter()
                .find(|input| input.name == open.input)?;
            Some(OpenParam {
                name: param.name.to_string(),
                minimum: param.minimum.to_u64()?,
                maximum: param.maximum.to_u64()?,
                input: open.input.to_string(),
                owner: self.role(input.owner?),
                counted: open.counted,
            })
        });
        open.collect()
    }

    /// Returns the count that an open param takes from the value of its input: the number of rows,
    /// or of distinct keys. Of a part of a table, it counts the rows with a key in all parts, which
    /// is the same number for each part.
    #[must_use]
    pub fn counted(&self, open: &OpenParam, value: &PortValue) -> u64 {
        let rows = value.rows.as_ref();
        let counted = rows.map_or(0, |rows| match (rows.of_all_parts, open.counted) {
            (Some(all), _) => all,
            (None, Counted::Rows) => rows.count,
            (None, Counted::Keys) => rows.keys.unwrap_or(rows.count),
        });
        counted as u64
    }

    /// Returns the values of the open params that are not given, taken from the tables.
    #[must_use]
    pub fn sizes_of_tables(&self, values: &BTreeMap<String, PortValue>) -> Vec<(String, u64)> {
        let open = self.open_params().into_iter();
        let sizes = open.filter_map(|open| {
            let size = self.counted(&open, values.get(&open.input)?);
            Some((open.name, size.max(open.minimum)))
        });
        sizes.collect()
    }

    /// Returns the form of the rows of one of the two joined tables, which
    /// [`joined_rows`](Self::joined_rows) have. It may depend on sizes, by the fields that are
    /// read. Returns `None` if there is no join.
    pub fn join_table(&self, side: JoinSide) -> Option<JoinTable> {
        let join = self.entry().join.as_ref()?;
        Some(join.table(&self.program, side))
    }

    /// Returns the rows of one of the two joined tables, in the form that the stage takes. Returns
    /// `None` if there is no join or the value belongs to another input.
    pub fn joined_rows<'v>(&self, side: JoinSide, value: &'v PortValue) -> Option<JoinedRows<'v>> {
        self.rows_of(Join::place(side), value)
    }

    pub(super) fn rows_of<'v>(&self, side: usize, value: &'v PortValue) -> Option<JoinedRows<'v>> {
        let join = self.entry().join.as_ref()?;
        let (row, _) = self.joined_table(&self.inputs()[join.tables[side]])?;
        let form = RowForm::of(&self.program.types, row, &join.key[side]);
        // Fields of a pair are numbered without those that have no fixed length.
        let kept: Vec<_> = form.packed().collect();
        let read = join.read[side].iter();
        let read = read.map(|field| {
            let (bytes, bits) = kept[*field as usize];
            (bytes.clone(), bits)
        });
        Some(JoinedRows {
            values: value.rows.as_ref()?,
            read: read.collect(),
            form,
        })
    }

    /// Returns the existing rows of a joined table as a value of the interpreter.
    pub(super) fn table_value(&self, row: TypeId, value: &PortValue) -> Value {
        let types = &self.program.types;
        let none = RowValues::default();
        let rows = value.rows.as_ref().unwrap_or(&none);
        let form = RowForm::of(types, row, &[]);
        let items = (0..rows.count).map(|number| {
            let packed = form.row(rows, number);
            let fields = fields(types, row).iter().zip(&form.fields);
            let parts = fields.map(|((_, ty), place)| match place {
                FieldPlace::Cell(cell) => {
                    let bytes = rows.cells.get(number * form.cells + cell).iter();
                    let bytes = bytes.map(|byte| Value::Integer((*byte).into()));
                    Value::List(bytes.collect())
                }
                FieldPlace::Packed(bytes, bits) => {
                    let bytes = &packed[bytes.clone()];
                    let bits = (0..*bits).map(|place| bytes[place / 8] >> (place % 8) & 1 == 1);
                    types.value_of_bits(*ty, &Zeroizing::new(bits.collect::<Vec<bool>>()))
                }
            });
            Value::List(parts.collect())
        });
        let items: Vec<Value> = items.collect();
        Value::List(vec![Value::Integer(items.len().into()), Value::List(items)])
    }

    /// Keeps only these rows of a joined table.
    pub(super) fn keep_rows(&self, row: TypeId, rows: &mut RowValues, kept: &[usize]) {
        let form = RowForm::of(&self.program.types, row, &[]);
        let mut packed = Zeroizing::new(Vec::with_capacity(form.bytes * kept.len()));
        let mut cells = WipedTexts::default();
        for number in kept {
            packed.extend_from_slice(form.row(rows, *number));
            let own = number * form.cells..(number + 1) * form.cells;
            own.for_each(|cell| cells.push(rows.cells.get(cell)));
        }
        (rows.count, rows.cells, rows.packed) = (kept.len(), cells, packed);
    }
}
