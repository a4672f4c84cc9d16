//! Exact figures cannot grow unnoticed: bytes and rounds of whole runs, cipher calls of schemes.
//!
//! Times differ from run to run, counts do not. Any change of a figure here is a change of the
//! protocol or of a scheme and is made on purpose, with its reason in the commit.

use tacit_bench::record::Traffic;
use tacit_bench::{Figures, Options, Suite, run};
use tacit_circuit::Program;
use tacit_components::library;
use tacit_garble::SCHEMES;

/// Returns the figures of the cases with these words in their names.
fn figures(suite: Suite, only: &[&str]) -> Vec<Figures> {
    let options = Options {
        quick: true,
        only: only.iter().map(|word| (*word).to_owned()).collect(),
        ..Options::default()
    };
    let mut all = Vec::new();
    run(suite, &options, &mut |record| {
        all.push(record.figures);
        Ok(())
    })
    .expect("the suite runs");
    all
}

/// A function and a scheme; the bytes of the garbler and of the evaluator, and the rounds, of a
/// run.
type Counted = (&'static str, &'static str, u64, u64, u64);

const DIRECT: [Counted; 4] = [
    ("millionaires", "half-gates/two-call", 2_165, 1_121, 4),
    ("aes-128", "half-gates/two-call", 206_954, 1_136, 4),
    ("aes-128", "three-halves", 162_154, 1_136, 4),
    ("aes-128", "prf", 578_228, 1_136, 4),
];

#[test]
fn runs_have_the_bytes_and_rounds_that_they_had() {
    let found = DIRECT.map(|(function, scheme, ..)| {
        // `aes-128` is a prefix of other functions' names, and `prf` of other schemes' names.
        let words = [format!("direct {function}"), format!(" {scheme} loopback")];
        let cases = figures(Suite::Direct, &words.each_ref().map(String::as_str));
        let mut traffic = cases.iter().filter_map(|figures| match figures {
            Figures::Direct(of) if of.workload.function == function => Some(of.run_traffic),
            _ => None,
        });
        let of = traffic.next().expect("the case is there");
        (
            function,
            scheme,
            of.garbler_bytes,
            of.evaluator_bytes,
            of.rounds,
        )
    });
    assert_eq!(found, DIRECT);
}

#[test]
fn a_prepared_run_has_the_bytes_that_it_had() {
    let found = figures(Suite::Prepared, &["prepared aes-128-rounds", "loopback"]);
    let [Figures::Prepared(of)] = &found[..] else {
        panic!("{found:?}");
    };
    let bytes = [
        of.received_bytes,
        of.late_bytes,
        of.sent_bytes,
        of.naive_received_bytes,
        of.offline_bytes,
    ];
    assert_eq!(
        bytes,
        [47_237, 4_127, 214, 206_959, 206_042],
        "in the order above"
    );
}

#[test]
fn a_batch_has_the_bytes_that_it_had() {
    let found = figures(Suite::Batch, &["batch aes-128 executions-8", "loopback"]);
    let [Figures::Batch(of)] = &found[..] else {
        panic!("{found:?}");
    };
    let counts = [of.executions, of.bucket, of.circuits, of.ands];
    assert_eq!(counts, [8, 12, 151, 6_400], "N, B, M and AND gates");
    let bytes = |traffic: &Traffic| [traffic.garbler_bytes, traffic.evaluator_bytes];
    assert_eq!(
        bytes(&of.offline_traffic),
        [3_413_487, 4_473],
        "an execution"
    );
    assert_eq!(bytes(&of.online_traffic), [172_298, 42]);
    assert_eq!(of.online_traffic.rounds, 4);
}

/// A case; the AND gates of the function and of a circuit with its MAC; the bytes from generator to
/// cloud and back, from generator to evaluator and back, and from evaluator to cloud and back.
type CountedOfThree = (&'static str, [u64; 2], [u64; 6]);

const OUTSOURCED: [CountedOfThree; 5] = [
    (
        "database-lookup entries=64 copies-1 ",
        [6_080, 6_809],
        [739_476, 6_594, 8_549, 7_495, 3_850, 254],
    ),
    (
        "database-lookup entries=64 copies-16 ",
        [6_080, 6_809],
        [12_105_563, 6_594, 9_749, 9_543, 7_169, 255],
    ),
    (
        "friend-map-start cells=64 copies-16 ",
        [0, 0],
        [132_568, 6_693, 9_762, 242, 638, 239],
    ),
    (
        "friend-map-set cells=64 copies-16 ",
        [1_566, 1_782],
        [1_806_947, 427, 9_762, 8_519, 5_863, 248],
    ),
    (
        "friend-map-get cells=64 copies-16 ",
        [512, 728],
        [1_257_036, 414, 9_749, 8_519, 5_863, 248],
    ),
];

#[test]
fn outsourced_runs_have_the_gates_and_bytes_that_they_had() {
    let found = OUTSOURCED.map(|(case, ..)| {
        let found = figures(Suite::Outsourced, &[&format!("outsourced {case}")]);
        let [Figures::Outsourced(of)] = &found[..] else {
            panic!("{found:?}");
        };
        let traffic = of.traffic;
        let bytes = [
            traffic.generator_to_cloud_bytes,
            traffic.cloud_to_generator_bytes,
            traffic.generator_to_evaluator_bytes,
            traffic.evaluator_to_generator_bytes,
            traffic.evaluator_to_cloud_bytes,
            traffic.cloud_to_evaluator_bytes,
        ];
        (case, [of.ands, of.circuit_ands], bytes)
    });
    assert_eq!(found, OUTSOURCED);
}

/// A scheme; the bytes of tables, and the cipher calls of garbler and evaluator, for AES-128.
const COUNTS: [(&str, u64, u64, u64); 11] = [
    ("half-gates/two-call", 204_800, 51_200, 25_600),
    ("half-gates/re-keyed", 204_800, 25_600, 12_800),
    ("three-halves", 160_000, 76_800, 38_400),
    ("prf", 574_016, 132_684, 58_752),
    ("prf-xor1-and3", 674_816, 132_684, 58_752),
    ("prf-xor3-and3", 1_410_048, 235_008, 58_752),
    ("related-key-monotone", 395_776, 62_272, 18_336),
    ("related-key-safemon1", 499_888, 87_986, 31_193),
    ("related-key-safemon2", 467_984, 83_998, 29_199),
    ("circular-half-gates", 204_800, 25_600, 12_800),
    ("circular-and3", 307_200, 51_200, 12_800),
];

#[test]
fn schemes_have_the_tables_and_cipher_calls_that_they_had() {
    let circuit = library::find("aes-128", &Default::default()).expect("a circuit of the library");
    let program = Program::compile(&circuit);
    let found = SCHEMES.map(|scheme| {
        let cost = scheme.program_cost(&program);
        let calls = (cost.garbler_calls, cost.evaluator_calls);
        (scheme.id.to_string(), cost.table_bytes, calls.0, calls.1)
    });
    let expected = COUNTS
        .map(|(scheme, bytes, garbler, evaluator)| (scheme.to_owned(), bytes, garbler, evaluator));
    assert_eq!(found, expected);
}
