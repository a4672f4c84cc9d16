//! `sorted`: the arrays that a program declares to be in order, and the arguments for them.
//!
//! The following arrays are known to be in order: an input, a parameter or a result that is
//! declared `sorted`; a slice of such an array; an array made of elements of one in their order,
//! which may be converted to a wider type; a constant; and an array of one element. Nothing else is
//! known, and an assigned `mut` is not. An order by a computed value of the elements belongs to the
//! unchanged array, and the compiler derives no other order from it. Results of the standard
//! library are trusted, and all others are checked.

mod keys;
mod parts;

use std::collections::HashMap;

pub(super) use keys::key_of_input;

use keys::leaves;
use parts::{Order, Part, ascends, constants, find, first_array};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::interpret::operators;
use crate::load::Loaded;
use crate::program::{
    Body, COMPUTED, Expression, ExpressionKind as K, Function, FunctionId, LocalId, Number,
    Program, SortKey, Step, TypeId, TypeKind, TypeTable, Value, ValuePath,
};

/// The greatest number of parts of one key.
const MAX_PARTS: usize = 256;
/// The greatest number of variables in a chain that is followed.
const MAX_DEPTH: usize = 64;
/// The greatest number of values that are checked for one argument.
const MAX_STEPS: u32 = 1 << 14;

/// A constant that a call returned, and the promised order by a computed value.
pub(super) type Folded = (Value, SortKey);

/// Checks the arguments of all calls, and the results that are declared `sorted`.
pub(super) fn check(
    program: &Program,
    loaded: &Loaded,
    folded: &[Folded],
    errors: &mut Diagnostics,
) {
    for function in &program.functions {
        let mut known = Known::new(program, folded, function);
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
            let help = help(&program.types, function.result, key);
            errors.report(Diagnostic::new(at, message).help(help));
        }
    }
}

/// Returns the error of a call of a function whose arguments are all constants.
pub(super) fn constant_error(
    program: &Program,
    folded: &[Folded],
    callee: FunctionId,
    arguments: &[Expression],
) -> Option<Diagnostic> {
    let callee = &program.functions[callee.0 as usize];
    let mut known = Known::new(program, folded, callee);
    let mut numbered = arguments.iter().zip(&callee.sorted).enumerate();
    let (number, (argument, _)) = numbered.find(|(_, (argument, key))| {
        let key = key.as_ref();
        key.is_some_and(|key| !known.is_in_order(argument, key))
    })?;
    Some(known.argument_error(callee, number, argument))
}

/// Whether an order is by a computed value, which no input promises.
pub(super) fn is_computed(key: &SortKey) -> bool {
    key.iter().any(|part| part.first() == Some(&COMPUTED))
}

/// Returns code that puts an array of type `ty` in this order.
fn help(types: &TypeTable, ty: TypeId, key: &SortKey) -> String {
    let element = types.element(ty).map_or(ty, |(element, _)| element);
    let is_whole = *key == leaves(types, element, &[]);
    let (by, function) = if is_computed(key) {
        ("_by", ", …".to_owned())
    } else if is_whole {
        ("", String::new())
    } else {
        ("_by", format!(", |v| {}", keys::text(types, element, key)))
    };
    format!(
        "`sort{by}(…{function})` of `std::order` sorts it; `assume_sorted{by}(…{function})` takes \
         your word for it"
    )
}

/// The knowledge about a function's variables.
struct Known<'p> {
    program: &'p Program,
    folded: &'p [Folded],
    function: &'p Function,
    /// The values of variables that are never assigned.
    values: HashMap<LocalId, &'p Expression>,
    orders: HashMap<LocalId, Option<Order>>,
    depth: usize,
    steps: u32,
}

impl<'p> Known<'p> {
    fn new(program: &'p Program, folded: &'p [Folded], function: &'p Function) -> Self {
        let (values, changed) = function.values();
        let parameters = function.parameters.iter().zip(&function.sorted);
        let kept = parameters.filter(|(local, _)| !changed.contains(*local));
        Self {
            program,
            folded,
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
        if let (K::Constant(Value::List(values)), false) = (&value.kind, is_computed(key)) {
            return values.is_sorted_by(|a, b| parts::order(a, b, key).is_le());
        }
        if let (Some(constant), true) = (self.constant(value), is_computed(key)) {
            let mut folded = self.folded.iter();
            return folded.any(|(value, by)| by.starts_with(key) && value == constant);
        }
        self.steps = MAX_STEPS;
        let found = self.order(value);
        found.is_some_and(|found| found.ascends_by(key))
    }

    /// Returns the constant that an array is, possibly through a variable.
    fn constant(&self, array: &'p Expression) -> Option<&'p Value> {
        let mut array = array;
        for _ in 0..MAX_DEPTH {
            array = match &array.kind {
                K::Constant(value) => return Some(value),
                K::Block(block) => &block.value,
                K::Read(place) => self.values.get(&place.whole_local()?)?,
                _ => return None,
            };
        }
        None
    }

    /// Returns the known order of an array.
    fn order(&mut self, array: &'p Expression) -> Option<Order> {
        let types = &self.program.types;
        let (element, _) = types.element(array.ty)?;
        match &array.kind {
            K::Read(place) => {
                let is_slice = |step: &Step| matches!(step, Step::Slice(..));
                let local = place.local();
                self.order_of(local.filter(|_| place.path.iter().all(is_slice))?)
            }
            K::Block(block) => self.order(&block.value),
            K::Comprehension(counter, _, of) => {
                let part = self.part(of);
                let (array, number) = first_array(&part)?;
                // Values that each turn makes anew have no order over the turns.
                if !of.binds(array) && ascends(&number, *counter) {
                    self.order_of_parts(&part, (array, &number))
                } else {
                    None
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
            K::Repeat(_) => Some(Order {
                key: SortKey::new(),
                constant: vec![Vec::new()],
            }),
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

    /// Returns the parts from which a value is made.
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

    /// Whether a conversion keeps distinct values distinct and in order: no value wraps, and no
    /// digits after the point are rounded away.
    fn widens(&self, from: TypeId, to: TypeId) -> bool {
        let types = &self.program.types;
        let (Some((least, greatest)), Some(range)) = (types.range(from), types.range(to)) else {
            return false;
        };
        let converted = |number| operators::rescaled(types, from, to, number);
        operators::fraction_bits(types, from) <= operators::fraction_bits(types, to)
            && range.0 <= converted(&least)
            && converted(&greatest) <= range.1
    }

    fn part_at(&mut self, place: &'p ValuePath) -> Part {
        let Some(local) = place.local() else {
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

    /// Returns the order of an array whose elements are made like `part`, from elements of an array
    /// in their order.
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
        let key = callee.sorted.get(number).cloned().flatten();
        let key = key.unwrap_or_default();
        let declared = match self.source(argument) {
            Some((local, path))
                if !is_computed(&key) && !matches!(self.orders.get(&local), Some(Some(_))) =>
            {
                self.declare(local, &path)
            }
            _ => None,
        };
        error.help(declared.unwrap_or_else(|| help(&self.program.types, argument.ty, &key)))
    }

    /// Returns the parameter whose elements an array has, and the part of each element.
    fn source(&mut self, array: &'p Expression) -> Option<(LocalId, Vec<u32>)> {
        let (local, path) = match &array.kind {
            K::Read(place) => (place.whole_local()?, Vec::new()),
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
                K::Read(place) => {
                    let from = place.whole_local()?;
                    let is_parameter = self.function.parameters.contains(&from);
                    is_parameter.then_some((from, path))
                }
                _ => None,
            },
            None => None,
        }
    }

    /// Returns the declaration that makes a parameter `sorted`, if it can be.
    fn declare(&self, local: LocalId, path: &[u32]) -> Option<String> {
        let types = &self.program.types;
        let declared = &self.function.locals[local.0 as usize];
        let mut sorted = "sorted".to_owned();
        if let ([field], Some((element, _))) = (path, types.element(declared.ty))
            && let TypeKind::Struct(number) = types.kind(element)
        {
            let (name, _) = &types.struct_type(*number).fields[*field as usize];
            sorted += &format!(" by {name}");
        } else if !path.is_empty() {
            return None;
        }
        let entries = &self.program.entries;
        let mut runs = entries
            .iter()
            .map(|entry| &self.program.functions[entry.function.0 as usize]);
        Some(if runs.any(|run| std::ptr::eq(run, self.function)) {
            format!(
                "write `{sorted}` at the end of the input `{}`, and its owner's client sorts it",
                declared.name
            )
        } else {
            format!("write `{sorted}` after the type of `{}`", declared.name)
        })
    }
}
