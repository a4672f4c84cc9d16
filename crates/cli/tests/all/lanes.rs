//! `tacit serve` as several processes of one party, as docs/processes.md shows it.

use std::fs;
use std::net::TcpListener;

use crate::operate_page::blocks;
use crate::process::{self, ChildProcess, tacit, words};

const LANES: [&str; 3] = ["a", "b", "c"];

/// Returns ports that were free a moment ago: each process must know those of the others.
fn free_ports() -> [u16; 3] {
    let taken = LANES.map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    taken.map(|listener| listener.local_addr().expect("an address").port())
}

#[test]
fn three_processes_follow_the_page() {
    let parties = process::Parties::new();
    let folder = parties.folder();
    let [alice, bob] = parties.fingerprints();
    let ports = free_ports();
    let page = blocks("docs/processes.md").into_iter();
    let mut page = page.skip_while(|(_, block)| !block.starts_with("# file: service-a.toml"));
    let (_, config) = page.next().expect("the configuration of a process");
    let mut config = config.replace("BOBS-FINGERPRINT", bob);
    for (of_page, port) in [":7001", ":7002", ":7003"].iter().zip(ports) {
        config = config.replace(of_page, &format!(":{port}"));
    }
    parties.file(
        "inputs.json",
        r#"{ "key": "000102030405060708090a0b0c0d0e0f" }"#,
    );
    let mut services: Vec<ChildProcess> = Vec::new();
    for (lane, port) in LANES.iter().zip(ports) {
        let listen = format!("listen = \"127.0.0.1:{}\"", ports[0]);
        let own = config
            .replace(&listen, &format!("listen = \"127.0.0.1:{port}\""))
            .replace("-a\"", &format!("-{lane}\""))
            .replace("lane = \"a\"", &format!("lane = \"{lane}\""))
            .replace(":9471", ":0");
        let file = format!("service-{lane}.toml");
        parties.file(&file, &own);
        tacit(folder, &["serve", "--config", &file, "--check"]).succeeded();
        let mut started = process::start(folder, &["serve", "--config", &file], "");
        assert!(
            started
                .line_after("listening address=")
                .ends_with(&format!(":{port}"))
        );
        services.push(started);
    }
    // A load balancer may choose the same process for all of this.
    parties.file(
        "bob.toml",
        &format!(
            "identity = \"bob.key\"\n[stock]\nfolder = \"bob-stock\"\n[peers.alice]\n\
             fingerprint = \"{alice}\"\naddress = \"127.0.0.1:{}\"\n",
            ports[0]
        ),
    );
    let (_, commands) = page
        .find(|(language, _)| language == "console")
        .expect("Bob's");
    let told: Vec<_> = commands
        .lines()
        .map(|line| {
            let command = line.strip_prefix("bob$ tacit ").expect("Bob's command");
            tacit(folder, &words(command)).succeeded().to_owned()
        })
        .collect();
    let [into_a, into_c, ran, listed] = &told[..] else {
        panic!("the page has other commands: {told:?}");
    };
    assert!(into_a.contains("in lane a of the peer"), "{into_a}");
    assert!(into_c.contains("in lane c of the peer"), "{into_c}");
    assert!(ran.contains("69c4e0d86a7b0430d8cdb78070b4c55a"), "{ran}");
    assert!(
        listed.contains("its lane a") && listed.contains("its lane c"),
        "{listed}"
    );
    a_process_dies(&parties, &mut services, ports);
    a_folder_is_lost(&parties, services, ports);
}

/// Process a dies at once. Runs go on from lane c, and its own material stays as it was.
fn a_process_dies(parties: &process::Parties, services: &mut Vec<ChildProcess>, ports: [u16; 3]) {
    let folder = parties.folder();
    let usable = |lane: &str| {
        let list = [
            "stock", "list", "--config", "bob.toml", "--lane", lane, "--json",
        ];
        let listed = tacit(folder, &list).json();
        assert_eq!(listed["stocks"][0]["lane"], lane);
        listed["stocks"][0]["kinds"][0]["usable"].clone()
    };
    let before = usable("a");
    services.remove(0).kill();
    let [_, b, c] = ports.map(|port| format!("127.0.0.1:{port}"));
    let run = |address: &str, more: &[&str]| {
        let block = "block=00112233445566778899aabbccddeeff";
        let run = [
            "run",
            "aes-128-rounds",
            "--protocol",
            "prepared",
            "--role",
            "evaluator",
        ];
        let meet = [
            "--config",
            "bob.toml",
            "--with",
            "alice",
            "--connect",
            address,
        ];
        tacit(
            folder,
            &[&run[..], &meet, &["--input", block], more].concat(),
        )
    };
    for address in [&b, &c] {
        run(address, &["--require-stock"]).succeeded();
    }
    assert_eq!(usable("a"), before);
    // Its lane is retired alone, and what was in lane c is still there.
    let ended = [
        "stock",
        "new-epoch",
        "--config",
        "bob.toml",
        "--peer",
        "alice",
        "--lane",
        "a",
    ];
    tacit(folder, &ended).succeeded();
    let listed = tacit(folder, &["stock", "list", "--config", "bob.toml"]);
    assert!(!listed.succeeded().contains("its lane a"), "{listed:?}");
    run(&b, &["--require-stock"]).succeeded();
    let nobody = [
        "prepare",
        "aes-128-rounds",
        "--role",
        "evaluator",
        "--lane",
        "a",
    ];
    let meet = ["--config", "bob.toml", "--with", "alice", "--connect", &b];
    tacit(folder, &[&nobody[..], &meet].concat()).failed(5, &["lane a", "lane b answers"]);
}

/// Process c comes back without its folder. A preparation that meets it says which lane to end, and
/// Bob's material with the other processes stays.
fn a_folder_is_lost(parties: &process::Parties, mut services: Vec<ChildProcess>, ports: [u16; 3]) {
    let folder = parties.folder();
    let [_, b, c] = ports.map(|port| format!("127.0.0.1:{port}"));
    let prepare = |address: &str, more: &[&str]| {
        let prepare = ["prepare", "aes-128-rounds", "--role", "evaluator"];
        let meet = [
            "--config",
            "bob.toml",
            "--with",
            "alice",
            "--connect",
            address,
        ];
        tacit(folder, &[&prepare[..], &meet, more].concat())
    };
    for address in [&b, &c] {
        prepare(address, &[]).succeeded();
    }
    services.pop().expect("process c").kill();
    fs::remove_dir_all(folder.join("stock-c")).expect("the folder of c");
    let mut started = process::start(folder, &["serve", "--config", "service-c.toml"], "");
    started.line_after("listening address=");
    let end_c = "new-epoch --peer alice --lane c`";
    prepare(&c, &[]).failed(7, &["with lane c of the peer: ", end_c]);
    let command = "stock new-epoch --config bob.toml --peer alice --lane c";
    tacit(folder, &words(command)).succeeded();
    let listed = tacit(folder, &["stock", "list", "--config", "bob.toml"]);
    assert!(listed.succeeded().contains("its lane b"), "{listed:?}");
    prepare(&c, &[]).succeeded();
    // Where Bob has nothing, no command of his helps.
    let lost = prepare(&c, &["--stock", "elsewhere"]);
    let said = "have the other party drop its half, by a new epoch with this party";
    lost.failed(
        7,
        &["with lane c of the peer: ", "this party has none", said],
    );
    assert!(!lost.stderr.contains("tacit stock new-epoch"), "{lost:?}");
}
