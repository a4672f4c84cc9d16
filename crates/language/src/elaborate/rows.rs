//! Warnings about items behind a table's length. They are zero and stand for no row, so that
//! `for x in a.items { n += 1; }` counts too many and `min` finds a zero.
//!
//! There is a warning about a loop that reads `a.items`, and about `a.items` that is passed to a
//! function as a whole, unless something there reads `a.len`, or a variable that was computed from
//! it. There is none about a loop in which zero rows change nothing, such as a sum.

use std::collections::{HashMap, HashSet};

use super::zeros::{Changes, gives_zero};
use crate::diagnostic::Diagnostic;
use crate::load::Loaded;
use crate::program::{
    Body, Expression, ExpressionKind as K, Function, LocalId, Program, Root, Statement,
    StatementKind, Step, TypeKind, ValuePath, Visit, in_expression, in_statement,
};
use crate::source::Span;

/// Returns the warnings about a program's own functions.
pub(super) fn warnings(program: &Program, loaded: &Loaded) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for function in &program.functions {
        let Body::Block(block) = &function.body else {
            continue;
        };
        if loaded.is_std(function.span.file) {
            continue;
        }
        let mut walk = RowCheck {
            program,
            function,
            names: HashMap::new(),
            lengths: HashMap::new(),
            padded: HashMap::new(),
            seen: Seen::default(),
            loops: 0,
            bound_in: HashMap::new(),
            found: Vec::new(),
        };
        walk.block(block);
        found.append(&mut walk.found);
    }
    found
}

/// A table, or the items of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Table {
    /// The variable that it is in, and the fields that lead to it. An element is `ELEMENT`.
    local: LocalId,
    path: Vec<u32>,
}

const ELEMENT: u32 = u32::MAX;
const LEN: u32 = 0;

#[derive(Clone, Debug)]
enum Named {
    /// A variable that is in the table.
    Within(Table),
    Items(Table),
}

/// A place in a table.
enum Place {
    Table(Table),
    Length(Table),
    /// Items, and whether it is all of them.
    Items(Table, bool),
}

/// The items and lengths that a part of a program reads.
#[derive(Default)]
struct Seen {
    items: Vec<(Table, Span)>,
    lengths: HashSet<Table>,
}

impl Seen {
    fn add(&mut self, other: Self) {
        self.items.extend(other.items);
        self.lengths.extend(other.lengths);
    }

    /// Returns the first place where items are read and the table's length is not.
    fn unguarded(&self) -> Option<&(Table, Span)> {
        let mut items = self.items.iter();
        items.find(|(table, _)| !self.lengths.contains(table))
    }
}

struct RowCheck<'p> {
    program: &'p Program,
    function: &'p Function,
    /// The variables that stand for a place in a table.
    names: HashMap<LocalId, Named>,
    /// The tables from whose lengths variables were computed.
    lengths: HashMap<LocalId, HashSet<Table>>,
    /// The comprehensions that hold zeros for missing rows.
    padded: HashMap<*const Expression, Table>,
    seen: Seen,
    loops: u32,
    /// The number of loops around the place where a variable is bound.
    bound_in: HashMap<LocalId, u32>,
    found: Vec<Diagnostic>,
}

impl<'p> Visit<'p> for RowCheck<'p> {
    fn statement(&mut self, of: &'p Statement) {
        match &of.kind {
            StatementKind::Let(local, value) => self.bind(*local, value),
            StatementKind::Assign(place, value) => {
                let seen = self.apart(|walk| walk.expression(value));
                if let Some(local) = place.local() {
                    let lengths = self.lengths.entry(local).or_default();
                    lengths.extend(seen.lengths.iter().cloned());
                }
                self.seen.add(seen);
                self.place(place);
            }
            StatementKind::For(each) => {
                let mut seen = self.turn(|walk| walk.statements(&each.body));
                self.leave_out_changeless(&mut seen, &each.body);
                if let Some((table, span)) = self.unguarded(seen) {
                    let is_zero = |place: &ValuePath| self.is_items(place, &table);
                    if !Changes::of(self.program, &each.body, &is_zero).is_empty() {
                        self.warn_of_loop(&table, span);
                    }
                }
            }
            _ => in_statement(self, of),
        }
    }

    fn expression(&mut self, of: &'p Expression) {
        match &of.kind {
            K::Read(place) => {
                match self.place_in(place) {
                    Some(Place::Items(table, _)) => self.seen.items.push((table, of.span)),
                    Some(Place::Length(table)) => _ = self.seen.lengths.insert(table),
                    _ => {}
                }
                in_expression(self, of);
            }
            K::Comprehension(_, _, element) => {
                let seen = self.turn(|walk| walk.expression(element));
                if let Some((table, span)) = self.unguarded(seen) {
                    let is_zero = |place: &ValuePath| self.is_items(place, &table);
                    if gives_zero(self.program, element, &is_zero) {
                        self.padded.insert(std::ptr::from_ref(of), table);
                    } else {
                        self.warn_of_loop(&table, span);
                    }
                }
            }
            K::Call(_, given) => {
                let seen = self.apart(|walk| in_expression(walk, of));
                for argument in given {
                    if let Some(table) = self.items_of(argument)
                        && self.loops == 0
                        && !seen.lengths.contains(&table)
                    {
                        self.warn_of_argument(&table, argument.span);
                    }
                }
                self.seen.add(seen);
            }
            _ => in_expression(self, of),
        }
    }

    fn place(&mut self, of: &'p ValuePath) {
        match &of.root {
            Root::Value(value) => self.expression(value),
            Root::Local(local) => {
                let lengths = self.lengths.get(local).into_iter().flatten();
                self.seen.lengths.extend(lengths.cloned());
            }
            Root::State(_) => {}
        }
        self.indices(of);
    }
}

impl<'p> RowCheck<'p> {
    /// Returns what a part of the program reads.
    fn apart(&mut self, look: impl FnOnce(&mut Self)) -> Seen {
        let outer = std::mem::take(&mut self.seen);
        look(self);
        std::mem::replace(&mut self.seen, outer)
    }

    fn turn(&mut self, look: impl FnOnce(&mut Self)) -> Seen {
        self.loops += 1;
        let seen = self.apart(look);
        self.loops -= 1;
        seen
    }

    /// Returns a table whose items an outermost loop reads without its length. What an inner loop
    /// reads counts for the outer one.
    fn unguarded(&mut self, seen: Seen) -> Option<(Table, Span)> {
        if self.loops > 0 {
            self.seen.add(seen);
            return None;
        }
        let found = seen.unguarded().cloned();
        self.seen.lengths.extend(seen.lengths);
        found
    }

    /// Removes tables of an outer loop's own turn from what an inner loop reads if their zeros
    /// change nothing in the inner loop: what the outer loop counts is then not their items.
    fn leave_out_changeless(&self, seen: &mut Seen, body: &'p [Statement]) {
        seen.items.retain(|(table, _)| {
            let is_zero = |place: &ValuePath| self.is_items(place, table);
            self.loops == 0
                || !self.is_of_turn(table)
                || !Changes::of(self.program, body, &is_zero).is_empty()
        });
    }

    /// Whether a table is in a variable of the current loop's turn, such as the row of a loop over
    /// rows.
    fn is_of_turn(&self, table: &Table) -> bool {
        let mut locals = self
            .bound_in
            .iter()
            .filter(|(_, loops)| **loops == self.loops);
        locals.any(|(local, _)| match self.names.get(local) {
            Some(Named::Within(whole)) => {
                let is_element = whole.path.contains(&ELEMENT);
                is_element && whole.local == table.local && table.path.starts_with(&whole.path)
            }
            _ => *local == table.local,
        })
    }

    fn bind(&mut self, local: LocalId, value: &'p Expression) {
        self.bound_in.insert(local, self.loops);
        if let K::Read(place) = &value.kind {
            let named = match self.place_in(place) {
                Some(Place::Table(table)) => Some(Named::Within(table)),
                Some(Place::Items(table, true)) => Some(Named::Items(table)),
                _ => None,
            };
            if let Some(named) = named {
                self.place(place);
                self.names.insert(local, named);
                return;
            }
        }
        let seen = self.apart(|walk| walk.expression(value));
        if let Some(table) = self.items_of(value) {
            self.names.insert(local, Named::Items(table));
        }
        self.lengths.insert(local, seen.lengths.clone());
        self.seen.add(seen);
    }

    /// Returns the table if a value is all of its items, or a value for each of them.
    fn items_of(&self, value: &Expression) -> Option<Table> {
        match &value.kind {
            K::Read(place) => match self.place_in(place)? {
                Place::Items(table, true) => Some(table),
                _ => None,
            },
            K::Block(block) => self.items_of(&block.value),
            _ => self.padded.get(&std::ptr::from_ref(value)).cloned(),
        }
    }

    fn is_items(&self, place: &ValuePath, of: &Table) -> bool {
        matches!(self.place_in(place), Some(Place::Items(table, _)) if table == *of)
    }

    /// Returns the place in a table that a path leads to, if it leads into one.
    fn place_in(&self, place: &ValuePath) -> Option<Place> {
        let local = place.local()?;
        let is_whole = |steps: &[Step]| {
            let mut steps = steps.iter();
            !steps.any(|step| matches!(step, Step::At(..) | Step::AtSecret(_) | Step::Slice(..)))
        };
        let mut table = match self.names.get(&local) {
            Some(Named::Items(table)) => {
                return Some(Place::Items(table.clone(), is_whole(&place.path)));
            }
            Some(Named::Within(table)) => table.clone(),
            None => Table {
                local,
                path: Vec::new(),
            },
        };
        let types = &self.program.types;
        let mut ty = self.function.locals[local.0 as usize].ty;
        for (number, step) in place.path.iter().enumerate() {
            let is_table = matches!(types.kind(ty), TypeKind::Table(..));
            match step {
                Step::Field(LEN) if is_table => return Some(Place::Length(table)),
                Step::Field(_) if is_table => {
                    return Some(Place::Items(table, is_whole(&place.path[number + 1..])));
                }
                Step::Field(field) => {
                    table.path.push(*field);
                    ty = *types.fields(ty).get(*field as usize)?;
                }
                Step::At(..) | Step::AtSecret(_) => {
                    table.path.push(ELEMENT);
                    ty = types.element(ty)?.0;
                }
                Step::Slice(..) => return None,
            }
        }
        matches!(types.kind(ty), TypeKind::Table(..)).then_some(Place::Table(table))
    }

    /// Returns the name of a table, for messages.
    fn name(&self, table: &Table) -> String {
        let local = &self.function.locals[table.local.0 as usize];
        let types = &self.program.types;
        let (mut name, mut ty) = (local.name.to_string(), local.ty);
        for field in &table.path {
            let next = match (types.kind(ty), *field) {
                (_, ELEMENT) => {
                    name += "[…]";
                    types.element(ty).map(|(element, _)| element)
                }
                (TypeKind::Struct(number), field) => {
                    let fields = &types.struct_type(*number).fields;
                    fields.get(field as usize).map(|(part, ty)| {
                        name += &format!(".{part}");
                        *ty
                    })
                }
                (_, field) => {
                    name += &format!(".{field}");
                    types.fields(ty).get(field as usize).copied()
                }
            };
            ty = next.unwrap_or(ty);
        }
        if name.is_empty() {
            "a".to_owned()
        } else {
            name
        }
    }

    fn warn_of_loop(&mut self, table: &Table, span: Span) {
        let name = self.name(table);
        let message = format!("this loop counts items of `{name}` that are no rows");
        let warning = Diagnostic::warning(span, message);
        self.found.push(
            warning
                .label(format!("items behind `{name}.len` are zero"))
                .help(format!(
                    "write `for row in {name}`, which has a turn for each row, or look at \
                     `{name}.len` inside: `if i < {name}.len {{ … }}`"
                )),
        );
    }

    fn warn_of_argument(&mut self, table: &Table, span: Span) {
        let name = self.name(table);
        let message = format!("items of `{name}` that are no rows are passed as well");
        let warning = Diagnostic::warning(span, message);
        self.found.push(
            warning
                .label(format!("items behind `{name}.len` are zero"))
                .help(format!(
                    "pass `{name}.len`, too; or `rows({name})` of `std::table`, which \
                     `std::order::median_of` takes; or `with_zeros({name})` where zeros do not \
                     matter"
                )),
        );
    }
}
