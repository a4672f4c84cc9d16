//! Types of known size. Each type exists once.

mod text;

use std::collections::HashMap;

use num_bigint::{BigInt, Sign};
use num_traits::One;

use super::Value;
use crate::source::{FileId, Symbol};

/// The number of a type in a [`TypeTable`]. Equal types have equal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(u32);

/// The kind of a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// `bool`
    Bool,
    /// `u<w>`
    Unsigned(u32),
    /// `i<w>`
    Signed(u32),
    /// `fixed<i,f>`: the bits before the point, including the sign, and those after it.
    Fixed(u32, u32),
    /// `bytes<n>`
    Bytes(u32),
    /// `text<n>`
    Text(u32),
    /// `bytes` of any length, for a key of a joined table. It has no bits.
    OpenBytes,
    /// `text` of any length, for a key of a joined table. It has no bits.
    OpenText,
    /// `[T; n]`
    Array(TypeId, u32),
    /// `[T; ..n]`: a length and n items.
    Table(TypeId, u32),
    /// `(A, B)`
    Tuple(Vec<TypeId>),
    /// A struct, by its number.
    Struct(u32),
    /// An enum, by its number.
    Enum(u32),
}

/// A struct.
#[derive(Clone, Debug)]
pub struct StructType {
    /// The name.
    pub name: Symbol,
    /// The generic arguments.
    pub generics: Vec<GenericValue>,
    /// The fields, in order.
    pub fields: Vec<(Symbol, TypeId)>,
    /// Whether it is the `Maybe` of the prelude.
    pub is_maybe: bool,
}

/// An enum.
#[derive(Clone, Debug)]
pub struct EnumType {
    /// The name.
    pub name: Symbol,
    /// The variants, in order.
    pub variants: Vec<Symbol>,
}

/// The value of a generic parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GenericValue {
    /// A type.
    Type(TypeId),
    /// A number.
    Number(BigInt),
}

/// The identity of an item: its file and its number there.
pub(crate) type ItemKey = (FileId, u32);

/// The size of a value of a type.
#[derive(Clone, Copy, Debug)]
struct Size {
    bits: u64,
    /// The number of parts: numbers, bits, and the values that contain them.
    parts: u64,
}

impl Size {
    /// Returns the size of a value that contains these.
    fn of_all(held: impl Iterator<Item = Self>) -> Self {
        let nothing = Self { bits: 0, parts: 1 };
        held.fold(nothing, |all, one| Self {
            bits: all.bits.saturating_add(one.bits),
            parts: all.parts.saturating_add(one.parts),
        })
    }

    /// Returns the size of `count` of these, one after another.
    fn times(self, count: u32) -> Self {
        Self {
            bits: self.bits.saturating_mul(count.into()),
            parts: self.parts.saturating_mul(count.into()),
        }
    }
}

/// All types of a program.
#[derive(Clone, Debug, Default)]
pub struct TypeTable {
    kinds: Vec<TypeKind>,
    sizes: Vec<Size>,
    ids: HashMap<TypeKind, TypeId>,
    structs: Vec<StructType>,
    enums: Vec<EnumType>,
    struct_ids: HashMap<(ItemKey, Vec<GenericValue>), TypeId>,
    enum_ids: HashMap<ItemKey, TypeId>,
}

impl TypeTable {
    /// The width of the widest integer and fixed-point number, in bits.
    pub const MAX_NUMBER_BITS: u32 = 4096;
    /// The width of the widest type, in bits.
    pub const MAX_BITS: u64 = 1 << 26;
    /// The greatest number of parts of a value: numbers, bits, and the values that contain them. An
    /// array of values without bits still has parts.
    pub const MAX_PARTS: u64 = 1 << 22;

    /// Returns the type of this kind, and adds it if it is new.
    pub fn add(&mut self, kind: TypeKind) -> TypeId {
        if let Some(&id) = self.ids.get(&kind) {
            return id;
        }
        match &kind {
            // The parts of these types are types themselves.
            TypeKind::Bytes(_) | TypeKind::Text(_) => {
                self.unsigned(8);
            }
            &TypeKind::Table(element, size) => {
                self.unsigned(bits_of(size.into()));
                self.add(TypeKind::Array(element, size));
            }
            _ => {}
        }
        let id = TypeId(self.kinds.len() as u32);
        self.sizes.push(self.size_of(&kind));
        self.kinds.push(kind.clone());
        self.ids.insert(kind, id);
        id
    }

    /// Returns the type of this kind, if the program has it.
    pub(crate) fn find(&self, kind: &TypeKind) -> Option<TypeId> {
        self.ids.get(kind).copied()
    }

    /// Returns the type `bool`.
    pub fn bool(&mut self) -> TypeId {
        self.add(TypeKind::Bool)
    }

    /// Returns the type `u<width>`.
    pub fn unsigned(&mut self, width: u32) -> TypeId {
        self.add(TypeKind::Unsigned(width))
    }

    /// Returns the empty tuple type.
    pub fn unit(&mut self) -> TypeId {
        self.add(TypeKind::Tuple(Vec::new()))
    }

    pub(crate) fn struct_of(&self, key: &(ItemKey, Vec<GenericValue>)) -> Option<TypeId> {
        self.struct_ids.get(key).copied()
    }

    pub(crate) fn add_struct(
        &mut self,
        key: (ItemKey, Vec<GenericValue>),
        ty: StructType,
    ) -> TypeId {
        self.structs.push(ty);
        let id = self.add(TypeKind::Struct(self.structs.len() as u32 - 1));
        self.struct_ids.insert(key, id);
        id
    }

    pub(crate) fn add_enum(&mut self, key: ItemKey, ty: impl FnOnce() -> EnumType) -> TypeId {
        if let Some(&id) = self.enum_ids.get(&key) {
            return id;
        }
        self.enums.push(ty());
        let id = self.add(TypeKind::Enum(self.enums.len() as u32 - 1));
        self.enum_ids.insert(key, id);
        id
    }

    /// Returns the item that declares a struct, and the values of its generics.
    pub(crate) fn origin(&self, id: TypeId) -> Option<&(ItemKey, Vec<GenericValue>)> {
        let mut pairs = self.struct_ids.iter();
        pairs.find(|(_, ty)| **ty == id).map(|(key, _)| key)
    }

    /// Returns the kind of a type.
    pub fn kind(&self, id: TypeId) -> &TypeKind {
        &self.kinds[id.0 as usize]
    }

    /// Returns the width in bits. For a type that is too wide, it is more than
    /// [`TypeTable::MAX_BITS`].
    pub fn width(&self, id: TypeId) -> u64 {
        self.size(id).bits
    }

    /// Whether values of this type would take too much memory.
    pub(crate) fn is_too_large(&self, id: TypeId) -> bool {
        let Size { bits, parts } = self.size(id);
        bits > Self::MAX_BITS || parts > Self::MAX_PARTS
    }

    fn size(&self, id: TypeId) -> Size {
        self.sizes[id.0 as usize]
    }

    /// Returns the struct with this number.
    pub fn struct_type(&self, number: u32) -> &StructType {
        &self.structs[number as usize]
    }

    /// Returns the enum with this number.
    pub fn enum_type(&self, number: u32) -> &EnumType {
        &self.enums[number as usize]
    }

    /// Returns the types of the fields of a struct, a tuple or a table.
    pub fn fields(&self, id: TypeId) -> Vec<TypeId> {
        match self.kind(id) {
            TypeKind::Tuple(parts) => parts.clone(),
            TypeKind::Struct(_) => self.named_fields(id).iter().map(|(_, ty)| *ty).collect(),
            &TypeKind::Table(element, size) => {
                let length = self.ids.get(&TypeKind::Unsigned(bits_of(size.into())));
                let items = self.ids.get(&TypeKind::Array(element, size));
                length.into_iter().chain(items).copied().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the fields of a struct, and none for other types.
    pub fn named_fields(&self, id: TypeId) -> &[(Symbol, TypeId)] {
        match self.kind(id) {
            TypeKind::Struct(number) => &self.struct_type(*number).fields,
            _ => &[],
        }
    }

    /// Returns the number of the field of this name in a struct or tuple.
    pub(crate) fn field(&self, id: TypeId, name: &str) -> Option<usize> {
        if let TypeKind::Tuple(parts) = self.kind(id) {
            return name
                .parse()
                .ok()
                .filter(|number: &usize| *number < parts.len());
        }
        let mut fields = self.named_fields(id).iter();
        fields.position(|(field, _)| field.as_str() == name)
    }

    /// Returns the kind of `count` consecutive elements of an array-like type.
    pub(crate) fn slice(&self, id: TypeId, count: u32) -> TypeKind {
        match self.kind(id) {
            TypeKind::Text(_) => TypeKind::Text(count),
            TypeKind::Array(element, _) => TypeKind::Array(*element, count),
            _ => TypeKind::Bytes(count),
        }
    }

    /// Returns the type and the number of the elements of an array-like type.
    pub fn element(&self, id: TypeId) -> Option<(TypeId, u32)> {
        match self.kind(id) {
            &TypeKind::Array(element, size) => Some((element, size)),
            &TypeKind::Bytes(size) | &TypeKind::Text(size) => {
                let byte = self.ids.get(&TypeKind::Unsigned(8))?;
                Some((*byte, size))
            }
            _ => None,
        }
    }

    fn size_of(&self, kind: &TypeKind) -> Size {
        let one = |bits| Size { bits, parts: 1 };
        let array = |element, n| Size::of_all([Size::times(element, n)].into_iter());
        match kind {
            TypeKind::Bool => one(1),
            TypeKind::Unsigned(width) | TypeKind::Signed(width) => one(u64::from(*width)),
            TypeKind::Fixed(integer, fraction) => one(u64::from(*integer) + u64::from(*fraction)),
            TypeKind::Bytes(n) | TypeKind::Text(n) => array(one(8), *n),
            TypeKind::OpenBytes | TypeKind::OpenText => one(0),
            TypeKind::Array(element, n) => array(self.size(*element), *n),
            TypeKind::Table(element, n) => {
                let items = array(self.size(*element), *n);
                Size::of_all([one(bits_of((*n).into()).into()), items].into_iter())
            }
            TypeKind::Tuple(parts) => Size::of_all(parts.iter().map(|part| self.size(*part))),
            TypeKind::Struct(number) => {
                let fields = &self.struct_type(*number).fields;
                Size::of_all(fields.iter().map(|(_, ty)| self.size(*ty)))
            }
            TypeKind::Enum(number) => {
                let variants = self.enum_type(*number).variants.len() as u64;
                one(bits_of(variants.saturating_sub(1)).into())
            }
        }
    }

    /// Whether any part is `bytes<n>` or `text<n>`.
    pub fn has_bytes(&self, id: TypeId) -> bool {
        let is_such = |id| matches!(self.kind(id), TypeKind::Bytes(_) | TypeKind::Text(_));
        self.any_part(id, &is_such)
    }

    /// Whether any part has no fixed length.
    pub fn is_open(&self, id: TypeId) -> bool {
        let is_such = |id| matches!(self.kind(id), TypeKind::OpenBytes | TypeKind::OpenText);
        self.any_part(id, &is_such)
    }

    /// Whether `is_such` holds for the type or for any part of it.
    fn any_part(&self, id: TypeId, is_such: &dyn Fn(TypeId) -> bool) -> bool {
        let mut parts = match self.kind(id) {
            TypeKind::Array(element, _) | TypeKind::Table(element, _) => vec![*element],
            TypeKind::Tuple(_) | TypeKind::Struct(_) => self.fields(id),
            _ => Vec::new(),
        }
        .into_iter();
        is_such(id) || parts.any(|part| self.any_part(part, is_such))
    }

    /// Whether the type is an integer, signed or not.
    pub fn is_integer(&self, id: TypeId) -> bool {
        matches!(self.kind(id), TypeKind::Unsigned(_) | TypeKind::Signed(_))
    }

    /// Whether the type is an integer or a fixed-point number.
    pub fn is_number(&self, id: TypeId) -> bool {
        self.is_integer(id) || matches!(self.kind(id), TypeKind::Fixed(..))
    }

    /// Returns the least and the greatest integer that represents a value, for numbers and enums.
    pub fn range(&self, id: TypeId) -> Option<(BigInt, BigInt)> {
        let power = |bits: u32| BigInt::one() << bits;
        match self.kind(id) {
            TypeKind::Unsigned(width) => Some((BigInt::ZERO, power(*width) - 1)),
            TypeKind::Signed(width) => Some((-power(width - 1), power(width - 1) - 1)),
            TypeKind::Fixed(integer, fraction) => {
                let width = integer + fraction;
                Some((-power(width - 1), power(width - 1) - 1))
            }
            TypeKind::Enum(number) => {
                let variants = self.enum_type(*number).variants.len();
                Some((BigInt::ZERO, BigInt::from(variants) - 1))
            }
            _ => None,
        }
    }

    /// Wraps a number into the range of a number's type.
    pub fn wrap(&self, id: TypeId, number: BigInt) -> BigInt {
        let width = self.width(id) as u32;
        let low = low_bits(&number, width);
        let is_signed = !matches!(self.kind(id), TypeKind::Unsigned(_));
        if is_signed && low.bit(u64::from(width) - 1) {
            low - (BigInt::one() << width)
        } else {
            low
        }
    }

    /// Returns the value whose bits are all zero.
    pub fn zero(&self, id: TypeId) -> Value {
        match self.kind(id) {
            TypeKind::Bool => Value::Bool(false),
            TypeKind::Unsigned(_)
            | TypeKind::Signed(_)
            | TypeKind::Fixed(..)
            | TypeKind::Enum(_) => Value::Integer(BigInt::ZERO),
            TypeKind::Bytes(n) | TypeKind::Text(n) => {
                Value::List(vec![Value::Integer(BigInt::ZERO); *n as usize])
            }
            TypeKind::OpenBytes | TypeKind::OpenText => Value::List(Vec::new()),
            TypeKind::Array(element, n) => Value::List(vec![self.zero(*element); *n as usize]),
            TypeKind::Table(element, n) => Value::List(vec![
                Value::Integer(BigInt::ZERO),
                Value::List(vec![self.zero(*element); *n as usize]),
            ]),
            TypeKind::Tuple(_) | TypeKind::Struct(_) => {
                let fields = self.fields(id);
                Value::List(fields.into_iter().map(|ty| self.zero(ty)).collect())
            }
        }
    }

    /// Whether the type is a `Maybe`: a bool, and a value that exists if the bool is true.
    pub(crate) fn is_maybe(&self, id: TypeId) -> bool {
        matches!(self.kind(id), TypeKind::Struct(number) if self.struct_type(*number).is_maybe)
    }

    /// Whether the type contains a `Maybe`.
    pub(crate) fn has_maybe(&self, id: TypeId) -> bool {
        self.any_part(id, &|id| self.is_maybe(id))
    }
}

/// Returns the number of bits that it takes to write `number`, at least 1.
pub(crate) fn bits_of(number: u64) -> u32 {
    (64 - number.leading_zeros()).max(1)
}

/// Returns the number modulo 2^width, from 0 on.
pub(crate) fn low_bits(number: &BigInt, width: u32) -> BigInt {
    let mask = (BigInt::one() << width) - 1;
    let low = number & &mask;
    debug_assert!(low.sign() != Sign::Minus);
    low
}
