//! Whether the folder of the stocks can still be used, for those who watch a service.

use std::io;

use crate::stocks::read_root_key;
use crate::{StockError, Stocks};

const FILE_NAME: &str = "probe";
const PROBE_BYTES: usize = 4096;

impl Stocks {
    /// Checks that the folder is there with the key under which it was opened, and that a file in
    /// it can be made, made durable and removed, as every lease needs.
    ///
    /// # Errors
    ///
    /// [`StockError::DiskFull`]; [`StockError::Io`] where the folder is gone or read-only;
    /// [`StockError::Corrupted`] where the key is damaged or another.
    pub fn probe(&self) -> Result<(), StockError> {
        if self.has_key_file {
            read_root_key(self)?;
        }
        let path = self.folder.join(FILE_NAME);
        let created = match self.storage.create(&path) {
            // Another probe is under way, or was cut.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.storage.open(&path),
            created => created,
        };
        let file = match created {
            // The other one has just ended.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.is_there() => {
                return Ok(());
            }
            file => file.map_err(StockError::io(&path, "make it"))?,
        };
        let written = file.write_at(&[0; PROBE_BYTES], 0);
        let written = written.and_then(|()| file.sync());
        match self.storage.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StockError::io(&path, "remove it")(error))
            }
            _ => written.map_err(StockError::io(&path, "write it")),
        }
    }

    fn is_there(&self) -> bool {
        self.storage.names(&self.folder).is_ok()
    }
}
