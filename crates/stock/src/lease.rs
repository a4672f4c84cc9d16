//! Leases: instances that are this process's, and nobody's ever again.
//!
//! [`Stock::lease`] moves the mark and the keys forward durably before it returns; what it returns
//! holds the keys of its instances in memory and hands them out without the disk. A crash wastes
//! what was leased and not used, and no number is leased twice: see docs/stock.md for why.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::cover::Cover;
use crate::records::{KindRecord, LotRecord, LotState, Records};
use crate::seal::TAG_BYTES;
use crate::stock::{Inner, LotFile};
use crate::{ComponentDigest, Instance, Shape, Span, Stock, StockError};
use zeroize::Zeroizing;

/// Small instances are read this many bytes at a time.
const READ_BYTES: u64 = 256 * 1024;

/// What leases of one call share: where their instances are and what opens them.
struct Source {
    shape: Shape,
    /// By number. Open from the beginning, so that they can be read after they were compacted.
    lots: Vec<(LotRecord, LotFile)>,
    cover: Cover,
}

/// Leased instances of one kind, each to be used at most once; dropped, they are wasted.
pub struct Lease {
    kind: ComponentDigest,
    parts: VecDeque<(Arc<Source>, Span)>,
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Lease({:?} of {})",
            self.spans().collect::<Vec<_>>(),
            self.kind
        )
    }
}

impl Stock {
    /// Leases the next `count` instances of a kind, durably.
    ///
    /// # Errors
    ///
    /// [`StockError::Exhausted`], and nothing is leased.
    pub fn lease(&self, kind: &ComponentDigest, count: u64) -> Result<Lease, StockError> {
        self.lease_with(kind, |_, available| {
            let mut wanted = count;
            let mut spans = Vec::new();
            for (_, span) in available {
                let count = span.count.min(wanted);
                wanted -= count;
                if count > 0 {
                    spans.push(Span { count, ..*span });
                }
            }
            match wanted {
                0 => Ok(spans),
                _ => Err(StockError::Exhausted {
                    kind: *kind,
                    asked: count,
                    available: count - wanted,
                }),
            }
        })
    }

    /// Leases the instances that the peer named, durably, and everything below with them.
    ///
    /// # Errors
    ///
    /// [`StockError::Behind`] where some are spent: the caller tells the peer the mark, or ends the
    /// session where it knew it. [`StockError::PeerMisbehaved`] where they are not in stock or out
    /// of order. Nothing is leased then.
    pub fn lease_spans(&self, kind: &ComponentDigest, spans: &[Span]) -> Result<Lease, StockError> {
        self.lease_with(kind, |mark, available| {
            let mut next = mark;
            for span in spans {
                if span.first < mark {
                    return Err(StockError::Behind {
                        kind: *kind,
                        asked: *span,
                        mark,
                    });
                }
                if span.count == 0 || span.first < next || !covered(*span, available) {
                    return Err(StockError::PeerMisbehaved {
                        what: "a range of instances",
                        found: format!("{span} of {kind}"),
                        expected: format!("one that both published, from {next} on"),
                    });
                }
                next = span.end();
            }
            Ok(spans.to_vec())
        })
    }

    /// Gives up all instances of a kind below `mark`, durably: the peer's mark is there.
    ///
    /// # Errors
    ///
    /// [`StockError::PeerMisbehaved`] where nothing so high was ever published.
    pub fn raise_mark(&self, kind: &ComponentDigest, mark: u64) -> Result<(), StockError> {
        let inner = &self.inner;
        inner.update(|records| raise(inner, records, kind, mark))
    }

    /// How many instances of a kind can be leased.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Corrupted`].
    pub fn available(&self, kind: &ComponentDigest) -> Result<u64, StockError> {
        self.inner.update(|records| {
            let Some(record) = records.kind(kind)? else {
                return Ok(0);
            };
            let lots = available(records, kind, record.leased)?;
            Ok(lots.iter().map(|(_, span)| span.count).sum())
        })
    }

    fn lease_with(
        &self,
        kind: &ComponentDigest,
        choose: impl Fn(u64, &[(LotRecord, Span)]) -> Result<Vec<Span>, StockError>,
    ) -> Result<Lease, StockError> {
        let inner = &self.inner;
        let parts = inner.update(|records| {
            let Some((record, slot)) = inner.kind(records, kind)? else {
                return choose(0, &[]).map(|_| VecDeque::new());
            };
            let available = available(records, kind, record.leased)?;
            let spans = choose(record.leased, &available)?;
            let (Some(first), Some(last)) = (spans.first(), spans.last()) else {
                return Ok(VecDeque::new());
            };
            let whole = Span {
                first: first.first,
                count: last.end() - first.first,
            };
            let used = |lot: &LotRecord| spans.iter().any(|span| overlap(*span, lot.span) > 0);
            let lots = available.iter().map(|(lot, _)| *lot).filter(used);
            let lots = lots.map(|lot| Ok((lot, inner.open_lot(record.slot, lot.span.first)?)));
            let source = Arc::new(Source {
                shape: record.shape,
                lots: lots.collect::<Result<_, StockError>>()?,
                cover: slot.cover.part(whole)?,
            });
            forward(inner, records, kind, record, last.end())?;
            Ok(spans
                .into_iter()
                .map(|span| (Arc::clone(&source), span))
                .collect())
        })?;
        Ok(Lease { kind: *kind, parts })
    }
}

/// The published instances of a kind from `mark` on: lots, and what of each.
fn available(
    records: &Records<'_>,
    kind: &ComponentDigest,
    mark: u64,
) -> Result<Vec<(LotRecord, Span)>, StockError> {
    let lots = records.lots(kind)?.into_iter();
    let published = lots.filter(|lot| lot.state == LotState::Published && lot.span.end() > mark);
    let rest = published.map(|lot| {
        let first = lot.span.first.max(mark);
        let count = lot.span.end() - first;
        (lot, Span { first, count })
    });
    Ok(rest.collect())
}

/// How many numbers are in both.
fn overlap(one: Span, other: Span) -> u64 {
    one.end()
        .min(other.end())
        .saturating_sub(one.first.max(other.first))
}

/// Whether every number of `span` is in the lots, which are in order.
fn covered(span: Span, available: &[(LotRecord, Span)]) -> bool {
    let Some(end) = span.first.checked_add(span.count) else {
        return false;
    };
    let mut next = span.first;
    for (_, part) in available {
        if part.contains(next) {
            next = part.end();
        }
    }
    next >= end
}

/// Moves keys and mark forward, the keys first: they are gone when the mark is durable.
fn forward(
    inner: &Inner,
    records: &mut Records<'_>,
    kind: &ComponentDigest,
    mut record: KindRecord,
    mark: u64,
) -> Result<(), StockError> {
    let slot = inner.keys.read(record.slot, kind)?;
    record.leased = mark;
    record.reserved = record.reserved.max(mark);
    records.put_kind(kind, record)?;
    let cover = slot.cover.forward(mark)?;
    inner.keys.write(record.slot, kind, &cover, Some(&slot))
}

/// Raises a mark to what the peer says is its own.
pub(crate) fn raise(
    inner: &Inner,
    records: &mut Records<'_>,
    kind: &ComponentDigest,
    mark: u64,
) -> Result<(), StockError> {
    let found = inner.kind(records, kind)?;
    let leased = found.as_ref().map_or(0, |(record, _)| record.leased);
    if mark <= leased {
        return Ok(());
    }
    let lots = records.lots(kind)?.into_iter();
    let end = lots
        .filter(|lot| lot.state != LotState::Pending)
        .map(|lot| lot.span.end());
    let end = end.max().unwrap_or(0).max(leased);
    match found {
        Some((record, _)) if mark <= end => forward(inner, records, kind, record, mark),
        _ => Err(StockError::PeerMisbehaved {
            what: "the mark of a component",
            found: format!("{mark} of {kind}"),
            expected: format!("at most {end}, where what is in stock ends"),
        }),
    }
}

impl Lease {
    /// A lease of nothing, to be extended.
    #[must_use]
    pub fn empty(kind: ComponentDigest) -> Self {
        Self {
            kind,
            parts: VecDeque::new(),
        }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> ComponentDigest {
        self.kind
    }

    /// The numbers, in order.
    pub fn spans(&self) -> impl Iterator<Item = Span> {
        self.parts.iter().map(|(_, span)| *span)
    }

    /// How many instances are left.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.spans().map(|span| span.count).sum()
    }

    /// Appends a later lease of the same kind.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] where it is of another kind or not later.
    pub fn extend(&mut self, later: Self) -> Result<(), StockError> {
        let end = self.parts.back().map_or(0, |(_, span)| span.end());
        let first = later.parts.front().map(|(_, span)| span.first);
        if later.kind != self.kind || first.is_some_and(|first| first < end) {
            return Err(StockError::misuse(format!(
                "{self:?} extended by {later:?}"
            )));
        }
        self.parts.extend(later.parts);
        Ok(())
    }

    /// Splits off the first `count` instances, without touching the disk.
    ///
    /// # Errors
    ///
    /// [`StockError::Exhausted`] where fewer are left, which then stay.
    pub fn take(&mut self, count: u64) -> Result<Self, StockError> {
        let available = self.count();
        if available < count {
            return Err(StockError::Exhausted {
                kind: self.kind,
                asked: count,
                available,
            });
        }
        let mut taken = VecDeque::new();
        let mut wanted = count;
        while wanted > 0 {
            let Some((source, span)) = self.parts.front_mut() else {
                break;
            };
            let part = Span {
                first: span.first,
                count: span.count.min(wanted),
            };
            taken.push_back((Arc::clone(source), part));
            wanted -= part.count;
            span.first += part.count;
            span.count -= part.count;
            if span.count == 0 {
                self.parts.pop_front();
            }
        }
        Ok(Self {
            kind: self.kind,
            parts: taken,
        })
    }

    /// Splits off the instances that the peer named, without touching the disk; those before them
    /// are wasted.
    ///
    /// # Errors
    ///
    /// [`StockError::Behind`] where the first is below this lease, [`StockError::Exhausted`] where
    /// they are not all in it; nothing is taken then.
    pub fn take_span(&mut self, span: Span) -> Result<Self, StockError> {
        let mark = self.parts.front().map_or(0, |(_, part)| part.first);
        if span.first < mark {
            return Err(StockError::Behind {
                kind: self.kind,
                asked: span,
                mark,
            });
        }
        let available: u64 = self.spans().map(|part| overlap(part, span)).sum();
        if available < span.count {
            return Err(StockError::Exhausted {
                kind: self.kind,
                asked: span.count,
                available,
            });
        }
        let below = Span {
            first: 0,
            count: span.first,
        };
        let before = self.spans().map(|part| overlap(part, below)).sum();
        self.take(before)?;
        self.take(span.count)
    }

    /// Reads and opens the instances, in order, each once. One that is damaged is an error in its
    /// place, after which the iterator goes on with the next.
    #[must_use]
    pub fn instances(self) -> Instances {
        Instances {
            lease: self,
            ready: VecDeque::new(),
        }
    }

    /// The secrets of all instances, one after the other: for kinds without tables, such as OTs.
    ///
    /// # Errors
    ///
    /// [`StockError::Corrupted`] where one is damaged; then none is given.
    pub fn secrets(self) -> Result<Zeroizing<Vec<u8>>, StockError> {
        let width = self
            .parts
            .front()
            .map_or(0, |(source, _)| source.shape.secret_bytes);
        let mut secrets =
            Zeroizing::new(Vec::with_capacity(width as usize * self.count() as usize));
        for instance in self.instances() {
            secrets.extend_from_slice(instance?.secret());
        }
        Ok(secrets)
    }
}

/// The instances of a lease, as [`Lease::instances`] gives them.
#[derive(Debug)]
pub struct Instances {
    lease: Lease,
    ready: VecDeque<Instance>,
}

impl Instances {
    /// Reads the next few small instances, or the next large one.
    fn read(&mut self) -> Option<Result<(), StockError>> {
        let (source, span) = self.lease.parts.front()?;
        let source = Arc::clone(source);
        let lot = source
            .lots
            .iter()
            .find(|lot| lot.0.span.contains(span.first));
        let in_lot = lot.map_or(1, |(lot, _)| lot.span.end() - span.first);
        let at_once = (READ_BYTES / source.shape.record_bytes().max(1)).max(1);
        let count = span.count.min(in_lot).min(at_once);
        // What cannot be read together is read one by one, to name what is damaged.
        let taken = self.lease.take(count).ok()?;
        let (_, span) = taken.parts.front()?;
        let Some((lot, file)) = lot else {
            return Some(Err(StockError::misuse(format!(
                "a lease of {span} without its lot"
            ))));
        };
        let read = |span| Instance::read(file, &source.shape, lot, &source.cover, span);
        match read(*span) {
            Ok(instances) => self.ready.extend(instances),
            Err(error) if span.count == 1 => return Some(Err(error)),
            Err(_) => {
                let rest = Span {
                    first: span.first + 1,
                    count: span.count - 1,
                };
                self.lease.parts.push_front((Arc::clone(&source), rest));
                let one = read(Span { count: 1, ..*span });
                return Some(one.map(|instances| self.ready.extend(instances)));
            }
        }
        Some(Ok(()))
    }
}

impl Iterator for Instances {
    type Item = Result<Instance, StockError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty()
            && let Err(error) = self.read()?
        {
            return Some(Err(error));
        }
        self.ready.pop_front().map(Ok)
    }
}

/// Leases of many kinds, filled off the online path and taken from on it.
#[derive(Debug, Default)]
pub struct LeasePool {
    kinds: BTreeMap<ComponentDigest, Lease>,
}

impl LeasePool {
    /// Leases nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Instances of a kind that are leased here and not taken.
    #[must_use]
    pub fn count(&self, kind: &ComponentDigest) -> u64 {
        self.kinds.get(kind).map_or(0, Lease::count)
    }

    /// Leases so many, durably, that `count` are here; what it leased is to be named to the peer.
    ///
    /// # Errors
    ///
    /// Those of [`Stock::lease`].
    pub fn fill(
        &mut self,
        stock: &Stock,
        kind: &ComponentDigest,
        count: u64,
    ) -> Result<Vec<Span>, StockError> {
        let missing = count.saturating_sub(self.count(kind));
        if missing == 0 {
            return Ok(Vec::new());
        }
        self.add(stock.lease(kind, missing)?)
    }

    /// Leases what the peer leased, durably.
    ///
    /// # Errors
    ///
    /// Those of [`Stock::lease_spans`].
    pub fn follow(
        &mut self,
        stock: &Stock,
        kind: &ComponentDigest,
        spans: &[Span],
    ) -> Result<(), StockError> {
        self.add(stock.lease_spans(kind, spans)?).map(drop)
    }

    fn add(&mut self, lease: Lease) -> Result<Vec<Span>, StockError> {
        let spans = lease.spans().collect();
        let kind = lease.kind;
        let held = self.kinds.entry(kind).or_insert_with(|| Lease::empty(kind));
        held.extend(lease).map(|()| spans)
    }

    /// [`Lease::take`] from the leases of a kind.
    ///
    /// # Errors
    ///
    /// Those of [`Lease::take`].
    pub fn take(&mut self, kind: &ComponentDigest, count: u64) -> Result<Lease, StockError> {
        match self.kinds.get_mut(kind) {
            Some(lease) => lease.take(count),
            None => Lease::empty(*kind).take(count),
        }
    }

    /// [`Lease::take_span`] from the leases of a kind.
    ///
    /// # Errors
    ///
    /// Those of [`Lease::take_span`].
    pub fn take_span(&mut self, kind: &ComponentDigest, span: Span) -> Result<Lease, StockError> {
        match self.kinds.get_mut(kind) {
            Some(lease) => lease.take_span(span),
            None => Lease::empty(*kind).take_span(span),
        }
    }
}

const _: () = assert!(TAG_BYTES == 16, "docs/stock.md states it");
