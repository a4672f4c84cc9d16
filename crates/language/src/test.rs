//! Tests of a program, run in the clear.

use crate::diagnostic::Diagnostic;
use crate::elaborate::{self, ParamValues, TestProgram};
use crate::interpret::Machine;
use crate::load::Loaded;
use crate::program::Value;
use crate::source::Symbol;
use crate::syntax::{ItemKind, TestItem};

/// Most steps of a test.
const MAX_STEPS: u64 = 1 << 32;

/// What became of a test.
#[derive(Clone, Debug)]
pub struct TestReport {
    /// What the test says.
    pub name: Symbol,
    /// Why it failed; nothing where it passed.
    pub errors: Vec<Diagnostic>,
}

impl Loaded {
    /// Errors of the program and its tests, in the order of their places; none where it is right.
    #[must_use]
    pub fn check(&self, params: &ParamValues) -> Vec<Diagnostic> {
        match elaborate::elaborate(self, params) {
            Err(errors) => errors.into_list(),
            Ok(_) => {
                let failures = self.tests().filter_map(|test| {
                    let program = elaborate::elaborate_test(self, params, test);
                    program.err()
                });
                let mut all = crate::diagnostic::Diagnostics::default();
                for error in failures.flat_map(crate::diagnostic::Diagnostics::into_list) {
                    all.report(error);
                }
                all.into_list()
            }
        }
    }

    /// The program with these params, those that are left out at their defaults.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn program(
        &self,
        params: &ParamValues,
    ) -> Result<crate::program::Program, Vec<Diagnostic>> {
        elaborate::elaborate(self, params).map_err(crate::diagnostic::Diagnostics::into_list)
    }

    /// Runs the tests in order, each on fresh states; `params` are for what a test does not set.
    #[must_use]
    pub fn run_tests(&self, params: &ParamValues) -> Vec<TestReport> {
        self.tests()
            .map(|test| self.run_test(test, params))
            .collect()
    }

    fn tests(&self) -> impl Iterator<Item = &TestItem> {
        self.syntax()
            .items
            .iter()
            .filter_map(|item| match &item.kind {
                ItemKind::Test(test) => Some(test),
                _ => None,
            })
    }

    fn run_test(&self, test: &TestItem, params: &ParamValues) -> TestReport {
        let name = test.name.clone();
        let errors = match elaborate::elaborate_test(self, params, test) {
            Err(errors) => errors.into_list(),
            Ok(of) => run(&of).into_iter().collect(),
        };
        TestReport { name, errors }
    }
}

fn run(test: &TestProgram) -> Option<Diagnostic> {
    let types = &test.program.types;
    let mut machine = Machine::new(&test.program, MAX_STEPS, test.seed);
    let failure = machine.call(test.function, Vec::new()).err()?;
    let mut error = Diagnostic::new(failure.span, failure.message);
    if let Some((left, right, ty)) = &machine.compared {
        let text = |value: &Value| types.value_text(*ty, value);
        error = error.label(format!("left {}, right {}", text(left), text(right)));
    }
    Some(error)
}
