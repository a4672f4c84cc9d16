//! The speed of this machine, measured in less than a second when a plan is made: the overhead that
//! software adds to the link, and the work of a scheme on each component.
//!
//! The overhead is measured between two threads of this process, over a simulated link of the same
//! rate with TLS. Short waits end late, and both ends have to wake up. On fast links this is a
//! tenth or more of a short run.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use tacit_circuit::{Component, Digest};
use tacit_garble::SchemeId;
use tacit_net::{Channel, Identity, Link, Settings};
use tacit_protocol::batch::outline::{Hashing, commit_to_wires, hash_labels};

use super::Overhead;
use super::from_nothing::leaky_and_seconds;
use crate::cost::TimeEstimate;
use crate::{Error, Listener, Session};

/// The number of message pairs that are timed.
const EXCHANGES: usize = 15;
/// The longest delay that is simulated. The software's overhead does not depend on the delay.
const LONGEST_DELAY: Duration = Duration::from_millis(2);
/// The most bytes of the long message, and the longest time that sending them may take.
const BULK_BYTES: usize = 256 << 10;
const BULK_TIME: Duration = Duration::from_millis(20);
/// The time for which each side of a component is measured under a scheme.
const PATIENCE: Duration = Duration::from_micros(1500);
/// The number of hashes or commitments of `batch` that are timed together, and the repetitions.
const HASHES: u32 = 1 << 10;
const HASHINGS: usize = 5;

/// The speed of this machine.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    /// The overhead that software adds to the link.
    pub overhead: Overhead,
    components: HashMap<(SchemeId, Digest), TimeEstimate>,
    hashes: Option<HashTimes>,
    leaky_and: Option<f64>,
}

impl Calibration {
    /// Measures the overhead that software adds to `link`.
    ///
    /// # Errors
    ///
    /// This machine has no loopback or provides no randomness.
    pub fn measure(link: Link) -> Result<Self, Error> {
        Ok(Self {
            overhead: overhead(link)?,
            ..Self::default()
        })
    }

    /// Returns a component's times under a scheme. The first call for a pair measures them.
    pub(super) fn of(
        &mut self,
        scheme: SchemeId,
        component: &Component,
    ) -> Result<TimeEstimate, Error> {
        let key = (scheme, component.digest());
        if let Some(known) = self.components.get(&key) {
            return Ok(*known);
        }
        let measured = TimeEstimate::measure(scheme, component.program(), PATIENCE)
            .map_err(|_| Error::ApiMisuse("this scheme is not offered by any protocol"))?;
        self.components.insert(key, measured);
        Ok(measured)
    }
}

impl Calibration {
    /// Returns the time of the hashes of `batch`. The first call measures it.
    pub(super) fn hashes(&mut self) -> HashTimes {
        *self.hashes.get_or_insert_with(|| HashTimes {
            commitment: median_of_hashings(|| {
                std::hint::black_box(commit_to_wires(HASHES as usize / 2));
            }),
            hash: median_of_hashings(|| {
                std::hint::black_box(hash_labels(HASHES));
            }),
        })
    }
}

impl Calibration {
    /// Returns the seconds that a party of `authenticated` takes for each leaky AND of a run. The
    /// first call measures it.
    pub(super) fn leaky_and(&mut self) -> Result<f64, Error> {
        if let Some(known) = self.leaky_and {
            return Ok(known);
        }
        let measured = leaky_and_seconds()?;
        self.leaky_and = Some(measured);
        Ok(measured)
    }
}

/// The seconds that a commitment and a hash of `batch` take.
#[derive(Clone, Copy, Debug)]
pub(super) struct HashTimes {
    commitment: f64,
    hash: f64,
}

impl HashTimes {
    /// Returns the seconds for all hashing of a run.
    pub(super) fn of(&self, hashing: &Hashing) -> f64 {
        self.commitment * hashing.commitments + self.hash * hashing.hashes
    }
}

/// Returns the median time of one of [`HASHES`].
fn median_of_hashings(all: impl Fn()) -> f64 {
    let times = (0..HASHINGS).map(|_| {
        let begun = Instant::now();
        all();
        begun.elapsed().as_secs_f64() / f64::from(HASHES)
    });
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times[HASHINGS / 2]
}

/// Measures the overhead that software adds to `link`, with messages between two threads over a
/// simulation of it.
fn overhead(link: Link) -> Result<Overhead, Error> {
    let delay = link.one_way_delay().min(LONGEST_DELAY);
    let imitated = Link::new(delay, link.rate_bits_per_s()).unwrap_or(link);
    let bulk = imitated.bytes_in(BULK_TIME).min(BULK_BYTES);
    let [own, peer] = [Identity::generate()?, Identity::generate()?];
    let settings = Settings {
        link: Some(imitated),
        ..Settings::default()
    };
    let listener = Listener::bind("127.0.0.1:0")?;
    let address = listener.local_address().to_string();
    let (theirs, ours) = (peer.fingerprint(), own.fingerprint());
    let answering = {
        let settings = settings.clone();
        thread::spawn(move || -> Result<(), Error> {
            let mut session = listener.accept(&peer, &ours, &settings)?;
            let channel = session.channel();
            for bytes in lengths(bulk) {
                channel.receive(bytes.max(1))?;
                channel.send(1, &[0])?;
                channel.flush()?;
            }
            session.close()
        })
    };
    let mut session = Session::connect(&address, &own, &theirs, &settings)?;
    session.greeted()?;
    let mut times = [Vec::new(), Vec::new()];
    for bytes in lengths(bulk) {
        let taken = exchange(session.channel(), bytes)?;
        let nominal = 2 * delay + imitated.time_for(bytes + 64);
        times[usize::from(bytes > 1)].push(taken.saturating_sub(nominal));
    }
    // Either side may have left by the time the other one closes.
    let _ = session.close();
    let _ = answering.join();
    let [short, long] = times.map(|mut times| {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    });
    Ok(Overhead {
        exchange: short,
        seconds_a_byte: long.saturating_sub(short).as_secs_f64() / bulk.max(1) as f64,
    })
}

/// Returns the lengths of the messages that are exchanged.
fn lengths(bulk: usize) -> impl Iterator<Item = usize> {
    let long = if bulk > 1 << 14 { EXCHANGES / 3 } else { 0 };
    std::iter::repeat_n(1, EXCHANGES).chain(std::iter::repeat_n(bulk, long))
}

fn exchange(channel: &mut Channel, bytes: usize) -> Result<Duration, Error> {
    let message = vec![0; bytes];
    let at = Instant::now();
    channel.send(1, &message)?;
    channel.flush()?;
    channel.receive(1)?;
    Ok(at.elapsed())
}
