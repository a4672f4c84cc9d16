//! Loops and comprehensions. They are kept, or unrolled if they are `for const`.

use num_bigint::BigInt;

use super::control::Branch;
use super::expression::block_of;
use super::term::{Term, aggregate};
use super::{Binding, Done, Elaborator};
use crate::diagnostic::Diagnostic;
use crate::program::{
    BinaryOperator, Condition, CounterId, Expression, ExpressionKind, Loop, Number, Root,
    Statement, StatementKind, Step, TypeId, TypeKind, Value, ValuePath,
};
use crate::source::{Span, Symbol};
use crate::syntax::{ExpressionKind as Syntax, ForLoop, PatternKind};

/// The numbers of the fields of a table.
const LEN: u32 = 0;
const ITEMS: u32 = 1;

/// The range of a loop that is kept.
struct LoopRange {
    from: Number,
    to: Number,
    /// The array whose elements the turns get, and the elements' type.
    of: Option<(ValuePath, TypeId)>,
    /// Whether the elements are the pairs of a join. Their number is known only after the body.
    is_over_pairs: bool,
    /// The length of the table whose items the turns get. Turns past it have no effect.
    length: Option<Expression>,
}

impl LoopRange {
    fn counted(from: Number, to: Number) -> Self {
        Self {
            from,
            to,
            of: None,
            is_over_pairs: false,
            length: None,
        }
    }

    /// Returns the range over all elements of an array of this type of elements.
    fn over(of: (ValuePath, TypeId), length: u32) -> Self {
        Self {
            of: Some(of),
            ..Self::counted(Number::Constant(0), Number::Constant(length.into()))
        }
    }
}

/// The terms of the turns of an unrolled loop.
type Turns = Box<dyn Iterator<Item = Term>>;

impl<'a> Elaborator<'a> {
    pub(super) fn for_statement(
        &mut self,
        each: &'a ForLoop,
        span: Span,
        out: &mut Vec<Statement>,
    ) -> Done<()> {
        if let Some(turns) = self.unrolled(each, out)? {
            for turn in turns {
                self.burn(span)?;
                let branch = self.turn(each, turn, None)?;
                out.extend(branch.statements);
                self.emit(branch.term, out);
            }
            return Ok(());
        }
        let kept = self.kept(each, out)?;
        let counter = self.counter(counter_name(each));
        let element = element(&kept, counter, span);
        let branch = self.turn(
            each,
            element.unwrap_or(Term::Number(Number::Counter(counter))),
            None,
        )?;
        let mut body = branch.statements;
        self.emit(branch.term, &mut body);
        if let Some(length) = kept.length {
            let has_row = self.has_row(counter, length);
            body = vec![Statement::new(
                StatementKind::If(has_row, body, Vec::new()),
                span,
            )];
        }
        let kind = StatementKind::For(Box::new(Loop {
            counter,
            from: kept.from,
            to: kept.to,
            body,
            is_over_pairs: kept.is_over_pairs,
        }));
        out.push(Statement { kind, span });
        Ok(())
    }

    pub(super) fn comprehension(
        &mut self,
        each: &'a ForLoop,
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let element_type = hint.and_then(|ty| self.element_hint(ty));
        if !each.is_const && self.pairs_named(&each.over).is_some() {
            return self.for_each_pair(each, hint, span);
        }
        let mut statements = Vec::new();
        let term = match self.unrolled(each, &mut statements)? {
            Some(turns) => {
                let mut parts = Vec::new();
                let mut expected = element_type;
                for turn in turns {
                    self.burn(span)?;
                    let branch = self.turn(each, turn, expected)?;
                    let at = branch.span;
                    let term = self.close(branch, expected)?;
                    expected = expected.or(term.ty());
                    parts.push((term, at));
                }
                self.parts(parts, false, span)?
            }
            None => self.kept_comprehension(each, element_type, span, &mut statements)?,
        };
        let branch = Branch {
            statements,
            term,
            span,
        };
        self.close(branch, hint)
    }

    fn kept_comprehension(
        &mut self,
        each: &'a ForLoop,
        element_type: Option<TypeId>,
        span: Span,
        out: &mut Vec<Statement>,
    ) -> Done<Term> {
        let kept = self.kept(each, out)?;
        let (from, to) = (kept.from.as_constant(), kept.to.as_constant());
        let length = match (from, to) {
            (Some(from), Some(to)) => u32::try_from((to - from).max(0)).ok(),
            _ => None,
        };
        let Some(length) = length else {
            let error = Diagnostic::new(each.over.span, "the length of an array is const");
            return self.fail(error.help("start from a const, and add the counter inside"));
        };
        let counter = self.counter(counter_name(each));
        let element = element(&kept, counter, span);
        let turn = element.unwrap_or(Term::Number(Number::Counter(counter)));
        let value = self.turn_value(each, turn, element_type)?;
        if let Some(rows) = kept.length {
            return self.table_of(value, counter, (rows, length), span);
        }
        let ty = self.sized(TypeKind::Array(value.ty, length), span)?;
        let kind = ExpressionKind::Comprehension(counter, kept.from, Box::new(value));
        Ok(Term::Value(Expression::new(kind, ty, span)))
    }

    /// Returns the table of a value for each row of a table, with zeros behind them.
    fn table_of(
        &mut self,
        value: Expression,
        counter: CounterId,
        (rows, size): (Expression, u32),
        span: Span,
    ) -> Done<Term> {
        let element = value.ty;
        let zero = Expression::constant(self.program.types.zero(element), element, span);
        let has_row = self.has_row(counter, rows.clone());
        let kind = ExpressionKind::If(Box::new(has_row), Box::new(value), Box::new(zero));
        let row = Expression::new(kind, element, span);
        let array = self.sized(TypeKind::Array(element, size), span)?;
        let items = Expression::new(
            ExpressionKind::Comprehension(counter, Number::Constant(0), Box::new(row)),
            array,
            span,
        );
        let ty = self.sized(TypeKind::Table(element, size), span)?;
        Ok(Term::Value(aggregate(vec![rows, items], ty, span)))
    }

    /// Elaborates `[for p in pairs { e }]`, an array whose length is that of its type.
    fn for_each_pair(&mut self, each: &'a ForLoop, hint: Option<TypeId>, span: Span) -> Done<Term> {
        let kept = self.kept(each, &mut Vec::new())?;
        let array = hint.map(|ty| self.program.types.kind(ty).clone());
        let Some(TypeKind::Array(element_type, length)) = array else {
            return self.not_by_pair(span);
        };
        let counter = self.counter(counter_name(each));
        let turn = element(&kept, counter, span).expect("pairs have elements");
        let value = self.turn_value(each, turn, Some(element_type))?;
        let ty = self.program.types.add(TypeKind::Array(value.ty, length));
        let kind = ExpressionKind::ForEachPair(counter, Box::new(value));
        Ok(Term::Value(Expression::new(kind, ty, span)))
    }

    /// Returns the value of a turn of a comprehension.
    fn turn_value(
        &mut self,
        each: &'a ForLoop,
        element: Term,
        element_type: Option<TypeId>,
    ) -> Done<Expression> {
        let branch = self.turn(each, element, element_type)?;
        let value = self.typed_or_met(branch.term, element_type, branch.span)?;
        Ok(block_of(branch.statements, value))
    }

    /// Elaborates one turn of a loop, with its pattern bound to `element`.
    fn turn(&mut self, each: &'a ForLoop, element: Term, hint: Option<TypeId>) -> Done<Branch> {
        self.scoped(|this| {
            let mut statements = Vec::new();
            match (&each.pattern.kind, &element) {
                // A name of any kind for a counter stands for the counter itself.
                (PatternKind::Name(false, name), Term::Integer(_) | Term::Number(_)) => {
                    this.bind(name.name.clone(), Binding::Term(element));
                }
                (PatternKind::Name(false, name), Term::Value(value))
                    if value.as_constant().is_some() =>
                {
                    this.bind(name.name.clone(), Binding::Term(element));
                }
                _ => {
                    let span = each.pattern.span;
                    this.bind_pattern(&each.pattern, element, span, &mut statements)?;
                }
            }
            let branch = this.block(&each.body, hint)?;
            statements.extend(branch.statements);
            Ok(Branch {
                statements,
                ..branch
            })
        })
    }

    /// Returns the terms of the turns of an unrolled loop, or `None` if the loop is kept.
    fn unrolled(&mut self, each: &'a ForLoop, out: &mut Vec<Statement>) -> Done<Option<Turns>> {
        let span = each.over.span;
        // An enum has few variants, and each is const.
        if let Some(ty) = self.as_enum_type(&each.over) {
            let ty = ty?;
            let &TypeKind::Enum(number) = self.program.types.kind(ty) else {
                let error = Diagnostic::new(span, "a loop runs over a range, an array or an enum");
                return self.fail(error);
            };
            let count = self.program.types.enum_type(number).variants.len();
            let variant = |code: usize| Term::constant(Value::Integer(code.into()), ty, span);
            let turns: Vec<Term> = (0..count).map(variant).collect();
            return Ok(Some(Box::new(turns.into_iter())));
        }
        if !each.is_const {
            return Ok(None);
        }
        if let Syntax::Range(from, to, is_inclusive) = &each.over.kind {
            let from = self.const_integer(from, "the start of a `for const`")?;
            let mut to = self.const_integer(to, "the end of a `for const`")?;
            if *is_inclusive {
                to += 1;
            }
            return self.counted(from, &to, span).map(Some);
        }
        let term = self.expression(&each.over, None)?;
        if let Term::List(parts, false) = term {
            let mut turns = Vec::with_capacity(parts.len());
            for (part, span) in parts {
                turns.push(if part.is_const() {
                    part
                } else {
                    // Each part is computed before the first turn, which may assign the variables
                    // that it reads.
                    self.settled(part, span, out)?
                });
            }
            return Ok(Some(Box::new(turns.into_iter())));
        }
        let value = self.typed(term, span)?;
        if let Some(Value::List(parts)) = value.as_constant()
            && let Some((element, _)) = self.program.types.element(value.ty)
        {
            let turn = |part: &Value| Term::constant(part.clone(), element, span);
            let turns: Vec<Term> = parts.iter().map(turn).collect();
            return Ok(Some(Box::new(turns.into_iter())));
        }
        let place = self.array_place(value, span, out)?;
        let (place, element_type, length) = place;
        let turns = (0..length).map(move |i| {
            let number = Number::Constant(i.into());
            element_at(&place, number, element_type, span)
        });
        Ok(Some(Box::new(turns)))
    }

    /// Returns the numbers of a range, one a turn. Refuses the range if it has more turns than the
    /// remaining steps.
    fn counted(&mut self, from: BigInt, to: &BigInt, span: Span) -> Done<Turns> {
        let turns = (to - &from).max(BigInt::ZERO);
        let turns = u64::try_from(turns).unwrap_or(u64::MAX);
        self.burn_all(turns, span)?;
        Ok(Box::new(
            (0..turns).map(move |turn| Term::Integer(&from + turn)),
        ))
    }

    fn kept(&mut self, each: &'a ForLoop, out: &mut Vec<Statement>) -> Done<LoopRange> {
        let span = each.over.span;
        if let Syntax::Range(from, to, is_inclusive) = &each.over.kind {
            let from = self.loop_number(from, "the start of a loop")?;
            let mut to = self.loop_number(to, "the end of a loop")?;
            if *is_inclusive {
                to = Number::binary(BinaryOperator::Add, to, Number::Constant(1));
            }
            return Ok(LoopRange::counted(from, to));
        }
        if let Some((local, ty)) = self.pairs_named(&each.over) {
            let place = ValuePath::whole(Root::Local(local));
            return Ok(LoopRange {
                is_over_pairs: true,
                ..LoopRange::over((place, ty), 0)
            });
        }
        let term = self.expression(&each.over, None)?;
        let value = self.typed(term, span)?;
        if let &TypeKind::Table(element, size) = self.program.types.kind(value.ty) {
            return Ok(self.rows_of_table(value, (element, size), span, out));
        }
        let (place, element_type, length) = self.array_place(value, span, out)?;
        Ok(LoopRange::over((place, element_type), length))
    }

    /// Returns the range of a loop over the rows of a table.
    fn rows_of_table(
        &mut self,
        value: Expression,
        (element, size): (TypeId, u32),
        span: Span,
        out: &mut Vec<Statement>,
    ) -> LoopRange {
        let length_type = self.program.types.fields(value.ty)[LEN as usize];
        let local = self.unnamed(value.ty);
        out.push(Statement::new(StatementKind::Let(local, value), span));
        let field = |field| ValuePath {
            root: Root::Local(local),
            path: vec![Step::Field(field)],
        };
        let length = Expression::new(ExpressionKind::Read(field(LEN)), length_type, span);
        LoopRange {
            length: Some(length),
            ..LoopRange::over((field(ITEMS), element), size)
        }
    }

    /// Returns the condition that the turn has a row of the table.
    fn has_row(&mut self, counter: CounterId, length: Expression) -> Condition {
        let (ty, span) = (length.ty, length.span);
        let kind = ExpressionKind::Number(Number::Counter(counter));
        let number = Box::new(Expression::new(kind, ty, span));
        Condition::Secret(Expression::new(
            ExpressionKind::Binary(BinaryOperator::Less, number, Box::new(length)),
            self.program.types.bool(),
            span,
        ))
    }

    /// Returns an array that a loop runs over, with its value before the loop.
    fn array_place(
        &mut self,
        value: Expression,
        span: Span,
        out: &mut Vec<Statement>,
    ) -> Done<(ValuePath, TypeId, u32)> {
        let Some((element, length)) = self.program.types.element(value.ty) else {
            let message = format!("a loop over a `{}`", self.type_name(value.ty));
            let error = Diagnostic::new(span, message);
            let help = match self.program.types.kind(value.ty) {
                TypeKind::Table(..) => {
                    "write `for` in place of `for const`: how many rows are there is no const"
                }
                TypeKind::Unsigned(_) => {
                    "a loop runs over a range, an array or an enum; the iteration count is public"
                }
                _ => "a loop runs over a range, an array or an enum",
            };
            return self.fail(error.help(help));
        };
        let ty = value.ty;
        let local = self.unnamed(ty);
        out.push(Statement::new(StatementKind::Let(local, value), span));
        let place = ValuePath::whole(Root::Local(local));
        Ok((place, element, length))
    }
}

/// Returns the element of this turn if the loop runs over an array.
fn element(kept: &LoopRange, counter: CounterId, span: Span) -> Option<Term> {
    let (place, ty) = kept.of.as_ref()?;
    Some(element_at(place, Number::Counter(counter), *ty, span))
}

fn element_at(place: &ValuePath, number: Number, ty: TypeId, span: Span) -> Term {
    let mut place = place.clone();
    place.path.push(Step::At(number, span));
    Term::Value(Expression::new(ExpressionKind::Read(place), ty, span))
}

/// Returns the counter's name, for messages.
fn counter_name(each: &ForLoop) -> Symbol {
    match &each.pattern.kind {
        PatternKind::Name(_, name) => name.name.clone(),
        _ => Symbol::new("the counter"),
    }
}
