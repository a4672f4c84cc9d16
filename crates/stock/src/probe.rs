//! A check that the folder of the stocks is still usable, for monitoring a service.

use std::io;
use std::time::{Duration, Instant};

use crate::stocks::read_root_key;
use crate::{StockError, Stocks};

const FILE_NAME: &str = "probe";
const PROBE_BYTES: usize = 4096;

impl Stocks {
    /// Checks that the folder exists with the key under which it was opened, and that a file in it
    /// can be created, made durable and removed, as every lease needs. Returns how long the write
    /// waited for the disk.
    ///
    /// # Errors
    ///
    /// [`StockError::DiskFull`]; [`StockError::Io`] if the folder is gone or read-only;
    /// [`StockError::Corrupted`] if the key is damaged or another one.
    pub fn probe(&self) -> Result<Duration, StockError> {
        if self.has_key_file {
            read_root_key(self)?;
        }
        let path = self.folder.join(FILE_NAME);
        let created = match self.storage.create(&path) {
            // Another probe is running, or was interrupted.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.storage.open(&path),
            created => created,
        };
        let file = match created {
            // The other probe has just ended.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.is_there() => {
                return Ok(Duration::ZERO);
            }
            file => file.map_err(StockError::io(&path, "make it"))?,
        };
        let begun = Instant::now();
        let written = file.write_at(&[0; PROBE_BYTES], 0);
        let written = written.and_then(|()| file.sync());
        let waited = begun.elapsed();
        match self.storage.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StockError::io(&path, "remove it")(error))
            }
            _ => written
                .map(|()| waited)
                .map_err(StockError::io(&path, "write it")),
        }
    }

    fn is_there(&self) -> bool {
        self.storage.names(&self.folder).is_ok()
    }
}
