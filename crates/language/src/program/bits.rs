//! Values as bits: the order of a port's wires.

use num_bigint::BigInt;
use num_traits::One;

use super::{TypeId, TypeKind, TypeTable, Value, low_bits};

impl TypeTable {
    /// Returns the number of elements of a value of this type, or 0 if it has none.
    pub(crate) fn length(&self, ty: TypeId) -> usize {
        self.element(ty).map_or(0, |(_, n)| n as usize)
    }

    /// Returns a number made from counters as a value of a bool or number type.
    pub fn value_of_number(&self, ty: TypeId, number: i128) -> Value {
        match *self.kind(ty) {
            TypeKind::Bool => Value::Bool(number != 0),
            TypeKind::Fixed(_, fraction) => Value::Integer(BigInt::from(number) << fraction),
            _ => Value::Integer(number.into()),
        }
    }

    /// Returns the value with these bits, which may be random or come from the peer. A variant past
    /// the last becomes the last, and a length past the greatest becomes the greatest.
    pub fn value_of_bits(&self, ty: TypeId, bits: &[bool]) -> Value {
        let number = |bits: &[bool]| {
            let ones = bits.iter().enumerate().filter(|(_, bit)| **bit);
            ones.fold(BigInt::ZERO, |sum, (place, _)| {
                sum + (BigInt::one() << place)
            })
        };
        match self.kind(ty) {
            TypeKind::Bool => Value::Bool(bits[0]),
            TypeKind::OpenBytes | TypeKind::OpenText => self.zero(ty),
            TypeKind::Enum(enum_number) => {
                let last = self.enum_type(*enum_number).variants.len() - 1;
                Value::Integer(number(bits).min(last.into()))
            }
            TypeKind::Table(element, size) => {
                let items = *size as usize * self.width(*element) as usize;
                let (length, items) = bits.split_at(bits.len() - items);
                let width = self.width(*element) as usize;
                let items = match width {
                    0 => vec![self.zero(*element); *size as usize],
                    _ => items
                        .chunks(width)
                        .map(|b| self.value_of_bits(*element, b))
                        .collect(),
                };
                let length = number(length).min((*size).into());
                Value::List(vec![Value::Integer(length), Value::List(items)])
            }
            TypeKind::Tuple(_) | TypeKind::Struct(_) => {
                let mut rest = bits;
                let fields = self.fields(ty).into_iter().map(|field| {
                    let (bits, after) = rest.split_at(self.width(field) as usize);
                    rest = after;
                    self.value_of_bits(field, bits)
                });
                Value::List(fields.collect())
            }
            _ => match self.element(ty) {
                None => Value::Integer(self.wrap(ty, number(bits))),
                Some((element, n)) => match self.width(element) as usize {
                    0 => Value::List(vec![self.zero(element); n as usize]),
                    width => {
                        let chunks = bits.chunks(width);
                        Value::List(chunks.map(|b| self.value_of_bits(element, b)).collect())
                    }
                },
            },
        }
    }

    /// Returns the bits of a value, the least significant of each number first.
    pub fn bits_of_value(&self, ty: TypeId, value: &Value) -> Vec<bool> {
        let mut bits = Vec::with_capacity(self.width(ty) as usize);
        self.push_bits(ty, value, &mut bits);
        bits
    }

    fn push_bits(&self, ty: TypeId, value: &Value, bits: &mut Vec<bool>) {
        match value {
            Value::Bool(bit) => bits.push(*bit),
            Value::Integer(number) => {
                let width = self.width(ty);
                let low = low_bits(number, width as u32);
                bits.extend((0..width).map(|place| low.bit(place)));
            }
            Value::List(parts) => match self.element(ty) {
                Some((element, _)) => parts.iter().for_each(|p| self.push_bits(element, p, bits)),
                None => {
                    let fields = self.fields(ty);
                    let pairs = parts.iter().zip(fields);
                    pairs.for_each(|(part, ty)| self.push_bits(ty, part, bits));
                }
            },
        }
    }
}
