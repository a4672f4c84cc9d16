//! The peers, the offers, and the service itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tacit::garble::SchemeId;
use tacit::net::Channel;
use tacit::protocols::StatisticalSecurity;
use tacit::session::ProtocolId;
use tacit::stock::Stocks;
use tacit::{Fingerprint, Function, Identity, Listener, Role, Value};
use tacit_serve::inputs::FromProgram;
use tacit_serve::results::Dropped;
use tacit_serve::{Event, Level, Limits, Material, Offer, Peer, Policy, Rate, RunRequest, Service};

use super::PEERS;
use crate::Error;
use crate::meeting::{fingerprint, hear, say};
use crate::workload::Workload;

/// The most bytes of each stock at the service, which garbles: seeds and OTs.
pub(super) const STOCK_BYTES: u64 = 2 << 20;
/// The runs that a full stock suffices for, and the level at which it is refilled. They suit the
/// pace of a peer that never pauses, as docs/operate.md describes.
pub(super) const LEVEL_RUNS: u64 = 120;
pub(super) const REFILL_BELOW: u64 = 80;
/// The numbers of the first peer that runs from stock, and of the first whose stock the service
/// fills.
pub(super) const FIRST_STOCKED: usize = 9;
pub(super) const FIRST_FILLED: usize = 12;
pub(super) const HOSTILE: usize = PEERS - 1;
/// The interval at which the service measures itself.
const SAMPLE: Duration = Duration::from_millis(250);
/// The time for runs to end when the load is over.
pub(super) const STOP_TIME: Duration = Duration::from_secs(20);
/// The peers' messages.
pub(super) const GOES_ON: u8 = 1;
pub(super) const OVER: u8 = 3;

/// A function's name, its parameters, the protocol.
type Offered = (&'static str, &'static [(&'static str, u64)], ProtocolId);

pub(super) const OFFERS: [Offered; 4] = [
    ("millionaires", &[("bits", 32)], ProtocolId::Direct),
    ("aes-128", &[], ProtocolId::Direct),
    ("levenshtein", &[("n", 8), ("m", 8)], ProtocolId::Direct),
    ("aes-128-rounds", &[], ProtocolId::Prepared),
];
/// The place of the function that runs from stock.
pub(super) const STOCKED: usize = 3;

pub(super) fn function(offer: usize) -> Result<Function, Error> {
    let (name, parameters, _) = OFFERS[offer];
    Workload::new(name, parameters).of_library()
}

/// Returns the bit at a place of the service's inputs. The peers know these bits as well, so that
/// they can recognise a wrong result.
pub(super) fn service_bit(place: usize) -> bool {
    place.wrapping_mul(0x9e37_79b9) >> 7 & 1 == 1
}

/// Returns values of the inputs of `role`. `bit` gives each bit by its place among their bits.
pub(super) fn values(
    function: &Function,
    role: Role,
    mut bit: impl FnMut(usize) -> bool,
) -> Result<BTreeMap<String, Value>, tacit::Error> {
    let mut place = 0;
    let mut values = BTreeMap::new();
    for input in function.inputs().iter().filter(|input| input.owner == role) {
        let width = input.port.ty.width();
        let bits: Vec<bool> = (place..place + width).map(&mut bit).collect();
        values.insert(
            input.port.name.clone(),
            Value::from_bits(&input.port.ty, &bits)?,
        );
        place += width;
    }
    Ok(values)
}

/// The observations of a service.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServiceReport {
    pub(super) refused: u64,
    pub(super) stocked: u64,
    pub(super) stock_bytes: u64,
    pub(super) stock_runs: u64,
    pub(super) resident_bytes: Vec<u64>,
    pub(super) threads: Vec<u64>,
}

/// Returns the level that the service and its peers keep with each other, seen from either side.
pub(super) fn level(peer: Fingerprint, role: Role, function: &Arc<Function>) -> Level {
    Level {
        peer,
        role,
        scheme: SchemeId::HALF_GATES_TWO_CALL,
        material: Material::Components(Arc::clone(function)),
        amount: LEVEL_RUNS,
        refill_below: REFILL_BELOW,
    }
}

impl From<tacit_serve::Error> for Error {
    fn from(error: tacit_serve::Error) -> Self {
        Self::of("service", error.to_string())
    }
}

/// Starts a service on a free port of this machine.
pub(super) fn start(
    identity: Identity,
    stocks: Option<Stocks>,
    policy: Policy,
    observer: impl Fn(&Event) + Send + Sync + 'static,
) -> Result<Service, Error> {
    let (listener, observer) = (Listener::bind("127.0.0.1:0")?, Arc::new(observer));
    let service = Service::start(identity, listener, stocks, policy, observer)?;
    Ok(service)
}

/// Returns an offer, by its place, to these peers.
pub(super) fn offer(number: usize, peers: &[Peer]) -> Result<Offer, Error> {
    let (name, _, protocol) = OFFERS[number];
    let inputs = FromProgram(|asked: &RunRequest<'_>| {
        let values = values(asked.function, asked.role, service_bit);
        values.map_err(|error| error.to_string())
    });
    let peers = peers.iter().map(|peer| peer.fingerprint);
    Ok(Offer {
        name: name.to_owned(),
        functions: vec![Arc::new(function(number)?)],
        role: Role::Garbler,
        peer_party: None,
        shallow: Vec::new(),
        protocols: vec![protocol],
        outsourced: None,
        chain: None,
        replaces: false,
        security: StatisticalSecurity::DEFAULT,
        scheme: None,
        peers: peers.collect::<BTreeSet<_>>(),
        inputs: Arc::new(inputs),
        results: Arc::new(Dropped),
        rate: None,
        time_limit: Duration::from_secs(30),
    })
}

fn policy(peers: Vec<Peer>) -> Result<Policy, Error> {
    // The hostile peer may run one function and asks for others.
    let offers = (0..OFFERS.len()).map(|number| match number {
        0 => offer(number, &peers),
        _ => offer(number, &peers[..HOSTILE]),
    });
    let offers = offers.collect::<Result<_, _>>()?;
    let stocked = Arc::new(function(STOCKED)?);
    let levels = peers[FIRST_STOCKED..HOSTILE].iter();
    let levels = levels.map(|peer| level(peer.fingerprint, Role::Garbler, &stocked));
    let limits = Limits {
        sessions_per_peer: 4,
        arrivals: Rate::per_minute(60_000),
        idle: Duration::from_secs(2),
        message: Duration::from_secs(10),
        handshake: Duration::from_secs(2),
        look_at_stock: Duration::from_secs(1),
        ..Limits::default()
    };
    let levels = levels.collect();
    Ok(Policy::new(peers.clone(), offers, levels, limits, None)?)
}

/// Serves until the peers say that the load is over.
pub(super) fn serve(mut plain: Channel) -> Result<ServiceReport, Error> {
    let identity = Identity::generate()?;
    say(&mut plain, &identity.fingerprint().to_string())?;
    let mut peers = Vec::new();
    for number in 0..PEERS {
        let (who, address): (String, _) = hear(&mut plain)?;
        peers.push(Peer {
            name: format!("peer{number}"),
            fingerprint: fingerprint(&who)?,
            address,
            link: None,
        });
    }
    let folder = tempfile::tempdir()?;
    let stocks = Stocks::open(folder.path(), STOCK_BYTES)?;
    let stocked = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&stocked);
    let observer = move |event: &Event| {
        if let Event::Replenished { made, .. } = event {
            counted.fetch_add(*made, Ordering::Relaxed);
        }
    };
    let own = identity.fingerprint();
    let policy = policy(peers)?;
    let levels = policy.levels().to_vec();
    let service = start(identity, Some(stocks.clone()), policy, observer)?;
    say(&mut plain, &service.local_address().to_string())?;
    let mut report = ServiceReport {
        refused: 0,
        stocked: 0,
        stock_bytes: 0,
        stock_runs: 0,
        resident_bytes: Vec::new(),
        threads: Vec::new(),
    };
    let mut sampled = Instant::now();
    while plain.receive(1)?.kind != OVER {
        if sampled.elapsed() < SAMPLE {
            continue;
        }
        sampled = Instant::now();
        let (resident_bytes, threads) = resident_and_threads();
        report.resident_bytes.extend(resident_bytes);
        report.threads.extend(threads);
        for level in &levels {
            let name = tacit::stock::StockName {
                own,
                peer: level.peer,
                role: level.role,
                scheme: level.scheme,
                lanes: Default::default(),
            };
            if let Some(function) = level.material.function() {
                let runs = stocks.runs_left(&name, function)?;
                report.stock_runs = report.stock_runs.max(runs);
            }
            if let Ok(summary) = stocks.summary(&name) {
                report.stock_bytes = report.stock_bytes.max(summary.bytes);
            }
        }
    }
    let metrics = service.metrics();
    let refused = metrics
        .lines()
        .filter(|line| line.starts_with("tacit_refused_total"));
    let refused = refused.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    report.refused = refused.sum();
    service.stop(STOP_TIME);
    report.stocked = stocked.load(Ordering::Relaxed);
    Ok(report)
}

/// Returns this process's resident memory in bytes and its threads, if the system reports them.
pub(super) fn resident_and_threads() -> (Option<u64>, Option<u64>) {
    let own = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status(&own, "VmRSS:").map(|kib| kib * 1024);
    (resident, status(&own, "Threads:"))
}

/// Returns a number from the status of a process or a thread, if the system reports it.
pub(super) fn status(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}
