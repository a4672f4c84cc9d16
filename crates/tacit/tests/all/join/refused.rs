//! The errors of a join, and the sizes that its parties tell each other before it.

use std::time::Duration;

use tacit::Type;

use super::*;

#[test]
fn tables_are_checked_before_anything_is_sent() {
    let plan = plan([3, 2], 2, JoinSide::Left);
    let told = |party, rows: &[Row]| {
        let error = table(&plan, party, rows).expect_err("a wrong table");
        assert_eq!(error.category(), Category::Input);
        error.to_string()
    };
    let twice = told(0, &[(4, 0), (5, 0), (4, 1)]);
    assert_eq!(twice, "row 2 has the key of row 0");
    let thrice = told(1, &[(4, 0), (4, 0), (5, 0), (4, 1)]);
    assert!(
        thrice.contains("row 3") && thrice.contains("key of row 0"),
        "{thrice}"
    );
    let keys = told(1, &[(1, 0), (2, 0), (3, 0)]);
    assert!(keys.contains("3 different keys, and 2"), "{keys}");
    let rows = told(0, &[(1, 0), (2, 0), (3, 0), (4, 0)]);
    assert!(rows.contains("4 rows, and 3"), "{rows}");

    let text = KeyKind::Text(tacit::join::KeyNormalization::None);
    for (kind, bytes) in [
        (text, &b""[..]),
        (text, b"\xff"),
        (KeyKind::Fixed { bits: 9 }, b"1"),
    ] {
        assert!(with_part(KeyEncoding::default(), kind, bytes).is_err());
    }
    assert!(with_part(KeyEncoding::default(), KeyKind::Bytes, b"").is_ok());
}

#[test]
fn other_protocols_run_no_join() {
    let plan = plan([3, 3], 1, JoinSide::Left);
    let function = function(&plan);
    let table = table(&plan, 1, &[]).expect("a table");
    let refused = job(&function, &plan, 1, &table).authenticated().check();
    let refused = refused.expect_err("no join");
    assert_eq!(refused.category(), Category::Usage);
    assert!(
        refused
            .to_string()
            .contains("gmw alone, and not by authenticated"),
        "{refused}"
    );
    assert!(matches!(
        refused,
        Error::JoinsNot {
            protocol: Protocol::Authenticated
        }
    ));
    let none = Job::new(&millionaires(8), Role::Garbler).gmw().check();
    assert!(none.is_ok());
}

/// Such a function may be too large for a walk that keeps its values, which `direct` needs.
#[test]
fn other_protocols_run_no_function_over_shares() {
    let mut builder = FunctionBuilder::new("over shares");
    builder
        .over_shares()
        .input("given", "u8", Role::Garbler)
        .output("told", "u8", Recipient::Both, Part::of("given"));
    let function = builder.finish().expect("a function");
    let job = || Job::new(&function, Role::Garbler);
    assert!(job().gmw().check().is_ok());
    for refused in [job().check(), job().authenticated().check()] {
        assert!(matches!(refused, Err(Error::JoinsNot { .. })));
    }
    let refused = OutsourcedJob::new(&function, OutsourcedParameters::SEMI_HONEST).check();
    assert!(matches!(refused, Err(Error::JoinsNot { .. })));
}

/// The stage makes the bits of all spans in one piece, in their order. A bin's bits must not go
/// into another bin, or into another input.
#[test]
fn a_function_with_other_inputs_than_its_plan_is_refused() {
    let mut cut = plan([3, 3], 1, JoinSide::Left);
    cut.spans = spans(&[64, cut.bin_count() - 64]);
    let function = function(&cut);
    let changes: [fn(&mut JoinPlan); 6] = [
        |plan| plan.spans.reverse(),
        |plan| plan.spans.truncate(1),
        |plan| plan.spans.clear(),
        |plan| plan.spans[0].bins -= 1,
        |plan| plan.spans[1].placer_input.push('2'),
        |plan| {
            let span = &mut plan.spans[1];
            core::mem::swap(&mut span.placer_input, &mut span.programmer_input);
        },
    ];
    for change in changes {
        let mut changed = cut.clone();
        change(&mut changed);
        let table = table(&cut, 1, &[]).expect("a table");
        let refused = job(&function, &changed, 1, &table).check();
        assert!(matches!(refused, Err(Error::ApiMisuse(_))), "{changed:?}");
        assert!(job(&function, &cut, 1, &table).check().is_ok());
    }
}

/// A run that cannot end for want of OTs ends before its stage, which sends much and works long.
#[test]
fn a_join_of_more_ots_than_a_session_has_ends_before_its_stage() {
    const BITS: usize = 1 << 16;
    let wide = Builder::new();
    let (x, y) = (wide.bus("x", BITS), wide.bus("y", BITS));
    let ands = x.bits().zip(y.bits()).map(|(x, y)| x & y);
    let sum = ands.reduce(|sum, and| sum ^ and).expect("an AND");
    wide.output("sum", &Bus::from_bits(&wide, [sum]));
    let wide = Component::new("wide", wide.finish().expect("a circuit"));
    let plan = plan([3, 3], 1, JoinSide::Left);
    let mut builder = builder(&plan);
    let ty = format!("bits[{BITS}]");
    builder
        .component("wide", wide)
        .input("x", &ty, Role::Garbler)
        .input("y", &ty, Role::Evaluator)
        .value("sums", &ty)
        .repeat("k", 0, BITS as u64, |each, k| {
            let given = ["x", "y"].map(Part::of);
            each.call([Part::of("sums").at(k)], "wide", given);
        })
        .output("sums", &ty, Recipient::Both, Part::of("sums"));
    let function = builder.finish().expect("a function");
    assert!(function.and_gates() > 1 << 32);
    let ended = in_memory(|party, session| {
        let table = table(&plan, party, &[])?;
        let zeros = tacit::Value::from_bits(&Type::bits(BITS), &[false; BITS])?;
        let job = job(&function, &plan, party, &table).input(["x", "y"][party], zeros);
        // Without the refusal it would work for hours.
        let job = job.time_limit(Duration::from_secs(60));
        let refused = job.run(session).expect_err("too few OTs");
        Ok((refused, session.traffic().sent.bytes))
    });
    for (refused, sent) in ended.map(|ended| ended.expect("a refusal")) {
        let told = refused.with_advice();
        let is_used_up = matches!(
            refused,
            Error::Protocol(ProtocolError::TransfersUsedUp { .. })
        );
        assert!(is_used_up && told.contains("OT extension silent"), "{told}");
        assert!(sent < 500, "{sent}");
    }
}

/// Parties that mean different joins, here with different keys, do not start.
#[test]
fn a_peer_with_another_plan_is_refused() {
    let changes: [fn(&mut JoinPlan); 4] = [
        |plan| plan.left.key[0].kind = KeyKind::Bytes,
        // Columns of the same types, but one party means others.
        |plan| plan.right.key[0].field.push('2'),
        |plan| plan.right.row[0].field.push('2'),
        |plan| plan.left.input.push('2'),
    ];
    for change in changes {
        let ours = plan([3, 3], 1, JoinSide::Left);
        let mut theirs = ours.clone();
        change(&mut theirs);
        let function = function(&ours);
        let ended = in_memory(|party, session| {
            let plan = [&ours, &theirs][party];
            let table = table(plan, party, &[])?;
            job(&function, plan, party, &table).run(session)
        });
        for ended in ended {
            let refused = ended.expect_err("two plans");
            assert_eq!(refused.category(), Category::Incompatible, "{refused}");
        }
    }
}

fn params() -> Vec<OpenParam> {
    let param = |name: &str, party: usize| OpenParam {
        name: name.to_owned(),
        minimum: 0,
        maximum: 100,
        input: ["left", "right"][party].to_owned(),
        owner: ROLES[party],
        counted: Counted::Rows,
    };
    vec![param("N", 0), param("M", 1)]
}

/// Returns all sizes that each party then knows.
fn told(
    meanings: [u8; 2],
    known: [&[(&str, u64)]; 2],
) -> [Result<BTreeMap<String, u64>, Error>; 2] {
    in_memory(|party, session: &mut Session| {
        let known = known[party].iter();
        let known = known
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect();
        let meaning = Digest([meanings[party]; 32]);
        session.tell_sizes(meaning, &params(), ROLES[party], &known)
    })
}

#[test]
fn each_party_announces_the_sizes_of_its_table() {
    let all = BTreeMap::from([("N".to_owned(), 7), ("M".to_owned(), 100)]);
    for known in [
        [&[("N", 7)][..], &[("M", 100)]],
        [&[("N", 7), ("M", 100)], &[("M", 100)]],
    ] {
        for values in told([1, 1], known) {
            assert_eq!(values.expect("values"), all);
        }
    }
    let other = told([1, 1], [&[("N", 7), ("M", 9)], &[("M", 100)]]);
    let refused = other[0].as_ref().expect_err("another size");
    assert_eq!(refused.category(), Category::Incompatible);
    assert!(
        refused
            .to_string()
            .contains("M = 100, and this party was told 9"),
        "{refused}"
    );
    for refused in told([1, 2], [&[("N", 7)], &[("M", 3)]]) {
        assert_eq!(
            refused.expect_err("two programs").category(),
            Category::Incompatible
        );
    }
    let own = told([1, 1], [&[("N", 101)], &[("M", 3)]]);
    let refused = own[0].as_ref().expect_err("out of its range");
    assert_eq!(refused.category(), Category::Input);
    assert!(refused.to_string().contains("N is 101"), "{refused}");
}

/// One party waits for sizes and the other for a proposal, or the other way round.
#[test]
fn a_peer_whose_run_has_no_tables_is_told_apart() {
    let function = millionaires(32);
    for joining in [0, 1] {
        let ended = in_memory(|party, session| {
            if party == joining {
                let known = BTreeMap::from([(["N", "M"][party].to_owned(), 1)]);
                let told = session.tell_sizes(Digest([1; 32]), &params(), ROLES[party], &known);
                return told.map(drop);
            }
            let (name, value) = [("a", 41_u32), ("b", 40)][party];
            let job = Job::new(&function, ROLES[party]).input(name, value);
            job.run(session).map(drop)
        });
        let differences = ended.map(|ended| match ended.expect_err("no agreement") {
            Error::Protocol(ProtocolError::PeerIncompatible(difference)) => difference,
            error => panic!("{error}"),
        });
        assert!(matches!(
            differences[joining],
            Incompatibility::MatchesNoTables
        ));
        assert!(matches!(
            differences[1 - joining],
            Incompatibility::MatchesTables
        ));
    }
}

/// Which characters these are, `tacit_function::join` says.
#[test]
fn a_part_of_a_key_is_made_alike_here_too() {
    use tacit::join::KeyNormalization::{Email, None};
    let key = |how, text: &str| {
        let key = with_part(KeyEncoding::default(), KeyKind::Text(how), text.as_bytes());
        key.expect("a text")
    };
    for text in ["Ann@X\r\n", "\u{a0}ann@x\u{3000}", "ann@x \0\0"] {
        assert_eq!(key(Email, text), key(None, "ann@x"), "{text:?}");
        assert_ne!(key(None, text), key(None, "ann@x"), "{text:?}");
    }
    assert_eq!(key(None, "ann@x\0"), key(None, "ann@x"));
    let empty = with_part(KeyEncoding::default(), KeyKind::Text(Email), b"\r\n\0 ");
    assert!(empty.is_err());
}
