//! The end of a run: the log, the metrics, the audit log, and the results.

use tacit::cost::Cost;
use tacit::outsourced::OutsourcedRole;
use tacit::protocols::Protocol;
use tacit::session::{ProtocolId, RunId};
use tacit::stock::StockError;
use tacit::{Category, Error};

use super::{RUN_FAILED, Turn};
use crate::audit::{self, RunEnd};
use crate::event::Event;
use crate::inputs::RunRequest;
use crate::policy::Granted;
use crate::service::Seat;

/// The names of a run that a peer makes.
#[derive(Clone, Copy)]
pub(crate) struct RunNames<'a> {
    /// The offer's name.
    pub(crate) offer: &'a str,
    /// The protocol.
    pub(crate) protocol: ProtocolId,
    /// The run's name in the logs of both parties.
    pub(crate) run: Option<RunId>,
}

impl<'a> RunNames<'a> {
    /// Returns the names of a run of a function.
    pub(crate) fn of(about: &RunRequest<'a>) -> Self {
        Self {
            offer: about.offer,
            protocol: about.protocol,
            run: about.run,
        }
    }

    /// Returns the name of the run for an event.
    pub(crate) fn shown(&self) -> Option<String> {
        shown(self.run)
    }
}

/// Returns the name of a run for an event.
pub(super) fn shown(run: Option<RunId>) -> Option<String> {
    run.map(|run| run.to_string())
}

/// Reports the end of a run, and delivers its results.
pub(crate) fn finish(
    seat: &Seat,
    about: &RunRequest<'_>,
    granted: &Granted<'_>,
    outcome: Result<tacit::Outcome, Error>,
) -> Turn {
    match outcome {
        Ok(outcome) => done(seat, RunNames::of(about), &outcome.cost, || {
            granted.offer.results.take(about, &outcome.outputs)
        }),
        // In a run of three, an error of the other server is not this peer's fault.
        Err(error) => {
            let party = error.party();
            let is_others = party.is_some_and(|party| party != OutsourcedRole::Evaluator);
            failed(seat, RunNames::of(about), error, is_others)
        }
    }
}

/// Reports a run that failed. It is held against the peer if that is at fault, unless the fault is
/// another party's.
pub(crate) fn failed(seat: &Seat, names: RunNames<'_>, error: Error, is_others: bool) -> Turn {
    let shared = seat.shared();
    let (offer, protocol) = (names.offer.to_owned(), names.protocol.to_string());
    shared.metrics.run_failed(&offer, &protocol);
    audit::ended(seat, names, &RunEnd::Failed(&error));
    let reason = error.with_advice();
    if at_fault(&error) && !is_others {
        let why = format!("{RUN_FAILED}, as run-failed says");
        shared.refused(Some(seat.peer), None, "behaviour", &why);
    }
    shared.tell(&Event::RunFailed {
        peer: seat.peer_name.clone(),
        offer,
        protocol,
        reason,
        run: names.shown(),
    });
    Turn::Failed(error, Some(RUN_FAILED))
}

/// Reports a run that ended well, and delivers this party's results by `deliver`.
pub(crate) fn done(
    seat: &Seat,
    names: RunNames<'_>,
    cost: &Cost,
    deliver: impl FnOnce() -> Result<(), String>,
) -> Turn {
    let shared = seat.shared();
    let (offer, protocol) = (names.offer.to_owned(), names.protocol.to_string());
    let bytes = cost.phases.iter().fold([0, 0], |[sent, received], phase| {
        let traffic = &phase.traffic;
        [sent + traffic.sent.bytes, received + traffic.received.bytes]
    });
    audit::ended(seat, names, &RunEnd::Done(cost, bytes));
    shared.metrics.run(&offer, &protocol, cost, bytes);
    shared.tell(&Event::Run {
        peer: seat.peer_name.clone(),
        offer: offer.clone(),
        protocol,
        milliseconds: audit::shown_ms(cost.wall()),
        bytes_sent: bytes[0],
        bytes_received: bytes[1],
        and_gates_on_the_spot: cost.and_gates_on_the_spot,
        run: names.shown(),
    });
    if let Err(reason) = deliver() {
        shared.metrics.results_failed(&offer);
        let run = names.shown();
        shared.tell(&Event::ResultsFailed { offer, reason, run });
    }
    let by = Protocol::of_wire(names.protocol);
    if cost.from_stock.is_some() || by.is_some_and(|by| !by.is_from_nothing()) {
        shared.look_at_stock();
    }
    Turn::Done
}

/// Returns whether an error of a run is the peer's fault: it lied, stalled or broke off, claimed a
/// stock that makes this party's look old, or goes on after too many tries. It is not the peer's
/// fault if this party's own stock shows that it was restored.
pub(super) fn at_fault(error: &Error) -> bool {
    let of_its_stock = match error {
        Error::Stock(error) => matches!(
            **error,
            StockError::RolledBack { .. } | StockError::UnknownEpoch { .. }
        ),
        error => matches!(error, Error::TooManyTries { .. }),
    };
    of_its_stock
        || matches!(
            error.category(),
            Category::Peer | Category::Incompatible | Category::Network
        )
}
