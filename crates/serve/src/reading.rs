//! Bytes that may be secret, read into memory that is wiped.

use std::io::{ErrorKind, Read, Result};

use zeroize::Zeroizing;

/// There is room for as many at every read: with less, standard input would be read through a
/// buffer of its own, which nobody wipes.
const READ_BYTES: usize = 8 << 10;

/// All of `from`, or its first `max_bytes + 1` bytes, wiped when dropped. `length` is how long it
/// probably is: 0 where nobody knows.
///
/// Nothing is left where a vector that grows by itself would leave what it held before.
///
/// # Errors
///
/// It cannot be read.
pub fn read_wiped(from: impl Read, length: u64, max_bytes: u64) -> Result<Zeroizing<Vec<u8>>> {
    let mut from = from.take(max_bytes.saturating_add(1));
    let mut bytes = Zeroizing::new(vec![0; length.min(max_bytes) as usize + READ_BYTES]);
    let mut filled = 0;
    loop {
        if bytes.len() - filled < READ_BYTES {
            let mut larger = Zeroizing::new(vec![0; 2 * bytes.len()]);
            larger[..filled].copy_from_slice(&bytes[..filled]);
            bytes = larger;
        }
        match from.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
