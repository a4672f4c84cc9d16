//! Tests that count work instead of timing it. A run that is refused is refused before anything is
//! built.

use tacit_circuit::builder::Builder;

use super::super::run::{TraceOptions, trace};
use super::super::trace::{Calls, Components, Tracer};
use super::super::{Diagnostic, NoCircuitFiles, Progress};
use super::*;
use crate::program::EntryId;
use crate::{Loaded, NoFiles, ParamValues};

fn program_of(text: &str) -> Program {
    let loaded = Loaded::new("snippet.tacit", text, &NoFiles);
    loaded.program(&ParamValues::new()).expect("a program")
}

/// Traces `main`. Returns its steps, or the reason that there is no circuit, and the number of
/// gates made.
fn traced(program: &Program) -> (Lower<u64>, usize) {
    let entry = &program.entries[0];
    let builder = Builder::new();
    let components = Components::Call(Calls::default());
    let mut tracer = Tracer::new(&builder, program, &NoCircuitFiles, components);
    let arguments = entry.inputs.iter().enumerate().map(|(number, input)| {
        let width = program.types.width(input.ty) as usize;
        let bus = builder.bus(&format!("g{number}"), width);
        bus.bits().collect()
    });
    let arguments = arguments.collect();
    let result = tracer.call(entry.function, arguments);
    (
        result.map(|_| MAX_STEPS - tracer.left),
        builder.gate_count(),
    )
}

fn refusal(text: &str) -> String {
    let program = program_of(text);
    match check(&program, &program.entries[0]) {
        Err(Diagnostic { message, .. }) => message,
        Ok(_) => panic!("it passes"),
    }
}

/// Returns forty functions, each of which calls the next one twice.
fn doubling() -> String {
    let twice = |n: usize| format!("fn f{n}(x: u8) -> u8 {{ f{}(x) ^ f{}(x) }}\n", n + 1, n + 1);
    let functions: String = (0..40).map(twice).collect();
    functions + "fn f40(x: u8) -> u8 { x + 1 }\n"
}

fn main_of(items: &str, body: &str) -> String {
    format!(
        "parties alice, bob;\nuse std::order::sort;\n{items}\n\
         main(a: u8 of alice, b: u8 of bob) -> (result: u8 to both) {{ {body} }}"
    )
}

/// All constructs that take steps: both branches of a secret, one of a guard, loops whose turns
/// differ, secret indices, inlined calls and calls of components.
const MIXED: &str = "parties alice, bob;
use std::table::join;
use std::order::sort;
struct Row { key: u8, value: u16 }
fn weigh<const N>(rows: [u16; N], at: u8) -> u16 {
    let mut sum = 0 as u16;
    for i in 0..N {
        for j in i..N { if (i + j) % 3 == 1 { sum += rows[j]; } }
        if i & 1 == 0 { sum ^= rows[at]; }
    }
    sum
}
main(a: [Row; 5] of alice sorted by key, b: [Row; 6] of bob sorted by key, at: u8 of bob)
    -> (sum: u16 to both) {
    let rows = join([for r in a { r.key }], a, [for r in b { r.key }], b);
    let mut all = sort([for r in rows { r.value.0.value }]);
    for row in rows {
        if row.some { all[at] += row.value.1.value; } else { all[0] = weigh(all, at); }
    }
    weigh(all, at)
}";

#[test]
fn counted_steps_are_those_that_the_trace_takes() {
    let program = program_of(MIXED);
    let counted = Counting::new(&program, false).function(program.entries[0].function);
    let (steps, _) = traced(&program);
    let steps = steps.unwrap_or_else(|Diagnostic { message, .. }| panic!("{message}"));
    assert_eq!(counted.map(|counts| counts.steps), Ok(steps));
}

#[test]
fn calls_that_double_forty_times_are_refused_before_the_trace() {
    let message = refusal(&main_of(&doubling(), "f0(a) ^ b"));
    assert!(
        message.contains("this run has more than 2^26 steps"),
        "{message}"
    );
    let component = "component fn g(x: u8) -> u8 { f0(x) }\n";
    let message = refusal(&main_of(&(doubling() + component), "g(a) ^ b"));
    assert!(
        message.contains("the component `g` has more than 2^26 steps"),
        "{message}"
    );
}

#[test]
fn a_function_that_is_not_called_is_not_counted() {
    let program = program_of(&main_of(
        &doubling(),
        "let mut x = a ^ b; for i in 0..9 { if i > 9 { x = f0(x); } } x",
    ));
    assert!(check(&program, &program.entries[0]).is_ok());
}

#[test]
fn a_sort_of_many_rows_is_refused_before_the_trace() {
    let sort = |n: u32| {
        format!(
            "parties alice, bob;\nuse std::order::sort;\n\
             main(a: [u32; {n}] of alice, b: u32 of bob) -> (least: u32 to both) \
             {{ sort(a)[0] ^ b }}"
        )
    };
    let message = refusal(&sort(1 << 21));
    assert!(message.contains("more than 2^26 steps"), "{message}");
    for (n, keeps_networks) in [(8192, false), (65_536, true), (1 << 20, true)] {
        let program = program_of(&sort(n));
        let checked = check(&program, &program.entries[0]);
        let keeps = checked.map(|checked| checked.keeps_networks);
        assert!(matches!(keeps, Ok(keeps) if keeps == keeps_networks), "{n}");
    }
}

#[test]
fn a_product_or_quotient_of_4096_bits_is_refused_before_its_gates_are_made() {
    for operator in ["*", "/", "%"] {
        let program = program_of(&format!(
            "parties alice, bob;\nmain(a: u4096 of alice, b: u4096 of bob) -> (c: u4096 to both) \
             {{ a {operator} b }}"
        ));
        let (result, gates) = traced(&program);
        let Err(Diagnostic { message, .. }) = result else {
            panic!("{operator} passes");
        };
        assert!(message.contains("more than 2^24 gates"), "{message}");
        assert_eq!(gates, 0, "{operator}");
    }
}

#[test]
fn progress_goes_from_nothing_to_all() {
    let program = program_of(
        "parties alice, bob;
        component fn mix(x: u8, y: u8) -> u8 { x + y }
        main(a: u8 of alice, b: u8 of bob) -> (c: u8 to both) {
            let mut c = a; for i in 0..100_000 { c = mix(c, b); } c
        }",
    );
    let heard = std::cell::RefCell::new(Vec::new());
    let watch = |at: Progress| heard.borrow_mut().push((at.done, at.total));
    let id = EntryId(0);
    let lowered = program.lower_watched("main", id, &NoCircuitFiles, &watch);
    assert!(lowered.is_ok());
    let heard = heard.into_inner();
    let total = heard[0].1;
    assert!((4..300).contains(&heard.len()), "{heard:?}");
    assert!(heard.is_sorted() && heard.iter().all(|at| at.1 == total));
    assert!(heard[0].0 < total / 2 && heard[heard.len() - 1].0 > total * 9 / 10);
}

/// The gates of `main` give single bits to the calls, which no count of components foresees.
#[test]
fn a_run_whose_gates_cut_its_values_is_refused_at_the_first_call_that_shows_it() {
    let program = program_of(
        "parties alice, bob;
        component fn mix(x: [u64; 64], y: bool) -> [u64; 64] { [for v in x { v + y as u64 }] }
        main(a: [u64; 64] of alice, b: u64 of bob) -> (c: [u64; 64] to both) {
            let mut c = a;
            for i in 0..8300 { c = mix(c, c[0] > b); }
            c
        }",
    );
    let entry = &program.entries[0];
    let Ok(Checked { cuts, .. }) = check(&program, entry) else {
        panic!("what is counted is too large already");
    };
    let options = TraceOptions {
        is_recorded: false,
        keeps_networks: false,
        cuts,
    };
    let traced = trace(&program, entry, (&NoCircuitFiles, &|_| {}), 0, options);
    let Err(Diagnostic { span, message, .. }) = traced.map(drop) else {
        panic!("it is traced to its end");
    };
    assert!(message.contains("elements"), "{message}");
    assert!(span != entry.span, "the call is shown");
}
