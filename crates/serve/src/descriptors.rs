//! The limit on open files and connections of this process, which usually starts at 1024.

/// A process may not have as many open as its limits let others make it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "these limits take {wanted} open files and connections at once, and the system allows this \
     process {allowed}; lower them, or raise `ulimit -Hn` (LimitNOFILE= in a unit of systemd)"
)]
pub struct TooFew {
    /// How many may be open at once.
    pub wanted: u64,
    /// How many the system allows.
    pub allowed: u64,
}

/// Lets this process have as many open, if the system allows it: raises its own limit where that is
/// lower.
///
/// # Errors
///
/// [`TooFew`] where the system does not.
#[cfg(unix)]
pub fn allow(wanted: u64) -> Result<(), TooFew> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Nothing is no limit.
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(wanted),
        ..limit
    };
    let is_within = limit.maximum.is_none_or(|maximum| wanted <= maximum);
    match is_within && setrlimit(Resource::Nofile, raised).is_ok() {
        true => Ok(()),
        false => {
            let allowed = limit.maximum.filter(|_| !is_within).or(limit.current);
            let allowed = allowed.unwrap_or(u64::MAX);
            Err(TooFew { wanted, allowed })
        }
    }
}

/// There is no such limit here.
///
/// # Errors
///
/// None.
#[cfg(not(unix))]
pub fn allow(_wanted: u64) -> Result<(), TooFew> {
    Ok(())
}
