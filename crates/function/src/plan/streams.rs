//! Streams: loops of one call that pass over elements in order.
//!
//! A *stream* is a loop that stands in no other one, around a single call. Each of its turns
//! assigns the elements that follow those of the turn before. It reads the elements that follow,
//! too, or the same ones in each turn. It reads no array that it assigns.
//!
//! Elements that streams alone assign, or nothing, are in *runs*: what a walk knows of such an
//! array is a few intervals, however many elements there are. All other arrays are known element by
//! element. A counter of a stream indexes only arrays in runs.

use std::collections::HashSet;

use super::{Instruction, Operation, Part, Plan};

/// Whether a loop around nothing but this operation may be a stream.
fn may_be_stream(operation: &Operation) -> bool {
    let mut assigned = HashSet::new();
    let in_order = |part: &Part| part.start.factors == [i64::from(part.granules)];
    operation.component.is_some()
        && operation
            .assigns()
            .all(|part| in_order(part) && assigned.insert(part.array))
        && operation.reads().all(|part| {
            let stays = part.start.factors.is_empty();
            (stays || in_order(part)) && !assigned.contains(&part.array)
        })
}

/// Marks the operations of streams. Returns for each array whether its elements are in runs.
pub(in super::super) fn find(plan: &mut Plan) -> Vec<bool> {
    let operations = &mut plan.operations;
    for instructions in plan.instructions.windows(3) {
        if let [
            Instruction::Enter { depth: 0, .. },
            Instruction::Run(number),
            Instruction::Repeat { depth: 0, .. },
        ] = instructions
        {
            let operation = &mut operations[*number];
            operation.is_stream = may_be_stream(operation);
        }
    }
    // The arrays that are not in runs, of which some have not been dealt with.
    let variables = (0..)
        .zip(&plan.arrays)
        .filter(|(_, array)| array.is_variable);
    let mut apart: Vec<u32> = variables.map(|(number, _)| number).collect();
    let mut streams_of: Vec<Vec<usize>> = vec![Vec::new(); plan.arrays.len()];
    for (number, operation) in operations.iter().enumerate() {
        if !operation.is_stream {
            apart.extend(operation.assigns().map(|part| part.array));
            continue;
        }
        let reads = operation
            .reads()
            .filter(|part| !part.start.factors.is_empty());
        for part in reads.chain(operation.assigns()) {
            streams_of[part.array as usize].push(number);
        }
    }
    let mut in_runs = vec![true; plan.arrays.len()];
    while let Some(array) = apart.pop() {
        in_runs[array as usize] = false;
        for number in std::mem::take(&mut streams_of[array as usize]) {
            let operation = &mut operations[number];
            if std::mem::replace(&mut operation.is_stream, false) {
                apart.extend(operation.assigns().map(|part| part.array));
            }
        }
    }
    in_runs
}
