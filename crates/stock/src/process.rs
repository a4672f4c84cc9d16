//! What serves one process alone.
//!
//! A process that forks leaves both halves the same keys, OTs and leases, and the same connections.
//! If both went on with them, the peer would see two runs under one Δ and one stream of OTs, a
//! secret that is given out once would be given out twice, and the network would carry two records
//! under one nonce. So each of these stands in an [`OfProcess`], which knows the process that made
//! it: a process that was forked from that finds nothing in it.

/// A value for the process that made it, by the number that the system gives a process: one that is
/// forked after its ancestor has ended may have the same. It does not exist in one that was forked
/// from that.
#[derive(Clone, Debug)]
pub struct OfProcess<T> {
    process: u32,
    value: T,
}

/// The number of this process. A page has one process only.
fn own() -> u32 {
    #[cfg(target_family = "wasm")]
    return 0;
    #[cfg(not(target_family = "wasm"))]
    std::process::id()
}

impl<T> OfProcess<T> {
    /// A value for this process.
    pub fn new(value: T) -> Self {
        Self {
            process: own(),
            value,
        }
    }

    /// The value; `None` in a process that was forked.
    pub fn get(&self) -> Option<&T> {
        (self.process == own()).then_some(&self.value)
    }

    /// Makes it as it is in a process that is forked from this one, for tests of what that may do.
    pub fn set_as_if_forked(&mut self) {
        self.process ^= 1;
    }
}

impl<T: Default> OfProcess<T> {
    /// The value; in a process that was forked an empty one, which takes the place of the other.
    pub fn or_cleared(&mut self) -> &mut T {
        if self.get().is_none() {
            *self = Self::default();
        }
        &mut self.value
    }

    /// [`or_cleared`](Self::or_cleared) of a value that is no longer needed.
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
    fn a_forked_process_finds_nothing_and_starts_anew() {
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
