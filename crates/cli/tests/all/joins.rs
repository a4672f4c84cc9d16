//! Programs that join two tables: two processes, each with a CSV file.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::json;

use crate::process::{NOBODY, Parties, tacit, words};

const COMMON_SPEND: &str = "\
parties shop, bank;
param N: 0..=1_000 = len(customers);
param M: 0..=1_000 = len(payments);
struct Customer { email: text }
struct Payment { email: text, cents: u32 }
main(customers: [Customer; ..N] of shop, payments: [Payment; ..M] of bank,
     pairs: join customers by email with payments by email)
    -> (count: u<bits(N)> to both, spent: u<32 + bits(N)> to both) {
    let mut count: u<bits(N)> = 0;
    let mut spent: u<32 + bits(N)> = 0;
    for p in pairs {
        count += p.matched as u<bits(N)>;
        spent += p.right.cents as u<32 + bits(N)>;
    }
    (count, spent)
}
";

/// For each of its customers, the shop learns the amount paid, in the order of its table.
const BY_CUSTOMER: &str = "\
parties shop, bank;
const N = 6;
param M: 0..=20 = keys(payments);
struct Customer { name: text, born: u16, extra: u8 }
struct Payment { name: text, born: u16, cents: u32 }
main(customers: [Customer; ..N] of shop, payments: [Payment; ..3 * M] of bank,
     pairs: join customers by (name, born) with payments by (name, born) upto 3)
    -> (paid: [u40; N] to shop) {
    [for p in pairs {
        p.right.items[0].cents as u40 + p.right.items[1].cents as u40
            + p.right.items[2].cents as u40 + p.left.extra as u40
    }]
}
";

#[test]
fn count_and_sum_are_those_of_a_plain_join() {
    let parties = Parties::new();
    parties.file("common_spend.tacit", COMMON_SPEND);
    let emails = |range: std::ops::Range<u32>, step: u32| -> Vec<String> {
        range
            .map(|i| format!("p{}@example.org", step * i))
            .collect()
    };
    for (shop, bank) in [
        (emails(0..60, 2), emails(0..40, 3)),
        (emails(0..1, 1), emails(0..1, 1)),
        (emails(0..3, 1), emails(5..9, 1)),
        (emails(0..0, 1), emails(0..4, 1)),
    ] {
        let mut customers = "name,email\n".to_owned();
        for (row, email) in shop.iter().enumerate() {
            let _ = writeln!(customers, "\"N, {row}\",{email}");
        }
        let mut payments = "email,cents\n".to_owned();
        let mut cents = BTreeMap::new();
        for (row, email) in bank.iter().enumerate() {
            let amount = 100 + 7 * row as u64;
            let _ = writeln!(payments, "{email},{amount}");
            cents.insert(email, amount);
        }
        parties.file("customers.csv", &customers);
        parties.file("payments.csv", &payments);
        let [shop_ended, bank_ended] = parties.act(
            &words(
                "run common_spend.tacit --as shop --input customers=@customers.csv --json --cost",
            ),
            &words("run common_spend.tacit --as bank --input payments=@payments.csv --json"),
        );
        let common: Vec<u64> = shop
            .iter()
            .filter_map(|email| cents.get(email).copied())
            .collect();
        let expected = json!({ "count": common.len(), "spent": common.iter().sum::<u64>() });
        for ended in [&shop_ended, &bank_ended] {
            let told = ended.json();
            assert_eq!(told["outputs"], expected, "{told}");
            assert_eq!(told["protocol"], "gmw");
            assert_eq!(told["threat_model"], "semi-honest");
        }
        assert!(!shop_ended.stderr.contains("example.org"), "{shop_ended:?}");
    }
}

#[test]
fn a_result_by_pair_is_in_the_order_of_the_placers_rows() {
    let parties = Parties::new();
    parties.file("by_customer.tacit", BY_CUSTOMER);
    parties.file(
        "customers.csv",
        "born,name,extra\n1970,Zoë,1\n1971,Zoë,2\n1970,Ann,3\n1980,Bob,4\n",
    );
    parties.file(
        "payments.csv",
        "name,born,cents\nAnn,1970,10\nZoë,1970,5\nAnn,1970,20\nEve,1970,9\nAnn,1970,30\n",
    );
    let [shop, bank] = parties.act(
        &words("run by_customer.tacit --as shop --input customers=@customers.csv --json"),
        &words("run by_customer.tacit --as bank --input payments=@payments.csv --param M=9"),
    );
    assert_eq!(
        shop.json()["outputs"],
        json!({ "paid": [6, 0, 63, 0, 0, 0] })
    );
    bank.succeeded();
    assert!(bank.stderr.contains("M = 9"), "{bank:?}");
}

/// The check precedes all messages: no peer listens.
#[test]
fn tables_and_terms_are_checked_before_the_peer_is_met() {
    let parties = Parties::new();
    let [_, peer] = parties.fingerprints();
    parties.file("common_spend.tacit", COMMON_SPEND);
    parties.file("good.csv", "email,cents\na@x,1\nb@x,2\n");
    parties.file("twice.csv", "email,cents\na@x,1\nb@x,2\na@x,3\n");
    parties.file("empty.csv", "email,cents\na@x,1\n\"\",2\n");
    parties.file("wide.csv", "email,cents\na@x,4294967296\n");
    parties.file("short.csv", "email\na@x\n");
    let run = |args: &str| {
        let mut all = vec!["run", "common_spend.tacit", "--as", "bank"];
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
            "--input payments=@twice.csv",
            "payments in twice.csv has a key in several rows: line 4 has the key of line 2\n  \
             what to do: leave one row (`upto D`: D rows) of each key, or give --keep first",
        ),
        (
            "--input payments=@empty.csv",
            "payments in empty.csv has no valid value in line 3\n  what to do: fill them in, or \
             give --drop-missing",
        ),
        ("--input payments=@wide.csv", "wide.csv"),
        ("--input payments=@short.csv", "a column \"cents\""),
        (
            "--input payments=@good.csv --param M=1",
            "expected at most 1 rows",
        ),
        ("--timeout 1s", "bank has given no value for payments"),
        (
            "--input payments=@good.csv --security malicious",
            "semi-honest parties only",
        ),
        (
            "--input payments=@good.csv --protocol direct",
            "the protocol gmw alone",
        ),
    ] {
        let ended = run(args);
        assert!(ended.code == 2 || ended.code == 3, "{args}: {ended:?}");
        assert!(ended.stderr.contains(said), "{said}: {ended:?}");
        assert!(!ended.stderr.contains("a@x"), "{ended:?}");
    }
}

/// All rows that a join does not take are named, and the flags leave them out.
#[test]
fn dirty_rows_are_named_and_left_out() {
    let parties = Parties::new();
    let by_mail = COMMON_SPEND.replace("by email", "by email(email)");
    parties.file("common_spend.tacit", &by_mail);
    parties.file("customers.csv", "email\na@x\n A@X \n\"\"\nb@x\n");
    let payments = "\u{feff}note,email,cents\r\n\"two\nlines\",a@x,\r\nx,B@x,5\r\nx,b@X,7\r\n\
                    x, ,9\r\nx,a@x,1\r\n";
    parties.file("payments.csv", payments);
    let run = "run common_spend.tacit --as bank --input payments=@payments.csv";
    let alone = format!("--plain-loopback --connect {NOBODY}");
    for (flags, said) in [
        (
            "--threads 1",
            "payments in payments.csv has no valid value in line 2 of \"cents\", line 6\n",
        ),
        ("--drop-missing", "line 5 has the key of line 4\n"),
        ("--keep first", "--drop-missing"),
    ] {
        let ended = tacit(parties.folder(), &words(&format!("{run} {flags} {alone}")));
        assert_eq!(ended.code, 3, "{ended:?}");
        assert!(ended.stderr.contains(said), "{said}: {ended:?}");
    }
    let [shop, bank] = parties.act(
        &words(
            "run common_spend.tacit --as shop --input customers=@customers.csv --drop-missing \
             --keep first --json",
        ),
        &words(&format!("{run} --drop-missing --keep first")),
    );
    assert_eq!(shop.json()["outputs"], json!({ "count": 2, "spent": 6 }));
    for said in [
        "left out 2 rows of payments with no valid value",
        "left out 1 row of payments whose key was already taken as often as the join allows",
        "M = 2, N = 2",
    ] {
        assert!(bank.stderr.contains(said), "{said}: {bank:?}");
    }
    // Of a key that may have three rows, the first three stay.
    parties.file("by_customer.tacit", BY_CUSTOMER);
    parties.file("paid.csv", "name,born,cents\nA,1,1\nA,1,2\nA,1,4\nA,1,8\n");
    parties.file("one.csv", "name,born,extra\nA,1,0\n");
    let evaluated = tacit(
        parties.folder(),
        &words(
            "eval by_customer.tacit --input customers=@one.csv --input payments=@paid.csv --keep \
             first --json",
        ),
    );
    assert_eq!(evaluated.json()["outputs"]["paid"][0], 7);
    let refused = tacit(
        parties.folder(),
        &words(&format!(
            "run millionaires --drop-missing --input a=1 {alone}"
        )),
    );
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stderr.contains("a program that joins two"),
        "{refused:?}"
    );
}

#[test]
fn parties_that_know_other_sizes_do_not_run() {
    let parties = Parties::new();
    parties.file("common_spend.tacit", COMMON_SPEND);
    parties.file("customers.csv", "email\na@x\n");
    parties.file("payments.csv", "email,cents\na@x,1\n");
    let [shop, bank] = parties.act(
        &words("run common_spend.tacit --as shop --input customers=@customers.csv --param M=5"),
        &words("run common_spend.tacit --as bank --input payments=@payments.csv"),
    );
    shop.failed(5, &["M = 1, and this party was told 5"]);
    bank.failed(5, &[]);
}

/// Crosses are made before anybody has a table, and serve tables of these sizes and smaller ones.
#[test]
fn a_join_takes_prepared_crosses() {
    let parties = Parties::new();
    parties.file("common_spend.tacit", COMMON_SPEND);
    parties.file("customers.csv", "email\na@x\nb@x\nc@x\n");
    parties.file("payments.csv", "email,cents\nb@x,5\nc@x,7\nd@x,9\n");
    let inspected = tacit(
        parties.folder(),
        &words("inspect common_spend.tacit --param N=100,M=80 --json"),
    );
    let told = &inspected.json()["join"]["from_stock"];
    let prepare = "prepare common_spend.tacit --param N=100,M=80 --runs 2";
    let [shop, bank] = [("shop", "a"), ("bank", "b")]
        .map(|(party, stock)| format!("{prepare} --as {party} --stock {stock}"));
    for ended in parties.act(&words(&shop), &words(&bank)) {
        ended.succeeded();
        for stated in ["2 runs of common_spend", " in this party's stock; about "] {
            assert!(ended.stderr.contains(stated), "{stated}: {ended:?}");
        }
    }
    let usable: u64 = parties.usable("a").iter().sum();
    assert_eq!(Some(usable), told["crosses"].as_u64().map(|one| 2 * one));
    let run = |more: &str| {
        let [shop, bank] =
            [("shop", "a", "customers"), ("bank", "b", "payments")].map(|(party, stock, input)| {
                format!(
                    "run common_spend.tacit --as {party} --stock {stock} --input \
                     {input}=@{input}.csv --require-stock{more}"
                )
            });
        parties.act(&words(&shop), &words(&bank))
    };
    for ended in run(" --json --cost") {
        let told = ended.json();
        assert_eq!(told["outputs"], json!({ "count": 2, "spent": 12 }));
        assert_eq!(told["sizes"], json!({ "M": 3, "N": 3 }));
        assert_eq!(told["left_out"], json!({ "missing": 0, "repeated": 0 }));
        assert_eq!(told["cost"]["runs"][0]["from_stock"], "crosses", "{told}");
    }
    for ended in run("") {
        assert_eq!(ended.succeeded(), "count = 2\nspent = 12\n");
        assert!(ended.stderr.contains("crosses   from stock\n"), "{ended:?}");
    }
    for ended in run("") {
        ended.failed(
            7,
            &[
                "do not have enough in stock for a run of common_spend",
                "`tacit prepare common_spend.tacit --param M=",
            ],
        );
    }
}

/// Without the sizes nobody could say what the tables will take.
#[test]
fn crosses_for_a_join_are_ordered_by_its_sizes() {
    let parties = Parties::new();
    let [_, peer] = parties.fingerprints();
    parties.file("common_spend.tacit", COMMON_SPEND);
    let all = format!(
        "prepare common_spend.tacit --protocol gmw --param N=5 --as shop --connect {NOBODY} \
         --identity alice.key --peer {peer}"
    );
    let ended = tacit(parties.folder(), &words(&all));
    ended.failed(2, &["depend on the sizes", "--param M=1000"]);
}

/// A join runs by one protocol, so there is nothing but crosses to prepare.
#[test]
fn other_commands_refuse_a_join() {
    let parties = Parties::new();
    let [_, peer] = parties.fingerprints();
    parties.file("common_spend.tacit", COMMON_SPEND);
    let ended = tacit(
        parties.folder(),
        &words(&format!(
            "prepare common_spend.tacit --protocol prepared --as shop --connect {NOBODY} \
             --identity alice.key --peer {peer}"
        )),
    );
    ended.failed(
        2,
        &[
            "the program joins tables",
            "`tacit run` at both parties",
            "without --protocol",
        ],
    );
}

/// A plan says the bytes that a run then sends, from nothing and from stock.
#[test]
fn a_join_sends_what_its_plan_says() {
    let parties = Parties::new();
    parties.file("common_spend.tacit", COMMON_SPEND);
    let table = |heads: &str, row: &dyn Fn(u32) -> String| {
        (0..900).fold(heads.to_owned(), |text, n| text + &row(n) + "\n")
    };
    let customers = table("email\n", &|n| format!("p{}@x", 2 * n));
    let payments = table("email,cents\n", &|n| format!("p{}@x,{n}", 3 * n));
    parties.file("customers.csv", &customers);
    parties.file("payments.csv", &payments);
    let sized = "common_spend.tacit --param N=900,M=900 --ot-extension softspoken-4";
    let plan = format!("plan {sized} --link 33ms,50mbit");
    let told = tacit(parties.folder(), &words(&format!("{plan} --json"))).json();
    assert_eq!(
        told["over_links"].as_array().map(Vec::len),
        Some(4),
        "{told}"
    );
    let planned = |from: &str| told["over_links"][0][from]["bytes"].as_u64().unwrap();
    let sent = |more: &str| {
        let [shop, _] = parties.act(
            &words(&format!(
                "run {sized} --as shop --stock a --input customers=@customers.csv --json \
                 --cost{more}"
            )),
            &words(&format!(
                "run {sized} --as bank --stock b --input payments=@payments.csv{more}"
            )),
        );
        let cost = &shop.json()["cost"]["runs"][0];
        let phases = cost["phases"].as_array().expect("phases").iter();
        let phases = phases.filter(|phase| phase["phase"] == "match" || phase["phase"] == "run");
        phases
            .map(|phase| {
                phase["bytes_sent"].as_u64().unwrap() + phase["bytes_received"].as_u64().unwrap()
            })
            .sum::<u64>()
    };
    let is_near = |planned: u64, sent: u64| {
        assert!(
            planned.abs_diff(sent) < sent / 50,
            "{planned} planned, {sent} sent"
        );
    };
    is_near(planned("from_nothing"), sent(""));
    let commands = &told["commands"];
    assert_eq!(commands["run"], format!("tacit run {sized}"));
    let prepare = "tacit prepare common_spend.tacit --param N=900,M=900 --protocol gmw --runs 10 \
                   --ot-extension softspoken-4";
    assert_eq!(commands["prepare"], prepare);
    let prepare = prepare["tacit ".len()..].replace("--runs 10", "--runs 1");
    let [shop, bank] = [("shop", "a"), ("bank", "b")]
        .map(|(party, stock)| format!("{prepare} --as {party} --stock {stock}"));
    for ended in parties.act(&words(&shop), &words(&bank)) {
        ended.succeeded();
    }
    is_near(planned("from_stock"), sent(" --require-stock"));
}

/// The sizes decide which field is read, so the rows that a party encodes are those of the sizes.
#[test]
fn the_fields_that_are_read_may_depend_on_the_sizes() {
    let parties = Parties::new();
    parties.file(
        "either.tacit",
        "parties a, b;
        param N: 0..=100 = len(left);
        param M: 0..=100 = len(right);
        struct L { id: u8, few: u8, many: u8 }
        struct R { id: u8 }
        main(left: [L; ..N] of a, right: [R; ..M] of b, pairs: join left by id with right by id)
            -> (sum: u16 to both) {
            let mut sum: u16 = 0;
            for p in pairs {
                sum += if N > 2 { p.left.many as u16 } else { p.left.few as u16 };
            }
            sum
        }",
    );
    parties.file("right.csv", "id\n1\n2\n3\n");
    for (rows, sum) in [(2, "sum = 3"), (3, "sum = 60")] {
        let all = ["1,1,10", "2,2,20", "3,3,30"];
        let left = all[..rows].join("\n");
        parties.file("left.csv", &format!("id,few,many\n{left}\n"));
        let ended = parties.act(
            &words("run either.tacit --as a --input left=@left.csv"),
            &words("run either.tacit --as b --input right=@right.csv"),
        );
        for ended in ended {
            assert!(ended.succeeded().contains(sum), "{ended:?}");
        }
    }
}

#[test]
fn a_plan_of_a_join_is_told_by_link() {
    let parties = Parties::new();
    parties.file("common_spend.tacit", COMMON_SPEND);
    let plan = |more: &str| {
        let all = format!("plan common_spend.tacit --link 1ms,1gbit {more}");
        tacit(parties.folder(), &words(&all))
    };
    let ended = plan("--param N=5,M=7");
    for said in [
        "from stock",
        "loopback",
        "1ms,1gbit",
        "--runs 10",
        "silent: if both give --ot-extension silent",
        " --param N=5,M=7 --as shop --with NAME --input customers=@customers.csv\n",
        " --param N=5,M=7 --as bank --with NAME --input payments=@payments.csv\n",
    ] {
        assert!(ended.succeeded().contains(said), "{said}: {ended:?}");
    }
    for (args, said) in [
        ("--param N=5", "--param M=1000"),
        ("--param N=5,M=7 --security malicious", "semi-honest"),
        ("--param N=5,M=7 --scheme half-gates", "garbles nothing"),
    ] {
        plan(args).failed(2, &[said]);
    }
}
