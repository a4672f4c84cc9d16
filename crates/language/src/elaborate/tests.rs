//! Tests: a program with a test's params, and the body of the test.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::constants::{counted_table, no_param};
use super::term::Term;
use super::{Context, Done, Elaborator, ParamValues, Surroundings};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::load::Loaded;
use crate::program::{Function, FunctionId, Program, TypeKind};
use crate::source::{Span, Symbol};
use crate::syntax::{Expression, Ident, ItemKind, TestItem};

/// A test and the program with the test's params.
#[derive(Clone, Debug)]
pub(crate) struct TestProgram {
    pub(crate) program: Program,
    pub(crate) function: FunctionId,
    pub(crate) seed: u64,
}

pub(super) fn test_program(
    loaded: &Loaded,
    given: &ParamValues,
    test: &TestItem,
) -> Result<TestProgram, Diagnostics> {
    let mut values = given.clone();
    let mut seed = 0;
    let none = ParamValues::new();
    let mut reader = Elaborator::new(loaded, &none);
    for (name, value) in &test.with {
        let Ok(number) = reader.const_integer(value, "what a test is run with") else {
            continue;
        };
        if name.as_str() == "seed" {
            match number.to_u64() {
                Some(number) => seed = number,
                None => {
                    let error = Diagnostic::new(value.span, "a seed is from 0 to 2^64 - 1");
                    reader.report(error);
                }
            }
        } else if reader.param_named(name).is_some() {
            values.insert(name.as_str().to_owned(), number);
        }
    }
    let open = reader.open_params(&values);
    if !reader.errors.is_empty() {
        return Err(reader.errors);
    }
    if !open.is_empty() {
        let lengths = lengths_of_tables(loaded, &values, test);
        for (param, table, minimum) in open {
            if let Some(length) = lengths.get(&table) {
                values.insert(param, BigInt::from(*length).max(minimum));
            }
        }
    }
    let mut elaborator = Elaborator::new(loaded, &values);
    elaborator.keeps_debug = true;
    elaborator.program();
    if !elaborator.errors.is_empty() {
        return Err(elaborator.errors);
    }
    let context = Context::new(loaded.root(), Surroundings::Test);
    let unit = elaborator.program.types.unit();
    let (body, context) = elaborator.within(context, |this| this.body(&test.body, unit, false));
    elaborator.make_all();
    if let Ok(body) = body {
        let function = Function {
            name: test.name.clone(),
            is_component: false,
            parameters: Vec::new(),
            sorted: Vec::new(),
            result_sorted: None,
            locals: context.locals,
            counters: context.counters,
            result: unit,
            body,
            span: test.name_span,
        };
        elaborator.program.functions.push(function);
        elaborator.check_recursion();
        elaborator.check_made();
    }
    let function = FunctionId(elaborator.program.functions.len() as u32 - 1);
    let program = elaborator.finish()?;
    Ok(TestProgram {
        program,
        function,
        seed,
    })
}

/// Returns the greatest number of rows that a test gives to each joined table, by the names of the
/// inputs.
fn lengths_of_tables(
    loaded: &Loaded,
    values: &ParamValues,
    test: &TestItem,
) -> BTreeMap<Symbol, u64> {
    let mut probe = Elaborator::new(loaded, values);
    probe.keeps_debug = true;
    probe.program();
    probe.table_lengths = Some(BTreeMap::new());
    let context = Context::new(loaded.root(), Surroundings::Test);
    let unit = probe.program.types.unit();
    // The same errors are reported again once the sizes are known.
    let _ = probe.within(context, |this| this.body(&test.body, unit, false));
    probe.table_lengths.unwrap_or_default()
}

impl<'a> Elaborator<'a> {
    /// Returns the params without a value that are sizes of joined tables. Each comes with its
    /// table and its least value.
    fn open_params(&mut self, values: &ParamValues) -> Vec<(String, Symbol, BigInt)> {
        let items = self.loaded.items().iter();
        let open = items.filter_map(|item| match &item.kind {
            ItemKind::Param(param) => {
                let (_, table) = counted_table(param.default.as_ref()?)?;
                Some((param, table.name.clone()))
            }
            _ => None,
        });
        let open: Vec<_> = open.collect();
        let mut found = Vec::new();
        for (param, table) in open {
            let name = param.name.as_str().to_owned();
            if !values.contains_key(&name)
                && let Ok(minimum) = self.const_integer(&param.from, "the least value of a param")
            {
                found.push((name, table, minimum));
            }
        }
        found
    }

    /// While the lengths of tables are requested, records the number of rows that a test gives to
    /// each input, and stops there.
    pub(super) fn note_lengths(
        &mut self,
        names: &[&Symbol],
        given: &[&'a Expression],
        span: Span,
    ) -> Done<()> {
        if self.table_lengths.is_none() {
            return Ok(());
        }
        for (name, argument) in names.iter().zip(given) {
            let term = self.expression(argument, None)?;
            self.note_length(name, &term);
        }
        self.fail(Diagnostic::new(span, "the sizes of tables are asked for"))
    }

    fn note_length(&mut self, input: &Symbol, term: &Term) {
        let Some(lengths) = &mut self.table_lengths else {
            return;
        };
        let length = match term {
            Term::List(parts, _) => parts.len() as u64,
            term => match term.ty().map(|ty| self.program.types.kind(ty)) {
                Some(TypeKind::Array(_, n) | TypeKind::Table(_, n)) => u64::from(*n),
                _ => return,
            },
        };
        let most = lengths.entry(input.clone()).or_default();
        *most = length.max(*most);
    }

    /// Checks that a param named by a test exists.
    fn param_named(&mut self, name: &Ident) -> Option<()> {
        let items = self.loaded.items().iter();
        let params = items.filter_map(|item| match &item.kind {
            ItemKind::Param(param) => Some(param.name.as_str()),
            _ => None,
        });
        let names: Vec<&str> = params.collect();
        if names.contains(&name.as_str()) {
            return Some(());
        }
        self.report(no_param(name.span, name.as_str(), &names));
        None
    }
}
