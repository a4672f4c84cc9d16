//! `tacit match`: two processes and their tables.

use serde_json::json;

use crate::process::{NOBODY, Parties, tacit, words};

/// Rows as they occur in real tables: a byte order mark, CRLF, quotes, spaces, cases, empty cells
/// and a repeated address.
const CUSTOMERS: &str = "\u{feff}name,email\r\n\"Ann, A.\",Ann@Example.org\r\n\
                         Bob,bob@example.org\r\nEve,\r\n\
                         Zoë,  ZOË@example.org \r\nAnn,ann@example.ORG\r\n";
const VISITORS: &str = "address\nzoë@example.org\nann@example.org\ncarol@example.org\n";

#[test]
fn dirty_tables_are_matched_once_it_is_said_how() {
    let parties = Parties::new();
    parties.file("customers.csv", CUSTOMERS);
    parties.file("visitors.csv", VISITORS);
    let [alice, bob] = parties.act(
        &words(
            "match customers.csv:email --normalize email --drop-missing --keep first --out \
             common.csv",
        ),
        &words("match visitors.csv --normalize email --cost"),
    );
    assert_eq!(alice.succeeded(), "");
    let common = std::fs::read_to_string(parties.folder().join("common.csv")).expect("a file");
    // A table, which `tacit match` reads again.
    assert_eq!(common, "email\nAnn@Example.org\n  ZOË@example.org \n");
    assert_eq!(bob.succeeded(), "zoë@example.org\nann@example.org\n");
    for said in [
        "left out 1 row with no valid value",
        "left out 1 row with the key of an earlier row",
        "match, secure against semi-honest parties",
        "3 of this party, 3 of the peer",
    ] {
        assert!(alice.stderr.contains(said), "{said}: {alice:?}");
    }
    assert!(bob.stderr.contains("bytes sent"), "{bob:?}");
    // Nothing is drawn in a pipe, and no key is printed.
    assert!(
        !alice.stderr.contains('\r') && !alice.stderr.contains("example"),
        "{alice:?}"
    );
}

/// The mark that `--output` puts before such texts is no part of the key, as in a join.
#[test]
fn the_mark_of_a_text_is_no_part_of_a_key() {
    let parties = Parties::new();
    parties.file("a.csv", "k\n'+49\n'=1\n'x\n");
    parties.file("b.csv", "k\n+49\n'=1\nx\n");
    let [alice, bob] = parties.act(&words("match a.csv:k"), &words("match b.csv:k"));
    assert_eq!(alice.succeeded(), "'+49\n'=1\n");
    assert_eq!(bob.succeeded(), "+49\n'=1\n");
}

/// The check precedes all messages: no peer listens.
#[test]
fn rows_that_need_a_decision_are_named_by_their_lines() {
    let parties = Parties::new();
    let [_, peer] = parties.fingerprints();
    parties.file("customers.csv", CUSTOMERS);
    parties.file("there.txt", "");
    let run = |args: &str| {
        let mut all = vec!["match"];
        all.extend(words(args));
        all.extend([
            "--connect",
            NOBODY,
            "--identity",
            "alice.key",
            "--peer",
            peer,
        ]);
        tacit(parties.folder(), &all)
    };
    for (args, said) in [
        (
            "customers.csv:email",
            "customers.csv: column \"email\" has no valid value in line 4",
        ),
        (
            "customers.csv:email --normalize email --drop-missing",
            "line 6 has the key of line 2",
        ),
        (
            "customers.csv:name --normalize date --drop-missing",
            "no row of customers.csv:name has a valid key\n  what to do: see whether it is the \
             right column, and whether its keys are of --normalize date",
        ),
        ("customers.csv:mail", "no column \"mail\""),
        ("customers.csv", "name one as in customers.csv:NAME"),
        (
            "customers.csv:name --to peer --out new.txt",
            "the peer alone",
        ),
        ("absent.csv:email", "cannot read absent.csv"),
        (
            "customers.csv:name --out there.txt",
            "there.txt already exists",
        ),
    ] {
        let ended = run(args);
        assert!(ended.code == 2 || ended.code == 3, "{ended:?}");
        assert!(ended.stderr.contains(said), "{said}: {ended:?}");
        assert!(
            !ended.stderr.to_lowercase().contains("example"),
            "{ended:?}"
        );
    }
    // Without the flag the same is no error, because the two spellings differ.
    let kept = run("customers.csv:email --drop-missing --timeout 100ms");
    assert_eq!(kept.code, 6, "{kept:?}");
}

#[test]
fn json_says_who_gets_what() {
    let parties = Parties::new();
    parties.file("a.csv", "id\n1\n2\n3\n");
    parties.file("b.csv", "n,id\nx,3\ny,1\nz,9\nw,7\n");
    let [alice, bob] = parties.act(
        &words("match a.csv:id --to peer --json"),
        &words("match b.csv:id --to me --json"),
    );
    let (alice, bob) = (alice.json(), bob.json());
    assert_eq!(bob["common"], json!(["3", "1"]));
    assert_eq!(
        (&bob["count"], &bob["keys"]),
        (&json!(2), &json!({ "own": 4, "peer": 3 }))
    );
    assert_eq!(bob["threat_model"], "semi-honest");
    assert_eq!(bob["peer"], parties.fingerprints()[0]);
    assert!(
        alice["common"].is_null() && alice["count"].is_null(),
        "{alice}"
    );

    let [alice, bob] = parties.act(
        &words("match a.csv:id --to me --json"),
        &words("match b.csv:id"),
    );
    bob.failed(
        5,
        &["with the result to both", "with the result to the peer"],
    );
    let error = alice.json()["error"].to_string();
    assert!(error.contains("with the result to both"), "{error}");
    assert!(!error.contains("function"), "{error}");
}

#[test]
fn none_in_common_of_large_tables_says_what_to_check() {
    let parties = Parties::new();
    let table = |prefix: &str| {
        let rows = (0..100).map(|row| format!("{prefix}{row}\n"));
        format!("id\n{}", rows.collect::<String>())
    };
    parties.file("a.csv", &table("A"));
    parties.file("b.csv", &table("a"));
    let [alice, bob] = parties.act(&words("match a.csv"), &words("match b.csv"));
    for ended in [&alice, &bob] {
        assert_eq!(ended.succeeded(), "");
        assert!(ended.stderr.contains("--normalize email"), "{ended:?}");
    }
    let json = words("match a.csv --json");
    let [alice, _] = parties.act(&json, &words("match b.csv"));
    let check = alice.json()["check"].to_string();
    assert!(check.contains("the columns"), "{check}");
    let same = words("match a.csv --normalize email");
    let [alice, bob] = parties.act(&same, &words("match b.csv --normalize email"));
    assert_eq!(alice.succeeded().lines().count(), 100);
    assert!(bob.succeeded().starts_with("a0\na1\n"), "{bob:?}");
    assert!(!bob.stderr.contains("no key"), "{bob:?}");
    let bob = words("match b.csv --normalize email --json");
    let [_, bob] = parties.act(&same, &bob);
    assert!(bob.json()["check"].is_null(), "{bob:?}");
}

#[test]
fn a_peer_with_too_many_keys_is_refused() {
    let parties = Parties::new();
    parties.file("a.csv", "id\n1\n2\n");
    parties.file("b.csv", "id\n1\n2\n3\n");
    let [alice, bob] = parties.act(
        &words("match a.csv --most-keys 2"),
        &words("match b.csv --to both"),
    );
    alice.failed(5, &["has 3 keys", "--most-keys 3"]);
    bob.failed(5, &[]);
    let [alice, _] = parties.act(&words("match a.csv --most-keys 3"), &words("match b.csv"));
    assert_eq!(alice.succeeded(), "1\n2\n");
}
