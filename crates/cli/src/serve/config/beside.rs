//! The paths in the configuration, which are relative to its file.

use std::collections::BTreeMap;
use std::path::Path;

use super::Serve;

impl Serve {
    /// Resolves the relative paths of files against `folder`.
    pub(crate) fn beside(&mut self, folder: &Path) {
        if let Some(file) = &mut self.audit_file {
            *file = folder.join(&file);
        }
        for served in &mut self.function {
            let files = [&mut served.inputs_file, &mut served.results_file];
            for file in files.into_iter().flatten() {
                *file = folder.join(&file);
            }
            for path in served.input_files.values_mut() {
                *path = folder.join(&path).to_string_lossy().into_owned();
            }
            public_beside(&mut served.public, folder);
            served.function = function_beside(&served.function, folder);
        }
        for matched in &mut self.matched {
            matched.table = folder.join(&matched.table).to_string_lossy().into_owned();
        }
        for site in &mut self.visitors {
            site.key_file = folder.join(&site.key_file);
        }
        for stocked in &mut self.stock {
            public_beside(&mut stocked.public, folder);
            if let Some(function) = &mut stocked.function {
                *function = function_beside(function, folder);
            }
        }
    }
}

/// Resolves the files of public inputs against `folder`.
fn public_beside(public: &mut BTreeMap<String, String>, folder: &Path) {
    for value in public.values_mut() {
        if let Some(path) = value.strip_prefix('@') {
            *value = format!("@{}", folder.join(path).display());
        }
    }
}

/// Resolves a function's file against `folder`. A name of the library stays as it is.
fn function_beside(name: &str, folder: &Path) -> String {
    if crate::function::is_in_library(name) {
        name.to_owned()
    } else {
        folder.join(name).to_string_lossy().into_owned()
    }
}
