//! Granules: the largest parts of an array such that every access covers whole parts.

use super::FunctionError;
use crate::plan::{MAX_GRANULES, Part, Piece, Plan};

fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Cuts the arrays into granules, and converts the positions of parts from bits to granules.
pub(super) fn cut(plan: &mut Plan) -> Result<(), FunctionError> {
    let mut granules: Vec<u64> = plan.arrays.iter().map(|array| array.width).collect();
    for part in parts(plan) {
        let granule = &mut granules[part.array as usize];
        let steps = part.start.factors.iter().chain([&part.start.constant]);
        let steps = steps.map(|step| step.unsigned_abs());
        *granule = steps.fold(divisor(*granule, part.granules.into()), divisor);
    }
    let (mut first, mut classes) = (0_u64, Vec::new());
    for (array, granule) in plan.arrays.iter_mut().zip(&granules) {
        array.granule = *granule as u32;
        array.first = first as u32;
        first += array.width / granule;
        let class = classes.iter().position(|class| class == granule);
        array.class = class.unwrap_or(classes.len()) as u32;
        if class.is_none() {
            classes.push(*granule);
        }
        if first > MAX_GRANULES {
            let place = format!("value {}", array.name);
            let what = "the elements of all inputs and values together";
            return Err(FunctionError::too_many(place, what, MAX_GRANULES));
        }
    }
    plan.classes = classes.len();
    plan.granules = first as usize;
    for part in parts(plan) {
        let granule = granules[part.array as usize];
        part.start.constant /= granule as i64;
        for factor in &mut part.start.factors {
            *factor /= granule as i64;
        }
        part.granules /= granule as u32;
    }
    Ok(())
}

/// Iterates over all parts of all operations.
fn parts(plan: &mut Plan) -> impl Iterator<Item = &mut Part> {
    let operations = plan.operations.iter_mut().chain(&mut plan.outputs);
    operations.flat_map(|operation| {
        let (arguments, results) = (&mut operation.arguments, &mut operation.results);
        let reads = arguments.iter_mut().filter_map(|piece| match piece {
            Piece::Part(part) => Some(part),
            Piece::Constant(_) => None,
        });
        reads.chain(results.iter_mut().filter_map(|(_, part)| part.as_mut()))
    })
}
