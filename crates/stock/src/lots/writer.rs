//! The writing of a lot.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::record_offset;
use crate::cover::Cover;
use crate::records::LotRecord;
use crate::seal::{self, TAG_BYTES};
use crate::stock::locked;
use crate::storage::StoredFile;
use crate::{ComponentDigest, InstanceSize, Span, Stock, StockError};

/// The length from which tables are written directly. Shorter tables are copied behind their
/// secrets, and all instances of a call are written at once.
const APART_BYTES: usize = 64 << 10;

/// A lot that is being written, by any number of threads. If it is dropped unfinished, it leaves
/// nothing.
pub struct LotWriter {
    pub(super) stock: Stock,
    pub(super) file: Box<dyn StoredFile>,
    pub(super) path: PathBuf,
    pub(super) kind: ComponentDigest,
    pub(super) size: InstanceSize,
    pub(super) span: Span,
    pub(super) salt: [u8; 12],
    pub(super) cover: Cover,
    /// A bit for each instance, since a key must seal only once.
    pub(super) written: Mutex<Vec<u64>>,
    pub(super) finished: bool,
    pub(super) _lock: Arc<dyn Send + Sync>,
}

impl std::fmt::Debug for LotWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LotWriter({} of {})", self.span, self.kind)
    }
}

impl LotWriter {
    /// Returns the kind of the lot.
    pub fn kind(&self) -> ComponentDigest {
        self.kind
    }

    /// Returns the lot's numbers.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Writes consecutive instances from `first` on: their secrets and their tables, one after
    /// another, each of the kind's [`InstanceSize`]. Each instance is written once, in any order.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if lengths or numbers do not fit; [`StockError::Full`].
    pub fn put(&self, first: u64, secrets: &[u8], tables: &[u8]) -> Result<(), StockError> {
        let size = &self.size;
        let (secret_bytes, table_bytes) = (size.secret_bytes as usize, size.table_bytes as usize);
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
                 {size:?}",
                secrets.len(),
                tables.len(),
                self.span
            )));
        }
        self.claim(span)?;
        let apart = table_bytes >= APART_BYTES;
        let room = if apart {
            secret_bytes + TAG_BYTES
        } else {
            count * size.record_bytes() as usize
        };
        let mut records = Vec::with_capacity(room);
        let mut offset = record_offset(size, self.span, first);
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
            offset += size.record_bytes();
            records.clear();
            Ok(())
        })?;
        if apart {
            return Ok(());
        }
        self.write(&records, offset)
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

    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> Result<(), StockError> {
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
