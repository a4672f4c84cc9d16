//! Checks of a program and runs of its tests, in the clear and through the lowered functions.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use tacit_function::join::JoinPlan;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::elaborate::{self, ParamValues, TestProgram};
use crate::interpret::{CompletedRun, MAX_STEPS, Machine, Random, join};
use crate::load::Loaded;
use crate::lower::{CircuitFiles, Lowered, external};
use crate::program::{Body, EntryId, Join, Program, Value};
use crate::source::{Span, Symbol};
use crate::syntax::{ItemKind, TestItem};

/// The result of a test.
#[derive(Clone, Debug)]
pub struct TestReport {
    /// The name of the test.
    pub name: Symbol,
    /// The place of its name.
    pub place: Span,
    /// The reasons that it failed. The list is empty if it passed.
    pub errors: Vec<Diagnostic>,
    /// The first lines that `debug` shows.
    pub debugged: Vec<String>,
}

/// The greatest number of lines of a test that `debug` shows.
const MAX_DEBUGGED: usize = 1000;

impl Loaded {
    /// Returns the errors of the program, its tests and the circuits that they name, in the order
    /// of their places. The list is empty if there are none.
    pub fn check(&self, params: &ParamValues, files: &dyn CircuitFiles) -> Vec<Diagnostic> {
        let program = match elaborate::elaborate(self, params, false) {
            Err(errors) => return errors.into_list(),
            Ok(program) => program,
        };
        let (mut all, mut seen) = (Diagnostics::default(), HashSet::new());
        check_circuits(&program, files, &mut seen, &mut all);
        for test in self.tests() {
            match elaborate::elaborate_test(self, params, test) {
                Ok(test) => check_circuits(&test.program, files, &mut seen, &mut all),
                Err(errors) => {
                    for error in errors.into_list() {
                        all.report(error);
                    }
                }
            }
        }
        all.into_list()
    }

    /// Returns the program with these params. Other params have their defaults.
    ///
    /// # Errors
    ///
    /// The errors of the program.
    pub fn program(&self, params: &ParamValues) -> Result<Program, Vec<Diagnostic>> {
        elaborate::elaborate(self, params, false).map_err(Diagnostics::into_list)
    }

    /// Returns the program with its `debug` calls. It can be evaluated in the clear, but never run.
    pub(crate) fn debugged(&self, params: &ParamValues) -> Result<Program, Vec<Diagnostic>> {
        elaborate::elaborate(self, params, true).map_err(Diagnostics::into_list)
    }

    /// Returns a line with the output of `debug`: `gap.tacit:9: total = 5`.
    pub fn debug_line(&self, span: Span, value: &str) -> String {
        let map = self.source_map();
        let (line, _) = map.line_and_column(span);
        let name = &map.file(span.file).name;
        format!("{name}:{line}: {} = {value}", map.text(span))
    }

    /// Runs the tests in order, each on fresh states. `params` applies where a test sets no value.
    /// Each run of a test is computed in the clear and by its function, and both must agree.
    pub fn run_tests(&self, params: &ParamValues, files: &dyn CircuitFiles) -> Vec<TestReport> {
        self.tests()
            .map(|test| self.run_test(test, params, files))
            .collect()
    }

    fn tests(&self) -> impl Iterator<Item = &TestItem> {
        self.items().iter().filter_map(|item| match &item.kind {
            ItemKind::Test(test) => Some(test),
            _ => None,
        })
    }

    fn run_test(
        &self,
        test: &TestItem,
        params: &ParamValues,
        files: &dyn CircuitFiles,
    ) -> TestReport {
        let name = test.name.clone();
        let mut debugged = Vec::new();
        let mut debug = |span: Span, value: &str| {
            if debugged.len() < MAX_DEBUGGED {
                debugged.push(self.debug_line(span, value));
            }
        };
        let errors = match elaborate::elaborate_test(self, params, test) {
            Err(errors) => errors.into_list(),
            Ok(of) => run(&of, files, &mut debug).into_iter().collect(),
        };
        TestReport {
            name,
            place: test.name_span,
            errors,
            debugged,
        }
    }
}

/// Reports the functions whose circuit does not exist or has other ports. A circuit that was `seen`
/// under other params is not read again.
fn check_circuits(
    program: &Program,
    files: &dyn CircuitFiles,
    seen: &mut HashSet<(Span, String)>,
    all: &mut Diagnostics,
) {
    for function in &program.functions {
        if matches!(function.body, Body::Block(_)) {
            continue;
        }
        let types = function.parameters.iter();
        let types = types.map(|local| function.locals[local.0 as usize].ty);
        let widths = types.chain([function.result]);
        let widths: Vec<u64> = widths.map(|ty| program.types.width(ty)).collect();
        let is_new = seen.insert((function.span, format!("{:?} {widths:?}", function.body)));
        if is_new && let Err(error) = external(program, function, files) {
            all.report(error);
        }
    }
}

fn run<'t>(
    test: &'t TestProgram,
    files: &'t dyn CircuitFiles,
    debug: &'t mut dyn FnMut(Span, &str),
) -> Option<Diagnostic> {
    let types = &test.program.types;
    let mut functions = Functions {
        program: &test.program,
        files,
        lowered: HashMap::new(),
    };
    let mut machine = Machine::new(&test.program, MAX_STEPS, Random::Seed(test.seed));
    machine.files = files;
    machine.debug = Some(debug);
    let mut compare = |ran: &CompletedRun<'_>| functions.compare(ran);
    machine.after_run = Some(&mut compare);
    let mut error = *machine.call(test.function, Vec::new()).err()?;
    if let Some((left, right, ty)) = &machine.compared {
        let text = |value: &Value| types.value_text(*ty, value);
        error = error.label(format!("left {}, right {}", text(left), text(right)));
    }
    Some(error)
}

/// The functions of a program's runs, each lowered once.
struct Functions<'p> {
    program: &'p Program,
    files: &'p dyn CircuitFiles,
    /// The lowered functions, with the values of their public inputs.
    lowered: HashMap<EntryId, (Vec<(usize, Value)>, Lowered)>,
}

impl Functions<'_> {
    /// Returns the bits of the function's inputs: pairs, inputs, random bits, and saved values.
    fn given_bits(&self, ran: &CompletedRun<'_>, lowered: &Lowered) -> Result<Vec<bool>, String> {
        let entry = &self.program.entries[ran.entry.0 as usize];
        let types = &self.program.types;
        let mut bits = Vec::new();
        if let Some(join) = &entry.join {
            let pairs = join::pairs(self.program, entry, ran.inputs)?;
            bits.extend(join::bins(self.program, join, &pairs).concat());
        }
        let secret = entry.inputs.iter().zip(ran.inputs).enumerate();
        let secret = secret.filter(|(place, _)| !entry.is_joined(*place));
        for (_, (port, value)) in secret.filter(|(_, (port, _))| port.owner.is_some()) {
            bits.extend(types.bits_of_value(port.ty, value));
        }
        for number in 0..lowered.random.len() {
            // The random bits are the XOR of the parties' bits. One party gives them, and the other
            // gives zeros.
            let is_first = number == 0;
            bits.extend(ran.drawn.iter().map(|bit| is_first && *bit));
        }
        for load in lowered.function.loads() {
            let mut states = self.program.states.iter().zip(ran.before);
            let state = states.find(|(state, _)| state.name.as_str() == load.name);
            let (state, value) = state.expect("a function loads states of its program");
            bits.extend(types.bits_of_value(state.ty, value));
        }
        Ok(bits)
    }

    /// Compares the function of a run with the run in the clear, and describes a difference.
    fn compare(&mut self, ran: &CompletedRun<'_>) -> Result<(), String> {
        let entry = &self.program.entries[ran.entry.0 as usize];
        let types = &self.program.types;
        let public: Vec<(usize, Value)> = entry
            .inputs
            .iter()
            .enumerate()
            .filter(|(_, input)| input.owner.is_none())
            .map(|(place, _)| (place, ran.inputs[place].clone()))
            .collect();
        // Public inputs are constants of the function. Other values need another function.
        let is_known = self
            .lowered
            .get(&ran.entry)
            .is_some_and(|(known, _)| *known == public);
        if !is_known {
            let program = if public.is_empty() {
                Cow::Borrowed(self.program)
            } else {
                Cow::Owned(self.program.with_known_inputs(ran.entry, public.clone()))
            };
            let lowered = program.lower(entry.name.as_str(), ran.entry, self.files);
            let lowered = lowered.map_err(|error| {
                format!("`{}` cannot be lowered: {}", entry.name, error.message)
            })?;
            self.lowered.insert(ran.entry, (public, lowered));
        }
        let (_, lowered) = &self.lowered[&ran.entry];
        let bits = self.given_bits(ran, lowered)?;
        let mut expected = Vec::new();
        // The function's bits after the rows of a result with an element for each pair.
        let mut behind = 0..0;
        for (port, value) in entry.outputs.iter().zip(entry.results(ran.results)) {
            expected.extend(types.bits_of_value(port.ty, value));
            let by_pair = lowered.join.as_ref().and_then(|join| join.by_pair.as_ref());
            if let Some(by_pair) = by_pair.filter(|by_pair| by_pair.output == port.name.as_str()) {
                let bins = lowered.join.as_ref().map_or(0, JoinPlan::bin_count);
                let rows = ran.inputs[entry.join.as_ref().map_or(0, Join::placers_input)].as_list();
                let rows = rows
                    .first()
                    .map_or(0, |rows| u64::try_from(rows.as_integer()).unwrap_or(0));
                // The placer puts zeros after the rows of its table.
                let end = expected.len() - ((by_pair.rows - rows) * by_pair.element_bits) as usize;
                expected.truncate(end);
                behind = end..end + ((bins - rows) * by_pair.element_bits) as usize;
            }
        }
        for save in lowered.function.saves() {
            let mut states = self.program.states.iter().zip(ran.after);
            let state = states.find(|(state, _)| state.name.as_str() == save.name);
            let (state, value) = state.expect("a function saves states of its program");
            expected.extend(types.bits_of_value(state.ty, value));
        }
        let mut found = lowered.function.evaluate(&bits);
        found.drain(behind);
        if found == expected {
            Ok(())
        } else {
            Err(format!(
                "the function of `{}` gives another result than the run in the clear; this is an \
                 error of Tacit, please report it",
                entry.name
            ))
        }
    }
}
