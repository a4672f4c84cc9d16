//! Runs a program in two ways: by the interpreter, and by the lowered function in the clear.

use std::fs;
use std::path::{Path, PathBuf};

use tacit_function::Function;
use tacit_language::lower::{Lowered, NoCircuitFiles};
use tacit_language::program::{Entry, EntryId, Program, Value};
use tacit_language::{Diagnostic, Loaded, NoFiles, ParamValues, render_all};

pub(crate) fn program_of(text: &str) -> Program {
    let loaded = Loaded::new("snippet.tacit", text, &NoFiles);
    let program = loaded.program(&ParamValues::new());
    program.unwrap_or_else(|errors| panic!("{}", rendered(&loaded, &errors)))
}

/// Returns errors as people read them.
pub(crate) fn rendered(loaded: &Loaded, errors: &[Diagnostic]) -> String {
    render_all(errors, loaded.source_map(), false)
}

/// Returns the programs in a folder of the repository, by name.
pub(crate) fn programs_in(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = fs::read_dir(root.join(folder)).expect("a folder of programs");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_program = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "tacit");
    let mut programs: Vec<PathBuf> = paths.filter(is_program).collect();
    programs.sort();
    programs
}

/// Returns the errors of a program, or its warnings if there are none.
pub(crate) fn told(loaded: &Loaded) -> Vec<Diagnostic> {
    let mut found = loaded.check(&ParamValues::new(), &NoCircuitFiles);
    if let Ok(program) = loaded.program(&ParamValues::new()) {
        found.extend(program.warnings);
    }
    found
}

/// Runs the tests of a program.
pub(crate) fn run_tests(loaded: &Loaded) {
    let reports = loaded.run_tests(&ParamValues::new(), &NoCircuitFiles);
    for report in &reports {
        let text = rendered(loaded, &report.errors);
        assert!(report.errors.is_empty(), "{}: {text}", report.name);
    }
    assert!(!reports.is_empty(), "the program has a test");
}

pub(crate) fn lower(program: &Program, entry: &str) -> (EntryId, Lowered) {
    let entries = &program.entries;
    let number = entries
        .iter()
        .position(|e| e.name.as_str() == entry)
        .expect("the run");
    let id = EntryId(number as u32);
    let lowered = program.lower(entry, id, &NoCircuitFiles);
    (
        id,
        lowered.unwrap_or_else(|error| panic!("{entry}: {}", error.message)),
    )
}

/// Random bits for tests, by SplitMix64.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn bit(&mut self) -> bool {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) & 1 == 1
    }

    /// Returns a number below `bound`, which is small.
    #[allow(dead_code)] // Not every test draws numbers.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bits = self.bits(16);
        let number = bits.iter().fold(0, |sum, &bit| sum * 2 + usize::from(bit));
        number % bound
    }

    pub(crate) fn bits(&mut self, count: usize) -> Vec<bool> {
        (0..count).map(|_| self.bit()).collect()
    }
}

/// Compares the function and the interpreter on the same random bits.
pub(crate) fn compare(program: &Program, id: EntryId, lowered: &Lowered, chance: &mut Chance) {
    let entry = &program.entries[id.0 as usize];
    let types = &program.types;
    let function = &lowered.function;
    let mut bits = Vec::new();
    let mut inputs = Vec::new();
    for port in &entry.inputs {
        let given = chance.bits(types.width(port.ty) as usize);
        inputs.push(types.value_of_bits(port.ty, &given));
        bits.extend(given);
    }
    let mut random = Vec::new();
    for _ in &lowered.random {
        let port = &function.inputs()[entry.inputs.len()].port;
        let given = chance.bits(port.ty.width());
        bits.extend(&given);
        random.resize(given.len(), false);
        random
            .iter_mut()
            .zip(given)
            .for_each(|(sum, bit)| *sum ^= bit);
    }
    let mut states: Vec<Value> = Vec::new();
    for state in &program.states {
        let given = chance.bits(types.width(state.ty) as usize);
        let value = types.value_of_bits(state.ty, &given);
        if function
            .loads()
            .iter()
            .any(|load| load.name == state.name.as_str())
        {
            bits.extend(types.bits_of_value(state.ty, &value));
        }
        states.push(value);
    }
    let outcome = program
        .evaluate(id, inputs, states, random)
        .expect("a run in the clear");
    let expected = expected_bits(program, entry, function, &outcome.results, &outcome.states);
    assert_eq!(function.evaluate(&bits), expected, "{}", entry.name);
}

fn expected_bits(
    program: &Program,
    entry: &Entry,
    function: &Function,
    results: &Value,
    states: &[Value],
) -> Vec<bool> {
    let types = &program.types;
    let mut bits = Vec::new();
    for (port, value) in entry.outputs.iter().zip(entry.results(results)) {
        bits.extend(types.bits_of_value(port.ty, value));
    }
    for save in function.saves() {
        let state = program
            .states
            .iter()
            .position(|s| s.name.as_str() == save.name);
        let state = state.expect("a state of the program");
        bits.extend(types.bits_of_value(program.states[state].ty, &states[state]));
    }
    bits
}
