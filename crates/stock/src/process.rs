//! Values that belong to one process alone.
//!
//! A fork leaves both processes the same keys, OTs and leases, and the same connections. If both
//! continued with them, the peer would see two runs under one Δ and one stream of OTs, a secret
//! that may be given out once would be given out twice, and the network would carry two records
//! under one nonce. So each of these is in an [`OfProcess`], which knows the process that created
//! it. In a process that was forked from that one, it is empty.
//!
//! On Linux that holds whatever number the forked process has. On other systems, and where Linux
//! refuses to wipe a page at a fork (before 4.14, or in some sandboxes), the number alone decides:
//! a process that is forked after its ancestor has ended may get the ancestor's number. A copy of a
//! whole machine is no fork, and is not told apart.

use tacit_kernels::process_generation;

/// A value for the process that created it. In a process forked from that one, the value does not
/// exist.
#[derive(Clone, Debug)]
pub struct OfProcess<T> {
    process: ProcessId,
    value: T,
}

/// The identity of a process among those that it was forked from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProcessId {
    /// The system's number of the process. It is used again after the process has ended, and the
    /// first process of each namespace has the same. A web page has only one process.
    number: u32,
    /// The result of [`process_generation`], or 0 on systems that have none.
    generation: u64,
}

impl ProcessId {
    fn own() -> Self {
        Self {
            #[cfg(target_family = "wasm")]
            number: 0,
            #[cfg(not(target_family = "wasm"))]
            number: std::process::id(),
            generation: process_generation(),
        }
    }
}

impl<T> OfProcess<T> {
    /// Creates a value for this process.
    pub fn new(value: T) -> Self {
        Self {
            process: ProcessId::own(),
            value,
        }
    }

    /// Returns the value, or `None` in a forked process.
    pub fn get(&self) -> Option<&T> {
        (self.process == ProcessId::own()).then_some(&self.value)
    }

    /// Makes the value look as if this process was forked and had the same number, for tests.
    pub fn set_as_if_forked(&mut self) {
        self.process.generation ^= 1 << 63;
    }
}

impl<T: Default> OfProcess<T> {
    /// Returns the value. In a forked process, replaces it by an empty one first.
    pub fn or_cleared(&mut self) -> &mut T {
        if self.get().is_none() {
            *self = Self::default();
        }
        &mut self.value
    }

    /// Returns [`or_cleared`](Self::or_cleared) of a value that is no longer needed.
    #[must_use]
    pub fn into_inner(mut self) -> T {
        std::mem::take(self.or_cleared())
    }
}

impl<T: Default> Default for OfProcess<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_process_of_the_same_number_finds_nothing_and_starts_anew() {
        let mut here = OfProcess::new(vec![1]);
        assert_eq!(here.get(), Some(&vec![1]));
        here.or_cleared().push(2);
        assert_eq!(here.clone().into_inner(), [1, 2]);
        let mut there = here;
        there.set_as_if_forked();
        assert_eq!(there.get(), None);
        assert!(there.clone().into_inner().is_empty());
        there.or_cleared().push(3);
        assert_eq!(there.get(), Some(&vec![3]));
    }
}
