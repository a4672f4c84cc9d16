//! `sorted`: what a program declares to be in order, and arguments against it.
//!
//! An array is known to be in order where it is an input, a parameter or a result that is declared
//! `sorted`, a slice of such an array, an array made of elements of one in their order, which may
//! be converted to a wider type, constant, or of one element. Nothing else is known, and a `mut`
//! that is assigned is not. Results of the standard library are taken at their word; others are
//! checked.

mod parts;

use std::collections::HashMap;

use parts::{Order, Part, ascends, constants, find, first_array};

use super::{Done, Elaborator};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::interpret::operators;
use crate::load::Loaded;
use crate::program::{
    Body, Expression, ExpressionKind as K, Function, InputPort, LocalId, Number, Program, Root,
    SortKey, Step, TypeId, TypeKind, TypeTable, Value, ValuePath,
};
use crate::source::Symbol;
use crate::syntax::{self, ExpressionKind as Syntax, PatternKind, Sorted, TypeExpressionKind};

/// Most parts that one key is taken apart into.
const MAX_PARTS: usize = 256;
/// Most variables that are followed from one to the other.
const MAX_DEPTH: usize = 64;
/// Most values that are looked at for one argument.
const MAX_STEPS: u32 = 1 << 14;

impl Elaborator<'_> {
    /// The keys by which a function's arguments and its result are in order.
    pub(super) fn sort_keys(
        &mut self,
        function: &syntax::Function,
        types: &[TypeId],
        result: TypeId,
        lambdas: &[u32],
    ) -> Done<(Vec<Option<SortKey>>, Option<SortKey>)> {
        let (is_lambda, is_value): (Vec<_>, Vec<_>) = function
            .parameters
            .iter()
            .partition(|p| matches!(p.ty.kind, TypeExpressionKind::Function));
        let names = is_lambda.iter().map(|parameter| &parameter.name.name);
        let named: Vec<_> = names.zip(lambdas.iter().copied()).collect();
        let mut keys = Vec::with_capacity(types.len());
        for (parameter, ty) in is_value.iter().zip(types) {
            keys.push(match &parameter.sorted {
                Some(sorted) => self.sort_key(*ty, sorted, &named)?,
                None => None,
            });
        }
        let of_result = match &function.result_sorted {
            Some(sorted) => self.sort_key(result, sorted, &named)?,
            None => None,
        };
        Ok((keys, of_result))
    }

    /// The key that `sorted` names, of an array of type `ty`. The rows of a table have none, since
    /// zeros stand behind them.
    pub(super) fn sort_key(
        &mut self,
        ty: TypeId,
        sorted: &Sorted,
        lambdas: &[(&Symbol, u32)],
    ) -> Done<Option<SortKey>> {
        let Some(element) = self.element_hint(ty) else {
            let message = format!("a `{}` has no order", self.type_name(ty));
            return self.fail(Diagnostic::new(sorted.span, message));
        };
        let by = sorted.by.as_ref();
        let lambda = by.and_then(|by| lambdas.iter().find(|(name, _)| **name == by.name));
        if let Some((_, lambda)) = lambda {
            return Ok(self.key_of_lambda(*lambda, element));
        }
        if let Some(by) = by
            && field(&self.program.types, element, by.as_str()).is_none()
        {
            let name = self.type_name(element);
            let message = format!("`{name}` has no field `{}`", by.name);
            return self.fail(Diagnostic::new(by.span, message));
        }
        Ok(key_by(&self.program.types, ty, by.map(|by| &by.name)))
    }

    /// The parts of an element that a lambda gives, where it gives nothing else.
    fn key_of_lambda(&self, number: u32, element: TypeId) -> Option<SortKey> {
        let lambda = &self.lambdas[number as usize];
        let [parameter] = lambda.parameters else {
            return None;
        };
        let PatternKind::Name(_, name) = &parameter.kind else {
            return None;
        };
        let types = &self.program.types;
        let parts = match &lambda.body.kind {
            Syntax::Tuple(parts) => &parts[..],
            _ => std::slice::from_ref(lambda.body),
        };
        let mut key = Vec::new();
        for part in parts {
            let (path, ty) = part_of_element(types, part, name.as_str(), element)?;
            key.extend(leaves(types, ty, &path));
        }
        Some(key)
    }
}

/// The fields that lead from the element that `name` stands for to what `part` is, and its type.
fn part_of_element(
    types: &TypeTable,
    part: &syntax::Expression,
    name: &str,
    element: TypeId,
) -> Option<(Vec<u32>, TypeId)> {
    match &part.kind {
        Syntax::Path(path) if path.as_name()?.as_str() == name => Some((Vec::new(), element)),
        Syntax::Field(of, by) => {
            let (mut path, ty) = part_of_element(types, of, name, element)?;
            let number = field(types, ty, by.as_str())?;
            path.push(number as u32);
            Some((path, *types.fields(ty).get(number)?))
        }
        _ => None,
    }
}

/// The number of the field of this name, of a struct or tuple.
fn field(types: &TypeTable, ty: TypeId, name: &str) -> Option<usize> {
    match types.kind(ty) {
        TypeKind::Struct(number) => {
            let fields = &types.struct_type(*number).fields;
            fields.iter().position(|(field, _)| field.as_str() == name)
        }
        TypeKind::Tuple(parts) => name.parse().ok().filter(|n: &usize| *n < parts.len()),
        _ => None,
    }
}

/// The key of an array whose elements ascend, or ascend by a field.
fn key_by(types: &TypeTable, ty: TypeId, by: Option<&Symbol>) -> Option<SortKey> {
    let &TypeKind::Array(element, _) = types.kind(ty) else {
        return None;
    };
    match by {
        None => Some(leaves(types, element, &[])),
        Some(by) => {
            let number = field(types, element, by.as_str())?;
            let ty = *types.fields(element).get(number)?;
            Some(leaves(types, ty, &[number as u32]))
        }
    }
}

/// The key by which an input is in order.
pub(super) fn key_of_input(types: &TypeTable, input: &InputPort) -> Option<SortKey> {
    let by = input.sorted.as_ref()?;
    key_by(types, input.ty, by.as_ref())
}

/// The parts at `path` that have no fields, in order: by these a value is compared.
fn leaves(types: &TypeTable, ty: TypeId, path: &[u32]) -> SortKey {
    let mut found = Vec::new();
    match take_apart(types, ty, &mut path.to_vec(), &mut found) {
        true => found,
        false => vec![path.to_vec()],
    }
}

/// Gives false where there are too many.
fn take_apart(types: &TypeTable, ty: TypeId, path: &mut Vec<u32>, found: &mut SortKey) -> bool {
    if !matches!(types.kind(ty), TypeKind::Struct(_) | TypeKind::Tuple(_)) {
        found.push(path.clone());
        return found.len() <= MAX_PARTS;
    }
    types
        .fields(ty)
        .into_iter()
        .enumerate()
        .all(|(number, ty)| {
            path.push(number as u32);
            let is_few = take_apart(types, ty, path, found);
            path.pop();
            is_few
        })
}

/// Checks the arguments of all calls, and results that are declared `sorted`.
pub(super) fn check(program: &Program, loaded: &Loaded, errors: &mut Diagnostics) {
    for function in &program.functions {
        let mut known = Known::new(program, function);
        function.expressions(&mut |expression| {
            if let K::Call(id, arguments) = &expression.kind {
                let callee = &program.functions[id.0 as usize];
                for (number, argument) in arguments.iter().enumerate() {
                    if let Some(Some(key)) = callee.sorted.get(number)
                        && !known.is_in_order(argument, key)
                    {
                        errors.report(known.argument_error(callee, number, argument));
                    }
                }
            }
        });
        let Some(key) = &function.result_sorted else {
            continue;
        };
        let (at, is_known) = match &function.body {
            Body::Block(block) => (block.value.span, known.is_in_order(&block.value, key)),
            _ => (function.span, false),
        };
        if !is_known && !loaded.is_std(function.span.file) {
            let message = format!(
                "the result of `{}` is not known to be sorted",
                function.name
            );
            errors.report(Diagnostic::new(at, message).help(SORT));
        }
    }
}

const SORT: &str = "`sort(…)` of `std::order` sorts it; `assume_sorted(…)` takes your word for it";

/// What is known of a function's variables.
struct Known<'p> {
    program: &'p Program,
    function: &'p Function,
    /// The values of variables that nothing assigns.
    values: HashMap<LocalId, &'p Expression>,
    orders: HashMap<LocalId, Option<Order>>,
    depth: usize,
    steps: u32,
}

impl<'p> Known<'p> {
    fn new(program: &'p Program, function: &'p Function) -> Self {
        let (values, changed) = function.values();
        let parameters = function.parameters.iter().zip(&function.sorted);
        let kept = parameters.filter(|(local, _)| !changed.contains(*local));
        Self {
            program,
            function,
            values,
            orders: kept
                .map(|(local, key)| (*local, key.clone().map(Order::from)))
                .collect(),
            depth: 0,
            steps: 0,
        }
    }

    fn is_in_order(&mut self, value: &'p Expression, key: &SortKey) -> bool {
        if let TypeKind::Array(_, 0..=1) = self.program.types.kind(value.ty) {
            return true;
        }
        self.steps = MAX_STEPS;
        let found = self.order(value);
        found.is_some_and(|found| found.ascends_by(key))
    }

    /// How an array is known to be in order.
    fn order(&mut self, array: &'p Expression) -> Option<Order> {
        let types = &self.program.types;
        let (element, _) = types.element(array.ty)?;
        match &array.kind {
            K::Read(ValuePath { root, path }) => {
                let is_slice = |step: &Step| matches!(step, Step::Slice(..));
                match root {
                    Root::Local(local) if path.iter().all(is_slice) => self.order_of(*local),
                    _ => None,
                }
            }
            K::Block(block) => self.order(&block.value),
            K::Comprehension(counter, _, of) => {
                let part = self.part(of);
                let (array, number) = first_array(&part)?;
                // What each turn makes anew has no order over the turns.
                match !of.binds(array) && ascends(&number, *counter) {
                    true => self.order_of_parts(&part, (array, &number)),
                    false => None,
                }
            }
            K::Call(id, _) => {
                let callee = &self.program.functions[id.0 as usize];
                callee.result_sorted.clone().map(Order::from)
            }
            K::Constant(Value::List(values)) => {
                let ascends = values.is_sorted_by(|a, b| operators::order(a, b).is_le());
                ascends.then(|| leaves(types, element, &[]).into())
            }
            K::Repeat(_) => Some(leaves(types, element, &[]).into()),
            _ => None,
        }
    }

    fn order_of(&mut self, local: LocalId) -> Option<Order> {
        if let Some(known) = self.orders.get(&local) {
            return known.clone();
        }
        let value = *self.values.get(&local)?;
        let order = self.deeper(|this| this.order(value)).flatten();
        self.orders.insert(local, order.clone());
        order
    }

    fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_DEPTH || self.steps == 0 {
            return None;
        }
        self.steps -= 1;
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        Some(result)
    }

    /// What a value is made of.
    fn part(&mut self, value: &'p Expression) -> Part {
        let made = self.deeper(|this| match &value.kind {
            K::Read(place) => this.part_at(place),
            K::Block(block) => this.part(&block.value),
            K::Cast(of) if this.widens(of.ty, value.ty) => this.part(of),
            K::Constant(_) | K::Number(Number::Constant(_)) => Part::Constant,
            K::Aggregate(parts) if parts.len() <= MAX_PARTS => {
                Part::Made(parts.iter().map(|part| this.part(part)).collect())
            }
            _ => Part::Other,
        });
        made.unwrap_or(Part::Other)
    }

    /// Whether a conversion keeps the order of all values.
    fn widens(&self, from: TypeId, to: TypeId) -> bool {
        let types = &self.program.types;
        let ranges = (types.range(from), types.range(to));
        matches!(ranges, (Some(from), Some(to)) if to.0 <= from.0 && from.1 <= to.1)
    }

    fn part_at(&mut self, place: &'p ValuePath) -> Part {
        let Root::Local(local) = place.root else {
            return Part::Other;
        };
        let (mut part, rest) = match &place.path[..] {
            [Step::At(number, _), rest @ ..] => (Part::Of(local, number.clone(), Vec::new()), rest),
            rest => match self.values.get(&local) {
                Some(value) => (self.part(value), rest),
                None => return Part::Other,
            },
        };
        for step in rest {
            let Step::Field(field) = step else {
                return Part::Other;
            };
            part = match part {
                Part::Of(array, number, mut path) => {
                    path.push(*field);
                    Part::Of(array, number, path)
                }
                Part::Constant => Part::Constant,
                Part::Made(mut parts) if (*field as usize) < parts.len() => {
                    parts.swap_remove(*field as usize)
                }
                _ => return Part::Other,
            };
        }
        part
    }

    /// The order of an array of elements that are made so, of elements of `array` in their order.
    fn order_of_parts(&mut self, part: &Part, of: (LocalId, &Number)) -> Option<Order> {
        let of_array = self.order_of(of.0)?;
        let mut constant = SortKey::new();
        constants(part, &mut Vec::new(), &mut constant);
        let found = of_array.key.iter().map_while(|leaf| {
            let mut path = Vec::new();
            find(part, of, leaf, &mut path).then_some(path)
        });
        let key = found.collect();
        Some(Order { key, constant })
    }

    fn argument_error(
        &mut self,
        callee: &Function,
        number: usize,
        argument: &'p Expression,
    ) -> Diagnostic {
        let parameter = callee.parameters.get(number);
        let name = parameter.map_or("its argument", |local| {
            callee.locals[local.0 as usize].name.as_str()
        });
        let message = format!("`{}` takes `{name}` sorted", callee.name);
        let error = Diagnostic::new(argument.span, message).label("not known to be sorted");
        error.help(match self.source(argument) {
            Some((local, path)) if !matches!(self.orders.get(&local), Some(Some(_))) => {
                self.declare(local, &path)
            }
            _ => SORT.to_owned(),
        })
    }

    /// The parameter whose elements an array has, and the part of each.
    fn source(&mut self, array: &'p Expression) -> Option<(LocalId, Vec<u32>)> {
        let (local, path) = match &array.kind {
            K::Read(ValuePath { root, path }) => match root {
                Root::Local(local) if path.is_empty() => (*local, Vec::new()),
                _ => return None,
            },
            K::Block(block) => return self.source(&block.value),
            K::Comprehension(_, _, of) => match self.part(of) {
                Part::Of(local, _, path) => (local, path),
                _ => return None,
            },
            _ => return None,
        };
        match self.values.get(&local) {
            None if self.function.parameters.contains(&local) => Some((local, path)),
            Some(value) if path.is_empty() => {
                let value = *value;
                self.deeper(|this| this.source(value)).flatten()
            }
            Some(value) => match &value.kind {
                K::Read(place) if place.path.is_empty() => match place.root {
                    Root::Local(from) if self.function.parameters.contains(&from) => {
                        Some((from, path))
                    }
                    _ => None,
                },
                _ => None,
            },
            None => None,
        }
    }

    /// How a parameter is declared `sorted`.
    fn declare(&self, local: LocalId, path: &[u32]) -> String {
        let types = &self.program.types;
        let declared = &self.function.locals[local.0 as usize];
        let mut sorted = "sorted".to_owned();
        if let ([field], Some((element, _))) = (path, types.element(declared.ty))
            && let TypeKind::Struct(number) = types.kind(element)
        {
            let (name, _) = &types.struct_type(*number).fields[*field as usize];
            sorted += &format!(" by {name}");
        } else if !path.is_empty() {
            return SORT.to_owned();
        }
        let entries = &self.program.entries;
        let mut runs = entries
            .iter()
            .map(|entry| &self.program.functions[entry.function.0 as usize]);
        match runs.any(|run| std::ptr::eq(run, self.function)) {
            true => format!(
                "write `{sorted}` at the end of the input `{}`, and its owner's client sorts it",
                declared.name
            ),
            false => format!("write `{sorted}` after the type of `{}`", declared.name),
        }
    }
}
