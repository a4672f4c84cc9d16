//! Random functions of loops that pass over elements: in order, with gaps, backwards.

use tacit_circuit::{Component, Owners, Type};

use crate::samples::{Draws, OWNERS, Sample, circuit};
use crate::schedule::Limits;
use crate::{Expression, FunctionBuilder, FunctionError, Operand, Part, Recipient, Role};

/// An input or a value of type `bits[width][count]`.
struct Array {
    name: String,
    width: u64,
    count: u64,
    /// The number of elements of a result in it.
    result: u64,
    /// The number of elements, from the first on, that have a value before the present loop.
    written: u64,
    /// The number of elements that have a value after it.
    assigned: u64,
}

/// A function while it is made.
pub(super) struct Loops {
    draws: Draws,
    builder: FunctionBuilder,
    /// For each component, the widths of its ports and of its results.
    components: Vec<[Vec<u64>; 2]>,
    arrays: Vec<Array>,
    owners: Vec<Owners>,
    /// Of 100 indices, the number that are wrong.
    wrong_percent: usize,
}

/// The counter of a loop, and the number of elements by which each turn moves on.
type Moves<'e> = (&'e Expression, u64);

impl Loops {
    /// Draws a function. Two of the same seed have the same steps.
    pub(super) fn new(seed: u64, is_over_shares: bool, wrong_percent: usize) -> Self {
        let mut loops = Self {
            draws: Draws::new(seed),
            builder: FunctionBuilder::new("loops"),
            components: Vec::new(),
            arrays: Vec::new(),
            owners: Vec::new(),
            wrong_percent,
        };
        if is_over_shares {
            loops.builder.over_shares();
        }
        for number in 0..1 + loops.draws.below(3) {
            let mut shape = circuit(&mut loops.draws, 12, 0);
            // As narrow as ports, so that a port may read all results of a call.
            for port in &mut shape.outputs {
                port.truncate(1 + loops.draws.below(3));
            }
            let name = format!("f{number}");
            let component = Component::new(&name, shape.build());
            loops.builder.component(&name, component);
            let results = shape.outputs.iter().map(|port| port.len() as u64);
            let ports = shape.inputs.iter().map(|width| u64::from(*width));
            loops.components.push([ports.collect(), results.collect()]);
        }
        for number in 0..2 + loops.draws.below(3) {
            let owners = loops.draws.pick(&OWNERS);
            loops.owners.push(owners);
            let count = loops.draws.pick(&[3, 70, 130, 300]);
            let name = format!("i{number}");
            let width = 1 + loops.draws.below(3) as u64;
            let ty = format!("bits[{width}][{count}]");
            loops.builder.input(&name, &ty, Role::Garbler);
            loops.arrays.push(Array {
                name,
                width,
                count,
                result: 1,
                written: count,
                assigned: count,
            });
        }
        for _ in 0..1 + loops.draws.below(7) {
            loops.step();
        }
        loops.outputs();
        loops
    }

    /// Returns the function, with shares of its inputs.
    pub(super) fn finish(mut self) -> Result<Sample, FunctionError> {
        let function = self.builder.finish()?;
        let mut shares = Vec::new();
        for (input, owners) in function.inputs().iter().zip(&self.owners) {
            for _ in 0..input.port.ty.width() {
                let value = self.draws.percent(50);
                let of = |role| owners.includes(role) && (value || owners.is_public());
                shares.push(match owners.is_public() {
                    true => [value; 2],
                    false => [of(Role::Garbler), of(Role::Evaluator)],
                });
            }
        }
        Ok(Sample {
            function,
            owners: self.owners,
            shares,
            limits: Limits {
                rows: self.draws.pick(&[1, 1, 30, 1 << 23]),
                ..Limits::default()
            },
        })
    }

    /// Declares an array.
    fn value(&mut self, width: u64, count: u64) -> usize {
        let name = format!("v{}", self.arrays.len());
        let ty = format!("bits[{width}][{count}]");
        if self.draws.percent(10) {
            self.builder.variable(&name, &ty);
        } else {
            self.builder.value(&name, &ty);
        }
        self.arrays.push(Array {
            name,
            width,
            count,
            result: 1,
            written: 0,
            assigned: 0,
        });
        self.arrays.len() - 1
    }

    fn step(&mut self) {
        if self.draws.percent(15) {
            let from = self.draws.below(self.arrays.len());
            let (width, written) = (self.arrays[from].width, self.arrays[from].written);
            let count = 1 + self.draws.below(written.min(9) as usize) as u64;
            if written > 0 {
                let value = self.part(from, count, 1, None);
                let to = self.value(width, count);
                self.builder.assign(Part::of(&self.arrays[to].name), value);
                self.arrays[to].written = count;
                self.arrays[to].assigned = count;
            }
            return;
        }
        let turns = self
            .draws
            .pick(&[1, 2, 3, 4, 6, 40, 63, 64, 65, 66, 100, 129, 140]);
        let first = self.draws.below(3) as u64;
        let calls = if self.draws.percent(10) { 2 } else { 1 };
        let is_nested = self.draws.percent(5);
        // Expressions need only the counter's name.
        let counter = Expression::counter("i");
        let steps: Vec<_> = (0..calls)
            .map(|_| self.call(&counter, first, turns))
            .collect();
        let add = |builder: &mut FunctionBuilder| {
            builder.repeat("i", first, first + turns, |each, _| {
                for (targets, component, arguments) in steps {
                    each.call(targets, &component, arguments);
                }
            });
        };
        if is_nested {
            self.builder.repeat("j", 0, 1, |each, _| add(each));
        } else {
            add(&mut self.builder);
        }
        for array in &mut self.arrays {
            array.written = array.assigned;
        }
    }

    /// Draws a call in a loop: its targets, its component and its arguments.
    fn call(
        &mut self,
        counter: &Expression,
        first: u64,
        turns: u64,
    ) -> (Vec<Part>, String, Vec<Operand>) {
        let number = self.draws.below(self.components.len());
        let [ports, results] = self.components[number].clone();
        let arguments = ports
            .iter()
            .map(|port| self.argument(*port, (counter, first), turns));
        let arguments = arguments.collect();
        let mut targets = Vec::new();
        for result in results {
            if self.draws.percent(10) {
                targets.push(Part::of("_"));
                continue;
            }
            // Elements behind those of an earlier loop, if there is room, or a new array.
            let fits = |array: &Array| {
                array.name.starts_with('v')
                    && result.is_multiple_of(array.width)
                    && array.assigned + turns * result / array.width <= array.count
            };
            let known = self.arrays.iter().position(fits);
            let to = known.unwrap_or_else(|| {
                let width = self.draws.pick(&[1, result]);
                let count = turns * result / width;
                let more = self.draws.pick(&[0, 0, 1, 200]);
                self.value(width, count + more)
            });
            let each = result / self.arrays[to].width;
            self.arrays[to].result = each;
            let start = self.arrays[to].assigned;
            targets.push(self.at(to, start, each, Some((counter, first)), each));
            self.arrays[to].assigned += turns * each;
        }
        (targets, format!("f{number}"), arguments)
    }

    /// Draws an argument of `bits` bits.
    fn argument(&mut self, mut bits: u64, counter: Moves<'_>, turns: u64) -> Operand {
        let mut pieces = Vec::new();
        while bits > 0 {
            // Later arrays more often than inputs.
            let arrays = self.arrays.len();
            let of = self.draws.below(arrays).max(self.draws.below(arrays));
            let Array {
                width,
                written,
                result,
                ..
            } = self.arrays[of];
            let most = (bits / width).min(written);
            if most == 0 || self.draws.percent(8) {
                let bit = i128::from(self.draws.percent(50));
                pieces.push(Operand::typed(bit, Type::bits(1)));
                bits -= 1;
                continue;
            }
            let count = match 1 + self.draws.below(most as usize) as u64 {
                _ if result <= most && self.draws.percent(60) => result,
                any => any,
            };
            bits -= count * width;
            pieces.push(self.part(of, count, turns, Some(counter)).into());
        }
        pieces.into_iter().reduce(Operand::then).expect("a piece")
    }

    /// Draws elements of an array that have a value in all turns.
    fn part(&mut self, of: usize, count: u64, turns: u64, counter: Option<Moves<'_>>) -> Part {
        let written = self.arrays[of].written;
        let step = match self.draws.below(100) {
            0..8 => count + 1,
            8..14 => 2 * count,
            14..25 => 0,
            _ => count,
        };
        let reach = step * (turns - 1) + count;
        if reach > written || counter.is_none() {
            let start = self.draws.below((written - count + 1) as usize) as u64;
            return self.at(of, start, count, None, 0);
        }
        let start = self.draws.below((written - reach + 1) as usize) as u64;
        self.at(of, start, count, counter.filter(|_| step > 0), step)
    }

    /// Returns `count` elements from `start` on, and in each turn from `step` ones further on.
    fn at(
        &mut self,
        of: usize,
        mut start: u64,
        count: u64,
        counter: Option<Moves<'_>>,
        step: u64,
    ) -> Part {
        if self.draws.percent(self.wrong_percent) {
            start = self
                .draws
                .pick(&[start + 1, start + 3, start.saturating_sub(1)]);
        }
        let from = match counter {
            None => Expression::from(start),
            Some((counter, first)) => counter.times(step).plus(start).minus(step * first),
        };
        Part::of(&self.arrays[of].name).range(from.clone(), from.plus(count))
    }

    fn outputs(&mut self) {
        let to = [Recipient::Garbler, Recipient::Evaluator, Recipient::Both];
        for number in 0..self.arrays.len() {
            let Array { width, written, .. } = self.arrays[number];
            if written == 0 || self.draws.percent(40) && number > 0 {
                continue;
            }
            let count = 1 + self.draws.below(written as usize) as u64;
            let start = self.draws.below((written - count + 1) as usize) as u64;
            let (name, ty) = (format!("o{number}"), format!("bits[{width}][{count}]"));
            let value = self.at(number, start, count, None, 0);
            let to = self.draws.pick(&to);
            self.builder.output(&name, &ty, to, value);
        }
    }
}
