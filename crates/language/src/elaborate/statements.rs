//! Statements and patterns.

use super::operators::Operands;
use super::term::Term;
use super::{Binding, Done, Elaborator, Surroundings};
use crate::diagnostic::Diagnostic;
use crate::program::{
    BinaryOperator, Expression, ExpressionKind, Intrinsic, Root, Statement, StatementKind, Step,
    TypeId, TypeKind, Value, ValuePath,
};
use crate::source::Span;
use crate::syntax::{
    self, ExpressionKind as Syntax, Ident, Pattern, PatternKind, StatementKind as Written,
};

impl<'a> Elaborator<'a> {
    /// Elaborates statements in order. After an error, continues with the next one.
    pub(super) fn statements(
        &mut self,
        statements: &'a [syntax::Statement],
        out: &mut Vec<Statement>,
    ) -> Done<()> {
        let mut result = Ok(());
        for statement in statements {
            if let Err(reported) = self.statement(statement, out) {
                result = Err(reported);
                match &statement.kind {
                    Written::Let(pattern, ..) => self.bind_broken(pattern, reported),
                    Written::Const(name, ..) => {
                        self.bind(name.name.clone(), Binding::Broken(reported));
                    }
                    _ => {}
                }
            }
        }
        result
    }

    fn bind_broken(&mut self, pattern: &Pattern, reported: crate::diagnostic::Reported) {
        match &pattern.kind {
            PatternKind::Name(_, name) => self.bind(name.name.clone(), Binding::Broken(reported)),
            PatternKind::Tuple(parts) => {
                parts
                    .iter()
                    .for_each(|part| self.bind_broken(part, reported));
            }
            PatternKind::Any | PatternKind::Value(_) => {}
        }
    }

    fn statement(
        &mut self,
        statement: &'a syntax::Statement,
        out: &mut Vec<Statement>,
    ) -> Done<()> {
        let span = statement.span;
        self.burn(span)?;
        match &statement.kind {
            Written::Let(pattern, ty, value) => {
                let term = self.declared(ty.as_ref(), value)?;
                self.bind_pattern(pattern, term, value.span, out)
            }
            Written::Const(name, ty, value) => self.const_statement(name, ty.as_ref(), value),
            Written::Assign(target, operator, value) => {
                self.assignment(target, *operator, value, out)
            }
            Written::For(each) => self.for_statement(each, span, out),
            Written::Assert(condition) => {
                if self.context.surroundings != Surroundings::Test {
                    let error = Diagnostic::new(span, "`assert` stands in tests alone");
                    return self.fail(error.help(
                        "a run that fails would show why: give out a bool, as `sound: bool to \
                         both`",
                    ));
                }
                let bool = self.program.types.bool();
                let value = self.value(condition, bool)?;
                out.push(Statement::new(StatementKind::Assert(value), span));
                Ok(())
            }
            Written::Expression(value) => self.expression_statement(value, out),
        }
    }

    /// Elaborates a value with its declared type, if there is one.
    fn declared(
        &mut self,
        ty: Option<&'a syntax::TypeExpression>,
        value: &'a syntax::Expression,
    ) -> Done<Term> {
        match ty {
            Some(ty) => {
                let ty = self.ty(ty)?;
                Ok(Term::Value(self.value(value, ty)?))
            }
            None => self.expression(value, None),
        }
    }

    fn const_statement(
        &mut self,
        name: &Ident,
        ty: Option<&'a syntax::TypeExpression>,
        value: &'a syntax::Expression,
    ) -> Done<()> {
        let term = self.declared(ty, value)?;
        if !term.is_const() {
            let message = format!("`{}` is const, and this is a secret", name.name);
            let error = Diagnostic::new(value.span, message).label("depends on the inputs");
            return self.fail(error.help(format!("write `let {} = …`", name.name)));
        }
        self.bind(name.name.clone(), Binding::Term(term));
        Ok(())
    }

    /// Binds names to a value or its parts.
    pub(super) fn bind_pattern(
        &mut self,
        pattern: &'a Pattern,
        term: Term,
        span: Span,
        out: &mut Vec<Statement>,
    ) -> Done<()> {
        match &pattern.kind {
            PatternKind::Name(is_mutable, name) => {
                self.bind_name((name, *is_mutable), term, (pattern.span, span), out)
            }
            PatternKind::Any => {
                self.emit(term, out);
                Ok(())
            }
            PatternKind::Tuple(parts) => {
                let term = self.in_variable(term, out);
                for (place, part) in parts.iter().enumerate() {
                    let value = self.part_of(&term, place, parts.len(), pattern.span)?;
                    self.bind_pattern(part, value, span, out)?;
                }
                Ok(())
            }
            PatternKind::Value(_) => self.fail(Diagnostic::new(pattern.span, "expected a name")),
        }
    }

    /// Binds a name to a value. The spans are those of the pattern and of the value.
    pub(super) fn bind_name(
        &mut self,
        (name, is_mutable): (&Ident, bool),
        term: Term,
        (pattern, span): (Span, Span),
        out: &mut Vec<Statement>,
    ) -> Done<()> {
        // A number without a type remains that number at all uses of its name.
        let is_typed = match &term {
            Term::Guard(_) | Term::List(_, true) => false,
            term => term.tells_type(),
        };
        if !is_mutable && !is_typed {
            let term = self.settled(term, span, out)?;
            self.bind(name.name.clone(), Binding::Term(term));
            return Ok(());
        }
        if matches!(term, Term::Integer(_) | Term::Number(_)) {
            let message = format!("the variable `{}` has no type", name.name);
            let error = Diagnostic::new(name.span, message);
            return self.fail(error.help(format!("write `let mut {}: u32 = …`", name.name)));
        }
        let value = self.typed(term, span)?;
        let local = self.local(name.name.clone(), value.ty);
        self.bind(name.name.clone(), Binding::Local(local, is_mutable));
        let kind = StatementKind::Let(local, value);
        let span = pattern.to(span);
        out.push(Statement { kind, span });
        Ok(())
    }

    /// Returns a term that a name can stand for. Its values are computed here, into variables.
    pub(super) fn settled(
        &mut self,
        term: Term,
        span: Span,
        out: &mut Vec<Statement>,
    ) -> Done<Term> {
        match term {
            Term::List(parts, is_tuple) if is_tuple || !parts.iter().any(|p| p.0.tells_type()) => {
                let mut settled = Vec::with_capacity(parts.len());
                for (part, span) in parts {
                    settled.push((self.settled(part, span, out)?, span));
                }
                Ok(Term::List(settled, is_tuple))
            }
            Term::Block(branch) => {
                out.extend(branch.statements);
                self.settled(branch.term, branch.span, out)
            }
            Term::Value(_) | Term::Choice(_) | Term::List(..) => {
                let value = self.typed(term, span)?;
                Ok(self.in_new_variable(value, out))
            }
            Term::Integer(_) | Term::Fraction(_) | Term::Text(_) => Ok(term),
            Term::Number(_) | Term::Guard(_) => Ok(term),
        }
    }

    /// Computes a value into a variable, and returns a read of the variable.
    fn in_new_variable(&mut self, value: Expression, out: &mut Vec<Statement>) -> Term {
        let (ty, span) = (value.ty, value.span);
        let local = self.unnamed(ty);
        out.push(Statement::new(StatementKind::Let(local, value), span));
        self.read_local(local, span)
    }

    /// Computes a value that is taken apart once, into a separate variable.
    pub(super) fn in_variable(&mut self, term: Term, out: &mut Vec<Statement>) -> Term {
        match term {
            Term::Value(value)
                if !matches!(
                    value.kind,
                    ExpressionKind::Constant(_) | ExpressionKind::Aggregate(_)
                ) =>
            {
                self.in_new_variable(value, out)
            }
            term => term,
        }
    }

    fn assignment(
        &mut self,
        target: &'a syntax::Expression,
        operator: Option<(BinaryOperator, Span)>,
        value: &'a syntax::Expression,
        out: &mut Vec<Statement>,
    ) -> Done<()> {
        let span = target.span.to(value.span);
        if let Syntax::Tuple(parts) = &target.kind {
            if let Some((_, sign)) = operator {
                let error = Diagnostic::new(sign, "a tuple is assigned by `=` alone");
                return self.fail(error);
            }
            return self.tuple_assignment(parts, value, span, out);
        }
        let (mut place, ty) = self.assignable(target)?;
        let assigned = match operator {
            None => {
                let assigned = self.value(value, ty)?;
                self.assigned_length(&place, assigned)
            }
            Some((operator, sign)) => {
                let is_shift = matches!(
                    operator,
                    BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight
                );
                let hint = (!is_shift).then_some(ty);
                let right = self.expression(value, hint)?;
                self.keep_indices(&mut place, &right, out);
                let left = Term::Value(read_place(place.clone(), ty, target.span));
                let of = Operands {
                    operator,
                    sign,
                    spans: (target.span, value.span),
                    span,
                };
                let term = self.apply(of, left, right, Some(ty))?;
                let assigned = self.meet(term, ty, span)?;
                self.assigned_length(&place, assigned)
            }
        };
        out.push(Statement::new(StatementKind::Assign(place, assigned), span));
        Ok(())
    }

    /// Keeps the secret indices of a place that is read and then written, if computing them again
    /// could give other values.
    fn keep_indices(&mut self, place: &mut ValuePath, right: &Term, out: &mut Vec<Statement>) {
        let mut indices: Vec<&mut Expression> = Vec::new();
        for step in &mut place.path {
            if let Step::AtSecret(index) = step {
                indices.push(index);
            }
        }
        let is_changed = matches!(right, Term::Value(value) if value.has_effects());
        if !is_changed && !indices.iter().any(|index| index.has_effects()) {
            return;
        }
        for index in indices {
            let value = std::mem::replace(index, self.unit_expression(index.span));
            if let Term::Value(read) = self.in_new_variable(value, out) {
                *index = read;
            }
        }
    }

    /// Returns the value that is stored when `value` is assigned to a place. If the place is the
    /// `len` of a table, a length past the greatest becomes the greatest. At other places the value
    /// is unchanged.
    fn assigned_length(&mut self, place: &ValuePath, value: Expression) -> Expression {
        let Some(size) = self.size_of_length(place) else {
            return value;
        };
        let (ty, span) = (value.ty, value.span);
        let greatest = self.program.types.range(ty).map(|(_, greatest)| greatest);
        if greatest.is_some_and(|greatest| greatest <= size.into()) {
            return value;
        }
        let size = Expression::constant(Value::Integer(size.into()), ty, span);
        self.intrinsic(Intrinsic::Min, vec![value, size], ty, span)
    }

    /// Returns the greatest length of the table whose `len` is the place.
    fn size_of_length(&self, place: &ValuePath) -> Option<u32> {
        let types = &self.program.types;
        let (Step::Field(0), steps) = place.path.split_last()? else {
            return None;
        };
        let mut ty = match &place.root {
            Root::Local(local) => self.context.locals[local.0 as usize].ty,
            Root::State(state) => self.program.states[state.0 as usize].ty,
            Root::Value(value) => value.ty,
        };
        for step in steps {
            ty = match step {
                Step::Field(field) => types.fields(ty)[*field as usize],
                Step::At(..) | Step::AtSecret(_) => types.element(ty)?.0,
                // A part of an array has the same elements.
                Step::Slice(..) => ty,
            };
        }
        match types.kind(ty) {
            TypeKind::Table(_, size) => Some(*size),
            _ => None,
        }
    }

    fn tuple_assignment(
        &mut self,
        parts: &'a [syntax::Expression],
        value: &'a syntax::Expression,
        span: Span,
        out: &mut Vec<Statement>,
    ) -> Done<()> {
        let places = parts.iter().map(|part| self.assignable(part));
        let places = places.collect::<Done<Vec<_>>>()?;
        let types = places.iter().map(|(_, ty)| *ty).collect();
        let ty = self.sized(TypeKind::Tuple(types), span)?;
        // The whole value is computed before the first part is assigned.
        let value = self.value(value, ty)?;
        let local = self.unnamed(ty);
        out.push(Statement::new(StatementKind::Let(local, value), span));
        let whole = self.read_local(local, span);
        for (number, (place, ty)) in places.into_iter().enumerate() {
            let part = self.part_of(&whole, number, parts.len(), span)?;
            let part = self.meet(part, ty, span)?;
            let part = self.assigned_length(&place, part);
            out.push(Statement::new(StatementKind::Assign(place, part), span));
        }
        Ok(())
    }

    fn expression_statement(
        &mut self,
        value: &'a syntax::Expression,
        out: &mut Vec<Statement>,
    ) -> Done<()> {
        let unit = self.program.types.unit();
        let term = self.expression(value, None)?;
        let does_something = matches!(
            value.kind,
            Syntax::Call(..)
                | Syntax::Method(..)
                | Syntax::If(..)
                | Syntax::Match(..)
                | Syntax::Block(_)
        );
        if !does_something && term.ty() != Some(unit) {
            let error = Diagnostic::new(value.span, "this value is not used");
            return self.fail(error.help("assign it, or remove the `;` where it is the result"));
        }
        self.emit(term, out);
        Ok(())
    }
}

/// Returns the value of a place.
fn read_place(place: ValuePath, ty: TypeId, span: Span) -> Expression {
    Expression::new(ExpressionKind::Read(place), ty, span)
}
