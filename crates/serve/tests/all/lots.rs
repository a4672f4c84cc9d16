//! The material for `authenticated`: its peers order it from a service, within the policy, and the
//! service keeps it at its levels.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tacit::cost::FromStock;
use tacit::garble::SchemeId;
use tacit::protocols::{Protocol, StatisticalSecurity};
use tacit::scheme::default_scheme;
use tacit::session::{AbortReason, BaseOt, ProtocolId};
use tacit::stock::{LotPreparation, Prepared, StockName, Stocks};
use tacit::{Error, Function, Job, Outcome, ProtocolError, Role, Session};
use tacit_serve::{Event, Level, Limits, Material, Offer, Policy, Rate, Service};

use crate::replenish::{Other, until};
use crate::scene::{Scene, aes, millionaires, refused_with};

const PATIENCE: Duration = Duration::from_secs(60);
const S: StatisticalSecurity = StatisticalSecurity::DEFAULT;

/// Returns an offer of AES by `authenticated` alone.
fn offer(scene: &Scene) -> Offer {
    Offer {
        protocols: vec![ProtocolId::Authenticated],
        time_limit: PATIENCE,
        ..scene.offer(vec![aes()])
    }
}

/// Returns a level of instances for this many runs of AES with a peer.
fn instances(scene: &Scene, peer: usize, runs: u64) -> Level {
    Level {
        material: Material::Lots(aes(), S),
        scheme: default_scheme(&aes()),
        ..scene.level(peer, runs)
    }
}

/// Returns a level of this many triples with a peer.
fn triples(scene: &Scene, peer: usize, count: u64) -> Level {
    Level {
        material: Material::Triples(S),
        ..scene.level(peer, count)
    }
}

/// Returns the peer's side of a level.
fn mirrored(scene: &Scene, level: Level) -> Level {
    Level {
        peer: scene.alice.fingerprint(),
        role: Role::Evaluator,
        ..level
    }
}

struct Party<'a> {
    scene: &'a Scene,
    service: &'a Service,
    number: usize,
    stocks: Stocks,
}

impl<'a> Party<'a> {
    fn new(scene: &'a Scene, service: &'a Service, number: usize) -> Self {
        let stocks = scene.stocks(&format!("peer{number}"), 1 << 30);
        Self {
            scene,
            service,
            number,
            stocks,
        }
    }

    /// Orders instances for this many runs of AES.
    fn instances(&self, runs: u64, s: StatisticalSecurity) -> Result<Prepared, Error> {
        let function = aes();
        let order = LotPreparation::instances_for_runs(Role::Evaluator, &function, runs)?;
        let order = order.statistical_security(s);
        self.ordered(|session| order.run(session, &self.stocks))
    }

    /// Orders triples.
    fn triples(&self, count: u64) -> Result<Prepared, Error> {
        let order = LotPreparation::triples(Role::Evaluator, count);
        self.ordered(|session| order.run(session, &self.stocks))
    }

    /// Places an order in a session of its own. The peer learns the outcome a moment before its
    /// turn at the service is over, so this waits for the end of the turn.
    fn ordered(
        &self,
        order: impl FnOnce(&mut Session) -> Result<Prepared, Error>,
    ) -> Result<Prepared, Error> {
        let made = order(&mut self.scene.session(self.service, self.number)?);
        if !matches!(
            made,
            Err(Error::Protocol(ProtocolError::PeerAborted(
                AbortReason::Busy
            )))
        ) {
            until("the turn is over", || {
                let health = self.service.answers().health().1;
                health.contains(r#""preparing":0"#)
            });
        }
        made
    }

    /// Runs AES in a session of its own.
    fn encrypt(&self) -> Outcome {
        let mut session = self.scene.session(self.service, self.number).unwrap();
        let function = aes();
        let job = Job::new(&function, Role::Evaluator)
            .by(Protocol::Authenticated, Some(&self.stocks))
            .unwrap();
        let outcome = self.scene.encrypt_by(job, &mut session);
        session.close().unwrap();
        outcome
    }

    fn stock_name(&self) -> StockName {
        StockName {
            own: self.scene.fingerprint(self.number),
            scheme: default_scheme(&aes()),
            ..self.scene.stock_name(0)
        }
    }

    /// Returns the number of runs of AES that the instances suffice for.
    fn left(&self) -> u64 {
        let (name, from) = (self.stock_name(), FromStock::Instances);
        let asked = (S, BaseOt::default());
        let left = self
            .stocks
            .authenticated_runs_left(&name, &aes(), asked, from);
        left.unwrap()
    }

    /// Returns the number of triples that one order has left for runs whose OTs rest on this base
    /// OT.
    fn triples_left(&self, base_ot: BaseOt) -> u64 {
        let left = self.stocks.triples_left(&self.stock_name(), (S, base_ot));
        left.unwrap()
    }
}

#[test]
fn instances_are_ordered_of_a_service_up_to_its_level() {
    let scene = Scene::new(2);
    let levels = vec![instances(&scene, 0, 3)];
    let service = scene.start(scene.policy(vec![offer(&scene)], levels, Scene::limits()));
    let [one, other] = [0, 1].map(|number| Party::new(&scene, &service, number));
    let made = one.instances(2, S).unwrap();
    assert_eq!((made.made(), made.runs), (22, Some(2)));
    // Existing instances count, and this party has no level of more runs.
    assert_eq!(one.instances(3, S).unwrap().made(), 11);
    assert_eq!(one.left(), 3);
    refused_with(one.instances(4, S), AbortReason::OrderNotAllowed);
    scene.refused("preparation", "for authenticated at s = 40 as evaluator");
    // The same holds for another s, and for the level of another peer.
    let higher = StatisticalSecurity::new(48).unwrap();
    refused_with(one.instances(1, higher), AbortReason::OrderNotAllowed);
    refused_with(other.instances(1, S), AbortReason::OrderNotAllowed);
    refused_with(one.triples(64), AbortReason::OrderNotAllowed);
    for left in [2, 1] {
        assert_eq!(one.encrypt().cost.from_stock, Some(FromStock::Instances));
        assert_eq!(one.left(), left);
    }
    assert_eq!(other.encrypt().cost.from_stock, None);
    assert_eq!(service.stop(PATIENCE).cut, 0);
}

#[test]
fn triples_are_ordered_of_a_service_up_to_its_level() {
    let scene = Scene::new(2);
    let levels = vec![triples(&scene, 0, 6528)];
    let service = scene.start(scene.policy(vec![offer(&scene)], levels, Scene::limits()));
    let [one, other] = [0, 1].map(|number| Party::new(&scene, &service, number));
    // An order is rounded up to whole blocks.
    assert_eq!(one.triples(6500).unwrap().made(), 6528);
    assert_eq!(one.triples(6528).unwrap().made(), 0);
    refused_with(one.triples(6529), AbortReason::OrderNotAllowed);
    scene.refused(
        "preparation",
        "triples at s = 40 as evaluator, up to 6528 of them",
    );
    refused_with(other.triples(64), AbortReason::OrderNotAllowed);
    assert_eq!(one.encrypt().cost.from_stock, Some(FromStock::Triples));
    assert_eq!(one.encrypt().cost.from_stock, None);
    assert_eq!(service.stop(PATIENCE).cut, 0);
}

/// A run takes everything from one lot, so a larger order makes a new lot even if other lots have
/// something left.
#[test]
fn a_peer_does_not_have_more_and_more_made_by_orders_of_other_sizes() {
    let scene = Scene::new(1);
    let levels = vec![triples(&scene, 0, 5 * 64)];
    let service = scene.start(scene.policy(vec![], levels, Scene::limits()));
    let one = Party::new(&scene, &service, 0);
    for blocks in 1..=5 {
        assert_eq!(one.triples(blocks * 64).unwrap().made(), blocks * 64);
    }
    refused_with(one.triples(64), AbortReason::NoRoom);
    scene.refused("preparation", "too much is left over of earlier orders");
    let _ = service.stop(PATIENCE);
}

/// If a service knows its peer's address, no order is needed.
#[test]
fn lots_are_kept_at_their_levels() {
    let scene = Scene::new(1);
    let ours = || {
        let mut instances = instances(&scene, 0, 2);
        instances.refill_below = 1;
        let mut triples = triples(&scene, 0, 128);
        triples.refill_below = 100;
        vec![instances, triples]
    };
    let theirs = ours().into_iter().map(|level| mirrored(&scene, level));
    let other = Other::start(&scene, 1 << 30, theirs.collect());
    let mut peers = scene.peer_list();
    peers[0].address = Some(other.address.clone());
    let policy = Policy::new(peers, vec![offer(&scene)], ours(), Scene::limits(), None);
    let service = scene.start(policy.unwrap());
    let one = Party::new(&scene, &service, 0);
    let triples = || one.triples_left(BaseOt::default());
    until("lots are made", || one.left() == 2 && triples() == 128);
    for left in [1, 0] {
        assert_eq!(one.encrypt().cost.from_stock, Some(FromStock::Instances));
        assert!([left, 2].contains(&one.left()));
    }
    until("the lot is made again", || one.left() == 2);
    assert_eq!(triples(), 128, "nothing was taken of them");
    assert_eq!(other.service.stop(PATIENCE).cut, 0);
    let _ = service.stop(PATIENCE);
}

/// The service now requires ML-KEM, and has lots that were made before.
#[test]
fn lots_that_no_run_would_take_do_not_count_at_a_level() {
    let scene = Scene::new(1);
    let level = || triples(&scene, 0, 128);
    let other = Other::start(&scene, 1 << 30, vec![mirrored(&scene, level())]);
    for base_ot in [None, Some(BaseOt::MlKem768)] {
        let mut peers = scene.peer_list();
        peers[0].address = Some(other.address.clone());
        let policy = Policy::new(peers, vec![], vec![level()], Scene::limits(), base_ot);
        let service = scene.start(policy.unwrap());
        let one = Party::new(&scene, &service, 0);
        let left = || one.triples_left(base_ot.unwrap_or_default());
        until("the lot is made", || left() == 128);
        let is_first = base_ot.is_none();
        assert_eq!(one.triples_left(BaseOt::MlKem768) == 0, is_first);
        let _ = service.stop(PATIENCE);
    }
    let _ = other.service.stop(PATIENCE);
}

/// A refused order touches neither this party's disk nor the peer's tries.
#[test]
fn an_order_that_finds_no_room_is_refused() {
    let scene = Scene::new(1);
    let levels = vec![triples(&scene, 0, 64_000)];
    let policy = scene.policy(vec![offer(&scene)], levels, Scene::limits());
    let service = scene.start_with(policy, 1_000_000);
    let one = Party::new(&scene, &service, 0);
    refused_with(one.triples(64_000), AbortReason::NoRoom);
    scene.event(|event| {
        matches!(event, Event::ReplenishFailed { function, reason, .. }
            if function == "triples at s = 40" && reason.contains("1000000"))
    });
    assert_eq!(one.triples(640).unwrap().made(), 640);
    let _ = service.stop(PATIENCE);
}

/// It is not the peer's fault that this party has no room, but each of its orders costs a meeting
/// of the records and a turn. It is heard as before, and may order less later.
#[test]
fn a_peer_whose_orders_come_to_nothing_is_put_off_and_others_are_not() {
    let scene = Scene::new(2);
    let levels = vec![triples(&scene, 0, 64_000), triples(&scene, 1, 640)];
    let limits = Limits {
        refusals: Rate {
            times: 1,
            per: Duration::from_secs(36_000),
        },
        ..Scene::limits()
    };
    let policy = scene.policy(vec![offer(&scene)], levels, limits);
    let service = scene.start_with(policy, 1_000_000);
    let [one, other] = [0, 1].map(|number| Party::new(&scene, &service, number));
    for _ in 0..20 {
        refused_with(one.triples(64_000), AbortReason::NoRoom);
    }
    // From then on one order in three seconds is considered.
    let is_put_off = |ordered: Result<Prepared, Error>| {
        matches!(
            ordered,
            Err(Error::Protocol(ProtocolError::PeerAborted(
                AbortReason::TooOften
            )))
        )
    };
    assert!((0..100).any(|_| is_put_off(one.triples(64_000))));
    scene.refused("rate", "failed too often");
    let _ = one.encrypt();
    assert_eq!(other.triples(640).unwrap().made(), 640);
    let _ = service.stop(PATIENCE);
}

/// While one peer prepares a lot, another gets no preparation but has its run.
#[test]
fn lots_are_prepared_few_at_a_time() {
    let scene = Scene::new(2);
    let limits = Limits {
        preparations: 1,
        ..Scene::limits()
    };
    let levels = vec![triples(&scene, 0, 1 << 20), triples(&scene, 1, 64)];
    let service = scene.start(scene.policy(vec![offer(&scene)], levels, limits));
    let [one, other] = [0, 1].map(|number| Party::new(&scene, &service, number));
    thread::scope(|scope| {
        let prepares = scope.spawn(|| one.triples(1 << 20).map(drop));
        until("the first peer prepares", || {
            let health = service.answers().health().1;
            health.contains(r#""preparing":1"#)
        });
        refused_with(other.triples(64), AbortReason::Busy);
        let _ = other.encrypt();
        let _ = service.stop(Duration::ZERO);
        assert!(prepares.join().unwrap().is_err(), "the service stopped");
    });
}

#[test]
fn levels_that_authenticated_cannot_keep_are_refused() {
    let scene = Scene::new(1);
    let refused = |level: Level, words: [&str; 2]| {
        let levels = vec![level];
        let policy = Policy::new(scene.peer_list(), vec![], levels, Scene::limits(), None);
        let told = policy.err().expect("no such level").to_string();
        assert!(words.iter().all(|word| told.contains(word)), "{told}");
    };
    let too_high = StatisticalSecurity::new(65).unwrap();
    let lots = |function: &Arc<Function>, s| Level {
        material: Material::Lots(Arc::clone(function), s),
        ..scene.level(0, 2)
    };
    let what = "aes-128-rounds, for authenticated at s = 65";
    refused(lots(&aes(), too_high), [what, "40 to 64"]);
    let three_halves = Level {
        scheme: SchemeId::THREE_HALVES,
        ..lots(&millionaires(8), S)
    };
    refused(three_halves, ["millionaires", "three-halves"]);
    refused(
        triples(&scene, 0, 6_400_001),
        ["ands: 6400001", "1 to 6400000"],
    );
    let mut never = triples(&scene, 0, 64);
    never.refill_below = 65;
    refused(never, ["refill_below: 65", "at most its ands, 64"]);
}
