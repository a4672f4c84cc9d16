//! `tacit serve` with programs of the language: tables, texts, enums, public inputs, random bits.

use std::fs;

use crate::process::{self, Ended, Parties, tacit};
use serde_json::{Value as Json, json};

const SALES: &str = "parties shop, bank;
use std::random::random;
enum Size { Small, Large }
struct Sale { id: text<6>, amount: u16 }
struct Found { id: text<6>, size: Size }
fn size(amount: u16, limit: u16) -> Size { if amount > limit { Size::Large } else { Size::Small } }
main(limit: u16 public, sales: [Sale; 3] of shop, id: text<6> of bank)
    -> (rows: [Found; 3] to shop, total: u18 to both, die: u8 to bank) {
    let mut total: u18 = 0;
    for sale in sales { if sale.id == id { total += sale.amount as u18; } }
    let rows = [for sale in sales { Found { id: sale.id, size: size(sale.amount, limit) } }];
    (rows, total, random::<u8>())
}
";

const CSV: &str = "id,amount\nab1,700\ncd2,30\nab1,5\n";

/// Writes the configuration of the shop's service, with these lines about inputs.
fn config(parties: &Parties, inputs: &str) {
    let bob = parties.fingerprints()[1];
    parties.file("sales.tacit", SALES);
    let text = format!(
        "identity = \"alice.key\"\n[stock]\nfolder = \"a\"\n[peers.bob]\nfingerprint = \"{bob}\"\n\
         [serve]\nlisten = \"127.0.0.1:0\"\nmetrics = \"\"\n\
         [[serve.function]]\nfunction = \"sales.tacit\"\nrole = \"garbler\"\n\
         public = {{ limit = \"100\" }}\nresults_file = \"out.jsonl\"\n{inputs}"
    );
    parties.file("alice.toml", &text);
}

fn check(parties: &Parties) -> Ended {
    tacit(
        parties.folder(),
        &["serve", "--config", "alice.toml", "--check"],
    )
}

/// Makes Bob's run with the service, for one id.
fn asks(parties: &Parties, address: &str, id: &str) -> Ended {
    let id = format!("id={id}");
    let words = [
        "sales.tacit",
        "--as",
        "bank",
        "--public",
        "limit=100",
        "--json",
    ];
    parties.bob_connects(address, &[&words[..], &["--input", &id]].concat(), "")
}

/// Starts the service, and asks it for the total of each of these ids.
fn totals<const N: usize>(parties: &Parties, ids: [&str; N]) -> [Json; N] {
    let mut service = process::start(parties.folder(), &["serve", "--config", "alice.toml"], "");
    let address = service.line_after("listening address=");
    let totals = ids.map(|id| {
        let outputs = asks(parties, &address, id).json()["outputs"].take();
        assert!(outputs["die"].is_u64(), "{outputs}");
        outputs["total"].clone()
    });
    service.interrupt();
    service.end().succeeded();
    totals
}

#[test]
fn a_table_in_a_file_is_read_for_every_run() {
    let parties = Parties::new();
    parties.file("sales.csv", CSV);
    config(&parties, "input_files = { sales = \"sales.csv\" }\n");
    assert_eq!(totals(&parties, ["ab1", "cd2", "none"]), [705, 30, 0]);
    let results = fs::read_to_string(parties.folder().join("out.jsonl")).expect("results");
    let line: Json = serde_json::from_str(results.lines().next().expect("a line")).expect("JSON");
    let expected = json!([
        { "id": "ab1", "size": "Large" },
        { "id": "cd2", "size": "Small" },
        { "id": "ab1", "size": "Small" },
    ]);
    assert_eq!(line["outputs"]["rows"], expected);
    // The service reads a new export without being told.
    let mut service = process::start(parties.folder(), &["serve", "--config", "alice.toml"], "");
    let address = service.line_after("listening address=");
    parties.file("sales.csv", "amount,id\n1,ab1\n2,x\n4,x\n");
    assert_eq!(asks(&parties, &address, "x").json()["outputs"]["total"], 6);
    // A broken export: the peer learns nothing about its rows.
    parties.file("sales.csv", "id,amount\nab1,70000\nb,1\nc,1\n");
    let refused = asks(&parties, &address, "x");
    refused.failed(6, &["it failed on its side"]);
    service.interrupt();
    let log = service.end();
    log.succeeded();
    assert!(log.stderr.contains("line 2 column"), "{log:?}");
    for told in [&refused, &log] {
        assert!(!told.stderr.contains("70000"), "{told:?}");
    }
    // A check names the place.
    check(&parties).failed(3, &["sales.tacit", "line 2", "amount"]);
}

#[test]
fn what_keeps_no_values_replaces_none() {
    let parties = Parties::new();
    parties.file("sales.csv", CSV);
    config(
        &parties,
        "input_files = { sales = \"sales.csv\" }\nreplace = true\n",
    );
    check(&parties).failed(2, &["replace"]);
}

const TOTAL: &str = "parties shop, customer;
state total: u32 = 0;
run spend(amount: u24 of customer, percent: u8 of shop) -> (reached: bool to both) {
    total += amount as u32 * percent as u32 / 100;
    total >= 100
}
run look() -> (shown: u32 to customer) { total }
";

#[test]
fn a_service_keeps_a_total_with_its_peer() {
    let parties = Parties::new();
    parties.file("total.tacit", TOTAL);
    parties.file("in.json", r#"{"percent":50}"#);
    let bob = parties.fingerprints()[1];
    let config = |chain: &str, protocols: &str| {
        let mut text = format!(
            "identity = \"alice.key\"\n[stock]\nfolder = \"a\"\n[peers.bob]\n\
             fingerprint = \"{bob}\"\n[serve]\nlisten = \"127.0.0.1:0\"\nmetrics = \"\"\n"
        );
        for entry in ["start", "spend", "look"] {
            text += &format!(
                "[[serve.function]]\nfunction = \"total.tacit\"\nentry = \"{entry}\"\n\
                 role = \"garbler\"\ninputs_file = \"in.json\"\n{chain}\
                 protocols = [{protocols}]\n"
            );
        }
        parties.file("alice.toml", &text);
    };
    config("", "\"prepared\"");
    check(&parties).failed(2, &["`chain`"]);
    config("chain = \"total\"\n", "\"prepared\", \"direct\"");
    check(&parties).failed(2, &["keep values"]);
    // authenticated has at most 64 bits, which the error says before a peer asks.
    let chain = "chain = \"total\"\nsecurity_bits = 70\n";
    config(chain, "\"authenticated\"");
    check(&parties).failed(2, &["64"]);
    for protocol in ["prepared", "authenticated"] {
        config("chain = \"total\"\n", &format!("\"{protocol}\""));
        let mut service =
            process::start(parties.folder(), &["serve", "--config", "alice.toml"], "");
        let address = service.line_after("listening address=");
        let run = |entry: &str, more: &[&str]| {
            let words = [
                "total.tacit",
                "--as",
                "customer",
                "--entry",
                entry,
                "--json",
            ];
            let kept = ["--protocol", protocol, "--chain", "total", "--stock", "b"];
            parties.bob_connects(&address, &[&words[..], &kept, more].concat(), "")
        };
        run("start", &[]).succeeded();
        for (amount, reached) in [("amount=120", false), ("amount=80", true)] {
            let json = run("spend", &["--input", amount]).json();
            assert_eq!(json["outputs"]["reached"], reached, "{json}");
        }
        let json = run("look", &[]).json();
        assert_eq!(json["outputs"]["shown"], 100);
        let pin = json["chain_version"].as_str().expect("a pin");
        let (chain, version) = pin.split_once(':').expect("a version");
        assert_eq!(run("look", &["--pin", pin]).json()["outputs"]["shown"], 100);
        let version: u64 = version.parse().expect("a number");
        let later = format!("{chain}:{}", version + 1);
        let refused = run("look", &["--pin", &later]);
        assert_ne!(refused.code, 0, "{refused:?}");
        assert!(refused.stderr.contains("is pinned"), "{refused:?}");
        // A second start is refused, because it would discard the total.
        assert_ne!(run("start", &[]).code, 0);
        assert_eq!(run("look", &[]).json()["outputs"]["shown"], 100);
        service.interrupt();
        service.end().succeeded();
    }
}

#[test]
fn the_values_of_a_program_are_read_from_json() {
    let parties = Parties::new();
    let sales = json!({ "sales": [
        { "id": "ab1", "amount": 1 }, { "id": "b", "amount": 2 }, { "id": "c", "amount": 3 },
    ], "other": 1 });
    parties.file("in.json", &sales.to_string());
    config(&parties, "inputs_file = \"in.json\"\n");
    assert_eq!(totals(&parties, ["c"]), [3]);
    let cat = format!(
        "inputs_command = [\"cat\", \"{}\"]\n",
        parties.folder().join("in.json").display()
    );
    config(&parties, &cat);
    assert_eq!(totals(&parties, ["b"]), [2]);
    parties.file("in.json", "{ \"sales\": 1 }");
    config(&parties, "inputs_file = \"in.json\"\n");
    check(&parties).failed(3, &["in.json", "sales", "a list"]);
    parties.file("in.json", "{}");
    check(&parties).failed(3, &["sales is missing", "sales ([Sale; 3])"]);
}

const SUMS: &str = "parties shop, bank;
component fn sum(a: u8, b: u8) -> u8 { a + b }
main(a: [u8; 4] of shop, b: [u8; 4] of bank) -> (total: u8 to both) {
    let mut total = 0 as u8;
    for i in 0..4 { total += sum(a[i], b[i]); }
    total
}
";

/// A program has another form for `gmw`. A service that offers both protocols runs each form.
#[test]
fn a_service_runs_a_program_by_gmw_and_by_direct() {
    let parties = Parties::new();
    let bob = parties.fingerprints()[1];
    parties.file("sums.tacit", SUMS);
    parties.file("a.json", "{ \"a\": [1, 2, 3, 4] }");
    let config = |more: &str| {
        format!(
            "identity = \"alice.key\"\n[stock]\nfolder = \"a\"\n[peers.bob]\n\
             fingerprint = \"{bob}\"\n[serve]\nlisten = \"127.0.0.1:0\"\nmetrics = \"\"\n\
             [[serve.function]]\nfunction = \"sums.tacit\"\nrole = \"garbler\"\n\
             inputs_file = \"a.json\"\n{more}"
        )
    };
    parties.file("alice.toml", &config("protocols = [\"direct\", \"gmw\"]\n"));
    check(&parties).succeeded();
    let mut service = process::start(parties.folder(), &["serve", "--config", "alice.toml"], "");
    let address = service.line_after("listening address=");
    for protocol in ["gmw", "direct"] {
        let words = ["sums.tacit", "--as", "bank", "--input", "b=[10,20,30,40]"];
        let words = [&words[..], &["--protocol", protocol]].concat();
        let ran = parties.bob_connects(&address, &words, "");
        assert_eq!(ran.succeeded(), "total = 110\n", "{protocol}");
        assert!(ran.stderr.contains("secure against semi-honest"), "{ran:?}");
        let done = service.line_after("run ");
        assert!(done.contains(&format!("protocol={protocol}")), "{done}");
    }
    let of_a_scheme = config("protocols = [\"gmw\"]\nscheme = \"prf\"\n");
    parties.file("alice.toml", &of_a_scheme);
    check(&parties).failed(2, &["scheme", "gmw garbles nothing"]);
    parties.file("alice.toml", &config("protocols = [\"gmw\"]\n"));
    check(&parties).succeeded();
}
