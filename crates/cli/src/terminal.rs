//! Texts that somebody else may have written, as a terminal may show them.

use std::path::Path;

use tacit_language::acts_on_a_terminal;

/// A text for a person that somebody else may have written, or a name that he may have given.
pub(crate) fn escaped(text: &str) -> String {
    text.chars().flat_map(escaped_character).collect()
}

/// A character that a terminal would act on is escaped: a text may come from the peer.
fn escaped_character(c: char) -> Vec<char> {
    match acts_on_a_terminal(c) {
        true => c.escape_default().collect(),
        false => vec![c],
    }
}

/// A file's name for a person, of which a terminal does nothing but show it.
pub(crate) fn shown(path: &Path) -> String {
    escaped(&path.display().to_string())
}
