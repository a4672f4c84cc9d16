//! `tacit serve` as a process: its configuration, its signals, and its log.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use crate::process::{self, ChildProcess, Ended, Parties, tacit, words};
use serde_json::json;

pub(crate) const INPUTS: &str = r#"{ "a": 41, "key": "000102030405060708090a0b0c0d0e0f" }"#;

/// Returns a configuration of Alice's with these functions, at free ports.
pub(crate) fn config(parties: &Parties, functions: &str) -> String {
    let bob = parties.fingerprints()[1];
    format!(
        "identity = \"alice.key\"\n[stock]\nfolder = \"a\"\n[peers.bob]\nfingerprint = \"{bob}\"\n\
         [serve]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\nstop = \"20s\"\n{functions}"
    )
}

pub(crate) const MILLIONAIRES: &str = "[[serve.function]]\nfunction = \"millionaires\"\n\
                                       role = \"garbler\"\n\
                                       params = { bits = { min = 7, max = 8 } }\n\
                                       inputs_file = \"in.json\"\n";

/// Starts Alice's service. Returns its address too.
pub(crate) fn start(
    parties: &Parties,
    config: &str,
    more: &[&str],
) -> (ChildProcess, String, String) {
    parties.file("alice.toml", config);
    parties.file("in.json", INPUTS);
    let arguments = [&["serve", "--config", "alice.toml"], more].concat();
    let mut service = process::start(parties.folder(), &arguments, "");
    let address = service.line_after("listening address=");
    let metrics = service.line_after("metrics address=");
    (service, address, metrics)
}

fn richer(parties: &Parties, address: &str, bits: &str) -> Ended {
    let what = format!("millionaires --role evaluator --param bits={bits} --input b=40");
    parties.bob_connects(address, &words(&what), "")
}

pub(crate) fn get(address: &str, path: &str) -> String {
    let mut socket = TcpStream::connect(address).expect("a server");
    write!(socket, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it reads");
    let mut text = String::new();
    socket.read_to_string(&mut text).expect("it answers");
    text
}

#[test]
fn a_wrong_configuration_is_not_taken_and_a_right_one_is() {
    let parties = Parties::new();
    let good = config(&parties, MILLIONAIRES);
    let (mut service, address, metrics) = start(&parties, &good, &[]);
    parties.file("no-a.json", "{}");
    assert_eq!(
        richer(&parties, &address, "7").succeeded(),
        "a_is_richer = 1\n"
    );
    richer(&parties, &address, "9").failed(5, &["does not allow"]);

    for (wrong, word) in [
        (good.replace("[serve]", "[serve"), "line 6"),
        (good.replace("garbler", "gambler"), "gambler"),
        (good.replace("max = 8", "max = 6"), "params.bits"),
        (
            good.replacen("127.0.0.1:0", "127.0.0.1:1", 1)
                .replace("127.0.0.1:0", "127.0.0.1:2"),
            "listen, metrics changed, which takes a restart",
        ),
        (
            good.replace("in.json\"", "in.json\"\npeers = [\"carol\"]"),
            "or add [peers.carol]",
        ),
        (good.replace("in.json", "no-a.json"), "a is missing"),
        (good.replace("in.json", "absent.json"), "absent.json"),
    ] {
        parties.file("alice.toml", &wrong);
        service.signal("HUP");
        let told = service.line_after("reload-refused");
        assert!(told.contains(word), "{word}: {told}");
        richer(&parties, &address, "8").succeeded();
    }
    let refused = get(&metrics, "/health");
    assert!(refused.contains("\"status\":\"ok\""), "{refused}");
    assert!(!refused.contains("\"reload_refused\":null"), "{refused}");
    parties.file("alice.toml", &good.replace("max = 8", "max = 9"));
    service.signal("HUP");
    service.line_after("reloaded");
    assert!(get(&metrics, "/health").contains("\"reload_refused\":null"));
    richer(&parties, &address, "9").succeeded();

    assert!(get(&metrics, "/health").contains("\"status\":\"ok\""));
    let arguments = ["serve", "--config", "alice.toml", "--metrics", &metrics];
    tacit(parties.folder(), &arguments).failed(6, &[&metrics, "for metrics", "another program"]);
    let counted = get(&metrics, "/metrics");
    let runs = r#"tacit_runs_total{offer="millionaires",protocol="direct",outcome="done"} 9"#;
    for reloads in ["{outcome=\"refused\"} 7", "{outcome=\"done\"} 1"] {
        let line = format!("tacit_reloads_total{reloads}");
        assert!(counted.contains(&line), "{counted}");
    }
    assert!(counted.contains(runs), "{counted}");
    service.signal("TERM");
    service.end().succeeded();
}

#[test]
fn a_run_under_way_ends_well_when_the_service_is_told_to_stop() {
    let parties = Parties::new();
    let slow = MILLIONAIRES.replace(
        "inputs_file = \"in.json\"",
        "inputs_command = [\"sh\", \"-c\", \"touch begun; sleep 1; cat in.json\"]",
    );
    let (mut service, address, _) = start(&parties, &config(&parties, &slow), &[]);
    let what = words("run millionaires --role evaluator --param bits=8");
    let bob = parties.bob_starts(&address, &[&what[..], &["--input", "b=40"]].concat(), "");
    for _ in 0..4000 {
        if parties.folder().join("begun").exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    service.signal("TERM");
    service.line_after("stopping sessions=1");
    assert_eq!(bob.end().succeeded(), "a_is_richer = 1\n");
    let ended = service.end();
    ended.succeeded();
    assert!(ended.stderr.contains("stopped cut=0"), "{ended:?}");
}

#[test]
fn the_log_for_programs_has_no_secret() {
    let parties = Parties::new();
    parties.file("in.json", INPUTS);
    let functions = MILLIONAIRES.to_owned()
        + "results_file = \"out.jsonl\"\n\
           [[serve.function]]\nfunction = \"aes-128\"\nrole = \"garbler\"\n\
           inputs_file = \"in.json\"\nresults_file = \"out.jsonl\"\n";
    parties.file("alice.toml", &config(&parties, &functions));
    let arguments = ["serve", "--config", "alice.toml", "--log", "json"];
    let mut service = process::start(parties.folder(), &arguments, "");
    let first = service.line_after("{\"event\":\"listening\",");
    let (_, first) = first.split_once("\"address\":\"").expect("an address");
    let address = first.split('"').next().expect("its end");
    let block = "block=00112233445566778899aabbccddeeff";
    let run = parties.bob_connects(
        address,
        &["aes-128", "--role", "evaluator", "--input", block],
        "",
    );
    assert_eq!(
        run.succeeded(),
        "ciphertext = 69c4e0d86a7b0430d8cdb78070b4c55a\n"
    );
    richer(&parties, address, "8").succeeded();
    richer(&parties, address, "99").failed(5, &[]);
    service.interrupt();
    let ended = service.end();
    ended.succeeded();
    for line in ended.stderr.lines() {
        let event: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert!(
            event["time"].as_f64().is_some_and(|time| time > 1e9),
            "{line}"
        );
        assert!(
            !line.contains("0001020304") && !line.contains("69c4e0d8"),
            "{line}"
        );
    }
    assert!(ended.stderr.contains("\"event\":\"run\""), "{ended:?}");
    // The reason appears once.
    assert_eq!(ended.stderr.matches("which it may not").count(), 1);
    assert!(ended.stderr.contains("\"reason\":\"refused\""), "{ended:?}");
    let results = fs::read_to_string(parties.folder().join("out.jsonl")).expect("results");
    let lines = results.lines().zip(["{}", "{\"bits\":8}"]);
    for (line, params) in lines {
        assert!(line.contains(&format!("\"params\":{params},")), "{line}");
        assert!(line.contains("\"protocol\":\"direct\""), "{line}");
    }
    assert!(
        results.contains("69c4e0d86a7b0430d8cdb78070b4c55a"),
        "{results}"
    );
}

/// Checks the settings of stocks for `authenticated` and `gmw`.
fn stocks_for_authenticated(check: impl Fn(&str) -> Ended) {
    let aes = "[[serve.stock]]\nfunction = \"aes-128-rounds\"\nrole = \"garbler\"\n\
               protocol = \"authenticated\"\n";
    let ands = "[[serve.stock]]\nrole = \"garbler\"\nands = 1000\n";
    let crosses = aes.replace("authenticated", "gmw");
    for (right, levels) in [
        (format!("{aes}runs = 5\n{ands}"), "2 levels"),
        (
            format!("{ands}protocol = \"authenticated\"\nsecurity_bits = 64\n"),
            "1 level",
        ),
        (format!("{crosses}runs = 5\n"), "1 level"),
    ] {
        assert!(check(&right).succeeded().contains(levels));
    }
    for (wrong, words) in [
        (aes.to_owned(), ["runs: it is missing", "for how many runs"]),
        (
            format!("{aes}runs = 5\nsecurity_bits = 65\n"),
            ["security_bits", "40 to 64"],
        ),
        (
            format!("{crosses}runs = 5\nscheme = \"half-gates\"\n"),
            ["scheme", "garbles nothing"],
        ),
        (
            crosses.replace("gmw", "direct") + "runs = 5\n",
            ["protocol", "takes nothing from the stock"],
        ),
        (
            format!("{aes}runs = 5\nands = 1000\n"),
            ["write a function and runs", "ands alone"],
        ),
        (format!("{ands}runs = 5\n"), ["runs", "for any function"]),
        (
            format!("{ands}protocol = \"batch\"\n"),
            ["(triples)", "for authenticated"],
        ),
        (
            format!("{ands}security_bits = 39\n"),
            ["security_bits", "39"],
        ),
        (
            ands.replace("1000", "6400001"),
            ["ands: 6400001", "1 to 6400000"],
        ),
        (ands.replace("ands = 1000", ""), ["function", "ands alone"]),
    ] {
        check(&wrong).failed(2, &words);
    }
}

/// The command that checks Alice's configuration and prints JSON.
const CHECK_JSON: [&str; 5] = ["serve", "--config", "alice.toml", "--check", "--json"];

/// Checks the JSON for a configuration with two functions and no stock.
fn configuration_as_json(parties: &Parties) {
    let checked = tacit(parties.folder(), &CHECK_JSON).json();
    let expected = json!({
        "version": 1, "peers": 1, "functions": 2, "tables": 0, "levels": 0, "warnings": [],
    });
    assert_eq!(checked, expected);
    // A running service has a log and no JSON object.
    tacit(parties.folder(), &["serve", "--json"]).failed(2, &["--check"]);
}

#[test]
fn what_a_configuration_lacks_is_told_before_anything_starts() {
    let parties = Parties::new();
    parties.file("in.json", INPUTS);
    let serve = ["serve", "--config", "alice.toml"];
    let check = |text: &str| {
        parties.file("alice.toml", text);
        let checked = tacit(parties.folder(), &[&serve[..], &["--check"]].concat());
        if checked.code != 0 {
            let started = tacit(parties.folder(), &serve);
            assert_eq!(started.code, checked.code, "{started:?}");
            assert_eq!(started.stderr, checked.stderr, "as at the start");
        }
        checked
    };
    let good = config(&parties, MILLIONAIRES);
    assert_eq!(
        check(&good).succeeded(),
        "right: 1 peer, 2 functions, 0 tables, 0 levels of stock\n"
    );
    let no_serve = good.split("[serve]").next().expect("a part");
    check(no_serve).failed(2, &["[serve]", "docs/operate.md"]);
    let twice = format!("{good}{MILLIONAIRES}");
    check(&twice).failed(2, &["millionaires", "leave one out"]);
    let both = good.replace("inputs_file", "inputs_command = [\"x\"]\ninputs_file");
    check(&both).failed(2, &["[[serve.function]] 1 (millionaires)", "more than one"]);
    let none = good.replace("inputs_file = \"in.json\"", "");
    check(&none).failed(2, &["inputs_file or inputs_command"]);
    let wide = good.replace("max = 8", "max = 8000000000");
    check(&wide).failed(2, &["params.bits", "4096"]);
    let rate = good.replace("in.json\"", "in.json\"\nrate = \"often\"");
    check(&rate).failed(2, &["line", "100/1m"]);
    let level = "[[serve.stock]]\nfunction = \"aes-128-rounds\"\nrole = \"garbler\"\nruns = 5\n";
    let above = format!("{good}{level}refill_below = 6\n");
    check(&above).failed(2, &["refill_below", "at most its runs, 5"]);
    stocks_for_authenticated(|stock| check(&format!("{good}{stock}")));
    parties.file("alice.toml", &good);
    configuration_as_json(&parties);
    // Settings that would fail at the start, or when a peer asks.
    let at = |from: &str, to: &str| good.replacen(from, to, 1);
    let listen = at("127.0.0.1:0", "localhost");
    check(&listen).failed(2, &["listen", "HOST:PORT"]);
    let metrics = at("metrics = \"127.0.0.1:0", "metrics = \"9464");
    check(&metrics).failed(2, &["metrics", "HOST:PORT"]);
    let same = good.replace("127.0.0.1:0", "127.0.0.1:9464");
    check(&same).failed(2, &["listen", "metrics", "are one address"]);
    let open = check(&at("metrics = \"127.0.0.1:0", "metrics = \"0.0.0.0:9464"));
    open.succeeded();
    assert!(open.stderr.contains("warning: metrics"), "{open:?}");
    let checked = tacit(parties.folder(), &CHECK_JSON).json();
    let warnings = checked["warnings"].as_array().expect("a list");
    assert!(warnings[0].as_str().expect("a text").starts_with("metrics"));
    check(&at("folder = \"a\"", "folder = \"a\"\nlimit_gib = 0")).failed(2, &["limit_gib"]);
    check(&at("in.json", "absent.json")).failed(3, &["millionaires", "absent.json"]);
    parties.file("no-a.json", "{}");
    check(&at("in.json", "no-a.json")).failed(3, &["a is missing"]);
    let nowhere = at("in.json\"", "in.json\"\nresults_file = \"nowhere/results\"");
    check(&nowhere).failed(3, &["results", "folder is not there"]);
    let absent = ["serve", "--config", "absent.toml", "--check"];
    tacit(parties.folder(), &absent).failed(2, &["absent.toml is not there", "--config FILE"]);
}

/// Unsorted keys are found before the service starts.
#[test]
fn a_program_that_takes_keys_as_they_come_is_not_served() {
    let parties = Parties::new();
    let program = "parties alice, bob;
use std::psi::count;
main(a: [u32; 4] of alice, b: [u32; 4] of bob) -> (shared: u3 to both) { count(a, b) }
";
    parties.file("count.tacit", program);
    let function = "[[serve.function]]\nfunction = \"count.tacit\"\nrole = \"garbler\"\n\
                    inputs_file = \"in.json\"\n";
    parties.file("alice.toml", &config(&parties, function));
    let checked = ["serve", "--config", "alice.toml", "--check"];
    let told = ["count.tacit:3:", "`count` takes `keys` sorted"];
    tacit(parties.folder(), &checked).failed(2, &told);
}

/// A server of three parties has at least 40 bits against a malicious party. This holds at the
/// start and in a check.
#[test]
fn a_server_of_three_keeps_the_floor() {
    let parties = Parties::new();
    let served = |fields: &str| {
        let function = format!(
            "[[serve.function]]\nfunction = \"friend-map-start\"\nrole = \"generator\"\n\
             other_server = \"bob\"\nchain = \"friends\"\npeers = []\n{fields}"
        );
        parties.file("alice.toml", &config(&parties, &function));
        let serve = ["serve", "--config", "alice.toml"];
        tacit(parties.folder(), &[&serve[..], &["--check"]].concat())
    };
    served("").succeeded();
    for few in ["copies = 5\n", "copies = 120\n", "security_bits = 38\n"] {
        let told = ["copies", "fewer than 40 bits of statistical security"];
        served(few).failed(2, &told);
        tacit(parties.folder(), &["serve", "--config", "alice.toml"]).failed(2, &told);
    }
    // One circuit is for parties that follow the protocol, and the output says so.
    served("copies = 1\n").succeeded();
}

/// The same floor holds for a service that runs `batch`, or keeps executions for it.
#[test]
fn a_service_keeps_the_floor_of_batch() {
    let parties = Parties::new();
    parties.file("in.json", INPUTS);
    let checked = |more: &str, stock: &str| {
        let function = format!("{MILLIONAIRES}protocols = [\"batch\"]\n{more}");
        let stock = format!(
            "[[serve.stock]]\nfunction = \"millionaires\"\nrole = \"garbler\"\n\
             params = {{ bits = 8 }}\nprotocol = \"batch\"\nruns = 2\n{stock}"
        );
        parties.file(
            "alice.toml",
            &config(&parties, &format!("{function}{stock}")),
        );
        let serve = ["serve", "--config", "alice.toml", "--check"];
        tacit(parties.folder(), &serve)
    };
    let few = "security_bits = 39\n";
    checked("", "").succeeded();
    for told in [checked(few, ""), checked("", few)] {
        told.failed(2, &["39 bits", "40 to 80"]);
    }
}
