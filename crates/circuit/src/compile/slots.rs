//! Slots: where labels are kept, and when a slot is free again.

/// The slots of a program under construction.
///
/// The slot that was freed last is the next to be taken, so that live labels stay in cache. A
/// slot that the open batch has read is not free for the batch's own AND gates, which may then be
/// computed in any order and at any time after the batch's XOR gates began.
#[derive(Debug)]
pub(super) struct Slots {
    /// How often what each slot holds is still to be read, by gates and as an output.
    readers: Vec<u32>,
    /// Free since before the open batch.
    free: Vec<u32>,
    /// First those that are free since a gate of the open batch read them; longer than there are
    /// slots.
    fresh: Vec<u32>,
    fresh_count: usize,
}

impl Slots {
    /// Input bit i in slot i, read as often as `readers` says; where nobody reads it, the slot is
    /// free.
    pub(super) fn new(readers: Vec<u32>) -> Self {
        let inputs = (0..readers.len() as u32).rev();
        Self {
            free: inputs
                .filter(|&input| readers[input as usize] == 0)
                .collect(),
            fresh: vec![0; readers.len() + 1],
            fresh_count: 0,
            readers,
        }
    }

    /// How many slots there are.
    pub(super) fn count(&self) -> u32 {
        self.readers.len() as u32
    }

    /// One reader of `slot` less; it is free after the last.
    #[inline]
    pub(super) fn release(&mut self, slot: u32) {
        let readers = &mut self.readers[slot as usize];
        *readers -= 1;
        // No processor foresees which reader is the last.
        self.fresh[self.fresh_count] = slot;
        self.fresh_count += usize::from(*readers == 0);
    }

    /// A slot for the output of a XOR gate, perhaps one that it reads itself.
    #[inline]
    pub(super) fn take_for_xor(&mut self, readers: u32) -> u32 {
        let last = self.fresh_count.checked_sub(1);
        self.fresh_count = last.unwrap_or(0);
        self.take(readers, last.map(|last| self.fresh[last]))
    }

    /// A slot for the output of an AND gate, which no gate of the open batch has read.
    #[inline]
    pub(super) fn take_for_and(&mut self, readers: u32) -> u32 {
        self.take(readers, None)
    }

    /// Opens the next batch.
    pub(super) fn settle(&mut self) {
        self.free.extend_from_slice(&self.fresh[..self.fresh_count]);
        self.fresh_count = 0;
    }

    #[inline]
    fn take(&mut self, readers: u32, slot: Option<u32>) -> u32 {
        match slot.or_else(|| self.free.pop()) {
            Some(slot) => {
                self.readers[slot as usize] = readers;
                slot
            }
            None => {
                self.readers.push(readers);
                self.fresh.push(0);
                self.readers.len() as u32 - 1
            }
        }
    }
}
