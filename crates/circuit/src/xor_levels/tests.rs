use super::*;
use crate::{Circuit, Gate, Port, Type};

/// Returns a circuit that looks random, from a linear congruential generator (Knuth's MMIX).
fn random(seed: u64, inputs: u32, gates: u32, reach: u32) -> Circuit {
    let mut state = seed;
    let mut below = |bound: u32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % bound
    };
    let gates: Vec<Gate> = (inputs..inputs + gates)
        .map(|wire| {
            let mut pick = || wire - 1 - below(wire.min(reach));
            let (a, b) = (pick(), pick());
            match below(5) {
                0 => Gate::And(a, b),
                1 => Gate::Inv(a),
                _ => Gate::Xor(a, b),
            }
        })
        .collect();
    let last = inputs + gates.len() as u32;
    let input = Port::new("in", Type::bits(inputs as usize));
    let output = Port::new("out", Type::bits(5));
    Circuit::new(vec![input], vec![output], gates, (last - 5..last).collect()).unwrap()
}

fn programs() -> impl Iterator<Item = Program> {
    (0..60).map(|seed| {
        let reach = [4, 30, 400][seed as usize % 3];
        Program::compile(&random(seed, 6, 40 + 20 * seed as u32, reach))
    })
}

/// Returns the values of the slots at the end, by the program's own order or by levels in steps of
/// `step`. The function that stands for XOR is symmetric in its inputs and reveals their order of
/// evaluation.
fn run(program: &Program, by_levels: Option<usize>) -> Vec<u64> {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut slots: Vec<u64> = (1..=program.slots() as u64)
        .map(|i| i.wrapping_mul(ODD))
        .collect();
    let mix = |a: u64, b: u64| (a ^ b).wrapping_mul(ODD).rotate_left(23) ^ a.wrapping_mul(b);
    let levels = program.xor_levels();
    let (mut xor, mut and) = (0, 0);
    for (number, batch) in program.batches().iter().enumerate() {
        let end = xor + batch.xors as usize;
        let runs: Vec<&[XorGate]> = match by_levels {
            None => program.xors()[xor..end].chunks(1).collect(),
            Some(step) => {
                let mut gates = &levels.gates()[xor..end];
                let parts = levels.levels(number).iter().flat_map(|level| {
                    let private = gates.split_off(..level.private as usize).unwrap();
                    let shared = gates.split_off(..level.shared as usize).unwrap();
                    private.chunks(step).chain(shared.chunks(step))
                });
                parts.collect()
            }
        };
        for run in runs {
            let value = |gate: &XorGate| mix(slots[gate.a as usize], slots[gate.b as usize]);
            let values: Vec<u64> = run.iter().map(value).collect();
            for (gate, value) in run.iter().zip(values) {
                slots[gate.out as usize] = value;
            }
        }
        xor = end;
        for gate in &program.ands()[and..and + batch.ands as usize] {
            let [a, b] = [gate.a, gate.b].map(|input| slots[(input & !NEGATED) as usize]);
            slots[gate.out as usize] = !mix(a, b);
        }
        and += batch.ands as usize;
    }
    assert_eq!(xor, levels.gates().len());
    slots
}

#[test]
fn levels_compute_what_the_program_does() {
    for program in programs() {
        let expected = run(&program, None);
        for step in [1, 2, 7, usize::MAX] {
            assert!(run(&program, Some(step)) == expected, "steps of {step}");
        }
    }
}

#[test]
fn what_is_private_is_used_nowhere_else() {
    let (mut private, mut shared) = (0, 0);
    for program in programs() {
        let levels = program.xor_levels();
        // Count the reads of every value by walking the program with values for slots.
        let mut of_slot: Vec<usize> = (0..program.slots()).collect();
        let mut reads: Vec<Vec<usize>> = vec![vec![usize::MAX]; program.slots()];
        let (mut xor, mut and) = (0, 0);
        let mut claimed = Vec::new();
        for (number, batch) in program.batches().iter().enumerate() {
            for level in levels.levels(number) {
                for i in 0..level.private + level.shared {
                    let gate = levels.gates()[xor];
                    for input in [gate.a, gate.b] {
                        reads[of_slot[input as usize]].push(xor);
                    }
                    let value = of_slot[gate.b as usize];
                    let other = of_slot[gate.a as usize];
                    claimed.push((i < level.private, value, other));
                    of_slot[gate.out as usize] = reads.len();
                    reads.push(Vec::new());
                    xor += 1;
                }
            }
            let ands = &program.ands()[and..and + batch.ands as usize];
            for gate in ands {
                for input in [gate.a, gate.b] {
                    reads[of_slot[(input & !NEGATED) as usize]].push(usize::MAX);
                }
            }
            for gate in ands {
                of_slot[gate.out as usize] = reads.len();
                reads.push(Vec::new());
            }
            and += ands.len();
        }
        for output in program.outputs() {
            if let Output::Slot { slot, .. } = output {
                reads[of_slot[*slot as usize]].push(usize::MAX);
            }
        }
        let counted = claimed.iter().filter(|(is_private, ..)| *is_private);
        assert_eq!(program.private_inputs(), counted.count() as u64);
        for (is_private, b, a) in claimed {
            if is_private {
                assert_eq!(reads[b].len(), 1, "one read of a private value");
                private += 1;
            } else {
                assert!(reads[a].len() > 1 && reads[b].len() > 1, "both are shared");
                shared += 1;
            }
        }
    }
    assert!(private > 1000 && shared > 1000, "{private} and {shared}");
}

#[test]
fn levels_are_few_where_gates_do_not_wait() {
    let program = Program::compile(&random(3, 6, 1500, 400));
    let levels: usize = (0..program.batches().len())
        .map(|batch| program.xor_levels().levels(batch).len())
        .sum();
    assert!(
        3 * levels < program.xors().len(),
        "{levels} levels of {} gates",
        program.xors().len()
    );
    assert_eq!(program, program.clone());
}
