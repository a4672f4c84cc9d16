//! `tacit plan`: its commands can be pasted and work, and it never goes below the requested
//! security.

use crate::process::{Ended, Parties, tacit, words};
use serde_json::Value as Json;

const LINK: [&str; 2] = ["--link", "33ms,50mbit"];

/// Returns the words of a printed command without the first, and more words.
fn printed<'c>(command: &'c Json, more: &[&'c str]) -> Vec<&'c str> {
    let text = command.as_str().expect("a command");
    assert!(!text.contains('\''), "words that are to be quoted: {text}");
    let mut words: Vec<&str> = text.split(' ').collect();
    assert_eq!(words.remove(0), "tacit");
    words.extend(more);
    words
}

fn both(parties: &Parties, commands: &Json, what: &str, stock: bool) -> [Ended; 2] {
    let stocks = [["--stock", "a"], ["--stock", "b"]];
    let [alice, bob] = [("garbler", 0), ("evaluator", 1)].map(|(role, party)| {
        let stock: &[&str] = if stock { &stocks[party] } else { &[] };
        printed(&commands[role][what], stock)
    });
    parties.act(&alice, &bob)
}

/// In plans and preparations, as in runs, a program's party may stand for its role.
#[test]
fn parties_of_programs_are_named_as_in_a_run() {
    let parties = Parties::new();
    let program = "parties seller, buyer;\nmain(a: u8 of seller, b: u8 of buyer) -> (sale: bool to \
                   both) { a <= b }\n";
    parties.file("sale.tacit", program);
    let plan = |who: &str| {
        tacit(
            parties.folder(),
            &[&["plan", "sale.tacit"], &LINK[..], &["--as", who, "--json"]].concat(),
        )
    };
    let commands = plan("seller").json()["commands"].clone();
    assert!(
        commands["garbler"].is_object() && commands["evaluator"].is_object(),
        "{commands}"
    );
    plan("bidder").failed(2, &["--as", "bidder"]);
    let order = ["prepare", "sale.tacit", "--runs", "2", "--as"];
    for ended in parties.act(
        &[&order[..], &["seller", "--stock", "a"]].concat(),
        &[&order[..], &["buyer", "--stock", "b"]].concat(),
    ) {
        ended.succeeded();
    }
    let nobody = words("prepare sale.tacit --connect 127.0.0.1:9 --identity bob.key");
    let nobody = [&nobody[..], &["--peer", parties.fingerprints()[0]]].concat();
    tacit(parties.folder(), &nobody).failed(2, &["--as seller or --as buyer"]);
}

/// The commands contain the public inputs, the run, and the peer in the role from tacit.toml.
#[test]
fn commands_of_a_program_say_all_that_a_run_takes() {
    let parties = Parties::new();
    let program = "parties seller, buyer;\nmain(floor: u8 public, a: u8 of seller, b: u8 of buyer) \
                   -> (sale: bool to both) { a <= b && b >= floor }\n";
    parties.file("sale.tacit", program);
    parties.file("a.txt", "7");
    parties.file("b.txt", "8");
    let asked = ["plan", "sale.tacit", "--public", "floor=3"];
    let plan = tacit(parties.folder(), &[&asked[..], &LINK, &["--json"]].concat()).json();
    for ended in both(&parties, &plan["commands"], "run", true) {
        assert_eq!(ended.succeeded(), "sale = true\n");
    }
    let program = "parties shop, customer;\nstate total: u8 = 0;\nrun spend(a: u8 of customer) -> \
                   (sum: u8 to both) { total += a; total }\n";
    parties.file("total.tacit", program);
    let bob = parties.fingerprints()[1];
    let config = format!("[peers.bob]\nfingerprint = \"{bob}\"\nrole = \"garbler\"\n");
    parties.file("known.toml", &config);
    let asked = ["plan", "total.tacit", "--entry", "spend", "--with", "bob"];
    let known = ["--config", "known.toml", "--stock", "a"];
    let text = tacit(parties.folder(), &[&asked[..], &LINK, &known].concat());
    let text = text.succeeded();
    for words in [
        "tacit prepare total.tacit --entry spend ",
        " --runs 10 --role garbler --with bob --stock a\n",
        "tacit run total.tacit --entry spend ",
        " --protocol prepared --chain NAME --role evaluator ",
    ] {
        assert!(text.contains(words), "{words:?} is missing:\n{text}");
    }
}

/// A run draws a program's random bits itself, so no command gives them, and tables come from CSV.
#[test]
fn commands_name_tables_and_give_no_random_bits() {
    let parties = Parties::new();
    let program = "parties shop, club;\nuse std::random::random;\nstruct Sale { n: u8 }\n\
                   main(sales: [Sale; 2] of shop, b: u8 of club) -> (mixed: u8 to both) \
                   { sales[0].n ^ b ^ random::<u8>() }\n";
    parties.file("mixed.tacit", program);
    parties.file("sales.csv", "n\n7\n9\n");
    parties.file("b.txt", "8");
    let asked = [&["plan", "mixed.tacit"], &LINK[..]].concat();
    let plan = tacit(parties.folder(), &[&asked[..], &["--json"]].concat()).json();
    for ended in both(&parties, &plan["commands"], "run", true) {
        assert!(ended.succeeded().starts_with("mixed = "), "{ended:?}");
    }
    let text = tacit(parties.folder(), &asked);
    assert!(!text.succeeded().contains("random_of"), "{text:?}");
}

#[test]
fn what_is_printed_can_be_pasted_and_works() {
    let parties = Parties::new();
    parties.file("x.txt", "[1,2,3,4,5,6,7,8,9]");
    parties.file("y.txt", "[1,2,4,5,9,9,9]");
    let asked = ["plan", "levenshtein", "--param", "n=9,m=7", "--json"];
    let plan = |more: &[&str]| tacit(parties.folder(), &[&asked[..], &LINK, more].concat()).json();

    // Nothing is in stock: the plan is direct now, with a preparation of what would be faster.
    let alice = parties.fingerprints()[0];
    let with_bob = ["--stock", "b", "--peer", alice, "--runs", "1"];
    let first = plan(&with_bob);
    let chosen = |plan: &Json| {
        plan["alternatives"][plan["choice"].as_u64().expect("a number") as usize].clone()
    };
    assert_eq!(chosen(&first)["protocol"], "direct");
    assert!(first["better_once_prepared"].is_u64(), "{first}");
    for ended in both(&parties, &first["commands"], "run", false) {
        assert_eq!(ended.succeeded(), "distance = 4\n");
    }
    for ended in both(&parties, &first["commands_once_prepared"], "prepare", true) {
        ended.succeeded();
    }
    let second = plan(&with_bob);
    assert_eq!(chosen(&second)["protocol"], "prepared", "{second}");
    assert_eq!(chosen(&second)["runs_in_stock"], 1);
    for ended in both(&parties, &second["commands"], "run", true) {
        assert_eq!(ended.succeeded(), "distance = 4\n");
        assert!(!ended.stderr.contains("on the spot"), "{ended:?}");
    }
    let third = plan(&with_bob);
    assert_eq!(
        chosen(&third)["protocol"],
        "direct",
        "it is used up: {third}"
    );

    // Material that was prepared by components serves as well: 63 cells, and a distance.
    let components = words(
        "prepare --component levenshtein-cell:bits=4@63 --component \
         levenshtein-distance:rows=9,columns=7@1 --ots 64",
    );
    let order = |role, stock| [&components[..], &["--role", role, "--stock", stock]].concat();
    for ended in parties.act(&order("garbler", "a"), &order("evaluator", "b")) {
        ended.succeeded();
    }
    let fourth = plan(&with_bob);
    assert_eq!(chosen(&fourth)["protocol"], "prepared", "{fourth}");
    for ended in both(&parties, &fourth["commands"], "run", true) {
        assert_eq!(ended.succeeded(), "distance = 4\n");
        assert!(!ended.stderr.contains("on the spot"), "{ended:?}");
    }
}

#[test]
fn a_person_is_told_the_choice_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let args = words("plan aes-128-cbc-rounds --param blocks=10 --assumption prf");
    let text = tacit(folder.path(), &[&args[..], &LINK].concat());
    let text = text.succeeded();
    for words in [
        "The choice: prepared under prf",
        "secure against semi-honest parties, as asked",
        "tacit prepare aes-128-cbc-rounds ",
        "--scheme prf --runs 10 --role garbler\n",
        "--input plaintext=@plaintext.txt",
    ] {
        assert!(text.contains(words), "{words:?} is missing:\n{text}");
    }
    assert!(!text.contains("half-gates"), "{text}");
}

#[test]
fn against_a_malicious_party_a_batch_is_planned_and_runs() {
    let parties = Parties::new();
    parties.file("a.txt", "41");
    parties.file("b.txt", "40");
    let asked = ["plan", "millionaires", "--param", "bits=8"];
    let model = ["--security", "malicious", "--runs", "2"];
    let text = tacit(parties.folder(), &[&asked[..], &LINK, &model].concat());
    let text = text.succeeded();
    for words in [
        "The choice: batch",
        "2 round trips",
        "--protocol batch --runs 2",
        "authenticated (from nothing)",
        "`tacit prepare millionaires --param bits=8 --protocol authenticated --runs 2`",
    ] {
        assert!(text.contains(words), "{words:?} is missing:\n{text}");
    }
    let plan = |more: &[&str]| {
        let all = [&asked[..], &LINK, &model, more, &["--json"]].concat();
        tacit(parties.folder(), &all).json()
    };
    let first = plan(&[]);
    let chosen = |plan: &Json| {
        plan["alternatives"][plan["choice"].as_u64().expect("a number") as usize].clone()
    };
    assert_eq!(chosen(&first)["threat_model"], "malicious");
    for ended in both(&parties, &first["commands_once_prepared"], "prepare", true) {
        ended.succeeded();
    }
    let alice = parties.fingerprints()[0];
    let second = plan(&["--stock", "b", "--peer", alice]);
    assert_eq!(chosen(&second)["runs_in_stock"], 2, "{second}");
    for ended in both(&parties, &second["commands"], "run", true) {
        assert_eq!(ended.succeeded(), "a_is_richer = 1\n");
    }
}

/// For a wide program over a slow link the plan is `gmw`, once an argument says how OTs are made.
#[test]
fn a_wide_program_is_planned_by_gmw_and_runs() {
    let parties = Parties::new();
    let program = "parties shop, club;\ncomponent fn product(a: u16, b: u16) -> u16 { a * b }\n\
                   main(a: [u16; 1024] of shop, b: [u16; 1024] of club) -> (found: [u16; 1024] to \
                   club) { [for i in 0..1024 { product(a[i], b[i]) }] }\n";
    parties.file("products.tacit", program);
    parties.file("a.csv", &format!("a\n{}", "7\n".repeat(1024)));
    parties.file("b.csv", &format!("b\n{}", "3\n".repeat(1024)));
    let asked = [&["plan", "products.tacit"], &LINK[..]].concat();
    let plan = |more: &[&str]| tacit(parties.folder(), &[&asked[..], more].concat());
    let stock = ["--stock", "a", "--ot-extension", "softspoken-4"];
    let text = plan(&stock);
    let text = text.succeeded();
    for words in [
        "The choice: gmw with OTs by softspoken-4",
        "gmw is secure against semi-honest parties, as asked; it garbles nothing",
        "round trips for its layers; direct would send",
        "direct ms  over other links",
        "  loopback\n",
        "tacit run products.tacit --protocol gmw --role garbler --ot-extension softspoken-4 ",
    ] {
        assert!(text.contains(words), "{words:?} is missing:\n{text}");
    }
    let json = plan(&[&stock[..], &["--json"]].concat()).json();
    let chosen = &json["alternatives"][json["choice"].as_u64().expect("a number") as usize];
    assert_eq!(chosen["ot_extension"], "softspoken-4");
    assert!(chosen["scheme"].is_null() && json["over_links"][3]["gmw_online_ms"].is_number());
    let [shop, club] = both(&parties, &json["commands"], "run", false);
    shop.succeeded();
    assert!(
        club.succeeded().contains("21") && club.stderr.contains("semi-honest"),
        "{club:?}"
    );
    let unsaid = plan(&["--stock", "a"]);
    let unsaid = unsaid.succeeded();
    assert!(unsaid.contains("The choice: direct"), "{unsaid}");
    assert!(
        unsaid.contains("--ot-extension silent, which rests on LPN"),
        "{unsaid}"
    );
    let silent = plan(&["--stock", "a", "--ot-extension", "silent"]);
    assert!(silent.succeeded().contains("rests on LPN") || silent.succeeded().contains("on LPN"));
}

#[test]
fn functions_of_no_library_are_planned_as_they_are() {
    let parties = Parties::new();
    let json = tacit(
        parties.folder(),
        &words("inspect adder --bit-order as-given --out adder.txt"),
    );
    json.succeeded();
    let args = words(
        "plan adder.txt --owner in0=garbler,in1=evaluator --result out0=both --type in0=u32 \
         --type in1=u32 --type out0=u32 --bit-order as-given --json",
    );
    let plan = tacit(parties.folder(), &[&args[..], &LINK].concat()).json();
    assert!(
        plan["alternatives"]
            .as_array()
            .is_some_and(|all| all.len() >= 2)
    );
    parties.file("in0.txt", "40");
    parties.file("in1.txt", "2");
    for ended in both(&parties, &plan["commands"], "run", false) {
        assert_eq!(ended.succeeded(), "out0 = 42\n");
    }
}

#[test]
fn what_cannot_be_planned_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let plan = |args: &[&str]| tacit(folder.path(), &[&["plan", "aes-128"], args].concat());
    plan(&[]).failed(2, &["--link", "tacit.toml"]);
    let three = plan(&[&LINK[..], &["--security", "malicious-non-colluding"]].concat());
    three.failed(2, &["malicious-non-colluding", "tacit outsource"]);
    let prf = ["--security", "malicious", "--assumption", "prf"];
    plan(&[&LINK[..], &prf].concat()).failed(2, &["half-gates", "prf"]);
    plan(&[&LINK[..], &["--security", "paranoid"]].concat())
        .failed(2, &["paranoid", "known are semi-honest, malicious\n"]);
    plan(&["--link", "fast"]).failed(2, &["DELAY,RATE"]);
}

#[test]
fn a_peers_link_is_in_the_configuration() {
    let parties = Parties::new();
    let bob = parties.fingerprints()[1];
    let config = format!("[peers.bob]\nfingerprint = \"{bob}\"\nlink = \"1ms,1gbit\"\n");
    parties.file("tacit.toml", &config);
    let args = words("plan millionaires --peer bob --stock a --config tacit.toml");
    let plan = tacit(parties.folder(), &[&args[..], &["--json"]].concat()).json();
    assert_eq!(plan["link"]["one_way_delay_us"], 1000);
    assert_eq!(plan["link"]["rate_bits_per_s"], 1_000_000_000);
}
