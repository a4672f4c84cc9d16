//! The peers of the service: their runs and their observations.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tacit::cost::Cost;
use tacit::garble::SchemeId;
use tacit::net::Channel;
use tacit::session::ProtocolId;
use tacit::stock::{Preparation, StockName, Stocks};
use tacit::{Fingerprint, Function, Identity, Job, Role, Session, Settings, Value};
use tacit_serve::{Limits, Peer, Policy, Service};

use super::samples::{MeanCosts, Sample, slowest_and_others};
use super::scene::{
    FIRST_FILLED, FIRST_STOCKED, GOES_ON, HOSTILE, LEVEL_RUNS, OFFERS, OVER, REFILL_BELOW, STOCKED,
    function, level, service_bit, start, values,
};
use super::sessions::{Visits, visit};
use super::{PEERS, hostile};
use crate::Error;
use crate::meeting::{fingerprint, hear, say};

/// The runs of a session, after which a peer opens another.
const RUNS_A_SESSION: u64 = 25;
/// The runs that a peer leases from its stock in addition to the one that needs them.
const LEASED_AHEAD: u64 = 7;
/// The interval at which the peers tell the service that they go on.
const BEAT: Duration = Duration::from_millis(100);
/// The pause of an honest peer after a failure.
pub(super) const AFTER_FAILURE: Duration = Duration::from_millis(200);
/// The time for which peers open sessions of one run.
const SESSIONS_AT_LEAST: Duration = Duration::from_secs(2);
const SESSIONS_AT_MOST: Duration = Duration::from_secs(20);
/// The longest of each wait of a peer.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// The limit of a peer's own stocks: the tables of some runs of AES.
const STOCK_BYTES: u64 = 64 << 20;

/// The observations of the peers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LoadReport {
    pub(super) seconds: f64,
    pub(super) times_ms: BTreeMap<String, Vec<f64>>,
    /// By offer and protocol: the slowest hundredth of the runs, and the others.
    pub(super) taken: BTreeMap<String, [MeanCosts; 2]>,
    pub(super) wrong: u64,
    pub(super) failures: BTreeMap<String, u64>,
    pub(super) hostile: BTreeMap<String, u64>,
    pub(super) sessions: Visits,
}

/// The values that all peers share.
pub(super) struct Field {
    pub(super) address: String,
    pub(super) service: Fingerprint,
    pub(super) functions: Vec<Arc<Function>>,
    stop: AtomicBool,
    seen: Mutex<BTreeMap<String, Vec<Sample>>>,
    pub(super) wrong: AtomicU64,
    failures: Mutex<BTreeMap<String, u64>>,
}

impl Field {
    pub(super) fn new(address: String, service: Fingerprint) -> Result<Self, Error> {
        let functions = (0..OFFERS.len()).map(|offer| Ok(Arc::new(function(offer)?)));
        Ok(Self {
            address,
            service,
            functions: functions.collect::<Result<_, Error>>()?,
            stop: AtomicBool::new(false),
            seen: Mutex::default(),
            wrong: AtomicU64::new(0),
            failures: Mutex::default(),
        })
    }

    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Counts a failure of an honest peer.
    pub(super) fn failed(&self, error: &tacit::Error) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        *failures.entry(error.to_string()).or_insert(0) += 1;
    }

    /// Records the cost of a run, if its result was right.
    fn note(&self, offer: usize, sample: Option<Sample>) {
        let (name, _, protocol) = OFFERS[offer];
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let times = seen.entry(format!("{name} {protocol}")).or_default();
        times.extend(sample);
    }

    pub(super) fn settings() -> Settings {
        Settings {
            timeout: PATIENCE,
            ..Settings::default()
        }
    }

    pub(super) fn session(&self, identity: &Identity) -> Result<Session, tacit::Error> {
        Session::connect(&self.address, identity, &self.service, &Self::settings())
    }
}

/// SplitMix64, which is random enough for inputs.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Loads the service for `time`.
pub(super) fn load(mut plain: Channel, time: Duration) -> Result<LoadReport, Error> {
    let service = fingerprint(&hear::<String>(&mut plain)?)?;
    let identities: Vec<_> = (0..PEERS)
        .map(|_| Identity::generate())
        .collect::<Result<_, _>>()?;
    let folder = tempfile::tempdir()?;
    let stocks = |peer: usize| Stocks::open(&folder.path().join(peer.to_string()), STOCK_BYTES);
    let stocked = Arc::new(function(STOCKED)?);
    let mut services = Vec::new();
    for (number, identity) in identities.iter().enumerate() {
        let mut address = None;
        if (FIRST_FILLED..HOSTILE).contains(&number) {
            let filled = filled_by(service, identity.clone(), stocks(number)?, &stocked)?;
            address = Some(filled.local_address().to_string());
            services.push(filled);
        }
        say(&mut plain, &(identity.fingerprint().to_string(), address))?;
    }
    let field = Field::new(hear(&mut plain)?, service)?;
    let begun = Instant::now();
    let hostile = thread::scope(|scope| -> Result<_, Error> {
        let field = &field;
        for (number, identity) in identities.iter().enumerate().take(HOSTILE) {
            let stocks = match number {
                FIRST_STOCKED.. => Some(stocks(number)?),
                _ => None,
            };
            if let (Some(stocks), true) = (stocks.clone(), number < FIRST_FILLED) {
                scope.spawn(move || keep_filled(field, identity, &stocks));
            }
            scope.spawn(move || honest(field, number, identity, stocks.as_ref()));
        }
        let hostile = scope.spawn(|| hostile::annoy(field, &identities[HOSTILE]));
        let beat = beats(&mut plain, begun, time);
        field.stop.store(true, Ordering::Relaxed);
        beat?;
        Ok(hostile.join().unwrap_or_default())
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    let each = (time / 4).clamp(SESSIONS_AT_LEAST, SESSIONS_AT_MOST);
    let sessions = visit(&mut plain, &field, &identities, each)?;
    plain.send(OVER, &[])?;
    plain.flush()?;
    for service in services {
        service.stop(PATIENCE);
    }
    Ok(report(field, seconds, hostile, sessions))
}

/// Returns the observations in these seconds of the peers of `field`, which have all ended.
fn report(
    field: Field,
    seconds: f64,
    hostile: BTreeMap<String, u64>,
    sessions: Visits,
) -> LoadReport {
    let seen = field.seen.into_inner();
    let seen = seen.unwrap_or_else(PoisonError::into_inner);
    let times_ms = |samples: &[Sample]| samples.iter().map(|sample| sample.time_ms).collect();
    let failures = field.failures.into_inner();
    LoadReport {
        seconds,
        times_ms: seen
            .iter()
            .map(|(name, of)| (name.clone(), times_ms(of)))
            .collect(),
        taken: seen
            .into_iter()
            .map(|(name, of)| (name, slowest_and_others(of)))
            .collect(),
        wrong: field.wrong.into_inner(),
        failures: failures.unwrap_or_else(PoisonError::into_inner),
        hostile,
        sessions,
    }
}

/// Tells the service that the peers go on, until the time is over.
pub(super) fn beats(plain: &mut Channel, begun: Instant, time: Duration) -> Result<(), Error> {
    while begun.elapsed() < time {
        plain.send(GOES_ON, &[])?;
        plain.flush()?;
        thread::sleep(BEAT);
    }
    Ok(())
}

/// Starts a peer that is a service of its own, whose stock the service under load fills.
fn filled_by(
    service: Fingerprint,
    identity: Identity,
    stocks: Stocks,
    function: &Arc<Function>,
) -> Result<Service, Error> {
    let peer = Peer {
        name: "service".to_owned(),
        fingerprint: service,
        address: None,
        link: None,
    };
    let levels = vec![level(service, Role::Evaluator, function)];
    let policy = Policy::new(vec![peer], Vec::new(), levels, Limits::default(), None)?;
    start(identity, Some(stocks), policy, |_| ())
}

/// Plays a peer that fills its stock with the service itself.
fn keep_filled(field: &Field, identity: &Identity, stocks: &Stocks) {
    let function = &field.functions[STOCKED];
    let name = StockName {
        own: identity.fingerprint(),
        peer: field.service,
        role: Role::Evaluator,
        scheme: SchemeId::HALF_GATES_TWO_CALL,
        lanes: Default::default(),
    };
    while !field.is_over() {
        thread::sleep(Duration::from_millis(200));
        if stocks
            .runs_left(&name, function)
            .is_ok_and(|left| left >= REFILL_BELOW)
        {
            continue;
        }
        // If room cannot be freed yet, the preparation itself finds it missing.
        let _ = stocks.compact(&name);
        let order = Preparation::new(Role::Evaluator).enough_for(function, LEVEL_RUNS);
        let session = field.session(identity);
        // The service may be preparing with as many others as it may. Then this peer tries again
        // later.
        let _ = order.and_then(|order| order.run(&mut session?, stocks).map(drop));
    }
}

/// Plays a peer that runs functions, in one session after another.
fn honest(field: &Field, number: usize, identity: &Identity, stocks: Option<&Stocks>) {
    let mut dice = Dice(number as u64);
    while !field.is_over() {
        let mut session = match field.session(identity) {
            Ok(session) => session,
            Err(error) => {
                field.failed(&error);
                thread::sleep(AFTER_FAILURE);
                continue;
            }
        };
        for place in 0..RUNS_A_SESSION {
            if field.is_over() {
                break;
            }
            let offer = match stocks {
                Some(_) if !dice.roll().is_multiple_of(4) => STOCKED,
                _ => (dice.roll() % STOCKED as u64) as usize,
            };
            match run(field, offer, &mut session, stocks, &mut dice) {
                Ok(ended) => field.note(
                    offer,
                    ended.map(|(time_ms, cost)| Sample::new(time_ms, place == 0, &cost)),
                ),
                Err(error) => {
                    field.failed(&error);
                    break;
                }
            }
        }
        // The service has nothing more to say.
        let _ = session.close();
    }
}

/// Makes a run. Returns its time in milliseconds and its cost if the result is right, and counts a
/// wrong one.
pub(super) fn run(
    field: &Field,
    offer: usize,
    session: &mut Session,
    stocks: Option<&Stocks>,
    dice: &mut Dice,
) -> Result<Option<(f64, Cost)>, tacit::Error> {
    let (_, _, protocol) = OFFERS[offer];
    let function = &field.functions[offer];
    let inputs = values(function, Role::Evaluator, |_| dice.roll() & 1 == 1)?;
    let mut job = Job::new(function, Role::Evaluator).time_limit(PATIENCE);
    for (name, value) in &inputs {
        job = job.input(name, value.clone());
    }
    if let (Some(stocks), ProtocolId::Prepared) = (stocks, protocol) {
        job = job.prepared(stocks).lease_ahead(LEASED_AHEAD);
    }
    let begun = Instant::now();
    let outcome = job.run(session)?;
    let time_ms = 1e3 * begun.elapsed().as_secs_f64();
    if outcome.outputs != expected(function, inputs)? {
        field.wrong.fetch_add(1, Ordering::Relaxed);
        return Ok(None);
    }
    Ok(Some((time_ms, outcome.cost)))
}

/// Returns the function's result in the clear.
fn expected(
    function: &Function,
    mut inputs: BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, tacit::Error> {
    inputs.extend(values(function, Role::Garbler, service_bit)?);
    let ports = function.inputs().iter();
    let values: Vec<Value> = ports
        .map(|input| inputs[&input.port.name].clone())
        .collect();
    let results = function
        .outputs()
        .iter()
        .zip(function.evaluate_values(&values)?);
    let own = results.filter(|(output, _)| output.recipient.includes(Role::Evaluator));
    Ok(own
        .map(|(output, value)| (output.port.name.clone(), value))
        .collect())
}
