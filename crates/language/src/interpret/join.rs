//! A plain join: computes the pairs of two tables in the clear. It is independent of the stage that
//! puts the pairs in bins, and serves as its oracle.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use tacit_function::join::KeyKind;

use crate::border::{ChosenRows, RowRules, check_number_of_keys};
use crate::program::{Entry, Join, JoinKeyField, Program, TypeId, TypeKind, Value};

/// Returns the pairs of a join: one for each row of the placer's table, in its order, and zeros up
/// to the number of bins. Rows with the same key keep the order of their table.
pub(crate) fn pairs(program: &Program, entry: &Entry, given: &[Value]) -> Result<Value, String> {
    let join = entry.join.as_ref().ok_or("nothing is joined")?;
    let tables =
        [0, 1].map(|side| Table::new(program, entry, join, side, &given[join.tables[side]]));
    let [left, right] = &tables;
    left.check(join.most_rows_of(0))?;
    right.check(join.most_rows_of(1))?;
    let [by_left, by_right] = [left, right].map(|table| by_key(&table.keys));
    let matched = |rows: [&[usize]; 2]| {
        let row = |side: usize, number: usize| tables[side].row_in_pair(number);
        let right = match join.most_rows_of_key {
            1 => row(1, rows[1][0]),
            most => {
                let zero = || program.types.zero(join.rows[1]);
                let mut items: Vec<Value> = rows[1].iter().map(|n| row(1, *n)).collect();
                items.resize_with(most as usize, zero);
                Value::List(vec![
                    Value::Integer(rows[1].len().into()),
                    Value::List(items),
                ])
            }
        };
        Value::List(vec![Value::Bool(true), row(0, rows[0][0]), right])
    };
    let zero = program.types.zero(join.pair);
    let placers = &tables[join.placers()];
    let mut pairs: Vec<Value> = placers
        .keys
        .iter()
        .map(|key| key.as_deref())
        .map(|key| match (by_left.get(&key), by_right.get(&key)) {
            (Some(left), Some(right)) => matched([left, right]),
            _ => zero.clone(),
        })
        .collect();
    pairs.resize(join.sizes.all_bins() as usize, zero);
    Ok(Value::List(pairs))
}

/// Returns the numbers of the rows of each key, in order. It copies no key.
fn by_key(keys: &[Option<Vec<u8>>]) -> HashMap<Option<&[u8]>, Vec<usize>> {
    let mut by_key: HashMap<_, Vec<usize>> = HashMap::new();
    for (number, key) in keys.iter().enumerate() {
        by_key.entry(key.as_deref()).or_default().push(number);
    }
    by_key
}

/// Replaces the values of pairs after the rows of the placer's table by zeros.
pub(crate) fn without_values_behind(
    program: &Program,
    entry: &Entry,
    given: &[Value],
    result: &mut Value,
) {
    let Some(join) = &entry.join else {
        return;
    };
    let Some(number) = join.by_pair else {
        return;
    };
    let count = rows(&given[join.tables[join.placers()]]).len();
    let values = match entry.outputs.len() {
        1 => result,
        _ => &mut result.as_list_mut()[number],
    };
    let zero = program.types.element(entry.outputs[number].ty);
    let Some(zero) = zero.map(|(element, _)| program.types.zero(element)) else {
        return;
    };
    values
        .as_list_mut()
        .iter_mut()
        .skip(count)
        .for_each(|value| *value = zero.clone());
}

/// Returns the existing rows of a table.
fn rows(table: &Value) -> &[Value] {
    let [length, items] = table.as_list() else {
        return &[];
    };
    let items = items.as_list();
    let length = usize::try_from(length.as_integer()).unwrap_or(items.len());
    &items[..length.min(items.len())]
}

struct Table<'v> {
    name: String,
    rows: &'v [Value],
    /// The fields of a row that a pair contains.
    kept: Vec<usize>,
    /// The key of each row, if no part of it is an empty text.
    keys: Vec<Option<Vec<u8>>>,
    most_keys: u64,
}

impl<'v> Table<'v> {
    fn new(program: &Program, entry: &Entry, join: &Join, side: usize, table: &'v Value) -> Self {
        let input = join.tables[side];
        let rows = rows(table);
        let types = &program.types;
        let row_type = match *types.kind(entry.inputs[input].ty) {
            TypeKind::Table(row, _) => row,
            _ => join.rows[side],
        };
        let fields = types.fields(row_type);
        let kept = (0..fields.len()).filter(|place| !types.is_open(fields[*place]));
        let keys = rows.iter().map(|row| {
            let row = row.as_list();
            let mut bytes = Vec::new();
            let is_whole = join.key[side].iter().all(|part| {
                let field = part.field as usize;
                push_part(program, part, (&row[field], fields[field]), &mut bytes)
            });
            is_whole.then_some(bytes)
        });
        Self {
            name: entry.inputs[input].name.to_string(),
            rows,
            kept: kept.collect(),
            keys: keys.collect(),
            most_keys: join.keys[side],
        }
    }

    /// Refuses rows that a join does not take, and more keys than agreed on.
    fn check(&self, most: usize) -> Result<(), String> {
        let name = format!("`{}`", self.name);
        let chosen = ChosenRows::of((self.keys.len(), NonZeroUsize::MIN), most, |row| {
            self.keys[row].as_deref()
        });
        chosen
            .check(RowRules::default(), (&name, most), |row| {
                format!("row {}", row + 1)
            })
            .map_err(|unfit| unfit.to_string())?;
        check_number_of_keys(&name, chosen.keys as u64, self.most_keys)
    }

    fn row_in_pair(&self, number: usize) -> Value {
        let fields = self.rows[number].as_list();
        Value::List(
            self.kept
                .iter()
                .map(|place| fields[*place].clone())
                .collect(),
        )
    }
}

/// Appends the encoding of a part of a key, so that no two keys of one type have the same bytes.
/// Returns false if the part is an empty text.
fn push_part(
    program: &Program,
    part: &JoinKeyField,
    (value, ty): (&Value, TypeId),
    bytes: &mut Vec<u8>,
) -> bool {
    if let KeyKind::Fixed { .. } = part.kind {
        let bits = program.types.bits_of_value(ty, value);
        bytes.extend(bits.chunks(8).map(|byte| {
            let bits = byte.iter().enumerate();
            bits.fold(0, |sum, (place, bit)| sum | u8::from(*bit) << place)
        }));
        return true;
    }
    let parts = value.as_list().iter();
    let mut text: Vec<u8> = parts
        .filter_map(|byte| u8::try_from(byte.as_integer()).ok())
        .collect();
    if let KeyKind::Text(how) = part.kind
        && let Ok(given) = str::from_utf8(&text)
    {
        text = how.apply(given).as_bytes().to_vec();
    }
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(&text);
    !text.is_empty() || part.kind == KeyKind::Bytes
}

/// Returns both parties' inputs of the bins of a join with these pairs, one element for each. The
/// stage's own values are random, except for tags, which are equal if there is a pair.
pub(crate) fn bins(program: &Program, join: &Join, pairs: &Value) -> [Vec<bool>; 2] {
    let types = &program.types;
    let (mine, other) = (join.placers(), 1 - join.placers());
    let tag_bits = join.sizes.tag_bits;
    let fields = |side: usize, row: &Value, bits: &mut Vec<bool>| {
        let all = types.fields(join.rows[side]);
        for field in &join.read[side] {
            let field = *field as usize;
            bits.extend(types.bits_of_value(all[field], &row.as_list()[field]));
        }
    };
    let (mut placer, mut programmer) = (Vec::new(), Vec::new());
    let mut state = 0_u64;
    let mut drawn = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 63 == 1
    };
    for pair in pairs.as_list() {
        let pair = pair.as_list();
        let matched = pair[0].as_bool();
        let tag: Vec<bool> = (0..tag_bits).map(|_| drawn()).collect();
        // A row of the placer is present whether it has a pair or not.
        let mut row = Vec::new();
        fields(mine, &pair[1 + mine], &mut row);
        if !matched {
            row.iter_mut().for_each(|bit| *bit = drawn());
        }
        let mut payload = Vec::new();
        match join.most_rows_of_key {
            1 => fields(other, &pair[1 + other], &mut payload),
            most => {
                let [length, items] = pair[1 + other].as_list() else {
                    continue;
                };
                let count = u64::try_from(length.as_integer()).unwrap_or(0);
                let bits = u64::from(most).ilog2() + 1;
                payload.extend((0..bits).map(|place| count >> place & 1 == 1));
                items
                    .as_list()
                    .iter()
                    .for_each(|row| fields(other, row, &mut payload));
            }
        }
        let mask: Vec<bool> = payload.iter().map(|_| drawn()).collect();
        placer.extend(&tag);
        placer.extend(&row);
        placer.extend(payload.iter().zip(&mask).map(|(a, b)| a ^ b));
        programmer.extend(&tag);
        if !matched && let Some(first) = programmer.len().checked_sub(tag_bits as usize) {
            programmer[first] ^= true;
        }
        programmer.extend(&mask);
    }
    [placer, programmer]
}
