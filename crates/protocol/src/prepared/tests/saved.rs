//! Values that one run saves and a later one loads.

use tacit_garble::{HalfGates, SchemeId};
use tacit_kernels::Construction;

use super::*;
use crate::saved::functions::{begin, bits, function, go_on, go_on_showing};
use crate::saved::{Mark, StoredValue as _};

/// The halves that both parties keep between runs.
type Kept = (Vec<GarblerHalf>, Vec<EvaluatorHalf>);

/// Returns the halves at these positions.
fn pick((garbler, evaluator): &Kept, places: &[usize]) -> Kept {
    (
        places.iter().map(|at| garbler[*at].clone()).collect(),
        places.iter().map(|at| evaluator[*at].clone()).collect(),
    )
}

/// Returns the results of a run for garbler and evaluator, and what it saves. The halves are
/// converted to bytes and back.
fn run<S: Scheme>(
    scheme: S,
    function: &Function,
    inputs: [&[bool]; 2],
    kept: &Kept,
    seed: u8,
) -> ([Zeroizing<Vec<bool>>; 2], Kept) {
    let mine = kept.0.iter().map(|half| half.to_bytes());
    let mine: Vec<_> = mine
        .map(|bytes| GarblerHalf::from_bytes(&bytes).expect("as it was written"))
        .collect();
    let chain = (!kept.0.is_empty()).then_some(CHAIN);
    let past = (
        Past {
            chain,
            loads: &mine,
        },
        Past {
            chain,
            loads: &kept.1,
        },
    );
    let sides = sides_after(scheme, function, inputs, past, seed);
    let ended = sides.run(true, &mut |_, _, _, _| Ok(()));
    let ((mine, told), (theirs, shown)) = ended.both().expect("both are honest");
    ([told, shown], (mine, theirs))
}

/// A sequence of runs that continue from each other, each under another Δ.
struct GoesOn;

impl SchemeVisitor for GoesOn {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        let (begin, go_on) = (begin(), go_on());
        let nothing = (Vec::new(), Vec::new());
        let (told, begun) = run(scheme, &begin, [&bits(30), &bits(4)], &nothing, 1);
        assert!(told.iter().all(|told| told.is_empty()));
        let mut kept = begun.clone();
        for (number, (more, total)) in [(7, 41), (200, 245), (20, 13)].into_iter().enumerate() {
            let seed = 2 + number as u8;
            let (told, after) = run(scheme, &go_on, [&[], &bits(more)], &kept, seed);
            assert_eq!(*told[0], bits(77), "{}", scheme.id());
            assert_eq!(*told[1], bits(total), "{}", scheme.id());
            // The limit stays as the first run saved it.
            let limit = pick(&begun, &[2]);
            kept = ([after.0, limit.0].concat(), [after.1, limit.1].concat());
        }
        // A value may be loaded again, as by a run that follows an unfinished one.
        for seed in [20, 21] {
            let (told, _) = run(scheme, &go_on, [&[], &bits(1)], &begun, seed);
            assert_eq!(*told[1], bits(35), "{}", scheme.id());
        }
    }
}

const KEEPING: [SchemeId; 3] = [
    SchemeId::HALF_GATES_TWO_CALL,
    SchemeId::HALF_GATES_REKEYED,
    SchemeId::THREE_HALVES,
];

#[test]
fn what_is_saved_goes_on_under_another_delta() {
    for id in KEEPING {
        with_scheme(id, GoesOn).expect("known");
    }
}

fn scheme() -> HalfGates {
    HalfGates::new(Construction::TwoCall)
}

fn begun() -> Kept {
    let nothing = (Vec::new(), Vec::new());
    run(scheme(), &begin(), [&bits(30), &bits(4)], &nothing, 1).1
}

/// Both parties have the same mark for a value, and other marks for other values and runs.
#[test]
fn marks_name_values() {
    let kept = begun();
    let marks: Vec<Mark> = kept.0.iter().map(GarblerHalf::mark).collect();
    let theirs: Vec<Mark> = kept.1.iter().map(EvaluatorHalf::mark).collect();
    assert_eq!(marks, theirs);
    assert!(marks[0] != marks[1] && marks[1] != marks[2]);
    assert!(kept.0.iter().all(|half| half.chain() == CHAIN));
}

/// Neither party has a result before both have kept what the run saves. The garbler has sent
/// nothing that decodes a result, and the evaluator nothing that reveals one.
#[test]
fn no_result_leaves_before_what_is_saved_is_kept() {
    for shown in [Recipient::Evaluator, Recipient::Garbler] {
        stops_before_results(&go_on_showing(shown, Recipient::Garbler));
    }
}

/// Runs both parties up to what they save.
fn stops_before_results(function: &Function) {
    let kept = begun();
    let past = (
        Past {
            chain: Some(CHAIN),
            loads: &kept.0[..],
        },
        Past {
            chain: Some(CHAIN),
            loads: &kept.1[..],
        },
    );
    let more = bits(7);
    let mut sent = Vec::new();
    let sides = sides_after(scheme(), function, [&[], &more], past, 2);
    let ended = sides.run(false, &mut |_, _, kind, _| {
        sent.push(kind);
        Ok(())
    });
    ended.both().expect("both stop");
    let is_result = |kind: &Kind| matches!(kind, Kind::Decoding | Kind::Result);
    assert!(
        !sent.iter().any(is_result),
        "{sent:?} before anything is kept"
    );
    assert!(
        sent.contains(&Kind::SavedLinks) && sent.contains(&Kind::Unmask),
        "{sent:?}"
    );
}

#[test]
fn what_does_not_fit_is_not_loaded() {
    let (function, kept) = (go_on(), begun());
    let error = |chain: Option<ChainId>, loads: &[GarblerHalf]| {
        let theirs = Past {
            chain: Some(CHAIN),
            loads: &kept.1[..],
        };
        let (more, past) = (bits(1), (Past { chain, loads }, theirs));
        let sides = sides_after(scheme(), &function, [&[], &more], past, 3);
        sides.run(true, &mut |_, _, _, _| Ok(())).results.0.err()
    };
    assert_eq!(error(Some(CHAIN), &kept.0), None);
    let other = Error::OtherChain {
        value: "total".to_owned(),
    };
    assert_eq!(
        error(Some(ChainId([8; 16])), &kept.0).as_ref(),
        Some(&other)
    );
    assert_eq!(error(None, &kept.0), Some(other));
    assert!(matches!(
        error(Some(CHAIN), &kept.0[..2]),
        Some(Error::ApiMisuse(_))
    ));
    let others = function_of_type("bits[8]");
    let (_, bits) = run(
        scheme(),
        &others,
        [&bits(1), &bits(2)],
        &(Vec::new(), Vec::new()),
        5,
    );
    let wrong = [vec![bits.0[0].clone()], kept.0[1..].to_vec()].concat();
    let error = error(Some(CHAIN), &wrong);
    let due = Error::SavedType {
        value: "total".to_owned(),
        kept: "bits[8]".to_owned(),
        wanted: "u8".to_owned(),
    };
    assert_eq!(error, Some(due));
}

/// Returns a function like `begin` that saves values of another type.
fn function_of_type(ty: &str) -> Function {
    function(|f| {
        f.input("a", ty, Role::Garbler)
            .input("b", ty, Role::Evaluator)
            .save("total", ty, "a")
            .save("step", ty, "b");
    })
}

/// Schemes without a common Δ, and those whose assumption does not cover the links of saved values,
/// keep nothing.
#[test]
fn other_schemes_keep_nothing() {
    struct Refused<'f>(&'f Function);
    impl SchemeVisitor for Refused<'_> {
        type Output = ();
        fn visit<S: Scheme>(self, scheme: S) {
            let (mine, theirs) = (bits(1), bits(2));
            let sides = sides(scheme, self.0, [&mine, &theirs]);
            let (garbler, evaluator) = sides.run(true, &mut |_, _, _, _| Ok(())).results;
            let keeps = KEEPING.contains(&scheme.id());
            assert_eq!(garbler.is_ok(), keeps, "{}", scheme.id());
            assert_eq!(evaluator.is_ok(), keeps, "{}", scheme.id());
        }
    }
    let function = begin();
    for scheme in &SCHEMES {
        with_scheme(scheme.id, Refused(&function)).expect("on the ladder");
    }
}
