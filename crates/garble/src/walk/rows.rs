//! The tables of AND gates: written by the garbler, read by the evaluator.

use tacit_kernels::prefetch_beyond;

/// Tables of `BYTES` bytes, one for each AND gate of some.
pub(crate) trait Rows<'t, const BYTES: usize>: Sized {
    /// How many there are.
    fn count(&self) -> usize;

    /// Splits off the first `count`.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    fn take(&mut self, count: usize) -> Self;

    /// `count` at a time; what is left over is not there.
    fn chunks(self, count: usize) -> impl Iterator<Item = Self>;

    /// Asks for the memory of those that follow.
    fn prefetch(&self);

    /// Tables in memory of one's own.
    fn of(own: &'t mut [[u8; BYTES]]) -> Self;

    /// Copies them to `own`, if they are to be read.
    fn copy_in(&self, own: &mut [[u8; BYTES]]);

    /// Copies them from `own`, if they are to be written.
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
