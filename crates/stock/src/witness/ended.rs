//! The list of epochs and chains that have ended for good: one file for each stock.
//!
//! An entry is the name of a note. It is durable before the note is removed, so a reader that looks
//! for the note first and then at the list finds one of them.

use std::path::Path;

use super::{ENDED, Note, REST_BYTES, Witness};
use crate::StockError;
use crate::storage::StoredFile;

/// Bytes of an entry: as much of a name as the name of its file has.
const ENTRY_BYTES: usize = 16;
/// Most entries of a list, which is read as a whole. An epoch or chain that ends when the list is
/// full keeps its note.
const MAX_ENTRIES: usize = 4096;

impl Witness {
    /// Notes on the list `ends` that the epoch or chain of this name has ended.
    pub(super) fn end(&self, ends: &[u8; 32], name: &[u8; 32]) {
        self.count(self.try_end(ends, name));
    }

    fn try_end(&self, ends: &[u8; 32], name: &[u8; 32]) -> Result<(), StockError> {
        // The note comes first, for the case that the list is full or cannot be written. If the
        // note cannot be raised, the list is written all the same.
        let (count, rest) = (ENDED, [0; REST_BYTES / 8]);
        let raised = self.try_raise(name, Note { count, rest });
        if self.add(ends, name)? {
            let _lock = self.lock(name)?;
            self.remove(name)?;
        }
        raised
    }

    /// Adds an entry, and returns whether it is there and durable.
    fn add(&self, ends: &[u8; 32], name: &[u8; 32]) -> Result<bool, StockError> {
        let path = self.path(ends);
        let _lock = self.lock(ends)?;
        let listed = self.listed(&path)?;
        if is_listed(&listed, name) {
            return Ok(true);
        }
        if listed.len() >= MAX_ENTRIES * ENTRY_BYTES {
            return Ok(false);
        }
        let file = self.storage.find_or_create(&path)?;
        let written = file.write_at(&name[..ENTRY_BYTES], listed.len() as u64);
        written.map_err(StockError::io(&path, "write it"))?;
        file.sync().map_err(StockError::io(&path, "write it"))?;
        self.storage.keep_names(&self.folder)?;
        Ok(true)
    }

    /// Whether this name is on the list.
    pub(super) fn has_ended(&self, ends: &[u8; 32], name: &[u8; 32]) -> Result<bool, StockError> {
        Ok(is_listed(&self.listed(&self.path(ends))?, name))
    }

    /// The whole entries of a list. An entry that a loss of power has torn is written anew by the
    /// next.
    fn listed(&self, path: &Path) -> Result<Vec<u8>, StockError> {
        let Some(file) = self.storage.find(path)? else {
            return Ok(Vec::new());
        };
        let read = whole_entries(file.as_ref());
        read.map_err(StockError::io(path, "read it"))
    }
}

fn whole_entries(file: &dyn StoredFile) -> std::io::Result<Vec<u8>> {
    let entries = usize::try_from(file.len()?).unwrap_or(usize::MAX) / ENTRY_BYTES;
    let mut bytes = vec![0; entries.min(MAX_ENTRIES) * ENTRY_BYTES];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn is_listed(listed: &[u8], name: &[u8; 32]) -> bool {
    listed
        .chunks_exact(ENTRY_BYTES)
        .any(|entry| *entry == name[..ENTRY_BYTES])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Memory;
    use crate::storage::Storage as _;

    const ENDS: [u8; 32] = [9; 32];

    fn name(number: usize) -> [u8; 32] {
        let mut name = [0; 32];
        name[..8].copy_from_slice(&number.to_le_bytes());
        name
    }

    fn witness(disk: &Memory) -> Witness {
        Witness::open(Arc::new(disk.clone()), Path::new("w")).expect("room")
    }

    fn files(disk: &Memory) -> usize {
        disk.files().len()
    }

    #[test]
    fn what_ends_leaves_an_entry_and_no_file() {
        let disk = Memory::new();
        let witness = witness(&disk);
        witness.end(&ENDS, &name(0));
        let one = files(&disk);
        for number in 1..100 {
            let (count, rest) = (5, [0; 3]);
            witness.raise(&name(number), Note { count, rest });
            witness.end(&ENDS, &name(number));
            witness.end(&ENDS, &name(number));
        }
        assert_eq!(files(&disk), one);
        for number in 0..100 {
            assert_eq!(witness.note(&name(number)).expect("readable"), None);
            assert!(witness.has_ended(&ENDS, &name(number)).expect("readable"));
        }
        assert!(!witness.has_ended(&ENDS, &name(100)).expect("readable"));
        assert!(!witness.has_ended(&[8; 32], &name(0)).expect("readable"));
    }

    #[test]
    fn what_ends_while_the_list_is_full_keeps_its_note() {
        let disk = Memory::new();
        let witness = witness(&disk);
        let file = disk.create(&witness.path(&ENDS)).expect("room");
        let all: Vec<u8> = (0..MAX_ENTRIES)
            .flat_map(|number| name(number)[..ENTRY_BYTES].to_vec())
            .collect();
        file.write_at(&all, 0).expect("room");
        witness.end(&ENDS, &name(MAX_ENTRIES));
        let note = witness.note(&name(MAX_ENTRIES)).expect("readable");
        assert_eq!(note.map(|note| note.count), Some(ENDED));
        assert_eq!(file.len().expect("a length"), all.len() as u64);
        assert_eq!(witness.failures().count, 0);
    }

    #[test]
    fn a_torn_entry_is_written_over_and_none_is_lost_where_nothing_can_be_written() {
        let disk = Memory::new();
        let witness = witness(&disk);
        witness.end(&ENDS, &name(1));
        let file = disk.open(&witness.path(&ENDS)).expect("the list");
        file.write_at(&[7; 5], ENTRY_BYTES as u64).expect("room");
        witness.end(&ENDS, &name(2));
        for number in [1, 2] {
            assert!(witness.has_ended(&ENDS, &name(number)).expect("readable"));
        }
        let (count, rest) = (5, [0; 3]);
        witness.raise(&name(3), Note { count, rest });
        disk.limit_bytes(Some(0));
        witness.end(&ENDS, &name(3));
        // A file of the same length has room for the end, and the list has none for an entry.
        let note = witness.note(&name(3)).expect("readable");
        assert!(note.is_some(), "a copy of it comes back");
        assert_eq!(witness.failures().count, 1);
    }
}
