//! A generator of `outsourced` that lies, against `tacit outsource` as evaluator and as cloud:
//! their users' output does not depend on which circuits are checked.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::process::{self, ChildProcess, Ended, tacit};
use tacit::outsourced::{OutsourcedJob, OutsourcedParameters};
use tacit::session::Side;
use tacit::stock::{ChainStatus, Stocks};
use tacit::{Category, Error, Function, Identity, Outcome, Session, Settings, library};
use tacit_net::{Channel, tls};
use tacit_protocol::message::Kind;
use tacit_testkit::link::playing;
use tacit_testkit::tamper::{Play, Sent};

/// Two fifths of the circuits are evaluated, and the others checked.
const COPIES: u32 = 160;
/// The circuits about which the generator lies, one in each run.
const LIES: usize = 6;
const CHAIN: &str = "friends";
/// The bytes that the generator sends the evaluator about the keys of one circuit.
const PAIR_OF_HASHES: usize = 64;
/// The longest wait of the generator, far longer than any actual wait.
const TIMEOUT: Duration = Duration::from_secs(30);
const SIZE: [&str; 4] = ["--param", "cells=2", "--param", "id_bits=2"];

/// A folder with the three identities, and the stocks of both servers.
struct Scene {
    folder: tempfile::TempDir,
    generator: Identity,
    cloud: String,
    evaluator: String,
}

/// The results of the three parties of a run.
struct Ends {
    generator: Result<Outcome, Error>,
    cloud: Ended,
    evaluator: Ended,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let made = |file| tacit(folder.path(), &["keygen", "--out", file]);
        let made = |file| made(file).succeeded().trim().to_owned();
        made("generator.key");
        let (cloud, evaluator) = (made("cloud.key"), made("evaluator.key"));
        let generator = Identity::load(&folder.path().join("generator.key")).expect("a key");
        Self {
            folder,
            generator,
            cloud,
            evaluator,
        }
    }

    fn stocks(&self, name: &str) -> Stocks {
        Stocks::open(&self.folder.path().join(name), 1 << 24).expect("a folder")
    }

    /// Starts `tacit outsource` of `function` as a party other than the generator, which is at
    /// `address`.
    fn party(&self, function: &str, role: &str, address: &str, more: &[&str]) -> ChildProcess {
        let (key, generator) = (
            format!("{role}.key"),
            self.generator.fingerprint().to_string(),
        );
        let copies = COPIES.to_string();
        let mut args = vec!["outsource", role, function];
        args.extend(SIZE);
        args.extend(["--copies", &copies]);
        args.extend([
            "--identity",
            &key,
            "--generator",
            &generator,
            "--generator-at",
            address,
        ]);
        args.extend(more);
        process::start(self.folder.path(), &args, "")
    }

    /// Makes a run in which these plays change the generator's messages: the first those to the
    /// cloud, the second those to the evaluator.
    fn run(
        &self,
        function: &str,
        [to_cloud, to_evaluator]: [Play; 2],
        inputs: [&[&str]; 2],
    ) -> Ends {
        let [own, theirs] = inputs;
        let listener = tls::Listener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_address().to_string();
        let known = ["--listen", "127.0.0.1:0", "--stock", "c", "--chain", CHAIN];
        let known = [&known[..], &["--evaluator", &self.evaluator]].concat();
        let mut cloud = self.party(function, "cloud", &address, &known);
        let cloud_at = cloud.line_after("listening on ");
        let mut at_cloud = self.session(&listener, &self.cloud, to_cloud);
        let known = ["--cloud", &self.cloud, "--cloud-at", &cloud_at];
        let known = [&known[..], theirs].concat();
        let evaluator = self.party(function, "evaluator", &address, &known);
        let mut at_evaluator = self.session(&listener, &self.evaluator, to_evaluator);
        let function = library_function(function);
        let parameters = OutsourcedParameters::malicious(COPIES, 40).expect("parameters");
        let mut job = OutsourcedJob::new(&function, parameters)
            .patience(TIMEOUT)
            .chain(&self.stocks("g"), CHAIN, &[]);
        for input in own {
            let (name, value) = input.split_once('=').expect("a name");
            job = job.input(name, value.parse::<u64>().expect("a number"));
        }
        let generator = job.generate(&mut at_evaluator, &mut at_cloud);
        // The sessions must end before the other parties are waited for.
        drop((at_evaluator, at_cloud));
        Ends {
            generator,
            cloud: cloud.end(),
            evaluator: evaluator.end(),
        }
    }

    fn session(&self, listener: &tls::Listener, peer: &str, play: Play) -> Session {
        let peer = peer.parse().expect("a fingerprint");
        let settings = Settings {
            connect_timeout: TIMEOUT,
            ..Settings::default()
        };
        let mut channel: Channel = listener
            .accept(&self.generator, &[peer], &settings)
            .expect("a peer that connects");
        channel.set_timeout(TIMEOUT);
        let own = self.generator.fingerprint();
        Session::over(playing(channel, play), Side::Listening, Some(&own)).expect("a session")
    }

    /// Returns the chain's status on both servers' disks.
    fn status(&self) -> [ChainStatus; 2] {
        ["g", "c"].map(|name| {
            let chains = self.stocks(name).chains().expect("a list");
            chains[0].summary.marks.status
        })
    }
}

fn library_function(name: &str) -> Function {
    let parameters = [("cells", 2), ("id_bits", 2)];
    let parameters = parameters.map(|(name, value)| (name.to_owned(), value));
    library::function(name, &BTreeMap::from(parameters)).expect("a function of the library")
}

fn honest() -> Play {
    Box::new(|_, _| Sent::AsIs)
}

/// Returns a play that lies about the check key of circuit `copy`.
fn lie_about(copy: usize) -> Play {
    Box::new(move |kind, payload| {
        if kind != Kind::KeyHashes.byte() {
            return Sent::AsIs;
        }
        let mut payload = payload.to_vec();
        payload[PAIR_OF_HASHES * copy] ^= 1;
        Sent::Payload(payload)
    })
}

/// Returns a play that leaves instead of sending a message of this kind.
fn leaves_at(at: Kind) -> Play {
    Box::new(move |kind, _| {
        if kind == at.byte() {
            Sent::End
        } else {
            Sent::AsIs
        }
    })
}

/// Returns what the user of a process sees, without addresses, which differ from run to run.
fn seen(ended: &Ended) -> (i32, String, Vec<&str>) {
    let has_address = |line: &&str| line.contains("127.0.0.1:");
    let lines = ended.stderr.lines().filter(|line| !has_address(line));
    (ended.code, ended.stdout.clone(), lines.collect())
}

/// The attack of a generator that tries to learn which circuits are checked. It lies about one key,
/// so that the evaluator finds generator and cloud at odds exactly if that circuit is checked, and
/// leaves the cloud before the cloud learns of it.
#[test]
fn no_process_shows_which_circuits_are_checked() {
    let scene = Scene::new();
    let begun = scene.run("friend-map-start", [honest(), honest()], [&[]; 2]);
    begun.generator.expect("an honest run");
    begun.cloud.succeeded();
    begun.evaluator.succeeded();
    let inputs: [&[&str]; 2] = [&["id=2"], &["--input", "cell=1"]];
    let attempts = (0..LIES).map(|copy| {
        let plays = [leaves_at(Kind::CopyHeads), lie_about(copy)];
        let ends = scene.run("friend-map-set", plays, inputs);
        assert!(ends.generator.is_err());
        assert_eq!(scene.status(), [ChainStatus::Live; 2], "circuit {copy}");
        [ends.cloud, ends.evaluator]
    });
    let attempts: Vec<_> = attempts.collect();
    let network = i32::from(Category::Network as u8);
    for attempt in &attempts {
        for (ended, first) in attempt.iter().zip(&attempts[0]) {
            assert_eq!(ended.code, network, "{ended:?}");
            assert_eq!(seen(ended), seen(first));
        }
    }
    let after = scene.run("friend-map-set", [honest(), honest()], inputs);
    after.generator.expect("an honest run");
    after.cloud.succeeded();
    let result = after.evaluator.succeeded();
    assert_eq!(result, "occupant = 0\n");
}
