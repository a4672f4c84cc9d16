//! Background preparation at low priority: it runs when no session waits for a CPU.

use std::panic::resume_unwind;
use std::thread;

/// By how much the work is nicer than runs: about a tenth of their share where both want a CPU.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Runs `work` on a thread of its own at low priority, and waits for it. A thread cannot raise its
/// priority again, so that it is not the caller's.
pub(crate) fn behind<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            give_way();
            work()
        });
        worker.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Lowers this thread's priority, and that of the threads it starts.
fn give_way() {
    // Linux has a priority for each thread; elsewhere it is the process's and stays. Where it may
    // not be lowered the work runs like any other.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_work_is_nicer_and_its_caller_is_not() {
        let of_thread = || rustix::process::nice(0).expect("a priority");
        let before = of_thread();
        let within = behind(of_thread);
        assert_eq!(within, (before + NICE).min(19));
        assert_eq!(of_thread(), before);
    }
}
