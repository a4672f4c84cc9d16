//! The rows of a table that is joined. Their number varies, and their texts have any length.

use std::collections::{BTreeMap, HashSet};

use num_traits::ToPrimitive;
use serde_json::Value as Json;
use tacit_circuit::{CircuitError, HostValue};
use tacit_function::join::{JoinSide, JoinTable, KeyKind, OpenParam};
use zeroize::Zeroizing;

use super::read::Reader;
use super::strict::Rows;
use super::{PortValue, Signature, WipedTexts};
use crate::program::{InputPort, Join, TypeId, TypeKind, TypeTable, Value};
use crate::source::Symbol;

/// The parts of a table other than the bits of its rows.
#[derive(Clone, Default)]
pub(super) struct TableRows {
    /// The number of rows.
    pub(super) count: usize,
    /// The fields without a fixed length, row by row.
    pub(super) cells: WipedTexts,
}

/// A row of a table that is joined, in the form that the stage takes. Secret.
pub struct JoinedRow {
    /// The parts of the row's key: the encoding of each and its bytes. The bytes of a text are
    /// normalised and have no length prefix.
    pub key: Vec<(KeyKind, Zeroizing<Vec<u8>>)>,
    /// The bits of the fields that the function reads, in the order of
    /// [`JoinTable::row`](tacit_function::join::JoinTable::row).
    pub bits: Zeroizing<Vec<bool>>,
}

impl core::fmt::Debug for JoinedRow {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("JoinedRow").finish_non_exhaustive()
    }
}

impl JoinedRow {
    /// Returns the encoding of its key, or nothing if a part of it is an empty text or one of white
    /// space. Different keys of one type have different encodings.
    pub(super) fn encoded(&self) -> Option<Zeroizing<Vec<u8>>> {
        let is_empty = |(kind, part): &(KeyKind, Zeroizing<Vec<u8>>)| {
            let text = str::from_utf8(part).unwrap_or_default();
            matches!(kind, KeyKind::Text(_)) && text.trim().is_empty()
        };
        if self.key.iter().any(is_empty) {
            return None;
        }
        let most = self.key.iter().map(|(_, part)| 8 + part.len()).sum();
        let mut key = Zeroizing::new(Vec::with_capacity(most));
        for (kind, part) in &self.key {
            if !matches!(kind, KeyKind::Fixed { .. }) {
                key.extend((part.len() as u64).to_le_bytes());
            }
            key.extend_from_slice(part);
        }
        Some(key)
    }
}

/// Packs bits into bytes, the lowest bit of each first.
fn bytes_of(bits: &[bool]) -> Zeroizing<Vec<u8>> {
    let byte = |bits: &[bool]| {
        let bits = bits.iter().enumerate();
        bits.fold(0, |sum, (place, bit)| sum | u8::from(*bit) << place)
    };
    Zeroizing::new(bits.chunks(8).map(byte).collect())
}

/// Returns the bytes of a text, normalised as its kind says, or nothing if this is no text.
fn normalised(kind: KeyKind, bytes: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    match kind {
        KeyKind::Text(how) => {
            let mut text = how.apply(str::from_utf8(bytes).ok()?);
            Some(Zeroizing::new(std::mem::take(&mut *text).into_bytes()))
        }
        _ => None,
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
            Some(length) if length <= most => {
                reader.make_room(row, length);
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
                    rows.places.push(place);
                }
                reader.count(rows.places.len());
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
    /// or of distinct keys.
    #[must_use]
    pub fn counted(&self, open: &OpenParam, value: &PortValue) -> u64 {
        use tacit_function::join::Counted;
        let rows = value.rows.as_ref().map_or(0, |rows| rows.count) as u64;
        match open.counted {
            Counted::Rows => rows,
            Counted::Keys => self.keys(&open.input, value).unwrap_or(rows),
        }
    }

    fn keys(&self, input: &str, value: &PortValue) -> Option<u64> {
        let entry = self.entry();
        let join = entry.join.as_ref()?;
        let is_it = |side: &usize| entry.inputs[join.tables[*side]].name.as_str() == input;
        let side = [0, 1].into_iter().find(is_it)?;
        let keys = self.rows_of(side, value)?.map(|row| row.encoded());
        let keys: Vec<_> = keys.collect();
        let different: HashSet<_> = keys.iter().map(Option::as_deref).collect();
        Some(different.len() as u64)
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
    pub fn joined_rows<'v>(
        &'v self,
        side: JoinSide,
        value: &'v PortValue,
    ) -> Option<impl ExactSizeIterator<Item = JoinedRow> + 'v> {
        self.rows_of(Join::place(side), value)
    }

    pub(super) fn rows_of<'v>(
        &'v self,
        side: usize,
        value: &'v PortValue,
    ) -> Option<impl ExactSizeIterator<Item = JoinedRow> + 'v> {
        let types = &self.program.types;
        let join = self.entry().join.as_ref()?;
        let input = &self.inputs()[join.tables[side]];
        let (row, _) = self.joined_table(input)?;
        let rows = value.rows.as_ref()?;
        let all = fields(types, row);
        let width = types.width(row) as usize;
        let open: usize = all.iter().filter(|(_, ty)| types.is_open(*ty)).count();
        // The start of each field, among the bits or the cells.
        let mut places = Vec::new();
        let (mut bits, mut cells) = (0, 0);
        for (_, ty) in all {
            places.push((bits, cells));
            if types.is_open(*ty) {
                cells += 1
            } else {
                bits += types.width(*ty) as usize
            }
        }
        // Fields of a pair are numbered without those that have no fixed length.
        let kept = all.iter().zip(&places);
        let kept = kept.filter(|((_, ty), _)| !types.is_open(*ty));
        let kept: Vec<_> = kept
            .map(|((_, ty), (at, _))| *at..*at + types.width(*ty) as usize)
            .collect();
        Some((0..rows.count).map(move |number| {
            let bits = &value.bits[number * width..][..width];
            let key = join.key[side].iter().map(|part| {
                let (at, cell) = places[part.field as usize];
                let ty = all[part.field as usize].1;
                if !types.is_open(ty) {
                    let bytes = bytes_of(&bits[at..][..types.width(ty) as usize]);
                    return (part.kind, normalised(part.kind, &bytes).unwrap_or(bytes));
                }
                let bytes = rows.cells.get(number * open + cell);
                let normalised = normalised(part.kind, bytes);
                let bytes = normalised.unwrap_or_else(|| Zeroizing::new(bytes.to_vec()));
                (part.kind, bytes)
            });
            let read = join.read[side].iter();
            let read = read.flat_map(|field| &bits[kept[*field as usize].clone()]);
            JoinedRow {
                key: key.collect(),
                bits: Zeroizing::new(read.copied().collect()),
            }
        }))
    }

    /// Returns the existing rows of a joined table as a value of the interpreter.
    pub(super) fn table_value(&self, row: TypeId, value: &PortValue) -> Value {
        let types = &self.program.types;
        let none = TableRows::default();
        let rows = value.rows.as_ref().unwrap_or(&none);
        let mut cells = (0..rows.cells.len()).map(|cell| rows.cells.get(cell));
        let width = types.width(row) as usize;
        let items = (0..rows.count).map(|number| {
            let mut bits = &value.bits[number * width..][..width];
            let parts = fields(types, row).iter().map(|(_, ty)| {
                if types.is_open(*ty) {
                    let bytes = cells.next().unwrap_or_default();
                    let bytes = bytes.iter().map(|byte| Value::Integer((*byte).into()));
                    return Value::List(bytes.collect());
                }
                let (part, after) = bits.split_at(types.width(*ty) as usize);
                bits = after;
                types.value_of_bits(*ty, part)
            });
            Value::List(parts.collect())
        });
        let items: Vec<Value> = items.collect();
        Value::List(vec![Value::Integer(items.len().into()), Value::List(items)])
    }

    /// Keeps only these rows of a joined table.
    pub(super) fn keep_rows(
        &self,
        join: &Join,
        side: usize,
        value: &mut PortValue,
        kept: &[usize],
    ) {
        let types = &self.program.types;
        let Some((row, _)) = self.joined_table(&self.inputs()[join.tables[side]]) else {
            return;
        };
        let Some(rows) = &mut value.rows else {
            return;
        };
        let all = fields(types, row);
        let open = all.iter().filter(|(_, ty)| types.is_open(*ty)).count();
        let width = types.width(row) as usize;
        let mut bits = Zeroizing::new(Vec::with_capacity(width * kept.len()));
        let mut cells = WipedTexts::default();
        for number in kept {
            bits.extend_from_slice(&value.bits[number * width..][..width]);
            let own = number * open..(number + 1) * open;
            own.for_each(|cell| cells.push(rows.cells.get(cell)));
        }
        (rows.count, rows.cells) = (kept.len(), cells);
        value.bits = bits;
    }
}
