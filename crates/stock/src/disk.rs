//! Files of the operating system, and SQLite for the index.

mod sqlite;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::storage::{Index, Storage, StoredFile};

/// The bytes of a file after which the system is told to start writing them, while more arrive.
/// [`StoredFile::sync`] then waits only for the rest.
const EARLY_BYTES: usize = 16 << 20;

/// The storage that programs use: a folder of a local file system.
///
/// Do not put a stock on a network file system: its locks and its `fsync` do not give the needed
/// guarantees.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Storage for Disk {
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|path| !path.exists())
            .collect();
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
        // The new names are durable once the folders that contain them are.
        for parent in missing.iter().filter_map(|path| path.parent()) {
            self.sync_folder(parent)?;
        }
        Ok(())
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            // A name that is not UTF-8 does not belong to a stock.
            names.extend(entry?.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    }

    #[cfg(unix)]
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let here = Path::new(".");
        let folder = if folder.as_os_str().is_empty() {
            here
        } else {
            folder
        };
        File::open(folder)?.sync_all()
    }

    #[cfg(not(unix))]
    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }

    fn create(&self, file: &Path) -> io::Result<Box<dyn StoredFile>> {
        let opened = options().create_new(true).open(file)?;
        Ok(Box::new(DiskFile::new(opened)))
    }

    fn open(&self, file: &Path) -> io::Result<Box<dyn StoredFile>> {
        Ok(Box::new(DiskFile::new(options().open(file)?)))
    }

    fn remove(&self, file: &Path) -> io::Result<()> {
        fs::remove_file(file)
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    fn try_lock(&self, file: &Path) -> io::Result<Option<Box<dyn Send + Sync>>> {
        let opened = options().create(true).truncate(false).open(file)?;
        match opened.try_lock() {
            Ok(()) => Ok(Some(Box::new(opened))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn open_index(&self, file: &Path) -> io::Result<Box<dyn Index>> {
        Ok(Box::new(sqlite::Database::open(file)?))
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

struct DiskFile {
    file: Arc<File>,
    early: Mutex<Early>,
}

/// Bytes on their way to the disk, before anyone waits for them.
#[derive(Default)]
struct Early {
    /// The bytes written since the last background sync started.
    waiting: usize,
    running: Option<JoinHandle<io::Result<()>>>,
    /// The error of a failed sync. The system reports it once, so each later sync must fail as
    /// well.
    failed: Option<io::ErrorKind>,
}

impl DiskFile {
    fn new(file: File) -> Self {
        Self {
            file: Arc::new(file),
            early: Mutex::default(),
        }
    }

    fn early(&self) -> MutexGuard<'_, Early> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that `count` more bytes were written, and starts a background sync if there are
    /// many.
    fn written(&self, count: usize) {
        let mut early = self.early();
        early.waiting += count;
        let running = early.running.as_ref();
        if early.waiting < EARLY_BYTES || running.is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        early.join();
        let file = Arc::clone(&self.file);
        // Without a thread, `sync` has more to do.
        let thread = thread::Builder::new().spawn(move || file.sync_data());
        early.running = thread.ok();
        early.waiting = 0;
    }
}

impl Early {
    /// Waits for the background sync.
    fn join(&mut self) {
        let ended = self.running.take().map(JoinHandle::join);
        let failed = match ended {
            None | Some(Ok(Ok(()))) => None,
            Some(Ok(Err(error))) => Some(error.kind()),
            Some(Err(_)) => Some(io::ErrorKind::Other),
        };
        self.failed = self.failed.or(failed);
    }
}

impl Drop for DiskFile {
    fn drop(&mut self) {
        self.early().join();
    }
}

impl StoredFile for DiskFile {
    #[cfg(unix)]
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&*self.file, bytes, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let read = std::os::windows::fs::FileExt::seek_read(&*self.file, bytes, offset)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes = &mut bytes[read..];
            offset += read as u64;
        }
        Ok(())
    }

    #[cfg(unix)]
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&*self.file, bytes, offset)?;
        self.written(bytes.len());
        Ok(())
    }

    #[cfg(windows)]
    fn write_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = std::os::windows::fs::FileExt::seek_write(&*self.file, bytes, offset)?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.written(written);
            bytes = &bytes[written..];
            offset += written as u64;
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut early = self.early();
        early.join();
        early.waiting = 0;
        if let Some(failed) = early.failed {
            return Err(failed.into());
        }
        // `sync_data` leaves out the times, and so one write to the file system's journal.
        // Overwriting in place, as keys are, then costs half.
        let synced = self.file.sync_data();
        early.failed = synced.as_ref().err().map(io::Error::kind);
        synced
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    #[cfg(unix)]
    fn exposed(&self) -> io::Result<bool> {
        let metadata = self.file.metadata()?;
        Ok(std::os::unix::fs::MetadataExt::mode(&metadata) & 0o077 != 0)
    }

    #[cfg(not(unix))]
    fn exposed(&self) -> io::Result<bool> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> (std::path::PathBuf, DiskFile) {
        let name = format!("tacit-disk-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let file = options().create(true).truncate(true).open(&path);
        (path, DiskFile::new(file.expect("a file")))
    }

    /// The system reports only once that it could not write. If `sync` asked only afterwards, it
    /// would call a lot durable of which a part is lost.
    #[test]
    fn what_failed_before_anybody_waited_fails_every_sync() {
        let (path, file) = file("failed");
        let lost = || Err(io::ErrorKind::StorageFull.into());
        file.early().running = Some(thread::spawn(lost));
        file.write_at(&[1], 0).expect("written");
        for _ in 0..2 {
            let error = file.sync().expect_err("a part is lost");
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
        fs::remove_file(path).expect("removed");
    }

    #[test]
    fn long_files_are_on_their_way_before_a_sync() {
        let (path, file) = file("early");
        let piece = vec![7; EARLY_BYTES / 4];
        for place in 0..11 {
            let offset = place * piece.len() as u64;
            file.write_at(&piece, offset).expect("written");
            let begun = file.early().running.is_some();
            assert_eq!(begun, place >= 3, "piece {place}");
        }
        file.sync().expect("durable");
        assert!(file.early().running.is_none() && file.early().waiting == 0);
        let mut last = vec![0; piece.len()];
        file.read_at(&mut last, 10 * piece.len() as u64)
            .expect("read");
        assert_eq!(last, piece);
        fs::remove_file(path).expect("removed");
    }
}
