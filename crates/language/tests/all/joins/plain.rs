//! Compares sums of all kinds over the pairs of random tables with a handwritten join.

use super::*;

/// The rows of both tables. The last field is a number that belongs to no pair.
struct Tables {
    /// A key, `x` and `color`.
    left: Vec<(i64, i64, i64)>,
    /// A key and `y`.
    right: Vec<(i64, i64)>,
    bias: i64,
}

impl Tables {
    /// Draws tables of at most these numbers of rows. Some of their keys are in both tables.
    fn draw(sizes: [u64; 2], chance: &mut Chance) -> Self {
        let keys = 1 + sizes[0].max(sizes[1]) * 3 / 2;
        let mut ids = |most: u64| -> Vec<i64> {
            let mut ids: Vec<u64> = (0..keys).collect();
            for place in (1..ids.len()).rev() {
                ids.swap(place, chance.below(place + 1));
            }
            let count = chance.below(most as usize + 1);
            ids.truncate(count);
            ids.into_iter().map(|id| id as i64).collect()
        };
        let (left, right) = (ids(sizes[0]), ids(sizes[1]));
        let left = left.into_iter();
        let right = right.into_iter();
        Self {
            left: left
                .map(|id| (id, chance.below(256) as i64, chance.below(3) as i64))
                .collect(),
            right: right
                .map(|id| (id, chance.below(256) as i64 - 128))
                .collect(),
            bias: chance.below(256) as i64,
        }
    }

    /// Returns the program's results, computed by hand.
    fn results(&self) -> Value {
        let (mut count, mut sum, mut least, mut most) = (0, 5_i64, 255, -128);
        let (mut all, mut any, mut parity, mut colors) = (true, false, 1, [0; 3]);
        for (id, x, color) in &self.left {
            let Some((_, y)) = self.right.iter().find(|(other, _)| other == id) else {
                continue;
            };
            count += 1;
            sum += y;
            least = least.min(*x);
            most = most.max(*y);
            all &= *x > self.bias;
            any |= *x > self.bias;
            parity ^= x;
            colors[*color as usize] += 1;
        }
        let less = ((5 - sum) as i16).into();
        Value::List(vec![
            number(count),
            number(sum),
            number(less),
            number(least),
            number(most),
            all.into(),
            any.into(),
            number(parity),
            Value::List(colors.map(number).into()),
        ])
    }

    /// Returns the inputs of the program.
    fn given(&self, sizes: [u64; 2]) -> Vec<Value> {
        let left_row =
            |(id, x, color): &(i64, i64, i64)| Value::List([*id, *x, *color, 7].map(number).into());
        let right_row = |(id, y): &(i64, i64)| Value::List([*id, *y].map(number).into());
        let left = self.left.iter().map(left_row).collect();
        let right = self.right.iter().map(right_row).collect();
        vec![
            table(left, sizes[0], &left_row(&(0, 0, 0))),
            table(right, sizes[1], &right_row(&(0, 0))),
            number(self.bias),
        ]
    }

    /// Returns the placer's rows, each with the row of the same key in the other table.
    fn placed(&self, placer: JoinSide) -> Vec<(Vec<bool>, Option<Vec<bool>>)> {
        let of_left = |(_, x, color): &(i64, i64, i64)| [bits(*x, 8), bits(*color, 2)].concat();
        let of_right = |(_, y): &(i64, i64)| bits(*y, 8);
        let (left, right) = (&self.left, &self.right);
        match placer {
            JoinSide::Left => left
                .iter()
                .map(|row| {
                    let other = right.iter().find(|(id, _)| *id == row.0);
                    (of_left(row), other.map(of_right))
                })
                .collect(),
            JoinSide::Right => right
                .iter()
                .map(|row| {
                    let other = left.iter().find(|(id, ..)| *id == row.0);
                    (of_right(row), other.map(of_left))
                })
                .collect(),
        }
    }
}

#[test]
fn pairs_are_those_of_a_plain_join() {
    let mut chance = Chance(116);
    for sizes in [[1, 1], [3, 2], [70, 90], [400, 150], [3000, 2500]] {
        let mut program = sized(KINDS, sizes);
        let functions = SPANS.map(|most_bins| {
            cut(&mut program, most_bins);
            lower(&program, "main")
        });
        let rounds = if sizes[0] > 1000 { 1 } else { 5 };
        for _ in 0..rounds {
            let tables = Tables::draw(sizes, &mut chance);
            let expected = tables.results();
            let outcome = program
                .evaluate(functions[0].0, tables.given(sizes), Vec::new(), Vec::new())
                .expect("results");
            assert_eq!(outcome.results, expected, "{sizes:?}");

            let entry = &program.entries[0];
            let ports = entry.outputs.iter().zip(entry.results(&expected));
            let expected: Vec<bool> = ports
                .flat_map(|(port, value)| program.types.bits_of_value(port.ty, value))
                .collect();
            for (_, lowered) in &functions {
                let plan = lowered.join.as_ref().expect("a join");
                assert_eq!(plan.left.row_bits(), 10, "x and color are read");
                assert_eq!(plan.right.row_bits(), 8);
                let rows = tables.placed(plan.placer);
                let (placer, programmer, _) = staged(plan, &rows, &mut chance);
                let mut given = of_spans(plan, placer, programmer);
                given.insert("bias", bits(tables.bias, 8));
                let given = inputs(&lowered.function, &given);
                let found = lowered.function.evaluate(&given);
                assert_eq!(found, expected, "{sizes:?} {:?}", plan.spans);
            }
        }
    }
}
