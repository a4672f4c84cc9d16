//! Long vectors of secrets.

use core::hint::black_box;
use core::ops::{Deref, DerefMut};
use core::{fmt, ptr};

use crate::large_pages::{ZeroBytes, hint_large_pages, zeros};

/// Secrets in memory of one length, which is wiped when dropped.
///
/// `Zeroizing<Vec<_>>` does the same value by value and then byte by byte, which takes longer than
/// most work on millions of secrets. This type overwrites its memory at once, and long ones have
/// [large pages](hint_large_pages).
pub struct WipedVec<T: ZeroBytes>(Vec<T>);

impl<T: ZeroBytes> WipedVec<T> {
    /// Returns `count` values whose bytes are all zero.
    ///
    /// # Panics
    ///
    /// If `count` values do not fit into the address space.
    #[must_use]
    pub fn zeros(count: usize) -> Self {
        let values = zeros(count);
        hint_large_pages(&values);
        Self(values)
    }

    /// Returns these values.
    #[must_use]
    pub fn of(values: impl ExactSizeIterator<Item = T>) -> Self {
        let count = values.len();
        let mut all = Self(Vec::with_capacity(count));
        hint_large_pages(all.0.spare_capacity_mut());
        // An iterator with more values than it says must not move what is here already.
        all.0.extend(values.take(count));
        all
    }
}

impl<T: ZeroBytes> Drop for WipedVec<T> {
    fn drop(&mut self) {
        // SAFETY: the vector has memory for as many values as its capacity, and zero bytes are a
        // value.
        unsafe { ptr::write_bytes(self.0.as_mut_ptr(), 0, self.0.capacity()) };
        // The compiler must take the zeros for read, or it could leave them out.
        black_box(self.0.as_mut_ptr());
    }
}

impl<T: ZeroBytes> Default for WipedVec<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: ZeroBytes> Deref for WipedVec<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: ZeroBytes> DerefMut for WipedVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: ZeroBytes> fmt::Debug for WipedVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WipedVec({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Block;

    #[test]
    fn values_are_those_given() {
        let numbers = WipedVec::of((0..5_u32).map(|i| i * i));
        assert_eq!(*numbers, [0, 1, 4, 9, 16]);
        assert_eq!(format!("{numbers:?}"), "WipedVec(5)");
        let mut blocks = WipedVec::<[Block; 2]>::zeros(3);
        assert!(*blocks == [[Block::ZERO; 2]; 3]);
        blocks[1][0] = Block::ONES;
        assert!(blocks.as_flattened()[2] == Block::ONES);
        assert!(WipedVec::<u64>::zeros(0).is_empty());
        assert!(WipedVec::<[u64; 8]>::default().is_empty());
        // Some pages of 2 MiB.
        assert!(
            WipedVec::<u64>::zeros(1 << 20)
                .iter()
                .all(|word| *word == 0)
        );
    }
}
