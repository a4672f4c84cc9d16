//! Each message of `prepare` and of `prepared` runs, from either side, under each fault, and lies
//! of the right form: the honest party ends in time, with an error of the right kind or the right
//! result, and never with a wrong one. Its disk stays usable.

mod orders;

use std::collections::BTreeMap;
use std::fmt;

use crate::judge_each;
use crate::liar::{
    Lie, MOST, allows, ended, faults, is_blamed, is_right, millionaires, put, session, shown,
};
use tacit::advice::Remedy;
use tacit::garble::{SCHEMES, SchemeId};
use tacit::net::NetError;
use tacit::stock::{Preparation, Stocks};
use tacit::{Category, Error, Function, Job, Outcome, ProtocolError, Role, library};
use tacit_net::Transport;
use tacit_protocol::message::Kind;
use tacit_testkit::sessions::{Folders, ROLES, Trace, over_link};
use tacit_testkit::tamper::{Fault, Rewrite, TamperingSink};

/// This exceeds any changed input of a lying evaluator.
const GARBLER_INPUT: u32 = u32::MAX;
const EVALUATOR_INPUT: u32 = 40;
/// The short part of the test takes one of this many faults of a message.
const SAMPLED: usize = 5;

/// The actions of the parties in the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// They prepare for one run, which follows.
    Prepare,
    /// They have enough for one run in stock, and run twice.
    Use,
}

#[derive(Clone, Copy)]
struct Case {
    plan: Plan,
    scheme: SchemeId,
    liar: Role,
    lie: Lie,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plan, scheme, liar) = (self.plan, self.scheme, self.liar.name());
        write!(f, "{plan:?}, {scheme}, {liar} lies: {}", self.lie)
    }
}

impl Case {
    fn job<'f>(&self, function: &'f Function, stocks: &Stocks, role: Role) -> Job<'f> {
        let job = Job::new(function, role)
            .scheme(self.scheme)
            .prepared(stocks);
        match role {
            Role::Garbler => job.input("a", GARBLER_INPUT),
            Role::Evaluator => job.input("b", EVALUATOR_INPUT),
        }
    }

    fn party(
        &self,
        function: &Function,
        transport: Transport,
        folders: &Folders,
        role: Role,
    ) -> Result<Outcome, Error> {
        let stocks = folders.stocks(role)?;
        let mut session = session(transport, role)?;
        match self.plan {
            Plan::Prepare => {
                let order = Preparation::new(role).scheme(self.scheme);
                order.enough_for(function, 1)?.run(&mut session, &stocks)?;
            }
            Plan::Use => {
                let outcome = self.job(function, &stocks, role).run(&mut session)?;
                assert_eq!(outcome.outputs["a_is_richer"].to_text(), "1", "{self}");
            }
        }
        self.job(function, &stocks, role).run(&mut session)
    }

    /// Returns the honest party's outcome, and the messages that the liar would have sent.
    fn run(&self, function: &Function, folders: &Folders) -> (Result<Outcome, Error>, Trace) {
        let party = |transport, role| self.party(function, transport, folders, role);
        self.lie.run(self.liar, party)
    }

    /// Returns whether an honest party may end like this.
    fn allows(&self, result: &Result<Outcome, Error>) -> bool {
        let (stock, timeout, blamed) = match result {
            Ok(_) => (false, false, false),
            // A record of the stock that cannot be true is taken for that of an old copy.
            Err(error) => (
                error.category() == Category::Stock,
                matches!(error, Error::Network(NetError::Timeout { .. })),
                is_blamed(error),
            ),
        };
        match self.lie.fault() {
            // After some lies either party waits for the other.
            None => is_right(result) || blamed || stock || timeout,
            Some(
                fault @ (Fault::Empty
                | Fault::FlipFirst
                | Fault::FlipMiddle
                | Fault::FlipLast
                | Fault::Ones
                | Fault::Zeros
                | Fault::Repeat),
            ) => stock || allows(fault, result),
            Some(fault) => allows(fault, result),
        }
    }

    /// Returns the problem of this case, if there is one, and a description of its end.
    fn judge(&self, function: &Function, template: &Folders) -> (Option<String>, String) {
        let folders = match self.plan {
            Plan::Prepare => Folders::empty(),
            Plan::Use => template.copy(),
        };
        let (result, _) = self.run(function, &folders);
        let mut wrong = (!self.allows(&result)).then(|| format!("{self}: {}", shown(&result)));
        // Afterwards both are honest, over another connection.
        let later = Case {
            plan: Plan::Prepare,
            lie: Lie::Nothing,
            ..*self
        };
        let (again, _) = later.run(function, &folders);
        // After such a lie the parties' disks may differ, which is found now.
        let right = match &again {
            Ok(_) => is_right(&again),
            Err(error) => {
                let category = error.category();
                self.lie.is_of_values()
                    && (matches!(category, Category::Stock | Category::Peer)
                        || matches!(error, Error::Protocol(ProtocolError::PeerAborted(_))))
            }
        };
        if !right && wrong.is_none() {
            wrong = Some(format!("{self}: afterwards: {}", shown(&again)));
        }
        (wrong, format!("{}, then {}", ended(&result), ended(&again)))
    }
}

/// Returns the message about leases of OTs and of the function's one component.
fn leases(kinds: [&[[u64; 2]]; 2]) -> Vec<u8> {
    let mut message = vec![0];
    for spans in kinds {
        message.extend((spans.len() as u32).to_le_bytes());
        message.extend(spans.iter().flatten().flat_map(|field| field.to_le_bytes()));
    }
    message
}

/// The places of the fields of a stock's record: see `tacit_stock::Marks`.
const EPOCH: usize = 1;
const MEETING: usize = 25;
const CONFIRMED: usize = 33;
const FIRST_KIND: usize = 45;
const RESERVED: usize = FIRST_KIND + 32;
const LEASED: usize = RESERVED + 8;
const PUBLISHED: usize = LEASED + 8;

type Told = (
    Plan,
    &'static [Role],
    Kind,
    &'static str,
    fn(&[u8]) -> Vec<u8>,
);

const LIES: &[Told] = &{
    use Plan::{Prepare, Use};
    const G: &[Role] = &[Role::Garbler];
    const E: &[Role] = &[Role::Evaluator];
    const BOTH: &[Role] = &ROLES;
    [
        (Use, E, Kind::Leases, "short, with enough", |_| vec![1, 1]),
        (Use, E, Kind::Leases, "short for too many", |_| vec![1, 9]),
        (Use, E, Kind::Leases, "nothing", |_| leases([&[], &[]])),
        (Use, E, Kind::Leases, "more than is needed", |_| {
            leases([&[[0, 1]], &[[0, 2]]])
        }),
        (Use, E, Kind::Leases, "not in stock", |_| {
            leases([&[[0, 1]], &[[7, 1]]])
        }),
        (Use, E, Kind::Leases, "far ahead", |_| {
            leases([&[[1 << 31, 1]], &[[1 << 31, 1]]])
        }),
        (Use, E, Kind::Leases, "at the end of numbers", |_| {
            leases([&[[u64::MAX, 1]], &[[0, 1]]])
        }),
        (Use, E, Kind::Leases, "2^64 less one", |_| {
            leases([&[[u64::MAX - 1, 1]], &[[0, 1]]])
        }),
        (Use, E, Kind::Leases, "all numbers", |_| {
            leases([&[[0, u64::MAX]], &[[0, 1]]])
        }),
        (Use, E, Kind::Leases, "empty spans", |_| {
            leases([&[[0, 0], [0, 1]], &[[0, 1]]])
        }),
        (Use, E, Kind::Leases, "the same twice", |_| {
            leases([&[[0, 1], [0, 1]], &[[0, 1]]])
        }),
        (Use, E, Kind::Leases, "backwards", |_| {
            leases([&[[1, 1], [0, 1]], &[[0, 1]]])
        }),
        (Use, E, Kind::Leases, "counts that wrap", |_| {
            leases([&[[0, u64::MAX], [u64::MAX, 2]], &[[0, 1]]])
        }),
        (Use, E, Kind::Leases, "2^32 spans", |_| {
            [&[0][..], &[0xff; 4]].concat()
        }),
        (Use, G, Kind::LeasesAnswered, "behind, from 2^64", |_| {
            [&[1][..], MOST, MOST].concat()
        }),
        (Use, G, Kind::LeasesAnswered, "behind, from the end", |_| {
            [&[1][..], &1_u64.to_le_bytes(), &1_u64.to_le_bytes()].concat()
        }),
        (Use, G, Kind::LeasesAnswered, "behind, from nowhere", |_| {
            vec![1; 17]
        }),
        (Use, G, Kind::LeasesAnswered, "behind, from 0", |_| {
            [&[1][..], &[0; 16]].concat()
        }),
        (Use, BOTH, Kind::StockMarks, "another epoch", |m| {
            put(m, EPOCH, MOST)
        }),
        (Use, BOTH, Kind::StockMarks, "met 2^64 times", |m| {
            put(m, MEETING, MOST)
        }),
        (Use, G, Kind::StockMarks, "met 2^64 - 2 times", |m| {
            put(m, MEETING, &(u64::MAX - 1).to_le_bytes())
        }),
        (Use, BOTH, Kind::StockMarks, "never met", |m| {
            put(m, MEETING, &[0; 8])
        }),
        (Use, E, Kind::StockMarks, "all confirmed", |m| {
            put(m, CONFIRMED, MOST)
        }),
        (Use, G, Kind::StockMarks, "2^64 reserved", |m| {
            put(m, RESERVED, MOST)
        }),
        (Use, BOTH, Kind::StockMarks, "2^32 reserved", |m| {
            put(m, RESERVED, &(1_u64 << 32).to_le_bytes())
        }),
        (Use, BOTH, Kind::StockMarks, "all leased", |m| {
            put(m, LEASED, &1_u64.to_le_bytes())
        }),
        (Use, E, Kind::StockMarks, "2^64 leased", |m| {
            put(m, LEASED, MOST)
        }),
        (Use, G, Kind::StockMarks, "2^64 published", |m| {
            put(m, PUBLISHED, MOST)
        }),
        (Use, E, Kind::StockMarks, "nothing published", |m| {
            put(m, PUBLISHED, &[0; 8])
        }),
        (Use, BOTH, Kind::StockMarks, "no stock", |_| Vec::new()),
        (Use, BOTH, Kind::StockMarks, "more than 1 MiB", |m| {
            [m, &[0; 1 << 20]].concat()
        }),
        (Use, E, Kind::StockMarks, "no kinds", |m| {
            put(&m[..FIRST_KIND], FIRST_KIND - 4, &[0; 4])
        }),
        (
            Prepare,
            BOTH,
            Kind::StockMarks,
            "the last epoch, and nothing in it",
            |_| [&[1][..], MOST, &[5; 16], &[0; 20]].concat(),
        ),
        (Prepare, G, Kind::NewEpoch, "the last", |m| put(m, 0, MOST)),
        (Prepare, G, Kind::NewEpoch, "number 0", |m| {
            put(m, 0, &[0; 8])
        }),
        (Prepare, G, Kind::BatchBytes, "nearly nothing", |m| {
            put(m, 0, &[1, 0, 0, 0, 0, 0, 0, 0])
        }),
        (Prepare, G, Kind::BatchBytes, "2^64", |m| put(m, 0, MOST)),
        (Prepare, G, Kind::LotTables, "zeros", |m| vec![0; m.len()]),
        (Prepare, G, Kind::LotTables, "one byte of the lot", |m| {
            m[..1].to_vec()
        }),
        (Prepare, E, Kind::CotExtension, "zeros", |m| {
            vec![0; m.len()]
        }),
        (Use, G, Kind::Unmask, "another mask", |m| put(m, 0, MOST)),
        (Use, E, Kind::Corrections, "other inputs", |m| {
            vec![0; m.len()]
        }),
    ]
};

/// Returns every lie, and every message under one of `every` faults.
fn cases(function: &Function, templates: &BTreeMap<[u8; 4], Folders>, every: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for (plan, scheme) in [
        (Plan::Prepare, SCHEMES[0].id),
        (Plan::Use, SCHEMES[0].id),
        (Plan::Use, SCHEMES[SCHEMES.len() - 1].id),
    ] {
        for liar in ROLES {
            let case = |lie| Case {
                plan,
                scheme,
                liar,
                lie,
            };
            let folders = match plan {
                Plan::Prepare => Folders::empty(),
                Plan::Use => templates[&scheme.to_bytes()].copy(),
            };
            let (result, trace) = case(Lie::Nothing).run(function, &folders);
            assert!(is_right(&result), "{}", shown(&result));
            cases.extend(faults(&trace, every).into_iter().map(case));
            let trace = trace.lock().expect("no panic");
            for &(when, who, kind, what, lie) in LIES {
                if when == plan && who.contains(&liar) {
                    let sent = |message: &(u8, usize)| message.0 == kind.byte();
                    assert!(trace.iter().any(sent), "{kind} is sent by {liar:?}");
                    cases.push(case(Lie::Payload(kind, what, lie)));
                }
            }
        }
    }
    cases
}

/// Returns stocks with enough for one run, and nothing more.
fn template(function: &Function, scheme: SchemeId) -> Folders {
    let folders = Folders::empty();
    let (prepared, _) = Lie::Nothing.run(Role::Garbler, |transport, role| {
        let order = Preparation::new(role).scheme(scheme);
        let order = order.enough_for(function, 1)?;
        order.run(&mut session(transport, role)?, &folders.stocks(role)?)
    });
    prepared.expect("prepared");
    folders
}

#[test]
fn every_message_of_prepared_and_every_fault() {
    judge_all(SAMPLED, 200);
}

#[test]
#[ignore = "long: every message under every fault"]
fn every_message_of_prepared_under_every_fault() {
    judge_all(1, 800);
}

/// Judges every lie, and every message under one of `every` faults.
fn judge_all(every: usize, least: usize) {
    let function = millionaires(32);
    let schemes = [SCHEMES[0].id, SCHEMES[SCHEMES.len() - 1].id];
    let templates: BTreeMap<_, _> = schemes
        .iter()
        .map(|scheme| (scheme.to_bytes(), template(&function, *scheme)))
        .collect();
    let cases = cases(&function, &templates, every);
    judge_each(cases, least, |case| {
        case.judge(&function, &templates[&case.scheme.to_bytes()])
    });
}

/// A party cannot make the other garble on the spot for more runs than the function's size allows.
#[test]
fn a_large_function_is_garbled_on_the_spot_for_few_runs() {
    let bits = [("bits".to_owned(), 256)].into();
    let function = library::function("multiplier", &bits).expect("a function of the library");
    assert!(
        (1 << 17) / function.and_gates() < 4,
        "five runs are too many"
    );
    let folders = Folders::empty();
    let lie = Lie::Payload(Kind::Leases, "short for five", |_| vec![1, 5]);
    let (result, _) = lie.run(Role::Evaluator, |transport, role| {
        let stocks = folders.stocks(role)?;
        let job = Job::new(&function, role).prepared(&stocks);
        let input = ["a", "b"][usize::from(role == Role::Evaluator)];
        job.input(input, 3_u8).run(&mut session(transport, role)?)
    });
    let error = result.expect_err("more runs than the garbler allows");
    assert!(is_blamed(&error), "{error}");
    assert!(error.to_string().contains("number of runs"), "{error}");
}

/// A party that says that material made on the spot is gone gets it again for one run, not for
/// eight.
#[test]
fn what_was_made_on_the_spot_is_made_again_for_one_run() {
    let function = millionaires(32);
    let folders = Folders::empty();
    let short_for_eight =
        || -> Rewrite { Box::new(|_, kind, _| (kind == Kind::Leases.byte()).then(|| vec![1, 8])) };
    let [result, _] = over_link(rewritten(short_for_eight), |role, transport| {
        let stocks = folders.stocks(role)?;
        let job = Job::new(&function, role).prepared(&stocks);
        let input = ["a", "b"][usize::from(role == Role::Evaluator)];
        let job = job.input(input, 3_u8).lease_ahead(7);
        job.run(&mut session(transport, role)?)
    });
    let error = result.expect_err("more than a run");
    assert!(is_blamed(&error), "{error}");
    assert!(error.to_string().contains("number of runs"), "{error}");
}

/// Returns a transport below an evaluator whose messages are rewritten.
fn rewritten(rewrite: impl Fn() -> Rewrite) -> impl Fn(Role, Transport) -> Transport {
    move |role, transport| match role {
        Role::Garbler => transport,
        Role::Evaluator => {
            let rewrite = rewrite();
            transport.map_sink(|inner| Box::new(TamperingSink::rewriting(inner, rewrite)))
        }
    }
}

/// A party that guesses at bits of Δ and is caught may not guess again under the same Δ.
#[test]
fn a_lie_in_the_ot_extension_ends_the_epoch() {
    let function = millionaires(32);
    let folders = template(&function, SCHEMES[0].id);
    let kept = |role| {
        let stocks = folders.stocks(role).expect("a folder");
        stocks.list().expect("a folder that can be read")
    };
    assert_eq!(kept(Role::Garbler).len(), 1);
    // The second run makes OTs on the spot, from the stock's Δ.
    let case = Case {
        plan: Plan::Use,
        scheme: SCHEMES[0].id,
        liar: Role::Evaluator,
        lie: Lie::Payload(Kind::CotExtension, "one bit of a row", |m| {
            let mut lie = m.to_vec();
            let at = lie.len() / 2;
            lie[at] ^= 1;
            lie
        }),
    };
    let (result, _) = case.run(&function, &folders);
    let error = result.expect_err("a check that fails");
    assert!(matches!(error, Error::StockDestroyed { .. }), "{error}");
    assert_eq!(error.category(), Category::Peer);
    assert!(error.advice().remedies().eq([&Remedy::NewEpoch]), "{error}");
    assert!(kept(Role::Garbler).is_empty());
    assert_eq!(kept(Role::Evaluator).len(), 1);
}
