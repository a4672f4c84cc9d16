//! Texts that somebody else may have written, as a terminal may show them.

use std::path::Path;

use tacit_language::acts_on_a_terminal;

/// A text with each character escaped that a terminal would act on: it may come from the peer.
pub(crate) fn escaped(text: &str) -> String {
    text.chars().flat_map(escaped_character).collect()
}

fn escaped_character(c: char) -> Vec<char> {
    match acts_on_a_terminal(c) {
        true => c.escape_default().collect(),
        false => vec![c],
    }
}

/// A file's name, escaped likewise.
pub(crate) fn shown(path: &Path) -> String {
    escaped(&path.display().to_string())
}
