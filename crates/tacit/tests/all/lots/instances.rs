//! Instances of components: any function of these components takes them, from one lot, before
//! triples.

use tacit::{Operand, Recipient};

use super::*;

/// Returns a function that says whether a is greater than b after 3 has been added to both `more`
/// and one more times. It calls an adder at least twice, and a comparator once.
pub(super) fn richer(name: &str, more: usize) -> Function {
    let mut builder = tacit::FunctionBuilder::new(name);
    builder
        .library("add", "adder", &[("bits", 8)])
        .library("compare", "comparator", &[("bits", 8)])
        .input("a", "u8", Role::Garbler)
        .input("b", "u8", Role::Evaluator)
        .value("a_is_richer", "bit");
    for i in 0..=more {
        for party in ["a", "b"] {
            builder.value(&format!("{party}{i}"), "u8");
            let from = match i {
                0 => party.to_owned(),
                _ => format!("{party}{}", i - 1),
            };
            builder.call(
                [&format!("{party}{i}")],
                "add",
                [Operand::from(&from), Operand::number(3)],
            );
        }
    }
    builder
        .call(
            ["_", "_", "a_is_richer"],
            "compare",
            [&format!("a{more}"), &format!("b{more}")],
        )
        .output("a_is_richer", "bit", Recipient::Both, "a_is_richer");
    builder.finish().expect("a function")
}

/// Functions that were unknown at the preparation take instances while one lot has enough of each
/// component, then triples, and then nothing.
#[test]
fn functions_of_the_same_components_take_instances_and_then_triples() {
    let parties = Pair::in_memory();
    let [small, large] = [0, 1].map(|more| richer("richer", more));
    for prepared in each(prepare(&parties, FromStock::Instances, &small, 3)) {
        let made: Vec<_> = prepared.kinds.iter().map(|kind| kind.made).collect();
        assert_eq!((made, prepared.runs), (vec![6, 3], Some(3)));
        assert_eq!(prepared.made_at_bits, Some(40));
    }
    let planned = || planned(&parties, &small, 2 * BLOCK);
    assert_eq!(planned(), [Some((0, 3)), None]);
    each(prepare(&parties, FromStock::Triples, &small, 1));
    assert_eq!(planned(), [Some((2 * BLOCK, 4)), None]);
    // Two instances of the adder and two of the comparator are left, but no lot has enough of both.
    let mut taken = BTreeSet::new();
    for (function, due) in [
        (&large, Some(FromStock::Instances)),
        (&large, Some(FromStock::Triples)),
        (&small, Some(FromStock::Instances)),
        (&small, None),
    ] {
        let [ours, theirs] = each(run_both(&parties, function, 40));
        assert_eq!([from_stock(&ours), from_stock(&theirs)], [due; 2]);
        assert_eq!(ours.0, theirs.0);
        for kind in &ours.0 {
            for number in kind.spans.iter().flat_map(|span| span.first..span.end()) {
                assert!(taken.insert((kind.digest, number)), "{} twice", kind.name);
            }
        }
    }
    assert_eq!(left(&parties, FromStock::Instances, &small), [0, 0]);
    let listed = |party: usize| {
        let summary = parties.stocks(party).summary(&stock_name(&parties, party));
        let kinds = summary.expect("a stock").kinds.into_iter();
        let kinds = kinds.filter(|kind| kind.name.contains(", checked under"));
        kinds
            .map(|kind| (kind.name, kind.available))
            .collect::<Vec<_>>()
    };
    for party in [0, 1] {
        let scheme = tacit::scheme::default_scheme(&small);
        let name = format!("richer/compare, checked under {scheme}, at s = 40");
        assert_eq!(listed(party), [(name, 1)]);
    }
}

/// An order counts what is in stock, and a session leases ahead for its next runs.
#[test]
fn a_session_takes_instances_until_they_end() {
    let (parties, function) = (Pair::in_memory(), richer("richer", 0));
    each(prepare(&parties, FromStock::Instances, &function, 1));
    for prepared in each(prepare(&parties, FromStock::Instances, &function, 3)) {
        assert_eq!((prepared.made(), prepared.available()), (6, 9));
    }
    let runs = parties.both(|party, session, stocks| {
        let mut runs = Vec::new();
        for ahead in [2, 0, 0, 0] {
            let input = [("a", 200_u8), ("b", 40)][party];
            let outcome = Job::new(&function, ROLES[party])
                .by(Protocol::Authenticated, Some(stocks))
                .unwrap()
                .lease_ahead(ahead)
                .input(input.0, input.1)
                .run(session)?;
            assert_eq!(outcome.outputs["a_is_richer"].to_text(), "1");
            runs.push(outcome.cost.from_stock);
        }
        Ok(runs)
    });
    let taken = Some(FromStock::Instances);
    assert_eq!(
        each(runs),
        [(); 2].map(|()| vec![taken, taken, taken, None])
    );
}

/// A run does not use instances that are garbled under another hash.
#[test]
fn a_run_takes_no_instances_of_another_scheme() {
    use tacit::garble::SchemeId;
    let (parties, function) = (Pair::in_memory(), richer("richer", 0));
    let [ours, other] = [SchemeId::HALF_GATES_TWO_CALL, SchemeId::HALF_GATES_REKEYED];
    each(parties.both(|party, session, stocks| {
        let order = LotPreparation::instances_for_runs(ROLES[party], &function, 1)?;
        order.scheme(ours).run(session, stocks)
    }));
    for (scheme, due) in [(other, None), (ours, Some(FromStock::Instances))] {
        let ran = parties.both(|party, session, stocks| {
            let input = [("a", 200_u8), ("b", 40)][party];
            let job = Job::new(&function, ROLES[party])
                .by(Protocol::Authenticated, Some(stocks))
                .unwrap();
            let job = job.scheme(scheme).input(input.0, input.1);
            job.run(session)
        });
        for outcome in each(ran) {
            assert_eq!(outcome.outputs["a_is_richer"].to_text(), "1");
            assert_eq!(outcome.cost.from_stock, due);
        }
    }
}

/// A function that cannot be linked can only be ordered as triples.
#[test]
fn functions_that_instances_do_not_serve_are_refused() {
    let mut builder = tacit::FunctionBuilder::new("passes");
    builder
        .input("a", "u8", Role::Garbler)
        .output("a", "u8", Recipient::Both, "a");
    let passes = builder.finish().expect("a function");
    let error = LotPreparation::instances_for_runs(Role::Garbler, &passes, 1).err();
    let error = error.expect("nothing to link").to_string();
    assert!(error.contains("calls no component"), "{error}");
}
