//! Plans compared with runs: bytes are exact, the choice takes the stock into account, and nothing
//! weaker than what was asked for is ever chosen.

use std::collections::BTreeMap;

use tacit::cost::{Cost, Phase};
use tacit::garble::{Assumption, SchemeId};
use tacit::plan::{Calibration, InStock, Plan, Planner};
use tacit::protocols::{Protocol, ThreatModel};
use tacit::scheme::default_scheme;
use tacit::stock::{BatchPreparation, Preparation, Stocks};
use tacit::{
    Category, Error, Function, FunctionBuilder, Job, Operand, Part, Recipient, Role, Session,
    Value, library,
};

use crate::pair::{Pair, ROLES};

const SLOW: &str = "33ms,50mbit";

fn given(parameters: &[(&str, u64)]) -> BTreeMap<String, u64> {
    let parameters = parameters.iter();
    parameters
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect()
}

/// A link on which the bytes decide, and not the load of this machine.
const SLOWER: &str = "33ms,1mbit";

/// Returns a planner whose machine adds nothing to the link. The tests depend on the clock only in
/// that work takes less time than the networks that are compared.
fn planner() -> Planner {
    Planner::with(SLOW.parse().expect("a link"), Calibration::default())
}

fn plan(planner: &mut Planner, name: &str, parameters: &[(&str, u64)]) -> Plan {
    let function = library::function(name, &given(parameters)).expect("a function");
    planner.plan(function).expect("a plan")
}

/// Returns what garbler and evaluator get from `work` over a session whose link the evaluator
/// knows.
fn over_slow_link<T: Send>(
    pair: &Pair,
    work: impl Fn(Role, &mut Session, &Stocks) -> Result<T, Error> + Sync,
) -> (T, T) {
    let [garbler, evaluator] = pair.both(|party, session, stocks| {
        if party == 1 {
            session.set_link(SLOW.parse().expect("a link"));
        }
        work(ROLES[party], session, stocks)
    });
    (garbler.expect("a run"), evaluator.expect("a run"))
}

/// Creates a job on inputs of zeros.
fn job<'f>(function: &'f Function, role: Role, scheme: SchemeId) -> Job<'f> {
    zeros(Job::new(function, role).scheme(scheme), function, role)
}

fn zeros<'f>(job: Job<'f>, function: &'f Function, role: Role) -> Job<'f> {
    let inputs = function.inputs().iter().filter(|input| input.owner == role);
    inputs.fold(job, |job, input| {
        let zeros = vec![false; input.port.ty.width()];
        let value = Value::from_bits(&input.port.ty, &zeros).expect("a value");
        job.input(&input.port.name, value)
    })
}

/// Returns the evaluator's cost of a session's second run, which contains neither base OTs nor
/// leases.
fn second_run(function: &Function, scheme: SchemeId, protocol: Protocol) -> Cost {
    let costs = over_slow_link(&Pair::in_folders(), |role, session, stocks| {
        let prepared = protocol == Protocol::Prepared;
        if prepared {
            let order = Preparation::new(role)
                .scheme(scheme)
                .enough_for(function, 2)?;
            order.run(session, stocks)?;
        }
        let mut last = None;
        for ahead in [1, 0] {
            let mut job = job(function, role, scheme);
            if prepared {
                job = job.prepared(stocks).lease_ahead(ahead);
            }
            last = Some(job.run(session)?.cost);
        }
        Ok(last.expect("two runs"))
    });
    costs.1
}

/// Returns a function with more early and late links than a frame holds, assignments in between,
/// and a result for the garbler alone.
fn wide() -> Function {
    let mut builder = FunctionBuilder::new("wide");
    builder
        .library("add", "adder", &[("bits", 1024)])
        .input("x", "u1024[5]", Role::Garbler)
        .input("y", "u1024[5]", Role::Evaluator)
        .value("sum", "u1024[5]")
        .value("chain", "u1024[6]")
        .assign(Part::of("chain").at(0), Operand::number(0))
        .repeat("i", 0, 5, |each, i| {
            each.call(
                [Part::of("sum").at(i)],
                "add",
                [Part::of("x").at(i), Part::of("y").at(i)],
            );
            each.call(
                [Part::of("chain").at(i.plus(1))],
                "add",
                [Part::of("sum").at(i), Part::of("chain").at(i)],
            );
        })
        .output(
            "result",
            "u1024",
            Recipient::Garbler,
            Part::of("chain").at(5),
        );
    builder.finish().expect("a function")
}

/// Returns a function with a result whose decoding takes several frames.
fn long() -> Function {
    let mut builder = FunctionBuilder::new("long");
    builder
        .library("add", "adder", &[("bits", 1024)])
        .input("x", "u1024[40]", Role::Garbler)
        .input("y", "u1024", Role::Evaluator)
        .value("sum", "u1024[40]")
        .repeat("i", 0, 40, |each, i| {
            each.call(
                [Part::of("sum").at(i)],
                "add",
                [Part::of("x").at(i), Part::of("y")],
            );
        })
        .output("result", "u1024[40]", Recipient::Evaluator, "sum");
    builder.finish().expect("a function")
}

#[test]
fn bytes_are_those_of_runs() {
    let function = |name, parameters: &[(&str, u64)]| {
        library::function(name, &given(parameters)).expect("a function")
    };
    let functions = [
        wide(),
        long(),
        function("levenshtein", &[("n", 12), ("m", 15)]),
        function(
            "levenshtein-mixed",
            &[("n", 21), ("m", 7), ("side", 8), ("border", 4)],
        ),
        function("aes-128-cbc-parts", &[("blocks", 3), ("part", 2)]),
        function("millionaires", &[]),
    ];
    for function in &functions {
        for scheme in [
            SchemeId::HALF_GATES_TWO_CALL,
            SchemeId::THREE_HALVES,
            SchemeId::PRF,
        ] {
            let mut planner = planner().scheme(scheme);
            let plan = planner.plan(function.clone()).expect("a plan");
            for one in &plan.alternatives {
                let cost = second_run(function, scheme, one.protocol);
                let bytes = |phase: Phase| {
                    let phases = cost.phases.iter().filter(|cost| cost.phase == phase);
                    let traffic = phases.map(|cost| &cost.traffic);
                    traffic.fold((0, 0), |(received, sent), traffic| {
                        (received + traffic.received.bytes, sent + traffic.sent.bytes)
                    })
                };
                let (received, sent) = bytes(Phase::Run);
                let traffic = &one.traffic;
                let (early, late) = (traffic.garbler_early_bytes, traffic.garbler_late_bytes);
                let back = traffic.evaluator_bytes;
                let (planned, found) = match one.protocol {
                    Protocol::Prepared => {
                        let (before, _) = bytes(Phase::Preparation);
                        ([early, late, back], [before, received, sent])
                    }
                    _ => ([0, early + late, back], [0, received, sent]),
                };
                let name = (function.name(), one.protocol.name());
                assert_eq!(planned, found, "{name:?} under {scheme}");
            }
        }
    }
}

/// A party that names no scheme and gives its sessions no link runs what is planned by default.
/// That does not depend on the link.
#[test]
fn bytes_by_default_are_those_of_runs_that_are_told_nothing() {
    let lengths = given(&[("n", 12), ("m", 15)]);
    let function = library::function("levenshtein", &lengths).expect("a function");
    let mut planned = Vec::new();
    for asked in [ThreatModel::SemiHonest, ThreatModel::Malicious] {
        let mut planner = planner().by_default().threat_model(asked);
        planned.extend(planner.plan(function.clone()).expect("a plan").alternatives);
    }
    assert_eq!(planned.len(), 4, "one of each protocol: {planned:?}");
    for one in planned {
        let of = |role| Job::new(&function, role);
        let [_, evaluator] = Pair::in_folders().both(|party, session, stocks| {
            let role = ROLES[party];
            if one.protocol == Protocol::Prepared {
                let order = Preparation::new(role).enough_for(&function, 2)?;
                order.run(session, stocks)?;
            }
            let mut last = None;
            for ahead in [1, 0] {
                let job = match one.protocol {
                    Protocol::Prepared => of(role).prepared(stocks).lease_ahead(ahead),
                    Protocol::Authenticated => of(role).authenticated(),
                    Protocol::Batch => return Ok(None),
                    _ => of(role),
                };
                last = Some(zeros(job, &function, role).run(session)?.cost);
            }
            Ok::<_, Error>(last)
        });
        let Some(cost) = evaluator.expect("two runs") else {
            continue;
        };
        let phases = cost.phases.iter();
        let phases = phases.filter(|cost| [Phase::Preparation, Phase::Run].contains(&cost.phase));
        let bytes = phases.map(|cost| cost.traffic.received.bytes + cost.traffic.sent.bytes);
        let traffic = &one.traffic;
        let all =
            traffic.garbler_early_bytes + traffic.garbler_late_bytes + traffic.evaluator_bytes;
        assert_eq!(bytes.sum::<u64>(), all, "{}", one.protocol.name());
    }
}

#[test]
fn what_nothing_protects_against_is_refused() {
    let function = library::function("millionaires", &BTreeMap::new()).expect("a function");
    let asked = ThreatModel::MaliciousNonColluding;
    let mut planner = planner().threat_model(asked);
    let error = planner.plan(function).expect_err("no protocol");
    assert_eq!(error.category(), Category::Usage);
    let text = error.to_string();
    for word in [&asked.to_string()[..], "direct", "batch", "semi-honest"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

/// The bytes are those of a run, without its other phases. Nothing weaker than what was asked for
/// is considered.
#[test]
fn against_a_malicious_party_it_is_a_batch_once_one_is_prepared() {
    let function = library::function("millionaires", &given(&[("bits", 8)])).expect("a function");
    let asked = || planner().threat_model(ThreatModel::Malicious).runs(1);
    let plan = asked().plan(function.clone()).expect("a plan");
    let by = |protocol| {
        let all = plan.alternatives.iter();
        all.filter(move |one| one.protocol == protocol)
    };
    // Half-gates with either hash, and three-halves.
    assert_eq!(by(Protocol::Authenticated).count(), 2);
    assert_eq!(by(Protocol::Batch).count(), 3);
    assert_eq!(plan.alternatives.len(), 5);
    assert_eq!(plan.choice().protocol, Protocol::Batch);
    let mut empty = asked().stock(InStock::default());
    let empty = empty.plan(function.clone()).expect("a plan");
    assert_eq!(empty.choice().protocol, Protocol::Authenticated);
    assert!(empty.choice().can_run_now());

    let scheme = default_scheme(&function);
    let (_, costs) = over_slow_link(&Pair::in_folders(), |role, session, stocks| {
        BatchPreparation::new(role, &function, 1).run(session, stocks)?;
        if role == Role::Evaluator {
            let names = stocks.list()?;
            let summaries = names.iter().map(|name| stocks.summary(name));
            let in_stock = InStock::new(summaries.collect::<Result<_, _>>()?);
            let stocked = asked().stock(in_stock).plan(function.clone())?;
            assert_eq!(stocked.choice().runs_in_stock, Some(1));
            assert!(stocked.choice().can_run_now());
        }
        // The second run of an epoch, which contains no base OTs and no corrections.
        job(&function, role, scheme).authenticated().run(session)?;
        let from_nothing = job(&function, role, scheme).authenticated().run(session)?;
        let job = job(&function, role, scheme).batch(stocks);
        Ok([job.run(session)?.cost, from_nothing.cost])
    });
    let protocols = [Protocol::Batch, Protocol::Authenticated];
    for (cost, protocol) in costs.iter().zip(protocols) {
        let online = cost.phases.iter().find(|cost| cost.phase == Phase::Run);
        let online = online.expect("an online phase").traffic;
        let planned = by(protocol).find(|one| one.scheme.is_some_and(|one| one.id == scheme));
        let traffic = planned.expect("half-gates").traffic;
        assert_eq!(
            online.received.bytes, traffic.garbler_late_bytes,
            "{protocol:?}"
        );
        assert_eq!(online.sent.bytes, traffic.evaluator_bytes, "{protocol:?}");
    }
}

#[test]
fn no_scheme_rests_on_more_than_was_asked_for() {
    for most in [
        Assumption::PseudorandomFunction,
        Assumption::RelatedKey,
        Assumption::Circular,
        Assumption::IdealCipher,
    ] {
        let plan = plan(&mut planner().assumption(most), "aes-128", &[]);
        let worst = plan
            .alternatives
            .iter()
            .filter_map(|one| one.scheme)
            .map(|scheme| scheme.assumption)
            .max();
        assert_eq!(worst, Some(most));
        assert!(
            plan.choice()
                .scheme
                .is_some_and(|scheme| scheme.assumption <= most)
        );
    }
}

#[test]
fn the_choice_is_made_from_what_is_in_stock() {
    let lengths = [("rows", 3), ("columns", 4), ("side", 8)];
    // Without a stock the choice is `prepared`, if sending bytes takes longer than any machine's
    // work on them. With an empty stock nothing can be taken from it.
    let slower = || Planner::with(SLOWER.parse().expect("a link"), Calibration::default());
    let free = plan(&mut slower(), "levenshtein-tiles", &lengths);
    assert_eq!(free.choice().protocol, Protocol::Prepared);
    assert!(free.better().is_none());
    let empty = plan(
        &mut slower().stock(InStock::default()),
        "levenshtein-tiles",
        &lengths,
    );
    assert_eq!(empty.choice().protocol, Protocol::Direct);
    let better = empty.better().expect("a faster one, once prepared");
    assert_eq!(better.protocol, Protocol::Prepared);

    // Tiles and their distance for two runs. The tiles also serve other strings under this scheme.
    let parties = Pair::in_folders();
    over_slow_link(&parties, |role, session, stocks| {
        let function = library::function("levenshtein-tiles", &given(&lengths))?;
        let order = Preparation::new(role).scheme(SchemeId::HALF_GATES_TWO_CALL);
        order.enough_for(&function, 2)?.run(session, stocks)
    });
    let theirs = parties.stocks(1);
    let names = theirs.list().expect("stocks");
    let summaries = names
        .iter()
        .map(|name| theirs.summary(name).expect("a stock"));
    let in_stock = InStock::new(summaries.collect());
    let mut planner = planner().stock(in_stock);
    let stocked = plan(&mut planner, "levenshtein-tiles", &lengths);
    let choice = stocked.choice();
    assert_eq!(choice.protocol, Protocol::Prepared, "{choice:?}");
    let scheme = choice.scheme.expect("a scheme");
    assert_eq!(scheme.id, SchemeId::HALF_GATES_TWO_CALL);
    assert_eq!(choice.runs_in_stock, Some(2));
    // Swapped lengths have as many tiles but another distance, which is not in stock.
    let turned = [("rows", 4), ("columns", 3), ("side", 8)];
    let turned = plan(&mut planner, "levenshtein-tiles", &turned);
    assert_eq!(turned.choice().protocol, Protocol::Direct);
}
