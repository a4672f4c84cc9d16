//! The order of an array, and the parts of its elements: parts of another array's elements, and
//! constants.

use std::cmp::Ordering;

use crate::interpret::operators;
use crate::program::{
    BinaryOperator as B, CounterId, LocalId, Number, NumberOperator::Binary, SortKey, Value,
};

/// A part of an array's element, or a value made of such parts.
#[derive(Clone)]
pub(super) enum Part {
    Of(LocalId, Number, Vec<u32>),
    Made(Vec<Part>),
    Constant,
    Other,
}

/// The order of an array.
#[derive(Clone, Default)]
pub(super) struct Order {
    /// The parts by which the array ascends.
    pub(super) key: SortKey,
    /// The parts that are the same in all elements.
    pub(super) constant: SortKey,
}

impl Order {
    pub(super) fn ascends_by(&self, key: &SortKey) -> bool {
        let is_constant = |leaf: &Vec<u32>| self.constant.iter().any(|path| leaf.starts_with(path));
        let varies = key.iter().filter(|leaf| !is_constant(leaf));
        let count = varies.clone().count();
        count <= self.key.len() && varies.eq(&self.key[..count])
    }
}

impl From<SortKey> for Order {
    fn from(key: SortKey) -> Self {
        Self {
            key,
            constant: SortKey::new(),
        }
    }
}

/// Compares two elements by these parts.
pub(super) fn order(a: &Value, b: &Value, key: &SortKey) -> Ordering {
    let part = |value: &Value, path: &[u32]| -> Value {
        let parts = path.iter();
        let found = parts.fold(value, |value, part| &value.as_list()[*part as usize]);
        found.clone()
    };
    let orders = key
        .iter()
        .map(|path| operators::order(&part(a, path), &part(b, path)));
    orders.fold(Ordering::Equal, Ordering::then)
}

/// Returns the array that contains the first part, and the number of its element.
pub(super) fn first_array(part: &Part) -> Option<(LocalId, Number)> {
    match part {
        Part::Of(array, number, _) => Some((*array, number.clone())),
        Part::Made(parts) => parts.iter().find_map(first_array),
        Part::Constant | Part::Other => None,
    }
}

/// Whether a number never decreases over the turns of the counter's loop. The counters of outer
/// loops are constant.
pub(super) fn ascends(number: &Number, counter: CounterId) -> bool {
    let stands = |number: &Number| !number.reads(counter);
    match number {
        Number::Constant(_) | Number::Counter(_) => true,
        Number::Apply(operator, operands) => match (operator, &operands[..]) {
            (Binary(B::Add), [a, b]) => ascends(a, counter) && ascends(b, counter),
            (Binary(B::Subtract), [a, b]) => ascends(a, counter) && stands(b),
            (Binary(B::Multiply), [a, Number::Constant(0..)])
            | (Binary(B::Multiply), [Number::Constant(0..), a]) => ascends(a, counter),
            (Binary(B::Divide), [a, Number::Constant(1..)]) => ascends(a, counter),
            _ => operands.iter().all(stands),
        },
    }
}

/// Collects the paths of constant parts.
pub(super) fn constants(part: &Part, path: &mut Vec<u32>, found: &mut SortKey) {
    match part {
        Part::Constant => found.push(path.clone()),
        Part::Made(parts) => {
            for (number, part) in parts.iter().enumerate() {
                path.push(number as u32);
                constants(part, path, found);
                path.pop();
            }
        }
        Part::Of(..) | Part::Other => {}
    }
}

/// Extends `path` by the fields that lead to `leaf` of the array's element.
pub(super) fn find(part: &Part, of: (LocalId, &Number), leaf: &[u32], path: &mut Vec<u32>) -> bool {
    match part {
        Part::Of(array, number, from) if (*array, number) == of && leaf.starts_with(from) => {
            path.extend(&leaf[from.len()..]);
            true
        }
        Part::Made(parts) => parts.iter().enumerate().any(|(number, part)| {
            path.push(number as u32);
            let is_found = find(part, of, leaf, path);
            if !is_found {
                path.pop();
            }
            is_found
        }),
        _ => false,
    }
}
