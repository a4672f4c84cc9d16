//! The tables of AND gates, which the garbler writes and the evaluator reads.

use tacit_kernels::prefetch_beyond;

/// The tables of a series of AND gates, `BYTES` bytes for each.
pub(crate) trait Rows<'t, const BYTES: usize>: Sized {
    /// Returns their number.
    fn count(&self) -> usize;

    /// Splits off the first `count` tables.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    fn take(&mut self, count: usize) -> Self;

    /// Returns `count` tables at a time; omits an incomplete rest.
    fn chunks(self, count: usize) -> impl Iterator<Item = Self>;

    /// Prefetches the memory of the tables that follow.
    fn prefetch(&self);

    /// Returns tables in the caller's memory.
    fn of(own: &'t mut [[u8; BYTES]]) -> Self;

    /// Copies the tables to `own`, if they are to be read.
    fn copy_in(&self, own: &mut [[u8; BYTES]]);

    /// Copies the tables from `own`, if they are to be written.
    fn copy_out(self, own: &[[u8; BYTES]]);
}

impl<'t, const BYTES: usize> Rows<'t, BYTES> for &'t mut [[u8; BYTES]] {
    #[inline(always)]
    fn count(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn take(&mut self, count: usize) -> Self {
        let (first, rest) = core::mem::take(self).split_at_mut(count);
        *self = rest;
        first
    }

    #[inline(always)]
    fn chunks(self, count: usize) -> impl Iterator<Item = Self> {
        self.chunks_exact_mut(count)
    }

    #[inline(always)]
    fn prefetch(&self) {
        prefetch_beyond(self);
    }

    #[inline(always)]
    fn of(own: &'t mut [[u8; BYTES]]) -> Self {
        own
    }

    #[inline(always)]
    fn copy_in(&self, _own: &mut [[u8; BYTES]]) {}

    #[inline(always)]
    fn copy_out(self, own: &[[u8; BYTES]]) {
        for (row, own) in self.iter_mut().zip(own) {
            *row = *own;
        }
    }
}

impl<'t, const BYTES: usize> Rows<'t, BYTES> for &'t [[u8; BYTES]] {
    #[inline(always)]
    fn count(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn take(&mut self, count: usize) -> Self {
        let (first, rest) = self.split_at(count);
        *self = rest;
        first
    }

    #[inline(always)]
    fn chunks(self, count: usize) -> impl Iterator<Item = Self> {
        self.chunks_exact(count)
    }

    #[inline(always)]
    fn prefetch(&self) {
        prefetch_beyond(self);
    }

    #[inline(always)]
    fn of(own: &'t mut [[u8; BYTES]]) -> Self {
        own
    }

    #[inline(always)]
    fn copy_in(&self, own: &mut [[u8; BYTES]]) {
        for (own, row) in own.iter_mut().zip(*self) {
            *own = *row;
        }
    }

    #[inline(always)]
    fn copy_out(self, _own: &[[u8; BYTES]]) {}
}
