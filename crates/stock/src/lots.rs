//! Lots: files of instances of one kind, written once, read by position.
//!
//! A lot goes through three steps, so that after a crash both parties find the same. It is written
//! and made durable ([`LotWriter::finish`]: pending). The peer says that it has the lot durably,
//! too. Then the lot is published ([`Stock::publish`]). No number is ever given to two lots, even
//! if the first one was never finished.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use crate::cover::{Cover, NUMBERS};
use crate::error::Repair;
use crate::keys::Move;
use crate::records::{FORMAT_VERSION, KindRecord, LotRecord, MAX_KINDS, MAX_PENDING_LOTS, Records};
use crate::seal::{self, TAG_BYTES};
use crate::stock::{Inner, LotFile, locked};
use crate::storage::StoredFile;
use crate::{ComponentDigest, Marks, Shape, Span, Stock, StockError, values};

const MAGIC: [u8; 8] = *b"TACITLOT";
pub(crate) const HEADER_BYTES: usize = 8 + 4 + 4 + 32 + 8 + 16 + 32 + 8 + 8 + 4 + 4 + 12 + 20;
const SUMMED_BYTES: usize = HEADER_BYTES - 20;

/// The length from which tables are written directly. Shorter tables are copied behind their
/// secrets, and all instances of a call are written at once.
const APART_BYTES: usize = 64 << 10;

/// The most bytes of one instance, secret and tables together.
pub const MAX_INSTANCE_BYTES: u64 = 1 << 28;

impl Shape {
    /// Returns the bytes of a record in a lot's file.
    #[must_use]
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

pub(crate) fn record_offset(shape: &Shape, lot: Span, number: u64) -> u64 {
    HEADER_BYTES as u64 + (number - lot.first) * shape.record_bytes()
}

pub(crate) fn header(
    inner: &Inner,
    kind: &ComponentDigest,
    shape: &Shape,
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
        &shape.secret_bytes.to_le_bytes(),
        &shape.table_bytes.to_le_bytes(),
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
    #[must_use]
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
    pub fn check_room(&self, lots: &[(Shape, Span)]) -> Result<(), StockError> {
        let inner = &self.stock.inner;
        inner.update(|records| check_room(inner, records, lots))
    }

    /// Starts a lot of `span`. Both parties must have agreed on its numbers, from
    /// [`AgreedKind::next_number`](crate::AgreedKind) on. The numbers are taken durably.
    ///
    /// # Errors
    ///
    /// [`StockError::Full`], [`StockError::ApiMisuse`] if the numbers were given before, the kind
    /// has another shape, or a limit is exceeded.
    pub fn begin_lot(
        &self,
        kind: ComponentDigest,
        shape: Shape,
        span: Span,
    ) -> Result<LotWriter, StockError> {
        let mut begun = self.begin_lots(&[(kind, shape, span)])?;
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
        lots: &[(ComponentDigest, Shape, Span)],
    ) -> Result<Vec<LotWriter>, StockError> {
        let inner = &self.stock.inner;
        for (kind, shape, span) in lots {
            check_bounds(kind, shape, *span)?;
        }
        let sizes: Vec<_> = lots
            .iter()
            .map(|(_, shape, span)| (*shape, *span))
            .collect();
        let reserved = inner.update(|records| {
            check_room(inner, records, &sizes)?;
            let lots = lots.iter().map(|(kind, shape, span)| {
                let (mut record, cover) = reserve(inner, records, kind, *shape, *span)?;
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
        (kind, shape, span): (ComponentDigest, Shape, Span),
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
            shape,
            span,
            salt,
            cover,
            written: Mutex::new(vec![0; (span.count as usize).div_ceil(64)]),
            finished: false,
            _lock: Arc::clone(&self.lock),
        };
        let header = header(inner, &kind, &shape, span, &salt);
        writer.write(&header, 0)?;
        Ok(writer)
    }
}

fn check_bounds(kind: &ComponentDigest, shape: &Shape, span: Span) -> Result<(), StockError> {
    if shape.record_bytes() > MAX_INSTANCE_BYTES {
        return Err(StockError::misuse(format!(
            "an instance of {} bytes, and at most {MAX_INSTANCE_BYTES} are kept",
            shape.record_bytes()
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
    lots: &[(Shape, Span)],
) -> Result<(), StockError> {
    let bytes = lots.iter().map(|(shape, span)| shape.lot_bytes(span.count));
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
            held = held.saturating_add(record.shape.lot_bytes(lot.span.count));
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
    shape: Shape,
    span: Span,
) -> Result<(KindRecord, Cover), StockError> {
    let Some((record, slot)) = inner.kind(records, kind)? else {
        let record = KindRecord::new(free_slot(records)?, shape);
        let cover = Cover::from_root(seal::random_key()?);
        let begun = Move::begin(record.slot, kind, cover.clone());
        inner.keys.write(&[begun])?;
        return Ok((record, cover.part(span)?));
    };
    if record.shape != shape {
        return Err(StockError::misuse(format!(
            "component {kind} has {:?}, not {shape:?}",
            record.shape
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

/// A lot that is being written, by any number of threads. If it is dropped unfinished, it leaves
/// nothing.
pub struct LotWriter {
    stock: Stock,
    file: Box<dyn StoredFile>,
    path: PathBuf,
    kind: ComponentDigest,
    shape: Shape,
    span: Span,
    salt: [u8; 12],
    cover: Cover,
    /// A bit for each instance, since a key must seal only once.
    written: Mutex<Vec<u64>>,
    finished: bool,
    _lock: Arc<dyn Send + Sync>,
}

impl std::fmt::Debug for LotWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LotWriter({} of {})", self.span, self.kind)
    }
}

impl LotWriter {
    /// Returns the kind of the lot.
    #[must_use]
    pub fn kind(&self) -> ComponentDigest {
        self.kind
    }

    /// Returns the lot's numbers.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// Writes consecutive instances from `first` on: their secrets and their tables, one after
    /// another, each of the kind's [`Shape`]. Each instance is written once, in any order.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if lengths or numbers do not fit; [`StockError::Full`].
    pub fn put(&self, first: u64, secrets: &[u8], tables: &[u8]) -> Result<(), StockError> {
        let shape = &self.shape;
        let (secret_bytes, table_bytes) = (shape.secret_bytes as usize, shape.table_bytes as usize);
        let count = match (secrets.len().checked_div(secret_bytes), table_bytes) {
            (Some(count), _) => count,
            (None, 1..) => tables.len() / table_bytes,
            (None, 0) => 1,
        };
        let fits = Some(secrets.len()) == count.checked_mul(secret_bytes)
            && Some(tables.len()) == count.checked_mul(table_bytes);
        let span = Span {
            first,
            count: count as u64,
        };
        if !fits || count == 0 || first < self.span.first || span.end() > self.span.end() {
            return Err(StockError::misuse(format!(
                "{} secret bytes and {} of tables from instance {first} on, in a lot of {} with \
                 {shape:?}",
                secrets.len(),
                tables.len(),
                self.span
            )));
        }
        self.claim(span)?;
        let apart = table_bytes >= APART_BYTES;
        let room = match apart {
            true => secret_bytes + TAG_BYTES,
            false => count * shape.record_bytes() as usize,
        };
        let mut records = Vec::with_capacity(room);
        let mut offset = record_offset(shape, self.span, first);
        let mut place = 0;
        self.cover.visit(span, |_, key| {
            let start = records.len();
            records.extend_from_slice(&secrets[place * secret_bytes..][..secret_bytes]);
            let tables = &tables[place * table_bytes..][..table_bytes];
            let tag = seal::seal_once(key, &self.salt, &mut records[start..], tables);
            records.extend_from_slice(&tag);
            place += 1;
            if !apart {
                records.extend_from_slice(tables);
                return Ok(());
            }
            self.write(&records, offset)?;
            self.write(tables, offset + records.len() as u64)?;
            offset += shape.record_bytes();
            records.clear();
            Ok(())
        })?;
        match apart {
            true => Ok(()),
            false => self.write(&records, offset),
        }
    }

    fn claim(&self, span: Span) -> Result<(), StockError> {
        let mut written = locked(&self.written);
        let places = span.first - self.span.first..span.end() - self.span.first;
        let bit = |place: u64| ((place / 64) as usize, 1 << (place % 64));
        if places
            .clone()
            .map(bit)
            .any(|(word, bit)| written[word] & bit != 0)
        {
            return Err(StockError::misuse(format!(
                "an instance of {span} is written twice"
            )));
        }
        places.map(bit).for_each(|(word, bit)| written[word] |= bit);
        Ok(())
    }

    fn write(&self, bytes: &[u8], offset: u64) -> Result<(), StockError> {
        self.file
            .write_at(bytes, offset)
            .map_err(StockError::io(&self.path, "write it"))
    }

    /// Makes the lot durable. It is pending until the peer has it, too. Returns its numbers.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if instances are missing.
    pub fn finish(self) -> Result<Span, StockError> {
        let span = self.span;
        Self::finish_all(vec![self]).map(|()| span)
    }

    /// Finishes several lots of a stock as [`LotWriter::finish`] does. Either all of them become
    /// pending or none. They share one wait for their folder and the index.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if instances are missing, or a lot belongs to another stock.
    pub fn finish_all(mut lots: Vec<Self>) -> Result<(), StockError> {
        let Some(first) = lots.first() else {
            return Ok(());
        };
        let stock = first.stock.clone();
        for lot in &lots {
            lot.check_whole()?;
            if !Arc::ptr_eq(&lot.stock.inner, &stock.inner) {
                return Err(StockError::misuse(format!("{lot:?} of another stock")));
            }
        }
        for lot in &lots {
            let synced = lot.file.sync();
            synced.map_err(StockError::io(&lot.path, "write it"))?;
        }
        let (inner, folder) = (&stock.inner, &stock.inner.folder);
        inner.storage.keep_names(folder)?;
        inner.update(|records| {
            lots.iter().try_for_each(|lot| {
                let record = LotRecord::pending(lot.span, lot.salt);
                records.put_lot(&lot.kind, &record)
            })
        })?;
        lots.iter_mut().for_each(|lot| lot.finished = true);
        Ok(())
    }

    /// Checks that every instance is written.
    fn check_whole(&self) -> Result<(), StockError> {
        let written = locked(&self.written);
        let written: u64 = written
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum();
        if written != self.span.count {
            let count = self.span.count;
            return Err(StockError::misuse(format!(
                "a lot with {written} of {count} instances"
            )));
        }
        Ok(())
    }
}

impl Drop for LotWriter {
    fn drop(&mut self) {
        // The commit of `finish` may be durable although it failed. In that case the file stays.
        let inner = &self.stock.inner;
        let known = || inner.update(|records| records.lot(&self.kind, self.span.first));
        if !self.finished && matches!(known(), Ok(None)) {
            // If it cannot be removed now, the next preparation removes it.
            let _ = inner.storage.remove(&self.path);
        }
    }
}

/// A leased instance, opened. Its secret is wiped on drop.
pub struct Instance {
    number: u64,
    secret_bytes: usize,
    record: Vec<u8>,
}

impl Instance {
    /// Reads and opens consecutive instances of a lot with one read.
    pub(crate) fn read(
        LotFile { file, path }: &LotFile,
        shape: &Shape,
        lot: &LotRecord,
        cover: &Cover,
        span: Span,
    ) -> Result<Vec<Self>, StockError> {
        let record_bytes = shape.record_bytes() as usize;
        let mut bytes = vec![0; record_bytes * span.count as usize];
        let offset = record_offset(shape, lot.span, span.first);
        file.read_at(&mut bytes, offset)
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => StockError::corrupted(
                    path,
                    "the file",
                    format!("too short for instance {}", span.end() - 1),
                    format!("{} instances", lot.span.count),
                    Repair::Check,
                ),
                _ => StockError::io(path, "read it")(error),
            })?;
        let mut instances = Vec::with_capacity(span.count as usize);
        let single = span.count == 1;
        cover.visit(span, |number, key| {
            let mut record = match single {
                true => std::mem::take(&mut bytes),
                false => bytes[instances.len() * record_bytes..][..record_bytes].to_vec(),
            };
            let secret_bytes = shape.secret_bytes as usize;
            seal::open_once(key, &lot.salt, &mut record, secret_bytes).map_err(|_| {
                StockError::corrupted(
                    path,
                    "an instance",
                    format!("damaged (number {number})"),
                    "what was sealed there",
                    Repair::Check,
                )
            })?;
            instances.push(Self {
                number,
                secret_bytes,
                record,
            });
            Ok::<(), StockError>(())
        })?;
        Ok(instances)
    }

    /// Returns the instance's number in its kind.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the secret that was sealed.
    #[must_use]
    pub fn secret(&self) -> &[u8] {
        &self.record[..self.secret_bytes]
    }

    /// Returns the tables that were written.
    #[must_use]
    pub fn tables(&self) -> &[u8] {
        &self.record[self.secret_bytes + TAG_BYTES..]
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.record[..self.secret_bytes].zeroize();
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Instance({})", self.number)
    }
}
