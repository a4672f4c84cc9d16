//! Tuples, arrays and structs.

use super::expression::read_of;
use super::names::Meaning;
use super::term::{Term, aggregate};
use super::{Binding, Done, Elaborator};
use crate::diagnostic::Diagnostic;
use crate::program::{Expression, ExpressionKind, Root, TypeId, TypeKind, Value};
use crate::source::Span;
use crate::syntax::{self, FieldValue, Path};

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

    /// The type of the elements of an array or table.
    pub(super) fn element_hint(&self, ty: TypeId) -> Option<TypeId> {
        match self.program.types.kind(ty) {
            TypeKind::Array(element, _) | TypeKind::Table(element, _) => Some(*element),
            _ => None,
        }
    }

    /// Parts in a row, as a value where each has its type.
    pub(super) fn parts(
        &mut self,
        parts: Vec<(Term, Span)>,
        is_tuple: bool,
        span: Span,
    ) -> Done<Term> {
        let all_typed = parts.iter().all(|(part, _)| part.ty().is_some());
        let list = Term::List(parts, is_tuple);
        match all_typed {
            true => {
                let Term::List(parts, _) = &list else {
                    return Ok(list);
                };
                if parts.is_empty() {
                    return Ok(list);
                }
                Ok(Term::Value(self.typed(list, span)?))
            }
            false => Ok(list),
        }
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
        let value = match (term, hint) {
            (term @ Term::Value(_), _) => self.typed(term, element.span)?,
            (term, Some(ty)) => self.meet(term, ty, element.span)?,
            // Each of a few parts meets its type later.
            (term, None) if count <= 1 << 16 && !term.has_effects() => {
                return Ok(Term::List(
                    vec![(term, element.span); count as usize],
                    false,
                ));
            }
            (term, None) => self.typed(term, element.span)?,
        };
        let ty = self.sized(TypeKind::Array(value.ty, count), span)?;
        let kind = match value.as_constant() {
            Some(constant) => {
                ExpressionKind::Constant(Value::List(vec![constant.clone(); count as usize]))
            }
            None => ExpressionKind::Repeat(Box::new(value)),
        };
        Ok(Term::Value(Expression { kind, ty, span }))
    }

    pub(super) fn struct_value(
        &mut self,
        path: &'a Path,
        given: &'a [FieldValue],
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
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
                let names: Vec<&str> = declared.iter().map(|(name, _)| name.as_str()).collect();
                let message = format!("`{}` has no field `{}`", path.last().name, field.name.name);
                let error = Diagnostic::new(field.name.span, message);
                return self.fail(error.help(format!("its fields are {}", names.join(", "))));
            };
            if fields[place].is_some() {
                let message = format!("`{}` is given twice", field.name.name);
                return self.fail(Diagnostic::new(field.name.span, message));
            }
            fields[place] = Some(field);
        }
        // In the order of the declaration, in which they are computed.
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

    fn field_value(&mut self, field: &'a FieldValue, ty: TypeId) -> Done<Expression> {
        if let Some(value) = &field.value {
            return self.value(value, ty);
        }
        let path = Path {
            segments: vec![field.name.clone()],
            generics: Vec::new(),
            span: field.name.span,
        };
        let term = match self.meaning(&path)? {
            Meaning::Binding(Binding::Local(local, _)) => {
                let ty = self.context.locals[local.0 as usize].ty;
                read_of(Root::Local(local), ty, path.span)
            }
            Meaning::Binding(Binding::Term(term)) => term,
            _ => {
                let message = format!("`{}` is not a variable", field.name.name);
                let error = Diagnostic::new(path.span, message);
                return self.fail(error.help(format!("write `{}: …`", field.name.name)));
            }
        };
        self.meet(term, ty, path.span)
    }
}
