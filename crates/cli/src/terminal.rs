//! Makes texts that another party may have written safe to show on a terminal.

use std::path::Path;

use tacit_language::acts_on_a_terminal;

/// Escapes each character on which a terminal would act: the text may come from the peer.
pub(crate) fn escaped(text: &str) -> String {
    text.chars().flat_map(escaped_character).collect()
}

fn escaped_character(c: char) -> Vec<char> {
    if acts_on_a_terminal(c) {
        c.escape_default().collect()
    } else {
        vec![c]
    }
}

/// Escapes a file's name in the same way.
pub(crate) fn shown(path: &Path) -> String {
    escaped(&path.display().to_string())
}
