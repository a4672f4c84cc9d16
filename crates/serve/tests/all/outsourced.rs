//! Generator and cloud as two services of this process, with clients that stall, flood, lie and ask
//! for what only one of them offers. The other clients still get their runs.

mod bounds;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tacit::net::CancelHandle;
use tacit::outsourced::{
    ClientStage, OutsourcedJob, OutsourcedParameters, OutsourcedRole, RunTicket,
};
use tacit::protocols::StatisticalSecurity;
use tacit::scheme::default_scheme;
use tacit::session::{AbortReason, Proposal, ProtocolId};
use tacit::stock::Stocks;
use tacit::{
    Error, Fingerprint, Function, Identity, Listener, Outcome, ProtocolError, Role, Session,
    Settings, Value, library,
};
use tacit_net::{Channel, tls};
use tacit_protocol::message::Kind;
use tacit_protocol::session::Hello;
use tacit_serve::inputs::FromProgram;
use tacit_serve::results::Dropped;
use tacit_serve::{Event, Limits, Offer, Outsourced, Peer, Policy, Rate, Server, Service};
use tempfile::TempDir;

/// Far longer than any wait in these tests.
const PATIENCE: Duration = Duration::from_secs(60);
const GENERATOR: usize = 0;
const CLOUD: usize = 1;
/// The servers' roles in a run.
const ROLES: [OutsourcedRole; 2] = [OutsourcedRole::Generator, OutsourcedRole::Cloud];
/// The k of all runs.
const SECURITY_BITS: u8 = 8;

type Events = Arc<Mutex<Vec<Event>>>;

/// Both services and their clients.
struct Three {
    servers: [Identity; 2],
    clients: Vec<Identity>,
    services: [Service; 2],
    events: [Events; 2],
    _folder: TempDir,
}

fn function(name: &str, parameters: &[(&str, u64)]) -> Arc<Function> {
    let parameters = parameters.iter();
    let parameters: BTreeMap<_, _> = parameters.map(|(n, v)| ((*n).to_owned(), *v)).collect();
    Arc::new(library::function(name, &parameters).expect("a function of the library"))
}

fn millionaires(bits: u64) -> Arc<Function> {
    function("millionaires", &[("bits", bits)])
}

fn map(operation: &str) -> Arc<Function> {
    let name = format!("friend-map-{operation}");
    function(&name, &[("cells", 2), ("id_bits", 2)])
}

fn parameters() -> OutsourcedParameters {
    OutsourcedParameters::insecure_for_measurements(5, SECURITY_BITS).expect("parameters")
}

fn offer(server: Server, other: Fingerprint, of: Arc<Function>, clients: &[Identity]) -> Offer {
    let own = |_: &tacit_serve::RunRequest<'_>| {
        let inputs = [("a", 5_u32), ("id", 3)];
        let inputs = inputs.map(|(name, value)| (name.to_owned(), Value::from(value)));
        Ok(BTreeMap::from(inputs))
    };
    Offer {
        name: format!("{} {}", of.name(), of.input_bits(Role::Evaluator)),
        role: Role::Garbler,
        peer_party: None,
        protocols: vec![ProtocolId::Outsourced],
        outsourced: Some(Outsourced {
            server,
            other,
            parameters: parameters(),
            chain: of.has_saved_values().then(|| "friends".to_owned()),
            replaces: false,
            threads: NonZeroUsize::MIN,
        }),
        chain: None,
        replaces: false,
        security: StatisticalSecurity::DEFAULT,
        scheme: None,
        peers: clients.iter().map(Identity::fingerprint).collect(),
        inputs: match server {
            Server::Generator => Arc::new(FromProgram(own)),
            Server::Cloud => Arc::new(FromProgram(|_: &tacit_serve::RunRequest<'_>| {
                Ok(BTreeMap::new())
            })),
        },
        results: Arc::new(Dropped),
        rate: None,
        time_limit: PATIENCE,
        functions: vec![of],
        shallow: Vec::new(),
    }
}

fn identity() -> Identity {
    Identity::generate().expect("randomness")
}

/// Returns the policy of a server: `millionaires` and the map. The cloud also offers the former
/// with eight bits, which the generator does not know.
fn policy(
    own: usize,
    (other, other_at): (Fingerprint, Option<String>),
    clients: &[Identity],
    limits: Limits,
) -> Result<Policy, tacit_serve::policy::Error> {
    let peer = |name, fingerprint, address| Peer {
        name,
        fingerprint,
        address,
        link: None,
    };
    let peers = clients.iter().enumerate();
    let peers = peers.map(|(n, client)| peer(format!("client{n}"), client.fingerprint(), None));
    let peers = peers.chain([peer("other".to_owned(), other, other_at)]);
    let side = [Server::Generator, Server::Cloud][own];
    let mut offered = vec![millionaires(4), map("start"), map("set")];
    if own == CLOUD {
        offered.push(millionaires(8));
    }
    let offers = offered.into_iter();
    let offers = offers.map(|of| offer(side, other, of, clients)).collect();
    Policy::new(peers.collect(), offers, Vec::new(), limits, None)
}

impl Three {
    /// Starts both services, for this many clients.
    fn new(clients: usize, limits: Limits) -> Self {
        let servers = [identity(), identity()];
        let clients: Vec<_> = (0..clients).map(|_| identity()).collect();
        let folder = TempDir::new().expect("a folder");
        let events = [Events::default(), Events::default()];
        let mut generator_at = None;
        let services = [GENERATOR, CLOUD].map(|own| {
            let other = (servers[1 - own].fingerprint(), generator_at.clone());
            let policy = policy(own, other, &clients, limits.clone()).expect("a policy");
            let told = Arc::clone(&events[own]);
            let observer = move |event: &Event| {
                let mut events = told.lock().unwrap_or_else(PoisonError::into_inner);
                events.push(event.clone());
            };
            let stocks = folder.path().join(["generator", "cloud"][own]);
            let stocks = Stocks::open(&stocks, 1 << 30).expect("a folder");
            let listener = Listener::bind("127.0.0.1:0").expect("a free port");
            generator_at.get_or_insert_with(|| listener.local_address().to_string());
            let (own, observer) = (servers[own].clone(), Arc::new(observer));
            Service::start(own, listener, Some(stocks), policy, observer).expect("a service")
        });
        Self {
            servers,
            clients,
            services,
            events,
            _folder: folder,
        }
    }

    fn address(&self, server: usize) -> String {
        self.services[server].local_address().to_string()
    }

    fn settings() -> Settings {
        Settings {
            timeout: PATIENCE,
            ..Settings::default()
        }
    }

    fn session(&self, client: usize, server: usize) -> Result<Session, Error> {
        let own = &self.clients[client];
        let peer = self.servers[server].fingerprint();
        Session::connect(&self.address(server), own, &peer, &Self::settings())
    }

    /// Makes a client's run. Calls `step` at every step once both servers have started the run.
    fn run(
        &self,
        client: usize,
        function: &Function,
        (name, value): (&str, u32),
        step: impl Fn(&CancelHandle) + Send,
    ) -> Result<Outcome, Error> {
        let mut generator = self.session(client, GENERATOR)?;
        let mut cloud = self.session(client, CLOUD)?;
        let leave = cloud.cancel_handle();
        let job = OutsourcedJob::new(function, parameters()).patience(PATIENCE);
        let job = match function.input_bits(Role::Evaluator) {
            0 => job,
            _ => job.input(name, value),
        };
        job.watch(move |_| step(&leave))
            .evaluate(&mut generator, &mut cloud)
    }

    /// Makes an honest client's run.
    fn runs(&self, client: usize, function: &Function, input: (&str, u32), result: &str) -> String {
        let outcome = self.run(client, function, input, |_| ());
        let outcome = outcome.expect("a result");
        let result = outcome.outputs.get(result);
        result.map(Value::to_text).unwrap_or_default()
    }

    /// Connects a client to a server. The channel is past the greeting, and the test sends what it
    /// likes.
    fn raw(&self, client: usize, server: usize) -> Channel {
        let own = &self.clients[client];
        let peer = self.servers[server].fingerprint();
        let channel = tls::connect(&self.address(server), own, &peer, &Self::settings());
        let mut channel = channel.expect("a connection");
        let mut nonce = [0; 32];
        nonce[..8].copy_from_slice(&(client as u64).to_le_bytes());
        let hello = Hello::of(nonce).to_bytes();
        channel.send(Kind::Hello.byte(), &hello).expect("room");
        channel.receive(Hello::BYTES).expect("a greeting");
        channel
    }

    /// Asks a server for a run in the name of `evaluator`. Returns the server's answer, if it does
    /// not just leave.
    fn asks(
        &self,
        client: usize,
        server: usize,
        of: &Function,
        evaluator: usize,
        to: OutsourcedRole,
    ) -> Option<(u8, Vec<u8>)> {
        let proposal = Proposal {
            role: Role::Evaluator,
            statistical_security_bits: SECURITY_BITS,
            ..Proposal::first(ProtocolId::Outsourced, default_scheme(of), of.digest())
        };
        let ticket = RunTicket {
            number: [9; 16],
            evaluator: self.clients[evaluator].fingerprint().0,
            to,
        };
        let mut channel = self.raw(client, server);
        let sent = channel.send(Kind::Propose.byte(), &proposal.to_bytes());
        sent.expect("room");
        let sent = channel.send(Kind::RunTicket.byte(), &ticket.to_bytes());
        sent.expect("room");
        let answer = channel.receive(Proposal::BYTES).ok()?;
        Some((answer.kind, answer.payload.to_vec()))
    }

    fn events(&self, server: usize) -> Vec<Event> {
        let events = self.events[server].lock();
        events.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a server's events before the first one for which `is` holds.
    fn before(&self, server: usize, is: impl Fn(&Event) -> bool) -> Vec<Event> {
        let end = Instant::now() + PATIENCE;
        loop {
            let mut events = self.events(server);
            if let Some(place) = events.iter().position(&is) {
                events.truncate(place);
                return events;
            }
            assert!(Instant::now() < end, "it is not among {events:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until this many runs run or wait at a server.
    fn running(&self, server: usize, count: usize) {
        let end = Instant::now() + PATIENCE;
        let wanted = format!("\"running\":{count}");
        while !self.services[server].answers().health().1.contains(&wanted) {
            assert!(Instant::now() < end, "there are not {count} runs");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_client_that_stalls_is_waited_for_once_and_only_at_its_chain() {
    let limits = Limits {
        message: Duration::from_secs(6),
        ..Limits::default()
    };
    let three = Three::new(2, limits);
    let (start, set, rich) = (map("start"), map("set"), millionaires(4));
    three.runs(1, &start, ("", 0), "");
    thread::scope(|scope| {
        let (stalls, stalled) = mpsc::channel();
        let mut ends = Vec::new();
        // Its second run waits behind its first one, and stalls as well.
        for runs in [1, 2] {
            let (end, ended) = mpsc::channel::<()>();
            ends.push(end);
            let (three, set, stalls) = (&three, &set, stalls.clone());
            scope.spawn(move || {
                let stall = move |_: &CancelHandle| {
                    let _ = stalls.send(());
                    let _ = ended.recv_timeout(PATIENCE);
                };
                three.run(0, set, ("cell", 0), stall).map(drop)
            });
            if runs == 1 {
                stalled.recv_timeout(PATIENCE).expect("it stalls");
            }
            three.running(CLOUD, runs);
        }
        // Other functions do not wait for it, and those of the chain wait only for its first run.
        assert_eq!(three.runs(1, &rich, ("b", 4), "a_is_richer"), "1");
        assert_eq!(three.runs(1, &set, ("cell", 1), "occupant"), "0");
        for server in [GENERATOR, CLOUD] {
            let is_honest = |event: &Event| {
                matches!(event, Event::Run { peer, offer, .. }
                    if peer == "client1" && offer.starts_with("friend-map-set"))
            };
            let before = three.before(server, is_honest).into_iter();
            let failed = before.filter(|event| matches!(event, Event::RunFailed { .. }));
            assert_eq!(failed.count(), 1, "server {server}");
        }
        drop(ends);
    });
}

#[test]
fn a_client_that_waits_is_told_how_many_come_before_it() {
    let three = Three::new(2, Limits::default());
    let (start, set) = (map("start"), map("set"));
    three.runs(1, &start, ("", 0), "");
    let stages = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let (stalls, stalled) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let (three, set) = (&three, &set);
        scope.spawn(move || {
            let stall = move |_: &CancelHandle| {
                let _ = stalls.send(());
                let _ = ended.recv_timeout(PATIENCE);
            };
            three.run(0, set, ("cell", 0), stall).expect("a result");
        });
        stalled.recv_timeout(PATIENCE).expect("it stalls");
        let mut generator = three.session(1, GENERATOR).expect("a session");
        let mut cloud = three.session(1, CLOUD).expect("a session");
        let mut end = Some(end);
        // The other goes on once this one was told.
        let tell = |stage| {
            stages.lock().expect("no panic").push(stage);
            end.take();
        };
        let job = OutsourcedJob::new(set, parameters()).patience(PATIENCE);
        let job = job.input("cell", 1_u32).on_stage(tell);
        job.evaluate(&mut generator, &mut cloud).expect("a result");
    });
    let stages = stages.into_inner().expect("no panic");
    assert_eq!(
        stages,
        [ClientStage::Waits { before: 1 }, ClientStage::Runs]
    );
}

#[test]
fn a_client_that_floods_is_refused_and_others_get_their_runs() {
    const FLOODS: usize = 5;
    let three = Three::new(2, Limits::default());
    let (start, set) = (map("start"), map("set"));
    three.runs(1, &start, ("", 0), "");
    thread::scope(|scope| {
        let (three, set) = (&three, &set);
        scope.spawn(move || {
            for _ in 0..FLOODS {
                for server in [GENERATOR, CLOUD] {
                    let mut channel = three.raw(0, server);
                    let more = [7; 1 << 16];
                    let mut sends = || channel.send(Kind::Propose.byte(), &more);
                    // The server ends the connection long before all of this is sent.
                    let taken = (0..1 << 10).take_while(|_| sends().is_ok()).count();
                    assert!(taken < 1 << 10, "nobody ends it");
                }
                // It begins runs in the chain, and leaves.
                let left = three.run(0, set, ("cell", 0), CancelHandle::cancel);
                assert!(left.is_err());
            }
        });
        for cell in [1, 0, 1] {
            // The client that is there moves.
            assert_eq!(three.runs(1, set, ("cell", cell), "occupant"), "0");
        }
    });
    let refused = format!("tacit_refused_total{{what=\"request\"}} {FLOODS}\n");
    for service in &three.services {
        assert!(
            service.metrics().contains(&refused),
            "{}",
            service.metrics()
        );
    }
    assert_eq!(three.runs(1, &set, ("cell", 1), "occupant"), "0");
}

#[test]
fn a_run_in_another_clients_name_is_refused_by_both() {
    let three = Three::new(2, Limits::default());
    let rich = millionaires(4);
    for server in [GENERATOR, CLOUD] {
        let (kind, reason) = three
            .asks(0, server, &rich, 1, ROLES[server])
            .expect("an answer");
        let due = AbortReason::Misbehaved.byte();
        assert_eq!((kind, &reason[..]), (Kind::Abort.byte(), &[due][..]));
        let is_told = |event: &Event| {
            matches!(event, Event::Refused { peer: Some(peer), what: "request", reason, .. }
                if peer == "client0" && reason.contains("another evaluator"))
        };
        assert!(three.events(server).iter().any(is_told));
    }
}

#[test]
fn servers_that_a_client_mixes_up_refuse_it_before_anything_is_touched() {
    let three = Three::new(2, Limits::default());
    let rich = millionaires(4);
    for server in [GENERATOR, CLOUD] {
        let other = ROLES[1 - server];
        let (kind, reason) = three.asks(0, server, &rich, 0, other).expect("an answer");
        let due = AbortReason::OtherServer.byte();
        assert_eq!((kind, &reason[..]), (Kind::Abort.byte(), &[due][..]));
        let is_told = |event: &Event| {
            matches!(event, Event::Refused { peer: Some(peer), what: "request", reason, .. }
                if peer == "client0" && *reason == format!("it takes us for the {other}"))
        };
        assert!(three.events(server).iter().any(is_told));
    }
}

#[test]
fn what_a_client_asks_for_by_way_of_the_cloud_keeps_nobody_out() {
    let hour = Duration::from_secs(3600);
    let limits = Limits {
        refusals: Rate {
            times: 2,
            per: hour,
        },
        ..Limits::default()
    };
    let three = Three::new(2, limits);
    let only_at_the_cloud = millionaires(8);
    for _ in 0..4 {
        let answer = three.asks(0, CLOUD, &only_at_the_cloud, 0, ROLES[CLOUD]);
        assert!(answer.is_none_or(|(kind, _)| kind == Kind::Abort.byte()));
    }
    let is_told = |event: &&Event| {
        matches!(event, Event::Refused { peer: Some(peer), what: "run", .. }
            if peer == "other")
    };
    let told = three.events(GENERATOR).iter().filter(is_told).count();
    assert_eq!(told, 4, "the generator refuses what it does not offer");
    let richer = three.runs(1, &millionaires(4), ("b", 4), "a_is_richer");
    assert_eq!(richer, "1");
}

#[test]
fn the_other_server_leaves_sessions_to_clients() {
    let limits = Limits {
        sessions: 3,
        sessions_per_peer: 1,
        ..Limits::default()
    };
    let three = Three::new(1, limits);
    let session = |who: &Identity| {
        let (at, peer) = (three.address(GENERATOR), &three.servers[GENERATOR]);
        let mut session = Session::connect(&at, who, &peer.fingerprint(), &Three::settings())?;
        session.greeted()?;
        Ok::<_, Error>(session)
    };
    let cloud = &three.servers[CLOUD];
    let _open = [session(cloud), session(cloud)].map(|session| session.expect("a session"));
    let refused = session(cloud).err();
    assert!(
        matches!(
            refused,
            Some(Error::Protocol(ProtocolError::PeerAborted(
                AbortReason::Busy
            )))
        ),
        "{refused:?}"
    );
    session(&three.clients[0]).expect("the session that is left to clients");
}
