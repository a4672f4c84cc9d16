//! Slots: the places of labels, and the times at which they become free again.

/// The slots of a program under construction.
///
/// The slot that was freed last is taken first, so that live labels stay in cache. A slot that the
/// open batch has read is not free for the batch's own AND gates. These may therefore be computed
/// in any order, and at any time after the batch's XOR gates have started.
#[derive(Debug)]
pub(super) struct Slots {
    /// For each slot the number of gates and outputs that will still read its value.
    readers: Vec<u32>,
    /// The slots that were free before the open batch.
    free: Vec<u32>,
    /// First the slots that became free when a gate of the open batch read them. The vector is
    /// longer than the number of slots.
    fresh: Vec<u32>,
    fresh_count: usize,
}

impl Slots {
    /// Puts input bit i into slot i, which will be read `readers[i]` times. A slot that nothing
    /// reads is free.
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

    /// Returns the number of slots.
    pub(super) fn count(&self) -> u32 {
        self.readers.len() as u32
    }

    /// Counts one read of `slot`, which becomes free after the last one.
    #[inline]
    pub(super) fn release(&mut self, slot: u32) {
        let readers = &mut self.readers[slot as usize];
        *readers -= 1;
        // No processor predicts which reader is the last.
        self.fresh[self.fresh_count] = slot;
        self.fresh_count += usize::from(*readers == 0);
    }

    /// Returns a slot for the output of a XOR gate, which may be a slot that the gate itself reads.
    #[inline]
    pub(super) fn take_for_xor(&mut self, readers: u32) -> u32 {
        let last = self.fresh_count.checked_sub(1);
        self.fresh_count = last.unwrap_or(0);
        self.take(readers, last.map(|last| self.fresh[last]))
    }

    /// Returns a slot for the output of an AND gate. No gate of the open batch has read it.
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
