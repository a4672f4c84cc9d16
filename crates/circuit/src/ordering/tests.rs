use super::phi::{Phi, slot};
use super::walk::forwards;
use super::*;
use crate::builder::Builder;
use crate::{Circuit, Gate, Port, Type};

const RULES: [OrderingRule; 3] = [
    OrderingRule::Monotone,
    OrderingRule::SafeMon1,
    OrderingRule::SafeMon2,
];

fn program(describe: impl FnOnce(&Builder)) -> Program {
    let builder = Builder::new();
    describe(&builder);
    Program::compile(&builder.finish().unwrap())
}

/// A product has many XOR gates between batches of AND gates. A quotient is one batch after
/// another.
fn programs() -> Vec<Program> {
    vec![
        program(|builder| {
            let (a, b) = (builder.uint("a", 64), builder.uint("b", 64));
            builder.output("sum", &(a + b));
        }),
        program(|builder| {
            let (a, b) = (builder.uint("a", 160), builder.uint("b", 160));
            builder.output("product", &a.mul_widening(&b));
        }),
        program(|builder| {
            let (a, b) = (builder.uint("a", 48), builder.uint("b", 48));
            builder.output("quotient", &a.div_rem(&b).0);
        }),
    ]
}

/// Panics unless φ is monotone and, if it claims to be, safe.
fn assert_valid(program: &Program, phi: &Phi) {
    let mut of_slot = phi.inputs.clone();
    of_slot.resize(program.slots(), 0);
    let highest = of_slot.iter().copied().max().unwrap_or(0);
    let set = |(of_slot, highest): &mut (Vec<u32>, u32), out: u32, value: u32| {
        of_slot[out as usize] = value;
        *highest = value.max(*highest);
    };
    forwards(
        program,
        &mut (of_slot, highest),
        |state, number, gate, _| {
            let inputs = state.0[gate.a as usize].max(state.0[gate.b as usize]);
            assert!(phi.xors[number] >= inputs, "XOR {number}");
            set(state, gate.out, phi.xors[number]);
        },
        |state, number, gate| {
            let inputs = state.0[slot(gate.a)].max(state.0[slot(gate.b)]);
            assert!(phi.ands[number] > inputs, "AND {number}");
            assert!(!phi.is_safe || phi.ands[number] > state.1, "AND {number}");
            set(state, gate.out, phi.ands[number]);
        },
    );
}

#[test]
fn orderings_are_monotone_and_safe() {
    for program in programs() {
        for rule in RULES {
            let phi = Phi::of(&program, rule);
            assert_eq!(phi.is_safe, rule != OrderingRule::Monotone);
            assert_valid(&program, &phi);
        }
    }
}

/// Runs a plan on formulas and offset numbers. A XOR gate must meet equal offsets, every
/// translation must lead to an offset that already exists, and the results must be the program's
/// values.
fn assert_plan(program: &Program, rule: OrderingRule) {
    const FRESH: usize = 1 << 40;
    let plan = program.ordering(rule);
    let slots = program.slots() + plan.scratch_slots();
    let mut expected: Vec<u64> = (0..slots as u64).map(|i| i * i * 0x9e37_79b9).collect();
    let mut found = expected.clone();
    let mut offsets: Vec<usize> = (0..slots).map(|slot| FRESH + slot).collect();
    let mut made: Vec<bool> = vec![rule == OrderingRule::Monotone; plan.offsets()];
    for bridge in plan.bridges() {
        offsets[bridge.input as usize] = bridge.offset as usize;
        made[bridge.offset as usize] = true;
    }
    let (mut translations, mut xors) = (plan.translations().iter(), plan.xors().iter());
    let (mut given, mut ands) = (program.xors().iter(), (0..).zip(program.ands()));
    for (number, batch) in program.batches().iter().enumerate() {
        for gate in given.by_ref().take(batch.xors as usize) {
            let (a, b) = (expected[gate.a as usize], expected[gate.b as usize]);
            expected[gate.out as usize] = a.rotate_left(1) ^ b;
        }
        for level in plan.levels(number) {
            for i in 0..level.translations as usize {
                let one = translations.next().unwrap();
                assert!(made[one.offset as usize]);
                assert_ne!(offsets[one.slot as usize], one.offset as usize);
                found[program.slots() + i] = found[one.slot as usize];
                offsets[program.slots() + i] = one.offset as usize;
            }
            for gate in xors.by_ref().take(level.xors as usize) {
                let (a, b) = (gate.a as usize, gate.b as usize);
                assert_eq!(offsets[a], offsets[b]);
                offsets[gate.out as usize] = offsets[a];
                found[gate.out as usize] = found[a].rotate_left(1) ^ found[b];
            }
        }
        for (number, gate) in ands.by_ref().take(batch.ands as usize) {
            let value = |of: &[u64]| of[slot(gate.a)].rotate_left(1) & of[slot(gate.b)];
            let values = (value(&expected), value(&found));
            (expected[gate.out as usize], found[gate.out as usize]) = values;
            let named = plan.and_offsets()[number];
            offsets[gate.out as usize] = named as usize;
            if named == WireOrdering::UNNAMED {
                offsets[gate.out as usize] = 2 * FRESH + number;
            } else {
                made[named as usize] = true;
            }
        }
        assert!(found[..program.slots()] == expected[..program.slots()]);
    }
    assert!(translations.next().is_none() && xors.next().is_none());
    let last = program.segments().len() - 1;
    assert_eq!(
        plan.segment_translations(last).end,
        plan.translations().len()
    );
    let count = plan.bridges().len() + plan.translations().len();
    assert_eq!(program.translation_count(rule), count as u64);
}

#[test]
fn plans_bring_the_inputs_of_a_xor_to_one_offset_and_compute_the_program() {
    for program in programs() {
        for rule in RULES {
            assert_plan(&program, rule);
        }
    }
}

#[test]
fn places_are_by_segment_gate_and_side() {
    for program in programs() {
        for rule in RULES {
            let plan = program.ordering(rule);
            for segment in 0..program.segments().len() {
                let range = plan.segment_translations(segment);
                let mut these = plan.translations()[range].to_vec();
                these.sort_by_key(|one| one.place());
                assert!(these.iter().map(|one| one.place()).eq(0..these.len()));
                assert!(these.is_sorted_by_key(|one| (one.xor, one.side())));
                let xors = program.segments()[segment].xors.clone();
                assert!(these.iter().all(|one| xors.contains(&(one.xor as usize))));
            }
        }
    }
}

/// In this circuit x0 ⊕ x1 feeds an AND gate. The output is the XOR of the AND's output and x0 ⊕
/// x1.
#[test]
fn the_rules_on_a_circuit_by_hand() {
    let gates = [Gate::Xor(0, 1), Gate::And(3, 2), Gate::Xor(4, 3)];
    let port = |name: &str, bits| vec![Port::new(name, Type::bits(bits))];
    let circuit = Circuit::new(port("in", 3), port("out", 1), gates, vec![5]).unwrap();
    let program = Program::compile(&circuit);
    for rule in RULES {
        let phi = Phi::of(&program, rule);
        assert_eq!(
            (phi.inputs, phi.xors, phi.ands),
            (vec![0; 3], vec![0, 1], vec![1])
        );
        let plan = program.ordering(rule);
        assert_eq!((plan.translations().len(), plan.offsets()), (1, 2));
        let bridged: Vec<u32> = plan.bridges().iter().map(|bridge| bridge.input).collect();
        assert_eq!(bridged, [0, 1]);
        assert_eq!(plan.translations()[0].xor, 1);
    }
}
