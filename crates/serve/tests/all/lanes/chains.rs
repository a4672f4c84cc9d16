//! A chain is kept by one process of a party: its home.

use tacit::session::{AbortReason, ChainLanes, ProtocolId};
use tacit::stock::KeptChain;
use tacit::{Function, FunctionBuilder, Recipient};
use tacit_serve::{Event, Policy};

use super::*;
use crate::scene::refused_with;

const CHAIN: &str = "budget";

fn function(name: &str, fill: impl FnOnce(&mut FunctionBuilder)) -> Arc<Function> {
    let mut builder = FunctionBuilder::new(name);
    fill(&mut builder);
    Arc::new(builder.finish().expect("well formed"))
}

/// Returns a function that starts the chain with a number of the peer's.
fn begin() -> Arc<Function> {
    function("begin", |f| {
        f.input("first", "u8", Role::Evaluator)
            .save("left", "u8", "first");
    })
}

/// Returns a function that shows what is left, and keeps it.
fn look() -> Arc<Function> {
    function("look", |f| {
        f.load("left", "u8").save("left", "u8", "left").output(
            "shown",
            "u8",
            Recipient::Both,
            "left",
        );
    })
}

/// Returns the policy of a process, under which these lanes keep chains.
fn policy(scene: &Scene, homes: &LaneHomes, lanes: &[&str]) -> Policy {
    let offers = [begin(), look()].map(|function| tacit_serve::Offer {
        chain: Some(CHAIN.to_owned()),
        protocols: vec![ProtocolId::Prepared],
        ..scene.offer(vec![function])
    });
    scene
        .policy(offers.into(), Vec::new(), Scene::limits())
        .lane_homes(Arc::clone(homes))
        .chain_lanes(ChainLanes::new(lanes.iter().copied().map(lane)))
}

/// The processes of a party that keeps chains.
struct Keepers {
    addresses: Vec<SocketAddr>,
    processes: Vec<Service>,
}

impl Keepers {
    /// Starts three processes, which tell peers each other's addresses or not.
    fn start(scene: &Scene, tells_homes: bool, lanes: &[&str]) -> Self {
        let listeners = NAMES.map(|_| Listener::bind("127.0.0.1:0").expect("a free port"));
        let addresses: Vec<_> = listeners.iter().map(Listener::local_address).collect();
        let homes = NAMES.iter().zip(&addresses).filter(|_| tells_homes);
        let homes = homes.map(|(name, address)| (lane(name), address.to_string()));
        let homes: LaneHomes = Arc::new(homes.collect());
        let processes = NAMES.iter().zip(listeners).map(|(name, listener)| {
            let (alice, policy) = (scene.alice.clone(), policy(scene, &homes, lanes));
            let stocks = alices(scene, name);
            let nobody = Arc::new(|_: &Event| ());
            Service::start(alice, listener, Some(stocks), policy, nobody).expect("a service")
        });
        Self {
            processes: processes.collect(),
            addresses,
        }
    }
}

/// Returns the stocks of one of Alice's processes.
fn alices(scene: &Scene, name: &str) -> Stocks {
    let stocks = scene.stocks(&format!("alice-{name}"), 1 << 30);
    stocks.in_lane(lane(name))
}

/// Starts the chain as a peer that has no record of any. Returns the lane where it is.
fn starts(scene: &Scene, folder: &str, address: SocketAddr) -> Result<Lane, Error> {
    let client = Client {
        stocks: scene.stocks(folder, 1 << 30),
        ..Client::new(scene, 0)
    };
    let mut session = client.connect(address);
    let (begin, stocks) = (begin(), client.stocks.clone());
    let job = Job::new(&begin, Role::Evaluator)
        .prepared(&stocks)
        .chain(CHAIN);
    job.input("first", 7_u32).run(&mut session)?;
    let lane = session.lanes().peer;
    let _ = session.close();
    Ok(lane)
}

/// The chain keeps a budget. The peer forgets what it has, comes to each process by its own
/// address, and hopes for a whole budget at each.
#[test]
fn a_peer_cannot_start_a_chain_with_each_process() {
    let scene = Scene::new(1);
    let party = Keepers::start(&scene, false, &NAMES);
    let mut started = Vec::new();
    for (number, address) in party.addresses.iter().enumerate() {
        match starts(&scene, &format!("forgotten{number}"), *address) {
            Ok(lane) => started.push(lane),
            refused => refused_with(refused, AbortReason::OtherLane),
        }
    }
    assert_eq!(started.len(), 1, "{started:?}");
    drop(party);
    let kept = NAMES.iter().flat_map(|name| alices(&scene, name).chains());
    assert_eq!(kept.flatten().count(), 1);
}

#[test]
fn a_process_in_a_lane_without_a_list_keeps_no_chain() {
    let scene = Scene::new(1);
    let party = Keepers::start(&scene, false, &[]);
    for address in &party.addresses {
        let refused = starts(&scene, "peer0", *address);
        refused_with(refused, AbortReason::OtherLane);
    }
}

#[test]
fn a_peer_is_sent_to_the_home_of_a_new_chain_and_comes_back_to_it() {
    let scene = Scene::new(1);
    let party = Keepers::start(&scene, true, &["b", "c"]);
    let balancer = Balancer::start(party.addresses.clone());
    let home = starts(&scene, "peer0", balancer.address).expect("sent to its home");
    assert_ne!(home, lane("a"));
    for _ in 0..3 {
        let client = Client::new(&scene, 0);
        let mut session = client.connect(balancer.address);
        let look = look();
        let job = Job::new(&look, Role::Evaluator)
            .prepared(&client.stocks)
            .chain(CHAIN);
        let outcome = job.run(&mut session).expect("at its home");
        assert_eq!(outcome.outputs["shown"].to_text(), "7");
        assert_eq!(session.lanes().peer, home);
    }
    assert_eq!(party.processes.len(), 3);
}

/// An operator changes the list of lanes: the process that has the chain says so, and runs it only
/// while it is the home.
#[test]
fn a_chain_that_another_list_moves_is_noticed_and_does_not_run() {
    let scene = Scene::new(1);
    let party = Keepers::start(&scene, true, &NAMES);
    let home = starts(&scene, "peer0", party.addresses[0]).expect("sent to its home");
    drop(party);
    let stocks = alices(&scene, home.name());
    let others: Vec<_> = NAMES
        .into_iter()
        .filter(|name| lane(name) != home)
        .collect();
    let elsewhere_of = |stocks: &Stocks, lanes: &[&str]| {
        let found = policy(&scene, &LaneHomes::default(), lanes).chain_elsewhere(stocks);
        found.expect("readable")
    };
    let elsewhere = |lanes: &[&str]| elsewhere_of(&stocks, lanes);
    let is_ours = |chain: &KeptChain| chain.summary.name == CHAIN;
    // A list with fewer other lanes moves nothing.
    for lanes in [&NAMES[..], &[home.name()], &[home.name(), others[0]]] {
        assert!(elsewhere(lanes).is_none(), "{lanes:?}");
    }
    let (chain, moved) = elsewhere(&others).expect("it moves");
    assert!(is_ours(&chain) && moved.is_some_and(|lane| lane != home));
    let (chain, moved) = elsewhere(&[]).expect("nobody keeps it");
    assert!(is_ours(&chain) && moved.is_none());
    // The process gets another lane, or none, and would not see its chain.
    for lane in [lane(others[0]), Lane::NONE] {
        let renamed = stocks.clone().in_lane(lane);
        assert!(elsewhere_of(&renamed, &NAMES).is_some(), "{lane:?}");
    }
    let party = Keepers::start(&scene, false, &others);
    let at_home = NAMES.iter().position(|name| lane(name) == home);
    let address = party.addresses[at_home.expect("one of them")];
    let client = Client::new(&scene, 0);
    let look = look();
    let job = Job::new(&look, Role::Evaluator)
        .prepared(&client.stocks)
        .chain(CHAIN);
    refused_with(
        job.run(&mut client.connect(address)),
        AbortReason::OtherLane,
    );
}
