//! Functions of many calls by `direct`, between two sessions of one process.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tacit::garble::{SCHEMES, SchemeId};
use tacit::net::{CancelHandle, NetError, memory};
use tacit::session::Side;
use tacit::{
    Category, Error, Function, FunctionBuilder, Job, Operand, Outcome, Part, ProtocolError,
    Recipient, Role, Session, Type, Value, library,
};

use crate::pair::{BLOCK, CIPHERTEXT, KEY, at_both};

/// Returns sessions at both ends of a channel in memory, the garbler's first.
fn sessions() -> (Session, Session) {
    sessions_under(CancelHandle::new())
}

/// Returns the same sessions, with the garbler's under this handle.
fn sessions_under(cancel: CancelHandle) -> (Session, Session) {
    let (mut a, b) = memory::pair();
    a.set_cancel_handle(cancel);
    let [a, b] = at_both(
        || Session::over(a, Side::Connecting, None),
        || Session::over(b, Side::Listening, None),
    );
    (a.expect("a greeting"), b.expect("a greeting"))
}

/// Returns the outcomes of garbler and evaluator, with all inputs as text.
fn run(function: &Function, scheme: SchemeId, inputs: &[(&str, &str)]) -> [Outcome; 2] {
    run_in(&mut sessions(), function, scheme, inputs)
}

/// Runs the same in an existing session.
fn run_in(
    (a, b): &mut (Session, Session),
    function: &Function,
    scheme: SchemeId,
    inputs: &[(&str, &str)],
) -> [Outcome; 2] {
    let job = |role| {
        let mut job = Job::new(function, role).scheme(scheme);
        for input in function.inputs().iter().filter(|input| input.owner == role) {
            let name = input.port.name.as_str();
            let text = inputs
                .iter()
                .find(|(known, _)| *known == name)
                .expect("an input")
                .1;
            job = job.input(name, Value::parse(&input.port.ty, text).expect("a value"));
        }
        job
    };
    let (garbler, evaluator) = (job(Role::Garbler), job(Role::Evaluator));
    at_both(|| garbler.run(a), || evaluator.run(b)).map(|outcome| outcome.expect("a result"))
}

fn shipped(name: &str, given: &[(&str, u64)]) -> Function {
    let given: BTreeMap<String, u64> = given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect();
    library::function(name, &given).expect("a function that comes with Tacit")
}

/// A function, its inputs, and the expected result.
type Case = (
    Function,
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static str,
);

#[test]
fn shipped_functions_are_right_under_every_scheme() {
    const KITTEN: &str = "[107,105,116,116,101,110]";
    const SITTING: &str = "[115,105,116,116,105,110,103]";
    let cases: [Case; 4] = [
        (
            shipped("levenshtein", &[("n", 6), ("m", 7)]),
            &[("x", KITTEN), ("y", SITTING)],
            "distance",
            "3",
        ),
        (
            shipped("aes-128-rounds", &[]),
            &[("key", KEY), ("block", BLOCK)],
            "ciphertext",
            CIPHERTEXT,
        ),
        // FIPS 197, appendix B.
        (
            shipped("aes-128", &[]),
            &[
                ("key", "2b7e151628aed2a6abf7158809cf4f3c"),
                ("block", "3243f6a8885a308d313198a2e0370734"),
            ],
            "ciphertext",
            "3925841d02dc09fbdc118597196a0b32",
        ),
        (
            shipped(
                "levenshtein-tiles",
                &[("rows", 3), ("columns", 3), ("side", 2)],
            ),
            &[("x", KITTEN), ("y", "[115,105,116,116,105,110]")],
            "distance",
            "2",
        ),
    ];
    for scheme in SCHEMES.iter().map(|scheme| scheme.id) {
        let mut sessions = sessions();
        for (function, inputs, output, expected) in &cases {
            for outcome in run_in(&mut sessions, function, scheme, inputs) {
                let found = outcome.outputs[*output].to_text();
                assert_eq!(found, *expected, "{} under {scheme}", function.name());
                assert_eq!(outcome.cost.and_gates, function.and_gates());
            }
        }
    }
}

#[test]
fn constants_and_values_that_nothing_computes_reach_the_results() {
    let mut builder = FunctionBuilder::new("constants");
    builder
        .library("add", "adder", &[("bits", 8)])
        .input("a", "u8", Role::Garbler)
        .input("b", "u8[2]", Role::Evaluator)
        .value("twice", "u8[3]")
        .repeat("i", 0, 2, |each, i| {
            each.call(
                [Part::of("twice").at(i)],
                "add",
                [Part::of("b").at(i), Part::of("b").at(i)],
            );
        })
        .call(
            [Part::of("twice").at(2)],
            "add",
            [Operand::number(3), Operand::number(4)],
        )
        .output("twice", "u8[3]", Recipient::Both, "twice")
        .output(
            "mixed",
            "u16",
            Recipient::Evaluator,
            Operand::typed(165, Type::unsigned(8)).then("a"),
        )
        .output("for_garbler", "u8[2]", Recipient::Garbler, "b");
    let function = builder.finish().unwrap();
    for scheme in SCHEMES.iter().map(|scheme| scheme.id) {
        let [garbler, evaluator] = run(&function, scheme, &[("a", "1"), ("b", "[200, 7]")]);
        let text = |outcome: &Outcome, name: &str| outcome.outputs[name].to_text().replace(' ', "");
        for outcome in [&garbler, &evaluator] {
            assert_eq!(text(outcome, "twice"), "[144,14,7]", "{scheme}");
        }
        assert_eq!(text(&evaluator, "mixed"), "421", "{scheme}");
        assert_eq!(text(&garbler, "for_garbler"), "[200,7]", "{scheme}");
        assert_eq!((garbler.outputs.len(), evaluator.outputs.len()), (2, 2));
    }
}

#[test]
fn direct_refuses_saved_values() {
    let mut builder = FunctionBuilder::new("account");
    builder
        .load("balance", "u8")
        .output("paid", "u8", Recipient::Both, "balance");
    let function = builder.finish().unwrap();
    let (mut a, mut b) = sessions();
    let ended = at_both(
        || Job::new(&function, Role::Garbler).run(&mut a),
        || Job::new(&function, Role::Evaluator).run(&mut b),
    );
    for error in ended.map(|outcome| outcome.expect_err("a saved value")) {
        assert!(
            matches!(error, Error::Protocol(ProtocolError::SavedValue { .. })),
            "{error:?}"
        );
        assert!(error.to_string().contains("\"balance\""), "{error}");
        assert_eq!(error.category(), Category::Usage);
    }
}

/// Returns a function of 2^23 XOR gates, which send no tables.
fn xors() -> Function {
    let mut builder = FunctionBuilder::new("xors");
    builder
        .library("xor", "xor", &[("bytes", 4096)])
        .input("x", "bytes[4096]", Role::Garbler)
        .value("v", "bytes[4096][257]")
        .assign(Part::of("v").at(0), "x")
        .repeat("i", 0, 256, |each, i| {
            each.call(
                [Part::of("v").at(i.plus(1))],
                "xor",
                [Part::of("v").at(i), Part::of("x")],
            );
        })
        .output("r", "bytes[4096]", Recipient::Both, Part::of("v").at(256));
    builder.finish().expect("a function")
}

/// Runs the garbler of [`xors`], with a time limit if `limit` is given, and cancels it after its
/// `cancel_at`-th progress report. Returns its result and the number of reports.
fn garble_xors(limit: Option<Duration>, cancel_at: usize) -> (Result<Outcome, Error>, usize) {
    let (function, cancel) = (xors(), CancelHandle::new());
    let (mut a, mut b) = sessions_under(cancel.clone());
    let told = AtomicUsize::new(0);
    let x = Value::parse(&function.inputs()[0].port.ty, &"5a".repeat(4096)).expect("a value");
    let garbler = Job::new(&function, Role::Garbler).input("x", x);
    let garbler = garbler.time_limit(limit).watch(|_| {
        if told.fetch_add(1, Ordering::Relaxed) + 1 == cancel_at {
            cancel.cancel();
        }
    });
    let ended = thread::scope(|scope| {
        // The evaluator ends however the garbler ends.
        scope.spawn(|| Job::new(&function, Role::Evaluator).run(&mut b).is_ok());
        let ended = garbler.run(&mut a);
        drop(a);
        ended
    });
    (ended, told.into_inner())
}

#[test]
fn long_work_without_tables_shows_progress_and_can_be_ended() {
    let (done, all) = garble_xors(None, usize::MAX);
    assert!(done.is_ok() && all > 8, "{all}");
    let (cancelled, told) = garble_xors(None, 3);
    let error = cancelled.expect_err("it was cancelled");
    assert_eq!((error.category(), told), (Category::Cancelled, 3));
    let (late, told) = garble_xors(Some(Duration::ZERO), usize::MAX);
    let error = late.expect_err("it had no time");
    assert_eq!((error.category(), told), (Category::Network, 0));
    assert!(matches!(error, Error::Network(NetError::TimeLimit { .. })));
}

#[test]
fn another_function_is_named_with_the_parameters_that_differ() {
    let of_length = |n| {
        let sizes = BTreeMap::from([("n".to_owned(), n), ("m".to_owned(), 2)]);
        library::function("levenshtein", &sizes).expect("a function of the library")
    };
    let (short, long) = (of_length(2), of_length(3));
    let (mut a, mut b) = sessions();
    let two = || Value::parse(&Type::unsigned(8).array(2), "[1,2]").expect("a value");
    let garbler = Job::new(&short, Role::Garbler).input("x", two());
    let evaluator = Job::new(&long, Role::Evaluator).input("y", two());
    let ended = at_both(|| garbler.run(&mut a), || evaluator.run(&mut b));
    let [ours, theirs] = ended.map(|outcome| outcome.expect_err("another function"));
    for (error, function, values) in [(ours, &short, (2, 3)), (theirs, &long, (3, 2))] {
        assert_eq!(error.category(), Category::Incompatible);
        let text = error.to_string();
        let Error::OtherFunction { differing, .. } = error else {
            panic!("{text}");
        };
        let [one] = &differing[..] else {
            panic!("{differing:?}");
        };
        assert_eq!((one.name.as_str(), (one.ours, one.theirs)), ("n", values));
        assert!(text.contains(&function.digest().to_string()[..8]), "{text}");
    }
}

#[test]
fn an_input_is_held_to_its_promise_before_anything_is_sent() {
    let sizes = BTreeMap::from(["rows", "columns"].map(|name| (name.to_owned(), 2)));
    let function = library::function("levenshtein-distance", &sizes).expect("in the library");
    for outcome in run(
        &function,
        SchemeId::HALF_GATES_TWO_CALL,
        &[("right", "[-1,1]")],
    ) {
        assert_eq!(outcome.outputs["distance"].to_text(), "2");
    }
    let beyond = Value::parse(&Type::signed(2).array(2), "[0,-2]").expect("a value");
    let job = Job::new(&function, Role::Evaluator).input("right", beyond);
    let error = job
        .input_bits()
        .expect_err("no difference of neighbouring cells");
    assert_eq!(error.category(), Category::Input);
    assert!(error.to_string().contains("-1 to 1"), "{error}");
}
