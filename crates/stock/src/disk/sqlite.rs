//! The index in SQLite: one table of keys and values, write-ahead log, `synchronous=FULL`.
//!
//! With a write-ahead log, a commit is one append and one `fsync`. FULL makes it durable before it
//! returns. (NORMAL would lose the last commits in a power failure, and give leased numbers out
//! again.) `BEGIN IMMEDIATE` takes the lock of the single writer before anything is read. So a
//! transaction changes what it has read, between processes too.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior, params};

use crate::StockError;
use crate::storage::{Entries, Entry, Index, UpdateWork};

/// The longest wait for another process's transaction. Transactions take milliseconds, and on a
/// slow disk a fraction of a second.
const WAIT: Duration = Duration::from_secs(20);
/// The pause between two attempts to set up a file.
const PAUSE: Duration = Duration::from_millis(1);

pub(super) struct Database {
    connection: Connection,
    file: PathBuf,
}

impl Database {
    pub(super) fn open(file: &Path) -> io::Result<Self> {
        // SQLite gives its log the mode of this file.
        super::options().create(true).truncate(false).open(file)?;
        // SQLite is built to treat names that start with `file:` as URIs. No absolute path does.
        let connection = Connection::open(std::path::absolute(file)?).map_err(as_io)?;
        connection.busy_timeout(WAIT).map_err(as_io)?;
        let mode = set_up_when_free(&connection).map_err(as_io)?;
        if mode != "wal" {
            let found = format!("SQLite keeps its journal as {mode:?} here, where WAL is needed");
            return Err(io::Error::new(io::ErrorKind::Unsupported, found));
        }
        // Commits last only if the names of the file and its log do.
        let folder = file.parent().unwrap_or(Path::new("."));
        crate::storage::Storage::sync_folder(&super::Disk, folder)?;
        Ok(Self {
            connection,
            file: file.to_owned(),
        })
    }
}

/// Runs [`set_up`], and retries while another process does the same. SQLite then reports that it is
/// busy at once, whatever its timeout.
fn set_up_when_free(connection: &Connection) -> rusqlite::Result<String> {
    let began = Instant::now();
    loop {
        match set_up(connection) {
            Err(error) if is_busy(&error) && began.elapsed() < WAIT => thread::sleep(PAUSE),
            result => return result,
        }
    }
}

/// Creates what the file lacks. Returns SQLite's journal mode.
fn set_up(connection: &Connection) -> rusqlite::Result<String> {
    let mode = connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0))?;
    connection.execute_batch(
        "PRAGMA synchronous=FULL;
         PRAGMA secure_delete=ON;
         PRAGMA cell_size_check=ON;
         CREATE TABLE IF NOT EXISTS entries
             (key BLOB PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;",
    )?;
    Ok(mode)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

impl Index for Database {
    fn update(&mut self, work: &mut UpdateWork<'_>) -> Result<(), StockError> {
        let failed = |doing| {
            let file = self.file.clone();
            move |error| StockError::io(&file, doing)(as_io(error))
        };
        let (begin, commit) = (
            failed("begin a transaction"),
            failed("commit a transaction"),
        );
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(begin)?;
        work(&mut Rows(&transaction))?;
        transaction.commit().map_err(commit)
    }
}

struct Rows<'a>(&'a Connection);

impl Entries for Rows<'_> {
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let mut query = self
            .0
            .prepare_cached("SELECT value FROM entries WHERE key = ?1")
            .map_err(as_io)?;
        query
            .query_row([key], |row| row.get(0))
            .optional()
            .map_err(as_io)
    }

    fn scan(&self, prefix: &[u8]) -> io::Result<Vec<Entry>> {
        let mut query = self
            .0
            .prepare_cached(
                "SELECT key, value FROM entries WHERE key BETWEEN ?1 AND ?2 ORDER BY key",
            )
            .map_err(as_io)?;
        // No key is longer than this, so all keys with the prefix lie in between.
        let last = [prefix, &[0xff; crate::storage::MAX_KEY_BYTES]].concat();
        let rows = query
            .query_map([prefix, &last], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(as_io)?;
        rows.collect::<Result<_, _>>().map_err(as_io)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        let mut statement = self
            .0
            .prepare_cached(
                "INSERT INTO entries VALUES (?1, ?2)
                 ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            )
            .map_err(as_io)?;
        statement
            .execute(params![key, value])
            .map(drop)
            .map_err(as_io)
    }

    fn remove(&mut self, key: &[u8]) -> io::Result<()> {
        let mut statement = self
            .0
            .prepare_cached("DELETE FROM entries WHERE key = ?1")
            .map_err(as_io)?;
        statement.execute([key]).map(drop).map_err(as_io)
    }
}

/// Converts SQLite's errors to those of the operating system.
fn as_io(error: rusqlite::Error) -> io::Error {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => io::ErrorKind::StorageFull,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => io::ErrorKind::InvalidData,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => io::ErrorKind::TimedOut,
        Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_durable_and_what_is_removed_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("index")).unwrap();
        for (pragma, expected) in [("synchronous", 2), ("secure_delete", 1)] {
            let row = |row: &rusqlite::Row<'_>| row.get(0);
            let found = database.connection.pragma_query_value(None, pragma, row);
            assert_eq!(found, Ok(expected), "{pragma}");
        }
    }

    #[test]
    fn a_folder_called_like_a_uri_is_one() {
        // Only a relative path starts like this.
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix("file:").tempdir_in(".").unwrap();
        let name = Path::new(folder.path().file_name().unwrap());
        drop(Database::open(&name.join("index")).unwrap());
        assert!(name.join("index").metadata().unwrap().len() > 0);
    }
}
