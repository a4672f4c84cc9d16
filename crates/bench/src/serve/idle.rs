//! The cost of idle peers for a service: without peers, with sixteen busy ones, with idle ones,
//! with both.
//!
//! Every peer runs once and is then idle. The busy ones go on without a pause, with `millionaires`
//! and AES-128 by `direct` in turn. The service measures its own process.

use std::fs;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tacit::net::Channel;
use tacit::{Identity, Role, Session};
use tacit_serve::{Limits, Peer, Policy, Rate, descriptors};

use super::load::{Dice, Field, run};
use super::scene::{OVER, STOP_TIME, offer, resident_and_threads, start, status};
use super::{FULL, Latency, QUICK, swapped};
use crate::meeting::{fingerprint, hear, say};
use crate::parties::{Exchange, PartyLink, Wire, both};
use crate::table::{Column, Row, known, mebibytes, number, short};
use crate::{Error, Figures, Options, Tell};

/// A service with idle peers, with busy ones, with both or with neither.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleFigures {
    /// The number of peers that are in a session and ask for nothing.
    pub idle: u64,
    /// The number of peers that run without a pause.
    pub busy: u64,
    /// The seconds of the measurement.
    pub seconds: f64,
    /// The resident memory of the service at the end.
    pub resident_bytes: Option<u64>,
    /// The service's threads at the end.
    pub threads: Option<u64>,
    /// The service's time on cores, as a fraction of one core.
    pub core_share: Option<f64>,
    /// The number of times per second that one of its threads woke.
    pub wakeups_per_s: Option<f64>,
    /// The number of runs that ended per second.
    pub runs_per_s: f64,
    /// The times of a run at its peer.
    pub latency: Latency,
}

impl Row for IdleFigures {
    const TITLE: &'static str = "A service with idle peers and busy ones, over TLS: its memory, \
                                 threads, share of a core and wake-ups; latency at the busy peers";
    const COLUMNS: &'static [Column<Self>] = &[
        number("idle", 6, |of| of.idle.to_string()),
        number("busy", 4, |of| of.busy.to_string()),
        number("resident MiB", 12, |of| mebibytes(of.resident_bytes)),
        number("threads", 7, |of| {
            known(of.threads.map(|count| count as f64))
        }),
        number("core %", 6, |of| {
            known(of.core_share.map(|share| 100.0 * share))
        }),
        number("wake-ups/s", 10, |of| known(of.wakeups_per_s)),
        number("runs/s", 7, |of| short(of.runs_per_s)),
        number("p50 ms", 7, |of| short(of.latency.p50_ms)),
        number("p99 ms", 7, |of| short(of.latency.p99_ms)),
    ];
}

const BUSY: u64 = 16;
/// The number of peers that connect at the same time.
const COMING: usize = 4;
/// The time for the service to notice that the new peers are idle.
const SETTLE: Duration = Duration::from_secs(2);
/// The bounds of the measured time, which is a quarter of the suite's time.
const LOOK_AT_LEAST: Duration = Duration::from_secs(1);
const LOOK_AT_MOST: Duration = Duration::from_secs(60);
/// The peers' messages about a measurement.
const BEGINS: u8 = 1;
const ENDS: u8 = 2;

/// The task of the parties.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    idle: u64,
    look: Duration,
}

/// A party's observations in each measurement.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    Service(Vec<ServiceObservation>),
    /// The busy peers' times in milliseconds.
    Peers(Vec<Vec<f64>>),
}

/// The service's observations of itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServiceObservation {
    seconds: f64,
    resident_bytes: Option<u64>,
    threads: Option<u64>,
    core_seconds: Option<f64>,
    wakeups: Option<u64>,
}

/// Measures a service with `idle` peers.
pub(super) fn measure(idle: u64, options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    let usual = if options.quick { QUICK } else { FULL };
    let seconds = options.seconds.map_or(usual, Duration::from_secs);
    let look = (seconds / 4).clamp(LOOK_AT_LEAST, LOOK_AT_MOST);
    let done = both(&Exchanged { idle, look }, PartyLink(None), options)?;
    let (Report::Service(service), Report::Peers(times)) = (done.garbler, done.evaluator) else {
        return Err(swapped());
    };
    let cases = [(0, 0), (0, BUSY), (idle, 0), (idle, BUSY)];
    for (((idle, busy), seen), times_ms) in cases.into_iter().zip(service).zip(times) {
        let latency = Latency::of(times_ms);
        tell(Figures::from(IdleFigures {
            idle,
            busy,
            seconds: seen.seconds,
            resident_bytes: seen.resident_bytes,
            threads: seen.threads,
            core_share: seen.core_seconds.map(|core| core / seen.seconds),
            wakeups_per_s: seen.wakeups.map(|count| count as f64 / seen.seconds),
            runs_per_s: latency.runs as f64 / seen.seconds,
            latency,
        }))?;
    }
    Ok(())
}

impl Exchange for Exchanged {
    type Report = Report;

    fn play(&self, role: Role, wire: Wire) -> Result<Report, Error> {
        let (plain, _control) = wire.split();
        let peers = self.idle + BUSY;
        // Both parties may be in one process.
        descriptors::allow(2 * peers + 256)
            .map_err(|error| Error::of(role.name(), error.to_string()))?;
        Ok(match role {
            Role::Garbler => Report::Service(serve(plain, peers)?),
            Role::Evaluator => Report::Peers(load(plain, self.idle, self.look)?),
        })
    }
}

/// Serves, and measures this process whenever the peers say so.
fn serve(mut plain: Channel, peers: u64) -> Result<Vec<ServiceObservation>, Error> {
    let identity = Identity::generate()?;
    say(&mut plain, &identity.fingerprint().to_string())?;
    let peers = (0..peers).map(|number| {
        Ok(Peer {
            name: format!("peer{number}"),
            fingerprint: fingerprint(&hear::<String>(&mut plain)?)?,
            address: None,
            link: None,
        })
    });
    let peers = peers.collect::<Result<Vec<_>, Error>>()?;
    let offers = (0..2).map(|number| offer(number, &peers));
    let offers = offers.collect::<Result<Vec<_>, Error>>()?;
    let limits = Limits {
        sessions: peers.len(),
        arrivals: Rate::per_minute(60_000),
        idle: Duration::from_secs(3600),
        ..Limits::default()
    };
    let policy = Policy::new(peers, offers, Vec::new(), limits, None)?;
    let service = start(identity, None, policy, |_| ())?;
    say(&mut plain, &service.local_address().to_string())?;
    let (mut seen, mut before) = (Vec::new(), now());
    loop {
        match plain.receive(0)?.kind {
            BEGINS => before = now(),
            ENDS => {
                seen.push(since(&before));
                plain.send(ENDS, &[])?;
            }
            _ => break,
        }
    }
    service.stop(STOP_TIME);
    Ok(seen)
}

/// The time, and up to then the seconds on cores and the waits of all threads of this process.
type Now = (Instant, Option<(f64, u64)>);

fn now() -> Now {
    (Instant::now(), all_threads())
}

fn all_threads() -> Option<(f64, u64)> {
    let (mut seconds, mut waits) = (0.0, 0);
    for task in fs::read_dir("/proc/self/task").ok()?.flatten() {
        // A thread may have ended.
        let read = |file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let nanos = read("schedstat");
        let nanos = nanos
            .split(' ')
            .next()
            .and_then(|first| first.parse::<f64>().ok());
        seconds += nanos.unwrap_or(0.0) / 1e9;
        waits += status(&read("status"), "voluntary_ctxt_switches:").unwrap_or(0);
    }
    Some((seconds, waits))
}

fn since((begun, before): &Now) -> ServiceObservation {
    let both = all_threads().zip(*before);
    let (resident_bytes, threads) = resident_and_threads();
    ServiceObservation {
        seconds: begun.elapsed().as_secs_f64(),
        resident_bytes,
        threads,
        core_seconds: both.map(|(now, then)| now.0 - then.0),
        wakeups: both.map(|(now, then)| now.1.saturating_sub(then.1)),
    }
}

/// Connects busy peers and then idle ones. Returns the busy peers' times in each measurement.
fn load(mut plain: Channel, idle: u64, look: Duration) -> Result<Vec<Vec<f64>>, Error> {
    let service = fingerprint(&hear::<String>(&mut plain)?)?;
    let identities = (0..idle + BUSY).map(|_| Identity::generate());
    let identities = identities.collect::<Result<Vec<_>, _>>()?;
    for identity in &identities {
        say(&mut plain, &identity.fingerprint().to_string())?;
    }
    let field = Field::new(hear(&mut plain)?, service)?;
    let (busy, idle) = identities.split_at(BUSY as usize);
    let mut times = Vec::new();
    let mut look_at = |sessions: &mut [Session]| -> Result<(), Error> {
        if sessions.is_empty() {
            thread::sleep(SETTLE);
        }
        plain.send(BEGINS, &[])?;
        plain.flush()?;
        let seen = runs(&field, sessions, look);
        plain.send(ENDS, &[])?;
        // No peer leaves before the service has measured.
        plain.receive(0)?;
        times.push(seen?);
        Ok(())
    };
    look_at(&mut [])?;
    let mut busy = come(&field, busy)?;
    look_at(&mut busy)?;
    let _idle = come(&field, idle)?;
    look_at(&mut [])?;
    look_at(&mut busy)?;
    plain.send(OVER, &[])?;
    plain.flush()?;
    match field.wrong.into_inner() {
        0 => Ok(times),
        wrong => Err(Error::of("service", format!("{wrong} results are wrong"))),
    }
}

/// Starts sessions of these peers, each of which runs once.
fn come(field: &Field, identities: &[Identity]) -> Result<Vec<Session>, tacit::Error> {
    let met = Mutex::new(Vec::new());
    let note = |session| {
        met.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(session)
    };
    thread::scope(|scope| {
        for some in identities.chunks(identities.len().div_ceil(COMING).max(1)) {
            let note = &note;
            scope.spawn(move || {
                for identity in some {
                    note(field.session(identity).and_then(|mut session| {
                        run(field, 0, &mut session, None, &mut Dice(0))?;
                        Ok(session)
                    }));
                }
            });
        }
    });
    let met = met.into_inner().unwrap_or_else(PoisonError::into_inner);
    met.into_iter().collect()
}

/// Runs in these sessions for `time`. Returns the milliseconds of each run.
fn runs(field: &Field, sessions: &mut [Session], time: Duration) -> Result<Vec<f64>, Error> {
    let begun = Instant::now();
    let done = thread::scope(|scope| {
        let busy = sessions.iter_mut().map(|session| {
            scope.spawn(move || -> Result<_, tacit::Error> {
                let (mut dice, mut times_ms) = (Dice(1), Vec::new());
                for offer in (0..2).cycle() {
                    if begun.elapsed() >= time {
                        break;
                    }
                    let time = run(field, offer, session, None, &mut dice)?.map(|(ms, _)| ms);
                    times_ms.extend(time);
                }
                Ok(times_ms)
            })
        });
        let busy: Vec<_> = busy.collect();
        thread::sleep(time);
        let done = busy.into_iter().map(|thread| thread.join());
        done.map(|done| done.unwrap_or_else(|_| Ok(Vec::new())))
            .collect::<Result<Vec<_>, _>>()
    })?;
    Ok(done.concat())
}
