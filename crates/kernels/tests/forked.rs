//! Processes that are forked, alone in their program: a fork takes only the thread that forks.
#![cfg(target_os = "linux")]

use std::process::exit;

use fork::{Fork, fork, waitpid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use tacit_kernels::process_generation;

/// Runs `work` in a process that is forked from this one; whether it gave true.
fn in_a_child(work: impl FnOnce() -> bool) -> bool {
    match fork().expect("a process") {
        Fork::Child => exit(i32::from(!work())),
        Fork::Parent(child) => waitpid(child).expect("its status") == 0,
    }
}

/// Makes the next process that this one forks the first of a namespace, if that is allowed.
fn next_is_first() -> Option<()> {
    // SAFETY: it takes nothing from this process, which keeps its own namespace.
    unsafe { unshare_unsafe(UnshareFlags::NEWPID) }.ok()
}

#[test]
fn each_process_that_is_forked_has_a_generation_of_its_own() {
    let own = process_generation();
    assert_ne!(own, 0, "a system that wipes no page");
    let differs = |own: u64| {
        let here = process_generation();
        here != own && here == process_generation() && here != 0
    };
    for _ in 0..2 {
        assert!(in_a_child(|| {
            // This child counts itself before it forks, and its brother after.
            let child = process_generation();
            differs(own)
                && in_a_child(|| differs(own) && differs(child))
                && process_generation() == child
        }));
        assert!(in_a_child(|| in_a_child(|| differs(own)) && differs(own)));
    }
    assert_eq!(process_generation(), own);
}

#[test]
fn the_first_process_of_a_namespace_is_not_that_of_another() {
    let inner = |first: u64| std::process::id() == 1 && process_generation() != first;
    let outer = || {
        let first = process_generation();
        std::process::id() == 1 && next_is_first().is_none_or(|()| in_a_child(|| inner(first)))
    };
    assert!(in_a_child(
        || next_is_first().is_none_or(|()| in_a_child(outer))
    ));
}
