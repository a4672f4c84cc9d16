//! Granules: the largest parts of an array such that every access covers whole parts.

use super::FunctionError;
use crate::plan::{MAX_GRANULES, MAX_GRANULES_IN_RUNS, Part, Piece, Plan, streams};

fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Cuts the arrays into granules, and converts the positions of parts from bits to granules. If
/// `finds_streams` is set, elements that streams assign are in runs.
pub(super) fn cut(plan: &mut Plan, finds_streams: bool) -> Result<(), FunctionError> {
    let mut granules: Vec<u64> = plan.arrays.iter().map(|array| array.width).collect();
    for part in parts(plan) {
        let granule = &mut granules[part.array as usize];
        let steps = part.start.factors.iter().chain([&part.start.constant]);
        let steps = steps.map(|step| step.unsigned_abs());
        *granule = steps.fold(divisor(*granule, part.granules.into()), divisor);
    }
    for part in parts(plan) {
        let granule = granules[part.array as usize];
        part.start.constant /= granule as i64;
        for factor in &mut part.start.factors {
            *factor /= granule as i64;
        }
        part.granules /= granule as u32;
    }
    let in_runs = if finds_streams {
        streams::find(plan)
    } else {
        vec![false; plan.arrays.len()]
    };
    let mut classes = Vec::new();
    for (array, granule) in plan.arrays.iter_mut().zip(&granules) {
        array.granule = *granule as u32;
        let class = classes.iter().position(|class| class == granule);
        array.class = class.unwrap_or(classes.len()) as u32;
        if class.is_none() {
            classes.push(*granule);
        }
    }
    plan.classes = classes.len();
    plan.granules_apart = number(plan, 0, MAX_GRANULES, |array| !in_runs[array])?;
    let most = MAX_GRANULES_IN_RUNS;
    plan.granules = number(plan, plan.granules_apart, most, |array| in_runs[array])?;
    Ok(())
}

/// Numbers the granules of some arrays, from `first` on up to `most`. Returns the number that
/// follows.
fn number(
    plan: &mut Plan,
    mut first: usize,
    most: u64,
    is_one: impl Fn(usize) -> bool,
) -> Result<usize, FunctionError> {
    let arrays = plan.arrays.iter_mut().enumerate();
    for (_, array) in arrays.filter(|(number, _)| is_one(*number)) {
        array.first = first;
        first = array.granules().end;
        if first as u64 > most {
            let place = format!("value {}", array.name);
            let what = "the elements of all inputs and values together";
            return Err(FunctionError::too_many(place, what, most));
        }
    }
    Ok(first)
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
