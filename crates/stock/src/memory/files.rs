//! The files and indices of [`Memory`].

use std::collections::BTreeSet;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use super::{Content, Memory, Power, Table, grow};
use crate::StockError;
use crate::storage::{Entries, Entry, Index, Storage, StoredFile, UpdateWork};

impl Storage for Memory {
    fn create_folder(&self, _folder: &Path) -> io::Result<()> {
        self.world().lit()
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let world = self.world();
        world.lit()?;
        let below = world
            .names
            .keys()
            .filter_map(|path| path.strip_prefix(folder).ok());
        let first = below.filter_map(|path| path.iter().next()?.to_str().map(str::to_owned));
        Ok(first.collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut world = self.world();
        let power = world.point()?;
        if matches!(power, Power::On) {
            let here = |path: &&PathBuf| path.parent() == Some(folder);
            // A folder in which no name is left was removed, and its name is one of these.
            let is_removed = |path: &&PathBuf| {
                let below = path.strip_prefix(folder).ok();
                let inside = below.and_then(|below| Some(folder.join(below.iter().next()?)));
                inside
                    .is_some_and(|inside| !world.names.keys().any(|path| path.starts_with(&inside)))
            };
            let durable = world.durable_names.keys();
            let gone = durable.filter(|path| here(path) || is_removed(path));
            let gone: Vec<PathBuf> = gone.cloned().collect();
            for path in gone {
                world.durable_names.remove(&path);
            }
            let names = world.names.clone();
            world
                .durable_names
                .extend(names.into_iter().filter(|(path, _)| here(&path)));
        }
        power.after()
    }

    fn create(&self, file: &Path) -> io::Result<Box<dyn StoredFile>> {
        let mut world = self.world();
        let power = world.point()?;
        if world.names.contains_key(file) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let id = world.contents.len();
        world.contents.push(Content::default());
        world.names.insert(file.to_owned(), id);
        power.after()?;
        Ok(Box::new(MemoryFile {
            memory: self.clone(),
            id,
        }))
    }

    fn open(&self, file: &Path) -> io::Result<Box<dyn StoredFile>> {
        let id = self.world().id(file)?;
        Ok(Box::new(MemoryFile {
            memory: self.clone(),
            id,
        }))
    }

    fn remove(&self, file: &Path) -> io::Result<()> {
        let mut world = self.world();
        world.id(file)?;
        let power = world.point()?;
        world.names.remove(file);
        power.after()
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        let inside: Vec<PathBuf> = {
            let world = self.world();
            let names = world.names.keys().filter(|path| path.starts_with(folder));
            names.cloned().collect()
        };
        inside.iter().try_for_each(|path| self.remove(path))
    }

    fn try_lock(&self, file: &Path) -> io::Result<Option<Box<dyn Send + Sync>>> {
        let mut world = self.world();
        world.lit()?;
        if !world.locks.insert(file.to_owned()) {
            return Ok(None);
        }
        let memory = self.clone();
        Ok(Some(Box::new(MemoryLock {
            memory,
            file: file.to_owned(),
        })))
    }

    fn open_index(&self, file: &Path) -> io::Result<Box<dyn Index>> {
        let mut world = self.world();
        world.lit()?;
        // The index has a name like other files, so that a folder with a stock is seen to have one.
        let id = world.names.get(file).copied().unwrap_or_else(|| {
            let id = world.contents.len();
            world.contents.push(Content::default());
            world.names.insert(file.to_owned(), id);
            world.durable_names.insert(file.to_owned(), id);
            id
        });
        world.indices.entry(id).or_default();
        Ok(Box::new(MemoryIndex {
            memory: self.clone(),
            file: file.to_owned(),
            id,
        }))
    }
}

struct MemoryLock {
    memory: Memory,
    file: PathBuf,
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.memory.world().locks.remove(&self.file);
    }
}

struct MemoryFile {
    memory: Memory,
    id: usize,
}

impl StoredFile for MemoryFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let world = self.memory.world();
        world.lit()?;
        let content = &world.contents[self.id].now;
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|start| Some(start..start.checked_add(bytes.len())?));
        let found = range.and_then(|range| content.get(range));
        bytes.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut world = self.memory.world();
        let power = world.point()?;
        let offset = usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let used: usize = world.contents.iter().map(|content| content.now.len()).sum();
        let more = (offset + bytes.len()).saturating_sub(world.contents[self.id].now.len());
        if world
            .room_bytes
            .is_some_and(|room| (used + more) as u64 > room)
        {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let content = &mut world.contents[self.id];
        grow(&mut content.now, offset + bytes.len());
        content.now[offset..offset + bytes.len()].copy_from_slice(bytes);
        content.unsynced.push((offset, bytes.to_vec()));
        power.after()
    }

    fn sync(&self) -> io::Result<()> {
        let mut world = self.memory.world();
        let power = world.point()?;
        if matches!(power, Power::On) {
            let content = &mut world.contents[self.id];
            content.durable.clone_from(&content.now);
            content.unsynced.clear();
        }
        power.after()
    }

    fn len(&self) -> io::Result<u64> {
        let world = self.memory.world();
        world.lit()?;
        Ok(world.contents[self.id].now.len() as u64)
    }

    fn exposed(&self) -> io::Result<bool> {
        Ok(false)
    }
}

struct MemoryIndex {
    memory: Memory,
    file: PathBuf,
    id: usize,
}

impl Index for MemoryIndex {
    fn update(&mut self, work: &mut UpdateWork<'_>) -> Result<(), StockError> {
        let failed = |doing| StockError::io(&self.file, doing);
        // Held during a transaction, like SQLite's writer lock.
        let _writer = loop {
            let lock = self
                .memory
                .try_lock(&self.file)
                .map_err(failed("lock it"))?;
            match lock {
                Some(guard) => break guard,
                None => std::thread::yield_now(),
            }
        };
        let before = self
            .memory
            .world()
            .indices
            .get(&self.id)
            .cloned()
            .unwrap_or_default();
        let mut entries = Changed {
            table: before,
            changed: false,
        };
        work(&mut entries)?;
        if !entries.changed {
            return Ok(());
        }
        let mut world = self.memory.world();
        if world.refuses_commits {
            let full = io::ErrorKind::StorageFull.into();
            return Err(failed("commit a transaction")(full));
        }
        let power = world.point().map_err(failed("commit a transaction"))?;
        if matches!(power, Power::On) || world.flip() {
            world.indices.insert(self.id, entries.table);
        }
        power.after().map_err(failed("commit a transaction"))
    }
}

struct Changed {
    table: Table,
    changed: bool,
}

impl Entries for Changed {
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        Ok(self.table.get(key).cloned())
    }

    fn scan(&self, prefix: &[u8]) -> io::Result<Vec<Entry>> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let with = self
            .table
            .range::<[u8], _>(from)
            .take_while(|(key, _)| key.starts_with(prefix));
        Ok(with
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.table.insert(key.to_vec(), value.to_vec());
        self.changed = true;
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> io::Result<()> {
        self.table.remove(key);
        self.changed = true;
        Ok(())
    }
}
