//! What reading kept keys and seeds leaves in memory: nothing in what was freed.

use std::collections::BTreeMap;

use tacit_circuit::Port;
use tacit_components::library;
use tacit_function::{Function, Recipient, Role};
use tacit_garble::HalfGates;
use tacit_kernels::Construction;
use tacit_kernels::leftovers::{Memory, Watching, watch};
use tacit_protocol::batch::{Batch, GarblerExecution, Plan};
use tacit_protocol::outsourced::GeneratorChain;
use tacit_protocol::saved::StoredChain;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// A key or seed that stands nowhere else.
fn key(number: usize) -> [u8; 32] {
    [100 + number as u8; 32]
}

fn assert_wiped(memory: &Memory, keys: usize) {
    for number in 0..keys {
        assert_eq!(memory.freed(&key(number)), 0, "key {number}");
    }
}

#[test]
fn a_chain_that_was_read_leaves_no_key() {
    const COPIES: usize = 9;
    // A generator's, of 9 circuits, at k = 8; its id; its attempt.
    let mut bytes = vec![1, 1, COPIES as u8, 0, 8];
    bytes.extend_from_slice(&[9; 16]);
    bytes.extend_from_slice(&4_u64.to_le_bytes());
    (0..2 * COPIES).for_each(|number| bytes.extend_from_slice(&key(number)));
    let (read, memory) = watch(|| GeneratorChain::from_bytes(&bytes).map(drop));
    read.expect("a chain");
    assert_wiped(&memory, 2 * COPIES);
}

#[test]
fn an_execution_that_was_read_leaves_no_seed() {
    let circuit = library::find("adder", &BTreeMap::new()).expect("the library has it");
    let first = circuit.inputs()[0].name.clone();
    let owner = |port: &Port| match port.name == first {
        true => Role::Garbler,
        false => Role::Evaluator,
    };
    let function = Function::of_circuit("adder", circuit, owner, |_| Recipient::Both);
    let function = function.expect("a function");
    let plan = Plan::cheapest(&function, 1, 40).expect("a plan");
    let scheme = HalfGates::new(Construction::TwoCall);
    let batch = Batch::named(scheme, &function, plan, [7; 16]).expect("a batch");
    let seeds = GarblerExecution::bytes(&batch) / (4 + 32);
    assert!(seeds > 4, "as many as no vector has room for by itself");
    let circuit = |number: usize| [&(number as u32).to_le_bytes()[..], &key(number)].concat();
    let bytes: Vec<u8> = (0..seeds).flat_map(circuit).collect();
    let (read, memory) = watch(|| GarblerExecution::from_bytes(&batch, &bytes).map(drop));
    read.expect("an execution");
    assert_wiped(&memory, seeds);
}
