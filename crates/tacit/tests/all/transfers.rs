//! The OTs of sessions: every extension under every protocol that makes OTs, the extension that a
//! session takes, and the errors of parties that want different ones.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use tacit::cost::{Cost, Phase};
use tacit::net::Link;
use tacit::protocols::{Protocol, StatisticalSecurity};
use tacit::session::OtExtension;
use tacit::stock::{BatchPreparation, Preparation};
use tacit::{
    Category, Error, Function, FunctionBuilder, Job, Part, Recipient, Role, Session, library,
};

use crate::pair::{Pair, ROLES, bytes, in_memory, millionaires};

/// Returns this party's job on 41 and 40, whose answer is 1.
fn job(function: &Function, party: usize) -> Job<'_> {
    let (name, value) = [("a", 41_u32), ("b", 40)][party];
    Job::new(function, ROLES[party]).input(name, value)
}

fn run(job: Job<'_>, session: &mut Session) -> Result<Cost, Error> {
    let outcome = job.run(session)?;
    assert_eq!(outcome.outputs["a_is_richer"].to_text(), "1");
    Ok(outcome.cost)
}

fn phases(cost: &Cost) -> Vec<Phase> {
    cost.phases.iter().map(|one| one.phase).collect()
}

#[test]
fn every_extension_serves_direct() {
    let function = millionaires(32);
    for extension in OtExtension::NAMED {
        let [garbler, evaluator] = in_memory(|party, session| {
            // The listening party needs to be told only of silent OT.
            if party == 0 || extension == OtExtension::Silent {
                session.set_ot_extension(extension)?;
            }
            let first = run(job(&function, party), session)?;
            assert_eq!(session.ot_extension(), extension);
            assert_eq!(first.ot_extension, Some(extension));
            Ok([first, run(job(&function, party), session)?])
        })
        .map(|costs| costs.expect("results"));
        for [first, second] in [&garbler, &evaluator] {
            let refilled = extension == OtExtension::Silent;
            assert_eq!(phases(first).contains(&Phase::Refill), refilled);
            // The OTs that were made serve the later runs.
            assert_eq!(phases(second), [Phase::Agreement, Phase::Run]);
        }
        // The second run's choices: a block of OTs, or a bit for each OT.
        let sent = evaluator[1].phases[1].traffic.sent.bytes;
        let expected = match extension {
            OtExtension::SoftSpoken(field) => 5 + 16 * 128 / field.get() as u64,
            OtExtension::Silent => 5 + 32 / 8,
        };
        // The garbler's result: a bit, a hash and a header.
        assert_eq!(sent, expected + 1 + 32 + 5, "{extension}");
    }
}

#[test]
fn every_extension_serves_preparations() {
    let function = millionaires(32);
    let six = StatisticalSecurity::insecure_for_measurements(6).expect("1 to 80 bits");
    for extension in OtExtension::NAMED {
        let costs = Pair::in_folders().both(|party, session, stocks| {
            session.set_ot_extension(extension)?;
            let order = Preparation::new(ROLES[party]).enough_for(&function, 1)?;
            let prepared = order.run(session, stocks)?;
            assert_eq!(prepared.ot_extension, Some(extension));
            let cost = run(job(&function, party).prepared(stocks), session)?;
            assert_eq!(cost.ot_extension, None);
            let order = BatchPreparation::new(ROLES[party], &function, 2);
            let order = order.statistical_security(six);
            let prepared = order.run(session, stocks)?;
            assert_eq!(prepared.ot_extension, Some(extension));
            let job = job(&function, party).batch(stocks);
            run(job.statistical_security(six), session)
        });
        for cost in costs {
            cost.expect("a result");
        }
    }
}

#[test]
fn ots_are_made_ahead_between_runs() {
    let function = millionaires(32);
    let costs = in_memory(|party, session| {
        session.set_ot_extension(OtExtension::Silent)?;
        let early = session.make_ots(ROLES[party], 1);
        assert!(matches!(early, Err(Error::ApiMisuse(_))), "{early:?}");
        run(job(&function, party), session)?;
        // In the other roles everything starts again from base OTs.
        session.make_ots(ROLES[1 - party], 1000)?;
        let cost = run(job(&function, 1 - party), session)?;
        assert_eq!(phases(&cost), [Phase::Agreement, Phase::Run]);
        let traffic = session.traffic();
        session.make_ots(ROLES[party], 1000)?;
        assert_eq!(session.traffic(), traffic, "there were as many");
        Ok(())
    });
    for done in costs {
        done.expect("OTs");
    }
}

/// Returns a function of `bytes` bytes of the evaluator's, of which one goes into the result.
fn wide(bytes: u64) -> Function {
    let mut builder = FunctionBuilder::new("wide");
    builder
        .library("add", "adder", &[("bits", 8)])
        .input("x", "bytes[1]", Role::Garbler)
        .input("y", &format!("bytes[{bytes}]"), Role::Evaluator)
        .value("z", "bytes[1]")
        .call(["z"], "add", [Part::of("x"), Part::of("y").range(0, 1)])
        .output("z", "bytes[1]", Recipient::Both, "z");
    builder.finish().expect("a function")
}

/// Runs a function of 16,384 input bits of the evaluator's by each protocol that makes OTs on the
/// spot, with each party on this many threads. Returns what each has sent and received.
fn traffic_on(threads: [usize; 2], extension: OtExtension) -> [Vec<u64>; 2] {
    let function = wide(2048);
    in_memory(|party, session| {
        session.set_ot_extension(extension)?;
        let mut bytes_so_far = Vec::new();
        for protocol in [Protocol::Direct, Protocol::Gmw, Protocol::Authenticated] {
            let job = Job::new(&function, ROLES[party]).by(protocol, None)?;
            let job = job.threads(NonZeroUsize::new(threads[party]).expect("threads"));
            let job = match party {
                0 => job.input("x", bytes("01")),
                _ => job.input("y", bytes(&"02".repeat(2048))),
            };
            assert_eq!(job.run(session)?.outputs["z"].to_text(), "03");
            let traffic = session.traffic();
            bytes_so_far.extend([traffic.sent.bytes, traffic.received.bytes]);
        }
        Ok(bytes_so_far)
    })
    .map(|bytes| bytes.expect("results"))
}

#[test]
fn neither_results_nor_bytes_depend_on_threads() {
    for extension in [OtExtension::default(), OtExtension::Silent] {
        let one = traffic_on([1, 1], extension);
        for threads in [[1, 3], [3, 1]] {
            assert_eq!(traffic_on(threads, extension), one, "{threads:?}");
        }
    }
}

/// Returns the extension of a session whose connecting party knows this link.
fn over(link: Link, count: usize) -> OtExtension {
    let function = wide(count as u64);
    let [a, b] = in_memory(|party, session| {
        // The listening party's knowledge of the link changes nothing.
        let known = [
            link,
            Link::new(Duration::ZERO, 1_000_000_000_000).expect("a link"),
        ];
        session.set_link(known[party]);
        let job = Job::new(&function, ROLES[party]);
        let job = match party {
            0 => job.input("x", bytes("01")),
            _ => job.input("y", bytes(&"02".repeat(count))),
        };
        let outcome = job.run(session)?;
        assert_eq!(outcome.outputs["z"].to_text(), "03");
        Ok(session.ot_extension())
    })
    .map(|extension| extension.expect("a result"));
    assert_eq!(a, b);
    a
}

#[test]
fn the_connecting_party_chooses_by_the_link() {
    let named = |name| OtExtension::from_name(name).expect("an extension");
    let fast = Link::new(Duration::ZERO, 100_000_000_000).expect("a link");
    let slow = Link::new(Duration::from_millis(30), 1_000_000).expect("a link");
    assert_eq!(over(fast, 10_000), named("softspoken-2"));
    assert_eq!(over(slow, 10_000), named("softspoken-8"));
    // For few OTs, the trees of a large k cost more than they save.
    assert_eq!(over(slow, 8), named("softspoken-2"));
}

/// A run that consists of OTs takes half the bytes for each, also over an unknown link.
#[test]
fn runs_of_many_ots_take_a_larger_field() {
    let function = library::function("aes-128", &BTreeMap::new()).expect("a function");
    let taken = in_memory(|party, session| {
        let name = ["key", "block"][party];
        let job = Job::new(&function, ROLES[party]).input(name, bytes(&"00".repeat(16)));
        job.authenticated().run(session)?;
        Ok(session.ot_extension())
    });
    for extension in taken {
        let extension = extension.expect("a result");
        assert_eq!(extension.to_string(), "softspoken-4");
    }
}

/// The check of the OTs leaves a peer 2^-51, whatever s is.
#[test]
fn results_state_the_bits_that_hold() {
    let function = millionaires(8);
    let security = StatisticalSecurity::new(64).expect("s");
    let stated = in_memory(|party, session| {
        let job = Job::new(&function, ROLES[party]).statistical_security(security);
        let job = job.input(["a", "b"][party], [2_u8, 1][party]);
        Ok(job.authenticated().run(session)?.statistical_security_bits)
    });
    assert_eq!(stated.map(|bits| bits.expect("a result")), [Some(51); 2]);
}

#[test]
fn parties_that_want_different_extensions_are_told_both() {
    let function = millionaires(32);
    let named = |name| OtExtension::from_name(name).expect("an extension");
    // The settings of the garbler, which connects, and of the evaluator.
    let cases = [
        (Some("softspoken-4"), Some("softspoken-8")),
        (None, Some("softspoken-4")),
        (Some("silent"), None),
        (None, Some("silent")),
    ];
    for told in cases {
        let ended = in_memory(|party, session| {
            if let Some(name) = [told.0, told.1][party] {
                session.set_ot_extension(named(name))?;
            }
            run(job(&function, party), session)
        });
        let said = [told.0, told.1].map(|name| name.unwrap_or("softspoken-2"));
        for result in ended {
            let error = result.expect_err("a difference");
            let text = error.with_advice();
            assert_eq!(error.category(), Category::Incompatible, "{told:?}: {text}");
            let names = said.iter().all(|name| text.contains(name));
            assert!(
                names && text.contains("same OT extension"),
                "{told:?}: {text}"
            );
        }
    }
}

#[test]
fn an_extension_is_chosen_once_a_session() {
    let function = millionaires(32);
    let done = in_memory(|party, session| {
        run(job(&function, party), session)?;
        let late = session.set_ot_extension(OtExtension::Silent);
        assert!(matches!(late, Err(Error::ApiMisuse(_))), "{late:?}");
        session.set_ot_extension(OtExtension::default())
    });
    for done in done {
        done.expect("what runs already");
    }
}
