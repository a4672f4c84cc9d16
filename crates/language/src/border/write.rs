//! Values as JSON and as text.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json};
use tacit_circuit::Value as Leaf;

use super::read::leaf;
use crate::program::{TypeId, TypeKind, TypeTable};

/// Returns the number with these bits, the least significant first.
fn number(bits: &[bool]) -> u64 {
    let places = bits.iter().take(64).enumerate();
    places.fold(0, |sum, (place, bit)| sum | u64::from(*bit) << place)
}

/// Returns the bits of the parts of a value. For a table these are its existing items.
pub(super) fn parts<'b>(
    types: &TypeTable,
    ty: TypeId,
    bits: &'b [bool],
) -> Vec<(TypeId, &'b [bool])> {
    let elements = |element: TypeId, count: usize, bits: &'b [bool]| {
        let width = types.width(element) as usize;
        (0..count)
            .map(|n| (element, &bits[n * width..(n + 1) * width]))
            .collect()
    };
    match *types.kind(ty) {
        TypeKind::Array(element, n) => elements(element, n as usize, bits),
        TypeKind::Table(element, n) => {
            let items = n as usize * types.width(element) as usize;
            let (length, items) = bits.split_at(bits.len() - items);
            // A dishonest peer can send a length past the greatest.
            let length = number(length).min(n.into()) as usize;
            elements(element, length, items)
        }
        _ => {
            let mut rest = bits;
            let fields = types.fields(ty).into_iter().map(|field| {
                let (part, after) = rest.split_at(types.width(field) as usize);
                rest = after;
                (field, part)
            });
            fields.collect()
        }
    }
}

/// Returns the variant's name. A code past the last one counts as the last, since a dishonest peer
/// can send one.
fn variant<'t>(types: &'t TypeTable, enum_number: u32, bits: &[bool]) -> &'t str {
    let variants = &types.enum_type(enum_number).variants;
    let place = number(bits).min(variants.len() as u64 - 1);
    variants[place as usize].as_str()
}

/// Returns the characters of a text up to its last byte that is not zero. Invalid UTF-8, which a
/// dishonest peer can send, is replaced.
pub(super) fn characters(bits: &[bool]) -> String {
    let bytes: Vec<u8> = bits.chunks(8).map(|byte| number(byte) as u8).collect();
    let end = bytes.iter().rposition(|byte| *byte != 0);
    let end = end.map_or(0, |last| last + 1);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Returns a value as JSON that a reader accepts.
pub(super) fn json(types: &TypeTable, ty: TypeId, bits: &[bool]) -> Json {
    match types.kind(ty) {
        TypeKind::Bool => bits[0].into(),
        TypeKind::Text(_) => characters(bits).into(),
        TypeKind::Enum(number) => variant(types, *number, bits).into(),
        TypeKind::Bytes(0) => "".into(),
        TypeKind::Struct(number) => {
            let names = types
                .struct_type(*number)
                .fields
                .iter()
                .map(|(name, _)| name);
            let parts = parts(types, ty, bits).into_iter();
            let fields = names
                .zip(parts)
                .map(|(name, (ty, bits))| (name.to_string(), json(types, ty, bits)));
            Json::Object(fields.collect::<Map<_, _>>())
        }
        _ => match leaf_value(types, ty, bits) {
            Some(value) => value.to_json(),
            None => {
                let parts = parts(types, ty, bits).into_iter();
                parts.map(|(ty, bits)| json(types, ty, bits)).collect()
            }
        },
    }
}

fn leaf_value(types: &TypeTable, ty: TypeId, bits: &[bool]) -> Option<Leaf> {
    Leaf::from_bits(&leaf(types, ty)?, bits).ok()
}

/// Returns a value as text that a reader accepts: JSON with fields in their order. Names of
/// variants, hex digits and large numbers have no quotes if they are the whole value.
pub(super) fn text(types: &TypeTable, ty: TypeId, bits: &[bool]) -> String {
    match types.kind(ty) {
        TypeKind::Enum(number) => variant(types, *number, bits).to_owned(),
        _ => match leaf_value(types, ty, bits) {
            Some(value) => value.to_text(),
            None => {
                let mut text = String::new();
                push(types, ty, bits, &mut text);
                text
            }
        },
    }
}

fn push(types: &TypeTable, ty: TypeId, bits: &[bool], text: &mut String) {
    let is_list = matches!(
        types.kind(ty),
        TypeKind::Array(..) | TypeKind::Table(..) | TypeKind::Tuple(_)
    );
    match types.kind(ty) {
        TypeKind::Struct(number) => {
            let names = types
                .struct_type(*number)
                .fields
                .iter()
                .map(|(name, _)| name);
            text.push('{');
            for (place, (name, (ty, bits))) in names.zip(parts(types, ty, bits)).enumerate() {
                let comma = if place > 0 { ", " } else { "" };
                let _ = write!(text, "{comma}\"{name}\": ");
                push(types, ty, bits, text);
            }
            text.push('}');
        }
        _ if is_list => {
            text.push('[');
            for (place, (ty, bits)) in parts(types, ty, bits).into_iter().enumerate() {
                text.push_str(if place > 0 { ", " } else { "" });
                push(types, ty, bits, text);
            }
            text.push(']');
        }
        _ => push_string(&json(types, ty, bits).to_string(), text),
    }
}

/// Whether a terminal does anything but show a character. This holds for control characters and for
/// marks that change the direction of writing.
#[must_use]
pub fn acts_on_a_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Appends JSON, with escapes for the characters on which a terminal would act.
fn push_string(json: &str, text: &mut String) {
    for c in json.chars() {
        if acts_on_a_terminal(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(c);
        }
    }
}
