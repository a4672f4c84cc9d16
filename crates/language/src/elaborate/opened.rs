//! The opened results of a run. A `Maybe` without a value holds zero, so that the content of an
//! absent row is never revealed. A `Maybe` from the standard library has this property already.

use std::collections::HashMap;

use super::Elaborator;
use super::generics::mentions;
use crate::program::{
    Body, Expression, ExpressionKind, Function, GenericValue, Intrinsic, LocalId, TypeKind,
};

impl Elaborator<'_> {
    /// Hides the values that the results of a run hold but do not reveal.
    pub(super) fn open_results(&mut self, function: &mut Function) {
        if !self.program.types.has_maybe(function.result) {
            return;
        }
        let hidden = self.hides(&function.values().0, &function.body);
        let Body::Block(block) = &mut function.body else {
            return;
        };
        let is_tuple = matches!(self.program.types.kind(block.value.ty), TypeKind::Tuple(_));
        match &mut block.value.kind {
            ExpressionKind::Aggregate(parts) if is_tuple => {
                for (part, is_hidden) in parts.iter_mut().zip(hidden) {
                    self.hide(part, is_hidden);
                }
            }
            _ => self.hide(&mut block.value, hidden[0]),
        }
    }

    fn hide(&mut self, value: &mut Expression, is_hidden: bool) {
        if is_hidden || !self.program.types.has_maybe(value.ty) {
            return;
        }
        let (ty, span) = (value.ty, value.span);
        let kind = ExpressionKind::Constant(crate::program::Value::UNIT);
        let inner = std::mem::replace(value, Expression::new(kind, ty, span));
        *value = self.intrinsic(Intrinsic::Opened, vec![inner], ty, span);
    }

    /// Returns for each part of a result whether the standard library made it a `Maybe`.
    fn hides(&self, values: &HashMap<LocalId, &Expression>, body: &Body) -> Vec<bool> {
        let Body::Block(block) = body else {
            return Vec::new();
        };
        match &block.value.kind {
            ExpressionKind::Aggregate(parts) => {
                let parts = parts.iter();
                parts.map(|part| self.is_of_std(values, part)).collect()
            }
            _ => vec![self.is_of_std(values, &block.value)],
        }
    }

    fn is_of_std(&self, values: &HashMap<LocalId, &Expression>, of: &Expression) -> bool {
        match &of.kind {
            ExpressionKind::Call(id, _) => {
                let made = &self.made[id.0 as usize];
                let result = made.function.and_then(|function| function.result.as_ref());
                let is_maybe = result.is_some_and(|result| mentions(result, "Maybe"));
                let has_maybe = |generic: &GenericValue| match generic {
                    GenericValue::Type(ty) => self.program.types.has_maybe(*ty),
                    GenericValue::Number(_) => false,
                };
                let is_std = self.loaded.is_std(made.key.item.0);
                is_std && is_maybe && !made.key.generics.iter().any(has_maybe)
            }
            ExpressionKind::Read(place) => place
                .whole_local()
                .and_then(|local| values.get(&local))
                .is_some_and(|value| self.is_of_std(values, value)),
            _ => false,
        }
    }
}
