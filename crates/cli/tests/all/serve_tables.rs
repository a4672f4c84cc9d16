//! `tacit serve` with tables that it holds: peers match theirs with them.

use std::fmt::Write as _;

use serde_json::json;

use crate::process::{self, ChildProcess, Ended, Parties, tacit, words};

/// The configuration of a service for Bob, with these lines.
fn config(parties: &Parties, lines: &str) {
    let bob = parties.fingerprints()[1];
    let text = format!(
        "identity = \"alice.key\"\n[stock]\nfolder = \"a\"\nwitness = \"w\"\n[peers.bob]\n\
         fingerprint = \"{bob}\"\n[serve]\nlisten = \"127.0.0.1:0\"\nmetrics = \"\"\n{lines}"
    );
    parties.file("alice.toml", &text);
}

fn start(parties: &Parties) -> (ChildProcess, String) {
    let serve = ["serve", "--config", "alice.toml"];
    let mut service = process::start(parties.folder(), &serve, "");
    let address = service.line_after("listening address=");
    (service, address)
}

fn asks(parties: &Parties, address: &str, command: &str) -> Ended {
    parties.bob_starts(address, &words(command), "").end()
}

const CUSTOMERS: &str = "name,email\nAnn,Ann@Example.org\nBob,bob@example.org\nEve,\n";
const MATCH: &str = "[[serve.match]]\ntable = \"customers.csv:email\"\nnormalize = \"email\"\n\
                     drop_missing = true\nname = \"customers\"\n";

#[test]
fn a_table_is_held_and_matched_until_a_good_one_replaces_it() {
    let parties = Parties::new();
    parties.file("customers.csv", CUSTOMERS);
    parties.file(
        "visitors.csv",
        "address\nann@example.org\ncarol@example.org\n",
    );
    let check = words("serve --config alice.toml --check");
    config(&parties, &format!("keys_per_day = 1\n{MATCH}"));
    let warned = tacit(parties.folder(), &check);
    let said = "customers has 2 rows, and keys_per_day = 1";
    assert!(warned.stderr.contains(said), "{warned:?}");
    config(&parties, MATCH);
    let checked = tacit(parties.folder(), &check);
    assert!(checked.succeeded().contains("1 table"), "{checked:?}");
    let (mut service, address) = start(&parties);
    let ask = || asks(&parties, &address, "match visitors.csv --normalize email");
    assert_eq!(ask().succeeded(), "ann@example.org\n");
    let offers = asks(&parties, &address, "offers --json").json();
    let table = &offers["tables"][0];
    assert_eq!(
        (&table["name"], &table["to"]),
        (&json!("customers"), &json!("both"))
    );
    assert_eq!(table["normalize"], "email");
    assert_eq!(offers["keys_per_day"], 20_000);
    // Both tables have two keys: the peer, which connected, asks.
    assert_eq!(offers["keys_left"], 20_000 - 256);
    let offers = asks(&parties, &address, "offers");
    let text = offers.succeeded();
    assert!(text.contains("to match: customers\n  --normalize email --to both\n"));
    let command = "tacit match FILE.csv:COLUMN --normalize email --to both --with NAME\n";
    assert!(text.contains(command), "{text}");
    assert!(
        text.contains("answers 19744 more today, of 20000; a run may count as more"),
        "{text}"
    );
    // A bad table is refused whole, with its line, and the old one stays.
    parties.file("customers.csv", "name,email\nAnn,a@x\nCarol,A@x\n");
    service.signal("HUP");
    let refused = service.line_after("reload-refused");
    assert!(
        refused.contains("line 3 has the key of line 2"),
        "{refused}"
    );
    tacit(parties.folder(), &check).failed(2, &["[[serve.match]] 1", "line 3"]);
    assert_eq!(ask().succeeded(), "ann@example.org\n");
    parties.file("customers.csv", "email\ncarol@example.org\n");
    service.signal("HUP");
    service.line_after("reloaded");
    assert_eq!(ask().succeeded(), "carol@example.org\n");
    service.interrupt();
    let ended = service.end();
    ended.succeeded();
    assert!(ended.stderr.contains("offer=customers"), "{ended:?}");
    assert!(!ended.stderr.contains("example.org"), "{ended:?}");
}

#[test]
fn a_field_that_no_service_takes_is_named() {
    let parties = Parties::new();
    parties.file("customers.csv", CUSTOMERS);
    for (lines, said) in [
        ("table = \"customers.csv:mail\"\n", "no column \"mail\""),
        ("table = \"customers.csv:email\"\n", "line 4"),
        ("table = \"customers.csv:name\"\nto = \"me\"\n", "to: "),
        (
            "table = \"customers.csv:name\"\nkeep = \"last\"\n",
            "`first`",
        ),
        (
            "table = \"customers.csv:name\"\nnormalize = \"x\"\n",
            "write one of none, email",
        ),
        ("table = \"customers.csv:name\"\npeers = [\"eve\"]\n", "eve"),
    ] {
        config(&parties, &format!("[[serve.match]]\n{lines}"));
        let checked = tacit(
            parties.folder(),
            &words("serve --config alice.toml --check"),
        );
        assert!(checked.code != 0, "{lines}: {checked:?}");
        assert!(checked.stderr.contains(said), "{lines}: {checked:?}");
    }
}

/// A service that is killed at any time has counted every run that it answered.
#[test]
fn killed_services_answer_no_more_keys_a_day() {
    let parties = Parties::new();
    parties.file("customers.csv", CUSTOMERS);
    let mut visitors = "address\n".to_owned();
    for number in 0..300 {
        let _ = writeln!(visitors, "{number}@example.org");
    }
    parties.file("visitors.csv", &visitors);
    config(&parties, &format!("keys_per_day = 1000\n{MATCH}"));
    let mut answered = 0;
    let mut refused = None;
    for _ in 0..8 {
        let (mut service, address) = start(&parties);
        let run = asks(&parties, &address, "match visitors.csv --normalize email");
        service.kill();
        drop(service);
        match run.code {
            0 => answered += 1,
            _ => refused = Some(run),
        }
    }
    assert_eq!(answered, 3);
    let refused = refused.expect("a refusal");
    refused.failed(
        5,
        &["no more keys today", "from 00:00 UTC on", "keys_per_day"],
    );
}

const COMMON_SPEND: &str = "\
parties shop, bank;
param N: 0..=1_000 = len(customers);
param M: 0..=1_000 = len(payments);
struct Customer { email: text, group: u8 }
struct Payment { email: text, cents: u32 }
main(customers: [Customer; ..N] of shop, payments: [Payment; ..M] of bank,
     pairs: join customers by email with payments by email)
    -> (count: u<bits(N)> to both, spent: u<32 + bits(N)> to bank) {
    let mut count: u<bits(N)> = 0;
    let mut spent: u<32 + bits(N)> = 0;
    for p in pairs {
        count += p.matched as u<bits(N)>;
        if p.left.group == 1 { spent += p.right.cents as u<32 + bits(N)>; }
    }
    (count, spent)
}
";

const JOIN: &str = "[[serve.function]]\nfunction = \"common_spend.tacit\"\nname = \"spend\"\n\
                    role = \"garbler\"\ninput_files = { customers = \"customers.csv\" }\n\
                    results_file = \"out.jsonl\"\ndrop_missing = true\nkeep = \"first\"\n";

/// Writes payments of this many customers, each with a number that this step leads to.
fn payments(parties: &Parties, name: &str, count: u64, step: u64) -> [u64; 2] {
    let mut table = "email,cents\n".to_owned();
    let mut found = [0, 0];
    for number in (0..count).map(|row| step * row) {
        let cents = 100 + number;
        let _ = writeln!(table, "p{number}@example.org,{cents}");
        if number < 40 {
            found[0] += 1;
            found[1] += if number % 2 == 1 { cents } else { 0 };
        }
    }
    parties.file(name, &table);
    found
}

fn customers(parties: &Parties, count: u64) {
    let mut table = "group,email\n".to_owned();
    for number in 0..count {
        let _ = writeln!(table, "{},p{number}@example.org", number % 2);
    }
    // The service leaves these out.
    table += "1,\n,p1@example.org\n1,p0@example.org\n";
    parties.file("customers.csv", &table);
}

/// Starts a service that joins its table with those of Bob and Carol, who has an identity too.
fn start_for_two(parties: &Parties) -> (ChildProcess, String) {
    parties.file("common_spend.tacit", COMMON_SPEND);
    customers(parties, 40);
    let keygen = tacit(parties.folder(), &words("keygen --out carol.key"));
    let carol = keygen.succeeded().trim();
    let bob = parties.fingerprints()[1];
    let text = format!(
        "identity = \"alice.key\"\n[stock]\nfolder = \"a\"\nwitness = \"w\"\n[peers.bob]\n\
         fingerprint = \"{bob}\"\n[peers.carol]\nfingerprint = \"{carol}\"\n[serve]\n\
         listen = \"127.0.0.1:0\"\nmetrics = \"\"\n{JOIN}"
    );
    parties.file("alice.toml", &text);
    start(parties)
}

#[test]
fn two_peers_join_their_tables_with_the_one_that_is_held() {
    let parties = Parties::new();
    let (service, address) = start_for_two(&parties);
    let alice = parties.fingerprints()[0];
    for (name, count, step, identity) in [
        ("a.csv", 30, 2, "bob.key"),
        ("b.csv", 70, 1, "carol.key"),
        ("c.csv", 1, 1, "bob.key"),
        ("d.csv", 3, 50, "carol.key"),
    ] {
        let [matched, spent] = payments(&parties, name, count, step);
        let command = format!(
            "run common_spend.tacit --as bank --input payments=@{name} --json --connect {address} \
             --identity {identity} --peer {alice}"
        );
        let told = tacit(parties.folder(), &words(&command)).json();
        let expected = json!({ "count": matched, "spent": spent });
        assert_eq!(told["outputs"], expected, "{name}: {told}");
    }
    let offers = asks(&parties, &address, "offers --json").json();
    let table = &offers["tables"][0];
    let sizes = &table["sizes"];
    assert_eq!(
        (&sizes[0]["name"], &sizes[0]["is_peers"]),
        (&json!("N"), &json!(false))
    );
    assert_eq!(
        (&sizes[1]["name"], &sizes[1]["maximum"]),
        (&json!("M"), &json!(1000))
    );
    assert_eq!(table["party"], "bank");
    let told = asks(&parties, &address, "offers");
    let command = "tacit run PROGRAM.tacit --as bank --input payments=@FILE.csv --with NAME\n";
    assert!(told.succeeded().contains(command), "{told:?}");
    let inspected = words("inspect common_spend.tacit --param N=40 --json");
    let inspected = tacit(parties.folder(), &inspected).json();
    assert_eq!(table["meaning"], inspected["open_meaning"]);
    let meaning = inspected["open_meaning"].as_str().expect("a digest");
    let line = format!("  open {meaning}, as `tacit inspect` names the same program\n");
    assert!(told.stdout.contains(&line), "{told:?}");
    // Of another edition of the program the peer hears what to compare.
    let edition = COMMON_SPEND.replace("main(", "/// Another edition.\nconst MORE = 1;\nmain(");
    let edition = edition.replace("count += ", "count += MORE * ");
    parties.file("common_spend.tacit", &edition);
    let run = "run common_spend.tacit --as bank --input payments=@a.csv";
    let words = [
        "does not allow this party",
        "digest of a program that joins",
    ];
    asks(&parties, &address, run).failed(5, &words);
    service.interrupt();
    let log = service.end();
    log.succeeded();
    assert!(log.stderr.contains("offer=spend"), "{log:?}");
    let results = std::fs::read_to_string(parties.folder().join("out.jsonl")).expect("results");
    let lines = results
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let lines: Vec<serde_json::Value> = lines.collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[1]["outputs"], json!({ "count": 40 }));
    assert_eq!(
        (&lines[1]["offer"], &lines[1]["peer"]),
        (&json!("spend"), &json!("carol"))
    );
}

#[test]
fn a_joined_table_is_held_until_a_good_one_replaces_it() {
    let parties = Parties::new();
    let (mut service, address) = start_for_two(&parties);
    payments(&parties, "a.csv", 30, 2);
    let run = "run common_spend.tacit --as bank --input payments=@a.csv";
    // A peer may hide how many rows it has.
    let hidden = asks(&parties, &address, &format!("{run} --param M=900"));
    assert!(hidden.succeeded().contains("count = 20"), "{hidden:?}");
    // A table with a wrong cell is refused with its line, and the old one stays.
    parties.file("customers.csv", "email,group\na@x,1\na@x,x\n");
    service.signal("HUP");
    let refused = service.line_after("reload-refused");
    assert!(refused.contains("line 3"), "{refused}");
    let ended = asks(&parties, &address, run);
    assert!(ended.succeeded().contains("count = 20"), "{ended:?}");
    customers(&parties, 4);
    service.signal("HUP");
    service.line_after("reloaded");
    let ended = asks(&parties, &address, run);
    assert!(ended.succeeded().contains("count = 2\n"), "{ended:?}");
    service.interrupt();
    service.end().succeeded();
}

/// A public key of RFC 8410, 10.1.
const PUBLIC_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
                          MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
                          -----END PUBLIC KEY-----\n";

/// A visitor that places all its candidate keys into one bin of a join, where all share a mask,
/// finds those that this party's table has, and reads their rows.
#[test]
fn a_join_for_visitors_needs_to_say_so() {
    let parties = Parties::new();
    parties.file("common_spend.tacit", COMMON_SPEND);
    parties.file("login.pub.pem", PUBLIC_KEY);
    customers(&parties, 40);
    let site = "[[serve.visitors]]\nname = \"members\"\nkey_file = \"login.pub.pem\"\n\
                audience = \"https://tables.example\"\n";
    let check = words("serve --config alice.toml --check");
    let matched = format!("{MATCH}keep = \"first\"\n");
    for offer in [JOIN, &matched] {
        let offer = format!("{offer}peers = [\"members\"]\n");
        config(&parties, &format!("{offer}{site}"));
        let said = ["follow the protocol", "semi_honest = true"];
        tacit(parties.folder(), &check).failed(2, &said);
        let looked = tacit(parties.folder(), &words("doctor --config alice.toml"));
        assert!(looked.stdout.contains("semi_honest = true"), "{looked:?}");
        config(&parties, &format!("{offer}{site}semi_honest = true\n"));
        tacit(parties.folder(), &check).succeeded();
    }
}

#[test]
fn joins_have_the_limit_of_keys_too_and_fields_that_fit() {
    let parties = Parties::new();
    parties.file("common_spend.tacit", COMMON_SPEND);
    customers(&parties, 40);
    payments(&parties, "a.csv", 5, 2);
    config(&parties, &format!("keys_per_day = 600\n{JOIN}"));
    config(&parties, &format!("keys_per_day = 39\n{JOIN}"));
    let checked = tacit(
        parties.folder(),
        &words("serve --config alice.toml --check"),
    );
    assert!(checked.stderr.contains("has 40 rows"), "{checked:?}");
    config(&parties, &format!("keys_per_day = 600\n{JOIN}"));
    let checked = tacit(
        parties.folder(),
        &words("serve --config alice.toml --check"),
    );
    let counts = "1 function, 0 tables";
    assert!(checked.succeeded().contains(counts), "{checked:?}");
    let (service, address) = start(&parties);
    let run = "run common_spend.tacit --as bank --input payments=@a.csv";
    let mut runs = (0..4).map(|_| asks(&parties, &address, run));
    let refused = runs.find(|run| run.code != 0).expect("a refusal");
    refused.failed(5, &["no more keys today"]);
    service.interrupt();
    service.end().succeeded();
    let other = COMMON_SPEND.replace("param M: 0..=1_000 = len(payments);", "const M = 9;");
    parties.file("fixed.tacit", &other);
    for (changed, said) in [
        (JOIN.replace("common_spend", "fixed"), "leave it open"),
        (
            format!(
                "{JOIN}[[serve.stock]]\nfunction = \"common_spend.tacit\"\nrole = \"garbler\"\n\
                 protocol = \"gmw\"\nruns = 2\n"
            ),
            "no stock for a program that joins",
        ),
        (format!("{JOIN}protocols = [\"direct\"]\n"), "gmw alone"),
        (format!("{JOIN}scheme = \"prf\"\n"), "scheme"),
        (format!("{JOIN}chain = \"c\"\n"), "chain"),
        (format!("{JOIN}params = {{ N = 39 }}\n"), "39"),
        (JOIN.replace("customers.csv", "none.csv"), "none.csv"),
    ] {
        config(&parties, &changed);
        let checked = tacit(
            parties.folder(),
            &words("serve --config alice.toml --check"),
        );
        assert!(checked.code != 0, "{changed}: {checked:?}");
        assert!(checked.stderr.contains(said), "{changed}: {checked:?}");
    }
}
