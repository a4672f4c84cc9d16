//! What is in a stock, whether it is whole, and what can be thrown away.

use crate::cover::Cover;
use crate::records::{KindRecord, LotRecord, LotState};
use crate::stock::LotFile;
use crate::{
    ComponentDigest, EpochId, Instance, Shape, Span, Stock, StockError, StockId, lots, marks,
};

/// Bytes read at a time by [`Stock::check`].
const READ_BYTES: u64 = 1 << 20;

/// What is in a stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The stock.
    pub id: StockId,
    /// Its epoch.
    pub epoch: EpochId,
    /// Bytes of lots and kept values.
    pub bytes: u64,
    /// Bytes allowed.
    pub max_bytes: u64,
    /// What is there of each kind.
    pub kinds: Vec<KindSummary>,
}

/// What is in a stock of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindSummary {
    /// The kind.
    pub kind: ComponentDigest,
    /// How large an instance is.
    pub shape: Shape,
    /// Instances that can be leased.
    pub available: u64,
    /// Instances that wait for the peer's acknowledgement.
    pub pending: u64,
    /// Instances given up because they were damaged at one party.
    pub withdrawn: u64,
    /// Every number below is spent.
    pub mark: u64,
    /// Lots on the disk.
    pub lots: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// What [`Stock::check`] found.
#[derive(Debug, Default)]
pub struct Report {
    /// Instances that were opened and are whole.
    pub whole: u64,
    /// What is not.
    pub damaged: Vec<Damage>,
}

/// A damaged lot or kept value.
#[derive(Debug)]
pub struct Damage {
    /// What it is of: a lot of a component, or else a kept value, as `error` says.
    pub lot: Option<(ComponentDigest, Span)>,
    /// What is wrong.
    pub error: StockError,
    /// It was withdrawn: no instance of the lot will be leased, here or, after the next meeting,
    /// by the peer.
    pub withdrawn: bool,
}

impl Stock {
    /// What is there of what.
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

    /// Reads and verifies everything that is not spent, and withdraws published lots that are
    /// damaged. Others go on using the stock meanwhile.
    ///
    /// # Errors
    ///
    /// Only where the check itself fails; what it finds is in the report.
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
            let live = |lot: &&LotRecord| {
                lot.state != LotState::Withdrawn && lot.span.end() > record.leased
            };
            for lot in lots.iter().filter(live) {
                match self.check_lot(&kind, &record, &cover, lot) {
                    Ok(whole) => report.whole += whole,
                    Err(error) => report.damaged.extend(self.withdraw(kind, lot, error)?),
                }
            }
        }
        for error in self.damaged_values()? {
            report.damaged.push(Damage {
                lot: None,
                error,
                withdrawn: false,
            });
        }
        Ok(report)
    }

    fn check_lot(
        &self,
        kind: &ComponentDigest,
        record: &KindRecord,
        cover: &Cover,
        lot: &LotRecord,
    ) -> Result<u64, StockError> {
        let shape = &record.shape;
        let open = self.inner.open_lot(record.slot, lot.span.first)?;
        let LotFile { file, path } = &open;
        let mut found = [0; lots::HEADER_BYTES];
        let read = file.read_at(&mut found, 0);
        if read.is_err() || found != lots::header(&self.inner, kind, shape, lot.span, &lot.salt) {
            return Err(StockError::corrupted(
                path,
                "the header",
                "another",
                "that of the lot in the index",
                "It is withdrawn; the peer learns it when you meet",
            ));
        }
        let mut next = lot.span.first.max(record.leased);
        let at_once = (READ_BYTES / shape.record_bytes().max(1)).max(1);
        let from = next;
        while next < lot.span.end() {
            let count = at_once.min(lot.span.end() - next);
            let span = Span { first: next, count };
            Instance::read(&open, shape, lot, cover, span)?;
            next += count;
        }
        Ok(next - from)
    }

    /// `None` where the lot has been spent and compacted meanwhile.
    fn withdraw(
        &self,
        kind: ComponentDigest,
        lot: &LotRecord,
        error: StockError,
    ) -> Result<Option<Damage>, StockError> {
        let now = self.inner.update(|records| {
            marks::withdraw(records, &kind, lot.span)?;
            records.lot(&kind, lot.span.first)
        })?;
        Ok(now.map(|now| Damage {
            lot: Some((kind, lot.span)),
            error,
            withdrawn: now.state == LotState::Withdrawn,
        }))
    }

    /// Gives up, durably, the published lot that instance `number` of a kind belongs to: no
    /// instance of it will be leased, here or, after the next meeting, by the peer. Returns the lot;
    /// `None` where it was given up before, or is spent and compacted.
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
                .filter(|lot| lot.state == LotState::Published)
                .find(|lot| lot.span.contains(number));
            match lot {
                None => Ok(None),
                Some(lot) => {
                    marks::withdraw(records, kind, lot.span)?;
                    Ok(Some(lot.span))
                }
            }
        })
    }

    /// Removes lots that are wholly spent, and returns how many bytes that frees. Leases that are
    /// still read keep theirs until they end.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Corrupted`].
    pub fn compact(&self) -> Result<u64, StockError> {
        let inner = &self.inner;
        let spent = inner.update(|records| {
            let mut spent = Vec::new();
            for (kind, record) in records.kinds()? {
                for lot in records.lots(&kind)? {
                    if lot.state != LotState::Pending && lot.span.end() <= record.leased {
                        records.remove_lot(&kind, lot.span.first)?;
                        let bytes = record.shape.lot_bytes(lot.span.count);
                        spent.push((lots::file_name(record.slot, lot.span.first), bytes));
                    }
                }
            }
            Ok(spent)
        })?;
        let mut freed = 0;
        for (name, bytes) in spent {
            let path = inner.folder.join(name);
            match inner.storage.remove(&path) {
                Ok(()) => freed += bytes,
                // Another process may have cleared it away.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(StockError::io(&path, "remove it")(error)),
            }
        }
        Ok(freed)
    }
}

fn summarise(kind: ComponentDigest, record: &KindRecord, lots: &[LotRecord]) -> KindSummary {
    let unspent = |state: LotState| {
        let lots = lots.iter().filter(|lot| lot.state == state);
        lots.map(|lot| {
            lot.span
                .end()
                .saturating_sub(lot.span.first.max(record.leased))
        })
        .sum()
    };
    KindSummary {
        kind,
        shape: record.shape,
        available: unspent(LotState::Published),
        pending: unspent(LotState::Pending),
        withdrawn: unspent(LotState::Withdrawn),
        mark: record.leased,
        lots: lots.len() as u64,
        bytes: lots
            .iter()
            .map(|lot| record.shape.lot_bytes(lot.span.count))
            .sum(),
    }
}
