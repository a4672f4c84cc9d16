//! Operators on values in the clear.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::program::{BinaryOperator, TypeId, TypeKind, TypeTable, UnaryOperator, Value, low_bits};

/// Computes `a operator b`, both of type `ty`. The amount of a shift may have any unsigned type.
pub(crate) fn binary(
    types: &TypeTable,
    operator: BinaryOperator,
    ty: TypeId,
    a: &Value,
    b: &Value,
) -> Value {
    use BinaryOperator as B;
    match operator {
        B::Equal => Value::Bool(a == b),
        B::NotEqual => Value::Bool(a != b),
        B::Less | B::LessEqual | B::Greater | B::GreaterEqual => {
            Value::Bool(operator.holds(order(a, b)))
        }
        B::LogicalAnd => Value::Bool(a.as_bool() && b.as_bool()),
        B::LogicalOr => Value::Bool(a.as_bool() || b.as_bool()),
        B::And => bitwise(a, b, |a, b| a & b, |a, b| a & b),
        B::Or => bitwise(a, b, |a, b| a | b, |a, b| a | b),
        B::Xor => bitwise(a, b, |a, b| a ^ b, |a, b| a ^ b),
        B::ShiftLeft | B::ShiftRight => {
            let amount = b.as_integer().to_u128().unwrap_or(u128::MAX);
            shift(types, operator, ty, a, amount)
        }
        B::Add | B::Subtract | B::Multiply | B::Divide | B::Remainder => {
            let number = arithmetic(types, operator, ty, a.as_integer(), b.as_integer());
            Value::Integer(types.wrap(ty, number))
        }
    }
}

/// Compares two values: as numbers, or part by part from the first on.
pub(crate) fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
        (Value::List(a), Value::List(b)) => {
            let orders = a.iter().zip(b).map(|(a, b)| order(a, b));
            orders.fold(Ordering::Equal, Ordering::then)
        }
        _ => Ordering::Equal,
    }
}

fn bitwise(
    a: &Value,
    b: &Value,
    bits: fn(bool, bool) -> bool,
    numbers: fn(&BigInt, &BigInt) -> BigInt,
) -> Value {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => Value::Bool(bits(*a, *b)),
        (Value::Integer(a), Value::Integer(b)) => Value::Integer(numbers(a, b)),
        (Value::List(a), Value::List(b)) => {
            let parts = a.iter().zip(b);
            Value::List(parts.map(|(a, b)| bitwise(a, b, bits, numbers)).collect())
        }
        _ => a.clone(),
    }
}

/// Shifts a number. Zeros or copies of the sign come in. A shift by the width or more leaves
/// nothing else.
pub(crate) fn shift(
    types: &TypeTable,
    operator: BinaryOperator,
    ty: TypeId,
    a: &Value,
    amount: u128,
) -> Value {
    let by = amount.min(types.width(ty).into()) as u64;
    let number = match operator {
        BinaryOperator::ShiftLeft => a.as_integer() << by,
        _ => a.as_integer() >> by,
    };
    Value::Integer(types.wrap(ty, number))
}

/// Returns the exact result of arithmetic, before it is wrapped.
pub(crate) fn arithmetic(
    types: &TypeTable,
    operator: BinaryOperator,
    ty: TypeId,
    a: &BigInt,
    b: &BigInt,
) -> BigInt {
    let fraction = fraction_bits(types, ty);
    match operator {
        BinaryOperator::Add => a + b,
        BinaryOperator::Subtract => a - b,
        // An arithmetic shift rounds down.
        BinaryOperator::Multiply => (a * b) >> fraction,
        BinaryOperator::Divide if b.is_zero() => -BigInt::one(),
        BinaryOperator::Divide => (a << fraction) / b,
        _ if b.is_zero() => a.clone(),
        _ => a % b,
    }
}

/// Computes `operator a`.
pub(crate) fn unary(types: &TypeTable, operator: UnaryOperator, ty: TypeId, a: &Value) -> Value {
    match (operator, a) {
        (UnaryOperator::Not, Value::Bool(a)) => Value::Bool(!a),
        (UnaryOperator::Not, Value::Integer(a)) => Value::Integer(types.wrap(ty, !a)),
        (UnaryOperator::Negate, Value::Integer(a)) => Value::Integer(types.wrap(ty, -a)),
        (_, Value::List(parts)) => {
            let byte = types.element(ty).map_or(ty, |(element, _)| element);
            let parts = parts.iter();
            Value::List(parts.map(|a| unary(types, operator, byte, a)).collect())
        }
        (UnaryOperator::Negate, Value::Bool(_)) => a.clone(),
    }
}

/// Converts a value. The elaborator allows the conversion.
pub(crate) fn cast(types: &TypeTable, from: TypeId, to: TypeId, value: &Value) -> Value {
    match (types.kind(from), types.kind(to), value) {
        (_, TypeKind::Array(..) | TypeKind::Bytes(_) | TypeKind::Text(_), Value::List(_)) => {
            value.clone()
        }
        // An integer is the array of its bits, the least significant first.
        (_, TypeKind::Array(..), Value::Integer(number)) => {
            let low = low_bits(number, types.width(from) as u32);
            let bits = (0..types.width(from)).map(|bit| Value::Bool(low.bit(bit)));
            Value::List(bits.collect())
        }
        (_, _, Value::List(bits)) => {
            let ones = bits.iter().enumerate().filter(|(_, bit)| bit.as_bool());
            let number = ones.fold(BigInt::ZERO, |sum, (place, _)| {
                sum + (BigInt::one() << place)
            });
            Value::Integer(types.wrap(to, number))
        }
        (_, TypeKind::Bool, _) => value.clone(),
        (_, TypeKind::Enum(number), _) => {
            let last = types.enum_type(*number).variants.len() - 1;
            Value::Integer(value.as_integer().clone().min(last.into()))
        }
        (_, _, Value::Bool(bit)) => {
            let number = rescaled(types, from, to, &u8::from(*bit).into());
            Value::Integer(types.wrap(to, number))
        }
        (_, _, Value::Integer(number)) => {
            let number = rescaled(types, from, to, number);
            Value::Integer(types.wrap(to, number))
        }
    }
}

/// Changes a number of type `from` to as many bits after the point as `to` has. Rounds down and
/// does not wrap yet.
pub(crate) fn rescaled(types: &TypeTable, from: TypeId, to: TypeId, number: &BigInt) -> BigInt {
    match (fraction_bits(types, from), fraction_bits(types, to)) {
        (a, b) if a >= b => number >> (a - b),
        (a, b) => number << (b - a),
    }
}

pub(crate) fn fraction_bits(types: &TypeTable, ty: TypeId) -> u32 {
    match types.kind(ty) {
        TypeKind::Fixed(_, fraction) => *fraction,
        _ => 0,
    }
}

/// Returns the product at twice the width.
pub(crate) fn wide_mul(a: &Value, b: &Value) -> Value {
    Value::Integer(a.as_integer() * b.as_integer())
}

/// Returns the sum, or the bound of the type that the sum passes.
pub(crate) fn add_sat(types: &TypeTable, ty: TypeId, a: &Value, b: &Value) -> Value {
    let sum = a.as_integer() + b.as_integer();
    match types.range(ty) {
        Some((least, greatest)) => Value::Integer(sum.clamp(least, greatest)),
        None => Value::Integer(sum),
    }
}

/// Returns the number of leading ones.
pub(crate) fn leading_ones(width: u64, number: &BigInt) -> u64 {
    let low = low_bits(number, width as u32);
    (0..width).rev().take_while(|&bit| low.bit(bit)).count() as u64
}

/// Returns the number of ones.
pub(crate) fn count_ones(width: u64, number: &BigInt) -> u64 {
    low_bits(number, width as u32).magnitude().count_ones()
}

/// Returns the magnitude. That of the least number wraps around to the number itself.
pub(crate) fn abs(types: &TypeTable, ty: TypeId, a: &Value) -> Value {
    Value::Integer(types.wrap(ty, a.as_integer().abs()))
}

/// Returns the number of the element that a secret index selects. Past the end, that is the last
/// element.
pub(crate) fn clamped(index: &Value, length: usize) -> usize {
    let last = length - 1;
    match index {
        Value::Bool(bit) => usize::from(*bit).min(last),
        Value::Integer(number) => number.to_usize().unwrap_or(last).min(last),
        Value::List(_) => last,
    }
}

/// Whether arithmetic of constants wraps or divides by zero.
pub(crate) fn is_const_error(
    types: &TypeTable,
    operator: BinaryOperator,
    ty: TypeId,
    a: &Value,
    b: &Value,
) -> bool {
    use BinaryOperator as B;
    match (operator, a, b) {
        (B::Divide | B::Remainder, _, Value::Integer(b)) if b.is_zero() => true,
        (B::Add | B::Subtract | B::Multiply | B::Divide, Value::Integer(a), Value::Integer(b)) => {
            let exact = arithmetic(types, operator, ty, a, b);
            types.wrap(ty, exact.clone()) != exact
        }
        _ => false,
    }
}

/// Returns a fraction times 2^`fraction`, rounded to the nearest whole number, ties to even.
pub(crate) fn scaled(number: &num_rational::BigRational, fraction: u32) -> BigInt {
    let (quotient, remainder) = (number.numer() << fraction).div_mod_floor(number.denom());
    let twice: BigInt = remainder << 1;
    match twice.cmp(number.denom()) {
        Ordering::Less => quotient,
        Ordering::Greater => quotient + 1,
        Ordering::Equal if quotient.is_even() => quotient,
        Ordering::Equal => quotient + 1,
    }
}

#[cfg(test)]
mod tests {
    use num_rational::BigRational;

    use super::*;

    /// Interpreter and circuits take literals from here, so neither would notice another rule. The
    /// values are computed by hand.
    #[test]
    fn literals_are_rounded_to_the_nearest_and_ties_to_even() {
        for (numerator, denominator, quarters) in [
            (0, 1, 0),
            (3, 4, 3),
            (3, 10, 1),
            (9, 10, 4),
            (1, 8, 0),
            (3, 8, 2),
            (5, 8, 2),
            (7, 8, 4),
            (1001, 8000, 1),
            (-3, 10, -1),
            (-9, 10, -4),
            (-1, 8, 0),
            (-3, 8, -2),
            (-5, 8, -2),
            (-1001, 8000, -1),
        ] {
            let number = BigRational::new(numerator.into(), denominator.into());
            assert_eq!(scaled(&number, 2), BigInt::from(quarters), "{number}");
        }
    }
}
