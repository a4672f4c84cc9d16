//! Calls of functions that only add, as additions.
//!
//! In a loop, `(count, total) = add(count, total, hit, amount)` is a chain of calls, even if `add`
//! computes only `(count + hit as u8, total + amount)`. If layers must be few, such a call becomes
//! a call that returns the addends `(hit as u8, amount)`, followed by additions of the parts, which
//! `order_free` finds.
//!
//! A function adds to a parameter p if its result depends on p only through a sum with p, or with a
//! variable that starts as p:
//!
//! | the function's value | other reads of p | the addend |
//! |---|---|---|
//! | p + e | none | e |
//! | a tuple or struct of such sums of different parameters | none | those of its parts |
//! | a variable that is p at first, and to which statements add | none | the variable, from 0 |

use super::order_free::{Judged, Kind, same_place};
use crate::program::{
    BinaryOperator, Block, Body, Expression, ExpressionKind, Function, FunctionId, Local, LocalId,
    Number, Program, Root, Statement, StatementKind, Step, TypeId, TypeKind, TypeTable, ValuePath,
    Variable, VariableUse, variable_uses,
};
use crate::source::{Span, Symbol};

/// The greatest number of numbers to which a call adds one by one.
const MAX_PARTS: usize = 1 << 10;

/// The additions of a function.
struct Adds {
    /// The numbers of the parameters to which the function adds, for the whole result or for each
    /// of its parts.
    to: Vec<usize>,
    is_of_parts: bool,
    /// The function that computes the addends from the other parameters.
    addends: FunctionId,
}

/// Returns the program with additions in place of calls in loops to functions that only add.
pub(super) fn with_additions(program: &Program) -> Program {
    let mut adding = program.clone();
    let mut known: Vec<Option<Adds>> = Vec::with_capacity(program.functions.len());
    for function in &program.functions {
        let found = addends(function, &program.types).map(|(to, is_of_parts, addends)| {
            adding.functions.push(addends);
            Adds {
                to,
                is_of_parts,
                addends: FunctionId(adding.functions.len() as u32 - 1),
            }
        });
        known.push(found);
    }
    if known.iter().all(Option::is_none) {
        return adding;
    }
    for function in &mut adding.functions {
        let Body::Block(block) = &mut function.body else {
            continue;
        };
        let mut rewriter = Rewriter {
            known: &known,
            types: &program.types,
            locals: &mut function.locals,
        };
        rewriter.statements(&mut block.statements, false);
    }
    adding
}

/// Returns the parameters to which `function` adds, and the function of its addends.
fn addends(function: &Function, types: &TypeTable) -> Option<(Vec<usize>, bool, Function)> {
    let Body::Block(block) = &function.body else {
        return None;
    };
    if !function.is_component {
        return None;
    }
    let (locals, is_of_parts, block) = match &block.value.kind {
        ExpressionKind::Aggregate(parts) if !parts.is_empty() => {
            let sums: Vec<_> = parts.iter().map(sum).collect::<Option<_>>()?;
            let (locals, addends): (Vec<LocalId>, Vec<Expression>) = sums.into_iter().unzip();
            let value = Expression {
                kind: ExpressionKind::Aggregate(addends),
                ..block.value.clone()
            };
            (locals, true, of_value(block, value))
        }
        ExpressionKind::Binary(..) => {
            let (local, addend) = sum(&block.value)?;
            (vec![local], false, of_value(block, addend))
        }
        _ => {
            let (local, block) = of_variable(function, block, types)?;
            (vec![local], false, block)
        }
    };
    let to = locals.iter().map(|local| {
        let mut parameters = function.parameters.iter();
        parameters.position(|parameter| parameter == local)
    });
    let to: Vec<usize> = to.collect::<Option<_>>()?;
    let is_twice = |at: usize| to[..at].contains(&to[at]);
    if (0..to.len()).any(is_twice) || uses_any(&block.statements, Some(&block.value), &locals) {
        return None;
    }
    let mut addends = function.clone();
    addends.name = Symbol::new(&format!("addends_of_{}", function.name));
    let kept = |at: &usize| !to.contains(at);
    let count = function.parameters.len();
    addends.parameters = (0..count)
        .filter(kept)
        .map(|at| function.parameters[at])
        .collect();
    addends.sorted = (0..count)
        .filter(kept)
        .map(|at| function.sorted[at].clone())
        .collect();
    addends.result_sorted = None;
    // A function without gates is not a component.
    addends.is_component = !is_wires(&block);
    addends.body = Body::Block(block);
    Some((to, is_of_parts, addends))
}

fn of_value(block: &Block, value: Expression) -> Block {
    Block {
        statements: block.statements.clone(),
        value,
    }
}

/// Returns the variable and the addend of a sum.
fn sum(value: &Expression) -> Option<(LocalId, Expression)> {
    let ExpressionKind::Binary(BinaryOperator::Add, first, addend) = &value.kind else {
        return None;
    };
    Some((first.as_local()?, (**addend).clone()))
}

/// Handles a value that is a variable which starts as a parameter. Returns the parameter, and the
/// same block with the variable starting at zero.
fn of_variable(function: &Function, block: &Block, types: &TypeTable) -> Option<(LocalId, Block)> {
    let result = block.value.as_local()?;
    let (at, from) = block
        .statements
        .iter()
        .enumerate()
        .find_map(|(at, statement)| match &statement.kind {
            StatementKind::Let(local, value) if *local == result => Some((at, value)),
            _ => None,
        })?;
    let parameter = from.as_local()?;
    let judged = Judged::of_statements(&block.statements[at + 1..]);
    let kind = judged.sums.get(&Variable::Local(result.0));
    if kind != Some(&Kind::Sum) || function.parameters.contains(&result) {
        return None;
    }
    let mut block = block.clone();
    let zero = Expression {
        kind: ExpressionKind::Constant(types.zero(from.ty)),
        ..from.clone()
    };
    block.statements[at].kind = StatementKind::Let(result, zero);
    Some((parameter, block))
}

/// Whether statements, and then a value, read or assign one of these variables.
fn uses_any(all: &[Statement], value: Option<&Expression>, variables: &[LocalId]) -> bool {
    let mut found = false;
    variable_uses(all, value, |of| {
        if let VariableUse::Read(place, _) | VariableUse::Assign(place) = of {
            found |= place
                .local()
                .is_some_and(|local| variables.contains(&local));
        }
    });
    found
}

/// Whether a block only moves bits.
fn is_wires(block: &Block) -> bool {
    fn moves(value: &Expression) -> bool {
        match &value.kind {
            ExpressionKind::Constant(_) => true,
            ExpressionKind::Read(place) => {
                let is_known = |step: &Step| !matches!(step, Step::AtSecret(_));
                matches!(place.root, Root::Local(_)) && place.path.iter().all(is_known)
            }
            ExpressionKind::Cast(of) => moves(of),
            ExpressionKind::Aggregate(parts) => parts.iter().all(moves),
            _ => false,
        }
    }
    block.statements.is_empty() && moves(&block.value)
}

/// Replaces calls by additions.
struct Rewriter<'a> {
    known: &'a [Option<Adds>],
    types: &'a TypeTable,
    locals: &'a mut Vec<Local>,
}

impl Rewriter<'_> {
    fn statements(&mut self, all: &mut Vec<Statement>, is_in_loop: bool) {
        for statement in &mut *all {
            match &mut statement.kind {
                StatementKind::For(each) => self.statements(&mut each.body, true),
                StatementKind::If(_, then, otherwise) => {
                    self.statements(then, is_in_loop);
                    self.statements(otherwise, is_in_loop);
                }
                _ => {}
            }
        }
        if !is_in_loop {
            return;
        }
        let mut rest = std::mem::take(all);
        while !rest.is_empty() {
            match self.additions(&rest) {
                Some((count, additions)) => {
                    rest.drain(..count);
                    all.extend(additions);
                }
                None => all.push(rest.remove(0)),
            }
        }
    }

    /// Returns the additions that replace the first statements, and the number of these, if they
    /// are a call that only adds.
    fn additions(&mut self, statements: &[Statement]) -> Option<(usize, Vec<Statement>)> {
        let (first, rest) = statements.split_first()?;
        let (value, places) = match &first.kind {
            StatementKind::Assign(place, value) => (value, vec![place]),
            StatementKind::Let(local, value) => {
                let places = parts_of(*local, rest);
                // The sums are not known here, so that no other statement may read them.
                let is_used = uses_any(&rest[places.len()..], None, &[*local]);
                (value, (!is_used).then_some(places)?)
            }
            _ => return None,
        };
        let ExpressionKind::Call(called, arguments) = &value.kind else {
            return None;
        };
        let adds = self.known.get(called.0 as usize)?.as_ref()?;
        let is_let = matches!(first.kind, StatementKind::Let(..));
        let (to, addends) = (adds.to.clone(), adds.addends);
        if adds.is_of_parts != is_let || places.len() != to.len() {
            return None;
        }
        for (place, number) in places.iter().zip(&to) {
            let ExpressionKind::Read(read) = &arguments[*number].kind else {
                return None;
            };
            if !same_place(read, place) || place.path.iter().any(is_secret) {
                return None;
            }
        }
        let distinct = |at: usize| {
            places[..at]
                .iter()
                .all(|other| !same_root(other, places[at]))
        };
        if !(0..places.len()).all(distinct) {
            return None;
        }
        let kept = arguments.iter().enumerate();
        let kept = kept.filter(|(number, _)| !to.contains(number));
        let call = Expression {
            kind: ExpressionKind::Call(addends, kept.map(|(_, of)| of.clone()).collect()),
            ..value.clone()
        };
        let local = LocalId(self.locals.len() as u32);
        let mut all = vec![Statement::new(StatementKind::Let(local, call), first.span)];
        for (number, place) in places.iter().enumerate() {
            let addend = ValuePath {
                root: Root::Local(local),
                path: if is_let {
                    vec![Step::Field(number as u32)]
                } else {
                    Vec::new()
                },
            };
            let ty = arguments[to[number]].ty;
            all.extend(self.sums((place, &addend), ty, first.span)?);
        }
        let name = Symbol::new("");
        self.locals.push(Local { name, ty: value.ty });
        Some((if is_let { 1 + places.len() } else { 1 }, all))
    }

    /// Returns additions of the numbers of `addend` to those of `place`, both of this type.
    fn sums(
        &self,
        (place, addend): (&ValuePath, &ValuePath),
        ty: TypeId,
        span: Span,
    ) -> Option<Vec<Statement>> {
        let mut paths = Vec::new();
        if !self.paths(ty, &mut Vec::new(), &mut paths, span) {
            return None;
        }
        let sums = paths.into_iter().map(|(path, ty)| {
            let at = |of: &ValuePath| ValuePath {
                root: of.root.clone(),
                path: [&of.path[..], &path[..]].concat(),
            };
            let value = |kind| Expression::new(kind, ty, span);
            let read = |of: &ValuePath| Box::new(value(ExpressionKind::Read(at(of))));
            let sum = ExpressionKind::Binary(BinaryOperator::Add, read(place), read(addend));
            Statement::new(StatementKind::Assign(at(place), value(sum)), span)
        });
        Some(sums.collect())
    }

    /// Collects the paths to the numbers of a value. Returns whether the value has only numbers,
    /// and not too many.
    fn paths(
        &self,
        ty: TypeId,
        path: &mut Vec<Step>,
        all: &mut Vec<(Vec<Step>, TypeId)>,
        at: Span,
    ) -> bool {
        match *self.types.kind(ty) {
            TypeKind::Unsigned(_) | TypeKind::Signed(_) | TypeKind::Fixed(..) => {
                all.push((path.clone(), ty));
                all.len() <= MAX_PARTS
            }
            TypeKind::Array(element, count) => (0..count).all(|number| {
                path.push(Step::At(Number::Constant(number.into()), at));
                let done = self.paths(element, path, all, at);
                path.pop();
                done
            }),
            TypeKind::Tuple(_) | TypeKind::Struct(_) => {
                let fields = self.types.fields(ty);
                fields.into_iter().enumerate().all(|(number, field)| {
                    path.push(Step::Field(number as u32));
                    let done = self.paths(field, path, all, at);
                    path.pop();
                    done
                })
            }
            _ => false,
        }
    }
}

/// Returns the places to which the statements assign the parts of a variable, in order.
fn parts_of(local: LocalId, statements: &[Statement]) -> Vec<&ValuePath> {
    let parts = statements.iter().enumerate();
    let parts = parts.map_while(|(number, statement)| {
        let StatementKind::Assign(place, value) = &statement.kind else {
            return None;
        };
        let ExpressionKind::Read(read) = &value.kind else {
            return None;
        };
        let is_part = match (&read.root, &read.path[..]) {
            (Root::Local(of), [Step::Field(field)]) => *of == local && *field as usize == number,
            _ => false,
        };
        is_part.then_some(place)
    });
    parts.collect()
}

fn is_secret(step: &Step) -> bool {
    matches!(step, Step::AtSecret(_))
}

/// Whether both places are in the same variable or state.
fn same_root(a: &ValuePath, b: &ValuePath) -> bool {
    match (&a.root, &b.root) {
        (Root::Local(a), Root::Local(b)) => a == b,
        (Root::State(a), Root::State(b)) => a == b,
        _ => false,
    }
}
