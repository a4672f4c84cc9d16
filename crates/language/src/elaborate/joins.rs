//! The pairs of a join: its tables, the type of a pair, and the operations allowed on pairs.

mod fields;
mod guard;
mod keys;
mod rule;

use tacit_function::join::{JoinSide, MAX_ROWS_OF_KEY, Sizes, TooLarge, Widths, cheaper_placer};

use super::{Binding, Context, Done, Elaborator, Surroundings};
use crate::diagnostic::{Diagnostic, Reported};
use crate::program::{
    Body, Function, GenericValue, InputPort, Join, JoinKeyField, LocalId, Number, OutputPort,
    StructType, TypeId, TypeKind,
};
use crate::source::{Span, Symbol};
use crate::syntax::{self, Ident, Input, JoinedTable, TypeExpressionKind};

pub(super) use guard::guard;

/// The help for pairs that are read in a way that is not allowed.
const HOW_TO_READ: &str = "write `for p in pairs { … }` as a statement, or `[for p in pairs { … \
                           }]` \
                           as a result to one party: pairs come in no order that may show";

/// A join whose pairs have not been checked yet.
pub(super) struct Joined {
    tables: [usize; 2],
    rows: [TypeId; 2],
    pair: TypeId,
    key: [Vec<JoinKeyField>; 2],
    most_rows_of_key: u32,
    keys: [u64; 2],
    span: Span,
}

impl<'a> Elaborator<'a> {
    /// Returns the type of a table that is joined, `[Row; ..N]`, which may be longer than other
    /// values.
    pub(super) fn joined_type(&mut self, input: &'a Input) -> Done<TypeId> {
        let name = &input.name.name;
        let TypeExpressionKind::Table(row, size) = &input.ty.kind else {
            let message = format!("`{name}` is joined, and is no table");
            let error = Diagnostic::new(input.ty.span, message);
            return self.fail(error.help("a table of at most N rows is `[Row; ..N]`"));
        };
        let row_type = self.ty(row)?;
        if !matches!(self.program.types.kind(row_type), TypeKind::Struct(_)) {
            let message = format!("the rows of `{name}` are no structs");
            let error = Diagnostic::new(row.span, message);
            return self.fail(error.help("declare `struct Row { id: u64 }`, which names the key"));
        }
        if let Some(sorted) = &input.sorted {
            let error = Diagnostic::new(sorted.span, "the rows of a joined table have no order");
            return self.fail(error.help("remove `sorted`"));
        }
        if input.owner.is_none() {
            let error = Diagnostic::new(input.name.span, "a table that is joined has an owner");
            return self.fail(error.help("write `of` and a party's name in place of `public`"));
        }
        let size = self.size(size, 0)?;
        Ok(self.program.types.add(TypeKind::Table(row_type, size)))
    }

    /// Checks the tables and keys of a join.
    pub(super) fn joined(&mut self, join: &'a syntax::Join, inputs: &[InputPort]) -> Done<Joined> {
        if !self.program.states.is_empty() {
            let error = Diagnostic::new(join.span, "a program with states joins no tables");
            return self.fail(error.help("join them in a program of its own"));
        }
        let left = self.table(&join.left.table, inputs)?;
        let right = self.table(&join.right.table, inputs)?;
        if inputs[left].owner == inputs[right].owner {
            let message = if left == right {
                "a table is joined with itself"
            } else {
                "two tables of one party are joined"
            };
            let error = Diagnostic::new(join.span, message);
            return self.fail(error.help("a join is of two tables of different parties"));
        }
        let most_rows_of_key = self.upto(join)?;
        let tables = [left, right];
        let elements = tables.map(|table| match *self.program.types.kind(inputs[table].ty) {
            TypeKind::Table(row, size) => (row, size),
            _ => unreachable!("a joined input is a table"),
        });
        let size = elements[1].1;
        if !size.is_multiple_of(most_rows_of_key) {
            let name = &join.right.table.name;
            let message = format!(
                "`{name}` has {size} rows at most, which is no multiple of the {most_rows_of_key} \
                 of each key"
            );
            let error = Diagnostic::new(join.right.table.span, message);
            return self.fail(error.help("declare it as `[Row; ..D * M]`, for M keys"));
        }
        let (left, right) = (&join.left, &join.right);
        let key = [
            self.key(left, elements[0].0)?,
            self.key(right, elements[1].0)?,
        ];
        self.same_keys(join, elements.map(|(row, _)| row), &key)?;
        let rows = [
            self.row_in_pair(&join.left, elements[0].0, 1)?,
            self.row_in_pair(&join.right, elements[1].0, 2)?,
        ];
        let pair = self.pair(rows, most_rows_of_key);
        Ok(Joined {
            tables,
            rows,
            pair,
            key,
            most_rows_of_key,
            keys: [elements[0].1, size / most_rows_of_key].map(u64::from),
            span: join.span,
        })
    }

    /// Returns the number of the input `name`.
    fn table(&mut self, name: &Ident, inputs: &[InputPort]) -> Done<usize> {
        match inputs.iter().position(|input| input.name == name.name) {
            Some(number) => Ok(number),
            None => {
                let message = format!("`main` has no input `{}`", name.name);
                let error = Diagnostic::new(name.span, message);
                self.fail(
                    error.help("a join is of two inputs: `people: [Person; ..N] of registry`"),
                )
            }
        }
    }

    fn upto(&mut self, join: &'a syntax::Join) -> Done<u32> {
        let Some(upto) = &join.upto else {
            return Ok(1);
        };
        let context = Context::new(self.loaded.root(), Surroundings::Constant);
        let (number, _) = self.within(context, |this| this.const_integer(upto, "`upto`"));
        let number = number?;
        let found = u32::try_from(&number).ok();
        match found.filter(|found| (2..=MAX_ROWS_OF_KEY as u32).contains(found)) {
            Some(found) => Ok(found),
            None => {
                let message = format!("`upto {number}`, where it is from 2 to {MAX_ROWS_OF_KEY}");
                let error = Diagnostic::new(upto.span, message);
                self.fail(error.help("without `upto`, each key stands once in both tables"))
            }
        }
    }

    fn fields_of(&self, row: TypeId) -> Vec<(Symbol, TypeId)> {
        self.program.types.named_fields(row).to_vec()
    }

    /// Returns the type of a table's row in a pair. It lacks fields without a fixed length, which
    /// are only keys.
    fn row_in_pair(&mut self, table: &JoinedTable, row: TypeId, number: u32) -> Done<TypeId> {
        let fields = self.fields_of(row);
        if !self.program.types.is_open(row) {
            return Ok(row);
        }
        for (name, ty) in &fields {
            let is_key = table.key.iter().any(|part| part.field.name == *name);
            if self.program.types.is_open(*ty) && !is_key {
                let message = format!("`{name}` has no length, and is no part of the key");
                let error = Diagnostic::new(table.table.span, message);
                return self.fail(error.help(format!(
                    "give it one, such as `{name}: text<64>`, or join by it"
                )));
            }
        }
        let kept = fields.into_iter();
        let kept = kept.filter(|(_, ty)| !self.program.types.is_open(*ty));
        let (name, fields) = (self.type_name(row), kept.collect());
        Ok(self.made_struct(&name, number, fields))
    }

    fn pair(&mut self, [left, right]: [TypeId; 2], most_rows_of_key: u32) -> TypeId {
        let right = match most_rows_of_key {
            1 => right,
            most => self.program.types.add(TypeKind::Table(right, most)),
        };
        let matched = self.program.types.bool();
        let fields = [("matched", matched), ("left", left), ("right", right)];
        let fields = fields.map(|(name, ty)| (Symbol::new(name), ty));
        self.made_struct("Pair", 0, fields.into())
    }

    /// Creates a struct that no item declares.
    fn made_struct(&mut self, name: &str, number: u32, fields: Vec<(Symbol, TypeId)>) -> TypeId {
        let main = self.loaded.items().iter().position(
            |item| matches!(&item.kind, syntax::ItemKind::Entry(entry) if entry.join.is_some()),
        );
        let item = (self.loaded.root(), main.unwrap_or(0) as u32);
        let key = (item, vec![GenericValue::Number(number.into())]);
        let ty = StructType {
            name: Symbol::new(name),
            generics: Vec::new(),
            fields,
            is_maybe: false,
        };
        self.program.types.add_struct(key, ty)
    }

    /// Binds the name of the pairs to the variable that holds them.
    pub(super) fn bind_pairs(&mut self, join: &syntax::Join, joined: &Joined) -> LocalId {
        let ty = self.program.types.add(TypeKind::Array(joined.pair, 0));
        let local = self.local(join.name.name.clone(), ty);
        self.bind(join.name.name.clone(), Binding::Pairs(local, joined.pair));
        local
    }

    /// Returns the pairs that an expression names, and the type of one pair.
    pub(super) fn pairs_named(&self, of: &syntax::Expression) -> Option<(LocalId, TypeId)> {
        let syntax::ExpressionKind::Path(path) = &of.kind else {
            return None;
        };
        match self.binding(path.as_name()?.as_str())? {
            Binding::Pairs(local, ty) => Some((*local, *ty)),
            _ => None,
        }
    }

    /// Reports a joined table, or its pairs, in the place of a value.
    pub(super) fn no_value(&mut self, name: &Ident) -> Reported {
        let is_table = matches!(self.binding(name.as_str()), Some(Binding::Table));
        let name_text = &name.name;
        let error = if is_table {
            Diagnostic::new(
                name.span,
                format!("`{name_text}` is joined, and nothing else reads it"),
            )
            .help("its rows are `left` or `right` of the pairs")
        } else {
            let message = format!("`{name_text}` has no index, length or order");
            Diagnostic::new(name.span, message).help(HOW_TO_READ)
        };
        self.report(error)
    }

    /// Reports `[for p in pairs { … }]` in a place that is not a result.
    pub(super) fn not_by_pair<T>(&mut self, span: Span) -> Done<T> {
        let message = "a value for each pair is a result, and nothing else";
        let error = Diagnostic::new(span, message);
        self.fail(error.help(
            "declare a result `[T; N] to` the owner of a table of N rows, and write this as its \
             value",
        ))
    }

    /// Completes the join of a `main` whose body is made: the fields that it reads, the party that
    /// places, and the number of pairs, which is passed on to the loops over pairs.
    pub(super) fn finished(
        &mut self,
        joined: Joined,
        inputs: &[InputPort],
        outputs: &[OutputPort],
        function: &mut Function,
    ) -> Done<Join> {
        let pairs = *function
            .parameters
            .last()
            .expect("pairs are the last parameter");
        let by_pair = match rule::check(function, outputs.len()) {
            Ok(by_pair) => by_pair,
            Err(error) => return self.fail(error),
        };
        let read = fields::read(&self.program.types, function, pairs, &joined.rows);
        let placer = match by_pair {
            Some(number) => Some(self.recipient(&joined, inputs, &outputs[number])?),
            None if joined.most_rows_of_key > 1 => Some(JoinSide::Left),
            None => None,
        };
        let bits = [0, 1].map(|side| {
            let fields = self.program.types.fields(joined.rows[side]);
            let read = read[side].iter();
            let widths = read.map(|field| self.program.types.width(fields[*field as usize]));
            widths.sum::<u64>() as u32
        });
        let sizes = match placer {
            None => cheaper_placer(joined.keys, bits),
            Some(side) => {
                let (mine, other) = (Join::place(side), Join::place(side.other()));
                let widths = Widths {
                    placer_bits: bits[mine],
                    programmer_bits: bits[other],
                };
                let upto = u64::from(joined.most_rows_of_key);
                let sizes = Sizes::of(joined.keys[mine], joined.keys[other], upto, widths);
                sizes.map(|sizes| (side, sizes))
            }
        };
        let (placer, sizes) = match sizes {
            Ok(found) => found,
            Err(error) => {
                let text = format!("the join is too large: {error}");
                return self.fail(Diagnostic::new(joined.span, text).help(help(&error)));
            }
        };
        let bins = u32::try_from(sizes.all_bins()).expect("at most 2^27 bins");
        let local = &mut function.locals[pairs.0 as usize];
        let name = local.name.clone();
        local.ty = self.program.types.add(TypeKind::Array(joined.pair, bins));
        if let Body::Block(block) = &mut function.body {
            let count = Number::Constant(bins.into());
            guard::each_loop(&mut block.statements, &mut |each| each.to = count.clone());
        }
        Ok(Join {
            name,
            tables: joined.tables,
            pairs,
            pair: joined.pair,
            rows: joined.rows,
            key: joined.key,
            most_rows_of_key: joined.most_rows_of_key,
            keys: joined.keys,
            read,
            placer,
            sizes,
            most_span_bins: u64::MAX,
            by_pair,
            span: joined.span,
        })
    }

    /// Returns the side of the party that gets a result with an element for each pair.
    fn recipient(
        &mut self,
        joined: &Joined,
        inputs: &[InputPort],
        output: &OutputPort,
    ) -> Done<JoinSide> {
        let owners = joined.tables.map(|table| inputs[table].owner);
        let name = &output.name;
        let Some(to) = output.to else {
            let message = format!("`{name}` has a value for each pair, and goes to both");
            let error = Diagnostic::new(joined.span, message);
            return self.fail(
                error.help(
                    "give it to one party: the other would see which of its rows stand where",
                ),
            );
        };
        let side = if owners[0] == Some(to) {
            JoinSide::Left
        } else {
            JoinSide::Right
        };
        if side == JoinSide::Right && joined.most_rows_of_key > 1 {
            let party = self.program.parties[to].clone();
            let message = format!("`{name}` has a value for each pair, and goes to `{party}`");
            let error = Diagnostic::new(joined.span, message);
            return self.fail(error.help(
                "with `upto`, only the owner of the left table gets one: give it the result, or \
                 swap the tables",
            ));
        }
        let table = joined.tables[Join::place(side)];
        let rows = match *self.program.types.kind(inputs[table].ty) {
            TypeKind::Table(_, rows) => rows,
            _ => 0,
        };
        let expected = match *self.program.types.kind(output.ty) {
            TypeKind::Array(element, _) => self.program.types.add(TypeKind::Array(element, rows)),
            _ => output.ty,
        };
        if expected == output.ty {
            return Ok(side);
        }
        let message = format!(
            "`{name}` has a value for each row of `{}`, and is a `{}`",
            inputs[table].name,
            self.type_name(output.ty)
        );
        let error = Diagnostic::new(joined.span, message);
        let help = format!("declare it as `{}`", self.type_name(expected));
        self.fail(error.help(help))
    }

    /// Reports values without a fixed length outside of the tables of a join.
    pub(super) fn check_open_types(&mut self) {
        if !self.errors.is_empty() {
            return;
        }
        let types = &self.program.types;
        let mut found = Vec::new();
        for function in &self.program.functions {
            let locals = function.parameters.iter();
            let mut locals = locals.map(|local| &function.locals[local.0 as usize]);
            let is_main = self.program.entries.iter().any(|entry| {
                entry.join.is_some()
                    && self.program.functions[entry.function.0 as usize].span == function.span
            });
            if !is_main
                && (locals.any(|local| types.is_open(local.ty)) || types.is_open(function.result))
            {
                found.push(function.span);
                continue;
            }
            function.expressions(&mut |expression| {
                if types.is_open(expression.ty) {
                    found.push(expression.span);
                }
            });
        }
        if let Some(span) = found.first() {
            let error = Diagnostic::new(*span, "a value of no length");
            self.report(error.help(
                "only a table that `main` joins has `text` or `bytes` without a length, as its \
                 key: write `text<64>` or `bytes<16>`",
            ));
        }
    }
}

/// Returns what to do about a join that is too large.
fn help(error: &TooLarge) -> &'static str {
    match error {
        TooLarge::Hint { .. } => {
            "read fewer fields of pairs, lower `upto`, or lower the params that are the tables' \
             sizes, or the greatest values of their ranges"
        }
        _ => "lower the params that are the tables' sizes, or the greatest values of their ranges",
    }
}
