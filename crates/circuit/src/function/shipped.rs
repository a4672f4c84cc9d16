//! The function files that come with Tacit.

use super::{FunctionError, FunctionFamily};

/// The files of `circuits/`, by the names that they give themselves.
const FILES: &[(&str, &str)] = &[];

/// The names of the functions that come with Tacit.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The function of this name that comes with Tacit.
///
/// # Errors
///
/// Those of [`FunctionFamily::from_json`], which none of the files gives.
#[must_use]
pub fn find(name: &str) -> Option<Result<FunctionFamily, FunctionError>> {
    let (_, json) = FILES.iter().find(|(known, _)| *known == name)?;
    Some(FunctionFamily::from_json(json))
}
