//! The totals over the turns of loops. Turns are checked one by one if the amount or the condition
//! of an addition depends on their counters.

use std::collections::BTreeSet;

use num_bigint::BigInt;
use num_traits::Zero;

use super::{Range, SumCheck};
use crate::elaborate::ranges::bounds;
use crate::program::{BinaryOperator, Expression, ExpressionKind as K, Intrinsic, Number};

impl<'p> SumCheck<'p> {
    /// Returns how often these loops add a value, and the range of the total. Turns are checked one
    /// by one if the added value, or the condition of the addition, depends on their counters.
    pub(super) fn over_turns(
        &mut self,
        loops: &[(usize, u128)],
        added: &'p Expression,
        once: Range,
    ) -> Option<(u128, BigInt, BigInt)> {
        let mut counters = BTreeSet::new();
        self.counters_in(added, &mut counters);
        for (guard, _) in &self.guards {
            counters.extend(counters_of(guard));
        }
        let (named, others): (Vec<_>, Vec<_>) = loops
            .iter()
            .copied()
            .partition(|(counter, _)| counters.contains(counter));
        let product = |loops: &[(usize, u128)]| {
            loops
                .iter()
                .fold(1_u128, |all, (_, turns)| all.saturating_mul(*turns))
        };
        let again = product(&others);
        let Some(left) = self.left.checked_sub(product(&named)) else {
            let turns = again.saturating_mul(product(&named));
            return Some((turns, once.0 * turns, once.1 * turns));
        };
        self.left = left;
        let mut total = (0, BigInt::zero(), BigInt::zero());
        self.each_turn(&named, added, &mut total)?;
        let (turns, least, greatest) = total;
        Some((again.saturating_mul(turns), least * again, greatest * again))
    }

    fn each_turn(
        &mut self,
        loops: &[(usize, u128)],
        added: &'p Expression,
        total: &mut (u128, BigInt, BigInt),
    ) -> Option<()> {
        let Some(((counter, _), rest)) = loops.split_first() else {
            let fails = |(guard, holds): &(&Number, bool)| match bounds(guard, &self.bounds) {
                Some((0, 0)) => *holds,
                Some((low, high)) => !holds && (low > 0 || high < 0),
                None => false,
            };
            if !self.guards.iter().any(fails) {
                let (least, greatest) = self.range(added)?;
                *total = (total.0 + 1, &total.1 + least, &total.2 + greatest);
            }
            return Some(());
        };
        let range = self.bounds[*counter];
        for value in range.0..=range.1 {
            self.bounds[*counter] = (value, value);
            if self.each_turn(rest, added, total).is_none() {
                self.bounds[*counter] = range;
                return None;
            }
        }
        self.bounds[*counter] = range;
        Some(())
    }

    /// Collects the counters on which the range of a value depends.
    fn counters_in(&self, value: &Expression, found: &mut BTreeSet<usize>) {
        match &value.kind {
            K::Number(number) => found.extend(counters_of(number)),
            K::Cast(of) => self.counters_in(of, found),
            K::If(_, a, b) | K::Binary(BinaryOperator::Add, a, b) => {
                self.counters_in(a, found);
                self.counters_in(b, found);
            }
            K::Block(block) => self.counters_in(&block.value, found),
            K::Intrinsic(Intrinsic::WideMul, parts) => {
                parts.iter().for_each(|part| self.counters_in(part, found));
            }
            _ => {}
        }
    }
}

/// Returns the counters in a number.
pub(super) fn counters_of(number: &Number) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    number.counters(&mut |counter| {
        found.insert(counter.0 as usize);
    });
    found
}
