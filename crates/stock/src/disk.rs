//! Files of the operating system, and SQLite for the index.

mod sqlite;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use crate::storage::{Index, Storage, StoredFile};

/// The storage that programs use: a folder of a local file system.
///
/// A network file system is no place for a stock: locks and `fsync` are not what they should be
/// there.
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
        // The new names are durable when the folders that they stand in are.
        for parent in missing.iter().filter_map(|path| path.parent()) {
            self.sync_folder(parent)?;
        }
        Ok(())
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            // A name that is not UTF-8 is not ours.
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
        Ok(Box::new(DiskFile(opened)))
    }

    fn open(&self, file: &Path) -> io::Result<Box<dyn StoredFile>> {
        Ok(Box::new(DiskFile(options().open(file)?)))
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

struct DiskFile(File);

impl StoredFile for DiskFile {
    #[cfg(unix)]
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, bytes, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let read = std::os::windows::fs::FileExt::seek_read(&self.0, bytes, offset)?;
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
        std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, offset)
    }

    #[cfg(windows)]
    fn write_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = std::os::windows::fs::FileExt::seek_write(&self.0, bytes, offset)?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = &bytes[written..];
            offset += written as u64;
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        // Times are left out, and with them one write to the file system's journal: what is
        // overwritten in place, as keys are, costs half.
        self.0.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    #[cfg(unix)]
    fn exposed(&self) -> io::Result<bool> {
        let metadata = self.0.metadata()?;
        Ok(std::os::unix::fs::MetadataExt::mode(&metadata) & 0o077 != 0)
    }

    #[cfg(not(unix))]
    fn exposed(&self) -> io::Result<bool> {
        Ok(false)
    }
}
