//! Ctrl-C and SIGTERM during a session: the first tells the peer and ends the run, the second ends
//! the process. Before a session there is nobody to tell, and the system's own way is right.

use tacit::Category;
use tacit::net::CancelHandle;

use crate::failure::Failure;

/// A handle that the first signal cancels.
///
/// # Errors
///
/// The system refuses a signal handler.
pub(crate) fn on_signal() -> Result<CancelHandle, Failure> {
    let handle = CancelHandle::new();
    let target = handle.clone();
    ctrlc::set_handler(move || {
        if target.is_cancelled() {
            std::process::exit(Category::Cancelled as i32);
        }
        target.cancel();
    })
    .map_err(|error| Failure::signal(&error))?;
    Ok(handle)
}
