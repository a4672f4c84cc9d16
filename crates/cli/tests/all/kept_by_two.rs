//! Two processes that keep a running total, garbled, between their runs: the cookbook's program,
//! refusals, and a process killed at any instant of a run.

use std::thread;
use std::time::Duration;

use crate::process::{ChildProcess, Ended, Parties, tacit};
use serde_json::json;

const PROGRAM: &str = "
parties shop, customer;

param GOAL: 1..=1_000_000 = 100;
state total: u32 = 0;

run spend(amount: u24 of customer, percent: u8 of shop) -> (reached: bool to both) {
    total += amount as u32 * percent as u32 / 100;
    total >= GOAL
}

run look() -> (shown: u32 to both) {
    total
}

run set(to: u32 of shop) {
    total = to;
}
";

/// The protocol and the chain of both parties.
type How = [&'static str; 4];

const CHAIN: How = ["--protocol", "prepared", "--chain", "total"];
const MALICIOUS: How = ["--security", "malicious", "--chain", "total"];
const WHO: [[&str; 4]; 2] = [
    ["--as", "shop", "--stock", "a"],
    ["--as", "customer", "--stock", "b"],
];

fn parties() -> Parties {
    let parties = Parties::new();
    parties.file("total.tacit", PROGRAM);
    parties
}

/// Makes a run of the program at both parties, with their own arguments. One process may be killed.
fn both(
    (parties, how): (&Parties, How),
    entry: &str,
    own: [&[&str]; 2],
    kill: Option<(usize, Duration)>,
) -> [Ended; 2] {
    let args = |party: usize| {
        let mut all = vec!["run", "total.tacit", "--entry", entry];
        all.extend(how.iter().chain(&WHO[party]).chain(own[party]));
        if kill.is_some() {
            all.extend(["--timeout", "5s"]);
        }
        all
    };
    let (alice, address) = parties.alice_starts(&args(0), "");
    let mut both = [alice, parties.bob_starts(&address, &args(1), "")];
    if let Some((party, after)) = kill {
        thread::sleep(after);
        both[party].kill();
    }
    both.map(ChildProcess::end)
}

fn spend(run: (&Parties, How), amount: u32, kill: Option<(usize, Duration)>) -> [Ended; 2] {
    let amount = format!("amount={amount}");
    let own: [&[&str]; 2] = [&["--input", "percent=100"], &["--input", &amount]];
    both(run, "spend", own, kill)
}

/// Returns the total that both are shown.
fn look(run: (&Parties, How)) -> u64 {
    look_from(run).0
}

/// Returns the total that both are shown, and the version that it is from.
fn look_from(run: (&Parties, How)) -> (u64, u64) {
    let ended = both(run, "look", [&["--json"]; 2], None);
    let told = ended.map(|ended| ended.json());
    let shown = told
        .each_ref()
        .map(|told| told["outputs"]["shown"].as_u64());
    let from = told.each_ref().map(|told| told["chain_from"].as_u64());
    assert_eq!([shown[0], from[0]], [shown[1], from[1]]);
    let version = told[0]["chain_version"].as_str().expect("a version");
    assert_eq!(
        version.rsplit(':').next(),
        from[0].map(|from| from.to_string()).as_deref()
    );
    (shown[0].expect("a number"), from[0].expect("a version"))
}

#[test]
fn a_running_total_is_kept_by_two() {
    let parties = parties();
    let args = |party: usize| {
        let prepare = ["prepare", "total.tacit", "--entry", "spend", "--runs", "2"];
        [&prepare[..], &WHO[party]].concat()
    };
    for ended in parties.act(&args(0), &args(1)) {
        ended.succeeded();
    }
    keeps_a_total(&parties, CHAIN, "prepared");
    // The stock is not destroyed with the total, unless the command asks for it.
    let bob = parties.fingerprints()[1];
    let new_epoch = |more: &[&str]| {
        let usual = ["stock", "new-epoch", "--stock", "a", "--peer", bob];
        tacit(parties.folder(), &[&usual, more].concat())
    };
    new_epoch(&[]).failed(2, &["would be lost: total.", "--end-chains"]);
    assert_eq!(look((&parties, CHAIN)), 0);
    let ended = new_epoch(&["--end-chains"]);
    let told = "chains that ended with it: total\n";
    assert!(ended.succeeded().contains(told), "{ended:?}");
}

/// The same, if a party may cheat and nothing was prepared.
#[test]
fn a_running_total_is_kept_by_two_who_may_cheat() {
    let parties = parties();
    keeps_a_total(&parties, MALICIOUS, "authenticated");
    for ended in both((&parties, MALICIOUS), "look", [&["--cost"]; 2], None) {
        assert!(ended.stderr.contains("base OTs"), "{ended:?}");
        assert!(
            ended.stderr.contains("under the Δ of the chain"),
            "{ended:?}"
        );
        ended.succeeded();
    }
    // A pin that does not exist stops both, and both learn the reason.
    let pin = "000102030405060708090a0b0c0d0e0f:1";
    let [shop, customer] = both((&parties, MALICIOUS), "look", [&["--pin", pin], &[]], None);
    shop.failed(5, &["is pinned", "mistyped"]);
    customer.failed(6, &["its pin asks for another chain", "mistyped"]);
    // A chain belongs to one protocol.
    for ended in both((&parties, CHAIN), "look", [&[]; 2], None) {
        assert_ne!(ended.code, 0, "{ended:?}");
    }
}

fn keeps_a_total(parties: &Parties, how: How, protocol: &str) {
    let run = (parties, how);
    for ended in both(run, "start", [&[]; 2], None) {
        let said = "total at version 1, its first";
        assert!(ended.stderr.contains(said), "{ended:?}");
        assert!(
            ended.stderr.contains("this run has no results"),
            "{ended:?}"
        );
        assert_eq!(ended.succeeded(), "");
    }
    for (amount, reached) in [(60, "reached = false\n"), (40, "reached = true\n")] {
        for ended in spend(run, amount, None) {
            assert_eq!(ended.succeeded(), reached);
            for said in ["total is at version ", ", made from version "] {
                assert!(ended.stderr.contains(said), "{ended:?}");
            }
            assert!(!ended.stderr.contains("not in stock"), "{ended:?}");
        }
    }
    assert_eq!(look(run), 100);
    // A run may set the total without reading it, since the program says so.
    for to in [7, 100] {
        let given = format!("to={to}");
        for ended in both(run, "set", [&["--input", &given], &[]], None) {
            assert_eq!(ended.succeeded(), "");
        }
        assert_eq!(look(run), to);
    }
    // A second start would lose the total.
    let ended = both(run, "start", [&[]; 2], None);
    assert!(ended.iter().all(|ended| ended.code != 0), "{ended:?}");
    assert!(
        ended.iter().any(|ended| ended.stderr.contains("--replace")),
        "{ended:?}"
    );
    let stock = |command: &[&str], stock: &str| {
        let all = [&["stock"], command, &["--stock", stock]].concat();
        tacit(parties.folder(), &all)
    };
    for (place, role) in [("a", "garbler"), ("b", "evaluator")] {
        let kept = stock(&["list", "--json"], place).json()["chains"][0].clone();
        assert_eq!(kept["name"], "total");
        assert_eq!([&kept["role"], &kept["protocol"]], [role, protocol]);
        assert_eq!(kept["values"][0]["name"], "total");
        assert_eq!(kept["policy"], json!([]));
        let checked = stock(&["check"], place);
        assert!(checked.succeeded().contains("chain total"), "{checked:?}");
        stock(&["allow", "total", parties.fingerprints()[0]], place).failed(2, &["these two"]);
        let of_this = ["--protocol", protocol];
        let listed = stock(&[&["list"], &of_this[..]].concat(), place);
        let chain = format!("chain total of {protocol}\n");
        assert!(listed.succeeded().contains(&chain), "{listed:?}");
        assert!(listed.stdout.contains(" was kept last; "), "{listed:?}");
        let dropped = stock(&[&["drop-chain", "total"], &of_this[..]].concat(), place);
        assert!(
            dropped.succeeded().ends_with(" has to drop it, too\n"),
            "{dropped:?}"
        );
        stock(&["drop-chain", "total"], place).failed(2, &["no chain total"]);
    }
    // Once both parties have dropped it, it can start anew.
    for ended in both(run, "start", [&[]; 2], None) {
        ended.succeeded();
    }
    assert_eq!(look(run), 0);
}

/// A program with the same state and a run of the same meaning, and one that shows what no run of
/// the first program shows.
#[test]
fn another_program_takes_a_chain_when_both_have_adopted_it() {
    let parties = parties();
    let next = format!("{PROGRAM}run leak() -> (all: u32 to customer) {{ total }}\n");
    parties.file("next.tacit", &next);
    let old = (&parties, CHAIN);
    for ended in both(old, "start", [&[]; 2], None) {
        ended.succeeded();
    }
    let look = |program: &str| {
        let args = |party: usize| {
            let run = ["run", program, "--entry", "look"];
            [&run[..], &CHAIN, &WHO[party]].concat()
        };
        parties.act(&args(0), &args(1))
    };
    let refused = |program: &str, by: usize| {
        let ended = look(program);
        assert!(ended.iter().all(|ended| ended.code != 0), "{ended:?}");
        let says = &ended[by].stderr;
        assert!(says.contains("another program"), "{ended:?}");
        assert!(says.contains("tacit stock adopt total"), "{ended:?}");
    };
    let adopt = |place: &str, program: &str| {
        let adopt = ["stock", "adopt", "total", program, "--stock", place];
        tacit(parties.folder(), &adopt)
    };
    refused("next.tacit", 0);
    parties.file(
        "none.tacit",
        "parties a, b;\nmain(x: bool of a) -> (y: bool to b) { x }\n",
    );
    adopt("a", "none.tacit").failed(3, &["no state"]);
    adopt("a", "next.tacit").succeeded();
    refused("next.tacit", 1);
    adopt("b", "next.tacit").succeeded();
    for ended in look("next.tacit") {
        assert_eq!(ended.succeeded(), "shown = 0\n");
    }
    refused("total.tacit", 0);
}

#[test]
fn what_is_missing_is_said_before_anyone_is_met() {
    let parties = parties();
    let peer = parties.fingerprints()[1];
    let party = [
        "--listen",
        "127.0.0.1:0",
        "--identity",
        "alice.key",
        "--peer",
        peer,
    ];
    let run = |more: &[&str]| {
        tacit(
            parties.folder(),
            &[&["run"], more, &party, &WHO[0]].concat(),
        )
    };
    let spend = ["total.tacit", "--entry", "spend", "--input", "percent=1"];
    let of = |more: &[&str]| run(&[&spend[..], more].concat());
    of(&[]).failed(2, &["--protocol prepared", "tacit outsource"]);
    of(&["--protocol", "batch"]).failed(2, &["batch cannot", "--security malicious"]);
    of(&["--security", "malicious"]).failed(2, &["--chain"]);
    of(&[&MALICIOUS[..], &["--scheme", "three-halves"]].concat()).failed(2, &["three-halves"]);
    of(&["--protocol", "prepared"]).failed(2, &["--chain"]);
    of(&["--protocol", "prepared", "--replace"]).failed(2, &["--chain"]);
    let pin = "000102030405060708090a0b0c0d0e0f:1";
    of(&["--protocol", "prepared", "--pin", pin]).failed(2, &["--chain"]);
    of(&[&CHAIN[..], &["--scheme", "prf"]].concat()).failed(2, &["half-gates", "prf"]);
    of(&[&CHAIN[..], &["--allow", peer]].concat()).failed(2, &["--allow"]);
    let without = ["millionaires", "--input", "a=1"];
    let chain = [&without[..], &CHAIN].concat();
    let ended = [&["run"], &chain[..], &party, &["--role", "garbler"]].concat();
    tacit(parties.folder(), &ended).failed(2, &["neither saves nor loads"]);
}

/// Kills a process at this many instants of a purchase. Afterwards both have the total before it or
/// both the one after it, and the latter if anybody had a result.
fn kill(how: How, points: u32) {
    let parties = parties();
    let run = (&parties, how);
    for ended in both(run, "start", [&[]; 2], None) {
        ended.succeeded();
    }
    let begun = std::time::Instant::now();
    for ended in spend(run, 1, None) {
        ended.succeeded();
    }
    let wall = begun.elapsed();
    let ((mut total, mut from), mut cut) = (look_from(run), 0);
    assert_eq!(total, 1);
    for point in 0..points {
        let after = wall * (point + 1) / points;
        let ended = spend(run, 10, Some((point as usize % 2, after)));
        let results = ended
            .iter()
            .filter(|ended| ended.stdout.contains("reached"));
        let has_result = results.count() > 0;
        cut += u32::from(ended.iter().any(|ended| ended.code != 0));
        assert!(
            !ended.iter().any(|ended| ended.stderr.contains("panicked")),
            "{ended:?}"
        );
        let (now, version) = look_from(run);
        // The version before the next run tells whether this one was kept, and so does its error.
        assert_eq!(now > total, version > from, "{from}, {version}: {ended:?}");
        let said = |words: &str| ended.iter().any(|ended| ended.stderr.contains(words));
        assert!(!said("this run was kept") || now > total, "{ended:?}");
        let is_lost = said("this run was not kept") || said("this run changed nothing");
        assert!(!is_lost || now == total, "{ended:?}");
        from = version;
        let due = if has_result { &[10][..] } else { &[0, 10] };
        assert!(
            due.contains(&(now - total)),
            "{total}, then {now}: {ended:?}"
        );
        total = now;
    }
    println!("{{\"kills\":{points},\"cut\":{cut},\"total\":{total}}}");
}

#[test]
fn a_killed_process_leaves_one_total_at_both() {
    kill(CHAIN, 6);
    kill(MALICIOUS, 4);
}

#[test]
#[ignore = "long: processes killed at many instants"]
fn a_process_killed_at_many_instants() {
    kill(CHAIN, 120);
    kill(MALICIOUS, 120);
}
