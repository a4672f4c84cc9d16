//! Conversions to `fixed` that lose digits before the point. They are an error for a constant, and
//! a warning for a value that may be too large.
//!
//! The range of a value is known if it is a parameter, a part of one, a constant, or the `min` or
//! `max` of such values. There are no warnings about other values: a quotient or a product may be
//! small for reasons that are not visible here. There are also none about conversions to integers,
//! which keep the low bits.

use std::collections::{HashMap, HashSet};

use num_bigint::BigInt;

use crate::diagnostic::Diagnostic;
use crate::interpret::operators::rescaled;
use crate::load::Loaded;
use crate::program::{
    Expression, ExpressionKind as K, Function, Intrinsic, LocalId, Program, TypeId, TypeKind,
    TypeTable, Value, ValuePath,
};
use crate::source::Span;

/// The greatest number of variables and expressions in a chain that is followed.
const MAX_DEPTH: u32 = 64;

/// Whether a conversion wraps a number in this range of the first type. A conversion between
/// integers never counts, since its purpose is to keep the low bits.
pub(super) fn is_lossy(
    types: &TypeTable,
    (from, to): (TypeId, TypeId),
    (least, greatest): (&BigInt, &BigInt),
) -> bool {
    let is_fixed = |ty: TypeId| matches!(types.kind(ty), TypeKind::Fixed(..));
    let Some(range) = types.range(to).filter(|_| is_fixed(from) || is_fixed(to)) else {
        return false;
    };
    let converted = |number: &BigInt| rescaled(types, from, to, number);
    converted(least) < range.0 || range.1 < converted(greatest)
}

/// Returns the least and greatest number of a type, as text.
pub(super) fn ends(types: &TypeTable, ty: TypeId) -> (String, String) {
    let (least, greatest) = types.range(ty).expect("a number's type");
    let text = |end: BigInt| types.value_text(ty, &Value::Integer(end));
    (text(least), text(greatest))
}

/// Returns a warning for each conversion to `fixed` that may wrap.
pub(super) fn warnings(program: &Program, loaded: &Loaded) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for function in &program.functions {
        if loaded.is_std(function.span.file) {
            continue;
        }
        let (values, changed) = function.values();
        let known = Known {
            program,
            function,
            values,
            changed,
        };
        function.expressions(&mut |expression| {
            if let K::Cast(of) = &expression.kind {
                found.extend(known.warning(of, expression.ty, expression.span));
            }
        });
    }
    found
}

struct Known<'p> {
    program: &'p Program,
    function: &'p Function,
    /// The values of variables that are never assigned.
    values: HashMap<LocalId, &'p Expression>,
    changed: HashSet<LocalId>,
}

impl<'p> Known<'p> {
    fn warning(&self, of: &'p Expression, to: TypeId, span: Span) -> Option<Diagnostic> {
        let types = &self.program.types;
        let &TypeKind::Fixed(_, fraction) = types.kind(to) else {
            return None;
        };
        let (least, greatest) = self.range(of, MAX_DEPTH)?;
        if !is_lossy(types, (of.ty, to), (&least, &greatest)) {
            return None;
        }
        let converted = |number| rescaled(types, of.ty, to, number);
        let reach: BigInt = converted(&greatest).max(-converted(&least) - 1);
        let bits = reach.bits() + 1;
        let wide = format!("fixed<{}, {fraction}>", bits - u64::from(fraction));
        let is_above = !is_lossy(types, (of.ty, to), (&least, &least));
        let end = if is_above { greatest } else { least };
        let text = types.value_text(of.ty, &Value::Integer(end));
        let message = format!("this conversion may wrap: what is converted may be {text}");
        let (least, greatest) = ends(types, to);
        let warning = Diagnostic::warning(span, message);
        let warning = warning.label(format!("`{}` has {least} to {greatest}", types.name(to)));
        Some(warning.help(format!(
            "convert to `{wide}` here, which holds what these types make (wider parts may need \
             more); or keep to what fits first, as `min(…, …)` and `max(…, …)` do"
        )))
    }

    /// Returns the least and greatest number that a value can be, if they are known.
    fn range(&self, value: &'p Expression, depth: u32) -> Option<(BigInt, BigInt)> {
        let depth = depth.checked_sub(1)?;
        let of_type = || self.program.types.range(value.ty);
        match &value.kind {
            K::Constant(Value::Integer(number)) => Some((number.clone(), number.clone())),
            K::Read(place) => match place.whole_local().and_then(|of| self.values.get(&of)) {
                Some(bound) => self.range(bound, depth),
                None => of_type().filter(|_| self.is_of_parameter(place, depth)),
            },
            K::Block(block) => self.range(&block.value, depth),
            K::Intrinsic(which @ (Intrinsic::Min | Intrinsic::Max), parts) => {
                let [a, b] = &parts[..] else {
                    return None;
                };
                let (a, b) = (self.range(a, depth)?, self.range(b, depth)?);
                Some(match which {
                    Intrinsic::Min => (a.0.min(b.0), a.1.min(b.1)),
                    _ => (a.0.max(b.0), a.1.max(b.1)),
                })
            }
            _ => None,
        }
    }

    /// Whether a place is in a parameter, possibly through variables.
    fn is_of_parameter(&self, place: &ValuePath, depth: u32) -> bool {
        let Some(local) = place.local() else {
            return false;
        };
        if let Some(value) = self.values.get(&local) {
            return match (&value.kind, depth.checked_sub(1)) {
                (K::Read(from), Some(depth)) => self.is_of_parameter(from, depth),
                _ => false,
            };
        }
        !self.changed.contains(&local) && self.function.parameters.contains(&local)
    }
}
