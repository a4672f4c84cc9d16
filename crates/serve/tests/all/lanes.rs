//! One party with several processes, each with a stock of its own, behind one address.

mod chains;

use std::collections::BTreeSet;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::scene::{Scene, aes};
use tacit::net::Lane;
use tacit::session::LaneHomes;
use tacit::stock::{Lanes, StockName, Stocks, TakenNumbers};
use tacit::{Error, Job, Listener, Role, Session, Settings};
use tacit_serve::{Event, Limits, Service};

const SOON: Duration = Duration::from_secs(20);
const NAMES: [&str; 3] = ["a", "b", "c"];

fn lane(name: &str) -> Lane {
    name.parse().expect("a name")
}

/// A TCP load balancer: each connection goes to the next process, or to one after it that answers.
struct Balancer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    ends: Arc<AtomicBool>,
}

impl Balancer {
    fn start(backends: Vec<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (connections, ends) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (counted, ended) = (Arc::clone(&connections), Arc::clone(&ends));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::Acquire) {
                    return;
                }
                let first = counted.fetch_add(1, Ordering::AcqRel);
                let order =
                    (0..backends.len()).map(|next| backends[(first + next) % backends.len()]);
                let mut servers = order.filter_map(|backend| TcpStream::connect(backend).ok());
                if let Some(server) = servers.next() {
                    join(&client, &server);
                    join(&server, &client);
                }
            }
        });
        Self {
            address,
            connections,
            ends,
        }
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address);
    }
}

/// Passes on what comes from one socket to another until either ends.
fn join(from: &TcpStream, to: &TcpStream) {
    let [mut from, mut to] = [from, to].map(|socket| socket.try_clone().expect("a descriptor"));
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}

/// What the runs of a process took: the peer and what was told of it, in order.
type Takes = Arc<Mutex<Vec<(String, String)>>>;

/// The processes of one party.
struct Party {
    addresses: Vec<SocketAddr>,
    processes: Vec<Option<Service>>,
    takes: [Takes; 3],
}

impl Party {
    /// Starts three processes that know each other's addresses.
    fn start(scene: &Scene) -> Self {
        Self::start_with(scene, |addresses| {
            let homes = NAMES.iter().zip(addresses);
            homes
                .map(|(name, address)| (lane(name), address.to_string()))
                .collect()
        })
    }

    fn start_with(scene: &Scene, homes: impl Fn(&[SocketAddr]) -> Vec<(Lane, String)>) -> Self {
        let listeners = NAMES.map(|_| Listener::bind("127.0.0.1:0").expect("a free port"));
        let addresses: Vec<_> = listeners.iter().map(Listener::local_address).collect();
        let homes: LaneHomes = Arc::new(homes(&addresses).into_iter().collect());
        let takes = NAMES.map(|_| Arc::default());
        let processes = NAMES
            .iter()
            .zip(listeners)
            .zip(&takes)
            .map(|((name, listener), takes)| Some(process(scene, name, (listener, &homes), takes)));
        Self {
            processes: processes.collect(),
            addresses,
            takes,
        }
    }

    /// Ends a process in the midst of what it does.
    fn kill(&mut self, number: usize) {
        drop(self.processes[number].take());
    }

    /// Starts a process again at its address.
    fn restart(&mut self, scene: &Scene, number: usize) {
        let address = self.addresses[number].to_string();
        let listener = Listener::bind(&address).expect("its own port");
        let homes = NAMES.iter().zip(&self.addresses);
        let homes = homes.map(|(name, address)| (lane(name), address.to_string()));
        let homes = (listener, &Arc::new(homes.collect()));
        let started = process(scene, NAMES[number], homes, &self.takes[number]);
        self.processes[number] = Some(started);
    }
}

fn process(
    scene: &Scene,
    name: &str,
    (listener, homes): (Listener, &LaneHomes),
    takes: &Takes,
) -> Service {
    let offers = vec![scene.offer(vec![aes()])];
    let levels = (0..scene.peers.len())
        .map(|peer| scene.level(peer, 8))
        .collect();
    let limits = Limits {
        preparations: scene.peers.len(),
        ..Scene::limits()
    };
    let policy = scene
        .policy(offers, levels, limits)
        .lane_homes(Arc::clone(homes));
    let takes = Arc::clone(takes);
    let observer = move |event: &Event| {
        if let Event::Takes {
            peer,
            numbers,
            digest,
            epoch,
            ..
        } = event
        {
            let told = format!("{numbers} of {digest} in epoch {epoch}");
            takes.lock().unwrap().push((peer.clone(), told));
        }
    };
    let stocks = scene
        .stocks(&format!("alice-{name}"), 1 << 30)
        .in_lane(lane(name));
    let alice = scene.alice.clone();
    Service::start(alice, listener, Some(stocks), policy, Arc::new(observer)).expect("a service")
}

/// A peer, with one process and one folder.
struct Client<'s> {
    scene: &'s Scene,
    number: usize,
    stocks: Stocks,
    /// The lanes and numbers that its runs took.
    taken: Vec<(Lane, String)>,
}

impl<'s> Client<'s> {
    fn new(scene: &'s Scene, number: usize) -> Self {
        Self {
            scene,
            number,
            stocks: scene.stocks(&format!("peer{number}"), 1 << 30),
            taken: Vec::new(),
        }
    }

    fn connect(&self, address: SocketAddr) -> Session {
        let settings = Settings {
            connect_timeout: Duration::from_secs(5),
            timeout: SOON,
            ..Settings::default()
        };
        let (own, alice) = (
            &self.scene.peers[self.number],
            self.scene.alice.fingerprint(),
        );
        Session::connect(&address.to_string(), own, &alice, &settings).expect("a session")
    }

    /// Prepares for this many runs with one of Alice's processes.
    fn prepare(&self, address: SocketAddr, name: &str, runs: u64) {
        let mut session = self.connect(address);
        assert_eq!(session.go_to_lane(&[lane(name)]).unwrap(), lane(name));
        let prepared = self
            .scene
            .prepare(&mut session, &self.stocks, runs)
            .unwrap();
        assert_eq!(prepared.lane, lane(name));
        session.close().expect("a peer that is there");
    }

    /// Makes a run, and returns the lane in which it was.
    fn run(&mut self, address: SocketAddr, alone: bool) -> Result<Lane, Error> {
        let mut session = self.connect(address);
        let (function, taken) = (aes(), Arc::new(Mutex::new(Vec::new())));
        let noted = Arc::clone(&taken);
        let mut job = Job::new(&function, Role::Evaluator)
            .prepared(&self.stocks)
            .watch_taken(move |numbers: &TakenNumbers| {
                noted.lock().unwrap().push(numbers.to_string());
            });
        if alone {
            job = job.from_stock_alone();
        }
        let outcome = job.input("block", self.scene.block()).run(&mut session)?;
        assert_eq!(
            outcome.outputs["ciphertext"].to_text(),
            crate::scene::CIPHERTEXT
        );
        let lane = session.lanes().peer;
        let taken = std::mem::take(&mut *taken.lock().unwrap());
        self.taken
            .extend(taken.into_iter().map(|numbers| (lane, numbers)));
        let _ = session.close();
        Ok(lane)
    }

    fn name(&self, name: &str) -> StockName {
        StockName {
            lanes: Lanes {
                peer: lane(name),
                ..Lanes::default()
            },
            ..StockName {
                own: self.scene.fingerprint(self.number),
                ..self.scene.stock_name(0)
            }
        }
    }

    fn runs_left(&self, name: &str) -> u64 {
        self.stocks
            .runs_left(&self.name(name), &aes())
            .expect("a stock")
    }

    /// Checks that no number was taken twice in a lane.
    fn check_once(&self) {
        let distinct: BTreeSet<_> = self.taken.iter().collect();
        assert_eq!(distinct.len(), self.taken.len(), "{:?}", self.taken);
    }
}

#[test]
fn any_of_three_processes_answers_and_runs_go_where_the_material_is() {
    let scene = Scene::new(3);
    let party = Party::start(&scene);
    let balancer = Balancer::start(party.addresses.clone());
    let address = balancer.address;
    let all: Vec<_> = thread::scope(|scope| {
        let peers = (0..3).map(|number| {
            let scene = &scene;
            scope.spawn(move || {
                let mut client = Client::new(scene, number);
                for (name, runs) in NAMES.iter().zip([1, 2, 3]) {
                    client.prepare(address, name, runs);
                }
                for _ in 0..6 {
                    client.run(address, true).expect("something in stock");
                }
                client
            })
        });
        let peers: Vec<_> = peers.collect();
        peers.into_iter().map(|peer| peer.join().unwrap()).collect()
    });
    for (number, client) in all.iter().enumerate() {
        client.check_once();
        assert_eq!(NAMES.map(|name| client.runs_left(name)), [0; 3]);
        // Both parties took the same, lane by lane.
        for (name, takes) in NAMES.iter().zip(&party.takes) {
            let peer = format!("peer{number}");
            let takes = takes.lock().unwrap();
            let theirs = takes.iter().filter(|(from, _)| *from == peer);
            let theirs: BTreeSet<_> = theirs.map(|(_, numbers)| numbers.clone()).collect();
            let ours = client
                .taken
                .iter()
                .filter(|(in_lane, _)| *in_lane == lane(name));
            let ours: BTreeSet<_> = ours.map(|(_, numbers)| numbers.clone()).collect();
            assert_eq!(ours, theirs);
            assert!(!ours.is_empty());
        }
    }
}

#[test]
fn a_process_that_dies_takes_nothing_of_the_others() {
    let scene = Scene::new(1);
    let mut party = Party::start(&scene);
    let balancer = Balancer::start(party.addresses.clone());
    let mut client = Client::new(&scene, 0);
    client.prepare(balancer.address, "a", 3);
    client.prepare(balancer.address, "b", 2);
    // A session is open there, with leases, when the process ends.
    let mut open = client.connect(balancer.address);
    assert_eq!(open.go_to_lane(&[lane("a")]).unwrap(), lane("a"));
    let (function, block) = (aes(), scene.block());
    let job = |ahead: u64| {
        let job = Job::new(&function, Role::Evaluator).prepared(&client.stocks);
        job.lease_ahead(ahead).input("block", block.clone())
    };
    job(1).run(&mut open).expect("a run");
    party.kill(0);
    assert!(job(0).run(&mut open).is_err());
    for _ in 0..2 {
        assert_eq!(
            client.run(balancer.address, true).expect("of lane b"),
            lane("b")
        );
    }
    // Nothing is left but in the lane of the process that died: it is made on the spot elsewhere.
    let made = client
        .run(balancer.address, false)
        .expect("made on the spot");
    assert_ne!(made, lane("a"));
    assert_eq!(client.runs_left("a"), 1);
    party.restart(&scene, 0);
    assert_eq!(
        client.run(balancer.address, true).expect("of lane a"),
        lane("a")
    );
    client.check_once();
}

#[test]
fn a_lane_whose_folder_is_lost_is_retired_alone() {
    let scene = Scene::new(1);
    let mut party = Party::start(&scene);
    let balancer = Balancer::start(party.addresses.clone());
    let mut client = Client::new(&scene, 0);
    client.prepare(balancer.address, "a", 2);
    client.prepare(balancer.address, "b", 1);
    party.kill(0);
    std::fs::remove_dir_all(scene.folder.path().join("alice-a")).expect("a folder");
    party.restart(&scene, 0);
    let refused = client.run(balancer.address, false).unwrap_err();
    assert!(
        refused.to_string().contains("the other party has none"),
        "{refused}"
    );
    client
        .stocks
        .end_epoch(&client.name("a"))
        .expect("its half");
    assert_eq!(
        client.run(balancer.address, true).expect("of lane b"),
        lane("b")
    );
    client.prepare(balancer.address, "a", 1);
    assert_eq!(
        client.run(balancer.address, true).expect("of lane a"),
        lane("a")
    );
}

/// Each process names another's address, as one does that is wrong about its party or lies.
#[test]
fn a_party_that_is_sent_around_stays_after_two_tries() {
    let scene = Scene::new(1);
    let party = Party::start(&scene);
    let mut client = Client::new(&scene, 0);
    for name in ["a", "b"] {
        client.prepare(party.addresses[0], name, 1);
    }
    drop(party);
    let party = Party::start_with(&scene, |addresses| {
        let [a, b] = [("a", addresses[2]), ("b", addresses[0])];
        [a, b]
            .map(|(name, address)| (lane(name), address.to_string()))
            .into()
    });
    // Count what comes to the process with lane c, which both lanes' addresses lead to.
    let balancer = Balancer::start(vec![party.addresses[2]]);
    assert_eq!(
        client.run(balancer.address, false).expect("on the spot"),
        lane("c")
    );
    assert_eq!(balancer.connections.load(Ordering::Acquire), 1);
    assert_eq!(["a", "b"].map(|name| client.runs_left(name)), [1, 1]);
    let began = party.processes.iter().flatten().map(|process| {
        let metrics = process.metrics();
        let began = metrics
            .lines()
            .filter(|line| line.starts_with("tacit_sessions_begun_total{"));
        let began = began.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        began.sum::<u64>()
    });
    let began: Vec<_> = began.collect();
    assert_eq!(began, [1, 0, 2], "two tries, and the session that stays");
}

/// The peer has material with three processes, and is told three addresses of somebody else.
#[test]
fn a_party_with_many_lanes_tries_two() {
    let scene = Scene::new(1);
    let party = Party::start(&scene);
    let mut client = Client::new(&scene, 0);
    for name in NAMES {
        client.prepare(party.addresses[0], name, 1);
    }
    drop(party);
    let stranger = Party::start(&Scene::new(1));
    let ways: Vec<_> = stranger
        .addresses
        .iter()
        .map(|way| Balancer::start(vec![*way]))
        .collect();
    let homes = NAMES.iter().zip(&ways);
    let homes = homes.map(|(name, way)| (lane(name), way.address.to_string()));
    let homes: LaneHomes = Arc::new(homes.collect());
    let listener = Listener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_address();
    let _started = process(&scene, "d", (listener, &homes), &Arc::default());
    assert_eq!(client.run(address, false).expect("on the spot"), lane("d"));
    let tried = ways
        .iter()
        .map(|way| way.connections.load(Ordering::Acquire));
    assert_eq!(tried.sum::<usize>(), 2);
}

/// The process with the most material is behind an address that takes connections and says nothing.
#[test]
fn a_process_that_says_nothing_does_not_hold_up_the_next() {
    let scene = Scene::new(1);
    let party = Party::start(&scene);
    let mut client = Client::new(&scene, 0);
    client.prepare(party.addresses[0], "a", 2);
    client.prepare(party.addresses[0], "b", 1);
    drop(party);
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = silent.local_addr().expect("an address").to_string();
    let party = Party::start_with(&scene, |addresses| {
        let b = addresses[1].to_string();
        vec![(lane("a"), address.clone()), (lane("b"), b)]
    });
    let ran = client.run(party.addresses[2], true);
    assert_eq!(ran.expect("of lane b"), lane("b"));
    assert!(silent.accept().is_ok(), "lane a was tried first");
}

/// A peer goes only to a process that has the party's key, whatever address it was told.
#[test]
fn a_lane_is_sought_only_under_the_pinned_identity() {
    let scene = Scene::new(1);
    let other = Scene::new(1);
    let stranger = Party::start(&other);
    let party = Party::start(&scene);
    let mut client = Client::new(&scene, 0);
    client.prepare(party.addresses[0], "a", 1);
    drop(party);
    let party = Party::start_with(&scene, |_| {
        vec![(lane("a"), stranger.addresses[0].to_string())]
    });
    assert_eq!(
        client.run(party.addresses[1], false).expect("on the spot"),
        lane("b")
    );
    assert_eq!(client.runs_left("a"), 1);
}
