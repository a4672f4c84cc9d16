//! Tests of the builder's operations: each equals its plain function, and has the stated cost.

use crate::oracle::numbers;
use crate::oracle::{self, Bits, agrees, build};
use tacit_circuit::builder::{Array, Builder, Fixed, Handle, Int, Ordered, UInt};
use tacit_circuit::{Circuit, Type};

fn ands(circuit: &Circuit) -> usize {
    circuit.statistics().and
}

fn product(width: usize, signed: bool, widening: bool) -> Circuit {
    build(|builder| {
        let (a, b) = (builder.uint("a", width), builder.uint("b", width));
        match (signed, widening) {
            (false, false) => builder.output("product", &(a * b)),
            (false, true) => builder.output("product", &a.mul_widening(&b)),
            (true, false) => builder.output("product", &(a.as_signed() * b.as_signed())),
            (true, true) => {
                builder.output("product", &a.as_signed().mul_widening(&b.as_signed()));
            }
        }
    })
}

#[test]
fn products_of_every_width() {
    for width in (1..=9).chain([27, 28, 29, 32, 55, 56, 57, 63, 64]) {
        for widening in [false, true] {
            let result = if widening { 2 * width } else { width };
            let name = format!("{width} bits, widening: {widening}");
            agrees(&name, &product(width, false, widening), |ports| {
                vec![Bits::of(
                    ports[0].uint().wrapping_mul(ports[1].uint()),
                    result,
                )]
            });
            agrees(&name, &product(width, true, widening), |ports| {
                vec![Bits::of_int(
                    ports[0].int().wrapping_mul(ports[1].int()),
                    result,
                )]
            });
        }
    }
}

#[test]
fn products_wider_than_any_machine_word() {
    for width in [100, 129, 201] {
        agrees("a wide product", &product(width, false, true), |ports| {
            vec![Bits(numbers::long_product(
                &ports[0].0,
                &ports[1].0,
                2 * width,
            ))]
        });
        agrees(
            "a wide signed product",
            &product(width, true, true),
            |ports| {
                // Modulo 2^(2·width), the sign only determines the extension of the factors.
                let extended =
                    |bits: &Bits| [&bits.0[..], &vec![bits.0[width - 1]; width]].concat();
                let (a, b) = (extended(&ports[0]), extended(&ports[1]));
                vec![Bits(numbers::long_product(&a, &b, 2 * width))]
            },
        );
    }
}

#[test]
fn products_of_two_widths_and_with_constants() {
    for (n, m) in [(1, 7), (7, 1), (5, 20), (32, 40)] {
        let circuit = build(|builder| {
            let (a, b) = (builder.uint("a", n), builder.uint("b", m));
            builder.output("unsigned", &a.mul_widening(&b));
            builder.output("signed", &a.as_signed().mul_widening(&b.as_signed()));
        });
        agrees("two widths", &circuit, |ports| {
            let unsigned = ports[0].uint() * ports[1].uint();
            let signed = ports[0].int() * ports[1].int();
            vec![Bits::of(unsigned, n + m), Bits::of_int(signed, n + m)]
        });
    }
    for constant in [0, 1, 2, 3, 10, 77, 127, 128, 200, 255] {
        let circuit = build(|builder| {
            let a = builder.uint("a", 8);
            let k = UInt::constant(builder, 8, constant);
            builder.output("unsigned", &a.mul_widening(&k));
            builder.output("signed", &k.as_signed().mul_widening(&a.as_signed()));
            builder.output("wrapping", &(a * k));
        });
        assert!(
            ands(&circuit) <= 110,
            "constant {constant}: {}",
            ands(&circuit)
        );
        agrees("with a constant", &circuit, |ports| {
            let signed = ports[0].int() * i128::from(constant as u8 as i8);
            let unsigned = ports[0].uint() * constant;
            vec![
                Bits::of(unsigned, 16),
                Bits::of_int(signed, 16),
                Bits::of(unsigned, 8),
            ]
        });
    }
}

#[test]
fn sums_of_products() {
    for (count, width) in [(1, 8), (3, 5), (8, 12), (5, 32)] {
        let wide = |circuit: &Circuit, port: usize| circuit.outputs()[port].ty.width();
        let circuit = build(|builder| {
            let ty = Type::unsigned(width).array(count);
            let (a, b): (Array<UInt>, Array<UInt>) =
                (builder.input("a", ty.clone()), builder.input("b", ty));
            let (a, b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
            let (ints_a, ints_b): (Vec<Int>, Vec<Int>) = a
                .iter()
                .zip(&b)
                .map(|(a, b)| (a.as_signed(), b.as_signed()))
                .unzip();
            let (ints_a, ints_b): (Vec<_>, Vec<_>) =
                (ints_a.iter().collect(), ints_b.iter().collect());
            builder.output("wrapping", &UInt::dot_product(&a, &b));
            builder.output("widening", &UInt::dot_product_widening(&a, &b));
            builder.output("signed", &Int::dot_product(&ints_a, &ints_b));
            builder.output(
                "signed_widening",
                &Int::dot_product_widening(&ints_a, &ints_b),
            );
        });
        agrees("a sum of products", &circuit, |ports| {
            let (a, b) = (ports[0].numbers(width), ports[1].numbers(width));
            let unsigned = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let (a, b) = (ports[0].ints(width), ports[1].ints(width));
            let signed = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            vec![
                Bits::of(unsigned, width),
                Bits::of(unsigned, wide(&circuit, 1)),
                Bits::of_int(signed, width),
                Bits::of_int(signed, wide(&circuit, 3)),
            ]
        });
    }
}

#[test]
fn division_of_every_width() {
    for width in (1..=9).chain([16, 31, 64]) {
        let circuit = build(|builder| {
            let (a, b) = (builder.uint("a", width), builder.uint("b", width));
            let (quotient, remainder) = a.div_rem(&b);
            builder.output("quotient", &quotient);
            builder.output("remainder", &remainder);
            let (quotient, remainder) = a.as_signed().div_rem(&b.as_signed());
            builder.output("signed_quotient", &quotient);
            builder.output("signed_remainder", &remainder);
        });
        agrees(&format!("division of {width} bits"), &circuit, |ports| {
            let (q, r) = numbers::unsigned_division(ports[0].uint(), ports[1].uint());
            let (sq, sr) = numbers::signed_division(ports[0].int(), ports[1].int());
            vec![
                Bits::of(q, width),
                Bits::of(r, width),
                Bits::of_int(sq, width),
                Bits::of_int(sr, width),
            ]
        });
    }
}

#[test]
fn every_division_of_five_bits() {
    let circuit = build(|builder| {
        let (a, b) = (builder.uint("a", 5), builder.uint("b", 5));
        builder.output("quotient", &(&a / &b));
        builder.output("remainder", &(&a % &b));
        builder.output("signed_quotient", &(a.as_signed() / b.as_signed()));
        builder.output("signed_remainder", &(a.as_signed() % b.as_signed()));
    });
    for (a, b) in (0..32).flat_map(|a| (0..32).map(move |b| (Bits::of(a, 5), Bits::of(b, 5)))) {
        let (q, r) = numbers::unsigned_division(a.uint(), b.uint());
        let (sq, sr) = numbers::signed_division(a.int(), b.int());
        let expected = [
            Bits::of(q, 5),
            Bits::of(r, 5),
            Bits::of_int(sq, 5),
            Bits::of_int(sr, 5),
        ];
        assert_eq!(oracle::outputs(&circuit, &[a, b]), expected);
    }
}

#[test]
fn shifts_by_secret_amounts() {
    for (width, amount_bits) in [(1, 1), (5, 3), (8, 3), (8, 6), (12, 4), (32, 8), (64, 6)] {
        let circuit = build(|builder| {
            let (a, amount) = (
                builder.uint("a", width),
                builder.uint("amount", amount_bits),
            );
            builder.output("left", &a.shift_left_by(&amount));
            builder.output("right", &a.shift_right_by(&amount));
            builder.output("signed_left", &a.as_signed().shift_left_by(&amount));
            builder.output("signed_right", &a.as_signed().shift_right_by(&amount));
        });
        agrees(&format!("shifts of {width} bits"), &circuit, |ports| {
            let (a, by) = (ports[0].uint(), ports[1].uint() as usize);
            let mask = (1_u128 << width) - 1;
            let left = if by < width { a << by & mask } else { 0 };
            let right = if by < width { a >> by } else { 0 };
            vec![
                Bits::of(left, width),
                Bits::of(right, width),
                Bits::of(left, width),
                Bits::of_int(ports[0].int() >> by.min(127), width),
            ]
        });
    }
}

/// An AND gate for each bit and each bit of the amount that can count within the width. All other
/// bits of the amount only decide whether everything is shifted out.
#[test]
fn a_shift_by_a_secret_amount_costs_no_more_than_its_stages() {
    for (width, amount_bits, stages) in [(8, 3, 3), (8, 6, 3), (12, 4, 4), (32, 8, 5), (64, 6, 6)] {
        let circuit = build(|builder| {
            let a = builder.uint("a", width);
            let amount = builder.uint("amount", amount_bits);
            builder.output("left", &a.shift_left_by(&amount));
        });
        let rest = amount_bits - stages;
        let out = if rest == 0 { 0 } else { width + rest - 1 };
        let most = width * stages + out;
        let found = circuit.statistics().and;
        assert!(
            found <= most,
            "{width} by {amount_bits} bits: {found} gates"
        );
    }
}

#[test]
fn lookups_of_secret_and_of_constant_tables() {
    for (len, index_bits) in [(1, 1), (2, 1), (3, 2), (5, 3), (5, 5), (16, 4), (33, 6)] {
        let circuit = build(|builder| {
            let table: Array<UInt> = builder.input("table", Type::unsigned(7).array(len));
            let constants = (0..len).map(|i| UInt::constant(builder, 7, 37 * i as u128));
            let constants = Array::new(constants.collect());
            let index = builder.uint("index", index_bits);
            builder.output("secret", &table.lookup(&index));
            builder.output("constant", &constants.lookup(&index));
        });
        agrees("a lookup", &circuit, |ports| {
            let index = (ports[1].uint() as usize).min(len - 1);
            let constant = 37 * index as u128;
            vec![
                Bits::of(ports[0].numbers(7)[index], 7),
                Bits::of(constant, 7),
            ]
        });
    }
}

#[test]
fn counts_of_ones() {
    for width in [1, 2, 3, 7, 8, 31, 64, 100] {
        let circuit = build(|builder| {
            builder.output("count", &builder.bus("a", width).count_ones());
        });
        assert_eq!(
            ands(&circuit),
            width - width.count_ones() as usize,
            "{width} bits"
        );
        let result = circuit.outputs()[0].ty.width();
        agrees("a count", &circuit, |ports| {
            let count = ports[0].0.iter().filter(|&&bit| bit).count();
            vec![Bits::of(count as u128, result)]
        });
    }
}

#[test]
fn fixed_point_numbers() {
    for (integer, fraction) in [(1, 0), (4, 4), (8, 3), (16, 16)] {
        let width = integer + fraction;
        let ty = Type::fixed(integer, fraction);
        let circuit = build(|builder| {
            let (a, b): (Fixed, Fixed) = (
                builder.input("a", ty.clone()),
                builder.input("b", ty.clone()),
            );
            builder.output("sum", &(&a + &b));
            builder.output("difference", &(&a - &b));
            builder.output("product", &(&a * &b));
            builder.output("quotient", &(&a / &b));
            builder.output("negative", &-&a);
            builder.output("floor", &a.floor());
            builder.output("at_most", &a.at_most(&b));
            builder.output("least", &a.min(&b));
            builder.output("wider", &a.resize(integer + 2, fraction + 1));
            builder.output("narrower", &a.resize(integer, fraction / 2));
        });
        agrees("fixed-point arithmetic", &circuit, |ports| {
            let (a, b) = (ports[0].int(), ports[1].int());
            let (quotient, _) = numbers::signed_division(a << fraction, b);
            vec![
                Bits::of_int(a + b, width),
                Bits::of_int(a - b, width),
                Bits::of_int((a * b) >> fraction, width),
                Bits::of_int(quotient, width),
                Bits::of_int(-a, width),
                Bits::of_int(a >> fraction, integer),
                Bits(vec![a <= b]),
                Bits::of_int(a.min(b), width),
                Bits::of_int(a << 1, width + 3),
                Bits::of_int(a >> (fraction - fraction / 2), integer + fraction / 2),
            ]
        });
        assert_eq!(circuit.outputs()[0].ty, ty);
    }
    let builder = Builder::new();
    let one_and_a_half = Fixed::constant(&builder, 4, 4, 24);
    assert_eq!(
        (
            one_and_a_half.integer_bits(),
            one_and_a_half.fraction_bits()
        ),
        (4, 4)
    );
    assert_eq!(one_and_a_half.ty(), Type::fixed(4, 4));
}

#[test]
#[should_panic(expected = "types of two fixed-point numbers")]
fn fixed_point_numbers_of_two_types_do_not_mix() {
    let builder = Builder::new();
    let _ = Fixed::constant(&builder, 4, 4, 0) + Fixed::constant(&builder, 5, 3, 0);
}

#[test]
#[should_panic(expected = "bits of an index into 5 values")]
fn an_index_too_short_for_its_table_panics() {
    let builder = Builder::new();
    let table = Array::new(vec![UInt::constant(&builder, 1, 0); 5]);
    let _ = table.lookup(&UInt::constant(&builder, 2, 0));
}

/// The costs of operations that are not components by themselves. The library's table has the
/// others.
#[test]
fn gate_table() {
    let quotient = |signed| {
        build(|builder| {
            let (a, b) = (builder.uint("a", 64), builder.uint("b", 64));
            if signed {
                builder.output("quotient", &(a.as_signed() / b.as_signed()));
            } else {
                builder.output("quotient", &(a / b));
            }
        })
    };
    assert_eq!(ands(&quotient(false)), 2205);
    assert_eq!(ands(&quotient(true)), 2396);
    assert_eq!(ands(&product(32, true, true)), 1082);
}
