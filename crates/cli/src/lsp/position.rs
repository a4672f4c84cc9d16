//! Places and files in the protocol's terms.

use std::path::{Path, PathBuf};

use lsp_types::{Position, Range, Uri};

/// Returns the address of a file.
pub(super) fn uri_of(path: &Path) -> Option<Uri> {
    let mut text = "file://".to_owned();
    for byte in path.to_str()?.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            _ => text += &format!("%{byte:02X}"),
        }
    }
    text.parse().ok()
}

/// Returns the path of a `file:` address. For another address it returns the text, which is the
/// path of no file.
pub(super) fn path_of(uri: &Uri) -> PathBuf {
    if uri.scheme().is_none_or(|scheme| scheme.as_str() != "file") {
        return PathBuf::from(uri.as_str());
    }
    let path = uri.path().as_estr().decode();
    PathBuf::from(path.into_string_lossy().into_owned())
}

/// Returns the range of these bytes.
pub(super) fn range_of(text: &str, (start, end): (u32, u32)) -> Range {
    let place = |byte: u32| position_of(text, byte as usize);
    Range::new(place(start), place(end))
}

/// Converts a byte offset to a line and a number of UTF-16 units, as the protocol counts.
pub(super) fn position_of(text: &str, byte: usize) -> Position {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default();
    Position::new(line as u32, column.encode_utf16().count() as u32)
}

/// Returns the byte offset of a position. A position past the end of a line means the line's end.
pub(super) fn offset_of(text: &str, position: Position) -> usize {
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines
        .by_ref()
        .take(position.line as usize)
        .map(str::len)
        .sum();
    let line = lines
        .next()
        .unwrap_or_default()
        .trim_end_matches(['\n', '\r']);
    let mut units = position.character as usize;
    let mut bytes = 0;
    for character in line.chars() {
        if units < character.len_utf16() {
            break;
        }
        units -= character.len_utf16();
        bytes += character.len_utf8();
    }
    before + bytes
}
