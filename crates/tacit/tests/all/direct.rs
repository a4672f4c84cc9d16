//! `direct` between two sessions of one process: right results under every scheme, for either and
//! both recipients, run after run.

use std::collections::BTreeMap;
use std::thread;

use tacit::garble::LADDER;
use tacit::{Error, Job, Outcome, Role, Session, Side, Type, Value, library, memory};

/// Sessions at both ends of a channel in memory: the garbler's first.
fn sessions() -> (Session, Session) {
    let (a, b) = memory::pair();
    thread::scope(|scope| {
        let garbler = scope.spawn(|| Session::over(a, Side::Connecting, None));
        let evaluator = Session::over(b, Side::Listening, None).expect("a greeting");
        (
            garbler.join().expect("no panic").expect("a greeting"),
            evaluator,
        )
    })
}

type Outcomes = (Result<Outcome, Error>, Result<Outcome, Error>);

fn run(sessions: &mut (Session, Session), garbler: Job<'_>, evaluator: Job<'_>) -> Outcomes
where
{
    let (a, b) = sessions;
    thread::scope(|scope| {
        let garbler = scope.spawn(|| garbler.run(a));
        let evaluator = evaluator.run(b);
        (garbler.join().expect("no panic"), evaluator)
    })
}

fn bytes(hex: &str) -> Value {
    Value::parse(&Type::bytes(hex.len() / 2), hex).expect("hex")
}

#[test]
fn aes_128_gives_fips_197_to_both_under_every_scheme() {
    let function = library::function("aes-128", &BTreeMap::new()).expect("a function");
    for scheme in LADDER.iter().map(|rung| rung.id) {
        let mut sessions = sessions();
        // Appendix B and appendix C.1 of FIPS-197, one after the other over one session.
        for (key, block, expected) in [
            (
                "2b7e151628aed2a6abf7158809cf4f3c",
                "3243f6a8885a308d313198a2e0370734",
                "3925841d02dc09fbdc118597196a0b32",
            ),
            (
                "000102030405060708090a0b0c0d0e0f",
                "00112233445566778899aabbccddeeff",
                "69c4e0d86a7b0430d8cdb78070b4c55a",
            ),
        ] {
            let garbler = Job::new(&function, Role::Garbler).scheme(scheme);
            let evaluator = Job::new(&function, Role::Evaluator).scheme(scheme);
            let (a, b) = run(
                &mut sessions,
                garbler.input("key", bytes(key)),
                evaluator.input("block", bytes(block)),
            );
            let (a, b) = (a.expect("the garbler's"), b.expect("the evaluator's"));
            assert_eq!(a.outputs["ciphertext"].to_text(), expected, "{scheme}");
            assert_eq!(b.outputs["ciphertext"].to_text(), expected, "{scheme}");
            assert_eq!(a.cost.and_gates, 6400);
        }
    }
}
