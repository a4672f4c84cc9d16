//! Tests: a program with a test's params, and what the test does.

use num_traits::ToPrimitive;

use super::constants::no_param;
use super::{Context, Elaborator, ParamValues, Surroundings};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::load::Loaded;
use crate::program::{Function, FunctionId, Program};
use crate::syntax::{Ident, ItemKind, TestItem};

/// A test and the program with its params.
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
    if !reader.errors.is_empty() {
        return Err(reader.errors);
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

impl Elaborator<'_> {
    /// The param that a test names.
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
