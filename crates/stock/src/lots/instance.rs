//! The reading of instances from a lot.

use zeroize::{Zeroize, Zeroizing};

use super::record_offset;
use crate::cover::Cover;
use crate::error::Repair;
use crate::records::LotRecord;
use crate::seal::{self, TAG_BYTES};
use crate::stock::LotFile;
use crate::{InstanceSize, Span, StockError};

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
        size: &InstanceSize,
        lot: &LotRecord,
        cover: &Cover,
        span: Span,
    ) -> Result<Vec<Self>, StockError> {
        let record_bytes = size.record_bytes() as usize;
        let mut bytes = vec![0; record_bytes * span.count as usize];
        let offset = record_offset(size, lot.span, span.first);
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
            let mut record = if single {
                std::mem::take(&mut bytes)
            } else {
                bytes[instances.len() * record_bytes..][..record_bytes].to_vec()
            };
            let secret_bytes = size.secret_bytes as usize;
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
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the secret that was sealed.
    pub fn secret(&self) -> &[u8] {
        &self.record[..self.secret_bytes]
    }

    /// Returns the secret, in the memory in which it was opened.
    #[must_use]
    pub fn into_secret(mut self) -> Zeroizing<Vec<u8>> {
        let mut secret = Zeroizing::new(std::mem::take(&mut self.record));
        secret.truncate(std::mem::take(&mut self.secret_bytes));
        secret
    }

    /// Returns the tables that were written.
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
