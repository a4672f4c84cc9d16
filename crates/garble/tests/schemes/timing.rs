//! No branch and no index depends on a secret: Δ, seeds, labels and their permute bits, the
//! garbler's input bits.
//!
//! Every scheme garbles and evaluates under valgrind's memcheck with its secrets marked undefined
//! ([`tacit_kernels::poison`]), on the portable backend and on AES-NI. (Valgrind does not run VAES:
//! `disassembly.rs` checks those kernels.) The test runs itself again under valgrind. If valgrind
//! is not installed it says so and passes; with `TACIT_REQUIRE_VALGRIND=1` it fails.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::env;
use std::hint::black_box;
use std::process::{Command, Output};

use tacit_circuit::{Circuit, Program};
use tacit_garble::{
    Evaluator, Garbler, SCHEMES, Scheme, SchemeVisitor, WholeGarbling, with_scheme_on,
};
use tacit_kernels::{Backend, Block, Cpu, Prg, poison};
use tacit_testkit::garbling::circuits;

/// The exit code if memcheck found something.
const FOUND: i32 = 99;

/// Returns the output of `valgrind` for one of the tests below, if it is installed.
fn under_valgrind(test: &str) -> Option<Output> {
    let installed = Command::new("valgrind").arg("--version").output().is_ok();
    if !installed {
        let required = env::var_os("TACIT_REQUIRE_VALGRIND").is_some();
        assert!(!required, "valgrind is required and not installed");
        eprintln!("SKIPPED: valgrind is not installed, so nothing is known of timing here");
        return None;
    }
    let suppressions = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/timing.supp");
    let output = Command::new("valgrind")
        .args(["--quiet", "--num-callers=24"])
        .arg(format!("--error-exitcode={FOUND}"))
        .arg(format!("--suppressions={suppressions}"))
        .arg(env::current_exe().expect("this program has a path"))
        .args(["--exact", test, "--ignored", "--test-threads=1"])
        .output();
    Some(output.expect("valgrind starts"))
}

#[test]
fn no_branch_and_no_index_depends_on_a_secret() {
    let Some(output) = under_valgrind("timing::watched_schemes") else {
        return;
    };
    let report = String::from_utf8_lossy(&output.stderr);
    let shown: String = report.chars().take(8000).collect();
    assert!(output.status.success(), "{}: {shown}", output.status);
    let ran = String::from_utf8_lossy(&output.stdout);
    assert!(ran.contains("1 passed"), "it ran: {ran}");
}

#[test]
fn a_branch_and_an_index_on_a_secret_are_found() {
    for (test, expected) in [
        (
            "timing::watched_branch",
            "Conditional jump or move depends on uninitialised",
        ),
        ("timing::watched_index", "Use of uninitialised value"),
    ] {
        let Some(output) = under_valgrind(test) else {
            return;
        };
        let report = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(FOUND), "{test} is found");
        assert!(report.contains(expected), "{test}: {report}");
    }
}

#[test]
#[ignore = "to be run under valgrind, by the tests above"]
fn watched_schemes() {
    assert!(poison::is_watched(), "valgrind watches");
    for backend in [Backend::Portable, Backend::AesNi] {
        let Some(cpu) = Cpu::new(backend) else {
            continue;
        };
        for rung in &SCHEMES {
            with_scheme_on(cpu, rung.id, Watched).expect("it is one of SCHEMES");
            assert_eq!(poison::errors(), 0, "{} on {cpu:?}", rung.id);
        }
    }
}

#[test]
#[ignore = "to be run under valgrind, by the tests above"]
fn watched_branch() {
    let mut labels = [1_u64, 2];
    poison::hide(&mut labels);
    if black_box(labels[0]) & 1 == 1 {
        println!("odd");
    }
}

#[test]
#[ignore = "to be run under valgrind, by the tests above"]
fn watched_index() {
    let mut label = 3_usize;
    poison::hide(&mut label);
    let table = black_box([7_u8; 64]);
    black_box(table[black_box(label) & 63]);
}

/// Runs everything that a scheme does, with its secrets marked.
struct Watched;

impl SchemeVisitor for Watched {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        for circuit in watched_circuits() {
            let program = Program::compile(&circuit);
            watch(scheme, &program);
            watch_side_by_side(scheme, &program);
        }
    }
}

fn watched_circuits() -> [Circuit; 4] {
    [
        circuits::named("every kind of gate"),
        circuits::named("outputs of every kind"),
        circuits::named("a 16-bit comparator"),
        circuits::random(5, 7, 300),
    ]
}

fn secret<T>(mut value: T) -> T {
    poison::hide(&mut value);
    value
}

fn public<T>(value: T) -> T {
    poison::reveal(&value);
    value
}

fn watch<S: Scheme>(scheme: S, program: &Program) {
    let mut prg = Prg::new(Block::from_u128(3));
    let start = prg.next_block();
    // Bit 0 of Δ is always one and no secret.
    let delta = secret(prg.next_block()).with_lsb(1.into());
    let mut seed = [0; 32];
    prg.fill_bytes(&mut seed);
    let mut garbler = scheme.garbler(secret(seed), start, delta);
    let mut evaluator = scheme.evaluator(start);
    let (mut wires, mut labels) = (Vec::new(), Vec::new());
    for input in 0..program.inputs() {
        let bit = secret(input % 3 == 0);
        let block = secret(prg.next_block());
        if input % 2 == 0 {
            wires.push(garbler.wire_with_active(block, bit));
            labels.push(block);
        } else {
            wires.push(garbler.wire_from_cot(input as u64, block));
            let t = block ^ delta.and_bit(u8::from(bit).into());
            labels.push(evaluator.label_from_cot(input as u64, t, bit));
        }
    }
    garbler.begin(1, program, &wires);
    evaluator.begin(1, program, &labels);
    for segment in 0..program.segments().len() {
        let mut tables = vec![0; scheme.table_bytes(program, segment)];
        garbler.garble(program, segment, &mut tables);
        // The tables are sent, so they are public.
        poison::reveal(&tables[..]);
        evaluator.evaluate(program, segment, &tables);
    }
    let (mut outputs, mut found) = (Vec::new(), Vec::new());
    garbler.finish(program, &mut outputs);
    evaluator.finish(program, &mut found);
    let mut decoding = Vec::new();
    garbler.decoding(7, &outputs, &mut decoding);
    poison::reveal(&decoding[..]);
    let values = evaluator.decode(7, &found, &decoding);
    // Whether a label is refused is no secret; the values are.
    assert!(public(values.is_ok()), "the labels decode");

    let targets: Vec<_> = outputs
        .iter()
        .map(|_| garbler.wire_with_active(secret(prg.next_block()), secret(true)))
        .collect();
    let mut links = Vec::new();
    garbler.link(start, 0, &outputs, &targets, &mut links);
    poison::reveal(&links[..]);
    evaluator.follow_links(start, 0, &mut found, &links);
}

/// Runs several garblings at once, each with a Δ of its own.
fn watch_side_by_side<S: Scheme>(scheme: S, program: &Program) {
    let mut prg = Prg::new(Block::from_u128(5));
    let segments = 0..program.segments().len();
    let bytes: usize = segments.map(|n| scheme.table_bytes(program, n)).sum();
    let mut tables = vec![vec![0; bytes]; 3];
    let parts: Vec<_> = tables
        .iter()
        .map(|_| {
            let (start, delta) = (prg.next_block(), secret(prg.next_block()));
            let mut garbler = scheme.garbler(secret([7; 32]), start, delta.with_lsb(1.into()));
            let wires = (0..program.inputs())
                .map(|i| garbler.wire_with_active(secret(prg.next_block()), secret(i % 3 == 0)));
            let wires: Vec<_> = wires.collect();
            (garbler, wires)
        })
        .collect();
    let (garblers, wires): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let each = garblers.into_iter().zip(&wires).zip(&mut tables);
    let mut garblings: Vec<_> = each
        .map(|((garbler, inputs), tables)| WholeGarbling {
            garbler,
            inputs,
            tables,
        })
        .collect();
    scheme.garble_side_by_side(1, program, &mut garblings);
}
