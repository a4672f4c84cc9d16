//! Expressions.

use super::calls::CallArgument;
use super::names::Meaning;
use super::term::Term;
use super::{Binding, Done, Elaborator, Surroundings, narrow};
use crate::diagnostic::Diagnostic;
use crate::interpret::operators;
use crate::load::Definition;
use crate::program::{
    Block, EntryKind, Expression, ExpressionKind, ItemKey, Root, Statement, TypeId, TypeKind,
    Value, ValuePath,
};
use crate::source::Span;
use crate::syntax::{
    self, ExpressionKind as Syntax, ItemKind, Path, TypeExpression, UnaryOperator,
};

impl<'a> Elaborator<'a> {
    /// Elaborates an expression. `hint` is the expected type, for terms without a type.
    pub(super) fn expression(
        &mut self,
        from: &'a syntax::Expression,
        hint: Option<TypeId>,
    ) -> Done<Term> {
        if let Some((_, term)) = self.receiver.take_if(|(at, _)| std::ptr::eq(*at, from)) {
            return Ok(term);
        }
        self.burn(from.span)?;
        self.deeper(from.span, |this| this.expression_inside(from, hint))
    }

    /// Elaborates an expression as a value of type `ty`.
    pub(super) fn value(&mut self, from: &'a syntax::Expression, ty: TypeId) -> Done<Expression> {
        let term = self.expression(from, Some(ty))?;
        self.meet(term, ty, from.span)
    }

    fn expression_inside(
        &mut self,
        from: &'a syntax::Expression,
        hint: Option<TypeId>,
    ) -> Done<Term> {
        let span = from.span;
        match &from.kind {
            Syntax::Bool(value) => Ok(self.bool_term(*value, span)),
            Syntax::Integer(number) => Ok(Term::Integer(number.clone())),
            Syntax::Fraction(number) => Ok(Term::Fraction((**number).clone())),
            Syntax::Text(text) => Ok(Term::Text(text.clone())),
            Syntax::Path(path) => self.path(path),
            Syntax::Unary(operator, operand) => self.unary(*operator, operand, hint, span),
            Syntax::Binary(operator, sign, a, b) => {
                self.binary(*operator, *sign, (a, b), hint, span)
            }
            Syntax::Cast(operand, ty) => self.cast(operand, ty, span),
            Syntax::If(condition, then, otherwise) => {
                self.if_expression(condition, then, otherwise.as_deref(), hint, span)
            }
            Syntax::Match(value, arms) => self.match_expression(value, arms, hint, span),
            Syntax::Block(block) => {
                let branch = self.block(block, hint)?;
                self.close(branch, hint)
            }
            Syntax::Tuple(parts) => self.tuple(parts, hint, span),
            Syntax::Array(parts) => self.array(parts, hint, span),
            Syntax::Repeat(element, size) => self.repeat(element, size, hint, span),
            Syntax::Comprehension(each) => self.comprehension(each, hint, span),
            Syntax::Struct(path, fields) => self.struct_value(path, fields, hint, span),
            Syntax::Index(..) | Syntax::Slice(..) | Syntax::Field(..) => {
                let access = self.access(from)?;
                Ok(self.read(access, span))
            }
            Syntax::Range(..) => {
                let error = Diagnostic::new(span, "a range is not a value");
                self.fail(error.help("ranges stand in `for`, in slices and in `match`"))
            }
            Syntax::Call(called, arguments) => {
                let Syntax::Path(path) = &called.kind else {
                    return self.fail(Diagnostic::new(called.span, "this is not a function"));
                };
                let given = arguments.iter().map(CallArgument::of).collect();
                self.call(path, given, hint, span)
            }
            Syntax::Method(receiver, name, generics, arguments) => {
                let first = CallArgument {
                    name: None,
                    value: receiver,
                };
                let rest = arguments.iter().map(CallArgument::of);
                let given = std::iter::once(first).chain(rest).collect();
                self.method(name, generics, given, hint, span)
            }
            Syntax::Lambda(..) => {
                let error =
                    Diagnostic::new(span, "a lambda stands here, where a value is expected");
                self.fail(error.help("lambdas are arguments of functions, and nothing else"))
            }
        }
    }

    /// Returns the term that a path means as a value.
    pub(super) fn path(&mut self, path: &'a Path) -> Done<Term> {
        let span = path.span;
        match self.meaning(path)? {
            Meaning::Binding(Binding::Local(local, _)) => Ok(self.read_local(local, span)),
            Meaning::Binding(Binding::Term(term)) => Ok(term),
            Meaning::Binding(Binding::Type(_)) => {
                let message = format!("`{}` is a type, not a value", path.last().name);
                self.fail(Diagnostic::new(span, message))
            }
            Meaning::Binding(Binding::Lambda(_)) => {
                let error = Diagnostic::new(span, "a lambda is called or passed on, nothing else");
                self.fail(error)
            }
            Meaning::Binding(Binding::Table | Binding::Pairs(..)) => {
                Err(self.no_value(path.last()))
            }
            Meaning::Binding(Binding::Broken(reported)) => Err(reported),
            Meaning::Variant(key, place) => {
                let ty = self.instance_type(key, Vec::new(), span)?;
                Ok(Term::constant(Value::Integer(place.into()), ty, span))
            }
            Meaning::Definition(Definition::Item(key)) => self.item_value(key, path),
            Meaning::Definition(Definition::Builtin(name)) => {
                let error = Diagnostic::new(span, format!("`{name}` is a function"));
                self.fail(error.help(format!("call it: `{name}(…)`")))
            }
        }
    }

    fn item_value(&mut self, key: ItemKey, path: &'a Path) -> Done<Term> {
        let (name, span) = (&path.last().name, path.span);
        match &self.loaded.item(key).kind {
            ItemKind::Const(..) | ItemKind::Param(_) => {
                let term = self.const_item(key, span)?;
                Ok(match term {
                    Term::Value(value) => Term::Value(Expression { span, ..value }),
                    term => term,
                })
            }
            ItemKind::State(_) => {
                let (state, ty) = self.state(key, span)?;
                Ok(read_of(Root::State(state), ty, span))
            }
            ItemKind::Function(_) | ItemKind::Entry(_) => {
                let error = Diagnostic::new(span, format!("`{name}` is a function"));
                self.fail(error.help(format!("call it: `{name}(…)`")))
            }
            _ => {
                let error = Diagnostic::new(span, format!("`{name}` is a type, not a value"));
                self.fail(error)
            }
        }
    }

    /// Returns a state if the surroundings allow its use.
    pub(super) fn state(
        &mut self,
        key: ItemKey,
        span: Span,
    ) -> Done<(crate::program::StateId, TypeId)> {
        let (message, help) = match self.context.surroundings {
            Surroundings::Entry(EntryKind::Run | EntryKind::Start) => {
                return match self.states.get(&key) {
                    Some(&state) => Ok((state, self.program.states[state.0 as usize].ty)),
                    // The error in its declaration has been reported.
                    None => self.fail(Diagnostic::new(span, "this state has an error")),
                };
            }
            Surroundings::Entry(EntryKind::Main) => (
                "`main` has no states",
                "write `run NAME(…)` in place of `main(…)`",
            ),
            Surroundings::Test => (
                "a test does not see states",
                "they stay garbled; let a run give out what the test looks at",
            ),
            _ => (
                "only runs name states",
                "give the function the state's value as an argument",
            ),
        };
        self.fail(Diagnostic::new(span, message).help(help))
    }

    fn unary(
        &mut self,
        operator: UnaryOperator,
        operand: &'a syntax::Expression,
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        use crate::program::{BinaryOperator as B, Number, NumberOperator};
        let term = self.expression(operand, hint)?;
        match (operator, term) {
            (UnaryOperator::Negate, Term::Integer(number)) => Ok(Term::Integer(-number)),
            (UnaryOperator::Negate, Term::Fraction(number)) => Ok(Term::Fraction(-number)),
            (UnaryOperator::Negate, Term::Number(number)) => {
                let zero = Number::Constant(0);
                Ok(Term::Number(Number::binary(B::Subtract, zero, number)))
            }
            (UnaryOperator::Not, Term::Guard(number)) => {
                let number = Number::apply(NumberOperator::Not, vec![number]);
                Ok(self.guard(number, span))
            }
            (_, term) => {
                let value = self.typed(term, operand.span)?;
                self.typed_unary(operator, value, span)
            }
        }
    }

    fn typed_unary(
        &mut self,
        operator: UnaryOperator,
        value: Expression,
        span: Span,
    ) -> Done<Term> {
        let ty = value.ty;
        let kind = self.program.types.kind(ty).clone();
        let fits = match operator {
            UnaryOperator::Not => matches!(
                kind,
                TypeKind::Bool | TypeKind::Unsigned(_) | TypeKind::Signed(_) | TypeKind::Bytes(_)
            ),
            UnaryOperator::Negate => matches!(kind, TypeKind::Signed(_) | TypeKind::Fixed(..)),
        };
        if !fits {
            let name = self.type_name(ty);
            let sign = match operator {
                UnaryOperator::Not => "!",
                UnaryOperator::Negate => "-",
            };
            let mut error = Diagnostic::new(span, format!("`{sign}` of a value of type `{name}`"));
            if let (UnaryOperator::Negate, TypeKind::Unsigned(width)) = (operator, kind) {
                error = error.help(format!(
                    "`{name}` has no negative numbers: write `0 - x` to wrap around, or \
                     `-(x as i{})`",
                    width + 1
                ));
            }
            return self.fail(error);
        }
        if let Some(constant) = value.as_constant() {
            if operator == UnaryOperator::Negate {
                self.has_opposite(&value, span)?;
            }
            let folded = operators::unary(&self.program.types, operator, ty, constant);
            return Ok(Term::constant(folded, ty, span));
        }
        Ok(Term::Value(Expression::new(
            ExpressionKind::Unary(operator, Box::new(value)),
            ty,
            span,
        )))
    }

    /// Refuses a constant that is the least number of a signed type, since its negation does not
    /// fit.
    pub(super) fn has_opposite(&mut self, value: &Expression, span: Span) -> Done<()> {
        let least = self.program.types.range(value.ty).map(|(least, _)| least);
        if value.as_constant() != least.map(Value::Integer).as_ref() {
            return Ok(());
        }
        let types = &self.program.types;
        let (least, greatest) = narrow::ends(types, value.ty);
        let name = types.name(value.ty);
        let message =
            format!("the opposite of {least} does not fit into the const's type `{name}`");
        let label = format!("`{name}` has {least} to {greatest}");
        self.fail(Diagnostic::new(span, message).label(label))
    }

    fn cast(
        &mut self,
        operand: &'a syntax::Expression,
        ty: &'a TypeExpression,
        span: Span,
    ) -> Done<Term> {
        let ty = self.ty(ty)?;
        let term = self.expression(operand, None)?;
        let value = match term {
            Term::Value(value) => value,
            Term::Guard(_) => self.typed(term, operand.span)?,
            exact => return Ok(Term::Value(self.meet(exact, ty, operand.span)?)),
        };
        if value.ty == ty {
            return Ok(Term::Value(value));
        }
        if !self.casts(value.ty, ty) {
            let (from, to) = (self.type_name(value.ty), self.type_name(ty));
            let error = Diagnostic::new(span, format!("`{from}` does not convert to `{to}`"));
            return self.fail(error.help(
                "`as` converts between numbers, from bools and enums to integers, between \
                 `u<n>` and `[bool; n]`, and between `bytes<n>`, `text<n>` and `[u8; n]`",
            ));
        }
        if let Some(constant) = value.as_constant() {
            let types = &self.program.types;
            if let Value::Integer(number) = constant
                && narrow::is_lossy(types, (value.ty, ty), (number, number))
            {
                let (text, name) = (types.value_text(value.ty, constant), types.name(ty));
                let error = Diagnostic::new(span, format!("{text} does not fit into `{name}`"));
                let (least, greatest) = narrow::ends(types, ty);
                return self.fail(error.label(format!("`{name}` has {least} to {greatest}")));
            }
            let folded = operators::cast(types, value.ty, ty, constant);
            return Ok(Term::constant(folded, ty, span));
        }
        Ok(Term::Value(Expression::new(
            ExpressionKind::Cast(Box::new(value)),
            ty,
            span,
        )))
    }

    /// Whether `as` converts from one type to the other.
    fn casts(&mut self, from: TypeId, to: TypeId) -> bool {
        use TypeKind as K;
        let types = &self.program.types;
        let is_bits = |ty: TypeId, width: u32| match *types.kind(ty) {
            K::Array(element, n) => n == width && *types.kind(element) == K::Bool,
            _ => false,
        };
        let byte_count = |ty: TypeId| match *types.kind(ty) {
            K::Bytes(n) | K::Text(n) => Some(n),
            K::Array(element, n) if *types.kind(element) == K::Unsigned(8) => Some(n),
            _ => None,
        };
        match (types.kind(from), types.kind(to)) {
            (K::Bool | K::Enum(_), K::Unsigned(_) | K::Signed(_)) => true,
            (K::Unsigned(_), K::Enum(_)) => true,
            (&K::Unsigned(width), K::Array(..)) => is_bits(to, width),
            (K::Array(..), &K::Unsigned(width)) => is_bits(from, width),
            _ if types.is_number(from) => types.is_number(to),
            _ => byte_count(from).is_some() && byte_count(from) == byte_count(to),
        }
    }
}

/// Returns the value of a whole variable or state.
pub(super) fn read_of(root: Root, ty: TypeId, span: Span) -> Term {
    let place = ValuePath::whole(root);
    Term::Value(Expression::new(ExpressionKind::Read(place), ty, span))
}

/// Makes one expression of statements followed by a value.
pub(super) fn block_of(statements: Vec<Statement>, value: Expression) -> Expression {
    if statements.is_empty() {
        return value;
    }
    let (ty, span) = (value.ty, value.span);
    let block = Box::new(Block { statements, value });
    Expression::new(ExpressionKind::Block(block), ty, span)
}
