//! Reading inputs leaves nothing in freed memory.

use std::io::Read;

use tacit_kernels::leftovers::{Watching, watch};
use tacit_serve::reading::read_wiped;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

static SECRET: [u8; 32] = [0xa7; 32];
const LENGTH: usize = 100_000;

/// Returns a long text that begins with the secret, in parts as from a pipe.
fn text() -> impl Read {
    SECRET
        .as_slice()
        .chain(std::io::repeat(b'.').take((LENGTH - SECRET.len()) as u64))
}

#[test]
fn what_is_read_is_wiped() {
    for length in [0, 50_000, LENGTH as u64] {
        let ((), memory) = watch(|| {
            let text = read_wiped(text(), length, 1 << 20).expect("bytes");
            assert_eq!((text.len(), &text[..32]), (LENGTH, &SECRET[..]));
        });
        assert_eq!(memory.freed(&SECRET), 0, "{length}");
    }
}

#[test]
fn no_more_is_read_than_tells_that_there_is_more() {
    for (max_bytes, expected) in [
        (0, 1),
        (99_998, 99_999),
        (99_999, 100_000),
        (100_000, 100_000),
    ] {
        for length in [0, u64::MAX] {
            let text = read_wiped(text(), length, max_bytes).expect("bytes");
            assert_eq!(text.len(), expected, "{max_bytes}");
        }
    }
}
