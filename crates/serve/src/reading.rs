//! Reads bytes that may be secret into memory that is wiped.

use std::io::{ErrorKind, Read, Result};

use zeroize::Zeroizing;

/// The free room at every read. With less, standard input would be read through a buffer of its
/// own, which is never wiped.
const READ_BYTES: usize = 8 << 10;

/// Reads all of `from`, or its first `max_bytes + 1` bytes, into a vector that is wiped on drop.
/// `length` is the probable length: 0 if unknown.
///
/// Copies no bytes into memory that is freed unwiped, as a vector that grows by itself would.
///
/// # Errors
///
/// `from` cannot be read.
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
