//! Values from JSON, from text and from the memory of other languages.

mod text;

use serde_json::Value as Json;
use tacit_circuit::{CircuitError, HostValue, Kind, Numbers, Type, Value as Leaf, wipe_json};
use zeroize::Zeroizing;

use super::joined::RowValues;
use super::part::RowsForm;
use crate::elaborate::most_like;
use crate::program::{TypeId, TypeKind, TypeTable, bits_of};

type Read<T> = Result<T, CircuitError>;

/// Reads a value bit by bit and tracks the position for errors.
pub(super) struct Reader<'t> {
    types: &'t TypeTable,
    /// The part that is being read, such as `customers[3].age`.
    at: String,
    /// The bits so far, of a table that is joined those of the current row. The vector never grows
    /// past its capacity, so that no copy of it remains in memory.
    bits: Zeroizing<Vec<bool>>,
    /// The form and the values of the rows of a table that is joined.
    rows: Option<(RowsForm, RowValues)>,
}

/// Returns the circuit's type of a number or of bytes.
pub(super) fn leaf(types: &TypeTable, ty: TypeId) -> Option<Type> {
    let kind = match *types.kind(ty) {
        TypeKind::Unsigned(width) => Kind::Unsigned(width),
        TypeKind::Signed(width) => Kind::Signed(width),
        TypeKind::Fixed(integer, fraction) => Kind::Fixed { integer, fraction },
        TypeKind::Bytes(n) if n > 0 => Kind::Bytes(n),
        _ => return None,
    };
    Type::new(kind).ok()
}

impl<'t> Reader<'t> {
    /// Creates a reader of a value of type `ty`, which messages call `at`.
    pub(super) fn new(types: &'t TypeTable, ty: TypeId, at: &str) -> Self {
        let width = types.width(ty) as usize;
        Self {
            types,
            at: at.to_owned(),
            bits: Zeroizing::new(Vec::with_capacity(width)),
            rows: None,
        }
    }

    /// Creates a reader of the rows of a table that is joined.
    pub(super) fn of_rows(types: &'t TypeTable, row: TypeId, form: RowsForm, at: &str) -> Self {
        Self {
            rows: Some((form, RowValues::default())),
            ..Self::new(types, row, at)
        }
    }

    /// Returns the form of the rows of a table that is joined.
    pub(super) fn rows_form(&self) -> Option<&RowsForm> {
        self.rows.as_ref().map(|(form, _)| form)
    }

    /// Whether only one part of a table that is joined is read.
    pub(super) fn is_cut(&self) -> bool {
        self.rows_form().is_some_and(RowsForm::is_cut)
    }

    /// Ends a row of a table that is joined, and returns whether it is kept: a row of another part
    /// of the table is not.
    pub(super) fn end_row(&mut self) -> bool {
        let Some((form, rows)) = &mut self.rows else {
            return true;
        };
        let is_kept = form.end_row(&self.bits, rows);
        // The next row overwrites these.
        self.bits.clear();
        is_kept
    }

    /// Appends the rows that another reader of the same table has read.
    pub(super) fn append_rows(&mut self, others: &Self) {
        if let (Some((_, rows)), Some((_, others))) = (&mut self.rows, &others.rows) {
            rows.append(others);
        }
    }

    pub(super) fn finish(self) -> (Zeroizing<Vec<bool>>, Option<RowValues>) {
        (self.bits, self.rows.map(|(_, rows)| rows))
    }

    /// Stores a field without a fixed length. Only tables that are joined have such fields.
    fn cell(&mut self, bytes: &[u8]) {
        if let Some((_, rows)) = &mut self.rows {
            rows.cells.push(bytes);
        }
    }

    /// Names the part that is read next.
    pub(super) fn locate(&mut self, at: String) {
        self.at = at;
    }

    /// Returns the name of the part that is read.
    pub(super) fn place(&self) -> &str {
        &self.at
    }

    pub(super) fn error(
        &self,
        ty: TypeId,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> CircuitError {
        CircuitError::Value {
            at: self.at.clone(),
            ty: self.types.name(ty),
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// Reads a part. Messages state its place within the whole.
    fn part(
        &mut self,
        place: impl FnOnce() -> String,
        read: impl FnOnce(&mut Self) -> Read<()>,
    ) -> Read<()> {
        read(self).map_err(|mut error| {
            if let CircuitError::Value { at, .. } = &mut error {
                // The places of nested parts follow.
                at.insert_str(self.at.len(), &place());
            }
            error
        })
    }

    /// Reads a value that another language gives.
    pub(super) fn given(&mut self, ty: TypeId, given: HostValue<'_>) -> Read<()> {
        let types = self.types;
        match (types.kind(ty), given.length(), given) {
            (&TypeKind::Array(element, n), Some(length), _) if length == n as usize => {
                self.elements(element, given)
            }
            (&TypeKind::Table(element, n), Some(length), _) if length <= n as usize => {
                self.table(element, n, length, |this| this.elements(element, given))
            }
            (TypeKind::Tuple(parts), Some(length), _) if length == parts.len() => {
                for (number, (ty, item)) in parts.iter().zip(given.items()).enumerate() {
                    self.part(|| format!(".{number}"), |this| this.given(*ty, item))?;
                }
                Ok(())
            }
            (TypeKind::Struct(_), None, HostValue::Json(Json::Object(_)) | HostValue::Row(..)) => {
                self.fields(ty, given)
            }
            (_, _, HostValue::Json(json)) => self.scalar(ty, json),
            (_, _, HostValue::Numbers(numbers)) => self.numbers(ty, numbers),
            _ => Err(self.error(ty, self.expected(ty), found(given))),
        }
    }

    /// Reads a value without parts from JSON.
    fn scalar(&mut self, ty: TypeId, json: &Json) -> Read<()> {
        match (self.types.kind(ty), json) {
            (_, Json::String(text)) => self.scalar_text(ty, text),
            (TypeKind::Bool, _) => {
                let bit = match json {
                    Json::Bool(bit) => Some(*bit),
                    Json::Number(number) => number.as_u64().filter(|n| *n < 2).map(|n| n == 1),
                    _ => None,
                };
                self.bool(ty, bit, &found(HostValue::Json(json)))
            }
            _ => match leaf(self.types, ty) {
                Some(leaf) => {
                    let is_negative = json.as_f64().is_some_and(|number| number < 0.0);
                    self.leaf(ty, &leaf, Leaf::from_json(&leaf, json), is_negative)
                }
                None => Err(self.error(ty, self.expected(ty), found(HostValue::Json(json)))),
            },
        }
    }

    /// Reads a single number. A number that does not fit is read as JSON, which reports the reason.
    fn numbers(&mut self, ty: TypeId, numbers: Numbers<'_>) -> Read<()> {
        let leaf = match self.types.kind(ty) {
            TypeKind::Bool => Some(Type::BIT),
            _ => leaf(self.types, ty),
        };
        if let Some(bits) = leaf.and_then(|leaf| numbers.bits(&leaf)) {
            self.bits.extend(bits);
            return Ok(());
        }
        let json = numbers.to_json();
        let result = self.given(ty, HostValue::Json(&json));
        wipe_json(json);
        result
    }

    /// Describes the written form of a value of this type.
    fn expected(&self, ty: TypeId) -> String {
        match self.types.kind(ty) {
            TypeKind::Bool => "true or false".to_owned(),
            TypeKind::Text(n) => format!("a text of at most {n} bytes of UTF-8"),
            TypeKind::OpenText => "a text".to_owned(),
            TypeKind::OpenBytes => "hex digits, two for each byte".to_owned(),
            TypeKind::Enum(number) => {
                let variants = &self.types.enum_type(*number).variants;
                let names: Vec<&str> = variants.iter().map(|name| name.as_str()).collect();
                format!("one of {}", names.join(", "))
            }
            TypeKind::Array(_, n) => format!("a list of {n}"),
            TypeKind::Table(_, n) => format!("a list of at most {n}"),
            TypeKind::Tuple(parts) => format!("a list of {}", parts.len()),
            TypeKind::Struct(number) => {
                let fields = &self.types.struct_type(*number).fields;
                let names: Vec<String> = fields
                    .iter()
                    .map(|(name, _)| quoted(name.as_str()))
                    .collect();
                format!("an object with {}", names.join(", "))
            }
            _ => "a value".to_owned(),
        }
    }

    fn bool(&mut self, ty: TypeId, bit: Option<bool>, found: &str) -> Read<()> {
        match bit {
            Some(bit) => {
                self.bits.push(bit);
                Ok(())
            }
            None => Err(self.error(ty, "true or false", found)),
        }
    }

    /// Takes a number or bytes, read like those of ports of circuits.
    fn leaf(
        &mut self,
        ty: TypeId,
        leaf: &Type,
        read: Result<Leaf, CircuitError>,
        is_negative: bool,
    ) -> Read<()> {
        let value = read.map_err(|error| match error {
            CircuitError::Value {
                expected, found, ..
            } => {
                let remedy = remedy(leaf, is_negative, &found);
                self.error(ty, expected, found + remedy)
            }
            other => other,
        })?;
        self.bits.extend_from_slice(&value.to_bits());
        Ok(())
    }

    fn characters(&mut self, ty: TypeId, n: usize, text: &str) -> Read<()> {
        let expected = || self.expected(ty);
        if text.len() > n {
            return Err(self.error(ty, expected(), format!("{} bytes", text.len())));
        }
        if text.contains('\0') {
            let found = "a character U+0000, which fills texts up";
            return Err(self.error(ty, expected(), found));
        }
        let zeros = std::iter::repeat_n(0, n - text.len());
        for byte in text.bytes().chain(zeros) {
            self.bits.extend((0..8).map(|place| byte >> place & 1 == 1));
        }
        Ok(())
    }

    /// Reads a variant by its name, with or without the enum's name before it.
    fn variant(&mut self, ty: TypeId, text: &str) -> Read<()> {
        let TypeKind::Enum(number) = *self.types.kind(ty) else {
            unreachable!("an enum");
        };
        let of = self.types.enum_type(number);
        let (start, name) = text.split_once("::").unwrap_or((of.name.as_str(), text));
        let is_it = |variant: &crate::source::Symbol| variant.as_str() == name;
        match of.variants.iter().position(is_it) {
            Some(place) if start == of.name.as_str() => {
                self.number(place as u64, self.types.width(ty) as u32);
                Ok(())
            }
            _ => {
                let mut variants = of.variants.iter();
                let is_alike = variants.any(|variant| variant.as_str().eq_ignore_ascii_case(name));
                let found = if is_alike && start == of.name.as_str() {
                    "one of these with other capital letters; write it as the program does"
                } else if text.trim().is_empty() {
                    "an empty text; write one of these"
                } else {
                    "another text; write one of these"
                };
                Err(self.error(ty, self.expected(ty), found))
            }
        }
    }

    /// Appends the length of a table whose rows follow, and returns its place for
    /// [`set_length`](Self::set_length).
    pub(super) fn length_to_follow(&mut self, most: u32) -> usize {
        let at = self.bits.len();
        self.number(0, bits_of(most.into()));
        at
    }

    /// Sets the length at this place.
    pub(super) fn set_length(&mut self, at: usize, most: u32, length: usize) {
        let bits = &mut self.bits[at..][..bits_of(most.into()) as usize];
        for (place, bit) in bits.iter_mut().enumerate() {
            *bit = length >> place & 1 == 1;
        }
    }

    fn number(&mut self, number: u64, width: u32) {
        self.bits
            .extend((0..width).map(|place| number >> place & 1 == 1));
    }

    /// Reads the elements of an array, from the first on.
    pub(super) fn elements(&mut self, element: TypeId, given: HostValue<'_>) -> Read<()> {
        (0..)
            .zip(given.items())
            .try_for_each(|(number, item)| self.element(number, element, item))
    }

    /// Reads an element of a list, whose errors name its number.
    pub(super) fn element(&mut self, number: u64, ty: TypeId, given: HostValue<'_>) -> Read<()> {
        self.part(|| format!("[{number}]"), |this| this.given(ty, given))
    }

    /// Reads the length of a table and its items, and appends zeros.
    pub(super) fn table(
        &mut self,
        element: TypeId,
        most: u32,
        length: usize,
        items: impl FnOnce(&mut Self) -> Read<()>,
    ) -> Read<()> {
        self.number(length as u64, bits_of(most.into()));
        items(self)?;
        self.zeros(element, most as usize - length);
        Ok(())
    }

    /// Appends `count` values whose bits are all zero.
    pub(super) fn zeros(&mut self, element: TypeId, count: usize) {
        let zeros = count * self.types.width(element) as usize;
        self.bits.extend(std::iter::repeat_n(false, zeros));
    }

    fn fields(&mut self, whole: TypeId, given: HostValue<'_>) -> Read<()> {
        let TypeKind::Struct(number) = *self.types.kind(whole) else {
            unreachable!("a struct");
        };
        let fields = &self.types.struct_type(number).fields;
        for (name, ty) in fields {
            match given.field(name.as_str()) {
                Some(field) => {
                    self.part(|| format!(".{name}"), |this| this.given(*ty, field))?;
                }
                None => {
                    let found = format!("no {}", quoted(name.as_str()));
                    return Err(self.error(whole, self.expected(whole), found));
                }
            }
        }
        let known = |name: &String| fields.iter().any(|(field, _)| field.as_str() == name);
        // Extra columns are ignored, but an object must not have extra names.
        let HostValue::Json(Json::Object(object)) = given else {
            return Ok(());
        };
        match object.keys().find(|name| !known(name)) {
            None => Ok(()),
            Some(other) => {
                let names = fields.iter().map(|(name, _)| name.as_str());
                let meant = match most_like(other, names) {
                    Some(name) => format!("{} where {} may be meant", quoted(other), quoted(&name)),
                    None => quoted(other),
                };
                Err(self.error(whole, self.expected(whole), format!("also {meant}")))
            }
        }
    }
}

/// Returns what to do about a number that does not suit its type, to be appended to what was found.
fn remedy(leaf: &Type, is_negative: bool, found: &str) -> &'static str {
    match leaf.kind() {
        Kind::Unsigned(_) | Kind::Signed(_) if found.contains("decimal point") => {
            "; give whole numbers, such as cents, or both parties change the type to `fixed<…>`"
        }
        Kind::Unsigned(_) if found.contains("out of range") && is_negative => {
            "; if negative numbers are meant, both parties change the type to a signed one, such \
             as `i32`"
        }
        _ if found.contains("out of range") => {
            "; if the number is right, both parties change the type to a wider one"
        }
        _ if found.contains("between them") => {
            "; write a number without separators, with a point before decimals"
        }
        _ => "",
    }
}

fn quoted(name: &str) -> String {
    format!("{:?}", name.chars().take(64).collect::<String>())
}

/// Returns the kind of a value, for an error that does not reveal the value.
fn found(given: HostValue<'_>) -> String {
    if let Some(length) = given.length() {
        return format!("a list of {length}");
    }
    let kind = match given {
        HostValue::Json(Json::Null) => "null",
        HostValue::Json(Json::Bool(_)) => "true or false",
        HostValue::Json(Json::String(_)) => "a string",
        HostValue::Json(Json::Number(_)) | HostValue::Numbers(_) => "a number",
        _ => "an object",
    };
    kind.to_owned()
}
