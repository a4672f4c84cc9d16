//! Two processes that prepare and run. One is killed at any instant; both start again, run
//! correctly, and have taken no number twice. The same for two services, one of which keeps the
//! stock filled while runs take from it.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{self, ChildProcess, Ended, Parties, tacit};

const INPUTS: [&str; 2] = [
    "key=000102030405060708090a0b0c0d0e0f",
    "block=00112233445566778899aabbccddeeff",
];
/// FIPS 197, appendix C.1.
const CIPHERTEXT: &str = "ciphertext = 69c4e0d86a7b0430d8cdb78070b4c55a\n";
const PREPARE: &[&str] = &["prepare", "aes-128-rounds", "--runs", "2", "--retries", "0"];
const RUN: &[&str] = &[
    "run",
    "aes-128-rounds",
    "--protocol",
    "prepared",
    "--repeat",
    "2",
    "-vv",
];
const STOCKS: [&str; 2] = ["a", "b"];

/// The process to be killed, and the time.
struct Kill {
    party: usize,
    after: Duration,
}

/// All numbers that both parties took, over all their processes.
struct Harness {
    parties: Parties,
    taken: [BTreeSet<(String, u64)>; 2],
    /// The state of SplitMix64, so that a failure names its seed.
    state: u64,
}

impl Harness {
    fn new(seed: u64) -> Self {
        Self {
            parties: Parties::new(),
            taken: Default::default(),
            state: seed,
        }
    }

    /// Returns a number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    /// Returns a party's arguments.
    fn arguments<'a>(&self, command: &[&'a str], party: usize) -> Vec<&'a str> {
        let mut all = command.to_vec();
        all.extend(["--role", ["garbler", "evaluator"][party]]);
        all.extend(["--stock", STOCKS[party]]);
        if command[0] == "run" {
            all.extend(["--input", INPUTS[party]]);
        }
        all
    }

    /// Runs a command at both parties to the end, which may be a kill.
    fn act(&mut self, command: &[&str], kill: Option<&Kill>) -> [Ended; 2] {
        let arguments = |party| {
            let mut all = self.arguments(command, party);
            // A process that waits for one that was killed before they met ends soon, too.
            if kill.is_some() {
                all.extend(["--timeout", "3s"]);
            }
            all
        };
        let (alice, address) = self.parties.alice_starts(&arguments(0), "");
        let bob = self.parties.bob_starts(&address, &arguments(1), "");
        let mut both = [alice, bob];
        if let Some(kill) = kill {
            thread::sleep(kill.after);
            both[kill.party].kill();
        }
        // The remaining processes end by themselves.
        let ended = both.map(ChildProcess::end);
        for (party, ended) in ended.iter().enumerate() {
            assert!(!ended.stderr.contains("panicked"), "{ended:?}");
            self.record(party, &ended.stderr);
        }
        ended
    }

    /// Records the numbers that a run says it takes: `… takes NAME 3..5, 7..8 of DIGEST in epoch
    /// EPOCH`, or in a service's log `… takes digest=DIGEST epoch=EPOCH numbers="NAME 3..5, 7..8"
    /// …`.
    fn record(&mut self, party: usize, told: &str) {
        let of_service = |rest: &str| {
            let (digest, rest) = rest.strip_prefix("digest=")?.split_once(" epoch=")?;
            let (epoch, numbers) = rest.split_once(" numbers=\"")?;
            let numbers = numbers.split_once('"')?.0.to_owned();
            Some((format!("{digest} in epoch {epoch}"), numbers))
        };
        let of_run = |rest: &str| {
            let (numbers, kind) = rest.split_once(" of ")?;
            // If the kill cut the line, nothing was sent for the missing part.
            kind.contains(" in epoch ")
                .then(|| (kind.to_owned(), numbers.to_owned()))
        };
        let lines = told.lines().filter_map(|line| line.split_once(" takes "));
        for (kind, numbers) in
            lines.filter_map(|(_, rest)| of_service(rest).or_else(|| of_run(rest)))
        {
            let Some((_, spans)) = numbers.split_once(' ') else {
                continue;
            };
            for (first, end) in spans.split(", ").filter_map(|span| span.split_once("..")) {
                let [Ok(first), Ok(end)] = [first, end].map(str::parse::<u64>) else {
                    continue;
                };
                for number in first..end {
                    let new = self.taken[party].insert((kind.clone(), number));
                    assert!(new, "party {party} takes {number} of {kind} twice");
                }
            }
        }
    }

    /// Runs both parties and checks the result.
    fn run_right(&mut self) {
        for ended in self.act(RUN, None) {
            assert_eq!(ended.succeeded(), CIPHERTEXT);
        }
    }

    /// Kills `points` processes, each at another instant.
    fn kill(&mut self, points: u64) {
        let mut walls = [PREPARE, RUN].map(|command| {
            let begun = Instant::now();
            for ended in self.act(command, None) {
                ended.succeeded();
            }
            begun.elapsed()
        });
        // The instants extend a little beyond the end.
        walls.iter_mut().for_each(|wall| *wall += *wall / 10);
        let mut cut = 0;
        for _ in 0..points {
            let which = self.below(2) as usize;
            let within = walls[which].as_micros() as u64;
            let kill = Kill {
                party: self.below(2) as usize,
                after: Duration::from_micros(self.below(within)),
            };
            let ended = self.act([PREPARE, RUN][which], Some(&kill));
            cut += u64::from(ended.iter().any(|ended| ended.code != 0));
            self.run_right();
        }
        let takes = self.taken.each_ref().map(BTreeSet::len);
        println!("{{\"kills\":{points},\"cut\":{cut},\"numbers_taken\":{takes:?}}}");
        self.agree();
    }

    /// Checks that both stocks are whole and hold the same, once the parties have met to prepare.
    fn agree(&mut self) {
        for ended in self.act(PREPARE, None) {
            ended.succeeded();
        }
        let usable = STOCKS.map(|stock| {
            let look = |command| {
                let args = ["stock", command, "--stock", stock, "--json"];
                tacit(self.parties.folder(), &args).json()["stocks"][0].clone()
            };
            assert_eq!(look("check")["damaged"], serde_json::json!([]));
            let kinds = look("list")["kinds"].as_array().expect("kinds").clone();
            let usable = kinds.iter().map(|kind| {
                let counts = [&kind["usable"], &kind["pending"]];
                (
                    kind["digest"].to_string(),
                    counts.map(serde_json::Value::as_u64),
                )
            });
            usable.collect::<Vec<_>>()
        });
        assert_eq!(usable[0], usable[1]);
    }
}

impl Harness {
    /// Starts both services. Bob's fills the stock with Alice's, which answers runs.
    fn serve(&self) -> [ChildProcess; 2] {
        let [alice, bob] = self.parties.fingerprints();
        let common =
            "[serve]\nlisten = \"127.0.0.1:0\"\nmetrics = \"\"\nlook_at_stock = \"300ms\"\n";
        let level = |role| {
            format!(
                "[[serve.stock]]\nfunction = \"aes-128-rounds\"\nrole = \"{role}\"\nruns = 4\n\
                 refill_below = 4\n"
            )
        };
        let function = "[[serve.function]]\nfunction = \"aes-128-rounds\"\nrole = \"garbler\"\n\
                        protocols = [\"prepared\"]\ninputs_file = \"key.json\"\n";
        let text = format!(
            "identity = \"alice.key\"\n[timeouts]\nmessage = \"3s\"\n[peers.bob]\n\
             fingerprint = \"{bob}\"\n{common}{function}{}",
            level("garbler")
        );
        self.parties.file("alice.toml", &text);
        self.parties
            .file("key.json", r#"{"key": "000102030405060708090a0b0c0d0e0f"}"#);
        let start = |config, stock| {
            let arguments = ["serve", "-v", "--config", config, "--stock", stock];
            process::start(self.parties.folder(), &arguments, "")
        };
        let mut first = start("alice.toml", STOCKS[0]);
        let address = first.line_after("listening address=");
        let text = format!(
            "identity = \"bob.key\"\n[timeouts]\nmessage = \"3s\"\n[peers.alice]\n\
             fingerprint = \"{alice}\"\naddress = \"{address}\"\n{common}{}",
            level("evaluator")
        );
        self.parties.file("bob.toml", &text);
        [first, start("bob.toml", STOCKS[1])]
    }

    /// Starts a run between Bob and Alice's service, in addition to Bob's service.
    fn visit(&self) -> ChildProcess {
        let mut all = self.arguments(RUN, 1);
        all.extend(["--config", "bob.toml", "--peer", "alice", "--timeout", "5s"]);
        process::start(self.parties.folder(), &all, "")
    }

    /// Kills a service or a run at this many instants, while the stock is being filled.
    fn kill_services(&mut self, points: u64) {
        let (mut cut, mut filled) = (0, 0);
        let mut count = |ended: &Ended| {
            let lines = ended.stderr.lines();
            filled += lines.filter(|line| line.contains(" replenished ")).count();
        };
        for _ in 0..points {
            let [alice, bob] = self.serve();
            let mut all = [alice, bob, self.visit()];
            let (victim, after) = (self.below(3) as usize, self.below(700));
            thread::sleep(Duration::from_millis(after));
            all[victim].kill();
            let [alice, bob, run] = all;
            let run = run.end();
            cut += u64::from(run.code != 0);
            assert!(["", CIPHERTEXT].contains(&&*run.stdout), "{run:?}");
            self.record(1, &run.stderr);
            for (party, service) in [alice, bob].into_iter().enumerate() {
                service.signal_if_running("TERM");
                let ended = service.end();
                assert!(!ended.stderr.contains("panicked"), "{ended:?}");
                count(&ended);
                self.record(party, &ended.stderr);
            }
            // The same once more, without a kill.
            let services = self.serve();
            for _ in 0..2 {
                let run = self.visit().end();
                assert_eq!(run.succeeded(), CIPHERTEXT);
                self.record(1, &run.stderr);
            }
            for (party, service) in services.into_iter().enumerate() {
                service.signal("TERM");
                let ended = service.end();
                ended.succeeded();
                count(&ended);
                self.record(party, &ended.stderr);
            }
        }
        let takes = self.taken.each_ref().map(BTreeSet::len);
        println!(
            "{{\"kills\":{points},\"cut\":{cut},\"replenished\":{filled},\
             \"numbers_taken\":{takes:?}}}"
        );
        assert!(filled > 0, "nothing was filled while services were killed");
        self.agree();
    }
}

#[test]
fn services_that_fill_the_stock_are_killed_and_never_reuse() {
    Harness::new(7).kill_services(4);
}

#[test]
#[ignore = "long: services killed at many instants"]
fn services_killed_at_many_instants() {
    Harness::new(700).kill_services(120);
}

#[test]
fn processes_at_the_same_time_take_different_numbers() {
    let mut harness = Harness::new(0);
    let plenty = ["prepare", "aes-128-rounds", "--runs", "24"];
    for ended in harness.act(&plenty, None) {
        ended.succeeded();
    }
    let arguments = [0, 1].map(|party| harness.arguments(RUN, party));
    let pairs = [(); 3].map(|()| {
        let (alice, address) = harness.parties.alice_starts(&arguments[0], "");
        [
            alice,
            harness.parties.bob_starts(&address, &arguments[1], ""),
        ]
    });
    for (party, process) in pairs
        .into_iter()
        .flat_map(|pair| [0, 1].into_iter().zip(pair))
    {
        let ended = process.end();
        assert_eq!(ended.succeeded(), CIPHERTEXT);
        harness.record(party, &ended.stderr);
    }
    harness.agree();
}

#[test]
fn a_killed_process_wastes_and_never_reuses() {
    Harness::new(6).kill(8);
}

#[test]
#[ignore = "long: processes killed at many instants"]
fn processes_killed_at_many_instants() {
    Harness::new(600).kill(240);
}
