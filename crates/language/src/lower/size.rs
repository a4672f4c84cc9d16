//! Whether a run has more values than a function may have, before anything is built.
//!
//! The inputs of a run and the results of its calls stand in one value of the function, which is
//! cut into elements ([`Function::MAX_ELEMENTS`]): none is wider than the greatest common divisor
//! of the results' widths. Each function is counted once, and its
//! loops turn by turn, without a wire. What lies between the calls is not counted, so that a run
//! which passes may still be too large.

use std::collections::HashMap;

use num_integer::Integer as _;
use tacit_function::Function;

use super::{Error, Lower};
use crate::program::{
    Block, Body, Condition, Entry, Expression, ExpressionKind, FunctionId, Number, Program, Root,
    Statement, StatementKind, Step, ValuePath,
};

/// Turns of loops that are counted; a run of more is left to the trace.
const MAX_TURNS: u64 = 1 << 22;

/// Refuses a run whose inputs and calls alone are more than a function may have.
///
/// # Errors
///
/// They are.
pub(super) fn check(program: &Program, entry: &Entry) -> Lower<()> {
    let mut counting = Counting {
        program,
        known: HashMap::new(),
        left: MAX_TURNS,
    };
    let Some(results) = counting.function(entry.function) else {
        return Ok(());
    };
    let inputs = entry.inputs.iter();
    let inputs = inputs.map(|input| program.types.width(input.ty)).sum();
    let elements = results.bits.saturating_add(inputs) / results.divisor.max(1);
    if results.divisor == 0 || elements <= Function::MAX_ELEMENTS {
        return Ok(());
    }
    let times = elements as f64 / Function::MAX_ELEMENTS as f64;
    Err(Error::At(
        entry.span,
        format!(
            "the inputs of this run and what its components give have {elements} elements, \
             {times:.2} times the {} (2^25) that a function may have: give it fewer rows or \
             narrower numbers, or compute it in several runs",
            Function::MAX_ELEMENTS
        ),
    ))
}

/// Results of calls.
#[derive(Clone, Copy, Default)]
struct Results {
    bits: u64,
    /// The greatest common divisor of their widths, 0 where there are none.
    divisor: u64,
}

impl Results {
    fn and(self, other: Self) -> Self {
        Self {
            bits: self.bits.saturating_add(other.bits),
            divisor: self.divisor.gcd(&other.divisor),
        }
    }
}

/// Counts the results of the calls of components; None where it gives up.
struct Counting<'p> {
    program: &'p Program,
    known: HashMap<FunctionId, Option<Results>>,
    left: u64,
}

impl<'p> Counting<'p> {
    fn function(&mut self, id: FunctionId) -> Option<Results> {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let function = &self.program.functions[id.0 as usize];
        let counted = match &function.body {
            Body::Block(block) => self.block(&mut vec![0; function.counters.len()], block),
            Body::Library(..) | Body::File(..) => Some(Results::default()),
        };
        self.known.insert(id, counted);
        counted
    }

    fn block(&mut self, counters: &mut Vec<i128>, block: &'p Block) -> Option<Results> {
        let of_statements = self.statements(counters, &block.statements)?;
        Some(of_statements.and(self.expression(counters, &block.value)?))
    }

    fn statements(&mut self, counters: &mut Vec<i128>, all: &'p [Statement]) -> Option<Results> {
        let mut sum = Results::default();
        for statement in all {
            sum = sum.and(self.statement(counters, statement)?);
        }
        Some(sum)
    }

    fn statement(&mut self, counters: &mut Vec<i128>, of: &'p Statement) -> Option<Results> {
        match &of.kind {
            StatementKind::Let(_, value) | StatementKind::Evaluate(value) => {
                self.expression(counters, value)
            }
            StatementKind::Assign(place, value) => {
                let of_value = self.expression(counters, value)?;
                Some(of_value.and(self.place(counters, place)?))
            }
            StatementKind::If(condition, then, otherwise) => {
                let (taken, of_condition) = self.condition(counters, condition)?;
                let mut sum = of_condition;
                for (number, branch) in [otherwise, then].into_iter().enumerate() {
                    if taken.is_none_or(|taken| usize::from(taken) == number) {
                        sum = sum.and(self.statements(counters, branch)?);
                    }
                }
                Some(sum)
            }
            StatementKind::For(each) => {
                let (from, to) = (each.from.evaluate(counters)?, each.to.evaluate(counters)?);
                self.turns(counters, (each.counter.0, from..to), |this, counters| {
                    this.statements(counters, &each.body)
                })
            }
            StatementKind::Assert(_) | StatementKind::Debug(_) => Some(Results::default()),
        }
    }

    fn turns(
        &mut self,
        counters: &mut Vec<i128>,
        (counter, values): (u32, std::ops::Range<i128>),
        mut turn: impl FnMut(&mut Self, &mut Vec<i128>) -> Option<Results>,
    ) -> Option<Results> {
        let mut sum = Results::default();
        for value in values {
            self.left = self.left.checked_sub(1)?;
            counters[counter as usize] = value;
            sum = sum.and(turn(self, counters)?);
        }
        Some(sum)
    }

    /// Which branch is taken where that is known, and what the condition itself calls.
    fn condition(
        &mut self,
        counters: &mut Vec<i128>,
        of: &'p Condition,
    ) -> Option<(Option<bool>, Results)> {
        match of {
            Condition::Guard(number) => {
                let taken = number.evaluate(counters)? != 0;
                Some((Some(taken), Results::default()))
            }
            Condition::Secret(value) => Some((None, self.expression(counters, value)?)),
        }
    }

    fn place(&mut self, counters: &mut Vec<i128>, of: &'p ValuePath) -> Option<Results> {
        let mut sum = match &of.root {
            Root::Value(value) => self.expression(counters, value)?,
            _ => Results::default(),
        };
        for step in &of.path {
            if let Step::AtSecret(index) = step {
                sum = sum.and(self.expression(counters, index)?);
            }
        }
        Some(sum)
    }

    fn all(&mut self, counters: &mut Vec<i128>, of: &'p [Expression]) -> Option<Results> {
        let mut sum = Results::default();
        for part in of {
            sum = sum.and(self.expression(counters, part)?);
        }
        Some(sum)
    }

    fn expression(&mut self, counters: &mut Vec<i128>, of: &'p Expression) -> Option<Results> {
        use ExpressionKind as K;
        match &of.kind {
            K::Constant(_) | K::Number(_) => Some(Results::default()),
            K::Read(place) => self.place(counters, place),
            K::Unary(_, a) | K::Shift(_, a, _) | K::Cast(a) | K::Repeat(a) => {
                self.expression(counters, a)
            }
            K::Binary(_, a, b) => {
                let left = self.expression(counters, a)?;
                Some(left.and(self.expression(counters, b)?))
            }
            K::If(condition, then, otherwise) => {
                let (taken, of_condition) = self.condition(counters, condition)?;
                let mut sum = of_condition;
                for (number, branch) in [otherwise, then].into_iter().enumerate() {
                    if taken.is_none_or(|taken| usize::from(taken) == number) {
                        sum = sum.and(self.expression(counters, branch)?);
                    }
                }
                Some(sum)
            }
            K::Block(block) => self.block(counters, block),
            K::Aggregate(parts) | K::Intrinsic(_, parts) | K::Run(_, parts) => {
                self.all(counters, parts)
            }
            K::Comprehension(counter, from, a) => self.elements(counters, (counter.0, from), of, a),
            K::Call(id, arguments) => {
                let of_arguments = self.all(counters, arguments)?;
                Some(of_arguments.and(self.call(*id)?))
            }
        }
    }

    fn elements(
        &mut self,
        counters: &mut Vec<i128>,
        (counter, from): (u32, &Number),
        array: &Expression,
        element: &'p Expression,
    ) -> Option<Results> {
        let from = from.evaluate(counters)?;
        let (_, length) = self.program.types.element(array.ty)?;
        let values = from..from.checked_add(length.into())?;
        self.turns(counters, (counter, values), |this, counters| {
            this.expression(counters, element)
        })
    }

    fn call(&mut self, id: FunctionId) -> Option<Results> {
        let function = &self.program.functions[id.0 as usize];
        let types = &self.program.types;
        let width = |ty| types.width(ty);
        let has_bits = function
            .parameters
            .iter()
            .any(|local| width(function.locals[local.0 as usize].ty) > 0);
        let bits = width(function.result);
        match function.is_component && has_bits && bits > 0 {
            true => Some(Results {
                bits,
                divisor: bits,
            }),
            false => self.function(id),
        }
    }
}
