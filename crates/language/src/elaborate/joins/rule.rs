//! The operations allowed on pairs. The order of pairs depends on both parties' keys, so no
//! computation may depend on that order. A loop over pairs is order-free and draws no random bits.
//! A value for each pair is a result, which the placer puts in the order of its rows.

use std::collections::HashSet;

use super::HOW_TO_READ;
use crate::diagnostic::Diagnostic;
use crate::lower::{Judged, Kind, addition, variable};
use crate::program::{
    Body, Expression, ExpressionKind, Function, LocalId, Loop, Statement, StatementKind, ValuePath,
    Variable, VariableUse, Visit, in_expression, in_statement, variable_uses,
};
use crate::source::Span;

type Checked<T> = Result<T, Diagnostic>;

/// Checks the loops over pairs of a `main` with this number of results. Returns the number of the
/// result that has a value for each pair.
pub(super) fn check(function: &Function, results: usize) -> Checked<Option<usize>> {
    let Body::Block(block) = &function.body else {
        return Ok(None);
    };
    statements(function, &block.statements)?;
    let parts = match &block.value.kind {
        ExpressionKind::Aggregate(parts) if results > 1 => &parts[..],
        _ => core::slice::from_ref(&block.value),
    };
    let mut by_pair = None;
    for (number, part) in parts.iter().enumerate() {
        let ExpressionKind::ForEachPair(_, value) = &part.kind else {
            no_pairs(part)?;
            continue;
        };
        if by_pair.replace(number).is_some() {
            let error = Diagnostic::new(part.span, "a second result has a value for each pair");
            return Err(error.help("give both values as one struct"));
        }
        of_pair_alone(function, value)?;
    }
    Ok(by_pair)
}

fn statements(function: &Function, all: &[Statement]) -> Checked<()> {
    for statement in all {
        match &statement.kind {
            StatementKind::For(each) if each.is_over_pairs => order_free(function, each)?,
            StatementKind::If(condition, then, otherwise) => {
                let mut walk = PairReads::default();
                walk.condition(condition);
                walk.none()?;
                statements(function, then)?;
                statements(function, otherwise)?;
            }
            _ => {
                let mut walk = PairReads::default();
                in_statement(&mut walk, statement);
                walk.none()?;
            }
        }
    }
    Ok(())
}

/// Reports pairs that are read in an expression.
fn no_pairs(of: &Expression) -> Checked<()> {
    let mut walk = PairReads::default();
    walk.expression(of);
    walk.none()
}

/// The first place where pairs are read.
#[derive(Default)]
struct PairReads(Option<Span>);

impl PairReads {
    fn none(self) -> Checked<()> {
        match self.0 {
            None => Ok(()),
            Some(span) => {
                let error = Diagnostic::new(span, "the pairs of a join are not read here");
                Err(error.help(HOW_TO_READ))
            }
        }
    }
}

impl<'p> Visit<'p> for PairReads {
    fn statement(&mut self, of: &'p Statement) {
        match &of.kind {
            StatementKind::For(each) if each.is_over_pairs => {
                self.0.get_or_insert(of.span);
            }
            _ => in_statement(self, of),
        }
    }

    fn expression(&mut self, of: &'p Expression) {
        match &of.kind {
            ExpressionKind::ForEachPair(..) => _ = self.0.get_or_insert(of.span),
            _ => in_expression(self, of),
        }
    }
}

/// Checks that a loop over pairs only adds up.
fn order_free(function: &Function, each: &Loop) -> Checked<()> {
    let mut walk = PairReads::default();
    walk.statements(&each.body);
    walk.none()?;
    no_random(&each.body, None)?;
    let judged = Judged::of(each);
    let Some(&chain) = judged.chains().first() else {
        return Ok(());
    };
    let mut reason = Reason {
        chain,
        kind: None,
        found: None,
    };
    reason.statements(&each.body);
    let name = match chain {
        Variable::Local(local) => function.locals[local as usize].name.to_string(),
        Variable::State(_) => "a state".to_owned(),
    };
    let span = reason.found.or(each.body.first().map(|first| first.span));
    let span = span.unwrap_or(function.span);
    let message = format!("`{name}` depends on the order of the pairs");
    let error = Diagnostic::new(span, message);
    Err(error.help(format!(
        "pairs come in no order that may show: change `{name}` in one way, such as `+=`, \
         `= min({name}, …)` or `= {name} || …`, and read it behind the loop"
    )))
}

/// Reports random bits that are drawn for each pair.
fn no_random(all: &[Statement], value: Option<&Expression>) -> Checked<()> {
    let mut drawn = None;
    variable_uses(all, value, |of| {
        if let VariableUse::Draw(span) = of {
            drawn.get_or_insert(span);
        }
    });
    match drawn {
        None => Ok(()),
        Some(span) => {
            let error = Diagnostic::new(span, "random bits are drawn for each pair");
            Err(error.help("draw them before the loop, or behind it"))
        }
    }
}

/// Finds the reason that a variable depends on the order of turns: the first assignment that does
/// not add to it as the others do, or else the first place that reads it.
struct Reason {
    chain: Variable,
    kind: Option<Kind>,
    found: Option<Span>,
}

impl Reason {
    fn is_it(&self, place: &ValuePath) -> bool {
        variable(place) == Some(self.chain)
    }
}

impl<'p> Visit<'p> for Reason {
    fn statement(&mut self, of: &'p Statement) {
        if let StatementKind::Assign(place, value) = &of.kind
            && self.is_it(place)
        {
            match addition(place, value) {
                Some(added) if *self.kind.get_or_insert(added.kind) == added.kind => {
                    self.expression(added.addend);
                }
                _ => _ = self.found.get_or_insert(of.span),
            }
            return;
        }
        in_statement(self, of);
    }

    fn expression(&mut self, of: &'p Expression) {
        match &of.kind {
            ExpressionKind::Read(place) if self.is_it(place) => {
                self.found.get_or_insert(of.span);
            }
            _ => in_expression(self, of),
        }
    }
}

/// Checks that a value for each pair depends only on that pair and constants.
fn of_pair_alone(function: &Function, value: &Expression) -> Checked<()> {
    no_random(&[], Some(value))?;
    no_pairs(value)?;
    let mut inner: HashSet<LocalId> = function.parameters.last().copied().into_iter().collect();
    let (mut read, mut assigned) = (Vec::new(), HashSet::new());
    variable_uses(&[], Some(value), |of| match of {
        VariableUse::Bind(local, _) => _ = inner.insert(local),
        VariableUse::Assign(place) => assigned.extend(place.local()),
        VariableUse::Read(place, span) => read.extend(place.local().map(|local| (local, span))),
        VariableUse::Draw(_) => {}
    });
    if let Some((local, span)) = read.iter().find(|(local, _)| !inner.contains(local)) {
        let name = &function.locals[local.0 as usize].name;
        let error = Diagnostic::new(*span, format!("`{name}` is read for each pair"));
        return Err(error.help("a value for each pair is of that pair and constants alone"));
    }
    if !assigned.is_subset(&inner) {
        let error = Diagnostic::new(value.span, "a value for each pair changes a variable");
        return Err(error.help("add it up in a loop of its own: `for p in pairs { … }`"));
    }
    Ok(())
}
