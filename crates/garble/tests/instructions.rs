//! The number of instructions of garbling and evaluating on AES-NI. Unlike a time, a count is
//! exact: a kernel that grows fails here.
//!
//! The test runs itself again under valgrind's callgrind, which counts the instructions of one
//! function and of everything that it calls. (Valgrind does not run VAES; the code around the
//! cipher is the same there.) If valgrind is not installed the test says so and passes; with
//! `TACIT_REQUIRE_VALGRIND=1` it fails.
//!
//! The counts are those of the pinned toolchain and of the profile of tests; under another profile
//! the test says that it counts nothing, and passes. If a change is meant to cost instructions, the
//! counts change with it; if it saves some, they change too, so that no later change consumes them
//! unnoticed. The test's message contains its counts.
//!
//! On 64-bit ARM `./scripts/test-aarch64` makes the same counts in its emulator, and prints them.
#![cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_os = "linux"
))]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use tacit_circuit::Program;
use tacit_components::library;
use tacit_garble::{Evaluator, Garbler, Scheme, SchemeId, SchemeVisitor, with_scheme_on};
use tacit_kernels::{Backend, Block, Cpu, Prg};

/// A scheme, a component of the library, and the instructions of its garbler and its evaluator. A
/// garbler's include filling its stack with zeros for each segment, 4 or 8 KiB, which counts as one
/// instruction per byte.
const COUNTED: [(SchemeId, &str, [u64; 2]); 5] = [
    (
        SchemeId::HALF_GATES_TWO_CALL,
        "aes-128",
        [2_392_232, 1_766_034],
    ),
    // The gates are alone in their batch.
    (SchemeId::HALF_GATES_REKEYED, "adder", [26_623, 13_937]),
    (
        SchemeId::HALF_GATES_REKEYED,
        "aes-128",
        [3_558_144, 3_010_769],
    ),
    (SchemeId::THREE_HALVES, "aes-128", [4_240_317, 2_536_102]),
    (SchemeId::PRF, "aes-128", [13_986_358, 9_023_038]),
];

/// The tolerance of a count in thousandths: the places of data decide over a few instructions of
/// copies and of wiping.
const TOLERANCE_PER_MILLE: u64 = 10;

#[test]
fn kernels_take_as_many_instructions_as_they_did() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        let required = env::var_os("TACIT_REQUIRE_VALGRIND").is_some();
        assert!(!required, "valgrind is required and not installed");
        eprintln!("SKIPPED: valgrind is not installed, so nothing is counted here");
        return;
    }
    if !cfg!(debug_assertions) {
        eprintln!("SKIPPED: the counts are those of the profile of tests, and this is another");
        return;
    }
    if Cpu::new(Backend::AesNi).is_none() {
        eprintln!("SKIPPED: this CPU has no AES-NI, so nothing is counted here");
        return;
    }
    let found = count_all();
    let mut report = String::new();
    let mut all_alike = true;
    for ((scheme, component, expected), found) in COUNTED.iter().zip(&found) {
        let alike = |(found, expected): (&u64, &u64)| {
            1000 * found.abs_diff(*expected) <= TOLERANCE_PER_MILLE * expected
        };
        all_alike &= found.iter().zip(expected).all(alike);
        report += &format!("\n{scheme} {component}: {found:?}, they were {expected:?}");
    }
    assert!(all_alike, "instructions of garbler and evaluator:{report}");
}

/// Returns callgrind's counts for each call of `counted`, in order, for garbler and evaluator.
fn count_all() -> Vec<[u64; 2]> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("instructions");
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).expect("a folder for the counts");
    let counts = folder.join("counts");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--dump-after=*counted*"])
        .arg("--compress-strings=no")
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(env::current_exe().expect("this program has a path"))
        .args(["--exact", "all_in_order", "--ignored", "--test-threads=1"])
        .output()
        .expect("valgrind starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    let count = |number: usize| {
        let path = PathBuf::from(format!("{}.{number}", counts.display()));
        let file = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}: {said}"));
        let count = inclusive(&file);
        count.unwrap_or_else(|| panic!("{} says what `counted` cost: {said}", path.display()))
    };
    let pairs = (0..COUNTED.len()).map(|case| [count(2 * case + 1), count(2 * case + 2)]);
    let counts = pairs.collect();
    fs::remove_dir_all(&folder).ok();
    counts
}

/// Returns the cost of the only call in `counted`, in the format of callgrind's files: the line
/// after that of the call ends with it.
fn inclusive(file: &str) -> Option<u64> {
    let mut lines = file
        .lines()
        .skip_while(|line| !(line.starts_with("fn=") && line.ends_with("::counted")))
        .skip_while(|line| !line.starts_with("calls="));
    lines.nth(1)?.rsplit(' ').next()?.parse().ok()
}

/// Runs the counted work, and nothing else.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
    // Otherwise the call would be a jump, and callgrind would not see the end of this function.
    black_box(());
}

struct Counting<'a>(&'a Program);

impl SchemeVisitor for Counting<'_> {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        let Self(program) = self;
        let mut prg = Prg::new(Block::ONES);
        let (start, delta) = (prg.next_block(), prg.next_block().with_lsb(1.into()));
        let labels: Vec<Block> = (0..program.inputs()).map(|_| prg.next_block()).collect();
        let mut tables: Vec<Vec<u8>> = (0..program.segments().len())
            .map(|segment| vec![0; scheme.table_bytes(program, segment)])
            .collect();
        let mut garbler = scheme.garbler([1; 32], start, delta);
        let wires = labels.iter();
        let wires: Vec<_> = wires
            .map(|label| garbler.wire_with_active(*label, false))
            .collect();
        garbler.begin(0, program, &wires);
        counted(&mut || {
            for (segment, tables) in tables.iter_mut().enumerate() {
                garbler.garble(program, segment, tables);
            }
        });
        let mut evaluator = scheme.evaluator(start);
        evaluator.begin(0, program, &labels);
        counted(&mut || {
            for (segment, tables) in tables.iter().enumerate() {
                evaluator.evaluate(program, segment, tables);
            }
        });
    }
}

#[test]
#[ignore = "to be run by what counts: valgrind in the test above, the emulator of ARM"]
fn all_in_order() {
    let backend = if cfg!(target_arch = "aarch64") {
        Backend::ArmV8
    } else {
        Backend::AesNi
    };
    let cpu = Cpu::new(backend).expect("a CPU with AES instructions");
    let mut programs = BTreeMap::new();
    for (scheme, component, _) in COUNTED {
        let program = programs.entry(component).or_insert_with(|| {
            let circuit = library::find(component, &BTreeMap::new());
            let program = Program::compile(&circuit.expect("a circuit of the library"));
            // The first call sorts, and must not be counted.
            let _sorted = program.xor_levels();
            program
        });
        with_scheme_on(cpu, scheme, Counting(program)).expect("it is one of SCHEMES");
    }
}
