//! Tests of the builder: folding, sharing, port rules, and the results of handles.

use crate::oracle::{Bits, agrees, build};
use tacit_circuit::builder::{Array, Bit, Builder, Bus, Bytes, Handle, Int, UInt};
use tacit_circuit::{CircuitError, Gate, Type};

/// Compares a circuit of two unsigned integers with its plain function.
fn of_two(
    width: usize,
    circuit: impl for<'b> Fn(&'b Builder, UInt<'b>, UInt<'b>),
    plain: impl Fn(u128, u128) -> Vec<Bits>,
) -> usize {
    let circuit = build(|builder| {
        let (a, b) = (builder.uint("a", width), builder.uint("b", width));
        circuit(builder, a, b);
    });
    agrees(&format!("{width} bits"), &circuit, |ports| {
        plain(ports[0].uint(), ports[1].uint())
    });
    circuit.statistics().and
}

#[test]
fn unsigned_arithmetic_and_its_cost() {
    for width in [1, 2, 7, 8, 31, 64] {
        let ands = of_two(
            width,
            |builder, a, b| builder.output("sum", &(&a + &b)),
            |a, b| vec![Bits::of(a + b, width)],
        );
        assert_eq!(ands, width - 1);
        let ands = of_two(
            width,
            |builder, a, b| builder.output("difference", &(a - b)),
            |a, b| vec![Bits::of(a.wrapping_sub(b), width)],
        );
        assert_eq!(ands, width - 1);
        let ands = of_two(
            width,
            |builder, a, b| builder.output("sum", &a.add_widening(&b)),
            |a, b| vec![Bits::of(a + b, width + 1)],
        );
        assert_eq!(ands, width);
        let ands = of_two(
            width,
            |builder, a, b| builder.output("equal", &a.equals(&b)),
            |a, b| vec![Bits::of((a == b).into(), 1)],
        );
        assert_eq!(ands, width - 1);
        let ands = of_two(
            width,
            |builder, a, b| {
                builder.output("least", &a.less_than(&b).select(&a, &b));
            },
            |a, b| vec![Bits::of(a.min(b), width)],
        );
        assert_eq!(ands, 2 * width);
    }
}

#[test]
fn comparisons_of_both_kinds_cost_the_width() {
    for width in [1, 5, 32] {
        let orders: [for<'b> fn(&UInt<'b>, &UInt<'b>) -> Bit<'b>; 4] = [
            |a, b| a.at_least(b),
            |a, b| a.at_most(b),
            |a, b| a.less_than(b),
            |a, b| a.greater_than(b),
        ];
        let plain: [fn(u128, u128) -> bool; 4] =
            [|a, b| a >= b, |a, b| a <= b, |a, b| a < b, |a, b| a > b];
        for (order, plain) in orders.into_iter().zip(plain) {
            let ands = of_two(
                width,
                |builder, a, b| builder.output("order", &order(&a, &b)),
                |a, b| vec![Bits::of(plain(a, b).into(), 1)],
            );
            assert_eq!(ands, width);
        }
        let orders: [for<'b> fn(&Int<'b>, &Int<'b>) -> Bit<'b>; 4] = [
            |a, b| a.at_least(b),
            |a, b| a.at_most(b),
            |a, b| a.less_than(b),
            |a, b| a.greater_than(b),
        ];
        let signed = |a: u128| (a as i128) << (128 - width) >> (128 - width);
        let plain: [fn(i128, i128) -> bool; 4] =
            [|a, b| a >= b, |a, b| a <= b, |a, b| a < b, |a, b| a > b];
        for (order, plain) in orders.into_iter().zip(plain) {
            let ands = of_two(
                width,
                |builder, a, b| builder.output("order", &order(&a.as_signed(), &b.as_signed())),
                |a, b| vec![Bits::of(plain(signed(a), signed(b)).into(), 1)],
            );
            assert_eq!(ands, width);
        }
    }
}

#[test]
fn signed_arithmetic_and_widths() {
    let circuit = build(|builder| {
        let (a, b) = (builder.int("a", 16), builder.int("b", 16));
        builder.output("sum", &(&a + &b));
        builder.output("negative", &-&a);
        builder.output("wide", &a.resize(20));
        builder.output("narrow", &a.resize(9));
        builder.output("half", &a.shift_right(1));
        builder.output("shifted", &a.shift_left(3));
        builder.output("sign", &a.sign());
        builder.output("less_three", &(b - Int::constant(builder, 16, -3)));
    });
    agrees("16 bits", &circuit, |ports| {
        let (a, b) = (ports[0].int(), ports[1].int());
        let of = |value, width| Bits::of_int(value, width);
        vec![
            of(a + b, 16),
            of(-a, 16),
            of(a, 20),
            of(a, 9),
            of(a >> 1, 16),
            of(a << 3, 16),
            of(i128::from(a < 0), 1),
            of(b + 3, 16),
        ]
    });
}

#[test]
fn moving_bits_costs_no_gate() {
    let circuit = build(|builder| {
        let (a, bytes) = (builder.uint("a", 32), builder.bytes("bytes", 4));
        for by in [0, 1, 31, 32, 40] {
            builder.output(&format!("left_{by}"), &a.shift_left(by));
            builder.output(&format!("right_{by}"), &a.shift_right(by));
            builder.output(&format!("rotated_left_{by}"), &a.rotate_left(by));
            builder.output(&format!("rotated_right_{by}"), &a.rotate_right(by));
        }
        builder.output("number", &bytes.to_uint_be());
        builder.output("bytes", &Bytes::from_uint_be(&a));
        builder.output("spliced", &bytes.slice(1..3).concat(&bytes.slice(0..1)));
        let last = bytes.bytes().rev().collect::<Vec<_>>();
        builder.output("reversed", &Bytes::from_bytes(builder, &last));
        builder.output("narrow", &a.resize(5));
        builder.output("wide", &a.resize(40));
    });
    // The zeros that are shifted in are one gate, x ⊕ x.
    assert_eq!(circuit.gate_count(), 1);
    agrees("32 bits", &circuit, |ports| {
        let (a, bytes) = (ports[0].uint() as u32, ports[1].bytes());
        let of = |value: u32| Bits::of(value.into(), 32);
        let moved = [0, 1, 31, 32, 40].into_iter().flat_map(|by| {
            [
                of(a.checked_shl(by).unwrap_or(0)),
                of(a.checked_shr(by).unwrap_or(0)),
                of(a.rotate_left(by)),
                of(a.rotate_right(by)),
            ]
        });
        let number = u32::from_be_bytes(bytes[..].try_into().unwrap());
        let rest = [
            of(number),
            Bits::of_bytes(&a.to_be_bytes()),
            Bits::of_bytes(&[bytes[1], bytes[2], bytes[0]]),
            Bits::of_bytes(&[bytes[3], bytes[2], bytes[1], bytes[0]]),
            Bits::of(a.into(), 5),
            Bits::of(a.into(), 40),
        ];
        moved.chain(rest).collect()
    });
}

#[test]
fn bitwise_operations_on_every_kind_of_bus() {
    let circuit = build(|builder| {
        let (a, b) = (builder.bus("a", 9), builder.bus("b", 9));
        builder.output("xor", &(&a ^ &b));
        builder.output("and", &(&a & b.clone()));
        builder.output("or", &(a.clone() | &b));
        builder.output("not", &!a.clone());
        builder.output("all", &a.all());
        builder.output("any", &a.any());
        builder.output("equal", &a.equals(&b));
        builder.output("concat", &a.slice(6..9).concat(&b.slice(0..2)));
        let (a, b) = (a.bit(0), b.bit(0));
        builder.output("bits", &Bus::from_bits(builder, [a & b, a | b, a ^ b, !a]));
    });
    agrees("9 bits", &circuit, |ports| {
        let (a, b) = (ports[0].uint(), ports[1].uint());
        let (x, y) = (a & 1, b & 1);
        vec![
            Bits::of(a ^ b, 9),
            Bits::of(a & b, 9),
            Bits::of(a | b, 9),
            Bits::of(!a, 9),
            Bits::of((a == 511).into(), 1),
            Bits::of((a != 0).into(), 1),
            Bits::of((a == b).into(), 1),
            Bits::of(a >> 6 | (b & 3) << 3, 5),
            Bits::of((x & y) | (x | y) << 1 | (x ^ y) << 2 | (x ^ 1) << 3, 4),
        ]
    });
}

#[test]
fn sums_of_many_numbers_spare_carries() {
    for (numbers, constants, ands) in [
        (1, vec![], 0),
        (2, vec![], 31),
        (3, vec![], 61),
        (4, vec![], 92),
        (5, vec![], 121),
        (4, vec![0xffff_ffff], 121),
        (4, vec![0x428a_2f98], 119),
        (2, vec![0, 0], 31),
        (3, vec![u32::MAX, u32::MAX, 1], 121),
    ] {
        let circuit = build(|builder| {
            let variables = (0..numbers).map(|i| builder.uint(&format!("n{i}"), 32));
            let constants = constants
                .iter()
                .map(|&value| UInt::constant(builder, 32, u128::from(value)));
            let terms: Vec<UInt<'_>> = variables.chain(constants).collect();
            builder.output("sum", &UInt::sum(&terms.iter().collect::<Vec<_>>()));
        });
        agrees("sum", &circuit, |ports| {
            let variables = ports.iter().map(Bits::uint);
            let constants = constants.iter().map(|&value| u128::from(value));
            vec![Bits::of(variables.chain(constants).sum(), 32)]
        });
        let found = circuit.statistics().and;
        assert!(
            found <= ands,
            "{numbers} numbers and {constants:x?}: {found} AND gates"
        );
    }
}

#[test]
fn constants_fold_and_equal_gates_are_shared() {
    let circuit = build(|builder| {
        let a = builder.uint("a", 16);
        let (zero, one) = (
            UInt::constant(builder, 16, 0),
            UInt::constant(builder, 16, 1),
        );
        builder.output("same", &(&(&a + &zero) ^ &(!&!&a)));
        builder.output("constant", &(&zero + &one));
        builder.output("first", &(&a + &one));
        builder.output("second", &(&one + &a));
        assert_eq!((&a & &!&a).bus().any().as_constant(), Some(false));
        assert_eq!(a.bus().bit(0).as_constant(), None);
    });
    // One incrementer: its first carry is free, and its last is not needed.
    assert_eq!(circuit.statistics().and, 14);
    agrees("folded", &circuit, |ports| {
        let a = ports[0].uint();
        vec![
            Bits::of(0, 16),
            Bits::of(1, 16),
            Bits::of(a + 1, 16),
            Bits::of(a + 1, 16),
        ]
    });
}

#[test]
fn what_no_output_needs_is_dropped() {
    let circuit = build(|builder| {
        let (a, b) = (builder.uint("a", 64), builder.uint("b", 64));
        let sum = &a + &b;
        let _ = a.less_than(&sum);
        builder.output("low", &sum.resize(2));
    });
    assert_eq!((circuit.statistics().and, circuit.input_bits()), (1, 128));
}

#[test]
fn one_inv_gate_serves_all_readers() {
    let circuit = build(|builder| {
        let (a, b, c) = (builder.bit("a"), builder.bit("b"), builder.bit("c"));
        builder.output("first", &(!a & b));
        builder.output("second", &(!a & c));
        builder.output("third", &!a);
        builder.output("fourth", &!!b);
    });
    let gates: Vec<Gate> = circuit.gates().collect();
    assert_eq!(gates, [Gate::Inv(0), Gate::And(3, 1), Gate::And(3, 2)]);
    assert_eq!(circuit.output_wires(), [4, 5, 3, 1]);
}

#[test]
fn inputs_may_be_declared_late() {
    let circuit = build(|builder| {
        let (a, b) = (builder.bit("a"), builder.bit("b"));
        let both = a & b;
        let c = builder.bit("c");
        builder.output("all", &(both & c));
    });
    let gates: Vec<Gate> = circuit.gates().collect();
    assert_eq!(gates, [Gate::And(0, 1), Gate::And(3, 2)]);
}

#[test]
fn arrays_carry_any_type() {
    let ty = Type::bytes(2).array(3).array(2);
    let circuit = build(|builder| {
        let rows: Array<Array<Bytes<'_>>> = builder.input("rows", ty.clone());
        assert_eq!((rows.len(), rows[1].len(), rows.ty()), (2, 3, ty.clone()));
        builder.output(
            "swapped",
            &Array::new(vec![rows[1].clone(), rows[0].clone()]),
        );
        let first: Vec<UInt<'_>> = rows[0].iter().map(|bytes| bytes.byte(0)).collect();
        builder.output("first", &Array::new(first));
    });
    let outputs: Vec<String> = circuit
        .outputs()
        .iter()
        .map(|port| port.ty.to_string())
        .collect();
    assert_eq!(outputs, ["bytes[2][3][2]", "u8[3]"]);
    agrees("arrays", &circuit, |ports| {
        let bytes = ports[0].bytes();
        let swapped = [&bytes[6..], &bytes[..6]].concat();
        vec![
            Bits::of_bytes(&swapped),
            Bits::of_bytes(&[bytes[0], bytes[2], bytes[4]]),
        ]
    });
}

#[test]
fn a_circuit_is_called_within_another() {
    let adder = build(|builder| {
        let (a, b) = (builder.uint("a", 8), builder.uint("b", 8));
        builder.output("sum", &(&a + &b));
        builder.output("differ", &!a.equals(&b));
    });
    let circuit = build(|builder| {
        let (a, b) = (builder.bus("a", 8), builder.bus("b", 8));
        let first = builder.call(&adder, &[a.clone(), b.clone()]);
        let second = builder.call(&adder, &[first[0].clone(), b]);
        builder.output("sum", &second[0]);
        builder.output("differ", &first[1]);
    });
    assert_eq!(circuit.statistics().and, 7 + 7 + 7);
    agrees("called", &circuit, |ports| {
        let (a, b) = (ports[0].uint(), ports[1].uint());
        vec![Bits::of(a + 2 * b, 8), Bits::of((a != b).into(), 1)]
    });
}

#[test]
fn wrong_ports_are_refused_at_the_end() {
    let fails = |describe: fn(&Builder)| {
        let builder = Builder::new();
        describe(&builder);
        builder.finish().unwrap_err()
    };
    let error = fails(|builder| {
        let _ = builder.bit("a");
        builder.output("b", &builder.bit("a"));
    });
    assert_eq!(
        error,
        CircuitError::DuplicatePort {
            direction: "input",
            port: "a".to_owned()
        }
    );
    let error = fails(|builder| builder.output("no name", &builder.bit("a")));
    assert_eq!(
        error,
        CircuitError::PortName {
            port: "no name".to_owned()
        }
    );
    let error = fails(|builder| _ = builder.bit("a"));
    assert_eq!(
        error,
        CircuitError::NoPorts {
            direction: "output"
        }
    );
    let error = fails(|builder| builder.output("one", &builder.constant(true)));
    assert_eq!(error, CircuitError::NoPorts { direction: "input" });
}

#[test]
#[should_panic(expected = "handles of two builders")]
fn handles_of_two_builders_do_not_mix() {
    let (first, second) = (Builder::new(), Builder::new());
    let _ = first.bit("a") & second.bit("a");
}

#[test]
#[should_panic(expected = "widths of two integers")]
fn integers_of_two_widths_do_not_mix() {
    let builder = Builder::new();
    let _ = builder.uint("a", 3) + builder.uint("b", 4);
}

#[test]
#[should_panic(expected = "input a of type u8")]
fn a_port_is_of_its_handles_type() {
    let _: Bytes<'_> = Builder::new().input("a", Type::unsigned(8));
}

#[test]
fn many_gates_fit() {
    let builder = Builder::new();
    let mut state = builder.bus("a", 64);
    for round in 0..5_000 {
        let turned = state.rotate_up(1 + round % 63);
        state = &(&state & &turned) ^ &(!&turned ^ &state.rotate_up(7));
    }
    builder.output("b", &state);
    assert!(builder.finish().unwrap().gate_count() > 900_000);
}
