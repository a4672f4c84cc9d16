//! `tacit outsource`: three processes over TLS, and a map that they keep.

use std::path::Path;

use crate::process::{self, Ended, tacit, words};
use serde_json::json;

/// A folder with the identities of generator, cloud, and two evaluators.
struct Parties {
    folder: tempfile::TempDir,
    fingerprints: [String; 4],
}

const KEYS: [&str; 4] = ["generator.key", "cloud.key", "phone.key", "tablet.key"];

impl Parties {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let fingerprints = KEYS.map(|file| {
            let made = tacit(folder.path(), &["keygen", "--out", file]);
            made.succeeded().trim().to_owned()
        });
        Self {
            folder,
            fingerprints,
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs `function` at generator, cloud and evaluator number `who`, each with its own arguments.
    fn run(&self, function: &[&str], who: usize, own: [&[&str]; 3]) -> [Ended; 3] {
        let [generator, cloud, ..] = &self.fingerprints;
        let (evaluator, key) = (&self.fingerprints[2 + who], KEYS[2 + who]);
        let start = |more: &[&str], own: &[&str]| {
            let told = ["--json", "--cost"];
            let args = [&["outsource"], more, function, &told, own].concat();
            process::start(self.path(), &args, "")
        };
        let listen = ["--listen", "127.0.0.1:0"];
        let of_generator = ["generator", "--identity", KEYS[0], "--stock", "g"];
        let known = ["--cloud", cloud, "--evaluator", evaluator];
        let mut at_generator = start(&[&of_generator[..], &listen, &known].concat(), own[0]);
        let generator_at = at_generator.line_after("listening on ");
        let of_cloud = ["cloud", "--identity", KEYS[1], "--stock", "c"];
        let known = ["--generator", generator, "--evaluator", evaluator];
        let known = [&known[..], &["--generator-at", &generator_at]].concat();
        let mut at_cloud = start(&[&of_cloud[..], &listen, &known].concat(), own[1]);
        let cloud_at = at_cloud.line_after("listening on ");
        let of_evaluator = ["evaluator", "--identity", key];
        let known = ["--generator", generator, "--cloud", cloud];
        let places = ["--generator-at", &generator_at, "--cloud-at", &cloud_at];
        let evaluator = start(&[&of_evaluator[..], &known, &places].concat(), own[2]);
        let evaluator = evaluator.end();
        [at_generator.end(), at_cloud.end(), evaluator]
    }
}

#[test]
fn who_wants_more_runs_than_another_fails_with_the_results_of_those_that_were_done() {
    let parties = Parties::new();
    let [generator, cloud, evaluator] = parties.run(
        &words("millionaires --copies 1"),
        0,
        [
            &words("--repeat 3 --input a=41"),
            &words("--repeat 2"),
            &words("--input b=40"),
        ],
    );
    assert_eq!(evaluator.json()["runs_done"], 1);
    for ended in [generator, cloud] {
        ended.failed(6, &["ended early, after run 1 of", "same --repeat"]);
        let json = ended.json();
        assert_eq!(json["runs_done"], 1);
        assert_eq!(json["error"]["exit_code"], 6);
    }
}

#[test]
fn a_map_is_kept_between_processes() {
    let parties = Parties::new();
    let tablet = parties.fingerprints[3].clone();
    let size = words("--param cells=4 --param id_bits=3 --copies 160");
    let chain = ["--chain", "friends"];
    let begin = [&chain[..], &["--allow", &tablet]].concat();
    let of = |name: &'static str| [&[name], &size[..]].concat();
    for ended in parties.run(&of("friend-map-start"), 0, [&begin, &begin, &[]]) {
        assert_eq!(ended.json()["outputs"], json!({}), "{ended:?}");
    }
    let moves = |who: usize, id: &str, cell: &str| {
        let (id, cell) = (format!("id={id}"), format!("cell={cell}"));
        let generator = [&chain[..], &["--input", &id]].concat();
        let own: [&[&str]; 3] = [&generator, &chain, &["--input", &cell]];
        let [_, cloud, evaluator] = parties.run(&of("friend-map-set"), who, own);
        let told = cloud.json();
        assert_eq!(told["copies"], 160);
        assert_eq!(told["evaluated_copies"], 64);
        assert_eq!(told["threat_model"], "malicious-non-colluding");
        assert_eq!(told["chain"], "friends");
        let json = evaluator.json();
        let phases = json["cost"]["runs"][0]["phases"]
            .as_array()
            .expect("phases");
        assert!(
            phases
                .iter()
                .all(|phase| phase["bytes_sent"].as_u64() > Some(0))
        );
        json["outputs"]["occupant"].clone()
    };
    assert_eq!(moves(0, "5", "2"), 0);
    assert_eq!(moves(1, "6", "2"), 5);
    let listed = tacit(parties.path(), &["stock", "list", "--stock", "g", "--json"]).json();
    let kept = &listed["chains"][0];
    assert_eq!(kept["name"], "friends");
    assert_eq!(kept["role"], "generator");
    assert_eq!(kept["peer"], parties.fingerprints[1].as_str());
    assert_eq!(kept["values"][0]["name"], "map");
    assert_eq!(kept["version"], 3);
    let text = tacit(parties.path(), &["stock", "list", "--stock", "c"]);
    for part in [
        "cloud with",
        "chain friends",
        "map: version 3",
        &tablet,
        "may save everything",
    ] {
        assert!(text.succeeded().contains(part), "{part}: {text:?}");
    }
    let other = tacit(parties.path(), &["keygen", "--out", "watch.key"]);
    let other = other.succeeded().trim().to_owned();
    for stock in ["g", "c"] {
        let allow = ["stock", "allow", "friends", &other, "--stock", stock];
        let text = tacit(parties.path(), &allow);
        assert!(
            text.succeeded().contains("may use the chain friends"),
            "{text:?}"
        );
        tacit(parties.path(), &[&allow[..], &["--remove"]].concat()).succeeded();
        let unknown = ["stock", "allow", "freinds", &other, "--stock", stock];
        tacit(parties.path(), &unknown).failed(2, &["no chain freinds"]);
        for server in &parties.fingerprints[..2] {
            let allow = ["stock", "allow", "friends", server, "--stock", stock];
            tacit(parties.path(), &allow).failed(2, &["the generator or the cloud of the chain"]);
        }
        let drop = ["stock", "drop-chain", "friends", "--stock", stock];
        tacit(parties.path(), &drop).succeeded();
        tacit(parties.path(), &drop).failed(2, &["no chain friends"]);
    }
}

#[test]
fn a_run_of_three_without_state() {
    let parties = Parties::new();
    let function = ["millionaires", "--param", "bits=8", "--copies", "1"];
    let own: [&[&str]; 3] = [&["--input", "a=9"], &[], &["--input", "b=8"]];
    let [generator, cloud, evaluator] = parties.run(&function, 0, own);
    for ended in [&generator, &evaluator] {
        let json = ended.json();
        assert_eq!(json["outputs"]["a_is_richer"], 1);
        assert_eq!(json["threat_model"], "semi-honest");
    }
    assert_eq!(cloud.json()["outputs"], json!({}));
    assert_eq!(evaluator.json()["cloud"], parties.fingerprints[1].as_str());
}

#[test]
fn who_was_told_another_number_of_circuits_hears_of_that_option() {
    let parties = Parties::new();
    let own: [&[&str]; 3] = [
        &["--input", "a=9", "--copies", "1"],
        &[],
        &["--input", "b=8"],
    ];
    let [generator, cloud, _] = parties.run(&["millionaires"], 0, own);
    for ended in [generator, cloud] {
        ended.failed(5, &["give all three the same --copies\n"]);
    }
}

/// The parties print once who is missing, who was refused and who has come. A party whose command
/// is restarted is not taken for a second one.
#[test]
fn a_wait_names_who_is_missing_and_who_was_refused() {
    let parties = Parties::new();
    let [generator, cloud, phone, stranger] = parties.fingerprints.each_ref();
    let start = |role: &str, key: &str, own: &[&str]| {
        let function = [
            "outsource",
            role,
            "millionaires",
            "--copies",
            "1",
            "--identity",
            key,
        ];
        process::start(parties.path(), &[&function[..], own].concat(), "")
    };
    let listen = ["--listen", "127.0.0.1:0"];
    let known = ["--cloud", cloud, "--evaluator", phone, "--input", "a=9"];
    let mut waiting = start("generator", KEYS[0], &[&listen[..], &known].concat());
    let at = waiting.line_after("listening on ");
    waiting.line_after("waiting for the cloud and the evaluator");
    let known = [
        "--generator",
        generator,
        "--evaluator",
        phone,
        "--generator-at",
        &at,
    ];
    let of_cloud = [&listen[..], &known].concat();
    let in_vain = [&of_cloud[..], &["--timeout", "1s"]].concat();
    for _ in 0..2 {
        let code = start("cloud", KEYS[3], &in_vain).end().code;
        assert!([5, 6].contains(&code), "{code}");
    }
    for again in ["", " again"] {
        let ended = start("cloud", KEYS[1], &in_vain).end();
        ended.failed(
            6,
            &["the evaluator did not connect within 1s", "--cloud-at"],
        );
        waiting.line_after(&format!("the cloud is here{again}"));
    }
    let mut at_cloud = start("cloud", KEYS[1], &of_cloud);
    let cloud_at = at_cloud.line_after("listening on ");
    waiting.line_after("the cloud is here again");
    let known = ["--generator", generator, "--cloud", cloud, "--input", "b=8"];
    let places = ["--generator-at", &at, "--cloud-at", &cloud_at];
    let evaluator = start("evaluator", KEYS[2], &[&known[..], &places].concat());
    assert_eq!(evaluator.end().succeeded(), "a_is_richer = 1\n");
    at_cloud.end().succeeded();
    let ended = waiting.end();
    ended.succeeded();
    let refused = format!(
        "still waiting for the cloud or the evaluator: it shows the identity {stranger}, which is \
         not the one that was given"
    );
    assert_eq!(ended.stderr.matches(&refused).count(), 1, "{ended:?}");
}

#[test]
fn who_was_told_another_function_is_named() {
    let parties = Parties::new();
    let function = ["millionaires", "--copies", "1"];
    let own: [&[&str]; 3] = [
        &["--input", "a=9"],
        &["--param", "bits=16"],
        &["--input", "b=8"],
    ];
    let [generator, cloud, evaluator] = parties.run(&function, 0, own);
    let told = "bits is 32 here and 16 at the peer";
    generator.failed(5, &["in the session with the cloud", told]);
    let told = "bits is 16 here and 32 at the peer";
    cloud.failed(5, &["in the session with the generator", told]);
    evaluator.failed(
        5,
        &["the generator stopped the run: two of the three were told to run different things"],
    );
}

/// Each party knows the others from its `tacit.toml`, as pairings write it.
#[test]
fn three_parties_who_have_paired_run_by_names() {
    let parties = Parties::new();
    let peer = |name: &str, who: usize, place: &str, address: &str| {
        let fingerprint = &parties.fingerprints[who];
        format!("[peers.{name}]\nfingerprint = \"{fingerprint}\"\n{place} = \"{address}\"\n")
    };
    let start = |role: &str, who: usize, peers: &[String], names: &[&str], input: &[&str]| {
        let text = format!("identity = \"{}\"\n\n{}", KEYS[who], peers.concat());
        std::fs::write(parties.path().join(format!("{role}.toml")), text).expect("a file");
        let file = format!("{role}.toml");
        let common = [
            &["outsource", role, "millionaires", "--param", "bits=8"][..],
            &["--copies", "1", "--config", &file],
            names,
            input,
        ];
        process::start(parties.path(), &common.concat(), "")
    };
    let any = "127.0.0.1:0";
    let names = ["--cloud", "cloud", "--evaluator", "phone"];
    let of_generator = |cloud: &str, phone: &str| {
        let peers = [
            peer("cloud", 1, "listen", cloud),
            peer("phone", 2, "listen", phone),
        ];
        start("generator", 0, &peers, &names, &["--input", "a=9"])
    };
    let two = of_generator("127.0.0.1:7000", "127.0.0.1:7001").end();
    two.failed(2, &["127.0.0.1:7000 and 127.0.0.1:7001", "--listen"]);
    let mut generator = of_generator(any, any);
    let at = generator.line_after("listening on ");
    let peers = [
        peer("gen", 0, "address", &at),
        peer("phone", 2, "listen", any),
    ];
    let names = ["--generator", "gen", "--evaluator", "phone"];
    let mut cloud = start("cloud", 1, &peers, &names, &[]);
    let cloud_at = cloud.line_after("listening on ");
    let peers = [
        peer("gen", 0, "address", &at),
        peer("cloud", 1, "address", &cloud_at),
    ];
    let names = ["--generator", "gen", "--cloud", "cloud"];
    let phone = start("evaluator", 2, &peers, &names, &["--input", "b=8"]).end();
    assert!(phone.succeeded().contains("a_is_richer = 1"), "{phone:?}");
    assert!(generator.end().succeeded().contains("a_is_richer = 1"));
    cloud.end().succeeded();
}

#[test]
fn what_is_missing_is_said_before_anyone_is_met() {
    let parties = Parties::new();
    let [generator, cloud, phone, _] = parties.fingerprints.each_ref().map(String::as_str);
    let with = |command: &[&str], more: &[&str]| tacit(parties.path(), &[command, more].concat());
    let map = ["friend-map-get", "--identity", KEYS[0]];
    let of = |more: &[&str]| with(&["outsource", "generator"], &[&map[..], more].concat());
    of(&[]).failed(2, &["--cloud"]);
    let known = ["--cloud", cloud, "--evaluator", phone];
    of(&known).failed(2, &["--listen"]);
    let there = [&known[..], &["--listen", "127.0.0.1:0"]].concat();
    of(&there).failed(2, &["--chain"]);
    of(&[&there[..], &["--generator", generator]].concat()).failed(2, &["--generator"]);
    for few in ["2", "4", "120"] {
        let told = [&format!("--copies {few}"), "bits of statistical security"];
        of(&[&there[..], &["--copies", few]].concat()).failed(2, &told);
    }
    of(&[&there[..], &["--security-bits", "20"]].concat()).failed(2, &["40..=80"]);
    let one = [
        &there[..],
        &["--copies", "1", "--security", "malicious-non-colluding"],
    ]
    .concat();
    of(&one).failed(2, &["--copies 1", "follow the protocol"]);
    of(&[&there[..], &["--plain-loopback"]].concat()).failed(2, &["--plain-loopback"]);
    let same = [
        "--cloud",
        cloud,
        "--evaluator",
        cloud,
        "--listen",
        "127.0.0.1:0",
    ];
    of(&same).failed(2, &["the cloud and the evaluator have one fingerprint"]);
    let own = [&there[..], &["--chain", "m", "--allow", cloud]].concat();
    of(&own).failed(2, &["the generator or the cloud of the chain"]);
    let client = ["outsource", "evaluator", "friend-map-get"];
    let asked = ["--security", "malicious-non-colluding"];
    let key = ["--identity", KEYS[2]];
    let others = [
        "--generator",
        generator,
        "--cloud",
        cloud,
        "--generator-at",
        "127.0.0.1:9",
    ];
    with(&client, &[&asked[..], &key, &others].concat()).failed(2, &["--cloud-at"]);
    with(&client, &["--security", "malicious"]).failed(2, &["tacit run", asked[1]]);
    // In commands for two parties, a name for three parties gives an error with the command to use.
    for three in [
        asked,
        ["--protocol", "outsourced"],
        ["--protocol", "outsource"],
    ] {
        let told = [
            three[1],
            "`tacit outsource`",
            "`generator`, `cloud` or `evaluator`",
        ];
        let ended = with(&["run", "millionaires", "--json"], &three);
        ended.failed(2, &told);
        assert_eq!(ended.json()["error"]["exit_code"], 2);
    }
    let kept = ["run", "friend-map-get", "--role", "garbler"];
    let two = ["--listen", "127.0.0.1:0", "--peer", phone];
    let two = [&map[1..], &two].concat();
    with(&kept, &two).failed(2, &["map-get", "`tacit outsource`"]);
}
