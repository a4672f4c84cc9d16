//! Sessions of one small run each.

use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tacit::Identity;
use tacit::net::Channel;

use super::load::{AFTER_FAILURE, Dice, Field, beats, run};
use crate::Error;

/// The number of peers that open sessions at the same time, each one after the other.
const VISITORS: usize = 4;
/// The function of the sessions: a small one by `direct`.
const OFFER: usize = 0;

/// The sessions of the peers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Visits {
    pub(super) seconds: f64,
    /// The times from the connection to its end.
    pub(super) times_ms: Vec<f64>,
}

/// Opens sessions for `time`.
pub(super) fn visit(
    plain: &mut Channel,
    field: &Field,
    identities: &[Identity],
    time: Duration,
) -> Result<Visits, Error> {
    let begun = Instant::now();
    let times_ms = thread::scope(|scope| -> Result<_, Error> {
        let visitors = identities.iter().take(VISITORS);
        let visitors = visitors.map(|identity| {
            let is_over = move || begun.elapsed() >= time;
            scope.spawn(move || visits(field, identity, is_over))
        });
        let visitors: Vec<_> = visitors.collect();
        beats(plain, begun, time)?;
        let times = visitors.into_iter().map(|visitor| visitor.join());
        Ok(times.flat_map(Result::unwrap_or_default).collect())
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Visits { seconds, times_ms })
}

/// Returns the times of one peer's sessions.
fn visits(field: &Field, identity: &Identity, is_over: impl Fn() -> bool) -> Vec<f64> {
    let mut dice = Dice(1);
    let mut times_ms = Vec::new();
    while !is_over() {
        let begun = Instant::now();
        let visited = field.session(identity).and_then(|mut session| {
            let is_right = run(field, OFFER, &mut session, None, &mut dice)?.is_some();
            session.close()?;
            Ok(is_right)
        });
        match visited {
            Ok(true) => times_ms.push(1e3 * begun.elapsed().as_secs_f64()),
            Ok(false) => {}
            Err(error) => {
                field.failed(&error);
                thread::sleep(AFTER_FAILURE);
            }
        }
    }
    times_ms
}
