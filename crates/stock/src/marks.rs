//! The marks that two parties exchange when they meet, and what each party does with them.
//!
//! *Lots.* Each party publishes a lot only when it knows that the peer has it durably. It publishes
//! lots of a kind in a fixed order. So both have published prefixes of one sequence, and a lot that
//! either party has published is at least pending at the other. A comparison of hashes shows this:
//! the hash over the shorter party's lots, extended by its pending ones, equals that of the longer
//! party.
//!
//! *Marks.* Both parties continue from the maximum, so a number that either has spent is spent.
//!
//! *Meetings.* Both parties count them. A party that once confirmed that it has recorded meeting m,
//! and later says a lower number, was restored from an old copy.

use crate::codec::{Fields, Malformed};
use crate::lease::Forward;
use crate::lots;
use crate::records::{KindRecord, LotState, MAX_KINDS, MAX_PENDING_LOTS, Records, chained};
use crate::stock::Inner;
use crate::{
    ComponentDigest, EpochId, LaneIds, Preparation, Span, Stock, StockError, Whose, cover, lease,
};

/// The most ranges of withdrawn instances in a message, for one kind and for all kinds together.
/// The peer learns about the others when a run names them.
const MAX_WITHDRAWN: usize = 1024;
const MAX_WITHDRAWN_IN_ALL: usize = 8192;
/// The most that one party may be ahead of the other when they meet: a lot that the other has not
/// started.
pub(crate) const MAX_AHEAD: u64 = 1 << 20;
/// The same limit if the other party has nothing of a kind, and so does not keep up with lots that
/// fail one after another.
const MAX_AHEAD_OF_NOTHING: u64 = cover::NUMBERS / 2;
/// The message's version: without lanes, and with them.
const MESSAGE_VERSION: u8 = 1;
const MESSAGE_VERSION_OF_LANES: u8 = 2;

/// A party's record, to be sent to the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    /// The processes that share the stock, as the sender of this message names them.
    pub lanes: LaneIds,
    /// The epoch.
    pub epoch: EpochId,
    /// The latest meeting recorded.
    pub meeting: u64,
    /// The latest meeting that the receiver of this message has confirmed to have recorded.
    pub confirmed: u64,
    /// The record of each kind, sorted by digest.
    pub kinds: Vec<KindMarks>,
}

/// A party's record of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindMarks {
    /// The kind.
    pub kind: ComponentDigest,
    /// The number at or above which no lot was ever started.
    pub reserved: u64,
    /// The number below which every number is spent.
    pub leased: u64,
    /// The number of lots ever published.
    pub published: u64,
    /// The hash over these lots.
    pub chain: [u8; 32],
    /// Lots that are durable here and wait for the receiver's acknowledgement, in order.
    pub pending: Vec<Span>,
    /// Published instances that are damaged here.
    pub withdrawn: Vec<Span>,
}

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

impl Marks {
    /// The most bytes of a message: 92 bytes for each of [`MAX_KINDS`], and 16 for each pending lot
    /// and each withdrawn range.
    pub const MAX_BYTES: usize = 1 << 20;

    /// Returns the message.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let lanes = self.lanes.to_bytes();
        let mut bytes = vec![match lanes.is_empty() {
            true => MESSAGE_VERSION,
            false => MESSAGE_VERSION_OF_LANES,
        }];
        bytes.extend(lanes);
        bytes.extend(self.epoch.number.to_le_bytes());
        bytes.extend(self.epoch.nonce);
        bytes.extend(self.meeting.to_le_bytes());
        bytes.extend(self.confirmed.to_le_bytes());
        bytes.extend((self.kinds.len() as u32).to_le_bytes());
        for kind in &self.kinds {
            bytes.extend(kind.kind.0);
            bytes.extend(kind.reserved.to_le_bytes());
            bytes.extend(kind.leased.to_le_bytes());
            bytes.extend(kind.published.to_le_bytes());
            bytes.extend(kind.chain);
            for spans in [&kind.pending, &kind.withdrawn] {
                bytes.extend((spans.len() as u16).to_le_bytes());
                for span in spans {
                    bytes.extend(span.first.to_le_bytes());
                    bytes.extend(span.count.to_le_bytes());
                }
            }
        }
        bytes
    }

    /// Parses the peer's message. The channel bounds its length.
    ///
    /// # Errors
    ///
    /// [`StockError::PeerMisbehaved`].
    pub fn parse(bytes: &[u8]) -> Result<Self, StockError> {
        Self::fields(bytes).map_err(|malformed| StockError::PeerMisbehaved {
            what: "its record of the stock",
            found: malformed.to_string(),
            expected: "a record of version 1 or 2 within its bounds".to_owned(),
        })
    }

    fn fields(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes);
        let lanes = match fields.u8()? {
            MESSAGE_VERSION => LaneIds::default(),
            MESSAGE_VERSION_OF_LANES => fields.lanes()?,
            _ => return Err(Malformed::Value("version")),
        };
        let epoch = EpochId {
            number: fields.u64()?,
            nonce: fields.array()?,
        };
        let (meeting, confirmed) = (fields.u64()?, fields.u64()?);
        let count = fields.u32()? as usize;
        if count > MAX_KINDS {
            return Err(Malformed::Value("number of kinds"));
        }
        let mut kinds: Vec<KindMarks> = Vec::new();
        for _ in 0..count {
            let kind = KindMarks::fields(&mut fields)?;
            if kinds.last().is_some_and(|last| last.kind >= kind.kind) {
                return Err(Malformed::Value("order of kinds"));
            }
            kinds.push(kind);
        }
        fields.end()?;
        Ok(Self {
            lanes,
            epoch,
            meeting,
            confirmed,
            kinds,
        })
    }
}

impl KindMarks {
    fn none(kind: ComponentDigest) -> Self {
        Self {
            kind,
            reserved: 0,
            leased: 0,
            published: 0,
            chain: [0; 32],
            pending: Vec::new(),
            withdrawn: Vec::new(),
        }
    }

    fn fields(fields: &mut Fields<'_>) -> Result<Self, Malformed> {
        let marks = Self {
            kind: ComponentDigest(fields.array()?),
            reserved: fields.u64()?,
            leased: fields.u64()?,
            published: fields.u64()?,
            chain: fields.array()?,
            pending: spans(fields, MAX_PENDING_LOTS)?,
            withdrawn: spans(fields, MAX_WITHDRAWN)?,
        };
        let ends = marks.pending.iter().chain(&marks.withdrawn).map(Span::end);
        if marks.reserved > cover::NUMBERS
            || marks.leased > marks.reserved
            || ends.max() > Some(marks.reserved)
        {
            return Err(Malformed::Value("number of an instance"));
        }
        Ok(marks)
    }
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

/// Reads spans that are in order and do not overlap.
fn spans(fields: &mut Fields<'_>, limit: usize) -> Result<Vec<Span>, Malformed> {
    let count = usize::from(fields.u16()?);
    if count > limit {
        return Err(Malformed::Value("number of lots"));
    }
    let mut spans = Vec::new();
    let mut next = 0;
    for _ in 0..count {
        let span = fields.span()?;
        if span.first < next || span.count == 0 {
            return Err(Malformed::Value("order of lots"));
        }
        next = span
            .first
            .checked_add(span.count)
            .ok_or(Malformed::Value("lot"))?;
        spans.push(span);
    }
    Ok(spans)
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

fn check_meetings(epoch: &crate::records::EpochRecord, peer: &Marks) -> Result<(), StockError> {
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
    let end = match prepares {
        true => theirs.reserved,
        false => theirs.leased.min(theirs.reserved),
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
