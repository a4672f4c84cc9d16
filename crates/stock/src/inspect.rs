//! The contents of a stock: summaries, checks, and the removal of spent lots.

use crate::cover::Cover;
use crate::error::Repair;
use crate::records::{KindRecord, LotRecord, LotState, MAX_WITHDRAWN_RANGES};
use crate::stock::{Inner, LotFile};
use crate::{
    ComponentDigest, EpochId, Instance, InstanceSize, Span, Stock, StockError, StockId, lots, marks,
};

/// The bytes that [`Stock::check`] reads at a time.
const READ_BYTES: u64 = 1 << 20;

/// A summary of a stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The stock's id.
    pub id: StockId,
    /// Its epoch.
    pub epoch: EpochId,
    /// The bytes of lots and kept values.
    pub bytes: u64,
    /// The bytes that the stock may hold.
    pub max_bytes: u64,
    /// The contents, by kind.
    pub kinds: Vec<KindSummary>,
}

/// The contents of one kind in a stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindSummary {
    /// The kind.
    pub kind: ComponentDigest,
    /// The size of an instance.
    pub size: InstanceSize,
    /// Instances that can be leased.
    pub available: u64,
    /// Instances that wait for the peer's acknowledgement.
    pub pending: u64,
    /// Instances given up because they were damaged at one party.
    pub withdrawn: u64,
    /// The number below which every number is spent.
    pub mark: u64,
    /// The number of lots on the disk.
    pub lots: u64,
    /// The bytes of these lots.
    pub bytes: u64,
}

/// The result of [`Stock::check`].
#[derive(Debug, Default)]
pub struct Report {
    /// The number of instances that were opened and are whole.
    pub whole: u64,
    /// The damaged material.
    pub damaged: Vec<Damage>,
}

/// Damaged instances of a lot, or a damaged kept value.
#[derive(Debug)]
pub struct Damage {
    /// The instances; `None` for a kept value, which `error` names.
    pub instances: Option<(ComponentDigest, Span)>,
    /// The error.
    pub error: StockError,
    /// Whether the instances are withdrawn: neither this party nor, after the next meeting, the
    /// peer leases any of them.
    pub withdrawn: bool,
}

impl Stock {
    /// Returns a summary of the stock.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Corrupted`].
    pub fn summary(&self) -> Result<Summary, StockError> {
        self.inner.update(|records| {
            let mut kinds = Vec::new();
            for (kind, record) in records.kinds()? {
                kinds.push(summarise(kind, &record, &records.lots(&kind)?));
            }
            Ok(Summary {
                id: self.inner.id,
                epoch: self.inner.epoch,
                bytes: lots::held_bytes(records)?,
                max_bytes: self.inner.limits.max_bytes,
                kinds,
            })
        })
    }

    /// Reads and verifies everything that is not spent, and withdraws published instances that are
    /// damaged. Others can use the stock meanwhile.
    ///
    /// # Errors
    ///
    /// Only if the check itself fails. The report contains what it finds.
    pub fn check(&self) -> Result<Report, StockError> {
        let inner = &self.inner;
        let kinds = inner.update(|records| {
            let mut kinds = Vec::new();
            for (kind, _) in records.kinds()? {
                if let Some((record, slot)) = inner.kind(records, &kind)? {
                    kinds.push((kind, record, slot.cover, records.lots(&kind)?));
                }
            }
            Ok(kinds)
        })?;
        let mut report = Report::default();
        for (kind, record, cover, lots) in kinds {
            for lot in &lots {
                let (whole, damaged) = self.check_lot(&kind, &record, &cover, lot);
                report.whole += whole;
                for (span, error) in damaged {
                    let damage = self.withdraw(kind, lot, span, error)?;
                    report.damaged.extend(damage);
                }
            }
        }
        for error in self.damaged_values()? {
            report.damaged.push(Damage {
                instances: None,
                error,
                withdrawn: false,
            });
        }
        Ok(report)
    }

    /// Returns how many usable instances of a lot are whole, and which are damaged.
    fn check_lot(
        &self,
        kind: &ComponentDigest,
        record: &KindRecord,
        cover: &Cover,
        lot: &LotRecord,
    ) -> (u64, Vec<(Span, StockError)>) {
        let usable = lot.usable(record.leased);
        if usable.is_empty() {
            return (0, Vec::new());
        }
        let open = match self.open_checked(kind, record, lot) {
            Ok(open) => open,
            Err(error) => return (0, vec![(lot.span, error)]),
        };
        let size = &record.size;
        let read = |span| Instance::read(&open, size, lot, cover, span);
        let at_once = (READ_BYTES / size.record_bytes().max(1)).max(1);
        let (mut whole, mut damaged) = (0, Vec::new());
        for part in usable.iter().flat_map(|span| pieces(*span, at_once)) {
            if read(part).is_ok() {
                whole += part.count;
                continue;
            }
            for one in pieces(part, 1) {
                match read(one) {
                    Ok(_) => whole += 1,
                    Err(error) => note(&mut damaged, one, error),
                }
            }
            if damaged.len() > MAX_WITHDRAWN_RANGES {
                // The index cannot hold more ranges.
                damaged.truncate(1);
                damaged[0].0 = lot.span;
                return (0, damaged);
            }
        }
        (whole, damaged)
    }

    /// Opens a lot's file and checks its header.
    fn open_checked(
        &self,
        kind: &ComponentDigest,
        record: &KindRecord,
        lot: &LotRecord,
    ) -> Result<LotFile, StockError> {
        let open = self.inner.open_lot(record.slot, lot.span.first)?;
        let mut found = [0; lots::HEADER_BYTES];
        let read = open.file.read_at(&mut found, 0);
        let due = lots::header(&self.inner, kind, &record.size, lot.span, &lot.salt);
        if read.is_ok() && found == due {
            return Ok(open);
        }
        Err(StockError::corrupted(
            &open.path,
            "the header",
            "another",
            "that of the lot in the index",
            Repair::Withdrawn,
        ))
    }

    /// Withdraws instances of a lot. Returns `None` if the lot has been spent and compacted
    /// meanwhile.
    fn withdraw(
        &self,
        kind: ComponentDigest,
        lot: &LotRecord,
        span: Span,
        error: StockError,
    ) -> Result<Option<Damage>, StockError> {
        let now = self.inner.update(|records| {
            marks::withdraw(records, &kind, &[span])?;
            records.lot(&kind, lot.span.first)
        })?;
        Ok(now.map(|now| {
            let withdrawn = now.withdrawn.iter().any(|lost| lost.contains(span.first));
            Damage {
                instances: Some((kind, span)),
                error: if withdrawn {
                    error.repaired_by(Repair::Withdrawn)
                } else {
                    error
                },
                withdrawn,
            }
        }))
    }

    /// Gives up, durably, the published lot that contains instance `number` of a kind. Neither this
    /// party nor, after the next meeting, the peer leases any instance of it. Returns the lot, or
    /// `None` if it was given up before, or is spent and compacted.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Corrupted`].
    pub fn set_aside(
        &self,
        kind: &ComponentDigest,
        number: u64,
    ) -> Result<Option<Span>, StockError> {
        self.inner.update(|records| {
            let lots = records.lots(kind)?.into_iter();
            let lot = lots
                .filter(|lot| lot.state == LotState::Published && !lot.usable(0).is_empty())
                .find(|lot| lot.span.contains(number));
            match lot {
                None => Ok(None),
                Some(lot) => {
                    marks::withdraw(records, kind, &[lot.span])?;
                    Ok(Some(lot.span))
                }
            }
        })
    }

    /// Removes lots that are completely spent, and returns the number of freed bytes. Leases that
    /// are still being read keep their instances until they end.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Corrupted`].
    pub fn compact(&self) -> Result<u64, StockError> {
        let inner = &self.inner;
        let (mut freed, spent) = inner.update(|records| {
            let (mut freed, mut spent) = (0, Vec::new());
            for (kind, record) in records.kinds()? {
                let lots = records.lots(&kind)?.into_iter();
                for lot in lots.filter(|lot| lot.span.end() <= record.leased) {
                    let name = lots::file_name(record.slot, lot.span.first);
                    let bytes = record.size.lot_bytes(lot.span.count);
                    if lot.is_given_up(record.leased) {
                        // Remove the file while nobody can start a kind: its own kind may be
                        // forgotten at once, and a file of this name would then belong to another
                        // kind.
                        freed += remove_spent(inner, &name, bytes)?;
                    } else {
                        records.remove_lot(&kind, lot.span.first)?;
                        spent.push((name, bytes));
                    }
                }
            }
            Ok((freed, spent))
        })?;
        for (name, bytes) in spent {
            freed += remove_spent(inner, &name, bytes)?;
        }
        Ok(freed)
    }
}

/// Removes a file of this size. Returns the number of freed bytes.
fn remove_spent(inner: &Inner, name: &str, bytes: u64) -> Result<u64, StockError> {
    // Another process may have cleared it away.
    let was_there = inner.storage.clear_away(&inner.folder.join(name))?;
    Ok(if was_there { bytes } else { 0 })
}

/// Iterates over a range in pieces of at most `count` instances.
fn pieces(span: Span, count: u64) -> impl Iterator<Item = Span> {
    (span.first..span.end())
        .step_by(usize::try_from(count).unwrap_or(usize::MAX))
        .map(move |first| Span {
            first,
            count: count.min(span.end() - first),
        })
}

/// Adds a damaged instance. If it directly follows the last range, extends that range.
fn note(damaged: &mut Vec<(Span, StockError)>, one: Span, error: StockError) {
    match damaged.last_mut() {
        Some((last, _)) if last.end() == one.first => last.count += 1,
        _ => damaged.push((one, error)),
    }
}

fn summarise(kind: ComponentDigest, record: &KindRecord, lots: &[LotRecord]) -> KindSummary {
    let usable = |state: LotState| {
        let lots = lots.iter().filter(|lot| lot.state == state);
        let spans = lots.flat_map(|lot| lot.usable(record.leased));
        spans.map(|span| span.count).sum()
    };
    let withdrawn = lots.iter().flat_map(|lot| &lot.withdrawn);
    let unspent = |span: &Span| span.end().saturating_sub(span.first.max(record.leased));
    KindSummary {
        kind,
        size: record.size,
        available: usable(LotState::Published),
        pending: usable(LotState::Pending),
        withdrawn: withdrawn.map(unspent).sum(),
        mark: record.leased,
        lots: lots.len() as u64,
        bytes: lots
            .iter()
            .map(|lot| record.size.lot_bytes(lot.span.count))
            .sum(),
    }
}
