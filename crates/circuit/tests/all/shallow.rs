//! Tests of the builder's operations in the shallow form: each equals its plain function, and has
//! the stated cost in AND gates, layers and bits that two parties open to each other.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tacit_circuit::builder::{Array, Builder, CircuitForm, Ordered, UInt};
use tacit_circuit::{Circuit, Gate, Type};

use crate::oracle::numbers::{signed_division, unsigned_division};
use crate::oracle::{Bits, Random, outputs};

/// An operation on two numbers of n bits, and its plain function.
struct Operation {
    name: &'static str,
    build: fn(&Builder, [&UInt<'_>; 2]),
    plain: fn(Plain) -> Vec<Bits>,
}

/// Two numbers of `n` bits.
#[derive(Clone, Copy)]
struct Plain {
    n: usize,
    a: u128,
    b: u128,
}

impl Plain {
    fn signed(self) -> [i128; 2] {
        [self.a, self.b].map(|number| Bits::of(number, self.n).int())
    }

    fn number(self, value: u128) -> Bits {
        Bits::of(value, self.n)
    }

    fn int(self, value: i128) -> Bits {
        Bits::of_int(value, self.n)
    }

    fn bit(value: bool) -> Bits {
        Bits(vec![value])
    }
}

const OPERATIONS: &[Operation] = &[
    Operation {
        name: "sum and difference",
        build: |builder, [a, b]| {
            builder.output("sum", &(a + b));
            builder.output("widened", &a.add_widening(b));
            builder.output("difference", &(a - b));
            builder.output("negated", &-a.as_signed());
            builder.output("plus", &(a + UInt::constant(builder, a.width(), 0xb5)));
            builder.output("minus", &(UInt::constant(builder, a.width(), 0x6b) - a));
            builder.output("of_three", &UInt::sum(&[a, b, b]));
        },
        plain: |p| {
            let sum = p.a + p.b;
            vec![
                p.number(sum),
                Bits::of(sum, p.n + 1),
                p.number(p.a.wrapping_sub(p.b)),
                p.number(p.a.wrapping_neg()),
                p.number(p.a + 0xb5),
                p.number(0x6b_u128.wrapping_sub(p.a)),
                p.number(sum + p.b),
            ]
        },
    },
    Operation {
        name: "order",
        build: |builder, [a, b]| {
            let (i, j) = (a.as_signed(), b.as_signed());
            builder.output("less", &a.less_than(b));
            builder.output("at_most", &a.at_most(b));
            builder.output("signed_less", &i.less_than(&j));
            builder.output("signed_at_most", &i.at_most(&j));
            builder.output("equal", &a.equals(b));
            builder.output("least", &Ordered::min(&i, &j));
            builder.output("greatest", &Ordered::max(&i, &j));
        },
        plain: |p| {
            let [i, j] = p.signed();
            let bits = [p.a < p.b, p.a <= p.b, i < j, i <= j, p.a == p.b];
            let bits = bits.map(Plain::bit).into_iter();
            let rest = [p.int(i.min(j)), p.int(i.max(j))];
            bits.chain(rest).collect()
        },
    },
    Operation {
        name: "products",
        build: |builder, [a, b]| {
            let (i, j) = (a.as_signed(), b.as_signed());
            builder.output("low", &(a * b));
            builder.output("all", &a.mul_widening(b));
            builder.output("signed", &i.mul_widening(&j));
            builder.output("two", &UInt::dot_product(&[a, b], &[b, b]));
            let by = UInt::constant(builder, a.width(), 0x77).as_signed();
            builder.output("constant", &i.mul_widening(&by));
        },
        plain: |p| {
            let ([i, j], n) = (p.signed(), p.n);
            let (a, b) = (p.a, p.b);
            let by = Bits::of(0x77, n).int();
            vec![
                p.number(a.wrapping_mul(b)),
                Bits::of(a.wrapping_mul(b), 2 * n),
                Bits::of_int(i.wrapping_mul(j), 2 * n),
                p.number(a.wrapping_mul(b).wrapping_add(b.wrapping_mul(b))),
                Bits::of_int(i * by, 2 * n),
            ]
        },
    },
    Operation {
        name: "bits",
        build: |builder, [a, b]| {
            builder.output("ones", &a.bus().count_ones());
            builder.output("prefixes", &a.bus().prefix_ands());
            builder.output("magnitude", &a.as_signed().magnitude());
            builder.output("left", &a.shift_left_by(&b.resize(7)));
            builder.output("right", &a.as_signed().shift_right_by(&b.resize(7)));
        },
        plain: |p| {
            let [i, _] = p.signed();
            let width = (p.n as u64).ilog2() as usize + 1;
            let prefixes = (0..p.n).map(|k| (0..=k).all(|bit| p.a >> bit & 1 == 1));
            let by = p.b as u32 & 127;
            let left = if (by as usize) < p.n { p.a << by } else { 0 };
            vec![
                Bits::of(p.a.count_ones().into(), width),
                Bits(prefixes.collect()),
                p.number(i.unsigned_abs()),
                p.number(left),
                p.int(i >> by),
            ]
        },
    },
    Operation {
        name: "quotients",
        build: |builder, [a, b]| {
            let (quotient, remainder) = a.div_rem(b);
            builder.output("quotient", &quotient);
            builder.output("remainder", &remainder);
            let (quotient, remainder) = a.as_signed().div_rem(&b.as_signed());
            builder.output("signed_quotient", &quotient);
            builder.output("signed_remainder", &remainder);
        },
        plain: |p| {
            let (q, r) = unsigned_division(p.a, p.b);
            let [i, j] = p.signed();
            let (sq, sr) = signed_division(i, j);
            vec![p.number(q), p.number(r), p.int(sq), p.int(sr)]
        },
    },
];

fn built(form: CircuitForm, describe: impl FnOnce(&Builder)) -> Circuit {
    let builder = Builder::new().in_form(form);
    describe(&builder);
    builder.finish().unwrap()
}

fn of_two(operation: &Operation, n: usize) -> Circuit {
    built(CircuitForm::Shallow, |builder| {
        let (a, b) = (builder.uint("a", n), builder.uint("b", n));
        (operation.build)(builder, [&a, &b]);
    })
}

fn check(operation: &Operation, circuit: &Circuit, plain: Plain) {
    let found = outputs(circuit, &[plain.number(plain.a), plain.number(plain.b)]);
    let Plain { n, a, b } = plain;
    let name = operation.name;
    assert_eq!(found, (operation.plain)(plain), "{name} of {a}, {b} at {n}");
}

#[test]
fn every_operation_is_right_for_all_values_of_few_bits() {
    for operation in OPERATIONS {
        for n in 1..=4 {
            let circuit = of_two(operation, n);
            for (a, b) in (0..1 << n).flat_map(|a| (0..1 << n).map(move |b| (a, b))) {
                check(operation, &circuit, Plain { n, a, b });
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_operation_is_right_at_any_width(n in 5_usize..=63, seed in any::<u64>()) {
        let mut random = Random(seed);
        for operation in OPERATIONS {
            let circuit = of_two(operation, n);
            for _ in 0..4 {
                let [a, b] = [0, 1].map(|_| random.value(&Type::unsigned(n)).uint());
                check(operation, &circuit, Plain { n, a, b });
            }
        }
    }

    #[test]
    fn two_numbers_of_a_sum_have_that_sum(
        count in 1_usize..80, width in 1_usize..20, seed in any::<u64>(),
    ) {
        let mut random = Random(seed);
        let wide = width + count.ilog2() as usize + 1;
        let circuit = built(CircuitForm::Small, |builder| {
            let numbers: Array<UInt> = builder.input("a", Type::unsigned(width).array(count));
            let numbers: Vec<_> = numbers.iter().collect();
            let [x, y] = UInt::two_of_sum(&numbers, wide);
            builder.output("x", &x);
            builder.output("y", &y);
        });
        let given = random.value(&Type::unsigned(width).array(count));
        let found = outputs(&circuit, std::slice::from_ref(&given));
        let sum: u128 = given.numbers(width).iter().sum();
        prop_assert_eq!(found[0].uint() + found[1].uint(), sum);
    }
}

/// The cost of a circuit for two parties that hold shares of all its inputs.
#[derive(Debug, PartialEq, Eq)]
struct Cost {
    ands: usize,
    layers: u32,
    /// The bits opened in both directions. The next field counts the correlated OTs in both.
    opened: usize,
    ots: usize,
}

impl Cost {
    /// Counts by the rules of protocol `gmw`: ANDs of a layer with a common operand share their
    /// crosses. Each cross opens one bit of one party, and one bit a gate of the other.
    fn of(circuit: &Circuit) -> Self {
        const MOST: usize = 128;
        // The layer of each wire, and the wire under its negations.
        let mut wires: Vec<(u32, usize)> = (0..circuit.input_bits()).map(|i| (0, i)).collect();
        let mut layers: BTreeMap<u32, Vec<[usize; 2]>> = BTreeMap::new();
        for gate in circuit.gates() {
            let next = wires.len();
            let at = |wire: u32| wires[wire as usize];
            let wire = match gate {
                Gate::Inv(a) => at(a),
                Gate::Xor(a, b) => (at(a).0.max(at(b).0), next),
                Gate::And(a, b) => {
                    let layer = at(a).0.max(at(b).0) + 1;
                    layers.entry(layer).or_default().push([at(a).1, at(b).1]);
                    (layer, next)
                }
            };
            wires.push(wire);
        }
        let (mut ands, mut crosses) = (0, 0);
        for gates in layers.values() {
            let mut readers: BTreeMap<usize, usize> = BTreeMap::new();
            gates
                .iter()
                .flatten()
                .for_each(|wire| *readers.entry(*wire).or_default() += 1);
            let mut groups: BTreeMap<usize, usize> = BTreeMap::new();
            for &[a, b] in gates {
                let (low, high) = (a.min(b), a.max(b));
                let common = if readers[&high] > readers[&low] {
                    high
                } else {
                    low
                };
                *groups.entry(common).or_default() += 1;
            }
            ands += gates.len();
            crosses += groups
                .values()
                .map(|gates| gates.div_ceil(MOST))
                .sum::<usize>();
        }
        let layers = layers.keys().copied().max().unwrap_or(0);
        Self {
            ands,
            layers,
            opened: 2 * ands + 2 * crosses,
            ots: 2 * crosses,
        }
    }

    /// Returns the total of bits with silent OT, which takes 0.742 bits an OT.
    fn bits(&self) -> f64 {
        let silent = 8.0 * 5.0 * 380.0 * 176.0 / 3_607_516.0;
        self.opened as f64 + silent * self.ots as f64
    }
}

type Describe = fn(&Builder, usize);
type Row = (&'static str, Describe, [(usize, u32, u32); 4]);

/// The rows of the table of costs: for each width the AND gates, the layers, and the total of bits.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("add", |builder, n| {
        let [a, b] = numbers(builder, n);
        builder.output("sum", &(a + b));
    }, [(19, 4, 94), (57, 5, 250), (151, 6, 602), (373, 7, 1376)]),
    ("subtract", |builder, n| {
        let [a, b] = numbers(builder, n);
        builder.output("difference", &(a - b));
    }, [(19, 4, 94), (57, 5, 250), (151, 6, 602), (373, 7, 1376)]),
    ("less", |builder, n| {
        let [a, b] = numbers(builder, n);
        builder.output("less", &a.less_than(&b));
    }, [(19, 4, 104), (42, 5, 230), (89, 6, 488), (184, 7, 1009)]),
    ("signed less", |builder, n| {
        let [a, b] = numbers(builder, n);
        builder.output("less", &a.as_signed().less_than(&b.as_signed()));
    }, [(19, 4, 104), (42, 5, 230), (89, 6, 488), (184, 7, 1009)]),
    ("equal", |builder, n| {
        let [a, b] = numbers(builder, n);
        builder.output("equal", &a.equals(&b));
    }, [(7, 3, 38), (15, 4, 82), (31, 5, 170), (63, 6, 345)]),
    ("select", |builder, n| {
        let [a, b] = numbers(builder, n);
        builder.output("selected", &builder.bit("condition").select(&a, &b));
    }, [(8, 1, 19), (16, 1, 35), (32, 1, 67), (64, 1, 131)]),
    ("count ones", |builder, n| {
        let [a, _] = numbers(builder, n);
        builder.output("count", &a.bus().count_ones());
    }, [(7, 3, 38), (16, 5, 88), (32, 6, 175), (65, 7, 353)]),
    ("multiply, low half", |builder, n| {
        let [a, b] = numbers(builder, n);
        builder.output("product", &(a * b));
    }, [(62, 6, 235), (269, 10, 1015), (1095, 12, 4085), (4322, 14, 16053)]),
    ("multiply, all", |builder, n| {
        let [a, b] = numbers(builder, n);
        builder.output("product", &a.mul_widening(&b));
    }, [(151, 9, 581), (600, 11, 2259), (2306, 13, 8562), (8861, 15, 32814)]),
    ("negate", |builder, n| {
        let [a, _] = numbers(builder, n);
        builder.output("negated", &-a.as_signed());
    }, [(9, 3, 39), (28, 4, 105), (75, 5, 254), (186, 6, 588)]),
    ("absolute value", |builder, n| {
        let [a, _] = numbers(builder, n);
        builder.output("magnitude", &a.as_signed().magnitude());
    }, [(10, 4, 44), (29, 5, 110), (76, 6, 260), (187, 7, 593)]),
    ("shift", |builder, n| {
        let [a, b] = numbers(builder, n);
        builder.output("shifted", &a.shift_left_by(&b.resize(n.ilog2() as usize)));
    }, [(24, 3, 58), (64, 4, 142), (160, 5, 337), (384, 6, 789)]),
];

fn numbers(builder: &Builder, n: usize) -> [UInt<'_>; 2] {
    ["a", "b"].map(|name| builder.uint(name, n))
}

#[test]
fn costs_are_those_of_the_table() {
    let mut wrong = Vec::new();
    for (name, describe, row) in TABLE {
        for (n, expected) in [8, 16, 32, 64].into_iter().zip(row) {
            let cost = Cost::of(&built(CircuitForm::Shallow, |builder| describe(builder, n)));
            let found = (cost.ands, cost.layers, cost.bits().round() as u32);
            if found != *expected {
                wrong.push(format!("{name} {n}: {found:?}, not {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Without a form, everything is built as before forms existed.
#[test]
fn the_small_form_is_the_default_and_the_other_one_differs() {
    let describe = |builder: &Builder| {
        let [a, b] = numbers(builder, 16);
        builder.output("sum", &(&a + &b));
    };
    let builder = Builder::new();
    describe(&builder);
    let plain = builder.finish().unwrap();
    assert_eq!(plain.digest(), built(CircuitForm::Small, describe).digest());
    assert_ne!(
        plain.digest(),
        built(CircuitForm::Shallow, describe).digest()
    );
    assert_eq!(plain.statistics().and_depth, 15);
}
