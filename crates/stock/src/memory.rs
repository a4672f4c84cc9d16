//! Storage in memory that can lose power.
//!
//! It keeps written and durable content apart, by the rules of [`crate::Storage`] and no stronger
//! ones. After a power loss, each write since the last `sync` of its file exists, does not exist,
//! or is torn at a boundary of 512 bytes. Each name created or removed since the last `sync_folder`
//! exists or not. A transaction exists or not. A seed decides.

mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

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
    is_read_only: bool,
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
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of points so far at which the power could have failed.
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

    /// Refuses every change of files and names, while `is_read_only` is true.
    pub fn set_read_only(&self, is_read_only: bool) {
        self.world().is_read_only = is_read_only;
    }

    /// Returns the disk as a restarted machine finds it after a power failure. The power is cut now
    /// if it is still on.
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
        // In the order in which they were made: names may be random, and a seed decides the same.
        let mut all: Vec<PathBuf> = all.into_iter().collect();
        all.sort_by_key(|path| old.names.get(path).or(old.durable_names.get(path)).copied());
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
        if self.is_read_only {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
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
