//! Ctrl-C, SIGTERM and SIGHUP, which a closed terminal sends, during a session: the first tells the
//! peer and ends the run, the second ends the process. Before a session there is no peer to tell,
//! so the system's default action applies.

use tacit::Category;
use tacit::net::CancelHandle;

use crate::failure::Failure;

/// Returns a handle that the first signal cancels.
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
