//! Lots: files of instances of one kind, written once, read by position.
//!
//! A lot goes through three steps, so that after a crash both parties find the same. It is written
//! and made durable ([`LotWriter::finish`]: pending). The peer says that it has the lot durably,
//! too. Then the lot is published ([`Stock::publish`]). No number is ever given to two lots, even
//! if the first one was never finished.

mod instance;
mod writer;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

use crate::cover::{Cover, NUMBERS};
use crate::keys::Move;
use crate::records::{FORMAT_VERSION, KindRecord, MAX_KINDS, MAX_PENDING_LOTS, Records};
use crate::seal::{self, TAG_BYTES};
use crate::stock::Inner;
use crate::{ComponentDigest, InstanceSize, Marks, Span, Stock, StockError, values};

pub use instance::Instance;
pub use writer::LotWriter;

const MAGIC: [u8; 8] = *b"TACITLOT";
pub(crate) const HEADER_BYTES: usize = 8 + 4 + 4 + 32 + 8 + 16 + 32 + 8 + 8 + 4 + 4 + 12 + 20;
const SUMMED_BYTES: usize = HEADER_BYTES - 20;

/// The most bytes of one instance, secret and tables together.
pub const MAX_INSTANCE_BYTES: u64 = 1 << 28;

impl InstanceSize {
    /// Returns the bytes of a record in a lot's file.
    pub fn record_bytes(&self) -> u64 {
        u64::from(self.secret_bytes) + TAG_BYTES as u64 + u64::from(self.table_bytes)
    }

    pub(crate) fn lot_bytes(&self, count: u64) -> u64 {
        (HEADER_BYTES as u64).saturating_add(self.record_bytes().saturating_mul(count))
    }
}

/// Returns the name of a lot's file in the folder of its epoch.
pub(crate) fn file_name(slot: u32, first: u64) -> String {
    format!("lot-{slot:04}-{first:010}.seg")
}

pub(crate) fn record_offset(size: &InstanceSize, lot: Span, number: u64) -> u64 {
    HEADER_BYTES as u64 + (number - lot.first) * size.record_bytes()
}

pub(crate) fn header(
    inner: &Inner,
    kind: &ComponentDigest,
    size: &InstanceSize,
    span: Span,
    salt: &[u8; 12],
) -> [u8; HEADER_BYTES] {
    let fields = [
        &MAGIC[..],
        &FORMAT_VERSION.to_le_bytes(),
        &[inner.id.role as u8, 0, 0, 0],
        inner.digest(),
        &inner.epoch.number.to_le_bytes(),
        &inner.epoch.nonce,
        &kind.0,
        &span.first.to_le_bytes(),
        &span.count.to_le_bytes(),
        &size.secret_bytes.to_le_bytes(),
        &size.table_bytes.to_le_bytes(),
        salt,
    ]
    .concat();
    let mut header = [0; HEADER_BYTES];
    header[..SUMMED_BYTES].copy_from_slice(&fields);
    header[SUMMED_BYTES..].copy_from_slice(&Sha256::digest(&fields)[..20]);
    header
}

/// The right to prepare. One process holds it at a time, until this value and every [`LotWriter`]
/// from it are dropped.
pub struct Preparation {
    stock: Stock,
    lock: Arc<dyn Send + Sync>,
}

impl std::fmt::Debug for Preparation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Preparation({:?})", self.stock)
    }
}

impl Stock {
    /// Takes the right to prepare, and removes unfinished lots that a crash left.
    ///
    /// # Errors
    ///
    /// [`StockError::Busy`] if another process prepares with this peer.
    pub fn prepare(&self) -> Result<Preparation, StockError> {
        let file = self.inner.lock_path();
        let lock = self.inner.storage.lock(&file)?;
        let lock: Arc<dyn Send + Sync> = lock.ok_or(StockError::Busy { file })?.into();
        let stock = self.clone();
        stock.remove_strays()?;
        Ok(Preparation { stock, lock })
    }

    /// Tells the process that has the right to prepare that another waits for it, until the result
    /// is dropped. Returns `None` if one is known to wait already.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`].
    pub fn wait_to_prepare(&self) -> Result<Option<Box<dyn Send + Sync>>, StockError> {
        self.inner.storage.lock(&self.inner.waiting_path())
    }

    /// Makes a pending lot part of the stock, durably. The peer must have it durably, too. Lots of
    /// a kind are published in the order of their numbers. A published lot stays published.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if this lot is not pending, or an earlier one is.
    pub fn publish(&self, kind: &ComponentDigest, first: u64) -> Result<(), StockError> {
        self.publish_all(&[(*kind, first)])
    }

    /// Publishes several lots as [`Stock::publish`] does, all or none of them, in one transaction.
    ///
    /// # Errors
    ///
    /// Those of [`Stock::publish`].
    pub fn publish_all(&self, lots: &[(ComponentDigest, u64)]) -> Result<(), StockError> {
        self.inner.update(|records| {
            let mut lots = lots.iter();
            lots.try_for_each(|(kind, first)| publish(records, kind, *first))
        })
    }

    /// Removes files of lots that the index does not know, or that were given up while they were
    /// pending. The caller must have the right to prepare.
    fn remove_strays(&self) -> Result<(), StockError> {
        let inner = &self.inner;
        inner.update(|records| {
            let mut known = Vec::new();
            for (kind, record) in records.kinds()? {
                let lots = records.lots(&kind)?.into_iter();
                let lots = lots.filter(|lot| !lot.is_given_up(record.leased));
                known.extend(lots.map(|lot| file_name(record.slot, lot.span.first)));
            }
            let names = inner.storage.list(&inner.folder)?.into_iter();
            let strays = names.filter(|name| name.starts_with("lot-"));
            for name in strays.filter(|name| !known.contains(name)) {
                // A compaction at the same time may have removed it.
                inner.storage.clear_away(&inner.folder.join(name))?;
            }
            Ok(())
        })
    }
}

pub(crate) fn publish(
    records: &mut Records<'_>,
    kind: &ComponentDigest,
    first: u64,
) -> Result<(), StockError> {
    let lots = records.lots(kind)?;
    let mut pending = lots.iter().filter(|lot| lot.is_pending());
    let wanted = lots.iter().find(|lot| lot.span.first == first);
    if wanted.is_some_and(|lot| !lot.is_pending()) {
        return Ok(());
    }
    let (Some(mut record), Some(lot)) = (records.kind(kind)?, pending.next().cloned()) else {
        return Err(StockError::misuse(format!("no lot of {kind} is pending")));
    };
    if lot.span.first != first {
        let next = lot.span.first;
        return Err(StockError::misuse(format!(
            "lot {first} published before lot {next}"
        )));
    }
    let published = record.publish(lot);
    records.put_kind(kind, record)?;
    records.put_lot(kind, &published)
}

impl Preparation {
    /// Returns the stock that is prepared.
    pub fn stock(&self) -> &Stock {
        &self.stock
    }

    /// Whether another [waits](Stock::wait_to_prepare) for this right.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`].
    pub fn is_awaited(&self) -> Result<bool, StockError> {
        Ok(self.stock.wait_to_prepare()?.is_none())
    }

    /// Whether a [`LotWriter`] of this right still exists.
    pub(crate) fn is_writing(&self) -> bool {
        Arc::strong_count(&self.lock) > 1
    }

    /// Destroys the stock's keys and records. None of it can be opened again, and everyone who has
    /// it open gets nothing more from it. No other stock can take its place before it is also
    /// [removed](Self::destroy).
    ///
    /// # Errors
    ///
    /// [`StockError::Io`].
    pub fn destroy_keys(&self) -> Result<(), StockError> {
        self.stock.inner.destroy_keys()
    }

    /// Destroys the stock, its keys first. A process that waits for this right then finds nothing.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`].
    pub fn destroy(self) -> Result<(), StockError> {
        self.stock.inner.destroy()
    }

    /// Returns [`Stock::marks`], while no other process of this party prepares.
    ///
    /// # Errors
    ///
    /// Those of [`Stock::marks`].
    pub fn marks(&self) -> Result<Marks, StockError> {
        self.stock.marks()
    }

    /// Checks that there is room for all of these lots at once.
    ///
    /// # Errors
    ///
    /// [`StockError::Full`].
    pub fn check_room(&self, lots: &[(InstanceSize, Span)]) -> Result<(), StockError> {
        let inner = &self.stock.inner;
        inner.update(|records| check_room(inner, records, lots))
    }

    /// Starts a lot of `span`. Both parties must have agreed on its numbers, from
    /// [`AgreedKind::next_number`](crate::AgreedKind) on. The numbers are taken durably.
    ///
    /// # Errors
    ///
    /// [`StockError::Full`], [`StockError::ApiMisuse`] if the numbers were given before, the kind
    /// has another size, or a limit is exceeded.
    pub fn begin_lot(
        &self,
        kind: ComponentDigest,
        size: InstanceSize,
        span: Span,
    ) -> Result<LotWriter, StockError> {
        let mut begun = self.begin_lots(&[(kind, size, span)])?;
        let none = || StockError::misuse("a lot that was not begun".to_owned());
        begun.pop().ok_or_else(none)
    }

    /// Starts several lots as [`Preparation::begin_lot`] does, in one transaction that costs as
    /// much as one lot's. If one of them cannot start, none does.
    ///
    /// # Errors
    ///
    /// Those of [`Preparation::begin_lot`].
    pub fn begin_lots(
        &self,
        lots: &[(ComponentDigest, InstanceSize, Span)],
    ) -> Result<Vec<LotWriter>, StockError> {
        let inner = &self.stock.inner;
        for (kind, size, span) in lots {
            check_bounds(kind, size, *span)?;
        }
        let sizes: Vec<_> = lots.iter().map(|(_, size, span)| (*size, *span)).collect();
        let reserved = inner.update(|records| {
            check_room(inner, records, &sizes)?;
            let lots = lots.iter().map(|(kind, size, span)| {
                let (mut record, cover) = reserve(inner, records, kind, *size, *span)?;
                record.reserve_to(span.end());
                records.put_kind(kind, record)?;
                Ok((record.slot, cover))
            });
            lots.collect::<Result<Vec<_>, StockError>>()
        })?;
        let lots = lots.iter().zip(reserved);
        lots.map(|(lot, reserved)| self.writer(*lot, reserved))
            .collect()
    }

    /// Creates the file of a lot whose numbers are taken.
    fn writer(
        &self,
        (kind, size, span): (ComponentDigest, InstanceSize, Span),
        (slot, cover): (u32, Cover),
    ) -> Result<LotWriter, StockError> {
        let inner = &self.stock.inner;
        let mut salt = [0; 12];
        seal::randomness(&mut salt)?;
        let path = inner.folder.join(file_name(slot, span.first));
        let file = inner
            .storage
            .create(&path)
            .map_err(StockError::io(&path, "make it"))?;
        let writer = LotWriter {
            stock: self.stock.clone(),
            file,
            path,
            kind,
            size,
            span,
            salt,
            cover,
            written: Mutex::new(vec![0; (span.count as usize).div_ceil(64)]),
            finished: false,
            _lock: Arc::clone(&self.lock),
        };
        let header = header(inner, &kind, &size, span, &salt);
        writer.write(&header, 0)?;
        Ok(writer)
    }
}

fn check_bounds(kind: &ComponentDigest, size: &InstanceSize, span: Span) -> Result<(), StockError> {
    if size.record_bytes() > MAX_INSTANCE_BYTES {
        return Err(StockError::misuse(format!(
            "an instance of {} bytes, and at most {MAX_INSTANCE_BYTES} are kept",
            size.record_bytes()
        )));
    }
    if span.count == 0 || span.count > 1 << 30 {
        return Err(StockError::misuse(format!(
            "a lot of instances {span}: it has 1 to 2^30"
        )));
    }
    if span.end() > NUMBERS {
        return Err(StockError::NumbersUsedUp { kind: *kind, span });
    }
    Ok(())
}

fn check_room(
    inner: &Inner,
    records: &Records<'_>,
    lots: &[(InstanceSize, Span)],
) -> Result<(), StockError> {
    let bytes = lots.iter().map(|(size, span)| size.lot_bytes(span.count));
    let needed = bytes.fold(0, u64::saturating_add);
    let counts = lots.iter().map(|(_, span)| span.count);
    let count = counts.fold(0, u64::saturating_add);
    let held = held_bytes(records)?;
    let limit = inner.limits.max_bytes;
    if held.saturating_add(needed) > limit {
        return Err(StockError::Full {
            folder: inner.folder.clone(),
            what: format!("a lot of {count} instances"),
            needed,
            held,
            limit,
        });
    }
    Ok(())
}

/// Returns the bytes of all lots and kept values, without lots that were given up while they were
/// pending.
pub(crate) fn held_bytes(records: &Records<'_>) -> Result<u64, StockError> {
    let mut held: u64 = 0;
    for (kind, record) in records.kinds()? {
        let lots = records.lots(&kind)?.into_iter();
        for lot in lots.filter(|lot| !lot.is_given_up(record.leased)) {
            held = held.saturating_add(record.size.lot_bytes(lot.span.count));
        }
    }
    let values = records.all_values()?;
    Ok(values.iter().fold(held, |held, value| {
        let bytes = usize::try_from(value.bytes).unwrap_or(usize::MAX);
        held.saturating_add(values::file_bytes(bytes.min(values::MAX_VALUE_BYTES)))
    }))
}

/// Returns the lowest free slot. It may have belonged to a forgotten kind. That kind's record is
/// durably gone, so its pages can be overwritten.
fn free_slot(records: &Records<'_>) -> Result<u32, StockError> {
    let kinds = records.kinds()?.into_iter();
    let taken: BTreeSet<u32> = kinds.map(|(_, record)| record.slot).collect();
    let free = (0..MAX_KINDS as u32).find(|slot| !taken.contains(slot));
    free.ok_or_else(|| {
        StockError::misuse(format!(
            "more than {MAX_KINDS} kinds in an epoch; begin another epoch"
        ))
    })
}

/// Returns the kind's record and the keys of `span`. A new kind gets its own pages of the key file.
fn reserve(
    inner: &Inner,
    records: &Records<'_>,
    kind: &ComponentDigest,
    size: InstanceSize,
    span: Span,
) -> Result<(KindRecord, Cover), StockError> {
    let Some((record, slot)) = inner.kind(records, kind)? else {
        let record = KindRecord::new(free_slot(records)?, size);
        let cover = Cover::from_root(seal::random_key()?);
        let begun = Move::begin(record.slot, kind, cover.clone());
        inner.keys.write(&[begun])?;
        return Ok((record, cover.part(span)?));
    };
    if record.size != size {
        return Err(StockError::misuse(format!(
            "component {kind} has {:?}, not {size:?}",
            record.size
        )));
    }
    if span.first < record.end() {
        return Err(StockError::misuse(format!(
            "a lot at {}, where numbers below {} were given before",
            span.first, record.reserved
        )));
    }
    let pending = records.lots(kind)?.into_iter();
    if pending.filter(|lot| lot.is_pending()).count() >= MAX_PENDING_LOTS {
        return Err(StockError::misuse(format!(
            "more than {MAX_PENDING_LOTS} lots of {kind} wait for the peer; publish them first"
        )));
    }
    Ok((record, slot.cover.part(span)?))
}
