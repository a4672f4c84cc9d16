//! One matching or join as several, by `--shard`: two processes for each part.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::process::{NOBODY, Parties, tacit, words};

/// Returns a column of addresses, as one party writes them.
fn column(keys: impl IntoIterator<Item = u32>, domain: &str) -> String {
    let keys = keys.into_iter().map(|key| format!("p{key}@{domain}\n"));
    format!("email\n{}", keys.collect::<String>())
}

/// Returns what both parties told as JSON about each of `parts` parts of a matching.
fn matched(parties: &Parties, parts: u32) -> Vec<[Json; 2]> {
    let part = |number: u32| {
        let [alice, bob] = ["a.csv", "b.csv"].map(|table| {
            format!("match {table} --normalize email --shard {number}/{parts} --json")
        });
        let ended = parties.act(&words(&alice), &words(&bob));
        ended.map(|ended| ended.json())
    };
    (1..=parts).map(part).collect()
}

/// Returns the number of a party's keys in a part, and the texts in common.
fn found(told: &Json) -> (u64, Vec<String>) {
    let common = told["common"].as_array().expect("a list").iter();
    let common = common.map(|key| key.as_str().expect("a text").to_lowercase());
    (
        told["keys"]["own"].as_u64().expect("a number"),
        common.collect(),
    )
}

/// Each key in common is in one part, at both parties, and each part tells the peer one size.
#[test]
fn the_parts_of_a_matching_are_the_whole() {
    let parties = Parties::new();
    for (parts, own, peers, told) in [
        // 98 of 100 keys, by the formula of a shard.
        (4, 0..100, 60..160, [98, 98]),
        (2, 0..40, 0..40, [40, 40]),
        (2, 0..9, 9..20, [9, 11]),
        (3, 0..1, 0..1, [1, 1]),
        (2, 0..0, 0..5, [0, 5]),
        (1, 0..30, 20..50, [30, 30]),
    ] {
        parties.file("a.csv", &column(own.clone(), "x.org"));
        parties.file("b.csv", &column(peers.clone(), "X.ORG"));
        let expected: BTreeSet<_> = own
            .clone()
            .filter(|key| peers.contains(key))
            .map(|key| format!("p{key}@x.org"))
            .collect();
        let mut common = [Vec::new(), Vec::new()];
        let (mut keys, mut own_keys) = ([Vec::new(), Vec::new()], [0, 0]);
        for of_part in matched(&parties, parts) {
            for (party, part) in of_part.iter().enumerate() {
                let (own, texts) = found(part);
                own_keys[party] += own;
                common[party].extend(texts);
                keys[party].push(part["keys"]["peer"].as_u64().expect("a number"));
            }
        }
        for (party, common) in common.iter().enumerate() {
            let set: BTreeSet<String> = common.iter().cloned().collect();
            assert_eq!(
                (set.len(), &set),
                (common.len(), &expected),
                "{own:?} {peers:?}"
            );
            assert_eq!(keys[party], vec![told[1 - party]; parts as usize]);
        }
        assert_eq!(own_keys, [own.len() as u64, peers.len() as u64]);
    }
}

/// A part can be run again, and has the same keys. The order of a table does not matter.
#[test]
fn a_part_of_a_matching_is_idempotent() {
    let parties = Parties::new();
    let run = |reversed: bool| {
        let keys: Vec<u32> = if reversed {
            (0..50).rev().collect()
        } else {
            (0..50).collect()
        };
        parties.file("a.csv", &column(keys, "x"));
        let run = |table: &str| format!("match {table} --shard 2/3");
        let [alice, bob] = parties.act(&words(&run("a.csv")), &words(&run("b.csv")));
        bob.succeeded();
        let said = "of this party in part 2/3, up to 50 of the peer";
        assert!(alice.stderr.contains(said), "{alice:?}");
        let mut common: Vec<_> = alice.succeeded().lines().map(str::to_owned).collect();
        common.sort_unstable();
        common
    };
    parties.file("b.csv", &column(0..50, "x"));
    let common = run(false);
    assert!((5..=30).contains(&common.len()), "{common:?}");
    assert_eq!(run(false), common);
    assert_eq!(run(true), common);
}

#[test]
fn parties_of_other_parts_do_not_match() {
    let parties = Parties::new();
    parties.file("a.csv", &column(0..5, "x"));
    for (own, peers, told) in [
        ("--shard 1/2", "--shard 2/2", ["part 1/2 of", "part 2/2 of"]),
        (
            "--shard 3/16",
            "--shard 3/8",
            ["part 3/16 of", "part 3/8 of"],
        ),
        (
            "--shard 1/2",
            "--to both",
            ["part 1/2 of", "to match keys as they are"],
        ),
    ] {
        let run = |flags: &str| format!("match a.csv {flags}");
        let [alice, bob] = parties.act(&words(&run(own)), &words(&run(peers)));
        alice.failed(5, &told);
        bob.failed(5, &[]);
        assert_eq!(bob.stdout, "");
    }
}

const CUSTOMERS: u32 = 90;

/// Puts the tables of a join into the folder, and returns the number in common and their sum.
fn tables(parties: &Parties, payers: std::ops::Range<u32>) -> (u64, u64) {
    parties.file("customers.csv", &column(0..CUSTOMERS, "x"));
    let (mut payments, mut count, mut spent) = ("email,cents\n".to_owned(), 0, 0);
    for payer in payers {
        let _ = writeln!(payments, " P{payer}@X,{}", 1_000 + payer);
        if payer < CUSTOMERS {
            count += 1;
            spent += u64::from(1_000 + payer);
        }
    }
    parties.file("payments.csv", &payments);
    (count, spent)
}

/// The path of an example.
fn example(name: &str) -> String {
    format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs a part of a join, and returns what both parties told.
fn joined(parties: &Parties, program: &str, flags: &str) -> [Json; 2] {
    let run = |party: &str, table: &str| {
        format!("run {program} --as {party} --input {table}=@{table}.csv --json {flags}")
    };
    let [shop, bank] = [run("shop", "customers"), run("bank", "payments")];
    let ended = parties.act(&words(&shop), &words(&bank));
    ended.map(|ended| ended.json())
}

/// As docs/processes.md shows it: each part leaves shares, which a second program adds up.
#[test]
fn the_parts_of_a_join_add_up_to_the_whole() {
    let parties = Parties::new();
    let program = example("15_part_of_spend.tacit");
    for payers in [40..120, 200..201, 0..0, 0..CUSTOMERS] {
        let (count, spent) = tables(&parties, payers);
        let mut shares = [Vec::new(), Vec::new()];
        for number in 1..=3 {
            let told = joined(&parties, &program, &format!("--shard {number}/3"));
            let outputs = [
                &told[0]["outputs"]["of_shop"],
                &told[1]["outputs"]["of_bank"],
            ];
            for (party, output) in outputs.into_iter().enumerate() {
                assert_eq!(told[party]["shard"], format!("{number}/3"));
                assert_eq!(told[party]["sizes"], told[0]["sizes"]);
                shares[party].push(output[0].clone());
            }
            // 90 keys are fewer than the bound of a part.
            assert_eq!(told[0]["sizes"]["N"], CUSTOMERS);
        }
        for (party, shares) in ["shop", "bank"].iter().zip(shares) {
            parties.file(&format!("{party}.json"), &json!(shares).to_string());
        }
        let sum = example("16_sum_of_parts.tacit");
        let run = |party: &str| {
            format!("run {sum} --param S=3 --as {party} --input of_{party}=@{party}.json --json")
        };
        let [shop, _] = parties.act(&words(&run("shop")), &words(&run("bank")));
        let expected = if count >= 20 {
            json!({ "count": count, "spent": spent })
        } else {
            json!({ "count": 0, "spent": 0 })
        };
        assert_eq!(shop.json()["outputs"], expected);
    }
}

/// Which keys a table has changes neither the sizes of its parts nor what the peer sends.
#[test]
fn the_sizes_of_a_part_are_those_of_its_table() {
    let parties = Parties::new();
    let program = example("11_common_spend.tacit");
    parties.file("payments.csv", "email,cents\np1@x,5\n");
    let run = |keys: std::ops::Range<u32>| {
        parties.file("customers.csv", &column(keys, "x"));
        let [shop, bank] = joined(&parties, &program, "--shard 2/4 --cost");
        assert_eq!(shop["sizes"], json!({ "N": 409, "M": 1 }));
        let phases = bank["cost"]["runs"][0]["phases"].clone();
        let phases = phases.as_array().expect("a list").iter();
        let bytes = phases.map(|phase| phase["bytes_received"].as_u64().expect("a number"));
        bytes.collect::<Vec<_>>()
    };
    assert_eq!(run(0..1_000), run(5_000..6_000));
    // The size that hides the table's is that of a part.
    let short = format!(
        "run {program} --as shop --input customers=@customers.csv --shard 2/4 --param N=408 \
         --connect {NOBODY} --identity alice.key --peer {}",
        parties.fingerprints()[1]
    );
    let ended = tacit(parties.folder(), &words(&short));
    let said = "a part of 1000 rows with a key counts as 409 keys, where 408 were agreed on";
    ended.failed(3, &[said]);
}

#[test]
fn parties_of_other_parts_do_not_join() {
    let parties = Parties::new();
    tables(&parties, 40..120);
    let program = example("11_common_spend.tacit");
    for (own, peers, told) in [
        (
            "--shard 1/2",
            "--shard 2/2",
            "it was told part 2/2 of the job, and this party part 1/2",
        ),
        (
            "--shard 3/16",
            "--shard 3/8",
            "part 3/8 of the job, and this party part 3/16",
        ),
        (
            "--shard 1/2",
            "--timeout 10s",
            "told the whole of the job, and this party part 1/2",
        ),
    ] {
        let run = |party: &str, table: &str, flags: &str| {
            format!("run {program} --as {party} --input {table}=@{table}.csv {flags}")
        };
        let [shop, bank] = parties.act(
            &words(&run("shop", "customers", own)),
            &words(&run("bank", "payments", peers)),
        );
        shop.failed(5, &[told]);
        bank.failed(5, &[]);
        assert_eq!(bank.stdout, "");
    }
}

/// A program whose sizes are fixed announces none, so the parties agree on the part as they
/// propose.
#[test]
fn a_program_with_fixed_sizes_runs_in_parts_of_that_size() {
    let parties = Parties::new();
    let (count, _) = tables(&parties, 40..120);
    let text = std::fs::read_to_string(example("11_common_spend.tacit")).expect("an example");
    let fixed = text
        .replace(
            "param N: 0..=67_108_864 = len(customers);",
            "const N = 100;",
        )
        .replace("param M: 0..=67_108_864 = len(payments);", "const M = 100;");
    let fixed = fixed.split("test ").next().expect("a program");
    parties.file("fixed.tacit", fixed);
    let parts = ["1/2", "2/2"];
    let counts = parts.map(|part| {
        let [shop, bank] = joined(&parties, "fixed.tacit", &format!("--shard {part}"));
        assert_eq!(shop["outputs"], bank["outputs"]);
        shop["outputs"]["count"].as_u64().expect("a number")
    });
    assert_eq!(counts.iter().sum::<u64>(), count);
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let run = |party: &str, table: &str, part: &str| {
        format!("run fixed.tacit --as {party} --input {table}=@{table}.csv --shard {part}")
    };
    let [shop, bank] = parties.act(
        &words(&run("shop", "customers", "1/2")),
        &words(&run("bank", "payments", "2/2")),
    );
    for ended in [&shop, &bank] {
        assert_eq!((ended.code, &*ended.stdout), (5, ""), "{ended:?}");
    }
    let said = "it was told part 2/2 of the job, and this party part 1/2";
    let [shop, bank] = [shop, bank].map(|ended| ended.stderr);
    assert!(
        shop.contains(said) || bank.contains("told part 1/2"),
        "{shop} {bank}"
    );
    // Whether a table fits depends on its size alone.
    parties.file("few.tacit", &fixed.replace("N = 100;", "N = 89;"));
    let alone = format!(
        "run few.tacit --as shop --input customers=@customers.csv --shard 1/2 --connect {NOBODY} \
         --identity alice.key --peer {}",
        parties.fingerprints()[1]
    );
    let ended = tacit(parties.folder(), &words(&alone));
    let said = "a part of 90 rows with a key counts as 90 keys, where 89 were agreed on";
    ended.failed(3, &[said]);
}

/// The check precedes all messages: no peer listens.
#[test]
fn programs_without_parts_are_refused() {
    let parties = Parties::new();
    tables(&parties, 0..3);
    let text = std::fs::read_to_string(example("11_common_spend.tacit")).expect("an example");
    let head = text.split("    -> (count").next().expect("a program");
    let head = head.replace("67_108_864", "1_000");
    parties.file(
        "by_row.tacit",
        &format!("{head} -> (paid: [u32; N] to shop) {{ [for p in pairs {{ p.right.cents }}] }}"),
    );
    parties.file(
        "outside.tacit",
        &format!(
            "{head} -> (first: u32 to both) {{ let mut sum: u32 = 0; for p in payments {{ sum += \
             p.cents; }} sum }}"
        ),
    );
    for (run, code, said) in [
        (
            "run by_row.tacit --as shop --input customers=@customers.csv --shard 1/2",
            3,
            "the result paid has an element for each row",
        ),
        (
            "run outside.tacit --as shop --input customers=@customers.csv --shard 1/2",
            3,
            "payments",
        ),
        (
            "run millionaires --role garbler --input a=1 --shard 1/2",
            2,
            "--shard 1/2 is for a program that joins two tables",
        ),
        ("match customers.csv --shard 0/2", 2, "write a part as K/S"),
        ("match customers.csv --shard 3/2", 2, "write a part as K/S"),
        (
            "match customers.csv --shard 1/4097",
            2,
            "write a part as K/S",
        ),
    ] {
        let peer = parties.fingerprints()[1];
        let all = format!("{run} --connect {NOBODY} --identity alice.key --peer {peer}");
        let ended = tacit(parties.folder(), &words(&all));
        assert_eq!(ended.code, code, "{ended:?}");
        assert!(ended.stderr.contains(said), "{said}: {ended:?}");
    }
}
