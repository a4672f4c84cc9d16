//! The addends of order-free loops, as trees.
//!
//! Addends are collected in order while the loop is traced. In a run, each 64 of them become a call
//! of a component. It returns two numbers of the same sum (or one value, for other kinds), which
//! are addends of the next level. Gates add up the rest at the end. In a component, gates add up
//! all addends.
//!
//! Zero bits on top of numbers are left out. Copies of a sign on top are left out too, by −s·2^k =
//! ¬s·2^k − 2^k. A number that is subtracted becomes its negation, −e = ¬e + 1. Constants are added
//! up outside of the circuit.

use std::collections::BTreeMap;
use std::rc::Rc;

use tacit_circuit::builder::{Bit, Builder, Bus, CircuitForm, UInt};
use tacit_circuit::{Circuit, CircuitError};

use super::Lower;
use super::operators::{Bits, Operators};
use super::order_free::{Addition, Judged, Kind};
use super::trace::{Called, Frame, Tracer};
use crate::program::{BinaryOperator, Intrinsic, Loop, Program, TypeId, TypeKind, Variable};
use crate::source::Span;

/// The greatest number of addends of a component.
pub(super) const MOST_ADDENDS: usize = 64;

/// A component that adds up `count` numbers of `width` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tree {
    pub(super) kind: Kind,
    /// The type of the values, which defines the order for the least and the greatest.
    ty: TypeId,
    pub(super) count: usize,
    pub(super) width: usize,
    /// The number of bits of each of the two numbers that a sum becomes, or of the one value.
    pub(super) result: usize,
}

impl Tree {
    pub(super) fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Sum => "sum",
            Kind::Parity => "parity",
            Kind::All => "all",
            Kind::Any => "any",
            Kind::Least => "least",
            Kind::Greatest => "greatest",
        };
        format!("{kind}_of_{}_of_{}", self.count, self.width)
    }

    pub(super) fn results(&self) -> usize {
        if self.kind == Kind::Sum { 2 } else { 1 }
    }

    pub(super) fn circuit(&self, program: &Program) -> Result<Circuit, CircuitError> {
        let builder = Builder::new().in_form(program.form);
        let bits: Bits<'_> = builder.bus("in", self.count * self.width).bits().collect();
        let numbers: Vec<Bits<'_>> = bits.chunks(self.width).map(<[_]>::to_vec).collect();
        let results = match self.kind {
            Kind::Sum => two_of_sum(&builder, &numbers, self.result).concat(),
            _ => combined(operators(&builder, program), self.kind, self.ty, numbers),
        };
        builder.output("out", &Bus::from_bits(&builder, results));
        builder.finish()
    }
}

fn operators<'b, 'p>(builder: &'b Builder, program: &'p Program) -> Operators<'b, 'p> {
    Operators {
        builder,
        types: &program.types,
    }
}

fn two_of_sum<'b>(builder: &'b Builder, numbers: &[Bits<'b>], width: usize) -> [Bits<'b>; 2] {
    let numbers = numbers.iter();
    let numbers = numbers.map(|bits| UInt::from_bits(builder, bits.iter().copied()));
    let numbers: Vec<_> = numbers.collect();
    let two = UInt::two_of_sum(&numbers.iter().collect::<Vec<_>>(), width);
    two.map(|number| number.bus().bits().collect())
}

/// Combines at least one value of one kind by a binary tree.
fn combined<'b>(
    operators: Operators<'b, '_>,
    kind: Kind,
    ty: TypeId,
    mut values: Vec<Bits<'b>>,
) -> Bits<'b> {
    let two = |a: &Bits<'b>, b: &Bits<'b>| {
        let by = |operator| operators.binary(operator, ty, a, b);
        let by_order =
            |intrinsic| operators.intrinsic(intrinsic, ty, &[ty, ty], &[a.clone(), b.clone()]);
        match kind {
            Kind::Sum => by(BinaryOperator::Add),
            Kind::Parity => by(BinaryOperator::Xor),
            Kind::All => by(BinaryOperator::And),
            Kind::Any => by(BinaryOperator::Or),
            Kind::Least => by_order(Intrinsic::Min),
            Kind::Greatest => by_order(Intrinsic::Max),
        }
    };
    while values.len() > 1 {
        let pairs = values.chunks(2);
        values = pairs
            .map(|pair| match pair {
                [a, b] => two(a, b),
                _ => pair[0].clone(),
            })
            .collect();
    }
    values.swap_remove(0)
}

/// The addends of a variable while a loop is traced.
pub(super) struct Pending<'b> {
    kind: Kind,
    /// The number of conditions outside the loop.
    conditions: usize,
    /// The addends of each part of the variable. The key is the part's first wire and its number of
    /// wires.
    parts: BTreeMap<(usize, usize), Part<'b>>,
}

impl<'b> Pending<'b> {
    pub(super) fn new(kind: Kind, conditions: usize) -> Self {
        Self {
            kind,
            conditions,
            parts: BTreeMap::new(),
        }
    }
}

/// The addends of one turn for a part of a variable.
pub(super) struct TurnAddends<'b> {
    /// The part: its first wire and its number of wires.
    pub(super) place: (usize, usize),
    pub(super) ty: TypeId,
    pub(super) addends: Vec<Bits<'b>>,
    /// The constants of a sum, added up.
    pub(super) constant: Vec<bool>,
}

impl<'b> Pending<'b> {
    /// Returns the addends of one turn that was traced in a component, which does not add them up.
    pub(super) fn into_addends(self) -> impl Iterator<Item = TurnAddends<'b>> {
        self.parts.into_iter().map(|(place, part)| TurnAddends {
            place,
            ty: part.ty,
            addends: part.levels.into_iter().flatten().collect(),
            constant: part.constant,
        })
    }
}

/// The addends of many turns of a loop of calls for a part of a variable, as far as they are added
/// up.
pub(super) struct ManyAddends<'b> {
    /// The part: its first wire and its number of wires.
    pub(super) place: (usize, usize),
    pub(super) ty: TypeId,
    /// The remaining addends, with the level of each.
    pub(super) addends: Vec<(usize, Bits<'b>)>,
    /// The constants of one turn of a sum, added up.
    pub(super) constant: Vec<bool>,
}

/// Returns the component that adds up 64 addends of `width` bits, for a sum of `most` bits.
pub(super) fn tree_of(kind: Kind, ty: TypeId, width: usize, most: usize) -> Tree {
    Tree {
        kind,
        ty,
        count: MOST_ADDENDS,
        width,
        result: result_bits(kind, width, most),
    }
}

/// Returns the number of bits of a tree's result. Sums have whole bytes, so that the function does
/// not hold them in elements of single bits.
fn result_bits(kind: Kind, width: usize, most: usize) -> usize {
    match kind {
        Kind::Sum => (width + 6).min(most).next_multiple_of(8),
        _ => width,
    }
}

/// The addends of a part of a variable.
struct Part<'b> {
    ty: TypeId,
    /// The addends that wait for others, by level.
    levels: Vec<Vec<Bits<'b>>>,
    /// The constants of a sum, added up.
    constant: Vec<bool>,
}

impl<'b, 'p> Tracer<'b, 'p> {
    /// Records and returns the variables that a loop adds up, or none if it is not order-free.
    /// Variables that an outer loop adds up are judged with that loop.
    pub(super) fn order_free(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        each: &'p Loop,
    ) -> Vec<Variable> {
        if self.program.form != CircuitForm::Shallow {
            return Vec::new();
        }
        let judged = self.judged.entry(std::ptr::from_ref(each));
        let judged = judged.or_insert_with(|| Rc::new(Judged::of(each))).clone();
        if !judged.chains.is_empty() {
            return Vec::new();
        }
        let sums = judged.sums.iter();
        let sums = sums.filter(|(variable, _)| !frame.pending.contains_key(variable));
        let sums: Vec<(Variable, Kind)> = sums.map(|(variable, kind)| (*variable, *kind)).collect();
        for &(variable, kind) in &sums {
            let pending = Pending::new(kind, frame.conditions.len());
            frame.pending.insert(variable, pending);
        }
        sums.into_iter().map(|(variable, _)| variable).collect()
    }

    /// Adds `addend` to parts of a variable. Each part has its own condition, in addition to the
    /// surrounding ones.
    pub(super) fn add(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        variable: Variable,
        addition: Addition<'p>,
        parts: &[(usize, Option<Bit<'b>>)],
        addend: &Bits<'b>,
    ) -> Lower<()> {
        let mut pending = frame
            .pending
            .remove(&variable)
            .expect("a variable that is summed up");
        let around = frame.conditions[pending.conditions..].iter().copied();
        let around: Option<Bit<'b>> = around.reduce(|a, b| a & b);
        for &(start, condition) in parts {
            let conditions = [around, condition].into_iter().flatten();
            let condition = conditions.reduce(|a, b| a & b);
            let ty = addition.addend.ty;
            let part = pending.parts.entry((start, addend.len()));
            let part = part.or_insert_with(|| Part::new(ty));
            let neutral = self.neutral(pending.kind, ty, addend.len());
            let addend = match condition {
                Some(condition) => self.operators().select(condition, addend, &neutral),
                None => addend.clone(),
            };
            let addend = match pending.kind {
                Kind::Sum => part.without_constants(addend, addition.is_subtracted),
                _ => addend,
            };
            if !addend.is_empty() {
                self.push(pending.kind, part, 0, addend, addition.addend.span);
            }
        }
        frame.pending.insert(variable, pending);
        self.check_gates(0, addition.addend.span)
    }

    /// Assigns the sum of the addends to a variable.
    pub(super) fn give_sum(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        variable: Variable,
        span: Span,
    ) -> Lower<()> {
        let pending = frame
            .pending
            .remove(&variable)
            .expect("a variable that is summed up");
        for ((start, width), mut part) in pending.parts {
            let before = self.wires(frame, variable)[start..start + width].to_vec();
            match pending.kind {
                Kind::Sum => {
                    let before = part.without_constants(before, false);
                    if !before.is_empty() {
                        self.push(pending.kind, &mut part, 0, before, span);
                    }
                }
                _ => self.push(pending.kind, &mut part, 0, before, span),
            }
            let total = self.total(pending.kind, part, width, span);
            self.write(frame, variable, start, &total);
        }
        self.check_gates(0, span)
    }

    /// Assigns the sum over `turns` turns of a loop of calls to a variable.
    pub(super) fn give_many(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        (variable, kind): (Variable, Kind),
        turns: u64,
        parts: Vec<ManyAddends<'b>>,
        span: Span,
    ) -> Lower<()> {
        let mut pending = Pending::new(kind, frame.conditions.len());
        for many in parts {
            let mut part = Part::new(many.ty);
            part.constant = times(&many.constant, turns);
            for (level, addend) in many.addends {
                while part.levels.len() <= level {
                    part.levels.push(Vec::new());
                }
                self.push(kind, &mut part, level, addend, span);
            }
            pending.parts.insert(many.place, part);
        }
        frame.pending.insert(variable, pending);
        self.give_sum(frame, variable, span)
    }

    /// Returns the neutral value.
    fn neutral(&self, kind: Kind, ty: TypeId, width: usize) -> Bits<'b> {
        let is_signed = !matches!(self.program.types.kind(ty), TypeKind::Unsigned(_));
        let bit = |place| match kind {
            Kind::Sum | Kind::Parity | Kind::Any => false,
            Kind::All => true,
            Kind::Least => !is_signed || place + 1 < width,
            Kind::Greatest => is_signed && place + 1 == width,
        };
        (0..width)
            .map(|place| self.builder.constant(bit(place)))
            .collect()
    }

    /// Adds an addend of a level, and calls the component of the level once there are enough.
    fn push(&mut self, kind: Kind, part: &mut Part<'b>, level: usize, addend: Bits<'b>, at: Span) {
        if part.levels.len() == level {
            part.levels.push(Vec::new());
        }
        part.levels[level].push(addend);
        if part.levels[level].len() == MOST_ADDENDS && self.calls_components() {
            self.call_tree(kind, part, level, at);
        }
    }

    /// Turns the addends of a level into addends of the next level.
    fn call_tree(&mut self, kind: Kind, part: &mut Part<'b>, level: usize, span: Span) {
        let addends = std::mem::take(&mut part.levels[level]);
        let width = addends.iter().map(Vec::len).max().unwrap_or(0);
        let result = result_bits(kind, width, part.width(width + 6));
        let tree = Tree {
            kind,
            ty: part.ty,
            count: addends.len(),
            width,
            result,
        };
        let zero = self.builder.constant(false);
        let filled = addends.into_iter().flat_map(|mut addend| {
            addend.resize(width, zero);
            addend
        });
        let given = vec![filled.collect()];
        let results = self.called(Called::Tree(tree), given, tree.results() * result, span);
        for value in results.chunks(result) {
            self.push(kind, part, level + 1, value.to_vec(), span);
        }
    }

    fn total(&mut self, kind: Kind, mut part: Part<'b>, width: usize, span: Span) -> Bits<'b> {
        let fewest = if kind == Kind::Sum { 2 } else { 1 };
        for level in 0.. {
            // Gates add up the addends of the last level.
            if part.levels.iter().skip(level + 1).all(Vec::is_empty) {
                part.levels.truncate(level + 1);
                break;
            }
            if part.levels[level].len() > fewest {
                self.call_tree(kind, &mut part, level, span);
            } else {
                let rest = std::mem::take(&mut part.levels[level]);
                for addend in rest {
                    self.push(kind, &mut part, level + 1, addend, span);
                }
            }
        }
        let mut addends = part.levels.pop().unwrap_or_default();
        let operators = self.operators();
        if kind != Kind::Sum {
            return combined(operators, kind, part.ty, addends);
        }
        let constant = part.constant.iter().map(|bit| self.builder.constant(*bit));
        if part.constant.contains(&true) {
            addends.push(constant.collect());
        }
        let zero = self.builder.constant(false);
        if addends.len() > 2 {
            addends = two_of_sum(self.builder, &addends, width).into();
        }
        addends
            .iter_mut()
            .for_each(|addend| addend.resize(width, zero));
        if addends.is_empty() {
            return vec![zero; width];
        }
        combined(operators, kind, part.ty, addends)
    }
}

/// Returns a number times another, modulo 2^width for the width of the first.
fn times(number: &[bool], times: u64) -> Vec<bool> {
    let mut sum = vec![false; number.len()];
    for place in (0..64).filter(|place| times >> place & 1 == 1) {
        let mut carry = false;
        for (to, from) in (place..number.len())
            .enumerate()
            .map(|(from, to)| (to, from))
        {
            let (a, b) = (sum[to], number[from]);
            sum[to] = a ^ b ^ carry;
            carry = a & b | carry & (a | b);
        }
    }
    sum
}

impl<'b> Part<'b> {
    fn new(ty: TypeId) -> Self {
        Self {
            ty,
            levels: Vec::new(),
            constant: Vec::new(),
        }
    }

    /// Limits a width to that of the sum.
    fn width(&self, otherwise: usize) -> usize {
        match self.constant.len() {
            0 => otherwise,
            width => width,
        }
    }

    /// Returns the bits of a number without constant bits on top, negated if the number is
    /// subtracted. The difference goes into the constant. Nothing is left of a constant number.
    fn without_constants(&mut self, mut number: Bits<'b>, is_subtracted: bool) -> Bits<'b> {
        let width = number.len();
        self.constant.resize(width, false);
        if is_subtracted {
            number.iter_mut().for_each(|bit| *bit = !*bit);
            self.add_constant(0, true);
        }
        let Some(&top) = number.last() else {
            return number;
        };
        let rest = number
            .iter()
            .rev()
            .take_while(|bit| bit.literal() == top.literal());
        let low = width - rest.count();
        match top.as_constant() {
            Some(true) => {
                number.truncate(low);
                self.add_constant(low, false);
            }
            Some(false) => number.truncate(low),
            // One bit of the sign replaces two or more.
            None if low + 1 < width => {
                number.truncate(low + 1);
                number[low] = !top;
                self.add_constant(low, false);
            }
            None => {}
        }
        if number.iter().all(|bit| bit.as_constant().is_some()) {
            for (place, bit) in number.drain(..).enumerate() {
                if bit.as_constant() == Some(true) {
                    self.add_constant(place, true);
                }
            }
        }
        number
    }

    /// Adds 2^`place` to the constant, or subtracts it.
    fn add_constant(&mut self, place: usize, is_added: bool) {
        for bit in self.constant.iter_mut().skip(place) {
            *bit = !*bit;
            if *bit == is_added {
                return;
            }
        }
    }
}
