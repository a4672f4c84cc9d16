//! Tuples, arrays and structs.

use super::names::Meaning;
use super::term::{Term, aggregate};
use super::{Binding, Done, Elaborator};
use crate::diagnostic::Diagnostic;
use crate::load::Definition;
use crate::program::{Expression, ExpressionKind, ItemKey, TypeId, TypeKind, Value};
use crate::source::Span;
use crate::syntax::{self, FieldValue, Ident, ItemKind, Path, StructItem};

impl<'a> Elaborator<'a> {
    pub(super) fn tuple(
        &mut self,
        parts: &'a [syntax::Expression],
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        if parts.is_empty() {
            return Ok(self.unit(span));
        }
        let hints = match hint.map(|ty| self.program.types.kind(ty).clone()) {
            Some(TypeKind::Tuple(types)) if types.len() == parts.len() => {
                types.into_iter().map(Some).collect()
            }
            _ => vec![None; parts.len()],
        };
        let mut terms = Vec::with_capacity(parts.len());
        for (part, hint) in parts.iter().zip(hints) {
            terms.push((self.expression(part, hint)?, part.span));
        }
        self.parts(terms, true, span)
    }

    pub(super) fn array(
        &mut self,
        parts: &'a [syntax::Expression],
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let expected = hint;
        let mut hint = hint.and_then(|ty| self.element_hint(ty));
        let mut terms = Vec::with_capacity(parts.len());
        for part in parts {
            let term = self.expression(part, hint)?;
            hint = hint.or(term.ty());
            terms.push((term, part.span));
        }
        if let Some(ty) = expected
            && matches!(self.program.types.kind(ty), TypeKind::Table(..))
        {
            return Ok(Term::Value(self.meet(
                Term::List(terms, false),
                ty,
                span,
            )?));
        }
        self.parts(terms, false, span)
    }

    /// Returns the type of the elements of an array or table.
    pub(super) fn element_hint(&self, ty: TypeId) -> Option<TypeId> {
        match self.program.types.kind(ty) {
            TypeKind::Array(element, _) | TypeKind::Table(element, _) => Some(*element),
            _ => None,
        }
    }

    /// Makes a value of several parts once all of them have a type.
    pub(super) fn parts(
        &mut self,
        parts: Vec<(Term, Span)>,
        is_tuple: bool,
        span: Span,
    ) -> Done<Term> {
        let is_open = parts.is_empty() || parts.iter().any(|(part, _)| part.ty().is_none());
        let list = Term::List(parts, is_tuple);
        if is_open {
            return Ok(list);
        }
        Ok(Term::Value(self.typed(list, span)?))
    }

    pub(super) fn repeat(
        &mut self,
        element: &'a syntax::Expression,
        size: &'a syntax::Expression,
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let count = self.const_integer(size, "the length of an array")?;
        let Ok(count) = u32::try_from(&count) else {
            return self.fail(Diagnostic::new(
                size.span,
                format!("{count} is not a length"),
            ));
        };
        let hint = hint.and_then(|ty| self.element_hint(ty));
        let term = self.expression(element, hint)?;
        // A small number of parts can each meet their type later.
        let is_open = term.ty().is_none() && hint.is_none();
        if is_open && count <= 1 << 16 && !term.has_effects() {
            let parts = vec![(term, element.span); count as usize];
            return Ok(Term::List(parts, false));
        }
        let value = self.typed_or_met(term, hint, element.span)?;
        let ty = self.sized(TypeKind::Array(value.ty, count), span)?;
        let kind = match value.as_constant() {
            Some(constant) => {
                ExpressionKind::Constant(Value::List(vec![constant.clone(); count as usize]))
            }
            None => ExpressionKind::Repeat(Box::new(value)),
        };
        Ok(Term::Value(Expression::new(kind, ty, span)))
    }

    pub(super) fn struct_value(
        &mut self,
        path: &'a Path,
        given: &'a [FieldValue],
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        if let Some((key, item)) = self.open_struct(path, hint)? {
            return self.struct_told_by_fields((key, item), path, given, span);
        }
        let ty = self.struct_named(path, hint)?;
        let &TypeKind::Struct(number) = self.program.types.kind(ty) else {
            let message = format!("`{}` is not a struct", path.last().name);
            return self.fail(Diagnostic::new(path.span, message));
        };
        let declared = self.program.types.struct_type(number).fields.clone();
        let mut values: Vec<Option<Expression>> = vec![None; declared.len()];
        let mut fields: Vec<Option<&FieldValue>> = vec![None; declared.len()];
        let mut last_error = None;
        for field in given {
            let Some(place) = declared
                .iter()
                .position(|(name, _)| *name == field.name.name)
            else {
                let names = declared.iter().map(|(name, _)| name.as_str());
                return self.no_such_field(path, &field.name, names.collect());
            };
            if fields[place].is_some() {
                return self.given_twice(&field.name);
            }
            fields[place] = Some(field);
        }
        // The order is that of the declaration, in which the fields are computed.
        for ((value, field), (_, ty)) in values.iter_mut().zip(fields).zip(&declared) {
            match field.map(|field| self.field_value(field, *ty)) {
                Some(Ok(made)) => *value = Some(made),
                Some(Err(reported)) => last_error = Some(reported),
                None => {}
            }
        }
        if let Some(reported) = last_error {
            return Err(reported);
        }
        let names = declared.iter().zip(&values);
        let missing: Vec<&str> = names
            .filter(|(_, value)| value.is_none())
            .map(|((name, _), _)| name.as_str())
            .collect();
        if !missing.is_empty() {
            let message = format!("this `{}` lacks {}", path.last().name, missing.join(", "));
            return self.fail(Diagnostic::new(span, message));
        }
        let values = values.into_iter().flatten().collect();
        Ok(Term::Value(aggregate(values, ty, span)))
    }

    /// Returns the generic struct whose generics are given neither by the value's path nor by the
    /// expected type.
    fn open_struct(
        &mut self,
        path: &'a Path,
        hint: Option<TypeId>,
    ) -> Done<Option<(ItemKey, &'a StructItem)>> {
        let Meaning::Definition(Definition::Item(key)) = self.meaning(path)? else {
            return Ok(None);
        };
        let ItemKind::Struct(item) = &self.loaded.item(key).kind else {
            return Ok(None);
        };
        let origin = hint.and_then(|ty| self.program.types.origin(ty));
        let is_told = item.generics.is_empty()
            || !path.generics.is_empty()
            || origin.is_some_and(|(origin, _)| *origin == key);
        Ok((!is_told).then_some((key, item)))
    }

    /// Makes a struct whose generics are inferred from its fields, as a call infers them from its
    /// arguments.
    fn struct_told_by_fields(
        &mut self,
        (key, item): (ItemKey, &'a StructItem),
        path: &'a Path,
        given: &'a [FieldValue],
        span: Span,
    ) -> Done<Term> {
        let mut bound = vec![None; item.generics.len()];
        let mut terms: Vec<Option<(Term, Span)>> = vec![None; item.fields.len()];
        for field in given {
            let mut fields = item.fields.iter();
            let Some(place) = fields.position(|(name, _)| name.name == field.name.name) else {
                let names = item.fields.iter().map(|(name, _)| name.as_str());
                return self.no_such_field(path, &field.name, names.collect());
            };
            let declared = &item.fields[place].1;
            let expected = self.known_type(key, &item.generics, &bound, declared);
            let term = self.field_term(field, expected)?;
            if let Some(ty) = term.ty() {
                self.unify(key, &item.generics, declared, ty, &mut bound);
            }
            if terms[place].replace((term, field.span())).is_some() {
                return self.given_twice(&field.name);
            }
        }
        if let Some((name, _)) = item
            .fields
            .iter()
            .zip(&terms)
            .find_map(|(field, term)| term.is_none().then_some(field))
        {
            let message = format!("this `{}` lacks {}", path.last().name, name.name);
            return self.fail(Diagnostic::new(span, message));
        }
        if let Some((generic, _)) = item.generics.iter().zip(&bound).find(|(_, b)| b.is_none()) {
            let name = &path.last().name;
            let message = format!(
                "the fields do not tell the `{}` of `{name}`",
                generic.name.name
            );
            let names: Vec<&str> = item.generics.iter().map(|g| g.name.as_str()).collect();
            let help = format!("write `{name}::<{}> {{ … }}`", names.join(", "));
            return self.fail(Diagnostic::new(path.span, message).help(help));
        }
        let ty = self.instance_type(key, bound.into_iter().flatten().collect(), path.span)?;
        let types = self.program.types.fields(ty);
        let values = self.meet_all(terms.into_iter().flatten(), types)?;
        Ok(Term::Value(aggregate(values, ty, span)))
    }

    fn no_such_field<T>(&mut self, path: &Path, field: &Ident, names: Vec<&str>) -> Done<T> {
        let message = format!("`{}` has no field `{}`", path.last().name, field.name);
        let error = Diagnostic::new(field.span, message);
        self.fail(error.help(format!("its fields are {}", names.join(", "))))
    }

    fn given_twice<T>(&mut self, field: &Ident) -> Done<T> {
        let message = format!("`{}` is given twice", field.name);
        self.fail(Diagnostic::new(field.span, message))
    }

    fn field_value(&mut self, field: &'a FieldValue, ty: TypeId) -> Done<Expression> {
        let term = self.field_term(field, Some(ty))?;
        self.meet(term, ty, field.span())
    }

    fn field_term(&mut self, field: &'a FieldValue, hint: Option<TypeId>) -> Done<Term> {
        if let Some(value) = &field.value {
            return self.expression(value, hint);
        }
        let path = Path::of(field.name.clone());
        match self.meaning(&path)? {
            Meaning::Binding(Binding::Local(local, _)) => Ok(self.read_local(local, path.span)),
            Meaning::Binding(Binding::Term(term)) => Ok(term),
            _ => {
                let message = format!("`{}` is not a variable", field.name.name);
                let error = Diagnostic::new(path.span, message);
                self.fail(error.help(format!("write `{}: …`", field.name.name)))
            }
        }
    }
}
