//! Types and values in the form in which a program writes them.

use num_bigint::{BigInt, Sign};

use super::super::Value;
use super::{GenericValue, StructType, TypeId, TypeKind, TypeTable};

impl TypeTable {
    /// Returns a value as a program would write it.
    pub fn value_text(&self, ty: TypeId, value: &Value) -> String {
        let joined = |parts: Vec<String>| parts.join(", ");
        match (self.kind(ty), value) {
            (_, Value::Bool(bit)) => bit.to_string(),
            (TypeKind::Enum(number), Value::Integer(code)) => {
                let ty = self.enum_type(*number);
                let place = usize::try_from(code).ok();
                match place.and_then(|place| ty.variants.get(place)) {
                    Some(variant) => format!("{}::{variant}", ty.name),
                    None => code.to_string(),
                }
            }
            (TypeKind::Fixed(_, fraction), Value::Integer(number)) => fixed_text(number, *fraction),
            (_, Value::Integer(number)) => number.to_string(),
            (TypeKind::Text(_) | TypeKind::OpenText, Value::List(parts)) => {
                let bytes = parts
                    .iter()
                    .filter_map(|b| u8::try_from(b.as_integer()).ok());
                let bytes: Vec<u8> = bytes.collect();
                let end = bytes
                    .iter()
                    .rposition(|b| *b != 0)
                    .map_or(0, |last| last + 1);
                format!("{:?}", String::from_utf8_lossy(&bytes[..end]))
            }
            (TypeKind::Struct(number), Value::List(parts)) => {
                let ty = self.struct_type(*number);
                let fields = ty.fields.iter().zip(parts);
                let text = fields
                    .map(|((name, ty), part)| format!("{name}: {}", self.value_text(*ty, part)));
                format!("{} {{ {} }}", ty.name, joined(text.collect()))
            }
            (_, Value::List(parts)) => match self.element(ty) {
                Some((element, _)) => {
                    let text = parts.iter().map(|part| self.value_text(element, part));
                    format!("[{}]", joined(text.collect()))
                }
                None => {
                    let fields = self.fields(ty);
                    let pairs = parts.iter().zip(fields);
                    let text = pairs.map(|(part, ty)| self.value_text(ty, part));
                    format!("({})", joined(text.collect()))
                }
            },
        }
    }

    /// Returns the type as a program writes it.
    pub fn name(&self, id: TypeId) -> String {
        match self.kind(id) {
            TypeKind::Bool => "bool".to_owned(),
            TypeKind::Unsigned(width) => format!("u{width}"),
            TypeKind::Signed(width) => format!("i{width}"),
            TypeKind::Fixed(integer, fraction) => format!("fixed<{integer}, {fraction}>"),
            TypeKind::Bytes(n) => format!("bytes<{n}>"),
            TypeKind::Text(n) => format!("text<{n}>"),
            TypeKind::OpenBytes => "bytes".to_owned(),
            TypeKind::OpenText => "text".to_owned(),
            TypeKind::Array(element, n) => format!("[{}; {n}]", self.name(*element)),
            TypeKind::Table(element, n) => format!("[{}; ..{n}]", self.name(*element)),
            TypeKind::Tuple(parts) => {
                let names: Vec<String> = parts.iter().map(|part| self.name(*part)).collect();
                format!("({})", names.join(", "))
            }
            TypeKind::Struct(number) => {
                let StructType { name, generics, .. } = self.struct_type(*number);
                if generics.is_empty() {
                    name.to_string()
                } else {
                    format!("{name}<{}>", self.generics_text(generics))
                }
            }
            TypeKind::Enum(number) => self.enum_type(*number).name.to_string(),
        }
    }

    /// Returns generic arguments as a program writes them.
    pub fn generics_text(&self, generics: &[GenericValue]) -> String {
        let text = |generic: &GenericValue| match generic {
            GenericValue::Type(ty) => self.name(*ty),
            GenericValue::Number(number) => number.to_string(),
        };
        generics.iter().map(text).collect::<Vec<_>>().join(", ")
    }
}

/// Writes a whole number divided by 2^fraction, exactly.
fn fixed_text(number: &BigInt, fraction: u32) -> String {
    // x / 2^f = x * 5^f / 10^f.
    let scaled = number.magnitude() * num_bigint::BigUint::from(5_u32).pow(fraction);
    let digits = format!("{scaled:0>width$}", width = fraction as usize + 1);
    let (whole, rest) = digits.split_at(digits.len() - fraction as usize);
    let sign = if number.sign() == Sign::Minus {
        "-"
    } else {
        ""
    };
    match rest.trim_end_matches('0') {
        "" => format!("{sign}{whole}.0"),
        rest => format!("{sign}{whole}.{rest}"),
    }
}
