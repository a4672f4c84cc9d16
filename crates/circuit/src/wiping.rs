//! Growth of secret memory that leaves no copy behind.

use zeroize::{Zeroize, Zeroizing};

/// Makes room for `more` further values. If the memory has to grow, it grows by half at least, and
/// the old memory is wiped: a vector that grows by itself would leave a copy behind.
pub fn reserve_wiping<T: Zeroize + Clone>(values: &mut Zeroizing<Vec<T>>, more: usize) {
    let needed = values.len() + more;
    if needed > values.capacity() {
        let room = needed.max(values.capacity() + values.capacity() / 2);
        let mut larger = Zeroizing::new(Vec::with_capacity(room));
        larger.extend_from_slice(values);
        *values = larger;
    }
}
