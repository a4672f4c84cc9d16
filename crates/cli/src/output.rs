//! Writes a command's output.

use std::io::{self, Write as _};

use serde_json::Value as Json;

use crate::failure::Failure;
use crate::report::json_text;

/// Writes to standard output, whose reader may leave early.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_ref())
        .and_then(|()| out.flush())
        .map_err(Failure::from_output)
}

/// Writes an object to standard output.
pub(crate) fn print_json(object: Json) -> Result<(), Failure> {
    print(json_text(object))
}

/// Writes to standard error, whose reader may be gone.
pub(crate) fn tell(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Returns a count with the singular or plural of `thing`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}
