//! The checks of the owner's client on an input that is `strictly sorted`. No two elements may have
//! the same sort key. In an array, which is filled up with zeros, no element may have the key zero.

use std::collections::HashMap;

use tacit_circuit::CircuitError;

use super::rows::MAX_NAMED;
use super::{PortValue, write};
use crate::program::{InputPort, TypeId, TypeKind, TypeTable};

/// The elements of an input that its owner gave, and their places: lines of a file, or positions in
/// a list.
#[derive(Default)]
pub(super) struct Rows {
    /// The number of zeros after the elements.
    pub(super) filled_up: usize,
    /// The name of their file in messages, if they come from one.
    pub(super) file: Option<String>,
    /// The place of each element. They are positions if there are none.
    pub(super) places: Vec<u64>,
    /// The places of rows of a joined table that lack a value, each with the name of its field.
    pub(super) missing: Vec<(u64, String)>,
}

impl Rows {
    pub(super) fn filled_up(filled_up: usize) -> Self {
        Self {
            filled_up,
            ..Self::default()
        }
    }

    /// Names a row by its place.
    pub(super) fn name(&self, place: u64) -> String {
        match self.file {
            Some(_) => format!("line {place}"),
            None => format!("[{place}]"),
        }
    }

    /// Names rows by their lines, or by their places from 0.
    fn names(&self, places: &[usize]) -> String {
        let name = |place: &usize| match &self.file {
            Some(_) => self.places[*place].to_string(),
            None => format!("[{place}]"),
        };
        let named: Vec<_> = places.iter().take(MAX_NAMED).map(name).collect();
        let more = match places.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let word = match (&self.file, places) {
            (None, _) => "",
            (_, [_]) => "line ",
            _ => "lines ",
        };
        format!("{word}{}{more}", named.join(", "))
    }
}

/// Checks the elements of an input before they are sorted.
///
/// The message of an error names the rows and reveals no value.
pub(super) fn check(
    types: &TypeTable,
    input: &InputPort,
    value: &PortValue,
    rows: &Rows,
) -> Result<(), CircuitError> {
    let parts = write::parts(types, value.ty, &value.bits);
    let field = input.sorted.as_ref().and_then(Option::as_ref);
    let field = field.map(|name| name.as_str());
    let of_field = field.map_or(String::new(), |name| format!(" in {name:?}"));
    let fail = |expected: String, found: String| {
        let at = rows.file.clone();
        Err(CircuitError::Value {
            at: at.unwrap_or_else(|| input.name.to_string()),
            ty: types.name(input.ty),
            expected,
            found,
        })
    };
    let mut places: HashMap<&[bool], Vec<usize>> = HashMap::new();
    let given = parts.len() - rows.filled_up;
    for (place, (element, bits)) in parts[..given].iter().enumerate() {
        let key = key(types, *element, bits, field);
        places.entry(key).or_default().push(place);
    }
    let is_zero = |key: &[bool]| !key.contains(&true);
    let mut alike = Vec::new();
    for (key, places) in places {
        if is_zero(key) && matches!(types.kind(value.ty), TypeKind::Array(..)) {
            let expected = format!("values other than 0{of_field}, which stands for no row");
            let found = format!(
                "0 in {}; leave it out, or number from 1",
                rows.names(&places)
            );
            return fail(expected, found);
        }
        if places.len() > 1 {
            alike.push(places);
        }
    }
    if alike.is_empty() {
        return Ok(());
    }
    alike.sort();
    let named = alike.iter().take(MAX_NAMED);
    let named: Vec<_> = named.map(|places| rows.names(places)).collect();
    let more = match alike.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!("; and {more} more values that stand several times"),
    };
    fail(
        format!("each value once{of_field}"),
        format!(
            "the same in {}{more}; make one row of these before",
            named.join("; the same in ")
        ),
    )
}

/// Returns the bits of an element by which it is sorted.
fn key<'b>(
    types: &TypeTable,
    element: TypeId,
    bits: &'b [bool],
    field: Option<&str>,
) -> &'b [bool] {
    let (TypeKind::Struct(number), Some(field)) = (types.kind(element), field) else {
        return bits;
    };
    let mut start = 0;
    for (name, ty) in &types.struct_type(*number).fields {
        let end = start + types.width(*ty) as usize;
        if name.as_str() == field {
            return &bits[start..end];
        }
        start = end;
    }
    bits
}
