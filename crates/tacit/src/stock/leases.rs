//! The exchange by which both parties lease the same numbers: a script for each, over a
//! [`LeaseIo`].
//!
//! The evaluator leases and names the numbers. The garbler leases the same, or says from which
//! numbers on it can. Each party makes its lease durable before it sends anything. So a party that
//! stops at any point has wasted numbers, but never given one twice.

use core::ops::RangeInclusive;

use tacit_protocol::io::Io;
use tacit_protocol::message::Kind;
use tacit_protocol::prepared::{Leases, LeasesAnswer};
use tacit_protocol::{Error, Misbehaviour};
use tacit_stock::{ComponentDigest, Lease, LeasePool, LeaseRequest, Span, Stock, StockError};

use super::failure::StockFailure;
use super::messages;

/// A party's leases, as the exchange changes them. A change is durable once the call returns.
pub(super) trait LeaseIo {
    /// Leases the next numbers, or returns `None` if there are too few of a kind.
    fn lease_next(&mut self, wanted: &[LeaseRequest]) -> Result<Option<Unanswered>, Error>;

    /// Leases the numbers that the peer named, or returns `None` if some are spent.
    fn lease_named(
        &mut self,
        named: &[(ComponentDigest, &[Span])],
    ) -> Result<Option<Vec<Lease>>, Error>;

    /// Returns, for each kind, the number below which all are spent.
    fn marks(&mut self, kinds: &[ComponentDigest]) -> Result<Vec<u64>, Error>;

    /// Gives up the numbers below the peer's marks.
    fn raise_marks(&mut self, marks: &[(ComponentDigest, u64)]) -> Result<(), Error>;

    /// Keeps what both parties have leased, for the runs of this session.
    fn hold(&mut self, leases: Vec<Lease>) -> Result<(), Error>;
}

/// The evaluator's leases that the garbler has not followed yet. They can only be turned into the
/// message that names them and, with the answer to it, into leases.
pub(super) struct Unanswered(Vec<Lease>);

impl Unanswered {
    /// Returns the numbers of each lease.
    pub(super) fn named(&self) -> Vec<Vec<Span>> {
        let leases = self.0.iter();
        leases.map(|lease| lease.spans().collect()).collect()
    }

    /// Returns the leases if the garbler has followed. Otherwise returns its marks, and the leased
    /// numbers are wasted.
    fn answered(self, answer: LeasesAnswer) -> Result<Vec<Lease>, Vec<u64>> {
        match answer {
            LeasesAnswer::Followed => Ok(self.0),
            LeasesAnswer::Behind(marks) => Err(marks),
        }
    }
}

/// The terms of an exchange of leases.
pub(super) struct LeaseTerms<'a> {
    /// The kinds, in an order that both parties know.
    pub(super) kinds: &'a [ComponentDigest],
    /// The least and the most instances of each kind.
    pub(super) counts: Vec<RangeInclusive<u64>>,
    /// The most runs for which the parties prepare if the evaluator has too little.
    pub(super) runs: u8,
}

/// The end of an exchange, which is the same at both parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The missing numbers are leased.
    Leased,
    /// Marks were raised, so the exchange must be repeated.
    Behind,
    /// The evaluator has too little, and wants enough for this many runs.
    Short { runs: u8 },
}

/// Runs the evaluator's side.
pub(super) async fn name(
    io: &mut Io<'_>,
    own: &mut impl LeaseIo,
    terms: &LeaseTerms<'_>,
) -> Result<Attempt, Error> {
    let kinds = terms.kinds;
    let wanted = kinds.iter().zip(&terms.counts);
    let wanted = wanted.map(|(kind, counts)| LeaseRequest {
        kind: *kind,
        least: *counts.start(),
        most: *counts.end(),
    });
    let Some(leases) = own.lease_next(&wanted.collect::<Vec<_>>())? else {
        let runs = terms.runs;
        Leases::Short { runs }.write(io.message())?;
        io.send(messages::leases(kinds.len()))?;
        return Ok(Attempt::Short { runs });
    };
    Leases::Named(leases.named()).write(io.message())?;
    io.send(messages::leases(kinds.len()))?;
    let answer = io.receive(messages::leases_answer(kinds.len())).await?;
    match leases.answered(LeasesAnswer::parse(answer, kinds.len())?) {
        Ok(leases) => {
            own.hold(leases)?;
            Ok(Attempt::Leased)
        }
        Err(marks) => {
            let marks: Vec<_> = kinds.iter().copied().zip(marks).collect();
            own.raise_marks(&marks)?;
            Ok(Attempt::Behind)
        }
    }
}

/// Runs the garbler's side. Leases nothing unless the evaluator names as many instances of each
/// kind as an honest one would.
pub(super) async fn follow(
    io: &mut Io<'_>,
    own: &mut impl LeaseIo,
    terms: &LeaseTerms<'_>,
    is_honest: impl Fn(&[u64]) -> bool,
) -> Result<Attempt, Error> {
    let kinds = terms.kinds;
    let payload = io.receive(messages::leases(kinds.len())).await?;
    let named = match Leases::parse(payload, &terms.counts, terms.runs)? {
        Leases::Named(named) => named,
        Leases::Short { runs } => return Ok(Attempt::Short { runs }),
    };
    let counts = named.iter();
    let counts = counts.map(|spans| spans.iter().map(|span| span.count).sum());
    if !is_honest(&counts.collect::<Vec<_>>()) {
        return Err(Misbehaviour::invalid(Kind::Leases, "number of instances of a lot").into());
    }
    let named = kinds.iter().zip(&named);
    let named: Vec<_> = named.map(|(kind, spans)| (*kind, &spans[..])).collect();
    let (answer, attempt) = match own.lease_named(&named)? {
        Some(leases) => {
            own.hold(leases)?;
            (LeasesAnswer::Followed, Attempt::Leased)
        }
        None => (LeasesAnswer::Behind(own.marks(kinds)?), Attempt::Behind),
    };
    answer.write(io.message());
    io.send(messages::leases_answer(kinds.len()))?;
    Ok(attempt)
}

/// Whether these numbers, for each kind of each lot, are enough of one lot and none of any other.
pub(super) fn is_of_one_lot(counts: &[u64], needed: &[u64]) -> bool {
    let lots = counts.chunks(needed.len());
    let mut named = lots.filter(|lot| lot.iter().any(|count| *count > 0));
    let is_whole = |lot: &[u64]| {
        lot.iter()
            .zip(needed)
            .all(|(count, needed)| count >= needed)
    };
    named.next().is_some_and(is_whole) && named.next().is_none()
}

/// The leases of a stock on disk.
pub(super) struct OwnLeases<'a> {
    pub(super) stock: &'a Stock,
    pub(super) held: &'a mut LeasePool,
    /// Stores the stock's error.
    pub(super) failure: &'a StockFailure,
}

impl LeaseIo for OwnLeases<'_> {
    fn lease_next(&mut self, wanted: &[LeaseRequest]) -> Result<Option<Unanswered>, Error> {
        match self.stock.lease_all(wanted) {
            Err(StockError::Exhausted { .. }) => Ok(None),
            leased => self.failure.noted(leased).map(Unanswered).map(Some),
        }
    }

    fn lease_named(
        &mut self,
        named: &[(ComponentDigest, &[Span])],
    ) -> Result<Option<Vec<Lease>>, Error> {
        match self.stock.lease_named(named) {
            Err(StockError::Behind { .. }) => Ok(None),
            leased => self.failure.noted(leased).map(Some),
        }
    }

    fn marks(&mut self, kinds: &[ComponentDigest]) -> Result<Vec<u64>, Error> {
        let record = self.failure.noted(self.stock.marks())?;
        let mark = |kind: &ComponentDigest| {
            let marks = record.kinds.iter().filter(|marks| marks.kind == *kind);
            marks.map(|marks| marks.leased).sum()
        };
        Ok(kinds.iter().map(mark).collect())
    }

    fn raise_marks(&mut self, marks: &[(ComponentDigest, u64)]) -> Result<(), Error> {
        self.failure.noted(self.stock.raise_marks(marks))
    }

    fn hold(&mut self, leases: Vec<Lease>) -> Result<(), Error> {
        let held = leases
            .into_iter()
            .try_for_each(|lease| self.held.add(lease));
        self.failure.noted(held)
    }
}
