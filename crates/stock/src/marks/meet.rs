//! A party's part of a meeting: what it says of its stock, and what it does with the peer's marks.

use super::{KindMarks, MAX_WITHDRAWN, MAX_WITHDRAWN_IN_ALL, Marks};
use crate::lease::{self, Forward};
use crate::lots;
use crate::records::{EpochRecord, KindRecord, LotState, Records, chained};
use crate::stock::Inner;
use crate::{ComponentDigest, LaneIds, Preparation, Span, Stock, StockError, Whose, cover};

/// The most that one party may be ahead of the other when they meet: a lot that the other has not
/// started.
pub(crate) const MAX_AHEAD: u64 = 1 << 20;
/// The same limit if the other party has nothing of a kind, and so does not keep up with lots that
/// fail one after another.
const MAX_AHEAD_OF_NOTHING: u64 = cover::NUMBERS / 2;

/// The material that both parties have after a meeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The number of the meeting, which is recorded here. When a later message shows that the peer
    /// has recorded it, too, call [`Stock::confirm`].
    pub meeting: u64,
    /// The material of each kind that is not used up.
    pub kinds: Vec<AgreedKind>,
}

/// The material of one kind that both parties have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgreedKind {
    /// The kind.
    pub kind: ComponentDigest,
    /// The number below which every number is spent at one party at least.
    pub mark: u64,
    /// The number of instances that can be leased.
    pub available: u64,
    /// The number at which the next lot may start at both parties.
    pub next_number: u64,
}

impl Stock {
    /// Returns this party's record, for the peer.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Corrupted`].
    pub fn marks(&self) -> Result<Marks, StockError> {
        let inner = &self.inner;
        inner.update(|records| {
            let epoch = records.epoch()?;
            let kinds = records.kinds()?.into_iter();
            let kinds = kinds.map(|(kind, record)| own(records, kind, &record));
            let mut kinds = kinds.collect::<Result<Vec<_>, _>>()?;
            let mut left = MAX_WITHDRAWN_IN_ALL;
            for kind in &mut kinds {
                kind.withdrawn.truncate(left);
                left -= kind.withdrawn.len();
            }
            Ok(Marks {
                lanes: inner.id.lanes,
                epoch: epoch.id,
                meeting: epoch.meeting,
                confirmed: epoch.peer_confirmed,
                kinds,
            })
        })
    }

    /// Compares this record with the peer's and brings this stock to what both have: publishes the
    /// lots that both have, raises the marks to the maximum, and records the meeting. Lots that
    /// only this party has stay pending. [`Preparation::reconcile`] drops them.
    ///
    /// Both parties do this with each other's [`Stock::marks`], and both come to the same result.
    ///
    /// # Errors
    ///
    /// [`StockError::UnknownEpoch`] and [`StockError::RolledBack`], in which case nothing changes;
    /// [`StockError::PeerMisbehaved`].
    pub fn reconcile(&self, peer: &Marks) -> Result<Agreement, StockError> {
        self.meet(peer, false)
    }

    /// Records that the peer has recorded a meeting. A message that the peer sent after that must
    /// have arrived.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if there was no such meeting.
    pub fn confirm(&self, meeting: u64) -> Result<(), StockError> {
        self.inner.update(|records| {
            let mut epoch = records.epoch()?;
            if meeting > epoch.meeting {
                let last = epoch.meeting;
                return Err(StockError::misuse(format!(
                    "meeting {meeting} confirmed after {last}"
                )));
            }
            epoch.peer_confirmed = epoch.peer_confirmed.max(meeting);
            records.put_epoch(&epoch)
        })
    }

    fn meet(&self, peer: &Marks, drop_unmatched: bool) -> Result<Agreement, StockError> {
        let inner = &self.inner;
        check_lanes(inner.id.lanes, peer.lanes)?;
        if peer.epoch != inner.epoch {
            return Err(StockError::UnknownEpoch {
                own: inner.epoch,
                peer: peer.epoch,
            });
        }
        let (agreement, dropped) = inner.move_forward(|records, forward| {
            let mut epoch = records.epoch()?;
            check_meetings(&epoch, peer)?;
            let mut dropped = Vec::new();
            let mut kinds = Vec::new();
            for (kind, record) in records.kinds()? {
                let found = peer.kinds.binary_search_by(|marks| marks.kind.cmp(&kind));
                let none = KindMarks::none(kind);
                let theirs = found.map_or(&none, |place| &peer.kinds[place]);
                let gone = meet_kind(
                    (inner, &mut *forward),
                    records,
                    &record,
                    theirs,
                    drop_unmatched,
                )?;
                dropped.extend(
                    gone.iter()
                        .map(|lot| lots::file_name(record.slot, lot.first)),
                );
                let mut agreed = agreed(records, kind)?;
                agreed.next_number = agreed.next_number.max(theirs.reserved);
                kinds.push(agreed);
            }
            kinds.extend(absent(records, peer)?);
            kinds.sort_by_key(|agreed| agreed.kind);
            // Both parties compute the same.
            epoch.meeting = epoch
                .meeting
                .max(peer.meeting)
                .checked_add(1)
                .ok_or_else(|| StockError::PeerMisbehaved {
                    what: "its number of meetings",
                    found: peer.meeting.to_string(),
                    expected: "one that can be counted on from".to_owned(),
                })?;
            records.put_epoch(&epoch)?;
            let meeting = epoch.meeting;
            Ok((Agreement { meeting, kinds }, dropped))
        })?;
        for name in dropped {
            inner.storage.clear_away(&inner.folder.join(name))?;
        }
        Ok(agreement)
    }
}

impl Preparation {
    /// Reconciles as [`Stock::reconcile`] does, and drops lots that only this party has. Both
    /// records must come from [`Preparation::marks`] of their party's right.
    ///
    /// # Errors
    ///
    /// Those of [`Stock::reconcile`].
    pub fn reconcile(&self, peer: &Marks) -> Result<Agreement, StockError> {
        self.stock().meet(peer, true)
    }
}

fn own(
    records: &Records<'_>,
    kind: ComponentDigest,
    record: &KindRecord,
) -> Result<KindMarks, StockError> {
    let lots = records.lots(&kind)?;
    let pending = lots.iter().filter(|lot| lot.state == LotState::Pending);
    let withdrawn = lots.iter().flat_map(|lot| &lot.withdrawn).copied();
    let withdrawn = withdrawn.filter(|span| span.end() > record.leased);
    Ok(KindMarks {
        kind,
        reserved: record.reserved,
        leased: record.leased,
        published: record.published,
        chain: record.chain,
        pending: pending.map(|lot| lot.span).collect(),
        withdrawn: withdrawn.take(MAX_WITHDRAWN).collect(),
    })
}

fn check_meetings(epoch: &EpochRecord, peer: &Marks) -> Result<(), StockError> {
    let rolled_back = |whose, found: u64, expected: u64| StockError::RolledBack {
        whose,
        what: "the number of meetings".to_owned(),
        found: found.to_string(),
        expected: format!("at least {expected}"),
    };
    if peer.meeting < epoch.peer_confirmed {
        return Err(rolled_back(
            Whose::Peers,
            peer.meeting,
            epoch.peer_confirmed,
        ));
    }
    if epoch.meeting < peer.confirmed {
        return Err(rolled_back(Whose::Ours, epoch.meeting, peer.confirmed));
    }
    Ok(())
}

/// Returns the kinds that the peer has and this party does not. The peer cannot have published
/// anything of them. It may have started a lot, whose numbers are not given again.
fn absent(records: &Records<'_>, peer: &Marks) -> Result<Vec<AgreedKind>, StockError> {
    let mut kinds = Vec::new();
    for theirs in &peer.kinds {
        if records.kind(&theirs.kind)?.is_some() {
            continue;
        }
        if theirs.published > 0 {
            return Err(lost_lots(Whose::Ours, &theirs.kind, 0, theirs.published));
        }
        check_ahead(theirs, MAX_AHEAD_OF_NOTHING)?;
        kinds.push(AgreedKind {
            kind: theirs.kind,
            mark: 0,
            available: 0,
            next_number: theirs.reserved,
        });
    }
    Ok(kinds)
}

/// Refuses a number that no honest party has reached, and that would leave none for later lots.
fn check_ahead(theirs: &KindMarks, most: u64) -> Result<(), StockError> {
    if theirs.reserved <= most {
        return Ok(());
    }
    Err(StockError::PeerMisbehaved {
        what: "the number of its next instance",
        found: format!("{} of {}", theirs.reserved, theirs.kind),
        expected: format!("at most {most}"),
    })
}

fn lost_lots(whose: Whose, kind: &ComponentDigest, found: u64, expected: u64) -> StockError {
    StockError::RolledBack {
        whose,
        what: format!("the lots of component {kind}"),
        found: format!("{found} or others"),
        expected: format!("{expected}, as the other party published them"),
    }
}

/// Whether the chain reaches `goal` after exactly `steps` of `lots`.
fn reaches(chain: [u8; 32], lots: &[Span], steps: u64, goal: &[u8; 32]) -> bool {
    let steps = usize::try_from(steps).ok();
    let Some(lots) = steps.and_then(|steps| lots.get(..steps)) else {
        return false;
    };
    lots.iter().fold(chain, |chain, lot| chained(&chain, *lot)) == *goal
}

/// Publishes the lots of a kind that both parties have and raises its mark. Returns the lots that
/// were dropped.
fn meet_kind(
    (inner, forward): (&Inner, &mut Forward),
    records: &mut Records<'_>,
    record: &KindRecord,
    theirs: &KindMarks,
    drop_unmatched: bool,
) -> Result<Vec<Span>, StockError> {
    let kind = theirs.kind;
    let ours = own(records, kind, record)?;
    // The party that published fewer lots has the rest pending, or has lost it.
    let (ahead, behind) = (theirs.published, ours.published);
    let (mut own_rest, mut their_rest) = (&ours.pending[..], &theirs.pending[..]);
    if ahead >= behind {
        let steps = ahead - behind;
        if !reaches(ours.chain, own_rest, steps, &theirs.chain) {
            return Err(lost_lots(Whose::Ours, &kind, behind, ahead));
        }
        own_rest = &own_rest[steps as usize..];
    } else {
        let steps = behind - ahead;
        if !reaches(theirs.chain, their_rest, steps, &ours.chain) {
            return Err(lost_lots(Whose::Peers, &kind, ahead, behind));
        }
        their_rest = &their_rest[steps as usize..];
    }
    let same = own_rest
        .iter()
        .zip(their_rest)
        .take_while(|(ours, theirs)| ours == theirs)
        .count();
    let published = ours.pending.len() - own_rest.len() + same;
    for lot in &ours.pending[..published] {
        lots::publish(records, &kind, lot.first)?;
    }
    withdraw(records, &kind, &theirs.withdrawn)?;
    reserve(records, theirs, drop_unmatched)?;
    lease::raise(inner, records, forward, &kind, (theirs.leased, 0))?;
    let unmatched = &ours.pending[published..];
    if !drop_unmatched {
        return Ok(Vec::new());
    }
    for lot in unmatched {
        records.remove_lot(&kind, lot.first)?;
    }
    Ok(unmatched.to_vec())
}

/// Gives up these instances, as far as they are published.
pub(crate) fn withdraw(
    records: &mut Records<'_>,
    kind: &ComponentDigest,
    spans: &[Span],
) -> Result<(), StockError> {
    if spans.is_empty() {
        return Ok(());
    }
    for mut lot in records.lots(kind)? {
        let before = lot.withdrawn.clone();
        if lot.state == LotState::Published {
            spans.iter().for_each(|span| lot.withdraw(*span));
        }
        if lot.withdrawn != before {
            records.put_lot(kind, &lot)?;
        }
    }
    Ok(())
}

fn found(records: &Records<'_>, kind: &ComponentDigest) -> Result<KindRecord, StockError> {
    let record = records.kind(kind)?;
    record.ok_or_else(|| {
        StockError::misuse(format!("component {kind} has gone within a transaction"))
    })
}

/// Reserves the peer's numbers of a kind, or its spent ones if this party does not prepare. The
/// others may belong to lots that the parties are about to begin in another session: the peer has
/// begun them, and this party has not.
fn reserve(
    records: &mut Records<'_>,
    theirs: &KindMarks,
    prepares: bool,
) -> Result<(), StockError> {
    let mut record = found(records, &theirs.kind)?;
    check_ahead(theirs, record.reserved.saturating_add(MAX_AHEAD))?;
    let end = if prepares {
        theirs.reserved
    } else {
        theirs.leased.min(theirs.reserved)
    };
    if end > record.reserved {
        record.reserve_to(end);
        records.put_kind(&theirs.kind, record)?;
    }
    Ok(())
}

/// Returns the lots of a kind that both parties now have.
fn agreed(records: &Records<'_>, kind: ComponentDigest) -> Result<AgreedKind, StockError> {
    let record = found(records, &kind)?;
    let lots = records.lots(&kind)?.into_iter();
    let published = lots.filter(|lot| lot.state == LotState::Published);
    let usable = published.flat_map(|lot| lot.usable(record.leased));
    Ok(AgreedKind {
        kind,
        mark: record.leased,
        available: usable.map(|span| span.count).sum(),
        next_number: record.reserved,
    })
}

/// Refuses the record of a stock that other processes share.
fn check_lanes(own: LaneIds, peer: LaneIds) -> Result<(), StockError> {
    let expected = own.swapped();
    if peer == expected {
        return Ok(());
    }
    Err(StockError::PeerMisbehaved {
        what: "the lanes in its record of the stock",
        found: format!("{peer:?}"),
        expected: format!("{expected:?}"),
    })
}
