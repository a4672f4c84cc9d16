//! The functions of the prelude that are implemented in Rust.

use num_traits::ToPrimitive;

use super::operators;
use crate::program::{Intrinsic, TypeId, TypeTable, Value};

/// Evaluates a function of the prelude. Returns `None` for random bits.
pub(crate) fn intrinsic(
    types: &TypeTable,
    intrinsic: Intrinsic,
    ty: TypeId,
    argument_types: &[TypeId],
    arguments: &[Value],
) -> Option<Value> {
    let count = |n: u64| Some(Value::Integer(n.into()));
    let width = argument_types.first().map_or(0, |ty| types.width(*ty));
    match (intrinsic, arguments) {
        (Intrinsic::Min, [a, b]) => {
            Some(Value::Integer(a.as_integer().min(b.as_integer()).clone()))
        }
        (Intrinsic::Max, [a, b]) => {
            Some(Value::Integer(a.as_integer().max(b.as_integer()).clone()))
        }
        (Intrinsic::Abs, [a]) => Some(operators::abs(types, ty, a)),
        (Intrinsic::WideMul, [a, b]) => Some(operators::wide_mul(a, b)),
        (Intrinsic::WideDot, [a, b]) => {
            let pairs = a.as_list().iter().zip(b.as_list());
            let products = pairs.map(|(a, b)| a.as_integer() * b.as_integer());
            Some(Value::Integer(products.sum()))
        }
        (Intrinsic::AddSat, [a, b]) => Some(operators::add_sat(types, ty, a, b)),
        (Intrinsic::OneHot, [index]) => {
            let (_, length) = types.element(ty)?;
            let at = index.as_integer().to_u32();
            let bits = (0..length).map(|number| Value::Bool(at == Some(number)));
            Some(Value::List(bits.collect()))
        }
        (Intrinsic::GetOr, [array, index, other]) => {
            let at = index.as_integer().to_usize();
            let element = at.and_then(|at| array.as_list().get(at));
            Some(element.unwrap_or(other).clone())
        }
        (Intrinsic::LeadingOnes, [a]) => count(operators::leading_ones(width, a.as_integer())),
        (Intrinsic::CountOnes, [a]) => count(operators::count_ones(width, a.as_integer())),
        (Intrinsic::Opened, [a]) => Some(opened(types, ty, a)),
        _ => None,
    }
}

/// Returns a value with zero in each `Maybe` that holds no value.
fn opened(types: &TypeTable, ty: TypeId, value: &Value) -> Value {
    let Value::List(parts) = value else {
        return value.clone();
    };
    if types.is_maybe(ty) && !parts[0].as_bool() {
        return types.zero(ty);
    }
    let part_types = match types.element(ty) {
        Some((element, n)) => vec![element; n as usize],
        None => types.fields(ty),
    };
    let parts = part_types.into_iter().zip(parts);
    Value::List(parts.map(|(ty, part)| opened(types, ty, part)).collect())
}
