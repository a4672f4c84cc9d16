//! From type expressions to types of known size.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::constants::generic_context;
use super::names::Meaning;
use super::{Binding, Done, Elaborator};
use crate::diagnostic::Diagnostic;
use crate::load::Definition;
use crate::program::{EnumType, GenericValue, ItemKey, StructType, TypeId, TypeKind, TypeTable};
use crate::source::Span;
use crate::syntax::{
    Expression, ExpressionKind, Generic, GenericArgument, ItemKind, Path, StructItem,
    TypeExpression, TypeExpressionKind,
};

impl<'a> Elaborator<'a> {
    pub(super) fn ty(&mut self, ty: &'a TypeExpression) -> Done<TypeId> {
        self.deeper(ty.span, |this| this.ty_inside(ty))
    }

    fn ty_inside(&mut self, ty: &'a TypeExpression) -> Done<TypeId> {
        let kind = match &ty.kind {
            TypeExpressionKind::Named(path) => return self.named_type(path),
            TypeExpressionKind::Array(element, size) => {
                let element = self.ty(element)?;
                TypeKind::Array(element, self.size(size, 0)?)
            }
            TypeExpressionKind::Table(element, size) => {
                let element = self.ty(element)?;
                TypeKind::Table(element, self.size(size, 1)?)
            }
            TypeExpressionKind::Tuple(parts) => TypeKind::Tuple(
                parts
                    .iter()
                    .map(|part| self.ty(part))
                    .collect::<Done<_>>()?,
            ),
            TypeExpressionKind::Function => {
                let error = Diagnostic::new(ty.span, "only a parameter of a function is a lambda");
                return self.fail(error);
            }
        };
        self.sized(kind, ty.span)
    }

    /// Returns the type of this kind, unless it is too wide.
    pub(super) fn sized(&mut self, kind: TypeKind, span: Span) -> Done<TypeId> {
        let ty = self.program.types.add(kind);
        self.small_enough(ty, span)
    }

    /// Returns a type, unless its values would take too much memory.
    fn small_enough(&mut self, ty: TypeId, span: Span) -> Done<TypeId> {
        if !self.program.types.is_too_large(ty) {
            return Ok(ty);
        }
        let message = "a value of this type has more than 2^26 bits or 2^22 parts";
        self.fail(Diagnostic::new(span, message))
    }

    /// Elaborates a size in elements or bits: a const from `least` to below 2^30.
    pub(super) fn size(&mut self, size: &'a Expression, least: u32) -> Done<u32> {
        let number = self.const_integer(size, "a size")?;
        self.size_of(&number, least, size.span)
    }

    fn size_of(&mut self, number: &BigInt, least: u32, span: Span) -> Done<u32> {
        match number.to_u32() {
            Some(size) if size >= least && size <= 1 << 30 => Ok(size),
            _ => {
                let message = format!("{number} is not a valid size");
                let error = Diagnostic::new(span, message);
                self.fail(error.help(format!("a size is from {least} to 2^30")))
            }
        }
    }

    fn named_type(&mut self, path: &'a Path) -> Done<TypeId> {
        if let [name] = &path.segments[..] {
            // Variables hide no type: a counter may be called `i`.
            let is_hidden = matches!(self.binding(name.as_str()), Some(Binding::Type(_)));
            if !is_hidden && let Some(result) = self.builtin_type(name.as_str(), path) {
                return result;
            }
        }
        match self.meaning(path)? {
            Meaning::Binding(Binding::Type(ty)) => Ok(ty),
            Meaning::Definition(Definition::Item(key)) => self.declared_type(key, path),
            _ => self.no_type(path),
        }
    }

    fn no_type<T>(&mut self, path: &Path) -> Done<T> {
        let message = format!("`{}` is not a type", path.last().name);
        self.fail(Diagnostic::new(path.span, message))
    }

    /// Returns `bool`, `u32`, `u<W>`, `fixed<I, F>` and similar types.
    fn builtin_type(&mut self, name: &str, path: &'a Path) -> Option<Done<TypeId>> {
        let sizes = match name {
            "bool" => 0,
            "u" | "i" | "bytes" | "text" => 1,
            "fixed" => 2,
            _ => return self.numbered_type(name, path),
        };
        Some(self.builtin_of(name, sizes, path))
    }

    /// Returns types such as `u32` and `i12`.
    fn numbered_type(&mut self, name: &str, path: &Path) -> Option<Done<TypeId>> {
        let digits = name.strip_prefix(['u', 'i'])?;
        let plain = !digits.is_empty()
            && (!digits.starts_with('0') || digits == "0")
            && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !plain || !path.generics.is_empty() {
            return None;
        }
        let width = digits.parse().unwrap_or(u32::MAX);
        Some(self.number_type(name, width, path.span))
    }

    fn number_type(&mut self, name: &str, width: u32, span: Span) -> Done<TypeId> {
        if !(1..=TypeTable::MAX_NUMBER_BITS).contains(&width) {
            let message = format!("an integer of {width} bits");
            let error = Diagnostic::new(span, message);
            return self.fail(error.help("integers have 1 to 4096 bits"));
        }
        let kind = if name.starts_with('u') {
            TypeKind::Unsigned(width)
        } else {
            TypeKind::Signed(width)
        };
        Ok(self.program.types.add(kind))
    }

    fn builtin_of(&mut self, name: &str, sizes: usize, path: &'a Path) -> Done<TypeId> {
        if path.generics.len() != sizes {
            let example = match name {
                "bool" => "bool",
                "u" => "u<12>` or `u12",
                "i" => "i<12>` or `i12",
                "fixed" => "fixed<8, 16>",
                "bytes" => "bytes<16>",
                _ => "text<16>",
            };
            let sizes = match sizes {
                0 => "no size",
                1 => "one size",
                _ => "two sizes",
            };
            let error = Diagnostic::new(path.span, format!("`{name}` takes {sizes}"));
            return self.fail(error.help(format!("write `{example}`")));
        }
        let mut numbers = Vec::new();
        for generic in &path.generics {
            let number = self.generic_number(generic)?;
            let least = u32::from(numbers.is_empty());
            numbers.push(self.size_of(&number, least, path.span)?);
        }
        match (name, &numbers[..]) {
            ("bool", _) => Ok(self.program.types.bool()),
            ("u" | "i", &[width]) => self.number_type(name, width, path.span),
            ("bytes", &[n]) => self.sized(TypeKind::Bytes(n), path.span),
            ("text", &[n]) => self.sized(TypeKind::Text(n), path.span),
            (_, &[integer, fraction]) => {
                if u64::from(integer) + u64::from(fraction) > TypeTable::MAX_NUMBER_BITS.into() {
                    let message = "a fixed-point number of more than 4096 bits";
                    return self.fail(Diagnostic::new(path.span, message));
                }
                Ok(self.program.types.add(TypeKind::Fixed(integer, fraction)))
            }
            _ => self.no_type(path),
        }
    }

    /// Returns the number between angle brackets.
    fn generic_number(&mut self, generic: &'a GenericArgument) -> Done<BigInt> {
        match generic {
            GenericArgument::Number(number) => self.const_integer(number, "a size"),
            GenericArgument::Type(ty) => match &ty.kind {
                TypeExpressionKind::Named(path) => {
                    let term = self.path(path)?;
                    self.integer_of(term, path.span, "a size")
                }
                _ => {
                    let error = Diagnostic::new(ty.span, "a number is expected, not a type");
                    self.fail(error)
                }
            },
        }
    }

    /// Returns the values of a declaration's generics.
    pub(super) fn generic_values(
        &mut self,
        declared: &[Generic],
        given: &'a [GenericArgument],
        span: Span,
    ) -> Done<Vec<GenericValue>> {
        if given.len() > declared.len() {
            let message = format!(
                "{} generics where {} are declared",
                given.len(),
                declared.len()
            );
            return self.fail(Diagnostic::new(span, message));
        }
        let mut values = Vec::with_capacity(given.len());
        for (generic, argument) in declared.iter().zip(given) {
            values.push(match (generic.is_const, argument) {
                (true, _) => GenericValue::Number(self.generic_number(argument)?),
                (false, GenericArgument::Type(ty)) => GenericValue::Type(self.ty(ty)?),
                (false, GenericArgument::Number(number)) => {
                    let message = format!("`{}` is a type, not a number", generic.name.name);
                    return self.fail(Diagnostic::new(number.span, message));
                }
            });
        }
        Ok(values)
    }

    fn declared_type(&mut self, key: ItemKey, path: &'a Path) -> Done<TypeId> {
        let item = self.loaded.item(key);
        let declared = match &item.kind {
            ItemKind::Struct(item) => &item.generics[..],
            ItemKind::Type(_, generics, _) => &generics[..],
            ItemKind::Enum(_) => &[],
            _ => return self.no_type(path),
        };
        let generics = self.generic_values(declared, &path.generics, path.span)?;
        if generics.len() < declared.len() {
            let names: Vec<&str> = declared.iter().map(|g| g.name.as_str()).collect();
            let message = format!("`{}` needs its generics", path.last().name);
            let error = Diagnostic::new(path.span, message);
            let help = format!("write `{}<{}>`", path.last().name, names.join(", "));
            return self.fail(error.help(help));
        }
        self.instance_type(key, generics, path.span)
    }

    /// Returns the type that an item declares, with these generics.
    pub(super) fn instance_type(
        &mut self,
        key: ItemKey,
        generics: Vec<GenericValue>,
        span: Span,
    ) -> Done<TypeId> {
        let loaded = self.loaded;
        match &loaded.item(key).kind {
            ItemKind::Enum(item) => {
                if item.variants.is_empty() || item.variants.len() > 1 << 16 {
                    let error = Diagnostic::new(item.name.span, "an enum has 1 to 65,536 variants");
                    return self.fail(error);
                }
                let variants = || item.variants.iter().map(|v| v.name.clone()).collect();
                Ok(self.program.types.add_enum(key, || EnumType {
                    name: item.name.name.clone(),
                    variants: variants(),
                }))
            }
            ItemKind::Struct(item) => {
                let id = (key, generics);
                match self.program.types.struct_of(&id) {
                    Some(ty) => Ok(ty),
                    None => self.new_struct(id, item, span),
                }
            }
            ItemKind::Type(_, declared, ty) => self.open(key, span, |this| {
                let context = generic_context(key.0, declared, &generics);
                this.within(context, |this| this.ty(ty)).0
            }),
            _ => {
                let error = Diagnostic::new(span, "this is not a type");
                self.fail(error)
            }
        }
    }

    /// Runs `work` unless the type contains itself.
    fn open<T>(
        &mut self,
        key: ItemKey,
        span: Span,
        work: impl FnOnce(&mut Self) -> Done<T>,
    ) -> Done<T> {
        if self.open_types.contains(&key) {
            let error = Diagnostic::new(span, "this type is part of itself");
            return self.fail(error);
        }
        self.open_types.push(key);
        let result = work(self);
        self.open_types.pop();
        result
    }

    fn new_struct(
        &mut self,
        id: (ItemKey, Vec<GenericValue>),
        item: &'a StructItem,
        span: Span,
    ) -> Done<TypeId> {
        let context = generic_context(id.0.0, &item.generics, &id.1);
        let fields = self.open(id.0, span, |this| {
            this.within(context, |this| {
                let mut fields = Vec::with_capacity(item.fields.len());
                for (name, ty) in &item.fields {
                    if fields.iter().any(|(other, _)| *other == name.name) {
                        let message = format!("two fields `{}`", name.name);
                        return this.fail(Diagnostic::new(name.span, message));
                    }
                    let open = this.open_field(ty);
                    fields.push((name.name.clone(), open.map_or_else(|| this.ty(ty), Ok)?));
                }
                Ok(fields)
            })
            .0
        })?;
        let ty = StructType {
            name: item.name.name.clone(),
            generics: id.1.clone(),
            fields,
            is_maybe: item.name.as_str() == "Maybe" && self.loaded.is_std(id.0.0),
        };
        let ty = self.program.types.add_struct(id, ty);
        self.small_enough(ty, item.name.span)
    }

    /// Returns the type of a field that is `bytes` or `text` without a length.
    fn open_field(&mut self, ty: &TypeExpression) -> Option<TypeId> {
        let TypeExpressionKind::Named(path) = &ty.kind else {
            return None;
        };
        let name = path.as_name()?.as_str();
        if matches!(self.binding(name), Some(Binding::Type(_))) {
            return None;
        }
        let kind = match name {
            "bytes" => TypeKind::OpenBytes,
            "text" => TypeKind::OpenText,
            _ => return None,
        };
        Some(self.program.types.add(kind))
    }

    /// Returns the struct type that a struct's value names. Its generics may be left out if the
    /// expected type determines them.
    pub(super) fn struct_named(&mut self, path: &'a Path, hint: Option<TypeId>) -> Done<TypeId> {
        if let Meaning::Definition(Definition::Item(key)) = self.meaning(path)? {
            let hinted = hint.and_then(|ty| Some((ty, self.program.types.origin(ty)?)));
            if let Some((ty, (origin, _))) = hinted
                && *origin == key
                && path.generics.is_empty()
            {
                return Ok(ty);
            }
        }
        self.named_type(path)
    }

    /// Returns the enum that an expression names, for loops over its variants.
    pub(super) fn as_enum_type(&mut self, over: &'a Expression) -> Option<Done<TypeId>> {
        let ExpressionKind::Path(path) = &over.kind else {
            return None;
        };
        let name = path.as_name()?;
        if self.binding(name.as_str()).is_some() {
            return None;
        }
        match self.loaded.lookup(self.context.module, name.as_str())? {
            Definition::Item(key) => match &self.loaded.item(key).kind {
                ItemKind::Enum(_) | ItemKind::Type(..) => Some(self.named_type(path)),
                _ => None,
            },
            Definition::Builtin(_) => None,
        }
    }
}
