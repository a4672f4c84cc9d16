//! The function files that come with Tacit.

use super::{FunctionError, FunctionFamily};

macro_rules! shipped {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../circuits/", $name, ".json")),
        )
    };
}

/// The files of `circuits/`, by the names that they give themselves.
const FILES: &[(&str, &str)] = &[
    shipped!("aes-128-rounds"),
    shipped!("aes-128-expanded-key"),
    shipped!("aes-128-cbc-rounds"),
    shipped!("aes-128-cbc-blocks"),
    shipped!("aes-128-cbc-parts"),
    shipped!("levenshtein"),
    shipped!("levenshtein-tiles"),
    shipped!("levenshtein-mixed"),
    shipped!("sha-256-chain"),
    shipped!("database-lookup"),
    shipped!("database-save"),
    shipped!("database-ask"),
    shipped!("substring-start"),
    shipped!("substring-next"),
    shipped!("substring-sealed-start"),
    shipped!("substring-sealed-next"),
    shipped!("friend-map-start"),
    shipped!("friend-map-get"),
    shipped!("friend-map-set"),
];

/// The names of the functions that come with Tacit, in the order in which they are shown. None is
/// the name of a component of the [library](crate::library), so that a name means one thing.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The file of this name, as it came with Tacit: to read, and to start from.
#[must_use]
pub fn json(name: &str) -> Option<&'static str> {
    let (_, json) = FILES.iter().find(|(known, _)| *known == name)?;
    Some(json)
}

/// The function of this name that comes with Tacit, or `None` where there is none.
///
/// # Errors
///
/// Those of [`FunctionFamily::from_json`], which none of the files gives.
pub fn find(name: &str) -> Result<Option<FunctionFamily>, FunctionError> {
    json(name).map(FunctionFamily::from_json).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library;

    #[test]
    fn every_file_has_its_own_name_and_runs_with_its_defaults() {
        for name in names() {
            let family = find(name).unwrap().unwrap();
            assert_eq!(family.name(), name);
            assert!(!family.description().is_empty(), "{name}");
            let function = family.instantiate(&Default::default()).unwrap();
            // What only brings values into the state moves bits and calls nothing.
            let saves = !function.saves().is_empty();
            assert!(function.call_count() > 0 || saves, "{name}");
            assert!(
                library::list().iter().all(|entry| entry.name != name),
                "{name}"
            );
        }
        assert!(find("no-such-function").unwrap().is_none());
    }
}
