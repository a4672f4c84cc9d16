//! Storage in memory that can lose power.
//!
//! It keeps written and durable content apart, by the rules of [`crate::Storage`] and no stronger
//! ones. After a power loss, each write since the last `sync` of its file exists, does not exist,
//! or is torn at a boundary of 512 bytes. Each name created or removed since the last `sync_folder`
//! exists or not. A transaction exists or not. A seed decides.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::StockError;
use crate::storage::{Entries, Entry, Index, Storage, StoredFile, UpdateWork};

/// The unit that a disk writes atomically.
const SECTOR_BYTES: usize = 512;

/// Storage in memory. Clones share it.
#[derive(Clone, Default)]
pub struct Memory {
    world: Arc<Mutex<World>>,
}

type Table = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Default)]
struct World {
    /// The contents of files, by an index. `names` refers to them.
    contents: Vec<Content>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    /// The tables of those files that are indices.
    indices: BTreeMap<usize, Table>,
    locks: BTreeSet<PathBuf>,
    /// The number of writes, syncs, name changes and commits so far.
    points: u64,
    /// The point at which the power fails.
    lost_at: Option<u64>,
    dark: bool,
    chance: u64,
    room_bytes: Option<u64>,
    refuses_commits: bool,
}

#[derive(Clone, Default)]
struct Content {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// Offsets and bytes written since the last sync.
    unsynced: Vec<(usize, Vec<u8>)>,
}

impl Memory {
    /// Creates empty storage that always has power.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of points so far at which the power could have failed.
    #[must_use]
    pub fn points(&self) -> u64 {
        self.world().points
    }

    /// Lets the power fail at the `point`-th write, sync, name change or commit from the start.
    /// `seed` decides which of the unsynced changes survive.
    pub fn lose_power_at(&self, point: u64, seed: u64) {
        let mut world = self.world();
        world.lost_at = Some(point);
        world.chance = seed;
    }

    /// Lets no file grow once all files together have `bytes`.
    pub fn limit_bytes(&self, bytes: Option<u64>) {
        self.world().room_bytes = bytes;
    }

    /// Refuses to commit transactions that change something, while `refuses` is true. A full disk
    /// behaves like this, and still lets files be overwritten.
    pub fn refuse_commits(&self, refuses: bool) {
        self.world().refuses_commits = refuses;
    }

    /// Returns the disk as a restarted machine finds it after a power failure. The power is cut now
    /// if it is still on.
    #[must_use]
    pub fn restart(&self) -> Self {
        let mut old = self.world();
        old.dark = true;
        let mut world = World {
            contents: old.contents.clone(),
            indices: old.indices.clone(),
            ..World::default()
        };
        for content in &mut world.contents {
            content.survive(&mut || old.flip());
        }
        let all: BTreeSet<PathBuf> = old
            .names
            .keys()
            .chain(old.durable_names.keys())
            .cloned()
            .collect();
        for path in all {
            let (now, durable) = (old.names.get(&path), old.durable_names.get(&path));
            let (now, durable) = (now.copied(), durable.copied());
            let kept = if now == durable || old.flip() {
                now
            } else {
                durable
            };
            if let Some(kept) = kept {
                world.names.insert(path.clone(), kept);
                world.durable_names.insert(path, kept);
            }
        }
        Self {
            world: Arc::new(Mutex::new(world)),
        }
    }

    /// Returns a copy of the whole storage, like a backup of the disk.
    #[must_use]
    pub fn copy(&self) -> Self {
        let old = self.world();
        let world = World {
            contents: old.contents.clone(),
            names: old.names.clone(),
            durable_names: old.durable_names.clone(),
            indices: old.indices.clone(),
            ..World::default()
        };
        Self {
            world: Arc::new(Mutex::new(world)),
        }
    }

    /// Returns the names of all files, sorted.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        self.world().names.keys().cloned().collect()
    }

    /// Flips the lowest bit of a byte of a file, as a failing disk does. Returns false if there is
    /// no such byte.
    pub fn flip_bit(&self, file: &Path, offset: usize) -> bool {
        let mut world = self.world();
        let Some(&id) = world.names.get(file) else {
            return false;
        };
        let content = &mut world.contents[id];
        let (Some(now), Some(durable)) =
            (content.now.get_mut(offset), content.durable.get_mut(offset))
        else {
            return false;
        };
        *now ^= 1;
        *durable ^= 1;
        true
    }

    /// Flips these bits in a byte of an entry's value, as a failing disk does. Entries are counted
    /// over all indices. Returns false if there is no such byte.
    pub fn change_entry(&self, number: usize, offset: usize, bits: u8) -> bool {
        let mut world = self.world();
        let values = world
            .indices
            .values_mut()
            .flat_map(|table| table.values_mut());
        let byte = values
            .skip(number)
            .take(1)
            .find_map(|value| value.get_mut(offset));
        byte.map(|byte| *byte ^= bits).is_some()
    }

    /// Returns every byte that a thief of the disk sees. Removing a file overwrites nothing of it.
    #[must_use]
    pub fn stolen(&self) -> Vec<u8> {
        let world = self.world();
        let files = world.contents.iter().flat_map(|content| &content.now);
        let tables = world.indices.values().flatten();
        let entries = tables.flat_map(|(key, value)| key.iter().chain(value));
        files.chain(entries).copied().collect()
    }

    fn world(&self) -> MutexGuard<'_, World> {
        // A panic under the lock leaves at worst a half-made change, as a crash would.
        self.world
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let world = self.world();
        write!(
            f,
            "Memory({} files, {} points)",
            world.names.len(),
            world.points
        )
    }
}

/// The state of the power at a change.
enum Power {
    On,
    /// The power fails now. The change may still happen.
    Goes,
}

impl World {
    /// Flips a coin, from the seed (SplitMix64).
    fn flip(&mut self) -> bool {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.chance;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) & 1 == 1
    }

    fn lit(&self) -> io::Result<()> {
        if self.dark {
            return Err(io::Error::other("the power is gone"));
        }
        Ok(())
    }

    /// Counts a point. The change happens unless the power had failed before.
    fn point(&mut self) -> io::Result<Power> {
        self.lit()?;
        let here = self.points;
        self.points += 1;
        if self.lost_at == Some(here) {
            self.dark = true;
            return Ok(Power::Goes);
        }
        Ok(Power::On)
    }

    fn id(&self, file: &Path) -> io::Result<usize> {
        self.lit()?;
        let id = self.names.get(file).copied();
        id.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Power {
    /// Returns an error if the power failed: the caller learns of it only after the change.
    fn after(self) -> io::Result<()> {
        match self {
            Self::On => Ok(()),
            Self::Goes => Err(io::Error::other("the power is gone")),
        }
    }
}

impl Content {
    /// Turns what was written into what survives a power loss.
    fn survive(&mut self, flip: &mut impl FnMut() -> bool) {
        for (offset, bytes) in std::mem::take(&mut self.unsynced) {
            let mut at = offset;
            let end = offset + bytes.len();
            while at < end {
                let next = ((at / SECTOR_BYTES + 1) * SECTOR_BYTES).min(end);
                if flip() {
                    grow(&mut self.durable, next);
                    self.durable[at..next].copy_from_slice(&bytes[at - offset..next - offset]);
                }
                at = next;
            }
        }
        self.now.clone_from(&self.durable);
    }
}

fn grow(bytes: &mut Vec<u8>, length: usize) {
    if bytes.len() < length {
        bytes.resize(length, 0);
    }
}

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
            let gone: Vec<PathBuf> = world.durable_names.keys().filter(here).cloned().collect();
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
        Ok(Some(Box::new(Held {
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

struct Held {
    memory: Memory,
    file: PathBuf,
}

impl Drop for Held {
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
