//! Work for one thread starts no other.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends where something fails")]

use std::fs;

use tacit_kernels::share_out;

/// Returns the number of threads of this process.
fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn one_worker_and_one_item_start_no_thread() {
    let before = threads();
    share_out(&mut [()], 0..100, |(), _| ());
    share_out(&mut [(), ()], 0..1, |(), _| ());
    share_out(&mut [(), ()], 0..0, |(), _: i32| ());
    assert_eq!(threads(), before);
    share_out(&mut [(), ()], 0..100, |(), _| ());
    assert!(threads() > before);
}
