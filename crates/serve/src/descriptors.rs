//! The limit on open files and connections of this process, which usually starts at 1024.

/// This process may not have as many files and connections open as its limits allow peers to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "these limits take {wanted} open files and connections at once, and the system allows this \
     process {allowed}; lower them, or raise `ulimit -Hn` (LimitNOFILE= in a unit of systemd)"
)]
pub struct TooFew {
    /// The number that may be open at once.
    pub wanted: u64,
    /// The number that the system allows.
    pub allowed: u64,
}

/// Makes sure that this process may have `wanted` files and connections open: raises its own limit
/// if that is lower.
///
/// # Errors
///
/// [`TooFew`] if the system does not allow it.
#[cfg(unix)]
pub fn allow(wanted: u64) -> Result<(), TooFew> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // `None` means no limit.
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(wanted),
        ..limit
    };
    let is_within = limit.maximum.is_none_or(|maximum| wanted <= maximum);
    if is_within && setrlimit(Resource::Nofile, raised).is_ok() {
        Ok(())
    } else {
        let allowed = limit.maximum.filter(|_| !is_within).or(limit.current);
        let allowed = allowed.unwrap_or(u64::MAX);
        Err(TooFew { wanted, allowed })
    }
}

/// Does nothing: there is no such limit on this system.
///
/// # Errors
///
/// None.
#[cfg(not(unix))]
pub fn allow(_wanted: u64) -> Result<(), TooFew> {
    Ok(())
}
