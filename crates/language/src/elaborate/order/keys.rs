//! The keys that `sorted` and `sorted by` name.

use super::MAX_PARTS;
use crate::diagnostic::Diagnostic;
use crate::elaborate::term::Term;
use crate::elaborate::{Binding, Done, Elaborator, Lambda};
use crate::program::{COMPUTED, InputPort, SortKey, TypeId, TypeKind, TypeTable};
use crate::source::{Span, Symbol};
use crate::syntax::{
    self, ExpressionKind as Syntax, PatternKind, SortedClause, TypeExpressionKind,
};

/// The length of the longest text of a lambda that is compared with others.
const MAX_TEXT: usize = 256;

impl Elaborator<'_> {
    /// Returns the keys by which a function's arguments and its result are in order.
    pub(in crate::elaborate) fn sort_keys(
        &mut self,
        function: &syntax::Function,
        types: &[TypeId],
        result: TypeId,
        lambdas: &[u32],
    ) -> Done<(Vec<Option<SortKey>>, Option<SortKey>)> {
        let (is_lambda, is_value): (Vec<_>, Vec<_>) = function
            .parameters
            .iter()
            .partition(|p| matches!(p.ty.kind, TypeExpressionKind::Function));
        let names = is_lambda.iter().map(|parameter| &parameter.name.name);
        let named: Vec<_> = names.zip(lambdas.iter().copied()).collect();
        let mut keys = Vec::with_capacity(types.len());
        for (parameter, ty) in is_value.iter().zip(types) {
            keys.push(match &parameter.sorted {
                Some(sorted) => self.sort_key(*ty, sorted, &named)?,
                None => None,
            });
        }
        let of_result = match &function.result_sorted {
            Some(sorted) => self.sort_key(result, sorted, &named)?,
            None => None,
        };
        Ok((keys, of_result))
    }

    /// Returns the key that `sorted` names for an array of type `ty`. The rows of a table have no
    /// key, since zeros follow them.
    pub(in crate::elaborate) fn sort_key(
        &mut self,
        ty: TypeId,
        sorted: &SortedClause,
        lambdas: &[(&Symbol, u32)],
    ) -> Done<Option<SortKey>> {
        let Some(element) = self.element_hint(ty) else {
            let message = format!("a `{}` has no order", self.type_name(ty));
            return self.fail(Diagnostic::new(sorted.span, message));
        };
        let by = sorted.by.as_ref();
        let lambda = by.and_then(|by| lambdas.iter().find(|(name, _)| **name == by.name));
        if let Some((_, lambda)) = lambda {
            return Ok(Some(self.key_of_lambda(*lambda, element)));
        }
        if let Some(by) = by
            && self.program.types.field(element, by.as_str()).is_none()
        {
            let name = self.type_name(element);
            let message = format!("`{name}` has no field `{}`", by.name);
            return self.fail(Diagnostic::new(by.span, message));
        }
        Ok(key_by(&self.program.types, ty, by.map(|by| &by.name)))
    }

    /// Returns the parts of an element that a lambda returns.
    fn key_of_lambda(&mut self, number: u32, element: TypeId) -> SortKey {
        let Lambda {
            parameters, body, ..
        } = self.lambdas[number as usize];
        let name = match parameters {
            [pattern] => match &pattern.kind {
                PatternKind::Name(_, name) => Some(name.as_str()),
                _ => None,
            },
            _ => None,
        };
        let parts = match (&body.kind, name) {
            (Syntax::Tuple(parts), Some(_)) => &parts[..],
            _ => std::slice::from_ref(body),
        };
        let mut key = Vec::new();
        for part in parts {
            let types = &self.program.types;
            match name.and_then(|name| part_of_element(types, part, name, element)) {
                Some((path, ty)) => key.extend(leaves(types, ty, &path)),
                None => key.push(vec![COMPUTED, self.computed(number, part.span, element)]),
            }
        }
        key
    }

    /// Returns the number of the value that a lambda computes from an element. Lambdas share a
    /// number if their texts are equal and their names have the same meanings. If the meanings
    /// include more than numbers, types and lambdas, the number is for this lambda alone.
    fn computed(&mut self, number: u32, part: Span, element: TypeId) -> u32 {
        let lambda = &self.lambdas[number as usize];
        let map = self.loaded.source_map();
        let parameters = lambda.parameters.iter().map(|one| map.text(one.span));
        let parameters: Vec<&str> = parameters.collect();
        let text = format!("|{}| {}", parameters.join(", "), map.text(part));
        let is_plain = |binding: &Binding| match binding {
            Binding::Type(_) | Binding::Lambda(_) => true,
            Binding::Term(term) => matches!(term, Term::Integer(_)),
            Binding::Local(..) | Binding::Table | Binding::Pairs(..) | Binding::Broken(_) => false,
        };
        let names = || {
            let names = lambda.names.iter();
            names.filter(|(name, _)| text.contains(name.as_str()))
        };
        let written = if text.len() <= MAX_TEXT && names().all(|(_, to)| is_plain(to)) {
            format!("{text} {:?}", names().collect::<Vec<_>>())
        } else {
            format!("{number} {part:?}")
        };
        let next = self.computed.len() as u32;
        let of = (lambda.module, element, written);
        *self.computed.entry(of).or_insert(next)
    }
}

/// Returns the fields that lead from the element `name` to `part`, and the type of `part`.
fn part_of_element(
    types: &TypeTable,
    part: &syntax::Expression,
    name: &str,
    element: TypeId,
) -> Option<(Vec<u32>, TypeId)> {
    match &part.kind {
        Syntax::Path(path) if path.as_name()?.as_str() == name => Some((Vec::new(), element)),
        Syntax::Field(of, by) => {
            let (mut path, ty) = part_of_element(types, of, name, element)?;
            let number = types.field(ty, by.as_str())?;
            path.push(number as u32);
            Some((path, *types.fields(ty).get(number)?))
        }
        _ => None,
    }
}

/// Returns the key of an array whose elements ascend, possibly by a field.
fn key_by(types: &TypeTable, ty: TypeId, by: Option<&Symbol>) -> Option<SortKey> {
    let &TypeKind::Array(element, _) = types.kind(ty) else {
        return None;
    };
    match by {
        None => Some(leaves(types, element, &[])),
        Some(by) => {
            let number = types.field(element, by.as_str())?;
            let ty = *types.fields(element).get(number)?;
            Some(leaves(types, ty, &[number as u32]))
        }
    }
}

/// Returns the key by which an input is in order.
pub(in crate::elaborate) fn key_of_input(types: &TypeTable, input: &InputPort) -> Option<SortKey> {
    let by = input.sorted.as_ref()?;
    key_by(types, input.ty, by.as_ref())
}

/// Returns the parts at `path` without fields, in the order in which they are compared.
pub(super) fn leaves(types: &TypeTable, ty: TypeId, path: &[u32]) -> SortKey {
    let mut found = Vec::new();
    if take_apart(types, ty, &mut path.to_vec(), &mut found) {
        found
    } else {
        vec![path.to_vec()]
    }
}

/// Collects the parts without fields. Returns false if there are too many.
fn take_apart(types: &TypeTable, ty: TypeId, path: &mut Vec<u32>, found: &mut SortKey) -> bool {
    if !matches!(types.kind(ty), TypeKind::Struct(_) | TypeKind::Tuple(_)) {
        found.push(path.clone());
        return found.len() <= MAX_PARTS;
    }
    types
        .fields(ty)
        .into_iter()
        .enumerate()
        .all(|(number, ty)| {
            path.push(number as u32);
            let is_few = take_apart(types, ty, path, found);
            path.pop();
            is_few
        })
}

/// Returns the body of a lambda of `v` that orders elements by these parts.
pub(super) fn text(types: &TypeTable, element: TypeId, key: &SortKey) -> String {
    let part = |path: &Vec<u32>| {
        let (mut text, mut ty) = ("v".to_owned(), element);
        for &field in path {
            text += &match types.kind(ty) {
                TypeKind::Struct(number) => {
                    format!(".{}", types.struct_type(*number).fields[field as usize].0)
                }
                _ => format!(".{field}"),
            };
            ty = types.fields(ty)[field as usize];
        }
        text
    };
    let parts: Vec<String> = key.iter().map(part).collect();
    match &parts[..] {
        [one] => one.clone(),
        parts => format!("({})", parts.join(", ")),
    }
}
