//! A service of one party in this process, and peers that connect to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tacit::garble::SchemeId;
use tacit::protocols::StatisticalSecurity;
use tacit::session::{AbortReason, ProtocolId};
use tacit::stock::{Preparation, Prepared, StockName, Stocks};
use tacit::{
    Error, Fingerprint, Function, Identity, Job, Listener, Outcome, ProtocolError, Role, Session,
    Settings, Value, library,
};
use tacit_serve::inputs::FromProgram;
use tacit_serve::results::Dropped;
use tacit_serve::{Event, Level, Limits, Material, Offer, Peer, Policy, Service};
use tempfile::TempDir;

/// Far longer than any wait in these tests.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const KEY: &str = "000102030405060708090a0b0c0d0e0f";
pub(crate) const BLOCK: &str = "00112233445566778899aabbccddeeff";
/// FIPS 197, appendix C.1.
pub(crate) const CIPHERTEXT: &str = "69c4e0d86a7b0430d8cdb78070b4c55a";

/// The value of this party's `a` in every run of `millionaires`.
pub(crate) const A: u32 = 41;

/// Checks that the peer of `result` was refused for `reason`.
pub(crate) fn refused_with<T: std::fmt::Debug>(result: Result<T, Error>, reason: AbortReason) {
    match result {
        Err(Error::Protocol(ProtocolError::PeerAborted(found))) => assert_eq!(found, reason),
        other => panic!("{other:?} where {reason:?} was due"),
    }
}

/// Copies a folder with all that it holds.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

pub(crate) struct Scene {
    pub(crate) alice: Identity,
    pub(crate) peers: Vec<Identity>,
    pub(crate) folder: TempDir,
    events: Arc<Mutex<Vec<Event>>>,
}

pub(crate) fn millionaires(bits: u64) -> Arc<Function> {
    let parameters = BTreeMap::from([("bits".to_owned(), bits)]);
    Arc::new(library::function("millionaires", &parameters).expect("a function"))
}

pub(crate) fn aes() -> Arc<Function> {
    Arc::new(library::function("aes-128-rounds", &BTreeMap::new()).expect("a function"))
}

fn bytes(hex: &str) -> Value {
    let ty = "bytes[16]".parse().expect("a type");
    Value::parse(&ty, hex).expect("a value")
}

impl Scene {
    /// Makes a party and its peers.
    pub(crate) fn new(peers: usize) -> Self {
        let identity = || Identity::generate().expect("randomness");
        Self {
            alice: identity(),
            peers: (0..peers).map(|_| identity()).collect(),
            folder: TempDir::new().expect("a folder"),
            events: Arc::default(),
        }
    }

    pub(crate) fn fingerprint(&self, peer: usize) -> Fingerprint {
        self.peers[peer].fingerprint()
    }

    pub(crate) fn peer_list(&self) -> Vec<Peer> {
        let peers = self.peers.iter().enumerate();
        let peers = peers.map(|(number, identity)| Peer {
            name: format!("peer{number}"),
            fingerprint: identity.fingerprint(),
            address: None,
            link: None,
        });
        peers.collect()
    }

    pub(crate) fn offer(&self, functions: Vec<Arc<Function>>) -> Offer {
        let everybody: BTreeSet<_> = self.peers.iter().map(Identity::fingerprint).collect();
        Offer {
            name: functions[0].name().to_owned(),
            functions,
            role: Role::Garbler,
            peer_party: None,
            shallow: Vec::new(),
            protocols: vec![ProtocolId::Direct, ProtocolId::Prepared],
            outsourced: None,
            chain: None,
            replaces: false,
            security: StatisticalSecurity::DEFAULT,
            scheme: None,
            peers: everybody,
            inputs: Arc::new(FromProgram(|_: &tacit_serve::RunRequest<'_>| {
                let inputs = [("a", Value::from(A)), ("key", bytes(KEY))];
                Ok(inputs.map(|(name, value)| (name.to_owned(), value)).into())
            })),
            results: Arc::new(Dropped),
            rate: None,
            time_limit: PATIENCE,
        }
    }

    pub(crate) fn level(&self, peer: usize, amount: u64) -> Level {
        Level {
            peer: self.fingerprint(peer),
            role: Role::Garbler,
            scheme: SchemeId::HALF_GATES_TWO_CALL,
            material: Material::Components(aes()),
            amount,
            refill_below: amount,
        }
    }

    /// Returns the name of a peer's half of its stock with this party.
    pub(crate) fn stock_name(&self, peer: usize) -> StockName {
        StockName {
            own: self.fingerprint(peer),
            peer: self.alice.fingerprint(),
            role: Role::Evaluator,
            scheme: SchemeId::HALF_GATES_TWO_CALL,
            lanes: Default::default(),
        }
    }

    /// Returns limits under which tests need not wait.
    pub(crate) fn limits() -> Limits {
        Limits {
            handshake: Duration::from_secs(5),
            look_at_stock: Duration::from_millis(200),
            ..Limits::default()
        }
    }

    pub(crate) fn policy(&self, offers: Vec<Offer>, levels: Vec<Level>, limits: Limits) -> Policy {
        Policy::new(self.peer_list(), offers, levels, limits, None).expect("a policy")
    }

    /// Starts the service with this policy.
    pub(crate) fn start(&self, policy: Policy) -> Service {
        self.start_with(policy, 1 << 30)
    }

    pub(crate) fn start_with(&self, policy: Policy, stock_bytes: u64) -> Service {
        self.start_on(policy, self.stocks("alice", stock_bytes))
    }

    /// Starts the service on these stocks.
    pub(crate) fn start_on(&self, policy: Policy, stocks: Stocks) -> Service {
        let events = Arc::clone(&self.events);
        let observer = move |event: &Event| {
            let mut events = events.lock().unwrap_or_else(PoisonError::into_inner);
            events.push(event.clone());
        };
        let listener = Listener::bind("127.0.0.1:0").expect("a free port");
        let alice = self.alice.clone();
        Service::start(alice, listener, Some(stocks), policy, Arc::new(observer))
            .expect("a service")
    }

    pub(crate) fn stocks(&self, of: &str, max_bytes: u64) -> Stocks {
        let folder: &Path = self.folder.path();
        let folder = folder.join(of);
        // A copy of the folder includes a copy of the notes.
        let stocks = Stocks::open_witnessed(&folder, max_bytes, &folder.join("witness"));
        stocks.expect("a folder that is there")
    }

    /// Waits for an event for which `is` holds.
    #[track_caller]
    pub(crate) fn event(&self, is: impl Fn(&Event) -> bool) -> Event {
        let end = Instant::now() + PATIENCE;
        loop {
            let events = self.events();
            if let Some(event) = events.iter().find(|event| is(event)) {
                return event.clone();
            }
            assert!(Instant::now() < end, "it is not among {events:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.clone()
    }

    /// Waits for the event of a refusal of this kind for this reason.
    #[track_caller]
    pub(crate) fn refused(&self, kind: &str, word: &str) {
        self.event(|event| {
            matches!(event, Event::Refused { what, reason, .. }
                if *what == kind && reason.contains(word))
        });
    }

    /// Starts a session of a peer.
    pub(crate) fn session(&self, service: &Service, peer: usize) -> Result<Session, Error> {
        self.session_as(service, &self.peers[peer])
    }

    pub(crate) fn session_as(&self, service: &Service, who: &Identity) -> Result<Session, Error> {
        let address = service.local_address().to_string();
        let settings = Settings {
            connect_timeout: Duration::from_secs(5),
            timeout: PATIENCE,
            ..Settings::default()
        };
        let mut session = Session::connect(&address, who, &self.alice.fingerprint(), &settings)?;
        session.greeted()?;
        Ok(session)
    }

    /// Makes a peer's run of `millionaires` with `b`. Returns whether Alice is richer.
    pub(crate) fn richer(
        &self,
        session: &mut Session,
        function: &Function,
        b: u32,
    ) -> Result<bool, Error> {
        let outcome = Job::new(function, Role::Evaluator)
            .input("b", b)
            .run(session)?;
        Ok(outcome.outputs["a_is_richer"].to_text() == "1")
    }

    /// Makes a peer's run of AES from its stock.
    pub(crate) fn encrypt(&self, session: &mut Session, stocks: &Stocks) -> Outcome {
        let function = aes();
        self.encrypt_by(
            Job::new(&function, Role::Evaluator).prepared(stocks),
            session,
        )
    }

    /// Returns the peer's input of AES.
    pub(crate) fn block(&self) -> Value {
        bytes(BLOCK)
    }

    /// Makes a peer's run of AES.
    pub(crate) fn encrypt_by(&self, job: Job<'_>, session: &mut Session) -> Outcome {
        let outcome = job
            .input("block", bytes(BLOCK))
            .run(session)
            .expect("a result");
        assert_eq!(outcome.outputs["ciphertext"].to_text(), CIPHERTEXT);
        outcome
    }

    /// Places a peer's order for this many runs of AES.
    pub(crate) fn prepare(
        &self,
        session: &mut Session,
        stocks: &Stocks,
        runs: u64,
    ) -> Result<Prepared, Error> {
        let order = Preparation::new(Role::Evaluator).enough_for(&aes(), runs)?;
        order.run(session, stocks)
    }
}
