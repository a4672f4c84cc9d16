//! Fields, indices and slices, and places that are read and assigned.

use num_traits::ToPrimitive;

use super::expression::read_of;
use super::names::{Meaning, habit};
use super::term::Term;
use super::{Binding, Done, Elaborator, Surroundings};
use crate::diagnostic::Diagnostic;
use crate::load::Definition;
use crate::program::{
    Expression, ExpressionKind, Number, Root, StateId, Step, TypeId, TypeKind, Value, ValuePath,
};
use crate::source::{Span, Symbol};
use crate::syntax::{self, ExpressionKind as Syntax, Ident, ItemKind, Path};

/// The result of an expression with fields and indices.
pub(super) enum Access {
    /// A variable, a state, or a part of one.
    Place(ValuePath, TypeId),
    /// Anything else.
    Term(Term),
}

impl<'a> Elaborator<'a> {
    /// Elaborates an expression with fields and indices.
    pub(super) fn access(&mut self, from: &'a syntax::Expression) -> Done<Access> {
        let span = from.span;
        match &from.kind {
            Syntax::Path(path) => {
                let term = self.path(path)?;
                Ok(match term {
                    Term::Value(Expression {
                        kind: ExpressionKind::Read(place),
                        ty,
                        ..
                    }) => Access::Place(place, ty),
                    term => Access::Term(term),
                })
            }
            Syntax::Field(of, name) => {
                let access = self.deeper(span, |this| this.access(of))?;
                self.field(access, name, span)
            }
            Syntax::Index(of, index) => {
                let access = self.deeper(span, |this| this.access(of))?;
                self.index(access, index, span)
            }
            Syntax::Slice(of, first, last) => {
                let access = self.deeper(span, |this| this.access(of))?;
                self.slice(access, (first.as_deref(), last.as_deref()), span)
            }
            _ => Ok(Access::Term(self.expression(from, None)?)),
        }
    }

    /// Returns the value of an access.
    pub(super) fn read(&mut self, access: Access, span: Span) -> Term {
        match access {
            Access::Place(place, ty) => {
                Term::Value(Expression::new(ExpressionKind::Read(place), ty, span))
            }
            Access::Term(term) => term,
        }
    }

    /// Returns an access as a place. A value that is in no variable becomes the root of a place.
    fn place_of(&mut self, access: Access, span: Span) -> Done<(ValuePath, TypeId)> {
        match access {
            Access::Place(place, ty) => Ok((place, ty)),
            Access::Term(term) => {
                let value = self.typed(term, span)?;
                let ty = value.ty;
                Ok((ValuePath::whole(Root::Value(Box::new(value))), ty))
            }
        }
    }

    fn field(&mut self, access: Access, name: &Ident, span: Span) -> Done<Access> {
        if let Access::Term(list @ Term::List(parts, is_tuple)) = &access
            && !list.has_effects()
        {
            let place = name.as_str().parse::<usize>().ok().filter(|_| *is_tuple);
            if let Some((part, _)) = place.and_then(|place| parts.get(place)) {
                return Ok(Access::Term(part.clone()));
            }
            if name.as_str() == "len" && !is_tuple {
                return Ok(Access::Term(Term::Integer(parts.len().into())));
            }
        }
        let (place, ty) = self.place_of(access, span)?;
        let found = match self.program.types.kind(ty) {
            TypeKind::Table(..) => ["len", "items"].iter().position(|f| *f == name.as_str()),
            &TypeKind::Array(_, n) | &TypeKind::Bytes(n) | &TypeKind::Text(n)
                if name.as_str() == "len" =>
            {
                if (Expression::new(ExpressionKind::Read(place), ty, span)).has_effects() {
                    let message = "`.len` of what assigns or draws random bits is not computed";
                    let error = Diagnostic::new(span, message);
                    return self.fail(error.help("write `let x = …;` before, and `x.len` here"));
                }
                return Ok(Access::Term(Term::Integer(n.into())));
            }
            _ => self.program.types.field(ty, name.as_str()),
        };
        match found {
            Some(field) => {
                let ty = self.program.types.fields(ty)[field];
                Ok(extended(place, Step::Field(field as u32), ty, span))
            }
            None => self.no_field(ty, name),
        }
    }

    fn no_field<T>(&mut self, ty: TypeId, name: &Ident) -> Done<T> {
        let message = format!("`{}` has no field `{}`", self.type_name(ty), name.name);
        let error = Diagnostic::new(name.span, message);
        let help = match self.program.types.kind(ty) {
            TypeKind::Struct(_) => {
                let fields = self.program.types.named_fields(ty).iter();
                let names: Vec<&str> = fields.map(|(name, _)| name.as_str()).collect();
                format!("its fields are {}", names.join(", "))
            }
            TypeKind::Table(..) => "its fields are len, items".to_owned(),
            TypeKind::Tuple(parts) => format!("its fields are 0 to {}", parts.len().max(1) - 1),
            _ => match habit(name.name.as_str()) {
                Some(help) => help.to_owned(),
                None => return self.fail(error),
            },
        };
        self.fail(error.help(help))
    }

    fn index(&mut self, access: Access, index: &'a syntax::Expression, span: Span) -> Done<Access> {
        let term = self.expression(index, None)?;
        if let (Access::Term(list @ Term::List(parts, false)), Term::Integer(at)) = (&access, &term)
            && !list.has_effects()
        {
            let part = at.to_usize().and_then(|at| parts.get(at));
            return match part {
                Some((part, _)) => Ok(Access::Term(part.clone())),
                None => {
                    let message = format!("element {at} of an array of {}", parts.len());
                    self.fail(Diagnostic::new(index.span, message))
                }
            };
        }
        let (place, ty) = self.place_of(access, span)?;
        let Some((element, length)) = self.program.types.element(ty) else {
            let message = format!("a `{}` has no elements", self.type_name(ty));
            let mut error = Diagnostic::new(span, message);
            error = match self.program.types.kind(ty) {
                TypeKind::Table(..) => error.help("its elements are in `items`: `x.items[i]`"),
                TypeKind::Tuple(_) => error.help("a part of a tuple is `x.0`"),
                TypeKind::Unsigned(n) => {
                    error.help(format!("for its bits, convert it: `x as [bool; {n}]`"))
                }
                _ => error,
            };
            return self.fail(error);
        };
        let step = self.step(term, length, index.span)?;
        Ok(extended(place, step, element, span))
    }

    /// Returns the step to the element with the number `index`.
    fn step(&mut self, index: Term, length: u32, span: Span) -> Done<Step> {
        if let Some(number) = index.as_number() {
            return Ok(Step::At(number, span));
        }
        if let Some(Value::Integer(code)) = index.as_constant()
            && let Some(code) = code.to_i128()
        {
            return Ok(Step::At(Number::Constant(code), span));
        }
        let value = self.typed(index, span)?;
        match self.program.types.kind(value.ty) {
            TypeKind::Unsigned(_) | TypeKind::Enum(_) | TypeKind::Bool if length > 0 => {
                Ok(Step::AtSecret(Box::new(value)))
            }
            TypeKind::Unsigned(_) => {
                let error = Diagnostic::new(span, "an array of no elements has no element to read");
                self.fail(error)
            }
            TypeKind::Signed(width) => {
                let help = format!("convert it: `… as u{width}`");
                let error = Diagnostic::new(span, "an index is unsigned");
                self.fail(error.help(help))
            }
            _ => {
                let message = format!("a `{}` cannot be an index", self.type_name(value.ty));
                self.fail(Diagnostic::new(span, message))
            }
        }
    }

    fn slice(
        &mut self,
        access: Access,
        (first, last): (
            Option<&'a syntax::Expression>,
            Option<&'a syntax::Expression>,
        ),
        span: Span,
    ) -> Done<Access> {
        let (place, ty) = self.place_of(access, span)?;
        let Some((_, length)) = self.program.types.element(ty) else {
            let message = format!("a `{}` has no slices", self.type_name(ty));
            return self.fail(Diagnostic::new(span, message));
        };
        let from = match first {
            Some(first) => self.loop_number(first, "the start of a slice")?,
            None => Number::Constant(0),
        };
        let to = match last {
            Some(last) => self.loop_number(last, "the end of a slice")?,
            None => Number::Constant(length.into()),
        };
        let count = difference(&to, &from).and_then(|count| u32::try_from(count).ok());
        let Some(count) = count else {
            let message = "the length of a slice is const and not negative";
            let error = Diagnostic::new(span, message);
            return self.fail(error.help("write `a[i..i + 4]`: both ends move together"));
        };
        let kind = self.program.types.slice(ty, count);
        let ty = self.program.types.add(kind);
        Ok(extended(place, Step::Slice(from, count, span), ty, span))
    }

    /// Returns a part of a tuple, for patterns.
    pub(super) fn part_of(
        &mut self,
        term: &Term,
        place: usize,
        count: usize,
        span: Span,
    ) -> Done<Term> {
        if let Term::List(parts, true) = term
            && parts.len() == count
        {
            return Ok(parts[place].0.clone());
        }
        let value = self.typed(term.clone(), span)?;
        let types = match self.program.types.kind(value.ty) {
            TypeKind::Tuple(types) if types.len() == count => types.clone(),
            _ => {
                let name = self.type_name(value.ty);
                let message = format!("a pattern of {count} parts for a `{name}`");
                return self.fail(Diagnostic::new(span, message));
            }
        };
        let ty = types[place];
        let (of, span) = match value.kind {
            ExpressionKind::Constant(constant) => {
                let part = constant.as_list()[place].clone();
                return Ok(Term::constant(part, ty, value.span));
            }
            ExpressionKind::Aggregate(mut parts) => {
                return Ok(Term::Value(parts.swap_remove(place)));
            }
            ExpressionKind::Read(of) => (of, value.span),
            kind => {
                let root = Root::Value(Box::new(Expression { kind, ..value }));
                (ValuePath::whole(root), span)
            }
        };
        let access = extended(of, Step::Field(place as u32), ty, span);
        Ok(self.read(access, span))
    }

    /// Returns the place that an assignment changes.
    pub(super) fn assignable(
        &mut self,
        target: &'a syntax::Expression,
    ) -> Done<(ValuePath, TypeId)> {
        let root = root_of(target);
        if let Syntax::Path(path) = &root.kind {
            self.check_assignable(path)?;
        }
        match self.access(target)? {
            Access::Place(place, ty) if !matches!(place.root, Root::Value(_)) => {
                if let Root::State(state) = place.root {
                    self.note_assigned(state);
                }
                Ok((place, ty))
            }
            _ => {
                let error = Diagnostic::new(target.span, "this cannot be assigned");
                self.fail(error.help("variables, states and their parts can"))
            }
        }
    }

    fn note_assigned(&mut self, state: StateId) {
        if !self.context.assigned.contains(&state) {
            self.context.assigned.push(state);
        }
    }

    fn check_assignable(&mut self, path: &'a Path) -> Done<()> {
        let (name, span) = (&path.last().name, path.span);
        if self.is_new(path) {
            let error = Diagnostic::new(span, format!("nothing here is called `{name}`"));
            return self.fail(error.help(format!("`let mut {name}: u32 = …` makes a variable")));
        }
        let error = match self.meaning(path)? {
            Meaning::Binding(Binding::Local(_, true)) => return Ok(()),
            Meaning::Binding(Binding::Local(found, _)) => {
                let message = format!("`{name}` is assigned, but not mutable");
                let mut parameters = self.context.scopes.outermost().iter();
                let is_parameter = parameters.any(|(_, binding)| {
                    matches!(binding, Binding::Local(parameter, _) if *parameter == found)
                });
                let is_input = matches!(self.context.surroundings, Surroundings::Entry(_));
                let mut states = self.program.states.iter();
                let help = match is_parameter {
                    true if is_input && states.any(|state| state.name == *name) => {
                        format!("the input `{name}` hides the state `{name}`: rename one")
                    }
                    true => format!("`let mut {name} = {name};` makes a copy that can be"),
                    false => format!("declare it as `let mut {name} = …`"),
                };
                Diagnostic::new(span, message).help(help)
            }
            Meaning::Binding(Binding::Term(_)) => {
                let message = format!("`{name}` is a const or a counter, and is not assigned");
                Diagnostic::new(span, message)
                    .help(format!("`let mut {name}: u32 = …` makes a variable"))
            }
            Meaning::Definition(Definition::Item(key)) => {
                if let ItemKind::State(_) = self.loaded.item(key).kind {
                    return Ok(());
                }
                Diagnostic::new(span, format!("`{name}` is not assigned"))
            }
            _ => Diagnostic::new(span, format!("`{name}` is not assigned")),
        };
        self.fail(error)
    }

    /// Elaborates a whole number made from consts and counters.
    pub(super) fn loop_number(&mut self, from: &'a syntax::Expression, what: &str) -> Done<Number> {
        let term = self.expression(from, None)?;
        if let Some(number) = term.as_number() {
            return Ok(number);
        }
        if let Some(Value::Integer(number)) = term.as_constant()
            && let Some(number) = number.to_i128()
        {
            return Ok(Number::Constant(number));
        }
        if !term.is_const() {
            if let Some(public) = self.public_input(&term) {
                let message = format!("{what} is const, and `{public}` is a public input");
                let error = Diagnostic::new(from.span, message);
                return self.fail(error.help(format!("make `{public}` a `param`")));
            }
            let message = if self.context.public.is_empty() {
                format!("{what} must be public, and this is secret")
            } else {
                format!("{what} is const, and this is not")
            };
            let error = Diagnostic::new(from.span, message).label("depends on the inputs");
            return self.fail(error.help(
                "take the greatest value that it can have as a `param` or `const`, and write \
                 `if` inside",
            ));
        }
        let message = format!("{what} is a whole number");
        self.fail(Diagnostic::new(from.span, message))
    }

    /// Returns the public input that a term reads.
    fn public_input(&self, term: &Term) -> Option<Symbol> {
        let Term::Value(Expression {
            kind: ExpressionKind::Read(place),
            ..
        }) = term
        else {
            return None;
        };
        let local = place.local()?;
        let is_public = self.context.public.contains(&local);
        is_public.then(|| self.context.locals[local.0 as usize].name.clone())
    }

    /// Returns a read of a variable.
    pub(super) fn read_local(&self, local: crate::program::LocalId, span: Span) -> Term {
        let ty = self.context.locals[local.0 as usize].ty;
        read_of(Root::Local(local), ty, span)
    }
}

/// Returns the variable of which a target is a part.
fn root_of(target: &syntax::Expression) -> &syntax::Expression {
    match &target.kind {
        Syntax::Field(of, _) | Syntax::Index(of, _) | Syntax::Slice(of, ..) => root_of(of),
        _ => target,
    }
}

/// Returns a place one step further inwards. For a constant, returns the constant there.
fn extended(mut place: ValuePath, step: Step, ty: TypeId, span: Span) -> Access {
    if let Root::Value(value) = &place.root
        && place.path.is_empty()
        && let Some(Value::List(parts)) = value.as_constant()
    {
        let number = match &step {
            Step::Field(number) => Some(*number as usize),
            Step::At(number, _) => number.as_constant().and_then(|n| usize::try_from(n).ok()),
            _ => None,
        };
        if let Some(part) = number.and_then(|number| parts.get(number)) {
            return Access::Term(Term::constant(part.clone(), ty, span));
        }
    }
    place.path.push(step);
    Access::Place(place, ty)
}

/// Returns the difference of two numbers if their counters cancel.
fn difference(to: &Number, from: &Number) -> Option<i128> {
    use std::collections::BTreeMap;

    use crate::program::BinaryOperator as B;
    use crate::program::NumberOperator::Binary;

    /// Adds `by` times a number to a sum of constants and counters.
    fn add(sum: &mut BTreeMap<Option<u32>, i128>, number: &Number, by: i128) -> Option<()> {
        let (term, amount) = match number {
            Number::Constant(value) => (None, value.checked_mul(by)?),
            Number::Counter(counter) => (Some(counter.0), by),
            Number::Apply(operator, operands) => match (operator, &operands[..]) {
                (Binary(B::Add), [a, b]) => {
                    add(sum, a, by)?;
                    return add(sum, b, by);
                }
                (Binary(B::Subtract), [a, b]) => {
                    add(sum, a, by)?;
                    return add(sum, b, by.checked_neg()?);
                }
                (Binary(B::Multiply), [a, Number::Constant(c)] | [Number::Constant(c), a]) => {
                    return add(sum, a, by.checked_mul(*c)?);
                }
                (Binary(B::ShiftLeft), [a, Number::Constant(c @ 0..=64)]) => {
                    return add(sum, a, by.checked_mul(1 << c)?);
                }
                _ => return None,
            },
        };
        let entry = sum.entry(term).or_default();
        *entry = entry.checked_add(amount)?;
        Some(())
    }

    if to == from {
        return Some(0);
    }
    let mut sum = BTreeMap::new();
    add(&mut sum, to, 1)?;
    add(&mut sum, from, -1)?;
    let constant = sum.remove(&None).unwrap_or(0);
    sum.values().all(|factor| *factor == 0).then_some(constant)
}
