//! The contents of the disks when a peer cheats while a lot of triples or of instances is made for
//! the stock, then leaves, or cheats in a run that takes some. Each test runs over the whole stack,
//! with new sessions each time.

mod destroyed;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use tacit::cost::FromStock;
use tacit::garble::SchemeId;
use tacit::protocols::{Protocol, StatisticalSecurity};
use tacit::session::BaseOt;
use tacit::stock::{
    LotPreparation, Prepared, StockName, StockedKind, Stocks, TakenNumbers, Tried, TryName,
    TryRecord,
};
use tacit::{
    Category, Error, Function, FunctionBuilder, Job, Operand, Outcome, Recipient, Role, Session,
};
use tacit_net::Transport;
use tacit_protocol::message::Kind;
use tacit_testkit::sessions::{Folders, ROLES, Trace, fingerprint, noting, over_link, session};
use tacit_testkit::tamper::{Fault, TamperingSink};

const TIMEOUT: Duration = Duration::from_millis(2500);

const SCHEME: SchemeId = SchemeId::HALF_GATES_TWO_CALL;

/// The contents of a lot.
const LOTS: [FromStock; 2] = [FromStock::Triples, FromStock::Instances];

/// The fault of the first message of a kind that a party sends.
type Lie = Option<(Role, Kind, Fault)>;

fn stocks(folders: &Folders, role: Role) -> Stocks {
    folders.stocks(role).expect("a folder")
}

fn record(folders: &Folders, role: Role) -> TryRecord {
    let name = TryName {
        own: fingerprint(role),
        peer: fingerprint(role.other()),
        role,
        tried: Tried::Authenticated,
    };
    stocks(folders, role).try_record(&name).expect("a record")
}

/// Returns a function that tells whether the garbler's number is greater than the evaluator's
/// after this many additions.
fn richer(additions: usize) -> Function {
    let mut builder = FunctionBuilder::new("richer");
    builder
        .library("compare", "comparator", &[("bits", 8)])
        .input("a", "u8", Role::Garbler)
        .input("b", "u8", Role::Evaluator)
        .value("a_is_richer", "bit");
    if additions > 0 {
        builder.library("add", "adder", &[("bits", 8)]);
    }
    let mut sum = "b".to_owned();
    for i in 0..additions {
        builder.value(&format!("sum{i}"), "u8");
        let next = format!("sum{i}");
        builder.call([&next], "add", [Operand::from(&sum), Operand::number(1)]);
        sum = next;
    }
    builder
        .call(["_", "_", "a_is_richer"], "compare", ["a", &sum])
        .output("a_is_richer", "bit", Recipient::Both, "a_is_richer");
    builder.finish().expect("a function")
}

/// Returns the number of runs for which each party has material, and whether it has any at all.
fn left(folders: &Folders, what: FromStock) -> [(u64, bool); 2] {
    ROLES.map(|role| {
        let name = StockName {
            own: fingerprint(role),
            peer: fingerprint(role.other()),
            role,
            scheme: SCHEME,
            lanes: Default::default(),
        };
        let (stocks, function) = (stocks(folders, role), richer(0));
        let asked = (StatisticalSecurity::DEFAULT, BaseOt::default());
        let left = stocks.authenticated_runs_left(&name, &function, asked, what);
        let summary = stocks.summary(&name).expect("a stock");
        let has_any = summary.kinds.iter().any(|kind| kind.available > 0);
        (left.expect("a stock"), has_any)
    })
}

/// The replacement of a party's messages.
type Lies<'a> = &'a dyn Fn(Role, Transport) -> Transport;

fn honest(_role: Role, transport: Transport) -> Transport {
    transport
}

fn lying(lie: Lie) -> impl Fn(Role, Transport) -> Transport {
    move |role, transport| match lie {
        Some((liar, kind, fault)) if liar == role => {
            transport.map_sink(|inner| Box::new(TamperingSink::on_first(inner, kind.byte(), fault)))
        }
        _ => transport,
    }
}

/// Does both parties' `work` over a new link.
fn meet<T: Send>(
    folders: &Folders,
    lies: Lies<'_>,
    work: impl Fn(Role, &mut Session, &Stocks) -> Result<T, Error> + Sync,
) -> [Result<T, Error>; 2] {
    over_link(lies, |role, transport| {
        let mut session = session(transport, role, TIMEOUT)?;
        work(role, &mut session, &stocks(folders, role))
    })
}

/// Orders the material of runs. Instances are of one component more than a run has.
fn prepare(
    folders: &Folders,
    lie: Lie,
    what: FromStock,
    runs: u64,
) -> [Result<Prepared, Error>; 2] {
    let (function, more) = (richer(0), richer(1));
    meet(folders, &lying(lie), |role, session, stocks| match what {
        FromStock::Triples => {
            LotPreparation::triples_for_runs(role, &function, runs)?.run(session, stocks)
        }
        FromStock::Instances => {
            let order = LotPreparation::instances_for_runs(role, &more, runs)?;
            order.scheme(SCHEME).run(session, stocks)
        }
        FromStock::Crosses => panic!("no lots of authenticated"),
    })
}

fn run(folders: &Folders, lie: Lie) -> [Result<Outcome, Error>; 2] {
    let function = richer(0);
    run_of(folders, &lying(lie), &function, &|_, _| ())
}

fn run_of(
    folders: &Folders,
    lies: Lies<'_>,
    function: &Function,
    taken: &(dyn Fn(Role, &TakenNumbers) + Sync),
) -> [Result<Outcome, Error>; 2] {
    meet(folders, lies, |role, session, stocks| {
        let job = Job::new(function, role)
            .by(Protocol::Authenticated, Some(stocks))
            .unwrap();
        let job = job
            .scheme(SCHEME)
            .watch_taken(|numbers| taken(role, numbers));
        let job = match role {
            Role::Garbler => job.input("a", 255_u8),
            Role::Evaluator => job.input("b", 40_u8),
        };
        job.run(session)
    })
}

fn both<T>(ended: [Result<T, Error>; 2]) -> [T; 2] {
    ended.map(|end| end.unwrap_or_else(|error| panic!("{error}")))
}

/// A peer that leaves while a lot is made, or is caught then, is charged for it, and neither party
/// has the lot in stock.
#[test]
fn a_peer_that_leaves_while_a_lot_is_made_pays_for_it() {
    let (garbler, evaluator) = (Role::Garbler, Role::Evaluator);
    for (liar, kind) in [
        (garbler, Kind::BaseOtChoice),
        (evaluator, Kind::BaseOtOffer),
    ] {
        // This is no try: it sent nothing of the lot's epoch.
        let folders = Folders::empty();
        let lie = Some((liar, kind, Fault::CloseBefore));
        let ended = prepare(&folders, lie, FromStock::Triples, 1);
        let victim = liar.other();
        assert!(ended[victim as usize].is_err(), "{kind}");
        assert_eq!(record(&folders, victim), TryRecord::default(), "{kind}");
    }
    let [triples, instances] = LOTS;
    for (what, liar, kind, fault, cheats) in [
        (
            triples,
            garbler,
            Kind::EqualityDigest,
            Fault::CloseBefore,
            0,
        ),
        (triples, garbler, Kind::EqualityDigest, Fault::FlipFirst, 1),
        (
            triples,
            evaluator,
            Kind::EqualityOpening,
            Fault::CloseBefore,
            0,
        ),
        (
            triples,
            evaluator,
            Kind::TripleOpenings,
            Fault::FlipFirst,
            1,
        ),
        (
            instances,
            garbler,
            Kind::AuthenticatedTables,
            Fault::CloseBefore,
            0,
        ),
        (instances, garbler, Kind::GateOpenings, Fault::FlipFirst, 1),
        (
            instances,
            evaluator,
            Kind::GateOpenings,
            Fault::FlipFirst,
            1,
        ),
    ] {
        let folders = Folders::empty();
        let ended = prepare(&folders, Some((liar, kind, fault)), what, 1);
        let victim = liar.other();
        assert!(ended[victim as usize].is_err(), "{kind}, {fault:?}");
        let found = record(&folders, victim);
        assert_eq!((found.unfinished, found.cheats), (1, cheats), "{kind}");
        assert_eq!(left(&folders, what), [(0, false); 2], "{kind}");
        // The next lot is made at the s that the try requires, and is not counted as a try.
        for prepared in both(prepare(&folders, None, what, 1)) {
            assert_eq!(prepared.made_at_bits, Some(47), "{kind}");
        }
        assert_eq!(record(&folders, victim).unfinished, 1, "{kind}");
        assert_eq!(left(&folders, what), [(1, true); 2], "{kind}");
        for outcome in both(run(&folders, None)) {
            assert_eq!(outcome.cost.from_stock, Some(what), "{kind}");
        }
    }
}

/// A cheat in a run destroys the rest of its lot at both parties, before the peer learns of it: all
/// components, including those that the run does not use.
#[test]
fn a_lot_whose_peer_was_caught_is_destroyed() {
    let (garbler, evaluator) = (Role::Garbler, Role::Evaluator);
    let [triples, instances] = LOTS;
    for (what, liar, kind) in [
        (triples, garbler, Kind::GateOpenings),
        (triples, garbler, Kind::GateProof),
        (triples, evaluator, Kind::LabelDigest),
        (instances, garbler, Kind::LinkMasks),
        (instances, evaluator, Kind::LinkMasks),
        (instances, garbler, Kind::ResultOpening),
    ] {
        let folders = Folders::empty();
        both(prepare(&folders, None, what, 3));
        for outcome in both(run(&folders, None)) {
            assert_eq!(outcome.cost.from_stock, Some(what));
        }
        assert_eq!(left(&folders, what), [(2, true); 2]);
        for ended in run(&folders, Some((liar, kind, Fault::FlipFirst))) {
            let error = ended.expect_err("a cheat");
            assert_eq!(error.category(), Category::Peer, "{kind}: {error}");
        }
        assert_eq!(left(&folders, what), [(0, false); 2], "{kind}");
        for role in ROLES {
            let found = record(&folders, role);
            assert_eq!((found.unfinished, found.cheats), (0, 1), "{kind}");
        }
        // The next run makes its own triples, and another lot can be made and used.
        for outcome in both(run(&folders, None)) {
            assert_eq!(outcome.cost.from_stock, None);
        }
        both(prepare(&folders, None, what, 1));
        for outcome in both(run(&folders, None)) {
            assert_eq!(outcome.cost.from_stock, Some(what));
        }
    }
}

/// Returns the kinds of instances that a party has.
fn kinds_of_instances(folders: &Folders, role: Role) -> Vec<StockedKind> {
    let name = StockName {
        own: fingerprint(role),
        peer: fingerprint(role.other()),
        role,
        scheme: SCHEME,
        lanes: Default::default(),
    };
    let kinds = stocks(folders, role).summary(&name).expect("a stock").kinds;
    let kinds = kinds.into_iter();
    kinds
        .filter(|kind| kind.name.starts_with("richer/"))
        .collect()
}

/// A connection that breaks in a run costs only what the run leased.
#[test]
fn a_lost_connection_destroys_nothing() {
    for (what, kind) in LOTS
        .into_iter()
        .zip([Kind::AuthenticatedTables, Kind::AuthenticatedLinks])
    {
        let folders = Folders::empty();
        both(prepare(&folders, None, what, 2));
        let [_, evaluator] = run(&folders, Some((Role::Garbler, kind, Fault::CloseBefore)));
        assert!(evaluator.is_err());
        assert_eq!(record(&folders, Role::Evaluator), TryRecord::default());
        assert_eq!(left(&folders, what), [(1, true); 2]);
        for outcome in both(run(&folders, None)) {
            assert_eq!(outcome.cost.from_stock, Some(what));
        }
    }
}

/// An evaluator that names other blocks than it leased gets none of the garbler's, and no message
/// of the run.
#[test]
fn an_evaluator_that_names_other_blocks_is_refused() {
    let folders = Folders::empty();
    both(prepare(&folders, None, FromStock::Triples, 2));
    // The last byte of the message belongs to the number of blocks that it names, or to their
    // start.
    for fault in [Fault::FlipLast, Fault::FlipMiddle, Fault::FlipFirst] {
        let ended = run(&folders, Some((Role::Evaluator, Kind::Leases, fault)));
        assert!(ended.iter().any(Result::is_err), "{fault:?}");
        both(prepare(&folders, None, FromStock::Triples, 2));
    }
}

/// Returns the evaluator's message about its leases of each kind: the first number, and the count.
fn naming(kinds: &[Option<(u64, u64)>]) -> Vec<u8> {
    let mut message = vec![0];
    for kind in kinds {
        message.extend(u32::from(kind.is_some()).to_le_bytes());
        if let Some((first, count)) = kind {
            message.extend(first.to_le_bytes());
            message.extend(count.to_le_bytes());
        }
    }
    message
}

/// An evaluator names instances that are used, of two lots, of one component in place of another,
/// or beyond the lot. The garbler takes none twice, and starts no run with instances that do not
/// all belong to one lot: it sends no mask of a link.
#[test]
fn an_evaluator_that_names_other_instances_gets_no_masks() {
    let function = richer(1);
    let folders = Folders::empty();
    let taken = Mutex::new(BTreeSet::new());
    let note = |role: Role, numbers: &TakenNumbers| {
        if role == Role::Garbler {
            for number in numbers.spans.iter().flat_map(|span| span.first..span.end()) {
                let is_new = taken.lock().unwrap().insert((numbers.digest, number));
                assert!(is_new, "{} {number} is taken twice", numbers.name);
            }
        }
    };
    // Two lots have enough, each with two kinds. One of them has had a run.
    both(prepare(&folders, None, FromStock::Instances, 4));
    both(run_of(&folders, &honest, &function, &note));
    both(prepare(&folders, None, FromStock::Instances, 8));
    // Lots are ordered by the ends of their kinds' digests.
    let lot = |kind: &tacit::stock::ComponentDigest| kind.0[15..].to_vec();
    let had_a_run = taken
        .lock()
        .unwrap()
        .iter()
        .map(|(kind, _)| lot(kind))
        .min();
    let first = kinds_of_instances(&folders, Role::Garbler);
    let used_first = first.iter().map(|kind| lot(&kind.digest)).min() == had_a_run;
    let used = |number: u64| {
        if used_first {
            [Some((number, 1)), Some((number, 1)), None, None]
        } else {
            [None, None, Some((number, 1)), Some((number, 1))]
        }
    };
    let one = Some((1, 1));
    for (case, named) in [
        ("used", used(0)),
        ("of two lots", [one, None, None, one]),
        ("of two lots", [None, one, one, None]),
        ("two lots", [one; 4]),
        ("of one component", [Some((1, 2)), None, None, None]),
        ("nothing", [None; 4]),
        ("beyond the lot", used(100)),
    ] {
        let copy = folders.copy();
        let traces = [Trace::default(), Trace::default()];
        let lies = |role, transport: Transport| {
            let mut noting = noting(&traces[role as usize]);
            let named = naming(&named);
            let rewrite = Box::new(move |number, kind, payload: &[u8]| {
                noting(number, kind, payload);
                let lies = role == Role::Evaluator && kind == Kind::Leases.byte();
                lies.then(|| named.clone())
            });
            transport.map_sink(|inner| Box::new(TamperingSink::rewriting(inner, rewrite)))
        };
        let before = taken.lock().unwrap().clone();
        let [garbler, _] = run_of(&copy, &lies, &function, &note);
        *taken.lock().unwrap() = before;
        let error = garbler.expect_err(case);
        assert_eq!(error.category(), Category::Peer, "{case}: {error}");
        let sent = traces[0].lock().unwrap();
        let masks = sent
            .iter()
            .filter(|(kind, _)| *kind == Kind::LinkMasks.byte());
        assert_eq!(masks.count(), 0, "{case}");
    }
}
