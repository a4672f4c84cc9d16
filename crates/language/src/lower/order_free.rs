//! The loops that add up. They compute the same in any order, so that their addends can be added as
//! a tree. Nothing else may depend on a partial sum.
//!
//! A loop is *order-free* if each outer variable that it changes, including fields and elements, is
//! changed by one kind of statement only, such as `x += e` or `x = min(x, e)`, and is read nowhere
//! else in the loop: in no `e`, index or condition. An inner loop is judged together with the outer
//! one.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::program::{
    BinaryOperator, Expression, ExpressionKind, Intrinsic, LocalId, Loop, Root, Statement,
    StatementKind, Step, ValuePath, Variable, Visit, in_statement,
};

/// The way in which a variable is changed. Values of one kind are added up in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// `x += e` or `x -= e`.
    Sum,
    /// `x ^= e`.
    Parity,
    /// `x &= e`, or `x = x && e`.
    All,
    /// `x |= e`, or `x = x || e`.
    Any,
    /// `x = min(x, e)`.
    Least,
    /// `x = max(x, e)`.
    Greatest,
}

/// A statement that adds to a variable.
#[derive(Clone, Copy)]
pub(crate) struct Addition<'p> {
    pub(crate) kind: Kind,
    pub(crate) is_subtracted: bool,
    pub(crate) addend: &'p Expression,
}

/// The outer variables that a loop changes.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// The variables that the loop adds up.
    pub(super) sums: BTreeMap<Variable, Kind>,
    /// The other variables.
    pub(super) chains: BTreeSet<Variable>,
}

impl Judged {
    /// Judges the outer variables of a loop.
    pub(crate) fn of(each: &Loop) -> Self {
        Self::of_statements(&each.body)
    }

    /// Judges the outer variables of statements that are a turn of a loop.
    pub(super) fn of_statements(all: &[Statement]) -> Self {
        let mut judge = Judge::default();
        judge.statements(all);
        let mut judged = judge.judged;
        for variable in judge.read {
            if judged.sums.remove(&variable).is_some() {
                judged.chains.insert(variable);
            }
        }
        judged
    }

    /// Returns the variables that the loop changes but does not add up.
    pub(crate) fn chains(&self) -> &BTreeSet<Variable> {
        &self.chains
    }
}

#[derive(Default)]
struct Judge {
    judged: Judged,
    /// The loop's own variables.
    inner: HashSet<LocalId>,
    read: BTreeSet<Variable>,
}

impl Judge {
    fn outer(&self, place: &ValuePath) -> Option<Variable> {
        match place.root {
            Root::Local(local) if self.inner.contains(&local) => None,
            _ => variable(place),
        }
    }

    fn note(&mut self, variable: Variable, kind: Option<Kind>) {
        let sums = &mut self.judged.sums;
        let is_sum = kind.is_some_and(|kind| *sums.entry(variable).or_insert(kind) == kind);
        if !is_sum || self.judged.chains.contains(&variable) {
            sums.remove(&variable);
            self.judged.chains.insert(variable);
        }
    }
}

impl<'p> Visit<'p> for Judge {
    fn statement(&mut self, of: &'p Statement) {
        match &of.kind {
            StatementKind::Let(local, _) => {
                in_statement(self, of);
                self.inner.insert(*local);
            }
            StatementKind::Assign(place, value) => {
                let addition = addition(place, value);
                if let Some(variable) = self.outer(place) {
                    self.note(variable, addition.map(|addition| addition.kind));
                }
                match addition {
                    // The read of the target itself does not count.
                    Some(addition) => {
                        self.expression(addition.addend);
                        self.indices(place);
                    }
                    None => in_statement(self, of),
                }
            }
            _ => in_statement(self, of),
        }
    }

    fn place(&mut self, of: &'p ValuePath) {
        if let Root::Value(value) = &of.root {
            self.expression(value);
        }
        self.read.extend(variable(of));
        self.indices(of);
    }
}

/// Returns the variable or state that contains a place.
pub(crate) fn variable(place: &ValuePath) -> Option<Variable> {
    match &place.root {
        Root::Local(local) => Some(Variable::Local(local.0)),
        Root::State(state) => Some(Variable::State(state.0)),
        Root::Value(_) => None,
    }
}

/// Returns the addition that an assignment makes, if it does nothing else.
pub(crate) fn addition<'p>(place: &ValuePath, value: &'p Expression) -> Option<Addition<'p>> {
    use BinaryOperator as B;
    let (kind, is_subtracted, first, addend) = match &value.kind {
        ExpressionKind::Binary(operator, first, addend) => {
            let kind = match operator {
                B::Add | B::Subtract => Kind::Sum,
                B::Xor => Kind::Parity,
                B::And | B::LogicalAnd => Kind::All,
                B::Or | B::LogicalOr => Kind::Any,
                _ => return None,
            };
            (kind, *operator == B::Subtract, &**first, &**addend)
        }
        ExpressionKind::Intrinsic(intrinsic, given) => {
            let kind = match intrinsic {
                Intrinsic::Min => Kind::Least,
                Intrinsic::Max => Kind::Greatest,
                _ => return None,
            };
            let [first, addend] = &given[..] else {
                return None;
            };
            (kind, false, first, addend)
        }
        _ => return None,
    };
    let is_of_place = matches!(&first.kind, ExpressionKind::Read(read) if same_place(read, place));
    is_of_place.then_some(Addition {
        kind,
        is_subtracted,
        addend,
    })
}

/// Whether two places are the same, independent of where they are written.
pub(super) fn same_place(a: &ValuePath, b: &ValuePath) -> bool {
    let same_step = |steps: (&Step, &Step)| match steps {
        (Step::Field(a), Step::Field(b)) => a == b,
        (Step::At(a, _), Step::At(b, _)) => a == b,
        (Step::Slice(a, n, _), Step::Slice(b, m, _)) => (a, n) == (b, m),
        (Step::AtSecret(a), Step::AtSecret(b)) => same_value(a, b),
        _ => false,
    };
    let is_variable = variable(a).is_some() && variable(a) == variable(b);
    is_variable && a.path.len() == b.path.len() && a.path.iter().zip(&b.path).all(same_step)
}

/// Whether two expressions without effects are the same.
pub(crate) fn same_value(a: &Expression, b: &Expression) -> bool {
    use ExpressionKind as K;
    a.ty == b.ty
        && match (&a.kind, &b.kind) {
            (K::Constant(a), K::Constant(b)) => a == b,
            (K::Number(a), K::Number(b)) => a == b,
            (K::Read(a), K::Read(b)) => same_place(a, b),
            (K::Cast(a), K::Cast(b)) => same_value(a, b),
            (K::Unary(o, a), K::Unary(p, b)) => o == p && same_value(a, b),
            (K::Binary(o, a, c), K::Binary(p, b, d)) => {
                o == p && same_value(a, b) && same_value(c, d)
            }
            // Random bits differ from one draw to the next. All others are functions of their
            // arguments.
            (K::Intrinsic(i, a), K::Intrinsic(j, b)) => {
                i == j
                    && *i != Intrinsic::Random
                    && a.len() == b.len()
                    && a.iter().zip(b).all(|(a, b)| same_value(a, b))
            }
            _ => false,
        }
}
