//! A loop over the pairs of a join counts pairs alone. There are elements that are no pairs, and
//! all of these is zero, so most statements change nothing for them, as `sum += p.right.amount`.
//! Each other one is put under `if p.matched`, as if the program had it.

use super::super::zeros::Changes;
use crate::program::{
    Body, Condition, Expression, ExpressionKind, LocalId, Loop, Number, Program, Root, Statement,
    StatementKind, Step, TypeId, ValuePath,
};

/// The number of the field `matched` of a pair.
const MATCHED: u32 = 0;

/// Puts what a loop over pairs changes for elements that are no pairs under `if p.matched`.
pub(in crate::elaborate) fn guard(program: &mut Program) {
    let bool = program.types.bool();
    let joins = program.entries.iter().filter_map(|entry| {
        let join = entry.join.as_ref()?;
        Some((entry.function.0 as usize, join.pairs))
    });
    for (function, pairs) in joins.collect::<Vec<_>>() {
        let is_pair = |place: &ValuePath| matches!(place.root, Root::Local(of) if of == pairs);
        let body = &mut program.functions[function].body;
        let Body::Block(block) = body else {
            continue;
        };
        // Pointers to the statements stay right: the vector is moved, and its elements are not.
        let mut statements = std::mem::take(&mut block.statements);
        each_loop(&mut statements, &mut |each| {
            let changes = Changes::of(program, &each.body, &is_pair);
            if !changes.is_empty() {
                let guard = Guard {
                    changes,
                    pairs,
                    bool,
                    each: each.counter,
                };
                guard.statements(&mut each.body);
            }
        });
        if let Body::Block(block) = &mut program.functions[function].body {
            block.statements = statements;
        }
    }
}

/// Calls `see` with each loop over pairs.
pub(super) fn each_loop(statements: &mut [Statement], see: &mut impl FnMut(&mut Loop)) {
    for statement in statements {
        match &mut statement.kind {
            StatementKind::For(each) if each.is_over_pairs => see(each),
            StatementKind::If(_, then, otherwise) => {
                each_loop(then, see);
                each_loop(otherwise, see);
            }
            _ => {}
        }
    }
}

struct Guard {
    changes: Changes,
    pairs: LocalId,
    bool: TypeId,
    each: crate::program::CounterId,
}

impl Guard {
    fn statements(&self, all: &mut [Statement]) {
        all.iter_mut()
            .for_each(|statement| self.statement(statement));
    }

    fn statement(&self, of: &mut Statement) {
        let is_change = self.changes.has(of);
        match &mut of.kind {
            StatementKind::Let(_, value)
            | StatementKind::Evaluate(value)
            | StatementKind::Assert(value) => self.expression(value),
            StatementKind::Debug(value) => {
                self.expression(value);
                self.wrap(of);
            }
            StatementKind::Assign(place, value) => {
                self.expression(value);
                self.place(place);
                if is_change {
                    self.wrap(of);
                }
            }
            StatementKind::If(condition, then, otherwise) => {
                self.condition(condition);
                self.statements(then);
                self.statements(otherwise);
            }
            StatementKind::For(each) => self.statements(&mut each.body),
        }
    }

    fn wrap(&self, of: &mut Statement) {
        let span = of.span;
        let at = Step::At(Number::Counter(self.each), span);
        let matched = Expression {
            kind: ExpressionKind::Read(ValuePath {
                root: Root::Local(self.pairs),
                path: vec![at, Step::Field(MATCHED)],
            }),
            ty: self.bool,
            span,
        };
        let nothing = StatementKind::If(Condition::Secret(matched), Vec::new(), Vec::new());
        let inner = std::mem::replace(&mut of.kind, nothing);
        if let StatementKind::If(_, then, _) = &mut of.kind {
            then.push(Statement::new(inner, span));
        }
    }

    fn condition(&self, of: &mut Condition) {
        if let Condition::Secret(value) = of {
            self.expression(value);
        }
    }

    fn place(&self, of: &mut ValuePath) {
        if let Root::Value(value) = &mut of.root {
            self.expression(value);
        }
        for step in &mut of.path {
            if let Step::AtSecret(index) = step {
                self.expression(index);
            }
        }
    }

    /// Guards the statements in an expression.
    fn expression(&self, of: &mut Expression) {
        use ExpressionKind as K;
        match &mut of.kind {
            K::Constant(_) | K::Number(_) => {}
            K::Read(place) => self.place(place),
            K::Unary(_, of)
            | K::Shift(_, of, _)
            | K::Cast(of)
            | K::Repeat(of)
            | K::Comprehension(_, _, of)
            | K::ForEachPair(_, of) => self.expression(of),
            K::Binary(_, a, b) => {
                self.expression(a);
                self.expression(b);
            }
            K::If(condition, a, b) => {
                self.condition(condition);
                self.expression(a);
                self.expression(b);
            }
            K::Block(block) => {
                self.statements(&mut block.statements);
                self.expression(&mut block.value);
            }
            K::Call(_, parts) | K::Aggregate(parts) | K::Run(_, parts) | K::Intrinsic(_, parts) => {
                parts.iter_mut().for_each(|part| self.expression(part));
            }
        }
    }
}
