//! Facts about a sum from conditions on secrets: `if n < 10 { n += 1; }` keeps `n` within its type.

use num_bigint::BigInt;
use num_traits::Signed;

use super::{Part, Range, SumCheck, place_of};
use crate::program::{
    BinaryOperator, Condition, Expression, ExpressionKind as K, LocalId, TypeId, UnaryOperator,
};

/// A fact that a condition implies about a variable or a part of it, until that is assigned.
pub(super) struct Fact {
    local: LocalId,
    part: Part,
    /// The greatest possible value, if the condition bounds it.
    greatest: Option<BigInt>,
    /// The least possible value, if the condition bounds it.
    least: Option<BigInt>,
    /// The number of open loops. In a further loop, an earlier turn may have assigned the variable.
    loops: usize,
    /// Whether the variable has been assigned since.
    is_stale: bool,
}

impl<'p> SumCheck<'p> {
    /// Checks the part of a program that runs if a condition holds, or if it does not.
    pub(super) fn under<T>(
        &mut self,
        condition: &'p Condition,
        holds: bool,
        look: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let (guards, facts) = (self.guards.len(), self.facts.len());
        match condition {
            Condition::Guard(number) => self.guards.push((number, holds)),
            Condition::Secret(value) => self.learn(value, holds),
        }
        let result = look(self);
        self.guards.truncate(guards);
        self.facts.truncate(facts);
        result
    }

    /// Records the facts about variables that a secret condition implies.
    pub(super) fn learn(&mut self, condition: &'p Expression, holds: bool) {
        use BinaryOperator as B;
        let (operator, a, b) = match &condition.kind {
            K::Unary(UnaryOperator::Not, of) => return self.learn(of, !holds),
            K::Binary(operator, a, b) => (*operator, &**a, &**b),
            _ => return,
        };
        match (operator, holds) {
            (B::LogicalAnd | B::And, true) | (B::LogicalOr | B::Or, false) => {
                self.learn(a, holds);
                self.learn(b, holds);
            }
            (B::Less, true) | (B::GreaterEqual, false) => self.learn_order(a, b, 1),
            (B::LessEqual, true) | (B::Greater, false) => self.learn_order(a, b, 0),
            (B::Greater, true) | (B::LessEqual, false) => self.learn_order(b, a, 1),
            (B::GreaterEqual, true) | (B::Less, false) => self.learn_order(b, a, 0),
            _ => {}
        }
    }

    /// Records that one value is less than another by at least `by`.
    fn learn_order(&mut self, less: &'p Expression, more: &'p Expression, by: u8) {
        let (of_less, of_more) = (self.range(less), self.range(more));
        let greatest = of_more.map(|(_, greatest)| greatest - by);
        let least = of_less.map(|(least, _)| least + by);
        for (value, greatest, least) in [(less, greatest, None), (more, None, least)] {
            if let Some((local, part)) = place_of(value) {
                self.facts.push(Fact {
                    local,
                    part,
                    greatest,
                    least,
                    loops: self.loops.len(),
                    is_stale: false,
                });
            }
        }
    }

    /// Whether a condition keeps a variable within its type when `added` is added to it.
    pub(super) fn is_kept_within(
        &self,
        (local, part): (LocalId, &Part),
        added: &Range,
        ty: TypeId,
    ) -> bool {
        let Some((least, greatest)) = self.program.types.range(ty) else {
            return false;
        };
        let facts = || {
            let facts = self.facts.iter();
            facts.filter(|fact| {
                let is_of = fact.local == local && fact.part == *part;
                is_of && fact.loops == self.loops.len() && !fact.is_stale
            })
        };
        let mut greatest_known = facts().filter_map(|fact| fact.greatest.as_ref());
        let mut least_known = facts().filter_map(|fact| fact.least.as_ref());
        let is_below =
            !added.1.is_positive() || greatest_known.any(|known| known + &added.1 <= greatest);
        let is_above = !added.0.is_negative() || least_known.any(|known| known + &added.0 >= least);
        is_below && is_above
    }

    /// Marks the facts about a variable as stale, since it is assigned.
    pub(super) fn forget(&mut self, local: LocalId) {
        let facts = self.facts.iter_mut();
        facts.for_each(|fact| fact.is_stale |= fact.local == local);
    }
}
